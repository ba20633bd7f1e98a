//! From a stored run to one that can be driven on.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::graph::Graph;
use graph_core::parameters;
use graph_core::record::{Accepted, InterruptRecord};
use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Moment, Revocation, SigningKey, TrustStore};
use graph_core::walker::{Event, Graphs, Identity, Restored, RestoredTree, Setup};
use graph_store::{Change, CheckpointStore, RunGuard, RunRow, RunUpdate};
use serde_json::{Map, Value};

use crate::error::Kind;
use crate::error::{Error, Result};
use crate::executor::functions::Functions;
use crate::host::{Host, now};
use crate::items::locate::judged;
use crate::items::text_items;
use crate::plan::Plan;
use crate::project::{self, Project};
use crate::run::context::PreparedRun;
use crate::run::drift::{self, CurrentSources};
use crate::run::pins::{Pins, kept_text};
use crate::run::restore::{self, Checked};
use crate::run::snapshot::RunSnapshot;
use crate::run::start::{components, engine, environment};
use crate::trust::log::TrustLog;
use crate::trust::trusted_keys;

/// A run that has been restored.
#[derive(Debug)]
pub struct Resumable {
    /// Drives it.
    pub ready: PreparedRun,
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
    /// What was checked of it; nothing where it begins anew.
    pub checked: Option<Checked>,
    /// What may not be dispatched.
    pub plan_notices: Vec<String>,
}

impl Resumable {
    /// The event with which the run goes on, unless it begins anew.
    pub fn event(&self, resume: graph_core::walker::Resume) -> Event {
        if self.from_the_start { Event::Started } else { Event::Resumed(resume) }
    }
}

/// Whether what the run goes on with is let in, signed by keys that were not revoked, and signed as is required.
fn still_trusted(
    run: &str,
    graph: &str,
    before: &Pins,
    pins: &Pins,
    plan: &Plan,
    trust: &TrustStore,
    judged: Moment,
) -> Result<()> {
    let refusal = refuse_revoked_items(run, before, plan)
        .or_else(|| signer_revoked(run, before, pins, trust, now()))
        .or_else(|| not_as_required(run, graph, pins, trust, judged));
    refusal.map_or(Ok(()), Err)
}

/// Takes a run that has not ended.
fn take(name: &str, store: &dyn CheckpointStore) -> Result<(RunRow, RunGuard)> {
    let found = restore::find(store, name)?;
    if found.status.is_end() {
        return Err(finished(&found));
    }
    let guard = store.acquire(&found.run_id, &restore::this_process())?;
    // Another process may have resumed it until a moment ago.
    let row = restore::find(store, &found.run_id)?;
    if row.status.is_end() {
        return Err(finished(&row));
    }
    Ok((row, guard))
}

