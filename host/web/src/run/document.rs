//! Documents that are read: the setup of a run, and events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::hook_event::HookLayer;
use graph_core::json;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::node::{Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{JournalEntry, LogLine, SignedCacheEntry};
use graph_core::time::Timestamp;
use graph_core::trust::{SigningKey, VerifyingKey};
use graph_walker::document::load_hooks;
use graph_walker::graph::Graph;
use graph_walker::hook::Hook;
use graph_walker::parameters;
use graph_walker::walker::{
    Answers, CustomEvent, Edit, Identity, Resume, Setup, TaskReport, TimerId, Timing,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::read::{self, GraphText, ManifestText};
use crate::{Problem, VERSION};

/// Setup of a run that is started or resumed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupDocument {
    version: u32,
    run: String,
    #[serde(default)]
    root: Option<String>,
    #[serde(default)]
    parent: Option<String>,
    graph: GraphText,
    /// Graphs that nodes of the graph, and of these graphs, dispatch.
    #[serde(default)]
    graphs: Vec<GraphText>,
    #[serde(default)]
    hooks: HookTexts,
    #[serde(default = "no_inputs")]
    inputs: Value,
    #[serde(default)]
    initial_state: Map<String, Value>,
    #[serde(default)]
    manifest: Option<ManifestText>,
    #[serde(default)]
    seed: Option<Digest>,
    #[serde(default)]
    pins: Option<Digest>,
    #[serde(default)]
    durability: Option<Durability>,
    #[serde(default)]
    max_steps: Option<u64>,
    #[serde(default)]
    max_concurrency: Option<u32>,
    /// Private key: PKCS#8 in PEM, or the 32 bytes of the seed (RFC 8032) in hexadecimal digits.
    key: String,
    /// Public key of the stored records, if another host signed them.
    #[serde(default)]
    stored_by: Option<String>,
}

/// Hooks from outside of the graph.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct HookTexts {
    #[serde(default)]
    project: Option<HookText>,
    #[serde(default)]
    user: Option<HookText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HookText {
    name: String,
    text: String,
}

fn no_inputs() -> Value {
    Value::Object(Map::new())
}

/// A parsed setup.
pub(super) struct ParsedSetup {
    pub(super) graph: Arc<Graph>,
    pub(super) setup: Setup,
    pub(super) key: SigningKey,
    /// Key that signed the stored records.
    pub(super) stored_by: VerifyingKey,
    /// Manifest of the user, before inputs narrow it.
    pub(super) manifest: Manifest,
}

impl ParsedSetup {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let document: SetupDocument = read::document("setup", text)?;
        if document.version != VERSION {
            let message = format!("the setup is of version {}, expected {VERSION}", document.version);
            return Err(Problem::new("invalid_json", message));
        }
        let key = signing_key(&document.key)?;
        let stored_by = document.stored_by.as_deref().map_or_else(|| Ok(key.verifying_key()), public_key)?;
        let graph = Arc::new(document.graph.load()?);
        let manifest = document.manifest.as_ref().map(ManifestText::load).transpose()?.unwrap_or_default();
        let mut graphs = BTreeMap::new();
        for inner in &document.graphs {
            graphs.insert(inner.id.clone(), Arc::new(inner.load()?));
        }
        let inputs = Arc::new(document.inputs);
        // A page stores no documents with its records, so that a run with graphs of its own could not be resumed.
        let manifest = manifest.without_written_graphs("this host keeps no graphs that a run writes itself");
        let setup = Setup {
            identity: Identity {
                root: document.root.unwrap_or_else(|| document.run.clone()),
                run: document.run,
                parent: document.parent,
                namespace: String::new(),
            },
            seed: document.seed.unwrap_or_else(|| Setup::default_seed(&graph, &inputs)),
            manifest: Arc::new(parameters::allowed(&graph, &inputs, &manifest)),
            inputs,
            initial_state: document.initial_state,
            graphs: Arc::new(graphs),
            hooks: Arc::new(document.hooks.load()?),
            pins: document.pins.unwrap_or(graph.digest),
            accepted: Vec::new(),
            durability: document.durability.unwrap_or(graph.durability),
            max_steps: document.max_steps,
            max_concurrency: document.max_concurrency,
        };
        Ok(Self { graph, setup, key, stored_by, manifest })
    }

    /// Replaces the inputs of the setup by the latest ones of a stored run.
    pub(super) fn set_inputs(&mut self, inputs: Value) {
        self.setup.manifest = Arc::new(parameters::allowed(&self.graph, &inputs, &self.manifest));
        self.setup.inputs = Arc::new(inputs);
    }
}

