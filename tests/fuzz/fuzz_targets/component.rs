//! The component loader: bytes, or the text format, as a component under development. It is refused, or it loads; what
//! links without a grant is called and comes back within its limits.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use graph_core::capability::EffectiveGrant;
use graph_core::limits::TaskLimits;
use graph_core::node::Activation;
use graph_core::time::Timestamp;
use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_engine::{Call, Engine, EngineConfig, Journal};
use libfuzzer_sys::fuzz_target;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    Engine::new(EngineConfig { concurrency: Some(1), ..EngineConfig::default() })
        .expect("this machine runs the engine")
});

static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
});

fuzz_target!(|data: &[u8]| {
    let bytes: Arc<[u8]> = match std::str::from_utf8(data) {
        Ok(text) if text.starts_with('(') => match wat::parse_str(text) {
            Ok(bytes) => bytes.into(),
            Err(_) => return,
        },
        _ => data.into(),
    };
    let Ok(component) = VerifiedComponent::under_development(bytes, "fuzz/item", &TrustStore::default())
    else {
        return;
    };
    let loaded = match ENGINE.load(&component) {
        Ok(loaded) => loaded,
        Err(refused) => return assert!(!refused.to_string().is_empty(), "refused without a reason"),
    };
    let limits = TaskLimits {
        fuel: 100_000,
        memory: 1 << 20,
        timeout: Duration::from_millis(500),
        ..TaskLimits::DEFAULT
    };
    let Ok(prepared) = ENGINE.prepare(&loaded, &EffectiveGrant::nothing(limits)) else { return };
    let activation = Activation {
        run_id: "r".into(),
        root_run_id: "r".into(),
        parent_run_id: None,
        graph_id: "g".into(),
        node_id: "n".into(),
        superstep: 1,
        task: "1.0".into(),
        attempt: 1,
        visit: 1,
        argument: None,
        answers: Vec::new(),
        idempotency_key: "k".into(),
    };
    let params = serde_json::json!({ "op": "echo", "value": 1 });
    let call = Call {
        activation: &activation,
        params: std::borrow::Cow::Borrowed(&params),
        seed: [1; 32],
        clock: Timestamp(1),
        limits,
        observer: None,
        journal: Journal::Record,
        services: graph_engine::Services::default(),
        depth: 0,
    };
    let report = RUNTIME.block_on(prepared.call(call));
    assert!(report.fuel_used <= limits.fuel, "more fuel than there was");
});
