//! Tests of the table of a run's phases: each of its changes is taken by some run, and any other breaks the run.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, json};

use super::simulation::{Stored, setup};
use crate::graph::Graph;
use crate::walker::phase::{Cause, Phase, PhaseName, RunPhase, TRANSITIONS, Transition, seen};
use crate::walker::tasks::superstep::Superstep;
use crate::walker::{
    Edit, Effect, Event, HandleError, Persist, PersistId, Resume, Setup, TaskReport, Update, Walker,
};
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::node::Outcome;
use graph_core::policy::Durability::{self, Exit, Sync};
use graph_core::record::{ErrorCode, Status};
use graph_core::time::Timestamp;

/// Two nodes without actions.
const PLAIN: &str = "start: a, nodes: {a: {next: b}, b: {}}";
/// A task, and hooks after each superstep.
const HOOKS: &str = "start: a, nodes: {a: {action: {item_id: t/double}, next: b}, b: {}}, \
                     hooks: [{id: step, event: after_step, action: {item_id: t/hook}}]";
/// A limit of supersteps, with hooks about the limit and the end.
const LIMIT: &str = "start: a, max_steps: 1, nodes: {a: {next: b}, b: {}}, \
                     hooks: [{id: limit, event: limit, action: {item_id: t/hook}}, \
                     {id: end, event: graph_completed, action: {item_id: t/hook}}]";
/// A pause before the second node.
const PAUSE: &str = "start: a, nodes: {a: {next: b}, b: {interrupt: before}}";
/// A question.
const ASK: &str = "start: a, nodes: {a: {action: {item_id: t/ask}}}";
/// A question, and a hook about it.
const ASK_HOOK: &str = "start: a, nodes: {a: {action: {item_id: t/ask}}}, \
                        hooks: [{id: asked, event: interrupt, action: {item_id: t/hook}}]";

/// What is done to a run in a phase.
#[derive(Clone)]
enum Act {
    Send(Box<Event>),
    /// Take the state, as a driver does with a run that has stopped.
    Close,
    /// Continue with a fork of the newest checkpoint.
    Fork,
}

impl Act {
    fn send(event: Event) -> Self {
        Self::Send(Box::new(event))
    }
}

