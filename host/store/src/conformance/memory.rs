//! Memory use of reading and writing, measured in a separate process, because the memory of C libraries counts too.

use std::fs;
use std::process::Command;

use super::Subject;
use super::sample::{acquire_run, checkpoint, run, segment, whole, write};

/// Number of bytes by which the memory use may grow with a longer history.
pub const SLACK: u64 = 12 << 20;

const STEPS: &str = "GRAPH_STORE_STEPS";
/// The file to which a measured test writes its figures.
const FIGURES: &str = "GRAPH_STORE_FIGURES";

fn figure(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap() << 10
}

/// Returns the peak memory use of a piece of work, in bytes beyond what was in use before.
pub fn peak_of(work: impl FnOnce()) -> u64 {
    // This resets the peak to what is in use now.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = figure("VmRSS");
    work();
    figure("VmHWM").saturating_sub(before)
}

/// Runs an ignored test in a process of its own, for a run of `steps` steps, and returns the figures that it prints.
pub fn figures_of(test: &str, steps: u64) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("figures");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(STEPS, steps.to_string())
        .env(FIGURES, &file)
        .output()
        .unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    let figures = fs::read_to_string(&file).expect("the test reports figures");
    figures.split_whitespace().map(|figure| figure.parse().unwrap()).collect()
}

/// Reports figures to [`figures_of`], if that has started this test.
pub fn report(figures: &[u64]) {
    let figures: Vec<_> = figures.iter().map(ToString::to_string).collect();
    if let Some(file) = std::env::var_os(FIGURES) {
        fs::write(file, figures.join(" ")).unwrap();
    }
}

/// Returns the number of steps that the test has to take.
pub fn steps() -> u64 {
    std::env::var(STEPS).ok().and_then(|steps| steps.parse().ok()).unwrap_or(500)
}

/// Writes a run of steps that add a kilobyte each, and returns the peak memory use in bytes.
pub fn writing(subject: &dyn Subject, steps: u64) -> u64 {
    let line = format!("[\"{}\"]", "x".repeat(1_000));
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    let guard = acquire_run(&*store, "r");
    peak_of(|| {
        for sequence in 0..steps {
            let log = if sequence == 0 { whole("log", 0, "[]") } else { segment("log", sequence, &line) };
            let values = vec![log, whole("count", sequence, &sequence.to_string())];
            write(&*store, &guard, &[checkpoint("r", sequence, values)]);
        }
    })
}

/// Reads all checkpoints of the run in pages, and returns the peak memory use in bytes.
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
