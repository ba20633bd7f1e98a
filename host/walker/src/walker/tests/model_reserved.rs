//! Tests of reservations for language models: they are recorded before an attempt asks, and count if the attempt has no result.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::json;

use super::simulation::{Stored, setup};
use crate::graph::Graph;
use crate::walker::{Effect, Event, Resume, RunTree, Setup, Summary, TaskReport, TaskSpec};
use graph_core::limits::{Budget, ModelFigure, ModelUse, RunLimits};
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::journal::{MODEL, USED, model_fault};
use graph_core::record::{
    CanonicalValue, Checkpoint, ErrorCode, JournalEntry, ModelReservation, Record, Status,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

const LOST: ModelUse = ModelUse { calls: 1, input: 40, output: 10, cost: 7 };
const USED_LATER: ModelUse = ModelUse { calls: 1, input: 4, output: 3, cost: 2 };

fn graph() -> Arc<Graph> {
    graph_of("start: a, nodes: {a: {action: {item_id: t/double}}}")
}

fn graph_of(config: &str) -> Arc<Graph> {
    let text = format!("{{tool_type: graph, config: {{{config}}}}}");
    Arc::new(crate::document::load("g.yaml", &text, "t/g").unwrap().graph)
}

/// Returns the setup of a run with a budget of language models.
fn setup_of(graph: &Graph, model: ModelUse) -> Setup {
    let setup = setup(graph, Durability::Sync);
    let manifest = (*setup.manifest).clone().with_run_limits(RunLimits { model, ..RunLimits::DEFAULT });
    Setup { manifest: Arc::new(manifest), ..setup }
}

/// Effects of an event, without records, which are stored at once.
#[derive(Default)]
struct Asked {
    tasks: Vec<TaskSpec>,
    hooks: Vec<TaskSpec>,
    recorded: Vec<(Arc<str>, u32)>,
}

fn handle(tree: &mut RunTree, stored: &mut Stored, event: Event) -> Asked {
    let (mut waiting, mut asked) = (VecDeque::from([event]), Asked::default());
    while let Some(event) = waiting.pop_front() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => {
                    waiting.push_back(Event::Persisted(persist.id));
                    stored.commit(*persist);
                }
                Effect::Continue => waiting.push_back(Event::Continued),
                Effect::RunTask(spec) => asked.tasks.push(*spec),
                Effect::RunHook(spec) => asked.hooks.push(spec.call),
                Effect::ModelRecorded { task, attempt } => asked.recorded.push((task, attempt)),
                _ => {}
            }
        }
    }
    asked
}

fn reserve(tree: &mut RunTree, stored: &mut Stored, spec: &TaskSpec, model: ModelUse) -> usize {
    let (task, attempt) = (Arc::from(spec.activation.task.as_str()), spec.activation.attempt);
    handle(tree, stored, Event::ModelReserved { task, attempt, model, name: Some("fast".into()) })
        .recorded
        .len()
}

/// Returns lost use by model, all of it of `fast`.
fn of_fast(lost: ModelUse) -> BTreeMap<String, ModelUse> {
    if lost.is_nothing() { BTreeMap::new() } else { BTreeMap::from([("fast".to_owned(), lost)]) }
}

fn done(spec: &TaskSpec, used: ModelUse, lost: ModelUse) -> Event {
    let mut report = TaskReport::new(Ok(Outcome::Result(json!(1))), 1);
    report.lost = lost;
    report.lost_models = of_fast(lost);
    report.journal.push(asked(true, json!({ USED: used }).into()));
    ended(spec, report)
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

fn ended(spec: &TaskSpec, report: TaskReport) -> Event {
    Event::TaskDone { task: spec.activation.task.as_str().into(), attempt: spec.activation.attempt, report }
}

/// Runs a graph of one task, whose report is made from its limit.
fn run_of(model: ModelUse, report: impl Fn(ModelUse) -> TaskReport) -> Summary {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup_of(&graph, model));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let report = report(spec.limits.model);
    handle(&mut tree, &mut stored, ended(&spec, report));
    tree.summary()
}

