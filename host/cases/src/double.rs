//! Doubles, which replace the items of a case.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use graph_core::diagnostic::{Diagnostic, Problems, codes};
use graph_core::id::without_version;
use graph_core::node::{Category, Failure, Goto, Outcome};
use graph_core::policy::TemplateMode;
use graph_core::template::{Root, Scope, ValueTemplate};
use graph_core::work::{FuelExhausted, Meter};
use graph_core::yaml::{Fields, Node};
use graph_walker::graph::Graph;
use graph_walker::walker::{TaskReport, TaskSpec};
use serde_json::{Map, Value};

use crate::ceiling::{Held, Waiting};
use crate::document::span_of;
use crate::keys;
use crate::store::task_of_child;

/// Roots of paths that templates in a double can read.
const ROOTS: [&str; 7] = ["params", "node", "attempt", "superstep", "argument", "answers", "call"];

/// Outcomes of an item, one for each call; the last one repeats.
#[derive(Debug, Clone)]
pub struct Double {
    outcomes: Vec<Scripted>,
}

/// An outcome, and the time that it takes.
#[derive(Debug, Clone)]
struct Scripted {
    kind: Kind,
    delay: Option<Duration>,
}

#[derive(Debug, Clone)]
enum Kind {
    Result(ValueTemplate),
    Command { update: ValueTemplate, goto: ValueTemplate },
    Interrupts { questions: ValueTemplate, then: Option<Box<Scripted>> },
    Fail(ValueTemplate),
    Trap(Trap),
}

#[derive(Debug, Clone, Copy)]
enum Trap {
    Fuel,
    Memory,
    Unreachable,
}

impl Double {
    /// Reads a double. `text` is the text of the case.
    pub(crate) fn read(node: &Node, what: &str, text: &str, problems: &Problems) -> Option<Self> {
        let sequence = node.as_mapping().and_then(|mapping| mapping.get("sequence"));
        let Some(sequence) = sequence else {
            return Some(Self { outcomes: vec![Scripted::read(node, what, text, problems)?] });
        };
        let mut fields = Fields::open(node, &keys::SEQUENCE, what, problems)?;
        fields.also_known(&["sequence"]);
        fields.finish();
        let list = sequence.list("`sequence`", problems)?;
        if list.is_empty() {
            sequence.out_of_range(
                "`sequence` has no outcomes; it needs one at least",
                "one outcome or more",
                problems,
            );
            return None;
        }
        let read: Vec<_> = list.iter().map(|outcome| Scripted::read(outcome, what, text, problems)).collect();
        Some(Self { outcomes: read.into_iter().collect::<Option<_>>()? })
    }
}

impl Scripted {
    fn read(node: &Node, what: &str, text: &str, problems: &Problems) -> Option<Self> {
        const KINDS: [&str; 5] = ["result", "command", "interrupts", "fail", "trap"];
        const TRAPS: [(&str, Trap); 3] =
            [("fuel", Trap::Fuel), ("memory", Trap::Memory), ("unreachable", Trap::Unreachable)];
        let mut fields = Fields::open(node, &keys::DOUBLE, what, problems)?;
        let mut kinds = Vec::new();
        if let Some(result) = fields.get("result") {
            kinds.push(template(result, text, problems).map(Kind::Result));
        }
        if let Some(command) = fields.get("command") {
            kinds.push(read_command(command, what, text, problems));
        }
        let interrupts = fields.get("interrupts");
        let then = fields.filled("then");
        if let Some(questions) = interrupts {
            let then = match then {
                Some(then) => Self::read(then, what, text, problems).map(|then| Some(Box::new(then))),
                None => Some(None),
            };
            let asked =
                questions.list("`interrupts`", problems).and_then(|_| template(questions, text, problems));
            kinds.push(asked.zip(then).map(|(questions, then)| Kind::Interrupts { questions, then }));
        }
        if let Some(fail) = fields.get("fail") {
            kinds.push(read_failure(fail, what, text, problems));
        }
        if fields.get("trap").is_some() {
            kinds.push(fields.choice("trap", &TRAPS).map(Kind::Trap));
        }
        let delay = fields.u64("delay_ms", 0..=u64::from(u32::MAX)).map(Duration::from_millis);
        fields.finish();
        if kinds.len() != 1 || (then.is_some() && interrupts.is_none()) {
            let message =
                format!("an outcome of {what} is one of {}; `then` goes with `interrupts`", KINDS.join(", "));
            problems.push(Diagnostic::error(codes::MISSING_KEY, node.span.first_line(), message));
            return None;
        }
        Some(Self { kind: kinds.pop()??, delay })
    }
}

