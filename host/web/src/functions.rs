//! Calls of functions that components export, with JSON params and answers, checked and metered as in the native host. A host of
//! components converts the values given here to its own.

use graph_core::json::{self, TreeLimit};
use graph_core::node::{Category, Failure, Outcome};
use graph_core::wit_value::{FunctionSignature, WitType, WitValue, charged};
use graph_core::work::Meter;
use serde_json::{Value, json};

use crate::{Problem, read};

/// A call of a function, with checked arguments.
#[derive(Debug)]
pub struct FunctionCall {
    signature: FunctionSignature,
    arguments: Vec<WitValue>,
    /// Fuel that is left for the conversion of the answer.
    left: u64,
    /// Fuel that was charged for the arguments.
    work: u64,
}

impl FunctionCall {
    /// Opens a call from the types of the function and its params, both as JSON. The error is a report without fuel: nothing is executed.
    pub fn open(types: &str, params: &str) -> Result<Self, String> {
        let internal = |problem: Problem| report(Err(Failure::new(Category::Internal, problem.message)), 0);
        let signature: FunctionSignature =
            read::document("types of the function", types).map_err(internal)?;
        let params = read::value("params", params).map_err(internal)?;
        let meter = Meter::of_one_step();
        let arguments = signature.arguments(&params, &meter);
        let work = charged(meter.spent(), &params);
        match arguments {
            Ok(arguments) => Ok(Self { signature, arguments, left: meter.left(), work }),
            Err(failure) => Err(report(Err(failure), work)),
        }
    }

    /// Takes the arguments, as lossless JSON. A second call returns none.
    pub fn values(&mut self) -> String {
        let arguments = std::mem::take(&mut self.arguments);
        Value::Array(arguments.into_iter().map(written).collect()).to_string()
    }

    /// Returns the report of the call, without fuel. `given` is the function's return value as lossless JSON, `null` if it has none;
    /// `output` is the limit of the answer, in bytes.
    pub fn answer(&self, given: &str, output: u64) -> Result<String, Problem> {
        // The value comes from a host, whose memory bounds it.
        let given = json::read(given, TreeLimit::ANSWER)
            .map_err(|error| Problem::new("invalid_json", format!("the value cannot be read: {error}")))?;
        let value = match &self.signature.result {
            Some(ty) => Some(value(ty, given).ok_or_else(|| {
                Problem::new("invalid_json", "the value is not one of the type that the function gives")
            })?),
            None => None,
        };
        let meter = Meter::new(self.left);
        let answer = self.signature.answer(value, output, &meter).flatten();
        let work = charged(meter.spent(), answer.as_ref().unwrap_or(&Value::Null));
        Ok(report(answer, self.work.saturating_add(work)))
    }

    /// Returns the fuel of the host's work for the arguments, for a call that did not return.
    pub const fn work(&self) -> u64 {
        self.work
    }
}

fn report(answer: Result<Value, Failure>, work: u64) -> String {
    let mut report = match answer {
        Ok(value) => json!({ "outcome": Outcome::Result(value) }),
        Err(failure) => json!({ "failure": failure }),
    };
    if work > 0 {
        report["work"] = json!(work);
    }
    report.to_string()
}

/// Converts a value to lossless JSON: 64-bit integers and floating-point numbers are strings, records are lists of their fields in order,
/// options are lists, and results are lists of `ok` or `err` and the value.
fn written(value: WitValue) -> Value {
    let boxed = |value: Option<Box<WitValue>>| value.map_or(Value::Null, |value| written(*value));
    let all = |values: Vec<WitValue>| Value::Array(values.into_iter().map(written).collect());
    match value {
        WitValue::Bool(value) => value.into(),
        WitValue::S8(value) => value.into(),
        WitValue::U8(value) => value.into(),
        WitValue::S16(value) => value.into(),
        WitValue::U16(value) => value.into(),
        WitValue::S32(value) => value.into(),
        WitValue::U32(value) => value.into(),
        WitValue::S64(value) => value.to_string().into(),
        WitValue::U64(value) => value.to_string().into(),
        WitValue::F32(value) => float(f64::from(value)).into(),
        WitValue::F64(value) => float(value).into(),
        WitValue::Char(value) => value.to_string().into(),
        WitValue::String(text) | WitValue::Enum(text) => text.into(),
        WitValue::List(values) | WitValue::FixedLengthList(values) | WitValue::Tuple(values) => all(values),
        WitValue::Record(fields) => fields.into_iter().map(|(_, value)| written(value)).collect(),
        WitValue::Variant(case, payload) => json!([case, boxed(payload)]),
        WitValue::Flags(names) => names.into(),
        WitValue::Option(None) => json!([]),
        WitValue::Option(Some(value)) => json!([written(*value)]),
        WitValue::Result(Ok(value)) => json!(["ok", boxed(value)]),
        WitValue::Result(Err(value)) => json!(["err", boxed(value)]),
    }
}

