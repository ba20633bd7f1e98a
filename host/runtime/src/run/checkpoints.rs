//! Finds checkpoints, opens them and walks back from them without reading the whole history of their run. `runs verify`
//! checks the whole history.

use std::collections::VecDeque;

use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    ChainError, ChainReader, Checkpoint, CheckpointPlace, CheckpointSelector, CheckpointWindow, Landmarks,
    Pruning, Record, SignedPruning, SignedRecord, Source, TrustedCheckpoint,
};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointPosition, CheckpointStore};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::remedy::Remedy;
use crate::run::restore;

/// Number of checkpoints that are read at a time.
const PAGE: usize = 256;

/// The checkpoints of a namespace, and the beginning of their history.
#[derive(Clone, Copy, Debug)]
pub struct Line<'s> {
    store: &'s dyn CheckpointStore,
    run: &'s str,
    namespace: &'s str,
    /// The key that checks the records. Without it, as for a run of another host, they can be shown, but nothing can be
    /// resumed from them.
    key: Option<&'s VerifyingKey>,
    begins: Option<&'s Pruning>,
}

/// Reads the note about the removed checkpoints of a namespace, if there are any. It is checked if there is a key.
pub fn begins(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: Option<&VerifyingKey>,
) -> Result<Option<Pruning>> {
    let Some(note) = store.pruning(run, namespace)? else { return Ok(None) };
    match key {
        Some(key) => SignedPruning::open(&note, key, run, namespace)
            .map(Some)
            .map_err(|error| Error::integrity(error.to_string()).caused_by(error)),
        None => Ok(SignedPruning::decode(&note).ok()),
    }
}

impl<'s> Line<'s> {
    /// Makes a reader of the checkpoints of a namespace; `begins` is the result of [`begins`] for it.
    pub const fn new(
        store: &'s dyn CheckpointStore,
        run: &'s str,
        namespace: &'s str,
        key: Option<&'s VerifyingKey>,
        begins: Option<&'s Pruning>,
    ) -> Self {
        Self { store, run, namespace, key, begins }
    }

    /// Returns the newest checkpoint, if there is one.
    pub fn newest(&self) -> Result<Option<SignedRecord>> {
        Ok(self.store.checkpoint(self.run, self.namespace, CheckpointPosition::Latest)?)
    }

    /// Opens a checkpoint: checks its signature, and the links between it and the checkpoints that it builds on.
    /// Assembles its channels and counts from those and compares them with the digests that it names.
    pub fn open(&self, record: &SignedRecord) -> Result<TrustedCheckpoint> {
        let broken = |sequence, error| self.broken(sequence, &error);
        let mut stretch = CheckpointWindow::up_to(record, self.key, self.begins)
            .map_err(|error| broken(record.sequence, error))?;
        let mut before = self.before(record.sequence);
        while let Some(below) = stretch.wants_below() {
            let Some(record) = before.earlier()? else { return Err(broken(below, stretch.missing())) };
            stretch.take(&record).map_err(|error| broken(record.sequence, error))?;
        }
        stretch.finish().map_err(|error| broken(record.sequence, error))
    }

    /// Finds the checkpoint that a selector names. A node is searched for from the newest checkpoint back.
    pub fn find(&self, place: &CheckpointSelector) -> Result<SignedRecord> {
        let at = |at| self.store.checkpoint(self.run, self.namespace, at);
        let found = match place {
            CheckpointSelector::Newest => at(CheckpointPosition::Latest)?,
            CheckpointSelector::Sequence(sequence) => at(CheckpointPosition::Sequence(*sequence))?,
            CheckpointSelector::Step(step) => self.of_step(*step)?,
            CheckpointSelector::Node(node) => self.before_node(node)?,
        };
        match found {
            Some(found) => Ok(found),
            None => Err(self.lack(place)?),
        }
    }

    /// Makes the error of a search without result, which lists the existing checkpoints.
    fn lack(&self, place: &CheckpointSelector) -> Result<Error> {
        let mut landmarks = Landmarks::after(self.begins);
        self.each(|record| {
            landmarks.add(&decode(record)?);
            Ok(())
        })?;
        Ok(Error::not_found(format!("run {}: {}", self.run, landmarks.lack(place)))
            .help(Remedy::ListCheckpoints { run: self.run.to_string() }))
    }

