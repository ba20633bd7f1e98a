//! Yanks: a publisher's signed statement that a published version must no longer be selected, or that it may be again.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "content": "sha256:…", "id": "acme/fetch", "reason": "leaks its token",
//!  "version": "1.2.0", "yanked": true}
//! ```
//!
//! The statement is the payload of a DSSE envelope of the type [`YANK_TYPE`], which contains the version of the format. It names the
//! content that the item's signature covers ([`signed_content`]), and not the manifest around it, which anyone with write access to a
//! registry can replace. Statements of the first format ([`MANIFEST_YANK_TYPE`]) name the manifest, under `manifest`.
//!
//! A statement counts only with the signature of a key that the trust store allows for the item: write access to a registry is not
//! enough to yank, or to take back a yank. [`TrustStore::yank_of`] decides between several statements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dsse::{Envelope, EnvelopeError, EnvelopeSignature, sign_document};
use super::key::{KeyId, SigningKey};
use super::requirement::CountedSigner;
use super::shown;
use super::statement::is_version;
use super::store::{KeyName, KeyRefusal, TrustStore, TrustedKey};
use super::text::unsigned_text;
use crate::digest::Digest;
use crate::id::ItemId;
use crate::json::{TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

/// The payload type of a yank, with the version of its format.
pub const YANK_TYPE: &str = "application/vnd.graph-host.yank.v2+json";
/// The payload type of a yank in the first format, which names a manifest.
pub const MANIFEST_YANK_TYPE: &str = "application/vnd.graph-host.yank.v1+json";
/// Length of the longest envelope of a yank that is read, in bytes.
pub const MAX_YANK: usize = 16 << 10;
/// Length of the longest reason, in bytes.
pub const MAX_REASON: usize = 1_000;
/// Largest lead of a signer's clock, in milliseconds. A statement with a later time does not count until then: otherwise a signer whose
/// clock is wrong by years could never take it back.
const MOST_AHEAD_MILLIS: u64 = 5 * 60 * 1_000;

/// A published version, to which a yank may apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedVersion {
    /// The id of the item.
    pub id: String,
    /// The version.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of the content that its signature covers, if it is known.
    pub content: Option<Digest>,
    /// `true` if the signature covers the version. The signature of a text covers the version only as a part of the text, so that the
    /// artifact around a text without a version can state any.
    pub has_signed_version: bool,
}

/// The digest that a statement names, in addition to an id and a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YankSubject {
    /// The content that the item's signature covers.
    Content(Digest),
    /// The manifest of the artifact, in the first format.
    Manifest(Digest),
}

impl YankSubject {
    /// Returns the digest.
    pub const fn digest(&self) -> &Digest {
        let (Self::Content(digest) | Self::Manifest(digest)) = self;
        digest
    }
}

/// Returns the digest of the content that the signature of a text covers: the text without its signature line, which has several spellings.
pub fn signed_content(text: &str) -> Digest {
    Digest::of_bytes(unsigned_text(text).as_bytes())
}

/// A publisher's statement about a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YankStatement {
    /// The time of the statement, by the clock of the signer.
    pub at: Timestamp,
    /// The id of the item.
    pub id: String,
    /// The version.
    pub version: String,
    /// The content or manifest.
    pub subject: YankSubject,
    /// The reason, for people. Not empty for a yank.
    pub reason: String,
    /// `true` for a yank, `false` if a yank is taken back.
    pub is_yanked: bool,
}

/// A verified statement. Only verification creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yank {
    statement: YankStatement,
    key: KeyName,
    not_after: Option<Timestamp>,
    envelope: String,
}

