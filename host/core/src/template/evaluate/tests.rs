#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::json;

use super::pipes::CASE_GROWTH;
use super::*;
use crate::json::{self, any_json};
use crate::template::Root;
use crate::work::rates::{CASE_BYTE, STEP};

fn run_mode(
    template: &Value,
    state: &Value,
    mode: TemplateMode,
) -> (Result<Value, TemplateError>, Vec<String>) {
    let mut missing = Vec::new();
    let template = ValueTemplate::parse(template).unwrap();
    let scope = Scope::new().with("state", Root::Value(state));
    let value = template.evaluate(&scope, mode, &mut missing, &Meter::of_one_step());
    (value, missing)
}

fn run(template: &Value, state: &Value) -> Value {
    run_mode(template, state, TemplateMode::Lenient).0.unwrap()
}

fn text(template: &str, state: &Value) -> Value {
    run(&json!(template), state)
}

#[test]
fn a_whole_expression_keeps_the_type() {
    let state = json!({"n": 9_007_199_254_740_993_u64, "list": [1, {"a": null}], "t": true, "s": "x"});
    assert_eq!(text("${state.n}", &state), json!(9_007_199_254_740_993_u64));
    assert_eq!(text("${ state.list }", &state), json!([1, {"a": null}]));
    assert_eq!(text("${state.list[-1].a}", &state), json!(null));
    assert_eq!(text("${state}", &state), state);
    assert_eq!(text("${'lit'}", &state), json!("lit"));
    assert_eq!(text(" ${state.t}", &state), json!(" true"));
    assert_eq!(
        run(&json!({"a": ["${state.t}", 1, "${state.s}!"], "${state.s}": 2}), &state),
        json!({"a": [true, 1, "x!"], "${state.s}": 2}),
        "object keys are literal"
    );
}

