//! The format of events.

use proptest::prelude::*;

use crate::DecodeError;
use crate::sse::Sse;

type Events = Vec<(String, String)>;

fn read(pieces: &[&[u8]], limit: usize) -> Result<Events, DecodeError> {
    let mut sse = Sse::new(limit);
    let mut events = Vec::new();
    let mut keep = |name: &str, data: &[u8]| {
        events.push((name.to_owned(), String::from_utf8_lossy(data).into_owned()));
        Ok(())
    };
    for piece in pieces {
        sse.feed(piece, &mut keep)?;
    }
    sse.finish(&mut keep)?;
    Ok(events)
}

#[test]
fn events_are_read_as_the_standard_says() {
    for (text, expected) in [
        ("data: a\n\n", vec![("", "a")]),
        ("data:a\n\n", vec![("", "a")]),
        ("data:  a\n\n", vec![("", " a")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", vec![("", "a"), ("", "b"), ("", "c")]),
        ("\u{feff}data: a\n\n", vec![("", "a")]),
        ("event: x\ndata: a\ndata\ndata: b\n\n", vec![("x", "a\n\nb")]),
        (": comment\n\n: another\ndata: a\nid: 1\nretry: 5\nunknown\n\n", vec![("", "a")]),
        ("event: x\n\ndata: a\n\n", vec![("", "a")]),
        ("data\n\n", vec![("", "")]),
        ("data: the last\n", vec![("", "the last")]),
        ("data: the last", vec![("", "the last")]),
        ("\n\n\r\n", vec![]),
    ] {
        let expected: Events =
            expected.into_iter().map(|(name, data)| (name.to_owned(), data.to_owned())).collect();
        assert_eq!(read(&[text.as_bytes()], 100).unwrap(), expected, "{text:?}");
        let bytes: Vec<_> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes, 100).unwrap(), expected, "{text:?}, byte by byte");
    }
}

#[test]
fn an_event_is_bounded() {
    assert!(matches!(read(&[&[b'a'; 101]], 100), Err(DecodeError::Bound { limit: 100, .. })));
    let lines = "data: 123456789\n".repeat(20);
    assert!(matches!(read(&[lines.as_bytes()], 100), Err(DecodeError::Bound { .. })));
    let events = "data: 123456789\n\n".repeat(20);
    assert_eq!(read(&[events.as_bytes()], 100).unwrap().len(), 20);
    let comments = ": 123456789\n".repeat(20);
    assert_eq!(read(&[comments.as_bytes()], 100).unwrap(), vec![]);
}

proptest! {
    #[test]
    fn splits_do_not_matter(text in "(data|event|:| |a|\r|\n|\r\n|é){0,60}", at in any::<prop::sample::Index>()) {
        let bytes = text.as_bytes();
        let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
        prop_assert_eq!(read(&[first, second], 1000).unwrap(), read(&[bytes], 1000).unwrap());
    }
}
