//! Approval of tool calls: rules, and questions to a person.

use graph_sdk::model::ToolCall;
use graph_sdk::prelude::*;

use crate::settings::{Settings, ToolSettings};

/// Answers of a person that consist of one word.
const CHOICES: [&str; 4] = ["allow", "deny", "edit", "abort"];

/// A rule about calls of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approval {
    /// A pattern of the tool's name or its item's id: `*` matches any characters, `?` one character.
    pub(crate) tool: String,
    /// What happens with its calls.
    then: Verdict,
}

/// What happens with calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// They are performed.
    Allow,
    /// A person is asked about each.
    Ask,
    /// They are refused, and the model gets that as their results.
    Deny,
}

/// Decision about a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// The call is performed as the model asks.
    Perform,
    /// The call is performed with the arguments of a person.
    PerformWith(Value),
    /// The call is refused. The reason is the result of the call.
    Refuse(String),
}

/// Answer of a person.
#[derive(Debug, PartialEq)]
enum Answer {
    Allow,
    Deny(Option<String>),
    Edit(Option<Value>),
    Abort,
}

impl Approval {
    /// Reports whether the rule is about an item, in the same way as the host. A rule without a version or a function is about all of them;
    /// a rule with a function is about that one, and an `allow` rule with a version about that one. Other rules ignore versions and case.
    fn covers(&self, item: &str) -> bool {
        let is_strict = self.then != Verdict::Allow;
        let same = |pattern: &str, text: &str| {
            if is_strict {
                matches(&pattern.to_ascii_lowercase(), &text.to_ascii_lowercase())
            } else {
                matches(pattern, text)
            }
        };
        if !self.tool.is_empty() && self.tool.bytes().all(|byte| byte == b'*') {
            return true;
        }
        same(path_of(&self.tool), path_of(item))
            && version_of(&self.tool)
                .is_none_or(|version| is_strict || matches(version, version_of(item).unwrap_or_default()))
            && function_of(&self.tool)
                .is_none_or(|function| function_of(item).is_some_and(|called| same(function, called)))
    }
}

/// Returns the id of an item without its version and its function.
pub(crate) fn path_of(item: &str) -> &str {
    item.split(['@', '#']).next().unwrap_or_default()
}

fn version_of(item: &str) -> Option<&str> {
    item.split('#').next().unwrap_or_default().split_once('@').map(|(_, version)| version)
}

fn function_of(item: &str) -> Option<&str> {
    item.split_once('#').map(|(_, function)| function)
}

/// Reports whether a person decides about a call.
pub(crate) fn asks(settings: &Settings, tool: &ToolSettings, call: &ToolCall) -> bool {
    verdict(settings, tool, call) == Verdict::Ask
}

/// Returns the strictest verdict of all lists of rules about a call: the thread's own, and those of the agents above it. In each list,
/// the first match counts. The rules from above match items, because the thread that starts another one chooses the names of its tools.
fn verdict(settings: &Settings, tool: &ToolSettings, call: &ToolCall) -> Verdict {
    let by_name = |rule: &&Approval| matches(&rule.tool, &call.name) || rule.covers(&tool.item);
    let by_item = |rule: &&Approval| rule.covers(&tool.item);
    let own = settings.own_approvals().map(|rules| rules.iter().find(by_name));
    let above = settings.approvals_above.iter().map(|rules| rules.iter().find(by_item));
    own.chain(above).flatten().map(|rule| rule.then).max().unwrap_or(Verdict::Allow)
}

/// Decides about a call, by the thread's rules and those from above. If a person has to be asked and has not answered yet, the failure is the question.
///
/// Failures: `invalid-input` for an invalid answer, `denied` if the person ends the task.
pub(crate) fn decide(
    settings: &Settings,
    tool: &ToolSettings,
    call: &ToolCall,
    ctx: &Context,
) -> Result<Decision, Failure> {
    match verdict(settings, tool, call) {
        Verdict::Allow => Ok(Decision::Perform),
        Verdict::Deny => Ok(Decision::Refuse("the user does not allow calls of this tool".to_owned())),
        Verdict::Ask => ask(tool, call, ctx),
    }
}

fn ask(tool: &ToolSettings, call: &ToolCall, ctx: &Context) -> Result<Decision, Failure> {
    // A name that differs from the item's id could suggest another item.
    let called = if call.name == tool.item.replace('/', "_") {
        format!("`{}`", call.name)
    } else {
        format!("`{}`, which is the item `{}`", call.name, tool.item)
    };
    let answer: Value = ctx.ask(json!({
        "question": format!("May the model call {called}?"),
        "tool": call.name,
        "item": tool.item,
        "arguments": call.arguments,
        "choices": CHOICES,
        "help": "or {\"deny\": \"the reason\"}, or {\"edit\": {the arguments}}",
    }))?;
    match Answer::read(&answer)? {
        Answer::Allow => Ok(Decision::Perform),
        Answer::Deny(reason) => Ok(Decision::Refuse(match reason {
            Some(reason) => format!("a person has refused this call: {reason}"),
            None => "a person has refused this call".to_owned(),
        })),
        Answer::Edit(Some(arguments)) => Ok(Decision::PerformWith(arguments)),
        Answer::Edit(None) => edit(call, ctx),
        Answer::Abort => {
            Err(Failure::denied(format_args!("a person has ended the task at the call of `{}`", call.name))
                .with_details(json!({ "tool": call.name, "arguments": call.arguments, "ended": true })))
        }
    }
}