/// Renders a floating-point number for JavaScript: `NaN`, `Infinity`, `-Infinity`, `-0` and all digits.
fn float(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:e}"),
    }
}

/// Converts lossless JSON to a value of a type; `None` if it is none.
fn value(ty: &WitType, given: Value) -> Option<WitValue> {
    let integer = |given: &Value| given.as_i64();
    let parsed = |given: &Value| given.as_str().map(str::to_owned);
    let boxed = |ty: &Option<Box<WitType>>, given: Value| match ty {
        Some(ty) => value(ty, given).map(|value| Some(Box::new(value))),
        None => given.is_null().then_some(None),
    };
    Some(match ty {
        WitType::Bool => WitValue::Bool(given.as_bool()?),
        WitType::S8 => WitValue::S8(integer(&given)?.try_into().ok()?),
        WitType::U8 => WitValue::U8(integer(&given)?.try_into().ok()?),
        WitType::S16 => WitValue::S16(integer(&given)?.try_into().ok()?),
        WitType::U16 => WitValue::U16(integer(&given)?.try_into().ok()?),
        WitType::S32 => WitValue::S32(integer(&given)?.try_into().ok()?),
        WitType::U32 => WitValue::U32(integer(&given)?.try_into().ok()?),
        WitType::S64 => WitValue::S64(parsed(&given)?.parse().ok()?),
        WitType::U64 => WitValue::U64(parsed(&given)?.parse().ok()?),
        WitType::F32 => {
            let double: f64 = parsed(&given)?.parse().ok()?;
            #[allow(clippy::cast_possible_truncation, reason = "it was a number of that type")]
            WitValue::F32(double as f32)
        }
        WitType::F64 => WitValue::F64(parsed(&given)?.parse().ok()?),
        WitType::Char => {
            let text = parsed(&given)?;
            let mut characters = text.chars();
            WitValue::Char(characters.next().filter(|_| characters.next().is_none())?)
        }
        WitType::String => WitValue::String(text(given)?),
        WitType::List(element) => WitValue::List(all(array(given)?, |given| value(element, given))?),
        WitType::FixedLengthList(element, count) => {
            let values = array(given)?;
            if values.len() != *count as usize {
                return None;
            }
            WitValue::FixedLengthList(all(values, |given| value(element, given))?)
        }
        WitType::Tuple(types) => WitValue::Tuple(each(types, array(given)?, |ty| ty)?),
        WitType::Record(fields) => {
            let values = each(fields, array(given)?, |(_, ty)| ty)?;
            WitValue::Record(fields.iter().map(|(name, _)| name.clone()).zip(values).collect())
        }
        WitType::Variant(cases) => {
            let (case, payload) = pair(given)?;
            let (_, ty) = cases.iter().find(|(known, _)| *known == case)?;
            let payload = match ty {
                Some(ty) => Some(Box::new(value(ty, payload)?)),
                None => None,
            };
            WitValue::Variant(case, payload)
        }
        WitType::Enum(cases) => {
            let case = text(given)?;
            WitValue::Enum(cases.contains(&case).then_some(case)?)
        }
        WitType::Flags(flags) => {
            let set = all(array(given)?, text)?;
            WitValue::Flags(flags.iter().filter(|flag| set.contains(flag)).cloned().collect())
        }
        WitType::Option(ty) => match <[Value; 1]>::try_from(array(given)?) {
            Ok([given]) => WitValue::Option(Some(Box::new(value(ty, given)?))),
            Err(none) => WitValue::Option(none.is_empty().then_some(None)?),
        },
        WitType::Result(ok, err) => match pair(given)? {
            (side, given) if side == "ok" => WitValue::Result(Ok(boxed(ok, given)?)),
            (side, given) if side == "err" => WitValue::Result(Err(boxed(err, given)?)),
            _ => return None,
        },
    })
}

fn text(given: Value) -> Option<String> {
    if let Value::String(text) = given { Some(text) } else { None }
}

fn array(given: Value) -> Option<Vec<Value>> {
    if let Value::Array(values) = given { Some(values) } else { None }
}

