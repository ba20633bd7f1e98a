//! Repetition of a case with crashes: an operation is aborted after one of its persisted writes, as by a kill, and the
//! run is resumed from its records. The outcome must be the one of the case without crashes.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::json::canonical_string;
use graph_core::policy::Durability;
use graph_core::question::Question;
use graph_core::record::{InterruptRecord, StopLimit};
use graph_core::time::Timestamp;
use graph_driver::Clock as _;
use serde_json::{Map, Value, json};

use crate::ceiling::Bounds;
use crate::document::{Case, Operation, ResumeOptions};
use crate::expect::{Actual, Mismatch};
use crate::items::Items;
use crate::report::Problem;
use crate::session::Session;

/// Outcome of a step without a crash.
pub(crate) struct Undisturbed {
    /// Outcome after the step.
    pub(crate) actual: Actual,
    /// Number of writes that the step persisted.
    pub(crate) writes: u64,
}

impl Undisturbed {
    fn is_out_of_time(&self) -> bool {
        self.actual.error.as_ref().is_some_and(|error| error.limit == Some(StopLimit::Timeout))
    }

    /// Reports whether a question of the run has a deadline that is in the past at `now`.
    fn has_asked_until(&self, now: Timestamp) -> bool {
        let asked = self.actual.result["interrupts"].as_array();
        asked.is_some_and(|asked| {
            asked.iter().any(|one| Question::from_payload(&one["payload"]).expired(now).is_some())
        })
    }

    /// Reports whether the run ended at a budget, or asks for more of one.
    fn has_used_a_budget_up(&self) -> bool {
        let asks = |asked: &Vec<Value>| asked.iter().any(|one| !one["budget"].is_null());
        self.actual.error.as_ref().is_some_and(|error| error.used_up)
            || self.actual.result["interrupts"].as_array().is_some_and(asks)
    }
}

/// Returns the reason why a case cannot be repeated with crashes, or `None` if it can.
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
        Operation::Resume(_)
        | Operation::Cancel
        | Operation::Hold
        | Operation::Prune(_)
        | Operation::Pass(_) => false,
    });
    if scripted {
        Some("scripts a crash itself")
    } else if undisturbed.iter().any(Undisturbed::is_out_of_time) {
        Some("reaches the run's time limit, which starts again when a run is resumed")
    } else if undisturbed.iter().any(Undisturbed::has_used_a_budget_up) {
        Some("uses a budget of its run up, and a run that is resumed there uses more of it")
    } else if undisturbed.iter().any(|step| step.has_asked_until(session.clock.now())) {
        Some("asks a question whose timeout has passed by the time the run is resumed")
    } else if session.is_partly_untracked() {
        Some("has untracked channels, which no crash leaves as they were")
    } else {
        None
    }
}

/// Repeats a case once for each persisted write of each operation that runs the graph, with a crash after that write.
/// Returns the number of writes.
pub(crate) async fn at_every_write(
    case: &Case,
    shown: &str,
    items: &Items,
    undisturbed: &[Undisturbed],
    bounds: &Bounds,
) -> Result<u64, Problem> {
    let mut tried = 0;
    for (at, step) in case.script.iter().enumerate() {
        if !matches!(step.operation, Operation::Run(_) | Operation::Resume(_)) {
            continue;
        }
        for write in 1..=undisturbed[at].writes {
            Box::pin(cut(case, shown, items, undisturbed, (at, write), bounds)).await?;
            tried += 1;
        }
    }
    Ok(tried)
}

