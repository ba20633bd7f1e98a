//! Messages of transcripts for people.

use std::fmt::Write as _;

use graph_core::diagnostic::{printable, printable_lines};
use graph_core::json::canonical_string;
use graph_core::limits::written_cost;
use graph_core::record::RecordKind;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::{counted, short_number};
use graph_host::terminal::width::{one_line, width, wrapped};
use graph_runtime::error::Result;
use graph_runtime::graph_store::RunRow;
use graph_runtime::history::transcript::{Answer, Block, FileDigest, Message, Role, Totals, Wanted};
use serde_json::Value;

use super::super::usage::model_line;

/// Printer of messages.
pub(super) struct Lines {
    out: Output,
    /// Place line of the last message.
    under: Option<String>,
}

impl Lines {
    pub(super) const fn new(out: Output) -> Self {
        Self { out, under: None }
    }

    /// Prints the line of a run before its messages.
    pub(super) fn heading(&mut self, graph: &str, run: &str, row: &RunRow) -> Result<()> {
        self.under = None;
        self.out.line(format_args!(
            "{} {}  {}",
            styled(output::BOLD, printable(graph)),
            styled(output::DIM, format_args!("run {run}")),
            row.status.as_str().replace('_', " ")
        ))
    }

    /// Prints a mark for omitted messages; `None` if their number is not known.
    pub(super) fn gap(&self, count: Option<u64>) -> Result<()> {
        let left_out = match count {
            Some(count) => format!("… {} before this", counted(count, "message")),
            None => "…".to_owned(),
        };
        self.out.line(styled(output::DIM, left_out))
    }

    /// Prints a message, with the first match of `wanted` in each line marked.
    pub(super) fn message(&mut self, message: &Message, wanted: Option<&Wanted>) -> Result<()> {
        let under = place(message);
        if self.under.as_ref() != Some(&under) {
            self.out.line(styled(output::DIM, &under))?;
            self.under = Some(under);
        }
        let mut head = styled(role_style(message.role), message.role.as_str());
        if let Some(answer) = &message.answer {
            let _ = write!(head, "  {}", styled(output::DIM, outcome(answer)));
        }
        self.out.line(head)?;
        for block in &message.blocks {
            self.block(block, wanted)?;
        }
        if let Some(failure) = message.answer.as_ref().and_then(|answer| answer.failure.as_ref()) {
            self.text("no answer ", &format!("({}): {}", failure.category, failure.message), None)?;
        }
        Ok(())
    }

    fn block(&self, block: &Block, wanted: Option<&Wanted>) -> Result<()> {
        match block {
            Block::Text(text) => self.text("", text, wanted),
            Block::Reasoning(reasoning) => match &reasoning.text {
                Some(text) => self.text("reasoning: ", text, wanted),
                None => self.text("reasoning ", "without readable text", None),
            },
            Block::ToolCall(call) => {
                self.text("calls ", &format!("{} {}", call.name, canonical_string(&call.arguments)), wanted)
            }
            Block::ToolResult(result) => {
                self.text(if result.failed { "failed: " } else { "returned: " }, &result.content, wanted)
            }
            Block::Media(file) => self.text("file ", &file_line(file), wanted),
            Block::Other(value) => self.text("other ", &canonical_string(value), wanted),
        }
    }

    /// Prints a text after a label, indented and safe for terminals; lines are wrapped on a terminal. Only labels are in the column of
    /// labels: no line of the text can imitate a call or a result.
    fn text(&self, label: &str, text: &str, wanted: Option<&Wanted>) -> Result<()> {
        let label = if label.is_empty() { "  ".to_owned() } else { styled(output::DIM, label) };
        for (number, line) in printable_lines(text).split('\n').enumerate() {
            let line = marked(line, wanted);
            let line = if number == 0 { format!("  {label}{line}") } else { format!("    {line}") };
            if self.out.is_read_by_people() {
                self.out.line(wrapped(&line, width(), ""))?;
            } else {
                self.out.line(line)?;
            }
        }
        Ok(())
    }

    /// Prints the totals of a transcript.
    pub(super) fn totals(&self, totals: &Totals) -> Result<()> {
        if totals.calls == 0 {
            self.out.line("no component of this run has asked a language model itself")?;
        } else {
            self.out.line(styled(
                output::DIM,
                format_args!(
                    "{} in {}; {}",
                    counted(totals.messages, "message"),
                    counted(totals.conversations, "conversation"),
                    model_line(totals.used)
                ),
            ))?;
        }
        for (used, who) in [
            (totals.called, "components that others have called, whose conversations are in no journal"),
            (totals.lost, "attempts that a crash or a deadline ended, whose conversations are in no journal"),
        ] {
            if !used.is_nothing() {
                self.out
                    .line(styled(output::DIM, format_args!("in addition: {} of {who}", model_line(used))))?;
            }
        }
        Ok(())
    }
}

/// Renders the place of a message: `superstep 2  ask/turn  fast  conversation 1`.
fn place(message: &Message) -> String {
    let Message { superstep, path, model, conversation, record, checkpoint, .. } = message;
    let at = match record {
        RecordKind::Checkpoint => format!("checkpoint {checkpoint}"),
        _ => "not committed yet".to_owned(),
    };
    let (path, model) = (one_line(path, 80), one_line(model, 40));
    format!("superstep {superstep}  {path}  {model}  conversation {conversation}  {at}")
}

const fn role_style(role: Role) -> anstyle::Style {
    match role {
        Role::Assistant => output::GOOD,
        Role::System | Role::User => output::BOLD,
    }
}

/// Renders the usage of an answer: `312 tokens in, 20 out, cost 0.0012, tool calls`.
fn outcome(answer: &Answer) -> String {
    let count = |name: &str| answer.usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut line =
        format!("{} tokens in, {} out", short_number(count("input")), short_number(count("output")));
    if count("cached") > 0 {
        let _ = write!(line, ", {} cached", short_number(count("cached")));
    }
    if answer.cost > 0 {
        let _ = write!(line, ", cost {}", written_cost(answer.cost));
    }
    if answer.requests > 1 {
        let _ = write!(line, ", {}", counted(answer.requests, "request"));
    }
    match answer.stop.as_deref() {
        None | Some("end") => {}
        Some(stop) => {
            let _ = write!(line, ", {}", one_line(&stop.replace('_', " "), 40));
        }
    }
    line
}

fn file_line(file: &FileDigest) -> String {
    let mut line = file.media_type.clone();
    if let Some(bytes) = file.bytes {
        let _ = write!(line, ", {bytes} bytes");
    }
    if let Some(digest) = file.digest {
        let _ = write!(line, ", {digest}");
    }
    line
}

/// Marks the first match in a line.
fn marked(line: &str, wanted: Option<&Wanted>) -> String {
    match wanted.and_then(|wanted| wanted.find(line)) {
        Some(found) if !found.is_empty() => {
            let (before, match_on) = line.split_at(found.start);
            let (matched, behind) = match_on.split_at(found.len());
            format!("{before}{}{behind}", styled(output::CAUTION, matched))
        }
        _ => line.to_owned(),
    }
}
