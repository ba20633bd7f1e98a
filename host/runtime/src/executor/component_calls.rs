//! Calls of other items by components: they use up the caller's fuel and time, and may use only what both are granted.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use graph_core::capability::{DispatchPatterns, EffectiveGrant, capability_name};
use graph_core::digest::DomainHasher;
use graph_core::graph::{ItemType, Primary};
use graph_core::limits::{HostUse, TaskLimits};
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::record::JournalEntry;
use graph_core::walker::TaskSpec;
use graph_engine::{Call, Calling, Journal, Services, ToolCall, ToolReport, Tools};

use crate::executor::{CallSite, Shared};

/// The component that makes the calls, and where in a run it is.
pub(crate) struct Caller {
    pub(crate) shared: Arc<Shared>,
    /// The task that it is part of.
    pub(crate) spec: Arc<TaskSpec>,
    /// Where in the graph that is.
    pub(crate) place: CallSite,
    /// What the caller itself is granted.
    pub(crate) grant: Arc<EffectiveGrant>,
    /// How many calls of components are around it; 0 for the component that the task dispatched.
    pub(crate) depth: u32,
    /// The seed of its random numbers.
    pub(crate) seed: [u8; 32],
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Tools for Caller {
    fn call(&self, call: ToolCall) -> Calling<'_> {
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
        let ToolCall { item, params, fuel, host, timeout, number } = call;
        self.permit(&item)?;
        let depth = self.depth + 1;
        let most = self.spec.manifest.run_limits().depth;
        if depth > most {
            let message = format!(
                "`{item}` would be called {depth} levels deep; the manifest's `run: {{ depth: {most} }}` allows no more"
            );
            return Err(Failure::new(Category::Limit, message));
        }
        let ready = self.shared.callee((&self.spec, self.place), &item, &self.grant).await?;
        if let Some(failure) = ready.expired(&item, self.spec.clock) {
            return Err(failure);
        }

        let own = ready.limits();
        let HostUse { calls, bytes, .. } = own.host().min(host);
        let limits =
            TaskLimits { fuel: own.fuel.min(fuel), timeout: own.timeout.min(timeout), calls, bytes, ..own };
        let seed = DomainHasher::new("graph-host/call-seed/v1")
            .field(&self.seed)
            .field(&number.to_le_bytes())
            .field(item.as_bytes())
            .finish();
        let key = format!("{}/{number}", self.spec.activation.idempotency_key);
        let activation =
            Activation { idempotency_key: key, answers: Vec::new(), ..self.spec.activation.clone() };
        let tools = Self {
            shared: Arc::clone(&self.shared),
            spec: Arc::clone(&self.spec),
            place: self.place,
            grant: ready.grant(),
            depth,
            seed: *seed.as_bytes(),
        };
        let services = Services { tools: Some(Arc::new(tools)), ..self.shared.services() };
        let report = ready
            .node()
            .call(Call {
                activation: &activation,
                params: Cow::Owned(params),
                seed: *seed.as_bytes(),
                clock: self.spec.clock,
                limits,
                observer: None,
                // What the called component asks of the world is journaled in the entry of this call.
                journal: Journal::Record,
                services,
                depth,
            })
            .await;
        for line in &report.logs {
            self.shared.show(&self.spec, line);
        }
        let (fuel, host, events) = (report.fuel_used, JournalEntry::used_by(&report.journal), report.events);
        let result = match report.result {
            Ok(Outcome::Result(value)) => Ok(value),
            Ok(Outcome::Interrupt(_)) => Err("asks a question, which cannot be answered inside of a call"),
            Ok(Outcome::Command { .. }) => Err("routes the graph, which it cannot do inside of a call"),
            Err(failure) => return Ok(ToolReport { result: Err(failure), fuel, host, events }),
        };
        let result = result.map_err(|what| Failure::new(Category::InvalidInput, format!("`{item}` {what}")));
        Ok(ToolReport { result, fuel, host, events })
    }

    /// Whether the item may be dispatched at all: the manifest has to permit it, and the node's own `capabilities` must
    /// not leave it out.
    fn permit(&self, item: &str) -> Result<(), Failure> {
        let (own, _) = self.place.restrictions(&self.spec.graph);
        // The patterns were checked with the document; one that cannot be read permits nothing.
        let own = own
            .and_then(|own| own.dispatch.as_deref())
            .map(|patterns| DispatchPatterns::parse(patterns).unwrap_or_default());
        let permits = |patterns: &DispatchPatterns| patterns.permits(Primary::Execute, ItemType::Tool, item);
        if permits(self.spec.manifest.dispatch()) && own.as_ref().is_none_or(permits) {
            return Ok(());
        }
        let name = capability_name(Primary::Execute, ItemType::Tool, item);
        let message = format!(
            "`{}` is not permitted: no pattern of `dispatch` that holds at this node covers it",
            graph_core::diagnostic::printable(&name)
        );
        Err(Failure::new(Category::Denied, message))
    }
}
