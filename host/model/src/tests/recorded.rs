//! Answers of a server that is not part of this project, to requests that this crate encodes. `tests/models/record.mjs`
//! records them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::streamed;
use crate::{
    Api, ApiOptions, Block, DecodeError, DecoderBounds, Delta, ErrorAnswer, Message, ProviderErrorCategory,
    Request, Response, Role, StopReason, Target, Usage,
};

#[derive(Deserialize)]
struct Script {
    system: String,
    tools: Value,
    turns: Vec<Turn>,
    models: BTreeMap<String, Model>,
    max_output: u64,
}

#[derive(Deserialize)]
struct Turn {
    name: String,
    user: Vec<Block>,
    #[serde(default)]
    request: Map<String, Value>,
    answer: Value,
}

#[derive(Deserialize)]
struct Model {
    model: String,
    extra: Map<String, Value>,
}

#[derive(Deserialize)]
struct Recording {
    api: Api,
    streamed: bool,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    turn: String,
    request: Value,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

/// Outcome of a turn, without fields that only one API has.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Answered { blocks: Vec<Block>, reasoning: String, stop: StopReason, usage: Option<Usage> },
    Refused { category: ProviderErrorCategory, message: String, retry_after_ms: Option<u64> },
    Cut,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models")
}

fn script() -> Script {
    serde_json::from_slice(&std::fs::read(folder().join("conversation.json")).unwrap()).unwrap()
}

/// Reads the recordings of the repository, or those of the folder `RECORDED`.
fn recordings() -> Vec<Recording> {
    let folder = std::env::var_os("RECORDED").map_or_else(|| folder().join("recorded"), PathBuf::from);
    let mut recordings = Vec::new();
    for api in Api::ALL {
        for suffix in ["", "-streamed"] {
            let text = std::fs::read(folder.join(format!("{api}{suffix}.json"))).unwrap();
            recordings.push(serde_json::from_slice(&text).unwrap());
        }
    }
    recordings
}

/// Returns the text of the model's reasoning, of each API.
fn thought(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        if let Block::Reasoning(reasoning) = block {
            let item = &reasoning.item;
            for said in [&item["reasoning_content"], &item["thinking"], &item["summary"][0]["text"]] {
                text.push_str(said.as_str().unwrap_or_default());
            }
        }
    }
    text
}

/// Repeats the recorded conversation, and asserts that every request is the recorded one.
fn converse(script: &Script, recording: &Recording) -> Vec<(String, Outcome)> {
    let model = &script.models[recording.api.name()];
    let options = ApiOptions { extra: model.extra.clone(), ..ApiOptions::default() };
    let target = Target {
        model: &model.model,
        max_output: script.max_output,
        streamed: recording.streamed,
        options: &options,
    };
    let mut history = Vec::new();
    let mut outcomes = Vec::new();
    for exchange in &recording.exchanges {
        let turn = script.turns.iter().find(|turn| turn.name == exchange.turn).unwrap();
        let message = Message { role: Role::User, blocks: turn.user.clone() };
        let mut request = turn.request.clone();
        request.insert("model".to_owned(), json!("m"));
        request.insert("system".to_owned(), json!(script.system));
        request.insert("tools".to_owned(), script.tools.clone());
        request.insert("messages".to_owned(), json!([]));
        let mut request: Request = serde_json::from_value(Value::Object(request)).unwrap();
        request.messages.clone_from(&history);
        request.messages.push(message.clone());
        let encoded = recording.api.encode(&request, &target).unwrap();
        let body: Value = serde_json::from_slice(&encoded.body).unwrap();
        assert_eq!(body, exchange.request, "{}, {}", recording.api, exchange.turn);
        assert!(encoded.bound_input(1000) >= 100, "more than the words of the request");
        let outcome = outcome(recording, exchange);
        if let Ok(response) = &outcome {
            history.push(message);
            history.push(response.message.clone());
        }
        outcomes.push((exchange.turn.clone(), outcome.map_or_else(|outcome| outcome, answered)));
    }
    outcomes
}

fn answered(response: Response) -> Outcome {
    let reasoning = thought(&response.message.blocks);
    let blocks =
        response.message.blocks.into_iter().filter(|block| !matches!(block, Block::Reasoning(_))).collect();
    Outcome::Answered { blocks, reasoning, stop: response.stop, usage: response.usage }
}

fn outcome(recording: &Recording, exchange: &Exchange) -> Result<Response, Outcome> {
    let body = exchange.body.as_bytes();
    if exchange.status != 200 {
        let headers = exchange.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let answer = ErrorAnswer::new(exchange.status, headers, body);
        return Err(Outcome::Refused {
            category: answer.category,
            message: answer.message,
            retry_after_ms: answer.retry_after_ms,
        });
    }
    if !recording.streamed {
        return Ok(recording.api.decode(body, &DecoderBounds::default()).unwrap());
    }
    let result = streamed(recording.api, body, &[body.len()], DecoderBounds::default());
    for lengths in [&[1][..], &[3, 1, 4, 1, 5, 9, 2, 6], &[100, 1]] {
        assert_eq!(streamed(recording.api, body, lengths, DecoderBounds::default()), result);
    }
    match result {
        Ok((response, deltas)) => {
            shown_as_answered(&response, &deltas);
            Ok(response)
        }
        Err(DecodeError::Cut { .. }) => Err(Outcome::Cut),
        Err(error) => panic!("{}, {}: {error}", recording.api, exchange.turn),
    }
}

