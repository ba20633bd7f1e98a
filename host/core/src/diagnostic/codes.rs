//! Every kind of problem that a document can have, each with a stable code and an explanation for `graph-host explain CODE`. A code never
//! changes its meaning; a kind that is no longer reported keeps its number unused.
//!
//! | Codes | About |
//! |---|---|
//! | `GH01xx` | the text as YAML |
//! | `GH02xx` | the shape of any document: keys, types, values |
//! | `GH03xx` | graph documents |
//! | `GH04xx` | templates, conditions and schemas inside documents |
//! | `GH05xx` | ids and names |
//! | `GH06xx` | capability manifests |
//! | `GH07xx` | the trust store |
//! | `GH08xx` | cases |
//! | `GH09xx` | knowledge and directives |
//! | `GH10xx` | lockfiles |

use std::fmt;

use crate::keys::described;

/// A kind of problem.
#[derive(Clone, Copy)]
pub struct Code {
    id: &'static str,
    title: &'static str,
    explanation: &'static str,
}

impl Code {
    /// Returns the stable code, `GH` and four digits.
    pub const fn id(self) -> &'static str {
        self.id
    }

    /// Returns the kind of problem in a few words.
    pub const fn title(self) -> &'static str {
        self.title
    }

    /// Returns the meaning, an example, and a remedy; empty in the walker of a page.
    pub const fn explanation(self) -> &'static str {
        self.explanation
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Finds the kind of problem with a code, in upper or lower case.
pub fn find(id: &str) -> Option<Code> {
    ALL.iter().find(|code| code.id.eq_ignore_ascii_case(id.trim())).copied()
}

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal, $explanation:literal;)*) => {
        $(
            #[doc = concat!("`", $id, "`: ", $title, ".")]
            pub const $name: Code = Code { id: $id, title: $title, explanation: described($explanation) };
        )*

        /// Every kind of problem, in the order of their codes.
        pub const ALL: &[Code] = &[$($name),*];

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

codes! {
    YAML_SYNTAX = "GH0101", "the text is not YAML",
"The text does not follow the YAML 1.2 grammar, so nothing in it can be read. Common causes are a tab in the indentation, \
a list item or key that is indented differently from its neighbours, a missing space after `:` and a quote that is never \
closed.

    nodes:
      a:
    \tnext: b        # a tab

Indent with spaces, the same number for all entries of one mapping. The marked place is where reading stopped: the cause is \
there or just before it.";
    YAML_TOO_LARGE = "GH0102", "the document is over a size limit",
"A document may have 8 MiB of text, be nested 64 levels deep, and hold 1,200,000 values once its aliases are resolved: a key is \
a value, too, and a mapping counts as five, as it takes the memory of five. A graph of 20,000 nodes stays below that. The limits \
keep a small file from using up the machine, as an `alias bomb` does:

    a: &a [x, x, x, x, x, x, x, x, x]
    b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
    c: [*b, *b, *b, *b, *b, *b, *b, *b, *b]

Keep large data outside of documents: pass it as an input, or let a node read it from a granted folder.";
    YAML_DUPLICATE_KEY = "GH0103", "a key is given twice",
"A mapping has the same key twice. YAML does not allow it, and readers that do would silently take one of the two.

    nodes:
      greet: { next: done }
      greet: { next: other }

Remove or rename one of them; both places are marked.";
    YAML_KEY_NOT_TEXT = "GH0104", "a key is not a text",
"Keys of a mapping must be texts. A plain `1`, `true` or `null` is a number, a boolean or nothing; a list or a mapping cannot be \
a key at all.

    assign:
      1: \"${result}\"

Put the key in quotes: `\"1\": …`.";
    YAML_TAG = "GH0105", "a tag is not known",
"Only the tags of the YAML core schema are known: `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map`, and the value \
must be of that type. Tags that make a reader construct objects are refused.

    params: !!python/object/apply:os.system [\"id\"]

Leave the tag out. To make a text of something that looks like a number, put it in quotes.";
    YAML_ALIAS = "GH0106", "an alias cannot be resolved",
"An alias (`*name`) repeats the value that was anchored with `&name` earlier in the document. It must not be inside that very value.

    a: &a [1, *a]

Anchor the value before using it, or write it out.";
    YAML_MERGE_KEY = "GH0107", "merge keys are not supported",
"`<<: *defaults` merges the keys of another mapping in YAML 1.1. YAML 1.2 has no merge keys, and with them a reader of a document no longer \
sees what a mapping holds.

    node:
      <<: *defaults
      next: done

Write the keys out. Limits that all nodes share belong under `config.limits`.";
    YAML_NUMBER = "GH0108", "a number cannot be represented",
"Integers have 64 bits (-9223372036854775808 to 18446744073709551615) and are exact; other numbers are finite 64-bit floats. `.inf`, `.nan`, and numbers \
beyond these ranges have no place in JSON and would change silently.

    limit: 99999999999999999999

Use a number in range, or put it in quotes to have a text.";
    YAML_BOOLEAN_LOOKALIKE = "GH0109", "a text looks like a boolean",
"In YAML 1.1 plain `yes`, `no`, `on` and `off` were booleans. In YAML 1.2, which holds here, they are texts.

    params: { verbose: no }     # the text \"no\"

Write `true` or `false` for a boolean, or put the word in quotes to say that a text is meant.";
    YAML_SEVERAL_DOCUMENTS = "GH0110", "the file holds several documents",
"A file holds one document; a second one after `---` would be ignored by some readers and used by others.

    config: …
    ---
    config: …

Put each into a file of its own.";
    YAML_CHARACTER = "GH0111", "a character is not allowed",
"YAML text holds printable characters, tabs and line breaks. Control characters could make a terminal show something else than what is in the file.

Inside double quotes a character can be written as an escape, for example `\"\\e\"` or `\"\\u0000\"`.";
    YAML_EMPTY = "GH0112", "the document is empty",
"The file holds nothing but blanks and comments.

Write the document, or give the file that was meant.";
    YAML_RESERVED_KEY = "GH0113", "a key is reserved",
"The key `__proto__` changes objects instead of being stored in them where documents are read with JavaScript, so that the same document could mean two things. \
It is refused in every document.

Choose another name.";

    UNKNOWN_KEY = "GH0201", "a key is not known",
"The mapping has a key that nothing reads. Ignoring it would hide a spelling mistake, and with it a limit or a condition that was meant to hold.

    config:
      start: a
      max_stpes: 10

Correct the key; the message names the nearest one that is known here. Notes for people and tools belong under a node's `metadata`.";
    MISSING_KEY = "GH0202", "a key is missing",
"The mapping lacks a key that it must have.

    config:
      nodes: { … }        # `start` is missing

Add the key.";
    WRONG_TYPE = "GH0203", "a value is of another type than expected",
"The value is, for example, a text where a list is expected. Values are never converted: `max_steps: \"10\"` is a text, not a number.

    max_steps: ten

Write a value of the type that the message names.";
    OUT_OF_RANGE = "GH0204", "a value is out of range",
"The value is of the right type but cannot be used: zero attempts, a negative limit, a list that must not be empty.

    retry: { max_attempts: 0 }    # the first attempt counts too

Use a value in the range that the message names.";
    UNKNOWN_CHOICE = "GH0205", "a value is not one of the known ones",
"The value must be one of a few words.

    on_error: ignore        # fail, continue

Use one of the words that the message lists.";
    BAD_DURATION = "GH0206", "not a duration",
"A duration is a whole number with a unit: `10ms`, `5s`, `2m`, `1h`; parts can be joined: `1m30s`. A number without a unit is in seconds.

    timeout: 5 minutes

Write `5m`.";
    BAD_SIZE = "GH0207", "not a size",
"A size is a whole number of bytes, or one with a unit: `KiB`, `MiB`, `GiB` (powers of 1024) or `kB`, `MB`, `GB` (powers of 1000).

    memory: 64 megs

Write `64MiB`.";
    BAD_TIME = "GH0208", "not a time",
"A point in time is written as in RFC 3339, with its offset from UTC, or as a date alone, which means the first moment of that \
day in UTC.

    not_before: 2030-01-31
    not_after: 2030-12-31T23:59:59Z

Other forms, such as `31.1.2030` or a time without an offset, could be read in several ways and are refused.";
    EMPTY_LIST = "GH0209", "a list is empty that allows things",
"A list that says what is allowed is empty. It would allow nothing, which is rarely what its author means, so it is refused \
instead of being guessed at.

    items: []          # a key that may sign nothing

Name what is allowed, or leave out the entry that the list belongs to.";

    NOT_A_GRAPH = "GH0301", "the document is not a graph",
"A graph tool says `tool_type: graph` and has a `config`. Its `executor_id`, if given, names whose rules it follows: `graph-host`, or Rye's state graph runtime.

    tool_type: python
    config: …

Give the file of a graph, or correct the key.";
    UNKNOWN_NODE = "GH0302", "a node does not exist",
"A target names a node that the graph does not have.

    nodes:
      a: { next: finish }
      finsh: { type: return }

Correct the name; the message names the nearest node.";
    BARRIER_TARGET = "GH0303", "a barrier is named as a target",
"A node with `wait_for` is activated only when every node that it waits for has completed. If an edge led there as well, it would run without having waited.

    b: { next: join }
    join: { wait_for: [a, b] }

Remove the target: listing a node in `wait_for` is the edge. To reach the node directly as well, put a node without `wait_for` behind the barrier and lead there.";
    UNREACHABLE_NODE = "GH0304", "a node can never run",
"Nothing leads to the node: not `start`, not an edge, not an `on_error`, not a `command.goto`, and it waits for nothing that can complete.

Lead to it from somewhere, or remove it.";
    NO_DEFAULT_EDGE = "GH0305", "a conditional list has no default",
"Every edge of the list has a `when`. If none holds, the branch ends (`on_no_match: end`) or the run fails (`on_no_match: fail`), which is seldom what was meant.

    next:
      - { to: retry, when: { path: state.ok, op: eq, value: false } }

Add an edge without `when` as the last; `{ to: [] }` ends the branch on purpose.";
    EDGE_AFTER_DEFAULT = "GH0306", "an edge comes after the default",
"The first edge that holds is taken, and an edge without `when` always holds: edges after it are never evaluated.

    next:
      - to: done
      - { to: retry, when: { … } }

Move the edge without `when` to the end.";
    KEY_NOT_FOR_KIND = "GH0307", "a key does not belong to this kind of node",
"A `return` node ends the run: it has no edges, no action and no error handling. `over`, `as`, `collect`, `parallel` and `on_item_error` belong to `type: foreach` alone; `output` to `type: return`.

    done: { type: return, next: a }

Remove the key, or change the node's `type`.";
    NOT_CARRIED_OUT = "GH0308", "something is not carried out by this version",
"The document uses something that is well formed but that this version of graph-host does not support. It is reported so that no one relies on it; the rest of the graph runs.

    tool_type: graph
    permissions: [rye.execute.tool.*]

If the graph depends on it, do not run it with this version.";
    RESERVED_STATE_KEY = "GH0309", "a state key is reserved",
"`inputs` is where templates read the run's inputs; `_last_error`, `_retries` and `_threads` are written by the host. A graph that wrote them would hide what happened.

    assign: { inputs: \"${result}\" }

Use another key.";
    COMMAND_GRANT = "GH0310", "a command grant grants nothing",
"`command` says what a node's action may do by itself: which nodes it may name in `goto`, which state keys it may `write`. An empty grant allows nothing, the same as no grant, and so does a pattern: each key is listed by its name.

    command: {}
    command: { write: [\"*\"] }

List what the action may do, or remove the key.";
    DUPLICATE_TARGET = "GH0311", "a target is listed twice",
"A list of targets names a node twice. Each node is activated once, so the second has no effect.

    next: [a, b, a]

Remove one of them. To run a node several times side by side, use `type: foreach` or sends.";
    OVERWRITE_GRANT = "GH0312", "a command may overwrite what has no reducer",
"`command: { overwrite: [..] }` lists the channels whose value a command may replace with `{ \"overwrite\": value }`, instead of having the value folded into it. \
That makes a difference only for a channel with a reducer that folds writes: append, union, messages, topic, merge, sum, min or max.

    channels: { log: { reducer: append } }
    nodes:
      trim:
        action: { item_id: acme/trim }
        command: { overwrite: [log] }

List the other channels under `write`. A channel under `overwrite` need not be under `write` too. In an update of any other channel, `{ \"overwrite\": value }` is data.";
    WRITE_MISFITS = "GH0313", "a write does not fit its channel",
"The reducer of the channel can never take what the node writes: `sum`, `min` and `max` take a number, `merge` takes a mapping. The run fails at the write with `invalid_update`. \
A `foreach` collects the list of all its results in one write; it does not write each result for itself.

    channels: { total: sum }
    nodes:
      each: { type: foreach, over: \"${inputs.prices}\", collect: total, action: { item_id: acme/price } }

Collect into a key without a reducer or into an `append` channel and fold the list in a node behind it, or let each item write its own number with a command (`command: {write: [total]}`).";

    HOOK_EVENT = "GH0320", "a hook names an event that does not happen",
"`event` says when a hook runs: graph_started, after_step (each task, once it has committed), error (each failure whose retries are used up), limit, \
interrupt (the run is about to wait for answers) or graph_completed.

    hooks:
      - { event: node_failed, action: { retry: true } }

Correct the name. Conditions and templates of a hook read `event`, `graph_id`, `run`, `state`, `inputs` and `step_count`, and next tos:

    after_step       node, task, attempt, result, next (a list), next_node (its first)
    error            node, task, attempt, error (as edges read it), classification.category (rate_limited, as Rye spells it)
    limit            limit_code, current_value, current_max, next
    interrupt        node (of the first question), interrupts (a list of {id, node, payload})
    graph_completed  steps, status, ended_by, output, error (the limit, where one stands)";
    HOOK_WITHOUT_EFFECT = "GH0321", "a hook has no effect",
"The hook is well formed and changes nothing: its control result means nothing at its event, its layer never controls, its event belongs to conversations \
and not to graphs, or its condition names no category of failures.

    hooks:
      - { event: after_step, action: { retry: true } }

A control result is written as the action, or returned by the item that the hook dispatches as `{action: retry, …}`:

    retry      error: the task is tried once more, up to `max_retries` (3) times
    fail       error, limit: the failure, or the limit, stands
    continue   error: as `on_error: continue` does; limit: `additional_steps` (50) more of `max_steps`
    abort      everywhere but at graph_completed: the run fails at once, whatever handles errors

All hooks of an event run: the graph's, the project's, the user's. The first control result that has an effect at the event counts; the user's hooks never control. \
Retries of a node's own policy come before error hooks; `on_item_error`, the node's `on_error` and the graph's come after them.";
    NOT_CACHED = "GH0322", "a cache is on a node whose result is not kept",
"`cache: {ttl, key}` uses the result of a tool again for later tasks that are given the same: the same item with the same bytes, params, argument, grants and engine. \
A hit dispatches nothing and charges the same fuel. Only plain results are kept: no failure, no question, no command, and nothing that took an answer. \
A node without an action has no result; what is loaded or searched is read as it is now; the result of a graph is not kept: give the nodes inside it a `cache`.

    fetch:
      action: { item_id: acme/fetch, params: { page: \"${state.page}\" } }
      cache: { ttl: 10m, key: \"${run.id}\" }

What a component reads of its activation (run, visit, superstep, attempt), its clock, its random numbers and what the world answers it do not decide which result is used: \
name in `key` what has to be the same, or leave `cache` out. The age of a result counts from the recorded time of the checkpoint that has it; a result of one superstep can be used from the next one on.";

    TEMPLATE_SYNTAX = "GH0401", "a template cannot be read",
"A `${…}` holds something that is not a template expression. An expression is a path (`state.items.0.name`), alternatives (`state.a || inputs.b || 'text'`) and pipes \
(`json`, `from_json`, `length`, `keys`, `upper`, `lower`).

    text: \"${state.count + 1}\"

There is no arithmetic: let a node compute. To write `${` as text, use `$${`.";
    TEMPLATE_ROOT = "GH0402", "a template reads something that does not exist",
"A path starts with one of the names that exist at that place: `state`, `inputs`, `node`, `run` and `argument` (of the send that activated the node) everywhere in nodes, `result` in `assign` only, and the \
`as` name in the action of a `foreach`; `inputs` and `run` in `start`; `state`, `inputs` and `run` in the graph's `output`. State keys are read through `state`.

    params: { n: \"${count}\" }

Write `${state.count}`.";
    CONDITION_SYNTAX = "GH0403", "a condition cannot be read",
"A condition is `{path, op, value}`, or `any`, `all` or `not` of conditions. `op` is one of eq, ne, gt, gte, lt, lte, in, contains, regex, exists.

    when: { path: state.n, op: equals, value: 3 }

Correct the condition; patterns of `regex` must be valid. A pattern may have 4 KiB, and 1 MiB once it is compiled; all patterns of a
document may have 8 MiB together once they are compiled, each counted with 16 KiB at least.";
    CONDITION_ROOT = "GH0404", "a condition reads something that does not exist",
"An edge's condition reads `state`, `result` or `inputs`.

    when: { path: count, op: gt, value: 3 }

Write `state.count`.";
    SCHEMA_INVALID = "GH0405", "a schema is not a JSON Schema",
"`config_schema` must be a JSON Schema, draft 2020-12. References (`$ref`) stay inside the schema: nothing is fetched.
`format: approvals`, `format: approvals-above` and, next to rules, `format: tools` mark inputs as a whole: nothing would keep to rules that are marked elsewhere.

    config_schema: { type: objekt }

Correct the schema at the marked place.";
    READS_NOTHING = "GH0406", "what is read is never written",
"A template or a condition reads a state key that no `assign`, `collect`, channel or command of the graph writes, or an input that `config_schema` does not name. It reads as null, whatever happens, \
unless a user writes to the run from outside.

    nodes:
      a: { assign: { stats: 3 }, next: b }
      b: { type: return, output: \"${state.stat}\" }

Write `${state.stats}`; where something may be missing, `${state.stat || null}`.";

    BAD_ITEM_ID = "GH0501", "not an item id",
"An item id is segments of ASCII letters, digits, `_` and `-`, joined by `/`, with a version after `@` if one is meant: `acme/fetch@1.2.0`. Anything else — `..`, a leading `/`, blanks, look-alike letters of other scripts — is refused, since ids \
become paths and are compared with what was granted.

    action: { item_id: ../secrets }

Write the item's id.";
    BAD_NODE_NAME = "GH0502", "not a node name",
"A node name is ASCII letters, digits, `_` and `-`, at most 128 of them. Look-alike letters of other scripts are refused, so that two nodes never look the same.

    nodes: { \"count files\": … }

Write `count_files`.";
    BAD_STATE_KEY = "GH0503", "not a state key",
"A state key is a part of template paths: it is not empty, has at most 128 characters, and holds no dots, brackets, blanks, `|`, `$`, braces, quotes or invisible characters.

    assign: { \"a.b\": \"${result}\" }

Write `a_b`, or assign an object to `a`.";
    BAD_VARIABLE = "GH0504", "not a variable name",
"The name under `as` is how templates call the item of a `foreach`: a letter or `_`, then letters, digits and `_`. It cannot be one of the names that templates have already: state, inputs, result, argument, node, run.

    as: state

Choose another name, for example `item`.";

    BAD_DISPATCH = "GH0601", "not a dispatch pattern",
"A dispatch pattern is `<primary>.<item_type>.<id>` with `.` for the `/` of the id: `execute.tool.acme.fetch`. `*` matches any characters, dots too, `?` for one, `[..]` for one of a set. \
Primaries are execute, search, load and sign; item types are tool, knowledge and directive. A pattern that no capability can match is refused, since it was meant to grant something.

    dispatch: [\"examples/*\"]

Write `execute.tool.examples.*`. A name without a wildcard grants that one item, not what is below it.";
    BAD_ITEM_PATTERN = "GH0602", "not a pattern of item ids",
"A key under `items` is an item id without a version, or a pattern of ids: `*` matches any characters, `/` too, `?` for one, `[..]` for one of a set.

    items: { \"acme/fetch@1.2.0\": { clocks: true } }

Write `acme/fetch`: an entry covers all versions.";
    AMBIGUOUS_ITEMS = "GH0603", "two entries are equally specific",
"Of all entries that cover an item the most specific one applies, alone: an id without wildcards comes first, then the pattern with more characters before its first wildcard, then the one with \
more literal characters in all, then the one with fewer `*`. Two entries are equal in all of that, and cover a common item.

    items:
      \"acme/?\": { clocks: true }
      \"acme/[ab]\": { random: true }

Make one of them more specific, or join them.";
    EMPTY_ENTRY = "GH0604", "an entry grants nothing",
"An entry under `items` is empty. It is not clear whether it was meant to grant nothing or was left unfinished.

    items: { \"acme/fetch\": {} }

Remove the entry. To take from one item what a wider entry grants, write `clocks: false`.";
    BAD_FOLDER = "GH0606", "a folder cannot be granted like that",
"A granted folder has a `path` on this machine, relative to the manifest or absolute, and an absolute path `as` which the component sees it. Each folder of an entry has its own `as`.

    filesystem: [{ path: ., as: src, access: ro }]

Write `as: /src`.";
    BAD_RULE = "GH0607", "a request, a secret or knowledge cannot be granted like that",
"An entry of `http` names one host and says by which schemes (https), ports (443) and methods (GET) it may be asked, and which addresses it may have in addition to public ones. An entry of `secrets` names a \
value, where it comes from, and the one header and host that it may be sent in and to. An entry of `knowledge` names what keys begin with.

    http: [{ host: api.acme.com, schemes: [https], ports: [443], methods: [GET] }]
    secrets: [{ name: ACME_TOKEN, from: { env: ACME_TOKEN }, header: authorization, host: api.acme.com }]
    knowledge: [{ scope: acme/, access: rw }]

Write hosts and headers in lower case, methods in capital letters, addresses as `127.0.0.1` or `10.0.0.0/8`.";
    IDLE_RULE = "GH0608", "nothing can be sent under a rule",
"An entry of `http` names a host of this machine or of a private network, and requests go to public addresses unless `addresses` names others; or a secret is for a host or a scheme that no entry of \
`http` next to it allows.

    http: [{ host: 127.0.0.1, schemes: [http], ports: [8080] }]
    secrets: [{ name: TOKEN, from: { env: TOKEN }, header: authorization, host: 127.0.0.1 }]

Name the address, `addresses: [127.0.0.1]`; and give secret and entry a scheme in common: both go by https alone unless `schemes` says otherwise.";
    BAD_MODEL = "GH0609", "a language model cannot be granted like that",
"An entry of `models` names a language model: the API of its provider, the provider's URL, and what the provider calls the model. An entry of `items` names those of `models` that its components may ask.

    models:
      fast: { api: openai-chat, url: https://api.example.com/v1, model: small, secret: { env: MODEL_KEY } }
    items: { \"acme/writer\": { model: [fast] } }

Names of models have letters, digits, `_` and `-`; each name in `model` is one of `models`.";

    TRUST_KEY = "GH0701", "not a usable public key",
"The trust store names an Ed25519 public key, as a PEM block (SPKI, RFC 8410) or as 64 hexadecimal digits in quotes. Private keys do \
not belong there, keys of other algorithms are not read, and keys that would accept forged signatures are refused.

    key: |
      -----BEGIN PUBLIC KEY-----
      MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
      -----END PUBLIC KEY-----";
    TRUST_PATTERN = "GH0702", "not a pattern of item ids",
"`items` in the trust store lists the items that a key may sign. Each is an item id, in which `*` matches any characters (`/` too), \
`?` for one character and `[abc]` for one of a set.

    items: [\"acme/*\", \"shared/fetch\"]

Ids consist of letters, digits, `_`, `-` and `/`. A pattern without `*` covers one item: `acme` does not cover `acme/fetch`.";
    TRUST_TWICE = "GH0703", "a trusted key is listed twice",
"Two entries of the trust store have the same name or the same key. It would not be clear which bounds hold, or which one is meant \
when one of them is revoked.

    keys:
      - { name: acme, key: \"d75a…\", items: [\"acme/*\"] }
      - { name: acme, key: \"3d40…\", items: [\"acme/*\"] }

Make one entry of them, or give the second key another name.";

    TRUST_REQUIREMENT = "GH0704", "a requirement of signatures that cannot be met",
"`require` in the trust store says how many of which keys have to sign an item, and `succeeds` which key another one follows. Both name \
keys of the same file, and a requirement cannot ask for more signatures than it names keys.

    keys:
      - { name: author, key: \"d75a…\", items: [\"acme/*\"] }
      - { name: audit, key: \"3d40…\", items: [\"acme/*\"] }
    require:
      - { items: [\"acme/pay/*\"], threshold: 2, keys: [author, audit] }

A key and those that succeed it count as one.";

    FRONT_MATTER = "GH0901", "the metadata at the top do not end",
"Knowledge and directives in Markdown have their metadata between two lines `---` at the top of the file, or in a fence of YAML there. \
Without the second line it is not known where the text begins.

    ---
    title: Signing
    tags: [trust, keys]
    ---

    # Signing

Close the metadata with a line `---`, or the fence with a line of three backticks.";
    DIRECTIVE_XML = "GH0902", "the XML of a directive cannot be read",
"A directive may have its metadata and inputs in a fence of XML. It holds one element, `directive`; every element is closed, values of \
attributes are in quotes, and `<`, `>` and `&` in texts are written `&lt;`, `&gt;` and `&amp;`. Document types are not read.

    <directive name=\"greet\" version=\"1.0.0\">
      <inputs><input name=\"who\" type=\"string\" required=\"true\">whom to greet</input></inputs>
    </directive>

Steps that are not XML belong below the fence.";
    DIRECTIVE_INPUT = "GH0903", "an input of a directive is declared in a way that cannot be read",
"Each input has a name of letters, digits, `_` and `-`, and may have a type (string, integer, number, boolean, array, object, any), \
`required`, a default of its type and a description.

    inputs:
      who: { type: string, required: true, description: whom to greet }
      times: { type: integer, default: 1 }";
    UNKNOWN_PLACEHOLDER = "GH0904", "a placeholder names no declared input",
"`{input:name}` in a directive is replaced with the input `name`. It has to be declared, so that it is checked before it is filled in; \
`{input:name?}` is the same, `{input:name:text}` and `{input:name|text}` have a text of their own for an input that is not given.

    inputs: { who: { type: string, required: true } }
    …
    Greet {input:who}.

Declare the input, or correct the name.";
    DIRECTIVE_THREAD = "GH0905", "what a directive says about its thread cannot be read",
"A directive may say how a language model carries it out: the model, limits (turns, tokens, spend, spawns, depth, and duration in seconds), \
permissions, typed outputs and hooks. A limit that cannot be read is an error, since without it more would be permitted than its author \
wanted. Everything else that cannot be read is left out with a warning.

    <model tier=\"fast\"/>
    <limits turns=\"8\" tokens=\"50000\" spend=\"0.5\"/>
    <permissions><execute><tool>acme.*</tool></execute></permissions>

In metadata that are YAML:

    model: { tier: fast }
    limits: { turns: 8, tokens: 50000, spend: 0.5 }
    permissions: [execute.tool.acme.*]
    outputs: { path: { type: string, required: true, description: where it is } }";
    LOCK_ENTRY = "GH1001", "an entry of the lockfile cannot be read",
"`graph-host.lock` says for each item that was pulled which digest it had. It is written when items are \
pulled and locked, and an entry that was changed by hand, or came out of a merge, may not hold together any more.

    tools:
      \"acme/fetch\":
        kind: component
        reference: \"oci://registry.example/acme/fetch:1.2.0\"
        version: \"1.2.0\"
        manifest: \"sha256:…\"       # the whole digest: 64 hexadecimal digits
        digest: \"sha256:…\"
        key: \"…\"

Take the entry out and pull the item again, or take the file over from where it was whole.";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sources(folder: &std::path::Path, into: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, into);
            } else if path.extension().is_some_and(|ext| ext == "rs")
                && !path.ends_with("diagnostic/codes.rs")
            {
                into.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn codes_are_unique_and_sorted() {
        for pair in ALL.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} is not before {}", pair[0].id, pair[1].id);
        }
        for code in ALL {
            assert!(code.id.len() == 6 && code.id.starts_with("GH"), "{}", code.id);
            assert!(code.explanation.len() > 80, "{} is not explained", code.id);
        }
    }

    #[test]
    fn every_code_is_used_somewhere() {
        let mut text = String::new();
        let host = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for member in std::fs::read_dir(host).unwrap() {
            let folder = member.unwrap().path().join("src");
            if folder.is_dir() {
                sources(&folder, &mut text);
            }
        }
        for (name, code) in NAMES.iter().zip(ALL) {
            assert!(text.contains(&format!("codes::{name}")), "{} ({name}) is never reported", code.id);
        }
    }

    #[test]
    fn codes_are_found_in_any_case() {
        assert_eq!(find("gh0101"), Some(YAML_SYNTAX));
        assert_eq!(find("GH9999"), None);
    }
}
