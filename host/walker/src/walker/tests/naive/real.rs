//! The real walker, driven by the same operations as the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::simulation::{setup, slice_of};
use super::graph::{DoubleCall, Doubles, Graph, Reply};
use super::model::{Answers, Fields, Operation, Seen};
use super::value::V;
use crate::walker::{
    Answers as GivenAnswers, Effect, Event, HandleError, Persist, PersistId, Restored, Resume, Setup,
    TaskReport, TaskSpec, TimerId, Walker,
};
use graph_core::capability::Manifest;
use graph_core::limits::RunLimits;
use graph_core::node::{Category, Failure, Goto, Outcome};
use graph_core::policy::Reducer;
use graph_core::record::{CheckpointPlace, CumulativeState, Record, Status, ValueKind};
use graph_core::time::Timestamp;

/// Content of a store.
#[derive(Default)]
struct Stored {
    checkpoints: Vec<Persist>,
    pending: BTreeMap<String, Record>,
}

pub(super) struct Real<'g> {
    graph: Arc<crate::graph::Graph>,
    setup: Setup,
    walker: Walker,
    doubles: Doubles<'g>,
    stored: Stored,
    /// `true` if each resume restores the walker from its records.
    restores: bool,
    order: u64,
    running: Vec<TaskSpec>,
    timers: BTreeSet<TimerId>,
    /// `true` if the walker has work left.
    has_more: bool,
    unacknowledged: Vec<PersistId>,
    /// Answers of the doubles by node, from which a case can be written.
    pub(super) answered: BTreeMap<usize, Vec<Reply>>,
}

fn object(fields: &Fields) -> serde_json::Map<String, Value> {
    fields.iter().map(|(key, value)| (key.clone(), value.to_json())).collect()
}

fn value(fields: &serde_json::Map<String, Value>) -> Fields {
    fields.iter().map(|(key, value)| (key.clone(), V::of(value))).collect()
}

/// Writes a record as text and reads it back.
fn through_text<T: Serialize + DeserializeOwned>(record: &T) -> T {
    serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
}

