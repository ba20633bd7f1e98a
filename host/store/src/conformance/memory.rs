//! What reading and writing take in memory, measured in a process of its own: the memory of a C library counts too.

use std::fs;
use std::process::Command;

use super::Subject;
use super::sample::{checkpoint, run, segment, take_up, whole, write};

/// So much more memory a longer history may take, in bytes.
pub const SLACK: u64 = 12 << 20;

const STEPS: &str = "GRAPH_STORE_STEPS";

fn figure(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap() << 10
}

/// How much memory something takes at its peak, beyond what was in use before.
pub fn peak_of(work: impl FnOnce()) -> u64 {
    // It makes the peak what is in use now.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = figure("VmRSS");
    work();
    figure("VmHWM").saturating_sub(before)
}

/// Runs an ignored test in a process of its own, for a run of so many steps, and gives the figures that it prints.
pub fn figures_of(test: &str, steps: u64) -> Vec<u64> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(STEPS, steps.to_string())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let line =
        printed.lines().find_map(|line| line.split_once("figures:")).expect("the test prints figures").1;
    line.split_whitespace().map(|figure| figure.parse().unwrap()).collect()
}

/// Prints figures for [`figures_of`].
pub fn print(figures: &[u64]) {
    let figures: Vec<_> = figures.iter().map(ToString::to_string).collect();
    println!("figures: {}", figures.join(" "));
}

/// How many steps the test is to take.
pub fn steps() -> u64 {
    std::env::var(STEPS).ok().and_then(|steps| steps.parse().ok()).unwrap_or(500)
}

/// Writes a run of steps that add a kilobyte each, and gives the peak.
pub fn writing(subject: &dyn Subject, steps: u64) -> u64 {
    let line = format!("[\"{}\"]", "x".repeat(1_000));
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    let guard = take_up(&*store, "r");
    peak_of(|| {
        for sequence in 0..steps {
            let log = if sequence == 0 { whole("log", 0, "[]") } else { segment("log", sequence, &line) };
            let values = vec![log, whole("count", sequence, &sequence.to_string())];
            write(&*store, &guard, &[checkpoint("r", sequence, values)]);
        }
    })
}

/// Goes through all that is kept of the run in pages, and gives the peak.
pub fn reading(subject: &dyn Subject, steps: u64) -> u64 {
    peak_of(|| {
        let store = subject.open();
        let (mut after, mut count) = (None, 0);
        loop {
            let page = store.checkpoints("r", "", after, 256).unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.sequence);
            count += page.len() as u64;
        }
        assert_eq!(count, steps);
        let (mut after, mut count) = (0, 0);
        loop {
            let page = store.history("r", after, 256).unwrap();
            let Some(last) = page.last() else { break };
            after = last.before + last.record.events;
            count += page.len() as u64;
        }
        assert_eq!(count, steps);
        assert_eq!(store.pending("r", "").unwrap(), []);
        assert_eq!(store.runs(&crate::run::RunFilter::default()).unwrap().len(), 1);
    })
}
