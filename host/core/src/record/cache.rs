//! Results of tasks, stored for later tasks with the same key.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::RecordKind;
use super::signed::EncodeError;
use super::value::CanonicalValue;
use crate::digest::{Digest, DomainHasher};
use crate::format;
use crate::json::{self, TreeLimit};
use crate::time::Timestamp;
use crate::trust::{KeyId, Signature, SigningKey, VerifyingKey};

/// The domain under which entries are digested and signed.
const DOMAIN: &str = "graph-host/cache-entry/v1";

/// The result of a task, stored once its superstep has committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheEntry {
    /// The recorded time of the checkpoint with which it was stored.
    pub at: Timestamp,
    /// The time at which it reaches the `ttl` of the node that computed it. Each node that looks it up applies its own `ttl`.
    pub expires: Timestamp,
    /// The fuel of the attempt that computed it.
    pub fuel: u64,
    /// The key by which it is looked up.
    pub key: Digest,
    /// The name of the node that computed it.
    pub node: String,
    /// The result of the node.
    pub result: CanonicalValue,
    /// The id of the run that computed it.
    pub run: String,
    /// The id of the task that computed the result.
    pub task: String,
}

/// An entry that was used instead of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheHit {
    /// The recorded time of the checkpoint with which it was stored.
    pub at: Timestamp,
    /// The fuel of its computation, which is charged again.
    pub fuel: u64,
    /// The key by which it was looked up.
    pub key: Digest,
    /// The result. It is repeated here, since the task has no journal that explains it.
    pub result: CanonicalValue,
    /// The run that computed it.
    pub run: String,
    /// The task that computed it.
    pub task: String,
}

/// The state of a task of the active superstep with respect to the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TaskCache {
    /// An entry is used instead of its dispatch.
    Hit(Box<CacheHit>),
    /// There was no entry; the task's result is stored once the superstep commits.
    Miss {
        /// The fuel of its newest attempt.
        fuel: u64,
        /// The key of its result.
        key: Digest,
    },
}

impl CacheEntry {
    /// Computes the key of an entry: the digest of the task's input, and that of the component, its grant and the engine.
    pub fn key(task: &Digest, performer: &Digest) -> Digest {
        DomainHasher::new("graph-host/cache-key/v1").digest(task).digest(performer).finish()
    }

    /// Computes the digest of everything that the result of a component depends on in addition to a task's input: the component, its
    /// effective grant and the engine.
    pub fn performer(component: &Digest, grant: &Digest, engine: &Digest) -> Digest {
        DomainHasher::new("graph-host/performer/v1").digest(component).digest(grant).digest(engine).finish()
    }

    /// Returns the namespace of its task.
    pub fn namespace(&self) -> &str {
        self.task.rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Signs the entry for the store.
    pub fn sign(&self, key: &SigningKey) -> Result<SignedCacheEntry, EncodeError> {
        let body = serde_json::to_string(self)
            .map_err(|source| EncodeError { kind: RecordKind::Checkpoint, source })?;
        Ok(SignedCacheEntry {
            key: self.key,
            at: self.at,
            expires: self.expires,
            run: self.run.clone(),
            namespace: self.namespace().to_owned(),
            signature: key.sign_digest(DOMAIN, &digest_of(&body)),
            key_id: key.id(),
            body: body.into(),
        })
    }

    /// Returns the entry of a hit. Its expiry was not recorded, and is not needed.
    pub fn of_hit(hit: &CacheHit, node: &str) -> Self {
        Self {
            at: hit.at,
            expires: hit.at,
            fuel: hit.fuel,
            key: hit.key,
            node: node.to_owned(),
            result: hit.result.clone(),
            run: hit.run.clone(),
            task: hit.task.clone(),
        }
    }
}

impl From<CacheEntry> for CacheHit {
    fn from(entry: CacheEntry) -> Self {
        let CacheEntry { at, fuel, key, result, run, task, .. } = entry;
        Self { at, fuel, key, result, run, task }
    }
}

/// An entry with its signature. A store has the newest one for each run, namespace and key, so that the entries of child runs do not depend
/// on the order in which they end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCacheEntry {
    /// The key by which it is looked up.
    pub key: Digest,
    /// The recorded time of the entry.
    pub at: Timestamp,
    /// The time from which it may be removed.
    pub expires: Timestamp,
    /// The run that stored it.
    pub run: String,
    /// The namespace of that run.
    pub namespace: String,
    /// The text, in JSON.
    pub body: Arc<str>,
    /// The key that signed.
    pub key_id: KeyId,
    /// The signature over the digest of the text, under a domain of its own.
    pub signature: Signature,
}

