//! The outcome of a run as a JSON document.

use std::collections::BTreeMap;

use graph_core::question::Question;
use graph_core::record::{EndedBy, InterruptRecord, RunError, Status};
use graph_core::time::Timestamp;
use graph_walker::walker::{CheckpointRef, Summary};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::history::streamed::Streamed;
use crate::run::checkpoints::Names;
use crate::run::restore::VerifiedPart;
use crate::run::typed_answers::TypedAnswers;

/// The outcome of a run as a JSON document. It is written from the summary without a copy, since the state may be
/// large, and reads the visited nodes from the store while it is written.
#[derive(Serialize)]
pub struct RunDocument<'s> {
    // In the order of their names, as in every document.
    cached: &'s BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<VerifiedPart>,
    checkpoint: Option<Value>,
    checkpoints: u64,
    ended_by: Option<EndedBy>,
    error: Option<Value>,
    executions: &'s BTreeMap<String, u64>,
    failed: &'s BTreeMap<String, u64>,
    fuel: u64,
    graph: &'s str,
    graph_run_id: &'s str,
    host_fuel: u64,
    inputs: &'s Value,
    interrupts: Vec<Value>,
    limit_reached: bool,
    next: &'s [String],
    output: Option<&'s Value>,
    run_id: &'s str,
    state: &'s Map<String, Value>,
    status: Status,
    steps: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unused_answers: Vec<Value>,
    visited: Option<Streamed<'s>>,
    warnings: &'s [String],
}

impl<'s> RunDocument<'s> {
    /// Makes the document of a run of a graph, with the nodes `visited`, in order.
    pub fn new(run: &'s str, graph: &'s str, summary: &'s Summary, mut visited: Box<Names<'s>>) -> Self {
        let error = |error: &RunError| {
            json!({
                "code": error.code,
                "budget": error.budget,
                "category": error.category,
                "node": error.node,
                "message": error.message,
            })
        };
        let checkpoint = |checkpoint: CheckpointRef| {
            json!({
                "id": checkpoint.sequence,
                "digest": checkpoint.digest,
                "result_digest": checkpoint.result_digest,
            })
        };
        Self {
            cached: &summary.cached,
            checked: None,
            checkpoint: summary.checkpoint.map(checkpoint),
            checkpoints: summary.checkpoint.map_or(0, |checkpoint| checkpoint.sequence.saturating_add(1)),
            ended_by: summary.ended_by,
            error: summary.error.as_ref().map(error),
            executions: &summary.executions,
            failed: &summary.failed,
            fuel: summary.fuel,
            graph,
            graph_run_id: run,
            host_fuel: summary.host.fuel,
            inputs: &summary.inputs,
            interrupts: summary.interrupts.iter().map(interrupt).collect(),
            limit_reached: summary.limit_reached,
            next: &summary.next,
            output: summary.output.as_deref(),
            run_id: run,
            state: &summary.state,
            status: summary.status,
            steps: summary.steps,
            unused_answers: Vec::new(),
            visited: Some(Streamed::new(move |give| visited(&mut |node| give(&Value::from(node))))),
            warnings: &summary.warnings,
        }
    }
}

impl RunDocument<'_> {
    /// Marks the questions that have expired at the time `now`.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        for asked in &mut self.interrupts {
            let expired = Question::from_payload(&asked["payload"]).expired(now).is_some();
            if asked["form"].get("until").is_some() {
                asked["expired"] = expired.into();
            }
        }
        self
    }

    /// Adds the result of the check before the resume.
    #[must_use]
    pub fn after(self, checked: Option<VerifiedPart>) -> Self {
        Self { checked, ..self }
    }

    /// Adds the answers that were not used, with the reasons.
    #[must_use]
    pub fn without_use(self, answers: &TypedAnswers) -> Self {
        let document_of = |(answer, reason)| json!({ "answer": answer, "reason": reason });
        Self { unused_answers: answers.unused().map(document_of).collect(), ..self }
    }

    /// Leaves out the visited nodes, which then are `null`: the history is not read.
    #[must_use]
    pub fn without_visited(self) -> Self {
        Self { visited: None, ..self }
    }

    /// Takes the error for which the list of visited nodes is incomplete; to be called after the document was written.
    pub fn take_failure(&self) -> Option<Error> {
        self.visited.as_ref().and_then(Streamed::take_failure)
    }

    /// Converts the document to a value that callers can change.
    pub fn to_value(&self) -> Result<Value> {
        let value = serde_json::to_value(self).map_err(|error| {
            Error::storage(format!("the document cannot be made: {error}")).caused_by(error)
        });
        self.take_failure().map_or(value, Err)
    }
}

/// Makes the document of an interrupt: the question, and the form of its answer. A pause has neither.
pub(crate) fn interrupt(interrupt: &InterruptRecord) -> Value {
    let InterruptRecord { budget, id, node, payload } = interrupt;
    let form = (!payload.0.is_null()).then(|| Question::from_payload(&payload.0).form());
    let mut shown = json!({ "id": id, "node": node, "payload": *payload.0, "form": form });
    // The host itself asks, about a budget.
    if let Some(figure) = budget {
        shown["budget"] = json!(figure);
    }
    shown
}
