//! Readable values: texts of several lines as blocks, lists and mappings with an entry on each line, long values shortened.

use std::fmt::Write as _;

use graph_core::diagnostic::{printable, printable_lines};
use serde_json::{Map, Value};

use crate::terminal::numbers;
use crate::terminal::output::{self, styled};
use crate::terminal::width::one_line;

/// Limits of the part of a value that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Limit of entries of a list or a mapping.
    pub entries: usize,
    /// Limit of lines of a text.
    pub lines: usize,
    /// Depth of nested values that have lines of their own.
    pub deepest: usize,
    /// Limit of characters of a key.
    pub key: usize,
}

impl Extent {
    /// Limits for one of many values on a screen.
    pub const SHORT: Self = Self { entries: 8, lines: 12, deepest: 8, key: 60 };
    /// Limits for the subject of a command: the output of a run, a question.
    pub const LONG: Self = Self { entries: 30, lines: 60, deepest: 8, key: 60 };
    /// No limits, as with `--all`.
    pub const ALL: Self =
        Self { entries: usize::MAX, lines: usize::MAX, deepest: usize::MAX, key: usize::MAX };
}

/// Writer of values that records whether something was left out.
#[derive(Debug)]
pub struct ValueLines {
    text: String,
    extent: Extent,
    width: usize,
    is_shortened: bool,
}

impl ValueLines {
    /// Creates a writer for a screen of this width.
    pub const fn new(extent: Extent, width: usize) -> Self {
        Self { text: String::new(), extent, width, is_shortened: false }
    }

    /// Adds the members of a mapping.
    pub fn members(&mut self, members: &Map<String, Value>, indent: usize) {
        self.mapping(members, indent, 0);
    }

    /// Adds one member of a mapping, as `key: value`.
    pub fn member(&mut self, key: &str, value: &Value, indent: usize) {
        self.entry(key, value, indent, 0);
    }

    /// Adds a value that has no name.
    pub fn value(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(members) if !members.is_empty() => self.mapping(members, indent, 0),
            Value::Array(list) if !list.is_empty() => self.list(list, indent, 0),
            Value::String(text) => self.lines_of(text, indent),
            other => self.line(indent, &other.to_string()),
        }
    }

    /// Returns the text, and whether something was left out.
    pub fn finish(self) -> (String, bool) {
        (self.text, self.is_shortened)
    }

    fn line(&mut self, indent: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        // An empty line has no blanks.
        if !text.is_empty() {
            let _ = write!(self.text, "{:indent$}{text}", "");
        }
    }

    fn left_out(&mut self, indent: usize, count: usize, one: &str, several: &str) {
        if count > 0 {
            self.is_shortened = true;
            let what = if count == 1 { one } else { several };
            self.line(indent, &styled(output::DIM, format_args!("… {count} more {what}")));
        }
    }

    fn mapping(&mut self, members: &Map<String, Value>, indent: usize, depth: usize) {
        for (key, value) in members.iter().take(self.extent.entries) {
            self.entry(key, value, indent, depth);
        }
        self.left_out(indent, members.len().saturating_sub(self.extent.entries), "key", "keys");
    }

    fn list(&mut self, list: &[Value], indent: usize, depth: usize) {
        for value in list.iter().take(self.extent.entries) {
            self.below("-", value, indent, depth);
        }
        self.left_out(indent, list.len().saturating_sub(self.extent.entries), "entry", "entries");
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize, depth: usize) {
        self.is_shortened |= key.chars().count() > self.extent.key;
        let key = format!("{}:", one_line(key, self.extent.key));
        self.below(&key, value, indent, depth);
    }

    /// Adds a value after a name or a dash: on the same line if it fits there.
    fn below(&mut self, head: &str, value: &Value, indent: usize, depth: usize) {
        let room = self.width.saturating_sub(indent + head.chars().count() + 1).max(20);
        if let Some(short) = on_one_line(value, room) {
            return self.line(indent, &format!("{head} {short}"));
        }
        let inner = indent + 2;
        match value {
            Value::String(text) => {
                self.line(indent, head);
                self.lines_of(text, inner);
            }
            Value::Object(members) if depth < self.extent.deepest => {
                self.line(indent, head);
                self.mapping(members, inner, depth + 1);
            }
            Value::Array(list) if depth < self.extent.deepest => {
                self.line(indent, head);
                self.list(list, inner, depth + 1);
            }
            other => {
                self.is_shortened = true;
                let text = one_line(&beginning(other, room), room);
                self.line(indent, &format!("{head} {text}"));
            }
        }
    }

    /// Adds a text in lines of its own, wrapped to the width.
    fn lines_of(&mut self, text: &str, indent: usize) {
        let text = text.trim_end_matches('\n');
        let mut left = self.extent.lines;
        let mut lines = text.lines();
        let width = self.width.saturating_sub(indent).max(20);
        while let Some(line) = lines.next() {
            // Only the part of a long line that can be shown is wrapped.
            let most = left.saturating_mul(width);
            let cut = line.char_indices().nth(most).map_or(line, |(at, _)| &line[..at]);
            let shown = printable_lines(cut);
            let options = textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation);
            let mut characters = line[cut.len()..].chars().count();
            for part in textwrap::wrap(&shown, options) {
                if left == 0 {
                    characters += part.chars().count();
                    continue;
                }
                left -= 1;
                self.line(indent, part.trim_end());
            }
            if characters > 0 {
                self.left_out(indent, characters, "character", "characters");
                left = 0;
            }
            if left == 0 {
                self.left_out(indent, lines.count(), "line", "lines");
                return;
            }
        }
    }
}

