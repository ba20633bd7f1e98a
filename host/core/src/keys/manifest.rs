//! The keys of a capability manifest.

use super::shape::Shape::{Bool, Duration, Integer, List, Map, Number, Size, Table, Text, Words};
use super::table::{Key, KeyTable};

/// The shape of a manifest file.
pub static DOCUMENT: super::Shape = Table(&MANIFEST);

/// The keys of a capability manifest.
pub static MANIFEST: KeyTable = KeyTable {
    name: "manifest",
    title: "a manifest",
    keys: &[
        Key::new("version", Integer(1, 1), "The version of the format").or("`1`"),
        Key::new(
            "dispatch",
            List(&Text("a dispatch pattern")),
            "What a run may dispatch. An empty list, like no list, permits nothing. At most 1,000 patterns, each of at most 512 bytes",
        )
        .or("`[]`"),
        Key::new(
            "items",
            Map("item patterns", &Table(&ITEM)),
            "What components may use. Only the most specific pattern that matches an item applies. At most 1,000 entries, whose patterns have at most 256 bytes each; and each list in an entry, that of its models excepted, has at most 1,000 elements",
        )
        .blank(),
        Key::new(
            "models",
            Map("names", &Table(&MODEL)),
            "Language models: where the host reaches them, and what they cost. Entries of `items` name those that they may ask",
        )
        .blank(),
        Key::new("limits", Table(&TASK_LIMITS), "Limits of each task"),
        Key::new(
            "run",
            Table(&RUN_LIMITS),
            "Limits of a whole run, its child runs included. When one is used up, the run ends as `limit` (exit code 7)",
        ),
    ],
};

/// The grant of an item.
pub static ITEM: KeyTable = KeyTable {
    name: "item",
    title: "an entry of items",
    keys: &[
        Key::new("filesystem", List(&Table(&MOUNT)), "Folders that the component sees"),
        Key::new("http", List(&Table(&HTTP)), "Hosts that it may send requests to"),
        Key::new(
            "secrets",
            List(&Table(&SECRET)),
            "Secrets that the host puts into headers; the component never sees them",
        ),
        Key::new("knowledge", List(&Table(&KNOWLEDGE)), "Scopes of the project's knowledge store"),
        Key::new("clocks", Bool, "The virtual clock: the recorded time of the superstep").or("`false`"),
        Key::new("random", Bool, "Random numbers, drawn from the seed of the run").or("`false`"),
        Key::new("tools", Bool, "Calls of other items, which `dispatch` has to permit as well").or("`false`"),
        Key::new("model", List(&Text("a name")), "The language models of `models` that it may ask"),
        Key::new(
            "unsandboxed",
            Bool,
            "Allows an embedding program to perform the item itself, without a component",
        )
        .or("`false`"),
        Key::new(
            "limits",
            Table(&TASK_LIMITS),
            "Limits of its tasks; a key that is left out has the value of the manifest's `limits`",
        ),
    ],
};

/// The keys of a granted folder.
pub static MOUNT: KeyTable = KeyTable {
    name: "filesystem",
    title: "a folder",
    keys: &[
        Key::new("path", Text("a path"), "The folder, relative to the manifest's own").required(),
        Key::new("as", Text("an absolute path"), "Where the component sees it, such as `/src`").required(),
        Key::new("access", Words(&["ro", "rw"]), "Whether it may write").or("`ro`"),
    ],
};

/// A host to which requests may be sent.
pub static HTTP: KeyTable = KeyTable {
    name: "http",
    title: "a host for requests",
    keys: &[
        Key::new("host", Text("a host name or an address"), "The host, in lower case, without wildcards")
            .required(),
        Key::new("schemes", List(&Words(&["https", "http"])), "The schemes").or("`[https]`"),
        Key::new("ports", List(&Integer(1, 65_535)), "The ports").or("those of the schemes"),
        Key::new("methods", List(&Text("a method")), "The methods, in capital letters").or("`[GET]`"),
        Key::new(
            "addresses",
            List(&Text("an address or a range")),
            "Addresses of this machine or of private networks that the host may have; all others of those are refused",
        ),
    ],
};

