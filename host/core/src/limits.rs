//! The limits of tasks and runs.

mod figure;
mod model;
mod node;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use figure::LARGEST_FIGURE;
pub(crate) use model::cost_of;
pub use model::smaller_floor;
pub use model::{ModelFigure, ModelUse, read_cost, written_cost};
pub use node::{ModelLimits, NodeLimits};

/// The limits of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// WebAssembly fuel for one attempt.
    pub fuel: u64,
    /// Linear memory of all memories of the component together, in bytes.
    pub memory: u64,
    /// Wall time of one attempt.
    #[serde(with = "millis")]
    pub timeout: Duration,
    /// The length of the outcome's JSON text, in bytes.
    pub output: u64,
    /// Bytes of log lines and custom events.
    pub log: u64,
    /// Calls of the host that depend on the outside world: each has an entry in the task's journal.
    #[serde(default = "default_calls")]
    pub calls: u64,
    /// The texts of all requests and results in the journal of one attempt, in bytes.
    #[serde(default = "default_bytes")]
    pub bytes: u64,
    /// Bytes that may be written to files.
    #[serde(default = "default_written")]
    pub written: u64,
    /// Number of HTTP requests.
    #[serde(default = "default_requests")]
    pub requests: u64,
    /// Body of an HTTP request, in bytes.
    #[serde(default = "default_request_body")]
    pub request_body: u64,
    /// Body of an HTTP response, in bytes.
    #[serde(default = "default_response_body")]
    pub response_body: u64,
    /// Calls of language models.
    #[serde(default = "default_model", skip_serializing_if = "is_default_model")]
    pub model: ModelUse,
    /// Part of `model` that is reserved for a last request without tools; `None` if the task fails once a figure is used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_floor: Option<ModelUse>,
    /// `true` if the task asks for more of a used-up figure of `model` instead of failing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_asks: bool,
    /// The part of `model` that answers have added.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub model_added: ModelUse,
    /// The figures of `model` that come from `limits` of nodes in graphs; the others are unbounded here. A request that exceeds one of
    /// these fails, and the component may continue without it.
    #[serde(default = "unbounded_model", skip_serializing_if = "is_unbounded_model")]
    pub model_of_nodes: ModelUse,
}

const fn unbounded_model() -> ModelUse {
    ModelUse::UNBOUNDED
}

fn is_unbounded_model(model: &ModelUse) -> bool {
    *model == ModelUse::UNBOUNDED
}

const fn default_model() -> ModelUse {
    ModelUse::OF_TASK
}

fn is_default_model(model: &ModelUse) -> bool {
    *model == ModelUse::OF_TASK
}

const fn default_calls() -> u64 {
    TaskLimits::DEFAULT.calls
}

const fn default_bytes() -> u64 {
    TaskLimits::DEFAULT.bytes
}

const fn default_written() -> u64 {
    TaskLimits::DEFAULT.written
}

const fn default_requests() -> u64 {
    TaskLimits::DEFAULT.requests
}

const fn default_request_body() -> u64 {
    TaskLimits::DEFAULT.request_body
}

const fn default_response_body() -> u64 {
    TaskLimits::DEFAULT.response_body
}

impl TaskLimits {
    /// The limits that apply unless the manifest or the graph sets others.
    pub const DEFAULT: Self = Self {
        fuel: 1_000_000_000,
        memory: 64 << 20,
        timeout: Duration::from_secs(10),
        output: 1 << 20,
        log: 64 << 10,
        calls: 10_000,
        bytes: 16 << 20,
        written: 64 << 20,
        requests: 100,
        request_body: 1 << 20,
        response_body: 4 << 20,
        model: ModelUse::OF_TASK,
        model_floor: None,
        model_asks: false,
        model_added: ModelUse::NOTHING,
        model_of_nodes: ModelUse::UNBOUNDED,
    };

    /// No bound at all.
    pub const UNBOUNDED: Self = Self {
        fuel: u64::MAX,
        memory: u64::MAX,
        timeout: Duration::MAX,
        output: u64::MAX,
        log: u64::MAX,
        calls: u64::MAX,
        bytes: u64::MAX,
        written: u64::MAX,
        requests: u64::MAX,
        request_body: u64::MAX,
        response_body: u64::MAX,
        model: ModelUse::UNBOUNDED,
        model_floor: None,
        model_asks: false,
        model_added: ModelUse::NOTHING,
        model_of_nodes: ModelUse::UNBOUNDED,
    };

    /// Returns the task's limits on its use of the host.
    pub const fn host(&self) -> HostUse {
        HostUse { calls: self.calls, bytes: self.bytes, model: self.model, ..HostUse::NOTHING }
    }

