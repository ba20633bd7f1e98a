//! Exports and imports whole runs as files, so that other machines can check and continue them.
//!
//! A file is JSON lines (one JSON value a line, UTF-8):
//!
//! 1. `{"format": "graph-host/run", "version": 3, "run_id", "key"}`: `key` is the public key of the host that made the
//!    run, in PEM.
//! 2. `{"row": {…}}`: the run's entry in `runs list`. It has no signature of its own.
//! 3. `{"text": {"digest", "text"}}` for each text that the run keeps: the graph, the manifest, the inputs, its pins.
//! 4. `{"pruning": {"namespace", "note"}}` for each namespace whose first checkpoints were removed: the signed note.
//! 5. `{"record": {…}}` for each record, namespace by namespace: checkpoints in order, each with the channel values that it
//!    changed and followed by the pauses of the run there, then pending records. `body` is the text that is digested and
//!    signed, `signature` that of a [`RecordSignature`]; `before` is the number of entries of the run's history before its own.
//! 6. `{"end": {"lines", "digest", "key_id", "signature"}}`: the number of lines before it, the SHA-256 of their bytes, and
//!    the signature over that digest by the host that wrote the file, if that host made the run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::sync::Arc;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::json::{self, TreeLimit};
use graph_core::record::{ChannelValue, RecordKind, RecordSignature, SignedRecord};
use graph_core::trust::{KeyId, Signature, SigningKey, VerifyingKey};
use graph_store::{
    CheckpointStore, ImportError, LARGEST_NAME, LARGEST_SNAPSHOT, NewRun, NumberedRecord, RunRow, Snapshot,
    SqliteOptions, SqliteStore, Upkeep,
};
use graph_walker::document::document_digest;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::history::archive_error::{ArchiveError, Damage};
use crate::history::verify::{Audit, audit};
use crate::run::restore;
use crate::run::start_note::RunStart;

const FORMAT: &str = "graph-host/run";
pub(super) const VERSION: u32 = 3;
/// The previous version: each record has a signature of its own.
const SIGNED_ONE_BY_ONE: u32 = 2;
/// The first version: it lacks earlier pauses, and its entries get new numbers when it is imported.
const WITHOUT_NUMBERS: u32 = 1;
const DOMAIN: &str = "graph-host/export/v1";
/// Default limit of all texts of a run together, in bytes: they are held in memory until the run is stored. Each of
/// them has at most [`LARGEST_SNAPSHOT`].
pub const LARGEST_TEXTS: u64 = 2 * LARGEST_SNAPSHOT;
/// Beginning of the lines of each kind, and the limit of their length, in bytes. A text takes at most two bytes for
/// each of its own as a JSON string, since its only control characters are line ends; records of more than
/// [`TreeLimit::RECORD`] are not read.
const LONGEST_LINES: [(&str, u64); 4] = [
    ("{\"text\":", 2 * LARGEST_SNAPSHOT + SHORT_LINE),
    ("{\"pruning\":", 2 * (LARGEST_SNAPSHOT + LARGEST_NAME) + SHORT_LINE),
    ("{\"record\":", TreeLimit::RECORD.most()),
    ("{\"row\":", TreeLimit::RECORD.most()),
];
/// Limit of the lines of other kinds, the first and the last, in bytes.
const SHORT_LINE: u64 = 64 << 10;
/// Number of bytes that suffices to tell the kind of a line.
const BEGINNING: u64 = 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    run_id: String,
    /// Public key in PEM; absent if the exporting host does not have it.
    key: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<R> {
    Row(Box<RunRow>),
    Text { digest: Digest, text: String },
    Pruning { namespace: String, note: String },
    Record(Box<R>),
    End { lines: u64, digest: Digest, key_id: Option<KeyId>, signature: Option<Signature> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine<B> {
    kind: RecordKind,
    namespace: String,
    sequence: u64,
    step: u64,
    task: String,
    digest: Digest,
    key_id: KeyId,
    signature: RecordSignature,
    body: B,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    values: Vec<ChannelValue>,
}

/// The line of a record without its long texts, which are skipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the other fields are known and have to be there")]
struct RecordPlace {
    kind: RecordKind,
    namespace: IgnoredAny,
    sequence: u64,
    step: u64,
    task: IgnoredAny,
    digest: Digest,
    key_id: KeyId,
    signature: RecordSignature,
    body: IgnoredAny,
    #[serde(default)]
    before: Option<u64>,
    values: IgnoredAny,
}

/// Line to write.
type WrittenLine = Line<RecordLine<Arc<str>>>;
/// Record line to store.
type ReadRecord = Line<RecordLine<Box<str>>>;

/// Writes lines, and computes their number and digest.
struct Writer<'w> {
    out: &'w mut dyn Write,
    lines: u64,
    digest: DomainHasher,
}

impl Writer<'_> {
    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(value).map_err(ArchiveError::Encode)?;
        text.push(b'\n');
        self.out.write_all(&text).map_err(ArchiveError::Write)?;
        self.lines += 1;
        self.digest = self.digest.clone().field(&text);
        Ok(())
    }
}

