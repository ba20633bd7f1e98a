//! Language models of a test's host.

use super::Host;
use crate::Failure;
use crate::model::{Budget, Request, Response};

/// Functions that set up language models and read the requests to them.
impl Host {
    /// Grants a model, and adds its answers to the next calls, in order. A call without an answer is a failure.
    ///
    /// ```
    /// use graph_sdk::Failure;
    /// use graph_sdk::model::{self, Message, Request, Response};
    /// use graph_sdk::testing::Host;
    ///
    /// let host = Host::new().model("fast", [Err(Failure::rate_limited("later")), Ok(Response::text("Hello!"))]);
    /// let request = Request::new("fast").message(Message::user("Greet me."));
    /// assert_eq!(model::complete(&request), Err(Failure::rate_limited("later")));
    /// assert_eq!(model::complete(&request).unwrap().message.text(), "Hello!");
    /// assert_eq!(host.model_requests(), [request.clone(), request]);
    /// assert_eq!(model::models(), ["fast"]);
    /// ```
    #[must_use]
    pub fn model(
        self,
        name: impl Into<String>,
        answers: impl IntoIterator<Item = Result<Response, Failure>>,
    ) -> Self {
        let name = name.into();
        let mut state = self.0.borrow_mut();
        match state.models.iter_mut().find(|(granted, _)| *granted == name) {
            Some((_, known)) => known.extend(answers),
            None => state.models.push((name, answers.into_iter().collect())),
        }
        drop(state);
        self
    }

    /// Sets the rest of the task's budget. Answers use it, and a call is refused when no call is left.
    #[must_use]
    pub fn model_budget(self, budget: Budget) -> Self {
        self.0.borrow_mut().model_budget = budget;
        self
    }

    /// Returns the requests that were sent to models, in order.
    pub fn model_requests(&self) -> Vec<Request> {
        self.0.borrow().model_requests.clone()
    }
}
