//! The active superstep: its tasks and their results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::graph::NodeIndex;
use crate::walker::event::ItemPlace;
use crate::walker::tasks::pending_tasks::PendingTasks;
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::node::Failure;

/// The active superstep.
#[derive(Debug)]
pub(in crate::walker) struct Superstep {
    /// Number of the superstep, from 1.
    number: u64,
    /// The nodes that are active, in task order.
    activated: Vec<ActivatedNode>,
    /// The tasks of all active nodes.
    tasks: Vec<Task>,
    /// Tasks that may start as soon as there is room.
    ready: BTreeSet<usize>,
    /// Number of running attempts.
    running: usize,
    /// Number of tasks that have not settled.
    open: usize,
    /// Memory of the tasks' items and results, as `work::size` measures it.
    memory: u64,
    /// Memory of the params of running attempts, measured in the same way.
    in_flight: u64,
}

/// An active node.
#[derive(Debug)]
pub(in crate::walker) struct ActivatedNode {
    /// Index of the node.
    node: NodeIndex,
    argument: Option<Arc<Value>>,
    /// Number of times that the node has been entered, this time included.
    visit: u64,
    /// Positions of its tasks in [`Superstep::tasks`].
    tasks: Range<usize>,
    /// Tasks before this one have been released, or will never be.
    reached: usize,
    /// The list of the items' results of a `foreach`, once all have settled.
    list: Option<Arc<Value>>,
    /// The result of the `assign` of a `foreach`, once all its items have settled.
    assigned: Option<Result<Vec<Value>, Failure>>,
}

impl ActivatedNode {
    /// Creates a node that is entered for the `visit`th time, whose first task is the one at `first`.
    pub(in crate::walker) const fn new(
        node: NodeIndex,
        argument: Option<Arc<Value>>,
        visit: u64,
        first: usize,
    ) -> Self {
        Self { node, argument, visit, tasks: first..first, reached: first, list: None, assigned: None }
    }

    /// Index of the node.
    #[inline]
    pub(in crate::walker) const fn node(&self) -> NodeIndex {
        self.node
    }

    #[inline]
    pub(in crate::walker) const fn argument(&self) -> Option<&Arc<Value>> {
        self.argument.as_ref()
    }

    /// Position of its first task in the superstep.
    pub(in crate::walker) const fn first_task(&self) -> usize {
        self.tasks.start
    }

    /// Number of times that the node has been entered, this time included.
    #[inline]
    pub(in crate::walker) const fn visit(&self) -> u64 {
        self.visit
    }

    /// The list of the items' results of a `foreach`, once all have settled.
    pub(in crate::walker) const fn list(&self) -> Option<&Arc<Value>> {
        self.list.as_ref()
    }

    /// Sets the list of results of a `foreach` whose items have settled, and the result of the node's `assign`.
    pub(in crate::walker) fn set_list(&mut self, list: Value, assigned: Option<Result<Vec<Value>, Failure>>) {
        self.list = Some(Arc::new(list));
        self.assigned = assigned;
    }

    /// The failure of the `assign` of a `foreach`, if it has failed.
    pub(in crate::walker) fn assign_failure(&self) -> Option<&Failure> {
        self.assigned.as_ref()?.as_ref().err()
    }

    /// Moves out the result of the `assign` of a `foreach`.
    pub(in crate::walker) fn take_assigned(&mut self) -> Vec<Value> {
        match &mut self.assigned {
            Some(Ok(assigned)) => std::mem::take(assigned),
            _ => Vec::new(),
        }
    }
}

impl Superstep {
    /// The nodes that are active, in task order.
    #[inline]
    pub(in crate::walker) fn activated(&self) -> &[ActivatedNode] {
        &self.activated
    }

    /// An active node, by its place.
    #[inline]
    pub(in crate::walker) fn activated_mut(&mut self, place: usize) -> &mut ActivatedNode {
        &mut self.activated[place]
    }

    /// The tasks of all active nodes.
    #[inline]
    pub(in crate::walker) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// A task, by its ordinal.
    #[inline]
    pub(in crate::walker) fn task_mut(&mut self, at: usize) -> &mut Task {
        &mut self.tasks[at]
    }