/// Writes a run, and returns the number of its records. The caller has verified the run.
pub fn write(
    store: &dyn CheckpointStore,
    row: &RunRow,
    identity: &SigningKey,
    out: &mut dyn Write,
) -> Result<u64> {
    let key = if row.key == identity.id() {
        identity.verifying_key().to_pem().ok()
    } else {
        store.snapshot(&Digest::from_bytes(*row.key.as_bytes()))?
    };
    let mut writer = Writer { out, lines: 0, digest: DomainHasher::new(DOMAIN) };
    writer.line(&Header { format: FORMAT.to_owned(), version: VERSION, run_id: row.run_id.clone(), key })?;
    writer.line(&WrittenLine::Row(Box::new(RunRow { pid: None, ..row.clone() })))?;
    for digest in restore::texts(store, row)? {
        // The header already contains the key. The note of the start counts for this host only.
        if digest != Digest::from_bytes(*row.key.as_bytes())
            && digest != RunStart::of(row).digest()
            && let Some(text) = store.snapshot(&digest)?
        {
            writer.line(&WrittenLine::Text { digest, text })?;
        }
    }
    let namespaces = store.namespaces(&row.run_id)?;
    for namespace in &namespaces {
        if let Some(note) = store.pruning(&row.run_id, namespace)? {
            writer.line(&WrittenLine::Pruning { namespace: namespace.clone(), note })?;
        }
    }
    let history_numbers = HistoryNumbers::of(store, &row.run_id)?;
    let mut records = 0;
    let mut record = |record: &SignedRecord, before: Option<u64>| {
        records += 1;
        writer.line(&WrittenLine::Record(Box::new(record_line(record, before))))
    };
    for namespace in &namespaces {
        let mut pauses = history_numbers.pauses.get(namespace).into_iter().flatten().copied().peekable();
        let pause =
            |before: u64, record: &mut dyn FnMut(&SignedRecord, Option<u64>) -> Result<()>| match store
                .status_at(&row.run_id, before)?
            {
                Some(found) => record(&found, Some(before)),
                None => Err(ArchiveError::EntryGone { before, run: row.run_id.clone() }.into()),
            };
        restore::each_with_values(store, &row.run_id, namespace, |checkpoint| {
            while let Some((_, before)) = pauses.next_if(|(sequence, _)| *sequence < checkpoint.sequence) {
                pause(before, &mut record)?;
            }
            record(checkpoint, history_numbers.before(&checkpoint.digest))
        })?;
        for (_, before) in pauses {
            pause(before, &mut record)?;
        }
        restore::each_pending(store, &row.run_id, namespace, |pending| {
            if history_numbers.before(&pending.digest).is_none() { record(&pending, None) } else { Ok(()) }
        })?;
    }
    let (lines, digest) = (writer.lines, writer.digest.clone().finish());
    let own = row.key == identity.id();
    writer.line(&WrittenLine::End {
        lines,
        digest,
        key_id: own.then(|| identity.id()),
        signature: own.then(|| identity.sign_digest(DOMAIN, &digest)),
    })?;
    Ok(records)
}

/// Positions of the records of a run's history among its entries.
#[derive(Default)]
struct HistoryNumbers {
    /// Number of entries before each record, by the first half of the record's digest, in order.
    numbers: Vec<(u128, u64)>,
    /// Status records by namespace, in order: the number of their checkpoint, and the number of entries before them.
    pauses: BTreeMap<String, Vec<(u64, u64)>>,
}

