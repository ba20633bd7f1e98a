//! The outcome of cases, for people.

use std::fmt::Write as _;

use graph_cases::{CaseReport, Crashes, Mismatch, Problem, Report};
use graph_core::diagnostic::{block, printable, printable_lines};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::terminal::output::{self, styled};
use crate::terminal::run_report::counted;

/// Renders every failure in full, the counts of simulated crashes, and the last line: `N passed, N failed`.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for case in report.cases.iter().filter(|case| !case.passed()) {
        write_case(&mut text, case);
    }
    if let Some(tried) = report.crashes_tried() {
        let is_cut = |case: &&CaseReport| matches!(case.crashes, Some(Crashes::Tried(_)));
        let cases = report.cases.iter().filter(is_cut).count() as u64;
        let (tried, cases) = (counted(tried, "persisted write"), counted(cases, "case"));
        let _ = writeln!(text, "cut short after each of {tried} in {cases}");
        for (why, count) in report.excuses() {
            let _ = writeln!(text, "  {} left out: it {why}", counted(count, "case"));
        }
    }
    let (passed, failed) = report.counts();
    let style = if failed == 0 { output::GOOD } else { output::BAD };
    let _ = write!(text, "{}", styled(style, format_args!("{passed} passed, {failed} failed")));
    text
}

fn write_case(text: &mut String, case: &CaseReport) {
    let name = case.name.as_deref().unwrap_or("cannot be read");
    let _ = writeln!(
        text,
        "{} {} {}",
        styled(output::BAD, "✗"),
        styled(output::BOLD, printable(&case.file)),
        printable(name)
    );
    if let Some(about) = &case.about {
        let _ = writeln!(text, "  {}", styled(output::DIM, block(about, "  ")));
    }
    for problem in &case.problems {
        write_problem(text, problem, &case.file);
    }
    text.push('\n');
}

fn write_problem(text: &mut String, problem: &Problem, file: &str) {
    match problem {
        Problem::Unreadable(message) => indent(text, &printable_lines(message)),
        Problem::Invalid(diagnostics) => {
            for (line, problem) in diagnostics.to_lines().iter().zip(diagnostics.iter()) {
                indent(text, &printable(line));
                if let Some(help) = problem.help_text() {
                    indent(text, &printable_lines(&format!("  help: {help}")));
                }
            }
        }
        Problem::Limit { step, line, message, .. } => {
            let step = step.map(|step| format!(" step {step},")).unwrap_or_default();
            let _ = writeln!(text, "  {}:{line}:{step} limit: {}", printable(file), block(message, "    "));
        }
        Problem::Fault { step, operation, line, message } => {
            let _ = writeln!(
                text,
                "  {}:{line}: step {step}, {operation}: {}",
                printable(file),
                block(message, "    ")
            );
        }
        Problem::Unexpected { step, operation, line, mismatches } => {
            let _ = writeln!(text, "  {}:{line}: step {step}, {operation}:", printable(file));
            for mismatch in mismatches {
                write_mismatch(text, mismatch);
            }
        }
        Problem::Crash { step, operation, line, write, writes, later, message, mismatches } => {
            let _ = write!(
                text,
                "  {}:{line}: step {step}, {operation}, cut short after persisted write {write} of {writes}",
                printable(file)
            );
            if later != step {
                let _ = write!(text, ", shows at step {later}");
            }
            match message {
                Some(message) => {
                    let _ = writeln!(text, ": {}", block(message, "    "));
                }
                None => text.push_str(":\n"),
            }
            for mismatch in mismatches {
                write_mismatch(text, mismatch);
            }
        }
    }
}

/// Returns the message of the actual error if it has several lines.
fn long_message(mismatch: &Mismatch) -> Option<&str> {
    let message = mismatch.actual.get("message").filter(|_| mismatch.key == "error")?.as_str()?;
    message.contains('\n').then_some(message)
}

