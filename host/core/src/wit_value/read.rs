//! Creates values from JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Number, Value};

use super::{
    ERR, FunctionSignature, INFINITY, NEGATIVE_INFINITY, NEGATIVE_ZERO, NOT_A_NUMBER, OK, SOME, WitType,
    WitValue, can_be_null,
};
use crate::diagnostic::{excerpt, nearest};
use crate::json::canonical_string;
use crate::work::{FuelExhausted, Meter, rates};

/// Largest number of values in one call: each takes 40 bytes or more in memory, and as little as two in JSON.
const MOST_VALUES: usize = 1 << 20;
/// Largest integer up to which JavaScript represents every integer.
const MAX_SAFE: f64 = 9_007_199_254_740_992.0;

/// Cost of skipping one case, or one name.
const PASS_NAME: u64 = rates::SORT_STEP;
/// Largest number of names that a message lists.
const MOST_SHOWN: usize = 20;

/// The reason why JSON is not converted to a value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    /// The JSON is not a value of the type.
    #[error("{place}: {reason}")]
    Value { place: Place, reason: String },
    /// The check, or the value, costs too much.
    #[error(transparent)]
    Exhausted(#[from] FuelExhausted),
}

/// A place in the params: `a.b[3]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("its params") } else { write!(f, "`{}`", excerpt(&self.0)) }
    }
}

/// Creates the arguments of a function from an object with its parameters by name. A parameter that is an option may be left out. Each
/// value is charged in advance, with the names that are searched for it and copied into it.
pub(super) fn arguments(
    signature: &FunctionSignature,
    params: &Value,
    meter: &Meter,
) -> Result<Vec<WitValue>, Mismatch> {
    let mut reader = Reader { place: Place::default(), left: MOST_VALUES, meter };
    let empty = Map::new();
    let members = match params {
        Value::Object(members) => members,
        Value::Null => &empty,
        other => return Err(reader.expected("an object with its parameters", other)),
    };
    reader.no_others(members, || signature.params.iter().map(|(name, _)| name.as_str()))?;
    signature.params.iter().map(|(name, ty)| reader.member(members, name, ty)).collect()
}

struct Reader<'m> {
    place: Place,
    left: usize,
    meter: &'m Meter,
}

