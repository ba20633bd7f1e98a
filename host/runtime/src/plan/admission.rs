//! From an item's id to a component that can be called: found, verified, compiled, granted, linked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use graph_core::capability::{
    EffectiveGrant, GrantRequest, InterfaceName, Manifest, Refusal, effective_grant,
};
use graph_core::digest::Digest;
use graph_core::graph::{NodeCapabilities, NodeLimits};
use graph_core::node::{Category, Description, Failure};
use graph_core::time::Timestamp;
use graph_core::trust::{SigningKey, Standing, TrustStore, VerifiedComponent};
use graph_engine::{DescribeError, Engine, LoadError, LoadedComponent, PrepareError, PreparedNode};

use crate::error::Error;
use crate::error::Kind;
use crate::executor::functions::Functions;
use crate::executor::item_operations::Primaries;
use crate::items::locate::{self, FindError, ItemLocator, LocatedItem, Space};
use crate::items::precedence::{self, Precedence};
use crate::project;
use crate::trust::log::TrustLog;

/// What components are made from.
#[derive(Clone)]
pub struct Components {
    /// Compiles and calls.
    pub engine: Engine,
    /// Where items are looked for.
    pub places: ItemLocator,
    /// Whose signatures count.
    pub trust: TrustStore,
    /// What is allowed.
    pub manifest: Arc<Manifest>,
    /// Whether components without a signature are let in.
    pub allow_unsigned: bool,
    /// The texts that the run has kept, for those that are not there any more.
    pub kept_texts: Arc<BTreeMap<String, String>>,
    /// The recorded time of the superstep that is next in a run that goes on: expiry is judged by it.
    pub recorded: Option<Timestamp>,
    /// Where it is written down what is let in while a run is under way.
    pub log: Option<TrustLog>,
    /// The key with which the user lets the run sign.
    pub signing_key: Option<SigningKey>,
    /// The items that the program performs itself.
    pub functions: Arc<Functions>,
}

/// A component that has been let in and compiled.
#[derive(Clone)]
pub struct Admitted {
    /// Its file.
    pub path: PathBuf,
    /// Where it comes from; `None` for one that was named by its path.
    pub space: Option<Space>,
    /// Which other items with its id there are.
    pub precedence: Precedence,
    /// Its bytes, and who vouches for them.
    pub verified: VerifiedComponent,
    /// Its code.
    pub loaded: LoadedComponent,
    /// The interfaces that it declares; of one under development, those that it imports.
    pub declared: Vec<InterfaceName>,
}

/// A component that is linked with what it is granted.
pub(crate) struct LinkedComponent {
    pub(crate) node: PreparedNode,
    pub(crate) grant: EffectiveGrant,
    /// The digest of its bytes.
    pub(crate) component: Digest,
    /// Whose signature it runs by.
    pub(crate) standing: Standing,
}

/// Why an item cannot be used.
#[derive(Debug)]
pub enum AdmitError {
    /// There is none, or its id is none.
    Find(FindError),
    /// It is a graph.
    Graph {
        /// The id.
        id: String,
        /// Its file.
        path: PathBuf,
    },
    /// It cannot be read, or is not let in.
    Refused(Error),
    /// It cannot be compiled.
    Load(LoadError),
    /// It imports more than its statement declares.
    Undeclared {
        /// The id.
        id: String,
        /// The interfaces.
        interfaces: Vec<String>,
    },
}

impl AdmitError {
    /// The error at the edge.
    pub fn into_error(self) -> Error {
        match self {
            Self::Find(error @ FindError::Missing { .. }) => Error::not_found(error.to_string())
                .help("name the folder it lies in with --items DIR, or put it into the project's .ai/tools"),
            Self::Find(error @ FindError::Malformed(_)) => Error::invalid(error.to_string()),
            Self::Find(error @ (FindError::Outside { .. } | FindError::Misplaced { .. })) => Error::denied(error.to_string()),
            Self::Graph { .. } => Error::invalid(self.to_string())
                .help("graphs that templates name are those that the manifest permits when a run begins; begin a new run"),
            Self::Refused(error) => error,
            Self::Load(error) => cannot_load(&error),
            Self::Undeclared { .. } => Error::integrity(self.to_string())
                .help("have it signed again, with the interfaces that it uses"),
        }
    }

