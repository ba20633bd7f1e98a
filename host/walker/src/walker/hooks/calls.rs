//! State of a walker's hooks, and asking them one after the other.

mod boundary;
mod dispatch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::walker::Walker;
use crate::walker::event::{Effect, Notice, PersistId, TaskReport, TaskSpec};
use crate::walker::hooks::verdict::HookVerdict;
use crate::walker::machine::illegal;
use crate::walker::setup::HandleError;
use crate::walker::stop::stops::PendingStop;
use graph_core::hook_event::{Control, HookEvent};
use graph_core::limits::{HostUse, ModelUse};
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{
    CanonicalValue, HookRecord, HookSummary, JournalEntry, PlannedAction, PlannedHook, Record,
};
use graph_core::time::Timestamp;

/// A hook's dispatch, for the driver to perform. It is answered with [`Event::HookDone`](crate::walker::Event::HookDone).
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// The event that the hook is asked about.
    pub event: HookEvent,
    /// The name of the hook: its `id`, or its layer and index.
    pub hook: String,
    /// The hook's layer, from 1 to 3.
    pub layer: u8,
    /// The dispatch. Its `activation.task` is the call's id, which the answer names. Its node has no meaning: the hook
    /// determines the grant of the item.
    pub call: TaskSpec,
}

/// The state of a walker's hooks.
#[derive(Debug, Default)]
pub(in crate::walker) struct Hooks {
    /// Fuel of the hooks that were asked about the run since the newest boundary.
    fuel: u64,
    /// The part of `fuel` used when the run was last started or resumed, plus the fuel of hooks asked since.
    /// Reservations for tasks follow from this figure, so that a crash while hooks are asked does not change them.
    counted: u64,
    /// Use of the host by those hooks.
    host: HostUse,
    /// The part of `host` that counts for reservations for tasks.
    counted_host: HostUse,
    /// Reservations of running calls for language models, by call.
    reserved: BTreeMap<String, HookReservation>,
    /// Possible use of language models by calls that were abandoned or interrupted by a crash, by call. The figures
    /// above do not contain it.
    lost: BTreeMap<String, LostUsage>,
    /// Reservations of abandoned calls that are not recorded.
    cut_off: Vec<HookRecord>,
    /// Number of dispatches of a call before a crash, by call, if a reservation has replaced the call's result.
    dispatched: BTreeMap<String, u32>,
    /// The hooks that are due at the newest boundary.
    planned: Vec<PlannedHook>,
    /// `true` once the hooks of the newest boundary have been asked.
    passed: bool,
    /// Number of times that the run has continued after a failure or a limit since the newest boundary.
    resumes: u32,
    /// The results of hooks since the newest boundary, by call.
    results: BTreeMap<String, HookRecord>,
    /// The calls whose results are persisted, or handed out to be.
    recorded: BTreeSet<String>,
    /// The results of hooks that no checkpoint contains.
    unwritten: Vec<HookSummary>,
    /// The total of `max_steps`, if hooks or a new turn have extended it.
    max_steps: Option<u64>,
    /// `max_steps` as of the newest boundary. Under `durability: exit` the boundary's checkpoint is written later, and
    /// contains nothing newer than the boundary: a fork asks for the extension again, whatever the durability.
    max_steps_at_boundary: Option<u64>,
    /// The hooks that the whole run waits for.
    queue: Option<HookQueue>,
    /// The stop that hooks are being asked about.
    stop: Option<PendingStop>,
    /// The hooks that a failed task waits for, by task.
    tasks: BTreeMap<Arc<str>, HookQueue>,
    /// Abandoned calls whose reports are still to come.
    aborted: BTreeSet<String>,
    /// Id of the newest hook record that was handed out to be persisted.
    handed_out: Option<PersistId>,
}

/// Reservation of a running call for language models.
#[derive(Clone, Debug)]
struct HookReservation {
    record: HookRecord,
    /// `true` if the record is persisted, or handed out to be.
    is_recorded: bool,
}

/// Possible use of language models by a call without a result.
#[derive(Clone, Copy, Debug)]
struct LostUsage {
    model: ModelUse,
    /// `true` if the call is about a task, and not about the whole run.
    of_task: bool,
}

/// Hooks that are asked one after the other.
#[derive(Debug, Default)]
struct HookQueue {
    planned: Vec<PlannedHook>,
    at: usize,
    running: Option<String>,
}

