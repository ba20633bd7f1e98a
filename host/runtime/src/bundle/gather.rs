//! Collects the contents of a bundle: documents, components, texts, and the keys that signed them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write as _};
use std::path::Path;

use graph_bundle::site::{
    Component, ComponentDocument, Document, EntryDocument, FolderDocument, FunctionDocument, GraphDocument,
    HooksDocument, INTERFACES, KeptText, ManifestDocument, ManifestError, Site, TextDocument,
};
use graph_bundle::{check_exports, check_types};
use graph_core::capability::{
    Access, CapabilityKind, Ceiling, DispatchPattern, EffectiveGrant, ItemPattern, KnowledgeRule,
};
use graph_core::diagnostic::printable;
use graph_core::digest::{Digest, DomainHasher};
use graph_core::id::{function_of, path_of, without_function};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::NodeLimits;
use graph_core::trust::{
    ComponentStanding, KeyId, SigningKey, TextStanding, TrustStore, TrustedKey, sign_component, sign_document,
};
use graph_engine::ExportedFunction;
use graph_walker::document::load;
use graph_walker::graph::{Action, Graph};
use graph_walker::hook::{Hook, HookAction};
use graph_walker::host_item::HostItem;
use serde_json::Value;

use super::native_run::{manifest_text, pinned};
use super::{pack, page};
use crate::error::{Error, Kind, Result};
use crate::executor::knowledge_of;
use crate::host::Host;
use crate::items::graph_file::GraphFile;
use crate::items::locate::{ItemFile, LocatedItem};
use crate::items::text_items::Text;
use crate::plan::admission::{Admitted, cannot_load};
use crate::plan::{Plan, PlannedId};
use crate::project::text_file;
use crate::remedy::{ManifestSuggestion, Remedy};
use crate::run::opened_graph::OpenedGraph;

/// Limit of a bundle's size, in bytes: browsers hold bundles in memory.
const LARGEST_BUNDLE: u64 = 96 << 20;
/// Limit of all packed entries of the project's knowledge together, in bytes.
const MOST_ENTRIES: usize = 4 << 20;
/// Number of keys of knowledge that are listed at a time.
const PAGE_OF_KEYS: u32 = 1000;
/// Limit of a packed run for a replay, in bytes.
const LONGEST_EXPORT: usize = 32 << 20;

/// Contents of a bundle in addition to what its graph needs.
#[derive(Debug, Default)]
pub struct BundleOptions {
    /// Pack the files of folders and the knowledge of the project that components may read.
    pub files: bool,
    /// Inputs that the page shows at first.
    pub example_inputs: Option<Value>,
    /// A run to replay, as `runs export` writes it.
    pub export: Option<Vec<u8>>,
}

/// A bundle, ready to be written.
#[derive(Debug)]
pub struct Bundle {
    /// Its files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The document that the page reads.
    pub document: Document,
    /// The key that signed it.
    pub key: KeyId,
    /// Items that templates could name and that are not in the bundle, a sentence each.
    pub left_out: Vec<String>,
}

/// Plans a run in a page. The page asks for the values of secrets, so none is read here.
pub async fn plan_for_page(opened: &mut OpenedGraph) -> Plan {
    opened.components.without_secrets = true;
    opened.plan().await
}

