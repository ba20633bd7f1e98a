//! Ids and names of items, nodes, runs and state keys. Ids become file paths, are matched against grants, and are shown
//! to people who make decisions about them, so each has one spelling and no two look the same.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diagnostic::{is_invisible, is_part_of_writing};
use crate::item::{ItemOperation, ItemType};

/// Largest number of characters of a node name, run id, state key or segment of an item id.
pub const MAX_NAME: usize = 128;
/// Largest number of characters of an item id, its version and function included.
pub const MAX_ITEM_ID: usize = 256;

/// The id of an item: segments of `[A-Za-z0-9_-]` joined by `/`, a version after `@` if one is meant, and, after `#`, the function of a
/// component that is called in place of its node action, as in `acme/lib@1.2.0#acme:math/ops/add`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    path: String,
    version: Option<String>,
    function: Option<String>,
}

/// A text is not an id or a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum IdError {
    /// The id is empty.
    #[error("it is empty")]
    Empty,
    /// The id is longer than allowed.
    #[error("it has more than {0} characters")]
    TooLong(usize),
    /// A segment between `/` is empty, as at a leading, trailing or double `/`.
    #[error("a part between `/` is empty")]
    EmptySegment {
        /// Offset in bytes.
        offset: usize,
    },
    /// A segment is `.` or `..`.
    #[error("`.` and `..` cannot be parts of an id")]
    Relative {
        /// Offset in bytes.
        offset: usize,
    },
    /// A character that ids do not have.
    #[error("{} is not allowed in it", shown(*.character))]
    Character {
        character: char,
        /// Offset in bytes.
        offset: usize,
    },
    /// A version after `@` is empty.
    #[error("the version after `@` is empty")]
    EmptyVersion {
        /// Offset in bytes.
        offset: usize,
    },
    /// The text after `#` does not name a function.
    #[error(
        "after `#` stands a function that a component exports, as in `#add`, `#ops/add` or `#acme:math/ops/add`"
    )]
    Function {
        /// Offset in bytes.
        offset: usize,
    },
}

impl IdError {
    /// Returns the offset, in bytes, at which the text stops being an id.
    pub const fn offset(&self) -> usize {
        match self {
            Self::Empty | Self::TooLong(_) => 0,
            Self::EmptySegment { offset }
            | Self::Relative { offset }
            | Self::Character { offset, .. }
            | Self::EmptyVersion { offset }
            | Self::Function { offset } => *offset,
        }
    }
}

fn shown(c: char) -> String {
    if c.is_ascii_graphic() {
        format!("`{c}`")
    } else if c == ' ' {
        "a blank".to_owned()
    } else {
        format!("the character U+{:04X}", u32::from(c))
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Checks that a text is characters of `[A-Za-z0-9_-]`, at least one and at most [`MAX_NAME`].
fn check_name(text: &str, base: usize) -> Result<(), IdError> {
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !is_name_character(*c)) {
        return Err(IdError::Character { character, offset: base + at });
    }
    if text.len() > MAX_NAME { Err(IdError::TooLong(MAX_NAME)) } else { Ok(()) }
}

impl ItemId {
    /// Reads an item id, and checks its form.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > MAX_ITEM_ID {
            return Err(IdError::TooLong(MAX_ITEM_ID));
        }
        let (item, function) = match text.split_once('#') {
            Some((item, function)) => (item, Some(function)),
            None => (text, None),
        };
        if function.is_some_and(|function| !is_function(function)) {
            return Err(IdError::Function { offset: item.len() + 1 });
        }
        let (path, version) = match item.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (item, None),
        };
        let mut offset = 0;
        for segment in path.split('/') {
            match segment {
                "" => return Err(IdError::EmptySegment { offset }),
                "." | ".." => return Err(IdError::Relative { offset }),
                _ => check_name(segment, offset)?,
            }
            offset += segment.len() + 1;
        }
        if let Some(version) = version {
            if version.is_empty() {
                return Err(IdError::EmptyVersion { offset });
            }
            let allowed = |c: char| is_name_character(c) || matches!(c, '.' | '+');
            if let Some((at, character)) = version.char_indices().find(|(_, c)| !allowed(*c)) {
                return Err(IdError::Character { character, offset: offset + at });
            }
        }
        Ok(Self {
            path: path.to_owned(),
            version: version.map(str::to_owned),
            function: function.map(str::to_owned),
        })
    }

    /// Checks whether a text is the id of an item without a version and without a function.
    pub(crate) fn is_path(text: &str) -> bool {
        Self::parse(text).is_ok_and(|id| id.version.is_none() && id.function.is_none())
    }

    /// Checks whether a text without a version is an id on which an action can operate. A function of a component can only be executed.
    pub(crate) fn is_dispatched(text: &str, operation: ItemOperation, item_type: ItemType) -> bool {
        let is_call = (operation, item_type) == (ItemOperation::Execute, ItemType::Tool);
        Self::parse(text).is_ok_and(|id| id.version.is_none() && (is_call || id.function.is_none()))
    }

    /// Returns the id without its version and its function: `acme/fetch`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the version after `@`.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the function after `#`: its name, preceded by its interface and `/` if an interface exports it. The interface has no
    /// version.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Returns the parts between `/`.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/')
    }

    /// Returns the id as capabilities write it, without its version: `acme.fetch`.
    pub fn dotted(&self) -> String {
        self.path.replace('/', ".")
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        self.version.iter().try_for_each(|version| write!(f, "@{version}"))?;
        self.function.iter().try_for_each(|function| write!(f, "#{function}"))
    }
}

