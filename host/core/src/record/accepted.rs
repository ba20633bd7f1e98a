//! What a run goes on with although it was begun with something else, and who has said so.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::time::Timestamp;
use crate::trust::KeyId;

/// A change of what a run is pinned to that its host has accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The digest of what the run is pinned to from then on.
    pub after: Digest,
    /// When.
    pub at: Timestamp,
    /// The digest of what it was pinned to before.
    pub before: Digest,
    /// The key that accepted it: that of the host, which signs this record too.
    pub by: KeyId,
    /// What has changed, for a person: a component and its nodes, lines of a graph or of the manifest, a signer, a text,
    /// a grant, the engine.
    pub changes: Vec<String>,
    /// The graph's digest from then on.
    pub graph: Digest,
}

/// Follows what a run is pinned to through what was accepted, in order. `None`: something in it is not by `key`, or does
/// not begin where the one before it ended.
pub(super) fn follow(before: Digest, accepted: &[Accepted], key: KeyId) -> Option<Digest> {
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
        let change = |before: &[u8], after: &[u8]| Accepted {
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
