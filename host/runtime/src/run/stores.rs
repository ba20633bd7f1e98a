//! The stores of a project: a database, and a folder of files. A run stays in the store that it was started in.

use std::collections::VecDeque;
use std::sync::Arc;

use graph_core::time::Timestamp;
use graph_store::held::FilePlace;
use graph_store::{
    CheckpointStore, FileStore, MemoryStore, ResolveError, RunFilter, RunList, RunRow, SqliteStore,
    StorageError,
};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::notice::Notice;
use crate::project::Project;
use crate::project::state::{self, OwnState};
use crate::project::user_home::Home;
use crate::run::restore;
use crate::run::state_item::Projection;

/// Kinds of stores for runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// The project's database, .ai/state/runs.db.
    #[default]
    Sqlite,
    /// Files in .ai/state/files, and knowledge that graphs can load.
    File,
    /// Memory of the process: the run is gone at its end.
    Memory,
}

/// Checks whether a project has runs in any store.
pub fn any(project: &Project) -> Result<bool> {
    Ok(state::database(project)?.exists() || FileStore::at(&state::files(project)?).exists())
}

/// Opens a store for a run that is started or resumed.
pub fn open(project: &Project, kind: StoreKind, host: &Host) -> Result<Arc<dyn CheckpointStore>> {
    Ok(match kind {
        StoreKind::Sqlite => restore::open(&OwnState::open(project, &host.home)?)?,
        StoreKind::Memory => Arc::new(MemoryStore::new()),
        StoreKind::File => {
            let files = OwnState::open(project, &host.home)?.files()?;
            let projection = Projection::new(project, host.home.identity()?);
            let notices = Arc::clone(&host.notices);
            let store = FileStore::at(&files).notifying(Arc::new(move |store, run| {
                if let Err(error) = projection.write(store, run) {
                    notices.notice(Notice::RunItemOutdated { run, error: &error });
                }
            }));
            Arc::new(store)
        }
    })
}

/// Returns the file that a process on this machine has open while it holds a run of a store; `None` if only this process can hold one.
pub fn lock_file(project: &Project, kind: StoreKind, run: &str) -> Result<Option<FilePlace>> {
    Ok(match kind {
        StoreKind::Sqlite => Some(SqliteStore::lock_place(&state::database(project)?, run)),
        StoreKind::File => FileStore::at(&state::files(project)?).lock_file(run),
        StoreKind::Memory => None,
    })
}

/// The stores of a project, for reading.
#[derive(Clone, Debug)]
pub struct Stores {
    stores: Vec<(StoreKind, Arc<dyn CheckpointStore>)>,
}

impl Stores {
    /// Opens the stores that exist; it is an error if there are none. An older database is migrated if it is this
    /// host's, and refused otherwise: only its owner writes it.
    pub fn to_read(project: &Project, home: &Home) -> Result<Self> {
        let mut stores: Vec<(StoreKind, Arc<dyn CheckpointStore>)> = Vec::new();
        let files = FileStore::at(&state::files(project)?);
        // If there is neither, the error is that of the database.
        if state::database(project)?.exists() || !files.exists() {
            stores.push((StoreKind::Sqlite, restore::open_to_read(project, home)?));
        }
        if files.exists() {
            files.check()?;
            stores.push((StoreKind::File, Arc::new(files)));
        }
        Ok(Self { stores })
    }

