//! The recorded answers with which a run is resumed.

use std::collections::BTreeMap;

use graph_core::record::{CanonicalValue, Status};

use super::recorded::TaskRecords;
use super::section::Section;
use crate::walker::{Answers, RecordedAnswer, Resume, namespace_of};

impl Section {
    /// Returns the parameters of the run's resume at this point.
    pub(super) fn resume(&mut self, status: Status) -> Result<Resume, String> {
        let summary = self.tree.summary();
        self.resumes += 1;
        // A live replay resumes no more often than the run did: each resume would repeat calls of the world.
        let live = self.options.live;
        let expected = self.recorded.next("", self.reached.get("").copied()).map_or(0, |next| {
            let again = |dispatches: u32| u64::from(dispatches.saturating_sub(u32::from(live)));
            next.checkpoint.tasks.iter().map(|task| again(task.dispatches)).sum::<u64>()
        });
        let below: u64 = self.answered.values().map(|count| *count as u64).sum();
        if self.resumes > expected + below + if live { 0 } else { 16 } {
            let error = summary.error.map(|error| error.message).unwrap_or_default();
            return Err(format!("it stops again and again as {status}: {error}"));
        }
        let mut asked = false;
        let mut known_answers = Vec::new();
        for open in summary.interrupts.iter().filter(|open| !open.payload.0.is_null()) {
            asked = true;
            let task = namespace_of(&open.id).to_owned();
            let namespace = namespace_of(&task);
            let records = self.task_records(&task);
            let number = open.id.rsplit_once('/').and_then(|(_, number)| number.parse().ok());
            if let Some((number, answer)) =
                number.and_then(|number: usize| Some((number, records.answers.get(number)?)))
            {
                let next = self.recorded.next_mark(namespace, self.reached.get(namespace).copied());
                let next = next.map_or(u64::MAX, |next| next.at.0);
                // This dispatch ends at once: the answer adds nothing to a budget.
                let is_stopped = open.budget.is_some() && *answer.0 == serde_json::Value::Bool(false);
                let answer = recorded(&records, number, answer);
                known_answers.push((next, open.id.clone(), task, answer, is_stopped));
            }
        }
        // The run may have been resumed with one answer after the other. Effects of the first one are recorded first.
        let first = known_answers.iter().map(|(next, ..)| *next).min();
        let mut given = BTreeMap::new();
        for (_, id, task, answer, is_stopped) in
            known_answers.into_iter().filter(|(next, ..)| Some(*next) == first)
        {
            given.insert(id, answer);
            if is_stopped {
                *self.dispatches.entry(task.clone()).or_default() += 1;
            }
            *self.answered.entry(task).or_default() += 1;
        }
        if asked && given.is_empty() {
            let asked: Vec<_> = summary.interrupts.iter().map(|open| open.node.as_str()).collect();
            return Err(format!("{} asks, and no answer is recorded", asked.join(", ")));
        }
        // An answer that was replaced by another one before the superstep committed.
        for (namespace, task, count, dropped) in self.tree.given_answers() {
            let records = self.recorded.task(namespace, self.reached.get(namespace).copied(), task);
            let replaced =
                records.dropped.iter().find(|number| **number < count && !dropped.contains(number));
            if let (Some(number), Some(answer)) = (replaced, records.answers.get(count as usize)) {
                given
                    .entry(format!("{task}/{number}"))
                    .or_insert_with(|| recorded(&records, count as usize, answer));
            }
        }
        let answers = if given.is_empty() { Answers::None } else { Answers::Recorded(given) };
        let max_steps = (status == Status::Limit).then_some(u64::MAX - 1);
        Ok(Resume { answers, max_steps, ..Resume::default() })
    }
}

/// Converts an answer for the walker.
fn recorded(records: &TaskRecords, number: usize, answer: &CanonicalValue) -> RecordedAnswer {
    let number = u32::try_from(number).ok();
    let is_dropped = number.is_some_and(|number| records.dropped.contains(&number));
    match number.and_then(|number| records.expired.get(&number)) {
        Some(until) => RecordedAnswer::Expired(*until),
        None if is_dropped => RecordedAnswer::Dropped((*answer.0).clone()),
        None => RecordedAnswer::Given((*answer.0).clone()),
    }
}
