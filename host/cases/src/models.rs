//! `models` of a case: answers of language models to real components, in the order of the calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use graph_core::diagnostic::{Diagnostic, Problems, codes, one_line};
use graph_core::node::{Category, Failure};
use graph_core::yaml::{Fields, Node};
use graph_runtime::graph_engine::graph_model::{Block, Message, Response, Role, StopReason, ToolCall, Usage};
use graph_runtime::graph_engine::{AskedModel, DoubledModel, ModelDoubles};
use serde_json::{Map, Value, json};

use crate::keys;

/// Number of bytes of a request or an answer that count as one token, if a case states no usage.
const BYTES_OF_TOKEN: usize = 4;
/// Maximum number of characters that a message shows of a request.
const SHOWN: usize = 200;

/// Answer of a language model to one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    answer: Result<Answer, Failure>,
}

#[derive(Clone, Debug, PartialEq)]
struct Answer {
    message: Message,
    stop: StopReason,
    input: Option<u64>,
    output: Option<u64>,
}

/// Reads `models: {NAME: [answer]}`.
pub(crate) fn read(node: &Node, problems: &Problems) -> BTreeMap<String, Vec<ModelAnswer>> {
    let mut calls = 0;
    let models = node.mapping("`models`", problems).into_iter().flatten();
    models
        .map(|model| {
            let name = &model.key.name;
            let answers = model.value.list(format!("`{name}` of `models`"), problems).into_iter().flatten();
            let what = format!("an answer of the model `{name}`");
            (
                name.clone(),
                answers.filter_map(|node| read_answer(node, &what, &mut calls, problems)).collect(),
            )
        })
        .collect()
}

fn read_answer(node: &Node, what: &str, calls: &mut u64, problems: &Problems) -> Option<ModelAnswer> {
    const STOPS: [(&str, StopReason); 5] = [
        ("end", StopReason::End),
        ("tool_calls", StopReason::ToolCalls),
        ("max_output", StopReason::MaxOutput),
        ("stop_text", StopReason::StopText),
        ("refused", StopReason::Refused),
    ];
    let mut fields = Fields::open(node, &keys::MODEL_ANSWER, what.to_owned(), problems)?;
    let mut blocks = Vec::new();
    if let Some(text) = fields.text("text").filter(|text| !text.is_empty()) {
        blocks.push(Block::Text(text.to_owned()));
    }
    let asked = fields.filled("tool_calls").and_then(|node| node.list("`tool_calls`", problems));
    for call in asked.into_iter().flatten() {
        *calls += 1;
        blocks.push(Block::ToolCall(read_call(call, *calls, problems)?));
    }
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let own = if has_calls { StopReason::ToolCalls } else { StopReason::End };
    let stop = fields.choice("stop", &STOPS).unwrap_or(own);
    let is_answer = ["text", "tool_calls", "stop"].iter().any(|name| fields.get(name).is_some());
    let usage = fields.fields("usage", &keys::MODEL_USAGE, format!("`usage` of {what}"));
    let (input, output) = usage.map_or((None, None), |mut usage| {
        let figures = (usage.u64("input", 0..=u64::MAX), usage.u64("output", 0..=u64::MAX));
        usage.finish();
        figures
    });
    let fail = fields.filled("fail");
    fields.finish();
    if fail.is_some() == is_answer {
        let message = format!("{what} has either `text`, `tool_calls` and `stop`, or `fail`");
        problems.push(Diagnostic::error(codes::MISSING_KEY, node.span.first_line(), message));
        return None;
    }
    let answer = match fail {
        Some(fail) => Err(read_failure(fail, what, problems)?),
        None => Ok(Answer { message: Message { role: Role::Assistant, blocks }, stop, input, output }),
    };
    Some(ModelAnswer { answer })
}

fn read_call(node: &Node, number: u64, problems: &Problems) -> Option<ToolCall> {
    let mut fields = Fields::open(node, &keys::MODEL_CALL, "an entry of `tool_calls`", problems)?;
    let name = fields.required("name").and_then(|node| node.text("`name`", problems)).map(str::to_owned);
    let arguments = match fields.filled("arguments") {
        Some(node) => {
            if node.as_text().is_none() {
                node.mapping("`arguments`", problems)?;
            }
            node.to_json()
        }
        None => Value::Object(Map::new()),
    };
    let id = fields.text("id").map_or_else(|| format!("call-{number}"), str::to_owned);
    fields.finish();
    Some(ToolCall { id, name: name?, arguments })
}

fn read_failure(node: &Node, what: &str, problems: &Problems) -> Option<Failure> {
    let known: Vec<_> = Category::ALL.iter().map(|category| (category.as_str(), *category)).collect();
    let mut fields = Fields::open(node, &keys::MODEL_FAILURE, format!("`fail` of {what}"), problems)?;
    let category = fields.required("category").and_then(|node| {
        let name = node.text("`category`", problems)?;
        let category = Category::parse(name);
        if category.is_none() {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            let problem =
                Diagnostic::error(codes::UNKNOWN_CHOICE, node.span, format!("`{name}` is not a category"));
            problems.push(problem.help(format!("one of: {}", names.join(", "))));
        }
        category
    });
    let message = fields.text("message").unwrap_or("the model has failed").to_owned();
    fields.finish();
    Some(Failure::new(category?, message))
}

/// Answers of the language models for one run of a case.
#[derive(Debug)]
pub(crate) struct CaseModels {
    answers: BTreeMap<String, Vec<ModelAnswer>>,
    given: Mutex<Given>,
}

