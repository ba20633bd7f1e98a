//! What the [`node!`](crate::node!) macro calls.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::bindings::exports::graph_host::node::action as wit;
use crate::bindings::graph_host::node::types::WantedInterface;
use crate::host::{Level, log};
use crate::{Activation, Answer, Context, Failure, schema};

/// Answers `describe`.
pub fn describe<P: JsonSchema, A: Answer>(
    _run: fn(P, &Context) -> Result<A, Failure>,
    summary: &str,
    wants: &[(&str, &str)],
) -> wit::Description {
    wit::Description {
        summary: summary.to_owned(),
        params: schema::of_params::<P>(),
        result: schema::of_answer::<A>(),
        interfaces: wants
            .iter()
            .map(|(name, why)| WantedInterface { name: (*name).to_owned(), why: (*why).to_owned() })
            .collect(),
    }
}

/// Answers `run`.
pub fn run<P: DeserializeOwned, A: Answer>(
    run: fn(P, &Context) -> Result<A, Failure>,
    activation: Activation,
    params: &str,
) -> Result<wit::Outcome, wit::Failure> {
    // A panic ends the instance; the log line is all that is left to say why.
    std::panic::set_hook(Box::new(|panic| log(Level::Error, panic.to_string())));
    let answer = serde_json::from_str(params)
        .map_err(|error| Failure::invalid_input(format_args!("params: {error}")))
        .and_then(|params| run(params, &Context::new(activation)))
        .and_then(Answer::into_wit);
    match answer {
        Ok(outcome) => Ok(outcome),
        Err(failure) => failure.into_wit(),
    }
}