    /// Returns all tasks, each with its node.
    pub(in crate::walker) fn tasks_with_nodes_mut(&mut self) -> impl Iterator<Item = (&mut Task, NodeIndex)> {
        let activated = &self.activated;
        self.tasks.iter_mut().map(|task| {
            let node = activated[task.activated()].node;
            (task, node)
        })
    }

    /// Returns a task with its active node.
    #[inline]
    pub(in crate::walker) fn task_with_activated(
        &mut self,
        at: usize,
    ) -> Option<(&mut Task, &ActivatedNode)> {
        let task = self.tasks.get_mut(at)?;
        let activated = &self.activated[task.activated()];
        Some((task, activated))
    }

    /// The node of a task.
    #[inline]
    pub(in crate::walker) fn node_of(&self, task: &Task) -> NodeIndex {
        self.activated[task.activated()].node
    }

    /// The tasks of an active node.
    #[inline]
    pub(in crate::walker) fn tasks_of(&self, active: &ActivatedNode) -> &[Task] {
        &self.tasks[active.tasks.clone()]
    }

    /// Charges the reservations of all tasks, and drops their results.
    pub(in crate::walker) fn forfeit(&mut self) {
        self.tasks.iter_mut().for_each(Task::forfeit);
    }

    /// Moves out the result of the `assign` of an active node; for a `foreach` that of the node as a whole.
    pub(in crate::walker) fn take_assigned(&mut self, place: usize, is_foreach: bool) -> Vec<Value> {
        let active = &mut self.activated[place];
        if is_foreach {
            return active.take_assigned();
        }
        match &mut self.tasks[active.tasks.clone()] {
            [task] => task.take_assigned(),
            _ => Vec::new(),
        }
    }

    /// Returns the position of a task's item in its `foreach`.
    pub(in crate::walker) fn item_place(&self, at: usize) -> ItemPlace {
        let items = &self.activated[self.tasks[at].activated()].tasks;
        ItemPlace {
            number: (at.saturating_sub(items.start) as u64).saturating_add(1),
            of: items.len() as u64,
        }
    }

    /// Adds a task of the node that will be pushed as active next.
    pub(in crate::walker) fn push_task(&mut self, task: Task) {
        self.tasks.push(task);
    }

    /// Number of the superstep, from 1.
    #[inline]
    pub(in crate::walker) const fn number(&self) -> u64 {
        self.number
    }

    /// Number of running attempts.
    #[inline]
    pub(in crate::walker) const fn running(&self) -> usize {
        self.running
    }

    /// Returns `true` if a task may start as soon as there is room.
    #[inline]
    pub(in crate::walker) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the first task that may start.
    #[inline]
    pub(in crate::walker) fn pop_first_ready(&mut self) -> Option<usize> {
        self.ready.pop_first()
    }

    /// Lets a task start as soon as there is room.
    pub(in crate::walker) fn make_ready(&mut self, at: usize) {
        self.ready.insert(at);
    }

    /// Memory of the tasks' items and results.
    #[inline]
    pub(in crate::walker) const fn memory(&self) -> u64 {
        self.memory
    }

    /// Adds memory that the tasks hold.
    #[inline]
    pub(in crate::walker) const fn add_memory(&mut self, size: u64) {
        self.memory = self.memory.saturating_add(size);
    }

    /// Memory of the params of running attempts.
    #[inline]
    pub(in crate::walker) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Counts the memory of the params of a task's attempt.
    #[inline]
    pub(in crate::walker) fn give_params(&mut self, at: usize, size: u64) {
        self.tasks[at].give_params(size);
        self.in_flight = self.in_flight.saturating_add(size);
    }

    /// Takes the memory of the params of an attempt that has ended out of the count.
    #[inline]
    pub(in crate::walker) fn take_params(&mut self, at: usize) {
        let params = self.tasks[at].take_params();
        self.in_flight = self.in_flight.saturating_sub(params);
    }

    /// Marks a task as running.
    #[inline]
    pub(in crate::walker) fn run(&mut self, at: usize) {
        self.tasks[at].enter(TaskState::Running);
        self.running += 1;
    }

    /// Counts the end of a running attempt.
    #[inline]
    pub(in crate::walker) const fn end_attempt(&mut self) {
        self.running -= 1;
    }

