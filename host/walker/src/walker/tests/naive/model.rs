//! A naive walker: it runs one task after the other, copies every value, and keeps only the state of the run.

mod resume;

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{DoubleCall, Doubles, Graph, Kind, Reply};
use super::language::{Roots, Template};
use super::value::{V, int, map, text};

pub(super) type Fields = BTreeMap<String, V>;

/// An operation on a run.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Run,
    Resume {
        answers: Answers,
        max_steps: Option<u64>,
        inputs: Option<Fields>,
    },
    /// Cancels the next operation.
    Cancel,
}

#[derive(Clone, Debug)]
pub(super) enum Answers {
    None,
    Bare(V),
    Named(Vec<(String, V)>),
}

/// Observable state of a run after an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) refused: Option<String>,
    pub(super) status: String,
    pub(super) ended_by: Option<String>,
    pub(super) limit_reached: bool,
    pub(super) error: Option<String>,
    pub(super) state: Fields,
    pub(super) output: Option<V>,
    pub(super) visited: Vec<String>,
    pub(super) executions: BTreeMap<String, u64>,
    pub(super) steps: u64,
    pub(super) next: Vec<String>,
    /// Ids, nodes and payloads.
    pub(super) interrupts: Vec<(String, String, Option<V>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    Plain,
    Barrier,
    Send,
}

/// A node that is next.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub(super) node: usize,
    pub(super) how: How,
    pub(super) argument: Option<V>,
}

/// A failure: category and message.
pub(super) type Fault = (&'static str, &'static str);

/// Failures of a node by a template and by a command.
const BAD_INPUT: Fault = ("invalid-input", "");
const DENIED: Fault = ("denied", "");
/// Failure of a component that rejects its input.
const REJECTS: Fault = ("invalid-input", "no");

/// Returns the question that is asked again once an answer was rejected.
fn asked_again(asked: V) -> V {
    let mut fields = match asked {
        V::Map(fields) => fields,
        other => Fields::from([("question".to_owned(), other)]),
    };
    fields.insert("rejected".to_owned(), text("no"));
    V::Map(fields)
}

/// A write to a key; the flag is `true` if it overwrites the value of a reducer channel.
pub(super) type Write = (&'static str, V, bool);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Came {
    /// An answer, with the writes of `assign`.
    Done(Reply, Vec<Write>),
    Handled(Fault),
    Failed(Fault),
    Asked(V),
    /// An earlier item stopped its node.
    Skipped,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) active: usize,
    pub(super) item: Option<V>,
    pub(super) attempt: u32,
    pub(super) came: Came,
}

/// Kept state of a task of a superstep that did not commit.
#[derive(Clone, Debug, Default)]
struct Kept {
    node: usize,
    came: Option<Came>,
    attempt: u32,
    answers: Vec<V>,
    /// The numbers of the answers that the component has rejected.
    rejected: BTreeSet<usize>,
}

impl Kept {
    /// Returns the answers that count.
    fn counting(&self) -> Vec<V> {
        let counts = |(at, _): &(usize, &V)| !self.rejected.contains(at);
        self.answers.iter().enumerate().filter(counts).map(|(_, answer)| answer.clone()).collect()
    }

    /// Returns `true` if the newest answer may be rejected, so that its question is asked again.
    fn is_asked_again(&self) -> bool {
        let Some(newest) = self.answers.len().checked_sub(1) else { return false };
        (0..newest).rev().take_while(|at| self.rejected.contains(at)).count() < 3
    }
}

/// Limit of a case's state at a boundary ([`V::size`]). Nodes that write values that they have read multiply it at every superstep.
const MOST: usize = 50_000;

