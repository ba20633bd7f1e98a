#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::any_json;
use crate::template::{Root, Scope};
use crate::work::rates::{BYTE, LOOKUP, STEP, VALUE};
use crate::work::{FuelExhausted, Meter};

fn decide(condition: &Value, state: &Value) -> (bool, Vec<String>) {
    let mut warnings = Vec::new();
    let condition = Condition::from_json(condition).unwrap();
    let scope = Scope::new().with("state", Root::Value(state));
    let holds = condition.evaluate(&scope, &mut warnings, &Meter::of_one_step());
    (holds.unwrap(), warnings)
}

fn holds(condition: &Value, state: &Value) -> bool {
    decide(condition, state).0
}

fn op(op: &str, actual: &Value, value: &Value) -> bool {
    holds(&json!({"path": "state.v", "op": op, "value": value}), &json!({"v": actual}))
}

#[test]
fn empty_conditions() {
    for (condition, expected) in [
        (json!({}), true),
        (json!(null), true),
        (json!({"any": []}), false),
        (json!({"all": []}), true),
        (json!({"not": {}}), false),
        (json!({"any": [{}]}), true),
        (json!({"all": [{"any": []}]}), false),
    ] {
        assert_eq!(holds(&condition, &json!({})), expected, "{condition}");
    }
}

