//! Evaluation of templates.

mod pipes;
pub(super) mod time;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::expression::{Alternative, Expression, Term};
use super::value::{Node, Part, ValueTemplate};
use super::{Path, Scope};
use crate::diagnostic::excerpt_up_to;
use crate::json::{MAX_DEPTH, canonical_length, write_canonical};
use crate::policy::TemplateMode;
use crate::work::rates::{BYTE, LOOKUP, PASS};
use crate::work::size::{self, VALUE};
use crate::work::{FuelExhausted, Meter};

/// Largest number of reported missing paths. Further ones are null and not reported.
pub const MAX_MISSING: usize = 64;

/// The reason why a template cannot be evaluated; the node with the template fails with `invalid-input`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum TemplateError {
    /// A path has no value under `templates: strict`.
    #[error(
        "`${{{expression}}}`: there is nothing at `{path}`, and `templates: strict` makes that an error; write `${{{path} || null}}` where it may be missing"
    )]
    Missing {
        path: String,
        /// The expression that contains it.
        expression: String,
    },
    /// A pipe does not accept the value.
    #[error("`${{{expression}}}`: `{pipe}` takes {takes}, not {given}")]
    Pipe {
        /// The name of the pipe that refused the value.
        pipe: &'static str,
        /// The kinds of value that the pipe accepts.
        takes: &'static str,
        /// The kind of the value.
        given: String,
        /// The expression that contains it.
        expression: String,
    },
    /// The value would nest deeper than [`MAX_DEPTH`].
    #[error("the value nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The fuel is used up.
    #[error("the template is not filled in: {0}")]
    Exhausted(#[from] FuelExhausted),
}

impl ValueTemplate {
    /// Evaluates the templates. A string that is one expression gets the value with its type; inside text, strings are inserted unchanged,
    /// null and missing values as nothing, others as canonical JSON. Inserted text is never searched for templates again.
    ///
    /// Each missing path is null and added to `missing`, once, while that has fewer than [`MAX_MISSING`]; in strict mode it is an error.
    /// Both ignore paths with an alternative (`||`), which may be missing.
    ///
    /// Charges the [size](size::of) of the result, of each value between two pipes and of each created text, and the costs of lookups
    /// and pipes, in advance. After an error, the work until then is charged.
    pub fn evaluate(
        &self,
        scope: &Scope<'_>,
        mode: TemplateMode,
        missing: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, TemplateError> {
        Evaluation { scope, mode, missing, meter }.node(&self.root, 0)
    }

    /// Like [`Self::evaluate`], without copying literals and whole values or charging copies: a literal costs nothing, and a whole value
    /// costs the lookups and [`PASS`] for each value in it, as its nesting depth is checked. A caller that copies a [`Cow::Borrowed`] value
    /// charges its size, as with [`size::copy`].
    pub fn evaluate_borrowed<'t, 'a: 't>(
        &'t self,
        scope: &Scope<'a>,
        mode: TemplateMode,
        missing: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Cow<'t, Value>, TemplateError> {
        let mut evaluation = Evaluation { scope, mode, missing, meter };
        match &self.root {
            Node::Literal(value) => Ok(Cow::Borrowed(value)),
            Node::Expression(expression) => {
                let value = evaluation.expression(expression)?;
                evaluation.check_depth(&value, 0)?;
                Ok(value)
            }
            node => evaluation.node(node, 0).map(Cow::Owned),
        }
    }
}

struct Evaluation<'e, 'a> {
    scope: &'e Scope<'a>,
    mode: TemplateMode,
    missing: &'e mut Vec<String>,
    meter: &'e Meter,
}

