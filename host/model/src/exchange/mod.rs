//! Calls of granted models, as every host makes them: which requests may be sent, what they may use, what an answer means, whether a
//! request is sent again, and what a journal keeps of the call. Nothing here sends, waits, or reads a key: the host does.
//!
//! The work is in two parts, which a host may have in two places. Where the component runs there are a [`Call`] and the budget of the
//! component; they see no key. Where the keys are there is a [`Provider`]: it knows where to send a request, and what it makes of a
//! response has no key in it. A [`Tried`] is carried from the one to the other.
//!
//! ```
//! use std::time::Duration;
//!
//! use graph_core::capability::{HttpResponse, ModelRule, SecretValue};
//! use graph_core::limits::ModelUse;
//! use graph_core::model_budget::ModelBudget;
//! use graph_model::exchange::{Call, Model, Obstacle, Outcome, Provider, Settled};
//! use graph_model::{Bounds, Message, Request};
//!
//! let rule: ModelRule = serde_json::from_str(
//!     r#"{"name": "fast", "api": "openai-chat", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/v1", "model": "small",
//!         "secret": {"env": "MODEL_KEY"}, "timeout": 30000, "max_output": 1000, "attempts": 3, "stream": false}"#,
//! )?;
//! let provider = Provider::new(rule.clone(), |secret| SecretValue::new(secret, "sk-the-key".to_owned()))?;
//! let mut budget = ModelBudget::new(ModelUse { calls: 5, input: 10_000, output: 200, cost: u64::MAX });
//! let mut call = Call::open(Model::new(rule), Request::new("fast", vec![Message::user("Say hello.")])).unwrap();
//!
//! // The first try reaches no one: the host waits, and tries again.
//! let sent = call.begin(&mut budget, false).unwrap();
//! assert_eq!(sent.path, "/chat/completions");
//! let tried = provider.not_exchanged(Obstacle::Unreachable, "no route to the host", None);
//! let settled = call.settle(&mut budget, tried, Duration::from_secs(60));
//! assert_eq!(settled, Settled::Again(Duration::from_millis(500)));
//!
//! call.begin(&mut budget, false).unwrap();
//! let body = r#"{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
//!                "usage": {"prompt_tokens": 10, "completion_tokens": 3}}"#;
//! let response = HttpResponse { status: 200, fields: Vec::new(), body: body.into() };
//! let tried = provider.read(&response, |body| provider.model().api().decode(body, &Bounds::default()));
//! let Settled::Ended(ended) = call.settle(&mut budget, tried, Duration::from_secs(60)) else { panic!() };
//! let Outcome::Answered(answered) = ended.outcome else { panic!() };
//! assert_eq!(answered.response.message.text(), "Hello.");
//! // The budget had fewer tokens than the manifest allows, and both tries are charged to the call.
//! assert_eq!(answered.shortened, Some(200));
//! assert_eq!(ended.kept["used"], serde_json::json!({ "calls": 2, "input": 10, "output": 3 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod call;
mod given;
mod journal;
mod model;
mod provider;
#[cfg(test)]
mod tests;
mod tried;

pub use call::{Call, Settled, not_granted};
pub use given::{
    GivenBlock, GivenCall, GivenMessage, GivenRequest, GivenResponse, GivenTool, GivenUsage, MAX_NESTING,
};
pub use journal::{Answered, Ended, Outcome, recorded};
pub use model::Model;
pub use provider::{Obstacle, Provider};
pub use tried::{Spent, Tried, TryResult, Unanswered};
