//! Ed25519 keys (RFC 8032) and signatures, in the files that `openssl` reads and writes.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
};
use ed25519_dalek::pkcs8::{KeypairBytes, spki::der::zeroize::Zeroizing};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;

/// Prefix of every signed message outside of a DSSE envelope, so that it cannot be confused with DSSE's encoding or with another program's
/// message.
const PREFIX: &[u8] = b"graph-host signature v1";

/// Returns the signed message for `bytes` of the kind `domain`: each part is preceded by its length.
fn message(domain: &str, bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(PREFIX.len() + domain.len() + bytes.len() + 24);
    for part in [PREFIX, domain.as_bytes(), bytes] {
        message.extend_from_slice(&(part.len() as u64).to_le_bytes());
        message.extend_from_slice(part);
    }
    message
}

/// A text that is not a usable Ed25519 key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither PEM nor hexadecimal digits.
    #[error("not a key: expected a PEM block `-----BEGIN {expected}-----`{hint}")]
    NotAKey {
        /// The expected label of the block.
        expected: &'static str,
        /// An alternative, as the end of the sentence.
        hint: &'static str,
    },
    /// A PEM block of another kind.
    #[error("a PEM block of kind `{found}` where `{expected}` is needed{}", block.note())]
    WrongBlock {
        /// The label of the block.
        found: String,
        /// The expected label.
        expected: &'static str,
        /// Its kind, from which it follows how a usable one is made.
        block: KeyBlock,
    },
    /// The block does not contain an Ed25519 key.
    #[error("the PEM block does not hold an Ed25519 key (RFC 8410): {reason}")]
    Malformed {
        /// The message of the decoder.
        reason: String,
    },
    /// A point of small order: it would accept forged signatures.
    #[error("the public key is weak (a point of small order): it would accept forged signatures")]
    Weak,
}

/// A PEM block in place of a key that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBlock {
    /// A private key that is encrypted.
    Encrypted,
    /// The public half in place of the private one.
    PublicHalf,
    /// The private half in place of the public one.
    PrivateHalf,
    /// A private key of SSH.
    Ssh,
    /// Another block in place of a private key.
    Other,
    /// Another block in place of a public key.
    NotPublic,
}

impl KeyBlock {
    /// Returns the end of a message about the block.
    const fn note(self) -> &'static str {
        match self {
            Self::Encrypted => ": it has to be decrypted first",
            Self::PublicHalf => ": this is the public half, signing needs the private one",
            Self::PrivateHalf => ": this is the private half",
            Self::Ssh => ": SSH keys are not read",
            Self::Other | Self::NotPublic => "",
        }
    }
}

/// A private key. Its bytes are wiped when it is dropped, and never appear in debug output.
#[derive(Clone)]
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    /// The id of the public half, which each signed record states.
    id: KeyId,
}

impl SigningKey {
    fn new(key: ed25519_dalek::SigningKey) -> Self {
        let id = VerifyingKey::new(key.verifying_key()).id;
        Self { key, id }
    }

    /// Creates the key of a seed (RFC 8032, 5.1.5): 32 bytes from a secure source of randomness.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self::new(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads an unencrypted PKCS#8 PEM block, version 1 or 2 (RFC 5958).
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        const EXPECTED: &str = "PRIVATE KEY";
        match pem_label(text) {
            Some(EXPECTED) => ed25519_dalek::SigningKey::from_pkcs8_pem(pem_block(text))
                .map(Self::new)
                .map_err(|error| KeyError::Malformed { reason: error.to_string() }),
            Some(found) => Err(KeyError::WrongBlock {
                found: found.to_owned(),
                expected: EXPECTED,
                block: match found {
                    "ENCRYPTED PRIVATE KEY" => KeyBlock::Encrypted,
                    "PUBLIC KEY" => KeyBlock::PublicHalf,
                    "OPENSSH PRIVATE KEY" => KeyBlock::Ssh,
                    _ => KeyBlock::Other,
                },
            }),
            None => Err(KeyError::NotAKey { expected: EXPECTED, hint: "" }),
        }
    }

    /// Writes PKCS#8 PEM, version 1: OpenSSL 3.0 refuses the version that also contains the public key. The text is wiped when it is
    /// dropped.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        KeypairBytes { secret_key: self.key.to_bytes(), public_key: None }
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|error| KeyError::Malformed { reason: error.to_string() })
    }

    /// Returns the public half, with which its signatures are verified.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey { key: self.key.verifying_key(), id: self.id }
    }

    /// Returns the identity of the public half.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Signs bytes of the kind `domain`, for example `graph-host/checkpoint/v1`. A signature of one kind is never valid
    /// for another.
    pub fn sign(&self, domain: &str, bytes: &[u8]) -> Signature {
        self.sign_raw(&message(domain, bytes))
    }

    /// Signs a digest of the kind `domain`.
    pub fn sign_digest(&self, domain: &str, digest: &Digest) -> Signature {
        self.sign(domain, digest.as_bytes())
    }

    /// Signs a message that already states its kind: DSSE's pre-authentication encoding.
    pub(super) fn sign_raw(&self, message: &[u8]) -> Signature {
        Signature(self.key.sign(message).to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id())
    }
}

