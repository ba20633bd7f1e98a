//! Filling templates in.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::expression::{Alternative, Expression, Pipe, Term};
use super::value::{Node, Part, ValueTemplate};
use super::{Path, Scope};
use crate::graph::TemplateMode;
use crate::json::{self, MAX_DEPTH, parse_strict, write_canonical};

/// How much one evaluation may copy from the scope, in bytes of JSON text, roughly: without a bound, a state that is
/// named twice in a loop would double with every step.
pub const MAX_SIZE: usize = 64 << 20;

/// A template cannot be filled in; the node that has it fails with `invalid-input`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Under `templates: strict`, a path leads nowhere.
    #[error(
        "`${{{expression}}}`: there is nothing at `{path}`, and `templates: strict` makes that an error; write `${{{path} || null}}` where it may be missing"
    )]
    Missing {
        /// The path.
        path: String,
        /// The expression it stands in.
        expression: String,
    },
    /// A pipe was given a value that it does not take.
    #[error("`${{{expression}}}`: `{pipe}` takes {takes}, not {given}")]
    Pipe {
        /// The pipe's name.
        pipe: &'static str,
        /// What it takes.
        takes: &'static str,
        /// What it was given.
        given: String,
        /// The expression it stands in.
        expression: String,
    },
    /// More than [`MAX_SIZE`] would be copied.
    #[error("the value is larger than {} MiB", MAX_SIZE >> 20)]
    TooLarge,
    /// The value would nest deeper than [`MAX_DEPTH`].
    #[error("the value nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl ValueTemplate {
    /// Fills the templates in. A string that is one expression takes the value with its type; inside text, strings
    /// stand as they are, null and missing values as nothing, the rest as canonical JSON. What is filled in is never
    /// looked at for templates again.
    ///
    /// Each path that leads nowhere is null and added to `missing`, once; in strict mode it is an error. Both leave
    /// out paths with an alternative (`||`), which may be missing.
    pub fn evaluate(
        &self,
        scope: &Scope<'_>,
        mode: TemplateMode,
        missing: &mut Vec<String>,
    ) -> Result<Value, TemplateError> {
        self.evaluate_borrowed(scope, mode, missing).map(Cow::into_owned)
    }

    /// As [`Self::evaluate`], but a literal and a value that is named whole are not copied.
    pub fn evaluate_borrowed<'t, 'a: 't>(
        &'t self,
        scope: &Scope<'a>,
        mode: TemplateMode,
        missing: &mut Vec<String>,
    ) -> Result<Cow<'t, Value>, TemplateError> {
        let mut evaluation = Evaluation { scope, mode, missing, left: MAX_SIZE };
        match &self.root {
            Node::Literal(value) => Ok(Cow::Borrowed(value)),
            Node::Expression(expression) => {
                let value = evaluation.expression(expression)?;
                evaluation.admit(&value, 0)?;
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
    left: usize,
}

impl<'t, 'a: 't> Evaluation<'_, 'a> {
    fn node(&mut self, node: &'t Node, level: usize) -> Result<Value, TemplateError> {
        if level > MAX_DEPTH {
            return Err(TemplateError::TooDeep);
        }
        match node {
            Node::Literal(value) => Ok(Value::clone(value)),
            Node::Expression(expression) => {
                let value = self.expression(expression)?;
                self.admit(&value, level)?;
                Ok(value.into_owned())
            }
            Node::Text(parts) => self.text(parts).map(Value::String),
            Node::List(items) => items
                .iter()
                .map(|item| self.node(item, level + 1))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Node::Object(fields) => fields
                .iter()
                .map(|(key, field)| Ok((key.clone(), self.node(field, level + 1)?)))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object),
        }
    }

    fn text(&mut self, parts: &'t [Part]) -> Result<String, TemplateError> {
        let mut out = String::new();
        for part in parts {
            let before = out.len();
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Expression(expression) => match self.expression(expression)?.as_ref() {
                    Value::Null => {}
                    Value::String(text) => {
                        self.spend(text.len())?;
                        out.push_str(text);
                    }
                    other => {
                        write_canonical(other, &mut out);
                        self.spend(out.len() - before)?;
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
            // Null goes on to the next alternative before any pipe sees it.
            let Some(value) = self.find(&alternative.term).filter(|value| !value.is_null()) else { continue };
            let value = pipe_all(value, alternative, expression)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        let value = self.find(&last.term).unwrap_or(Cow::Owned(Value::Null));
        pipe_all(value, last, expression)
    }

    /// The value of an expression without alternatives.
    fn only(
        &mut self,
        only: &'t Alternative,
        expression: &'t Expression,
    ) -> Result<Cow<'t, Value>, TemplateError> {
        let value = match (self.find(&only.term), &only.term) {
            (Some(value), _) => value,
            (None, Term::Path(path)) => {
                self.miss(path, expression)?;
                Cow::Owned(Value::Null)
            }
            (None, Term::Literal(_)) => Cow::Owned(Value::Null),
        };
        pipe_all(value, only, expression)
    }

    fn find(&self, term: &'t Term) -> Option<Cow<'t, Value>> {
        match term {
            Term::Path(path) => self.scope.resolve(path),
            Term::Literal(value) => Some(Cow::Borrowed(value)),
        }
    }

    fn miss(&mut self, path: &Path, expression: &Expression) -> Result<(), TemplateError> {
        if self.mode == TemplateMode::Strict {
            let (path, expression) = (path.to_string(), expression.text.to_string());
            return Err(TemplateError::Missing { path, expression });
        }
        if !self.missing.iter().any(|known| known == path.as_str()) {
            self.missing.push(path.to_string());
        }
        Ok(())
    }

    /// Counts a value that is about to be copied to a level of the result.
    fn admit(&mut self, value: &Value, level: usize) -> Result<(), TemplateError> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.spend(4),
            Value::String(text) => self.spend(text.len() + 2),
            _ if level >= MAX_DEPTH => Err(TemplateError::TooDeep),
            Value::Array(items) => {
                self.spend(2)?;
                items.iter().try_for_each(|item| self.admit(item, level + 1))
            }
            Value::Object(fields) => {
                self.spend(2)?;
                fields.iter().try_for_each(|(key, field)| {
                    self.spend(key.len() + 4)?;
                    self.admit(field, level + 1)
                })
            }
        }
    }

    fn spend(&mut self, size: usize) -> Result<(), TemplateError> {
        self.left = self.left.checked_sub(size).ok_or(TemplateError::TooLarge)?;
        Ok(())
    }
}