    /// The failure of a task that dispatches the item.
    pub(crate) fn failure(self) -> Failure {
        let category = match &self {
            Self::Find(_) | Self::Graph { .. } => Category::Permanent,
            Self::Refused(_) | Self::Undeclared { .. } => Category::Denied,
            Self::Load(error) if error.is_limit() => Category::Limit,
            Self::Load(_) => Category::Internal,
        };
        Failure::new(category, self.to_string())
    }
}

impl fmt::Display for AdmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Find(error) => error.fmt(f),
            Self::Graph { id, path } => {
                let path = project::shown(path);
                write!(f, "`{id}` is a graph ({path}) that was not found when the run began")
            }
            Self::Refused(error) => f.write_str(error.message()),
            Self::Load(error) => error.fmt(f),
            Self::Undeclared { id, interfaces } => {
                let list: Vec<_> = interfaces.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "`{id}` imports {}, which its signed statement does not declare", list.join(", "))
            }
        }
    }
}

impl Components {
    /// What can be done with items besides running them.
    pub fn primaries(&self) -> Primaries {
        let dispatch = self.manifest.dispatch();
        let mut primaries = Primaries::new(&self.places, &self.trust, dispatch, self.allow_unsigned);
        primaries.texts.kept = Arc::clone(&self.kept_texts);
        primaries.texts.recorded = self.recorded;
        primaries.signing_key.clone_from(&self.signing_key);
        primaries
    }

    /// Finds, verifies and compiles an item. It blocks.
    pub fn admit(&self, item: &str) -> Result<Admitted, AdmitError> {
        self.admit_at(item, self.recorded)
    }

    /// As [`Self::admit`], for a superstep with this recorded time.
    fn admit_at(&self, item: &str, recorded: Option<Timestamp>) -> Result<Admitted, AdmitError> {
        let (file, envelope) = match self.places.find(item).map_err(AdmitError::Find)? {
            LocatedItem::Component { file, envelope } => (file, envelope),
            LocatedItem::Graph { file } => {
                return Err(AdmitError::Graph { id: item.to_owned(), path: file.path });
            }
        };
        let judged = locate::judged(recorded);
        let verified = locate::verify(
            item,
            &file.path,
            envelope.as_deref(),
            &self.places,
            &self.trust,
            judged,
            self.allow_unsigned,
        )
        .map_err(AdmitError::Refused)?;
        let precedence =
            precedence::of_component(&file, &verified, &self.trust, judged).map_err(AdmitError::Refused)?;
        let admitted = self.load(file.path, verified)?;
        Ok(Admitted { space: Some(file.space), precedence, ..admitted })
    }

    /// Compiles a component that has been let in, and checks what it imports against what it declares.
    pub fn load(&self, path: PathBuf, verified: VerifiedComponent) -> Result<Admitted, AdmitError> {
        let loaded = self.engine.load(&verified).map_err(AdmitError::Load)?;
        let imported: Vec<&str> = loaded
            .imports()
            .iter()
            .filter(|import| !import.type_only)
            .map(|import| import.name.as_str())
            .collect();
        let parse = |name: &str| InterfaceName::parse(name).ok();
        let declared: Vec<InterfaceName> = match verified.statement() {
            Some(statement) => statement.predicate.interfaces.iter().filter_map(|name| parse(name)).collect(),
            None => imported.iter().filter_map(|name| parse(name)).collect(),
        };
        let undeclared: Vec<String> = imported
            .into_iter()
            .filter(|name| {
                parse(name).is_none_or(|import| !declared.iter().any(|known| known.is_compatible(&import)))
            })
            .map(str::to_owned)
            .collect();
        if undeclared.is_empty() {
            Ok(Admitted { path, space: None, precedence: Precedence::default(), verified, loaded, declared })
        } else {
            Err(AdmitError::Undeclared { id: verified.id().to_owned(), interfaces: undeclared })
        }
    }

    /// What a component may do where it is used, under a manifest: in a child run what its parents leave of the whole.
    pub fn grant(
        &self,
        admitted: &Admitted,
        manifest: &Manifest,
        capabilities: Option<&NodeCapabilities>,
        limits: NodeLimits,
    ) -> Result<EffectiveGrant, Vec<Refusal>> {
        grant_within(admitted, manifest, capabilities, limits, None)
    }

