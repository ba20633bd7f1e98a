//! Texts of strangers in messages.

use std::fmt::Write as _;

/// Escapes what could change how a terminal or a page shows the surrounding text, as the native host does in the failures that
/// components get: control characters, line ends included, and characters that change the direction of writing.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if character.is_control() || turns(character) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out
}

/// Line and paragraph separators, and the marks of bidirectional writing.
fn turns(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(
            escape("a\u{1b}[2Jb\nfake: line\u{9b}\u{202e}x"),
            "a\\u{1b}[2Jb\\nfake: line\\u{9b}\\u{202e}x"
        );
        assert_eq!(escape("größer, 大きい 😀"), "größer, 大きい 😀");
    }
}
