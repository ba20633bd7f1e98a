//! Hooks in documents: the `hooks` of a graph, and the documents of the project and of the user.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::node;
use super::scope::DocumentReader;
use crate::hook::{Hook, HookAction, is_control_item};
use graph_core::condition::Condition;
use graph_core::diagnostic::{Diagnostic, Diagnostics, Problems, codes, excerpt, nearest};
use graph_core::hook_event::{Control, ControlAction, HookEvent, HookLayer};
use graph_core::node::Category;
use graph_core::work::CompileBudget;
use graph_core::yaml::{Fields, Node, Yaml};
use graph_core::{id, keys, yaml};

/// Events of conversations: known, and without effect in graphs.
const ELSEWHERE: [&str; 4] =
    ["thread_started", "context_limit_reached", "after_complete", "directive_return"];
/// Largest number of retries in a control result.
const MOST_RETRIES: u64 = 10_000;

/// A valid document of hooks.
#[derive(Debug)]
pub struct LoadedHooks {
    /// The hooks, in document order.
    pub hooks: Vec<Hook>,
    /// The list as JSON, for the snapshot in a run.
    pub document: Value,
    /// The warnings of the document.
    pub warnings: Diagnostics,
}

/// Reads a document of hooks: `hooks: [..]`, or only the list. `source_name` is the file's name in messages.
pub fn load_hooks(source_name: &str, text: &str, layer: HookLayer) -> Result<LoadedHooks, Box<Diagnostics>> {
    let problems = Problems::new();
    let read = yaml::parse(text, &problems).and_then(|root| {
        let node = if root.as_list().is_some() {
            root
        } else {
            let mut fields = Fields::open(&root, &keys::hooks::HOOKS, "a document of hooks", &problems)?;
            for key in ["version", "category", "description"] {
                if let Some(node) = fields.filled(key)
                    && !matches!(node.value, Yaml::Text(_) | Yaml::Number(_))
                {
                    node.wrong_type(format!("`{key}`"), "a text", &problems);
                }
            }
            let node = fields.required("hooks");
            fields.finish();
            node?.clone()
        };
        let hooks = load_hook_list(&node, text, layer, &problems);
        Some((hooks, node.to_json()))
    });
    let ((hooks, document), warnings) = problems.finish(source_name, text, read)?;
    Ok(LoadedHooks { hooks, document, warnings })
}

/// Reads a list of hooks in another document, whose text is `text`. Problems are reported, and invalid hooks left out.
pub fn load_hook_list(node: &Node, text: &str, layer: HookLayer, problems: &Problems) -> Vec<Hook> {
    let compiling = CompileBudget::of_file();
    let reader = DocumentReader {
        text,
        problems,
        names: BTreeMap::new(),
        barriers: BTreeSet::new(),
        keys: BTreeSet::new(),
        inputs: None,
        is_graph: false,
        is_snapshot: false,
        reported: RefCell::default(),
        folding: BTreeSet::new(),
        compiling: &compiling,
        retry: None,
        feedback: false,
    };
    if node.is_null() { Vec::new() } else { list(node, layer, &reader) }
}

/// Reads a [`LoadedHooks::document`] from a run.
pub fn load_hooks_snapshot(document: &Value, layer: HookLayer) -> Result<Vec<Hook>, Box<Diagnostics>> {
    let problems = Problems::new();
    let hooks = load_hook_list(&Node::from_json(document), "", layer, &problems);
    problems.finish("the run's snapshot of its hooks", "", Some(hooks)).map(|(hooks, _)| hooks)
}

/// Reads `hooks`: a list of `{id, description, event, condition, action, required, layer}`.
pub(super) fn list(node: &Node, layer: HookLayer, reader: &DocumentReader<'_>) -> Vec<Hook> {
    let items = node.list("`hooks`", reader.problems).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut hooks = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let Some(hook) = hook(item, layer, place, reader) else { continue };
        if !seen.insert(hook.name.clone()) {
            let message = format!("two hooks are called `{}`", hook.name);
            let span = item.as_mapping().and_then(|map| map.get("id")).map_or(item.span, |id| id.span);
            let problem = Diagnostic::error(codes::BAD_NODE_NAME, span.first_line(), message);
            reader.problems.push(problem.help("give one of them another `id`"));
        }
        hooks.push(hook);
    }
    hooks
}