impl<'t, 'a: 't> Evaluation<'_, 'a> {
    fn node(&mut self, node: &'t Node, level: usize) -> Result<Value, TemplateError> {
        if level > MAX_DEPTH {
            return Err(TemplateError::TooDeep);
        }
        match node {
            Node::Literal(value) => Ok(size::copy(value, self.meter)?),
            Node::Expression(expression) => match self.expression(expression)? {
                Cow::Borrowed(value) => {
                    self.admit(value, level)?;
                    Ok(value.clone())
                }
                Cow::Owned(value) => {
                    self.check_depth(&value, level)?;
                    Ok(value)
                }
            },
            Node::Text(parts) => self.text(parts).map(Value::String),
            Node::List(items) => {
                self.meter.charge(VALUE)?;
                items
                    .iter()
                    .map(|item| self.node(item, level + 1))
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
            Node::Object(fields) => {
                self.meter.charge(size::of_map(fields.len()))?;
                fields
                    .iter()
                    .map(|(key, field)| {
                        self.meter.charge_each(key.len(), BYTE)?;
                        Ok((key.clone(), self.node(field, level + 1)?))
                    })
                    .collect::<Result<Map<_, _>, _>>()
                    .map(Value::Object)
            }
        }
    }

    fn text(&mut self, parts: &'t [Part]) -> Result<String, TemplateError> {
        self.meter.charge(VALUE)?;
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => {
                    self.meter.charge_each(text.len(), BYTE)?;
                    out.push_str(text);
                }
                Part::Expression(expression) => match self.expression(expression)?.as_ref() {
                    Value::Null => {}
                    Value::String(text) => {
                        self.meter.charge_each(text.len(), BYTE)?;
                        out.push_str(text);
                    }
                    other => {
                        out.reserve(canonical_length(other, self.meter)?);
                        write_canonical(other, &mut out);
                    }
                },
            }
        }
        Ok(out)
    }

    fn expression(&mut self, expression: &'t Expression) -> Result<Cow<'t, Value>, TemplateError> {
        let (last, others) = match expression.alternatives.split_last() {
            Some((last, [])) => return self.only(last, expression),
            Some(split) => split,
            None => return Ok(Cow::Owned(Value::Null)),
        };
        for alternative in others {
            // A null skips the alternative's pipes and continues with the next alternative.
            let Some(value) = self.find(&alternative.term)?.filter(|value| !value.is_null()) else {
                continue;
            };
            let value = self.pipe_all(value, alternative, expression)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        let value = self.find(&last.term)?.unwrap_or(Cow::Owned(Value::Null));
        self.pipe_all(value, last, expression)
    }

    /// Evaluates an expression without alternatives.
    fn only(
        &mut self,
        only: &'t Alternative,
        expression: &'t Expression,
    ) -> Result<Cow<'t, Value>, TemplateError> {
        let value = match (self.find(&only.term)?, &only.term) {
            (Some(value), _) => value,
            (None, Term::Path(path)) => {
                self.miss(path, expression)?;
                Cow::Owned(Value::Null)
            }
            (None, Term::Literal(_)) => Cow::Owned(Value::Null),
        };
        self.pipe_all(value, only, expression)
    }

    fn find(&self, term: &'t Term) -> Result<Option<Cow<'t, Value>>, FuelExhausted> {
        match term {
            Term::Path(path) => self.scope.resolve(path, self.meter),
            Term::Literal(value) => self.meter.charge(LOOKUP).map(|()| Some(Cow::Borrowed(value))),
        }
    }

    fn miss(&mut self, path: &Path, expression: &Expression) -> Result<(), TemplateError> {
        // The path is compared with the other missing ones, and copied.
        self.meter.charge(VALUE)?;
        self.meter.charge_each(path.as_str().len(), BYTE)?;
        if self.mode == TemplateMode::Strict {
            let (path, expression) = (shown(path.as_str()), shown(&expression.text));
            return Err(TemplateError::Missing { path, expression });
        }
        if self.missing.len() < MAX_MISSING {
            let path = shown(path.as_str());
            if !self.missing.contains(&path) {
                self.missing.push(path);
            }
        }
        Ok(())
    }

    /// Charges a value that is about to be copied to a level of the result, like [`size::charge`].
    fn admit(&self, value: &Value, level: usize) -> Result<(), TemplateError> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(self.meter.charge(VALUE)?),
            Value::String(text) => Ok(self.meter.charge(VALUE + text.len() as u64)?),
            _ if level >= MAX_DEPTH => Err(TemplateError::TooDeep),
            Value::Array(items) => {
                self.meter.charge(VALUE)?;
                items.iter().try_for_each(|item| self.admit(item, level + 1))
            }
            Value::Object(fields) => {
                self.meter.charge(size::of_map(fields.len()))?;
                fields.iter().try_for_each(|(key, field)| {
                    self.meter.charge(key.len() as u64)?;
                    self.admit(field, level + 1)
                })
            }
        }
    }

    /// Checks the nesting of a value that is not copied to a level of the result, since it is borrowed or already created.
    fn check_depth(&self, value: &Value, level: usize) -> Result<(), TemplateError> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
            _ if level >= MAX_DEPTH => Err(TemplateError::TooDeep),
            Value::Array(items) => {
                self.meter.charge_each(items.len(), PASS)?;
                items.iter().try_for_each(|item| self.check_depth(item, level + 1))
            }
            Value::Object(fields) => {
                self.meter.charge_each(fields.len(), PASS)?;
                fields.values().try_for_each(|field| self.check_depth(field, level + 1))
            }
        }
    }

    fn pipe_all(
        &self,
        value: Cow<'t, Value>,
        alternative: &Alternative,
        expression: &Expression,
    ) -> Result<Cow<'t, Value>, TemplateError> {
        alternative
            .pipes
            .iter()
            .try_fold(value, |value, call| pipes::apply(call, value, expression, self.meter))
    }
}

/// Returns a part of a template for a message, shortened.
fn shown(text: &str) -> String {
    excerpt_up_to(text, 200)
}

/// Returns the type of a value, for a sentence.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
