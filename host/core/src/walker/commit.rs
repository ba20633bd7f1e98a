//! The boundary of a superstep: everything commits together, or nothing does. There may be many tasks and channels, so a
//! commit is made of pieces; until all are done, it can be taken back.

use serde_json::Value;

use super::Walker;
use super::budget::{Reached, Trouble};
use super::channels::{ApplyError, Folded, Undo};
use super::event::{ChannelChange, Effect, Notice};
use super::hook_verdict::LimitCode;
use super::machine::Phase;
use super::reduce::FoldError;
use super::routes::{RouteError, Routes, code_of, failed_task};
use super::superstep::{Activated, Superstep, Task, TaskState};
use super::writes::{Writes, item_result};
use crate::graph::{NodeIndex, NodeKind};
use crate::limits::Budget;
use crate::node::Failure;
use crate::record::{Canonical, Checkpoint, ErrorCode, RunError, Source, Status, TaskSummary};
use crate::time::Timestamp;
use crate::work::{Exhausted, Meter, size};

/// What the record of a boundary takes up, the values of channels apart.
const BOUNDARY: u64 = 1 << 10;

/// What such a record says of a node, of a channel and of a task.
const NODE: u64 = 64;
const CHANNEL: u64 = 192;
const TASK: u64 = 256;

/// How many warnings a run keeps. What a graph does wrong in one superstep it does wrong in a thousand.
const MOST_WARNINGS: usize = 1_000;

/// A superstep that commits. Nothing of it is known outside.
#[derive(Debug)]
pub(super) struct Committing {
    superstep: Superstep,
    /// Fuel that its tasks have used.
    by_tasks: u64,
    warnings: Vec<String>,
    stage: Stage,
    writes: Writes,
    /// What the writes that have been folded do to their channels.
    folded: Vec<Folded>,
    /// What was done to the channels, once it was.
    applied: Option<Applied>,
    /// What the boundary adds to what is stored.
    growth: u64,
    routes: Routes,
}

#[derive(Debug)]
struct Applied {
    undo: Undo,
    changed: Vec<ChannelChange>,
}

/// What a commit does next. A number is a place among the active nodes.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The lists of the results of `foreach` nodes, and what these nodes assign.
    Lists(usize),
    /// The writes of a node.
    Writes(usize),
    /// The writes to a channel.
    Fold,
    /// Where a node goes.
    Routes(usize),
}

/// Why a superstep does not commit.
enum StopCommit {
    Failed(RunError),
    Reached(LimitCode, RunError),
}

impl From<Reached> for StopCommit {
    fn from((code, error): Reached) -> Self {
        Self::Reached(code, error)
    }
}

/// Why a piece of a commit could not be done.
enum PieceError {
    Stop(StopCommit),
    Exhausted { exhausted: Exhausted, node: Option<String> },
}

impl From<StopCommit> for PieceError {
    fn from(stop: StopCommit) -> Self {
        Self::Stop(stop)
    }
}

impl Walker {
    /// Every task has settled: the superstep commits, or the run stops before it does.
    pub(super) fn settle(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(superstep) = &self.superstep else { return };
        let failed = superstep.tasks.iter().find_map(|task| match &task.state {
            TaskState::Failed(failure) => Some((superstep.activated[task.activated].node, failure.clone())),
            _ => None,
        });
        let asks = superstep
            .tasks
            .iter()
            .any(|task| matches!(task.state, TaskState::Interrupted { .. } | TaskState::Suspended));
        if let Some((code, error)) = self.first_exhausted(superstep) {
            return self.stop_at_limit(now, code, error, fx);
        }
        if failed.is_none() && !asks {
            return self.begin_commit();
        }
        let open = self.questions(superstep);
        let error = failed.map(|(node, failure)| self.node_error(node, &failure));
        let status = if error.is_some() { Status::Failed } else { Status::Interrupted };
        self.stop_to_ask(now, status, error, &open, fx);
    }

