//! Translation of components to JavaScript that instantiates core modules, which a browser can run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graph_core::wasm_name::WasmNameError;
use js_component_bindgen::{AsyncMode, InstantiationMode, TranspileOpts, transpile as generate};
use wasmparser::{BinaryReader, Parser, Payload};

use crate::function_names::own_name;
use crate::site::FunctionDocument;

/// Functions of the host during which a component waits in a page: the interface without its version, and the function.
const WAITING: [(&str, &str); 8] = [
    ("wasi:http/outgoing-handler", "handle"),
    // If the body is finished after the call of `handle`, the request is sent by this function.
    ("wasi:http/types", "[static]outgoing-body.finish"),
    ("graph-host:host/tools", "call"),
    ("graph-host:host/model", "complete"),
    // The worker that owns the page's storage answers these calls, so that a stored value is durable, and visible to
    // every other task.
    ("graph-host:host/knowledge", "get"),
    ("graph-host:host/knowledge", "put"),
    ("graph-host:host/knowledge", "search"),
    ("graph-host:host/knowledge", "list"),
];
/// Exported functions of a node, which can call the functions above.
const OF_NODES: [(&str, &str); 2] =
    [("graph-host:node/action", "run"), ("graph-host:node/action", "describe")];

/// A component in JavaScript.
#[derive(Clone, Debug)]
pub struct TranspiledComponent {
    /// JavaScript module. It exports `instantiate(getCoreModule, imports)`.
    pub script: Vec<u8>,
    /// Core modules, with the names that `getCoreModule` is called with: first the unchanged ones of the component, at
    /// any depth, in their order in it; then the adapters that link components nested in it.
    pub cores: Vec<(String, Vec<u8>)>,
    /// True if it needs JavaScript Promise Integration, because it imports a function that waits.
    pub waits: bool,
}

/// Reason why a component cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranspileError {
    /// A name in it would be code in JavaScript.
    #[error("it cannot be translated to JavaScript: {0}")]
    Name(#[from] WasmNameError),
    /// It exports a function of that name itself.
    #[error("it exports a function `then`, and JavaScript would wait for what has one")]
    Then,
    /// A name of it means something else in the generated code.
    #[error("`{name}`, which it exports, is no name of a function in JavaScript")]
    Reserved {
        /// The name.
        name: &'static str,
    },
    /// The generator has failed.
    #[error("it cannot be translated to JavaScript: {reason}")]
    Generator {
        /// Message of the generator.
        reason: String,
    },
}

/// Pieces of generated code that read or write values otherwise than the engine does, each with its replacement. No name in a component has
/// such characters.
const AS_THE_ENGINE: [(&str, &str); 6] = [
    // Texts keep a byte order mark, and what is no text ends the call.
    ("new TextDecoder()", "new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })"),
    ("new TextDecoder('utf-16')", "new TextDecoder('utf-16', { fatal: true, ignoreBOM: true })"),
    // An empty text is allocated, too, which takes fuel.
    ("if (s.length === 0) { return { ptr: 1, len: 0 }; }", ""),
    // Bits that mean nothing are left out.
    ("throw new TypeError('flags have extraneous bits set');", ""),
    ("throw new TypeError('invalid variant discriminant for bool');", "return true;"),
    (
        "throw new TypeError(`must be between ${min} and ${max}`);",
        "i = min === 0 ? i & max : ((i - min) & (max - min)) + min;",
    ),
];

/// Names that a function cannot have in the generated code, which uses them, and that the generator gives to one nevertheless.
const RESERVED: [&str; 4] = ["arguments", "undefined", "JSON", "console"];

