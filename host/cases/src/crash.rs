//! A case whose run is cut short after each of its persisted writes in turn, as a kill would, and then goes on from what
//! is stored: it must come to what it comes to undisturbed.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::graph::Durability;
use graph_core::record::InterruptRecord;
use graph_core::walker::TIME_LIMIT;
use serde_json::{Map, Value, json};

use crate::document::{Case, Operation, ResumeOptions};
use crate::expect::{Actual, Mismatch};
use crate::items::Items;
use crate::report::Problem;
use crate::session::Session;

/// What a step came to when nothing disturbed it.
pub(crate) struct Undisturbed {
    /// What there was after it.
    pub(crate) actual: Actual,
    /// How many writes it persisted.
    pub(crate) writes: u64,
}

impl Undisturbed {
    fn is_out_of_time(&self) -> bool {
        self.actual.error.as_ref().is_some_and(|error| error.message.starts_with(TIME_LIMIT))
    }

    fn has_used_a_budget_up(&self) -> bool {
        self.actual.error.as_ref().is_some_and(|error| error.used_up)
    }
}

/// Why a case is not cut short.
pub(crate) fn excused(
    case: &Case,
    session: &Session<'_>,
    undisturbed: &[Undisturbed],
) -> Option<&'static str> {
    let scripted = case.script.iter().any(|step| match &step.operation {
        Operation::Run(options) => options.crash_after.is_some(),
        Operation::Update(options) | Operation::Fork(options) | Operation::Replay(options) => {
            options.crash_after.is_some()
        }
        Operation::Resume(_) | Operation::Cancel | Operation::Hold | Operation::Prune(_) => false,
    });
    if scripted {
        Some("scripts a crash itself")
    } else if undisturbed.iter().any(Undisturbed::is_out_of_time) {
        Some("comes to the run's time limit, which counts anew when a run goes on")
    } else if undisturbed.iter().any(Undisturbed::has_used_a_budget_up) {
        Some("uses a budget of its run up, and a run that is resumed there uses more of it")
    } else if session.is_partly_untracked() {
        Some("has untracked channels, which no crash leaves as they were")
    } else {
        None
    }
}

/// Cuts a case short after each persisted write of each operation that goes on, and gives how many there were.
pub(crate) async fn at_every_write(
    case: &Case,
    shown: &str,
    items: &Items,
    undisturbed: &[Undisturbed],
) -> Result<u64, Problem> {
    let mut tried = 0;
    for (at, step) in case.script.iter().enumerate() {
        if !matches!(step.operation, Operation::Run(_) | Operation::Resume(_)) {
            continue;
        }
        for write in 1..=undisturbed[at].writes {
            Box::pin(cut(case, shown, items, undisturbed, (at, write))).await?;
            tried += 1;
        }
    }
    Ok(tried)
}

/// Carries the whole script out, with the operation of one step cut short after one write.
async fn cut(
    case: &Case,
    shown: &str,
    items: &Items,
    undisturbed: &[Undisturbed],
    (at, write): (usize, u64),
) -> Result<(), Problem> {
    let mut session = Session::new(case, shown, items);
    let problem = |later: usize, message: Option<String>, mismatches: Vec<Mismatch>| Problem::Crash {
        step: at + 1,
        operation: case.script[at].operation.name(),
        line: case.script[at].line,
        write,
        writes: undisturbed[at].writes,
        later: later + 1,
        message,
        mismatches,
    };
    for (later, step) in case.script.iter().enumerate() {
        let intended = &undisturbed[later].actual;
        let gone_on = if later == at {
            Box::pin(session.perform_cut(&step.operation, write, intended)).await
        } else {
            session.perform(&step.operation).await.map(Some)
        };
        let actual = gone_on.map_err(|message| problem(later, Some(message), Vec::new()))?;
        let Some(actual) = actual else { continue };
        let mut mismatches = differences(intended, &actual);
        if mismatches.is_empty() && later >= at {
            mismatches = step.expect.compare(&actual);
        }
        if !mismatches.is_empty() {
            return Err(problem(later, None, mismatches));
        }
    }
    Ok(())
}

