//! Rotation of keys: the old key names the new one, and the new one agrees.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "new": "…64 hexadecimal digits…", "old": "…", "signatures": {"new": "…", "old": "…"},
//!  "type": "https://graph-host.dev/rotation/v1"}
//! ```
//!
//! Both keys sign the canonical JSON of `{at, new, old}`. The old key's signature names its successor; the new key's proves that the author
//! of the statement has that key, so that no one can pass trust on to another's key.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::key::{Signature, SigningKey, VerifyingKey};
use super::shown;
use crate::json::{TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

/// The `type` of a rotation statement.
pub const ROTATION_TYPE: &str = "https://graph-host.dev/rotation/v1";

const DOMAIN: &str = "graph-host/rotation/v1";
/// Length of the longest statement that is read, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// A verified succession of keys. Only signing with both keys, or verifying both signatures, creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    old: VerifyingKey,
    new: VerifyingKey,
    at: Timestamp,
    signatures: Signatures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signatures {
    new: Signature,
    old: Signature,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    at: String,
    new: String,
    old: String,
    signatures: Signatures,
    #[serde(rename = "type")]
    _kind: String,
}

/// The reason why a text is not a valid rotation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum RotationError {
    /// Longer than any statement.
    #[error("it has {0} bytes, more than the {MAX_TEXT} that are read")]
    TooLong(usize),
    /// Not JSON, or not of its shape.
    #[error("{0}")]
    Shape(String),
    /// Another kind of document.
    #[error("its `type` is `{0}`, expected `{ROTATION_TYPE}`")]
    Type(String),
    /// The value of a field is invalid.
    #[error("`{field}`: {reason}")]
    Field {
        field: &'static str,
        /// The reason.
        reason: String,
    },
    /// A key succeeds itself.
    #[error("the new key is the old one")]
    Same,
    /// A signature was not made with its key over this.
    #[error(
        "the signature of the {0} key does not hold: the statement was changed, or made without that key"
    )]
    BadSignature(&'static str),
}

impl Rotation {
    /// Creates the statement that one key succeeds another at this time.
    pub fn sign(old: &SigningKey, new: &SigningKey, at: Timestamp) -> Result<Self, RotationError> {
        let (old_public, new_public) = (old.verifying_key(), new.verifying_key());
        if old_public == new_public {
            return Err(RotationError::Same);
        }
        let message = message(&old_public, &new_public, at);
        let sign = |key: &SigningKey| key.sign(DOMAIN, message.as_bytes());
        let signatures = Signatures { new: sign(new), old: sign(old) };
        Ok(Self { old: old_public, new: new_public, at, signatures })
    }

    /// Reads a statement, and checks both signatures.
    pub fn parse(text: &str) -> Result<Self, RotationError> {
        if text.len() > MAX_TEXT {
            return Err(RotationError::TooLong(text.len()));
        }
        let value = parse_strict(text, 8, TreeLimit::STATEMENT)
            .map_err(|error| RotationError::Shape(error.to_string()))?;
        super::objects_at(&value, &["", "/signatures"]).map_err(RotationError::Shape)?;
        if let Some(other) =
            value.get("type").and_then(|found| found.as_str()).filter(|found| *found != ROTATION_TYPE)
        {
            return Err(RotationError::Type(shown(other)));
        }
        let document: Document =
            serde_json::from_value(value).map_err(|error| RotationError::Shape(shown(&error.to_string())))?;
        let key = |field, text: &str| {
            VerifyingKey::parse(text)
                .map_err(|error| RotationError::Field { field, reason: error.to_string() })
        };
        let (old, new) = (key("old", &document.old)?, key("new", &document.new)?);
        let at: Timestamp =
            document.at.parse().ok().filter(|at: &Timestamp| at.to_string() == document.at).ok_or_else(
                || RotationError::Field {
                    field: "at",
                    reason: format!("`{}` is not a time like 2030-01-31T12:00:00.000Z", shown(&document.at)),
                },
            )?;
        if old == new {
            return Err(RotationError::Same);
        }
        let message = message(&old, &new, at);
        for (name, key, signature) in
            [("old", &old, &document.signatures.old), ("new", &new, &document.signatures.new)]
        {
            if !key.verify(DOMAIN, message.as_bytes(), signature) {
                return Err(RotationError::BadSignature(name));
            }
        }
        Ok(Self { old, new, at, signatures: document.signatures })
    }

    /// Returns the text of the statement: canonical JSON (RFC 8785) and a line break.
    pub fn to_text(&self) -> String {
        let document = json!({
            "at": self.at.to_string(),
            "new": self.new.hex(),
            "old": self.old.hex(),
            "signatures": self.signatures,
            "type": ROTATION_TYPE,
        });
        canonical_string(&document) + "\n"
    }

    /// Returns the old key.
    pub fn old(&self) -> &VerifyingKey {
        &self.old
    }

    /// Returns the new key.
    pub fn new_key(&self) -> &VerifyingKey {
        &self.new
    }

    /// Returns the time that both keys have signed.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

fn message(old: &VerifyingKey, new: &VerifyingKey, at: Timestamp) -> String {
    canonical_string(&json!({ "at": at.to_string(), "new": new.hex(), "old": old.hex() }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const AT: Timestamp = Timestamp(1_900_000_000_000);

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    #[test]
    fn a_rotation_is_read_as_it_was_signed() {
        let rotation = Rotation::sign(&key(1), &key(2), AT).unwrap();
        let read = Rotation::parse(&rotation.to_text()).unwrap();
        assert_eq!(read, rotation);
        assert_eq!(
            (*read.old(), *read.new_key(), read.at()),
            (key(1).verifying_key(), key(2).verifying_key(), AT)
        );
        assert_eq!(Rotation::sign(&key(1), &key(1), AT), Err(RotationError::Same));
    }

    #[test]
    fn nobody_lets_another_key_inherit() {
        let text = Rotation::sign(&key(1), &key(2), AT).unwrap().to_text();
        let hex = |seed| key(seed).verifying_key().hex();
        let of_others = Rotation::sign(&key(3), &key(4), AT).unwrap().to_text();
        let forged = [
            (text.replace(&hex(2), &hex(3)), "old"),
            (text.replace(&hex(1), &hex(3)), "old"),
            (text.replace("2030", "2031"), "old"),
            (of_others.replace(&hex(3), &hex(1)), "old"),
        ];
        for (text, by) in forged {
            assert_eq!(Rotation::parse(&text), Err(RotationError::BadSignature(by)), "{text}");
        }
        // The old key's signature is not enough: the new key has to agree.
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["signatures"]["new"] = document["signatures"]["old"].clone();
        assert_eq!(Rotation::parse(&document.to_string()), Err(RotationError::BadSignature("new")));
    }

    #[test]
    fn bad_statements_say_what_is_wrong() {
        let text = Rotation::sign(&key(1), &key(2), AT).unwrap().to_text();
        let bad = [
            String::new(),
            "{\n  \"at\": }".to_owned(),
            "[]".to_owned(),
            text.replace(ROTATION_TYPE, "https://example.com/"),
            text.replace("\"at\"", "\"when\""),
            text.replace("2030-", "30-"),
            text.replace(&key(2).verifying_key().hex(), "abc"),
            text.replace(&key(2).verifying_key().hex(), &key(1).verifying_key().hex()),
            " ".repeat(MAX_TEXT + 1),
        ];
        let shown: Vec<_> = bad.iter().map(|text| Rotation::parse(text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
