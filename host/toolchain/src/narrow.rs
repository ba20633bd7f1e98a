//! Removal of the imports of a component that its toolchain added and its author did not ask for.
//!
//! Toolchains of interpreted languages import everything that their runtime could use. A second component is generated that exports
//! these interfaces and accesses nothing: where possible, a function returns an empty list, or an error such as `access-denied`; any
//! other one writes a line to the log and traps. The composition of the two components imports only the remaining interfaces.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use graph_core::capability::{CapabilityKind, InterfaceName, Provision};
use graph_core::node::WantedInterface;
use graph_runtime::authoring::signing::wanted_kind;
use wac_graph::types::{InterfaceId, ItemKind, Package, WorldId as World};
use wac_graph::{CompositionGraph, EncodeOptions, NodeId};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{
    Function, LiftLowerAbi, ManglingAndAbi, Resolve, SizeAlign, Type, TypeDefKind, WasmExport,
    WasmExportKind, WasmImport, WorldId, WorldItem, WorldKey,
};

/// Error of the removal of imports.
#[derive(Debug, thiserror::Error)]
pub enum NarrowError {
    /// The bytes are no component, or it cannot be composed.
    #[error("its imports cannot be taken away: {0}")]
    Component(String),
}

/// Interface of the log, by which the generated component reports a call. It is always granted.
const LOG: &str = "graph-host:host/log";
/// The level `error` of the log.
const ERROR: u32 = 4;
/// Address of texts and results in the memory of the generated component; the first bytes stay zero, as the result of an empty list.
const DATA: usize = 1024;
/// Size of a page of memory, in bytes.
const PAGE: usize = 64 << 10;
/// Error codes of WASI that mean a refusal, the best first.
const REFUSALS: [&str; 4] = ["access-denied", "access", "not-permitted", "denied"];

/// Lists the interfaces that a component imports, with versions.
pub fn imports(component: &[u8]) -> Result<Vec<String>, NarrowError> {
    let (resolve, world) = decoded(component)?;
    Ok(resolve.worlds[world].imports.keys().map(|key| resolve.name_world_key(key)).collect())
}

/// Checks whether a component keeps an interface: it has types only, belongs to the log, or its kind is wanted. If only the types of a
/// removed interface are needed, the composition keeps them.
pub fn is_wanted(name: &str, wanted: &[WantedInterface]) -> bool {
    let Ok(name) = InterfaceName::parse(name) else { return false };
    match name.provision() {
        Provision::Types => true,
        Provision::Kinds { own, brought_by } => {
            brought_by.contains(&CapabilityKind::Log)
                || wanted
                    .iter()
                    .filter_map(wanted_kind)
                    .any(|kind| own.map_or_else(|| brought_by.contains(&kind), |own| own == kind))
        }
        Provision::OtherVersion { .. } | Provision::Unknown => false,
    }
}

/// Removes the imports for which `keep` is `false` from a component. Only interfaces remain as exports: other exported functions belong
/// to the toolchain.
pub fn narrow(component: &[u8], keep: impl Fn(&str) -> bool) -> Result<Vec<u8>, NarrowError> {
    let hidden: BTreeSet<String> = imports(component)?.into_iter().filter(|name| !keep(name)).collect();
    let refusing = if hidden.is_empty() { None } else { Some(refusing(component, &hidden)?) };
    compose(component, refusing.as_deref(), &hidden)
}

/// Converts an error of the tools, with its causes.
fn wrong(error: impl std::fmt::Display) -> NarrowError {
    NarrowError::Component(format!("{error:#}"))
}

fn decoded(component: &[u8]) -> Result<(Resolve, WorldId), NarrowError> {
    match wit_component::decode(component).map_err(wrong)? {
        DecodedWasm::Component(resolve, world) => Ok((resolve, world)),
        DecodedWasm::WitPackage(..) => Err(wrong("it is a WIT package, and no component")),
    }
}

