//! A child run, from the task that starts it to its outcome.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::route::Route;
use super::{Child, RunTree, names_below, prefix_below};
use crate::compat::rye;
use crate::graph::{Graph, Node, NodeKind};
use crate::host_item::HostItem;
use crate::parameters::{CheckedInputs, InputsError, Parameters, check_inputs};
use crate::walker::Walker;
use crate::walker::budget::run_budget::{NodeWorkError, budget_of};
use crate::walker::budget::run_limits::DispatchLimits;
use crate::walker::event::{Effect, Event, Notice, TaskReport, TaskSpec, Timing};
use crate::walker::nodes::approvals::with_rules_above;
use crate::walker::setup::{HandleError, Identity, Setup};
use crate::walker::tasks::commit::failed_at;
use crate::walker::tasks::task::Task;
use crate::walker::tree::child_usage::{ChildEnd, ChildStop, ChildUsage};
use crate::walker::tree::member::ChildDispatch;
use crate::walker::tree::names::{child_namespace, depth, graph_of};
use crate::written_graph::{RunCall, WrittenLimits};
use graph_core::capability::Manifest;
use graph_core::limits::{Budget, ModelUse, RunLimits};
use graph_core::node::{Activation, Category, Failure};
use graph_core::record::{RunError, Status};
use graph_core::work::rates::STEP;
use graph_core::work::{FuelExhausted, Meter, size};

/// Memory of a written graph, as a multiple of its document.
const HELD_PER_DOCUMENT: u64 = 4;

/// Returns an activation without its argument and answers, which may be large.
fn identity_of(of: &Activation) -> Activation {
    Activation {
        run_id: of.run_id.clone(),
        root_run_id: of.root_run_id.clone(),
        parent_run_id: of.parent_run_id.clone(),
        graph_id: of.graph_id.clone(),
        node_id: of.node_id.clone(),
        superstep: of.superstep,
        task: of.task.clone(),
        attempt: of.attempt,
        visit: of.visit,
        argument: None,
        answers: Vec::new(),
        idempotency_key: of.idempotency_key.clone(),
    }
}