/// Takes a run, checks what it goes on from and what has changed around it, and restores it.
pub async fn open(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    accept_changes: bool,
    signing_key: Option<SigningKey>,
    project: &Project,
    host: &Host,
) -> Result<Resumable> {
    let (mut row, guard) = take(name, &*store)?;
    let run = row.run_id.clone();
    let key = own_key(&row, host)?;
    let restored = restore::restore(&*store, &run, key.verifying_key())?;
    let checked = restored.as_ref().map(|(_, checked)| *checked);
    let restored = restored.map(|(tree, _)| tree);
    if let (None, Some(origin)) = (&restored, &row.continuation_of) {
        return Err(cut_short(&run, origin));
    }
    if let Some(tree) = &restored {
        pinned_by(&mut row, &tree.root);
    }
    let kept = RunSnapshot::read(&*store, &row)?;

    let mut pins = kept.pins.clone();
    let trust = trusted_keys::load(&host.home, &pins.trust_files, &*host.notices)?;
    let judged = judged(restored.as_ref().map(|tree| tree.root.checkpoint.at));
    let mut present =
        CurrentSources { kept: &kept, accept: accept_changes, trust: &trust, judged, changes: Vec::new() };
    let graph = Arc::new(present.graph(&mut pins)?);
    let inputs = inputs_of(&*store, &row)?;
    let manifest = parameters::allowed(&graph, &inputs, &present.manifest()?);
    let places = pins.places(&host.home, project);
    let graphs = Arc::new(present.graphs(&graph, &places, &manifest, &mut pins)?);
    let mut changes = present.changes;
    let engine = engine(host)?;
    pins.engine = engine.digest();
    pins.graph_text = kept_text(&graph.document).0;
    (pins.manifest_text, pins.manifest) = (kept_text(&manifest.to_json()).0, manifest.digest());
    pins.of_graphs(&graphs);
    let mut components = components(engine, places, trust, manifest, pins.allow_unsigned);
    components.recorded = restored.as_ref().map(|tree| tree.root.checkpoint.at);
    components.log = Some(TrustLog::of(&host.home));
    components.kept_texts = Arc::new(kept_texts(&*store, &kept.pins)?);
    components.signing_key = signing_key;
    components.functions = Arc::clone(&host.functions);
    performed_here(&run, &kept.pins, &components.functions)?;
    let hooks = kept.hooks(&*store)?;
    let plan = Plan::make(&graph, &graphs, &hooks.hooks, &components).await;
    pins.of_plan(&plan);
    still_trusted(&run, &graph.id, &kept.pins, &pins, &plan, &components.trust, judged)?;
    // Where graph or manifest have changed, what is granted follows from that.
    changes.extend(drift::of_pins(&kept.pins, &pins, &plan.users(), changes.is_empty()));
    if changes.is_empty() {
        // What is new beside it, such as a signature where there was none, takes nothing away.
        pins = kept.pins.clone();
    } else if !accept_changes {
        return Err(changed(&run, &changes));
    }
    let suggest = format!("graph-host caps suggest {}", project::shown(&pins.graph_file));
    plan.refusal(&suggest).map_or(Ok(()), Err)?;
    TrustLog::of(&host.home).accept_plan(&plan, &[])?;
    let plan_notices = plan.notices();
    let (pins_digest, pins_text) = pins.text()?;
    let is_changed = pins_digest != row.pins;
    let texts = if is_changed { kept_now(&graph, &graphs, &components.manifest, &plan) } else { Vec::new() };
    let from_the_start = restored.is_none();
    let standing = standing(restored.as_ref().map(|tree| &tree.root));
    let mut setup = Setup {
        pins: pins_digest,
        hooks: hooks.hooks,
        ..setup(&row, &components.manifest, &graphs, inputs.clone())
    };
    // Of a run that begins anew nothing says yet what it is pinned to.
    if is_changed && !from_the_start {
        setup.accepted.push(Accepted {
            after: pins_digest,
            at: now(),
            before: row.pins,
            by: key.id(),
            changes: changes.clone(),
            graph: graph.digest,
        });
    }
    let environment = environment(components, plan, store, key, project, host);
    let assembled = environment.resume(&graph, setup, restored, guard)?;
    let summary = assembled.walker.summary();
    let mut update = RunUpdate { at: now(), pid: Change::Set(std::process::id()), ..standing };
    if is_changed {
        environment.store.put_snapshot(&pins_digest, &pins_text)?;
        for (digest, text) in texts {
            environment.store.put_snapshot(&digest, &text)?;
        }
        update.pins = Some(pins_digest);
        update.graph = Some(graph.digest);
        update.manifest = Some(pins.manifest);
    }
    let mut ready = assembled.ready(&environment)?;
    ready.driver.amend(update);
    Ok(Resumable {
        ready,
        graph,
        open: summary.interrupts,
        from_the_start,
        inputs: inputs.as_object().cloned().unwrap_or_default(),
        steps: summary.steps,
        accepted: changes,
        checked,
        plan_notices,
    })
}

fn inputs_of(store: &dyn CheckpointStore, row: &RunRow) -> Result<Value> {
    serde_json::from_str(&restore::snapshot(store, &row.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))
}

fn cut_short(run: &str, origin: &str) -> Error {
    Error::not_found(format!(
        "run {run} is a fork of {origin} that was cut short before anything of it was stored"
    ))
    .help(format!("fork it again: graph-host runs fork {origin} --at CHECKPOINT"))
}

