//! What a task has used, and what is reserved for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::children::ChildUse;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::work::Meter;

/// What a task has used, whatever its result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Used {
    pub dispatches: u32,
    /// The last of them has ended, in whatever way.
    pub ended: bool,
    pub fuel: u64,
    /// What all attempts used of the host.
    pub host: HostUse,
    /// Microseconds that all attempts took.
    pub micros: u64,
    /// Supersteps of its child run, and of the runs below that.
    pub steps: u64,
    /// How often hooks were asked about a failure of it.
    pub asked: u32,
    /// What attempts have used of language models, or may have used, that left no result: `host` includes it.
    pub lost: ModelUse,
    /// What answers have added to the budgets of language models of it and of its child run.
    pub granted: ModelUse,
}

impl Used {
    /// Counts a dispatch.
    pub(super) const fn begin(&mut self) {
        self.dispatches += 1;
        self.ended = false;
    }

    /// It is dispatched to the walker itself, which has its result at once.
    pub(super) const fn begin_and_end(&mut self) {
        self.dispatches += 1;
        self.ended = true;
    }

    /// Counts what attempts may have used of language models that left no result.
    pub(super) fn lose(&mut self, model: ModelUse) {
        let model = model.counted();
        self.lost = self.lost.plus(model);
        self.host.model = self.host.model.plus(model);
    }
}

/// The state of a task when its superstep begins, or when the run was last resumed. What is reserved for tasks follows
/// from this alone, so that a crash in between does not change it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Start {
    /// What it had used until then.
    pub used: Used,
    /// Attempts that count against its retry policy.
    pub attempts: u32,
    /// It was not to run.
    pub settled: bool,
}

/// What a task has used, and what is reserved for it. Charges are taken from the reserve, so that the sum of both is what
/// the task was given.
#[derive(Debug)]
pub(super) struct TaskAccount {
    used: Used,
    /// Its state when the run was last started or resumed, which shares are computed from.
    start: Start,
    /// Fuel set aside for it, for its attempts and for the host's work on it, that has not been used.
    reserved: u64,
    /// The part of `reserved` that its components may use, if a node above limits their fuel; everything otherwise.
    components: u64,
    /// Fuel of the host's work on what its last attempt was given.
    own_work: u64,
    /// The unused reserve of the host's use.
    host: HostUse,
    /// Supersteps set aside for its child run, except those that the child has taken already.
    steps: u64,
    /// What its running attempt has said that it may use of language models.
    asking: ModelUse,
    /// The model that it asks, by its name in the manifest.
    asked: Option<Arc<str>>,
    /// What is lost ([`Used::lost`]), by the model that was asked last, as far as its name is known.
    lost_models: BTreeMap<String, ModelUse>,
}

