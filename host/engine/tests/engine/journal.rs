//! Recorded answers of the outside world, and replays from them.

use std::fs;
use std::time::Duration;

use graph_core::capability::Access;
use graph_core::limits::TaskLimits;
use graph_core::node::Category;
use graph_core::record::{JournalDifference, JournalEntry};
use graph_engine::{CallReport, Classification, PreparedNode};
use serde_json::{Value, json};

use crate::support::{TESTKIT_IO, call, call_within, everything, limits, prepare, replay, value, wat_run};

fn granted(access: Access) -> (tempfile::TempDir, PreparedNode) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "before").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let node = prepare(TESTKIT_IO, &everything(folder.path(), access));
    (folder, node)
}

/// Returns the parts of a report that are equal for equal computations.
fn computed(report: &CallReport) -> String {
    format!("{:?} {} {}", report.result, report.fuel_used, report.classification)
}

fn calls(entries: &[JournalEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.function.as_str()).collect()
}

#[tokio::test]
async fn files_answer_from_the_journal_when_they_are_gone() {
    let (folder, node) = granted(Access::ReadWrite);
    let asked = [
        json!({"op": "read", "path": "/data/a.txt"}),
        json!({"op": "read", "path": "/data/no"}),
        json!({"op": "list", "path": "/data"}),
        json!({"op": "list", "path": "/data/sub"}),
        json!({"op": "write", "path": "/data/new", "text": "written"}),
    ];
    let mut first = Vec::new();
    for params in &asked {
        let report = call(&node, params.clone()).await;
        assert!(!report.journal.is_empty(), "{params}");
        assert_eq!(report.difference, None);
        first.push(report);
    }
    assert_eq!(value(&first[0]), &json!("before"));
    assert_eq!(first[1].result.as_ref().unwrap_err().category, Category::InvalidInput);

    for name in ["a.txt", "new"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    fs::remove_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("no"), "there by now").unwrap();
    for (params, first) in asked.iter().zip(&first) {
        let again = replay(&node, params, first.journal.clone()).await;
        assert_eq!(computed(&again), computed(first), "{params}");
        assert_eq!((again.difference, again.journal.len()), (None, 0), "{params}");
    }
    assert!(!folder.path().join("new").exists(), "a write was performed again");
}

#[tokio::test]
async fn large_files_are_kept_as_digests() {
    let (folder, node) = granted(Access::ReadOnly);
    let text = "0123456789abcdef".repeat(10_000);
    fs::write(folder.path().join("large"), &text).unwrap();
    let params = json!({"op": "read", "path": "/data/large"});
    let first = call(&node, params.clone()).await;
    let size: u64 = first.journal.iter().map(JournalEntry::size).sum();
    assert!(size < 100_000, "{size}");
    let again = replay(&node, &params, first.journal.clone()).await;
    assert_eq!(computed(&again), computed(&first));

    fs::write(folder.path().join("large"), text.replace('a', "b")).unwrap();
    let changed = replay(&node, &params, first.journal.clone()).await;
    assert_eq!(changed.classification, Classification::Difference);
    assert!(matches!(changed.difference, Some(JournalDifference::Content { .. })), "{changed:?}");
    assert!(changed.result.unwrap_err().message.contains("`/data/large` has another content by now"));

    fs::remove_file(folder.path().join("large")).unwrap();
    let gone = replay(&node, &params, first.journal).await;
    assert!(gone.result.unwrap_err().message.contains("cannot be read again"));
}

#[tokio::test]
async fn another_call_than_before_is_a_difference() {
    let (_folder, node) = granted(Access::ReadOnly);
    let first = call(&node, json!({"op": "read", "path": "/data/a.txt"})).await;
    let other = replay(&node, &json!({"op": "read", "path": "/data/b.txt"}), first.journal.clone()).await;
    assert_eq!(other.classification, Classification::Difference);
    let Some(JournalDifference::Call { entry: 0, expected: Some(expected), found }) = other.difference else {
        panic!("{:?}", other.difference)
    };
    assert_eq!(expected.request.0["path"], json!("/data/a.txt"));
    assert_eq!(found.request.0["path"], json!("/data/b.txt"));

    let less = replay(&node, &json!({"op": "now"}), first.journal.clone()).await;
    assert!(matches!(less.difference, Some(JournalDifference::Unused { entry: 0, .. })), "{less:?}");

    let mut short = first.journal.clone();
    short.pop();
    let more = replay(&node, &json!({"op": "read", "path": "/data/a.txt"}), short).await;
    assert!(matches!(more.difference, Some(JournalDifference::Call { expected: None, .. })), "{more:?}");

    let mut wrong = first.journal;
    wrong[0].result = json!({"nonsense": 1}).into();
    let malformed = replay(&node, &json!({"op": "read", "path": "/data/a.txt"}), wrong).await;
    assert!(
        matches!(malformed.difference, Some(JournalDifference::Content { entry: 0, .. })),
        "{malformed:?}"
    );
}

#[tokio::test]
async fn what_follows_from_the_run_needs_no_entries() {
    let (_folder, node) = granted(Access::ReadOnly);
    for params in [json!({"op": "now"}), json!({"op": "random", "bytes": 8})] {
        let first = call(&node, params.clone()).await;
        assert_eq!(calls(&first.journal), Vec::<&str>::new());
        assert_eq!(computed(&replay(&node, &params, Vec::new()).await), computed(&first));
    }
}

#[tokio::test]
async fn a_deadline_is_not_waited_for_twice() {
    let node = prepare(&wat_run("ok", "(loop $on (br $on)) (i32.const 0)"), &crate::support::nothing());
    let within = TaskLimits { fuel: u64::MAX / 2, timeout: Duration::from_millis(60), ..limits() };
    let first = call_within(&node, &Value::Null, within).await;
    assert_eq!(first.classification, Classification::Deadline);
    assert_eq!(calls(&first.journal), ["deadline"]);
    let began = std::time::Instant::now();
    let again = replay(&node, &Value::Null, first.journal.clone()).await;
    assert!(began.elapsed() < Duration::from_millis(50));
    assert_eq!((&again.result, again.classification), (&first.result, first.classification));
}
