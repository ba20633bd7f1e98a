//! Stores whose rows were changed, removed or put back behind the host's back.

use std::fs;
use std::path::PathBuf;

use graph_walker::walker::Answers;
use serde_json::json;

use super::test_project::{TestProject, completes, waits};
use crate::error::Kind;
use crate::project::state::OwnState;
use crate::run::restore;
use crate::upkeep::gc::{Policy, Report, collect};

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { verdict: "${result}" } }
"#;

const PAUSING: &str = r"start: work
channels: { n: { reducer: sum, default: 0 } }
nodes:
  work: { interrupt: before, assign: { n: 1 }, next: [{ to: work, when: { path: state.n, op: lt, value: 3 } }, { to: [] }] }
";

async fn project() -> TestProject {
    let project = TestProject::with_testkit().await;
    project.graph("asking.yaml", ASKING);
    project.graph("pausing.yaml", PAUSING);
    project
}

fn database(project: &TestProject) -> PathBuf {
    project.path(".ai/state/runs.db")
}

/// Changes the database from outside.
fn tamper(project: &TestProject, statements: &[&str]) {
    let script = format!(
        "import sqlite3, sys\ncon = sqlite3.connect(sys.argv[1])\nfor s in {statements:?}: assert con.execute(s).rowcount > 0\ncon.commit()\ncon.close()"
    );
    let done =
        std::process::Command::new("python3").args(["-c", &script]).arg(database(project)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Puts the bytes of a database back, without the files beside it.
fn put_back(project: &TestProject, whole: &[u8]) {
    for leftover in [".ai/state/runs.db-wal", ".ai/state/runs.db-shm"] {
        let _ = fs::remove_file(project.path(leftover));
    }
    fs::write(database(project), whole).unwrap();
}

/// Removes data of runs.
fn gc(project: &TestProject, policy: Policy) -> Report {
    let home = project.host().home;
    let store = restore::open(&OwnState::open(&project.project(), &home).unwrap()).unwrap();
    collect(&*store, &project.project(), policy, &home).unwrap()
}

/// Asserts that the verification of a run fails with this text.
fn is_found(project: &TestProject, run: &str, says: &str) {
    let found = project.verify(run).unwrap_err();
    assert_eq!(found.kind(), Kind::Integrity, "{found:?}");
    assert!(found.message().contains(says), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_removal_nothing_else_may_be_missing() {
    let project = project().await;
    // A run with a pause before each of three steps, which has ended.
    waits(&project.run("pausing.yaml", "p1").await.unwrap());
    for _ in 0..2 {
        waits(&project.resume("p1", Answers::None).await.unwrap());
    }
    completes(&project.resume("p1", Answers::None).await.unwrap());
    gc(&project, Policy { checkpoints: Some(1), ..Policy::default() });
    project.verify("p1").unwrap();
    let whole = fs::read(database(&project)).unwrap();
    for which in ["min", "max"] {
        let statement = format!("DELETE FROM history WHERE event = (SELECT {which}(event) FROM history)");
        tamper(&project, &[&statement]);
        is_found(&project, "p1", "is not whole");
        fs::write(database(&project), &whole).unwrap();
    }
    project.verify("p1").unwrap();
}

/// Changes of the rows under a run's newest checkpoint and at the end of its history, by kind of row.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_finds_what_was_done_to_the_rows_that_it_continues_from() {
    let project = project().await;
    for id in ["p1", "p2"] {
        waits(&project.run("pausing.yaml", id).await.unwrap());
        waits(&project.resume(id, Answers::None).await.unwrap());
    }
    project.verify("p1").unwrap();
    let whole = fs::read(database(&project)).unwrap();
    for (name, statement, says) in changes() {
        tamper(&project, &[&statement]);
        let resumed = project.resume("p1", Answers::None).await.unwrap_err();
        let verified = project.verify("p1").unwrap_err();
        for refused in [verified, resumed] {
            assert_eq!(refused.kind(), Kind::Integrity, "{name}: {refused:?}");
            assert!(refused.message().contains(says), "{name}: {refused:?}");
        }
        put_back(&project, &whole);
    }
    waits(&project.resume("p1", Answers::None).await.unwrap());
    completes(&project.resume("p1", Answers::None).await.unwrap());
    project.verify("p1").unwrap();
}

/// Lists changes, each with its statement and a part of the message by which it is refused.
fn changes() -> Vec<(&'static str, String, &'static str)> {
    let own = "run = (SELECT id FROM runs WHERE run_id = 'p1')";
    let last = format!("id = (SELECT max(id) FROM history WHERE {own})");
    let first = format!("id = (SELECT min(id) FROM history WHERE {own})");
    let moved = |into: &str, columns: &str, from: &str| {
        format!(
            "UPDATE {into} SET ({columns}) = (SELECT {columns} FROM {into} o WHERE {from} LIMIT 1) WHERE {own}"
        )
    };
    let record = "digest, key, signature, body";
    let other = "o.run = (SELECT id FROM runs WHERE run_id = 'p2')";
    vec![
        ("pending, removed", format!("DELETE FROM pending WHERE {own}"), "no signed record says so"),
        (
            "pending, changed",
            format!("UPDATE pending SET body = replace(body, 'interrupted', 'failed') WHERE {own}"),
            "",
        ),
        (
            "pending, added",
            format!(
                "INSERT INTO pending (run, namespace, kind, task, sequence, step, {record}, events) SELECT run, namespace, \
                 kind, 'x', sequence, step, {record}, events FROM history WHERE {first}"
            ),
            "",
        ),
        ("pending, of another run", moved("pending", record, other), ""),
        ("history, removed", format!("DELETE FROM history WHERE {last}"), "in its history"),
        ("history, first removed", format!("DELETE FROM history WHERE {first}"), "is not whole"),
        (
            "history, changed",
            format!("UPDATE history SET body = replace(body, 'interrupted', 'failed') WHERE {first}"),
            "",
        ),
        (
            "history, added",
            format!(
                "INSERT INTO history (run, event, events, namespace, kind, sequence, step, {record}) SELECT run, (SELECT \
                 max(event + events) FROM history WHERE {own}), events, namespace, kind, sequence, step, {record} FROM \
                 history WHERE {first}"
            ),
            "it was added or moved",
        ),
        (
            "history, of another run",
            format!(
                "UPDATE history SET ({record}) = (SELECT {record} FROM history o WHERE {other} LIMIT 1) WHERE {last}"
            ),
            "",
        ),
        (
            "history, numbered anew",
            format!("UPDATE history SET event = event + 7 WHERE {last}"),
            "is not whole",
        ),
        (
            "history, a checkpoint without its number",
            format!(
                "UPDATE checkpoints SET event = NULL WHERE id = (SELECT max(id) FROM checkpoints WHERE {own})"
            ),
            "",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_was_taken_away_is_found() {
    let project = project().await;
    waits(&project.run("asking.yaml", "q1").await.unwrap());
    project.verify("q1").unwrap();
    tamper(&project, &["DELETE FROM history", "DELETE FROM pending WHERE kind = 'status'"]);
    is_found(&project, "q1", "no signed record says so");
}

/// If its row is restored, too, a run looks as if its process had ended just before the pause; its last stop is noted
/// outside of the project.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_put_back_is_found() {
    let project = project().await;
    waits(&project.run("asking.yaml", "q1").await.unwrap());
    let whole = fs::read(database(&project)).unwrap();
    tamper(
        &project,
        &[
            "DELETE FROM history WHERE event = (SELECT max(event) FROM history)",
            "DELETE FROM pending",
            "UPDATE runs SET status = 'running'",
        ],
    );
    is_found(&project, "q1", "run q1 stopped with the status record");
    fs::write(database(&project), &whole).unwrap();
    project.verify("q1").unwrap();

    // The same for a later state: the run has ended, and its store is that of the pause.
    completes(&project.resume("q1", Answers::Bare(json!("yes"))).await.unwrap());
    project.verify("q1").unwrap();
    put_back(&project, &whole);
    is_found(&project, "q1", "run q1 stopped with the checkpoint record");
    let notes = || fs::read_dir(project.path("home/runs")).unwrap().count();
    assert_eq!(notes(), 1);
    gc(&project, Policy { keep: Some(0), all_statuses: true, ..Policy::default() });
    assert_eq!(notes(), 0);
}
