//! Records that are read from a store.

use std::collections::BTreeMap;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::json;
use graph_core::record::{ChainVerifier, Checkpoint, Record, RecordKind, SignedRecord};
use graph_core::trust::VerifyingKey;
use graph_walker::walker::{
    Restored, RestoredChild, RestoredTree, inputs_digest, is_child_of, warnings_on, way_to,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Problem, read};

/// Document of a stored run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDocument {
    records: Vec<SignedRecord>,
    #[serde(default)]
    texts: Vec<StoredText>,
}

/// Text that records name by its digest: inputs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredText {
    pub(super) digest: Digest,
    pub(super) text: String,
}

/// Counts of intact records and texts.
#[derive(Debug, Serialize)]
pub(super) struct VerifiedCounts {
    checkpoints: usize,
    /// Records that are not checkpoints.
    records: usize,
    texts: usize,
}

/// All stored records and texts of a run.
#[derive(Debug)]
pub(super) struct StoredRun {
    /// Records by namespace, in the order in which they were stored, so that a pass over all namespaces visits each record once.
    records: BTreeMap<String, Vec<SignedRecord>>,
    /// Status records of child runs, of all namespaces in the order in which they were stored.
    stops: Vec<SignedRecord>,
    texts: BTreeMap<Digest, String>,
    key: VerifyingKey,
}

/// Checkpoints of a namespace with their record digests, each verified against its predecessors.
struct Line<'s> {
    records: Vec<&'s SignedRecord>,
    checkpoints: Vec<(Digest, Checkpoint)>,
}

/// Checks whether a text matches its digest, in one of the ways in which a run names texts.
fn is_named(digest: &Digest, text: &str) -> bool {
    let as_inputs = || {
        let value = read::value("text", text).ok()?;
        (json::canonical_string(&value) == text).then(|| inputs_digest(&value))
    };
    Digest::of_bytes(text.as_bytes()) == *digest
        || DomainHasher::new("graph-host/pins/v1").field(text.as_bytes()).finish() == *digest
        || as_inputs() == Some(*digest)
}

impl StoredRun {
    pub(super) fn read(text: &str, key: VerifyingKey) -> Result<Self, Problem> {
        let document: StoredDocument = read::document("stored run", text)?;
        let mut records: BTreeMap<String, Vec<SignedRecord>> = BTreeMap::new();
        let mut stops = Vec::new();
        for record in document.records {
            // Cached results are found by their keys, not by the record with which they were stored.
            let record = SignedRecord { results: Vec::new(), ..record };
            if record.kind == RecordKind::Status && !record.namespace.is_empty() {
                stops.push(record.clone());
            }
            records.entry(record.namespace.clone()).or_default().push(record);
        }
        Ok(Self {
            records,
            stops,
            texts: document.texts.into_iter().map(|text| (text.digest, text.text)).collect(),
            key,
        })
    }

    /// Verifies every record and text: the records are of this run, the signatures, digests, links and values of checkpoints are valid,
    /// and every other record is under a checkpoint of its namespace.
    pub(super) fn verify(&self, run: &str) -> Result<VerifiedCounts, Problem> {
        let mut verified = VerifiedCounts { checkpoints: 0, records: 0, texts: self.texts.len() };
        if let Some(record) = self.records.values().flatten().find(|record| record.run != run) {
            let (kind, sequence) = (record.kind.as_str(), record.sequence);
            let message = format!("the {kind} record {sequence} is of run {}, not of {run}", record.run);
            return Err(Problem::integrity(message));
        }
        if !self.records.contains_key("") {
            return Err(Problem::new("not_found", format!("nothing of run {run} was stored")));
        }
        for (namespace, records) in &self.records {
            let line = self.line(namespace)?;
            verified.checkpoints += line.records.len();
            for record in records {
                let under = match record.kind {
                    RecordKind::Checkpoint => continue,
                    _ => match record.open(&self.key).map_err(Problem::integrity)? {
                        Record::Task(task) => task.checkpoint,
                        Record::Answers(answers) => answers.checkpoint,
                        Record::Hook(hook) => hook.checkpoint,
                        Record::Status(status) => status.checkpoint,
                        Record::Checkpoint(_) => record.digest,
                    },
                };
                let above = line.records.binary_search_by_key(&record.sequence, |above| above.sequence);
                if !above.is_ok_and(|at| line.records[at].digest == under) {
                    let (kind, sequence) = (record.kind.as_str(), record.sequence);
                    let message =
                        format!("the {kind} record {sequence} of run {run} is not under a checkpoint of it");
                    return Err(Problem::integrity(message));
                }
                verified.records += 1;
            }
        }
        match self.texts.iter().find(|(digest, text)| !is_named(digest, text)) {
            Some((digest, _)) => Err(Problem::integrity(format!(
                "a text of run {run} was changed: its digest is not {digest}"
            ))),
            None => Ok(verified),
        }
    }

