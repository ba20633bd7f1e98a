//! Calls of granted models, as every host makes them: the requests that may be sent, the budget that they may use, the
//! meaning of an answer, retries, and the entry of the call in the journal. The module sends nothing, does not wait and
//! reads no key; the host does.
//!
//! The work has two parts, which a host can run in two places. [`Call`] is in the place of the component, with the
//! component's budget; it has no access to a key. [`Provider`] is in the place of the keys: it has the address for the
//! request, and removes the key from a response. The [`AttemptOutcome`] that it returns is passed to the [`Call`].
//!
//! ```
//! use std::time::Duration;
//!
//! use graph_core::capability::{HttpResponse, ModelRule, SecretValue};
//! use graph_core::limits::ModelUse;
//! use graph_core::model_budget::ModelBudget;
//! use graph_model::exchange::{Call, Model, ExchangeObstacle, CallOutcome, Provider, NextStep};
//! use graph_model::{DecoderBounds, Message, Request};
//!
//! let rule: ModelRule = serde_json::from_str(
//!     r#"{"name": "fast", "api": "openai-chat", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/v1", "model": "small",
//!         "secret": {"env": "MODEL_KEY"}, "timeout": 30000, "max_output": 1000, "attempts": 3, "stream": false}"#,
//! )?;
//! let provider = Provider::new(rule.clone(), |secret| SecretValue::new(secret, "sk-the-key".to_owned()))?;
//! let mut budget = ModelBudget::new(ModelUse { calls: 5, input: 10_000, output: 200, cost: u64::MAX });
//! let mut call = Call::open(Model::new(rule), Request::new("fast", vec![Message::user("Say hello.")])).unwrap();
//!
//! // The first try does not reach the provider: the host waits, and tries again.
//! let sent = call.begin(&mut budget, false).unwrap();
//! assert_eq!(sent.path, "/chat/completions");
//! let tried = provider.not_exchanged(ExchangeObstacle::Unreachable, "no route to the host", None);
//! let settled = call.settle(&mut budget, tried, Duration::from_secs(60));
//! assert_eq!(settled, NextStep::Retry(Duration::from_millis(500)));
//!
//! call.begin(&mut budget, false).unwrap();
//! let body = r#"{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
//!                "usage": {"prompt_tokens": 10, "completion_tokens": 3}}"#;
//! let response = HttpResponse { status: 200, fields: Vec::new(), body: body.into() };
//! let tried = provider.read(&response, |body| provider.model().api().decode(body, &DecoderBounds::default()));
//! let NextStep::Ended(ended) = call.settle(&mut budget, tried, Duration::from_secs(60)) else { panic!() };
//! let CallOutcome::Answered(answered) = ended.outcome else { panic!() };
//! assert_eq!(answered.response.message.text(), "Hello.");
//! // The budget had fewer tokens than the manifest allows, and both tries are charged to the call.
//! assert_eq!(answered.shortened, Some(200));
//! assert_eq!(ended.kept["used"], serde_json::json!({ "calls": 2, "input": 10, "output": 3 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempt;
mod call;
mod component_json;
mod journal;
mod model;
mod provider;
mod remedy;
#[cfg(test)]
mod tests;

pub use attempt::{AttemptFailure, AttemptOutcome, AttemptResult, Charge};
pub use call::{Call, NextStep, not_granted};
pub use component_json::{
    ComponentBlock, ComponentMessage, ComponentRequest, ComponentResponse, ComponentTool, ComponentToolCall,
    ComponentUsage, MAX_NESTING,
};
pub use journal::{CallEnd, CallOutcome, ModelAnswer, recorded};
pub use model::Model;
pub use provider::{ExchangeObstacle, Provider};