impl RunTree {
    /// Starts or resumes the child run of a task.
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
        let meter = Meter::new(walker.task(&task).map_or(0, |task| task.account().left()));
        let is_written = HostItem::of_dispatch(spec.operation, spec.item_type, &spec.item_id).is_some();
        let prepared =
            self.prepare_child(parent, &namespace, spec, &meter).map_err(|error| error.for_child(is_written));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(NodeWorkError::Failed(failure)) => {
                // Reading an unusable document is charged all the same, but not as a whole step, which would end this run.
                let work = if is_written { meter.spent().min(STEP - 1) } else { 0 };
                let report = TaskReport { work, ..TaskReport::new(Err(failure), 0) };
                return self.deliver(parent, Event::TaskDone { task, attempt, report }, route);
            }
            Err(NodeWorkError::Exhausted(exhausted)) => {
                let used =
                    self.walker(parent).map_or_else(ChildUsage::default, |walker| walker.accounted(&task));
                let end = ChildEnd::Exhausted { budget: budget_of(exhausted), within: None };
                let stop = ChildStop { used, warnings: Vec::new(), end, took: Timing::default(), memory: 0 };
                return self.end_child_task(parent, &task, stop, route);
            }
        };
        let PreparedChild {
            graph,
            manifest,
            inputs,
            steps,
            dispatch,
            timed_by_node,
            models_of_node,
            warnings,
            work,
            fuel_share,
            written,
            stored,
        } = prepared;
        let limits = DispatchLimits { steps: Some(steps), fuel: fuel_share, dispatch };
        if steps == 0 && !self.children.contains_key(&namespace) {
            return self.without_steps(parent, &task, &graph, route);
        }
        route.send(Effect::Emit(Notice::ChildStarted {
            namespace: Arc::clone(&namespace),
            path: spec.path.as_str().into(),
            graph: graph.id.clone(),
            activation: Box::new(identity_of(&spec.activation)),
            item: spec.item,
        }));
        if let Some(child) = self.children.get_mut(&namespace) {
            child.attempt = Some(attempt);
            (child.timed_by_node, child.timed_out) = (timed_by_node, false);
            child.models_of_node = models_of_node;
            (child.warnings, child.written) = (warnings, written);
            let untold = child.walker.begin_dispatch(ChildDispatch { path: &spec.path, limits, manifest });
            return self.continue_child(&namespace, untold, route);
        }
        let root = self.root.setup();
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
        let mut walker = Walker::new_child(graph, setup, &spec.path, limits, (work, stored));
        walker.set_slice_length(self.root.slice_length());
        let child = Child {
            walker,
            task: Arc::clone(&task),
            parent: Arc::clone(parent),
            attempt: Some(attempt),
            timed_by_node,
            models_of_node,
            timed_out: false,
            warnings,
            written,
        };
        self.children.insert(Arc::clone(&namespace), child);
        match self.deliver(&namespace, Event::Started, route) {
            // A run that cannot begin has produced nothing.
            Err(HandleError::Refused { message, .. }) => {
                self.children.remove(&namespace);
                let failure = Failure::new(Category::InvalidInput, message);
                let report = TaskReport::new(Err(failure), 0);
                self.deliver(parent, Event::TaskDone { task, attempt, report }, route)
            }
            other => other,
        }
    }

    /// Ends the task of a child run that may take no superstep. The run is not created, since a graph that names itself
    /// many times would otherwise create very many.
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
        let stop = ChildStop { used, warnings: Vec::new(), end, took: Timing::default(), memory: 0 };
        self.end_child_task(parent, task, stop, route)
    }

    /// Prepares the setup of a child run, or returns the reason why it may not start.
    fn prepare_child(
        &self,
        parent: &Arc<str>,
        namespace: &Arc<str>,
        spec: &TaskSpec,
        meter: &Meter,
    ) -> Result<PreparedChild, NodeWorkError> {
        let fault = |message: String| NodeWorkError::Failed(Failure::new(Category::Internal, message));
        let walker = self.walker(parent).ok_or_else(|| fault("its run is gone".to_owned()))?;
        let deepest = walker.setup().manifest.run_limits().depth;
        if depth(namespace) > deepest {
            let named = graph_of(&self.root.setup().graphs, &spec.item_id);
            let chain = self.chain(parent, named.map_or(&spec.item_id, |graph| &graph.id));
            return Err(NodeWorkError::Failed(Failure::new(
                Category::Limit,
                format!(
                    "child runs may be {deepest} level{} deep, and this would be one more: {chain}; {}",
                    if deepest == 1 { "" } else { "s" },
                    match self.root.setup().manifest.written_depth() {
                        written if written > deepest => "`depth` among the inputs leaves no more".to_owned(),
                        _ => format!(
                            "a manifest allows more with `run: {{ depth: {} }}`",
                            deepest.saturating_add(1)
                        ),
                    }
                ),
            )));
        }
        let CalledGraph { graph, params, limits: written, stored } = self.called(namespace, spec, meter)?;
        // The work to read the document of a written graph; other graphs were read before the run.
        let opened = if written.is_some() { meter.spent() } else { 0 };
        if let Some(child) = self.children.get(namespace)
            && (child.walker.graph().digest != graph.digest || child.written.is_some() != written.is_some())
        {
            return Err(NodeWorkError::Failed(Failure::new(
                Category::Permanent,
                format!(
                    "its child run was started with graph `{}`, and the node names `{}` now",
                    child.walker.graph().id,
                    graph.id
                ),
            )));
        }
        let accounted = walker.accounted(&spec.activation.task);
        let task = walker.task(&spec.activation.task);
        let node = walker.graph().node(spec.node);
        let ChildInputs { inputs, parameters, warnings } = child_inputs(&graph, node, &params, meter)?;
        let inputs = match self.children.get(namespace) {
            Some(child) => Arc::clone(&child.walker.setup().inputs),
            None => Arc::new(with_rules_above(&graph, inputs, &spec.manifest, meter)?),
        };
        let (state, results) = walker.shares_of_children();
        let share_of_steps =
            accounted.steps.saturating_add(task.map_or(0, |task| task.account().left_steps()));
        let reserved_fuel = task.map_or(0, |task| task.account().left());
        // A node's limit on fuel applies to components only.
        let components =
            task.and_then(|task| Some(task.dispatch()?.limits.fuel.min(task.account().components())));
        let components = components.filter(|most| *most != u64::MAX);
        let limits = walker.setup().manifest.run_limits();
        let whole = graph.timeout.min(limits.timeout);
        let run = RunLimits {
            fuel: accounted.fuel.saturating_add(accounted.host.fuel).saturating_add(reserved_fuel),
            timeout: limits.timeout.min(spec.limits.timeout),
            depth: limits.depth,
            calls: accounted.host.calls.saturating_add(spec.limits.calls),
            bytes: accounted.host.bytes.saturating_add(spec.limits.bytes),
            // The limit is that of the run that the share comes from, so that a child that uses it up ends like that run.
            steps: if limits.steps <= walker.max_total_steps() { share_of_steps } else { limits.steps },
            state,
            results,
            stored: accounted
                .host
                .stored
                .saturating_add(task.map_or(0, |task| task.account().left_of_host().stored)),
            model: accounted.host.model.plus(spec.limits.model),
            model_asks: limits.model_asks,
            model_of_nodes: accounted.host.model.plus(spec.limits.model_of_nodes),
            model_of_root: walker.models_of_root(),
        };
        let of_params = written.unwrap_or(WrittenLimits::NONE);
        let run = of_params.lower(run);
        let memory = (spec.limits.memory != u64::MAX).then_some(spec.limits.memory);
        let mut manifest = spec.manifest.narrowed(node.capabilities.as_ref(), memory).with_run_limits(run);
        if let Some(narrowing) = &spec.narrowing {
            manifest = manifest.narrowed_to(Some(narrowing), None);
        }
        // If the node's budget is the smallest one, using it up is a failure of the node.
        let own = task.and_then(Task::own_models).unwrap_or(ModelUse::UNBOUNDED);
        let budget = task.and_then(Task::dispatch).map_or(ModelUse::UNBOUNDED, |dispatch| dispatch.budget);
        let of_node = own.each(spec.limits.model, |own, had| if had < own { u64::MAX } else { own });
        let models_of_node = of_node.each(budget, |own, budget| if own == u64::MAX { own } else { budget });
        let manifest = parameters.narrow(&manifest, depth(namespace));
        let (reserved, dispatch) =
            task.map_or((0, 0), |task| (task.account().left_steps(), task.used().dispatches));
        Ok(PreparedChild {
            graph,
            manifest: Arc::new(manifest),
            inputs,
            steps: accounted.steps.saturating_add(reserved).min(of_params.steps),
            dispatch,
            timed_by_node: spec.limits.timeout != Duration::MAX && spec.limits.timeout < whole,
            models_of_node,
            warnings,
            work: task.map_or(0, |task| task.account().own_work()).saturating_add(opened),
            fuel_share: components.map(|most| accounted.fuel.saturating_add(most)),
            written,
            stored,
        })
    }

    /// Returns the graph that a task's item is or that its params contain, with the graph's params. A child run that
    /// has started keeps the document that it was started with.
    fn called<'s>(
        &self,
        namespace: &str,
        spec: &'s TaskSpec,
        meter: &Meter,
    ) -> Result<CalledGraph<'s>, NodeWorkError> {
        if HostItem::of_dispatch(spec.operation, spec.item_type, &spec.item_id).is_none() {
            let graph = graph_of(&self.root.setup().graphs, &spec.item_id).ok_or_else(|| {
                let message = format!("`{}` is no graph", spec.item_id);
                NodeWorkError::Failed(Failure::new(Category::Internal, message))
            })?;
            let params = Cow::Borrowed(&spec.params);
            return Ok(CalledGraph { graph: Arc::clone(graph), params, limits: None, stored: 0 });
        }
        let call = RunCall::read(&spec.params, meter)?;
        let (graph, stored) = match self.children.get(namespace) {
            Some(child) if child.written.is_some() => (Arc::clone(child.walker.graph()), 0),
            _ => call.load(meter).map(|(graph, length)| (Arc::new(graph), length))?,
        };
        Ok(CalledGraph { graph, params: Cow::Owned(call.inputs), limits: Some(call.limits), stored })
    }

    /// Lists the graphs from the root to one that is about to start: `a → b → b`.
    fn chain(&self, parent: &Arc<str>, last: &str) -> String {
        let mut ids = vec![last.to_owned()];
        let mut namespace = Arc::clone(parent);
        while let Some(child) = self.children.get(&namespace) {
            ids.push(child.walker.graph().id.clone());
            namespace = Arc::clone(&child.parent);
        }
        ids.push(self.root.graph().id.clone());
        ids.reverse();
        ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ")
    }

    /// Resumes a child run that has stopped. `untold`: it ran for this very dispatch, and a crash kept its task from
    /// being notified, so that a failure is the outcome.
    fn continue_child(
        &mut self,
        namespace: &Arc<str>,
        untold: bool,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let goes_on = self.can_go_on(namespace) && !(untold && self.has_failed(namespace));
        if let Some(child) = self.children.get_mut(namespace).filter(|_| untold) {
            child.timed_out = child.walker.has_run_out_of_time();
        }
        let lifted = self.lifted;
        let Some(child) = self.children.get_mut(namespace) else { return Ok(()) };
        let walker = &mut child.walker;
        if !walker.is_suspended() || !goes_on {
            return self.child_stopped(namespace, route);
        }
        walker.lift(lifted);
        if walker.check_limit(None).is_err() {
            // The run is at its limit, and stays there.
            return self.child_stopped(namespace, route);
        }
        self.wake(namespace);
        let walker = self.walker_mut(namespace)?;
        let effects = walker.continue_in(route.now(), BTreeMap::new(), None, route.slice_mut())?;
        route.push(namespace, effects);
        Ok(())
    }

    /// Returns `true` if a child run has failed or is at a limit, and has nothing to continue with in it or below it.
    fn has_failed(&self, namespace: &str) -> bool {
        let status = self.children.get(namespace).map(|child| child.walker.status());
        matches!(status, Some(Status::Failed | Status::Limit)) && !self.has_more(namespace)
    }

    /// Handles the stop of a child run: notifies its task of the outcome, if the task waits for it.
    pub(super) fn child_stopped(
        &mut self,
        namespace: &Arc<str>,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let used = self.used(namespace);
        let parent = self.children.get(namespace).and_then(|child| self.walker(&child.parent));
        let wraps = parent.is_some_and(|parent| parent.graph().dialect.wraps_nested_results());
        let Some(child) = self.children.get_mut(namespace) else { return Ok(()) };
        if child.attempt.take().is_none() {
            return Ok(());
        }
        let walker = &child.walker;
        let wraps = wraps && !rye::is_own_tool(&walker.graph().id);
        let mut warnings = std::mem::take(&mut child.warnings);
        let error = walker.error();
        let exhausted = error.and_then(|error| Some((error.budget?, error.node.clone())));
        let exceeded =
            exhausted.as_ref().and_then(|(budget, within)| exceeded(child, *budget, within.clone()));
        let end = match (walker.status(), walker.end()) {
            (status, Some(end)) if status.is_end() => {
                let path = walker.path();
                warnings.extend(walker.warnings().iter().map(|warning| format!("in `{path}`: {warning}")));
                if status == Status::CompletedWithErrors {
                    let id = &walker.graph().id;
                    warnings.push(format!("in `{path}`: graph `{id}` has completed with errors"));
                }
                let output = Value::clone(&end.output.0);
                ChildEnd::Output(if wraps { walker.nested_result(output, end.status) } else { output })
            }
            (status @ (Status::Interrupted | Status::Waiting), _) => {
                ChildEnd::Asks { waits: status == Status::Waiting }
            }
            (Status::Cancelled, _) => ChildEnd::Stopped,
            (Status::Limit, _) if exceeded.is_some() => exceeded.map_or(ChildEnd::Stopped, ChildEnd::Failed),
            (Status::Limit, _) if exhausted.is_some() => match exhausted {
                Some((budget, within)) => match used_up_of_node(child, budget) {
                    Some(failure) => ChildEnd::Failed(Failure { within, ..failure }),
                    None => ChildEnd::Exhausted { budget, within },
                },
                None => ChildEnd::Stopped,
            },
            (Status::Limit, _) if child.timed_out && child.timed_by_node => {
                let seconds = walker.setup().manifest.run_limits().timeout.as_secs_f64();
                let message = format!("its graph `{}` did not end within {seconds} s", walker.graph().id);
                ChildEnd::Failed(Failure::new(Category::Timeout, message))
            }
            (Status::Limit, _) => ChildEnd::Failed(failure(walker, Category::Limit)),
            _ => ChildEnd::Failed(failure(walker, Category::Permanent)),
        };
        let (parent, task) = (Arc::clone(&child.parent), Arc::clone(&child.task));
        // A wrapped result is built from the state, and the task may need it again.
        if !wraps {
            child.walker.drop_state();
        }
        let document =
            child.written.map_or(0, |_| HELD_PER_DOCUMENT * size::of(&child.walker.graph().document));
        let memory = child.walker.memory().saturating_add(document);
        let took = child.walker.take_time();
        self.end_child_task(&parent, &task, ChildStop { used, warnings, end, took, memory }, route)
    }

    /// Passes the outcome of a child run to its task.
    fn end_child_task(
        &mut self,
        parent: &Arc<str>,
        task: &Arc<str>,
        stop: ChildStop,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let walker = self.walker_mut(parent)?;
        let effects = walker.child_stopped_in(route.now(), task, stop, route.slice_mut());
        route.push(parent, effects?);
        Ok(())
    }

    /// Returns the use by a child run and the runs below it.
    pub(in crate::walker) fn used(&self, namespace: &str) -> ChildUsage {
        let Some(child) = self.children.get(namespace) else { return ChildUsage::default() };
        let walker = &child.walker;
        let mut used = walker.used();
        for name in names_below(&self.children, &prefix_below(namespace)) {
            let Some(below) = self.children.get(name) else { continue };
            if *below.parent == *namespace {
                let (theirs, accounted) = (self.used(name), walker.accounted(&below.task));
                used.fuel = used.fuel.saturating_add(theirs.fuel.saturating_sub(accounted.fuel));
                used.host = used.host.plus(theirs.host.less(accounted.host));
                used.steps = used.steps.saturating_add(theirs.steps.saturating_sub(accounted.steps));
                used.granted = used.granted.plus(theirs.granted.less(accounted.granted));
            }
        }
        used
    }
}

