//! Descriptions by components.

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

/// Creates a node whose `describe` calls a function and returns two bytes of `{}` if the function returned 0.
fn describes_with(interface: &str, function: &str) -> Vec<u8> {
    let core = format!(
        r#"(import "{interface}" "{function}" (func $asked (result i64)))
           (memory (export "memory") 1)
           (data (i32.const 1024) "{{}}")
           (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
           (func {RUN} (param i32) (result i32) (i32.const 0))
           (func {DESCRIBE} (result i32)
             (if (i64.ne (call $asked) (i64.const 0)) (then unreachable))
             (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 2))
             (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 2))
             (i32.store (i32.const 16) (i32.const 1024)) (i32.store (i32.const 20) (i32.const 2))
             (i32.const 0))"#
    );
    node_of(&core, &[(interface, function)])
}

#[tokio::test]
async fn its_clock_stands_at_zero() {
    let bytes = describes_with("wasi:clocks/monotonic-clock@0.2.0", "now");
    assert_eq!(engine().describe(&component(&bytes)).await.unwrap().params, json!({}));
}

#[tokio::test]
async fn its_random_numbers_are_always_the_same() {
    // The numbers are not 0, so this component traps; another run traps at the same place.
    let bytes = describes_with("wasi:random/random@0.2.0", "get-random-u64");
    let errors = [
        engine().describe(&component(&bytes)).await.unwrap_err().to_string(),
        engine().describe(&component(&bytes)).await.unwrap_err().to_string(),
    ];
    assert!(errors[0].contains("unreachable") && errors[0] == errors[1], "{errors:?}");
}

#[tokio::test]
async fn an_interface_that_no_host_offers_is_named() {
    let bytes = describes_with("wasi:sockets/instance-network@0.2.0", "instance-network");
    let error = engine().describe(&component(&bytes)).await.unwrap_err();
    assert!(matches!(error, DescribeError::WrongWorld { .. }), "{error}");
    assert!(error.to_string().contains("wasi:sockets/instance-network@0.2.0"), "{error}");
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
    assert!(error.to_string().ends_with("its log may say why"), "{error}");
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
