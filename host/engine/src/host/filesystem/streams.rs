//! Files as streams of bytes. Regular files are always ready.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::p2::Pollable;
use wasmtime_wasi::p2::{InputStream, OutputStream, StreamError, StreamResult};

/// The most bytes that one call reads or writes.
pub(super) const MAX_CHUNK: usize = 1 << 20;

/// Reads at a position; the file's own position means nothing.
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

fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

/// Reads a file from a position on.
pub(super) struct Reader {
    pub(super) file: Arc<File>,
    pub(super) position: u64,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {}
}

impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let mut buffer = vec![0; size.min(MAX_CHUNK)];
        let count = read_at(&self.file, &mut buffer, self.position).map_err(failed)?;
        if count == 0 {
            return Err(StreamError::Closed);
        }
        self.position += count as u64;
        buffer.truncate(count);
        Ok(buffer.into())
    }
}

/// Writes a file from a position on, or always at its end.
pub(super) struct Writer {
    pub(super) file: Arc<File>,
    pub(super) position: Option<u64>,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut left = &bytes[..];
        while !left.is_empty() {
            let position = match self.position {
                Some(position) => position,
                None => self.file.metadata().map_err(failed)?.len(),
            };
            let count = write_at(&self.file, left, position).map_err(failed)?;
            if count == 0 {
                return Err(failed(io::ErrorKind::WriteZero.into()));
            }
            left = &left[count..];
            if let Some(position) = &mut self.position {
                *position += count as u64;
            }
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
