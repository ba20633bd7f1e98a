//! The keys of a node.

use std::num::NonZeroUsize;

use std::collections::BTreeSet;
use std::time::Duration;

use super::bounds::{self, TemplateReader};
use super::scope::{DocumentReader, IN_ACTION, IN_ASSIGN, IN_EDGE, ITEM_INDEX};
use super::{ask, cache, revisit, wait};
use crate::graph::{
    Action, Assignment, CommandGrant, Edge, Foreach, Next, Node as GraphNode, NodeKind, NodeTemplates,
    RetryPolicy, StaticInterrupt, WriteMode,
};
use graph_core::diagnostic::{Diagnostic, codes, excerpt, nearest};
use graph_core::id::ItemId;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::json::TreeLimit;
use graph_core::node::Category;
use graph_core::policy::OnItemError;
use graph_core::template::ValueTemplate;
use graph_core::yaml::{Fields, MappingEntry, Node, Yaml};
use graph_core::{id, json, keys};

/// Default number of attempts of a `retry`.
const RETRY_ATTEMPTS: u32 = 3;
/// Default name of a `foreach` item.
const DEFAULT_VARIABLE: &str = "item";
/// Names that templates use for other roots.
const TAKEN: [&str; 7] = ["state", "inputs", "result", "argument", "node", "run", ITEM_INDEX];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Default,
    Return,
    Foreach,
    Ask,
    Wait,
    Fail,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Return => "return",
            Self::Foreach => "foreach",
            Self::Ask => "ask",
            Self::Wait => "wait",
            Self::Fail => "fail",
        }
    }
}

/// Reads one node. If the result is `None`, or an error was reported, the node cannot be used.
pub(super) fn lower<'n>(entry: &'n MappingEntry, reader: &DocumentReader<'n>) -> Option<GraphNode> {
    let name = entry.key.name.as_str();
    let problems = reader.problems;
    let mut fields =
        Fields::open(&entry.value, &keys::graph::NODE, format!("node `{}`", excerpt(name)), problems)?;
    let kinds = [Kind::Default, Kind::Return, Kind::Foreach, Kind::Ask, Kind::Wait, Kind::Fail];
    let kind = match fields.get("type") {
        Some(node) => node.choice("`type`", &kinds.map(|kind| (kind.as_str(), kind)), problems),
        None => Some(Kind::Default),
    };
    refuse_foreign_keys(&mut fields, kind);
    let variable = variable(&mut fields, kind, reader);
    let action_entry = fields.filled("action");
    let action = action_entry.and_then(|node| action(node, IN_ACTION, variable.as_deref(), reader));
    let caching = fields.entry("cache").and_then(|entry| {
        // A `cache` on a `return` node was reported before.
        let kind = kind.filter(|kind| matches!(kind, Kind::Default | Kind::Foreach))?;
        let variable = variable.as_deref().filter(|_| kind == Kind::Foreach);
        cache::read(entry, action.as_ref(), action_entry.is_some(), variable, reader)
    });
    let read_kind = kind;
    let named = variable.clone();
    let templates = TemplateReader { reader, variable: named.as_deref() };
    let mut bounds = NodeTemplates::default();
    let kind = node_kind(&mut fields, kind, variable, action_entry, reader);
    let mut lowered = GraphNode {
        name: name.to_owned(),
        // An invalid kind was reported before: the other keys are read nevertheless.
        kind: kind.unwrap_or(NodeKind::Default),
        action,
        assign: fields.filled("assign").map(|node| assign(node, reader)).unwrap_or_default(),
        next: fields.filled("next").and_then(|node| next(node, reader)).unwrap_or(Next::End),
        on_error: fields.filled("on_error").and_then(|node| reader.target(node, "`on_error`")),
        retry: match fields.get("retry") {
            Some(node) => retry(node, reader).unwrap_or_default(),
            None => reader.retry.clone().filter(|_| kind_takes("retry", read_kind)).unwrap_or_default(),
        },
        limits: bounds::of_node(&mut fields, &templates, &mut bounds),
        wait_for: fields.filled("wait_for").map(|node| wait_for(node, name, reader)).unwrap_or_default(),
        defer: fields.bool("defer").unwrap_or(false),
        interrupt: fields.filled("interrupt").map(|node| interrupt(node, reader)).unwrap_or_default(),
        command: fields.entry("command").and_then(|entry| command(entry, reader)),
        capabilities: fields
            .get("capabilities")
            .and_then(|node| bounds::capabilities(node, &templates, &mut bounds)),
        bounds,
        cache: caching,
        feedback: match fields.get("revisit") {
            Some(node) => revisit::read(node, problems),
            None => reader.feedback && kind_takes("revisit", read_kind),
        },
        metadata: fields.get("metadata").map(Node::to_json),
    };
    fields.finish();
    let reads_index = reads_index(&lowered);
    if let NodeKind::Foreach(foreach) = &mut lowered.kind {
        foreach.reads_index = reads_index;
    }
    Some(lowered)
}

