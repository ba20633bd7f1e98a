//! Forks and edits at earlier checkpoints of a run.

use graph_core::record::{CheckpointSelector, Record, ResultDigest, Source};
use graph_walker::walker::{Answers, Edit};
use serde_json::json;

use super::test_project::{TestProject, completes, waits};
use crate::ForkOptions;
use crate::history::run_document::RunDocument;
use crate::run::checkpoints;
use crate::run::restore;

const ASKING: &str = r#"start: draft
channels: { log: { reducer: append } }
nodes:
  draft: { action: { item_id: t/kit, params: { op: echo, value: "a draft" } }, assign: { text: "${result}", log: [drafted] }, next: check }
  check: { assign: { log: [checked] }, next: [{ to: publish, when: { path: state.ok, op: eq, value: true } }, { to: ask }] }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { log: ["${result}"] }, next: publish }
  publish: { type: return, output: { text: "${state.text}", log: "${state.log}" } }
"#;

/// Returns source and result of every checkpoint of a run.
fn history(project: &TestProject, run: &str) -> Vec<(u64, Source, ResultDigest)> {
    let (store, _) = project.stored(run).unwrap();
    let mut found = Vec::new();
    let read = restore::each_checkpoint(&*store, run, "", |record| {
        if let Record::Checkpoint(checkpoint) = restore::open_record(record, Some(&project.key()))? {
            found.push((checkpoint.sequence, checkpoint.source, checkpoint.result));
        }
        Ok(())
    });
    read.unwrap();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_has_the_digests_of_its_original() {
    let project = TestProject::with_testkit().await;
    project.graph("line.yaml", &ASKING.replace("state.ok, op: eq", "state.ok, op: ne"));
    let first = project.run("line.yaml", "r1").await.unwrap();
    completes(&first);
    let result = |summary: &graph_walker::walker::Summary| summary.checkpoint.as_ref().unwrap().result_digest;
    let digests = |run: &str| {
        history(&project, run).into_iter().map(|(sequence, _, digest)| (sequence, digest)).collect::<Vec<_>>()
    };
    for step in [0, 1, 2] {
        let id = format!("again-{step}");
        let at = CheckpointSelector::Step(step);
        let fork = ForkOptions { run_id: Some(id.clone()), ..ForkOptions::from(at) };
        Box::pin(project.runtime().fork("r1", fork)).await.unwrap();
        let again = project.resume(&id, Answers::None).await.unwrap();
        completes(&again);
        assert_eq!(result(&again), result(&first), "{step}");
        let (original, copy) = (digests("r1"), digests(&id));
        assert_eq!(original[original.len() - copy.len()..], copy[..], "{step}");
        project.verify(&id).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_keeps_what_came_after() {
    let project = TestProject::with_testkit().await;
    project.graph("asking.yaml", ASKING);
    waits(&project.run("asking.yaml", "r1").await.unwrap());
    let at = Some(CheckpointSelector::Step(1));
    let back = Box::pin(project.runtime().edit("r1", Edit::default(), at)).await.unwrap().summary;
    assert_eq!((&back.next[..], back.steps), (&["check".to_owned()][..], 1));
    let (_, newest, _) = history(&project, "r1").pop().unwrap();
    let Source::Update { restored: Some(restored), .. } = newest else { panic!("{newest:?}") };
    assert_eq!(restored.sequence, 1);
    let (store, _) = project.stored("r1").unwrap();
    let mut then =
        restore::restore_at(&*store, "r1", project.key(), &CheckpointSelector::Sequence(2)).unwrap();
    assert_eq!(then.checkpoint.step, 2);
    assert_eq!(restore::take_state(&mut then).unwrap()["log"], json!(["drafted", "checked"]));
    project.verify("r1").unwrap();
    let suspended = project.resume("r1", Answers::None).await.unwrap();
    let visited = checkpoints::visited(&*store, "r1", Some(project.key()));
    let document = RunDocument::new("r1", "asking", &suspended, visited).to_value().unwrap();
    assert_eq!(document["visited"], json!(["draft", "check"]));
}
