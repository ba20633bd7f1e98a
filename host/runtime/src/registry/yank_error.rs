//! Errors of yanking a version, and of choosing one that is not yanked.

use graph_core::trust::{KeyId, KeyRefusal, YankError};
use graph_registry::reference::Reference;

use super::pull::place_of;
use super::yank::MOST_YANKED;
use crate::error::{Kind, OperationError};
use crate::remedy::Remedy;

/// Reasons for which a version is not yanked, or no version is chosen.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum YankingError {
    /// The range has no version.
    #[error("no version of {versions} satisfies `{range}`")]
    NoVersion { versions: Box<Reference>, range: String },
    /// Too many versions of the range are yanked.
    #[error(
        "the {MOST_YANKED} greatest versions of {place} that satisfy `{range}` are yanked, and no more are tried"
    )]
    TooManyYanked { place: String, range: String },
    /// All versions of the range are yanked.
    #[error(
        "all versions of {place} that satisfy `{range}` are yanked; the reason of {version} is: {reason}"
    )]
    AllYanked {
        place: String,
        range: String,
        /// The greatest version, safe to show.
        version: String,
        /// The reason of its yank.
        reason: String,
        /// Reference to it.
        reference: Box<Reference>,
    },
    /// The reference names no version.
    #[error("{reference} names no version")]
    NotOne { reference: Box<Reference> },
    /// The tag of the reference can move.
    #[error("the tag of {reference} names no version; now it is {version}")]
    MovingTag {
        reference: Box<Reference>,
        version: String,
        /// Reference by digest, quoted.
        pinned: String,
    },
    /// The content of the version is unknown.
    #[error("{version} cannot be read: it was not changed")]
    Unread { version: String },
    /// The trust store does not allow the key for the item.
    #[error("{version} was not changed: {source}")]
    KeyRefused { version: String, source: KeyRefusal },
    /// The trust store lacks the key.
    #[error(
        "{version} was not changed: the key {} is not in your trust store, so that it is not known whether it may sign the item",
        key.short()
    )]
    UnknownKey { version: String, key: KeyId },
    /// The statement cannot be made.
    #[error("the statement cannot be made: {0}")]
    Statement(#[from] YankError),
}

impl OperationError for YankingError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoVersion { .. } | Self::AllYanked { .. } => Kind::NotFound,
            Self::TooManyYanked { .. } => Kind::Limit,
            Self::NotOne { .. } | Self::MovingTag { .. } | Self::Statement(_) => Kind::Usage,
            Self::Unread { .. } | Self::KeyRefused { .. } | Self::UnknownKey { .. } => Kind::Integrity,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::TooManyYanked { .. } => "choose another range, or name a version".into(),
            Self::AllYanked { reference, .. } => Remedy::ChooseRange { reference: reference.to_string() },
            Self::NotOne { reference } => Remedy::SearchPlace {
                instead: Some("add a version or a digest: `:1.0.0`, `@sha256:…`".into()),
                place: place_of(&reference.to_string()),
            },
            Self::MovingTag { pinned, .. } => {
                format!("name the version by its own tag, or by its digest: {pinned}").into()
            }
            Self::KeyRefused { .. } => "sign with a key that your trust store allows for the item".into(),
            Self::UnknownKey { .. } => Remedy::TrustYankKey,
            Self::NoVersion { .. } | Self::Unread { .. } | Self::Statement(_) => return None,
        })
    }
}