fn pair(given: Value) -> Option<(String, Value)> {
    let [name, value] = <[Value; 2]>::try_from(array(given)?).ok()?;
    Some((text(name)?, value))
}

fn all<T>(given: Vec<Value>, read: impl Fn(Value) -> Option<T>) -> Option<Vec<T>> {
    given.into_iter().map(read).collect()
}

/// Converts one value for each type; `None` if their numbers differ.
fn each<T>(types: &[T], given: Vec<Value>, of: impl Fn(&T) -> &WitType) -> Option<Vec<WitValue>> {
    if given.len() != types.len() {
        return None;
    }
    types.iter().zip(given).map(|(ty, given)| value(of(ty), given)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use graph_core::json;

    use super::*;

    /// Calls a function that returns its argument, by the type and the JSON of the value.
    fn echoed(ty: &str, given: &str) -> String {
        let types = format!(r#"{{"params": [["v", {ty}]], "result": {ty}}}"#);
        match FunctionCall::open(&types, &format!(r#"{{"v": {given}}}"#)) {
            Ok(mut call) => {
                let mut arguments: Vec<Value> = serde_json::from_str(&call.values()).unwrap();
                call.answer(&arguments.remove(0).to_string(), 1000).unwrap()
            }
            Err(refused) => refused,
        }
    }

    #[test]
    fn values_come_back_as_they_were() {
        let point = r#"{"record": [["x", "f64"], ["label", {"option": "string"}]]}"#;
        for (ty, given) in [
            (r#""u64""#, "18446744073709551615"),
            (r#""s64""#, "-9223372036854775808"),
            (r#""f64""#, "\"-0\""),
            (r#""f64""#, "\"NaN\""),
            (r#""f64""#, "5e-324"),
            (r#""f64""#, "1e20"),
            (r#""f32""#, "\"-Infinity\""),
            (r#""f32""#, "0.10000000149011612"),
            (r#""char""#, "\"😀\""),
            (r#""string""#, "\"\\ufeffa\""),
            (point, r#"{"label":null,"x":0.5}"#),
            (r#"{"option": {"option": "u8"}}"#, "null"),
            (r#"{"option": {"option": "u8"}}"#, r#"{"some":null}"#),
            (r#"{"option": {"option": "u8"}}"#, r#"{"some":7}"#),
            (r#"{"list": {"result": ["u8", null]}}"#, r#"[{"ok":1},{"err":null}]"#),
            (r#"{"variant": [["a", null], ["b", "u64"]]}"#, r#"{"b":9007199254740993}"#),
            (r#"{"variant": [["a", null], ["b", "u64"]]}"#, "\"a\""),
            (r#"{"flags": ["a", "b", "c"]}"#, r#"["a","c"]"#),
            (r#"{"enum": ["a", "b"]}"#, "\"b\""),
            (r#"{"tuple": ["u8", "bool"]}"#, "[1,true]"),
            (r#"{"fixed-length-list": ["u8", 2]}"#, "[1,2]"),
        ] {
            let canonical = |text: &str| json::canonical_string(&serde_json::from_str(text).unwrap());
            let expected = format!(r#"{{"outcome":{{"result":{given}}}}}"#);
            assert_eq!(canonical(&echoed(ty, given)), canonical(&expected), "{ty}");
        }
    }

    #[test]
    fn wrong_params_are_refused_with_their_place() {
        assert_eq!(
            echoed(r#"{"list": "u8"}"#, "[1, 256]"),
            r#"{"failure":{"category":"invalid-input","message":"its params are not what it takes: `v[1]`: expected an integer from 0 to 255, found 256"}}"#
        );
    }

    #[test]
    fn what_is_no_value_of_the_type_is_refused() {
        for (ty, given) in [
            (r#""u8""#, "256"),
            (r#""char""#, "\"ab\""),
            (r#"{"enum": ["a"]}"#, "\"b\""),
            (r#"{"option": "u8"}"#, "[1, 2]"),
            (r#"{"result": [null, null]}"#, "[\"ok\", 1]"),
            (r#"{"tuple": ["u8"]}"#, "[]"),
            (r#"{"fixed-length-list": ["u8", 2]}"#, "[1]"),
        ] {
            let types = format!(r#"{{"params": [], "result": {ty}}}"#);
            let call = FunctionCall::open(&types, "{}").unwrap();
            assert_eq!(call.answer(given, 1000).unwrap_err().code, "invalid_json", "{ty} {given}");
        }
    }
}