    /// Undoes a running attempt of a task, which does not count.
    pub(in crate::walker) fn take_attempt_back(&mut self, at: usize) {
        self.tasks[at].take_attempt_back();
        self.running -= 1;
    }

    /// Abandons every running attempt, and passes each to `each`.
    pub(in crate::walker) fn give_up_running(&mut self, mut each: impl FnMut(&Arc<str>, u32)) {
        for at in 0..self.tasks.len() {
            let task = &mut self.tasks[at];
            if matches!(task.state(), TaskState::Running) {
                each(task.id(), task.attempt());
                task.caching_mut().forget_lookup();
                self.take_attempt_back(at);
                self.take_params(at);
            }
        }
    }

    /// Counts a task that has not settled.
    #[inline]
    pub(in crate::walker) const fn count_open(&mut self) {
        self.open += 1;
    }

    /// Counts a task that settles.
    #[inline]
    pub(in crate::walker) const fn close(&mut self) {
        self.open -= 1;
    }

    /// Adds an active node that has all its tasks.
    pub(in crate::walker) fn push_activated(&mut self, mut active: ActivatedNode) {
        active.tasks = active.tasks.start..self.tasks.len();
        self.activated.push(active);
    }

    /// Releases the tasks of a node that may start: all of them, or if it is `serial`, the next one. In a serial node, a
    /// handled failure ends the node unless it `keeps_going`.
    pub(in crate::walker) fn release(&mut self, place: usize, serial: bool, keeps_going: bool) {
        let active = &mut self.activated[place];
        let end = active.tasks.end;
        while active.reached < end {
            let at = active.reached;
            let stops = match self.tasks[at].state() {
                TaskState::Waiting => {
                    self.ready.insert(at);
                    if serial {
                        return;
                    }
                    false
                }
                TaskState::Running | TaskState::Backoff { .. } | TaskState::Failing { .. } if serial => {
                    return;
                }
                // Items after a question are reached once it is answered.
                TaskState::Interrupted { .. } | TaskState::Suspended { .. } | TaskState::Failed(_) => serial,
                TaskState::Handled(_) => serial && !keeps_going,
                _ => false,
            };
            active.reached += 1;
            if stops {
                for task in &mut self.tasks[active.reached..end] {
                    if matches!(task.state(), TaskState::Waiting) {
                        task.enter(TaskState::Abandoned);
                        self.open -= 1;
                    }
                }
                active.reached = end;
            }
        }
    }

    /// Returns `true` if every task has settled.
    pub(in crate::walker) const fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Finds a task by its id, whose ordinal is the position.
    pub(in crate::walker) fn find(&self, id: &str) -> Option<usize> {
        let at = usize::try_from(ordinal(id)).ok()?;
        self.tasks.get(at).filter(|task| **task.id() == *id).map(|_| at)
    }

    /// Turns the tasks of a superstep that does not commit into pending ones.
    pub(in crate::walker) fn into_pending(self) -> PendingTasks {
        let mut pending = PendingTasks::default();
        for task in self.tasks {
            let node = self.activated[task.activated()].node;
            if let Some((id, left)) = task.into_pending(node) {
                pending.insert(id, left);
            }
        }
        pending
    }
}

impl Superstep {
    /// Creates a superstep without tasks.
    pub(in crate::walker) fn new(number: u64) -> Self {
        Self {
            number,
            activated: Vec::new(),
            tasks: Vec::new(),
            ready: BTreeSet::new(),
            running: 0,
            open: 0,
            memory: 0,
            in_flight: 0,
        }
    }

    /// Fuel used by the tasks, of components and of the host's work together.
    pub(in crate::walker) fn spent(&self) -> u64 {
        self.tasks.iter().map(|task| task.account().spent()).fold(0, u64::saturating_add)
    }
}

/// Returns the ordinal in a task's id.
pub(in crate::walker) fn ordinal(task: &str) -> u64 {
    task.rsplit('.').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// Builds a task's id: `namespace/superstep.ordinal`; the root namespace is left out.
pub(in crate::walker) fn task_id(namespace: &str, superstep: u64, ordinal: usize) -> Arc<str> {
    if namespace.is_empty() {
        format!("{superstep}.{ordinal}").into()
    } else {
        format!("{namespace}/{superstep}.{ordinal}").into()
    }
}