/// The reason why a yank cannot be stated, or a text is not a valid statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum YankError {
    /// The text is longer than any statement.
    #[error("it has {0} bytes, more than the {MAX_YANK} that are read")]
    TooLong(usize),
    /// The text is not an envelope around a yank.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// None of its signatures names a key of the trust store.
    #[error("no key of the trust store has signed it")]
    UnknownKey,
    /// A signature names a key of the trust store and is not valid.
    #[error("the signature of the key {0} does not hold")]
    BadSignature(Box<KeyName>),
    /// The key is not valid for the item or at this time.
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
    /// The statement is about another item, version, content or manifest.
    #[error("it is about `{id}` {version}, {subject}")]
    Other {
        id: String,
        version: String,
        /// The digest in the statement.
        subject: Digest,
    },
    /// The statement applies to the item, and its content digest has to be compared with the item's.
    #[error("it is about the item, and it is not known whether it is about this content of it")]
    UnknownContent,
    /// The time of the statement is in the future.
    #[error("it is of {0}, which is later than now")]
    Future(Timestamp),
    /// The statement cannot be written as JSON.
    #[error("the statement cannot be written: {0}")]
    Write(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Digest>,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<Digest>,
    reason: String,
    version: String,
    yanked: bool,
}

impl YankStatement {
    /// Signs the statement, and returns the text of its envelope. The same rules apply as when reading one.
    pub fn sign(&self, key: &SigningKey) -> Result<String, YankError> {
        self.check()?;
        let (format, name) = match self.subject {
            YankSubject::Content(_) => (YANK_TYPE, "content"),
            YankSubject::Manifest(_) => (MANIFEST_YANK_TYPE, "manifest"),
        };
        let document = json!({
            "at": self.at.to_string(),
            "id": self.id,
            name: self.subject.digest(),
            "reason": self.reason,
            "version": self.version,
            "yanked": self.is_yanked,
        });
        let payload = canonical_string(&document).into_bytes();
        sign_document(format, payload, key).map_err(|error| YankError::Write(error.to_string()))
    }

    /// Reads the statement in an envelope without verifying its signature: to select envelopes for verification.
    pub fn claimed(envelope: &str) -> Result<Self, YankError> {
        let (envelope, names_content) = opened(envelope)?;
        Self::parse(envelope.unverified(), names_content)
    }

    /// Returns the normalized text of an envelope, which is equal for all spellings of the same payload and signatures. Nothing is
    /// verified.
    pub fn respelled(envelope: &str) -> Result<String, YankError> {
        let (envelope, names_content) = opened(envelope)?;
        Self::parse(envelope.unverified(), names_content)?;
        Ok(envelope.respelled(&envelope.signatures))
    }

    /// Checks whether this statement may take a yank back: a statement about a manifest takes back no yank of a content.
    fn takes_back(&self, yank: &Self) -> bool {
        let is_same = match (&self.subject, &yank.subject) {
            (YankSubject::Content(one), YankSubject::Content(other)) => one == other,
            (YankSubject::Content(_), YankSubject::Manifest(_)) => true,
            (YankSubject::Manifest(one), YankSubject::Manifest(other)) => {
                one == other && self.version == yank.version
            }
            (YankSubject::Manifest(_), YankSubject::Content(_)) => false,
        };
        !self.is_yanked && self.at > yank.at && self.id == yank.id && is_same
    }

    fn parse(payload: &[u8], names_content: bool) -> Result<Self, YankError> {
        let text = std::str::from_utf8(payload).map_err(|error| YankError::Shape(error.to_string()))?;
        let value = parse_strict(text, 2, TreeLimit::STATEMENT)
            .map_err(|error| YankError::Shape(error.to_string()))?;
        super::objects_at(&value, &[""]).map_err(YankError::Shape)?;
        let Document { at, content, id, manifest, reason, version, yanked } =
            serde_json::from_value(value).map_err(|error| YankError::Shape(shown(&error.to_string())))?;
        let at = at.parse().ok().filter(|read: &Timestamp| read.to_string() == at).ok_or_else(|| {
            let reason = format!("`{}` is not a time like 2030-01-31T12:00:00.000Z", shown(&at));
            YankError::Field { field: "at", reason }
        })?;
        let subject = match (names_content, content, manifest) {
            (true, Some(content), None) => YankSubject::Content(content),
            (false, None, Some(manifest)) => YankSubject::Manifest(manifest),
            _ => {
                let message = "a statement names the content, and one of the first format the manifest";
                return Err(YankError::Shape(message.to_owned()));
            }
        };
        let statement = Self { at, id, version, subject, reason, is_yanked: yanked };
        statement.check()?;
        Ok(statement)
    }