impl HookTexts {
    fn load(&self) -> Result<Vec<Hook>, Problem> {
        let layers = [(&self.project, HookLayer::Project), (&self.user, HookLayer::Infra)];
        let mut hooks = Vec::new();
        for (text, layer) in layers {
            if let Some(HookText { name, text }) = text {
                hooks.extend(load_hooks(name, text, layer)?.hooks);
            }
        }
        Ok(hooks)
    }
}

fn signing_key(text: &str) -> Result<SigningKey, Problem> {
    let refused = |reason: String| Problem::new("invalid_json", format!("the key of the setup: {reason}"));
    if text.trim_start().starts_with('-') {
        return SigningKey::from_pem(text).map_err(|error| refused(error.to_string()));
    }
    // A seed has the length and the digits of a digest.
    let seed = text.parse::<Digest>().map_err(|_| {
        refused("expected a private key in PEM, or the 64 hexadecimal digits of its seed".to_owned())
    })?;
    Ok(SigningKey::from_seed(seed.as_bytes()))
}

/// Parses a public key, in PEM or in hexadecimal digits.
pub(super) fn public_key(text: &str) -> Result<VerifyingKey, Problem> {
    VerifyingKey::parse(text)
        .map_err(|error| Problem::new("invalid_json", format!("the public key cannot be used: {error}")))
}

/// Document of an event, whose field `event` names the variant. [`read::tagged`] reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum EventDocument {
    Started {},
    TaskDone {
        task: Arc<str>,
        attempt: u32,
        report: Box<ReportDocument>,
    },
    ModelReserved {
        task: Arc<str>,
        attempt: u32,
        model: ModelUse,
        #[serde(default)]
        name: Option<Arc<str>>,
    },
    LookedUp {
        task: Arc<str>,
        attempt: u32,
        #[serde(default)]
        key: Option<Digest>,
        #[serde(default)]
        results: Vec<SignedCacheEntry>,
    },
    HookDone {
        hook: Arc<str>,
        report: Box<ReportDocument>,
    },
    Persisted {
        id: u64,
    },
    PersistFailed {
        id: u64,
        message: String,
    },
    Resumed {
        #[serde(default, deserialize_with = "present")]
        answer: Option<Value>,
        #[serde(default)]
        answers: BTreeMap<String, Value>,
        /// Typed answers, by the id of their questions, which define how they are read.
        #[serde(default)]
        typed: BTreeMap<String, String>,
        #[serde(default)]
        max_steps: Option<u64>,
        #[serde(default)]
        inputs: Option<Map<String, Value>>,
        #[serde(default)]
        update: Option<Map<String, Value>>,
    },
    Updated {
        values: Map<String, Value>,
        #[serde(default)]
        as_node: Option<String>,
    },
    Forked {
        #[serde(default)]
        edit: Option<EditDocument>,
    },
    TimerFired {
        timer: Value,
    },
    CancelRequested {},
    KillRequested {},
    Continued {},
}

/// Reads a present field as `Some`, `null` included: only a missing field is `None`.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(reader).map(Some)
}