/// Returns the report of a component that a figure of the budget ended.
fn short_of(figure: ModelFigure) -> TaskReport {
    let failure = Failure::new(Category::Limit, "it does not suffice");
    let mut report = TaskReport::new(Err(failure.clone()), 1);
    report.journal.push(asked(false, model_fault(&failure, figure, ModelUse::NOTHING)));
    report
}

fn newest(stored: &Stored) -> Checkpoint {
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    match stored.checkpoints.last().unwrap().open(&key).unwrap() {
        Record::Checkpoint(checkpoint) => *checkpoint,
        _ => panic!("a checkpoint"),
    }
}

#[test]
fn what_a_crash_leaves_unknown_counts_and_is_left_out_of_no_replay() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let most = spec.limits.model;
    assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 1, "the attempt may ask");

    // The host crashes. The next attempt has less left, and the lost use is in the checkpoint.
    let mut restored = stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    let asked = handle(&mut restored, &mut stored, Event::Resumed(Resume::default()));
    let again = &asked.tasks[0];
    assert_eq!(again.activation.attempt, 1);
    assert_eq!(again.limits.model, most.less(LOST), "it has less left");
    handle(&mut restored, &mut stored, done(again, USED_LATER, ModelUse::NOTHING));
    let checkpoint = newest(&stored);
    assert_eq!((checkpoint.tasks[0].lost, checkpoint.host.model), (LOST, LOST.plus(USED_LATER)));
    assert_eq!(checkpoint.tasks[0].lost_models, of_fast(LOST), "and which model was asked");

    // A replay gets the lost use with the task's report, and has the same outcome.
    let mut replay = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let mut replayed = Stored::default();
    let spec = handle(&mut replay, &mut replayed, Event::Started).tasks.remove(0);
    handle(&mut replay, &mut replayed, done(&spec, USED_LATER, LOST));
    let again = newest(&replayed);
    assert_eq!((again.tasks[0].lost, again.host.model), (checkpoint.tasks[0].lost, checkpoint.host.model));
    assert_eq!(again.tasks[0].lost_models, checkpoint.tasks[0].lost_models);
    assert_eq!(
        (again.result, again.tasks[0].dispatches),
        (checkpoint.result, checkpoint.tasks[0].dispatches)
    );
}

#[test]
fn what_an_attempt_has_used_counts_instead_of_what_it_might_have() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    reserve(&mut tree, &mut stored, &spec, LOST);
    handle(&mut tree, &mut stored, done(&spec, USED_LATER, ModelUse::NOTHING));
    let checkpoint = newest(&stored);
    assert_eq!((checkpoint.tasks[0].lost, checkpoint.host.model), (ModelUse::NOTHING, USED_LATER));
}

#[test]
fn an_attempt_that_is_killed_counts_what_it_might_have_used() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    reserve(&mut tree, &mut stored, &spec, LOST);
    handle(&mut tree, &mut stored, Event::KillRequested);
    assert_eq!(tree.summary().host.model, LOST);
    assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 0, "it may not ask any more");
    let mut restored = stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
    assert_eq!(restored.summary().host.model, LOST);
    let asked = handle(&mut restored, &mut stored, Event::Resumed(Resume::default()));
    handle(&mut restored, &mut stored, done(&asked.tasks[0], USED_LATER, ModelUse::NOTHING));
    let checkpoint = newest(&stored);
    assert_eq!(checkpoint.host.model, LOST.plus(USED_LATER));
    assert_eq!(checkpoint.tasks[0].lost_models, of_fast(LOST));
}

