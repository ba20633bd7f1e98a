//! Time to load a component from the cache: every byte of its code is read and checked.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_engine::{CacheStatus, Compiler, Engine, EngineConfig};

use crate::{Pair, ROUNDS, Table};

/// Functions of a component of 12 MB, and instructions of each: about those of a JavaScript engine.
const FUNCTIONS: usize = 12_000;
const INSTRUCTIONS: usize = 330;
/// Approximate size of that component, in bytes.
const SIZE: usize = 12_000_000;

/// Measures a small component, and one of 12 MB; `GRAPH_BENCH_COMPONENT` names a file for the large one.
pub(crate) fn measure(root: &Path, folder: &Path, table: &mut Table) -> Result<()> {
    let small = std::fs::read(root.join("examples/approval/.ai/tools/examples/ask.wasm"))?;
    let large = match std::env::var_os("GRAPH_BENCH_COMPONENT") {
        Some(path) => std::fs::read(path)?,
        None => large(),
    };
    for (name, bytes) in [("small", small), ("large", large)] {
        let what = format!("a component of {} KB from the cache ({name})", bytes.len() / 1000);
        let component =
            VerifiedComponent::under_development(bytes.into(), "bench/component", &TrustStore::default())?;
        let mut pair = Pair::default();
        for round in 0..=ROUNDS {
            let cache_dir = Some(folder.join("loads"));
            // A new engine each time: an engine keeps the components that it has loaded.
            let engine = Engine::new(EngineConfig {
                cache_dir,
                concurrency: Some(1),
                compiler: Compiler::InProcess,
                ..EngineConfig::default()
            })?;
            let start = Instant::now();
            let loaded = engine.load(&component)?;
            let took = start.elapsed();
            if round == 0 {
                pair.base.push(took);
            } else {
                ensure!(loaded.cache_status() == &CacheStatus::Hit, "{:?}", loaded.cache_status());
                pair.ours.push(took);
            }
        }
        let limit = if name == "small" { Duration::from_millis(1) } else { Duration::from_millis(60) };
        table.timed(&what, "compiling it", &pair, limit);
    }
    Ok(())
}

/// Generates a component with functions that are never called, but compiled.
fn large() -> Vec<u8> {
    fn leb(mut value: usize, to: &mut Vec<u8>) {
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap_or_default();
            value >>= 7;
            to.push(if value == 0 { byte } else { byte | 0x80 });
            if value == 0 {
                return;
            }
        }
    }
    fn section(id: u8, content: &[u8], to: &mut Vec<u8>) {
        to.push(id);
        leb(content.len(), to);
        to.extend_from_slice(content);
    }
    // (local.set 0 (i32.xor (local.get 0) (i32.const …)))
    let mut body = vec![0];
    for index in 0..INSTRUCTIONS / 4 {
        body.extend([
            0x20,
            0,
            0x41,
            0xff,
            0xff,
            u8::try_from(index % 0x40).unwrap_or_default(),
            0x73,
            0x21,
            0,
        ]);
    }
    body.extend([0x20, 0, 0x0b]);
    let (mut functions, mut bodies) = (Vec::new(), Vec::new());
    leb(FUNCTIONS, &mut functions);
    leb(FUNCTIONS, &mut bodies);
    functions.resize(functions.len() + FUNCTIONS, 0);
    for _ in 0..FUNCTIONS {
        leb(body.len(), &mut bodies);
        bodies.extend_from_slice(&body);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f], &mut module);
    section(3, &functions, &mut module);
    section(10, &bodies, &mut module);
    // The rest is data, as in an interpreter.
    let rest = SIZE.saturating_sub(module.len());
    let mut data = vec![1, 1];
    leb(rest, &mut data);
    data.resize(data.len() + rest, 7);
    section(11, &data, &mut module);
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    section(1, &module, &mut component);
    component
}
