//! `graph-host:host/knowledge`: texts by key below the granted scopes.

use graph_core::capability::{Access, is_key};
use graph_core::diagnostic::escape;
use graph_core::record::journal::digested;
use serde_json::{Value, json};

use crate::bindings::graph_host::host::knowledge::{self, Hit, KnowledgeError};
use crate::journal::AnswerSource;
use crate::services;
use crate::state::TaskState;

const INTERFACE: &str = "graph-host:host/knowledge";
/// Length of the longest text of an entry, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Length of the longest query, in bytes.
const MAX_QUERY: usize = 1000;
/// Largest number of entries that a search returns.
const MAX_HITS: u32 = 100;
/// Largest number of keys that a list returns.
const MAX_KEYS: u32 = 1000;

impl From<services::KnowledgeError> for KnowledgeError {
    fn from(error: services::KnowledgeError) -> Self {
        match error {
            services::KnowledgeError::Invalid(message) => Self::Invalid(message),
            services::KnowledgeError::Full(message) => Self::Full(message),
            services::KnowledgeError::Unavailable(message) => Self::Unavailable(message),
        }
    }
}

fn kept(error: &KnowledgeError) -> Value {
    let (kind, message) = match error {
        KnowledgeError::Denied(message) => ("denied", message),
        KnowledgeError::Invalid(message) => ("invalid", message),
        KnowledgeError::Full(message) => ("full", message),
        KnowledgeError::Unavailable(message) => ("unavailable", message),
    };
    json!({"error": kind, "message": message})
}

fn error_again(kept: &Value) -> Option<KnowledgeError> {
    let message = kept.get("message")?.as_str()?.to_owned();
    Some(match kept.get("error")?.as_str()? {
        "denied" => KnowledgeError::Denied(message),
        "invalid" => KnowledgeError::Invalid(message),
        "full" => KnowledgeError::Full(message),
        "unavailable" => KnowledgeError::Unavailable(message),
        _ => return None,
    })
}

/// Checks whether a text can be the beginning of keys: it is empty, or a key, with or without a `/` at its end.
fn is_prefix(text: &str) -> bool {
    text.is_empty() || is_key(text.strip_suffix('/').unwrap_or(text))
}

impl TaskState {
    /// Returns the refusal of keys with this beginning; `None` if they may be used.
    fn knowledge_denied(&self, start: &str, write: bool) -> Option<KnowledgeError> {
        let rules = &self.granted.knowledge;
        let covers = rules.iter().filter(|rule| start.starts_with(&rule.scope)).map(|rule| rule.access).max();
        let granted = || {
            let scopes: Vec<_> =
                rules.iter().map(|rule| format!("{} {}", rule.scope, rule.access.as_str())).collect();
            scopes.join(", ")
        };
        match covers {
            None => Some(format!("`{start}` is in no granted scope (granted: {})", granted())),
            Some(Access::ReadOnly) if write => Some(format!(
                "`{start}` is in a scope that is granted for reading only (granted: {})",
                granted()
            )),
            Some(_) => None,
        }
        .map(KnowledgeError::Denied)
    }

    fn with_knowledge<T>(
        &mut self,
        function: &'static str,
        request: Value,
        denied: Option<KnowledgeError>,
        world: impl FnOnce(&dyn services::Knowledge) -> Result<T, services::KnowledgeError>,
        keep: impl FnOnce(&T) -> Value,
        again: impl FnOnce(&Value) -> Option<T>,
    ) -> wasmtime::Result<Result<T, KnowledgeError>> {
        let begun = self.output.begin();
        let answer = match denied {
            // The refusal follows from the grant, so it needs no entry in the journal.
            Some(error) => Err(error),
            None => match self.journal.begin(INTERFACE, function, &request)? {
                AnswerSource::Recorded(entry) => {
                    let read = match entry.answer() {
                        Ok(answer) => again(answer).map(Ok),
                        Err(error) => error_again(error).map(Err),
                    };
                    read.ok_or_else(|| self.journal.malformed(&entry))?
                }
                AnswerSource::World => {
                    let answer = match &self.services.knowledge {
                        Some(store) => world(&**store).map_err(KnowledgeError::from),
                        None => {
                            Err(KnowledgeError::Unavailable("this host has no knowledge store".to_owned()))
                        }
                    };
                    let entry = answer.as_ref().map(keep).map_err(kept);
                    self.journal.record(INTERFACE, function, request, entry)?;
                    answer
                }
            },
        };
        self.output.ended(begun, INTERFACE, function, answer.is_ok());
        Ok(answer)
    }
}

