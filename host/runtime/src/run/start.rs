//! Turns a request to start a graph into a run that can be driven.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::diagnostic::{nearest, one_line, printable};
use graph_core::digest::{Digest, DomainHasher};
use graph_core::policy::Durability;
use graph_core::schema::SchemaProblem;
use graph_core::trust::{SigningKey, TrustStore};
use graph_core::work::Meter;
use graph_store::{CheckpointStore, Snapshot};
use graph_walker::builder::BuiltGraph;
use graph_walker::graph::Graph;
use graph_walker::parameters;
use graph_walker::parameters::{CheckedInputs, InputsError, Parameters};
use graph_walker::walker::Graphs;
use serde_json::{Map, Value};

use crate::clock::now;
use crate::error::{Error, Kind, Result};
use crate::executor::{ComponentExecutor, ExecutorParts, knowledge_of};
use crate::host::Host;
use crate::items::built_in;
use crate::items::graph_file::{GraphFile, locate};
use crate::items::locate::{ItemLocator, Space};
use crate::items::outer_hooks::OuterHooks;
use crate::items::subgraphs::Subgraphs;
use crate::notice::Notice;
use crate::plan::Plan;
use crate::plan::admission::Components;
use crate::plan::engine::{components, engine};
use crate::plan::manifest_authority::AcceptedManifest;
use crate::project;
use crate::project::paths::absolute;
use crate::project::{BaseFolder, Project, text_file};
use crate::remedy::Remedy;
use crate::run::context::{Beginning, Definition, Environment, PreparedRun, RunParent};
use crate::run::pins::{Pins, kept_text};
use crate::run::state_item::StateItem;
use crate::sources::Sources;
use crate::trust::log::TrustLog;
use crate::trust::trusted_keys;
use graph_driver::{SystemClock, WriteMode};

/// A graph with everything that is needed to plan it.
#[derive(Debug)]
pub struct RunContext {
    /// The graph's file, with its signature and warnings.
    pub file: GraphFile,
    /// The graphs that its nodes dispatch.
    pub subgraphs: Subgraphs,
    /// Means to find, verify and link the items that it dispatches.
    pub components: Components,
    /// The hooks of the project and of the user.
    pub hooks: OuterHooks,
    /// The project that keeps the run.
    pub project: Project,
    /// The pins so far; a plan adds components and grants.
    pub pins: Pins,
}

/// A graph, and the places of the items that it names.
struct Found {
    file: GraphFile,
    /// Path of its file; empty for a graph that a program has built.
    graph_file: PathBuf,
    places: ItemLocator,
    trust: TrustStore,
    project: Option<PathBuf>,
}

impl RunContext {
    /// Reads the graph, the manifest and the trust store.
    pub(crate) fn open(
        graph: &str,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        check_folders(sources, host.home.base())?;
        let trust = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
        let here = sources.project.clone().or_else(|| project::nearest(keeper.folder()));
        let places = ItemLocator::new(&sources.items, here.as_deref(), &host.home, keeper);
        let located = locate(graph, &places)?;
        let path = located.path.clone();
        let is_built_in = located.space == Space::BuiltIn;
        let around = if is_built_in { path.clone() } else { absolute(&path) };
        // A graph of the program or of the user's space, such as a pulled one, belongs to no project: the project
        // around the current folder is used.
        let own = if is_built_in || around.starts_with(absolute(host.home.root())) {
            here
        } else {
            around.parent().and_then(project::nearest)
        };
        let project = sources.project.clone().or(own);
        let places = ItemLocator::new(&sources.items, project.as_deref(), &host.home, keeper);
        let file = GraphFile::open(graph, &places, &trust).or_else(|error| {
            // The item may be in the project around the current folder, if the graph's own is another. An item that was
            // found and refused stays refused.
            if error.kind() != Kind::NotFound || Path::new(graph) == path {
                Err(error)
            } else {
                GraphFile::read(located, &places, &trust)
            }
        })?;
        Self::around(Found { file, graph_file: around, places, trust, project }, caps, sources, keeper, host)
    }

