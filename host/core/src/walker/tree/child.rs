//! A child run, from the task that starts it to what it comes to.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::super::Walker;
use super::super::budget::{Trouble, budget_of};
use super::super::children::{ChildEnd, ChildStop, ChildUse};
use super::super::commit::failed_at;
use super::super::event::{Effect, Event, Notice, TaskReport, TaskSpec};
use super::super::machine::{Phase, TIME_LIMIT};
use super::super::setup::{HandleError, Identity, Setup};
use super::names::{child_namespace, depth, graph_of};
use super::route::Route;
use super::{Child, RunTree};
use crate::capability::Manifest;
use crate::graph::{Graph, Node, NodeKind};
use crate::limits::{Budget, HostUse, RunLimits};
use crate::node::{Category, Failure};
use crate::parameters::{CheckedInputs, InputsError, Parameters, check_inputs};
use crate::record::{RunError, Status};
use crate::work::{Meter, size};

impl RunTree {
    /// Starts the child run of a task, or lets it go on.
    pub(super) fn run_child(
        &mut self,
        parent: &Arc<str>,
        spec: &TaskSpec,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let task: Arc<str> = spec.activation.task.as_str().into();
        let attempt = spec.activation.attempt;
        let Some(walker) = self.walker(parent) else { return Ok(()) };
        let namespace = child_namespace(walker, &task);
        let prepared = self.prepare_child(parent, &namespace, spec);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(Trouble::Failed(failure)) => {
                let report = TaskReport::new(Err(failure), 0);
                return self.tell(parent, Event::TaskDone { task, attempt, report }, route);
            }
            Err(Trouble::Exhausted(exhausted)) => {
                let used =
                    self.walker(parent).map_or_else(ChildUse::default, |walker| walker.accounted(&task));
                let end = ChildEnd::Exhausted { budget: budget_of(exhausted), within: None };
                let stop = ChildStop { used, warnings: Vec::new(), end, holds: 0 };
                return self.end_child_task(parent, &task, stop, route);
            }
        };
        let Prepared { graph, manifest, inputs, steps, dispatch, timed_by_node, warnings, work, fuel_share } =
            prepared;
        if steps == 0 && !self.children.contains_key(&namespace) {
            return self.without_steps(parent, &task, &graph, route);
        }
        route.out.push(Effect::Emit(Notice::ChildStarted {
            namespace: Arc::clone(&namespace),
            path: spec.path.as_str().into(),
            graph: graph.id.clone(),
        }));
        if let Some(child) = self.children.get_mut(&namespace) {
            child.attempt = Some(attempt);
            (child.timed_by_node, child.timed_out) = (timed_by_node, false);
            child.warnings = warnings;
            child.walker.path.clone_from(&spec.path);
            child.walker.step_share = Some(steps);
            child.walker.fuel_share = fuel_share;
            child.walker.allow(manifest);
            let untold = std::mem::replace(&mut child.walker.dispatch, dispatch) == dispatch;
            return self.continue_child(&namespace, untold, route);
        }
        let root = &self.root.setup;
        let setup = Setup {
            identity: Identity {
                run: format!("{}/{namespace}", root.identity.record_run()),
                root: root.identity.root.clone(),
                parent: Some(spec.activation.run_id.clone()),
                namespace: namespace.to_string(),
            },
            inputs,
            initial_state: Map::new(),
            manifest,
            graphs: Arc::clone(&root.graphs),
            hooks: Arc::clone(&root.hooks),
            seed: root.seed,
            accepted: Vec::new(),
            pins: root.pins,
            durability: root.durability,
            max_steps: None,
            max_concurrency: root.max_concurrency,
        };
        let mut walker = Walker::new(graph, setup);
        walker.path.clone_from(&spec.path);
        walker.slice_length = self.root.slice_length;
        walker.step_share = Some(steps);
        walker.fuel_share = fuel_share;
        walker.dispatch = dispatch;
        // What it took to start it is the first that it costs: its task counts what the child run counts.
        walker.work = work;
        let child = Child {
            walker,
            task: Arc::clone(&task),
            parent: Arc::clone(parent),
            attempt: Some(attempt),
            timed_by_node,
            timed_out: false,
            warnings,
        };
        self.children.insert(Arc::clone(&namespace), child);
        match self.tell(&namespace, Event::Started, route) {
            // Where a run cannot even begin, nothing of it has been made.
            Err(HandleError::Refused { message, .. }) => {
                self.children.remove(&namespace);
                let failure = Failure::new(Category::InvalidInput, message);
                let report = TaskReport::new(Err(failure), 0);
                self.tell(parent, Event::TaskDone { task, attempt, report }, route)
            }
            other => other,
        }
    }

    /// A child run that may take no superstep is not even made: a graph that names itself many times would otherwise make very
    /// many of them.
    fn without_steps(
        &mut self,
        parent: &Arc<str>,
        task: &Arc<str>,
        graph: &Graph,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let Some(walker) = self.walker(parent) else { return Ok(()) };
        let end = if walker.budgets().steps <= walker.max_total_steps() {
            ChildEnd::Exhausted { budget: Budget::Steps, within: None }
        } else {
            let message = format!(
                "its graph `{}` may take no superstep: what is left of `max_total_steps` is not enough for one each",
                graph.id
            );
            ChildEnd::Failed(Failure::new(Category::Limit, message))
        };
        let used = walker.accounted(task);
        self.end_child_task(parent, task, ChildStop { used, warnings: Vec::new(), end, holds: 0 }, route)
    }

    /// Everything that a child run is told, or why it may not be.
    fn prepare_child(
        &self,
        parent: &Arc<str>,
        namespace: &Arc<str>,
        spec: &TaskSpec,
    ) -> Result<Prepared, Trouble> {
        let fault = |message: String| Trouble::Failed(Failure::new(Category::Internal, message));
        let walker = self.walker(parent).ok_or_else(|| fault("its run is gone".to_owned()))?;
        let graph = graph_of(&self.root.setup.graphs, &spec.item_id)
            .ok_or_else(|| fault(format!("`{}` is no graph", spec.item_id)))?;
        let deepest = walker.setup.manifest.run_limits().depth;
        if depth(namespace) > deepest {
            let chain = self.chain(parent, &graph.id);
            return Err(Trouble::Failed(Failure::new(
                Category::Limit,
                format!(
                    "child runs may be {deepest} level{} deep, and this would be one more: {chain}; {}",
                    if deepest == 1 { "" } else { "s" },
                    match self.root.setup.manifest.written_depth() {
                        written if written > deepest => "`depth` among the inputs leaves no more".to_owned(),
                        _ => format!(
                            "a manifest allows more with `run: {{ depth: {} }}`",
                            deepest.saturating_add(1)
                        ),
                    }
                ),
            )));
        }
        if let Some(child) = self.children.get(namespace)
            && child.walker.graph.digest != graph.digest
        {
            return Err(Trouble::Failed(Failure::new(
                Category::Permanent,
                format!(
                    "its child run was begun with graph `{}`, and the node names `{}` now",
                    child.walker.graph.id, graph.id
                ),
            )));
        }
        let accounted = walker.accounted(&spec.activation.task);
        let task = walker.task(&spec.activation.task);
        let meter = Meter::new(task.map_or(0, |task| task.reserved));
        let Asked { inputs, parameters, warnings } =
            asked(graph, walker.graph.node(spec.node), &spec.params, &meter)?;
        let inputs = match self.children.get(namespace) {
            Some(child) => Arc::clone(&child.walker.setup.inputs),
            None => Arc::new(inputs),
        };
        let (state, results) = walker.shares_of_children();
        let share_of_steps = accounted.steps.saturating_add(task.map_or(0, |task| task.reserved_steps));
        let reserved_fuel = task.map_or(0, |task| task.reserved);
        // What a node says of fuel is about components.
        let components = task.and_then(|task| Some(task.dispatch.as_ref()?.limits.fuel.min(task.components)));
        let components = components.filter(|most| *most != u64::MAX);
        let node = walker.graph.node(spec.node);
        let limits = walker.setup.manifest.run_limits();
        let whole = graph.timeout.min(limits.timeout);
        let run = RunLimits {
            fuel: accounted.fuel.saturating_add(accounted.host.fuel).saturating_add(reserved_fuel),
            timeout: limits.timeout.min(spec.limits.timeout),
            depth: limits.depth,
            calls: accounted.host.calls.saturating_add(spec.limits.calls),
            bytes: accounted.host.bytes.saturating_add(spec.limits.bytes),
            // Whose bound it is that its share comes from: so a child that uses it up ends as what it comes from does.
            steps: if limits.steps <= walker.max_total_steps() { share_of_steps } else { limits.steps },
            state,
            results,
            stored: accounted.host.stored.saturating_add(task.map_or(0, |task| task.reserved_host.stored)),
        };
        let memory = (spec.limits.memory != u64::MAX).then_some(spec.limits.memory);
        let manifest =
            walker.setup.manifest.narrowed(node.capabilities.as_ref(), memory).with_run_limits(run);
        let manifest = parameters.narrow(&manifest, depth(namespace));
        let (reserved, dispatch) = task.map_or((0, 0), |task| (task.reserved_steps, task.used.dispatches));
        Ok(Prepared {
            graph: Arc::clone(graph),
            manifest: Arc::new(manifest),
            inputs,
            steps: accounted.steps.saturating_add(reserved),
            dispatch,
            timed_by_node: spec.limits.timeout != Duration::MAX && spec.limits.timeout < whole,
            warnings,
            work: task.map_or(0, |task| task.own_work),
            fuel_share: components.map(|most| accounted.fuel.saturating_add(most)),
        })
    }

    /// The graphs from the one at the top to one that is about to start: `a → b → b`.
    fn chain(&self, parent: &Arc<str>, last: &str) -> String {
        let mut ids = vec![last.to_owned()];
        let mut namespace = Arc::clone(parent);
        while let Some(child) = self.children.get(&namespace) {
            ids.push(child.walker.graph.id.clone());
            namespace = Arc::clone(&child.parent);
        }
        ids.push(self.root.graph.id.clone());
        ids.reverse();
        ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ")
    }

    /// Lets a child run go on that has stopped. What it has come to in this very dispatch, and its task was never told
    /// because of a crash, is what it has come to.
    fn continue_child(
        &mut self,
        namespace: &Arc<str>,
        untold: bool,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let goes_on = self.can_go_on(namespace) && !(untold && self.has_failed(namespace));
        if let Some(child) = self.children.get_mut(namespace).filter(|_| untold) {
            let error = child.walker.error.as_ref();
            child.timed_out = error.is_some_and(|error| error.message.starts_with(TIME_LIMIT));
        }
        let lifted = self.lifted;
        let Some(child) = self.children.get_mut(namespace) else { return Ok(()) };
        let walker = &mut child.walker;
        match walker.phase {
            Phase::Suspended if !goes_on => return self.child_stopped(namespace, route),
            Phase::Suspended => {}
            _ => return self.child_stopped(namespace, route),
        }
        if let Some(most) = lifted.filter(|most| walker.step >= walker.max_steps && *most > walker.step) {
            walker.max_steps = most;
        }
        if walker.check_limit(None).is_err() {
            // It is at its limit, and stays there.
            return self.child_stopped(namespace, route);
        }
        self.wake(namespace);
        let mut effects = Vec::new();
        let walker = self.walker_mut(namespace)?;
        walker.slice = route.slice;
        walker.go_on(route.now, BTreeMap::new(), None, None, &mut effects)?;
        walker.drive(route.now, &mut effects);
        route.slice = walker.slice;
        route.push(namespace, effects);
        Ok(())
    }

    /// Whether a child run has failed, or is at a limit, and nothing has come for it or those below it.
    fn has_failed(&self, namespace: &str) -> bool {
        let status = self.children.get(namespace).map(|child| child.walker.status);
        matches!(status, Some(Status::Failed | Status::Limit)) && !self.has_more(namespace)
    }

    /// A child run has stopped: its task learns what it has come to, if it waits for it.
    pub(super) fn child_stopped(
        &mut self,
        namespace: &Arc<str>,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let used = self.used(namespace);
        let Some(child) = self.children.get_mut(namespace) else { return Ok(()) };
        if child.attempt.take().is_none() {
            return Ok(());
        }
        let walker = &child.walker;
        let mut warnings = std::mem::take(&mut child.warnings);
        let error = walker.error.as_ref();
        let exhausted = error.and_then(|error| Some((error.budget?, error.node.clone())));
        let end = match (walker.status, &walker.end) {
            (status, Some(end)) if status.is_end() => {
                let path = &walker.path;
                warnings.extend(walker.warnings.iter().map(|warning| format!("in `{path}`: {warning}")));
                if status == Status::CompletedWithErrors {
                    let id = &walker.graph.id;
                    warnings.push(format!("in `{path}`: graph `{id}` has completed with errors"));
                }
                ChildEnd::Output(Value::clone(&end.output.0))
            }
            (Status::Interrupted, _) => ChildEnd::Asks,
            (Status::Cancelled, _) => ChildEnd::Stopped,
            (Status::Limit, _) if exhausted.is_some() => match exhausted {
                Some((budget, within)) => ChildEnd::Exhausted { budget, within },
                None => ChildEnd::Stopped,
            },
            (Status::Limit, _) if child.timed_out && child.timed_by_node => {
                let seconds = walker.setup.manifest.run_limits().timeout.as_secs_f64();
                let message = format!("its graph `{}` did not end within {seconds} s", walker.graph.id);
                ChildEnd::Failed(Failure::new(Category::Timeout, message))
            }
            (Status::Limit, _) => ChildEnd::Failed(failure(walker, Category::Limit)),
            _ => ChildEnd::Failed(failure(walker, Category::Permanent)),
        };
        let (parent, task) = (Arc::clone(&child.parent), Arc::clone(&child.task));
        child.walker.shed();
        let holds = child.walker.holds();
        self.end_child_task(&parent, &task, ChildStop { used, warnings, end, holds }, route)
    }

    /// Hands a task what has become of its child run.
    fn end_child_task(
        &mut self,
        parent: &Arc<str>,
        task: &Arc<str>,
        stop: ChildStop,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let walker = self.walker_mut(parent)?;
        walker.slice = route.slice;
        let effects = walker.child_done(route.now, task, stop);
        route.slice = walker.slice;
        route.push(parent, effects?);
        Ok(())
    }

    /// What a child run has used, with the runs below it.
    pub(super) fn used(&self, namespace: &str) -> ChildUse {
        let Some(child) = self.children.get(namespace) else { return ChildUse::default() };
        let walker = &child.walker;
        let mut used = ChildUse {
            fuel: walker.used_fuel(),
            host: walker.used_host(),
            steps: walker.step.saturating_add(walker.child_steps).saturating_add(walker.open_steps()),
        };
        let from = (Bound::Included(namespace), Bound::Unbounded);
        for (name, below) in self.children.range::<str, _>(from) {
            if !name.starts_with(namespace) {
                break;
            }
            if *below.parent == *namespace {
                let (theirs, accounted) = (self.used(name), walker.accounted(&below.task));
                used.fuel = used.fuel.saturating_add(theirs.fuel.saturating_sub(accounted.fuel));
                used.host = used.host.plus(theirs.host.less(accounted.host));
                used.steps = used.steps.saturating_add(theirs.steps.saturating_sub(accounted.steps));
            }
        }
        used
    }
}

