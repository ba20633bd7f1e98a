//! Tables of keys.

use super::shape::Shape;

/// The keys that a mapping may have. Two tables are the same table if they have the same name.
#[derive(Debug)]
pub struct KeyTable {
    /// A short name without blanks: the name in `$defs` of a schema, in the reference and in `explain TABLE.KEY`.
    pub name: &'static str,
    /// What messages and headings call the mapping, such as "a node".
    pub title: &'static str,
    /// The keys, in the order in which the reference shows them.
    pub keys: &'static [Key],
}

/// A key of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key as it is written.
    pub name: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether the mapping cannot be used without it.
    pub is_required: bool,
    /// Whether `key:` without a value means the same as no key.
    pub may_be_blank: bool,
    /// What holds without it, as YAML or in words; empty if nothing does.
    pub default: &'static str,
    /// The values of the mapping's `type` for which the key has a meaning; empty for all.
    pub only_for: &'static [&'static str],
    /// What the key does, in one or two sentences without a full stop at the end.
    pub about: &'static str,
}

/// Text for people who read the reference, a JSON Schema or `explain`. The walker of a page shows none of them, and is smaller without.
pub(crate) const fn described(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

impl Key {
    /// An optional key without a default.
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

    /// The same key, required.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// The same key with a default.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default: described(default), ..self }
    }

    /// The same key, which may be written without a value.
    #[must_use]
    pub const fn blank(self) -> Self {
        Self { may_be_blank: true, ..self }
    }

    /// The same key, for mappings of these types only.
    #[must_use]
    pub const fn only_for(self, kinds: &'static [&'static str]) -> Self {
        Self { only_for: kinds, ..self }
    }
}

impl Key {
    /// Whether the row is about every key that begins with its name, as `state.` is about `state.stats.rows`.
    pub fn is_prefix(&self) -> bool {
        self.name.ends_with('.')
    }
}

impl KeyTable {
    /// The row of a key.
    pub fn find(&self, key: &str) -> Option<&'static Key> {
        self.keys.iter().find(|row| row.name == key)
    }

    /// The only key of this table whose value is a mapping with that key; none where several are.
    pub fn owner_below(&self, key: &str) -> Option<&'static str> {
        let mut owners = self.keys.iter().filter(|row| {
            let mut below = Vec::new();
            row.shape.tables(&mut below);
            below.iter().any(|table| table.find(key).is_some())
        });
        owners.next().filter(|_| owners.next().is_none()).map(|row| row.name)
    }

    /// The names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.keys.iter().map(|row| row.name)
    }
}

/// The tables of a document of this shape and all tables that their keys lead to, each once, in the order in which a reader
/// meets them.
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
