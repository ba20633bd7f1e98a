//! The settings of a directive for the thread in which a language model executes it: model, limits, permissions, outputs and hooks.
//!
//! The sections are read from JSON, independent of their format: `<limits turns="8"/>` is `{"turns": "8"}`, and so is `limits: { turns:
//! "8" }`. An unreadable limit is an error, because leaving it out would permit more than its author wanted. Other unreadable parts are
//! left out with a warning: a permission that is left out permits less.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::InputKind;
use crate::capability::DispatchPattern;
use crate::diagnostic::{excerpt, nearest};
use crate::hook_event::HookEvent;
use crate::json::TreeLimit;

/// The known sections.
pub(super) const SECTIONS: [&str; 5] = ["model", "limits", "permissions", "outputs", "hooks"];
/// Largest number of entries of a section. Further ones are left out.
const MOST_ENTRIES: usize = 200;
/// The names of the limits, and the names in older directives.
const LIMITS: [(&str, &[&str]); 6] = [
    ("turns", &["max_turns"]),
    ("tokens", &["max_tokens"]),
    ("spend", &["max_spend"]),
    ("spawns", &["max_spawns"]),
    ("depth", &["max_depth"]),
    ("duration", &["duration_seconds", "max_duration"]),
];
/// The attributes of a model.
const MODEL: [&str; 4] = ["tier", "id", "fallback", "provider"];
const PRIMARIES: [&str; 4] = ["execute", "search", "load", "sign"];
const ITEM_TYPES: [&str; 3] = ["tool", "directive", "knowledge"];
/// Events of threads, which do not occur in graphs.
const THREAD_EVENTS: [&str; 4] =
    ["thread_started", "context_limit_reached", "after_complete", "directive_return"];

/// The settings of a directive's thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectiveThread {
    /// Texts by `tier`, `id`, `fallback` and `provider`; empty if it names no model.
    pub model: Map<String, Value>,
    /// Numbers by `turns`, `tokens`, `spend`, `spawns`, `depth` and `duration` (seconds).
    pub limits: Map<String, Value>,
    /// Dispatch patterns of the items that the model may use; empty: it may use none.
    pub permissions: Vec<String>,
    /// The outputs that the model returns.
    pub outputs: Vec<DirectiveOutput>,
    /// Hooks, each as `{id, event, condition, action}` as in a graph.
    pub hooks: Vec<Value>,
}

/// A typed output of a directive.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectiveOutput {
    /// The name.
    pub name: String,
    /// The type of the value.
    pub kind: InputKind,
    /// `true` if the model has to return it.
    pub required: bool,
    /// A description for the model.
    pub description: Option<String>,
}

/// A problem of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadProblem {
    /// `true` if the directive cannot be used.
    pub(super) is_error: bool,
    pub(super) message: String,
    pub(super) help: String,
}

impl DirectiveThread {
    /// Returns the settings for a graph: `{model, limits, permissions, outputs: {NAME: {type, required, description}}, hooks}`.
    pub fn to_json(&self) -> Value {
        let outputs: Map<String, Value> = self
            .outputs
            .iter()
            .map(|output| {
                let mut fields = Map::new();
                fields.insert("type".to_owned(), output.kind.schema().unwrap_or("any").into());
                fields.insert("required".to_owned(), output.required.into());
                fields.extend(
                    output.description.as_ref().map(|text| ("description".to_owned(), text.as_str().into())),
                );
                (output.name.clone(), Value::Object(fields))
            })
            .collect();
        json!({
            "model": self.model,
            "limits": self.limits,
            "permissions": self.permissions,
            "outputs": outputs,
            "hooks": self.hooks,
        })
    }

    /// Reads a section; `name` is one of [`SECTIONS`].
    pub(super) fn read(&mut self, name: &str, section: &Value) -> Vec<ThreadProblem> {
        let mut problems = FoundProblems(Vec::new());
        match name {
            _ if section.is_null() => {}
            "model" => self.model = model(section, &mut problems),
            "limits" => self.limits = limits(section, &mut problems),
            "permissions" => self.permissions = permissions(section, &mut problems),
            "outputs" => self.outputs = outputs(section, &mut problems),
            "hooks" => self.hooks = hooks(section, &mut problems),
            _ => {}
        }
        problems.0
    }
}

