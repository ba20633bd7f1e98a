//! Work of one activation.

use graph_sdk::model::{self, Message, Request, Response, Role, StopReason, Tool, ToolChoice};
use graph_sdk::prelude::*;

use crate::calls::Plan;
use crate::hooks::Due;
use crate::limits::{self, Next};
use crate::outputs::{Outputs, RETURN};
use crate::result::{Answer, History, Left, Used};
use crate::settings::{Said, Settings};
use crate::{calls, context, hooks, settings, thread};

/// Node of the graph that dispatches this item.
const TURN: &str = "turn";
/// Node of the graph that performs tool calls.
const CALL: &str = "call";
/// Node of the graph that calls hooks.
const HOOK: &str = "hook";
/// Node of the graph that returns the answer.
const DONE: &str = "done";
/// Message that asks for the typed outputs.
const REMINDER: &str = "The task has typed outputs: return them with the tool `directive_return`.";
/// Message that asks for an answer, in the last call.
const FINISH: &str = "This is the last call that is possible: answer now with what is known, without tools.";
/// Message that asks for the typed outputs, in the last call.
const FINISH_WITH_OUTPUTS: &str = "This is the last call that is possible: return the outputs now with the tool `directive_return`, from what is known.";

/// Reports whether a failure states that the budget is left for one call without tools.
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
    /// What the host lets this activation use: the graph's node has it as its limits.
    #[serde(default)]
    left: Option<Left>,
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
    /// The hooks that were called last.
    #[serde(default)]
    hooks: Option<Due>,
    /// What they have returned, as far as it has not been counted.
    #[serde(default)]
    hooked: Option<Vec<Value>>,
    /// The answer, while the hooks about it are called.
    #[serde(default)]
    answer: Option<Value>,
    /// How often older messages were replaced by a summary.
    #[serde(default)]
    summaries: u64,
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

/// Performs one step: a call of the model, a summary, or the decision about the tool calls that the model has asked for.
///
/// Failures: `invalid-input` for wrong settings and where there is nothing to answer; `limit` at the limit of turns and for a model that
/// repeats itself; `permanent` for a model that refuses to answer or returns no outputs; those of calls of models.
pub(crate) fn run(params: Params, ctx: &Context) -> Result<Command, Failure> {
    let outputs = params.settings.check()?;
    let mut params = params;
    if let (Some(plan), Some(performed)) = (&mut params.calls, &params.results)
        && !plan.counted
    {
        params.used = plan.used(params.used, performed);
        // The usage of the threads is subtracted before the model is asked again.
        if params.settings.limits.strict && plan.starts_threads() {
            plan.counted = true;
            let command = Command::new().write("calls", json!(plan));
            return Ok(accounted(command, &params.settings, &params.used).goto(TURN));
        }
    }
    if let (Some(due), Some(given)) = (&params.hooks, &params.hooked) {
        params.used = due.used(params.used, given);
        // See above. After the last hooks, the model is not asked again.
        if params.settings.limits.strict && due.starts_threads() && !due.leads_to(DONE) {
            let command = Command::new().write("hooked", Value::Null);
            return Ok(accounted(command, &params.settings, &params.used).goto(TURN));
        }
    }
    let are_counted = params.hooked.is_some();
    let command = Turn { params, outputs, ctx }.run()?;
    Ok(if are_counted { command.write("hooked", Value::Null) } else { command })
}

/// Adds the usage to a command, and the rest of the limits for the next activation.
fn accounted(command: Command, settings: &Settings, used: &Used) -> Command {
    let command = command.write("used", json!(used));
    match Left::of(&settings.limits, used) {
        Some(left) => command.write("left", json!(left)),
        None => command,
    }
}

/// End of a task.
struct End<'o> {
    text: String,
    outputs: Option<&'o Value>,
    /// True if a limit was near.
    early: bool,
    /// True if the text has reached the maximum number of tokens of an answer.
    truncated: bool,
    /// Status, category and message of the failure, if the task was not completed.
    failure: Option<(&'static str, &'static str, String)>,
}

