//! Lines of a log. A commit is written as one line. Reading a line holds only the requested part of it in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::json::MeteredValue;
use graph_core::record::{ChannelValue, RecordKind, RecordSignature, SignedRecord};
use graph_core::trust::KeyId;
use graph_core::work::Meter;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::bounds::{self, LARGEST_READ, LARGEST_TEXT};
use crate::names::{self, BadName};
use crate::run::RunRow;
use crate::store::NumberedRecord;

/// Number of digits of the digest before a line's text.
pub(super) const DIGITS: usize = 64;
/// Offset of the text in a line: it follows the digest and a blank.
const TEXT: u64 = DIGITS as u64 + 1;
/// Maximum length of a line, in bytes: 2 GiB. A commit of the largest checkpoint contains a result three times: in the
/// record, in a channel value and in the run's row.
pub(super) const LONGEST: u64 = 2 << 30;
/// Maximum memory for a row without its texts, in bytes. Its fields are names and numbers.
const LARGEST_ROW: u64 = 64 << 20;
/// Maximum length of a line that is read into memory as a whole; a longer one is read from the file piece by piece.
const SHORT: u64 = 8 << 20;

/// A line to be written: the run's row after the commit, and the records of the commit.
#[derive(Debug, Serialize)]
pub(super) struct CommitLine<'a> {
    pub(super) row: &'a RunRow,
    pub(super) records: Vec<LineEntry<'a>>,
    /// Number of times that the log was rewritten. Only the first line has it.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) generation: u64,
    /// The notes about removed checkpoints, by namespace. Only the first line has them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) prunings: &'a [(String, String)],
    /// The run's epoch from this line on. The first line has it, and the line that a process writes when it acquires
    /// the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<u64>,
    /// The digest of the last record of the last commit. Only the first line of a log that was rewritten has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<Digest>,
}

impl<'a> CommitLine<'a> {
    /// Returns a line with nothing but the row.
    pub(super) const fn new(row: &'a RunRow) -> Self {
        Self { row, records: Vec::new(), generation: 0, prunings: &[], epoch: None, head: None }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A record to be written. The run is not repeated, because it is that of the log.
#[derive(Debug, Serialize)]
pub(super) struct LineEntry<'a> {
    kind: RecordKind,
    namespace: &'a str,
    sequence: u64,
    step: u64,
    task: &'a str,
    body: &'a str,
    digest: Digest,
    key_id: KeyId,
    signature: &'a RecordSignature,
    events: u64,
    /// Number of history entries before the record's own, if it cannot be derived from the lines before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    values: &'a [ChannelValue],
}

impl<'a> From<&'a SignedRecord> for LineEntry<'a> {
    fn from(record: &'a SignedRecord) -> Self {
        Self {
            kind: record.kind,
            namespace: &record.namespace,
            sequence: record.sequence,
            step: record.step,
            task: &record.task,
            body: &record.body,
            digest: record.digest,
            key_id: record.key_id,
            signature: &record.signature,
            events: record.events,
            before: None,
            values: &record.values,
        }
    }
}

impl<'a> From<&'a NumberedRecord> for LineEntry<'a> {
    fn from(numbered: &'a NumberedRecord) -> Self {
        Self { before: Some(numbered.before), ..Self::from(&numbered.record) }
    }
}

/// The reasons for which a line was not written.
#[derive(Debug)]
pub(super) enum LineError {
    /// It is longer than [`LONGEST`].
    TooLong,
    /// The file cannot be written.
    Failed(io::Error),
}

