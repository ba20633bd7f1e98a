//! Work on a thread of its own, which Ctrl-C stops.

use std::time::Duration;

use graph_cases::Stop;
use graph_host::context::Context;
use graph_runtime::error::{Error, Kind, Result};
use tokio::sync::oneshot;

/// How long work that is stopped may take to remove its temporary folders.
const FAREWELL: Duration = Duration::from_millis(800);

/// Does work that blocks, until it is done or the user presses Ctrl-C: then `None`, after `stop` has been requested.
pub(crate) fn until_stopped<T: Send + 'static>(
    name: &'static str,
    stop: &Stop,
    context: &Context,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Option<T>> {
    let done = async move {
        let (done, outcome) = oneshot::channel();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // After Ctrl-C, no one waits for it.
                let _ = done.send(work());
            })
            .map_err(|error| Error::storage(format!("a thread cannot be started: {error}")))?;
        outcome.await.map_err(|_| {
            let message = "the host broke down while it worked; nothing was written";
            Error::new(Kind::Internal, "internal", message)
        })?
    };
    context.block_on(async {
        let mut done = std::pin::pin!(done);
        tokio::select! {
            // Listens for Ctrl-C before the work begins.
            biased;
            () = interrupted() => {
                stop.request();
                let _ = tokio::time::timeout(FAREWELL, done).await;
                Ok(None)
            }
            done = &mut done => done.map(Some),
        }
    })?
}

/// Waits for Ctrl-C; where it cannot be noticed, the system ends the process.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