    /// What a component says about itself: from its statement, or, under development, by asking it.
    pub async fn description(&self, admitted: &Admitted) -> Result<Description, Error> {
        match admitted.verified.statement() {
            Some(statement) => Ok(statement.predicate.description.clone()),
            None => self.engine.describe(&admitted.verified).await.map_err(|error| cannot_describe(&error)),
        }
    }

    /// An item that is only known once a task dispatches it: all of the above, as that task's failure.
    pub(crate) fn prepare_late(
        &self,
        item: &str,
        manifest: &Manifest,
        capabilities: Option<&NodeCapabilities>,
        limits: NodeLimits,
        recorded: Timestamp,
        caller: Option<&EffectiveGrant>,
    ) -> Result<LinkedComponent, Failure> {
        let admitted = self.admit_at(item, Some(recorded)).map_err(AdmitError::failure)?;
        if let Some(log) = &self.log {
            log.accept_component(&admitted.verified)
                .map_err(|error| Failure::new(Category::Internal, error.message().to_owned()))?;
        }
        let granted = grant_within(&admitted, manifest, capabilities, limits, caller);
        let grant = granted.map_err(|refusals| {
            let reasons: Vec<_> = refusals.iter().map(ToString::to_string).collect();
            Failure::new(Category::Denied, reasons.join("; "))
        })?;
        let node = self
            .engine
            .prepare(&admitted.loaded, &grant)
            .map_err(|error| Failure::new(Category::Denied, error.to_string()))?;
        let standing = admitted.verified.standing().clone();
        Ok(LinkedComponent { node, grant, component: *admitted.verified.digest(), standing })
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Components").field("places", &self.places).finish_non_exhaustive()
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("verified", &self.verified).finish_non_exhaustive()
    }
}

/// A component that cannot be loaded, at the edge.
pub fn cannot_load(error: &LoadError) -> Error {
    if error.is_limit() {
        Error::new(Kind::Limit, "limit", error.to_string())
            .help("have it built with optimization, or split into several; no grant lifts what protects the compiler")
    } else {
        Error::integrity(error.to_string())
    }
}

/// A component that cannot be asked what it is, at the edge.
pub fn cannot_describe(error: &DescribeError) -> Error {
    match error {
        DescribeError::Load(error) => cannot_load(error),
        error => Error::integrity(error.to_string()),
    }
}

/// A component that cannot be linked, at the edge.
pub fn cannot_prepare(error: &PrepareError) -> Error {
    match error {
        PrepareError::NotGranted { .. } => Error::denied(error.to_string()),
        PrepareError::WrongWorld { .. } => Error::integrity(error.to_string()),
        PrepareError::Secret { .. } => Error::denied(error.to_string()).help(
            "check the `secrets` entry of the manifest: `from` names a variable or a file of this machine",
        ),
        PrepareError::LinkedFolder { target, .. } => Error::denied(error.to_string()).help(format!(
            "look at where it leads; if that is meant, write `path: {}` in the manifest",
            graph_core::diagnostic::printable(target)
        )),
        PrepareError::Folder { source, .. } => {
            let exit =
                if source.kind() == std::io::ErrorKind::NotFound { Kind::NotFound } else { Kind::Denied };
            let code = if exit == Kind::NotFound { "not_found" } else { "denied" };
            Error::new(exit, code, error.to_string())
                .help("check the `filesystem` entry of the manifest: its paths are relative to the manifest")
        }
    }
}

/// What a component is granted; one that another calls is granted no more than that one.
fn grant_within(
    admitted: &Admitted,
    manifest: &Manifest,
    capabilities: Option<&NodeCapabilities>,
    limits: NodeLimits,
    caller: Option<&EffectiveGrant>,
) -> Result<EffectiveGrant, Vec<Refusal>> {
    let signer = match admitted.verified.standing() {
        Standing::Signed { key, .. } => Some(key.name.as_str()),
        Standing::Unsigned => None,
    };
    effective_grant(&GrantRequest {
        item_id: admitted.verified.id(),
        declared: &admitted.declared,
        ceiling: &admitted.verified.ceiling(),
        signer,
        manifest,
        parent: caller,
        node: capabilities,
        node_limits: limits,
    })
}
