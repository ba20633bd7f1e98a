//! Language models that the capability manifest names. Requires `graph-host:host/model`, and the cargo feature `model`
//! of this crate.
//!
//! ```
//! use graph_sdk::Failure;
//! use graph_sdk::model::{self, Message, Request};
//!
//! fn title(text: &str) -> Result<String, Failure> {
//!     let request = Request::new("fast")
//!         .system("Answer with a title of at most six words.")
//!         .message(Message::user(text))
//!         .max_output(50);
//!     Ok(model::complete(&request)?.message.text())
//! }
//! # use graph_sdk::model::Response;
//! # let host = graph_sdk::testing::Host::new().model("fast", [Ok(Response::text("Tides"))]);
//! # assert_eq!(title("The sea rises twice a day."), Ok("Tides".to_owned()));
//! # assert_eq!(host.model_requests()[0].max_output, Some(50));
//! ```
//!
//! A conversation is a list of [`Message`]s, which can be converted to and from JSON, so that a graph can keep them in
//! a channel: `{"role": "user", "blocks": [{"text": "…"}]}`.

mod convert;
mod message;
mod request;
mod response;

use crate::Failure;
use crate::imports::model;

pub use message::{Block, Media, Message, Role, ToolCall, ToolResult};
pub use request::{Request, Tool, ToolChoice};
pub use response::{Budget, Response, StopReason, Usage};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use convert::{budget_into_wit, request_from_wit, response_into_wit};

/// Sends a request to a model, and returns its whole answer. Each call costs the manifest's price and uses its budget.
///
/// Failures: `denied` for a model that is not granted, `invalid-input` for a request that breaks a rule or that the
/// provider rejects, `limit` if the budget does not suffice, `rate-limited`, `timeout` and `transient` for requests
/// that can succeed later, `permanent` for others.
pub fn complete(request: &Request) -> Result<Response, Failure> {
    let answer = model::complete(&convert::request_into_wit(request)).map_err(Failure::from_wit)?;
    convert::response_from_wit(answer)
}

/// Returns the names of the models that the node is granted, in the manifest's order.
pub fn models() -> Vec<String> {
    model::models()
}

/// Returns the rest of the task's budget; a figure that is `None` has no limit.
pub fn remaining() -> Budget {
    convert::budget_from_wit(&model::remaining())
}