/// Makes the bundle of a graph that was planned. It fails for everything that a native run would be refused for, with
/// the same error, and for everything that a page cannot do. It blocks.
pub fn gather(
    opened: &OpenedGraph,
    plan: &Plan,
    suggestion: ManifestSuggestion,
    options: BundleOptions,
    key: &SigningKey,
    host: &Host,
) -> Result<Bundle> {
    if let Some(refusal) = plan.refusal(suggestion) {
        return Err(refusal);
    }
    check_for_page(opened, plan)?;
    let mut gatherer = Gatherer {
        opened,
        site: Site::new(),
        items: BTreeMap::new(),
        texts: BTreeMap::new(),
        packed: HashMap::new(),
        grants: Vec::new(),
        left_out: Vec::new(),
        optional: BTreeSet::new(),
        signers: Vec::new(),
        vouching: vouching_key(key)?,
        vouched: BTreeMap::new(),
    };
    let documents = gatherer.graphs()?;
    gatherer.planned(plan);
    if is_open(opened, plan) {
        gatherer.permitted();
    }
    gatherer.site.permit_origins(&page::origins(&gatherer.grants));
    let components = gatherer.components()?;
    let (knowledge, directives) = gatherer.text_documents();
    let trust = gatherer.trust()?;
    let folders = gatherer.folders(options.files);
    let entries = if options.files { gatherer.entries(host)? } else { Vec::new() };
    let files = pack::pack(&folders, &mut gatherer.site, opened.project.base())?;
    let export = options.export.map(|bytes| gatherer.export(bytes)).transpose()?;
    let manifest = manifest(opened)?;
    let all = || plan.nodes.iter().chain(&plan.hooks);
    let waiting: BTreeSet<_> = components
        .iter()
        .filter(|component| component.waits)
        .map(|component| component.item.clone())
        .collect();
    let needs_jspi =
        all().filter(|node| matches!(&node.item, PlannedId::Literal(id) if waiting.contains(path_of(id))));
    let [graph, graphs @ ..] = documents.as_slice() else {
        return Err(Error::new(Kind::Internal, "internal", "the graph is missing among its documents"));
    };
    let (pins, kept) = pinned(opened, plan)?;
    let kept =
        kept.into_iter().map(|kept| KeptText { digest: kept.digest, text: kept.text.as_ref().to_owned() });
    let document = Document {
        version: 1,
        graph: graph.clone(),
        graphs: graphs.to_vec(),
        hooks: hooks(opened),
        manifest,
        trust,
        allow_unsigned: opened.components.allow_unsigned,
        interfaces: INTERFACES.map(str::to_owned).to_vec(),
        components,
        knowledge,
        directives,
        entries,
        folders: folders.into_iter().collect(),
        files,
        engine: opened.components.engine.digest(),
        pins,
        texts: kept.collect(),
        inputs_schema: opened.file.graph.input_schema.clone(),
        example_inputs: options.example_inputs,
        needs_jspi: needs_jspi.map(|node| node.name.clone()).collect(),
        missing_checks: all().flat_map(page::missing_checks).collect(),
        export,
    };
    let Gatherer { site, left_out, .. } = gatherer;
    if site.size() > LARGEST_BUNDLE {
        return Err(Error::limit(format!(
            "the bundle has {} MiB, and a page holds no more than {} MiB",
            site.size() >> 20,
            LARGEST_BUNDLE >> 20
        ))
        .help(Remedy::OptimizeComponents));
    }
    let files = site.seal(&document, key).map_err(|error| cannot_seal(&error))?;
    Ok(Bundle { files, document, key: key.id(), left_out })
}

/// Derives the key that signs built-in components for a page, which lacks the program that they are built into. It is
/// derived from the bundle's key, which signs everything; it differs from that key, so that the user's trust entry of
/// that key is not extended.
fn vouching_key(key: &SigningKey) -> Result<SigningKey> {
    const DOMAIN: &str = "graph-host/bundle-built-in/v1";
    let signed = sign_document(DOMAIN, Vec::new(), key).map_err(|error| cannot_vouch(&error))?;
    let seed = DomainHasher::new(DOMAIN).field(signed.as_bytes()).finish();
    Ok(SigningKey::from_seed(seed.as_bytes()))
}

fn cannot_vouch(error: &dyn std::error::Error) -> Error {
    Error::new(Kind::Internal, "internal", format!("what is built in cannot be signed for the page: {error}"))
}

fn cannot_seal(error: &ManifestError) -> Error {
    Error::new(Kind::Internal, "internal", error.to_string())
}

/// Fails for a graph with features that pages lack; the error names every affected node and hook.
fn check_for_page(opened: &OpenedGraph, plan: &Plan) -> Result<()> {
    let mut message = "the graph cannot run in a page".to_owned();
    let mut help = None;
    let mut refuse = |subject: String, problem: Error| {
        let _ = write!(message, "\n- {subject}: {}", problem.message());
        help = help.take().or_else(|| problem.remedy().cloned());
    };
    for node in plan.nodes.iter().chain(&plan.hooks).filter(|node| node.is_function) {
        refuse(node.subject(), page::no_functions());
    }
    for (kind, name, action) in actions_of(opened) {
        let subject = || format!("{kind} `{}`", printable(name));
        if action.operation == ItemOperation::Sign {
            refuse(subject(), page::no_signing());
        } else if HostItem::of_action(action) == Some(HostItem::Run) {
            refuse(subject(), page::no_written_graphs());
        }
    }
    match help {
        Some(help) => Err(Error::denied(message).help(help)),
        None => Ok(()),
    }
}

