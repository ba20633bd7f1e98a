//! What cases came to, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use graph_core::diagnostic::Diagnostics;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::expect::Mismatch;
use crate::terminal::output::{self, styled};
use crate::terminal::run_report::counted;
use graph_core::diagnostic::printable;

/// What all cases came to.
#[derive(Debug)]
pub struct Report {
    /// One for each case, in the order of files.
    pub cases: Vec<CaseReport>,
}

/// What a case came to.
#[derive(Debug)]
pub struct CaseReport {
    /// Its file.
    pub file: String,
    /// Its name, if it could be read.
    pub name: Option<String>,
    /// The rule that it shows.
    pub about: Option<String>,
    /// Why it failed; nothing if it passed.
    pub problems: Vec<Problem>,
    /// What became of the crashes that were asked for.
    pub crashes: Option<Crashes>,
}

/// Crashes of a case that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// So many were tried, and each came to what the undisturbed case comes to.
    Tried(u64),
    /// None was tried, and why.
    Skipped(&'static str),
}

/// Why a case failed.
#[derive(Debug)]
pub enum Problem {
    /// It cannot be carried out at all.
    Unreadable(String),
    /// It is not a case.
    Invalid(Box<Diagnostics>),
    /// A step could not be carried out.
    Fault {
        /// Its number, from 1.
        step: usize,
        /// Its operation.
        operation: &'static str,
        /// Its line.
        line: usize,
        /// Why.
        message: String,
    },
    /// A step came to something else than what was expected.
    Unexpected {
        /// Its number, from 1.
        step: usize,
        /// Its operation.
        operation: &'static str,
        /// Its line.
        line: usize,
        /// What is not as expected.
        mismatches: Vec<Mismatch>,
    },
    /// A step was cut short, and the case then came to something else than undisturbed.
    Crash {
        /// The number of the step that was cut short, from 1.
        step: usize,
        /// Its operation.
        operation: &'static str,
        /// Its line.
        line: usize,
        /// The persisted write after which it was cut short, from 1.
        write: u64,
        /// How many it has undisturbed.
        writes: u64,
        /// The number of the step at which it shows.
        later: usize,
        /// Why that step could not be carried out, if it could not.
        message: Option<String>,
        /// What is not as it is undisturbed.
        mismatches: Vec<Mismatch>,
    },
}

impl CaseReport {
    /// Whether everything was as expected.
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Report {
    /// How many cases passed and how many failed.
    pub fn counts(&self) -> (usize, usize) {
        let passed = self.cases.iter().filter(|case| case.passed()).count();
        (passed, self.cases.len() - passed)
    }

    /// How many crashes were tried; `None` if none were asked for.
    pub fn crashes_tried(&self) -> Option<u64> {
        let tried = |crashes| match crashes {
            Crashes::Tried(tried) => tried,
            Crashes::Skipped(_) => 0,
        };
        self.cases.iter().filter_map(|case| case.crashes).map(tried).reduce(|one, two| one + two)
    }

    /// For each reason for which cases were not cut short, how many.
    fn excuses(&self) -> BTreeMap<&'static str, u64> {
        let mut excuses = BTreeMap::new();
        for case in &self.cases {
            if let Some(Crashes::Skipped(why)) = case.crashes {
                *excuses.entry(why).or_default() += 1;
            }
        }
        excuses
    }

    /// Every failure in full, what became of crashes, then the last line: `N passed, N failed`.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for case in self.cases.iter().filter(|case| !case.passed()) {
            case.write(&mut text);
        }
        if let Some(tried) = self.crashes_tried() {
            let is_cut = |case: &&CaseReport| matches!(case.crashes, Some(Crashes::Tried(_)));
            let cases = self.cases.iter().filter(is_cut).count() as u64;
            let (tried, cases) = (counted(tried, "persisted write"), counted(cases, "case"));
            let _ = writeln!(text, "cut short after each of {tried} in {cases}");
            for (why, count) in self.excuses() {
                let _ = writeln!(text, "  {} left out: it {why}", counted(count, "case"));
            }
        }
        let (passed, failed) = self.counts();
        let style = if failed == 0 { output::GOOD } else { output::BAD };
        let _ = write!(text, "{}", styled(style, format_args!("{passed} passed, {failed} failed")));
        text
    }

    /// The JSON document.
    pub fn to_json(&self) -> Value {
        let (passed, failed) = self.counts();
        let cases: Vec<_> = self.cases.iter().map(CaseReport::to_json).collect();
        let mut document = json!({ "passed": passed, "failed": failed, "cases": cases });
        if let Some(tried) = self.crashes_tried() {
            document["crashes"] = json!({ "tried": tried, "not_tried": self.excuses() });
        }
        document
    }
}

impl CaseReport {
    fn write(&self, text: &mut String) {
        let name = self.name.as_deref().unwrap_or("cannot be read");
        let _ = writeln!(
            text,
            "{} {} {}",
            styled(output::BAD, "✗"),
            styled(output::BOLD, printable(&self.file)),
            printable(name)
        );
        if let Some(about) = &self.about {
            let _ = writeln!(text, "  {}", styled(output::DIM, printable(about)));
        }
        for problem in &self.problems {
            problem.write(text, &self.file);
        }
        text.push('\n');
    }

