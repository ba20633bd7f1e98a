//! The lockfile: the exact artifacts that a project has pulled.
//!
//! ```yaml
//! version: 1
//! tools:
//!   "acme/fetch":
//!     kind: component
//!     reference: "oci://registry.example/acme/fetch:1.2.0"
//!     version: "1.2.0"
//!     manifest: "sha256:…"
//!     digest: "sha256:…"
//!     key: "…"
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use graph_core::diagnostic::{Diagnostic, Diagnostics, Problems, codes};
use graph_core::digest::Digest;
use graph_core::id::ItemId;
use graph_core::item::ItemType;
use graph_core::keys::{Key, KeyTable, Shape};
use graph_core::trust::KeyId;
use graph_core::yaml::{self, Fields, Node};
use semver::Version;

use crate::artifact::{Kind, is_version};
use crate::reference::Reference;

/// The name of a project's lockfile.
pub const FILE: &str = "graph-host.lock";

/// The version of the format.
const FORMAT: u64 = 1;

/// The sections of the file, by the types of items.
const SECTIONS: [(&str, ItemType); 3] =
    [("directives", ItemType::Directive), ("knowledge", ItemType::Knowledge), ("tools", ItemType::Tool)];

const ENTRIES: Shape = Shape::Map("item ids", &Shape::Table(&ENTRY));

/// The keys of a lockfile.
static LOCKFILE: KeyTable = KeyTable {
    name: "lockfile",
    title: "the lockfile",
    keys: &[
        Key::new("version", Shape::Integer(1, FORMAT), "The version of the format").required(),
        Key::new(SECTIONS[0].0, ENTRIES, "Directives").blank(),
        Key::new(SECTIONS[1].0, ENTRIES, "Knowledge").blank(),
        Key::new(SECTIONS[2].0, ENTRIES, "Tools and graphs").blank(),
    ],
};

/// The keys of an entry.
static ENTRY: KeyTable = KeyTable {
    name: "locked",
    title: "an entry of the lockfile",
    keys: &[
        Key::new("kind", Shape::Text(""), "What kind of artifact it is").required(),
        Key::new("reference", Shape::Text(""), "Where it was pulled from").required(),
        Key::new("version", Shape::Text(""), "Its version").required(),
        Key::new("manifest", Shape::Text(""), "The digest of its OCI manifest").required(),
        Key::new("digest", Shape::Text(""), "The digest of its bytes").required(),
        Key::new("key", Shape::Text(""), "The key that signed it").required(),
    ],
};

/// The entries of a lockfile: by type and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    entries: BTreeMap<(&'static str, String), LockedItem>,
}

/// An item that is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedItem {
    /// The kind of the item.
    pub kind: Kind,
    /// The reference by which it was pulled.
    pub reference: Reference,
    /// The version that was pulled. A later pull of an older one is refused.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of its content.
    pub digest: Digest,
    /// The key by whose signature it was admitted.
    pub key: KeyId,
}

/// The reasons for which a pulled artifact may not replace the locked or installed one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum Departure {
    /// The same tag or version now names other bytes.
    #[error("{reference} has moved since `{id}` was {held}: it was {before}, and is {now}")]
    Moved {
        id: String,
        /// The reference that was pulled.
        reference: String,
        /// `locked` or `installed`.
        held: &'static str,
        /// The digest of the manifest that is locked or installed.
        before: Digest,
        /// The digest of the manifest that the reference names now.
        now: Digest,
    },
    /// The version is older.
    #[error("{reference} is `{id}` {found}, and {version} is {held}: that would be a step back")]
    Rollback {
        id: String,
        /// The reference that was pulled.
        reference: String,
        /// `locked` or `installed`.
        held: &'static str,
        /// The version that is locked or installed.
        version: String,
        /// The version that was pulled.
        found: String,
    },
    /// The same bytes are signed with another key.
    #[error("`{id}` was {held} with a signature of the key {before}, and has one of {now}")]
    OtherKey {
        id: String,
        /// `locked` or `installed`.
        held: &'static str,
        /// The key whose signature was accepted before.
        before: KeyId,
        /// The key whose signature is accepted now.
        now: KeyId,
    },
}

