//! Conditions: the first line is a condition in JSON, the rest is the state. It is decided or refused; `not` inverts it.
#![no_main]

use graph_core::condition::Condition;
use graph_core::json::{TreeLimit, parse_strict};
use graph_core::template::{Root, Scope};
use graph_core::work::Meter;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Limit of the work of an input: a twentieth of a step. With instrumentation, a whole step takes seconds.
const WORK: u64 = 5_000_000;

fuzz_target!(|text: &str| {
    let (condition, state) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(source) = parse_strict(condition, 200, TreeLimit::VALUE) else { return };
    let state = parse_strict(state, 100, TreeLimit::VALUE).unwrap_or(Value::Null);
    let Ok(condition) = Condition::from_json(&source) else { return };
    let scope = Scope::new().with("state", Root::Value(&state)).with("result", Root::Value(&state));
    let mut warnings = Vec::new();
    let mut decide = |condition: &Condition| {
        let meter = Meter::new(WORK);
        (condition.evaluate(&scope, &mut warnings, &meter), meter.spent())
    };
    let (holds, _) = decide(&condition);
    assert_eq!(holds, decide(&condition).0, "the same condition, another answer");
    if let (Ok(holds), Ok(opposite)) = (holds, Condition::from_json(&json!({ "not": source }))) {
        assert_ne!(Ok(holds), decide(&opposite).0, "`not` changes nothing");
    }
});
