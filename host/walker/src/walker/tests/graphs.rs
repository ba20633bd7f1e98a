//! Random graphs, and doubles of nodes whose answers depend on the task alone.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::compat::Dialect;
use crate::graph::{
    Action, Assignment, CachePolicy, Channel, CommandGrant, Edge, Foreach, Graph, GraphNames, Next, Node,
    NodeIndex, NodeKind, NodeTemplates, RetryPolicy, StartTarget, StaticInterrupt, WriteMode,
};
use crate::hook::{Hook, HookAction};
use crate::walker::{CustomEvent, Graphs, HookSpec, TaskReport, TaskSpec, Timing};
use graph_core::condition::Condition;
use graph_core::digest::{Digest, DomainHasher};
use graph_core::hook_event::{Control, ControlAction, HookEvent, HookLayer};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{ModelUse, NodeLimits, TaskLimits};
use graph_core::node::{Category, Failure, Goto, Outcome};
use graph_core::policy::{
    Durability, OnError, OnItemError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};
use graph_core::record::JournalEntry;
use graph_core::record::journal::{MODEL, USED, fault, model_fault};
use graph_core::schema::InputMarks;
use graph_core::template::ValueTemplate;
use graph_core::time::Timestamp;

/// A random node, before its targets become indices.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    next: Vec<u8>,
    kind: u8,
    flags: u8,
    retries: u8,
    waits: Vec<u8>,
}

impl Shape {
    fn flag(&self, bit: u8) -> bool {
        self.flags & (1 << bit) != 0
    }
}

/// A random graph, from which [`build`] makes a graph.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    nodes: Vec<Shape>,
    start: Vec<u8>,
    hooks: Vec<u8>,
    switches: u16,
    /// Determines the answers of the doubles.
    pub(super) salt: u64,
}

/// Generates graphs without hooks about questions: a run that goes back shows a pause without asking them.
pub(super) fn sketches_to_travel() -> impl Strategy<Value = Sketch> {
    let about_questions = |byte: &u8| event(*byte) == HookEvent::Interrupt;
    sketches().prop_map(move |mut sketch| {
        sketch.hooks.retain(|byte| !about_questions(byte));
        sketch
    })
}

/// Generates graphs to travel without caches: a fork may use results that its original cached after the fork's checkpoint.
pub(super) fn sketches_to_fork() -> impl Strategy<Value = Sketch> {
    sketches_to_travel().prop_map(|mut sketch| {
        sketch.nodes.iter_mut().for_each(|shape| shape.flags &= !CACHED);
        sketch
    })
}

impl Sketch {
    /// Removes the retries of nodes and all hooks.
    pub(super) fn without_retries(mut self) -> Self {
        self.nodes.iter_mut().for_each(|shape| shape.retries = 0);
        self.hooks.clear();
        self
    }
}

/// Flag of nodes whose results are cached.
const CACHED: u8 = 1 << 3;

const fn event(byte: u8) -> HookEvent {
    HookEvent::ALL[(byte % 6) as usize]
}

pub(super) fn sketches() -> impl Strategy<Value = Sketch> {
    let shape = (
        prop::collection::vec(any::<u8>(), 0..3),
        any::<u8>(),
        any::<u8>(),
        0..3_u8,
        prop::collection::vec(any::<u8>(), 0..3),
    )
        .prop_map(|(next, kind, flags, retries, waits)| Shape { next, kind, flags, retries, waits });
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 1..most);
    let hooks = prop_oneof![Just(Vec::new()), bytes(5)];
    (prop::collection::vec(shape, 1..7), bytes(3), hooks, any::<u16>(), any::<u64>())
        .prop_map(|(nodes, start, hooks, switches, salt)| Sketch { nodes, start, hooks, switches, salt })
}

fn template(value: &Value) -> ValueTemplate {
    ValueTemplate::parse(value).unwrap()
}

fn condition(value: &Value) -> Condition {
    Condition::from_json(value).unwrap()
}

