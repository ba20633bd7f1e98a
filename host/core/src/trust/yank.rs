//! Yanks: the signed statement of a publisher that a published version is no longer to be selected, or that it is again.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "content": "sha256:…", "id": "acme/fetch", "reason": "leaks its token",
//!  "version": "1.2.0", "yanked": true}
//! ```
//!
//! It is the payload of a DSSE envelope of the type [`YANK_TYPE`], which has the version of the format. A statement names
//! what the item's signature covers ([`signed_content`]), and not the manifest around it, which everyone who may write to a
//! registry can replace. Statements of the first format ([`MANIFEST_YANK_TYPE`]) name the manifest, under `manifest`.
//!
//! A statement counts only with the signature of a key that the trust store allows for the item: permission to write to a
//! registry is not enough to yank, or to take back a yank. [`TrustStore::yank_of`] decides between several statements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dsse::{Envelope, EnvelopeError, EnvelopeSignature, sign_document};
use super::key::{KeyId, SigningKey};
use super::requirement::Counted;
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
    /// The digest of what its signature covers, if it is known.
    pub content: Option<Digest>,
    /// The signature covers the version. That of a text covers it only as a part of the text, so that the artifact around a
    /// text without a version can state any.
    pub has_signed_version: bool,
}

/// What a statement names, besides an id and a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YankSubject {
    /// What the item's signature covers.
    Content(Digest),
    /// The manifest of the artifact, in the first format.
    Manifest(Digest),
}

impl YankSubject {
    /// The digest.
    pub const fn digest(&self) -> &Digest {
        let (Self::Content(digest) | Self::Manifest(digest)) = self;
        digest
    }
}

/// The digest of what the signature of a text covers: the text without its signature line, which has several spellings.
pub fn signed_content(text: &str) -> Digest {
    Digest::of_bytes(unsigned_text(text).as_bytes())
}

/// What a publisher states about a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YankStatement {
    /// When it was stated, by the clock of the signer.
    pub at: Timestamp,
    /// The id of the item.
    pub id: String,
    /// Its version.
    pub version: String,
    /// What it is about.
    pub subject: YankSubject,
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
    envelope: String,
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
    #[error("it is about `{id}` {version}, {subject}")]
    Other {
        id: String,
        version: String,
        /// The digest that it names.
        subject: Digest,
    },
    /// It counts for the item, and the content that it names has to be compared.
    #[error("it is about the item, and it is not known whether it is about this content of it")]
    UnknownContent,
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
    /// Signs the statement: the text of its envelope. The same rules hold as for one that is read.
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

    /// The statement in an envelope, before its signature is checked: for choosing what is verified.
    pub fn claimed(envelope: &str) -> Result<Self, YankError> {
        let (envelope, names_content) = opened(envelope)?;
        Self::parse(envelope.unverified(), names_content)
    }

    /// Another spelling of the envelope of a statement: the same for all spellings of the same payload and signatures. Nothing of
    /// it is verified.
    pub fn respelled(envelope: &str) -> Result<String, YankError> {
        let (envelope, names_content) = opened(envelope)?;
        Self::parse(envelope.unverified(), names_content)?;
        Ok(envelope.respelled(&envelope.signatures))
    }

    /// Whether this takes a yank back: what is stated about a manifest alone takes back no yank of the content.
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

/// An envelope around a statement, and whether the statement names a content.
fn opened(envelope: &str) -> Result<(Envelope, bool), EnvelopeError> {
    match Envelope::parse_as(MANIFEST_YANK_TYPE, envelope) {
        Err(EnvelopeError::PayloadType { .. }) => Ok((Envelope::parse_as(YANK_TYPE, envelope)?, true)),
        first => Ok((first?, false)),
    }
}

impl PublishedVersion {
    /// Whether a statement is about this version.
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

    /// The envelope of the statement with this one signature, whatever else was in the one that was read: the same statement by
    /// the same key has one text.
    pub fn envelope(&self) -> &str {
        &self.envelope
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
        self.verified_yank(envelope, &about.id, now, |statement| about.is_named_by(statement))
    }

    /// The same for whichever version and content of an item the envelope is about.
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

    /// The yank that is in force, of all verified statements about one version: the latest one that was not taken back
    /// later. At the same time, the yank counts.
    ///
    /// A yank needs one key. Taking it back needs as many as the store requires for the item (`require`), each with a
    /// statement of its own that is later than the yank: otherwise, one of several keys could offer again what the
    /// others have withdrawn.
    pub fn yank_of<'y>(&self, statements: &'y [Yank]) -> Option<&'y Yank> {
        let is_taken_back = |yank: &Yank| {
            let later = statements.iter().filter(|other| other.statement.takes_back(&yank.statement));
            let later: Vec<_> =
                later.map(|yank| Counted { key: yank.key.clone(), not_after: yank.not_after }).collect();
            !later.is_empty() && self.enough(&yank.statement.id, &later).is_ok()
        };
        let yanks = statements.iter().filter(|yank| yank.statement.is_yanked);
        yanks.filter(|yank| !is_taken_back(yank)).max_by_key(|yank| yank.order())
    }
}

/// What decides of verified statements about an item, now and whatever is stated later: of each key, and for each version and
/// content, its latest yank and its latest statement that there is none. What takes back a later yank takes back an earlier
/// one, too, and what an earlier statement takes back a later one does.
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
