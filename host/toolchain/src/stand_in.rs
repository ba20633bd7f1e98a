//! Renamed interfaces while componentize-qjs builds.
//!
//! componentize-qjs executes the modules of a node once; functions that its own host lacks trap. Its host has `wasi:io` but not
//! `wasi:http`, so that the two would have different stream resources. In another namespace, both packages are unknown to it.
//! Afterwards a second component is generated that imports the interfaces by their own names and exports them under the renamed ones.
//! It has no code. The composition of the two components imports what the sources do.

use wac_graph::types::{InterfaceId, ItemKind, Package};
use wac_graph::{CompositionGraph, EncodeOptions};

/// The packages of `wasi` that have another namespace during a build.
pub const PACKAGES: [&str; 2] = ["io", "http"];
const NAMESPACE: &str = "wasi:";
const STAND_IN: &str = "stand-in:";

/// Error of the restoration of the names.
#[derive(Debug, thiserror::Error)]
#[error("the interfaces of its requests cannot be linked: {0}")]
pub struct StandInError(String);

fn wrong(error: impl std::fmt::Display) -> StandInError {
    StandInError(format!("{error:#}"))
}

/// Renames the packages in a WIT text or in the name of an interface.
pub fn renamed(text: &str) -> String {
    PACKAGES.iter().fold(text.to_owned(), |text, package| {
        text.replace(&format!("{NAMESPACE}{package}"), &format!("{STAND_IN}{package}"))
    })
}

/// Returns the original name of a renamed interface; `None` if the name was not renamed.
pub fn original(name: &str) -> Option<String> {
    name.strip_prefix(STAND_IN).map(|rest| format!("{NAMESPACE}{rest}"))
}

/// Restores the names of a component's imports. A component without renamed imports is returned unchanged.
pub fn put_back(component: Vec<u8>) -> Result<Vec<u8>, StandInError> {
    let Some(HandingOn { component: provider, names }) = handing_on(&component)? else {
        return Ok(component);
    };
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("node", None, component, graph.types_mut()).map_err(wrong)?;
    let exports: Vec<String> = graph.types()[package.ty()].exports.keys().cloned().collect();
    let package = graph.register_package(package).map_err(wrong)?;
    let node = graph.instantiate(package);
    let package = Package::from_bytes("handing-on", None, provider, graph.types_mut()).map_err(wrong)?;
    let package = graph.register_package(package).map_err(wrong)?;
    let provider = graph.instantiate(package);
    for name in &names {
        let interface = graph.alias_instance_export(provider, name).map_err(wrong)?;
        graph.set_instantiation_argument(node, name, interface).map_err(wrong)?;
    }
    // A function that is in no interface belongs to the toolchain.
    for name in exports.iter().filter(|name| name.contains('/')) {
        let export = graph.alias_instance_export(node, name).map_err(wrong)?;
        graph.export(export, name).map_err(wrong)?;
    }
    graph.encode(EncodeOptions::default()).map_err(wrong)
}

/// A component that exports interfaces under their renamed names, which are listed.
struct HandingOn {
    component: Vec<u8>,
    names: Vec<String>,
}

/// Generates the component that exports the renamed imports of another one; `None` if that has none.
fn handing_on(component: &[u8]) -> Result<Option<HandingOn>, StandInError> {
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("node", None, component.to_vec(), graph.types_mut()).map_err(wrong)?;
    let imports = graph.types()[package.ty()].imports.clone();
    let interfaces: Vec<InterfaceId> = imports
        .values()
        .filter_map(|kind| match kind {
            ItemKind::Instance(interface) => Some(*interface),
            _ => None,
        })
        .collect();
    // The types that one interface uses of another are linked by the name of the interface.
    let used: Vec<InterfaceId> = interfaces
        .iter()
        .flat_map(|interface| graph.types()[*interface].uses.values().map(|used| used.interface))
        .collect();
    for interface in interfaces.into_iter().chain(used) {
        let id = &mut graph.types_mut()[interface].id;
        if let Some(name) = id.as_deref().and_then(original) {
            *id = Some(name);
        }
    }
    let mut names = Vec::new();
    for (name, kind) in imports {
        let Some(original) = original(&name) else { continue };
        let imported = graph.import(original, kind).map_err(wrong)?;
        graph.export(imported, &name).map_err(wrong)?;
        names.push(name);
    }
    if names.is_empty() {
        return Ok(None);
    }
    Ok(Some(HandingOn { component: graph.encode(EncodeOptions::default()).map_err(wrong)?, names }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A component that imports a stream under its own name and under the other one, and a function that gives one of the latter.
    const COMPONENT: &str = r#"(component
        (import "wasi:io/streams@0.2.12" (instance (export "output-stream" (type (sub resource)))))
        (import "stand-in:io/streams@0.2.12" (instance $streams
            (export "input-stream" (type (sub resource)))))
        (alias export $streams "input-stream" (type $stream))
        (import "stand-in:http/types@0.2.12" (instance $http
            (alias outer 1 $stream (type $outer))
            (export "input-stream" (type $shown (eq $outer)))
            (export "body" (func (result (own $shown))))))
        (alias export $http "body" (func $body))
        (instance $interface (export "body" (func $body)))
        (export "acme:own/interface" (instance $interface)))"#;

    fn imports(component: &[u8]) -> Vec<String> {
        let mut graph = CompositionGraph::new();
        let package = Package::from_bytes("it", None, component.to_vec(), graph.types_mut()).unwrap();
        graph.types()[package.ty()].imports.keys().cloned().collect()
    }

    #[test]
    fn the_whole_imports_what_the_sources_name() {
        let component = wat::parse_str(COMPONENT).unwrap();
        let whole = put_back(component).unwrap();
        let mut found = imports(&whole);
        found.sort();
        assert_eq!(found, ["wasi:http/types@0.2.12", "wasi:io/streams@0.2.12"]);
        assert_eq!(put_back(whole.clone()).unwrap(), whole);
    }

    #[test]
    fn both_packages_have_another_namespace() {
        let text = "package wasi:http@0.2.12; use wasi:io/poll@0.2.12.{pollable}; use wasi:clocks/x;";
        let expected =
            "package stand-in:http@0.2.12; use stand-in:io/poll@0.2.12.{pollable}; use wasi:clocks/x;";
        assert_eq!(renamed(text), expected);
    }
}