impl HookQueue {
    fn new(planned: Vec<PlannedHook>) -> Self {
        Self { planned, at: 0, running: None }
    }
}

impl Hooks {
    /// Returns the hooks that are due at the newest boundary.
    #[inline]
    pub(in crate::walker) fn planned(&self) -> &[PlannedHook] {
        &self.planned
    }

    /// Adds hooks that are due at the newest boundary.
    pub(in crate::walker) fn plan(&mut self, planned: Vec<PlannedHook>) {
        self.planned.extend(planned);
    }

    /// Returns `true` if hooks are due at the newest boundary and have not been asked.
    #[inline]
    pub(in crate::walker) fn are_due(&self) -> bool {
        !self.passed && !self.planned.is_empty()
    }

    /// Returns `true` if the hooks of the newest boundary have been asked.
    #[inline]
    pub(in crate::walker) const fn have_passed(&self) -> bool {
        self.passed
    }

    /// Notes that the hooks of the newest boundary have been asked.
    pub(in crate::walker) const fn pass(&mut self) {
        self.passed = true;
    }

    /// Starts to ask the hooks of the newest boundary.
    pub(in crate::walker) fn ask_at_boundary(&mut self) {
        self.handed_out = None;
        self.queue = Some(HookQueue::new(self.planned.clone()));
    }

    /// Starts to ask hooks because the run is about to stop.
    pub(in crate::walker) fn ask_about_stop(&mut self, stop: PendingStop, planned: Vec<PlannedHook>) {
        self.handed_out = None;
        self.stop = Some(stop);
        self.queue = Some(HookQueue::new(planned));
    }

    /// Starts to ask hooks about the failure of a task.
    pub(in crate::walker) fn ask_about_task(&mut self, task: Arc<str>, planned: Vec<PlannedHook>) {
        self.tasks.insert(task, HookQueue::new(planned));
    }

    /// Returns `true` if hooks are being asked about a task.
    #[inline]
    pub(in crate::walker) fn are_asked_about_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Takes the stop that hooks were asked about.
    pub(in crate::walker) const fn take_stop(&mut self) -> Option<PendingStop> {
        self.stop.take()
    }

    /// Returns the record that must be persisted before the run continues, if there is one.
    pub(in crate::walker) const fn awaited_record(&self) -> Option<PersistId> {
        self.handed_out
    }

    /// Sets the total of `max_steps`, which a hook or a new turn has extended.
    pub(in crate::walker) const fn extend_to(&mut self, total: u64) {
        self.max_steps = Some(total);
    }

    /// Drops the extension, since a resume has set another total of `max_steps`.
    pub(in crate::walker) const fn forget_extension(&mut self) {
        self.max_steps = None;
    }

    /// Returns the total of `max_steps`, if hooks or a new turn have extended it.
    #[inline]
    pub(in crate::walker) const fn max_steps(&self) -> Option<u64> {
        self.max_steps
    }

    /// Returns the extended total of `max_steps` as of the newest boundary.
    #[inline]
    pub(in crate::walker) const fn max_steps_at_boundary(&self) -> Option<u64> {
        self.max_steps_at_boundary
    }

    /// Number of times that the run has continued after a failure or a limit since the newest boundary.
    #[inline]
    pub(in crate::walker) const fn resumes(&self) -> u32 {
        self.resumes
    }

    /// Counts that the run continues after a failure or a limit.
    pub(in crate::walker) const fn count_resume(&mut self) {
        self.resumes += 1;
    }

    /// Fuel of hooks that were asked about the run, as far as it counts for reservations for tasks.
    #[inline]
    pub(in crate::walker) const fn counted(&self) -> u64 {
        self.counted
    }

    /// Use of the host by these hooks, as far as it counts for reservations for tasks.
    #[inline]
    pub(in crate::walker) const fn counted_host(&self) -> HostUse {
        self.counted_host
    }

    /// Counts all use by hooks so far for reservations for tasks, since the run stops or is resumed.
    pub(in crate::walker) const fn count_all(&mut self) {
        (self.counted, self.counted_host) = (self.fuel, self.host);
    }

    /// Returns the use of the host by hooks, with the possible use by calls without a result.
    fn used_of_host(&self) -> HostUse {
        // Fast path: every boundary makes this call, and `lost` is nearly always empty.
        if self.lost.is_empty() { self.host } else { self.host.plus(self.lost_where(|_| true)) }
    }