/// The texts that a run goes on with: a later resume takes them for what it was begun with.
fn kept_now(graph: &Graph, graphs: &Graphs, manifest: &Manifest, plan: &Plan) -> Vec<(Digest, String)> {
    let documents = [kept_text(&graph.document), kept_text(&manifest.to_json())];
    let inside = graphs.values().map(|graph| kept_text(&graph.document));
    let texts = plan.texts.values().filter_map(|text| text.as_ref().ok());
    documents.into_iter().chain(inside).chain(texts.map(|text| (text.digest, text.content.clone()))).collect()
}

/// Refuses a run whose functions are those of another program.
fn performed_here(run: &str, kept: &Pins, functions: &Functions) -> Result<()> {
    let missing: Vec<_> =
        kept.unsandboxed.iter().filter(|id| !functions.contains(id)).map(|id| format!("`{id}`")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "run {run} cannot be resumed here: {} {} of the program that began it, which no sandbox holds",
        missing.join(", "),
        if missing.len() == 1 { "is a function" } else { "are functions" },
    );
    Err(Error::denied(printable(&message).into_owned()).help("resume it with the program that began it"))
}

/// What is signed counts, whatever the row says: the checkpoint, and what was accepted under it.
pub(crate) fn pinned_by(row: &mut RunRow, restored: &Restored) {
    let checkpoint = &restored.checkpoint;
    (row.graph, row.pins, row.inputs, row.seed) =
        (checkpoint.graph, checkpoint.pins, checkpoint.inputs, checkpoint.seed);
    if let Some(accepted) = restored.status.as_ref().and_then(|status| status.accepted.last()) {
        (row.graph, row.pins) = (accepted.graph, accepted.after);
    }
}

/// The refusal to go on with items that the run was begun with and that are not let in any more: changed without being
/// signed again, or signed with a key that does not count any more. No acceptance helps against that.
pub(crate) fn refuse_revoked_items(run: &str, kept: &Pins, plan: &Plan) -> Option<Error> {
    let users = plan.users();
    let components = plan.items.iter().filter(|(id, _)| kept.components.contains_key(*id));
    let components = components.filter_map(|(id, item)| {
        let problem = item.as_ref().err().filter(|problem| problem.kind == Kind::Integrity)?;
        let nodes: Vec<_> = users.get(id)?.iter().map(|node| format!("`{node}`")).collect();
        let plural = if nodes.len() == 1 { "" } else { "s" };
        Some((format!("node{plural} {}: {}", nodes.join(", "), problem.message), problem.help.clone()))
    });
    let texts = plan.texts.iter().filter_map(|((item_type, id), text)| {
        let problem = text.as_ref().err().filter(|problem| problem.kind == Kind::Integrity)?;
        Some((format!("{item_type} `{id}`: {}", problem.message), problem.help.clone()))
    });
    let problems: Vec<_> = components.chain(texts).collect();
    let (_, help) = problems.first()?;
    let lines: Vec<_> = problems.iter().map(|(line, _)| format!("\n- {}", printable(line))).collect();
    let refusals: Vec<_> = problems.iter().map(|(line, _)| line).collect();
    let error =
        Error::integrity(format!("what run {run} was begun with is not let in any more:{}", lines.concat()))
            .details(serde_json::json!({ "refusals": refusals }));
    Some(match help {
        Some(help) => error.help(help.clone()),
        None => error,
    })
}

/// The refusal to go on with what is known from the run alone and was signed with keys that are revoked since.
fn signer_revoked(run: &str, kept: &Pins, now: &Pins, trust: &TrustStore, at: Timestamp) -> Option<Error> {
    let lines = kept.signers.iter().filter_map(|(item, keys)| {
        // Whoever signs it now has been checked.
        if now.signers.get(item) != Some(keys) {
            return None;
        }
        let revoked = |key: &KeyId| trust.entries(*key).find(|entry| entry.is_revoked(at));
        let entry =
            keys.iter().all(|key| revoked(key).is_some()).then(|| revoked(keys.first()?)).flatten()?;
        let since = match entry.revoked {
            Some(Revocation::Since(since)) => format!(" since {since}"),
            _ => String::new(),
        };
        Some(format!("`{item}` was signed with the key {}, which is revoked{since}", entry.named()))
    });
    let lines: Vec<_> = lines.collect();
    let shown: Vec<_> = lines.iter().map(|line| format!("\n- {}", printable(line))).collect();
    let error =
        Error::integrity(format!("what run {run} was begun with is not let in any more:{}", shown.concat()))
            .details(serde_json::json!({ "refusals": lines }))
            .help("get it signed with another key, and begin a new run");
    (!lines.is_empty()).then_some(error)
}

