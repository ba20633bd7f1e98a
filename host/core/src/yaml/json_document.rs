//! Documents that are JSON. They are read as JSON and not as YAML, of which JSON is not quite a subset: in YAML a lone surrogate is not a
//! character, a tab is not indentation, and a key ends on its line.

use std::collections::BTreeSet;

use super::node::{Key, Mapping, MappingEntry, Node, Text, TextStyle, Yaml};
use super::parse::{MAPPING, MAX_DEPTH, MAX_NODES};
use super::scalar;
use crate::diagnostic::Span;
use crate::json::{self, TreeLimit};

/// Reads a document that is JSON; `None` for any other, and for one beyond the limits of documents, which YAML reports.
pub(super) fn read(text: &str) -> Option<Node> {
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    if !text[skipped..].trim_start_matches(BLANKS).starts_with(['{', '[']) {
        return None;
    }
    let column = text[..skipped].chars().count();
    let mut reader = JsonReader { text, at: skipped, line: 0, column, nodes: 0 };
    reader.blanks();
    let root = reader.value(0)?;
    reader.blanks();
    (reader.at == text.len()).then_some(root)
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

struct JsonReader<'t> {
    text: &'t str,
    /// The offset of the next byte, its line, and the number of characters before it on that line.
    at: usize,
    line: usize,
    column: usize,
    nodes: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Skips that many bytes.
    fn skip(&mut self, bytes: usize) {
        for c in self.text[self.at..self.at + bytes].chars() {
            if c == '\n' {
                (self.line, self.column) = (self.line + 1, 0);
            } else {
                self.column += 1;
            }
        }
        self.at += bytes;
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|c| BLANKS.contains(&c)) {
            self.skip(1);
        }
    }

    fn take(&mut self, c: char) -> Option<()> {
        self.blanks();
        (self.peek()? == c).then(|| self.skip(c.len_utf8()))
    }

    fn begin(&self) -> Span {
        Span { start: self.at, end: self.at, line: self.line + 1, column: self.column + 1 }
    }

    fn count(&mut self, nodes: usize) -> Option<()> {
        self.nodes += nodes;
        (self.nodes <= MAX_NODES).then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        let begin = self.begin();
        let value = match self.peek()? {
            '{' | '[' if depth >= MAX_DEPTH => return None,
            '{' => self.mapping(depth + 1)?,
            '[' => self.list(depth + 1)?,
            '"' => {
                let value = self.text()?;
                Yaml::Text(Text { value, style: TextStyle::DoubleQuoted })
            }
            _ => self.scalar()?,
        };
        Some(Node { value, span: Span { end: self.at, ..begin } })
    }

    fn list(&mut self, depth: usize) -> Option<Yaml> {
        self.count(1)?;
        self.skip(1);
        let mut items = Vec::new();
        if self.take(']').is_some() {
            return Some(Yaml::List(items));
        }
        loop {
            self.blanks();
            items.push(self.value(depth)?);
            if self.take(',').is_none() {
                self.take(']')?;
                return Some(Yaml::List(items));
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Option<Yaml> {
        self.count(MAPPING)?;
        self.skip(1);
        let mut entries = Vec::new();
        let mut known = BTreeSet::new();
        if self.take('}').is_some() {
            return Some(Yaml::Mapping(Mapping { entries }));
        }
        loop {
            self.blanks();
            let begin = self.begin();
            let name = self.text()?;
            let key = Key { span: Span { end: self.at, ..begin }, name };
            // YAML reports the place of a duplicate key.
            if !known.insert(key.name.clone()) {
                return None;
            }
            self.take(':')?;
            self.blanks();
            let value = self.value(depth)?;
            entries.push(MappingEntry { key, value });
            if self.take(',').is_none() {
                self.take('}')?;
                return Some(Yaml::Mapping(Mapping { entries }));
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        self.count(1)?;
        let rest = self.text[self.at..].strip_prefix('"')?;
        let mut is_escaped = false;
        let end = rest.bytes().position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        })?;
        let length = end + 2;
        let value = json::read(&self.text[self.at..self.at + length], TreeLimit::DOCUMENT).ok()?;
        self.skip(length);
        Some(value)
    }

    fn scalar(&mut self) -> Option<Yaml> {
        self.count(1)?;
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let literal = &rest[..length];
        let value = match literal {
            "null" => Yaml::Null,
            "true" => Yaml::Bool(true),
            "false" => Yaml::Bool(false),
            _ => {
                json::is_json(literal).then_some(())?;
                Yaml::Number(scalar::number(literal).ok().flatten()?)
            }
        };
        self.skip(length);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::diagnostic::Problems;

    #[test]
    fn json_is_read_as_json() {
        let whole = "\u{feff}{\n\t\"a\": [1, -2.5e3, \"\\ud83d\\ude00\\/\\u00e9\"],\r\n\t\"b\"\n:\n{\"\\ud83d\\ude00\": null}\n}\n";
        let node = read(whole).unwrap();
        let expected = json!({ "a": [1, -2500.0, "😀/é"], "b": { "😀": null } });
        assert_eq!(node.to_json(), expected);
        let Yaml::Mapping(mapping) = &node.value else { panic!("a mapping") };
        let key = &mapping.entries[1].key;
        assert_eq!((key.span.line, key.span.column), (3, 2));
        assert_eq!(&whole[key.span.start..key.span.end], "\"b\"");
        assert_eq!(super::super::parse(whole, &Problems::new()).unwrap(), node);
    }

    #[test]
    fn everything_else_is_left_to_yaml() {
        for text in [
            "a: 1",
            "{a: 1}",
            "{\"a\": 1} x",
            "{\"a\": 1, \"a\": 2}",
            "{\"a\": 01}",
            "{\"a\": 1,}",
            "[\"\\ud83d\"]",
            "[\"a\nb\"]",
            "[yes]",
            "[1",
            "\"a\"",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1))), None);
        assert!(read(&format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH))).is_some());
    }

    #[test]
    fn what_is_both_is_the_same_in_both() {
        for text in
            ["{\"a\": [1, 0.5, true, null, \"x\\ny\", {}], \"b\": {\"c\": []}}", "[18446744073709551615, -1]"]
        {
            let as_yaml = super::super::parse(&format!("# YAML\n{text}"), &Problems::new()).unwrap();
            assert_eq!(read(text).unwrap().to_json(), as_yaml.to_json());
        }
    }
}
