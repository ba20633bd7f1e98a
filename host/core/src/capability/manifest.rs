//! Capability manifests: the user's decision about what runs may use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::approvals::{IdSource, ItemRules, Verdict};
use super::dispatch::{DispatchPattern, DispatchPatterns};
use super::grant::{CapabilityKind, Mount};
use super::http::HttpRule;
use super::item::ItemPattern;
use super::model::ModelRule;
use super::reach::{KnowledgeRule, SecretRule};
use crate::digest::{Digest, DomainHasher};
use crate::id::without_version;
use crate::item::NodeCapabilities;
use crate::json;
use crate::limits::{RunLimits, TaskLimits};

/// A user's decision about the items that may be dispatched and about the grant of each. Everything else is denied, and the default denies
/// everything. No two entries for items are equally specific for the same item.
///
/// A copy shares the lists of the manifest: each child run has one.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub(super) dispatch: DispatchPatterns,
    pub(super) items: Arc<Vec<ItemEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) models: Arc<Vec<ModelRule>>,
    pub(super) limits: TaskLimits,
    pub(super) run: RunLimits,
    /// The restrictions by inputs and by a parent's nodes; empty for a manifest as it was written.
    #[serde(skip)]
    pub(super) narrowing: Narrowing,
    /// The sizes under `run` that the text states; none for a manifest that was not read from a text.
    #[serde(skip)]
    pub(super) stated_sizes: StatedSizes,
    /// The reason why graphs that a run has written itself are refused, whatever `dispatch` permits.
    #[serde(skip)]
    pub(super) refuses_written: Option<Arc<str>>,
}

/// The sizes under `run` that a manifest states, also those equal to the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StatedSizes {
    /// The results of one superstep, in bytes.
    pub results: Option<u64>,
    /// Stored data of the run, in bytes.
    pub stored: Option<u64>,
}

/// The restrictions of a manifest by the inputs of a run, and by the nodes above a child run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Narrowing {
    /// The kinds that remain; `None`: all.
    pub(super) kinds: Option<Vec<CapabilityKind>>,
    /// Limit on the memory of a task, in bytes.
    pub(super) memory: Option<u64>,
    /// The deepest level of child runs, counted from the run at the top.
    pub(super) depth: Option<u32>,
    /// The rules of each agent above about calls of items. They change no grant, so that `text` does not contain them.
    pub(super) rules: Vec<Arc<ItemRules>>,
    /// The digest of each restriction, in order.
    notes: Vec<Digest>,
    /// A digest over `notes` in order, which is equal for equal restrictions; empty without any.
    text: String,
}

impl Narrowing {
    /// Adds a restriction, and returns `true` if it is new. A graph that runs itself narrows only once, at any depth.
    fn note(&mut self, left: &Value) -> bool {
        let note = json::digest("graph-host/restriction/v1", left);
        let new = !self.notes.contains(&note);
        if new {
            self.notes.push(note);
            let all = DomainHasher::new("graph-host/narrowing/v1").field(self.text.as_bytes());
            self.text = all.field(note.to_string().as_bytes()).finish().to_string();
        }
        new
    }
}

/// The grants for items that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a key of the document")]
pub struct ItemEntry {
    /// The items to which the entry applies; only the most specific entry applies to an item.
    pub pattern: ItemPattern,
    /// The folders that are visible to the items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filesystem: Vec<ManifestMount>,
    /// `true` if the items may use the virtual clocks.
    #[serde(default)]
    pub clocks: bool,
    /// `true` if the items may use the seeded random numbers.
    #[serde(default)]
    pub random: bool,
    /// Requests that they may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpRule>,
    /// Secrets that they may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretRule>,
    /// Knowledge that they may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<KnowledgeRule>,
    /// `true` if the items may call other items, of those that may be dispatched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tools: bool,
    /// The language models that they may ask, by their names in the manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<String>,
    /// `true` if the items may be functions of the program that runs the graph, which nothing bounds: no signature, no sandbox, no fuel, no
    /// memory limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// The limits of their tasks.
    pub limits: TaskLimits,
}

/// A folder in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestMount {
    /// The path as it was written.
    pub written: String,
    /// The resolved folder.
    pub mount: Mount,
}

impl ItemEntry {
    /// Checks whether the entry grants something of this kind. Logging needs no entry.
    pub fn grants(&self, kind: CapabilityKind) -> bool {
        match kind {
            CapabilityKind::Log => true,
            CapabilityKind::Clocks => self.clocks,
            CapabilityKind::Random => self.random,
            CapabilityKind::Filesystem => !self.filesystem.is_empty(),
            CapabilityKind::Http => !self.http.is_empty(),
            CapabilityKind::Secrets => !self.secrets.is_empty(),
            CapabilityKind::Knowledge => !self.knowledge.is_empty(),
            CapabilityKind::Tools => self.tools,
            CapabilityKind::Model => !self.model.is_empty(),
        }
    }
}

impl Manifest {
    /// Creates the manifest that denies everything, which applies without a manifest.
    pub fn deny_all() -> Self {
        Self::default()
    }

