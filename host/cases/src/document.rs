//! Document of a case: a graph, doubles for its items, and a script of operations with the expected outcome of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use graph_core::capability::read_run_limits;
use graph_core::diagnostic::{Diagnostic, Diagnostics, Problems, Span, codes, one_line};
use graph_core::hook_event::HookLayer;
use graph_core::keys::KeyTable;
use graph_core::keys::manifest::RUN_LIMITS;
use graph_core::limits::RunLimits;
use graph_core::policy::Durability;
use graph_core::record::CheckpointSelector;
use graph_core::yaml::{self, Fields, Node, Yaml};
use graph_walker::compat::Dialect;
use graph_walker::document::load_hook_list;
use graph_walker::hook::Hook;
use graph_walker::walker::Edit;
use serde_json::{Map, Value};

use crate::double::Double;
use crate::expect::Expect;
use crate::http::{self, HttpDouble};
use crate::keys;
use crate::models::{self, ModelAnswer};

/// A case: a graph, doubles for its items, and a script of operations with the expected outcome of each.
#[derive(Debug)]
pub struct Case {
    /// Name of the case; by default the name of its file.
    pub name: String,
    /// Rule that the case shows.
    pub about: Option<String>,
    /// Rows of the tables of implemented features that the case shows, such as `002.137`.
    pub seeds: Vec<String>,
    /// `executor_id`: dialect of the graphs in the case.
    pub dialect: Dialect,
    /// Graph that all operations of the script run or change.
    pub graph: GraphSource,
    /// Text of the file, for positions in messages.
    pub text: String,
    /// `config` of each graph that actions name, by item id.
    pub subgraphs: BTreeMap<String, Node>,
    /// Folder in which items are searched for first.
    pub items_dir: Option<PathBuf>,
    /// Doubles, by item id.
    pub items: BTreeMap<String, Double>,
    /// Hooks of the project, followed by those of the user.
    pub hooks: Arc<Vec<Hook>>,
    /// Patterns of permitted dispatches.
    pub caps: Vec<String>,
    /// `budgets`: limits of each run, as under `run:` of a manifest. Without it, those of the manifest apply.
    pub budgets: Option<RunLimits>,
    /// Keys of `budgets` in the case, each with its line in the file, from 1.
    pub budget_lines: BTreeMap<String, usize>,
    /// `http`: answers of servers, in the order of the case.
    pub http: Vec<HttpDouble>,
    /// `models`: answers of language models by the model's name, in the order in which they are used.
    pub models: BTreeMap<String, Vec<ModelAnswer>>,
    /// Steps of the script, in order.
    pub script: Vec<Step>,
}

/// Graph of a case.
#[derive(Debug)]
pub enum GraphSource {
    /// `config` of a graph document, in the case itself.
    Inline(Node),
    /// File with a graph document. Its path is relative to the case.
    File(PathBuf),
}

/// An operation and its expected outcome.
#[derive(Debug)]
pub struct Step {
    /// Operation that is performed.
    pub operation: Operation,
    /// Line of the operation in the file, from 1.
    pub line: usize,
    /// Expectations that are compared after the operation.
    pub expect: Expect,
}

/// An operation on the run of a case.
#[derive(Debug)]
pub enum Operation {
    /// Starts the run; the first operation of most scripts.
    Run(RunOptions),
    /// Resumes the run from its records, with answers or new inputs.
    Resume(ResumeOptions),
    /// Requests cancellation of the next operation.
    Cancel,
    /// Edits the run, as `runs update` does.
    Update(TravelOptions),
    /// Forks the run. Later operations act on the fork.
    Fork(TravelOptions),
    /// Forks the run from a checkpoint, and runs the fork.
    Replay(TravelOptions),
    /// Makes another process own the run during the next operation.
    Hold,
    /// Removes all checkpoints of the run except this number of newest ones.
    Prune(u64),
    /// Lets time pass on the clock of the case.
    Pass(Duration),
}

impl Operation {
    /// Returns the name of the operation in the case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Resume(_) => "resume",
            Self::Cancel => "cancel",
            Self::Update(_) => "update",
            Self::Fork(_) => "fork",
            Self::Replay(_) => "replay",
            Self::Hold => "hold",
            Self::Prune(_) => "prune",
            Self::Pass(_) => "pass",
        }
    }
}

