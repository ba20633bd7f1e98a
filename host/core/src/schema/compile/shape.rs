//! The required forms of the keywords of draft 2020-12, as in the meta-schema.

use serde_json::Value;

use crate::schema::compare;
use crate::schema::message::{BriefText, shown};
use crate::schema::program::{TYPES, is_integer};
use crate::work::{FuelExhausted, Meter, rates};

/// The form of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One subschema.
    Schema,
    /// At least one subschema.
    Schemas,
    /// Subschemas by name.
    SchemasByName,
    /// Subschemas by pattern.
    SchemasByPattern,
    /// Subschemas or lists of names, by name: `dependencies` of older drafts.
    Dependencies,
    Text,
    /// A URI reference without a fragment.
    Id,
    /// The name of an anchor.
    Anchor,
    /// A pattern.
    Pattern,
    Boolean,
    Booleans,
    /// A whole number from 0.
    Count,
    Number,
    /// A number above 0.
    Positive,
    /// Different names.
    Names,
    /// Lists of different names, by name.
    NamesByName,
    /// A type or a list of different types.
    Types,
    List,
    Any,
}

/// Returns the form of a keyword; `None` if the draft has no such keyword.
pub(super) fn for_keyword(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Shape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Shape::Schemas,
        "$defs" | "definitions" | "dependentSchemas" | "properties" => Shape::SchemasByName,
        "patternProperties" => Shape::SchemasByPattern,
        "dependencies" => Shape::Dependencies,
        "$schema" | "$ref" | "$dynamicRef" | "$recursiveRef" | "$comment" | "title" | "description"
        | "format" | "contentEncoding" | "contentMediaType" => Shape::Text,
        "$id" => Shape::Id,
        "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => Shape::Anchor,
        "pattern" => Shape::Pattern,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Shape::Boolean,
        "$vocabulary" => Shape::Booleans,
        "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems"
        | "minLength" | "minProperties" => Shape::Count,
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" => Shape::Number,
        "multipleOf" => Shape::Positive,
        "required" => Shape::Names,
        "dependentRequired" => Shape::NamesByName,
        "type" => Shape::Types,
        "enum" | "examples" => Shape::List,
        "const" | "default" => Shape::Any,
        _ => return None,
    })
}

/// An error within the value of a keyword: its path of keys and indices, and the message.
pub(super) type KeywordError = (Vec<String>, String);

