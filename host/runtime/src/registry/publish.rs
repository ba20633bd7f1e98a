//! Publishes items that a file or an id names, with the items that they use. They are checked as if they were to run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::id::{path_of, version_of};
use graph_core::item::ItemType;
use graph_core::time::Timestamp;
use graph_core::trust::{
    EnvelopeClaims, KeyId, TextKind, TextStanding, TrustStore, VerifiedComponent, VerifyError,
    signed_content, verify_text,
};
use graph_registry::artifact::{
    self, Artifact, Item, ItemConfig, ItemContent, Kind, MOST_COMPONENT, MOST_TEXT, MOST_USES, UsedItem,
};
use graph_registry::companions::{self, Companion, CompanionKind};
use graph_registry::publish::{PublishedArtifact, publish};
use graph_registry::reference::Reference;
use graph_walker::document;
use graph_walker::graph::{Action, Graph};
use graph_walker::hook::HookAction;
use graph_walker::host_item::HostItem;
use serde_json::Value;

use crate::authoring::signing::Target;
use crate::clock::now;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::items::graph_file::wrongly_signed;
use crate::items::locate::{
    ItemLocator, LocatedItem, Space, envelope_path, id_of_file, id_of_graph, names_file, type_of_file,
};
use crate::items::{built_in, locate};
use crate::registry::companions::{CompanionSource, graph_title};
use crate::registry::publish_error::PublishingError;
use crate::registry::pull::Puller;

/// Environment variable with the creation time of artifacts, in seconds since 1970.
pub const EPOCH_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// An item that may be published: its signature is trusted here.
#[derive(Debug)]
pub struct PublishableItem {
    /// Item id to publish.
    pub id: String,
    /// Kind: component, graph, knowledge or directive.
    pub kind: Kind,
    /// Version that its signature covers.
    pub version: String,
    description: Option<String>,
    /// Time of its signature, if that states one.
    signed: Option<Timestamp>,
    /// Key that has signed it, for a text.
    signer: Option<KeyId>,
    body: Body,
    /// Items that its nodes and hooks name, for a graph.
    names: BTreeSet<(ItemType, String)>,
    /// Companions, for a graph.
    companions: Vec<Companion>,
    path: PathBuf,
    graph: Option<Arc<Graph>>,
}

impl PublishableItem {
    /// Returns the path of the file that it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the graph; `None` for another item.
    pub fn graph(&self) -> Option<&Arc<Graph>> {
        self.graph.as_ref()
    }

    /// Returns the name of its file in its artifact.
    pub fn title(&self) -> String {
        match &self.body {
            Body::Component { .. } => graph_title(&self.id, "wasm"),
            Body::Text { extension, .. } => graph_title(&self.id, extension),
        }
    }
}

#[derive(Debug)]
enum Body {
    Component { component: Box<VerifiedComponent>, envelope: String },
    Text { text: String, extension: String },
}

/// An item after publishing.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Published item id.
    pub id: String,
    /// Kind: component, graph, knowledge or directive.
    pub kind: Kind,
    /// Published version.
    pub version: String,
    /// Reference that pulls it.
    pub reference: Reference,
    /// Digest of its manifest, and whether it existed before or replaced another one.
    pub published: PublishedArtifact,
    /// Kinds and file names of its companions.
    pub companions: Vec<(CompanionKind, String)>,
}

/// Claims of the command line about an item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'s> {
    /// Item id, if its file does not state one.
    pub id: Option<&'s str>,
    /// Version, if the item does not state one.
    pub version: Option<&'s str>,
}

/// Finds, checks and publishes items.
#[derive(Debug)]
pub struct Publisher<'p> {
    /// The places of items.
    pub locator: &'p ItemLocator,
    /// The trust store, which has to accept an item's signature.
    pub trust: &'p TrustStore,
    /// Opens the target, with its network options.
    pub puller: &'p Puller<'p>,
    /// Replaces versions that exist.
    pub force: bool,
    /// The time of [`EPOCH_VARIABLE`].
    pub epoch: Option<Timestamp>,
    /// Source of the companions of graphs.
    pub companions: &'p dyn CompanionSource,
}

/// Reads the time of [`EPOCH_VARIABLE`], if it is set.
pub fn epoch() -> Result<Option<Timestamp>> {
    let Some(text) = std::env::var_os(EPOCH_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| text.parse::<u64>().ok());
    let millis = seconds.and_then(|seconds| seconds.checked_mul(1000));
    match millis.filter(|millis| *millis < 253_402_300_800_000) {
        Some(millis) => Ok(Some(Timestamp(millis))),
        None => Err(PublishingError::Epoch { value: text.to_string_lossy().into_owned() }.into()),
    }
}

