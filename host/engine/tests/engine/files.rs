//! Granted folders: access to their contents, and to nothing else.

use std::fs;
use std::time::Duration;

use graph_core::capability::Access;
use graph_core::limits::TaskLimits;
use graph_core::node::Category;
use graph_engine::{Classification, PreparedNode};
use serde_json::json;

use crate::support::{TESTKIT_IO, call, call_within, everything, limits, prepare, value};

fn node(folder: &tempfile::TempDir, access: Access) -> PreparedNode {
    prepare(TESTKIT_IO, &everything(folder.path(), access))
}

/// Creates a granted folder inside of one with a secret.
fn folders() -> (tempfile::TempDir, tempfile::TempDir) {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let inside = tempfile::tempdir_in(outside.path()).unwrap();
    fs::write(inside.path().join("b.txt"), "bé").unwrap();
    fs::write(inside.path().join("a.txt"), "a").unwrap();
    fs::create_dir(inside.path().join("sub")).unwrap();
    (outside, inside)
}

#[tokio::test]
async fn reads_and_lists_in_order() {
    let (_outside, inside) = folders();
    let node = node(&inside, Access::ReadOnly);
    assert_eq!(value(&call(&node, json!({"op": "read", "path": "/data/b.txt"})).await), &json!("bé"));
    assert_eq!(
        value(&call(&node, json!({"op": "list", "path": "/data"})).await),
        &json!([
            {"name": "a.txt", "kind": "file"},
            {"name": "b.txt", "kind": "file"},
            {"name": "sub", "kind": "folder"}
        ])
    );
    assert_eq!(value(&call(&node, json!({"op": "list", "path": "/data/sub/"})).await), &json!([]));
}

#[tokio::test]
async fn large_files_come_whole() {
    let (_outside, inside) = folders();
    let text = "0123456789abcdef".repeat(40_000);
    fs::write(inside.path().join("large"), &text).unwrap();
    let node = node(&inside, Access::ReadOnly);
    assert_eq!(value(&call(&node, json!({"op": "read", "path": "/data/large"})).await), &json!(text));
}

#[tokio::test]
async fn nothing_outside_can_be_reached() {
    let (outside, inside) = folders();
    let secret = outside.path().join("secret");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&secret, inside.path().join("link")).unwrap();
        std::os::unix::fs::symlink("../secret", inside.path().join("up")).unwrap();
        std::os::unix::fs::symlink("..", inside.path().join("parent")).unwrap();
    }
    let node = node(&inside, Access::ReadWrite);
    for path in [
        "/data/../secret",
        "/data/sub/../../secret",
        "/data/link",
        "/data/up",
        "/data/parent/secret",
        "/etc/passwd",
        "/database",
        "secret",
        "../secret",
        secret.to_str().unwrap(),
    ] {
        for params in [json!({"op": "read", "path": path}), json!({"op": "write", "path": path, "text": "x"})]
        {
            let report = call(&node, params.clone()).await;
            assert_eq!(report.classification, Classification::Returned, "{params}");
            let failure = report.result.unwrap_err();
            assert_eq!(failure.category, Category::Denied, "{params}: {failure}");
        }
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret");
}

#[tokio::test]
async fn read_only_means_that() {
    let (_outside, inside) = folders();
    let node = node(&inside, Access::ReadOnly);
    for path in ["/data/a.txt", "/data/new"] {
        let failure = call(&node, json!({"op": "write", "path": path, "text": ""})).await.result.unwrap_err();
        assert_eq!(failure.category, Category::Denied, "{failure}");
    }
    assert_eq!(fs::read_to_string(inside.path().join("a.txt")).unwrap(), "a");
    assert!(!inside.path().join("new").exists());
}

#[tokio::test]
async fn writes_where_it_may() {
    let (_outside, inside) = folders();
    let node = node(&inside, Access::ReadWrite);
    let report = call(&node, json!({"op": "write", "path": "/data/sub/new", "text": "text"})).await;
    assert_eq!(value(&report), &json!(4));
    assert_eq!(fs::read_to_string(inside.path().join("sub/new")).unwrap(), "text");
    call(&node, json!({"op": "write", "path": "/data/sub/new", "text": "x"})).await.result.unwrap();
    assert_eq!(fs::read_to_string(inside.path().join("sub/new")).unwrap(), "x");
}

#[tokio::test]
async fn what_is_written_has_an_end() {
    let (_outside, inside) = folders();
    let node = node(&inside, Access::ReadWrite);
    let within = TaskLimits { written: 5, ..limits() };
    let write = |text: &str| json!({"op": "write", "path": "/data/new", "text": text});
    assert_eq!(value(&call_within(&node, &write("12345"), within).await), &json!(5));
    let report = call_within(&node, &write("123456"), within).await;
    assert_eq!(report.classification, Classification::HostLimit);
    assert_eq!(report.result.unwrap_err().category, Category::Limit);
    assert_eq!(
        fs::read_to_string(inside.path().join("new")).unwrap(),
        "",
        "it was truncated, and not written"
    );
}

#[tokio::test]
async fn a_file_that_is_not_there() {
    let (_outside, inside) = folders();
    let failure = call(&node(&inside, Access::ReadOnly), json!({"op": "read", "path": "/data/no"}))
        .await
        .result
        .unwrap_err();
    assert_eq!(failure.category, Category::InvalidInput);
    assert!(failure.message.contains("/data/no"), "{failure}");
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_hold_anyone_up() {
    let (_outside, inside) = folders();
    let pipe = inside.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let node = node(&inside, Access::ReadWrite);
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let results = runtime.block_on(async {
            let read = call(&node, json!({"op": "read", "path": "/data/pipe"})).await.result;
            let write = call(&node, json!({"op": "write", "path": "/data/pipe", "text": "x"})).await.result;
            let listed = call(&node, json!({"op": "list", "path": "/data"})).await;
            (read, write, value(&listed).clone())
        });
        drop(runtime);
        send.send(results).unwrap();
    });
    let (read, write, listed) =
        receive.recv_timeout(Duration::from_secs(20)).expect("the pipe held the call up");
    assert_eq!(read.unwrap_err().category, Category::Denied);
    assert_eq!(write.unwrap_err().category, Category::Denied);
    assert!(listed.as_array().unwrap().contains(&json!({"name": "pipe", "kind": "other"})), "{listed}");
}