    /// Creates a manifest for a graph whose items are all that these patterns permit: for cases with scripted items.
    pub fn of_dispatch(dispatch: DispatchPatterns) -> Self {
        Self { dispatch, ..Self::default() }
    }

    /// Returns this manifest with another list of permitted dispatches.
    #[must_use]
    pub fn with_dispatch(self, dispatch: DispatchPatterns) -> Self {
        Self { dispatch, ..self }
    }

    /// Returns the manifest of a child run: this one, narrowed by the node's `capabilities` and `memory`.
    #[must_use]
    pub fn narrowed(&self, node: Option<&NodeCapabilities>, memory: Option<u64>) -> Self {
        let patterns = node.and_then(|node| node.dispatch.as_ref());
        let mut narrowed = self.narrowed_to(patterns, None);
        if let Some(names) = node.and_then(|node| node.interfaces.as_ref()) {
            let kinds = &mut narrowed.narrowing.kinds;
            let left = CapabilityKind::ALL.into_iter().filter(|kind| {
                names.iter().any(|name| name == kind.as_str())
                    && kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
            });
            *kinds = Some(left.collect());
            narrowed.narrowing.note(&json!({ "interfaces": names }));
        }
        if let Some(memory) = memory.filter(|memory| self.narrowing.memory.is_none_or(|most| *memory < most))
        {
            narrowed.narrowing.memory = Some(memory);
            narrowed.narrowing.note(&json!({ "memory": memory }));
        }
        narrowed
    }

    /// Returns this manifest, narrowed by the inputs of a run: patterns of permitted dispatches, and the deepest level of child runs,
    /// counted from the root. Narrowing twice equals narrowing once.
    #[must_use]
    pub fn narrowed_to(&self, dispatch: Option<&DispatchPatterns>, deepest: Option<u32>) -> Self {
        let mut narrowed = self.clone();
        if let Some(patterns) = dispatch
            && narrowed.narrowing.note(&json!({ "dispatch": patterns.digest() }))
        {
            narrowed.dispatch = narrowed.dispatch.narrowed_by(patterns);
        }
        if let Some(deepest) = deepest.filter(|deepest| *deepest < self.run_limits().depth) {
            narrowed.narrowing.depth = Some(deepest);
            narrowed.narrowing.note(&json!({ "deepest": deepest }));
        }
        narrowed
    }

    /// Returns this manifest for the dispatches of an agent with these rules, which apply in addition to those of the agents above.
    #[must_use]
    pub fn with_rules(&self, rules: ItemRules) -> Self {
        let mut narrowed = self.clone();
        // An agent that starts itself adds its rules once.
        if !narrowed.narrowing.rules.iter().any(|known| **known == rules) {
            narrowed.narrowing.rules.push(Arc::new(rules));
        }
        narrowed
    }

    /// Returns the rules of each agent above about calls of items.
    pub fn rules(&self) -> &[Arc<ItemRules>] {
        &self.narrowing.rules
    }

    /// Returns the reason why the rules of an agent above cannot be read, if so.
    pub(super) fn unreadable_rules(&self) -> Option<&str> {
        self.narrowing.rules.iter().find_map(|rules| rules.unreadable())
    }

    /// Returns the strictest verdict of the agents above on a call of an item.
    pub fn verdict(&self, item: &str, source: IdSource) -> Verdict {
        let verdicts = self.narrowing.rules.iter().map(|rules| rules.verdict(item, source));
        verdicts.max().unwrap_or(Verdict::Allow)
    }

    /// Returns this manifest with the limits that a parent's task has left for its child run.
    #[must_use]
    pub fn with_run_limits(self, run: RunLimits) -> Self {
        Self { run, ..self }
    }

    /// Returns this manifest for a host that runs no graph which a run has written itself: `reason` is a sentence without its full stop.
    #[must_use]
    pub fn without_written_graphs(self, reason: &str) -> Self {
        Self { refuses_written: Some(reason.into()), ..self }
    }

    /// Returns the reason why graphs that a run has written itself are refused, if they are.
    pub fn refusal_of_written(&self) -> Option<&str> {
        self.refuses_written.as_deref()
    }

    /// Returns a text that is the same for the same restrictions by inputs and by the nodes above a child run; empty for the
    /// manifest as it was written.
    pub fn narrowing(&self) -> &str {
        &self.narrowing.text
    }

    /// Returns the permitted dispatches.
    pub fn dispatch(&self) -> &DispatchPatterns {
        &self.dispatch
    }

    /// Returns the entries about items, in document order.
    pub fn items(&self) -> &[ItemEntry] {
        &self.items
    }

    /// Returns the entry that applies to an item: the most specific one that covers it. A version is ignored.
    pub fn entry_for(&self, item_id: &str) -> Option<&ItemEntry> {
        let id = without_version(item_id);
        self.items
            .iter()
            .filter(|entry| entry.pattern.matches(&id))
            .max_by_key(|entry| entry.pattern.specificity())
    }

    /// Returns the language models that the manifest names, in document order.
    pub fn models(&self) -> &[ModelRule] {
        &self.models
    }

