//! Paths into JSON values: `state.files[0].name`, `result.rows.-1`, `state['a.b']`, and in conditions `state.files[*].name`.

use std::fmt;

use serde_json::Value;

use crate::diagnostic::excerpt;
use crate::work::rates::{BYTE, LOOKUP};

/// A path: the name of a root, then steps into its value. Conditions and templates use the same paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    text: Box<str>,
    root_length: usize,
    segments: Box<[Segment]>,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    key: Box<str>,
    index: Option<i64>,
    /// `true` for `[*]`: any element of a list.
    is_any: bool,
}

/// A text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathSyntaxError {
    /// The message, without the position.
    pub message: String,
    /// The correction.
    pub help: Option<String>,
    /// The offset in the text, in bytes.
    pub offset: usize,
}

impl Path {
    /// Reads a whole text as a path to one value.
    pub fn parse(text: &str) -> Result<Self, PathSyntaxError> {
        Self::parse_whole(text, false)
    }

    /// Reads a whole text as a path in which `[*]` stands for any element of a list.
    pub fn parse_with_any(text: &str) -> Result<Self, PathSyntaxError> {
        Self::parse_whole(text, true)
    }

    fn parse_whole(text: &str, may_have_any: bool) -> Result<Self, PathSyntaxError> {
        let trimmed = text.trim_start();
        let skipped = text.len() - trimmed.len();
        let (path, length) = Self::parse_start(trimmed, may_have_any)
            .map_err(|error| PathSyntaxError { offset: error.offset + skipped, ..error })?;
        let rest = &trimmed[length..];
        if rest.trim().is_empty() {
            return Ok(path);
        }
        let found = rest.chars().next().unwrap_or(' ');
        let (message, help) = match found {
            '$' | '{' | '}' => ("a path is written without `${` and `}`".to_owned(), None),
            _ => (
                format!("`{}` is not allowed in a path", found.escape_debug()),
                Some(
                    "write a key of other characters than letters, digits, `_` and `-` as `['key']`"
                        .to_owned(),
                ),
            ),
        };
        Err(PathSyntaxError { message, help, offset: skipped + length })
    }

    /// Reads the path to one value at the start of a text, and returns its length in bytes.
    pub(super) fn parse_prefix(text: &str) -> Result<(Self, usize), PathSyntaxError> {
        Self::parse_start(text, false)
    }

