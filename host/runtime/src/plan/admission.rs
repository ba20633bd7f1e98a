//! Turns an item's id into a component that can be called: finds, verifies, compiles, grants and links it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use graph_core::capability::{
    CapabilityKind, EffectiveGrant, GrantRequest, InterfaceName, Manifest, ModelRule, Refusal, RefusalReason,
    effective_grant,
};
use graph_core::digest::Digest;
use graph_core::id::function_of;
use graph_core::item::NodeCapabilities;
use graph_core::limits::NodeLimits;
use graph_core::node::{Category, Failure};
use graph_core::time::Timestamp;
use graph_core::trust::{ComponentStanding, SigningKey, TrustStore, VerifiedComponent};
use graph_engine::{DescribeError, Engine, Import, LoadError, LoadedComponent, PrepareError, PreparedNode};

use crate::error::{Error, Kind};
use crate::functions::Functions;
use crate::items::locate::{FindError, ItemLocator, LocatedItem, Space};
use crate::items::precedence::Precedence;
use crate::items::text_items::Texts;
use crate::items::{locate, precedence};
use crate::plan::PlanProblem;
use crate::plan::describe::ComponentDescription;
use crate::plan::manifest_authority::AcceptedManifest;
use crate::remedy::{BoundedKey, Remedy};
use crate::trust::log::TrustLog;

/// Means to admit and link components.
#[derive(Clone)]
pub struct Components {
    /// Compiles and calls components.
    pub engine: Engine,
    /// The places of components and graphs.
    pub locator: ItemLocator,
    /// The trust store that decides which signatures count.
    pub trust: TrustStore,
    /// The manifest that grants come from.
    pub manifest: AcceptedManifest,
    /// Admits components without a signature.
    pub allow_unsigned: bool,
    /// The texts that the run has stored: they replace text items that no longer exist.
    pub kept_texts: Arc<BTreeMap<String, String>>,
    /// In a run that is resumed, the recorded time of the next superstep, by which the expiry of signatures is judged.
    pub recorded: Option<Timestamp>,
    /// The log of items that are admitted while a run is under way.
    pub log: Option<TrustLog>,
    /// The key with which the user lets the run sign.
    pub signing_key: Option<SigningKey>,
    /// Reads no secrets: their values are entered elsewhere, as in a page, or nothing is executed, as in checks of
    /// files. Linked components then cannot send any.
    pub without_secrets: bool,
    /// The items that the program performs itself.
    pub functions: Arc<Functions>,
}

/// A component that was admitted.
#[derive(Clone)]
pub struct Admitted {
    /// The file that its bytes were read from.
    pub path: PathBuf,
    /// The space that it was found in; `None` for a file that the user named.
    pub space: Option<Space>,
    /// The other items with its id.
    pub precedence: Precedence,
    /// Its bytes and signers.
    pub verified: VerifiedComponent,
    /// Its compiled code; `None` before it is compiled.
    pub loaded: Option<LoadedComponent>,
    /// The interfaces that its statement declares; for a component under development, those that it imports.
    pub declared: Vec<InterfaceName>,
}

/// A component that is linked with its grant.
pub(crate) struct LinkedComponent {
    pub(crate) node: PreparedNode,
    pub(crate) grant: EffectiveGrant,
    /// The digest of its bytes.
    pub(crate) component: Digest,
    /// Signers that admitted it.
    pub(crate) standing: ComponentStanding,
}

/// Reasons for which an item cannot be used.
#[derive(Debug)]
pub enum AdmitError {
    /// It was not found, or its id is invalid.
    Find(FindError),
    /// It is a graph.
    Graph {
        /// The item id that was to be a component.
        id: String,
        /// The file of the graph, as messages show it.
        path: String,
    },
    /// It cannot be read, or it is not admitted.
    Refused(Error),
    /// It cannot be compiled.
    Load(LoadError),
    /// It imports more than its statement declares.
    Undeclared {
        /// The item id of the component.
        id: String,
        /// The interfaces that it imports and does not declare.
        interfaces: Vec<String>,
    },
}