pub(super) struct Model<'g> {
    pub(super) graph: &'g Graph,
    doubles: Doubles<'g>,
    pub(super) inputs: Fields,
    pub(super) state: Fields,
    pub(super) next: Vec<Active>,
    pub(super) deferred: Vec<Active>,
    pub(super) barriers: BTreeMap<usize, BTreeSet<usize>>,
    pub(super) visited: Vec<usize>,
    pub(super) just_visited: Vec<usize>,
    executions: BTreeMap<String, u64>,
    pub(super) steps: u64,
    pub(super) max_steps: u64,
    given_max_steps: u64,
    /// Supersteps of earlier turns.
    before_turn: u64,
    kept: BTreeMap<usize, Kept>,
    released: bool,
    pub(super) continued: bool,
    cancel: bool,
    pub(super) status: &'static str,
    pub(super) ended_by: Option<&'static str>,
    pub(super) limit_reached: bool,
    pub(super) error: Option<&'static str>,
    pub(super) output: Option<V>,
    pub(super) interrupts: Vec<(String, usize, Option<V>)>,
    /// Rules that the case has reached.
    pub(super) reached: BTreeSet<&'static str>,
    /// `true` if the case has stopped because its state is too large.
    pub(super) is_outgrown: bool,
}

impl<'g> Model<'g> {
    pub(super) fn new(graph: &'g Graph, salt: u64, inputs: Fields) -> Self {
        Self {
            graph,
            doubles: Doubles::new(graph, salt),
            inputs,
            state: Fields::new(),
            next: Vec::new(),
            deferred: Vec::new(),
            barriers: BTreeMap::new(),
            visited: Vec::new(),
            just_visited: Vec::new(),
            executions: BTreeMap::new(),
            steps: 0,
            max_steps: graph.max_steps,
            given_max_steps: 0,
            before_turn: 0,
            kept: BTreeMap::new(),
            released: false,
            continued: false,
            cancel: false,
            status: "running",
            ended_by: None,
            limit_reached: false,
            error: None,
            output: None,
            interrupts: Vec::new(),
            reached: BTreeSet::new(),
            is_outgrown: false,
        }
    }

    pub(super) fn saw(&mut self, what: &'static str) {
        self.reached.insert(what);
    }

    pub(super) fn name(node: usize) -> String {
        format!("n{node}")
    }

    /// Performs an operation.
    pub(super) fn perform(&mut self, operation: &Operation) -> Seen {
        let refused = match operation {
            Operation::Run => {
                self.start();
                None
            }
            Operation::Resume { answers, max_steps, inputs } => {
                self.resume(answers, *max_steps, inputs.as_ref()).err()
            }
            Operation::Cancel => {
                self.cancel = true;
                None
            }
        };
        let name = |node: &usize| Self::name(*node);
        Seen {
            refused: refused.map(str::to_owned),
            status: self.status.to_owned(),
            ended_by: self.ended_by.map(str::to_owned),
            limit_reached: self.limit_reached,
            error: self.error.map(str::to_owned),
            state: self.state.clone(),
            output: self.output.clone(),
            visited: self.visited.iter().map(name).collect(),
            executions: self.executions.clone(),
            steps: self.steps,
            next: self.not_run().into_iter().map(Self::name).collect(),
            interrupts: self
                .interrupts
                .iter()
                .map(|(id, node, payload)| (id.clone(), Self::name(*node), payload.clone()))
                .collect(),
        }
    }

    /// Returns the next nodes, without those whose only task has an outcome in a superstep that has not committed; all
    /// of them if each has one.
    fn not_run(&self) -> Vec<usize> {
        let all: Vec<usize> = self.next.iter().map(|active| active.node).collect();
        if !matches!(self.status, "failed" | "interrupted") {
            return all;
        }
        let mut over: Vec<usize> = Vec::new();
        for kept in self.kept.values() {
            let is_over = matches!(kept.came, Some(Came::Done(..) | Came::Handled(_)));
            if is_over && !matches!(self.graph.nodes[kept.node].kind, Kind::Foreach { .. }) {
                over.push(kept.node);
            }
        }
        let mut left = Vec::new();
        for node in &all {
            match over.iter().position(|done| done == node) {
                Some(at) => drop(over.remove(at)),
                None => left.push(*node),
            }
        }
        if left.is_empty() { all } else { left }
    }

