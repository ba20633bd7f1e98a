//! The digest of a map that changes a little at a time: a hash tree whose shape follows from its keys alone.
//!
//! Equal maps have equal digests, whatever the order of insertions and earlier entries. A change costs as many digests as the tree is
//! deep, about the logarithm of the number of entries; a small map is digested as a whole, which is cheaper.
//! `host/docs/design/state-digest.md` specifies it, with vectors.

use std::collections::BTreeMap;
use std::mem;

use crate::digest::{Digest, DomainHasher};

/// Largest number of entries that are digested together.
const BUCKET: usize = 16;

/// The names and digests of a map's entries, with the digests of the tree's nodes.
#[derive(Clone, Debug, Default)]
pub struct DigestTree {
    top: Node,
}

#[derive(Clone, Debug)]
struct Node {
    /// The digest of the node; `None` if an entry below has changed since it was computed.
    digest: Option<Digest>,
    below: Below,
}

#[derive(Clone, Debug)]
enum Below {
    Bucket(BTreeMap<String, Digest>),
    /// More entries than a bucket holds: those without and those with the bit of this depth.
    Branch {
        count: usize,
        sides: Box<[Node; 2]>,
    },
}

impl Default for Node {
    fn default() -> Self {
        Self { digest: None, below: Below::Bucket(BTreeMap::new()) }
    }
}

impl DigestTree {
    /// Inserts an entry, or replaces its digest.
    pub fn set(&mut self, name: &str, value: Digest) {
        self.top.set(name, value, &mut KeyPosition::new(name), 0);
    }

    /// Removes an entry, and returns `true` if it was present.
    pub fn remove(&mut self, name: &str) -> bool {
        self.top.remove(name, &mut KeyPosition::new(name), 0)
    }

    /// Returns the digest of all entries.
    pub fn digest(&mut self) -> Digest {
        self.top.digest()
    }
}

impl Node {
    /// Inserts an entry, and returns `true` if it is new.
    fn set(&mut self, name: &str, value: Digest, place: &mut KeyPosition<'_>, depth: u16) -> bool {
        self.digest = None;
        match &mut self.below {
            Below::Bucket(entries) => {
                if let Some(known) = entries.get_mut(name) {
                    *known = value;
                    return false;
                }
                entries.insert(name.to_owned(), value);
                if entries.len() > BUCKET {
                    let entries = mem::take(entries);
                    self.split(entries, depth);
                }
                true
            }
            Below::Branch { count, sides } => {
                let is_new = sides[place.side(depth)].set(name, value, place, depth + 1);
                *count += usize::from(is_new);
                is_new
            }
        }
    }

    /// Creates a branch from more entries than a bucket holds.
    fn split(&mut self, entries: BTreeMap<String, Digest>, depth: u16) {
        let count = entries.len();
        let mut sides = Box::new([Self::default(), Self::default()]);
        for (name, value) in entries {
            let mut place = KeyPosition::new(&name);
            sides[place.side(depth)].set(&name, value, &mut place, depth + 1);
        }
        self.below = Below::Branch { count, sides };
    }

    /// Removes an entry, and returns `true` if it was present.
    fn remove(&mut self, name: &str, place: &mut KeyPosition<'_>, depth: u16) -> bool {
        let was_there = match &mut self.below {
            Below::Bucket(entries) => entries.remove(name).is_some(),
            Below::Branch { count, sides } => {
                let was_there = sides[place.side(depth)].remove(name, place, depth + 1);
                *count -= usize::from(was_there);
                if *count <= BUCKET {
                    let mut entries = BTreeMap::new();
                    self.take_entries(&mut entries);
                    self.below = Below::Bucket(entries);
                }
                was_there
            }
        };
        if was_there {
            self.digest = None;
        }
        was_there
    }

    fn take_entries(&mut self, all: &mut BTreeMap<String, Digest>) {
        match &mut self.below {
            Below::Bucket(entries) => all.append(entries),
            Below::Branch { sides, .. } => sides.iter_mut().for_each(|side| side.take_entries(all)),
        }
    }

