//! Repeats a fixed amount of work on one path through `graph-core`, so that its instructions can be counted.
//! `instructions` prints the names of the paths; `instructions PATH TIMES` runs one of them.
//!
//! Only the public interface is used, and templates, conditions and reducers are reached by walking graphs: internal
//! changes must not require changes here, or counts before and after could not be compared.

mod driver;
mod graphs;

use std::process::ExitCode;

use graph_core::trust::SigningKey;
use graph_walker::document;

use driver::{load, walk};

/// Overrides the C library's function, which seeds hash maps: with random seeds, collisions would vary the count.
///
/// # Safety
///
/// `buffer` points at `length` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::write_bytes(buffer, 7, length) };
    isize::try_from(length).unwrap_or(isize::MAX)
}

/// The name of a path and the function that repeats it. Its result is printed, so that the optimizer cannot drop the work.
type Path = (&'static str, fn(u32) -> u64);

const PATHS: [Path; 6] = [
    ("supersteps", |times| repeat(times, graphs::LOOP, 301)),
    ("fan-out", |times| repeat(times, graphs::FAN_OUT, 1)),
    ("templates", |times| repeat(times, graphs::TEMPLATES, 200)),
    ("append", |times| repeat(times, graphs::APPEND, 2_000)),
    ("records", records),
    ("document", documents),
];

/// Walks a graph `times` times to its end, which takes `steps` supersteps.
fn repeat(times: u32, text: &str, steps: u64) -> u64 {
    let graph = load(text);
    (0..times).map(|_| walk(&graph, steps, |_| ())).sum()
}

/// Encodes and signs checkpoints and task records, large and small, of two runs that are walked once.
fn records(times: u32) -> u64 {
    let key = SigningKey::from_seed(&[7; 32]);
    let mut persists = Vec::new();
    walk(&load(graphs::FEW_TASKS), 1, |persist| persists.push(persist));
    walk(&load(graphs::TEMPLATES), 200, |persist| {
        if persist.id.0.is_multiple_of(20) {
            persists.push(persist);
        }
    });
    let mut sum = 0;
    for _ in 0..times {
        for persist in &persists {
            let (body, _) = persist.record.encode().expect("a record of a run can be written");
            let signed = persist.clone().sign(&key).expect("a record of a run can be signed");
            assert_eq!(body, signed.body, "a record is signed as it is encoded");
            sum += body.len() as u64;
        }
    }
    sum
}

/// Loads a document of 200 nodes.
fn documents(times: u32) -> u64 {
    let text = graphs::of_many_nodes(200);
    (0..times)
        .map(|_| match document::load("graph.yaml", &text, "t/graph") {
            Ok(loaded) => loaded.graph.nodes.len() as u64,
            Err(problems) => panic!("{}", problems.to_lines().join("\n")),
        })
        .sum()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            for (name, _) in PATHS {
                println!("{name}");
            }
            ExitCode::SUCCESS
        }
        [name, times]
            if let (Some((_, path)), Ok(times)) =
                (PATHS.iter().find(|(known, _)| *known == name), times.parse()) =>
        {
            println!("{}", path(times));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: instructions [PATH TIMES]");
            ExitCode::from(2)
        }
    }
}
