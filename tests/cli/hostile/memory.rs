//! The same hostile call over and over in one process: nothing adds up.

use super::fixture::Fixture;
use super::offer::{Prepared, Scene};
use super::watch;

/// What a hundred calls may add to the most memory that a process ever has, in KiB: records of a hundred more supersteps,
/// and what allocators do.
const MOST_GROWTH: u64 = 6 * 1024;

/// Runs a graph that calls the component ten times, and one that calls it a hundred times more: each failure is routed to
/// the next call, so the host goes on.
pub(crate) fn check(fixture: &Fixture, prepared: &Prepared) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    let mut peaks = Vec::new();
    for calls in [10, 110] {
        let node = scene.node_entry();
        let again = "again: { assign: { n: 1 }, next: [{ to: bad, when: { path: state.n, op: lt, value: @N } }, { to: [] }] }";
        scene.place.graph(
            "again.yaml",
            &format!(
                "start: bad\ndurability: sync\nmax_steps: 1000\nmax_total_steps: 1000\nchannels: {{ n: {{ reducer: sum, default: 0 }} }}\n\
                 nodes:\n  bad: {{ {node}, next: again, on_error: again }}\n  good: {{}}\n  {}\n",
                again.replace("@N", &calls.to_string())
            ),
        );
        let id = format!("again-{calls}");
        let ended = watch::run(scene.command(&[
            "run",
            "again.yaml",
            "--caps",
            "caps.yaml",
            "--trust",
            "trust.yaml",
            "--allow-unsigned",
            "--run-id",
            &id,
        ]));
        let counted = ended.document["state"]["n"].as_u64();
        if ended.code != Some(0) || counted != Some(calls) {
            return Err(format!(
                "{calls} calls ended with {:?}: {}\n{}",
                ended.code, ended.document, ended.stderr
            ));
        }
        peaks.push(ended.peak);
    }
    match peaks[..] {
        // A system that does not tell.
        [0, _] | [_, 0] => Ok(()),
        [few, many] if many.saturating_sub(few) <= MOST_GROWTH => Ok(()),
        _ => Err(format!("at most {peaks:?} KiB after 10 and 110 calls")),
    }
}