#[test]
fn inside_text_values_become_text() {
    let state = json!({"s": "x\"y", "n": 3.0, "b": false, "z": null, "o": {"b": [1, "q"], "a": 1.5}});
    assert_eq!(text("<${state.s}|${state.n}|${state.b}>", &state), json!("<x\"y|3|false>"));
    assert_eq!(text("<${state.z}|${state.none}>", &state), json!("<|>"));
    assert_eq!(text("o=${state.o}", &state), json!(r#"o={"a":1.5,"b":[1,"q"]}"#));
    assert_eq!(text("${state.s}${state.s}", &state), json!("x\"yx\"y"));
    assert_eq!(text("{\"z\": ${state.z | json}}", &state), json!("{\"z\": null}"));
}

#[test]
fn escapes_are_literal() {
    let state = json!({"s": "v"});
    assert_eq!(text("$${state.s}", &state), json!("${state.s}"));
    assert_eq!(text("$$${state.s}", &state), json!("$${state.s}"));
    assert_eq!(text("$ $$ {} $x ${state.s} $", &state), json!("$ $$ {} $x v $"));
    assert_eq!(text("a$${b} ${state.s}", &state), json!("a${b} v"));
    assert_eq!(ValueTemplate::parse(&json!({"a": "$${x}"})).unwrap().literal(), Some(&json!({"a": "${x}"})));
}

#[test]
fn the_first_that_is_not_null_is_taken() {
    let state = json!({"z": null, "f": false, "e": "", "l": []});
    assert_eq!(text("${state.none || state.z || 'text'}", &state), json!("text"));
    assert_eq!(text("${state.f || 1}", &state), json!(false));
    assert_eq!(text("${state.e || \"x\"}", &state), json!(""));
    assert_eq!(text("${state.l || 1}", &state), json!([]));
    for (literal, value) in [
        ("'a || b } | c'", json!("a || b } | c")),
        (r"'it\'s \\ \n'", json!("it's \\ \n")),
        ("-12", json!(-12)),
        ("18446744073709551615", json!(u64::MAX)),
        ("1.5e3", json!(1500.0)),
        ("true", json!(true)),
        ("null", json!(null)),
        ("[]", json!([])),
        ("{ }", json!({})),
    ] {
        assert_eq!(text(&format!("${{state.none||{literal}}}"), &state), value, "{literal}");
    }
    assert_eq!(text("${state.none || state.z || state.gone}", &state), json!(null));
}

#[test]
fn pipes_convert() {
    let state = json!({"o": {"b": 1, "a": "é"}, "s": "Äb", "j": "{\"x\": [1]}", "l": [1, 2], "z": null});
    assert_eq!(text("${state.o | json}", &state), json!(r#"{"a":"é","b":1}"#));
    assert_eq!(text("${state.o|keys}", &state), json!(["a", "b"]));
    assert_eq!(text("${state.o | keys | length}", &state), json!(2));
    assert_eq!(text("${state.s | length} ${state.s | upper} ${state.s | lower}", &state), json!("2 ÄB äb"));
    assert_eq!(text("${state.j | from_json}", &state), json!({"x": [1]}));
    assert_eq!(text("${state.l | length}", &state), json!(2));
    assert_eq!(text("${state.z | upper}", &state), json!(null));
    assert_eq!(text("${state.z | json}", &state), json!("null"));
    assert_eq!(text("${state.z | json || 'none'}", &state), json!("none"));
    assert_eq!(text("${state.none | length || 0}", &state), json!(0));
    let fails =
        |template: &str| run_mode(&json!(template), &state, TemplateMode::Lenient).0.unwrap_err().to_string();
    assert_eq!(fails("${state.l | upper}"), "`${state.l | upper}`: `upper` takes text, not a list");
    assert_eq!(fails("${state.l | keys}"), "`${state.l | keys}`: `keys` takes an object, not a list");
    assert_eq!(
        fails("${state.s | from_json}"),
        "`${state.s | from_json}`: `from_json` takes JSON text, not this text: expected value at line 1, column 1"
    );
}

#[test]
fn pipes_convert_texts_lists_and_numbers() {
    let state = json!({
        "s": "  a\tb \r\n", "lines": "one\r\ntwo\n\nthree\n", "csv": "a,b,,c", "ä": "äöü€",
        "l": [3, 1.0, 2, 1, 3.0], "t": ["b", "a", "b"], "mixed": ["a", null, 1, true, 2.50], "none": [],
        "n": 2.675, "at": "2030-01-31T12:00:00.250Z", "seconds": 1_900_000_000.5, "z": null,
    });
    for (expression, expected) in [
        ("state.s | trim", json!("a\tb")),
        ("state.lines | lines", json!(["one", "two", "", "three"])),
        ("'' | lines", json!([])),
        ("state.csv | split(',')", json!(["a", "b", "", "c"])),
        ("'' | split(',')", json!([""])),
        ("state.mixed | join('; ')", json!("a; ; 1; true; 2.5")),
        ("state.none | join('x')", json!("")),
        ("state.csv | split(',') | join(\"-\")", json!("a-b--c")),
        ("state.l | first", json!(3)),
        ("state.l | last", json!(3.0)),
        ("state.none | first", json!(null)),
        ("state.none | last || 'no'", json!("no")),
        ("state.t | sort | first | upper", json!("A")),
        ("state.l | slice(1, 3)", json!([1.0, 2])),
        ("state.l | slice(-2)", json!([1, 3.0])),
        ("state.l | slice( 0 , -4 )", json!([3])),
        ("state.l | slice(4, 2)", json!([])),
        ("state.l | slice(99)", json!([])),
        ("state.ä | slice(1, 3)", json!("öü")),
        ("state.ä | slice(-1)", json!("€")),
        ("state.l | unique", json!([3, 1.0, 2])),
        ("state.t | unique", json!(["b", "a"])),
        ("state.l | sort", json!([1.0, 1, 2, 3, 3.0])),
        ("state.t | sort", json!(["a", "b", "b"])),
        ("state.l | sum", json!(10.0)),
        ("state.none | sum", json!(0)),
        ("state.l | min", json!(1.0)),
        ("state.l | max", json!(3)),
        ("state.t | max", json!("b")),
        ("state.none | min", json!(null)),
        ("state.n | round", json!(3)),
        ("state.n | round()", json!(3)),
        ("state.n | round(2)", json!(2.68)),
        ("state.at | time", json!("2030-01-31T12:00:00.250Z")),
        ("'2030-01-31' | time('%A, %d %B %Y')", json!("Thursday, 31 January 2030")),
        ("state.at | time('%H:%M %:z', '+05:30')", json!("17:30 +05:30")),
        ("state.seconds | time", json!("2030-03-17T17:46:40.500Z")),
        (
            "state.at | time('%a %e %b %y, %I:%M:%S.%f %p, %j %u %F %T %z %s %%')",
            json!("Thu 31 Jan 30, 12:00:00.250 PM, 031 4 2030-01-31 12:00:00 +0000 1896091200 %"),
        ),
        ("'2030-01-01T00:30:00Z' | time('%I %p %F', '-01:00')", json!("11 PM 2029-12-31")),
        ("state.z | sort", json!(null)),
    ] {
        assert_eq!(text(&format!("${{{expression}}}"), &state), expected, "{expression}");
    }
    for (expression, message) in [
        ("state.s | lines | sum", "`sum` takes a list of numbers, not a list with text"),
        ("state.l | join(',') | first", "`first` takes a list, not text"),
        (
            "state.mixed | sort",
            "`sort` takes a list of numbers, or a list of texts, not a list with text and null",
        ),
        ("state.t | sum", "not a list with text"),
        ("state.t | round", "`round` takes a number, not a list"),
        (
            "state.s | time",
            "`time` takes a time in RFC 3339, or a number of seconds since 1970, not the text `",
        ),
        ("-1 | time", "not a number before 1970 or after 9999"),
        ("state | keys | max | sum", "not text"),
        ("state.l | first | trim", "`trim` takes text, not a number"),
    ] {
        let template = json!(format!("${{{expression}}}"));
        let error = run_mode(&template, &state, TemplateMode::Lenient).0.unwrap_err().to_string();
        assert!(error.contains(message), "{expression}: {error}");
    }
}

#[test]
fn arguments_of_pipes_are_checked_when_they_are_read() {
    for (template, offset, message, help) in [
        ("${a | split}", 6, "`split` needs a separator", "`split(separator)`"),
        ("${a | split()}", 6, "`split` needs a separator", ""),
        ("${a | split('')}", 12, "the separator of `split` is empty", ""),
        ("${a | split(1)}", 12, "the separator of `split` is text in quotes", ""),
        ("${a | split(b)}", 12, "not an argument", "literals"),
        ("${a | split('a' 'b')}", 16, "`,` or `)` is missing", ""),
        ("${a | split('a'", 15, "`}` that closes", ""),
        ("${a | split('a', 'b')}", 17, "`split` takes one argument", ""),
        ("${a | sort(1)}", 11, "`sort` takes no argument", "`sort`"),
        ("${a | slice(1.5)}", 12, "the from of `slice` is a whole number", "`slice(from[, to])`"),
        ("${a | round(99)}", 12, "the digits of `round` is a whole number from 0 to 15", "`round([digits])`"),
        ("${a | time('%!')}", 11, "there is no directive `%!`", "reference"),
        ("${a | time('%H', 'Europe/Berlin')}", 17, "is not an offset from UTC", "+02:00"),
    ] {
        let error = ValueTemplate::parse(&json!(template)).unwrap_err();
        assert_eq!(error.offset, offset, "{template}: {error:?}");
        assert!(error.message.contains(message), "{template}: {error:?}");
        assert!(error.help.clone().unwrap_or_default().contains(help), "{template}: {error:?}");
    }
    let long = format!("${{a | time('{}')}}", "%Y".repeat(200));
    assert!(ValueTemplate::parse(&json!(long)).unwrap_err().message.contains("more than 256 bytes"));
}

#[test]
fn missing_paths_are_recorded_or_refused() {
    let state = json!({"z": null});
    let template =
        json!({"a": "${state.a}", "b": "x${state.a}${state.b.c}", "c": "${state.z}", "d": "${state.d || 1}"});
    let (value, missing) = run_mode(&template, &state, TemplateMode::Lenient);
    assert_eq!(value.unwrap(), json!({"a": null, "b": "x", "c": null, "d": 1}));
    assert_eq!(missing, ["state.a", "state.b.c"]);

    let (value, missing) = run_mode(&json!("${state.a.b}"), &state, TemplateMode::Strict);
    assert_eq!(
        value.unwrap_err().to_string(),
        "`${state.a.b}`: there is nothing at `state.a.b`, and `templates: strict` makes that an error; \
         write `${state.a.b || null}` where it may be missing"
    );
    assert!(missing.is_empty());
    let allowed = json!(["${state.z}", "${state.a || state.b}", "${state.a || null}"]);
    assert_eq!(run_mode(&allowed, &state, TemplateMode::Strict).0.unwrap(), json!([null, null, null]));
    let root = run_mode(&json!("${result.x}"), &state, TemplateMode::Lenient);
    assert_eq!(root, (Ok(json!(null)), vec!["result.x".to_owned()]));
}

#[test]
fn mistakes_are_explained() {
    for (template, offset, message, help) in [
        (
            "${state.a + [1]}",
            10,
            "`+` is not allowed here: templates look values up; they do not compute",
            "reducer: append",
        ),
        ("n: ${state.a + 1}", 13, "do not compute", "reducer: sum"),
        ("${a == b}", 4, "`==` is not allowed here", "condition"),
        ("${a > 1}", 4, "`>` is not allowed here", "op: gt"),
        ("${a && b}", 4, "`&&`", "condition"),
        ("${a ? b : c}", 4, "`?`", "condition"),
        ("${not a}", 6, "is not allowed here", ""),
        ("${x:-0}", 3, "`:-`", "${a || b || 'text'}"),
        ("${a ?? b}", 4, "`??`", "||"),
        ("${a or b}", 4, "`or`", "||"),
        ("${a * 2}", 4, "`*`", "compute in a node"),
        ("${len(a)}", 5, "`(`", "${state.list | length}"),
        ("${a | size}", 6, "no pipe `size`", "json, from_json, length"),
        ("${a | lenght}", 6, "no pipe `lenght`", "did you mean `length`"),
        ("${a | }", 6, "a pipe is missing", ""),
        ("${}", 2, "the template is empty", "${state.key}"),
        ("${  }", 4, "the template is empty", ""),
        ("${a || }", 7, "a value is missing after `||`", ""),
        ("${a", 3, "`}` that closes", "$${"),
        ("${", 2, "`}` that closes", "$${"),
        ("${a || 'b}", 7, "quote is not closed", ""),
        ("${a || [1]}", 7, "only an empty `[]`", "YAML"),
        ("${1a}", 3, "is not allowed here", ""),
        ("${a.}", 4, "a key is missing", ""),
        ("${a..b}", 4, "a key is missing", ""),
        ("${${a}}", 2, "is not allowed here", ""),
    ] {
        let error = ValueTemplate::parse(&json!({"x": [0, template]})).unwrap_err();
        assert_eq!(error.pointer, ["x", "1"]);
        assert_eq!(error.offset, offset, "{template}: {error:?}");
        assert!(error.message.contains(message), "{template}: {error:?}");
        assert!(error.help.clone().unwrap_or_default().contains(help), "{template}: {error:?}");
    }
}

#[test]
fn literals_and_paths_are_told() {
    let template = ValueTemplate::parse(&json!({"a": 1, "b": ["x"]})).unwrap();
    assert_eq!(template.literal(), Some(&json!({"a": 1, "b": ["x"]})));
    assert_eq!(template.paths().count(), 0);

    let template =
        ValueTemplate::parse(&json!({"a": "${state.x || inputs.y}", "b": ["-", "${result}!"]})).unwrap();
    assert_eq!(template.literal(), None);
    let mut uses = Vec::new();
    template.each_path(&mut |used| {
        uses.push((used.path.to_string(), used.optional, used.pointer.join("/")));
    });
    let paths = template.paths().map(|used| (used.path.to_string(), used.optional));
    assert!(paths.eq(uses.iter().map(|(path, optional, _)| (path.clone(), *optional))));
    assert_eq!(
        uses,
        [
            ("state.x".to_owned(), true, "a".to_owned()),
            ("inputs.y".to_owned(), true, "a".to_owned()),
            ("result".to_owned(), false, "b/1".to_owned())
        ]
    );
    assert_eq!(ValueTemplate::parse(&json!("${state.x}")).unwrap().as_path().unwrap().as_str(), "state.x");
    assert!(ValueTemplate::parse(&json!("${state.x | json}")).unwrap().as_path().is_none());
    assert!(ValueTemplate::parse(&json!("${state.x || 1}")).unwrap().as_path().is_none());
}

#[test]
fn a_named_value_is_not_copied() {
    let state = json!({"big": [1, 2, 3]});
    let template = ValueTemplate::parse(&json!("${state.big}")).unwrap();
    let scope = Scope::new().with("state", Root::Value(&state));
    let meter = Meter::of_one_step();
    let value = template.evaluate_borrowed(&scope, TemplateMode::Lenient, &mut Vec::new(), &meter).unwrap();
    assert!(matches!(value, Cow::Borrowed(value) if std::ptr::eq(value, &raw const state["big"])));
    let lookups = 2 * LOOKUP + "state.big".len() as u64;
    assert_eq!(meter.spent(), lookups + 3 * PASS);
    let copied = Meter::of_one_step();
    template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), &copied).unwrap();
    assert_eq!(copied.spent(), lookups + size::of(&state["big"]));
}

#[test]
fn results_are_bounded() {
    let mut deep = json!(1);
    for _ in 0..MAX_DEPTH {
        deep = json!([deep]);
    }
    assert_eq!(text("${state}", &deep), deep);
    let error = run_mode(&json!(["${state}"]), &deep, TemplateMode::Lenient).0.unwrap_err();
    assert_eq!(error, TemplateError::TooDeep);

    let error = run_mode(&json!([["${state}"]]), &deep, TemplateMode::Lenient).0.unwrap_err();
    assert_eq!(error, TemplateError::TooDeep);
    let text_of_it = json!({"s": json::canonical_string(&deep)});
    let error =
        run_mode(&json!(["${state.s | from_json}"]), &text_of_it, TemplateMode::Lenient).0.unwrap_err();
    assert_eq!(error, TemplateError::TooDeep);
}

/// Returns the result of evaluating a template with this much fuel, and its cost.
fn cost_within(fuel: u64, template: &Value, state: &Value) -> (Result<Value, TemplateError>, u64) {
    let template = ValueTemplate::parse(template).unwrap();
    let scope = Scope::new().with("state", Root::Value(state));
    let meter = Meter::new(fuel);
    let value = template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), &meter);
    (value, meter.spent())
}