/// An Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey {
    key: ed25519_dalek::VerifyingKey,
    id: KeyId,
}

impl VerifyingKey {
    fn new(key: ed25519_dalek::VerifyingKey) -> Self {
        let public = Digest::from_bytes(*key.as_bytes()).hex();
        let described =
            format!(r#"{{"keytype":"ed25519","keyval":{{"public":"{public}"}},"scheme":"ed25519"}}"#);
        Self { key, id: KeyId(Digest::of_bytes(described.as_bytes())) }
    }

    /// Creates the key of 32 bytes (RFC 8032, 5.1.2). Points of small order are refused.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes)
            .map_err(|error| KeyError::Malformed { reason: error.to_string() })
            .and_then(Self::strong)
    }

    /// Reads an SPKI PEM block (RFC 8410), or 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        const EXPECTED: &str = "PUBLIC KEY";
        match pem_label(text) {
            Some(EXPECTED) => ed25519_dalek::VerifyingKey::from_public_key_pem(pem_block(text))
                .map_err(|error| KeyError::Malformed { reason: error.to_string() })
                .and_then(Self::strong),
            Some(found) => Err(KeyError::WrongBlock {
                found: found.to_owned(),
                expected: EXPECTED,
                block: match found {
                    "PRIVATE KEY" | "ENCRYPTED PRIVATE KEY" => KeyBlock::PrivateHalf,
                    _ => KeyBlock::NotPublic,
                },
            }),
            None => match format!("sha256:{}", text.trim().to_ascii_lowercase()).parse::<Digest>() {
                // A digest and a public key are both 32 bytes in hexadecimal digits, so the digest's parser reads both.
                Ok(bytes) => Self::from_bytes(bytes.as_bytes()),
                Err(_) => Err(KeyError::NotAKey { expected: EXPECTED, hint: " or 64 hexadecimal digits" }),
            },
        }
    }

    fn strong(key: ed25519_dalek::VerifyingKey) -> Result<Self, KeyError> {
        if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self::new(key)) }
    }

    /// Returns the key as SPKI in PEM, as `keys show` prints it.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.key
            .to_public_key_pem(LineEnding::LF)
            .map_err(|error| KeyError::Malformed { reason: error.to_string() })
    }

    /// Returns the 32 bytes of the public key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Returns the public key in 64 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        Digest::from_bytes(*self.as_bytes()).hex()
    }

    /// Returns the id by which trust stores and signatures refer to the key.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Checks whether the signature was made over these bytes, as this kind, with the private half of this key. Strict: no signature or key
    /// that two implementations could judge differently is accepted.
    #[must_use]
    pub fn verify(&self, domain: &str, bytes: &[u8], signature: &Signature) -> bool {
        self.verify_raw(&message(domain, bytes), signature)
    }

    /// Checks whether the signature was made over this digest, as this kind.
    #[must_use]
    pub fn verify_digest(&self, domain: &str, digest: &Digest, signature: &Signature) -> bool {
        self.verify(domain, digest.as_bytes(), signature)
    }

    /// Checks the signature of a message that already states its kind: DSSE's pre-authentication encoding.
    pub(super) fn verify_raw(&self, message: &[u8], signature: &Signature) -> bool {
        self.key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature.0)).is_ok()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", self.hex())
    }
}

impl FromStr for VerifyingKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// The identity of a public key, as securesystemslib computes it: the SHA-256 of its canonical JSON description. Written
/// as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl KeyId {
    /// Returns the first twelve digits: for listings only, never for comparisons.
    pub fn short(&self) -> String {
        self.0.short()
    }

    /// Returns the raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.hex())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a key id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a key id is 64 lower-case hexadecimal digits")]
pub struct ParseKeyIdError;

