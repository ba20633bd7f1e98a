//! The knowledge item of a run, its state item, which graphs and people can load. Runs in the file store have one, runs
//! of graphs in Rye's dialect, and runs for which the user asked for one.
//!
//! It is rewritten at each boundary under `durability: sync`, and otherwise at suspensions and at the end. It is a copy
//! for reading: runs are resumed from their signed records.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use graph_core::id::{IdError, RunId};
use graph_core::policy::Durability;
use graph_core::record::{Checkpoint, Record, Status};
use graph_core::trust::{CommentMark, SigningKey, TextKind, sign_text};
use graph_store::held::{FilePlace, WriteOptions};
use graph_store::{CheckpointPosition, CheckpointStore, RunRow};
use graph_walker::graph::Graph;
use serde_json::{Map, Value};

use crate::clock::now;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::notice::{Notice, NoticeObserver};
use crate::project::{Project, paths};
use crate::run::restore;
use graph_core::diagnostic::visible;

/// Writes the state items of runs.
#[derive(Clone, Debug)]
pub struct Projection {
    project: Project,
    key: SigningKey,
}

impl Projection {
    /// Makes a writer into the knowledge of a project, signed with the host's identity.
    pub fn new(project: &Project, key: SigningKey) -> Self {
        Self { project: project.clone(), key }
    }

    /// Writes the item of a run with the run's present state.
    pub fn write(&self, store: &dyn CheckpointStore, run: &str) -> Result<()> {
        let Some(row) = store.listed_run(run)? else { return Ok(()) };
        let Some(record) = store.checkpoint(run, "", CheckpointPosition::Latest)? else { return Ok(()) };
        let status = newest_status(store, &row)?;
        if row.durability != Durability::Sync && status == Status::Running {
            return Ok(());
        }
        let checkpoint = match record.decode() {
            Ok(Record::Checkpoint(checkpoint)) => *checkpoint,
            Ok(_) => return Err(Error::integrity("the newest checkpoint is something else")),
            Err(error) => return Err(Error::integrity(error.to_string()).caused_by(error)),
        };
        let id = item_id(&row, &RunId::parse(&row.run_id).map_err(|error| no_id(&row, &error))?);
        let text = text(store, &row, &checkpoint, status, &id)?;
        let signed = sign_text(TextKind::Knowledge, &id, &text, CommentMark::Angle, &self.key, now());
        let place = file(&self.project, &id)?;
        place.replace(WriteOptions::with_mode(0o644), |file| file.write_all(signed.as_bytes())).map_err(
            |error| paths::not_written("the knowledge item", &error, &place.path(), self.project.base()),
        )
    }
}

/// Keeps the state item of a run up to date while the run is driven, whichever store the run is in.
#[derive(Clone, Debug)]
pub struct StateItem {
    projection: Projection,
    notices: Arc<dyn NoticeObserver>,
}

impl StateItem {
    /// Makes a writer into the knowledge of a project, signed with the host's identity.
    pub fn new(project: &Project, key: SigningKey, host: &Host) -> Self {
        Self { projection: Projection::new(project, key), notices: Arc::clone(&host.notices) }
    }

    /// Makes the writer for a run, if an item is asked for, if its graph's dialect has items, or if an item exists for
    /// `row`. For a fork, `row` is that of the run that it was forked from.
    pub fn of_run(
        is_asked_for: bool,
        graph: &Graph,
        row: &RunRow,
        key: &SigningKey,
        project: &Project,
        host: &Host,
    ) -> Option<Self> {
        let is_written = is_asked_for || graph.dialect.writes_state_item() || is_written(project, row);
        is_written.then(|| Self::new(project, key.clone(), host))
    }

    /// Writes the item of a run with its present state. A failure is only a notice: the run continues.
    pub fn update(&self, store: &dyn CheckpointStore, run: &str) {
        if let Err(error) = self.projection.write(store, run) {
            self.notices.notice(Notice::RunItemOutdated { run, error: &error });
        }
    }
}

