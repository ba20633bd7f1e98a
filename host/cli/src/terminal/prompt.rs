//! Answers to a run's interrupts from a person at the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use graph_core::question::{AnswerError, ExpiredQuestion, Question, shown as choice_text};
use graph_core::record::InterruptRecord;
use graph_core::time::Timestamp;
use graph_core::wait::Wait;
use graph_walker::walker::Answers;
use serde_json::Value;
use textwrap::core::display_width;

use crate::terminal::local_time::local_time;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::run_report::{all_of_it, short_span};
use crate::terminal::values::{Extent, ValueLines};
use crate::terminal::width::{one_line, width, wrapped};
use graph_core::diagnostic::{block, printable, printable_lines};
use graph_runtime::clock::now;
use graph_runtime::run::typed_answers::AS_TEXT;

/// Asks the user the open questions on stderr; `None` if the user leaves, by the end of input or by Ctrl-C, which resolves `leave`.
///
/// `run` is the run as an argument of commands.
pub async fn ask(
    output: Output,
    run: &str,
    open: &[InterruptRecord],
    leave: impl Future<Output = ()>,
) -> Option<Answers> {
    let mut leave = std::pin::pin!(leave);
    let mut answers = BTreeMap::new();
    for interrupt in open {
        output.note(question(interrupt, Some(run)));
        if Wait::from_payload(&interrupt.payload.0).is_some() {
            continue;
        }
        // An expired question accepts no answer.
        if Question::from_payload(&interrupt.payload.0).expired(now()).is_some() {
            continue;
        }
        if interrupt.payload.0.is_null() {
            output.note("  press Enter to continue");
        }
        loop {
            prompt();
            let line = tokio::select! {
                () = &mut leave => return None,
                line = read_line() => line,
            };
            let Some(line) = line else {
                // The user has not pressed Enter: without a line break, further output would follow the prompt.
                output.note("");
                return None;
            };
            match answer(line.trim(), &interrupt.payload.0) {
                Reply::Value(value) => {
                    answers.insert(interrupt.id.clone(), value);
                    break;
                }
                Reply::GoOn => break,
                Reply::Again(why) => output.note(format_args!("  {}", styled(output::CAUTION, why))),
            }
        }
    }
    Some(if answers.is_empty() { Answers::None } else { Answers::ById(answers) })
}

/// Checks whether an interrupt needs an answer: it is neither a pause nor expired.
pub fn needs_answer(asked: &InterruptRecord) -> bool {
    !asked.payload.0.is_null()
        && Wait::from_payload(&asked.payload.0).is_none()
        && Question::from_payload(&asked.payload.0).expired(now()).is_none()
}

fn prompt() {
    use std::io::Write as _;
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "  {} ", styled(output::BOLD, ">"));
    let _ = stderr.flush();
}

async fn read_line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok().filter(|count| *count > 0).map(|_| line)
    });
    read.await.ok().flatten()
}

enum Reply {
    Value(Value),
    GoOn,
    Again(String),
}

/// Reads a line as an answer to a question.
fn answer(line: &str, payload: &Value) -> Reply {
    if line.is_empty() {
        return if payload.is_null() { Reply::GoOn } else { Reply::Again("an answer is needed".to_owned()) };
    }
    match Question::from_payload(payload).read(line) {
        Ok(value) => Reply::Value(value),
        Err(error @ AnswerError::Json(_)) => Reply::Again(format!("{error}; {AS_TEXT}")),
        Err(error) => Reply::Again(block(&error.to_string(), "  ")),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Renders a question: its node, its text, and the accepted answers. If something is left out and `run`, an argument of commands, is
/// given, the last line names the command that shows all of it.
pub fn question(interrupt: &InterruptRecord, run: Option<&str>) -> String {
    let columns = width();
    let node = one_line(&interrupt.node, columns / 2);
    let id = format!("[{}]", one_line(&interrupt.id, 80));
    let payload = &*interrupt.payload.0;
    if let Some(wait) = Wait::from_payload(payload) {
        let mark = styled(output::CAUTION, "‖");
        return format!(
            "{mark} {} {} {}",
            styled(output::BOLD, &node),
            styled(output::DIM, &id),
            wait_text(&wait)
        );
    }
    let asked = asked(payload);
    let text = match payload {
        Value::Null => "pauses here",
        _ => asked.map_or("", |(_, text)| text),
    };
    // The question is not shortened: the user has to read all of it to answer.
    let place = "x".repeat(display_width(&node) + display_width(&id) + 3);
    let head = wrapped(&format!("{place} {}", printable_lines(text.trim_end())), columns, "    ");
    let rest = head.strip_prefix(&place).unwrap_or_default();
    let mut shown = format!(
        "{} {} {}{rest}",
        styled(output::CAUTION, "?"),
        styled(output::BOLD, &node),
        styled(output::DIM, &id)
    );
    let extent = if run.is_some() { Extent::LONG } else { Extent::ALL };
    let mut lines = ValueLines::new(extent, columns);
    match payload {
        Value::Null | Value::String(_) => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                if Some(key.as_str()) != asked.map(|(key, _)| key) && !is_form(key, value) {
                    lines.member(key, value, 2);
                }
            }
        }
        other => lines.value(other, 2),
    }
    let (text, is_shortened) = lines.finish();
    if !text.is_empty() {
        let _ = write!(shown, "\n{text}");
    }
    if let (true, Some(run)) = (is_shortened, run) {
        let _ = write!(shown, "\n  {}", all_of_it(&format!("runs show {run} --all")));
    }
    let form = Question::from_payload(payload);
    if let Some(expired) = form.expired(now()) {
        let _ = write!(shown, "\n  {}", styled(output::CAUTION, expired_line(&expired, now())));
        return shown;
    }
    for (number, choice) in (1..).zip(form.choices()) {
        let choice = self::text(choice).replace('\n', " ");
        let choice = printable(&choice);
        let _ = write!(shown, "\n  {}", wrapped(&format!("{number}. {choice}"), columns - 2, "     "));
    }
    if form.takes_other() && !form.choices().is_empty() {
        shown.push_str("\n  or any other text");
    }
    shown
}