/// Composes both components: the hidden interfaces are linked from `refusing` to the component.
fn compose(
    component: &[u8],
    refusing: Option<&[u8]>,
    hidden: &BTreeSet<String>,
) -> Result<Vec<u8>, NarrowError> {
    let mut graph = CompositionGraph::new();
    let (node, world) = instance(&mut graph, "node", component)?;
    let exports: Vec<String> = graph.types()[world].exports.keys().cloned().collect();
    if let Some(refusing) = refusing {
        let (provider, _) = instance(&mut graph, "refusing", refusing)?;
        for name in hidden {
            let interface = graph.alias_instance_export(provider, name).map_err(wrong)?;
            graph.set_instantiation_argument(node, name, interface).map_err(wrong)?;
        }
    }
    keep_types_alone(&mut graph, world, hidden);
    for name in exports.iter().filter(|name| name.contains('/')) {
        let interface = graph.alias_instance_export(node, name).map_err(wrong)?;
        graph.export(interface, name).map_err(wrong)?;
    }
    graph.encode(EncodeOptions::default()).map_err(wrong)
}

/// Instantiates a component; returns the node and the world of its imports and exports.
fn instance(graph: &mut CompositionGraph, name: &str, bytes: &[u8]) -> Result<(NodeId, World), NarrowError> {
    let package = Package::from_bytes(name, None, bytes.to_vec(), graph.types_mut()).map_err(wrong)?;
    let world = package.ty();
    let package = graph.register_package(package).map_err(wrong)?;
    Ok((graph.instantiate(package), world))
}

/// Removes the functions of the hidden interfaces: if another interface uses their types, the composition imports them for these types
/// only.
fn keep_types_alone(graph: &mut CompositionGraph, world: World, hidden: &BTreeSet<String>) {
    let types = graph.types();
    let imported = types[world].imports.values().filter_map(|kind| match kind {
        ItemKind::Instance(interface) => Some(*interface),
        _ => None,
    });
    let imported: Vec<_> = imported.collect();
    let used =
        imported.iter().flat_map(|interface| types[*interface].uses.values().map(|used| used.interface));
    let all: Vec<_> = imported.iter().copied().chain(used).collect();
    let is_hidden =
        |interface: &InterfaceId| types[*interface].id.as_ref().is_some_and(|id| hidden.contains(id));
    for interface in all.into_iter().filter(is_hidden).collect::<Vec<_>>() {
        graph.types_mut()[interface].exports.retain(|_, kind| matches!(kind, ItemKind::Type(_)));
    }
}

/// Generates a component that exports the interfaces and accesses nothing.
fn refusing(component: &[u8], hidden: &BTreeSet<String>) -> Result<Vec<u8>, NarrowError> {
    let (mut resolve, world) = decoded(component)?;
    let log = resolve.worlds[world]
        .imports
        .keys()
        .map(|key| resolve.name_world_key(key))
        .find(|name| name.split('@').next() == Some(LOG));
    let mut text = "package graph-host:narrow;\nworld refusing {\n".to_owned();
    if let Some(name) = &log {
        let _ = writeln!(text, "import {};", wit_name(name));
    }
    for name in hidden {
        let _ = writeln!(text, "export {};", wit_name(name));
    }
    text.push_str("}\n");
    let package = resolve.push_source("refusing.wit", &text).map_err(wrong)?;
    let world = resolve.select_world(&[package], Some("refusing")).map_err(wrong)?;
    let module = Module::new(&resolve, world).text();
    let mut module = wat::parse_str(&module).map_err(wrong)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(wrong)?;
    ComponentEncoder::default()
        .module(&module)
        .and_then(|encoder| encoder.validate(true).encode())
        .map_err(wrong)
}

/// Escapes the keywords of WIT in the name of an interface.
fn wit_name(name: &str) -> String {
    let Some((package, rest)) = name.split_once(':') else { return name.to_owned() };
    let Some((of, interface)) = rest.split_once('/') else { return name.to_owned() };
    format!("%{package}:%{of}/%{interface}")
}

/// A core module under construction, as text.
struct Module<'r> {
    resolve: &'r Resolve,
    world: WorldId,
    sizes: SizeAlign,
    /// Text of the functions.
    code: String,
    /// Texts and results, from [`DATA`] on.
    data: Vec<u8>,
    logs: bool,
}

const ABI: ManglingAndAbi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);

impl<'r> Module<'r> {
    fn new(resolve: &'r Resolve, world: WorldId) -> Self {
        let mut sizes = SizeAlign::default();
        sizes.fill(resolve);
        Self { resolve, world, sizes, code: String::new(), data: Vec::new(), logs: false }
    }