    fn digest(&mut self) -> Digest {
        if let Some(digest) = self.digest {
            return digest;
        }
        let digest = match &mut self.below {
            Below::Bucket(entries) => {
                let names: usize = entries.keys().map(String::len).sum();
                let mut bytes = Vec::with_capacity(names + entries.len() * 36);
                for (name, value) in entries {
                    // A name is far shorter than 4 GiB, since it is part of a document.
                    bytes.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
                    bytes.extend_from_slice(name.as_bytes());
                    bytes.extend_from_slice(value.as_bytes());
                }
                DomainHasher::new("graph-host/channels/v1").field(&bytes).finish()
            }
            Below::Branch { sides, .. } => {
                let [left, right] = &mut **sides;
                let digest = DomainHasher::new("graph-host/channels-branch/v1").digest(&left.digest());
                digest.digest(&right.digest()).finish()
            }
        };
        self.digest = Some(digest);
        digest
    }
}

/// The path of an entry in the tree: the bits of a digest of its name, computed on demand, since small trees need none.
struct KeyPosition<'n> {
    name: &'n str,
    digest: Option<Digest>,
}

impl<'n> KeyPosition<'n> {
    const fn new(name: &'n str) -> Self {
        Self { name, digest: None }
    }

    /// Returns the bit of a depth, the first one being the highest of the first byte: 0 or 1.
    fn side(&mut self, depth: u16) -> usize {
        let digest = self.digest.get_or_insert_with(|| {
            DomainHasher::new("graph-host/channel-place/v1").field(self.name.as_bytes()).finish()
        });
        // No two names share 256 bits, so no tree is deeper.
        let byte = digest.as_bytes().get(usize::from(depth / 8)).copied().unwrap_or_default();
        usize::from(byte >> (7 - depth % 8) & 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    /// Computes the digest as specified: from all entries at once.
    fn specified(entries: &[(&String, &Digest)], depth: u16) -> Digest {
        if entries.len() <= BUCKET {
            let bytes: Vec<u8> = entries
                .iter()
                .flat_map(|(name, value)| {
                    let length = u32::try_from(name.len()).unwrap().to_le_bytes();
                    [&length[..], name.as_bytes(), value.as_bytes()].concat()
                })
                .collect();
            return DomainHasher::new("graph-host/channels/v1").field(&bytes).finish();
        }
        let side = |wanted: usize| {
            let entries: Vec<_> = entries
                .iter()
                .filter(|(name, _)| KeyPosition::new(name).side(depth) == wanted)
                .copied()
                .collect();
            specified(&entries, depth + 1)
        };
        DomainHasher::new("graph-host/channels-branch/v1").digest(&side(0)).digest(&side(1)).finish()
    }

    fn digest_of(number: u8) -> Digest {
        Digest::of_bytes(&[number])
    }

    #[test]
    fn vectors() {
        let mut tree = DigestTree::default();
        let mut told = vec![tree.digest()];
        for number in 0..40 {
            let name = if number == 1 { "é".to_owned() } else { format!("n{number}") };
            tree.set(&name, digest_of(number));
            if [0, 1, 15, 16, 39].contains(&number) {
                told.push(tree.digest());
            }
        }
        let told: Vec<_> = told.iter().map(Digest::to_string).collect();
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn it_is_the_same_whatever_was_there_before(
            changes in proptest::collection::vec(("[a-h]{0,2}", proptest::option::weighted(0.7, any::<u8>())), 0..300),
        ) {
            let (mut tree, mut entries) = (DigestTree::default(), BTreeMap::new());
            for (name, change) in changes {
                if let Some(number) = change {
                    tree.set(&name, digest_of(number));
                    entries.insert(name, digest_of(number));
                } else {
                    prop_assert_eq!(tree.remove(&name), entries.remove(&name).is_some());
                }
                let all: Vec<_> = entries.iter().collect();
                prop_assert_eq!(tree.digest(), specified(&all, 0));
            }
        }
    }
}