    /// Reads manifest and trust for a graph that the program has built. Such a graph has no file and no signature: the
    /// run stores the graph itself, and a resume reads no files of it.
    pub(crate) fn of_built(
        built: &BuiltGraph,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        check_folders(sources, host.home.base())?;
        let trust = trusted_keys::load(&host.home, &sources.trust, &*host.notices)?;
        let project = sources.project.clone().or_else(|| project::nearest(keeper.folder()));
        let places = ItemLocator::new(&sources.items, project.as_deref(), &host.home, keeper);
        let file = GraphFile::of_built(built);
        Self::around(
            Found { file, graph_file: PathBuf::new(), places, trust, project },
            caps,
            sources,
            keeper,
            host,
        )
    }

    fn around(
        found: Found,
        caps: Option<&Path>,
        sources: &Sources,
        keeper: &Project,
        host: &Host,
    ) -> Result<Self> {
        let Found { file, graph_file, places, trust, project } = found;
        let manifest = match caps {
            Some(path) => AcceptedManifest::given(read_manifest(path, host)?),
            None => AcceptedManifest::nothing(),
        };
        let hooks = OuterHooks::read(project.as_deref(), &host.home, &*host.notices)?;
        let engine = engine(host)?;
        let mut pins = Pins {
            graph_file,
            caps_file: caps.map(absolute),
            trust_files: sources.trust.iter().map(|path| absolute(path)).collect(),
            item_folders: sources.items.iter().map(|path| absolute(path)).collect(),
            project: project.as_deref().map(absolute),
            allow_unsigned: sources.allow_unsigned,
            graph_text: kept_text(&file.graph.document).0,
            manifest_text: kept_text(&manifest.to_json()).0,
            manifest: manifest.digest(),
            hooks_text: hooks.document.as_ref().map(|document| kept_text(document).0),
            ..Pins::of_nothing(engine.digest())
        };
        let subgraphs =
            Subgraphs::resolve(&file.graph, Graphs::new(), &places, &trust, &manifest, |_| false)?;
        pins.of_graphs(&subgraphs.graphs);
        pins.of_signed_graphs(Some(&file.standing), &subgraphs.files);
        let mut components = components(engine, places, trust, manifest, sources.allow_unsigned);
        components.functions = Arc::clone(&host.functions);
        Ok(Self { file, subgraphs, components, hooks, project: keeper.clone(), pins })
    }
}

/// Checks that the folders of the sources exist and are folders.
pub fn check_folders(sources: &Sources, base: &BaseFolder) -> Result<()> {
    sources.items.iter().chain(&sources.project).try_for_each(|folder| project::check_folder(folder, base))
}

/// Reads a manifest, and reports its warnings.
pub fn read_manifest(path: &Path, host: &Host) -> Result<Manifest> {
    let text = text_file::read_named_as("the manifest", path)?;
    let (manifest, warnings) = parse_manifest(path, host.home.base(), &text)?;
    if !warnings.is_empty() {
        host.notices.notice(Notice::Doubtful(&warnings));
    }
    Ok(manifest)
}

/// Parses a manifest; returns it with its warnings.
pub(crate) fn parse_manifest(
    path: &Path,
    base: &BaseFolder,
    text: &str,
) -> Result<(Manifest, graph_core::diagnostic::Diagnostics)> {
    Ok(Manifest::parse(text, &base.show(path), &manifest_folder(path)?)?)
}

/// Returns the folder that the paths of a manifest are relative to.
pub(crate) fn manifest_folder(path: &Path) -> Result<String> {
    let absolute = absolute(path);
    let base = absolute.parent().unwrap_or(Path::new("/"));
    // Paths in the manifest are relative to its folder, with links resolved.
    let base = std::fs::canonicalize(base).unwrap_or_else(|_| base.to_path_buf());
    base.into_os_string().into_string().map_err(|_| {
        Error::usage(format!(
            "the folder of the manifest {} has a name that is not text in UTF-8",
            path.display()
        ))
    })
}

/// Reads the present manifest in a file; `None` if the file does not exist.
pub(crate) fn manifest_now(path: &Path, base: &BaseFolder) -> Result<Option<Manifest>> {
    match text_file::read(path) {
        Ok(text) => parse_manifest(path, base, &text).map(|(manifest, _)| Some(manifest)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read("the manifest", path, &error)),
    }
}

