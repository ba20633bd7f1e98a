//! Writes modules for the comparison of engines: random ones, each plain and instrumented, with the calls to make; and
//! components as for a page, in JavaScript and with instrumented core modules. `parity FOLDER SEED COUNT [COMPONENT
//! ...]`.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use arbitrary::Unstructured;
use graph_bundle::InstrumentError;
use serde_json::{Value, json};
use wasm_smith::{Config, Module};
use wasmparser::{CompositeInnerType, ExternalKind, Parser, Payload, ValType};

/// Number of calls of one instance.
const CALLS: usize = 4;
/// Integers that are more interesting than others.
const EDGES: [u64; 8] = [0, 1, 2, 128, 65_536, 0x7fff_ffff, 0x8000_0000, u64::MAX];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seed, count, components @ ..] = words.as_slice() else {
        eprintln!("usage: parity FOLDER SEED COUNT [COMPONENT ...]");
        return ExitCode::from(2);
    };
    match write(Path::new(folder), seed, count, components) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path, seed: &str, count: &str, components: &[String]) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let seed: u64 = seed.parse()?;
    for number in 0..count.parse::<u64>()? {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let (bytes, instrumented, calls) = loop {
            let bytes = module(&mut random)?;
            let instrumented = match graph_bundle::instrument(&bytes) {
                Ok(instrumented) => instrumented,
                // The module has an `externref`, which the engine refuses, too.
                Err(InstrumentError::Invalid(reason)) if reason.contains("gc types are disallowed") => {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let calls = calls(&bytes, &mut random)?;
            // A module without functions to call would show nothing.
            if !calls.is_empty() {
                break (bytes, instrumented, calls);
            }
        };
        let memory = [1_u64 << 20, 4 << 20][random.below(2)];
        std::fs::write(folder.join(format!("{number}.wasm")), &bytes)?;
        std::fs::write(folder.join(format!("{number}.metered.wasm")), &instrumented.module)?;
        let described = json!({ "pages": instrumented.pages, "memory": memory, "calls": calls });
        std::fs::write(folder.join(format!("{number}.json")), described.to_string())?;
    }
    let (mut whole, mut modules) = (Vec::new(), Vec::new());
    for component in components {
        let bytes = wat::parse_file(component)?;
        let name = format!("component-{}", whole.len());
        std::fs::write(folder.join(format!("{name}.wasm")), &bytes)?;
        let transpiled = graph_bundle::transpile("component", &bytes, &[], [])?;
        let cores: Vec<_> = transpiled.cores.iter().map(|(_, core)| &core[..]).collect();
        std::fs::create_dir_all(folder.join(&name))?;
        std::fs::write(folder.join(&name).join("component.mjs"), &transpiled.script)?;
        let mut pages = serde_json::Map::new();
        for (place, instrumented) in
            graph_bundle::instrument_cores(&bytes, cores.iter().copied())?.into_iter().enumerate()
        {
            let (file, core) = &transpiled.cores[place];
            std::fs::write(folder.join(&name).join(file), &instrumented.module)?;
            pages.insert(file.clone(), instrumented.pages.into());
            modules.push(json!({
                "component": component, "module": place, "file": format!("{name}/{file}"), "before": core.len(),
                "after": instrumented.module.len(),
            }));
        }
        whole.push(json!({ "component": component, "file": name, "pages": pages }));
    }
    std::fs::write(folder.join("components.json"), json!(whole).to_string())?;
    std::fs::write(folder.join("modules.json"), json!(modules).to_string())?;
    Ok(())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }
}

/// Makes a module of the proposals that the engine supports, which imports nothing.
fn module(random: &mut Random) -> Result<Vec<u8>, Box<dyn Error>> {
    let several_memories = random.below(4) == 0;
    let config = Config {
        allow_start_export: false,
        disallow_traps: random.below(2) == 0,
        exceptions_enabled: false,
        export_everything: true,
        gc_enabled: false,
        max_imports: 0,
        max_instructions: [60, 200, 600][random.below(3)],
        max_memories: if several_memories { 3 } else { 1 },
        max_memory32_bytes: 40 << 16,
        max_table_elements: 2_000,
        max_tables: 2,
        max_types: [4, 12][random.below(2)],
        memory64_enabled: false,
        min_funcs: 2,
        min_memories: 1,
        min_tables: 1,
        min_data_segments: 1,
        min_element_segments: 1,
        // With reference types, most modules have an `externref`.
        reference_types_enabled: random.below(2) == 0,
        relaxed_simd_enabled: false,
        shared_everything_threads_enabled: false,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    };
    let bytes: Vec<u8> = (0..4_096).flat_map(|_| random.next().to_le_bytes()).collect();
    Ok(Module::new(config, &mut Unstructured::new(&bytes))?.to_bytes())
}

/// Makes calls of exported functions, each with arguments and a limit. Types without values in JavaScript are left out.
fn calls(bytes: &[u8], random: &mut Random) -> Result<Vec<Value>, Box<dyn Error>> {
    let (mut types, mut functions, mut exports) = (Vec::new(), Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::TypeSection(section) => {
                for group in section {
                    for of_type in group?.into_types() {
                        types.push(match of_type.composite_type.inner {
                            CompositeInnerType::Func(function) => Some(function),
                            _ => None,
                        });
                    }
                }
            }
            Payload::FunctionSection(section) => {
                functions = section.into_iter().collect::<Result<Vec<u32>, _>>()?
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        exports.push((export.name.to_owned(), export.index));
                    }
                }
            }
            _ => {}
        }
    }
    let mut callable = Vec::new();
    for (name, index) in exports {
        let of_type =
            functions.get(index as usize).and_then(|of_type| types.get(*of_type as usize)?.as_ref());
        if let Some(of_type) = of_type
            && !of_type.params().iter().chain(of_type.results()).any(|value| *value == ValType::V128)
        {
            callable.push((name, of_type.params().to_vec()));
        }
    }
    if callable.is_empty() {
        return Ok(Vec::new());
    }
    let call = |random: &mut Random| {
        let (name, params) = &callable[random.below(callable.len())];
        let arguments: Vec<_> = params.iter().map(|param| argument(*param, random)).collect();
        let limit = [20, 300, 5_000, 100_000][random.below(4)] + random.next() % 300;
        json!({ "export": name, "arguments": arguments, "limit": limit })
    };
    Ok((0..CALLS).map(|_| call(random)).collect())
}

/// Makes an argument: its type and its bits.
fn argument(of_type: ValType, random: &mut Random) -> Value {
    let bits = if random.below(2) == 0 { EDGES[random.below(EDGES.len())] } else { random.next() };
    // JavaScript does not keep the bits of a NaN.
    let float = [0.0, -0.0, 1.5, -3.25e7, f64::INFINITY, 1e-310][random.below(6)];
    match of_type {
        ValType::I32 => json!(["i32", (bits & 0xffff_ffff).to_string()]),
        ValType::I64 => json!(["i64", bits.to_string()]),
        ValType::F32 => json!(["f32", (float as f32).to_bits().to_string()]),
        ValType::F64 => json!(["f64", float.to_bits().to_string()]),
        _ => json!(["ref", "0"]),
    }
}