fn kind_of(at: usize, shape: &Shape) -> NodeKind {
    match shape.kind % 7 {
        1 | 2 => NodeKind::Foreach(Foreach {
            batch: None,
            reads_index: false,
            over: template(&json!([1, 2, 3])),
            variable: "x".to_owned(),
            collect: Some("log".to_owned()),
            parallel: shape.kind % 7 == 1,
            on_item_error: [
                OnItemError::Fail,
                OnItemError::KeepNull,
                OnItemError::Skip,
                OnItemError::KeepError,
            ][usize::from(shape.flags % 4)],
            keeps_failures: false,
        }),
        3 if at > 0 => NodeKind::Return { output: None },
        _ => NodeKind::Default,
    }
}

fn next_of(targets: Vec<NodeIndex>, shape: &Shape) -> Next {
    match (targets.is_empty(), shape.flag(0)) {
        (true, _) => Next::End,
        (false, false) => Next::All(targets),
        (false, true) => Next::First(vec![
            Edge {
                to: targets[..1].to_vec(),
                when: Some(condition(&json!({"path": "result.n", "op": "lt", "value": 3}))),
                label: None,
            },
            Edge {
                to: targets,
                when: shape
                    .flag(1)
                    .then(|| condition(&json!({"path": "state.sum", "op": "lt", "value": 20}))),
                label: None,
            },
        ]),
    }
}

/// A sketch, and those of its child runs.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    pub(super) outer: Sketch,
    pub(super) mid: Sketch,
    pub(super) leaf: Sketch,
    /// One bit for each node that starts the graph below.
    starts: u8,
    /// One bit for each node of child runs that pauses once it has committed.
    pauses: u8,
}

pub(super) fn nests() -> impl Strategy<Value = Nest> {
    (sketches(), sketches(), sketches(), 1..=u8::MAX).prop_map(|(outer, mid, leaf, starts)| Nest {
        outer,
        mid,
        leaf,
        starts,
        pauses: 0,
    })
}

/// Generates nests with child graphs that pause, and without retries: under `durability: exit` the records of a child
/// run count all attempts of its task, and those of the task only the last.
pub(super) fn nests_that_pause() -> impl Strategy<Value = Nest> {
    (nests(), 1..=u8::MAX).prop_map(|(nest, pauses)| Nest {
        outer: nest.outer.without_retries(),
        mid: nest.mid.without_retries(),
        leaf: nest.leaf.without_retries(),
        pauses,
        ..nest
    })
}

/// Builds the graphs of a nest: the root graph, and those inside.
pub(super) fn build_nest(nest: &Nest, durability: Durability) -> (Arc<Graph>, Arc<Graphs>) {
    let make = |sketch: &Sketch, name: &str, below: Option<&str>| {
        let mut graph = build(sketch, durability);
        let drawn = format!("{name} {sketch:?} {} {}", nest.starts, nest.pauses);
        graph.digest = Digest::of_bytes(drawn.as_bytes());
        graph.id = name.to_owned();
        // Few supersteps, since there may be many such runs.
        graph.max_total_steps = 25;
        if name != "t/outer" {
            graph.max_steps = 3;
        }
        for (at, node) in graph.nodes.iter_mut().enumerate() {
            node.interrupt.after |= name != "t/outer" && nest.pauses & (1 << (at % 8)) != 0;
            if let (Some(action), Some(below)) = (&mut node.action, below)
                && nest.starts & (1 << (at % 8)) != 0
            {
                action.item_id = template(&json!(below));
                node.cache = None;
            }
        }
        Arc::new(graph)
    };
    let graphs = Graphs::from([
        ("t/mid".to_owned(), make(&nest.mid, "t/mid", Some("t/leaf"))),
        ("t/leaf".to_owned(), make(&nest.leaf, "t/leaf", None)),
    ]);
    (make(&nest.outer, "t/outer", Some("t/mid")), Arc::new(graphs))
}

/// Returns params. Those of nodes with a cache depend on the item of a `foreach` alone, so that lookups succeed.
fn params(cached: bool) -> ValueTemplate {
    template(&if cached { json!({"x": "${x}"}) } else { json!({"seen": "${state.sum}", "x": "${x}"}) })
}

fn policy(shape: &Shape) -> CachePolicy {
    let key = shape.flag(1).then(|| template(&json!("${node.name}${state.log | length}")));
    CachePolicy { ttl: Duration::from_secs(1), key }
}