/// Builds a resume from one of the two forms of answers; more than one form is an error.
pub(super) fn resume(
    answer: Option<Value>,
    answers: BTreeMap<String, Value>,
    max_steps: Option<u64>,
    inputs: Option<Map<String, Value>>,
    update: Option<Map<String, Value>>,
) -> Result<Resume, Problem> {
    let answers = match (answer, answers.is_empty()) {
        (Some(answer), true) => Answers::Bare(answer),
        (None, false) => Answers::ById(answers),
        (None, true) => Answers::None,
        (Some(_), false) => {
            let message = "an event has one of `answer` and `answers`";
            return Err(Problem::new("invalid_json", message));
        }
    };
    Ok(Resume { answers, max_steps, inputs, update })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditDocument {
    values: Map<String, Value>,
    #[serde(default)]
    as_node: Option<String>,
}

impl From<EditDocument> for Edit {
    fn from(EditDocument { values, as_node }: EditDocument) -> Self {
        Self { values, as_node }
    }
}

/// Document of the result of an attempt, with either `outcome` or `failure`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportDocument {
    #[serde(default)]
    outcome: Option<Outcome>,
    #[serde(default)]
    failure: Option<Failure>,
    fuel: u64,
    #[serde(default)]
    work: u64,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    logs: Vec<LogLine>,
    #[serde(default)]
    events: Vec<CustomEventDocument>,
    #[serde(default)]
    journal: Vec<JournalEntry>,
    #[serde(default)]
    host: Option<HostUse>,
    #[serde(default)]
    lost: ModelUse,
    #[serde(default)]
    lost_models: BTreeMap<String, ModelUse>,
    #[serde(default)]
    timing: TimingDocument,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CustomEventDocument {
    name: String,
    payload: Value,
}

/// End, start and duration of an attempt.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimingDocument {
    #[serde(default)]
    at: Option<Timestamp>,
    #[serde(default)]
    began_micros: u64,
    #[serde(default)]
    took_micros: u64,
}

impl ReportDocument {
    pub(super) fn read(self) -> Result<TaskReport, Problem> {
        let result = match (self.outcome, self.failure) {
            (Some(outcome), None) => Ok(outcome),
            (None, Some(failure)) => Err(failure),
            _ => {
                let message = "a report has either an `outcome` or a `failure`";
                return Err(Problem::new("invalid_json", message));
            }
        };
        let is_too_deep = |value: &Value| json::depth(value) > json::MAX_DEPTH;
        let deep = match &result {
            Ok(Outcome::Result(value) | Outcome::Interrupt(value)) => is_too_deep(value),
            Ok(Outcome::Command { update, goto }) => {
                let arguments = goto.iter().filter_map(|goto| goto.argument.as_ref());
                update.values().chain(arguments).any(is_too_deep)
            }
            Err(_) => false,
        };
        if deep {
            let message = format!("an outcome nests deeper than {} levels", json::MAX_DEPTH);
            return Err(Problem::new("invalid_json", message));
        }
        let events = self.events.into_iter();
        Ok(TaskReport {
            result,
            fuel: self.fuel,
            work: self.work,
            warnings: self.warnings,
            logs: self.logs,
            events: events.map(|event| CustomEvent { name: event.name, payload: event.payload }).collect(),
            journal: self.journal,
            host: self.host,
            lost: self.lost,
            lost_models: self.lost_models,
            timing: Timing {
                at: self.timing.at,
                began: Duration::from_micros(self.timing.began_micros),
                took: Duration::from_micros(self.timing.took_micros),
            },
        })
    }
}

/// Document of a timer, whose field `kind` names the variant. [`read::tagged`] reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum TimerDocument {
    Retry { task: Arc<str>, attempt: u32 },
    RunTimeout {},
    ChildTimeout { namespace: Arc<str> },
}

impl From<TimerDocument> for TimerId {
    fn from(timer: TimerDocument) -> Self {
        match timer {
            TimerDocument::Retry { task, attempt } => Self::Retry { task, attempt },
            TimerDocument::RunTimeout {} => Self::RunTimeout,
            TimerDocument::ChildTimeout { namespace } => Self::ChildTimeout { namespace },
        }
    }
}
