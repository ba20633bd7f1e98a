//! JSON documents that are written while their lists are produced, so that a long list is never held as a whole.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;

use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::terminal::numbers;
use crate::terminal::output::json_for_terminals;
use graph_runtime::error::Result;
use graph_runtime::history::streamed::Streamed;

/// Bytes that are written at one time.
const PIECE: usize = 64 << 10;

/// Member that is not held as a JSON value.
enum Part<'e> {
    List(Streamed<'e>),
    Text(Option<Arc<str>>),
}

/// Document whose lists are produced while it is written. Its members are sorted by name.
pub struct Document<'e> {
    members: Map<String, Value>,
    parts: RefCell<Vec<(String, Part<'e>)>>,
}

impl<'e> Document<'e> {
    /// Creates a document with these members.
    pub fn new(members: Map<String, Value>) -> Self {
        Self { members, parts: RefCell::default() }
    }

    /// Adds a list under a key; its elements are written while they are read.
    #[must_use]
    pub fn with_list(
        self,
        name: &str,
        elements: impl FnMut(&mut dyn FnMut(&Value) -> Result<()>) -> Result<()> + 'e,
    ) -> Self {
        self.add(name, Part::List(Streamed::new(elements)))
    }

    /// Adds a member that is kept as JSON text and written unchanged; `None` is written as null.
    #[must_use]
    pub fn with_text(self, name: &str, text: Option<Arc<str>>) -> Self {
        self.add(name, Part::Text(text))
    }

    fn add(mut self, name: &str, part: Part<'e>) -> Self {
        self.members.remove(name);
        self.parts.borrow_mut().push((name.to_owned(), part));
        self
    }

    /// Writes the document. If a list fails, the document ends there, and the inner result is that error.
    pub(crate) fn write(self, out: impl Write, pretty: bool) -> io::Result<Result<()>> {
        let written = write(&self, out, pretty);
        let parts = self.parts.into_inner();
        let failed = parts.iter().find_map(|(_, part)| match part {
            Part::List(list) => list.take_failure(),
            Part::Text(_) => None,
        });
        match failed {
            Some(error) => Ok(Err(error)),
            None => written.map(Ok),
        }
    }
}

/// Writes a JSON value in pieces that are safe for terminals.
pub(crate) fn write(document: &impl serde::Serialize, out: impl Write, pretty: bool) -> io::Result<()> {
    let mut out = ForTerminals { out, held: Vec::with_capacity(PIECE) };
    let written = if pretty {
        numbers::write_pretty(document, &mut out)
    } else {
        numbers::write_compact(document, &mut out)
    };
    let ended = out.end();
    written.map_err(io::Error::from).and(ended)
}

impl serde::Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut parts = self.parts.borrow_mut();
        parts.sort_by(|one, other| one.0.cmp(&other.0));
        let mut parts = parts.iter_mut().peekable();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.members {
            while let Some((part_name, part)) = parts.next_if(|(part_name, _)| part_name < name) {
                serialize_part(&mut map, part_name, part)?;
            }
            map.serialize_entry(name, value)?;
        }
        for (name, part) in parts {
            serialize_part(&mut map, name, part)?;
        }
        map.end()
    }
}

fn serialize_part<M: SerializeMap>(
    map: &mut M,
    name: &str,
    part: &Part<'_>,
) -> std::result::Result<(), M::Error> {
    match part {
        Part::List(elements) => map.serialize_entry(name, elements),
        Part::Text(None) => map.serialize_entry(name, &()),
        Part::Text(Some(text)) => match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => map.serialize_entry(name, raw),
            // Text that is not JSON is written as a string.
            Err(_) => map.serialize_entry(name, &**text),
        },
    }
}

/// Writer that escapes each piece of text for terminals.
struct ForTerminals<W> {
    out: W,
    held: Vec<u8>,
}

impl<W: Write> ForTerminals<W> {
    fn pass_on(&mut self) -> io::Result<()> {
        let whole = match std::str::from_utf8(&self.held) {
            Ok(text) => text.len(),
            // The rest of a cut character is in the next piece.
            Err(error) => error.valid_up_to(),
        };
        let rest = self.held.split_off(whole);
        let text = String::from_utf8(std::mem::replace(&mut self.held, rest)).map_err(io::Error::other)?;
        self.out.write_all(json_for_terminals(text).as_bytes())
    }

    fn end(mut self) -> io::Result<()> {
        self.held.push(b'\n');
        self.pass_on()?;
        self.out.flush()
    }
}

impl<W: Write> Write for ForTerminals<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(PIECE)];
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PIECE {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use graph_runtime::error::Error;
    use serde_json::json;

    fn text(document: Document<'_>, pretty: bool) -> (String, Result<()>) {
        let mut out = Vec::new();
        let made = document.write(&mut out, pretty).unwrap();
        (String::from_utf8(out).unwrap(), made)
    }

    fn members(value: Value) -> Map<String, Value> {
        if let Value::Object(members) = value { members } else { Map::new() }
    }

    #[test]
    fn it_is_the_same_text_as_that_of_the_whole_document() {
        let elements: Vec<_> =
            (0..40_000).map(|number| json!({ "number": number, "é": "\u{9b}\u{7f}" })).collect();
        let whole = json!({ "a": 1, "list": elements, "none": [], "z": { "y": [1] } });
        for pretty in [true, false] {
            let document = Document::new(members(json!({ "a": 1, "z": { "y": [1] } })))
                .with_list("none", |_| Ok(()))
                .with_list("list", |give| elements.iter().try_for_each(give));
            let expected =
                if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) };
            let (text, made) = text(document, pretty);
            assert_eq!(text, json_for_terminals(expected.unwrap()) + "\n");
            assert!(made.is_ok());
        }
    }

    #[test]
    fn what_keeps_a_list_from_its_end_is_the_error() {
        let document = Document::new(Map::new()).with_list("list", |give| {
            give(&json!(1))?;
            Err(Error::integrity("it is damaged here"))
        });
        let (text, made) = text(document, false);
        assert_eq!(text, "{\"list\":[1\n");
        assert_eq!(made.unwrap_err().message(), "it is damaged here");
    }
}