/// Translates a component to JavaScript. `name` is the beginning of all its files. `imports` are the interfaces that it imports, `functions` those
/// that are called besides the node action. A component with a name that would be code is refused: the generator writes names as they are.
pub fn transpile<'f>(
    name: &str,
    component: &[u8],
    imports: &[String],
    functions: impl IntoIterator<Item = &'f FunctionDocument>,
) -> Result<TranspiledComponent, TranspileError> {
    crate::names::check(component)?;
    if exports_then(component) {
        return Err(TranspileError::Then);
    }
    let path =
        |interface: &str| interface.split_once('@').map_or(interface.to_owned(), |(path, _)| path.to_owned());
    let waiting: Vec<_> = imports
        .iter()
        .flat_map(|import| {
            WAITING
                .iter()
                .filter(move |(known, _)| path(import) == *known)
                .map(move |(_, function)| format!("{import}#{function}"))
        })
        .collect();
    let waits = !waiting.is_empty();
    let actions = OF_NODES.iter().flat_map(|(interface, function)| {
        [format!("{interface}#{function}"), format!("{interface}@0.1.0#{function}")]
    });
    let exports = actions.chain(functions.into_iter().map(|function| {
        let own = own_name(&function.name);
        function.interface.as_ref().map_or_else(|| own.to_owned(), |interface| format!("{interface}#{own}"))
    }));
    let async_mode = waits
        .then(|| AsyncMode::JavaScriptPromiseIntegration { imports: waiting, exports: exports.collect() });
    let options = TranspileOpts {
        name: name.to_owned(),
        no_typescript: true,
        instantiation_mode: Some(InstantiationMode::Async),
        import_bindings: None,
        map: None,
        nodejs_compat_disabled: true,
        base64_cutoff: 0,
        tla_compat: false,
        valid_lifting_optimization: false,
        tracing: false,
        // What a function fails with is thrown as it is.
        no_component_error_wrapping: true,
        no_namespaced_exports: true,
        // An adapter uses the memories of both components, as in the engine.
        multi_memory: true,
        guest: false,
        async_mode,
        strict: false,
        flags_as_bigint: false,
        variants_inline_cases: false,
        use_namespace_objects: false,
        enum_values_screaming_snake_case: false,
        asmjs: false,
        supports_wasm_exnref: false,
    };
    let component = without_documentation(component).unwrap_or(Cow::Borrowed(component));
    // The generator gives up on shapes of components that it does not know.
    let transpiled = catch_unwind(AssertUnwindSafe(|| generate(&component, options)))
        .map_err(|_| TranspileError::Generator {
            reason: "the generator does not know its shape".to_owned(),
        })?
        .map_err(|error| TranspileError::Generator { reason: format!("{error:#}") })?;
    let mut files: BTreeMap<_, _> = transpiled.files.into_iter().collect();
    let script = files
        .remove(&format!("{name}.js"))
        .and_then(|script| String::from_utf8(script).ok())
        .ok_or_else(|| TranspileError::Generator { reason: "no module was generated".to_owned() })?;
    let is_defined = |name: &&&str| {
        script.contains(&format!("function {name}(")) || script.contains(&format!("const {name} = "))
    };
    if let Some(name) = RESERVED.iter().find(is_defined) {
        return Err(TranspileError::Reserved { name });
    }
    let script = AS_THE_ENGINE.iter().fold(script, |script, (written, meant)| script.replace(written, meant));
    let cores = std::iter::once(format!("{name}.core.wasm"))
        .chain((2..).map(|number: u32| format!("{name}.core{number}.wasm")))
        .map_while(|file| files.remove_entry(&file))
        .collect();
    Ok(TranspiledComponent { script: script.into_bytes(), cores, waits })
}

/// A component without what its WIT says about it: the generator would look for the world there, whose name components do not have. `None` if it
/// cannot be read.
fn without_documentation(component: &[u8]) -> Option<Cow<'_, [u8]>> {
    const SECTION: &str = "package-docs";
    const HEADER: usize = 8;
    let (header, sections) = component.split_at_checked(HEADER)?;
    let mut reader = BinaryReader::new(sections, 0);
    let mut kept = header.to_vec();
    while !reader.eof() {
        let start = sections.len() - reader.bytes_remaining();
        let is_custom = reader.read_u8().ok()? == 0;
        let size = reader.read_var_u32().ok()?;
        let content = reader.read_bytes(size as usize).ok()?;
        if !is_custom || BinaryReader::new(content, 0).read_string().ok()? != SECTION {
            kept.extend_from_slice(sections.get(start..sections.len() - reader.bytes_remaining())?);
        }
    }
    Some(if kept.len() == component.len() { Cow::Borrowed(component) } else { Cow::Owned(kept) })
}

