//! The keys of a graph document.

use super::shape::Shape::{
    Any, AnyNumber, Bool, Duration, Either, False, Integer, JsonSchema, List, Map, Number, Size, Table,
    Template, TemplateText, Text, Words,
};
use super::table::{Key, KeyTable};
use crate::item::{ItemOperation, ItemType};
use crate::policy::{
    Durability, OnError, OnItemError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};
use crate::words;

/// Kinds of nodes that dispatch an item.
const DISPATCHING: &[&str] = &["default", "foreach"];

/// The categories of failures, as documents may spell them.
pub static CATEGORIES: [&str; 10] = [
    "transient",
    "rate-limited",
    "timeout",
    "permanent",
    "invalid-input",
    "denied",
    "limit",
    "internal",
    "rate_limited",
    "invalid_input",
];

/// The kinds of interfaces that `capabilities.interfaces` may name, now or in later releases.
pub static INTERFACES: [&str; 9] =
    ["log", "clocks", "random", "filesystem", "http", "secrets", "knowledge", "model", "tools"];

/// The operators of conditions.
pub static OPERATORS: [&str; 10] =
    ["eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "regex", "exists"];

const NODE_NAME: super::Shape = Text("a node's name");
const NODE_NAMES: super::Shape = Either(&[NODE_NAME, List(&NODE_NAME)]);
const LABEL: super::Shape = Either(&[Text(""), AnyNumber]);

/// The shape of a graph file.
pub static DOCUMENT: super::Shape = Table(&TOOL);

/// A graph file.
pub static TOOL: KeyTable = KeyTable {
    name: "graph",
    title: "a graph file",
    keys: &[
        Key::new("version", LABEL, "The version of this graph, for people and for publishing").blank(),
        Key::new("tool_type", Words(&["graph"]), "Says that the file is a graph").required(),
        Key::new(
            "executor_id",
            Words(&[
                "graph-host",
                "rye/core/runtimes/state_graph_runtime",
                "rye/core/runtimes/state-graph/runtime",
            ]),
            "Which dialect the graph is written in; the other values name Rye's, so that its graphs run unchanged",
        )
        .or("`graph-host`")
        .blank(),
        Key::new("category", LABEL, "A word for people to group graphs by").blank(),
        Key::new("description", Text(""), "What the graph does, for the people who run it").blank(),
        Key::new("permissions", Any, "Recognised with a warning and not used: a graph grants itself nothing"),
        Key::new(
            "config_schema",
            JsonSchema,
            "The JSON Schema of the inputs. Inputs are checked against it before the run starts, and its `default`s are filled in",
        )
        .blank(),
        Key::new("config", Table(&CONFIG), "The graph itself").required(),
    ],
};

/// The keys of `config`, the body of a graph.
pub static CONFIG: KeyTable = KeyTable {
    name: "config",
    title: "the config",
    keys: &[
        Key::new("nodes", Map("node names", &Table(&NODE)), "The nodes. Their order in the document decides ties, such as the order of barriers that open together").required(),
        Key::new(
            "start",
            Either(&[NODE_NAME, Table(&SEND), List(&Either(&[NODE_NAME, Table(&SEND)]))]),
            "Where a run begins: a node, a send, or a list of them, which run in one superstep",
        )
        .required(),
        Key::new(
            "channels",
            Map("state keys", &Either(&[words!(Reducer), Table(&CHANNEL)])),
            "How writes to state keys are combined. A key that is not listed is a `last_value` channel",
        )
        .blank(),
        Key::new("output", Template, "The result of the run. It can read `state`, `inputs` and `run`")
            .or("the state without keys that begin with `_`"),
        Key::new("max_steps", Integer(1, u64::MAX), "How many supersteps a run may take").or("`100`"),
        Key::new(
            "on_max_steps",
            words!(OnMaxSteps),
            "What happens when `max_steps` are used up and nodes are still to run: `fail` ends as `limit` (exit code 7), `return_last` completes, `return_with_flag` completes with `limit_reached: true`",
        )
        .or("`fail`"),
        Key::new("on_error", words!(OnError), "What happens to a failure that its node does not handle: the run fails, or it continues without the node's writes").or("`fail`"),
        Key::new("on_no_match", words!(OnNoMatch), "What happens when no edge of a conditional `next` matches: the branch ends, or the run fails").or("`end`"),
        Key::new("on_stalled_barrier", words!(OnStalledBarrier), "What happens when nothing is left to run and a barrier has some of the arrivals that it waits for: a warning, a failure, or the barrier opens").or("`warn`"),
        Key::new("max_concurrency", Integer(1, 4_294_967_295), "How many tasks of a superstep run at the same time")
            .or("chosen by the host"),
        Key::new("max_fan_out", Integer(1, 10_000_000), "How many tasks one superstep may have").or("`100000`"),
        Key::new("max_total_steps", Integer(1, u64::MAX), "How many supersteps the run and its child runs may take together")
            .or("the larger of `1000` and `max_steps`"),
        Key::new("max_visits_per_node", Integer(1, u64::MAX), "How often one node may run").or("no limit"),
        Key::new("timeout", Duration, "The time that a run may take. Time in which it waits for an answer does not count").or("`10m`"),
        Key::new("durability", words!(Durability), "When a step counts as stored: before the next step starts, a little later, or only where the run stops. After a crash, requests to language models since the last checkpoint are sent, and paid for, again: with `exit`, all since the run began or last paused").or("`sync`"),
        Key::new("templates", words!(TemplateMode), "What a template does with a path that leads nowhere: `null` and a warning, or an `invalid-input` failure").or("`lenient`"),
        Key::new("retry", Table(&RETRY), "The retry policy of every node that has none itself").or("no retries: one attempt").blank(),
        Key::new("revisit", Either(&[Bool, Table(&REVISIT)]), "The revisit policy of every node that has none itself").blank(),
        Key::new("name", Text(""), "The name of the graph in lists and drawings").blank(),
        Key::new("limits", Table(&LIMITS), "Limits of every node that sets none itself").blank(),
        Key::new("hooks", List(&Table(&super::hooks::HOOK)), "What happens at events of a run").blank(),
    ],
};

/// An entry of `start` that passes an argument.
pub static SEND: KeyTable = KeyTable {
    name: "send",
    title: "a send",
    keys: &[
        Key::new("node", NODE_NAME, "The node to run").required(),
        Key::new("argument", Template, "What the node reads as `${argument}`. It reads `inputs` and `run`")
            .or("null"),
    ],
};

/// The keys of a channel's declaration.
pub static CHANNEL: KeyTable = KeyTable {
    name: "channel",
    title: "a channel",
    keys: &[
        Key::new("reducer", words!(Reducer), "How the writes of one superstep become one value")
            .or("`last_value`"),
        Key::new("default", Any, "The value before the first write")
            .or("`[]` for `append`, `union`, `messages` and `topic`, otherwise absent"),
    ],
};

/// `limits` of a graph.
pub static LIMITS: KeyTable = KeyTable {
    name: "node_limits",
    title: "limits",
    keys: &[
        Key::new("fuel", Integer(1, u64::MAX), "WebAssembly fuel of one attempt").or("the manifest's"),
        Key::new("memory", Size, "Linear memory of the component").or("the manifest's"),
        Key::new("timeout", Duration, "The time that one attempt may take").or("the manifest's"),
        Key::new("model", Table(&MODEL_LIMITS), "What each task may use of language models")
            .or("the manifest's"),
    ],
};

/// `limits.model` of a graph.
pub static MODEL_LIMITS: KeyTable = KeyTable {
    name: "node_model_limits",
    title: "limits of language models",
    keys: &[
        Key::new("calls", Integer(0, u64::MAX), "Requests, repeated ones included").or("the manifest's"),
        Key::new("input_tokens", Integer(0, u64::MAX), "Tokens of requests").or("the manifest's"),
        Key::new("output_tokens", Integer(0, u64::MAX), "Tokens of answers").or("the manifest's"),
        Key::new("cost", Number(0.0, 1e12), "The cost by the manifest's prices, in its currency")
            .or("the manifest's"),
    ],
};

/// `limits` of a node.
pub static BUDGETS: KeyTable = KeyTable {
    name: "node_budgets",
    title: "limits of a node's tasks",
    keys: &[Key::new(
        "model",
        Table(&MODEL_BUDGETS),
        "What each task of the node may use of language models: all its attempts together, and the whole of a child run",
    )
    .or("that of `config.limits`, then the manifest's")],
};

/// `limits.model` of a node.
pub static MODEL_BUDGETS: KeyTable = KeyTable {
    name: "node_model_budgets",
    title: "a budget of language models",
    keys: &[
        Key::new("calls", Either(&[Integer(0, u64::MAX), TemplateText]), "Requests, repeated ones included")
            .or(OUTER),
        Key::new("input_tokens", Either(&[Integer(0, u64::MAX), TemplateText]), "Tokens of requests")
            .or(OUTER),
        Key::new("output_tokens", Either(&[Integer(0, u64::MAX), TemplateText]), "Tokens of answers")
            .or(OUTER),
        Key::new(
            "cost",
            Either(&[Number(0.0, 1e12), TemplateText]),
            "The cost by the manifest's prices, in its currency",
        )
        .or(OUTER),
    ],
};

/// The default of a limit of a node.
const OUTER: &str = "that of `config.limits`, then the manifest's";

/// The keys of a node of any type.
pub static NODE: KeyTable = KeyTable {
    name: "node",
    title: "a node",
    keys: &[
        Key::new(
            "type",
            Words(&["default", "return", "foreach", "ask", "wait", "fail"]),
            "What the node does: dispatches an item or only writes state (`default`), ends the run (`return`), runs once for each element of a list (`foreach`), asks a person (`ask`), waits for a time or an event (`wait`), or fails (`fail`)",
        )
        .or("`default`"),
        Key::new("action", Table(&ACTION), "The item to dispatch and what it is given. A node without one only writes state and routes")
            .only_for(DISPATCHING)
            .blank(),
        Key::new(
            "assign",
            Map("state keys", &Template),
            "What is written to the state when the node has succeeded. All values are computed from the state before the writes; on a channel with a reducer `{overwrite: VALUE}` replaces the value. In a `foreach`, `${result}` is the list of all results",
        )
        .blank(),
        Key::new(
            "next",
            Either(&[NODE_NAME, List(&NODE_NAME), List(&Table(&EDGE))]),
            "The next nodes: one, all of a list, or the first edge whose condition holds. `__end__` and an empty list end the branch",
        )
        .only_for(&["default", "foreach", "ask", "wait", "fail"])
        .or("the branch ends")
        .blank(),
        Key::new("on_error", NODE_NAME, "The node that runs next if this one fails after its retries. It reads `state._last_error`")
            .only_for(&["default", "foreach", "ask", "wait", "fail"])
            .blank(),
        Key::new("retry", Table(&RETRY), "When a failed attempt is repeated, with the same params. `retry: {}` allows three attempts")
            .only_for(&["default", "foreach", "fail"])
            .or("that of `config.retry`, else one attempt"),
        Key::new("timeout", Either(&[Duration, TemplateText]), "The time that one attempt may take").only_for(DISPATCHING).or(OUTER),
        Key::new("fuel", Integer(1, u64::MAX), "WebAssembly fuel of one attempt").only_for(DISPATCHING).or("that of `config.limits`, then the manifest's"),
        Key::new("memory", Size, "Linear memory of the component").only_for(DISPATCHING).or("that of `config.limits`, then the manifest's"),
        Key::new("limits", Table(&BUDGETS), "What each task of the node may use of language models").only_for(DISPATCHING).blank(),
        Key::new("wait_for", NODE_NAMES, "Makes the node a barrier: it runs once all of these nodes have completed, and nothing else may lead to it").blank(),
        Key::new("defer", Bool, "Runs the node only when nothing else is left to run").or("`false`"),
        Key::new(
            "interrupt",
            Either(&[Words(&["before", "after"]), List(&Words(&["before", "after"]))]),
            "Pauses the run before the node's superstep, or after it has committed; `resume` continues",
        )
        .blank(),
        Key::new("command", Table(&COMMAND), "What the component may write and where it may go by a command of its own. Without it, commands are refused").only_for(DISPATCHING),
        Key::new(
            "capabilities",
            Either(&[List(&Text("a dispatch pattern")), Table(&CAPABILITIES), TemplateText]),
            "Narrows what the node's item or child graph may use; it never adds anything. A list, or a template that gives one, is short for `{dispatch: LIST}`",
        )
        .only_for(DISPATCHING),
        Key::new("cache", Either(&[Table(&CACHE), False]), "Keeps the node's result and uses it again for the same params")
            .only_for(DISPATCHING)
            .blank(),
        Key::new("revisit", Either(&[Bool, Table(&REVISIT)]), "Whether templates of the node can read its earlier result as `node.previous`")
            .only_for(DISPATCHING)
            .blank(),
        Key::new("over", Either(&[List(&Template), TemplateText, Text("JSON text of a list")]), "The list whose elements are the tasks").only_for(&["foreach"]),
        Key::new("batch", Integer(1, 10_000_000), "The number of elements that one task receives, as a list; the last task may receive fewer. Without it, each task receives one element").only_for(&["foreach"]),
        Key::new("as", Text("a name"), "The name under which templates of the node read the element").only_for(&["foreach"]).or("`item`").blank(),
        Key::new("collect", Text("a state key"), "The state key that receives the list of the results, in the order of the elements. The whole list is one write; it is written only if the node succeeds").only_for(&["foreach"]).blank(),
        Key::new("parallel", Bool, "Runs the tasks at the same time, not one after the other").only_for(&["foreach"]).or("`false`"),
        Key::new("on_item_error", words!(OnItemError), "What happens when the task of an element fails after its retries: the node fails (and `on_error` of the node decides), or the result of the element is null, or `{_error: {category, error}}`, or it is left out").only_for(&["foreach"]).or("`fail`"),
        Key::new("output", Template, "The result of the run").only_for(&["return"]).or("`config.output`"),
        Key::new("ask", Table(&ASK), "The question").only_for(&["ask"]),
        Key::new("wait", Table(&WAIT), "What the node waits for").only_for(&["wait"]),
        Key::new("fail", Table(&FAIL), "The failure").only_for(&["fail"]),
        Key::new("metadata", Any, "Anything, for people and tools; the host does not use it"),
    ],
};

/// `action` of a node or a hook.
pub static ACTION: KeyTable = KeyTable {
    name: "action",
    title: "an action",
    keys: &[
        Key::new(
            "item_id",
            Text("an item id, or a template"),
            "The item: a component, a graph, or a text. Required, except for `search`",
        ),
        Key::new("params", Either(&[Map("names", &Template), TemplateText]), "What the item is given")
            .or("`{}`")
            .blank(),
        Key::new("primary", words!(ItemOperation), "What is done with the item").or("`execute`"),
        Key::new("item_type", words!(ItemType), "What kind of item it is").or("`tool`"),
    ],
};

/// The keys of an edge.
pub static EDGE: KeyTable = KeyTable {
    name: "edge",
    title: "an edge",
    keys: &[
        Key::new("to", NODE_NAMES, "Where it leads; `[]` or `__end__` ends the branch").required(),
        Key::new(
            "when",
            Table(&CONDITION),
            "When it is taken. It reads `state` as this superstep commits it, `result` and `inputs`",
        )
        .or("always")
        .blank(),
        Key::new("label", Text(""), "A text for drawings").blank(),
    ],
};

/// The keys of a condition.
pub static CONDITION: KeyTable = KeyTable {
    name: "condition",
    title: "a condition",
    keys: &[
        Key::new(
            "path",
            Text("a path"),
            "The value to test, such as `state.count`; of `state.rows[*].done`, any element may hold",
        ),
        Key::new("op", Words(&OPERATORS), "How it is tested").or("`eq`"),
        Key::new("operator", Words(&OPERATORS), "The same as `op`"),
        Key::new(
            "value",
            Any,
            "What it is compared with. It is never a template. `value` or `other` is required for every `op` but `exists`",
        ),
        Key::new(
            "other",
            Text("a path"),
            "The path to a value that it is compared with, in place of `value`",
        )
        .blank(),
        Key::new("any", List(&Table(&CONDITION)), "Holds if one of these holds; stands alone"),
        Key::new("all", List(&Table(&CONDITION)), "Holds if all of these hold; stands alone"),
        Key::new("not", Table(&CONDITION), "Holds if this does not hold; stands alone"),
    ],
};

/// `retry` of a node.
pub static RETRY: KeyTable = KeyTable {
    name: "retry",
    title: "a retry policy",
    keys: &[
        Key::new(
            "max_attempts",
            Integer(1, 10_000),
            "How many attempts there are in all, the first included",
        )
        .or("`3`"),
        Key::new("initial_interval", Duration, "The wait before the second attempt").or("`500ms`"),
        Key::new("backoff", Number(1.0, 1_000.0), "What each further wait is multiplied by").or("`2`"),
        Key::new("max_interval", Duration, "The longest wait")
            .or("`1m`, or `initial_interval` if that is longer"),
        Key::new(
            "jitter",
            Bool,
            "Draws each wait between half of it and all of it, from the seed of the run",
        )
        .or("`false`"),
        Key::new(
            "retry_on",
            List(&Words(&CATEGORIES)),
            "The categories of failures that are retried; `denied` cannot be one",
        )
        .or("`[transient, rate-limited, timeout]`"),
    ],
};

/// `command` of a node.
pub static COMMAND: KeyTable = KeyTable {
    name: "command",
    title: "what commands may do",
    keys: &[
        Key::new("goto", NODE_NAMES, "The nodes that a command may go to; `__end__` ends the branch").blank(),
        Key::new("write", List(&Text("a state key")), "The state keys that a command may write").blank(),
        Key::new(
            "overwrite",
            List(&Text("a state key")),
            "The channels with a reducer whose value a command may replace",
        )
        .blank(),
    ],
};

/// `capabilities` of a node.
pub static CAPABILITIES: KeyTable = KeyTable {
    name: "capabilities",
    title: "narrowed capabilities",
    keys: &[
        Key::new(
            "dispatch",
            Either(&[List(&Text("a dispatch pattern")), TemplateText]),
            "What may be dispatched, of what the manifest permits: the node's own item, and what it dispatches in turn",
        )
        .or("unchanged"),
        Key::new(
            "interfaces",
            List(&Words(&INTERFACES)),
            "The interfaces that the component may use, of those that are granted",
        )
        .or("unchanged"),
    ],
};

/// `cache` of a node.
pub static CACHE: KeyTable = KeyTable {
    name: "cache",
    title: "a cache policy",
    keys: &[
        Key::new("ttl", Duration, "How long a result is used").required(),
        Key::new("key", Template, "A value that has to be the same, too, besides item, params and grants")
            .blank(),
    ],
};

/// `revisit` of a node.
pub static REVISIT: KeyTable = KeyTable {
    name: "revisit",
    title: "a revisit policy",
    keys: &[Key::new(
        "feedback",
        Bool,
        "Keeps the node's results, so that `${node.previous}` is the last one",
    )
    .or("`false`")],
};

/// `ask` of a node.
pub static ASK: KeyTable = KeyTable {
    name: "ask",
    title: "a question",
    keys: &[
        Key::new("question", Template, "What is asked").required(),
        Key::new("about", Template, "What the question is about; it is shown with the question"),
        Key::new("choices", Either(&[List(&Template), TemplateText]), "The answers to choose from").blank(),
        Key::new("other", Either(&[Bool, TemplateText]), "Allows any other text as an answer")
            .or("`false`")
            .blank(),
        Key::new("schema", Either(&[JsonSchema, TemplateText]), "The JSON Schema of the answer").blank(),
        Key::new("timeout", Duration, "How long the question waits for an answer"),
        Key::new("default", Template, "The answer after `timeout`; without it the node fails with `timeout`"),
    ],
};

/// `wait` of a node.
pub static WAIT: KeyTable = KeyTable {
    name: "wait",
    title: "a wait",
    keys: &[
        Key::new("for", Either(&[Duration, TemplateText]), "How long the node waits. Its result is null"),
        Key::new(
            "until",
            Either(&[Text("a time as RFC 3339 writes it"), TemplateText]),
            "The time until which the node waits; a time in the past ends it at once. Its result is null",
        ),
        Key::new(
            "event",
            Either(&[Text("a name"), TemplateText]),
            "The event that the node waits for. Its result is the data of the event",
        ),
        Key::new(
            "match",
            Either(&[Map("names", &Template), TemplateText]),
            "The values that the event has to name, such as the number of an order; it may name others, too",
        )
        .blank(),
        Key::new(
            "timeout",
            Either(&[Duration, TemplateText]),
            "How long the node waits for the event at most",
        )
        .or("without end"),
        Key::new("default", Template, "The result after `timeout`; without it the node fails with `timeout`"),
    ],
};

/// `fail` of a node.
pub static FAIL: KeyTable = KeyTable {
    name: "fail",
    title: "a failure",
    keys: &[
        Key::new("message", Template, "The message").required(),
        Key::new("category", Either(&[Words(&CATEGORIES), TemplateText]), "The category")
            .or("`permanent`")
            .blank(),
        Key::new("details", Template, "Data about the failure, for edges and hooks"),
    ],
};

/// The snapshot of a graph in a run: written and read by the host only.
pub static SNAPSHOT: KeyTable = KeyTable {
    name: "snapshot",
    title: "the snapshot",
    keys: &[
        Key::new("executor_id", Text(""), "The graph's dialect, where it is another host's").blank(),
        Key::new("id", Text(""), "The graph's id").required(),
        Key::new("config", Any, "The graph's `config`").required(),
        Key::new("node_order", List(&Text("")), "The nodes in document order").required(),
        Key::new("config_schema", Any, "The graph's `config_schema`").blank(),
        Key::new("description", Text(""), "The graph's `description`").blank(),
    ],
};
