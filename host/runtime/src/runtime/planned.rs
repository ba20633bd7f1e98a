//! A graph that was planned with the inputs of a run.

use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_walker::graph::Graph;
use graph_walker::parameters::Parameters;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::plan::Plan;
use crate::remedy::ManifestSuggestion;
use crate::run::start::{self, RunContext};

/// A graph that was planned, with everything that a run of it needs.
#[derive(Debug)]
pub struct PlannedRun {
    /// The graph, its items, and their origins.
    pub(super) context: RunContext,
    /// The dispatched items, the grants, and what is missing.
    pub(super) plan: Plan,
    /// The inputs that are about the run itself.
    pub(super) parameters: Parameters,
    inputs: PlannedInputs,
    /// The manifest before the inputs narrow it.
    accepted: Arc<Manifest>,
}

#[derive(Debug)]
enum PlannedInputs {
    Given(Map<String, Value>),
    /// Checked against the graph's schema, and filled in.
    Checked(Value),
}

impl RunContext {
    /// Plans the graph as it is, without the inputs of a run.
    pub async fn plan(&self) -> Plan {
        Plan::make(&self.file.graph, &self.subgraphs.graphs, &self.hooks.hooks, &self.components).await
    }

    /// Plans a run of the graph with these inputs, which may narrow its manifest.
    pub async fn planned(mut self, inputs: Map<String, Value>) -> Result<PlannedRun> {
        let parameters = start::run_parameters(&self.file.graph, &inputs)?;
        let accepted = Arc::clone(&self.components.manifest);
        self.components.manifest = Arc::new(parameters.narrow(&accepted, 0));
        let plan = self.plan().await;
        Ok(PlannedRun { context: self, plan, parameters, inputs: PlannedInputs::Given(inputs), accepted })
    }
}

impl PlannedRun {
    /// Replaces the inputs. The graph is planned again if they narrow the manifest in another way.
    pub(super) async fn with_inputs(mut self, inputs: Map<String, Value>) -> Result<Self> {
        let parameters = start::run_parameters(&self.context.file.graph, &inputs)?;
        let manifest = &mut self.context.components.manifest;
        let narrowed = parameters.narrow(&self.accepted, 0);
        // The digest of a manifest leaves its narrowing out.
        if narrowed.narrowing() != manifest.narrowing() {
            *manifest = Arc::new(narrowed);
            self.plan = self.context.plan().await;
        }
        Ok(Self { parameters, inputs: PlannedInputs::Given(inputs), ..self })
    }

    /// Lists the inputs that the graph's `config_schema` does not name, each as a sentence; none once they were checked.
    pub fn unknown_inputs(&self) -> Vec<String> {
        match &self.inputs {
            PlannedInputs::Given(inputs) => start::unknown_inputs(&self.context.file.graph, inputs),
            PlannedInputs::Checked(_) => Vec::new(),
        }
    }

    /// Checks the inputs against the graph's schema, then that nothing is missing from the plan. `suggestion` is of the
    /// manifest that a refused plan needs.
    pub fn checked(self, suggestion: ManifestSuggestion) -> Result<Self> {
        let Self { context, plan, parameters, inputs, accepted } = self;
        let inputs = PlannedInputs::Checked(inputs.checked(&context.file.graph)?);
        match plan.refusal(suggestion) {
            Some(refusal) => Err(refusal),
            None => Ok(Self { context, plan, parameters, inputs, accepted }),
        }
    }

    /// Returns what a start needs, checked.
    pub(super) fn into_parts(self) -> Result<(RunContext, Plan, Value)> {
        let Self { context, plan, inputs, .. } = self;
        let inputs = inputs.checked(&context.file.graph)?;
        match plan.refusal(ManifestSuggestion::default()) {
            Some(refusal) => Err(refusal),
            None => Ok((context, plan, inputs)),
        }
    }
}

impl PlannedInputs {
    fn checked(self, graph: &Graph) -> Result<Value> {
        match self {
            Self::Given(inputs) => Ok(start::check_inputs(graph, inputs)?.inputs),
            Self::Checked(inputs) => Ok(inputs),
        }
    }
}
