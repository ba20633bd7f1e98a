//! Values and scopes that templates of a node read.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::document::ITEM_INDEX;
use crate::graph::{Node, NodeIndex, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::nodes::feedback::feedback;
use crate::walker::tasks::superstep::ActivatedNode;
use graph_core::node::{Category, Failure};
use graph_core::policy::TemplateMode;
use graph_core::template::{Fields, Root, Scope, TemplateError};
use graph_core::time::Timestamp;
use graph_core::work::{FuelExhausted, Meter, rates, size};

impl Walker {
    /// Builds the values that templates of a node read as `node` and `run`.
    pub(in crate::walker) fn context(
        &self,
        node: &Node,
        active: &ActivatedNode,
        meter: &Meter,
    ) -> Result<NodeContext, FuelExhausted> {
        if !self.uses_context && !self.graph.edges_read_node(active.node()) {
            return Ok(NodeContext::default());
        }
        meter.charge(node.metadata.as_ref().map_or(0, size::of).saturating_add(rates::CONTEXT))?;
        let mut about =
            json!({ "id": node.name, "name": node.name, "visit": active.visit(), "metadata": node.metadata });
        if node.feedback {
            let previous = self.previous(node, active.node(), meter)?;
            about["feedback"] = previous.as_ref().map_or(Value::Null, |_| feedback(node, active.visit()));
            about["previous"] = previous.unwrap_or_default();
        }
        Ok(NodeContext { node: about, run: self.run_fields() })
    }

    /// Builds the context for the edges of a node, if they read `node`.
    pub(in crate::walker) fn edge_context(
        &self,
        node: &Node,
        index: NodeIndex,
        visit: u64,
        meter: &Meter,
    ) -> Result<Option<NodeContext>, FuelExhausted> {
        let active = ActivatedNode::new(index, None, visit, 0);
        if self.graph.edges_read_node(index) {
            self.context(node, &active, meter).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns the fields that templates read as `run`.
    pub(in crate::walker) fn run_fields(&self) -> RunFields {
        RunFields { document: self.run_document(), at: self.position.at(), time: OnceCell::new() }
    }

    /// Returns the value of `run` as a whole: without the time, so that a result that contains it can be the same in two runs.
    pub(in crate::walker) fn run_document(&self) -> Value {
        let identity = &self.setup.identity;
        json!({
            "id": identity.run,
            "root_id": identity.root,
            "parent_id": identity.parent,
            "graph": self.graph.id,
            "superstep": self.position.step() + 1,
            "step": self.position.step(),
        })
    }

    /// Builds the scope of a node's templates.
    pub(in crate::walker) fn scope<'a>(
        &'a self,
        context: &'a NodeContext,
        argument: Option<&'a Value>,
        item: Option<&'a ForeachItem<'a>>,
    ) -> Scope<'a> {
        let mut scope = Scope::new()
            .with_new("state", Root::Fields(&self.channels))
            .with_new("inputs", Root::Value(&self.setup.inputs))
            .with_new("node", Root::Value(&context.node))
            .with_new("run", Root::Fields(&context.run));
        if let Some(argument) = argument.or(item.map(|item| item.value)) {
            scope = scope.with_new("argument", Root::Value(argument));
        }
        if let Some(item) = item {
            if let Some(index) = &item.index {
                scope = scope.with_new(ITEM_INDEX, Root::Value(index));
            }
            scope = scope.with(item.variable, Root::Value(item.value));
        }
        scope
    }

    /// Evaluates a template of a node. Missing paths become warnings, or a failure in the strict mode.
    pub(in crate::walker) fn evaluate(
        &self,
        template: &graph_core::template::ValueTemplate,
        scope: &Scope<'_>,
        node: &Node,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, NodeWorkError> {
        let mut missing = Vec::new();
        let value = template.evaluate(scope, self.graph.templates, &mut missing, meter);
        let strict = self.graph.templates == TemplateMode::Strict;
        for path in missing.into_iter().filter(|_| !strict) {
            warnings.push(format!("node `{}`: `{path}` is missing and read as null", node.name));
        }
        value.map_err(|error| match error {
            TemplateError::Exhausted(exhausted) => NodeWorkError::Exhausted(exhausted),
            error => {
                let message = format!("node `{}`: {error}", node.name);
                NodeWorkError::Failed(Failure::new(Category::InvalidInput, message))
            }
        })
    }
}

/// The item of a `foreach` that templates read.
pub(in crate::walker) struct ForeachItem<'a> {
    variable: &'a str,
    value: &'a Value,
    /// The index, if a template reads it.
    index: Option<Value>,
}

impl<'a> ForeachItem<'a> {
    /// Creates the item at an index, which templates read under the name of the node's variable; none for another node.
    pub(in crate::walker) fn new(node: &'a Node, value: &'a Value, index: usize) -> Option<Self> {
        let NodeKind::Foreach(foreach) = &node.kind else { return None };
        let index = foreach.reads_index.then(|| Value::from(index));
        Some(Self { variable: &foreach.variable, value, index })
    }

    /// The item.
    pub(in crate::walker) const fn value(&self) -> &'a Value {
        self.value
    }
}

/// The fields that templates read as `run`.
#[derive(Debug, Default)]
pub(in crate::walker) struct RunFields {
    document: Value,
    at: Timestamp,
    /// The time as text, once it was read.
    time: OnceCell<Value>,
}

impl Fields for RunFields {
    fn field(&self, key: &str) -> Option<&Value> {
        if key == "time" {
            return Some(self.time.get_or_init(|| Value::String(self.at.to_string())));
        }
        self.document.get(key)
    }

    fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted> {
        size::copy(&self.document, meter)
    }
}

/// The values that templates read as `node` and `run`.
#[derive(Debug, Default)]
pub(in crate::walker) struct NodeContext {
    node: Value,
    run: RunFields,
}

impl NodeContext {
    /// The value that templates and edges read as `node`.
    pub(in crate::walker) const fn node(&self) -> &Value {
        &self.node
    }
}
