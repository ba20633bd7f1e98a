//! Changes of what a run is pinned to: refused, and recorded once they are accepted.

use graph_core::digest::{Digest, DomainHasher};
use graph_core::record::{AcceptedPinChange, ErrorCode, Record, Status};
use graph_store::{CheckpointStore as _, NewRun, RunRow, Snapshot};
use graph_walker::walker::Answers;
use serde_json::{Value, json};

use super::test_project::{TestProject, completes, waits};
use crate::error::Kind;
use crate::project::state::OwnState;
use crate::run::pins::Pins;
use crate::run::restore;

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/ask, params: { op: interrupt, payload: "Publish?" } }, assign: { answer: "${result}" }, next: tell }
  tell: { action: { item_id: t/kit, params: { op: echo, value: "${state.answer}" } }, assign: { told: "${result}" } }
output: "${state.told}"
"#;

/// Domain of the signature of a run's start note.
const BEGUN: &str = "graph-host/run-start/v1";

/// Makes a suspended run of two components.
async fn asking() -> TestProject {
    let project = TestProject::with_testkit().await;
    std::fs::copy(project.path(".ai/tools/t/kit.wasm"), project.path(".ai/tools/t/ask.wasm")).unwrap();
    project.graph("asking.yaml", ASKING);
    waits(&project.run("asking.yaml", "r").await.unwrap());
    project
}

/// Returns the changes of a run that were accepted, in order.
fn accepted(project: &TestProject, run: &str) -> Vec<AcceptedPinChange> {
    let (store, _) = project.stored(run).unwrap();
    let mut found = Vec::new();
    let read = restore::each_checkpoint(&*store, run, "", |record| {
        if let Record::Checkpoint(checkpoint) = restore::open_record(record, Some(&project.key()))? {
            found.extend(checkpoint.accepted);
        }
        Ok(())
    });
    read.unwrap();
    found
}

/// A run that was started on a host with another engine, and cut short before anything was stored.
#[tokio::test(flavor = "multi_thread")]
async fn another_engine_is_a_change() {
    let project = asking().await;
    let home = project.host().home;
    let store = restore::open(&OwnState::open(&project.project(), &home).unwrap()).unwrap();
    let row = store.run("r").unwrap().unwrap();
    let mut pins = Pins::read(&store.snapshot(&row.pins).unwrap().unwrap()).unwrap();
    pins.engine = Digest::of_bytes(b"another engine");
    let (digest, text) = pins.text().unwrap();
    let row = RunRow {
        run_id: "e".to_owned(),
        root_id: "e".to_owned(),
        status: Status::Running,
        pins: digest,
        ..row
    };
    let begun = [row.graph, row.inputs, row.pins, row.seed]
        .iter()
        .fold(DomainHasher::new(BEGUN).field(b"e"), |begun, digest| begun.field(digest.as_bytes()))
        .finish();
    let note = home.identity().unwrap().sign_digest(BEGUN, &begun).to_string();
    let snapshots = [(digest, text), (begun, note)];
    let snapshots = snapshots.map(|(digest, text)| Snapshot { digest, text: text.into() }).to_vec();
    store.create_run(&NewRun { row, snapshots }).unwrap();
    drop(store);
    let refused = project.resume("e", Answers::None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Integrity, "{refused:?}");
    let changes: Vec<_> = refused.message().lines().skip(1).collect();
    let [change] = changes[..] else { panic!("{refused:?}") };
    assert!(
        change.starts_with("- the engine was ") && change.ends_with("results and fuel may differ"),
        "{change}"
    );
    waits(&project.resume_changed("e", Answers::None).await.unwrap());
    completes(&project.resume("e", Answers::Bare(json!("yes"))).await.unwrap());
    project.verify("e").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_accepted_counts_until_the_next_checkpoint_too() {
    let project = asking().await;
    project.graph("asking.yaml", &ASKING.replace("Publish?", "Really?"));
    // Its only question is answered with null.
    completes(&project.resume_changed("r", Answers::Bare(Value::Null)).await.unwrap());
    let project = asking().await;
    project.graph(
        "asking.yaml",
        &ASKING.replace("interrupt, payload: \"Publish?\"", "fail, category: permanent, message: no"),
    );
    let failed = project.resume_changed("r", Answers::Bare(json!("x"))).await.unwrap();
    assert_eq!(failed.status, Status::Failed, "{failed:?}");
    // No checkpoint was made since, so nothing has to be accepted again.
    let failed = project.resume("r", Answers::None).await.unwrap();
    assert_eq!(failed.error.as_ref().unwrap().code, ErrorCode::NodeFailed, "{failed:?}");
    let verified = project.verify("r").unwrap();
    assert_eq!((verified.checkpoints, verified.accepted), (1, 1));
    // A second change under the same checkpoint is a second acceptance.
    project
        .graph("asking.yaml", &ASKING.replace("op: interrupt, payload: \"Publish?\"", "op: echo, value: 7"));
    assert_eq!(project.resume("r", Answers::None).await.unwrap_err().kind(), Kind::Integrity);
    let done = project.resume_changed("r", Answers::None).await.unwrap();
    completes(&done);
    assert_eq!(done.output.as_deref(), Some(&json!(7)));
    let accepted = accepted(&project, "r");
    assert_eq!(accepted.len(), 2, "{accepted:?}");
    assert_eq!(accepted[0].after, accepted[1].before);
    project.verify("r").unwrap();
}