impl Publisher<'_> {
    /// Finds an item by its file or id, and checks its signature.
    pub fn find(&self, name: &str, said: Said<'_>) -> Result<PublishableItem> {
        if names_file(name) {
            return self.file(Path::new(name), said);
        }
        let is_missing = |found: &Result<PublishableItem>| {
            found.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let tool = self.item(ItemType::Tool, name, said);
        if !is_missing(&tool) {
            return tool;
        }
        let texts = [ItemType::Knowledge, ItemType::Directive];
        let text = texts.into_iter().map(|item_type| self.item(item_type, name, said));
        text.into_iter().find(|found| !is_missing(found)).unwrap_or(tool)
    }

    fn item(&self, item_type: ItemType, id: &str, said: Said<'_>) -> Result<PublishableItem> {
        let missing = PublishingError::Missing;
        let id_alone = path_of(id);
        let version = said.version.or(version_of(id).filter(|version| artifact::is_version(version)));
        let said = Said { id: Some(said.id.unwrap_or(id_alone)), version };
        if item_type == ItemType::Tool {
            return match self.locator.find(id).map_err(missing)? {
                LocatedItem::Component { file, .. } | LocatedItem::Graph { file }
                    if file.space == Space::BuiltIn =>
                {
                    Err(built_in::not_published(&file.id))
                }
                LocatedItem::Component { file, .. } => self.component(&file.path, said),
                LocatedItem::Graph { file } => self.text(Kind::Graph, &file.path, said),
            };
        }
        let kind = if item_type == ItemType::Knowledge { Kind::Knowledge } else { Kind::Directive };
        self.text(kind, &self.locator.file(item_type, id).map_err(missing)?.path, said)
    }

    fn file(&self, path: &Path, said: Said<'_>) -> Result<PublishableItem> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm")) {
            return self.component(path, said);
        }
        let kind = match type_of_file(path, || crate::project::text_file::read(path).ok()) {
            ItemType::Tool => Kind::Graph,
            ItemType::Knowledge => Kind::Knowledge,
            ItemType::Directive => Kind::Directive,
        };
        self.text(kind, path, said)
    }

    fn shown(&self, path: &Path) -> String {
        self.locator.base().show(path)
    }

    fn not_signed(&self, path: &Path) -> Error {
        PublishingError::NotSigned { file: self.shown(path), path: path.to_owned() }.into()
    }

    fn component(&self, path: &Path, said: Said<'_>) -> Result<PublishableItem> {
        let bytes = locate::read_component(path, self.locator.base())?;
        if bytes.len() as u64 > MOST_COMPONENT {
            return Err(too_large(&self.shown(path), MOST_COMPONENT));
        }
        let envelope = Target::read_envelope(&envelope_path(path))?;
        let claimed = envelope.as_deref().and_then(|text| EnvelopeClaims::read(text).ok());
        let id = match (said.id.map(str::to_owned).or_else(|| Target::id_of_path(path)), claimed) {
            (Some(id), _) => id,
            (None, Some(claims)) => claims.statement.predicate.id,
            (None, None) => id_of_file(path),
        };
        let item = said.version.map_or_else(|| id.clone(), |version| format!("{id}@{version}"));
        let component = VerifiedComponent::verify(bytes, envelope.as_deref(), self.trust, &item, now())
            .map_err(|error| match error {
                VerifyError::Unsigned { .. } => self.not_signed(path),
                error => locate::refused(&error),
            })?;
        let (Some(version), Some(envelope)) = (component.version().map(str::to_owned), envelope) else {
            return Err(self.not_signed(path));
        };
        let summary = component.statement().map(|statement| statement.predicate.description.summary.clone());
        Ok(PublishableItem {
            id: component.id().to_owned(),
            kind: Kind::Component,
            version,
            description: summary,
            signed: None,
            signer: None,
            body: Body::Component { component: Box::new(component), envelope },
            names: BTreeSet::new(),
            companions: Vec::new(),
            path: path.to_path_buf(),
            graph: None,
        })
    }

    fn text(&self, kind: Kind, path: &Path, said: Said<'_>) -> Result<PublishableItem> {
        let text = crate::project::text_file::read_as("the item", path)?;
        if text.len() as u64 > MOST_TEXT {
            return Err(too_large(&self.shown(path), MOST_TEXT));
        }
        let id = match (said.id, kind) {
            (Some(id), _) => id.to_owned(),
            (None, Kind::Graph) => id_of_graph(path),
            (None, _) => Target::id_of_path(path).unwrap_or_else(|| id_of_file(path)),
        };
        let text_kind = TextKind::from(kind.item_type());
        let (signed_at, signer) = match verify_text(text_kind, &id, &text, self.trust, now()) {
            TextStanding::Signed { time, key, .. } => (time, key.id),
            TextStanding::Invalid(refusal) => return Err(wrongly_signed(&self.shown(path), &refusal)),
            TextStanding::Unsigned | TextStanding::BuiltIn | TextStanding::Legacy { .. } => {
                return Err(self.not_signed(path));
            }
        };
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("yaml");
        let own = artifact::read_text(kind, &id, extension, &text)?;
        let version = match (said.version, own.version) {
            (Some(said), Some(own)) if said != own => {
                let (file, given) = (self.shown(path), said.to_owned());
                return Err(PublishingError::OtherVersion { file, own, given }.into());
            }
            (Some(version), _) if !artifact::is_version(version) => {
                return Err(PublishingError::NoVersion { given: version.to_owned() }.into());
            }
            (Some(version), _) => version.to_owned(),
            (None, Some(own)) => own,
            (None, None) => {
                return Err(PublishingError::Unversioned { file: self.shown(path) }.into());
            }
        };
        let graph = match kind {
            Kind::Graph => Some(Arc::new(document::load(&self.shown(path), &text, &id)?.graph)),
            _ => None,
        };
        let names = graph.as_deref().map(named).unwrap_or_default();
        let body = Body::Text { text, extension: extension.to_owned() };
        let mut publishable = PublishableItem {
            id,
            kind,
            version,
            description: own.description,
            signed: Some(signed_at),
            signer: Some(signer),
            body,
            names,
            companions: Vec::new(),
            path: path.to_path_buf(),
            graph,
        };
        if kind == Kind::Graph {
            publishable.companions = self.companions.companions(&publishable)?;
            // Companions that do not fit are refused before anything is published.
            self.artifacts(&publishable, Vec::new())?;
        }
        Ok(publishable)
    }

    /// Publishes an item: at a reference that names one artifact, or else below it.
    pub fn publish(&self, publishable: &PublishableItem, at: &Reference) -> Result<Outcome> {
        self.publish_with(publishable, Vec::new(), at)
    }

    /// Publishes a graph and the items that it names, each once and after the items that it needs. All of them are
    /// found and checked first; then `check` is called.
    pub fn publish_all(
        &self,
        publishable: PublishableItem,
        base: &Reference,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Outcome>> {
        let mut found = BTreeMap::new();
        let mut order = Vec::new();
        self.gather(publishable, &mut found, &mut order, &mut Vec::new())?;
        if order.len() > MOST_USES {
            return Err(PublishingError::TooManyItems { items: order.len() - 1 }.into());
        }
        check()?;
        let mut published: BTreeMap<(ItemType, String), Outcome> = BTreeMap::new();
        let mut outcomes = Vec::new();
        for key in order {
            let Some(publishable) = found.get(&key) else { continue };
            let mut uses: Vec<UsedItem> = below(&key, &found)
                .iter()
                .filter_map(|key| published.get(key))
                .map(|outcome| UsedItem {
                    id: outcome.id.clone(),
                    kind: outcome.kind,
                    version: outcome.version.clone(),
                    manifest: outcome.published.manifest,
                })
                .collect();
            uses.sort();
            let outcome = self.publish_with(publishable, uses, base)?;
            outcomes.push(outcome.clone());
            published.insert(key, outcome);
        }
        Ok(outcomes)
    }

    /// Finds all items that an item names, and orders them so that each follows the items that it needs.
    fn gather(
        &self,
        publishable: PublishableItem,
        found: &mut BTreeMap<(ItemType, String), PublishableItem>,
        order: &mut Vec<(ItemType, String)>,
        above: &mut Vec<(ItemType, String)>,
    ) -> Result<()> {
        let key = (publishable.kind.item_type(), publishable.id.clone());
        above.push(key.clone());
        for (item_type, id) in publishable.names.clone() {
            // Every host of this version has it.
            if self.is_built_in(item_type, &id) {
                continue;
            }
            let named = (item_type, path_of(&id).to_owned());
            if above.contains(&named) {
                let chain: Vec<_> = above.iter().chain([&named]).map(|(_, id)| format!("`{id}`")).collect();
                return Err(PublishingError::Circle { chain: chain.join(" → ") }.into());
            }
            if !found.contains_key(&named) {
                let item = self.item(item_type, &id, Said::default())?;
                self.gather(item, found, order, above)?;
            }
        }
        above.pop();
        order.push(key.clone());
        found.insert(key, publishable);
        Ok(())
    }

    /// Checks whether an id stands for an item that is built in, and not for one in a folder.
    fn is_built_in(&self, item_type: ItemType, id: &str) -> bool {
        self.locator.file(item_type, id).is_ok_and(|file| file.space == Space::BuiltIn)
    }

    fn publish_with(
        &self,
        publishable: &PublishableItem,
        uses: Vec<UsedItem>,
        at: &Reference,
    ) -> Result<Outcome> {
        let reference = if at.tag.is_some() {
            at.clone()
        } else {
            at.below(&publishable.id, &publishable.version).map_err(PublishingError::Place)?
        };
        let Some(tag) = reference.tag.as_deref().filter(|_| reference.digest.is_none()) else {
            return Err(PublishingError::HasDigest { reference: Box::new(reference) }.into());
        };
        let tagged = graph_registry::reference::version_of_tag(tag);
        if tagged.is_some_and(|tagged| tagged != publishable.version.replace('+', "_")) {
            let (id, version) = (publishable.id.clone(), publishable.version.clone());
            let reference = Box::new(reference);
            return Err(PublishingError::OtherTag { reference, id, version }.into());
        }
        let (artifact, signature) = self.artifacts(publishable, uses)?;
        let transport = self.puller.open(&reference)?;
        let published = publish(&*transport, &artifact, signature.as_ref(), tag, self.force)?;
        let (id, kind, version) = (publishable.id.clone(), publishable.kind, publishable.version.clone());
        let companions = publishable.companions.iter().map(|one| (one.kind, one.title.clone())).collect();
        Ok(Outcome { id, kind, version, reference, published, companions })
    }

    fn artifacts(
        &self,
        publishable: &PublishableItem,
        uses: Vec<UsedItem>,
    ) -> Result<(Artifact, Option<Artifact>)> {
        let config = ItemConfig {
            id: publishable.id.clone(),
            kind: publishable.kind,
            version: publishable.version.clone(),
            uses,
        };
        let content = match &publishable.body {
            Body::Component { component, envelope } => ItemContent::Component { component, envelope },
            Body::Text { text, extension } => ItemContent::Text { text, extension },
        };
        let created = self.epoch.or(publishable.signed);
        let item = Item { config, description: publishable.description.as_deref(), created, content };
        let (artifact, signature) = artifact::artifacts(&item).map_err(PublishingError::Artifact)?;
        let envelope = self.statement(publishable)?;
        let artifact = companions::attach(artifact, publishable.companions.clone(), envelope)
            .map_err(|error| PublishingError::Companions(Box::new(error)))?;
        Ok((artifact, signature))
    }
}

