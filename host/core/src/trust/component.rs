//! Verification of component bytes. All bytes to be compiled pass through this module.

use std::fmt;
use std::sync::Arc;

use super::dsse::{Envelope, EnvelopeError, EnvelopeSignature, MAX_SIGNATURES};
use super::key::{KeyId, SigningKey};
use super::requirement::{CountedSigner, TooFewSignatures};
use super::shown;
use super::statement::{ComponentStatement, StatementError};
use super::store::{KeyName, KeyRefusal, Moment, TrustStore, TrustedKey};
use super::structure::{self, NotAComponent};
use crate::capability::{CapabilityKind, Ceiling};
use crate::digest::Digest;
use crate::id::{path_of, version_of};
use crate::time::Timestamp;

/// The reason why component bytes are not accepted. All variants are failures of integrity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum VerifyError {
    /// The bytes are not a component.
    #[error("`{id}` is not a WebAssembly component: {reason}")]
    NotAComponent {
        id: String,
        /// The kind of the bytes.
        reason: NotAComponent,
    },
    /// There is no envelope next to the component.
    #[error("`{id}` is not signed: there is no envelope (`.wasm.dsse.json`) next to the component")]
    Unsigned { id: String },
    /// The envelope cannot be read.
    #[error("the signature envelope of `{id}` is malformed: {reason}")]
    MalformedEnvelope {
        id: String,
        /// The reason.
        reason: EnvelopeError,
    },
    /// No signature in the envelope is by a key of the trust store.
    #[error("`{id}` is signed by a key that is not trusted: {}", hints_text(keys))]
    UnknownKey {
        id: String,
        /// The key ids in the signatures, which are not verified.
        keys: Vec<String>,
    },
    /// The signature names a trusted key and is not valid for it.
    #[error(
        "the signature of `{id}` does not verify with the key {key} that it names: statement or signature was changed"
    )]
    BadSignature {
        id: String,
        /// The named key.
        key: Box<KeyName>,
    },
    /// The key is not valid for this item or at this time.
    #[error("`{id}` is signed, and {refusal}")]
    Refused {
        id: String,
        /// The key and the rule.
        refusal: Box<KeyRefusal>,
    },
    /// The trust store requires the signatures of more keys.
    #[error("`{id}` is signed by too few: {few}{}", others_text(others))]
    TooFew {
        id: String,
        /// The required and the valid signatures.
        few: Box<TooFewSignatures>,
        /// The reasons why other signatures are not valid.
        others: Vec<String>,
    },
    /// The trust store requires a signature, and there is none.
    #[error("`{id}` is not signed: {few}")]
    Required {
        id: String,
        /// The requirement.
        few: Box<TooFewSignatures>,
    },
    /// The key signed a payload that is not a statement about a component.
    #[error("what the key {key} signed for `{id}` is not a statement about a component: {reason}")]
    MalformedStatement {
        id: String,
        /// The key that signed it.
        key: Box<KeyName>,
        /// The reason.
        reason: StatementError,
    },
    /// The bytes differ from the signed ones.
    #[error("`{id}` was changed after the key {key} signed it: signed {signed}, found {actual}")]
    DigestMismatch {
        id: String,
        /// The key that signed it.
        key: Box<KeyName>,
        /// The digest in the statement.
        signed: Digest,
        /// The digest of the bytes.
        actual: Digest,
    },
    /// The component is not built into the program in this form.
    #[error("`{id}` is not built into this program: {reason}")]
    BuiltIn {
        id: String,
        /// The difference.
        reason: String,
    },
    /// The statement is about another item, or another version, than the requested one.
    #[error("the key {key} signed this component as `{signed}`, it is used as `{id}`")]
    IdMismatch {
        /// The requested item.
        id: String,
        /// The key that signed it.
        key: Box<KeyName>,
        /// The signed item.
        signed: String,
    },
}