impl FromStr for KeyId {
    type Err = ParseKeyIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("sha256:") {
            return Err(ParseKeyIdError);
        }
        text.parse().map(Self).map_err(|_| ParseKeyIdError)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An Ed25519 signature: 64 bytes. In JSON and in text it is base64 with padding (RFC 4648, 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Creates a signature from its 64 bytes.
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 bytes of the Ed25519 signature.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Returns base64 in the URL-safe alphabet with padding, as in a signature line of a text item.
    pub fn to_base64url(&self) -> String {
        URL_SAFE.encode(self.0)
    }

    /// Reads the text of [`Signature::to_base64url`]; fails for any other.
    pub fn from_base64url(text: &str) -> Result<Self, ParseSignatureError> {
        let bytes = URL_SAFE.decode(text).map_err(|_| ParseSignatureError)?;
        bytes.try_into().map(Self).map_err(|_| ParseSignatureError)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a signature is 64 bytes in base64 with padding")]
pub struct ParseSignatureError;

impl FromStr for Signature {
    type Err = ParseSignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text).map_err(|_| ParseSignatureError)?;
        bytes.try_into().map(Self).map_err(|_| ParseSignatureError)
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns the label of the first PEM block in a text.
fn pem_label(text: &str) -> Option<&str> {
    let label = text.split_once("-----BEGIN ")?.1;
    label.split_once("-----").map(|(label, _)| label).filter(|label| !label.contains('\n'))
}

/// Returns the text from the first PEM block on: text before it is a comment (RFC 7468, 2).
fn pem_block(text: &str) -> &str {
    text.find("-----BEGIN ").map_or(text, |start| &text[start..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// RFC 8032, 7.1, test 1.
    const SEED: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44,
        0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn the_public_half_is_the_one_of_the_rfc() {
        assert_eq!(SigningKey::from_seed(&SEED).verifying_key().hex(), PUBLIC);
    }

    #[test]
    fn pem_forms_round_trip_and_the_private_one_is_version_1() {
        let key = SigningKey::from_seed(&SEED);
        let pem = key.to_pem().unwrap();
        // Written by `openssl pkey` from the same seed.
        assert_eq!(
            pem.as_str(),
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
             -----END PRIVATE KEY-----\n"
        );
        assert_eq!(SigningKey::from_pem(&pem).unwrap().id(), key.id());
        let public = key.verifying_key();
        assert_eq!(VerifyingKey::parse(&public.to_pem().unwrap()).unwrap(), public);
        assert_eq!(VerifyingKey::parse(&format!("a comment\n{}", public.to_pem().unwrap())).unwrap(), public);
        assert_eq!(VerifyingKey::parse(PUBLIC).unwrap(), public);
    }

    #[test]
    fn a_signature_is_of_one_domain_only() {
        let key = SigningKey::from_seed(&SEED);
        let digest = Digest::of_bytes(b"x");
        let signature = key.sign_digest("a", &digest);
        let public = key.verifying_key();
        assert!(public.verify_digest("a", &digest, &signature));
        assert!(!public.verify_digest("b", &digest, &signature));
        assert!(!public.verify_raw(digest.as_bytes(), &signature));
        assert!(!public.verify_digest("a", &Digest::of_bytes(b"y"), &signature));
    }

    #[test]
    fn key_errors_say_what_to_do() {
        let key = SigningKey::from_seed(&SEED);
        let mut weak = [0; 32];
        weak[0] = 1;
        let of = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        let errors = [
            SigningKey::from_pem("").unwrap_err(),
            SigningKey::from_pem(&key.verifying_key().to_pem().unwrap()).unwrap_err(),
            SigningKey::from_pem(&of("ENCRYPTED PRIVATE KEY")).unwrap_err(),
            SigningKey::from_pem(&of("OPENSSH PRIVATE KEY")).unwrap_err(),
            SigningKey::from_pem(&of("PRIVATE KEY")).unwrap_err(),
            VerifyingKey::parse("abc").unwrap_err(),
            VerifyingKey::parse(&key.to_pem().unwrap()).unwrap_err(),
            VerifyingKey::parse(&of("PUBLIC KEY")).unwrap_err(),
            VerifyingKey::from_bytes(&weak).unwrap_err(),
        ]
        .map(|error| error.to_string())
        .join("\n");
        insta::assert_snapshot!(errors);
    }

    #[test]
    fn text_forms_round_trip() {
        let key = SigningKey::from_seed(&SEED);
        let signature = key.sign("a", b"b");
        assert_eq!(signature.to_string().parse::<Signature>().unwrap(), signature);
        assert_eq!(Signature::from_base64url(&signature.to_base64url()).unwrap(), signature);
        assert_eq!(key.id().to_string().parse::<KeyId>().unwrap(), key.id());
        assert!(!format!("{key:?}").contains("9d61"), "the private bytes are not shown");
    }
}
