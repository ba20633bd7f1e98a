//! Instructions that instrumentation adds to modules. `tests/parity` compares the figures with those of the engine.
#![allow(clippy::unwrap_used)]

use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

use super::module::instrument_adapter;
use super::{InstrumentError, METER, instrument, instrument_cores};
use crate::transpile;

/// Returns the number of checks of the limit in all functions of a module.
fn checks(text: &str) -> usize {
    let instrumented = instrument(&wat::parse_str(text).unwrap()).unwrap();
    Validator::new_with_features(WasmFeatures::default()).validate_all(&instrumented.module).unwrap();
    let mut checks = 0;
    for payload in Parser::new(0).parse_all(&instrumented.module) {
        if let Payload::CodeSectionEntry(body) = payload.unwrap() {
            for operator in body.get_operators_reader().unwrap() {
                checks += usize::from(matches!(operator.unwrap(), Operator::I64GeS));
            }
        }
    }
    checks
}

/// Returns the number of checks in one function with two params and two more locals, without the check at its entry.
fn checks_of(body: &str) -> usize {
    let text =
        format!("(module (memory 1 2) (table 1 funcref) (func (param i32 i32) (local i32 i32) {body}))");
    checks(&text) - 1
}

const FILL: &str = "(memory.fill (i32.const 0) (i32.const 0) (local.get 2))";

#[test]
fn the_limit_is_looked_at_at_entries_loops_and_what_takes_long() {
    assert_eq!(checks("(module (func) (func))"), 2);
    assert_eq!(checks_of("(loop)"), 1);
    assert_eq!(checks_of("(loop (loop)) (block) (if (local.get 0) (then (loop)))"), 3);
    assert_eq!(checks_of("(drop (memory.grow (local.get 0)))"), 1);
    assert_eq!(checks_of("(drop (table.grow (ref.null func) (local.get 0)))"), 1);
    // A page costs 100. Two pages cost more than the engine executes without a check.
    assert_eq!(checks_of("(drop (memory.grow (i32.const 1)))"), 0);
    assert_eq!(checks_of("(drop (memory.grow (i32.const 2)))"), 1);
    for (length, expected) in
        [("(i32.const 128)", 0), ("(i32.const 129)", 1), ("(i32.const -1)", 1), ("(local.get 0)", 1)]
    {
        let body = format!("(memory.fill (i32.const 0) (i32.const 0) {length})");
        assert_eq!(checks_of(&body), expected, "{length}");
    }
    // Code that cannot be reached is left unchanged.
    assert_eq!(checks_of("return (loop (loop))"), 0);
}

#[test]
fn constants_are_followed_through_locals_as_the_engine_does() {
    let set = "(local.set 2 (i32.const 9))";
    for (body, expected) in [
        // A local starts as zero.
        (FILL.to_owned(), 0),
        (format!("{set} {FILL}"), 0),
        (format!("(drop (local.tee 2 (i32.const 9))) {FILL}"), 0),
        (format!("(local.set 2 (i32.add (i32.const 1) (i32.const 2))) {FILL}"), 1),
        (format!("(local.set 3 (i32.const 9)) (local.set 2 (local.get 3)) {FILL}"), 0),
        // Both paths have the same constant, or another one each, or only one of them has one.
        (format!("{set} (if (local.get 0) (then) (else)) {FILL}"), 0),
        (format!("(if (local.get 0) (then {set}) (else {set})) {FILL}"), 1),
        (format!("(if (local.get 0) (then {set})) {FILL}"), 1),
        (format!("(if (local.get 0) (then {set} {FILL}))"), 0),
        (format!("(if (local.get 0) (then {set} return)) {FILL}"), 0),
        // In the loop, a branch can bring another value; after the loop it is known that nothing has set it.
        (format!("{set} (loop {FILL})"), 2),
        (format!("{set} (loop {set} {FILL})"), 1),
        (format!("{set} (loop (br_if 0 (local.get 0))) {FILL}"), 1),
        (format!("{set} (loop (local.set 2 (local.get 0)) (br_if 0 (local.get 0))) {FILL}"), 2),
        (format!("{set} (block (loop (br_if 1 (local.get 1)) (br_if 0 (local.get 0)))) {FILL}"), 1),
        // Blocks produce new values.
        ("(memory.fill (i32.const 0) (i32.const 0) (block (result i32) (i32.const 5)))".to_owned(), 1),
    ] {
        assert_eq!(checks_of(&body), expected, "{body}");
    }
}

