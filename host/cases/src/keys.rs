//! Keys of the document of a case.

use graph_core::keys::Shape::{Any, Either, Integer, List, Map, Table, Template, Text, Words};
use graph_core::keys::graph::{CATEGORIES, CONFIG};
use graph_core::keys::hooks::HOOK;
use graph_core::keys::manifest::RUN_LIMITS;
use graph_core::keys::{Key, KeyTable, Shape};
use graph_core::policy::Durability;
use graph_core::words;
use graph_runtime::history::events::LINE_KEYS;

/// Shape of the document.
pub static DOCUMENT: Shape = Table(&CASE);

/// Keys of the document.
pub static CASE: KeyTable = KeyTable {
    name: "case",
    title: "a case",
    keys: &[
        Key::new("name", Text(""), "What reports call the case").or("the name of its file"),
        Key::new("about", Text(""), "The rule that the case shows"),
        Key::new(
            "executor_id",
            Text("an executor"),
            "The dialect of the graphs in the case, as in a graph file",
        )
        .or("`graph-host`"),
        Key::new("seeds", List(&Text("")), "The rows of a specification that the case shows").blank(),
        Key::new("graph", Table(&CONFIG), "The `config` of the graph. Either this or `graph_file`"),
        Key::new("graph_file", Text("a path"), "The file of the graph, relative to the case"),
        Key::new("subgraphs", Map("item ids", &Table(&CONFIG)), "The `config`s of graphs that actions name")
            .blank(),
        Key::new(
            "items",
            Map("item ids", &Either(&[Table(&DOUBLE), Table(&SEQUENCE)])),
            "Doubles: what items answer. An item that is not listed is the real one",
        )
        .blank(),
        Key::new(
            "items_dir",
            Text("a path"),
            "A folder in which real items are looked for first, relative to the case",
        ),
        Key::new("caps", List(&Text("a dispatch pattern")), "What may be dispatched")
            .or("`[\"execute.tool.*\"]`"),
        Key::new("budgets", Table(&RUN_LIMITS), "Lower limits of each run, as under `run` of a manifest"),
        Key::new("hooks", Table(&HOOKS), "Hooks from outside of the graph").blank(),
        Key::new("http", List(&Table(&HTTP)), "What servers answer to requests of real components").blank(),
        Key::new(
            "models",
            Map("names of models", &List(&Table(&MODEL_ANSWER))),
            "What language models answer to real components, one after the other in the whole case",
        )
        .blank(),
        Key::new("script", List(&Table(&STEP)), "The operations, in order").required(),
    ],
};

/// Keys of one outcome of a double.
pub static DOUBLE: KeyTable = KeyTable {
    name: "double",
    title: "an outcome",
    keys: &[
        Key::new("result", Template, "The result"),
        Key::new("command", Table(&COMMAND), "A command"),
        Key::new(
            "interrupts",
            List(&Template),
            "Questions, asked one after the other until all are answered",
        ),
        Key::new("then", Table(&DOUBLE), "The outcome once the questions of `interrupts` are answered")
            .blank(),
        Key::new("fail", Table(&FAILURE), "A failure"),
        Key::new("trap", Words(&["fuel", "memory", "unreachable"]), "A component that is stopped or crashes"),
        Key::new(
            "delay_ms",
            Integer(0, 4_294_967_295),
            "How long the attempt takes on the clock of the case",
        )
        .or("`0`"),
    ],
};

/// Keys of a sequence of outcomes.
pub static SEQUENCE: KeyTable = KeyTable {
    name: "sequence",
    title: "a sequence of outcomes",
    keys: &[Key::new(
        "sequence",
        List(&Table(&DOUBLE)),
        "One outcome for each call of the item in the whole case; the last one repeats",
    )
    .required()],
};

/// Keys of a command of a double.
pub static COMMAND: KeyTable = KeyTable {
    name: "double_command",
    title: "a command",
    keys: &[
        Key::new("update", Map("state keys", &Template), "What it writes").or("`{}`").blank(),
        Key::new("goto", List(&Template), "Where it goes: node names, or sends `{node, argument}`")
            .or("`[]`")
            .blank(),
    ],
};