impl From<io::Error> for LineError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl CommitLine<'_> {
    /// Writes the line at a position of the file, and returns its length, line break included. The line break is
    /// written last: until then the line does not count.
    pub(super) fn write(&self, file: &mut (impl Write + Seek), at: u64) -> Result<u64, LineError> {
        file.seek(SeekFrom::Start(at))?;
        let texts =
            [&self.row.result, &self.row.error].into_iter().flatten().map(|text| bounds::length(text));
        let records = self.records.iter().map(|entry| {
            let values = entry.values.iter().map(|value| bounds::length(&value.json));
            values.fold(bounds::length(entry.body), u64::saturating_add)
        });
        if texts.chain(records).fold(0, u64::saturating_add) <= SHORT {
            let mut line = vec![b'0'; DIGITS];
            line.push(b' ');
            serde_json::to_writer(&mut line, self).map_err(io::Error::from)?;
            let digest = Digest::of_bytes(&line[DIGITS + 1..]).hex();
            line[..DIGITS].copy_from_slice(digest.as_bytes());
            line.push(b'\n');
            file.write_all(&line)?;
            return Ok(line.len() as u64);
        }
        file.write_all(&[b'0'; DIGITS])?;
        file.write_all(b" ")?;
        let (hasher, length) = {
            let inner = io::BufWriter::new(&mut *file);
            let mut out = HashingWriter { inner, hasher: Sha256::new(), length: 0 };
            serde_json::to_writer(&mut out, self).map_err(io::Error::from)?;
            out.flush()?;
            (out.hasher, out.length)
        };
        let length = TEXT + length + 1;
        if length > LONGEST {
            return Err(LineError::TooLong);
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(Digest::from_bytes(hasher.finalize().into()).hex().as_bytes())?;
        file.seek(SeekFrom::Start(at + length - 1))?;
        file.write_all(b"\n")?;
        Ok(length)
    }
}

/// Hashes and counts the bytes that it writes to an inner writer.
struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
    length: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The result of looking for a line at a position of a log.
pub(super) enum LineLookup {
    /// A line whose text has the stated digest.
    Line(LineText),
    /// Nothing, or a line without its line break, which was cut short.
    End,
    /// A line that differs from what was written, with the reason.
    Damaged(String),
}

/// A line that was found, and its text if that is in memory.
pub(super) struct LineText {
    /// The length of the line in bytes, line break included.
    pub(super) length: u64,
    /// The line without its line break, if it is short.
    held: Option<Vec<u8>>,
    at: u64,
}

/// Finds the line that begins at a position, and checks its digest.
pub(super) fn find(file: &mut File, at: u64) -> io::Result<LineLookup> {
    file.seek(SeekFrom::Start(at))?;
    let mut reader = BufReader::new(&mut *file);
    let mut line = Vec::new();
    Read::by_ref(&mut reader).take(SHORT).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        let length = line.len() as u64 + 1;
        let Some((digest, text)) = line.split_at_checked(DIGITS) else {
            return Ok(LineLookup::Damaged("a line is too short".to_owned()));
        };
        let Some((b' ', text)) = text.split_first() else {
            return Ok(LineLookup::Damaged("a line has no text".to_owned()));
        };
        if Digest::of_bytes(text).hex().as_bytes() != digest {
            return Ok(LineLookup::Damaged(CHANGED.to_owned()));
        }
        return Ok(LineLookup::Line(LineText { length, held: Some(line), at }));
    }
    if (line.len() as u64) < SHORT {
        return Ok(LineLookup::End);
    }
    if line.contains(&HOLE) {
        return end_in_hole(file, at);
    }
    // The digest is checked before any of the text is kept in memory.
    let mut hasher = Sha256::new();
    hasher.update(&line[DIGITS + 1..]);
    let mut length = line.len() as u64;
    line.truncate(DIGITS);
    line.shrink_to_fit();
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(LineLookup::End);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.unwrap_or(piece.len());
        if piece[..used].contains(&HOLE) {
            return end_in_hole(file, at);
        }
        hasher.update(&piece[..used]);
        reader.consume(used);
        length += used as u64;
        if length >= LONGEST {
            return Ok(too_long());
        }
        if end.is_some() {
            break;
        }
    }
    if Digest::from_bytes(hasher.finalize().into()).hex().as_bytes() != line {
        return Ok(LineLookup::Damaged(CHANGED.to_owned()));
    }
    Ok(LineLookup::Line(LineText { length: length + 1, held: None, at }))
}

