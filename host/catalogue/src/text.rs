//! Untrusted texts.

use std::fmt;

use graph_core::diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

/// Maximum number of characters of a name, a reference or a reason.
const LINE: usize = 400;
/// Maximum number of characters of a description.
const BLOCK: usize = 4000;
/// Maximum number of characters of a shown source: WIT, a schema or a manifest.
const SOURCE: usize = 64 << 10;
/// Maximum number of bytes of a schema.
const MOST_SCHEMA: usize = 64 << 10;
/// Maximum number of bytes of a link.
const MOST_LINK: usize = 2000;

/// A text of bounded length, in which control characters and those that are invisible or reorder their surroundings are escaped. A cut
/// text ends with `…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text(String);

impl Text {
    /// Creates a text of one line, such as a name, a reference or a reason.
    pub fn line(text: &str) -> Self {
        Self(visible(text, LINE).replace(['\n', '\t'], " "))
    }

    /// Creates a text of several lines, such as a description.
    pub fn block(text: &str) -> Self {
        Self(visible(text.trim(), BLOCK))
    }

    /// Creates the text of a source, such as WIT, JSON or YAML.
    pub fn source(text: &str) -> Self {
        Self(visible(text, SOURCE))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn visible(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", diagnostic::visible(&text[..at])),
        None => diagnostic::visible(text).into_owned(),
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Text {
    /// Creates a text from one that was written to `catalogue.json`, and does not change it.
    fn from(text: String) -> Self {
        // A cut text has one more character, and an escape is longer than the character that it replaces.
        Self(visible(&text, 16 * SOURCE))
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0
    }
}

/// A link that a publisher names: an `https:` URL without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Link(String);

/// Error of a text that is not a permitted link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a link is an `https:` URL with a host and without credentials, of at most {MOST_LINK} bytes")]
pub struct NotALink;

impl Link {
    /// Parses a link; returns `None` if it is not a permitted one.
    pub fn read(text: &str) -> Option<Self> {
        Self::try_from(text.to_owned()).ok()
    }

    /// Returns the URL, in ASCII.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Link {
    type Error = NotALink;

    fn try_from(text: String) -> Result<Self, NotALink> {
        let url = Some(text).filter(|text| text.len() <= MOST_LINK).and_then(|text| Url::parse(&text).ok());
        let is_plain = |url: &Url| {
            url.scheme() == "https" && url.has_host() && url.username().is_empty() && url.password().is_none()
        };
        url.filter(is_plain).map(|url| Self(url.into())).ok_or(NotALink)
    }
}

impl From<Link> for String {
    fn from(link: Link) -> Self {
        link.0
    }
}

/// A JSON Schema of bounded size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The schema; `None` if it is too large to show.
    pub json: Option<Value>,
    /// Size of the schema in bytes, as JSON.
    pub bytes: usize,
}

impl Schema {
    /// Creates a schema without its JSON if that is too large.
    pub fn of(schema: &Value) -> Self {
        let bytes = schema.to_string().len();
        Self { json: (bytes <= MOST_SCHEMA).then(|| schema.clone()), bytes }
    }

    /// Returns the schema as indented JSON, or a message if it is too large.
    pub fn shown(&self) -> Text {
        match &self.json {
            Some(json) => Text::source(&serde_json::to_string_pretty(json).unwrap_or_default()),
            None => Text::line(&format!("a schema of {} bytes, which is too large to be shown", self.bytes)),
        }
    }
}
