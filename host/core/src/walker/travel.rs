//! Time travel: edits of a suspended run, the way back to an earlier checkpoint, and runs that begin at a checkpoint of
//! another one. What has been stored is never changed: an edit is one more checkpoint at the end of the line.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Walker;
use super::budget::Trouble;
use super::channels::{ApplyError, Undo};
use super::commit::{Returned, keep_warnings};
use super::end::Concluded;
use super::event::{Earlier, Edit, Effect, Update};
use super::machine::{Phase, illegal};
use super::reduce::FoldError;
use super::resume::refused;
use super::routes::{RouteError, Routes, Step};
use super::setup::{HandleError, RestoreError, Restored, Setup};
use super::superstep::Activated;
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind, Reducer};
use crate::limits::Budget;
use crate::record::{ActivationKind, CheckpointPlace, ErrorCode, Source, Status};
use crate::time::Timestamp;
use crate::work::{Exhausted, Meter};

impl Walker {
    /// A walker for a new run that begins where another run stood at a checkpoint: with its channel values, what was
    /// next, its barriers, visits, fuel and recorded time, so that the same tasks come to the same. `setup` names the
    /// new run; its inputs, seed and manifest are those of the old one, and its first checkpoint names all nodes `visited` on the
    /// way to there. Its first event is [`Event::Forked`](super::Event::Forked).
    pub fn fork(
        graph: Arc<Graph>,
        setup: Setup,
        of: Restored,
        visited: &[String],
    ) -> Result<Self, RestoreError> {
        let find =
            |node: &String| graph.find(node).ok_or_else(|| RestoreError::UnknownNode { node: node.clone() });
        let visited = visited.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let place = CheckpointPlace { digest: of.digest, sequence: of.checkpoint.sequence };
        let run = of.checkpoint.run.clone();
        let values = of.values.clone();
        let nothing_pending = without_pending(of);
        let mut walker = Self::restore(graph, setup, nothing_pending)?;
        walker.channels.carry(values);
        walker.last = None;
        walker.line = None;
        walker.visited = visited;
        walker.warnings_written = 0;
        walker.warned = None;
        walker.just_visited.clear();
        walker.released = false;
        walker.unwritten = Some(Source::Fork { run, of: place });
        if walker.phase == Phase::Suspended {
            walker.phase = Phase::New;
        }
        Ok(walker)
    }

    /// The fork is persisted as it begins, then its edit is, and it waits to be resumed.
    pub(super) fn begin_fork(
        &mut self,
        now: Timestamp,
        edit: Option<Edit>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.phase == Phase::Finished {
            return Err(at_the_end());
        }
        if self.phase != Phase::New || !matches!(self.unwritten, Some(Source::Fork { .. })) {
            return Err(illegal("only a fork begins so"));
        }
        if let Some(edit) = &edit {
            // Tried first: a fork that cannot be edited as wanted does not begin.
            let (undo, _) = self.write_edit(edit, self.sequence + 1, &Meter::of_one_step())?;
            self.channels.undo(undo);
        }
        if let Err(error) = self.write_checkpoint(fx) {
            self.unwritable(&error, fx);
            return Ok(());
        }
        if let Some(edit) = edit {
            self.take_edit(now, edit, None, fx)
        } else {
            self.pause(now, fx);
            Ok(())
        }
    }

    /// Edits a suspended run.
    pub(super) fn update(
        &mut self,
        now: Timestamp,
        update: Update,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        match self.phase {
            Phase::Suspended if self.end.is_some() => {
                let message = "the run has ended, only its hooks have not: it takes no edits; fork it from a checkpoint \
                               before its end";
                return Err(refused(ErrorCode::Finished, message.to_owned()));
            }
            Phase::Suspended => {}
            Phase::Finished => {
                return Err(refused(
                    ErrorCode::Finished,
                    format!(
                        "the run has ended with status {}, and what has ended is not edited; fork it from a checkpoint \
                         before its end",
                        self.status
                    ),
                ));
            }
            Phase::New => return Err(illegal("the run has not started")),
            Phase::Broken => return Err(illegal("the run could not be stored; restore it from the store")),
            Phase::Boundary(_)
            | Phase::Ready
            | Phase::Making
            | Phase::Running
            | Phase::Committing
            | Phase::Planning
            | Phase::Hooks
            | Phase::Suspending(_) => {
                return Err(illegal("the run is under way"));
            }
        }
        let Update { edit, back_to } = update;
        let Some(earlier) = back_to else { return self.take_edit(now, edit, None, fx) };
        let (mut back, place) = self.back_to(earlier)?;
        let mut effects = Vec::new();
        back.take_edit(now, edit, Some(place), &mut effects)?;
        *self = back;
        fx.append(&mut effects);
        Ok(())
    }

