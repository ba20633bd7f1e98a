//! Pulls from registries and image-layout directories, for commands.

use std::time::Duration;

use graph_core::diagnostic::printable;
use graph_core::trust::TrustStore;
use graph_registry::artifact::UsedItem;
use graph_registry::attach::AttachError;
use graph_registry::http::{CredentialError, HelperError, RegistryOptions, TOKEN_REALM_VARIABLE};
use graph_registry::lock::{AllowedDepartures, Departure, LockedItem};
use graph_registry::publish::PublishError;
use graph_registry::pull::{self, Judge, PullError, PulledArtifact};
use graph_registry::range::{self, RangeError, Request};
use graph_registry::reference::{Reference, ReferenceError};
use graph_registry::transport::{self, Transport, TransportError};

use crate::error::{Error, Kind, Result};
use crate::items::locate::moment_of_superstep;
use crate::items::lock_file::LockFile;
use crate::project::paths::absolute;
use crate::project::user_home::Home;
use crate::registry::named_registries::named;
use crate::remedy::{Remedy, WithoutSignature};

/// Limit of the bytes that one command reads in all.
const MOST: u64 = 1 << 30;

/// Settings of connections to registries.
#[derive(Clone, Debug)]
pub struct Network {
    /// Connect without TLS. By default, only registries on this machine are contacted in that way.
    pub plain_http: Option<bool>,
    /// Time limit of all requests together.
    pub timeout: Duration,
    /// Hosts that may make the tokens of a registry and receive the credentials for it, such as `auth.docker.io`.
    /// Without any, only the registry itself and the host in `GRAPH_HOST_REGISTRY_TOKEN_REALM` may.
    pub token_realm: Vec<String>,
}

impl Default for Network {
    fn default() -> Self {
        Self { plain_http: None, timeout: Duration::from_mins(5), token_realm: Vec::new() }
    }
}

impl Network {
    /// Makes the options of a command that starts now: its time runs from here. `typed` are the references that the
    /// user has named in this command and not in a file. Their registries are contacted wherever they are, and from
    /// then on also if a file names them.
    pub fn options(&self, home: &Home, typed: &[Reference]) -> RegistryOptions {
        let realm = std::env::var(TOKEN_REALM_VARIABLE).ok().filter(|host| !host.is_empty());
        let realms = self.token_realm.iter().cloned().chain(realm).collect();
        let options = RegistryOptions::new(self.plain_http, self.timeout, MOST).with_token_realms(realms);
        options.with_named(named(home, typed))
    }
}

/// Reads a reference, with an error that shows the forms of references.
pub fn reference(text: &str) -> Result<Reference> {
    text.parse().map_err(|error| invalid(&error))
}

/// Returns the references among words, each of which may have a range instead of the version. Other words are errors at their use.
pub fn typed(words: &[String]) -> Vec<Reference> {
    let requests = words.iter().filter_map(|word| word.parse::<Request>().ok());
    requests
        .filter_map(|request| match request {
            Request::Reference(reference) => Some(reference),
            Request::Range { versions, .. } => Some(versions),
            Request::Item { .. } => None,
        })
        .collect()
}

fn invalid(error: &ReferenceError) -> Error {
    Error::usage(error.to_string()).help(
        "a registry is `oci://host/repository:tag`, a directory `oci-layout:DIR:name`; `@sha256:…` pins either",
    )
}

impl From<RangeError> for Error {
    fn from(error: RangeError) -> Self {
        let message = error.to_string();
        let made = match &error {
            RangeError::Syntax { .. } | RangeError::TooLong(_) => Self::usage(message)
                .help("a range is like `^1.2`, `~1.2.3`, `>=1.2, <1.5` or `*`; quote it for the shell"),
            RangeError::Tagged(_) => {
                Self::usage(message).help("leave the tag out: oci://host/repository@^1.2")
            }
            RangeError::NoName(_) => Self::usage(message)
                .help("name a repository, `oci://host/repository@^1.2`, or an item, `oci-layout:DIR:acme/fetch@^1.2`"),
            RangeError::Reference(error) => invalid(error),
            RangeError::NoVersions(place) => Self::not_found(message).help(Remedy::SearchPlace { instead: None, place: place_of(place) }),
            RangeError::NoneSatisfies { .. } => Self::not_found(message)
                .help("choose another range; a pre-release is selected only by a range that names one of its release"),
        };
        made.caused_by(error)
    }
}

