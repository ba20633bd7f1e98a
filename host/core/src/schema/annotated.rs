//! Finds the parts of a value that a schema's `format` describes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::referred;
use crate::work::{FuelExhausted, Meter, rates};

/// Largest number of places of a schema that are visited. Real schemas have hundreds.
const MOST_PLACES: u32 = 10_000;
/// Largest nesting of places.
const DEEPEST: u32 = 64;

/// Returns the literal texts of a value at the places to which the schema gives this `format`, in document order, each once. Texts with
/// templates are left out. Since `format` is an annotation, only `properties`, `additionalProperties`, `items`, `allOf`, `anyOf`, `oneOf`
/// and references within the schema are followed, and no conditions. Places after the first 10,000 or below 64 levels are left out, and so
/// is the rest once the meter is used up.
pub fn texts_of_format<'v>(schema: &Value, value: &'v Value, format: &str, meter: &Meter) -> Vec<&'v str> {
    let mut found = every_text_of_format(schema, value, format, meter);
    found.retain(|text| !text.contains("${"));
    found
}

/// Like [`texts_of_format`], with the texts that have templates.
pub fn every_text_of_format<'v>(
    schema: &Value,
    value: &'v Value,
    format: &str,
    meter: &Meter,
) -> Vec<&'v str> {
    let (found, known) = (Vec::new(), BTreeSet::new());
    let mut search = Search { root: schema, format, left: MOST_PLACES, meter, found, known };
    // The texts found before an error are returned.
    let _ = search.look(schema, value, DEEPEST);
    search.found
}

struct Search<'s, 'v> {
    root: &'s Value,
    format: &'s str,
    left: u32,
    meter: &'s Meter,
    found: Vec<&'v str>,
    known: BTreeSet<&'v str>,
}

impl<'v> Search<'_, 'v> {
    fn look(&mut self, schema: &Value, value: &'v Value, deep: u32) -> Result<(), FuelExhausted> {
        self.meter.charge(rates::LOOKUP)?;
        let Some(keywords) = schema.as_object() else { return Ok(()) };
        let (Some(left), Some(deep)) = (self.left.checked_sub(1), deep.checked_sub(1)) else { return Ok(()) };
        self.left = left;
        if let (Some(Value::String(format)), Value::String(text)) = (keywords.get("format"), value)
            && format == self.format
            && self.known.insert(text)
        {
            self.found.push(text);
        }
        let reference = keywords.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| referred(self.root, reference)) {
            self.look(target, value, deep)?;
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for part in keywords.get(name).and_then(Value::as_array).into_iter().flatten() {
                self.look(part, value, deep)?;
            }
        }
        match value {
            Value::Object(fields) => {
                let (properties, others) = (keywords.get("properties"), keywords.get("additionalProperties"));
                self.meter.charge_each(fields.len(), rates::LOOKUP)?;
                for (name, field) in fields {
                    if let Some(schema) = properties.and_then(|known| known.get(name)).or(others) {
                        self.look(schema, field, deep)?;
                    }
                }
            }
            Value::Array(items) => {
                let schema = keywords.get("items");
                for (schema, item) in items.iter().filter_map(|item| Some((schema?, item))) {
                    self.look(schema, item, deep)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts_of_format<'v>(schema: &Value, value: &'v Value, format: &str) -> Vec<&'v str> {
        super::texts_of_format(schema, value, format, &Meter::new(rates::STEP))
    }

    #[test]
    fn a_search_ends_with_its_meter() {
        let parts: Vec<Value> = (0..5000).map(|_| json!({ "type": "object" })).collect();
        let value: Value = (0..10_000).map(|key| (key.to_string(), Value::Null)).collect();
        let meter = Meter::new(1 << 20);
        assert!(super::texts_of_format(&json!({ "anyOf": parts }), &value, "model", &meter).is_empty());
        assert!(meter.charge(1 << 20).is_err());
    }

    #[test]
    fn the_fields_of_a_value_are_charged_at_each_place() {
        let parts: Vec<Value> = (0..10).map(|_| json!({ "type": "object" })).collect();
        let value: Value = (0..100).map(|key| (key.to_string(), Value::Null)).collect();
        let meter = Meter::new(rates::STEP);
        assert!(super::texts_of_format(&json!({ "anyOf": parts }), &value, "model", &meter).is_empty());
        assert!(meter.spent() >= 11 * 100 * rates::LOOKUP, "{}", meter.spent());
    }

    #[test]
    fn texts_are_found_in_every_part_of_a_value() {
        let schema = json!({
            "properties": {
                "model": { "type": ["string", "null"], "format": "model" },
                "other": { "format": "date" },
                "inner": { "$ref": "#/$defs/inner" },
                "list": { "items": { "anyOf": [{ "type": "null" }, { "format": "model" }] } },
            },
            "additionalProperties": { "allOf": [{ "format": "model" }] },
            "$defs": { "inner": { "oneOf": [{ "properties": { "model": { "format": "model" } } }] } },
        });
        let value = json!({
            "model": "a", "other": "no", "inner": { "model": "b" }, "list": ["c", null, "a", "${inputs.model}"], "more": "d",
        });
        assert_eq!(texts_of_format(&schema, &value, "model"), ["b", "c", "a", "d"]);
        assert!(texts_of_format(&schema, &json!({ "model": null, "list": 3 }), "model").is_empty());
    }

    #[test]
    fn a_reference_is_decoded() {
        let schema = json!({ "$ref": "#/$defs/a%20b", "$defs": { "a b": { "format": "model" } } });
        assert_eq!(texts_of_format(&schema, &json!("a"), "model"), ["a"]);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let wide: Vec<Value> = (0..20).map(|_| json!({ "$ref": "#" })).collect();
        for schema in [json!({ "$ref": "#" }), json!({ "anyOf": wide, "format": "model" })] {
            assert!(texts_of_format(&schema, &json!("a"), "model").len() < 2);
        }
    }
}
