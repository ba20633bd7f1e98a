//! Tool calls that the model has asked for: the decision which of them are performed, and their results for the model.
//!
//! The graph performs each of them as a task of its own, with the grants that the manifest gives to the tool and not to
//! the agent: a component can only pass on its own grants to one that it calls.

use graph_sdk::model::{Block, Message, ToolCall, ToolResult};
use graph_sdk::prelude::*;

use crate::approvals::{self, Decision};
use crate::loops::{self, Repeated};
use crate::outputs::{Outputs, RETURN};
use crate::result::Used;
use crate::settings::{Settings, ToolSettings};
use crate::threads;

/// What is done about the calls of a message. The graph keeps it in a channel while the calls are performed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// The calls that the graph performs, in order.
    pub(crate) perform: Vec<Perform>,
    /// The results of the others.
    pub(crate) refused: Vec<ToolResult>,
    /// What the threads among them have used is counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) counted: bool,
    /// The outputs that the model has returned.
    #[serde(skip)]
    pub(crate) outputs: Option<Value>,
    /// Problems of the outputs that the model has tried to return.
    #[serde(skip)]
    pub(crate) wrong_outputs: Option<String>,
}

/// A call that the graph performs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Perform {
    /// The id of the call.
    pub(crate) id: String,
    /// The item.
    pub(crate) item: String,
    /// Its params.
    pub(crate) arguments: Value,
    /// The arguments are those of a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    edited: bool,
}

impl Perform {
    /// Creates the call of a hook.
    pub(crate) fn of_hook(name: &str, item: String, arguments: Value) -> Self {
        Self { id: name.to_owned(), item, arguments, edited: false }
    }
}

/// Value that the graph has instead of the result of a failed call: `on_item_error: keep_error`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    #[serde(rename = "_error")]
    error: WhyFailed,
}

/// Reason for the failure of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhyFailed {
    /// The category of the failure, such as `timeout`.
    category: String,
    /// The message.
    error: String,
}

/// Reports whether a person has to be asked about a call of a message.
pub(crate) fn asks_a_person(settings: &Settings, outputs: Option<&Outputs>, asked: &Message) -> bool {
    asked.tool_calls().filter(|call| outputs.is_none() || call.name != RETURN).any(|call| {
        let tool = settings.offered().find(|tool| tool.name() == call.name);
        tool.is_some_and(|tool| call.arguments.is_object() && approvals::asks(settings, tool, call))
    })
}

/// Returns failed results for all calls of a message that are not performed, because the task has ended.
pub(crate) fn ended(asked: &Message, why: &str) -> Message {
    let result = |call: &ToolCall| ToolResult { id: call.id.clone(), content: why.to_owned(), failed: true };
    Message::results(asked.tool_calls().map(result).collect::<Vec<_>>())
}

/// Decides about the calls of a message, in order. No call is performed before every question about one is answered.
///
/// Failures: a question that has no answer yet; `invalid-input` for a wrong answer; `denied` if a person ends the task.
pub(crate) fn plan(
    settings: &Settings,
    outputs: Option<&Outputs>,
    asked: &Message,
    used: &Used,
    ctx: &Context,
) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    let alone = asked.tool_calls().count() == 1;
    for call in asked.tool_calls() {
        match outputs.filter(|_| call.name == RETURN) {
            Some(outputs) => plan.take_outputs(outputs, call, alone),
            None => plan.add(settings, outputs.is_some(), call, used, ctx)?,
        }
    }
    Ok(plan)
}

impl Plan {
    fn refuse(&mut self, call: &ToolCall, why: String) {
        self.refused.push(ToolResult { id: call.id.clone(), content: why, failed: true });
    }

    fn add(
        &mut self,
        settings: &Settings,
        has_outputs: bool,
        call: &ToolCall,
        used: &Used,
        ctx: &Context,
    ) -> Result<(), Failure> {
        let Some(tool) = settings.offered().find(|tool| tool.name() == call.name) else {
            let mut names: Vec<String> = settings.offered().map(ToolSettings::name).collect();
            names.extend(has_outputs.then(|| RETURN.to_owned()));
            self.refuse(
                call,
                match names.as_slice() {
                    [] => format!("there is no tool `{}`: no tools can be called", call.name),
                    names => format!("there is no tool `{}`: the tools are {}", call.name, names.join(", ")),
                },
            );
            return Ok(());
        };
        if let Some(problem) = no_object(call) {
            self.refuse(call, problem);
            return Ok(());
        }
        let starts_thread = threads::is_thread(&tool.item);
        let planned = self.perform.iter().filter(|planned| threads::is_thread(&planned.item)).count();
        if let Some(why) = threads::refusal(settings, used, planned).filter(|_| starts_thread) {
            self.refuse(call, why);
            return Ok(());
        }
        let (arguments, edited) = match approvals::decide(settings, tool, call, ctx)? {
            Decision::Perform => (call.arguments.clone(), false),
            Decision::PerformWith(arguments) => (arguments, true),
            Decision::Refuse(why) => {
                self.refuse(call, why);
                return Ok(());
            }
        };
        let arguments =
            if starts_thread { threads::passed_on(settings, used, &arguments) } else { arguments };
        self.perform.push(Perform { id: call.id.clone(), item: tool.item.clone(), arguments, edited });
        Ok(())
    }