/// Executes the whole script. The operation of one step is aborted after one write.
async fn cut(
    case: &Case,
    shown: &str,
    items: &Items,
    undisturbed: &[Undisturbed],
    (at, write): (usize, u64),
    bounds: &Bounds,
) -> Result<(), Problem> {
    let mut session = Session::new(case, shown, items, false, bounds);
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
        let fault = |message| problem(later, Some(message), Vec::new());
        let mark = session.history_mark().map_err(fault)?;
        let gone_on = if later == at {
            Box::pin(session.perform_cut(&step.operation, write, intended)).await
        } else {
            Box::pin(session.perform(&step.operation)).await.map(Some)
        };
        if let Some(over) = session.over() {
            return Err(Problem::over(later + 1, step, over));
        }
        let Some(mut actual) = gone_on.map_err(fault)? else { continue };
        if step.expect.wants_events() {
            actual.events = session.events_since(&mark).map_err(fault)?;
        }
        let mut mismatches = differences(intended, &actual);
        if mismatches.is_empty() && later == at {
            mismatches = step.expect.compare_resumed(&actual);
        } else if mismatches.is_empty() && later > at {
            mismatches = step.expect.compare(&actual);
        }
        if !mismatches.is_empty() {
            return Err(problem(later, None, mismatches));
        }
    }
    Ok(())
}

impl Session<'_> {
    /// Returns the number of recorded dispatches, by path.
    fn recorded(&self) -> Result<BTreeMap<String, u64>, String> {
        self.store.dispatches(|run, namespace| {
            self.doubles
                .path_of_child(run, namespace)
                .ok_or_else(|| format!("there are records of a child run in `{namespace}` that never began"))
        })
    }

    /// Reports whether the run has ended with durability `exit`: the records of child runs that ended in the last
    /// superstep are not stored then.
    fn has_forgotten_children(&self) -> Result<bool, String> {
        let exits = self.started.as_ref().is_some_and(|started| started.run.durability() == Durability::Exit);
        let summary = self.stored_summary()?;
        Ok(exits && summary.is_some_and(|summary| summary.status.is_end()))
    }

    /// Returns the paths of nodes whose child runs have ended, with durability `exit`: everything since the last stop
    /// is not stored of these.
    fn forgotten_children(&self) -> Result<BTreeSet<String>, String> {
        if self.started.as_ref().is_none_or(|started| started.run.durability() != Durability::Exit) {
            return Ok(BTreeSet::new());
        }
        let (mut history, mut open) = (BTreeSet::new(), BTreeSet::new());
        for (namespace, path) in self.doubles.children_of(&self.run) {
            let into = if self.store.is_history(&self.run, &namespace)? { &mut history } else { &mut open };
            into.insert(path);
        }
        Ok(&history - &open)
    }

    /// Performs an operation up to a persisted write, drops the driver there, and resumes from the records, as a user
    /// does who finds the run. Returns `None` if the run first asks a question that a later step of the script answers.
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
        Box::pin(self.perform(operation)).await?;
        if !self.store.is_broken() {
            return Err(format!(
                "it persisted fewer than {write} writes, and more when nothing disturbed it"
            ));
        }
        // A dispatch without a record was lost and is repeated; one with a record must not be repeated.
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
        // A request to cancel is lost with the process that received it.
        self.cancel = cancelled;
        let Operation::Resume(options) = operation else {
            return Box::pin(self.resume_cut_short(&ResumeOptions::default())).await.map(Some);
        };
        // Only the answers that are still needed are given at first. If the outcome then differs, the run is resumed
        // again with those that are needed now.
        let rest = still_open(options, &stored, &asked_before).unwrap_or_default();
        let resumed = Box::pin(self.resume_cut_short(&rest)).await?;
        let is_refused =
            resumed.error.as_ref().is_some_and(|error| error.refused && error.code == "answer_needed");
        if !is_refused && differences(intended, &resumed).is_empty() {
            return Ok(Some(resumed));
        }
        match still_open(options, &resumed, &asked_before) {
            Some(rest) => Box::pin(self.resume_cut_short(&rest)).await.map(Some),
            None if is_refused => Ok(None),
            None => Ok(Some(resumed)),
        }
    }
}

