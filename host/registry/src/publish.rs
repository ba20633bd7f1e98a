//! Publishing: blobs first, then the referrers of the manifest, and the tag last, so that a tag always names a complete
//! artifact.

use graph_core::digest::Digest;

use crate::artifact::Artifact;
use crate::companions::differ_in_derived_only;
use crate::manifest::{ArtifactManifest, shown};
use crate::reference::version_of_tag;
use crate::transport::{ManifestName, Transport, TransportError};

/// The reasons for which an artifact was not published.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PublishError {
    /// The tag already names another artifact.
    #[error("`{tag}` in {place} is {there} already, and what would be published is {new}")]
    Exists {
        tag: String,
        place: String,
        /// The digest of the artifact that the tag names.
        there: Digest,
        /// The digest of the new artifact.
        new: Digest,
    },
    /// A request to the registry, or an access to the directory, failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// The result of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedArtifact {
    /// The digest of the manifest that the tag names now.
    pub manifest: Digest,
    /// True if the same artifact was published before, or one that differs only in companions that are derived from the
    /// graph.
    pub was_there: bool,
    /// The digest of the artifact that the tag named before, if it named another one.
    pub replaced: Option<Digest>,
}

/// Publishes an artifact and its signature under a tag. A tag that is a version can only be moved with `force`; any
/// other tag may be moved.
pub fn publish(
    transport: &dyn Transport,
    artifact: &Artifact,
    signature: Option<&Artifact>,
    tag: &str,
    force: bool,
) -> Result<PublishedArtifact, PublishError> {
    let new = artifact.digest();
    let there = match transport.manifest(ManifestName::Tag(tag)) {
        Ok(fetched) => Some(fetched),
        Err(TransportError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    // Another version of this program may draw the same graph differently. That is no reason to publish another version
    // of the graph, or to move a tag whose digest others have locked.
    let is_same = |bytes: &[u8]| {
        ArtifactManifest::read(bytes).is_ok_and(|there| differ_in_derived_only(&there, &artifact.manifest))
    };
    if let Some(there) = there.as_ref().filter(|there| !force && there.digest != new && is_same(&there.bytes))
    {
        return Ok(PublishedArtifact { manifest: there.digest, was_there: true, replaced: None });
    }
    let there = there.map(|there| there.digest);
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
    Ok(PublishedArtifact { manifest: new, was_there: there == Some(new), replaced })
}
