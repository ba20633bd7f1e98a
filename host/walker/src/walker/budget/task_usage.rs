//! Use and reservations of a task.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::walker::tree::child_usage::ChildUsage;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::work::Meter;

/// Use of a task, whatever its result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::walker) struct TaskUsage {
    pub dispatches: u32,
    /// `true` if the last dispatch has ended, in whatever way.
    pub ended: bool,
    pub fuel: u64,
    /// Use of the host by all attempts.
    pub host: HostUse,
    /// Duration of all attempts, in microseconds.
    pub micros: u64,
    /// Supersteps of the task's child run and of the runs below it.
    pub steps: u64,
    /// Number of times that hooks were asked about a failure of the task.
    pub asked: u32,
    /// Actual or possible use of language models by attempts that left no result; `host` includes it.
    pub lost: ModelUse,
    /// Additions of answers to the budgets of language models of the task and its child run.
    pub granted: ModelUse,
}

impl TaskUsage {
    /// Counts a dispatch.
    pub(in crate::walker) const fn begin(&mut self) {
        self.dispatches += 1;
        self.ended = false;
    }

    /// Counts a dispatch that the walker itself performs, so that it has ended at once.
    pub(in crate::walker) const fn begin_and_end(&mut self) {
        self.dispatches += 1;
        self.ended = true;
    }

    /// Counts possible use of language models by attempts that left no result.
    pub(in crate::walker) fn lose(&mut self, model: ModelUse) {
        let model = model.counted();
        self.lost = self.lost.plus(model);
        self.host.model = self.host.model.plus(model);
    }
}

/// State of a task when its superstep began, or when the run was last resumed. Reservations for tasks follow from this
/// alone, so that a crash in between does not change them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::walker) struct TaskStart {
    /// Use of the task until then.
    pub used: TaskUsage,
    /// Number of attempts that count against the retry policy.
    pub attempts: u32,
    /// `true` if the task was settled and not to run.
    pub settled: bool,
}

/// Use and reservations of a task. Charges are taken from the reservations, so that the sum of both is the task's share.
#[derive(Debug)]
pub(in crate::walker) struct TaskAccount {
    used: TaskUsage,
    /// State when the run was last started or resumed, from which shares are computed.
    start: TaskStart,
    /// Unused fuel reserved for the task's attempts and for the host's work on them.
    reserved: u64,
    /// The part of `reserved` that components may use, if a node above limits their fuel; otherwise `u64::MAX`.
    components: u64,
    /// Fuel of the host's work on the params of the last attempt.
    own_work: u64,
    /// Unused reservation of use of the host.
    host: HostUse,
    /// Unused supersteps reserved for the child run.
    steps: u64,
    /// Reservation of the running attempt for language models.
    asking: ModelUse,
    /// Name in the manifest of the model that the running attempt asks.
    asked: Option<Arc<str>>,
    /// Lost use ([`TaskUsage::lost`]) by the model that was asked last, as far as its name is known.
    lost_models: BTreeMap<String, ModelUse>,
}

impl TaskAccount {
    /// Creates an account without use and reservations.
    pub(in crate::walker) fn new() -> Self {
        Self {
            used: TaskUsage::default(),
            start: TaskStart::default(),
            reserved: 0,
            components: u64::MAX,
            own_work: 0,
            host: HostUse::NOTHING,
            steps: 0,
            asking: ModelUse::NOTHING,
            asked: None,
            lost_models: BTreeMap::new(),
        }
    }

    /// Restores the use when the run stopped, and the state when the run was resumed.
    pub(in crate::walker) fn restore(
        &mut self,
        used: TaskUsage,
        start: TaskStart,
        lost_models: BTreeMap<String, ModelUse>,
    ) {
        self.used = used;
        self.start = start;
        self.lost_models = lost_models;
    }

    /// Lost use by the model that was asked last, as far as its name is known.
    pub(in crate::walker) const fn lost_models(&self) -> &BTreeMap<String, ModelUse> {
        &self.lost_models
    }

    /// Number of dispatches, and use by all attempts.
    #[inline]
    pub(in crate::walker) const fn used(&self) -> &TaskUsage {
        &self.used
    }