    fn start(&mut self) {
        for (name, (reducer, default)) in &self.graph.channels {
            let is_list = matches!(*reducer, "append" | "union" | "messages" | "topic");
            if let Some(value) = default.clone().or(is_list.then(|| V::List(Vec::new()))) {
                self.state.insert((*name).to_owned(), value);
            }
        }
        self.begin();
    }

    /// Begins at `start`.
    fn begin(&mut self) {
        let roots = self.roots(None, None);
        let (mut plain, mut sends) = (Vec::new(), Vec::new());
        for (node, argument) in &self.graph.start {
            match argument {
                Some(argument) => sends.push((*node, argument.fill(&roots, false).unwrap())),
                None if !plain.contains(node) => plain.push(*node),
                None => {}
            }
        }
        if !sends.is_empty() {
            self.saw("a send in start");
        }
        self.schedule(plain, Vec::new(), sends);
        self.go();
    }

    /// Runs supersteps until the run stops.
    fn go(&mut self) {
        while self.ended_by.is_none() {
            if std::mem::take(&mut self.cancel) {
                self.saw("cancel");
                self.status = "cancelled";
                return;
            }
            if self.next.is_empty() {
                self.saw("a stalled barrier fails");
                return self.stop("failed", Some("stalled_barrier"));
            }
            if self.steps >= self.max_steps {
                self.saw("max_steps");
                return self.stop("limit", Some("limit"));
            }
            let total = self.graph.max_total_steps.unwrap_or(1_000).max(self.given_max_steps);
            if self.steps >= self.before_turn + total {
                self.saw("max_total_steps");
                return self.stop("limit", Some("limit"));
            }
            if !self.released {
                let asks = self.pauses();
                if !asks.is_empty() {
                    self.interrupts = asks;
                    return self.stop("interrupted", None);
                }
            }
            if self.state.values().map(V::size).sum::<usize>() > MOST {
                self.is_outgrown = true;
                return;
            }
            if !self.superstep() {
                return;
            }
        }
    }

    pub(super) fn stop(&mut self, status: &'static str, error: Option<&'static str>) {
        self.status = status;
        self.error = error;
    }

    /// Returns the static interrupts of this boundary.
    fn pauses(&mut self) -> Vec<(String, usize, Option<V>)> {
        let mut asks: Vec<(String, usize, Option<V>)> = Vec::new();
        for node in &self.just_visited {
            if self.graph.nodes[*node].after {
                asks.push((format!("{}/after/n{node}", self.steps), *node, None));
            }
        }
        for active in &self.next {
            if self.graph.nodes[active.node].before {
                let id = format!("{}/before/n{}", self.steps + 1, active.node);
                asks.push((id, active.node, None));
            }
        }
        // Each is listed once, however often its node is active.
        let mut distinct = Vec::new();
        for ask in asks {
            self.saw(if ask.0.contains("after") { "interrupt after" } else { "interrupt before" });
            if !distinct.contains(&ask) {
                distinct.push(ask);
            }
        }
        distinct
    }

    /// Returns the values that templates read, without `result`.
    pub(super) fn roots(&self, active: Option<(&Active, u64)>, item: Option<(&V, usize)>) -> Roots {
        let mut state = self.state.clone();
        state.insert("inputs".to_owned(), V::Map(self.inputs.clone()));
        let steps = i64::try_from(self.steps).unwrap();
        let mut roots = Roots::from([
            ("state", V::Map(state)),
            ("inputs", V::Map(self.inputs.clone())),
            ("run", map([("step", int(steps)), ("superstep", int(steps + 1))])),
        ]);
        if let Some((active, visit)) = active {
            let name = Self::name(active.node);
            let visit = int(i64::try_from(visit).unwrap());
            roots.insert(
                "node",
                map([("name", V::Text(name.clone())), ("id", V::Text(name)), ("visit", visit)]),
            );
            if let Some(argument) = active.argument.as_ref().or(item.map(|(item, _)| item)) {
                roots.insert("argument", argument.clone());
            }
        }
        if let Some((item, index)) = item {
            roots.insert("item", item.clone());
            roots.insert("item_index", int(i64::try_from(index).unwrap()));
        }
        roots
    }

