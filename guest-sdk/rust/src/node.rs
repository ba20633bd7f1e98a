//! The [`node!`](crate::node!) macro, and the functions that it calls.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::bindings::exports::graph_host::node::action as wit;
use crate::bindings::graph_host::node::types::WantedInterface;
#[cfg(target_arch = "wasm32")]
use crate::host::{Level, log};
use crate::{Activation, Answer, Context, Failure, schema};

/// Returns the description of the node for `describe`.
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

/// Runs the node's function for `run`.
pub fn run<P: DeserializeOwned, A: Answer>(
    run: fn(P, &Context) -> Result<A, Failure>,
    activation: Activation,
    params: &str,
) -> Result<wit::Outcome, wit::Failure> {
    // A panic ends the instance, so the reason is written to the log.
    #[cfg(target_arch = "wasm32")]
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

/// Exports a function as the component's action.
///
/// ```
/// use graph_sdk::files;
/// use graph_sdk::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Params {
///     path: String,
/// }
///
/// fn run(params: Params, _ctx: &Context) -> Result<usize, Failure> {
///     Ok(files::read_to_string(&params.path)?.lines().count())
/// }
///
/// graph_sdk::node! {
///     summary: "Counts the lines of a file.",
///     wants: ["wasi:filesystem/types": "reads the files that it counts"],
///     run
/// }
/// ```
///
/// - `summary`: description of the node, in one sentence.
/// - `wants`: the interfaces that it uses, each with the reason. `graph-host:host/log` and `events` are always granted
///   and need no entry. An interface also covers those that come with it (`preopens` and `wasi:io` come with
///   `wasi:filesystem/types`).
/// - last, the function: `fn(Params, &Context) -> Result<Answer, Failure>`.
#[macro_export]
macro_rules! node {
    (
        summary: $summary:expr,
        wants: [$($name:literal : $why:expr),* $(,)?],
        $run:path $(,)?
    ) => {
        const _: () = {
            struct Node;

            impl $crate::bindings::exports::graph_host::node::action::Guest for Node {
                fn describe() -> $crate::bindings::exports::graph_host::node::action::Description {
                    $crate::node::describe($run, $summary, &[$(($name, $why)),*])
                }

                fn run(
                    activation: $crate::bindings::exports::graph_host::node::action::Activation,
                    params: ::std::string::String,
                ) -> ::core::result::Result<
                    $crate::bindings::exports::graph_host::node::action::Outcome,
                    $crate::bindings::exports::graph_host::node::action::Failure,
                > {
                    $crate::node::run($run, activation, &params)
                }
            }

            #[cfg(target_arch = "wasm32")]
            $crate::bindings::export!(Node with_types_in $crate::bindings);

            // A library for the machine has no exports; this constant prevents a warning about an unused function.
            #[cfg(not(target_arch = "wasm32"))]
            const _: fn() -> $crate::bindings::exports::graph_host::node::action::Description =
                <Node as $crate::bindings::exports::graph_host::node::action::Guest>::describe;
        };
    };
    (summary: $summary:expr, $run:path $(,)?) => {
        $crate::node! { summary: $summary, wants: [], $run }
    };
}
