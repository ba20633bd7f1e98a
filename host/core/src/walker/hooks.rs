//! Hooks: which of them are due, and how they are gone through one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::budget::budget_of;
use super::commit::keep_warnings;
use super::event::{Effect, Notice, PersistId, TaskReport, TaskSpec};
use super::hook_context::HookContext;
use super::hook_verdict::{Stop, Verdict};
use super::machine::illegal;
use super::permits::lower;
use super::setup::HandleError;
use super::superstep::{Dispatch, Superstep};
use super::tasks::short_of;
use crate::graph::{Action, Durability, ItemType, NodeIndex, Primary};
use crate::hook::{Control, Hook, HookAction, HookEvent, is_control_item};
use crate::limits::{Budget, HostUse, TaskLimits};
use crate::node::{Activation, Category, Failure, Outcome};
use crate::record::{
    Canonical, HookRecord, HookSummary, JournalEntry, PlannedAction, PlannedHook, Record, StatusRecord,
};
use crate::template::TemplateError;
use crate::time::Timestamp;
use crate::work::rates::STEP;
use crate::work::{Exhausted, Meter};

/// A hook's dispatch, for the driver to perform. It is answered with [`Event::HookDone`](super::Event::HookDone).
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// What has happened.
    pub event: HookEvent,
    /// The hook's name.
    pub hook: String,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// The dispatch. Its `activation.task` is the call's id, by which it is answered; its node means nothing: what the
    /// item is granted goes by the hook.
    pub call: TaskSpec,
}

/// What a walker knows of its hooks.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// Fuel of the hooks that were asked about the run since the newest boundary.
    pub(super) fuel: u64,
    /// As much of it as was used when the run was last taken up, and by hooks that were asked since: what tasks are set
    /// aside follows from this, so that a crash while hooks are asked changes none of it.
    pub(super) counted: u64,
    /// What those hooks used of the host.
    pub(super) host: HostUse,
    /// As much of that as counts for what tasks are set aside.
    pub(super) counted_host: HostUse,
    /// What is due at the newest boundary.
    pub(super) planned: Vec<PlannedHook>,
    /// The hooks of the newest boundary have had their say.
    pub(super) passed: bool,
    /// How often the run has gone on from a failure or a limit since the newest boundary.
    pub(super) resumes: u32,
    /// What hooks have come to since the newest boundary, by call.
    pub(super) results: BTreeMap<String, HookRecord>,
    /// What hooks have come to that no checkpoint tells of.
    pub(super) unwritten: Vec<HookSummary>,
    /// The total of `max_steps`, where hooks have extended it.
    pub(super) max_steps: Option<u64>,
    /// What the run waits for as a whole.
    pub(super) queue: Option<Queue>,
    /// Why the run is about to stop, while hooks are asked about that.
    pub(super) stop: Option<Stop>,
    /// What a failed task waits for, by task.
    pub(super) tasks: BTreeMap<Arc<str>, Queue>,
    /// How many warnings the run had at the newest boundary.
    pub(super) warned: usize,
    /// Calls that were given up.
    aborted: BTreeSet<String>,
    /// The newest record of a hook that was handed out to be persisted.
    pub(super) handed_out: Option<PersistId>,
}

/// Hooks that are asked one after the other.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) planned: Vec<PlannedHook>,
    at: usize,
    running: Option<String>,
}

impl Queue {
    pub(super) fn new(planned: Vec<PlannedHook>) -> Self {
        Self { planned, at: 0, running: None }
    }
}

/// `limit` hooks may use this part of the run's fuel, one in so many, also when the run has none left.
const LAST_PART: u64 = 100;

/// What a hook comes to that cannot be worked out.
fn not_worked_out(exhausted: Exhausted) -> PlannedAction {
    let message = format!("its condition or params could not be worked out: {exhausted}");
    PlannedAction::Fail {
        budget: Some(budget_of(exhausted)),
        failure: Failure::new(Category::Limit, message),
    }
}