    /// Runs the next superstep, and returns `true` if it has committed.
    fn superstep(&mut self) -> bool {
        let next = self.next.clone();
        let mut entered = Vec::new();
        let mut lists: Vec<Result<Option<Vec<V>>, Fault>> = Vec::new();
        let mut count = 0;
        for active in &next {
            let before = self.visited.iter().chain(&entered).filter(|node| **node == active.node).count();
            entered.push(active.node);
            let visit = before as u64 + 1;
            if self.graph.max_visits.is_some_and(|most| visit > most) {
                self.saw("max_visits_per_node");
                self.stop("limit", Some("limit"));
                return false;
            }
            let items = self.items(active, visit);
            count += match &items {
                Ok(Some(items)) => items.len(),
                _ => 1,
            };
            lists.push(items);
            if self.graph.max_fan_out.is_some_and(|most| count > most) {
                self.saw("max_fan_out");
                self.stop("limit", Some("limit"));
                return false;
            }
        }
        let mut tasks = Vec::new();
        for (at, items) in lists.into_iter().enumerate() {
            let visit =
                self.visited.iter().chain(&entered[..at]).filter(|node| **node == entered[at]).count();
            self.run_node(&next[at], at, visit as u64 + 1, items, &mut tasks);
        }
        let failed = tasks.iter().find_map(|task: &Task| match &task.came {
            Came::Failed((category, _)) => Some(*category),
            _ => None,
        });
        let asked = tasks.iter().any(|task| matches!(task.came, Came::Asked(_)));
        if failed.is_none() && !asked {
            match self.commit(&next, &tasks) {
                Ok(()) => {
                    self.kept.clear();
                    self.released = false;
                    return true;
                }
                Err(code) => {
                    self.keep(&next, tasks);
                    self.stop("failed", Some(code));
                    return false;
                }
            }
        }
        self.keep(&next, tasks);
        match failed {
            Some("denied") => self.stop("failed", Some("denied")),
            Some(_) => self.stop("failed", Some("node_failed")),
            None => self.stop("interrupted", None),
        }
        if failed.is_some() && asked {
            self.saw("a failure beside a question");
        }
        false
    }

    /// Keeps the outcomes of tasks of a superstep that does not commit, and lists their questions.
    fn keep(&mut self, next: &[Active], tasks: Vec<Task>) {
        self.interrupts.clear();
        for (ordinal, task) in tasks.into_iter().enumerate() {
            let node = next[task.active].node;
            let kept = self.kept.entry(ordinal).or_default();
            if kept.node != node {
                *kept = Kept { node, ..Kept::default() };
            }
            kept.attempt = task.attempt;
            if let Came::Asked(payload) = &task.came {
                let id = format!("{}.{ordinal}/{}", self.steps + 1, kept.answers.len());
                self.interrupts.push((id, next[task.active].node, Some(payload.clone())));
            }
            kept.came = Some(task.came).filter(|came| !matches!(came, Came::Failed(_) | Came::Skipped));
            if kept.came.is_none() {
                kept.attempt = 0;
            }
        }
    }

    /// Evaluates the items of a `foreach`.
    fn items(&mut self, active: &Active, visit: u64) -> Result<Option<Vec<V>>, Fault> {
        let Kind::Foreach { over, batch, .. } = &self.graph.nodes[active.node].kind else { return Ok(None) };
        let over = self.fill(over, &self.roots(Some((active, visit)), None))?;
        let parsed = match &over {
            V::Text(text) => serde_json::from_str(text).ok().map(|value| V::of(&value)),
            _ => None,
        };
        if let V::List(items) = parsed.unwrap_or(over) {
            let Some(batch) = batch else { return Ok(Some(items)) };
            self.saw("foreach in batches");
            return Ok(Some(items.chunks(*batch).map(|batch| V::List(batch.to_vec())).collect()));
        }
        self.saw("over is no list");
        Err(BAD_INPUT)
    }

