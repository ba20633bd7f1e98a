//! WIT interfaces, and the capability to which each belongs.

use std::fmt;
use std::str::FromStr;

use semver::Version;

use super::CapabilityKind::{self, Clocks, Filesystem, Http, Knowledge, Log, Model, Random, Secrets, Tools};
use crate::diagnostic::printable;

/// The name of a WIT interface, `namespace:package/interface`, with or without a version, such as `wasi:filesystem/types@0.2.6`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceName {
    path: String,
    version: Option<Version>,
}

/// A text does not name an interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` does not name an interface like `wasi:clocks/wall-clock@0.2.6`")]
pub struct ParseInterfaceError {
    name: String,
}

impl InterfaceName {
    /// Reads a name, whose words consist of ASCII letters, digits and `-`, beginning with a letter.
    pub fn parse(name: &str) -> Result<Self, ParseInterfaceError> {
        let error = || ParseInterfaceError { name: printable(name).chars().take(120).collect() };
        let (path, version) = match name.split_once('@') {
            Some((path, version)) => (path, Some(version.parse().map_err(|_| error())?)),
            None => (name, None),
        };
        let is_word = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_alphabetic())
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let words = path.split_once(':').and_then(|(namespace, rest)| {
            let (package, interface) = rest.split_once('/')?;
            Some([namespace, package, interface])
        });
        match words {
            Some(words) if words.into_iter().all(is_word) => Ok(Self { path: path.to_owned(), version }),
            _ => Err(error()),
        }
    }

    /// Returns the name without its version.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the version after `@`; `None` for a name without a version, which covers every version.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Checks whether one interface can be linked for the other: the names are equal except for versions within one major, or within one
    /// `0.minor`, or one of them has no version (the rule of the component model).
    pub fn is_compatible(&self, other: &Self) -> bool {
        let versions = match (&self.version, &other.version) {
            (Some(one), Some(two)) => same_track(one, two),
            _ => true,
        };
        self.path == other.path && versions
    }

    /// Returns the capabilities that a component needs to import the interface.
    pub fn provision(&self) -> Provision {
        let Some(row) = TABLE.iter().find(|row| row.path == self.path) else { return Provision::Unknown };
        let (major, minor) = row.offered;
        let offered = Version::new(major, minor, 0);
        match &self.version {
            Some(version) if !same_track(version, &offered) => Provision::OtherVersion { major, minor },
            _ if row.brought_by.is_empty() => Provision::Types,
            _ => Provision::Kinds { own: row.own, brought_by: row.brought_by },
        }
    }
}

fn same_track(one: &Version, two: &Version) -> bool {
    if !one.pre.is_empty() || !two.pre.is_empty() {
        return one == two;
    }
    match (one.major, one.minor) {
        (0, 0) => one == two,
        (0, minor) => two.major == 0 && two.minor == minor,
        (major, _) => two.major == major,
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

impl FromStr for InterfaceName {
    type Err = ParseInterfaceError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::parse(name)
    }
}

/// The requirement for importing an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provision {
    /// None: the interface defines plain types.
    Types,
    /// One of these kinds.
    Kinds {
        /// The kind to which the functions of the interface belong; `None` for one that only accompanies others, as `wasi:io` does.
        own: Option<CapabilityKind>,
        /// The kinds that bring the interface along, its own first. The others bring only its types.
        brought_by: &'static [CapabilityKind],
    },
    /// The host offers the interface, but not this version of it.
    OtherVersion {
        /// The offered major version.
        major: u64,
        /// The offered minor version.
        minor: u64,
    },
    /// No capability of this version covers it.
    Unknown,
}

struct Row {
    path: &'static str,
    offered: (u64, u64),
    own: Option<CapabilityKind>,
    brought_by: &'static [CapabilityKind],
}

const fn row(
    path: &'static str,
    offered: (u64, u64),
    own: Option<CapabilityKind>,
    brought_by: &'static [CapabilityKind],
) -> Row {
    Row { path, offered, own, brought_by }
}