#[test]
fn two_crashes_in_one_task_are_counted_by_the_models_that_were_asked() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let mut spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    for name in [Some("fast"), Some("careful"), Some("fast"), None] {
        let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
        let name = name.map(Arc::from);
        handle(&mut tree, &mut stored, Event::ModelReserved { task, attempt, model: LOST, name });
        tree = stored.restore(&graph, setup(&graph, Durability::Sync)).unwrap();
        spec = handle(&mut tree, &mut stored, Event::Resumed(Resume::default())).tasks.remove(0);
    }
    handle(&mut tree, &mut stored, done(&spec, USED_LATER, ModelUse::NOTHING));
    let task = &newest(&stored).tasks[0];
    let twice = LOST.plus(LOST);
    let by_model = BTreeMap::from([("careful".to_owned(), LOST), ("fast".to_owned(), twice)]);
    assert_eq!((task.lost, &task.lost_models), (twice.plus(twice), &by_model), "one of them is not known");
}

/// A reservation in the form from before it named the model.
#[test]
fn a_reservation_without_a_name_is_read_and_written_as_it_was() {
    let text = r#"{"dispatch":2,"model":{"calls":1,"input":3}}"#;
    let reserved: ModelReservation = serde_json::from_str(text).unwrap();
    assert_eq!((reserved.dispatch, reserved.name.as_deref()), (2, None));
    assert_eq!(serde_json::to_string(&reserved).unwrap(), text);
}

#[test]
fn an_attempt_of_a_run_that_stores_nothing_meanwhile_does_not_wait() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Exit));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let before = stored.checkpoints.len();
    assert_eq!((reserve(&mut tree, &mut stored, &spec, LOST), stored.checkpoints.len()), (1, before));
}

#[test]
fn an_attempt_waits_until_its_reservation_is_on_record() {
    let graph = graph();
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup(&graph, Durability::Sync));
    let spec = handle(&mut tree, &mut stored, Event::Started).tasks.remove(0);
    let task: Arc<str> = spec.activation.task.as_str().into();
    let event =
        Event::ModelReserved { task: Arc::clone(&task), attempt: 1, model: LOST, name: Some("fast".into()) };
    let mut effects = tree.handle(Timestamp(1), event).unwrap();
    let Some(Effect::Persist(persist)) = effects.pop() else { panic!("{effects:?}") };
    assert!(effects.is_empty(), "it may not ask yet: {effects:?}");
    let Record::Answers(answers) = &persist.record else { panic!("{:?}", persist.record) };
    let reserved = ModelReservation {
        dispatch: 1,
        model: LOST,
        name: Some("fast".to_owned()),
        lost: ModelUse::NOTHING,
        lost_models: BTreeMap::new(),
    };
    assert_eq!(answers.reserved, Some(reserved));
    let asked = handle(&mut tree, &mut stored, Event::Persisted(persist.id));
    assert_eq!(asked.recorded, [(task, 1)]);
}

#[test]
fn one_report_of_the_store_is_about_all_reservations_before_it() {
    let graph = graph_of("start: [a, b], nodes: {a: {action: {item_id: t/a}}, b: {action: {item_id: t/b}}}");
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup_of(&graph, ModelUse::OF_RUN));
    let specs = handle(&mut tree, &mut stored, Event::Started).tasks;
    let mut newest = None;
    for spec in &specs {
        let task = spec.activation.task.as_str().into();
        let effects = tree
            .handle(Timestamp(1), Event::ModelReserved { task, attempt: 1, model: LOST, name: None })
            .unwrap();
        for effect in effects {
            if let Effect::Persist(persist) = effect {
                newest = Some(persist.id);
            }
        }
    }
    let recorded = handle(&mut tree, &mut stored, Event::Persisted(newest.unwrap())).recorded;
    let names: Vec<_> = specs.iter().map(|spec| (Arc::from(spec.activation.task.as_str()), 1)).collect();
    assert_eq!(recorded, names);
}

