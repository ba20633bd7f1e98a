//! Whole answers and streams with deviations that are known of providers.

use graph_core::limits::LARGEST_FIGURE;
use serde_json::{Value, json};

use super::{events, hello, streamed};
use crate::{Api, DecodeError, DecoderBounds, ProviderErrorCategory, Response, StopReason, Usage};

fn decode(api: Api, body: &Value) -> Result<Response, DecodeError> {
    api.decode(body.to_string().as_bytes(), &DecoderBounds::default())
}

fn stream(api: Api, list: &[Value]) -> Result<Response, DecodeError> {
    streamed(api, &events(list), &[10], DecoderBounds::default()).map(|(response, _)| response)
}

fn chat(message: &Value, reason: &str) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

fn blocks(response: &Response) -> Value {
    serde_json::to_value(&response.message.blocks).unwrap()
}

#[test]
fn chat_servers_differ() {
    let call =
        |id: &str, arguments: Value| json!({"id": id, "function": {"name": "f", "arguments": arguments}});
    let told =
        |id: &str, arguments: Value| json!({"tool_call": {"id": id, "name": "f", "arguments": arguments}});
    for (message, reason, expected, stop) in [
        (json!({"content": "a"}), "stop", json!([{"text": "a"}]), StopReason::End),
        (json!({"content": ""}), "stop", json!([]), StopReason::End),
        (json!({"content": "a"}), "length", json!([{"text": "a"}]), StopReason::MaxOutput),
        (json!({"content": "a"}), "content_filter", json!([{"text": "a"}]), StopReason::Refused),
        (json!({"content": null, "refusal": "no"}), "stop", json!([{"text": "no"}]), StopReason::Refused),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "other"}, {"type": "text", "text": "b"}]}),
            "stop",
            json!([{"text": "ab"}]),
            StopReason::End,
        ),
        // A forced call ends with `stop`; another server reports `tool_calls` without a call.
        (
            json!({"tool_calls": [call("1", json!("{}"))]}),
            "stop",
            json!([told("1", json!({}))]),
            StopReason::ToolCalls,
        ),
        (json!({"content": "a", "tool_calls": []}), "tool_calls", json!([{"text": "a"}]), StopReason::End),
        // No arguments, arguments as an object, no ids, and the same id for all.
        (
            json!({"tool_calls": [call("1", json!(""))]}),
            "tool_calls",
            json!([told("1", json!({}))]),
            StopReason::ToolCalls,
        ),
        (
            json!({"tool_calls": [call("1", json!({"a": 1}))]}),
            "tool_calls",
            json!([told("1", json!({"a": 1}))]),
            StopReason::ToolCalls,
        ),
        (
            json!({"tool_calls": [call("", json!("{}")), call("call_0", json!("{}")), call("", json!("{}"))]}),
            "tool_calls",
            json!([told("call_0", json!({})), told("call_1", json!({})), told("call_2", json!({}))]),
            StopReason::ToolCalls,
        ),
        (
            json!({"tool_calls": [call("1", json!("")), call("1", json!("{\"a\": 1}")), call("1", json!("{\"a\": 2}"))]}),
            "tool_calls",
            json!([told("1", json!({})), told("call_1", json!({"a": 1})), told("call_2", json!({"a": 2}))]),
            StopReason::ToolCalls,
        ),
        (
            json!({"content": "a", "reasoning": "b", "reasoning_content": "b"}),
            "stop",
            json!([{"reasoning": {"api": "openai-chat", "item": {"reasoning": "b", "reasoning_content": "b"}}}, {"text": "a"}]),
            StopReason::End,
        ),
    ] {
        let response = decode(Api::OpenAiChat, &chat(&message, reason)).unwrap();
        assert_eq!((blocks(&response), response.stop), (expected, stop), "{message}");
        assert_eq!(response.usage, None);
    }
    // The calls that it ends with are not there.
    for (message, reason) in [
        (json!({}), "tool_calls"),
        (json!({"content": "", "tool_calls": []}), "tool_calls"),
        (json!({"content": null}), "function_call"),
        (json!({"reasoning_content": "a"}), "tool_calls"),
    ] {
        let lost = decode(Api::OpenAiChat, &chat(&message, reason));
        assert!(matches!(lost, Err(DecodeError::Cut { .. })), "{message}: {lost:?}");
    }
    let former = json!({"content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let lost = decode(Api::OpenAiChat, &chat(&former, "function_call")).unwrap_err();
    assert_eq!(lost.category(), ProviderErrorCategory::Permanent);
    assert!(lost.to_string().contains("`choices[0].message.function_call` is not where calls are"), "{lost}");
    let none = json!({"content": "a", "function_call": null});
    assert_eq!(decode(Api::OpenAiChat, &chat(&none, "stop")).unwrap().stop, StopReason::End);
    // Why it ends is not known.
    for reason in ["", "whatever", "LENGTH"] {
        let unknown = decode(Api::OpenAiChat, &chat(&json!({"content": "a"}), reason));
        assert!(matches!(unknown, Err(DecodeError::Shape { .. })), "{reason}: {unknown:?}");
    }
    for reason in ["max_tokens", "model_length"] {
        let cut = decode(Api::OpenAiChat, &chat(&json!({"content": "a"}), reason)).unwrap();
        assert_eq!(cut.stop, StopReason::MaxOutput, "{reason}");
    }
    // vLLM.
    let body =
        json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop", "stop_reason": "."}]});
    assert_eq!(decode(Api::OpenAiChat, &body).unwrap().stop, StopReason::StopText);
}

#[test]
fn pieces_of_calls_find_their_call() {
    let delta = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let expected = json!([
        {"tool_call": {"id": "1", "name": "f", "arguments": {"a": 1}}},
        {"tool_call": {"id": "2", "name": "g", "arguments": {}}},
    ]);
    for list in [
        // In turn.
        vec![
            delta(
                json!([{"index": 0, "id": "1", "function": {"name": "f"}}, {"index": 1, "id": "2", "function": {"name": "g", "arguments": "{"}}]),
            ),
            delta(
                json!([{"index": 0, "function": {"arguments": "{\"a\""}}, {"index": 1, "function": {"arguments": "}"}}]),
            ),
            delta(json!([{"index": 0, "function": {"arguments": ": 1}"}}])),
        ],
        // Without an index.
        vec![
            delta(json!([{"id": "1", "function": {"name": "f", "arguments": "{\"a\""}}])),
            delta(json!([{"function": {"arguments": ": 1}"}}])),
            delta(json!([{"id": "2", "function": {"name": "g", "arguments": "{}"}}])),
        ],
        // All with the same index.
        vec![
            delta(json!([{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{\"a\": 1}"}}])),
            delta(json!([{"index": 0, "id": "2", "function": {"name": "g", "arguments": "{}"}}])),
        ],
        // The id and the name in every piece.
        vec![
            delta(json!([{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{\"a\""}}])),
            delta(json!([{"index": 0, "id": "1", "function": {"name": "f", "arguments": ": 1}"}}])),
            delta(json!([{"index": 1, "id": "2", "function": {"name": "g", "arguments": ""}}])),
        ],
    ] {
        let response = stream(Api::OpenAiChat, &[list.clone(), vec![end.clone()]].concat()).unwrap();
        assert_eq!(blocks(&response), expected, "{list:?}");
    }
    // Calls of two tools with the same id.
    let list = [
        delta(json!([{"id": "1", "function": {"name": "f", "arguments": "{\"a\": 1}"}}])),
        delta(json!([{"id": "1", "function": {"name": "g", "arguments": "{}"}}])),
        end,
    ];
    let expected = json!([
        {"tool_call": {"id": "1", "name": "f", "arguments": {"a": 1}}},
        {"tool_call": {"id": "call_1", "name": "g", "arguments": {}}},
    ]);
    assert_eq!(blocks(&stream(Api::OpenAiChat, &list).unwrap()), expected);
}

#[test]
fn usage_is_counted_alike() {
    let usage = |input, output, cached, cache_write, reasoning| Usage {
        input,
        output,
        cached,
        cache_write,
        reasoning,
    };
    let base = json!({
        "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}],
        "content": [], "stop_reason": "end_turn",
        "output": [], "status": "completed",
    });
    for (api, said, expected) in [
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}),
            Some(usage(5, 3, 0, 0, 0)),
        ),
        // Reasoning tokens are only in the total.
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 18, "completion_tokens_details": {"reasoning_tokens": 10}}),
            Some(usage(5, 13, 0, 0, 10)),
        ),
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}}),
            Some(usage(9, 3, 4, 2, 0)),
        ),
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}),
            Some(usage(9, 3, 4, 0, 0)),
        ),
        // Parts that are larger than the whole.
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 3, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 9}, "completion_tokens_details": {"reasoning_tokens": 9}}),
            Some(usage(3, 3, 3, 0, 3)),
        ),
        (Api::OpenAiChat, json!({"prompt_tokens": -5, "completion_tokens": 3}), None),
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 5.0, "completion_tokens": 3.0}),
            Some(usage(5, 3, 0, 0, 0)),
        ),
        (Api::OpenAiChat, Value::Null, None),
        (
            Api::OpenAiResponses,
            json!({"input_tokens": 9, "output_tokens": 8, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}, "output_tokens_details": {"reasoning_tokens": 7}}),
            Some(usage(9, 8, 4, 1, 7)),
        ),
        (
            Api::Anthropic,
            json!({"input_tokens": 9, "output_tokens": 8, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens_details": {"thinking_tokens": 5}}),
            Some(usage(129, 8, 100, 20, 5)),
        ),
        (
            Api::Anthropic,
            json!({"input_tokens": u64::MAX, "output_tokens": 8, "cache_read_input_tokens": 100}),
            Some(usage(LARGEST_FIGURE, 8, 100, 0, 0)),
        ),
        // Counts above the largest figure.
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e300, "prompt_tokens_details": {"cached_tokens": 1e19}}),
            Some(usage(LARGEST_FIGURE, LARGEST_FIGURE, LARGEST_FIGURE, 0, 0)),
        ),
        (
            Api::OpenAiChat,
            json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": u64::MAX}),
            Some(usage(1, LARGEST_FIGURE - 1, 0, 0, 0)),
        ),
        (
            Api::OpenAiResponses,
            json!({"input_tokens": 1u64 << 63, "output_tokens": u64::MAX, "output_tokens_details": {"reasoning_tokens": u64::MAX}}),
            Some(usage(LARGEST_FIGURE, LARGEST_FIGURE, 0, 0, LARGEST_FIGURE)),
        ),
        (
            Api::Anthropic,
            json!({"input_tokens": LARGEST_FIGURE, "output_tokens": 1, "cache_read_input_tokens": u64::MAX, "cache_creation_input_tokens": u64::MAX}),
            Some(usage(LARGEST_FIGURE, 1, LARGEST_FIGURE, 0, 0)),
        ),
        // A value that is not a count makes the usage unknown, not zero.
        (Api::OpenAiChat, json!({"prompt_tokens": 5, "completion_tokens": "3"}), None),
        (Api::OpenAiChat, json!({"prompt_tokens": 5, "completion_tokens": -3}), None),
        (Api::OpenAiChat, json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 1.5}), None),
        (Api::OpenAiResponses, json!({"input_tokens": 5, "output_tokens": 0.5}), None),
        (Api::OpenAiResponses, json!({"input_tokens": [5], "output_tokens": 5}), None),
        (Api::Anthropic, json!({"input_tokens": 5, "output_tokens": {}}), None),
        (Api::Anthropic, json!({"input_tokens": "5", "output_tokens": 5}), None),
        (Api::OpenAiChat, json!({"prompt_tokens": 5}), Some(usage(5, 0, 0, 0, 0))),
    ] {
        let mut body = base.clone();
        body["usage"] = said.clone();
        assert_eq!(decode(api, &body).unwrap().usage, expected, "{said}");
    }
}

