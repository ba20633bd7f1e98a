//! Tables of keys.

use super::shape::Shape;

/// The keys that a mapping may have. Two tables are the same table if they have the same name.
#[derive(Debug)]
pub struct KeyTable {
    /// A short name without blanks: the name in `$defs` of a schema, in the reference and in `explain TABLE.KEY`.
    pub name: &'static str,
    /// The name of the mapping in messages and headings, such as "a node".
    pub title: &'static str,
    /// The keys, in the order in which the reference shows them.
    pub keys: &'static [Key],
}

/// A key of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key as it is written.
    pub name: &'static str,
    /// The type of its value.
    pub shape: Shape,
    /// `true` if the mapping needs the key.
    pub is_required: bool,
    /// `true` if `key:` without a value means the same as no key.
    pub may_be_blank: bool,
    /// The default, as YAML or in words; empty if there is none.
    pub default: &'static str,
    /// The values of the mapping's `type` for which the key has a meaning; empty for all.
    pub only_for: &'static [&'static str],
    /// The meaning of the key, in one or two sentences without a full stop at the end.
    pub about: &'static str,
}

/// Returns a text for readers of the reference, a JSON Schema or `explain`. The walker of a page shows none of them, and omits them to be
/// smaller.
pub(crate) const fn described(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

impl Key {
    /// Creates an optional key without a default.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            shape,
            is_required: false,
            may_be_blank: false,
            default: "",
            only_for: &[],
            about: described(about),
        }
    }

    /// Makes the key required.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Sets the default.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default: described(default), ..self }
    }

    /// Permits the key without a value.
    #[must_use]
    pub const fn blank(self) -> Self {
        Self { may_be_blank: true, ..self }
    }

    /// Restricts the key to mappings of these types.
    #[must_use]
    pub const fn only_for(self, kinds: &'static [&'static str]) -> Self {
        Self { only_for: kinds, ..self }
    }
}

impl Key {
    /// Checks whether the row describes every key that begins with its name, as `state.` describes `state.stats.rows`.
    pub fn is_prefix(&self) -> bool {
        self.name.ends_with('.')
    }
}

impl KeyTable {
    /// Returns the row of a key.
    pub fn find(&self, key: &str) -> Option<&'static Key> {
        self.keys.iter().find(|row| row.name == key)
    }

    /// Returns the only key of this table whose value is a mapping with the given key; `None` if there are several.
    pub fn owner_below(&self, key: &str) -> Option<&'static str> {
        let mut owners = self.keys.iter().filter(|row| {
            let mut below = Vec::new();
            row.shape.tables(&mut below);
            below.iter().any(|table| table.find(key).is_some())
        });
        owners.next().filter(|_| owners.next().is_none()).map(|row| row.name)
    }

    /// Returns the names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.keys.iter().map(|row| row.name)
    }
}

/// Returns the tables of a document of this shape and all tables to which their keys lead, each once, in reading order.
pub fn reachable(document: &Shape) -> Vec<&'static KeyTable> {
    let mut found: Vec<&'static KeyTable> = Vec::new();
    let mut open = Vec::new();
    document.tables(&mut open);
    open.reverse();
    while let Some(table) = open.pop() {
        if found.iter().any(|known| known.name == table.name) {
            continue;
        }
        found.push(table);
        let mut below = Vec::new();
        for key in table.keys {
            key.shape.tables(&mut below);
        }
        open.extend(below.into_iter().rev());
    }
    found
}