    /// State of the task when the run was last started or resumed.
    #[inline]
    pub(in crate::walker) const fn start(&self) -> &TaskStart {
        &self.start
    }

    /// Fuel used, of components and of the host's work together.
    #[inline]
    pub(in crate::walker) const fn spent(&self) -> u64 {
        self.used.fuel.saturating_add(self.used.host.fuel)
    }

    /// Fuel used when the run was last started or resumed.
    #[inline]
    pub(in crate::walker) const fn spent_before(&self) -> u64 {
        self.start.used.fuel.saturating_add(self.start.used.host.fuel)
    }

    /// Fuel left to the task.
    #[inline]
    pub(in crate::walker) const fn left(&self) -> u64 {
        self.reserved
    }

    /// Fuel left to components.
    #[inline]
    pub(in crate::walker) fn left_to_components(&self) -> u64 {
        self.reserved.min(self.components)
    }

    /// Fuel that a node above leaves to components, whatever is reserved.
    #[inline]
    pub(in crate::walker) const fn components(&self) -> u64 {
        self.components
    }

    /// Use of the host left to the task.
    #[inline]
    pub(in crate::walker) const fn left_of_host(&self) -> HostUse {
        self.host
    }

    /// Supersteps left to the child run.
    #[inline]
    pub(in crate::walker) const fn left_steps(&self) -> u64 {
        self.steps
    }

    /// Fuel of the host's work on the params of the last attempt.
    #[inline]
    pub(in crate::walker) const fn own_work(&self) -> u64 {
        self.own_work
    }

    /// Creates a meter for the host's work for the task.
    #[inline]
    pub(in crate::walker) const fn meter(&self) -> Meter {
        Meter::new(self.reserved)
    }

    /// Reserves the task's share of fuel.
    pub(in crate::walker) const fn set_aside(&mut self, share: u64) {
        self.reserved = share.saturating_sub(self.spent().saturating_sub(self.spent_before()));
    }

    /// Reserves the components' share of fuel.
    pub(in crate::walker) const fn set_aside_for_components(&mut self, share: u64) {
        self.components = share.saturating_sub(self.used.fuel.saturating_sub(self.start.used.fuel));
    }

    /// Reserves the task's share of use of the host.
    pub(in crate::walker) fn set_aside_of_host(&mut self, share: HostUse) {
        self.host = share.less(self.used.host.less(self.start.used.host));
    }

    /// Reserves the child run's share of supersteps.
    pub(in crate::walker) const fn set_aside_steps(&mut self, share: u64) {
        self.steps = share.saturating_sub(self.used.steps.saturating_sub(self.start.used.steps));
    }

    /// Counts a dispatch.
    #[inline]
    pub(in crate::walker) const fn begin(&mut self) {
        self.used.begin();
    }

    /// Counts a dispatch that the walker itself performs, so that it has ended at once.
    #[inline]
    pub(in crate::walker) const fn begin_and_end(&mut self) {
        self.used.begin_and_end();
    }

    /// Sets the work of evaluating an attempt's params, which has been charged.
    #[inline]
    pub(in crate::walker) const fn set_own_work(&mut self, spent: u64) {
        self.own_work = spent;
    }

    /// Counts another dispatch, whatever its result.
    pub(in crate::walker) const fn count_dispatch(&mut self) {
        self.used.dispatches += 1;
    }

    /// Counts that hooks are asked about a failure of the task.
    pub(in crate::walker) const fn ask(&mut self) {
        self.used.asked += 1;
    }

    /// Adds time that attempts took.
    #[inline]
    pub(in crate::walker) const fn add_time(&mut self, micros: u64) {
        self.used.micros = self.used.micros.saturating_add(micros);
    }

    /// Charges the host's work for the task.
    #[inline]
    pub(in crate::walker) const fn charge_work(&mut self, spent: u64) {
        self.used.host.fuel = self.used.host.fuel.saturating_add(spent);
        self.reserved = self.reserved.saturating_sub(spent);
    }

    /// Charges fuel of components.
    #[inline]
    pub(in crate::walker) const fn charge_fuel(&mut self, fuel: u64) {
        self.used.fuel = self.used.fuel.saturating_add(fuel);
        self.reserved = self.reserved.saturating_sub(fuel);
        self.components = self.components.saturating_sub(fuel);
    }

