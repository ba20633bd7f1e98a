//! Reads the imports of a compiled component.

use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// An import of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The interface with its version: `wasi:filesystem/types@0.2.12`.
    pub name: String,
    /// `true` if it defines only plain types, and needs no grant.
    pub type_only: bool,
}

/// Returns the imports of a component, in its own order.
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