impl VerifyError {
    /// Returns advice that holds for every program. A program that has a way of its own words that instead.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotAComponent { .. } => "build it again, or fetch it again",
            Self::Unsigned { .. } => "have it signed by its author",
            Self::UnknownKey { .. } => "if you know the signer, add the public key to the trust store",
            Self::Refused { refusal, .. } => match refusal.as_ref() {
                KeyRefusal::Revoked { .. } => "get a version that is signed with another key",
                KeyRefusal::NotYetValid { .. } => {
                    "check the clock of this machine, and `not_before` in the trust store"
                }
                KeyRefusal::Expired { .. } => {
                    "get a version that is signed with a newer key, or move `not_after` in the trust store"
                }
                KeyRefusal::OutOfScope { .. } => {
                    "if the key may sign this item, add a pattern to its `items` in the trust store"
                }
            },
            Self::Required { .. } => "have one of these keys sign it",
            Self::TooFew { .. } => "have more of the keys sign it",
            Self::BuiltIn { .. } => {
                "name the item without a version, or put one of your own into .ai/tools and sign it"
            }
            Self::IdMismatch { .. } => {
                "put it at the path of the id that it was signed as, or have it signed for this one"
            }
            Self::MalformedEnvelope { .. }
            | Self::BadSignature { .. }
            | Self::MalformedStatement { .. }
            | Self::DigestMismatch { .. } => {
                "fetch component and envelope again from where they came; do not use these"
            }
        }
    }
}

fn others_text(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!("; {}", others.join("; ")) }
}

fn hints_text(keys: &[String]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!("`{}`", shown(key))).collect();
    keys.join(", ")
}

/// The result of verifying a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentStanding {
    /// A key of the trust store signed it and is valid for it.
    Signed {
        /// The trusted key that signed it.
        key: KeyName,
        /// The other keys that signed it and were needed.
        also: Vec<KeyName>,
        /// The intersection of the ceilings of all these keys and of the statement.
        ceiling: Box<Ceiling>,
        /// The time until which these keys are valid.
        not_after: Option<Timestamp>,
    },
    /// The component is part of the program, which lists its digest.
    BuiltIn,
    /// The component is unsigned: its user is developing it. Never applies to anything that was fetched.
    Unsigned,
}

impl ComponentStanding {
    /// Returns the keys whose signatures count.
    pub fn keys(&self) -> impl Iterator<Item = &KeyName> {
        let (key, also) = match self {
            Self::Signed { key, also, .. } => (Some(key), also.as_slice()),
            Self::BuiltIn | Self::Unsigned => (None, [].as_slice()),
        };
        key.into_iter().chain(also)
    }

    /// Returns an error if a key has expired at the recorded time of a superstep.
    pub fn expired(&self, item: &str, recorded: Timestamp) -> Option<VerifyError> {
        match self {
            Self::Signed { key, not_after: Some(not_after), .. } if recorded > *not_after => {
                let refusal = KeyRefusal::Expired { key: key.clone(), not_after: *not_after, at: recorded };
                Some(VerifyError::Refused { id: shown(item), refusal: Box::new(refusal) })
            }
            _ => None,
        }
    }

    /// Checks whether the component is unsigned.
    pub fn is_unsigned(&self) -> bool {
        matches!(self, Self::Unsigned)
    }
}

/// Component bytes that may be compiled. Only verification creates this value.
#[derive(Clone)]
pub struct VerifiedComponent {
    bytes: Arc<[u8]>,
    digest: Digest,
    id: String,
    statement: Option<Arc<ComponentStatement>>,
    /// The SHA-256 of the signed statement.
    statement_digest: Option<Digest>,
    standing: ComponentStanding,
}