/// What a child run is told.
struct Prepared {
    graph: Arc<Graph>,
    manifest: Arc<Manifest>,
    inputs: Arc<Value>,
    /// Supersteps that it may take in all.
    steps: u64,
    /// Which dispatch of its task this is.
    dispatch: u32,
    timed_by_node: bool,
    warnings: Vec<String>,
    /// Fuel of the host's work on what it is started with.
    work: u64,
    /// Fuel that its components may use in all, where a node bounds it.
    fuel_share: Option<u64>,
}

/// The params of a node as the inputs of its graph.
struct Asked {
    /// Checked, with defaults filled in.
    inputs: Value,
    parameters: Parameters,
    warnings: Vec<String>,
}

fn asked(graph: &Graph, node: &Node, params: &Value, meter: &Meter) -> Result<Asked, Trouble> {
    let id = &graph.id;
    let invalid = |message: String| Trouble::Failed(Failure::new(Category::InvalidInput, message));
    meter.charge(size::of(params))?;
    let params = match params {
        Value::Null => Map::new(),
        Value::Object(params) => params.clone(),
        other => {
            let kind = super::super::reduce::kind(other);
            return Err(invalid(format!(
                "the inputs of graph `{id}` are a mapping, and its params are {kind}"
            )));
        }
    };
    let checked = check_inputs(graph, params, meter).map_err(|error| match error {
        InputsError::Exhausted(exhausted) => Trouble::Exhausted(exhausted),
        InputsError::Schema { reasons } => {
            invalid(format!("`config_schema` of graph `{id}` is not usable: {}", reasons.join("; ")))
        }
        InputsError::Unfit { unfit, .. } if !unfit.is_empty() => {
            let reasons: Vec<_> = unfit.iter().map(ToString::to_string).collect();
            invalid(format!("its params do not fit `config_schema` of graph `{id}`: {}", reasons.join("; ")))
        }
        InputsError::Unfit { parameters, .. } => {
            let reasons: Vec<_> = parameters.iter().map(ToString::to_string).collect();
            invalid(format!(
                "its params say about the run of graph `{id}` what cannot be: {}",
                reasons.join("; ")
            ))
        }
    })?;
    let CheckedInputs { inputs, parameters } = checked;
    if let Some(run) = &parameters.resume_run_id {
        return Err(invalid(format!(
            "`resume_run_id` is `{run}`, and a graph inside a graph goes on with the run around it alone"
        )));
    }
    // Of a `foreach` it says that its items are dispatched side by side.
    let is_waited_for = parameters.detached && !matches!(node.kind, NodeKind::Foreach(_));
    let warnings = is_waited_for.then(|| {
        format!(
            "node `{}` starts graph `{id}` with `async`, and waits for it all the same: its run is part of this one",
            node.name
        )
    });
    Ok(Asked { inputs, parameters, warnings: warnings.into_iter().collect() })
}

