//! Rules about secrets and knowledge that a component may use.

use serde::{Deserialize, Serialize};

use super::grant::Access;
use super::http::Scheme;

/// The source of a secret's value. Only the host reads it, when a component is prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// The name of a variable in the host's environment.
    Env(String),
    /// The absolute path of a file, whose content is the value, without a line end at its end.
    File(String),
}

/// A secret that a component may send and never sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRule {
    /// The name by which the component refers to it.
    pub name: String,
    /// The source of its value.
    pub from: SecretSource,
    /// The header that may contain it, in lower case.
    pub header: String,
    /// The host to which it may be sent.
    pub host: String,
    /// The schemes by which it may be sent.
    pub schemes: Vec<Scheme>,
}

/// Knowledge that a component may use: entries whose keys begin with the scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRule {
    /// The prefix of the keys: segments, each followed by `/`.
    pub scope: String,
    /// The permitted operations.
    pub access: Access,
}

/// Checks whether a text is a scope: segments of letters, digits, `_`, `-` and `.`, each followed by `/`.
pub(super) fn is_scope(text: &str) -> bool {
    text.strip_suffix('/').is_some_and(is_key)
}

/// Checks whether a text is the key of an entry: at most 512 bytes, segments of letters, digits, `_`, `-` and `.` joined by `/`, none of
/// them `.` or `..`.
pub fn is_key(text: &str) -> bool {
    let is_segment = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    text.len() <= 512 && text.split('/').all(is_segment)
}

/// Checks whether a text can name a secret: letters, digits and `_`, at most 64.
pub(super) fn is_secret_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Checks whether a text is a header's name in lower case (RFC 9110).
pub(super) fn is_header(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_scopes() {
        for text in ["a", "acme/x.1", "A_b/c-d"] {
            assert!(is_key(text) && is_scope(&format!("{text}/")), "{text}");
        }
        for text in ["", "/a", "a/", "a//b", "..", "a/../b", "a b", "a\0", "é"] {
            assert!(!is_key(text), "{text}");
        }
        assert!(!is_scope("a") && !is_scope("/"));
    }
}
