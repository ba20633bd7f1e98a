//! Conditions as short text.

use std::fmt;

use super::{Condition, Node, Op, Test};
use crate::json::canonical_string;

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.node, f)
    }
}

fn write(node: &Node, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match node {
        Node::Always => f.write_str("always"),
        Node::All(nodes) => join(nodes, "and", "always", f),
        Node::Any(nodes) => join(nodes, "or", "never", f),
        Node::Not(inner) => match &**inner {
            Node::Test(path, Test::Exists) => write!(f, "{path} does not exist"),
            Node::Test(path, Test::In(values)) => write!(f, "{path} not in {}", list(values)),
            inner => {
                f.write_str("not (")?;
                write(inner, f)?;
                f.write_str(")")
            }
        },
        Node::Test(path, test) => match test {
            Test::Exists => write!(f, "{path} exists"),
            Test::In(values) => write!(f, "{path} in {}", list(values)),
            Test::Regex(regex) => write!(f, "{path} =~ /{}/", regex.as_str()),
            Test::Other(op, other) => write!(f, "{path} {} {other}", sign(*op)),
            Test::Compare(op, value) => write!(f, "{path} {} {}", sign(*op), canonical_string(value)),
        },
    }
}

fn sign(op: Op) -> &'static str {
    match op {
        Op::Eq => "==",
        Op::Ne => "!=",
        Op::Gt => ">",
        Op::Gte => ">=",
        Op::Lt => "<",
        Op::Lte => "<=",
        Op::In | Op::Contains | Op::Regex | Op::Exists => op.as_str(),
    }
}

fn list(values: &[serde_json::Value]) -> String {
    format!("[{}]", values.iter().map(canonical_string).collect::<Vec<_>>().join(", "))
}

fn join(nodes: &[Node], word: &str, empty: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if nodes.is_empty() {
        return f.write_str(empty);
    }
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            write!(f, " {word} ")?;
        }
        match node {
            Node::All(inner) | Node::Any(inner) if inner.len() > 1 && nodes.len() > 1 => {
                f.write_str("(")?;
                write(node, f)?;
                f.write_str(")")?;
            }
            _ => write(node, f)?,
        }
    }
    Ok(())
}
