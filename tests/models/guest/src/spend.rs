//! Spends a budget.

use graph_sdk::host::emit;
use graph_sdk::model::{self, Budget};
use graph_sdk::prelude::*;

use crate::{Question, as_value, question};

/// The test changes this text in the built component, which then asks something else.
const SYSTEM: &str = "Answer in one sentence.";

/// Asks each question. The attempt ends in the middle if the budget does not suffice, so that each answer is reported as an
/// event, too.
pub(crate) fn run(model: &str, questions: &[Question]) -> Result<Value, Failure> {
    let mut answers = Vec::new();
    for asked in questions {
        let mut request = question(model, &asked.text).system(SYSTEM);
        request.max_output = asked.max_output;
        let mut answer = match model::complete(&request) {
            Ok(answer) => {
                json!({ "text": answer.message.text(), "stop": answer.stop, "usage": answer.usage })
            }
            Err(failure) => json!({ "failed": as_value(&failure) }),
        };
        answer["left"] = left(&model::remaining());
        emit("answered", &answer)?;
        answers.push(answer);
    }
    Ok(json!({ "answers": answers }))
}

fn left(budget: &Budget) -> Value {
    json!({
        "calls": budget.calls,
        "input_tokens": budget.input,
        "output_tokens": budget.output,
        "cost": budget.cost,
    })
}
