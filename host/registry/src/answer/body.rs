//! The bodies of answers: JSON of the distribution specification 1.1, and of the token authentication of the distribution
//! project.

use graph_core::json::{self, ReadJsonError, TreeLimit, TreeTooLarge};
use serde_json::Value;

use crate::manifest::shown;

/// Maximum number of names of one listing, on all of its pages, that are kept in memory.
pub const MOST_NAMES: usize = 100_000;

/// The reasons for which the body of an answer cannot be used. The body is not quoted: it may contain a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is not JSON.
    #[error("something that is not JSON (line {line}, column {column})")]
    NotJson {
        /// The line of the first character that cannot be read, from 1.
        line: usize,
        /// The column of that character.
        column: usize,
    },
    /// It takes too much memory.
    #[error("JSON that is too large: {0}")]
    TooLarge(#[source] TreeTooLarge),
    /// The answer to a request for a token contains none.
    #[error("JSON without a `token`")]
    NoToken,
    /// The answer to a request for a listing has something else in the place of the list.
    #[error("JSON without a list of `{0}`")]
    NoList(&'static str),
}

fn read(body: &[u8]) -> Result<Value, BodyError> {
    json::read(body, TreeLimit::ANSWER).map_err(|error| match error {
        ReadJsonError::TooLarge(error) => BodyError::TooLarge(error),
        ReadJsonError::Malformed(error) => BodyError::NotJson { line: error.line(), column: error.column() },
    })
}

/// Returns the token in the answer of a token server.
pub fn token(body: &[u8]) -> Result<String, BodyError> {
    let answer = read(body)?;
    let token = ["token", "access_token"].iter().find_map(|key| answer.get(key)?.as_str());
    token.map(str::to_owned).ok_or(BodyError::NoToken)
}

/// Returns the code and message of the first error in an error response, escaped for display; `None` if there is none.
pub fn explanation(body: &[u8]) -> Option<String> {
    let answer = read(body).ok()?;
    let first = answer.pointer("/errors/0")?;
    let part = |name: &str| first.get(name)?.as_str();
    let parts: Vec<_> = [part("code"), part("message")].into_iter().flatten().map(shown).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the names on one page of a listing: `tags` or `repositories`. Entries that are not texts, and those that
/// `is_name` refuses, are left out. A list that is missing or `null` is empty, because some registries write empty
/// lists so.
pub fn names(
    body: &[u8],
    key: &'static str,
    is_name: impl Fn(&str) -> bool,
) -> Result<Vec<String>, BodyError> {
    let mut page = read(body)?;
    match page.get_mut(key).map(Value::take) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(listed)) => Ok(listed
            .into_iter()
            .filter_map(|entry| match entry {
                Value::String(name) if is_name(&name) => Some(name),
                _ => None,
            })
            .collect()),
        Some(_) => Err(BodyError::NoList(key)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_token_is_read_under_either_name() {
        for body in [r#"{"token":"t"}"#, r#"{"access_token":"t"}"#, r#"{"token":"t","access_token":"u"}"#] {
            assert_eq!(token(body.as_bytes()), Ok("t".to_owned()), "{body}");
        }
        for body in ["{}", "[]", "null", r#"{"token":1}"#] {
            assert_eq!(token(body.as_bytes()), Err(BodyError::NoToken), "{body}");
        }
        let error = token(b"{\n\"token\": s3cret}").unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn an_explanation_is_shortened_and_escaped() {
        let body = r#"{"errors":[{"code":"DENIED","message":"no\u001b[2J"},{"code":"OTHER"}]}"#;
        let told = explanation(body.as_bytes()).unwrap();
        assert!(told.starts_with("DENIED, no") && !told.contains('\u{1b}'), "{told}");
        let long = format!(r#"{{"errors":[{{"message":"{}"}}]}}"#, "x".repeat(10_000));
        assert!(explanation(long.as_bytes()).unwrap().len() < 1000);
        for body in ["", "{}", r#"{"errors":[]}"#, r#"{"errors":[{"detail":1}]}"#, "<html>"] {
            assert_eq!(explanation(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn the_names_of_a_page_are_read() {
        let read = |body: &str| names(body.as_bytes(), "tags", |name| !name.contains(' '));
        assert_eq!(read(r#"{"name":"a","tags":["1.0.0",2,"a b","x"]}"#).unwrap(), ["1.0.0", "x"]);
        for body in [r#"{"tags":null}"#, "{}", r#"{"tags":[]}"#, "[]"] {
            assert!(read(body).unwrap().is_empty(), "{body}");
        }
        assert_eq!(read(r#"{"tags":{}}"#), Err(BodyError::NoList("tags")));
        assert!(matches!(read("<html>"), Err(BodyError::NotJson { line: 1, column: 1 })));
    }
}