/// Checks whether a template of a node reads the index of a `foreach` item.
fn reads_index(node: &GraphNode) -> bool {
    let mut templates: Vec<&ValueTemplate> = node.bounds.iter().collect();
    templates.extend(node.action.iter().flat_map(|action| [&action.item_id, &action.params]));
    templates.extend(node.cache.iter().filter_map(|policy| policy.key.as_ref()));
    templates.iter().any(|template| template.paths().any(|used| used.path.root() == ITEM_INDEX))
}

/// Checks whether a key belongs to nodes of a kind.
fn kind_takes(key: &str, kind: Option<Kind>) -> bool {
    let takes = |kind: Kind| {
        let row = keys::graph::NODE.find(key);
        row.is_some_and(|row| row.only_for.is_empty() || row.only_for.contains(&kind.as_str()))
    };
    kind.is_some_and(takes)
}

/// Reports keys that belong to another kind of node.
fn refuse_foreign_keys(fields: &mut Fields<'_>, kind: Option<Kind>) {
    let Some(kind) = kind else { return };
    for row in keys::graph::NODE.keys {
        if row.only_for.is_empty() || row.only_for.contains(&kind.as_str()) {
            continue;
        }
        let key = row.name;
        let Some(entry) = fields.entry(key) else { continue };
        let message = format!("`{key}` does not belong to a node of type `{}`", kind.as_str());
        let owners: Vec<_> = row.only_for.iter().map(|kind| format!("`{kind}`")).collect();
        let help = format!("remove the key; it belongs to nodes of type {}", listed(&owners));
        let problem = Diagnostic::error(codes::KEY_NOT_FOR_KIND, entry.key.span, message).help(help);
        fields.problems().push(problem);
    }
}

/// Joins names: `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn variable(fields: &mut Fields<'_>, kind: Option<Kind>, reader: &DocumentReader<'_>) -> Option<String> {
    let node = fields.filled("as");
    if kind != Some(Kind::Foreach) {
        return None;
    }
    let Some(node) = node else { return Some(DEFAULT_VARIABLE.to_owned()) };
    let name = node.text("`as`", reader.problems)?;
    if let Err(error) = id::check_variable(name) {
        reader.bad_name(codes::BAD_VARIABLE, node, "`as`", &error);
    } else if TAKEN.contains(&name) && !reader.is_snapshot {
        let message = format!("`as` cannot be `{name}`: templates read something else under that name");
        let problem = Diagnostic::error(codes::BAD_VARIABLE, node.span, message);
        reader.problems.push(problem.help("choose another name, for example `item`"));
    }
    Some(name.to_owned())
}