/// A count that a stream has reported does not become smaller later.
#[test]
fn usage_of_a_stream_only_grows() {
    let chunk = |usage: Value| json!({"choices": [{"delta": {"content": "a"}}], "usage": usage});
    let last = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 2, "completion_tokens": 3}});
    for (said, expected) in [
        (json!({"prompt_tokens": 5, "completion_tokens": 1}), (5, 3)),
        (json!({"prompt_tokens": u64::MAX, "completion_tokens": 9}), (LARGEST_FIGURE, 9)),
        (json!({"prompt_tokens": "many"}), (2, 3)),
    ] {
        let usage = stream(Api::OpenAiChat, &[chunk(said), last.clone()]).unwrap().usage.unwrap();
        assert_eq!((usage.input, usage.output), expected);
    }
    let start =
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": -1}}});
    let delta =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}});
    assert_eq!(stream(Api::Anthropic, &[start, delta]).unwrap().usage, None);
}

#[test]
fn usage_of_a_stream_comes_in_parts() {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "cache_read_input_tokens": 5, "output_tokens": 1}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7, "input_tokens": 0}});
    let known = Usage { input: 14, output: 1, cached: 5, ..Usage::default() };
    let whole = Usage { output: 7, ..known };
    assert_eq!(stream(Api::Anthropic, &[start.clone(), delta]).unwrap().usage, Some(whole));
    let error = stream(Api::Anthropic, std::slice::from_ref(&start)).unwrap_err();
    assert_eq!(error, DecodeError::Cut { usage: Some(known) });
    assert_eq!(error.category(), ProviderErrorCategory::Transient);
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = stream(Api::Anthropic, &[start, overloaded]).unwrap_err();
    assert_eq!(
        (error.usage(), error.category(), error.to_string().as_str()),
        (Some(known), ProviderErrorCategory::Transient, "Overloaded")
    );
}

