//! Reads a run's history from the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graph_core::record::{HistoryEntry, Record};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, NumberedRecord};
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;
use serde_json::Value;

use super::kind::Kinds;
use super::line::{Around, Details};
use super::run_graphs::RunGraphs;
use super::state::State;
use crate::error::Result;
use crate::run::restore;

/// Number of records that are read at a time.
const PAGE: usize = 64;

/// Reads a run's history from an offset on; entries that are stored later can be read with another call.
#[derive(Debug)]
pub struct Reader {
    store: Arc<dyn CheckpointStore>,
    run: String,
    /// The key that checks every record; `None` if another host has signed them.
    key: Option<VerifyingKey>,
    kinds: Kinds,
    /// Number of the last entry that was read.
    after: u64,
    states: BTreeMap<String, State>,
    graphs: RunGraphs,
}

impl Reader {
    /// Makes a reader of the entries after number `after`.
    pub fn new(
        store: Arc<dyn CheckpointStore>,
        run: &str,
        key: Option<VerifyingKey>,
        kinds: Kinds,
        after: u64,
    ) -> Self {
        Self {
            store,
            run: run.to_owned(),
            key,
            kinds,
            after,
            states: BTreeMap::new(),
            graphs: RunGraphs::default(),
        }
    }

    /// Uses these graphs, for a run whose graphs the store does not keep.
    #[must_use]
    pub fn with_graphs(self, graph: &Arc<Graph>, inside: &Graphs) -> Self {
        Self { graphs: RunGraphs::given(graph, inside), ..self }
    }

    /// Returns the id of the run.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Returns the number of the last entry that was read.
    pub(super) const fn position(&self) -> u64 {
        self.after
    }

    /// Returns the filter of entries.
    pub(super) const fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Passes the lines of all entries since the last call to `print`, up to a record that cannot be read.
    pub fn read(&mut self, print: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        self.read_with(&mut HashMap::new(), print)
    }

    /// Like [`Reader::read`], with details of tasks that are not stored.
    pub(super) fn read_with(
        &mut self,
        details: &mut HashMap<String, Details>,
        mut print: impl FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        loop {
            let page = self.store.history(&self.run, self.after, PAGE)?;
            let begun = self.after;
            for numbered in &page {
                for line in self.lines(numbered, details)? {
                    print(&line)?;
                }
            }
            if page.is_empty() || self.after == begun {
                return Ok(());
            }
        }
    }

    fn lines(
        &mut self,
        numbered: &NumberedRecord,
        details: &mut HashMap<String, Details>,
    ) -> Result<Vec<Value>> {
        let record = restore::open_record(&numbered.record, self.key.as_ref())?;
        if !self.kinds.want_namespace(&numbered.record.namespace) {
            self.after = self.after.max(numbered.before + numbered.record.events);
            return Ok(Vec::new());
        }
        let state = match &record {
            Record::Checkpoint(checkpoint) if self.kinds.want_values() => {
                let state = self.states.entry(checkpoint.namespace.clone()).or_default();
                Some(state.go_to(checkpoint, &numbered.record.values, &*self.store)?)
            }
            _ => None,
        };
        let store = &*self.store;
        let named = self.graphs.named(store, &self.run, &numbered.record.namespace, &record)?;
        let graph = match &record {
            Record::Checkpoint(checkpoint) if self.kinds.want(&HistoryEntry::Commit) => {
                self.graphs.graph(store, &checkpoint.graph).cloned()
            }
            _ => None,
        };
        let around = Around { numbered, record: &record, named: &named, graph: graph.as_deref() };
        let mut lines = Vec::new();
        for (offset, entry) in (numbered.before + 1..).zip(record.entries()) {
            let details = match &entry {
                HistoryEntry::Task(task) => details.remove(&task.task),
                _ => None,
            };
            if offset > self.after && self.kinds.want(&entry) {
                lines.push(around.line(offset, &entry, state, details));
            }
        }
        self.after = self.after.max(numbered.before + numbered.record.events);
        // After the end of a child run, its namespace has no further records.
        let namespace = &numbered.record.namespace;
        if matches!(&record, Record::Checkpoint(checkpoint) if checkpoint.end.is_some() && !namespace.is_empty())
        {
            self.states.remove(namespace);
            self.graphs.leave(namespace);
        }
        Ok(lines)
    }
}
