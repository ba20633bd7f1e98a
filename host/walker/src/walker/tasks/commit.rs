//! Commit of a superstep: everything commits together, or nothing does. There may be many tasks and channels, so that a
//! commit consists of pieces, and can be undone until all are done.

use serde_json::Value;

use crate::graph::{NodeIndex, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::{NodeWorkError, ReachedLimit};
use crate::walker::event::{ChannelChange, Effect, Notice};
use crate::walker::nodes::routes::{RouteError, code_of, failed_task};
use crate::walker::phase::{Cause, Phase};
use crate::walker::state::channels::{ApplyError, ChannelUndo, FoldedChannel};
use crate::walker::state::reduce::FoldError;
use crate::walker::state::writes::{Writes, item_result};
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::tasks::agenda::Routes;
use crate::walker::tasks::superstep::{ActivatedNode, Superstep};
use crate::walker::tasks::superstep_events::SuperstepEvents;
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::limits::Budget;
use graph_core::node::Failure;
use graph_core::record::{Checkpoint, ErrorCode, RunError, Source, Status, StopLimit, TaskSummary};
use graph_core::time::Timestamp;
use graph_core::wait::Wait;
use graph_core::work::{FuelExhausted, Meter, size};

/// Size of a boundary's record without the values of channels, in bytes.
const BOUNDARY: u64 = 1 << 10;

/// Sizes of that record's entries for a node, a channel and a task, in bytes.
const NODE: u64 = 64;
const CHANNEL: u64 = 192;
const TASK: u64 = 256;

/// A superstep that commits. None of its effects are visible outside yet.
#[derive(Debug)]
pub(in crate::walker) struct SuperstepCommit {
    superstep: Superstep,
    /// Fuel used by the superstep's tasks.
    by_tasks: u64,
    warnings: Vec<String>,
    stage: CommitStage,
    writes: Writes,
    /// The effects of the folded writes on their channels.
    folded: Vec<FoldedChannel>,
    /// The changes to the channels, once they are applied.
    applied: Option<AppliedChanges>,
    /// Number of bytes that the boundary adds to the store.
    growth: u64,
    routes: Routes,
}

#[derive(Debug)]
struct AppliedChanges {
    undo: ChannelUndo,
    changed: Vec<ChannelChange>,
}

/// The next step of a commit. A number is an index among the active nodes.
#[derive(Clone, Copy, Debug)]
enum CommitStage {
    /// Build the result lists of `foreach` nodes, and evaluate their assignments.
    Lists(usize),
    /// Gather the writes of a node.
    Writes(usize),
    /// Fold the writes to a channel.
    Fold,
    /// Determine the routes of a node.
    Routes(usize),
}

/// Reason why a superstep does not commit.
enum CommitStop {
    Failed(RunError),
    Reached(LimitCode, RunError),
}

impl From<ReachedLimit> for CommitStop {
    fn from((code, error): ReachedLimit) -> Self {
        Self::Reached(code, error)
    }
}

/// Reason why a piece of a commit could not be done.
enum PieceError {
    Stop(CommitStop),
    Exhausted { exhausted: FuelExhausted, node: Option<String> },
}

impl From<CommitStop> for PieceError {
    fn from(stop: CommitStop) -> Self {
        Self::Stop(stop)
    }
}

impl Walker {
    /// Starts the commit of a superstep whose tasks have settled, or stops the run before it.
    pub(in crate::walker) fn settle(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep() else { return };
        let failed = superstep.tasks().iter().find_map(|task| match task.state() {
            TaskState::Failed(failure) => {
                let limit = task.answers().has_timed_out().then_some(StopLimit::Deadline);
                Some(RunError { limit, ..self.node_error(superstep.node_of(task), failure) })
            }
            _ => None,
        });
        let asks = superstep
            .tasks()
            .iter()
            .any(|task| matches!(task.state(), TaskState::Interrupted { .. } | TaskState::Suspended { .. }));
        let is_question = |task: &Task| match task.state() {
            TaskState::Interrupted { payload, short } => {
                short.is_some() || Wait::from_payload(payload).is_none()
            }
            TaskState::Suspended { waits } => !waits,
            _ => false,
        };
        let waits = asks && !superstep.tasks().iter().any(is_question);
        if let Some((code, error)) = self.first_exhausted(superstep) {
            return self.stop_at_limit(now, code, error, fx);
        }
        if failed.is_none() && !asks {
            return self.begin_commit();
        }
        let open = self.questions(superstep);
        let status = match failed {
            Some(_) => Status::Failed,
            None if waits => Status::Waiting,
            None => Status::Interrupted,
        };
        // Hooks are asked about questions.
        let asked: Vec<_> =
            open.into_iter().filter(|open| Wait::from_payload(&open.payload.0).is_none()).collect();
        self.stop_to_ask(now, status, failed, &asked, fx);
    }

    fn node_error(&self, node: NodeIndex, failure: &Failure) -> RunError {
        let name = &self.graph.node(node).name;
        let path = match &failure.within {
            Some(within) => format!("{name}/{within}"),
            None => name.clone(),
        };
        let message = format!("{}{}", failed_at(&path, failure.category), failure.message);
        RunError {
            category: Some(failure.category),
            node: Some(path),
            ..RunError::new(code_of(failure), message)
        }
    }

    /// Returns the error of writes that did not fold.
    pub(in crate::walker) fn fold_error(&self, error: &ApplyError) -> RunError {
        let name = |node: NodeIndex| self.graph.node(node).name.as_str();
        let ApplyError { channel, reducer, error } = error;
        match error {
            FoldError::Conflict(first, second) => {
                let message = format!(
                    "tasks of `{}` and `{}` both write `{channel}` in one superstep, and a `{}` channel takes one \
                     write; declare a reducer for it, or let one of them write",
                    name(*first),
                    name(*second),
                    reducer.as_str()
                );
                let node = Some(name(*second).to_owned());
                RunError { node, ..RunError::new(ErrorCode::ConflictingWrite, message) }
            }
            FoldError::Exhausted(exhausted) => self.exhausted(*exhausted, None).1,
            FoldError::Invalid { node, reason } => {
                let message = format!(
                    "node `{}` writes to `{channel}`, a `{}` channel: {reason}",
                    name(*node),
                    reducer.as_str()
                );
                let node = Some(name(*node).to_owned());
                RunError { node, ..RunError::new(ErrorCode::InvalidUpdate, message) }
            }
        }
    }

    /// Begins the commit of a superstep whose tasks have all succeeded or been handled.
    fn begin_commit(&mut self) {
        let Some(superstep) = self.phase.take_superstep() else { return };
        let by_tasks = superstep.spent();
        let committing = SuperstepCommit {
            superstep: *superstep,
            by_tasks,
            warnings: Vec::new(),
            stage: CommitStage::Lists(0),
            writes: Writes::default(),
            folded: Vec::new(),
            applied: None,
            growth: BOUNDARY,
            routes: Routes::default(),
        };
        self.phase.enter(Cause::Commit, Phase::Committing(Box::new(committing)));
    }

    /// Continues a commit until it is done, or until the time slice is over.
    pub(in crate::walker) fn commit_more(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(mut committing) = self.phase.take_committing() else { return };
        loop {
            if self.slice.is_over() {
                self.phase.keep(Phase::Committing(committing));
                if self.stop.spend_patience() {
                    self.abandon_commit();
                    let status = self.stop.stopped_as();
                    self.suspend(now, status, None, fx);
                }
                return;
            }
            match self.commit_step(&mut committing, now, fx) {
                Ok(true) => {}
                Ok(false) => return,
                Err(stop) => {
                    self.undo_commit(*committing);
                    return match stop {
                        CommitStop::Failed(error) => self.suspend(now, Status::Failed, Some(error), fx),
                        CommitStop::Reached(code, error) => self.stop_at_limit(now, code, error, fx),
                    };
                }
            }
        }
    }

    /// Undoes a commit in progress, so that the superstep is as it was when its last task settled.
    pub(in crate::walker) fn abandon_commit(&mut self) {
        if let Some(committing) = self.phase.take_committing() {
            self.undo_commit(*committing);
        }
    }

    fn undo_commit(&mut self, committing: SuperstepCommit) {
        let SuperstepCommit { superstep, applied, .. } = committing;
        if let Some(AppliedChanges { undo, .. }) = applied {
            self.channels.undo(undo);
        }
        self.phase.enter(Cause::Abandon, Phase::Running(Box::new(superstep)));
    }

    /// Does the next piece of a commit and counts its work; `false` once the commit is done.
    fn commit_step(
        &mut self,
        committing: &mut SuperstepCommit,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) -> Result<bool, CommitStop> {
        let meter = self.meter(committing.by_tasks);
        let done = self.commit_piece(committing, &meter);
        self.count_work(&meter);
        match done {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.reach_commit(committing, now, fx)?;
                Ok(false)
            }
            Err(PieceError::Stop(stop)) => Err(stop),
            Err(PieceError::Exhausted { exhausted, node }) => Err(self.exhausted(exhausted, node).into()),
        }
    }

    /// Does one piece of a commit that can still be undone; `false` once all are done.
    fn commit_piece(&mut self, committing: &mut SuperstepCommit, meter: &Meter) -> Result<bool, PieceError> {
        let count = committing.superstep.activated().len();
        let name_of = |walker: &Self, committing: &SuperstepCommit, place: usize| {
            Some(walker.graph.node(committing.superstep.activated()[place].node()).name.clone())
        };
        match committing.stage {
            CommitStage::Lists(place) if place < count => {
                committing.stage = CommitStage::Lists(place + 1);
                let SuperstepCommit { superstep, warnings, .. } = committing;
                match self.make_list(superstep, place, warnings, meter) {
                    Ok(()) => {}
                    Err(NodeWorkError::Failed(failure)) => {
                        let error = self.node_error(superstep.activated()[place].node(), &failure);
                        return Err(CommitStop::Failed(error).into());
                    }
                    Err(NodeWorkError::Exhausted(exhausted)) => {
                        let node = name_of(self, committing, place);
                        return Err(PieceError::Exhausted { exhausted, node });
                    }
                }
            }
            CommitStage::Lists(_) => {
                if committing.superstep.memory() > self.budgets().results {
                    let memory = committing.superstep.memory();
                    return Err(CommitStop::from(self.used_up(Budget::Results, memory, None)).into());
                }
                committing.stage = CommitStage::Writes(0);
            }
            CommitStage::Writes(place) if place < count => {
                committing.stage = CommitStage::Writes(place + 1);
                let SuperstepCommit { superstep, writes, .. } = committing;
                let written = self.gather(superstep, place, writes, meter);
                written.map_err(|exhausted| PieceError::Exhausted {
                    exhausted,
                    node: name_of(self, committing, place),
                })?;
            }
            CommitStage::Writes(_) => {
                committing.writes.close(&self.graph);
                committing.stage = CommitStage::Fold;
            }
            CommitStage::Fold => {
                if let Some((channel, writes)) = committing.writes.take_channel() {
                    let folded = self.channels.fold(channel, writes, meter);
                    let folded = folded.map_err(|error| self.stop_of_fold(&error))?;
                    committing.growth = committing.growth.saturating_add(folded.size());
                    committing.folded.push(folded);
                } else {
                    let size = self.boundary_size(&committing.superstep, committing.folded.len());
                    meter
                        .charge(size)
                        .map_err(|exhausted| PieceError::Exhausted { exhausted, node: None })?;
                    committing.growth = committing.growth.saturating_add(size);
                    self.apply_folded(committing)?;
                    committing.stage = CommitStage::Routes(0);
                }
            }
            CommitStage::Routes(place) if place < count => {
                committing.stage = CommitStage::Routes(place + 1);
                let SuperstepCommit { superstep, routes, warnings, .. } = committing;
                match self.route(superstep, place, routes, warnings, meter) {
                    Ok(()) => {}
                    Err(RouteError::Failed(error)) => return Err(CommitStop::Failed(error).into()),
                    Err(RouteError::Exhausted(exhausted)) => {
                        let node = name_of(self, committing, place);
                        return Err(PieceError::Exhausted { exhausted, node });
                    }
                }
            }
            CommitStage::Routes(_) => return Ok(false),
        }
        Ok(true)
    }

    fn stop_of_fold(&self, error: &ApplyError) -> PieceError {
        match error.error {
            FoldError::Exhausted(exhausted) => PieceError::Exhausted { exhausted, node: None },
            _ => CommitStop::Failed(self.fold_error(error)).into(),
        }
    }

    /// Estimates the size of a boundary's record without values, in bytes: its tasks, and the entries of each written
    /// channel and each visited node. These entries count twice, since a whole checkpoint will repeat them.
    fn boundary_size(&self, superstep: &Superstep, written: usize) -> u64 {
        let visited = superstep.activated().len().saturating_mul(2) as u64;
        let channels = (written as u64).saturating_add(self.channels.passing_count()).saturating_mul(2);
        let next = self.agenda.next().len().saturating_add(self.agenda.deferred().len()) as u64;
        let warnings = superstep.tasks().iter().flat_map(Task::warnings).map(|warning| warning.len() as u64);
        let fixed = visited
            .saturating_mul(NODE)
            .saturating_add(channels.saturating_mul(CHANNEL))
            .saturating_add(next.saturating_mul(NODE))
            .saturating_add((superstep.tasks().len() as u64).saturating_mul(TASK));
        warnings.fold(fixed, u64::saturating_add)
    }

    /// Applies the folded writes to the channels, if the budgets `state` and `stored` permit their size.
    fn apply_folded(&mut self, committing: &mut SuperstepCommit) -> Result<(), CommitStop> {
        let folded = std::mem::take(&mut committing.folded);
        let size = self.channels.size_with(&folded);
        if size > self.budgets().state {
            return Err(self.used_up(Budget::State, size, None).into());
        }
        // The state item is the whole state, rewritten at each boundary of the root run.
        if self.graph.dialect.writes_state_item() && self.setup.identity.namespace.is_empty() {
            committing.growth = committing.growth.saturating_add(size);
        }
        let by_tasks = committing.superstep.tasks().iter().map(|task| task.used().host.stored);
        let stored =
            by_tasks.fold(self.host_stored_so_far().saturating_add(committing.growth), u64::saturating_add);
        if stored > self.budgets().stored {
            return Err(self.used_up(Budget::Stored, stored, None).into());
        }
        let (undo, changed) = self.channels.apply(folded, self.position.sequence() + 1);
        committing.applied = Some(AppliedChanges { undo, changed });
        Ok(())
    }

    /// Finishes a commit whose pieces are done, unless computing the output at the end of the run exceeds a budget.
    fn reach_commit(
        &mut self,
        committing: &mut SuperstepCommit,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) -> Result<(), CommitStop> {
        let before = self.agenda.clone();
        let continued = self.stop.has_continued_past_errors();
        let mut routes = std::mem::take(&mut committing.routes);
        let edges = routes.take_fired();
        let unmatched = routes.take_unmatched();
        self.position.count_superstep();
        let past_errors = continued | self.continues_past_errors(&committing.superstep);
        self.stop.set_continued_past_errors(past_errors);
        self.follow(routes, &committing.superstep);
        let meter = self.meter(committing.by_tasks);
        let returned = self.returned(&committing.superstep, &meter);
        let concluded = returned.and_then(|returned| self.conclude(returned, &unmatched, &meter));
        self.count_work(&meter);
        let concluded = match concluded {
            Ok(concluded) => concluded,
            Err(exhausted) => {
                self.position.take_superstep_back();
                self.stop.set_continued_past_errors(continued);
                self.agenda = before;
                return Err(self.exhausted(exhausted, None).into());
            }
        };
        self.unwritten.add_fired(edges);
        self.position.make_boundary(now, Source::Superstep);
        self.stop.commit();
        self.begin_boundary_of_hooks();
        self.usage.add_stored(committing.growth);
        let warnings = std::mem::take(&mut committing.warnings);
        let known = self.warnings.all().len();
        self.count(&committing.superstep, warnings);
        self.take_concluded(concluded);
        let updates = committing.writes.take_updates();
        self.unwritten.add_events(SuperstepEvents::from_superstep(&committing.superstep, updates));
        let superstep = std::mem::replace(&mut committing.superstep, Superstep::new(0));
        let changed = committing.applied.take().map(|applied| applied.changed).unwrap_or_default();
        let nodes = self.visited.newest().iter().map(|node| self.graph.node(*node).name.clone()).collect();
        let fuel = superstep.tasks().iter().map(|task| task.used().fuel).fold(0, u64::saturating_add);
        fx.push(Effect::Emit(Notice::Committed { superstep: self.position.step(), nodes, fuel, changed }));
        let raised = self.warnings.all().get(known..).unwrap_or_default();
        fx.extend(raised.iter().map(|warning| Effect::Emit(Notice::Warning(warning.clone()))));
        self.begin_plan(superstep, fx);
        Ok(())
    }

    /// Returns `true` if the run continued past a failure of the superstep.
    fn continues_past_errors(&self, superstep: &Superstep) -> bool {
        (0..superstep.activated().len()).any(|place| {
            let node = self.graph.node(superstep.activated()[place].node());
            failed_task(node, superstep, place)
                .is_some_and(|(task, _)| task.is_some_and(Task::is_continued) || node.on_error.is_none())
        })
    }

    /// Counts the visits, tasks, warnings and results of a superstep that has committed.
    fn count(&mut self, superstep: &Superstep, warnings: Vec<String>) {
        let visited: Vec<NodeIndex> = superstep.activated().iter().map(ActivatedNode::node).collect();
        let names = visited.iter().map(|node| self.graph.node(*node).name.as_str());
        let digest = Checkpoint::extend_visited(&self.visited.digest(), names);
        for node in &visited {
            self.usage.add_visit(*node);
        }
        self.visited.commit(visited, digest);
        for active in superstep.activated() {
            let node = self.graph.node(active.node());
            for task in superstep.tasks_of(active) {
                let cached = task.caching().hit().cloned().map(Box::new);
                let failure = match task.state() {
                    TaskState::Handled(failure) => Some(failure.clone()),
                    _ => None,
                };
                self.usage.add_task(active.node(), task.used(), cached.is_some(), failure.is_some());
                self.warnings.keep(task.warnings().iter().cloned());
                if let Some(entry) = self.result_to_keep(node, task) {
                    self.unwritten.add_result(entry);
                }
                self.unwritten.add_task(TaskSummary {
                    answers: task.answers().values(),
                    arrived: task.answers().arrived().clone(),
                    at: task.history().at(),
                    attempts: task.attempt(),
                    cached,
                    dispatches: task.used().dispatches,
                    dropped: task.answers().dropped(),
                    events: task.history().events().to_vec(),
                    expired: task.answers().expired().clone(),
                    failure,
                    fuel: task.used().fuel,
                    granted: task.answers().granted(),
                    host: task.used().host,
                    item: task.dispatch().map(|dispatch| String::from(&*dispatch.item_id)),
                    journal: task.history().journal().to_vec(),
                    lost: task.used().lost,
                    lost_models: task.account().lost_models().clone(),
                    micros: task.used().micros,
                    node: node.name.clone(),
                    task: String::from(&**task.id()),
                });
            }
        }
        self.warnings.keep(warnings);
        self.usage.charge_work();
    }

    /// Returns the result of the first `return` node of the superstep, in task order.
    fn returned(
        &self,
        superstep: &Superstep,
        meter: &Meter,
    ) -> Result<Option<ReturnedOutput>, FuelExhausted> {
        let is_return =
            |active: &&ActivatedNode| matches!(self.graph.node(active.node()).kind, NodeKind::Return { .. });
        let Some(found) = superstep.activated().iter().find(is_return) else { return Ok(None) };
        let output = match (&self.graph.node(found.node()).kind, superstep.tasks_of(found)) {
            (NodeKind::Return { output: Some(_) }, [task]) if matches!(task.state(), TaskState::Done(_)) => {
                Some(size::copy(item_result(task.state()), meter)?)
            }
            _ => None,
        };
        Ok(Some(ReturnedOutput { output }))
    }
}

/// Returns the beginning of the message about a node's failure.
pub(in crate::walker) fn failed_at(path: &str, category: graph_core::node::Category) -> String {
    format!("node `{path}` failed ({category}): ")
}

/// Result of the `return` node that has ended the run.
pub(in crate::walker) struct ReturnedOutput {
    /// The output, if the node has one; otherwise the graph's output counts.
    pub output: Option<Value>,
}
