//! The child runs of a run, as a tree.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::diagnostic::{one_line, printable};
use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::record::{Checkpoint, InterruptRecord, Record, ResultDigest, Status, StatusRecord};
use graph_core::trust::VerifyingKey;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::{counted, short_number, task_labels};
use graph_host::terminal::text::branch;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::run::checkpoints::{self, Line};
use graph_runtime::run::pins::Pins;
use graph_runtime::run::restore;
use graph_walker::document::load_snapshot;
use graph_walker::graph::NodeKind;
use graph_walker::walker::is_child_of;
use serde_json::{Map, Value, json};

use super::list::{Cells, with_models};
use super::namespace;
use super::relations::names;
use super::row::{model_cells, model_columns};
use super::usage::{model_document, model_line};

/// A child run, read from its newest records.
pub(super) struct ChildRun {
    namespace: String,
    /// Path of nodes from the top graph to the node that started the child run.
    path: String,
    graph: Option<String>,
    end: Option<Status>,
    steps: u64,
    /// Fuel of the committed supersteps.
    fuel: u64,
    /// Use of language models by the committed supersteps.
    model: ModelUse,
    visits: BTreeMap<String, u64>,
    result: ResultDigest,
    status: Option<StatusRecord>,
    /// `true` if the child run and those above it belong to the superstep under way.
    live: bool,
}

/// Limit of a path of nodes, in bytes: each level of an imported tree has a path.
const LONGEST_PATH: usize = 4096;

/// Counts the child runs that each namespace has started.
pub(super) fn started(children: &[ChildRun]) -> BTreeMap<&str, usize> {
    let mut started = BTreeMap::new();
    for child in children {
        *started.entry(parent_of(&child.namespace)).or_default() += 1;
    }
    started
}

/// Reads the child runs of a run, parents before their children.
pub(super) fn read(
    store: &dyn CheckpointStore,
    row: &RunRow,
    key: Option<&VerifyingKey>,
) -> Result<Vec<ChildRun>> {
    let namespaces = store.namespaces(&row.run_id)?;
    if namespaces.iter().all(String::is_empty) {
        return Ok(Vec::new());
    }
    let graphs = graphs(store, row)?;
    let mut nodes = Nodes::of_children(&namespaces);
    let parents: BTreeSet<String> =
        namespaces.iter().map(|namespace| parent_of(namespace).to_owned()).collect();
    let mut found: Vec<ChildRun> = Vec::new();
    let mut sorted: Vec<_> = namespaces.into_iter().collect();
    sorted.sort_by_cached_key(|namespace| place(namespace));
    let mut roots: BTreeMap<String, (Checkpoint, bool, String)> = BTreeMap::new();
    for namespace in sorted {
        let parent = parent_of(&namespace);
        let Some(newest) = newest(store, &row.run_id, &namespace, key)? else { continue };
        if namespace.is_empty() {
            roots.insert(namespace, (newest, true, String::new()));
            continue;
        }
        let above = roots.get(parent);
        let live = above.is_some_and(|(parent, live, _)| *live && is_child_of(&namespace, parent));
        let node = nodes.of(store, &row.run_id, parent, &namespace)?;
        let path = match above.map(|(_, _, path)| path.as_str()) {
            None | Some("") => node,
            Some(above) if above.len() + node.len() < LONGEST_PATH => format!("{above}/{node}"),
            Some(_) => format!("…/{}", one_line(&node, LONGEST_PATH)),
        };
        let status = status(store, &row.run_id, &namespace, key)?;
        found.push(ChildRun {
            namespace: namespace.clone(),
            path: path.clone(),
            graph: graphs.get(&newest.graph).cloned(),
            end: newest.end.as_ref().map(|end| end.status),
            steps: newest.step,
            fuel: newest.fuel,
            model: newest.host.model,
            visits: newest.visits.clone(),
            result: newest.result,
            status,
            live,
        });
        if parents.contains(&namespace) {
            roots.insert(namespace, (newest, live, path));
        }
    }
    Ok(found)
}

/// Returns the open questions of child runs, each with the path to its node.
pub(super) fn open(children: &[ChildRun]) -> Vec<InterruptRecord> {
    let live = children.iter().filter(|child| child.live);
    live.flat_map(|child| {
        let asked = child.status.iter().flat_map(|status| &status.interrupts);
        asked.map(|asked| InterruptRecord { node: format!("{}/{}", child.path, asked.node), ..asked.clone() })
    })
    .collect()
}