/// Asserts that the displayed pieces are equal to the answer.
fn shown_as_answered(response: &Response, deltas: &[Delta]) {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), BTreeMap::new());
    for delta in deltas {
        match delta {
            Delta::Text(piece) => text.push_str(piece),
            Delta::Reasoning(piece) => reasoning.push_str(piece),
            Delta::ToolCall { call, name, arguments } => {
                let (known, sum): &mut (String, String) = calls.entry(*call).or_default();
                known.push_str(name.as_deref().unwrap_or_default());
                sum.push_str(arguments);
            }
        }
    }
    assert_eq!(text, response.message.text());
    assert_eq!(reasoning, thought(&response.message.blocks));
    let shown: Vec<(String, Value)> = calls
        .into_values()
        .map(|(name, text)| (name, serde_json::from_str(&text).unwrap_or_else(|_| json!({}))))
        .collect();
    let said: Vec<_> =
        response.message.tool_calls().map(|call| (call.name.clone(), call.arguments.clone())).collect();
    assert_eq!(shown, said);
}

#[test]
fn all_apis_give_the_same_transcript() {
    let script = script();
    let mut transcripts: Vec<_> = recordings()
        .iter()
        .map(|recording| {
            let transcript: BTreeMap<_, _> = converse(&script, recording).into_iter().collect();
            (recording.api, recording.streamed, transcript)
        })
        .collect();
    for (api, streamed, transcript) in &mut transcripts {
        // Only a stream can be cut off. The server has no refusal for Responses.
        assert_eq!(transcript.remove("cut"), streamed.then_some(Outcome::Cut), "{api}");
        let refused = transcript.remove("refused");
        if *api == Api::OpenAiResponses {
            assert_eq!(refused, None);
        } else {
            let Some(Outcome::Answered { stop: StopReason::Refused, blocks, .. }) = refused else {
                panic!("{api}: {refused:?}");
            };
            assert_eq!(blocks, [Block::Text("I will not.".to_owned())]);
        }
        assert_eq!(transcript.len(), script.turns.len() - 2, "{api}");
    }
    for (api, streamed, transcript) in &transcripts[1..] {
        for (turn, outcome) in transcript {
            assert_eq!(*outcome, transcripts[0].2[turn], "{api}, streamed: {streamed}, {turn}");
        }
    }
    follows_the_script(&script, &transcripts[0].2);
}

/// Asserts that the transcript has the answers that the script gives the server.
fn follows_the_script(script: &Script, transcript: &BTreeMap<String, Outcome>) {
    for turn in &script.turns {
        let Some(outcome) = transcript.get(&turn.name) else {
            continue;
        };
        match outcome {
            Outcome::Refused { category, message, retry_after_ms } => {
                assert_eq!(*message, turn.answer["error"]["message"]);
                let (expected, wait) = match turn.answer["status"].as_u64() {
                    Some(429) => (ProviderErrorCategory::RateLimited, Some(7000)),
                    Some(500) => (ProviderErrorCategory::Transient, None),
                    _ => (ProviderErrorCategory::Denied, None),
                };
                assert_eq!((*category, *retry_after_ms), (expected, wait), "{}", turn.name);
            }
            Outcome::Answered { blocks, reasoning, stop, usage } => {
                let mut expected = Vec::new();
                if let Some(text) = turn.answer["content"].as_str() {
                    expected.push(json!({"text": text}));
                }
                let calls = turn.answer["toolCalls"].as_array().cloned().unwrap_or_default();
                for call in &calls {
                    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
                    let call = json!({"id": call["id"], "name": call["name"], "arguments": arguments});
                    expected.push(json!({"tool_call": call}));
                }
                assert_eq!(serde_json::to_value(blocks).unwrap(), Value::Array(expected), "{}", turn.name);
                assert_eq!(reasoning.as_str(), turn.answer["reasoning"].as_str().unwrap_or_default());
                let ends = match turn.answer["finishReason"].as_str() {
                    Some(_) => StopReason::MaxOutput,
                    None if calls.is_empty() => StopReason::End,
                    None => StopReason::ToolCalls,
                };
                assert_eq!(*stop, ends, "{}", turn.name);
                assert_eq!(*usage, Some(Usage { input: 120, output: 45, ..Usage::default() }));
            }
            Outcome::Cut => panic!("{} was cut", turn.name),
        }
    }
}

#[test]
fn a_recorded_stream_that_is_cut_anywhere_is_whole_or_an_error() {
    for recording in recordings().iter().filter(|recording| recording.streamed) {
        for exchange in recording.exchanges.iter().filter(|exchange| exchange.status == 200) {
            let body = exchange.body.as_bytes();
            let whole = streamed(recording.api, body, &[body.len()], DecoderBounds::default());
            for end in (0..body.len()).step_by(7).chain(body.len().saturating_sub(150)..body.len()) {
                match (streamed(recording.api, &body[..end], &[1000], DecoderBounds::default()), &whole) {
                    (Err(DecodeError::Cut { .. }), _) => {}
                    (Ok((cut, _)), Ok((whole, _))) => {
                        assert_eq!(cut.message, whole.message);
                        assert!(cut.usage.is_none() || cut.usage == whole.usage);
                    }
                    (result, _) => panic!("{}, {}, {end}: {result:?}", recording.api, exchange.turn),
                }
            }
        }
    }
}
