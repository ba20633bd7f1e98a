//! Filling in the `default`s of a schema.

use serde_json::Value;

use super::evaluate::{DEEPEST, EvaluationError};
use super::program::{Keyword, NodeId, Program};
use crate::json::{MAX_DEPTH, depth};
use crate::work::{FuelExhausted, Meter, rates, size};

/// Largest number of defaults that are filled in: a schema can refer to itself.
const MOST: usize = 10_000;

/// The reason why defaults were not filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DefaultsError {
    /// The fuel is used up, or subschemas are nested too deeply.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// The defaults of the schema require further defaults without end.
    #[error("the schema's defaults have no end")]
    Endless,
}

/// Inserts the default of each missing property into the objects of a value, nested ones included. Follows `properties`, `items`, `allOf`
/// and `$ref`.
pub(super) fn fill(program: &Program, value: &mut Value, meter: &Meter) -> Result<(), DefaultsError> {
    Filler { program, meter, left: MOST }.visit(0, value, Depth::default())
}

impl From<FuelExhausted> for DefaultsError {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Evaluation(exhausted.into())
    }
}

/// The nesting of a visit.
#[derive(Clone, Copy, Default)]
struct Depth {
    /// Number of enclosing subschemas.
    depth: usize,
    /// Number of enclosing objects and arrays.
    level: usize,
}

impl Depth {
    const fn beside(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    const fn below(self) -> Self {
        Self { depth: self.depth + 1, level: self.level + 1 }
    }
}

struct Filler<'p> {
    program: &'p Program,
    meter: &'p Meter,
    left: usize,
}

impl Filler<'_> {
    fn visit(&mut self, id: NodeId, value: &mut Value, at: Depth) -> Result<(), DefaultsError> {
        self.meter.charge(rates::VALUE)?;
        let Some(node) = self.program.nodes.get(id).filter(|node| !node.keywords.is_empty()) else {
            return Ok(());
        };
        if at.depth > DEEPEST {
            return Err(EvaluationError::TooDeep.into());
        }
        let has_parts = value.is_object() || value.is_array();
        // Defaults of a reference or an alternative precede those of the subschema itself.
        for keyword in node.keywords.iter().filter(|_| has_parts) {
            self.meter.charge(rates::SCHEMA_VISIT)?;
            match keyword {
                Keyword::Ref(target) => self.visit(*target, value, at.beside())?,
                Keyword::AllOf(parts) => {
                    for part in parts {
                        self.visit(*part, value, at.beside())?;
                    }
                }
                _ => {}
            }
        }
        for keyword in node.keywords.iter().filter(|_| has_parts) {
            match (keyword, &mut *value) {
                (Keyword::Fields(fields), Value::Object(object)) => {
                    for property in &fields.properties {
                        self.meter.charge(rates::LOOKUP.saturating_add(property.name.len() as u64))?;
                        if let Some(default) = &property.default
                            && !object.contains_key(&*property.name)
                        {
                            self.left = self.left.checked_sub(1).ok_or(DefaultsError::Endless)?;
                            let field = size::of(default).saturating_add(property.name.len() as u64);
                            self.meter.charge(field.saturating_add(size::of_map(1)))?;
                            if at.level + 1 + depth(default) > MAX_DEPTH {
                                return Err(DefaultsError::Endless);
                            }
                            object.insert(property.name.to_string(), default.clone());
                        }
                        if let Some(inner) = object.get_mut(&*property.name) {
                            self.visit(property.node, inner, at.below())?;
                        }
                    }
                }
                (Keyword::Items(items), Value::Array(list)) => {
                    if let Some(node) = items.rest {
                        for item in list.iter_mut().skip(items.prefix.len()) {
                            self.visit(node, item, at.below())?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