impl ChildRun {
    /// Returns the graph's id, if it is known.
    pub(super) fn graph(&self) -> Option<&str> {
        self.graph.as_deref()
    }

    pub(super) fn status(&self) -> Status {
        match (self.end, &self.status) {
            (Some(end), _) => end,
            (None, Some(status)) => status.status,
            (None, None) => Status::Running,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the columns of a child run in a list of runs. `started` is the number of child runs that it has started itself.
    pub(super) fn columns(&self, row: &RunRow, started: usize) -> Map<String, Value> {
        let id = namespace::join(&row.run_id, &self.namespace);
        let mut columns = names(&id, self.graph.as_deref().unwrap_or_default());
        let values = [
            ("run_id", json!(id)),
            ("graph_id", json!(self.graph)),
            ("directive", json!(self.graph)),
            ("namespace", json!(self.namespace)),
            ("path", json!(self.path)),
            ("parent_id", json!(namespace::join(&row.run_id, parent_of(&self.namespace)))),
            ("root_id", json!(row.root_id)),
            ("status", json!(self.status())),
            ("step", json!(self.steps)),
            ("fuel", json!(self.fuel())),
            ("spawn_count", json!(started)),
        ];
        columns.extend(values.into_iter().map(|(name, value)| (name.to_owned(), value)));
        columns.extend(model_columns(self.model_use()));
        columns
    }

    /// Returns the cells of a child run in the table of runs.
    pub(super) fn cells(&self, row: &RunRow) -> Cells {
        let of_run = [
            namespace::join(&row.run_id, &self.namespace),
            one_line(self.graph.as_deref().unwrap_or("?"), 40),
            self.status().as_str().replace('_', " "),
            self.steps.to_string(),
            short_number(self.fuel()),
            String::new(),
        ];
        with_models(of_run, model_cells(self.model_use(), None))
    }

    pub(super) fn to_json(&self, row: &RunRow) -> Value {
        json!({
            "run_id": namespace::join(&row.run_id, &self.namespace),
            "parent_id": namespace::join(&row.run_id, parent_of(&self.namespace)),
            "namespace": self.namespace,
            "path": self.path,
            "graph": self.graph,
            "status": self.status(),
            "steps": self.steps,
            "fuel": self.fuel(),
            "model": model_document(self.model_use()),
            "visits": self.visits,
            "result_digest": self.result,
        })
    }

    fn fuel(&self) -> u64 {
        let open = self.status.iter().flat_map(|status| status.tasks.values());
        open.map(|used| used.fuel).fold(self.fuel, u64::saturating_add)
    }

    /// Returns the use of language models, including tasks of the superstep under way.
    fn model_use(&self) -> ModelUse {
        let open = self.status.iter().flat_map(|status| status.tasks.values());
        open.map(|used| used.host.model).fold(self.model, ModelUse::plus)
    }

    /// Prints a line: `  └ 3.0/1.0  outer/inner  acme/child  completed: 3 steps, 1.2k fuel`.
    pub(super) fn show(&self, output: Output) -> Result<()> {
        let depth = self.namespace.split('/').count();
        let status = self.status();
        let style = match status {
            Status::Completed => output::GOOD,
            Status::Failed | Status::Limit => output::BAD,
            _ => output::CAUTION,
        };
        let used = self.model_use();
        let models = if used.is_nothing() { String::new() } else { format!(", {}", model_line(used)) };
        output.line(format_args!(
            "  {}{} {}  {}  {} {}, {} fuel{models}",
            branch(depth),
            styled(output::DIM, printable(&self.namespace)),
            printable(&self.path),
            printable(self.graph.as_deref().unwrap_or("a graph that the run has written")),
            styled(style, format_args!("{}:", status.as_str().replace('_', " "))),
            counted(self.steps, "step"),
            short_number(self.fuel()),
        ))
    }
}

/// Returns the ids of the graphs to which a run is pinned, by digest.
pub(super) fn graphs(store: &dyn CheckpointStore, row: &RunRow) -> Result<BTreeMap<Digest, String>> {
    let pins = Pins::read(&restore::snapshot(store, &row.pins, "what it is pinned to")?)?;
    Ok(pins.graphs.into_iter().map(|(id, pinned)| (pinned.graph, id)).collect())
}

/// Returns the `foreach` nodes of the graphs to which a run is pinned, as far as they can be read.
pub(super) fn foreach_nodes(store: &dyn CheckpointStore, row: &RunRow) -> BTreeSet<(Digest, String)> {
    let text = restore::snapshot(store, &row.pins, "what it is pinned to").ok();
    let Some(pins) = text.and_then(|text| Pins::read(&text).ok()) else { return BTreeSet::new() };
    let inside = pins.graphs.values().map(|pinned| (pinned.graph, pinned.text));
    let mut found = BTreeSet::new();
    for (graph, digest) in inside.chain([(row.graph, pins.graph_text)]) {
        let document = restore::document(store, &digest, "a graph").ok();
        let Some(loaded) = document.and_then(|document: Value| load_snapshot(&document).ok()) else {
            continue;
        };
        let nodes = loaded.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Foreach(_)));
        found.extend(nodes.map(|node| (graph, node.name.clone())));
    }
    found
}

