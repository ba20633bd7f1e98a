//! Answers of models.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Message, Role, ToolCall};

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// The assistant's message.
    pub message: Message,
    /// Reason for its end.
    pub stop: StopReason,
    /// Usage of the call.
    #[serde(default)]
    pub usage: Usage,
}

/// Reason for the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has finished.
    End,
    /// The model asks for tools.
    ToolCalls,
    /// The answer has reached the maximum number of tokens.
    MaxOutput,
    /// The answer has reached one of the request's texts of `stop`.
    StopText,
    /// The model or the provider has refused to answer.
    Refused,
}

/// Usage of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    pub input: u64,
    /// Tokens of the answer, including reasoning.
    pub output: u64,
    /// Tokens of the request that the provider has read from a cache.
    pub cached: u64,
    /// Tokens of the answer that are reasoning.
    pub reasoning: u64,
    /// Cost by the manifest's prices, in millionths of its currency.
    pub cost: u64,
}

/// Rest of a task's budget. A figure that is `None` has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Number of calls.
    pub calls: Option<u64>,
    /// Tokens of requests.
    pub input: Option<u64>,
    /// Tokens of answers.
    pub output: Option<u64>,
    /// Cost in millionths of the manifest's currency.
    pub cost: Option<u64>,
}

impl Response {
    /// Creates an answer with one text and without usage, for tests.
    pub fn text(text: impl Into<String>) -> Self {
        Self { message: Message::assistant(text), stop: StopReason::End, usage: Usage::default() }
    }

    /// Creates an answer that calls tools, by their names and arguments, with the ids `call-1`, `call-2` and so on, for tests.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let call = |(index, (name, arguments)): (usize, (N, Value))| {
            Block::ToolCall(ToolCall { id: format!("call-{}", index + 1), name: name.into(), arguments })
        };
        Self {
            message: Message {
                role: Role::Assistant,
                blocks: calls.into_iter().enumerate().map(call).collect(),
            },
            stop: StopReason::ToolCalls,
            usage: Usage::default(),
        }
    }

    /// Sets the usage of the call.
    #[must_use]
    pub fn used(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the reason for the end of the answer.
    #[must_use]
    pub fn stopped(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }
}
