//! Random answers, written in the form of each API by code that shares nothing with the decoders: whole and as streams.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::streamed;
use crate::{Api, Block, DecoderBounds, StopReason, Usage};

/// An answer, split into the pieces in which it is sent.
#[derive(Clone, Debug)]
pub(super) struct SplitAnswer {
    thinking: Vec<String>,
    text: Vec<String>,
    calls: Vec<(String, Vec<String>)>,
    cut_short: bool,
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

pub(super) fn answer() -> impl Strategy<Value = SplitAnswer> {
    let pieces = || prop::collection::vec("[a-z é\"\\\\\n🙂]{1,6}", 0..4);
    let value = prop::collection::btree_map("[a-z\"]{1,3}", "[a-z\"\n{}]{0,4}", 0..3);
    let call = ("[a-z_]{1,5}", value, 1..5_usize).prop_map(|(name, value, size)| {
        let text: Vec<char> = json!(value).to_string().chars().collect();
        (name, text.chunks(size).map(|chunk| chunk.iter().collect()).collect())
    });
    (pieces(), pieces(), prop::collection::vec(call, 0..4), any::<bool>(), 0..1000_u64, 0..1000_u64).prop_map(
        |(thinking, text, calls, cut_short, input, output)| SplitAnswer {
            thinking,
            text,
            calls,
            cut_short,
            input,
            output,
            cached: input / 3,
            reasoning: output / 2,
        },
    )
}

impl SplitAnswer {
    fn calls(&self) -> impl Iterator<Item = (String, &str, String)> {
        let calls = self.calls.iter().enumerate();
        calls.map(|(index, (name, pieces))| (format!("id-{index}"), name.as_str(), pieces.concat()))
    }

    fn blocks(&self, api: Api) -> Vec<Value> {
        let mut blocks = Vec::new();
        let thinking = self.thinking.concat();
        if !thinking.is_empty() {
            let item = match api {
                Api::OpenAiChat => json!({"reasoning_content": thinking}),
                Api::OpenAiResponses => reasoning_item(&thinking),
                Api::Anthropic => json!({"type": "thinking", "thinking": thinking, "signature": "s"}),
            };
            blocks.push(json!({"reasoning": {"api": api.name(), "item": item}}));
        }
        if !self.text.is_empty() {
            blocks.push(json!({"text": self.text.concat()}));
        }
        for (id, name, arguments) in self.calls() {
            let arguments: Value = serde_json::from_str(&arguments).unwrap();
            blocks.push(json!({"tool_call": {"id": id, "name": name, "arguments": arguments}}));
        }
        blocks
    }

    fn stop(&self) -> StopReason {
        match (self.cut_short, self.calls.is_empty()) {
            (true, _) => StopReason::MaxOutput,
            (false, true) => StopReason::End,
            (false, false) => StopReason::ToolCalls,
        }
    }

    fn usage(&self, api: Api) -> Value {
        match api {
            Api::OpenAiChat => json!({
                "prompt_tokens": self.input, "completion_tokens": self.output,
                "total_tokens": self.input + self.output,
                "prompt_tokens_details": {"cached_tokens": self.cached},
                "completion_tokens_details": {"reasoning_tokens": self.reasoning},
            }),
            Api::OpenAiResponses => json!({
                "input_tokens": self.input, "output_tokens": self.output,
                "input_tokens_details": {"cached_tokens": self.cached, "cache_write_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": self.reasoning},
            }),
            Api::Anthropic => json!({
                "input_tokens": self.input - self.cached, "output_tokens": self.output,
                "cache_read_input_tokens": self.cached, "cache_creation_input_tokens": 0,
                "output_tokens_details": {"thinking_tokens": self.reasoning},
            }),
        }
    }

