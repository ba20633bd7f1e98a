//! Asks a model: sets aside what a request may use, sends it, settles, and tries again.

use std::time::Duration;

use graph_core::capability::{HttpResponse, ModelTokens};
use graph_core::limits::{ModelFigure, ModelUse};
use graph_core::node::{Category, Failure};
use graph_model::{DecodeError, ErrorAnswer, Request, Response, Usage};
use tokio::time::Instant;

use super::show::{ArrivingAnswer, Shown};
use super::{GrantedModel, convert};
use crate::host::escape;
use crate::host::http::{Arriving as _, Kind, Problem, Received, Sender};
use crate::host::output::Output;
use crate::journal::SharedJournal;
use crate::services::{AskedModel, DoubledModel, Services};

/// How long the host waits before the second try, unless the provider says how long. It doubles with each try.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest that it waits by itself.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a call of a model is made with.
pub(super) struct Asking<'a> {
    pub(super) model: &'a GrantedModel,
    pub(super) request: &'a Request,
    /// Which call of the component it is, from 1.
    pub(super) call: u64,
    /// The component's idempotency key, and the attempt of its task.
    pub(super) caller: (&'a str, u32),
    pub(super) journal: &'a SharedJournal,
    pub(super) services: &'a Services,
    pub(super) output: &'a Output,
    /// One for each try.
    pub(super) sender: Sender,
    pub(super) deadline: Instant,
}

/// The outcome of a call.
pub(super) enum Asked {
    /// The answer.
    Answered(Answered),
    /// A failure for the component.
    Failed(Failure),
    /// A figure of the budget does not suffice, or was exceeded: the attempt ends.
    Exceeded(ModelFigure, Failure),
    /// The attempt ends: a case has no answer.
    Ended(Failure),
}

/// An answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answered {
    /// The answer. Its usage is what was set aside if the provider has not said it.
    pub(super) response: Response,
    /// What it costs, in millionths.
    pub(super) cost: u64,
    /// The most tokens that the answer could have, if the budget had fewer than the request asked for.
    pub(super) shortened: Option<u64>,
}

/// The outcome of one try.
struct Tried {
    result: Result<Response, Unanswered>,
    spent: Spent,
}

/// Why a try has no answer.
struct Unanswered {
    failure: Failure,
    /// Whether the same request may be answered later.
    again: bool,
    /// How long the provider asks to wait.
    wait: Option<Duration>,
    /// A double has ended the attempt.
    ends: bool,
}

/// What a try has used.
enum Spent {
    /// Nothing but the call: the provider has refused it, or was not reached.
    Call,
    /// What the provider says.
    Said(Usage),
    /// It is not known: everything that was set aside, and at least what the provider has said.
    Unknown(Option<Usage>),
}

