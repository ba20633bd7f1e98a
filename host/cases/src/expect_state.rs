//! Expected values of parts of the state, such as `state.stats.rows: 3`.

use graph_core::diagnostic::{Diagnostic, Problems, codes};
use graph_core::template::{Fields as StateFields, Path, Root, Scope};
use graph_core::work::{FuelExhausted, Meter, size};
use graph_core::yaml::Fields;
use serde_json::Value;

use crate::expect::{Mismatch, equal};

/// Prefix of the keys.
const PREFIX: &str = "state.";

/// Paths into the state, each with its expected value.
#[derive(Debug, Default)]
pub(crate) struct ExpectState(Vec<(Path, Value)>);

impl ExpectState {
    /// Reads every key of `expect` that begins with `state.`.
    pub(crate) fn read(fields: &mut Fields<'_>, problems: &Problems) -> Self {
        let entries = fields.prefixed(PREFIX);
        let read = entries.filter_map(|entry| match Path::parse(&entry.key.name) {
            Ok(path) => Some((path, entry.value.to_json())),
            Err(error) => {
                let message = format!("`{}` is not a path: {}", entry.key.name, error.message);
                let problem = Diagnostic::error(codes::UNKNOWN_KEY, entry.key.span, message);
                problems.push(
                    problem.help(error.help.unwrap_or_else(|| "such as `state.stats.rows`".to_owned())),
                );
                None
            }
        });
        Self(read.collect())
    }

    /// Returns the differences from a state. A path without a value is null.
    pub(crate) fn compare(&self, state: &Value) -> Vec<Mismatch> {
        let fields = State(state);
        let scope = Scope::new().with("state", Root::Fields(&fields));
        let checked = self.0.iter().map(|(path, expected)| {
            // A meter is required, but nothing is charged to it: a path with a key copies nothing.
            let found = scope.resolve(path, &Meter::of_one_step());
            let actual = found.ok().flatten().map_or(Value::Null, std::borrow::Cow::into_owned);
            (path, expected, actual)
        });
        let wrong = checked.filter(|(_, expected, actual)| !equal(expected, actual));
        wrong
            .map(|(path, expected, actual)| Mismatch {
                key: path.as_str().to_owned().into(),
                expected: expected.clone(),
                actual,
            })
            .collect()
    }
}

/// The state, in the form that templates read.
struct State<'a>(&'a Value);

impl StateFields for State<'_> {
    fn field(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted> {
        size::copy(self.0, meter)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::yaml;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<ExpectState, Vec<String>> {
        let problems = Problems::new();
        let node = yaml::parse(text, &problems).unwrap();
        let mut fields = Fields::open(&node, &crate::keys::EXPECT, "`expect`", &problems).unwrap();
        let state = ExpectState::read(&mut fields, &problems);
        fields.finish();
        problems
            .finish("a.case.yaml", text, Some(state))
            .map(|(state, _)| state)
            .map_err(|all| all.to_lines())
    }

    #[test]
    fn paths_are_those_of_templates() {
        let state = json!({ "stats": { "rows": 3, "by": [1, 2] }, "_outputs.n": [{ "output": 7 }] });
        let wrong = |text: &str| read(text).unwrap().compare(&state);
        let held = "{ state.stats.rows: 3.0, 'state.stats.by[-1]': 2, state.stats.by.0: 1, state._outputs.n.0.output: 7, \
                    state.none: null, state.stats: { rows: 3, by: [1, 2] } }";
        assert_eq!(wrong(held), []);
        let found = wrong("{ state.stats.rows: 4, state.stats: { rows: 3 } }");
        let keys: Vec<_> = found.iter().map(|mismatch| &*mismatch.key).collect();
        assert_eq!(keys, ["state.stats.rows", "state.stats"]);
        assert_eq!(found[0].actual, json!(3));
    }

    #[test]
    fn a_key_that_is_no_path_is_refused() {
        let problems = read("state.a..b: 1\nstate.: 2\nstat.a: 3\n").err().unwrap();
        insta::assert_snapshot!(problems.join("\n"));
    }
}