/// A stored entry is not valid for this host; it is treated as missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CacheEntryError {
    /// The signature is not that of the host's key over the text.
    #[error(
        "a stored result is not signed by this host's key {expected}: it was changed, or another host has kept it"
    )]
    Signature {
        /// The key that was expected.
        expected: KeyId,
    },
    /// The key, time or run of the stored entry differs from those in its text.
    #[error("a stored result of run {run}, task {task}, is stored where another one belongs")]
    Misplaced {
        /// The run in the text.
        run: String,
        /// The task in the text.
        task: String,
    },
    /// The text is not a valid entry.
    #[error("a stored result cannot be read: {reason}")]
    Malformed { reason: String },
}

impl SignedCacheEntry {
    /// Checks signature and place, and reads the entry.
    pub fn open(&self, key: &VerifyingKey) -> Result<CacheEntry, CacheEntryError> {
        if self.key_id != key.id() || !key.verify_digest(DOMAIN, &digest_of(&self.body), &self.signature) {
            return Err(CacheEntryError::Signature { expected: key.id() });
        }
        let entry = self.decode()?;
        let places = (entry.key, entry.at, entry.expires, &entry.run, entry.namespace());
        if places == (self.key, self.at, self.expires, &self.run, &*self.namespace) {
            Ok(entry)
        } else {
            Err(CacheEntryError::Misplaced { run: entry.run, task: entry.task })
        }
    }

    /// Reads the entry without checking anything: to see whether it would be useful.
    pub fn decode(&self) -> Result<CacheEntry, CacheEntryError> {
        json::read(&*self.body, TreeLimit::RECORD).map_err(|error| CacheEntryError::Malformed {
            reason: format::reason(&self.body, format::CURRENT, &error),
        })
    }
}

fn digest_of(body: &str) -> Digest {
    DomainHasher::new(DOMAIN).field(body.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_that_was_changed_or_moved_is_refused() {
        let key = SigningKey::from_seed(&[7; 32]);
        let entry = CacheEntry {
            at: Timestamp(5),
            expires: Timestamp(65),
            fuel: 3,
            key: Digest::of_bytes(b"key"),
            node: "n".to_owned(),
            result: json!({ "a": 1 }).into(),
            run: "r".to_owned(),
            task: "1.0".to_owned(),
        };
        let signed = entry.sign(&key).unwrap();
        assert_eq!(signed.open(&key.verifying_key()), Ok(entry));
        let other = SigningKey::from_seed(&[8; 32]).verifying_key();
        assert!(
            matches!(signed.open(&other), Err(CacheEntryError::Signature { expected }) if expected == other.id())
        );
        let changed =
            SignedCacheEntry { body: signed.body.replace("\"a\":1", "\"a\":2").into(), ..signed.clone() };
        assert!(matches!(changed.open(&key.verifying_key()), Err(CacheEntryError::Signature { .. })));
        for moved in [
            SignedCacheEntry { key: Digest::of_bytes(b"other"), ..signed.clone() },
            SignedCacheEntry { at: Timestamp(6), ..signed.clone() },
            SignedCacheEntry { run: "s".to_owned(), ..signed },
        ] {
            assert!(matches!(moved.open(&key.verifying_key()), Err(CacheEntryError::Misplaced { .. })));
        }
    }

    #[test]
    fn what_a_task_has_to_do_with_the_cache_is_read_back() {
        let hit = CacheHit {
            at: Timestamp(5),
            fuel: u64::MAX,
            key: Digest::of_bytes(b"key"),
            result: json!([1, 2.5, u64::MAX]).into(),
            run: "r".to_owned(),
            task: "1.0".to_owned(),
        };
        for cache in [TaskCache::Hit(Box::new(hit)), TaskCache::Miss { fuel: 1, key: Digest::of_bytes(b"k") }]
        {
            let text = serde_json::to_string(&cache).unwrap();
            assert_eq!(serde_json::from_str::<TaskCache>(&text).unwrap(), cache, "{text}");
        }
    }
}