    /// Returns the body of the whole answer.
    pub(super) fn whole(&self, api: Api) -> Value {
        match api {
            Api::OpenAiChat => {
                let call = |(id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
                let mut message = json!({"role": "assistant", "content": null, "refusal": null});
                if !self.text.is_empty() {
                    message["content"] = json!(self.text.concat());
                }
                if !self.thinking.is_empty() {
                    message["reasoning_content"] = json!(self.thinking.concat());
                }
                message["tool_calls"] = self.calls().map(call).collect();
                let choice = json!({"index": 0, "message": message, "finish_reason": self.reason(api)});
                json!({"object": "chat.completion", "choices": [choice], "usage": self.usage(api)})
            }
            Api::OpenAiResponses => {
                let details = self.cut_short.then(|| json!({"reason": "max_output_tokens"}));
                json!({
                    "object": "response", "status": self.reason(api), "incomplete_details": details, "error": null,
                    "output": self.items(), "usage": self.usage(api),
                })
            }
            Api::Anthropic => {
                let content: Vec<_> = self.blocks(api).iter().map(anthropic_block).collect();
                json!({
                    "type": "message", "role": "assistant", "content": content,
                    "stop_reason": self.reason(api), "usage": self.usage(api),
                })
            }
        }
    }

    fn reason(&self, api: Api) -> &'static str {
        match (api, self.stop()) {
            (Api::OpenAiChat, StopReason::MaxOutput) => "length",
            (Api::OpenAiChat, StopReason::End) => "stop",
            (Api::OpenAiChat, _) => "tool_calls",
            (Api::OpenAiResponses, StopReason::MaxOutput) => "incomplete",
            (Api::OpenAiResponses, _) => "completed",
            (Api::Anthropic, StopReason::MaxOutput) => "max_tokens",
            (Api::Anthropic, StopReason::End) => "end_turn",
            (Api::Anthropic, _) => "tool_use",
        }
    }

