//! Conditions: `{path, op, value}`, `{path, op, other}` and `any`, `all`, `not`, evaluated over the same roots as templates. In their paths,
//! `[*]` stands for any element of a list.

mod evaluate;
mod parse;
mod text;

use serde_json::Value;

use crate::template::Path;
use crate::work::Pattern;

pub use evaluate::MAX_WARNINGS;
pub use parse::{ConditionSyntaxError, MAX_CONDITION_DEPTH};

/// A parsed condition. Its `Display` is a short text for pictures and messages, such as `state.n > 10`.
#[derive(Debug, Clone)]
pub struct Condition {
    node: Node,
}

#[derive(Debug, Clone)]
enum Node {
    Always,
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test(Path, Test),
}

#[derive(Debug, Clone)]
enum Test {
    /// `eq`, `ne`, `contains` and the orderings.
    Compare(Op, Value),
    In(Vec<Value>),
    /// One of these operators, or `in`, with the value at another path.
    Other(Op, Path),
    Regex(Pattern),
    Exists,
}

/// An operator of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The same value; numbers by value, `3` equals `3.0`.
    Eq,
    /// Not the same value.
    Ne,
    /// Greater; numbers or text.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less; numbers or text.
    Lt,
    /// Less or equal.
    Lte,
    /// One of a list.
    In,
    /// Has this part: text, an element, or an object's key.
    Contains,
    /// Matches a regular expression somewhere.
    Regex,
    /// Is present and not null.
    Exists,
}

impl Op {
    /// Every operator, in the order in which messages list them.
    pub const ALL: [Self; 10] = [
        Self::Eq,
        Self::Ne,
        Self::Gt,
        Self::Gte,
        Self::Lt,
        Self::Lte,
        Self::In,
        Self::Contains,
        Self::Regex,
        Self::Exists,
    ];

    /// Returns the name in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::Contains => "contains",
            Self::Regex => "regex",
            Self::Exists => "exists",
        }
    }
}

impl Condition {
    /// The condition that always holds.
    pub const ALWAYS: Self = Self { node: Node::Always };

    /// Checks whether the condition is empty, so that it always holds.
    pub fn is_always(&self) -> bool {
        matches!(self.node, Node::Always)
    }

    /// Returns every path that the condition reads, in document order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let mut found = Vec::new();
        collect(&self.node, &mut found);
        found.into_iter()
    }
}

fn collect<'a>(node: &'a Node, found: &mut Vec<&'a Path>) {
    match node {
        Node::Always => {}
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().for_each(|node| collect(node, found)),
        Node::Not(node) => collect(node, found),
        Node::Test(path, test) => {
            found.push(path);
            if let Test::Other(_, other) = test {
                found.push(other);
            }
        }
    }
}

#[cfg(test)]
mod tests;
