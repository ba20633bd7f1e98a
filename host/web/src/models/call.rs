//! One call of a language model, where the component runs: sets aside what a request may use, settles what it has used, and
//! decides whether it is sent again.

use std::time::Duration;

use graph_core::capability::{EffectiveGrant, HttpField, ModelRule, ModelTokens};
use graph_core::json::canonical_string;
use graph_core::limits::ModelUse;
use graph_core::model_budget::ShortFigure;
use graph_core::node::{Category, Failure};
use graph_core::record::Canonical;
use graph_core::record::journal::{fault_after, model_fault, with_used};
use graph_model::{Encoded, Request, Response, Usage};
use serde_json::{Value, json};

use super::budget::Budget;
use super::model::Model;
use super::request::{self, GivenRequest};
use super::text::escape;
use super::tried::{Spent, Tried, TryResult, Unanswered};
use crate::{Problem, read};

/// How long the host waits before the second try, unless the provider says how long. It doubles with each try.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest that it waits by itself.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// One call of a language model.
#[derive(Debug)]
pub struct Call {
    model: Model,
    request: Request,
    /// What the budget had used before the first try.
    before: Option<ModelUse>,
    /// How many tries were begun.
    attempt: u32,
    /// What is set aside for the try under way.
    reserved: ModelUse,
}

/// What a try sends. The provider adds the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Fields of the API, by names in lower case.
    pub fields: Vec<HttpField>,
    /// The body: JSON.
    pub body: Vec<u8>,
}

/// An answer of a model.
struct Answered {
    response: Response,
    /// In millionths.
    cost: u64,
    /// The most tokens that the answer could have, if the budget had fewer than the request asked for.
    shortened: Option<u64>,
}

impl Call {
    /// A request that may be sent, by a grant and the request as the component gives it. The error is the failure that the component
    /// gets, as JSON: it follows from the two, so it needs no entry in the journal.
    pub fn open(grant: &str, request: &str) -> Result<Self, String> {
        Self::opened(grant, request).map_err(|failure| canonical_string(&json!(failure)))
    }

    fn opened(grant: &str, request: &str) -> Result<Self, Failure> {
        let internal = |problem: Problem| Failure::new(Category::Internal, problem.message);
        let invalid = |message| Failure::new(Category::InvalidInput, message);
        let grant: EffectiveGrant = read::document("grant", grant).map_err(internal)?;
        let given: GivenRequest = read::document("request", request).map_err(internal)?;
        let request = given.read().map_err(invalid)?;
        let rule = grant.models.iter().find(|rule| rule.name == request.model);
        let rule =
            rule.ok_or_else(|| Failure::new(Category::Denied, not_granted(&request.model, &grant.models)))?;
        request.check().map_err(|error| invalid(error.to_string()))?;
        let model = Model::new(rule.clone());
        let max_output = model.max_output(&request);
        let encoded = model.encode(&request, max_output).map_err(|error| invalid(error.to_string()))?;
        if encoded.media_blocks() > 0 && model.rule.media_tokens.is_none() {
            let name = &model.rule.name;
            let message = format!(
                "the request has a file, and the manifest does not say how many tokens a file counts as: `models: {{ {name}: {{ \
                 media_tokens: 2000 }} }}`"
            );
            return Err(Failure::new(Category::Denied, message));
        }
        Ok(Self { model, request, before: None, attempt: 0, reserved: ModelUse::NOTHING })
    }

    /// The request in the call's entry of the journal, as canonical JSON.
    pub fn asked(&self) -> String {
        canonical_string(&request::asked(&self.request))
    }

    /// Begins a try: sets aside what it may use. The error is the outcome of the call, as JSON: nothing is sent.
    pub fn begin(&mut self, budget: &mut Budget) -> Result<Sending, String> {
        self.before.get_or_insert_with(|| budget.own.used());
        let Self { model, request, .. } = &*self;
        let wanted = model.max_output(request);
        let encoded = match model.encode(request, wanted) {
            Ok(encoded) => encoded,
            Err(error) => {
                return Err(self.failed(&Failure::new(Category::InvalidInput, error.to_string()), budget));
            }
        };
        let input = encoded.bound_input(model.rule.media_tokens.unwrap_or(0));
        let last = request.is_without_tools();
        let reserved = match budget.reserve(input, wanted, &model.rule.price, last) {
            Ok(reserved) => reserved,
            Err(shortage) => {
                let failure = Failure::new(Category::Limit, format!("{}: {shortage}", model.shown()));
                if !last && budget.own.has_floor() {
                    // The component may still ask without tools.
                    let details = Some(json!({ "finish": true }));
                    return Err(self.failed(&Failure { details, ..failure }, budget));
                }
                return Err(self.exceeded(shortage, &failure, budget));
            }
        };
        // A smaller figure takes no more bytes, so that the bound remains one.
        let shorter = (reserved.output < wanted).then(|| model.encode(request, reserved.output).ok());
        let encoded = shorter.flatten().unwrap_or(encoded);
        self.reserved = reserved;
        self.attempt += 1;
        Ok(sending(encoded))
    }

    /// What the attempt of the task has used of models, and may use with the try that was begun, as JSON: all components together. It goes
    /// on record before the request is sent.
    pub fn total(&self, budget: &Budget) -> String {
        canonical_string(&json!(budget.used_around().plus(self.reserved)))
    }