fn cost(template: &Value, state: &Value) -> (Result<Value, TemplateError>, u64) {
    cost_within(STEP, template, state)
}

#[test]
fn each_part_is_charged() {
    let state = json!({"s": "abc", "u": "é", "o": {"k": 1}, "j": "[1]", "l": [1, 2]});
    let lookup = 2 * LOOKUP + "state.s".len() as u64;
    for (template, fuel) in [
        (json!(1), VALUE),
        (json!({"key": ["x"]}), 10 * VALUE + 3 + VALUE + VALUE + 1),
        (json!("${state.s}"), lookup + VALUE + 3),
        (json!("-${state.s}-"), VALUE + 1 + lookup + 3 + 1),
        (json!("-${state.l}"), VALUE + 1 + lookup + 3 * VALUE + 5),
        (json!(["${state.s}"]), VALUE + lookup + VALUE + 3),
        (json!({"a": "${state.s}"}), 10 * VALUE + 1 + lookup + VALUE + 3),
        (json!("${state.l | json}"), lookup + LOOKUP + 3 * VALUE + 5 + VALUE),
        (json!("${state.j | from_json}"), lookup + LOOKUP + 3 * 8 + 2 * VALUE + PASS),
        (json!("${state.s | length}"), lookup + LOOKUP + 3 * CASE_BYTE),
        (json!("${state.l | length}"), lookup + LOOKUP),
        (json!("${state.o | keys}"), lookup + LOOKUP + 2 * VALUE + 1 + PASS),
        (json!("${state.s | upper}"), lookup + LOOKUP + VALUE + 3 * CASE_BYTE + 3),
        (json!("${state.u | lower}"), lookup + LOOKUP + VALUE + 2 * CASE_BYTE + 2 * 3),
        (json!("${state.x}"), lookup + VALUE + 7),
        (json!("${state.x || 1}"), lookup + LOOKUP + VALUE),
    ] {
        assert_eq!(cost(&template, &state).1, fuel, "{template}");
    }
}

