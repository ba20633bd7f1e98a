#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "tests read better so")]

use super::{ExceededCap, StructureError, StructureMetric, count};

fn counted(text: &str) -> super::Tally {
    count(&wat::parse_str(text).unwrap()).unwrap()
}

fn exceeded(text: &str) -> ExceededCap {
    match count(&wat::parse_str(text).unwrap()).unwrap_err() {
        StructureError::Exceeded(exceeded) => exceeded,
        StructureError::Name(error) => panic!("{error}"),
    }
}

#[test]
fn a_function_is_counted() {
    let tally = counted(
        "(component (core module
           (table 3 funcref)
           (type $two (func (param i32 i32) (result i32 i32)))
           (func $f (type $two) (local i32 i64)
             (block (type $two) (local.get 0) (local.get 1)) drop drop
             (loop (br_if 0 (local.get 0)))
             (block (block (br_table 0 1 1 (local.get 0))))
             (call $f (local.get 0) (local.get 1)) drop drop
             (call_indirect (type $two) (local.get 0) (local.get 1) (i32.const 0)))))",
    );
    let of = |figure| tally.of(figure);
    assert_eq!(
        (
            of(StructureMetric::Functions),
            of(StructureMetric::FunctionLocals),
            of(StructureMetric::FunctionLoops)
        ),
        (1, 4, 1)
    );
    // The function, its block, its loop with three checks and a branch, two blocks, three targets, three checks.
    assert_eq!(of(StructureMetric::FunctionBlocks), 1 + 1 + (1 + 3 + 1) + 2 + 3 + 3);
    assert_eq!(of(StructureMetric::FunctionDepth), 3);
    // The function, its block and its two calls take and give four values each; branches to blocks without results none.
    assert_eq!(of(StructureMetric::FunctionValues), 16);
    assert_eq!(of(StructureMetric::FunctionJoins), 4 * of(StructureMetric::FunctionBlocks));
    assert_eq!((of(StructureMetric::TableElements), of(StructureMetric::Types)), (3, 5));
}

#[test]
fn instances_of_nested_components_count_each_time() {
    let text = "(component
      (component $inner (core module $m) (core instance (instantiate $m)) (core instance (instantiate $m)))
      (component $middle (alias outer 1 $inner (component $i))
        (instance (instantiate $i)) (instance (instantiate $i)))
      (instance (instantiate $middle)) (instance (instantiate $middle)) (instance (instantiate $inner)))";
    assert_eq!(counted(text).of(StructureMetric::CoreInstances), 10);
    // Each level doubles the number of instances of the level below.
    let mut doubling = "(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..=30 {
        let below = level - 1;
        doubling += &format!(
            "(component $c{level} (alias outer 1 $c{below} (component $i)) (instance (instantiate $i)) (instance (instantiate $i)))"
        );
    }
    assert_eq!(exceeded(&format!("(component {doubling})")).figure, StructureMetric::CoreInstances);
}

#[test]
fn types_inside_of_types_do_not_use_up_the_stack() {
    // (component (type (instance (type (instance …))))), assembled by hand: the text format has its own limits.
    let mut section = vec![1];
    for _ in 0..1_000_000 {
        section.extend([0x42, 1, 1]);
    }
    section.extend([0x42, 0]);
    let mut bytes = b"\0asm\x0d\0\x01\0\x07".to_vec();
    let mut length = section.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(section);
    let expected = ExceededCap { figure: StructureMetric::TypeDepth, found: 101 };
    assert_eq!(count(&bytes).unwrap_err(), StructureError::Exceeded(expected));
}

#[test]
fn names_of_components_are_plain() {
    let hostile = "a'; evil(); '";
    for text in [
        format!("(component (import \"{hostile}\" (func)))"),
        format!("(component (import \"a\" (instance (export \"{hostile}\" (func)))))"),
        format!("(component (type (component (import \"{hostile}\" (func)))))"),
        format!("(component (component (import \"{hostile}\" (func))))"),
        format!("(component (import \"f\" (func $f)) (export \"{hostile}\" (func $f)))"),
        "(component (component (import \"url=<https://x.test/a>\" (component))))".to_owned(),
        r#"(component (import "b\e2\80\ae" (func)))"#.to_owned(),
        r#"(component (import "b\f3\a0\81\81" (func)))"#.to_owned(),
    ] {
        let refused = count(&wat::parse_str(&text).unwrap());
        assert!(matches!(refused, Err(StructureError::Name(_))), "{text}: {refused:?}");
    }
    // Names in core modules are not restricted, as they are not written into code.
    counted(&format!("(component (core module (import \"{hostile}\" \"{hostile}\" (func))))"));
    counted("(component (import \"a:b/c@1.0.0\" (instance (export \"[constructor]r\" (func)))))");
}

#[test]
fn what_cannot_be_read_is_left_to_the_compiler() {
    for bytes in
        [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0\xff", b"garbage", b"\0asm\x0d\0\x01\0\x07\x05\x01\x42"]
    {
        assert!(count(bytes).is_ok());
    }
}

/// Each cap equals the one in the documentation.
#[test]
fn caps_are_documented() {
    let page = include_str!("../../../docs/design/compilation.md");
    for figure in StructureMetric::ALL {
        let row = format!("| {} | {} |", figure.what(), figure.cap());
        assert!(page.contains(&row), "host/docs/design/compilation.md lacks the row\n{row}");
    }
}