    /// Returns these limits, with `model` raised by an amount that answers have added.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn with_added(self, added: ModelUse) -> Self {
        Self { model: self.model.raised(added), model_added: self.model_added.plus(added), ..self }
    }

    /// Returns the smaller limit of each kind. An amount that answers have added to one raises the other as well.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn min(self, other: Self) -> Self {
        Self {
            fuel: self.fuel.min(other.fuel),
            memory: self.memory.min(other.memory),
            timeout: self.timeout.min(other.timeout),
            output: self.output.min(other.output),
            log: self.log.min(other.log),
            calls: self.calls.min(other.calls),
            bytes: self.bytes.min(other.bytes),
            written: self.written.min(other.written),
            requests: self.requests.min(other.requests),
            request_body: self.request_body.min(other.request_body),
            response_body: self.response_body.min(other.response_body),
            model: self.model.raised(other.model_added).min(other.model.raised(self.model_added)),
            model_floor: match (self.model_floor, other.model_floor) {
                (Some(one), Some(two)) => Some(smaller_floor((self.model, one), (other.model, two))),
                (one, two) => one.or(two),
            },
            model_asks: self.model_asks || other.model_asks,
            model_added: self.model_added.plus(other.model_added),
            model_of_nodes: self.model_of_nodes.min(other.model_of_nodes),
        }
    }
}

