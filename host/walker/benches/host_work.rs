//! The charge for the host's own work, compared with the time that it takes: a unit of host fuel is meant to be worth about a nanosecond.
//! `cargo bench -p graph-core --bench host_work` prints the table; a word after `--` names the rows to print.

use std::hint::black_box;
use std::time::{Duration, Instant};

use graph_core::condition::Condition;
use graph_core::policy::{Reducer, TemplateMode};
use graph_core::template::{Root, Scope, ValueTemplate};
use graph_core::text_item::Directive;
use graph_core::work::rates::STEP;
use graph_core::work::{Meter, size};
use graph_walker::work_vectors as vectors;
use serde_json::{Map, Value, json};

/// Number of rounds of each operation. The fastest is shown, since only other load makes it slower.
const ROUNDS: usize = 5;
/// Least work of a round, in units.
const UNITS: u64 = STEP / 4;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut table = Table { wanted };
    println!("{:<44} {:>13} {:>13} {:>9} {:>13}", "operation", "units", "ns", "ns/unit", "ms per step");
    let state = state();
    values(&mut table, &state);
    templates(&mut table, &state);
    conditions(&mut table, &state);
    folds(&mut table);
    directives(&mut table);
}

fn state() -> Value {
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(20_000);
    let message =
        |n: i32| json!({"id": format!("message-{n:06}"), "role": "user", "content": "a few words of text"});
    let object: Map<String, Value> = (0..20_000).map(|n| (format!("key-{n:05}"), json!(n))).collect();
    let nested = (0..90).fold(json!([1]), |inner, _| json!([inner]));
    json!({
        "ascii": long,
        "umlauts": "Größe über Maß, straßenweise: ΑΣΣΟΣ ".repeat(20_000),
        "escapes": "\"\n\u{1}\\".repeat(100_000),
        "integers": (0..100_000).collect::<Vec<_>>(),
        "floats": (0..50_000).map(|n| f64::from(n) / 7.0).collect::<Vec<_>>(),
        "words": (0..50_000).map(|n| format!("word-{n}")).collect::<Vec<_>>(),
        "lists": vec![json!([]); 100_000],
        "nested": vec![nested; 1_000],
        "messages": (0..10_000).map(message).collect::<Vec<_>>(),
        "singles": (0..20_000).map(|n| json!({"n": n})).collect::<Vec<_>>(),
        "object": object,
        "small": {"a": {"b": {"c": 1}}, "text": "short"},
        "bits": "ab".repeat(20_000),
    })
}

fn values(table: &mut Table, state: &Value) {
    for name in ["ascii", "integers", "floats", "words", "lists", "nested", "messages", "singles", "object"] {
        let value = &state[name];
        table.row(&format!("copy: {name}"), |meter| {
            size::copy(value, meter).map(|copy| drop(black_box(copy)))
        });
    }
}

fn templates(table: &mut Table, state: &Value) {
    for name in ["ascii", "umlauts", "escapes", "integers", "floats", "words", "messages", "object"] {
        template(table, &format!("json: {name}"), &json!(format!("${{state.{name} | json}}")), state);
    }
    for name in [
        "ascii", "escapes", "integers", "floats", "words", "lists", "nested", "messages", "singles", "object",
    ] {
        let text = serde_json::to_string(&state[name]).unwrap_or_default();
        let state = json!({"text": text});
        template(table, &format!("from_json: {name}"), &json!("${state.text | from_json}"), &state);
    }
    for name in ["ascii", "umlauts"] {
        for pipe in ["upper", "lower", "length"] {
            template(table, &format!("{pipe}: {name}"), &json!(format!("${{state.{name} | {pipe}}}")), state);
        }
    }
    template(table, "keys: object", &json!("${state.object | keys}"), state);
    template(table, "depth: messages", &json!("${state.messages | length}"), state);
    let parts = json!("-${state.small.text}".repeat(1_000));
    template(table, "text: short parts", &parts, state);
    template(table, "text: long parts", &json!("${state.ascii}-${state.ascii}"), state);
    let paths: Value = vec![json!("${state.small.a.b.c}"); 1_000].into();
    template(table, "lookups: four names", &paths, state);
    let missing: Value = vec![json!("${state.none}"); 1_000].into();
    template(table, "lookups: missing", &missing, state);
    let alternatives: Value = vec![json!("${state.none || null || 'x' | upper}"); 1_000].into();
    template(table, "alternatives and pipes", &alternatives, state);
    template(table, "a small value", &json!({"a": "${state.small.text}", "n": 1}), state);
    template(table, "literals", &json!({"a": state["messages"][0], "b": [1, 2, 3]}), state);
}

fn template(table: &mut Table, name: &str, template: &Value, state: &Value) {
    let Ok(template) = ValueTemplate::parse(template) else { return };
    let scope = Scope::new().with("state", Root::Value(state));
    table.row(name, |meter| {
        let value = template.evaluate(&scope, TemplateMode::Lenient, &mut Vec::new(), meter);
        value.map(|value| drop(black_box(value)))
    });
}