fn template(node: &Node, text: &str, problems: &Problems) -> Option<ValueTemplate> {
    let template = match ValueTemplate::parse(&node.to_json()) {
        Ok(template) => template,
        Err(error) => {
            let span = span_of(node, text, &error.pointer, error.offset);
            let problem = Diagnostic::error(codes::TEMPLATE_SYNTAX, span, &error.message);
            problems.push(match &error.help {
                Some(help) => problem.help(help),
                None => problem,
            });
            return None;
        }
    };
    template.each_path(&mut |used| {
        if !ROOTS.contains(&used.path.root()) && !problems.is_full() {
            let span = span_of(node, text, used.pointer, 0);
            let message = format!("`{}` cannot be read in a double", used.path);
            let help = format!("a double reads {}", ROOTS.join(", "));
            problems.push(Diagnostic::error(codes::TEMPLATE_ROOT, span, message).help(help));
        }
    });
    Some(template)
}

fn read_command(node: &Node, what: &str, text: &str, problems: &Problems) -> Option<Kind> {
    let mut fields = Fields::open(node, &keys::COMMAND, format!("the command of {what}"), problems)?;
    let update = match fields.filled("update") {
        Some(update) => {
            update.mapping("`update`", problems)?;
            template(update, text, problems)?
        }
        None => ValueTemplate::constant(Value::Object(Map::new())),
    };
    let goto = match fields.filled("goto") {
        Some(goto) => {
            goto.list("`goto`", problems)?;
            template(goto, text, problems)?
        }
        None => ValueTemplate::constant(Value::Array(Vec::new())),
    };
    fields.finish();
    Some(Kind::Command { update, goto })
}

fn read_failure(node: &Node, what: &str, text: &str, problems: &Problems) -> Option<Kind> {
    let mut fields = Fields::open(node, &keys::FAILURE, format!("the failure of {what}"), problems)?;
    if let Some(category) = fields.required("category")
        && let Some(name) = category.text("`category`", problems)
        && !name.contains("${")
        && Category::parse(name).is_none()
    {
        let message = format!("`{name}` is not a category");
        let known: Vec<_> = Category::ALL.iter().map(|category| category.as_str()).collect();
        let problem = Diagnostic::error(codes::UNKNOWN_CHOICE, category.span, message);
        problems.push(problem.help(format!("one of: {}", known.join(", "))));
    }
    fields.text("message");
    fields.also_known(&["details"]);
    fields.finish();
    template(node, text, problems).map(Kind::Fail)
}

/// Doubles of a case, with the number of calls of each item and of dispatches of each node.
#[derive(Debug)]
pub(crate) struct Doubles {
    items: BTreeMap<String, Double>,
    /// Memory of the results that are not yet delivered.
    waiting: Waiting,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<String, u64>,
    /// Dispatches, by the path of nodes from the root graph.
    dispatches: BTreeMap<String, u64>,
    /// Child runs, by run and namespace.
    children: BTreeMap<(String, String), ChildCount>,
    /// Number of the item's call that each call of the current operation counts as.
    answered: BTreeMap<CallKey, u64>,
}

/// Data of a child run.
#[derive(Debug, Default)]
struct ChildCount {
    /// Path of nodes to the node that has started it.
    path: String,
    /// Number of times that it was started or resumed.
    begun: u32,
}

/// Key of a call of a double. A call that is repeated after a crash has the same key, and gets the same outcome.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CallKey {
    task: String,
    attempt: u32,
    /// Number of answers that the task had.
    answers: usize,
    /// Number of times that the child run of the task was started or resumed: its tasks then run again.
    begun: u32,
}

/// Outcome of a call of a double, and its duration.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) report: TaskReport,
    pub(crate) delay: Option<Duration>,
    /// Memory of the report, which is counted until this value is dropped.
    pub(crate) held: Held,
}

impl Doubles {
    /// Creates the doubles of a case. Their results have at most `most` bytes before they are delivered.
    pub(crate) fn new(items: BTreeMap<String, Double>, most: u64) -> Self {
        Self { items, waiting: Waiting::new(most), counts: Mutex::default() }
    }

