//! Restores stored runs so that they can be driven further.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::diagnostic::{block, printable};
use graph_core::digest::Digest;
use graph_core::limits::LARGEST_FIGURE;
use graph_core::record::{AcceptedPinChange, InterruptRecord};
use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Moment, Revocation, SigningKey, TrustStore, VerifyingKey};
use graph_store::{Change, CheckpointStore, RunGuard, RunRow, RunUpdate};
use graph_walker::graph::Graph;
use graph_walker::walker::{
    Answers, Event, Graphs, Identity, Restored, RestoredTree, Resume, RunTree, Setup,
};
use graph_walker::{parameters, structure};
use serde_json::{Map, Value};

use crate::clock::now;
use crate::error::{EmbeddedPlace, Error, Kind, Result};
use crate::functions::Functions;
use crate::host::Host;
use crate::items::locate::moment_of_superstep;
use crate::items::{built_in, text_items};
use crate::plan::Plan;
use crate::plan::engine::{components, engine};
use crate::plan::manifest_authority::Purpose;
use crate::project::paths::absolute;
use crate::project::user_home::Home;
use crate::project::{Project, key_pairs};
use crate::remedy::{ManifestSuggestion, Remedy, SuggestedGraph};
use crate::run::context::{Environment, PreparedRun};
use crate::run::drift::CurrentSources;
use crate::run::history_audit::check_pause;
use crate::run::pins::{Pins, kept_text};
use crate::run::restore::VerifiedPart;
use crate::run::run_inputs::check_inputs;
use crate::run::snapshot::{PinnedBy, RunSnapshot};
use crate::run::start::component_services;
use crate::run::start_note::RunStart;
use crate::run::state_item::StateItem;
use crate::run::typed_answers::TypedAnswers;
use crate::run::{answered, drift, restore};
use crate::sources::Sources;
use crate::trust::log::TrustLog;
use crate::trust::trusted_keys;

/// A run that has been restored.
#[derive(Debug)]
pub struct Resumable {
    /// The driver, which holds the run.
    pub prepared: PreparedRun,
    /// The graph to continue with: the recorded one, or an accepted change of it.
    pub graph: Arc<Graph>,
    /// The questions that wait for an answer.
    pub open: Vec<InterruptRecord>,
    /// `true` if the run was cut short before anything was stored: it starts from its beginning.
    pub from_the_start: bool,
    /// Its inputs.
    pub inputs: Map<String, Value>,
    /// Number of supersteps that have committed.
    pub steps: u64,
    /// The changes that were accepted.
    pub accepted: Vec<String>,
    /// Result of the verification; `None` if the run starts from its beginning.
    pub checked: Option<VerifiedPart>,
    /// Notices of the plan, such as dispatches that will be denied.
    pub plan_notices: Vec<String>,
    /// Key that its records are signed with.
    key: VerifyingKey,
}

impl Resumable {
    /// Returns warnings about keys of an update that the run does not know.
    pub fn unknown_channels<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Vec<String> {
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_none() {
            return Vec::new();
        }
        structure::unknown_channels(&self.graph, &self.prepared.driver.summary().state, keys)
    }

    /// Takes the answers to the open questions from `typed`. The remaining ones are for questions that the run has not asked yet.
    pub fn take_answers(&self, typed: &mut TypedAnswers, store: &dyn CheckpointStore) -> Result<Answers> {
        let committed = |name: &str| answered::find(store, &self.prepared.run, &self.key, name);
        typed.take(self.prepared.driver.run(), &committed)
    }

    /// Checks whether an open question is asked again before it is answered, since accepted changes may have changed it.
    pub fn asks_again(&self) -> bool {
        let run = self.prepared.driver.run();
        !self.accepted.is_empty() && self.open.iter().any(|asked| run.is_asked_again(&asked.id))
    }

    /// Restricts answers to questions that are asked again as they were shown, for a resume with new inputs.
    pub fn only_as_shown(&self, typed: &mut TypedAnswers) {
        typed.only_as_shown(self.prepared.driver.run());
    }

    /// Merges new inputs into those of the run, and checks them against the graph's schema.
    pub fn merged_inputs(&self, new: Map<String, Value>) -> Result<Map<String, Value>> {
        let mut merged = self.inputs.clone();
        merged.extend(new);
        match check_inputs(&self.graph, merged)?.inputs {
            Value::Object(merged) => Ok(merged),
            other => Err(Error::invalid(format!("the inputs are {other}, a mapping is needed"))),
        }
    }