#[test]
fn equality_is_by_value() {
    assert!(op("eq", &json!(3), &json!(3.0)));
    assert!(op("eq", &json!({"a": [3.0]}), &json!({"a": [3]})));
    assert!(!op("eq", &json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    assert!(!op("eq", &json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992.0)));
    assert!(op("gt", &json!(u64::MAX), &json!(u64::MAX - 1)));
    assert!(!op("eq", &json!(true), &json!(1)));
    assert!(op("ne", &json!(false), &json!(0)));
    assert!(!op("eq", &json!("3"), &json!(3)));
    assert!(holds(&json!({"path": "state.none", "op": "eq", "value": null}), &json!({})));
    assert!(holds(&json!({"path": "state.none", "operator": "ne", "value": 1}), &json!({})));
    assert!(holds(&json!({"path": "state.v", "value": 1}), &json!({"v": 1})), "eq is the default");
}

#[test]
fn ordering_different_types_is_false_and_a_warning() {
    for (actual, value, warning) in [
        (json!("10"), json!(3), "`gt` is false: `state.v` is text, which has no order with a number"),
        (json!(10), json!("3"), "`gt` is false: `state.v` is a number, which has no order with text"),
        (json!(null), json!(3), "`gt` is false: `state.v` is null, which has no order with a number"),
        (json!(true), json!(0), "`gt` is false: `state.v` is a boolean, which has no order with a number"),
        (json!([2]), json!(1), "`gt` is false: `state.v` is a list, which has no order with a number"),
    ] {
        let condition = json!({"path": "state.v", "op": "gt", "value": value});
        assert_eq!(decide(&condition, &json!({"v": actual})), (false, vec![warning.to_owned()]));
        let not = json!({"not": condition});
        assert!(holds(&not, &json!({"v": actual})));
    }
    assert_eq!(
        decide(&json!({"path": "state.v", "op": "lt", "value": "b"}), &json!({"v": "a"})),
        (true, vec![])
    );
}

#[test]
fn two_paths_are_compared() {
    let state = json!({"a": 3, "b": 3.0, "c": 4, "t": "x", "l": [1, 3], "z": null});
    for (path, op, other, expected) in [
        ("state.a", "eq", "state.b", true),
        ("state.a", "ne", "state.b", false),
        ("state.a", "lt", "state.c", true),
        ("state.c", "lte", "state.a", false),
        ("state.a", "in", "state.l", true),
        ("state.c", "in", "state.l", false),
        ("state.l", "contains", "state.a", true),
        ("state.z", "eq", "state.none", true),
        ("state.a", "in", "state.none", false),
        ("state.a", "eq", "state.l[*]", true),
        ("state.c", "gt", "state.l[*]", true),
        ("state.a", "gt", "state.c", false),
    ] {
        let condition = json!({"path": path, "op": op, "other": other});
        assert_eq!(decide(&condition, &state), (expected, vec![]), "{condition}");
        let parsed = Condition::from_json(&condition).unwrap();
        let paths: Vec<_> = parsed.paths().map(ToString::to_string).collect();
        assert_eq!(paths, [path, other]);
    }
    for (op, other, warning) in [
        ("gt", "state.t", "`gt` is false: `state.a` is a number, which has no order with text"),
        ("in", "state.t", "`in` is false: it takes a list, not text"),
    ] {
        let condition = json!({"path": "state.a", "op": op, "other": other});
        assert_eq!(decide(&condition, &state), (false, vec![warning.to_owned()]), "{condition}");
    }
    let text = |condition: &Value| Condition::from_json(condition).unwrap().to_string();
    assert_eq!(text(&json!({"path": "state.a", "op": "gte", "other": "state.b"})), "state.a >= state.b");
    for (condition, message) in [
        (json!({"path": "state.a", "other": "state.b", "value": 1}), "two values to compare with"),
        (json!({"path": "state.a", "other": "state.b", "op": "exists"}), "`exists` is not a comparison"),
        (json!({"path": "state.a", "other": "state.b", "op": "regex"}), "`regex` is not a comparison"),
        (json!({"path": "state.a", "other": 1}), "`other` is text"),
        (json!({"path": "state.a", "other": "state."}), "a key is missing"),
    ] {
        let error = Condition::from_json(&condition).unwrap_err();
        assert!(error.message.contains(message), "{condition}: {error:?}");
    }
}

#[test]
fn any_element_of_a_list_holds() {
    let state = json!({
        "rows": [{"n": 1, "tags": ["a"]}, {"n": 5, "tags": []}, {"tags": ["b", "c"]}],
        "none": [], "map": {"x": 1}, "texts": ["one", "two"],
    });
    for (condition, expected) in [
        (json!({"path": "state.rows[*].n", "op": "gt", "value": 4}), true),
        (json!({"path": "state.rows[*].n", "value": 2}), false),
        (json!({"path": "state.rows[*].n", "op": "exists"}), true),
        // The last row has no `n`.
        (json!({"path": "state.rows[*].n", "value": null}), true),
        (json!({"path": "state.rows[*].tags[*]", "value": "c"}), true),
        (json!({"path": "state.rows[*].tags[*]", "value": "d"}), false),
        (json!({"path": "state.rows[*].tags[-1]", "op": "in", "value": ["c"]}), true),
        (json!({"path": "state.texts[*]", "op": "regex", "value": "^tw"}), true),
        (json!({"path": "state.none[*]", "op": "ne", "value": 1}), false),
        (json!({"path": "state.map[*]", "value": 1}), false),
        (json!({"path": "state.gone[*].x", "value": null}), false),
        (json!({"path": "state[*]", "value": null}), false),
        (json!({"not": {"path": "state.rows[*].n", "op": "gt", "value": 9}}), true),
    ] {
        let found = decide(&condition, &state);
        assert_eq!(found.0, expected, "{condition}: {:?}", found.1);
    }
    // Every element that is visited is charged.
    let many = json!({"l": vec![0; 1_000]});
    let condition = Condition::from_json(&json!({"path": "state.l[*]", "value": 1})).unwrap();
    let scope = Scope::new().with("state", Root::Value(&many));
    let meter = Meter::of_one_step();
    assert!(!condition.evaluate(&scope, &mut Vec::new(), &meter).unwrap());
    assert!(meter.spent() >= 2_000 * LOOKUP, "{}", meter.spent());
    let scarce = Meter::new(1_000);
    assert!(condition.evaluate(&scope, &mut Vec::new(), &scarce).is_err());
}

#[test]
fn membership() {
    assert!(op("in", &json!(3), &json!([1, 3.0])));
    assert!(!op("in", &json!(true), &json!([1])));
    assert!(!op("in", &json!(3), &json!([])));
    assert!(holds(&json!({"path": "state.none", "op": "in", "value": [null]}), &json!({})));

    assert!(op("contains", &json!("abc"), &json!("bc")));
    assert!(!op("contains", &json!("abc"), &json!("C")));
    assert!(op("contains", &json!([1, {"a": 2}]), &json!({"a": 2.0})));
    assert!(!op("contains", &json!(["ab"]), &json!("a")));
    assert!(op("contains", &json!({"k": null}), &json!("k")));
    assert!(!op("contains", &json!({"k": "v"}), &json!("v")));
    let warnings = |actual: Value, value: Value| {
        decide(&json!({"path": "state.v", "op": "contains", "value": value}), &json!({"v": actual}))
    };
    assert_eq!(warnings(json!(null), json!(1)), (false, vec![]));
    assert_eq!(
        warnings(json!(12), json!(1)),
        (false, vec!["`contains` is false: `state.v` is a number, not text, a list or an object".to_owned()])
    );
    assert_eq!(
        warnings(json!("12"), json!(1)),
        (false, vec!["`contains` is false: `state.v` is text, which cannot contain a number".to_owned()])
    );
}

#[test]
fn regular_expressions_search() {
    assert!(op("regex", &json!("a draft-12 b"), &json!("draft-[0-9]+")));
    assert!(!op("regex", &json!("a draft-12 b"), &json!("^draft")));
    assert!(op("regex", &json!("ÄÖ"), &json!(r"^\w+$")));
    let condition = json!({"path": "state.v", "op": "regex", "value": "1"});
    assert_eq!(
        decide(&condition, &json!({"v": 1})),
        (false, vec!["`regex` is false: `state.v` is a number, not text".to_owned()])
    );
    // This pattern backtracks without end in other engines.
    assert!(!op("regex", &json!("a".repeat(50_000) + "!"), &json!("^(a+)+$")));
}

/// Returns the result of a condition and its cost, bounded only by a step.
fn cost(condition: &Value, state: &Value) -> (Result<bool, FuelExhausted>, u64) {
    cost_within(STEP, condition, state)
}

fn cost_within(fuel: u64, condition: &Value, state: &Value) -> (Result<bool, FuelExhausted>, u64) {
    let condition = Condition::from_json(condition).unwrap();
    let meter = Meter::new(fuel);
    let scope = Scope::new().with("state", Root::Value(state));
    (condition.evaluate(&scope, &mut Vec::new(), &meter), meter.spent())
}

#[test]
fn each_test_is_charged() {
    let state = json!({"n": 1, "s": "abcd", "l": [1, 2, 3], "o": {"k": 1}});
    let test = 3 * LOOKUP + "state.n".len() as u64 * BYTE;
    let of = |path: &str, op: &str, value: Value| json!({"path": path, "op": op, "value": value});
    for (condition, fuel) in [
        (json!({}), LOOKUP),
        (json!({"all": [{}, {"not": {}}, {}]}), 4 * LOOKUP),
        (json!({"path": "state.n", "op": "exists"}), test),
        (of("state.n", "eq", json!(2)), test + LOOKUP),
        (of("state.n", "gt", json!(2)), test),
        (of("state.s", "lt", json!("b")), test + 1),
        (of("state.s", "eq", json!("abcx")), test + LOOKUP + 4),
        (of("state.s", "in", json!(["x", "y", "abcd", "z"])), test + 3 * LOOKUP + 4),
        (of("state.s", "contains", json!("cd")), test + 4 + 2),
        (of("state.l", "contains", json!(2)), test + 2 * LOOKUP),
        (of("state.o", "contains", json!("k")), test + LOOKUP + 1),
        (of("state.n", "gt", json!("x")), test + 2 * VALUE + 7),
        (of("state.s", "regex", json!("^abcd$")), test + 5 * Pattern::compile("^abcd$").unwrap().states()),
    ] {
        assert_eq!(cost(&condition, &state).1, fuel, "{condition}");
    }
}

#[test]
fn what_costs_more_than_there_is_is_refused() {
    const FUEL: u64 = 1_600_000;
    let text = "ab".repeat(usize::try_from(FUEL).unwrap() / 4);
    let state = json!({"s": text, "l": vec![1; 1 << 15]});
    for condition in [
        json!({"all": vec![json!({"path": "state.s", "value": text}); 3]}),
        json!({"all": vec![json!({"path": "state.s", "op": "lte", "value": text}); 3]}),
        json!({"any": vec![json!({"path": "state.s", "op": "contains", "value": "x"}); 3]}),
        json!({"any": vec![json!({"path": "state.l", "op": "contains", "value": 2}); 3]}),
        json!({"path": "state.s", "op": "regex", "value": "(a|b){20}c"}),
        json!({"all": vec![json!({"path": "state", "value": state}); 2]}),
    ] {
        let refused = (Err(FuelExhausted::Fuel), FUEL);
        assert_eq!(cost_within(FUEL, &condition, &state), refused, "{:.60}", condition.to_string());
    }
}

#[test]
fn warnings_are_kept_up_to_a_number() {
    let tests: Vec<_> =
        (0..1_000).map(|n| json!({"path": format!("state.k{n}"), "op": "gt", "value": 1})).collect();
    let (holds, warnings) = decide(&json!({"any": tests}), &json!({}));
    assert!(!holds);
    assert_eq!(warnings.len(), MAX_WARNINGS);
}

#[test]
fn existence() {
    let exists = json!({"path": "state.a.b", "op": "exists"});
    assert!(holds(&exists, &json!({"a": {"b": false}})));
    assert!(holds(&exists, &json!({"a": {"b": ""}})));
    assert!(!holds(&exists, &json!({"a": {"b": null}})));
    assert!(!holds(&exists, &json!({"a": {}})));
    assert!(!holds(&exists, &json!({"a": 1})));
    assert!(holds(&json!({"path": "state.a", "op": "exists", "value": true}), &json!({"a": 1})));
}

#[test]
fn values_are_never_templates() {
    assert!(op("eq", &json!("${state.v}"), &json!("${state.v}")));
    assert!(!op("eq", &json!("x"), &json!("${state.v}")));
}

#[test]
fn mistakes_are_explained() {
    let test = |op: &str, value: Value| json!({"path": "state.v", "op": op, "value": value});
    for (condition, pointer, message, help) in [
        (json!(true), "", "`true` is not a condition", "leave the condition out"),
        (json!([]), "", "a list is not a condition", "all: [..]"),
        (json!("a > 1"), "", "not a condition", "{path: state.n, op: gt, value: 3}"),
        (json!({"op": "eq", "value": 1}), "", "no `path`", "path: state.n"),
        (json!({"pth": "state.v"}), "pth", "no key `pth`", "did you mean `path`?"),
        (json!({"path": "state.v", "colour": 1}), "colour", "no key `colour`", "a condition is"),
        (json!({"path": 3, "value": 1}), "path", "`path` is text", ""),
        (json!({"path": "${state.v}", "value": 1}), "path", "without `${`", "write `state.v`"),
        (json!({"path": "state..v", "value": 1}), "path", "a key is missing", ""),
        (json!({"path": "state.v", "op": "eq"}), "", "`eq` needs a `value`", "value: null"),
        (
            json!({"path": "state.v", "op": "eq", "operator": "eq", "value": 1}),
            "",
            "the same key",
            "one of them",
        ),
        (json!({"path": "state.v", "op": 1, "value": 1}), "op", "an operator is text", "eq, ne, gt"),
        (test("equal", json!(1)), "op", "no operator `equal`", "the operators are"),
        (test("gtt", json!(1)), "op", "no operator `gtt`", "did you mean `gt`?"),
        (test("contain", json!(1)), "op", "no operator `contain`", "did you mean `contains`?"),
        (test(">=", json!(1)), "op", "no operator `>=`", "did you mean `gte`?"),
        (test("gt", json!([1])), "value", "`gt` compares numbers or text", "eq"),
        (test("in", json!("abc")), "value", "the value of `in` is a list", "contains"),
        (test("regex", json!(1)), "value", "is a pattern", ""),
        (test("regex", json!("(a")), "value", "cannot be read: unclosed group", "linear time"),
        (test("regex", json!("(?=a)")), "value", "look-around", "linear time"),
        (test("regex", json!("(\\w{100}){100}")), "value", "the pattern is too large", ""),
        (test("exists", json!(false)), "value", "`exists` takes no `value`", "not:"),
        (json!({"any": {}}), "any", "`any` takes a list", "any: [..]"),
        (json!({"any": [], "all": []}), "", "`any` is next to other keys", "all: [..]"),
        (json!({"not": {}, "path": "state.v"}), "", "`not` is next to other keys", ""),
        (
            json!({"all": [{}, {"not": {"path": "state.v", "op": "no", "value": 1}}]}),
            "all/1/not/op",
            "no operator",
            "",
        ),
    ] {
        let error = Condition::from_json(&condition).unwrap_err();
        assert_eq!(error.pointer.join("/"), pointer, "{condition}: {error:?}");
        assert!(error.message.contains(message), "{condition}: {error:?}");
        assert!(error.help.clone().unwrap_or_default().contains(help), "{condition}: {error:?}");
    }
    let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
    assert_eq!(Condition::from_json(&deep).unwrap_err().message, "conditions nest too deeply");
}

#[test]
fn short_text() {
    for (condition, text) in [
        (json!({}), "always"),
        (json!({"any": []}), "never"),
        (json!({"path": "state.n", "op": "gt", "value": 10}), "state.n > 10"),
        (json!({"path": "result.s", "value": "x"}), "result.s == \"x\""),
        (json!({"path": "state.s", "op": "in", "value": [1, "a"]}), "state.s in [1, \"a\"]"),
        (json!({"path": "state.s", "op": "contains", "value": "a"}), "state.s contains \"a\""),
        (json!({"path": "state.s", "op": "regex", "value": "^a"}), "state.s =~ /^a/"),
        (json!({"not": {"path": "state.s", "op": "exists"}}), "state.s does not exist"),
        (
            json!({"all": [{"path": "state.a", "op": "exists"}, {"any": [{"path": "state.b", "op": "lte", "value": 1},
                {"not": {"path": "state.c", "op": "ne", "value": 2}}]}]}),
            "state.a exists and (state.b <= 1 or not (state.c != 2))",
        ),
    ] {
        assert_eq!(Condition::from_json(&condition).unwrap().to_string(), text);
    }
    let condition = Condition::from_json(&json!({"all": [{"path": "state.a", "op": "exists"},
        {"not": {"path": "result.b", "op": "exists"}}]}));
    let condition = condition.unwrap();
    assert_eq!(condition.paths().map(Path::as_str).collect::<Vec<_>>(), ["state.a", "result.b"]);
}

fn comparable() -> impl Strategy<Value = (Value, Value)> {
    let number = || {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-3_i64..3).prop_map(Value::from),
            (-12_i32..12).prop_map(|n| Value::from(f64::from(n) / 4.0)),
            proptest::num::f64::NORMAL.prop_map(Value::from),
        ]
    };
    prop_oneof![
        (number(), number()),
        ("[ab]{0,2}".prop_map(Value::from), any::<String>().prop_map(Value::from))
    ]
}