/// Changes by an activation.
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
        if let Some(closed) = self.close() {
            return Ok(closed);
        }
        if let Some(begun) = self.begin() {
            return Ok(begun);
        }
        let Params { settings, thread, calls, results, .. } = &self.params;
        match (thread.last().filter(|last| last.tool_calls().next().is_some()), calls, results) {
            (None, ..) => self.ask_model(None).or_else(|failure| self.tell(failure, None)),
            (Some(asked), Some(plan), Some(performed)) => {
                // A new message of the user is a reason for the model to change its course.
                let most = if self.said().is_some() { usize::MAX } else { settings.limits.repeats };
                let results = match plan.results(settings, thread, performed, most) {
                    Ok(results) => results,
                    Err(failure) => {
                        let ended = calls::ended(asked, "the task has ended");
                        return self.tell(failure, Some(ended));
                    }
                };
                let command = self.ask_model(Some(results.clone()));
                let command = command.or_else(|failure| self.tell(failure, Some(results)))?;
                Ok(command.write("results", Value::Null))
            }
            (Some(asked), ..) => self
                .plan_calls(asked)
                .or_else(|failure| self.tell(failure, Some(calls::ended(asked, "the task has ended")))),
        }
    }

    /// Performs the steps before the first call of the model: continues a conversation from `history`, writes the rest
    /// of the limits, and calls hooks.
    fn begin(&self) -> Option<Command> {
        let Params { settings, thread, hooks, used, left, .. } = &self.params;
        let is_new = thread.is_empty() && *used == Used::default();
        let history = settings.history.as_ref().filter(|history| is_new && !history.thread.is_empty());
        let before = history.map_or_else(Used::default, |history| history.used);
        let before = settings.lost.iter().flatten().fold(before, Used::with_lost);
        if history.is_some() || is_new && before != Used::default() {
            let command = match history {
                Some(history) => Command::new()
                    .write("thread", json!(history.thread))
                    .write("summaries", history.summaries),
                None => Command::new(),
            };
            return Some(accounted(command, settings, &before).goto(TURN));
        }
        if left.is_none() && Left::of(&settings.limits, used).is_some() {
            return Some(accounted(Command::new(), settings, used).goto(TURN));
        }
        if !thread.is_empty() || hooks.is_some() {
            return None;
        }
        hooks::warn(&settings.hooks);
        let due = hooks::due(settings, used, &[hooks::STARTED], &self.read_by_hooks(used), TURN)?;
        Some(Command::new().write("hooks", json!(due)).goto(HOOK))
    }

    /// Returns the answer again with a new usage, once its hooks have started threads.
    fn close(&self) -> Option<Command> {
        let Params { hooks, hooked, answer, used, .. } = &self.params;
        if hooked.is_none() || !hooks.as_ref().is_some_and(|due| due.leads_to(DONE)) {
            return None;
        }
        let mut answer = answer.clone().filter(Value::is_object)?;
        answer["cost"] = used.shown();
        if let Some(history) = answer.get_mut("history").filter(|history| history.is_object()) {
            history["used"] = json!(used);
        }
        Some(Command::new().write("answer", answer).write("used", json!(used)).goto(DONE))
    }

    /// Returns the values that hooks read, except for the event.
    fn read_by_hooks(&self, used: &Used) -> Value {
        let Params { settings, turns, summaries, .. } = &self.params;
        let mut reads = settings.hooks_read.clone();
        reads.insert("cost".to_owned(), used.shown());
        reads.insert("turns".to_owned(), json!(turns));
        reads.insert("summaries".to_owned(), json!(summaries));
        Value::Object(reads)
    }

    /// Ends the task with an answer that has the failure, if the settings ask for that. A question remains a question. `added`
    /// are the results of the last calls. A new message of the user is kept for a run that continues the conversation.
    fn tell(&self, failure: Failure, added: Option<Message>) -> Result<Command, Failure> {
        let Params { turns, used, .. } = &self.params;
        let added: Vec<Message> = added
            .into_iter()
            .chain(self.said().map(Said::message).filter(|said| self.is_new(said)))
            .collect();
        self.end_with(failure, &added, *turns, used)
    }

    /// Ends the task in the same way, for a failure that follows from an answer, which has used budget.
    fn end_with(
        &self,
        failure: Failure,
        added: &[Message],
        turns: u64,
        used: &Used,
    ) -> Result<Command, Failure> {
        let ended = failure.details().is_some_and(|details| details["ended"] == Value::Bool(true));
        let Some(category) = failure.category().filter(|_| self.params.settings.tell_failures) else {
            return Err(failure);
        };
        let failure = limits::explained(failure, &self.params.settings.limits, used);
        let all = self.params.thread.iter().chain(added);
        let said = all.rev().find(|message| message.role == Role::Assistant).map(Message::text);
        let end = End {
            text: said.unwrap_or_default(),
            outputs: None,
            early: false,
            truncated: false,
            failure: Some((
                if ended { "cancelled" } else { "error" },
                name_of(category),
                failure.to_string(),
            )),
        };
        let command = self.end(added, turns, used, &end);
        Ok(command.write("calls", Value::Null).write("results", Value::Null))
    }

    /// Returns the message of the user, if it is not in the thread yet.
    fn said(&self) -> Option<&Said> {
        self.params.settings.message.as_ref().filter(|said| Some(*said) != self.params.heard.as_ref())
    }

    /// Reports whether the thread does not end with this message. It does if the message was added before, and could not be answered then.
    fn is_new(&self, said: &Message) -> bool {
        self.params.thread.last() != Some(said)
    }

    /// Decides about the calls of the last message in a separate activation, in which a person can be asked.
    fn plan_calls(&self, asked: &Message) -> Result<Command, Failure> {
        let Params { settings, thread, phase, turns, used, context, .. } = &self.params;
        let plan = calls::plan(settings, self.outputs.as_ref(), asked, used, self.ctx)?;
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
        step.added.push(plan.results(settings, thread, &[], settings.limits.repeats)?);
        match &plan.outputs {
            Some(outputs) if self.said().is_none() => Ok(self.returned(&step, asked, outputs)),
            _ => Ok(self.lead(&step, TURN)),
        }
    }

    /// Decides about the calls of an answer in the activation that has received it. If a person has to decide, or the
    /// task may end in another way than with outputs, the next activation decides: the answer is then recorded.
    fn plan_at_once(&self, mut step: Step) -> Command {
        let settings = &self.params.settings;
        let outputs = self.outputs.as_ref();
        let Some(asked) = step.added.last().cloned() else { return self.lead(&step, TURN) };
        if calls::asks_a_person(settings, outputs, &asked) {
            return self.lead(&step, TURN);
        }
        let Ok(plan) = calls::plan(settings, outputs, &asked, &step.used, self.ctx) else {
            return self.lead(&step, TURN);
        };
        if !plan.perform.is_empty() {
            return self.lead(&step, CALL).write("calls", json!(plan));
        }
        if plan.wrong_outputs.is_some() && step.phase == Phase::Finishing {
            return self.lead(&step, TURN);
        }
        let thread = [self.params.thread.as_slice(), step.added.as_slice()].concat();
        let Ok(results) = plan.results(settings, &thread, &[], settings.limits.repeats) else {
            return self.lead(&step, TURN);
        };
        step.added.push(results);
        match &plan.outputs {
            Some(outputs) => self.returned(&step, &asked, outputs).write("context", step.context),
            None => self.lead(&step, TURN),
        }
    }

    /// Returns the command that continues with a node.
    fn lead(&self, step: &Step, node: &str) -> Command {
        let mut command = if node == CALL { Command::new() } else { self.forget_calls(Command::new()) };
        if !step.added.is_empty() {
            command = command.write("thread", json!(step.added));
        }
        accounted(command, &self.params.settings, &step.used)
            .write("turns", step.turns)
            .write("context", step.context)
            .write("phase", json!(step.phase))
            .goto(node)
    }

    /// Deletes the plan for the calls of the last message, whose results the model has, or does not need any more.
    fn forget_calls(&self, command: Command) -> Command {
        if self.params.calls.is_some() { command.write("calls", Value::Null) } else { command }
    }

    /// Ends a task whose outputs the model has returned.
    fn returned(&self, step: &Step, asked: &Message, outputs: &Value) -> Command {
        let early = step.phase == Phase::Finishing;
        let end = End { text: asked.text(), outputs: Some(outputs), early, truncated: false, failure: None };
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
        // A new message starts its own count of turns, even if the graph was not started again.
        let (turns, phase) =
            if new.is_some() { (0, Phase::Working) } else { (self.params.turns, self.params.phase) };
        let new = new.filter(|new| self.is_new(new));
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
        if let Some(message) = limits::reached(&settings.limits, turns, used) {
            return Err(self.limit(&message, turns, used));
        }
        let mut phase = if self.has_to_finish(turns, &added) { Phase::Finishing } else { phase };
        if phase != Phase::Finishing
            && let Some(window) = &settings.context
            && let all = [thread.as_slice(), added.as_slice()].concat()
            && let Some(cut) = context::due(window, &all, *context)
        {
            let superstep = self.ctx.activation().superstep;
            let summarised = context::summarise(settings, &all, cut, *used, superstep)?;
            let reads = self.read_by_hooks(&summarised.used);
            let due = hooks::due(settings, &summarised.used, &[hooks::CONTEXT], &reads, TURN);
            let command = match due {
                Some(due) => Command::new().write("hooks", json!(due)).goto(HOOK),
                None => Command::new().goto(TURN),
            };
            return Ok(accounted(self.forget_calls(command), settings, &summarised.used)
                .write("thread", json!({ "overwrite": summarised.thread }))
                .write("turns", turns)
                .write("context", 0)
                .write("phase", json!(phase))
                .write("chain", json!([summarised.record]))
                .write("summaries", self.params.summaries + 1));
        }
        let response = match self.complete(&mut added, phase) {
            // The manifest reserves the budget of a last call, if it does not suffice for another one with tools.
            Err(failure) if phase != Phase::Finishing && keeps_a_last_call(&failure) => {
                phase = Phase::Finishing;
                self.complete(&mut added, phase)?
            }
            answered => answered?,
        };
        self.take(response, added, phase, turns + 1)
    }

    /// Requests the next message. In the last call, a message asks for an answer, which is then also in `added`.
    fn complete(&self, added: &mut Vec<Message>, phase: Phase) -> Result<Response, Failure> {
        if phase == Phase::Finishing {
            added.push(Message::user(if self.outputs.is_some() { FINISH_WITH_OUTPUTS } else { FINISH }));
        }
        let ask = |added: &[Message]| {
            let conversation = thread::merged(self.params.thread.iter().chain(added));
            model::complete(&self.request(conversation, phase)?)
        };
        match ask(added) {
            // The request may be small enough without the message.
            Err(failure) if phase == Phase::Finishing && limits::is_short(&failure) => {
                added.pop();
                ask(added)
            }
            answered => answered,
        }
    }

    /// Reports whether the next call is probably the last one that a limit permits. `added` is not in the thread yet.
    fn has_to_finish(&self, turns: u64, added: &[Message]) -> bool {
        let Params { settings, thread, used, context, .. } = &self.params;
        if !settings.limits.finish {
            return false;
        }
        let said: usize = thread.iter().chain(added).map(thread::size).sum();
        let request = said + settings.size_of_requests() + self.outputs.as_ref().map_or(0, Outputs::size);
        Next { turns, request: request as u64, context: *context, used }
            .is_last(settings, &model::remaining())
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

    /// Processes an answer of the model. `added` are the messages that it answers, if they are not in the thread yet.
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
            let failure = Failure::permanent(format!("the model refuses to answer: {said}"));
            if !text.is_empty() {
                added.push(Message::assistant(text));
            }
            return self.end_with(failure.with_details(self.progress(turns, &used)), &added, turns, &used);
        }
        let asks_for_tools = message.tool_calls().next().is_some();
        added.push(message);
        let context = usage.input.saturating_add(usage.output);
        let (added, phase) = match (asks_for_tools, &self.outputs, phase) {
            (true, None, Phase::Finishing) => {
                let message = "the model asks for tools in its last call, in which it may not";
                added.extend(added.last().map(|asked| calls::ended(asked, "the task has ended")));
                return self.end_with(self.limit(message, turns, &used), &added, turns, &used);
            }
            (true, _, phase) => {
                return Ok(self.plan_at_once(Step { added, turns, used, context, phase }));
            }
            (false, None, phase) => {
                let early = phase == Phase::Finishing;
                let truncated = stop == StopReason::MaxOutput;
                let end = End { text, outputs: None, early, truncated, failure: None };
                return Ok(self.end(&added, turns, &used, &end).write("context", context));
            }
            (false, Some(_), Phase::Working) => {
                added.push(Message::user(REMINDER));
                (added, Phase::Reminded)
            }
            (false, Some(_), Phase::Reminded) => {
                let message = format!(
                    "the model does not return the outputs with `{RETURN}`, although it was reminded{}",
                    cut_off(stop)
                );
                let failure = Failure::permanent(message).with_details(self.progress(turns, &used));
                return self.end_with(failure, &added, turns, &used);
            }
            (false, Some(_), Phase::Finishing) => {
                let message = format!(
                    "the model has not returned the outputs with `{RETURN}` in its last call{}",
                    cut_off(stop)
                );
                return self.end_with(self.limit(&message, turns, &used), &added, turns, &used);
            }
        };
        Ok(self.lead(&Step { added, turns, used, context, phase }, TURN))
    }

    /// Returns the command that ends the task.
    fn end(&self, added: &[Message], turns: u64, used: &Used, end: &End<'_>) -> Command {
        let Params { settings, thread, summaries, .. } = &self.params;
        let text = match settings.limits.result {
            Some(most) => calls::bounded(end.text.clone(), most),
            None => end.text.clone(),
        };
        let (status, category, error) = match &end.failure {
            None => ("completed", None, None),
            Some((status, category, error)) => (*status, Some(*category), Some(error.clone())),
        };
        let history = settings.history.is_some().then(|| History {
            thread: [thread.as_slice(), added].concat(),
            used: *used,
            summaries: *summaries,
        });
        let answer = Answer {
            status,
            category,
            error,
            text: &text,
            outputs: end.outputs,
            turns,
            cost: used.shown(),
            thread_length: self.params.thread.len() + added.len(),
            finished_early: end.early,
            truncated: end.truncated,
            summaries: *summaries,
            history,
        };
        let mut events = vec![hooks::RETURNED, hooks::COMPLETE];
        events.retain(|event| end.failure.is_none() && (*event == hooks::COMPLETE || end.outputs.is_some()));
        let mut reads = self.read_by_hooks(used);
        reads["result"] = json!(text);
        reads["outputs"] = json!(end.outputs);
        let command = match hooks::due(settings, used, &events, &reads, DONE) {
            Some(due) => Command::new().write("hooks", json!(due)).goto(HOOK),
            None => Command::new().goto(DONE),
        };
        accounted(self.forget_calls(command), settings, used)
            .write("thread", json!(added))
            .write("turns", turns)
            .write("phase", json!(Phase::Working))
            .write("answer", json!(answer))
    }

    /// Returns the failure at a limit of the settings.
    fn limit(&self, message: &str, turns: u64, used: &Used) -> Failure {
        Failure::limit(message).with_details(self.progress(turns, used))
    }

    /// Returns the progress of the task, as details of a failure.
    fn progress(&self, turns: u64, used: &Used) -> Value {
        let said = self.params.thread.iter().rev().filter(|message| message.role == Role::Assistant);
        let text = said.map(Message::text).find(|text| !text.is_empty());
        json!({ "turns": turns, "cost": used.shown(), "thread_length": self.params.thread.len(), "text": text })
    }
}

/// Returns the name of a category in results.
const fn name_of(category: Category) -> &'static str {
    match category {
        Category::Transient => "transient",
        Category::RateLimited => "rate-limited",
        Category::Timeout => "timeout",
        Category::Permanent => "permanent",
        Category::InvalidInput => "invalid-input",
        Category::Denied => "denied",
        Category::Limit => "limit",
        Category::Internal => "internal",
    }
}

/// Returns the reason for an incomplete answer, as the end of a message.
const fn cut_off(stop: StopReason) -> &'static str {
    match stop {
        StopReason::MaxOutput => {
            ": its answer has reached the most tokens, `max_output` of the task or of the model in the manifest"
        }
        _ => "",
    }
}
