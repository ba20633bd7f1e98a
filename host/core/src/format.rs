//! Versions of stored JSON formats.
//!
//! A format without a `version` has version 1. Later versions add the field, and every reader refuses unknown fields: so
//! a reader never misreads what a later program has written, and if reading fails, the stated version explains it.

use serde_json::Value;

use crate::json::{self, TreeLimit};

/// Version of everything that is stored as JSON today, except checkpoints.
pub const CURRENT: u64 = 1;

/// Version of checkpoints. Those of version 1 name every channel and node each time.
pub const CHECKPOINT: u64 = 2;

/// A text was written by a later version of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has format version {found}, and this program reads versions up to {current}: use a newer graph-host"
)]
pub struct NewerFormat {
    /// The stated version.
    pub found: u64,
    /// The newest version that can be read.
    pub current: u64,
}

/// Returns the version that a text states if it is later than `current`. Called after reading has failed.
pub fn newer(text: &str, current: u64) -> Option<NewerFormat> {
    let version = json::read::<Value>(text, TreeLimit::DOCUMENT).ok()?.get("version")?.as_u64()?;
    (version > current).then_some(NewerFormat { found: version, current })
}

/// Returns the reason why a text could not be read: a later version, or else the reader's error.
pub fn reason(text: &str, current: u64, error: impl std::fmt::Display) -> String {
    newer(text, current).map_or_else(|| error.to_string(), |newer| newer.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_version_is_newer() {
        assert_eq!(newer(r#"{"run":"r","version":2}"#, 1), Some(NewerFormat { found: 2, current: 1 }));
        for text in
            [r#"{"run":"r"}"#, r#"{"version":1}"#, r#"{"version":"2"}"#, "[2]", "", r#"{"a":{"version":2}}"#]
        {
            assert_eq!(newer(text, 1), None, "{text}");
        }
        assert_eq!(reason("{}", 1, "it is empty"), "it is empty");
        assert!(reason(r#"{"version":3}"#, 2, "unknown field").ends_with("use a newer graph-host"));
    }
}