impl<'g> Real<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        loaded: Arc<crate::graph::Graph>,
        salt: u64,
        inputs: &Fields,
        restores: bool,
    ) -> Self {
        let mut setup = setup(&loaded, loaded.durability);
        // The model has no budgets.
        let manifest = Manifest::clone(&setup.manifest).with_run_limits(RunLimits::DEFAULT);
        setup.manifest = Arc::new(manifest);
        setup.inputs = Arc::new(Value::Object(object(inputs)));
        let mut walker = Walker::new(Arc::clone(&loaded), setup.clone());
        walker.set_slice_length(slice_of(&loaded));
        Self {
            walker,
            graph: loaded,
            setup,
            doubles: Doubles::new(graph, salt),
            stored: Stored::default(),
            restores,
            order: salt,
            running: Vec::new(),
            timers: BTreeSet::new(),
            has_more: false,
            unacknowledged: Vec::new(),
            answered: BTreeMap::new(),
        }
    }

    /// Performs an operation.
    pub(super) fn perform(&mut self, operation: &Operation, cancelled: bool) -> Seen {
        let mut known = None;
        let event = match operation {
            Operation::Run => Event::Started,
            Operation::Resume { answers, max_steps, inputs } => {
                if self.restores {
                    let restored = self.restored();
                    known = Some(std::mem::replace(&mut self.walker, restored));
                }
                Event::Resumed(Resume {
                    answers: match answers {
                        Answers::None => GivenAnswers::None,
                        Answers::Bare(value) => GivenAnswers::Bare(value.to_json()),
                        Answers::Named(named) => GivenAnswers::ById(
                            named.iter().map(|(name, value)| (name.clone(), value.to_json())).collect(),
                        ),
                    },
                    max_steps: *max_steps,
                    inputs: inputs.as_ref().map(object),
                    update: None,
                })
            }
            Operation::Cancel => return self.seen(None),
        };
        if cancelled {
            self.handle(Event::CancelRequested).unwrap();
        }
        let before = self.setup.clone();
        if let Operation::Resume { max_steps, inputs, .. } = operation {
            self.setup.max_steps = max_steps.or(self.setup.max_steps);
            if let Some(inputs) = inputs {
                self.setup.inputs = Arc::new(self.walker.merged_inputs(&object(inputs)));
            }
        }
        if let Err(error) = self.handle(event) {
            let HandleError::Refused { code, message } = error else { panic!("{error}") };
            self.setup = before;
            // A refusal changes nothing: the old walker has state that the restored one lacks.
            if let Some(known) = known {
                self.walker = known;
            }
            assert!(!message.is_empty());
            return self.seen(Some(code.as_str().to_owned()));
        }
        if cancelled {
            self.setup = before;
        }
        while self.step() {}
        assert!(self.running.is_empty() && self.unacknowledged.is_empty(), "stopped halfway");
        self.seen(None)
    }

    fn seen(&self, refused: Option<String>) -> Seen {
        let summary = self.walker.summary();
        let mut state = value(&summary.state);
        if let Some(V::Map(error)) = state.get_mut("_last_error") {
            // The model does not have the host's words for failures.
            error.remove("error");
        }
        let is_static = |id: &str| id.contains("/before/") || id.contains("/after/");
        Seen {
            refused,
            status: summary.status.as_str().to_owned(),
            ended_by: summary.ended_by.map(|by| by.as_str().to_owned()),
            limit_reached: summary.limit_reached,
            error: summary.error.map(|error| error.code.as_str().to_owned()),
            state,
            output: summary.output.as_deref().map(V::of),
            visited: self.visited(),
            executions: summary.executions,
            steps: summary.steps,
            next: summary.next,
            interrupts: summary
                .interrupts
                .iter()
                .map(|asked| {
                    let payload = (!is_static(&asked.id)).then(|| V::of(&asked.payload.0));
                    (asked.id.clone(), asked.node.clone(), payload)
                })
                .collect(),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), HandleError> {
        for effect in self.walker.handle(Timestamp(1), event)? {
            match effect {
                Effect::RunTask(spec) => self.running.push(*spec),
                Effect::Persist(persist) => {
                    self.unacknowledged.push(persist.id);
                    self.store(*persist);
                }
                Effect::SetTimer { timer, .. } => drop(self.timers.insert(timer)),
                Effect::Abort { .. } => panic!("nothing is given up on in a random case"),
                Effect::ModelRecorded { .. } => panic!("no task of a random case asks a model"),
                Effect::LookUp(_) => panic!("a random case has no cache"),
                Effect::RunHook(_) | Effect::AbortHook { .. } => panic!("a random case has no hooks"),
                Effect::Finish(status) => assert!(status.is_end()),
                Effect::Suspend(status) => assert!(!status.is_end() && status != Status::Running),
                Effect::Emit(_) => {}
                Effect::Continue => self.has_more = true,
            }
        }
        Ok(())
    }

    fn store(&mut self, persist: Persist) {
        let key = match &persist.record {
            Record::Task(task) => format!("task {}", task.task),
            Record::Answers(answers) => format!("answers {}", answers.task),
            Record::Hook(hook) => format!("hook {}", hook.call),
            Record::Status(_) => "status".to_owned(),
            Record::Checkpoint(checkpoint) => {
                let untracked = |name: &str| {
                    let found = self.graph.channels.iter().find(|channel| channel.name == name);
                    found.is_some_and(|channel| channel.reducer == Reducer::Untracked)
                };
                assert!(!checkpoint.channels.keys().any(|name| untracked(name)), "untracked and stored");
                assert!(
                    !persist.values.iter().any(|value| untracked(&value.channel)),
                    "untracked and stored"
                );
                self.stored.pending.clear();
                self.stored.checkpoints.push(persist);
                return;
            }
        };
        self.stored.pending.insert(key, persist.record);
    }

    /// Returns the visited nodes from the checkpoints.
    fn visited(&self) -> Vec<String> {
        let mut visited = Vec::new();
        for persist in &self.stored.checkpoints {
            let Record::Checkpoint(checkpoint) = &persist.record else { panic!("no checkpoint") };
            visited.extend(checkpoint.visited.iter().cloned());
        }
        visited
    }

    /// Restores a walker from the stored records alone.
    fn restored(&self) -> Walker {
        let mut values = BTreeMap::<String, Vec<_>>::new();
        let mut standing = CumulativeState::default();
        let (mut warnings, mut warned, mut last) = (Vec::new(), None, None);
        for persist in &self.stored.checkpoints {
            let Record::Checkpoint(checkpoint) = &persist.record else { panic!("no checkpoint") };
            standing.follow(checkpoint);
            if !checkpoint.warnings.is_empty() {
                let digest = persist.record.encode().unwrap().1;
                warned = Some(CheckpointPlace { digest, sequence: checkpoint.sequence });
            }
            warnings.extend(checkpoint.warnings.iter().cloned());
            for value in &persist.values {
                let kept = values.entry(value.channel.clone()).or_default();
                if value.kind == ValueKind::Whole {
                    kept.clear();
                }
                kept.push(value.clone());
            }
            last = Some((checkpoint, persist.record.encode().unwrap().1));
        }
        let (checkpoint, digest) = last.unwrap();
        let (mut pending, mut answers, mut hooks, mut status) = (Vec::new(), Vec::new(), Vec::new(), None);
        for record in self.stored.pending.values().cloned() {
            match record {
                Record::Task(record) => pending.push(through_text(&record)),
                Record::Answers(record) => answers.push(through_text(&record)),
                Record::Hook(record) => hooks.push(through_text(&record)),
                Record::Status(record) => status = Some(through_text(&record)),
                Record::Checkpoint(_) => {}
            }
        }
        let mut checkpoint = through_text(&**checkpoint);
        standing.complete(&mut checkpoint);
        let restored = Restored {
            checkpoint,
            digest,
            values: values.into_values().flatten().collect(),
            pending,
            answers,
            hooks,
            status,
            warnings,
            warned,
        };
        let mut walker = Walker::restore(Arc::clone(&self.graph), self.setup.clone(), restored).unwrap();
        walker.set_slice_length(slice_of(&self.graph));
        walker
    }

    fn draw(&mut self, below: usize) -> usize {
        self.order =
            self.order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.order >> 33).unwrap() % below
    }

    /// Performs one of the possible next events, chosen by `order`; `false` if there is none.
    fn step(&mut self) -> bool {
        let retry = self.timers.iter().position(|timer| matches!(timer, TimerId::Retry { .. }));
        let choices = self.running.len() + self.unacknowledged.len().min(1) + usize::from(retry.is_some());
        if choices == 0 && !self.has_more {
            return false;
        }
        let choice = self.draw(choices + usize::from(self.has_more));
        if choice == choices {
            self.has_more = false;
            self.handle(Event::Continued).unwrap();
            return true;
        }
        let event = if choice < self.running.len() {
            let spec = self.running.remove(choice);
            let report = self.perform_task(&spec);
            Event::TaskDone { task: spec.activation.task.into(), attempt: spec.activation.attempt, report }
        } else if choice == self.running.len() && !self.unacknowledged.is_empty() {
            Event::Persisted(self.unacknowledged.remove(0))
        } else {
            let timer = self.timers.iter().nth(retry.unwrap()).cloned().unwrap();
            self.timers.remove(&timer);
            Event::TimerFired(timer)
        };
        self.handle(event).unwrap();
        true
    }

    fn perform_task(&mut self, spec: &TaskSpec) -> TaskReport {
        let told = &spec.activation;
        let reply = self.doubles.call(DoubleCall {
            node: spec.node.0 as usize,
            task: told.task.clone(),
            attempt: told.attempt,
            superstep: told.superstep,
            visit: told.visit,
            argument: told.argument.as_ref().map(V::of),
            answers: told.answers.iter().map(V::of).collect(),
            params: V::of(&spec.params),
        });
        assert_eq!(spec.item_id, format!("t/n{}", spec.node.0));
        assert_eq!(told.node_id, format!("n{}", spec.node.0));
        self.answered.entry(spec.node.0 as usize).or_default().push(reply.clone());
        let result = match reply {
            Reply::Result(value) => Ok(Outcome::Result(value.to_json())),
            Reply::Ask(value) => Ok(Outcome::Interrupt(value.to_json())),
            Reply::Fail(category) => Err(Failure::new(Category::parse(category).unwrap(), "no")),
            Reply::Command(update, goto) => Ok(Outcome::Command {
                update: update.iter().map(|(key, value)| ((*key).to_owned(), value.to_json())).collect(),
                goto: goto
                    .iter()
                    .map(|(node, argument)| Goto {
                        node: node.clone(),
                        argument: argument.as_ref().map(V::to_json),
                    })
                    .collect(),
            }),
            Reply::Echo => panic!("an echo is made into a result"),
        };
        TaskReport::new(result, 1)
    }
}