/// Returns the sort key of a namespace, in the order of tasks: `3.2` before `3.10`.
fn place(namespace: &str) -> Vec<u64> {
    let numbers = namespace.split(['/', '.', '@']).filter(|part| !part.is_empty());
    numbers.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

fn newest(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: Option<&VerifyingKey>,
) -> Result<Option<Checkpoint>> {
    let begins = checkpoints::begins(store, run, namespace, key)?;
    let line = Line::new(store, run, namespace, key, begins.as_ref());
    let Some(record) = line.newest()? else { return Ok(None) };
    Ok(Some(line.open(&record)?.checkpoint))
}

fn status(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: Option<&VerifyingKey>,
) -> Result<Option<StatusRecord>> {
    let Some(record) = restore::pending_status(store, run, namespace)? else { return Ok(None) };
    match restore::open_record(&record, key)? {
        Record::Status(status) => Ok(Some(status)),
        _ => Ok(None),
    }
}

/// Returns the parent of a namespace; at the top, the namespace of the run itself.
fn parent_of(namespace: &str) -> &str {
    namespace.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Returns the task whose child run has a namespace.
fn task_of(namespace: &str) -> &str {
    let segment = namespace.rfind('/').map_or(0, |at| at + 1);
    namespace[segment..].find('@').map_or(namespace, |at| &namespace[..segment + at])
}

/// Nodes of the tasks that have started child runs.
struct Nodes {
    tasks: BTreeSet<String>,
    by_task: BTreeMap<String, String>,
    read: BTreeSet<String>,
}

impl Nodes {
    fn of_children(namespaces: &[String]) -> Self {
        let tasks = namespaces.iter().map(|namespace| task_of(namespace).to_owned()).collect();
        Self { tasks, by_task: BTreeMap::new(), read: BTreeSet::new() }
    }

    /// Adds the tasks of a superstep with their nodes.
    fn add<'t>(&mut self, tasks: impl Iterator<Item = (&'t str, &'t str)> + Clone) {
        if !tasks.clone().any(|(task, _)| self.tasks.contains(task)) {
            return;
        }
        for (task, label) in task_labels(tasks) {
            if self.tasks.contains(task) {
                self.by_task.insert(task.to_owned(), label);
            }
        }
    }

    /// Returns the node of the task whose child run has a namespace; the task's id if no record names the node.
    fn of(
        &mut self,
        store: &dyn CheckpointStore,
        run: &str,
        parent: &str,
        namespace: &str,
    ) -> Result<String> {
        if self.read.insert(parent.to_owned()) {
            restore::each_checkpoint(store, run, parent, |record| {
                if let Ok(Record::Checkpoint(checkpoint)) = restore::open_record(record, None) {
                    self.add(checkpoint.tasks.iter().map(|task| (&*task.task, &*task.node)));
                }
                Ok(())
            })?;
            let mut pending = BTreeMap::new();
            restore::each_pending(store, run, parent, |record| {
                match restore::open_record(&record, None) {
                    Ok(Record::Task(task)) => {
                        pending.insert(task.task, task.node);
                    }
                    Ok(Record::Status(status)) => {
                        pending.extend(status.tasks.into_iter().map(|(task, used)| (task, used.node)));
                    }
                    _ => {}
                }
                Ok(())
            })?;
            self.add(pending.iter().map(|(task, node)| (&**task, &**node)));
        }
        let (task, segment) = (task_of(namespace), namespace.rfind('/').map_or(0, |at| at + 1));
        Ok(self.by_task.get(task).cloned().unwrap_or_else(|| task[segment..].to_owned()))
    }
}