/// The keys of a granted secret.
pub static SECRET: KeyTable = KeyTable {
    name: "secret",
    title: "a secret",
    keys: &[
        Key::new("name", Text("a name"), "What the component calls it").required(),
        Key::new("from", Table(&SECRET_SOURCE), "Where the host reads it").required(),
        Key::new("header", Text("a header"), "The header that it may be put into, in lower case").required(),
        Key::new("host", Text("a host"), "The host that it may be sent to").required(),
        Key::new("schemes", List(&Words(&["https", "http"])), "The schemes by which it may be sent")
            .or("`[https]`"),
    ],
};

/// The source of a secret.
pub static SECRET_SOURCE: KeyTable = KeyTable {
    name: "secret_source",
    title: "the source of a secret",
    keys: &[
        Key::new("env", Text("a name"), "An environment variable. Either this or `file`"),
        Key::new("file", Text("a path"), "A file, relative to the manifest"),
    ],
};

/// A language model.
pub static MODEL: KeyTable = KeyTable {
    name: "model",
    title: "a language model",
    keys: &[
        Key::new("api", Words(&["openai-chat", "openai-responses", "anthropic"]), "The protocol of its provider").required(),
        Key::new(
            "url",
            Text("a URL"),
            "Where the provider is, up to the API's own path, such as `https://api.openai.com/v1`",
        )
        .required(),
        Key::new("model", Text("a name"), "What the provider calls the model").required(),
        Key::new("secret", Table(&SECRET_SOURCE), "Where the host reads the provider's key; components never see it"),
        Key::new("price", Table(&MODEL_PRICE), "What it costs, in any currency, for a million tokens").or("nothing"),
        Key::new("timeout", Duration, "How long one request may take").or("`2m`"),
        Key::new("max_output", Integer(1, 1_048_576), "The most tokens of an answer").or("`4096`"),
        Key::new(
            "media_tokens",
            Integer(0, 1_048_576),
            "How many tokens a file in a request counts as at most. Without it, requests with files are refused",
        ),
        Key::new(
            "attempts",
            Integer(1, 10),
            "How often a request is sent at most, while the provider answers that it may work later. Each one is a call",
        )
        .or("`3`"),
        Key::new("stream", Bool, "Whether answers are streamed, so that tokens can be shown as they arrive")
            .or("`true`"),
        Key::new(
            "max_tokens_key",
            Words(&["max_completion_tokens", "max_tokens"]),
            "How a server of the API `openai-chat` calls the most tokens of an answer",
        )
        .or("`max_completion_tokens`"),
        Key::new(
            "encrypted_reasoning",
            Bool,
            "Whether a provider of the API `openai-responses` is asked for reasoning in its encrypted form, which the rest of the \
             conversation sends back. Models that do not reason refuse requests that ask for it",
        )
        .or("`true`"),
        Key::new(
            "addresses",
            List(&Text("an address or a range")),
            "Addresses of this machine or of private networks that the provider may have; all others of those are refused",
        ),
    ],
};

/// The price of a language model.
pub static MODEL_PRICE: KeyTable = KeyTable {
    name: "price",
    title: "the price of a language model",
    keys: &[
        Key::new("input", Number(0.0, 1e12), "A million tokens of requests").or("`0`"),
        Key::new("output", Number(0.0, 1e12), "A million tokens of answers").or("`0`"),
        Key::new("cached", Number(0.0, 1e12), "A million tokens that the provider reads from its cache")
            .or("that of `input`"),
        Key::new("cache_write", Number(0.0, 1e12), "A million tokens that the provider writes to its cache")
            .or("that of `input`"),
    ],
};

/// Budgets of a task's use of language models. The host sets aside the largest possible use of a request before it is sent: one token for
/// each byte of the request, and the largest number of tokens of an answer.
pub static TASK_MODEL: KeyTable = KeyTable {
    name: "model_limits",
    title: "limits of a task's use of models",
    keys: &[
        Key::new("calls", Integer(0, u64::MAX), "Requests, those that fail included").or("`50`"),
        Key::new("input_tokens", Integer(0, u64::MAX), "Tokens of requests").or("`2000000`"),
        Key::new("output_tokens", Integer(0, u64::MAX), "Tokens of answers").or("`200000`"),
        Key::new("cost", Number(0.0, 1e12), "What they cost, by the prices of `models`").or("no limit"),
        Key::new(
            "when_used_up",
            Words(&["fail", "finish", "ask"]),
            "What happens once a request does not fit any more: the task fails, one call and a quarter of each other figure \
             were kept for a last request without tools, or the task asks for more",
        )
        .or("`fail`"),
    ],
};

