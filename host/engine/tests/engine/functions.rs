//! Functions that components export in addition to the node action: whether nodes can call them, and their documentation.

use graph_core::node::FunctionDescription;
use graph_engine::{DocumentationError, ExportedFunctions};
use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageMetadata, Resolve};

use crate::support::{component, engine};

const WIT: &str = "
package acme:math@0.1.0;

interface ops {
    /// Doubles a number,
    ///   in one line.
    ///
    /// This is the second paragraph.
    double: func(a: u32) -> u32;
    plain: func(a: u32) -> u32;
}

interface things {
    resource counter { constructor(); next: func() -> u32; }
    /// Takes a counter.
    take: func(of: counter) -> u32;
    /// Gives a number back.
    keep: func(a: u32) -> u32;
}

world library {
    /// Adds two numbers.
    export add: func(a: u32, b: u32) -> u32;
    export ops;
    export things;
    export local: interface {
        /// Negates a number.
        negate: func(a: s32) -> s32;
    }
}
";

const CORE: &str = r#"(module
  (func (export "add") (param i32 i32) (result i32) (i32.const 0))
  (func (export "local#negate") (param i32) (result i32) (i32.const 0))
  (func (export "acme:math/ops@0.1.0#double") (param i32) (result i32) (i32.const 0))
  (func (export "acme:math/ops@0.1.0#plain") (param i32) (result i32) (i32.const 0))
  (func (export "acme:math/things@0.1.0#[constructor]counter") (result i32) (i32.const 0))
  (func (export "acme:math/things@0.1.0#[method]counter.next") (param i32) (result i32) (i32.const 0))
  (func (export "acme:math/things@0.1.0#take") (param i32) (result i32) (i32.const 0))
  (func (export "acme:math/things@0.1.0#keep") (param i32) (result i32) (i32.const 0)))"#;

/// Creates a component of that WIT, and the documentation in the WIT as `wit-parser` writes it.
fn library() -> (Vec<u8>, Vec<u8>) {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("library.wit", WIT).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(CORE).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let bytes = ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap();
    (bytes, PackageMetadata::extract(&resolve, package).encode().unwrap())
}

fn leb(mut value: usize, to: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        to.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return;
        }
    }
}

/// Adds a section `package-docs` to the component.
fn documented(component: &[u8], docs: &[u8]) -> Vec<u8> {
    let name = "package-docs";
    let mut bytes = component.to_vec();
    bytes.push(0);
    leb(1 + name.len() + docs.len(), &mut bytes);
    leb(name.len(), &mut bytes);
    bytes.extend(name.as_bytes());
    bytes.extend(docs);
    bytes
}

/// Creates a section of version 1.
fn section(json: &str) -> Vec<u8> {
    [&[1], json.as_bytes()].concat()
}

fn functions(bytes: &[u8]) -> ExportedFunctions {
    engine().functions(&component(bytes)).unwrap()
}

fn one<'f>(exported: &'f ExportedFunctions, name: &str) -> &'f FunctionDescription {
    exported.callable.iter().find(|function| function.name == name).unwrap()
}

#[test]
fn documentation_of_wit_describes_functions() {
    let (bytes, docs) = library();
    let exported = functions(&documented(&bytes, &docs));
    assert_eq!(exported.undocumented, None);
    for (name, expected) in [
        ("add", "Adds two numbers."),
        ("local/negate", "Negates a number."),
        ("acme:math/ops/double", "Doubles a number, in one line."),
        ("acme:math/things/keep", "Gives a number back."),
    ] {
        let function = one(&exported, name);
        assert_eq!(
            (function.summary.as_str(), &function.params["description"]),
            (expected, &json!(expected)),
            "{name}"
        );
    }
    let plain = one(&exported, "acme:math/ops/plain");
    assert_eq!((plain.summary.as_str(), plain.params.get("description")), ("", None));
    assert_eq!(exported.callable.len(), 5);

    let bare = functions(&bytes);
    assert_eq!((bare.undocumented, bare.callable.len()), (None, 5));
    assert!(bare.callable.iter().all(|function| function.summary.is_empty()));
}

#[test]
fn functions_that_cannot_be_called_have_reasons() {
    let (bytes, _) = library();
    let mut left_out: Vec<_> = functions(&bytes).uncallable.iter().map(ToString::to_string).collect();
    left_out.sort();
    let belongs = "it belongs to a resource, which lives no longer than a call";
    assert_eq!(
        left_out,
        [
            format!("`acme:math/things/[constructor]counter` cannot be a node: {belongs}"),
            format!("`acme:math/things/[method]counter.next` cannot be a node: {belongs}"),
            "`acme:math/things/take` cannot be a node: its parameter `of` is or holds a resource, for which there is no JSON"
                .to_owned(),
        ]
    );
}