/// Returns the place of a reference, whose artifacts can be listed.
pub(super) fn place_of(reference: &str) -> String {
    let place = reference.parse::<Reference>().map(|named| Reference::of_place(named.place).to_string());
    place.unwrap_or_else(|_| reference.to_owned())
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        use TransportError as Trouble;
        let message = error.to_string();
        let made = match &error {
            Trouble::NotFound { listing, .. } => {
                Self::not_found(message).help(match listing {
                    Some(listing) => Remedy::SearchListing { place: listing.clone() },
                    None => "name a directory that has an image layout, as `publish` writes it".into(),
                })
            }
            Trouble::Denied { .. } => Self::denied(message).help(
                "log in with `docker login`, or set GRAPH_HOST_REGISTRY to the registry's host, and \
                 GRAPH_HOST_REGISTRY_USERNAME and GRAPH_HOST_REGISTRY_PASSWORD as well",
            ),
            Trouble::Realm { realm, .. } => Self::denied(message).help(Remedy::AllowTokenRealm { realm: realm.clone() }),
            Trouble::Credentials { error, .. } => credentials(message, error),
            Trouble::CutOff { .. } => Self::limit(message).help(
                "nothing was selected from an incomplete listing: name a tag or a digest in place of a range, or have the \
                 registry's owner remove what is no longer needed",
            ),
            Trouble::Full { .. } => Self::limit(message).help(
                "the statement is attached to its version all the same, and counts there for as long as the manifest is not replaced",
            ),
            Trouble::TooLarge { .. } | Trouble::TooMuch { .. } => {
                Self::integrity(message).help("nothing was written; the artifact is larger than any item may be")
            }
            Trouble::Timeout { .. } => Self::new(Kind::TimedOut, "timed_out", message)
                .help(Remedy::GiveMoreTime),
            Trouble::NotNamed { place } => Self::denied(message).help(Remedy::AllowRegistry { place: place.clone() }),
            Trouble::Network { .. } => Self::new(Kind::Storage, "network", message).help(
                "check the name of the registry and the connection; proxies are taken from the environment",
            ),
            Trouble::Answer { .. } | Trouble::Redirect { .. } | Trouble::Broken { .. } => {
                Self::integrity(message)
            }
            Trouble::Io { .. } => Self::storage(message),
        };
        made.caused_by(error)
    }
}

/// Makes the error of credentials that cannot be used, with advice.
fn credentials(message: String, error: &CredentialError) -> Error {
    let help = match error {
        CredentialError::Incomplete(name) => {
            return Error::denied(message).help(format!("set {name}, or unset GRAPH_HOST_REGISTRY"));
        }
        CredentialError::Docker(_) => "correct the file, or log in again with `docker login`",
        CredentialError::Helper(HelperError::Timeout { .. }) => {
            return Error::new(Kind::TimedOut, "timed_out", message).help(Remedy::RunHelper);
        }
        CredentialError::Helper(HelperError::Start { is_absent: true, .. }) => {
            "install the helper in a folder of PATH, or correct `credsStore` and `credHelpers` in Docker's config.json"
        }
        CredentialError::Helper(HelperError::Name(_)) => {
            "correct `credsStore` and `credHelpers` in Docker's config.json"
        }
        CredentialError::Helper(_) => {
            "run the helper by hand: echo HOST | docker-credential-NAME get; or log in again with `docker login`"
        }
    };
    Error::denied(message).help(format!(
        "{help}; GRAPH_HOST_REGISTRY, GRAPH_HOST_REGISTRY_USERNAME and GRAPH_HOST_REGISTRY_PASSWORD replace them"
    ))
}