    fn parse_start(text: &str, may_have_any: bool) -> Result<(Self, usize), PathSyntaxError> {
        let root = bare(text);
        if !root.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let (message, help) = if text.trim().is_empty() {
                ("the path is empty".to_owned(), Some("start with a name, such as `state.key`".to_owned()))
            } else if text.starts_with("${") {
                (
                    "a path is written without `${` and `}`".to_owned(),
                    Some(format!(
                        "write `{}`",
                        excerpt(text.trim_start_matches("${").trim_end_matches('}').trim())
                    )),
                )
            } else {
                ("a path starts with a name, such as `state`".to_owned(), None)
            };
            return Err(PathSyntaxError { message, help, offset: 0 });
        }
        let mut at = root.len();
        let mut segments = Vec::new();
        loop {
            let rest = &text[at..];
            if let Some(after) = rest.strip_prefix('.') {
                let key = bare(after);
                if key.is_empty() {
                    let help = match after.chars().next() {
                        Some('[') => "leave out the `.` before `[`".to_owned(),
                        Some(c) if !c.is_whitespace() && !"|}$".contains(c) => {
                            "write a key of other characters than letters, digits, `_` and `-` as `['key']`"
                                .to_owned()
                        }
                        _ => "a key follows a `.`".to_owned(),
                    };
                    let message = "a key is missing after `.`".to_owned();
                    return Err(PathSyntaxError { message, help: Some(help), offset: at + 1 });
                }
                segments.push(Segment { index: integer(key), key: key.into(), is_any: false });
                at += 1 + key.len();
            } else if may_have_any && rest.starts_with("[*]") {
                segments.push(Segment { index: None, key: "*".into(), is_any: true });
                at += 3;
            } else if rest.starts_with('[') {
                let (segment, length) =
                    bracket(rest).map_err(|error| PathSyntaxError { offset: error.offset + at, ..error })?;
                segments.push(segment);
                at += length;
            } else {
                break;
            }
        }
        let path = Self { text: text[..at].into(), root_length: root.len(), segments: segments.into() };
        Ok((path, at))
    }

    /// Returns the first key below the root: `files` of `state.files[0]`.
    pub fn first_key(&self) -> Option<&str> {
        self.segments.first().map(|segment| &*segment.key)
    }

    /// Returns the name of the root: `state` in `state.a.b`.
    pub fn root(&self) -> &str {
        &self.text[..self.root_length]
    }

    /// Returns the steps after the root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Checks whether the path may lead to several values.
    pub fn has_any(&self) -> bool {
        self.segments.iter().any(Segment::is_any)
    }

    /// Returns the cost of following the path: each name is one lookup, which compares the bytes of the name.
    pub(super) const fn cost(&self) -> u64 {
        (1 + self.segments.len() as u64) * LOOKUP + self.text.len() as u64 * BYTE
    }

    /// Returns the path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Segment {
    /// Returns the step as an object's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the step as a list's index, negative from the end; `None` if it can only be a key.
    pub fn index(&self) -> Option<i64> {
        self.index
    }

    /// Checks whether the step leads to any element of a list.
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// Returns the value to which this step leads; none for any element.
    pub(super) fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match value {
            _ if self.is_any => None,
            Value::Object(fields) => fields.get(&*self.key),
            Value::Array(items) => {
                let index = self.index?;
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                items.get(if index < 0 { items.len().checked_sub(from_end)? } else { from_end })
            }
            _ => None,
        }
    }
}

