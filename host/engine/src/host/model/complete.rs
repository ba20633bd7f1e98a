//! The functions of `graph-host:host/model`.

use std::sync::Arc;

use graph_core::node::{Category, Failure};
use graph_core::record::LogLevel;
use graph_core::record::journal::MODEL;
use graph_model::exchange::{Call, CallEnd, CallOutcome, ModelAnswer, Provider, not_granted, recorded};
use serde_json::Value;

use super::ask::ModelCallContext;
use super::convert;
use crate::bindings::graph_host::host::model as wit;
use crate::bindings::graph_host::node::types::Failure as WitFailure;
use crate::convert::failure as given_failure;
use crate::host::http::{Destination, ReceivedBytes, Sender};
use crate::journal::AnswerSource;
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
            Ok((at, call)) => self.answer_of_model(at, call).await?,
            // The refusal follows from the request and the grant, so it needs no entry in the journal.
            Err(failure) => Err(failure),
        };
        self.output.ended(begun, INTERFACE, FUNCTION, given.is_ok());
        Ok(match given {
            Ok(ModelAnswer { response, cost, .. }) => Ok(convert::response(response, cost)),
            Err(failure) => Err(given_failure(failure)),
        })
    }

    fn models(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.granted.models.iter().map(|provider| provider.model().rule().name.clone()).collect())
    }

    fn remaining(&mut self) -> wasmtime::Result<wit::Budget> {
        Ok(convert::budget(self.budget.models_left()))
    }
}

impl TaskState {
    /// Reads a request that may be sent, with the index of its model among the granted ones.
    fn readable(&self, request: wit::Request) -> Result<(usize, Call), Failure> {
        let request =
            convert::request(request).map_err(|message| Failure::new(Category::InvalidInput, message))?;
        let models = || self.granted.models.iter().map(Provider::model);
        let at = models().position(|model| model.rule().name == request.model);
        let at = at.ok_or_else(|| not_granted(&request.model, models()))?;
        Ok((at, Call::open(self.granted.models[at].model().clone(), request)?))
    }

    /// Returns the answer to a request, from the provider or from the journal.
    async fn answer_of_model(
        &mut self,
        at: usize,
        call: Call,
    ) -> wasmtime::Result<Result<ModelAnswer, Failure>> {
        self.model_calls += 1;
        let asked = call.asked();
        let name = call.request().model.clone();
        let answer = match self.journal.begin(INTERFACE, FUNCTION, &asked)? {
            AnswerSource::Recorded(kept) => {
                recorded(kept.answer()).ok_or_else(|| self.journal.malformed(&kept))?
            }
            AnswerSource::World => self.ask_model(at, call, asked).await?,
        };
        if let Some(line) = answer.as_ref().ok().and_then(|answered| answered.warning(&name)) {
            self.output.host_line(LogLevel::Warn, &line);
        }
        Ok(answer)
    }

    async fn ask_model(
        &mut self,
        at: usize,
        mut call: Call,
        asked: Value,
    ) -> wasmtime::Result<Result<ModelAnswer, Failure>> {
        let provider = &self.granted.models[at];
        let most = self.limits.response_body;
        let asking = ModelCallContext {
            provider,
            call: self.model_calls,
            caller: (&self.caller.0, self.caller.1),
            budget: &self.budget,
            is_live: self.journal.is_live(),
            services: &self.services,
            output: &self.output,
            sender: Sender {
                outgoing: Arc::clone(provider.outgoing()),
                client: Arc::clone(&self.granted.client),
                most,
                received: ReceivedBytes::for_body_of(most),
                connect: None,
                destination: Some(Destination::from_rule(provider.model().rule())),
                within: Some(provider.model().rule().timeout),
            },
            deadline: self.deadline.into(),
        };
        let ended = if self.services.http.is_some() {
            // Requests that doubles send take no time of the run, whose clock may be virtual.
            Some(asking.ask(&mut call).await)
        } else {
            tokio::time::timeout_at(self.deadline.into(), asking.ask(&mut call)).await.ok()
        };
        // The provider counts a request even if the host no longer waits for it.
        let CallEnd { outcome, kept } = ended.unwrap_or_else(|| self.budget.end_late(&call));
        let journal = &self.journal;
        match outcome {
            CallOutcome::Answered(answered) => {
                journal.record(INTERFACE, FUNCTION, asked, Ok(kept))?;
                Ok(Ok(answered))
            }
            CallOutcome::Failed(failure) => {
                journal.record(INTERFACE, FUNCTION, asked, Err(kept))?;
                Ok(Err(failure))
            }
            CallOutcome::Ends(failure) => {
                Err(journal.record_fault(INTERFACE, FUNCTION, asked, kept.into(), failure).into())
            }
        }
    }
}