/// Reads one hook. Returns `None` if it cannot be read, or can never be asked.
fn hook(item: &Node, layer: HookLayer, place: usize, reader: &DocumentReader<'_>) -> Option<Hook> {
    let problems = reader.problems;
    let mut fields = Fields::open(item, &keys::hooks::HOOK, "a hook", problems)?;
    let name = fields.filled("id").and_then(|node| {
        let name = node.text("`id`", problems)?;
        if let Err(error) = id::check_node_name(name) {
            reader.bad_name(codes::BAD_NODE_NAME, node, "a hook's `id`", &error);
        }
        Some(name.to_owned())
    });
    let description = fields.filled("description").and_then(|node| node.text("`description`", problems));
    let event = fields.required("event").map(|node| event(node, reader));
    let required = fields.bool("required").unwrap_or(false);
    if let Some(node) = fields.filled("layer")
        && let Some(written) = node.u64("`layer`", 1..=3, problems)
        && written != u64::from(layer.number())
    {
        let message =
            format!("the hook says layer {written}; in this file, it is of layer {}", layer.number());
        let problem = Diagnostic::warning(codes::HOOK_WITHOUT_EFFECT, node.span, message);
        problems.push(
            problem.help("1 is the graph, 2 the project's `.ai/hooks.yaml`, 3 the user's `hooks.yaml`"),
        );
    }
    let known = event.flatten().and_then(Result::ok);
    let condition = match fields.filled("condition") {
        None => Some(Condition::ALWAYS),
        Some(node) => condition(node, known, reader),
    };
    let action_node = fields.required("action");
    fields.finish();
    let action = match (action_node, known) {
        (Some(node), Some(event)) => action(node, event, layer, reader),
        (Some(node), None) => {
            // Without the event, the readable roots are unknown, but the action has to be a mapping.
            node.mapping("a hook's `action`", problems);
            None
        }
        (None, _) => None,
    };
    Some(Hook {
        name: name.unwrap_or_else(|| format!("{}.{place}", layer.number())),
        description: description.map(str::to_owned),
        layer,
        event: known?,
        condition: condition?,
        action: action?,
        required,
    })
}