#[test]
fn documentation_that_is_not_in_the_format_is_not_read() {
    let (bytes, docs) = library();
    let shape = |at: &str, expected| DocumentationError::Shape { at: at.to_owned(), expected };
    let deep = format!("{{\"docs\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = "k".repeat(100_000);
    let large = section(&format!("{{\"docs\": \"{}\"}}", "x".repeat(1 << 20)));
    let cases = [
        (large.clone(), Some(DocumentationError::Size(large.len()))),
        (Vec::new(), Some(DocumentationError::Version)),
        (vec![2, b'{', b'}'], Some(DocumentationError::Version)),
        (vec![1, b'{', 0xff, b'}'], None),
        (section(""), None),
        (section("{\"worlds\": {"), None),
        (section("{\"worlds\": {}, \"worlds\": {}}"), None),
        (section(&deep), None),
        (section(&format!("{{\"{long}\": 1, \"{long}\": 1}}")), None),
        (
            section(&format!("{{\"worlds\": {{\"{long}\": 1}}}}")),
            Some(shape(&format!("{}…", &long[..200]), "an object")),
        ),
        (section("[]"), Some(shape("package-docs", "an object"))),
        (section("{\"worlds\": 1}"), Some(shape("worlds", "an object"))),
        (section("{\"worlds\": {\"library\": \"add\"}}"), Some(shape("library", "an object"))),
        (section("{\"worlds\": {\"w\": {\"funcs\": [\"add\"]}}}"), Some(shape("funcs", "an object"))),
        (
            section("{\"worlds\": {\"w\": {\"funcs\": {\"add\": {\"docs\": 1}}}}}"),
            Some(shape("add", "a text")),
        ),
        (
            section("{\"interfaces\": {\"ops\": {\"funcs\": {\"double\": [1]}}}}"),
            Some(shape("double", "a text")),
        ),
    ];
    for (section, expected) in cases {
        let exported = functions(&documented(&bytes, &section));
        let error = exported.undocumented.unwrap();
        match expected {
            Some(expected) => assert_eq!(error, expected),
            None => assert!(matches!(error, DocumentationError::Json(_)), "{error}"),
        }
        assert!(error.to_string().len() < 400, "{error}");
        assert_eq!(exported.callable.len(), 5, "{error}");
        assert!(exported.callable.iter().all(|function| function.summary.is_empty()), "{error}");
    }
    let twice = functions(&documented(&documented(&bytes, &docs), &docs));
    assert_eq!(twice.undocumented, Some(DocumentationError::Several));
}

#[test]
fn a_description_is_bounded() {
    let (bytes, _) = library();
    let docs = json!({ "worlds": { "w": { "funcs": { "add": { "docs": format!("\n  \n{}\n\nb", "ä ".repeat(200_000)) } } } } });
    let exported = functions(&documented(&bytes, &section(&docs.to_string())));
    let summary = &one(&exported, "add").summary;
    assert_eq!((summary.chars().count(), summary.ends_with("ä…")), (1000, true), "{summary}");
    // The documentation of functions that are not exported is ignored.
    let many: serde_json::Map<String, Value> =
        (0..10_000).map(|at| (format!("f{at}"), json!({ "docs": "x" }))).collect();
    let docs = json!({ "worlds": { "w": { "funcs": many } } });
    let exported = functions(&documented(&bytes, &section(&docs.to_string())));
    assert!(exported.callable.iter().all(|function| function.summary.is_empty()));
}

#[test]
fn documentation_that_may_be_about_another_function_is_left_out() {
    let (bytes, _) = library();
    let about = |first: &str, second: &str| {
        let world = |docs: &str| json!({ "funcs": { "add": docs } });
        let docs = json!({ "worlds": { "a": world(first), "b": world(second) } });
        let exported = functions(&documented(&bytes, &section(&docs.to_string())));
        one(&exported, "add").summary.clone()
    };
    assert_eq!(about("One.", "Another."), "");
    assert_eq!(about("One.", "One."), "One.");

    let text = r#"(component
      (core module $m (func (export "f") (result i32) (i32.const 1)))
      (core instance $i (instantiate $m))
      (func $f (result u32) (canon lift (core func $i "f")))
      (instance $x (export "f" (func $f)))
      (export "acme:a/ops" (instance $x))
      (export "acme:b/ops" (instance $x)))"#;
    let docs = json!({ "interfaces": { "ops": { "funcs": { "f": { "docs": "Of one of them." } } } } });
    let exported = functions(&documented(&wat::parse_str(text).unwrap(), &section(&docs.to_string())));
    assert_eq!(exported.undocumented, None);
    assert_eq!(exported.callable.len(), 2);
    assert!(exported.callable.iter().all(|function| function.summary.is_empty()));
}

#[test]
fn sections_of_nested_components_are_not_read() {
    let (bytes, docs) = library();
    let outer = r#"(component
      (core module $m (func (export "f") (result i32) (i32.const 1)))
      (core instance $i (instantiate $m))
      (func (export "add") (result u32) (canon lift (core func $i "f"))))"#;
    let mut outer = wat::parse_str(outer).unwrap();
    // A nested component is a section of number 4.
    let inner = documented(&bytes, &docs);
    outer.push(4);
    leb(inner.len(), &mut outer);
    outer.extend(inner);
    let exported = functions(&outer);
    assert_eq!(exported.undocumented, None);
    assert_eq!(one(&exported, "add").summary, "");
}