fn bad_key(key: &str) -> Option<KnowledgeError> {
    let told = || format!("`{}` is no key", escape(key));
    (!is_key(key)).then(|| KnowledgeError::Invalid(told()))
}

fn bad_prefix(prefix: &str) -> Option<KnowledgeError> {
    let told = || format!("`{}` is no beginning of keys", escape(prefix));
    (!is_prefix(prefix)).then(|| KnowledgeError::Invalid(told()))
}

impl knowledge::Host for TaskState {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, KnowledgeError>> {
        let denied = bad_key(&key).or_else(|| self.knowledge_denied(&key, false));
        self.with_knowledge(
            "get",
            json!({"key": key}),
            denied,
            |store| store.get(&key),
            |text| json!(text),
            |kept| match kept {
                Value::Null => Some(None),
                text => text.as_str().map(|text| Some(text.to_owned())),
            },
        )
    }

    fn put(&mut self, key: String, text: String) -> wasmtime::Result<Result<(), KnowledgeError>> {
        let too_long = || {
            let told = format!("the text of `{key}` is {} bytes long; {MAX_TEXT} are allowed", text.len());
            (text.len() > MAX_TEXT).then_some(KnowledgeError::Invalid(told))
        };
        let denied = bad_key(&key).or_else(too_long).or_else(|| self.knowledge_denied(&key, true));
        self.with_knowledge(
            "put",
            json!({"key": key, "text": digested(text.as_bytes())}),
            denied,
            |store| store.put(&key, &text),
            |()| Value::Null,
            |kept| kept.is_null().then_some(()),
        )
    }

    fn search(
        &mut self,
        prefix: String,
        query: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<Hit>, KnowledgeError>> {
        let too_long = || {
            let told = format!("the query is longer than {MAX_QUERY} bytes");
            (query.len() > MAX_QUERY).then_some(KnowledgeError::Invalid(told))
        };
        let denied = bad_prefix(&prefix).or_else(too_long).or_else(|| self.knowledge_denied(&prefix, false));
        let limit = limit.min(MAX_HITS);
        self.with_knowledge(
            "search",
            json!({"prefix": prefix, "query": query, "limit": limit}),
            denied,
            |store| {
                let hits = store.search(&prefix, &query, limit)?.into_iter();
                Ok(hits.map(|hit| Hit { key: hit.key, excerpt: hit.excerpt }).collect::<Vec<_>>())
            },
            |hits| hits.iter().map(|hit| json!([hit.key, hit.excerpt])).collect(),
            |kept| {
                let hit = |hit: &Value| {
                    Some(Hit {
                        key: hit.get(0)?.as_str()?.to_owned(),
                        excerpt: hit.get(1)?.as_str()?.to_owned(),
                    })
                };
                kept.as_array()?.iter().map(hit).collect()
            },
        )
    }

    fn list(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<String>, KnowledgeError>> {
        let bad_after = || after.as_deref().and_then(bad_key);
        let denied = bad_prefix(&prefix).or_else(bad_after).or_else(|| self.knowledge_denied(&prefix, false));
        let limit = limit.min(MAX_KEYS);
        self.with_knowledge(
            "list",
            json!({"prefix": prefix, "after": after, "limit": limit}),
            denied,
            |store| store.list(&prefix, after.as_deref(), limit),
            |keys| json!(keys),
            |kept| kept.as_array()?.iter().map(|key| key.as_str().map(str::to_owned)).collect(),
        )
    }
}
