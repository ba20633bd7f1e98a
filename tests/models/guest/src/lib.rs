//! A node that asks language models in the ways that `tests/models/run` checks.

mod converse;
mod leak;
mod spend;

use graph_sdk::Category;
use graph_sdk::model::{Message, Request, Tool};
use graph_sdk::prelude::*;

/// One of the ways.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum Params {
    /// Holds a conversation whose side of the user is fixed, results of tools included.
    Converse { model: String, system: String, tools: Vec<Value>, turns: Vec<Turn> },
    /// Asks the questions one after the other, and reports what each has used.
    Spend { model: String, questions: Vec<Question> },
    /// Tries to learn the key of a model: reports everything that a component can see, and sends what it has seen.
    Leak { model: String, questions: Vec<String> },
}

/// What the user says in a conversation.
#[derive(Deserialize, JsonSchema)]
struct Turn {
    name: String,
    user: Vec<Value>,
    /// Fields of the request other than the messages.
    #[serde(default)]
    request: Map<String, Value>,
}

/// One request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    text: String,
    max_output: Option<u64>,
}

fn run(params: Params, _context: &Context) -> Result<Value, Failure> {
    match params {
        Params::Converse { model, system, tools, turns } => {
            converse::run(&model, &system, &tools_of(tools)?, turns)
        }
        Params::Spend { model, questions } => spend::run(&model, &questions),
        Params::Leak { model, questions } => Ok(leak::run(&model, questions)),
    }
}

/// A tool may lack a description, and parameters may be empty, as in the recorded conversation.
fn tools_of(tools: Vec<Value>) -> Result<Vec<Tool>, Failure> {
    let read = tools.into_iter().map(graph_sdk::serde_json::from_value);
    Ok(read.collect::<Result<_, _>>()?)
}

/// Makes a request with one question.
fn question(model: &str, text: &str) -> Request {
    Request::new(model).message(Message::user(text))
}

/// Converts a failure to a value.
fn as_value(failure: &Failure) -> Value {
    let category = match failure.category() {
        Some(Category::Transient) => "transient",
        Some(Category::RateLimited) => "rate-limited",
        Some(Category::Timeout) => "timeout",
        Some(Category::Permanent) => "permanent",
        Some(Category::InvalidInput) => "invalid-input",
        Some(Category::Denied) => "denied",
        Some(Category::Limit) => "limit",
        Some(Category::Internal) => "internal",
        None => "asked",
    };
    json!({ "category": category, "message": failure.to_string(), "details": failure.details() })
}

graph_sdk::node! {
    summary: "Asks language models.",
    wants: ["graph-host:host/model": "asks them"],
    run
}