/// A byte that no line contains, because JSON escapes it. A hole in a file consists of such bytes, however long it is.
pub(super) const HOLE: u8 = 0;

/// Classifies a long line with a [`HOLE`] without reading further. It was cut short, unless the file ends in a line
/// break or has more bytes than a line may have: then it is damaged.
fn end_in_hole(file: &mut File, at: u64) -> io::Result<LineLookup> {
    let length = file.seek(SeekFrom::End(0))?;
    if length.saturating_sub(at) >= LONGEST {
        return Ok(too_long());
    }
    let mut last = [HOLE];
    file.seek(SeekFrom::Start(length.saturating_sub(1)))?;
    file.read_exact(&mut last)?;
    Ok(if last == *b"\n" { LineLookup::Damaged(CHANGED.to_owned()) } else { LineLookup::End })
}

fn too_long() -> LineLookup {
    LineLookup::Damaged(format!("a line is longer than {} MiB", LONGEST >> 20))
}

const CHANGED: &str = "a line is not what its digest says";

impl LineText {
    /// Reports whether the line is in memory as a whole.
    pub(super) const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Deserializes the text with a seed. The error is the reason for which it cannot be read.
    fn read<S: for<'de> DeserializeSeed<'de, Value = T>, T>(
        &self,
        file: &mut File,
        seed: S,
    ) -> Result<T, String> {
        let told = |error: serde_json::Error| format!("a line cannot be read: {error}");
        if let Some(line) = &self.held {
            let mut text = serde_json::Deserializer::from_slice(&line[DIGITS + 1..]);
            let value = seed.deserialize(&mut text).map_err(told)?;
            return text.end().map(|()| value).map_err(told);
        }
        let length = self.length - TEXT - 1;
        let told_io = |error: io::Error| format!("a line cannot be read: {error}");
        file.seek(SeekFrom::Start(self.at + TEXT)).map_err(told_io)?;
        let mut text = serde_json::Deserializer::from_reader(BufReader::new(file.take(length)));
        let value = seed.deserialize(&mut text).map_err(told)?;
        text.end().map(|()| value).map_err(told)
    }

    /// Returns the line without its texts.
    pub(super) fn outline(&self, file: &mut File) -> Result<LineOutline, String> {
        let outline = self.read(file, std::marker::PhantomData::<LineOutline>)?;
        outline.check().map_err(|bad| bad.to_string())?;
        Ok(outline)
    }

    /// Returns the row with its texts.
    pub(super) fn row(&self, file: &mut File) -> Result<RunRow, String> {
        let row = self.read(file, std::marker::PhantomData::<RowOnly>)?.row;
        names::row(&row).map_err(|bad| bad.to_string())?;
        Ok(row)
    }

    /// Returns the records at these indices in the line, which have to rise.
    pub(super) fn records(
        &self,
        file: &mut File,
        run: &str,
        places: &[u32],
    ) -> Result<Vec<SignedRecord>, String> {
        let found = self.read(file, Picked(places))?;
        if found.len() != places.len() {
            return Err("a line has fewer records than it had".to_owned());
        }
        found.into_iter().map(|record| record.signed(run)).collect()
    }
}

/// A line without the texts of its row and of its records.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Outline")]
pub(super) struct LineOutline {
    pub(super) row: RowOutline,
    pub(super) records: Vec<EntryOutline>,
    #[serde(default)]
    pub(super) generation: u64,
    #[serde(default)]
    pub(super) prunings: Vec<(String, String)>,
    #[serde(default)]
    pub(super) epoch: Option<u64>,
    #[serde(default)]
    pub(super) head: Option<Digest>,
}

impl LineOutline {
    /// Checks the ids and names of the line. Later reads of the line rely on this check, because they locate everything
    /// by its outline.
    fn check(&self) -> Result<(), BadName> {
        names::row(&self.row.row)?;
        for (namespace, _) in &self.prunings {
            names::name("namespace", namespace)?;
        }
        for entry in &self.records {
            names::name("namespace", &entry.namespace)?;
            names::name("task", &entry.task)?;
            entry.values.iter().try_for_each(|value| names::name("channel", &value.channel))?;
        }
        Ok(())
    }
}