/// Reads limits that the author of a component states. They can only lower the manifest's limits. The fields that belong to the host
/// (`model_asks`, `model_added`, `model_of_nodes`) are refused.
pub(crate) fn stated<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TaskLimits>, D::Error> {
    let limits = Option::<TaskLimits>::deserialize(deserializer)?;
    let is_of_host = |limits: TaskLimits| {
        limits.model_asks || !limits.model_added.is_nothing() || limits.model_of_nodes != ModelUse::UNBOUNDED
    };
    if limits.is_some_and(is_of_host) {
        let message =
            "`model_asks`, `model_added` and `model_of_nodes` are not among the limits of a statement";
        return Err(serde::de::Error::custom(message));
    }
    Ok(limits)
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The limits of a whole run, children included. Exceeding one ends the run as `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// WebAssembly fuel and fuel of the host's own work ([`work`](crate::work)), together.
    pub fuel: u64,
    /// Wall time, suspension not counted.
    #[serde(with = "millis")]
    pub timeout: Duration,
    /// Largest number of levels of child runs below the run.
    #[serde(default = "default_depth")]
    pub depth: u32,
    /// Calls of the host that depend on the outside world, of all tasks together.
    #[serde(default = "default_run_calls", skip_serializing_if = "is_default_run_calls")]
    pub calls: u64,
    /// Bytes of the requests and answers of those calls, as in the journals.
    #[serde(default = "default_run_bytes", skip_serializing_if = "is_default_run_bytes")]
    pub bytes: u64,
    /// Supersteps of the run and of its child runs together, whatever their graphs say.
    #[serde(default = "default_steps", skip_serializing_if = "is_default_steps")]
    pub steps: u64,
    /// Size of all channels, as measured by [`size`](crate::work::size).
    #[serde(default = "default_state", skip_serializing_if = "is_default_state")]
    pub state: u64,
    /// The memory of the items and results of one superstep's tasks, measured in the same way.
    #[serde(default = "default_results", skip_serializing_if = "is_default_results")]
    pub results: u64,
    /// Records, journals, events and values that are written for the run, in logical bytes: the same for every store and
    /// durability mode.
    #[serde(default = "default_stored", skip_serializing_if = "is_default_stored")]
    pub stored: u64,
    /// Calls of language models, of all tasks together.
    #[serde(default = "default_run_model", skip_serializing_if = "is_default_run_model")]
    pub model: ModelUse,
    /// `true` if a task that needs more of a used-up figure of `model` asks for it instead of ending the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_asks: bool,
    /// For a child run: the figures of `model` that come from `limits` of the nodes around it; the others are unbounded here.
    #[serde(default = "unbounded_model", skip_serializing_if = "is_unbounded_model")]
    pub model_of_nodes: ModelUse,
    /// For a child run: `model` of the root run when the child was started, for questions about it.
    #[serde(default = "unbounded_model", skip_serializing_if = "is_unbounded_model")]
    pub model_of_root: ModelUse,
}

const fn default_run_model() -> ModelUse {
    ModelUse::OF_RUN
}

fn is_default_run_model(model: &ModelUse) -> bool {
    *model == ModelUse::OF_RUN
}

const fn default_run_calls() -> u64 {
    RunLimits::DEFAULT.calls
}

const fn default_run_bytes() -> u64 {
    RunLimits::DEFAULT.bytes
}

// The text of a manifest does not contain defaults.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_run_calls(calls: &u64) -> bool {
    *calls == RunLimits::DEFAULT.calls
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_run_bytes(bytes: &u64) -> bool {
    *bytes == RunLimits::DEFAULT.bytes
}

const fn default_steps() -> u64 {
    RunLimits::DEFAULT.steps
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_steps(steps: &u64) -> bool {
    *steps == RunLimits::DEFAULT.steps
}

const fn default_state() -> u64 {
    RunLimits::DEFAULT.state
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_state(state: &u64) -> bool {
    *state == RunLimits::DEFAULT.state
}

const fn default_results() -> u64 {
    RunLimits::DEFAULT.results
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_results(results: &u64) -> bool {
    *results == RunLimits::DEFAULT.results
}

const fn default_stored() -> u64 {
    RunLimits::DEFAULT.stored
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_stored(stored: &u64) -> bool {
    *stored == RunLimits::DEFAULT.stored
}

const fn default_depth() -> u32 {
    RunLimits::DEFAULT.depth
}

impl RunLimits {
    /// The limits that apply unless the manifest sets others.
    pub const DEFAULT: Self = Self {
        fuel: 100_000_000_000,
        timeout: Duration::from_mins(10),
        depth: 5,
        calls: 10_000_000,
        bytes: 4 << 30,
        steps: 100_000,
        state: 64 << 20,
        results: 256 << 20,
        stored: 4 << 30,
        model: ModelUse::OF_RUN,
        model_asks: false,
        model_of_nodes: ModelUse::UNBOUNDED,
        model_of_root: ModelUse::UNBOUNDED,
    };

    /// Returns the run's limits on its use of the host. Fuel is not among them: the host's and the components' fuel share one
    /// budget.
    pub const fn host(&self) -> HostUse {
        HostUse { calls: self.calls, bytes: self.bytes, fuel: 0, stored: self.stored, model: self.model }
    }
}

/// An amount of use of the host: calls that depend on the outside world, their requests and answers, the host's own work, and stored bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostUse {
    /// Number of calls, those of called components included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Requests and results in the journal, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Fuel of the host's own work: see [`work`](crate::work).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fuel: u64,
    /// Logical bytes stored: see [`RunLimits::stored`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stored: u64,
    /// Calls of language models.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub model: ModelUse,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl HostUse {
    /// No use of the host.
    pub const NOTHING: Self = Self { calls: 0, bytes: 0, fuel: 0, stored: 0, model: ModelUse::NOTHING };

    /// Checks whether nothing was used.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub const fn is_nothing(&self) -> bool {
        self.calls == 0 && self.bytes == 0 && self.fuel == 0 && self.stored == 0 && self.model.is_nothing()
    }

    #[cfg_attr(not(target_family = "wasm"), inline)]
    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64 + Copy) -> Self {
        Self {
            calls: of(self.calls, other.calls),
            bytes: of(self.bytes, other.bytes),
            fuel: of(self.fuel, other.fuel),
            stored: of(self.stored, other.stored),
            model: self.model.each(other.model, of),
        }
    }

    /// Returns the sum, each figure at most [`LARGEST_FIGURE`]. A figure of `u64::MAX`, which means no limit, is kept.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, figure::sum)
    }

    /// Returns a used amount as it is stored: each figure at most [`LARGEST_FIGURE`].
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn counted(self) -> Self {
        self.each(self, |figure, _| figure::counted(figure))
    }

    /// Returns the difference, at least zero in each figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn less(self, other: Self) -> Self {
        Self { model: self.model.less(other.model), ..self.each(other, u64::saturating_sub) }
    }

    /// Returns the smaller of each figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn min(self, other: Self) -> Self {
        self.each(other, u64::min)
    }

    /// Returns the larger of each figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn max(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// Returns these limits multiplied by `count`; they saturate.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn times(self, count: u64) -> Self {
        self.each(self, |of, _| of.saturating_mul(count))
    }

    /// Returns one of `count` equal shares; `count` is not 0. A figure of language models without a limit has none in its shares.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn share(self, count: u64) -> Self {
        let of_models = |of: u64, _| if of == u64::MAX { of } else { of / count.max(1) };
        Self { model: self.model.each(self.model, of_models), ..self.each(self, |of, _| of / count.max(1)) }
    }
}

/// A budget of a run. Once it is used up, the run ends as `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// [`RunLimits::fuel`].
    Fuel,
    /// [`RunLimits::calls`].
    Calls,
    /// [`RunLimits::bytes`].
    Bytes,
    /// [`RunLimits::steps`].
    Steps,
    /// [`RunLimits::state`].
    State,
    /// [`RunLimits::results`].
    Results,
    /// [`RunLimits::stored`].
    Stored,
    /// [`ModelUse::calls`] of [`RunLimits::model`].
    ModelCalls,
    /// [`ModelUse::input`] of [`RunLimits::model`].
    ModelInputTokens,
    /// [`ModelUse::output`] of [`RunLimits::model`].
    ModelOutputTokens,
    /// [`ModelUse::cost`] of [`RunLimits::model`], in millionths.
    ModelCost,
    /// The largest cost of one step of the host's own work, [`rates::STEP`](crate::work::rates::STEP). It cannot be raised.
    Work,
}

