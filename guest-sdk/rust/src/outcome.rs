//! What a node answers.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Failure;
use crate::bindings::exports::graph_host::node::action as wit;
use crate::bindings::graph_host::node::types as wit_types;

/// What a node answers when it may answer more than a result.
#[derive(Debug, PartialEq)]
pub enum Outcome<T = Value> {
    /// A value for the node's `assign`.
    Result(T),
    /// Direct writes and routing, within what the graph's node entry allows.
    Command(Command),
    /// A question to a person. [`Context::ask`](crate::Context::ask) does the same and gives the answer.
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
    /// A command that writes nothing and leaves routing to the node's `next`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a value to a channel.
    #[must_use]
    pub fn write(mut self, channel: impl Into<String>, value: impl Into<Value>) -> Self {
        self.update.insert(channel.into(), value.into());
        self
    }

    /// Goes to a node.
    #[must_use]
    pub fn goto(mut self, node: impl Into<String>) -> Self {
        self.goto.push((node.into(), None));
        self
    }

    /// Makes a task of its own for a node, with an argument.
    #[must_use]
    pub fn send(mut self, node: impl Into<String>, argument: impl Into<Value>) -> Self {
        self.goto.push((node.into(), Some(argument.into())));
        self
    }
}

/// What a test reads.
#[cfg(not(target_arch = "wasm32"))]
impl Command {
    /// What it writes, by channel.
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

    /// Where it goes, in order: nodes, each with the argument if it is a send.
    pub fn targets(&self) -> &[(String, Option<Value>)] {
        &self.goto
    }
}

impl<T> From<Command> for Outcome<T> {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

/// What a node's function may give back: anything that serialises and has a schema, an [`Outcome`], or a [`Command`].
pub trait Answer {
    /// The schema of the result.
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema;

    /// The answer on the wire.
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
