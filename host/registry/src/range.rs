//! Version ranges, with Cargo's syntax: `oci://host/acme/fetch@^1.2` and `oci-layout:DIR:acme/fetch@^1.2` select the
//! greatest version in the range, and so does `acme/fetch@^1.2` for an item in the lockfile.

use std::fmt;
use std::str::FromStr;

use graph_core::diagnostic::printable;
use semver::{Version, VersionReq};

use crate::manifest::shown;
use crate::reference::{Location, Reference, ReferenceError, is_name, is_tag, version_of_tag};

/// Maximum length of a range, in bytes.
const MOST_RANGE: usize = 200;
/// Number of available versions below and above a range that are listed if none satisfies it.
const NEAREST: usize = 3;

/// A range of versions, such as `^1.2` or `>=1.2, <1.5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: String,
    required: VersionReq,
}

/// The argument of a command that requests one artifact, or the greatest version in a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A reference without a range.
    Reference(Reference),
    /// A range of the versions of a repository, or of a name in a directory.
    Range {
        /// The repository, or the directory with the name as its tag.
        versions: Reference,
        /// The range.
        range: Range,
    },
    /// A range of the versions of a locked item.
    Item {
        /// The id of the item.
        id: String,
        /// The range.
        range: Range,
    },
}

/// The reasons for which there is no version for a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The text is not a range.
    #[error("`{range}` is not a range of versions: {reason} (column {column})")]
    Syntax {
        /// The text.
        range: String,
        /// The column of the first character that cannot be read, in characters from 1.
        column: usize,
        /// The problem at that column.
        reason: String,
    },
    /// The range is longer than 200 bytes. The field is its length in bytes.
    #[error("a range of versions has at most {MOST_RANGE} bytes, and this one has {0}")]
    TooLong(usize),
    /// The text has a range and a tag or a digest.
    #[error("{0} has a tag or a digest, and a range of versions as well: one of them is enough")]
    Tagged(String),
    /// The range is not preceded by the name of an item.
    #[error("{0} names no item whose versions the range could select")]
    NoName(String),
    /// The reference before the range is invalid.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// No tag is a version.
    #[error("{0} has no tag that is a version")]
    NoVersions(String),
    /// No version satisfies the range.
    #[error("no version of {place} satisfies `{range}`: {} {}", if *is_all { "it has" } else { "the nearest are" }, nearest.join(", "))]
    NoneSatisfies {
        /// The repository or name.
        place: String,
        /// The range.
        range: String,
        /// The available versions next to the range, in their order.
        nearest: Vec<String>,
        /// True if these are all versions.
        is_all: bool,
    },
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        if text.len() > MOST_RANGE {
            return Err(RangeError::TooLong(text.len()));
        }
        let required = VersionReq::parse(text).map_err(|error| RangeError::Syntax {
            range: shown(text),
            column: column_of_error(text),
            reason: shown(&error.to_string()),
        })?;
        Ok(Self { text: text.to_owned(), required })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the column of the first character that cannot continue a range; one after the last if the range is
/// incomplete.
fn column_of_error(text: &str) -> usize {
    // True if one of these endings makes the text a range.
    let is_beginning = |part: &str| {
        ["", "0", "a", ".0", "1.0.0"].iter().any(|end| VersionReq::parse(&format!("{part}{end}")).is_ok())
    };
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let readable = ends.take_while(|end| is_beginning(&text[..*end])).count();
    readable + 1
}

impl FromStr for Request {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let Some((before, range)) = split(text) else { return Ok(Self::Reference(text.parse()?)) };
        let range = range.parse()?;
        if !Reference::is_meant(before) {
            return Ok(Self::Item { id: before.to_owned(), range });
        }
        let versions: Reference = before.parse()?;
        let (is_named, has_tag) = match &versions.place {
            Location::Registry { repository, .. } => (!repository.is_empty(), versions.tag.is_some()),
            Location::Layout { .. } => {
                let name = versions.tag.as_deref();
                (name.is_some(), name.is_some_and(|name| name.contains(':')))
            }
        };
        if has_tag || versions.digest.is_some() {
            return Err(RangeError::Tagged(place_of(&versions)));
        }
        if is_named {
            Ok(Self::Range { versions, range })
        } else {
            Err(RangeError::NoName(place_of(&versions)))
        }
    }
}

/// Formats a reference for messages.
fn place_of(versions: &Reference) -> String {
    printable(&versions.to_string()).into_owned()
}

/// Splits a text at the `@` before a range. An `@` before a digest, in a path or in a name in a directory is not such a
/// separator.
fn split(text: &str) -> Option<(&str, &str)> {
    let (before, range) = text.rsplit_once('@')?;
    let is_digest = range.starts_with("sha256:");
    let may_be_name = before.starts_with(crate::reference::LAYOUT)
        && !range.starts_with(|c: char| c.is_ascii_digit() || "^~<>=*".contains(c));
    (!before.is_empty() && !is_digest && !may_be_name && !range.contains(['/', ':']))
        .then_some((before, range))
}

