//! Translation of components to JavaScript that instantiates core modules, which a browser can run.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graph_core::wasm_name::WasmNameError;
use js_component_bindgen::{AsyncMode, InstantiationMode, TranspileOpts, transpile as generate};

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
pub struct Transpiled {
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
    /// The generator has failed.
    #[error("it cannot be translated to JavaScript: {reason}")]
    Generator {
        /// Message of the generator.
        reason: String,
    },
}

/// Translates a component to JavaScript. The names of all its files begin with `name`. `imports` are the interfaces
/// that it imports. A component with a name that would be code is refused, because the generator does not escape names.
pub fn transpile(name: &str, component: &[u8], imports: &[String]) -> Result<Transpiled, TranspileError> {
    crate::names::check(component)?;
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
    let exports = OF_NODES.iter().flat_map(|(interface, function)| {
        [format!("{interface}#{function}"), format!("{interface}@0.1.0#{function}")]
    });
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
        no_component_error_wrapping: false,
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
    // The generator panics on shapes of components that it does not support.
    let transpiled = catch_unwind(AssertUnwindSafe(|| generate(component, options)))
        .map_err(|_| TranspileError::Generator {
            reason: "the generator does not know its shape".to_owned(),
        })?
        .map_err(|error| TranspileError::Generator { reason: format!("{error:#}") })?;
    let mut files: BTreeMap<_, _> = transpiled.files.into_iter().collect();
    let script = files
        .remove(&format!("{name}.js"))
        .ok_or_else(|| TranspileError::Generator { reason: "no module was generated".to_owned() })?;
    let cores = std::iter::once(format!("{name}.core.wasm"))
        .chain((2..).map(|number: u32| format!("{name}.core{number}.wasm")))
        .map_while(|file| files.remove_entry(&file))
        .collect();
    Ok(Transpiled { script, cores, waits })
}