/// Reads the event; `None` for an unknown one, an error for one that never happens in a graph.
fn event(node: &Node, reader: &DocumentReader<'_>) -> Option<Result<HookEvent, ()>> {
    let text = node.text("`event`", reader.problems)?;
    if let Some(event) = HookEvent::ALL.into_iter().find(|event| event.as_str() == text) {
        return Some(Ok(event));
    }
    if ELSEWHERE.contains(&text) {
        let message = format!("`{text}` happens in conversations, never in a graph: the hook is never asked");
        reader.problems.push(Diagnostic::warning(codes::HOOK_WITHOUT_EFFECT, node.span, message));
        return Some(Err(()));
    }
    let names = || HookEvent::ALL.into_iter().map(HookEvent::as_str);
    let help = match nearest(text, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("one of: {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("no event is called `{}`", excerpt(text));
    let problem = Diagnostic::error(codes::HOOK_EVENT, node.span, message).label("unknown event");
    reader.problems.push(problem.help(help));
    None
}

/// Reads a condition over the roots of the event.
fn condition(node: &Node, event: Option<HookEvent>, reader: &DocumentReader<'_>) -> Option<Condition> {
    let mut spelled = node.clone();
    spell_categories(&mut spelled, reader.problems);
    reader.condition(&spelled, event.map(HookEvent::roots))
}

/// Rewrites categories to Rye's spelling, such as `rate_limited`, in which hooks read them; documents may also write `-`.
fn spell_categories(node: &mut Node, problems: &Problems) {
    match &mut node.value {
        Yaml::List(items) => items.iter_mut().for_each(|item| spell_categories(item, problems)),
        Yaml::Mapping(mapping) => {
            let is = |key: &str, texts: &[&str]| {
                mapping.get(key).and_then(Node::as_text).is_some_and(|text| texts.contains(&text))
            };
            let compares = is("path", &["classification.category"])
                && (is("op", &["eq", "ne", "in"]) || is("operator", &["eq", "ne", "in"]));
            for entry in &mut mapping.entries {
                if compares && entry.key.name == "value" {
                    let values = match &mut entry.value.value {
                        Yaml::List(items) => items.as_mut_slice(),
                        _ => std::slice::from_mut(&mut entry.value),
                    };
                    for value in values.iter_mut() {
                        spell_category(value, problems);
                    }
                } else {
                    spell_categories(&mut entry.value, problems);
                }
            }
        }
        _ => {}
    }
}

fn spell_category(node: &mut Node, problems: &Problems) {
    let Yaml::Text(text) = &mut node.value else { return };
    if let Some(category) = Category::parse(&text.value) {
        text.value = category.as_str().replace('-', "_");
    } else {
        let message = format!("no failure is ever of the category `{}`", excerpt(&text.value));
        let names: Vec<_> = Category::ALL.into_iter().map(|known| known.as_str().replace('-', "_")).collect();
        let problem = Diagnostic::warning(codes::HOOK_WITHOUT_EFFECT, node.span, message);
        problems.push(problem.help(format!("categories are {}", names.join(", "))));
    }
}

/// Reads an item's dispatch, or a control result.
fn action(
    node: &Node,
    event: HookEvent,
    layer: HookLayer,
    reader: &DocumentReader<'_>,
) -> Option<HookAction> {
    let problems = reader.problems;
    let mapping = node.mapping("a hook's `action`", problems)?;
    if ["item_id", "primary", "item_type", "params"].iter().any(|key| mapping.get(key).is_some()) {
        let action = node::action(node, event.roots(), None, reader)?;
        let literal = action.item_id.literal().and_then(Value::as_str);
        if literal.is_some_and(|id| is_control_item(action.operation, action.item_type, id)) {
            check_params(node, &action.params, event, layer, problems)?;
        }
        return Some(HookAction::Item(action));
    }
    let control = written(node, problems)?;
    let Some(control) = control else {
        let problem = Diagnostic::warning(
            codes::HOOK_WITHOUT_EFFECT,
            node.span.first_line(),
            "the hook's action is to do nothing",
        );
        problems.push(
            problem.help("write one of `retry: true`, `fail: true`, `abort: true` or `continue: true`"),
        );
        return Some(HookAction::Nothing);
    };
    check_meaning(node, control, event, layer, problems);
    Some(HookAction::Control(control))
}

/// Reads `{retry: true, max_retries: 3}` or `{action: retry, max_retries: 3}`. `Some(None)` means that the hook does nothing.
#[allow(clippy::option_option)]
fn written(node: &Node, problems: &Problems) -> Option<Option<Control>> {
    let before = problems.len();
    let mut fields = Fields::open(node, &keys::hooks::CONTROL, "a hook's `action`", problems)?;
    let choices = ControlAction::ALL.map(|action| (action.as_str(), action));
    let mut actions: Vec<ControlAction> = fields.choice("action", &choices).into_iter().collect();
    let mut switches = 0;
    for action in ControlAction::ALL {
        if let Some(on) = fields.bool(action.as_str()) {
            switches += 1;
            actions.extend(on.then_some(action));
        }
    }
    let max_retries = fields.u64("max_retries", 1..=MOST_RETRIES).and_then(|most| u32::try_from(most).ok());
    let additional_steps = fields.u64("additional_steps", 1..=u64::MAX);
    fields.finish();
    match actions.as_slice() {
        [action] => Some(Some(Control { action: *action, additional_steps, max_retries })),
        [] if switches > 0 => Some(None),
        [] => {
            if problems.len() == before {
                let message = "a hook's `action` names neither an item nor what is to be done";
                let problem = Diagnostic::error(codes::MISSING_KEY, node.span.first_line(), message);
                problems.push(problem.help(
                    "write `item_id` and `params`, or one of `retry: true`, `fail: true`, `abort: true`, `continue: true`",
                ));
            }
            None
        }
        _ => {
            let message = "a hook's `action` says two things at once";
            let problem = Diagnostic::error(codes::OUT_OF_RANGE, node.span.first_line(), message);
            problems.push(problem.help("leave one of retry, fail, abort and continue"));
            None
        }
    }
}

/// Checks the literal params of the built-in item.
fn check_params(
    node: &Node,
    params: &graph_core::template::ValueTemplate,
    event: HookEvent,
    layer: HookLayer,
    problems: &Problems,
) -> Option<()> {
    let Some(literal) = params.literal() else { return Some(()) };
    let place = node.as_mapping().and_then(|mapping| mapping.get("params")).unwrap_or(node);
    match Control::read(literal) {
        Ok(Some(control)) => check_meaning(place, control, event, layer, problems),
        Ok(None) => {
            let names: Vec<_> = ControlAction::ALL.into_iter().map(ControlAction::as_str).collect();
            let message = format!("its `action` is none of {}", names.join(", "));
            problems.push(Diagnostic::error(codes::UNKNOWN_CHOICE, place.span.first_line(), message));
            return None;
        }
        Err(reason) => {
            problems.push(Diagnostic::error(codes::OUT_OF_RANGE, place.span.first_line(), reason));
            return None;
        }
    }
    Some(())
}

/// Warns about a control result without effect.
fn check_meaning(node: &Node, control: Control, event: HookEvent, layer: HookLayer, problems: &Problems) {
    let warn = |message: String| {
        problems.push(Diagnostic::warning(codes::HOOK_WITHOUT_EFFECT, node.span.first_line(), message));
    };
    if !layer.controls() {
        return warn(format!("`{}` changes nothing: the user's hooks never control a run", control.action));
    }
    if !event.takes(control.action) {
        return warn(format!("`{}` means nothing at `{event}`", control.action));
    }
    if control.max_retries.is_some() && control.action != ControlAction::Retry {
        warn(format!("`max_retries` means nothing with `{}`", control.action));
    }
    let extends = event == HookEvent::Limit && control.action == ControlAction::Continue;
    if control.additional_steps.is_some() && !extends {
        warn(format!("`additional_steps` means nothing with `{}` at `{event}`", control.action));
    }
}
