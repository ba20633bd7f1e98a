//! Drafts an announcement from a file of notes.

use graph_sdk::files;
use graph_sdk::prelude::*;

/// The notes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A Markdown file: a heading, and a list of points.
    notes: String,
}

/// The draft.
#[derive(Serialize, JsonSchema)]
struct Draft {
    /// The text.
    text: String,
}

graph_sdk::node! {
    summary: "Drafts an announcement from a Markdown file of notes.",
    wants: [
        "wasi:filesystem/types": "reads the notes",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the notes as a stream",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Draft, Failure> {
    let notes = files::read_to_string(&params.notes)
        .map_err(|error| Failure::invalid_input(format_args!("{}: {error}", params.notes)))?;
    let heading = notes.lines().find_map(|line| line.strip_prefix("# "));
    let points: Vec<&str> = notes.lines().filter_map(|line| line.strip_prefix("- ")).map(str::trim).collect();
    let Some(heading) = heading else {
        return Err(Failure::invalid_input(format_args!("{} has no heading", params.notes)));
    };
    if points.is_empty() {
        return Err(Failure::invalid_input(format_args!("{} has no points", params.notes)));
    }
    let sentences: Vec<String> = points.iter().map(|point| sentence(point)).collect();
    Ok(Draft { text: format!("{heading}\n\n{}", sentences.join(" ")) })
}

/// A point as a sentence: a capital at its beginning, a full stop at its end.
fn sentence(point: &str) -> String {
    let mut letters = point.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let rest = letters.as_str().trim_end_matches('.');
    format!("{first}{rest}.")
}
