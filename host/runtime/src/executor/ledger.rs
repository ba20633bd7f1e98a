//! Reserves an attempt's use of language models in the store before its first request.

use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_driver::Reservations;
use graph_engine::{ModelLedger, PendingReservation};
use graph_walker::walker::TaskSpec;

/// The ledger of an attempt, and of the components that its component calls.
#[derive(Debug)]
pub(crate) struct Ledger {
    reservations: Reservations,
    task: Arc<str>,
    attempt: u32,
}

impl Ledger {
    pub(crate) fn of(spec: &TaskSpec, reservations: &Reservations) -> Self {
        let activation = &spec.activation;
        Self {
            reservations: reservations.clone(),
            task: activation.task.as_str().into(),
            attempt: activation.attempt,
        }
    }
}

impl ModelLedger for Ledger {
    fn record(&self, total: ModelUse, model: &str) -> PendingReservation<'_> {
        Box::pin(self.reservations.record(Arc::clone(&self.task), self.attempt, total, model.into()))
    }
}
