//! From a stored run to one that can be driven on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::document::{load, load_snapshot};
use graph_core::graph::Graph;
use graph_core::record::InterruptRecord;
use graph_core::trust::{SigningKey, TrustStore};
use graph_core::walker::{Event, Graphs, Identity, Restored, RestoredTree, RunTree, Setup};
use graph_store::{Change, CheckpointStore, RunRow, RunUpdate};
use serde_json::{Map, Value};
use similar::TextDiff;

use crate::context::{Context, now};
use crate::error::{Error, Result};
use crate::items::Places;
use crate::launch::{Ready, components, drive_with, engine, manifest_now};
use crate::output::printable;
use crate::pins::{Pins, kept_text};
use crate::preflight::Plan;
use crate::project;
use crate::runs;
use crate::subgraphs::Subgraphs;
use crate::trust;

/// A run that has been restored.
#[derive(Debug)]
pub struct Resumable {
    /// Drives it.
    pub ready: Ready,
    /// Its graph.
    pub graph: Arc<Graph>,
    /// The questions that are open.
    pub open: Vec<InterruptRecord>,
    /// The run was cut short before anything was stored: it begins anew.
    pub from_the_start: bool,
    /// The inputs that it has.
    pub inputs: Map<String, Value>,
    /// Steps committed so far.
    pub steps: u64,
    /// What has changed and was accepted.
    pub accepted: Vec<String>,
    /// What may not be dispatched.
    pub plan_notices: Vec<String>,
}

impl Resumable {
    /// The event with which the run goes on, unless it begins anew.
    pub fn event(&self, resume: graph_core::walker::Resume) -> Event {
        if self.from_the_start { Event::Started } else { Event::Resumed(resume) }
    }
}

/// What a run was begun with, from the store.
pub(crate) struct Kept {
    pub(crate) graph: Graph,
    pub(crate) graphs: Graphs,
    pub(crate) manifest: Manifest,
    pub(crate) pins: Pins,
}

/// Takes a run, checks what it goes on from and what has changed around it, and restores it.
pub async fn reopen(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    accept_changes: bool,
    signing_key: Option<SigningKey>,
    context: &Context,
    quiet: bool,
) -> Result<Resumable> {
    let found = runs::find(&*store, name)?;
    let run = found.run_id.clone();
    if found.status.is_end() {
        return Err(finished(&found));
    }
    let guard = store.acquire(&run, &runs::this_process())?;
    // Somebody else may have gone on with it until a moment ago.
    let mut row = runs::find(&*store, &run)?;
    if row.status.is_end() {
        return Err(finished(&row));
    }
    let key = own_key(&row, context)?;
    let restored = runs::restore(&*store, &run, key.verifying_key())?;
    if let (None, Some(origin)) = (&restored, &row.continuation_of) {
        return Err(Error::not_found(format!(
            "run {run} is a fork of {origin} that was cut short before anything of it was stored"
        ))
        .help(format!("fork it again: graph-host runs fork {origin} --at CHECKPOINT")));
    }
    if let Some(Restored { checkpoint, .. }) = restored.as_ref().map(|tree| &tree.root) {
        // What is signed counts, whatever the row says.
        (row.graph, row.pins, row.inputs, row.seed) =
            (checkpoint.graph, checkpoint.pins, checkpoint.inputs, checkpoint.seed);
    }
    let kept = Kept::read(&*store, &row)?;

    let mut changes = Vec::new();
    let graph = graph_now(&kept, accept_changes, &mut changes)?;
    let manifest = manifest_changes(&kept, accept_changes, &mut changes)?;
    let engine = engine(context)?;
    let mut pins = Pins {
        engine: engine.digest(),
        graph_text: kept_text(&graph.document).0,
        manifest_text: kept_text(&manifest.to_json()).0,
        manifest: manifest.digest(),
        ..kept.pins.clone()
    };
    let trust = trust::load(&context.home, &pins.trust_files, context.output)?;
    let places = Places::new(&pins.item_folders, pins.project.as_deref(), &context.home);
    let graphs = graphs_now(&kept, &graph, accept_changes, &mut changes, &places, &trust, &manifest)?;
    pins.of_graphs(&graphs);
    let graphs = Arc::new(graphs);
    let mut components = components(engine, places, trust, manifest, pins.allow_unsigned);
    components.kept_texts = Arc::new(kept_texts(&*store, &kept.pins)?);
    components.signing_key = signing_key;
    let graph = Arc::new(graph);
    let plan = Plan::make(&graph, &graphs, &components).await;
    pins.of_plan(&plan);
    // Where graph or manifest have changed, what is granted follows from that.
    if changes.is_empty() {
        changes.extend(kept.pins.differences(&pins));
    }
    if !changes.is_empty() && !accept_changes {
        return Err(changed(&run, &changes));
    }
    if let Some(error) =
        plan.refusal(&format!("graph-host caps suggest {}", project::shown(&pins.graph_file)))
    {
        return Err(error);
    }
    let plan_notices = plan.notices();
    let (pins_digest, pins_text) = pins.text()?;
    let from_the_start = restored.is_none();
    let standing = standing(restored.as_ref().map(|tree| &tree.root));
    let inputs: Value = serde_json::from_str(&runs::snapshot(&*store, &row.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))?;
    let setup = Setup { pins: pins_digest, ..setup(&row, &components.manifest, &graphs, inputs.clone()) };
    let walker = walker(&graph, setup, restored)?;
    let summary = walker.summary();
    let mut update = RunUpdate { at: now(), pid: Change::Set(std::process::id()), ..standing };
    if pins_digest != row.pins {
        store.put_snapshot(&pins_digest, &pins_text)?;
        let texts = [kept_text(&graph.document), kept_text(&components.manifest.to_json())];
        for (digest, text) in texts.into_iter().chain(graphs.values().map(|graph| kept_text(&graph.document)))
        {
            store.put_snapshot(&digest, &text)?;
        }
        for text in plan.texts.values().filter_map(|text| text.as_ref().ok()) {
            store.put_snapshot(&text.digest, &text.content)?;
        }
        update.pins = Some(pins_digest);
        update.graph = Some(graph.digest);
        update.manifest = Some(pins.manifest);
    }
    let mut driver = drive_with(walker, &run, components, plan, store, key, row.durability, context, quiet)?;
    driver.amend(update);
    Ok(Resumable {
        ready: Ready { run, driver, guard },
        graph,
        open: summary.interrupts,
        from_the_start,
        inputs: inputs.as_object().cloned().unwrap_or_default(),
        steps: summary.steps,
        accepted: changes,
        plan_notices,
    })
}

