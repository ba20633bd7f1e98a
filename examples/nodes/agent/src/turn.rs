//! What one activation does.

use graph_sdk::model::{self, Message, Request, Response, Role, StopReason, Tool, ToolChoice};
use graph_sdk::prelude::*;

use crate::calls::Plan;
use crate::outputs::{Outputs, RETURN};
use crate::result::{Answer, Used};
use crate::settings::{Limits, Said, Settings};
use crate::{calls, context, settings, thread};

/// The graph's node that dispatches this item.
const TURN: &str = "turn";
/// The graph's node that performs calls of tools.
const CALL: &str = "call";
/// The graph's node that returns the answer.
const DONE: &str = "done";
/// Asks for the typed outputs.
const REMINDER: &str = "The task has typed outputs: return them with the tool `directive_return`.";
/// Asks for an answer, in the last call.
const FINISH: &str = "This is the last call that is possible: answer now with what is known, without tools.";
/// Asks for the typed outputs, in the last call.
const FINISH_WITH_OUTPUTS: &str = "This is the last call that is possible: return the outputs now with the tool `directive_return`, from what is known.";

/// Whether a failure says that one call without tools is left.
fn keeps_a_last_call(failure: &Failure) -> bool {
    failure.category() == Some(Category::Limit)
        && failure.details().is_some_and(|details| details["finish"] == Value::Bool(true))
}

/// What the graph gives to each activation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// What the user has set: the inputs of the graph.
    #[serde(deserialize_with = "settings::without_nulls")]
    settings: Settings,
    /// The conversation so far.
    #[serde(default)]
    thread: Vec<Message>,
    /// What the user said last, if it is in the thread already.
    #[serde(default)]
    heard: Option<Said>,
    /// How often the model was asked since then.
    #[serde(default)]
    turns: u64,
    /// What the whole thread has used.
    #[serde(default)]
    used: Used,
    /// The tokens of the last request and its answer; 0 if they are not known.
    #[serde(default)]
    context: u64,
    /// What the last call of the model was for.
    #[serde(default)]
    phase: Phase,
    /// What is done about the calls of the last message.
    #[serde(default)]
    calls: Option<Plan>,
    /// The results of those that the graph has performed, in order.
    #[serde(default)]
    results: Option<Vec<Value>>,
}

/// What a call of the model is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// The next step of the task.
    #[default]
    Working,
    /// The outputs, after an answer without them.
    Reminded,
    /// The last answer before a limit.
    Finishing,
}

/// Does one step: a call of the model, a summary, or the decision about the calls of tools that the model has asked for.
///
/// Failures: `invalid-input` for wrong settings and where there is nothing to answer; `limit` at the limit of turns and for a model that
/// repeats itself; `permanent` for a model that refuses to answer or returns no outputs; those of calls of models.
pub(crate) fn run(params: Params, ctx: &Context) -> Result<Command, Failure> {
    let outputs = params.settings.check()?;
    Turn { params, outputs, ctx }.run()
}

/// How a task ends.
struct End<'o> {
    text: String,
    outputs: Option<&'o Value>,
    /// A limit was near.
    early: bool,
    /// The text ends at the most tokens of an answer.
    truncated: bool,
}

/// What an activation has changed.
struct Step {
    /// Messages that are not in the thread yet.
    added: Vec<Message>,
    turns: u64,
    used: Used,
    context: u64,
    phase: Phase,
}

struct Turn<'c> {
    params: Params,
    outputs: Option<Outputs>,
    ctx: &'c Context,
}