struct FoundProblems(Vec<ThreadProblem>);

impl FoundProblems {
    fn warn(&mut self, message: String, help: &str) {
        self.0.push(ThreadProblem { is_error: false, message, help: help.to_owned() });
    }

    fn fail(&mut self, message: String, help: &str) {
        self.0.push(ThreadProblem { is_error: true, message, help: help.to_owned() });
    }
}

fn model(section: &Value, problems: &mut FoundProblems) -> Map<String, Value> {
    const HELP: &str =
        "write <model tier=\"fast\"/>, or `model: { tier: fast }`; known are tier, id, fallback and provider";
    match section {
        Value::String(tier) if !tier.is_empty() => {
            Map::from_iter([("tier".to_owned(), tier.as_str().into())])
        }
        Value::Object(fields) => {
            let mut model = Map::new();
            for (name, value) in fields.iter().take(MOST_ENTRIES) {
                match (MODEL.contains(&name.as_str()), value) {
                    (true, Value::String(_)) => drop(model.insert(name.clone(), value.clone())),
                    (true, _) => problems.warn(format!("`{name}` of the model is no text"), HELP),
                    (false, _) => problems.warn(format!("`{}` is unknown of a model", excerpt(name)), HELP),
                }
            }
            model
        }
        _ => {
            problems.warn("the model cannot be read".to_owned(), HELP);
            Map::new()
        }
    }
}

fn limits(section: &Value, problems: &mut FoundProblems) -> Map<String, Value> {
    const HELP: &str = "write <limits turns=\"8\" tokens=\"50000\" spend=\"0.5\" duration=\"600\"/>, or `limits: { turns: 8 }`";
    let mut limits = Map::new();
    let Value::Object(fields) = section else {
        problems.fail("the limits cannot be read".to_owned(), HELP);
        return limits;
    };
    for (written, value) in fields.iter().take(MOST_ENTRIES) {
        let known =
            LIMITS.iter().find(|(name, others)| name == written || others.contains(&written.as_str()));
        let Some((name, _)) = known else {
            let help = match nearest(written, LIMITS.map(|(name, _)| name)) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "known are turns, tokens, spend, spawns, depth and duration".to_owned(),
            };
            problems.fail(format!("`{}` is no limit of a thread", excerpt(written)), &help);
            continue;
        };
        let number = number(value).filter(|number| match *name {
            "spend" | "duration" => number.as_f64().is_some_and(|number| number.is_finite() && number >= 0.0),
            _ => number.is_u64(),
        });
        let Some(number) = number else {
            let kind = if matches!(*name, "spend" | "duration") { "a number" } else { "a whole number" };
            problems.fail(format!("the limit `{name}` must be {kind}, at least 0"), HELP);
            continue;
        };
        // Of two names for one limit, the smaller value applies.
        let is_smaller = |other: &Value| number.as_f64() < other.as_f64();
        if limits.get(*name).is_none_or(is_smaller) {
            limits.insert((*name).to_owned(), number);
        }
    }
    limits
}

/// Reads a number, or a text that is one, as values of attributes are.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => {
            crate::json::parse_strict(text.trim(), 1, TreeLimit::NOTE).ok().filter(Value::is_number)
        }
        _ => None,
    }
}

