//! Answers to a run's interrupts: from the command line, or from a person at the terminal.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use graph_core::question::{AnswerError, Question};
use graph_core::record::InterruptRecord;
use graph_core::walker::Answers;
use serde_json::Value;
use textwrap::core::display_width;

use crate::terminal::inputs::AS_TEXT;
use crate::terminal::output::{self, Output, styled};
use crate::terminal::run_report::all_of_it;
use crate::terminal::values::{Extent, ValueLines};
use crate::terminal::width::{one_line, width, wrapped};
use graph_core::diagnostic::{block, printable, printable_lines};
use graph_runtime::error::{Error, Result};

/// Answers as they are typed on a command line: one alone, or `ID=ANSWER` for each.
#[derive(Clone, Debug, Default)]
pub struct Given(VecDeque<String>);

impl Given {
    /// The values of `--answer`.
    pub fn new(answers: Vec<String>) -> Self {
        Self(answers.into())
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left, for the questions that are open: an answer that begins with the id or the node of one goes there,
    /// and a single other one answers the only question.
    pub fn take(&mut self, open: &[InterruptRecord]) -> Result<Answers> {
        let mut by_id = BTreeMap::new();
        let mut bare = None;
        for text in std::mem::take(&mut self.0) {
            match addressed(&text, open) {
                Some((id, answer)) => {
                    let asked = open.iter().find(|asked| asked.id == id || asked.node == id);
                    if by_id.insert(id.to_owned(), value(answer, asked)?).is_some() {
                        return Err(Error::usage(format!("there are two answers for `{}`", printable(id))));
                    }
                }
                None if bare.is_none() => {
                    let mut asked = open.iter().filter(|asked| !asked.payload.0.is_null());
                    // Of several questions it answers none: the walker says so.
                    let first = asked.next();
                    let several = asked.next().is_some();
                    if let (true, Some(name)) = (several, misnamed(&text)) {
                        return Err(Error::usage(format!(
                            "no open question has the id or the node `{name}`"
                        ))
                        .help(format!("open are: {}", listed(open))));
                    }
                    let only = first.filter(|_| !several);
                    bare = Some(value(&text, only)?);
                }
                None => {
                    return Err(Error::usage("there are several answers without an id".to_owned())
                        .help("write each as --answer ID=ANSWER; the ids are those that the run lists"));
                }
            }
        }
        match bare {
            None if by_id.is_empty() => Ok(Answers::None),
            None => Ok(Answers::ById(by_id)),
            Some(value) if by_id.is_empty() => Ok(Answers::Bare(value)),
            Some(_) => {
                Err(Error::usage("one of the answers has no id, or one that no open question has".to_owned())
                    .help("write each as --answer ID=ANSWER; the ids are those that the run lists"))
            }
        }
    }

    /// The next answer alone, for runs that are started with their answers.
    pub fn take_first(&mut self) -> Option<String> {
        self.0.pop_front()
    }
}

/// What an answer means, as it is typed, to a question.
fn value(text: &str, asked: Option<&InterruptRecord>) -> Result<Value> {
    let question = asked.map(|asked| Question::of(&asked.payload.0)).unwrap_or_default();
    question.read(text).map_err(|error| {
        let whose = asked.map_or(String::new(), |asked| {
            format!(" to `{}` ({})", printable(&asked.id), printable(&asked.node))
        });
        let refused =
            Error::usage(format!("the answer{whose} is not accepted: {}", block(&error.to_string(), "  ")));
        match error {
            AnswerError::Json(_) => refused.help(AS_TEXT),
            _ => refused,
        }
    })
}

/// What stands before the `=` of an answer, if it could be a node's name.
fn misnamed(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// The questions, as an answer names them.
fn listed(open: &[InterruptRecord]) -> String {
    let name = |asked: &InterruptRecord| format!("{} ({})", printable(&asked.id), printable(&asked.node));
    open.iter().filter(|asked| !asked.payload.0.is_null()).map(name).collect::<Vec<_>>().join(", ")
}

/// `ID=ANSWER` where the id is that of an open question, its node, or at least looks like an id.
fn addressed<'t>(text: &'t str, open: &[InterruptRecord]) -> Option<(&'t str, &'t str)> {
    let (id, answer) = text.split_once('=')?;
    let known = open.iter().any(|interrupt| interrupt.id == id || interrupt.node == id);
    // A misspelt id is better refused by the walker than taken for an answer.
    let looks =
        id.contains('/') && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/.".contains(&byte));
    (known || looks).then_some((id, answer))
}

/// Asks the user, on stderr; `None` if the user leaves, by the end of input or by Ctrl-C, which resolves `leave`.
///
/// `run` is the run as a command takes it.
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

/// What a line means to a question.
fn answer(line: &str, payload: &Value) -> Reply {
    if line.is_empty() {
        return if payload.is_null() { Reply::GoOn } else { Reply::Again("an answer is needed".to_owned()) };
    }
    match Question::of(payload).read(line) {
        Ok(value) => Reply::Value(value),
        Err(error @ AnswerError::Json(_)) => Reply::Again(format!("{error}; {AS_TEXT}")),
        Err(error) => Reply::Again(block(&error.to_string(), "  ")),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A question as a person reads it: who asks, what, and which answers are taken. Where something of it is left out, the last
/// line says how all of it is shown, if the run, as a command takes it, is known.
pub fn question(interrupt: &InterruptRecord, run: Option<&str>) -> String {
    let columns = width();
    let node = one_line(&interrupt.node, columns / 2);
    let id = format!("[{}]", one_line(&interrupt.id, 80));
    let payload = &*interrupt.payload.0;
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
    let form = Question::of(payload);
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

/// The key and the text of what is asked.
fn asked(payload: &Value) -> Option<(&str, &str)> {
    match payload {
        Value::String(text) => Some(("", text)),
        Value::Object(fields) => ["question", "prompt", "message"]
            .into_iter()
            .find_map(|key| Some((key, fields.get(key)?.as_str()?))),
        _ => None,
    }
}

/// Whether a member says which answers are taken: the list of the choices follows; what makes it a question of an `ask` node
/// says nothing to a person.
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
    fn answers_go_to_the_questions_they_name() {
        let open = [interrupt("r/1.0/0", "a", json!("?")), interrupt("r/1.1/0", "b", json!("?"))];
        let take =
            |answers: &[&str]| Given::new(answers.iter().map(|a| (*a).to_owned()).collect()).take(&open);
        assert_eq!(take(&[]).unwrap(), Answers::None);
        assert_eq!(take(&["yes"]).unwrap(), Answers::Bare(json!("yes")));
        // Of several questions a bare answer answers none, so this can only be a name that is wrong.
        assert!(take(&["x=1"]).unwrap_err().to_string().contains("`x`"));
        assert_eq!(take(&["null"]).unwrap(), Answers::Bare(Value::Null));
        let both = BTreeMap::from([("r/1.0/0".to_owned(), json!(1)), ("b".to_owned(), json!("c=d"))]);
        assert_eq!(take(&["r/1.0/0=1", "b=c=d"]).unwrap(), Answers::ById(both));
        let unknown = BTreeMap::from([("r/9.0/0".to_owned(), json!(1))]);
        assert_eq!(take(&["r/9.0/0=1"]).unwrap(), Answers::ById(unknown));
        assert!(take(&["yes", "no"]).is_err());
        assert!(take(&["a=1", "a=2"]).is_err());
        assert!(take(&["a=1", "yes"]).is_err());
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
        assert_eq!(value(""), None);
        let open = [interrupt("1.0/0", "a", payload.clone())];
        let take = |answer: &str| Given::new(vec![answer.to_owned()]).take(&open);
        assert_eq!(take("2").unwrap(), Answers::Bare(json!(7)));
        assert!(take("nothing of it").unwrap_err().to_string().contains("1. replace X with Y, 2. 7"));
    }
}
