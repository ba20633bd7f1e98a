//! Limits that stop runs.

use graph_core::limits::Budget;
use graph_core::record::{RunError, StopLimit};

/// The limit that `additional_steps` extends.
const MAX_STEPS: &str = "max_steps_exceeded";

/// The limit that has stopped a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppingLimit {
    /// A budget of the manifest, which a larger one raises.
    Budget,
    /// The host's own work for one step, which nothing raises.
    Work,
    /// The time of the run, its supersteps, or the deadline of a question.
    Run(StopLimit),
    /// A limit of the graph, such as `max_fan_out`.
    OfGraph,
}

impl StoppingLimit {
    /// Returns the limit that caused the error of a run.
    pub const fn of(error: &RunError) -> Self {
        match (error.budget, error.limit) {
            (Some(Budget::Work), _) => Self::Work,
            (Some(_), _) => Self::Budget,
            (None, Some(limit)) => Self::Run(limit),
            (None, None) => Self::OfGraph,
        }
    }
}

/// The limit that a run has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walker) enum LimitCode {
    MaxSteps,
    MaxTotalSteps,
    MaxVisits,
    MaxFanOut,
    Timeout,
    Budget(Budget),
}

impl LimitCode {
    /// The name that hooks read.
    pub(in crate::walker) const fn as_str(self) -> &'static str {
        match self {
            Self::MaxSteps => MAX_STEPS,
            Self::MaxTotalSteps => "max_total_steps_exceeded",
            Self::MaxVisits => "max_visits_exceeded",
            Self::MaxFanOut => "max_fan_out_exceeded",
            Self::Timeout => "timeout_exceeded",
            Self::Budget(Budget::Fuel) => "fuel_exceeded",
            Self::Budget(Budget::Calls) => "calls_exceeded",
            Self::Budget(Budget::Bytes) => "bytes_exceeded",
            Self::Budget(Budget::Steps) => "steps_exceeded",
            Self::Budget(Budget::State) => "state_exceeded",
            Self::Budget(Budget::Results) => "results_exceeded",
            Self::Budget(Budget::Stored) => "stored_exceeded",
            Self::Budget(Budget::Work) => "work_exceeded",
            Self::Budget(Budget::ModelCalls) => "model_calls_exceeded",
            Self::Budget(Budget::ModelInputTokens) => "model_input_tokens_exceeded",
            Self::Budget(Budget::ModelOutputTokens) => "model_output_tokens_exceeded",
            Self::Budget(Budget::ModelCost) => "model_cost_exceeded",
        }
    }
}
