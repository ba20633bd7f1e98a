//! Calls of other items by components: they use up the caller's fuel and time, and get at most the grants of both.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use graph_core::capability::{EffectiveGrant, call_seed, check_call};
use graph_core::limits::{HostUse, TaskLimits};
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::record::JournalEntry;
use graph_core::work::Meter;
use graph_engine::{Call, Journal, PendingToolCall, Services, ToolCall, ToolReport, Tools};
use graph_walker::host_item::HostItem;
use graph_walker::walker::TaskSpec;
use graph_walker::written_graph;
use graph_walker::written_graph::Refusal;
use serde_json::Value;

use crate::executor::{CallSite, Shared};

/// The component that makes the calls, and its place in a run.
pub(crate) struct Caller {
    pub(crate) shared: Arc<Shared>,
    /// Task of the attempt.
    pub(crate) spec: Arc<TaskSpec>,
    /// Call site in the graph.
    pub(crate) place: CallSite,
    /// Effective grant of the caller.
    pub(crate) grant: Arc<EffectiveGrant>,
    /// Number of component calls around the caller; 0 for the component that the task dispatched.
    pub(crate) depth: u32,
    /// Seed of the caller's random numbers.
    pub(crate) seed: [u8; 32],
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Tools for Caller {
    fn call(&self, call: ToolCall) -> PendingToolCall<'_> {
        Box::pin(async move {
            match self.perform(call).await {
                Ok(report) => report,
                Err(failure) => {
                    ToolReport { result: Err(failure), fuel: 0, host: HostUse::default(), events: Vec::new() }
                }
            }
        })
    }
}

impl Caller {
    async fn perform(&self, call: ToolCall) -> Result<ToolReport, Failure> {
        let ToolCall { item, params, fuel, host, timeout, number, meter } = call;
        let depth = self.depth + 1;
        let (own, _) = self.place.restrictions(&self.spec.graph);
        check_call(&self.spec.manifest, own, self.spec.narrowing.as_deref(), &item, depth)?;
        if let Some(called) = HostItem::of_id(&item) {
            return host_item(called, &params, &self.spec, fuel);
        }
        let callable = self.shared.callee((&self.spec, self.place), &item, &self.grant).await?;
        if let Some(failure) = callable.expired(&item, self.spec.clock) {
            return Err(failure);
        }

        let own = callable.limits();
        let HostUse { calls, bytes, model, .. } = own.host().min(host);
        let limits = TaskLimits {
            fuel: own.fuel.min(fuel),
            timeout: own.timeout.min(timeout),
            calls,
            bytes,
            model,
            ..own
        };
        let seed = call_seed(&self.seed, number, &item);
        let key = format!("{}/{number}", self.spec.activation.idempotency_key);
        let activation =
            Activation { idempotency_key: key, answers: Vec::new(), ..self.spec.activation.clone() };
        let tools = Self {
            shared: Arc::clone(&self.shared),
            spec: Arc::clone(&self.spec),
            place: self.place,
            grant: callable.grant(),
            depth,
            seed: *seed.as_bytes(),
        };
        let ledger = self.shared.ledger(&self.spec);
        let services = Services { tools: Some(Arc::new(tools)), meter, ledger, ..self.shared.services() };
        let report = callable
            .node()
            .call(Call {
                activation: &activation,
                params: Cow::Owned(params),
                seed: *seed.as_bytes(),
                clock: self.spec.clock,
                limits,
                observer: self.shared.observer(&self.spec, true),
                // Host calls of the called component are journaled in the entry of this call.
                journal: Journal::Record,
                services,
                depth,
            })
            .await;
        for line in &report.logs {
            self.shared.show(&self.spec, line);
        }
        // The host's work for the callee is paid by the caller.
        let fuel = report.fuel_used.saturating_add(report.work);
        let (host, events) = (JournalEntry::used_by(&report.journal), report.events);
        let result = match report.result {
            Ok(Outcome::Result(value)) => Ok(value),
            Ok(Outcome::Interrupt(_)) => Err("asks a question, which cannot be answered inside of a call"),
            Ok(Outcome::Command { .. }) => Err("routes the graph, which it cannot do inside of a call"),
            Err(failure) => return Ok(ToolReport { result: Err(failure), fuel, host, events }),
        };
        let result = result.map_err(|what| Failure::new(Category::InvalidInput, format!("`{item}` {what}")));
        Ok(ToolReport { result, fuel, host, events })
    }
}

/// Performs an item of the host that a component calls. Only the check of a document is permitted; it has no effects.
fn host_item(item: HostItem, params: &Value, spec: &TaskSpec, fuel: u64) -> Result<ToolReport, Failure> {
    let refused = match item {
        HostItem::Validate => None,
        HostItem::Run => Some(
            "a component runs no graph: answer with the document, and let a node of the graph dispatch `graph/run` with it",
        ),
        HostItem::Threads => Some(
            "a component has started no threads: a node of the graph asks about those that nodes have started",
        ),
    };
    if let Some(message) = refused {
        return Err(Failure::new(Category::Denied, message));
    }
    let meter = Meter::new(fuel);
    let result =
        written_graph::validate(params, spec.manifest.dispatch(), &meter).map_err(|refusal| match refusal {
            Refusal::Failed(failure) => failure,
            Refusal::Exhausted(exhausted) => {
                Failure::new(Category::Limit, format!("the graph cannot be checked: {exhausted}"))
            }
        });
    Ok(ToolReport { result, fuel: meter.spent(), host: HostUse::default(), events: Vec::new() })
}
