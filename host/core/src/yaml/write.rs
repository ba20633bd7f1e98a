//! Writes trees as text: block style, in the order of the tree, which [`parse`](super::parse) reads as the same values.

use std::fmt::Write as _;

use super::node::{Mapping, Node, Yaml};
use super::scalar;
use crate::diagnostic::is_invisible;

/// Width of the widest list of scalars on one line.
const WIDEST_LINE: usize = 100;

/// Writes a tree as a document. Comments and places are not part of a tree; texts are quoted if a plain scalar would have another meaning.
pub fn write(node: &Node) -> String {
    let mut out = String::new();
    match &node.value {
        Yaml::Mapping(mapping) if !mapping.is_empty() => entries(mapping, 0, false, &mut out),
        Yaml::List(items) if !items.is_empty() => list(items, 0, &mut out),
        _ => {
            inline(node, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of a mapping, each on one or more lines. `begun`: the first continues a line.
fn entries(mapping: &Mapping, depth: usize, begun: bool, out: &mut String) {
    for (at, entry) in mapping.iter().enumerate() {
        if at > 0 || !begun {
            indent(depth, out);
        }
        text(&entry.key.name, out);
        out.push(':');
        value(&entry.value, depth, out);
    }
}

/// Writes the value after a key.
fn value(node: &Node, depth: usize, out: &mut String) {
    match &node.value {
        Yaml::Mapping(mapping) if !mapping.is_empty() => {
            out.push('\n');
            entries(mapping, depth + 1, false, out);
        }
        Yaml::List(items) if !items.is_empty() => {
            let mut line = String::new();
            if items.iter().all(is_scalar) {
                inline(node, &mut line);
            }
            if !line.is_empty() && line.len() <= WIDEST_LINE {
                out.push(' ');
                out.push_str(&line);
                out.push('\n');
            } else {
                out.push('\n');
                list(items, depth + 1, out);
            }
        }
        Yaml::Text(said) if is_block(&said.value) => block(&said.value, depth + 1, out),
        _ => {
            out.push(' ');
            inline(node, out);
            out.push('\n');
        }
    }
}

fn list(items: &[Node], depth: usize, out: &mut String) {
    for item in items {
        indent(depth, out);
        out.push('-');
        match &item.value {
            Yaml::Mapping(mapping) if !mapping.is_empty() => {
                out.push(' ');
                entries(mapping, depth + 1, true, out);
            }
            Yaml::List(inner) if !inner.is_empty() && !inner.iter().all(is_scalar) => {
                out.push('\n');
                list(inner, depth + 1, out);
            }
            _ => value(item, depth, out),
        }
    }
}

fn is_scalar(node: &Node) -> bool {
    !matches!(node.value, Yaml::Mapping(_) | Yaml::List(_))
}

/// Writes a value on one line.
fn inline(node: &Node, out: &mut String) {
    match &node.value {
        Yaml::Null => out.push_str("null"),
        Yaml::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Yaml::Number(number) => out.push_str(&number.to_string()),
        Yaml::Text(said) => text(&said.value, out),
        Yaml::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                inline(item, out);
            }
            out.push(']');
        }
        Yaml::Mapping(mapping) => {
            out.push('{');
            for (at, entry) in mapping.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { " " });
                text(&entry.key.name, out);
                out.push_str(": ");
                inline(&entry.value, out);
            }
            out.push_str(if mapping.is_empty() { "}" } else { " }" });
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Writes a text as a plain scalar, or in double quotes.
fn text(said: &str, out: &mut String) {
    if is_plain(said) {
        out.push_str(said);
        return;
    }
    out.push('"');
    for c in said.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // The character is not printable (YAML 1.2.2, 5.1), is a line break to readers of YAML 1.1, or is invisible.
            c if is_hidden(c) => {
                let _ = match u32::from(c) {
                    code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn is_hidden(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Checks for words, and paths and versions of words: texts that no schema of YAML reads as another type.
fn is_plain(said: &str) -> bool {
    let begins = said.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '.'));
    let ends = said.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '*' | ')'));
    let inside = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | ' ' | '(' | ')' | '*' | ';')
    };
    let is_word = begins && ends && said.chars().all(inside);
    is_word && !scalar::looks_boolean(said) && matches!(scalar::plain(said), Ok(None))
}

/// Checks whether a text of several lines can be written unchanged after `|`.
fn is_block(said: &str) -> bool {
    let is_line = |line: &str| !line.ends_with([' ', '\t']) && !line.chars().any(is_hidden);
    let first_is_flush = said.starts_with(|c: char| !c.is_whitespace());
    said.contains('\n') && first_is_flush && !said.ends_with("\n\n") && said.split('\n').all(is_line)
}

fn block(said: &str, depth: usize, out: &mut String) {
    let (body, mark) = said.strip_suffix('\n').map_or((said, " |-\n"), |body| (body, " |\n"));
    out.push_str(mark);
    for line in body.split('\n') {
        if !line.is_empty() {
            indent(depth, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::{Node, parse};
    use super::write;
    use crate::diagnostic::Problems;

    fn read(text: &str) -> Value {
        let problems = Problems::new();
        let node = parse(text, &problems);
        problems.finish("written", text, node).unwrap_or_else(|found| panic!("{text}\n{found:?}")).0.to_json()
    }

    fn values() -> impl Strategy<Value = Value> {
        let words = prop_oneof![
            Just("yes"),
            Just("~"),
            Just("0x1f"),
            Just("1e5"),
            Just("- a"),
            Just("a: b"),
            Just("# c"),
            Just("..."),
            Just("---"),
            Just(""),
            Just(" a"),
            Just("a\n\nb\n"),
            Just("  a\nb"),
            Just("a\n "),
            Just("${state.a | length}"),
            Just("a\u{85}b"),
            Just("\u{feff}"),
            Just("null"),
            Just("<<"),
            Just("*a"),
            Just("&a b"),
            Just("a #b"),
            Just("!!str"),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no others", |value| value.is_finite()).prop_map(Value::from),
            words.prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            "(\\PC|\n|\t| ){0,30}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("(\\PC|\n){0,6}", inner, 0..5)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in values().prop_filter("a document of `null` is empty", |value| !value.is_null())) {
            let text = write(&Node::from_json(&value));
            prop_assert_eq!(read(&text), value, "{}", text);
        }
    }

    #[test]
    fn what_is_written_is_easy_to_read() {
        let value = json!({
            "start": ["a", "b"],
            "nodes": { "a": { "action": { "item_id": "acme/read", "params": {} }, "next": [{ "to": "b", "when": null }] } },
            "text": "one\n\ntwo\n",
            "version": "1.0",
            "widths": [[1, 2], []],
        });
        insta::assert_snapshot!(write(&Node::from_json(&value)));
    }
}
