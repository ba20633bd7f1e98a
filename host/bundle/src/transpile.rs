//! Components as JavaScript that instantiates core modules: what a browser can run.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graph_core::wasm_name::WasmNameError;
use js_component_bindgen::{AsyncMode, InstantiationMode, TranspileOpts, transpile as generate};

/// Functions of the host that keep a component waiting in a page: the interface without its version, and the function.
const WAITING: [(&str, &str); 8] = [
    ("wasi:http/outgoing-handler", "handle"),
    // A request whose body is finished last is sent then.
    ("wasi:http/types", "[static]outgoing-body.finish"),
    ("graph-host:host/tools", "call"),
    ("graph-host:host/model", "complete"),
    // The worker that owns the page's storage answers: what was put is durable, and seen by every other task.
    ("graph-host:host/knowledge", "get"),
    ("graph-host:host/knowledge", "put"),
    ("graph-host:host/knowledge", "search"),
    ("graph-host:host/knowledge", "list"),
];
/// Functions of a node, from which those are called.
const OF_NODES: [(&str, &str); 2] =
    [("graph-host:node/action", "run"), ("graph-host:node/action", "describe")];

/// A component in JavaScript.
#[derive(Clone, Debug)]
pub struct Transpiled {
    /// The module: it exports `instantiate(getCoreModule, imports)`.
    pub script: Vec<u8>,
    /// The core modules that `getCoreModule` is asked for, with their names: those of the component, at any depth, as they are and in their
    /// order in it; then the adapters that link components which are nested in it.
    pub cores: Vec<(String, Vec<u8>)>,
    /// Whether it needs JavaScript Promise Integration: it calls something that waits.
    pub waits: bool,
}

/// Why a component cannot be transpiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranspileError {
    /// A name in it would be code.
    #[error("it cannot be translated to JavaScript: {0}")]
    Name(#[from] WasmNameError),
    /// The generator gave up.
    #[error("it cannot be translated to JavaScript: {reason}")]
    Generator {
        /// The generator's message.
        reason: String,
    },
}

/// Makes JavaScript of a component. `name` is the beginning of all its files. `imports` are the interfaces that it imports. A component
/// with a name that would be code is refused: the generator writes names as they are.
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
        // An adapter has the memories of both components, and is then the one that the engine has.
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
    // The generator gives up on shapes of components that it does not know.
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
