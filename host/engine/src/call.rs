//! One call of a node: a fresh instance, metered and bounded.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graph_core::limits::TaskLimits;
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::record::{JournalDifference, JournalEntry, LogLine};
use graph_core::time::Timestamp;
use graph_core::wit_value::charged;
use graph_core::work::Meter;
use serde_json::Value;
use wasmtime::component::Val;
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::ComponentPre;
use crate::classify::classify;
use crate::convert::{self, ActivationText};
use crate::engine::EngineInner;
use crate::functions::FunctionEntry;
use crate::host::output::{EventRecord, Output, OutputObserver};
use crate::journal::{Journal, SharedJournal};
use crate::limiter::LimitReached;
use crate::prepare::{EntryPoint, PreparedNode};
use crate::services::Services;
use crate::state::TaskState;
use crate::task_budget::TaskBudget;

/// Largest number of bytes that a component may pass to the host in one host call, or return, in addition to its output limit.
const HOST_CALL_BYTES: usize = 4 << 20;
/// Largest number of resource handles of one instance.
const MAX_COMPONENT_HANDLES: usize = 1024;

/// The arguments of a call.
pub struct Call<'a> {
    /// The data about its task that the node can read.
    pub activation: &'a Activation,
    /// The params, templates evaluated. Owned params are dropped once their text is created.
    pub params: Cow<'a, Value>,
    /// The seed of its random numbers: a digest over the run's seed, the superstep and the task.
    pub seed: [u8; 32],
    /// The time of its clock: the superstep's recorded time.
    pub clock: Timestamp,
    /// The limits.
    pub limits: TaskLimits,
    /// Receives log lines and events as they are written.
    pub observer: Option<Arc<dyn OutputObserver>>,
    /// The source of the answers to its calls of the host.
    pub journal: Journal,
    /// The services of the host that the engine does not provide.
    pub services: Services,
    /// Number of enclosing calls of components: 0 for a task's own component.
    pub depth: u32,
}

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classification {
    /// The component returned an outcome, or a failure of its own.
    Returned,
    /// The component trapped, or violated the rules of the component model.
    Trap,
    /// The component used up its fuel.
    Fuel,
    /// The component asked for more memory, or a larger table, than permitted.
    Memory,
    /// The component used up its stack.
    Stack,
    /// The component ran past its deadline.
    Deadline,
    /// The answer is not valid JSON, or too long.
    InvalidResult,
    /// The component exceeded a limit of a host interface: log bytes, random bytes, handles.
    HostLimit,
    /// The deadline passed while the host waited for the outside world on the component's behalf.
    HostTimeout,
    /// A figure of its budget of language models does not suffice.
    ModelBudget,
    /// A replayed call differs from its journal.
    Difference,
}

impl Classification {
    /// Returns the name in records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Trap => "trap",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Stack => "stack",
            Self::Deadline => "deadline",
            Self::InvalidResult => "invalid result",
            Self::HostLimit => "host limit",
            Self::HostTimeout => "host timeout",
            Self::ModelBudget => "model budget",
            Self::Difference => "difference",
        }
    }
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The outcome, or the failure: the node's own, or one that describes the end of the call.
    pub result: Result<Outcome, Failure>,
    /// Fuel used by `run`, counted from after instantiation; the whole budget if it did not return, except if the host waited for the
    /// outside world too long ([`Classification::HostTimeout`]), or if the call asks for more of a used-up budget of models
    /// ([`Classification::ModelBudget`]).
    pub fuel_used: u64,
    /// Fuel of the host's own work: converting values of its types, as far as it exceeds the cost of the params and the answer themselves.
    /// 0 if the call ended at its deadline, since its progress is unknown.
    pub work: u64,
    /// The kind of the end: a return, a trap or a limit.
    pub classification: Classification,
    /// The component's log lines, in order.
    pub logs: Vec<LogLine>,
    /// The component's events, in order.
    pub events: Vec<EventRecord>,
    /// The component's calls of the host and their answers, in order; empty if a journal answered.
    pub journal: Vec<JournalEntry>,
    /// The difference of a replayed call from its journal. The result is then a failure about it.
    pub difference: Option<JournalDifference>,
}

