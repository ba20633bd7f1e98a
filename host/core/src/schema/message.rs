//! Texts of problems, which are short even if the quoted values are large.

use std::fmt::{self, Display, Write};

use crate::diagnostic::{excerpt_of, excerpt_up_to};

/// Largest number of bytes of a text. A message contains 300 characters of it.
const MOST_BYTES: usize = 2_000;

/// A text that consists of the first bytes written to it: the rest is dropped without being formatted.
#[derive(Default)]
pub(super) struct BriefText {
    text: String,
}

impl Write for BriefText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = MOST_BYTES.saturating_sub(self.text.len());
        if text.len() <= left {
            self.text.push_str(text);
            return Ok(());
        }
        let end = (0..=left).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.text.push_str(&text[..end]);
        Err(fmt::Error)
    }
}

impl BriefText {
    /// Adds a value at the end, as far as there is room for it.
    pub(super) fn add(&mut self, part: &dyn Display) {
        // An error means that the text is full.
        let _ = write!(self, "{part}");
    }

    /// Adds parts with commas between them.
    pub(super) fn list<T: Display>(&mut self, parts: impl IntoIterator<Item = T>) {
        for (at, part) in parts.into_iter().enumerate() {
            if self.text.len() >= MOST_BYTES {
                break;
            }
            if at > 0 {
                self.add(&", ");
            }
            self.add(&part);
        }
    }

    /// Returns the text as a message: escaped, and shortened.
    pub(super) fn into_text(self) -> String {
        excerpt_of(&self.text)
    }
}

/// Returns the beginning of a value's text, which leaves room in a message for the statement about it.
pub(super) fn shown(value: &dyn Display) -> String {
    let mut text = BriefText::default();
    text.add(value);
    excerpt_up_to(&text.text, 200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_cut() {
        assert_eq!(shown(&json!({"a": [1]})), r#"{"a":[1]}"#);
        assert_eq!(shown(&json!("é".repeat(1_000_000))).chars().count(), 201);
        let mut text = BriefText::default();
        text.list((0..1_000_000).map(|n| n.to_string()));
        assert!(text.text.len() <= MOST_BYTES);
    }
}
