//! Reads a run's history from the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graph_core::record::{Entry, Record};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, Numbered};
use serde_json::Value;

use super::kind::Kinds;
use super::line::{Around, Details};
use super::state::State;
use crate::error::Result;
use crate::run::restore;

/// Records that are read at a time.
const PAGE: usize = 64;

/// Goes through a run's history, as far as there is one, and on when there is more.
#[derive(Debug)]
pub struct Reader {
    store: Arc<dyn CheckpointStore>,
    run: String,
    /// Checks every record; none where another host has signed them.
    key: Option<VerifyingKey>,
    kinds: Kinds,
    /// The number of the last entry that was read.
    after: u64,
    states: BTreeMap<String, State>,
}

impl Reader {
    /// A reader of the entries after number `after`.
    pub fn new(
        store: Arc<dyn CheckpointStore>,
        run: &str,
        key: Option<VerifyingKey>,
        kinds: Kinds,
        after: u64,
    ) -> Self {
        Self { store, run: run.to_owned(), key, kinds, after, states: BTreeMap::new() }
    }

    /// The lines of what has been added since the last call, each ready to be printed, as far as they can be read.
    pub fn read(&mut self, print: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        self.read_with(&mut HashMap::new(), print)
    }

    /// The same, with what is known of tasks beside what is stored.
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

    fn lines(&mut self, numbered: &Numbered, details: &mut HashMap<String, Details>) -> Result<Vec<Value>> {
        let record = restore::open_record(&numbered.record, self.key.as_ref())?;
        if !self.kinds.want_namespace(&numbered.record.namespace) {
            self.after = self.after.max(numbered.before + numbered.record.events);
            return Ok(Vec::new());
        }
        let around = Around { numbered, record: &record };
        let state = match &record {
            Record::Checkpoint(checkpoint) if self.kinds.want_values() => {
                let state = self.states.entry(checkpoint.namespace.clone()).or_default();
                Some(state.go_to(checkpoint, &numbered.record.values, &*self.store)?)
            }
            _ => None,
        };
        let mut lines = Vec::new();
        for (offset, entry) in (numbered.before + 1..).zip(record.entries()) {
            let details = match &entry {
                Entry::Task(task) => details.remove(&task.task),
                _ => None,
            };
            if offset > self.after && self.kinds.want(&entry) {
                lines.push(around.line(offset, &entry, state, details));
            }
        }
        self.after = self.after.max(numbered.before + numbered.record.events);
        // What a child run has come to is its parent's from then on.
        let namespace = &numbered.record.namespace;
        if matches!(&record, Record::Checkpoint(checkpoint) if checkpoint.end.is_some() && !namespace.is_empty())
        {
            self.states.remove(namespace);
        }
        Ok(lines)
    }
}