    /// Takes the outcome of the try, as [`Provider`](super::Provider) gives it, and gives that of the call, as JSON: it has ended, or it waits before
    /// the next try. `left` is the time that the component may still wait, in milliseconds.
    pub fn settle(&mut self, budget: &mut Budget, tried: &str, left: u64) -> Result<String, Problem> {
        let Tried { result, spent } = serde_json::from_str(tried).map_err(|error| {
            Problem::new("invalid_json", format!("the outcome of the try cannot be read: {error}"))
        })?;
        let used = self.used(&spent);
        if let Some(overrun) = budget.own.settle(used) {
            let failure = Failure::new(Category::Limit, format!("{}: {overrun}", self.model.shown()));
            return Ok(self.exceeded(overrun, &failure, budget));
        }
        Ok(match result {
            TryResult::Answered(response) => self.answered(response, used, budget),
            TryResult::Unanswered(unanswered) => self.unanswered(unanswered, left, budget),
        })
    }

    /// The component does not wait for the try any longer: what was set aside counts as used, because the provider counts it. Gives the outcome of
    /// the call, as JSON.
    pub fn late(&self, budget: &mut Budget) -> String {
        budget.own.forfeit();
        let message = format!("it ran past its deadline while it waited for {}", self.model.shown());
        let failure = Failure::new(Category::Timeout, message);
        ended(&failure, &fault_after(&failure, self.used_until_now(budget)))
    }

    /// The outcome of a call that is recorded, as JSON, from the result of its entry in the journal; none for a result that is not one
    /// of this function.
    pub fn recorded(&self, result: &str, ok: bool) -> Option<String> {
        let kept = read::value("result", result).ok()?;
        if ok {
            let answered = read_answer(&kept)?;
            return Some(self.outcome(answered, &kept));
        }
        let failure: Failure = serde_json::from_value(kept.get("failure")?.clone()).ok()?;
        Some(failed(&failure, &kept))
    }

    fn used(&self, spent: &Spent) -> ModelUse {
        let Self { model, reserved, .. } = self;
        let said = |usage: Usage| {
            let Usage { input, output, cached, cache_write, .. } = usage;
            let cost = model.rule.price.cost(ModelTokens { input, output, cached, cache_write });
            ModelUse { calls: 1, input, output, cost }
        };
        match spent {
            Spent::Call => ModelUse { calls: 1, ..ModelUse::NOTHING },
            Spent::Said(usage) => said(*usage),
            Spent::Unknown(None) => *reserved,
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

    /// What the call has used until now, all tries together.
    fn used_until_now(&self, budget: &Budget) -> ModelUse {
        budget.own.used().less(self.before.unwrap_or(ModelUse::NOTHING))
    }

    fn answered(&self, mut response: Response, used: ModelUse, budget: &Budget) -> String {
        let ModelUse { input, output, cost, .. } = used;
        response.usage.get_or_insert(Usage { input, output, ..Usage::default() });
        let most = self.reserved.output;
        let shortened = (most < self.model.max_output(&self.request)).then_some(most);
        let answered = Answered { response, cost, shortened };
        let kept = with_used(kept_answer(&answered), self.used_until_now(budget));
        self.outcome(answered, &kept)
    }

    fn outcome(&self, answered: Answered, kept: &Value) -> String {
        let Answered { response, cost, shortened } = answered;
        let mut outcome = json!({ "ok": true, "kept": kept, "response": request::given(response, cost) });
        if let Some(tokens) = shortened {
            let line = format!(
                "the answer of the model `{}` could have {tokens} tokens at most: no more are left of the budget",
                self.request.model
            );
            outcome["warning"] = json!(line);
        }
        canonical_string(&outcome)
    }

    fn unanswered(&self, unanswered: Unanswered, left: u64, budget: &Budget) -> String {
        let Unanswered { failure, again, wait } = unanswered;
        if !again || self.attempt >= self.model.rule.attempts {
            return self.failed(&failure, budget);
        }
        let wait = wait.map_or_else(|| own_wait(self.attempt), Duration::from_millis);
        if wait >= Duration::from_millis(left) {
            let message =
                format!("{}; to wait {wait:?} for another try would exceed the task's time", failure.message);
            return self.failed(&Failure { message, ..failure }, budget);
        }
        canonical_string(&json!({ "wait": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }))
    }

    fn failed(&self, failure: &Failure, budget: &Budget) -> String {
        let kept = with_used(json!({ "failure": failure }), self.used_until_now(budget));
        failed(failure, &kept)
    }

    fn exceeded(&self, short: impl Into<ShortFigure>, failure: &Failure, budget: &Budget) -> String {
        ended(failure, &model_fault(failure, short, self.used_until_now(budget)))
    }
}

fn failed(failure: &Failure, kept: &Value) -> String {
    canonical_string(&json!({ "ok": false, "kept": kept, "failure": failure }))
}

/// The outcome of a call that ends the attempt.
fn ended(failure: &Failure, kept: &Canonical) -> String {
    canonical_string(&json!({ "ok": false, "kept": *kept.0, "ends": failure }))
}

fn sending(encoded: Encoded) -> Sending {
    let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    Sending { fields: encoded.headers.iter().map(field).collect(), body: encoded.body }
}

fn own_wait(attempt: u32) -> Duration {
    let factor = 1 << attempt.saturating_sub(1).min(10);
    FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
}

fn not_granted(name: &str, granted: &[ModelRule]) -> String {
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
