//! The knowledge item of a transcript: Markdown that people read, and graphs load and search.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use graph_core::diagnostic::visible;
use graph_core::id::RunId;
use graph_core::json::canonical_string;
use graph_core::limits::written_cost;
use graph_core::time::Timestamp;
use graph_core::trust::{CommentMark, SigningKey, TextKind, sign_text};
use graph_store::RunRow;
use graph_store::held::WriteOptions;
use serde_json::Value;

use super::message::{Answer, Block, Message, Totals};
use super::reader::Transcript;
use crate::error::{Error, Result};
use crate::project::{Project, paths};
use crate::remedy::Remedy;

/// Limit of a written item, in bytes: larger ones are not read.
const LARGEST: usize = 16 << 20;
/// Part of the limit that is reserved for the front matter and the signature line, in bytes.
const FRONT: usize = 64 << 10;

/// Writes the transcript of a run into the knowledge of a project, as `.ai/knowledge/transcripts/RUN.md`, signed with
/// the host's identity. Returns the path of the file.
pub fn write_item(
    transcript: &Transcript<'_>,
    row: &RunRow,
    project: &Project,
    key: &SigningKey,
    at: Timestamp,
) -> Result<(PathBuf, Totals)> {
    let run = RunId::parse(&row.run_id).map_err(|error| {
        Error::integrity(format!("`{}` is no id of a run: {error}", row.run_id)).caused_by(error)
    })?;
    let id = format!("transcripts/{run}");
    let (body, totals) = body(transcript)?;
    let text = front_matter(row, &id, &totals, at) + &body;
    let signed = sign_text(TextKind::Knowledge, &id, &text, CommentMark::Angle, key, at);
    let place = paths::file(project, &["knowledge", "transcripts", &format!("{run}.md")])?;
    place
        .replace(WriteOptions::with_mode(0o644), |file| file.write_all(signed.as_bytes()))
        .map_err(|error| paths::not_written("the knowledge item", &error, &place.path(), project.base()))?;
    Ok((place.path(), totals))
}

fn front_matter(row: &RunRow, id: &str, totals: &Totals, at: Timestamp) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = String::from("---\n");
    let mut field = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    field("id", quoted(id));
    field("title", quoted(&format!("Transcript: {} ({})", row.graph_id, row.run_id)));
    field("entry_type", "graph_transcript".to_owned());
    field("category", quoted("transcripts"));
    field("version", quoted("1.0.0"));
    field("graph_id", quoted(&row.graph_id));
    field("graph_run_id", quoted(&row.run_id));
    field("status", row.status.as_str().to_owned());
    field("messages", totals.messages.to_string());
    field("conversations", totals.conversations.to_string());
    let all = totals.used.plus(totals.called).plus(totals.lost);
    field("model_calls", all.calls.to_string());
    field("input_tokens", all.input.to_string());
    field("output_tokens", all.output.to_string());
    field("cost", quoted(&written_cost(all.cost)));
    field("started_at", quoted(&row.created_at.to_string()));
    field("updated_at", quoted(&at.to_string()));
    field("tags", Value::from(vec!["graph_transcript", &row.graph_id]).to_string());
    text.push_str("---\n\n");
    text
}

fn body(transcript: &Transcript<'_>) -> Result<(String, Totals)> {
    let mut text = String::from("# Transcript\n");
    let mut conversation = 0;
    let totals = transcript.read(&mut |message| {
        if message.conversation != conversation {
            conversation = message.conversation;
            let path = heading(&message.path);
            let _ = write!(text, "\n## Conversation {conversation}: {path}\n");
        }
        add(&mut text, message);
        if text.len() <= LARGEST - FRONT { Ok(()) } else { Err(too_large()) }
    })?;
    Ok((text, totals))
}

fn too_large() -> Error {
    Error::limit(format!(
        "nothing was written: the transcript is larger than a knowledge item may be ({} MiB)",
        LARGEST >> 20
    ))
    .help(Remedy::WriteTranscriptFile)
}

fn add(text: &mut String, message: &Message) {
    let Message { role, superstep, model, .. } = message;
    let _ = write!(text, "\n### {}: superstep {superstep}, model {}\n", role.as_str(), heading(model));
    for block in &message.blocks {
        match block {
            Block::Text(said) => quote(text, said),
            Block::Reasoning(reasoning) => {
                text.push_str("\nReasoning:\n");
                quote(text, reasoning.text.as_deref().unwrap_or("(without readable text)"));
            }
            Block::ToolCall(call) => {
                text.push_str("\nCalls a tool:\n");
                quote(text, &format!("{} {}", call.name, canonical_string(&call.arguments)));
            }
            Block::ToolResult(result) => {
                text.push_str(if result.failed {
                    "\nA tool has failed:\n"
                } else {
                    "\nA tool has returned:\n"
                });
                quote(text, &result.content);
            }
            Block::Media(file) => {
                let digest = file.digest.map(|digest| format!(", {digest}")).unwrap_or_default();
                text.push_str("\nA file:\n");
                quote(text, &format!("{}{digest}", file.media_type));
            }
            Block::Other(value) => quote(text, &canonical_string(value)),
        }
    }
    if let Some(answer) = &message.answer {
        let _ = write!(text, "\n{}\n", outcome(answer));
    }
}

fn outcome(answer: &Answer) -> String {
    if let Some(failure) = &answer.failure {
        return format!("No answer: {}", heading(&failure.message));
    }
    let count = |name: &str| answer.usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut line = format!("{} tokens in, {} out", count("input"), count("output"));
    if answer.cost > 0 {
        let _ = write!(line, ", cost {}", written_cost(answer.cost));
    }
    if let Some(stop) = &answer.stop {
        let _ = write!(line, ", ends with {}", heading(stop));
    }
    line
}

/// Escapes a foreign text within a line of Markdown: nothing in it is a link, a picture, code or HTML.
fn heading(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in graph_core::diagnostic::one_line(text, 200).chars() {
        if matches!(c, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '&' | '~' | '|') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Adds a text as a quotation: nothing in it is a part of the document around it.
fn quote(text: &mut String, said: &str) {
    text.push('\n');
    for line in visible(said).split('\n') {
        let _ = writeln!(text, "> {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_in_a_line() {
        assert_eq!(heading("gpt-4.1_x (beta)!"), "gpt-4.1_x (beta)!");
        let hostile = "![x](http://stranger.test) <img src=x> `a` \\* &lt;\n# b\u{e0041}";
        let expected = r"!\[x\](http://stranger.test) \<img src=x\> \`a\` \\\* \&lt; # b\\u{e0041}";
        assert_eq!(heading(hostile), expected);
    }

    #[test]
    fn what_a_model_says_is_no_part_of_the_document() {
        let mut text = String::new();
        quote(&mut text, "---\n# heading\u{1b}[2J\n\n<!-- x -->");
        assert_eq!(text, "\n> ---\n> # heading\\u{1b}[2J\n> \n> <!-- x -->\n");
    }
}
