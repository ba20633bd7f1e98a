//! The routing of branches: edges that fired, and branches that no edge continued.

use serde::{Deserialize, Serialize};

/// An edge of a graph that a branch took, or the end of a branch that no edge continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiredEdge {
    /// Number of branches that took it.
    pub count: u32,
    /// The node at its start.
    pub from: String,
    /// The node at its end; `None` if the branch ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The edge, among those of its node.
    pub via: EdgeKind,
}

/// An edge of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The entry of `next` with this index, from 0.
    Next(u32),
    /// The `on_error` of a node that failed.
    Error,
    /// A `goto`, with or without an argument.
    Goto,
    /// No entry of `next` matched, and the branch ended. Checkpoints of format version 1 do not record this.
    NoMatch,
}

impl EdgeKind {
    /// Returns the edge with an index of `next`.
    pub fn next(place: usize) -> Self {
        Self::Next(u32::try_from(place).unwrap_or(u32::MAX))
    }
}