impl PreparedNode {
    /// Calls the node's `run` in a fresh instance. It waits while as many calls are active as the engine allows; the deadline counts from
    /// after that. Dropping the future ends the call within some milliseconds.
    pub async fn call(&self, call: Call<'_>) -> CallReport {
        let limits = call.limits;
        if let Some(report) = given_up(&call.journal, &limits) {
            return report;
        }
        // Only the passed text of owned params stays in memory while the component runs.
        let params = call.params;
        let meter = Meter::of_one_step();
        let mut work = 0;
        let prepared = match &self.inner.entry {
            EntryPoint::Action(pre) => PreparedCall::Action(pre, convert::text(&params)),
            EntryPoint::Function(function) => {
                let arguments = function.arguments(&params, &meter);
                work = charged(meter.spent(), &params);
                match arguments {
                    Ok(arguments) => PreparedCall::Function(function, arguments),
                    Err(failure) => return refused(failure, work),
                }
            }
        };
        drop(params);

        let engine = &self.inner.engine;
        // A nested call uses the slot of the outermost one: if it had to wait for a slot, it could wait for itself.
        let _permit = if call.depth == 0 { engine.slot().await } else { None };
        let _active = engine.ticker.enter();
        let output = Output::new(limits.log, call.observer);
        let budget = TaskBudget::new(&limits, call.services.meter.clone());
        let journal = SharedJournal::new(call.journal, &limits, budget);
        let granted = Arc::clone(&self.inner.granted);
        let mut store = new_store(engine, &limits, |deadline| {
            let journal = journal.clone();
            let state = TaskState::new(&limits, call.clock, call.seed, granted, output, journal, deadline);
            let caller = match &call.services.model {
                Some(_) => (call.activation.idempotency_key.clone(), call.activation.attempt),
                None => (String::new(), 0),
            };
            TaskState { depth: call.depth, services: call.services, caller, ..state }
        });

        let returned = prepared.call(&mut store, call.activation, &limits, meter.left()).await;

        let left = store.get_fuel().unwrap_or(0);
        let state = store.into_data();
        let (mut classification, mut result, fuel_used) = match returned {
            Ok((classification, result, written)) => {
                work = work.saturating_add(written);
                (classification, result, limits.fuel.saturating_sub(left))
            }
            Err(error) => {
                let (classification, failure) = classify(&error);
                // Waiting takes time and no fuel, and an attempt that asks for more of a budget of models starts again. Any other end is
                // charged in full: a manifest may be changed after it, and with it the budget that the component reads in a replay.
                let is_known = match classification {
                    Classification::HostTimeout => true,
                    Classification::ModelBudget => limits.model_asks,
                    _ => false,
                };
                let used = if is_known { limits.fuel.saturating_sub(left) } else { limits.fuel };
                (classification, Err(failure), used)
            }
        };
        let (mut journal, difference) = journal.finish();
        if let (Classification::Deadline, Err(failure)) = (classification, &result) {
            journal.push(JournalEntry::deadline(failure));
            work = 0;
        }
        if let Some(difference) = &difference {
            classification = Classification::Difference;
            result = Err(Failure::new(Category::Internal, difference.to_string()));
        }
        let (logs, events) = state.output.finish();
        CallReport { result, fuel_used, work, classification, logs, events, journal, difference }
    }
}

/// The entry point of a call, and its arguments.
enum PreparedCall<'n> {
    Action(&'n ComponentPre<TaskState>, String),
    Function(&'n FunctionEntry, Vec<Val>),
}

impl PreparedCall<'_> {
    /// Calls in a fresh instance. `left` limits the cost of the host's work for the answer; the charge for it is returned with the answer.
    async fn call(
        self,
        store: &mut Store<TaskState>,
        activation: &Activation,
        limits: &TaskLimits,
        left: u64,
    ) -> wasmtime::Result<(Classification, Result<Outcome, Failure>, u64)> {
        match self {
            Self::Action(pre, params) => {
                let text = ActivationText::new(activation);
                let answers = text.answers();
                let node = pre.instantiate_async(&mut *store).await?;
                store.set_fuel(limits.fuel)?;
                let activation = text.with(activation, &answers);
                let answer = node.graph_host_node_action().call_run(store, activation, &params).await?;
                // The component has a copy, and its answer may be as large.
                drop(params);
                let (classification, answer) = convert::answer(answer, limits.output);
                Ok((classification, answer, 0))
            }
            Self::Function(function, arguments) => {
                let value = function.call(store, limits.fuel, &arguments).await?;
                drop(arguments);
                let meter = Meter::new(left);
                let (classification, answer) = function.answer(value, limits.output, &meter);
                let written = match &answer {
                    Ok(Outcome::Result(answer)) => charged(meter.spent(), answer),
                    _ => charged(meter.spent(), &Value::Null),
                };
                Ok((classification, answer, written))
            }
        }
    }
}

/// Creates the report of a call whose params were refused before anything was executed.
fn refused(failure: Failure, work: u64) -> CallReport {
    CallReport {
        result: Err(failure),
        fuel_used: 0,
        work,
        classification: Classification::Returned,
        logs: Vec::new(),
        events: Vec::new(),
        journal: Vec::new(),
        difference: None,
    }
}

/// Returns the recorded outcome of an attempt that the host ended at its deadline, whose progress is unknown.
fn given_up(journal: &Journal, limits: &TaskLimits) -> Option<CallReport> {
    let Journal::Replay(entries) = journal else { return None };
    let failure = entries.last()?.as_deadline()?;
    Some(CallReport {
        result: Err(failure),
        fuel_used: limits.fuel,
        work: 0,
        classification: Classification::Deadline,
        logs: Vec::new(),
        events: Vec::new(),
        journal: Vec::new(),
        difference: None,
    })
}

/// Creates a store with all limits of a call. Its fuel is that of the call: instantiation may use as much, and the call then starts with
/// the full amount.
pub(crate) fn new_store(
    engine: &EngineInner,
    limits: &TaskLimits,
    state: impl FnOnce(Instant) -> TaskState,
) -> Store<TaskState> {
    let now = Instant::now();
    let deadline =
        now.checked_add(limits.timeout).unwrap_or_else(|| now + Duration::from_secs(u64::from(u32::MAX)));
    let timeout = limits.timeout;
    let mut store = Store::new(&engine.wasmtime, state(deadline));
    store.limiter(|state| &mut state.limiter);
    // The engine's configuration meters fuel, so this cannot fail; otherwise the call has none and ends at once.
    let _ = store.set_fuel(limits.fuel);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |context| {
        if Instant::now() >= context.data().deadline {
            let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            return Err(LimitReached::Deadline { milliseconds }.into());
        }
        Ok(UpdateDeadline::Yield(1))
    });
    let output = usize::try_from(limits.output).unwrap_or(usize::MAX);
    store.set_hostcall_fuel(output.saturating_add(HOST_CALL_BYTES));
    store.set_max_component_handles(MAX_COMPONENT_HANDLES);
    store
}