impl From<PublishError> for Error {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Exists { .. } => {
                Self::integrity(error.to_string()).help(Remedy::MoveTag).caused_by(error)
            }
            PublishError::Transport(error) => error.into(),
        }
    }
}

impl From<AttachError> for Error {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Full { .. } => Self::limit(error.to_string())
                .help("have the registry's owner remove signatures that are no longer needed")
                .caused_by(error),
            AttachError::Transport(error) => error.into(),
        }
    }
}

impl From<PullError> for Error {
    fn from(error: PullError) -> Self {
        let message = error.to_string();
        match error {
            PullError::Transport(error) => error.into(),
            PullError::Component { ref reason, .. } => {
                let remedy = Remedy::of_component(reason);
                Self::integrity(message).help(remedy).caused_by(error)
            }
            PullError::Invalid { problems, .. } => {
                Self::integrity(message).details(problems.to_json()).related(*problems)
            }
            PullError::Signatures { .. } => Self::integrity(message).help(
                "trust a key that made one of the first signatures, or have the registry's owner remove the others",
            ).caused_by(error),
            PullError::Unsigned { .. } => Self::integrity(message).help(Remedy::HavePublishedSigned).caused_by(error),
            PullError::Text { .. } => Self::integrity(message).help(Remedy::TrustSigner { without: WithoutSignature::Refused }).caused_by(error),
            PullError::OfCompanion { error, .. } => {
                let inner = Self::from(*error);
                let outer = Self::new(inner.kind(), inner.code(), message);
                let outer = match inner.remedy() {
                    Some(remedy) => outer.help(remedy.clone()),
                    None => outer,
                };
                outer.caused_by(inner)
            }
            PullError::NotAComponent { .. } => Self::usage(message).help(Remedy::SignAndPublish).caused_by(error),
            _ => Self::integrity(message).help("nothing was written; its publisher can publish it again").caused_by(error),
        }
    }
}

impl From<Box<Departure>> for Error {
    fn from(error: Box<Departure>) -> Self {
        let help = match &*error {
            Departure::Moved { reference, .. } => Remedy::AcceptMoved { reference: reference.clone() },
            Departure::Rollback { .. } => Remedy::AllowDowngrade,
            Departure::OtherKey { .. } => Remedy::AcceptOtherKey,
        };
        Self::integrity(error.to_string()).help(help).caused_by(*error)
    }
}

/// Pulls items and verifies them.
#[derive(Debug)]
pub struct Puller<'p> {
    /// Options of connections to registries.
    pub options: RegistryOptions,
    /// The trust store that admits pulled items.
    pub trust: &'p TrustStore,
    /// The user's space, which remembers yanks.
    pub home: &'p Home,
}

/// A pulled item and its origin.
#[derive(Clone, Debug)]
pub struct PulledItem {
    /// The verified item.
    pub pulled: PulledArtifact,
    /// Reference that it was pulled from, by its tag.
    pub reference: Reference,
}

impl PulledItem {
    /// Makes the entry for a lockfile.
    pub fn locked(&self) -> LockedItem {
        LockedItem {
            kind: self.pulled.kind,
            reference: self.reference.clone(),
            version: self.pulled.version.clone(),
            manifest: self.pulled.manifest,
            digest: self.pulled.digest,
            key: self.pulled.key.id,
        }
    }

    /// Checks that this may replace the item `held`, which is `locked` or `installed` (`word`).
    pub fn follows(&self, held: &LockedItem, word: &'static str, allowed: AllowedDepartures) -> Result<()> {
        // Directories are compared by their absolute paths.
        let normal = |locked: &LockedItem| {
            let reference = locked.reference.clone().in_folder(absolute);
            LockedItem { reference, ..locked.clone() }
        };
        Ok(normal(held).succeeded_by(&self.pulled.id, &normal(&self.locked()), word, allowed)?)
    }
}