impl HistoryNumbers {
    fn of(store: &dyn CheckpointStore, run: &str) -> Result<Self> {
        let mut history_numbers = Self::default();
        restore::each_of_history(store, run, 0, |NumberedRecord { before, record }| {
            history_numbers.numbers.push((half(&record.digest), before));
            if record.kind == RecordKind::Status {
                history_numbers.pauses.entry(record.namespace).or_default().push((record.sequence, before));
            }
            Ok(())
        })?;
        history_numbers.numbers.sort_unstable();
        Ok(history_numbers)
    }

    fn before(&self, digest: &Digest) -> Option<u64> {
        let place = self.numbers.binary_search_by_key(&half(digest), |(half, _)| *half).ok()?;
        self.numbers.get(place).map(|(_, before)| *before)
    }
}

/// Returns the first half of a digest: no two records share one.
fn half(digest: &Digest) -> u128 {
    let (half, _) = digest.as_bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_be_bytes(*half)
}

fn record_line(record: &SignedRecord, before: Option<u64>) -> RecordLine<Arc<str>> {
    RecordLine {
        kind: record.kind,
        namespace: record.namespace.clone(),
        sequence: record.sequence,
        step: record.step,
        task: record.task.clone(),
        digest: record.digest,
        key_id: record.key_id,
        signature: record.signature.clone(),
        body: Arc::clone(&record.body),
        before,
        values: record.values.clone(),
    }
}

fn signed(run: &str, line: RecordLine<Box<str>>) -> Result<(Option<u64>, SignedRecord)> {
    let before = line.before;
    let mut record = SignedRecord {
        kind: line.kind,
        run: run.to_owned(),
        namespace: line.namespace,
        sequence: line.sequence,
        step: line.step,
        task: line.task,
        body: line.body.into(),
        digest: line.digest,
        key_id: line.key_id,
        signature: line.signature,
        events: 0,
        values: line.values,
        results: Vec::new(),
    };
    record.events = record.decode().map_err(ArchiveError::Record)?.event_count();
    Ok((before, record))
}

/// A run that was read from a file and verified. Its records are not stored yet: they are in a temporary file, so that
/// they need not be held in memory.
#[derive(Debug)]
pub struct Archive {
    new: NewRun,
    records: Records,
    prunings: Vec<(String, String)>,
    /// The key that verified the records.
    pub key: VerifyingKey,
    /// `true` if the key came with the file, so that no one else has confirmed its owner.
    pub carried: bool,
    /// `true` if the host that made the run has signed the whole file, including the row.
    pub row_is_signed: bool,
    /// The result of the verification.
    pub audit: Audit,
}

impl Archive {
    /// The run's row, as `runs list` shows it.
    pub fn row(&self) -> &RunRow {
        &self.new.row
    }

    /// Stores the run, all or nothing.
    pub fn store(&self, store: &dyn Upkeep) -> Result<()> {
        self.records.import(store, &self.new, &self.prunings)?.map_err(Error::from)
    }
}

/// The lines of records, in a temporary file that is removed when this is dropped.
#[derive(Debug)]
struct Records {
    run: String,
    file: File,
    /// `true` if some records have no numbers, as before entries were numbered: all records get new ones.
    anew: bool,
}

impl Records {
    fn new(run: &str) -> Result<Self> {
        Ok(Self { run: run.to_owned(), file: tempfile::tempfile().map_err(spool)?, anew: false })
    }

    /// Keeps a record's line in the temporary file.
    fn keep(&mut self, out: &mut BufWriter<File>, place: &RecordPlace, text: &[u8]) -> Result<()> {
        let may_be_history = matches!(place.kind, RecordKind::Checkpoint | RecordKind::Status);
        if place.before.is_none() && may_be_history && !self.anew {
            self.anew = signed(&self.run, record_of(text)?)?.1.events > 0;
        }
        Ok(out.write_all(text).map_err(spool)?)
    }