/// Renders a value on one line if it fits: text without quotation marks if it is unambiguous, the rest as JSON.
fn on_one_line(value: &Value, room: usize) -> Option<String> {
    let text = match value {
        Value::String(text) if text.len() > room.saturating_mul(4) || text.contains('\n') => return None,
        Value::String(text) if is_plain(text) => printable(text).into_owned(),
        Value::Array(list) if list.len() > room => return None,
        Value::Object(members) if members.len() > room => return None,
        other => {
            let text = beginning(other, room);
            // A nested text of several lines would be escaped.
            if matches!(other, Value::Array(_) | Value::Object(_)) && text.contains("\\n") {
                return None;
            }
            printable(&text).into_owned()
        }
    };
    (textwrap::core::display_width(&text) <= room).then_some(text)
}

/// Checks whether a text is unambiguous without quotation marks.
fn is_plain(text: &str) -> bool {
    let starts = text.chars().next();
    starts.is_some_and(|c| !c.is_whitespace() && !"[{\"'|>-#&*!%@`".contains(c))
        && !text.ends_with(char::is_whitespace)
        && !matches!(text, "null" | "true" | "false")
        && text.parse::<f64>().is_err()
}

/// Returns the beginning of the JSON text of a value: somewhat more than `room` columns can show.
fn beginning(value: &Value, room: usize) -> String {
    struct BoundedWriter {
        bytes: Vec<u8>,
        most: usize,
    }
    impl std::io::Write for BoundedWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.bytes.extend_from_slice(bytes);
            if self.bytes.len() > self.most {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut bounded = BoundedWriter { bytes: Vec::new(), most: room.saturating_mul(4) };
    // Longer text ends with an error, and is cut.
    let _ = numbers::write_compact(value, &mut bounded);
    String::from_utf8_lossy(&bounded.bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value, extent: Extent, width: usize) -> String {
        let mut lines = ValueLines::new(extent, width);
        lines.value(value, 0);
        anstream::adapter::strip_str(&lines.finish().0).to_string()
    }

    #[test]
    fn values_are_read_as_blocks() {
        let value = json!({
            "title": "A short one", "number": "12", "empty": "", "list": [1, 2, 3],
            "text": "One\n\nTwo \u{1b}[2J\n", "nested": { "lines": "a\nb", "counts": [{ "language": "Rust", "lines": 120 }, { "language": "YAML", "lines": 7 }] },
        });
        insta::assert_snapshot!(shown(&value, Extent::SHORT, 60));
    }

    #[test]
    fn what_is_long_is_shortened_and_says_so() {
        let value = json!({
            "files": (0..40).map(|n| format!("/src/a/long/name/of/a/file/number/{n}.rs")).collect::<Vec<_>>(),
            "text": (0..40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n",
            "long": "x".repeat(4000),
        });
        insta::assert_snapshot!(shown(&value, Extent { entries: 3, lines: 3, ..Extent::SHORT }, 60));
        let mut lines = ValueLines::new(Extent::SHORT, 60);
        lines.value(&value, 0);
        assert!(lines.finish().1);
        let mut lines = ValueLines::new(Extent::ALL, 60);
        lines.value(&value, 0);
        let (text, is_shortened) = lines.finish();
        assert!(!is_shortened && text.contains("39.rs") && text.contains("line 39"));
    }

    #[test]
    fn the_rest_of_the_last_line_is_not_dropped_silently() {
        // Each word takes a line of its own, so that fewer characters than the width fit on one.
        let words = |count: usize| vec!["x".repeat(15); count].join(" ");
        let extent = Extent { lines: 3, ..Extent::SHORT };
        for (text, end) in [
            (words(3), None),
            (words(4), Some("… 15 more characters")),
            (format!("a\nb\n{}", words(2)), Some("… 11 more characters")),
            (format!("{}\nlast", words(4)), Some("… 1 more line")),
            (format!("{}\nlast", words(3)), Some("… 1 more line")),
        ] {
            let mut lines = ValueLines::new(extent, 20);
            lines.value(&json!(text), 0);
            let (shown, is_shortened) = lines.finish();
            let shown = anstream::adapter::strip_str(&shown).to_string();
            assert_eq!(is_shortened, end.is_some(), "{shown}");
            assert!(end.is_none_or(|end| shown.ends_with(end)), "{shown}");
        }
    }

    #[test]
    fn what_is_nested_deep_and_named_long_is_shown_whole_on_demand() {
        let innermost = json!({ "pay": format!("{} {}", "everything", "x".repeat(100)) });
        let deep = (0..100).fold(innermost, |inside, _| json!({ "a": inside, "b": "y".repeat(100) }));
        let long = json!({ format!("{} except this", "approve ".repeat(20)): 1 });
        for (value, end) in [(deep, "everything"), (long, "except this:")] {
            for (extent, is_whole) in [(Extent::ALL, true), (Extent::LONG, false)] {
                let mut lines = ValueLines::new(extent, 80);
                lines.value(&value, 0);
                let (text, is_shortened) = lines.finish();
                assert_eq!((text.contains(end), !is_shortened), (is_whole, is_whole), "{text}");
            }
        }
    }
}
