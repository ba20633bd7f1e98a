//! Requirements for the number of signatures of items.

use std::collections::BTreeSet;
use std::fmt;

use super::key::KeyId;
use super::store::{KeyName, Moment, TrustStore};
use crate::capability::ItemPattern;
use crate::id::path_of;
use crate::time::Timestamp;

/// A rule that a number of these keys have to sign the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The items; never empty.
    pub items: Vec<ItemPattern>,
    /// Number of keys that have to sign; from 1 to the number of `keys`.
    pub threshold: u32,
    /// The keys that count. A key and its successors count as one.
    pub keys: Vec<KeyName>,
    /// The requirement's position in the trust store.
    pub place: Option<RulePlace>,
}

/// The position of a rule in a trust store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The file's name in messages.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Too few of the required keys have signed an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFewSignatures {
    /// Number of keys that have to sign.
    pub threshold: u32,
    /// The keys that count.
    pub keys: Vec<KeyName>,
    /// The keys that have signed and are valid.
    pub signed: Vec<KeyName>,
    /// The position of the rule.
    pub place: Option<RulePlace>,
}

impl fmt::Display for TooFewSignatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |keys: &[KeyName]| keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "it needs signatures of {} of the keys {}", self.threshold, named(&self.keys))?;
        if let Some(place) = &self.place {
            write!(f, " (`require` in {place})")?;
        }
        f.write_str(", and has ")?;
        match self.signed.as_slice() {
            [] => f.write_str("none of theirs that counts"),
            signed => write!(f, "that of {} alone", named(signed)),
        }
    }
}

/// A key that has signed and is valid on its own.
#[derive(Clone, Debug)]
pub(super) struct CountedSigner {
    pub(super) key: KeyName,
    pub(super) not_after: Option<Timestamp>,
}

/// The result of counting an item's signatures.
pub(super) struct RequiredSigners {
    /// The indices of the signatures that the requirements have counted; that of the first one without a requirement.
    pub(super) counted: Vec<usize>,
    /// The time until which there are enough.
    pub(super) not_after: Option<Timestamp>,
}

impl TrustStore {
    /// Returns the requirements, in the order of the files that contain them. All that match an item apply to it.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Returns the first key of the succession that leads to a key.
    pub(super) fn author(&self, key: KeyId) -> KeyId {
        let before =
            |key: KeyId| self.entries(key).find_map(|entry| entry.succeeds.as_ref()).map(|key| key.id);
        let mut author = key;
        let mut seen = BTreeSet::new();
        while seen.insert(author) {
            match before(author) {
                Some(before) => author = before,
                None => return author,
            }
        }
        // A cyclic succession has no first key: its smallest one is the same for each key in it, or that leads into it.
        let mut smallest = author;
        let mut next = before(author);
        while let Some(key) = next.filter(|key| *key != author) {
            smallest = smallest.min(key);
            next = before(key);
        }
        smallest
    }

    /// Checks whether the valid ones among the keys that signed an item earlier satisfy the requirements for it at this time: for items
    /// that are stored without their signatures.
    pub fn still_enough(
        &self,
        item: &str,
        signed: &[KeyId],
        at: impl Into<Moment>,
    ) -> Result<(), TooFewSignatures> {
        let (item, at) = (path_of(item), at.into());
        let counted = signed.iter().filter_map(|key| self.allow(*key, item, at)?.ok());
        let counted: Vec<_> =
            counted.map(|entry| CountedSigner { key: entry.named(), not_after: entry.not_after }).collect();
        self.enough(item, &counted).map(|_| ())
    }

