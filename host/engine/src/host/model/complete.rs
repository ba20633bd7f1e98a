//! The functions of `graph-host:host/model`.

use std::sync::Arc;

use graph_core::capability::ModelRule;
use graph_core::node::{Category, Failure};
use graph_core::record::journal::{MODEL, fault_after, model_fault, with_used};
use graph_model::Request;
use serde_json::{Value, json};

use super::ask::{Answered, Asked, Asking};
use super::convert;
use crate::bindings::graph_host::host::model as wit;
use crate::bindings::graph_host::node::types::Failure as WitFailure;
use crate::classify::GuestFault;
use crate::convert::failure as given_failure;
use crate::host::escape;
use crate::host::http::{Received, Sender};
use crate::host::output::Level;
use crate::journal::Answer;
use crate::state::TaskState;

const INTERFACE: &str = MODEL.0;
const FUNCTION: &str = MODEL.1;

impl wit::Host for TaskState {
    async fn complete(
        &mut self,
        request: wit::Request,
    ) -> wasmtime::Result<Result<wit::Response, WitFailure>> {
        let begun = self.output.begin();
        let given = match self.readable(request) {
            Ok((at, request)) => self.answer_of_model(at, &request).await?,
            // The refusal follows from the request and the grant, so it needs no entry in the journal.
            Err(failure) => Err(failure),
        };
        self.output.ended(begun, INTERFACE, FUNCTION, given.is_ok());
        Ok(match given {
            Ok(Answered { response, cost, .. }) => Ok(convert::response(response, cost)),
            Err(failure) => Err(given_failure(failure)),
        })
    }

    fn models(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.granted.models.iter().map(|model| model.rule.name.clone()).collect())
    }

    fn remaining(&mut self) -> wasmtime::Result<wit::Budget> {
        Ok(convert::budget(self.journal.model_left()))
    }
}

impl TaskState {
    /// A request that may be sent, with the place of its model among the granted ones.
    fn readable(&self, request: wit::Request) -> Result<(usize, Request), Failure> {
        let invalid = |message| Failure::new(Category::InvalidInput, message);
        let request = convert::request(request).map_err(invalid)?;
        let models = &self.granted.models;
        let at = models.iter().position(|model| model.rule.name == request.model).ok_or_else(|| {
            let rules: Vec<_> = models.iter().map(|model| &model.rule).collect();
            Failure::new(Category::Denied, not_granted(&request.model, &rules))
        })?;
        request.check().map_err(|error| invalid(error.to_string()))?;
        let model = &models[at];
        let max_output = model.max_output(&request);
        let encoded =
            model.encode(&request, max_output, false).map_err(|error| invalid(error.to_string()))?;
        if encoded.media_blocks() > 0 && model.rule.media_tokens.is_none() {
            let name = &model.rule.name;
            let message = format!(
                "the request has a file, and the manifest does not say how many tokens a file counts as: `models: {{ {name}: {{ \
                 media_tokens: 2000 }} }}`"
            );
            return Err(Failure::new(Category::Denied, message));
        }
        Ok((at, request))
    }

    /// The answer to a request, from the provider or from the journal.
    async fn answer_of_model(
        &mut self,
        at: usize,
        request: &Request,
    ) -> wasmtime::Result<Result<Answered, Failure>> {
        self.model_calls += 1;
        let asked = convert::asked(request);
        let answer = match self.journal.begin(INTERFACE, FUNCTION, &asked)? {
            Answer::Recorded(kept) => {
                let read = match kept.answer() {
                    Ok(answer) => read_answer(answer).map(Ok),
                    Err(error) => read_failure(error).map(Err),
                };
                read.ok_or_else(|| self.journal.malformed(&kept))?
            }
            Answer::World => self.ask_model(at, request, asked).await?,
        };
        if let Ok(Answered { shortened: Some(tokens), .. }) = &answer {
            let line = format!(
                "the answer of the model `{}` could have {tokens} tokens at most: no more are left of the budget",
                request.model
            );
            self.output.host_line(Level::Warn, &line);
        }
        Ok(answer)
    }

    async fn ask_model(
        &mut self,
        at: usize,
        request: &Request,
        asked: Value,
    ) -> wasmtime::Result<Result<Answered, Failure>> {
        let before = self.journal.model_used();
        let model = &self.granted.models[at];
        let most = self.limits.response_body;
        let asking = Asking {
            model,
            request,
            call: self.model_calls,
            caller: (&self.caller.0, self.caller.1),
            journal: &self.journal,
            services: &self.services,
            output: &self.output,
            sender: Sender {
                outgoing: Arc::clone(&model.outgoing),
                client: Arc::clone(&self.granted.client),
                most,
                received: Received::for_body_of(most),
                connect: None,
                within: Some(model.rule.timeout),
            },
            deadline: self.deadline.into(),
        };
        let outcome = if self.services.http.is_some() {
            // What doubles send takes no time of the run, whose clock may be virtual.
            Some(asking.ask().await)
        } else {
            tokio::time::timeout_at(self.deadline.into(), asking.ask()).await.ok()
        };
        let ends = |result, failure: Failure| -> wasmtime::Error {
            self.journal.record_fault(INTERFACE, FUNCTION, asked.clone(), result);
            GuestFault::from(failure).into()
        };
        let used = || self.journal.model_used().less(before);
        match outcome {
            None => {
                // The provider counts a request that the host no longer waits for.
                self.journal.forfeit_model();
                let message = format!("it ran past its deadline while it waited for {}", model.shown());
                let failure = Failure::new(Category::Timeout, message);
                Err(ends(fault_after(&failure, used()), failure))
            }
            Some(Asked::Exceeded(short, failure)) => Err(ends(model_fault(&failure, short, used()), failure)),
            Some(Asked::Ended(failure)) => Err(ends(fault_after(&failure, used()), failure)),
            Some(Asked::Answered(answered)) => {
                let entry = with_used(kept_answer(&answered), used());
                self.journal.record(INTERFACE, FUNCTION, asked, Ok(entry))?;
                Ok(Ok(answered))
            }
            Some(Asked::Failed(failure)) => {
                let entry = with_used(json!({ "failure": failure }), used());
                self.journal.record(INTERFACE, FUNCTION, asked, Err(entry))?;
                Ok(Err(failure))
            }
        }
    }
}

fn not_granted(name: &str, granted: &[&ModelRule]) -> String {
    let names: Vec<_> = granted.iter().map(|rule| format!("`{}`", rule.name)).collect();
    let name = escape(name.get(..name.floor_char_boundary(64)).unwrap_or_default());
    format!(
        "its grant has no model `{name}`; it has {}. `model: [{name}]` in the manifest's entry for the component grants it, if \
         `models` names it",
        names.join(", ")
    )
}

/// The result of an entry, without what was used.
fn kept_answer(answered: &Answered) -> Value {
    let mut kept = json!({ "response": answered.response });
    if answered.cost != 0 {
        kept["cost"] = json!(answered.cost);
    }
    if let Some(tokens) = answered.shortened {
        kept["max_output"] = json!(tokens);
    }
    kept
}

fn read_answer(kept: &Value) -> Option<Answered> {
    let figure = |name: &str| match kept.get(name) {
        Some(figure) => figure.as_u64().map(Some),
        None => Some(None),
    };
    Some(Answered {
        response: serde_json::from_value(kept.get("response")?.clone()).ok()?,
        cost: figure("cost")?.unwrap_or(0),
        shortened: figure("max_output")?,
    })
}

fn read_failure(kept: &Value) -> Option<Failure> {
    serde_json::from_value(kept.get("failure")?.clone()).ok()
}