#[test]
fn a_stream_that_says_that_it_is_done_is_whole_without_a_reason() {
    let piece = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}});
    let call = json!({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]});
    for (delta, stop) in [
        (json!({"content": "hello"}), Some(StopReason::End)),
        (json!({"refusal": "no"}), Some(StopReason::Refused)),
        (call, Some(StopReason::ToolCalls)),
        // Empty text is not an answer, nor is reasoning alone.
        (json!({"content": ""}), None),
        (json!({"reasoning_content": "hm"}), None),
    ] {
        let said = [piece(&delta), usage.clone()];
        let done = [&events(&said)[..], b"data: [DONE]\n\n"].concat();
        match (streamed(Api::OpenAiChat, &done, &[10], DecoderBounds::default()), stop) {
            (Ok((response, _)), Some(stop)) => assert_eq!(response.stop, stop, "{delta}"),
            (Err(DecodeError::Cut { .. }), None) => {}
            (other, _) => panic!("{delta}: {other:?}"),
        }
        // Without `[DONE]` or a reason for the end, the answer may have been cut off.
        let cut = stream(Api::OpenAiChat, &said);
        assert!(matches!(cut, Err(DecodeError::Cut { usage: Some(_) })), "{delta}: {cut:?}");
    }
}

#[test]
fn a_call_of_no_tool_or_of_an_endless_one_can_be_answered() {
    let long = "é".repeat(200);
    for (api, body) in [
        (
            Api::OpenAiChat,
            chat(
                &json!({"tool_calls": [
                    {"function": {"arguments": "{}"}},
                    {"id": long, "function": {"name": "", "arguments": "{}"}},
                    {"id": "3", "function": {"name": long, "arguments": "{}"}},
                ]}),
                "tool_calls",
            ),
        ),
        (
            Api::Anthropic,
            json!({"stop_reason": "tool_use", "content": [
                {"type": "tool_use", "id": "1", "name": "", "input": {}},
                {"type": "tool_use", "id": long, "name": long, "input": {}},
            ]}),
        ),
        (
            Api::OpenAiResponses,
            json!({"status": "completed", "output": [
                {"type": "function_call", "call_id": "1", "name": "", "arguments": "{}"},
                {"type": "function_call", "call_id": long, "name": long, "arguments": "{}"},
            ]}),
        ),
    ] {
        let answered = api.decode(body.to_string().as_bytes(), &DecoderBounds::default()).unwrap().message;
        let results = answered.tool_calls().map(|call| json!({"tool_result": {"id": call.id, "content": "there is no such tool", "failed": true}}));
        let results = json!({"role": "user", "blocks": results.collect::<Vec<_>>()});
        let mut request = hello();
        request.messages.extend([answered, serde_json::from_value(results).unwrap()]);
        request.check().unwrap_or_else(|error| panic!("{api}: {error}"));
        let sent = super::body(api, &request).to_string();
        assert!(sent.contains("\"unnamed\""), "{api}: {sent}");
        assert!(!sent.contains('é'), "{api}: {sent}");
    }
}