/// Renders what a wait waits for: `waits for the event paid with order=17, until 2026-11-28 12:00:00 +01:00`.
fn wait_text(wait: &Wait<'_>) -> String {
    let mut text = "waits".to_owned();
    if let Some(event) = wait.event() {
        let _ = write!(text, " for the event {}", one_line(event, 60));
        let named = wait.matched().into_iter().flatten();
        let named: Vec<_> = named.map(|(key, value)| format!("{key}={}", choice_text(value))).collect();
        if !named.is_empty() {
            let _ = write!(text, " with {}", one_line(&named.join(", "), width()));
        }
    }
    if let Some(until) = wait.until() {
        let comma = if wait.event().is_some() { "," } else { "" };
        let over = if now() >= until { ", which has passed: the next resume continues" } else { "" };
        let _ = write!(text, "{comma} until {}{over}", local_time(until));
    }
    text
}

/// Renders the time since a question expired, and the default that is used instead of an answer.
pub fn expired_line(expired: &ExpiredQuestion, now: Timestamp) -> String {
    let ago = short_span(Duration::from_millis(now.0.saturating_sub(expired.until.0)));
    match &expired.default {
        Some(default) => {
            let default = one_line(&choice_text(default), 60);
            format!("expired {ago} ago; its default `{default}` is used at the next resume")
        }
        None => {
            format!(
                "expired {ago} ago; it has no default, so its node fails with `timeout` at the next resume"
            )
        }
    }
}

/// Returns the key and the text of a question in its payload.
fn asked(payload: &Value) -> Option<(&str, &str)> {
    match payload {
        Value::String(text) => Some(("", text)),
        Value::Object(fields) => ["question", "prompt", "message"]
            .into_iter()
            .find_map(|key| Some((key, fields.get(key)?.as_str()?))),
        _ => None,
    }
}

/// Checks whether a member describes the accepted answers, which are listed below the question, or marks an `ask` node.
fn is_form(key: &str, value: &Value) -> bool {
    match key {
        "choices" | "options" => value.is_array(),
        "other" => value.is_boolean(),
        "type" => value == "ask",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn interrupt(id: &str, node: &str, payload: Value) -> InterruptRecord {
        InterruptRecord { budget: None, id: id.to_owned(), node: node.to_owned(), payload: payload.into() }
    }

    #[test]
    fn questions_show_what_they_carry() {
        let payload = json!({"question": "Publish?", "draft": "One\nTwo\u{1b}[2J", "choices": ["yes", "no"]});
        let shown = anstream::adapter::strip_str(&question(&interrupt("r/1.0/0", "ask", payload), Some("r")))
            .to_string();
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_line_is_read_by_the_form_of_its_question() {
        let payload = json!({"choices": ["replace X with Y", 7], "other": false});
        let value = |line| match answer(line, &payload) {
            Reply::Value(value) => Some(value),
            Reply::GoOn | Reply::Again(_) => None,
        };
        assert_eq!(value("replace X with Y"), Some(json!("replace X with Y")));
        assert_eq!(value("1"), Some(json!("replace X with Y")));
        assert_eq!(value("7"), Some(json!(7)));
        assert_eq!(value("3"), None);
        assert_eq!(value("02"), None);
        assert_eq!(value(""), None);
        let free = |line| match answer(line, &json!("Which version?")) {
            Reply::Value(value) => Some(value),
            Reply::GoOn | Reply::Again(_) => None,
        };
        assert_eq!((free("1.10"), free("7")), (Some(json!("1.10")), Some(json!(7))));
    }

    #[test]
    fn a_question_that_has_expired_offers_no_choices() {
        let until = Timestamp(1_000);
        let payload = json!({"type": "ask", "question": "Deploy?", "choices": ["go", "stop"], "default": "stop", "until": until.to_string()});
        let shown = question(&interrupt("1.0/0", "a", payload), Some("r"));
        assert!(shown.contains("its default `stop` is used at the next resume"), "{shown}");
        assert!(!shown.contains("1. go"), "{shown}");
        let none = ExpiredQuestion { until, default: None };
        let text =
            "expired 2.0 s ago; it has no default, so its node fails with `timeout` at the next resume";
        assert_eq!(expired_line(&none, Timestamp(3_000)), text);
    }
}
