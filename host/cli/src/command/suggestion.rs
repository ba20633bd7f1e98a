//! The smallest manifest under which a graph would run.

use std::collections::HashSet;
use std::sync::Arc;

use graph_core::capability::{
    DIRECTIVE_FORMAT, DispatchPatterns, DispatchUse, ITEM_FORMAT, ItemNeeds, MODEL_FORMAT, Manifest,
    Suggestion, is_model_name, suggest,
};
use graph_core::diagnostic::printable;
use graph_core::id::{function_of, without_version};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::schema::texts_of_format;
use graph_core::work::{Meter, rates};
use graph_runtime::error::Result;
use graph_runtime::items::subgraphs::Subgraphs;
use graph_runtime::plan::admission::{Admitted, Components};
use graph_runtime::plan::describe::ComponentDescription;
use graph_walker::graph::{Action as Dispatch, Graph};
use graph_walker::hook::{Hook, HookAction, is_control_item};
use graph_walker::host_item::HostItem;
use graph_walker::walker::Graphs;
use serde_json::Value;

/// Fuel limit of the search for names in the params of all nodes: about five seconds.
const SEARCH: u64 = 50 * rates::STEP;

/// A suggested manifest, with notes on its gaps.
pub(crate) struct SuggestedManifest {
    pub(crate) suggestion: Suggestion,
    /// Items whose needs are not in the manifest, each with the reason: it was not found or not admitted.
    pub(crate) unknown: Vec<String>,
    /// Notes on nodes that name their item by a template.
    pub(crate) templates: Vec<String>,
}

/// An item that a graph names.
struct NamedItem {
    /// Id in the graph, with the function if it names one.
    item: String,
    admitted: Admitted,
    description: ComponentDescription,
    guest_folder: Option<String>,
}

/// Suggests the manifest for a graph, the graphs that it dispatches, and hooks from outside of it. Nothing is compiled, and only
/// unsigned components are executed, to describe themselves.
pub(crate) async fn suggest_manifest(
    graph: &Arc<Graph>,
    outer: &[Hook],
    components: &Components,
) -> Result<SuggestedManifest> {
    let all = DispatchPatterns::parse(["execute.tool.*"]).map(Manifest::of_dispatch).unwrap_or_default();
    let Components { locator, trust, .. } = components;
    let inside = Subgraphs::resolve(graph, Graphs::new(), locator, trust, &all, |_| false)?;
    let graphs = closure(graph, &inside.graphs);
    let hooks: Vec<_> = graphs.iter().flat_map(|graph| &graph.hooks).chain(outer).collect();
    let hook_names: Vec<_> = hooks.iter().map(|hook| format!("hook:{}", hook.name)).collect();
    let mut dispatches: Vec<_> = graphs.iter().flat_map(|graph| of_nodes(graph)).collect();
    dispatches.extend(of_hooks(hooks.iter().copied().zip(hook_names.iter().map(String::as_str))));
    dispatches.extend(of_params(&graphs, &inside.graphs));
    let mut named: Vec<NamedItem> = Vec::new();
    let mut unknown = Vec::new();
    for used in &dispatches {
        if used.operation != ItemOperation::Execute || used.item_type != ItemType::Tool {
            continue;
        }
        let is_of_host = HostItem::of_id(used.item_id).is_some();
        if is_of_host || inside.graphs.contains_key(&*without_version(used.item_id)) {
            continue;
        }
        let guest_folder = graphs.iter().find_map(|graph| guest_folder(graph, used.node, used.item_id));
        if let Some(known) = named.iter_mut().find(|named| named.item == used.item_id) {
            known.guest_folder = known.guest_folder.take().or(guest_folder);
            continue;
        }
        match components.examine(used.item_id, None) {
            Ok(admitted) => {
                let description = components.description(&admitted).await?;
                named.push(NamedItem { item: used.item_id.to_owned(), admitted, description, guest_folder });
            }
            Err(error) => unknown.push(format!("what `{}` needs is not known: {error}", used.item_id)),
        }
    }
    unknown.sort();
    unknown.dedup();
    let templates = graphs
        .iter()
        .flat_map(|graph| &graph.nodes)
        .filter(|node| node.action.as_ref().is_some_and(|action| action.item_id.literal().is_none()));
    let templates = templates.map(|node| {
        format!("node `{}` names its item by a template: permit what it may name yourself", node.name)
    });
    let templates: Vec<_> = templates.collect();
    let schema = |id: &str| match inside.graphs.get(&*without_version(id)) {
        Some(graph) => graph.input_schema.as_ref(),
        None => named
            .iter()
            .find(|named| named.item == id)
            .and_then(|named| named.description.params(function_of(&without_version(id)))),
    };
    let models = models_of(actions(&graphs, &hooks), schema);
    unknown.extend(models.iter().filter(|(_, name)| !is_model_name(name)).map(|(item, name)| {
        format!(
            "params of `{item}` name the model `{}`, which cannot be a name under `models`: write the name under which the manifest has it",
            printable(name)
        )
    }));
    // Which of its components asks a model is unknown for a graph: each item gets the models that any graph names.
    let of_item = |id: &str| -> Vec<&str> {
        let is_for = |item: &str| item == id || inside.graphs.contains_key(&*without_version(item));
        models.iter().filter(|(item, _)| is_for(item)).map(|(_, name)| *name).collect()
    };
    let models_of_items: Vec<_> = named.iter().map(|named| of_item(&named.item)).collect();
    let needs: Vec<_> = named
        .iter()
        .zip(&models_of_items)
        .map(|(named, models)| ItemNeeds {
            item_id: &named.item,
            interfaces: &named.admitted.declared,
            wanted: &named.description.description.interfaces,
            guest_folder: named.guest_folder.as_deref(),
            models,
        })
        .collect();
    let suggestion = suggest(&graph.id, &dispatches, &needs);
    Ok(SuggestedManifest { suggestion, unknown, templates })
}