impl Session<'_> {
    /// The dispatches that are on record, by path.
    fn recorded(&self) -> Result<BTreeMap<String, u64>, String> {
        self.store.dispatches(|run, namespace| {
            self.doubles
                .path_of_child(run, namespace)
                .ok_or_else(|| format!("there are records of a child run in `{namespace}` that never began"))
        })
    }

    /// Whether the run has ended and its records say nothing of its child runs: under `exit` nothing of those is stored
    /// that the last boundary has made history.
    fn has_forgotten_children(&self) -> Result<bool, String> {
        let exits = self.started.as_ref().is_some_and(|started| started.setup.durability == Durability::Exit);
        let summary = self.stored_summary()?;
        Ok(exits && summary.is_some_and(|summary| summary.status.is_end()))
    }

    /// The paths of nodes whose child runs are history, under `exit`: of those, nothing is stored that came after the
    /// last stop.
    fn forgotten_children(&self) -> Result<BTreeSet<String>, String> {
        if self.started.as_ref().is_none_or(|started| started.setup.durability != Durability::Exit) {
            return Ok(BTreeSet::new());
        }
        let (mut history, mut open) = (BTreeSet::new(), BTreeSet::new());
        for (namespace, path) in self.doubles.children_of(&self.run) {
            let into = if self.store.is_history(&self.run, &namespace)? { &mut history } else { &mut open };
            into.insert(path);
        }
        Ok(&history - &open)
    }

    /// Performs an operation up to a persisted write, drops the driver there, and goes on from what is stored as
    /// whoever finds the run would. `None`: what the records ask first is for a later step of the script to answer.
    async fn perform_cut(
        &mut self,
        operation: &Operation,
        write: u64,
        intended: &Actual,
    ) -> Result<Option<Actual>, String> {
        let cancelled = self.cancel;
        let asked_before = self.stored_summary()?.map(|summary| summary.interrupts).unwrap_or_default();
        let (dispatched, recorded) = (self.doubles.by_path(), self.recorded()?);
        self.crash = Some(write);
        self.perform(operation).await?;
        if !self.store.is_broken() {
            return Err(format!(
                "it persisted fewer than {write} writes, and more when nothing disturbed it"
            ));
        }
        // A dispatch that no record knows of is lost and comes again; one that a record knows of must not.
        let performed = self.doubles.by_path();
        let kept = if self.has_forgotten_children()? {
            performed
        } else {
            let forgotten = self.forgotten_children()?;
            let is_forgotten = |path: &str| {
                let below = |child: &String| {
                    path.strip_prefix(child.as_str()).is_some_and(|rest| rest.starts_with('/'))
                };
                forgotten.iter().any(below)
            };
            let mut known = self.recorded()?;
            for (path, count) in performed.iter().filter(|(path, _)| is_forgotten(path)) {
                known.insert(path.clone(), *count);
            }
            gained(&dispatched, &performed, &recorded, &known)
        };
        self.doubles.set_dispatches(kept);
        self.doubles.lose_children(&self.run, &self.store.task_dispatches(&self.run)?);
        let stored = self.actual(self.stored_summary()?.as_ref(), None)?;
        if differences(intended, &stored).is_empty() {
            return Ok(Some(stored));
        }
        // A wish to cancel is lost with the process that it was told to.
        self.cancel = cancelled;
        let Operation::Resume(options) = operation else {
            return self.go_on(&ResumeOptions::default()).await.map(Some);
        };
        // Whoever finds the run answers what it asks, and else lets it go on.
        let rest = still_open(options, &stored, &asked_before).unwrap_or_default();
        let resumed = self.go_on(&rest).await?;
        let is_refused =
            resumed.error.as_ref().is_some_and(|error| error.refused && error.code == "answer_needed");
        if !is_refused && differences(intended, &resumed).is_empty() {
            return Ok(Some(resumed));
        }
        match still_open(options, &resumed, &asked_before) {
            Some(rest) => self.go_on(&rest).await.map(Some),
            None if is_refused => Ok(None),
            None => Ok(Some(resumed)),
        }
    }
}

