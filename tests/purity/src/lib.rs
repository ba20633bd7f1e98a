//! Calls every part of `graph-core`, so that nothing of it is left out of the module whose imports are counted.

use std::sync::Arc;

use graph_core::time::Timestamp;
use graph_core::{capability, condition, document, json, record, schema, template, trust, walker, yaml};
use serde_json::Value;

/// Runs a text through whatever reads texts. The result depends on all of it.
#[unsafe(no_mangle)]
pub extern "C" fn touch(pointer: *const u8, length: usize, at: u64) -> u64 {
    // SAFETY: whoever calls this names bytes that it has written.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    let now = Timestamp(at);
    let mut sum = json::parse_strict(text, 64).map_or(1, |value| json::canonical_string(&value).len() as u64);
    sum += document::load("text", text, "t/text").map_or(2, |loaded| walk(loaded.graph, now));
    let value = Value::String(text.to_owned());
    sum += template::ValueTemplate::parse(&value).map_or(3, |parsed| parsed.paths().count() as u64);
    sum += condition::Condition::from_json(&value).map_or(4, |parsed| parsed.paths().count() as u64);
    sum += schema::InputSchema::compile(&value).map_or(5, |schema| u64::from(schema.validate_and_fill(value).is_ok()));
    sum += trust_something(text, now);
    sum
}

fn walk(graph: graph_core::graph::Graph, now: Timestamp) -> u64 {
    let graph = Arc::new(graph);
    let inputs = Arc::new(Value::Null);
    let setup = walker::Setup {
        identity: walker::Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: walker::Setup::default_seed(&graph, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        manifest: Arc::new(capability::Manifest::deny_all()),
        pins: graph.digest,
        durability: graph.durability,
        max_steps: None,
        max_concurrency: None,
    };
    let mut walker = walker::Walker::new(graph, setup);
    let key = trust::SigningKey::from_seed(&[7; 32]);
    let mut chain = record::ChainVerifier::new(key.verifying_key());
    let mut sum = 0;
    for effect in walker.handle(now, walker::Event::Started).unwrap_or_default() {
        if let walker::Effect::Persist(persist) = effect
            && let Ok(signed) = persist.sign(&key)
        {
            sum += u64::from(chain.checkpoint(&signed).is_ok());
        }
    }
    sum + walker.summary().steps
}

fn trust_something(text: &str, now: Timestamp) -> u64 {
    let Ok(store) = trust::TrustStore::parse("text", text) else { return 6 };
    let bytes: Arc<[u8]> = text.as_bytes().into();
    u64::from(trust::VerifiedComponent::verify(bytes, text, &store, "t/text", now).is_ok())
}