#[test]
fn what_an_attempt_that_has_ended_had_reserved_is_not_charged_again() {
    let graph = graph_of("start: [a, b], nodes: {a: {action: {item_id: t/a}}, b: {action: {item_id: t/b}}}");
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup_of(&graph, ModelUse::OF_RUN));
    let specs = handle(&mut tree, &mut stored, Event::Started).tasks;
    reserve(&mut tree, &mut stored, &specs[0], LOST);
    handle(&mut tree, &mut stored, done(&specs[0], USED_LATER, ModelUse::NOTHING));

    // A crash before the superstep commits, and then a kill.
    let restored = stored.restore(&graph, setup_of(&graph, ModelUse::OF_RUN)).unwrap();
    assert_eq!(restored.summary().host.model, USED_LATER);
    handle(&mut tree, &mut stored, Event::KillRequested);
    assert_eq!(tree.summary().host.model, USED_LATER);
}

#[test]
fn a_request_under_way_is_a_part_of_what_a_task_forfeits() {
    let graph = graph_of("start: [a, b], nodes: {a: {action: {item_id: t/a}}, b: {action: {item_id: t/b}}}");
    let charged = |asks: bool| {
        let mut stored = Stored::default();
        let setup = setup(&graph, Durability::Sync);
        let manifest = (*setup.manifest).clone();
        let limits = RunLimits { results: 1 << 10, ..RunLimits::DEFAULT };
        let setup = Setup { manifest: Arc::new(manifest.with_run_limits(limits)), ..setup };
        let mut tree = RunTree::new(Arc::clone(&graph), setup);
        let specs = handle(&mut tree, &mut stored, Event::Started).tasks;
        if asks {
            assert_eq!(reserve(&mut tree, &mut stored, &specs[0], LOST), 1);
        }
        // The other task returns more than a run may hold.
        let report = TaskReport::new(Ok(Outcome::Result(json!("x".repeat(1 << 12)))), 1);
        handle(&mut tree, &mut stored, ended(&specs[1], report));
        assert_eq!(tree.summary().error.unwrap().budget, Some(Budget::Results));
        tree.summary().host.model
    };
    assert_eq!(charged(true), charged(false));
}

#[test]
fn a_figure_of_the_run_that_does_not_suffice_ends_the_run() {
    for (figure, budget) in [
        (ModelFigure::Calls, Budget::ModelCalls),
        (ModelFigure::InputTokens, Budget::ModelInputTokens),
        (ModelFigure::OutputTokens, Budget::ModelOutputTokens),
        (ModelFigure::Cost, Budget::ModelCost),
    ] {
        let little = ModelUse { calls: 3, input: 100, output: 50, cost: 7 };
        let summary = run_of(little, |may| {
            assert_eq!(may, little, "it is given what the run has");
            short_of(figure)
        });
        assert_eq!(summary.status, Status::Limit);
        let error = summary.error.unwrap();
        assert_eq!((error.code, error.budget), (ErrorCode::Limit, Some(budget)));
        assert!(
            error.message.contains(&format!("`run: {{ model: {{ {}: ", figure.key())),
            "{}",
            error.message
        );
    }
}

#[test]
fn a_figure_of_the_task_that_does_not_suffice_fails_the_task() {
    let summary = run_of(ModelUse::OF_RUN, |may| {
        assert_eq!(may, ModelUse::OF_TASK);
        short_of(ModelFigure::Calls)
    });
    let error = summary.error.unwrap();
    assert_eq!(summary.status, Status::Failed);
    assert_eq!(
        (error.code, error.budget, error.category),
        (ErrorCode::NodeFailed, None, Some(Category::Limit))
    );
}