/// What an operation leaves to say when some of what was asked `before` it is asked still.
fn still_open(options: &ResumeOptions, asked: &Actual, before: &[InterruptRecord]) -> Option<ResumeOptions> {
    let asked = asked.result["interrupts"].as_array()?;
    let open: Vec<&InterruptRecord> =
        before.iter().filter(|one| asked.iter().any(|again| again["id"] == one.id.as_str())).collect();
    let Some(answers) = &options.answers else {
        // A bare answer is for the only question, and no answer at all passes a pause.
        let rest = ResumeOptions { answer: options.answer.clone(), ..ResumeOptions::default() };
        return (!open.is_empty()).then_some(rest);
    };
    let is_open = |name: &str| open.iter().any(|one| one.id == name || one.node == name);
    let answers: BTreeMap<_, _> =
        answers.iter().filter(|(name, _)| is_open(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    (!answers.is_empty()).then(|| ResumeOptions { answers: Some(answers), ..ResumeOptions::default() })
}

/// Dispatches before the operation, and those of it that are on record. What a record counts and nobody performed, as
/// where a task failed before its dispatch, is no dispatch of a case.
fn gained(
    before: &BTreeMap<String, u64>,
    performed: &BTreeMap<String, u64>,
    recorded_before: &BTreeMap<String, u64>,
    recorded: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let count = |counts: &BTreeMap<String, u64>, path: &str| counts.get(path).copied().unwrap_or(0);
    let mut dispatched = before.clone();
    for path in performed.keys() {
        let performed = count(performed, path).saturating_sub(count(before, path));
        let gained = count(recorded, path).saturating_sub(count(recorded_before, path)).min(performed);
        if gained > 0 {
            *dispatched.entry(path.clone()).or_default() += gained;
        }
    }
    dispatched
}

/// Where what there is differs from what there is undisturbed: in anything but the record digest, which covers times.
fn differences(undisturbed: &Actual, actual: &Actual) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let (one, two) = (timeless(&undisturbed.result), timeless(&actual.result));
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let (mut expected, mut seen) = (Map::new(), Map::new());
    for key in keys.into_iter().filter(|key| one.get(*key) != two.get(*key)) {
        expected.insert(key.clone(), one.get(key).cloned().unwrap_or_default());
        seen.insert(key.clone(), two.get(key).cloned().unwrap_or_default());
    }
    if !expected.is_empty() {
        found.push(Mismatch {
            key: "result",
            expected: Value::Object(expected),
            actual: Value::Object(seen),
        });
    }
    let mut check = |key, expected: Value, actual: Value| {
        if expected != actual {
            found.push(Mismatch { key, expected, actual });
        }
    };
    check("executions", json!(undisturbed.executions), json!(actual.executions));
    check("checkpoints", json!(undisturbed.checkpoints), json!(actual.checkpoints));
    let error = |actual: &Actual| actual.error.as_ref().map(|error| json!([error.code, error.message]));
    check("error", json!(error(undisturbed)), json!(error(actual)));
    found
}

fn timeless(result: &Value) -> Map<String, Value> {
    let mut result = result.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(checkpoint)) = result.get_mut("checkpoint") {
        checkpoint.remove("digest");
    }
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn actual(result: Value, executions: u64) -> Actual {
        let executions = BTreeMap::from([("a".to_owned(), executions)]);
        Actual { result, executions, checkpoints: 2, error: None }
    }

    #[test]
    fn whatever_a_crash_changes_is_a_difference() {
        let result =
            json!({ "state": { "x": 1 }, "checkpoint": { "id": 1, "digest": "d", "result_digest": "r" } });
        let undisturbed = actual(result.clone(), 1);
        let mut late = result.clone();
        late["checkpoint"]["digest"] = json!("that of another time");
        assert_eq!(differences(&undisturbed, &actual(late, 1)), []);
        let keys =
            |actual: &Actual| differences(&undisturbed, actual).iter().map(|one| one.key).collect::<Vec<_>>();
        let mut other = result.clone();
        other["checkpoint"]["result_digest"] = json!("s");
        assert_eq!(keys(&actual(other, 1)), ["result"]);
        let mut lost = result.clone();
        lost["state"] = json!({});
        assert_eq!(keys(&actual(lost, 1)), ["result"]);
        assert_eq!(keys(&actual(result.clone(), 2)), ["executions"]);
        assert_eq!(keys(&Actual { checkpoints: 3, ..actual(result, 1) }), ["checkpoints"]);
    }

    #[test]
    fn a_dispatch_that_is_on_record_counts_once() {
        let counts = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
            pairs.iter().map(|(node, count)| ((*node).to_owned(), *count)).collect()
        };
        let (before, recorded_before) = (counts(&[("a", 3), ("b", 1)]), counts(&[("a", 2), ("b", 1)]));
        let performed = counts(&[("a", 5), ("b", 2), ("c", 1)]);
        // One of `a` is known to the records since, and the first of `c`; what was under way is not, and nobody has
        // performed what the records say of `d`.
        let recorded = counts(&[("a", 3), ("b", 1), ("c", 1), ("d", 1)]);
        assert_eq!(
            gained(&before, &performed, &recorded_before, &recorded),
            counts(&[("a", 4), ("b", 1), ("c", 1)])
        );
    }

    #[test]
    fn only_what_is_still_asked_is_answered_again() {
        let question = |id: &str, node: &str| InterruptRecord {
            id: id.to_owned(),
            node: node.to_owned(),
            payload: json!("?").into(),
        };
        let before = [question("1.0/0", "a"), question("1.1/0", "b"), question("1.2/0", "d")];
        let asked = actual(
            json!({ "interrupts": [{ "id": "1.0/0", "node": "a" }, { "id": "1.1/0", "node": "b" }, { "id": "1.2/1", "node": "d" }] }),
            1,
        );
        let answers = |names: &[&str]| ResumeOptions {
            answers: Some(names.iter().map(|name| ((*name).to_owned(), json!(1))).collect()),
            ..ResumeOptions::default()
        };
        let rest = |names: &[&str]| {
            still_open(&answers(names), &asked, &before)
                .map(|rest| rest.answers.unwrap().into_keys().collect::<Vec<_>>())
        };
        assert_eq!(rest(&["1.0/0", "b", "c"]), Some(vec!["1.0/0".to_owned(), "b".to_owned()]));
        assert_eq!(rest(&["c"]), None);
        // The next question of the same node is another one.
        assert_eq!(rest(&["d"]), None);
        assert!(still_open(&ResumeOptions::default(), &asked, &before).is_some());
        assert!(still_open(&ResumeOptions::default(), &asked, &[]).is_none());
    }
}