    /// Checks whether an item may use a model that the manifest names; without an item, whether any item may.
    pub fn grants_model(&self, name: &str, item_id: Option<&str>) -> bool {
        let grants = |entry: &ItemEntry| entry.model.iter().any(|granted| granted == name);
        let granted = match item_id {
            Some(item_id) => self.entry_for(item_id).is_some_and(grants),
            None => self.items.iter().any(grants),
        };
        granted && self.models.iter().any(|model| model.name == name)
    }

    /// Returns the language models that an item may use, in the order of its entry.
    pub(super) fn models_for(&self, item_id: &str) -> impl Iterator<Item = &ModelRule> {
        let names = self.entry_for(item_id).map_or(&[][..], |entry| &entry.model);
        // Most entries name no model: the map is built only if one does.
        let known: BTreeMap<&str, &ModelRule> = match names {
            [] => BTreeMap::new(),
            _ => self.models.iter().map(|model| (model.name.as_str(), model)).collect(),
        };
        names.iter().filter_map(move |name| known.get(name.as_str()).copied())
    }

    /// Checks whether an item may be a function of the program that runs the graph, at a node with these `capabilities`. A node whose
    /// interfaces are narrowed, by itself or by a node above, runs no such function: the host cannot enforce that on it.
    pub fn permits_unsandboxed(&self, item_id: &str, node: Option<&NodeCapabilities>) -> bool {
        let is_narrowed =
            self.narrowing.kinds.is_some() || node.is_some_and(|node| node.interfaces.is_some());
        !is_narrowed && self.entry_for(item_id).is_some_and(|entry| entry.unsandboxed)
    }

    /// Returns the limits of a task of an item.
    pub fn limits_for(&self, item_id: &str) -> TaskLimits {
        let limits = self.entry_for(item_id).map_or(self.limits, |entry| entry.limits);
        TaskLimits { memory: limits.memory.min(self.narrowing.memory.unwrap_or(u64::MAX)), ..limits }
    }

    /// Returns the sizes under `run` that the text of the manifest states.
    pub const fn stated_sizes(&self) -> StatedSizes {
        self.stated_sizes
    }

    /// Returns the limits of a whole run.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn run_limits(&self) -> RunLimits {
        let depth = self.run.depth.min(self.narrowing.depth.unwrap_or(u32::MAX));
        RunLimits { depth, ..self.run }
    }

    /// Returns the number of levels of child runs that the manifest itself allows, without the restrictions by inputs.
    pub fn written_depth(&self) -> u32 {
        self.run.depth
    }

    /// Returns the manifest as JSON, for the snapshot that a run keeps; serde reads it back.
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    /// Returns the digest of the manifest's meaning, independent of its layout; relative paths count as the folders that they resolve to.
    pub fn digest(&self) -> Digest {
        json::digest("graph-host/manifest/v1", &self.meaning().to_json())
    }

    /// Returns the manifest without its paths as written.
    fn meaning(&self) -> Self {
        let mut meaning = self.clone();
        for mount in Arc::make_mut(&mut meaning.items).iter_mut().flat_map(|entry| &mut entry.filesystem) {
            mount.written.clear();
        }
        meaning
    }

    fn items_by_pattern(&self) -> BTreeMap<&str, &ItemEntry> {
        self.items.iter().map(|entry| (entry.pattern.as_str(), entry)).collect()
    }

    /// Lists the differences from another manifest, one line each.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (before, after) = (&self.meaning(), &other.meaning());
        let mut lines = Vec::new();
        // Untrusted stored manifests may have many entries.
        let (before_items, after_items) = (before.items_by_pattern(), after.items_by_pattern());
        for (sign, one, two, theirs) in
            [("removed", before, after, &after_items), ("added", after, before, &before_items)]
        {
            let known: BTreeSet<&str> = two.dispatch.iter().map(DispatchPattern::as_str).collect();
            for pattern in one.dispatch.iter().filter(|pattern| !known.contains(pattern.as_str())) {
                lines.push(format!("dispatch {sign}: {pattern}"));
            }
            for entry in one.items.iter().filter(|entry| !theirs.contains_key(entry.pattern.as_str())) {
                lines.push(format!("items {sign}: {}", entry.pattern));
            }
        }
        for entry in before.items.iter() {
            if after_items.get(entry.pattern.as_str()).is_some_and(|known| *known != entry) {
                lines.push(format!("items changed: {}", entry.pattern));
            }
        }
        for (sign, one, two) in [("removed", before, after), ("added", after, before)] {
            let known: BTreeMap<&str, &ModelRule> =
                two.models.iter().map(|model| (model.name.as_str(), model)).collect();
            for model in one.models.iter() {
                match known.get(model.name.as_str()) {
                    None => lines.push(format!("models {sign}: {}", model.name)),
                    Some(known) if *known != model && sign == "added" => {
                        lines.push(format!("models changed: {}", model.name));
                    }
                    Some(_) => {}
                }
            }
        }
        if before.limits != after.limits {
            lines.push("limits changed".to_owned());
        }
        if before.run != after.run {
            lines.push("run limits changed".to_owned());
        }
        if lines.is_empty() && before.digest() != after.digest() {
            lines.push("the order of entries changed".to_owned());
        }
        lines
    }
}