const CATEGORY: Shape = Either(&[Words(&CATEGORIES), Shape::TemplateText]);

/// Keys of a failure of a double.
pub static FAILURE: KeyTable = KeyTable {
    name: "double_failure",
    title: "a failure of a double",
    keys: &[
        Key::new("category", CATEGORY, "The category").required(),
        Key::new("message", Text("text with templates"), "The message"),
        Key::new("details", Template, "Anything that explains it further"),
    ],
};

/// Keys of hooks from outside of the graph.
pub static HOOKS: KeyTable = KeyTable {
    name: "case_hooks",
    title: "hooks from outside",
    keys: &[
        Key::new("project", List(&Table(&HOOK)), "Those of `.ai/hooks.yaml`").blank(),
        Key::new("infra", List(&Table(&HOOK)), "Those of the user").blank(),
    ],
};

/// Keys of a request and its answer.
pub static HTTP: KeyTable = KeyTable {
    name: "case_http",
    title: "an entry of http",
    keys: &[
        Key::new("request", Table(&REQUEST), "The requests that it answers").required(),
        Key::new("answer", Table(&ANSWER), "The answer").required(),
        Key::new("times", Integer(1, u64::MAX), "How many requests it answers").or("any number"),
    ],
};

/// Keys that select the requests of an entry.
pub static REQUEST: KeyTable = KeyTable {
    name: "case_request",
    title: "a request",
    keys: &[
        Key::new("url", Text("a URL"), "The URL").required(),
        Key::new("method", Text("a method"), "The method").or("any"),
        Key::new("body", Any, "The body: a text, or what its JSON is equal to").or("any"),
    ],
};

/// Keys of the answer of a server.
pub static ANSWER: KeyTable = KeyTable {
    name: "case_answer",
    title: "an answer",
    keys: &[
        Key::new("status", Integer(100, 999), "The status").or("`200`"),
        Key::new("headers", Map("names", &Text("")), "The headers").blank(),
        Key::new("body", Any, "The body: a text is sent unchanged, anything else as JSON").or("empty"),
    ],
};

/// Keys of the answer of a language model to one call.
pub static MODEL_ANSWER: KeyTable = KeyTable {
    name: "case_model_answer",
    title: "an answer of a language model",
    keys: &[
        Key::new("text", Text(""), "The text of the answer"),
        Key::new("tool_calls", List(&Table(&MODEL_CALL)), "The tools that the model asks for").blank(),
        Key::new(
            "stop",
            Words(&["end", "tool_calls", "max_output", "stop_text", "refused"]),
            "Why the answer ends",
        )
        .or("`tool_calls` if there are any, otherwise `end`"),
        Key::new("usage", Table(&MODEL_USAGE), "What the call uses"),
        Key::new("fail", Table(&MODEL_FAILURE), "A failure instead of an answer; it is not tried again"),
    ],
};

/// Keys of a tool call of a language model.
pub static MODEL_CALL: KeyTable = KeyTable {
    name: "case_model_call",
    title: "a call of a tool by a language model",
    keys: &[
        Key::new("name", Text("a name"), "The name of the tool").required(),
        Key::new(
            "arguments",
            Either(&[Map("names", &Any), Text("what a model has written that is no JSON object")]),
            "The arguments",
        )
        .or("`{}`")
        .blank(),
        Key::new("id", Text("an id"), "The id of the call").or("`call-N`, counted in the case"),
    ],
};

/// Keys of the usage of a call of a language model.
pub static MODEL_USAGE: KeyTable = KeyTable {
    name: "case_model_usage",
    title: "what a call of a language model uses",
    keys: &[
        Key::new("input", Integer(0, u64::MAX), "Tokens of the request").or("one for each 4 bytes of it"),
        Key::new("output", Integer(0, u64::MAX), "Tokens of the answer").or("one for each 4 bytes of it"),
    ],
};