fn node_kind(
    fields: &mut Fields<'_>,
    kind: Option<Kind>,
    variable: Option<String>,
    action: Option<&Node>,
    reader: &DocumentReader<'_>,
) -> Option<NodeKind> {
    let problems = reader.problems;
    let output = fields.get("output").and_then(|node| reader.template(node, IN_ACTION, None));
    let parallel = fields.bool("parallel");
    let batch =
        fields.u64("batch", 1..=10_000_000).and_then(|batch| NonZeroUsize::new(usize::try_from(batch).ok()?));
    let on_item_error = fields.choice("on_item_error", OnItemError::CHOICES);
    match kind? {
        Kind::Default => Some(NodeKind::Default),
        Kind::Ask => fields.required("ask").and_then(|node| ask::read_ask(node, reader)),
        Kind::Wait => fields.required("wait").and_then(|node| wait::read_wait(node, reader)),
        Kind::Fail => fields.required("fail").and_then(|node| ask::read_fail(node, reader)),
        Kind::Return => Some(NodeKind::Return { output }),
        Kind::Foreach => {
            let over = fields.required("over").and_then(|node| over(node, reader));
            if let Some(action) = fields.required("action").filter(|action| action.is_null()) {
                action.wrong_type("`action`", "a mapping", problems);
            }
            let collect = fields.entry("collect").filter(|entry| !entry.value.is_null()).and_then(|entry| {
                let key = entry.value.text("`collect`", problems)?;
                reader.state_key(key, entry.value.span).then(|| key.to_owned())
            });
            // Rye's spelling of `parallel: true`.
            let detached =
                action.and_then(|node| node.descend(["params", "async_exec"]).as_bool()).unwrap_or(false);
            Some(NodeKind::Foreach(Foreach {
                over: over?,
                batch,
                // Set once the node's templates are known.
                reads_index: false,
                variable: variable.unwrap_or_else(|| DEFAULT_VARIABLE.to_owned()),
                collect,
                parallel: parallel.unwrap_or(detached),
                on_item_error: on_item_error.unwrap_or_default(),
                // The default of Rye's dialect.
                keeps_failures: on_item_error.is_none(),
            }))
        }
    }
}

fn over(node: &Node, reader: &DocumentReader<'_>) -> Option<ValueTemplate> {
    match &node.value {
        Yaml::List(_) | Yaml::Text(_) => {}
        _ => {
            node.wrong_type("`over`", "a list, or a template that gives one", reader.problems);
            return None;
        }
    }
    let template = reader.template(node, IN_ACTION, None)?;
    let literal = template.literal().and_then(serde_json::Value::as_str);
    let is_list = |text: &str| json::read::<Vec<serde::de::IgnoredAny>>(text, TreeLimit::DOCUMENT).is_ok();
    if literal.is_some_and(|text| !is_list(text)) {
        node.wrong_type("`over`", "a list, or a template that gives one", reader.problems);
        return None;
    }
    Some(template)
}

/// Reads `{primary, item_type, item_id, params}`; the first two have defaults. Its templates may read `roots` and the variable.
pub(super) fn action(
    node: &Node,
    roots: &[&str],
    variable: Option<&str>,
    reader: &DocumentReader<'_>,
) -> Option<Action> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::ACTION, "`action`", problems)?;
    let operation = fields.choice("primary", ItemOperation::CHOICES);
    let item_type = fields.choice("item_type", ItemType::CHOICES);
    let operation = operation.unwrap_or(ItemOperation::Execute);
    // A search need not name an item.
    let id_node = if operation == ItemOperation::Search {
        fields.filled("item_id")
    } else {
        fields.required("item_id")
    };
    let item_id = match id_node {
        Some(node) => item_id(node, roots, variable, reader),
        None => {
            (operation == ItemOperation::Search).then(|| ValueTemplate::constant(serde_json::Value::Null))
        }
    };
    let params = match fields.filled("params") {
        None => Some(ValueTemplate::constant(serde_json::json!({}))),
        Some(node) => params(node, roots, variable, reader),
    };
    fields.finish();
    Some(Action {
        operation,
        item_type: item_type.unwrap_or(ItemType::Tool),
        item_id: item_id?,
        params: params?,
    })
}

