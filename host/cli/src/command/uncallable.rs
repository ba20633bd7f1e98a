//! Reports of a component's functions that nodes cannot call.

use graph_host::terminal::output::Output;
use graph_runtime::plan::describe::ComponentDescription;
use serde::Serialize;

/// A function that nodes cannot call, in a JSON document.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Uncallable {
    name: String,
    reason: String,
}

/// Returns all such functions of a component.
pub(super) fn uncallable_functions(component: &ComponentDescription) -> Vec<Uncallable> {
    let all = component.uncallable.iter();
    all.map(|function| Uncallable { name: function.name.clone(), reason: function.reason.clone() }).collect()
}

/// Warns about each function that the statement leaves out, and about lost documentation.
pub(super) fn warn(component: &ComponentDescription, output: Output) {
    for function in &component.uncallable {
        output.warn(format_args!("left out: {function}"));
    }
    if let Some(error) = &component.undocumented {
        output.warn(format_args!("the functions have no documentation: {error}"));
    }
}