/// A row without its texts.
#[derive(Debug)]
pub(super) struct RowOutline {
    pub(super) row: RunRow,
    /// True if the line has a result or an error.
    pub(super) has_texts: bool,
}

impl<'de> Deserialize<'de> for RowOutline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RowOutline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the row of a run")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<RowOutline, A::Error> {
                let mut row = serde_json::Map::new();
                let meter = Meter::new(LARGEST_ROW);
                let mut has_texts = false;
                while let Some(name) = fields.next_key::<String>()? {
                    if name == "result" || name == "error" {
                        has_texts |= fields.next_value::<Option<IgnoredAny>>()?.is_some();
                    } else {
                        row.insert(name, fields.next_value_seed(MeteredValue(&meter))?);
                    }
                }
                let row = serde_json::from_value(row.into()).map_err(A::Error::custom)?;
                Ok(RowOutline { row, has_texts })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A record without its texts.
#[derive(Debug, Deserialize)]
pub(super) struct EntryOutline {
    pub(super) kind: RecordKind,
    pub(super) namespace: String,
    pub(super) sequence: u64,
    pub(super) step: u64,
    pub(super) task: String,
    pub(super) digest: Digest,
    pub(super) events: u64,
    #[serde(default)]
    pub(super) before: Option<u64>,
    pub(super) values: Vec<ValueOutline>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ValueOutline {
    pub(super) channel: String,
}

#[derive(Deserialize)]
struct RowOnly {
    row: RunRow,
}

/// A record in the form in which a line stores it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRecord {
    kind: RecordKind,
    namespace: String,
    sequence: u64,
    step: u64,
    task: String,
    body: Arc<str>,
    digest: Digest,
    key_id: KeyId,
    signature: RecordSignature,
    events: u64,
    #[serde(default, rename = "before")]
    _before: Option<u64>,
    values: Vec<ChannelValue>,
}

impl StoredRecord {
    fn signed(self, run: &str) -> Result<SignedRecord, String> {
        let texts = self.values.iter().map(|value| &value.json).chain([&self.body]);
        if texts.clone().any(|text| bounds::length(text) > LARGEST_TEXT) {
            return Err(format!("a text has more than {} MiB", LARGEST_TEXT >> 20));
        }
        if texts.map(|text| bounds::length(text)).fold(0, u64::saturating_add) > LARGEST_READ {
            return Err(format!("a record has more than {} MiB", LARGEST_READ >> 20));
        }
        let mut values = self.values;
        values
            .sort_unstable_by(|one, other| (&one.channel, one.version).cmp(&(&other.channel, other.version)));
        let record = SignedRecord {
            kind: self.kind,
            run: run.to_owned(),
            namespace: self.namespace,
            sequence: self.sequence,
            step: self.step,
            task: self.task,
            body: self.body,
            digest: self.digest,
            key_id: self.key_id,
            signature: self.signature,
            events: self.events,
            values,
            results: Vec::new(),
        };
        names::record(&record).map_err(|bad| bad.to_string())?;
        Ok(record)
    }
}

/// Deserializes the records of a line at these indices, and skips everything else.
struct Picked<'p>(&'p [u32]);

impl<'de> DeserializeSeed<'de> for Picked<'_> {
    type Value = Vec<StoredRecord>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Picked<'_> {
    type Value = Vec<StoredRecord>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of a log")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == "records" {
                found = fields.next_value_seed(PickedRecords(self.0))?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct PickedRecords<'p>(&'p [u32]);

impl<'de> DeserializeSeed<'de> for PickedRecords<'_> {
    type Value = Vec<StoredRecord>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for PickedRecords<'_> {
    type Value = Vec<StoredRecord>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut wanted) = (Vec::with_capacity(self.0.len()), self.0.iter().copied().peekable());
        for place in 0_u32.. {
            if wanted.next_if_eq(&place).is_some() {
                let Some(record) = records.next_element()? else { break };
                found.push(record);
            } else if records.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }
}