/// Options for starting a run.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// Inputs, before defaults of the schema are filled in.
    pub inputs: Map<String, Value>,
    /// Initial values of channels.
    pub state: Map<String, Value>,
    /// Overrides the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Overrides the graph's `durability`.
    pub durability: Option<Durability>,
    /// Overrides the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
    /// Drops the driver after this number of persisted writes.
    pub crash_after: Option<u64>,
}

/// Options for resuming a run.
#[derive(Debug, Default)]
pub struct ResumeOptions {
    /// One answer, for the only open interrupt.
    pub answer: Option<Value>,
    /// Answers, by interrupt id or node.
    pub answers: Option<BTreeMap<String, Value>>,
    /// New total of `max_steps`.
    pub max_steps: Option<u64>,
    /// New inputs. Pending writes are discarded, and a finished run starts another turn.
    pub inputs: Option<Map<String, Value>>,
    /// Values for channels, which reducers combine with the state before the run continues.
    pub update: Option<Map<String, Value>>,
}

/// Options of an edit, a fork or a replay.
#[derive(Debug, Default)]
pub struct TravelOptions {
    /// Checkpoint to start from; `None` for the newest.
    pub at: Option<CheckpointSelector>,
    /// Values to write; `None` to only return to the checkpoint.
    pub edit: Option<Edit>,
    /// Drops the driver after this number of persisted writes.
    pub crash_after: Option<u64>,
}

impl Case {
    /// Reads a case. The error has every problem of it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Box<Diagnostics>> {
        let problems = Problems::new();
        let case = yaml::parse(text, &problems).and_then(|root| read(&root, path, text, &problems));
        problems.finish(&path.display().to_string(), text, case).map(|(case, _)| case)
    }
}

fn read(root: &Node, path: &Path, text: &str, problems: &Problems) -> Option<Case> {
    let mut fields = Fields::open(root, &keys::CASE, "the case", problems)?;
    let name = fields.text("name").map_or_else(|| stem(path), str::to_owned);
    let about = fields.text("about").map(str::to_owned);
    let dialect = fields.choice("executor_id", &Dialect::EXECUTORS).unwrap_or_default();
    let seeds = fields.filled("seeds").map(|seeds| read_seeds(seeds, problems)).unwrap_or_default();
    let graph = read_graph(&mut fields, path);
    let subgraphs = fields.filled("subgraphs").and_then(|graphs| graphs.mapping("`subgraphs`", problems));
    let subgraphs = subgraphs.into_iter().flatten();
    let subgraphs = subgraphs.map(|entry| (entry.key.name.clone(), entry.value.clone())).collect();
    let items_dir = fields.text("items_dir").map(|dir| path.parent().unwrap_or(Path::new(".")).join(dir));
    let items = fields.filled("items").map(|items| read_items(items, text, problems)).unwrap_or_default();
    let caps = fields.texts("caps").map_or_else(
        || vec!["execute.tool.*".to_owned()],
        |patterns| patterns.into_iter().map(|(pattern, _)| pattern.to_owned()).collect(),
    );
    let budget_lines = fields.get("budgets").map(lines_of).unwrap_or_default();
    let budgets = fields.fields("budgets", &RUN_LIMITS, "`budgets`").map(read_run_limits);
    let hooks = fields.filled("hooks").map(|hooks| read_hooks(hooks, text, problems)).unwrap_or_default();
    let http = fields.filled("http").map(|node| http::read(node, problems)).unwrap_or_default();
    let models = fields.filled("models").map(|node| models::read(node, problems)).unwrap_or_default();
    let script = fields
        .required("script")
        .and_then(|script| script.list("`script`", problems))
        .map(|steps| steps.iter().filter_map(|step| read_step(step, problems)).collect())
        .unwrap_or_default();
    fields.finish();
    Some(Case {
        name,
        about,
        seeds,
        dialect,
        graph: graph?,
        text: text.to_owned(),
        subgraphs,
        items_dir,
        items,
        hooks,
        caps,
        budgets,
        budget_lines,
        http,
        models,
        script,
    })
}

/// Returns the keys of a mapping, each with its line.
fn lines_of(node: &Node) -> BTreeMap<String, usize> {
    let entries = node.as_mapping().into_iter().flat_map(|mapping| mapping.iter());
    entries.map(|entry| (entry.key.name.clone(), entry.key.span.line)).collect()
}

