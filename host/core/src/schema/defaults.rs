//! Filling in the `default`s of a schema.

use serde_json::Value;

/// The most defaults that are filled in: a schema can refer to itself.
const MOST: usize = 10_000;
/// How deeply defaults are looked for.
const DEEPEST: usize = 64;

/// The defaults of a schema bring forth further defaults without end.
#[derive(Debug)]
pub(super) struct Endless;

/// Puts the default of each property that is missing into the objects of a value, nested ones included. Looks through
/// `properties`, `items`, `allOf` and references within the schema.
pub(super) fn fill(schema: &Value, value: &mut Value) -> Result<(), Endless> {
    Filler { root: schema, left: MOST }.visit(schema, value, 0)
}

struct Filler<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Filler<'s> {
    fn visit(&mut self, schema: &'s Value, value: &mut Value, depth: usize) -> Result<(), Endless> {
        if depth > DEEPEST {
            return Err(Endless);
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|text| self.resolve(text)) {
            self.visit(target, value, depth + 1)?;
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.visit(part, value, depth + 1)?;
        }
        match value {
            Value::Object(object) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for (name, property) in properties.into_iter().flatten() {
                    if !object.contains_key(name)
                        && let Some(default) = property.get("default")
                    {
                        self.left = self.left.checked_sub(1).ok_or(Endless)?;
                        object.insert(name.clone(), default.clone());
                    }
                    if let Some(inner) = object.get_mut(name) {
                        self.visit(property, inner, depth + 1)?;
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for item in items {
                        self.visit(schema, item, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}