    /// This run as it stood at an earlier checkpoint, to go on at the end of the same line. What was spent since then
    /// stays spent: fuel and dispatches are those of the whole run.
    fn back_to(&self, earlier: Earlier) -> Result<(Self, CheckpointPlace), HandleError> {
        let Earlier { mut restored, inputs } = earlier;
        let place = CheckpointPlace { digest: restored.digest, sequence: restored.checkpoint.sequence };
        if restored.checkpoint.end.is_some() {
            return Err(at_the_end());
        }
        // A change of the graph has been accepted since, or there is none.
        restored.checkpoint.graph = self.graph.digest;
        let restored = without_pending(restored);
        let setup = Setup { inputs, ..self.setup.clone() };
        let mut back = Self::restore(Arc::clone(&self.graph), setup, restored)
            .map_err(|error| refused(ErrorCode::Integrity, error.to_string()))?;
        back.channels.follow(&self.channels.stamps(), self.sequence + 1);
        back.sequence = self.sequence;
        back.last = self.last;
        back.persists = self.persists;
        back.max_steps = self.max_steps;
        back.cancel_requested = self.cancel_requested;
        // What the newest checkpoint holds is not what this one has come from.
        back.line = None;
        back.tallies.take_spent(&self.tallies);
        back.fuel = self.fuel;
        back.host = self.host;
        back.carry_hooks(self);
        back.pending = self.pending.clone();
        back.accepted.clone_from(&self.accepted);
        Ok((back, place))
    }

    /// Makes a boundary of an edit, and suspends the run there; or ends it, where nothing is next any more.
    fn take_edit(
        &mut self,
        now: Timestamp,
        edit: Edit,
        restored: Option<CheckpointPlace>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        let sequence = self.sequence + 1;
        let meter = Meter::of_one_step();
        let (undo, routed) = self.write_edit(&edit, sequence, &meter)?;
        let before = (self.next.clone(), self.deferred.clone(), self.barriers.clone());
        let concluded = match routed.map(|routed| self.follow_edit(routed, &meter)).transpose() {
            Ok(concluded) => concluded,
            Err(exhausted) => {
                (self.next, self.deferred, self.barriers) = before;
                self.channels.undo(undo);
                let (_, error) = self.exhausted(exhausted, None);
                return Err(refused(error.code, error.message));
            }
        };
        self.channels.merge_versions(sequence);
        let Edit { values, as_node } = edit;
        self.discard_pending();
        self.begin_boundary_of_hooks();
        self.sequence = sequence;
        self.at = now;
        self.released = false;
        self.error = None;
        if let Some(concluded) = concluded {
            self.take_concluded(concluded);
        }
        self.just_visited.clear();
        let channels = values.into_iter().map(|(channel, _)| channel).collect::<BTreeSet<_>>();
        let channels = channels.into_iter().collect();
        self.unwritten = Some(Source::Update { as_node, channels, restored });
        if self.end.is_some() {
            self.interrupts.clear();
            self.plan_end();
            if self.hooks.planned.is_empty() {
                self.status = Status::Running;
                self.reach_boundary(fx);
            } else {
                // An edit runs nothing: a resume asks the hooks that follow the end.
                self.suspend(now, Status::Interrupted, None, fx);
            }
        } else {
            self.pause(now, fx);
        }
        Ok(())
    }

