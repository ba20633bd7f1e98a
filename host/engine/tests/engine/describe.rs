//! What components say about themselves.

use graph_engine::{CompileError, DescribeError, LoadError};
use serde_json::json;

use crate::support::{DESCRIBE, RUN, TESTKIT, TESTKIT_IO, component, engine, node_of, wat, wat_run};

#[tokio::test]
async fn the_sdk_derives_schemas() {
    let description = engine().describe(&component(TESTKIT)).await.unwrap();
    assert!(description.summary.contains("params"), "{}", description.summary);
    let cases = description.params["oneOf"].as_array().unwrap();
    assert_eq!(cases.len(), 13);
    let spin = cases.iter().find(|case| case["properties"]["op"]["const"] == "spin").unwrap();
    assert_eq!(spin["properties"]["iterations"]["type"], "integer");
    assert_eq!(spin["properties"]["iterations"]["description"], "How far.");
    assert_eq!(description.interfaces, []);
}

#[tokio::test]
async fn imports_are_there_to_be_declared() {
    let description = engine().describe(&component(TESTKIT_IO)).await.unwrap();
    let loaded = engine().load(&component(TESTKIT_IO)).unwrap();
    for import in
        loaded.imports().iter().filter(|import| import.name.starts_with("wasi:") && !import.type_only)
    {
        let name = import.name.split('@').next().unwrap();
        assert!(description.interfaces.iter().any(|wanted| wanted.name == name), "{name} is not declared");
    }
}

#[tokio::test]
async fn an_import_that_is_called_ends_it() {
    let core = format!(
        r#"(import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))
           (memory (export "memory") 1)
           (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
           (func {RUN} (param i32) (result i32) (i32.const 0))
           (func {DESCRIBE} (result i32) (drop (call $now)) (i32.const 0))"#
    );
    let bytes = node_of(&core, &[("wasi:clocks/monotonic-clock@0.2.0", "now")]);
    let error = engine().describe(&component(&bytes)).await.unwrap_err();
    assert!(matches!(error, DescribeError::Failed { .. }), "{error}");
    assert!(
        error.to_string().contains("called an import") && error.to_string().contains("monotonic-clock"),
        "{error}"
    );
}

#[tokio::test]
async fn a_describe_that_does_not_end_or_makes_no_sense() {
    let failing = |data, describe: &str| {
        wat(
            data,
            &format!(
                "(func {RUN} (param i32) (result i32) (i32.const 0))
                 (func {DESCRIBE} (result i32) {describe})"
            ),
        )
    };
    let error = engine().describe(&component(&failing("", "(loop (br 0)) (i32.const 0)"))).await.unwrap_err();
    assert!(error.to_string().contains("fuel"), "{error}");
    let error = engine().describe(&component(&failing("", "unreachable"))).await.unwrap_err();
    assert!(error.to_string().contains("unreachable"), "{error}");
    let call = |length: usize| format!("(call $description (i32.const 1024) (i32.const {length}))");
    let error = engine().describe(&component(&failing("[]", &call(2)))).await.unwrap_err();
    assert!(matches!(error, DescribeError::Invalid { .. }), "{error}");
    let description = engine().describe(&component(&wat_run("{}", "(i32.const 0)"))).await.unwrap();
    assert_eq!(description.params, json!({}));
}

#[tokio::test]
async fn a_component_that_is_no_node() {
    let bytes = wat::parse_str("(component)").unwrap();
    let error = engine().describe(&component(&bytes)).await.unwrap_err();
    assert!(matches!(error, DescribeError::WrongWorld { .. }), "{error}");
}

#[test]
fn switched_off_proposals_are_refused() {
    for core in ["(memory i64 1)", "(func (param anyref))", "(memory 1 1 shared)", "(tag)"] {
        let Ok(bytes) = wat::parse_str(format!("(component (core module {core}))")) else { panic!("{core}") };
        let Err(LoadError::Compile { source: CompileError::Invalid(message), .. }) =
            engine().load(&component(&bytes))
        else {
            panic!("{core}")
        };
        assert!(!message.is_empty());
    }
}