    /// Returns the possible use by calls about the whole run without a result, which the next superstep cannot use.
    pub(in crate::walker) fn lost_of_run(&self) -> HostUse {
        self.lost_where(|lost| !lost.of_task)
    }

    fn lost_where(&self, counts: impl Fn(&LostUsage) -> bool) -> HostUse {
        if self.lost.is_empty() {
            return HostUse::default();
        }
        let lost = self.lost.values().filter(|lost| counts(lost)).map(|lost| lost.model);
        HostUse { model: lost.fold(ModelUse::NOTHING, ModelUse::plus), ..HostUse::default() }
    }

    /// Adds possible use by a call without a result.
    fn lose(&mut self, call: &str, model: ModelUse, of_task: bool) {
        if !model.is_nothing() {
            let known = self.lost.get(call).map_or(ModelUse::NOTHING, |lost| lost.model);
            let model = known.plus(model.counted());
            self.lost.insert(call.to_owned(), LostUsage { model, of_task });
        }
    }

    /// Number of dispatches of a call so far.
    fn dispatches_of(&self, call: &str) -> u32 {
        let known = self.results.get(call).map(|record| record.dispatches);
        known.or_else(|| self.dispatched.get(call).copied()).unwrap_or_default()
    }

    /// Takes the results that no checkpoint contains, for the next one.
    pub(in crate::walker) fn take_unwritten(&mut self) -> Vec<HookSummary> {
        std::mem::take(&mut self.unwritten)
    }
}

/// The subject that hooks are asked about.
#[derive(Clone, Debug)]
pub(in crate::walker) enum HookSubject {
    /// The run as a whole.
    Run,
    /// A task that has failed.
    Task(Arc<str>),
}