    /// Passes the records to a store. The outer result is that of the temporary file, the inner one that of the store.
    fn import(
        &self,
        store: &dyn Upkeep,
        new: &NewRun,
        prunings: &[(String, String)],
    ) -> Result<std::result::Result<(), ImportError>> {
        let mut file = &self.file;
        file.rewind().map_err(spool)?;
        let mut lines = BufReader::new(file);
        let mut entries = 0_u64;
        let mut next = || -> Result<Option<NumberedRecord>> {
            let mut text = Vec::new();
            lines.read_until(b'\n', &mut text).map_err(spool)?;
            if text.is_empty() {
                return Ok(None);
            }
            let line = record_of(&text)?;
            drop(text);
            let (before, record) = signed(&self.run, line)?;
            let next = entries;
            entries = entries.saturating_add(record.events);
            Ok(Some(NumberedRecord { before: before.filter(|_| !self.anew).unwrap_or(next), record }))
        };
        let mut failed = None;
        let imported = {
            let mut records = std::iter::from_fn(|| match next() {
                Ok(numbered) => numbered.map(Ok),
                Err(error) => {
                    let reason = error.message().to_owned();
                    failed = Some(error);
                    Some(Err(ImportError::Source { reason }))
                }
            });
            store.import_run(new, &mut records, prunings)
        };
        failed.map_or(Ok(imported), Err)
    }
}

fn spool(source: io::Error) -> ArchiveError {
    ArchiveError::Spool { source }
}

/// Parses the line of a record.
fn record_of(text: &[u8]) -> Result<RecordLine<Box<str>>> {
    match json::read(text, TreeLimit::RECORD) {
        Ok(ReadRecord::Record(line)) => Ok(*line),
        Ok(_) => Err(ArchiveError::NoRecord.into()),
        Err(error) => Err(ArchiveError::RecordLine(error).into()),
    }
}

/// Reads and verifies a file: with the given key, or else with the key in the file. All its texts together may have `most_texts` bytes.
pub fn read(file: &mut dyn BufRead, given: Option<VerifyingKey>, most_texts: u64) -> Result<Archive> {
    let mut lines = Lines { file, number: 0, digest: DomainHasher::new(DOMAIN), most_texts };
    let header: Header = lines.header()?;
    let named = header.key.as_deref().and_then(|pem| VerifyingKey::parse(pem).ok());
    if let (Some(given), Some(named)) = (given, named)
        && given.id() != named.id()
    {
        let (named, given) = (named.id(), given.id());
        return Err(ArchiveError::OtherKey { run: header.run_id, named, given }.into());
    }
    let (key, carried) = match (given, &header.key) {
        (Some(key), _) => (key, false),
        (None, Some(pem)) => (VerifyingKey::parse(pem).map_err(ArchiveError::Key)?, true),
        (None, None) => return Err(ArchiveError::NoKey.into()),
    };
    let (mut row, mut snapshots, mut prunings) = (None, Vec::new(), Vec::new());
    let mut records = Records::new(&header.run_id)?;
    let mut out = BufWriter::new(records.file.try_clone().map_err(spool)?);
    let mut bytes = 0_u64;
    let row_is_signed = loop {
        let (before, digest) = (lines.number, lines.digest.clone().finish());
        let (line, text) = lines.line()?;
        match line {
            Line::Row(found) if row.is_none() => row = Some(*found),
            Line::Row(_) => return Err(lines.damaged(Damage::SecondRow)),
            Line::Text { digest, text } => {
                bytes = lines.held(bytes, text.len())?;
                snapshots.push(check_text(digest, text)?);
            }
            Line::Pruning { namespace, note } => {
                bytes = lines.held(bytes, namespace.len() + note.len())?;
                prunings.push((namespace, note));
            }
            Line::Record(place) => records.keep(&mut out, &place, &text)?,
            Line::End { lines: count, digest: said, key_id, signature } => {
                if (count, said) != (before, digest) {
                    return Err(lines.damaged(Damage::Changed));
                }
                break match (key_id, signature) {
                    (None, None) => false,
                    (Some(id), Some(signature))
                        if id == key.id() && key.verify_digest(DOMAIN, &digest, &signature) =>
                    {
                        true
                    }
                    _ => return Err(lines.damaged(Damage::Signature)),
                };
            }
        }
    };
    out.flush().map_err(spool)?;
    lines.expect_end()?;
    let row = row.ok_or_else(|| lines.damaged(Damage::NoRow))?;
    if row.run_id != header.run_id {
        return Err(lines.damaged(Damage::OtherRow));
    }
    row.check_names().map_err(ArchiveError::Name)?;
    let pem = key.to_pem().map_err(ArchiveError::UnwritableKey)?;
    snapshots.push(Snapshot { digest: Digest::from_bytes(*key.id().as_bytes()), text: pem.into() });
    let new = NewRun { row: RunRow { pid: None, ..row }, snapshots };
    // The run is verified in a temporary database, apart from other runs and not in memory.
    let folder = tempfile::tempdir().map_err(spool)?;
    let trial = SqliteStore::open(&folder.path().join("trial.db"), SqliteOptions::default())?;
    records.import(&trial, &new, &prunings)?.map_err(ArchiveError::Trial)?;
    let audit = audit(&trial, &new.row, &key, None)?;
    // Texts that no record names do not belong in the file.
    let named = restore::texts(&trial, &new.row)?;
    let NewRun { row, mut snapshots } = new;
    snapshots.retain(|snapshot| named.contains(&snapshot.digest));
    Ok(Archive { new: NewRun { row, snapshots }, records, prunings, key, carried, row_is_signed, audit })
}

