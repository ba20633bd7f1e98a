//! `trust.yaml`: the trust store as a user writes it, and edits that leave the rest of the text unchanged.
//!
//! ```yaml
//! keys:
//!   - name: acme
//!     key: "…64 hexadecimal digits…"        # or a PEM block, `-----BEGIN PUBLIC KEY-----`
//!     items: ["acme/*"]                     # what it may sign
//!     ceiling: { kinds: [clocks], limits: { memory: 32MiB } }   # without it: logging alone
//!     not_before: 2026-01-01
//!     not_after: 2027-01-01T12:00:00Z
//!     revoked: 2026-06-01                   # or `true`
//!   - name: acme-2
//!     key: "…"
//!     items: ["acme/*"]
//!     succeeds: acme                        # both count as one where several have to sign
//! require:                                  # what one signature is not enough for; all that match an item hold
//!   - items: ["acme/pay/*"]
//!     threshold: 2
//!     keys: [acme, audit, board]
//! ```

mod read;
mod write;

use std::fmt::Write as _;

use self::read::read;
use self::write::{
    entry, fields_of, has_field, indent_of_entries, revocation_text, with_field, without_entry,
};
use super::key::KeyId;
use super::requirement::Requirement;
use super::rotation::Rotation;
use super::store::{Revocation, TrustStore, TrustedKey};
use crate::capability::{CapabilityKind, Ceiling, ItemPattern};
use crate::diagnostic::{Diagnostics, Problems};
use crate::time::Timestamp;
use crate::yaml;

/// The comment at the top of a new trust store.
const HEADER: &str = "# Whose signatures count on this machine: for which items, how far and how long.\n";

/// The reason why an edit of a trust store is not possible.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EditError {
    /// The store cannot be read.
    #[error("the trust store cannot be read")]
    Invalid(Box<Diagnostics>),
    /// The store already has a key with that name, or that key.
    #[error("the trust store already has {0}")]
    Exists(String),
    /// The store has no key with that name or id.
    #[error("the trust store has no key `{0}`")]
    NotFound(String),
    /// A key that does not count cannot name a successor.
    #[error("{0}")]
    Unbelieved(String),
    /// Another part of the store refers to the key.
    #[error("the key `{name}` is needed: {needed_by}")]
    Needed {
        /// The name of the key.
        name: String,
        /// The requirement or the key that refers to it.
        needed_by: String,
    },
}

/// A change of a key; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChange {
    /// The items that it may sign.
    pub items: Option<Vec<ItemPattern>>,
    /// The kinds of capabilities that its components may be granted, in addition to logging. Limits of the ceiling are kept.
    pub kinds: Option<Vec<CapabilityKind>>,
    /// The start of its validity; `Some(None)`: no start.
    pub not_before: Option<Option<Timestamp>>,
    /// The end of its validity; `Some(None)`: no end.
    pub not_after: Option<Option<Timestamp>>,
}

/// Settings for adding a key that succeeds another one.
#[derive(Clone, Debug, Default)]
pub struct Successor {
    /// The key's name; `None`: the old key's name with a number appended.
    pub name: Option<String>,
    /// The end of the old key's validity; `None`: unchanged.
    pub old_until: Option<Timestamp>,
    /// The end of the new key's validity; `None`: that of the old key.
    pub not_after: Option<Timestamp>,
}

impl TrustStore {
    /// Reads a trust store, with its warnings. `source_name` is the file's name in messages.
    pub fn from_yaml(source_name: &str, text: &str) -> Result<(Self, Diagnostics), Box<Diagnostics>> {
        let problems = Problems::new();
        let says_nothing =
            text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let store = if says_nothing {
            Some(Self::default())
        } else {
            yaml::parse(text, &problems).and_then(|root| read(source_name, &root, &problems))
        };
        problems.finish(source_name, text, store)
    }