    /// Fails if new inputs or an update are for a run that starts from its beginning, which has nothing to change.
    pub fn check_changes(&self, changes: bool) -> Result<()> {
        if self.from_the_start && changes {
            return Err(Error::usage(
                "the run was cut short before its first step: resume it without inputs or updates",
            ));
        }
        Ok(())
    }

    /// Returns the event that resumes the run, or starts it if nothing was stored. A new limit on its supersteps is stored
    /// with it.
    pub fn event(&mut self, resume: Resume) -> Event {
        if let Some(max_steps) = resume.max_steps {
            let max_steps = Change::Set(max_steps.min(LARGEST_FIGURE));
            self.prepared.driver.amend(RunUpdate { max_steps, ..RunUpdate::default() });
        }
        if self.from_the_start { Event::Started } else { Event::Resumed(resume) }
    }
}

/// Checks that the items of a resume are trusted: signed by keys that are not revoked, and signed as required.
fn still_trusted(
    run: &str,
    graph: &str,
    before: &Pins,
    pins: &Pins,
    plan: &Plan,
    trust: &TrustStore,
    moment: Moment,
) -> Result<()> {
    let refusal = refuse_revoked_items(run, before, plan)
        .or_else(|| signer_revoked(run, before, pins, trust, now()))
        .or_else(|| not_as_required(run, graph, pins, trust, moment));
    refusal.map_or(Ok(()), Err)
}

/// Takes a run that has not ended, or one that starts another turn.
fn take(name: &str, store: &dyn CheckpointStore, begins_turn: bool) -> Result<(RunRow, RunGuard)> {
    let found = restore::find(store, name)?;
    if found.status.is_end() && !begins_turn {
        return Err(finished(&found));
    }
    let guard = store.acquire(&found.run_id, &restore::this_process())?;
    // Another process may have resumed it a moment ago.
    let row = restore::find(store, &found.run_id)?;
    if row.status.is_end() && !begins_turn {
        return Err(finished(&row));
    }
    Ok((row, guard))
}

/// The options of a resume.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct RestoreOptions {
    /// Resumes the run with the present graph, manifest and components if they have changed.
    pub accept_changes: bool,
    /// Permits a run that has ended to start another turn, with new inputs.
    pub begins_turn: bool,
    /// The key with which the run may sign items: the name of one of the user's keys, or a file.
    pub sign_with: Option<String>,
    /// Dispatches every task, also those of nodes with a `cache`, and stores no results for later tasks.
    pub no_cache: bool,
    /// Writes the run's state item from now on. An existing one is kept up to date anyway.
    pub state_item: bool,
    /// The manifest from now on. A run of another host needs one: its own is not accepted here.
    pub caps: Option<PathBuf>,
    /// Sources of items and trust for a run of another host. A run of this host has those of its start.
    pub sources: Sources,
}