/// Keys of a failure of a language model.
pub static MODEL_FAILURE: KeyTable = KeyTable {
    name: "case_model_failure",
    title: "a failure of a language model",
    keys: &[
        Key::new("category", Words(&CATEGORIES), "The category").required(),
        Key::new("message", Text(""), "The message"),
    ],
};

/// Keys of a step of the script.
pub static STEP: KeyTable = KeyTable {
    name: "step",
    title: "a step",
    keys: &[
        Key::new("run", Table(&RUN), "Starts the run").blank(),
        Key::new("resume", Table(&RESUME), "Continues the run").blank(),
        Key::new("update", Table(&UPDATE), "Writes to the state through the reducers, as a node would")
            .blank(),
        Key::new("fork", Table(&UPDATE), "Makes a new run from a checkpoint; later steps are about that one")
            .blank(),
        Key::new("replay", Table(&REPLAY), "Runs again from a checkpoint, as a fork").blank(),
        Key::new(
            "cancel",
            Table(&NOTHING),
            "Requests cancellation: the next step that continues the run ends as `cancelled`",
        )
        .blank(),
        Key::new("hold", Table(&NOTHING), "Lets another process hold the run while the next step is tried")
            .blank(),
        Key::new("prune", Table(&PRUNE), "Removes old checkpoints, as `runs gc` does"),
        Key::new("pass", Shape::Duration, "Lets this time pass, so that waits and questions end by time"),
        Key::new("expect", Table(&EXPECT), "What must hold afterwards").blank(),
    ],
};

/// Keys of an operation without options: none.
pub static NOTHING: KeyTable = KeyTable { name: "nothing", title: "an empty mapping", keys: &[] };

/// Keys of `run`.
pub static RUN: KeyTable = KeyTable {
    name: "run",
    title: "run",
    keys: &[
        Key::new("inputs", Map("names", &Any), "The inputs").or("`{}`").blank(),
        Key::new("state", Map("state keys", &Any), "Values of channels before the first step")
            .or("`{}`")
            .blank(),
        Key::new("max_steps", Integer(0, u64::MAX), "Replaces the graph's `max_steps`"),
        Key::new("durability", words!(Durability), "Replaces the graph's `durability`"),
        Key::new("max_concurrency", Integer(1, 4_294_967_295), "Replaces the graph's `max_concurrency`"),
        CRASH,
    ],
};

const CRASH: Key = Key::new(
    "crash_after",
    Integer(1, u64::MAX),
    "Stops the process after that many persisted writes, as a kill would",
);

/// Keys of `resume`.
pub static RESUME: KeyTable = KeyTable {
    name: "resume",
    title: "resume",
    keys: &[
        Key::new("answer", Any, "The answer to the only open question"),
        Key::new("answers", Map("node names or interrupt ids", &Any), "Answers to several questions").blank(),
        Key::new("max_steps", Integer(0, u64::MAX), "The new total of supersteps"),
        Key::new("inputs", Map("names", &Any), "New inputs").blank(),
        Key::new(
            "update",
            Map("state keys", &Any),
            "Values that are written through the reducers before the run continues",
        )
        .blank(),
    ],
};

const AT: Key = Key::new("at", Table(&SELECTOR), "The checkpoint").or("the newest").blank();

/// Keys of `update` and `fork`.
pub static UPDATE: KeyTable = KeyTable {
    name: "update",
    title: "update and fork",
    keys: &[
        AT,
        Key::new("values", Map("state keys", &Any), "What is written").blank(),
        Key::new("as_node", Text("a node's name"), "The node that writes: its routing decides what is next"),
        CRASH,
    ],
};

/// Keys of `replay`.
pub static REPLAY: KeyTable = KeyTable { name: "replay", title: "replay", keys: &[AT, CRASH] };