/// Returns the writes of a node.
fn assignments(shape: &Shape, foreach: bool) -> Vec<Assignment> {
    let write = |channel: &str, value, mode| Assignment {
        channel: channel.to_owned(),
        value: template(&value),
        mode,
    };
    let mut assign = vec![write("log", json!(["${node.name}"]), WriteMode::Fold)];
    if !foreach {
        let mode = if shape.flag(1) && shape.flag(5) { WriteMode::Overwrite } else { WriteMode::Fold };
        assign.push(write("sum", json!("${result.n || 1}"), mode));
        if shape.flag(2) {
            assign.push(write("shared", json!("${state.log | length}"), WriteMode::Fold));
        }
    }
    assign
}

/// Builds the graph of a sketch.
#[allow(clippy::too_many_lines, reason = "one table of fields")]
pub(super) fn build(sketch: &Sketch, durability: Durability) -> Graph {
    let count = sketch.nodes.len();
    let node = |byte: u8| NodeIndex(u32::try_from(usize::from(byte) % count).unwrap());
    // A barrier is activated by its nodes alone.
    let is_barrier = |index: NodeIndex| {
        let shape = &sketch.nodes[index.0 as usize];
        !shape.waits.is_empty() && shape.kind.is_multiple_of(5)
    };
    let targets = |bytes: &[u8]| {
        let mut targets: Vec<NodeIndex> =
            bytes.iter().map(|byte| node(*byte)).filter(|index| !is_barrier(*index)).collect();
        targets.dedup();
        targets
    };
    let mut start = targets(&sketch.start);
    if start.is_empty() {
        start = (0..u32::try_from(count).unwrap())
            .map(NodeIndex)
            .filter(|index| !is_barrier(*index))
            .take(1)
            .collect();
    }
    let nodes = sketch.nodes.iter().enumerate().map(|(at, shape)| {
        let barrier = is_barrier(NodeIndex(u32::try_from(at).unwrap()));
        let flag = |bit| shape.flag(bit);
        let kind = kind_of(at, shape);
        let idle = matches!(kind, NodeKind::Return { .. }) || (flag(3) && flag(4));
        let next = next_of(targets(&shape.next), shape);
        let foreach = matches!(kind, NodeKind::Foreach(_));
        let cached = !idle && shape.flags & CACHED != 0;
        let assign = assignments(shape, foreach);
        Node {
            name: format!("n{at}"),
            action: (!idle).then(|| Action {
                operation: ItemOperation::Execute,
                item_type: ItemType::Tool,
                item_id: template(&json!("t/double")),
                params: params(cached),
            }),
            kind,
            assign,
            next,
            on_error: flag(5).then(|| targets(&[shape.kind])).and_then(|to| to.first().copied()),
            retry: RetryPolicy {
                max_attempts: u32::from(shape.retries) + 1,
                initial_interval: Duration::from_millis(10),
                jitter: flag(6),
                ..RetryPolicy::default()
            },
            limits: NodeLimits::default(),
            wait_for: if barrier { shape.waits.iter().map(|byte| node(*byte)).collect() } else { Vec::new() },
            defer: flag(7) && flag(1),
            interrupt: StaticInterrupt { before: flag(6) && flag(0), after: flag(6) && flag(2) },
            command: Some(CommandGrant::new(
                targets(&[shape.kind]),
                false,
                vec!["set".to_owned()],
                if flag(3) { vec!["set".to_owned()] } else { Vec::new() },
            )),
            capabilities: None,
            bounds: NodeTemplates::default(),
            cache: cached.then(|| policy(shape)),
            feedback: flag(4) && flag(2),
            metadata: None,
        }
    });
    let nodes: Vec<Node> = nodes.collect();
    let bit = |bit: u16| sketch.switches & (1 << bit) != 0;
    let channel = |name: &str, reducer| Channel { name: name.to_owned(), reducer, default: None };
    let channels = vec![
        channel("log", Reducer::Append),
        channel("sum", Reducer::Sum),
        channel("set", Reducer::Union),
        channel("shared", if bit(0) { Reducer::Max } else { Reducer::LastValue }),
    ];
    Graph {
        names: GraphNames::new(&nodes, &channels),
        id: "t/random".to_owned(),
        digest: Digest::of_bytes(format!("{sketch:?}").as_bytes()),
        document: Arc::new(Value::Null),
        description: None,
        name: None,
        dialect: Dialect::GraphHost,
        input_schema: None,
        marks: InputMarks::default(),
        start: start.into_iter().map(|node| StartTarget { node, argument: None }).collect(),
        nodes,
        channels,
        max_steps: 9,
        on_max_steps: [OnMaxSteps::Fail, OnMaxSteps::ReturnLast, OnMaxSteps::ReturnWithFlag]
            [usize::from(sketch.switches % 3)],
        on_error: if bit(1) { OnError::Continue } else { OnError::Fail },
        on_no_match: if bit(2) { OnNoMatch::Fail } else { OnNoMatch::End },
        on_stalled_barrier: [OnStalledBarrier::Warn, OnStalledBarrier::Fail, OnStalledBarrier::Release]
            [usize::from(sketch.switches / 3 % 3)],
        max_concurrency: bit(5).then_some(2),
        max_fan_out: 100,
        // This ends runs in which a hook answers each limit with more steps.
        max_total_steps: 60,
        max_visits_per_node: bit(6).then_some(4),
        timeout: Duration::from_mins(10),
        durability,
        templates: TemplateMode::Lenient,
        limits: NodeLimits::default(),
        output: None,
        hooks: sketch.hooks.iter().enumerate().map(|(at, byte)| hook(at, *byte)).collect(),
        built_in_hooks: Vec::new(),
    }
}