    /// Returns the newest state of the run and of its child runs, for a resume.
    pub(super) fn tree(&self) -> Result<RestoredTree, Problem> {
        let Some(root) = self.newest("")? else {
            return Err(Problem::new("not_found", "nothing of the run was stored: start it again"));
        };
        let mut parents = vec![root.checkpoint.clone()];
        let mut tree = RestoredTree::from(root);
        while let Some(parent) = parents.pop() {
            for namespace in self.records.keys().filter(|namespace| is_child_of(namespace, &parent)) {
                let Some(restored) = self.newest(namespace)? else { continue };
                let Some(inputs) = self.inputs(&restored.checkpoint)? else {
                    let message = format!("the inputs of the child run {namespace} are missing from `texts`");
                    return Err(Problem::integrity(message));
                };
                parents.push(restored.checkpoint.clone());
                let namespace = namespace.clone();
                tree.children.push(RestoredChild { namespace, inputs, restored, graph: None });
            }
        }
        Ok(tree)
    }

    /// Returns the inputs that a checkpoint names, if they were stored.
    pub(super) fn inputs(&self, checkpoint: &Checkpoint) -> Result<Option<Value>, Problem> {
        let Some(text) = self.texts.get(&checkpoint.inputs) else { return Ok(None) };
        read::value("inputs of the stored run", text).map(Some)
    }

    /// Returns the root run at one of its checkpoints, without pending records, and the nodes visited up to it.
    pub(super) fn at(&self, sequence: u64) -> Result<(Restored, Vec<String>), Problem> {
        let line = self.line("")?;
        let place = line.records.iter().position(|record| record.sequence == sequence);
        let Some(place) = place else {
            return Err(Problem::new("not_found", format!("the stored run has no checkpoint {sequence}")));
        };
        let visited = line.way_to(place)?;
        let visited =
            visited.iter().flat_map(|place| line.checkpoints[*place].1.visited.iter().cloned()).collect();
        Ok((line.restored(place)?, visited))
    }

    /// Returns the newest checkpoint of a namespace, with its pending records.
    fn newest(&self, namespace: &str) -> Result<Option<Restored>, Problem> {
        let line = self.line(namespace)?;
        let Some(last) = line.records.len().checked_sub(1) else { return Ok(None) };
        let mut restored = line.restored(last)?;
        for record in self.pending_under(namespace, restored.checkpoint.sequence) {
            match record.open(&self.key).map_err(Problem::integrity)? {
                Record::Task(task) if task.checkpoint == restored.digest => restored.pending.push(task),
                Record::Answers(answers) if answers.checkpoint == restored.digest => {
                    restored.answers.push(answers);
                }
                Record::Hook(hook) if hook.checkpoint == restored.digest => restored.hooks.push(hook),
                Record::Status(status) if status.checkpoint == restored.digest => {
                    let checked = restored.checkpoint.check_accepted(&status.accepted, self.key.id());
                    checked.map_err(Problem::integrity)?;
                    restored.status = Some(status);
                }
                _ => {
                    let kind = record.kind.as_str();
                    let message = format!("a {kind} record is not under the newest checkpoint of its run");
                    return Err(Problem::integrity(message));
                }
            }
        }
        Ok(Some(restored))
    }

