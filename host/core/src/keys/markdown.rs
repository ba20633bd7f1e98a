//! Tables of keys as Markdown, for the reference.

use std::fmt::Write as _;

use super::table::{Key, KeyTable};

/// Returns the anchor of a table's heading in the reference.
pub(super) fn anchor(table: &KeyTable) -> String {
    table.name.replace('.', "-")
}

/// Returns the rows of a table for the reference.
pub fn markdown_table(table: &KeyTable) -> String {
    let has_kinds = table.keys.iter().any(|key| !key.only_for.is_empty());
    let mut text = format!("<a id=\"{}\"></a>\n\n", anchor(table));
    text += if has_kinds {
        "| Key | Type | Default | Node types | Meaning |\n|---|---|---|---|---|\n"
    } else {
        "| Key | Type | Default | Meaning |\n|---|---|---|---|\n"
    };
    for key in table.keys {
        let default = match (key.is_required, key.default) {
            (true, _) => "**required**".to_owned(),
            (_, "") => String::new(),
            (_, default) => default.to_owned(),
        };
        // Writing to a string does not fail.
        let _ = write!(text, "| `{}` | {} | {default} |", key.name, cell(&key.shape.words()));
        if has_kinds {
            let kinds = if key.only_for.is_empty() { "all".to_owned() } else { key.only_for.join(", ") };
            let _ = write!(text, " {kinds} |");
        }
        let _ = writeln!(text, " {} |", cell(key.about));
    }
    text
}

/// Escapes `|`, which would end a cell, also inside of code.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Describes a key in one line: its type, its default and its meaning.
pub fn one_line(key: &Key) -> String {
    let kinds = match key.only_for {
        [] => String::new(),
        kinds => format!(" (nodes of type {})", kinds.join(", ")),
    };
    let default = match (key.is_required, key.default) {
        (true, _) => "; required".to_owned(),
        (_, "") => String::new(),
        (_, default) => format!("; default: {default}"),
    };
    format!("{}{default}{kinds}", without_links(&key.shape.words()))
}

/// Replaces links by their labels: `[a node](#node)` by `a node`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((label, after)) = link.split_once("](#") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        plain += before;
        plain += label;
        rest = after;
    }
    plain + rest
}