/// Checks whether the item of a run exists.
fn is_written(project: &Project, row: &RunRow) -> bool {
    let Ok(run) = RunId::parse(&row.run_id) else { return false };
    file(project, &item_id(row, &run)).is_ok_and(|place| place.exists())
}

/// Makes the error of a row whose id is not a run id.
fn no_id(row: &RunRow, error: &IdError) -> Error {
    Error::integrity(format!("`{}` is no id of a run: {error}", row.run_id))
}

/// Removes the item of a removed run, if there is one.
pub fn remove(project: &Project, row: &RunRow) {
    let Ok(run) = RunId::parse(&row.run_id) else { return };
    // A failure is no error: the item is only a copy of the last state.
    if let Ok(place) = file(project, &item_id(row, &run)) {
        let _ = place.remove();
    }
}

/// Returns the path components from `.ai` to an item, without the extension of the last one.
fn names(id: &str) -> Vec<&str> {
    std::iter::once("knowledge").chain(id.split('/')).collect()
}

/// Returns the file of an item. Links on the path are not followed.
fn file(project: &Project, id: &str) -> Result<FilePlace> {
    paths::file(project, &names(&format!("{id}.md")))
}

/// Makes the item's id from the graph's: characters that item ids cannot contain are replaced.
fn item_id(row: &RunRow, run: &RunId) -> String {
    let graph: Vec<String> = row
        .graph_id
        .split('/')
        .map(|part| {
            part.chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
                .collect::<String>()
        })
        .filter(|part| !part.is_empty())
        .collect();
    format!("graphs/{}/{}", graph.join("/"), run)
}

/// Reads the status from the newest record.
fn newest_status(store: &dyn CheckpointStore, row: &RunRow) -> Result<Status> {
    let newest = restore::pending_status(store, &row.run_id, "")?;
    Ok(match newest.map(|record| record.decode()) {
        Some(Ok(Record::Status(record))) => record.status,
        _ => row.status,
    })
}

fn text(
    store: &dyn CheckpointStore,
    row: &RunRow,
    checkpoint: &Checkpoint,
    status: Status,
    id: &str,
) -> Result<String> {
    let quoted = |text: &str| Value::from(text).to_string();
    let category = id.rsplit_once('/').map_or(id, |(category, _)| category);
    let mut text = String::from("---\n");
    let mut field = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    field("id", quoted(id));
    field("title", quoted(&format!("State: {} ({})", row.graph_id, row.run_id)));
    field("entry_type", "graph_state".to_owned());
    field("category", quoted(category));
    field("version", quoted("1.0.0"));
    field("graph_id", quoted(&row.graph_id));
    field("graph_run_id", quoted(&row.run_id));
    if let Some(parent) = &row.parent_id {
        field("parent_thread_id", quoted(parent));
    }
    field("status", status.as_str().to_owned());
    let next: Vec<_> = checkpoint.next.iter().map(|next| Value::from(next.node.as_str())).collect();
    if let Some(first) = next.first() {
        field("current_node", first.to_string());
    }
    field("next", Value::from(next).to_string());
    field("step_count", checkpoint.step.to_string());
    field("started_at", quoted(&row.created_at.to_string()));
    field("updated_at", quoted(&checkpoint.at.to_string()));
    field("result_digest", quoted(&checkpoint.result.0.to_string()));
    field("tags", Value::from(vec!["graph_state", &row.graph_id]).to_string());
    text.push_str("---\n\n");
    let mut body = Map::new();
    body.insert("inputs".to_owned(), restore::inputs(store, &checkpoint.inputs)?);
    body.extend(restore::state(store, checkpoint)?);
    text.push_str(&visible(&serde_json::to_string_pretty(&body).unwrap_or_default()));
    text.push('\n');
    Ok(text)
}