#[test]
fn the_meter_is_imported_behind_everything_else() {
    let text = r#"(module
        (import "a" "g" (global i32)) (import "a" "f" (func))
        (global (mut i32) (global.get 0)) (func (export "x") (result i32) global.get 0 global.get 1 i32.add))"#;
    let instrumented = instrument(&wat::parse_str(text).unwrap()).unwrap();
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(&instrumented.module) {
        if let Payload::ImportSection(section) = payload.unwrap() {
            for import in section.into_imports() {
                let import = import.unwrap();
                imports.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    let expected = ["a.g", "a.f", "graph-host:meter.fuel", "graph-host:meter.pages", "graph-host:meter.stop"];
    assert_eq!(imports, expected);
    Validator::new_with_features(WasmFeatures::default()).validate_all(&instrumented.module).unwrap();
    // A module cannot be instrumented twice.
    assert_eq!(instrument(&instrumented.module).unwrap_err(), InstrumentError::Metered);
    assert_eq!(METER, "graph-host:meter");
}

#[test]
fn modules_of_every_shape_stay_valid() {
    for text in [
        "(module)",
        "(module (memory 3))",
        "(module (func (export \"f\") (result f32) (f32.div (f32.const 0) (f32.const 0))))",
        "(module (func (param v128) (result v128) (f64x2.sqrt (local.get 0))) (func (param f64) (result f32) (f32.demote_f64 (local.get 0))))",
        "(module (func $f (param i32) (result i32) (return_call $f (local.get 0))))",
        "(module (func (param i64) (result i64) (local.get 0) (loop (param i64) (result i64) (br 0))))",
        "(module (func unreachable (loop (br_table 0 1 (i32.const 0))) drop))",
        "(module (memory 1) (memory 2 3) (func (drop (memory.grow 1 (memory.grow 0 (i32.const 7))))))",
        "(module (table 0 10 funcref) (table 0 funcref) (func (drop (table.grow 1 (ref.null func) (table.grow 0 (ref.null func) (i32.const 1))))))",
        "(module (memory 1) (data $d \"ab\") (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 2)) (data.drop $d)))",
    ] {
        let instrumented = instrument(&wat::parse_str(text).unwrap()).unwrap();
        let validated =
            Validator::new_with_features(WasmFeatures::default()).validate_all(&instrumented.module);
        assert!(validated.is_ok(), "{text}: {:?}", validated.err());
    }
    let three = instrument(&wat::parse_str("(module (memory 3))").unwrap()).unwrap();
    assert_eq!(three.pages, 3);
}

#[test]
fn what_the_engine_does_not_take_is_refused() {
    for text in [
        "(component)",
        "(module (memory i64 1))",
        "(module (table 1 externref))",
        "(module (memory 1 1 shared))",
        "(module (func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0)))))",
    ] {
        let refused = instrument(&wat::parse_str(text).unwrap());
        assert!(matches!(refused, Err(InstrumentError::Invalid(_))), "{text}: {refused:?}");
    }
    assert!(matches!(instrument(b"\0asm"), Err(InstrumentError::Invalid(_))));
}

/// Returns the sum of the costs that the functions of an instrumented module add, each sequence once.
fn charged(module: &[u8]) -> i64 {
    let mut charged = 0;
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let operators: Vec<_> =
            body.get_operators_reader().unwrap().into_iter().map(Result::unwrap).collect();
        for stretch in operators.windows(2) {
            if let [Operator::I64Const { value }, Operator::I64Add] = stretch {
                charged += value;
            }
        }
    }
    charged
}

#[test]
fn tasks_of_adapters_are_free_and_nothing_else_of_them() {
    let imports = r#"(import "callee" "adapter0" (func $callee (param i32)))
        (import "async" "enter-sync-call" (func $enter (param i32 i32 i32))) (import "async" "exit-sync-call" (func $exit))
        (import "context" "get0" (func $get (result i32))) (import "context" "set1" (func $set (param i32)))
        (import "resource" "transfer-borrow" (func $lend (param i32 i32 i32) (result i32)))
        (import "instance" "task_may_block" (global $may (mut i32)))"#;
    let enter = "(call $enter (i32.const 1) (i32.const 0) (i32.const 2))";
    let lending = "(drop (call $lend (i32.const 1) (i32.const 2) (i32.const 3)))";
    // Each entry has the cost of its instructions, and the part of it that is free in an adapter.
    for (body, cost, free) in [
        ("(call $callee (i32.const 1))".to_owned(), 2, 0),
        (enter.to_owned(), 4, 4),
        ("(call $exit)".to_owned(), 1, 1),
        ("(local.set 1 (call $get))".to_owned(), 2, 2),
        ("(call $set (i32.const 0)) (call $set (local.get 1))".to_owned(), 4, 4),
        ("(local.set 1 (global.get $may)) (global.set $may (i32.const 0))".to_owned(), 4, 4),
        (format!("{enter} (call $callee (local.get 0)) (call $exit)"), 7, 5),
        // The engine also has tasks if a resource is lent.
        (format!("{enter} {lending} (call $exit)"), 9, 0),
        (format!("{enter} (call $helper) (call $exit)"), 6 + 5, 0),
        (lending.to_owned(), 4, 0),
    ] {
        let helper =
            if body.contains("$helper") { format!("(func $helper {lending})") } else { String::new() };
        let text = format!("(module {imports} {helper} (func (param i32) (local i32) {body}))");
        let module = wat::parse_str(&text).unwrap();
        let entry = 1;
        assert_eq!(charged(&instrument(&module).unwrap().module), entry + cost, "{text}");
        assert_eq!(charged(&instrument_adapter(&module).unwrap().module), entry + cost - free, "{text}");
    }
}

/// Returns the core modules of a component after its translation, as a page has them.
fn cores(component: &[u8]) -> Vec<Vec<u8>> {
    let transpiled = transpile("component", component, &[], []).unwrap();
    let cores: Vec<_> = transpiled.cores.iter().map(|(_, core)| &core[..]).collect();
    let instrumented = instrument_cores(component, cores.iter().copied()).unwrap();
    assert_eq!(instrumented.len(), cores.len());
    for core in &instrumented {
        Validator::new_with_features(WasmFeatures::default()).validate_all(&core.module).unwrap();
    }
    instrumented.into_iter().map(|core| core.module).collect()
}

#[test]
fn core_modules_count_at_any_depth() {
    // The components have three core modules, and there is at least one of adapters.
    for text in [
        include_str!("../../../../tests/parity/nested/texts.wat"),
        include_str!("../../../../tests/parity/nested/lent.wat"),
    ] {
        let cores = cores(&wat::parse_str(text).unwrap());
        assert!(cores.len() > 3, "{}", cores.len());
        for core in &cores {
            let imported = Parser::new(0).parse_all(core).any(|payload| match payload.unwrap() {
                Payload::ImportSection(section) => {
                    section.into_imports().any(|import| import.unwrap().module == METER)
                }
                _ => false,
            });
            assert!(imported, "a core module counts nothing");
        }
    }
}

#[test]
fn a_component_inside_of_another_one_is_held_to_the_same_rules() {
    let refused = |inner: &str| {
        let nested = format!("(component (component (component {inner})))");
        instrument_cores(&wat::parse_str(&nested).unwrap(), []).unwrap_err()
    };
    for inner in ["(core module (memory i64 1))", "(core module (memory 1 1 shared))"] {
        assert!(matches!(refused(inner), InstrumentError::Invalid(_)), "{inner}");
    }
    let metered = "(core module (import \"graph-host:meter\" \"fuel\" (global (mut i64))))";
    let component = wat::parse_str(format!("(component (component (component {metered})))")).unwrap();
    let module = wat::parse_str(metered.replacen("(core module", "(module", 1)).unwrap();
    assert_eq!(instrument_cores(&component, [&module[..]]).unwrap_err(), InstrumentError::Metered);
    // A module that is not in the component is treated as an adapter.
    let module = wat::parse_str("(module (func))").unwrap();
    let component = wat::parse_str("(component (component (core module (func))))").unwrap();
    assert!(instrument_cores(&component, [&module[..]]).is_ok());
    for others in [vec![], vec![&b"other"[..]]] {
        assert!(matches!(instrument_cores(&component, others), Err(InstrumentError::Invalid(_))));
    }
    assert!(matches!(instrument_cores(&module, []), Err(InstrumentError::Invalid(_))));
}