/// Reads the ids of rows, such as `002.137` and `M.5`.
fn read_seeds(node: &Node, problems: &Problems) -> Vec<String> {
    let is_id = |text: &str| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.split_once('.')
            .is_some_and(|(seed, row)| (seed == "M" || (seed.len() == 3 && digits(seed))) && digits(row))
    };
    let mut rows: Vec<String> = Vec::new();
    for (row, place) in node.texts("`seeds`", problems).into_iter().flatten() {
        if !is_id(row) {
            let message = format!("`{}` is not the id of a row", one_line(row, 60));
            place.out_of_range(&message, "three digits or `M`, a dot and a number: `002.137`", problems);
        } else if rows.iter().any(|known| known == row) {
            place.out_of_range(&format!("`{row}` is listed twice"), "each row once", problems);
        } else {
            rows.push(row.to_owned());
        }
    }
    rows
}

/// Returns the default name of a case: `b` for `a/b.case.yaml`.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(super::find::SUFFIX).unwrap_or(&name).to_owned()
}

fn read_graph(fields: &mut Fields<'_>, path: &Path) -> Option<GraphSource> {
    let inline = fields.entry("graph");
    let file = fields.entry("graph_file");
    match (inline, file) {
        (Some(inline), None) => Some(GraphSource::Inline(inline.value.clone())),
        (None, Some(file)) => {
            let file = file.value.text("`graph_file`", fields.problems())?;
            Some(GraphSource::File(path.parent().unwrap_or(Path::new(".")).join(file)))
        }
        (Some(_), Some(file)) => {
            let problem = Diagnostic::error(
                codes::UNKNOWN_KEY,
                file.key.span,
                "a case has `graph` or `graph_file`, not both",
            );
            fields.problems().push(problem.help("remove one of them"));
            None
        }
        (None, None) => {
            let problem =
                Diagnostic::error(codes::MISSING_KEY, fields.span().first_line(), "the case has no graph");
            fields.problems().push(
                problem.help("write a graph's `config` under `graph`, or name a file under `graph_file`"),
            );
            None
        }
    }
}

fn read_items(items: &Node, text: &str, problems: &Problems) -> BTreeMap<String, Double> {
    let Some(items) = items.mapping("`items`", problems) else { return BTreeMap::new() };
    let mut doubles = BTreeMap::new();
    for entry in items {
        let id = &entry.key.name;
        if let Some(double) = Double::read(&entry.value, &format!("the double `{id}`"), text, problems) {
            doubles.insert(id.clone(), double);
        }
    }
    doubles
}

/// Reads `hooks: {project: [..], infra: [..]}`: the hooks that a run would read from `.ai/hooks.yaml` and from the
/// user's `hooks.yaml`. A graph's own hooks are in the graph.
fn read_hooks(node: &Node, text: &str, problems: &Problems) -> Arc<Vec<Hook>> {
    let Some(mut fields) = Fields::open(node, &keys::HOOKS, "`hooks`", problems) else {
        return Arc::default();
    };
    let mut hooks = Vec::new();
    for (key, layer) in [("project", HookLayer::Project), ("infra", HookLayer::Infra)] {
        if let Some(list) = fields.filled(key) {
            hooks.extend(load_hook_list(list, text, layer, problems));
        }
    }
    fields.finish();
    Arc::new(hooks)
}

fn read_step(step: &Node, problems: &Problems) -> Option<Step> {
    let mut fields = Fields::open(step, &keys::STEP, "a step of the script", problems)?;
    let mut operations = Vec::new();
    if let Some(options) = fields.get("run") {
        operations.push(read_run(options, problems).map(Operation::Run));
    }
    if let Some(options) = fields.get("resume") {
        operations.push(read_resume(options, problems).map(Operation::Resume));
    }
    if let Some(options) = fields.get("cancel") {
        operations.push(read_nothing(options, "`cancel`", problems).map(|()| Operation::Cancel));
    }
    if let Some(options) = fields.get("update") {
        operations.push(read_travel(options, "`update`", true, problems).map(Operation::Update));
    }
    if let Some(options) = fields.get("fork") {
        operations.push(read_travel(options, "`fork`", true, problems).map(Operation::Fork));
    }
    if let Some(options) = fields.get("replay") {
        operations.push(read_travel(options, "`replay`", false, problems).map(Operation::Replay));
    }
    if let Some(options) = fields.get("hold") {
        operations.push(read_nothing(options, "`hold`", problems).map(|()| Operation::Hold));
    }
    if let Some(span) = fields.duration("pass") {
        operations.push(Some(Operation::Pass(span)));
    }
    if let Some(options) = fields.get("prune") {
        operations.push(read_prune(options, problems).map(Operation::Prune));
    }
    let expect = match fields.filled("expect") {
        Some(expect) => Expect::read(expect, problems),
        None => Some(Expect::default()),
    };
    fields.finish();
    if operations.len() != 1 {
        let message = "a step of the script has one operation: run, resume, update, fork, replay, cancel, hold, prune or pass";
        let problem = Diagnostic::error(codes::MISSING_KEY, step.span.first_line(), message);
        problems.push(problem.label(format!("{} operations", operations.len())));
        return None;
    }
    Some(Step { operation: operations.pop()??, line: step.span.line, expect: expect? })
}