fn conditions(table: &mut Table, state: &Value) {
    let test = |path: &str, op: &str, value: Value| json!({"path": path, "op": op, "value": value});
    for (name, condition) in [
        ("condition: a small test", test("state.small.a.b.c", "gt", json!(0))),
        ("condition: groups", json!({"all": vec![json!({"not": {"any": []}}); 1_000]})),
        ("condition: equal texts", test("state.ascii", "eq", state["ascii"].clone())),
        ("condition: equal lists", test("state.integers", "eq", state["integers"].clone())),
        ("condition: equal messages", test("state.messages", "eq", state["messages"].clone())),
        ("condition: equal objects", test("state.object", "eq", state["object"].clone())),
        ("condition: texts in order", test("state.ascii", "lte", state["ascii"].clone())),
        ("condition: in a list of texts", test("state.small.text", "in", state["words"].clone())),
        ("condition: list contains", test("state.words", "contains", json!("word-x"))),
        ("condition: text contains a letter", test("state.ascii", "contains", json!("#"))),
        ("condition: text contains, nearly", test("state.bits", "contains", json!("ab".repeat(9_000) + "b"))),
        ("condition: text contains, short", test("state.bits", "contains", json!("abababababababac"))),
        ("pattern: a literal", test("state.ascii", "regex", json!("lazy cat"))),
        ("pattern: a word", test("state.ascii", "regex", json!(r"\w+#"))),
        ("pattern: many states", test("state.bits", "regex", json!("[ab]*a[ab]{300}c"))),
        ("pattern: few states", test("state.bits", "regex", json!("(a|b)+c"))),
    ] {
        let Ok(condition) = Condition::from_json(&condition) else { continue };
        let scope = Scope::new().with("state", Root::Value(state));
        table.row(name, |meter| {
            condition.evaluate(&scope, &mut Vec::new(), meter).map(|holds| {
                black_box(holds);
            })
        });
    }
}

fn folds(table: &mut Table) {
    let state = state();
    let fold = |table: &mut Table, name: &str, reducer, current: &Value, new: &Value| {
        table.prepared(
            &format!("fold: {name}"),
            || vec![new.clone()],
            |new| vectors::fold(reducer, Some(current), new),
        );
    };
    fold(table, "append integers", Reducer::Append, &json!([]), &state["integers"]);
    fold(table, "union, integers", Reducer::Union, &state["integers"], &json!([-1]));
    fold(table, "union, messages", Reducer::Union, &state["messages"], &state["messages"]);
    fold(table, "messages, one is new", Reducer::Messages, &state["messages"], &json!({"id": "new"}));
    let replaced = json!({"id": "message-009999"});
    fold(table, "messages, one is replaced", Reducer::Messages, &state["messages"], &replaced);
    fold(table, "messages, all are replaced", Reducer::Messages, &state["messages"], &state["messages"]);
    fold(table, "merge", Reducer::Merge, &state["object"], &json!({"new": 1}));
    fold(table, "merge, all", Reducer::Merge, &state["object"], &state["object"]);
    let numbers: Vec<Value> = (0..10_000).map(Value::from).collect();
    table.prepared("fold: sum", || numbers.clone(), |new| vectors::fold(Reducer::Sum, None, new));
}

fn directives(table: &mut Table) {
    let inputs = json!({"who": "somebody", "list": (0..1_000).collect::<Vec<_>>()});
    let inputs = inputs.as_object().cloned().unwrap_or_default();
    for (name, text) in [
        ("directive: plain text", "Some words of text. ".repeat(10_000)),
        ("directive: placeholders", "{input:who} and {input:none:other} ".repeat(1_000)),
        ("directive: a long value", "{input:list}\n".repeat(1_000)),
        ("directive: nothing is closed", "{input:".repeat(10_000)),
    ] {
        table.row(name, |meter| Directive::fill(&text, &inputs, meter).map(|text| drop(black_box(text))));
    }
}

struct Table {
    wanted: Vec<String>,
}

impl Table {
    /// Adds a row for repeated work.
    fn row<E>(&mut self, name: &str, work: impl Fn(&Meter) -> Result<(), E>) {
        self.prepared(
            name,
            || (),
            |()| {
                let meter = Meter::of_one_step();
                let _ = work(&meter);
                meter.spent()
            },
        );
    }

    /// Adds a row for work whose arguments are prepared each time; the preparation does not count.
    fn prepared<A>(&mut self, name: &str, prepare: impl Fn() -> A, work: impl Fn(A) -> u64) {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|word| name.contains(word.as_str())) {
            return;
        }
        let mut fastest: Option<(u64, Duration)> = None;
        for _ in 0..ROUNDS {
            let (mut units, mut took) = (0, Duration::ZERO);
            while units < UNITS {
                let arguments = prepare();
                let start = Instant::now();
                units += work(arguments);
                took += start.elapsed();
            }
            if fastest.is_none_or(|(before, time)| {
                took.as_nanos() * u128::from(before) < time.as_nanos() * u128::from(units)
            }) {
                fastest = Some((units, took));
            }
        }
        let Some((units, took)) = fastest else { return };
        #[allow(clippy::cast_precision_loss)]
        let each = took.as_nanos() as f64 / units as f64;
        #[allow(clippy::cast_precision_loss)]
        let step = each * STEP as f64 / 1e6;
        println!("{name:<44} {units:>13} {:>13} {each:>9.3} {step:>13.1}", took.as_nanos());
    }
}