fn graphs_of(opened: &OpenedGraph) -> impl Iterator<Item = &Graph> {
    std::iter::once(&*opened.file.graph).chain(opened.subgraphs.graphs.values().map(|graph| &**graph))
}

/// Returns the actions of the nodes and hooks of all graphs, and of the hooks from outside, each with its kind and name.
fn actions_of(opened: &OpenedGraph) -> impl Iterator<Item = (&'static str, &str, &Action)> {
    fn of_hook(hook: &Hook) -> Option<(&'static str, &str, &Action)> {
        match &hook.action {
            HookAction::Item(action) => Some(("hook", &hook.name, action)),
            HookAction::Control(_) | HookAction::Nothing => None,
        }
    }
    fn of_graph(graph: &Graph) -> impl Iterator<Item = (&'static str, &str, &Action)> {
        let nodes = graph.nodes.iter();
        let nodes = nodes.filter_map(|node| Some(("node", &*node.name, node.action.as_ref()?)));
        nodes.chain(graph.hooks.iter().filter_map(of_hook))
    }
    graphs_of(opened).flat_map(of_graph).chain(opened.hooks.hooks.iter().filter_map(of_hook))
}

/// Checks whether a run may name items that are not known yet: by a template, by a search, or as a component that calls others.
fn is_open(opened: &OpenedGraph, plan: &Plan) -> bool {
    let mut nodes = plan.nodes.iter().chain(&plan.hooks);
    nodes.any(|node| {
        let calls = node.grant.as_ref().is_some_and(|grant| grant.kinds.contains(&CapabilityKind::Tools));
        calls || matches!(node.item, PlannedId::Template(_))
    }) || actions_of(opened).any(|(_, _, action)| action.operation == ItemOperation::Search)
}

fn hooks(opened: &OpenedGraph) -> HooksDocument {
    let [project, user] = opened.hooks.texts.clone();
    let document = |text: Option<(String, String)>| {
        text.map(|(name, text)| graph_bundle::site::HookDocument { name, text })
    };
    HooksDocument { project: document(project), user: document(user) }
}

fn manifest(opened: &OpenedGraph) -> Result<ManifestDocument> {
    let Some(path) = opened.pins.caps_file.as_deref() else {
        let text = "dispatch: []\n".to_owned();
        return Ok(ManifestDocument { name: "no manifest".to_owned(), folder: "/".to_owned(), text });
    };
    let (text, folder, manifest) = manifest_text(path, opened.project.base())?;
    if manifest.digest() != opened.pins.manifest {
        return Err(changed(path, opened));
    }
    Ok(ManifestDocument { name: file_name(path), folder, text })
}

