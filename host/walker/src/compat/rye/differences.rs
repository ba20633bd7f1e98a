//! Differences of Rye's dialect, for people.

use crate::compat::Dialect;

/// A point in which the dialects differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Subject of the difference.
    pub point: &'static str,
    /// Behaviour in Rye's dialect.
    pub rye: &'static str,
    /// Behaviour in the dialect of graph-host.
    pub graph_host: &'static str,
}

/// All differences. Everything else is the same in both dialects.
pub const DIFFERENCES: [Difference; 10] = [
    Difference {
        point: "the result of a node that runs a graph",
        rye: "`{success, state, steps, status}`, and `output` where the dispatched graph declares one",
        graph_host: "the output of the child run",
    },
    Difference {
        point: "`collect` of a `foreach`",
        rye: "takes the `thread_id` of each result that has one",
        graph_host: "takes each result whole",
    },
    Difference {
        point: "an element of a `foreach` that fails, where the node has neither `on_item_error` nor `on_error`",
        rye: "has its result that says so, or `{status: error, error}`, in the list, and the others continue",
        graph_host: "fails the node",
    },
    Difference {
        point: "`directive_id` and `limit_overrides.duration_seconds` of rye/agent/threads/thread_directive",
        rye: "are taken for `directive_name` and `limit_overrides.duration`",
        graph_host: "are refused: a node writes `directive_name` and `duration`",
    },
    Difference {
        point: "the `assign` of a node",
        rye: "is carried out in its order: an expression reads what an earlier one has written",
        graph_host: "reads the state before the node, and is written together",
    },
    Difference {
        point: "`state._last_error`",
        rye: "`{node, error}`",
        graph_host: "`{node, error, category}`",
    },
    Difference {
        point: "`error` hooks",
        rye: "`step_count` counts the step under way; `error` has every key of the result that said it failed; \
              `classification` has Rye's categories (transient, rate_limited, permanent, cancelled), and a result that says it \
              failed is classified by its text",
        graph_host: "`step_count` counts the steps that have committed; `classification.category` is the category of the \
                     failure",
    },
    Difference {
        point: "built-in hooks",
        rye: "default_retry_transient, default_fail_permanent, default_abort_cancelled and default_escalate_limit are asked \
              after the hooks of the project, one of which replaces a built-in hook by having its `id`",
        graph_host: "none",
    },
    Difference {
        point: "`resume: true` with `graph_run_id: ID` among the inputs",
        rye: "continues that run, as `resume_run_id: ID` does in both dialects",
        graph_host: "is refused, since it would start a new run; inputs of these names that `config_schema` lists are the graph's own",
    },
    Difference {
        point: "the state item of a run, .ai/knowledge/graphs/GRAPH/RUN.md",
        rye: "is written at every step, whatever store keeps the run",
        graph_host: "is written where its start asks for it, and by the store in files",
    },
];

/// Explains in a sentence how a document selects its dialect.
pub fn selection() -> String {
    format!(
        "A graph document selects its dialect with `executor_id`: `{}` selects Rye's, `{}` that of graph-host, which also \
         holds where there is no `executor_id`.",
        Dialect::Rye.executor(),
        Dialect::GraphHost.executor()
    )
}
