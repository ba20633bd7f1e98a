//! Operations of a [`Runtime`] in parts, for the crates of this project: what a command shows or asks lies between them.

use graph_store::RunRow;

use super::{PlanOptions, Runtime};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::plan::Plan;
use crate::project::Project;
use crate::run::context::PreparedRun;
use crate::run::opened_graph::OpenedGraph;
use crate::run::planned::PlannedRun;
use crate::run::resume::{RestoreOptions, Resumable};
use crate::run::start::StartOptions;
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

    /// Reads a graph, its manifest and its trust, by its file or its item id. [`OpenedGraph::planned`] plans it, once the
    /// inputs of a run are known.
    pub fn open_graph(&self, graph: &str, options: &PlanOptions) -> Result<OpenedGraph> {
        self.opened(graph, options)
    }

    /// Creates a run of a graph that was planned, and holds it for this process: the caller drives it. Without a run, it
    /// fails if the inputs do not match the graph's schema or if something is missing from the plan.
    pub async fn prepare(&self, planned: PlannedRun, mut options: StartOptions) -> Result<PreparedRun> {
        let planned = planned.with_inputs_of(&mut options).await?;
        if planned.inputs.parameters().resume_run_id.is_some() {
            return Err(Error::usage(
                "`resume_run_id` among the inputs starts no run: resume the run itself",
            ));
        }
        self.create(planned, options)
    }

    /// Restores a run that is suspended or was cut short, by its id or a prefix of it, and holds it for this process: the
    /// caller drives it. It fails if a definition that the run is pinned to has changed.
    pub async fn reopen(&self, run: &str, options: RestoreOptions) -> Result<Resumable> {
        self.restore(run, options).await
    }
}

impl PlannedRun {
    /// Returns the graph, its items, and their origins.
    pub fn opened(&self) -> &OpenedGraph {
        &self.opened
    }

    /// Returns the dispatched items, the grants, and what is missing.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