    fn run_node(
        &mut self,
        active: &Active,
        at: usize,
        visit: u64,
        items: Result<Option<Vec<V>>, Fault>,
        tasks: &mut Vec<Task>,
    ) {
        let node = &self.graph.nodes[active.node];
        let items = match items {
            Ok(items) => items,
            Err(fault) => {
                let came = self.given_up(active.node, fault, false);
                tasks.push(Task { active: at, item: None, attempt: 0, came });
                return;
            }
        };
        let Kind::Foreach { parallel, on_item_error, .. } = &node.kind else {
            let task = self.run_task(active, at, visit, None, tasks.len());
            tasks.push(task);
            return;
        };
        self.saw(if *parallel { "foreach parallel" } else { "foreach serial" });
        let mut stopped = false;
        for (index, item) in items.unwrap_or_default().into_iter().enumerate() {
            if stopped {
                self.saw("a serial foreach stops");
                tasks.push(Task { active: at, item: Some(item), attempt: 0, came: Came::Skipped });
                continue;
            }
            let task = self.run_task(active, at, visit, Some((item, index)), tasks.len());
            stopped = !parallel
                && match task.came {
                    Came::Failed(_) | Came::Asked(_) => true,
                    Came::Handled(_) => *on_item_error == "fail",
                    _ => false,
                };
            tasks.push(task);
        }
    }

    fn run_task(
        &mut self,
        active: &Active,
        at: usize,
        visit: u64,
        item: Option<(V, usize)>,
        ordinal: usize,
    ) -> Task {
        let (item, index) = item.map_or((None, 0), |(item, index)| (Some(item), index));
        let node = &self.graph.nodes[active.node];
        let kept =
            self.kept.get(&ordinal).filter(|kept| kept.node == active.node).cloned().unwrap_or_default();
        let mut attempt = kept.attempt;
        let answers = kept.counting();
        let mut newly_answered = None;
        match kept.came.clone() {
            // The question is answered: the same attempt runs again from its beginning.
            Some(Came::Asked(payload)) if self.answered(ordinal) => {
                attempt -= 1;
                newly_answered = Some(payload);
            }
            Some(came) => {
                self.saw("a task that is not run again");
                return Task { active: at, item, attempt, came };
            }
            None => {}
        }
        loop {
            attempt += 1;
            let fault = match self.attempt(
                active,
                visit,
                item.as_ref().map(|item| (item, index)),
                ordinal,
                attempt,
                &answers,
            ) {
                Ok(came) => return Task { active: at, item, attempt, came },
                Err(fault) => fault,
            };
            if let (Some(payload), REJECTS) = (newly_answered.take(), fault)
                && kept.is_asked_again()
            {
                self.saw("an answer that is rejected");
                let newest = kept.answers.len() - 1;
                self.kept.entry(ordinal).or_default().rejected.insert(newest);
                let came = Came::Asked(asked_again(payload));
                return Task { active: at, item, attempt, came };
            }
            let (most, retry_on) = node.retry.clone().unwrap_or((1, None));
            let retry_on = retry_on.unwrap_or_else(|| vec!["transient", "rate-limited", "timeout"]);
            if attempt < most && retry_on.contains(&fault.0) {
                self.saw("retry");
                continue;
            }
            let came = self.given_up(active.node, fault, item.is_some());
            return Task { active: at, item, attempt, came };
        }
    }

