//! Components, grants and calls for the tests.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use graph_core::capability::{Access, CapabilityKind, EffectiveGrant, Mount};
use graph_core::limits::TaskLimits;
use graph_core::node::{Activation, Outcome};
use graph_core::record::JournalEntry;
use graph_core::time::Timestamp;
use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_engine::{Call, CallReport, Engine, EngineConfig, Journal, PreparedNode};
use serde_json::Value;

pub(crate) const TESTKIT: &[u8] =
    include_bytes!("../../../../examples/nodes/.ai/tools/examples/testkit.wasm");
pub(crate) const TESTKIT_IO: &[u8] =
    include_bytes!("../../../../examples/nodes/.ai/tools/examples/testkit-io.wasm");

pub(crate) const TESTKIT_NET: &[u8] =
    include_bytes!("../../../../examples/nodes/.ai/tools/examples/testkit-net.wasm");

pub(crate) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(EngineConfig::default()).unwrap())
}

pub(crate) fn component(bytes: &[u8]) -> VerifiedComponent {
    VerifiedComponent::under_development(Arc::from(bytes), "test/node", &TrustStore::default()).unwrap()
}

pub(crate) fn limits() -> TaskLimits {
    TaskLimits { timeout: Duration::from_secs(30), ..TaskLimits::DEFAULT }
}

pub(crate) fn activation() -> Activation {
    Activation {
        run_id: "r1".to_owned(),
        root_run_id: "r0".to_owned(),
        parent_run_id: Some("r0".to_owned()),
        graph_id: "test/graph".to_owned(),
        node_id: "n".to_owned(),
        superstep: 3,
        task: "/3.0".to_owned(),
        attempt: 2,
        visit: 4,
        argument: None,
        answers: Vec::new(),
        idempotency_key: "key".to_owned(),
    }
}

pub(crate) fn nothing() -> EffectiveGrant {
    EffectiveGrant::nothing(limits())
}

/// Creates a grant of everything, with one folder at `/data`.
pub(crate) fn everything(folder: &Path, access: Access) -> EffectiveGrant {
    EffectiveGrant {
        kinds: CapabilityKind::ALL.into_iter().collect(),
        http: Vec::new(),
        secrets: Vec::new(),
        knowledge: Vec::new(),
        models: Vec::new(),
        filesystem: vec![Mount { host: folder.display().to_string(), guest: "/data".to_owned(), access }],
        limits: limits(),
    }
}

pub(crate) fn prepare(bytes: &[u8], grant: &EffectiveGrant) -> PreparedNode {
    let loaded = engine().load(&component(bytes)).unwrap();
    engine().prepare(&loaded, None, grant).unwrap()
}

pub(crate) fn testkit() -> PreparedNode {
    prepare(TESTKIT, &nothing())
}

pub(crate) async fn call_within(node: &PreparedNode, params: &Value, limits: TaskLimits) -> CallReport {
    call_as(node, params, limits, &activation()).await
}

pub(crate) async fn call_as(
    node: &PreparedNode,
    params: &Value,
    limits: TaskLimits,
    activation: &Activation,
) -> CallReport {
    node.call(Call {
        activation,
        params: Cow::Borrowed(params),
        seed: [7; 32],
        clock: Timestamp(1_700_000_000_123),
        limits,
        observer: None,
        journal: Journal::Record,
        services: graph_engine::Services::default(),
        depth: 0,
    })
    .await
}

/// Calls a node with a journal that answers.
pub(crate) async fn replay(node: &PreparedNode, params: &Value, journal: Vec<JournalEntry>) -> CallReport {
    node.call(Call {
        activation: &activation(),
        params: Cow::Borrowed(params),
        seed: [7; 32],
        clock: Timestamp(1_700_000_000_123),
        limits: limits(),
        observer: None,
        journal: Journal::Replay(journal),
        services: graph_engine::Services::default(),
        depth: 0,
    })
    .await
}

pub(crate) async fn call(node: &PreparedNode, params: Value) -> CallReport {
    call_within(node, &params, limits()).await
}

/// Returns the value of a result.
pub(crate) fn value(report: &CallReport) -> &Value {
    match &report.result {
        Ok(Outcome::Result(value)) => value,
        other => panic!("no result: {other:?} ({})", report.classification),
    }
}

/// Creates a node around core code that defines `run` and `describe`. The code can use a memory of one page that starts with `data` at
/// 1024; `$result`, which stores `ok(result(text))` and returns its address; and `$description`, which does the same for a description that
/// consists of one text three times.
pub(crate) fn wat(data: &str, code: &str) -> Vec<u8> {
    node_of(
        &format!(
            r#"(memory (export "memory") 1 512)
               (data (i32.const 1024) "{data}")
               (global $next (mut i32) (i32.const 8192))
               (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                 (local $at i32)
                 (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
                 (global.set $next (i32.add (local.get $at) (local.get 3)))
                 (local.get $at))
               (func $result (param $at i32) (param $length i32) (result i32)
                 (i32.store8 (i32.const 0) (i32.const 0))
                 (i32.store8 (i32.const 4) (i32.const 0))
                 (i32.store (i32.const 8) (local.get $at))
                 (i32.store (i32.const 12) (local.get $length))
                 (i32.const 0))
               (func $description (param $at i32) (param $length i32) (result i32)
                 (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $length))
                 (i32.store (i32.const 8) (local.get $at)) (i32.store (i32.const 12) (local.get $length))
                 (i32.store (i32.const 16) (local.get $at)) (i32.store (i32.const 20) (local.get $length))
                 (i32.store (i32.const 24) (i32.const 0)) (i32.store (i32.const 28) (i32.const 0))
                 (i32.const 0))
               {code}"#,
        ),
        &[],
    )
}

/// Creates a node of core code, which imports functions `() -> u64` of the named interfaces.
#[allow(clippy::format_push_string, reason = "tests read better so")]
pub(crate) fn node_of(core: &str, imports: &[(&str, &str)]) -> Vec<u8> {
    let mut text = include_str!("node.wat").replace("@CORE@", core);
    let (mut import, mut lowered, mut with) = (String::new(), String::new(), String::new());
    for (i, (interface, function)) in imports.iter().enumerate() {
        import += &format!(
            r#"(import "{interface}" (instance $import-{i} (export "{function}" (func (result u64)))))"#
        );
        lowered += &format!(
            r#"(alias export $import-{i} "{function}" (func $function-{i}))
               (core func $lowered-{i} (canon lower (func $function-{i})))
               (core instance $given-{i} (export "{function}" (func $lowered-{i})))"#
        );
        with += &format!(r#"(with "{interface}" (instance $given-{i}))"#);
    }
    text = text.replace("@IMPORTS@", &import).replace("@LOWERED@", &lowered).replace("@WITH@", &with);
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Names of the contract's functions, for core code.
pub(crate) const RUN: &str = r#"(export "graph-host:node/action@0.1.0#run")"#;
pub(crate) const DESCRIBE: &str = r#"(export "graph-host:node/action@0.1.0#describe")"#;

/// Creates a node whose `run` is the code, and whose `describe` returns the first two bytes of `data` thrice.
pub(crate) fn wat_run(data: &str, code: &str) -> Vec<u8> {
    wat(
        data,
        &format!(
            "(func {RUN} (param i32) (result i32) {code})
             (func {DESCRIBE} (result i32) (call $description (i32.const 1024) (i32.const 2)))"
        ),
    )
}