/// Asks for the arguments, after the answer `edit` without any.
fn edit(call: &ToolCall, ctx: &Context) -> Result<Decision, Failure> {
    let answer: Value = ctx.ask(json!({
        "question": format!("With which arguments is `{}` to be called?", call.name),
        "tool": call.name,
        "arguments": call.arguments,
        "schema": { "type": "object" },
    }))?;
    match object(&answer) {
        Some(arguments) => Ok(Decision::PerformWith(arguments)),
        None => Err(Failure::invalid_input(
            "the arguments of a tool are a JSON object, such as {\"query\": \"tides\"}",
        )),
    }
}

impl Answer {
    fn read(answer: &Value) -> Result<Self, Failure> {
        let unknown = || {
            Failure::invalid_input(
                "answer with `allow`, `deny`, `edit` or `abort`, with {\"deny\": \"the reason\"}, or with \
                 {\"edit\": {the arguments}}",
            )
        };
        if let Value::String(text) = answer {
            let text = text.trim();
            let (word, rest) = text.split_once(':').unwrap_or((text, ""));
            let (word, rest) = (word.trim().to_lowercase(), rest.trim());
            match (word.as_str(), rest) {
                ("allow", "") => return Ok(Self::Allow),
                ("deny", "") => return Ok(Self::Deny(None)),
                ("deny", reason) => return Ok(Self::Deny(Some(reason.to_owned()))),
                ("edit", "") => return Ok(Self::Edit(None)),
                ("abort", "") => return Ok(Self::Abort),
                _ => {}
            }
        }
        let Some(Value::Object(fields)) = object(answer) else { return Err(unknown()) };
        let mut fields = fields.into_iter();
        match (fields.next(), fields.next()) {
            (Some((word, Value::String(reason))), None) if word == "deny" => Ok(Self::Deny(Some(reason))),
            (Some((word, arguments @ Value::Object(_))), None) if word == "edit" => {
                Ok(Self::Edit(Some(arguments)))
            }
            _ => Err(unknown()),
        }
    }
}

/// Returns an object, or a text that is one as JSON: an answer from a prompt can be a text.
fn object(answer: &Value) -> Option<Value> {
    let value = match answer {
        Value::String(text) => graph_sdk::serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    value.is_object().then_some(value)
}

/// Reports whether a pattern matches the whole text, in time proportional to the product of their lengths.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Position of the last `*`, and the number of characters before those that it has matched.
    let mut star = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(one) if *one == '?' || *one == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((of, taken)) => {
                    *taken += 1;
                    (at, from) = (*of + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "acme/search", true),
            ("acme/*", "acme/search", true),
            ("acme_*", "acme/search", false),
            ("*search", "acme/search", true),
            ("a*e/*ch", "acme/search", true),
            ("s?arch", "search", true),
            ("s?arch", "sarch", false),
            ("search", "search2", false),
            ("", "a", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXb", false),
            ("?", "é", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn answers_are_words_or_objects() {
        let read = |answer: Value| Answer::read(&answer);
        assert_eq!(read(json!(" Allow ")).unwrap(), Answer::Allow);
        assert_eq!(read(json!("deny")).unwrap(), Answer::Deny(None));
        assert_eq!(read(json!("deny: too dear")).unwrap(), Answer::Deny(Some("too dear".to_owned())));
        assert_eq!(read(json!({ "deny": "no" })).unwrap(), Answer::Deny(Some("no".to_owned())));
        assert_eq!(read(json!("{\"deny\": \"no\"}")).unwrap(), Answer::Deny(Some("no".to_owned())));
        assert_eq!(read(json!("edit")).unwrap(), Answer::Edit(None));
        assert_eq!(read(json!({ "edit": { "q": 1 } })).unwrap(), Answer::Edit(Some(json!({ "q": 1 }))));
        assert_eq!(read(json!("{\"edit\": {}}")).unwrap(), Answer::Edit(Some(json!({}))));
        assert_eq!(read(json!("abort")).unwrap(), Answer::Abort);
        for wrong in [
            json!("yes"),
            json!(true),
            json!(null),
            json!("allow: it"),
            json!({}),
            json!({ "edit": 1 }),
            json!({ "deny": "x", "edit": {} }),
            json!({ "allow": true }),
        ] {
            let failure = read(wrong.clone()).unwrap_err();
            assert_eq!(failure.category(), Some(Category::InvalidInput), "{wrong}");
            assert!(failure.to_string().contains("answer with `allow`"), "{failure}");
        }
    }
}