/// The differences that the user allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowedDepartures {
    /// True if an older version is allowed.
    pub downgrade: bool,
    /// True if a tag may name a higher version now, and the same artifact may be signed with another key.
    pub higher: bool,
    /// True if a tag may name other bytes of the same version.
    pub moved: bool,
}

impl LockedItem {
    /// Checks that `found`, which was pulled by its own reference, may replace this entry.
    pub fn succeeded_by(
        &self,
        id: &str,
        found: &Self,
        held: &'static str,
        allowed: AllowedDepartures,
    ) -> Result<(), Box<Departure>> {
        if self.manifest == found.manifest {
            if self.key == found.key || allowed.higher {
                return Ok(());
            }
            let (before, now) = (self.key, found.key);
            return Err(Box::new(Departure::OtherKey { id: id.to_owned(), held, before, now }));
        }
        let reference = || Reference { digest: None, ..found.reference.clone() }.to_string();
        let order = order(&self.version, &found.version);
        if order == std::cmp::Ordering::Greater {
            if allowed.downgrade {
                return Ok(());
            }
            return Err(Box::new(Departure::Rollback {
                id: id.to_owned(),
                reference: reference(),
                held,
                version: self.version.clone(),
                found: found.version.clone(),
            }));
        }
        let same_tag = self.reference.place == found.reference.place
            && self.reference.tag == found.reference.tag
            && found.reference.digest.is_none();
        let is_same = order == std::cmp::Ordering::Equal;
        if (is_same && !allowed.moved) || (!is_same && same_tag && !allowed.higher) {
            return Err(Box::new(Departure::Moved {
                id: id.to_owned(),
                reference: reference(),
                held,
                before: self.manifest,
                now: found.manifest,
            }));
        }
        Ok(())
    }
}

/// Compares two versions. Versions that differ only in their build metadata are equal.
fn order(one: &str, other: &str) -> std::cmp::Ordering {
    match (Version::parse(one), Version::parse(other)) {
        (Ok(one), Ok(other)) => one.cmp_precedence(&other),
        _ => one.cmp(other),
    }
}

const fn section(item_type: ItemType) -> &'static str {
    match item_type {
        ItemType::Directive => SECTIONS[0].0,
        ItemType::Knowledge => SECTIONS[1].0,
        ItemType::Tool => SECTIONS[2].0,
    }
}

impl Lock {
    /// Reports whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all entries, in order of types and ids.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LockedItem)> {
        self.entries.iter().map(|((_, id), locked)| (id.as_str(), locked))
    }

    /// Returns the entry of an item.
    pub fn get(&self, item_type: ItemType, id: &str) -> Option<&LockedItem> {
        self.entries.get(&(section(item_type), id.to_owned()))
    }

    /// Adds an entry, which replaces the item's earlier one.
    pub fn insert(&mut self, id: &str, locked: LockedItem) {
        self.entries.insert((section(locked.kind.item_type()), id.to_owned()), locked);
    }

    /// Parses a lockfile. `name` is its file name, for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, Box<Diagnostics>> {
        let problems = Problems::new();
        let lock = yaml::parse(text, &problems).and_then(|root| read(&root, &problems));
        problems.finish(name, text, lock).map(|(lock, _)| lock)
    }

    /// Formats the lockfile. It is sorted, so that a change of one item changes only the lines of that item.
    pub fn to_text(&self) -> String {
        let mut text = String::from(
            "# The digest of each artifact that was pulled: written when artifacts are pulled and locked. Keep it under version control.\n",
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "version: {FORMAT}");
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        for (section, _) in SECTIONS {
            let mut entries = self.entries.iter().filter(|((of, _), _)| *of == section).peekable();
            if entries.peek().is_some() {
                let _ = writeln!(text, "{section}:");
            }
            for ((_, id), locked) in entries {
                let _ = write!(
                    text,
                    "  {}:\n    kind: {}\n    reference: {}\n    version: {}\n    manifest: {}\n    digest: {}\n    key: {}\n",
                    quoted(id),
                    locked.kind.as_str(),
                    quoted(&locked.reference.to_string()),
                    quoted(&locked.version),
                    quoted(&locked.manifest.to_string()),
                    quoted(&locked.digest.to_string()),
                    quoted(&locked.key.to_string()),
                );
            }
        }
        text
    }
}

