//! Calls of tools that the model has asked for.

use graph_sdk::model::{Block, Message, ToolCall, ToolResult};
use graph_sdk::prelude::*;
use graph_sdk::tools;

use crate::approvals::{self, Decision};
use crate::loops::{self, Repeated};
use crate::outputs::{Outputs, RETURN};
use crate::settings::{Settings, ToolSettings};

/// What the calls of a message have led to.
#[derive(Debug)]
pub(crate) struct Called {
    /// The message with the results.
    pub(crate) results: Message,
    /// The outputs, if the model has returned them.
    pub(crate) outputs: Option<Value>,
    /// What is wrong with outputs that the model has tried to return.
    pub(crate) wrong_outputs: Option<String>,
}

/// What is done about a call.
enum Planned<'s> {
    /// The item is called.
    Item(&'s ToolSettings, Decision),
    /// The outputs are returned.
    Return,
    /// The result is a failure with this text.
    Refused(String),
}

/// Performs the calls of the last message of a thread, in order. Nothing is performed before every question about a call is answered.
///
/// Failures: a question that has no answer yet; `invalid-input` for a wrong answer; `denied` if a person ends the task; `limit` if the
/// model repeats calls without an effect although it was warned.
pub(crate) fn perform(
    settings: &Settings,
    outputs: Option<&Outputs>,
    thread: &[Message],
    ctx: &Context,
) -> Result<Called, Failure> {
    let calls: Vec<&ToolCall> = thread.last().into_iter().flat_map(Message::tool_calls).collect();
    let planned = calls
        .iter()
        .map(|call| plan(settings, outputs, call, calls.len(), ctx))
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut called = Called { results: Message::results([]), outputs: None, wrong_outputs: None };
    for (call, planned) in calls.iter().zip(planned) {
        let (content, failed) = match planned {
            Planned::Refused(why) => (why, true),
            Planned::Return => returned(outputs, call, &mut called),
            Planned::Item(tool, decision) => perform_item(tool, call, decision),
        };
        let content = bounded(content, settings.limits.tool_result);
        called.results.blocks.push(Block::ToolResult(ToolResult { id: call.id.clone(), content, failed }));
    }
    let mut after = thread.to_vec();
    after.push(called.results.clone());
    match loops::repeated(&after, settings.limits.repeats) {
        Repeated::No => {}
        Repeated::Warn(times) => called.results.blocks.push(Block::Text(format!(
            "Note: the same tools were called with the same arguments and the same results {times} times in a row. Do something else, or \
             answer with what is known: one more such call ends the task."
        ))),
        Repeated::Stop(times) => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            let message = format!(
                "the model has called {} with the same arguments and the same results {times} times in a row; `limits.repeats` is {}",
                names.join(", "),
                settings.limits.repeats
            );
            return Err(Failure::limit(message).with_details(json!({ "tools": names, "repeats": times })));
        }
    }
    Ok(called)
}

fn plan<'s>(
    settings: &'s Settings,
    outputs: Option<&Outputs>,
    call: &ToolCall,
    calls: usize,
    ctx: &Context,
) -> Result<Planned<'s>, Failure> {
    if call.name == RETURN && outputs.is_some() {
        return Ok(match calls {
            1 => Planned::Return,
            _ => Planned::Refused(format!(
                "`{RETURN}` has to be called alone, once the results of the other tools are known"
            )),
        });
    }
    let Some(tool) = settings.tools.iter().find(|tool| tool.name() == call.name) else {
        let mut names: Vec<String> = settings.tools.iter().map(ToolSettings::name).collect();
        names.extend(outputs.map(|_| RETURN.to_owned()));
        return Ok(Planned::Refused(match names.as_slice() {
            [] => format!("there is no tool `{}`: no tools can be called", call.name),
            names => format!("there is no tool `{}`: the tools are {}", call.name, names.join(", ")),
        }));
    };
    if !call.arguments.is_object() {
        return Ok(Planned::Refused("the arguments must be a JSON object".to_owned()));
    }
    Ok(Planned::Item(tool, approvals::decide(&settings.approvals, tool, call, ctx)?))
}

/// The text for the model, and whether it is a failure.
fn perform_item(tool: &ToolSettings, call: &ToolCall, decision: Decision) -> (String, bool) {
    let (arguments, note) = match decision {
        Decision::Refuse(why) => return (why, true),
        Decision::Perform => (call.arguments.clone(), String::new()),
        Decision::PerformWith(arguments) => {
            let note = format!("(A person has changed the arguments to {arguments}.)\n");
            (arguments, note)
        }
    };
    match tools::call::<Value>(&tool.item, arguments) {
        Ok(Value::String(text)) => (note + &text, false),
        Ok(result) => (note + &result.to_string(), false),
        Err(failure) => {
            let category = failure.category().map_or("permanent", category);
            (format!("{note}{category}: {failure}"), true)
        }
    }
}

fn returned(outputs: Option<&Outputs>, call: &ToolCall, called: &mut Called) -> (String, bool) {
    let problems = outputs.map(|outputs| outputs.problems(&call.arguments)).unwrap_or_default();
    if problems.is_empty() {
        called.outputs = Some(call.arguments.clone());
        return ("The outputs are returned.".to_owned(), false);
    }
    let problems = problems.join("; ");
    let content = format!("the outputs are wrong: {problems}");
    called.wrong_outputs = Some(problems);
    (content, true)
}

/// The text, cut to a number of characters.
fn bounded(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let all = text.chars().count();
    format!("{}\n[{} of {all} characters are left out]", &text[..end], all - most)
}

/// The name of a category.
const fn category(of: Category) -> &'static str {
    match of {
        Category::Transient => "transient",
        Category::RateLimited => "rate-limited",
        Category::Timeout => "timeout",
        Category::Permanent => "permanent",
        Category::InvalidInput => "invalid-input",
        Category::Denied => "denied",
        Category::Limit => "limit",
        Category::Internal => "internal",
    }
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