    /// Reports whether an item has a double. A version after the id is ignored.
    pub(crate) fn has(&self, item: &str) -> bool {
        self.find(item).is_some()
    }

    fn find(&self, item: &str) -> Option<(&String, &Double)> {
        let bare = &*without_version(item);
        self.items.get_key_value(item).or_else(|| self.items.get_key_value(bare))
    }

    /// Returns the number of dispatches of each node and each hook since the case started, by the path of nodes to it.
    pub(crate) fn by_path(&self) -> BTreeMap<String, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).dispatches.clone()
    }

    /// Returns the same counts. A node of a child graph is also counted under its own name, unless the graph has a node
    /// of that name.
    pub(crate) fn dispatches(&self, graph: Option<&Graph>) -> BTreeMap<String, u64> {
        let mut counts = self.by_path();
        let below: Vec<_> = counts
            .iter()
            .filter(|(path, _)| path.contains('/'))
            .map(|(path, count)| (path.rsplit('/').next().unwrap_or_default().to_owned(), *count))
            .collect();
        for (node, count) in below {
            if graph.is_none_or(|graph| graph.find(&node).is_none()) {
                *counts.entry(node).or_default() += count;
            }
        }
        counts
    }

    /// Starts a new operation of the script: a repeated call in it gets the next outcome.
    pub(crate) fn begin_operation(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).answered.clear();
    }

    /// Replaces the counts after a crash: dispatches that were lost are repeated.
    pub(crate) fn set_dispatches(&self, dispatches: BTreeMap<String, u64>) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).dispatches = dispatches;
    }

    /// Counts a start or resume of a child run, which is a dispatch of the node at `path`.
    pub(crate) fn begin_child(&self, run: &str, namespace: &str, path: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let child = counts.children.entry((run.to_owned(), namespace.to_owned())).or_default();
        path.clone_into(&mut child.path);
        child.begun += 1;
        drop(counts);
        self.count(path);
    }

    /// Sets the counts of child runs when a run is resumed from its records. `known` has the number of recorded
    /// dispatches of each unfinished task; dispatches without a record are repeated.
    pub(crate) fn lose_children(&self, run: &str, known: &BTreeMap<String, u32>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for ((of, namespace), child) in &mut counts.children {
            if of == run {
                child.begun = known.get(task_of_child(namespace)).copied().unwrap_or(0);
            }
        }
    }

    /// Returns the namespaces of the child runs that were started, each with the path of the node that started it.
    pub(crate) fn children_of(&self, run: &str) -> Vec<(String, String)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_run = counts.children.iter().filter(|((of, _), _)| of == run);
        of_run.map(|((_, namespace), child)| (namespace.clone(), child.path.clone())).collect()
    }

    /// Returns the path of the node that started the child run in a namespace.
    pub(crate) fn path_of_child(&self, run: &str, namespace: &str) -> Option<String> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.children.get(&(run.to_owned(), namespace.to_owned())).map(|child| child.path.clone())
    }

    /// Counts a dispatch of a node, by the path of nodes to it.
    pub(crate) fn count(&self, path: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.dispatches.entry(path.to_owned()).or_default() += 1;
    }

    /// Calls the double of an item; returns `None` if the item has none.
    pub(crate) fn call(&self, spec: &TaskSpec) -> Option<Reply> {
        let (id, double) = self.find(&spec.item_id)?;
        let call = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let Counts { calls, answered, children, .. } = &mut *counts;
            let activation = &spec.activation;
            let child = activation.run_id.split_once('/');
            let child = child.and_then(|(run, name)| children.get(&(run.to_owned(), name.to_owned())));
            // A call whose outcome was lost in a crash is repeated, and gets the same outcome.
            *answered
                .entry(CallKey {
                    task: activation.task.clone(),
                    attempt: activation.attempt,
                    answers: activation.answers.len(),
                    begun: child.map_or(0, |child| child.begun),
                })
                .or_insert_with(|| {
                    let calls = calls.entry(id.clone()).or_default();
                    *calls += 1;
                    *calls
                })
        };
        let last = double.outcomes.len() - 1;
        let scripted = &double.outcomes[usize::try_from(call - 1).unwrap_or(usize::MAX).min(last)];
        Some(scripted.reply(spec, call, &self.waiting))
    }
}

