//! Publishing: blobs first, then what refers to the manifest, and the tag last, so that what a tag names is always whole.

use graph_core::digest::Digest;

use crate::artifact::Artifact;
use crate::manifest::shown;
use crate::reference::version_of_tag;
use crate::transport::{Transport, TransportError, Wanted};

/// Why something is not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The tag names another artifact already.
    #[error("`{tag}` in {place} is {there} already, and what would be published is {new}")]
    Exists {
        /// The tag.
        tag: String,
        /// Where.
        place: String,
        /// What it names.
        there: Digest,
        /// What it would name.
        new: Digest,
    },
    /// It could not be taken there.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// What publishing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The same was there already.
    pub was_there: bool,
    /// What the tag named before.
    pub replaced: Option<Digest>,
}

/// Publishes an artifact and its signature under a tag. A tag that is a version keeps what it names, unless `force`; any
/// other tag may move.
pub fn publish(
    transport: &dyn Transport,
    artifact: &Artifact,
    signature: Option<&Artifact>,
    tag: &str,
    force: bool,
) -> Result<Published, PublishError> {
    let new = artifact.digest();
    let there = match transport.manifest(Wanted::Tag(tag)) {
        Ok(fetched) => Some(fetched.digest),
        Err(TransportError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let replaced = there.filter(|there| *there != new);
    if let Some(there) = replaced.filter(|_| version_of_tag(tag).is_some() && !force) {
        let (tag, place) = (shown(tag), transport.place());
        return Err(PublishError::Exists { tag, place, there, new });
    }
    for part in [Some(artifact), signature].into_iter().flatten() {
        for blob in &part.blobs {
            transport.put_blob(blob)?;
        }
    }
    if let Some(signature) = signature {
        transport.put_manifest(&signature.manifest, None)?;
    }
    if there != Some(new) {
        transport.put_manifest(&artifact.manifest, Some(tag))?;
    }
    Ok(Published { manifest: new, was_there: there == Some(new), replaced })
}
