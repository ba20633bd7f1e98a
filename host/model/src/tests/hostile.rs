//! Arbitrary data from a provider: no decoder panics, and each stays within its bounds of memory.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answers::{answer, written};
use super::{events, streamed};
use crate::{Api, DecodeError, DecoderBounds, ErrorAnswer, Stream};

fn try_everything(bytes: &[u8], lengths: &[usize]) {
    for api in Api::ALL {
        let _ = api.decode(bytes, &DecoderBounds::default());
        let _ = streamed(api, bytes, lengths, DecoderBounds::default());
        // After an error, further bytes are refused.
        let mut stream = Stream::new(api, DecoderBounds::default());
        let failed = stream.feed(bytes).is_err();
        let again = stream.feed(bytes);
        assert!(!failed || again.is_err());
        assert!(!failed || stream.finish().is_err());
    }
    let _ = ErrorAnswer::new(500, [], bytes);
}

/// Returns random values that use the names of fields that the decoders read.
fn value() -> impl Strategy<Value = Value> {
    let names = [
        "arguments",
        "call_id",
        "choices",
        "code",
        "content",
        "content_block",
        "delta",
        "error",
        "finish_reason",
        "function",
        "id",
        "incomplete_details",
        "index",
        "input",
        "input_tokens",
        "item",
        "message",
        "name",
        "output",
        "output_index",
        "output_tokens",
        "partial_json",
        "prompt_tokens",
        "reason",
        "reasoning_content",
        "refusal",
        "response",
        "signature",
        "status",
        "stop_reason",
        "summary",
        "text",
        "thinking",
        "tool_calls",
        "total_tokens",
        "type",
        "usage",
    ];
    let texts = [
        "",
        "a",
        "{",
        "{}",
        "[1]",
        "completed",
        "content_block_delta",
        "content_block_start",
        "end_turn",
        "error",
        "failed",
        "function_call",
        "incomplete",
        "input_json_delta",
        "length",
        "max_tokens",
        "message",
        "message_delta",
        "message_start",
        "output_text",
        "reasoning",
        "redacted_thinking",
        "response.completed",
        "response.function_call_arguments.delta",
        "response.output_item.added",
        "response.output_item.done",
        "signature_delta",
        "stop",
        "text",
        "text_delta",
        "thinking",
        "thinking_delta",
        "tool_use",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..3_u64).prop_map(Value::from),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names.to_vec()), inner), 0..7).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), lengths in prop::collection::vec(1..50_usize, 1..4)) {
        try_everything(&bytes, &lengths);
    }

    #[test]
    fn values_do_no_harm(values in prop::collection::vec(value(), 1..6)) {
        try_everything(&events(&values), &[7, 100]);
        try_everything(values[0].to_string().as_bytes(), &[64]);
    }

    #[test]
    fn changed_streams_do_no_harm(answer in answer(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        for api in Api::ALL {
            let mut bytes = written(&answer.events(api), "\n", false, false);
            for (index, byte) in &changes {
                let index = index.index(bytes.len());
                bytes[index] = *byte;
            }
            let _ = streamed(api, &bytes, &[11], DecoderBounds::default());
        }
    }

    #[test]
    fn events_in_another_order_do_no_harm(answer in answer(), seed in any::<u64>()) {
        for api in Api::ALL {
            let mut events = answer.events(api);
            let mut seed = seed;
            for last in (1..events.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                events.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
            }
            let _ = streamed(api, &written(&events, "\n", false, false), &[50], DecoderBounds::default());
        }
    }
}

const SMALL: DecoderBounds =
    DecoderBounds { stream_bytes: 20_000, answer_bytes: 1000, blocks: 4, json_values: 100 };

fn is_bound<T: std::fmt::Debug>(result: &Result<T, DecodeError>) {
    assert!(matches!(result, Err(DecodeError::Bound { .. })), "{result:?}");
}

