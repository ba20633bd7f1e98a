//! Measures the cost of a call without graph-host: the same component, engine settings and store limits, called through wasmtime's typed
//! interface with prepared JSON text. Benchmarks divide by it.

use std::sync::Arc;

use graph_core::limits::TaskLimits;
use graph_core::node::Activation;
use graph_core::time::Timestamp;
use wasmtime::Store;

use crate::bindings::graph_host::node::types as wit;
use crate::convert::ActivationText;
use crate::prepare::{EntryPoint, PreparedNode};
use crate::state::TaskState;

/// A bare call that can be repeated.
pub struct BareCall {
    node: PreparedNode,
    activation: Activation,
    params: String,
    fuel: u64,
}

impl BareCall {
    /// Creates a bare call of a prepared node with fixed params, as JSON text.
    pub fn new(node: &PreparedNode, activation: Activation, params: String, limits: &TaskLimits) -> Self {
        Self { node: node.clone(), activation, params, fuel: limits.fuel }
    }

    /// Calls the node in a fresh instance with fuel, a memory limit and an epoch deadline; returns the length of the result's JSON text.
    pub async fn call(&self) -> wasmtime::Result<usize> {
        let prepared = &self.node.inner;
        let limits = TaskLimits::DEFAULT;
        let state = TaskState::new(
            &limits,
            Timestamp::default(),
            [0; 32],
            Arc::clone(&prepared.granted),
            crate::host::output::Output::new(limits.log, None),
            crate::journal::SharedJournal::new(
                crate::journal::Journal::Record,
                &limits,
                crate::task_budget::TaskBudget::new(&limits, crate::services::ModelMeter::default()),
            ),
            std::time::Instant::now(),
        );
        let mut store = Store::new(&prepared.engine.wasmtime, state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(self.fuel)?;
        store.set_epoch_deadline(1 << 40);
        let text = ActivationText::new(&self.activation);
        let answers = text.answers();
        let EntryPoint::Action(pre) = &prepared.entry else {
            return Err(wasmtime::Error::msg("it is no node action"));
        };
        let instance = pre.instantiate_async(&mut store).await?;
        let activation = text.with(&self.activation, &answers);
        match instance.graph_host_node_action().call_run(&mut store, activation, &self.params).await? {
            Ok(wit::Outcome::Result(text)) => Ok(text.len()),
            Ok(_) => Ok(0),
            Err(failure) => Err(wasmtime::Error::msg(failure.message)),
        }
    }
}
