//! Execution of cases.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::ceiling::{Bounds, Stop};
use crate::crash::{self, Undisturbed};
use crate::document::Case;
use crate::items::Items;
use crate::report::{CaseReport, Crashes, Problem, Report};
use crate::session::Session;
use graph_core::work::size;
use serde_json::Value;

/// Options for running cases.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Text that the file or the name of a case has to contain.
    pub filter: Option<String>,
    /// True if each passed case is repeated with a crash after each of its persisted writes.
    pub crash: bool,
    /// True if requests of real components that a case has no answer for are sent, and the answers recorded in
    /// [`CaseReport::recorded`](crate::CaseReport::recorded).
    pub record: bool,
    /// Deadline of all cases, in addition to that of each case.
    pub until: Option<Instant>,
    /// Request to stop all cases.
    pub stop: Option<Stop>,
}

/// Runs the cases in these files, several at the same time, and reports them in the order of files.
pub fn run(files: &[PathBuf], items: &Items, options: &Options) -> Report {
    let next = AtomicUsize::new(0);
    let reports: Mutex<Vec<(usize, CaseReport)>> = Mutex::new(Vec::with_capacity(files.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(items.at_a_time()).min(files.len()).max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let is_stopped = options.stop.as_ref().is_some_and(Stop::is_requested);
                    let Some(file) = files.get(at).filter(|_| !is_stopped) else { return };
                    if let Some(report) = one(file, items, options) {
                        reports.lock().unwrap_or_else(PoisonError::into_inner).push((at, report));
                    }
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|(at, _)| *at);
    Report { cases: reports.into_iter().map(|(_, report)| report).collect() }
}

/// Runs a case; returns `None` if the filter excludes it.
fn one(file: &Path, items: &Items, options: &Options) -> Option<CaseReport> {
    let shown = file.display().to_string();
    let wanted = |name: &str| options.filter.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let unread = |problem: Problem| CaseReport {
        file: shown.clone(),
        name: None,
        about: None,
        problems: vec![problem],
        crashes: None,
        recorded: Vec::new(),
    };
    let text = match graph_runtime::project::text_file::read_named(file) {
        Ok(text) => text,
        Err(error) => {
            let error = graph_runtime::error::Error::read("the case", file, &error);
            return wanted(&shown).then(|| unread(Problem::Unreadable(error.message().to_owned())));
        }
    };
    let case = match Case::parse(file, &text) {
        Ok(case) => case,
        Err(diagnostics) => return wanted(&shown).then(|| unread(Problem::Invalid(diagnostics))),
    };
    if !wanted(&shown) && !wanted(&case.name) {
        return None;
    }
    let mut recorded = Vec::new();
    let bounds = Bounds::of(&case, items.ceiling(), options.until, options.stop.clone());
    let performed = match bounds {
        Ok(bounds) => perform(&case, &shown, items, options, &bounds, &mut recorded),
        Err(over) => Err(over.into()),
    };
    let (problems, crashes) = match performed {
        Ok(crashes) => (Vec::new(), crashes),
        Err(problem) => (vec![problem.shortened()], None),
    };
    Some(CaseReport { file: shown, name: Some(case.name), about: case.about, problems, crashes, recorded })
}

/// Executes the script of a case, up to the first step with an unexpected outcome.
fn perform(
    case: &Case,
    shown: &str,
    items: &Items,
    options: &Options,
    bounds: &Bounds,
    recorded: &mut Vec<Value>,
) -> Result<Option<Crashes>, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| Problem::Unreadable(format!("a runtime cannot be started: {error}")))?;
    runtime.block_on(async {
        let mut session = Session::new(case, shown, items, options.record, bounds);
        let mut undisturbed = Vec::with_capacity(case.script.len());
        for (index, step) in case.script.iter().enumerate() {
            let (number, operation, line) = (index + 1, step.operation.name(), step.line);
            let before = session.store.taken();
            let fault = |message| Problem::Fault { step: number, operation, line, message };
            let mark = session.history_mark().map_err(fault)?;
            let done = Box::pin(session.perform(&step.operation)).await;
            *recorded = session.servers.recorded();
            if let Some(over) = session.over() {
                return Err(Problem::over(number, step, over));
            }
            let mut actual = done.map_err(fault)?;
            if step.expect.wants_events() {
                actual.events = session.events_since(&mark).map_err(fault)?;
            }
            let mismatches = step.expect.compare(&actual);
            if !mismatches.is_empty() {
                return Err(Problem::Unexpected { step: number, operation, line, mismatches });
            }
            if options.crash {
                // The result of every step is kept until the crashes were tried.
                if !session.store.has_room_for(size::of(&actual.result))
                    && let Some(over) = session.over()
                {
                    return Err(Problem::over(number, step, over));
                }
                undisturbed.push(Undisturbed { actual, writes: session.store.taken() - before });
            }
        }
        if !options.crash {
            return Ok(None);
        }
        if let Some(why) = crash::excused(case, &session, &undisturbed) {
            return Ok(Some(Crashes::Skipped(why)));
        }
        crash::at_every_write(case, shown, items, &undisturbed, bounds)
            .await
            .map(|tried| Some(Crashes::Tried(tried)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use graph_runtime::host::Host;
    use graph_runtime::project::Project;
    use graph_runtime::project::user_home::Home;
    use graph_runtime::sources::Sources;

    const GRAPH: &str = "graph: { start: a, nodes: { a: { action: { item_id: t/one }, assign: { x: \"${result}\" } } } }\n\
                         items: { t/one: { result: 1 } }\n";

    /// Runs cases with these names and texts.
    fn run_texts(cases: &[(&str, String)], options: &Options) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = cases
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(format!("{name}.case.yaml"));
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        run(&files, &Items::default(), options)
    }

    #[test]
    fn every_rule_has_a_case_that_holds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        let files = crate::cases(&[folder]).unwrap();
        assert!(files.len() >= 290, "{}", files.len());
        let home = tempfile::tempdir().unwrap();
        let host = Host {
            home: Home::at(home.path().to_path_buf()),
            compiler: graph_runtime::graph_engine::Compiler::InProcess,
            notices: Arc::new(()),
            functions: Arc::default(),
        };
        let project = Project::at(home.path().to_path_buf());
        // Text items are read from the folder of the cases; components have doubles.
        let items = Items::real(Sources::default(), None, &project, &host).unwrap();
        let report = run(&files, &items, &Options::default());
        assert_eq!(report.counts(), (files.len(), 0), "{}", report.to_json());
    }

    #[test]
    fn a_filter_chooses_by_file_and_name() {
        let with = |name: &str| format!("name: {name}\n{GRAPH}script: [{{ run: {{}} }}]\n");
        let cases = [("one", with("alpha")), ("two", with("beta")), ("three", "no case".to_owned())];
        let names = |text: &str| {
            let options = Options { filter: Some(text.to_owned()), ..Options::default() };
            let report = run_texts(&cases, &options);
            report.cases.into_iter().map(|case| case.name.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(names("alph"), ["alpha"]);
        assert_eq!(names("two.case"), ["beta"]);
        assert_eq!(names("nothing"), [""; 0]);
    }

    /// Returns the budget, the line and the message of the limit that a case exceeds.
    fn limit(text: &str, options: &Options) -> (Option<&'static str>, usize, String) {
        let report = run_texts(&[("limited", text.to_owned())], options);
        match report.cases[0].problems.first() {
            Some(Problem::Limit { budget, line, message, .. }) => (*budget, *line, message.clone()),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn a_case_lowers_its_budgets_and_never_raises_them() {
        let with =
            |budgets: &str| format!("{GRAPH}budgets:\n  steps: 7\n  {budgets}\nscript: [{{ run: {{}} }}]\n");
        let lowered = run_texts(&[("lowered", with("fuel: 100000000"))], &Options::default());
        assert_eq!(lowered.counts(), (1, 0), "{}", lowered.to_json());
        for (budget, raised) in [
            ("fuel", "fuel: 100000000001"),
            ("timeout", "timeout: 601s"),
            ("depth", "depth: 6"),
            ("calls", "calls: 10000001"),
            ("bytes", "bytes: 5GiB"),
            ("steps", "state: 1KiB\n  steps: 100001"),
            ("state", "state: 65MiB"),
            ("results", "results: 65MiB"),
            ("stored", "stored: 65MiB"),
        ] {
            let text = with(raised).replace(if budget == "steps" { "  steps: 7\n" } else { "\0" }, "");
            let (found, line, message) = limit(&text, &Options::default());
            assert_eq!(found, Some(budget), "{message}");
            let named = text.lines().position(|line| line.trim().starts_with(budget)).unwrap() + 1;
            assert_eq!(line, named, "{message}");
            assert!(message.contains(&format!("`run: {{ {budget}: … }}`")), "{message}");
        }
    }

    #[test]
    fn all_runs_of_a_case_share_one_ceiling() {
        let long = "x".repeat(1 << 20);
        let again = "- replay: { at: { step: 0 } }\n".repeat(100);
        let text = format!(
            "graph: {{ start: a, nodes: {{ a: {{ action: {{ item_id: t/one }}, assign: {{ x: \"${{result}}\" }} }} }} }}\n\
             items: {{ t/one: {{ result: {long} }} }}\nscript:\n- run: {{}}\n{again}"
        );
        let (budget, line, message) = limit(&text, &Options::default());
        assert_eq!(budget, Some("stored"), "{message}");
        assert!(line > 4 && message.contains("67108864 bytes"), "line {line}: {message}");
    }

    #[test]
    fn results_that_wait_are_held_within_the_ceiling() {
        // The results that may wait at the same time are fewer than a superstep may return.
        let long = "x".repeat(3 << 19);
        let over: Vec<_> = (0..200).collect();
        let text = format!(
            "graph: {{ start: a, nodes: {{ a: {{ type: foreach, over: {over:?}, as: x, parallel: true, action: {{ item_id: t/one }}, \
             collect: all }} }} }}\nitems: {{ t/one: {{ result: {long}, delay_ms: 1000 }} }}\n\
             script: [{{ run: {{ max_concurrency: 200 }}, expect: {{ error: {{ contains: results of doubles that wait }} }} }}]\n"
        );
        let report = run_texts(&[("waiting", text)], &Options::default());
        assert_eq!(report.counts(), (1, 0), "{}", report.to_json());
    }

    #[test]
    fn a_case_ends_when_its_time_is_over_or_it_is_stopped() {
        let text = "graph: { start: a, max_steps: 100000, durability: exit, nodes: { a: { next: a } } }\n\
                    script: [{ run: {} }]\n";
        let simple = format!("{GRAPH}script: [{{ run: {{}} }}]\n");
        for text in [text, &simple] {
            let options = Options { until: Some(Instant::now()), ..Options::default() };
            assert_eq!(limit(text, &options).0, Some("timeout"));
        }
        let stop = Stop::default();
        stop.request();
        let options = Options { stop: Some(stop), ..Options::default() };
        assert_eq!(run_texts(&[("stopped", simple)], &options).cases.len(), 0);
    }

    #[test]
    fn what_a_report_keeps_of_a_case_is_short() {
        let long = "x".repeat(1 << 20);
        let text = format!(
            "{}script: [{{ run: {{}}, expect: {{ state: {{ x: 1 }} }} }}]\n",
            GRAPH.replace("result: 1", &format!("result: {long}"))
        );
        let report = run_texts(&[("long", text)], &Options::default());
        assert!(report.to_json().to_string().len() < 10_000);
    }

    #[test]
    fn time_in_a_case_does_not_pass_outside() {
        let text = "graph: { start: a, timeout: 8m, nodes: { a: { action: { item_id: t/late }, timeout: 5s, \
                    retry: { max_attempts: 3, initial_interval: 5m, max_interval: 5m }, assign: { at: \"${result}\" } } } }\n\
                    items: { t/late: { sequence: [{ fail: { category: transient, message: no } }, { result: 1 }] } }\n\
                    script: [{ run: {}, expect: { status: completed, state: { at: 1 } } }]\n";
        let began = std::time::Instant::now();
        let report = run_texts(&[("late", text.to_owned())], &Options::default());
        assert_eq!(report.counts(), (1, 0), "{}", report.to_json());
        // The back-off alone is five minutes.
        assert!(began.elapsed() < std::time::Duration::from_mins(1));
    }
}