/// Keys that select a checkpoint.
pub static SELECTOR: KeyTable = KeyTable {
    name: "at",
    title: "a checkpoint",
    keys: &[
        Key::new(
            "step",
            Integer(0, u64::MAX),
            "The checkpoint at the end of this superstep; 0 is before the first",
        ),
        Key::new("node", Text("a node's name"), "The newest checkpoint in which this node is next"),
        Key::new("checkpoint", Integer(0, u64::MAX), "The number of the checkpoint"),
    ],
};

/// Keys of `prune`.
pub static PRUNE: KeyTable = KeyTable {
    name: "prune",
    title: "prune",
    keys: &[
        Key::new("checkpoints", Integer(1, u64::MAX), "How many of the newest checkpoints remain").required()
    ],
};

/// Keys of the expected outcome of a step.
pub static EXPECT: KeyTable = KeyTable {
    name: "expect",
    title: "expectations",
    keys: &[
        Key::new("state.", Any, "A part of the state, by its path: `state.stats.rows: 3`"),
        Key::new(
            "events",
            List(&Either(&[Text("the kind of an event"), Table(&EVENT)])),
            "Events that the step adds to the history, in this order; others may be between them",
        ),
        Key::new(
            "event_kinds",
            List(&Text("the kind of an event")),
            "The kinds of all events that the step adds; not compared where a simulated crash has cut the step short",
        ),
        Key::new(
            "status",
            Text("a status"),
            "`completed`, `completed_with_errors`, `interrupted`, `failed`, `limit`, `cancelled` or `killed`",
        ),
        Key::new("ended_by", Text(""), "`end`, `return`, `max_steps` or `no_edge_matched`"),
        Key::new("state", Map("state keys", &Any), "The state, without keys that begin with `_`"),
        Key::new("state_has", Map("state keys", &Any), "Some of the state"),
        Key::new("output", Any, "The output"),
        Key::new("steps", Integer(0, u64::MAX), "How many supersteps have committed"),
        Key::new("visited", List(&Any), "The nodes that have run, in task order"),
        Key::new(
            "executions",
            Map("node names", &Any),
            "How often nodes were dispatched since the case started; a node of a child graph is `outer/inner`",
        ),
        Key::new("interrupts", List(&Any), "The open questions: some keys of each, in task order"),
        Key::new("next", List(&Any), "The nodes that are next"),
        Key::new("checkpoints", Integer(0, u64::MAX), "How many checkpoints there are"),
        Key::new(
            "error",
            Either(&[Table(&ERROR), Shape::Null]),
            "The error of the run or of the refused operation; `null` if there must be none",
        ),
        Key::new("warnings", List(&Text("")), "Texts, each of which must occur in some warning"),
        Key::new("result", Map("keys", &Any), "Some of the document of the result"),
    ],
};

const EVENT_KEYS: [Key; LINE_KEYS.len()] = {
    let mut rows = [Key::new("", Any, ""); LINE_KEYS.len()];
    let mut at = 0;
    while at < rows.len() {
        rows[at] = Key::new(LINE_KEYS[at], Any, "What the line of the stream has under this key");
        at += 1;
    }
    rows
};

/// Keys of an event, which are some keys of its line.
pub static EVENT: KeyTable = KeyTable { name: "event", title: "an event", keys: &EVENT_KEYS };

/// Keys of an expected error.
pub static ERROR: KeyTable = KeyTable {
    name: "error",
    title: "an expected error",
    keys: &[
        Key::new("code", Text("an error code"), "The code, such as `node_failed`"),
        Key::new("contains", Either(&[Text(""), List(&Text(""))]), "Texts that the message must contain"),
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use graph_core::keys::samples;

    use super::*;
    use crate::document::Case;

    #[test]
    fn every_row_is_a_key_that_the_reader_knows() {
        for sample in samples(&CASE) {
            let problems = Case::parse(Path::new("c.case.yaml"), &sample.to_string()).err();
            let lines = problems.map(|problems| problems.to_lines()).unwrap_or_default();
            let unknown: Vec<_> = lines.iter().filter(|line| line.contains("is not a key of")).collect();
            assert!(unknown.is_empty(), "{sample}: {unknown:?}");
        }
    }
}
