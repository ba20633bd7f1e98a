//! What a connection remembers of runs that it writes, so that a commit need not ask for it.

use std::collections::HashMap;

use rusqlite::{Connection, Result as SqlResult};

use super::fence::Stored;
use super::{history, sql};
use crate::plan::NamespacePlan;

/// At most that many runs are remembered at most: a process that serves many forgets them all and starts again.
const MOST: usize = 1_024;

/// How runs stand, as long as no other process writes to the file.
#[derive(Debug, Default)]
pub(super) struct WriteCache {
    /// The state of the file that this is of (`PRAGMA data_version`): it changes when another connection writes.
    version: i64,
    runs: HashMap<String, CachedRun>,
}

/// How a run stands.
#[derive(Debug)]
struct CachedRun {
    /// The number that stands for the run's id in all tables.
    id: i64,
    /// The number of the last entry of its history.
    length: Option<i64>,
    /// Who may write to it.
    fence: Option<Stored>,
    namespaces: HashMap<String, Namespace>,
}

/// The newest checkpoint of a namespace, if it has one.
pub(super) struct Head(pub(super) Option<u64>);

#[derive(Clone, Copy, Debug)]
struct Namespace {
    head: Option<u64>,
    /// Whether there may be pending records.
    pending: bool,
}

impl WriteCache {
    /// Forgets what another connection may have changed. To be called first in a write transaction.
    pub(super) fn refresh(&mut self, connection: &Connection) -> SqlResult<()> {
        let version = connection.prepare_cached(sql::DATA_VERSION)?.query_row([], |row| row.get(0))?;
        if self.version != version || self.runs.len() > MOST {
            self.runs.clear();
            self.version = version;
        }
        Ok(())
    }

    pub(super) fn id(&self, run: &str) -> Option<i64> {
        self.runs.get(run).map(|standing| standing.id)
    }

    /// Who may write to a run; `None` if it is not known.
    pub(super) fn fence(&self, run: &str) -> Option<Stored> {
        self.runs.get(run)?.fence
    }

    /// A run has been taken up.
    pub(super) fn taken_up(&mut self, run: &str) {
        if let Some(standing) = self.runs.get_mut(run) {
            standing.fence = None;
        }
    }

    /// The newest checkpoint of a namespace; `None` if it is not known.
    pub(super) fn head(&self, run: &str, namespace: &str) -> Option<Head> {
        self.runs.get(run)?.namespaces.get(namespace).map(|namespace| Head(namespace.head))
    }

    /// Whether a namespace may have pending records.
    pub(super) fn has_pending(&self, run: &str, namespace: &str) -> bool {
        let known = self.runs.get(run).and_then(|standing| standing.namespaces.get(namespace));
        known.is_none_or(|namespace| namespace.pending)
    }

    /// How many entries a run's history has.
    pub(super) fn length(&self, connection: &Connection, run: &str) -> SqlResult<i64> {
        match self.runs.get(run).and_then(|standing| standing.length) {
            Some(length) => Ok(length),
            None => history::length(connection, run),
        }
    }

    /// A transaction has been committed: what it made of the run's history, where it has any, and of its namespaces.
    pub(super) fn committed(
        &mut self,
        run: &str,
        (id, fence): (i64, Stored),
        length: Option<i64>,
        plans: &[NamespacePlan<'_>],
    ) {
        let standing = match self.runs.get_mut(run) {
            Some(standing) => standing,
            None => self.runs.entry(run.to_owned()).or_insert_with(|| CachedRun {
                id,
                length: None,
                fence: None,
                namespaces: HashMap::new(),
            }),
        };
        standing.length = length.or(standing.length);
        standing.fence = Some(fence);
        for plan in plans {
            let before = standing.namespaces.get_mut(plan.namespace);
            let pending = !plan.pending.is_empty()
                || (!plan.voids() && before.as_ref().is_none_or(|before| before.pending));
            let now = Namespace { head: plan.head(), pending };
            match before {
                Some(before) => *before = now,
                None => {
                    standing.namespaces.insert(plan.namespace.to_owned(), now);
                }
            }
        }
    }

    /// A run has been removed or changed in another way.
    pub(super) fn forget(&mut self, run: &str) {
        self.runs.remove(run);
    }
}