/// Returns the actions of nodes and hooks.
fn actions<'a>(graphs: &'a [Arc<Graph>], hooks: &'a [&'a Hook]) -> impl Iterator<Item = &'a Dispatch> {
    let nodes = graphs.iter().flat_map(|graph| &graph.nodes).filter_map(|node| node.action.as_ref());
    nodes.chain(hooks.iter().filter_map(|hook| match &hook.action {
        HookAction::Item(action) => Some(action),
        HookAction::Control(_) | HookAction::Nothing => None,
    }))
}

/// Returns the items that literal params of nodes name, by the schemas of the graphs that receive them: tools of an agent, and the
/// directive of a thread.
fn of_params<'a>(graphs: &'a [Arc<Graph>], known: &Graphs) -> Vec<DispatchUse<'a>> {
    let nodes = graphs.iter().flat_map(|graph| &graph.nodes);
    let actions = nodes.filter_map(|node| Some((node.action.as_ref()?, node.name.as_str())));
    let mut named: Vec<DispatchUse<'a>> = Vec::new();
    let meter = Meter::new(SEARCH);
    for (action, node) in actions {
        let Some(id) = action.item_id.literal().and_then(Value::as_str) else { continue };
        let Some(schema) = known.get(&*without_version(id)).and_then(|graph| graph.input_schema.as_ref())
        else {
            continue;
        };
        for (format, item_type) in [(ITEM_FORMAT, ItemType::Tool), (DIRECTIVE_FORMAT, ItemType::Directive)] {
            let ids = texts_of_format(schema, action.params.source(), format, &meter).into_iter();
            let ids = ids.filter(|id| !id.is_empty() && !id.contains("${"));
            named.extend(ids.map(|item_id| DispatchUse {
                operation: ItemOperation::Execute,
                item_type,
                item_id,
                node,
            }));
        }
    }
    named
}

/// Returns the models that literal params name, with their items, without duplicates. `schema` returns the schema of an item's params.
fn models_of<'a, 's>(
    actions: impl Iterator<Item = &'a Dispatch>,
    schema: impl Fn(&str) -> Option<&'s Value>,
) -> Vec<(&'a str, &'a str)> {
    let (mut models, mut known) = (Vec::new(), HashSet::new());
    let meter = Meter::new(SEARCH);
    for action in actions {
        let Some(item) = action.item_id.literal().and_then(Value::as_str) else { continue };
        let Some(schema) = schema(item) else { continue };
        for name in texts_of_format(schema, action.params.source(), MODEL_FORMAT, &meter) {
            if known.insert((item, name)) {
                models.push((item, name));
            }
        }
    }
    models
}

/// Returns a graph and all graphs that it names by literal ids, directly or not.
fn closure(graph: &Arc<Graph>, graphs: &Graphs) -> Vec<Arc<Graph>> {
    let mut found = vec![Arc::clone(graph)];
    let mut at = 0;
    while let Some(graph) = found.get(at).cloned() {
        at += 1;
        for child in graph_walker::walker::named(&graph).into_iter().filter_map(|id| graphs.get(id)) {
            if !found.iter().any(|known| known.digest == child.digest) {
                found.push(Arc::clone(child));
            }
        }
    }
    found
}

/// Returns the dispatches of nodes with literal items.
fn of_nodes(graph: &Graph) -> Vec<DispatchUse<'_>> {
    let nodes = graph.nodes.iter().filter_map(|node| Some((node.action.as_ref()?, node.name.as_str())));
    written_out(nodes)
}

/// Returns the dispatches of hooks with literal items, with the names that are shown for the hooks.
fn of_hooks<'a>(hooks: impl Iterator<Item = (&'a Hook, &'a str)>) -> Vec<DispatchUse<'a>> {
    written_out(hooks.filter_map(|(hook, name)| match &hook.action {
        HookAction::Item(action) => Some((action, name)),
        HookAction::Control(_) | HookAction::Nothing => None,
    }))
}

fn written_out<'a>(actions: impl Iterator<Item = (&'a Dispatch, &'a str)>) -> Vec<DispatchUse<'a>> {
    actions
        .filter_map(|(action, node)| {
            let item_id = match action.item_id.literal()? {
                // A search without an item covers everything.
                Value::Null if action.operation == ItemOperation::Search => "",
                literal => literal.as_str()?,
            };
            let (operation, item_type) = (action.operation, action.item_type);
            (!is_control_item(operation, item_type, item_id)).then_some(DispatchUse {
                operation,
                item_type,
                item_id,
                node,
            })
        })
        .collect()
}

/// Returns an absolute path among a node's params: the folder that its component expects.
fn guest_folder(graph: &Graph, node: &str, item: &str) -> Option<String> {
    let action = graph.nodes.iter().find(|known| known.name == node)?.action.as_ref()?;
    if action.item_id.literal().and_then(Value::as_str) != Some(item) {
        return None;
    }
    let params = action.params.source().as_object()?;
    ["root", "path", "folder", "dir", "directory"]
        .into_iter()
        .find_map(|key| params.get(key).and_then(Value::as_str).filter(|path| path.starts_with('/')))
        .map(str::to_owned)
}