impl VerifiedComponent {
    /// Verifies component bytes with their envelope (`None`: there is none), the trust store, the item as which they are used (`id` or
    /// `id@version`) and the time. One valid signature is enough, or as many as the store requires for the item.
    pub fn verify(
        bytes: Arc<[u8]>,
        envelope: Option<&str>,
        store: &TrustStore,
        item: &str,
        at: impl Into<Moment>,
    ) -> Result<Self, VerifyError> {
        let at = at.into();
        let id = || shown(item);
        structure::check(&bytes).map_err(|reason| VerifyError::NotAComponent { id: id(), reason })?;
        let Some(envelope) = envelope else {
            required(store, item)?;
            return Err(VerifyError::Unsigned { id: id() });
        };
        let envelope = Envelope::parse(envelope)
            .map_err(|reason| VerifyError::MalformedEnvelope { id: id(), reason })?;
        let check = Check { digest: Digest::of_bytes(&bytes), envelope: &envelope, store, item, at };
        let mut refused: Vec<VerifyError> = Vec::new();
        let mut unknown = Vec::new();
        let mut counted = Vec::new();
        for signed in &envelope.signatures {
            match check.signature(signed) {
                Ok(signature) => counted.push(signature),
                Err(VerifyError::UnknownKey { keys, .. }) => unknown.extend(keys),
                Err(error) => refused.push(error),
            }
        }
        let Some((statement, _)) = counted.first() else {
            // The failure of a known key is more informative than that of an unknown one.
            let first = refused.into_iter().next();
            return Err(first.unwrap_or(VerifyError::UnknownKey { id: id(), keys: unknown }));
        };
        let statement = statement.clone();
        let standing = check.standing(&statement, &counted, &refused)?;
        let (id, digest) = (statement.predicate.id.clone(), check.digest);
        let statement_digest = Some(Digest::of_bytes(envelope.unverified()));
        Ok(Self { bytes, digest, id, statement: Some(Arc::new(statement)), statement_digest, standing })
    }

    /// Accepts a component that its user is developing: to describe it before it is signed, or to run it under `--allow-unsigned`. Its
    /// standing is [`ComponentStanding::Unsigned`]. Never to be used for anything that was fetched, and refused for items that the store requires
    /// signatures for; for describing, the store may be empty.
    pub fn under_development(bytes: Arc<[u8]>, item: &str, store: &TrustStore) -> Result<Self, VerifyError> {
        let (id, _) = split_version(item);
        structure::check(&bytes).map_err(|reason| VerifyError::NotAComponent { id: shown(item), reason })?;
        required(store, item)?;
        let digest = Digest::of_bytes(&bytes);
        Ok(Self {
            bytes,
            digest,
            id: id.to_owned(),
            statement: None,
            statement_digest: None,
            standing: ComponentStanding::Unsigned,
        })
    }

    /// Accepts a component that is part of the program: its bytes have to have the digest that the program lists, and to match the
    /// statement, which is not signed. It is refused like an unsigned one if the store requires signatures.
    pub fn built_in(
        bytes: Arc<[u8]>,
        statement: &str,
        listed: &Digest,
        store: &TrustStore,
        item: &str,
    ) -> Result<Self, VerifyError> {
        let (wanted_id, wanted_version) = split_version(item);
        let refused = |reason: String| VerifyError::BuiltIn { id: shown(item), reason };
        structure::check(&bytes).map_err(|reason| VerifyError::NotAComponent { id: shown(item), reason })?;
        required(store, item)?;
        let digest = Digest::of_bytes(&bytes);
        if digest != *listed {
            return Err(refused(format!("its digest is {digest}, not {listed}")));
        }
        let statement_digest = Digest::of_bytes(statement.as_bytes());
        let statement = ComponentStatement::parse(statement.as_bytes())
            .map_err(|reason| refused(format!("its statement is invalid: {reason}")))?;
        let predicate = &statement.predicate;
        if statement.subject != digest || predicate.id != wanted_id {
            return Err(refused("its statement is about another component".to_owned()));
        }
        if wanted_version.is_some_and(|version| predicate.version != version) {
            return Err(refused(format!("the version that is built in is {}", predicate.version)));
        }
        Ok(Self {
            bytes,
            digest,
            id: wanted_id.to_owned(),
            statement: Some(Arc::new(statement)),
            statement_digest: Some(statement_digest),
            standing: ComponentStanding::BuiltIn,
        })
    }

    /// Returns the item id, without a version.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the version in the statement.
    pub fn version(&self) -> Option<&str> {
        self.statement.as_ref().map(|statement| statement.predicate.version.as_str())
    }

    /// Returns the SHA-256 of the bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns the verified bytes; no others are ever compiled.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns the statement of its signer, or of the program if it is built in; `None` for one under development.
    pub fn statement(&self) -> Option<&Arc<ComponentStatement>> {
        self.statement.as_ref()
    }

    /// Returns the SHA-256 of the signed statement; `None` for one under development.
    pub fn statement_digest(&self) -> Option<&Digest> {
        self.statement_digest.as_ref()
    }

