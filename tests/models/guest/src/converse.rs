//! A conversation whose side of the user is fixed.

use graph_sdk::model::{self, Block, Message, Request, Role, Tool};
use graph_sdk::prelude::*;
use graph_sdk::serde_json::from_value;

use crate::{Turn, as_value};

/// Returns the model's answer to each turn. A turn that fails is left out of the history, so that the next one can be sent.
///
/// Reasoning of the model is sent back to it and is not part of the result: each provider has its own form of it.
pub(crate) fn run(model: &str, system: &str, tools: &[Tool], turns: Vec<Turn>) -> Result<Value, Failure> {
    let mut history: Vec<Message> = Vec::new();
    let mut transcript = Vec::new();
    for turn in turns {
        let blocks = turn.user.into_iter().map(from_value).collect::<Result<_, _>>()?;
        history.push(Message { role: Role::User, blocks });
        let request = request(model, system, tools, &history, turn.request)?;
        let answer = match model::complete(&request) {
            Ok(answer) => answer,
            Err(failure) => {
                history.pop();
                transcript.push(json!({ "turn": turn.name, "failed": as_value(&failure) }));
                continue;
            }
        };
        let shown: Vec<_> =
            answer.message.blocks.iter().filter(|block| !matches!(block, Block::Reasoning(_))).collect();
        transcript
            .push(json!({ "turn": turn.name, "blocks": shown, "stop": answer.stop, "usage": answer.usage }));
        history.push(answer.message);
    }
    Ok(json!({ "transcript": transcript }))
}

fn request(
    model: &str,
    system: &str,
    tools: &[Tool],
    history: &[Message],
    more: Map<String, Value>,
) -> Result<Request, Failure> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), json!(model));
    fields.insert("system".to_owned(), json!(system));
    fields.insert("tools".to_owned(), json!(tools));
    fields.insert("messages".to_owned(), json!(history));
    fields.extend(more);
    Ok(from_value(Value::Object(fields))?)
}
