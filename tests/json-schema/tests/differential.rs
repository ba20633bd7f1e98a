//! Random schemas and values, checked by this implementation and by the `jsonschema` crate.
#![allow(clippy::unwrap_used)]

use graph_core::schema::{InputSchema, SchemaFailure};
use graph_core::template::ValueTemplate;
use graph_core::work::Meter;
use jsonschema::{Draft, PatternOptions};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "ab", "a/b"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..12).prop_map(Value::from),
        (-6_i32..24).prop_map(|half| json!(f64::from(half) / 2.0)),
        select(vec![json!(u64::MAX), json!(i64::MIN), json!(9_007_199_254_740_993_u64), json!(1e300)]),
        select(vec!["", "a", "b", "ab", "aab", "é", "1", "a b"]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A keyword that has no subschemas.
fn plain() -> impl Strategy<Value = (&'static str, Value)> {
    let kinds = vec!["array", "boolean", "integer", "null", "number", "object", "string"];
    let kinds = prop_oneof![
        select(kinds.clone()).prop_map(Value::from),
        proptest::sample::subsequence(kinds, 1..4).prop_map(Value::from),
    ];
    let counts = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
    let limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let patterns = vec!["^a", "b$", "^[ab]*$", r"\d", r"^\w+$", r"\s", "é"];
    let names = proptest::sample::subsequence(vec!["a", "b", "c"], 0..3).prop_map(Value::from);
    prop_oneof![
        3 => kinds.prop_map(|kinds| ("type", kinds)),
        1 => value().prop_map(|value| ("const", value)),
        1 => vec(value(), 1..4).prop_map(|values| ("enum", Value::from(values))),
        2 => (select(counts.to_vec()), 0_u64..4).prop_map(|(keyword, n)| (keyword, Value::from(n))),
        2 => (select(limits.to_vec()), -2_i64..8).prop_map(|(keyword, n)| (keyword, Value::from(n))),
        1 => select(vec![json!(2), json!(1.5), json!(0.5), json!(3)]).prop_map(|of| ("multipleOf", of)),
        1 => select(patterns).prop_map(|pattern| ("pattern", Value::from(pattern))),
        1 => any::<bool>().prop_map(|unique| ("uniqueItems", Value::from(unique))),
        1 => names.clone().prop_map(|names| ("required", names)),
        1 => (name(), names).prop_map(|(name, names)| ("dependentRequired", json!({name: names}))),
    ]
}

/// A keyword that has subschemas.
fn applicator(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (&'static str, Value)> {
    let single = vec![
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "items",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    let by_pattern = select(vec!["^a", "b", r"^\w$"]);
    prop_oneof![
        4 => (select(single), inner.clone()),
        3 => (select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), vec(inner.clone(), 1..4))
            .prop_map(|(keyword, schemas)| (keyword, Value::from(schemas))),
        3 => (select(vec!["properties", "dependentSchemas"]), btree_map(name(), inner.clone(), 1..4))
            .prop_map(|(keyword, fields)| (keyword, Value::Object(fields.into_iter().collect()))),
        1 => (by_pattern, inner).prop_map(|(pattern, schema)| ("patternProperties", json!({pattern: schema}))),
        1 => (0_u64..3).prop_map(|n| ("minContains", Value::from(n))),
        1 => (0_u64..3).prop_map(|n| ("maxContains", Value::from(n))),
        2 => select(vec!["#/$defs/x", "#/$defs/y", "#anchor", "#/$defs/x/not"])
            .prop_map(|reference| ("$ref", Value::from(reference))),
    ]
}

fn object(keywords: Vec<(&'static str, Value)>) -> Value {
    Value::Object(
        keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect::<Map<_, _>>(),
    )
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        6 => vec(plain(), 0..3).prop_map(object),
    ]
}

/// A schema whose references do not lead back to themselves.
fn schema() -> impl Strategy<Value = Value> {
    let nested = leaf().prop_recursive(3, 24, 4, |inner| {
        let inner = inner.boxed();
        (vec(plain(), 0..2), vec(applicator(inner), 1..4)).prop_map(|(mut keywords, more)| {
            keywords.extend(more);
            object(keywords)
        })
    });
    (nested, leaf(), leaf()).prop_map(|(mut schema, x, y)| {
        if let Value::Object(fields) = &mut schema {
            let y = json!({"$anchor": "anchor", "anyOf": [y, {"type": "object"}]});
            fields.insert("$defs".to_owned(), json!({"x": {"not": x}, "y": y}));
        }
        schema
    })
}

/// Checks whether a value has a number that a double cannot represent exactly.
fn is_long(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().unwrap().abs() > 1e15,
        Value::Array(items) => items.iter().any(is_long),
        Value::Object(fields) => fields.values().any(is_long),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_implementations_agree(schema in schema(), values in vec(value(), 1..6)) {
        let other = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .build(&schema);
        let compiled = InputSchema::compile(&schema, &Meter::of_one_step());
        prop_assert_eq!(compiled.is_ok(), other.is_ok(), "{:?}, {:?}", compiled.err(), other.err());
        let (Ok(compiled), Ok(other)) = (compiled, other) else { return Ok(()) };
        // The other implementation divides doubles, which have no more than 53 bits.
        let divides = schema.to_string().contains("multipleOf");
        for value in values.into_iter().filter(|value| !divides || !is_long(value)) {
            let valid = other.is_valid(&value);
            let checked = compiled.validate_and_fill(value.clone(), &Meter::of_one_step());
            prop_assert!(!matches!(checked, Err(SchemaFailure::Exhausted(_))), "{}: {:?}", value, checked);
            prop_assert_eq!(checked.is_ok(), valid, "{}: {:?}", value, checked);
            // The reasons are found by another walk through the schema, which has to agree with the first.
            let literal = ValueTemplate::constant(value.clone());
            let problems = compiled.check_literal(&literal, &Meter::of_one_step()).unwrap();
            prop_assert_eq!(problems.is_empty(), valid, "{}: {:?}", value, problems);
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_alike(keyword in select(vec![
        "type", "enum", "required", "properties", "items", "allOf", "prefixItems", "minLength", "minimum", "multipleOf",
        "pattern", "uniqueItems", "dependentRequired", "dependentSchemas", "$anchor", "$id", "$defs", "not", "title",
        "$ref", "deprecated", "examples", "format", "contentSchema", "$vocabulary", "patternProperties", "definitions",
        "dependencies", "$comment", "const", "default", "unknown", "maxContains", "$dynamicAnchor", "$dynamicRef",
    ]), value in value()) {
        let schema = json!({"properties": {"p": {keyword: value}}});
        let valid = jsonschema::draft202012::meta::is_valid(&schema);
        let compiled = InputSchema::compile(&schema, &Meter::of_one_step());
        if valid {
            // The meta-schema does not check whether a reference can be resolved, or a pattern is valid.
            prop_assert!(compiled.is_ok() || keyword.ends_with("ef") || keyword.starts_with("pattern"), "{:?}", compiled);
        } else {
            prop_assert!(compiled.is_err());
        }
    }
}
