//! The outcome of cases.

use std::collections::BTreeMap;

use graph_core::diagnostic::Diagnostics;
use graph_core::work::size;
use serde_json::{Value, json};

use crate::ceiling::Over;
use crate::document::Step;
use crate::expect::Mismatch;

/// A value of a mismatch that is longer, measured as in memory, is not kept: there may be many cases.
const LONGEST: u64 = 64 << 10;

/// The outcome of all cases.
#[derive(Debug)]
pub struct Report {
    /// One for each case, in the order of files.
    pub cases: Vec<CaseReport>,
}

/// The outcome of a case.
#[derive(Debug)]
pub struct CaseReport {
    /// The path of the case's file.
    pub file: String,
    /// Its name, if it could be read.
    pub name: Option<String>,
    /// The rule that it shows.
    pub about: Option<String>,
    /// Why it failed; nothing if it passed.
    pub problems: Vec<Problem>,
    /// The result of the crashes, if they were requested.
    pub crashes: Option<Crashes>,
    /// The recorded answers to requests that the case has no answer for, as items of its `http`.
    pub recorded: Vec<Value>,
}

/// The crashes of a case that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// This many were tried, and each had the outcome of the undisturbed case.
    Tried(u64),
    /// None was tried, and why.
    Skipped(&'static str),
}

/// Why a case failed.
#[derive(Debug)]
pub enum Problem {
    /// Its file cannot be read.
    Unreadable(String),
    /// Its document is invalid.
    Invalid(Box<Diagnostics>),
    /// A step could not be carried out.
    Fault {
        /// Its number, from 1.
        step: usize,
        /// The operation of the case that failed, such as `resume`.
        operation: &'static str,
        /// The line of the operation in the file, from 1.
        line: usize,
        /// Why it could not be carried out.
        message: String,
    },
    /// The case asks for more than the user's limits allow, or all of its runs together have used them up.
    Limit {
        /// The number of the step that used it up, from 1; none if the case was not begun.
        step: Option<usize>,
        /// The line in the file, from 1.
        line: usize,
        /// The key under `run` of a manifest; none if the case was stopped.
        budget: Option<&'static str>,
        /// What happened, and what raises the limit.
        message: String,
    },
    /// The outcome of a step is not the expected one.
    Unexpected {
        /// Its number, from 1.
        step: usize,
        /// The operation of the case after which this was found.
        operation: &'static str,
        /// The line of the operation in the file, from 1.
        line: usize,
        /// The differences from the expected outcome.
        mismatches: Vec<Mismatch>,
    },
    /// A step was cut short, and the case then had another outcome than undisturbed.
    Crash {
        /// The number of the step that was cut short, from 1.
        step: usize,
        /// The operation of the case after which this was found.
        operation: &'static str,
        /// The line of the operation in the file, from 1.
        line: usize,
        /// The persisted write after which it was cut short, from 1.
        write: u64,
        /// How many it has undisturbed.
        writes: u64,
        /// The number of the step at which the difference shows.
        later: usize,
        /// Why that step could not be carried out, if it could not.
        message: Option<String>,
        /// The differences from the undisturbed outcome.
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
    pub fn excuses(&self) -> BTreeMap<&'static str, u64> {
        let mut excuses = BTreeMap::new();
        for case in &self.cases {
            if let Some(Crashes::Skipped(why)) = case.crashes {
                *excuses.entry(why).or_default() += 1;
            }
        }
        excuses
    }

    /// The report as `test --json` prints it.
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
    /// A step used the ceiling of its case up.
    pub(crate) fn over(number: usize, step: &Step, over: Over) -> Self {
        let Over { budget, message, line } = over;
        Self::Limit { step: Some(number), line: line.unwrap_or(step.line), budget, message }
    }

    /// The problem without values that take much memory.
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

    /// The problem in one sentence, without paths of files: the same on every machine.
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
