//! Finds the functions that a component exports, with their types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use graph_core::diagnostic::{excerpt, nearest};
use graph_core::id::is_function;
use graph_core::node::FunctionDescription;
use graph_core::wit_value::{FunctionSignature, WitType, of_params, of_type};
use serde_json::json;
use wasmtime::component::types::{self, ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Type};

use super::documentation::{Documentation, DocumentationError};
use super::types::{FunctionsTooLarge, TypeError, TypeRoom, Types};

/// Largest number of functions that a message names.
const MOST_SHOWN: usize = 20;

/// The interface of a node action, whose functions are left out.
const ACTION: &str = "graph-host:node/action";

/// A function that cannot be called with JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be a node: {reason}")]
pub struct UncallableFunction {
    /// The function's name after `#` in an item id.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// A function that a component exports, or the reason why it cannot be called.
pub(crate) type Function<F = FunctionDescription> = Result<F, UncallableFunction>;

/// All functions that a component exports in addition to the node action.
#[derive(Clone, Debug, Default)]
pub struct ExportedFunctions {
    /// The functions that nodes can call, in the component's order, with their documentation.
    pub callable: Vec<FunctionDescription>,
    /// The functions that nodes cannot call, with the reasons.
    pub uncallable: Vec<UncallableFunction>,
    /// The reason why the documentation in the component was not read; `None` if it has none or was read.
    pub undocumented: Option<DocumentationError>,
}

impl ExportedFunctions {
    /// Reads the functions of a component, which was compiled from `bytes`.
    pub(crate) fn read(
        engine: &wasmtime::Engine,
        component: &Component,
        bytes: &[u8],
    ) -> Result<Self, FunctionsTooLarge> {
        let mut exported = Self::default();
        let types = component.component_type();
        let exports = Exports::new(engine, &types)?;
        let mut room = TypeRoom::of_one_component();
        for function in exports.describe(&mut room) {
            match function? {
                Ok(callable) => exported.callable.push(callable),
                Err(uncallable) => exported.uncallable.push(uncallable),
            }
        }
        if exported.callable.is_empty() {
            return Ok(exported);
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
        Ok(exported)
    }
}

/// An exported function: its interface with its version, if any, and its own name.
struct Export<'t> {
    interface: Option<&'t str>,
    name: String,
    function: ComponentFunc,
}

impl Export<'_> {
    /// Returns the interface without its version.
    fn path(&self) -> Option<&str> {
        self.interface.map(without_version)
    }

