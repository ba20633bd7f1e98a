//! Schemas and values that are made to take much time or memory. The tests compare charges, never time.
#![allow(clippy::unwrap_used)]

use serde_json::{Map, Value, json};

use crate::schema::{InputSchema, SchemaFailure};
use crate::template::ValueTemplate;
use crate::work::rates::STEP;
use crate::work::{FuelExhausted, Meter};

fn compile(schema: &Value) -> InputSchema {
    InputSchema::compile(schema, &Meter::of_one_step()).unwrap()
}

/// Returns the result of checking a value, and its cost.
fn check(schema: &Value, value: Value) -> (Result<Value, SchemaFailure>, u64) {
    let schema = compile(schema);
    let meter = Meter::of_one_step();
    (schema.validate_and_fill(value, &meter), meter.spent())
}

fn is_exhausted(result: &Result<Value, SchemaFailure>) -> bool {
    *result == Err(SchemaFailure::Exhausted(FuelExhausted::Step))
}

/// Definitions each of which refers to the next twice.
fn doubling(keyword: &str, levels: usize) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({keyword: [next.clone(), next]}));
    }
    definitions.insert(format!("d{levels}"), json!({"const": 1}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn references_that_double_are_charged_for_each_visit() {
    for (keyword, value) in [("allOf", json!(1)), ("anyOf", json!(2)), ("oneOf", json!(2))] {
        let spent = |levels| check(&doubling(keyword, levels), value.clone()).1;
        let ratio = spent(10) / spent(9);
        assert!((1..=2).contains(&ratio) && spent(10) > spent(5) * 16, "{keyword}: {}", spent(10));
        let (result, spent) = check(&doubling(keyword, 35), value);
        assert!(is_exhausted(&result), "{keyword}: {result:?}");
        assert_eq!(spent, STEP);
    }
}

#[test]
fn a_dynamic_reference_is_charged_for_the_resources_on_its_way() {
    let name = "x".repeat(1000);
    let schema = |resources: usize| {
        let mut defs: Map<String, Value> = (0..resources)
            .map(|at| {
                let other = json!({ "$dynamicAnchor": format!("{name}y") });
                let to = format!("r{}", at + 1);
                (at.to_string(), json!({ "$id": format!("r{at}"), "$ref": to, "$defs": { "other": other } }))
            })
            .collect();
        let own = json!({ "$dynamicAnchor": name });
        let items = json!({ "$dynamicRef": format!("#{name}") });
        let last = json!({ "$id": format!("r{resources}"), "items": items, "$defs": { "own": own } });
        defs.insert("last".to_owned(), last);
        json!({ "$ref": "r0", "$defs": defs })
    };
    let spent = |resources| check(&schema(resources), json!([1, 2, 3])).1;
    assert!(spent(200) - spent(100) >= 3 * 100 * 1000, "{} {}", spent(200), spent(100));
    let (result, _) = check(&schema(500), Value::Array(vec![json!(0); 10_000]));
    assert!(is_exhausted(&result), "{result:?}");
}

#[test]
fn alternatives_that_double_with_each_level_of_a_value_are_charged() {
    let next = json!({"properties": {"a": {"$ref": "#"}}, "required": ["b"]});
    let schema = json!({"anyOf": [next, next, {"type": "integer"}]});
    let value = |levels| (0..levels).fold(json!("x"), |inner, _| json!({"a": inner}));
    let (result, _) = check(&schema, value(3));
    assert!(matches!(result, Err(SchemaFailure::Problems(_))), "{result:?}");
    // A missing field is found before the next level is evaluated.
    assert!(check(&schema, value(60)).1 < 1_000_000);
    let schema = json!({"anyOf": [
        {"additionalProperties": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}
    ], "not": {"const": "x"}});
    let (result, spent) = check(&schema, value(60));
    assert!(is_exhausted(&result) && spent == STEP, "{result:?}");
}

#[test]
fn a_tag_is_looked_at_before_what_is_nested() {
    let branch = |op: &str| {
        json!({
            "type": "object",
            "properties": {"op": {"const": op}, "left": {"$ref": "#"}, "right": {"$ref": "#"}},
            "required": ["op", "left"]
        })
    };
    let schema = json!({"oneOf": [branch("add"), branch("mul"), branch("sub"), {"type": "integer"}]});
    let value =
        |levels| (0..levels).fold(json!(1), |inner, _| json!({"op": "sub", "left": inner, "right": 2}));
    let (result, spent) = check(&schema, value(40));
    assert!(result.is_ok(), "{result:?}");
    assert!(spent < 41 * 10_000, "{spent}");
    let mut wrong = value(40);
    wrong["left"]["left"]["op"] = json!("div");
    let (result, spent) = check(&schema, wrong);
    assert!(matches!(result, Err(SchemaFailure::Problems(_))), "{result:?}");
    assert!(spent < 1_000_000, "{spent}");
}

#[test]
fn references_that_lead_back_to_themselves_are_reported() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"$dynamicAnchor": "n", "$dynamicRef": "#n"}),
        json!({"if": {"$ref": "#"}, "unevaluatedProperties": {"$ref": "#"}}),
    ] {
        let compiled = compile(&schema);
        let checked = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
            let meter = Meter::of_one_step();
            let params = ValueTemplate::constant(json!({}));
            let literal = compiled.check_literal(&params, &meter);
            (compiled.validate_and_fill(json!({}), &meter), literal)
        });
        let (result, literal) = checked.unwrap().join().unwrap();
        let Err(SchemaFailure::Problems(problems)) = result else { panic!("{schema}: {result:?}") };
        assert!(problems[0].message.contains("without end"), "{schema}: {problems:?}");
        assert_eq!(literal.map(|problems| problems.len()), Ok(1), "{schema}");
    }
}

