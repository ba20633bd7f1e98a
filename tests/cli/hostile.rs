//! What a stranger's component, document or statement tries, and what comes of it: every file below `tests/hostile` is one
//! input with its outcome beside it. `tests/hostile/README.md` is the table of them; `HOSTILE_UPDATE=1` writes it anew.

#![allow(clippy::format_push_string, clippy::format_collect, reason = "tests read better so")]

mod beside;
mod fixture;
mod memory;
mod offer;
mod registry;
mod shown;
mod signing;
mod table;
mod watch;

use std::sync::Mutex;
use std::time::Instant;

use fixture::Fixture;

/// Runs every fixture that is wanted (`HOSTILE=text` wants those whose name has that text), two at a time.
fn each(wanted: impl Fn(&Fixture) -> bool, run: impl Fn(&Fixture) -> Result<(), String> + Sync) {
    let filter = std::env::var("HOSTILE").unwrap_or_default();
    let fixtures = fixture::all();
    let chosen: Vec<_> =
        fixtures.iter().filter(|fixture| wanted(fixture) && fixture.name.contains(&filter)).collect();
    let waiting = Mutex::new(chosen.iter());
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(fixture) = waiting.lock().unwrap().next() else { break };
                    let began = Instant::now();
                    let outcome = run(fixture);
                    outcomes.lock().unwrap().push((*fixture, outcome, began.elapsed()));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|one, other| one.0.name.cmp(&other.0.name));
    println!("{}", table::outcomes(&outcomes));
    let failed: Vec<_> = outcomes
        .iter()
        .filter_map(|(fixture, outcome, _)| Some(format!("{}: {}", fixture.name, outcome.as_ref().err()?)))
        .collect();
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), outcomes.len(), failed.join("\n"));
    assert!(!outcomes.is_empty(), "no fixture has a name with {filter:?}");
}

#[test]
fn hostile_input_comes_to_what_it_should() {
    let prepared = offer::Prepared::new();
    each(|_| true, |fixture| offer::check(fixture, &prepared));
}

#[test]
fn hostile_input_a_hundred_times_over_takes_no_more_memory() {
    let prepared = offer::Prepared::new();
    each(|fixture| fixture.repeats, |fixture| memory::check(fixture, &prepared));
}

#[test]
fn the_table_of_hostile_input_is_up_to_date() {
    table::compare(&fixture::all());
}
