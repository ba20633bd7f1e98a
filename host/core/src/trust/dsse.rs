//! DSSE envelopes, version 1.0: a payload, its type, and signatures over both.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};

use super::key::{KeyId, Signature, SigningKey, VerifyingKey};
use super::{objects_at, shown};
use crate::json::{self, TreeLimit};

/// The payload type of an in-toto Statement.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";

/// Length of the longest envelope that is read, in bytes: enough for two large schemas.
pub const MAX_ENVELOPE: usize = 4 << 20;

/// Largest number of signatures in one envelope.
pub const MAX_SIGNATURES: usize = 16;

/// The reason why a text is not a valid DSSE envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The text is longer than [`MAX_ENVELOPE`].
    #[error("it has {0} bytes, more than the {MAX_ENVELOPE} that are read")]
    TooLong(usize),
    /// Not JSON, or not of the envelope's shape.
    #[error("{0}")]
    Shape(String),
    /// A payload of another kind.
    #[error("its payload is of type `{found}`, expected `{expected}`")]
    PayloadType {
        /// The type in the envelope.
        found: String,
        /// The type that the reader accepts.
        expected: String,
    },
    /// A part is not in base64.
    #[error("its {0} is not in base64")]
    Base64(&'static str),
    /// A signature of another length than Ed25519's.
    #[error("a signature has {0} bytes, an Ed25519 signature has 64")]
    SignatureLength(usize),
    /// The list of signatures is empty.
    #[error("it carries no signature")]
    NoSignature,
    /// There are more signatures than are checked.
    #[error("it carries {0} signatures, more than the {MAX_SIGNATURES} that are read")]
    TooManySignatures(usize),
}

/// A signature in an envelope, with the signer's hint about its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnvelopeSignature {
    /// The id of the key to try first; it proves nothing.
    pub(super) keyid: String,
    pub(super) signature: Signature,
}

/// An unverified envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    pub(super) signatures: Vec<EnvelopeSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeDocument {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<SignatureDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureDocument {
    #[serde(default)]
    keyid: String,
    sig: String,
}

impl From<&EnvelopeSignature> for SignatureDocument {
    fn from(signed: &EnvelopeSignature) -> Self {
        Self { keyid: signed.keyid.clone(), sig: signed.signature.to_string() }
    }
}

impl Envelope {
    /// Puts an in-toto Statement into an envelope and signs it.
    pub(super) fn sign(payload: Vec<u8>, key: &SigningKey) -> Self {
        Self::sign_as(IN_TOTO, payload, key)
    }

    fn sign_as(payload_type: &str, payload: Vec<u8>, key: &SigningKey) -> Self {
        let signature = key.sign_raw(&pre_authentication_encoding(payload_type, &payload));
        let signatures = vec![EnvelopeSignature { keyid: key.id().to_string(), signature }];
        Self { payload_type: payload_type.to_owned(), payload, signatures }
    }

    /// Reads an envelope around an in-toto Statement.
    pub(super) fn parse(text: &str) -> Result<Self, EnvelopeError> {
        Self::parse_as(IN_TOTO, text)
    }

    pub(super) fn parse_as(payload_type: &str, text: &str) -> Result<Self, EnvelopeError> {
        if text.len() > MAX_ENVELOPE {
            return Err(EnvelopeError::TooLong(text.len()));
        }
        let value = json::parse_strict(text, 8, TreeLimit::STATEMENT)
            .map_err(|error| EnvelopeError::Shape(error.to_string()))?;
        let signatures = value.pointer("/signatures").and_then(|list| list.as_array());
        objects_at(&value, &[""])
            .and_then(|()| signatures.into_iter().flatten().try_for_each(|signed| objects_at(signed, &[""])))
            .map_err(EnvelopeError::Shape)?;
        let document: EnvelopeDocument =
            serde_json::from_value(value).map_err(|error| EnvelopeError::Shape(shown(&error.to_string())))?;
        if document.payload_type != payload_type {
            let (found, expected) = (shown(&document.payload_type), payload_type.to_owned());
            return Err(EnvelopeError::PayloadType { found, expected });
        }
        match document.signatures.len() {
            0 => return Err(EnvelopeError::NoSignature),
            1..=MAX_SIGNATURES => {}
            more => return Err(EnvelopeError::TooManySignatures(more)),
        }
        let payload = decode(&document.payload).ok_or(EnvelopeError::Base64("payload"))?;
        let signatures = document
            .signatures
            .into_iter()
            .map(|SignatureDocument { keyid, sig }| {
                let bytes = decode(&sig).ok_or(EnvelopeError::Base64("signature"))?;
                let length = bytes.len();
                let bytes = bytes.try_into().map_err(|_| EnvelopeError::SignatureLength(length))?;
                Ok(EnvelopeSignature { keyid, signature: Signature::from_bytes(bytes) })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { payload_type: document.payload_type, payload, signatures })
    }

    /// Writes the envelope with one field in each line.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        let signatures = self.signatures.iter().map(SignatureDocument::from).collect();
        let document = EnvelopeDocument {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures,
        };
        let mut text = serde_json::to_string_pretty(&document)?;
        text.push('\n');
        Ok(text)
    }

    /// Returns the normalized, shortest text of the envelope, with some of its signatures.
    pub(super) fn respelled(&self, signatures: &[EnvelopeSignature]) -> String {
        let document = EnvelopeDocument {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.iter().map(SignatureDocument::from).collect(),
        };
        // The document contains only texts, so writing never fails.
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// Returns the payload, if this signature over it was made with the given key.
    pub(super) fn opened(&self, signed: &EnvelopeSignature, key: &VerifyingKey) -> Option<&[u8]> {
        key.verify_raw(&pre_authentication_encoding(&self.payload_type, &self.payload), &signed.signature)
            .then_some(&*self.payload)
    }

    /// Returns the payload without any verification.
    pub(super) fn unverified(&self) -> &[u8] {
        &self.payload
    }

    /// Checks whether a signature's hint names this key.
    pub(super) fn hints_at(signed: &EnvelopeSignature, id: KeyId) -> bool {
        signed.keyid == id.to_string()
    }
}

/// Puts a document of any payload type into an envelope and signs it.
pub fn sign_document(
    payload_type: &str,
    document: Vec<u8>,
    key: &SigningKey,
) -> Result<String, serde_json::Error> {
    Envelope::sign_as(payload_type, document, key).to_text()
}

/// Returns the document in an envelope of this payload type if one of the signatures was made with the key; otherwise `None`.
pub fn verify_document(
    payload_type: &str,
    envelope: &str,
    key: &VerifyingKey,
) -> Result<Option<Vec<u8>>, EnvelopeError> {
    let envelope = Envelope::parse_as(payload_type, envelope)?;
    let is_signed = envelope.signatures.iter().any(|signed| envelope.opened(signed, key).is_some());
    Ok(is_signed.then_some(envelope.payload))
}

/// Returns the message that DSSE signs: `DSSEv1`, then payload type and payload, each after its length.
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

/// Decodes base64 with padding, in either alphabet, as DSSE requires of a reader.
fn decode(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    engine.decode(text).ok()
}
