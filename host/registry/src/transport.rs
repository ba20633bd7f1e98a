//! Reads and writes the bytes of artifacts. A transport does not interpret them: their digests and contents are checked
//! by its callers.

use graph_core::digest::Digest;

#[cfg(feature = "http")]
use crate::http::{CredentialError, Registry, RegistryOptions};
#[cfg(feature = "http")]
use crate::layout::Layout;
use crate::manifest::{ArtifactManifest, Descriptor, ManifestError, ManifestIndex, media, shown};
#[cfg(feature = "http")]
use crate::reference::{Location, Reference};

/// The reasons for which bytes could not be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum TransportError {
    /// It does not exist.
    #[error("there is no {what} in {place}")]
    NotFound {
        /// The requested thing.
        what: String,
        place: String,
        /// The reference that lists what there is in the place, if it is there itself.
        listing: Option<String>,
    },
    /// The registry denies access.
    #[error("{place} does not permit to {action}: {reason}")]
    Denied {
        place: String,
        /// The denied operation, such as `read acme/fetch`.
        action: String,
        /// The reason that the registry gives.
        reason: String,
    },
    /// It requires credentials, and the configured ones cannot be used.
    #[cfg(feature = "http")]
    #[error("there are no usable credentials for {place}: {error}")]
    Credentials {
        place: String,
        /// The problem with the credentials.
        error: CredentialError,
    },
    /// The content is larger than the limit.
    #[error("{what} from {place} is larger than {most} bytes")]
    TooLarge {
        what: String,
        place: String,
        /// Number of bytes that may be read.
        most: u64,
    },
    /// All requests together exceed the limit on bytes.
    #[error("{place} sends more than {most} bytes in all")]
    TooMuch {
        place: String,
        /// Number of bytes that may be read.
        most: u64,
    },
    /// A listing has more entries than the limit.
    #[error("the listing of {what} was cut off: {place} has more than {most} {unit}, the most that are read")]
    CutOff {
        /// The listed things.
        what: String,
        place: String,
        /// Number of pages, entries or the like that are read.
        most: usize,
        /// The unit of `most`: `pages`, `entries`, `manifests`, `artifacts` or the like.
        unit: &'static str,
    },
    /// A list of statements has no room for another one.
    #[error("{what} in {place} was not changed: it would have {count} statements, more than are read")]
    Full {
        /// The list.
        what: String,
        place: String,
        /// Number of statements that there would be.
        count: usize,
    },
    /// The answer took too long.
    #[error("{place} has not sent {what} within {seconds} s")]
    Timeout {
        /// The requested thing.
        what: String,
        place: String,
        /// Number of seconds that the command was allowed to take.
        seconds: u64,
    },
    /// The registry is on this machine or in its networks, and it was named in a file and not by the user.
    #[error(
        "{place} is on this machine or in its networks, and a file names it, not you: it was not contacted"
    )]
    NotNamed { place: String },
    /// The host cannot be reached, or the connection failed.
    #[error("{place} cannot be asked for {what}: {reason}")]
    Network {
        /// The requested thing.
        what: String,
        place: String,
        reason: String,
    },
    /// The answer is invalid.
    #[error("{place} answers a request for {what} with {reason}")]
    Answer {
        /// The requested thing.
        what: String,
        place: String,
        /// The problem with the answer.
        reason: String,
    },
    /// It redirects to a URL that is not followed.
    #[error("{place} redirects a request for {what} to {to}, which is not followed: {reason}")]
    Redirect {
        /// The requested thing.
        what: String,
        place: String,
        to: String,
        /// The reason for which it is not followed.
        reason: &'static str,
    },
    /// It requires tokens of another host, which the user has not allowed to issue them.
    #[error("{place} wants a token that {realm} makes, which is another host: nothing was sent there")]
    Realm {
        place: String,
        /// The host that issues the tokens.
        realm: String,
    },
    /// A file of the directory is invalid.
    #[error("{what} in {place} cannot be used: {reason}")]
    Broken {
        /// The file, as messages name it.
        what: String,
        place: String,
        reason: String,
    },
    /// The directory cannot be read or written.
    #[error("{what} in {place} cannot be {done}: {source}")]
    Io {
        what: String,
        place: String,
        /// `read` or `written`.
        done: &'static str,
        source: std::io::Error,
    },
}