fn item_id(
    node: &Node,
    roots: &[&str],
    variable: Option<&str>,
    reader: &DocumentReader<'_>,
) -> Option<ValueTemplate> {
    node.text("`item_id`", reader.problems)?;
    let template = reader.template(node, roots, variable)?;
    if let Some(text) = template.literal().and_then(serde_json::Value::as_str)
        && let Err(error) = ItemId::parse(text)
    {
        reader.bad_name(codes::BAD_ITEM_ID, node, "an item id", &error);
        return None;
    }
    Some(template)
}

fn params(
    node: &Node,
    roots: &[&str],
    variable: Option<&str>,
    reader: &DocumentReader<'_>,
) -> Option<ValueTemplate> {
    if !matches!(node.value, Yaml::Mapping(_) | Yaml::Text(_)) {
        node.wrong_type("`params`", "a mapping, or a template that gives one", reader.problems);
        return None;
    }
    let template = reader.template(node, roots, variable)?;
    if node.as_text().is_some() && template.literal().is_some() {
        node.wrong_type("`params`", "a mapping, or a template that gives one", reader.problems);
        return None;
    }
    Some(template)
}

fn assign(node: &Node, reader: &DocumentReader<'_>) -> Vec<Assignment> {
    let mut writes = Vec::new();
    for entry in node.mapping("`assign`", reader.problems).into_iter().flatten() {
        let channel = &entry.key.name;
        let sound = reader.state_key(channel, entry.key.span);
        let (value, mode) = match overwritten(&entry.value).filter(|_| reader.folding.contains(channel)) {
            Some(value) => (value, WriteMode::Overwrite),
            None => (&entry.value, WriteMode::Fold),
        };
        let template = reader.template(value, IN_ASSIGN, None);
        if let Some(value) = template.filter(|_| sound) {
            writes.push(Assignment { channel: channel.clone(), value, mode });
        }
    }
    writes
}

/// Returns the `v` of a literal `{overwrite: v}` in the document.
fn overwritten(node: &Node) -> Option<&Node> {
    let mapping = node.as_mapping()?;
    mapping.get("overwrite").filter(|_| mapping.iter().count() == 1)
}

/// Reads a name, a list of names, or a list of `{to, when, label}`.
fn next<'n>(node: &'n Node, reader: &DocumentReader<'n>) -> Option<Next> {
    let problems = reader.problems;
    match &node.value {
        Yaml::List(items) if items.is_empty() => Some(Next::All(Vec::new())),
        Yaml::List(items) if items.iter().any(|item| item.as_mapping().is_some()) => {
            let edges: Vec<_> = items.iter().map(|item| edge(item, reader)).collect();
            check_defaults(node, items, &edges, reader);
            Some(Next::First(edges.into_iter().collect::<Option<_>>()?))
        }
        Yaml::Text(_) | Yaml::List(_) => Some(Next::All(reader.targets_or_end(node, "`next`")?)),
        Yaml::Mapping(_) => {
            let message = "`next` is a single edge; edges are written in a list";
            let problem = Diagnostic::error(codes::WRONG_TYPE, node.span.first_line(), message);
            problems.push(problem.help("put `- ` before it"));
            None
        }
        _ => {
            node.wrong_type("`next`", "a node's name, a list of names, or a list of `{to, when}`", problems);
            None
        }
    }
}

fn edge<'n>(node: &'n Node, reader: &DocumentReader<'n>) -> Option<Edge> {
    let problems = reader.problems;
    if node.as_mapping().is_none() {
        node.wrong_type("an edge next to others with conditions", "a mapping `{to, when}`", problems);
        return None;
    }
    let mut fields = Fields::open(node, &keys::graph::EDGE, "an edge", problems)?;
    let to = fields.required("to").and_then(|node| reader.targets_or_end(node, "`to`"));
    let when = fields.filled("when").map(|node| reader.condition(node, Some(IN_EDGE)));
    let label = fields.filled("label").and_then(|node| node.text("`label`", problems)).map(str::to_owned);
    fields.finish();
    let when = match when {
        Some(condition) => Some(condition?).filter(|condition| !condition.is_always()),
        None => None,
    };
    Some(Edge { to: to?, when, label })
}

