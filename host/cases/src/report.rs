//! Outcome of cases.

use std::collections::BTreeMap;

use graph_core::diagnostic::Diagnostics;
use graph_core::work::size;
use serde_json::{Value, json};

use crate::ceiling::Over;
use crate::document::Step;
use crate::expect::Mismatch;

/// Maximum size of a value in a mismatch, measured in memory. A larger one is not kept, because there may be many
/// cases.
const LONGEST: u64 = 64 << 10;

/// Outcome of all cases.
#[derive(Debug)]
pub struct Report {
    /// Outcome of each case, in the order of files.
    pub cases: Vec<CaseReport>,
}

/// Outcome of a case.
#[derive(Debug)]
pub struct CaseReport {
    /// Path of the file.
    pub file: String,
    /// Name of the case, if it could be read.
    pub name: Option<String>,
    /// Rule that the case shows.
    pub about: Option<String>,
    /// Reasons for the failure; empty if the case passed.
    pub problems: Vec<Problem>,
    /// Result of the repetitions with crashes, if they were requested.
    pub crashes: Option<Crashes>,
    /// Recorded answers to requests that the case has no answer for, as items of its `http`.
    pub recorded: Vec<Value>,
}

/// Result of repeating a passed case with crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// Number of crashes that were tried. Each repetition had the outcome of the case without crashes.
    Tried(u64),
    /// Reason why no crash was tried.
    Skipped(&'static str),
}

/// Reason why a case failed.
#[derive(Debug)]
pub enum Problem {
    /// The file cannot be read.
    Unreadable(String),
    /// The document is invalid.
    Invalid(Box<Diagnostics>),
    /// A step could not be performed.
    Fault {
        /// Number of the step, from 1.
        step: usize,
        /// Operation of the step, such as `resume`.
        operation: &'static str,
        /// Line of the operation in the file, from 1.
        line: usize,
        /// Reason why it could not be performed.
        message: String,
    },
    /// The case asks for more than the user's limits permit, or all of its runs together have exceeded them.
    Limit {
        /// Number of the step that has exceeded the limit, from 1; `None` if the case was not started.
        step: Option<usize>,
        /// Line in the file, from 1.
        line: usize,
        /// Key under `run` of a manifest; `None` if the case was stopped.
        budget: Option<&'static str>,
        /// Message, with advice for raising the limit.
        message: String,
    },
    /// The outcome of a step is not the expected one.
    Unexpected {
        /// Number of the step, from 1.
        step: usize,
        /// Operation of the step.
        operation: &'static str,
        /// Line of the operation in the file, from 1.
        line: usize,
        /// Differences from the expected outcome.
        mismatches: Vec<Mismatch>,
    },
    /// The case had another outcome after a crash than without one.
    Crash {
        /// Number of the step that was aborted, from 1.
        step: usize,
        /// Operation of that step.
        operation: &'static str,
        /// Line of the operation in the file, from 1.
        line: usize,
        /// Persisted write after which it was aborted, from 1.
        write: u64,
        /// Number of writes of the step without a crash.
        writes: u64,
        /// Number of the step whose outcome differs, from 1.
        later: usize,
        /// Reason why that step could not be performed, if it could not.
        message: Option<String>,
        /// Differences from the outcome without crashes.
        mismatches: Vec<Mismatch>,
    },
}

impl CaseReport {
    /// Reports whether the case passed.
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Report {
    /// Returns the numbers of passed and of failed cases.
    pub fn counts(&self) -> (usize, usize) {
        let passed = self.cases.iter().filter(|case| case.passed()).count();
        (passed, self.cases.len() - passed)
    }

    /// Returns the number of crashes that were tried; `None` if none were requested.
    pub fn crashes_tried(&self) -> Option<u64> {
        let tried = |crashes| match crashes {
            Crashes::Tried(tried) => tried,
            Crashes::Skipped(_) => 0,
        };
        self.cases.iter().filter_map(|case| case.crashes).map(tried).reduce(|one, two| one + two)
    }

    /// Returns the reasons why cases were not repeated with crashes, each with the number of cases.
    pub fn excuses(&self) -> BTreeMap<&'static str, u64> {
        let mut excuses = BTreeMap::new();
        for case in &self.cases {
            if let Some(Crashes::Skipped(why)) = case.crashes {
                *excuses.entry(why).or_default() += 1;
            }
        }
        excuses
    }

    /// Returns the report as `test --json` prints it.
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

impl From<Over> for Problem {
    fn from(over: Over) -> Self {
        let Over { budget, message, line } = over;
        Self::Limit { step: None, line: line.unwrap_or(1), budget, message }
    }
}

impl Problem {
    /// Returns the problem of a step that has exceeded a limit of its case.
    pub(crate) fn over(number: usize, step: &Step, over: Over) -> Self {
        let Over { budget, message, line } = over;
        Self::Limit { step: Some(number), line: line.unwrap_or(step.line), budget, message }
    }

    /// Replaces values that take much memory with their size.
    pub(crate) fn shortened(mut self) -> Self {
        if let Self::Unexpected { mismatches, .. } | Self::Crash { mismatches, .. } = &mut self {
            for value in mismatches.iter_mut().flat_map(|one| [&mut one.expected, &mut one.actual]) {
                let size = size::of(value);
                if size > LONGEST {
                    *value = Value::from(format!("(a value of {size} bytes)"));
                }
            }
        }
        self
    }

    /// Returns the problem in one sentence without paths of files, which is the same on every machine.
    pub fn summary(&self) -> String {
        match self {
            Self::Unreadable(_) => "the case cannot be read".to_owned(),
            Self::Invalid(diagnostics) => {
                let first = diagnostics.iter().next().map_or("the case is invalid", |first| first.message());
                match diagnostics.len() {
                    0 | 1 => first.to_owned(),
                    count => format!("{first} (the first of {count} problems)"),
                }
            }
            Self::Limit { message, .. } => format!("limit: {message}"),
            Self::Fault { step, operation, message, .. } => format!("step {step}, {operation}: {message}"),
            Self::Unexpected { step, operation, mismatches, .. }
            | Self::Crash { step, operation, mismatches, .. } => {
                let keys: Vec<_> = mismatches.iter().map(|mismatch| &*mismatch.key).collect();
                format!("step {step}, {operation}: not as expected: {}", keys.join(", "))
            }
        }
    }

    fn to_json(&self) -> Vec<Value> {
        match self {
            Self::Unreadable(message) => vec![json!({ "message": message })],
            Self::Invalid(diagnostics) => vec![diagnostics.to_json()],
            Self::Limit { step, line, budget, message } => {
                vec![
                    json!({ "code": "limit", "budget": budget, "step": step, "line": line, "message": message }),
                ]
            }
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