#[test]
fn a_provider_that_counts_more_than_the_task_may_use_fails_the_task() {
    let summary = run_of(ModelUse::OF_RUN, |may| {
        let used = ModelUse { calls: 1, output: may.output + 1, ..ModelUse::NOTHING };
        let failure = Failure::new(Category::Limit, "too much");
        let result = model_fault(&failure, ModelFigure::OutputTokens, used);
        let mut report = TaskReport::new(Err(failure), 1);
        report.journal.push(asked(false, result));
        report
    });
    let error = summary.error.unwrap();
    assert_eq!((summary.status, error.budget), (Status::Failed, None));
    assert_eq!(summary.host.model.output, ModelUse::OF_TASK.output + 1, "all of it is charged");
}

#[test]
fn a_provider_that_counts_more_than_the_run_has_ends_the_run() {
    let summary = run_of(ModelUse { output: 50, ..ModelUse::OF_RUN }, |may| {
        let used = ModelUse { calls: 1, output: may.output + 1, ..ModelUse::NOTHING };
        let mut report = TaskReport::new(Ok(Outcome::Result(json!(1))), 1);
        report.journal.push(asked(true, json!({ USED: used }).into()));
        report
    });
    assert_eq!((summary.status, summary.state.len()), (Status::Limit, 0));
    assert_eq!(summary.error.unwrap().budget, Some(Budget::ModelOutputTokens));
}

/// Returns the end of a hook with this use.
fn hook_done(spec: &TaskSpec, used: ModelUse, lost: ModelUse) -> Event {
    let Event::TaskDone { task, report, .. } = done(spec, used, lost) else { panic!("a report") };
    Event::HookDone { hook: task, report }
}

/// Runs up to the first hook: about a step, about the start of a run, or about the failure of a task.
fn up_to_hook(tree: &mut RunTree, stored: &mut Stored, first: Event) -> TaskSpec {
    let mut asked = handle(tree, stored, first);
    while asked.hooks.is_empty() {
        let spec = asked.tasks.remove(0);
        let fails = spec.item_id == "t/fails";
        let failed = || Err(Failure::new(Category::Permanent, "broken"));
        let result = if fails { failed() } else { Ok(Outcome::Result(json!(1))) };
        asked = handle(tree, stored, ended(&spec, TaskReport::new(result, 1)));
    }
    asked.hooks.remove(0)
}

#[test]
fn what_a_hook_asks_of_a_model_counts_after_a_crash_too() {
    let continues = "{id: on, event: error, action: {continue: true}}";
    for (hook, item) in [("after_step", "t/double"), ("graph_started", "t/double"), ("error", "t/fails")] {
        let graph = graph_of(&format!(
            "start: a, hooks: [{{id: h, event: {hook}, action: {{item_id: t/hook}}}}, {continues}], nodes: {{a: {{action: {{item_id: {item}}}, next: \
             b}}, b: {{action: {{item_id: t/double}}}}}}"
        ));
        let setup = || setup_of(&graph, ModelUse::OF_RUN);
        let mut stored = Stored::default();
        let mut tree = RunTree::new(Arc::clone(&graph), setup());
        let first = up_to_hook(&mut tree, &mut stored, Event::Started);
        assert_eq!(reserve(&mut tree, &mut stored, &first, LOST), 1, "{hook}: it may ask");

        // The host crashes twice. The hook is asked again, with less left.
        let mut again = first.clone();
        for crashes in 1..=2_u64 {
            tree = stored.restore(&graph, setup()).unwrap();
            again = up_to_hook(&mut tree, &mut stored, Event::Resumed(Resume::default()));
            assert_eq!(again.activation.task, first.activation.task);
            let lost = (0..crashes).fold(ModelUse::NOTHING, |sum, _| sum.plus(LOST));
            assert_eq!(tree.summary().host.model, lost, "{hook}");
            assert_eq!(reserve(&mut tree, &mut stored, &again, LOST), 1);
        }
        let lost = LOST.plus(LOST);
        let asked = handle(&mut tree, &mut stored, hook_done(&again, USED_LATER, ModelUse::NOTHING));
        assert_eq!(tree.summary().host.model, lost.plus(USED_LATER), "{hook}");
        // A crash after that changes nothing.
        drop(asked);
        tree = stored.restore(&graph, setup()).unwrap();
        assert_eq!(tree.summary().host.model, lost.plus(USED_LATER), "{hook}");
    }
}

