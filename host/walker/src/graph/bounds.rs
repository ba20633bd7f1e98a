//! Templates that set the limits and capabilities of a node for each task.

use graph_core::limits::ModelFigure;
use graph_core::template::ValueTemplate;

/// The templates in a node's limits and `capabilities`. Each task evaluates them when it is made; they lower the limits of the document's
/// constants, the graph and the manifest, and raise none.
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
    /// Checks whether there is no template.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Returns all templates.
    pub fn iter(&self) -> impl Iterator<Item = &ValueTemplate> {
        self.timeout.iter().chain(self.model.iter().map(|(_, template)| template)).chain(&self.dispatch)
    }
}