#[derive(Debug, Default)]
struct Given {
    /// Number of answered calls of each model.
    calls: BTreeMap<String, usize>,
    /// Index of the answer to each call of the current operation. A call that is repeated after a crash gets the same
    /// answer.
    answered: BTreeMap<CallKey, usize>,
}

/// Key of a call: the component's idempotency key, the attempt of its task, and the number of the call in that attempt.
type CallKey = (String, u32, u64);

impl CaseModels {
    pub(crate) fn new(answers: &BTreeMap<String, Vec<ModelAnswer>>) -> Self {
        Self { answers: answers.clone(), given: Mutex::default() }
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a new operation of the script: a repeated call in it gets the next answer.
    pub(crate) fn begin_operation(&self) {
        self.given().answered.clear();
    }
}

impl ModelDoubles for CaseModels {
    fn answer(&self, asked: &AskedModel<'_>) -> DoubledModel {
        let AskedModel { model, request, key, attempt, call } = *asked;
        let Some(answers) = self.answers.get(model) else { return DoubledModel::Send };
        let at = {
            let Given { calls, answered } = &mut *self.given();
            *answered.entry((key.to_owned(), attempt, call)).or_insert_with(|| {
                let calls = calls.entry(model.to_owned()).or_default();
                *calls += 1;
                *calls - 1
            })
        };
        let Some(ModelAnswer { answer }) = answers.get(at) else {
            let last = request.messages.last().map(|message| json!(message).to_string()).unwrap_or_default();
            let message = format!(
                "`models` of the case has {} for `{model}`, and this is call {}: {last}",
                counted(answers.len()),
                at + 1
            );
            return DoubledModel::Missing(one_line(&message, SHOWN));
        };
        match answer {
            Err(failure) => DoubledModel::Fail(failure.clone()),
            Ok(Answer { message, stop, input, output }) => {
                let tokens = |value: Value| (value.to_string().len().div_ceil(BYTES_OF_TOKEN)) as u64;
                let usage = Usage {
                    input: input.unwrap_or_else(|| tokens(json!(request))),
                    output: output.unwrap_or_else(|| tokens(json!(message))),
                    ..Usage::default()
                };
                DoubledModel::Answer(Response { message: message.clone(), stop: *stop, usage: Some(usage) })
            }
        }
    }
}

fn counted(answers: usize) -> String {
    if answers == 1 { "1 answer".to_owned() } else { format!("{answers} answers") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::yaml;
    use graph_runtime::graph_engine::graph_model::Request;

    use super::*;

    fn models(text: &str) -> Result<CaseModels, Vec<String>> {
        let problems = Problems::new();
        let root = yaml::parse(text, &problems).unwrap();
        let read = read(root.as_mapping().unwrap().get("models").unwrap(), &problems);
        let read = problems.finish("case", text, Some(read)).map_err(|problems| problems.to_lines())?.0;
        Ok(CaseModels::new(&read))
    }

    const CASE: &str = "\
models:
  fast:
    - { tool_calls: [{ name: search, arguments: { query: a } }, { name: search, id: x }, { name: search, arguments: '{' }] }
    - { text: done, usage: { input: 7, output: 2 } }
    - fail: { category: rate_limited, message: slower }
";

    #[test]
    fn answers_are_given_in_order_and_again_after_a_crash() {
        let models = models(CASE).unwrap();
        let request = Request::new("fast", vec![Message::user("hello")]);
        let ask =
            |model, key, call| models.answer(&AskedModel { model, request: &request, key, attempt: 1, call });
        assert_eq!(ask("other", "a", 1), DoubledModel::Send);
        let first = ask("fast", "a", 1);
        let DoubledModel::Answer(response) = &first else { panic!("{first:?}") };
        let calls: Vec<_> = response.message.tool_calls().collect();
        assert_eq!((calls[0].id.as_str(), &calls[0].arguments), ("call-1", &json!({ "query": "a" })));
        assert_eq!((calls[1].id.as_str(), &calls[1].arguments), ("x", &json!({})));
        assert_eq!(calls[2].arguments, json!("{"));
        assert_eq!(response.stop, StopReason::ToolCalls);
        let bytes = json!(request).to_string().len().div_ceil(4) as u64;
        assert_eq!(response.usage.unwrap().input, bytes);
        assert_eq!(ask("fast", "a", 1), first, "the same call again");
        let second = ask("fast", "a", 2);
        let DoubledModel::Answer(response) = &second else { panic!("{second:?}") };
        assert_eq!((response.message.text().as_str(), response.usage.unwrap().output), ("done", 2));
        models.begin_operation();
        assert_eq!(ask("fast", "a", 1), DoubledModel::Fail(Failure::new(Category::RateLimited, "slower")));
        let DoubledModel::Missing(message) = ask("fast", "b", 1) else { panic!() };
        assert_eq!(
            message,
            r#"`models` of the case has 3 answers for `fast`, and this is call 4: {"blocks":[{"text":"hello"}],"role":"user"}"#
        );
    }

    #[test]
    fn an_answer_is_an_answer_or_a_failure() {
        for wrong in
            ["{}", "{ text: a, fail: { category: denied } }", "{ fail: { category: bad } }", "{ usage: {} }"]
        {
            assert!(models(&format!("models: {{ fast: [{wrong}] }}\n")).is_err(), "{wrong}");
        }
    }
}