/// Checks whether a component exports a function `then`, which would make its instance be awaited like a promise.
fn exports_then(component: &[u8]) -> bool {
    let mut depth = 0_usize;
    Parser::new(0).parse_all(component).map_while(Result::ok).any(|payload| {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentExportSection(section) if depth == 1 => {
                return section
                    .into_iter()
                    .map_while(Result::ok)
                    .any(|export| export.name.name.eq_ignore_ascii_case("then"));
            }
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A component that gives back a text, a truth value and bytes.
    const ECHO: &str = r#"(component
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
            (func (export "text") (param i32 i32) (result i32) i32.const 0)
            (func (export "byte") (param i32) (result i32) local.get 0)
            (func (export "small") (param i32) (result i32) local.get 0)
            (func (export "flag") (param i32) (result i32) local.get 0))
        (core instance $i (instantiate $m))
        (func (export "text") (param "v" string) (result string)
            (canon lift (core func $i "text") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
        (func (export "byte") (param "v" u8) (result u8) (canon lift (core func $i "byte")))
        (func (export "small") (param "v" s8) (result s8) (canon lift (core func $i "small")))
        (func (export "flag") (param "v" bool) (result bool) (canon lift (core func $i "flag"))))"#;

    #[test]
    fn values_are_read_and_written_as_the_engine_does() {
        let script = transpile("c", &wat::parse_str(ECHO).unwrap(), &[], []).unwrap().script;
        let script = String::from_utf8(script).unwrap();
        for (written, meant) in AS_THE_ENGINE {
            assert!(!script.contains(written), "{written}");
            // No text of this component is in UTF-16.
            assert!(meant.contains("utf-16") || script.contains(meant), "{meant}");
        }
    }

    #[test]
    fn what_the_wit_of_a_component_says_is_left_out() {
        let text = format!(
            "{} (@custom \"package-docs\" \"\\01{{\\22worlds\\22:{{\\22w\\22:{{}}}}}}\"))",
            ECHO.strip_suffix(')').unwrap()
        );
        let component = wat::parse_str(text).unwrap();
        let (plain, documented) = (wat::parse_str(ECHO).unwrap(), without_documentation(&component).unwrap());
        assert_eq!(documented, plain);
        assert_eq!(
            transpile("c", &component, &[], []).unwrap().script,
            transpile("c", &plain, &[], []).unwrap().script
        );
        assert_eq!(without_documentation(&plain), Some(Cow::Borrowed(&plain[..])));
        assert_eq!(without_documentation(&component[..component.len() - 1]), None);
    }

    #[test]
    fn a_name_that_the_generated_code_uses_is_refused() {
        // One in capital letters, which is no name of a function beside interfaces for the generator, is refused by it.
        for name in RESERVED.into_iter().filter(|name| *name != "JSON") {
            let text =
                ECHO.replace("(export \"byte\") (param \"v\"", &format!("(export \"{name}\") (param \"v\""));
            let refused = transpile("c", &wat::parse_str(text).unwrap(), &[], []);
            assert_eq!(refused.unwrap_err(), TranspileError::Reserved { name });
        }
        // The generator gives these another name.
        for name in ["eval", "await", "static", "fetch"] {
            let text =
                ECHO.replace("(export \"byte\") (param \"v\"", &format!("(export \"{name}\") (param \"v\""));
            assert!(transpile("c", &wat::parse_str(text).unwrap(), &[], []).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_function_that_makes_a_promise_of_its_component_is_refused() {
        for name in ["then", "THEN"] {
            let text =
                ECHO.replace("(export \"byte\") (param \"v\"", &format!("(export \"{name}\") (param \"v\""));
            assert_ne!(text, ECHO);
            let refused = transpile("c", &wat::parse_str(text).unwrap(), &[], []);
            assert_eq!(refused.unwrap_err(), TranspileError::Then);
        }
    }
}
