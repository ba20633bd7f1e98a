//! The rules of requests.

use serde_json::{Value, json};

use super::request;

/// Returns a conversation with a call and its result, with changed fields at the top level.
fn changed(change: &Value) -> Value {
    let mut base = json!({
        "model": "m",
        "messages": [
            {"role": "user", "blocks": [{"text": "Hello"}]},
            {"role": "assistant", "blocks": [{"tool_call": {"id": "1", "name": "now", "arguments": {}}}]},
            {"role": "user", "blocks": [{"tool_result": {"id": "1", "content": "noon"}}]},
        ],
        "tools": [{"name": "now", "parameters": {"type": "object"}}],
    });
    for (key, value) in change.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

fn problem(change: &Value) -> String {
    request(changed(change)).check().map_or_else(|error| error.to_string(), |()| String::new())
}

fn user(blocks: &Value) -> Value {
    json!({"messages": [{"role": "user", "blocks": blocks}]})
}

#[test]
fn requests_that_keep_the_rules_pass() {
    let call = |id: &str| json!({"tool_call": {"id": id, "name": "unknown tool", "arguments": {"a": 1}}});
    let result = |id: &str| json!({"tool_result": {"id": id, "content": ""}});
    for change in [
        json!({}),
        json!({"tools": [], "tool_choice": {"named": "nothing"}}),
        json!({"tool_choice": {"named": "now"}}),
        json!({"temperature": 0.0}),
        json!({"temperature": 2.0}),
        json!({"stop": ["a", "b", "c", "d"]}),
        json!({"messages": [
            {"role": "assistant", "blocks": []},
            {"role": "assistant", "blocks": [call("1"), call("2")]},
            {"role": "user", "blocks": [result("2"), {"text": "and"}, result("1")]},
        ]}),
    ] {
        assert_eq!(problem(&change), "", "{change}");
    }
}

#[test]
fn requests_that_break_a_rule_are_refused_where_they_do() {
    let call = |id: &str| json!({"tool_call": {"id": id, "name": "now", "arguments": {}}});
    let result = |id: &str| json!({"tool_result": {"id": id, "content": ""}});
    let assistant = |blocks: Value, results: Value| json!({"messages": [{"role": "assistant", "blocks": blocks}, {"role": "user", "blocks": results}]});
    for (change, expected) in [
        (json!({"model": ""}), "model: must not be empty"),
        (json!({"messages": []}), "messages: the last message must be the user's"),
        (
            json!({"messages": [{"role": "assistant", "blocks": [{"text": "a"}]}]}),
            "messages: the last message must be the user's",
        ),
        (user(&json!([])), "messages[0].blocks: must not be empty"),
        (user(&json!([{"text": ""}])), "messages[0].blocks[0].text: must not be empty"),
        (
            user(&json!([{"text": "a"}, call("1")])),
            "messages[0].blocks[1]: only a message of the assistant can have this block",
        ),
        (
            user(&json!([{"reasoning": {"api": "anthropic", "item": 1}}])),
            "messages[0].blocks[0]: only a message of the assistant can have this block",
        ),
        (
            assistant(json!([result("1")]), json!([{"text": "a"}])),
            "messages[0].blocks[0]: only a message of the user can have this block",
        ),
        (
            assistant(
                json!([{"media": {"media_type": "image/png", "data": "AA=="}}]),
                json!([{"text": "a"}]),
            ),
            "messages[0].blocks[0]: only a message of the user can have this block",
        ),
        (
            user(&json!([result("1")])),
            "messages[0].blocks[0].tool_result.id: the message before has no call with this id",
        ),
        (
            assistant(json!([call("1")]), json!([result("1"), result("1")])),
            "messages[1].blocks[1].tool_result.id: is used twice in the request's list",
        ),
        (
            assistant(json!([call("1"), call("1")]), json!([result("1")])),
            "messages[0].blocks[1].tool_call.id: is used twice in the request's list",
        ),
        (
            assistant(json!([call("1"), call("2")]), json!([result("1")])),
            "messages[0].blocks[1].tool_call.id: the message after it must have a result of this call",
        ),
        (
            assistant(json!([call("")]), json!([result("1")])),
            "messages[0].blocks[0].tool_call.id: must not be empty",
        ),
        (
            assistant(
                json!([{"tool_call": {"id": "1", "name": "n", "arguments": []}}]),
                json!([result("1")]),
            ),
            "messages[0].blocks[0].tool_call.arguments: must be a JSON object",
        ),
        (
            user(&json!([{"media": {"media_type": "image/png;x", "data": "AA=="}}])),
            "messages[0].blocks[0].media.media_type: must be a media type, as `image/png`",
        ),
        (
            user(&json!([{"media": {"media_type": "image/png", "data": ""}}])),
            "messages[0].blocks[0].media.data: must not be empty",
        ),
        (json!({"tools": [{"name": "", "parameters": {}}]}), "tools[0].name: must not be empty"),
        (
            json!({"tools": [{"name": "a b", "parameters": {}}]}),
            "tools[0].name: must consist of letters, digits, `_` and `-`",
        ),
        (
            json!({"tools": [{"name": "a".repeat(65), "parameters": {}}]}),
            "tools[0].name: at most 64 bytes are allowed, not 65",
        ),
        (
            json!({"tools": [{"name": "a", "parameters": {}}, {"name": "a", "parameters": {}}]}),
            "tools[1].name: is used twice in the request's list",
        ),
        (json!({"tools": [{"name": "a", "parameters": true}]}), "tools[0].parameters: must be a JSON object"),
        (json!({"tool_choice": {"named": "b"}}), "tool_choice.named: the request has no tool of this name"),
        (json!({"output_schema": []}), "output_schema: must be a JSON object"),
        (json!({"max_output": 0}), "max_output: must not be empty"),
        (json!({"temperature": 2.01}), "temperature: must be from 0 to 2"),
        (json!({"temperature": -0.1}), "temperature: must be from 0 to 2"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop: at most 4 texts are allowed, not 5"),
        (json!({"stop": [""]}), "stop[0]: must not be empty"),
        (
            json!({"system": "a".repeat(33 << 20)}),
            "request: at most 33554432 bytes are allowed, not 34603046",
        ),
    ] {
        let found = problem(&change);
        assert!(found == expected, "{found:?} instead of {expected:?}");
    }
    let mut request = request(changed(&json!({})));
    request.temperature = Some(f64::NAN);
    assert!(request.check().is_err());
}
