//! One signature over records that are stored together.
//!
//! Signing takes longer than the rest of the work for a superstep. Records that are stored in one transaction are therefore signed with
//! one signature: over the root of a binary hash tree whose leaves are their digests. Each record contains that signature and its path to
//! the root, so that it can be checked without the others.
//! `host/docs/design/signatures.md` specifies it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::{Digest, DomainHasher};
use crate::trust::{ParseSignatureError, Signature, SigningKey, VerifyingKey};

/// The domain of a signature over a root.
const ROOT: &str = "graph-host/record-group/v1";
/// The domains of the digests of leaves and of inner nodes.
const LEAF: &str = "graph-host/record-group-leaf/v1";
const NODE: &str = "graph-host/record-group-node/v1";

/// Depth of the deepest tree; a deeper one would have more than four billion leaves.
const DEEPEST: usize = 32;
/// Number of bytes of a signature, and of a step of a path.
const SIGNATURE: usize = 64;
const STEP: usize = 33;

/// The signature of a stored record: over its digest, or over its group.
///
/// As bytes, it is the 64 bytes of the Ed25519 signature, followed by 33 bytes for each step of the path from the record's leaf to the
/// root: 0 if the other half is on the left and 1 if it is on the right, and the digest of that half. In JSON it is those bytes in base64
/// with padding (RFC 4648, 4). A record that was signed alone has no path.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RecordSignature {
    signature: Signature,
    path: Box<[Step]>,
}

/// The other half of the tree at one node of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    side: Side,
    digest: Digest,
}

/// The side of the other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    Left,
    Right,
}

impl RecordSignature {
    /// Signs records, each given by the domain of its kind and its digest. A single record is signed directly, several are signed with one
    /// signature.
    pub(crate) fn of_group(records: &[(&str, Digest)], key: &SigningKey) -> Vec<Self> {
        match records {
            [] => Vec::new(),
            [(domain, digest)] => vec![key.sign_digest(domain, digest).into()],
            records => {
                let leaves = records.iter().map(|(domain, digest)| leaf(domain, digest)).collect();
                let (root, paths) = tree(leaves);
                let signature = key.sign_digest(ROOT, &root);
                paths.into_iter().map(|path| Self { signature, path: path.into() }).collect()
            }
        }
    }

    /// Checks whether the private half of this key signed the record, alone or in a group.
    pub(crate) fn verifies(&self, domain: &str, digest: &Digest, key: &VerifyingKey) -> bool {
        if self.path.is_empty() {
            return key.verify_digest(domain, digest, &self.signature);
        }
        let root = self.path.iter().fold(leaf(domain, digest), |below, step| match step.side {
            Side::Left => node(&step.digest, &below),
            Side::Right => node(&below, &step.digest),
        });
        key.verify_digest(ROOT, &root, &self.signature)
    }

    /// Checks whether the signature is that of a group.
    pub fn is_of_group(&self) -> bool {
        !self.path.is_empty()
    }

    /// Returns the stored bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIGNATURE + self.path.len() * STEP);
        bytes.extend_from_slice(self.signature.as_bytes());
        for step in &self.path {
            bytes.push(match step.side {
                Side::Left => 0,
                Side::Right => 1,
            });
            bytes.extend_from_slice(step.digest.as_bytes());
        }
        bytes
    }

    /// Reads the bytes of [`Self::to_bytes`]; fails for any others.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ParseSignatureError> {
        let (signature, path) = bytes.split_first_chunk::<SIGNATURE>().ok_or(ParseSignatureError)?;
        let (steps, rest) = path.as_chunks::<STEP>();
        if !rest.is_empty() || steps.len() > DEEPEST {
            return Err(ParseSignatureError);
        }
        let step = |[side, digest @ ..]: &[u8; STEP]| {
            let side = match side {
                0 => Side::Left,
                1 => Side::Right,
                _ => return Err(ParseSignatureError),
            };
            Ok(Step { side, digest: Digest::from_bytes(*digest) })
        };
        let path = steps.iter().map(step).collect::<Result<_, _>>()?;
        Ok(Self { signature: Signature::from_bytes(*signature), path })
    }
}

impl From<Signature> for RecordSignature {
    fn from(signature: Signature) -> Self {
        Self { signature, path: Box::default() }
    }
}

impl fmt::Display for RecordSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.to_bytes()))
    }
}

impl fmt::Debug for RecordSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RecordSignature {
    type Err = ParseSignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// The longest text in base64.
        const LONGEST: usize = (SIGNATURE + DEEPEST * STEP).div_ceil(3) * 4;
        if text.len() > LONGEST {
            return Err(ParseSignatureError);
        }
        STANDARD.decode(text).map_err(|_| ParseSignatureError).and_then(|bytes| Self::from_bytes(&bytes))
    }
}

impl Serialize for RecordSignature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordSignature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn leaf(domain: &str, digest: &Digest) -> Digest {
    DomainHasher::new(LEAF).field(domain.as_bytes()).digest(digest).finish()
}

fn node(left: &Digest, right: &Digest) -> Digest {
    DomainHasher::new(NODE).digest(left).digest(right).finish()
}

