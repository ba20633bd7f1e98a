//! The words of a text.

use super::tables::{folded, is_letter, is_mark};

/// Length of the longest word, in bytes: the rest is left out.
const MAX_WORD: usize = 32_768;

/// Passes each word of a text to `with`, in order and in the form for comparisons: in lower case, Latin letters without diacritics.
pub fn each_word(text: &str, with: &mut dyn FnMut(&str)) {
    let mut word = String::new();
    for character in text.chars() {
        if is_letter(character) {
            word.push(folded(character));
        } else if !word.is_empty() && !is_mark(character) {
            with(&word[..word.floor_char_boundary(MAX_WORD)]);
            word.clear();
        }
    }
    if !word.is_empty() {
        with(&word[..word.floor_char_boundary(MAX_WORD)]);
    }
}
