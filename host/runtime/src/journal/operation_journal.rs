//! The journal of tasks without a component: they load, search and sign items, or are functions of the program. Their
//! answers depend on the world (the contents of folders, the program), so a replay needs them recorded.

use graph_core::node::{Category, Failure, Outcome};
use graph_core::record::{JournalEntry, JournalReader};
use graph_walker::walker::{TaskReport, TaskSpec};
use serde_json::{Value, json};

use crate::journal::Tape;

/// The interface under which loads, searches and signatures are recorded; the function of such an entry is the operation.
pub(crate) const ITEMS: &str = "graph-host:items";

/// Makes the request of a task for its journal entry.
pub(crate) fn request(spec: &TaskSpec) -> Value {
    json!({ "item_id": spec.item_id, "item_type": spec.item_type.as_str(), "params": spec.params })
}

/// Makes the journal entry of a task and its answer.
pub(crate) fn entry(interface: &str, function: &str, request: Value, report: &TaskReport) -> JournalEntry {
    let mut result = match &report.result {
        Ok(Outcome::Result(value)) => json!({ "value": value }),
        Ok(other) => json!({ "outcome": other }),
        Err(failure) => json!({ "failure": failure }),
    };
    if !report.warnings.is_empty() {
        result["warnings"] = json!(report.warnings);
    }
    if report.work > 0 {
        result["work"] = json!(report.work);
    }
    JournalEntry {
        function: function.to_owned(),
        interface: interface.to_owned(),
        ok: report.result.is_ok(),
        request: request.into(),
        result: result.into(),
    }
}

/// Returns the answer of a tape. `fuel` is the charge for an attempt that was abandoned at its deadline.
pub(crate) fn played(
    tape: &Tape,
    (interface, function): (&str, &str),
    request: &Value,
    fuel: u64,
) -> TaskReport {
    let entries = tape.entries();
    if let Some(failure) = entries.last().and_then(JournalEntry::as_deadline) {
        return TaskReport { journal: entries, ..TaskReport::new(Err(failure), fuel) };
    }
    let mut reader = JournalReader::new(entries.clone());
    let taken = reader.take(interface, function, request).and_then(|(place, entry)| {
        let report = report(&entry).ok_or_else(|| {
            JournalReader::content_differs(place, &entry, "its result is not an answer".to_owned())
        })?;
        reader.finish().map(|()| report)
    });
    match taken {
        Ok(report) => TaskReport { journal: entries, ..report },
        Err(difference) => {
            let failure = Failure::new(Category::Internal, difference.to_string());
            tape.differs(difference);
            TaskReport::new(Err(failure), 0)
        }
    }
}

fn report(entry: &JournalEntry) -> Option<TaskReport> {
    let kept = &*entry.result.0;
    let result = if let Some(value) = kept.get("value") {
        Ok(Outcome::Result(value.clone()))
    } else if let Some(outcome) = kept.get("outcome") {
        Ok(serde_json::from_value(outcome.clone()).ok()?)
    } else {
        Err(serde_json::from_value(kept.get("failure")?.clone()).ok()?)
    };
    let warnings = match kept.get("warnings") {
        Some(warnings) => serde_json::from_value(warnings.clone()).ok()?,
        None => Vec::new(),
    };
    // Entries of releases that did not meter this work lack the key.
    let work = kept.get("work").and_then(Value::as_u64).unwrap_or_default();
    Some(TaskReport { warnings, work, ..TaskReport::new(result, 0) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::item::ItemOperation;

    use super::*;

    const LOAD: (&str, &str) = (ITEMS, ItemOperation::Load.as_str());

    #[test]
    fn an_answer_is_played_as_it_was() {
        let request = json!({"item_id": "a/b"});
        let warned = TaskReport {
            warnings: vec!["doubtful".to_owned()],
            work: 7,
            ..TaskReport::new(Ok(Outcome::Result(json!({"body": 1}))), 0)
        };
        let failed = TaskReport::new(Err(Failure::new(Category::Permanent, "not there")), 0);
        for report in [warned, failed] {
            let entry = entry(LOAD.0, LOAD.1, request.clone(), &report);
            let tape = Tape::new();
            tape.load(vec![entry.clone()]);
            let again = played(&tape, LOAD, &request, 7);
            assert_eq!(again, TaskReport { journal: vec![entry], ..report });
            assert_eq!(tape.difference(), None);
            // A request that differs from the recorded one is not answered.
            let other = played(&tape, LOAD, &json!({"item_id": "a/c"}), 7);
            assert_eq!(other.result.unwrap_err().category, Category::Internal);
            assert!(tape.difference().is_some());
        }
        let tape = Tape::new();
        tape.load(vec![JournalEntry::deadline(&Failure::new(Category::Timeout, "late"))]);
        assert_eq!(played(&tape, (ITEMS, ItemOperation::Search.as_str()), &request, 7).fuel, 7);
    }
}