#[test]
fn a_hook_that_is_killed_counts_what_it_might_have_used() {
    let graph = graph_of(
        "start: a, hooks: [{id: h, event: after_step, action: {item_id: t/hook}}], nodes: {a: {action: {item_id: t/double}}}",
    );
    let setup = || setup_of(&graph, ModelUse::OF_RUN);
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup());
    let spec = up_to_hook(&mut tree, &mut stored, Event::Started);
    reserve(&mut tree, &mut stored, &spec, LOST);
    handle(&mut tree, &mut stored, Event::KillRequested);
    assert_eq!(tree.summary().host.model, LOST);
    assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 0, "it may not ask any more");
    assert_eq!(stored.restore(&graph, setup()).unwrap().summary().host.model, LOST);
}

fn hook_failed(spec: &TaskSpec, used: ModelUse) -> Event {
    let mut report = TaskReport::new(Err(Failure::new(Category::Permanent, "broken")), 5);
    report.journal.push(asked(true, json!({ USED: used }).into()));
    Event::HookDone { hook: spec.activation.task.as_str().into(), report }
}

#[test]
fn what_a_hook_had_used_before_it_is_asked_again_survives_a_crash() {
    let graph = graph_of(
        "start: a, hooks: [{id: h, event: graph_started, required: true, action: {item_id: t/hook}}], nodes: {a: {action: {item_id: t/double}}}",
    );
    let setup = || setup_of(&graph, ModelUse::OF_RUN);
    for is_killed in [false, true] {
        let mut stored = Stored::default();
        let mut tree = RunTree::new(Arc::clone(&graph), setup());
        let spec = up_to_hook(&mut tree, &mut stored, Event::Started);
        handle(&mut tree, &mut stored, hook_failed(&spec, USED_LATER));
        let again = up_to_hook(&mut tree, &mut stored, Event::Resumed(Resume::default()));
        assert_eq!(again.activation.task, spec.activation.task);
        reserve(&mut tree, &mut stored, &again, LOST);
        if is_killed {
            handle(&mut tree, &mut stored, Event::KillRequested);
        }
        let tree = stored.restore(&graph, setup()).unwrap();
        assert_eq!((tree.summary().host.model, tree.summary().fuel), (USED_LATER.plus(LOST), 5));
    }
}

#[test]
fn a_hook_that_is_killed_counts_also_if_nothing_was_stored_until_then() {
    for event in ["after_step", "graph_started"] {
        let graph = graph_of(&format!(
            "start: a, hooks: [{{id: h, event: {event}, action: {{item_id: t/hook}}}}], \
             nodes: {{a: {{action: {{item_id: t/double}}, next: b}}, b: {{action: {{item_id: t/double}}}}}}"
        ));
        let setup = || Setup { durability: Durability::Exit, ..setup_of(&graph, ModelUse::OF_RUN) };
        let mut stored = Stored::default();
        let mut tree = RunTree::new(Arc::clone(&graph), setup());
        let spec = up_to_hook(&mut tree, &mut stored, Event::Started);
        assert_eq!(reserve(&mut tree, &mut stored, &spec, LOST), 1, "it need not wait");
        handle(&mut tree, &mut stored, Event::KillRequested);
        assert_eq!(tree.summary().host.model, LOST, "{event}");
        assert_eq!(stored.restore(&graph, setup()).unwrap().summary().host.model, LOST, "{event}");
    }
}

