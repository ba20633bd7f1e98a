//! Tests of limits and `capabilities` of nodes from templates: they only lower, and they are enforced.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::simulation::{Stored, setup_with};
use crate::graph::Graph;
use crate::walker::{Effect, Event, Graphs, Resume, RunTree, Setup, Summary, TaskReport, TaskSpec, TimerId};
use graph_core::capability::{DispatchPatterns, check_call};
use graph_core::limits::{Budget, ModelFigure, ModelUse, RunLimits, TaskLimits};
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::journal::{MODEL, USED, model_fault};
use graph_core::record::{CanonicalValue, JournalEntry, Record, Status};
use graph_core::time::Timestamp;

fn graph_of(id: &str, config: &str) -> Arc<Graph> {
    let text = format!("{{tool_type: graph, config: {{{config}}}}}");
    Arc::new(crate::document::load("g.yaml", &text, id).unwrap().graph)
}

/// A node with a template for every field that can have one.
const BOUNDED: &str = r#"start: a, nodes: {a: {action: {item_id: t/a}, timeout: "${inputs.timeout}", capabilities: "${inputs.may}",
    limits: {model: {calls: "${inputs.calls}", input_tokens: "${inputs.input}", output_tokens: "${inputs.output}", cost: "${inputs.cost}"}}}}"#;

/// A node that runs a graph with a budget of calls, and continues if the budget is used up.
const AROUND: &str = r#"start: a, nodes: {
    a: {action: {item_id: t/inner}, limits: {model: {calls: "${inputs.calls}"}}, capabilities: "${inputs.may}", on_error: b},
    b: {type: return, output: "${state._last_error}"}}"#;

const INNER: &str = "start: x, nodes: {x: {action: {item_id: t/x}, next: y}, y: {action: {item_id: t/y}}}";

struct Run {
    graph: Arc<Graph>,
    setup: Setup,
    tree: RunTree,
    stored: Stored,
}

impl Run {
    fn of(config: &str, inputs: Value, model: ModelUse) -> Self {
        let graph = graph_of("t/g", config);
        let graphs = Graphs::from([("t/inner".to_owned(), graph_of("t/inner", INNER))]);
        let setup = setup_with(&graph, Arc::new(graphs), Durability::Sync);
        let run = RunLimits { model, ..RunLimits::DEFAULT };
        let manifest = Arc::new((*setup.manifest).clone().with_run_limits(run));
        let setup = Setup { manifest, inputs: Arc::new(inputs), ..setup };
        let tree = RunTree::new(Arc::clone(&graph), setup.clone());
        Self { graph, setup, tree, stored: Stored::default() }
    }

    /// Handles an event, and returns the tasks to run next.
    fn handle(&mut self, event: Event) -> Vec<TaskSpec> {
        let (mut waiting, mut tasks) = (VecDeque::from([event]), Vec::new());
        while let Some(event) = waiting.pop_front() {
            for effect in self.tree.handle(Timestamp(1), event).unwrap() {
                match effect {
                    Effect::Persist(persist) => {
                        waiting.push_back(Event::Persisted(persist.id));
                        if let Record::Checkpoint(checkpoint) = &persist.record
                            && let Some(inputs) = self.tree.inputs_of(&checkpoint.namespace)
                        {
                            self.stored.keep_inputs(&checkpoint.namespace, &inputs);
                        }
                        self.stored.commit(*persist);
                    }
                    Effect::Continue => waiting.push_back(Event::Continued),
                    Effect::RunTask(spec) => tasks.push(*spec),
                    Effect::SetTimer { timer: timer @ TimerId::Retry { .. }, .. } => {
                        waiting.push_back(Event::TimerFired(timer));
                    }
                    _ => {}
                }
            }
        }
        tasks
    }

    fn start(&mut self) -> Vec<TaskSpec> {
        self.handle(Event::Started)
    }

    /// Restores the run after a crash, and returns the tasks to run next.
    fn crash(&mut self) -> Vec<TaskSpec> {
        self.tree = self.stored.restore(&self.graph, self.setup.clone()).unwrap();
        self.handle(Event::Resumed(Resume::default()))
    }

    fn end(&mut self, spec: &TaskSpec, result: Result<Outcome, Failure>, used: ModelUse) -> Vec<TaskSpec> {
        let mut report = TaskReport::new(result, 1);
        report.journal.push(asked(true, json!({ USED: used }).into()));
        self.ended(spec, report)
    }

    fn ended(&mut self, spec: &TaskSpec, report: TaskReport) -> Vec<TaskSpec> {
        let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
        self.handle(Event::TaskDone { task, attempt, report })
    }

