//! Language model reservations: the store records what an attempt may use before the attempt sends its request.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_walker::walker::Event;
use tokio::sync::{mpsc, oneshot};

/// A task and its attempt.
type Name = (Arc<str>, u32);

/// A handle by which attempts request that the run stores their reservations.
#[derive(Clone)]
pub struct Reservations(mpsc::UnboundedSender<Reservation>);

/// A request to store a reservation, for which an attempt waits.
struct Reservation {
    name: Name,
    model: ModelUse,
    /// The name that the model has in the manifest.
    asks: Arc<str>,
    recorded: oneshot::Sender<()>,
}

impl Reservations {
    /// Stores a reservation: the language model usage of an attempt of a task so far, that of the components that it
    /// called included, plus what its next request may use. `asks` is the name of the requested model in the manifest.
    /// Returns false if the run no longer waits for the attempt, which must not send its request then.
    pub async fn record(&self, task: Arc<str>, attempt: u32, model: ModelUse, asks: Arc<str>) -> bool {
        let (recorded, answer) = oneshot::channel();
        let sent = self.0.send(Reservation { name: (task, attempt), model, asks, recorded });
        sent.is_ok() && answer.await.is_ok()
    }
}

impl fmt::Debug for Reservations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservations")
    }
}

/// The reservations that have arrived and the attempts that wait for them.
pub(crate) struct PendingReservations {
    arriving: mpsc::UnboundedReceiver<Reservation>,
    /// Kept so that `arriving` stays open.
    sender: Reservations,
    waiting: HashMap<Name, oneshot::Sender<()>>,
}

impl PendingReservations {
    pub(crate) fn new() -> Self {
        let (sender, arriving) = mpsc::unbounded_channel();
        Self { arriving, sender: Reservations(sender), waiting: HashMap::new() }
    }

    pub(crate) fn sender(&self) -> Reservations {
        self.sender.clone()
    }

    /// Returns the event of a reservation that has arrived already.
    pub(crate) fn try_arrived(&mut self) -> Option<Event> {
        let arrived = self.arriving.try_recv().ok()?;
        Some(self.take(arrived))
    }

    /// Waits for a reservation and returns its event.
    pub(crate) async fn arrived(&mut self) -> Event {
        match self.arriving.recv().await {
            Some(arrived) => self.take(arrived),
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, arrived: Reservation) -> Event {
        let Reservation { name, model, asks, recorded } = arrived;
        let (task, attempt) = name.clone();
        // An attempt asks one model at a time.
        self.waiting.insert(name, recorded);
        Event::ModelReserved { task, attempt, model, name: Some(asks) }
    }

    /// Notifies an attempt that its reservation is stored.
    pub(crate) fn recorded(&mut self, task: Arc<str>, attempt: u32) {
        if let Some(recorded) = self.waiting.remove(&(task, attempt)) {
            let _ = recorded.send(());
        }
    }

    /// Drops the request of an attempt that has ended or was abandoned: the attempt gets false as the answer.
    pub(crate) fn forget(&mut self, task: &Arc<str>, attempt: u32) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&(Arc::clone(task), attempt));
        }
    }
}

impl fmt::Debug for PendingReservations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReservations").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
