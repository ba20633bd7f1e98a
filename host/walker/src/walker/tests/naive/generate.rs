//! Random cases from random bytes, such that fewer and smaller bytes make a simpler case.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::graph::{Graph, Kind, Next, Node, Reply};
use super::language::{Alternative, Condition, PATTERNS, Path, Step, Template, Term};
use super::model::Fields;
use super::value::{V, int, map, text};

/// Bytes from which a case is made.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    whole: Vec<u8>,
    nodes: Vec<Vec<u8>>,
    /// Bytes of each resume.
    pub(super) script: Vec<Vec<u8>>,
    /// Determines the answers of the doubles, and the order in which tasks finish.
    pub(super) salt: u64,
    /// `true` if each resume restores the run from its records.
    pub(super) restores: bool,
}

pub(super) fn sketches() -> impl Strategy<Value = Sketch> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..=most);
    (
        prop::collection::vec(any::<u8>(), 0..=80),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 40..=140), 1..8),
        prop::collection::vec(bytes(12), 0..6),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(whole, nodes, script, salt, restores)| Sketch {
            whole,
            nodes,
            script,
            salt,
            restores,
        })
}

/// Bytes that are read in order; after their end come zeros, which are always the simplest choice.
pub(super) struct Tape<'b>(pub(super) &'b [u8]);

impl Tape<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(super) fn pick(&mut self, below: usize) -> usize {
        usize::from(self.byte()) % below
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.pick(of.len())].clone()
    }

    /// Returns `true` for `of_256` of 256 bytes; never for a zero.
    pub(super) fn chance(&mut self, of_256: u16) -> bool {
        u16::from(self.byte()) + of_256 > 255
    }

    fn number(&mut self) -> V {
        V::Half(self.one(&[2, 4, 0, 6, -2, 3, 10, -5]))
    }

    fn word(&mut self) -> V {
        text(self.one(&["a", "b", "ab", "x1", "", "B", "${state.sum}"]))
    }

    /// Any value.
    pub(super) fn value(&mut self) -> V {
        match self.pick(10) {
            0 | 1 => self.number(),
            2 | 3 => self.word(),
            4 => V::Null,
            5 => V::Bool(false),
            6 => V::List((0..self.pick(3)).map(|_| self.number()).collect()),
            7 => V::List((0..self.pick(3)).map(|_| self.word()).collect()),
            8 if self.chance(40) => map([("overwrite", V::List(vec![self.number()]))]),
            8 => map([("k", self.number())]),
            _ => map([("id", self.one(&[int(1), text("a")])), ("s", self.word())]),
        }
    }
}

/// Every channel that a graph may have, with its reducer. An undeclared key takes the last value.
const CHANNELS: [(&str, &str); 12] = [
    ("log", "append"),
    ("sum", "sum"),
    ("set", "union"),
    ("low", "min"),
    ("high", "max"),
    ("all", "merge"),
    ("talk", "messages"),
    ("news", "topic"),
    ("brief", "ephemeral"),
    ("fleeting", "untracked"),
    ("last", "last_value"),
    ("free", "last_value"),
];
/// The reducers that do not support overwriting.
const TAKES_ONE: [&str; 3] = ["last_value", "ephemeral", "untracked"];
const KEYS: [&str; 6] = ["n", "s", "l", "o", "b", "id"];
const CATEGORIES: [&str; 7] =
    ["transient", "permanent", "rate-limited", "timeout", "invalid-input", "limit", "internal"];

/// The pipes that convert texts, lists and numbers.
const TEXT_AND_LIST_PIPES: [&str; 14] = [
    "trim",
    "lines",
    "split('a')",
    "join('a')",
    "first",
    "last",
    "slice(1)",
    "slice(0, -1)",
    "unique",
    "sort",
    "min",
    "max",
    "sum",
    "round",
];

fn key(key: &str) -> Step {
    Step::Key(key.to_owned())
}

fn path(root: &'static str, steps: &[&str]) -> Path {
    Path(root, steps.iter().map(|step| key(step)).collect())
}

