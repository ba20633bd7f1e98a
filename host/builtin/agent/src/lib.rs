//! One step of an agent: asks a model, or decides about the calls of tools that the model has asked for.
//!
//! The loop is the graph's (`rye/agent/agent`): each step is a superstep, so that it is stored before the next one
//! starts. An activation of the component makes at most one call of a model, and none if it asks a person: a question
//! never causes a paid call to be repeated. The graph performs the calls of tools.

mod approvals;
mod calls;
mod context;
mod hooks;
mod limits;
mod loops;
mod outputs;
mod result;
mod schema;
mod settings;
mod thread;
mod threads;
mod turn;

#[cfg(test)]
mod tests;

graph_sdk::node! {
    summary: "One step of an agent: asks a model, or decides about the calls of tools that the model has asked for.",
    wants: ["graph-host:host/model": "asks the model for the next message of the conversation"],
    turn::run
}