impl AdmitError {
    /// Converts this into the error for the user.
    pub fn into_error(self) -> Error {
        match self {
            Self::Find(error @ FindError::Missing { .. }) => Error::not_found(error.to_string())
                .help(Remedy::PlaceTool).caused_by(error),
            Self::Find(error @ FindError::Malformed(_)) => Error::invalid(error.to_string()).caused_by(error),
            Self::Find(error @ (FindError::Outside { .. } | FindError::Misplaced { .. })) => Error::denied(error.to_string()).caused_by(error),
            Self::Graph { .. } => Error::invalid(self.to_string())
                .help("a run can dispatch the graphs that its manifest permitted when it started: permit it under `dispatch`, and start a new run"),
            Self::Refused(error) => error,
            Self::Load(error) => cannot_load(&error).caused_by(error),
            Self::Undeclared { .. } => Error::integrity(self.to_string())
                .help("have it signed again, with the interfaces that it uses"),
        }
    }

    /// Converts this into the failure of a task that dispatches the item.
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
                write!(
                    f,
                    "`{id}` is a graph ({path}) that is not part of this run: it was not permitted or did not exist when the run started"
                )
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
    /// Returns the reader of knowledge and directives.
    pub(crate) fn texts(&self) -> Texts {
        Texts {
            locator: self.locator.clone(),
            trust: self.trust.clone(),
            kept: Arc::clone(&self.kept_texts),
            recorded: self.recorded,
        }
    }

    /// Finds, verifies and compiles an item. This call blocks.
    pub fn admit(&self, item: &str) -> Result<Admitted, AdmitError> {
        let examined = self.examine(item, self.recorded)?;
        self.compile(examined)
    }

    /// Finds and verifies an item for a superstep with this recorded time, and reads its imports. Compiled code is
    /// loaded if it is in the cache; nothing is compiled.
    pub fn examine(&self, item: &str, recorded: Option<Timestamp>) -> Result<Admitted, AdmitError> {
        let (file, envelope) = match self.locator.find(item).map_err(AdmitError::Find)? {
            LocatedItem::Component { file, envelope } => (file, envelope),
            LocatedItem::Graph { file } => {
                return Err(AdmitError::Graph { id: item.to_owned(), path: file.shown() });
            }
        };
        let moment = locate::moment_of_superstep(recorded);
        let verified = locate::verify(
            item,
            &file,
            envelope.as_deref(),
            &self.locator,
            &self.trust,
            moment,
            self.allow_unsigned,
        )
        .map_err(AdmitError::Refused)?;
        let precedence =
            precedence::of_component(&file, &verified, &self.trust, moment).map_err(AdmitError::Refused)?;
        let examined = Admitted {
            path: file.path,
            space: Some(file.space),
            precedence,
            declared: Vec::new(),
            loaded: None,
            verified,
        };
        if self.engine.has_compiled(&examined.verified) {
            return self.compile(examined);
        }
        let imports = self.engine.read_imports(&examined.verified).map_err(AdmitError::Load)?;
        Ok(Admitted { declared: declared(&examined.verified, &imports)?, ..examined })
    }

    /// Compiles an admitted component unless it is compiled already, and checks its imports against the interfaces that it declares.
    pub fn compile(&self, admitted: Admitted) -> Result<Admitted, AdmitError> {
        if admitted.loaded.is_some() {
            return Ok(admitted);
        }
        let loaded = self.engine.load(&admitted.verified).map_err(AdmitError::Load)?;
        let declared = declared(&admitted.verified, loaded.imports())?;
        Ok(Admitted { loaded: Some(loaded), declared, ..admitted })
    }

    /// Compiles a component that was verified elsewhere.
    pub fn load(&self, path: PathBuf, verified: VerifiedComponent) -> Result<Admitted, AdmitError> {
        self.compile(Admitted {
            path,
            space: None,
            precedence: Precedence::default(),
            declared: Vec::new(),
            loaded: None,
            verified,
        })
    }

    /// Computes the effective grant of a component at one use, under a manifest; a child run's manifest is narrowed by its parents.
    pub fn grant(
        &self,
        item: &str,
        admitted: &Admitted,
        manifest: &Manifest,
        capabilities: Option<&NodeCapabilities>,
        limits: NodeLimits,
    ) -> Result<EffectiveGrant, Vec<Refusal>> {
        grant_within(item, admitted, manifest, capabilities, limits, None)
    }

