//! Requests and answers of components, and their entries in a journal.
#![allow(clippy::unwrap_used)]

use graph_core::json::canonical_string;
use graph_core::record::journal::digested;
use serde_json::{Value, json};

use super::journal::asked;
use super::*;
use crate::{Block, Message, Reasoning, Request, Response, Role, StopReason, ToolCall};

fn read(request: Value) -> Result<Request, String> {
    serde_json::from_value::<GivenRequest>(request).unwrap().read()
}

fn asks(block: &Value) -> Value {
    json!({ "model": "fast", "messages": [{ "role": "user", "blocks": [block] }] })
}

#[test]
fn a_journal_has_the_request_with_digests_of_files() {
    let data = "AAAA";
    let request = json!({
        "model": "fast",
        "system": "s",
        "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": { "media_type": "image/png", "data": data } }] }],
        "tools": [{ "name": "a", "description": "", "parameters": "{ \"type\": \"object\" }" }],
        "tool_choice": { "named": "a" },
        "output_schema": "{}",
        "max_output": 5,
        "temperature": 1,
        "stop": ["end"],
    });
    let media = json!({ "media_type": "image/png", "data": digested(&[0; 3]) });
    assert_eq!(
        canonical_string(&asked(&read(request).unwrap())),
        canonical_string(&json!({
            "model": "fast",
            "request": {
                "model": "fast",
                "system": "s",
                "messages": [{ "role": "user", "blocks": [{ "text": "hello" }, { "media": media }] }],
                "tools": [{ "name": "a", "parameters": { "type": "object" } }],
                "tool_choice": { "named": "a" },
                "output_schema": {},
                "max_output": 5,
                "temperature": 1,
                "stop": ["end"],
            },
        }))
    );
    let without: Request = serde_json::from_value(json!({
        "model": "fast", "messages": [{ "role": "user", "blocks": [{ "text": "hello" }] }],
        "tools": [{ "name": "a", "parameters": {} }], "tool_choice": { "named": "a" }, "output_schema": {}, "max_output": 5,
        "system": "s",
    }))
    .unwrap();
    assert_eq!(asked(&without)["request"], json!(without), "only files are written in another way");
}

#[test]
fn json_of_components_is_read_strictly() {
    let call =
        |arguments: &str| asks(&json!({ "tool_call": { "id": "1", "name": "a", "arguments": arguments } }));
    let deep = format!("{}{}", "[".repeat(MAX_NESTING + 1), "]".repeat(MAX_NESTING + 1));
    for arguments in ["", "{", r#"{"a":1,"a":2}"#, "NaN", &deep] {
        let refused = read(call(arguments)).unwrap_err();
        assert!(refused.starts_with("messages[0].blocks[0].tool_call.arguments: "), "{refused}");
    }
    assert!(read(call("{}")).is_ok());
    for reasoning in ["{}", r#"{"api":"anthropic"}"#, r#""thought""#] {
        let refused = read(asks(&json!({ "reasoning": reasoning }))).unwrap_err();
        assert!(refused.starts_with("messages[0].blocks[0].reasoning: "), "{refused}");
    }
}

#[test]
fn what_an_answer_has_can_be_sent_back() {
    let item = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    let blocks = vec![
        Block::Reasoning(Reasoning { api: "anthropic".to_owned(), item }),
        Block::Text("hello".to_owned()),
        Block::ToolCall(ToolCall {
            id: "1".to_owned(),
            name: "a".to_owned(),
            arguments: json!({ "b": u64::MAX }),
        }),
    ];
    let message = Message { role: Role::Assistant, blocks: blocks.clone() };
    let answer = Response { message, stop: StopReason::ToolCalls, usage: None };
    let answer = json!(GivenResponse::new(answer, 7));
    assert_eq!((&answer["stop"], &answer["usage"]["cost"]), (&json!("tool_calls"), &json!(7)));
    let sent = read(json!({ "model": "fast", "messages": [answer["message"]] })).unwrap();
    assert_eq!(sent.messages[0].blocks, blocks);
}

#[test]
fn encrypted_reasoning_is_asked_for_unless_the_manifest_says_otherwise() {
    let text = |more: &str| {
        format!(
            "models: {{ fast: {{ api: openai-responses, url: \"https://api.acme.com/v1\", model: m{more} }} }}\n\
             items: {{ \"a/b\": {{ model: [fast] }} }}\n"
        )
    };
    for (more, asked) in
        [("", true), (", encrypted_reasoning: true", true), (", encrypted_reasoning: false", false)]
    {
        let (manifest, _) = graph_core::capability::Manifest::parse(&text(more), "caps.yaml", "/p").unwrap();
        let model = Model::new(manifest.models()[0].clone());
        let encoded = model.encode(&read(asks(&json!({ "text": "hello" }))).unwrap(), 10, false).unwrap();
        let body: Value = serde_json::from_slice(&encoded.body).unwrap();
        assert_eq!(body.get("include").is_some(), asked, "{more}: {body}");
    }
}