impl Scripted {
    fn reply(&self, spec: &TaskSpec, call: u64, waiting: &Waiting) -> Reply {
        let activation = &spec.activation;
        let values: [Value; 6] = [
            Value::from(activation.node_id.as_str()),
            Value::from(activation.attempt),
            Value::from(activation.superstep),
            activation.argument.clone().unwrap_or_default(),
            Value::from(activation.answers.clone()),
            Value::from(call),
        ];
        let mut scope = Scope::new().with("params", Root::Value(&spec.params));
        for (name, value) in ROOTS[1..].iter().zip(&values) {
            scope = scope.with(name, Root::Value(value));
        }
        // Evaluating a template costs at least as much as its result has bytes in memory.
        let meter = Meter::new(waiting.left());
        let (mut report, delay) = self.perform(spec, &scope, &meter);
        if meter.reason() == FuelExhausted::Fuel && meter.charge(1).is_err() {
            report.result = Err(Failure::new(Category::Limit, waiting.used_up()));
        }
        Reply { report, delay, held: waiting.hold(meter.spent()) }
    }

    fn perform(&self, spec: &TaskSpec, scope: &Scope<'_>, meter: &Meter) -> (TaskReport, Option<Duration>) {
        let fill = |template: &ValueTemplate| {
            template.evaluate(scope, TemplateMode::Lenient, &mut Vec::new(), meter)
        };
        let mut delay = self.delay;
        let mut fuel = 0;
        let result = match &self.kind {
            Kind::Result(result) => fill(result).map_err(|error| broken(spec, &error)).map(Outcome::Result),
            Kind::Command { update, goto } => command(spec, fill(update), fill(goto)),
            Kind::Interrupts { questions, then } => match fill(questions) {
                Ok(Value::Array(mut questions)) if questions.len() > spec.activation.answers.len() => {
                    Ok(Outcome::Interrupt(questions.swap_remove(spec.activation.answers.len())))
                }
                Ok(_) => match then {
                    Some(then) => {
                        let (report, later) = then.perform(spec, scope, meter);
                        delay = delay.or(later);
                        fuel = report.fuel;
                        report.result
                    }
                    None => Ok(Outcome::Result(Value::Null)),
                },
                Err(error) => Err(broken(spec, &error)),
            },
            Kind::Fail(failure) => {
                Err(fill(failure).map_or_else(|error| broken(spec, &error), |failure| failed(spec, &failure)))
            }
            Kind::Trap(trap) => {
                // A trap uses the whole budget of fuel, as in the engine.
                fuel = spec.limits.fuel;
                Err(trap.failure(spec))
            }
        };
        (TaskReport::new(result, fuel), delay)
    }
}

fn broken(spec: &TaskSpec, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Category::Internal, format!("the double of `{}` cannot answer: {why}", spec.item_id))
}

fn command<E: std::fmt::Display>(
    spec: &TaskSpec,
    update: Result<Value, E>,
    goto: Result<Value, E>,
) -> Result<Outcome, Failure> {
    let Value::Object(update) = update.map_err(|error| broken(spec, &error))? else {
        return Err(broken(spec, &"its `update` is not an object"));
    };
    let Value::Array(goto) = goto.map_err(|error| broken(spec, &error))? else {
        return Err(broken(spec, &"its `goto` is not a list"));
    };
    let goto = goto
        .into_iter()
        .map(|target| match target {
            Value::String(node) => Ok(Goto { node, argument: None }),
            other => serde_json::from_value(other).map_err(|error| broken(spec, &error)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome::Command { update, goto })
}

fn failed(spec: &TaskSpec, failure: &Value) -> Failure {
    let name = failure["category"].as_str().unwrap_or_default();
    let Some(category) = Category::parse(name) else {
        return broken(spec, &format!("`{name}` is not a category"));
    };
    let message = failure["message"].as_str().unwrap_or("it failed").to_owned();
    Failure { category, message, details: failure.get("details").cloned(), within: None }
}

impl Trap {
    fn failure(self, spec: &TaskSpec) -> Failure {
        match self {
            Self::Fuel => {
                Failure::new(Category::Limit, format!("it used up its {} units of fuel", spec.limits.fuel))
            }
            Self::Memory => Failure::new(
                Category::Limit,
                format!("it asked for more than {} bytes of memory", spec.limits.memory),
            ),
            Self::Unreachable => Failure::new(Category::Internal, "it trapped: unreachable code was reached"),
        }
    }
}
