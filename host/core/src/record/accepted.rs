//! Changes between the start of a run and its resume, and the host that accepted them.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::time::Timestamp;
use crate::trust::KeyId;

/// A change of a run's pins that its host has accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Accepted")]
pub struct AcceptedPinChange {
    /// The digest of the pins after the change.
    pub after: Digest,
    /// The time of the acceptance.
    pub at: Timestamp,
    /// The digest of the pins before the change.
    pub before: Digest,
    /// The key that accepted it: that of the host, which also signs this record.
    pub by: KeyId,
    /// The differences, for the user: a component and its nodes, lines of a graph or of the manifest, a signer, a text, a
    /// grant, the engine.
    pub changes: Vec<String>,
    /// The graph's digest after the change.
    pub graph: Digest,
}

/// Follows a run's pins through accepted changes, in order. Returns `None` if a change is not accepted by `key`, or does not begin with the
/// pins at which the one before it ended.
pub(super) fn follow(before: Digest, accepted: &[AcceptedPinChange], key: KeyId) -> Option<Digest> {
    accepted.iter().try_fold(before, |pins, change| {
        (change.before == pins && change.by == key && change.after != pins).then_some(change.after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::SigningKey;

    #[test]
    fn what_was_accepted_is_followed_from_link_to_link() {
        let key = SigningKey::from_seed(&[1; 32]).id();
        let pins = |name: &[u8]| Digest::of_bytes(name);
        let change = |before: &[u8], after: &[u8]| AcceptedPinChange {
            after: pins(after),
            at: Timestamp(0),
            before: pins(before),
            by: key,
            changes: vec!["the engine".to_owned()],
            graph: pins(b"graph"),
        };
        assert_eq!(follow(pins(b"a"), &[], key), Some(pins(b"a")));
        let both = [change(b"a", b"b"), change(b"b", b"c")];
        assert_eq!(follow(pins(b"a"), &both, key), Some(pins(b"c")));
        assert_eq!(follow(pins(b"b"), &both, key), None);
        assert_eq!(follow(pins(b"a"), &both[1..], key), None);
        assert_eq!(follow(pins(b"a"), &both, SigningKey::from_seed(&[2; 32]).id()), None);
        assert_eq!(follow(pins(b"a"), &[change(b"a", b"a")], key), None);
    }
}
