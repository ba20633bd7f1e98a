//! Repair of lone surrogates in JSON escapes: servers that count in UTF-16 units split a character between two events.

use std::borrow::Cow;

/// Escape of U+FFFD, which replaces a lone surrogate.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// High surrogate at the end of a text in the last event, which the next event has to complete.
#[derive(Debug, Default)]
pub(crate) struct LoneSurrogates {
    first: Option<[u8; 6]>,
}

impl LoneSurrogates {
    /// Returns an event in which a low surrogate at the start of a text is preceded by the high surrogate from the
    /// event before. A high surrogate at the end of a text is kept for the next event; any other lone surrogate becomes
    /// U+FFFD.
    pub(crate) fn join<'d>(&mut self, data: &'d [u8]) -> Cow<'d, [u8]> {
        mend(data, Some(&mut self.first))
    }
}

/// Returns a JSON text in which U+FFFD replaces each lone surrogate.
pub(crate) fn replaced(data: &[u8]) -> Cow<'_, [u8]> {
    mend(data, None)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Returns the surrogate that an escape denotes, or `None` for any other text.
fn half(escape: &[u8]) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', kind, one, two] = *escape else { return None };
    if !one.is_ascii_hexdigit() || !two.is_ascii_hexdigit() {
        return None;
    }
    match kind {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::First),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Second),
        _ => None,
    }
}

fn mend<'d>(data: &'d [u8], mut kept: Option<&mut Option<[u8; 6]>>) -> Cow<'d, [u8]> {
    let is_half = |at: usize| data.get(at..at + 6).and_then(half);
    if !data.windows(3).any(|part| part == b"\\ud" || part == b"\\uD") {
        return Cow::Borrowed(data);
    }
    let mut mended = Vec::with_capacity(data.len() + 6);
    let (mut at, mut in_string) = (0, false);
    while let Some(byte) = data.get(at) {
        match (byte, is_half(at)) {
            (b'\\', Some(Half::First)) if in_string && is_half(at + 6) == Some(Half::Second) => {
                mended.extend_from_slice(&data[at..at + 12]);
                at += 12;
            }
            (b'\\', Some(found)) if in_string => {
                let escape = <[u8; 6]>::try_from(&data[at..at + 6]).unwrap_or(*REPLACEMENT);
                match (found, kept.as_deref_mut()) {
                    (Half::First, Some(first)) if data.get(at + 6) == Some(&b'"') => *first = Some(escape),
                    (Half::Second, Some(first @ Some(_))) if mended.last() == Some(&b'"') => {
                        mended.extend(first.take().unwrap_or(*REPLACEMENT));
                        mended.extend(escape);
                    }
                    _ => mended.extend_from_slice(REPLACEMENT),
                }
                at += 6;
            }
            (b'\\', None) if in_string => {
                let end = data.len().min(at + 2);
                mended.extend_from_slice(&data[at..end]);
                at = end;
            }
            _ => {
                in_string ^= *byte == b'"';
                mended.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(mended)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn text(json: &[u8]) -> String {
        let value: serde_json::Value = serde_json::from_slice(json).unwrap();
        value["t"].as_str().unwrap().to_owned()
    }

    #[test]
    fn the_halves_of_two_events_are_one_character() {
        let mut surrogates = LoneSurrogates::default();
        let joined: String = [&br#"{"t":"a\ud83d"}"#[..], br#"{"t":"","n":1}"#, br#"{"t":"\ude00b"}"#]
            .iter()
            .map(|event| text(&surrogates.join(event)))
            .collect();
        assert_eq!(joined, "a\u{1f600}b");
    }

    #[test]
    fn half_a_character_is_replaced_and_whole_ones_stay() {
        assert_eq!(text(&replaced(br#"{"t":"a\ud83d"}"#)), "a\u{fffd}");
        assert_eq!(text(&replaced(br#"{"t":"\ude00 \ud83dx"}"#)), "\u{fffd} \u{fffd}x");
        assert_eq!(text(&replaced(br#"{"t":"\ud83d\uDE00"}"#)), "\u{1f600}");
        assert_eq!(text(&replaced(br#"{"t":"\\ud83d"}"#)), "\\ud83d");
        assert_eq!(text(&LoneSurrogates::default().join(br#"{"t":"\ude00"}"#)), "\u{fffd}");
        assert!(matches!(replaced(br#"{"t":"\u00e9"}"#), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn what_is_json_stays_what_it_was(text: String) {
            let json = serde_json::json!({ "t": text, "u": [text] }).to_string();
            let escaped = |unit: u16| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
                _ => format!("\\u{unit:04x}"),
            };
            let ascii = json.encode_utf16().fold(String::new(), |text, unit| text + &escaped(unit));
            let value: serde_json::Value = serde_json::from_slice(&replaced(ascii.as_bytes())).unwrap();
            prop_assert_eq!(value["t"].as_str().unwrap(), text);
        }

        #[test]
        fn anything_may_come(data in proptest::collection::vec(any::<u8>(), 0..60), near in "[\\\\ud8c\"{}0-9]{0,40}") {
            for data in [&data[..], near.as_bytes()] {
                prop_assert!(LoneSurrogates::default().join(data).len() <= data.len() + 6);
                prop_assert!(replaced(data).len() <= data.len());
            }
        }
    }
}
