//! Answers to a run's interrupts: from the command line, or from a person at the terminal.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use graph_core::record::InterruptRecord;
use graph_core::walker::Answers;
use serde_json::{Map, Value};

use crate::terminal::inputs::{AS_TEXT, parse_value};
use crate::terminal::output::{self, Output, styled};
use graph_core::diagnostic::one_line;
use graph_core::diagnostic::printable;
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
                    if by_id.insert(id.to_owned(), value(answer)?).is_some() {
                        return Err(Error::usage(format!("there are two answers for `{}`", printable(id))));
                    }
                }
                None if bare.is_none() => bare = Some(value(&text)?),
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

/// What an answer means, as it is typed.
fn value(text: &str) -> Result<Value> {
    parse_value(text).map_err(|error| {
        Error::usage(format!("an answer is JSON that cannot be taken as it is: {error}")).help(AS_TEXT)
    })
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

/// Asks a person, on stderr; `None` when they leave: by the end of input, or Ctrl-C, of which `leave` tells.
pub async fn ask(
    output: Output,
    open: &[InterruptRecord],
    leave: impl Future<Output = ()>,
) -> Option<Answers> {
    let mut leave = std::pin::pin!(leave);
    let mut answers = BTreeMap::new();
    for interrupt in open {
        output.note(question(interrupt));
        if interrupt.payload.0.is_null() {
            output.note("  press Enter to go on");
        }
        let choices = choices(&interrupt.payload.0);
        loop {
            prompt();
            let line = tokio::select! {
                () = &mut leave => return None,
                line = read_line() => line,
            };
            let Some(line) = line else {
                // Nobody has pressed Enter: what follows would stand behind the prompt.
                output.note("");
                return None;
            };
            match answer(line.trim(), &interrupt.payload.0, &choices) {
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

/// What a line means: one of the choices by its number or text, else JSON or text.
fn answer(line: &str, payload: &Value, choices: &[Value]) -> Reply {
    if line.is_empty() {
        return if payload.is_null() { Reply::GoOn } else { Reply::Again("an answer is needed".to_owned()) };
    }
    if choices.is_empty() {
        return match parse_value(line) {
            Ok(value) => Reply::Value(value),
            Err(error) => {
                Reply::Again(format!("that is JSON that cannot be taken as it is: {error}; {AS_TEXT}"))
            }
        };
    }
    if let Some(choice) = choices.iter().find(|choice| text(choice) == line) {
        return Reply::Value(choice.clone());
    }
    match line.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?)) {
        Some(choice) => Reply::Value(choice.clone()),
        None => Reply::Again(format!("choose one of 1 to {}", choices.len())),
    }
}

/// The choices that a question names, if it does.
fn choices(payload: &Value) -> Vec<Value> {
    let list = ["choices", "options"].into_iter().find_map(|key| payload.get(key)?.as_array());
    list.cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A question as a person reads it.
pub fn question(interrupt: &InterruptRecord) -> String {
    let mut shown = format!(
        "{} {} {}",
        styled(output::CAUTION, "?"),
        styled(output::BOLD, one_line(&interrupt.node, 60)),
        styled(output::DIM, format_args!("[{}]", one_line(&interrupt.id, 80))),
    );
    let payload = &*interrupt.payload.0;
    match payload {
        Value::Null => shown.push_str(" pauses here"),
        Value::String(text) => {
            let _ = write!(shown, " {}", indented(text));
        }
        Value::Object(fields) => object(&mut shown, fields),
        other => {
            let _ = write!(shown, " {}", indented(&other.to_string()));
        }
    }
    for (number, choice) in (1..).zip(choices(payload)) {
        let _ = write!(shown, "\n  {number}. {}", one_line(&text(&choice), 200));
    }
    shown
}

fn object(shown: &mut String, fields: &Map<String, Value>) {
    let asked = ["question", "prompt", "message"]
        .into_iter()
        .find(|key| fields.get(*key).is_some_and(Value::is_string));
    if let Some(asked) = asked {
        let _ = write!(shown, " {}", indented(&text(&fields[asked])));
    }
    for (key, value) in fields {
        if Some(key.as_str()) == asked || ((key == "choices" || key == "options") && value.is_array()) {
            continue;
        }
        let (key, value) = (one_line(key, 60), text(value));
        let _ = if value.trim_end().contains('\n') {
            write!(shown, "\n  {key}:{}", below(&value))
        } else {
            write!(shown, "\n  {key}: {}", printable(value.trim_end()))
        };
    }
}

/// Text of several lines, safe to show: the first one stays where it is, the others are indented below it.
fn indented(text: &str) -> String {
    let text = printable(text.trim_end());
    let (first, others) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{first}{}", below(others))
}

/// Lines of their own, safe to show and indented; lines with nothing on them stay empty.
fn below(text: &str) -> String {
    let indent = |line: &str| if line.trim().is_empty() { "\n".to_owned() } else { format!("\n    {line}") };
    printable(text.trim_end()).lines().map(indent).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn interrupt(id: &str, node: &str, payload: Value) -> InterruptRecord {
        InterruptRecord { id: id.to_owned(), node: node.to_owned(), payload: payload.into() }
    }

    #[test]
    fn answers_go_to_the_questions_they_name() {
        let open = [interrupt("r/1.0/0", "a", json!("?")), interrupt("r/1.1/0", "b", json!("?"))];
        let take =
            |answers: &[&str]| Given::new(answers.iter().map(|a| (*a).to_owned()).collect()).take(&open);
        assert_eq!(take(&[]).unwrap(), Answers::None);
        assert_eq!(take(&["yes"]).unwrap(), Answers::Bare(json!("yes")));
        assert_eq!(take(&["x=1"]).unwrap(), Answers::Bare(json!("x=1")));
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
        let shown =
            anstream::adapter::strip_str(&question(&interrupt("r/1.0/0", "ask", payload))).to_string();
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_choice_is_taken_by_number_or_text() {
        let payload = json!({"choices": ["yes", 7]});
        let choices = choices(&payload);
        let value = |line| match answer(line, &payload, &choices) {
            Reply::Value(value) => Some(value),
            Reply::GoOn | Reply::Again(_) => None,
        };
        assert_eq!(value("yes"), Some(json!("yes")));
        assert_eq!(value("1"), Some(json!("yes")));
        assert_eq!(value("7"), Some(json!(7)));
        assert_eq!(value("3"), None);
        assert_eq!(value(""), None);
    }
}
