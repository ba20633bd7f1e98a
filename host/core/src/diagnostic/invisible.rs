//! Characters that are invisible, or that reorder the text around them.

/// Ranges of such characters, in order: Unicode's `Default_Ignorable_Code_Point` and `Bidi_Control`, the line and paragraph separators, the
/// blanks that are not white space (Braille, music), and the format controls of hieroglyphs.
///
/// Joiners and variation selectors are among them: two names that differ in one of these look the same. A page has the same table
/// (`host/web/page/src/invisible.ts`).
const INVISIBLE: [(u32, u32); 20] = [
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d159, 0x1d159),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Checks whether a character is invisible, or reorders the text around it. [`char::is_control`] covers control characters.
pub fn is_invisible(character: char) -> bool {
    let code = u32::from(character);
    code >= INVISIBLE[0].0 && INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Checks whether an invisible character belongs to the spelling of names in some scripts and of emoji: a joiner or a variation selector.
pub(crate) fn is_part_of_writing(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Returns all characters.
    fn all() -> impl Iterator<Item = char> {
        '\0'..=char::MAX
    }

    #[test]
    fn what_unicode_calls_ignorable_or_bidirectional_is_on_the_list() {
        let ignorable = regex::Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]$");
        let ignorable = ignorable.unwrap_or_else(|error| panic!("{error}"));
        let mut buffer = [0; 4];
        let missed: Vec<char> =
            all().filter(|c| ignorable.is_match(c.encode_utf8(&mut buffer)) && !is_invisible(*c)).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn what_is_seen_is_not_on_the_list() {
        let shown = regex::Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]$");
        let shown = shown.unwrap_or_else(|error| panic!("{error}"));
        let mut buffer = [0; 4];
        let marked: String =
            all().filter(|c| is_invisible(*c) && shown.is_match(c.encode_utf8(&mut buffer))).collect();
        // Letters, marks and symbols without a visible shape: fillers, joiners, inherent vowels, selectors, blanks.
        let known: String =
            "\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180c}\u{180d}\u{180f}\u{2800}\u{3164}"
                .chars()
                .chain('\u{fe00}'..='\u{fe0f}')
                .chain(['\u{ffa0}', '\u{1d159}'])
                .chain('\u{e0100}'..='\u{e01ef}')
                .collect();
        assert_eq!(marked.escape_unicode().to_string(), known.escape_unicode().to_string());
    }

    /// Compares the table with that of pages. `UPDATE_REFERENCE=1` writes it.
    #[test]
    fn pages_have_the_same_table() {
        let mut ranges = String::new();
        for (first, last) in INVISIBLE {
            let _ = if first == last {
                write!(ranges, "\\u{{{first:x}}}")
            } else {
                write!(ranges, "\\u{{{first:x}}}-\\u{{{last:x}}}")
            };
        }
        let expected = format!(
            "// Written by a test of host/core/src/diagnostic/invisible.rs (UPDATE_REFERENCE=1): the characters that a reader does not see.\n\n\
             /** Characters that a reader does not see, or that reorder the text around them. */\n\
             export const INVISIBLE = /[{ranges}]/u;\n"
        );
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/page/src/invisible.ts");
        if std::env::var_os("UPDATE_REFERENCE").is_some() {
            std::fs::write(path, &expected).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        let written = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(written, expected);
    }
}