fn read(root: &Node, problems: &Problems) -> Option<Lock> {
    let mut fields = Fields::open(root, &LOCKFILE, "the lockfile", problems)?;
    if let Some(node) = fields.required("version") {
        node.format_version("the lockfile", FORMAT, problems);
    }
    let mut lock = Lock::default();
    for (section, item_type) in SECTIONS {
        let Some(items) = fields.filled(section) else { continue };
        let Some(items) = items.mapping(format!("`{section}`"), problems) else { continue };
        for entry in items {
            let id = entry.key.name.as_str();
            let is_id = ItemId::parse(id).is_ok_and(|id| id.version().is_none());
            if !is_id {
                let message = format!("`{}` is not an item id", crate::manifest::shown(id));
                problems.push(
                    Diagnostic::error(codes::LOCK_ENTRY, entry.key.span, message).label("not an item id"),
                );
            }
            let Some(locked) = read_entry(id, item_type, &entry.value, problems) else { continue };
            lock.entries.insert((section, id.to_owned()), locked);
        }
    }
    fields.finish();
    Some(lock)
}

fn read_entry(id: &str, item_type: ItemType, node: &Node, problems: &Problems) -> Option<LockedItem> {
    let mut fields =
        Fields::open(node, &ENTRY, format!("the entry of `{}`", crate::manifest::shown(id)), problems)?;
    let kinds: Vec<_> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.item_type() == item_type)
        .map(|kind| (kind.as_str(), kind))
        .collect();
    let kind = fields.required("kind").and_then(|node| node.choice("`kind`", &kinds, problems));
    let reference =
        value(&mut fields, "reference", |text| text.parse::<Reference>().map_err(|error| error.to_string()));
    let version = value(&mut fields, "version", |text| {
        if is_version(text) { Ok(text.to_owned()) } else { Err("a version is like 1.2.3".to_owned()) }
    });
    let digest = |text: &str| {
        let parsed = text.strip_prefix("sha256:").and_then(|_| text.parse::<Digest>().ok());
        parsed.ok_or_else(|| "a digest is `sha256:` and 64 lower-case hexadecimal digits".to_owned())
    };
    let manifest = value(&mut fields, "manifest", digest);
    let content = value(&mut fields, "digest", digest);
    let key = value(&mut fields, "key", |text| {
        text.parse::<KeyId>().map_err(|_| "a key id is 64 lower-case hexadecimal digits".to_owned())
    });
    fields.finish();
    Some(LockedItem {
        kind: kind?,
        reference: reference?,
        version: version?,
        manifest: manifest?,
        digest: content?,
        key: key?,
    })
}

