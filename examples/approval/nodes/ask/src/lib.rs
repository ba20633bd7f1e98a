//! Asks a person whether a text is good.

use graph_sdk::prelude::*;

/// The text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// What to ask about.
    text: String,
}

/// What the person said.
#[derive(Serialize, JsonSchema)]
struct Verdict {
    /// Whether the text is good as it is.
    accepted: bool,
    /// What should be changed, if not.
    wish: Option<String>,
}

graph_sdk::node! { summary: "Asks a person whether a text is good.", run }

fn run(params: Params, ctx: &Context) -> Result<Verdict, Failure> {
    let answer: Value = ctx.ask(json!({
        "question": "Shall this be published?",
        "text": params.text,
        "choices": ["accept", "shorter", "louder", "replace X with Y"],
    }))?;
    Ok(match answer {
        Value::Bool(accepted) => Verdict { accepted, wish: None },
        Value::String(word) if word.trim().eq_ignore_ascii_case("accept") => Verdict { accepted: true, wish: None },
        Value::String(wish) => Verdict { accepted: false, wish: Some(wish) },
        other => return Err(Failure::invalid_input(format_args!("an answer is `accept` or a wish, not {other}"))),
    })
}