/// Budgets of a run's use of language models.
pub static RUN_MODEL: KeyTable = KeyTable {
    name: "run_model_limits",
    title: "limits of a run's use of models",
    keys: &[
        Key::new("calls", Integer(0, u64::MAX), "Requests, those that fail included").or("`1000`"),
        Key::new("input_tokens", Integer(0, u64::MAX), "Tokens of requests").or("`20000000`"),
        Key::new("output_tokens", Integer(0, u64::MAX), "Tokens of answers").or("`2000000`"),
        Key::new("cost", Number(0.0, 1e12), "What they cost, by the prices of `models`").or("no limit"),
        Key::new(
            "when_used_up",
            Words(&["fail", "ask"]),
            "What happens once a request does not fit any more: the run ends as `limit`, or the task that made the request asks \
             for more",
        )
        .or("`fail`"),
    ],
};

/// A scope of knowledge.
pub static KNOWLEDGE: KeyTable = KeyTable {
    name: "knowledge",
    title: "a scope of knowledge",
    keys: &[
        Key::new("scope", Text("a scope"), "The beginning of all keys, such as `acme/notes/`").required(),
        Key::new("access", Words(&["ro", "rw"]), "Whether it may write").or("`ro`"),
    ],
};

/// Limits of a task.
pub static TASK_LIMITS: KeyTable = KeyTable {
    name: "limits",
    title: "limits of a task",
    keys: &[
        Key::new("fuel", Integer(1, u64::MAX), "WebAssembly fuel of one attempt").or("`1000000000`"),
        Key::new("memory", Size, "Linear memory, all memories of the component together").or("`64MiB`"),
        Key::new("timeout", Duration, "The time that one attempt may take").or("`10s`"),
        Key::new("output", Size, "The JSON text of the result").or("`1MiB`"),
        Key::new("log", Size, "Log lines and custom events").or("`64KiB`"),
        Key::new(
            "calls",
            Integer(0, u64::MAX),
            "Calls of the host that reach outside: files, requests, knowledge, other items",
        )
        .or("`10000`"),
        Key::new("bytes", Size, "What those calls send and receive").or("`16MiB`"),
        Key::new("written", Size, "What is written to files").or("`64MiB`"),
        Key::new("requests", Integer(0, u64::MAX), "HTTP requests").or("`100`"),
        Key::new("request_body", Size, "The body of one request").or("`1MiB`"),
        Key::new("response_body", Size, "The body of one response").or("`4MiB`"),
        Key::new("model", Table(&TASK_MODEL), "Language models"),
    ],
};

/// Limits of a run.
pub static RUN_LIMITS: KeyTable = KeyTable {
    name: "run_limits",
    title: "limits of a run",
    keys: &[
        Key::new(
            "fuel",
            Integer(1, u64::MAX),
            "Fuel of all components and of the host's own work for the graph",
        )
        .or("`100000000000`"),
        Key::new(
            "timeout",
            Duration,
            "The time that the run may take. Time in which it waits for an answer does not count",
        )
        .or("`600s`"),
        Key::new("depth", Integer(0, 64), "How many levels of child graphs there may be").or("`5`"),
        Key::new("calls", Integer(0, u64::MAX), "Calls of the host of all tasks").or("`10000000`"),
        Key::new("bytes", Size, "What those calls send and receive").or("`4GiB`"),
        Key::new(
            "steps",
            Integer(1, u64::MAX),
            "Supersteps of the run and its child runs, whatever their graphs say",
        )
        .or("`100000`"),
        Key::new(
            "state",
            Size,
            "What all channels hold: 64 bytes for each value and each key, and their texts",
        )
        .or("`64MiB`"),
        Key::new(
            "results",
            Size,
            "What the tasks of one superstep are given and return, measured in the same way",
        )
        .or("`256MiB`"),
        Key::new("stored", Size, "Records, journals, events and knowledge that are written for the run")
            .or("`4GiB`"),
        Key::new("model", Table(&RUN_MODEL), "Language models, of all tasks together"),
    ],
};
