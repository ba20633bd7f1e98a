//! Which functions a component exports, and what they take.

use std::collections::BTreeSet;

use graph_core::id::is_function;
use graph_core::node::FunctionDescription;
use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Type};

use super::documentation::{Documentation, DocumentationError};
use super::schema::{Schemas, TooLarge};

/// The interface of a node action, which is no function of this kind.
const ACTION: &str = "graph-host:node/action";

/// A function that cannot be called with JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be a node: {reason}")]
pub struct UncallableFunction {
    /// Its name, as an item id would have it after `#`.
    pub name: String,
    /// Why it cannot be called.
    pub reason: String,
}

/// A function that a component exports, by what it takes and gives; or why it cannot be called.
pub(crate) type Function = Result<FunctionDescription, UncallableFunction>;

/// All functions that a component exports besides the node action.
#[derive(Clone, Debug, Default)]
pub struct ExportedFunctions {
    /// Those that nodes can call, in the component's order, with their documentation.
    pub callable: Vec<FunctionDescription>,
    /// Those that nodes cannot call, with the reasons.
    pub uncallable: Vec<UncallableFunction>,
    /// Why the documentation in the component was not read, if it has some that cannot be.
    pub undocumented: Option<DocumentationError>,
}

impl ExportedFunctions {
    /// The functions of a component, which was compiled from `bytes`.
    pub(crate) fn read(engine: &wasmtime::Engine, component: &Component, bytes: &[u8]) -> Self {
        let mut exported = Self::default();
        for function in functions(engine, component) {
            match function {
                Ok(callable) => exported.callable.push(callable),
                Err(uncallable) => exported.uncallable.push(uncallable),
            }
        }
        if exported.callable.is_empty() {
            return exported;
        }
        match Documentation::read(bytes) {
            Ok(None) => {}
            Ok(Some(documentation)) => {
                let callable = exported.callable.iter().map(|function| &function.name);
                let uncallable = exported.uncallable.iter().map(|function| &function.name);
                let names: BTreeSet<String> = callable.chain(uncallable).cloned().collect();
                documentation.describe(&mut exported.callable, &names);
            }
            Err(error) => exported.undocumented = Some(error),
        }
        exported
    }
}

/// The types of a function.
pub(super) struct Signature {
    pub(super) params: Vec<(String, Type)>,
    pub(super) result: Option<Type>,
}

impl Signature {
    pub(super) fn of(function: &ComponentFunc) -> Self {
        Self {
            params: function.params().map(|(name, ty)| (name.to_owned(), ty)).collect(),
            result: function.results().next(),
        }
    }
}

/// An exported function: the interface that has it, with its version, and its own name.
struct Export {
    interface: Option<String>,
    name: String,
    function: ComponentFunc,
}

impl Export {
    /// The name after `#` in an item id.
    fn shown(&self) -> String {
        match &self.interface {
            Some(interface) => {
                let path = interface.split_once('@').map_or(interface.as_str(), |(path, _)| path);
                format!("{path}/{}", self.name)
            }
            None => self.name.clone(),
        }
    }
}

fn exports(engine: &wasmtime::Engine, component: &Component) -> Vec<Export> {
    let mut found = Vec::new();
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(function) => {
                found.push(Export { interface: None, name: name.to_owned(), function });
            }
            ComponentItem::ComponentInstance(instance) if !is_action(name) => {
                for (function_name, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(function) = item.ty {
                        let interface = Some(name.to_owned());
                        found.push(Export { interface, name: function_name.to_owned(), function });
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn is_action(name: &str) -> bool {
    name.split_once('@').map_or(name, |(path, _)| path) == ACTION
}

/// Whether a component exports the node action.
pub(crate) fn has_action(engine: &wasmtime::Engine, component: &Component) -> bool {
    component.component_type().exports(engine).any(|(name, _)| is_action(name))
}

/// All functions that a component exports, in its own order, without documentation.
pub(crate) fn functions(engine: &wasmtime::Engine, component: &Component) -> Vec<Function> {
    let exports = exports(engine, component);
    let names: Vec<String> = exports.iter().map(Export::shown).collect();
    exports
        .iter()
        .zip(&names)
        .map(|(export, name)| {
            let uncallable =
                |reason: &str| UncallableFunction { name: name.clone(), reason: reason.to_owned() };
            if names.iter().filter(|other| *other == name).count() > 1 {
                return Err(uncallable("the component exports it in several versions of its interface"));
            }
            if !is_function(name) {
                return Err(uncallable("it belongs to a resource, which lives no longer than a call"));
            }
            describe(&export.function, name).map_err(|reason| uncallable(&reason))
        })
        .collect()
}

pub(super) fn describe(function: &ComponentFunc, name: &str) -> Result<FunctionDescription, String> {
    if function.async_() {
        return Err("it is asynchronous".to_owned());
    }
    let signature = Signature::of(function);
    let mut schemas = Schemas::new();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (param, ty) in &signature.params {
        let schema = schemas.of(ty).map_err(|error| format!("its parameter `{param}` {error}"))?;
        properties.insert(param.clone(), schema);
        if !matches!(ty, Type::Option(_)) {
            required.push(Value::from(param.clone()));
        }
    }
    let params = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let mut given = |ty: &Type| schemas.of(ty).map_err(|error: TooLarge| format!("its result {error}"));
    let result = match &signature.result {
        None => json!({ "type": "null" }),
        Some(Type::Result(result)) => {
            // What it fails with becomes a failure, and has to be written as well.
            result.err().map(|ty| given(&ty)).transpose()?;
            result.ok().map_or(Ok(json!({ "type": "null" })), |ty| given(&ty))?
        }
        Some(ty) => given(ty)?,
    };
    Ok(FunctionDescription { name: name.to_owned(), summary: String::new(), params, result })
}

/// Finds a function by its name in an item id.
pub(super) fn find(
    engine: &wasmtime::Engine,
    component: &Component,
    name: &str,
) -> Option<(ComponentExportIndex, Signature)> {
    let mut found = exports(engine, component).into_iter().filter(|export| export.shown() == name);
    let export = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let interface = match &export.interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    let index = component.get_export_index(interface.as_ref(), &export.name)?;
    Some((index, Signature::of(&export.function)))
}