/// Warns about a list without a default edge, and about edges after one.
fn check_defaults(node: &Node, items: &[Node], edges: &[Option<Edge>], reader: &DocumentReader<'_>) {
    // An unreadable edge may be the default.
    if edges.iter().any(Option::is_none) {
        return;
    }
    let default = edges.iter().flatten().position(|edge| edge.when.is_none());
    match default {
        None => {
            let message = "no edge is taken if none of the conditions holds";
            let problem = Diagnostic::warning(codes::NO_DEFAULT_EDGE, node.span.first_line(), message);
            reader
                .problems
                .push(problem.help("add an edge without `when` as the last; `{ to: [] }` ends the branch"));
        }
        Some(default) if default + 1 < items.len() => {
            let message = "an edge after the default is never taken";
            let problem =
                Diagnostic::warning(codes::EDGE_AFTER_DEFAULT, items[default + 1].span.first_line(), message);
            let problem = problem.also(items[default].span.first_line(), "this edge is always taken");
            reader.problems.push(problem.help("move the edge without `when` to the end"));
        }
        Some(_) => {}
    }
}

pub(super) fn retry(node: &Node, reader: &DocumentReader<'_>) -> Option<RetryPolicy> {
    let problems = reader.problems;
    let mut fields = Fields::open(node, &keys::graph::RETRY, "`retry`", problems)?;
    let default = RetryPolicy::default();
    let max_attempts = fields.u64("max_attempts", 1..=10_000).and_then(|value| u32::try_from(value).ok());
    let initial_interval = fields.duration("initial_interval").unwrap_or(default.initial_interval);
    let backoff = fields.f64("backoff", 1.0..=1_000.0).unwrap_or(default.backoff);
    let max_interval = fields.duration("max_interval");
    let jitter = fields.bool("jitter").unwrap_or(default.jitter);
    let retry_on = fields.texts("retry_on").map(|texts| {
        texts
            .into_iter()
            .filter_map(|(text, node)| {
                let found = Category::parse(text);
                if found.is_none() && problems.is_full() {
                    // Further problems are dropped.
                } else if found.is_none() {
                    let names = || Category::ALL.into_iter().map(Category::as_str);
                    let message = format!("`retry_on` cannot be `{}`", excerpt(text));
                    let help = match nearest(text, names()) {
                        Some(name) => format!("did you mean `{name}`?"),
                        None => format!("one of: {}", names().collect::<Vec<_>>().join(", ")),
                    };
                    problems.push(Diagnostic::error(codes::UNKNOWN_CHOICE, node.span, message).help(help));
                } else if found == Some(Category::Denied) {
                    node.out_of_range(
                        "a `denied` failure is never tried again",
                        "another category",
                        problems,
                    );
                }
                found
            })
            .collect()
    });
    fields.finish();
    Some(RetryPolicy {
        max_attempts: max_attempts.unwrap_or(RETRY_ATTEMPTS),
        initial_interval,
        backoff,
        // A first wait above the default limit raises that limit.
        max_interval: max_interval.unwrap_or(Duration::max(default.max_interval, initial_interval)),
        jitter,
        retry_on: retry_on.unwrap_or(default.retry_on),
    })
}

