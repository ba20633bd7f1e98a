//! The values that paths read.

use std::borrow::Cow;

use serde_json::Value;
use smallvec::SmallVec;

use super::{Path, Segment};
use crate::work::rates::LOOKUP;
use crate::work::{FuelExhausted, Meter};

/// `state._outputs.NODE` reads the key `_outputs.NODE`.
const OUTPUTS: &str = "_outputs";

/// A root whose fields are read one at a time, such as the state, so that it is never copied to be read.
pub trait Fields {
    /// Returns the value of a field, if any.
    fn field(&self, key: &str) -> Option<&Value>;

    /// Returns all fields as one object, for a path that consists of the root only. The [size](crate::work::size::of) of the copy is
    /// charged before it is created.
    fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted>;
}

/// The value of a root.
#[derive(Clone, Copy)]
pub enum Root<'a> {
    /// A value that exists as a whole, such as the inputs.
    Value(&'a Value),
    /// Fields that are read one at a time.
    Fields(&'a dyn Fields),
}

/// The roots that a template or condition may read, by name. Up to eight roots need no allocation.
#[derive(Clone, Default)]
pub struct Scope<'a> {
    roots: SmallVec<[(&'a str, Root<'a>); 8]>,
}

/// A value that a path begins at, and the steps that follow.
type Start<'a, 'p> = (Cow<'a, Value>, &'p [Segment]);

impl<'a> Scope<'a> {
    /// Creates a scope without roots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a root; it replaces one of the same name.
    #[inline]
    #[must_use]
    pub fn with(mut self, name: &'a str, root: Root<'a>) -> Self {
        match self.roots.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = root,
            None => self.roots.push((name, root)),
        }
        self
    }

    /// Adds a root whose name no other root has, without a search for it.
    #[inline]
    #[must_use]
    pub fn with_new(mut self, name: &'a str, root: Root<'a>) -> Self {
        debug_assert!(self.roots.iter().all(|(known, _)| *known != name));
        self.roots.push((name, root));
        self
    }

    /// Returns the value at a path; `None` if there is none. A borrowed value costs only the lookups
    /// ([`LOOKUP`](crate::work::rates::LOOKUP) for each name of the path, and its bytes); the whole of a [`Root::Fields`] is a copy, and
    /// also costs its size.
    pub fn resolve(&self, path: &Path, meter: &Meter) -> Result<Option<Cow<'a, Value>>, FuelExhausted> {
        let Some((value, rest)) = self.start(path, meter)? else { return Ok(None) };
        Ok(match value {
            Cow::Borrowed(value) => {
                rest.iter().try_fold(value, |value, segment| segment.of(value)).map(Cow::Borrowed)
            }
            // Only a path of a root alone leads to a copy.
            whole @ Cow::Owned(_) => Some(whole),
        })
    }

    /// Checks whether any of the values at a path holds; `[*]` leads to each element of a list, and to none of another value. Where a path
    /// leads to nothing else, the value is null. Each element costs a lookup for each name that follows.
    pub fn any<E: From<FuelExhausted>>(
        &self,
        path: &Path,
        meter: &Meter,
        holds: &mut dyn FnMut(&Value) -> Result<bool, E>,
    ) -> Result<bool, E> {
        match self.start(path, meter)? {
            Some((value, rest)) => any_of(&value, rest, meter, holds),
            // Without the value in which its list would be, there is no element.
            None if path.has_any() => Ok(false),
            None => holds(&Value::Null),
        }
    }

    /// Returns the value of the root of a path, or of a field of the root, and the steps that follow. Charges the cost of the path.
    fn start<'p>(&self, path: &'p Path, meter: &Meter) -> Result<Option<Start<'a, 'p>>, FuelExhausted> {
        meter.charge(path.cost())?;
        let name = path.root();
        let Some((_, root)) = self.roots.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        let fields = match root {
            Root::Value(value) => return Ok(Some((Cow::Borrowed(*value), path.segments()))),
            Root::Fields(fields) => fields,
        };
        Ok(match path.segments().split_first() {
            // The fields of a root are no list.
            Some((first, _)) if first.is_any() => None,
            Some((first, rest)) => match (fields.field(first.key()), rest.split_first()) {
                (Some(value), _) => Some((Cow::Borrowed(value), rest)),
                // The results of nodes are stored under keys with two parts.
                (None, Some((second, rest))) if first.key() == OUTPUTS => fields
                    .field(&format!("{OUTPUTS}.{}", second.key()))
                    .map(|value| (Cow::Borrowed(value), rest)),
                (None, _) => None,
            },
            None => Some((Cow::Owned(fields.to_value(meter)?), &[])),
        })
    }
}

/// Checks whether any of the values that steps lead to holds.
fn any_of<E: From<FuelExhausted>>(
    value: &Value,
    segments: &[Segment],
    meter: &Meter,
    holds: &mut dyn FnMut(&Value) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut value = value;
    for (at, segment) in segments.iter().enumerate() {
        let rest = &segments[at + 1..];
        if segment.is_any() {
            let Value::Array(items) = value else { return Ok(false) };
            for item in items {
                meter.charge((1 + rest.len() as u64) * LOOKUP)?;
                if any_of(item, rest, meter, holds)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        match segment.of(value) {
            Some(next) => value = next,
            None if rest.iter().any(Segment::is_any) => return Ok(false),
            None => return holds(&Value::Null),
        }
    }
    holds(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    struct State(Value, Value);

    impl Fields for State {
        fn field(&self, key: &str) -> Option<&Value> {
            if key == "inputs" { Some(&self.1) } else { self.0.get(key) }
        }

        fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted> {
            crate::work::size::copy(&self.0, meter)
        }
    }

    #[test]
    fn roots_are_values_or_fields() {
        let state = State(json!({"a": {"b": [1]}, "_outputs.n": [{"output": 7}]}), json!({"x": 5}));
        let (one, two) = (json!("one"), json!("two"));
        let scope = Scope::new()
            .with("state", Root::Fields(&state))
            .with("result", Root::Value(&one))
            .with("result", Root::Value(&two));
        let meter = Meter::of_one_step();
        let resolve =
            |path: &str| scope.resolve(&Path::parse(path).unwrap(), &meter).unwrap().map(Cow::into_owned);
        assert_eq!(resolve("state.a.b[0]"), Some(json!(1)));
        assert_eq!(resolve("state.inputs.x"), Some(json!(5)));
        assert_eq!(resolve("state"), Some(state.0.clone()));
        assert_eq!(resolve("state._outputs.n.0.output"), Some(json!(7)));
        assert_eq!((resolve("state._outputs.m"), resolve("state._outputs")), (None, None));
        assert_eq!(resolve("result"), Some(json!("two")));
        assert_eq!(resolve("state.c"), None);
        assert_eq!(resolve("inputs.x"), None);
        let path = Path::parse("state.a").unwrap();
        let meter = Meter::of_one_step();
        assert!(matches!(scope.resolve(&path, &meter), Ok(Some(Cow::Borrowed(_)))));
        assert_eq!(meter.spent(), 2 * 32 + 7);
        let all = Path::parse("state").unwrap();
        let meter = Meter::of_one_step();
        scope.resolve(&all, &meter).unwrap();
        assert_eq!(meter.spent(), 32 + 5 + crate::work::size::of(&state.0));
        let scarce = Meter::new(100);
        assert_eq!(scope.resolve(&all, &scarce), Err(FuelExhausted::Fuel));
    }
}