    /// Finds the newest checkpoint that a run of this superstep made; if no superstep made one, the newest of this step.
    fn of_step(&self, step: u64) -> Result<Option<SignedRecord>> {
        let Some(newest) = self.newest()? else { return Ok(None) };
        // A superstep increments both numbers, everything else only that of the checkpoint: so their difference never decreases.
        let first = step;
        let mut last = step.saturating_add(newest.sequence.saturating_sub(newest.step));
        let mut without_superstep = None;
        while let Some(found) = self.store.checkpoint(
            self.run,
            self.namespace,
            CheckpointPosition::StepWithin { step, first, last },
        )? {
            let checkpoint = decode(&found)?;
            if checkpoint.step != step {
                return Err(Error::integrity(format!(
                    "checkpoint {} of run {} is stored as that of step {step}, and is of step {}",
                    found.sequence, self.run, checkpoint.step
                )));
            }
            let is_boundary =
                matches!(checkpoint.source, Source::Input | Source::Superstep | Source::Fork { .. });
            let below = found.sequence.checked_sub(1);
            if is_boundary {
                return Ok(Some(found));
            }
            without_superstep.get_or_insert(found);
            match below {
                Some(below) => last = below,
                None => break,
            }
        }
        Ok(without_superstep)
    }

    /// Finds the newest checkpoint in which a node is next.
    fn before_node(&self, node: &str) -> Result<Option<SignedRecord>> {
        let Some(mut record) = self.newest()? else { return Ok(None) };
        let broken = |sequence, error| self.broken(sequence, &error);
        let (mut reader, mut checkpoint) = ChainReader::from_signed(&record, self.key, self.begins)
            .map_err(|error| broken(record.sequence, error))?;
        let mut before = self.before(record.sequence);
        loop {
            if checkpoint.next.iter().any(|next| next.node == node) {
                return Ok(Some(record));
            }
            if !reader.has_earlier() {
                return Ok(None);
            }
            let Some(earlier) = before.earlier()? else { return Err(broken(reader.at(), reader.missing())) };
            record = earlier;
            checkpoint = reader.earlier(&record).map_err(|error| broken(record.sequence, error))?;
        }
    }

    /// Returns all warnings up to a checkpoint, and the newest checkpoint that raised some. Each such checkpoint names
    /// the one before it; those of release 0.1.0 do not, so all of those are read.
    pub fn warnings(&self, trusted: &TrustedCheckpoint) -> Result<(Vec<String>, Option<CheckpointPlace>)> {
        let broken = |sequence, error| self.broken(sequence, &error);
        let mut lists: Vec<Vec<String>> = Vec::new();
        let mut reader = ChainReader::before(trusted, self.begins);
        let mut warned = trusted.warned;
        let mut link = trusted.warned;
        let mut last = trusted.checkpoint.clone();
        while last.version > 1
            && let Some(place) = link.filter(|place| self.is_left(place.sequence))
        {
            if place.sequence < last.sequence {
                let record = self.store.checkpoint(
                    self.run,
                    self.namespace,
                    CheckpointPosition::Sequence(place.sequence),
                )?;
                let Some(record) = record else { return Err(broken(last.sequence, reader.missing())) };
                reader.go_to(place);
                last = reader.earlier(&record).map_err(|error| broken(record.sequence, error))?;
            }
            link = last.warned;
            lists.push(std::mem::take(&mut last.warnings));
        }
        if last.version == 1 {
            if !last.warnings.is_empty() {
                lists.push(std::mem::take(&mut last.warnings));
            }
            let way = self.back_from(reader, restored(&last), |sequence, digest, warnings| {
                if !warnings.is_empty() {
                    warned.get_or_insert(CheckpointPlace { digest, sequence });
                    lists.push(warnings);
                }
            });
            way?;
        }
        lists.extend(self.begins.map(|begins| begins.warnings.clone()));
        Ok((lists.into_iter().rev().flatten().collect(), warned))
    }

    /// Returns the spans of checkpoints that lead to a checkpoint, without those that an update went back from.
    pub fn way_to(&self, record: &SignedRecord) -> Result<Way> {
        let (reader, checkpoint) = ChainReader::from_signed(record, self.key, self.begins)
            .map_err(|error| restore::broken(self.run, record.sequence, &error))?;
        let spans = self.back_from(reader, restored(&checkpoint), |_, _, _| {})?;
        Ok(Way { spans })
    }

