//! Calls a model: sends requests, waits, and retries.

use std::time::SystemTime;

use graph_core::capability::HttpResponse;
use graph_core::limits::ModelUse;
use graph_core::node::{Category, Failure};
use graph_model::EncodedRequest;
use graph_model::exchange::{
    AttemptOutcome, AttemptResult, Call, CallEnd, Charge, ExchangeObstacle, NextStep, Provider,
};
use tokio::time::Instant;

use super::granted;
use super::show::{AnswerReporter, ArrivingAnswer};
use crate::host::http::{Kind, ReceivedBytes, ResponseReceiver as _, Sender};
use crate::host::output::Output;
use crate::services::{AskedModel, DoubledModel, Services};
use crate::task_budget::TaskBudget;

/// The context of a call of a model.
pub(super) struct ModelCallContext<'a> {
    pub(super) provider: &'a Provider,
    /// The call of the component, from 1.
    pub(super) call: u64,
    /// The component's idempotency key, and the attempt of its task.
    pub(super) caller: (&'a str, u32),
    pub(super) budget: &'a TaskBudget,
    /// `true` if the outside world answers a recorded attempt again.
    pub(super) is_live: bool,
    pub(super) services: &'a Services,
    pub(super) output: &'a Output,
    /// The sender, cloned for each attempt.
    pub(super) sender: Sender,
    pub(super) deadline: Instant,
}

impl ModelCallContext<'_> {
    /// Sends requests until there is an answer, as often as the manifest allows.
    pub(super) async fn ask(&self, call: &mut Call) -> CallEnd {
        let streamed = self.provider.model().rule().stream && self.services.http.is_none();
        loop {
            let encoded = match self.budget.reserve(call, streamed) {
                Ok(encoded) => encoded,
                Err(ended) => return *ended,
            };
            if let Some(ledger) = &self.services.ledger
                && !ledger.record(self.services.meter.total(), &call.request().model).await
            {
                let message = "the run does not wait for it any more".to_owned();
                let failure = Failure::new(Category::Internal, message);
                return self.budget.end(call, ModelUse::NOTHING, failure);
            }
            let mut tried = match self.try_once(call, encoded).await {
                Ok(tried) => tried,
                Err(failure) => return self.budget.end(call, call.used(&Charge::Call), failure),
            };
            // A live replay sends at most as many requests as were sent before.
            if let AttemptResult::Unanswered(unanswered) = &mut tried.result {
                unanswered.again &= !self.is_live;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.budget.settle(call, tried, left) {
                NextStep::Retry(wait) => tokio::time::sleep(wait).await,
                NextStep::Ended(ended) => return ended,
            }
        }
    }

    /// Performs one attempt. The error ends the attempt of the task, since doubles have no answer.
    async fn try_once(&self, call: &Call, encoded: EncodedRequest) -> Result<AttemptOutcome, Failure> {
        let (key, of_task) = self.caller;
        let request = call.request();
        let asked = AskedModel { model: &request.model, request, key, attempt: of_task, call: self.call };
        match self.services.model.as_ref().map(|doubles| doubles.answer(&asked)) {
            None | Some(DoubledModel::Send) => self.send(encoded, call.attempt()).await,
            Some(DoubledModel::Answer(response)) => {
                AnswerReporter::new(self.provider, self.output, self.call, call.attempt()).whole(&response);
                Ok(AttemptOutcome::answered(response))
            }
            Some(DoubledModel::Fail(failure)) => Ok(AttemptOutcome::failed(failure, false, Charge::Call)),
            Some(DoubledModel::Missing(message)) => Err(Failure::new(Category::Denied, message)),
        }
    }

    async fn send(&self, encoded: EncodedRequest, attempt: u32) -> Result<AttemptOutcome, Failure> {
        let shown = AnswerReporter::new(self.provider, self.output, self.call, attempt);
        let most = self.sender.most;
        let mut arriving = ArrivingAnswer::new(shown, most);
        let request = granted::http(self.provider, encoded);
        let sender = Sender { received: ReceivedBytes::for_body_of(most), ..self.sender.clone() };
        let answer = match &self.services.http {
            None => sender.send(request, &mut arriving).await.map(dated),
            Some(doubles) => {
                let answer = sender.doubled(&**doubles, request).await?;
                if let Ok(HttpResponse { status, fields, body }) = &answer {
                    arriving.head(*status, fields);
                    let _ = arriving.chunk(body);
                }
                answer
            }
        };
        Ok(match answer {
            Err(problem) => {
                self.provider.not_exchanged(obstacle(problem.kind), &problem.message, arriving.usage())
            }
            Ok(response) => self.provider.read(&response, |body| arriving.read(body)),
        })
    }
}

/// Adds the time of arrival as `date` to a response whose server has not stated one (RFC 9110, section 6.6.1).
fn dated(mut response: HttpResponse) -> HttpResponse {
    if !response.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("date")) {
        let now = httpdate::fmt_http_date(SystemTime::now());
        response.fields.push(("date".to_owned(), now.into_bytes()));
    }
    response
}

fn obstacle(kind: Kind) -> ExchangeObstacle {
    match kind {
        Kind::Dns | Kind::Refused | Kind::Tls => ExchangeObstacle::Unreachable,
        Kind::ConnectTimeout => ExchangeObstacle::ConnectTimeout,
        Kind::Denied | Kind::AddressDenied => ExchangeObstacle::Denied,
        Kind::Certificate | Kind::Uri => ExchangeObstacle::Invalid,
        Kind::Terminated => ExchangeObstacle::Terminated,
        Kind::ResponseTimeout => ExchangeObstacle::ResponseTimeout,
        Kind::RequestBody | Kind::ResponseBody | Kind::ResponseFields | Kind::Encoding | Kind::Protocol => {
            ExchangeObstacle::Unusable
        }
    }
}