impl Budget {
    /// Returns the key under `run:` in a manifest, with a dot between nested keys; [`Work`](Self::Work) has no key there.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fuel => "fuel",
            Self::Calls => "calls",
            Self::Bytes => "bytes",
            Self::Steps => "steps",
            Self::State => "state",
            Self::Results => "results",
            Self::Stored => "stored",
            Self::ModelCalls => "model.calls",
            Self::ModelInputTokens => "model.input_tokens",
            Self::ModelOutputTokens => "model.output_tokens",
            Self::ModelCost => "model.cost",
            Self::Work => "work",
        }
    }

    /// Returns the unit of an amount for messages: `supersteps`, or `superstep` if it is 1.
    pub const fn unit(self, amount: u64) -> &'static str {
        if let Some(figure) = self.figure() {
            return figure.unit(amount);
        }
        match (self, amount) {
            (Self::Fuel | Self::Work, _) => "fuel",
            (Self::Calls, 1) => "call",
            (Self::Calls, _) => "calls",
            (Self::Steps, 1) => "superstep",
            (Self::Steps, _) => "supersteps",
            (_, 1) => "byte",
            _ => "bytes",
        }
    }

    /// Returns the figure of models that the budget limits.
    pub const fn figure(self) -> Option<ModelFigure> {
        match self {
            Self::ModelCalls => Some(ModelFigure::Calls),
            Self::ModelInputTokens => Some(ModelFigure::InputTokens),
            Self::ModelOutputTokens => Some(ModelFigure::OutputTokens),
            Self::ModelCost => Some(ModelFigure::Cost),
            _ => None,
        }
    }

    /// Returns an amount of the budget as a manifest writes it.
    pub fn written(self, amount: u64) -> String {
        self.figure().map_or_else(|| amount.to_string(), |figure| figure.written(amount))
    }

    /// Returns the line of a manifest that sets the budget to an amount; `work` has none.
    pub fn line(self, amount: u64) -> String {
        let amount = self.written(amount);
        match self.figure() {
            Some(figure) => format!("run: {{ model: {{ {}: {amount} }} }}", figure.key()),
            None => format!("run: {{ {}: {amount} }}", self.as_str()),
        }
    }

    /// Returns the budget's amount in these limits.
    pub const fn of(self, limits: &RunLimits) -> u64 {
        match self {
            Self::Fuel => limits.fuel,
            Self::Calls => limits.calls,
            Self::Bytes => limits.bytes,
            Self::Steps => limits.steps,
            Self::State => limits.state,
            Self::Results => limits.results,
            Self::Stored => limits.stored,
            Self::ModelCalls => limits.model.calls,
            Self::ModelInputTokens => limits.model.input,
            Self::ModelOutputTokens => limits.model.output,
            Self::ModelCost => limits.model.cost,
            Self::Work => crate::work::rates::STEP,
        }
    }
}

impl From<ModelFigure> for Budget {
    fn from(figure: ModelFigure) -> Self {
        match figure {
            ModelFigure::Calls => Self::ModelCalls,
            ModelFigure::InputTokens => Self::ModelInputTokens,
            ModelFigure::OutputTokens => Self::ModelOutputTokens,
            ModelFigure::Cost => Self::ModelCost,
        }
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Durations in records: whole milliseconds.
pub mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes whole milliseconds.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads whole milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_to_limits_raises_a_grant() {
        let of = |calls| ModelUse { calls, ..ModelUse::UNBOUNDED };
        let grant = TaskLimits { model: of(5), ..TaskLimits::DEFAULT };
        let raised = grant.with_added(ModelFigure::Calls.amount(3));
        assert_eq!((raised.model, raised.model_added.calls), (of(8), 3));
        // The raised budget has four calls left.
        let task = TaskLimits { model: of(4), ..raised };
        assert_eq!(task.min(grant).model, of(4));
        assert_eq!(raised.min(grant).model, of(8));
        assert_eq!(grant.min(raised).model, of(8));
        assert_eq!(TaskLimits::UNBOUNDED.min(raised).min(grant).model, of(8));
        let smaller = TaskLimits { model: of(1), ..grant };
        assert_eq!(raised.min(smaller).model, of(4));
    }
}
