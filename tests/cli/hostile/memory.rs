//! Offers the same hostile input repeatedly to one process: its memory must not grow.

use std::time::Duration;

use super::fixture::Fixture;
use super::offer::{Prepared, Scene, Taken};
use super::watch::{self, Ended};

/// Limit of the growth of a process's peak memory by a hundred further repetitions, in KiB: records of a hundred more
/// supersteps, and effects of allocators.
const MOST_GROWTH: u64 = 6 * 1024;

/// Number of times that the process with few repetitions is inspected again, if the memory seems to have grown.
const INSPECTIONS: usize = 3;

/// Time above which a process is inspected often enough.
const SHORT: Duration = Duration::from_millis(100);

/// Offers the fixture to one process some times, and to another a hundred times more.
pub(crate) fn check(fixture: &Fixture, prepared: &Prepared, taken: &mut Taken) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    let few_and_many = match fixture.offer.as_str() {
        // A document is read quickly, and a short process ends before its memory is inspected.
        "document" if read(&scene, 1)?.took < SHORT => [110, 210],
        "document" => [2, 102],
        _ => [10, 110],
    };
    // An allocator may keep freed memory, such as that of a component of the largest size.
    let offered = fixture.component().map_or(0, |component| component.len() as u64 / 1024);
    let mut peak = |times| {
        let ended = match fixture.offer.as_str() {
            "document" => read(&scene, times),
            _ => run(&scene, times),
        };
        ended.map(|ended| {
            *taken = Taken::of(&ended);
            ended.peak
        })
    };
    let mut few = peak(few_and_many[0])?;
    let many = peak(few_and_many[1])?;
    let has_grown = |few: u64| many.saturating_sub(few) > MOST_GROWTH + 2 * offered;
    // On a busy machine, the last inspection of a short process may be long before its end.
    for _ in 0..INSPECTIONS {
        if has_grown(few) {
            few = few.max(peak(few_and_many[0])?);
        }
    }
    // A system that does not report it gives zero.
    if few == 0 || many == 0 || !has_grown(few) {
        Ok(())
    } else {
        Err(format!("at most {few} and {many} KiB after {few_and_many:?} times"))
    }
}

/// Reads a document `times` times.
fn read(scene: &Scene<'_>, times: usize) -> Result<Ended, String> {
    let words: Vec<_> = std::iter::once("validate").chain(std::iter::repeat_n("bad.yaml", times)).collect();
    let ended = watch::run(scene.command(&words));
    let answers = ended.document["files"].as_array().map(Vec::len);
    let refused = ended.code.map(i64::from) == scene.fixture.expect["exit"].as_i64();
    if refused && answers == Some(times) { Ok(ended) } else { Err(told(times, &ended)) }
}

/// Runs a graph that calls the component `times` times: each failure is routed to the next call, so the host continues.
/// The item's id is a template, which is resolved at its dispatch, so that refusals before a start happen then, each
/// time.
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