/// Checks the form of a keyword's value, subschemas excepted, and adds the errors.
pub(super) fn check(
    shape: Shape,
    value: &Value,
    meter: &Meter,
    wrong: &mut Vec<KeywordError>,
) -> Result<(), FuelExhausted> {
    let mut here = |message: String| wrong.push((Vec::new(), message));
    let mut is = |kind: &str, fits: bool| {
        if !fits {
            here(not_of(kind, value));
        }
    };
    match shape {
        Shape::Any | Shape::Schema => {}
        Shape::SchemasByName | Shape::SchemasByPattern => is("object", value.is_object()),
        Shape::Text | Shape::Pattern => is("string", value.is_string()),
        Shape::Boolean => is("boolean", value.is_boolean()),
        Shape::Number => is("number", value.is_number()),
        Shape::List => is("array", value.is_array()),
        Shape::Schemas => match value.as_array() {
            None => here(not_of("array", value)),
            Some(items) if items.is_empty() => here("[] has less than 1 item".to_owned()),
            Some(_) => {}
        },
        Shape::Id | Shape::Anchor => match value.as_str() {
            None => here(not_of("string", value)),
            Some(text) => {
                meter.charge_each(text.len(), rates::BYTE)?;
                let (fits, pattern) = if shape == Shape::Id {
                    (!text.strip_suffix('#').unwrap_or(text).contains('#'), "^[^#]*#?$")
                } else {
                    (is_anchor(text), "^[A-Za-z_][-A-Za-z0-9._]*$")
                };
                if !fits {
                    here(format!("{} does not match \"{pattern}\"", shown(value)));
                }
            }
        },
        Shape::Count => match value.as_number() {
            Some(number) if is_integer(number) => {
                if number.as_f64().is_some_and(|number| number < 0.0) {
                    here(format!("{number} is less than the minimum of 0"));
                }
            }
            _ => here(not_of("integer", value)),
        },
        Shape::Positive => match value.as_number() {
            None => here(not_of("number", value)),
            Some(number) if number.as_f64().is_some_and(|number| number <= 0.0) => {
                here(format!("{number} is less than or equal to the minimum of 0"));
            }
            Some(_) => {}
        },
        Shape::Types => types(value, meter, wrong)?,
        Shape::Names => names(value, &[], meter, wrong)?,
        Shape::Booleans | Shape::NamesByName | Shape::Dependencies => {
            let Some(fields) = value.as_object() else {
                here(not_of("object", value));
                return Ok(());
            };
            for (name, field) in fields {
                meter.charge(rates::VALUE)?;
                match shape {
                    Shape::Booleans if !field.is_boolean() => {
                        wrong.push((vec![name.clone()], not_of("boolean", field)));
                    }
                    Shape::NamesByName => names(field, &[name], meter, wrong)?,
                    Shape::Dependencies if field.is_array() => names(field, &[name], meter, wrong)?,
                    _ => {}
                }
                if wrong.len() >= super::MOST_ERRORS {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn types(value: &Value, meter: &Meter, wrong: &mut Vec<KeywordError>) -> Result<(), FuelExhausted> {
    let unknown = |value: &Value| match value.as_str() {
        Some(name) if TYPES.contains(&name) => None,
        Some(_) => {
            let mut message = BriefText::default();
            message.add(value);
            message.add(&" is not a type; the types are ");
            message.list(TYPES.iter().map(|name| format!("\"{name}\"")));
            Some(message.into_text())
        }
        None => Some(not_of("string", value)),
    };
    let Some(items) = value.as_array() else {
        let message = match value {
            Value::String(_) => unknown(value),
            _ => Some(format!("{} is not of types \"array\", \"string\"", shown(value))),
        };
        wrong.extend(message.map(|message| (Vec::new(), message)));
        return Ok(());
    };
    meter.charge_each(items.len(), rates::VALUE)?;
    if items.is_empty() {
        wrong.push((Vec::new(), "[] has less than 1 item".to_owned()));
    }
    let found =
        items.iter().enumerate().filter_map(|(at, item)| Some((vec![at.to_string()], unknown(item)?)));
    wrong.extend(found.take(super::MOST_ERRORS));
    duplicates(items, value, &[], meter, wrong)
}

fn names(
    value: &Value,
    place: &[&str],
    meter: &Meter,
    wrong: &mut Vec<KeywordError>,
) -> Result<(), FuelExhausted> {
    let at = |more: Option<usize>| {
        place.iter().map(|&key| key.to_owned()).chain(more.map(|at| at.to_string())).collect::<Vec<_>>()
    };
    let Some(items) = value.as_array() else {
        wrong.push((at(None), not_of("array", value)));
        return Ok(());
    };
    meter.charge_each(items.len(), rates::VALUE)?;
    let found = items.iter().enumerate().filter(|(_, item)| !item.is_string());
    wrong.extend(
        found.take(super::MOST_ERRORS).map(|(index, item)| (at(Some(index)), not_of("string", item))),
    );
    duplicates(items, value, place, meter, wrong)
}

fn duplicates(
    items: &[Value],
    whole: &Value,
    place: &[&str],
    meter: &Meter,
    wrong: &mut Vec<KeywordError>,
) -> Result<(), FuelExhausted> {
    if !compare::unique(items, meter)? {
        let place = place.iter().map(|&key| key.to_owned()).collect();
        wrong.push((place, format!("{} has non-unique elements", shown(whole))));
    }
    Ok(())
}

/// Returns the message for a value of another type.
pub(super) fn not_of(kind: &str, value: &Value) -> String {
    format!("{} is not of type \"{kind}\"", shown(value))
}

fn is_anchor(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
}