    /// Adds a key to the text of a store. An empty text is a store without keys.
    pub fn add(source_name: &str, text: &str, key: &TrustedKey) -> Result<String, EditError> {
        let (mut store, _) = Self::from_yaml(source_name, text).map_err(EditError::Invalid)?;
        for present in store.keys() {
            if present.name == key.name {
                return Err(EditError::Exists(format!("a key named `{}`", key.name)));
            }
            if present.key == key.key {
                return Err(EditError::Exists(format!("this key, as {}", present.named())));
            }
        }
        store.keys.push(key.clone());
        let mut edited = match indent_of_entries(text) {
            Some(indent) => {
                text.to_owned() + if text.ends_with('\n') { "" } else { "\n" } + &entry(key, indent)
            }
            None => String::new(),
        };
        if !store.is_written_in(&edited) {
            edited = store.rewritten(text);
        }
        Ok(edited)
    }

    /// Revokes a key in the text of a store. The key is given by its name, its id or the first twelve or more digits of its id.
    pub fn revoke(
        source_name: &str,
        text: &str,
        name: &str,
        revocation: Revocation,
    ) -> Result<String, EditError> {
        let (mut store, _) = Self::from_yaml(source_name, text).map_err(EditError::Invalid)?;
        let at = store.position(name).ok_or_else(|| EditError::NotFound(super::shown(name)))?;
        store.keys[at].revoked = Some(revocation);
        let edited = with_field(text, at, "revoked", &revocation_text(revocation))
            .filter(|edited| store.is_written_in(edited));
        Ok(edited.unwrap_or_else(|| store.rewritten(text)))
    }

    /// Changes the settings of a key in the text of a store. The key is given by its name, its id or the beginning of its id. A revoked key
    /// remains revoked.
    pub fn set(source_name: &str, text: &str, name: &str, change: &KeyChange) -> Result<String, EditError> {
        let (mut store, _) = Self::from_yaml(source_name, text).map_err(EditError::Invalid)?;
        let at = store.position(name).ok_or_else(|| EditError::NotFound(super::shown(name)))?;
        let key = &mut store.keys[at];
        if let Some(items) = &change.items {
            key.items.clone_from(items);
        }
        if let Some(kinds) = &change.kinds {
            key.ceiling.kinds = Ceiling::from_kinds(kinds.iter().copied()).kinds;
        }
        if let Some(from) = change.not_before {
            key.not_before = from;
        }
        if let Some(until) = change.not_after {
            key.not_after = until;
        }
        let key = store.keys[at].clone();
        // If an edit cannot handle the entry's layout, the store is rewritten.
        let edited = fields_of(&key).into_iter().try_fold(text.to_owned(), |text, (field, value)| {
            let value = value.unwrap_or_else(|| "null".to_owned());
            if value == "null" && !has_field(&text, at, field) {
                Some(text)
            } else {
                with_field(&text, at, field, &value)
            }
        });
        let edited = edited.filter(|edited| store.is_written_in(edited));
        Ok(edited.unwrap_or_else(|| store.rewritten(text)))
    }

    /// Removes a key from the text of a store. Items that it has signed are then refused as signed by an unknown key. A key to which a rule
    /// or a later key refers cannot be removed.
    pub fn remove(source_name: &str, text: &str, name: &str) -> Result<String, EditError> {
        let (mut store, _) = Self::from_yaml(source_name, text).map_err(EditError::Invalid)?;
        let at = store.position(name).ok_or_else(|| EditError::NotFound(super::shown(name)))?;
        let key = store.keys[at].clone();
        let needed = |needed_by: String| EditError::Needed { name: super::shown(&key.name), needed_by };
        let follower = store
            .keys
            .iter()
            .find(|other| other.succeeds.as_ref().is_some_and(|before| before.id == key.id()));
        if let Some(follower) = follower {
            return Err(needed(format!("the key `{}` follows it", super::shown(&follower.name))));
        }
        if let Some(rule) =
            store.requirements.iter().find(|rule| rule.keys.iter().any(|named| named.id == key.id()))
        {
            let items: Vec<_> = rule.items.iter().map(|pattern| super::shown(pattern.as_str())).collect();
            return Err(needed(format!("a rule under `require` about {} names it", items.join(", "))));
        }
        store.keys.remove(at);
        let edited = without_entry(text, at).filter(|edited| store.is_written_in(edited));
        Ok(edited.unwrap_or_else(|| store.rewritten(text)))
    }

