//! Outcome of a node.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Failure;
use crate::bindings::exports::graph_host::node::action as wit;
use crate::bindings::graph_host::node::types as wit_types;

/// Outcome of a node that can return more than a result.
#[derive(Debug, PartialEq)]
pub enum Outcome<T = Value> {
    /// Value for the node's `assign`.
    Result(T),
    /// Direct writes and routing, as far as the graph's node permits.
    Command(Command),
    /// Question to a person. [`Context::ask`](crate::Context::ask) also asks one, and returns the answer.
    Interrupt(Value),
}

/// Direct writes and routing.
///
/// ```
/// use graph_sdk::Command;
/// let command = Command::new().write("verdict", "good").goto("publish").send("notify", serde_json::json!({"to": "x"}));
/// ```
#[derive(Debug, Default, PartialEq)]
pub struct Command {
    update: Map<String, Value>,
    goto: Vec<(String, Option<Value>)>,
}

impl Command {
    /// Creates a command that writes nothing and leaves the routing to the node's `next`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a value to a channel.
    #[must_use]
    pub fn write(mut self, channel: impl Into<String>, value: impl Into<Value>) -> Self {
        self.update.insert(channel.into(), value.into());
        self
    }

    /// Adds a node to run next.
    #[must_use]
    pub fn goto(mut self, node: impl Into<String>) -> Self {
        self.goto.push((node.into(), None));
        self
    }

    /// Adds a separate task of a node, with an argument.
    #[must_use]
    pub fn send(mut self, node: impl Into<String>, argument: impl Into<Value>) -> Self {
        self.goto.push((node.into(), Some(argument.into())));
        self
    }
}

/// Functions for tests.
#[cfg(not(target_arch = "wasm32"))]
impl Command {
    /// Returns the written values, by channel.
    ///
    /// ```
    /// use graph_sdk::Command;
    /// let command = Command::new().write("verdict", "good").goto("publish");
    /// assert_eq!(command.writes()["verdict"], "good");
    /// assert_eq!(command.targets(), [("publish".to_owned(), None)]);
    /// ```
    pub fn writes(&self) -> &Map<String, Value> {
        &self.update
    }

    /// Returns the targets, in order: nodes, each with the argument if it is a send.
    pub fn targets(&self) -> &[(String, Option<Value>)] {
        &self.goto
    }
}

impl<T> From<Command> for Outcome<T> {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

/// Return value of a node's function: a type that can be serialised and has a schema, an [`Outcome`], or a [`Command`].
pub trait Answer {
    /// Returns the schema of the result.
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema;

    /// Converts to the outcome of the contract.
    #[doc(hidden)]
    fn into_wit(self) -> Result<wit::Outcome, Failure>;
}

impl<T: Serialize + JsonSchema> Answer for T {
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.root_schema_for::<T>()
    }

    fn into_wit(self) -> Result<wit::Outcome, Failure> {
        serde_json::to_string(&self)
            .map(wit::Outcome::Result)
            .map_err(|error| Failure::internal(format_args!("the result cannot be written as JSON: {error}")))
    }
}

impl<T: Serialize + JsonSchema> Answer for Outcome<T> {
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.root_schema_for::<T>()
    }

    fn into_wit(self) -> Result<wit::Outcome, Failure> {
        match self {
            Self::Result(value) => value.into_wit(),
            Self::Command(command) => command.into_wit(),
            Self::Interrupt(question) => Ok(wit::Outcome::Interrupt(question.to_string())),
        }
    }
}

impl Answer for Command {
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.root_schema_for::<()>()
    }

    fn into_wit(self) -> Result<wit::Outcome, Failure> {
        let goto = self
            .goto
            .into_iter()
            .map(|(node, argument)| wit_types::Target {
                node,
                argument: argument.map(|value| value.to_string()),
            })
            .collect();
        Ok(wit::Outcome::Command(wit_types::Command { update: Value::Object(self.update).to_string(), goto }))
    }
}