    /// Checks whether the keys that have signed an item, each valid on its own, are enough. Only this function interprets requirements, for
    /// items of every kind; a version in the id is ignored.
    pub(super) fn enough(
        &self,
        item: &str,
        signed: &[CountedSigner],
    ) -> Result<RequiredSigners, TooFewSignatures> {
        let item = path_of(item);
        let matching =
            self.requirements.iter().filter(|rule| rule.items.iter().any(|pattern| pattern.matches(item)));
        let mut counted = BTreeSet::new();
        let mut not_after = None;
        for rule in matching {
            let wanted: BTreeSet<KeyId> = rule.keys.iter().map(|key| self.author(key.id)).collect();
            let mut authors = BTreeSet::new();
            let mut ends = Vec::new();
            for (at, one) in signed.iter().enumerate() {
                let author = self.author(one.key.id);
                if wanted.contains(&author) && authors.insert(author) {
                    counted.insert(at);
                    ends.push(one.not_after.unwrap_or(Timestamp(u64::MAX)));
                }
            }
            let threshold = usize::try_from(rule.threshold).unwrap_or(usize::MAX);
            if ends.len() < threshold {
                let signed = signed.iter().filter(|one| wanted.contains(&self.author(one.key.id)));
                return Err(TooFewSignatures {
                    threshold: rule.threshold,
                    keys: rule.keys.clone(),
                    signed: signed.map(|one| one.key.clone()).collect(),
                    place: rule.place.clone(),
                });
            }
            // There are enough until the expiry of the last key that the threshold still needs.
            ends.sort_unstable_by(|one, other| other.cmp(one));
            let end = ends.get(threshold.saturating_sub(1)).copied();
            not_after = [not_after, end].into_iter().flatten().min();
        }
        if counted.is_empty() && !signed.is_empty() {
            return Ok(RequiredSigners { counted: vec![0], not_after: signed[0].not_after });
        }
        let not_after = not_after.filter(|end| *end != Timestamp(u64::MAX));
        Ok(RequiredSigners { counted: counted.into_iter().collect(), not_after })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::store::tests::entry;
    use super::*;
    use crate::trust::{SigningKey, TrustedKey};

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn name(seed: u8) -> KeyName {
        KeyName { name: format!("k{seed}"), id: key(seed).id() }
    }

    /// Keys 1 to 4, where 4 succeeds 1, and a requirement of `threshold` of 1, 2 and 3.
    fn store(threshold: u32) -> TrustStore {
        let mut keys: Vec<TrustedKey> =
            (1..=4).map(|seed| entry(&format!("k{seed}"), &key(seed), &["*"])).collect();
        keys[3].succeeds = Some(name(1));
        let items = vec![ItemPattern::parse("acme/*").unwrap()];
        let rule = Requirement { items, threshold, keys: vec![name(1), name(2), name(3)], place: None };
        TrustStore { keys, requirements: vec![rule], ..TrustStore::default() }
    }

    fn signed(seeds: &[u8]) -> Vec<CountedSigner> {
        let until = |seed: u8| Some(Timestamp(u64::from(seed) * 10));
        seeds.iter().map(|seed| CountedSigner { key: name(*seed), not_after: until(*seed) }).collect()
    }

    #[test]
    fn a_key_and_its_successor_count_as_one() {
        let store = store(2);
        assert!(store.enough("acme/x", &signed(&[1, 2])).is_ok());
        assert!(store.enough("acme/x", &signed(&[4, 2])).is_ok(), "a successor counts for its predecessor");
        let few = store.enough("acme/x", &signed(&[1, 4])).err().unwrap();
        let told = few.to_string();
        assert!(told.starts_with("it needs signatures of 2 of the keys `k1` ("), "{told}");
        assert!(told.contains("and has that of `k1` (") && told.ends_with(" alone"), "{told}");
        assert!(store.enough("other/x", &signed(&[1])).is_ok());
        assert!(store.enough("acme/x", &[]).is_err());
    }

    #[test]
    fn it_is_enough_until_the_threshold_is_not_reached_any_more() {
        let store = store(2);
        assert_eq!(store.enough("acme/x", &signed(&[1, 2, 3])).unwrap().not_after, Some(Timestamp(20)));
        let mut forever = signed(&[1, 2]);
        forever[0].not_after = None;
        assert_eq!(store.enough("acme/x", &forever).unwrap().not_after, Some(Timestamp(20)));
        forever[1].not_after = None;
        assert_eq!(store.enough("acme/x", &forever).unwrap().not_after, None);
        // Without a requirement only the first signature counts.
        let alone = store.enough("other/x", &signed(&[3, 1])).unwrap();
        assert_eq!((alone.counted, alone.not_after), (vec![0], Some(Timestamp(30))));
    }

    #[test]
    fn keys_of_earlier_signatures_are_enough_as_far_as_they_count() {
        let mut store = store(2);
        let ids = |seeds: &[u8]| seeds.iter().map(|seed| key(*seed).id()).collect::<Vec<_>>();
        let enough = |store: &TrustStore, item: &str, seeds: &[u8]| {
            store.still_enough(item, &ids(seeds), Timestamp(5)).is_ok()
        };
        assert!(enough(&store, "acme/x", &[1, 2]) && enough(&store, "other/x", &[]));
        for item in ["acme/x", "acme/x@1.2.3", "acme/x@1.2.3#run"] {
            assert!(!enough(&store, item, &[]) && !enough(&store, item, &[1, 4]), "{item}");
        }
        store.keys[1].not_after = Some(Timestamp(4));
        assert!(!enough(&store, "acme/x", &[1, 2]) && enough(&store, "acme/x", &[1, 3]));
    }

    #[test]
    fn a_succession_that_leads_back_to_itself_is_one_author() {
        let mut store = store(2);
        store.keys[0].succeeds = Some(name(4));
        assert_eq!(store.author(key(1).id()), store.author(key(4).id()));
        assert!(store.enough("acme/x", &signed(&[1, 4])).is_err());
    }

    #[test]
    fn a_key_that_leads_into_a_cycle_is_no_author_of_its_own() {
        // Whatever the order of the ids is, one of the keys outside has a smaller one than those of the cycle.
        for cycle in [[1, 2], [1, 3], [2, 3], [3, 4], [1, 4], [2, 4]] {
            let mut store = store(2);
            let outside: Vec<u8> = (1..=4).filter(|seed| !cycle.contains(seed)).collect();
            let mut follow =
                |seed: u8, before: u8| store.keys[usize::from(seed) - 1].succeeds = Some(name(before));
            follow(cycle[0], cycle[1]);
            follow(cycle[1], cycle[0]);
            follow(outside[0], cycle[0]);
            follow(outside[1], outside[0]);
            let authors: BTreeSet<KeyId> = (1..=4).map(|seed| store.author(key(seed).id())).collect();
            assert_eq!(authors.len(), 1, "{cycle:?}");
            assert!(store.enough("acme/x", &signed(&[1, 2, 3, 4])).is_err(), "{cycle:?}");
        }
    }

    proptest! {
        /// More signatures never invalidate, and there are enough exactly if that many authors have signed.
        #[test]
        fn enough_is_the_number_of_authors(seeds in prop::collection::vec(1u8..=4, 0..6), threshold in 1u32..=3) {
            let store = store(threshold);
            let authors: BTreeSet<u8> = seeds.iter().map(|seed| if *seed == 4 { 1 } else { *seed }).collect();
            let is_enough = store.enough("acme/x", &signed(&seeds)).is_ok();
            prop_assert_eq!(is_enough, authors.len() >= threshold as usize);
            let mut more = seeds.clone();
            more.push(2);
            prop_assert!(!is_enough || store.enough("acme/x", &signed(&more)).is_ok());
        }
    }
}
