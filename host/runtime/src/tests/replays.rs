//! Replays of runs from their journals.

use graph_core::policy::Durability;
use graph_core::record::{CheckpointSelector, Status};
use graph_walker::walker::{Answers, Edit, Summary};
use serde_json::{Map, Value, json};

use super::test_project::{TestProject, answers, completes, id_of, waits};
use crate::{ForkOptions, StartOptions};

/// A retry, a failure that is handled, questions, a list, a child run that asks and fails once, and an edge on the result.
const ALL: &str = r#"start: [ask, shaky, each, child]
max_steps: 20
channels: { log: { reducer: append }, n: { reducer: sum, default: 0 } }
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Go on?" } }, assign: { log: ["${result}"] }, next: done }
  shaky: { action: { item_id: t/kit, params: { op: fail, category: transient, message: "not now" } }, retry: { max_attempts: 3, initial_interval: 1ms }, on_error: rescue }
  rescue: { assign: { log: ["rescued ${state._last_error.node}"] }, next: done }
  each: { type: foreach, over: [1, 2, 3], as: one, action: { item_id: t/kit, params: { op: echo, value: "${one}" } }, collect: all, parallel: true, next: done }
  child: { action: { item_id: t/below, params: { word: "deep" } }, assign: { log: ["${result.said}"] }, next: done }
  done: { assign: { n: 1 }, next: [{ to: more, when: { path: state.n, op: lt, value: 4 } }, { to: [] }] }
  more: { action: { item_id: t/kit, params: { op: activation } }, assign: { n: 1, seen: "${result.superstep}" }, next: done }
output: { log: "${state.log}", all: "${state.all}", n: "${state.n}" }
"#;

const BELOW: &str = r#"start: first
nodes:
  first: { action: { item_id: t/kit, params: { op: echo, value: "${inputs.word}" } }, assign: { word: "${result}" }, next: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "And below?" } }, assign: { answer: "${result}" } }
output: { said: "${state.word} ${state.answer}" }
"#;