fn permissions(section: &Value, problems: &mut FoundProblems) -> Vec<String> {
    let mut written = Vec::new();
    match section {
        Value::String(text) if text == "*" => {
            written.extend(PRIMARIES.iter().flat_map(|primary| whole(primary)));
        }
        Value::Array(_) => patterns(section, problems, |pattern| vec![pattern.to_owned()], &mut written),
        Value::Object(fields) => {
            for (name, value) in fields.iter().take(MOST_ENTRIES) {
                match PRIMARIES.iter().find(|primary| *primary == name) {
                    Some(primary) => of_primary(primary, value, problems, &mut written),
                    None if name == "cap" => {
                        patterns(value, problems, |pattern| vec![pattern.to_owned()], &mut written);
                    }
                    None => left_out(&format!("`{}`", excerpt(name)), problems),
                }
            }
        }
        Value::String(text) if text.is_empty() => {}
        _ => left_out("what is written", problems),
    }
    let mut seen = BTreeSet::new();
    let mut permissions = Vec::new();
    for pattern in written {
        match DispatchPattern::parse(&pattern) {
            Ok(_) if permissions.len() == MOST_ENTRIES => {
                problems.warn(
                    format!("only the first {MOST_ENTRIES} permissions are used"),
                    "use wildcards, as in `rye.file-system.*`",
                );
                break;
            }
            Ok(_) => {
                if seen.insert(pattern.clone()) {
                    permissions.push(pattern);
                }
            }
            Err(error) => problems.warn(
                format!("the permission `{}` is left out: {}", excerpt(&pattern), error.reason),
                "write <execute><tool>acme.*</tool></execute>, or `permissions: [execute.tool.acme.*]`",
            ),
        }
    }
    permissions
}

