//! Tests of a used-up budget of language models, and of answers that add to it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::simulation::{Stored, setup_with};
use crate::graph::Graph;
use crate::walker::{
    Answers, Effect, Event, Graphs, HandleError, Resume, RunTree, Setup, Summary, TaskReport, TaskSpec,
};
use graph_core::capability::{Manifest, ModelPrice};
use graph_core::limits::{Budget, ModelFigure, ModelUse};
use graph_core::model_budget::ModelBudget;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::journal::{MODEL, USED, model_fault};
use graph_core::record::{
    CanonicalValue, Checkpoint, ErrorCode, InterruptRecord, JournalEntry, Record, Status,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

/// Price at which a token of each kind costs a millionth.
const PRICE: ModelPrice =
    ModelPrice { input: 1_000_000, output: 1_000_000, cached: 1_000_000, cache_write: 1_000_000 };

fn graph_of(id: &str, config: &str) -> Arc<Graph> {
    let text = format!("{{tool_type: graph, config: {{{config}}}}}");
    Arc::new(crate::document::load("g.yaml", &text, id).unwrap().graph)
}

/// Builds a graph of one task that asks a model `calls` times.
fn of_calls(calls: u64) -> Arc<Graph> {
    graph_of("t/g", &config_of(calls))
}

fn config_of(calls: u64) -> String {
    let task = format!(
        "{{action: {{item_id: t/asker, params: {{calls: {calls}}}}}, assign: {{a: \"${{result}}\"}}}}"
    );
    format!("start: a, nodes: {{a: {task}}}")
}

fn setup_of(graph: &Graph, graphs: Graphs, limits: &str) -> Setup {
    let text = format!("dispatch: [\"*\"]\n{limits}");
    let manifest = Manifest::parse(&text, "caps.yaml", "/p").unwrap().0;
    Setup { manifest: Arc::new(manifest), ..setup_with(graph, Arc::new(graphs), Durability::Sync) }
}

/// Acts as the component: asks a person first, if its params say so, then a model as often as they say, with requests
/// of ten tokens and answers of five.
fn component(spec: &TaskSpec) -> TaskReport {
    let given = &spec.params;
    if given["asks"] == true && spec.activation.answers.is_empty() {
        return TaskReport::new(Ok(Outcome::Interrupt(json!({ "question": "which?" }))), 1);
    }
    let mut budget = ModelBudget::new(spec.limits.model);
    let mut journal = Vec::new();
    for _ in 0..given["calls"].as_u64().unwrap_or(1) {
        match budget.reserve(10, 5, &PRICE) {
            Ok(ModelUse { output, .. }) => {
                let used = ModelUse { calls: 1, input: 10, output, cost: 10 + output };
                budget.settle(used);
                journal.push(entry(true, json!({ USED: used }).into()));
            }
            Err(shortage) => {
                let failure = Failure::new(Category::Limit, shortage.to_string());
                journal.push(entry(false, model_fault(&failure, shortage, ModelUse::NOTHING)));
                return TaskReport { journal, ..TaskReport::new(Err(failure), 1) };
            }
        }
    }
    let answers = &spec.activation.answers;
    let result = match answers.last() {
        Some(answer) if *answer == json!("wrong") => {
            Err(Failure::new(Category::InvalidInput, "there is no such thing"))
        }
        _ => Ok(Outcome::Result(json!(answers))),
    };
    TaskReport { journal, ..TaskReport::new(result, 1) }
}

fn entry(ok: bool, result: CanonicalValue) -> JournalEntry {
    JournalEntry {
        function: MODEL.1.to_owned(),
        interface: MODEL.0.to_owned(),
        ok,
        request: json!({}).into(),
        result,
    }
}

/// A run, with the store's content after each record.
struct Run {
    graph: Arc<Graph>,
    setup: Setup,
    tree: RunTree,
    stored: Stored,
    /// Content of the store after each record.
    after: Vec<Stored>,
    /// Limit of language models of each attempt.
    given: Vec<ModelUse>,
}

impl Run {
    fn start(graph: Arc<Graph>, graphs: Graphs, limits: &str) -> Self {
        Self::start_with(graph, graphs, limits, Durability::Sync)
    }

    fn start_with(graph: Arc<Graph>, graphs: Graphs, limits: &str, durability: Durability) -> Self {
        let setup = Setup { durability, ..setup_of(&graph, graphs, limits) };
        let tree = RunTree::new(Arc::clone(&graph), setup.clone());
        let (stored, after, given) = (Stored::default(), Vec::new(), Vec::new());
        let mut run = Self { graph, setup, tree, stored, after, given };
        run.handle(Event::Started).unwrap();
        run
    }

    /// Restores the run from an earlier content of the store.
    fn restored(&self, stored: &Stored) -> Self {
        let (graph, setup) = (Arc::clone(&self.graph), self.setup.clone());
        let tree = stored.restore(&graph, setup.clone()).unwrap();
        Self { graph, setup, tree, stored: stored.clone(), after: Vec::new(), given: Vec::new() }
    }

    fn handle(&mut self, event: Event) -> Result<(), HandleError> {
        let mut waiting = VecDeque::from([event]);
        while let Some(event) = waiting.pop_front() {
            for effect in self.tree.handle(Timestamp(1), event)? {
                match effect {
                    Effect::Persist(persist) => {
                        waiting.push_back(Event::Persisted(persist.id));
                        if let Record::Checkpoint(checkpoint) = &persist.record
                            && checkpoint.parent.is_none()
                        {
                            let inputs = self.tree.inputs_of(&checkpoint.namespace).unwrap();
                            self.stored.inputs.insert(checkpoint.namespace.clone(), Value::clone(&inputs));
                        }
                        self.stored.commit(*persist);
                        self.after.push(self.stored.clone());
                    }
                    Effect::Continue => waiting.push_back(Event::Continued),
                    Effect::RunTask(spec) => {
                        self.given.push(spec.limits.model);
                        waiting.push_back(ended(&spec, component(&spec)));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, answers: Answers) -> Result<(), HandleError> {
        self.handle(Event::Resumed(Resume { answers, ..Resume::default() }))
    }

    fn bare(&mut self, answer: Value) {
        self.answer(Answers::Bare(answer)).unwrap();
    }

    fn by_id(&mut self, answers: &[(&str, Value)]) {
        let answers = answers.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone())).collect();
        self.answer(Answers::ById(answers)).unwrap();
    }

    fn summary(&self) -> Summary {
        self.tree.summary()
    }

    fn status(&self) -> Status {
        self.summary().status
    }

    fn open(&self) -> Vec<InterruptRecord> {
        self.summary().interrupts
    }

    fn newest(&self) -> Checkpoint {
        self.stored.line("").pop().unwrap().1
    }
}

fn ended(spec: &TaskSpec, report: TaskReport) -> Event {
    Event::TaskDone { task: spec.activation.task.as_str().into(), attempt: spec.activation.attempt, report }
}

const TASK_ASKS: &str = "limits: { model: { calls: 2, when_used_up: ask } }";
const RUN_ASKS: &str = "run: { model: { calls: 2, when_used_up: ask } }";

#[test]
fn a_task_asks_for_more_of_its_own_budget() {
    let mut run = Run::start(of_calls(3), Graphs::default(), TASK_ASKS);
    let open = run.open();
    assert_eq!((run.status(), open.len()), (Status::Interrupted, 1));
    assert_eq!((open[0].id.as_str(), open[0].budget), ("1.0/0", Some(ModelFigure::Calls)));
    let payload = &open[0].payload.0;
    assert_eq!((&payload["figure"], &payload["whose"]), (&json!("calls"), &json!("task")));
    assert_eq!((&payload["needed"], &payload["left"], &payload["limit"]), (&json!(1), &json!(0), &json!(2)));
    let spent = json!({ "calls": 2, "input_tokens": 20, "output_tokens": 10, "cost": 0.000_03 });
    assert_eq!(payload["spent"], spent);
    assert_eq!(payload["line"], "limits: { model: { calls: 3 } }");

    run.bare(json!(1));
    assert_eq!(run.status(), Status::Completed);
    // The calls of the attempt that has ended count, and so do those of the next one.
    assert_eq!(run.summary().host.model.calls, 5);
    assert_eq!(run.given.iter().map(|most| most.calls).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(run.summary().state["a"], json!([]), "it is no answer of the component's");
    let task = &run.newest().tasks[0];
    assert_eq!(task.answers, [CanonicalValue::from(json!({ "calls": 1 }))]);
    assert_eq!((task.granted.as_slice(), task.dispatches), (&[0][..], 2));
    assert_eq!(run.newest().granted, ModelFigure::Calls.amount(1));
}

#[test]
fn an_answer_adds_to_the_budget_of_a_node_as_well() {
    let graph = graph_of(
        "t/g",
        "start: a, nodes: {a: {action: {item_id: t/asker, params: {calls: 3}}, limits: {model: {calls: 2}}}}",
    );
    let limits = "limits: { model: { calls: 9, when_used_up: ask } }";
    let mut run = Run::start(graph, Graphs::default(), limits);
    assert_eq!((run.status(), &run.open()[0].payload.0["whose"]), (Status::Interrupted, &json!("task")));
    // The node's budget is for all attempts together: two calls of five are used.
    run.bare(json!(3));
    assert_eq!(run.status(), Status::Completed);
    assert_eq!(run.given.iter().map(|most| most.calls).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(run.summary().host.model.calls, 5);
}

#[test]
fn an_answer_adds_to_the_budget_of_the_run_as_well() {
    let mut run =
        Run::start(of_calls(2), Graphs::default(), "run: { model: { calls: 1, when_used_up: ask } }");
    assert_eq!(run.open()[0].payload.0["whose"], "run");
    assert_eq!(run.open()[0].payload.0["line"], "run: { model: { calls: 2 } }");
    // The first call was made, and is made again.
    run.bare(json!(1));
    assert_eq!((run.status(), run.open()[0].id.as_str()), (Status::Interrupted, "1.0/1"));
    assert_eq!(run.open()[0].payload.0["limit"], 2);
    run.bare(json!({ "calls": 2, "cost": 1 }));
    assert_eq!(run.status(), Status::Completed);
    assert_eq!(run.given.iter().map(|most| most.calls).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!(run.summary().host.model.calls, 4);
    let granted = ModelUse { calls: 3, cost: 1_000_000, ..ModelUse::NOTHING };
    assert_eq!(run.newest().granted, granted);
}

#[test]
fn nothing_is_asked_unless_the_manifest_says_so() {
    let of_task = Run::start(of_calls(2), Graphs::default(), "limits: { model: { calls: 1 } }");
    assert_eq!(of_task.summary().error.unwrap().code, ErrorCode::NodeFailed);
    let of_run = Run::start(of_calls(2), Graphs::default(), "run: { model: { calls: 1 } }");
    assert_eq!(of_run.status(), Status::Limit);
    // The run's rest is less than the item's limit, and the other way round.
    let limits = "limits: { model: { calls: 9, when_used_up: ask } }\nrun: { model: { calls: 1 } }";
    assert_eq!(Run::start(of_calls(2), Graphs::default(), limits).status(), Status::Limit);
    let limits = "limits: { model: { calls: 1 } }\nrun: { model: { calls: 9, when_used_up: ask } }";
    assert_eq!(Run::start(of_calls(2), Graphs::default(), limits).status(), Status::Failed);
}

#[test]
fn an_answer_that_adds_nothing_ends_it_as_if_nothing_had_been_asked() {
    for stop in [json!(false), json!(null), json!("stop")] {
        let mut run = Run::start(of_calls(3), Graphs::default(), TASK_ASKS);
        run.bare(stop.clone());
        let error = run.summary().error.unwrap();
        assert_eq!((error.code, error.category), (ErrorCode::NodeFailed, Some(Category::Limit)));
        assert!(error.message.contains("it may need 1 call of models, and 0 of 2 are left"), "{error:?}");
        assert_eq!(run.given.len(), 1, "nothing is dispatched for that");
        // A later resume repeats the attempt, and asks again.
        run.answer(Answers::None).unwrap();
        assert_eq!((run.status(), run.open()[0].id.as_str()), (Status::Interrupted, "1.0/1"));

        let mut run = Run::start(of_calls(3), Graphs::default(), RUN_ASKS);
        run.bare(stop);
        let error = run.summary().error.unwrap();
        assert_eq!((run.status(), error.budget), (Status::Limit, Some(Budget::ModelCalls)));
        run.answer(Answers::None).unwrap();
        assert_eq!((run.status(), run.given.len()), (Status::Interrupted, 2));
    }
}

#[test]
fn what_a_graph_says_of_failures_holds_for_one_that_nothing_was_added_to() {
    let graph = graph_of(
        "t/g",
        "start: a, nodes: {a: {action: {item_id: t/asker, params: {calls: 3}}, on_error: b}, b: {assign: {b: 1}}}",
    );
    let mut run = Run::start(graph, Graphs::default(), TASK_ASKS);
    run.bare(json!("stop"));
    assert_eq!((run.status(), &run.summary().state["b"]), (Status::Completed, &json!(1)));
    assert_eq!(run.summary().state["_last_error"]["category"], "limit");
}

#[test]
fn other_answers_are_refused_and_nothing_is_lost() {
    let mut run = Run::start(of_calls(3), Graphs::default(), TASK_ASKS);
    let (before, stored) = (run.open(), run.after.len());
    for wrong in
        [json!("more"), json!(-1), json!(0), json!({ "tokens": 3 }), json!({}), json!(1e13), json!(true)]
    {
        let Err(HandleError::Refused { code, message }) = run.answer(Answers::Bare(wrong.clone())) else {
            panic!("{wrong} is taken")
        };
        assert_eq!(code, ErrorCode::AnswerNeeded);
        assert!(message.starts_with("the answer to `1.0/0` (a) is not accepted: "), "{message}");
        assert!(message.contains("a number such as `10` is added to `calls`"), "{message}");
    }
    assert_eq!((run.open(), run.after.len()), (before, stored));
    let update = Some(serde_json::Map::from_iter([("x".to_owned(), json!(1))]));
    let resume = Resume { answers: Answers::Bare(json!(1)), update, ..Resume::default() };
    let Err(HandleError::Refused { message, .. }) = run.handle(Event::Resumed(resume)) else {
        panic!("an edit starts the task anew")
    };
    assert!(message.contains("together with an edit of the state"), "{message}");
    assert!(matches!(run.answer(Answers::None), Err(HandleError::Refused { .. })), "an answer is needed");
    run.bare(json!(1));
    assert_eq!(run.status(), Status::Completed);
}

#[test]
fn answers_for_a_component_keep_their_order_among_those_for_the_host() {
    let graph = graph_of(
        "t/g",
        "start: [a, b], nodes: {a: {action: {item_id: t/asker, params: {calls: 3, asks: true}}, assign: {a: \"${result}\"}}, \
         b: {action: {item_id: t/asker, params: {calls: 0, asks: true}}, assign: {b: \"${result}\"}}}",
    );
    let mut run = Run::start(graph, Graphs::default(), TASK_ASKS);
    run.by_id(&[("1.0/0", json!("wrong"))]);
    let open: Vec<_> = run.open().into_iter().map(|asked| (asked.id, asked.budget)).collect();
    let both = [("1.0/1".to_owned(), Some(ModelFigure::Calls)), ("1.1/0".to_owned(), None)];
    assert_eq!(open, both, "both kinds of questions are open");
    run.by_id(&[("1.0/1", json!(1)), ("1.1/0", json!({ "calls": 7 }))]);
    // The attempt after the host's question was the first that could reject the answer before it.
    let open = run.open();
    assert_eq!((open.len(), open[0].id.as_str(), open[0].budget), (1, "1.0/2", None));
    assert_eq!(open[0].payload.0["rejected"], "there is no such thing");
    // An answer for the host cannot be replaced, as it may have been used; one for a component can.
    let again = Answers::ById(BTreeMap::from([("1.0/1".to_owned(), json!(5))]));
    assert!(matches!(run.answer(again), Err(HandleError::Refused { code: ErrorCode::UnknownInterrupt, .. })));
    run.by_id(&[("1.0/2", json!("right"))]);
    assert_eq!(run.status(), Status::Completed);
    assert_eq!(run.summary().state["a"], json!(["right"]));
    assert_eq!(run.summary().state["b"], json!([{ "calls": 7 }]));
    assert_eq!(run.newest().granted, ModelFigure::Calls.amount(1));
    let task = &run.newest().tasks[0];
    assert_eq!((task.granted.as_slice(), task.dropped.as_slice()), (&[1][..], &[0][..]));
}

#[test]
fn what_is_added_for_a_task_is_for_that_task_first() {
    let task = |calls: u64| format!("{{action: {{item_id: t/asker, params: {{calls: {calls}}}}}}}");
    let config = format!("start: [a, b], nodes: {{a: {}, b: {}}}", task(4), task(3));
    let mut run = Run::start(graph_of("t/g", &config), Graphs::default(), RUN_ASKS);
    assert_eq!(run.open().len(), 2);
    run.by_id(&[("1.0/0", json!(4)), ("1.1/0", json!(3))]);
    assert_eq!(run.status(), Status::Completed);
    assert_eq!(run.given.iter().map(|most| most.calls).collect::<Vec<_>>(), [1, 1, 4, 3]);
}

/// Builds three nested graphs, the innermost of which asks a model `calls` times.
fn nested(calls: u64) -> (Arc<Graph>, Graphs) {
    let inner = ("t/inner".to_owned(), graph_of("t/inner", &config_of(calls)));
    let node = |id: &str| format!("{{action: {{item_id: {id}}}, assign: {{a: \"${{result.a}}\"}}}}");
    let middle = graph_of("t/middle", &format!("start: m, nodes: {{m: {}}}", node("t/inner")));
    let outer = graph_of("t/g", &format!("start: [o, p], nodes: {{o: {}, p: {{}}}}", node("t/middle")));
    (outer, Graphs::from([inner, ("t/middle".to_owned(), middle)]))
}

#[test]
fn a_child_run_asks_and_the_answer_adds_to_every_budget_around_it() {
    for limits in [TASK_ASKS, RUN_ASKS] {
        let (graph, graphs) = nested(4);
        let mut run = Run::start(graph, graphs, limits);
        let open = run.open();
        assert_eq!((open[0].id.as_str(), open[0].node.as_str()), ("1.0/1.0/1.0/0", "o/m/a"), "{limits}");
        assert_eq!(open[0].budget, Some(ModelFigure::Calls));
        run.bare(json!(1));
        assert_eq!((run.status(), run.open()[0].id.as_str()), (Status::Interrupted, "1.0/1.0/1.0/1"));
        run.bare(json!(6));
        assert_eq!(run.status(), Status::Completed, "{limits}: {:?}", run.open());
        assert_eq!(run.newest().granted, ModelFigure::Calls.amount(7));
        let stopped = |answer: Value| {
            let (graph, graphs) = nested(4);
            let mut run = Run::start(graph, graphs, limits);
            run.bare(answer);
            run.summary()
        };
        let error = stopped(json!(false)).error.unwrap();
        assert_eq!(error.node.as_deref(), Some("o/m/a"));
        assert_eq!(error.budget.is_some(), limits == RUN_ASKS);
    }
}

#[test]
fn a_question_of_a_child_run_names_the_budget_of_the_run_at_the_top() {
    let each = "start: each, nodes: {each: {type: foreach, over: [1, 2, 3], as: n, parallel: true, action: {item_id: t/inner}}}";
    let graphs = Graphs::from([("t/inner".to_owned(), graph_of("t/inner", &config_of(1)))]);
    let asks = "run: { model: { calls: 2, when_used_up: ask } }";
    let mut run = Run::start(graph_of("t/g", each), graphs, asks);
    // The three runs share the two calls: the last one has none.
    let open = run.open();
    let payload = &open[0].payload.0;
    assert_eq!((open.len(), &payload["left"], &payload["limit"]), (1, &json!(0), &json!(2)), "{open:?}");
    assert_eq!(payload["line"], "run: { model: { calls: 3 } }");
    run.bare(json!(1));
    assert_eq!(run.status(), Status::Completed);
}

#[test]
fn every_crash_leads_to_the_same_end() {
    let answers = [json!("stop"), json!(1), json!({ "calls": 3, "input_tokens": 4 }), json!(9)];
    let durabilities = [Durability::Sync, Durability::Exit];
    for (limits, durability) in
        [TASK_ASKS, RUN_ASKS].into_iter().flat_map(|of| durabilities.map(|how| (of, how)))
    {
        for (graph, graphs) in [(of_calls(3), Graphs::default()), nested(3)] {
            let mut run = Run::start_with(graph, graphs, limits, durability);
            let whole = go_on(&mut run, &answers);
            assert_eq!(whole.0, Status::Completed);
            for (at, stored) in run.after.iter().enumerate() {
                let mut again = run.restored(stored);
                let given = stored.answers_of_tasks();
                let end = go_on(&mut again, &answers[given.min(answers.len())..]);
                assert_eq!(end, whole, "{limits}, {durability:?}, after {at} records");
            }
        }
    }
}

#[test]
fn every_crash_between_both_kinds_of_questions_leads_to_the_same_end() {
    let task = "{action: {item_id: t/asker, params: {calls: 3, asks: true}}, assign: {a: \"${result}\"}}";
    let graph = graph_of("t/g", &format!("start: a, nodes: {{a: {task}}}"));
    // Answers all questions; the first of the component with a value that it rejects.
    let finish = |run: &mut Run| {
        for _ in 0..6 {
            let answers = run.open().into_iter().map(|asked| {
                let again = asked.payload.0.get("rejected").is_some();
                let of_component = if again { json!("right") } else { json!("wrong") };
                (asked.id, if asked.budget.is_some() { json!(1) } else { of_component })
            });
            let answers: BTreeMap<_, _> = answers.collect();
            match run.status() {
                Status::Interrupted => run.answer(Answers::ById(answers)).unwrap(),
                Status::Running => run.answer(Answers::None).unwrap(),
                _ => break,
            }
        }
        let summary = run.summary();
        (summary.status, summary.state, run.newest().granted, summary.host.model)
    };
    let mut run = Run::start(graph, Graphs::default(), TASK_ASKS);
    let whole = finish(&mut run);
    assert_eq!((whole.0, &whole.1["a"], whole.2.calls), (Status::Completed, &json!(["right"]), 1));
    for (at, stored) in run.after.iter().enumerate() {
        assert_eq!(finish(&mut run.restored(stored)), whole, "after {at} records");
    }
}

/// Answers questions, and resumes after failures. Returns the status at the end, the use, and the additions.
fn go_on(run: &mut Run, answers: &[Value]) -> (Status, ModelUse, ModelUse) {
    let mut answers = answers.iter();
    for _ in 0..12 {
        match run.status() {
            Status::Interrupted => run.bare(answers.next().unwrap().clone()),
            Status::Failed | Status::Limit | Status::Running => run.answer(Answers::None).unwrap(),
            _ => break,
        }
    }
    (run.status(), run.summary().host.model, run.newest().granted)
}

#[test]
fn a_fork_and_an_edit_keep_what_was_added() {
    let graph = graph_of(
        "t/g",
        "start: a, nodes: {a: {action: {item_id: t/asker, params: {calls: 2}}, next: b}, b: {action: {item_id: t/asker, params: \
         {calls: 2}}}}",
    );
    let mut run = Run::start(graph, Graphs::default(), "run: { model: { calls: 2, when_used_up: ask } }");
    run.bare(json!(1));
    assert_eq!((run.status(), run.open()[0].id.as_str()), (Status::Interrupted, "2.0/1"));
    // New inputs drop the question, and the additions stay.
    let inputs = Some(serde_json::Map::from_iter([("x".to_owned(), json!(1))]));
    run.handle(Event::Resumed(Resume { inputs, ..Resume::default() })).unwrap();
    assert_eq!(run.newest().granted, ModelFigure::Calls.amount(1));
    assert_eq!(run.open()[0].payload.0["limit"], 3);
    run.bare(json!(2));
    assert_eq!(run.status(), Status::Completed);
    assert_eq!(run.newest().granted, ModelFigure::Calls.amount(3));
    assert_eq!(run.newest().host.model.calls, 5);
}

#[test]
fn records_of_runs_without_such_answers_do_not_mention_them() {
    let run = Run::start(of_calls(1), Graphs::default(), TASK_ASKS);
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    for signed in &run.stored.checkpoints {
        assert!(signed.open(&key).is_ok());
        assert!(!signed.body.contains("granted"), "{}", signed.body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// With any answers, and after a crash anywhere, the use is at most the budget with the additions.
    #[test]
    fn no_more_is_used_than_the_budget_and_what_was_added(
        calls in 1..5_u64,
        most in (0..4_u64, 0..60_u64, 0..30_u64),
        of_run: bool,
        is_nested: bool,
        answers in proptest::collection::vec(
            prop_oneof![
                (1..4_u64).prop_map(|calls| json!(calls)),
                (0..4_u64, 0..60_u64, 1..30_u64, 0..4_u64).prop_map(|(calls, input, output, cost)| {
                    json!({ "calls": calls, "input_tokens": input, "output_tokens": output, "cost": cost })
                }),
                Just(json!("stop")),
            ],
            0..8,
        ),
        crashes: bool,
    ) {
        let (calls_most, input, output) = most;
        let figures = format!("calls: {calls_most}, input_tokens: {input}, output_tokens: {output}, when_used_up: ask");
        let key = if of_run { "run" } else { "limits" };
        let (graph, graphs) = if is_nested { nested(calls) } else { (of_calls(calls), Graphs::default()) };
        let mut run = Run::start(graph, graphs, &format!("{key}: {{ model: {{ {figures} }} }}"));
        let limit = ModelUse { calls: calls_most, input, output, cost: u64::MAX };
        let mut added = ModelUse::NOTHING;
        for answer in answers {
            if run.status() != Status::Interrupted {
                break;
            }
            let asked = run.open().remove(0);
            let grant = graph_core::model_grant::ModelGrant::read(&answer, asked.budget.unwrap());
            let before = run.given.len();
            run.bare(answer);
            added = added.plus(grant.unwrap().added());
            let used = run.summary().host.model;
            if of_run {
                prop_assert_eq!(used.above(limit.raised(added)), None);
            }
            for given in &run.given[before..] {
                prop_assert_eq!(given.above(limit.raised(added)), None);
            }
            if crashes {
                let given = std::mem::take(&mut run.given);
                run = run.restored(&run.stored);
                run.given = given;
                prop_assert_eq!(run.summary().host.model, used);
            }
        }
    }
}