/// Every interface that the host knows.
const TABLE: [Row; 29] = [
    row("graph-host:node/types", (0, 1), None, &[]),
    row("graph-host:host/log", (0, 1), Some(Log), &[Log]),
    row("graph-host:host/events", (0, 1), Some(Log), &[Log]),
    row("wasi:clocks/wall-clock", (0, 2), Some(Clocks), &[Clocks, Filesystem]),
    row("wasi:clocks/monotonic-clock", (0, 2), Some(Clocks), &[Clocks]),
    row("wasi:random/random", (0, 2), Some(Random), &[Random]),
    row("wasi:random/insecure", (0, 2), Some(Random), &[Random]),
    row("wasi:random/insecure-seed", (0, 2), Some(Random), &[Random]),
    row("wasi:filesystem/types", (0, 2), Some(Filesystem), &[Filesystem]),
    row("wasi:filesystem/preopens", (0, 2), Some(Filesystem), &[Filesystem]),
    row("wasi:http/types", (0, 2), Some(Http), &[Http]),
    row("wasi:http/outgoing-handler", (0, 2), Some(Http), &[Http]),
    row("graph-host:host/secrets", (0, 1), Some(Secrets), &[Secrets]),
    row("graph-host:host/knowledge", (0, 1), Some(Knowledge), &[Knowledge]),
    row("graph-host:host/tools", (0, 1), Some(Tools), &[Tools]),
    row("graph-host:host/model", (0, 1), Some(Model), &[Model]),
    row("wasi:cli/environment", (0, 2), None, &[Log]),
    row("wasi:cli/exit", (0, 2), None, &[Log]),
    row("wasi:cli/stdin", (0, 2), None, &[Log]),
    row("wasi:cli/stdout", (0, 2), None, &[Log]),
    row("wasi:cli/stderr", (0, 2), None, &[Log]),
    row("wasi:cli/terminal-input", (0, 2), None, &[Log]),
    row("wasi:cli/terminal-output", (0, 2), None, &[Log]),
    row("wasi:cli/terminal-stdin", (0, 2), None, &[Log]),
    row("wasi:cli/terminal-stdout", (0, 2), None, &[Log]),
    row("wasi:cli/terminal-stderr", (0, 2), None, &[Log]),
    row("wasi:io/poll", (0, 2), None, &[Log, Clocks, Filesystem, Http]),
    row("wasi:io/error", (0, 2), None, &[Log, Filesystem, Http]),
    row("wasi:io/streams", (0, 2), None, &[Log, Filesystem, Http]),
];

impl CapabilityKind {
    /// Returns the interfaces that a grant of this kind brings, without versions: its own and those that accompany them.
    pub fn interfaces(self) -> impl Iterator<Item = &'static str> {
        TABLE.iter().filter(move |row| row.brought_by.contains(&self)).map(|row| row.path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> InterfaceName {
        InterfaceName::parse(text).unwrap()
    }

    #[test]
    fn names_are_read() {
        let types = name("wasi:filesystem/types@0.2.6");
        assert_eq!((types.path(), types.version().unwrap().patch), ("wasi:filesystem/types", 6));
        assert_eq!(types.to_string(), "wasi:filesystem/types@0.2.6");
        assert_eq!(name("wasi:io/poll").version(), None);
        for text in [
            "",
            "wasi",
            "wasi:io",
            "wasi/io",
            "wasi:io/poll@",
            "wasi:io/poll@0.2",
            "w:i/p/q",
            "wasi:io/pö",
            ":a/b",
        ] {
            assert!(InterfaceName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn versions_are_compatible_within_a_track() {
        for (one, two, expected) in [
            ("a:b/c@0.2.0", "a:b/c@0.2.12", true),
            ("a:b/c@0.2.0", "a:b/c@0.3.0", false),
            ("a:b/c@0.0.1", "a:b/c@0.0.2", false),
            ("a:b/c@1.2.0", "a:b/c@1.9.3", true),
            ("a:b/c@1.2.0", "a:b/c@2.0.0", false),
            ("a:b/c@1.2.0", "a:b/c", true),
            ("a:b/c@0.2.0-rc.1", "a:b/c@0.2.0", false),
            ("a:b/c", "a:b/d", false),
        ] {
            assert_eq!(name(one).is_compatible(&name(two)), expected, "{one} {two}");
            assert_eq!(name(two).is_compatible(&name(one)), expected, "{two} {one}");
        }
    }

    #[test]
    fn interfaces_belong_to_kinds() {
        assert_eq!(name("graph-host:node/types@0.1.0").provision(), Provision::Types);
        assert_eq!(
            name("wasi:clocks/wall-clock@0.2.3").provision(),
            Provision::Kinds { own: Some(Clocks), brought_by: &[Clocks, Filesystem] }
        );
        assert_eq!(
            name("wasi:io/poll@0.2.3").provision(),
            Provision::Kinds { own: None, brought_by: &[Log, Clocks, Filesystem, Http] }
        );
        assert_eq!(
            name("wasi:cli/stdout@0.2.0").provision(),
            Provision::Kinds { own: None, brought_by: &[Log] }
        );
        assert_eq!(name("wasi:cli/run@0.2.0").provision(), Provision::Unknown);
        assert_eq!(
            name("wasi:random/random@0.3.0").provision(),
            Provision::OtherVersion { major: 0, minor: 2 }
        );
        assert_eq!(name("wasi:sockets/tcp@0.2.0").provision(), Provision::Unknown);
        assert_eq!(Random.interfaces().count(), 3);
        assert!(Filesystem.interfaces().any(|path| path == "wasi:io/streams"));
        for kind in CapabilityKind::ALL {
            for path in kind.interfaces() {
                assert!(
                    matches!(name(path).provision(), Provision::Kinds { brought_by, .. } if brought_by.contains(&kind))
                );
            }
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in any::<String>(), near in "[a-b:/@0-2.-]{0,14}") {
            let _ = InterfaceName::parse(&text);
            if let Ok(read) = InterfaceName::parse(&near) {
                prop_assert_eq!(read.to_string(), near);
            }
        }
    }
}
