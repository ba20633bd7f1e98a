//! Messages of transcripts, read from journals.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::node::Failure;
use graph_core::record::RecordKind;
use graph_core::record::journal::{as_digested, as_kept};
use graph_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the component, which precede the conversation.
    System,
    /// The component: its user's words, and results of tools.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the name in transcripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text(String),
    /// Reasoning of the model.
    Reasoning(Reasoning),
    /// A tool call that the model requests.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// An image or another file, without its bytes.
    Media(FileDigest),
    /// A block of a later version of the program.
    #[serde(untagged)]
    Other(Value),
}

/// Reasoning of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "JournaledReasoning")]
pub struct Reasoning {
    /// Name of the provider's API.
    pub api: String,
    /// Readable text; `None` if the provider encrypted or withheld it.
    pub text: Option<String>,
}

#[derive(Deserialize)]
struct JournaledReasoning {
    api: String,
    item: Value,
}

/// A tool call that a model requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub id: String,
    /// Text that the model receives.
    pub content: String,
    /// `true` if the tool has failed; `content` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// A file in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "JournaledMedia")]
pub struct FileDigest {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Length in bytes; `None` if the journal lacks it.
    pub bytes: Option<u64>,
    /// SHA-256; `None` if the journal lacks it.
    pub digest: Option<Digest>,
}

#[derive(Deserialize)]
struct JournaledMedia {
    media_type: String,
    data: Value,
}

impl From<JournaledMedia> for FileDigest {
    fn from(kept: JournaledMedia) -> Self {
        let known = as_digested(&kept.data).or_else(|| {
            let bytes = as_kept(&kept.data)?;
            Some((bytes.len() as u64, Digest::of_bytes(&bytes)))
        });
        let (bytes, digest) = known.unzip();
        Self { media_type: kept.media_type, bytes, digest }
    }
}

impl From<JournaledReasoning> for Reasoning {
    fn from(kept: JournaledReasoning) -> Self {
        Self { text: reasoning_text(&kept.item), api: kept.api }
    }
}

/// Returns the readable text in the item of any API: a member with the text, or lists of parts with texts.
fn reasoning_text(item: &Value) -> Option<String> {
    let mut texts = Vec::new();
    for name in ["thinking", "reasoning_content", "reasoning", "summary", "content"] {
        match item.get(name) {
            Some(Value::String(text)) => texts.push(text.as_str()),
            Some(Value::Array(parts)) => {
                texts.extend(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)));
            }
            _ => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    (!texts.is_empty()).then(|| texts.join("\n"))
}

impl Block {
    /// Passes each text of the block that a search covers to `visit`.
    pub(crate) fn each_text(&self, mut visit: impl FnMut(&str)) {
        match self {
            Self::Text(text) => visit(text),
            Self::Reasoning(reasoning) => reasoning.text.iter().for_each(|text| visit(text)),
            Self::ToolCall(call) => {
                visit(&call.name);
                visit(&graph_core::json::canonical_string(&call.arguments));
            }
            Self::ToolResult(result) => visit(&result.content),
            Self::Media(file) => visit(&file.media_type),
            Self::Other(value) => visit(&graph_core::json::canonical_string(value)),
        }
    }
}

/// The result of a call of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Reason of its end: `end`, `tool_calls`, `max_output`, `stop_text` or `refused`; `None` for a call without an answer.
    pub stop: Option<String>,
    /// Tokens that the provider has counted, by name: `input`, `output`, `cached`, `cache_write`, `reasoning`. For a
    /// call without an answer, the tokens that it is charged.
    pub usage: Map<String, Value>,
    /// Cost by the manifest's prices, in millionths of its currency, failed tries included.
    pub cost: u64,
    /// Number of requests that were sent for it: more than one if the host has tried again.
    pub requests: u64,
    /// Failure, if there is no answer.
    pub failure: Option<Failure>,
}

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number in the transcript, from 1.
    pub number: u64,
    /// Number of its conversation, from 1.
    pub conversation: u64,
    /// Recorded time of its task: the end of the last attempt.
    pub at: Timestamp,
    /// The superstep of its task.
    pub superstep: u64,
    /// The namespace of the child run; empty for the run itself.
    pub namespace: String,
    /// Path of nodes to the one that sent the request.
    pub path: String,
    /// The id of the task.
    pub task: String,
    /// The attempt of the task, from 1.
    pub attempt: u32,
    /// The name of the model in the manifest.
    pub model: String,
    /// Its sender.
    pub role: Role,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// The result of the call; none for messages of requests.
    pub answer: Option<Answer>,
    /// Digest of the whole request that contains it or that it answers: the SHA-256 of the canonical JSON of the journal's entry.
    pub request: Digest,
    /// Kind of the record whose journal has it: a checkpoint, or a task or status record of a superstep that has not committed.
    pub record: RecordKind,
    /// Number of the checkpoint, or of the checkpoint that the record is under.
    pub checkpoint: u64,
    /// The digest of the record.
    pub digest: Digest,
}

