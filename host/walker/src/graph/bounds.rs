//! Templates that set the limits and capabilities of a node for each task.

use graph_core::limits::ModelFigure;
use graph_core::template::ValueTemplate;

/// What of a node's limits and `capabilities` is a template. Each task evaluates these when it is made; they lower what the document's
/// constants, the graph and the manifest leave, and raise nothing.
#[derive(Debug, Default)]
pub struct NodeTemplates {
    /// `timeout`.
    pub timeout: Option<ValueTemplate>,
    /// Figures of `limits.model`.
    pub model: Vec<(ModelFigure, ValueTemplate)>,
    /// `capabilities`, or `capabilities.dispatch`: the list of dispatch patterns.
    pub dispatch: Option<ValueTemplate>,
}

impl NodeTemplates {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ValueTemplate> {
        self.timeout.iter().chain(self.model.iter().map(|(_, template)| template)).chain(&self.dispatch)
    }
}
