//! Helpers that the tests share.
#![allow(clippy::unwrap_used)]

mod answers;
mod check;
mod decode;
mod encode;
mod error;
mod hostile;
mod recorded;
mod sse;

use serde_json::{Value, json};

use crate::{Api, ApiOptions, DecodeError, DecoderBounds, Delta, Message, Request, Response, Stream, Target};

fn request(value: Value) -> Request {
    serde_json::from_value(value).unwrap()
}

/// Returns a request with one text of the user.
fn hello() -> Request {
    Request::new("m", vec![Message::user("Hello")])
}

/// Returns the body of a request for a whole answer of at most 100 tokens.
fn body(api: Api, request: &Request) -> Value {
    let target = Target { model: "model", max_output: 100, streamed: false, options: &ApiOptions::default() };
    serde_json::from_slice(&api.encode(request, &target).unwrap().body).unwrap()
}

/// Decodes a stream whose chunks have these lengths, in turn.
fn streamed(
    api: Api,
    bytes: &[u8],
    lengths: &[usize],
    bounds: DecoderBounds,
) -> Result<(Response, Vec<Delta>), DecodeError> {
    let mut stream = Stream::new(api, bounds);
    let mut deltas = Vec::new();
    let mut rest = bytes;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).clamp(1, rest.len()));
        deltas.extend(stream.feed(piece)?);
        rest = after;
    }
    Ok((stream.finish()?, deltas))
}

/// Returns the bytes of a stream of these events.
fn events(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

#[test]
fn the_json_form_is_compact_and_stable() {
    let text = json!({
        "model": "m",
        "messages": [
            {"role": "user", "blocks": [{"text": "Look"}, {"media": {"media_type": "image/png", "data": "AAEC"}}]},
            {"role": "assistant", "blocks": [
                {"reasoning": {"api": "anthropic", "item": {"type": "redacted_thinking", "data": "x"}}},
                {"tool_call": {"id": "1", "name": "now", "arguments": {}}},
                {"tool_call": {"id": "2", "name": "now", "arguments": {"at": 1}}},
            ]},
            {"role": "user", "blocks": [
                {"tool_result": {"id": "1", "content": "noon"}},
                {"tool_result": {"id": "2", "content": "no", "failed": true}},
            ]},
        ],
        "tools": [{"name": "now", "parameters": {}}],
        "tool_choice": {"named": "now"},
        "stop": ["."],
    });
    let request = request(text.clone());
    request.check().unwrap();
    assert_eq!(serde_json::to_value(&request).unwrap(), text);
    let small = json!({"model": "m", "messages": [{"role": "user", "blocks": [{"text": "Hello"}]}]});
    assert_eq!(serde_json::to_value(hello()).unwrap(), small);
    let response = json!({
        "message": {"role": "assistant", "blocks": [{"text": "Hi"}]},
        "stop": "max_output",
        "usage": {"input": 3, "output": 1},
    });
    let read: Response = serde_json::from_value(response.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), response);
    assert!(serde_json::from_value::<Request>(json!({"model": "m", "messages": [], "other": 1})).is_err());
}

#[test]
fn apis_have_names() {
    for api in Api::ALL {
        assert_eq!(api.to_string().parse(), Ok(api));
        assert_eq!(serde_json::to_value(api).unwrap(), json!(api.name()));
    }
    assert!("openai".parse::<Api>().is_err());
}
