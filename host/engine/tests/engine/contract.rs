//! Components that were built for a version of the contract run in every later host.

use std::fs;
use std::path::Path;

use graph_core::capability::Access;
use graph_core::node::Outcome;
use serde_json::{Value, json};

use crate::support::{call, component, engine, everything, nothing, prepare, value};

const TESTKIT: &[u8] = include_bytes!("../../../../tests/formats/contract/0.1.0/testkit.wasm");
const TESTKIT_IO: &[u8] = include_bytes!("../../../../tests/formats/contract/0.1.0/testkit-io.wasm");
const TESTKIT_NET: &[u8] = include_bytes!("../../../../tests/formats/contract/0.1.0/testkit-net.wasm");

/// Returns the tokens of a WIT text without comments and blanks.
fn tokens(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_text_of_a_version_does_not_change() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let frozen = root.join("tests/formats/contract/0.1.0/wit");
    let mut count = 0;
    for package in ["node", "host"] {
        for entry in fs::read_dir(frozen.join(package)).unwrap() {
            let path = entry.unwrap().path();
            let present = root.join("wit").join(package).join(path.file_name().unwrap());
            assert_eq!(tokens(&present), tokens(&path), "{}", present.display());
            count += 1;
        }
    }
    assert_eq!(count, 8);
}

#[tokio::test]
async fn components_of_0_1_0_keep_running() {
    let node = prepare(TESTKIT, &nothing());
    assert_eq!(value(&call(&node, json!({"op": "echo", "value": [1, null]})).await), &json!([1, null]));
    let asked = call(&node, json!({"op": "interrupt", "payload": {"q": 1}})).await;
    assert_eq!(asked.result, Ok(Outcome::Interrupt(json!({"q": 1}))));
    let command = call(&node, json!({"op": "command", "update": {"k": 1}, "goto": ["a"]})).await;
    assert!(matches!(command.result, Ok(Outcome::Command { .. })), "{:?}", command.result);
    let logged = call(&node, json!({"op": "log", "lines": 2, "bytes": 3})).await;
    assert_eq!(logged.logs.len(), 2);
    let failed = call(&node, json!({"op": "fail", "category": "rate-limited", "message": "later"})).await;
    assert_eq!(failed.result.unwrap_err().message, "later");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "text").unwrap();
    let files = prepare(TESTKIT_IO, &everything(folder.path(), Access::ReadWrite));
    assert_eq!(value(&call(&files, json!({"op": "read", "path": "/data/a"})).await), &json!("text"));
    call(&files, json!({"op": "write", "path": "/data/b", "text": "new"})).await.result.unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "new");
}

#[tokio::test]
async fn they_say_what_they_said() {
    for (bytes, interfaces) in [(TESTKIT, 0), (TESTKIT_IO, 7), (TESTKIT_NET, 4)] {
        let description = engine().describe(&component(bytes)).await.unwrap();
        assert!(matches!(description.params, Value::Object(_)) && !description.summary.is_empty());
        assert_eq!(description.interfaces.len(), interfaces, "{:?}", description.interfaces);
    }
}
