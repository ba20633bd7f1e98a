//! Places inside texts: maps a byte of a text's value to its place in the document.

use super::node::{Text, TextStyle};
use crate::diagnostic::Span;

/// Returns the place of `offset..offset + length` of the text's value. `None` if value and document cannot be aligned, for example around
/// `\u` escapes or through an alias.
pub(super) fn inside(document: &str, span: Span, text: &Text, offset: usize, length: usize) -> Option<Span> {
    let written = document.get(span.start..span.end)?;
    let value = &text.value;
    let offset = value.floor_char_boundary(offset.min(value.len()));
    let end = value.floor_char_boundary(offset.saturating_add(length).min(value.len()));
    let mut cursor = Cursor { written, at: 0, style: text.style };
    match text.style {
        TextStyle::SingleQuoted => cursor.expect('\'')?,
        TextStyle::DoubleQuoted => cursor.expect('"')?,
        TextStyle::Block if written.starts_with(['|', '>']) => cursor.at = written.find('\n')? + 1,
        TextStyle::Plain | TextStyle::Block => {}
    }
    let mut first = None;
    let mut last = cursor.at;
    for (at, c) in value.char_indices() {
        if at >= end.max(offset + 1) {
            break;
        }
        let (start, after) = cursor.find(c)?;
        if at >= offset && first.is_none() {
            first = Some(start);
        }
        last = after;
    }
    let first = first.unwrap_or(last);
    Some(Span::locate(document, span.start + first, span.start + last.max(first)))
}

struct Cursor<'d> {
    written: &'d str,
    at: usize,
    style: TextStyle,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.written.get(self.at..)?.chars().next()
    }

    fn expect(&mut self, c: char) -> Option<()> {
        (self.peek()? == c).then(|| self.at += c.len_utf8())
    }

    /// Moves past the next character of the value, and returns its range in the document. Blanks are matched loosely, since their number in
    /// the document depends on folding and indentation.
    fn find(&mut self, c: char) -> Option<(usize, usize)> {
        if c.is_whitespace() {
            let start = self.at;
            if self.peek().is_some_and(char::is_whitespace) {
                self.at += self.peek()?.len_utf8();
            }
            return Some((start, self.at));
        }
        loop {
            let start = self.at;
            let found = self.peek()?;
            if found == '\\' && self.style == TextStyle::DoubleQuoted {
                let escaped = self.written.get(start + 1..)?.chars().next()?;
                self.at = start + 1 + escaped.len_utf8();
                if escaped == c && matches!(c, '"' | '\\' | '/') {
                    return Some((start, self.at));
                }
                if matches!(escaped, 'n' | 't' | 'r' | ' ' | '\n' | '\t') {
                    continue;
                }
                return None;
            }
            if found == c {
                self.at += found.len_utf8();
                if c == '\'' && self.style == TextStyle::SingleQuoted {
                    self.expect('\'')?;
                }
                return Some((start, self.at));
            }
            if !found.is_whitespace() {
                return None;
            }
            self.at += found.len_utf8();
        }
    }
}
