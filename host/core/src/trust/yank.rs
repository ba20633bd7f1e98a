//! Yanks: the signed statement of a publisher that a published version is no longer to be selected, or that it is again.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "id": "acme/fetch", "manifest": "sha256:…", "reason": "leaks its token",
//!  "version": "1.2.0", "yanked": true}
//! ```
//!
//! It is the payload of a DSSE envelope of the type [`YANK_TYPE`], which has the version of the format. A statement
//! counts only with the signature of a key that the trust store allows for the item: permission to write to a registry is
//! not enough to yank, or to take back a yank. [`TrustStore::yank_of`] decides between several statements.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dsse::{Envelope, EnvelopeError, sign_document};
use super::key::{KeyId, SigningKey};
use super::requirement::Counted;
use super::shown;
use super::statement::is_version;
use super::store::{KeyName, KeyRefusal, TrustStore};
use crate::digest::Digest;
use crate::id::ItemId;
use crate::json::{canonical_string, parse_strict};
use crate::time::Timestamp;

/// The payload type of a yank, with the version of its format.
pub const YANK_TYPE: &str = "application/vnd.graph-host.yank.v1+json";
/// The longest envelope of a yank that is read, in bytes.
pub const MAX_YANK: usize = 16 << 10;
/// The longest reason, in bytes.
pub const MAX_REASON: usize = 1_000;
/// How far the clock of a signer may be ahead, in milliseconds. A statement of a later time does not count until then: a
/// signer whose clock is wrong by years could otherwise never take it back.
const MOST_AHEAD_MILLIS: u64 = 5 * 60 * 1_000;

/// A published version: what a yank is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedVersion {
    /// The id of the item.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
}

/// What a publisher states about a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YankStatement {
    /// When it was stated, by the clock of the signer.
    pub at: Timestamp,
    /// What it is about.
    pub about: PublishedVersion,
    /// Why, for people. Not empty for a yank.
    pub reason: String,
    /// Whether the version is yanked, or is no longer.
    pub is_yanked: bool,
}

/// A statement whose signature counts. It can only be made by verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yank {
    statement: YankStatement,
    key: KeyName,
    not_after: Option<Timestamp>,
}