#[test]
fn a_value_of_the_greatest_depth_is_checked() {
    let schema = json!({"$defs": {"node": {"anyOf": [{"type": "integer"}, {"allOf": [{"$ref": "#/$defs/list"}]}]}, "list": {
        "type": "array", "items": {"$ref": "#/$defs/node"}
    }}, "$ref": "#/$defs/node"});
    let value = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let compiled = compile(&schema);
    let checked = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || compiled.validate_and_fill(value, &Meter::of_one_step()).is_ok());
    assert!(checked.unwrap().join().unwrap());
}

#[test]
fn the_deepest_evaluation_fits_into_a_small_stack() {
    let chain = |wrap: &dyn Fn(Value) -> Value| {
        let mut definitions = Map::new();
        for level in 0..340 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), wrap(next));
        }
        definitions.insert("d340".to_owned(), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    for schema in [
        chain(&|next| json!({"anyOf": [next]})),
        chain(&|next| json!({"oneOf": [next]})),
        chain(&|next| json!({"allOf": [next], "unevaluatedProperties": false})),
        chain(&|next| json!({"if": true, "then": next})),
        chain(&|next| json!({"if": false, "else": next, "unevaluatedItems": false})),
        chain(&|next| json!({"dependentSchemas": {"a": next}})),
    ] {
        let compiled = compile(&schema);
        let checked = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || compiled.validate_and_fill(json!({"a": 1}), &Meter::of_one_step()));
        let result = checked.unwrap().join().unwrap();
        assert!(result.is_err(), "{schema}");
    }
}

#[test]
fn distinct_items_are_found_in_less_than_quadratic_time() {
    let schema = json!({"uniqueItems": true});
    let spent = |items: Vec<Value>| {
        let (result, spent) = check(&schema, Value::from(items));
        assert!(result.is_ok(), "{result:?}");
        spent
    };
    let (small, large) =
        (spent((0..10_000).map(Value::from).collect()), spent((0..100_000).map(Value::from).collect()));
    assert!(large < small * 14, "{small}, {large}");
    let texts = |n: usize| (0..n).map(|at| json!(format!("{at:06}"))).collect::<Vec<_>>();
    assert!(spent(texts(100_000)) < STEP / 2);
    // Long texts that differ at their ends are charged for each comparison.
    let long: Vec<_> = (0..400).map(|at| json!(format!("{}{at:03}", "x".repeat(100_000)))).collect();
    assert!(is_exhausted(&check(&schema, Value::from(long)).0));
    let mut same = texts(100_000);
    same.push(json!("000007"));
    assert!(matches!(check(&schema, Value::from(same)).0, Err(SchemaFailure::Problems(_))));
}

