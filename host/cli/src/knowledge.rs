//! The project's knowledge, as components use it.

use std::path::Path;

use graph_engine::{Hit, Knowledge, KnowledgeError};
use graph_store::{KnowledgeStore, KnowledgeStoreError};

use crate::project::MARK;

/// The knowledge of one project, in `.ai/state/knowledge.db`.
#[derive(Debug)]
pub(crate) struct ProjectKnowledge(KnowledgeStore);

impl ProjectKnowledge {
    /// The knowledge of the project in a folder. Its file is made with the first entry.
    pub(crate) fn of(project: &Path) -> Self {
        Self(KnowledgeStore::at(&project.join(MARK).join("state").join("knowledge.db")))
    }
}

fn told(error: &KnowledgeStoreError) -> KnowledgeError {
    let message = error.to_string();
    match error {
        KnowledgeStoreError::NoWord => KnowledgeError::Invalid(message),
        KnowledgeStoreError::Full { .. } => KnowledgeError::Full(message),
        KnowledgeStoreError::Slow
        | KnowledgeStoreError::Late
        | KnowledgeStoreError::Altered(_)
        | KnowledgeStoreError::Place(_)
        | KnowledgeStoreError::Foreign(_)
        | KnowledgeStoreError::Sqlite(_) => KnowledgeError::Unavailable(message),
    }
}

impl Knowledge for ProjectKnowledge {
    fn get(&self, key: &str) -> Result<Option<String>, KnowledgeError> {
        self.0.get(key).map_err(|error| told(&error))
    }

    fn put(&self, key: &str, text: &str) -> Result<(), KnowledgeError> {
        self.0.put(key, text).map_err(|error| told(&error))
    }

    fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<Hit>, KnowledgeError> {
        let hits = self.0.search(prefix, query, limit).map_err(|error| told(&error))?.into_iter();
        Ok(hits.map(|(key, excerpt)| Hit { key, excerpt }).collect())
    }

    fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError> {
        self.0.list(prefix, after, limit).map_err(|error| told(&error))
    }
}
