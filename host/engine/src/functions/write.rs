//! JSON, made of values of WIT types.

use graph_core::node::{Category, Failure};
use graph_core::work::{Exhausted, Meter, rates};
use serde_json::{Map, Number, Value, json};
use wasmtime::component::{Type, Val};

use super::{ERR, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, can_be_null};
use crate::call::Classification;
use crate::convert::{Budget, shortened};

/// The answer of a function: its result, or the failure that its error stands for. Each value is charged before it is written, with its
/// names.
pub(super) fn answer(
    value: Option<Val>,
    ty: Option<&Type>,
    limit: u64,
    meter: &Meter,
) -> (Classification, Result<Value, Failure>) {
    let mut writer = Writer { budget: Budget::new(limit), meter };
    let written = match (value, ty) {
        (Some(Val::Result(value)), Some(Type::Result(ty))) => match value {
            Ok(value) => writer.payload(value.as_deref(), ty.ok().as_ref()).map(Ok),
            Err(error) => writer.failure(error.as_deref(), ty.err().as_ref()).map(Err),
        },
        (value, ty) => writer.payload(value.as_ref(), ty).map(Ok),
    };
    match written {
        Ok(answer) => (Classification::Returned, answer),
        Err(failure) => (Classification::InvalidResult, Err(failure)),
    }
}

struct Writer<'m> {
    budget: Budget,
    meter: &'m Meter,
}

impl Writer<'_> {
    fn charge(&self, fuel: u64) -> Result<(), Failure> {
        self.meter.charge(fuel).map_err(too_costly)
    }

    fn payload(&mut self, value: Option<&Val>, ty: Option<&Type>) -> Result<Value, Failure> {
        match (value, ty) {
            (Some(value), Some(ty)) => self.value(value, ty),
            _ => Ok(Value::Null),
        }
    }

    /// JSON of a value. Each value counts for at least one byte, so that a list of empty ones is bounded as well.
    fn value(&mut self, value: &Val, ty: &Type) -> Result<Value, Failure> {
        let size = match value {
            Val::String(text) | Val::Enum(text) | Val::Variant(text, _) => text.len().saturating_add(2),
            Val::U64(_) | Val::S64(_) | Val::Float32(_) | Val::Float64(_) => 8,
            _ => 1,
        };
        self.budget.spend(size)?;
        self.charge(rates::VALUE.saturating_add(size as u64))?;
        Ok(match (value, ty) {
            (Val::Bool(value), _) => Value::from(*value),
            (Val::S8(value), _) => Value::from(*value),
            (Val::U8(value), _) => Value::from(*value),
            (Val::S16(value), _) => Value::from(*value),
            (Val::U16(value), _) => Value::from(*value),
            (Val::S32(value), _) => Value::from(*value),
            (Val::U32(value), _) => Value::from(*value),
            (Val::S64(value), _) => Value::from(*value),
            (Val::U64(value), _) => Value::from(*value),
            (Val::Float32(value), _) => number(f64::from(*value)),
            (Val::Float64(value), _) => number(*value),
            (Val::Char(value), _) => Value::from(value.to_string()),
            (Val::String(text) | Val::Enum(text), _) => Value::from(text.as_str()),
            (Val::List(values), Type::List(list)) => self.elements(values, &list.ty())?,
            (Val::FixedLengthList(values), Type::FixedLengthList(list)) => {
                self.elements(values, &list.ty())?
            }
            (Val::Tuple(values), Type::Tuple(tuple)) => {
                let each = values.iter().zip(tuple.types()).map(|(value, ty)| self.value(value, &ty));
                Value::Array(each.collect::<Result<_, _>>()?)
            }
            (Val::Record(fields), Type::Record(record)) => {
                let mut members = Map::new();
                for ((name, value), field) in fields.iter().zip(record.fields()) {
                    self.budget.spend(name.len().saturating_add(3))?;
                    self.charge(rates::LOOKUP.saturating_add(name.len() as u64))?;
                    members.insert(name.clone(), self.value(value, &field.ty)?);
                }
                Value::Object(members)
            }
            (Val::Variant(name, None), Type::Variant(_)) => Value::from(name.as_str()),
            (Val::Variant(name, Some(payload)), Type::Variant(variant)) => {
                let mut cases = variant.cases();
                let case = loop {
                    self.charge(rates::SORT_STEP)?;
                    match cases.next() {
                        Some(case) if case.name != name => {}
                        found => break found,
                    }
                };
                let ty = case.and_then(|case| case.ty);
                member(name, self.payload(Some(payload), ty.as_ref())?)
            }
            (Val::Flags(names), _) => {
                for name in names {
                    self.budget.spend(name.len().saturating_add(3))?;
                    self.charge(rates::VALUE.saturating_add(name.len() as u64))?;
                }
                json!(names)
            }
            (Val::Option(None), _) => Value::Null,
            (Val::Option(Some(inner)), Type::Option(option)) => {
                let ty = option.ty();
                let written = self.value(inner, &ty)?;
                if can_be_null(&ty) { member(SOME, written) } else { written }
            }
            (Val::Result(Ok(inner)), Type::Result(result)) => {
                member(OK, self.payload(inner.as_deref(), result.ok().as_ref())?)
            }
            (Val::Result(Err(inner)), Type::Result(result)) => {
                member(ERR, self.payload(inner.as_deref(), result.err().as_ref())?)
            }
            _ => return Err(Failure::new(Category::Internal, "its result has a type that has no JSON")),
        })
    }

    fn elements(&mut self, values: &[Val], ty: &Type) -> Result<Value, Failure> {
        Ok(Value::Array(values.iter().map(|value| self.value(value, ty)).collect::<Result<_, _>>()?))
    }

    /// The failure that an error stands for. Its category is a case of that name, or a field `category`; its message is a text, the value of
    /// the case, or a field `message`. What else there is are the details.
    fn failure(&mut self, error: Option<&Val>, ty: Option<&Type>) -> Result<Failure, Failure> {
        let details = self.payload(error, ty)?;
        let (category, message) = match &details {
            Value::String(text) if matches!(error, Some(Val::String(_))) => (None, Some(text.as_str())),
            Value::String(case) => (Category::parse(case), None),
            Value::Object(members) if matches!(error, Some(Val::Variant(..))) => {
                let case = members.iter().next();
                (case.and_then(|(case, _)| Category::parse(case)), case.and_then(|(_, value)| value.as_str()))
            }
            Value::Object(members) => {
                let text = |key: &str| members.get(key).and_then(Value::as_str);
                (text("category").and_then(Category::parse), text("message"))
            }
            _ => (None, None),
        };
        let message = match message {
            Some(message) => shortened(message),
            None if details.is_null() => "it failed and does not say why".to_owned(),
            None => format!("it failed with {}", shortened(&details.to_string())),
        };
        let is_said = matches!(error, Some(Val::String(_)) | None);
        Ok(Failure {
            category: category.unwrap_or(Category::Permanent),
            message,
            details: (!is_said).then_some(details),
            within: None,
        })
    }
}

/// The failure of an answer that costs more to be written than a step of the host's work may.
fn too_costly(exhausted: Exhausted) -> Failure {
    Failure::new(Category::Limit, format!("what it answered cannot be written as JSON: {exhausted}"))
}

fn number(value: f64) -> Value {
    if value.is_nan() {
        Value::from(NOT_A_NUMBER)
    } else if value.is_infinite() {
        Value::from(if value > 0.0 { INFINITY } else { NEGATIVE_INFINITY })
    } else if value == 0.0 && value.is_sign_negative() {
        Value::from(NEGATIVE_ZERO)
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

fn member(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}