    fn text(mut self) -> String {
        let resolve = self.resolve;
        let world = &resolve.worlds[self.world];
        let mut imports = String::new();
        for (key, item) in &world.imports {
            let WorldItem::Interface { id, .. } = item else { continue };
            if !resolve.name_world_key(key).starts_with(LOG) {
                continue;
            }
            let functions = &resolve.interfaces[*id].functions;
            if let Some(func) = functions.get("log") {
                let (module, name) =
                    resolve.wasm_import_name(ABI, WasmImport::Func { interface: Some(key), func });
                let _ = writeln!(imports, "(import {module:?} {name:?} (func $log (param i32 i32 i32)))");
                self.logs = true;
            }
        }
        for (key, item) in &world.exports {
            let WorldItem::Interface { id, .. } = item else { continue };
            for func in resolve.interfaces[*id].functions.values() {
                self.function(key, func);
            }
        }
        let mut bytes = String::new();
        for byte in &self.data {
            let _ = write!(bytes, "\\{byte:02x}");
        }
        // Parameters are never read: all of them are written to the same address.
        let parameters = (DATA + self.data.len()).next_multiple_of(8);
        let pages = parameters.div_ceil(PAGE);
        format!(
            "(module\n{imports}(memory (export \"memory\") {pages})\n(data (i32.const {DATA}) \"{bytes}\")\n\
             (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32)\n\
             (if (i32.gt_u (local.get 3) (i32.sub (i32.mul (memory.size) (i32.const {PAGE})) (i32.const {parameters})))\n\
             (then (if (i32.eq (i32.const -1)\n\
             (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get 3) (i32.const {PAGE}))))) (then unreachable))))\n\
             (i32.const {parameters}))\n\
             {}(func (export \"_initialize\")))",
            self.code,
        )
    }

    /// Adds a function that returns the answer without a grant, or logs the call and traps.
    fn function(&mut self, interface: &WorldKey, func: &Function) {
        let resolve = self.resolve;
        let signature = resolve.wasm_signature(AbiVariant::GuestExport, func);
        let name = resolve.wasm_export_name(
            ABI,
            WasmExport::Func { interface: Some(interface), func, kind: WasmExportKind::Normal },
        );
        let _ = write!(self.code, "(func (export {name:?})");
        for (what, types) in [("param", &signature.params), ("result", &signature.results)] {
            for ty in types {
                let _ = write!(self.code, " ({what} {})", value_type(*ty));
            }
        }
        if let Some(at) = self.answer(func, signature.retptr) {
            let _ = writeln!(self.code, " (i32.const {at}))");
            return;
        }
        if self.logs {
            let told = format!(
                "`{}` of `{}` was called, which this node does not want: add the interface to `wants`",
                func.name,
                resolve.name_world_key(interface)
            );
            let (at, length) = (self.put(told.as_bytes()), told.len());
            let _ =
                write!(self.code, " (call $log (i32.const {ERROR}) (i32.const {at}) (i32.const {length}))");
        }
        self.code.push_str(" unreachable)\n");
    }

