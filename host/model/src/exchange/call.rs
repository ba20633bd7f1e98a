//! One call of a language model, in the place of the component. It reserves budget for each request, settles the usage,
//! and decides about retries.

use std::time::Duration;

use graph_core::diagnostic::escape;
use graph_core::limits::ModelUse;
use graph_core::model_budget::{ModelBudget, ShortFigure};
use graph_core::node::{Category, Failure};
use serde_json::{Value, json};

use super::attempt::{AttemptFailure, AttemptOutcome, AttemptResult, Charge};
use super::journal::{self, CallEnd, CallOutcome, ModelAnswer};
use super::model::Model;
use crate::{EncodedRequest, Request, Response, Usage};

/// Time before the second try, unless the provider asks for another one. It doubles with each try.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Maximum time before a try, unless the provider asks for a longer one.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// One call of a language model.
#[derive(Debug)]
pub struct Call {
    model: Model,
    request: Request,
    /// Encoded request of the first try, and whether its answer is streamed. [`Call::open`] has encoded it to check the
    /// request.
    checked: Option<(bool, EncodedRequest)>,
    /// Usage of the budget before the first try.
    before: Option<ModelUse>,
    /// Number of tries that were started.
    attempt: u32,
    /// Budget that is reserved for the current try.
    reserved: ModelUse,
}

/// Next step after a try.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// Another try, after this time.
    Retry(Duration),
    /// End of the call.
    Ended(CallEnd),
}

impl Call {
    /// Opens a call of a model. The error depends only on the model and the request, so that it needs no entry in the
    /// journal.
    pub fn open(model: Model, request: Request) -> Result<Self, Failure> {
        let invalid = |message| Failure::new(Category::InvalidInput, message);
        request.check().map_err(|error| invalid(error.to_string()))?;
        let (max_output, streamed) = (model.max_output(&request), model.rule().stream);
        let encoded =
            model.encode(&request, max_output, streamed).map_err(|error| invalid(error.to_string()))?;
        if encoded.media_blocks() > 0 && model.rule().media_tokens.is_none() {
            let name = &model.rule().name;
            let message = format!(
                "the request has a file, and the manifest does not say how many tokens a file counts as: `models: {{ {name}: {{ \
                 media_tokens: 2000 }} }}`"
            );
            return Err(Failure::new(Category::Denied, message));
        }
        let checked = Some((streamed, encoded));
        Ok(Self { model, request, checked, before: None, attempt: 0, reserved: ModelUse::NOTHING })
    }

    /// Returns the model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the request.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the number of tries that were started.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the budget that is reserved for the current try, or was for the last one.
    pub const fn reserved(&self) -> ModelUse {
        self.reserved
    }

    /// Returns the request of the call's entry in the journal.
    pub fn asked(&self) -> Value {
        journal::asked(&self.request)
    }

    /// Starts a try: reserves budget for the request, and returns the encoded request. `streamed` is true if the answer
    /// is requested as a stream of events. An error ends the call without sending anything.
    pub fn begin(
        &mut self,
        budget: &mut ModelBudget,
        streamed: bool,
    ) -> Result<EncodedRequest, Box<CallEnd>> {
        self.before.get_or_insert_with(|| budget.used());
        let checked = self.checked.take().filter(|(as_streamed, _)| *as_streamed == streamed);
        let Self { model, request, .. } = &*self;
        let wanted = model.max_output(request);
        let encoded = match checked {
            Some((_, encoded)) => encoded,
            None => model.encode(request, wanted, streamed).map_err(|error| {
                let failure = Failure::new(Category::InvalidInput, error.to_string());
                Box::new(self.ended(CallOutcome::Failed(failure), None, budget))
            })?,
        };
        let rule = model.rule();
        let input = encoded.bound_input(rule.media_tokens.unwrap_or(0));
        let last = request.is_without_tools();
        let reserved = if last {
            budget.reserve_last(input, wanted, &rule.price)
        } else {
            budget.reserve(input, wanted, &rule.price)
        };
        let reserved = reserved.map_err(|shortage| {
            let failure = Failure::new(Category::Limit, format!("{}: {shortage}", model.shown()));
            // The component can continue without an answer, or with another request without tools.
            let details = match (!last && budget.has_floor(), shortage.of_node) {
                (true, _) => Some(json!({ "finish": true })),
                (false, true) => Some(json!({ "short": ShortFigure::from(shortage) })),
                (false, false) => None,
            };
            Box::new(if details.is_some() {
                self.ended(CallOutcome::Failed(Failure { details, ..failure }), None, budget)
            } else {
                self.ended(CallOutcome::Ends(failure), Some(shortage.into()), budget)
            })
        })?;
        // A smaller number has no more digits, so the bound of the input tokens is still valid.
        let shorter =
            (reserved.output < wanted).then(|| model.encode(request, reserved.output, streamed).ok());
        self.reserved = reserved;
        self.attempt += 1;
        Ok(shorter.flatten().unwrap_or(encoded))
    }