/// Returns an item id without its version and function: `acme/lib` of `acme/lib@1.2.0#add`. The text need not be valid.
pub fn path_of(item: &str) -> &str {
    item.split(['@', '#']).next().unwrap_or_default()
}

/// Returns the version in an item id, if any. The text need not be valid.
pub fn version_of(item: &str) -> Option<&str> {
    without_function(item).split_once('@').map(|(_, version)| version)
}

/// Returns the function after `#` in an item id, if any. The text need not be valid.
pub fn function_of(item: &str) -> Option<&str> {
    item.split_once('#').map(|(_, function)| function)
}

/// Returns an item id without its function: `acme/lib@1.2.0` of `acme/lib@1.2.0#add`.
pub fn without_function(item: &str) -> &str {
    item.split_once('#').map_or(item, |(item, _)| item)
}

/// Returns an item id without its version, as grants name items: `acme/lib#add` of `acme/lib@1.2.0#add`. The text need not be valid.
pub fn without_version(item: &str) -> Cow<'_, str> {
    match (item.split_once('@'), function_of(item)) {
        (None, _) => Cow::Borrowed(item),
        (Some((path, _)), None) => Cow::Borrowed(path),
        (Some((path, _)), Some(function)) => Cow::Owned(format!("{path}#{function}")),
    }
}

/// Checks whether a text names an exported function: words of WIT, the last one after `/` if an interface exports it.
pub fn is_function(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let (interface, name) = match text.rsplit_once('/') {
        Some((interface, name)) => (Some(interface), name),
        None => (None, text),
    };
    let is_interface = |text: &str| match text.split_once(':') {
        None => is_word(text),
        Some((namespace, rest)) => {
            is_word(namespace)
                && rest
                    .split_once('/')
                    .is_some_and(|(package, interface)| is_word(package) && is_word(interface))
        }
    };
    is_word(name) && interface.is_none_or(is_interface)
}

impl FromStr for ItemId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for ItemId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Checks a node name: `[A-Za-z0-9_-]`, as a segment of an item id.
pub fn check_node_name(text: &str) -> Result<(), IdError> {
    if text.is_empty() { Err(IdError::Empty) } else { check_name(text, 0) }
}

/// Names that no node can have: those for the start of a run and for the end of a branch.
pub const RESERVED_NODES: [&str; 2] = ["__start__", END];

/// The end of a branch, as a target of an edge.
pub const END: &str = "__end__";

/// Checks a run id: `[A-Za-z0-9_-]`, as a segment of an item id. It is a file name and the first part of task ids.
pub fn check_run_id(text: &str) -> Result<(), IdError> {
    check_node_name(text)
}