/// Returns the failure of a written graph that has used up a budget from its caller, or of which one step takes more
/// work than any may; `None` if the budget is that small for another reason.
fn exceeded(child: &Child, budget: Budget, within: Option<String>) -> Option<Failure> {
    let limits = child.walker.setup().manifest.run_limits();
    let own = child.written?;
    if budget == Budget::Work {
        let message = format!("in its graph `{}`, {}", child.walker.graph().id, FuelExhausted::Step);
        return Some(Failure { within, ..Failure::new(Category::Limit, message) });
    }
    if !own.sets(budget, &limits) {
        return None;
    }
    let message = format!(
        "its graph `{}` has used up the {} {} that `{}` among the `limits` of `{}` leave it",
        child.walker.graph().id,
        budget.written(budget.of(&limits)),
        budget.unit(budget.of(&limits)),
        budget.as_str(),
        HostItem::Run.id()
    );
    Some(Failure { within, ..Failure::new(Category::Limit, message) })
}

/// The graph of a child run, and its params.
struct CalledGraph<'s> {
    graph: Arc<Graph>,
    params: Cow<'s, Value>,
    /// The caller's limits of a written graph.
    limits: Option<WrittenLimits>,
    /// Number of bytes stored of a written graph's document.
    stored: u64,
}

/// The setup of a child run.
struct PreparedChild {
    graph: Arc<Graph>,
    manifest: Arc<Manifest>,
    inputs: Arc<Value>,
    /// Limit of supersteps in all dispatches together.
    steps: u64,
    /// Number of the task's dispatch, from 1.
    dispatch: u32,
    timed_by_node: bool,
    models_of_node: ModelUse,
    warnings: Vec<String>,
    /// Fuel of the host's work to prepare the inputs.
    work: u64,
    /// Fuel that components may use in all, if a node limits it.
    fuel_share: Option<u64>,
    /// The caller's limits of a written graph.
    written: Option<WrittenLimits>,
    /// Number of bytes stored of a written graph's document.
    stored: u64,
}