    /// Suspends the run where it stands. Pauses before what is next are shown now, so that a resume passes them.
    fn pause(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        self.hooks.warned = self.warnings.len();
        self.interrupts = self.static_interrupts();
        self.suspend(now, Status::Interrupted, None, fx);
    }

    /// Writes the values of an edit and works out where its node goes. If either cannot be done, nothing has changed.
    fn write_edit(
        &mut self,
        edit: &Edit,
        version: u64,
        meter: &Meter,
    ) -> Result<(Undo, Option<RoutedEdit>), HandleError> {
        let node = edit.as_node.as_deref().map(|name| self.known_node(name)).transpose()?;
        self.check_channels(&edit.values)?;
        let undo = self
            .channels
            .edit(edit.values.clone(), version, meter)
            .map_err(|error| refused(ErrorCode::InvalidUpdate, invalid(&error)))?;
        let most = self.budgets().state;
        if self.channels.size() > most {
            let (_, error) = self.used_up(Budget::State, self.channels.size(), None);
            self.channels.undo(undo);
            return Err(refused(error.code, error.message));
        }
        match node.map(|node| self.route_edit(node, &edit.values, meter)).transpose() {
            Ok(routed) => Ok((undo, routed)),
            Err(error) => {
                self.channels.undo(undo);
                Err(error)
            }
        }
    }

    fn known_node(&self, name: &str) -> Result<NodeIndex, HandleError> {
        self.graph.find(name).ok_or_else(|| {
            let names: Vec<_> = self.graph.nodes.iter().map(|node| format!("`{}`", node.name)).collect();
            refused(
                ErrorCode::NotFound,
                format!("`{name}` is not a node of the graph; its nodes are {}", names.join(", ")),
            )
        })
    }

    fn check_channels(&self, values: &Map<String, Value>) -> Result<(), HandleError> {
        for key in values.keys() {
            if key.starts_with(super::revisit::OUTPUTS) {
                let message = format!("`{key}` is what the host keeps of a node's visits, and is not edited");
                return Err(refused(ErrorCode::InvalidUpdate, message));
            }
            if key == "inputs" {
                let message = "`inputs` are not a channel; new inputs are given when the run is resumed";
                return Err(refused(ErrorCode::InvalidUpdate, message.to_owned()));
            }
            let declared = self.graph.channels.iter().find(|channel| channel.name == *key);
            if declared.is_some_and(|channel| channel.reducer == Reducer::Untracked) {
                let message =
                    format!("`{key}` is an `untracked` channel: an edit is stored, and it never is");
                return Err(refused(ErrorCode::InvalidUpdate, message));
            }
        }
        Ok(())
    }

    /// Where a node goes from the edited state, with the written values as its result.
    fn route_edit(
        &self,
        index: NodeIndex,
        values: &Map<String, Value>,
        meter: &Meter,
    ) -> Result<RoutedEdit, HandleError> {
        let exhausted = |exhausted: Exhausted| {
            let (_, error) = self.exhausted(exhausted, None);
            refused(error.code, error.message)
        };
        let graph = Arc::clone(&self.graph);
        let node = graph.node(index);
        let mut routes = Routes::default();
        let mut warnings = Vec::new();
        let mut returned = None;
        if let NodeKind::Return { output } = &node.kind {
            let output = match output {
                None => None,
                Some(template) => {
                    let active = Activated {
                        node: index,
                        argument: None,
                        visit: self.tallies.of(index).visits + 1,
                        tasks: 0..0,
                        reached: 0,
                        list: None,
                        assigned: None,
                    };
                    let context = self.context(node, &active, meter).map_err(exhausted)?;
                    let scope = self.scope(&context, None, None);
                    let value = self.evaluate(template, &scope, node, &mut warnings, meter);
                    Some(value.map_err(|trouble| match trouble {
                        Trouble::Failed(failure) => refused(ErrorCode::InvalidUpdate, failure.message),
                        Trouble::Exhausted(reason) => exhausted(reason),
                    })?)
                }
            };
            returned = Some(Returned { output });
        } else {
            let result = Value::Object(values.clone());
            self.go_by_edges(node, index, &result, &mut routes, &mut warnings, meter).map_err(|error| {
                match error {
                    RouteError::Failed(error) => refused(error.code, error.message),
                    RouteError::Exhausted(reason) => exhausted(reason),
                }
            })?;
        }
        Ok(RoutedEdit { node: index, routes, returned, warnings })
    }

