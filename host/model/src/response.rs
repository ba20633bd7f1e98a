//! An answer of a model, in a form that is independent of the API.

use serde::{Deserialize, Serialize};

use crate::{Message, Usage};

/// An answer. Its JSON form is stored in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// The assistant's message.
    pub message: Message,
    /// Reason for its end.
    pub stop: StopReason,
    /// Tokens that the call has used; `None` if the provider does not report them, so that the caller has to charge
    /// what it reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Reason for the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has finished.
    End,
    /// The model asks for tools.
    ToolCalls,
    /// The answer has reached the maximum number of tokens.
    MaxOutput,
    /// The answer has reached one of the texts of `stop`. Providers that do not distinguish this report
    /// [`End`](Self::End).
    StopText,
    /// The model or the provider has refused to answer.
    Refused,
}
