//! What a journal keeps of a call.

use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_core::model_budget::ShortFigure;
use graph_core::node::Failure;
use graph_core::record::journal::{digested, fault_after, model_fault, with_used};
use serde_json::{Value, json};

use crate::json::object;
use crate::{Block, Media, Request, Response};

/// How a call has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What the component gets.
    pub outcome: Outcome,
    /// The result of the call's entry in the journal.
    pub kept: Value,
}

/// What the component gets of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The answer.
    Answered(Answered),
    /// A failure, which it can handle.
    Failed(Failure),
    /// Nothing: the attempt of its task ends.
    Ends(Failure),
}

/// An answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer. Its usage is what was set aside if the provider has not said it.
    pub response: Response,
    /// What it costs, in millionths.
    pub cost: u64,
    /// The most tokens that the answer could have, if the budget had fewer than the request asked for.
    pub shortened: Option<u64>,
}

impl Answered {
    /// What the log says of an answer that could have fewer tokens than the request asked for. `model`: its name in the manifest.
    pub fn warning(&self, model: &str) -> Option<String> {
        let tokens = self.shortened?;
        Some(format!(
            "the answer of the model `{model}` could have {tokens} tokens at most: no more are left of the budget"
        ))
    }

    /// The result of an entry, without what was used.
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

impl Ended {
    /// A call that has used this. `short`: the figure of the budget that ended the attempt.
    pub(super) fn new(outcome: Outcome, short: Option<ShortFigure>, used: ModelUse) -> Self {
        let kept = match (&outcome, short) {
            (Outcome::Answered(answered), _) => with_used(answered.kept(), used),
            (Outcome::Failed(failure), _) => with_used(json!({ "failure": failure }), used),
            (Outcome::Ends(failure), None) => Arc::unwrap_or_clone(fault_after(failure, used).0),
            (Outcome::Ends(failure), Some(short)) => {
                Arc::unwrap_or_clone(model_fault(failure, short, used).0)
            }
        };
        Self { outcome, kept }
    }
}

/// The answer or the failure of a call that a journal has: from the result of its entry, as an error if the entry is not `ok`. None for
/// a result that is not one of a call.
pub fn recorded(kept: Result<&Value, &Value>) -> Option<Result<Answered, Failure>> {
    match kept {
        Ok(answer) => Answered::read(answer).map(Ok),
        Err(error) => serde_json::from_value(error.get("failure")?.clone()).ok().map(Err),
    }
}

/// A request as its entry in a journal has it: whole, with digests of files.
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

/// The rest of a request: a copy of its messages would have copies of files.
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