    /// Ends an attempt that asked for more calls than it has.
    fn short_of_calls(&mut self, spec: &TaskSpec) -> Vec<TaskSpec> {
        let failure = Failure::new(Category::Limit, "it does not suffice");
        let result = model_fault(&failure, ModelFigure::Calls, ModelUse::NOTHING);
        let mut report = TaskReport::new(Err(failure), 1);
        report.journal.push(asked(false, result));
        self.ended(spec, report)
    }

    fn summary(&self) -> Summary {
        self.tree.summary()
    }
}

fn asked(ok: bool, result: CanonicalValue) -> JournalEntry {
    JournalEntry {
        function: MODEL.1.to_owned(),
        interface: MODEL.0.to_owned(),
        ok,
        request: json!({}).into(),
        result,
    }
}

fn calls(calls: u64) -> ModelUse {
    ModelUse { calls, ..ModelUse::NOTHING }
}

/// Returns the limits of a task without templates of its node.
fn untemplated() -> TaskLimits {
    let mut run = Run::of("start: a, nodes: {a: {action: {item_id: t/a}}}", json!({}), ModelUse::OF_RUN);
    run.start().remove(0).limits
}

fn result() -> Outcome {
    Outcome::Result(json!(1))
}

#[test]
fn templates_give_limits_and_null_gives_none() {
    let inputs = json!({ "timeout": 2, "calls": 3, "input": null, "output": 70.0, "cost": 0.25 });
    let spec = Run::of(BOUNDED, inputs, ModelUse::OF_RUN).start().remove(0);
    let expected = ModelUse { calls: 3, output: 70, cost: 250_000, ..ModelUse::OF_TASK };
    assert_eq!((spec.limits.model, spec.limits.timeout.as_secs()), (expected, 2));
    assert!(spec.narrowing.is_none());
    let spec = Run::of(BOUNDED, json!({}), ModelUse::OF_RUN).start().remove(0);
    assert_eq!(spec.limits, untemplated());
}

#[test]
fn what_cannot_be_read_fails_before_anything_is_dispatched() {
    for (inputs, about) in [
        (json!({ "calls": -1 }), "`limits.model.calls` must be a whole number, not negative, and is -1"),
        (json!({ "input": "100" }), "`limits.model.input_tokens` must be a whole number"),
        (json!({ "output": 1.5 }), "`limits.model.output_tokens` must be a whole number"),
        (json!({ "cost": [1] }), "`limits.model.cost` must be a number, not negative, and is a list"),
        (json!({ "timeout": "soon" }), "`timeout` must be a duration"),
        (json!({ "timeout": 0 }), "`timeout` must be a duration"),
        (json!({ "may": "execute.tool.*" }), "`capabilities` must be a list of dispatch patterns"),
        (json!({ "may": ["execute.tool.*", "run.tool.x"] }), "`capabilities` has an invalid entry"),
    ] {
        let mut run = Run::of(BOUNDED, inputs.clone(), ModelUse::OF_RUN);
        assert!(run.start().is_empty(), "{inputs}");
        let error = run.summary().error.unwrap();
        assert_eq!(error.category, Some(Category::InvalidInput), "{inputs}");
        assert!(error.message.contains(about), "{}", error.message);
    }
}

#[test]
fn a_node_whose_patterns_leave_its_item_out_is_denied() {
    for may in [json!([]), json!(["execute.tool.t.b"])] {
        let mut run = Run::of(BOUNDED, json!({ "may": may }), ModelUse::OF_RUN);
        assert!(run.start().is_empty());
        assert_eq!(run.summary().error.unwrap().category, Some(Category::Denied));
    }
}

#[test]
fn a_component_calls_only_what_the_patterns_cover() {
    let may = json!(["execute.tool.t.a", "execute.tool.t.lib.*"]);
    let spec = Run::of(BOUNDED, json!({ "may": may }), ModelUse::OF_RUN).start().remove(0);
    let call = |item| check_call(&spec.manifest, None, spec.narrowing.as_deref(), item, 1);
    assert!(call("t/lib/x").is_ok());
    assert_eq!(call("t/b").unwrap_err().category, Category::Denied);
}

#[test]
fn the_items_of_a_list_have_limits_of_their_own() {
    let config = r#"start: a, nodes: {a: {type: foreach, over: "${inputs.list}", parallel: true, action: {item_id: t/a},
        limits: {model: {calls: "${item}"}}}}"#;
    let mut run = Run::of(config, json!({ "list": [1, null, 7] }), ModelUse::OF_RUN);
    let specs = run.start();
    let calls: Vec<u64> = specs.iter().map(|spec| spec.limits.model.calls).collect();
    assert_eq!(calls, [1, ModelUse::OF_TASK.calls, 7]);
}