/// Place of a template, which determines the values that it can read.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Inputs only.
    Start,
    /// State and inputs.
    Output,
    /// State, inputs, node, run and argument.
    Params,
    /// State, inputs, node, run, argument and a `foreach` item.
    Items,
    /// State, inputs, node, run, argument and `result`.
    Assign,
}

struct Maker<'b> {
    tape: Tape<'b>,
    strict: bool,
}

impl Maker<'_> {
    /// Returns a path that usually exists.
    fn path(&mut self, place: Place) -> Path {
        if place == Place::Start {
            return path("inputs", &[self.tape.one(&["n", "s", "list"])]);
        }
        let found = self.tape.pick(12);
        match (found, place) {
            (0..=3, Place::Assign) => path("result", &[self.tape.one(&KEYS)]),
            (4, Place::Assign) => {
                let at = Step::Index(self.tape.one(&[0, -1, 1, -2]));
                Path("result", vec![key("l"), at])
            }
            (5, Place::Assign) => path("result", &["o", "k"]),
            (0..=2, Place::Items) => path("item", &[]),
            (3, Place::Items) => path("item", &[self.tape.one(&["n", "k"])]),
            (4, Place::Items) => path("item_index", &[]),
            (6, Place::Params | Place::Assign | Place::Items) => {
                if self.tape.chance(100) {
                    path("argument", &["n"])
                } else {
                    path("argument", &[])
                }
            }
            (7, Place::Params | Place::Assign | Place::Items) => match self.tape.pick(4) {
                0 => path("node", &["name"]),
                1 => path("node", &["visit"]),
                2 => path("run", &["step"]),
                _ => path("run", &["superstep"]),
            },
            (8 | 9, _) => {
                let name = self.tape.one(&["n", "s", "list"]);
                if self.tape.chance(128) { path("inputs", &[name]) } else { path("state", &["inputs", name]) }
            }
            (10, _) => match self.tape.pick(3) {
                0 => path("state", &["_last_error", "category"]),
                1 => path("state", &["_retries"]),
                _ => path("state", &["nowhere"]),
            },
            (11, _) => Path("state", vec![key("log"), Step::Index(self.tape.one(&[0, -1]))]),
            _ => path("state", &[self.channel()]),
        }
    }

    /// Returns a channel to read, but not the untracked one: a resume resets it, and the language does not define which
    /// of its values a task's writes come from. Conditions and outputs read it, tasks do not.
    fn channel(&mut self) -> &'static str {
        match self.tape.one(&CHANNELS).0 {
            "fleeting" => "sum",
            other => other,
        }
    }

    fn literal(&mut self) -> V {
        match self.tape.pick(5) {
            0 => self.tape.number(),
            1 => text(self.tape.one(&["a", "b", ""])),
            2 => V::List(Vec::new()),
            3 => V::Bool(true),
            _ => V::Null,
        }
    }

    fn alternatives(&mut self, place: Place) -> Vec<Alternative> {
        let mut found = Vec::new();
        for _ in 0..=self.tape.pick(2) {
            let pipes = if self.tape.chance(24) {
                vec![self.tape.one(&["json", "length", "keys", "upper", "lower", "from_json"])]
            } else if self.tape.chance(36) {
                vec![self.tape.one(&TEXT_AND_LIST_PIPES)]
            } else {
                Vec::new()
            };
            found.push((Term::Path(self.path(place)), pipes));
        }
        if self.tape.chance(if self.strict { 220 } else { 100 }) {
            found.push((Term::Lit(self.literal()), Vec::new()));
        }
        found
    }

    /// Any template.
    fn template(&mut self, place: Place) -> Template {
        match self.tape.pick(8) {
            0..=3 => Template::One(self.alternatives(place)),
            4 => Template::Lit(self.tape.value()),
            5 => Template::Text(vec![
                ("a ", self.alternatives(place)),
                (self.tape.one(&["", "$ ", " b"]), self.alternatives(place)),
            ]),
            6 => Template::List(vec![
                Template::One(self.alternatives(place)),
                Template::Lit(self.tape.value()),
            ]),
            _ => Template::Map(vec![("n", Template::One(self.alternatives(place)))]),
        }
    }

    /// Returns a template of a number, from the result or a literal.
    fn number(&mut self, place: Place) -> Template {
        if self.tape.chance(60) {
            return Template::Lit(self.tape.number());
        }
        let mut alternatives = Vec::new();
        if self.tape.chance(80) {
            let lengthy = self.tape.one(&["log", "set", "all"]);
            alternatives.push((Term::Path(path("state", &[lengthy])), vec!["length"]));
        } else if place == Place::Assign {
            alternatives.push((Term::Path(path("result", &["n"])), Vec::new()));
        }
        alternatives.push((Term::Lit(self.tape.number()), Vec::new()));
        Template::One(alternatives)
    }

    /// Returns a template whose value a channel usually accepts.
    fn fitting(&mut self, reducer: &str) -> Template {
        if self.tape.chance(6) {
            return self.template(Place::Assign);
        }
        let list = |maker: &mut Self| {
            let entry = Template::One(maker.alternatives(Place::Assign));
            Template::List(vec![entry, Template::Lit(maker.tape.value())])
        };
        if reducer != "last_value" && self.tape.chance(12) {
            let value = match reducer {
                "sum" | "min" | "max" => self.number(Place::Assign),
                "merge" => Template::Map(vec![("z", self.number(Place::Assign))]),
                _ => list(self),
            };
            return Template::Map(vec![("overwrite", value)]);
        }
        match reducer {
            "sum" | "min" | "max" => self.number(Place::Assign),
            "merge" => {
                let key = self.tape.one(&["p", "q"]);
                Template::Map(vec![(key, self.template(Place::Assign))])
            }
            "messages" => {
                let id = Template::Lit(self.tape.one(&[text("a"), int(1), V::Null, text("b")]));
                let entry =
                    Template::Map(vec![("id", id), ("t", Template::One(self.alternatives(Place::Assign)))]);
                if self.tape.chance(60) { Template::List(vec![entry]) } else { entry }
            }
            "append" | "union" | "topic" => match self.tape.pick(3) {
                0 => Template::Text(vec![("at ", vec![(Term::Path(path("node", &["name"])), Vec::new())])]),
                1 => list(self),
                _ => self.template(Place::Assign),
            },
            _ => self.template(Place::Assign),
        }
    }

    fn condition(&mut self, depth: usize) -> Condition {
        match self.tape.pick(if depth > 1 { 9 } else { 14 }) {
            9 => Condition::All((0..self.tape.pick(3)).map(|_| self.condition(depth + 1)).collect()),
            10 => Condition::Any((0..self.tape.pick(3)).map(|_| self.condition(depth + 1)).collect()),
            11 | 12 => Condition::Not(Box::new(self.condition(depth + 1))),
            13 => Condition::Always,
            kind => {
                let mut tested = match self.tape.pick(6) {
                    0 | 1 => path("result", &[self.tape.one(&KEYS)]),
                    2 => path("inputs", &[self.tape.one(&["n", "s", "list"])]),
                    3 => path("result", &[self.tape.one(&["category", "status"])]),
                    _ => path("state", &[self.tape.one(&CHANNELS).0]),
                };
                if self.tape.chance(40) {
                    tested.1.push(Step::Any);
                }
                let (op, value) = match kind {
                    0 => ("eq", self.tape.value()),
                    1 => ("ne", self.tape.value()),
                    2 => (self.tape.one(&["lt", "gt"]), self.tape.number()),
                    3 => (self.tape.one(&["lte", "gte"]), self.tape.number()),
                    4 => (self.tape.one(&["lt", "gte"]), self.tape.word()),
                    5 => ("in", V::List((0..=self.tape.pick(3)).map(|_| self.tape.value()).collect())),
                    6 => ("contains", self.tape.value()),
                    7 => ("regex", text(self.tape.one(&PATTERNS).0)),
                    _ => ("exists", V::Null),
                };
                if self.tape.chance(30) {
                    let other = path("state", &[self.tape.one(&CHANNELS).0]);
                    let op = self.tape.one(&["eq", "ne", "gt", "lte", "in", "contains"]);
                    return Condition::Other(tested, op, other);
                }
                Condition::Is(tested, op, value)
            }
        }
    }

    fn targets(&mut self, open: &[usize], after: usize, most: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for _ in 0..=self.tape.pick(most) {
            let later: Vec<usize> = open.iter().copied().filter(|node| *node > after).collect();
            let target = if later.is_empty() || self.tape.chance(70) {
                self.tape.one(open)
            } else {
                self.tape.one(&later)
            };
            if !found.contains(&target) {
                found.push(target);
            }
        }
        found
    }

    fn reply(&mut self, goto: &[usize], write: &[&'static str], channels: &Channels, count: usize) -> Reply {
        match self.tape.pick(22) {
            0..=8 => {
                let mut result = Fields::new();
                for name in KEYS {
                    if self.tape.chance(150) {
                        let value = match name {
                            "n" => self.tape.number(),
                            "l" => V::List((0..self.tape.pick(4)).map(|_| self.tape.value()).collect()),
                            "o" => map([("k", self.tape.value())]),
                            "b" => V::Bool(self.tape.chance(128)),
                            _ => self.tape.word(),
                        };
                        result.insert(name.to_owned(), value);
                    }
                }
                Reply::Result(V::Map(result))
            }
            9 | 10 => Reply::Echo,
            11 => Reply::Result(self.tape.value()),
            12 => {
                let data = self.tape.value();
                Reply::Result(match self.tape.pick(3) {
                    0 => map([("status", text("success")), ("success", V::Bool(true)), ("data", data)]),
                    1 => map([("success", V::Bool(false)), ("error", text("no"))]),
                    _ => map([("status", text("error")), ("message", text("no"))]),
                })
            }
            13..=15 => {
                let mut update: Vec<(&'static str, V)> = Vec::new();
                for name in write {
                    if self.tape.chance(128) {
                        update.push((
                            name,
                            self.update(channels.get(name).map_or("last_value", |found| found.0)),
                        ));
                    }
                }
                if self.tape.chance(8) {
                    update.push(("nobody", V::Null));
                }
                let mut to = Vec::new();
                for node in goto {
                    for _ in 0..self.tape.pick(3) {
                        let argument = self.tape.chance(128).then(|| self.tape.value());
                        to.push((format!("n{node}"), argument));
                    }
                }
                if self.tape.chance(8) {
                    to.push((format!("n{}", self.tape.pick(count)), None));
                }
                Reply::Command(update, to)
            }
            16..=19 => Reply::Ask(self.tape.value()),
            20 => Reply::Fail("transient"),
            _ => Reply::Fail(self.tape.one(&CATEGORIES)),
        }
    }

    fn update(&mut self, reducer: &str) -> V {
        let value = match reducer {
            "sum" | "min" | "max" => self.tape.number(),
            "merge" => map([("p", self.tape.value())]),
            _ => self.tape.value(),
        };
        if self.tape.chance(60) { map([("overwrite", value)]) } else { value }
    }
}

type Channels = BTreeMap<&'static str, (&'static str, Option<V>)>;