/// Why a child run has stopped, as the failure of its task.
fn failure(walker: &Walker, otherwise: Category) -> Failure {
    let id = &walker.graph.id;
    let Some(RunError { category, message, node, .. }) = &walker.error else {
        return Failure::new(otherwise, format!("its graph `{id}` ended as {}", walker.status));
    };
    let category = category.unwrap_or(otherwise);
    let mut failure = Failure::new(category, message.as_str());
    match node {
        // The node's own failure: its message is told under the whole path.
        Some(node) => {
            if let Some(own) = message.strip_prefix(&failed_at(node, category)) {
                own.clone_into(&mut failure.message);
            }
            failure.within = Some(node.clone());
        }
        None => failure.message = format!("its graph `{id}` stopped: {message}"),
    }
    failure
}

impl Walker {
    /// Fuel used so far, by tasks of the superstep under way too.
    fn used_fuel(&self) -> u64 {
        let open = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
        let open = open.map(|task| task.used.fuel).fold(self.fuel_so_far(), u64::saturating_add);
        open.saturating_add(self.pending.fuel())
    }

    /// What has been used of the host so far, by tasks of the superstep under way too.
    fn used_host(&self) -> HostUse {
        let open = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
        let open = open.map(|task| task.used.host).fold(self.host_so_far(), HostUse::plus);
        open.plus(self.pending.host())
    }

    /// Supersteps of child runs whose own superstep has not committed, as far as they are accounted for.
    fn open_steps(&self) -> u64 {
        let open = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
        open.map(|task| task.used.steps).fold(self.pending.steps(), u64::saturating_add)
    }

    /// Takes another manifest: what is allowed, and the limits.
    fn allow(&mut self, manifest: Arc<Manifest>) {
        self.setup.manifest = manifest;
        self.prepared = self.graph.nodes.iter().map(|node| self.prepare(node)).collect();
    }
}
