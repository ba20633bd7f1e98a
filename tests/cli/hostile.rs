//! Attempts of a stranger's component, document or statement, and their outcomes: every file below `tests/hostile` is
//! one input with its outcome. `tests/hostile/README.md` is the table of them; `HOSTILE_UPDATE=1` rewrites it.

#![allow(clippy::format_push_string, clippy::format_collect, reason = "tests read better so")]

mod beside;
mod commands;
mod fixture;
mod interrupts;
mod memory;
mod offer;
#[cfg(target_os = "linux")]
mod outside;
mod registry;
mod rows;
mod shown;
mod signing;
mod table;
pub(crate) mod watch;

use std::sync::Mutex;
use std::time::Instant;

use fixture::Fixture;
use offer::Taken;
use table::Outcome;

/// Returns the fixtures whose name contains the text of `HOSTILE`; all of them without it.
fn named(fixtures: &[Fixture]) -> Vec<&Fixture> {
    let filter = std::env::var("HOSTILE").unwrap_or_default();
    let named: Vec<_> = fixtures.iter().filter(|fixture| fixture.name.contains(&filter)).collect();
    assert!(!named.is_empty(), "no fixture has a name with {filter:?}");
    named
}

/// Runs fixtures, two at a time, and prints the outcome of each.
fn each(fixtures: &[&Fixture], run: impl Fn(&Fixture, &mut Taken) -> Result<(), String> + Sync) {
    let waiting = Mutex::new(fixtures.iter());
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(fixture) = waiting.lock().unwrap().next() else { break };
                    let began = Instant::now();
                    let mut taken = Taken::default();
                    let result = run(fixture, &mut taken);
                    let took = began.elapsed();
                    outcomes.lock().unwrap().push(Outcome { fixture, result, took, taken });
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|one, other| one.fixture.name.cmp(&other.fixture.name));
    println!("{}", table::outcomes(&outcomes));
    let failed: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| Some(format!("{}: {}", outcome.fixture.name, outcome.result.as_ref().err()?)))
        .collect();
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), outcomes.len(), failed.join("\n"));
}

#[test]
fn hostile_input_comes_to_what_it_should() {
    let prepared = offer::Prepared::new();
    let fixtures = fixture::all();
    let draw = interrupts::Draw::from_environment();
    each(&draw.variants(&named(&fixtures)), |fixture, taken| offer::check(fixture, &prepared, taken));
}

#[test]
fn hostile_input_a_hundred_times_over_takes_no_more_memory() {
    let prepared = offer::Prepared::new();
    let fixtures = fixture::all();
    let draw = interrupts::Draw::from_environment();
    let is_repeated = |fixture: &&Fixture| fixture.repeats && draw.is_one_in_eight(fixture);
    let repeated: Vec<_> = named(&fixtures).into_iter().filter(is_repeated).collect();
    each(&repeated, |fixture, taken| memory::check(fixture, &prepared, taken));
}

#[test]
fn ctrl_c_ends_work_on_hostile_input() {
    let prepared = offer::Prepared::new();
    let fixtures = fixture::all();
    let draw = interrupts::Draw::from_environment();
    each(&draw.sample(&named(&fixtures)), |fixture, taken| {
        interrupts::check(fixture, &prepared, &draw, taken)
    });
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "needs strace, which the step `outside` of tests/run installs"]
fn nothing_outside_the_project_and_the_users_space_is_written() {
    let prepared = offer::Prepared::new();
    let fixtures = fixture::all();
    let draw = interrupts::Draw::from_environment();
    // All fixtures about the contents of a project, and a sample of the rest.
    let (folders, others): (Vec<_>, Vec<_>) =
        named(&fixtures).into_iter().partition(|fixture| outside::TOPICS.contains(&fixture.topic.as_str()));
    let drawn = draw.sample(&others);
    let chosen: Vec<_> = folders.into_iter().chain(drawn).collect();
    each(&chosen, |fixture, taken| outside::check(fixture, &prepared, taken));
}

#[test]
fn every_command_bounds_hostile_documents() {
    let prepared = offer::Prepared::new();
    let fixtures = fixture::all();
    let mut read: Vec<_> = named(&fixtures).into_iter().filter(|fixture| commands::reads(fixture)).collect();
    // Variants differ when they run, and hardly when they are read.
    if !interrupts::is_full() {
        read.dedup_by(|one, other| one.file == other.file);
    }
    let draw = interrupts::Draw::from_environment();
    each(&read, |fixture, taken| commands::check(fixture, &prepared, &draw, taken));
}

#[test]
fn the_table_of_hostile_input_is_up_to_date() {
    table::compare(&fixture::all());
}