/// Takes a run, verifies its records, compares its sources with the present ones, and restores it.
pub(crate) async fn reopen(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    options: RestoreOptions,
    project: &Project,
    host: &Host,
) -> Result<Resumable> {
    let signing_key =
        options.sign_with.as_deref().map(|key| key_pairs::signing_key(&host.home, key)).transpose()?;
    let (mut row, guard) = take(name, &*store, options.begins_turn)?;
    let run = row.run_id.clone();
    let key = own_key(&row, host)?;
    let verifying = key.verifying_key();
    let (restored, checked) = restore::restore(&*store, &run, key.verifying_key())?.unzip();
    check_pause(&row, restored.as_ref().map(|tree| &tree.root.checkpoint), &*store)?;
    if let (None, Some(origin)) = (&restored, &row.continuation_of) {
        return Err(cut_short(&run, origin));
    }
    if let Some(tree) = &restored {
        pinned_by(&mut row, &tree.root);
    }
    let pinned_by = PinnedBy::of(restored.as_ref(), &key);
    let mut kept = RunSnapshot::read(&*store, &row, pinned_by, &host.home)?;
    kept.take_sources(&run, &options.sources, project)?;
    let permitted = kept.permit(Purpose::Resume, options.caps.as_deref(), host)?;
    let mut pins = kept.pins.clone();
    let trust = trusted_keys::load(&host.home, &pins.trust_files, &*host.notices)?;
    let recorded = kept.judged_at(restored.as_ref().map(|tree| tree.root.checkpoint.at));
    let moment = moment_of_superstep(recorded);
    let mut present = CurrentSources::new(&kept, options.accept_changes, &trust, project.base(), moment);
    let graph = Arc::new(present.graph(&mut pins)?);
    let inputs = restore::inputs(&*store, &row.inputs)?;
    let manifest = present.manifest(permitted.manifest, options.caps.as_deref())?;
    let manifest = manifest.narrowed(|manifest| parameters::allowed(&graph, &inputs, manifest));
    let locator = kept.locator(&host.home, project);
    let graphs = Arc::new(present.graphs(&graph, &locator, &manifest, &mut pins)?);
    let (mut changes, change_remedies) = (present.changes, present.remedies);
    let engine = engine(host)?.opening(permitted.opens);
    pins.engine = engine.digest();
    pin_texts(&mut pins, &graph, &manifest, options.caps.as_deref());
    pins.of_graphs(&graphs);
    let mut components = components(engine, locator, trust, manifest, pins.allow_unsigned);
    (components.recorded, components.signing_key) = (recorded, signing_key);
    components.log = Some(TrustLog::in_home(&host.home));
    components.kept_texts = Arc::new(kept_texts(&*store, &kept.pins)?);
    components.functions = Arc::clone(&host.functions);
    performed_here(&run, &kept.pins, &components.functions)?;
    let hooks = kept.hooks(&*store)?;
    let plan = Plan::make(&graph, &graphs, &hooks.hooks, &components).await;
    pins.of_plan(&plan);
    still_trusted(&run, &graph.id, &kept.pins, &pins, &plan, &components.trust, moment)?;
    // If the graph or the manifest have changed, changed grants follow from that.
    changes.extend(drift::of_pins(&kept.pins, &pins, &plan.users(), changes.is_empty()));
    if changes.is_empty() {
        // An addition, such as a first signature, revokes nothing.
        pins = kept.recorded.clone();
    } else if !options.accept_changes {
        return Err(changed(&run, &changes, change_remedies));
    }
    plan.refusal(suggestion(&pins)).map_or(Ok(()), Err)?;
    TrustLog::in_home(&host.home).accept_plan(&plan, &[])?;
    let plan_notices = plan.notices();
    let (pins_digest, pins_text) = pins.text()?;
    let is_changed = pins_digest != row.pins;
    let texts =
        if is_changed { resumed_texts(&graph, &graphs, &components.manifest, &plan) } else { Vec::new() };
    let from_the_start = restored.is_none();
    let mut setup = Setup {
        pins: pins_digest,
        hooks: hooks.hooks,
        ..setup(&row, &components.manifest.shared(), &graphs, inputs.clone())
    };
    // A run that starts from its beginning has no record yet that pins it.
    if is_changed && !from_the_start {
        setup.accepted.push(accepted(&row, (pins_digest, graph.digest), &key, &changes));
    }
    let state_item = StateItem::of_run(options.state_item, &graph, &row, &key, project, host);
    let services = component_services(components, plan, store, key, project, host);
    let environment = Environment { services, state_item };
    let assembled = environment.resume(&graph, setup, restored, guard)?;
    let summary = assembled.walker.summary();
    let mut update = position(&assembled.walker, summary.steps);
    if is_changed {
        keep_changed(&*environment.services.store, &texts, (&pins_digest, &pins_text))?;
        if from_the_start {
            let start = RunStart { pins: pins_digest, graph: graph.digest, ..RunStart::of(&row) };
            keep_begun(start, &environment)?;
        }
        (update.pins, update.graph, update.manifest) =
            (Some(pins_digest), Some(graph.digest), Some(pins.manifest));
    }
    let mut prepared = assembled.prepare(&environment)?;
    prepared.driver.amend(update);
    if options.no_cache {
        prepared.driver.ignore_cache();
    }
    Ok(Resumable {
        prepared,
        graph,
        open: summary.interrupts,
        from_the_start,
        inputs: inputs.as_object().cloned().unwrap_or_default(),
        steps: summary.steps,
        accepted: changes,
        checked,
        plan_notices,
        key: verifying,
    })
}

/// Pins the present texts of a graph and of its manifest, which a file may replace.
fn pin_texts(pins: &mut Pins, graph: &Graph, manifest: &Manifest, caps: Option<&Path>) {
    pins.graph_text = kept_text(&graph.document).0;
    pins.caps_file = caps.map(absolute).or(pins.caps_file.take());
    (pins.manifest_text, pins.manifest) = (kept_text(&manifest.to_json()).0, manifest.digest());
}