/// The params of a node as the inputs of its graph.
struct ChildInputs {
    /// The inputs, checked, with defaults filled in.
    inputs: Value,
    parameters: Parameters,
    warnings: Vec<String>,
}

fn child_inputs(
    graph: &Graph,
    node: &Node,
    params: &Value,
    meter: &Meter,
) -> Result<ChildInputs, NodeWorkError> {
    let id = &graph.id;
    let invalid = |message: String| NodeWorkError::Failed(Failure::new(Category::InvalidInput, message));
    meter.charge(size::of(params))?;
    let params = match params {
        Value::Null => Map::new(),
        Value::Object(params) => params.clone(),
        other => {
            let kind = crate::walker::state::reduce::kind(other);
            return Err(invalid(format!(
                "the inputs of graph `{id}` are a mapping, and its params are {kind}"
            )));
        }
    };
    let checked = check_inputs(graph, params, meter).map_err(|error| match error {
        InputsError::Exhausted(exhausted) => NodeWorkError::Exhausted(exhausted),
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
            "`resume_run_id` is `{run}`, and a child run is resumed with its parent run only"
        )));
    }
    // For a `foreach`, `async` means that its items are dispatched in parallel.
    let is_waited_for = parameters.detached && !matches!(node.kind, NodeKind::Foreach(_));
    let warnings = is_waited_for.then(|| {
        format!(
            "node `{}` starts graph `{id}` with `async`, and waits for it all the same: its run is part of this one",
            node.name
        )
    });
    Ok(ChildInputs { inputs, parameters, warnings: warnings.into_iter().collect() })
}

/// Returns the failure of a node whose own budget of models its child run has used up; `None` if the budget is another one.
fn used_up_of_node(child: &Child, budget: Budget) -> Option<Failure> {
    let figure = budget.figure()?;
    let most = figure.of(child.models_of_node);
    (most != u64::MAX).then(|| {
        let message = format!(
            "its graph `{}` has used up the node's `limits.{}`: {} {}",
            child.walker.graph().id,
            budget.as_str(),
            figure.written(most),
            figure.unit(most)
        );
        Failure::new(Category::Limit, message)
    })
}

/// Returns the failure of a task whose child run has stopped.
fn failure(walker: &Walker, otherwise: Category) -> Failure {
    let id = &walker.graph().id;
    let Some(RunError { category, message, node, .. }) = walker.error() else {
        return Failure::new(otherwise, format!("its graph `{id}` ended as {}", walker.status()));
    };
    let category = category.unwrap_or(otherwise);
    let mut failure = Failure::new(category, message.as_str());
    match node {
        // The failure of a node: the parent reports its message under the whole path.
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
