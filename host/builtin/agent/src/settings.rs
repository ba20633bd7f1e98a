//! Settings of an agent.

use std::collections::BTreeSet;

use graph_sdk::model::{self, Block, Message, Role};
use graph_sdk::prelude::*;
use serde::Deserializer;
use serde::de::Error as _;

use crate::approvals::{Approval, matches, path_of};
use crate::hooks::Hook;
use crate::outputs::{Outputs, RETURN};
use crate::result::{History, Lost};
use crate::threads::{self, Parent};

/// Maximum number of turns, for which the supersteps of the graph suffice.
const MOST_TURNS: u64 = 400;
/// Maximum number of tools of a request.
const MOST_TOOLS: usize = 127;
/// Inputs of the graph that concern its run.
const ABOUT_THE_RUN: [&str; 2] = ["capabilities", "depth"];
/// Maximum length of a tool's name, in bytes.
const LONGEST_NAME: usize = 64;
/// Estimated number of bytes of a request without its conversation and its tools.
const OF_REQUEST: usize = 150;
/// Estimated number of bytes of a tool in a request, in addition to its name, description and schema.
pub(crate) const OF_TOOL: usize = 80;

/// The settings of an agent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What the user says: a text, or the blocks of a message. A new turn of a finished run brings another one.
    #[serde(default)]
    pub(crate) message: Option<Said>,
    /// The name of the model in the manifest; without it, the first that is granted.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// Instructions that precede the conversation.
    #[serde(default)]
    pub(crate) system: Option<String>,
    /// The items that the model may ask for.
    #[serde(default)]
    pub(crate) tools: Vec<ToolSettings>,
    /// Dispatch patterns such as `execute.tool.acme.*`: the model is offered only those of the tools that one of them covers. Without
    /// the setting, all of them. What the run may dispatch is up to the manifest all the same.
    #[serde(default)]
    pub(crate) permissions: Option<Vec<String>>,
    /// Which calls of tools are performed, refused, or asked about. The first rule whose pattern matches counts; a call that none
    /// matches is performed.
    #[serde(default)]
    pub(crate) approvals: Vec<Approval>,
    /// The rules of each agent above. The host writes them, and they are about items: the names of this agent's tools do not count.
    #[serde(default)]
    pub(crate) approvals_above: Vec<Vec<Approval>>,
    /// The typed outputs of the task, as `{name: {type, required, description}}` or as a JSON Schema. The model returns them with the
    /// tool `directive_return`.
    #[serde(default)]
    pub(crate) outputs: Option<Value>,
    /// The most tokens of an answer; the manifest's bound of the model holds, too.
    #[serde(default)]
    pub(crate) max_output: Option<u64>,
    /// The temperature, from 0 to 2.
    #[serde(default)]
    pub(crate) temperature: Option<f64>,
    /// How far the agent may go.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// When older messages are replaced by a summary; without it, never.
    #[serde(default)]
    pub(crate) context: Option<ContextSettings>,
    /// Items that are called at events of the thread, as a directive says it.
    #[serde(default)]
    pub(crate) hooks: Vec<Hook>,
    /// What hooks read besides what the thread has used and given, such as the directive and its inputs.
    #[serde(default)]
    pub(crate) hooks_read: Map<String, Value>,
    /// A conversation that is continued. The answer has one, too, if it is there.
    #[serde(default)]
    pub(crate) history: Option<History>,
    /// Ends with an answer that says why, in place of a failure, at a limit, where the model or a person ends the task, and where a call of
    /// the model fails.
    #[serde(default)]
    pub(crate) tell_failures: bool,
    /// What attempts have used that left no conversation.
    #[serde(default)]
    pub(crate) lost: Vec<Option<Lost>>,
    /// What the thread has passed on that has started this one.
    #[serde(default)]
    pub(crate) parent: Parent,
}

/// What the user says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Said {
    /// A text.
    Text(String),
    /// The blocks of a message.
    Blocks(Vec<Block>),
}

/// A tool: an item that the model may ask for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolSettings {
    /// The item that is called, such as `acme/search`.
    pub(crate) item: String,
    /// The name that the model sees; without it, the item's id with `_` for each `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    #[serde(default = "any_arguments")]
    pub(crate) parameters: Value,
}

