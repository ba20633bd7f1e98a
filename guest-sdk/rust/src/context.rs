//! Context of a node's task.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::failure::Stop;

pub use crate::bindings::graph_host::node::types::Activation;

/// Task that a node performs, and the questions that it asks.
#[derive(Debug)]
pub struct Context {
    activation: Activation,
    asked: Cell<usize>,
}

impl Context {
    /// Creates the context of an activation.
    #[doc(hidden)]
    pub fn new(activation: Activation) -> Self {
        Self { activation, asked: Cell::new(0) }
    }

    /// Returns all data of the task from the host. `argument` and `answers` are JSON texts.
    pub fn activation(&self) -> &Activation {
        &self.activation
    }

    /// Returns the argument of the send, or the item of the `foreach`, that created this task.
    pub fn argument<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        self.activation
            .argument
            .as_deref()
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| Failure::invalid_input(format_args!("the task's argument: {error}")))
    }

    /// Asks a person, and returns the answer. At first there is none: `?` then ends the call and the task is suspended.
    /// Once there is an answer, the node runs again from its start. It has to ask its questions in the same order each
    /// time.
    pub fn ask<T: DeserializeOwned>(&self, question: impl Serialize) -> Result<T, Failure> {
        let index = self.asked.replace(self.asked.get() + 1);
        match self.activation.answers.get(index) {
            Some(answer) => serde_json::from_str(answer)
                .map_err(|error| Failure::invalid_input(format_args!("answer {}: {error}", index + 1))),
            None => Err(Failure(Stop::Asked(serde_json::to_value(question)?))),
        }
    }
}