    /// Adds a key to the text of a store that succeeds one of its keys: it may sign the same items, with the same ceiling and dates. A key
    /// that does not count now cannot have a successor. Also returns the new entry's name.
    pub fn rotate(
        source_name: &str,
        text: &str,
        rotation: &Rotation,
        successor: &Successor,
        now: Timestamp,
    ) -> Result<(String, String), EditError> {
        let (mut store, _) = Self::from_yaml(source_name, text).map_err(EditError::Invalid)?;
        let old_id = rotation.old().id();
        let missing = || EditError::NotFound(old_id.to_string());
        let at = store.keys.iter().position(|key| key.id() == old_id).ok_or_else(missing)?;
        let old = store.keys[at].clone();
        if !old.is_valid(now) {
            let why = if old.is_revoked(now) { "is revoked" } else { "does not count at this time" };
            return Err(EditError::Unbelieved(format!(
                "the key {} {why}: whom it names is not believed",
                old.named()
            )));
        }
        let name = successor.name.clone().unwrap_or_else(|| store.free_name(&old.name));
        let new = TrustedKey {
            name: name.clone(),
            key: *rotation.new_key(),
            not_after: successor.not_after.or(old.not_after),
            succeeds: Some(old.named()),
            ..old.clone()
        };
        let added = Self::add(source_name, text, &new)?;
        store.keys.push(new);
        let Some(until) = successor.old_until.filter(|until| old.not_after.is_none_or(|end| *until < end))
        else {
            return Ok((added, name));
        };
        if old.not_before.is_some_and(|from| until < from) {
            return Err(EditError::Unbelieved(format!(
                "the key {} counts from a later time on than {until}: revoke it instead",
                old.named()
            )));
        }
        store.keys[at].not_after = Some(until);
        let edited = with_field(&added, at, "not_after", &until.to_string());
        let edited = edited.filter(|edited| store.is_written_in(edited));
        Ok((edited.unwrap_or_else(|| store.rewritten(text)), name))
    }