    /// Returns the records under a checkpoint of a namespace, by kind and task.
    fn pending_under(&self, namespace: &str, sequence: u64) -> impl Iterator<Item = &SignedRecord> {
        // A newer record of the same kind and task replaces an older one.
        let mut pending = BTreeMap::new();
        let under = self
            .of(namespace)
            .filter(|record| record.kind != RecordKind::Checkpoint && record.sequence == sequence);
        for record in under {
            pending.insert((record.kind, record.task.as_str()), record);
        }
        pending.into_values()
    }

    /// Returns the checkpoints of all namespaces; those of a namespace are in order.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = &SignedRecord> {
        self.records.values().flatten().filter(|record| record.kind == RecordKind::Checkpoint)
    }

    /// Returns the records under the newest checkpoints of all namespaces.
    pub(super) fn pending(&self) -> impl Iterator<Item = &SignedRecord> {
        let newest = |records: &Vec<SignedRecord>| {
            let checkpoints = records.iter().filter(|record| record.kind == RecordKind::Checkpoint);
            checkpoints.map(|record| record.sequence).max()
        };
        let newest = move |(namespace, records)| Some((namespace, newest(records)?));
        self.records
            .iter()
            .filter_map(newest)
            .flat_map(|(namespace, at): (&String, _)| self.pending_under(namespace, at))
    }

    /// Returns the status records of child runs, in the order in which they were stored.
    pub(super) fn stops(&self) -> &[SignedRecord] {
        &self.stops
    }

    /// Returns the records of a namespace.
    fn of(&self, namespace: &str) -> impl Iterator<Item = &SignedRecord> {
        self.records.get(namespace).into_iter().flatten()
    }

    /// Verifies the checkpoints of a namespace.
    fn line(&self, namespace: &str) -> Result<Line<'_>, Problem> {
        let mut verifier = ChainVerifier::new(self.key);
        let (mut records, mut checkpoints) = (Vec::new(), Vec::new());
        for record in self.of(namespace).filter(|record| record.kind == RecordKind::Checkpoint) {
            let mut checkpoint = verifier.checkpoint(record).map_err(Problem::integrity)?;
            verifier.standing().clone().complete(&mut checkpoint);
            records.push(record);
            checkpoints.push((record.digest, checkpoint));
        }
        Ok(Line { records, checkpoints })
    }
}

impl Line<'_> {
    /// Returns the state of a run at a checkpoint, without pending records.
    fn restored(&self, at: usize) -> Result<Restored, Problem> {
        let (digest, checkpoint) = self.checkpoints[at].clone();
        let mut values = Vec::new();
        for (channel, stamp) in &checkpoint.channels {
            let written = self.records.iter().flat_map(|record| &record.values).filter(|value| {
                value.channel == *channel && (stamp.base..=stamp.version).contains(&value.version)
            });
            values.extend(written.cloned());
        }
        checkpoint.check_values(&values).map_err(Problem::integrity)?;
        let way = self.way_to(at)?;
        let (warnings, warned) = warnings_on(&self.checkpoints, &way);
        Ok(Restored {
            checkpoint,
            digest,
            values,
            pending: Vec::new(),
            answers: Vec::new(),
            hooks: Vec::new(),
            status: None,
            warnings,
            warned,
        })
    }

    /// Returns the indices of the checkpoints that lead to one of them.
    fn way_to(&self, at: usize) -> Result<Vec<usize>, Problem> {
        way_to(&self.checkpoints, at)
            .ok_or_else(|| Problem::integrity("an edit goes back to a checkpoint that was not stored"))
    }
}
