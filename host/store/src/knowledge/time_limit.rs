//! Time limits for calls on a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::InterruptHandle;

use super::error::{KnowledgeStoreError, Result};

/// Interrupts a call on a connection after a time, unless this is dropped before.
pub(super) struct TimeLimit {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl TimeLimit {
    /// Starts the time.
    pub(super) fn set(connection: InterruptHandle, time: Duration) -> Result<Self> {
        let (done, waits) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let watch = move || {
            // `recv_timeout` returns early once the sender has been dropped.
            if waits.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                over.store(true, Ordering::Relaxed);
                connection.interrupt();
            }
        };
        let thread = std::thread::Builder::new()
            .name("knowledge-search".to_owned())
            .spawn(watch)
            .map_err(|error| KnowledgeStoreError::Sqlite(format!("no thread can be started: {error}")))?;
        Ok(Self { done: Some(done), thread: Some(thread), is_over })
    }

    /// Returns an error once the time has passed. It has to be called between statements, because an interrupt ends
    /// only a statement that is being executed.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) { Err(KnowledgeStoreError::Late) } else { Ok(()) }
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        // Waiting for the thread ensures that later calls on the connection are not interrupted.
        self.done = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
