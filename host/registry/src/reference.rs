//! References to artifacts: `oci://host[:port]/repository[:tag][@digest]`, or `oci-layout:folder[:name][@digest]`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use graph_core::diagnostic::is_invisible;
use graph_core::digest::Digest;

use crate::manifest::shown;

/// The prefix of a reference to a registry.
pub const REGISTRY: &str = "oci://";
/// The prefix of a reference to an image-layout directory.
pub const LAYOUT: &str = "oci-layout:";

/// The most characters of a repository's name, of a tag, and of a name in a layout.
const MOST_REPOSITORY: usize = 255;
const MOST_TAG: usize = 128;
const MOST_NAME: usize = 400;

/// A reference to an artifact, or to a place that contains artifacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The registry and repository, or the directory.
    pub place: Location,
    /// The tag, or in a directory the name (`org.opencontainers.image.ref.name`).
    pub tag: Option<String>,
    /// The digest of the manifest. With a digest, the tag is ignored.
    pub digest: Option<Digest>,
}

/// A place with manifests and blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A repository of a registry that speaks the OCI distribution protocol.
    Registry {
        /// `host` or `host:port`, in lower case.
        host: String,
        /// The name of the repository; empty for the registry as a whole.
        repository: String,
    },
    /// An OCI image-layout directory.
    Layout {
        /// The directory of the image layout.
        folder: PathBuf,
    },
}

/// The reasons for which a text is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// It has another prefix.
    #[error("`{0}` is not a reference: it starts neither with `{REGISTRY}` nor with `{LAYOUT}`")]
    Scheme(String),
    /// There are line breaks, tabs or other control characters in it.
    #[error("`{0}` is not a reference: it has control characters")]
    Control(String),
    /// The host is invalid.
    #[error("`{0}` is not a host: letters, digits, `.` and `-`, and a port after `:`")]
    Host(String),
    /// The name of the repository is invalid.
    #[error(
        "`{0}` is not a repository: parts of lower-case letters and digits, with `.`, `_` or `-` in between, joined by `/`"
    )]
    Repository(String),
    /// The tag is invalid.
    #[error(
        "`{0}` is not a tag: at most {MOST_TAG} letters, digits, `.`, `_` and `-`, and no `.` or `-` at its beginning"
    )]
    Tag(String),
    /// The name in a directory is invalid.
    #[error(
        "`{0}` is not a name in an image layout: letters and digits, with `-._:@+` in between, joined by `/`"
    )]
    Name(String),
    /// The digest is invalid.
    #[error("`{0}` is not a digest: `sha256:` and 64 lower-case hexadecimal digits")]
    Digest(String),
    /// The path of the directory is missing.
    #[error("`{LAYOUT}` is followed by the path of a directory")]
    NoFolder,
    /// The id of an item that cannot be the name of a repository.
    #[error("`{0}` cannot be the name of a repository: those have lower-case letters alone")]
    Item(String),
}

impl Reference {
    /// Returns a reference to a place as a whole.
    pub const fn of_place(place: Location) -> Self {
        Self { place, tag: None, digest: None }
    }