    /// Finds a run by the name that the user typed; returns its store, and its row without result and error.
    pub fn find(&self, name: &str) -> Result<(StoreKind, Arc<dyn CheckpointStore>, RunRow)> {
        let mut found: Vec<(StoreKind, &Arc<dyn CheckpointStore>, RunRow)> = Vec::new();
        let mut refused = None;
        for (kind, store) in &self.stores {
            match store.resolve(name) {
                Ok(run) => {
                    if let Some(row) = store.listed_run(&run)? {
                        found.push((*kind, store, row));
                    }
                }
                Err(
                    error @ (ResolveError::NotFound { .. }
                    | ResolveError::Inside { .. }
                    | ResolveError::NoRuns),
                ) => {
                    refused.get_or_insert(Error::from(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        if name == "@last" {
            found.sort_by_key(|(_, _, row)| std::cmp::Reverse(row.created_at));
        } else if found.iter().any(|(_, _, row)| row.run_id == name) {
            found.retain(|(_, _, row)| row.run_id == name);
        } else if let [(_, _, one), (_, _, other), ..] = found.as_slice() {
            let candidates = vec![one.run_id.clone(), other.run_id.clone()];
            return Err(ResolveError::Ambiguous { name: name.to_owned(), candidates, more: false }.into());
        }
        match found.into_iter().next() {
            Some((kind, store, row)) => Ok((kind, Arc::clone(store), row)),
            None => Err(refused.unwrap_or_else(|| Error::not_found(format!("there is no run {name}")))),
        }
    }

    /// Visits the rows of all runs with their stores, newest first, without results and errors. They are read page by
    /// page. If some cannot be read, all others are visited before the error is returned.
    pub fn each(
        &self,
        filter: &RunFilter,
        visit: impl FnMut(&dyn CheckpointStore, RunRow) -> Result<()>,
    ) -> Result<()> {
        match self.each_readable(filter, visit)?.into_iter().next() {
            Some(refused) => Err(refused.into()),
            None => Ok(()),
        }
    }

    /// Like [`Stores::each`], but returns the refusals of unreadable rows.
    pub fn each_readable(
        &self,
        filter: &RunFilter,
        visit: impl FnMut(&dyn CheckpointStore, RunRow) -> Result<()>,
    ) -> Result<Vec<StorageError>> {
        let mut pages = Vec::new();
        for (_, store) in &self.stores {
            let (page, refused) = (VecDeque::new(), Vec::new());
            pages.push(Pages { store: &**store, filter: filter.clone(), page, refused });
        }
        Self::visit_pages(filter, &mut pages, visit)?;
        Ok(pages.into_iter().flat_map(|pages| pages.refused).collect())
    }

    fn visit_pages(
        filter: &RunFilter,
        pages: &mut [Pages<'_>],
        mut visit: impl FnMut(&dyn CheckpointStore, RunRow) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..filter.limit.unwrap_or(usize::MAX) {
            // Each store sorts its own runs; across stores, the creation time decides.
            let mut newest: Option<(usize, Timestamp)> = None;
            for (number, pages) in pages.iter_mut().enumerate() {
                if let Some(created) = pages.created()?
                    && newest.is_none_or(|(_, newest)| created > newest)
                {
                    newest = Some((number, created));
                }
            }
            let Some((number, _)) = newest else { return Ok(()) };
            let pages = &mut pages[number];
            if let Some(row) = pages.page.pop_front() {
                visit(pages.store, row)?;
            }
        }
        Ok(())
    }
}

/// Number of rows that are read at a time.
const PAGE: usize = 256;

/// The rows of a store, page by page.
struct Pages<'s> {
    store: &'s dyn CheckpointStore,
    filter: RunFilter,
    page: VecDeque<RunRow>,
    /// Refusals of unreadable rows.
    refused: Vec<StorageError>,
}

impl Pages<'_> {
    /// Returns the creation time of the next run; `None` at the end.
    fn created(&mut self) -> Result<Option<Timestamp>> {
        if self.page.is_empty() {
            let limit = self.filter.limit.map_or(PAGE, |limit| limit.min(PAGE));
            let listed = self.store.list(&RunFilter { limit: Some(limit), ..self.filter.clone() })?;
            self.page = listed.rows.into();
            // The next page begins after the last readable row, and so may report the same unreadable ones again.
            for refused in listed.refused {
                if self.refused.len() < RunList::MOST_REFUSED && !self.refused.contains(&refused) {
                    self.refused.push(refused);
                }
            }
            match self.page.back() {
                Some(last) => self.filter.before = Some(last.run_id.clone()),
                None => return Ok(None),
            }
        }
        Ok(self.page.front().map(|row| row.created_at))
    }
}
