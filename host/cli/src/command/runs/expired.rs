//! Expired questions of a run: they accept no answer, and nothing happens until the run is resumed.

use graph_core::question::{ExpiredQuestion, Question};
use graph_core::record::InterruptRecord;
use graph_host::context::Context;
use graph_host::terminal::prompt::expired_line;
use graph_host::terminal::width::one_line;
use graph_runtime::clock::now;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use serde_json::{Value, json};

use super::{run_view, tree};

/// An expired question.
pub(super) struct ExpiredInterrupt {
    asked: InterruptRecord,
    expired: ExpiredQuestion,
}

impl ExpiredInterrupt {
    /// Returns the question for JSON documents.
    pub(super) fn document(&self) -> Value {
        let Self { asked, expired } = self;
        json!({
            "id": asked.id,
            "node": asked.node,
            "until": expired.until.to_string(),
            "default": expired.default,
        })
    }

    /// Renders the question with its default, in a line.
    pub(super) fn line(&self) -> String {
        format!("{} {}", one_line(&self.asked.node, 60), expired_line(&self.expired, now()))
    }
}

/// Returns the expired questions of a run; none if its records cannot be read, which other commands report.
pub(super) fn expired_interrupts(
    store: &dyn CheckpointStore,
    row: &RunRow,
    context: &Context,
) -> Vec<ExpiredInterrupt> {
    if !row.status.is_paused() {
        return Vec::new();
    }
    let asked = open(store, row, context).unwrap_or_default();
    let expired = |asked: InterruptRecord| {
        let expired = Question::from_payload(&asked.payload.0).expired(now())?;
        Some(ExpiredInterrupt { asked, expired })
    };
    asked.into_iter().filter_map(expired).collect()
}

fn open(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<Vec<InterruptRecord>> {
    let view = run_view::newest(store, row, context)?;
    let mut open = view.status().map(|status| status.interrupts.clone()).unwrap_or_default();
    open.extend(tree::open(&tree::read(store, row, view.key())?));
    Ok(open)
}