/// How far an agent may go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// How often the model is asked to answer one message of the user, from 1 to 400.
    pub(crate) turns: u64,
    /// How often in a row the same calls may have the same results before the model is warned; after one more the task fails.
    pub(crate) repeats: usize,
    /// How many characters of a tool's result the model sees.
    pub(crate) tool_result: usize,
    /// How many tokens the whole thread may use, requests and answers together. It is looked at before each call, so that the last
    /// one can go beyond it, unless the limits are strict; the manifest's budgets are never exceeded.
    pub(crate) tokens: Option<u64>,
    /// What the whole thread may cost, in the manifest's currency. It is looked at before each call, as `tokens` is.
    pub(crate) spend: Option<f64>,
    /// The host sets aside what a request may use of `tokens` and `spend` before it is sent.
    pub(crate) strict: bool,
    /// Uses the last turn, or the last call or tokens of the budget, for an answer without tools.
    pub(crate) finish: bool,
    /// How many threads the model may start; without it, any number.
    pub(crate) spawns: Option<u64>,
    /// How many levels of threads there may be below this one; without it, as many as the manifest permits.
    pub(crate) depth: Option<u64>,
    /// How many characters of the answer's text the result has; without it, all of them.
    pub(crate) result: Option<usize>,
}

/// When older messages are replaced by a summary.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextSettings {
    /// How many tokens the model reads at most.
    pub(crate) window: u64,
    /// The part of the window at which the conversation is summarised.
    #[serde(default = "nine_tenths")]
    pub(crate) at: f64,
    /// About how many tokens of the newest messages are kept, at 4 bytes each.
    #[serde(default = "kept")]
    pub(crate) keep: u64,
    /// How the summary is made.
    #[serde(default)]
    pub(crate) summary: SummarySettings,
}

/// How a summary is made.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SummarySettings {
    /// The model; without it, that of the agent.
    pub(crate) model: Option<String>,
    /// Its instructions.
    pub(crate) instructions: Option<String>,
    /// The most tokens of a summary.
    pub(crate) max_output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 20,
            repeats: 3,
            tool_result: 4000,
            tokens: None,
            spend: None,
            strict: false,
            finish: false,
            spawns: None,
            depth: None,
            result: None,
        }
    }
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self { model: None, instructions: None, max_output: 4000 }
    }
}

fn any_arguments() -> Value {
    json!({ "type": "object" })
}

const fn nine_tenths() -> f64 {
    0.9
}

const fn kept() -> u64 {
    16_000
}

/// Reads settings. A null is treated as a missing setting, because a graph passes null for an input that it does not have.
pub(crate) fn without_nulls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Settings, D::Error> {
    let mut settings = Value::deserialize(deserializer)?;
    if let Value::Object(inputs) = &mut settings {
        // Inputs that concern the run are read by the host.
        inputs.retain(|name, _| !ABOUT_THE_RUN.contains(&name.as_str()));
    }
    for path in ["", "/limits", "/context", "/context/summary", "/parent"] {
        if let Some(Value::Object(fields)) = settings.pointer_mut(path) {
            fields.retain(|_, value| !value.is_null());
        }
    }
    let mut settings: Settings = graph_sdk::serde_json::from_value(settings).map_err(D::Error::custom)?;
    threads::narrow(&mut settings.limits, &settings.parent);
    Ok(settings)
}

impl Settings {
    /// Returns the rules of the thread about calls, and those that were passed on among its params.
    pub(crate) fn own_approvals(&self) -> impl Iterator<Item = &[Approval]> {
        let passed_on = self.parent.approvals.iter().map(Vec::as_slice);
        std::iter::once(self.approvals.as_slice()).chain(passed_on)
    }

    /// Checks rules that the types do not express, and reads the outputs.
    ///
    /// Failures: `invalid-input` that names the setting.
    pub(crate) fn check(&self) -> Result<Option<Outputs>, Failure> {
        if let Some(message) = &self.message {
            message.check()?;
        }
        self.check_tools()?;
        for (index, approval) in self.approvals.iter().enumerate() {
            if approval.tool.is_empty() {
                return wrong(
                    format_args!("approvals[{index}].tool"),
                    "is empty: write a name, or `*` for every tool",
                );
            }
        }
        if let Some(temperature) = self.temperature
            && !(0.0..=2.0).contains(&temperature)
        {
            return wrong("temperature", format_args!("must be from 0 to 2, not {temperature}"));
        }
        if self.max_output == Some(0) {
            return wrong("max_output", "must be at least 1");
        }
        if !(1..=MOST_TURNS).contains(&self.limits.turns) {
            return wrong(
                "limits.turns",
                format_args!("must be from 1 to {MOST_TURNS}, not {}", self.limits.turns),
            );
        }
        if self.limits.repeats < 2 {
            return wrong("limits.repeats", "must be at least 2");
        }
        if let Some(spend) = self.limits.spend
            && !(spend.is_finite() && spend >= 0.0)
        {
            return wrong("limits.spend", format_args!("must be at least 0, not {spend}"));
        }
        if self.limits.tool_result == 0 {
            return wrong("limits.tool_result", "must be at least 1");
        }
        if let Some(context) = &self.context {
            context.check()?;
        }
        let is_nothing = |outputs: &&Value| {
            outputs.as_object().is_some_and(Map::is_empty) || outputs.as_array().is_some_and(Vec::is_empty)
        };
        self.outputs.as_ref().filter(|outputs| !is_nothing(outputs)).map(Outputs::read).transpose()
    }

