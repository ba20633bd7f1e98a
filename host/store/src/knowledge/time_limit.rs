//! A limit of the time that a call takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::InterruptHandle;

use super::error::{KnowledgeStoreError, Result};

/// Interrupts a call on a connection once it has taken too long, unless this is dropped before.
pub(super) struct TimeLimit {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl TimeLimit {
    /// From now on.
    pub(super) fn set(connection: InterruptHandle, time: Duration) -> Result<Self> {
        let (done, waits) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let watch = move || {
            // Returns early once the other side has been dropped.
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

    /// Ends a call that has taken too long. To be asked between statements: an interrupt ends only one that is executed.
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
