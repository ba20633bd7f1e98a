//! Language models, as a node uses them in a test.
#![cfg(feature = "model")]

use graph_sdk::model::{
    self, Block, Budget, Media, Message, Request, Response, Role, StopReason, Tool, ToolCall, ToolChoice,
    ToolResult, Usage,
};
use graph_sdk::prelude::*;
use graph_sdk::testing::Host;

/// Returns messages with every kind of block, and the JSON that the host stores and shows.
fn conversation() -> (Vec<Message>, Value) {
    let call = |id: &str| {
        Block::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "search".to_owned(),
            arguments: json!({ "q": 1 }),
        })
    };
    let result = |id: &str, failed| ToolResult { id: id.to_owned(), content: "none".to_owned(), failed };
    let messages = vec![
        Message {
            role: Role::User,
            blocks: vec![
                Block::Text("Look".to_owned()),
                Block::Media(Media { media_type: "image/png".to_owned(), data: vec![0, 255, 16, 1] }),
            ],
        },
        Message {
            role: Role::Assistant,
            blocks: vec![
                Block::Reasoning(json!({ "api": "x", "item": [1] })),
                Block::Text("I look".to_owned()),
                call("a"),
                call("b"),
            ],
        },
        Message::results([result("a", false), result("b", true)]),
    ];
    let json = json!([
        { "role": "user", "blocks": [{ "text": "Look" }, { "media": { "media_type": "image/png", "data": "AP8QAQ==" } }] },
        { "role": "assistant", "blocks": [
            { "reasoning": { "api": "x", "item": [1] } },
            { "text": "I look" },
            { "tool_call": { "id": "a", "name": "search", "arguments": { "q": 1 } } },
            { "tool_call": { "id": "b", "name": "search", "arguments": { "q": 1 } } },
        ] },
        { "role": "user", "blocks": [
            { "tool_result": { "id": "a", "content": "none" } },
            { "tool_result": { "id": "b", "content": "none", "failed": true } },
        ] },
    ]);
    (messages, json)
}

#[test]
fn messages_are_kept_as_json() {
    let (messages, json) = conversation();
    assert_eq!(serde_json_of(&messages), json);
    let read: Vec<Message> = graph_sdk::serde_json::from_value(json).unwrap();
    assert_eq!(read, messages);
    assert_eq!(messages[1].text(), "I look");
    assert_eq!(messages[1].tool_calls().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(messages[2].tool_results().filter(|result| result.failed).count(), 1);
    let wrong =
        json!({ "role": "user", "blocks": [{ "media": { "media_type": "image/png", "data": "?" } }] });
    assert!(graph_sdk::serde_json::from_value::<Message>(wrong).is_err());
}

fn serde_json_of(value: &impl Serialize) -> Value {
    graph_sdk::serde_json::to_value(value).unwrap()
}

#[test]
fn a_request_reaches_the_host_unchanged() {
    let usage = Usage { input: 7, output: 5, cached: 3, reasoning: 2, cost: 11 };
    let answer = Response { message: conversation().0.remove(1), stop: StopReason::ToolCalls, usage };
    let host = Host::new()
        .model("fast", [Ok(answer.clone()), Err(Failure::timeout("late").with_details(json!([1])))])
        .model("good", [])
        .model_budget(Budget { calls: Some(2), input: Some(10), output: Some(3), cost: None });
    let request = Request::new("fast")
        .system("Be brief.")
        .messages(conversation().0)
        .tool(Tool::new("search", "Searches.", json!({ "type": "object" })))
        .tool_choice(ToolChoice::Named("search".to_owned()))
        .output_schema(json!({ "type": "string" }))
        .max_output(9)
        .temperature(0.5)
        .stop("END");
    assert_eq!(model::complete(&request), Ok(answer));
    assert_eq!(host.model_requests(), std::slice::from_ref(&request));
    let read: Request = graph_sdk::serde_json::from_value(serde_json_of(&request)).unwrap();
    assert_eq!(read, request);
    assert_eq!(model::models(), ["fast", "good"]);
    assert_eq!(model::remaining(), Budget { calls: Some(1), input: Some(3), output: Some(0), cost: None });
    assert_eq!(model::complete(&request), Err(Failure::timeout("late").with_details(json!([1]))));
    assert_eq!(model::complete(&request).unwrap_err().category(), Some(Category::Limit));
    assert_eq!(host.model_requests().len(), 2);
}

#[test]
fn what_the_host_refuses_a_test_refuses() {
    let host = Host::new().model("fast", []);
    let user = || Message::user("x");
    let category = |request: Request| {
        let failure = model::complete(&request).unwrap_err();
        (failure.category(), failure.to_string())
    };
    let call = Response::calls([("search", json!({}))]).message;
    let result = |id: &str| {
        Message::results([ToolResult { id: id.to_owned(), content: "x".to_owned(), failed: false }])
    };
    let tool = |name: &str| Tool::new(name, "", json!({}));
    for (request, message) in [
        (Request::new("fast"), "the last message must be the user's"),
        (Request::new("fast").message(Message::assistant("x")), "the last message must be the user's"),
        (Request::new("fast").message(user()).message(Message::results([])), "must not be empty"),
        (Request::new("fast").message(Message::user("")), "a text must not be empty"),
        (Request::new("fast").message(call.clone()).message(user()), "must have one result"),
        (Request::new("fast").message(call.clone()).message(result("call-2")), "must have one result"),
        (Request::new("fast").message(user()).message(result("call-1")), "must have one result"),
        (Request::new("fast").message(user()).tool(tool("a b")), "tools: `a b`"),
        (Request::new("fast").message(user()).tool(tool("a")).tool(tool("a")), "used twice"),
        (Request::new("fast").message(user()).temperature(2.5), "temperature"),
        (
            ["a", "b", "c", "d", "e"]
                .iter()
                .fold(Request::new("fast").message(user()), |of, text| of.stop(*text)),
            "stop",
        ),
        (
            Request::new("fast").message(Message { role: Role::User, blocks: call.blocks.clone() }),
            "wrong role",
        ),
    ] {
        let (category, said) = category(request);
        assert_eq!(category, Some(Category::InvalidInput), "{said}");
        assert!(said.contains(message), "{said}");
    }
    assert_eq!(category(Request::new("good").message(user())).0, Some(Category::Denied));
    assert!(host.model_requests().is_empty());
    assert!(category(Request::new("fast").message(user())).1.contains("no further answer"));
}