#[test]
fn a_node_that_says_nothing_of_a_figure_has_its_graphs() {
    let config = r#"start: a, limits: {model: {calls: 9, cost: 0.5}}, nodes: {a: {action: {item_id: t/a},
        limits: {model: {calls: "${inputs.calls}"}}}}"#;
    for (given, expected) in [(json!({ "calls": 20 }), 20), (json!({}), 9)] {
        let spec = Run::of(config, given, ModelUse::OF_RUN).start().remove(0);
        assert_eq!((spec.limits.model.calls, spec.limits.model.cost), (expected, 500_000));
    }
}

#[test]
fn all_attempts_of_a_task_share_the_budget() {
    let config = r#"start: a, nodes: {a: {action: {item_id: t/a}, retry: {max_attempts: 5}, limits: {model: {calls: "${inputs.calls}"}}}}"#;
    let mut run = Run::of(config, json!({ "calls": 5 }), ModelUse::OF_RUN);
    let first = run.start().remove(0);
    assert_eq!(first.limits.model.calls, 5);
    let down = || Err(Failure::new(Category::Transient, "down"));
    let second = run.end(&first, down(), calls(2)).remove(0);
    assert_eq!((second.activation.attempt, second.limits.model.calls), (2, 3));
    // After a crash the rest of the budget is the same.
    let again = run.crash().remove(0);
    assert_eq!((again.activation.attempt, again.limits.model.calls), (2, 3));
    let third = run.end(&again, down(), calls(3)).remove(0);
    assert_eq!(third.limits.model.calls, 0);
    assert!(run.short_of_calls(&third).is_empty());
    let summary = run.summary();
    let error = summary.error.unwrap();
    assert_eq!((summary.status, error.category, error.budget), (Status::Failed, Some(Category::Limit), None));
}

#[test]
fn a_budget_that_the_run_has_less_of_is_the_runs() {
    let config =
        r#"start: a, nodes: {a: {action: {item_id: t/a}, limits: {model: {calls: "${inputs.calls}"}}}}"#;
    for (of_run, expected) in [(3, Some(Budget::ModelCalls)), (4, None), (5, None)] {
        let mut run = Run::of(config, json!({ "calls": 4 }), ModelUse { calls: of_run, ..ModelUse::OF_RUN });
        let spec = run.start().remove(0);
        assert_eq!(spec.limits.model.calls, of_run.min(4));
        run.short_of_calls(&spec);
        assert_eq!(run.summary().error.unwrap().budget, expected, "{of_run}");
    }
}

#[test]
fn a_child_run_that_uses_up_its_nodes_budget_fails_the_node() {
    let mut run = Run::of(AROUND, json!({ "calls": 2 }), ModelUse::OF_RUN);
    let x = run.start().remove(0);
    assert_eq!((x.activation.node_id.as_str(), x.limits.model.calls), ("x", 2));
    let y = run.end(&x, Ok(result()), calls(1)).remove(0);
    assert_eq!(y.limits.model.calls, 1, "it is the budget of the whole child run");
    // A crash and the resume after it do not renew the budget.
    let again = run.crash();
    let y = again.first().unwrap_or(&y);
    assert_eq!((y.activation.node_id.as_str(), y.limits.model.calls), ("y", 1));
    run.short_of_calls(y);
    let summary = run.summary();
    assert_eq!(summary.status, Status::Completed, "{:?}", summary.error);
    let output = summary.output.unwrap();
    assert_eq!(output["category"], "limit");
    let message = output["error"].as_str().unwrap();
    assert!(message.contains("has used up the node's `limits.model.calls`: 2 calls of models"), "{message}");
    assert_eq!(output["models"], json!({ "calls": 1, "input_tokens": 0, "output_tokens": 0, "cost": 0 }));
    assert_eq!(summary.host.model, calls(1));
}

