//! Which capability an interface needs.

use graph_core::capability::CapabilityKind;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// An import of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The interface with its version: `wasi:filesystem/types@0.2.12`.
    pub name: String,
    /// It defines plain types only, and needs no grant.
    pub type_only: bool,
}

/// The capabilities of which each links an interface, by its name with or without a version. Empty: the host does not
/// offer the interface.
pub fn kinds_for(interface: &str) -> &'static [CapabilityKind] {
    use CapabilityKind::{Clocks, Filesystem, Http, Knowledge, Log, Random, Secrets, Tools};
    match interface.split_once('@').map_or(interface, |(name, _)| name) {
        "graph-host:host/log" | "graph-host:host/events" => &[Log],
        "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock" => &[Clocks],
        "wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed" => &[Random],
        "wasi:filesystem/types" | "wasi:filesystem/preopens" => &[Filesystem],
        "wasi:http/types" | "wasi:http/outgoing-handler" => &[Http],
        "graph-host:host/secrets" => &[Secrets],
        "graph-host:host/knowledge" => &[Knowledge],
        "graph-host:host/tools" => &[Tools],
        "wasi:io/error" | "wasi:io/streams" => &[Filesystem, Http],
        "wasi:io/poll" => &[Clocks, Filesystem, Http],
        _ => &[],
    }
}

/// What a component imports, in its own order.
pub(crate) fn imports(engine: &wasmtime::Engine, component: &Component) -> Vec<Import> {
    component
        .component_type()
        .imports(engine)
        .map(|(name, item)| Import { name: name.to_owned(), type_only: type_only(engine, &item.ty) })
        .collect()
}

fn type_only(engine: &wasmtime::Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).all(|(_, item)| matches!(item.ty, ComponentItem::Type(_)))
        }
        ComponentItem::Type(_) => true,
        _ => false,
    }
}