    /// Reports whether a text has the prefix of a reference, so that it is read as one even if it is invalid.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("oci:") || text.starts_with(LAYOUT)
    }

    /// Reports whether it refers to a single artifact.
    pub const fn names_one(&self) -> bool {
        self.tag.is_some() || self.digest.is_some()
    }

    /// Returns the reference of an item's artifact in this place: in a registry `base/id:version`, in a directory the
    /// name `id:version`.
    pub fn below(&self, id: &str, version: &str) -> Result<Self, ReferenceError> {
        // Tags cannot contain `+`, which is replaced by `_`, as is customary.
        let tag = version.replace('+', "_");
        match &self.place {
            Location::Registry { host, repository } => {
                let joined = if repository.is_empty() { id.to_owned() } else { format!("{repository}/{id}") };
                if !is_repository(&joined) {
                    return Err(ReferenceError::Item(shown(id)));
                }
                check_tag(&tag)?;
                let place = Location::Registry { host: host.clone(), repository: joined };
                Ok(Self { place, tag: Some(tag), digest: None })
            }
            Location::Layout { .. } => {
                let name = format!("{id}:{tag}");
                if !is_name(&name) {
                    return Err(ReferenceError::Name(shown(&name)));
                }
                Ok(Self { place: self.place.clone(), tag: Some(name), digest: None })
            }
        }
    }

    /// Returns the place in which an item's artifact is published, without the item's id; `None` if its repository does
    /// not end in the id.
    pub fn base_of(&self, id: &str) -> Option<Self> {
        let place = match &self.place {
            Location::Layout { .. } => self.place.clone(),
            Location::Registry { host, repository } => {
                let base =
                    if repository == id { "" } else { repository.strip_suffix(id)?.strip_suffix('/')? };
                Location::Registry { host: host.clone(), repository: base.to_owned() }
            }
        };
        Some(Self::of_place(place))
    }

    /// Returns the same reference with a digest. With a digest, the tag is ignored.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// Returns the directory, for a reference to one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Location::Layout { folder } => Some(folder),
            Location::Registry { .. } => None,
        }
    }

    /// Returns the same reference with its directory changed, if it has one.
    #[must_use]
    pub fn in_folder(mut self, change: impl FnOnce(&Path) -> PathBuf) -> Self {
        if let Location::Layout { folder } = &mut self.place {
            *folder = change(folder);
        }
        self
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // Messages and lockfiles contain references, so that a reference has to be one line of visible text.
        if text.contains(|c: char| c.is_control() || is_invisible(c)) {
            return Err(ReferenceError::Control(shown(text)));
        }
        let (rest, is_layout) = match (text.strip_prefix(REGISTRY), text.strip_prefix(LAYOUT)) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => return Err(ReferenceError::Scheme(shown(text))),
        };
        let (rest, digest) = match rest.rsplit_once("@sha256:") {
            Some((rest, hex)) => {
                let text = format!("sha256:{hex}");
                (rest, Some(text.parse().map_err(|_| ReferenceError::Digest(shown(&text)))?))
            }
            None => (rest, None),
        };
        let (place, tag) = if is_layout { layout(rest)? } else { registry(rest)? };
        Ok(Self { place, tag, digest })
    }
}

fn layout(rest: &str) -> Result<(Location, Option<String>), ReferenceError> {
    let (folder, name) = match rest.split_once(':') {
        Some((folder, name)) => (folder, Some(name)),
        None => (rest, None),
    };
    if folder.is_empty() {
        return Err(ReferenceError::NoFolder);
    }
    // A colon and a name after such a folder would be read as a digest, also in lockfiles.
    if folder.ends_with("@sha256") {
        return Err(ReferenceError::Digest(shown(folder)));
    }
    if let Some(name) = name.filter(|name| !is_name(name)) {
        return Err(ReferenceError::Name(shown(name)));
    }
    Ok((Location::Layout { folder: PathBuf::from(folder) }, name.map(str::to_owned)))
}

fn registry(rest: &str) -> Result<(Location, Option<String>), ReferenceError> {
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !is_host(host) {
        return Err(ReferenceError::Host(shown(host)));
    }
    let (repository, tag) = match path.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (path, None),
    };
    let is_whole = repository.is_empty() && tag.is_none();
    if !is_whole && !is_repository(repository) {
        return Err(ReferenceError::Repository(shown(repository)));
    }
    tag.map_or(Ok(()), check_tag)?;
    let place = Location::Registry { host: host.to_ascii_lowercase(), repository: repository.to_owned() };
    Ok((place, tag.map(str::to_owned)))
}

fn check_tag(tag: &str) -> Result<(), ReferenceError> {
    if is_tag(tag) { Ok(()) } else { Err(ReferenceError::Tag(shown(tag))) }
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_port =
        |port: &str| port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port);
    name.len() <= 253 && name.split('.').all(label) && port.is_none_or(is_port)
}

/// Checks the distribution specification's `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*`.
pub(crate) fn is_repository(name: &str) -> bool {
    let part = |part: &str| {
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let separators = part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let known = |between: &str| {
            matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
        };
        part.as_bytes().first().is_some_and(alphanumeric)
            && part.as_bytes().last().is_some_and(alphanumeric)
            && separators.into_iter().all(known)
    };
    name.len() <= MOST_REPOSITORY && name.split('/').all(part)
}