#[test]
fn a_task_knows_which_figures_come_from_nodes() {
    let of_nodes = |calls: u64| ModelUse { calls, ..ModelUse::UNBOUNDED };
    let started = |config: &str, inputs: u64, of_run: RunLimits| {
        let mut run = Run::of(config, json!({ "calls": inputs }), of_run.model);
        let manifest = Arc::new((*run.setup.manifest).clone().with_run_limits(of_run));
        run.setup.manifest = manifest;
        run.tree = RunTree::new(Arc::clone(&run.graph), run.setup.clone());
        let spec = run.start().remove(0);
        (run, spec)
    };
    let limited =
        |calls: u64| RunLimits { model: ModelUse { calls, ..ModelUse::OF_RUN }, ..RunLimits::DEFAULT };
    let single =
        r#"start: a, nodes: {a: {action: {item_id: t/a}, limits: {model: {calls: "${inputs.calls}"}}}}"#;
    for config in [single, AROUND] {
        for (of_run, expected) in [(9, of_nodes(2)), (2, of_nodes(2)), (1, ModelUse::UNBOUNDED)] {
            let (_, spec) = started(config, 2, limited(of_run));
            assert_eq!(spec.limits.model_of_nodes, expected, "{of_run}");
        }
    }
    // A limit of the graph raises no question.
    let (_, spec) = started(AROUND, 2, RunLimits { model_asks: true, ..limited(9) });
    assert_eq!(spec.limits.model_of_nodes, of_nodes(2));
    // The rest of the budget in the child run, also after a crash.
    let (mut run, x) = started(AROUND, 2, limited(9));
    let y = run.end(&x, Ok(result()), calls(1)).remove(0);
    assert_eq!(y.limits.model_of_nodes, of_nodes(1));
    let again = run.crash();
    assert_eq!(again[0].limits.model_of_nodes, of_nodes(1));
    let (_, without) = started("start: a, nodes: {a: {action: {item_id: t/a}}}", 0, limited(1));
    assert_eq!(without.limits.model_of_nodes, ModelUse::UNBOUNDED);
}

#[test]
fn a_child_run_that_uses_up_what_the_run_has_ends_the_run() {
    let mut run = Run::of(AROUND, json!({ "calls": 5 }), ModelUse { calls: 1, ..ModelUse::OF_RUN });
    let x = run.start().remove(0);
    assert_eq!(x.limits.model.calls, 1);
    run.short_of_calls(&x);
    let summary = run.summary();
    assert_eq!((summary.status, summary.error.unwrap().budget), (Status::Limit, Some(Budget::ModelCalls)));
}

#[test]
fn a_child_run_dispatches_what_the_patterns_cover() {
    let may = json!(["execute.tool.t.inner", "execute.tool.t.x"]);
    let mut run = Run::of(AROUND, json!({ "may": may }), ModelUse::OF_RUN);
    let x = run.start().remove(0);
    assert!(run.end(&x, Ok(result()), ModelUse::NOTHING).is_empty(), "`t/y` is left out");
    let output = run.summary().output.unwrap();
    assert_eq!(output["category"], "denied", "{output}");
}

/// Generates values as a state may contain them, few of which are limits or patterns.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        (0..100_u64).prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        Just(json!("5s")),
        Just(json!([])),
        Just(json!({ "calls": 1 })),
        any::<bool>().prop_map(|truth| json!(truth)),
    ]
}

fn patterns() -> impl Strategy<Value = Value> {
    let pattern = prop_oneof![
        Just(json!("execute.tool.t.a")),
        Just(json!("execute.tool.t.b")),
        Just(json!("execute.tool.*")),
        Just(json!("*")),
        Just(json!("load.knowledge.*")),
        Just(json!(7)),
        Just(json!("tool.t.a")),
    ];
    prop_oneof![proptest::collection::vec(pattern, 0..4).prop_map(|list| json!(list)), value()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn whatever_templates_give_only_lowers(
        figures in proptest::array::uniform4(value()),
        timeout in value(),
        may in patterns(),
        listed in proptest::collection::btree_set(prop_oneof![Just("execute.tool.t.a"), Just("execute.tool.t.b"), Just("load.knowledge.n")], 0..4),
    ) {
        let [calls, input, output, cost] = figures;
        let inputs = json!({ "calls": calls, "input": input, "output": output, "cost": cost, "timeout": timeout, "may": may });
        let mut run = Run::of(BOUNDED, inputs, ModelUse::OF_RUN);
        let manifest = (*run.setup.manifest).clone().with_dispatch(DispatchPatterns::parse(listed).unwrap());
        run.setup.manifest = Arc::new(manifest);
        run.tree = RunTree::new(Arc::clone(&run.graph), run.setup.clone());
        let manifest = Arc::clone(&run.setup.manifest);
        if let Some(spec) = run.start().pop() {
            let without = untemplated();
            prop_assert_eq!(spec.limits.min(without), spec.limits);
            for item in ["t/a", "t/b", "t/c"] {
                let allowed = check_call(&spec.manifest, None, spec.narrowing.as_deref(), item, 1).is_ok();
                let allowed_without = check_call(&manifest, None, None, item, 1).is_ok();
                prop_assert!(!allowed || allowed_without, "{}", item);
            }
            prop_assert!(check_call(&spec.manifest, None, spec.narrowing.as_deref(), "t/a", 1).is_ok());
        } else {
            let category = run.summary().error.unwrap().category;
            prop_assert!(matches!(category, Some(Category::InvalidInput | Category::Denied)), "{:?}", category);
        }
    }
}