#[test]
fn streams_are_bounded() {
    let chat = |delta: Value| json!({"choices": [{"delta": delta}]});
    let anthropic = |index: u64| json!({"type": "content_block_start", "index": index, "content_block": {"type": "text"}});
    let thinks = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}});
    let signs = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x".repeat(200)}});
    let item = |index: u64| json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "other"}});
    for (api, bytes) in [
        // A line without end, an event without end, a stream of comments without end.
        (Api::OpenAiChat, vec![b'x'; 2000]),
        (Api::OpenAiChat, b"data: xxxxxxxxxxxxxx\n".repeat(100)),
        (Api::OpenAiChat, b": xxxxxxxxxxxxxxxxxx\n".repeat(2000)),
        // Pieces that are small, and too large together.
        (Api::OpenAiChat, events(&vec![chat(json!({"content": "x".repeat(100)})); 20])),
        (Api::OpenAiChat, events(&vec![chat(json!({"reasoning_content": "x".repeat(100)})); 20])),
        (Api::OpenAiChat, events(&vec![chat(json!({"refusal": "x".repeat(100)})); 20])),
        (
            Api::OpenAiChat,
            events(&vec![
                chat(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": "x".repeat(100)}}]})
                );
                20
            ]),
        ),
        (
            Api::OpenAiChat,
            events(
                &(0..5)
                    .map(|index| chat(json!({"tool_calls": [{"index": index, "id": "a"}]})))
                    .collect::<Vec<_>>(),
            ),
        ),
        (Api::Anthropic, events(&(0..5).map(anthropic).collect::<Vec<_>>())),
        (Api::Anthropic, events(&vec![anthropic(0); 5])),
        (Api::Anthropic, events(&[vec![thinks], vec![signs; 20]].concat())),
        (Api::OpenAiResponses, events(&(0..5).map(item).collect::<Vec<_>>())),
        (Api::OpenAiResponses, events(&vec![item(0); 5])),
        // Values that take more memory than their text.
        (Api::OpenAiResponses, events(&[json!({"x": vec![0; 200]})])),
    ] {
        is_bound(&streamed(api, &bytes, &[13], SMALL));
    }
}

#[test]
fn whole_answers_are_bounded() {
    let calls: Vec<_> = (0..5).map(|id| json!({"id": id.to_string(), "function": {"name": "a"}})).collect();
    let text = json!({"type": "text", "text": "a"});
    let part = json!({"type": "output_text", "text": "a"});
    let values = format!("{{\"a\": [{}0]}}", "0,".repeat(200));
    let arguments = json!({"choices": [{"finish_reason": "stop", "message": {"tool_calls": [{"function": {"name": "a", "arguments": values}}]}}]});
    for (api, body) in [
        (Api::OpenAiChat, json!({"choices": [{"message": {"tool_calls": calls}}]})),
        (Api::Anthropic, json!({"content": vec![text; 5], "stop_reason": "end_turn"})),
        (Api::OpenAiResponses, json!({"output": vec![json!({"type": "other"}); 5]})),
        (Api::OpenAiResponses, json!({"output": [{"type": "message", "content": vec![part; 5]}]})),
        (Api::Anthropic, json!({"x": "x".repeat(1000)})),
        (Api::Anthropic, json!({"x": vec![0; 200]})),
    ] {
        is_bound(&api.decode(body.to_string().as_bytes(), &SMALL));
    }
    // Arguments with too many values are not read: they stay text.
    let response = Api::OpenAiChat.decode(arguments.to_string().as_bytes(), &SMALL).unwrap();
    assert_eq!(response.message.tool_calls().next().unwrap().arguments, json!(values));
    // Nesting.
    let deep = format!("{{\"choices\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    for api in Api::ALL {
        assert!(matches!(
            api.decode(deep.as_bytes(), &DecoderBounds::default()),
            Err(DecodeError::Json { .. })
        ));
    }
}
