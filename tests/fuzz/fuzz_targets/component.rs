//! The component loader: bytes, or the text format, as a component under development. It is refused, or it loads; if it
//! links without a grant, its node action and its functions are called and return within their limits.
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
use serde_json::{Value, json};

/// Number of functions of a component that are called.
const MOST_FUNCTIONS: usize = 4;

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
    let call = |params| Call {
        activation: &activation,
        params: std::borrow::Cow::Owned(params),
        seed: [1; 32],
        clock: Timestamp(1),
        limits,
        observer: None,
        journal: Journal::Record,
        services: graph_engine::Services::default(),
        depth: 0,
    };
    if let Ok(action) = ENGINE.prepare(&loaded, None, &EffectiveGrant::nothing(limits)) {
        let report = RUNTIME.block_on(action.call(call(json!({ "op": "echo", "value": 1 }))));
        assert!(report.fuel_used <= limits.fuel, "more fuel than there was");
    }
    let functions = ENGINE.functions(&component).expect("a component that loads has a list of functions");
    for function in functions.into_iter().flatten().take(MOST_FUNCTIONS) {
        let name = Some(&*function.name);
        let Ok(prepared) = ENGINE.prepare(&loaded, name, &EffectiveGrant::nothing(limits)) else { continue };
        for value in [json!(0), json!(""), json!([]), json!({}), Value::Null] {
            let parameters = function.params["properties"].as_object().into_iter().flatten();
            let params = parameters.map(|(name, _)| (name.clone(), value.clone())).collect();
            let report = RUNTIME.block_on(prepared.call(call(Value::Object(params))));
            assert!(report.fuel_used <= limits.fuel, "more fuel than there was");
        }
    }
});
