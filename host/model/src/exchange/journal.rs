//! Entries of calls in a journal.

use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_core::model_budget::ShortFigure;
use graph_core::node::Failure;
use graph_core::record::journal::{digested, fault_after, model_fault, with_used};
use serde_json::{Value, json};

use crate::json::object;
use crate::{Block, Media, Request, Response};

/// End of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEnd {
    /// Result for the component.
    pub outcome: CallOutcome,
    /// Result of the call's entry in the journal.
    pub kept: Value,
}

/// Result of a call for the component.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// The answer.
    Answered(ModelAnswer),
    /// A failure that the component can handle.
    Failed(Failure),
    /// A failure that ends the attempt of the component's task. The component gets no result.
    Ends(Failure),
}

/// An answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// The answer. If the provider has not reported the usage, it has the tokens that the call is charged for.
    pub response: Response,
    /// Cost of the call, in millionths of the currency.
    pub cost: u64,
    /// Maximum number of tokens of the answer, if the budget had fewer than the request asked for.
    pub shortened: Option<u64>,
}

impl ModelAnswer {
    /// Returns the warning for the log if the answer was limited to fewer tokens than the request asked for. `model` is
    /// the name in the manifest.
    pub fn warning(&self, model: &str) -> Option<String> {
        let tokens = self.shortened?;
        Some(format!(
            "the answer of the model `{model}` could have {tokens} tokens at most: no more are left of the budget"
        ))
    }

    /// Returns the result of an entry, without the usage.
    fn kept(&self) -> Value {
        let mut kept = json!({ "response": self.response });
        if self.cost != 0 {
            kept["cost"] = json!(self.cost);
        }
        if let Some(tokens) = self.shortened {
            kept["max_output"] = json!(tokens);
        }
        kept
    }

    fn read(kept: &Value) -> Option<Self> {
        let figure = |name: &str| match kept.get(name) {
            Some(figure) => figure.as_u64().map(Some),
            None => Some(None),
        };
        Some(Self {
            response: serde_json::from_value(kept.get("response")?.clone()).ok()?,
            cost: figure("cost")?.unwrap_or(0),
            shortened: figure("max_output")?,
        })
    }
}

impl CallEnd {
    /// Creates the end of a call that has used `used`. `short` is the figure of the budget that ended the attempt.
    pub(super) fn new(outcome: CallOutcome, short: Option<ShortFigure>, used: ModelUse) -> Self {
        let kept = match (&outcome, short) {
            (CallOutcome::Answered(answered), _) => with_used(answered.kept(), used),
            (CallOutcome::Failed(failure), _) => with_used(json!({ "failure": failure }), used),
            (CallOutcome::Ends(failure), None) => Arc::unwrap_or_clone(fault_after(failure, used).0),
            (CallOutcome::Ends(failure), Some(short)) => {
                Arc::unwrap_or_clone(model_fault(failure, short, used).0)
            }
        };
        Self { outcome, kept }
    }
}

/// Returns the answer or the failure of a recorded call from the result of its entry, which is an error if the entry is
/// not `ok`. Returns `None` if it is not the result of a call.
pub fn recorded(kept: Result<&Value, &Value>) -> Option<Result<ModelAnswer, Failure>> {
    match kept {
        Ok(answer) => ModelAnswer::read(answer).map(Ok),
        Err(error) => serde_json::from_value(error.get("failure")?.clone()).ok().map(Err),
    }
}

/// Returns a request as it is written to the entry in the journal: the whole request, with digests instead of the
/// content of files.
pub(super) fn asked(request: &Request) -> Value {
    let messages = request.messages.iter().map(|message| {
        let blocks = message.blocks.iter().map(asked_block).collect();
        object([("role", json!(message.role)), ("blocks", Value::Array(blocks))])
    });
    let mut asked = json!(without_messages(request));
    asked["messages"] = Value::Array(messages.collect());
    object([("model", request.model.as_str().into()), ("request", asked)])
}

fn asked_block(block: &Block) -> Value {
    match block {
        Block::Media(Media { media_type, data }) => {
            json!({ "media": { "media_type": media_type, "data": digested(data) } })
        }
        other => json!(other),
    }
}

/// Copies a request without its messages, which could contain large files.
fn without_messages(request: &Request) -> Request {
    Request {
        model: request.model.clone(),
        system: request.system.clone(),
        messages: Vec::new(),
        tools: request.tools.clone(),
        tool_choice: request.tool_choice.clone(),
        output_schema: request.output_schema.clone(),
        max_output: request.max_output,
        temperature: request.temperature,
        stop: request.stop.clone(),
    }
}
