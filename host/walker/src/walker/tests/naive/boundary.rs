//! Commits of the model: writes, routes, barriers, ends.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Kind, Next, Reply};
use super::language::Condition;
use super::model::{Active, Came, Fault, Fields, How, Model, Task, Write};
use super::value::{V, map, text};

/// The writes to each key, and whether each may overwrite.
type Writes = BTreeMap<String, Vec<(V, bool)>>;

/// Outcome of a node: the value that its edges read, its assignments, and the failure that `on_item_error` did not handle.
struct Outcome {
    result: V,
    writes: Vec<Write>,
    fault: Option<Fault>,
    /// `true` if the `assign` of a `foreach` failed.
    by_assign: bool,
}

/// Returns the outcome of a node whose failure is handled.
fn failed(fault: Fault, by_assign: bool) -> Outcome {
    let result = map([
        ("status", text("error")),
        ("success", V::Bool(false)),
        ("category", text(fault.0)),
        ("error", text(fault.1)),
    ]);
    Outcome { result, writes: Vec::new(), fault: Some(fault), by_assign }
}

impl Model<'_> {
    /// Commits a superstep; an error is the code of the failure, and changes nothing.
    pub(super) fn commit(&mut self, next: &[Active], tasks: &[Task]) -> Result<(), &'static str> {
        let mut outcomes = Vec::new();
        for (at, active) in next.iter().enumerate() {
            let mine: Vec<_> = tasks.iter().filter(|task| task.active == at).collect();
            outcomes.push(self.outcome(active, at, next, &mine)?);
        }
        let before = self.state.clone();
        let writes = self.writes(next, tasks, &outcomes);
        let after = self.fold(writes)?;
        self.state = after;
        let (plain, sends, unmatched) = match self.routes(next, tasks, &outcomes) {
            Ok(routes) => routes,
            Err(code) => {
                self.saw("routing that fails");
                self.state = before;
                return Err(code);
            }
        };
        self.steps += 1;
        self.just_visited = next.iter().map(|active| active.node).collect();
        self.visited.extend(&self.just_visited);
        self.interrupts.clear();
        self.error = None;
        self.status = "running";
        for (active, outcome) in next.iter().zip(&outcomes) {
            if outcome.fault.is_some() && self.graph.nodes[active.node].on_error.is_none() {
                self.continued = true;
            }
        }
        let opened = self.arrivals();
        self.next.clear();
        self.schedule(plain, opened, sends);
        let returned =
            next.iter().position(|active| matches!(self.graph.nodes[active.node].kind, Kind::Return(_)));
        if let Some(at) = returned {
            self.saw("return");
            self.next.clear();
            self.deferred.clear();
            self.barriers.clear();
            let output =
                match (&self.graph.nodes[next[at].node].kind, &tasks.iter().find(|task| task.active == at)) {
                    (Kind::Return(Some(_)), Some(Task { came: Came::Done(Reply::Result(value), _), .. })) => {
                        self.saw("return with output");
                        Some(value.clone())
                    }
                    _ => None,
                };
            self.end("return", output);
            return Ok(());
        }
        if self.next.is_empty() && !self.half_filled().is_empty() {
            match self.graph.on_stalled_barrier {
                "release" => {
                    self.saw("a stalled barrier is released");
                    for node in self.half_filled() {
                        self.barriers.remove(&node);
                        self.next.push(Active { node, how: How::Barrier, argument: None });
                    }
                }
                // The run stops before it would start another superstep.
                "fail" => return Ok(()),
                _ => self.saw("a stalled barrier is told of"),
            }
        }
        if self.next.is_empty() {
            if unmatched {
                self.saw("no edge matched at the end");
            }
            self.end(if unmatched { "no_edge_matched" } else { "end" }, None);
        } else if self.steps >= self.max_steps && self.graph.on_max_steps != "fail" {
            self.saw(self.graph.on_max_steps);
            self.limit_reached = self.graph.on_max_steps == "return_with_flag";
            self.end("max_steps", None);
        }
        Ok(())
    }

    fn end(&mut self, by: &'static str, output: Option<V>) {
        self.ended_by = Some(by);
        self.status = if self.continued { "completed_with_errors" } else { "completed" };
        self.output = Some(output.unwrap_or_else(|| {
            if let Some(template) = &self.graph.output {
                template.fill(&self.roots(None, None), self.graph.strict).unwrap_or(V::Null)
            } else {
                let shown = self.state.iter().filter(|(key, _)| !key.starts_with('_'));
                V::Map(shown.map(|(key, value)| (key.clone(), value.clone())).collect())
            }
        }));
    }

    fn outcome(
        &mut self,
        active: &Active,
        at: usize,
        next: &[Active],
        tasks: &[&Task],
    ) -> Result<Outcome, &'static str> {
        let node = &self.graph.nodes[active.node];
        let own_rule = match &node.kind {
            Kind::Foreach { on_item_error, .. } if *on_item_error != "fail" => Some(*on_item_error),
            _ => None,
        };
        let fault = tasks.iter().find_map(|task| match task.came {
            Came::Handled(fault) if own_rule.is_none() || task.item.is_none() => Some(fault),
            _ => None,
        });
        if let Some(fault) = fault {
            return Ok(failed(fault, false));
        }
        let value = |task: &Task| match &task.came {
            Came::Done(Reply::Result(value), _) => value.clone(),
            _ => V::Null,
        };
        if !matches!(node.kind, Kind::Foreach { .. }) {
            let writes = match &tasks[0].came {
                Came::Done(_, writes) => writes.clone(),
                _ => Vec::new(),
            };
            return Ok(Outcome { result: value(tasks[0]), writes, fault, by_assign: false });
        }
        let kept =
            tasks.iter().filter(|task| own_rule != Some("skip") || !matches!(task.came, Came::Handled(_)));
        let result = V::List(kept.map(|task| value(task)).collect());
        let visit = self.visited.iter().chain(next[..at].iter().map(|before| &before.node));
        let visit = visit.filter(|node| **node == active.node).count() as u64 + 1;
        let mut roots = self.roots(Some((active, visit)), None);
        roots.insert("result", result.clone());
        let mut writes = Vec::new();
        for (channel, template) in &node.assign {
            match self.fill(template, &roots) {
                Ok(value) => writes.push((*channel, value, template.overwrites())),
                Err(fault) => {
                    return match self.given_up(active.node, fault, false) {
                        Came::Handled(fault) => Ok(failed(fault, true)),
                        _ => Err("node_failed"),
                    };
                }
            }
        }
        Ok(Outcome { result, writes, fault, by_assign: false })
    }

    /// Collects the writes to each key, in task order.
    fn writes(&mut self, next: &[Active], tasks: &[Task], outcomes: &[Outcome]) -> Writes {
        let mut writes = Writes::new();
        let mut write = |key: &str, value: &V, overwrites: bool| {
            writes.entry(key.to_owned()).or_default().push((value.clone(), overwrites));
        };
        let mut last_error = None;
        let mut retries: Fields = match self.state.get("_retries") {
            Some(V::Map(known)) => known.clone(),
            _ => Fields::new(),
        };
        let mut again = false;
        for (at, active) in next.iter().enumerate() {
            let name = Self::name(active.node);
            for (key, value, overwrites) in &outcomes[at].writes {
                write(key, value, *overwrites);
            }
            for task in tasks.iter().filter(|task| task.active == at) {
                if let Came::Done(Reply::Command(update, _), _) = &task.came {
                    for (key, value) in update {
                        write(key, value, self.graph.nodes[active.node].overwrite.contains(key));
                    }
                }
                if let Came::Handled((category, _)) = &task.came {
                    last_error = Some((name.clone(), *category));
                }
                if task.attempt > 1 {
                    again = true;
                    retries.insert(name.clone(), V::Half(2 * i64::from(task.attempt - 1)));
                }
            }
            if let (Some((category, _)), true) = (outcomes[at].fault, outcomes[at].by_assign) {
                last_error = Some((name.clone(), category));
            }
            if let (Kind::Foreach { collect: Some(collect), .. }, None) =
                (&self.graph.nodes[active.node].kind, outcomes[at].fault)
            {
                write(collect, &outcomes[at].result, false);
            }
        }
        if let Some((node, category)) = last_error {
            // The message is left out: if the host failed the node, the host chooses the words.
            let error = map([("node", V::Text(node)), ("category", text(category))]);
            writes.insert("_last_error".to_owned(), vec![(error, false)]);
        }
        if again {
            writes.insert("_retries".to_owned(), vec![(V::Map(retries), false)]);
        }
        writes
    }

    /// Returns the state with all writes folded in.
    fn fold(&mut self, writes: Writes) -> Result<Fields, &'static str> {
        let mut state = self.state.clone();
        for (name, (reducer, _)) in &self.graph.channels {
            match *reducer {
                "ephemeral" => drop(state.remove(*name)),
                "topic" => drop(state.insert((*name).to_owned(), V::List(Vec::new()))),
                _ => {}
            }
        }
        for (key, values) in writes {
            let reducer = self.graph.channels.get(key.as_str()).map_or("last_value", |(reducer, _)| *reducer);
            self.saw(reducer);
            let folded = self.reduce(reducer, state.get(&key), values)?;
            state.insert(key, folded);
        }
        Ok(state)
    }

    fn reduce(
        &mut self,
        reducer: &str,
        before: Option<&V>,
        writes: Vec<(V, bool)>,
    ) -> Result<V, &'static str> {
        let overwrites: Vec<V> = writes.iter().filter_map(|write| self.overwritten(reducer, write)).collect();
        let values: Vec<V> = writes.into_iter().map(|(value, _)| value).collect();
        if matches!(reducer, "last_value" | "ephemeral" | "untracked") {
            return if let Ok([value]) = <[V; 1]>::try_from(values) {
                Ok(value)
            } else {
                self.saw("a conflict");
                Err("conflicting_write")
            };
        }
        let fits = |value: &V| match reducer {
            "sum" | "min" | "max" => matches!(value, V::Half(_)),
            "merge" => matches!(value, V::Map(_)),
            _ => matches!(value, V::List(_)),
        };
        match &overwrites[..] {
            [] => {}
            [value] if fits(value) => {
                self.saw("overwrite");
                return Ok(value.clone());
            }
            [_] => {
                self.saw("invalid_update");
                return Err("invalid_update");
            }
            _ => {
                self.saw("two overwrites");
                return Err("conflicting_write");
            }
        }
        if matches!(reducer, "sum" | "min" | "max" | "merge") && !values.iter().all(fits) {
            self.saw("invalid_update");
            return Err("invalid_update");
        }
        let halves = before.into_iter().chain(&values).map(|value| match value {
            V::Half(half) => *half,
            _ => 0,
        });
        let list = match before {
            Some(V::List(items)) => items.clone(),
            _ => Vec::new(),
        };
        Ok(match reducer {
            "sum" => V::Half(halves.sum()),
            "min" => V::Half(halves.min().unwrap()),
            "max" => V::Half(halves.max().unwrap()),
            "merge" => {
                let maps = before.cloned().into_iter().chain(values);
                V::Map(maps.fold(Fields::new(), |mut merged, value| {
                    if let V::Map(fields) = value {
                        merged.extend(fields);
                    }
                    merged
                }))
            }
            "append" => V::List(list.into_iter().chain(values.into_iter().flat_map(V::elements)).collect()),
            "topic" => V::List(values.into_iter().flat_map(V::elements).collect()),
            "union" => V::List(values.into_iter().flat_map(V::elements).fold(list, |mut list, item| {
                if !list.contains(&item) {
                    list.push(item);
                }
                list
            })),
            "messages" => V::List(values.into_iter().flat_map(V::elements).fold(list, |mut list, item| {
                let id = item.get("id").filter(|id| **id != V::Null);
                match list.iter().position(|known| id.is_some() && known.get("id") == id) {
                    Some(at) => list[at] = item,
                    None => list.push(item),
                }
                list
            })),
            other => panic!("no reducer {other}"),
        })
    }

    /// Returns the value that replaces the channel's, if a write demands that and may.
    fn overwritten(&mut self, reducer: &str, (value, may): &(V, bool)) -> Option<V> {
        let V::Map(fields) = value else { return None };
        let inner = fields.get("overwrite").filter(|_| fields.len() == 1)?;
        if !may {
            self.saw("data that looks like an overwrite");
            return None;
        }
        (!matches!(reducer, "last_value" | "ephemeral" | "untracked")).then(|| inner.clone())
    }

    /// Returns plain targets, sends, and `true` if a branch has ended because no edge matched.
    fn routes(
        &mut self,
        next: &[Active],
        tasks: &[Task],
        outcomes: &[Outcome],
    ) -> Result<(Vec<usize>, Vec<(usize, V)>, bool), &'static str> {
        let (mut plain, mut sends, mut unmatched) = (Vec::new(), Vec::new(), false);
        let mut state = self.state.clone();
        state.insert("inputs".to_owned(), V::Map(self.inputs.clone()));
        for (at, active) in next.iter().enumerate() {
            let node = &self.graph.nodes[active.node];
            if matches!(node.kind, Kind::Return(_)) {
                continue;
            }
            let went: Vec<_> = tasks
                .iter()
                .filter(|task| task.active == at)
                .filter_map(|task| match &task.came {
                    Came::Done(Reply::Command(_, goto), _) => Some(goto.clone()),
                    _ => None,
                })
                .flatten()
                .collect();
            if let (Some(target), Some(_)) = (node.on_error, outcomes[at].fault) {
                plain.push(target);
            } else if !went.is_empty() {
                for (name, argument) in went {
                    let target = name[1..].parse().unwrap();
                    if let Some(argument) = argument {
                        self.saw("send");
                        sends.push((target, argument));
                    } else {
                        self.saw("goto");
                        plain.push(target);
                    }
                }
            } else {
                match &node.next {
                    Next::Nothing => {}
                    Next::All(targets) => plain.extend(targets),
                    Next::First(edges) => {
                        let roots = BTreeMap::from([
                            ("state", V::Map(state.clone())),
                            ("inputs", V::Map(self.inputs.clone())),
                            ("result", outcomes[at].result.clone()),
                        ]);
                        for (_, when) in edges {
                            self.reached.extend(when.iter().flat_map(Condition::operators));
                        }
                        let found = edges
                            .iter()
                            .position(|(_, when)| when.as_ref().is_none_or(|when| when.holds(&roots)));
                        match found {
                            Some(at) => {
                                self.saw(match (&edges[at], at) {
                                    ((_, None), _) => "a default edge",
                                    ((to, _), _) if to.is_empty() => "an edge to nothing",
                                    (_, 0) => "the first edge",
                                    _ => "a later edge",
                                });
                                plain.extend(&edges[at].0);
                            }
                            None if self.graph.on_no_match == "fail" => return Err("no_edge_matched"),
                            None => unmatched = true,
                        }
                    }
                }
            }
        }
        let mut seen = BTreeSet::new();
        plain.retain(|target| seen.insert(*target));
        Ok((plain, sends, unmatched))
    }

    /// Adds the completed nodes to the barriers, and returns the barriers that open.
    fn arrivals(&mut self) -> Vec<usize> {
        let mut opened = Vec::new();
        for (barrier, node) in self.graph.nodes.iter().enumerate() {
            let here = self.barriers.entry(barrier).or_default();
            here.extend(node.wait_for.iter().filter(|waited| self.just_visited.contains(waited)));
            if !node.wait_for.is_empty() && here.len() == node.wait_for.len() {
                here.clear();
                opened.push(barrier);
            }
        }
        for barrier in &opened {
            self.saw(if self.visited.contains(barrier) {
                "a barrier opens again"
            } else {
                "a barrier opens"
            });
        }
        opened
    }

    fn half_filled(&self) -> Vec<usize> {
        self.barriers.iter().filter(|(_, here)| !here.is_empty()).map(|(barrier, _)| *barrier).collect()
    }

    /// Adds the next nodes in task order; deferred nodes wait until there are no others.
    pub(super) fn schedule(&mut self, plain: Vec<usize>, opened: Vec<usize>, sends: Vec<(usize, V)>) {
        let bare = |how| move |node| Active { node, how, argument: None };
        let all =
            plain.into_iter().map(bare(How::Plain)).chain(opened.into_iter().map(bare(How::Barrier))).chain(
                sends.into_iter().map(|(node, value)| Active { node, how: How::Send, argument: Some(value) }),
            );
        for active in all {
            if !self.graph.nodes[active.node].defer {
                self.next.push(active);
            } else if active.how == How::Send
                || !self.deferred.iter().any(|known| known.node == active.node && known.how != How::Send)
            {
                self.deferred.push(active);
            }
        }
        if self.next.is_empty() && !self.deferred.is_empty() {
            self.saw("deferred nodes are drained");
            let mut drained = std::mem::take(&mut self.deferred);
            drained
                .sort_by_key(|active| (active.how, if active.how == How::Barrier { active.node } else { 0 }));
            self.next = drained;
        }
    }
}