    /// Returns the name after `#` in an item id.
    fn shown(&self) -> String {
        match self.path() {
            Some(path) => format!("{path}/{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Checks whether the function has that name after `#` in an item id.
    fn is(&self, name: &str) -> bool {
        match self.path() {
            Some(path) => name.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')) == Some(&self.name),
            None => name == self.name,
        }
    }
}

/// All functions that a component exports, in its own order, with their names in item ids.
struct Exports<'t> {
    named: Vec<(String, Export<'t>)>,
    /// Number of functions with each name.
    counts: BTreeMap<String, usize>,
}

impl<'t> Exports<'t> {
    fn new(engine: &'t wasmtime::Engine, types: &'t types::Component) -> Result<Self, FunctionsTooLarge> {
        let exports = exports(engine, types)?;
        let named: Vec<_> = exports.into_iter().map(|export| (export.shown(), export)).collect();
        let mut counts = BTreeMap::new();
        for (name, _) in &named {
            *counts.entry(name.clone()).or_default() += 1;
        }
        Ok(Self { named, counts })
    }

    /// Describes one function after the other, without documentation.
    fn describe<'e>(
        &'e self,
        room: &'e mut TypeRoom,
    ) -> impl Iterator<Item = Result<Function, FunctionsTooLarge>> + 'e {
        self.named.iter().map(move |(name, export)| self.described(name, export, room))
    }

    fn described(
        &self,
        name: &str,
        export: &Export<'t>,
        room: &mut TypeRoom,
    ) -> Result<Function, FunctionsTooLarge> {
        room.name(name, 1)?;
        let uncallable = |reason: String| Ok(Err(UncallableFunction { name: name.to_owned(), reason }));
        if self.counts.get(name).is_some_and(|count| *count > 1) {
            return uncallable("the component exports it in several versions of its interface".to_owned());
        }
        if !is_function(name) {
            return uncallable("it belongs to a resource, which lives no longer than a call".to_owned());
        }
        match describe(&export.function, name, room) {
            Ok(described) => Ok(Ok(described)),
            Err(UndescribedFunction::Room(full)) => Err(full),
            Err(UndescribedFunction::Uncallable(reason)) => uncallable(reason),
        }
    }
}

/// Returns the exported functions. Each copies the name of its interface, so that the names are counted before they are copied.
fn exports<'t>(
    engine: &'t wasmtime::Engine,
    component: &'t types::Component,
) -> Result<Vec<Export<'t>>, FunctionsTooLarge> {
    let mut room = TypeRoom::of_one_component();
    let mut found = Vec::new();
    for (name, item) in component.exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(function) => {
                room.name(name, 1)?;
                found.push(Export { interface: None, name: name.to_owned(), function });
            }
            ComponentItem::ComponentInstance(instance) if !is_action(name) => {
                for (function_name, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(function) = item.ty {
                        room.name(function_name, 1)?;
                        room.name(without_version(name), 1)?;
                        found.push(Export {
                            interface: Some(name),
                            name: function_name.to_owned(),
                            function,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the name of an interface without its version.
fn without_version(interface: &str) -> &str {
    interface.split_once('@').map_or(interface, |(path, _)| path)
}

fn is_action(name: &str) -> bool {
    without_version(name) == ACTION
}

/// Checks whether a component exports the node action.
pub(crate) fn has_action(engine: &wasmtime::Engine, component: &Component) -> bool {
    component.component_type().exports(engine).any(|(name, _)| is_action(name))
}

/// Returns the first function of a component that nodes can call.
pub(crate) fn first_callable(
    engine: &wasmtime::Engine,
    component: &Component,
) -> Result<Option<FunctionDescription>, FunctionsTooLarge> {
    let types = component.component_type();
    let exports = Exports::new(engine, &types)?;
    let mut room = TypeRoom::of_one_component();
    let found = exports.describe(&mut room).find_map(|function| function.map(Result::ok).transpose());
    found.transpose()
}

/// The outcome of looking up a name among the functions of a component.
pub(crate) enum FunctionLookup {
    /// The function can be called by nodes.
    Callable,
    /// The function cannot be called by nodes.
    Uncallable(UncallableFunction),
    /// There is no such function; some existing names, as far as a message has room for them.
    Unknown { near: Option<String>, some: Vec<String>, more: usize },
}

/// Looks up the function with a name in item ids. No other function is described.
pub(crate) fn look_up(
    engine: &wasmtime::Engine,
    component: &Component,
    name: &str,
) -> Result<FunctionLookup, FunctionsTooLarge> {
    let types = component.component_type();
    let exports = Exports::new(engine, &types)?;
    if let Some((known, export)) = exports.named.iter().find(|(known, _)| known == name) {
        let described = exports.described(known, export, &mut TypeRoom::of_one_component())?;
        return Ok(match described {
            Ok(_) => FunctionLookup::Callable,
            Err(uncallable) => FunctionLookup::Uncallable(uncallable),
        });
    }
    let known = || exports.named.iter().map(|(name, _)| name.as_str()).filter(|name| is_function(name));
    Ok(FunctionLookup::Unknown {
        near: nearest(name, known()).map(str::to_owned),
        some: known().take(MOST_SHOWN).map(excerpt).collect(),
        more: known().count().saturating_sub(MOST_SHOWN),
    })
}

/// The reason why a function is not described.
#[derive(Debug)]
pub(super) enum UndescribedFunction {
    /// JSON cannot call it.
    Uncallable(String),
    /// The schemas exceed the limit.
    Room(FunctionsTooLarge),
}

/// Returns the expanded types of a function.
pub(super) fn signature(
    function: &ComponentFunc,
    room: &mut TypeRoom,
) -> Result<FunctionSignature, UndescribedFunction> {
    if function.async_() {
        return Err(UndescribedFunction::Uncallable("it is asynchronous".to_owned()));
    }
    let because = |what: &dyn fmt::Display, error: TypeError| match error {
        TypeError::Room(full) => UndescribedFunction::Room(full),
        other => UndescribedFunction::Uncallable(format!("{what} {other}")),
    };
    let of_result = |error: TypeError| because(&"its result", error);
    let given: Vec<_> = function.params().collect();
    for (name, _) in &given {
        room.name(name, 1).map_err(UndescribedFunction::Room)?;
    }
    let mut types = Types::new(room);
    let mut params = Vec::with_capacity(given.len());
    for (name, ty) in given {
        let of_param = |error| because(&format_args!("its parameter `{}`", excerpt(name)), error);
        types.param(name).map_err(of_param)?;
        params.push((name.to_owned(), types.of(&ty).map_err(of_param)?));
    }
    let mut written = |ty: Type| types.of(&ty).map_err(of_result);
    let result = match function.results().next() {
        // The error becomes a failure, and has to be written as well.
        Some(Type::Result(result)) => {
            let err = result.err().map(&mut written).transpose()?;
            let ok = result.ok().map(&mut written).transpose()?;
            Some(WitType::Result(ok.map(Box::new), err.map(Box::new)))
        }
        Some(ty) => Some(written(ty)?),
        None => None,
    };
    Ok(FunctionSignature { params, result })
}

/// Describes a function for nodes, without documentation.
pub(super) fn describe(
    function: &ComponentFunc,
    name: &str,
    room: &mut TypeRoom,
) -> Result<FunctionDescription, UndescribedFunction> {
    let signature = signature(function, room)?;
    let given = match &signature.result {
        Some(WitType::Result(ok, _)) => ok.as_deref(),
        other => other.as_ref(),
    };
    let result = given.map_or_else(|| json!({ "type": "null" }), of_type);
    let params = of_params(&signature);
    Ok(FunctionDescription { name: name.to_owned(), summary: String::new(), params, result })
}

/// Finds a function by its name in an item id.
pub(super) fn find(
    engine: &wasmtime::Engine,
    component: &Component,
    name: &str,
) -> Option<(ComponentExportIndex, FunctionSignature)> {
    let types = component.component_type();
    let exports = exports(engine, &types).ok()?;
    let export = only(exports, name)?;
    let interface = match export.interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    let index = component.get_export_index(interface.as_ref(), &export.name)?;
    Some((index, signature(&export.function, &mut TypeRoom::of_one_component()).ok()?))
}

/// Returns the function with a name in item ids, unless there are several.
fn only<'t>(exports: Vec<Export<'t>>, name: &str) -> Option<Export<'t>> {
    let mut found = exports.into_iter().filter(|export| export.is(name));
    let export = found.next()?;
    found.next().is_none().then_some(export)
}

/// A function that a component exports, with the data that a host of another kind needs to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFunction {
    /// The function's interface, with its version; `None` for a function that the component exports itself.
    pub interface: Option<String>,
    /// The function's own name.
    pub name: String,
    /// The types of its parameters and its result.
    pub signature: FunctionSignature,
}

/// Returns the function with a name in item ids, or the reason why nodes cannot call it; `None` if there is none.
pub(crate) fn exported(
    engine: &wasmtime::Engine,
    component: &Component,
    name: &str,
) -> Result<Option<Function<ExportedFunction>>, FunctionsTooLarge> {
    match look_up(engine, component, name)? {
        FunctionLookup::Unknown { .. } => return Ok(None),
        FunctionLookup::Uncallable(uncallable) => return Ok(Some(Err(uncallable))),
        FunctionLookup::Callable => {}
    }
    let types = component.component_type();
    let Some(export) = only(exports(engine, &types)?, name) else { return Ok(None) };
    let Ok(signature) = signature(&export.function, &mut TypeRoom::of_one_component()) else {
        return Ok(None);
    };
    let interface = export.interface.map(str::to_owned);
    Ok(Some(Ok(ExportedFunction { interface, name: export.name, signature })))
}