impl Turn<'_> {
    fn run(&self) -> Result<Command, Failure> {
        let Params { settings, thread, calls, results, .. } = &self.params;
        match (thread.last().filter(|last| last.tool_calls().next().is_some()), calls, results) {
            (None, ..) => self.ask_model(None),
            (Some(_), Some(plan), Some(performed)) => {
                let results = plan.results(settings, thread, performed)?;
                Ok(self.ask_model(Some(results))?.write("results", Value::Null))
            }
            (Some(asked), ..) => self.plan_calls(asked),
        }
    }

    /// What the user says, if it is not in the thread yet.
    fn said(&self) -> Option<&Said> {
        self.params.settings.message.as_ref().filter(|said| Some(*said) != self.params.heard.as_ref())
    }

    /// Decides about the calls of the last message in an activation of its own, in which a person may be asked.
    fn plan_calls(&self, asked: &Message) -> Result<Command, Failure> {
        let Params { settings, thread, phase, turns, used, context, .. } = &self.params;
        let plan = calls::plan(settings, self.outputs.as_ref(), asked, self.ctx)?;
        if let Some(problems) = plan.wrong_outputs.as_ref().filter(|_| *phase == Phase::Finishing) {
            let message =
                format!("the outputs that the model has returned in its last call are wrong: {problems}");
            return Err(self.limit(&message, *turns, used));
        }
        let mut step =
            Step { added: Vec::new(), turns: *turns, used: *used, context: *context, phase: *phase };
        if !plan.perform.is_empty() {
            return Ok(self.lead(&step, CALL).write("calls", json!(plan)));
        }
        step.added.push(plan.results(settings, thread, &[])?);
        match &plan.outputs {
            Some(outputs) if self.said().is_none() => Ok(self.returned(&step, asked, outputs)),
            _ => Ok(self.lead(&step, TURN)),
        }
    }

    /// Decides about the calls of an answer in the activation that has asked for it. What may end the task otherwise than with outputs, and
    /// what a person decides, is left to the next activation: the answer is on record then.
    fn plan_at_once(&self, mut step: Step) -> Command {
        let settings = &self.params.settings;
        let outputs = self.outputs.as_ref();
        let Some(asked) = step.added.last().cloned() else { return self.lead(&step, TURN) };
        if calls::asks_a_person(settings, outputs, &asked) {
            return self.lead(&step, TURN);
        }
        let Ok(plan) = calls::plan(settings, outputs, &asked, self.ctx) else {
            return self.lead(&step, TURN);
        };
        if !plan.perform.is_empty() {
            return self.lead(&step, CALL).write("calls", json!(plan));
        }
        if plan.wrong_outputs.is_some() && step.phase == Phase::Finishing {
            return self.lead(&step, TURN);
        }
        let thread = [self.params.thread.as_slice(), step.added.as_slice()].concat();
        let Ok(results) = plan.results(settings, &thread, &[]) else { return self.lead(&step, TURN) };
        step.added.push(results);
        match &plan.outputs {
            Some(outputs) => self.returned(&step, &asked, outputs).write("context", step.context),
            None => self.lead(&step, TURN),
        }
    }

    /// The command that leads on to a node.
    fn lead(&self, step: &Step, node: &str) -> Command {
        let mut command = Command::new();
        if !step.added.is_empty() {
            command = command.write("thread", json!(step.added));
        }
        if node != CALL && self.params.calls.is_some() {
            command = command.write("calls", Value::Null);
        }
        command
            .write("turns", step.turns)
            .write("used", json!(step.used))
            .write("context", step.context)
            .write("phase", json!(step.phase))
            .goto(node)
    }

    /// The end of a task whose outputs the model has returned.
    fn returned(&self, step: &Step, asked: &Message, outputs: &Value) -> Command {
        let early = step.phase == Phase::Finishing;
        let end = End { text: asked.text(), outputs: Some(outputs), early, truncated: false };
        self.end(&step.added, step.turns, &step.used, &end)
    }

    /// Asks the model for the next message, or for a summary if the window is nearly full.
    ///
    /// `results` are those of the calls of the last message.
    fn ask_model(&self, results: Option<Message>) -> Result<Command, Failure> {
        let said = self.said();
        let command = self.ask(results, said.map(Said::message))?;
        Ok(match said {
            Some(said) => command.write("heard", json!(said)),
            None => command,
        })
    }

    fn ask(&self, results: Option<Message>, new: Option<Message>) -> Result<Command, Failure> {
        let Params { settings, thread, used, context, .. } = &self.params;
        // A new message begins its count of turns, also where the graph did not begin anew.
        let (turns, phase) =
            if new.is_some() { (0, Phase::Working) } else { (self.params.turns, self.params.phase) };
        let mut added: Vec<Message> = results.into_iter().chain(new).collect();
        match added.last().or(thread.last()) {
            None => {
                return Err(Failure::invalid_input(
                    "settings.message: is missing: say what the agent has to do",
                ));
            }
            Some(last) if last.role == Role::Assistant => {
                return Err(Failure::invalid_input(
                    "settings.message: is the one that was answered last: give a new one to continue the conversation",
                ));
            }
            Some(_) => {}
        }
        if let Some(message) = reached(&settings.limits, turns, used) {
            return Err(self.limit(&message, turns, used));
        }
        let mut phase = if self.has_to_finish(turns) { Phase::Finishing } else { phase };
        if phase != Phase::Finishing
            && let Some(window) = &settings.context
            && let all = [thread.as_slice(), added.as_slice()].concat()
            && let Some(cut) = context::due(window, &all, *context)
        {
            let superstep = self.ctx.activation().superstep;
            let summarised = context::summarise(settings, &all, cut, *used, superstep)?;
            return Ok(Command::new()
                .write("thread", json!({ "overwrite": summarised.thread }))
                .write("turns", turns)
                .write("used", json!(summarised.used))
                .write("context", 0)
                .write("phase", json!(phase))
                .write("chain", json!([summarised.record]))
                .goto(TURN));
        }
        let response = match self.complete(&mut added, phase) {
            // The manifest keeps a last call where the budget does not suffice for another one with tools.
            Err(failure) if phase != Phase::Finishing && keeps_a_last_call(&failure) => {
                phase = Phase::Finishing;
                self.complete(&mut added, phase)?
            }
            answered => answered?,
        };
        self.take(response, added, phase, turns + 1)
    }

    /// Asks for the next message. In the last call, the model is told to answer; `added` then has that, too.
    fn complete(&self, added: &mut Vec<Message>, phase: Phase) -> Result<Response, Failure> {
        if phase == Phase::Finishing {
            added.push(Message::user(if self.outputs.is_some() { FINISH_WITH_OUTPUTS } else { FINISH }));
        }
        let conversation = thread::merged(self.params.thread.iter().chain(added.iter()));
        model::complete(&self.request(conversation, phase)?)
    }

    /// Whether the next call is the last one that a limit permits.
    fn has_to_finish(&self, turns: u64) -> bool {
        let settings = &self.params.settings;
        if !settings.limits.finish {
            return false;
        }
        let left = model::remaining();
        let tokens_end = match (settings.max_output, left.output) {
            (Some(most), Some(left)) => left < most.saturating_mul(2),
            _ => false,
        };
        turns + 1 == settings.limits.turns || left.calls == Some(1) || tokens_end
    }

    fn request(&self, conversation: Vec<Message>, phase: Phase) -> Result<Request, Failure> {
        let settings = &self.params.settings;
        let mut request = Request::new(settings.model()?).messages(conversation);
        request.system = settings.system.clone().filter(|system| !system.is_empty());
        request.max_output = settings.max_output;
        request.temperature = settings.temperature;
        for tool in settings.offered() {
            let name = tool.name();
            request = request.tool(Tool::new(name, tool.description.clone(), tool.parameters.clone()));
        }
        request.tools.extend(self.outputs.as_ref().map(Outputs::tool));
        // The tools stay in the request: providers refuse a conversation with calls of tools that it does not have.
        request.tool_choice = match (phase, &self.outputs) {
            (Phase::Reminded | Phase::Finishing, Some(_)) => ToolChoice::Named(RETURN.to_owned()),
            (Phase::Finishing, None) if !request.tools.is_empty() => ToolChoice::None,
            _ => ToolChoice::Auto,
        };
        Ok(request)
    }

    /// Takes an answer of the model. `added` is what it answers, as far as it is not in the thread yet.
    fn take(
        &self,
        response: Response,
        mut added: Vec<Message>,
        phase: Phase,
        turns: u64,
    ) -> Result<Command, Failure> {
        let Response { message, stop, usage } = response;
        let used = self.params.used.with_turn().with(&usage);
        let text = message.text();
        if stop == StopReason::Refused {
            let said = if text.is_empty() { "it gives no reason" } else { &text };
            let message = format!("the model refuses to answer: {said}");
            return Err(Failure::permanent(message).with_details(self.progress(turns, &used)));
        }
        let asks_for_tools = message.tool_calls().next().is_some();
        added.push(message);
        let context = usage.input.saturating_add(usage.output);
        let (added, phase) = match (asks_for_tools, &self.outputs, phase) {
            (true, None, Phase::Finishing) => {
                let message = "the model asks for tools in its last call, in which it may not";
                return Err(self.limit(message, turns, &used));
            }
            (true, _, phase) => {
                return Ok(self.plan_at_once(Step { added, turns, used, context, phase }));
            }
            (false, None, phase) => {
                let early = phase == Phase::Finishing;
                let end = End { text, outputs: None, early, truncated: stop == StopReason::MaxOutput };
                return Ok(self.end(&added, turns, &used, &end).write("context", context));
            }
            (false, Some(_), Phase::Working) => {
                added.push(Message::user(REMINDER));
                (added, Phase::Reminded)
            }
            (false, Some(_), Phase::Reminded) => {
                let message = format!(
                    "the model does not return the outputs with `{RETURN}`, although it was reminded"
                );
                return Err(Failure::permanent(message).with_details(self.progress(turns, &used)));
            }
            (false, Some(_), Phase::Finishing) => {
                let message =
                    format!("the model has not returned the outputs with `{RETURN}` in its last call");
                return Err(self.limit(&message, turns, &used));
            }
        };
        Ok(self.lead(&Step { added, turns, used, context, phase }, TURN))
    }

    /// The command that ends the task.
    fn end(&self, added: &[Message], turns: u64, used: &Used, end: &End<'_>) -> Command {
        let answer = Answer {
            status: "completed",
            text: &end.text,
            outputs: end.outputs,
            turns,
            cost: used.shown(),
            thread_length: self.params.thread.len() + added.len(),
            finished_early: end.early,
            truncated: end.truncated,
        };
        let command = if self.params.calls.is_some() {
            Command::new().write("calls", Value::Null)
        } else {
            Command::new()
        };
        command
            .write("thread", json!(added))
            .write("turns", turns)
            .write("used", json!(used))
            .write("phase", json!(Phase::Working))
            .write("answer", json!(answer))
            .goto(DONE)
    }

    /// The failure at a limit of the settings.
    fn limit(&self, message: &str, turns: u64, used: &Used) -> Failure {
        Failure::limit(message).with_details(self.progress(turns, used))
    }

    /// What was done so far.
    fn progress(&self, turns: u64, used: &Used) -> Value {
        let said = self.params.thread.iter().rev().filter(|message| message.role == Role::Assistant);
        let text = said.map(Message::text).find(|text| !text.is_empty());
        json!({ "turns": turns, "cost": used.shown(), "thread_length": self.params.thread.len(), "text": text })
    }
}

/// Which limit does not permit another call.
fn reached(limits: &Limits, turns: u64, used: &Used) -> Option<String> {
    if turns >= limits.turns {
        let most = limits.turns;
        return Some(format!(
            "the model was asked {turns} times and has not finished; `limits.turns` is {most}"
        ));
    }
    if let Some(most) = limits.tokens.filter(|most| used.tokens() >= *most) {
        return Some(format!(
            "the task has used {} tokens and is not finished; `limits.tokens` is {most}",
            used.tokens()
        ));
    }
    let most = limits.spend.filter(|most| used.spend() >= *most)?;
    Some(format!("the task has cost {} and is not finished; `limits.spend` is {most}", used.spend()))
}
