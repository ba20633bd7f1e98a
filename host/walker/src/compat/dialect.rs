//! Dialects of graph documents.

/// The rules that a graph follows where hosts differ. Each difference is a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The language of this host.
    #[default]
    GraphHost,
    /// The language of Rye's state graph runtime.
    Rye,
}

impl Dialect {
    /// The values of `executor_id`, each with its dialect.
    pub const EXECUTORS: [(&'static str, Self); 3] = [
        ("graph-host", Self::GraphHost),
        ("rye/core/runtimes/state_graph_runtime", Self::Rye),
        ("rye/core/runtimes/state-graph/runtime", Self::Rye),
    ];

    /// Returns the dialect of an `executor_id`; `None` if it is unknown.
    pub fn of_executor(executor: &str) -> Option<Self> {
        Self::EXECUTORS.into_iter().find(|(known, _)| *known == executor).map(|(_, dialect)| dialect)
    }

    /// Returns the `executor_id` that selects the dialect.
    pub const fn executor(self) -> &'static str {
        match self {
            Self::GraphHost => Self::EXECUTORS[0].0,
            Self::Rye => Self::EXECUTORS[1].0,
        }
    }

    /// `true` if later assignments of a node read the values of earlier ones.
    pub const fn assigns_in_order(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if the result of a node that runs a graph is an envelope around the graph's state, not the graph's output.
    pub const fn wraps_nested_results(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if `collect` takes the `thread_id` of a result that has one.
    pub const fn collects_thread_ids(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if a `foreach` without a policy for failures continues after an element that failed, and its list
    /// contains the failed result.
    pub const fn collects_failures(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if hooks read failures in Rye's shapes: `error`, `classification`, and a `step_count` that includes the
    /// active step. The same holds for `state._last_error`.
    pub const fn tells_failures_as_rye(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if `resume` and `graph_run_id` among the inputs continue a run.
    pub const fn resumes_by_graph_run_id(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// `true` if the state item of a run is written at every step, whatever the store.
    pub const fn writes_state_item(self) -> bool {
        matches!(self, Self::Rye)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executor_of_a_dialect_selects_it() {
        for (executor, dialect) in Dialect::EXECUTORS {
            assert_eq!(Dialect::of_executor(executor), Some(dialect));
            assert_eq!(Dialect::of_executor(dialect.executor()), Some(dialect));
        }
        assert_eq!(Dialect::of_executor("rye/core/runtimes/python"), None);
    }
}