    fn node_error(&self, node: NodeIndex, failure: &Failure) -> RunError {
        let name = &self.graph.node(node).name;
        let path = match &failure.within {
            Some(within) => format!("{name}/{within}"),
            None => name.clone(),
        };
        RunError {
            budget: None,
            category: Some(failure.category),
            code: code_of(failure),
            message: format!("{}{}", failed_at(&path, failure.category), failure.message),
            node: Some(path),
        }
    }

    /// Why writes did not fold.
    pub(super) fn fold_error(&self, error: &ApplyError) -> RunError {
        let name = |node: NodeIndex| self.graph.node(node).name.as_str();
        let ApplyError { channel, reducer, error } = error;
        match error {
            FoldError::Conflict(first, second) => RunError {
                budget: None,
                category: None,
                code: ErrorCode::ConflictingWrite,
                message: format!(
                    "tasks of `{}` and `{}` both write `{channel}` in one superstep, and a `{}` channel takes one \
                     write; declare a reducer for it, or let one of them write",
                    name(*first),
                    name(*second),
                    reducer.as_str()
                ),
                node: Some(name(*second).to_owned()),
            },
            FoldError::Exhausted(exhausted) => self.exhausted(*exhausted, None).1,
            FoldError::Invalid { node, reason } => RunError {
                budget: None,
                category: None,
                code: ErrorCode::InvalidUpdate,
                message: format!(
                    "node `{}` writes to `{channel}`, a `{}` channel: {reason}",
                    name(*node),
                    reducer.as_str()
                ),
                node: Some(name(*node).to_owned()),
            },
        }
    }

    /// Takes a superstep in whose tasks nothing is left to do, to commit it.
    fn begin_commit(&mut self) {
        let Some(superstep) = self.superstep.take() else { return };
        let by_tasks = superstep.spent();
        self.phase = Phase::Committing;
        self.committing = Some(Box::new(Committing {
            superstep,
            by_tasks,
            warnings: Vec::new(),
            stage: Stage::Lists(0),
            writes: Writes::default(),
            folded: Vec::new(),
            applied: None,
            growth: BOUNDARY,
            routes: Routes::default(),
        }));
    }

    /// Goes on with a commit until it is done, or until enough has been done at one time.
    pub(super) fn commit_more(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(mut committing) = self.committing.take() else { return };
        loop {
            if self.has_worked_enough() {
                self.committing = Some(committing);
                if self.is_impatient() {
                    self.abandon_commit();
                    let status = self.stopped_as();
                    self.suspend(now, status, None, fx);
                }
                return;
            }
            match self.commit_step(&mut committing, now, fx) {
                Ok(true) => {}
                Ok(false) => return,
                Err(stop) => {
                    self.committing = Some(committing);
                    self.abandon_commit();
                    return match stop {
                        StopCommit::Failed(error) => self.suspend(now, Status::Failed, Some(error), fx),
                        StopCommit::Reached(code, error) => self.stop_at_limit(now, code, error, fx),
                    };
                }
            }
        }
    }

    /// Takes back a commit that is under way: the superstep is as it was when its last task settled.
    pub(super) fn abandon_commit(&mut self) {
        if let Some(committing) = self.committing.take() {
            let Committing { superstep, applied, .. } = *committing;
            if let Some(Applied { undo, .. }) = applied {
                self.channels.undo(undo);
            }
            self.superstep = Some(superstep);
            self.phase = Phase::Running;
        }
    }