/// Reads a mapping. Returns `Some(None)` for a key without a value, which means `{}`, and `None` if the mapping could
/// not be read.
#[allow(clippy::option_option)]
fn open<'n>(
    node: &'n Node,
    table: &'static KeyTable,
    what: &'n str,
    problems: &'n Problems,
) -> Option<Option<Fields<'n>>> {
    if node.is_null() { Some(None) } else { Fields::open(node, table, what, problems).map(Some) }
}

fn read_nothing(node: &Node, what: &str, problems: &Problems) -> Option<()> {
    if let Some(fields) = open(node, &keys::NOTHING, what, problems)? {
        fields.finish();
    }
    Some(())
}

fn read_prune(node: &Node, problems: &Problems) -> Option<u64> {
    let mut fields = Fields::open(node, &keys::PRUNE, "`prune`", problems)?;
    let most = fields.required("checkpoints").and_then(|_| fields.u64("checkpoints", 1..=u64::MAX));
    fields.finish();
    most
}

fn read_run(node: &Node, problems: &Problems) -> Option<RunOptions> {
    const DURABILITY: [(&str, Durability); 3] =
        [("sync", Durability::Sync), ("async", Durability::Async), ("exit", Durability::Exit)];
    let Some(mut fields) = open(node, &keys::RUN, "`run`", problems)? else {
        return Some(RunOptions::default());
    };
    let options = RunOptions {
        inputs: read_object(fields.filled("inputs"), "`inputs`", problems)?.unwrap_or_default(),
        state: read_object(fields.filled("state"), "`state`", problems)?.unwrap_or_default(),
        max_steps: fields.u64("max_steps", 0..=u64::MAX),
        durability: fields.choice("durability", &DURABILITY),
        max_concurrency: fields
            .u64("max_concurrency", 1..=u64::from(u32::MAX))
            .and_then(|most| u32::try_from(most).ok()),
        crash_after: fields.u64("crash_after", 1..=u64::MAX),
    };
    fields.finish();
    Some(options)
}

fn read_resume(node: &Node, problems: &Problems) -> Option<ResumeOptions> {
    let Some(mut fields) = open(node, &keys::RESUME, "`resume`", problems)? else {
        return Some(ResumeOptions::default());
    };
    let options = ResumeOptions {
        answer: fields.get("answer").map(Node::to_json),
        answers: read_object(fields.filled("answers"), "`answers`", problems)?
            .map(|answers| answers.into_iter().collect()),
        max_steps: fields.u64("max_steps", 0..=u64::MAX),
        inputs: read_object(fields.filled("inputs"), "`inputs`", problems)?,
        update: read_object(fields.filled("update"), "`update`", problems)?,
    };
    if options.answer.is_some() && options.answers.is_some() {
        let problem = Diagnostic::error(
            codes::UNKNOWN_KEY,
            node.span.first_line(),
            "a resume has `answer` or `answers`, not both",
        );
        problems.push(
            problem.help("write one answer under `answer`, or several by node or interrupt under `answers`"),
        );
        return None;
    }
    fields.finish();
    Some(options)
}

fn read_travel(node: &Node, what: &str, edits: bool, problems: &Problems) -> Option<TravelOptions> {
    let table = if edits { &keys::UPDATE } else { &keys::REPLAY };
    let Some(mut fields) = open(node, table, what, problems)? else { return Some(TravelOptions::default()) };
    let at = match fields.filled("at") {
        Some(at) => Some(read_selector(at, problems)?),
        None => None,
    };
    let edit = if edits {
        let values = read_object(fields.filled("values"), "`values`", problems)?;
        let as_node = fields.text("as_node").map(str::to_owned);
        (values.is_some() || as_node.is_some()).then(|| Edit { values: values.unwrap_or_default(), as_node })
    } else {
        None
    };
    let crash_after = fields.u64("crash_after", 1..=u64::MAX);
    fields.finish();
    Some(TravelOptions { at, edit, crash_after })
}

