//! Knowledge and directives: finds them, checks their signatures, and reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_core::digest::Digest;
use graph_core::item::ItemType;
use graph_core::node::{Category, Failure};
use graph_core::text_item::{TextFormat, TextItem, read_text_item};
use graph_core::time::Timestamp;
use graph_core::trust::{TextRefusal, TextStanding, TrustStore, unsigned_text, verify_text};

use crate::error::{Error, Kind};
use crate::items::graph_file::remedy_of_text;
use crate::items::installed;
use crate::items::locate::{FindError, ItemFile, ItemLocator, Space, moment_of_superstep};
use crate::items::precedence::{self, Precedence};
use crate::remedy::{Remedy, WithoutSignature};

/// A text item that was admitted.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its id, without a version.
    pub id: String,
    /// Type: knowledge or directive.
    pub item_type: ItemType,
    /// Format of its document.
    pub format: TextFormat,
    /// Its file; `None` for an item that is known only from a run's records.
    pub file: Option<ItemFile>,
    /// The other items with its id.
    pub precedence: Precedence,
    /// Result of the check of its signature.
    pub standing: TextStanding,
    /// Its text, without the signature line.
    pub content: String,
    /// Digest of `content`.
    pub digest: Digest,
    /// Its metadata and its body.
    pub item: TextItem,
    /// The warnings of its document.
    pub warnings: Diagnostics,
}

/// Reasons for which a text item cannot be used.
#[derive(Debug)]
pub enum TextError {
    /// It was not found, or its id is invalid.
    Find(FindError),
    /// Its file cannot be read.
    Unread(Error),
    /// Its signature is invalid or not trusted.
    Refused {
        /// The path of the file, for messages.
        file: String,
        /// Refusal of the signature.
        refusal: Box<TextRefusal>,
    },
    /// Its document is invalid.
    Invalid(Box<Diagnostics>),
    /// Only another version of it exists.
    Version {
        /// The id with the version that was wanted.
        wanted: String,
        /// The version that was found, if the item states one.
        found: Option<String>,
    },
}

impl TextError {
    /// Converts this into the error for the user.
    pub fn into_error(self) -> Error {
        let message = self.to_string();
        match self {
            Self::Find(FindError::Missing { .. }) => Error::not_found(message).help(Remedy::PlaceText),
            Self::Find(FindError::Malformed(_)) => Error::invalid(message),
            Self::Find(FindError::Outside { .. } | FindError::Misplaced { .. }) => Error::denied(message),
            Self::Unread(error) => error,
            Self::Refused { file, refusal } => {
                let remedy = remedy_of_text(&refusal, &file, WithoutSignature::TextIsUsed);
                Error::integrity(message).help(remedy).caused_by(*refusal)
            }
            Self::Invalid(problems) => problems.into(),
            Self::Version { .. } => Error::not_found(message),
        }
    }

    /// Converts this into the failure of a task that uses the item.
    pub(crate) fn into_failure(self) -> Failure {
        let category = match self {
            Self::Refused { .. } | Self::Find(FindError::Outside { .. } | FindError::Misplaced { .. }) => {
                Category::Denied
            }
            Self::Unread(ref error) if error.kind() == Kind::Integrity => Category::Denied,
            _ => Category::Permanent,
        };
        Failure::new(category, self.to_string())
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Find(error) => error.fmt(f),
            Self::Unread(error) => f.write_str(error.message()),
            Self::Refused { file, refusal } => f.write_str(&refusal.of_file(file)),
            Self::Invalid(problems) => f.write_str(&problems.to_lines().join("; ")),
            Self::Version { wanted, found: Some(found) } => {
                write!(f, "`{wanted}` was not found: the file has version {found}")
            }
            Self::Version { wanted, found: None } => {
                write!(f, "`{wanted}` was not found: the file has no `version`")
            }
        }
    }
}

/// Finds, verifies and reads text items.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The places of the items.
    pub locator: ItemLocator,
    /// The trust store that decides which signatures count.
    pub trust: TrustStore,
    /// The texts that a run has stored, by [`key`]: they replace items that no longer exist.
    pub kept: Arc<BTreeMap<String, String>>,
    /// Recorded time of the superstep for which items are read; `None` for the present.
    pub recorded: Option<Timestamp>,
}

