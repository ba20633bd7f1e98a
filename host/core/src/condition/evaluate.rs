//! Evaluation of conditions.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Condition, Node, Op, Test};
use crate::diagnostic::excerpt_up_to;
use crate::json::{compare_numbers, equal_metered};
use crate::template::{Path, Scope, kind};
use crate::work::rates::{BYTE, LOOKUP, VALUE};
use crate::work::{FuelExhausted, Meter};

/// Largest number of warnings; further ones are dropped.
pub const MAX_WARNINGS: usize = 64;

impl Condition {
    /// Evaluates the condition. A missing path is null. A comparison of unsuitable types is false and adds a warning, while `warnings` has
    /// fewer than [`MAX_WARNINGS`].
    ///
    /// Charges [`LOOKUP`] for each evaluated test and group of tests, the cost of paths ([`Scope::resolve`]), and the compared data:
    /// [`LOOKUP`] for each pair of values and [`BYTE`] for each byte of text.
    pub fn evaluate(
        &self,
        scope: &Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<bool, FuelExhausted> {
        Evaluation { scope, warnings, meter }.holds(&self.node)
    }
}

struct Evaluation<'e, 'a> {
    scope: &'e Scope<'a>,
    warnings: &'e mut Vec<String>,
    meter: &'e Meter,
}

impl Evaluation<'_, '_> {
    fn holds(&mut self, node: &Node) -> Result<bool, FuelExhausted> {
        self.meter.charge(LOOKUP)?;
        match node {
            Node::Always => Ok(true),
            Node::All(nodes) => {
                for node in nodes {
                    if !self.holds(node)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Any(nodes) => {
                for node in nodes {
                    if self.holds(node)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Node::Not(node) => self.holds(node).map(|holds| !holds),
            Node::Test(path, test) => {
                let (scope, meter) = (self.scope, self.meter);
                if path.has_any() {
                    return scope.any(path, meter, &mut |actual| self.passes(path, test, actual));
                }
                let found = scope.resolve(path, meter)?;
                self.passes(path, test, found.as_deref().unwrap_or(&Value::Null))
            }
        }
    }

    fn passes(&mut self, path: &Path, test: &Test, actual: &Value) -> Result<bool, FuelExhausted> {
        match test {
            Test::Exists => Ok(!actual.is_null()),
            Test::In(values) => self.has(values, actual),
            Test::Other(op, other) => {
                let (scope, meter) = (self.scope, self.meter);
                scope.any(other, meter, &mut |value| self.compare(path, *op, actual, value))
            }
            Test::Regex(pattern) => match actual {
                Value::String(subject) => pattern.is_match(subject, self.meter),
                other => self.warn(path, "regex", other, "text"),
            },
            Test::Compare(op, value) => self.compare(path, *op, actual, value),
        }
    }

    fn compare(&mut self, path: &Path, op: Op, actual: &Value, value: &Value) -> Result<bool, FuelExhausted> {
        match (op, value) {
            (Op::Eq, value) => equal_metered(actual, value, self.meter),
            (Op::Ne, value) => equal_metered(actual, value, self.meter).map(|equal| !equal),
            (Op::Contains, value) => self.contains(path, actual, value),
            (Op::In, Value::Array(values)) => self.has(values, actual),
            // The other path may not be set yet.
            (Op::In, Value::Null) => Ok(false),
            (Op::In, value) => self.warn(path, "in", actual, kind(value)),
            (op, value) => {
                let Some(order) = self.order(actual, value)? else {
                    return self.warn(path, op.as_str(), actual, kind(value));
                };
                Ok(match op {
                    Op::Gt => order == Ordering::Greater,
                    Op::Gte => order != Ordering::Less,
                    Op::Lt => order == Ordering::Less,
                    Op::Lte => order != Ordering::Greater,
                    // Decided by the arms above, or parsed as another kind of test.
                    Op::Eq | Op::Ne | Op::In | Op::Contains | Op::Regex | Op::Exists => false,
                })
            }
        }
    }

    fn has(&self, values: &[Value], wanted: &Value) -> Result<bool, FuelExhausted> {
        for value in values {
            if equal_metered(value, wanted, self.meter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares numbers by value and texts by code points; other values have no order.
    fn order(&self, a: &Value, b: &Value) -> Result<Option<Ordering>, FuelExhausted> {
        Ok(match (a, b) {
            (Value::Number(a), Value::Number(b)) => Some(compare_numbers(a, b)),
            (Value::String(a), Value::String(b)) => {
                self.meter.charge_each(a.len().min(b.len()), BYTE)?;
                Some(a.cmp(b))
            }
            _ => None,
        })
    }

    fn contains(&mut self, path: &Path, actual: &Value, part: &Value) -> Result<bool, FuelExhausted> {
        match (actual, part) {
            (Value::Array(items), part) => self.has(items, part),
            (Value::String(text), Value::String(part)) => {
                // The search is linear in both.
                self.meter.charge_each(text.len(), BYTE)?;
                self.meter.charge_each(part.len(), BYTE)?;
                Ok(text.contains(part.as_str()))
            }
            (Value::Object(fields), Value::String(key)) => {
                self.meter.charge(LOOKUP)?;
                self.meter.charge_each(key.len(), BYTE)?;
                Ok(fields.contains_key(key))
            }
            // A null value contains nothing, without a warning: it may not be set yet.
            (Value::Null, _) => Ok(false),
            (Value::String(_) | Value::Object(_), part) => self.warn(path, "contains", actual, kind(part)),
            (actual, _) => self.warn(path, "contains", actual, "text, a list or an object"),
        }
    }

    /// Adds a warning, and returns false for the comparison.
    fn warn(&mut self, path: &Path, op: &str, actual: &Value, wanted: &str) -> Result<bool, FuelExhausted> {
        if self.warnings.len() >= MAX_WARNINGS {
            return Ok(false);
        }
        // The text is written, and compared with the existing warnings.
        self.meter.charge(2 * VALUE)?;
        self.meter.charge_each(path.as_str().len(), BYTE)?;
        let path = excerpt_up_to(path.as_str(), 200);
        let warning = match op {
            "regex" => format!("`regex` is false: `{path}` is {}, not {wanted}", kind(actual)),
            "contains" if matches!(actual, Value::String(_) | Value::Object(_)) => {
                format!("`contains` is false: `{path}` is {}, which cannot contain {wanted}", kind(actual))
            }
            "contains" => format!("`contains` is false: `{path}` is {}, not {wanted}", kind(actual)),
            "in" => format!("`in` is false: it takes a list, not {wanted}"),
            op => format!("`{op}` is false: `{path}` is {}, which has no order with {wanted}", kind(actual)),
        };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
        Ok(false)
    }
}