/// Whom hooks are asked about.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// The run.
    Run,
    /// A task that has failed.
    Task(Arc<str>),
}

impl Walker {
    pub(super) fn hooks_at(&self, event: HookEvent) -> impl Iterator<Item = &Hook> {
        self.graph.hooks.iter().chain(self.setup.hooks.iter()).filter(move |hook| hook.event == event)
    }

    /// Whether any hook is asked when that happens.
    pub(super) fn has_hooks(&self, event: HookEvent) -> bool {
        self.hooks_at(event).next().is_some()
    }

    /// The hooks that are due, layer by layer and in document order, with their templates filled in.
    pub(super) fn plan_hooks(
        &self,
        event: HookEvent,
        place: &str,
        context: &HookContext,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Vec<PlannedHook> {
        let scope = self.hook_scope(context);
        let mut planned = Vec::new();
        for hook in self.hooks_at(event) {
            let mut raised = Vec::new();
            let holds = hook.condition.evaluate(&scope, &mut raised, meter);
            let action = match &hook.action {
                _ if holds == Ok(false) => None,
                _ if let Err(exhausted) = holds => Some(not_worked_out(exhausted)),
                HookAction::Nothing => None,
                HookAction::Control(control) => {
                    hook.layer.controls().then_some(PlannedAction::Control { control: *control })
                }
                HookAction::Item(action) => Some(self.fill(action, &scope, &mut raised, meter)),
            };
            for warning in raised {
                let warning = format!("hook `{}`: {warning}", hook.name);
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            let Some(action) = action else { continue };
            let layer = hook.layer.number();
            planned.push(PlannedHook {
                action,
                call: format!("{place}/{layer}:{}", hook.name),
                event,
                hook: hook.name.clone(),
                layer,
                required: hook.required,
            });
        }
        planned
    }

    fn fill(
        &self,
        action: &Action,
        scope: &crate::template::Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> PlannedAction {
        let mut missing = Vec::new();
        let mode = self.graph.templates;
        let filled = action.item_id.evaluate(scope, mode, &mut missing, meter).and_then(|id| {
            let params = action.params.evaluate(scope, mode, &mut missing, meter)?;
            Ok((id, params))
        });
        warnings.extend(missing.into_iter().map(|path| format!("`{path}` is missing and read as null")));
        let invalid = |message: String| PlannedAction::Fail {
            budget: None,
            failure: Failure::new(Category::InvalidInput, message),
        };
        match filled {
            Ok((Value::String(item_id), params)) => PlannedAction::Run {
                item_id,
                item_type: action.item_type,
                params: Canonical::from(params),
                primary: action.primary,
            },
            Ok((other, _)) => {
                invalid(format!("`item_id` must be a string, and is {}", super::reduce::kind(&other)))
            }
            Err(TemplateError::Exhausted(exhausted)) => not_worked_out(exhausted),
            Err(error) => invalid(error.to_string()),
        }
    }

    /// Asks the hooks of a subject from where they stand, up to the first that has to be waited for.
    pub(super) fn ask(&mut self, subject: &Subject, now: Timestamp, fx: &mut Vec<Effect>) {
        loop {
            let queue = match subject {
                Subject::Run => self.hooks.queue.as_ref(),
                Subject::Task(task) => self.hooks.tasks.get(task),
            };
            let Some(queue) = queue else { return };
            let Some(planned) = queue.planned.get(queue.at).cloned() else { break };
            let known =
                self.hooks.results.get(&planned.call).filter(|known| self.still_holds(known)).cloned();
            let record = match known {
                Some(known) => known,
                None => match self.dispatch_hook(subject, &planned, now) {
                    Ok(spec) => {
                        fx.push(Effect::RunHook(spec));
                        if let Some(queue) = self.queue_of(subject) {
                            queue.running = Some(planned.call);
                        }
                        return;
                    }
                    Err(record) => {
                        self.tell_of_hook(&record, fx);
                        self.hooks.results.insert(planned.call, (*record).clone());
                        *record
                    }
                },
            };
            self.take_result(subject, &record);
            if let Some(queue) = self.queue_of(subject) {
                queue.at += 1;
            }
        }
        let queue = match subject {
            Subject::Run => self.hooks.queue.take(),
            Subject::Task(task) => self.hooks.tasks.remove(task),
        };
        let planned = queue.map(|queue| queue.planned).unwrap_or_default();
        let verdict = self.verdict(&planned);
        self.follow_verdict(subject, verdict, now, fx);
    }

    fn queue_of(&mut self, subject: &Subject) -> Option<&mut Queue> {
        match subject {
            Subject::Run => self.hooks.queue.as_mut(),
            Subject::Task(task) => self.hooks.tasks.get_mut(task),
        }
    }

    /// Whether what a hook has come to still counts. A limit that is reached again after a resume is another one, and a
    /// hook that has to succeed is asked again.
    fn still_holds(&self, known: &HookRecord) -> bool {
        known.resumes == self.hooks.resumes
            || !(known.event == HookEvent::Limit || (known.required && known.failure.is_some()))
    }

    /// What the driver is to do for a hook, or what it comes to without a driver.
    fn dispatch_hook(
        &self,
        subject: &Subject,
        planned: &PlannedHook,
        now: Timestamp,
    ) -> Result<Box<HookSpec>, Box<HookRecord>> {
        let failed =
            |failure: Failure| Err(Box::new(self.hook_record(subject, planned, Err(failure), 0, now)));
        let exhausted = |budget: Option<Budget>, failure: Failure| {
            Err(Box::new(HookRecord { budget, ..self.hook_record(subject, planned, Err(failure), 0, now) }))
        };
        let (primary, item_type, item_id, params) = match &planned.action {
            PlannedAction::Control { control } => {
                let answer = Ok((Value::Null, Some(*control)));
                return Err(Box::new(self.hook_record(subject, planned, answer, 0, now)));
            }
            PlannedAction::Fail { budget, failure } => return exhausted(*budget, failure.clone()),
            PlannedAction::Run { primary, item_type, item_id, params } => {
                (*primary, *item_type, item_id, params)
            }
        };
        if is_control_item(primary, item_type, item_id) {
            let answer = self.answer_of_hook(planned, Ok(Outcome::Result(Value::clone(&params.0))));
            return Err(Box::new(self.hook_record(subject, planned, answer, 0, now)));
        }
        let is_graph = primary == Primary::Execute
            && item_type == ItemType::Tool
            && super::tree::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph {
            let message = format!("`{item_id}` is a graph, and a hook runs no graph");
            return failed(Failure::new(Category::Permanent, message));
        }
        let dispatch = match self.may_dispatch(primary, item_type, item_id) {
            Ok(()) => Dispatch {
                primary,
                item_type,
                item_id: item_id.as_str().into(),
                limits: lower(
                    self.setup.manifest.limits_for(item_id),
                    &self.graph.limits,
                    &self.graph.limits,
                ),
                is_graph: false,
            },
            Err(failure) => return failed(failure),
        };
        let mut left = self.fuel_for_hook(subject);
        if planned.event == HookEvent::Limit {
            // Where it is the fuel that is used up, those who ask to be told have to have some.
            left = left.max(self.budgets().fuel / LAST_PART);
        }
        let fuel = dispatch.limits.fuel.min(left);
        if fuel == 0 {
            let (_, error) = self.used_up(Budget::Fuel, self.spent(), None);
            return exhausted(Some(Budget::Fuel), Failure::new(Category::Limit, error.message));
        }
        let HostUse { calls, bytes, .. } = dispatch.limits.host().min(self.host_for_hook(subject));
        let limits = TaskLimits { fuel, calls, bytes, ..dispatch.limits };
        Ok(Box::new(self.hook_spec(planned, &dispatch, Value::clone(&params.0), limits)))
    }

    fn hook_spec(
        &self,
        planned: &PlannedHook,
        dispatch: &Dispatch,
        params: Value,
        limits: TaskLimits,
    ) -> HookSpec {
        let identity = &self.setup.identity;
        let activation = Activation {
            run_id: identity.run.clone(),
            root_run_id: identity.root.clone(),
            parent_run_id: identity.parent.clone(),
            graph_id: self.graph.id.clone(),
            node_id: format!("hook:{}", planned.hook),
            superstep: self.superstep.as_ref().map_or(self.step, |superstep| superstep.number),
            task: planned.call.clone(),
            attempt: 1,
            visit: 1,
            argument: None,
            answers: Vec::new(),
            idempotency_key: self.digests.idempotency_key(&planned.call),
        };
        let call = TaskSpec {
            graph: Arc::clone(&self.graph),
            manifest: Arc::clone(&self.setup.manifest),
            path: self.path_of(&activation.node_id),
            node: NodeIndex(0),
            primary: dispatch.primary,
            item_type: dispatch.item_type,
            item_id: dispatch.item_id.to_string(),
            params,
            activation,
            limits,
            clock: self.at,
            seed: self.digests.seed(&planned.call),
        };
        HookSpec { event: planned.event, hook: planned.hook.clone(), layer: planned.layer, call }
    }

    /// How much fuel a hook may use. One that is asked about a failed task uses what was set aside for that task, so
    /// that it does not depend on which task fails first.
    fn fuel_for_hook(&self, subject: &Subject) -> u64 {
        match subject {
            Subject::Task(task) => {
                let Some(superstep) = &self.superstep else { return 0 };
                superstep.find(task).map_or(0, |at| {
                    let task = &superstep.tasks[at];
                    task.reserved.min(task.components)
                })
            }
            Subject::Run => {
                let under_way = self.superstep.as_ref().map_or(0, Superstep::spent);
                let left =
                    self.pending.0.values().map(|task| task.used.fuel.saturating_add(task.used.host.fuel));
                let spent = left.fold(under_way, u64::saturating_add);
                let left = self.budgets().fuel.saturating_sub(self.spent().saturating_add(spent));
                let components = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
                let components =
                    components.map(|task| task.used.fuel).fold(self.fuel_so_far(), u64::saturating_add);
                let components = components.saturating_add(self.pending.fuel());
                left.min(self.fuel_share.map_or(u64::MAX, |share| share.saturating_sub(components)))
            }
        }
    }

    /// What a hook may use of the host, in the same way.
    fn host_for_hook(&self, subject: &Subject) -> HostUse {
        match subject {
            Subject::Task(task) => {
                let Some(superstep) = &self.superstep else { return HostUse::default() };
                superstep.find(task).map_or(HostUse::default(), |at| superstep.tasks[at].reserved_host)
            }
            Subject::Run => {
                let under_way = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
                let under_way = under_way.map(|task| task.used.host);
                let spent = under_way.fold(self.host_so_far().plus(self.pending.host()), HostUse::plus);
                self.setup.manifest.run_limits().host().less(spent)
            }
        }
    }

    /// Whether a call of a hook is under way, or was given up and is yet to be told.
    pub(super) fn awaits_hook(&self, call: &str) -> bool {
        let waits = |queue: &Queue| queue.running.as_deref() == Some(call);
        self.hooks.aborted.contains(call)
            || self.hooks.queue.as_ref().is_some_and(waits)
            || self.hooks.tasks.values().any(waits)
    }

    /// A hook has come to something.
    pub(super) fn hook_done(
        &mut self,
        now: Timestamp,
        call: &str,
        report: TaskReport,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.hooks.aborted.remove(call) {
            return Ok(());
        }
        let waits = |queue: &Queue| queue.running.as_deref() == Some(call);
        let subject = if self.hooks.queue.as_ref().is_some_and(waits) {
            Subject::Run
        } else {
            let found =
                self.hooks.tasks.iter().find(|(_, queue)| waits(queue)).map(|(task, _)| Arc::clone(task));
            Subject::Task(found.ok_or_else(|| illegal("no hook with that id is running"))?)
        };
        let Some(queue) = self.queue_of(&subject) else { return Ok(()) };
        queue.running = None;
        let planned = queue.planned[queue.at].clone();
        let TaskReport { result, fuel, work, warnings, journal, .. } = report;
        let is_limit = result.as_ref().is_err_and(|failure: &Failure| failure.category == Category::Limit);
        let budget =
            if is_limit { self.budget_that_stopped(&subject, &planned, fuel, work, &journal) } else { None };
        let answer = self.answer_of_hook(&planned, result);
        let mut record = self.hook_record(&subject, &planned, answer, fuel, now);
        record.budget = budget;
        record.host = HostUse { fuel: work, ..JournalEntry::used_by(&journal) };
        record.host_total = record.host_total.plus(record.host);
        record.dispatches += 1;
        record.warnings = warnings;
        self.tell_of_hook(&record, fx);
        let stored = self.last.is_some() && self.unwritten.is_none();
        if stored && (self.setup.durability != Durability::Exit || self.end.is_some()) {
            self.hooks.handed_out = Some(self.persist(Record::Hook(record.clone()), fx));
        }
        self.hooks.results.insert(planned.call, record);
        self.ask(&subject, now, fx);
        self.start_ready(now, fx);
        Ok(())
    }

    /// The budget of the run that is the reason why a hook's item reached a limit, if one is. `used`, `work` and `journal`
    /// tell what the call has used.
    fn budget_that_stopped(
        &self,
        subject: &Subject,
        planned: &PlannedHook,
        used: u64,
        work: u64,
        journal: &[JournalEntry],
    ) -> Option<Budget> {
        if work >= STEP {
            return Some(Budget::Work);
        }
        let PlannedAction::Run { item_id, .. } = &planned.action else { return None };
        let own = lower(self.setup.manifest.limits_for(item_id), &self.graph.limits, &self.graph.limits);
        let (fuel, host) = (self.fuel_for_hook(subject), self.host_for_hook(subject));
        let refused = journal.last().is_some_and(JournalEntry::is_refused);
        short_of(&own, fuel, host, used, JournalEntry::used_by(journal), refused)
    }

    /// What a hook's item has answered, and how the run goes on from that.
    #[allow(clippy::unused_self, reason = "as everything that is decided about a run")]
    fn answer_of_hook(
        &self,
        planned: &PlannedHook,
        result: Result<Outcome, Failure>,
    ) -> Result<(Value, Option<Control>), Failure> {
        let value = match result.and_then(super::rye::unwrap)? {
            Outcome::Result(value) => value,
            Outcome::Command { .. } => {
                let message = "it answered with a command, and a hook can neither write nor route";
                return Err(Failure::new(Category::Permanent, message));
            }
            Outcome::Interrupt(_) => {
                let message = "it asks a question, and nobody answers a hook";
                return Err(Failure::new(Category::Permanent, message));
            }
        };
        let control = if planned.layer == crate::hook::HookLayer::Infra.number() {
            None
        } else {
            Control::read(&value).map_err(|reason| Failure::new(Category::InvalidInput, reason))?
        };
        Ok((value, control))
    }

    fn hook_record(
        &self,
        subject: &Subject,
        planned: &PlannedHook,
        answer: Result<(Value, Option<Control>), Failure>,
        fuel: u64,
        now: Timestamp,
    ) -> HookRecord {
        let (so_far, host_so_far) = match subject {
            Subject::Run => (self.fuel_so_far(), self.host_so_far()),
            Subject::Task(task) => self
                .superstep
                .as_ref()
                .and_then(|superstep| Some(superstep.tasks[superstep.find(task)?].used))
                .map_or((0, HostUse::default()), |used| (used.fuel, used.host)),
        };
        let ((result, control), failure) = match answer {
            Ok(answer) => (answer, None),
            Err(failure) => ((Value::Null, None), Some(failure)),
        };
        let item = match &planned.action {
            PlannedAction::Run { item_id, .. } => Some(item_id.clone()),
            PlannedAction::Control { .. } | PlannedAction::Fail { .. } => None,
        };
        let (checkpoint, sequence) = self.under();
        HookRecord {
            at: now,
            budget: None,
            call: planned.call.clone(),
            checkpoint,
            control,
            dispatches: self.hooks.results.get(&planned.call).map_or(0, |known| known.dispatches),
            event: planned.event,
            failure,
            fuel,
            fuel_total: so_far.saturating_add(fuel),
            host: HostUse::default(),
            host_total: host_so_far,
            hook: planned.hook.clone(),
            item,
            layer: planned.layer,
            namespace: self.setup.identity.namespace.clone(),
            required: planned.required,
            result: Canonical::from(result),
            resumes: self.hooks.resumes,
            run: self.setup.identity.record_run().to_owned(),
            sequence,
            warnings: Vec::new(),
        }
    }

    /// Counts what a hook has come to, now or before a crash.
    fn take_result(&mut self, subject: &Subject, record: &HookRecord) {
        let named = record.failure.as_ref().map(|failure| {
            format!(
                "hook `{}` ({}) failed ({}): {}",
                record.hook, record.event, failure.category, failure.message
            )
        });
        let raised: Vec<String> = record
            .warnings
            .iter()
            .map(|warning| format!("hook `{}`: {warning}", record.hook))
            .chain(named)
            .collect();
        match subject {
            Subject::Run => {
                let used = record.fuel_total.saturating_sub(self.fuel);
                self.hooks.fuel = self.hooks.fuel.max(used);
                self.hooks.counted = self.hooks.counted.max(used);
                let used = record.host_total.less(self.host);
                self.hooks.host = self.hooks.host.max(used);
                self.hooks.counted_host = self.hooks.counted_host.max(used);
                for warning in raised {
                    self.warn_once(warning);
                }
            }
            Subject::Task(task) => {
                let Some(superstep) = &mut self.superstep else { return };
                let Some(at) = superstep.find(task) else { return };
                let task = &mut superstep.tasks[at];
                let more = record.fuel_total.saturating_sub(task.used.fuel);
                task.used.fuel += more;
                task.components = task.components.saturating_sub(more);
                task.reserved = task.reserved.saturating_sub(more);
                let more = record.host_total.less(task.used.host);
                task.used.host = task.used.host.plus(more);
                task.reserved_host = task.reserved_host.less(more);
                for warning in raised {
                    if !task.warnings.contains(&warning) {
                        task.warnings.push(warning);
                    }
                }
            }
        }
    }

    /// A warning about the run, told once for each boundary: what is asked again after a crash says the same again.
    pub(super) fn warn_once(&mut self, warning: String) {
        let since = self.warnings.get(self.hooks.warned..).unwrap_or_default();
        if !since.contains(&warning) {
            keep_warnings(&mut self.warnings, [warning]);
        }
    }

    #[allow(clippy::unused_self, reason = "as everything that is told of a run")]
    fn tell_of_hook(&self, record: &HookRecord, fx: &mut Vec<Effect>) {
        fx.push(Effect::Emit(Notice::HookFinished(Box::new(HookSummary::of(record)))));
    }

    fn verdict(&self, planned: &[PlannedHook]) -> Verdict {
        let results = planned.iter().filter_map(|hook| self.hooks.results.get(&hook.call));
        Verdict::of(results)
    }

    /// Gives up on every hook that is running.
    pub(super) fn abort_hooks(&mut self, fx: &mut Vec<Effect>) {
        let tasks = std::mem::take(&mut self.hooks.tasks).into_values();
        for queue in self.hooks.queue.take().into_iter().chain(tasks) {
            if let Some(hook) = queue.running {
                fx.push(Effect::AbortHook { hook: hook.as_str().into() });
                self.hooks.aborted.insert(hook);
            }
        }
        self.hooks.stop = None;
    }

    /// Fuel of everything that has committed, and of the hooks that were asked about the run since.
    pub(super) const fn fuel_so_far(&self) -> u64 {
        self.fuel.saturating_add(self.hooks.fuel)
    }

    /// What has been used of the host by everything that has committed, and by the hooks that were asked about the run since.
    pub(super) fn host_so_far(&self) -> HostUse {
        self.host.plus(self.hooks.host)
    }

    /// At a new boundary: what has come to something is history.
    pub(super) fn begin_boundary_of_hooks(&mut self) {
        (self.fuel, self.host) = (self.fuel_so_far(), self.host_so_far());
        (self.hooks.fuel, self.hooks.counted) = (0, 0);
        (self.hooks.host, self.hooks.counted_host) = (HostUse::default(), HostUse::default());
        let results = std::mem::take(&mut self.hooks.results);
        self.hooks.unwritten.extend(results.values().map(HookSummary::of));
        self.hooks.planned.clear();
        self.hooks.passed = false;
        self.hooks.resumes = 0;
        self.hooks.warned = self.warnings.len();
    }

    /// What hooks have come to stays known where the run goes back: it is history, and its fuel is spent.
    pub(super) fn carry_hooks(&mut self, of: &Self) {
        self.hooks = Hooks {
            fuel: of.hooks.fuel,
            counted: of.hooks.counted,
            host: of.hooks.host,
            counted_host: of.hooks.counted_host,
            results: of.hooks.results.clone(),
            unwritten: of.hooks.unwritten.clone(),
            max_steps: of.hooks.max_steps,
            warned: self.warnings.len(),
            ..Hooks::default()
        };
    }

    /// What was persisted of hooks.
    pub(super) fn restore_hooks(
        &mut self,
        planned: Vec<PlannedHook>,
        results: Vec<HookRecord>,
        max_steps: Option<u64>,
        status: Option<&StatusRecord>,
    ) {
        let of_run = results.iter().filter(|record| record.event != HookEvent::Error);
        let fuel = of_run.clone().map(|record| record.fuel_total).fold(self.fuel, u64::max);
        let host = of_run.map(|record| record.host_total).fold(self.host, HostUse::max);
        if let Some(total) = max_steps {
            self.max_steps = total;
        }
        self.hooks = Hooks {
            fuel: fuel - self.fuel,
            counted: status.map_or(0, |status| status.hooks_fuel),
            host: host.less(self.host),
            counted_host: status.map_or(HostUse::default(), |status| status.hooks_host),
            planned,
            passed: status.is_some_and(|status| status.hooks_passed),
            resumes: status.map_or(0, |status| status.resumes),
            results: results.into_iter().map(|record| (record.call.clone(), record)).collect(),
            max_steps,
            warned: self.warnings.len(),
            ..Hooks::default()
        };
    }

    /// What hooks have come to once they have had their say about the end of the run.
    pub(super) fn hooked_at_the_end(&self) -> Vec<HookSummary> {
        if self.end.is_none() || !self.hooks.passed {
            return Vec::new();
        }
        self.hooks.results.values().map(HookSummary::of).collect()
    }

    /// Under `durability: exit`, what hooks have come to is persisted with a suspension.
    pub(super) fn write_hooks(&mut self, fx: &mut Vec<Effect>) {
        let (checkpoint, sequence) = self.under();
        let dispatched: Vec<HookRecord> =
            self.hooks.results.values().filter(|record| record.item.is_some()).cloned().collect();
        for record in dispatched {
            self.persist(Record::Hook(HookRecord { checkpoint, sequence, ..record }), fx);
        }
    }
}