    /// Returns the result of the verification.
    pub fn standing(&self) -> &ComponentStanding {
        &self.standing
    }

    /// Returns the upper bound of its grant: of statement and keys together, or of the statement of a built-in one; for one under
    /// development only the manifest bounds it.
    pub fn ceiling(&self) -> Ceiling {
        match (&self.standing, &self.statement) {
            (ComponentStanding::Signed { ceiling, .. }, _) => Ceiling::clone(ceiling),
            (ComponentStanding::BuiltIn, Some(statement)) => statement.predicate.ceiling.clone(),
            (ComponentStanding::BuiltIn, None) => Ceiling::from_kinds([]),
            (ComponentStanding::Unsigned, _) => Ceiling::from_kinds(CapabilityKind::ALL),
        }
    }
}

impl fmt::Debug for VerifiedComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedComponent")
            .field("id", &self.id)
            .field("digest", &self.digest)
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}

/// The inputs for checking the signatures.
struct Check<'a> {
    digest: Digest,
    envelope: &'a Envelope,
    store: &'a TrustStore,
    item: &'a str,
    at: Moment,
}

impl Check<'_> {
    fn signature(
        &self,
        signed: &EnvelopeSignature,
    ) -> Result<(ComponentStatement, &TrustedKey), VerifyError> {
        let id = || shown(self.item);
        let (wanted_id, wanted_version) = split_version(self.item);
        let (entry, payload) = self.signer(signed)?;
        let key = Box::new(entry.named());
        let entry = match self.store.allow(key.id, wanted_id, self.at) {
            Some(Ok(entry)) => entry,
            Some(Err(refusal)) => return Err(VerifyError::Refused { id: id(), refusal: Box::new(refusal) }),
            None => return Err(VerifyError::UnknownKey { id: id(), keys: vec![key.id.to_string()] }),
        };
        let statement = ComponentStatement::parse(payload)
            .map_err(|reason| VerifyError::MalformedStatement { id: id(), key: key.clone(), reason })?;
        if statement.subject != self.digest {
            let (signed, actual) = (statement.subject, self.digest);
            return Err(VerifyError::DigestMismatch { id: id(), key, signed, actual });
        }
        let predicate = &statement.predicate;
        if predicate.id != wanted_id || wanted_version.is_some_and(|version| predicate.version != version) {
            let signed = format!("{}@{}", predicate.id, predicate.version);
            return Err(VerifyError::IdMismatch { id: id(), key, signed });
        }
        Ok((statement, entry))
    }

    /// Combines all valid signatures to a standing.
    fn standing(
        &self,
        statement: &ComponentStatement,
        counted: &[(ComponentStatement, &TrustedKey)],
        refused: &[VerifyError],
    ) -> Result<ComponentStanding, VerifyError> {
        let (item, _) = split_version(self.item);
        let signed: Vec<_> = counted
            .iter()
            .map(|(_, entry)| CountedSigner { key: entry.named(), not_after: entry.not_after })
            .collect();
        let enough = self.store.enough(item, &signed).map_err(|few| VerifyError::TooFew {
            id: shown(self.item),
            few: Box::new(few),
            others: refused.iter().map(ToString::to_string).collect(),
        })?;
        let mut entries = enough.counted.iter().filter_map(|at| Some(counted.get(*at)?.1));
        let Some(first) = entries.next() else {
            return Err(VerifyError::Unsigned { id: shown(self.item) });
        };
        let mut ceiling = first.ceiling.intersection(&statement.predicate.ceiling);
        let mut also = Vec::new();
        for entry in entries {
            ceiling = ceiling.intersection(&entry.ceiling);
            also.push(entry.named());
        }
        Ok(ComponentStanding::Signed {
            key: first.named(),
            also,
            ceiling: Box::new(ceiling),
            not_after: enough.not_after,
        })
    }

    /// Returns the key that made a signature, and the signed payload. The hint only decides which key is tried first.
    fn signer(&self, signed: &EnvelopeSignature) -> Result<(&TrustedKey, &[u8]), VerifyError> {
        let keys = self.store.keys();
        let hinted = keys.iter().filter(|key| Envelope::hints_at(signed, key.id()));
        let others = keys.iter().filter(|key| !Envelope::hints_at(signed, key.id()));
        for key in hinted.clone().chain(others) {
            if let Some(payload) = self.envelope.opened(signed, &key.key) {
                return Ok((key, payload));
            }
        }
        let id = shown(self.item);
        Err(match hinted.clone().next() {
            Some(key) => VerifyError::BadSignature { id, key: Box::new(key.named()) },
            None => VerifyError::UnknownKey { id, keys: vec![shown(&signed.keyid)] },
        })
    }
}