impl Asking<'_> {
    /// Asks until there is an answer, as often as the manifest allows.
    pub(super) async fn ask(&self) -> Asked {
        // A live replay sends no more requests than were sent before.
        let attempts = if self.journal.is_live() { 1 } else { self.model.rule.attempts };
        let mut attempt = 1;
        loop {
            let (reserved, tried) = match self.attempt(attempt).await {
                Ok(tried) => tried,
                Err(ended) => return ended,
            };
            let used = self.used(&tried.spent, reserved);
            if let Some(overrun) = self.journal.settle_model(reserved, used) {
                let failure = Failure::new(Category::Limit, format!("{}: {overrun}", self.model.shown()));
                return Asked::Exceeded(overrun.figure, failure);
            }
            let unanswered = match tried.result {
                Ok(response) => return self.answered(response, reserved, used),
                Err(unanswered) if unanswered.ends => return Asked::Ended(unanswered.failure),
                Err(unanswered) => unanswered,
            };
            let failure = unanswered.failure;
            if !unanswered.again || attempt >= attempts {
                return Asked::Failed(failure);
            }
            let wait = unanswered.wait.unwrap_or_else(|| own_wait(attempt));
            if Instant::now().checked_add(wait).is_none_or(|then| then >= self.deadline) {
                let message = format!(
                    "{}; to wait {wait:?} for another try would exceed the task's time",
                    failure.message
                );
                return Asked::Failed(Failure { message, ..failure });
            }
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Sets aside what a request may use, and sends it once.
    async fn attempt(&self, attempt: u32) -> Result<(ModelUse, Tried), Asked> {
        let Self { model, request, .. } = self;
        let refused = |failure| Asked::Failed(failure);
        let streamed = model.rule.stream && self.services.http.is_none();
        let wanted = model.max_output(request);
        let whole = model.encode(request, wanted, streamed);
        let mut encoded =
            whole.map_err(|error| refused(Failure::new(Category::InvalidInput, error.to_string())))?;
        let input = encoded.bound_input(model.rule.media_tokens.unwrap_or(0));
        let last = request.is_without_tools();
        let reserved = self.journal.reserve_model(input, wanted, &model.rule.price, last);
        let reserved = reserved.map_err(|shortage| {
            let failure = Failure::new(Category::Limit, format!("{}: {shortage}", model.shown()));
            if !last && self.journal.keeps_a_last_request() {
                // The component may still ask without tools.
                let details = Some(serde_json::json!({ "finish": true }));
                return refused(Failure { details, ..failure });
            }
            Asked::Exceeded(shortage.figure, failure)
        })?;
        if reserved.output < wanted {
            // A smaller figure takes no more bytes, so that the bound remains one.
            if let Ok(shorter) = model.encode(request, reserved.output, streamed) {
                encoded = shorter;
            }
        }
        if let Some(ledger) = &self.services.ledger
            && !ledger.record(self.services.meter.total(), &model.rule.name).await
        {
            self.journal.settle_model(reserved, ModelUse::NOTHING);
            let message = "the run does not wait for it any more".to_owned();
            return Err(Asked::Ended(Failure::new(Category::Internal, message)));
        }
        let (key, of_task) = self.caller;
        let asked = AskedModel { model: &model.rule.name, request, key, attempt: of_task, call: self.call };
        let tried = match self.services.model.as_ref().map(|doubles| doubles.answer(&asked)) {
            None | Some(DoubledModel::Send) => self.send(encoded, attempt).await,
            Some(double) => self.doubled(double, attempt),
        };
        Ok((reserved, tried))
    }

    fn used(&self, spent: &Spent, reserved: ModelUse) -> ModelUse {
        let said = |usage: Usage| {
            let Usage { input, output, cached, cache_write, .. } = usage;
            let cost = self.model.rule.price.cost(ModelTokens { input, output, cached, cache_write });
            ModelUse { calls: 1, input, output, cost }
        };
        match spent {
            Spent::Call => ModelUse { calls: 1, ..ModelUse::NOTHING },
            Spent::Said(usage) => said(*usage),
            Spent::Unknown(None) => reserved,
            Spent::Unknown(Some(usage)) => {
                let least = said(*usage);
                ModelUse {
                    calls: 1,
                    input: reserved.input.max(least.input),
                    output: reserved.output.max(least.output),
                    cost: reserved.cost.max(least.cost),
                }
            }
        }
    }

    fn answered(&self, mut response: Response, reserved: ModelUse, used: ModelUse) -> Asked {
        let ModelUse { input, output, cost, .. } = used;
        response.usage.get_or_insert(Usage { input, output, ..Usage::default() });
        let shortened = (reserved.output < self.model.max_output(self.request)).then_some(reserved.output);
        Asked::Answered(Answered { response, cost, shortened })
    }

    fn doubled(&self, double: DoubledModel, attempt: u32) -> Tried {
        let ended = |failure| Unanswered { failure, again: false, wait: None, ends: true };
        match double {
            DoubledModel::Answer(response) => {
                let spent = response.usage.map_or(Spent::Unknown(None), Spent::Said);
                Shown::new(self.model, self.output, self.call, attempt).whole(&response);
                Tried { result: Ok(response), spent }
            }
            DoubledModel::Fail(failure) => {
                Tried { result: Err(Unanswered { ends: false, ..ended(failure) }), spent: Spent::Call }
            }
            DoubledModel::Missing(message) => {
                Tried { result: Err(ended(Failure::new(Category::Denied, message))), spent: Spent::Call }
            }
            DoubledModel::Send => {
                let failure = Failure::new(Category::Internal, "a request that is sent was not sent");
                Tried { result: Err(ended(failure)), spent: Spent::Call }
            }
        }
    }

    async fn send(&self, encoded: graph_model::Encoded, attempt: u32) -> Tried {
        let shown = Shown::new(self.model, self.output, self.call, attempt);
        let most = self.sender.most;
        let mut arriving = ArrivingAnswer::new(shown, most);
        let request = self.model.http(encoded);
        let sender = Sender { received: Received::for_body_of(most), ..self.sender.clone() };
        let answer = match &self.services.http {
            None => sender.send(request, &mut arriving).await,
            Some(doubles) => match sender.doubled(&**doubles, request).await {
                Ok(answer) => {
                    if let Ok(HttpResponse { status, fields, body }) = &answer {
                        arriving.head(*status, fields);
                        let _ = arriving.chunk(body);
                    }
                    answer
                }
                Err(failure) => {
                    let result = Err(Unanswered { failure, again: false, wait: None, ends: true });
                    return Tried { result, spent: Spent::Call };
                }
            },
        };
        match answer {
            Err(problem) => self.not_exchanged(&problem, arriving.usage()),
            Ok(response) if response.status != 200 => self.refused(&response),
            Ok(response) => match arriving.read(&response).and_then(|answer| self.cleaned(&answer)) {
                Ok(answer) => {
                    let spent = answer.usage.map_or(Spent::Unknown(None), Spent::Said);
                    Tried { result: Ok(answer), spent }
                }
                Err(error) => self.unreadable(&error),
            },
        }
    }

    /// An answer without the key, whose parts the provider may have sent apart.
    fn cleaned(&self, answer: &Response) -> Result<Response, DecodeError> {
        let shape =
            |expected| DecodeError::Shape { path: "message".to_owned(), expected, usage: answer.usage };
        let mut value =
            serde_json::to_value(answer).map_err(|_| shape("an answer that JSON can represent"))?;
        if !convert::is_shallow(&value) {
            return Err(shape("an answer that nests less deeply"));
        }
        self.model.outgoing.clean_json(&mut value);
        serde_json::from_value(value).map_err(|_| shape("an answer without the key"))
    }

    fn failure(&self, category: Category, text: &str) -> Failure {
        let text = self.model.outgoing.clean(text.to_owned());
        Failure::new(category, format!("{}: {}", self.model.shown(), escape(&text)))
    }

    /// No response, or none that could be read to its end.
    fn not_exchanged(&self, problem: &Problem, usage: Option<Usage>) -> Tried {
        let (category, again, is_sent) = match problem.kind {
            Kind::Dns | Kind::Refused | Kind::Tls => (Category::Transient, true, false),
            Kind::ConnectTimeout => (Category::Timeout, true, false),
            Kind::Denied | Kind::AddressDenied => (Category::Denied, false, false),
            Kind::Certificate | Kind::Uri => (Category::Permanent, false, false),
            Kind::Terminated => (Category::Transient, true, true),
            Kind::ResponseTimeout => (Category::Timeout, false, true),
            Kind::RequestBody
            | Kind::ResponseBody
            | Kind::ResponseFields
            | Kind::Encoding
            | Kind::Protocol => (Category::Permanent, false, true),
        };
        let failure = self.failure(category, &problem.message);
        let spent = if is_sent { Spent::Unknown(usage) } else { Spent::Call };
        Tried { result: Err(Unanswered { failure, again, wait: None, ends: false }), spent }
    }

    /// The provider has answered that it does not answer.
    fn refused(&self, response: &HttpResponse) -> Tried {
        let fields: Vec<_> = response
            .fields
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?)))
            .collect();
        let answer = ErrorAnswer::new(response.status, fields, &response.body);
        Tried { result: Err(self.provider_failed(&answer)), spent: Spent::Call }
    }

    /// An answer that cannot be read, or that is an error in its midst.
    fn unreadable(&self, error: &DecodeError) -> Tried {
        let usage = error.usage();
        let (unanswered, spent) = match error {
            DecodeError::Provider { answer, .. } => (self.provider_failed(answer), Spent::Unknown(usage)),
            error => {
                let again = error.category().can_retry();
                let failure = self.failure(category(error.category()), &error.to_string());
                // These answers were whole, so that the provider has said all.
                let is_whole = matches!(error, DecodeError::Arguments { .. });
                let spent = match usage {
                    Some(usage) if is_whole => Spent::Said(usage),
                    usage => Spent::Unknown(usage),
                };
                (Unanswered { failure, again, wait: None, ends: false }, spent)
            }
        };
        Tried { result: Err(unanswered), spent }
    }

    fn provider_failed(&self, answer: &ErrorAnswer) -> Unanswered {
        let mut text = answer.message.clone();
        if let Some(status) = answer.status {
            text = format!("{text} (status {status})");
        }
        Unanswered {
            failure: self.failure(category(answer.category), &text),
            again: answer.category.can_retry(),
            wait: answer.retry_after_ms.map(Duration::from_millis),
            ends: false,
        }
    }
}

fn own_wait(attempt: u32) -> Duration {
    let factor = 1 << attempt.saturating_sub(1).min(10);
    FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
}

fn category(category: graph_model::Category) -> Category {
    match category {
        graph_model::Category::RateLimited => Category::RateLimited,
        graph_model::Category::Transient => Category::Transient,
        graph_model::Category::Timeout => Category::Timeout,
        graph_model::Category::InvalidInput => Category::InvalidInput,
        graph_model::Category::Denied => Category::Denied,
        graph_model::Category::Permanent => Category::Permanent,
    }
}