fn changed(path: &Path, opened: &OpenedGraph) -> Error {
    let shown = opened.project.base().show(path);
    Error::integrity(format!("{shown} was changed while the bundle was made")).help("make it again")
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Checks whether the signed statement about a component lacks the function that an item id names, without compiling.
fn states_otherwise(item: &str, admitted: &Admitted) -> bool {
    let Some((name, statement)) = function_of(item).zip(admitted.verified.statement()) else { return false };
    !statement.predicate.functions.iter().any(|function| function.name == name)
}

struct Gatherer<'c> {
    opened: &'c OpenedGraph,
    site: Site,
    /// Components by the item id that they are dispatched by.
    items: BTreeMap<String, Admitted>,
    texts: BTreeMap<(&'static str, String), Text>,
    /// Components that were transpiled already, by their digests.
    packed: HashMap<Digest, Component>,
    /// Effective grants of components.
    grants: Vec<EffectiveGrant>,
    left_out: Vec<String>,
    /// The components that no node names by its id.
    optional: BTreeSet<String>,
    signers: Vec<KeyId>,
    /// The key that signs built-in components for the page.
    vouching: SigningKey,
    /// Ceilings of the built-in components that were signed, by item id.
    vouched: BTreeMap<String, Ceiling>,
}

impl Gatherer<'_> {
    /// Reads the documents of the graph and of its subgraphs.
    fn graphs(&mut self) -> Result<Vec<GraphDocument>> {
        let opened = self.opened;
        let all = std::iter::once(&opened.file).chain(opened.subgraphs.files.values());
        all.map(|file| self.graph(file)).collect()
    }

    fn graph(&mut self, file: &GraphFile) -> Result<GraphDocument> {
        let name = file_name(&file.path);
        let text = file.text()?;
        let id = file.graph.id.clone();
        match load(&name, &text, &id) {
            Ok(loaded) if loaded.graph.digest == file.graph.digest => {}
            _ => return Err(changed(&file.path, self.opened)),
        }
        if let TextStanding::Signed { key, .. } = &file.standing {
            self.signers.push(key.id);
        }
        Ok(GraphDocument { name, id, text })
    }

    /// Takes over the items, texts and grants of the plan.
    fn planned(&mut self, plan: &Plan) {
        for (id, item) in &plan.items {
            if let Ok(admitted) = item {
                self.items.insert(id.clone(), admitted.clone());
            }
        }
        for (key, text) in &plan.texts {
            if let Ok(text) = text {
                self.texts.insert(key.clone(), Text::clone(text));
            }
        }
        self.grants = plan.nodes.iter().chain(&plan.hooks).filter_map(|node| node.grant.clone()).collect();
    }

    /// Adds all other items that the manifest permits.
    fn permitted(&mut self) {
        let components = &self.opened.components;
        let dispatch = components.manifest.dispatch();
        // A pattern covers only the function that it names.
        let functions: BTreeSet<_> = dispatch.iter().filter_map(DispatchPattern::function).collect();
        for file in components.locator.list(ItemType::Tool) {
            let named = functions.iter().map(|function| format!("{}#{function}", file.id));
            for id in std::iter::once(file.id.clone()).chain(named) {
                if self.items.contains_key(&id)
                    || !dispatch.permits(ItemOperation::Execute, ItemType::Tool, &id)
                {
                    continue;
                }
                if !matches!(components.locator.find(&id), Ok(LocatedItem::Component { .. })) {
                    continue;
                }
                match components.examine(&id, components.recorded) {
                    Ok(admitted) if states_otherwise(&id, &admitted) => {}
                    Ok(admitted) => {
                        let limits = NodeLimits::default();
                        self.grants.extend(components.grant(
                            &id,
                            &admitted,
                            &components.manifest,
                            None,
                            limits,
                        ));
                        self.optional.insert(id.clone());
                        self.items.insert(id, admitted);
                    }
                    Err(error) => self.leave_out(&id, &error.into_error()),
                }
            }
        }
        let texts = components.texts();
        for item_type in [ItemType::Knowledge, ItemType::Directive] {
            for file in components.locator.list(item_type) {
                let ItemFile { id, .. } = &file;
                let key = (item_type.as_str(), id.clone());
                let operations = [ItemOperation::Execute, ItemOperation::Load, ItemOperation::Search];
                let is_permitted =
                    operations.into_iter().any(|operation| dispatch.permits(operation, item_type, id));
                if self.texts.contains_key(&key) || !is_permitted {
                    continue;
                }
                match texts.read_file(item_type, file) {
                    Ok(text) => {
                        self.texts.insert(key, text);
                    }
                    Err(error) => {
                        self.leave_out(&key.1, &error.into_error());
                    }
                }
            }
        }
    }

    fn leave_out(&mut self, id: &str, error: &Error) {
        self.left_out.push(format!("`{}` is not in the bundle: {}", printable(id), error.message()));
    }

    fn components(&mut self) -> Result<Vec<ComponentDocument>> {
        // Each component appears once, whichever of its functions are called.
        let mut called: BTreeMap<String, (Admitted, Vec<FunctionDocument>, bool)> = BTreeMap::new();
        for (id, admitted) in self.items.clone() {
            let is_optional = self.optional.contains(&id);
            let function = match function_of(&id) {
                Some(name) => match self.function(&id, name, &admitted) {
                    Ok(function) => Some(function),
                    // No node names the item by its id: in the page it is missing, like every other item that is not in the bundle.
                    Err(error) if is_optional => {
                        self.leave_out(&id, &error);
                        self.items.remove(&id);
                        continue;
                    }
                    Err(error) => return Err(error),
                },
                None => None,
            };
            let known = called.entry(without_function(&id).to_owned());
            let (_, functions, optional) = known.or_insert_with(|| (admitted, Vec::new(), true));
            functions.extend(function);
            *optional &= is_optional;
        }
        // Equal bytes are packed once for all items that have them.
        let mut functions: HashMap<Digest, Vec<FunctionDocument>> = HashMap::new();
        for (admitted, of_item, _) in called.values() {
            functions.entry(*admitted.verified.digest()).or_default().extend(of_item.iter().cloned());
        }
        let mut documents = Vec::new();
        for (id, (admitted, of_item, is_optional)) in called {
            let of_bytes = functions.get(admitted.verified.digest()).map_or(&[][..], Vec::as_slice);
            match self.component(&id, &admitted, of_bytes) {
                Ok(document) => documents.push(ComponentDocument { functions: of_item, ..document }),
                Err(error) if is_optional => {
                    self.leave_out(&id, &error);
                    self.items.retain(|item, _| without_function(item) != id);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(documents)
    }

    /// Describes a function that is called instead of the node action of its component. It fails if a page cannot call the function.
    fn function(&self, item: &str, name: &str, admitted: &Admitted) -> Result<FunctionDocument> {
        let (engine, verified) = (&self.opened.components.engine, &admitted.verified);
        let cannot = |reason: &dyn fmt::Display| {
            Error::denied(format!("function `{}` cannot run in a page: {reason}", printable(item)))
                .help(Remedy::RunNatively)
        };
        let exported = engine.function(verified, name).map_err(|error| cannot_load(&error))?;
        let exported = match exported {
            Some(Ok(exported)) => exported,
            Some(Err(uncallable)) => return Err(cannot(&uncallable)),
            None => return Err(cannot(&"the component does not export it")),
        };
        let all = engine.functions(verified).map_err(|error| cannot_load(&error))?;
        let callable = all.callable.iter().map(|function| function.name.as_str());
        let uncallable = all.uncallable.iter().map(|function| function.name.as_str());
        check_exports(callable.chain(uncallable))
            .and_then(|()| check_types(&exported.signature))
            .map_err(|clash| cannot(&clash))?;
        let ExportedFunction { interface, signature, .. } = exported;
        Ok(FunctionDocument { name: name.to_owned(), interface, types: signature })
    }

    fn component(
        &mut self,
        item: &str,
        admitted: &Admitted,
        functions: &[FunctionDocument],
    ) -> Result<ComponentDocument> {
        let verified = &admitted.verified;
        let imports = match &admitted.loaded {
            Some(loaded) => loaded.imports().to_vec(),
            None => {
                self.opened.components.engine.read_imports(verified).map_err(|error| cannot_load(&error))?
            }
        };
        let imports: Vec<_> =
            imports.into_iter().filter(|import| !import.type_only).map(|import| import.name).collect();
        let offered = |import: &&String| {
            let path = import.split_once('@').map_or(import.as_str(), |(path, _)| path);
            !INTERFACES.contains(&path)
        };
        let missing: Vec<_> = imports.iter().filter(offered).map(|import| format!("`{import}`")).collect();
        if !missing.is_empty() {
            return Err(Error::denied(format!(
                "component `{}` cannot run in a page: it imports {}, which a page does not offer",
                printable(item),
                missing.join(", ")
            ))
            .help(Remedy::RunNatively));
        }
        let packed = match self.packed.get(verified.digest()) {
            Some(packed) => packed.clone(),
            None => self.site.add_component(verified.bytes(), &imports, functions).map_err(|error| {
                Error::denied(format!("component `{}` cannot run in a page: {error}", printable(item)))
                    .caused_by(error)
                    .help(Remedy::RunNatively)
            })?,
        };
        self.packed.insert(*verified.digest(), packed.clone());
        self.signers.extend(verified.standing().keys().map(|key| key.id));
        let envelope = match (verified.standing(), verified.statement()) {
            (ComponentStanding::Unsigned, _) | (ComponentStanding::BuiltIn, None) => None,
            (ComponentStanding::BuiltIn, Some(statement)) => {
                self.vouched.insert(verified.id().to_owned(), verified.ceiling());
                Some(sign_component(statement, &self.vouching).map_err(|error| cannot_vouch(&error))?)
            }
            (ComponentStanding::Signed { .. }, _) => {
                let path = crate::items::locate::envelope_path(&admitted.path);
                Some(text_file::read_as("the envelope", &path)?)
            }
        };
        let Component { path, cores, waits } = packed;
        Ok(ComponentDocument {
            item: verified.id().to_owned(),
            version: verified.version().map(str::to_owned),
            digest: *verified.digest(),
            path,
            envelope,
            imports,
            cores,
            waits,
            functions: Vec::new(),
        })
    }

    fn text_documents(&mut self) -> (Vec<TextDocument>, Vec<TextDocument>) {
        let (mut knowledge, mut directives) = (Vec::new(), Vec::new());
        for text in self.texts.values() {
            if let TextStanding::Signed { key, .. } = &text.standing {
                self.signers.push(key.id);
            }
            let name = text.file.as_ref().map_or_else(|| text.id.clone(), |file| file_name(&file.path));
            let document = TextDocument { id: text.id.clone(), name, text: text.content.clone() };
            if text.item_type == ItemType::Directive {
                directives.push(document);
            } else {
                knowledge.push(document);
            }
        }
        (knowledge, directives)
    }

    /// The trust entry of the key that signs built-in components: for these components only, with no more than their
    /// statements' ceilings.
    fn entry_of_the_program(&self) -> Result<Vec<TrustedKey>> {
        if self.vouched.is_empty() {
            return Ok(Vec::new());
        }
        let items =
            self.vouched.keys().map(|id| ItemPattern::parse(id)).collect::<std::result::Result<_, _>>();
        let key = self.vouching.verifying_key();
        let kinds = self.vouched.values().flat_map(|ceiling| ceiling.kinds.iter().copied());
        Ok(vec![TrustedKey {
            name: format!("built-in-{}", &key.hex()[..16]),
            key,
            items: items.map_err(|error| cannot_vouch(&error))?,
            ceiling: Ceiling::from_kinds(kinds),
            not_before: None,
            not_after: None,
            revoked: None,
            succeeds: None,
        }])
    }

    /// Writes the part of the trust store that concerns the bundle's items: a page does not need to know whom else the user trusts.
    fn trust(&self) -> Result<String> {
        let graphs = graphs_of(self.opened).map(|graph| graph.id.as_str());
        let texts = self.texts.keys().map(|(_, id)| id.as_str());
        let items: Vec<_> = self.items.keys().map(String::as_str).chain(texts).chain(graphs).collect();
        let text = self.opened.components.trust.excerpt(&items, &self.signers, self.entry_of_the_program()?);
        TrustStore::from_yaml("trust.yaml", &text)?;
        Ok(text)
    }

    fn folders(&self, files: bool) -> BTreeSet<FolderDocument> {
        let mounts = self.grants.iter().flat_map(|grant| &grant.filesystem);
        mounts
            .map(|mount| FolderDocument {
                host: mount.host.clone(),
                access: mount.access.as_str().to_owned(),
                packed: files && mount.access == Access::ReadOnly,
            })
            .collect()
    }

    /// Reads the project's knowledge below the scopes that components may read.
    fn entries(&self, host: &Host) -> Result<Vec<EntryDocument>> {
        let rules = self.grants.iter().flat_map(|grant| &grant.knowledge);
        let scopes: BTreeSet<_> = rules.map(|KnowledgeRule { scope, .. }| scope.as_str()).collect();
        let knowledge = knowledge_of(&self.opened.project, &host.home);
        let failed = |error| {
            Error::storage(format!("the knowledge of the project cannot be read: {error}")).caused_by(error)
        };
        let mut entries = BTreeMap::new();
        let mut left = MOST_ENTRIES;
        for scope in scopes {
            let mut after = None;
            loop {
                let keys = knowledge.list(scope, after.as_deref(), PAGE_OF_KEYS).map_err(failed)?;
                let Some(last) = keys.last() else { break };
                after = Some(last.clone());
                for key in keys {
                    let Some(text) = knowledge.get(&key).map_err(failed)? else { continue };
                    left = left.checked_sub(key.len() + text.len()).ok_or_else(|| {
                        Error::limit(format!(
                            "the knowledge below `{scope}` has more than the {} MiB that a bundle packs",
                            MOST_ENTRIES >> 20
                        ))
                        .help(Remedy::GrantNarrowerScope)
                    })?;
                    entries.insert(key, text);
                }
            }
        }
        Ok(entries.into_iter().map(|(key, text)| EntryDocument { key, text }).collect())
    }

    fn export(&mut self, bytes: Vec<u8>) -> Result<String> {
        if bytes.len() > LONGEST_EXPORT {
            return Err(Error::limit(format!(
                "the run to replay has more than {} MiB",
                LONGEST_EXPORT >> 20
            )));
        }
        Ok(self.site.add_file("runs", bytes).0)
    }
}