/// Returns the value of a required key. A problem with it is reported.
fn value<T>(
    fields: &mut Fields<'_>,
    key: &'static str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    let problems = fields.problems();
    let node = fields.required(key)?;
    let text = node.text(format!("`{key}`"), problems)?;
    read(text)
        .map_err(|reason| {
            let message = format!("`{key}`: {reason}");
            problems.push(Diagnostic::error(codes::LOCK_ENTRY, node.span, message).label("not usable"));
        })
        .ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn locked(version: &str, bytes: &[u8], reference: &str) -> LockedItem {
        LockedItem {
            kind: Kind::Component,
            reference: reference.parse().unwrap(),
            version: version.to_owned(),
            manifest: Digest::of_bytes(bytes),
            digest: Digest::of_bytes(b"content"),
            key: Digest::of_bytes(b"key").hex().parse().unwrap(),
        }
    }

    const AT: &str = "oci://registry.example/a/b:1.0.0";

    #[test]
    fn a_lockfile_round_trips_in_order() {
        let mut lock = Lock::default();
        lock.insert("b/c", locked("1.0.0", b"1", AT));
        lock.insert("a/b", locked("1.0.0", b"2", "oci-layout:some dir:a/b:1.0.0"));
        lock.insert("a/b", LockedItem { kind: Kind::Knowledge, ..locked("1.0.0", b"3", AT) });
        let text = lock.to_text();
        assert_eq!(Lock::parse("graph-host.lock", &text).unwrap(), lock);
        assert!(text.find("\"a/b\"").unwrap() < text.find("\"b/c\"").unwrap());
        assert!(Lock::parse("l", &Lock::default().to_text()).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_lockfile_is_told_all_at_once() {
        let text = "version: 1\ntools:\n  ../x:\n    kind: knowledge\n    reference: http://x\n    version: 1\n    manifest: sha256:0\n    colour: red\n";
        let problems = Lock::parse("graph-host.lock", text).unwrap_err().to_lines().join("\n");
        for part in
            ["item id", "`kind`", "`reference`", "`version`", "`manifest`", "`digest`", "`key`", "colour"]
        {
            assert!(problems.contains(part), "{part}: {problems}");
        }
        assert!(Lock::parse("l", "version: 2\n").is_err());
        assert!(Lock::parse("l", "").is_err());
    }

    #[test]
    fn a_step_back_and_a_moved_tag_are_refused() {
        let held = locked("1.2.0", b"1", AT);
        let step = |found: LockedItem, allowed| held.succeeded_by("a/b", &found, "locked", allowed);
        let (none, all) =
            (AllowedDepartures::default(), AllowedDepartures { downgrade: true, higher: true, moved: true });
        assert_eq!(step(held.clone(), none), Ok(()));

        let other = "oci://registry.example/a/b:1.3.0";
        assert_eq!(step(locked("1.3.0", b"2", other), none), Ok(()));
        let higher = locked("1.3.0", b"2", AT);
        assert!(matches!(step(higher.clone(), none).map_err(|error| *error), Err(Departure::Moved { .. })));
        assert_eq!(step(higher, AllowedDepartures { higher: true, ..none }), Ok(()));

        for reference in [AT, other] {
            let moved = locked("1.2.0", b"2", reference);
            let error = step(moved.clone(), AllowedDepartures { moved: false, ..all }).unwrap_err();
            let (before, now) = (Digest::of_bytes(b"1").to_string(), Digest::of_bytes(b"2").to_string());
            assert!(error.to_string().contains(&before) && error.to_string().contains(&now), "{error}");
            assert_eq!(step(moved, all), Ok(()));

            let older = locked("1.2.0-rc.1", b"2", reference);
            let refused = step(older.clone(), AllowedDepartures { downgrade: false, ..all });
            assert!(matches!(refused.map_err(|error| *error), Err(Departure::Rollback { .. })));
            assert_eq!(step(older, AllowedDepartures { downgrade: true, ..none }), Ok(()));
        }
        let rekeyed = LockedItem { key: Digest::of_bytes(b"other").hex().parse().unwrap(), ..held.clone() };
        assert!(matches!(
            step(rekeyed.clone(), none).map_err(|error| *error),
            Err(Departure::OtherKey { .. })
        ));
        assert_eq!(step(rekeyed, AllowedDepartures { higher: true, ..none }), Ok(()));
        let build = locked("1.2.0+2", b"2", other);
        assert!(matches!(step(build, none).map_err(|error| *error), Err(Departure::Moved { .. })));
    }
}