/// Returns the key of a text item in a run's pins: `knowledge acme/x.md`.
pub fn key(item_type: ItemType, id: &str, format: TextFormat) -> String {
    let extension = match format {
        TextFormat::Markdown => "md",
        TextFormat::Yaml => "yaml",
    };
    format!("{} {id}.{extension}", item_type.as_str())
}

/// Returns the id in a [`key`].
pub(crate) fn id_of_key(key: &str) -> &str {
    let file = key.split_once(' ').map_or(key, |(_, file)| file);
    file.rsplit_once('.').map_or(file, |(id, _)| id)
}

/// Returns the format of a file, by its extension.
pub fn format_of(path: &std::path::Path) -> TextFormat {
    let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if is_yaml { TextFormat::Yaml } else { TextFormat::Markdown }
}

impl Texts {
    /// Finds and reads an item, `a/b` or `a/b@1.2.0`. An invalid signature is an error.
    pub fn read(&self, item_type: ItemType, item: &str) -> Result<Text, TextError> {
        let (id, version) = item.split_once('@').map_or((item, None), |(id, version)| (id, Some(version)));
        let text = match self.locator.file(item_type, item) {
            Ok(file) => self.read_file(item_type, file)?,
            Err(error) => self.kept(item_type, id).unwrap_or(Err(TextError::Find(error)))?,
        };
        let found = text.item.text("version");
        if version.is_some_and(|version| found != Some(version)) {
            return Err(TextError::Version { wanted: item.to_owned(), found: found.map(str::to_owned) });
        }
        Ok(text)
    }

    /// Reads an item whose file is known.
    pub(crate) fn read_file(&self, item_type: ItemType, file: ItemFile) -> Result<Text, TextError> {
        let shown = file.shown();
        let text = file.text().map_err(|error| {
            TextError::Unread(Error::read("the item", std::path::Path::new(&shown), &error))
        })?;
        let standing =
            verify_text(item_type.into(), &file.id, &text, &self.trust, moment_of_superstep(self.recorded));
        if let TextStanding::Invalid(refusal) = standing {
            return Err(TextError::Refused { file: shown, refusal: Box::new(refusal) });
        }
        if !matches!(standing, TextStanding::Signed { .. }) && installed::is_pulled(&file.path) {
            return Err(TextError::Unread(installed::without_signature(&file)));
        }
        self.locator
            .check_lock(&file.path, item_type, &file.id, &Digest::of_bytes(text.as_bytes()))
            .map_err(TextError::Unread)?;
        let format = format_of(&file.path);
        let read = read_text_item(item_type, format, &shown, &text).map_err(TextError::Invalid)?;
        let content = unsigned_text(&text);
        let digest = Digest::of_bytes(content.as_bytes());
        let at = moment_of_superstep(self.recorded);
        let precedence = precedence::of_text(item_type, &file, &text, &standing, &self.trust, at)
            .map_err(TextError::Unread)?;
        Ok(Text {
            id: file.id.clone(),
            item_type,
            format,
            precedence,
            digest,
            content,
            file: Some(file),
            standing,
            item: read.item,
            warnings: read.warnings,
        })
    }

    /// Reads an item that a run has stored: it was admitted when the run was started.
    fn kept(&self, item_type: ItemType, id: &str) -> Option<Result<Text, TextError>> {
        let formats = [TextFormat::Markdown, TextFormat::Yaml];
        let kept = |format| Some((format, self.kept.get(&key(item_type, id, format))?));
        let (format, content) = formats.into_iter().find_map(kept)?;
        let read = read_text_item(item_type, format, id, content).map_err(TextError::Invalid);
        Some(read.map(|read| Text {
            id: id.to_owned(),
            item_type,
            format,
            file: None,
            precedence: Precedence::default(),
            standing: TextStanding::Unsigned,
            content: content.clone(),
            digest: Digest::of_bytes(content.as_bytes()),
            item: read.item,
            warnings: read.warnings,
        }))
    }
}

impl Text {
    /// Returns its space; `None` for an item that is known only from a run's records.
    pub fn space(&self) -> Option<Space> {
        self.file.as_ref().map(|file| file.space)
    }
}