#[test]
fn what_costs_more_than_there_is_is_refused() {
    const FUEL: u64 = 1_600_000;
    let cost = |template: &Value, state: &Value| cost_within(FUEL, template, state);
    let refused = Err(TemplateError::Exhausted(FuelExhausted::Fuel));
    let state = json!({"s": "x".repeat(usize::try_from(FUEL).unwrap() / 8)});
    let copies = |count: usize| vec![json!("${state.s}"); count].into();
    assert!(cost(&copies(7), &state).0.is_ok());
    assert!(cost(&copies(8), &state) == (refused.clone(), FUEL));
    for template in ["-${state.s}".repeat(8), "${state.s | upper | lower}".to_owned()] {
        assert!(cost(&json!(template), &state).0 == refused, "{}", template.len());
    }
    // Escapes make nested JSON text longer each time.
    let state = json!({"s": "\"\n".repeat(1 << 10)});
    let doubling = format!("${{state.s{}}}", " | json".repeat(40));
    assert!(cost(&json!(doubling), &state) == (refused.clone(), FUEL));
    let nested = json!({"s": format!("[{}[]]", "[],".repeat(2 << 14))});
    assert!(cost(&json!("${state.s | from_json}"), &nested).0 == refused);
    let wide: Value = (0..1 << 14).map(|n| (n.to_string(), json!(n))).collect::<Map<_, _>>().into();
    assert!(cost(&json!("${state}${state}"), &wide).0 == refused);
    assert!(cost(&json!(["${state | keys}", "${state | keys}"]), &wide).0 == refused);
}

