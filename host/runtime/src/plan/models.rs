//! Checks whether the manifest defines and grants the language models that written-out params name. A missing model is
//! only a warning: its use is up to the component that gets the name, and a graph can handle a denial.

use graph_core::capability::{MODEL_FORMAT, Manifest, is_model_name};
use graph_core::diagnostic::{nearest, printable};
use graph_core::schema::texts_of_format;
use graph_walker::graph::Action;
use serde_json::Value;

use super::work::PlanWork;

/// Warns of the models that the params of an action name and that this manifest defines or grants to none. `schema` is
/// that of the params. `item` is the component that uses the model; `None` for a graph, in which any item may.
pub(super) fn warnings(
    schema: Option<&Value>,
    action: &Action,
    manifest: &Manifest,
    item: Option<&str>,
    work: &PlanWork,
) -> Vec<String> {
    let Some(schema) = schema else { return Vec::new() };
    let named = work.step(|meter| texts_of_format(schema, action.params.source(), MODEL_FORMAT, meter));
    named.into_iter().filter_map(|name| warning(name, manifest, item)).collect()
}

fn warning(name: &str, manifest: &Manifest, item: Option<&str>) -> Option<String> {
    if manifest.grants_model(name, item) {
        return None;
    }
    let known: Vec<&str> = manifest.models().iter().map(|model| model.name.as_str()).collect();
    let shown = printable(name);
    let (message, help) = if !is_model_name(name) {
        let help =
            "write the name under which the manifest has it; `model` there is what the provider calls it";
        let message = format!("its params name the model `{shown}`, which cannot be a name under `models`");
        (message, help.to_owned())
    } else if known.contains(&name) {
        let granted =
            item.map_or_else(|| "grants to no item".to_owned(), |item| format!("does not grant to `{item}`"));
        let entry = item.map_or_else(|| "of the item that asks it".to_owned(), |item| format!("of `{item}`"));
        let message = format!("its params name the model `{shown}`, which the manifest {granted}");
        (message, format!("add `{shown}` to `model` in the entry {entry}"))
    } else {
        let help = nearest(name, known.iter().copied()).map_or_else(
            || format!("add `{shown}` to `models` of the manifest, and to `model` in the entry of the item that asks it"),
            |known| format!("did you mean `{known}`?"),
        );
        let message =
            format!("its params name the model `{shown}`, which is not among `models` of the manifest");
        (message, help)
    };
    Some(format!("{message}: {help}"))
}
