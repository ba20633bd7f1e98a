//! The file of a transcript, and its signature.
//!
//! A file is JSON lines (one JSON value a line, UTF-8, each object with its keys in order):
//!
//! 1. `{"format": "graph-host/transcript", "graph", "key_id", "kind": "header", "namespace", "run_id", "version": 1}`: `key_id` is the
//!    key of the host that made the run.
//! 2. `{"kind": "message", "number", "conversation", …}` for each message, in order.
//! 3. `{"kind": "end", "messages", "conversations", "calls", "used", …}`: the totals of the messages.
//!
//! The signature is a file next to it, `FILE.dsse.json`: a DSSE envelope around a
//! [`TranscriptStatement`](graph_core::trust::TranscriptStatement) with the digest of the file.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write};
use std::path::Path;

use graph_core::digest::{Digest, PieceHasher};
use graph_core::json::canonical_string;
use graph_core::json::{self, TreeLimit};
use graph_core::time::Timestamp;
use graph_core::trust::{
    KeyId, MAX_TRANSCRIPT_ENVELOPE, SigningKey, TranscriptError, TranscriptStatement, VerifyingKey,
};
use graph_store::RunRow;
use serde_json::{Value, json};

use super::message::{Message, Totals};
use super::reader::Transcript;
use crate::error::{Error, Result};
use crate::items::locate::envelope_path;
use crate::project::user_home::{is_stream, sync_folder, write_atomic};
use crate::project::{BaseFolder, text_file};
use crate::remedy::Remedy;

/// The format that the first line of a transcript names.
pub const FORMAT: &str = "graph-host/transcript";
/// The version of the format.
pub const VERSION: u32 = 1;
/// Limit of the first line, in bytes.
const LONGEST_HEADER: u64 = 64 << 10;
/// Number of bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Makes the first line of a transcript.
pub fn header_line(row: &RunRow, namespace: &str) -> Value {
    json!({
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "run_id": row.run_id,
        "namespace": namespace,
        "graph": row.graph_id,
        "key_id": row.key,
    })
}

/// Makes the line of a message.
pub fn message_line(message: &Message) -> Value {
    of_kind("message", message.to_json())
}

/// Makes the last line of a transcript.
pub fn end_line(totals: &Totals) -> Value {
    of_kind("end", totals.to_json())
}

fn of_kind(kind: &str, mut value: Value) -> Value {
    value["kind"] = kind.into();
    value
}

/// Writes the lines of a transcript, and returns its totals.
pub fn write(transcript: &Transcript<'_>, row: &RunRow, out: &mut dyn Write) -> Result<Totals> {
    let mut line = |value: &Value| {
        let text = canonical_string(value) + "\n";
        out.write_all(text.as_bytes()).map_err(|error| {
            Error::storage(format!("the transcript cannot be written: {error}")).caused_by(error)
        })
    };
    line(&header_line(row, transcript.namespace))?;
    let totals = transcript.read(&mut |message| line(&message_line(message)))?;
    line(&end_line(&totals))?;
    Ok(totals)
}

/// A transcript that was written to a file and signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its totals.
    pub totals: Totals,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub digest: Digest,
}

/// Writes a transcript to a file, whole or not at all, and its signature next to it.
pub fn save(
    transcript: &Transcript<'_>,
    row: &RunRow,
    path: &Path,
    base: &BaseFolder,
    key: &SigningKey,
    at: Timestamp,
) -> Result<Saved> {
    if is_stream(path) || path.is_dir() {
        let what = if path.is_dir() { "a folder" } else { "no regular file" };
        return Err(Error::usage(format!(
            "{} is {what}, and the signature of a transcript is a file next to it",
            base.show(path)
        ))
        .help(Remedy::NameTranscriptFile));
    }
    let failed = |error: &io::Error| Error::write("the transcript", path, error);
    // The target of a link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let (totals, digest, bytes) = {
        let mut out =
            Counted { out: BufWriter::new(file.as_file_mut()), hasher: PieceHasher::default(), bytes: 0 };
        let totals = write(transcript, row, &mut out)?;
        out.flush().map_err(|error| failed(&error))?;
        (totals, out.hasher.finish(), out.bytes)
    };
    let run = name(row, transcript.namespace);
    let statement = TranscriptStatement { at, bytes, digest, messages: totals.messages, run };
    let envelope = statement.sign(key).map_err(|error| Error::storage(error.to_string()).caused_by(error))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(mode).map_err(|error| failed(&error))?;
    }
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    file.persist(&target).map_err(|error| failed(&error.error))?;
    sync_folder(&target).map_err(|error| failed(&error))?;
    let beside = envelope_path(path);
    write_atomic(&beside, envelope.as_bytes(), false)
        .map_err(|error| Error::write("the signature of the transcript", &beside, &error))?;
    Ok(Saved { totals, bytes, digest })
}