    /// Returns the address of the answer that a function gives without a grant: an empty list if the function has no parameters, or an
    /// error that means a refusal. `None` if there is none, or if results are not returned in memory.
    fn answer(&mut self, func: &Function, in_memory: bool) -> Option<usize> {
        let resolve = self.resolve;
        let Type::Id(id) = func.result? else { return None };
        match &resolve.types[id].kind {
            TypeDefKind::List(_) if in_memory && func.params.is_empty() => Some(0),
            TypeDefKind::Result(result) if in_memory => {
                let Some(Type::Id(mut error)) = result.err else { return None };
                while let TypeDefKind::Type(Type::Id(named)) = resolve.types[error].kind {
                    error = named;
                }
                let TypeDefKind::Enum(codes) = &resolve.types[error].kind else { return None };
                let refusal = REFUSALS
                    .iter()
                    .find_map(|word| codes.cases.iter().position(|case| case.name == *word))?;
                let offset =
                    self.sizes.payload_offset(wit_parser::Int::U8, [result.ok.as_ref(), result.err.as_ref()]);
                let mut bytes = vec![0; self.sizes.size(&Type::Id(id)).size_wasm32()];
                bytes[0] = 1;
                *bytes.get_mut(offset.size_wasm32())? = u8::try_from(refusal).ok()?;
                Some(self.put(&bytes))
            }
            _ => None,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> usize {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        let at = DATA + self.data.len();
        self.data.extend_from_slice(bytes);
        at
    }
}

fn value_type(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A component that imports a clock, folders and the log, and exports an interface and a separate function.
    const COMPONENT: &str = r#"(component
        (import "graph-host:host/log@0.1.0" (instance $log
            (type $level (enum "trace" "debug" "info" "warn" "error"))
            (export "level" (type $shown (eq $level)))
            (export "log" (func (param "level" $shown) (param "message" string)))))
        (import "wasi:clocks/monotonic-clock@0.2.12" (instance $clock
            (export "now" (func (result u64)))))
        (import "wasi:filesystem/preopens@0.2.12" (instance $folders
            (export "get-directories" (func (result (list u8))))))
        (import "wasi:random/random@0.2.12" (instance
            (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
        (alias export $clock "now" (func $now))
        (instance $interface (export "now" (func $now)))
        (export "acme:own/interface" (instance $interface))
        (export "init" (func $now))
    )"#;

    #[test]
    fn what_is_not_kept_is_no_import_any_more() {
        let bytes = wat::parse_str(COMPONENT).unwrap();
        let all = [
            "graph-host:host/log@0.1.0",
            "wasi:clocks/monotonic-clock@0.2.12",
            "wasi:filesystem/preopens@0.2.12",
            "wasi:random/random@0.2.12",
        ];
        assert_eq!(imports(&bytes).unwrap(), all);
        for kept in [&all[..1], &all[..2], &all[..]] {
            let narrowed = narrow(&bytes, |name| kept.contains(&name)).unwrap();
            assert_eq!(imports(&narrowed).unwrap(), kept);
            let (resolve, world) = decoded(&narrowed).unwrap();
            let exports: Vec<_> =
                resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key)).collect();
            assert_eq!(exports, ["acme:own/interface"]);
        }
    }

    #[test]
    fn what_is_taken_away_gives_nothing_or_refuses() {
        let bytes = wat::parse_str(COMPONENT).unwrap();
        let hidden: BTreeSet<String> =
            imports(&bytes).unwrap().into_iter().filter(|name| !name.starts_with(LOG)).collect();
        let printed = texts_of(&refusing(&bytes, &hidden).unwrap());
        assert!(
            printed.contains("`get-random-bytes` of `wasi:random/random@0.2.12` was called"),
            "{printed}"
        );
        assert!(printed.contains("`now` of `wasi:clocks/monotonic-clock@0.2.12` was called"), "{printed}");
        assert!(!printed.contains("`get-directories`"), "a list can be empty: {printed}");
    }

    /// The texts in a component.
    fn texts_of(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn bytes_that_are_no_component_are_refused() {
        for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0\xff"] {
            assert!(narrow(bytes, |_| true).is_err());
        }
    }

    #[test]
    fn a_node_keeps_what_it_wants_and_what_reaches_nothing() {
        let wants = |name: &str| [WantedInterface { name: name.to_owned(), why: String::new() }];
        let kept = |name: &str, wanted: &str| is_wanted(name, &wants(wanted));
        assert!(kept("wasi:filesystem/preopens@0.2.12", "wasi:filesystem/types"));
        assert!(kept("wasi:filesystem/preopens@0.2.12", "filesystem"));
        assert!(!kept("wasi:clocks/wall-clock@0.2.12", "wasi:filesystem/types"), "its types stay");
        assert!(kept("wasi:clocks/wall-clock@0.2.12", "wasi:clocks/monotonic-clock"));
        assert!(!kept("wasi:clocks/monotonic-clock@0.2.12", "wasi:filesystem/types"));
        assert!(kept("wasi:clocks/monotonic-clock@0.2.12", "wasi:clocks/wall-clock@0.2.6"));
        assert!(!kept("wasi:random/insecure-seed@0.2.12", "wasi:http/types"));
        for always in [
            "wasi:cli/stdout@0.2.12",
            "wasi:io/streams@0.2.12",
            "graph-host:host/log@0.1.0",
            "graph-host:node/types@0.1.0",
        ] {
            assert!(is_wanted(always, &[]), "{always}");
        }
        for never in ["wasi:sockets/tcp@0.2.12", "wasi:clocks/wall-clock@0.3.0", "not a name"] {
            assert!(!kept(never, "wasi:clocks/wall-clock"), "{never}");
        }
    }
}
