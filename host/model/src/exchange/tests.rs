//! Requests and answers of components, and their entries in a journal.
#![allow(clippy::unwrap_used)]

use graph_core::capability::{HttpResponse, SecretValue};
use graph_core::json::canonical_string;
use graph_core::record::journal::digested;
use serde_json::{Value, json};

use super::journal::asked;
use super::*;
use crate::{Block, DecoderBounds, Message, Reasoning, Request, Response, Role, StopReason, ToolCall};

fn read(request: Value) -> Result<Request, String> {
    serde_json::from_value::<ComponentRequest>(request).unwrap().read()
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
    let answer = json!(ComponentResponse::new(answer, 7));
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

/// Responses that refuse a request: the API, settings of the model in the manifest, the status and body of the
/// response, and the expected message.
const REFUSALS: [(&str, &str, u16, &str, &str); 13] = [
    (
        "openai-chat",
        "",
        301,
        "",
        "the provider gives no reason (status 301); the request went to https://api.acme.com/v1/chat/completions, and redirects are not followed: `url` has to name the API itself",
    ),
    (
        "anthropic",
        "",
        404,
        "",
        "the provider gives no reason (status 404); the request went to https://api.acme.com/v1/messages: `url` is what precedes `/messages`",
    ),
    ("openai-chat", "", 404, r#"{"detail": "no such thing"}"#, "no such thing (status 404)"),
    (
        "openai-chat",
        "",
        404,
        r#"{"error": "model \"m-1\" not found, try pulling it first"}"#,
        "model \"m-1\" not found, try pulling it first (status 404); `model` is what the provider calls the model, and is `m-1`",
    ),
    (
        "openai-chat",
        "",
        401,
        "",
        "the provider gives no reason (status 401); the manifest has no `secret` for this model",
    ),
    (
        "openai-chat",
        ", secret: { env: ACME_KEY }",
        401,
        "",
        "the provider gives no reason (status 401); its key is the value of the environment variable `ACME_KEY`",
    ),
    (
        "openai-chat",
        ", secret: { file: /k }",
        403,
        "",
        "the provider gives no reason (status 403); its key is what the file /k has",
    ),
    (
        "openai-chat",
        "",
        400,
        r#"{"error": {"message": "Unsupported parameter: max_completion_tokens"}}"#,
        "Unsupported parameter: max_completion_tokens (status 400); `max_tokens_key: max_tokens` sends the older name",
    ),
    (
        "openai-chat",
        "",
        400,
        r#"{"error": {"message": "max_completion_tokens is too large: 100. It supports at most 16.", "code": "invalid_value"}}"#,
        "max_completion_tokens is too large: 100. It supports at most 16. (status 400)",
    ),
    (
        "openai-chat",
        ", max_tokens_key: max_tokens",
        422,
        r#"{"error": {"message": "Use another name than max_tokens", "code": "unsupported_parameter"}}"#,
        "Use another name than max_tokens (status 422); without `max_tokens_key: max_tokens`, the newer name `max_completion_tokens` is sent",
    ),
    (
        "openai-chat",
        ", max_tokens_key: max_tokens",
        400,
        r#"{"error": {"message": "max_tokens is too large"}}"#,
        "max_tokens is too large (status 400)",
    ),
    (
        "anthropic",
        "",
        400,
        r#"{"error": {"message": "Unknown name: max_completion_tokens"}}"#,
        "Unknown name: max_completion_tokens (status 400)",
    ),
    (
        "openai-responses",
        "",
        400,
        r#"{"error": {"message": "include: reasoning.encrypted_content is not supported"}}"#,
        "include: reasoning.encrypted_content is not supported (status 400); `encrypted_reasoning: false` does not ask for it",
    ),
];

fn provider(api: &str, more: &str) -> Provider {
    let text = format!(
        "models: {{ fast: {{ api: {api}, url: \"https://api.acme.com/v1\", model: m-1{more} }} }}\nitems: {{ \"a/b\": {{ model: [fast] }} }}\n"
    );
    let (manifest, _) = graph_core::capability::Manifest::parse(&text, "caps.yaml", "/p").unwrap();
    Provider::new(manifest.models()[0].clone(), |rule| SecretValue::new(rule, "0123456789".to_owned()))
        .unwrap()
}

fn refusal(provider: &Provider, status: u16, kind: &str, body: &str) -> String {
    let fields = vec![("content-type".to_owned(), kind.as_bytes().to_vec())];
    let response = HttpResponse { status, fields, body: body.as_bytes().to_vec() };
    let api = provider.model().api();
    let tried = provider.read(&response, |body| api.decode(body, &DecoderBounds::default()));
    let AttemptResult::Unanswered(unanswered) = tried.result else { panic!("it was answered: {tried:?}") };
    unanswered.failure.message
}

#[test]
fn refusals_say_what_the_manifest_can_say_otherwise() {
    for (api, more, status, body, expected) in REFUSALS {
        let shown = refusal(&provider(api, more), status, "application/json", body);
        assert_eq!(shown, format!("the model `fast` at https://api.acme.com/v1: {expected}"));
    }
}

#[test]
fn answers_that_are_not_json_are_described() {
    let fast = provider("openai-chat", "");
    for (kind, body, expected) in [
        (
            "text/html; charset=utf-8",
            "<!doctype html>\n<title>Log in</title>",
            "its type is `text/html; charset=utf-8`, and it begins with `<!doctype html> <title>Log in</title>`",
        ),
        ("application/json", "", "its type is `application/json`, and it is empty"),
    ] {
        let shown = refusal(&fast, 200, kind, body);
        assert!(
            shown.contains("the provider's answer is not JSON: ") && shown.ends_with(expected),
            "{shown}"
        );
    }
    let shape = refusal(&fast, 200, "application/json", "{}");
    assert!(!shape.contains("begins with"), "{shape}");
}
