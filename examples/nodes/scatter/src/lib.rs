//! Sends each element of a list to a node, as a task of its own.

use graph_sdk::prelude::*;

/// The list and the node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// What is sent.
    over: Vec<Value>,
    /// The node that gets it.
    to: String,
}

graph_sdk::node! { summary: "Sends each element of a list to a node.", run }

fn run(params: Params, _ctx: &Context) -> Result<Command, Failure> {
    if params.over.is_empty() {
        return Err(Failure::invalid_input("there is nothing to send"));
    }
    Ok(params.over.into_iter().fold(Command::new(), |command, one| command.send(params.to.clone(), one)))
}
