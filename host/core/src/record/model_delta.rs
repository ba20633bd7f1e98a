//! A part of a language model's answer, reported while it arrives.

use serde::{Deserialize, Serialize};

/// A part of a language model's answer. It is reported to observers of a run, and stored nowhere: components get whole answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDelta {
    /// The model's name in the manifest.
    pub model: String,
    /// Which call of a model it is, of the component that makes it, from 1.
    pub call: u64,
    /// Which try of that call it is, from 1. Parts of an earlier try are not part of the answer.
    pub attempt: u32,
    /// What it is a part of.
    pub part: ModelPart,
    /// The tool that is called, in the first part of a call.
    pub tool: Option<String>,
    /// The text that is added; of a call, JSON text of its arguments.
    pub text: String,
}

/// What a part of an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelPart {
    /// The answer's text.
    Text,
    /// What the model thinks, as far as the provider shows it.
    Reasoning,
    /// A call of a tool.
    ToolCall,
}

impl ModelPart {
    /// The name in streams.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
        }
    }
}
