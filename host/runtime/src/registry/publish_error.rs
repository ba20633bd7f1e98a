//! Errors of publishing.

use std::path::{Path, PathBuf};

use graph_core::diagnostic::printable;
use graph_core::trust::WriteError;
use graph_registry::artifact::{MOST_USES, NoLayerError};
use graph_registry::pull::PullError;
use graph_registry::reference::{Reference, ReferenceError};

use super::publish::EPOCH_VARIABLE;
use crate::error::{Kind, OperationError};
use crate::items::locate::FindError;
use crate::remedy::Remedy;

/// Reasons for which an item is not published. Refusals of the registry are not among them.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PublishingError {
    /// No item is named.
    #[error("nothing is named that is to be published")]
    NoItem,
    /// No place is named.
    #[error("no registry or directory to publish to is given")]
    NoTarget,
    /// The item is not found.
    #[error(transparent)]
    Missing(#[from] FindError),
    /// The time of artifacts is none.
    #[error("{EPOCH_VARIABLE} is `{}`, which is no number of seconds since 1970", printable(value))]
    Epoch { value: String },
    /// The item has no signature.
    #[error("{file} is not signed, and what is published has to be")]
    NotSigned { file: String, path: PathBuf },
    /// The file is larger than those that are pulled.
    #[error("{file} is larger than {} MiB, the most that is pulled", most >> 20)]
    TooLarge { file: String, most: u64 },
    /// The given version is not that of the item.
    #[error("{file} says that it is version {own}, not {given}")]
    OtherVersion { file: String, own: String, given: String },
    /// The given version is none.
    #[error("`{}` is not a version like 1.2.3", printable(given))]
    NoVersion { given: String },
    /// The item states no version.
    #[error("{file} does not say its version")]
    Unversioned { file: String },
    /// Too many items are needed.
    #[error("{items} items would come along, {MOST_USES} at most may")]
    TooManyItems { items: usize },
    /// A graph needs itself.
    #[error("graphs that lead back to themselves are not published with what they use: {chain}")]
    Circle {
        /// The ids.
        chain: String,
    },
    /// The item has no place below the target.
    #[error(transparent)]
    Place(#[from] ReferenceError),
    /// The target has a digest.
    #[error("{reference} has a digest: what is published gets its own")]
    HasDigest { reference: Box<Reference> },
    /// The tag of the target is another version.
    #[error("the tag of {reference} is a version, and `{id}` is version {version}")]
    OtherTag { reference: Box<Reference>, id: String, version: String },
    /// The item is no artifact.
    #[error(transparent)]
    Artifact(#[from] NoLayerError),
    /// The companions of a graph do not fit.
    #[error(transparent)]
    Companions(Box<PullError>),
    /// The statement about the companions cannot be written.
    #[error(transparent)]
    Statement(#[from] WriteError),
}

impl OperationError for PublishingError {
    fn kind(&self) -> Kind {
        match self {
            Self::Missing(_) => Kind::NotFound,
            Self::NotSigned { .. } => Kind::Integrity,
            Self::NoItem
            | Self::NoTarget
            | Self::Epoch { .. }
            | Self::TooLarge { .. }
            | Self::OtherVersion { .. }
            | Self::NoVersion { .. }
            | Self::Unversioned { .. }
            | Self::TooManyItems { .. }
            | Self::Circle { .. }
            | Self::Place(_)
            | Self::HasDigest { .. }
            | Self::OtherTag { .. }
            | Self::Artifact(_)
            | Self::Companions(_)
            | Self::Statement(_) => Kind::Usage,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NoItem => Remedy::NamePublished,
            Self::NoTarget => Remedy::NameTarget,
            Self::Missing(_) => Remedy::NameItemFile,
            Self::NotSigned { path, .. } => {
                Remedy::SignFile { file: path.clone(), is_component: is_component(path) }
            }
            Self::Unversioned { .. } => Remedy::StateVersion,
            Self::Circle { .. } => "publish them one by one".into(),
            Self::Place(_) => "name the whole reference: oci://host/repository:tag".into(),
            Self::Companions(_) => Remedy::PublishAlone,
            _ => return None,
        })
    }
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}