/// Builds a hook with any event and one of several actions.
fn hook(at: usize, byte: u8) -> Hook {
    let event = event(byte);
    let item = |item_id: &str, params: Value| {
        HookAction::Item(Action {
            operation: ItemOperation::Execute,
            item_type: ItemType::Tool,
            item_id: template(&json!(item_id)),
            params: template(&params),
        })
    };
    let control =
        |action| HookAction::Control(Control { action, additional_steps: Some(2), max_retries: Some(2) });
    let action = match byte / 6 % 7 {
        0 => control(ControlAction::Retry),
        1 => control(ControlAction::Continue),
        2 => item(crate::hook::CONTROL_ITEM, json!({"action": "retry", "max_retries": 1})),
        _ => item("t/hook", json!({"node": "${node}", "log": "${state.log}", "step": "${step_count}"})),
    };
    let condition = match byte / 42 {
        0 => condition(&json!({"path": "step_count", "op": "lt", "value": 4})),
        _ => Condition::ALWAYS,
    };
    Hook {
        name: at.to_string(),
        description: None,
        layer: HookLayer::Graph,
        event,
        condition,
        action,
        required: byte > 240,
    }
}

/// Answers for a hook: the same for the same call.
pub(super) fn hook_double(salt: u64, spec: &HookSpec) -> TaskReport {
    let draw = DomainHasher::new("hook")
        .field(&salt.to_le_bytes())
        .field(spec.call.activation.task.as_bytes())
        .finish();
    let byte = draw.as_bytes()[0];
    let result = match byte % 9 {
        0 => Ok(json!({"action": "retry"})),
        1 => Ok(json!({"action": "continue", "additional_steps": 1})),
        2 => Ok(json!({"action": "fail"})),
        3 if byte > 200 => Ok(json!({"action": "abort"})),
        4 => Err(Failure::new(Category::Permanent, "broken")),
        _ => Ok(json!({"params": spec.call.params})),
    };
    TaskReport::new(result.map(Outcome::Result), u64::from(byte) + 1)
}

/// Answers for a task: the same for the same attempt and answers, at any time.
pub(super) fn double(salt: u64, spec: &TaskSpec) -> TaskReport {
    let grant = spec.graph.node(spec.node).command.as_ref();
    let goto = grant.and_then(|grant| grant.goto.first());
    let target = goto.map(|node| spec.graph.node(*node).name.clone());
    answer(salt, &spec.activation.task, target, spec)
}

/// Answers for a task by its input alone, without calls of the host.
pub(super) fn pure_double(salt: u64, spec: &TaskSpec) -> TaskReport {
    let given = json!([spec.item_id, spec.params, spec.activation.argument]);
    let model = ModelUse::UNBOUNDED;
    let limits = TaskLimits { calls: u64::MAX, bytes: u64::MAX, model, ..spec.limits };
    let spec = TaskSpec { limits, ..spec.clone() };
    TaskReport {
        journal: Vec::new(),
        ..answer(salt, &graph_core::json::canonical_string(&given), None, &spec)
    }
}