/// Returns the present position of a run, for its row, which is behind the records of a run that was cut short.
fn position(walker: &RunTree, steps: u64) -> RunUpdate {
    RunUpdate {
        at: now(),
        pid: Change::Set(std::process::id()),
        step: Some(steps),
        fuel: Some(walker.fuel()),
        model_use: Some(walker.model_use()),
        ..RunUpdate::default()
    }
}

/// Stores the texts that a run was changed to, and its present pins.
fn keep_changed(
    store: &dyn CheckpointStore,
    texts: &[(Digest, String)],
    (digest, pins): (&Digest, &str),
) -> Result<()> {
    for (digest, text) in texts {
        store.put_snapshot(digest, text)?;
    }
    Ok(store.put_snapshot(digest, pins)?)
}

/// Makes the record of accepted changes: the run is pinned to `after` from now on, and executes `graph`.
fn accepted(
    row: &RunRow,
    (after, graph): (Digest, Digest),
    key: &SigningKey,
    changes: &[String],
) -> AcceptedPinChange {
    AcceptedPinChange { after, at: now(), before: row.pins, by: key.id(), changes: changes.to_vec(), graph }
}

/// Stores the start note of a run that has not started yet.
fn keep_begun(begun: RunStart<'_>, environment: &Environment) -> Result<()> {
    let note = begun.note(&environment.services.key);
    Ok(environment.services.store.put_snapshot(&note.digest, &note.text)?)
}

/// Returns the suggestion of a manifest for a run. A graph that a program has built has no file: it is written into one first.
fn suggestion(pins: &Pins) -> ManifestSuggestion {
    let of_program = pins.graph_file.as_os_str().is_empty();
    let graph = match built_in::id_at(&pins.graph_file) {
        Some(id) => SuggestedGraph::Named(id.to_owned()),
        None if of_program => SuggestedGraph::Unwritten,
        None => SuggestedGraph::File(pins.graph_file.clone()),
    };
    ManifestSuggestion { graph, ..ManifestSuggestion::default() }
}

fn cut_short(run: &str, origin: &str) -> Error {
    Error::not_found(format!(
        "run {run} is a fork of {origin} that was cut short before anything of it was stored"
    ))
    .help(Remedy::ForkAgain { origin: origin.to_owned() })
}

/// Returns the texts that a run is resumed with: a later resume compares with these.
fn resumed_texts(graph: &Graph, graphs: &Graphs, manifest: &Manifest, plan: &Plan) -> Vec<(Digest, String)> {
    let documents = [kept_text(&graph.document), kept_text(&manifest.to_json())];
    let inside = graphs.values().map(|graph| kept_text(&graph.document));
    let texts = plan.texts.values().filter_map(|text| text.as_ref().ok());
    documents.into_iter().chain(inside).chain(texts.map(|text| (text.digest, text.content.clone()))).collect()
}

/// Fails for a run whose functions belong to another program.
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

/// Sets the pins of a row to signed values: those of the checkpoint, and of changes that were accepted under it.
pub(crate) fn pinned_by(row: &mut RunRow, restored: &Restored) {
    let checkpoint = &restored.checkpoint;
    (row.graph, row.pins, row.inputs, row.seed) =
        (checkpoint.graph, checkpoint.pins, checkpoint.inputs, checkpoint.seed);
    if let Some(accepted) = restored.status.as_ref().and_then(|status| status.accepted.last()) {
        (row.graph, row.pins) = (accepted.graph, accepted.after);
    }
}

/// Returns an error for items that the run was started with and that are no longer trusted: changed without a new
/// signature, or signed with a key that is no longer accepted. The user cannot accept these.
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
    let lines: Vec<_> = problems.iter().map(|(line, _)| format!("\n- {}", block(line, "  "))).collect();
    let refusals: Vec<_> = problems.iter().map(|(line, _)| line).collect();
    let error = Error::integrity(format!(
        "run {run} cannot be resumed: some of its items are no longer trusted:{}",
        lines.concat()
    ))
    .details(serde_json::json!({ "refusals": refusals }));
    Some(match help {
        Some(help) => error.help(help.clone()),
        None => error,
    })
}

