//! Graphs of random cases, and the doubles of their nodes.

use std::collections::BTreeMap;

use super::language::{Condition, Template};
use super::value::V;

#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Start nodes, some with an argument, which are sends.
    pub(super) start: Vec<(usize, Option<Template>)>,
    pub(super) nodes: Vec<Node>,
    /// Declared channels, with reducer and default.
    pub(super) channels: BTreeMap<&'static str, (&'static str, Option<V>)>,
    pub(super) max_steps: u64,
    pub(super) max_total_steps: Option<u64>,
    pub(super) max_visits: Option<u64>,
    pub(super) max_fan_out: Option<usize>,
    pub(super) max_concurrency: Option<u32>,
    pub(super) on_max_steps: &'static str,
    pub(super) on_error: &'static str,
    pub(super) on_no_match: &'static str,
    pub(super) on_stalled_barrier: &'static str,
    pub(super) durability: &'static str,
    pub(super) strict: bool,
    pub(super) output: Option<Template>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The params of its action.
    pub(super) params: Option<Template>,
    pub(super) assign: Vec<(&'static str, Template)>,
    pub(super) next: Next,
    pub(super) on_error: Option<usize>,
    /// `max_attempts` and `retry_on`.
    pub(super) retry: Option<(u32, Option<Vec<&'static str>>)>,
    pub(super) wait_for: Vec<usize>,
    pub(super) defer: bool,
    pub(super) before: bool,
    pub(super) after: bool,
    /// Nodes that a command may go to, and keys that it may write.
    pub(super) goto: Vec<usize>,
    pub(super) write: Vec<&'static str>,
    /// Keys whose value a command may replace.
    pub(super) overwrite: Vec<&'static str>,
    /// Possible answers of the node's double.
    pub(super) replies: Vec<Reply>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Plain,
    Return(Option<Template>),
    Foreach {
        over: Template,
        batch: Option<usize>,
        collect: Option<&'static str>,
        parallel: bool,
        on_item_error: &'static str,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Next {
    Nothing,
    All(Vec<usize>),
    First(Vec<(Vec<usize>, Option<Condition>)>),
}

/// Answer of a double.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    Result(V),
    /// A result that contains the call.
    Echo,
    Command(Vec<(&'static str, V)>, Vec<(String, Option<V>)>),
    Ask(V),
    Fail(&'static str),
}

/// Call of a double.
#[derive(Clone, Debug)]
pub(super) struct DoubleCall {
    pub(super) node: usize,
    pub(super) task: String,
    pub(super) attempt: u32,
    pub(super) superstep: u64,
    pub(super) visit: u64,
    pub(super) argument: Option<V>,
    pub(super) answers: Vec<V>,
    pub(super) params: V,
}

/// The doubles of one run. The reply to a call depends on its task and on the number of calls of that task alone.
#[derive(Debug)]
pub(super) struct Doubles<'g> {
    graph: &'g Graph,
    salt: u64,
    calls: BTreeMap<String, u64>,
}

impl<'g> Doubles<'g> {
    pub(super) fn new(graph: &'g Graph, salt: u64) -> Self {
        Self { graph, salt, calls: BTreeMap::new() }
    }

    pub(super) fn call(&mut self, told: DoubleCall) -> Reply {
        let calls = self.calls.entry(told.task.clone()).or_default();
        *calls += 1;
        // FNV-1a over the inputs of the choice.
        let bytes = told.task.bytes().chain(calls.to_le_bytes()).chain(self.salt.to_le_bytes());
        let draw = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |draw, byte| {
            (draw ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let replies = &self.graph.nodes[told.node].replies;
        match &replies[usize::try_from((draw >> 17) % replies.len() as u64).unwrap()] {
            Reply::Echo => Reply::Result(super::value::map([
                ("params", told.params),
                ("attempt", super::value::int(told.attempt.into())),
                ("superstep", super::value::int(told.superstep.try_into().unwrap())),
                ("n", super::value::int(told.visit.try_into().unwrap())),
                ("argument", told.argument.unwrap_or(V::Null)),
                ("l", V::List(told.answers)),
            ])),
            other => other.clone(),
        }
    }
}
