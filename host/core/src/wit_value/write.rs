//! Creates JSON from values.

use serde_json::{Map, Number, Value, json};

use super::{
    ERR, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, WitType, WitValue, can_be_null,
};
use crate::node::{Category, Failure, OutputBudget, shortened};
use crate::work::{FuelExhausted, Meter, rates};

/// Creates the answer of a function: its result, or the failure that its error represents; the outer error is about an answer that cannot
/// be written. Each value is charged in advance, with its names.
pub(super) fn answer(
    value: Option<&WitValue>,
    ty: Option<&WitType>,
    limit: u64,
    meter: &Meter,
) -> Result<Result<Value, Failure>, Failure> {
    let mut writer = Writer { budget: OutputBudget::new(limit), meter };
    match (value, ty) {
        (Some(WitValue::Result(value)), Some(WitType::Result(ok, err))) => match value {
            Ok(value) => writer.payload(value.as_deref(), ok.as_deref()).map(Ok),
            Err(error) => writer.failure(error.as_deref(), err.as_deref()).map(Err),
        },
        (value, ty) => writer.payload(value, ty).map(Ok),
    }
}

struct Writer<'m> {
    budget: OutputBudget,
    meter: &'m Meter,
}

impl Writer<'_> {
    fn charge(&self, fuel: u64) -> Result<(), Failure> {
        self.meter.charge(fuel).map_err(too_costly)
    }

    fn payload(&mut self, value: Option<&WitValue>, ty: Option<&WitType>) -> Result<Value, Failure> {
        match (value, ty) {
            (Some(value), Some(ty)) => self.value(value, ty),
            _ => Ok(Value::Null),
        }
    }

    /// Returns the JSON of a value. Each value counts for at least one byte, so that a list of empty ones is bounded as well.
    fn value(&mut self, value: &WitValue, ty: &WitType) -> Result<Value, Failure> {
        let size = match value {
            WitValue::String(text) | WitValue::Enum(text) | WitValue::Variant(text, _) => {
                text.len().saturating_add(2)
            }
            WitValue::U64(_) | WitValue::S64(_) | WitValue::F32(_) | WitValue::F64(_) => 8,
            _ => 1,
        };
        self.budget.spend(size)?;
        self.charge(rates::VALUE.saturating_add(size as u64))?;
        Ok(match (value, ty) {
            (WitValue::Bool(value), _) => Value::from(*value),
            (WitValue::S8(value), _) => Value::from(*value),
            (WitValue::U8(value), _) => Value::from(*value),
            (WitValue::S16(value), _) => Value::from(*value),
            (WitValue::U16(value), _) => Value::from(*value),
            (WitValue::S32(value), _) => Value::from(*value),
            (WitValue::U32(value), _) => Value::from(*value),
            (WitValue::S64(value), _) => Value::from(*value),
            (WitValue::U64(value), _) => Value::from(*value),
            (WitValue::F32(value), _) => number(f64::from(*value)),
            (WitValue::F64(value), _) => number(*value),
            (WitValue::Char(value), _) => Value::from(value.to_string()),
            (WitValue::String(text) | WitValue::Enum(text), _) => Value::from(text.as_str()),
            (WitValue::List(values), WitType::List(element)) => self.elements(values, element)?,
            (WitValue::FixedLengthList(values), WitType::FixedLengthList(element, _)) => {
                self.elements(values, element)?
            }
            (WitValue::Tuple(values), WitType::Tuple(types)) => {
                let each = values.iter().zip(types).map(|(value, ty)| self.value(value, ty));
                Value::Array(each.collect::<Result<_, _>>()?)
            }
            (WitValue::Record(fields), WitType::Record(types)) => {
                let mut members = Map::new();
                for ((name, value), (_, ty)) in fields.iter().zip(types) {
                    self.budget.spend(name.len().saturating_add(3))?;
                    self.charge(rates::LOOKUP.saturating_add(name.len() as u64))?;
                    members.insert(name.clone(), self.value(value, ty)?);
                }
                Value::Object(members)
            }
            (WitValue::Variant(name, None), WitType::Variant(_)) => Value::from(name.as_str()),
            (WitValue::Variant(name, Some(payload)), WitType::Variant(cases)) => {
                let mut cases = cases.iter();
                let case = loop {
                    self.charge(rates::SORT_STEP)?;
                    match cases.next() {
                        Some((known, _)) if known != name => {}
                        found => break found,
                    }
                };
                let ty = case.and_then(|(_, ty)| ty.as_ref());
                member(name, self.payload(Some(payload), ty)?)
            }
            (WitValue::Flags(names), _) => {
                for name in names {
                    self.budget.spend(name.len().saturating_add(3))?;
                    self.charge(rates::VALUE.saturating_add(name.len() as u64))?;
                }
                json!(names)
            }
            (WitValue::Option(None), _) => Value::Null,
            (WitValue::Option(Some(inner)), WitType::Option(ty)) => {
                let written = self.value(inner, ty)?;
                if can_be_null(ty) { member(SOME, written) } else { written }
            }
            (WitValue::Result(Ok(inner)), WitType::Result(ok, _)) => {
                member(OK, self.payload(inner.as_deref(), ok.as_deref())?)
            }
            (WitValue::Result(Err(inner)), WitType::Result(_, err)) => {
                member(ERR, self.payload(inner.as_deref(), err.as_deref())?)
            }
            _ => return Err(Failure::new(Category::Internal, "its result has a type that has no JSON")),
        })
    }

    fn elements(&mut self, values: &[WitValue], ty: &WitType) -> Result<Value, Failure> {
        Ok(Value::Array(values.iter().map(|value| self.value(value, ty)).collect::<Result<_, _>>()?))
    }

    /// Converts an error to a failure. The category is a case of that name, or a field `category`; the message is a text, the value of the
    /// case, or a field `message`. The rest becomes the details.
    fn failure(&mut self, error: Option<&WitValue>, ty: Option<&WitType>) -> Result<Failure, Failure> {
        let details = self.payload(error, ty)?;
        let (category, message) = match &details {
            Value::String(text) if matches!(error, Some(WitValue::String(_))) => (None, Some(text.as_str())),
            Value::String(case) => (Category::parse(case), None),
            Value::Object(members) if matches!(error, Some(WitValue::Variant(..))) => {
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
        let is_said = matches!(error, Some(WitValue::String(_)) | None);
        Ok(Failure {
            category: category.unwrap_or(Category::Permanent),
            message,
            details: (!is_said).then_some(details),
            within: None,
        })
    }
}

/// Creates the failure of an answer whose conversion exceeds the limit of one step of the host's work.
fn too_costly(exhausted: FuelExhausted) -> Failure {
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
