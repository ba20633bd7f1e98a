//! The same hostile input over and over in one process: nothing adds up.

use std::time::Duration;

use super::fixture::Fixture;
use super::offer::{Prepared, Scene, Taken};
use super::watch::{self, Ended};

/// What a hundred times more may add to the most memory that a process ever has, in KiB: records of a hundred more
/// supersteps, and what allocators do.
const MOST_GROWTH: u64 = 6 * 1024;

/// A process that takes longer is looked at often enough.
const SHORT: Duration = Duration::from_millis(100);

/// Lets one process meet the fixture some times, and another a hundred times more.
pub(crate) fn check(fixture: &Fixture, prepared: &Prepared, taken: &mut Taken) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    let few_and_many = match fixture.offer.as_str() {
        // A document is read in no time, and a process that ends at once has ended before anybody looks at its memory.
        "document" if read(&scene, 1)?.took < SHORT => [110, 210],
        "document" => [2, 102],
        _ => [10, 110],
    };
    // Of what has been freed an allocator may keep some, such as a component that is as large as it may be.
    let offered = fixture.component().map_or(0, |component| component.len() as u64 / 1024);
    let mut peaks = Vec::new();
    for times in few_and_many {
        let ended = match fixture.offer.as_str() {
            "document" => read(&scene, times),
            _ => run(&scene, times),
        };
        let ended = ended?;
        *taken = Taken::of(&ended);
        peaks.push(ended.peak);
    }
    match peaks[..] {
        // A system that does not tell.
        [0, _] | [_, 0] => Ok(()),
        [few, many] if many.saturating_sub(few) <= MOST_GROWTH + 2 * offered => Ok(()),
        _ => Err(format!("at most {peaks:?} KiB after {few_and_many:?} times")),
    }
}

/// Reads a document so many times.
fn read(scene: &Scene<'_>, times: usize) -> Result<Ended, String> {
    let words: Vec<_> = std::iter::once("validate").chain(std::iter::repeat_n("bad.yaml", times)).collect();
    let ended = watch::run(scene.command(&words));
    let answers = ended.document["files"].as_array().map(Vec::len);
    let refused = ended.code.map(i64::from) == scene.fixture.expect["exit"].as_i64();
    if refused && answers == Some(times) { Ok(ended) } else { Err(told(times, &ended)) }
}

/// Runs a graph that calls the component so many times: each failure is routed to the next call, so the host goes on. The
/// item's id is a template, which is looked at when it is dispatched: what would be refused before a run starts is refused
/// then, each time.
fn run(scene: &Scene<'_>, times: usize) -> Result<Ended, String> {
    let item = scene.item();
    let node = scene
        .node_entry()
        .replace(&format!("item_id: {item},"), &format!("item_id: \"${{state.none || '{item}'}}\","));
    scene.place.graph(
        "again.yaml",
        &format!(
            "start: bad\ndurability: sync\nmax_steps: 1000\nmax_total_steps: 1000\nchannels: {{ n: {{ reducer: sum, default: 0 }} }}\n\
             nodes:\n  bad: {{ {node}, next: again, on_error: again }}\n  good: {{}}\n  \
             again: {{ assign: {{ n: 1 }}, next: [{{ to: bad, when: {{ path: state.n, op: lt, value: {times} }} }}, {{ to: [] }}] }}\n"
        ),
    );
    // A hundred calls use a hundred times the fuel of one.
    let caps = std::fs::read_to_string(scene.place.path("caps.yaml")).unwrap();
    if !caps.contains("\nrun:") {
        scene.place.write("caps.yaml", &format!("{caps}\nrun: {{ fuel: 1000000000000000 }}\n"));
    }
    let unsigned = (scene.fixture.offer != "artifact").then_some("--allow-unsigned");
    let id = format!("again-{times}");
    let usual = ["run", "again.yaml", "--caps", "caps.yaml", "--trust", "trust.yaml", "--run-id", &id];
    let words: Vec<_> = usual.into_iter().chain(unsigned).collect();
    let ended = watch::run(scene.command(&words));
    let counted = ended.document["state"]["n"].as_u64();
    if ended.code == Some(0) && counted == Some(times as u64) { Ok(ended) } else { Err(told(times, &ended)) }
}

fn told(times: usize, ended: &Ended) -> String {
    format!("{times} times ended with {:?}: {}\n{}", ended.code, ended.document, ended.stderr)
}