#[test]
fn arguments_that_are_no_object_are_the_text_that_the_model_has_written() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 3});
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    for (text, reason, stop) in [
        ("{\"a\": ", "tool_calls", StopReason::ToolCalls),
        ("[]", "tool_calls", StopReason::ToolCalls),
        ("null", "stop", StopReason::ToolCalls),
        ("\"a\"", "stop", StopReason::ToolCalls),
        (&deep, "stop", StopReason::ToolCalls),
        ("{\"a", "length", StopReason::MaxOutput),
    ] {
        let call = |arguments: &str| json!({"id": "1", "function": {"name": "f", "arguments": arguments}});
        let mut good = call("{}");
        good["id"] = json!("2");
        let mut body = chat(&json!({"tool_calls": [call(text), good]}), reason);
        body["usage"] = usage.clone();
        let response = decode(Api::OpenAiChat, &body).unwrap();
        let arguments: Vec<_> = response.message.tool_calls().map(|call| &call.arguments).collect();
        assert_eq!(arguments, [&json!(text), &json!({})]);
        assert_eq!(response.stop, stop, "{text}");
        assert_eq!(response.usage, Some(Usage { input: 5, output: 3, ..Usage::default() }));
    }
    let lost = decode(Api::Anthropic, &json!({"content": [], "stop_reason": "tool_use"}));
    assert!(matches!(lost, Err(DecodeError::Cut { .. })), "{lost:?}");
    let body = json!({"content": [{"type": "tool_use", "id": "1", "name": "f", "input": [1]}], "stop_reason": "tool_use"});
    let response = decode(Api::Anthropic, &body).unwrap();
    assert_eq!(response.message.tool_calls().next().unwrap().arguments, json!("[1]"));
}