/// Returns the part of a resume that is still needed: the answers to questions that were open `before` the operation
/// and still are. Returns `None` if no such question is open.
fn still_open(options: &ResumeOptions, asked: &Actual, before: &[InterruptRecord]) -> Option<ResumeOptions> {
    let asked = asked.result["interrupts"].as_array()?;
    let open: Vec<&InterruptRecord> =
        before.iter().filter(|one| asked.iter().any(|again| again["id"] == one.id.as_str())).collect();
    let Some(answers) = &options.answers else {
        // A bare answer is for the only question, and a resume without answers passes a pause.
        let rest = ResumeOptions {
            answer: options.answer.clone(),
            update: options.update.clone(),
            ..ResumeOptions::default()
        };
        return (!open.is_empty()).then_some(rest);
    };
    let is_open = |name: &str| open.iter().any(|one| one.id == name || one.node == name);
    let answers: BTreeMap<_, _> =
        answers.iter().filter(|(name, _)| is_open(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let update = options.update.clone();
    (!answers.is_empty()).then(|| ResumeOptions {
        answers: Some(answers),
        update,
        ..ResumeOptions::default()
    })
}

/// Returns the dispatches before the operation together with those of the operation that are recorded. A recorded
/// dispatch that was not performed, for example because the task failed before it, is not counted.
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

/// Returns the differences from the outcome without crashes. The digest of the checkpoint record is not compared,
/// because it covers times.
fn differences(undisturbed: &Actual, actual: &Actual) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let (one, two) = (timeless(&undisturbed.result), timeless(&actual.result));
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let (mut expected, mut seen) = (Map::new(), Map::new());
    // Numbers are compared in their canonical form, in which 1.0 and 1 are the same.
    let differs = |key: &&String| one.get(*key).map(canonical_string) != two.get(*key).map(canonical_string);
    for key in keys.into_iter().filter(differs) {
        expected.insert(key.clone(), one.get(key).cloned().unwrap_or_default());
        seen.insert(key.clone(), two.get(key).cloned().unwrap_or_default());
    }
    if !expected.is_empty() {
        found.push(Mismatch {
            key: "result".into(),
            expected: Value::Object(expected),
            actual: Value::Object(seen),
        });
    }
    let mut check = |key: &'static str, expected: Value, actual: Value| {
        if expected != actual {
            found.push(Mismatch { key: key.into(), expected, actual });
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
        Actual { result, executions, checkpoints: 2, error: None, events: Vec::new() }
    }

    #[test]
    fn whatever_a_crash_changes_is_a_difference() {
        let result =
            json!({ "state": { "x": 1 }, "checkpoint": { "id": 1, "digest": "d", "result_digest": "r" } });
        let undisturbed = actual(result.clone(), 1);
        let mut late = result.clone();
        late["checkpoint"]["digest"] = json!("that of another time");
        assert_eq!(differences(&undisturbed, &actual(late, 1)), []);
        let keys = |actual: &Actual| {
            differences(&undisturbed, actual).iter().map(|one| one.key.clone()).collect::<Vec<_>>()
        };
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
        // The records have one more dispatch of `a`, and the first of `c`. Dispatches that were running are not
        // recorded, and the recorded one of `d` was never performed.
        let recorded = counts(&[("a", 3), ("b", 1), ("c", 1), ("d", 1)]);
        assert_eq!(
            gained(&before, &performed, &recorded_before, &recorded),
            counts(&[("a", 4), ("b", 1), ("c", 1)])
        );
    }

    #[test]
    fn numbers_are_compared_as_records_have_them() {
        let of = |value| actual(json!({ "state": { "n": value } }), 1);
        assert!(differences(&of(json!(1.0)), &of(json!(1))).is_empty());
        assert_eq!(differences(&of(json!(1.5)), &of(json!(1))).len(), 1);
    }

    #[test]
    fn only_what_is_still_asked_is_answered_again() {
        let question = |id: &str, node: &str| InterruptRecord {
            budget: None,
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
        // The next question of the same node is a different one.
        assert_eq!(rest(&["d"]), None);
        assert!(still_open(&ResumeOptions::default(), &asked, &before).is_some());
        assert!(still_open(&ResumeOptions::default(), &asked, &[]).is_none());
    }
}
