//! Differences between two documents, as lines that a person can act on.

use std::fmt::Write as _;

use graph_core::diagnostic::Problems;
use graph_core::yaml::{self, Node};
use graph_walker::graph::Graph;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Limit of the shown lines.
const MOST: usize = 12;

/// A step of a path in a document: the name of a key, or the index of a list entry.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Describes the differences between two graphs; `text` is the document that the second one was read from.
pub(crate) fn of_graphs(before: &Graph, now: &Graph, text: Option<&str>) -> String {
    of_documents(&before.document, &now.document, text)
}

/// Lists the values that differ between two documents, each with its path, and with its line if `text`, the second document, has it.
pub(crate) fn of_documents(before: &Value, now: &Value, text: Option<&str>) -> String {
    let root = text.and_then(|text| yaml::parse(text, &Problems::new()));
    let (before, now) = (Flat::of(before), Flat::of(now));
    let mut shown = String::new();
    let mut count = 0;
    for change in TextDiff::from_lines(&before.text, &now.text).iter_all_changes() {
        if change.tag() == ChangeTag::Equal {
            continue;
        }
        count += 1;
        if count > MOST {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = write!(shown, "\n{} {}", change.tag(), change.value().trim_end());
        let path = change.new_index().filter(|_| change.tag() == ChangeTag::Insert);
        let line = path.and_then(|at| now.paths.get(at)).and_then(|path| line_of(root.as_ref()?, path));
        if let Some(line) = line {
            let _ = write!(shown, "  (line {line})");
        }
    }
    if count > MOST {
        let _ = write!(shown, "\nand {} more lines", count - MOST);
    }
    shown
}

/// A document as a line for each of its values, and the path to each.
#[derive(Default)]
struct Flat {
    text: String,
    paths: Vec<Vec<Step>>,
}

impl Flat {
    fn of(document: &Value) -> Self {
        let mut flat = Self::default();
        flat.add(document, &mut Vec::new());
        flat
    }

    fn add(&mut self, value: &Value, path: &mut Vec<Step>) {
        match value {
            Value::Object(object) if !object.is_empty() => {
                for (key, value) in object {
                    path.push(Step::Key(key.clone()));
                    self.add(value, path);
                    path.pop();
                }
            }
            Value::Array(list) if !list.is_empty() => {
                for (index, value) in list.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.add(value, path);
                    path.pop();
                }
            }
            scalar => {
                let _ = writeln!(self.text, "{}: {scalar}", shown_path(path));
                self.paths.push(path.clone());
            }
        }
    }
}

fn shown_path(path: &[Step]) -> String {
    let mut shown = String::new();
    for step in path {
        let _ = match step {
            Step::Key(key) if shown.is_empty() => write!(shown, "{key}"),
            Step::Key(key) => write!(shown, ".{key}"),
            Step::Index(index) => write!(shown, "[{index}]"),
        };
    }
    // A line break in a name would break the line.
    shown.replace(['\n', '\r'], " ")
}

/// Returns the line of a value in a document, or that of the closest value around it that is written out.
fn line_of(root: &Node, path: &[Step]) -> Option<usize> {
    let mut node = root;
    let mut line = None;
    for step in path {
        match step {
            Step::Key(key) => {
                let Some(entry) = node.as_mapping().and_then(|mapping| mapping.entry(key)) else { break };
                line = Some(entry.key.span.line);
                node = &entry.value;
            }
            Step::Index(index) => {
                let Some(item) = node.as_list().and_then(|list| list.get(*index)) else { break };
                line = Some(item.span.line);
                node = item;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_differ_have_their_path_and_line() {
        let before = json!({"config": {"nodes": {"a": {"next": ["b"]}, "b": {}}, "start": "a"}});
        let now = json!({"config": {"nodes": {"a": {"next": ["b", "c"]}, "b": {}}, "start": "b"}});
        let text = "config:\n  start: b\n  nodes:\n    a: { next: [b,\n      c] }\n    b: {}\n";
        let shown = of_documents(&before, &now, Some(text));
        let expected = "\n+ config.nodes.a.next[1]: \"c\"  (line 5)\n- config.start: \"a\"\n+ config.start: \"b\"  (line 2)";
        assert_eq!(shown, expected);
        assert_eq!(of_documents(&now, &now, Some(text)), "");
        let many = json!((0..20).collect::<Vec<_>>());
        assert!(of_documents(&json!([]), &many, None).ends_with("and 9 more lines"));
    }
}