/// A checked id of a run: one segment of a path, without separators. Everything named after a run uses this type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Reads an id, see [`check_run_id`].
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check_run_id(text).map(|()| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks a name that is only stored and shown, such as the path of a graph's file: at most `most` bytes, without control characters and
/// without invisible characters, which may reorder the text around them or break a line.
pub fn check_shown_name(text: &str, most: usize) -> Result<(), IdError> {
    if text.len() > most {
        return Err(IdError::TooLong(most));
    }
    // Joiners and variation selectors are permitted: Persian, Indic scripts and emoji need them. They are shown escaped.
    let refused = |c: char| c.is_control() || (is_invisible(c) && !is_part_of_writing(c));
    match text.char_indices().find(|(_, c)| refused(*c)) {
        Some((offset, character)) => Err(IdError::Character { character, offset }),
        None => Ok(()),
    }
}

/// Checks a state key: it is one step of a template path, so it cannot contain characters with a meaning in paths and
/// templates, nor invisible ones.
pub fn check_state_key(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    let refused = |c: char| {
        c.is_whitespace()
            || crate::diagnostic::acts(c)
            || matches!(c, '.' | '[' | ']' | '{' | '}' | '|' | '$' | '\'' | '"' | '`' | '\\')
    };
    if let Some((offset, character)) = text.char_indices().find(|(_, c)| refused(*c)) {
        return Err(IdError::Character { character, offset });
    }
    if text.chars().count() > MAX_NAME { Err(IdError::TooLong(MAX_NAME)) } else { Ok(()) }
}

/// Checks the name of a template variable: a letter or `_`, then letters, digits and `_`, all ASCII.
pub fn check_variable(text: &str) -> Result<(), IdError> {
    let allowed = |at: usize, c: char| {
        c == '_' || if at == 0 { c.is_ascii_alphabetic() } else { c.is_ascii_alphanumeric() }
    };
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if let Some((offset, character)) = text.char_indices().find(|(at, c)| !allowed(*at, *c)) {
        return Err(IdError::Character { character, offset });
    }
    if text.len() > MAX_NAME { Err(IdError::TooLong(MAX_NAME)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_of_a_run_is_one_part_of_a_path() {
        assert_eq!(RunId::parse("20300131-120000-k3f9qx").unwrap().to_string(), "20300131-120000-k3f9qx");
        for bad in
            ["", ".", "..", "../x", "a/b", "a\\b", "a b", "a\0", "a\u{1b}[2J", "\u{202e}a", "é", "@last"]
        {
            assert!(RunId::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RunId::parse(&"a".repeat(129)), Err(IdError::TooLong(MAX_NAME)));
    }

    #[test]
    fn shown_names_have_nothing_that_acts() {
        for good in
            ["", "3.0/1.0@1", "graphs/ä b/graph.yaml", "می\u{200c}خواهم.yaml", "👩\u{200d}🔬", "it's \"x\""]
        {
            assert_eq!(check_shown_name(good, 64), Ok(()), "{good:?}");
        }
        for bad in [
            "\u{1b}[2J",
            "a\nb",
            "a\tb",
            "\0",
            "\u{7f}",
            "\u{9b}",
            "\u{202e}b",
            "\u{2066}",
            "\u{200f}",
            "\u{2028}",
            "\u{ad}",
            "\u{3164}",
            "\u{e0041}",
            "\u{feff}",
        ] {
            let refused = check_shown_name(&format!("x{bad}"), 64);
            assert!(matches!(refused, Err(IdError::Character { .. })), "{bad:?}: {refused:?}");
        }
        assert_eq!(check_shown_name("ab", 1), Err(IdError::TooLong(1)));
    }

    #[test]
    fn item_ids() {
        let id = ItemId::parse("acme/fetch-it@1.2.0+b").unwrap();
        assert_eq!((id.path(), id.version()), ("acme/fetch-it", Some("1.2.0+b")));
        assert_eq!(id.dotted(), "acme.fetch-it");
        let id = ItemId::parse("acme/lib@1.2.0#acme:math/ops/add").unwrap();
        assert_eq!(
            (id.path(), id.version(), id.function()),
            ("acme/lib", Some("1.2.0"), Some("acme:math/ops/add"))
        );
        assert_eq!(id.to_string(), "acme/lib@1.2.0#acme:math/ops/add");
        for function in ["add", "ops/add", "acme:math/ops/to-the-power-of"] {
            assert!(ItemId::parse(&format!("a#{function}")).is_ok_and(|id| id.function() == Some(function)));
        }
        for function in [
            "",
            "/add",
            "add/",
            "ops//add",
            "a:b/add",
            "a:b/c/d/e",
            "acme:math/ops@0.1.0/add",
            "-a",
            "a#b",
            "a b",
            "[method]x.y",
        ] {
            let text = format!("a#{function}");
            assert_eq!(ItemId::parse(&text), Err(IdError::Function { offset: 2 }), "{text}");
        }
        for text in [
            "",
            "/a",
            "a/",
            "a//b",
            "../a",
            "a/..",
            "a/./b",
            "a b",
            "a\0b",
            "a.b",
            "a@",
            "a@1@2",
            "a@ ",
            "C:\\a",
            "асme/fetch",
            "a\u{202e}b",
            "a\u{200b}",
            "é",
            "a/b\n",
        ] {
            assert!(ItemId::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(ItemId::parse("a/b c").unwrap_err().offset(), 3);
        assert_eq!(ItemId::parse("a/../c").unwrap_err(), IdError::Relative { offset: 2 });
        assert!(ItemId::parse(&"a/".repeat(200)).is_err());
    }

    #[test]
    fn names() {
        assert!(check_node_name("count_files-2").is_ok());
        for text in ["", "a.b", "a/b", "a b", "..", "\u{430}", &"a".repeat(129)] {
            assert!(check_node_name(text).is_err(), "{text:?}");
        }
        assert!(check_state_key("größe").is_ok());
        for text in ["", "a.b", "a b", "a[0]", "${a}", "a\u{200b}"] {
            assert!(check_state_key(text).is_err(), "{text:?}");
        }
        assert!(check_variable("_item2").is_ok());
        for text in ["", "2a", "a-b", "é"] {
            assert!(check_variable(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_item_id_has_one_spelling(text in "[A-Za-z0-9_/@.-]{0,20}") {
            prop_assert!(text.starts_with(path_of(&text)) && text.starts_with(without_function(&text)));
            if let Ok(id) = ItemId::parse(&text) {
                prop_assert_eq!((path_of(&text), version_of(&text), function_of(&text)), (id.path(), id.version(), id.function()));
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