    /// Returns the usage to charge for the current try.
    pub fn used(&self, spent: &Charge) -> ModelUse {
        spent.used(self.reserved, &self.model.rule().price)
    }

    /// Settles the current try, and returns the next step. `left` is the time that the component can still wait.
    pub fn settle(&self, budget: &mut ModelBudget, tried: AttemptOutcome, left: Duration) -> NextStep {
        let AttemptOutcome { result, spent } = tried;
        let used = self.used(&spent);
        if let Some(overrun) = budget.settle(used) {
            let failure = Failure::new(Category::Limit, format!("{}: {overrun}", self.model.shown()));
            return NextStep::Ended(self.ended(CallOutcome::Ends(failure), Some(overrun.into()), budget));
        }
        let outcome = match result {
            AttemptResult::Answered(response) => CallOutcome::Answered(self.answered(response, used)),
            AttemptResult::Unanswered(unanswered) => match self.next_try(unanswered, left) {
                Ok(wait) => return NextStep::Retry(wait),
                Err(failure) => CallOutcome::Failed(failure),
            },
        };
        NextStep::Ended(self.ended(outcome, None, budget))
    }

    /// Ends a call after the component's deadline. The reserved budget counts as used, because the provider may charge
    /// for all of it.
    pub fn late(&self, budget: &mut ModelBudget) -> CallEnd {
        budget.forfeit();
        let message = format!("it ran past its deadline while it waited for {}", self.model.shown());
        self.end(Failure::new(Category::Timeout, message), budget)
    }

    /// Ends a call with a failure that ends the attempt of its task. No budget may be reserved at this time.
    pub fn end(&self, failure: Failure, budget: &ModelBudget) -> CallEnd {
        self.ended(CallOutcome::Ends(failure), None, budget)
    }

    fn ended(&self, outcome: CallOutcome, short: Option<ShortFigure>, budget: &ModelBudget) -> CallEnd {
        let used = budget.used().less(self.before.unwrap_or(ModelUse::NOTHING));
        CallEnd::new(outcome, short, used)
    }

    fn answered(&self, mut response: Response, used: ModelUse) -> ModelAnswer {
        let ModelUse { input, output, cost, .. } = used;
        response.usage.get_or_insert(Usage { input, output, ..Usage::default() });
        let most = self.reserved.output;
        let shortened = (most < self.model.max_output(&self.request)).then_some(most);
        ModelAnswer { response, cost, shortened }
    }

    /// Returns the time before the next try, or the failure of the call if there is none.
    fn next_try(&self, unanswered: AttemptFailure, left: Duration) -> Result<Duration, Failure> {
        let AttemptFailure { failure, again, wait } = unanswered;
        if !again {
            return Err(failure);
        }
        if self.attempt >= self.model.rule().attempts {
            let message = match self.attempt {
                1 => failure.message,
                tries => format!("{}; {tries} requests were sent", failure.message),
            };
            return Err(Failure { message, ..failure });
        }
        let wait = wait.map_or_else(|| own_wait(self.attempt), Duration::from_millis);
        if wait >= left {
            let message =
                format!("{}; to wait {wait:?} for another try would exceed the task's time", failure.message);
            return Err(Failure { message, ..failure });
        }
        Ok(wait)
    }
}

fn own_wait(attempt: u32) -> Duration {
    let factor = 1 << attempt.saturating_sub(1).min(10);
    FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
}

/// Returns the failure of a request for a model that the component is not granted, with the names of the granted ones.
pub fn not_granted<'a>(name: &str, granted: impl IntoIterator<Item = &'a Model>) -> Failure {
    let names: Vec<_> = granted.into_iter().map(|model| format!("`{}`", model.rule().name)).collect();
    let name = escape(name.get(..name.floor_char_boundary(64)).unwrap_or_default());
    let message = format!(
        "its grant has no model `{name}`; it has {}. `model: [{name}]` in the manifest's entry for the component grants it, if \
         `models` names it",
        names.join(", ")
    );
    Failure::new(Category::Denied, message)
}