    /// Returns `true` if the newest question of a task has been answered.
    fn answered(&self, ordinal: usize) -> bool {
        let prefix = format!("{}.{ordinal}/", self.steps + 1);
        !self.interrupts.iter().any(|(id, ..)| id.starts_with(&prefix))
    }

    pub(super) fn given_up(&mut self, node: usize, fault: Fault, is_item: bool) -> Came {
        let node = &self.graph.nodes[node];
        let rule = match &node.kind {
            Kind::Foreach { on_item_error, .. } if is_item && *on_item_error != "fail" => *on_item_error,
            _ if node.on_error.is_some() => "on_error",
            _ if self.graph.on_error == "continue" => "continue",
            _ => {
                self.saw("a failure that stops the run");
                return Came::Failed(fault);
            }
        };
        self.saw(rule);
        Came::Handled(fault)
    }

    /// Evaluates a template; without a value, the node fails.
    pub(super) fn fill(&mut self, template: &Template, roots: &Roots) -> Result<V, Fault> {
        self.reached.extend(template.features());
        let filled = template.fill(roots, self.graph.strict);
        if filled.is_none() {
            self.saw("a template that fails");
        }
        filled.ok_or(BAD_INPUT)
    }

    fn attempt(
        &mut self,
        active: &Active,
        visit: u64,
        item: Option<(&V, usize)>,
        ordinal: usize,
        attempt: u32,
        answers: &[V],
    ) -> Result<Came, Fault> {
        let node = &self.graph.nodes[active.node];
        let mut roots = self.roots(Some((active, visit)), item);
        let reply = if let Some(params) = &node.params {
            let params = self.fill(params, &roots)?;
            *self.executions.entry(Self::name(active.node)).or_default() += 1;
            let reply = self.doubles.call(DoubleCall {
                node: active.node,
                task: format!("{}.{ordinal}", self.steps + 1),
                attempt,
                superstep: self.steps + 1,
                visit,
                argument: item.map(|(item, _)| item.clone()).or_else(|| active.argument.clone()),
                answers: answers.to_vec(),
                params,
            });
            self.unwrapped(reply)?
        } else if let Kind::Return(Some(output)) = &node.kind {
            Reply::Result(self.fill(output, &roots)?)
        } else {
            Reply::Result(V::Null)
        };
        match &reply {
            Reply::Ask(payload) => {
                self.saw(if answers.is_empty() { "question" } else { "second question" });
                return Ok(Came::Asked(payload.clone()));
            }
            Reply::Fail(category) => return Err((category, "no")),
            Reply::Command(update, goto) => {
                let may_go =
                    goto.iter().all(|(to, _)| node.goto.iter().any(|known| Self::name(*known) == *to));
                let may_write = |key| node.write.contains(key) || node.overwrite.contains(key);
                if !may_go || !update.iter().all(|(key, _)| may_write(key)) {
                    self.saw("a command that is denied");
                    return Err(DENIED);
                }
                self.saw("command");
            }
            Reply::Result(_) | Reply::Echo => {}
        }
        let mut writes = Vec::new();
        if let (Reply::Result(result), false) = (&reply, matches!(node.kind, Kind::Foreach { .. })) {
            roots.insert("result", result.clone());
            for (channel, template) in &node.assign {
                writes.push((*channel, self.fill(template, &roots)?, template.overwrites()));
            }
        }
        Ok(Came::Done(reply, writes))
    }

    /// Converts a result that says it failed into a failure, and removes the envelope of a result.
    fn unwrapped(&mut self, reply: Reply) -> Result<Reply, Fault> {
        let Reply::Result(result) = &reply else { return Ok(reply) };
        if result.get("success") == Some(&V::Bool(false)) || result.get("status") == Some(&text("error")) {
            self.saw("a failure as a result");
            return Err(("permanent", "no"));
        }
        if result.get("success") == Some(&V::Bool(true))
            && let Some(data) = result.get("data")
        {
            self.saw("an envelope");
            return Ok(Reply::Result(data.clone()));
        }
        Ok(reply)
    }
}
