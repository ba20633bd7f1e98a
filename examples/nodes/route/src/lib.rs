//! Decides which tool answers the next part of a question: what a model does in an agent, by rules.

use graph_sdk::prelude::*;

/// The question and what has been said so far.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A question whose parts are separated by `;`.
    question: String,
    /// The messages so far: each tool's answer is one of them.
    messages: Vec<Message>,
    /// The folder to look at where a part names none with `in FOLDER`.
    folder: String,
}

/// A message.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Message {
    /// Its id.
    id: String,
    /// Who says it: `router`, or a tool.
    role: String,
    /// What is said.
    content: String,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Tool {
    /// List files.
    ListFiles,
    /// Count lines.
    CountLines,
    /// Search for a text.
    SearchText,
    /// All parts are answered.
    Answer,
}

/// The decision.
#[derive(Serialize, JsonSchema)]
struct Decision {
    /// What is to be done.
    tool: Tool,
    /// What the tool is given.
    arguments: Arguments,
    /// What the router says to it, or the final answer.
    message: Message,
}

/// What a tool is given.
#[derive(Default, Serialize, JsonSchema)]
struct Arguments {
    /// The folder to look at.
    folder: String,
    /// What names of files end in.
    ending: String,
    /// The text to search for.
    text: String,
}

graph_sdk::node! { summary: "Decides which tool answers the next part of a question.", run }

fn run(params: Params, _ctx: &Context) -> Result<Decision, Failure> {
    let parts: Vec<&str> = params.question.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    let answers: Vec<&Message> = params.messages.iter().filter(|message| message.role != "router").collect();
    let id = format!("router-{}", answers.len() + 1);
    let say = |content: String| Message { id, role: "router".to_owned(), content };
    let Some(part) = parts.get(answers.len()) else {
        let told: Vec<_> =
            parts.iter().zip(&answers).map(|(part, answer)| format!("{part}: {}", answer.content)).collect();
        return Ok(Decision {
            tool: Tool::Answer,
            arguments: Arguments::default(),
            message: say(told.join("\n")),
        });
    };
    let quoted = part.split('`').nth(1);
    let word_after = |word: &str| part.split_whitespace().skip_while(|one| *one != word).nth(1);
    let arguments = Arguments {
        folder: word_after("in").map_or(params.folder, |folder| folder.trim_end_matches('?').to_owned()),
        ending: part.split_whitespace().find(|word| word.starts_with('.')).unwrap_or_default().to_owned(),
        text: quoted.unwrap_or_default().to_owned(),
    };
    let has = |word: &str| part.split_whitespace().any(|one| one.trim_end_matches('?') == word);
    let tool = if quoted.is_some() {
        Tool::SearchText
    } else if has("lines") {
        Tool::CountLines
    } else if has("files") {
        Tool::ListFiles
    } else {
        let known = "ask how many `files` or `lines` there are, or for a text between backquotes";
        return Err(Failure::invalid_input(format_args!("no tool answers `{part}`: {known}")));
    };
    Ok(Decision { tool, arguments, message: say((*part).to_owned()) })
}
