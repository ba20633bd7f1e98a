//! Files as streams of bytes. Regular files are always ready.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use graph_core::record::journal::digested;
use serde_json::{Value, json};
use wasmtime_wasi::p2::Pollable;
use wasmtime_wasi::p2::{InputStream, OutputStream, StreamError, StreamResult};

use super::OpenFile;
use super::error::code_of;
use super::recorded::{TYPES, bytes_again, code_named};
use crate::bindings::wasi::filesystem::types::ErrorCode;
use crate::journal::{AnswerSource, RecordedAnswer, SharedJournal};
use crate::state::GrantedResources;

/// Largest number of bytes that one call reads or writes.
pub(super) const MAX_CHUNK: usize = 1 << 20;

/// Size of the largest file that a component may create, in bytes. A sparse file takes no room, but its readers' time.
pub(super) const MAX_FILE: u64 = 1 << 30;

/// Reads at an offset; the file's own position is not used.
#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        result => result,
    }
}

/// Writes at a position.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

/// A failure of a stream, with the same text and code on every host.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{}", .0.name())]
pub(super) struct StreamFault(pub(super) ErrorCode);

fn failed(code: ErrorCode) -> StreamError {
    StreamError::LastOperationFailed(StreamFault(code).into())
}

/// Lets the outside world answer a stream and records the answer, or lets the journal answer.
fn answered<T>(
    journal: &SharedJournal,
    function: &'static str,
    request: Value,
    world: impl FnOnce() -> io::Result<(T, Value)>,
    again: impl FnOnce(&RecordedAnswer, &Value) -> wasmtime::Result<T>,
) -> StreamResult<T> {
    match journal.begin(TYPES, function, &request).map_err(StreamError::Trap)? {
        AnswerSource::World => match world() {
            Ok((answer, kept)) => {
                journal.record(TYPES, function, request, Ok(kept)).map_err(StreamError::Trap)?;
                Ok(answer)
            }
            Err(error) => {
                let code = code_of(&error);
                let kept = Value::from(code.name());
                journal.record(TYPES, function, request, Err(kept)).map_err(StreamError::Trap)?;
                Err(failed(code))
            }
        },
        AnswerSource::Recorded(kept) => match kept.answer() {
            Ok(answer) => again(&kept, answer).map_err(StreamError::Trap),
            Err(code) => match code_named(code) {
                Some(code) => Err(failed(code)),
                None => Err(StreamError::Trap(journal.malformed(&kept))),
            },
        },
    }
}

/// Reads a file from a position on.
pub(super) struct FileReader {
    pub(super) file: OpenFile,
    pub(super) position: u64,
    pub(super) granted: Arc<GrantedResources>,
    pub(super) journal: SharedJournal,
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let length = size.min(MAX_CHUNK);
        let (path, position) = (self.file.path.as_str(), self.position);
        let bytes = answered(
            &self.journal,
            "input-stream.read",
            json!({"path": path, "offset": position, "length": length}),
            || {
                let mut buffer = vec![0; length];
                let count = read_at(self.file.handle()?, &mut buffer, position)?;
                buffer.truncate(count);
                let kept = self.journal.content(&buffer);
                Ok((buffer, kept))
            },
            |kept, answer| bytes_again(&self.journal, kept, answer, &self.granted.mounts, (path, position)),
        )?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.into())
    }
}

/// Writes a file from a position on, or always at its end.
pub(super) struct FileWriter {
    pub(super) file: OpenFile,
    pub(super) position: Option<u64>,
    pub(super) journal: SharedJournal,
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let position = self.position;
        self.journal.budget().charge_written(bytes.len()).map_err(StreamError::Trap)?;
        answered(
            &self.journal,
            "output-stream.write",
            json!({"path": self.file.path, "offset": position, "bytes": digested(&bytes)}),
            || write_all(self.file.handle()?, &bytes, position).map(|()| ((), Value::Null)),
            |_, _| Ok(()),
        )?;
        if let Some(position) = &mut self.position {
            *position += bytes.len() as u64;
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_CHUNK)
    }
}

fn write_all(file: &File, bytes: &[u8], position: Option<u64>) -> io::Result<()> {
    let mut position = match position {
        Some(position) => position,
        None => file.metadata()?.len(),
    };
    if position.saturating_add(bytes.len() as u64) > MAX_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut left = bytes;
    while !left.is_empty() {
        let count = write_at(file, left, position)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        left = &left[count..];
        position += count as u64;
    }
    Ok(())
}