/// Returns the place whose tags are the versions of a locked item: its repository, or the directory with the item's
/// name.
pub fn versions_of(locked: &Reference) -> Reference {
    let tag = match (&locked.place, &locked.tag) {
        (Location::Layout { .. }, Some(name)) => {
            Some(name.rsplit_once(':').map_or(&**name, |(name, _)| name))
        }
        _ => None,
    };
    Reference { place: locked.place.clone(), tag: tag.map(str::to_owned), digest: None }
}

/// Returns the references of all versions in a range, the greatest first. There is at least one, or the result is an
/// error. `tags` are all tags of the repository, or all names in the directory.
pub fn satisfying(
    versions: &Reference,
    tags: &[String],
    range: &Range,
) -> Result<Vec<Reference>, RangeError> {
    let prefix = versions.tag.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
    // A listing may contain names that no reference can contain.
    let can_be_named = match versions.place {
        Location::Registry { .. } => is_tag,
        Location::Layout { .. } => is_name,
    };
    let version = |tag: &String| {
        if !can_be_named(tag) {
            return None;
        }
        let version = tag.strip_prefix(&prefix).filter(|rest| version_of_tag(rest) == Some(*rest))?;
        // Tags have `_` in the place of `+`.
        Some((Version::parse(&version.replace('_', "+")).ok()?, tag.clone()))
    };
    let mut known: Vec<(Version, String)> = tags.iter().filter_map(version).collect();
    known.sort();
    known.dedup();
    let is_in = |(version, _): &&(Version, String)| range.required.matches(version);
    let found: Vec<Reference> = known
        .iter()
        .rev()
        .filter(is_in)
        .map(|(_, tag)| Reference { tag: Some(tag.clone()), ..versions.clone() })
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    if known.is_empty() {
        return Err(RangeError::NoVersions(place_of(versions)));
    }
    let lower = range.required.comparators.first().map(|first| {
        Version::new(first.major, first.minor.unwrap_or_default(), first.patch.unwrap_or_default())
    });
    let at = lower.map_or(known.len(), |lower| known.partition_point(|(version, _)| *version < lower));
    let (from, to) = (at.saturating_sub(NEAREST), known.len().min(at + NEAREST));
    Err(RangeError::NoneSatisfies {
        place: place_of(versions),
        range: range.to_string(),
        nearest: known[from..to].iter().map(|(version, _)| version.to_string()).collect(),
        is_all: to - from == known.len(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn select(versions: &str, tags: &[&str], range: &str) -> Result<Vec<String>, RangeError> {
        let tags: Vec<_> = tags.iter().map(|&tag| tag.to_owned()).collect();
        let found = satisfying(&versions.parse().unwrap(), &tags, &range.parse()?)?;
        Ok(found.iter().map(Reference::to_string).collect())
    }

    const AT: &str = "oci://registry.example/acme/fetch";
    const TAGS: [&str; 10] = [
        "1.1.0",
        "latest",
        "1.10.0",
        "1.2.0",
        "1.9.3",
        "2.0.0-rc.1",
        "1.2.0_b1",
        "sha256-00",
        "01.2.0",
        "3.0.0",
    ];

    #[test]
    fn the_greatest_version_in_a_range_comes_first() {
        let greatest = |range: &str| select(AT, &TAGS, range).map(|found| found[0].clone());
        for (range, tag) in [
            ("^1.2", "1.10.0"),
            ("1.2", "1.10.0"),
            ("~1.2", "1.2.0_b1"),
            ("=1.1.0", "1.1.0"),
            (">=1.2, <1.10", "1.9.3"),
            ("*", "3.0.0"),
            ("2.0.0-rc", "2.0.0-rc.1"),
        ] {
            assert_eq!(greatest(range), Ok(format!("{AT}:{tag}")), "{range}");
        }
        assert_eq!(select(AT, &TAGS, "<1.2").unwrap(), [format!("{AT}:1.1.0")]);

        let names =
            ["acme/fetch:1.0.0", "acme/fetch:1.1.0", "acme/other:1.2.0", "other/acme/fetch:1.3.0", "1.4.0"];
        let found = select("oci-layout:out:acme/fetch", &names, "^1").unwrap();
        assert_eq!(found, ["oci-layout:out:acme/fetch:1.1.0", "oci-layout:out:acme/fetch:1.0.0"]);
    }

    #[test]
    fn what_no_reference_can_name_is_no_version() {
        let found = select(AT, &["1.2.0", "1.3.0+b", "1.4.0_b", "sub:1.5.0"], "*").unwrap();
        assert_eq!(found, [format!("{AT}:1.4.0_b"), format!("{AT}:1.2.0")]);
        let long = format!("1.6.0-{}", "a".repeat(130));
        assert_eq!(select(AT, &[long.as_str()], "*"), Err(RangeError::NoVersions(AT.to_owned())));
        let names = ["acme/fetch:1.0.0+b", "acme/fetch:1.1.0+b_c", "acme/fetch:1.2.0-"];
        let found = select("oci-layout:out:acme/fetch", &names, "*").unwrap();
        assert!(found.iter().all(|found| found.parse::<Reference>().is_ok()), "{found:?}");
    }

    #[test]
    fn what_no_version_satisfies_is_told_with_the_nearest_versions() {
        let told = |range: &str| select(AT, &TAGS, range).unwrap_err().to_string();
        assert_eq!(
            told("~1.5"),
            format!(
                "no version of {AT} satisfies `~1.5`: the nearest are 1.1.0, 1.2.0, 1.2.0+b1, 1.9.3, 1.10.0, 2.0.0-rc.1"
            )
        );
        // A pre-release is selected only by a range that names one.
        assert!(told("^2").ends_with("the nearest are 1.9.3, 1.10.0, 2.0.0-rc.1, 3.0.0"), "{}", told("^2"));
        let few = select(AT, &["1.0.0"], "^9").unwrap_err().to_string();
        assert!(few.ends_with("satisfies `^9`: it has 1.0.0"), "{few}");
        assert_eq!(select(AT, &["latest"], "*"), Err(RangeError::NoVersions(AT.to_owned())));
    }

    #[test]
    fn a_range_that_cannot_be_read_is_told_with_its_column() {
        for (text, column) in [
            ("^1.x2", 5),
            ("1.2.y", 5),
            ("^", 2),
            ("", 1),
            ("latest", 1),
            (">=1.2, <", 9),
            (">=1.2, ?1", 8),
            ("1.2 || 1.3", 5),
            ("1.01", 4),
            ("1.2.3-", 7),
            ("^1.2.3.4", 7),
            ("ä", 1),
        ] {
            match text.parse::<Range>() {
                Err(RangeError::Syntax { column: found, .. }) => assert_eq!(found, column, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(matches!("1".repeat(201).parse::<Range>(), Err(RangeError::TooLong(201))));
    }

    #[test]
    fn a_range_follows_a_repository_a_name_or_an_item() {
        let request = |text: &str| text.parse::<Request>();
        let ranged = |text: &str, range: &str| Request::Range {
            versions: text.parse().unwrap(),
            range: range.parse().unwrap(),
        };
        assert_eq!(
            request("oci://r.example:5000/acme/fetch@^1.2"),
            Ok(ranged("oci://r.example:5000/acme/fetch", "^1.2"))
        );
        let layout = "oci-layout:a@1:acme/fetch";
        assert_eq!(request(&format!("{layout}@>=1, <2")), Ok(ranged(layout, ">=1, <2")));
        let item = Request::Item { id: "acme/fetch".to_owned(), range: "^1".parse().unwrap() };
        assert_eq!(request("acme/fetch@^1"), Ok(item));
        let digest = graph_core::digest::Digest::of_bytes(b"x");
        for text in [
            "oci://r.example/a:1.0.0",
            "oci-layout:out:a/b@c",
            "oci-layout:a@1:b",
            &format!("oci://r.example/a@{digest}"),
        ] {
            assert_eq!(request(text), Ok(Request::Reference(text.parse().unwrap())));
        }
        for text in ["oci://r.example/a:1.0.0@^1", "oci-layout:out:a:1.0.0@^1"] {
            assert!(matches!(request(text), Err(RangeError::Tagged(_))), "{text}");
        }
        for text in ["oci://r.example@^1", "oci-layout:out@^1"] {
            assert!(matches!(request(text), Err(RangeError::NoName(_))), "{text}");
        }
        for text in ["acme/fetch", "@^1", "oci://user@r.example/a:1", "oci://r.example/A@^1"] {
            assert!(matches!(request(text), Err(RangeError::Reference(_))), "{text}");
        }
    }

    #[test]
    fn the_versions_of_a_locked_item_are_next_to_it() {
        for (locked, versions) in [
            ("oci://r.example/acme/fetch:1.0.0", "oci://r.example/acme/fetch"),
            ("oci-layout:out:acme/fetch:1.0.0", "oci-layout:out:acme/fetch"),
        ] {
            assert_eq!(versions_of(&locked.parse().unwrap()), versions.parse().unwrap());
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((oci://r.example|oci-layout:d:|)[a-z/]{0,4}@)?[0-9a-zä.^~<>=*, -]{0,20}") {
            let _ = text.parse::<Request>();
            let _ = text.parse::<Range>();
        }
    }
}