    /// The next piece of a commit; `false` once it is done.
    fn commit_step(
        &mut self,
        committing: &mut Committing,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) -> Result<bool, StopCommit> {
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

    /// One piece of what a commit consists of before anything of it is final; `false` once all is done.
    fn commit_piece(&mut self, committing: &mut Committing, meter: &Meter) -> Result<bool, PieceError> {
        let count = committing.superstep.activated.len();
        let name_of = |walker: &Self, committing: &Committing, place: usize| {
            Some(walker.graph.node(committing.superstep.activated[place].node).name.clone())
        };
        match committing.stage {
            Stage::Lists(place) if place < count => {
                committing.stage = Stage::Lists(place + 1);
                let Committing { superstep, warnings, .. } = committing;
                match self.make_list(superstep, place, warnings, meter) {
                    Ok(()) => {}
                    Err(Trouble::Failed(failure)) => {
                        let error = self.node_error(superstep.activated[place].node, &failure);
                        return Err(StopCommit::Failed(error).into());
                    }
                    Err(Trouble::Exhausted(exhausted)) => {
                        let node = name_of(self, committing, place);
                        return Err(PieceError::Exhausted { exhausted, node });
                    }
                }
            }
            Stage::Lists(_) => {
                if committing.superstep.held > self.budgets().results {
                    let held = committing.superstep.held;
                    return Err(StopCommit::from(self.used_up(Budget::Results, held, None)).into());
                }
                committing.stage = Stage::Writes(0);
            }
            Stage::Writes(place) if place < count => {
                committing.stage = Stage::Writes(place + 1);
                let Committing { superstep, writes, .. } = committing;
                let written = self.gather(superstep, place, writes, meter);
                written.map_err(|exhausted| PieceError::Exhausted {
                    exhausted,
                    node: name_of(self, committing, place),
                })?;
            }
            Stage::Writes(_) => {
                committing.writes.close(&self.graph);
                committing.stage = Stage::Fold;
            }
            Stage::Fold => {
                if let Some((channel, writes)) = committing.writes.by_channel.pop_first() {
                    let folded = self.channels.fold(channel, writes, meter);
                    let folded = folded.map_err(|error| self.stop_of_fold(&error))?;
                    committing.growth = committing.growth.saturating_add(folded.size);
                    committing.folded.push(folded);
                } else {
                    let size = self.boundary_size(&committing.superstep, committing.folded.len());
                    meter
                        .charge(size)
                        .map_err(|exhausted| PieceError::Exhausted { exhausted, node: None })?;
                    committing.growth = committing.growth.saturating_add(size);
                    self.apply_folded(committing)?;
                    committing.stage = Stage::Routes(0);
                }
            }
            Stage::Routes(place) if place < count => {
                committing.stage = Stage::Routes(place + 1);
                let Committing { superstep, routes, warnings, .. } = committing;
                match self.route(superstep, place, routes, warnings, meter) {
                    Ok(()) => {}
                    Err(RouteError::Failed(error)) => return Err(StopCommit::Failed(error).into()),
                    Err(RouteError::Exhausted(exhausted)) => {
                        let node = name_of(self, committing, place);
                        return Err(PieceError::Exhausted { exhausted, node });
                    }
                }
            }
            Stage::Routes(_) => return Ok(false),
        }
        Ok(true)
    }

    fn stop_of_fold(&self, error: &ApplyError) -> PieceError {
        match error.error {
            FoldError::Exhausted(exhausted) => PieceError::Exhausted { exhausted, node: None },
            _ => StopCommit::Failed(self.fold_error(error)).into(),
        }
    }

    /// What the record of the boundary of a superstep takes up besides its values, roughly: it tells of each task, and says where
    /// each channel that was written and each node that was visited stands. That is counted twice, since it comes once more in
    /// a checkpoint that is whole.
    fn boundary_size(&self, superstep: &Superstep, written: usize) -> u64 {
        let visited = superstep.activated.len().saturating_mul(2) as u64;
        let channels = (written as u64).saturating_add(self.channels.passing_count()).saturating_mul(2);
        let next = self.next.len().saturating_add(self.deferred.len()) as u64;
        let warnings =
            superstep.tasks.iter().flat_map(|task| &task.warnings).map(|warning| warning.len() as u64);
        let fixed = visited
            .saturating_mul(NODE)
            .saturating_add(channels.saturating_mul(CHANNEL))
            .saturating_add(next.saturating_mul(NODE))
            .saturating_add((superstep.tasks.len() as u64).saturating_mul(TASK));
        warnings.fold(fixed, u64::saturating_add)
    }

    /// Writes what was folded to the channels, if they may hold it.
    fn apply_folded(&mut self, committing: &mut Committing) -> Result<(), StopCommit> {
        let folded = std::mem::take(&mut committing.folded);
        let size = self.channels.size_with(&folded);
        if size > self.budgets().state {
            return Err(self.used_up(Budget::State, size, None).into());
        }
        let by_tasks = committing.superstep.tasks.iter().map(|task| task.used.host.stored);
        let stored =
            by_tasks.fold(self.host_so_far().stored.saturating_add(committing.growth), u64::saturating_add);
        if stored > self.budgets().stored {
            return Err(self.used_up(Budget::Stored, stored, None).into());
        }
        let (undo, changed) = self.channels.apply(folded, self.sequence + 1);
        committing.applied = Some(Applied { undo, changed });
        Ok(())
    }

    /// Everything of a commit has been worked out: it becomes final, unless what the run gives at its end cannot be paid for.
    fn reach_commit(
        &mut self,
        committing: &mut Committing,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) -> Result<(), StopCommit> {
        let before = (self.next.clone(), self.deferred.clone(), self.barriers.clone());
        let errors_continued = self.errors_continued;
        let mut routes = std::mem::take(&mut committing.routes);
        let edges = std::mem::take(&mut routes.edges);
        let unmatched = std::mem::take(&mut routes.unmatched);
        self.step += 1;
        self.errors_continued |= self.continues_past_errors(&committing.superstep);
        self.follow(routes, &committing.superstep);
        let meter = self.meter(committing.by_tasks);
        let returned = self.returned(&committing.superstep, &meter);
        let concluded = returned.and_then(|returned| self.conclude(returned, &unmatched, &meter));
        self.count_work(&meter);
        let concluded = match concluded {
            Ok(concluded) => concluded,
            Err(exhausted) => {
                self.step -= 1;
                self.errors_continued = errors_continued;
                (self.next, self.deferred, self.barriers) = before;
                return Err(self.exhausted(exhausted, None).into());
            }
        };
        for (edge, count) in edges {
            let fired = self.fired_unwritten.entry(edge).or_default();
            *fired = fired.saturating_add(count);
        }
        self.sequence += 1;
        self.at = now;
        self.released = false;
        self.interrupts.clear();
        self.error = None;
        self.status = Status::Running;
        self.begin_boundary_of_hooks();
        self.host.stored = self.host.stored.saturating_add(committing.growth);
        let warnings = std::mem::take(&mut committing.warnings);
        self.count(&committing.superstep, warnings);
        self.take_concluded(concluded);
        let updates = std::mem::take(&mut committing.writes.updates);
        self.tell(&committing.superstep, updates);
        let superstep = std::mem::replace(&mut committing.superstep, Superstep::new(0));
        let changed = committing.applied.take().map(|applied| applied.changed).unwrap_or_default();
        let nodes = self.just_visited.iter().map(|node| self.graph.node(*node).name.clone()).collect();
        let fuel = superstep.tasks.iter().map(|task| task.used.fuel).fold(0, u64::saturating_add);
        fx.push(Effect::Emit(Notice::Committed { superstep: self.step, nodes, fuel, changed }));
        self.unwritten = Some(Source::Superstep);
        self.begin_plan(superstep, fx);
        Ok(())
    }

    /// Whether a failure of the superstep was continued past.
    fn continues_past_errors(&self, superstep: &Superstep) -> bool {
        (0..superstep.activated.len()).any(|place| {
            let node = self.graph.node(superstep.activated[place].node);
            failed_task(node, superstep, place)
                .is_some_and(|(task, _)| task.is_some_and(|task| task.continued) || node.on_error.is_none())
        })
    }

    /// Counts what has committed.
    fn count(&mut self, superstep: &Superstep, warnings: Vec<String>) {
        self.just_visited = superstep.activated.iter().map(|active| active.node).collect();
        let names = self.just_visited.iter().map(|node| self.graph.node(*node).name.as_str());
        self.visited_digest = Checkpoint::extend_visited(&self.visited_digest, names);
        self.visited.extend_from_slice(&self.just_visited);
        for node in &self.just_visited {
            self.tallies.of_mut(*node).visits += 1;
        }
        for active in &superstep.activated {
            let node = self.graph.node(active.node);
            for task in &superstep.tasks[active.tasks.clone()] {
                self.tallies.of_mut(active.node).executions += u64::from(task.used.dispatches);
                self.fuel = self.fuel.saturating_add(task.used.fuel);
                self.host = self.host.plus(task.used.host);
                self.child_steps = self.child_steps.saturating_add(task.used.steps);
                keep_warnings(&mut self.warnings, task.warnings.iter().cloned());
                if let Some(entry) = self.result_to_keep(node, task) {
                    self.results.insert(entry.key, entry);
                }
                let cached = task.caching.hit().cloned().map(Box::new);
                self.tallies.of_mut(active.node).cached += u64::from(cached.is_some());
                self.tasks_unwritten.push(TaskSummary {
                    answers: task.answers.iter().cloned().map(Canonical::from).collect(),
                    at: task.told.at,
                    attempts: task.attempt,
                    cached,
                    dispatches: task.used.dispatches,
                    events: task.told.events.clone(),
                    failure: match &task.state {
                        TaskState::Handled(failure) => Some(failure.clone()),
                        _ => None,
                    },
                    fuel: task.used.fuel,
                    host: task.used.host,
                    item: task.dispatch.as_ref().map(|dispatch| String::from(&*dispatch.item_id)),
                    journal: task.told.journal.clone(),
                    micros: task.used.micros,
                    node: node.name.clone(),
                    task: String::from(&*task.id),
                });
            }
        }
        keep_warnings(&mut self.warnings, warnings);
        self.charge_boundary();
    }

    /// What the host did between tasks is part of what the boundary has cost.
    pub(super) fn charge_boundary(&mut self) {
        self.host.fuel = self.host.fuel.saturating_add(std::mem::take(&mut self.work));
    }

    /// The first `return` node of the superstep, in task order.
    fn returned(&self, superstep: &Superstep, meter: &Meter) -> Result<Option<Returned>, Exhausted> {
        let is_return =
            |active: &&Activated| matches!(self.graph.node(active.node).kind, NodeKind::Return { .. });
        let Some(found) = superstep.activated.iter().find(is_return) else { return Ok(None) };
        let output = match (&self.graph.node(found.node).kind, &superstep.tasks[found.tasks.clone()]) {
            (NodeKind::Return { output: Some(_) }, [Task { state: state @ TaskState::Done(_), .. }]) => {
                Some(size::copy(item_result(state), meter)?)
            }
            _ => None,
        };
        Ok(Some(Returned { output }))
    }
}

/// How the message of a node's failure begins.
pub(super) fn failed_at(path: &str, category: crate::node::Category) -> String {
    format!("node `{path}` failed ({category}): ")
}

/// A `return` node has ended the run.
pub(super) struct Returned {
    /// What it gives, if that is not the graph's own output.
    pub(super) output: Option<Value>,
}

/// Keeps warnings of a run, as long as it has not too many.
pub(super) fn keep_warnings(kept: &mut Vec<String>, new: impl IntoIterator<Item = String>) {
    for warning in new {
        match kept.len() {
            count if count < MOST_WARNINGS => kept.push(warning),
            MOST_WARNINGS => {
                kept.push(format!("further warnings are not kept: the run has {MOST_WARNINGS}"));
                return;
            }
            _ => return,
        }
    }
}
