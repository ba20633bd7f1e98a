//! Finds a secret value in a response, in the forms in which servers send values back.
//!
//! A form is a sequence of bytes, each of which may be written plainly, percent-encoded, escaped as in JSON, or as a character
//! reference of HTML: the value itself, its bytes in hexadecimal digits, and its Base64 in either alphabet, at any offset in a longer text. A
//! malicious server can always find another form; these are the forms of honest ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The way in which the bytes of a form are compared with those of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alphabet {
    /// Each byte represents itself; `+` may represent a space, as in forms.
    Plain,
    /// Hexadecimal digits of either case.
    Hexadecimal,
    /// Base64 in the standard or the URL-safe alphabet, wrapped or not.
    Base64,
}

/// One form of a value.
struct Form {
    alphabet: Alphabet,
    bytes: Vec<u8>,
    /// `true` for the first and the last character if it contains bits both of the value and of its neighbour.
    shared: (bool, bool),
}

/// All forms of a value.
pub(super) struct SecretEncodings(Vec<Form>);

impl SecretEncodings {
    /// Computes the forms of a value.
    pub(super) fn new(value: &str) -> Self {
        let value = value.as_bytes();
        let plain = Form { alphabet: Alphabet::Plain, bytes: value.to_vec(), shared: (false, false) };
        let digits = value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        let hexadecimal = Form { alphabet: Alphabet::Hexadecimal, bytes: digits, shared: (false, false) };
        let base64 = (0..3).map(|before| in_base64(value, before));
        Self([plain, hexadecimal].into_iter().chain(base64).collect())
    }

    /// Replaces every form by a text.
    pub(super) fn replaced(&self, text: Vec<u8>, by: &[u8]) -> Vec<u8> {
        let mut whole = Vec::new();
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            let Some((begin, end)) = self.0.iter().find_map(|form| form.place(&text, at)) else {
                at += 1;
                continue;
            };
            whole.extend_from_slice(&text[copied..begin.max(copied)]);
            whole.extend_from_slice(by);
            (at, copied) = (end, end);
        }
        if copied == 0 {
            return text;
        }
        whole.extend_from_slice(&text[copied..]);
        whole
    }
}