/// Writes the expected and the actual value, as a diff if they have several lines.
fn write_mismatch(text: &mut String, mismatch: &Mismatch) {
    if let Some(message) = long_message(mismatch) {
        let _ = writeln!(
            text,
            "    {}: expected {}, got {}:",
            mismatch.key,
            styled(output::GOOD, printable(&mismatch.expected.to_string())),
            styled(output::BAD, printable(&mismatch.actual["code"].to_string()))
        );
        for line in message.lines() {
            let _ = writeln!(text, "      {}", printable_lines(line));
        }
        return;
    }
    let (expected, actual) = (shown(&mismatch.expected), shown(&mismatch.actual));
    if !expected.contains('\n') && !actual.contains('\n') && expected.len() + actual.len() < 100 {
        let _ = writeln!(
            text,
            "    {}: expected {}, got {}",
            mismatch.key,
            styled(output::GOOD, printable(&expected)),
            styled(output::BAD, printable(&actual))
        );
        return;
    }
    let _ = writeln!(
        text,
        "    {} ({} {}):",
        mismatch.key,
        styled(output::GOOD, "- expected"),
        styled(output::BAD, "+ actual")
    );
    for change in TextDiff::from_lines(&expected, &actual).iter_all_changes() {
        let line = change.value().trim_end_matches('\n');
        let line = printable_lines(line);
        let _ = match change.tag() {
            ChangeTag::Equal => writeln!(text, "      {line}"),
            ChangeTag::Delete => writeln!(text, "    {}", styled(output::GOOD, format_args!("- {line}"))),
            ChangeTag::Insert => writeln!(text, "    {}", styled(output::BAD, format_args!("+ {line}"))),
        };
    }
}

/// Renders a value as JSON: on one line of up to 40 bytes, else indented.
fn shown(value: &Value) -> String {
    let short = value.to_string();
    if short.len() <= 40 { short } else { serde_json::to_string_pretty(value).unwrap_or(short) }
}

