//! Edits of a suspended run, going back to an earlier checkpoint, and forks. Stored records never change: an edit is
//! one more checkpoint at the end of the history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::compat::rye;
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::event::{Earlier, Edit, Effect, Update};
use crate::walker::interrupt::resume::{answers_of_update, refused};
use crate::walker::machine::illegal;
use crate::walker::nodes::routes::RouteError;
use crate::walker::phase::{Cause, Phase, PhaseName};
use crate::walker::setup::{HandleError, RestoreError, Restored, Setup};
use crate::walker::state::channels::{ApplyError, ChannelUndo};
use crate::walker::state::reduce::FoldError;
use crate::walker::tasks::agenda::{AgendaStep, Routes};
use crate::walker::tasks::commit::ReturnedOutput;
use crate::walker::tasks::conclusion::Conclusion;
use crate::walker::tasks::superstep::ActivatedNode;
use graph_core::limits::Budget;
use graph_core::policy::Reducer;
use graph_core::record::{ActivationKind, CheckpointPlace, ErrorCode, GivenRecord, Source, Status};
use graph_core::time::Timestamp;
use graph_core::work::{FuelExhausted, Meter};

impl Walker {
    /// Creates a walker for a new run that begins with the state of another run at a checkpoint: its channel values,
    /// next activations, barriers, visits, fuel and recorded time, so that the same tasks have the same results.
    /// `setup` names the new run; its inputs, seed and manifest are those of the old one, and its first checkpoint
    /// names all nodes `visited` on the way to that state. Its first event is [`Event::Forked`](crate::walker::Event::Forked).
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
        walker.position.branch_off(Source::Fork { run, of: place });
        walker.visited.begin_anew(visited);
        walker.warnings.begin_anew();
        walker.stop.begin_anew();
        walker.phase.enter(Cause::Fork, Phase::New);
        Ok(walker)
    }

    /// Begins a fork: persists its first boundary, then its edit, and suspends it until it is resumed.
    pub(in crate::walker) fn begin_fork(
        &mut self,
        now: Timestamp,
        edit: Option<Edit>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.phase.name() != PhaseName::New
            || !matches!(self.position.unwritten(), Some(Source::Fork { .. }))
        {
            return Err(illegal("only a fork begins so"));
        }
        if let Some(edit) = &edit {
            // A trial: a fork whose edit is refused does not begin.
            let (undo, _) = self.write_edit(edit, self.position.sequence() + 1, &Meter::of_one_step())?;
            self.channels.undo(undo);
        }
        let stored = match self.write_checkpoint(fx) {
            Ok(stored) => stored,
            Err(error) => {
                self.unwritable(&error, fx);
                return Ok(());
            }
        };
        if let Some(edit) = edit {
            return self.take_edit(now, edit, None, fx);
        }
        if self.stop.has_ended() {
            self.stop.continue_to_end();
            self.phase.enter(Cause::Reach, Phase::Boundary(stored));
        } else {
            self.pause(now, fx);
        }
        Ok(())
    }

    /// Edits a suspended run.
    pub(in crate::walker) fn update(
        &mut self,
        now: Timestamp,
        update: Update,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        match self.phase.name() {
            PhaseName::Suspended if self.stop.has_ended() => {
                let message = "the run has ended, only its hooks have not: resume it, and edit it then";
                return Err(refused(ErrorCode::Finished, message.to_owned()));
            }
            PhaseName::Suspended | PhaseName::Finished => {}
            PhaseName::New => return Err(illegal("the run has not started")),
            PhaseName::Broken => {
                return Err(illegal("the run could not be stored; restore it from the store"));
            }
            PhaseName::Boundary
            | PhaseName::Ready
            | PhaseName::Making
            | PhaseName::Running
            | PhaseName::Committing
            | PhaseName::Planning
            | PhaseName::Hooks
            | PhaseName::Suspending => {
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

    /// Restores this run at an earlier checkpoint, to continue at the end of the same history. Use since then stays
    /// counted: fuel and dispatches are those of the whole run.
    fn back_to(&self, earlier: Earlier) -> Result<(Self, CheckpointPlace), HandleError> {
        let Earlier { mut restored, inputs } = earlier;
        let place = CheckpointPlace { digest: restored.digest, sequence: restored.checkpoint.sequence };
        // All changes of the graph have been accepted by now.
        restored.checkpoint.graph = self.graph.digest;
        let restored = without_pending(restored);
        let setup = Setup { inputs, ..self.setup.clone() };
        let mut back = Self::restore(Arc::clone(&self.graph), setup, restored)
            .map_err(|error| refused(ErrorCode::Integrity, error.to_string()))?;
        back.channels.follow(&self.channels.stamps(), self.position.sequence() + 1);
        back.position.continue_after(&self.position);
        back.limits.set_max_steps(self.limits.max_steps());
        back.stop.keep_requests(&self.stop);
        back.usage.keep_spent(&self.usage);
        back.carry_hooks(self);
        back.pending = self.pending.clone();
        back.unwritten.set_accepted(self.unwritten.accepted().to_vec());
        Ok((back, place))
    }

    /// Makes a boundary for an edit from which the run continues at once. `answers` are for tasks of the superstep, which starts again.
    pub(in crate::walker) fn edit_and_continue(
        &mut self,
        now: Timestamp,
        values: Map<String, Value>,
        answers: BTreeMap<String, GivenRecord>,
    ) -> Result<(), HandleError> {
        let sequence = self.position.sequence() + 1;
        let edit = Edit { values, as_node: None };
        self.write_edit(&edit, sequence, &Meter::of_one_step())?;
        self.channels.merge_versions(sequence);
        self.discard_pending();
        self.begin_boundary_of_hooks();
        for (task, record) in &answers {
            let log = answers_of_update(record);
            // This cannot fail: the node exists, since it has just asked.
            let _ = self.pending.give(&self.graph, task, &record.node, log);
        }
        let channels = edit.values.into_iter().map(|(channel, _)| channel).collect();
        self.position.make_boundary(now, Source::Update { answers, as_node: None, channels, restored: None });
        self.visited.forget_newest();
        Ok(())
    }

    /// Makes a boundary for an edit, and suspends the run there, or ends it if no node is next.
    fn take_edit(
        &mut self,
        now: Timestamp,
        edit: Edit,
        restored: Option<CheckpointPlace>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        let sequence = self.position.sequence() + 1;
        let meter = Meter::of_one_step();
        let ended = self.stop.end().cloned().map(|end| self.edited_end(end, &meter)).transpose();
        let ended = ended.map_err(|exhausted| self.refused_for(exhausted))?;
        let (undo, routed) = self.write_edit(&edit, sequence, &meter)?;
        let before = self.agenda.clone();
        let is_routed = routed.is_some();
        let concluded = match routed {
            Some(routed) => self.follow_edit(routed, &meter).map(Some),
            None => ended.map(|ended| self.conclude_edited(ended, &meter)).transpose(),
        };
        let concluded = match concluded {
            Ok(concluded) => concluded,
            Err(exhausted) => {
                self.agenda = before;
                self.channels.undo(undo);
                return Err(self.refused_for(exhausted));
            }
        };
        self.channels.merge_versions(sequence);
        let Edit { values, as_node } = edit;
        self.discard_pending();
        self.begin_boundary_of_hooks();
        let channels = values.into_iter().map(|(channel, _)| channel).collect::<BTreeSet<_>>();
        let channels = channels.into_iter().collect();
        let answers = BTreeMap::new();
        self.position.make_boundary(now, Source::Update { answers, as_node, channels, restored });
        self.stop.take_edit();
        if let Some(concluded) = concluded {
            self.take_concluded(concluded);
        }
        self.visited.forget_newest();
        if self.stop.has_ended() {
            self.stop.forget_interrupts();
            // If only the old end remains, its hooks have been asked already.
            if is_routed {
                self.plan_end();
            }
            if self.hooks.planned().is_empty() {
                self.stop.continue_to_end();
                self.reach_boundary(fx);
            } else {
                // An edit runs nothing: a resume asks the hooks after the end.
                self.suspend(now, Status::Interrupted, None, fx);
            }
        } else {
            self.pause(now, fx);
        }
        Ok(())
    }

    fn refused_for(&self, exhausted: FuelExhausted) -> HandleError {
        let (_, error) = self.exhausted(exhausted, None);
        refused(error.code, error.message)
    }

    /// Suspends the run. Lists static interrupts of the next nodes now, so that a resume releases them.
    fn pause(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        self.warnings.reach_boundary();
        self.stop.wait_for(self.static_interrupts());
        self.suspend(now, Status::Interrupted, None, fx);
    }

    /// Writes the values of an edit and determines the routes of its node. An error changes nothing.
    fn write_edit(
        &mut self,
        edit: &Edit,
        version: u64,
        meter: &Meter,
    ) -> Result<(ChannelUndo, Option<RoutedEdit>), HandleError> {
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
            if key.starts_with(crate::walker::nodes::feedback::OUTPUTS) {
                let message = format!("`{key}` is what the host keeps of a node's visits, and is not edited");
                return Err(refused(ErrorCode::InvalidUpdate, message));
            }
            if key == rye::THREADS && self.keeps_threads() {
                let message =
                    format!("`{key}` is what the host keeps of the run's threads, and is not edited");
                return Err(refused(ErrorCode::InvalidUpdate, message));
            }
            if key == "inputs" {
                let message = "`inputs` are not a channel; new inputs are given when the run is resumed";
                return Err(refused(ErrorCode::InvalidUpdate, message.to_owned()));
            }
            let declared = self.graph.channel(key);
            if declared.is_some_and(|channel| channel.reducer == Reducer::Untracked) {
                let message =
                    format!("`{key}` is an `untracked` channel: an edit is stored, and it never is");
                return Err(refused(ErrorCode::InvalidUpdate, message));
            }
        }
        Ok(())
    }

    /// Determines the routes of a node with the edited state and the written values as its result.
    fn route_edit(
        &self,
        index: NodeIndex,
        values: &Map<String, Value>,
        meter: &Meter,
    ) -> Result<RoutedEdit, HandleError> {
        let exhausted = |exhausted: FuelExhausted| self.refused_for(exhausted);
        let graph = Arc::clone(&self.graph);
        let node = graph.node(index);
        let mut routes = Routes::default();
        let mut warnings = Vec::new();
        let mut returned = None;
        if let NodeKind::Return { output } = &node.kind {
            let output = match output {
                None => None,
                Some(template) => {
                    let visit = self.usage.node_counts().get(index).visits + 1;
                    let active = ActivatedNode::new(index, None, visit, 0);
                    let context = self.context(node, &active, meter).map_err(exhausted)?;
                    let scope = self.scope(&context, None, None);
                    let value = self.evaluate(template, &scope, node, &mut warnings, meter);
                    Some(value.map_err(|error| match error {
                        NodeWorkError::Failed(failure) => refused(ErrorCode::InvalidUpdate, failure.message),
                        NodeWorkError::Exhausted(reason) => exhausted(reason),
                    })?)
                }
            };
            returned = Some(ReturnedOutput { output });
        } else {
            let result = Value::Object(values.clone());
            // The node routes as if it had written the values at its last visit.
            let visit = self.usage.node_counts().get(index).visits.max(1);
            let from = (index, visit);
            self.go_by_edges(node, from, &result, &mut routes, &mut warnings, meter).map_err(|error| {
                match error {
                    RouteError::Failed(error) => refused(error.code, error.message),
                    RouteError::Exhausted(reason) => exhausted(reason),
                }
            })?;
        }
        Ok(RoutedEdit { node: index, routes, returned, warnings })
    }

    /// Applies the routes of the edit's node to the agenda. They replace the node itself if it is next; or, if it belongs to
    /// the last superstep, the activations that only it can have caused; otherwise they come after all others.
    fn follow_edit(&mut self, routed: RoutedEdit, meter: &Meter) -> Result<Conclusion, FuelExhausted> {
        let RoutedEdit { node, mut routes, returned, warnings } = routed;
        self.warnings.keep(warnings);
        let newest = self.visited.newest();
        let has_run = newest.contains(&node);
        let is_next = self.agenda.next().iter().any(|step| step.node() == node);
        let replaced: BTreeSet<NodeIndex> = if is_next || !has_run {
            BTreeSet::from([node])
        } else {
            let others = newest.iter().filter(|other| **other != node);
            let theirs: BTreeSet<NodeIndex> =
                others.flat_map(|other| targets(self.graph.node(*other))).collect();
            targets(self.graph.node(node)).filter(|target| !theirs.contains(target)).collect()
        };
        let gives_way = |step: &AgendaStep| {
            replaced.contains(&step.node()) && (step.node() == node || step.kind() != ActivationKind::Barrier)
        };
        let unmatched = routes.take_unmatched();
        self.agenda.replace(&self.graph, gives_way, routes, (!has_run).then_some(node));
        self.conclude(returned, &unmatched, meter)
    }
}

/// Removes the pending records from a checkpoint, and its hooks, which have been asked.
fn without_pending(mut restored: Restored) -> Restored {
    restored.checkpoint.hooks.clear();
    if let Source::Update { answers, .. } = &mut restored.checkpoint.source {
        answers.clear();
    }
    Restored { pending: Vec::new(), answers: Vec::new(), hooks: Vec::new(), status: None, ..restored }
}

/// The routes of the node that an edit was made as.
struct RoutedEdit {
    node: NodeIndex,
    routes: Routes,
    /// The result of a `return` node, which ends the run.
    returned: Option<ReturnedOutput>,
    warnings: Vec<String>,
}

/// Returns all nodes that a node can lead to.
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