    fn items(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.thinking.concat().is_empty() {
            items.push(reasoning_item(&self.thinking.concat()));
        }
        if !self.text.is_empty() {
            let content = json!([{"type": "output_text", "text": self.text.concat(), "annotations": []}]);
            items.push(json!({"type": "message", "id": "m", "role": "assistant", "content": content}));
        }
        for (id, name, arguments) in self.calls() {
            items.push(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
        }
        items
    }

    /// Returns the events of a stream, with their names.
    pub(super) fn events(&self, api: Api) -> Vec<(String, String)> {
        let events = match api {
            Api::OpenAiChat => return self.chat_events(),
            Api::OpenAiResponses => self.responses_events(),
            Api::Anthropic => self.anthropic_events(),
        };
        let named = |event: Value| (event["type"].as_str().unwrap().to_owned(), event.to_string());
        events.into_iter().map(named).collect()
    }

    fn chat_events(&self) -> Vec<(String, String)> {
        let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
        events.extend(self.thinking.iter().map(|piece| delta(json!({"reasoning_content": piece}))));
        events.extend(self.text.iter().map(|piece| delta(json!({"content": piece}))));
        for (index, (name, pieces)) in self.calls.iter().enumerate() {
            let function = json!({"name": name, "arguments": ""});
            let id = format!("id-{index}");
            events.push(delta(json!({"tool_calls": [{"index": index, "id": id, "function": function}]})));
            for piece in pieces {
                let call = json!({"index": index, "function": {"arguments": piece}});
                events.push(delta(json!({"tool_calls": [call]})));
            }
        }
        let reason = self.reason(Api::OpenAiChat);
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": null}));
        events.push(json!({"choices": [], "usage": self.usage(Api::OpenAiChat)}));
        let mut events: Vec<_> = events.iter().map(|event| (String::new(), event.to_string())).collect();
        events.push((String::new(), "[DONE]".to_owned()));
        events
    }

    fn responses_events(&self) -> Vec<Value> {
        let mut events =
            vec![json!({"type": "response.created", "response": {"status": "in_progress", "output": []}})];
        let mut calls = self.calls.iter();
        for (index, item) in self.items().into_iter().enumerate() {
            let kind = item["type"].as_str().unwrap().to_owned();
            events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
            let (kind, pieces) = match kind.as_str() {
                "reasoning" => ("response.reasoning_summary_text.delta", &self.thinking),
                "message" => ("response.output_text.delta", &self.text),
                _ => ("response.function_call_arguments.delta", &calls.next().unwrap().1),
            };
            for piece in pieces {
                events.push(json!({"type": kind, "output_index": index, "delta": piece}));
            }
            events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        let kind = if self.cut_short { "response.incomplete" } else { "response.completed" };
        events.push(json!({"type": kind, "response": self.whole(Api::OpenAiResponses)}));
        events
    }

    fn anthropic_events(&self) -> Vec<Value> {
        let mut usage = self.usage(Api::Anthropic);
        usage["output_tokens"] = json!(self.output.min(1));
        let mut events = vec![
            json!({"type": "message_start", "message": {"content": [], "stop_reason": null, "usage": usage}}),
            json!({"type": "ping"}),
        ];
        let mut calls = self.calls.iter();
        for (index, block) in self.blocks(Api::Anthropic).iter().enumerate() {
            let mut start = anthropic_block(block);
            let mut deltas = Vec::new();
            match start["type"].as_str().unwrap() {
                "thinking" => {
                    start["thinking"] = json!("");
                    start["signature"] = json!("");
                    deltas.extend(
                        self.thinking
                            .iter()
                            .map(|piece| json!({"type": "thinking_delta", "thinking": piece})),
                    );
                    deltas.push(json!({"type": "signature_delta", "signature": "s"}));
                }
                "text" => {
                    start["text"] = json!("");
                    deltas.extend(self.text.iter().map(|piece| json!({"type": "text_delta", "text": piece})));
                }
                _ => {
                    start["input"] = json!({});
                    let pieces = &calls.next().unwrap().1;
                    deltas.extend(
                        pieces.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
                    );
                }
            }
            events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": self.reason(Api::Anthropic), "stop_sequence": null});
        let usage = json!({"output_tokens": self.output});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events
    }
}

fn reasoning_item(thinking: &str) -> Value {
    let summary = json!([{"type": "summary_text", "text": thinking}]);
    json!({"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "e"})
}

fn anthropic_block(block: &Value) -> Value {
    if let Some(reasoning) = block.get("reasoning") {
        reasoning["item"].clone()
    } else if let Some(text) = block.get("text") {
        json!({"type": "text", "text": text})
    } else {
        let call = &block["tool_call"];
        json!({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
    }
}

/// Writes events as servers do, with different ends of lines, with comments, or with JSON on several lines.
pub(super) fn written(events: &[(String, String)], end: &str, comments: bool, pretty: bool) -> Vec<u8> {
    let mut text = String::new();
    for (name, data) in events {
        if comments {
            text.push_str(": keep-alive");
            text.push_str(end);
            text.push_str(end);
        }
        if !name.is_empty() {
            write!(text, "event: {name}{end}").unwrap();
        }
        let data = match serde_json::from_str::<Value>(data) {
            Ok(value) if pretty => serde_json::to_string_pretty(&value).unwrap(),
            _ => data.clone(),
        };
        for line in data.split('\n') {
            write!(text, "data: {line}{end}").unwrap();
        }
        text.push_str(end);
    }
    text.into_bytes()
}

proptest! {
    #[test]
    fn a_stream_in_any_pieces_is_the_whole_answer(
        answer in answer(),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        comments: bool,
        pretty: bool,
        lengths in prop::collection::vec(1..40_usize, 1..8),
    ) {
        for api in Api::ALL {
            let whole = api.decode(answer.whole(api).to_string().as_bytes(), &DecoderBounds::default()).unwrap();
            prop_assert_eq!(serde_json::to_value(&whole.message.blocks).unwrap(), json!(answer.blocks(api)));
            prop_assert_eq!(whole.stop, answer.stop());
            let usage = Usage {
                input: answer.input,
                output: answer.output,
                cached: answer.cached,
                cache_write: 0,
                reasoning: answer.reasoning,
            };
            prop_assert_eq!(whole.usage, Some(usage));
            let bytes = written(&answer.events(api), end, comments, pretty);
            let (response, _) = streamed(api, &bytes, &lengths, DecoderBounds::default()).unwrap();
            prop_assert_eq!(response, whole);
        }
    }

    #[test]
    fn what_was_answered_can_be_sent_back(answer in answer(), other in prop::sample::select(Api::ALL.to_vec())) {
        for api in Api::ALL {
            let whole = api.decode(answer.whole(api).to_string().as_bytes(), &DecoderBounds::default()).unwrap();
            let mut request = super::hello();
            let ids: Vec<_> = whole.message.tool_calls().map(|call| call.id.clone()).collect();
            request.messages.push(whole.message);
            let mut blocks: Vec<_> = ids
                .into_iter()
                .map(|id| Block::ToolResult(crate::ToolResult { id, content: "done".to_owned(), failed: false }))
                .collect();
            blocks.push(Block::Text("Go on".to_owned()));
            request.messages.push(crate::Message { role: crate::Role::User, blocks });
            let body = super::body(other, &request).to_string();
            prop_assert_eq!(body.contains("\"signature\""), api == other && api == Api::Anthropic && !answer.thinking.is_empty());
            prop_assert_eq!(body.contains("\"encrypted_content\""), api == other && api == Api::OpenAiResponses && !answer.thinking.is_empty());
            prop_assert_eq!(body.contains("\"reasoning_content\""),
                api == other && api == Api::OpenAiChat && !answer.thinking.is_empty() && !(answer.text.is_empty() && answer.calls.is_empty()));
        }
    }
}