impl SecretEncodings {
    /// Returns the first position from which the text to its end may be the beginning of a form; the text's length if there is none.
    pub(super) fn unfinished(&self, text: &[u8]) -> usize {
        let begins = |at: &usize| self.0.iter().any(|form| form.is_cut(text, *at));
        (0..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// Encodes a value with `before` bytes in front of it, and keeps the Base64 characters that depend only on the value.
fn in_base64(value: &[u8], before: usize) -> Form {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    let encoded = STANDARD_NO_PAD.encode(&padded).into_bytes();
    // A character has six bits. The first ones contain bits of the preceding text, the last one may contain bits of the following text.
    let (first, whole) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    let shared = (before != 0, whole < encoded.len());
    Form { alphabet: Alphabet::Base64, bytes: encoded[first..whole].to_vec(), shared }
}

impl Form {
    /// Returns the range of the form that begins at a position, with the characters that it shares with its neighbours.
    fn place(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let (first, others) = self.bytes.split_first()?;
        let begins = |(read, _): &(u8, usize)| self.alphabet.is_same(*first, *read);
        // Few positions begin a form: the others are ruled out without allocating.
        spellings(text, at).find(begins)?;
        let mut reached: Vec<_> = spellings(text, at).filter(begins).map(|(_, to)| to).collect();
        for byte in others {
            let mut next = Vec::new();
            for from in reached {
                for (read, to) in spellings(text, self.past_line_end(text, from)) {
                    if self.alphabet.is_same(*byte, read) && !next.contains(&to) {
                        next.push(to);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            reached = next;
        }
        let end = reached.into_iter().max()?;
        let is_shared = |at: usize| text.get(at).is_some_and(|byte| Alphabet::Base64.has(*byte));
        let begin = at - usize::from(self.shared.0 && at > 0 && is_shared(at - 1));
        Some((begin, end + usize::from(self.shared.1 && is_shared(end))))
    }

    /// Checks whether the text ends within a form that begins at a position, or within a spelling of its first byte.
    fn is_cut(&self, text: &[u8], at: usize) -> bool {
        let mut reached = vec![at];
        for byte in &self.bytes {
            let mut next = Vec::new();
            for from in reached {
                let from = if from == at { at } else { self.past_line_end(text, from) };
                if ends_within_spelling(text.get(from..).unwrap_or_default(), self.alphabet) {
                    return true;
                }
                for (read, to) in spellings(text, from) {
                    if self.alphabet.is_same(*byte, read) && !next.contains(&to) {
                        next.push(to);
                    }
                }
            }
            if next.is_empty() {
                return false;
            }
            reached = next;
        }
        false
    }

    /// Skips a line end, as Base64 may be wrapped.
    fn past_line_end(&self, text: &[u8], at: usize) -> usize {
        match text.get(at..).unwrap_or_default() {
            [b'\r', b'\n', ..] if self.alphabet == Alphabet::Base64 => at + 2,
            [b'\n', ..] if self.alphabet == Alphabet::Base64 => at + 1,
            _ => at,
        }
    }
}

impl Alphabet {
    fn is_same(self, wanted: u8, read: u8) -> bool {
        match self {
            Self::Plain => wanted == read || (wanted == b' ' && read == b'+'),
            Self::Hexadecimal => wanted == read.to_ascii_lowercase(),
            Self::Base64 => wanted == of_base64(read),
        }
    }

    fn has(self, byte: u8) -> bool {
        match self {
            Self::Plain => true,
            Self::Hexadecimal => byte.is_ascii_hexdigit(),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"+/".contains(&of_base64(byte)),
        }
    }
}

/// Maps a character of the URL-safe alphabet to the standard one.
fn of_base64(byte: u8) -> u8 {
    match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

/// Returns the bytes that the text at a position may represent, each with the position after it.
fn spellings(text: &[u8], at: usize) -> impl Iterator<Item = (u8, usize)> {
    let rest = text.get(at..).unwrap_or_default();
    let plain = rest.first().map(|byte| (*byte, at + 1));
    let other = match rest {
        [b'%', high, low, ..] => digits(*high, *low).map(|byte| (byte, at + 3)),
        [b'\\', b'u' | b'U', b'0', b'0', high, low, ..] => digits(*high, *low).map(|byte| (byte, at + 6)),
        [b'\\', byte @ (b'"' | b'\\' | b'/' | b'\''), ..] => Some((*byte, at + 2)),
        [b'&', reference @ ..] => character(reference).map(|(byte, length)| (byte, at + 1 + length)),
        _ => None,
    };
    [plain, other].into_iter().flatten()
}

/// Largest number of bytes of a character reference after its `&`, with the `;`.
const LONGEST_REFERENCE: usize = 8;

/// Returns the byte of a character reference of HTML, and the reference's length; `reference` begins after the `&`.
fn character(reference: &[u8]) -> Option<(u8, usize)> {
    let length = reference.iter().take(LONGEST_REFERENCE).position(|byte| *byte == b';')?;
    let byte = match &reference[..length] {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        [b'#', b'x' | b'X', digits @ ..] => u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    Some((byte, length + 1))
}

/// Checks whether a text can be the beginning of a spelling of a byte: it is empty, or an escape without its end.
fn ends_within_spelling(rest: &[u8], alphabet: Alphabet) -> bool {
    match rest {
        [] | [b'%' | b'\\'] | [b'%', _] => true,
        [b'\\', b'u' | b'U', digits @ ..] => digits.len() < 4,
        [b'&', reference @ ..] => reference.len() < LONGEST_REFERENCE && !reference.contains(&b';'),
        [b'\r'] => alphabet == Alphabet::Base64,
        _ => false,
    }
}

fn digits(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    const VALUE: &str = "a/b\"c\\d%e f+~?>";

    fn taken(text: &str) -> String {
        String::from_utf8(SecretEncodings::new(VALUE).replaced(text.as_bytes().to_vec(), b"*")).unwrap()
    }

    #[test]
    fn every_spelling_is_found() {
        let json = serde_json::to_string(VALUE).unwrap();
        let slashes = json.replace('/', "\\/");
        let spelt = |each: fn(u8) -> String| VALUE.bytes().map(each).collect::<Vec<_>>().concat();
        let unicode = spelt(|byte| format!("\\u00{byte:02X}"));
        let percent = spelt(|byte| format!("%{byte:02x}"));
        let some = VALUE.replace('%', "%25").replace(' ', "+").replace('"', "%22");
        let decimal = spelt(|byte| format!("&#{byte:03};"));
        let references = spelt(|byte| format!("&#x{byte:X};"));
        let html = VALUE.replace('"', "&quot;").replace('>', "&gt;");
        for text in [VALUE, &json, &slashes, &unicode, &percent, &some, &decimal, &references, &html] {
            let shown = taken(&format!("<{text}>"));
            assert!(shown == "<*>" || shown == "<\"*\">", "{text}: {shown}");
        }
        let hexadecimal = spelt(|byte| format!("{byte:02X}"));
        assert_eq!(taken(&format!("x{hexadecimal}")), "x*");
        assert_eq!(taken(&hexadecimal.to_lowercase()), "*");
    }

    #[test]
    fn base64_is_found_in_lines_and_within_other_forms() {
        let encoded = STANDARD.encode(format!("user:{VALUE}"));
        let wrapped: Vec<_> =
            encoded.as_bytes().chunks(8).map(|line| str::from_utf8(line).unwrap()).collect();
        for text in [wrapped.join("\r\n"), encoded.replace('/', "\\/"), encoded.replace('+', "%2B")] {
            let shown = taken(&text);
            assert!(shown.contains('*') && !shown.contains(&encoded[12..]), "{text}: {shown}");
        }
    }

    #[test]
    fn what_is_something_else_stays() {
        for text in ["", "a/b", "%", "\\", "\\u00", "%6", "a/b\"c\\d%e f+~?", "YS9i"] {
            assert_eq!(taken(text), text);
        }
    }

    proptest! {
        /// At every position of a value in a text, its Base64 reveals nothing about it after the replacement.
        #[test]
        fn base64_is_found_at_every_alignment(
            value in "[ -~]{8,40}",
            before in proptest::collection::vec(any::<u8>(), 0..7),
            behind in proptest::collection::vec(any::<u8>(), 0..7),
        ) {
            let text = [&before[..], value.as_bytes(), &behind].concat();
            for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                let shown = SecretEncodings::new(&value).replaced(encoded.clone().into_bytes(), b"*");
                let shown = String::from_utf8(shown).unwrap();
                prop_assert_eq!(shown.matches('*').count(), 1, "{}", encoded);
                // At most the characters that contain no bit of the value remain.
                let rest = shown.len() - 1;
                let most = (before.len() * 8).div_ceil(6) + (behind.len() * 8).div_ceil(6) + 2;
                prop_assert!(rest <= most, "{} of {}", shown, encoded);
            }
        }

        /// Every part of a spelling at the end of a text is found; a text with a whole value in it has to be cleaned first.
        #[test]
        fn the_beginning_of_a_value_is_found_at_the_end_of_a_text(
            value in "[ -~]{8,40}",
            before in "[ü ]{0,4}",
            form in 0..4_usize,
            cut in any::<prop::sample::Index>(),
        ) {
            let form = match form {
                0 => value.clone(),
                1 => serde_json::to_string(&value).unwrap().trim_matches('"').to_owned(),
                2 => STANDARD.encode(&value).trim_end_matches('=').to_owned(),
                _ => value.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02x}")),
            };
            let part = &form[..cut.index(form.len() - 1)];
            let text = format!("{before}{part}");
            prop_assert!(SecretEncodings::new(&value).unfinished(text.as_bytes()) <= before.len(), "{}", text);
        }

        #[test]
        fn nothing_else_changes(text in "[a-f0-9%+/\\\\\"u ]{0,60}") {
            prop_assert_eq!(taken(&text), text);
        }
    }
}
