//! Where branches went: edges that fired, and branches that no edge continued.

use serde::{Deserialize, Serialize};

/// An edge of a graph that led somewhere, or the end of a branch that no edge continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiredEdge {
    /// How often: once for each branch that took it.
    pub count: u32,
    /// The node that it leads from.
    pub from: String,
    /// The node that it leads to; `None` is the end of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Which of the node's edges it is.
    pub via: Via,
}

/// Which edge of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The one at this place of `next`, from 0.
    Next(u32),
    /// The node failed, and its `on_error` was followed.
    Error,
    /// A `goto`, with or without an argument.
    Goto,
    /// No entry of `next` matched, and the branch ended. Checkpoints of format version 1 do not record this.
    NoMatch,
}

impl Via {
    /// The edge at a place of `next`.
    pub fn next(place: usize) -> Self {
        Self::Next(u32::try_from(place).unwrap_or(u32::MAX))
    }
}
