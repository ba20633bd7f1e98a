//! Differences between two JSON values, place by place.

use serde_json::{Map, Value};

/// A place at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange<'a> {
    /// The path of the place, as templates write it, such as `items[3].name`.
    pub path: String,
    /// The first value at the place, if there is one.
    pub before: Option<&'a Value>,
    /// The second value at the place, if there is one.
    pub after: Option<&'a Value>,
}

/// The differences between two mappings, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueChanges<'a> {
    /// The first differences.
    pub changes: Vec<ValueChange<'a>>,
    /// `true` if there are more differences than were asked for.
    pub has_more: bool,
}

impl<'a> ValueChanges<'a> {
    /// Compares two mappings. At most `most` differences are listed.
    pub fn between(before: &'a Map<String, Value>, after: &'a Map<String, Value>, most: usize) -> Self {
        let mut found = Self::default();
        found.members("", before, after, most);
        found
    }

    fn members(
        &mut self,
        path: &str,
        before: &'a Map<String, Value>,
        after: &'a Map<String, Value>,
        most: usize,
    ) {
        let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
        for key in keys {
            if self.has_more {
                return;
            }
            self.value(&member_path(path, key), before.get(key), after.get(key), most);
        }
    }

    /// Compares two values; the nesting of both is bounded by that of JSON documents.
    fn value(&mut self, path: &str, before: Option<&'a Value>, after: Option<&'a Value>, most: usize) {
        match (before, after) {
            (Some(before), Some(after)) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                self.members(path, before, after, most);
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for at in 0..before.len().max(after.len()) {
                    if self.has_more {
                        return;
                    }
                    self.value(&format!("{path}[{at}]"), before.get(at), after.get(at), most);
                }
            }
            (before, after) if self.changes.len() < most => {
                self.changes.push(ValueChange { path: path.to_owned(), before, after });
            }
            _ => self.has_more = true,
        }
    }
}

/// Returns the path of a member; a key of other characters than letters, digits, `_` and `-` is quoted.
fn member_path(path: &str, key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    match (path, is_bare) {
        ("", true) => key.to_owned(),
        (_, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}['{key}']"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value, most: usize) -> (Vec<String>, bool) {
        let found = ValueChanges::between(before.as_object().unwrap(), after.as_object().unwrap(), most);
        let written = |value: Option<&Value>| value.map_or_else(|| "-".to_owned(), ToString::to_string);
        let line = |change: &ValueChange<'_>| {
            format!("{} {} {}", change.path, written(change.before), written(change.after))
        };
        (found.changes.iter().map(line).collect(), found.has_more)
    }

    #[test]
    fn each_place_is_named_as_templates_write_it() {
        let before = json!({"a": 1, "l": [1, {"b": 2}, 3], "gone": null, "same": {"x": [1]}});
        let after = json!({"a": 2, "l": [1, {"b": 3, "a.b": 1}], "same": {"x": [1]}, "t": {"u": 1}});
        let expected = ["a 1 2", "gone null -", "l[1].b 2 3", "l[1]['a.b'] - 1", "l[2] 3 -", "t - {\"u\":1}"];
        let (mut found, has_more) = lines(&before, &after, 10);
        found.sort();
        assert_eq!((found.as_slice(), has_more), (expected.map(str::to_owned).as_slice(), false));
    }

    #[test]
    fn no_more_are_listed_than_were_asked_for() {
        let (before, after) = (json!({"l": [1, 2, 3]}), json!({"l": [4, 5, 6]}));
        assert_eq!(lines(&before, &after, 2), (vec!["l[0] 1 4".to_owned(), "l[1] 2 5".to_owned()], true));
        assert!(!lines(&before, &after, 3).1);
        assert_eq!(lines(&before, &before, 0), (vec![], false));
    }
}