    /// Walks back to the beginning, and returns the spans of sequence numbers on the way, oldest first. Every
    /// checkpoint but the reader's first one is passed to `visit`: its number, its digest and its warnings.
    fn back_from(
        &self,
        mut reader: ChainReader,
        mut restored: Option<CheckpointPlace>,
        mut visit: impl FnMut(u64, Digest, Vec<String>),
    ) -> Result<Vec<(u64, u64)>> {
        let broken = |sequence, error| self.broken(sequence, &error);
        let (mut spans, mut last) = (Vec::new(), reader.at());
        let mut before = self.before(reader.at());
        loop {
            if let Some(place) = restored.filter(|place| self.is_left(place.sequence)) {
                spans.push((reader.at(), last));
                last = place.sequence;
                reader.go_to(place);
                before = self.before(place.sequence.saturating_add(1));
            }
            if !reader.has_earlier() {
                spans.push((reader.at(), last));
                spans.reverse();
                return Ok(spans);
            }
            let Some(record) = before.earlier()? else { return Err(broken(reader.at(), reader.missing())) };
            let link = reader.earlier_link(&record).map_err(|error| broken(record.sequence, error))?;
            restored = link.restored();
            visit(record.sequence, record.digest, link.warnings);
        }
    }

    /// Checks that the host has not removed the checkpoint with this number.
    fn is_left(&self, sequence: u64) -> bool {
        self.begins.is_none_or(|begins| sequence >= begins.first_sequence)
    }

    /// Visits all checkpoints from the newest one back. Only the newest one's signature is checked: each of the others
    /// is confirmed by the digest in its successor.
    pub fn each_back(&self, mut visit: impl FnMut(&Checkpoint, Digest) -> Result<()>) -> Result<()> {
        let Some(newest) = self.newest()? else { return Ok(()) };
        let broken = |sequence, error| self.broken(sequence, &error);
        let (mut reader, checkpoint) = ChainReader::from_signed(&newest, self.key, self.begins)
            .map_err(|error| broken(newest.sequence, error))?;
        visit(&checkpoint, newest.digest)?;
        let mut before = self.before(newest.sequence);
        while reader.has_earlier() {
            let Some(record) = before.earlier()? else { return Err(broken(reader.at(), reader.missing())) };
            let checkpoint = reader.earlier(&record).map_err(|error| broken(record.sequence, error))?;
            visit(&checkpoint, record.digest)?;
        }
        match before.earlier()? {
            // A checkpoint before the first one is not part of the history.
            Some(record) => Err(broken(record.sequence, reader.missing())),
            None => Ok(()),
        }
    }

    /// Visits the checkpoints in order, without their values.
    pub fn each(&self, visit: impl FnMut(&SignedRecord) -> Result<()>) -> Result<()> {
        restore::each_checkpoint(self.store, self.run, self.namespace, visit)
    }

    /// Returns the checkpoints before a number, newest first.
    pub fn before(&self, sequence: u64) -> Before<'s> {
        Before { line: *self, number: sequence, page: VecDeque::new(), size: FIRST_PAGE }
    }

    /// Makes the error of a damaged checkpoint. If two do not follow each other, it names the later one.
    fn broken(&self, sequence: u64, error: &ChainError) -> Error {
        let about = if let ChainError::Parent { sequence } = error { *sequence } else { sequence };
        restore::broken(self.run, about, error)
    }
}

/// Decodes a checkpoint without checking it: it is opened before it is built on.
fn decode(record: &SignedRecord) -> Result<Checkpoint> {
    match restore::open_record(record, None)? {
        Record::Checkpoint(checkpoint) => Ok(*checkpoint),
        _ => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
    }
}

fn restored(checkpoint: &Checkpoint) -> Option<CheckpointPlace> {
    match checkpoint.source {
        Source::Update { restored, .. } => restored,
        _ => None,
    }
}

/// Size of the first page that is read backwards: few checkpoints build on more than this.
const FIRST_PAGE: usize = 32;

/// Iterates over the checkpoints before a number, newest first.
#[derive(Debug)]
pub struct Before<'s> {
    line: Line<'s>,
    number: u64,
    page: VecDeque<SignedRecord>,
    size: usize,
}