/// The refusal to go on with graphs and texts that the trust store requires to be signed and that are not pinned to signatures
/// which make up what is required: what a run has kept is read without its signature.
pub(crate) fn not_as_required(
    run: &str,
    graph: &str,
    pins: &Pins,
    trust: &TrustStore,
    at: Moment,
) -> Option<Error> {
    let graphs = pins.graphs.keys().map(|id| (format!("graph {id}"), id.as_str()));
    let texts = pins.texts.keys().map(|key| (key.clone(), text_items::id_of_key(key)));
    let items = std::iter::once(("graph".to_owned(), graph)).chain(graphs).chain(texts);
    let lines: Vec<_> = items
        .filter_map(|(item, id)| {
            let signers = pins.signers.get(&item).map_or(&[][..], Vec::as_slice);
            let few = trust.still_enough(id, signers, at).err()?;
            Some(format!("{} `{id}`: {few}", item.split(' ').next().unwrap_or_default()))
        })
        .collect();
    let shown: Vec<_> = lines
        .iter()
        .map(|line| {
            format!(
                "
- {}",
                printable(line)
            )
        })
        .collect();
    let error = Error::integrity(format!(
        "items of run {run} are not signed as the trust store requires:{}",
        shown.concat()
    ))
    .details(serde_json::json!({ "refusals": lines }))
    .help("have them signed with one of these keys (graph-host sign FILE --key KEY); `graph-host trust list` shows what is required");
    (!lines.is_empty()).then_some(error)
}

/// The knowledge and directives that a run has kept.
pub(crate) fn kept_texts(store: &dyn CheckpointStore, pins: &Pins) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for (key, digest) in &pins.texts {
        let text = restore::snapshot(store, digest, &format!("the {key}"))?;
        if Digest::of_bytes(text.as_bytes()) != *digest {
            return Err(Error::integrity(format!("the {key} that the run keeps was changed in the store")));
        }
        texts.insert(key.clone(), text);
    }
    Ok(texts)
}

/// The identity of this host that the run is signed with: its present one, or one from before.
pub fn own_key(row: &RunRow, host: &Host) -> Result<SigningKey> {
    if let Some(key) = host.home.signing_identity(row.key)? {
        return Ok(key);
    }
    let key = host.home.identity()?;
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

/// A run that no process runs, from its records alone.
pub(crate) struct Unheld {
    pub(crate) graph: Arc<Graph>,
    pub(crate) setup: Setup,
    pub(crate) restored: Option<RestoredTree>,
    /// What its row does not say yet.
    pub(crate) behind: RunUpdate,
}

impl Unheld {
    /// Reads what a run needs that is stopped, and nothing that its tasks would need.
    pub(crate) fn read(store: &dyn CheckpointStore, row: &RunRow, key: &SigningKey) -> Result<Self> {
        let mut row = row.clone();
        let restored = restore::restore(store, &row.run_id, key.verifying_key())?.map(|(tree, _)| tree);
        if let Some(tree) = &restored {
            pinned_by(&mut row, &tree.root);
        }
        let kept = RunSnapshot::read(store, &row)?;
        let inputs = inputs_of(store, &row)?;
        let behind = standing(restored.as_ref().map(|tree| &tree.root));
        let setup = setup(&row, &Arc::new(kept.manifest), &Arc::new(kept.graphs), inputs);
        Ok(Self { graph: Arc::new(kept.graph), setup, restored, behind })
    }
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
        hooks: Arc::default(),
        seed: row.seed,
        pins: row.pins,
        accepted: Vec::new(),
        durability: row.durability,
        max_steps: row.max_steps,
        max_concurrency: None,
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
