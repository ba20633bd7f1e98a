//! Content digests: SHA-256 (FIPS 180-4), each kind of content under its own domain.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the SHA-256 of bytes, without a domain: the digest of a file, an OCI layer or an in-toto subject.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the raw 32 bytes.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Creates a digest from its raw 32 bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 hexadecimal digits without the `sha256:` prefix, as in-toto writes it.
    pub fn hex(&self) -> String {
        self.text().as_str()[PREFIX.len()..].to_owned()
    }

    /// Returns the first twelve hexadecimal digits: for listings only, never for comparisons.
    pub fn short(&self) -> String {
        self.hex()[..12].to_owned()
    }

    /// Returns the text form without an allocation: a record has many digests.
    fn text(&self) -> Text {
        let mut text = [0; LENGTH];
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        let (pairs, _) = text[PREFIX.len()..].as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = PAIRS[usize::from(byte)];
        }
        Text(text)
    }
}

const PREFIX: &str = "sha256:";
const LENGTH: usize = PREFIX.len() + 64;

/// The two digits of each byte.
const PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// The text form of a digest: ASCII only.
struct Text([u8; LENGTH]);

impl Text {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct ParseDigestError;

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
        if hex.len() != 64 {
            return Err(ParseDigestError);
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(ParseDigestError),
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Digests a sequence of fields under a domain. Every field is preceded by its length, so that no two sequences of
/// fields run into the same bytes.
#[derive(Clone, Debug)]
pub struct DomainHasher(Sha256);

impl DomainHasher {
    /// Starts a digest of the given domain, for example `graph-host/checkpoint/v1`.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn new(domain: &str) -> Self {
        Self(Sha256::new()).field(domain.as_bytes())
    }

    /// Adds a field, preceded by its length.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a field of a known length that comes in pieces.
    #[must_use]
    pub(crate) fn field_in_pieces(mut self, length: u64, pieces: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Self {
        self.0.update(length.to_le_bytes());
        pieces(&mut |piece| self.0.update(piece));
        self
    }

    /// Adds a digest as a field.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn digest(self, digest: &Digest) -> Self {
        self.field(digest.as_bytes())
    }

    /// Returns the digest of all fields.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Digests bytes that come in pieces, without a domain: the result is that of [`Digest::of_bytes`] over all of them.
#[derive(Clone, Debug, Default)]
pub struct PieceHasher(Sha256);

impl PieceHasher {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Returns the digest of all pieces.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = Digest::of_bytes(b"abc");
        assert_eq!(
            digest.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!("sha256:BA".parse::<Digest>().is_err());
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let one = DomainHasher::new("d").field(b"ab").field(b"c").finish();
        let two = DomainHasher::new("d").field(b"a").field(b"bc").finish();
        assert_ne!(one, two);
    }

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut hasher = PieceHasher::default();
        for piece in [&b"ab"[..], b"", b"c"] {
            hasher.add(piece);
        }
        assert_eq!(hasher.finish(), Digest::of_bytes(b"abc"));
    }
}