    /// What is next once a node's routing has taken its place there: the place of the node itself; or, where it belongs
    /// to the superstep that has just run, the place of what it alone can have led to; or behind everything else.
    fn follow_edit(&mut self, routed: RoutedEdit, meter: &Meter) -> Result<Concluded, Exhausted> {
        let RoutedEdit { node, mut routes, returned, warnings } = routed;
        keep_warnings(&mut self.warnings, warnings);
        let has_run = self.just_visited.contains(&node);
        let replaced: BTreeSet<NodeIndex> = if self.next.iter().any(|step| step.node == node) || !has_run {
            BTreeSet::from([node])
        } else {
            let others = self.just_visited.iter().filter(|other| **other != node);
            let theirs: BTreeSet<NodeIndex> =
                others.flat_map(|other| targets(self.graph.node(*other))).collect();
            targets(self.graph.node(node)).filter(|target| !theirs.contains(target)).collect()
        };
        let gives_way = |step: &Step| {
            replaced.contains(&step.node) && (step.node == node || step.kind != ActivationKind::Barrier)
        };
        let before = self.next.iter().take_while(|step| !gives_way(step)).count();
        let mut steps: Vec<Step> = std::mem::take(&mut self.next);
        steps.retain(|step| !gives_way(step));
        let behind = steps.split_off(before.min(steps.len()));
        let opened = if has_run { Vec::new() } else { self.arrive(&BTreeSet::from([node])) };
        let stays: BTreeSet<NodeIndex> = steps
            .iter()
            .chain(&behind)
            .filter(|step| step.kind == ActivationKind::Plain)
            .map(|step| step.node)
            .collect();
        self.next = steps;
        let plain = std::mem::take(&mut routes.plain);
        self.schedule(plain.into_iter().filter(|target| !stays.contains(target)).map(Step::plain));
        self.next.extend(behind);
        self.schedule(opened);
        self.drain();
        self.conclude(returned, &routes.unmatched, meter)
    }
}

/// A checkpoint alone. The hooks that were due there have been asked: they are no part of what is gone back to.
fn without_pending(mut restored: Restored) -> Restored {
    restored.checkpoint.hooks.clear();
    Restored { pending: Vec::new(), answers: Vec::new(), hooks: Vec::new(), status: None, ..restored }
}

/// Where the node that an edit was made as goes.
struct RoutedEdit {
    node: NodeIndex,
    routes: Routes,
    /// It is a `return` node, and ends the run.
    returned: Option<Returned>,
    warnings: Vec<String>,
}

/// Everywhere that a node can lead to.
fn targets(node: &Node) -> impl Iterator<Item = NodeIndex> {
    let edges: Vec<NodeIndex> = match &node.next {
        Next::End => Vec::new(),
        Next::All(targets) => targets.clone(),
        Next::First(edges) => edges.iter().flat_map(|edge| edge.to.iter().copied()).collect(),
    };
    let command = node.command.as_ref().map(|grant| grant.goto.clone()).unwrap_or_default();
    edges.into_iter().chain(node.on_error).chain(command)
}

fn invalid(error: &ApplyError) -> String {
    let ApplyError { channel, reducer, error } = error;
    let reason = match error {
        FoldError::Invalid { reason, .. } => reason.as_str(),
        FoldError::Conflict(..) => "it takes one write",
        FoldError::Exhausted(exhausted) => return format!("`{channel}`: {exhausted}"),
    };
    format!("`{channel}` is a `{}` channel: {reason}", reducer.as_str())
}

fn at_the_end() -> HandleError {
    refused(
        ErrorCode::Finished,
        "the run ended with that checkpoint, and nothing is next there; choose one before it".to_owned(),
    )
}