fn indent(text: &mut String, lines: &str) {
    for line in lines.lines() {
        let _ = writeln!(text, "  {line}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_cases::{Items, Options, run};
    use serde_json::json;

    use super::*;

    const GRAPH: &str = "graph: { start: a, nodes: { a: { action: { item_id: t/one }, assign: { x: \"${result}\" } } } }\n\
                         items: { t/one: { result: 1 } }\n";

    /// Runs cases with these names and texts, and returns the report without the path of their folder.
    fn run_texts(cases: &[(&str, String)], options: &Options) -> (Report, String) {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = cases
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(format!("{name}.case.yaml"));
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        let report = run(&files, &Items::default(), options);
        let text = anstream::adapter::strip_str(&super::text(&report)).to_string();
        let shown = text.replace(&format!("{}/", folder.path().display()), "");
        (report, shown)
    }

    #[test]
    fn what_fails_is_shown_with_case_step_and_difference() {
        let with = |script: &str| format!("{GRAPH}script:\n{script}");
        let (report, shown) = run_texts(
            &[
                ("a_good", with("- run: {}\n  expect: { status: completed, state: { x: 1 } }\n")),
                ("b_unexpected", with("- run: {}\n  expect: { status: failed, state: { x: 2 } }\n")),
                ("c_no_checkpoint", with("- run: {}\n- fork: { at: { step: 7 } }\n")),
                ("d_refused", with("- run: {}\n- resume: {}\n")),
                ("e_no_run", with("- resume: {}\n  expect: { error: { code: not_found } }\n")),
                ("f_no_item", "graph: { start: a, nodes: { a: { action: { item_id: t/none } } } }\nscript: [{ run: {} }]\n".to_owned()),
                ("g_no_case", "graph: { start: a, nodes: { a: {} } }\n".to_owned()),
                ("h_children", format!("subgraphs: {{ t/c: {{ start: a, nodes: {{ b: {{}} }} }} }}\n{}", with("- run: {}\n"))),
            ],
            &Options::default(),
        );
        assert_eq!(report.counts(), (2, 6));
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn cases_are_cut_short_or_left_out() {
        // The double would answer otherwise if a call that was lost counted as another.
        let graph = "graph: { start: a, channels: { log: { reducer: append } }, nodes: { a: { action: { item_id: t/one }, \
                     assign: { log: \"${result}\" }, next: b }, b: { action: { item_id: t/one }, assign: { log: \"${result}\" } } } }\n\
                     items: { t/one: { result: \"${call}\" } }\n";
        let script = "script:\n- run: {}\n  expect: { status: completed, state: { log: [1, 2] }, executions: { a: 1, b: 1 } }\n";
        let scripted = "script:\n- run: { crash_after: 2 }\n- resume: {}\n";
        let untracked = graph.replace("append", "untracked");
        let late = GRAPH
            .replace("start: a,", "start: a, timeout: 1s,")
            .replace("result: 1", "result: 1, delay_ms: 2000");
        let (report, shown) = run_texts(
            &[
                ("a_good", format!("{graph}{script}")),
                ("b_scripted", format!("{graph}{scripted}")),
                ("c_untracked", format!("{untracked}script:\n- run: {{}}\n")),
                ("d_late", format!("{late}script:\n- run: {{}}\n  expect: {{ status: limit }}\n")),
                ("e_fails", format!("{graph}script:\n- run: {{}}\n  expect: {{ status: failed }}\n")),
                ("f_failing", "graph: { start: a, nodes: { a: { action: { item_id: t/bad } } } }\n\
                               items: { t/bad: { fail: { category: permanent, message: no } } }\n\
                               script: [{ run: {}, expect: { status: failed } }, { resume: {}, expect: { executions: { a: 2 } } }]\n".to_owned()),
            ],
            &Options { crash: true, ..Options::default() },
        );
        assert_eq!(report.counts(), (5, 1));
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_difference_is_shown_with_the_write_and_the_step() {
        let problem = Problem::Crash {
            step: 1,
            operation: "run",
            line: 4,
            write: 3,
            writes: 9,
            later: 2,
            message: None,
            mismatches: vec![
                Mismatch { key: "result".into(), expected: json!({ "x": 1 }), actual: json!({ "x": 2 }) },
                Mismatch { key: "executions".into(), expected: json!({ "a": 1 }), actual: json!({ "a": 2 }) },
            ],
        };
        let case = CaseReport {
            file: "a.case.yaml".into(),
            name: Some("a".into()),
            about: None,
            problems: vec![problem],
            crashes: None,
            recorded: Vec::new(),
        };
        let report = Report { cases: vec![case] };
        let document = serde_json::to_string_pretty(&report.to_json()).unwrap();
        let text = anstream::adapter::strip_str(&super::text(&report)).to_string();
        insta::assert_snapshot!(format!("{text}\n\n{document}"));
    }

    #[test]
    fn a_failure_shows_case_step_and_difference() {
        let mismatches = vec![
            Mismatch { key: "status".into(), expected: json!("completed"), actual: json!("failed") },
            Mismatch {
                key: "state".into(),
                expected: json!({ "log": ["a", "b", "c"], "n": 1, "unchanged": "text that is long enough" }),
                actual: json!({ "log": ["a", "c"], "n": 1, "unchanged": "text that is long enough" }),
            },
        ];
        let report = Report {
            cases: vec![
                CaseReport {
                    file: "cases/good.case.yaml".into(),
                    name: Some("good".into()),
                    about: None,
                    problems: vec![],
                    crashes: None,
                    recorded: Vec::new(),
                },
                CaseReport {
                    file: "cases/bad.case.yaml".into(),
                    name: Some("bad".into()),
                    about: Some("what it shows".into()),
                    problems: vec![Problem::Unexpected {
                        step: 2,
                        operation: "resume",
                        line: 14,
                        mismatches,
                    }],
                    crashes: None,
                    recorded: Vec::new(),
                },
                CaseReport {
                    file: "cases/gone.case.yaml".into(),
                    name: None,
                    about: None,
                    problems: vec![Problem::Unreadable("the case does not exist".into())],
                    crashes: None,
                    recorded: Vec::new(),
                },
            ],
        };
        assert_eq!(report.counts(), (1, 2));
        let text = anstream::adapter::strip_str(&super::text(&report)).to_string();
        for line in [
            "✗ cases/bad.case.yaml bad",
            "  what it shows",
            "  cases/bad.case.yaml:14: step 2, resume:",
            "    status: expected \"completed\", got \"failed\"",
            "    state (- expected + actual):",
            "    -     \"b\",",
            "✗ cases/gone.case.yaml cannot be read",
            "  the case does not exist",
            "1 passed, 2 failed",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n---\n{text}");
        }
        let document = report.to_json();
        assert_eq!((&document["passed"], &document["failed"]), (&json!(1), &json!(2)));
        assert_eq!(document["cases"][0]["passed"], json!(true));
        assert_eq!(document["cases"][1]["problems"][0]["expectation"], json!("status"));
        assert_eq!(document["cases"][1]["problems"][1]["line"], json!(14));
        assert_eq!(document["cases"][2]["problems"][0]["message"], json!("the case does not exist"));
    }
}
