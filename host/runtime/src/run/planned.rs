//! The second stage of a start: an opened graph is planned with the inputs of a run.

use graph_core::capability::Manifest;

use crate::error::Result;
use crate::plan::Plan;
use crate::plan::manifest_authority::AcceptedManifest;
use crate::remedy::ManifestSuggestion;
use crate::run::opened_graph::OpenedGraph;
use crate::run::run_inputs::RunInputs;
use crate::run::start::StartOptions;

/// A graph that was planned, with everything that a run of it needs.
#[derive(Debug)]
pub struct PlannedRun {
    /// The graph, its items, and their origins.
    pub(crate) opened: OpenedGraph,
    /// The dispatched items, the grants, and what is missing.
    pub(crate) plan: Plan,
    /// The inputs of the run.
    pub(crate) inputs: RunInputs,
    /// The manifest that was accepted, before the inputs narrow it.
    accepted: AcceptedManifest,
}

impl PlannedRun {
    /// Plans a run of an opened graph. Its inputs may narrow the manifest.
    pub(crate) async fn new(mut opened: OpenedGraph, inputs: RunInputs) -> Self {
        let accepted = opened.components.manifest.clone();
        opened.components.manifest = accepted.narrowed(|manifest| inputs.parameters().narrow(manifest, 0));
        let plan = opened.plan().await;
        Self { opened, plan, inputs, accepted }
    }

    /// Takes the inputs out of the options of a start, if they have any: they replace those of the plan. The graph is planned
    /// again if they narrow the manifest in another way.
    pub(crate) async fn with_inputs_of(mut self, options: &mut StartOptions) -> Result<Self> {
        let Some(inputs) = options.inputs.take() else { return Ok(self) };
        let inputs = self.opened.read_inputs(inputs)?;
        let narrowed = self.accepted.narrowed(|manifest| inputs.parameters().narrow(manifest, 0));
        // The digest of a manifest leaves its narrowing out.
        if narrowed.narrowing() != self.manifest().narrowing() {
            self.opened.components.manifest = narrowed;
            self.plan = self.opened.plan().await;
        }
        Ok(Self { inputs, ..self })
    }

    /// The manifest that the grants of the plan come from: the accepted one, narrowed by the inputs.
    pub fn manifest(&self) -> &Manifest {
        &self.opened.components.manifest
    }

    /// Lists the inputs that the graph's `config_schema` does not name, each as a sentence; none once they were checked.
    pub fn unknown_inputs(&self) -> Vec<String> {
        self.inputs.unknown(&self.opened.file.graph)
    }

    /// Checks the inputs against the graph's schema, then that nothing is missing from the plan. `suggestion` is of the
    /// manifest that a refused plan needs.
    pub fn checked(self, suggestion: ManifestSuggestion) -> Result<Self> {
        let inputs = self.inputs.checked(&self.opened.file.graph)?;
        match self.plan.refusal(suggestion) {
            Some(refusal) => Err(refusal),
            None => Ok(Self { inputs, ..self }),
        }
    }
}
