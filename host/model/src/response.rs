//! An answer, independent of the API that it is from.

use serde::{Deserialize, Serialize};

use crate::{Message, Usage};

/// An answer. Its JSON form is what a journal keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// The assistant's message.
    pub message: Message,
    /// Why it ends.
    pub stop: StopReason,
    /// What it has used; `None`: the provider has not said it, and the caller has to charge what it reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has finished.
    End,
    /// The model asks for tools.
    ToolCalls,
    /// It has reached the most tokens.
    MaxOutput,
    /// It has reached one of the texts of `stop`. Providers that do not distinguish it report [`End`](Self::End).
    StopText,
    /// The model or the provider has refused to answer.
    Refused,
}