/// Checks inputs against the graph's schema, fills in defaults, and reads the parameters of the run itself among them.
pub fn check_inputs(graph: &Graph, inputs: Map<String, Value>) -> Result<CheckedInputs> {
    parameters::check_inputs(graph, inputs, &Meter::of_one_step()).map_err(|error| match error {
        error @ InputsError::Exhausted(_) => Error::limit(error.to_string()).caused_by(error),
        InputsError::Schema { reasons } => {
            Error::invalid(format!("`config_schema` of the graph is not usable: {}", reasons.join("; ")))
        }
        InputsError::Unfit { unfit, parameters } => unfit_inputs(&unfit, &parameters),
    })
}

/// Lists the inputs that the graph's `config_schema` does not name, each as a sentence with the most similar name. A
/// schema with patterns for names, or with a rule for other names, decides for itself.
pub fn unknown_inputs(graph: &Graph, inputs: &Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(schema)) = &graph.input_schema else { return Vec::new() };
    let Some(Value::Object(known)) = schema.get("properties") else { return Vec::new() };
    let decides = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
    ];
    if decides.iter().any(|key| schema.contains_key(*key)) {
        return Vec::new();
    }
    let unknown =
        inputs.keys().filter(|name| !known.contains_key(*name) && !parameters::is_about_the_run(graph, name));
    unknown
        .map(|name| {
            let meant = match nearest(name, known.keys().map(String::as_str)) {
                Some(near) => format!("; did you mean `{}`?", printable(near)),
                None => String::new(),
            };
            format!("the graph's `config_schema` has no input `{}`{meant}", one_line(name, 60))
        })
        .collect()
}

/// Reads the inputs that are parameters of the run itself.
pub fn run_parameters(graph: &Graph, inputs: &Map<String, Value>) -> Result<Parameters> {
    Parameters::read(graph, inputs).map_err(|problems| unfit_inputs(&[], &problems))
}

fn unfit_inputs(unfit: &[SchemaProblem], parameters: &[SchemaProblem]) -> Error {
    let mut message = Vec::new();
    let mut list = |head: &str, problems: &[SchemaProblem]| {
        if !problems.is_empty() {
            message.push(head.to_owned());
            message.extend(problems.iter().map(|problem| format!("- {problem}")));
        }
    };
    list("the inputs do not fit the graph's `config_schema`:", unfit);
    list("what the inputs say about the run itself cannot be done:", parameters);
    let details = unfit.iter().chain(parameters);
    let details: Vec<_> = details
        .map(|problem| serde_json::json!({ "path": problem.path, "message": problem.message }))
        .collect();
    let help = if unfit.is_empty() {
        "`capabilities`, `depth`, `resume_run_id` and `async` are read by graph-host; a graph that has inputs of these \
         names declares them in its `config_schema`"
            .into()
    } else {
        Remedy::GiveInputs
    };
    Error::invalid(message.join("\n")).details(serde_json::json!({ "problems": details })).help(help)
}

/// The parameters of a new run, in addition to its graph.
#[derive(Debug)]
pub(crate) struct Start {
    /// The inputs, checked and filled in.
    pub(crate) inputs: Value,
    /// Id of the run, if it was chosen.
    pub(crate) run_id: Option<String>,
    /// The run that started it, if there is one.
    pub(crate) parent: Option<RunParent>,
    /// Seed, if one was given: a digest, or any text.
    pub(crate) seed: Option<String>,
    /// Replaces the graph's `max_steps`.
    pub(crate) max_steps: Option<u64>,
    /// Replaces the graph's `durability`.
    pub(crate) durability: Option<Durability>,
    /// Writes the run's state item at every step, as always for a graph in Rye's dialect.
    pub(crate) state_item: bool,
}