impl TaskAccount {
    /// Of a task that has used nothing, and for which nothing is set aside.
    pub(super) fn new() -> Self {
        Self {
            used: Used::default(),
            start: Start::default(),
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

    /// Restores what it had used when its run stopped, and its state when the run was resumed.
    pub(super) fn restore(&mut self, used: Used, start: Start, lost_models: BTreeMap<String, ModelUse>) {
        self.used = used;
        self.start = start;
        self.lost_models = lost_models;
    }

    /// What is lost, by the model that was asked last, as far as its name is known.
    pub(super) const fn lost_models(&self) -> &BTreeMap<String, ModelUse> {
        &self.lost_models
    }

    /// How often its item was dispatched, and what all attempts have used.
    #[inline]
    pub(super) const fn used(&self) -> &Used {
        &self.used
    }

    /// Its state when the run was last started or resumed.
    #[inline]
    pub(super) const fn start(&self) -> &Start {
        &self.start
    }

    /// Fuel that it has used, of components and of the host's work together.
    #[inline]
    pub(super) const fn spent(&self) -> u64 {
        self.used.fuel.saturating_add(self.used.host.fuel)
    }

    /// The same when the run was last taken up.
    #[inline]
    pub(super) const fn spent_before(&self) -> u64 {
        self.start.used.fuel.saturating_add(self.start.used.host.fuel)
    }

    /// Fuel that is left to it.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.reserved
    }

    /// Fuel that is left to its components.
    #[inline]
    pub(super) fn left_to_components(&self) -> u64 {
        self.reserved.min(self.components)
    }

    /// The fuel that a node above leaves to its components, whatever is reserved.
    #[inline]
    pub(super) const fn components(&self) -> u64 {
        self.components
    }

    /// How much use of the host is left.
    #[inline]
    pub(super) const fn left_of_host(&self) -> HostUse {
        self.host
    }

    /// Supersteps that are left to its child run.
    #[inline]
    pub(super) const fn left_steps(&self) -> u64 {
        self.steps
    }

    /// Fuel of the host's work on what its last attempt was given.
    #[inline]
    pub(super) const fn own_work(&self) -> u64 {
        self.own_work
    }

    /// A meter for the host's work for it.
    #[inline]
    pub(super) const fn meter(&self) -> Meter {
        Meter::new(self.reserved)
    }

    /// Sets its share of fuel aside.
    pub(super) const fn set_aside(&mut self, share: u64) {
        self.reserved = share.saturating_sub(self.spent().saturating_sub(self.spent_before()));
    }

    /// Sets its components' share of fuel aside.
    pub(super) const fn set_aside_for_components(&mut self, share: u64) {
        self.components = share.saturating_sub(self.used.fuel.saturating_sub(self.start.used.fuel));
    }

    /// Sets its share of the host's use aside.
    pub(super) fn set_aside_of_host(&mut self, share: HostUse) {
        self.host = share.less(self.used.host.less(self.start.used.host));
    }

    /// Sets the share of supersteps of its child run aside.
    pub(super) const fn set_aside_steps(&mut self, share: u64) {
        self.steps = share.saturating_sub(self.used.steps.saturating_sub(self.start.used.steps));
    }

    /// Counts a dispatch.
    #[inline]
    pub(super) const fn begin(&mut self) {
        self.used.begin();
    }

    /// It is dispatched to the walker itself, which has its result at once.
    #[inline]
    pub(super) const fn begin_and_end(&mut self) {
        self.used.begin_and_end();
    }

    /// Sets the work of making an attempt's input, which has been charged.
    #[inline]
    pub(super) const fn set_own_work(&mut self, spent: u64) {
        self.own_work = spent;
    }

    /// Counts another dispatch, whatever its result.
    pub(super) const fn count_dispatch(&mut self) {
        self.used.dispatches += 1;
    }

    /// Hooks are asked about a failure of it.
    pub(super) const fn ask(&mut self) {
        self.used.asked += 1;
    }

    /// So much time has passed in its attempts.
    #[inline]
    pub(super) const fn add_time(&mut self, micros: u64) {
        self.used.micros = self.used.micros.saturating_add(micros);
    }

    /// Charges the host's work for it.
    #[inline]
    pub(super) const fn charge_work(&mut self, spent: u64) {
        self.used.host.fuel = self.used.host.fuel.saturating_add(spent);
        self.reserved = self.reserved.saturating_sub(spent);
    }

    /// Charges fuel of components.
    #[inline]
    pub(super) const fn charge_fuel(&mut self, fuel: u64) {
        self.used.fuel = self.used.fuel.saturating_add(fuel);
        self.reserved = self.reserved.saturating_sub(fuel);
        self.components = self.components.saturating_sub(fuel);
    }

    /// An attempt has ended, and has used so much fuel and so much of the host.
    #[inline]
    pub(super) fn end_attempt(&mut self, fuel: u64, host: HostUse) {
        let host = host.counted();
        self.charge_fuel(fuel);
        self.used.ended = true;
        self.asking = ModelUse::NOTHING;
        self.asked = None;
        self.used.host = self.used.host.plus(host);
        self.host = self.host.less(host);
    }

    /// Its running attempt may use so much of language models, and asks the one with that name.
    pub(super) fn ask_model(&mut self, model: ModelUse, name: Option<Arc<str>>) {
        self.asking = model;
        self.asked = name;
    }

    /// Its running attempt is abandoned: what it may have used of language models counts.
    pub(super) fn abandon(&mut self) {
        let (asking, asked) = (std::mem::take(&mut self.asking), self.asked.take());
        let by_model = asked.filter(|_| !asking.is_nothing()).map(|name| (String::from(&*name), asking));
        self.lose(asking, by_model);
    }

    /// Charges what earlier attempts may have used of language models that left no result.
    /// `by_model` is the same by the models that were asked last, as far as they are known.
    pub(super) fn lose(&mut self, model: ModelUse, by_model: impl IntoIterator<Item = (String, ModelUse)>) {
        self.used.lose(model);
        self.host.model = self.host.model.less(model);
        add_lost(&mut self.lost_models, by_model);
    }

    /// Charges its child run, which has stopped, with what all its attempts have used. `ended`: it will not be continued.
    /// The host's work for the task itself is included in the child's figure.
    pub(super) fn end_child(&mut self, used: &ChildUse, ended: bool) {
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

    /// A hook that was asked about it has ended, after which these are the totals of the task.
    pub(super) fn end_hook(&mut self, fuel_total: u64, host_total: HostUse) {
        let more = fuel_total.saturating_sub(self.used.fuel);
        self.charge_fuel(more);
        let more = host_total.less(self.used.host);
        self.used.host = self.used.host.plus(more);
        self.host = self.host.less(more);
    }

    /// Charges everything that was reserved for it, of fuel and of language models. It is not known how much of it would be for components and how much
    /// for the host's work: how far the task had got depends on the other tasks.
    pub(super) fn forfeit(&mut self) {
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
        // What its running attempt might have used was reserved, too.
        (self.asking, self.asked) = (ModelUse::NOTHING, None);
    }
}

/// Adds what is lost, by model.
pub(super) fn add_lost(
    lost: &mut BTreeMap<String, ModelUse>,
    more: impl IntoIterator<Item = (String, ModelUse)>,
) {
    for (name, model) in more {
        let known = lost.entry(name).or_default();
        *known = known.plus(model);
    }
}
