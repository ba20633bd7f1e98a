//! What the engine adds to a bare wasmtime call. Run by hand: `cargo test -p graph-engine --release --features bench
//! speed -- --ignored --nocapture`; the project's benchmark compares the same pair.

#[cfg(feature = "bench")]
#[tokio::test]
#[ignore = "measures; says nothing about correctness"]
async fn a_call_beside_the_bare_one() {
    use std::time::Instant;

    use graph_engine::bare::BareCall;
    use serde_json::json;

    use crate::support::{activation, call_within, limits, testkit};

    let node = testkit();
    let params = json!({"op": "echo", "value": {"items": (0..20).map(|i| json!({"id": i, "name": "some name", "on": true, "x": 1.5})).collect::<Vec<_>>()}});
    let text = params.to_string();
    let bare = BareCall::new(&node, activation(), text.clone(), &limits());
    let rounds = 2000;
    let (mut engine_ns, mut bare_ns) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        bare.call().await.unwrap();
        bare_ns.push(began.elapsed().as_nanos());
        let began = Instant::now();
        assert!(call_within(&node, &params, limits()).await.result.is_ok());
        engine_ns.push(began.elapsed().as_nanos());
    }
    engine_ns.sort_unstable();
    bare_ns.sort_unstable();
    let (engine_ns, bare_ns) = (engine_ns[rounds / 2], bare_ns[rounds / 2]);
    println!(
        "{} bytes in: engine {engine_ns} ns, bare {bare_ns} ns, ratio {}.{:02}",
        text.len(),
        engine_ns / bare_ns,
        engine_ns * 100 / bare_ns % 100
    );
}