impl Walker {
    /// Asks the hooks of a subject from the present one on, up to the first that needs a dispatch.
    pub(in crate::walker) fn ask(&mut self, subject: &HookSubject, now: Timestamp, fx: &mut Vec<Effect>) {
        loop {
            let queue = match subject {
                HookSubject::Run => self.hooks.queue.as_ref(),
                HookSubject::Task(task) => self.hooks.tasks.get(task),
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
                        fx.push(finished_hook(&record));
                        // Results about the run without a dispatch are not persisted before the next boundary: they are computed again.
                        let persists = matches!(subject, HookSubject::Task(_));
                        self.keep_result((*record).clone(), persists, fx);
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
            HookSubject::Run => self.hooks.queue.take(),
            HookSubject::Task(task) => self.hooks.tasks.remove(task),
        };
        let planned = queue.map(|queue| queue.planned).unwrap_or_default();
        let verdict = self.verdict(&planned);
        self.follow_verdict(subject, verdict, now, fx);
    }

    fn queue_of(&mut self, subject: &HookSubject) -> Option<&mut HookQueue> {
        match subject {
            HookSubject::Run => self.hooks.queue.as_mut(),
            HookSubject::Task(task) => self.hooks.tasks.get_mut(task),
        }
    }

    /// Returns `true` if the result of a hook still counts. A limit that is reached again after a resume is another
    /// one, and a required hook that failed is asked again.
    fn still_holds(&self, known: &HookRecord) -> bool {
        known.resumes == self.hooks.resumes
            || !(self.is_about_limit(known.event) || (known.required && known.failure.is_some()))
    }

    /// Returns `true` if hooks of an event are asked because the run stops at a limit.
    fn is_about_limit(&self, event: HookEvent) -> bool {
        event == HookEvent::Limit || (event == HookEvent::GraphCompleted && self.stop.end().is_none())
    }

    /// Returns `true` if a call of a hook is running, or was abandoned and still has to be reported.
    pub(in crate::walker) fn awaits_hook(&self, call: &str) -> bool {
        let waits = |queue: &HookQueue| queue.running.as_deref() == Some(call);
        self.hooks.aborted.contains(call)
            || self.hooks.queue.as_ref().is_some_and(waits)
            || self.hooks.tasks.values().any(waits)
    }

    /// Handles the end of a hook's call.
    pub(in crate::walker) fn hook_done(
        &mut self,
        now: Timestamp,
        call: &str,
        report: TaskReport,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.hooks.aborted.remove(call) {
            return Ok(());
        }
        let subject = self.subject_of(call).ok_or_else(|| illegal("no hook with that id is running"))?;
        let Some(queue) = self.queue_of(&subject) else { return Ok(()) };
        queue.running = None;
        let planned = queue.planned[queue.at].clone();
        let TaskReport { result, fuel, work, warnings, journal, host, lost, .. } = report;
        self.hooks.reserved.remove(call);
        self.hooks.lose(call, lost, matches!(subject, HookSubject::Task(_)));
        let is_limit = result.as_ref().is_err_and(|failure: &Failure| failure.category == Category::Limit);
        let budget =
            if is_limit { self.budget_that_stopped(&subject, &planned, fuel, work, &journal) } else { None };
        let answer = read_hook_answer(&planned, result);
        let mut record = self.hook_record(&subject, &planned, answer, fuel, now);
        record.budget = budget;
        record.host = host.unwrap_or_else(|| HostUse { fuel: work, ..JournalEntry::used_by(&journal) });
        record.host = record.host.counted();
        record.host_total = record.host_total.plus(record.host);
        record.dispatches += 1;
        record.warnings = warnings;
        fx.push(finished_hook(&record));
        self.keep_result(record, true, fx);
        self.ask(&subject, now, fx);
        self.start_ready(now, fx);
        Ok(())
    }

    /// Returns the subject of a running call.
    fn subject_of(&self, call: &str) -> Option<HookSubject> {
        let waits = |queue: &HookQueue| queue.running.as_deref() == Some(call);
        if self.hooks.queue.as_ref().is_some_and(waits) {
            return Some(HookSubject::Run);
        }
        let mut tasks = self.hooks.tasks.iter();
        tasks.find(|(_, queue)| waits(queue)).map(|(task, _)| HookSubject::Task(Arc::clone(task)))
    }

    /// Records the reservation of a hook that is about to ask a language model, as for the attempt of a task.
    pub(in crate::walker) fn reserve_model_of_hook(
        &mut self,
        now: Timestamp,
        (call, attempt): (Arc<str>, u32),
        model: ModelUse,
        fx: &mut Vec<Effect>,
    ) {
        // A call that was abandoned meanwhile is not answered.
        let Some(subject) = self.subject_of(&call) else { return };
        let Some(planned) = self.queue_of(&subject).map(|queue| queue.planned[queue.at].clone()) else {
            return;
        };
        let mut record = self.hook_record(&subject, &planned, Ok((Value::Null, None)), 0, now);
        record.dispatches += 1;
        record.host.model = model;
        record.reserved = true;
        let is_recorded = self.stores_hooks();
        let reserved = HookReservation { record: record.clone(), is_recorded };
        self.hooks.reserved.insert(record.call.clone(), reserved);
        if is_recorded {
            let id = self.persist(Record::Hook(record), fx);
            self.position.waits_for(id, call, attempt);
        } else {
            fx.push(Effect::ModelRecorded { task: call, attempt });
        }
    }

    /// Returns `true` if results and reservations of hooks are stored at once.
    fn stores_hooks(&self) -> bool {
        let stored = self.position.last().is_some() && self.position.unwritten().is_none();
        stored && (self.setup.durability != Durability::Exit || self.stop.has_ended())
    }

    /// Keeps the result of a hook, and persists it unless the run's durability defers that to its end.
    fn keep_result(&mut self, record: HookRecord, persists: bool, fx: &mut Vec<Effect>) {
        if persists && self.stores_hooks() {
            self.hooks.handed_out = Some(self.persist(Record::Hook(record.clone()), fx));
            self.hooks.recorded.insert(record.call.clone());
        } else {
            self.hooks.recorded.remove(&record.call);
        }
        self.hooks.results.insert(record.call.clone(), record);
    }

    fn hook_record(
        &self,
        subject: &HookSubject,
        planned: &PlannedHook,
        answer: Result<(Value, Option<Control>), Failure>,
        fuel: u64,
        now: Timestamp,
    ) -> HookRecord {
        let (so_far, host_so_far) = match subject {
            // Possible use by calls without a result is counted separately.
            HookSubject::Run => (self.fuel_so_far(), self.usage.host().plus(self.hooks.host)),
            HookSubject::Task(task) => self
                .phase
                .superstep()
                .and_then(|superstep| Some(*superstep.tasks()[superstep.find(task)?].used()))
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
        let (checkpoint, sequence) = self.position.under();
        HookRecord {
            at: now,
            budget: None,
            call: planned.call.clone(),
            checkpoint,
            control,
            dispatches: self.hooks.dispatches_of(&planned.call),
            event: planned.event,
            failure,
            fuel,
            fuel_total: so_far.saturating_add(fuel),
            host: HostUse::default(),
            host_total: host_so_far,
            hook: planned.hook.clone(),
            item,
            layer: planned.layer,
            lost: self.hooks.lost.get(&planned.call).map_or(ModelUse::NOTHING, |lost| lost.model),
            namespace: self.setup.identity.namespace.clone(),
            required: planned.required,
            reserved: false,
            result: CanonicalValue::from(result),
            resumes: self.hooks.resumes,
            run: self.setup.identity.record_run().to_owned(),
            sequence,
            warnings: Vec::new(),
        }
    }

    /// Counts the use and warnings of a hook's result, which may be from before a crash.
    fn take_result(&mut self, subject: &HookSubject, record: &HookRecord) {
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
            HookSubject::Run => {
                let used = record.fuel_total.saturating_sub(self.usage.fuel());
                self.hooks.fuel = self.hooks.fuel.max(used);
                self.hooks.counted = self.hooks.counted.max(used);
                let used = record.host_total.less(self.usage.host());
                self.hooks.host = self.hooks.host.max(used);
                self.hooks.counted_host = self.hooks.counted_host.max(used);
                for warning in raised {
                    self.warn_once(warning);
                }
            }
            HookSubject::Task(task) => {
                let Some(superstep) = self.phase.superstep_mut() else { return };
                let Some(at) = superstep.find(task) else { return };
                let task = superstep.task_mut(at);
                task.account_mut().end_hook(record.fuel_total, record.host_total);
                for warning in raised {
                    task.warn_once(warning);
                }
            }
        }
    }

    /// Raises a warning about the run once for each boundary, since hooks that are asked again after a crash raise the same one.
    pub(in crate::walker) fn warn_once(&mut self, warning: String) {
        self.warnings.keep_once(warning);
    }

    fn verdict(&self, planned: &[PlannedHook]) -> HookVerdict {
        let results = planned.iter().filter_map(|hook| self.hooks.results.get(&hook.call));
        HookVerdict::from_results(results)
    }

    /// Abandons all running hooks.
    pub(in crate::walker) fn abort_hooks(&mut self, fx: &mut Vec<Effect>) {
        let of_tasks = std::mem::take(&mut self.hooks.tasks).into_values().map(|queue| (queue, true));
        for (queue, of_task) in
            self.hooks.queue.take().map(|queue| (queue, false)).into_iter().chain(of_tasks)
        {
            if let Some(hook) = queue.running {
                fx.push(Effect::AbortHook { hook: hook.as_str().into() });
                if let Some(HookReservation { record, is_recorded }) = self.hooks.reserved.remove(&hook) {
                    self.hooks.lose(&hook, record.host.model, of_task);
                    if !is_recorded {
                        self.hooks.cut_off.push(record);
                    }
                }
                self.hooks.aborted.insert(hook);
            }
        }
        self.hooks.stop = None;
    }
}

/// Reads the answer of a hook's item: its value and its control result.
fn read_hook_answer(
    planned: &PlannedHook,
    result: Result<Outcome, Failure>,
) -> Result<(Value, Option<Control>), Failure> {
    let value = match result.and_then(crate::compat::rye::unwrap)? {
        Outcome::Result(value) => value,
        Outcome::Command { .. } => {
            let message = "it answered with a command, and a hook can neither write nor route";
            return Err(Failure::new(Category::Permanent, message));
        }
        Outcome::Interrupt(_) => {
            let message = "hooks cannot interrupt a run";
            return Err(Failure::new(Category::Permanent, message));
        }
    };
    let control = if planned.layer == graph_core::hook_event::HookLayer::Infra.number() {
        None
    } else {
        Control::read(&value).map_err(|reason| Failure::new(Category::InvalidInput, reason))?
    };
    Ok((value, control))
}

/// Creates the notice that a hook has a result.
fn finished_hook(record: &HookRecord) -> Effect {
    Effect::Emit(Notice::HookFinished(Box::new(HookSummary::from_record(record))))
}
