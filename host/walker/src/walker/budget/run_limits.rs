//! The limits of a run in addition to its manifest: from its graph, from a resume, and from its parent's task.

/// Limits of a run's supersteps, and the limits that a child run gets from its task.
#[derive(Debug)]
pub(in crate::walker) struct WalkerLimits {
    /// Supersteps of the run itself, in all its turns.
    max_steps: u64,
    /// Supersteps of the run and those below it before its present turn.
    before_turn: u64,
    of_task: DispatchLimits,
}

/// The limits of a child run for one dispatch of its task.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walker) struct DispatchLimits {
    /// Limit of supersteps of the run and the runs below it together.
    pub steps: Option<u64>,
    /// The fuel that the components of the run and of the runs below it may use together, if a node above limits that.
    /// The host's own work does not count.
    pub fuel: Option<u64>,
    /// Number of the newest known dispatch of the task that the run works for, from 1.
    pub dispatch: u32,
}

impl WalkerLimits {
    pub(in crate::walker) fn new(max_steps: u64) -> Self {
        Self { max_steps, before_turn: 0, of_task: DispatchLimits::default() }
    }

    /// Limit of the run's supersteps.
    #[inline]
    pub(in crate::walker) const fn max_steps(&self) -> u64 {
        self.max_steps
    }

    /// Begins a turn after `step` supersteps of the run and `below` of the runs below it; the run may take `most` more.
    pub(in crate::walker) const fn begin_turn(&mut self, step: u64, below: u64, most: u64) {
        self.max_steps = step.saturating_add(most);
        self.before_turn = step.saturating_add(below);
    }

    /// Restores the count from a checkpoint.
    pub(in crate::walker) const fn restore_turn(&mut self, before_turn: u64) {
        self.before_turn = before_turn;
    }

    /// Supersteps of the run and those below it before its present turn.
    #[inline]
    pub(in crate::walker) const fn before_turn(&self) -> u64 {
        self.before_turn
    }

    /// Sets the total of supersteps.
    pub(in crate::walker) const fn set_max_steps(&mut self, total: u64) {
        self.max_steps = total;
    }

    /// Adds supersteps and returns the new total.
    pub(in crate::walker) const fn extend(&mut self, more: u64) -> u64 {
        self.max_steps = self.max_steps.saturating_add(more);
        self.max_steps
    }

    /// Limit of supersteps of a child run and the runs below it together.
    #[inline]
    pub(in crate::walker) const fn step_share(&self) -> Option<u64> {
        self.of_task.steps
    }

    /// The fuel that the components of the run and of those below it may use together, if a node above limits that.
    #[inline]
    pub(in crate::walker) const fn fuel_share(&self) -> Option<u64> {
        self.of_task.fuel
    }

    /// Number of the task's dispatch that a child run works for; 0 for the root run.
    #[inline]
    pub(in crate::walker) const fn dispatch(&self) -> u32 {
        self.of_task.dispatch
    }

    /// Restores the number of the dispatch from a status record.
    pub(in crate::walker) const fn restore_dispatch(&mut self, dispatch: u32) {
        self.of_task.dispatch = dispatch;
    }

    /// Sets the limits of a dispatch by the task. Returns `true` if the run has worked for that dispatch or a later one
    /// already: under `durability: exit`, the task may have stored nothing of later ones.
    pub(in crate::walker) fn begin_dispatch(&mut self, of_task: DispatchLimits) -> bool {
        let newest = self.of_task.dispatch;
        self.of_task = DispatchLimits { dispatch: of_task.dispatch.max(newest), ..of_task };
        newest >= of_task.dispatch
    }
}