async fn all(durability: Durability) -> TestProject {
    let project = TestProject::with_testkit().await;
    project.graph(".ai/tools/t/below.yaml", BELOW);
    project.graph("all.yaml", ALL);
    let durability = Some(durability);
    let options = StartOptions { run_id: Some("r".to_owned()), durability, ..StartOptions::default() };
    let suspended = project.run_with("all.yaml", options).await.unwrap();
    waits(&suspended);
    assert_eq!(suspended.interrupts.len(), 2, "{suspended:?}");
    // One question at a time.
    let below = answers(&[(&id_of(&suspended, "And below?"), json!("yes"))]);
    let suspended = project.resume("r", below).await.unwrap();
    waits(&suspended);
    let above = answers(&[(&id_of(&suspended, "Go on?"), json!({ "sure": true }))]);
    let done = project.resume("r", above).await.unwrap();
    completes(&done);
    assert_eq!(done.output.as_ref().unwrap()["all"], json!([1, 2, 3]), "{done:?}");
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_everything_in_it_replays_equal() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let project = all(durability).await;
        let before = std::fs::read(project.path(".ai/state/runs.db")).unwrap();
        for _ in 0..21 {
            let replay = project.replays_equal("r").await;
            assert!(replay.supersteps.iter().any(|one| !one.namespace.is_empty()), "{replay:?}");
            let by_record = durability != Durability::Exit;
            assert!(replay.supersteps.iter().all(|one| one.record == by_record), "{replay:?}");
            // Three attempts of one task, two of each that asked, three items, and the rest once.
            assert!(replay.attempts >= 12, "{replay:?}");
        }
        let after = std::fs::read(project.path(".ai/state/runs.db")).unwrap();
        assert!(after == before, "nothing is written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_forks_and_accepted_changes_are_where_a_replay_begins_anew() {
    let project = all(Durability::Sync).await;
    let by_hand = Map::from_iter([("log".to_owned(), json!(["by hand"]))]);
    for (id, edit) in [("f", None), ("g", Some(Edit { values: by_hand, as_node: None }))] {
        let fork = ForkOptions { at: CheckpointSelector::Step(1), edit, run_id: Some(id.to_owned()) };
        Box::pin(project.runtime().fork("r", fork)).await.unwrap();
        completes(&project.resume(id, Answers::None).await.unwrap());
        project.replays_equal(id).await;
    }
    waits(&project.run("all.yaml", "s").await.unwrap());
    project.graph("all.yaml", &ALL.replace("next: [{ to: more", "next: [{ to: more, label: changed"));
    let both = answers(&[("ask", json!(1)), ("child/ask", json!(2))]);
    completes(&project.resume_changed("s", both).await.unwrap());
    project.replays_equal("s").await;
    // A waiting run is replayed up to its question.
    waits(&project.run("all.yaml", "w").await.unwrap());
    assert_eq!(project.replays_equal("w").await.supersteps.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_run_whose_time_was_over_is_cut_short_again() {
    let project = TestProject::with_testkit().await;
    let below = |tail: &str| {
        format!(
            "start: [quick, slow]\nnodes:\n  quick: {{ action: {{ item_id: t/kit, params: {{ op: echo, value: 1 }} }} }}\n  {tail}"
        )
    };
    let spin = "slow: { action: { item_id: t/kit, params: { op: spin, iterations: 4000000000 } }, fuel: 90000000000, timeout: 60s }\n";
    project.graph(".ai/tools/t/below.yaml", &below(spin));
    let deep = "slow: { action: { item_id: t/below } }\n";
    project.graph(".ai/tools/t/deep.yaml", &below(deep));
    project.graph(
        "late.yaml",
        "start: [late, deeper]\non_error: continue\nnodes:\n  late: { action: { item_id: t/below }, timeout: 300ms, retry: { \
         max_attempts: 2, initial_interval: 1ms }, next: after }\n  deeper: { action: { item_id: t/deep }, timeout: 300ms, next: after \
         }\n  after: { action: { item_id: t/kit, params: { op: echo, value: 2 } }, assign: { done: \"${result}\" } }\n",
    );
    // More fuel than can be used in that time.
    let caps =
        "dispatch: [\"*\"]\nlimits: { fuel: 90000000000, timeout: 60s }\nrun: { fuel: 1000000000000 }\n";
    project.write("caps.yaml", caps);
    let ran = project.run("late.yaml", "r").await.unwrap();
    assert_eq!(ran.status, Status::CompletedWithErrors, "{ran:?}");
    assert_eq!((&ran.state["_retries"]["late"], &ran.state["done"]), (&json!(1), &json!(2)), "{ran:?}");
    let error = &ran.state["_last_error"]["error"];
    assert_eq!(*error, json!("its graph `t/deep` did not end within 0.3 s"), "{ran:?}");
    project.replays_equal("r").await;
}

/// A child run stops by itself, and its parent's time is over before its last hook has ended: its use counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_run_that_had_stopped_before_its_parent_was_cut_short_stops_again() {
    let project = TestProject::with_testkit().await;
    let spin = "{ item_id: t/kit, params: { op: spin, iterations: 40000000000 } }";
    let ways = [
        ("ends", "graph_completed", "{ op: echo, value: 1 }", ""),
        ("fails", "error", "{ op: fail, category: permanent, message: broken }", ""),
        ("stops", "limit", "{ op: echo, value: 1 }", "max_steps: 1\n"),
    ];
    let mut nodes = String::new();
    for (name, event, params, limit) in ways {
        let below = format!(
            "{limit}hooks:\n  - {{ event: {event}, action: {spin} }}\nstart: quick\nnodes:\n  quick: {{ action: {{ item_id: t/kit, \
             params: {{ op: echo, value: 1 }} }}, next: last }}\n  last: {{ action: {{ item_id: t/kit, params: {params} }} }}\n"
        );
        project.graph(&format!(".ai/tools/t/{name}.yaml"), &below);
        let around = format!(
            "start: [quick, below]\nnodes:\n  quick: {{ action: {{ item_id: t/kit, params: {{ op: echo, value: 1 }} }} }}\n  below: {{ \
             action: {{ item_id: t/{name} }} }}\n"
        );
        project.graph(&format!(".ai/tools/t/around-{name}.yaml"), &around);
        let node =
            format!("  {name}: {{ action: {{ item_id: t/around-{name} }}, timeout: 500ms, next: after }}\n");
        nodes.push_str(&node);
    }
    let names = ways.map(|(name, ..)| name).join(", ");
    let after = "  after: { action: { item_id: t/kit, params: { op: echo, value: 2 } }, assign: { done: \"${result}\" } }\n";
    project.graph("late.yaml", &format!("start: [{names}]\non_error: continue\nnodes:\n{nodes}{after}"));
    let caps =
        "dispatch: [\"*\"]\nlimits: { fuel: 900000000000, timeout: 60s }\nrun: { fuel: 10000000000000 }\n";
    project.write("caps.yaml", caps);
    let ran = project.run("late.yaml", "r").await.unwrap();
    assert_eq!(ran.status, Status::CompletedWithErrors, "{ran:?}");
    project.replays_equal("r").await;
}

/// More child runs than run at once: those that ask make room for later ones, which start long before the answers.
#[tokio::test(flavor = "multi_thread")]
async fn child_runs_that_begin_while_others_wait_for_answers_begin_then() {
    let project = TestProject::with_testkit().await;
    project.graph(
        ".ai/tools/t/asks.yaml",
        "start: choose\nnodes:\n  choose: { next: [{ to: ask, when: { path: inputs.n, op: lt, value: 4 } }, { to: done }] }\n  \
         ask: { type: ask, ask: { question: \"go on?\" }, next: done }\n  \
         done: { type: return, output: \"${inputs.n}\" }\n",
    );
    let all: Vec<_> = (0..24).collect();
    project.graph(
        "many.yaml",
        &format!(
            "start: each\nnodes:\n  each: {{ type: foreach, over: {all:?}, as: one, action: {{ item_id: t/asks, params: {{ n: \"${{one}}\" }} }}, \
             collect: all, parallel: true }}\n"
        ),
    );
    project.write("caps.yaml", "dispatch: [\"*\"]\n");
    let asked = project.run("many.yaml", "r").await.unwrap();
    waits(&asked);
    assert_eq!(asked.interrupts.len(), 4, "{asked:?}");
    let given: Vec<(&str, Value)> = asked.interrupts.iter().map(|one| (&*one.id, json!("yes"))).collect();
    // The second answer first, and the others together.
    waits(&project.resume("r", answers(&given[1..2])).await.unwrap());
    let others = [&given[..1], &given[2..]].concat();
    let done: Summary = project.resume("r", answers(&others)).await.unwrap();
    completes(&done);
    assert_eq!(done.state["all"], json!(all), "{done:?}");
    project.replays_equal("r").await;
}

/// A resume starts child runs at once, long before their superstep commits.
#[tokio::test(flavor = "multi_thread")]
async fn child_runs_that_a_resume_begins_begin_with_the_resume() {
    let project = TestProject::with_testkit().await;
    project.graph(".ai/tools/t/child.yaml", "start: a\nnodes: { a: { assign: { text: child } } }\n");
    project.graph(
        "g.yaml",
        "start: ask\nnodes:\n  ask: { interrupt: after, next: [child, slow] }\n  child: { action: { item_id: t/child } }\n  \
         slow: { action: { item_id: t/kit, params: { op: fail, category: transient, message: \"not now\" } }, \
         retry: { max_attempts: 2, initial_interval: 60ms }, on_error: done }\n  done: { assign: { done: true } }\n",
    );
    project.write("caps.yaml", "dispatch: [\"*\"]\n");
    waits(&project.run("g.yaml", "r").await.unwrap());
    let done = project.resume("r", Answers::None).await.unwrap();
    completes(&done);
    assert_eq!(done.state["done"], json!(true), "{done:?}");
    project.replays_equal("r").await;
}
