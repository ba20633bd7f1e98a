//! The trust store: the keys whose signatures are valid, each with its items, its ceiling and its dates.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::key::{KeyId, VerifyingKey};
use super::requirement::Requirement;
use crate::capability::{Ceiling, ItemPattern};
use crate::time::Timestamp;

/// The start of a key's revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// No signature of the key is valid.
    Always,
    /// No signature is valid from this moment on.
    Since(Timestamp),
}

/// A trusted key, with its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// The user's name for it.
    pub name: String,
    /// The public key with which signatures are checked.
    pub key: VerifyingKey,
    /// The items that it may sign; never empty.
    pub items: Vec<ItemPattern>,
    /// The upper bound of the grant of a component that is signed with it.
    pub ceiling: Ceiling,
    /// The start of the key's validity.
    pub not_before: Option<Timestamp>,
    /// The end of the key's validity, that moment included.
    pub not_after: Option<Timestamp>,
    /// The revocation. It applies to all signatures, whatever time they state: the owner of a stolen key can write any time.
    pub revoked: Option<Revocation>,
    /// The key that it succeeds: if several keys have to sign, both count as one.
    pub succeeds: Option<KeyName>,
}

/// The times at which a signature is judged. A key must not be revoked now; its expiry is compared with the recorded time of the superstep,
/// so that earlier supersteps remain valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time of the check.
    pub now: Timestamp,
    /// The recorded time of the superstep that uses the signed item.
    pub recorded: Timestamp,
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self { now: at, recorded: at }
    }
}

impl TrustedKey {
    /// Returns the digest by which signatures name the key.
    pub fn id(&self) -> KeyId {
        self.key.id()
    }

    /// Returns the key's name for messages.
    pub fn named(&self) -> KeyName {
        KeyName { name: self.name.clone(), id: self.id() }
    }

    /// Checks whether signatures with the key are valid at this time.
    pub fn is_valid(&self, at: Timestamp) -> bool {
        !self.is_revoked(at)
            && self.not_before.is_none_or(|from| at >= from)
            && self.not_after.is_none_or(|until| at <= until)
    }

    /// Checks whether the key is revoked at this time.
    pub fn is_revoked(&self, at: Timestamp) -> bool {
        match self.revoked {
            None => false,
            Some(Revocation::Always) => true,
            Some(Revocation::Since(since)) => at >= since,
        }
    }

    fn allow(&self, item: &str, Moment { now: at, recorded }: Moment) -> Result<(), KeyRefusal> {
        if self.is_revoked(at) {
            let since = match self.revoked {
                Some(Revocation::Since(since)) => Some(since),
                _ => None,
            };
            return Err(KeyRefusal::Revoked { key: self.named(), since });
        }
        if let Some(not_before) = self.not_before.filter(|&not_before| at < not_before) {
            return Err(KeyRefusal::NotYetValid { key: self.named(), not_before, at });
        }
        if let Some(not_after) = self.not_after.filter(|&not_after| recorded > not_after) {
            return Err(KeyRefusal::Expired { key: self.named(), not_after, at: recorded });
        }
        if !self.items.iter().any(|pattern| pattern.matches(item)) {
            let items = self.items.clone();
            return Err(KeyRefusal::OutOfScope { key: self.named(), item: super::shown(item), items });
        }
        Ok(())
    }
}

/// The name of a key in messages: the user's name for it and the beginning of its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyName {
    /// The user's name for it.
    pub name: String,
    /// The SHA-256 of the public key, which does not change when the key is renamed.
    pub id: KeyId,
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.name, self.id.short())
    }
}

/// The reason why a key in the trust store is not valid for an item at a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum KeyRefusal {
    /// The user has revoked it.
    #[error("the key {key} is revoked{}", since_text(*since))]
    Revoked {
        key: KeyName,
        /// The start of the revocation, if it is known.
        since: Option<Timestamp>,
    },
    /// The key is not valid yet.
    #[error("the key {key} is not valid before {not_before}, and it is {at}")]
    NotYetValid {
        key: KeyName,
        /// The start of its validity.
        not_before: Timestamp,
        /// The time of the check.
        at: Timestamp,
    },
    /// The key had expired at the recorded time.
    #[error("the key {key} expired at {not_after}, and it is {at}")]
    Expired {
        key: KeyName,
        /// The end of its validity.
        not_after: Timestamp,
        /// The time of the check.
        at: Timestamp,
    },
    /// The key may not sign the item.
    #[error("the key {key} may not sign `{item}`: it may sign {}", patterns_text(items))]
    OutOfScope {
        key: KeyName,
        item: String,
        /// The items that it may sign.
        items: Vec<ItemPattern>,
    },
}

fn since_text(since: Option<Timestamp>) -> String {
    since.map(|since| format!(" since {since}")).unwrap_or_default()
}

fn patterns_text(patterns: &[ItemPattern]) -> String {
    patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ")
}

/// The trusted keys, each with its bounds, and the requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustStore {
    pub(super) keys: Vec<TrustedKey>,
    pub(super) requirements: Vec<Requirement>,
    /// The files of the keys that are not from the user's own.
    pub(super) files: BTreeMap<KeyId, String>,
}

