//! The budget of an attempt for what fuel does not measure: language models, and bytes written to files.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graph_core::limits::{ModelUse, TaskLimits};
use graph_core::model_budget::ModelBudget;
use graph_core::node::{Category, Failure};
use graph_model::EncodedRequest;
use graph_model::exchange::{AttemptOutcome, Call, CallEnd, NextStep};

use crate::classify::GuestFault;
use crate::services::ModelMeter;

/// The budget of an attempt, shared by the host functions of its component. Clones share it.
#[derive(Clone)]
pub(crate) struct TaskBudget(Arc<Mutex<Inner>>);

struct Inner {
    models: ModelBudget,
    /// The use of models that the calling components read.
    meter: ModelMeter,
    /// Number of bytes that the attempt may write to files.
    written_limit: u64,
    /// Number of these bytes that are left.
    written_left: u64,
}

impl TaskBudget {
    /// Creates a budget. `meter` is that of the call's services.
    pub(crate) fn new(limits: &TaskLimits, meter: ModelMeter) -> Self {
        let floor = limits.model_floor.unwrap_or(ModelUse::NOTHING);
        let models = ModelBudget::new(limits.model).with_floor(floor).with_nodes(limits.model_of_nodes);
        let inner = Inner { models, meter, written_limit: limits.written, written_left: limits.written };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges bytes that are about to be written to files. The error ends the attempt before anything is written.
    pub(crate) fn charge_written(&self, bytes: usize) -> wasmtime::Result<()> {
        let inner = &mut *self.inner();
        let limit = inner.written_limit;
        inner.written_left = inner.written_left.checked_sub(bytes as u64).ok_or_else(|| {
            GuestFault::new(Category::Limit, format!("it wrote more than {limit} bytes to files"))
        })?;
        Ok(())
    }

    /// Charges a use of models that a journal or a called component reports. The meter has it already.
    pub(crate) fn charge_models(&self, used: ModelUse) {
        self.inner().models.charge(used);
    }

    /// Starts an attempt of a call of a language model, like [`Call::begin`].
    pub(crate) fn reserve(&self, call: &mut Call, streamed: bool) -> Result<EncodedRequest, Box<CallEnd>> {
        let inner = &mut *self.inner();
        let encoded = call.begin(&mut inner.models, streamed)?;
        inner.meter.change(ModelUse::NOTHING, call.reserved());
        Ok(encoded)
    }

    /// Settles the attempt under way, like [`Call::settle`].
    pub(crate) fn settle(&self, call: &Call, tried: AttemptOutcome, left: Duration) -> NextStep {
        let inner = &mut *self.inner();
        inner.meter.change(call.reserved(), call.used(&tried.spent));
        call.settle(&mut inner.models, tried, left)
    }

    /// Ends a call whose attempt has used `used`, and with it the task's attempt.
    pub(crate) fn end(&self, call: &Call, used: ModelUse, failure: Failure) -> CallEnd {
        let inner = &mut *self.inner();
        inner.meter.change(call.reserved(), used);
        inner.models.settle(used);
        call.end(failure, &inner.models)
    }

    /// Ends a call that exceeded the deadline, like [`Call::late`].
    pub(crate) fn end_late(&self, call: &Call) -> CallEnd {
        call.late(&mut self.inner().models)
    }

    /// Returns the remaining budget of language models, which is the same in a replay.
    pub(crate) fn models_left(&self) -> ModelUse {
        self.inner().models.left()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::classify::classify;

    #[test]
    fn bytes_beyond_the_limit_end_the_attempt() {
        let limits = TaskLimits { written: 10, ..TaskLimits::DEFAULT };
        let budget = TaskBudget::new(&limits, ModelMeter::default());
        budget.charge_written(4).unwrap();
        budget.clone().charge_written(6).unwrap();
        let error = budget.charge_written(1).unwrap_err();
        assert_eq!(classify(&error).1.category, Category::Limit);
        budget.charge_written(0).unwrap();
    }
}
