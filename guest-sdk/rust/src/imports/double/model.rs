//! Language models of a test, with answers in the order in which the test gives them.

use super::model_rules;
use crate::Failure;
use crate::bindings::graph_host::node::types as node;
use crate::bindings::model::graph_host::host::model as wit;
use crate::model::{budget_into_wit, request_from_wit, response_into_wit};
use crate::testing::state::State;

pub(crate) fn complete(request: &wit::Request) -> Result<wit::Response, node::Failure> {
    answer(request).map_err(|failure| match failure.into_wit() {
        Err(failure) => failure,
        Ok(_) => node::Failure {
            category: node::Category::Internal,
            message: "a model asks no questions".to_owned(),
            details: None,
        },
    })
}

fn answer(request: &wit::Request) -> Result<wit::Response, Failure> {
    let request = request_from_wit(request.clone())?;
    super::with(|state| {
        let name = request.model.clone();
        if !state.models.iter().any(|(granted, _)| *granted == name) {
            return Err(Failure::denied(format_args!("the model `{name}` is not granted")));
        }
        model_rules::check(&request)?;
        if state.model_budget.calls == Some(0) {
            return Err(Failure::limit("no call of a model is left"));
        }
        spend(&mut state.model_budget.calls, 1);
        state.model_requests.push(request);
        let answers = state.models.iter_mut().find(|(granted, _)| *granted == name);
        let next = answers.and_then(|(_, answers)| answers.pop_front());
        let response = next.unwrap_or_else(|| {
            Err(Failure::internal(format_args!("the test has no further answer of the model `{name}`")))
        })?;
        spend(&mut state.model_budget.input, response.usage.input);
        spend(&mut state.model_budget.output, response.usage.output);
        spend(&mut state.model_budget.cost, response.usage.cost);
        Ok(response_into_wit(&response))
    })
}

fn spend(left: &mut Option<u64>, used: u64) {
    *left = left.map(|left| left.saturating_sub(used));
}

pub(crate) fn models() -> Vec<String> {
    super::with(|state: &mut State| state.models.iter().map(|(name, _)| name.clone()).collect())
}

pub(crate) fn remaining() -> wit::Budget {
    super::with(|state| budget_into_wit(&state.model_budget))
}