    /// Charges an attempt that has ended.
    #[inline]
    pub(in crate::walker) fn end_attempt(&mut self, fuel: u64, host: HostUse) {
        let host = host.counted();
        self.charge_fuel(fuel);
        self.used.ended = true;
        self.asking = ModelUse::NOTHING;
        self.asked = None;
        self.used.host = self.used.host.plus(host);
        self.host = self.host.less(host);
    }

    /// Sets the reservation of the running attempt for language models, and the name of the model that it asks.
    pub(in crate::walker) fn ask_model(&mut self, model: ModelUse, name: Option<Arc<str>>) {
        self.asking = model;
        self.asked = name;
    }

    /// Charges the reservation of a running attempt that is abandoned.
    pub(in crate::walker) fn abandon(&mut self) {
        let (asking, asked) = (std::mem::take(&mut self.asking), self.asked.take());
        let by_model = asked.filter(|_| !asking.is_nothing()).map(|name| (String::from(&*name), asking));
        self.lose(asking, by_model);
    }

    /// Charges possible use of language models by attempts that left no result. `by_model` is the same use by the
    /// models that were asked last, as far as they are known.
    pub(in crate::walker) fn lose(
        &mut self,
        model: ModelUse,
        by_model: impl IntoIterator<Item = (String, ModelUse)>,
    ) {
        self.used.lose(model);
        self.host.model = self.host.model.less(model);
        add_lost(&mut self.lost_models, by_model);
    }

    /// Charges the total use of the child run, which has stopped. `ended`: the run will not be continued. The host's
    /// work for the task itself is included in the child's figure.
    pub(in crate::walker) fn end_child(&mut self, used: &ChildUsage, ended: bool) {
        self.used.granted = self.used.granted.max(used.granted);
        let before = self.spent();
        self.components = self.components.saturating_sub(used.fuel.saturating_sub(self.used.fuel));
        self.used.fuel = self.used.fuel.max(used.fuel);
        self.used.ended = ended;
        self.host = self.host.less(used.host.less(self.used.host));
        self.used.host = self.used.host.max(used.host);
        self.reserved = self.reserved.saturating_sub(self.spent().saturating_sub(before));
        self.steps = self.steps.saturating_sub(used.steps.saturating_sub(self.used.steps));
        self.used.steps = self.used.steps.max(used.steps);
    }

    /// Charges a hook that has ended, after which these are the task's totals.
    pub(in crate::walker) fn end_hook(&mut self, fuel_total: u64, host_total: HostUse) {
        let more = fuel_total.saturating_sub(self.used.fuel);
        self.charge_fuel(more);
        let more = host_total.less(self.used.host);
        self.used.host = self.used.host.plus(more);
        self.host = self.host.less(more);
    }

    /// Charges all reservations of fuel and of language models. Fuel is charged to components as a whole: its division
    /// between components and the host's work depends on the progress of the task, and so on other tasks.
    pub(in crate::walker) fn forfeit(&mut self) {
        let used = self.spent().saturating_sub(self.spent_before());
        // A figure without a limit was not reserved.
        let reserved =
            self.host.model.each(ModelUse::NOTHING, |most, none| if most == u64::MAX { none } else { most });
        let model = self.used.host.model.plus(reserved);
        let granted = self.used.granted;
        self.used = self.start.used;
        self.used.granted = granted;
        self.used.host.model = model;
        self.used.fuel = self.used.fuel.saturating_add(used).saturating_add(self.reserved);
        self.reserved = 0;
        self.host = HostUse::NOTHING;
        // The reservation of the running attempt is part of the charge.
        (self.asking, self.asked) = (ModelUse::NOTHING, None);
    }
}

/// Adds lost use, by model.
pub(in crate::walker) fn add_lost(
    lost: &mut BTreeMap<String, ModelUse>,
    more: impl IntoIterator<Item = (String, ModelUse)>,
) {
    for (name, model) in more {
        let known = lost.entry(name).or_default();
        *known = known.plus(model);
    }
}