/// The knowledge and directives that a run has kept.
fn kept_texts(store: &dyn CheckpointStore, pins: &Pins) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for (key, digest) in &pins.texts {
        let text = runs::snapshot(store, digest, &format!("the {key}"))?;
        if Digest::of_bytes(text.as_bytes()) != *digest {
            return Err(Error::integrity(format!("the {key} that the run keeps was changed in the store")));
        }
        texts.insert(key.clone(), text);
    }
    Ok(texts)
}

/// This host's identity, if the run is signed with it.
pub fn own_key(row: &RunRow, context: &Context) -> Result<SigningKey> {
    let key = context.home.identity()?;
    if row.key == key.id() {
        return Ok(key);
    }
    Err(Error::integrity(format!(
        "run {} was signed by another host: its key is {}, this one's is {}",
        row.run_id,
        row.key.short(),
        key.id().short()
    ))
    .help(
        "only the host that began a run can go on with it; its identity is identity.pem in its user's space",
    ))
}

/// The walker of a run that nobody runs, with nothing around it that tasks would need: for stopping it. Says whether the
/// run was cut short before anything was stored.
pub(crate) fn bare_walker(
    store: &dyn CheckpointStore,
    row: &RunRow,
    context: &Context,
) -> Result<(RunTree, SigningKey, RunUpdate, bool)> {
    let mut row = row.clone();
    let key = own_key(&row, context)?;
    let restored = runs::restore(store, &row.run_id, key.verifying_key())?;
    if let Some(Restored { checkpoint, .. }) = restored.as_ref().map(|tree| &tree.root) {
        (row.graph, row.pins, row.inputs, row.seed) =
            (checkpoint.graph, checkpoint.pins, checkpoint.inputs, checkpoint.seed);
    }
    let kept = Kept::read(store, &row)?;
    let inputs: Value = serde_json::from_str(&runs::snapshot(store, &row.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))?;
    let (from_the_start, standing) = (restored.is_none(), standing(restored.as_ref().map(|tree| &tree.root)));
    let setup = setup(&row, &Arc::new(kept.manifest), &Arc::new(kept.graphs), inputs);
    Ok((walker(&Arc::new(kept.graph), setup, restored)?, key, standing, from_the_start))
}