/// Returns an error for items that are known only from the run's records and were signed with keys that are now revoked.
fn signer_revoked(run: &str, kept: &Pins, now: &Pins, trust: &TrustStore, at: Timestamp) -> Option<Error> {
    let lines = kept.signers.iter().filter_map(|(item, keys)| {
        // Present signers that differ have been checked.
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
    let shown: Vec<_> = lines.iter().map(|line| format!("\n- {}", block(line, "  "))).collect();
    let error = Error::integrity(format!(
        "run {run} cannot be resumed: some of its items are no longer trusted:{}",
        shown.concat()
    ))
    .details(serde_json::json!({ "refusals": lines }))
    .help("get it signed with another key, and start a new run");
    (!lines.is_empty()).then_some(error)
}

/// Returns an error for graphs and texts whose pinned signers are fewer than the trust store requires: a text that the
/// run has stored is read without its signature.
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
    let shown: Vec<_> = lines.iter().map(|line| format!("\n- {}", block(line, "  "))).collect();
    let error = Error::integrity(format!(
        "items of run {run} are not signed as the trust store requires:{}",
        shown.concat()
    ))
    .details(serde_json::json!({ "refusals": lines }))
    .help(Remedy::SignAsRequired);
    (!lines.is_empty()).then_some(error)
}

/// Reads the knowledge and directives that a run has stored.
pub(crate) fn kept_texts(store: &dyn CheckpointStore, pins: &Pins) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for (key, digest) in &pins.texts {
        let text = restore::snapshot(store, digest, &format!("the {key}"))?;
        texts.insert(key.clone(), text);
    }
    Ok(texts)
}

/// Returns the key of this host that the run is signed with: the present one, or an earlier one.
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
    .help(Remedy::ImportWithKey))
}

/// A run that no process runs, restored from its records only.
pub(crate) struct Unheld {
    pub(crate) graph: Arc<Graph>,
    pub(crate) setup: Setup,
    pub(crate) restored: Option<RestoredTree>,
    /// Update of its row, which may be behind its state.
    pub(crate) behind: RunUpdate,
}

impl Unheld {
    /// Reads the parts that a stop needs, without those that only tasks need.
    pub(crate) fn read(
        store: &dyn CheckpointStore,
        row: &RunRow,
        key: &SigningKey,
        home: &Home,
    ) -> Result<Self> {
        let mut row = row.clone();
        let restored = restore::restore(store, &row.run_id, key.verifying_key())?.map(|(tree, _)| tree);
        if let Some(tree) = &restored {
            pinned_by(&mut row, &tree.root);
        }
        // The stop would sign unproven claims of the row.
        let pinned_by = PinnedBy::of(restored.as_ref(), key);
        let kept = RunSnapshot::read(store, &row, pinned_by, home)?;
        let inputs = restore::inputs(store, &row.inputs)?;
        let behind = standing(restored.as_ref().map(|tree| &tree.root));
        let manifest = Arc::new(kept.manifest.of_record().clone());
        let setup = setup(&row, &manifest, &Arc::new(kept.graphs), inputs);
        Ok(Self { graph: Arc::new(kept.graph), setup, restored, behind })
    }
}

/// Returns the present position of a run, for its row: the row of a run that was cut short is behind its checkpoints.
fn standing(restored: Option<&Restored>) -> RunUpdate {
    let newest = restored.map(|restored| &restored.checkpoint);
    RunUpdate {
        step: newest.map(|newest| newest.step),
        fuel: newest.map(|newest| newest.fuel),
        model_use: newest.map(|newest| newest.host.model),
        ..RunUpdate::default()
    }
}

/// Makes the setup of a run's walker, from its row.
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

/// Makes the error of an operation on a run that has ended.
pub fn finished(row: &RunRow) -> Error {
    Error::of_run(
        graph_core::record::ErrorCode::Finished,
        format!("run {} has ended: {}", row.run_id, row.status.as_str().replace('_', " ")),
    )
    .help(Remedy::SeeResult { run: row.run_id.clone() })
}

fn changed(run: &str, changes: &[String], remedies: BTreeMap<usize, Remedy>) -> Error {
    let mut message = format!("run {run} cannot be resumed: something has changed since it started:");
    let mut ends = Vec::new();
    for line in changes {
        let _ = write!(message, "\n- {}", block(line, "  "));
        ends.push(message.len());
    }
    let mut error = Error::integrity(message).details(serde_json::json!({ "changes": changes }));
    for (change, remedy) in remedies {
        let Some(end) = ends.get(change) else { continue };
        error = error.embed(EmbeddedPlace::Message(*end), "; ", remedy.clone());
        error = error.embed(EmbeddedPlace::Details(format!("/changes/{change}")), "; ", remedy);
    }
    error.help(Remedy::AcceptChanges)
}