/// Checks that a text matches its digest, by one of the digests that runs name texts by.
fn check_text(digest: Digest, text: String) -> Result<Snapshot> {
    // Only the digest of a graph is not that of its text: it leaves out the description.
    let is_graph = || {
        let value: Value = json::read(&text, TreeLimit::DOCUMENT).ok()?;
        (json::canonical_string(&value) == text).then(|| document_digest(&value) == digest)
    };
    let as_key = || VerifyingKey::parse(&text).ok().map(|key| Digest::from_bytes(*key.id().as_bytes()));
    if restore::is_text_of(&digest, &text) || as_key() == Some(digest) || is_graph() == Some(true) {
        return Ok(Snapshot { digest, text: text.into() });
    }
    Err(ArchiveError::Text(digest).into())
}

/// Reads lines, and computes their number and digest.
struct Lines<'f> {
    file: &'f mut dyn BufRead,
    number: u64,
    digest: DomainHasher,
    most_texts: u64,
}

impl Lines<'_> {
    /// Reads the next line with its line end; empty at the end of the file.
    fn next(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut most = BEGINNING;
        for is_beginning in [true, false] {
            let left = most.saturating_sub(line.len() as u64);
            (&mut *self.file).take(left).read_until(b'\n', &mut line).map_err(ArchiveError::Read)?;
            if line.is_empty() || line.last() == Some(&b'\n') {
                break;
            }
            if is_beginning {
                // The beginning of a line shows its kind before the rest is read.
                let known = LONGEST_LINES.iter().find(|(begins, _)| line.starts_with(begins.as_bytes()));
                most = known.map_or(SHORT_LINE, |(_, most)| *most);
            } else if line.len() as u64 >= most {
                self.number += 1;
                return Err(self.damaged(Damage::LongLine(most)));
            } else {
                return Err(self.damaged(Damage::PartOfLine));
            }
        }
        self.digest = self.digest.clone().field(&line);
        self.number += 1;
        Ok(line)
    }

    /// Adds a text of `length` bytes to the bytes held so far; an error beyond a limit.
    fn held(&self, bytes: u64, length: usize) -> Result<u64> {
        /// Memory for a text in addition to its bytes.
        const OVERHEAD: u64 = 128;
        let bytes = bytes.saturating_add(length as u64 + OVERHEAD);
        if length as u64 > LARGEST_SNAPSHOT {
            return Err(self.damaged(Damage::LongText(LARGEST_SNAPSHOT >> 20)));
        }
        if bytes > self.most_texts {
            return Err(ArchiveError::Texts { mebibytes: self.most_texts >> 20 }.into());
        }
        Ok(bytes)
    }

    fn header(&mut self) -> Result<Header> {
        let foreign = || Error::from(ArchiveError::Foreign);
        let line = self.next().map_err(|error| match error.kind() {
            crate::error::Kind::Integrity => foreign(),
            _ => error,
        })?;
        let value: Value = json::read(&line, TreeLimit::NOTE).map_err(|_| foreign())?;
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(foreign());
        }
        let version = value.get("version").cloned().unwrap_or_default();
        if ![WITHOUT_NUMBERS, SIGNED_ONE_BY_ONE, VERSION].iter().any(|known| version == *known) {
            return Err(ArchiveError::Version(version).into());
        }
        Ok(serde_json::from_value(value).map_err(ArchiveError::Header)?)
    }

    /// Reads and parses the next line; returns it with its bytes.
    fn line(&mut self) -> Result<(Line<RecordPlace>, Vec<u8>)> {
        let line = self.next()?;
        if line.is_empty() {
            self.number -= 1;
            return Err(self.damaged(Damage::CutOff));
        }
        match json::read(&line, TreeLimit::RECORD) {
            Ok(read) => Ok((read, line)),
            Err(error) => Err(self.damaged(Damage::Unreadable(error))),
        }
    }

    fn expect_end(&mut self) -> Result<()> {
        if self.next()?.is_empty() { Ok(()) } else { Err(self.damaged(Damage::Trailing)) }
    }

    fn damaged(&self, damage: Damage) -> Error {
        ArchiveError::Damaged { line: self.number, damage }.into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::remedy::Remedy;

    fn lines(file: &mut dyn BufRead) -> Lines<'_> {
        Lines { file, number: 0, digest: DomainHasher::new(DOMAIN), most_texts: LARGEST_TEXTS }
    }

    #[test]
    fn a_line_is_as_long_as_its_kind_may_be() {
        let long =
            |begins: &str, bytes: u64| io::Cursor::new(begins.to_owned()).chain(io::repeat(b'x')).take(bytes);
        for begins in ["{\"format\":", "{\"end\":", "{\"other\":", "[", "x", "\"", " {\"record\":"] {
            let mut file = BufReader::new(long(begins, SHORT_LINE + 100));
            let refused = lines(&mut file).next().unwrap_err();
            assert!(refused.message().contains("at most 65536 bytes"), "{begins}: {refused}");
            assert!(file.buffer().len() <= 8 << 10, "{begins}");
            let mut file = BufReader::new(long(begins, SHORT_LINE - 1));
            let refused = lines(&mut file).next().unwrap_err();
            assert!(refused.message().contains("ends within a line"), "{begins}: {refused}");
        }
        for (begins, most) in LONGEST_LINES {
            let mut file = BufReader::new(long(begins, SHORT_LINE + 100).chain(&b"\n{}\n"[..]));
            let mut lines = lines(&mut file);
            let line = lines.next().unwrap();
            assert_eq!(line.len() as u64, SHORT_LINE + 101);
            assert_eq!((lines.next().unwrap(), lines.next().unwrap()), (b"{}\n".to_vec(), Vec::new()));
            assert!(begins.len() < 16 && most <= TreeLimit::RECORD.most());
        }
    }

    #[test]
    fn texts_are_held_up_to_a_limit() {
        let mut nothing = io::empty();
        let mut lines = lines(&mut nothing);
        let largest = usize::try_from(LARGEST_SNAPSHOT).unwrap();
        let one = lines.held(0, largest).unwrap();
        let refused = lines.held(0, largest + 1).unwrap_err();
        assert!(refused.message().contains("more than 128 MiB"), "{refused}");
        // Two texts of the largest size exceed the limit of all together, because of the overhead of each.
        let refused = lines.held(one, largest).unwrap_err();
        assert_eq!(refused.kind(), crate::error::Kind::Limit);
        assert_eq!(refused.remedy(), Some(&Remedy::RaiseTextLimit { mebibytes: 1024 }), "{refused}");
        lines.most_texts = 1 << 30;
        let two = lines.held(one, largest).unwrap();
        assert!(two > 2 * LARGEST_SNAPSHOT);
        assert!(lines.held(u64::MAX, 1).is_err());
    }

    #[test]
    fn the_place_of_a_record_is_read_and_its_texts_are_not() {
        let whole = r#"{"record":{"kind":"status","namespace":"n","sequence":1,"step":1,"task":"","digest":"@","key_id":"#;
        assert!(json::read::<Line<RecordPlace>>(whole, TreeLimit::RECORD).is_err());
        for missing in ["{\"record\":{}}", "{\"record\":[]}", "{\"record\":{\"body\":1}}"] {
            assert!(json::read::<Line<RecordPlace>>(missing, TreeLimit::RECORD).is_err(), "{missing}");
            assert!(record_of(missing.as_bytes()).is_err(), "{missing}");
        }
    }
}