fn pipe_all<'a>(
    value: Cow<'a, Value>,
    alternative: &Alternative,
    expression: &Expression,
) -> Result<Cow<'a, Value>, TemplateError> {
    alternative.pipes.iter().try_fold(value, |value, pipe| pipe_one(*pipe, value, expression))
}

/// Null goes through every pipe but `json` as it is.
fn pipe_one<'a>(
    pipe: Pipe,
    value: Cow<'a, Value>,
    expression: &Expression,
) -> Result<Cow<'a, Value>, TemplateError> {
    let refuse = |takes, given: String| {
        Err(TemplateError::Pipe {
            pipe: pipe.as_str(),
            takes,
            given,
            expression: expression.text.to_string(),
        })
    };
    let piped = match (pipe, value.as_ref()) {
        (Pipe::Json, value) => Value::String(json::canonical_string(value)),
        (_, Value::Null) => return Ok(value),
        (Pipe::FromJson, Value::String(text)) => match parse_strict(text, MAX_DEPTH) {
            Ok(value) => value,
            Err(error) => return refuse("JSON text", format!("this text: {error}")),
        },
        (Pipe::Length, Value::String(text)) => text.chars().count().into(),
        (Pipe::Length, Value::Array(items)) => items.len().into(),
        (Pipe::Length, Value::Object(fields)) => fields.len().into(),
        (Pipe::Keys, Value::Object(fields)) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            Value::Array(keys.into_iter().cloned().map(Value::String).collect())
        }
        (Pipe::Upper, Value::String(text)) => Value::String(text.to_uppercase()),
        (Pipe::Lower, Value::String(text)) => Value::String(text.to_lowercase()),
        (Pipe::Length, other) => return refuse("text, a list or an object", kind(other).to_owned()),
        (Pipe::Keys, other) => return refuse("an object", kind(other).to_owned()),
        (Pipe::FromJson, other) => return refuse("JSON text", kind(other).to_owned()),
        (Pipe::Upper | Pipe::Lower, other) => return refuse("text", kind(other).to_owned()),
    };
    Ok(Cow::Owned(piped))
}

/// What a value is, in a sentence.
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
