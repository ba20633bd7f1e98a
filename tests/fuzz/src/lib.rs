//! A driver that lets bytes determine the events of a run, and seeds, for several targets.

pub mod artifact;
pub mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::limits::RunLimits;
use graph_core::node::{Category, Failure, Goto, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{CacheEntry, Record};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_walker::graph::Graph;
use graph_walker::walker::{
    Answered, Answers, Edit, Effect, Event, Identity, Lookup, PersistId, Resume, RunTree, Setup, TaskReport,
    TaskSpec, TimerId, Update,
};
use serde_json::{Map, Value, json};

/// Separator between a graph and the bytes that determine its run.
pub const SEPARATOR: &str = "\n---\n";
/// Limit of the events of a run: more of them find nothing new.
const MAX_EVENTS: usize = 300;
/// Fuel of a run: a fifth of a step's limit. With instrumentation, a whole step takes ten seconds.
const FUEL: u64 = 20_000_000;
/// Limit of the tasks under way, above which the run is abandoned.
const MAX_TASKS: usize = 500;

/// Walks a graph with events that the bytes select, valid and invalid ones. `seen` receives every record to store.
///
/// # Panics
///
/// If an invariant of the walker is violated: an invalid event is refused and changes nothing, and a record to store can be read again.
pub fn walk(graph: Arc<Graph>, bytes: &[u8], mut seen: impl FnMut(&Record, &str)) {
    let mut driver = Driver::new(graph);
    driver.tell(Event::Started, &mut seen);
    let mut bytes = bytes.iter().copied();
    for _ in 0..MAX_EVENTS {
        let Some(byte) = bytes.next() else { return };
        if driver.running.len() > MAX_TASKS {
            return;
        }
        let Some(event) = driver.event(byte, &mut bytes) else { continue };
        driver.tell(event, &mut seen);
    }
}

struct Driver {
    tree: RunTree,
    running: BTreeMap<(Arc<str>, u32), Box<TaskSpec>>,
    lookups: BTreeMap<(Arc<str>, u32), Box<Lookup>>,
    /// Cached results for later tasks.
    results: Vec<CacheEntry>,
    hooks: BTreeSet<Arc<str>>,
    timers: BTreeSet<TimerId>,
    persists: BTreeSet<PersistId>,
    /// `true` if the walker has returned `Continue`.
    has_more: bool,
    interrupts: Vec<String>,
    nodes: Vec<String>,
    now: u64,
}

impl Driver {
    fn new(graph: Arc<Graph>) -> Self {
        let inputs = Arc::new(json!({ "n": 3, "list": [1, 2, 3], "text": "a" }));
        let nodes = graph.nodes.iter().map(|node| node.name.clone()).collect();
        let setup = Setup {
            identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
            seed: Setup::default_seed(&graph, &inputs),
            inputs,
            initial_state: Map::new(),
            manifest: Arc::new(
                Manifest::of_dispatch(DispatchPatterns::parse(["*"]).expect("the pattern is a constant"))
                    .with_run_limits(RunLimits { fuel: FUEL, ..RunLimits::DEFAULT }),
            ),
            // A graph that names itself is a graph with children.
            graphs: Arc::new(BTreeMap::from([("t/graph".to_owned(), Arc::clone(&graph))])),
            hooks: Arc::default(),
            pins: Digest::of_bytes(b"pins"),
            accepted: Vec::new(),
            durability: Durability::Sync,
            max_steps: Some(40),
            max_concurrency: None,
        };
        Self {
            tree: RunTree::new(graph, setup),
            running: BTreeMap::new(),
            lookups: BTreeMap::new(),
            results: Vec::new(),
            hooks: BTreeSet::new(),
            timers: BTreeSet::new(),
            persists: BTreeSet::new(),
            has_more: false,
            interrupts: Vec::new(),
            nodes,
            now: 1_000,
        }
    }

    fn tell(&mut self, event: Event, seen: &mut impl FnMut(&Record, &str)) {
        let told = format!("{event:?}");
        let before = self.tree.summary();
        let effects = match self.tree.handle(Timestamp(self.now), event) {
            Ok(effects) => effects,
            Err(error) => {
                assert!(!error.to_string().is_empty(), "a refusal without a reason");
                assert_eq!(before, self.tree.summary(), "refused, and yet something changed: {told}");
                return;
            }
        };
        for effect in effects {
            match effect {
                Effect::RunTask(spec) => {
                    let task = Arc::from(spec.activation.task.as_str());
                    self.running.insert((task, spec.activation.attempt), spec);
                }
                Effect::LookUp(lookup) => {
                    let told = &lookup.spec.activation;
                    self.lookups.insert((Arc::from(told.task.as_str()), told.attempt), lookup);
                }
                Effect::Abort { task, attempt } => {
                    let name = (task, attempt);
                    self.running.remove(&name);
                    self.lookups.remove(&name);
                }
                Effect::RunHook(spec) => {
                    self.hooks.insert(Arc::from(spec.call.activation.task.as_str()));
                }
                Effect::AbortHook { hook } => {
                    self.hooks.remove(&hook);
                }
                Effect::Persist(persist) => {
                    let (body, _) = persist.record.encode().expect("a record can be written");
                    seen(&persist.record, &body);
                    self.results.extend(persist.results.iter().cloned());
                    self.persists.insert(persist.id);
                }
                Effect::Continue => self.has_more = true,
                Effect::SetTimer { timer, .. } => {
                    self.timers.insert(timer);
                }
                Effect::Suspend(_) => {
                    let open = self.tree.summary().interrupts;
                    self.interrupts = open.into_iter().map(|interrupt| interrupt.id).collect();
                }
                _ => {}
            }
        }
    }

    fn event(&mut self, byte: u8, more: &mut impl Iterator<Item = u8>) -> Option<Event> {
        self.now += 1;
        if self.has_more && !byte.is_multiple_of(3) {
            self.has_more = false;
            return Some(Event::Continued);
        }
        let pick = usize::from(byte >> 4);
        Some(match byte & 15 {
            // Events that advance a run are frequent.
            0..=4 if self.running.is_empty() && !self.lookups.is_empty() => {
                let (_, lookup) = self.lookups.pop_first()?;
                lookup.answer(self.found(&lookup, byte))
            }
            0..=4 if self.running.is_empty() => {
                let hook = self.hooks.pop_first()?;
                Event::HookDone { hook, report: TaskReport::new(self.result(more), u64::from(byte)) }
            }
            0..=4 => {
                let key = self.running.keys().nth(pick % self.running.len().max(1)).cloned()?;
                self.running.remove(&key);
                let report = TaskReport::new(self.result(more), u64::from(byte));
                Event::TaskDone { task: key.0, attempt: key.1, report }
            }
            5..=7 => Event::Persisted(self.persists.pop_first()?),
            8 => {
                let resume = match pick % 4 {
                    0 => Resume::default(),
                    1 => Resume { answers: Answers::Bare(self.value(more)), ..Resume::default() },
                    2 => {
                        let ids = self.interrupts.clone();
                        let answers = ids.into_iter().map(|id| (id, self.value(more))).collect();
                        Resume { answers: Answers::ById(answers), ..Resume::default() }
                    }
                    _ => Resume {
                        inputs: Some(Map::from_iter([("n".to_owned(), self.value(more))])),
                        max_steps: more.next().map(u64::from),
                        ..Resume::default()
                    },
                };
                Event::Resumed(resume)
            }
            9 => Event::TimerFired(self.timers.pop_first()?),
            10 => {
                let as_node = self.nodes.get(pick % self.nodes.len().max(1)).cloned().filter(|_| pick > 3);
                let values = Map::from_iter([("k".to_owned(), self.value(more))]);
                Event::Updated(Box::new(Update { edit: Edit { values, as_node }, back_to: None }))
            }
            11 => Event::CancelRequested,
            12 => Event::KillRequested,
            13 => {
                let id = self.persists.pop_first()?;
                Event::PersistFailed { id, message: "the disk is full".into() }
            }
            // Invalid events.
            14 => match pick % 6 {
                5 => {
                    Event::LookedUp { task: "9.9".into(), attempt: 9, key: None, found: None, trouble: None }
                }
                0 => Event::Started,
                1 => Event::Persisted(PersistId(u64::MAX)),
                2 => Event::Forked(None),
                3 => Event::TimerFired(TimerId::Retry { task: "9.9".into(), attempt: 9 }),
                _ => Event::TimerFired(TimerId::ChildTimeout { namespace: "1.0".into() }),
            },
            _ => {
                let task = Arc::from(format!("{}.{}", pick, more.next().unwrap_or(0)));
                Event::TaskDone {
                    task,
                    attempt: 1,
                    report: TaskReport::new(Ok(Outcome::Result(json!(1))), 0),
                }
            }
        })
    }

    /// Answers a lookup, with a valid entry or an invalid one.
    fn found(&self, lookup: &Lookup, byte: u8) -> Answered {
        let key = lookup.key(&Digest::of_bytes(b"fuzz"));
        let signer = SigningKey::from_seed(&[7; 32]).verifying_key();
        let kept = self.results.iter().filter(|entry| entry.key == key).cloned();
        match byte & 3 {
            0 => Answered::default(),
            // Perhaps an entry of another task.
            1 => Answered {
                key: Some(key),
                found: self.results.last().cloned(),
                trouble: Some("t".to_owned()),
            },
            _ => lookup.choose(key, &[], kept, &signer),
        }
    }

    fn result(&self, more: &mut impl Iterator<Item = u8>) -> Result<Outcome, Failure> {
        let byte = more.next().unwrap_or(0);
        let pick = usize::from(byte >> 3);
        match byte & 7 {
            0..=3 => Ok(Outcome::Result(self.value(more))),
            4 => Err(Failure::new(Category::ALL[pick % 8], "it failed")),
            5 => Ok(Outcome::Interrupt(self.value(more))),
            6 => {
                let update = Map::from_iter([("k".to_owned(), self.value(more))]);
                let node = self.nodes.get(pick % self.nodes.len().max(1)).cloned().unwrap_or_default();
                let argument = (pick % 2 == 0).then(|| self.value(more));
                Ok(Outcome::Command { update, goto: vec![Goto { node, argument }] })
            }
            _ => Ok(Outcome::Command { update: Map::new(), goto: Vec::new() }),
        }
    }

    fn value(&self, more: &mut impl Iterator<Item = u8>) -> Value {
        let byte = more.next().unwrap_or(0);
        match byte {
            0..=63 => json!(byte),
            64..=79 => Value::Null,
            80..=95 => json!(byte & 1 == 0),
            96..=111 => json!(f64::from(byte) * 1e300),
            112..=127 => json!([1, "two", null, { "id": byte }]),
            128..=143 => json!({ "k": byte, "list": [byte], "id": "m" }),
            144..=159 => json!(i64::MIN + i64::from(byte)),
            160..=175 => json!(u64::MAX - u64::from(byte)),
            176..=191 => json!("${state.k} $${x} \u{202e}"),
            192..=207 => json!({ "overwrite": byte }),
            208..=223 => json!({ "success": false, "error": "no" }),
            224..=239 => json!("[1, 2, 3]"),
            _ => json!({ "success": true, "data": [byte], "status": "ok" }),
        }
    }
}