    fn to_json(&self) -> Value {
        let mut case = json!({
            "file": self.file,
            "name": self.name,
            "about": self.about,
            "passed": self.passed(),
        });
        match self.crashes {
            Some(Crashes::Tried(tried)) => case["crashes"] = json!({ "tried": tried }),
            Some(Crashes::Skipped(why)) => case["crashes"] = json!({ "not_tried": why }),
            None => {}
        }
        if !self.passed() {
            case["problems"] = self.problems.iter().flat_map(Problem::to_json).collect();
        }
        case
    }
}

impl Problem {
    fn write(&self, text: &mut String, file: &str) {
        match self {
            Self::Unreadable(message) => indent(text, &printable(message)),
            Self::Invalid(diagnostics) => {
                for (line, problem) in diagnostics.to_lines().iter().zip(diagnostics.iter()) {
                    indent(text, line);
                    if let Some(help) = problem.help_text() {
                        indent(text, &format!("  help: {help}"));
                    }
                }
            }
            Self::Fault { step, operation, line, message } => {
                let _ = writeln!(
                    text,
                    "  {}:{line}: step {step}, {operation}: {}",
                    printable(file),
                    printable(message)
                );
            }
            Self::Unexpected { step, operation, line, mismatches } => {
                let _ = writeln!(text, "  {}:{line}: step {step}, {operation}:", printable(file));
                for mismatch in mismatches {
                    mismatch.write(text);
                }
            }
            Self::Crash { step, operation, line, write, writes, later, message, mismatches } => {
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
                        let _ = writeln!(text, ": {}", printable(message));
                    }
                    None => text.push_str(":\n"),
                }
                for mismatch in mismatches {
                    mismatch.write(text);
                }
            }
        }
    }

    fn to_json(&self) -> Vec<Value> {
        match self {
            Self::Unreadable(message) => vec![json!({ "message": message })],
            Self::Invalid(diagnostics) => vec![diagnostics.to_json()],
            Self::Fault { step, operation, line, message } => {
                vec![json!({ "step": step, "operation": operation, "line": line, "message": message })]
            }
            Self::Unexpected { step, operation, line, mismatches } => mismatches
                .iter()
                .map(|mismatch| {
                    json!({
                        "step": step,
                        "operation": operation,
                        "line": line,
                        "expectation": mismatch.key,
                        "expected": mismatch.expected,
                        "actual": mismatch.actual,
                    })
                })
                .collect(),
            Self::Crash { step, operation, line, write, later, message, mismatches, .. } => {
                let of_crash = json!({
                    "step": step,
                    "operation": operation,
                    "line": line,
                    "crash_after": write,
                    "shows_at_step": later,
                });
                let message = message.iter().map(|message| json!({ "message": message }));
                let differences = mismatches.iter().map(|mismatch| {
                    json!({
                        "expectation": mismatch.key,
                        "expected": mismatch.expected,
                        "actual": mismatch.actual,
                    })
                });
                message
                    .chain(differences)
                    .map(|mut problem| {
                        if let (Value::Object(problem), Value::Object(of_crash)) = (&mut problem, &of_crash) {
                            problem.extend(of_crash.clone());
                        }
                        problem
                    })
                    .collect()
            }
        }
    }
}

impl Mismatch {
    /// The message of an error that came to be, where it has several lines.
    fn long_message(&self) -> Option<&str> {
        let message = self.actual.get("message").filter(|_| self.key == "error")?.as_str()?;
        message.contains('\n').then_some(message)
    }

    /// Expected beside actual, as a diff where they have several lines.
    fn write(&self, text: &mut String) {
        if let Some(message) = self.long_message() {
            let _ = writeln!(
                text,
                "    {}: expected {}, got {}:",
                self.key,
                styled(output::GOOD, printable(&self.expected.to_string())),
                styled(output::BAD, printable(&self.actual["code"].to_string()))
            );
            for line in message.lines() {
                let _ = writeln!(text, "      {}", printable(line));
            }
            return;
        }
        let (expected, actual) = (shown(&self.expected), shown(&self.actual));
        if !expected.contains('\n') && !actual.contains('\n') && expected.len() + actual.len() < 100 {
            let _ = writeln!(
                text,
                "    {}: expected {}, got {}",
                self.key,
                styled(output::GOOD, printable(&expected)),
                styled(output::BAD, printable(&actual))
            );
            return;
        }
        let _ = writeln!(
            text,
            "    {} ({} {}):",
            self.key,
            styled(output::GOOD, "- expected"),
            styled(output::BAD, "+ actual")
        );
        for change in TextDiff::from_lines(&expected, &actual).iter_all_changes() {
            let line = change.value().trim_end_matches('\n');
            let line = printable(line);
            let _ = match change.tag() {
                ChangeTag::Equal => writeln!(text, "      {line}"),
                ChangeTag::Delete => writeln!(text, "    {}", styled(output::GOOD, format_args!("- {line}"))),
                ChangeTag::Insert => writeln!(text, "    {}", styled(output::BAD, format_args!("+ {line}"))),
            };
        }
    }
}

/// Short values on one line, others indented, and text as it is.
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
    use super::*;

    #[test]
    fn a_failure_shows_case_step_and_difference() {
        let mismatches = vec![
            Mismatch { key: "status", expected: json!("completed"), actual: json!("failed") },
            Mismatch {
                key: "state",
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
                },
                CaseReport {
                    file: "cases/gone.case.yaml".into(),
                    name: None,
                    about: None,
                    problems: vec![Problem::Unreadable("the case does not exist".into())],
                    crashes: None,
                },
            ],
        };
        assert_eq!(report.counts(), (1, 2));
        let text = anstream::adapter::strip_str(&report.to_text()).to_string();
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
