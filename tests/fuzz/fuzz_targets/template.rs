//! Templates: the first line is a template (JSON, or else a string), the rest is the state. Filled-in data is not
//! evaluated again: templates in it remain unchanged.
#![no_main]

use graph_core::json::{TreeLimit, parse_strict};
use graph_core::policy::TemplateMode;
use graph_core::template::{Root, Scope, ValueTemplate};
use graph_core::work::{Meter, size};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Limit of the work of an input: a twentieth of a step. With instrumentation, a whole step takes seconds.
const WORK: u64 = 5_000_000;

fuzz_target!(|text: &str| {
    let (template, state) = text.split_once('\n').unwrap_or((text, "{}"));
    let source = parse_strict(template, 100, TreeLimit::VALUE).unwrap_or_else(|_| json!(template));
    let state = parse_strict(state, 100, TreeLimit::VALUE).unwrap_or_else(|_| json!(state));
    let Ok(template) = ValueTemplate::parse(&source) else { return };
    let scope = Scope::new().with("state", Root::Value(&state)).with("result", Root::Value(&state));
    for mode in [TemplateMode::Lenient, TemplateMode::Strict] {
        let mut missing = Vec::new();
        let (meter, second) = (Meter::new(WORK), Meter::new(WORK));
        let filled = template.evaluate(&scope, mode, &mut missing, &meter);
        let again = template.evaluate(&scope, mode, &mut Vec::new(), &second);
        assert_eq!(meter.spent(), second.spent(), "the same template, another cost");
        assert!(
            filled.as_ref().map_or(0, size::of) <= meter.spent(),
            "the result is larger than what it cost"
        );
        assert_eq!(filled.as_ref().ok(), again.as_ref().ok(), "the same template, another value");
        if let Some(literal) = template.literal() {
            assert!(filled.as_ref().map_or(true, |filled| filled == literal), "a literal has changed");
        }
    }
    // A template in the data remains unchanged.
    let whole = ValueTemplate::parse(&json!("${state}")).expect("the template is a constant");
    let data: Value = json!([source, "${state.secret}"]);
    let scope = Scope::new().with("state", Root::Value(&data));
    if let Ok(filled) = whole.evaluate(&scope, TemplateMode::Strict, &mut Vec::new(), &Meter::new(WORK)) {
        assert_eq!(filled, data, "data has been taken for a template");
    }
});
