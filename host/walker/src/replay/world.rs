//! Compares the answers of the world with the recorded ones.

use graph_core::json::canonical_string;
use graph_core::record::JournalEntry;
use serde::Serialize;

use super::compare::shortened;
use super::section::RecordedAttempt;

/// A call of the host that the world answers differently.
#[derive(Clone, Debug, Serialize)]
pub struct LiveDifference {
    /// Number of the superstep.
    pub step: u64,
    /// Id of the task.
    pub task: String,
    /// Path of nodes to its node.
    pub node: String,
    /// Number of the dispatch of the task, from 1.
    pub dispatch: u32,
    /// Index of the entry in the journal, from 0.
    pub entry: usize,
    /// Call of the host.
    pub call: String,
    /// Recorded answer; `None` if the call was not made then.
    pub recorded: Option<String>,
    /// Present answer; `None` if the call is not made now.
    pub now: Option<String>,
}

/// Compares the answers of the world, entry by entry while the same calls are made, up to the first call that differs.
pub(super) fn differences(at: &RecordedAttempt, now: &[JournalEntry]) -> Vec<LiveDifference> {
    let recorded = at.entries();
    let call = |entry: &JournalEntry| {
        let request = shortened(&canonical_string(&entry.request.0));
        format!("{}#{}({request})", entry.interface, entry.function)
    };
    let answer = |entry: &JournalEntry| {
        let answer = shortened(&canonical_string(&entry.result.0));
        if entry.ok { answer } else { format!("error {answer}") }
    };
    let of = |entry, then: Option<&JournalEntry>, now: Option<&JournalEntry>| LiveDifference {
        step: at.step,
        task: at.task.clone(),
        node: at.node.clone(),
        dispatch: at.dispatch,
        entry,
        call: now.or(then).map(call).unwrap_or_default(),
        recorded: then.map(answer),
        now: now.map(answer),
    };
    let mut found = Vec::new();
    for entry in 0..recorded.len().max(now.len()) {
        match (recorded.get(entry), now.get(entry)) {
            (Some(then), Some(now)) if then == now => {}
            (Some(then), Some(now)) if call(then) == call(now) => {
                found.push(of(entry, Some(then), Some(now)));
            }
            (then, Some(now)) if then.is_none_or(|then| call(then) != call(now)) => {
                // From here on the two sequences of calls are unrelated.
                found.push(of(entry, None, Some(now)));
                return found;
            }
            (then, now) => {
                found.push(of(entry, then, now));
                return found;
            }
        }
    }
    found
}