#[test]
fn answers_end_for_reasons() {
    for (reason, expected) in [
        ("end_turn", Some(StopReason::End)),
        ("max_tokens", Some(StopReason::MaxOutput)),
        ("model_context_window_exceeded", Some(StopReason::MaxOutput)),
        ("stop_sequence", Some(StopReason::StopText)),
        ("refusal", Some(StopReason::Refused)),
        ("pause_turn", None),
    ] {
        let body = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}});
        let result = decode(Api::Anthropic, &body);
        assert_eq!(result.as_ref().ok().map(|response| response.stop), expected, "{reason}");
        assert!(result.is_ok_and(|response| response.usage.is_some()) || expected.is_none());
    }
    let text = json!([{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]);
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]);
    for (status, details, output, expected) in [
        ("completed", json!(null), &text, StopReason::End),
        ("completed", json!(null), &refusal, StopReason::Refused),
        ("incomplete", json!({"reason": "max_output_tokens"}), &text, StopReason::MaxOutput),
        ("incomplete", json!({"reason": "content_filter"}), &text, StopReason::Refused),
    ] {
        let body = json!({"status": status, "incomplete_details": details, "output": output});
        assert_eq!(decode(Api::OpenAiResponses, &body).unwrap().stop, expected);
    }
    assert!(decode(Api::OpenAiResponses, &json!({"status": "in_progress", "output": []})).is_err());
    assert!(
        decode(Api::OpenAiChat, &chat(&json!({"content": "a"}), "insufficient_system_resource")).is_err()
    );
}