/// Refuses an item without a signature if the store requires one.
fn required(store: &TrustStore, item: &str) -> Result<(), VerifyError> {
    let enough = store.enough(item, &[]).map(|_| ());
    enough.map_err(|few| VerifyError::Required { id: shown(item), few: Box::new(few) })
}

/// Returns the id and the version of the component in an item id, which may also name one of its functions.
fn split_version(item: &str) -> (&str, Option<&str>) {
    (path_of(item), version_of(item))
}

/// The reason why an envelope is not written.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The statement or the envelope cannot be written as JSON.
    #[error("the statement cannot be written: {0}")]
    Write(#[from] serde_json::Error),
    /// Every reader would refuse the envelope.
    #[error("nothing would read the envelope with this statement: {0}")]
    Unreadable(#[source] Box<ClaimsError>),
}

/// Signs a statement about a component, and returns the text of the envelope to be stored next to it.
pub fn sign_component(statement: &ComponentStatement, key: &SigningKey) -> Result<String, SignError> {
    readable(Envelope::sign(statement.to_payload()?, key).to_text()?)
}

/// Returns the text of an envelope, unless readers would refuse it for its size or for the content of its statement.
fn readable(text: String) -> Result<String, SignError> {
    match EnvelopeClaims::read(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(SignError::Unreadable(Box::new(error))),
    }
}

/// The unverified claims of a component's envelope: to show them, or to countersign. Never for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeClaims {
    envelope: Envelope,
    /// The statement.
    pub statement: ComponentStatement,
}

/// The reason why an envelope cannot be read or signed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// The text is not a valid envelope.
    #[error("the envelope is malformed: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The payload is not a statement about a component.
    #[error("what the envelope holds is not a statement about a component: {0}")]
    Statement(#[from] StatementError),
    /// The statement is about other bytes.
    #[error("the envelope is for another component: it states {stated}, the component has {actual}")]
    OtherComponent {
        /// The digest in the statement.
        stated: Digest,
        /// The digest of the component.
        actual: Digest,
    },
    /// The key has already signed it.
    #[error("the key {0} has signed this envelope already")]
    AlreadySigned(KeyId),
    /// The envelope would have more signatures than are read.
    #[error("the envelope has {MAX_SIGNATURES} signatures already, more are not read")]
    Full,
    /// The envelope cannot be written.
    #[error(transparent)]
    Write(#[from] SignError),
}

impl EnvelopeClaims {
    /// Reads an envelope without verifying it.
    pub fn read(text: &str) -> Result<Self, ClaimsError> {
        let envelope = Envelope::parse(text)?;
        let statement = ComponentStatement::parse(envelope.unverified())?;
        Ok(Self { envelope, statement })
    }

    /// Returns the key ids that its signatures state.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.envelope.signatures.iter().map(|signed| signed.keyid.as_str())
    }

    /// Returns the text of the envelope with another signature over the same statement.
    pub fn countersign(&self, component: &[u8], key: &SigningKey) -> Result<String, ClaimsError> {
        let (stated, actual) = (self.statement.subject, Digest::of_bytes(component));
        if stated != actual {
            return Err(ClaimsError::OtherComponent { stated, actual });
        }
        let public = key.verifying_key();
        if self.envelope.signatures.iter().any(|signed| self.envelope.opened(signed, &public).is_some()) {
            return Err(ClaimsError::AlreadySigned(key.id()));
        }
        if self.envelope.signatures.len() >= MAX_SIGNATURES {
            return Err(ClaimsError::Full);
        }
        let mut envelope = self.envelope.clone();
        envelope.signatures.extend(Envelope::sign(envelope.unverified().to_vec(), key).signatures);
        Ok(readable(envelope.to_text().map_err(SignError::Write)?)?)
    }
}