impl Message {
    /// Makes the JSON document of the message.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "number": self.number,
            "conversation": self.conversation,
            "at": self.at.to_string(),
            "superstep": self.superstep,
            "namespace": self.namespace,
            "path": self.path,
            "task": self.task,
            "attempt": self.attempt,
            "model": self.model,
            "role": self.role,
            "blocks": self.blocks,
            "request": self.request,
            "record": self.record.as_str(),
            "checkpoint": self.checkpoint,
            "digest": self.digest,
        });
        if let Some(answer) = &self.answer {
            value["answer"] = json!({
                "stop": answer.stop,
                "usage": answer.usage,
                "cost": answer.cost,
                "requests": answer.requests,
                "failure": answer.failure,
            });
        }
        value
    }
}

/// Totals of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of messages.
    pub messages: u64,
    /// Number of conversations.
    pub conversations: u64,
    /// Number of calls of models, however often each was sent.
    pub calls: u64,
    /// Number of calls without an answer.
    pub failed: u64,
    /// Model use of all calls.
    pub used: ModelUse,
    /// Model use by model, by its name in the manifest.
    pub models: BTreeMap<String, ModelUse>,
    /// Model use of components that other components called: their conversations are in no journal.
    pub called: ModelUse,
    /// Model use, or possible use, of attempts that a crash or a deadline ended: their conversations are in no journal.
    pub lost: ModelUse,
}

impl Totals {
    /// Makes the JSON document of the totals.
    pub fn to_json(&self) -> Value {
        let models: Map<String, Value> =
            self.models.iter().map(|(name, used)| (name.clone(), model_use(*used))).collect();
        json!({
            "messages": self.messages,
            "conversations": self.conversations,
            "calls": self.calls,
            "failed": self.failed,
            "used": model_use(self.used),
            "models": models,
            "called": model_use(self.called),
            "lost": model_use(self.lost),
        })
    }
}

fn model_use(used: ModelUse) -> Value {
    json!({ "calls": used.calls, "input_tokens": used.input, "output_tokens": used.output, "cost": used.cost })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn block(value: Value) -> Block {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn reasoning_is_its_text_in_every_api() {
        for (api, item, text) in [
            ("anthropic", json!({ "type": "thinking", "thinking": "hm", "signature": "s" }), Some("hm")),
            ("anthropic", json!({ "type": "redacted_thinking", "data": "x" }), None),
            ("openai-chat", json!({ "reasoning_content": "hm" }), Some("hm")),
            (
                "openai-responses",
                json!({ "type": "reasoning", "encrypted_content": "x", "summary": [] }),
                None,
            ),
            (
                "openai-responses",
                json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "a" }, { "text": "b" }] }),
                Some("a\nb"),
            ),
        ] {
            let read = block(json!({ "reasoning": { "api": api, "item": item } }));
            let expected = Reasoning { api: api.to_owned(), text: text.map(str::to_owned) };
            assert_eq!(read, Block::Reasoning(expected));
        }
    }

    #[test]
    fn a_file_is_its_type_and_its_digest() {
        let digest = Digest::of_bytes(b"abc");
        let expected =
            FileDigest { media_type: "image/png".to_owned(), bytes: Some(3), digest: Some(digest) };
        for data in [graph_core::record::journal::digested(b"abc"), graph_core::record::journal::kept(b"abc")]
        {
            let read = block(json!({ "media": { "media_type": "image/png", "data": data } }));
            assert_eq!(read, Block::Media(expected.clone()));
            assert_eq!(
                json!(read),
                json!({ "media": { "media_type": "image/png", "bytes": 3, "digest": digest } })
            );
        }
    }

    #[test]
    fn what_a_later_version_made_is_shown_as_it_is() {
        let value = json!({ "video": { "seconds": 3 } });
        assert_eq!(block(value.clone()), Block::Other(value.clone()));
        assert_eq!(json!(Block::Other(value.clone())), value);
    }
}