/// Creates a run in the store, and takes it.
pub(crate) fn begin(
    scene: RunContext,
    plan: Plan,
    start: Start,
    store: Arc<dyn CheckpointStore>,
    host: &Host,
) -> Result<PreparedRun> {
    let RunContext { file, subgraphs, mut components, hooks, project, mut pins } = scene;
    let log = TrustLog::of(&host.home);
    let inside = subgraphs.files.iter().map(|(id, file)| (id.as_str(), file));
    let graphs: Vec<_> = inside.chain([(file.graph.id.as_str(), &file)]).collect();
    log.accept_plan(&plan, &graphs)?;
    components.log = Some(log);
    let graph = file.graph;
    let key = host.home.identity()?;
    pins.of_plan(&plan);
    let (pins_digest, pins_text) = pins.text()?;
    let run = match start.run_id {
        Some(run) => run,
        None => crate::run::run_id::fresh(now())?,
    };
    let definition = Definition {
        graph,
        graphs: Arc::new(subgraphs.graphs),
        hooks: Arc::clone(&hooks.hooks),
        manifest: Arc::clone(&components.manifest),
        manifest_digest: pins.manifest,
        pins: pins_digest,
    };
    let texts = kept_texts(&definition, hooks.document.as_ref(), &plan, (pins_digest, pins_text));
    let beginning = Beginning {
        run,
        graph_path: Some(relative(&pins.graph_file, &project))
            .filter(|path| !path.is_empty() && !built_in::is_place(&pins.graph_file)),
        inputs: Arc::new(start.inputs),
        initial_state: Map::new(),
        seed: start.seed.as_deref().map(seed),
        durability: start.durability,
        max_steps: start.max_steps,
        max_concurrency: None,
        parent: start.parent,
        pid: Some(std::process::id()),
        texts,
    };
    let state_item = (start.state_item || definition.graph.dialect.writes_state_item())
        .then(|| StateItem::new(&project, key.clone(), host));
    let environment = Environment { state_item, ..environment(components, plan, store, key, &project, host) };
    environment.start(&definition, beginning)?.ready(&environment)
}

/// Returns the texts that a run keeps of its start.
pub(crate) fn kept_texts(
    definition: &Definition,
    hooks: Option<&Value>,
    plan: &Plan,
    pins: (Digest, String),
) -> Vec<Snapshot> {
    let text = |(digest, text): (Digest, String)| Snapshot { digest, text: text.into() };
    let documents = [kept_text(&definition.graph.document), kept_text(&definition.manifest.to_json())];
    let inside = definition.graphs.values().map(|graph| kept_text(&graph.document));
    let texts = plan.texts.values().filter_map(|text| text.as_ref().ok());
    let texts = texts.map(|text| Snapshot { digest: text.digest, text: text.content.as_str().into() });
    let documents = documents.into_iter().chain([pins]).chain(inside).chain(hooks.map(kept_text));
    documents.map(text).chain(texts).collect()
}

/// Makes the environment of a run with real components.
pub(crate) fn environment(
    components: Components,
    plan: Plan,
    store: Arc<dyn CheckpointStore>,
    key: SigningKey,
    project: &Project,
    host: &Host,
) -> Environment {
    let parts = ExecutorParts {
        keeps_texts: Some(Arc::clone(&store)),
        knowledge: Some(knowledge_of(project, &host.home)),
        ..ExecutorParts::bare(Arc::clone(&host.notices))
    };
    let executor = ComponentExecutor::new(components, plan, parts);
    Environment {
        store,
        executor: Arc::new(executor),
        clock: Arc::new(SystemClock),
        key,
        writing: WriteMode::Thread,
        state_item: None,
    }
}

/// Makes a seed from text: a digest is used unchanged, other text is digested.
fn seed(text: &str) -> Digest {
    text.parse()
        .unwrap_or_else(|_| DomainHasher::new("graph-host/seed-text/v1").field(text.as_bytes()).finish())
}

/// Returns the path as a project stores it: relative to the project if the file is in its folder.
fn relative(path: &Path, project: &Project) -> String {
    path.strip_prefix(absolute(project.folder())).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_digest_or_any_text() {
        let digest = Digest::of_bytes(b"x");
        assert_eq!(seed(&digest.to_string()), digest);
        assert_eq!(seed("seven"), seed("seven"));
        assert_ne!(seed("seven"), seed("eight"));
    }
}