    /// Accepts outputs if they match, and if the model had the results of all other calls when it returned them.
    fn take_outputs(&mut self, outputs: &Outputs, call: &ToolCall, alone: bool) {
        if !alone {
            let why =
                format!("`{RETURN}` has to be called alone, once the results of the other tools are known");
            return self.refuse(call, why);
        }
        let problems = match no_object(call) {
            Some(problem) => vec![problem],
            None => outputs.problems(&call.arguments),
        };
        if problems.is_empty() {
            self.outputs = Some(call.arguments.clone());
            let content = "The outputs are returned.".to_owned();
            self.refused.push(ToolResult { id: call.id.clone(), content, failed: false });
        } else {
            let problems = problems.join("; ");
            self.refuse(call, format!("the outputs are wrong: {problems}"));
            self.wrong_outputs = Some(problems);
        }
    }

    /// Reports whether one of the calls starts a thread.
    pub(crate) fn starts_threads(&self) -> bool {
        self.perform.iter().any(|call| threads::is_thread(&call.item))
    }

    /// Returns the usage, including the threads that the calls have started.
    pub(crate) fn used(&self, used: Used, performed: &[Value]) -> Used {
        let of_threads =
            self.perform.iter().zip(performed).filter(|(call, _)| threads::is_thread(&call.item));
        of_threads.fold(used, |used, (_, given)| threads::with_thread(used, given))
    }

    /// Returns the message with the results of all calls of the last message of a thread, in their order. It has a
    /// warning if the model repeats itself `most` times. `performed` has the results of [`Self::perform`], in its order.
    ///
    /// Failures: `limit` for a model that continues to repeat itself; `internal` if a call has no result.
    pub(crate) fn results(
        &self,
        settings: &Settings,
        thread: &[Message],
        performed: &[Value],
        most: usize,
    ) -> Result<Message, Failure> {
        let mut results = Message::results([]);
        for call in thread.last().into_iter().flat_map(Message::tool_calls) {
            let result = match self.refused.iter().find(|result| result.id == call.id) {
                Some(refused) => refused.clone(),
                None => self.result(call, performed)?,
            };
            let content = bounded(result.content, settings.limits.tool_result);
            results.blocks.push(Block::ToolResult(ToolResult { content, ..result }));
        }
        match loops::repeated(thread, &results, most) {
            Repeated::No => Ok(results),
            Repeated::Warn(times) => {
                results.blocks.push(Block::Text(format!(
                    "Note: the same tools were called with the same arguments and the same results {times} times in a row. Do something \
                     else, or answer with what is known: one more such call ends the task."
                )));
                Ok(results)
            }
            Repeated::Stop(times) => {
                let names: Vec<&str> = thread
                    .last()
                    .into_iter()
                    .flat_map(Message::tool_calls)
                    .map(|call| call.name.as_str())
                    .collect();
                let message = format!(
                    "the model has called {} with the same arguments and the same results {times} times in a row; \
                     `limits.repeats` is {}",
                    names.join(", "),
                    settings.limits.repeats
                );
                Err(Failure::limit(message).with_details(json!({ "tools": names, "repeats": times })))
            }
        }
    }

    fn result(&self, call: &ToolCall, performed: &[Value]) -> Result<ToolResult, Failure> {
        let found = self.perform.iter().zip(performed).find(|(perform, _)| perform.id == call.id);
        let Some((perform, result)) = found else {
            let message =
                format!("the graph has brought no result of the call `{}` of `{}`", call.id, call.name);
            return Err(Failure::internal(message));
        };
        let note = if perform.edited {
            format!("(A person has changed the arguments to {}.)\n", perform.arguments)
        } else {
            String::new()
        };
        let (content, failed) = match (Failed::deserialize(result), result) {
            (Ok(Failed { error: WhyFailed { category, error } }), _) => {
                (format!("{note}{category}: {error}"), true)
            }
            (Err(_), Value::String(text)) => (note + text, false),
            (Err(_), other) => (note + &other.to_string(), false),
        };
        Ok(ToolResult { id: call.id.clone(), content, failed })
    }
}

/// Returns the problem of arguments that are not a JSON object. The model can then write them again.
fn no_object(call: &ToolCall) -> Option<String> {
    let written = match &call.arguments {
        Value::Object(_) => return None,
        Value::String(text) => text.as_str(),
        _ => "null",
    };
    Some(match graph_sdk::serde_json::from_str::<Value>(written) {
        Err(error) if error.is_eof() => format!(
            "the arguments are not whole: {error}; they may be longer than an answer may be: call the tool again with shorter ones"
        ),
        Err(error) => format!("the arguments are not JSON: {error}"),
        Ok(Value::Object(_)) => "the arguments are too large, or nested too deep".to_owned(),
        Ok(_) => "the arguments must be a JSON object".to_owned(),
    })
}

/// Returns the text, cut to a number of characters.
pub(crate) fn bounded(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let all = text.chars().count();
    format!("{}\n[{} of {all} characters are left out]", &text[..end], all - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_cut_between_characters() {
        assert_eq!(bounded("äöü".to_owned(), 3), "äöü");
        assert_eq!(bounded("äöü".to_owned(), 2), "äö\n[1 of 3 characters are left out]");
        assert_eq!(bounded(String::new(), 1), "");
    }
}