/// Returns the id of a run, or of a child run.
fn name(row: &RunRow, namespace: &str) -> String {
    if namespace.is_empty() { row.run_id.clone() } else { format!("{}/{namespace}", row.run_id) }
}

/// Counts and digests the written bytes.
struct Counted<W> {
    out: W,
    hasher: PieceHasher,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.add(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A transcript with a valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedTranscript {
    /// The signed statement of the host.
    pub statement: TranscriptStatement,
    /// The key that signed it.
    pub key: KeyId,
    /// The graph that its first line names.
    pub graph: String,
}

/// Checks whether a file begins as a transcript does. A file that cannot be read does not.
pub fn is_transcript(path: &Path) -> bool {
    text_file::open(path).is_ok_and(|file| header(&mut BufReader::new(file)).is_some())
}

/// Reads the first line of a transcript.
fn header(file: &mut impl io::BufRead) -> Option<Value> {
    let mut line = Vec::new();
    file.take(LONGEST_HEADER).read_until(b'\n', &mut line).ok()?;
    let value: Value = json::read(&line, TreeLimit::NOTE).ok()?;
    (value.get("format").and_then(Value::as_str) == Some(FORMAT)).then_some(value)
}

/// Checks the signature of a transcript. `key` returns the public key of a host, if it is known here.
pub fn verify(
    path: &Path,
    envelope: Option<&Path>,
    base: &BaseFolder,
    key: impl Fn(KeyId) -> Option<VerifyingKey>,
) -> Result<VerifiedTranscript> {
    let named = base.show(path);
    let beside = envelope.map_or_else(|| envelope_path(path), Path::to_path_buf);
    let text = read_envelope(&beside)?.ok_or_else(|| {
        Error::integrity(format!("{named} is not signed: {} does not exist", base.show(&beside)))
            .help(Remedy::SignTranscript)
    })?;
    let (statement, key) = TranscriptStatement::verify(&text, key).map_err(|error| {
        let refused = Error::integrity(format!("{}: {error}", base.show(&beside)));
        match error {
            TranscriptError::UnknownKey(_) => refused.help(Remedy::TrustTranscripts),
            _ => refused,
        }
    })?;
    let failed = |error: &io::Error| Error::read("the transcript", path, error);
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let (mut hasher, mut bytes, mut piece) = (PieceHasher::default(), 0_u64, vec![0; PIECE]);
    let mut head = Vec::new();
    loop {
        let count = file.read(&mut piece).map_err(|error| failed(&error))?;
        if count == 0 {
            break;
        }
        hasher.add(&piece[..count]);
        if bytes < LONGEST_HEADER {
            head.extend_from_slice(&piece[..count]);
        }
        bytes += count as u64;
    }
    if bytes != statement.bytes || hasher.finish() != statement.digest {
        return Err(Error::integrity(format!(
            "{named} is not the transcript that was signed: it was changed since {}",
            statement.at
        )));
    }
    let header = header(&mut head.as_slice()).unwrap_or_default();
    let version = header.get("version").cloned().unwrap_or_default();
    if version != VERSION {
        return Err(Error::integrity(format!(
            "{named} has format version {version}, and this program reads version {VERSION}"
        ))
        .help("read it with the version of graph-host that has written it, or a newer one"));
    }
    let graph = header.get("graph").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(VerifiedTranscript { statement, key, graph })
}

fn read_envelope(path: &Path) -> Result<Option<String>> {
    let failed = |error: &io::Error| Error::read("the signature of the transcript", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let mut text = String::new();
    // One byte more than the limit shows that the envelope is too long.
    let most = MAX_TRANSCRIPT_ENVELOPE as u64 + 1;
    file.take(most).read_to_string(&mut text).map_err(|error| failed(&error))?;
    Ok(Some(text))
}
