//! The limits of a run in addition to its manifest: from its graph, from a resume, and from its parent's task.

/// How many supersteps a run may take, and the limits that a child run gets from its task.
#[derive(Debug)]
pub(super) struct Allowance {
    /// Supersteps of the run itself, in all its turns.
    max_steps: u64,
    /// Supersteps of the run and those below it before its present turn.
    before_turn: u64,
    of_task: TaskAllowance,
}

/// The limits of a child run for one dispatch of its task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskAllowance {
    /// How many supersteps it and the runs below it may take together.
    pub steps: Option<u64>,
    /// The fuel that the components of the run and of the runs below it may use together, if a node above limits that.
    /// The host's own work does not count.
    pub fuel: Option<u64>,
    /// Which dispatch of the task it runs for, from 1: the newest that it knows of.
    pub dispatch: u32,
}

impl Allowance {
    pub(super) fn new(max_steps: u64) -> Self {
        Self { max_steps, before_turn: 0, of_task: TaskAllowance::default() }
    }

    /// How many supersteps the run may take.
    #[inline]
    pub(super) const fn max_steps(&self) -> u64 {
        self.max_steps
    }

    /// A turn begins after `step` supersteps of the run and `below` of the runs below it, and may take `most` of the run's.
    pub(super) const fn begin_turn(&mut self, step: u64, below: u64, most: u64) {
        self.max_steps = step.saturating_add(most);
        self.before_turn = step.saturating_add(below);
    }

    /// As a checkpoint says.
    pub(super) const fn restore_turn(&mut self, before_turn: u64) {
        self.before_turn = before_turn;
    }

    /// Supersteps of the run and those below it before its present turn.
    #[inline]
    pub(super) const fn before_turn(&self) -> u64 {
        self.before_turn
    }

    /// Another total of supersteps.
    pub(super) const fn set_max_steps(&mut self, total: u64) {
        self.max_steps = total;
    }

    /// More supersteps; gives the new total.
    pub(super) const fn extend(&mut self, more: u64) -> u64 {
        self.max_steps = self.max_steps.saturating_add(more);
        self.max_steps
    }

    /// How many supersteps the run and those below it may take together, of a child run.
    #[inline]
    pub(super) const fn step_share(&self) -> Option<u64> {
        self.of_task.steps
    }

    /// The fuel that the components of the run and of those below it may use together, if a node above limits that.
    #[inline]
    pub(super) const fn fuel_share(&self) -> Option<u64> {
        self.of_task.fuel
    }

    /// Which dispatch of its task a child run runs for; 0 for the run at the top.
    #[inline]
    pub(super) const fn dispatch(&self) -> u32 {
        self.of_task.dispatch
    }

    /// A status record says which dispatch it ran for.
    pub(super) const fn restore_dispatch(&mut self, dispatch: u32) {
        self.of_task.dispatch = dispatch;
    }

    /// Its task dispatches it: whether it ran for that dispatch already. Under `durability: exit` it may have run for later
    /// ones as well, of which its task has stored nothing: those have been as well.
    pub(super) fn begin_dispatch(&mut self, of_task: TaskAllowance) -> bool {
        let newest = self.of_task.dispatch;
        self.of_task = TaskAllowance { dispatch: of_task.dispatch.max(newest), ..of_task };
        newest >= of_task.dispatch
    }
}
