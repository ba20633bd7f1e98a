//! What brings bytes from where artifacts lie, and takes them there. A transport decides nothing about them: whether they
//! are what their digest says, and what they may be, is checked by those who ask.

use graph_core::digest::Digest;

use crate::http::{Options, Registry};
use crate::layout::Layout;
use crate::manifest::{Descriptor, Index, Manifest, ManifestError, media, shown};
use crate::reference::{Location, Reference};

/// Why bytes could not be brought or taken.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// It is not there.
    #[error("there is no {what} in {place}")]
    NotFound {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
    },
    /// Whoever keeps it does not let us.
    #[error("{place} does not permit to {action}: {reason}")]
    Denied {
        /// Where.
        place: String,
        /// What was asked for: `read acme/fetch`.
        action: String,
        /// What the other side says.
        reason: String,
    },
    /// It would not end, or not soon enough.
    #[error("{what} from {place} is larger than {most} bytes")]
    TooLarge {
        /// What it is.
        what: String,
        /// Where.
        place: String,
        /// How much is read.
        most: u64,
    },
    /// All of it together is too much.
    #[error("what {place} sends comes to more than {most} bytes in all")]
    TooMuch {
        /// Where.
        place: String,
        /// How much is read.
        most: u64,
    },
    /// The other side is too slow.
    #[error("{place} has not sent {what} within {seconds} s")]
    Timeout {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The other side cannot be reached, or is not understood.
    #[error("{place} cannot be asked for {what}: {reason}")]
    Network {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// Why.
        reason: String,
    },
    /// The other side answers with something that is no answer.
    #[error("{place} answers a request for {what} with {reason}")]
    Answer {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// What it answers.
        reason: String,
    },
    /// The other side sends us somewhere where we do not go.
    #[error("{place} redirects a request for {what} to {to}, which is not followed: {reason}")]
    Redirect {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// Where to.
        to: String,
        /// Why it is not followed.
        reason: &'static str,
    },
    /// It wants tokens that another host makes, which the user has not named.
    #[error("{place} wants a token that {realm} makes, which is another host: nothing was sent there")]
    Realm {
        /// Where.
        place: String,
        /// The host that makes tokens.
        realm: String,
    },
    /// What the directory has is not what it should be.
    #[error("{what} in {place} cannot be used: {reason}")]
    Broken {
        /// What it is.
        what: String,
        /// Where.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// The directory cannot be read or written.
    #[error("{what} in {place} cannot be {done}: {source}")]
    Io {
        /// What it is.
        what: String,
        /// Where.
        place: String,
        /// `read` or `written`.
        done: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// A manifest, by its tag (in a directory: its name) or its digest.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// By a tag.
    Tag(&'a str),
    /// By its digest.
    Digest(&'a Digest),
}

impl Wanted<'_> {
    /// The manifest, for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Tag(tag) => format!("tag `{}`", shown(tag)),
            Self::Digest(digest) => format!("manifest {digest}"),
        }
    }
}

/// A manifest or index as it came.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub digest: Digest,
}

/// Brings bytes from one repository or directory, and takes them there.
pub trait Transport {
    /// The manifest or index of a tag or digest, at most [`crate::manifest::MOST_MANIFEST`] bytes. Its digest is computed from the bytes.
    fn manifest(&self, wanted: Wanted<'_>) -> Result<Fetched, TransportError>;

    /// A blob; to read more than `most` bytes is [`TransportError::TooLarge`]. Whoever asks checks the digest.
    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError>;

    /// The descriptors of manifests that say to be about this one.
    fn referrers(&self, subject: &Digest) -> Result<Vec<Descriptor>, TransportError>;

    /// Takes a blob, unless it is there.
    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError>;

    /// Takes a manifest, under a tag if one is given. One with a subject is listed among its referrers from then on.
    fn put_manifest(&self, manifest: &Manifest, tag: Option<&str>) -> Result<Digest, TransportError>;

    /// Where that is, for messages.
    fn place(&self) -> String;
}

/// The transport of a reference.
pub fn open(reference: &Reference, options: &Options) -> Result<Box<dyn Transport>, TransportError> {
    Ok(match &reference.place {
        Location::Registry { host, repository } => {
            Box::new(Registry::new(host, options)?.repository(repository))
        }
        Location::Layout { folder } => Box::new(Layout::new(folder)),
    })
}

/// The tag under which referrers of a manifest are listed in registries that do not know the referrers API.
pub fn fallback_tag(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}

/// The index of a tag, or an empty one.
pub(crate) fn index_of_tag(transport: &dyn Transport, tag: &str) -> Result<Index, TransportError> {
    match transport.manifest(Wanted::Tag(tag)) {
        Ok(fetched) => Index::read(&fetched.bytes).map_err(|error: ManifestError| TransportError::Answer {
            what: format!("tag `{tag}`"),
            place: transport.place(),
            reason: format!("an index that cannot be used: {error}"),
        }),
        Err(TransportError::NotFound { .. }) => Ok(Index::empty()),
        Err(error) => Err(error),
    }
}

/// The descriptor under which a manifest is listed.
pub(crate) fn listed(manifest: &Manifest, bytes: &[u8]) -> Descriptor {
    Descriptor {
        artifact_type: Some(manifest.kind().to_owned()),
        annotations: manifest.annotations.clone(),
        ..Descriptor::of(media::MANIFEST, bytes)
    }
}

/// How much of something is read for a limit, without overflow.
pub(crate) const fn one_more(most: u64) -> u64 {
    most.saturating_add(1)
}