    /// Makes the problem of a refused grant; if a key's ceiling refuses it, with a remedy.
    pub(crate) fn problem_of(&self, refusal: Refusal, verified: &VerifiedComponent) -> PlanProblem {
        let help = match (&refusal.reason, refusal.kind) {
            (RefusalReason::Ceiling { .. }, Some(kind)) => Some(self.ceiling_help(kind, verified)),
            _ => None,
        };
        PlanProblem { help, ..refusal.into() }
    }

    fn ceiling_help(&self, kind: CapabilityKind, verified: &VerifiedComponent) -> Remedy {
        let signers = verified.standing().keys();
        let bounded = signers.filter_map(|key| self.trust.find(&key.id.to_string()));
        let keys: Vec<_> = bounded
            .filter(|key| !key.ceiling.kinds.contains(&kind))
            .map(|key| BoundedKey {
                name: key.name.clone(),
                file: self.trust.file_of(key.id()).map(str::to_owned),
            })
            .collect();
        if keys.is_empty() {
            Remedy::SignWithCapability { kind }
        } else {
            Remedy::RaiseCeiling { kind, keys }
        }
    }

    /// Describes a component and its functions: from its statement, or, under development, from its types and a call of `describe`.
    pub async fn description(&self, admitted: &Admitted) -> Result<ComponentDescription, Error> {
        match admitted.verified.statement() {
            Some(statement) => Ok(ComponentDescription::stated(statement)),
            None => ComponentDescription::from_component(&self.engine, &admitted.verified).await,
        }
    }

    /// Describes a component and its functions, including those that nodes cannot call, which statements lack.
    pub async fn complete_description(&self, admitted: &Admitted) -> Result<ComponentDescription, Error> {
        let mut description = self.description(admitted).await?;
        if admitted.verified.statement().is_some() {
            description.complete(&self.engine, &admitted.verified)?;
        }
        Ok(description)
    }

    /// Links a component with its grant, for the function that the item id names. The error is `None` if the component is not compiled.
    pub(crate) fn link(
        &self,
        item: &str,
        admitted: &Admitted,
        grant: &EffectiveGrant,
    ) -> Result<PreparedNode, Option<PrepareError>> {
        let loaded = admitted.loaded.as_ref().ok_or(None)?;
        let function = function_of(item);
        if self.without_secrets && (!grant.secrets.is_empty() || !grant.models.is_empty()) {
            let models = grant.models.iter().map(|model| ModelRule { secret: None, ..model.clone() });
            let bare = EffectiveGrant { secrets: Vec::new(), models: models.collect(), ..grant.clone() };
            return self.engine.prepare(loaded, function, &bare).map_err(Some);
        }
        self.engine.prepare(loaded, function, grant).map_err(Some)
    }

    /// Admits, grants and links an item that becomes known when a task dispatches it; errors are failures of that task.
    pub(crate) fn prepare_late(
        &self,
        item: &str,
        manifest: &Manifest,
        capabilities: Option<&NodeCapabilities>,
        limits: NodeLimits,
        recorded: Timestamp,
        caller: Option<&EffectiveGrant>,
    ) -> Result<LinkedComponent, Failure> {
        let examined = self.examine(item, Some(recorded)).map_err(AdmitError::failure)?;
        let grant =
            grant_within(item, &examined, manifest, capabilities, limits, caller).map_err(|refusals| {
                let reasons: Vec<_> = refusals.iter().map(ToString::to_string).collect();
                Failure::new(Category::Denied, reasons.join("; "))
            })?;
        let admitted = self.compile(examined).map_err(AdmitError::failure)?;
        if let Some(log) = &self.log {
            log.accept_component(&admitted.verified)
                .map_err(|error| Failure::new(Category::Internal, error.message().to_owned()))?;
        }
        let node = self.link(item, &admitted, &grant).map_err(|error| {
            Failure::new(Category::Denied, error.map_or_else(String::new, |error| error.to_string()))
        })?;
        let standing = admitted.verified.standing().clone();
        Ok(LinkedComponent { node, grant, component: *admitted.verified.digest(), standing })
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Components").field("locator", &self.locator).finish_non_exhaustive()
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("verified", &self.verified).finish_non_exhaustive()
    }
}