#[test]
fn errors_within_answers_are_read() {
    for (api, body, category, message) in [
        (
            Api::OpenAiChat,
            json!({"error": {"message": "Upstream", "code": 502}}),
            ProviderErrorCategory::Transient,
            "Upstream",
        ),
        (
            Api::OpenAiChat,
            json!({"error": {"message": "Slow", "code": 429}}),
            ProviderErrorCategory::RateLimited,
            "Slow",
        ),
        (
            Api::OpenAiChat,
            json!({"error": {"message": "Too long", "code": "context_length_exceeded"}}),
            ProviderErrorCategory::InvalidInput,
            "Too long",
        ),
        (
            Api::OpenAiResponses,
            json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Slow"}, "output": []}),
            ProviderErrorCategory::RateLimited,
            "Slow",
        ),
        (
            Api::OpenAiResponses,
            json!({"status": "failed", "error": {"code": "invalid_prompt", "message": "Bad"}}),
            ProviderErrorCategory::InvalidInput,
            "Bad",
        ),
        (
            Api::OpenAiResponses,
            json!({"error": {"type": "server_error", "message": "Broken"}}),
            ProviderErrorCategory::Transient,
            "Broken",
        ),
        (
            Api::Anthropic,
            json!({"type": "error", "error": {"type": "authentication_error", "message": "No"}}),
            ProviderErrorCategory::Denied,
            "No",
        ),
        (
            Api::Anthropic,
            json!({"type": "error", "error": {"type": "timeout_error", "message": "Late"}}),
            ProviderErrorCategory::Timeout,
            "Late",
        ),
    ] {
        let error = decode(api, &body).unwrap_err();
        assert_eq!((error.category(), error.to_string().as_str()), (category, message), "{body}");
        assert!(matches!(error, DecodeError::Provider { .. }));
    }
    // In streams.
    for (api, event, category) in [
        (
            Api::OpenAiChat,
            json!({"error": {"message": "a", "type": "server_error"}}),
            ProviderErrorCategory::Transient,
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "error", "code": "server_error", "message": "a"}),
            ProviderErrorCategory::Transient,
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "a"}}),
            ProviderErrorCategory::RateLimited,
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "a"}}}),
            ProviderErrorCategory::Transient,
        ),
        (
            Api::Anthropic,
            json!({"type": "error", "error": {"type": "something_new", "message": "a"}}),
            ProviderErrorCategory::Transient,
        ),
    ] {
        let error = stream(api, std::slice::from_ref(&event)).unwrap_err();
        assert_eq!((error.category(), error.to_string().as_str()), (category, "a"), "{event}");
    }
}

#[test]
fn what_is_no_answer_says_where() {
    for (api, body, expected) in [
        (
            Api::OpenAiChat,
            json!({}),
            "the provider's answer is not of its API: `choices[0]` is not an object",
        ),
        (
            Api::OpenAiChat,
            json!({"choices": [{}]}),
            "the provider's answer is not of its API: `choices[0].message` is not an object",
        ),
        (
            Api::OpenAiChat,
            json!({"choices": [{"message": {"content": 1}}]}),
            "the provider's answer is not of its API: `choices[0].message.content` is not a text",
        ),
        (
            Api::OpenAiChat,
            json!({"choices": [{"message": {"tool_calls": [{"function": {"name": 1}}]}}]}),
            "the provider's answer is not of its API: `choices[0].message.tool_calls[0].function.name` is not a text",
        ),
        (
            Api::OpenAiResponses,
            json!({}),
            "the provider's answer is not of its API: `output` is not an array",
        ),
        (
            Api::OpenAiResponses,
            json!({"output": [{"type": "message", "content": [{"text": 1}]}]}),
            "the provider's answer is not of its API: `output[0].content[0].text` is not a text",
        ),
        (Api::Anthropic, json!({}), "the provider's answer is not of its API: `content` is not an array"),
        (
            Api::Anthropic,
            json!({"content": [{"type": "text", "text": 1}]}),
            "the provider's answer is not of its API: `content[0].text` is not a text",
        ),
        (
            Api::Anthropic,
            json!({"content": []}),
            "the provider's answer is not of its API: `stop_reason` is not a reason that is known",
        ),
    ] {
        assert_eq!(decode(api, &body).unwrap_err().to_string(), expected);
    }
    let error = Api::Anthropic.decode(b"<html>", &DecoderBounds::default()).unwrap_err();
    assert_eq!(error.to_string(), "the provider's answer is not JSON: expected value at line 1 column 1");
}

#[test]
fn a_stream_whose_last_event_has_no_output_is_whole() {
    let item = json!({"type": "message", "content": [{"type": "output_text", "text": "a"}]});
    let call = json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"});
    let response = stream(
        Api::OpenAiResponses,
        &[
            json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
        ],
    )
    .unwrap();
    assert_eq!(
        blocks(&response),
        json!([{"text": "a"}, {"tool_call": {"id": "1", "name": "f", "arguments": {}}}])
    );
}

#[test]
fn blocks_of_tools_of_the_provider_are_left_out() {
    let body = json!({"stop_reason": "end_turn", "content": [
        {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "a"},
    ]});
    let expected = json!([{"reasoning": {"api": "anthropic", "item": {"type": "redacted_thinking", "data": "x"}}}, {"text": "a"}]);
    assert_eq!(blocks(&decode(Api::Anthropic, &body).unwrap()), expected);
}
