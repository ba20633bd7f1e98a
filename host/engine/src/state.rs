//! The state of one call.

use std::sync::Arc;
use std::time::Instant;

use graph_core::capability::{KnowledgeRule, OutgoingGrant};
use graph_core::limits::TaskLimits;
use graph_core::time::Timestamp;
use graph_model::exchange::Provider;
use tokio::sync::Semaphore;
use wasmtime::component::{HasData, ResourceTable};

use crate::host::clocks::VirtualClock;
use crate::host::filesystem::Mounts;
use crate::host::http::{Client, HttpState};
use crate::host::output::Output;
use crate::host::random::SeededRandom;
use crate::journal::SharedJournal;
use crate::limiter::Limiter;
use crate::services::Services;
use crate::task_budget::TaskBudget;

/// Largest number of handles of a component at a time, open files included.
const MAX_HANDLES: usize = 256;

/// The data of a call's store.
pub(crate) struct TaskState {
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) output: Output,
    pub(crate) clock: VirtualClock,
    pub(crate) random: SeededRandom,
    pub(crate) granted: Arc<GrantedResources>,
    pub(crate) services: Services,
    /// Number of enclosing calls of components.
    pub(crate) depth: u32,
    /// Number of calls of other items so far.
    pub(crate) tool_calls: u64,
    /// Number of calls of language models so far.
    pub(crate) model_calls: u64,
    /// The idempotency key and the attempt of the task, for doubles that answer for language models.
    pub(crate) caller: (String, u32),
    pub(crate) http: HttpState,
    pub(crate) limits: TaskLimits,
    pub(crate) journal: SharedJournal,
    pub(crate) budget: TaskBudget,
    pub(crate) deadline: Instant,
}

impl TaskState {
    /// Creates the state of a task's own call, without services.
    pub(crate) fn new(
        limits: &TaskLimits,
        clock: Timestamp,
        seed: [u8; 32],
        granted: Arc<GrantedResources>,
        output: Output,
        journal: SharedJournal,
        deadline: Instant,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            table,
            limiter: Limiter::new(limits.memory),
            output,
            clock: VirtualClock::new(clock),
            random: SeededRandom::new(seed),
            http: HttpState::new(Arc::clone(&granted.outgoing), limits.requests),
            granted,
            services: Services::default(),
            depth: 0,
            tool_calls: 0,
            model_calls: 0,
            caller: (String::new(), 0),
            limits: *limits,
            budget: journal.budget().clone(),
            journal,
            deadline,
        }
    }
}

/// The resources of a component's grant, prepared for all its calls.
pub(crate) struct GrantedResources {
    /// The granted folders, opened.
    pub(crate) mounts: Mounts,
    /// Requests and the secrets in them.
    pub(crate) outgoing: Arc<OutgoingGrant>,
    /// The HTTP client for its requests.
    pub(crate) client: Arc<Client>,
    /// Slots for tasks whose components call others.
    pub(crate) chains: Arc<Semaphore>,
    pub(crate) knowledge: Vec<KnowledgeRule>,
    /// The language models, with their keys.
    pub(crate) models: Vec<Provider>,
}

impl GrantedResources {
    /// Creates the resources of a component without grants.
    pub(crate) fn nothing(client: Arc<Client>, chains: Arc<Semaphore>) -> Self {
        Self {
            mounts: Mounts::default(),
            outgoing: Arc::default(),
            client,
            chains,
            knowledge: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// Gives host functions access to the whole state.
pub(crate) struct HasState;

impl HasData for HasState {
    type Data<'a> = &'a mut TaskState;
}

/// Gives the functions of `wasi:io` access to the table of handles.
pub(crate) struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}