/// Makes the error for a component that cannot be loaded.
pub(crate) fn cannot_load(error: &LoadError) -> Error {
    if let LoadError::Functions { .. } = error {
        Error::new(Kind::Limit, "limit", error.to_string()).help(SMALLER_TYPES)
    } else if error.is_limit() {
        Error::new(Kind::Limit, "limit", error.to_string())
            .help("have it built with optimization, or split into several; no grant lifts what protects the compiler")
    } else {
        Error::integrity(error.to_string())
    }
}

/// Makes the error for a component that cannot be described.
pub(crate) fn cannot_describe(error: &DescribeError) -> Error {
    match error {
        DescribeError::Load(error) => cannot_load(error),
        error => Error::integrity(error.to_string()),
    }
}

/// Help for types that are too large to be described.
const SMALLER_TYPES: &str = "have it export fewer functions, or functions of smaller types: a type counts for each use, with its names";

/// Makes the error for a component that cannot be linked.
pub(crate) fn cannot_prepare(error: &PrepareError) -> Error {
    match error {
        PrepareError::NotGranted { .. } => Error::denied(error.to_string()),
        PrepareError::NoAction { .. } | PrepareError::Function { .. } => {
            Error::invalid(error.to_string()).help(Remedy::ListFunctions)
        }
        PrepareError::Functions { .. } => {
            Error::new(Kind::Limit, "limit", error.to_string()).help(SMALLER_TYPES)
        }
        PrepareError::WrongWorld { .. } => Error::integrity(error.to_string()),
        PrepareError::Secret { .. } => Error::denied(error.to_string()).help(
            "check the `secrets` entry of the manifest: `from` names a variable or a file of this machine",
        ),
        PrepareError::ModelKey { model, .. } => Error::denied(error.to_string()).help(format!(
            "set the variable or write the file that `models: {{ {model}: {{ secret: .. }} }}` in the manifest names"
        )),
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

/// Returns the interfaces that a component declares, which have to include all its imports; for a component under
/// development, its imports.
fn declared(verified: &VerifiedComponent, imports: &[Import]) -> Result<Vec<InterfaceName>, AdmitError> {
    let imported = imports.iter().filter(|import| !import.type_only).map(|import| import.name.as_str());
    let imported: Vec<&str> = imported.collect();
    let parse = |name: &str| InterfaceName::parse(name).ok();
    let declared: Vec<InterfaceName> = match verified.statement() {
        Some(statement) => statement.predicate.interfaces.iter().filter_map(|name| parse(name)).collect(),
        None => imported.iter().filter_map(|name| parse(name)).collect(),
    };
    let is_declared = |name: &str| {
        parse(name).is_some_and(|import| declared.iter().any(|known| known.is_compatible(&import)))
    };
    let undeclared: Vec<String> =
        imported.into_iter().filter(|name| !is_declared(name)).map(str::to_owned).collect();
    if undeclared.is_empty() {
        Ok(declared)
    } else {
        Err(AdmitError::Undeclared { id: verified.id().to_owned(), interfaces: undeclared })
    }
}

/// Computes the effective grant of a component; a called component gets at most its caller's.
fn grant_within(
    item: &str,
    admitted: &Admitted,
    manifest: &Manifest,
    capabilities: Option<&NodeCapabilities>,
    limits: NodeLimits,
    caller: Option<&EffectiveGrant>,
) -> Result<EffectiveGrant, Vec<Refusal>> {
    let signer = match admitted.verified.standing() {
        ComponentStanding::Signed { key, .. } => Some(key.name.as_str()),
        ComponentStanding::BuiltIn | ComponentStanding::Unsigned => None,
    };
    let id = admitted.verified.id();
    let id = function_of(item).map_or(Cow::Borrowed(id), |function| Cow::Owned(format!("{id}#{function}")));
    effective_grant(&GrantRequest {
        item_id: &id,
        declared: &admitted.declared,
        ceiling: &admitted.verified.ceiling(),
        signer,
        manifest,
        parent: caller,
        node: capabilities,
        node_limits: limits,
    })
}
