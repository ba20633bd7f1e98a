//! A part of a language model's answer, reported while it arrives.

use serde::{Deserialize, Serialize};

/// A part of a language model's answer. It is reported to observers of a run, and stored nowhere: components receive whole answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDelta {
    /// The model's name in the manifest.
    pub model: String,
    /// The call of a model by its component, from 1.
    pub call: u64,
    /// The attempt of that call, from 1. Parts of an earlier attempt do not belong to the answer.
    pub attempt: u32,
    /// The kind of the part.
    pub part: ModelPart,
    /// The name of the called tool, in the first part of a call.
    pub tool: Option<String>,
    /// The added text; for a call, JSON text of its arguments.
    pub text: String,
}

/// The kind of a part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelPart {
    /// The answer's text.
    Text,
    /// The model's reasoning, as far as the provider shows it.
    Reasoning,
    /// A call of a tool.
    ToolCall,
}

impl ModelPart {
    /// Returns the name in streams.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
        }
    }
}