/// Where a run stands that goes on, for its row: that of one that was cut short is behind its checkpoints.
fn standing(restored: Option<&Restored>) -> RunUpdate {
    let newest = restored.map(|restored| &restored.checkpoint);
    RunUpdate {
        step: newest.map(|newest| newest.step),
        fuel: newest.map(|newest| newest.fuel),
        ..RunUpdate::default()
    }
}

/// What the walker of a run is told, as its row has it.
pub(crate) fn setup(row: &RunRow, manifest: &Arc<Manifest>, graphs: &Arc<Graphs>, inputs: Value) -> Setup {
    let identity = Identity {
        run: row.run_id.clone(),
        root: row.root_id.clone(),
        parent: row.parent_id.clone(),
        namespace: String::new(),
    };
    Setup {
        identity,
        inputs: Arc::new(inputs),
        initial_state: Map::new(),
        manifest: Arc::clone(manifest),
        graphs: Arc::clone(graphs),
        seed: row.seed,
        pins: row.pins,
        durability: row.durability,
        max_steps: row.max_steps,
        max_concurrency: None,
    }
}

/// The walker of a run; a new one where nothing was stored yet.
pub(crate) fn walker(graph: &Arc<Graph>, setup: Setup, restored: Option<RestoredTree>) -> Result<RunTree> {
    let Some(mut restored) = restored else { return Ok(RunTree::new(Arc::clone(graph), setup)) };
    // A change of the graph has been accepted, or there is none.
    restored.root.checkpoint.graph = graph.digest;
    restored.accept_changes = true;
    let run = setup.identity.run.clone();
    RunTree::restore(Arc::clone(graph), setup, restored).map_err(|error| {
        Error::integrity(format!("run {run} cannot be restored: {error}"))
            .help("resume it with the graph that it was begun with, or begin a new run")
    })
}

impl Kept {
    pub(crate) fn read(store: &dyn CheckpointStore, row: &RunRow) -> Result<Self> {
        let unreadable = |what: &str, error: &dyn std::fmt::Display| {
            Error::integrity(format!("{what} that run {} keeps cannot be read: {error}", row.run_id))
        };
        let pins = Pins::read(&runs::snapshot(store, &row.pins, "what it is pinned to")?)?;
        if pins.text()?.0 != row.pins {
            return Err(unreadable("what it is pinned to", &"it was changed in the store"));
        }
        let document: Value = serde_json::from_str(&runs::snapshot(store, &pins.graph_text, "the graph")?)
            .map_err(|error| unreadable("the graph", &error))?;
        let graph = load_snapshot(&document).map_err(|error| unreadable("the graph", &error))?;
        if graph.digest != row.graph {
            return Err(unreadable("the graph", &"it was changed in the store"));
        }
        let mut graphs = Graphs::new();
        for (id, pinned) in &pins.graphs {
            let what = format!("the graph `{id}`");
            let text = runs::snapshot(store, &pinned.text, &what)?;
            let document: Value = serde_json::from_str(&text).map_err(|error| unreadable(&what, &error))?;
            let graph = load_snapshot(&document).map_err(|error| unreadable(&what, &error))?;
            if graph.digest != pinned.graph || kept_text(&document).0 != pinned.text {
                return Err(unreadable(&what, &"it was changed in the store"));
            }
            graphs.insert(id.clone(), Arc::new(graph));
        }
        let manifest: Manifest =
            serde_json::from_str(&runs::snapshot(store, &pins.manifest_text, "the manifest")?)
                .map_err(|error| unreadable("the manifest", &error))?;
        if manifest.digest() != pins.manifest {
            return Err(unreadable("the manifest", &"it was changed in the store"));
        }
        Ok(Self { graph, graphs, manifest, pins })
    }
}

/// The refusal of an operation on a run that has ended.
pub fn finished(row: &RunRow) -> Error {
    Error::of_run(
        graph_core::record::ErrorCode::Finished,
        format!("run {} has ended: {}", row.run_id, row.status.as_str().replace('_', " ")),
    )
    .help(format!("see what it came to: graph-host runs show {}", row.run_id))
}

