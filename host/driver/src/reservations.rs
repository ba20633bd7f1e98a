//! Puts what attempts may use of language models on record before they ask one.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_core::walker::Event;
use tokio::sync::{mpsc, oneshot};

/// A task and its attempt.
type Name = (Arc<str>, u32);

/// Asks the run that a driver drives to put reservations on record.
#[derive(Clone)]
pub struct Reservations(mpsc::UnboundedSender<Reservation>);

/// An attempt waits until a reservation is on record.
struct Reservation {
    name: Name,
    model: ModelUse,
    /// The model that it asks.
    asks: Arc<str>,
    recorded: oneshot::Sender<()>,
}

impl Reservations {
    /// Puts on record that an attempt of a task has used and may use so much of language models, components that it called
    /// included, and that it asks the one with the name `asks` in the manifest. False if the run does not wait for the attempt any more: then it must not ask.
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

/// The reservations that have arrived, and the attempts that wait.
pub(crate) struct Desk {
    arriving: mpsc::UnboundedReceiver<Reservation>,
    /// Kept so that `arriving` stays open.
    sender: Reservations,
    waiting: HashMap<Name, oneshot::Sender<()>>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let (sender, arriving) = mpsc::unbounded_channel();
        Self { arriving, sender: Reservations(sender), waiting: HashMap::new() }
    }

    pub(crate) fn sender(&self) -> Reservations {
        self.sender.clone()
    }

    /// A reservation that has arrived already.
    pub(crate) fn try_arrived(&mut self) -> Option<Event> {
        let arrived = self.arriving.try_recv().ok()?;
        Some(self.take(arrived))
    }

    /// Waits for a reservation.
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

    /// An attempt's reservation is on record.
    pub(crate) fn recorded(&mut self, task: Arc<str>, attempt: u32) {
        if let Some(recorded) = self.waiting.remove(&(task, attempt)) {
            let _ = recorded.send(());
        }
    }

    /// An attempt has ended, or was abandoned: it is not answered any more.
    pub(crate) fn forget(&mut self, task: &Arc<str>, attempt: u32) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&(Arc::clone(task), attempt));
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