/// Computes the root over these leaves and the path of each to it. Neighbours are joined level by level; a leaf or node without a neighbour
/// moves up unchanged.
fn tree(leaves: Vec<Digest>) -> (Digest, Vec<Vec<Step>>) {
    let mut paths = vec![Vec::new(); leaves.len()];
    let mut level = leaves;
    // Number of leaves below each node of the level, the last node excepted.
    let mut width = 1;
    while level.len() > 1 {
        for (at, pair) in level.chunks_exact(2).enumerate() {
            let first = at * 2 * width;
            for (place, path) in paths.iter_mut().enumerate().skip(first).take(2 * width) {
                path.push(if place < first + width {
                    Step { side: Side::Right, digest: pair[1] }
                } else {
                    Step { side: Side::Left, digest: pair[0] }
                });
            }
        }
        level =
            level.chunks(2).map(|pair| pair.get(1).map_or(pair[0], |right| node(&pair[0], right))).collect();
        width *= 2;
    }
    (level.into_iter().next().unwrap_or(Digest::from_bytes([0; 32])), paths)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const KIND: &str = "graph-host/task/v1";

    fn key() -> SigningKey {
        SigningKey::from_seed(&[7; 32])
    }

    fn group(count: usize) -> Vec<(&'static str, Digest)> {
        (0..count).map(|number| (KIND, Digest::of_bytes(&number.to_le_bytes()))).collect()
    }

    #[test]
    fn each_of_a_group_verifies_by_itself_and_nothing_else_does() {
        let public = key().verifying_key();
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 33, 100] {
            let records = group(count);
            let signed = RecordSignature::of_group(&records, &key());
            assert_eq!(signed.len(), count);
            for (at, (signature, (_, digest))) in signed.iter().zip(&records).enumerate() {
                assert_eq!(signature.is_of_group(), count > 1);
                assert!(signature.verifies(KIND, digest, &public), "{at} of {count}");
                assert!(!signature.verifies("graph-host/status/v1", digest, &public), "{at} of {count}");
                assert!(!signature.verifies(KIND, &Digest::of_bytes(b"x"), &public), "{at} of {count}");
                let other = SigningKey::from_seed(&[8; 32]).verifying_key();
                assert!(!signature.verifies(KIND, digest, &other), "{at} of {count}");
            }
            // The signature covers the position in the tree.
            for (at, signature) in signed.iter().enumerate() {
                let fits =
                    records.iter().filter(|(_, digest)| signature.verifies(KIND, digest, &public)).count();
                assert_eq!(fits, 1, "{at} of {count}");
            }
        }
    }

    #[test]
    fn a_node_of_the_tree_is_no_record() {
        // To shorten a path, a forger would need a record whose digest is that of an inner node, and those have another domain.
        let (records, public) = (group(4), key().verifying_key());
        let signed = RecordSignature::of_group(&records, &key());
        let inner = node(&leaf(KIND, &records[0].1), &leaf(KIND, &records[1].1));
        let shorter = RecordSignature { signature: signed[0].signature, path: signed[0].path[1..].into() };
        assert!(!shorter.verifies(KIND, &inner, &public));
        let bare = RecordSignature::from(signed[0].signature);
        assert!(!bare.verifies(KIND, &inner, &public));
        assert!(!bare.verifies(ROOT, &records[0].1, &public));
    }

    #[test]
    fn vectors() {
        let signed = RecordSignature::of_group(&group(3), &key());
        let (root, _) = tree(group(3).iter().map(|(kind, digest)| leaf(kind, digest)).collect());
        let told: Vec<_> = signed.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(format!("{root}\n{}", told.join("\n")));
    }

    #[test]
    fn a_signature_alone_is_written_as_64_bytes() {
        let signature = key().sign_digest(KIND, &Digest::of_bytes(b"a"));
        let record = RecordSignature::from(signature);
        assert_eq!(record.to_bytes(), signature.as_bytes());
        assert_eq!(record.to_string(), signature.to_string());
    }

    proptest! {
        #[test]
        fn bytes_and_text_round_trip(count in 1_usize..70, at in any::<prop::sample::Index>()) {
            let signed = RecordSignature::of_group(&group(count), &key());
            let signature = at.get(&signed);
            prop_assert_eq!(&RecordSignature::from_bytes(&signature.to_bytes()).unwrap(), signature);
            prop_assert_eq!(&signature.to_string().parse::<RecordSignature>().unwrap(), signature);
        }

        #[test]
        fn other_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..1300)) {
            if let Ok(read) = RecordSignature::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let mut bytes = vec![0; SIGNATURE + DEEPEST * STEP];
        assert!(RecordSignature::from_bytes(&bytes).is_ok());
        bytes.extend([0; STEP]);
        assert!(RecordSignature::from_bytes(&bytes).is_err());
        assert!(STANDARD.encode(&bytes).parse::<RecordSignature>().is_err());
        for (length, side) in [(0, 0), (63, 0), (65, 0), (SIGNATURE + STEP - 1, 0), (SIGNATURE + STEP, 2)] {
            assert!(RecordSignature::from_bytes(&vec![side; length]).is_err(), "{length}");
        }
    }
}
