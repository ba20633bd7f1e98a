//! Work on a separate thread, which Ctrl-C stops.

use std::time::Duration;

use graph_cases::Stop;
use graph_host::context::Context;
use graph_runtime::error::{Error, Kind, Result};
use tokio::sync::oneshot;

/// Time limit for stopped work to remove its temporary folders.
const FAREWELL: Duration = Duration::from_millis(800);

/// Runs blocking work until it is done or the user presses Ctrl-C: then requests `stop` and returns `None`.
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
                // After Ctrl-C, nothing waits for the outcome.
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
            // `biased`, so that Ctrl-C is handled before the work starts.
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

/// Waits for Ctrl-C; if it cannot be handled, the system ends the process.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