impl Publisher<'_> {
    /// Signs the statement about a graph's companions; `None` if the key that has signed the graph is not available.
    fn statement(&self, publishable: &PublishableItem) -> Result<Option<String>> {
        let (Body::Text { text, .. }, Some(signer)) = (&publishable.body, publishable.signer) else {
            return Ok(None);
        };
        if publishable.companions.is_empty() {
            return Ok(None);
        }
        let Some(key) = self.companions.signing_key(publishable, signer)? else { return Ok(None) };
        let statement =
            companions::statement_of(&publishable.id, signed_content(text), &publishable.companions);
        Ok(Some(statement.sign(&key).map_err(PublishingError::Statement)?))
    }
}

/// Returns the items that an item needs, at any depth.
fn below(
    key: &(ItemType, String),
    found: &BTreeMap<(ItemType, String), PublishableItem>,
) -> BTreeSet<(ItemType, String)> {
    let mut all = BTreeSet::new();
    let mut waiting = vec![key.clone()];
    while let Some(key) = waiting.pop() {
        for (item_type, id) in found.get(&key).into_iter().flat_map(|publishable| &publishable.names) {
            let id = path_of(id);
            let named = (*item_type, id.to_owned());
            if all.insert(named.clone()) {
                waiting.push(named);
            }
        }
    }
    all
}