/// Returns inputs, for a run or for a resume that brings new ones.
pub(super) fn inputs(tape: &mut Tape<'_>) -> Fields {
    let mut inputs = Fields::new();
    for name in ["n", "s", "list"] {
        if tape.chance(180) {
            let value = match name {
                "n" => tape.number(),
                "s" => tape.word(),
                _ if tape.chance(60) => text("[1, 2]"),
                _ => V::List((0..tape.pick(4)).map(|_| tape.number()).collect()),
            };
            inputs.insert(name.to_owned(), value);
        }
    }
    inputs
}

/// Makes a graph and a run's inputs from a sketch.
pub(super) fn make(sketch: &Sketch) -> (Graph, Fields) {
    let mut tape = Tape(&sketch.whole);
    let inputs = inputs(&mut tape);
    let count = sketch.nodes.len();
    let strict = tape.chance(30);
    let durability = tape.one(&["sync", "exit", "async"]);
    let on_error = if tape.chance(50) { "continue" } else { "fail" };
    let on_max_steps = tape.one(&["fail", "fail", "return_last", "return_with_flag"]);
    let on_stalled_barrier = tape.one(&["warn", "release", "fail"]);
    let on_no_match = if tape.chance(60) { "fail" } else { "end" };
    let max_steps = tape.one(&[12, 8, 5, 3, 9, 2, 6, 1]);
    let max_total_steps = tape.chance(10).then(|| tape.one(&[3, 2, 1]));
    let max_visits = tape.chance(30).then(|| tape.one(&[3, 2, 1]));
    // Sends and items multiply: without a bound a few bytes make millions of tasks.
    let max_fan_out = Some(if tape.chance(20) { tape.one(&[4, 3, 2]) } else { 40 });
    let max_concurrency = tape.chance(60).then(|| tape.one(&[2, 1]));
    let mut channels = Channels::new();
    for (name, reducer) in CHANNELS {
        if name != "free" && tape.chance(200) {
            let default = tape.chance(40).then(|| match reducer {
                "append" | "union" | "messages" | "topic" => V::List(vec![tape.value()]),
                "sum" | "min" | "max" => tape.number(),
                "merge" => map([("p", tape.value())]),
                _ => tape.value(),
            });
            channels.insert(name, (reducer, default));
        }
    }
    // The first bytes of each node say whether it is a barrier: nothing else may lead there.
    let is_barrier = |at: usize| at > 0 && sketch.nodes[at].first().is_some_and(|byte| *byte > 200);
    let open: Vec<usize> = (0..count).filter(|at| !is_barrier(*at)).collect();
    let mut maker = Maker { tape, strict };
    let mut start: Vec<(usize, Option<Template>)> = Vec::new();
    for _ in 0..=maker.tape.pick(3) {
        let node = maker.tape.one(&open);
        let argument = maker.tape.chance(50).then(|| {
            let value = (Term::Lit(maker.literal()), Vec::new());
            Template::One(vec![(Term::Path(maker.path(Place::Start)), Vec::new()), value])
        });
        start.push((node, argument));
    }
    let output = maker.tape.chance(40).then(|| maker.template(Place::Output));
    let nodes = sketch.nodes.iter().enumerate().map(|(at, bytes)| {
        let tape = Tape(bytes.get(1..).unwrap_or_default());
        node(&mut Maker { tape, strict }, at, count, &open, is_barrier(at), &channels)
    });
    let graph = Graph {
        start,
        nodes: nodes.collect(),
        channels,
        max_steps,
        max_total_steps,
        max_visits,
        max_fan_out,
        max_concurrency,
        on_max_steps,
        on_error,
        on_no_match,
        on_stalled_barrier,
        durability,
        strict,
        output,
    };
    (graph, inputs)
}

