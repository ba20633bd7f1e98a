//! State of a run, as the graph of `rye/agent/agent` keeps it.

use graph_sdk::model::{Message, Request, ToolChoice};
use graph_sdk::prelude::*;
use graph_sdk::testing::Host;
use graph_sdk::tools;

use crate::turn;

/// Maximum number of activations of a test.
const MOST: u64 = 100;
/// Channels that the graph's node may write.
const WRITES: [&str; 14] = [
    "thread",
    "heard",
    "turns",
    "used",
    "left",
    "context",
    "phase",
    "calls",
    "results",
    "chain",
    "answer",
    "hooks",
    "hooked",
    "summaries",
];

/// A run of the graph.
pub(super) struct Run {
    settings: Value,
    state: Map<String, Value>,
    supersteps: u64,
    /// Hooks that were called, and whether their items have returned.
    pub(super) hooked: Vec<(Value, bool)>,
}

/// Reason why a run stops before its end.
#[derive(Debug)]
pub(super) enum Stopped {
    Failed(Failure),
    Asked(Value),
}

impl Stopped {
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Asked(question) => panic!("a question: {question}"),
        }
    }

    pub(super) fn question(self) -> Value {
        match self {
            Self::Asked(question) => question,
            Self::Failed(failure) => panic!("a failure: {failure}"),
        }
    }
}

impl Run {
    /// Creates a run with these inputs, before its first activation.
    pub(super) fn new(settings: Value) -> Self {
        let defaults = json!({ "thread": [], "heard": null, "turns": 0, "used": {}, "left": null, "context": 0, "phase": "working", "chain": [], "calls": null, "results": null, "hooks": null, "hooked": null, "answer": null, "summaries": 0 });
        Self { settings, state: defaults.as_object().unwrap().clone(), supersteps: 0, hooked: Vec::new() }
    }

    /// Replaces the inputs of an unfinished run, without starting the graph again.
    pub(super) fn settings(&mut self, settings: Value) {
        self.settings = settings;
    }

    /// Replaces the inputs of a finished run: the graph starts again with its state.
    pub(super) fn again(&mut self, settings: Value) {
        self.settings = settings;
        for channel in ["heard", "hooked", "answer", "left"] {
            self.state.insert(channel.to_owned(), Value::Null);
        }
    }

    /// Performs one activation. It writes nothing if it fails or asks.
    pub(super) fn activate(&mut self, host: &Host) -> Result<Option<Value>, Stopped> {
        let mut params = self.state.clone();
        params.remove("chain");
        params.insert("settings".to_owned(), self.settings.clone());
        let before = host.model_requests().len();
        let outcome = host.run(turn::run, Value::Object(params)).map_err(Stopped::Failed)?;
        // A request that the budget refuses is not sent.
        let requests = &host.model_requests()[before..];
        let is_last = |request: &Request| request.tool_choice != ToolChoice::Auto;
        let asked = requests.len() <= 1 || (requests.len() == 2 && is_last(&requests[1]));
        assert!(asked, "an activation asks a model once");
        let command = match outcome {
            Outcome::Command(command) => command,
            Outcome::Interrupt(question) => {
                assert_eq!(host.model_requests().len(), before, "a question costs no call");
                return Err(Stopped::Asked(question));
            }
            Outcome::Result(result) => panic!("a result: {result}"),
        };
        self.supersteps += 1;
        for (channel, value) in command.writes() {
            assert!(WRITES.contains(&channel.as_str()), "{channel}");
            match (channel.as_str(), value.get("overwrite")) {
                ("thread", Some(thread)) => drop(self.state.insert(channel.clone(), thread.clone())),
                ("thread" | "chain", None) => {
                    let list = self.state[channel].as_array_mut().unwrap();
                    list.extend(value.as_array().unwrap().iter().cloned());
                }
                _ => drop(self.state.insert(channel.clone(), value.clone())),
            }
        }
        match command.targets() {
            [(node, None)] if node == "turn" => Ok(None),
            [(node, None)] if node == "call" => {
                let returned = self.perform("calls");
                self.state.insert("results".to_owned(), json!(returned));
                Ok(None)
            }
            [(node, None)] if node == "hook" => {
                let returned = self.perform("hooks");
                let called = self.state["hooks"]["perform"].as_array().unwrap().iter().zip(&returned);
                let called = called.map(|(call, given)| (call["id"].clone(), given.get("_error").is_none()));
                self.hooked.extend(called);
                self.state.insert("hooked".to_owned(), json!(returned));
                let hooks = &self.state["hooks"];
                let ends = hooks["then"] == "done" && hooks["threads"] != true;
                Ok(ends.then(|| self.state["answer"].clone()))
            }
            [(node, None)] if node == "done" => Ok(Some(self.state["answer"].clone())),
            other => panic!("{other:?}"),
        }
    }

    /// Performs the graph's nodes `call` and `hook`. A failed call has its failure as its result.
    fn perform(&mut self, channel: &str) -> Vec<Value> {
        self.supersteps += 1;
        let calls = self.state[channel]["perform"].as_array().unwrap();
        let results = calls.iter().map(|call| {
            tools::call::<Value>(call["item"].as_str().unwrap(), &call["arguments"]).unwrap_or_else(
                |failure| {
                    let category = match failure.category().unwrap_or_else(|| panic!("{failure:?}")) {
                        Category::InvalidInput => "invalid_input",
                        _ => "denied",
                    };
                    json!({ "_error": { "category": category, "error": failure.to_string() } })
                },
            )
        });
        results.collect()
    }

    /// Performs activations until the run ends, fails or asks.
    pub(super) fn finish(&mut self, host: &Host) -> Result<Value, Stopped> {
        for _ in 0..MOST {
            if let Some(answer) = self.activate(host)? {
                return Ok(answer);
            }
        }
        panic!("the run does not end: {:?}", self.state)
    }

    pub(super) fn thread(&self) -> Vec<Message> {
        graph_sdk::serde_json::from_value(self.state["thread"].clone()).unwrap()
    }

    pub(super) fn channel(&self, name: &str) -> &Value {
        &self.state[name]
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.state.insert(name.to_owned(), value);
    }

    /// Returns the number of supersteps that have written.
    pub(super) fn supersteps(&self) -> u64 {
        self.supersteps
    }
}