fn changed(run: &str, changes: &[String]) -> Error {
    let lines: Vec<_> =
        changes.iter().map(|line| format!("\n- {}", printable(line).replace('\n', "\n  "))).collect();
    Error::integrity(format!("run {run} was begun with something else:{}", lines.concat()))
        .details(serde_json::json!({ "changes": changes }))
        .help("put back what has changed, or go on with it as it is now: --accept-changes")
}

/// The graph to go on with: the one kept, or, where a change is accepted, the one on disk.
fn graph_now(kept: &Kept, accept: bool, changes: &mut Vec<String>) -> Result<Graph> {
    let keep = || load_snapshot(&kept.graph.document).map_err(|error| Error::integrity(error.to_string()));
    let path = &kept.pins.graph_file;
    let Ok(text) = crate::text_file::read(path) else { return keep() };
    match load(&project::shown(path), &text, &kept.graph.id) {
        Ok(loaded) if loaded.graph.digest == kept.graph.digest => keep(),
        Ok(loaded) => {
            changes.push(format!(
                "the graph {}:{}",
                project::shown(path),
                graph_difference(&kept.graph, &loaded.graph)
            ));
            if accept { Ok(loaded.graph) } else { keep() }
        }
        Err(problems) if accept => Err(problems.into()),
        Err(problems) => {
            changes.push(format!("the graph {} cannot be read any more: {problems}", project::shown(path)));
            keep()
        }
    }
}

/// The graphs inside the graph to go on with: those kept, or, where changes are accepted, those on disk.
fn graphs_now(
    kept: &Kept,
    graph: &Graph,
    accept: bool,
    changes: &mut Vec<String>,
    places: &Places,
    trust: &TrustStore,
    manifest: &Manifest,
) -> Result<Graphs> {
    let now = match Subgraphs::resolve(graph, Graphs::new(), places, trust, manifest, |_| false) {
        Ok(now) => now,
        Err(error) if accept => return Err(error),
        Err(error) => {
            changes.push(format!("a graph inside the graph cannot be used any more: {}", error.message()));
            return Ok(kept.graphs.clone());
        }
    };
    let mut graphs = kept.graphs.clone();
    for (id, graph) in now.graphs {
        match kept.graphs.get(&id) {
            Some(before) if before.digest == graph.digest => {}
            Some(before) => {
                let path = now.files.get(&id).map(|file| project::shown(&file.path)).unwrap_or_default();
                changes.push(format!("the graph `{id}` ({path}):{}", graph_difference(before, &graph)));
                if accept {
                    graphs.insert(id, graph);
                }
            }
            // One that is new matters only to what is new.
            None if accept => {
                graphs.insert(id, graph);
            }
            None => {}
        }
    }
    Ok(graphs)
}

/// The lines that differ between two graphs.
fn graph_difference(before: &Graph, now: &Graph) -> String {
    const MOST: usize = 12;
    let pretty = |graph: &Graph| serde_json::to_string_pretty(&*graph.document).unwrap_or_default();
    let (before, now) = (pretty(before), pretty(now));
    let diff = TextDiff::from_lines(&before, &now);
    let lines: Vec<_> = diff
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .map(|change| format!("\n{} {}", change.tag(), change.value().trim()))
        .collect();
    let more = lines.len().saturating_sub(MOST);
    let mut shown: String = lines.into_iter().take(MOST).collect();
    if more > 0 {
        let _ = write!(shown, "\nand {more} more lines");
    }
    shown
}

fn manifest_changes(kept: &Kept, accept: bool, changes: &mut Vec<String>) -> Result<Manifest> {
    let Some(path) = &kept.pins.caps_file else { return Ok(kept.manifest.clone()) };
    let shown = project::shown(Path::new(path));
    match manifest_now(path) {
        Ok(None) => Ok(kept.manifest.clone()),
        Ok(Some(now)) if now.digest() == kept.manifest.digest() => Ok(kept.manifest.clone()),
        Ok(Some(now)) => {
            changes.push(format!("the manifest {shown}: {}", kept.manifest.differences(&now).join("; ")));
            Ok(if accept { now } else { kept.manifest.clone() })
        }
        Err(error) if accept => Err(error),
        Err(error) => {
            changes.push(format!("the manifest {shown} cannot be used any more: {}", error.message()));
            Ok(kept.manifest.clone())
        }
    }
}