    fn check(&self) -> Result<(), YankError> {
        let rule = |field, holds: bool, reason: &str| {
            if holds { Ok(()) } else { Err(YankError::Field { field, reason: reason.to_owned() }) }
        };
        let is_id = ItemId::is_path(&self.id);
        rule("id", is_id, "an item id is segments of letters, digits, `_` and `-`, joined by `/`")?;
        rule("version", is_version(&self.version), "a version is like 1.2.3 or 1.2.3-rc.1")?;
        rule("reason", self.reason.len() <= MAX_REASON, "a reason has at most 1000 bytes")?;
        let has_reason = !self.is_yanked || !self.reason.trim().is_empty();
        rule("reason", has_reason, "a yank says why")
    }
}

/// Opens an envelope around a statement; the flag is `true` if the statement names a content.
fn opened(envelope: &str) -> Result<(Envelope, bool), EnvelopeError> {
    match Envelope::parse_as(MANIFEST_YANK_TYPE, envelope) {
        Err(EnvelopeError::PayloadType { .. }) => Ok((Envelope::parse_as(YANK_TYPE, envelope)?, true)),
        first => Ok((first?, false)),
    }
}

impl PublishedVersion {
    /// Checks whether a statement is about this version.
    fn is_named_by(&self, statement: &YankStatement) -> Result<bool, YankError> {
        let is_version = statement.version == self.version || !self.has_signed_version;
        if statement.id != self.id || !is_version {
            return Ok(false);
        }
        match &statement.subject {
            YankSubject::Manifest(manifest) => Ok(*manifest == self.manifest),
            YankSubject::Content(content) => match &self.content {
                Some(own) => Ok(content == own),
                None => Err(YankError::UnknownContent),
            },
        }
    }
}

impl Yank {
    /// Returns the statement.
    pub const fn statement(&self) -> &YankStatement {
        &self.statement
    }

    /// Returns the valid key that signed it.
    pub const fn key(&self) -> &KeyName {
        &self.key
    }

    /// Returns the reason, escaped for one line.
    pub fn reason(&self) -> String {
        shown(&self.statement.reason)
    }

    /// Returns the envelope of the statement with only this signature: the same statement by the same key has one text.
    pub fn envelope(&self) -> &str {
        &self.envelope
    }

    /// Returns the sort key of a yank, of which the largest decides: the latest, and a fixed one of several at the same time.
    fn order(&self) -> (Timestamp, KeyId, &str) {
        (self.statement.at, self.key.id, &self.statement.reason)
    }
}

impl TrustStore {
    /// Checks whether any statement about a yank of this item could be valid now; otherwise, none has to be read.
    pub fn has_key_for(&self, item: &str, now: Timestamp) -> bool {
        self.keys().iter().any(|key| matches!(self.allow(key.id(), item, now), Some(Ok(_))))
    }

    /// Verifies the statements about a version in an envelope: returns one for each of its signatures that is valid now, at least one. A
    /// signature has to name its key (`keyid`).
    pub fn verify_yank(
        &self,
        envelope: &str,
        about: &PublishedVersion,
        now: Timestamp,
    ) -> Result<Vec<Yank>, YankError> {
        self.verified_yank(envelope, &about.id, now, |statement| about.is_named_by(statement))
    }

    /// Like [`Self::verify_yank`], for any version and content of an item.
    pub fn verify_yank_of_item(
        &self,
        envelope: &str,
        item: &str,
        now: Timestamp,
    ) -> Result<Vec<Yank>, YankError> {
        self.verified_yank(envelope, item, now, |statement| Ok(statement.id == item))
    }

