//! Checks that every command that reads a graph keeps within bounds, whatever the graph is.

use super::fixture::Fixture;
use super::interrupts::Draw;
use super::offer::{Prepared, Scene, Taken, in_bounds};
use super::watch;

/// Commands that read a graph without running or drawing it.
const COMMANDS: [&[&str]; 4] = [
    &["validate", "bad.yaml"],
    &["run", "bad.yaml", "--plan", "--caps", "caps.yaml", "--allow-unsigned"],
    &["graph", "report", "bad.yaml"],
    &["caps", "suggest", "bad.yaml"],
];
/// Commands that draw a graph.
const DRAWINGS: [&[&str]; 4] = [
    &["graph", "show", "bad.yaml", "--format", "json"],
    &["graph", "show", "bad.yaml", "--format", "mermaid"],
    &["graph", "show", "bad.yaml", "--format", "dot"],
    &["graph", "show", "bad.yaml", "--format", "svg"],
];
/// Permitted exit codes of these commands: the documented ones, never a signal or a panic.
const EXITS: [i32; 8] = [0, 2, 3, 4, 5, 7, 8, 9];

/// Checks whether a fixture has a graph to read.
pub(crate) fn reads(fixture: &Fixture) -> bool {
    fixture.topic == "work" && ["graph", "document"].contains(&fixture.offer.as_str())
}

/// Passes the fixture's graph to the drawn commands: half of those that do not draw, and one that draws.
pub(crate) fn check(
    fixture: &Fixture,
    prepared: &Prepared,
    draw: &Draw,
    taken: &mut Taken,
) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    let drawn = [draw.some_of(fixture, &COMMANDS, 2), draw.some_of(fixture, &DRAWINGS, 1)].concat();
    let mut wrong = Vec::new();
    for words in drawn {
        let ended = watch::within(scene.command(words), &scene.bounds());
        let of = Taken::of(&ended);
        (taken.mib, taken.disk) = (taken.mib.max(of.mib), taken.disk.max(of.disk));
        let outcome = in_bounds(fixture, &ended).and_then(|()| match ended.code {
            Some(code) if EXITS.contains(&code) => Ok(()),
            other => Err(format!("it ended with {other:?}, signal {:?}", ended.signal)),
        });
        if let Err(why) = outcome {
            wrong.push(format!("{words:?}: {why}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