/// Reads the permissions of `<execute>` and similar elements: `*`, or item types with patterns of ids.
fn of_primary(primary: &str, value: &Value, problems: &mut FoundProblems, written: &mut Vec<String>) {
    match value {
        Value::String(text) if text == "*" => written.extend(whole(primary)),
        Value::String(text) if text.is_empty() => {}
        // The element may be repeated.
        Value::Array(list) => {
            for value in list.iter().take(MOST_ENTRIES).filter(|value| !value.is_array()) {
                of_primary(primary, value, problems, written);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter().take(MOST_ENTRIES) {
                match ITEM_TYPES.iter().find(|item_type| *item_type == name) {
                    Some(item_type) => {
                        let dotted =
                            |id: &str| vec![format!("{primary}.{item_type}.{}", id.replace('/', "."))];
                        patterns(value, problems, dotted, written);
                    }
                    None => left_out(&format!("`{}`", excerpt(name)), problems),
                }
            }
        }
        _ => left_out(&format!("`{primary}`"), problems),
    }
}

/// Returns patterns for every item of every type.
fn whole(primary: &str) -> Vec<String> {
    ITEM_TYPES.iter().map(|item_type| format!("{primary}.{item_type}.*")).collect()
}

/// Reads one text or a list of texts.
fn patterns(
    value: &Value,
    problems: &mut FoundProblems,
    pattern: impl Fn(&str) -> Vec<String>,
    written: &mut Vec<String>,
) {
    for value in each(value) {
        match value.as_str() {
            Some(text) => written.extend(pattern(text.trim())),
            None => left_out("what is no text", problems),
        }
    }
}

fn left_out(what: &str, problems: &mut FoundProblems) {
    problems.warn(
        format!("{what} in the permissions is not used"),
        "write <execute><tool>acme.*</tool></execute>; actions are execute, search, load and sign, types tool, directive and knowledge",
    );
}

/// Returns the elements of a list, or a single value, up to one more than the limit.
fn each(value: &Value) -> impl Iterator<Item = &Value> {
    match value {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    }
    .iter()
    .take(MOST_ENTRIES + 1)
}

fn outputs(section: &Value, problems: &mut FoundProblems) -> Vec<DirectiveOutput> {
    let mut outputs: Vec<DirectiveOutput> = Vec::new();
    let mut names = BTreeSet::new();
    let listed_outputs: Vec<(Option<&str>, &Value)> = match section {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::Array(_) => each(section).map(|output| (None, output)).collect(),
        Value::Object(fields) => fields
            .iter()
            .take(MOST_ENTRIES)
            .flat_map(|(name, value)| {
                let is_element = name == "output" && (value.is_array() || value.get("name").is_some());
                let listed = is_element.then(|| each(value).map(|output| (None, output)));
                let own = (!is_element).then_some((Some(name.as_str()), value));
                listed.into_iter().flatten().chain(own)
            })
            .collect(),
        _ => {
            problems.warn("the outputs cannot be read".to_owned(), OUTPUT_HELP);
            Vec::new()
        }
    };
    for (name, value) in listed_outputs.into_iter().take(MOST_ENTRIES) {
        let Some(output) = output(name, value, problems) else { continue };
        if names.insert(output.name.clone()) {
            outputs.push(output);
        } else {
            problems.warn(format!("the output `{}` is declared twice", excerpt(&output.name)), OUTPUT_HELP);
        }
    }
    outputs
}

const OUTPUT_HELP: &str = "write <output name=\"path\" type=\"string\" required=\"true\">what it is</output>, or `outputs: { path: { type: string } }`";

fn output(name: Option<&str>, value: &Value, problems: &mut FoundProblems) -> Option<DirectiveOutput> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let Some(name) = name.or_else(|| text("name")) else {
        problems.warn("an output has no name".to_owned(), OUTPUT_HELP);
        return None;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 128 || !name.chars().all(is_name) {
        problems.warn(format!("`{}` cannot be the name of an output", excerpt(name)), OUTPUT_HELP);
        return None;
    }
    let kind = match text("type").map(|written| (InputKind::parse(written), written)) {
        Some((None, written)) => {
            problems.warn(format!("`{}` is no type of an output", excerpt(written)), OUTPUT_HELP);
            InputKind::Any
        }
        Some((Some(kind), _)) => kind,
        None => InputKind::Any,
    };
    let required =
        value.get("required").is_some_and(|required| *required == Value::Bool(true) || *required == "true");
    let said = value.as_str().or_else(|| text("description")).or_else(|| text("text"));
    let description = said.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    Some(DirectiveOutput {
        name: name.to_owned(),
        kind,
        required,
        description: description.filter(|description| !description.is_empty()),
    })
}

fn hooks(section: &Value, problems: &mut FoundProblems) -> Vec<Value> {
    const HELP: &str = "write <hook event=\"error\"><condition path=\"..\" op=\"eq\" value=\"..\"/><action item_id=\"acme/notify\"/></hook>";
    let list = match section {
        Value::Object(fields) => match fields.get("hook") {
            Some(hooks) => hooks,
            None => section,
        },
        other => other,
    };
    if list.as_str() == Some("") {
        return Vec::new();
    }
    let mut hooks = Vec::new();
    for hook in each(list) {
        if hooks.len() == MOST_ENTRIES {
            problems.warn(format!("only the first {MOST_ENTRIES} hooks are used"), "remove some");
            break;
        }
        match read_hook(hook) {
            Ok(hook) => hooks.push(hook),
            Err(reason) => problems.warn(format!("a hook is left out: {reason}"), HELP),
        }
    }
    hooks
}

fn read_hook(hook: &Value) -> Result<Value, String> {
    let event = hook.get("event").and_then(Value::as_str).ok_or("it has no `event`")?;
    let is_known =
        THREAD_EVENTS.contains(&event) || HookEvent::ALL.iter().any(|known| known.as_str() == event);
    if !is_known {
        return Err(format!("`{}` is no event", excerpt(event)));
    }
    let action = hook.get("action").and_then(Value::as_object).ok_or("it has no `action`")?;
    let mut read = Map::from_iter([("event".to_owned(), Value::from(event))]);
    if let Some(id) = hook.get("id").and_then(Value::as_str) {
        read.insert("id".to_owned(), id.into());
    }
    if let Some(condition) = hook.get("condition").filter(|condition| !condition.is_null()) {
        let mut condition = condition.as_object().ok_or("its condition is no mapping")?.clone();
        // The value of an attribute is a text; a number in it is compared as a number.
        if let Some(value) = condition.get_mut("value")
            && let Some(plain) =
                value.as_str().and_then(|text| crate::json::parse_strict(text, 1, TreeLimit::NOTE).ok())
            && (plain.is_number() || plain.is_boolean() || plain.is_null())
        {
            *value = plain;
        }
        read.insert("condition".to_owned(), Value::Object(condition));
    }
    let mut action = action.clone();
    if let Some(listed) = action.remove("param") {
        let mut params = Map::new();
        for param in each(&listed) {
            let name = param.get("name").and_then(Value::as_str).ok_or("a `param` has no name")?;
            let value =
                param.get("value").or_else(|| param.get("text")).cloned().unwrap_or_else(|| "".into());
            params.insert(name.to_owned(), value);
        }
        action.insert("params".to_owned(), Value::Object(params));
    }
    read.insert("action".to_owned(), Value::Object(action));
    Ok(Value::Object(read))
}