/// Returns a template of the list at a path, or of two numbers if there is none.
fn listed(path: Path) -> Template {
    let otherwise = (Term::Lit(text("[1, 2]")), Vec::new());
    Template::One(vec![(Term::Path(path), Vec::new()), otherwise])
}

fn node(
    maker: &mut Maker<'_>,
    at: usize,
    count: usize,
    open: &[usize],
    is_barrier: bool,
    channels: &Channels,
) -> Node {
    let kind = match maker.tape.pick(12) {
        8..=10 => Kind::Foreach {
            over: match maker.tape.pick(5) {
                0 => Template::Lit(V::List(vec![int(1), text("b")])),
                1 => listed(path("inputs", &["list"])),
                2 => listed(path("state", &["log"])),
                3 => Template::Lit(V::List((0..maker.tape.pick(4)).map(|_| maker.tape.value()).collect())),
                _ if maker.tape.chance(60) => Template::One(maker.alternatives(Place::Params)),
                _ => Template::Lit(V::List(vec![map([("n", int(2))]), V::Null, int(3)])),
            },
            batch: maker.tape.chance(40).then(|| 1 + maker.tape.pick(3)),
            collect: maker.tape.chance(150).then(|| maker.tape.one(&["log", "last", "set", "free", "news"])),
            parallel: maker.tape.chance(128),
            on_item_error: maker.tape.one(&["fail", "keep_null", "skip"]),
        },
        11 if at > 0 => Kind::Return(maker.tape.chance(150).then(|| maker.template(Place::Params))),
        _ => Kind::Plain,
    };
    let is_foreach = matches!(kind, Kind::Foreach { .. });
    let is_return = matches!(kind, Kind::Return(_));
    let acts = is_foreach || (!is_return && !maker.tape.chance(40));
    let place = if is_foreach { Place::Items } else { Place::Params };
    let params = acts.then(|| {
        let mut fields = Vec::new();
        for name in ["x", "y"] {
            if maker.tape.chance(128) {
                fields.push((name, maker.template(place)));
            }
        }
        Template::Map(fields)
    });
    let mut assign: Vec<(&'static str, Template)> = Vec::new();
    for _ in 0..maker.tape.pick(4) {
        // Keys that take one write per superstep are rarer, since two tasks that write the same one stop the run.
        let name = match maker.tape.pick(12) {
            drawn @ 0..8 => CHANNELS[drawn].0,
            drawn => CHANNELS[(drawn + maker.tape.pick(4) * 4) % CHANNELS.len()].0,
        };
        let reducer = channels.get(name).map_or("last_value", |found| found.0);
        if !assign.iter().any(|(known, _)| *known == name) {
            assign.push((name, maker.fitting(reducer)));
        }
    }
    let next = match maker.tape.pick(8) {
        _ if is_return => Next::Nothing,
        0 => Next::Nothing,
        1..=4 => Next::All(maker.targets(open, at, 2)),
        _ => {
            let mut edges = Vec::new();
            for _ in 0..=maker.tape.pick(3) {
                let when = maker.condition(0);
                let to = if maker.tape.chance(30) { Vec::new() } else { maker.targets(open, at, 2) };
                edges.push((to, Some(when)));
            }
            if maker.tape.chance(140) {
                edges.push((maker.targets(open, at, 2), None));
            }
            Next::First(edges)
        }
    };
    let mut wait_for = Vec::new();
    if is_barrier {
        for _ in 0..=maker.tape.pick(3) {
            let waited = maker.tape.pick(count);
            let waited = if waited == at { 0 } else { waited };
            if !wait_for.contains(&waited) {
                wait_for.push(waited);
            }
        }
    }
    let retry = (!is_return && maker.tape.chance(90)).then(|| {
        let retry_on = maker.tape.chance(80).then(|| vec![maker.tape.one(&CATEGORIES), "permanent"]);
        (
            u32::try_from(maker.tape.pick(3)).unwrap() + 1,
            retry_on.map(|mut names| {
                names.dedup();
                names
            }),
        )
    });
    let on_error = (!is_return && maker.tape.chance(70)).then(|| maker.tape.one(open));
    let (defer, before, after) = (maker.tape.chance(25), maker.tape.chance(14), maker.tape.chance(14));
    let commands = acts && maker.tape.chance(150);
    let goto = if commands { maker.targets(open, at, 2) } else { Vec::new() };
    let write: Vec<&'static str> = if commands {
        let first = maker.tape.pick(8);
        vec![CHANNELS[first].0, CHANNELS[(first + 3) % CHANNELS.len()].0]
    } else {
        Vec::new()
    };
    let folds = |name: &&&str| channels.get(**name).is_some_and(|(reducer, _)| !TAKES_ONE.contains(reducer));
    let overwrite: Vec<&'static str> = write.iter().filter(folds).copied().collect();
    let overwrite = if maker.tape.chance(128) { overwrite } else { Vec::new() };
    let replies = (0..=maker.tape.pick(4)).map(|_| maker.reply(&goto, &write, channels, count)).collect();
    Node {
        kind,
        params,
        assign,
        next,
        on_error,
        retry,
        wait_for,
        defer,
        before,
        after,
        goto,
        write,
        overwrite,
        replies,
    }
}
