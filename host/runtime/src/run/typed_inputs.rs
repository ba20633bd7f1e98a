//! Inputs that are typed on a command line, `KEY=VALUE`; the graph's `config_schema` declares the type of each value.

use graph_core::json::{self, TreeLimit, canonical_string};
use graph_core::schema::referred;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::run::typed_answers::AS_TEXT;

/// Limit of the nesting of inputs.
pub const MAX_DEPTH: usize = 128;
/// Limit of the references of a schema that are followed in a chain.
const REFERENCES: usize = 16;

/// Reads typed inputs. If the schema declares a text, the value is the text as typed; if it declares another type, it
/// is JSON. Without a declared type it is JSON, except for a number that is not written as JSON writes it: `1.10` and
/// `12e02` stay texts.
pub fn read(schema: Option<&Value>, typed: &[(String, String)]) -> Result<Map<String, Value>> {
    let mut inputs = Map::new();
    for (key, text) in typed {
        inputs.insert(key.clone(), read_one(schema, key, text)?);
    }
    Ok(inputs)
}

fn read_one(schema: Option<&Value>, key: &str, text: &str) -> Result<Value> {
    let declared = schema.and_then(|schema| {
        let of_key = schema.get("properties")?.get(key)?;
        Some(declared_types(of_key, schema, REFERENCES))
    });
    let declared = declared.unwrap_or(DeclaredTypes::ANY);
    if declared.text && !declared.other && (!declared.null || text.trim() != "null") {
        return Ok(Value::from(text));
    }
    let is_canonical = |value: &Value| !value.is_number() || canonical_string(value) == text;
    match json::parse_strict(text.trim(), MAX_DEPTH, TreeLimit::INPUTS) {
        Ok(value) if !declared.text || is_canonical(&value) => Ok(value),
        Err(error) if json::is_json(text.trim()) => {
            let message = format!("`{key}` is JSON that cannot be used unchanged: {error}");
            Err(Error::usage(message).help(AS_TEXT))
        }
        // If the schema declares another type, its check refuses the text.
        Ok(_) | Err(_) => Ok(Value::from(text)),
    }
}

/// Kinds of values that a schema declares, as far as they matter for a typed value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DeclaredTypes {
    text: bool,
    null: bool,
    other: bool,
}

impl DeclaredTypes {
    /// The kinds without a declaration.
    const ANY: Self = Self { text: true, null: true, other: true };

    const fn of_name(name: &str) -> Self {
        match name.as_bytes() {
            b"string" => Self { text: true, null: false, other: false },
            b"null" => Self { text: false, null: true, other: false },
            _ => Self { text: false, null: false, other: true },
        }
    }

    const fn of_value(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::of_name("string"),
            Value::Null => Self::of_name("null"),
            _ => Self::of_name("object"),
        }
    }

    /// Returns the kinds of all alternatives together.
    fn of_any(alternatives: impl Iterator<Item = Self>) -> Self {
        let either = |one: Self, two: Self| Self {
            text: one.text || two.text,
            null: one.null || two.null,
            other: one.other || two.other,
        };
        alternatives.reduce(either).unwrap_or(Self::ANY)
    }
}

fn declared_types(schema: &Value, root: &Value, left: usize) -> DeclaredTypes {
    let Some(left) = left.checked_sub(1) else { return DeclaredTypes::ANY };
    let below = |schema: &Value| declared_types(schema, root, left);
    if let Some(names) = schema.get("type") {
        let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
        return DeclaredTypes::of_any(names.iter().filter_map(Value::as_str).map(DeclaredTypes::of_name));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return DeclaredTypes::of_any(values.iter().map(DeclaredTypes::of_value));
    }
    if let Some(value) = schema.get("const") {
        return DeclaredTypes::of_value(value);
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(found) = reference.and_then(|reference| referred(root, reference)) {
        return below(found);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(list) = schema.get(key).and_then(Value::as_array) {
            return DeclaredTypes::of_any(list.iter().map(below));
        }
    }
    let all = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    all.map(below).find(|one| *one != DeclaredTypes::ANY).unwrap_or(DeclaredTypes::ANY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn typed(schema: &Value, text: &str) -> Value {
        read_one(Some(schema), "v", text).unwrap()
    }

    #[test]
    fn a_declared_text_is_the_text_as_it_is_typed() {
        let root =
            |of_v: Value| json!({ "properties": { "v": of_v }, "$defs": { "zip": { "type": "string" } } });
        for texts in [
            json!({ "type": "string" }),
            json!({ "type": ["string"] }),
            json!({ "enum": ["1", "2"] }),
            json!({ "const": "x" }),
            json!({ "$ref": "#/$defs/zip" }),
            json!({ "$ref": "#/%24defs/zip" }),
            json!({ "allOf": [{ "minLength": 1 }, { "$ref": "#/$defs/zip" }] }),
            json!({ "anyOf": [{ "type": "string", "minLength": 3 }, { "const": "" }] }),
        ] {
            for text in ["12345", "01234", "1.10", "null", "true", "{\"a\":1}", "\"x\"", " 1", ""] {
                assert_eq!(typed(&root(texts.clone()), text), json!(text), "{texts}");
            }
        }
        let optional = root(json!({ "type": ["string", "null"] }));
        assert_eq!((typed(&optional, "7"), typed(&optional, "null")), (json!("7"), Value::Null));
        let nullable = root(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
        for text in ["123", "12e5", "true"] {
            assert_eq!(typed(&nullable, text), json!(text));
        }
        assert_eq!(typed(&nullable, "null"), Value::Null);
        let circle = json!({ "properties": { "v": { "$ref": "#/properties/v" } } });
        assert_eq!(typed(&circle, "1.10"), json!("1.10"));
    }

    #[test]
    fn another_declared_type_is_json() {
        let schema = json!({ "properties": { "v": { "type": "number" } } });
        for (text, value) in
            [("1.10", json!(1.1)), ("12e02", json!(1200.0)), (" 7", json!(7)), ("01", json!("01"))]
        {
            assert_eq!(typed(&schema, text), value, "{text}");
        }
        let schema = json!({ "properties": { "v": { "enum": [1, null] } } });
        assert_eq!((typed(&schema, "1.0"), typed(&schema, "null")), (json!(1.0), Value::Null));
        assert!(read_one(Some(&schema), "v", "1e400").is_err());
    }

    #[test]
    fn without_a_declared_type_a_number_is_one_if_it_is_written_as_one() {
        for text in ["1.10", "12e02", "1.0", "-0", "01", "1E5", "+1", " 3", "{a: 1}", "NaN", ""] {
            assert_eq!(read_one(None, "v", text).unwrap(), json!(text));
        }
        for (text, value) in [
            ("3", json!(3)),
            ("-1.5", json!(-1.5)),
            ("18446744073709551615", json!(u64::MAX)),
            ("true", json!(true)),
            ("null", Value::Null),
            ("\"3\"", json!("3")),
            ("{ \"a\": [1.10, null] }", json!({ "a": [1.1, null] })),
        ] {
            assert_eq!(read_one(None, "v", text).unwrap(), value, "{text}");
        }
        for lossy in [r#"{"a":1,"a":2}"#, r#""\ud800""#, "18446744073709551616", "1e400"] {
            assert!(
                read_one(None, "v", lossy)
                    .unwrap_err()
                    .remedy()
                    .and_then(crate::remedy::Remedy::advice)
                    .unwrap_or_default()
                    .contains("quotes of its own")
            );
        }
    }
}
