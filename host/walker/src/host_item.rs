//! The items that the walker performs itself: their ids, descriptions and params.
//!
//! `graph/validate` and `graph/run` take a graph document ([`written_graph`](crate::written_graph));
//! `rye/agent/threads/orchestrator` reports the state of threads that the run has started.

use serde_json::{Value, json};

use crate::compat::rye;
use crate::graph::{Action, Graph};
use graph_core::item::{ItemOperation, ItemType};

/// An item that the walker performs. Its id takes precedence over any other item with that id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostItem {
    /// Checks a document; the problems are the result.
    Validate,
    /// Runs a document as a child run.
    Run,
    /// Reports the state of threads, as Rye's orchestrator does.
    Threads,
}

impl HostItem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Validate, Self::Run, Self::Threads];

    /// Returns the item with this id. Host items have neither versions nor functions.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|item| item.id() == id)
    }

    /// Returns the item that a dispatch addresses.
    pub fn of_dispatch(operation: ItemOperation, item_type: ItemType, id: &str) -> Option<Self> {
        if operation == ItemOperation::Execute && item_type == ItemType::Tool {
            Self::of_id(id)
        } else {
            None
        }
    }

    /// Returns the item that an action names by a literal id.
    pub fn of_action(action: &Action) -> Option<Self> {
        Self::of_dispatch(action.operation, action.item_type, action.item_id.literal()?.as_str()?)
    }

    /// Checks whether an action is this item, or may be, since its id is a template.
    pub fn may_be(self, action: &Action) -> bool {
        let is_tool = action.operation == ItemOperation::Execute && action.item_type == ItemType::Tool;
        is_tool && (action.item_id.literal().is_none() || Self::of_action(action) == Some(self))
    }

    /// Checks whether an action of a graph names this item by a literal id.
    pub fn is_named_in(self, graph: &Graph) -> bool {
        let mut actions = graph.nodes.iter().filter_map(|node| node.action.as_ref());
        actions.any(|action| Self::of_action(action) == Some(self))
    }

    /// Checks whether an action of a graph is this item, or may be.
    pub fn may_be_in(self, graph: &Graph) -> bool {
        graph.nodes.iter().filter_map(|node| node.action.as_ref()).any(|action| self.may_be(action))
    }

    /// Returns the reason why an action can never be performed, as far as its params are literal.
    pub fn refusal_of(action: &Action) -> Option<String> {
        let operation = action.params.literal_field("operation")?.as_str()?;
        (Self::of_action(action)? == Self::Threads).then(|| rye::refused_operation(operation))?
    }

    /// Returns the id.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Validate => "graph/validate",
            Self::Run => "graph/run",
            Self::Threads => rye::ORCHESTRATOR,
        }
    }

    /// Returns a description of the item in one or two sentences, for people and for language models.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Validate => {
                "Checks a graph document without running it. The result says whether it is valid, every problem with its \
                 place and a help, and the capabilities that its nodes need and this run does not have."
            }
            Self::Run => {
                "Runs a graph document as a child run, with at most what this run may use. The result is the output of the \
                 graph. A document that is not valid is an `invalid-input` failure with its problems in `details`."
            }
            Self::Threads => {
                "Says what has become of the threads that nodes of this run have started: results with a `thread_id`. They \
                 have ended when the next node begins, so nothing is waited for."
            }
        }
    }

    /// Returns the JSON Schema of its params.
    pub fn params_schema(self) -> Value {
        let graph = json!({
            "type": ["string", "object"],
            "description": "The graph document: its text in YAML or JSON, or the mapping itself",
        });
        if self == Self::Threads {
            return rye::orchestrator_schema();
        }
        if self == Self::Validate {
            return json!({
                "type": "object",
                "properties": { "graph": graph },
                "required": ["graph"],
                "additionalProperties": false,
            });
        }
        let most = |what: &str| json!({ "type": "integer", "minimum": 1, "description": what });
        json!({
            "type": "object",
            "properties": {
                "graph": graph,
                "inputs": { "type": "object", "description": "The inputs of the graph, as its `config_schema` wants them" },
                "limits": {
                    "type": "object",
                    "description": "The most that the run may use, with its own child runs; what is left of this run's budgets bounds it as well",
                    "properties": {
                        "steps": most("Supersteps"),
                        "fuel": most("Fuel of components and of the host's own work"),
                        "calls": most("Calls of the host that ask the world"),
                        "bytes": most("Bytes of the requests and answers of those calls"),
                        "model": {
                            "type": "object",
                            "description": "The use of language models",
                            "properties": {
                                "calls": most("Requests"),
                                "input_tokens": most("Tokens of requests"),
                                "output_tokens": most("Tokens of answers"),
                                "cost": { "type": "number", "minimum": 0, "description": "The cost, in the manifest's currency" },
                            },
                            "additionalProperties": false,
                        },
                    },
                    "additionalProperties": false,
                },
            },
            "required": ["graph"],
            "additionalProperties": false,
        })
    }
}
