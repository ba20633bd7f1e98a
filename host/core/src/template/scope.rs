//! The values that paths look into.

use std::borrow::Cow;

use serde_json::Value;
use smallvec::SmallVec;

use super::Path;

/// A root whose fields are found one at a time, such as the state, so that it is never copied to be read.
pub trait Fields {
    /// The value of a field, if there is one.
    fn field(&self, key: &str) -> Option<&Value>;

    /// All fields as one object, for a path that names the root alone.
    fn to_value(&self) -> Value;
}

/// What a root's name stands for.
#[derive(Clone, Copy)]
pub enum Root<'a> {
    /// A value.
    Value(&'a Value),
    /// Fields that are found one at a time.
    Fields(&'a dyn Fields),
}

/// The roots that a template or condition may read, by name. Making one allocates nothing up to eight roots.
#[derive(Clone, Default)]
pub struct Scope<'a> {
    roots: SmallVec<[(&'a str, Root<'a>); 8]>,
}

impl<'a> Scope<'a> {
    /// A scope without roots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a root; it takes the place of an earlier one of that name.
    #[inline]
    #[must_use]
    pub fn with(mut self, name: &'a str, root: Root<'a>) -> Self {
        match self.roots.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = root,
            None => self.roots.push((name, root)),
        }
        self
    }

    /// The value at a path; `None` if it leads nowhere.
    pub fn resolve(&self, path: &Path) -> Option<Cow<'a, Value>> {
        let name = path.root();
        let (_, root) = self.roots.iter().find(|(known, _)| *known == name)?;
        let (value, rest) = match root {
            Root::Value(value) => (*value, path.segments()),
            Root::Fields(fields) => match path.segments().split_first() {
                Some((first, rest)) => (fields.field(first.key())?, rest),
                None => return Some(Cow::Owned(fields.to_value())),
            },
        };
        rest.iter().try_fold(value, |value, segment| segment.of(value)).map(Cow::Borrowed)
    }
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

        fn to_value(&self) -> Value {
            self.0.clone()
        }
    }

    #[test]
    fn roots_are_values_or_fields() {
        let state = State(json!({"a": {"b": [1]}}), json!({"x": 5}));
        let (one, two) = (json!("one"), json!("two"));
        let scope = Scope::new()
            .with("state", Root::Fields(&state))
            .with("result", Root::Value(&one))
            .with("result", Root::Value(&two));
        let resolve = |path: &str| scope.resolve(&Path::parse(path).unwrap()).map(Cow::into_owned);
        assert_eq!(resolve("state.a.b[0]"), Some(json!(1)));
        assert_eq!(resolve("state.inputs.x"), Some(json!(5)));
        assert_eq!(resolve("state"), Some(json!({"a": {"b": [1]}})));
        assert_eq!(resolve("result"), Some(json!("two")));
        assert_eq!(resolve("state.c"), None);
        assert_eq!(resolve("inputs.x"), None);
        let path = Path::parse("state.a").unwrap();
        assert!(matches!(scope.resolve(&path), Some(Cow::Borrowed(_))));
    }
}
