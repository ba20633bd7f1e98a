//! Operations of a [`Runtime`] in parts, for the crates of this project: what a command shows or asks lies between them.

use graph_store::RunRow;

use super::{PlanOptions, PlannedRun, Runtime, StartOptions};
use crate::error::Result;
use crate::host::Host;
use crate::plan::Plan;
use crate::project::Project;
use crate::run::context::PreparedRun;
use crate::run::resume::{Opening, Resumable};
use crate::run::start::RunContext;
use crate::run::stores::{StoreKind, Stores};

impl Runtime {
    /// Makes a runtime that opens the project's store when the first run needs it: a plan alone creates no state.
    pub fn new(host: Host, project: Project, kept: StoreKind) -> Self {
        Self::with_host(host, project, kept)
    }

    /// Finds a run in the stores of a project by its id, a prefix of it, or `@last`, and makes a runtime with the store that
    /// keeps it. Nothing is created if there is no such run.
    pub fn of_run(host: Host, project: Project, name: &str) -> Result<(Self, RunRow)> {
        let (kept, _, row) = Stores::to_read(&project, &host.home)?.find(name)?;
        Ok((Self::new(host, project, kept), row))
    }

    /// Reads a graph, its manifest and its trust, by its file or its item id. [`RunContext::planned`] plans it, once the
    /// inputs of a run are known.
    pub fn open_graph(&self, graph: &str, options: &PlanOptions) -> Result<RunContext> {
        self.context_of(graph, options)
    }

    /// Creates a run of a graph that was planned, and holds it for this process: the caller drives it. Without a run, it
    /// fails if the inputs do not match the graph's schema or if something is missing from the plan.
    pub async fn begin(&self, planned_run: PlannedRun, options: StartOptions) -> Result<PreparedRun> {
        self.prepare(planned_run, options).await
    }

    /// Restores a run that is suspended or was cut short, by its id or a prefix of it, and holds it for this process: the
    /// caller drives it. It fails if a definition that the run is pinned to has changed.
    pub async fn reopen(&self, run: &str, opening: Opening) -> Result<Resumable> {
        self.restore(run, opening).await
    }
}

impl PlannedRun {
    /// Returns the graph, its items, and their origins.
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// Returns the dispatched items, the grants, and what is missing.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