/// Conditions over `state.v` and `state.w`.
fn any_condition() -> impl Strategy<Value = Value> {
    let test =
        (prop_oneof![Just("v"), Just("w"), Just("x")], prop::sample::select(Op::ALL.to_vec()), any_json())
            .prop_map(|(key, op, value)| {
                let value = match op {
                    Op::In => json!([value, 1, "a"]),
                    Op::Regex => json!("[a-c]"),
                    Op::Exists => json!(null),
                    Op::Gt | Op::Gte | Op::Lt | Op::Lte if !value.is_number() && !value.is_string() => {
                        json!(1)
                    }
                    _ => value,
                };
                json!({"path": format!("state.{key}"), "op": op.as_str(), "value": value})
            });
    prop_oneof![test, Just(json!({}))].prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({"all": all})),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|any| json!({"any": any})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    })
}

proptest! {
    #[test]
    fn orders_are_dual((a, b) in comparable()) {
        prop_assert_eq!(op("lt", &a, &b), op("gt", &b, &a));
        prop_assert_eq!(op("lte", &a, &b), op("gte", &b, &a));
        prop_assert_eq!(op("lt", &a, &b), !op("gte", &a, &b));
        prop_assert_eq!(op("gt", &a, &b), !op("lte", &a, &b));
        prop_assert_eq!(op("eq", &a, &b), op("lte", &a, &b) && op("gte", &a, &b));
        prop_assert!(op("eq", &a, &a) && op("lte", &a, &a) && !op("lt", &a, &a));
    }

    #[test]
    fn equality_is_an_equivalence_and_ne_its_opposite(a in any_json(), b in any_json()) {
        prop_assert!(op("eq", &a, &a));
        prop_assert_eq!(op("eq", &a, &b), op("eq", &b, &a));
        prop_assert_eq!(op("eq", &a, &b), !op("ne", &a, &b));
        prop_assert_eq!(op("eq", &a, &b), op("in", &a, &json!([b])));
        prop_assert!(op("contains", &json!([b, a]), &a));
    }

    #[test]
    fn groups_obey_the_laws_of_logic(
        a in any_condition(), b in any_condition(), v in any_json(), w in any_json(),
    ) {
        let state = json!({"v": v, "w": w});
        let [left, right] = [&a, &b].map(|condition| holds(condition, &state));
        prop_assert_eq!(holds(&json!({"not": a}), &state), !left);
        prop_assert_eq!(holds(&json!({"not": {"not": a}}), &state), left);
        prop_assert_eq!(holds(&json!({"any": [a, b]}), &state), left || right);
        prop_assert_eq!(holds(&json!({"all": [a, b]}), &state), left && right);
        prop_assert_eq!(holds(&json!({"all": [a]}), &state), left);
        prop_assert_eq!(
            holds(&json!({"not": {"any": [a, b]}}), &state),
            holds(&json!({"all": [{"not": a}, {"not": b}]}), &state)
        );
    }

    #[test]
    fn reading_never_panics(value in any_json(), key in prop::sample::select(vec!["path", "op", "value", "any", "not"])) {
        let _ = Condition::from_json(&value);
        let _ = Condition::from_json(&json!({"path": "state.v", "op": "regex", "value": value}));
        let _ = Condition::from_json(&json!({key: value}));
    }
}
