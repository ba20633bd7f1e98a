//! One call of a language model, in the place where the component runs.

use std::time::Duration;

use graph_core::capability::{EffectiveGrant, HttpField};
use graph_core::json::{self, TreeLimit, canonical_string};
use graph_core::node::{Category, Failure};
use graph_model::EncodedRequest;
use graph_model::exchange::{
    self, CallEnd, CallOutcome, ComponentRequest, ComponentResponse, Model, NextStep,
};
use serde_json::{Value, json};

use super::budget::ComponentBudget;
use crate::{Problem, read};

/// One call of a language model.
#[derive(Debug)]
pub struct ModelCall(exchange::Call);

/// Part of a request that this side knows; the provider adds the URL and the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRequest {
    /// Header fields of the API, with names in lower case.
    pub fields: Vec<HttpField>,
    /// JSON body.
    pub body: Vec<u8>,
}

impl ModelCall {
    /// Opens a call from a grant and the request of the component, both as JSON. The error is the failure that the component gets, as
    /// JSON: it follows from the arguments, and needs no entry in the journal.
    pub fn open(grant: &str, request: &str) -> Result<Self, String> {
        Self::opened(grant, request).map_err(|failure| canonical_string(&json!(failure)))
    }

    fn opened(grant: &str, request: &str) -> Result<Self, Failure> {
        let internal = |problem: Problem| Failure::new(Category::Internal, problem.message);
        let grant: EffectiveGrant = read::document("grant", grant).map_err(internal)?;
        let given: ComponentRequest = read::document("request", request).map_err(internal)?;
        let request = given.read().map_err(|message| Failure::new(Category::InvalidInput, message))?;
        let models: Vec<_> = grant.models.into_iter().map(Model::new).collect();
        let model = models.iter().find(|model| model.rule().name == request.model);
        let model = model.ok_or_else(|| exchange::not_granted(&request.model, &models))?;
        exchange::Call::open(model.clone(), request).map(Self)
    }

    /// Returns the request for the call's entry in the journal, as canonical JSON.
    pub fn asked(&self) -> String {
        canonical_string(&self.0.asked())
    }

    /// Starts a try, and reserves its possible use. The error is the outcome of the call, as JSON: nothing is sent.
    pub fn begin(&mut self, budget: &mut ComponentBudget) -> Result<PartialRequest, String> {
        // Answers are not streamed, whatever the manifest allows: a page shows no parts of them.
        match self.0.begin(&mut budget.own, false) {
            Ok(encoded) => Ok(sending(encoded)),
            Err(ended) => Err(self.written(*ended)),
        }
    }

    /// Returns the model use of the task's attempt, by all components together, including the reservation of this try, as JSON. It is
    /// stored before the request is sent.
    pub fn total(&self, budget: &ComponentBudget) -> String {
        canonical_string(&json!(budget.used_around().plus(self.0.reserved())))
    }

    /// Takes the outcome of the try from [`Provider`](super::Provider), and returns that of the call, as JSON: the call has ended, or
    /// waits before the next try. `left` is the time that the component may still wait, in milliseconds.
    pub fn settle(
        &mut self,
        budget: &mut ComponentBudget,
        tried: &str,
        left: u64,
    ) -> Result<String, Problem> {
        let tried = json::read(tried, TreeLimit::ANSWER).map_err(|error| {
            Problem::new("invalid_json", format!("the outcome of the try cannot be read: {error}"))
        })?;
        Ok(match self.0.settle(&mut budget.own, tried, Duration::from_millis(left)) {
            NextStep::Retry(wait) => {
                canonical_string(&json!({ "wait": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }))
            }
            NextStep::Ended(ended) => self.written(ended),
        })
    }

    /// Ends a call whose time is over: its reservation counts as used, because the provider counts it. Returns the outcome of the call,
    /// as JSON.
    pub fn late(&self, budget: &mut ComponentBudget) -> String {
        self.written(self.0.late(&mut budget.own))
    }

    /// Returns the outcome of a recorded call, as JSON, from the result of its entry in the journal; `None` for a result that is not one
    /// of this function.
    pub fn recorded(&self, result: &str, ok: bool) -> Option<String> {
        let kept = read::value("result", result).ok()?;
        let outcome = match exchange::recorded(if ok { Ok(&kept) } else { Err(&kept) })? {
            Ok(answered) => CallOutcome::Answered(answered),
            Err(failure) => CallOutcome::Failed(failure),
        };
        Some(self.written(CallEnd { outcome, kept }))
    }

    fn written(&self, CallEnd { outcome, kept }: CallEnd) -> String {
        let written = match outcome {
            CallOutcome::Answered(answered) => {
                let warning = answered.warning(&self.0.request().model);
                let response = ComponentResponse::new(answered.response, answered.cost);
                let mut written = json!({ "ok": true, "kept": kept, "response": response });
                if let Some(line) = warning {
                    written["warning"] = Value::String(line);
                }
                written
            }
            CallOutcome::Failed(failure) => json!({ "ok": false, "kept": kept, "failure": failure }),
            CallOutcome::Ends(failure) => json!({ "ok": false, "kept": kept, "ends": failure }),
        };
        canonical_string(&written)
    }
}

fn sending(encoded: EncodedRequest) -> PartialRequest {
    let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    PartialRequest { fields: encoded.headers.iter().map(field).collect(), body: encoded.body }
}
