//! What is shown of an entry that was found.

use super::query::{Query, written};

/// Words of an excerpt.
const EXCERPT_WORDS: usize = 24;
/// The longest excerpt, in bytes.
const MAX_EXCERPT: usize = 500;

impl Query {
    /// Some words of a text around the first match, at most 500 bytes, on one line; its beginning if the match is spelled differently, for
    /// example with other accents.
    pub fn excerpt(&self, text: &str) -> String {
        let is_hit = |piece: &str| written(piece).any(|word| self.written.contains(&word.to_lowercase()));
        let hit = text.split_whitespace().position(is_hit).unwrap_or(0);
        let from = hit.saturating_sub(EXCERPT_WORDS / 3);
        let mut words = text.split_whitespace().skip(from);
        let shown = words.by_ref().take(EXCERPT_WORDS).collect::<Vec<_>>().join(" ");
        let before = if from > 0 { "… " } else { "" };
        let after = if words.next().is_some() { " …" } else { "" };
        let mut line = format!("{before}{shown}{after}");
        line.truncate(line.floor_char_boundary(MAX_EXCERPT));
        line
    }
}