/// Reads `{step: N}`, `{node: NAME}` or `{checkpoint: N}`.
fn read_selector(node: &Node, problems: &Problems) -> Option<CheckpointSelector> {
    let mut fields = Fields::open(node, &keys::SELECTOR, "`at`", problems)?;
    let places = [
        fields.u64("step", 0..=u64::MAX).map(CheckpointSelector::Step),
        fields.text("node").map(|name| CheckpointSelector::Node(name.to_owned())),
        fields.u64("checkpoint", 0..=u64::MAX).map(CheckpointSelector::Sequence),
    ];
    fields.finish();
    let mut places: Vec<_> = places.into_iter().flatten().collect();
    if places.len() == 1 {
        return places.pop();
    }
    let message = "`at` is one of `{step: N}`, `{node: NAME}` and `{checkpoint: N}`";
    problems.push(Diagnostic::error(codes::MISSING_KEY, node.span.first_line(), message));
    None
}

/// Converts a mapping to JSON. Returns `Some(None)` for a missing node, and `None` if it could not be read.
#[allow(clippy::option_option)]
fn read_object(node: Option<&Node>, what: &str, problems: &Problems) -> Option<Option<Map<String, Value>>> {
    let Some(node) = node else { return Some(None) };
    node.mapping(what, problems)?;
    match node.to_json() {
        Value::Object(object) => Some(Some(object)),
        _ => None,
    }
}

/// Returns the position of an invalid text in the case.
pub(crate) fn span_of<K: AsRef<str>>(node: &Node, text: &str, pointer: &[K], offset: usize) -> Span {
    let place = node.descend(pointer);
    match &place.value {
        Yaml::Text(_) => place.span_inside(text, offset, 1),
        _ => place.span.first_line(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Case, Vec<String>> {
        Case::parse(Path::new("cases/some.case.yaml"), text).map_err(|problems| problems.to_lines())
    }

    #[test]
    fn a_case_is_read() {
        let case = parse(
            "graph: { start: a, nodes: { a: {} } }\n\
             seeds: ['002.137', M.5]\n\
             script:\n\
             - run: { inputs: { n: 9007199254740993 }, crash_after: 2, durability: exit }\n\
             \x20 expect: { status: completed }\n\
             - resume: { answer: null }\n\
             - cancel:\n\
             - fork: { at: { step: 1 } }\n",
        )
        .unwrap();
        assert_eq!(case.name, "some");
        assert_eq!(case.seeds, ["002.137", "M.5"]);
        assert_eq!(case.caps, ["execute.tool.*"]);
        let names: Vec<_> = case.script.iter().map(|step| (step.operation.name(), step.line)).collect();
        assert_eq!(names, [("run", 4), ("resume", 6), ("cancel", 7), ("fork", 8)]);
        let Operation::Run(run) = &case.script[0].operation else { unreachable!() };
        assert_eq!(Value::Object(run.inputs.clone()), json!({"n": 9_007_199_254_740_993_u64}));
        assert_eq!((run.crash_after, run.durability), (Some(2), Some(Durability::Exit)));
        let Operation::Resume(resume) = &case.script[1].operation else { unreachable!() };
        assert_eq!((&resume.answer, &resume.answers), (&Some(Value::Null), &None));
    }

    #[test]
    fn all_problems_are_reported_with_their_places() {
        let problems = parse(
            "grahp: { start: a }\n\
             seeds: [2.137, '02.1', 'M.', '002.1', '002.1']\n\
             items: { t/x: { result: \"${params.x\" }, t/y: { fail: { category: tired, message: m } } }\n\
             script:\n\
             - { run: {}, resume: {} }\n\
             - run: { inputs: [1] }\n\
             - run: { max_step: 3 }\n\
             - resume: { answer: 1, answers: { a: 1 } }\n\
             - expect: { state: 3, stats: 1 }\n",
        )
        .unwrap_err();
        insta::assert_snapshot!(problems.join("\n"));
    }
}