    /// Estimates the number of bytes of a request, without the conversation and the tool for the outputs.
    pub(crate) fn size_of_requests(&self) -> usize {
        let tool = |tool: &ToolSettings| {
            tool.name().len() + tool.description.len() + tool.parameters.to_string().len() + OF_TOOL
        };
        OF_REQUEST + self.system.as_ref().map_or(0, String::len) + self.offered().map(tool).sum::<usize>()
    }

    /// Returns the tools that the model is offered.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &ToolSettings> {
        let is_permitted = |tool: &&ToolSettings| {
            let name = format!("execute.tool.{}", path_of(&tool.item).replace('/', "."));
            self.permissions.iter().chain(&self.parent.permissions).all(|patterns| {
                patterns.iter().any(|pattern| matches(pattern.strip_prefix("rye.").unwrap_or(pattern), &name))
            })
        };
        self.tools.iter().filter(is_permitted)
    }

    /// Returns the model to ask: the first granted one if the settings name none.
    ///
    /// Failures: `denied` if none is granted.
    pub(crate) fn model(&self) -> Result<String, Failure> {
        match &self.model {
            Some(model) => Ok(model.clone()),
            None => model::models().into_iter().next().ok_or_else(|| {
                Failure::denied("no model is granted: name one under `models` in the manifest and under `model` of the agent's item")
            }),
        }
    }

    fn check_tools(&self) -> Result<(), Failure> {
        if self.tools.len() > MOST_TOOLS {
            return wrong(
                "tools",
                format_args!("there are {}, at most {MOST_TOOLS} are allowed", self.tools.len()),
            );
        }
        let mut names = BTreeSet::from([RETURN.to_owned()]);
        for (index, tool) in self.tools.iter().enumerate() {
            let name = tool.name();
            let path = format!("tools[{index}]");
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_name) {
                let rule =
                    "a name has 1 to 64 letters, digits, `_` and `-`: give the tool another one with `name`";
                return wrong(path, format_args!("`{name}` cannot be its name; {rule}"));
            }
            if name == RETURN {
                return wrong(
                    path,
                    format_args!("the name `{RETURN}` is that of the tool that returns the outputs"),
                );
            }
            if !names.insert(name.clone()) {
                return wrong(
                    path,
                    format_args!("an earlier tool has the name `{name}`: give one of them another `name`"),
                );
            }
            if !tool.parameters.is_object() {
                return wrong(format_args!("{path}.parameters"), "must be a JSON Schema: a mapping");
            }
        }
        Ok(())
    }
}

impl Said {
    fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Text(text) if text.is_empty() => wrong("message", "is empty"),
            Self::Blocks(blocks) if blocks.is_empty() => wrong("message", "is empty"),
            Self::Text(_) => Ok(()),
            Self::Blocks(blocks) => {
                for (index, block) in blocks.iter().enumerate() {
                    match block {
                        Block::Text(text) if text.is_empty() => {
                            return wrong(format_args!("message[{index}]"), "is empty");
                        }
                        Block::Text(_) | Block::Media(_) => {}
                        Block::Reasoning(_) | Block::ToolCall(_) | Block::ToolResult(_) => {
                            return wrong(
                                format_args!("message[{index}]"),
                                "must be a `text` or a `media` block",
                            );
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns the message of the user with this content.
    pub(crate) fn message(&self) -> Message {
        match self {
            Self::Text(text) => Message::user(text),
            Self::Blocks(blocks) => Message { role: Role::User, blocks: blocks.clone() },
        }
    }
}

impl ToolSettings {
    /// Returns the name that the model sees.
    pub(crate) fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.item.replace('/', "_"))
    }
}

impl ContextSettings {
    fn check(&self) -> Result<(), Failure> {
        if self.window == 0 {
            return wrong("context.window", "must be at least 1");
        }
        if !(self.at > 0.0 && self.at <= 1.0) {
            return wrong("context.at", format_args!("must be above 0 and at most 1, not {}", self.at));
        }
        if self.keep >= self.window {
            let rule =
                format_args!("must be below the window of {}, not {}: lower `keep`", self.window, self.keep);
            return wrong("context.keep", rule);
        }
        if self.summary.max_output == 0 {
            return wrong("context.summary.max_output", "must be at least 1");
        }
        Ok(())
    }
}

/// Returns the failure of a wrong setting.
pub(crate) fn wrong<T>(path: impl std::fmt::Display, rule: impl std::fmt::Display) -> Result<T, Failure> {
    Err(Failure::invalid_input(format_args!("settings.{path}: {rule}")))
}