/// A state that is written back into itself grows only up to the limit of one step.
#[test]
fn a_text_that_doubles_stops_at_the_step() {
    let template = ValueTemplate::parse(&json!("${state.s}${state.s}")).unwrap();
    let mut state = json!({"s": "x".repeat(1_000)});
    let refused = (0..64).find_map(|_| {
        let meter = Meter::of_one_step();
        let value = template.evaluate(
            &Scope::new().with("state", Root::Value(&state)),
            TemplateMode::Lenient,
            &mut Vec::new(),
            &meter,
        );
        match value {
            Ok(value) => {
                assert!(size::of(&value) <= meter.spent() && meter.spent() <= STEP);
                state = json!({"s": value});
                None
            }
            Err(error) => Some(error),
        }
    });
    assert_eq!(refused, Some(TemplateError::Exhausted(FuelExhausted::Step)));
}

#[test]
fn missing_paths_are_reported_up_to_a_number() {
    let templates: Value = (0..10_000).map(|n| json!(format!("${{state.k{n}}}"))).collect();
    let (value, missing) = run_mode(&templates, &json!({}), TemplateMode::Lenient);
    assert_eq!(value.unwrap(), json!(vec![Value::Null; 10_000]));
    assert_eq!(missing.len(), MAX_MISSING);
}