    /// Derives an unused name from that of another key.
    fn free_name(&self, name: &str) -> String {
        let stem = match name.rsplit_once('-') {
            Some((stem, number))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                stem
            }
            _ => name,
        };
        let is_free = |name: &String| self.keys.iter().all(|key| key.name != *name);
        // Among one more name than there are keys, one is free.
        let mut names = (0..=self.keys.len()).map(|number| format!("{stem}-{}", number + 2));
        names.find(is_free).unwrap_or_else(|| stem.to_owned())
    }

    /// Returns the key with a name, an id, or the beginning of an id.
    pub fn find(&self, name: &str) -> Option<&TrustedKey> {
        self.position(name).map(|at| &self.keys[at])
    }

    /// Returns the keys that succeed a key, directly or over other successors. Revoked ones are left out.
    pub fn successors(&self, id: KeyId) -> Vec<&TrustedKey> {
        let mut found: Vec<&TrustedKey> = Vec::new();
        let mut from = vec![id];
        while let Some(id) = from.pop() {
            for key in &self.keys {
                let follows = key.succeeds.as_ref().is_some_and(|before| before.id == id);
                if follows && !found.iter().any(|other| other.id() == key.id()) {
                    found.push(key);
                    from.push(key.id());
                }
            }
        }
        found.retain(|key| key.revoked.is_none());
        found
    }

    fn position(&self, name: &str) -> Option<usize> {
        let by_name = self.keys.iter().position(|key| key.name == name);
        by_name.or_else(|| {
            let is_id = name.len() >= 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            let mut found =
                self.keys.iter().enumerate().filter(|(_, key)| key.id().to_string().starts_with(name));
            let only = found.next().filter(|_| is_id && found.next().is_none());
            only.map(|(at, _)| at)
        })
    }

    /// Checks whether a text is read as exactly this store.
    fn is_written_in(&self, text: &str) -> bool {
        let (mut store, mut own) = match Self::from_yaml("", text) {
            Ok((store, _)) => (store, self.clone()),
            Err(_) => return false,
        };
        // An edit may move a rule.
        for rule in store.requirements.iter_mut().chain(&mut own.requirements) {
            rule.place = None;
        }
        store == own
    }

    /// Returns the text of a store with only the parts that decide about these items and signers: the signers' entries, the requirements
    /// that match an item, the keys in those, and the keys that they succeed; and with `more` entries.
    pub fn excerpt(&self, items: &[&str], signers: &[KeyId], more: Vec<TrustedKey>) -> String {
        let matches = |rule: &Requirement, item: &str| rule.items.iter().any(|pattern| pattern.matches(item));
        let requirements: Vec<_> = self
            .requirements
            .iter()
            .filter(|rule| items.iter().any(|item| matches(rule, item)))
            .cloned()
            .collect();
        let mut wanted: Vec<KeyId> = signers.to_vec();
        wanted.extend(requirements.iter().flat_map(|rule| rule.keys.iter().map(|key| key.id)));
        let mut at = 0;
        while let Some(&id) = wanted.get(at) {
            let before = self.entries(id).filter_map(|entry| entry.succeeds.as_ref()).map(|key| key.id);
            let before: Vec<_> = before.filter(|id| !wanted.contains(id)).collect();
            wanted.extend(before);
            at += 1;
        }
        let mut keys: Vec<TrustedKey> = Vec::new();
        for key in self.keys.iter().filter(|key| wanted.contains(&key.id())) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys.extend(more);
        Self { keys, requirements, ..Self::default() }.rewritten("")
    }

    /// Writes the whole store below the comments at the top of the text.
    fn rewritten(&self, text: &str) -> String {
        let comments: String = text
            .split_inclusive('\n')
            .take_while(|line| line.trim().is_empty() || line.starts_with('#'))
            .collect();
        let mut written = if comments.trim().is_empty() { HEADER.to_owned() } else { comments };
        if !written.ends_with('\n') {
            written.push('\n');
        }
        written.push_str(if self.keys.is_empty() { "keys: []\n" } else { "keys:\n" });
        for key in &self.keys {
            written.push_str(&entry(key, 2));
        }
        if !self.requirements.is_empty() {
            written.push_str("require:\n");
        }
        for rule in &self.requirements {
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let items: Vec<_> = rule.items.iter().map(|pattern| quoted(pattern.as_str())).collect();
            let keys: Vec<_> = rule.keys.iter().map(|key| quoted(&key.name)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                written,
                "  - items: [{}]\n    threshold: {}\n    keys: [{}]",
                items.join(", "),
                rule.threshold,
                keys.join(", ")
            );
        }
        written
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::super::store::tests::entry as trusted;
    use super::read::UNBOUNDED;
    use super::*;
    use crate::capability::{CapabilityKind, Ceiling};
    use crate::limits::TaskLimits;
    use crate::trust::SigningKey;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn full() -> TrustedKey {
        TrustedKey {
            ceiling: Ceiling {
                limits: Some(TaskLimits { memory: 32 << 20, timeout: Duration::from_secs(5), ..UNBOUNDED }),
                ..Ceiling::from_kinds([CapabilityKind::Clocks])
            },
            not_before: Some("2026-01-01".parse().unwrap()),
            not_after: Some("2027-01-01T12:00:00Z".parse().unwrap()),
            revoked: Some(Revocation::Since("2026-06-01".parse().unwrap())),
            ..trusted("acme", &key(1), &["acme/*", "shared/a"])
        }
    }

    fn store(text: &str) -> TrustStore {
        match TrustStore::from_yaml("trust.yaml", text) {
            Ok((store, warnings)) => {
                assert!(warnings.is_empty(), "{warnings:?}");
                store
            }
            Err(problems) => panic!("{problems:?}"),
        }
    }

    #[test]
    fn a_store_is_read_as_it_is_written() {
        let pem = key(1).verifying_key().to_pem().unwrap().replace('\n', "\n      ");
        let text = format!(
            "keys:\n  - name: acme\n    key: |\n      {}\n    items: [\"acme/*\", shared/a]\n    ceiling: {{ kinds: [clocks], limits: \
             {{ memory: 32MiB, timeout: 5s }} }}\n    not_before: 2026-01-01\n    not_after: 2027-01-01T12:00:00Z\n    revoked: 2026-06-01\n",
            pem.trim_end()
        );
        assert_eq!(store(&text).keys(), [full()]);
        assert_eq!(store("# nothing yet\n"), TrustStore::default());
        assert_eq!(store("keys: []"), TrustStore::default());
        let hex = key(2).verifying_key().hex();
        let short = store(&format!("keys: [{{name: b, key: \"{hex}\", items: [b/*], revoked: false}}]"));
        assert_eq!(short.keys(), [trusted("b", &key(2), &["b/*"])]);
    }

    #[test]
    fn what_is_said_of_a_key_can_be_changed() {
        let hex = key(1).verifying_key().hex();
        let text = format!(
            "# mine\nkeys:\n  - name: me # the laptop\n    key: \"{hex}\"\n    items: [\"me/*\"] # all\n    revoked: true\n  - name: b\n    \
             key: \"{}\"\n    items: [b/*]\n    not_after: 2030-01-01\n",
            key(2).verifying_key().hex()
        );
        let change = KeyChange {
            items: Some(vec![ItemPattern::parse("me/*").unwrap(), ItemPattern::parse("ours/*").unwrap()]),
            kinds: Some(vec![CapabilityKind::Filesystem]),
            not_before: Some(Some("2026-01-01".parse().unwrap())),
            not_after: None,
        };
        let edited = TrustStore::set("trust.yaml", &text, "me", &change).unwrap();
        let me = store(&edited).find("me").unwrap().clone();
        assert_eq!((me.items.len(), me.revoked), (2, Some(Revocation::Always)));
        assert_eq!(me.ceiling, Ceiling::from_kinds([CapabilityKind::Filesystem]));
        assert!(me.not_before.is_some());
        assert!(edited.contains("# the laptop") && edited.contains("# mine"), "{edited}");
        let forever = KeyChange { not_after: Some(None), ..KeyChange::default() };
        let edited = TrustStore::set("trust.yaml", &edited, "b", &forever).unwrap();
        assert_eq!(store(&edited).find("b").unwrap().not_after, None);
        assert!(matches!(
            TrustStore::set("trust.yaml", &text, "c", &forever),
            Err(EditError::NotFound(name)) if name == "c"
        ));
    }

    #[test]
    fn a_key_that_nothing_names_can_be_removed() {
        let [one, two, three] = [1, 2, 3].map(|seed| key(seed).verifying_key().hex());
        let text = format!(
            "# top\nkeys:\n  # the first\n  - name: a\n    key: \"{one}\"\n    items: [a/*]\n  - {{ name: b, key: \"{two}\", items: [b/*] }}\n  \
             - name: c\n    key: \"{three}\"\n    items: [c/*]\n    succeeds: b\nrequire:\n  - items: [c/*]\n    threshold: 1\n    keys: [c]\n",
        );
        for (name, needed) in [("b", "`c` follows it"), ("c", "under `require` about c/*")] {
            let refused = TrustStore::remove("trust.yaml", &text, name).unwrap_err().to_string();
            assert!(refused.contains(needed), "{refused}");
        }
        let edited = TrustStore::remove("trust.yaml", &text, "a").unwrap();
        assert_eq!(store(&edited).keys().len(), 2);
        assert!(edited.contains("# top") && edited.contains("- { name: b"), "{edited}");
        let last = format!("keys:\n  - name: a\n    key: \"{one}\"\n    items: [a/*]\n");
        assert_eq!(store(&TrustStore::remove("trust.yaml", &last, "a").unwrap()), TrustStore::default());
    }

    #[test]
    fn keys_are_found_by_name_and_by_id() {
        let store = TrustStore::new(vec![trusted("a", &key(1), &["a/*"]), trusted("b", &key(2), &["b/*"])]);
        let id = key(2).id().to_string();
        for name in ["b", &id, &id[..12]] {
            assert_eq!(store.find(name).unwrap().name, "b", "{name}");
        }
        assert!(store.find(&id[..8]).is_none());
        assert!(store.find("c").is_none());
    }

    #[test]
    fn edits_keep_what_they_do_not_concern() {
        let one = trusted("one", &key(3), &["one/*"]);
        let mut text = TrustStore::add("t", "", &one).unwrap();
        text = text.replace("items: [", "items:   [");
        text.push_str("    # the end of one\n");
        text = TrustStore::add("t", &text, &full()).unwrap();
        text =
            TrustStore::revoke("t", &text, "one", Revocation::Since(Timestamp(1_900_000_000_000))).unwrap();
        text = TrustStore::revoke("t", &text, "acme", Revocation::Always).unwrap();
        insta::assert_snapshot!(text);
        let revoked = |key: TrustedKey, revoked| TrustedKey { revoked: Some(revoked), ..key };
        assert_eq!(
            store(&text).keys(),
            [
                revoked(one, Revocation::Since(Timestamp(1_900_000_000_000))),
                revoked(full(), Revocation::Always)
            ]
        );
    }

    #[test]
    fn what_cannot_be_edited_in_place_is_written_anew_below_its_comments() {
        let hex = key(3).verifying_key().hex();
        let flow = format!("# mine\n\nkeys: [{{ name: one, key: \"{hex}\", items: [one/*] }}]");
        let added = TrustStore::add("t", &flow, &full()).unwrap();
        let revoked = TrustStore::revoke("t", &flow, "one", Revocation::Always).unwrap();
        insta::assert_snapshot!(format!("{added}\n---\n{revoked}"));
        assert_eq!(store(&added).keys().len(), 2);
        assert!(store(&revoked).keys()[0].is_revoked(Timestamp(0)));
    }

    #[test]
    fn edits_that_cannot_be_are_refused() {
        let text = TrustStore::add("t", "", &full()).unwrap();
        let other_name = trusted("other", &key(1), &["a/*"]);
        let other_key = trusted("acme", &key(2), &["a/*"]);
        let errors = [
            TrustStore::add("t", &text, &other_name).unwrap_err(),
            TrustStore::add("t", &text, &other_key).unwrap_err(),
            TrustStore::revoke("t", &text, "nobody", Revocation::Always).unwrap_err(),
            TrustStore::add("t", "keys: {", &full()).unwrap_err(),
        ]
        .map(|error| error.to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        let hex = key(1).verifying_key().hex();
        let text = format!(
            "keys:\n  - name: a\n    key: abc\n    items: []\n  - {{ name: \"\", key: 5, items: [\"a b\", 7], more: 1 }}\n  \
             - name: c\n    key: \"{hex}\"\n    items: [c/*]\n    ceiling: {{ kinds: [], limits: {{}} }}\n    not_before: tomorrow\n    \
             not_after: 12\n    revoked: maybe\n  - name: d\n    key: \"{hex}\"\n    items: [d/*]\n    ceiling: {{ kinds: [sockets], limits: \
             {{ memory: much, fuel: 0 }} }}\n  - name: e\n    key: \"{hex}\"\n    items: [e/*]\n    not_before: 2027-01-01\n    not_after: 2026-01-01\n  \
             - name: e\n    key: \"{hex}\"\n    items: [e/*]\n    unknown: 1\nother: 1\n"
        );
        let problems = TrustStore::from_yaml("trust.yaml", &text).unwrap_err();
        insta::assert_snapshot!(problems.to_lines().join("\n"));
    }
}
