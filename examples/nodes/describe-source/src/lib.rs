//! Describes a Rust source file by what its first comment says, and makes the description shorter when it is told to.

use graph_sdk::files;
use graph_sdk::prelude::*;

/// The file, and what was thought of the description so far.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The file.
    file: String,
    /// The description so far.
    previous: Option<Description>,
    /// What is wrong with it: whatever it is, the last sentence goes.
    feedback: Option<String>,
}

/// A description.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Description {
    /// The text.
    text: String,
    /// How many words it has.
    words: u64,
    /// How many sentences it has.
    sentences: u64,
    /// How often it was written.
    draft: u64,
}

graph_sdk::node! {
    summary: "Describes a Rust source file by its first comment, shorter each time.",
    wants: [
        "wasi:filesystem/types": "reads the file",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the file as a stream",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Description, Failure> {
    let Params { file, previous, feedback } = params;
    let (text, draft) = match (previous, feedback) {
        (Some(previous), Some(_)) => {
            let mut sentences = sentences(&previous.text);
            if sentences.len() > 1 {
                sentences.pop();
            }
            (sentences.join(" "), previous.draft + 1)
        }
        (Some(previous), None) => (previous.text, previous.draft),
        (None, _) => (first_comment(&file)?, 1),
    };
    let words = text.split_whitespace().count() as u64;
    let sentences = sentences(&text).len() as u64;
    Ok(Description { text, words, sentences, draft })
}

/// The comment at the top of the file, up to its first example, on one line.
fn first_comment(file: &str) -> Result<String, Failure> {
    let source = files::read_to_string(file)?;
    let words: Vec<&str> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .take_while(|line| !line.trim_start().starts_with("```"))
        .flat_map(str::split_whitespace)
        .collect();
    if words.is_empty() {
        return Err(Failure::invalid_input(format_args!("{file} does not begin with a `//!` comment")));
    }
    Ok(words.join(" "))
}

/// A text's sentences: each ends in a full stop before white space, or where the text ends.
fn sentences(text: &str) -> Vec<&str> {
    text.split_inclusive(". ").map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}