/// Returns the leading characters that need no quotes in a path.
fn bare(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    &text[..end]
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

/// Reads `[0]`, `[-1]`, `['key']` or `["key"]`, and returns its length in bytes.
fn bracket(text: &str) -> Result<(Segment, usize), PathSyntaxError> {
    let error = |message: &str, help: &str, offset| {
        Err(PathSyntaxError { message: message.to_owned(), help: Some(help.to_owned()), offset })
    };
    let inside = &text[1..];
    if inside.starts_with(['\'', '"']) {
        let (key, length) = quoted(inside).map_err(|offset| PathSyntaxError {
            message: "the quote is not closed".to_owned(),
            help: None,
            offset: offset + 1,
        })?;
        return if inside[length..].starts_with(']') {
            Ok((Segment { key: key.into(), index: None, is_any: false }, length + 2))
        } else {
            error("`]` is missing", "a quoted key is written `['key']`", length + 1)
        };
    }
    let Some(end) = inside.find(']') else {
        return error("`[` is not closed", "an index is written `[0]`, from the end `[-1]`", 0);
    };
    let Some(index) = integer(&inside[..end]) else {
        let help = match &inside[..end] {
            "*" => "a template cannot visit all elements: use a `foreach` node; a condition can".to_owned(),
            other if !other.is_empty() && bare(other) == other => format!("write `['{other}']` for a key"),
            _ => "an index is written `[0]`, from the end `[-1]`; a key `['key']`".to_owned(),
        };
        return error("the text in `[` and `]` is neither an index nor a quoted key", &help, 1);
    };
    Ok((Segment { key: inside[..end].into(), index: Some(index), is_any: false }, end + 2))
}

/// Reads a quoted text at the start of `text`; `\` escapes a quote and itself, and forms `\n` and `\t`. Returns its length in bytes; the
/// error is the offset of an unclosed quote.
pub(super) fn quoted(text: &str) -> Result<(String, usize), usize> {
    let mut chars = text.char_indices();
    let Some((_, quote)) = chars.next() else { return Err(0) };
    let mut out = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((out, at + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, c @ ('\'' | '"' | '\\'))) => out.push(c),
                Some((_, other)) => {
                    out.push('\\');
                    out.push(other);
                }
                None => break,
            },
            _ => out.push(c),
        }
    }
    Err(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn find<'a>(path: &str, value: &'a Value) -> Option<&'a Value> {
        let path = Path::parse(path).unwrap();
        path.segments().iter().try_fold(value, |value, segment| segment.of(value))
    }

    #[test]
    fn steps_lead_into_objects_and_lists() {
        let value = json!({"a": {"b-c": [10, 20, 30], "d.e": 1, "0": "zero"}, "größe": 2});
        assert_eq!(find("state.a.b-c.0", &value), Some(&json!(10)));
        assert_eq!(find("state.a.b-c[1]", &value), Some(&json!(20)));
        assert_eq!(find("state.a.b-c[-1]", &value), Some(&json!(30)));
        assert_eq!(find("state.a.b-c.-3", &value), Some(&json!(10)));
        assert_eq!(find("state.a.b-c.-4", &value), None);
        assert_eq!(find("state.a.b-c.3", &value), None);
        assert_eq!(find("state.a.b-c.x", &value), None);
        assert_eq!(find("state.a.b-c[-9223372036854775808]", &value), None);
        assert_eq!(find("state.a['d.e']", &value), Some(&json!(1)));
        assert_eq!(find("state[\"a\"].0", &value), Some(&json!("zero")));
        assert_eq!(find("state.a['0']", &value), Some(&json!("zero")));
        assert_eq!(find("state.a['b-c']['0']", &value), None);
        assert_eq!(find("state.größe", &value), Some(&json!(2)));
        assert_eq!(find("state.größe.x", &value), None);
        assert_eq!(find(" state ", &value), Some(&value));
    }

    #[test]
    fn parts_are_told() {
        let path = Path::parse("state.a[0]['x y']").unwrap();
        assert_eq!((path.root(), path.as_str()), ("state", "state.a[0]['x y']"));
        let keys: Vec<_> = path.segments().iter().map(|s| (s.key(), s.index())).collect();
        assert_eq!(keys, [("a", None), ("0", Some(0)), ("x y", None)]);
        assert_eq!(Path::parse(r"a['\'\\']").unwrap().segments()[0].key(), r"'\");
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, offset, message, help) in [
            ("", 0, "empty", "start with a name"),
            ("${state.a}", 0, "without `${`", "write `state.a`"),
            (".a", 0, "starts with a name", ""),
            ("state..a", 6, "a key is missing", "['key']"),
            ("state.", 6, "a key is missing", "a key follows"),
            ("state.[0]", 6, "a key is missing", "leave out the `.`"),
            ("state.a/b", 7, "`/` is not allowed", "['key']"),
            ("state[*]", 6, "neither an index", "foreach"),
            ("state[key]", 6, "neither an index", "write `['key']`"),
            ("state[0", 5, "not closed", "[-1]"),
            ("state['a]", 6, "quote is not closed", ""),
            ("state['a'x]", 9, "`]` is missing", "['key']"),
        ] {
            let error = Path::parse(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {error:?}");
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert!(error.help.clone().unwrap_or_default().contains(help), "{text}: {error:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[a-c.\\[\\]'\"\\\\0-9\\- ${}ß]{0,16}") {
            if let Err(error) = Path::parse(&text) {
                prop_assert!(error.offset <= text.len());
            }
        }

        #[test]
        fn every_key_can_be_named(key in any::<String>(), index in 0_usize..3) {
            let escaped = key.replace('\\', "\\\\").replace('\'', "\\'");
            let value = json!({&key: [0, 1, 2]});
            let path = format!("state['{escaped}'][{index}]");
            prop_assert_eq!(find(&path, &value), Some(&json!(index)));
        }
    }
}