/// Returns the items that a graph's nodes and hooks name by written-out ids.
pub fn named(graph: &Graph) -> BTreeSet<(ItemType, String)> {
    let of_hooks = graph.hooks.iter().filter_map(|hook| match &hook.action {
        HookAction::Item(action) => Some(action),
        HookAction::Control(_) | HookAction::Nothing => None,
    });
    let actions = graph.nodes.iter().filter_map(|node| node.action.as_ref()).chain(of_hooks);
    let literal = |action: &Action| {
        let id = action.item_id.literal().and_then(Value::as_str)?;
        // Every host has these.
        let is_built_in = id == graph_walker::hook::CONTROL_ITEM || HostItem::of_action(action).is_some();
        (!is_built_in && !id.is_empty()).then(|| (action.item_type, id.to_owned()))
    };
    actions.filter_map(literal).collect()
}

fn too_large(shown: &str, most: u64) -> Error {
    PublishingError::TooLarge { file: shown.to_owned(), most }.into()
}

/// Splits the words of a command: the last one is the target, the others are the items.
pub fn split(mut words: Vec<String>) -> Result<(Vec<String>, String)> {
    match words.pop() {
        Some(last) if Reference::is_meant(&last) && !words.is_empty() => Ok((words, last)),
        Some(last) if Reference::is_meant(&last) => Err(PublishingError::NoItem.into()),
        _ => Err(PublishingError::NoTarget.into()),
    }
}
