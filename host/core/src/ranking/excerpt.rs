//! Excerpts of found entries.

use super::query::Query;

/// Number of words of an excerpt.
const EXCERPT_WORDS: usize = 24;
/// Length of the longest excerpt, in bytes.
const MAX_EXCERPT: usize = 500;
/// The end of an excerpt after which the text continues.
const MORE: &str = " …";
/// Length of the part of a text that is searched for a word of the query, in bytes.
const MAX_SEARCHED: usize = 64 << 10;

impl Query {
    /// Returns some words of a text around the first that is in the query, at most 500 bytes, on one line. If none is in its first 64 KiB,
    /// the text's beginning.
    pub fn excerpt(&self, text: &str) -> String {
        let searched = &text[..text.floor_char_boundary(MAX_SEARCHED)];
        let hit = searched.split_whitespace().position(|piece| self.has_word_in(piece)).unwrap_or(0);
        let from = hit.saturating_sub(EXCERPT_WORDS / 3);
        let mut words = text.split_whitespace().skip(from);
        let mut line = if from > 0 { "…".to_owned() } else { String::new() };
        for word in words.by_ref().take(EXCERPT_WORDS) {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word[..word.floor_char_boundary(MAX_EXCERPT)]);
            if line.len() > MAX_EXCERPT {
                break;
            }
        }
        if line.len() > MAX_EXCERPT || words.next().is_some() {
            line.truncate(line.floor_char_boundary(MAX_EXCERPT - MORE.len()));
            line.push_str(MORE);
        }
        line
    }
}