impl Before<'_> {
    /// Returns the next earlier checkpoint, if there is one.
    pub fn earlier(&mut self) -> Result<Option<SignedRecord>> {
        if self.page.is_empty() {
            self.page = self.read()?.into();
            self.size = self.size.saturating_mul(2).min(PAGE);
        }
        let Some(record) = self.page.pop_front() else { return Ok(None) };
        self.number = record.sequence;
        Ok(Some(record))
    }

    fn read(&self) -> Result<Vec<SignedRecord>> {
        let Line { store, run, namespace, .. } = self.line;
        let read = |size| store.checkpoints_before(run, namespace, Some(self.number), size);
        match read(self.size) {
            // Up to a damaged checkpoint, checkpoints are read one at a time.
            Err(_) if self.size > 1 => Ok(read(1)?),
            read => Ok(read?),
        }
    }
}

/// The checkpoints that lead to a checkpoint, as spans of sequence numbers in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    spans: Vec<(u64, u64)>,
}

impl Way {
    /// Computes the way to the checkpoint with the number `last` in a history that begins with `first`. `updates` are
    /// the updates that went back, in order: the number of each, and that of the checkpoint that it restored.
    pub fn to_checkpoint(first: u64, last: u64, updates: &[(u64, u64)]) -> Self {
        let (mut spans, mut last, mut updates) = (Vec::new(), last, updates);
        loop {
            let until = updates.partition_point(|(update, _)| *update <= last);
            updates = &updates[..until];
            match updates.last() {
                // An update can only restore a checkpoint before its own.
                Some((update, restored)) if (first..*update).contains(restored) => {
                    spans.push((*update, last));
                    last = *restored;
                }
                Some(_) => updates = &updates[..updates.len() - 1],
                None => break,
            }
        }
        spans.push((first, last));
        spans.reverse();
        Self { spans }
    }

    /// Passes the nodes visited on the way to `visit`, in order.
    pub fn each_visited(&self, line: &Line<'_>, visit: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        /// Part of a checkpoint with the visited nodes.
        #[derive(Deserialize)]
        struct Visited {
            visited: Vec<String>,
        }
        if let Some(begins) = line.begins {
            begins.visited.iter().try_for_each(|node| visit(node))?;
        }
        for (first, last) in &self.spans {
            let mut after = first.checked_sub(1);
            while after.is_none_or(|after| after < *last) {
                let page = line.store.checkpoints_alone(line.run, line.namespace, after, PAGE)?;
                let Some(newest) = page.last() else { break };
                after = Some(newest.sequence);
                for record in page.iter().filter(|record| record.sequence <= *last) {
                    let found: Visited = json::read(&*record.body, TreeLimit::RECORD).map_err(|error| {
                        let (sequence, run) = (record.sequence, line.run);
                        Error::integrity(format!(
                            "checkpoint {sequence} of run {run} cannot be read: {error}"
                        ))
                    })?;
                    found.visited.iter().try_for_each(|node| visit(node))?;
                }
            }
        }
        Ok(())
    }
}

/// Passes the names of nodes to a callback, one at a time.
pub type Names<'n> = dyn FnMut(&mut dyn FnMut(&str) -> Result<()>) -> Result<()> + 'n;

/// Returns the nodes visited on the way to the newest checkpoint of a run, in order, in the form that documents take.
pub fn visited<'s>(
    store: &'s dyn CheckpointStore,
    run: &'s str,
    key: Option<VerifyingKey>,
) -> Box<Names<'s>> {
    Box::new(move |visit| each_visited(store, run, key.as_ref(), visit))
}

/// Number of checkpoints that are read at once to measure a history.
const MEASURED: usize = 16;

/// Checks whether the checkpoints of a run have more than `most` bytes. No more than that and some checkpoints are read.
pub fn are_larger_than(store: &dyn CheckpointStore, run: &str, most: u64) -> Result<bool> {
    let (mut after, mut size) = (None, 0_u64);
    loop {
        let page = store.checkpoints_alone(run, "", after, MEASURED)?;
        let Some(last) = page.last() else { return Ok(false) };
        after = Some(last.sequence);
        size = page.iter().fold(size, |size, record| size.saturating_add(record.body.len() as u64));
        if size > most {
            return Ok(true);
        }
    }
}

fn each_visited(
    store: &dyn CheckpointStore,
    run: &str,
    key: Option<&VerifyingKey>,
    visit: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let begins = begins(store, run, "", key)?;
    let line = Line::new(store, run, "", key, begins.as_ref());
    match line.newest()? {
        Some(newest) => line.way_to(&newest)?.each_visited(&line, visit),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