    fn verified_yank(
        &self,
        envelope: &str,
        item: &str,
        now: Timestamp,
        is_about: impl FnOnce(&YankStatement) -> Result<bool, YankError>,
    ) -> Result<Vec<Yank>, YankError> {
        if envelope.len() > MAX_YANK {
            return Err(YankError::TooLong(envelope.len()));
        }
        let (envelope, names_content) = opened(envelope)?;
        let mut counted: Vec<(&EnvelopeSignature, &TrustedKey)> = Vec::new();
        let mut refused = None;
        for signed in &envelope.signatures {
            let Some(key) = self.keys().iter().find(|key| Envelope::hints_at(signed, key.id())) else {
                continue;
            };
            if envelope.opened(signed, &key.key).is_none() {
                refused.get_or_insert(YankError::BadSignature(Box::new(key.named())));
                continue;
            }
            match self.allow(key.id(), item, now) {
                Some(Ok(entry)) if counted.iter().all(|(_, other)| other.id() != entry.id()) => {
                    counted.push((signed, entry));
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
        let statement = YankStatement::parse(envelope.unverified(), names_content)?;
        if !is_about(&statement)? {
            let YankStatement { id, version, subject, .. } = statement;
            let (id, version) = (shown(&id), shown(&version));
            return Err(YankError::Other { id, version, subject: *subject.digest() });
        }
        if statement.at.0 > now.0.saturating_add(MOST_AHEAD_MILLIS) {
            return Err(YankError::Future(statement.at));
        }
        let yank = |(signed, entry): (&EnvelopeSignature, &TrustedKey)| Yank {
            statement: statement.clone(),
            key: entry.named(),
            not_after: entry.not_after,
            envelope: envelope.respelled(std::slice::from_ref(signed)),
        };
        Ok(counted.into_iter().map(yank).collect())
    }

    /// Returns the yank in force among all verified statements about one version: the latest one that was not taken back later. At the same
    /// time, the yank takes precedence.
    ///
    /// A yank needs one key. Taking it back needs as many as the store requires for the item (`require`), each with a statement of its
    /// own that is later than the yank: otherwise, one of several keys could offer again what the others have withdrawn.
    pub fn yank_of<'y>(&self, statements: &'y [Yank]) -> Option<&'y Yank> {
        let is_taken_back = |yank: &Yank| {
            let later = statements.iter().filter(|other| other.statement.takes_back(&yank.statement));
            let later: Vec<_> = later
                .map(|yank| CountedSigner { key: yank.key.clone(), not_after: yank.not_after })
                .collect();
            !later.is_empty() && self.enough(&yank.statement.id, &later).is_ok()
        };
        let yanks = statements.iter().filter(|yank| yank.statement.is_yanked);
        yanks.filter(|yank| !is_taken_back(yank)).max_by_key(|yank| yank.order())
    }
}

/// Reduces verified statements about an item to those that decide, now and together with any later statements: for each key, version and
/// content, the latest yank and the latest statement that takes it back. A statement that takes back a later yank also takes back an
/// earlier one.
pub fn deciding_yanks(statements: impl IntoIterator<Item = Yank>) -> Vec<Yank> {
    let mut deciding: BTreeMap<_, Yank> = BTreeMap::new();
    for yank in statements {
        let YankStatement { version, subject, is_yanked, .. } = &yank.statement;
        let names_content = matches!(subject, YankSubject::Content(_));
        let key = (yank.key.id, version.clone(), names_content, *subject.digest(), *is_yanked);
        match deciding.get(&key) {
            Some(other) if (other.order(), &other.envelope) >= (yank.order(), &yank.envelope) => {}
            _ => {
                deciding.insert(key, yank);
            }
        }
    }
    deciding.into_values().collect()
}

#[cfg(test)]
mod tests;