impl Reader<'_> {
    fn wrong(&self, reason: String) -> Mismatch {
        Mismatch::Value { place: self.place.clone(), reason }
    }

    fn expected(&self, what: &str, found: &Value) -> Mismatch {
        self.wrong(format!("expected {what}, found {}", shown(found)))
    }

    /// Refuses keys other than these.
    fn no_others<'n, N: Iterator<Item = &'n str>>(
        &self,
        members: &Map<String, Value>,
        names: impl Fn() -> N,
    ) -> Result<(), Mismatch> {
        let mut known = 0;
        for name in names() {
            self.meter.charge(PASS_NAME)?;
            known += usize::from(members.contains_key(name));
        }
        if known == members.len() {
            return Ok(());
        }
        let known: BTreeSet<&str> = names().collect();
        let Some(other) = members.keys().find(|key| !known.contains(key.as_str())) else { return Ok(()) };
        let hint = match nearest(other, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None if known.is_empty() => "there is none".to_owned(),
            None => format!("known are: {}", some_of(names())),
        };
        Err(self.wrong(format!("`{}` is unknown; {hint}", excerpt(other))))
    }

    fn inside<T>(
        &mut self,
        step: impl fmt::Display,
        read: impl FnOnce(&mut Self) -> Result<T, Mismatch>,
    ) -> Result<T, Mismatch> {
        use std::fmt::Write as _;
        let length = self.place.0.len();
        let _ = write!(self.place.0, "{step}");
        let read = read(self);
        self.place.0.truncate(length);
        read
    }

    fn key(&self, name: &str) -> String {
        if self.place.0.is_empty() { name.to_owned() } else { format!(".{name}") }
    }

    /// Charges a name that is copied, and compared again when the value is passed on.
    fn name(&self, name: &str) -> Result<(), FuelExhausted> {
        self.meter.charge_each(name.len(), 2 * rates::BYTE)
    }

    fn member(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        ty: &WitType,
    ) -> Result<WitValue, Mismatch> {
        // The name is also written into the place.
        self.name(name)?;
        self.meter.charge(rates::LOOKUP)?;
        match (members.get(name), ty) {
            (Some(value), _) => self.inside(self.key(name), |reader| reader.value(value, ty)),
            (None, WitType::Option(_)) => Ok(WitValue::Option(None)),
            (None, _) => Err(self.wrong(format!("`{}` is missing", excerpt(name)))),
        }
    }

    fn value(&mut self, json: &Value, ty: &WitType) -> Result<WitValue, Mismatch> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| self.wrong(format!("there are more than {MOST_VALUES} values")))?;
        self.meter.charge(rates::VALUE)?;
        Ok(match ty {
            WitType::List(element) => WitValue::List(self.elements(json, element)?),
            WitType::FixedLengthList(element, count) => {
                self.counted(json, *count as usize)?;
                WitValue::FixedLengthList(self.elements(json, element)?)
            }
            WitType::Tuple(types) => {
                let values = self.counted(json, types.len())?;
                let each = values.iter().zip(types).enumerate();
                let each = each.map(|(at, (value, ty))| {
                    self.inside(format_args!("[{at}]"), |reader| reader.value(value, ty))
                });
                WitValue::Tuple(each.collect::<Result<_, _>>()?)
            }
            WitType::Record(fields) => WitValue::Record(self.record(json, fields)?),
            WitType::Variant(cases) => self.variant(json, cases)?,
            WitType::Enum(cases) => {
                let name = self.text(json)?;
                self.name(name)?;
                self.position(names(cases), name)?.ok_or_else(|| self.unknown_case(name, names(cases)))?;
                WitValue::Enum(name.to_owned())
            }
            WitType::Flags(flags) => self.flags(json, flags)?,
            WitType::Option(ty) => match json {
                Value::Null => WitValue::Option(None),
                json if can_be_null(ty) => {
                    let inner = self.only_member(json, &[SOME])?.1;
                    let value = self.inside(self.key(SOME), |reader| reader.value(inner, ty))?;
                    WitValue::Option(Some(Box::new(value)))
                }
                json => WitValue::Option(Some(Box::new(self.value(json, ty)?))),
            },
            WitType::Result(ok, err) => {
                let (key, inner) = self.only_member(json, &[OK, ERR])?;
                let ty = if key == OK { ok } else { err };
                let value = self.inside(self.key(key), |reader| match ty {
                    Some(ty) => reader.value(inner, ty).map(|value| Some(Box::new(value))),
                    None if inner.is_null() => Ok(None),
                    None => Err(reader.expected("null", inner)),
                })?;
                WitValue::Result(if key == OK { Ok(value) } else { Err(value) })
            }
            scalar => return self.scalar(json, scalar),
        })
    }

    fn scalar(&self, json: &Value, ty: &WitType) -> Result<WitValue, Mismatch> {
        Ok(match ty {
            WitType::Bool => {
                WitValue::Bool(json.as_bool().ok_or_else(|| self.expected("true or false", json))?)
            }
            WitType::S8 => WitValue::S8(self.signed(json, i8::MIN, i8::MAX)?),
            WitType::U8 => WitValue::U8(self.unsigned(json, u8::MAX)?),
            WitType::S16 => WitValue::S16(self.signed(json, i16::MIN, i16::MAX)?),
            WitType::U16 => WitValue::U16(self.unsigned(json, u16::MAX)?),
            WitType::S32 => WitValue::S32(self.signed(json, i32::MIN, i32::MAX)?),
            WitType::U32 => WitValue::U32(self.unsigned(json, u32::MAX)?),
            WitType::S64 => WitValue::S64(self.signed(json, i64::MIN, i64::MAX)?),
            WitType::U64 => WitValue::U64(self.unsigned(json, u64::MAX)?),
            WitType::F32 => self.single(json)?,
            WitType::F64 => WitValue::F64(self.double(json)?),
            WitType::Char => {
                let mut characters = json.as_str().unwrap_or_default().chars();
                match (characters.next(), characters.next()) {
                    (Some(character), None) => WitValue::Char(character),
                    _ => return Err(self.expected("a text of one character", json)),
                }
            }
            WitType::String => {
                let text = self.text(json)?;
                self.meter.charge_each(text.len(), rates::BYTE)?;
                WitValue::String(text.to_owned())
            }
            _ => return Err(self.wrong("its type has no JSON".to_owned())),
        })
    }

    fn variant(&mut self, json: &Value, cases: &[(String, Option<WitType>)]) -> Result<WitValue, Mismatch> {
        let member = json.as_object().filter(|members| members.len() == 1);
        let (name, payload) = match (json, member.and_then(|members| members.iter().next())) {
            (Value::String(name), _) => (name, None),
            (_, Some((name, payload))) => (name, Some(payload)),
            _ => return Err(self.expected("a case: its name, or an object with its name", json)),
        };
        self.name(name)?;
        let names = || cases.iter().map(|(name, _)| name.as_str());
        let at = self.position(names(), name)?;
        let (_, ty) = at.and_then(|at| cases.get(at)).ok_or_else(|| self.unknown_case(name, names()))?;
        match (ty, payload) {
            (None, None) => Ok(WitValue::Variant(name.clone(), None)),
            (None, Some(_)) => {
                let name = excerpt(name);
                Err(self.wrong(format!("the case `{name}` has no value: write `\"{name}\"`")))
            }
            (Some(_), None) => {
                let name = excerpt(name);
                Err(self.wrong(format!("the case `{name}` has a value: write {{\"{name}\": ..}}")))
            }
            (Some(ty), Some(payload)) => {
                let value = self.inside(self.key(name), |reader| reader.value(payload, ty))?;
                Ok(WitValue::Variant(name.clone(), Some(Box::new(value))))
            }
        }
    }

    fn flags(&self, json: &Value, flags: &[String]) -> Result<WitValue, Mismatch> {
        let Value::Array(values) = json else { return Err(self.expected("a list of names", json)) };
        let mut set = BTreeMap::new();
        for value in values {
            let name = self.text(value)?;
            self.meter.charge(rates::LOOKUP)?;
            self.name(name)?;
            let at = self.position(names(flags), name)?;
            let at = at.ok_or_else(|| self.unknown_case(name, names(flags)))?;
            if set.insert(at, name).is_some() {
                return Err(self.wrong(format!("`{}` is there twice", excerpt(name))));
            }
        }
        // The flags are in the order of the type. Unset flags are not copied.
        Ok(WitValue::Flags(set.into_values().map(str::to_owned).collect()))
    }

    /// Returns the index of a name among those of a type.
    fn position<'n>(
        &self,
        mut names: impl Iterator<Item = &'n str>,
        name: &str,
    ) -> Result<Option<usize>, FuelExhausted> {
        let mut at = 0;
        loop {
            self.meter.charge(PASS_NAME)?;
            match names.next() {
                None => return Ok(None),
                Some(known) if known == name => return Ok(Some(at)),
                Some(_) => at += 1,
            }
        }
    }

    fn text<'v>(&self, json: &'v Value) -> Result<&'v str, Mismatch> {
        json.as_str().ok_or_else(|| self.expected("a text", json))
    }

    fn unknown_case<'n>(&self, name: &str, names: impl Iterator<Item = &'n str>) -> Mismatch {
        let known: Vec<&str> = names.collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("known are: {}", some_of(known.into_iter())),
        };
        self.wrong(format!("`{}` is unknown; {hint}", excerpt(name)))
    }

    /// Returns the only member of an object if its key is one of these.
    fn only_member<'v>(
        &self,
        json: &'v Value,
        keys: &[&'static str],
    ) -> Result<(&'static str, &'v Value), Mismatch> {
        let member = json
            .as_object()
            .filter(|members| members.len() == 1)
            .and_then(|members| keys.iter().find_map(|key| members.get(*key).map(|value| (*key, value))));
        member.ok_or_else(|| {
            let keys: Vec<_> = keys.iter().map(|key| format!("{{\"{key}\": ..}}")).collect();
            self.expected(&keys.join(" or "), json)
        })
    }

    fn elements(&mut self, json: &Value, ty: &WitType) -> Result<Vec<WitValue>, Mismatch> {
        let Value::Array(values) = json else { return Err(self.expected("a list", json)) };
        if values.len() > self.left {
            return Err(self.wrong(format!("there are more than {MOST_VALUES} values")));
        }
        let each = values.iter().enumerate();
        each.map(|(at, value)| self.inside(format_args!("[{at}]"), |reader| reader.value(value, ty)))
            .collect()
    }

    fn counted<'v>(&self, json: &'v Value, count: usize) -> Result<&'v [Value], Mismatch> {
        match json {
            Value::Array(values) if values.len() == count => Ok(values),
            Value::Array(values) => {
                Err(self.wrong(format!("expected a list of {count} values, found {} values", values.len())))
            }
            other => Err(self.expected(&format!("a list of {count} values"), other)),
        }
    }

    fn record(
        &mut self,
        json: &Value,
        fields: &[(String, WitType)],
    ) -> Result<Vec<(String, WitValue)>, Mismatch> {
        let Value::Object(members) = json else { return Err(self.expected("an object", json)) };
        self.no_others(members, || fields.iter().map(|(name, _)| name.as_str()))?;
        let field = |(name, ty): &(String, WitType)| Ok((name.clone(), self.member(members, name, ty)?));
        fields.iter().map(field).collect()
    }

    fn signed<T: TryFrom<i64> + Copy + fmt::Display>(
        &self,
        json: &Value,
        least: T,
        most: T,
    ) -> Result<T, Mismatch> {
        let integer = json.as_i64().or_else(|| whole(json).and_then(|(value, _)| value));
        integer
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| self.expected(&format!("an integer from {least} to {most}"), json))
    }

    fn unsigned<T: TryFrom<u64> + Copy + fmt::Display>(&self, json: &Value, most: T) -> Result<T, Mismatch> {
        let integer = json.as_u64().or_else(|| whole(json).and_then(|(_, value)| value));
        integer
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| self.expected(&format!("an integer from 0 to {most}"), json))
    }

    fn double(&self, json: &Value) -> Result<f64, Mismatch> {
        match json {
            Value::Number(number) => number.as_f64().ok_or_else(|| self.expected("a number", json)),
            Value::String(text) => match text.as_str() {
                NOT_A_NUMBER => Ok(f64::NAN),
                INFINITY => Ok(f64::INFINITY),
                NEGATIVE_INFINITY => Ok(f64::NEG_INFINITY),
                NEGATIVE_ZERO => Ok(-0.0),
                _ => Err(self.expected("a number, \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\"", json)),
            },
            _ => Err(self.expected("a number", json)),
        }
    }

    fn single(&self, json: &Value) -> Result<WitValue, Mismatch> {
        let double = self.double(json)?;
        #[allow(clippy::cast_possible_truncation, reason = "the nearest number of that type is meant")]
        let single = double as f32;
        if single.is_infinite() && double.is_finite() {
            return Err(self.expected("a number that 32 bits hold", json));
        }
        Ok(WitValue::F32(single))
    }
}

/// Returns the names of cases or flags.
fn names(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str)
}

/// Reads an integer that is written with a fraction or an exponent.
fn whole(json: &Value) -> Option<(Option<i64>, Option<u64>)> {
    let value = json.as_number().filter(|number| number.is_f64()).and_then(Number::as_f64)?;
    #[allow(clippy::cast_possible_truncation, reason = "it is an integer of at most 53 bits")]
    (value.fract() == 0.0 && value.abs() <= MAX_SAFE).then(|| {
        let integer = value as i64;
        (Some(integer), u64::try_from(integer).ok())
    })
}

/// Lists names for a message.
fn some_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<_> = names.take(MOST_SHOWN + 1).map(excerpt).collect();
    if names.len() > MOST_SHOWN {
        names.truncate(MOST_SHOWN);
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// Describes the given JSON in a few words.
fn shown(json: &Value) -> String {
    match json {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        // The canonical form, as in records: the message does not depend on whether the run was restored in between.
        number @ Value::Number(_) => canonical_string(number),
        Value::String(text) => format!("the text `{}`", excerpt(text)),
        Value::Array(values) => format!("a list of {} values", values.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