/// Checks the distribution specification's `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
pub(crate) fn is_tag(tag: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    tag.len() <= MOST_TAG
        && tag.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
        && tag.bytes().all(rest)
}

/// Checks the image specification's grammar of `org.opencontainers.image.ref.name`.
pub(crate) fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        let between = part.split(|c: char| c.is_ascii_alphanumeric());
        let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        ends(part.as_bytes().first())
            && ends(part.as_bytes().last())
            && between
                .into_iter()
                .all(|between| matches!(between, "" | "-" | "." | "_" | ":" | "@" | "+" | "--"))
    };
    name.len() <= MOST_NAME && name.split('/').all(part)
}

/// Returns the version in a tag, or at the end of a name in a directory, unchanged; `None` for any other tag.
pub fn version_of_tag(tag: &str) -> Option<&str> {
    let version = tag.rsplit_once(':').map_or(tag, |(_, version)| version);
    crate::artifact::is_version(&version.replace('_', "+")).then_some(version)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Location::Registry { host, repository } if repository.is_empty() => {
                write!(f, "{REGISTRY}{host}")?;
            }
            Location::Registry { host, repository } => write!(f, "{REGISTRY}{host}/{repository}")?,
            Location::Layout { folder } => write!(f, "{LAYOUT}{}", folder.display())?,
        }
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Reference, ReferenceError> {
        text.parse()
    }

    #[test]
    fn references_are_read_as_they_are_written() {
        let digest = Digest::of_bytes(b"x");
        for text in [
            "oci://localhost:5000",
            "oci://registry.example/acme/fetch:1.2.0",
            "oci://registry.example/a__b/c-d.e:latest",
            "oci-layout:out",
            "oci-layout:/tmp/out:acme/fetch:1.2.0",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
            let pinned = format!("{text}@{digest}");
            assert_eq!(parse(&pinned).unwrap().digest, Some(digest));
        }
    }

    #[test]
    fn a_message_about_a_reference_is_one_line() {
        for text in [
            "oci://r.example/acme/fe\tch\nerror: none",
            "acme\nfetch",
            "oci://r.example/a:b\tc",
            "oci-layout:out\n:acme/fetch:1.0.0",
        ] {
            let message = text.parse::<Reference>().unwrap_err().to_string();
            assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
        }
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for text in [
            "acme/fetch",
            "oci:out:tag",
            "https://registry.example/a:1",
            "oci://",
            "oci:///a:1",
            "oci://user@registry.example/a:1",
            "oci://registry.example:99999/a:1",
            "oci://registry.example/a/../b:1",
            "oci://registry.example/a//b:1",
            "oci://registry.example/A:1",
            "oci://registry.example/a:",
            "oci://registry.example/a:..",
            "oci://registry.example/a:1/../../b",
            "oci://registry.example/a?x=1:1",
            "oci://registry.example/a:1@sha256:00",
            "oci://registry.example/:1",
            "oci-layout:",
            "oci-layout::a",
            "oci-layout:out:../a",
            "oci-layout:out:a b",
            "oci-layout:out@sha256",
            &format!("oci-layout:out@{0}@{0}", Digest::of_bytes(b"x")),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_item_lies_below_a_base_and_the_base_is_found_again() {
        for base in ["oci://registry.example", "oci://registry.example/team/x", "oci-layout:out"] {
            let base = parse(base).unwrap();
            let item = base.below("acme/fetch", "1.2.0+b").unwrap();
            assert!(item.to_string().ends_with("acme/fetch:1.2.0_b"), "{item}");
            assert_eq!(item.base_of("acme/fetch"), Some(base));
        }
        let other = parse("oci://registry.example/xacme/fetch:1").unwrap();
        assert_eq!(other.base_of("acme/fetch"), None);
        let base = parse("oci://registry.example").unwrap();
        assert_eq!(base.below("Acme/x", "1.0.0"), Err(ReferenceError::Item("Acme/x".to_owned())));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_a_reference_has_one_spelling(text in "(oci://|oci-layout:)[a-z0-9:/@._A-Z+-]{0,30}") {
            if let Ok(reference) = parse(&text) {
                prop_assert_eq!(reference.to_string().parse::<Reference>().unwrap(), reference);
            }
        }
    }
}