impl Puller<'_> {
    /// Opens the transport of a reference.
    pub fn open(&self, reference: &Reference) -> Result<Box<dyn Transport>> {
        Ok(transport::open(reference, &self.options)?)
    }

    /// Resolves a request to a reference: for a range, the greatest version that satisfies it and is not yanked. For an
    /// item that is named by its id, the versions are those in the place of the locked one.
    pub fn requested(&self, text: &str, lock: &LockFile) -> Result<Reference> {
        let (versions, range) = match text.parse::<Request>()? {
            Request::Reference(reference) => return Ok(reference),
            Request::Range { versions, range } => (versions, range),
            Request::Item { id, range } => (range::versions_of(&locked_reference(&id, lock)?), range),
        };
        let tags = self.open(&versions)?.tags()?;
        let found = range::satisfying(&versions, &tags, &range)?;
        self.not_yanked(&versions, &range, found)
    }

    /// Pulls one item. `id` is the required item id.
    pub fn one(&self, reference: &Reference, id: Option<&str>) -> Result<PulledItem> {
        if !reference.names_one() {
            return Err(Error::usage(format!("{reference} names no artifact")).help(Remedy::SearchPlace {
                instead: Some("add a tag or a digest: `:1.0.0`, `@sha256:…`".into()),
                place: place_of(&reference.to_string()),
            }));
        }
        let transport = self.open(reference)?;
        let judge = Judge { trust: self.trust, at: moment_of_superstep(None) };
        let pulled = pull::pull(&*transport, reference, id, judge)?;
        Ok(PulledItem { pulled, reference: reference.clone() })
    }

    /// Pulls an item and the items that it uses, the item first.
    pub fn with_items(&self, reference: &Reference) -> Result<Vec<PulledItem>> {
        let first = self.one(reference, None)?;
        let mut all = vec![first];
        for used in all[0].pulled.uses.clone() {
            let found = self.used(&all[0], &used)?;
            all.push(found);
        }
        Ok(all)
    }

    /// Pulls an item that another one uses.
    fn used(&self, graph: &PulledItem, used: &UsedItem) -> Result<PulledItem> {
        let base = graph.reference.base_of(&graph.pulled.id).ok_or_else(|| {
            Error::integrity(format!(
                "{} comes with other items, which are next to it if its repository is named `…/{}`; it is not",
                graph.reference, graph.pulled.id
            ))
        })?;
        let tagged = base
            .below(&used.id, &used.version)
            .map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        let mut found = self.one(&tagged.pinned(used.manifest), Some(&used.id))?;
        let pulled = &found.pulled;
        if (pulled.kind, &pulled.version) != (used.kind, &used.version) {
            return Err(Error::integrity(format!(
                "`{}` says that it comes with the {} `{}` {}, and that is the {} `{}` {}",
                graph.pulled.id,
                used.kind.as_str(),
                used.id,
                used.version,
                pulled.kind.as_str(),
                pulled.id,
                pulled.version,
            )));
        }
        found.reference = tagged;
        Ok(found)
    }
}

/// Returns the reference of the only locked item with an id.
fn locked_reference(id: &str, lock: &LockFile) -> Result<Reference> {
    let mut found = lock.lock.iter().filter(|(locked, _)| *locked == id).map(|(_, locked)| locked);
    match (found.next(), found.next()) {
        (Some(locked), None) => Ok(lock.resolved(locked).reference),
        (None, _) => Err(Error::not_found(format!(
            "`{}` is not locked, so it is not known where its versions are",
            printable(id)
        ))
        .help("name its repository: oci://host/repository@^1.2")),
        (Some(_), Some(_)) => {
            Err(Error::usage(format!("several items with the id `{}` are locked", printable(id)))
                .help("name the repository: oci://host/repository@^1.2"))
        }
    }
}