impl TrustStore {
    /// Creates a store of these keys.
    pub fn new(keys: Vec<TrustedKey>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Sets the file of the keys, if it is not the user's own.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.files = self.keys.iter().map(|key| (key.id(), file.to_owned())).collect();
        self
    }

    /// Returns the file of a key, if it is not the user's own.
    pub fn file_of(&self, id: KeyId) -> Option<&str> {
        self.files.get(&id).map(String::as_str)
    }

    /// Returns the keys, in the order of the files that contain them.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// Adds the keys and requirements of another store for one command. A key that is revoked in either is revoked; among several entries
    /// for a key, the first one that allows the item applies.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for (id, file) in other.files {
            // Commands change the first of several entries for a key.
            if self.entries(id).next().is_none() {
                self.files.insert(id, file);
            }
        }
        self.keys.extend(other.keys);
        self.requirements.extend(other.requirements);
        self
    }

    /// Returns the entries for a key.
    pub fn entries(&self, id: KeyId) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter().filter(move |key| key.id() == id)
    }

    /// Checks whether signatures of a key are valid for an item at a time. Returns the entry that allows it; `None` for an unknown key.
    pub fn allow(
        &self,
        id: KeyId,
        item: &str,
        at: impl Into<Moment>,
    ) -> Option<Result<&TrustedKey, KeyRefusal>> {
        let at = at.into();
        let mut refusal = None;
        let mut allowed = None;
        for entry in self.entries(id) {
            match entry.allow(item, at) {
                Ok(()) => allowed = allowed.or(Some(entry)),
                Err(revoked @ KeyRefusal::Revoked { .. }) => return Some(Err(revoked)),
                Err(other) => refusal = refusal.or(Some(other)),
            }
        }
        allowed.map(Ok).or(refusal.map(Err))
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::trust::SigningKey;

    pub(crate) fn entry(name: &str, key: &SigningKey, items: &[&str]) -> TrustedKey {
        TrustedKey {
            name: name.to_owned(),
            key: key.verifying_key(),
            items: items.iter().map(|pattern| ItemPattern::parse(pattern).unwrap()).collect(),
            ceiling: Ceiling::from_kinds([]),
            not_before: None,
            not_after: None,
            revoked: None,
            succeeds: None,
        }
    }

    #[test]
    fn bounds_are_inclusive_and_a_revocation_anywhere_wins() {
        let key = SigningKey::from_seed(&[7; 32]);
        let bounded = TrustedKey {
            not_before: Some(Timestamp(10)),
            not_after: Some(Timestamp(20)),
            ..entry("k", &key, &["a/*"])
        };
        let store = TrustStore::new(vec![bounded.clone()]);
        let at = |store: &TrustStore, at| {
            store.allow(key.id(), "a/b", Timestamp(at)).unwrap().map(|key| key.name.clone())
        };
        assert!(at(&store, 9).is_err());
        assert!(at(&store, 10).is_ok());
        assert!(at(&store, 20).is_ok());
        assert!(at(&store, 21).is_err());
        let wider = TrustStore::new(vec![entry("wide", &key, &["a/*"])]);
        assert_eq!(at(&store.clone().merge(wider.clone()), 21).unwrap(), "wide");
        let revoked = TrustedKey { revoked: Some(Revocation::Since(Timestamp(15))), ..bounded };
        for merged in [
            TrustStore::new(vec![revoked.clone()]).merge(wider.clone()),
            wider.merge(TrustStore::new(vec![revoked])),
        ] {
            assert!(at(&merged, 14).is_ok());
            assert!(matches!(at(&merged, 15), Err(KeyRefusal::Revoked { .. })));
        }
        assert!(store.allow(SigningKey::from_seed(&[8; 32]).id(), "a/b", Timestamp(15)).is_none());
    }

    #[test]
    fn expiry_is_judged_by_the_recorded_time_and_everything_else_now() {
        let key = SigningKey::from_seed(&[7; 32]);
        let bounded = TrustedKey {
            not_before: Some(Timestamp(10)),
            not_after: Some(Timestamp(20)),
            ..entry("k", &key, &["a/*"])
        };
        let at = |entry: &TrustedKey, now, recorded| {
            let store = TrustStore::new(vec![entry.clone()]);
            let moment = Moment { now: Timestamp(now), recorded: Timestamp(recorded) };
            store.allow(key.id(), "a/b", moment).unwrap().map(|_| ())
        };
        assert!(at(&bounded, 30, 20).is_ok());
        assert!(matches!(at(&bounded, 30, 21), Err(KeyRefusal::Expired { at: Timestamp(21), .. })));
        assert!(at(&bounded, 10, 5).is_ok());
        assert!(matches!(at(&bounded, 9, 9), Err(KeyRefusal::NotYetValid { .. })));
        let revoked = TrustedKey { revoked: Some(Revocation::Since(Timestamp(25))), ..bounded };
        assert!(at(&revoked, 24, 20).is_ok());
        assert!(matches!(at(&revoked, 25, 20), Err(KeyRefusal::Revoked { .. })));
    }
}
