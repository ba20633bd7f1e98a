//! Which rules a graph follows.

/// The rules that a graph follows where hosts differ. Each point in which they do is a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The language of this host.
    #[default]
    GraphHost,
    /// That of Rye's state graph runtime.
    Rye,
}

impl Dialect {
    /// The values of `executor_id`, each with its dialect.
    pub const EXECUTORS: [(&'static str, Self); 3] = [
        ("graph-host", Self::GraphHost),
        ("rye/core/runtimes/state_graph_runtime", Self::Rye),
        ("rye/core/runtimes/state-graph/runtime", Self::Rye),
    ];

    /// The dialect of an `executor_id`.
    pub fn of_executor(executor: &str) -> Option<Self> {
        Self::EXECUTORS.into_iter().find(|(known, _)| *known == executor).map(|(_, dialect)| dialect)
    }

    /// The `executor_id` that selects it.
    pub const fn executor(self) -> &'static str {
        match self {
            Self::GraphHost => Self::EXECUTORS[0].0,
            Self::Rye => Self::EXECUTORS[1].0,
        }
    }

    /// Whether the assigns of a node see each other, in their order.
    pub const fn assigns_in_order(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether the result of a node that runs a graph is an envelope around the graph's state, not the graph's output.
    pub const fn wraps_nested_results(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether `collect` takes the `thread_id` of a result that has one.
    pub const fn collects_thread_ids(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether a `foreach` continues after an element that failed, and its list has the result that says so, where its node says nothing else
    /// of failures.
    pub const fn collects_failures(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether hooks read failures in Rye's shapes: `error`, `classification`, and a `step_count` that counts the step under
    /// way. `state._last_error` follows.
    pub const fn tells_failures_as_rye(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether `resume` and `graph_run_id` among the inputs continue a run.
    pub const fn resumes_by_graph_run_id(self) -> bool {
        matches!(self, Self::Rye)
    }

    /// Whether the state item of a run is written at every step, whatever store keeps the run.
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
