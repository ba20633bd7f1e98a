//! The project's knowledge for components.

use std::sync::OnceLock;

use graph_engine::{Knowledge, KnowledgeError, SearchHit};
use graph_store::{KnowledgeStore, KnowledgeStoreError};

use crate::error::Error;
use crate::project::Project;
use crate::project::state::{OwnState, Ownership};
use crate::project::user_home::Home;

/// The knowledge of one project, in `.ai/state/knowledge.db`. State of another host is not used.
#[derive(Debug)]
pub(crate) struct ProjectKnowledge {
    project: Project,
    home: Home,
    /// Opened at the first write, or at the first read if the project has state.
    store: OnceLock<Result<KnowledgeStore, String>>,
}

impl ProjectKnowledge {
    /// Makes the knowledge of a project. Its file is made with the first entry.
    pub(crate) fn new(project: &Project, home: &Home) -> Self {
        Self { project: project.clone(), home: home.clone(), store: OnceLock::new() }
    }

    /// Opens the store to write to.
    fn to_write(&self) -> Result<&KnowledgeStore, KnowledgeError> {
        let open = || {
            let file = OwnState::open(&self.project, &self.home)?.knowledge()?;
            Ok(KnowledgeStore::at(&file))
        };
        let store = self.store.get_or_init(|| open().map_err(|error: Error| error.message().to_owned()));
        store.as_ref().map_err(|message| KnowledgeError::Unavailable(message.clone()))
    }

    /// Opens the store to read; `None` if the project has no state yet.
    fn to_read(&self) -> Result<Option<&KnowledgeStore>, KnowledgeError> {
        let absent = || match Ownership::determine(&self.project, &self.home) {
            Ok(standing) => Ok(standing == Ownership::Absent),
            Err(error) => Err(KnowledgeError::Unavailable(error.message().to_owned())),
        };
        if self.store.get().is_none() && absent()? { Ok(None) } else { self.to_write().map(Some) }
    }
}

fn knowledge_error(error: &KnowledgeStoreError) -> KnowledgeError {
    let message = error.to_string();
    match error {
        KnowledgeStoreError::NoWord => KnowledgeError::Invalid(message),
        KnowledgeStoreError::Full { .. } => KnowledgeError::Full(message),
        KnowledgeStoreError::Slow
        | KnowledgeStoreError::Late
        | KnowledgeStoreError::Altered(_)
        | KnowledgeStoreError::Place(_)
        | KnowledgeStoreError::Newer { .. }
        | KnowledgeStoreError::Older(_)
        | KnowledgeStoreError::Foreign(_)
        | KnowledgeStoreError::Gone(_)
        | KnowledgeStoreError::Sqlite(_) => KnowledgeError::Unavailable(message),
    }
}

impl Knowledge for ProjectKnowledge {
    fn get(&self, key: &str) -> Result<Option<String>, KnowledgeError> {
        match self.to_read()? {
            Some(store) => store.get(key).map_err(|error| knowledge_error(&error)),
            None => Ok(None),
        }
    }

    fn put(&self, key: &str, text: &str) -> Result<(), KnowledgeError> {
        self.to_write()?.put(key, text).map_err(|error| knowledge_error(&error))
    }

    fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<SearchHit>, KnowledgeError> {
        let Some(store) = self.to_read()? else { return Ok(Vec::new()) };
        let hits = store.search(prefix, query, limit).map_err(|error| knowledge_error(&error))?.into_iter();
        Ok(hits.map(|(key, excerpt)| SearchHit { key, excerpt }).collect())
    }

    fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError> {
        let Some(store) = self.to_read()? else { return Ok(Vec::new()) };
        store.list(prefix, after, limit).map_err(|error| knowledge_error(&error))
    }
}