#[test]
fn many_alternatives_cost_what_each_of_them_costs() {
    let alternatives = |n: usize| json!({"oneOf": (0..n).map(|at| json!({"const": at})).collect::<Vec<_>>()});
    let meter = Meter::of_one_step();
    let large = InputSchema::compile(&alternatives(100_000), &meter);
    assert!(large.is_ok() || large.is_err_and(|errors| errors[0].limit));
    let (result, spent) = check(&alternatives(20_000), json!(19_999));
    assert!(result.is_ok());
    assert!((20_000 * 128..20_000 * 512).contains(&spent), "{spent}");
    let (result, _) = check(&alternatives(20_000), json!("x"));
    let Err(SchemaFailure::Problems(problems)) = result else { panic!("{result:?}") };
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.starts_with("it is not one of 0, 1, 2"), "{problems:?}");
}

#[test]
fn patterns_are_charged_for_their_states_and_the_text() {
    let schema = json!({"items": {"pattern": "^(a|aa|aaa){1,200}$"}});
    let spent = |n: usize| check(&schema, json!(["b".repeat(n)])).1;
    assert!(spent(2_000) > spent(1_000) * 3 / 2);
    assert!(is_exhausted(&check(&schema, json!(["a".repeat(1_000_000)])).0));
    // Each of several patterns that are too large is charged, and their sum is bounded.
    let meter = Meter::of_one_step();
    let many = |pattern: &str, n: usize| {
        let each = (0..n).map(|at| json!({"pattern": format!("{at}{pattern}")}));
        json!({"allOf": each.collect::<Vec<_>>()})
    };
    let errors = InputSchema::compile(&many("(a{1000}){1000}", 100), &meter).unwrap_err();
    assert!(errors[0].limit && errors.len() == 1, "{errors:?}");
    let errors = InputSchema::compile(&many("[ab]{1,900}", 100), &Meter::of_one_step()).unwrap_err();
    assert!(errors[0].limit || errors[0].message.contains("one pattern too many"), "{errors:?}");
}

#[test]
fn defaults_are_charged_for_what_they_bring_in() {
    let large = json!({"text": "x".repeat(100_000)});
    let schema = json!({"items": {"properties": {"a": {"default": large}, "b": {"default": large}}}});
    let (result, spent) = check(&schema, json!([{}, {}]));
    assert!(result.is_ok() && spent > 400_000, "{spent}");
    let many = vec![json!({}); 2_000];
    assert!(is_exhausted(&check(&schema, Value::from(many)).0));
    let doubled = doubling("allOf", 40);
    assert!(is_exhausted(&check(&doubled, json!({})).0));
}

#[test]
fn what_is_reported_is_bounded() {
    let schema = json!({"items": {"type": "string", "minimum": 5, "enum": []}});
    let values = Value::from((0..10_000).collect::<Vec<_>>());
    let Err(SchemaFailure::Problems(problems)) = check(&schema, values).0 else { panic!() };
    assert_eq!(problems.len(), 50);
    let schema = json!({"additionalProperties": false});
    let fields: Map<String, Value> =
        (0..10_000).map(|at| (format!("{at}{}", "x".repeat(1_000)), json!(1))).collect();
    let Err(SchemaFailure::Problems(problems)) = check(&schema, Value::Object(fields)).0 else { panic!() };
    assert!(problems.len() == 1 && problems[0].message.chars().count() <= 301);
}

#[test]
fn a_schema_that_takes_too_much_is_told_from_a_wrong_one() {
    let schema = json!({"allOf": vec![json!({"type": "string", "title": "x"}); 100]});
    let meter = Meter::new(10_000);
    let errors = InputSchema::compile(&schema, &meter).unwrap_err();
    assert!(errors.len() == 1 && errors[0].limit, "{errors:?}");
    assert_eq!(meter.spent(), 10_000);
    assert!(!InputSchema::compile(&json!({"type": 1}), &Meter::of_one_step()).unwrap_err()[0].limit);
    let failure = compile(&schema).validate_and_fill(json!("x"), &Meter::new(1_000)).unwrap_err();
    assert_eq!(failure, SchemaFailure::Exhausted(FuelExhausted::Fuel));
}
