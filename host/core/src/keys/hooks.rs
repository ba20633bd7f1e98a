//! The keys of hooks.

use super::graph::{ACTION, CONDITION};
use super::shape::Shape::{AnyNumber, Bool, Either, Integer, List, Table, Text, Words};
use super::table::{Key, KeyTable};

/// The events of hooks; the last four belong to conversations and are recognised with a warning.
pub static EVENTS: [&str; 10] = [
    "graph_started",
    "after_step",
    "error",
    "limit",
    "interrupt",
    "graph_completed",
    "thread_started",
    "context_limit_reached",
    "after_complete",
    "directive_return",
];

/// The actions of a control result.
static ACTIONS: [&str; 4] = ["retry", "fail", "abort", "continue"];

/// The shape of a file of hooks.
pub static DOCUMENT: super::Shape = Either(&[Table(&HOOKS), List(&Table(&HOOK))]);

/// A document of hooks: `.ai/hooks.yaml` of a project, `hooks.yaml` of a user.
pub static HOOKS: KeyTable = KeyTable {
    name: "hooks",
    title: "a document of hooks",
    keys: &[
        Key::new("hooks", List(&Table(&HOOK)), "The hooks, in the order in which they run")
            .required()
            .blank(),
        Key::new("version", Either(&[Text(""), AnyNumber]), "For people").blank(),
        Key::new("category", Either(&[Text(""), AnyNumber]), "For people").blank(),
        Key::new("description", Either(&[Text(""), AnyNumber]), "For people").blank(),
    ],
};

/// The keys of a hook.
pub static HOOK: KeyTable = KeyTable {
    name: "hook",
    title: "a hook",
    keys: &[
        Key::new("event", Words(&EVENTS), "The event at which the hook runs").required(),
        Key::new(
            "action",
            Either(&[Table(&ACTION), Table(&CONTROL)]),
            "The item to dispatch, or how the run continues",
        )
        .required(),
        Key::new("condition", Table(&CONDITION), "The hook runs only if this holds. What it can read depends on the event")
            .or("always")
            .blank(),
        Key::new("id", Text("a name"), "Its name in messages and events")
            .or("layer and place, such as `1.0`")
            .blank(),
        Key::new("description", Text(""), "For people").blank(),
        Key::new("required", Bool, "Whether a failure of the hook fails the run; otherwise it is a warning")
            .or("`false`"),
        Key::new("layer", Integer(1, 3), "Allowed for Rye's documents, which state it; it must be the layer of the file: 1 a graph, 2 a project, 3 the user")
            .blank(),
    ],
};

/// A hook's decision about how a run continues.
pub static CONTROL: KeyTable = KeyTable {
    name: "control",
    title: "a control result",
    keys: &[
        Key::new("action", Words(&ACTIONS), "One of the four keys below, as a value"),
        Key::new("retry", Bool, "Repeats the failed attempt (`error`)"),
        Key::new("fail", Bool, "Keeps the failure or the limit, whatever later hooks say (`error`, `limit`)"),
        Key::new("abort", Bool, "Fails the run (every event but `graph_completed`)"),
        Key::new(
            "continue",
            Bool,
            "Ignores the failure, as `on_error: continue` does (`error`), or allows more supersteps (`limit`)",
        ),
        Key::new("max_retries", Integer(1, 10_000), "How often `retry` repeats").or("`3`"),
        Key::new("additional_steps", Integer(1, u64::MAX), "How many supersteps `continue` adds at `limit`")
            .or("`50`"),
    ],
};