#[test]
fn a_hook_that_is_asked_again_may_use_what_is_left() {
    let most = ModelUse { calls: 10, input: 100, output: 20, cost: 100 };
    for event in ["error", "after_step"] {
        let fails = if event == "error" { "t/fails" } else { "t/double" };
        let graph = graph_of(&format!(
            "start: a, hooks: [{{id: h, event: {event}, action: {{item_id: t/hook}}}}], nodes: {{a: {{action: {{item_id: {fails}}}}}}}"
        ));
        let setup = || setup_of(&graph, most);
        let mut stored = Stored::default();
        let mut tree = RunTree::new(Arc::clone(&graph), setup());
        let mut spec = up_to_hook(&mut tree, &mut stored, Event::Started);
        let mut left = spec.limits.model;
        for _ in 0..2 {
            reserve(&mut tree, &mut stored, &spec, LOST);
            tree = stored.restore(&graph, setup()).unwrap();
            spec = up_to_hook(&mut tree, &mut stored, Event::Resumed(Resume::default()));
            left = left.less(LOST);
            assert_eq!(spec.limits.model, left, "{event}");
        }
    }
}

/// Limits of tasks are the same after a crash, after a kill, and in a replay.
#[test]
fn what_a_hook_has_lost_is_left_out_of_what_tasks_may_use() {
    let most = ModelUse { calls: 10, input: 100, output: 20, cost: 100 };
    let graph = graph_of(
        "start: a, hooks: [{id: h, event: graph_started, action: {item_id: t/hook}}], nodes: {a: {action: {item_id: t/double}, next: b}, b: {action: {item_id: t/double}}}",
    );
    let setup = || setup_of(&graph, most);
    for how in ["crash", "kill", "replay"] {
        let mut stored = Stored::default();
        let mut tree = RunTree::new(Arc::clone(&graph), setup());
        let mut spec = up_to_hook(&mut tree, &mut stored, Event::Started);
        let mut lost = LOST;
        if how != "replay" {
            reserve(&mut tree, &mut stored, &spec, LOST);
            if how == "kill" {
                handle(&mut tree, &mut stored, Event::KillRequested);
            }
            tree = stored.restore(&graph, setup()).unwrap();
            spec = up_to_hook(&mut tree, &mut stored, Event::Resumed(Resume::default()));
            lost = ModelUse::NOTHING;
        }
        let first = handle(&mut tree, &mut stored, hook_done(&spec, USED_LATER, lost)).tasks.remove(0);
        assert_eq!(tree.model_use(), LOST.plus(USED_LATER), "{how}");
        let left = most.less(LOST).less(USED_LATER);
        assert_eq!(first.limits.model, left, "{how}");
        let next = handle(&mut tree, &mut stored, done(&first, ModelUse::NOTHING, ModelUse::NOTHING));
        assert_eq!(next.tasks[0].limits.model, left, "{how}");
    }
}

#[test]
fn a_reservation_that_comes_when_its_run_has_ended_is_dropped() {
    let child = "{tool_type: graph, config: {start: x, hooks: [{id: h, event: graph_started, action: {item_id: t/hook}}], nodes: {x: {action: {item_id: t/double}}}}}";
    let child = Arc::new(crate::document::load("c.yaml", child, "t/child").unwrap().graph);
    let graph = graph_of(
        "start: a, nodes: {a: {action: {item_id: t/child}, next: b}, b: {action: {item_id: t/double}}}",
    );
    let graphs: crate::walker::Graphs = [("t/child".into(), child)].into_iter().collect();
    let setup = super::simulation::setup_with(&graph, Arc::new(graphs), Durability::Sync);
    let mut stored = Stored::default();
    let mut tree = RunTree::new(Arc::clone(&graph), setup);
    let hook = up_to_hook(&mut tree, &mut stored, Event::Started);
    let task =
        handle(&mut tree, &mut stored, hook_done(&hook, USED_LATER, ModelUse::NOTHING)).tasks.remove(0);
    handle(&mut tree, &mut stored, done(&task, USED_LATER, ModelUse::NOTHING));
    for late in [&hook, &task] {
        assert_eq!(reserve(&mut tree, &mut stored, late, LOST), 0, "{}", late.activation.task);
    }
}
