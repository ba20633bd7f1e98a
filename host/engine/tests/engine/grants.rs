//! Only granted interfaces are linked.

use graph_core::capability::{Access, CapabilityKind, EffectiveGrant};
use graph_core::time::Timestamp;
use graph_engine::{Call, Engine, EngineConfig, PrepareError};
use serde_json::json;

use crate::support::{
    TESTKIT, TESTKIT_IO, TESTKIT_NET, activation, call, component, engine, everything, limits, nothing,
    prepare, value,
};

#[test]
fn what_is_missing_is_named() {
    let loaded = engine().load(&component(TESTKIT_IO)).unwrap();
    let Err(error) = engine().prepare(&loaded, None, &nothing()) else { panic!("it was linked") };
    let PrepareError::NotGranted { id, missing } = &error else { panic!("{error}") };
    assert_eq!(id, "test/node");
    let kinds: Vec<_> = missing.iter().flat_map(|missing| missing.kinds.clone()).collect();
    for kind in [CapabilityKind::Clocks, CapabilityKind::Random, CapabilityKind::Filesystem] {
        assert!(kinds.contains(&kind), "{missing:?}");
    }
    assert!(
        missing.iter().any(|missing| missing.interface.starts_with("wasi:filesystem/types@0.2")),
        "{missing:?}"
    );
    assert!(error.to_string().contains("needs a grant of `random`"), "{error}");
}

#[test]
fn one_kind_alone_is_not_enough() {
    let loaded = engine().load(&component(TESTKIT_IO)).unwrap();
    let mut grant: EffectiveGrant = nothing();
    grant.kinds.insert(CapabilityKind::Clocks);
    let Err(PrepareError::NotGranted { missing, .. }) = engine().prepare(&loaded, None, &grant) else {
        panic!()
    };
    assert!(missing.iter().all(|missing| !missing.interface.starts_with("wasi:clocks")), "{missing:?}");
}

#[test]
fn logging_alone_links_the_testkit() {
    let loaded = engine().load(&component(TESTKIT)).unwrap();
    assert!(
        loaded
            .imports()
            .iter()
            .any(|import| import.name == "graph-host:node/types@0.1.0" && import.type_only)
    );
    assert!(
        loaded.imports().iter().any(|import| import.name == "graph-host:host/log@0.1.0" && !import.type_only)
    );
    assert!(engine().prepare(&loaded, None, &nothing()).is_ok());
}

#[test]
fn a_folder_that_is_not_there() {
    let loaded = engine().load(&component(TESTKIT_IO)).unwrap();
    let grant = everything(std::path::Path::new("/nonexistent/folder"), Access::ReadOnly);
    let Err(error) = engine().prepare(&loaded, None, &grant) else { panic!() };
    assert!(matches!(error, PrepareError::Folder { .. }));
    assert!(error.to_string().contains("/nonexistent/folder"), "{error}");
}

#[tokio::test]
async fn time_is_the_supersteps() {
    let folder = tempfile::tempdir().unwrap();
    let node = prepare(TESTKIT_IO, &everything(folder.path(), Access::ReadOnly));
    let report = call(&node, json!({"op": "now"})).await;
    assert_eq!(value(&report), &json!({"seconds": 1_700_000_000, "nanoseconds": 123_000_000}));
}

#[tokio::test]
async fn randomness_is_the_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let node = prepare(TESTKIT_IO, &everything(folder.path(), Access::ReadOnly));
    let params = json!({"op": "random", "bytes": 16});
    let draw = async |seed: u8| {
        let report = node
            .call(Call {
                activation: &activation(),
                params: std::borrow::Cow::Borrowed(&params),
                seed: [seed; 32],
                clock: Timestamp(0),
                limits: limits(),
                journal: graph_engine::Journal::Record,
                services: graph_engine::Services::default(),
                depth: 0,
                observer: None,
            })
            .await;
        value(&report).as_str().unwrap().to_owned()
    };
    let first = draw(1).await;
    assert_eq!(first.len(), 32);
    assert_eq!(first, draw(1).await);
    assert_ne!(first, draw(2).await);
    // ChaCha20 with a key of ones, as any implementation computes it: the stream must never change.
    // (`openssl enc -chacha20` over zeros gives the same.)
    assert_eq!(first, "023f37203a2476c42566a61cc55c3ca8");
}

#[tokio::test]
async fn too_much_randomness() {
    let folder = tempfile::tempdir().unwrap();
    let node = prepare(TESTKIT_IO, &everything(folder.path(), Access::ReadOnly));
    let report = call(&node, json!({"op": "random", "bytes": u64::MAX})).await;
    assert_eq!(report.classification, graph_engine::Classification::HostLimit);
}

#[test]
fn the_engine_is_the_same_everywhere() {
    let one = Engine::new(EngineConfig { concurrency: Some(3), ..EngineConfig::default() }).unwrap();
    assert_eq!(one.digest(), engine().digest());
}

#[test]
fn the_recorded_wasmtime_is_the_linked_one() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    assert!(lock.contains("name = \"wasmtime\"\nversion = \"48.0.8\""), "config.rs names another version");
}

#[test]
fn the_bytes_say_what_the_compiled_component_imports() {
    let mixed = wat::parse_str(
        r#"(component
            (import "a:b/plain@1.0.0" (instance (type (record (field "x" u8))) (export "t" (type (eq 0)))))
            (type $r (instance (export "r" (type (sub resource)))))
            (import "a:b/resource@1.0.0" (instance $i (type $r)))
            (alias export $i "r" (type $t))
            (component (import "inner" (func)))
            (type $f (instance (export "f" (func))))
            (import "a:b/functions@1.0.0" (instance (type $f))))"#,
    )
    .unwrap();
    for bytes in [TESTKIT, TESTKIT_IO, TESTKIT_NET, &mixed] {
        let verified = component(bytes);
        let read = engine().read_imports(&verified).unwrap();
        assert_eq!(read, engine().load(&verified).unwrap().imports());
    }
}

#[test]
fn what_is_compiled_is_known_without_compiling_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = || EngineConfig { cache_dir: Some(folder.path().to_path_buf()), ..EngineConfig::default() };
    let engine = Engine::new(config()).unwrap();
    let verified = component(TESTKIT);
    assert!(!engine.has_compiled(&verified));
    engine.load(&verified).unwrap();
    assert!(engine.has_compiled(&verified));
    assert!(Engine::new(config()).unwrap().has_compiled(&verified));
}
