//! Asks a person to choose.

use graph_sdk::prelude::*;

/// The question.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// What is asked.
    question: String,
    /// What the question is about: shown with it.
    #[serde(default)]
    about: Map<String, Value>,
    /// What can be answered; a remark may follow behind a colon.
    choices: Vec<String>,
}

/// What the person said.
#[derive(Serialize, JsonSchema)]
struct Answer {
    /// One of the choices.
    choice: String,
    /// What was said behind the colon.
    remark: String,
}

graph_sdk::node! { summary: "Asks a person to choose, again and again until the answer is one of the choices.", run }

fn run(params: Params, ctx: &Context) -> Result<Answer, Failure> {
    let Params { question, about, choices } = params;
    if choices.is_empty() {
        return Err(Failure::invalid_input("there is nothing to choose from"));
    }
    let mut misunderstood: Option<Value> = None;
    loop {
        let mut asked = about.clone();
        asked.insert("question".to_owned(), json!(question));
        asked.insert("choices".to_owned(), json!(choices));
        if let Some(answer) = &misunderstood {
            asked.insert("not_understood".to_owned(), answer.clone());
        }
        let answer: Value = ctx.ask(asked)?;
        let text = answer.as_str().unwrap_or_default();
        let (choice, remark) = text.split_once(':').unwrap_or((text, ""));
        let chosen = choices.iter().find(|one| one.eq_ignore_ascii_case(choice.trim()));
        match chosen {
            Some(choice) => return Ok(Answer { choice: choice.clone(), remark: remark.trim().to_owned() }),
            None => misunderstood = Some(answer),
        }
    }
}