/// A run: its graph, its durability, and what is done to it in which phase.
type Played = (&'static str, Durability, Vec<(PhaseName, Act)>);

/// A run with its store and the events that follow from its effects.
struct Player {
    graph: Arc<Graph>,
    setup: Setup,
    walker: Walker,
    stored: Stored,
    waiting: VecDeque<Event>,
}

impl Player {
    fn new(config: &str, durability: Durability) -> Self {
        let text = format!("{{tool_type: graph, config: {{{config}}}}}");
        let graph = Arc::new(crate::document::load("phases.yaml", &text, "t/phases").unwrap().graph);
        let manifest = Arc::new(Manifest::of_dispatch(DispatchPatterns::parse(["*"]).unwrap()));
        let setup = Setup { manifest, ..setup(&graph, durability) };
        let walker = Walker::new(Arc::clone(&graph), setup.clone());
        let mut player = Self { graph, setup, walker, stored: Stored::default(), waiting: VecDeque::new() };
        // Every piece of work is a slice of its own.
        player.walker.set_slice_length(1);
        player
    }

    fn phase(&self) -> PhaseName {
        self.walker.phase.name()
    }

    fn handle(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.walker.handle(Timestamp(1), event).unwrap();
        for effect in &effects {
            let next = match effect {
                Effect::RunTask(spec) => {
                    let told = &spec.activation;
                    let outcome = match spec.item_id.as_str() {
                        "t/ask" => Outcome::Interrupt(json!("?")),
                        _ => Outcome::Result(json!(1)),
                    };
                    let report = TaskReport::new(Ok(outcome), 1);
                    Event::TaskDone { task: told.task.as_str().into(), attempt: told.attempt, report }
                }
                Effect::RunHook(spec) => {
                    let report = TaskReport::new(Ok(Outcome::Result(json!(null))), 1);
                    Event::HookDone { hook: spec.call.activation.task.as_str().into(), report }
                }
                Effect::Persist(persist) => {
                    self.stored.commit(Persist::clone(persist));
                    Event::Persisted(persist.id)
                }
                Effect::Continue => Event::Continued,
                _ => continue,
            };
            self.waiting.push_back(next);
        }
        effects
    }

    /// Continues until the run is in a phase.
    fn until(&mut self, phase: PhaseName) {
        while self.phase() != phase {
            let event = self.waiting.pop_front();
            let event = event.unwrap_or_else(|| panic!("{:?} instead of {phase:?}", self.phase()));
            self.handle(event);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Send(event) => {
                self.handle(*event);
            }
            Act::Close => {
                self.walker.take_state();
            }
            Act::Fork => {
                let newest = self.stored.checkpoints.len() - 1;
                let (of, visited) = (self.stored.restored(newest), self.stored.visited(newest));
                let (graph, setup) = (Arc::clone(&self.graph), self.setup.clone());
                self.walker = Walker::fork(graph, setup, of, &visited).unwrap();
                self.stored = Stored::default();
            }
        }
    }
}

/// Runs a graph, acts on the run whenever it is in the next of the given phases, and continues until nothing is left to do.
/// Returns the changes of its phase.
fn changes(config: &str, durability: Durability, acts: &[(PhaseName, Act)]) -> BTreeSet<Transition> {
    seen::take();
    let mut player = Player::new(config, durability);
    for (phase, act) in acts {
        player.until(*phase);
        player.act(act.clone());
    }
    while let Some(event) = player.waiting.pop_front() {
        player.handle(event);
    }
    seen::take()
}

fn refuse() -> Act {
    Act::send(Event::PersistFailed { id: PersistId(0), message: "full".to_owned() })
}

fn resume(resume: Resume) -> Act {
    Act::send(Event::Resumed(resume))
}

fn edit(as_node: Option<&str>) -> Act {
    let edit = Edit { as_node: as_node.map(str::to_owned), ..Edit::default() };
    Act::send(Event::Updated(Box::new(Update { edit, back_to: None })))
}

/// Every change in the table is taken by some run, so that the table permits nothing that no run needs.
#[test]
fn every_change_in_the_table_is_taken() {
    use PhaseName::{
        Boundary, Broken, Committing, Finished, Hooks, Making, New, Planning, Ready, Running, Suspended,
        Suspending,
    };
    let start = || (New, Act::send(Event::Started));
    let kill = || Act::send(Event::KillRequested);
    let with_inputs = || resume(Resume { inputs: Some(Map::new()), ..Resume::default() });
    let with_update = || resume(Resume { update: Some(Map::new()), ..Resume::default() });
    let runs: Vec<Played> = vec![
        (PLAIN, Sync, vec![start()]),
        (PLAIN, Exit, vec![start()]),
        (HOOKS, Sync, vec![start()]),
        (HOOKS, Exit, vec![start()]),
        (LIMIT, Sync, vec![start()]),
        (ASK, Sync, vec![start()]),
        (ASK_HOOK, Sync, vec![start()]),
        (PAUSE, Sync, vec![start(), (Suspended, resume(Resume::default()))]),
        // Stops on request.
        (PLAIN, Sync, vec![start(), (Boundary, kill())]),
        (PLAIN, Sync, vec![start(), (Making, kill())]),
        (PLAIN, Sync, vec![start(), (Committing, kill())]),
        (HOOKS, Sync, vec![start(), (Hooks, kill())]),
        // A resume with inputs or an edit, another turn, and edits of runs that wait.
        (PAUSE, Sync, vec![start(), (Suspended, with_inputs())]),
        (PAUSE, Sync, vec![start(), (Suspended, with_update())]),
        (PLAIN, Sync, vec![start(), (Finished, with_inputs())]),
        (PAUSE, Sync, vec![start(), (Suspended, edit(None))]),
        (PLAIN, Sync, vec![start(), (Finished, edit(Some("a")))]),
        // Forks of a run that waits and of one that has ended.
        (PAUSE, Sync, vec![start(), (Suspended, Act::Fork), (New, Act::send(Event::Forked(None)))]),
        (PLAIN, Sync, vec![start(), (Finished, Act::Fork), (New, Act::send(Event::Forked(None)))]),
        // A store that refuses records, in each phase.
        (PLAIN, Sync, vec![(New, refuse())]),
        (PLAIN, Sync, vec![start(), (Boundary, refuse())]),
        (HOOKS, Exit, vec![start(), (Ready, refuse())]),
        (PLAIN, Sync, vec![start(), (Making, refuse())]),
        (HOOKS, Sync, vec![start(), (Running, refuse())]),
        (PLAIN, Sync, vec![start(), (Committing, refuse())]),
        (HOOKS, Sync, vec![start(), (Planning, refuse())]),
        (HOOKS, Sync, vec![start(), (Hooks, refuse())]),
        (PAUSE, Sync, vec![start(), (Suspending, refuse())]),
        (PAUSE, Sync, vec![start(), (Suspended, refuse()), (Broken, refuse())]),
        (PLAIN, Sync, vec![start(), (Finished, refuse()), (Broken, Act::Close)]),
        // A driver that takes the state.
        (PAUSE, Sync, vec![start(), (Suspended, Act::Close)]),
        (PLAIN, Sync, vec![start(), (Finished, Act::Close)]),
    ];
    let taken: BTreeSet<Transition> =
        runs.iter().flat_map(|(config, durability, acts)| changes(config, *durability, acts)).collect();
    let table: BTreeSet<Transition> = TRANSITIONS.iter().copied().collect();
    assert_eq!(table.len(), TRANSITIONS.len(), "a change is in the table twice");
    let never: Vec<_> = table.difference(&taken).collect();
    assert!(never.is_empty(), "no run takes {never:?}");
    assert_eq!(taken, table);
}

/// A change is refused if, and only if, it is not in the table.
#[test]
fn the_table_decides_about_every_change() {
    let phases = || {
        let superstep = || Box::new(Superstep::new(1));
        [
            Phase::New,
            Phase::Boundary(PersistId(1)),
            Phase::Ready,
            Phase::Running(superstep()),
            Phase::Hooks(None),
            Phase::Hooks(Some(superstep())),
            Phase::Suspending(PersistId(1)),
            Phase::Suspended,
            Phase::Finished,
            Phase::Broken(None),
        ]
    };
    let causes = [
        Cause::Reach,
        Cause::Store,
        Cause::Make,
        Cause::Start,
        Cause::Commit,
        Cause::Plan,
        Cause::Abandon,
        Cause::Ask,
        Cause::Pass,
        Cause::Suspend,
        Cause::Finish,
        Cause::Resume,
        Cause::Fork,
        Cause::Refuse,
        Cause::Close,
    ];
    for from in 0..phases().len() {
        for cause in causes {
            for next in phases() {
                let present = phases().into_iter().nth(from).unwrap();
                let (from, to) = (present.name(), next.name());
                let mut phase = RunPhase::at(present);
                phase.enter(cause, next);
                let is_refused = phase.take_refused().is_some();
                assert_eq!(
                    is_refused,
                    !TRANSITIONS.contains(&(from, cause, to)),
                    "{from:?} {cause:?} {to:?}"
                );
                assert_eq!(phase.name(), if is_refused { PhaseName::Broken } else { to });
            }
        }
    }
}

/// A change that is not in the table breaks the run: its tasks are aborted, the driver is told, and nothing continues it.
#[test]
fn a_change_outside_of_the_table_breaks_the_run() {
    let mut player = Player::new(HOOKS, Sync);
    player.handle(Event::Started);
    player.until(PhaseName::Running);
    player.walker.phase.enter(Cause::Finish, Phase::Finished);
    let effects = player.handle(Event::Continued);
    assert!(
        matches!(&effects[..], [Effect::Abort { .. }, Effect::Emit(_), Effect::Suspend(Status::Failed)]),
        "{effects:?}"
    );
    let summary = player.walker.summary();
    assert_eq!(summary.status, Status::Failed);
    assert_eq!(summary.error.map(|error| error.code), Some(ErrorCode::Storage));
    let stored = player.stored.checkpoints.len();
    while let Some(event) = player.waiting.pop_front() {
        assert!(player.handle(event).is_empty());
    }
    assert_eq!((player.phase(), player.stored.checkpoints.len()), (PhaseName::Broken, stored));
    let resumed = player.walker.handle(Timestamp(1), Event::Resumed(Resume::default()));
    assert!(matches!(resumed, Err(HandleError::Illegal { .. })));
}

/// Work that is lost, or is put back in another phase than it was taken from, breaks the run, which would otherwise never end.
#[test]
fn lost_work_breaks_the_run() {
    let broken = |phase: PhaseName, lose: fn(&mut RunPhase)| {
        let mut player = Player::new(HOOKS, Sync);
        player.handle(Event::Started);
        player.until(phase);
        lose(&mut player.walker.phase);
        let effects = player.handle(Event::Continued);
        assert!(matches!(effects.last(), Some(Effect::Suspend(Status::Failed))), "{effects:?}");
        assert_eq!(player.phase(), PhaseName::Broken);
    };
    broken(PhaseName::Making, |phase| drop(phase.take_making()));
    broken(PhaseName::Running, |phase| drop(phase.take_superstep()));
    broken(PhaseName::Committing, |phase| drop(phase.take_committing()));
    broken(PhaseName::Planning, |phase| drop(phase.take_planning()));
    broken(PhaseName::Running, |phase| {
        let superstep = phase.take_superstep();
        phase.keep(Phase::Hooks(superstep));
    });
    broken(PhaseName::Boundary, |phase| phase.keep(Phase::Ready));
}
