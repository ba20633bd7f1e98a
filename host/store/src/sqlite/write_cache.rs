//! A cache of the state of runs to which a connection writes, so that a commit need not read it.

use std::collections::HashMap;

use rusqlite::{Connection, Result as SqlResult};

use super::fence::StoredFence;
use super::{history, sql};
use crate::plan::NamespacePlan;

/// Maximum number of runs in the cache. If a process writes to more runs, the cache is emptied and filled again.
const MOST: usize = 1_024;

/// The cached state of runs. It is valid as long as no other connection writes to the file.
#[derive(Debug, Default)]
pub(super) struct WriteCache {
    /// The state of the file for which it is valid (`PRAGMA data_version`). It changes when another connection writes.
    version: i64,
    runs: HashMap<String, CachedRun>,
}

/// The cached state of a run.
#[derive(Debug)]
struct CachedRun {
    /// The number that represents the run's id in all tables.
    id: i64,
    /// The number of the last entry of its history.
    length: Option<i64>,
    /// The fence of the run, if it is known.
    fence: Option<StoredFence>,
    namespaces: HashMap<String, Namespace>,
}

/// The newest checkpoint of a namespace, if it has one.
pub(super) struct Head(pub(super) Option<u64>);

#[derive(Clone, Copy, Debug)]
struct Namespace {
    head: Option<u64>,
    /// True if there may be pending records.
    pending: bool,
}

impl WriteCache {
    /// Empties the cache if another connection has written to the file. It has to be called first in a write
    /// transaction.
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

    /// Returns the fence of a run; `None` if it is unknown.
    pub(super) fn fence(&self, run: &str) -> Option<StoredFence> {
        self.runs.get(run)?.fence
    }

    /// Forgets the fence of a run that was acquired.
    pub(super) fn taken_up(&mut self, run: &str) {
        if let Some(standing) = self.runs.get_mut(run) {
            standing.fence = None;
        }
    }

    /// Returns the newest checkpoint of a namespace; `None` if it is unknown.
    pub(super) fn head(&self, run: &str, namespace: &str) -> Option<Head> {
        self.runs.get(run)?.namespaces.get(namespace).map(|namespace| Head(namespace.head))
    }

    /// Reports whether a namespace may have pending records.
    pub(super) fn has_pending(&self, run: &str, namespace: &str) -> bool {
        let known = self.runs.get(run).and_then(|standing| standing.namespaces.get(namespace));
        known.is_none_or(|namespace| namespace.pending)
    }

    /// Returns the number of entries of a run's history.
    pub(super) fn length(&self, connection: &Connection, run: &str) -> SqlResult<i64> {
        match self.runs.get(run).and_then(|standing| standing.length) {
            Some(length) => Ok(length),
            None => history::length(connection, run),
        }
    }

    /// Notes the outcome of a committed transaction: the new length of the run's history, if it has changed, and the
    /// new state of its namespaces.
    pub(super) fn committed(
        &mut self,
        run: &str,
        (id, fence): (i64, StoredFence),
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

    /// Forgets a run that was removed or changed other than by a commit.
    pub(super) fn forget(&mut self, run: &str) {
        self.runs.remove(run);
    }
}