/// The name of a manifest: its tag (in a directory: its name) or its digest.
#[derive(Clone, Copy, Debug)]
pub enum ManifestName<'a> {
    /// The manifest that a tag names now.
    Tag(&'a str),
    /// The manifest with this digest.
    Digest(&'a Digest),
}

impl ManifestName<'_> {
    /// Returns the name of the manifest for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Tag(tag) => format!("tag `{}`", shown(tag)),
            Self::Digest(digest) => format!("manifest {digest}"),
        }
    }
}

/// A manifest or index, as it was received.
#[derive(Clone, Debug)]
pub struct FetchedManifest {
    /// The bytes of the manifest, unchanged.
    pub bytes: Vec<u8>,
    /// The SHA-256 of these bytes, computed here and not taken from a header.
    pub digest: Digest,
}

/// Reads and writes the bytes of one repository or directory.
pub trait Transport {
    /// Reads the manifest or index of a tag or digest, of at most [`crate::manifest::MOST_MANIFEST`] bytes. Its digest
    /// is computed from the bytes.
    fn manifest(&self, wanted: ManifestName<'_>) -> Result<FetchedManifest, TransportError>;

    /// Reads a blob. If it has more than `most` bytes, the error is [`TransportError::TooLarge`]. The caller checks the
    /// digest.
    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError>;

    /// Lists all tags; in a directory, all names. If there are more than the limit, the error is
    /// [`TransportError::CutOff`].
    fn tags(&self) -> Result<Vec<String>, TransportError>;

    /// Lists the manifests of an artifact type whose subject is this one. Manifests that are listed without a type are
    /// included. If there are more than the limit, the error is [`TransportError::CutOff`].
    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, TransportError>;

    /// Lists the referrers of an artifact type of all manifests, each with the digest of its subject, even if no tag
    /// names that. The list is empty if the place cannot list them. If there are more than the limit, the error is
    /// [`TransportError::CutOff`].
    fn all_referrers(&self, artifact_type: &str) -> Result<Vec<(Digest, Descriptor)>, TransportError> {
        let _ = artifact_type;
        Ok(Vec::new())
    }

    /// Stores a blob unless it exists.
    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError>;

    /// Stores a manifest, under a tag if one is given. If it has a subject, it is added to the subject's referrers.
    fn put_manifest(&self, manifest: &ArtifactManifest, tag: Option<&str>) -> Result<Digest, TransportError>;

    /// Returns the name of the repository or directory, for messages.
    fn place(&self) -> String;
}

/// Returns the transport for a reference.
#[cfg(feature = "http")]
pub fn open(reference: &Reference, options: &RegistryOptions) -> Result<Box<dyn Transport>, TransportError> {
    Ok(match &reference.place {
        Location::Registry { host, repository } => {
            Box::new(Registry::new(host, options)?.repository(repository))
        }
        Location::Layout { folder } => Box::new(Layout::new(folder).within(options.budget())),
    })
}

/// Returns the tag that lists the referrers of a manifest in registries without the referrers API.
pub fn fallback_tag(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}

/// Returns the digest of the manifest whose referrers a tag lists.
pub(crate) fn subject_of_tag(tag: &str) -> Option<Digest> {
    format!("sha256:{}", tag.strip_prefix("sha256-")?).parse().ok()
}

/// Reports whether a manifest may have an artifact type: it is listed with that type, or without any.
pub(crate) fn has_type(listed: &Descriptor, artifact_type: &str) -> bool {
    listed.artifact_type.as_deref().is_none_or(|found| found == artifact_type)
}

/// Reads the index of a tag; an empty one if the tag does not exist.
pub(crate) fn index_of_tag(transport: &dyn Transport, tag: &str) -> Result<ManifestIndex, TransportError> {
    match transport.manifest(ManifestName::Tag(tag)) {
        Ok(fetched) => {
            ManifestIndex::read(&fetched.bytes).map_err(|error: ManifestError| TransportError::Answer {
                what: format!("tag `{tag}`"),
                place: transport.place(),
                reason: format!("an index that cannot be used: {error}"),
            })
        }
        Err(TransportError::NotFound { .. }) => Ok(ManifestIndex::empty()),
        Err(error) => Err(error),
    }
}

/// Returns the descriptor under which a manifest is listed.
pub(crate) fn listed(manifest: &ArtifactManifest, bytes: &[u8]) -> Descriptor {
    Descriptor {
        artifact_type: Some(manifest.kind().to_owned()),
        annotations: manifest.annotations.clone(),
        ..Descriptor::new(media::MANIFEST, bytes)
    }
}

/// Returns the number of bytes to read in order to notice that a limit is exceeded.
#[cfg(feature = "http")]
pub(crate) const fn one_more(most: u64) -> u64 {
    most.saturating_add(1)
}