fn wait_for<'n>(node: &'n Node, name: &str, reader: &DocumentReader<'n>) -> Vec<crate::graph::NodeIndex> {
    let items = match &node.value {
        Yaml::Text(_) => std::slice::from_ref(node),
        Yaml::List(items) => items,
        _ => {
            node.wrong_type("`wait_for`", "a list of nodes", reader.problems);
            return Vec::new();
        }
    };
    let mut found = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    for item in items {
        let Some(index) = reader.node_named(item, "`wait_for`") else { continue };
        if item.as_text() == Some(name) {
            item.out_of_range("a node cannot wait for itself", "another node", reader.problems);
        } else if !seen.insert(index) {
            let message = format!("`wait_for` names `{}` twice", item.as_text().unwrap_or_default());
            reader.problems.push(Diagnostic::warning(codes::DUPLICATE_TARGET, item.span, message));
        } else {
            found.push(index);
        }
    }
    found
}

/// Reads `before`, `after`, or a list of both.
fn interrupt(node: &Node, reader: &DocumentReader<'_>) -> StaticInterrupt {
    let items = match &node.value {
        Yaml::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut pauses = StaticInterrupt::default();
    for item in items {
        match item.choice("`interrupt`", &[("before", true), ("after", false)], reader.problems) {
            Some(true) => pauses.before = true,
            Some(false) => pauses.after = true,
            None => {}
        }
    }
    pauses
}

fn command<'n>(entry: &'n MappingEntry, reader: &DocumentReader<'n>) -> Option<CommandGrant> {
    let problems = reader.problems;
    let mut fields = Fields::open(&entry.value, &keys::graph::COMMAND, "`command`", problems)?;
    let goto = fields.filled("goto");
    let may_end = goto.is_some_and(|node| reader.names_end(node));
    let goto = goto.and_then(|node| reader.targets_or_end(node, "`goto`")).unwrap_or_default();
    let mut keys = |key, what| {
        let listed = fields.filled(key).and_then(|node| node.texts(what, problems));
        listed
            .into_iter()
            .flatten()
            .filter(|(key, node)| reader.state_key(key, node.span) && is_one_key(key, node, reader))
            .collect::<Vec<_>>()
    };
    let write = keys("write", "`write`");
    let overwrite = keys("overwrite", "`overwrite`");
    fields.finish();
    if goto.is_empty() && !may_end && write.is_empty() && overwrite.is_empty() {
        let problem = Diagnostic::warning(codes::COMMAND_GRANT, entry.key.span, "`command` allows nothing");
        problems.push(problem.help("list nodes under `goto` or state keys under `write` and `overwrite`"));
    }
    for (key, node) in &overwrite {
        check_overwrite(key, node, reader);
    }
    let names = |keys: Vec<(&str, &Node)>| keys.into_iter().map(|(key, _)| key.to_owned()).collect();
    Some(CommandGrant::new(goto, may_end, names(write), names(overwrite)))
}

/// Checks that a key is not a pattern: a pattern would name one key with a `*` in it, and deny all intended writes.
fn is_one_key(key: &str, node: &Node, reader: &DocumentReader<'_>) -> bool {
    if reader.is_snapshot || !key.contains('*') {
        return true;
    }
    let message = format!("`{}` is a pattern, and a command names each key that it may write", excerpt(key));
    let problem = Diagnostic::error(codes::COMMAND_GRANT, node.span, message).label("no state key");
    reader.problems.push(problem.help("list the keys one by one, such as `write: [page, total]`"));
    false
}

/// Reports an `overwrite` of a key that is not a channel with a reducer: only there an overwrite differs from a write.
fn check_overwrite(key: &str, node: &Node, reader: &DocumentReader<'_>) {
    if reader.folding.contains(key) {
        return;
    }
    let message = format!("`overwrite` names `{}`, which is not a channel with a reducer", excerpt(key));
    let problem = Diagnostic::error(codes::OVERWRITE_GRANT, node.span, message).label("no reducer channel");
    let help = match nearest(key, reader.folding.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "list it under `write`, where a write replaces its value; or declare it under `channels` with a reducer \
                 such as `append`"
            .to_owned(),
    };
    reader.problems.push(problem.help(help));
}