#[test]
fn no_text_grows_more_than_is_charged() {
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        let most = text.len() * usize::try_from(CASE_GROWTH).unwrap();
        assert!(text.to_uppercase().len() <= most && text.to_lowercase().len() <= most, "{c:?}");
    }
}

/// Generates strings in which templates, their parts and their escapes are frequent.
fn template_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("${state.a}"),
        Just("${"),
        Just("$"),
        Just("}"),
        Just("$${"),
        Just("state"),
        Just(".a"),
        Just("[0]"),
        Just("||"),
        Just("|"),
        Just(" json"),
        Just("'q'"),
        Just("'"),
        Just("\\"),
        Just("é"),
        Just("-1"),
        Just("${x}")
    ];
    prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn parsing_and_evaluating_never_panic(template in template_text(), state in any_json()) {
        match ValueTemplate::parse(&json!([template])) {
            Err(error) => prop_assert!(error.offset <= template.len()),
            Ok(template) => {
                let scope = Scope::new().with("state", Root::Value(&state));
                let meter = Meter::of_one_step();
                let _ = template.evaluate(&scope, TemplateMode::Strict, &mut Vec::new(), &meter);
                let value = template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), &meter);
                // The charge covers the memory of the result.
                prop_assert!(value.is_ok_and(|value| size::of(&value) <= meter.spent()));
                // A meter with less fuel is never charged more than it has.
                let scarce = Meter::new(meter.spent() / 2);
                let _ = template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), &scarce);
                prop_assert!(scarce.spent() <= meter.spent() / 2);
            }
        }
    }

    #[test]
    fn data_is_never_evaluated(data in template_text(), secret in "[A-Z]{8}") {
        let state = json!({"a": data, "x": secret, "l": [data]});
        prop_assert_eq!(text("${state.a}", &state), json!(data));
        prop_assert_eq!(text("<${state.a}>", &state), json!(format!("<{data}>")));
        prop_assert_eq!(text("${state.l}${state.none || state.a}", &state),
            json!(format!("{}{data}", json::canonical_string(&json!([data])))));
        prop_assert_eq!(run(&json!({"k": ["${state.a}"]}), &state), json!({"k": [data]}));
    }

    #[test]
    fn values_without_templates_mean_themselves(value in any_json()) {
        prop_assume!(!value.to_string().contains("${"));
        let template = ValueTemplate::parse(&value).unwrap();
        prop_assert_eq!(template.literal(), Some(&value));
        prop_assert_eq!(run(&value, &json!(null)), value);
    }

    #[test]
    fn escaped_text_means_itself(text in template_text()) {
        // A `$` directly before `${` would read as a part of the escape.
        prop_assume!(!text.contains("$${"));
        let escaped = text.replace("${", "$${");
        prop_assert_eq!(run(&json!(escaped), &json!({"a": 1})), json!(text));
    }

    #[test]
    fn a_whole_expression_is_the_value(value in any_json()) {
        prop_assert_eq!(text("${state}", &value), value.clone());
        prop_assert_eq!(text("${state.v}", &json!({"v": value})), value);
    }
}