/// Why a yank cannot be stated, or a text is none that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum YankError {
    /// It is longer than any statement.
    #[error("it has {0} bytes, more than the {MAX_YANK} that are read")]
    TooLong(usize),
    /// It is not an envelope around a yank.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// None of its signatures names a key of the trust store.
    #[error("no key of the trust store has signed it")]
    UnknownKey,
    /// A signature names a key of the trust store, and was not made with it over this.
    #[error("the signature of the key {0} does not hold")]
    BadSignature(Box<KeyName>),
    /// The key does not count for the item, or not at this time.
    #[error(transparent)]
    Refused(#[from] Box<KeyRefusal>),
    /// Not JSON, or not of its shape.
    #[error("{0}")]
    Shape(String),
    /// A field's value breaks a rule.
    #[error("`{field}`: {reason}")]
    Field {
        field: &'static str,
        /// The rule.
        reason: String,
    },
    /// It is about another item, version or manifest.
    #[error("it is about `{id}` {version}, {manifest}")]
    Other {
        id: String,
        version: String,
        /// The digest of the manifest that it names.
        manifest: Digest,
    },
    /// It was made later than now.
    #[error("it is of {0}, which is later than now")]
    Future(Timestamp),
    /// It cannot be written as JSON.
    #[error("the statement cannot be written: {0}")]
    Write(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    at: String,
    id: String,
    manifest: Digest,
    reason: String,
    version: String,
    yanked: bool,
}

impl YankStatement {
    /// Signs the statement: the text of its envelope. The same rules hold as for one that is read.
    pub fn sign(&self, key: &SigningKey) -> Result<String, YankError> {
        self.check()?;
        let document = json!({
            "at": self.at.to_string(),
            "id": self.about.id,
            "manifest": self.about.manifest,
            "reason": self.reason,
            "version": self.about.version,
            "yanked": self.is_yanked,
        });
        let payload = canonical_string(&document).into_bytes();
        sign_document(YANK_TYPE, payload, key).map_err(|error| YankError::Write(error.to_string()))
    }

    fn parse(payload: &[u8]) -> Result<Self, YankError> {
        let text = std::str::from_utf8(payload).map_err(|error| YankError::Shape(error.to_string()))?;
        let value = parse_strict(text, 2).map_err(|error| YankError::Shape(error.to_string()))?;
        super::objects_at(&value, &[""]).map_err(YankError::Shape)?;
        let Document { at, id, manifest, reason, version, yanked } =
            serde_json::from_value(value).map_err(|error| YankError::Shape(shown(&error.to_string())))?;
        let at = at.parse().ok().filter(|read: &Timestamp| read.to_string() == at).ok_or_else(|| {
            let reason = format!("`{}` is not a time like 2030-01-31T12:00:00.000Z", shown(&at));
            YankError::Field { field: "at", reason }
        })?;
        let about = PublishedVersion { id, version, manifest };
        let statement = Self { at, about, reason, is_yanked: yanked };
        statement.check()?;
        Ok(statement)
    }

    fn check(&self) -> Result<(), YankError> {
        let rule = |field, holds: bool, reason: &str| {
            if holds { Ok(()) } else { Err(YankError::Field { field, reason: reason.to_owned() }) }
        };
        let is_id = ItemId::is_path(&self.about.id);
        rule("id", is_id, "an item id is segments of letters, digits, `_` and `-`, joined by `/`")?;
        rule("version", is_version(&self.about.version), "a version is like 1.2.3 or 1.2.3-rc.1")?;
        rule("reason", self.reason.len() <= MAX_REASON, "a reason has at most 1000 bytes")?;
        let has_reason = !self.is_yanked || !self.reason.trim().is_empty();
        rule("reason", has_reason, "a yank says why")
    }
}

impl Yank {
    /// What was stated.
    pub const fn statement(&self) -> &YankStatement {
        &self.statement
    }

    /// The key that signed it and counts.
    pub const fn key(&self) -> &KeyName {
        &self.key
    }

    /// The reason, safe to show on one line.
    pub fn reason(&self) -> String {
        shown(&self.statement.reason)
    }

    /// What decides between yanks: the latest, and of several at the same time always the same.
    fn order(&self) -> (Timestamp, KeyId, &str) {
        (self.statement.at, self.key.id, &self.statement.reason)
    }
}

impl TrustStore {
    /// Whether any statement about a yank of this item could count now: otherwise, none need be read.
    pub fn has_key_for(&self, item: &str, now: Timestamp) -> bool {
        self.keys().iter().any(|key| matches!(self.allow(key.id(), item, now), Some(Ok(_))))
    }

    /// The statements about a version that an envelope makes: one for each of its signatures that counts now, at least
    /// one. A signature has to name its key (`keyid`).
    pub fn verify_yank(
        &self,
        envelope: &str,
        about: &PublishedVersion,
        now: Timestamp,
    ) -> Result<Vec<Yank>, YankError> {
        if envelope.len() > MAX_YANK {
            return Err(YankError::TooLong(envelope.len()));
        }
        let envelope = Envelope::parse_as(YANK_TYPE, envelope)?;
        let mut counted: Vec<(KeyName, Option<Timestamp>)> = Vec::new();
        let mut refused = None;
        for signed in &envelope.signatures {
            let Some(key) = self.keys().iter().find(|key| Envelope::hints_at(signed, key.id())) else {
                continue;
            };
            if envelope.opened(signed, &key.key).is_none() {
                refused.get_or_insert(YankError::BadSignature(Box::new(key.named())));
                continue;
            }
            match self.allow(key.id(), &about.id, now) {
                Some(Ok(entry)) if counted.iter().all(|(name, _)| name.id != entry.id()) => {
                    counted.push((entry.named(), entry.not_after));
                }
                Some(Ok(_)) | None => {}
                Some(Err(refusal)) => {
                    refused.get_or_insert(YankError::Refused(Box::new(refusal)));
                }
            }
        }
        if counted.is_empty() {
            return Err(refused.unwrap_or(YankError::UnknownKey));
        }
        let statement = YankStatement::parse(envelope.unverified())?;
        if statement.about != *about {
            let PublishedVersion { id, version, manifest } = statement.about;
            return Err(YankError::Other { id: shown(&id), version: shown(&version), manifest });
        }
        if statement.at.0 > now.0.saturating_add(MOST_AHEAD_MILLIS) {
            return Err(YankError::Future(statement.at));
        }
        let yank = |(key, not_after)| Yank { statement: statement.clone(), key, not_after };
        Ok(counted.into_iter().map(yank).collect())
    }

    /// The yank that is in force, of all verified statements about one version: the latest one, unless it was taken back
    /// later. At the same time, the yank counts.
    ///
    /// A yank needs one key. Taking it back needs as many as the store requires for the item (`require`), each with a
    /// statement of its own that is later than the yank: otherwise, one of several keys could offer again what the
    /// others have withdrawn.
    pub fn yank_of<'y>(&self, statements: &'y [Yank]) -> Option<&'y Yank> {
        let yanks = statements.iter().filter(|yank| yank.statement.is_yanked);
        let latest = yanks.max_by_key(|yank| yank.order())?;
        let about = &latest.statement.about;
        let later = statements.iter().filter(|other| {
            let is_later = other.statement.at > latest.statement.at;
            !other.statement.is_yanked && is_later && other.statement.about == *about
        });
        let later: Vec<_> =
            later.map(|yank| Counted { key: yank.key.clone(), not_after: yank.not_after }).collect();
        let is_taken_back = !later.is_empty() && self.enough(&about.id, &later).is_ok();
        (!is_taken_back).then_some(latest)
    }
}

#[cfg(test)]
mod tests;