fn answer(salt: u64, by: &str, target: Option<String>, spec: &TaskSpec) -> TaskReport {
    let told = &spec.activation;
    let draw = DomainHasher::new("double")
        .field(&salt.to_le_bytes())
        .field(by.as_bytes())
        .field(&told.attempt.to_le_bytes())
        .field(&[u8::try_from(told.answers.len()).unwrap()])
        .finish();
    let byte = draw.as_bytes()[0];
    let result = match (byte % 16, target) {
        (0 | 1, _) => Err(Failure::new(Category::Transient, "down")),
        (2, _) if byte < 40 => Err(Failure::new(Category::Permanent, "broken")),
        (3, _) if told.answers.len() < 2 => Ok(Outcome::Interrupt(json!({"asked": told.answers.len()}))),
        (4, Some(node)) => Ok(Outcome::Command {
            update: match byte % 32 {
                4 => json!({"set": {"overwrite": [byte % 3]}}),
                _ => json!({"set": byte % 4}),
            }
            .as_object()
            .cloned()
            .unwrap(),
            goto: vec![
                Goto { node: node.clone(), argument: Some(json!(byte)) },
                Goto { node, argument: Some(json!(1)) },
            ],
        }),
        (5, Some(node)) => {
            Ok(Outcome::Command { update: serde_json::Map::new(), goto: vec![Goto { node, argument: None }] })
        }
        _ => Ok(Outcome::Result(json!({"n": byte % 5, "seen": spec.params["seen"]}))),
    };
    // Timing and events come with the report, and do not depend on its order.
    let timing = Timing {
        at: Some(Timestamp(u64::from(byte))),
        began: Duration::from_micros(u64::from(draw.as_bytes()[1])),
        took: Duration::from_micros(u64::from(draw.as_bytes()[2])),
    };
    let events = (0..byte % 3).map(|number| CustomEvent { name: "n".to_owned(), payload: json!(number) });
    let wanted = (0..draw.as_bytes()[3] % 4).map(|number| match number {
        2 => JournalEntry {
            function: MODEL.1.to_owned(),
            interface: MODEL.0.to_owned(),
            ok: byte.is_multiple_of(2),
            request: json!({ "model": "m" }).into(),
            result: json!({ USED: { "calls": 1, "input": byte, "output": byte / 2, "cost": byte } }).into(),
        },
        _ => JournalEntry {
            function: "f".to_owned(),
            interface: "i".to_owned(),
            ok: number == 0,
            request: json!(number).into(),
            result: json!(byte).into(),
        },
    });
    let (journal, result) = within(&spec.limits, wanted, result);
    let fuel = u64::from(byte) + 1;
    let result = if fuel > spec.limits.fuel {
        Err(Failure::new(Category::Limit, format!("it may use {}", spec.limits.fuel)))
    } else {
        result
    };
    let used = fuel.min(spec.limits.fuel);
    TaskReport { events: events.collect(), journal, timing, ..TaskReport::new(result, used) }
}

/// Cuts calls of the host to a task's limits; the first beyond them ends the attempt.
fn within(
    limits: &TaskLimits,
    wanted: impl Iterator<Item = JournalEntry>,
    result: Result<Outcome, Failure>,
) -> (Vec<JournalEntry>, Result<Outcome, Failure>) {
    let mut entries: Vec<JournalEntry> = Vec::new();
    for entry in wanted {
        let used = JournalEntry::used_by(&entries).plus(entry.host_use());
        if used.calls > limits.calls || used.bytes > limits.bytes {
            let failure = Failure::new(Category::Limit, "it asked too much of the host");
            entries.push(JournalEntry { ok: false, result: fault(&failure), ..entry });
            return (entries, Err(failure));
        }
        if let Some(figure) = used.model.above(limits.model) {
            let failure = Failure::new(Category::Limit, "it asked too much of models");
            let result = model_fault(&failure, figure, ModelUse::NOTHING);
            entries.push(JournalEntry { ok: false, result, ..entry });
            return (entries, Err(failure));
        }
        entries.push(entry);
    }
    (entries, result)
}
