//! Numbers in printed JSON, written as in records: a record keeps `1.0` as `1`, so that a document is the same before and after its
//! values were recorded.

use std::io::{self, Write};

use graph_core::json::canonical_string;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Writes JSON on several lines.
pub(crate) fn write_pretty(value: &impl Serialize, out: impl Write) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, AsRecorded(PrettyFormatter::new())))
}

/// Writes JSON on one line.
pub(crate) fn write_compact(value: &impl Serialize, out: impl Write) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, AsRecorded(CompactFormatter)))
}

/// Formatter that writes numbers as in records and leaves the rest to another formatter.
struct AsRecorded<F>(F);

/// Forwards methods to the other formatter.
macro_rules! passed_on {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name<W: Write + ?Sized>(&mut self, out: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for AsRecorded<F> {
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(canonical_string(&value.into()).as_bytes())
    }

    passed_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_document_is_the_same_before_and_after_it_was_recorded() {
        let value =
            json!({ "a": [0.0, -0.0, 2.0, 0.25, 1e21, 7, {}], "b": { "c": 1e-7, "d": "1.0" }, "e": [] });
        let recorded: Value = serde_json::from_str(&canonical_string(&value)).unwrap();
        let text = |value: &Value, pretty: bool| {
            let mut out = Vec::new();
            if pretty { write_pretty(value, &mut out) } else { write_compact(value, &mut out) }.unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&value, false), canonical_string(&value));
        assert_eq!(text(&value, true), serde_json::to_string_pretty(&recorded).unwrap());
    }
}
