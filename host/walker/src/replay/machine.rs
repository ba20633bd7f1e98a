//! The replay of a whole run: from which checkpoints it starts again, and which steps its driver performs.

use std::sync::Arc;

use graph_core::digest::Digest;

use super::recorded::{Mark, RecordedRun};
use super::section::{Progress, RecordedAttempt, Section};
use super::summary::{Replay, ReplayedSuperstep};
use crate::walker::{Event, Lookup, Resume, RunTree, TaskReport, TaskSpec};

/// Options of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The world answers the calls of attempts, not the journal: different answers are listed, and the journals of checkpoints are not compared.
    pub live: bool,
}

/// A step that the driver of a replay performs.
#[derive(Debug)]
pub enum Step {
    /// Load the components and documents to which the run is pinned from a checkpoint on. Steps up to the next `Prepare` use them.
    Prepare {
        /// Number of the checkpoint, of the run itself.
        checkpoint: u64,
    },
    /// Build the run with its setup at a checkpoint, with durability `sync`, and answer with [`ReplayMachine::begin`]. Until then,
    /// the step stays the next one.
    Begin {
        /// Number of the checkpoint, of the run itself.
        checkpoint: u64,
        /// `true` if the run is started, `false` if it is restored at the checkpoint, without pending records.
        is_start: bool,
    },
    /// Execute an attempt against [`RecordedAttempt::entries`], and answer with [`ReplayMachine::executed`].
    Execute {
        /// The attempt, as the walker requests it.
        spec: Box<TaskSpec>,
        /// Its records, for the answer.
        attempt: Box<RecordedAttempt>,
    },
    /// Find the component that performs a task whose cached result the run used, and answer with [`ReplayMachine::looked_up`].
    LookUp(Box<Lookup>),
    /// A superstep is done. This needs no answer.
    Superstep(ReplayedSuperstep),
    /// The replay is done: [`ReplayMachine::finish`] has its result.
    Finished,
}

/// The replay of a recorded run.
#[derive(Debug)]
pub struct ReplayMachine {
    recorded: Arc<RecordedRun>,
    options: ReplayOptions,
    replay: Replay,
    /// Pins that the driver has prepared.
    pins: Option<Digest>,
    state: State,
}

/// Position of the replay among the checkpoints of the run itself; the numbers are indices of these.
#[derive(Debug)]
enum State {
    /// The section that begins at a checkpoint is next.
    Next { start: usize },
    /// The supersteps from one checkpoint up to another are next.
    Supersteps { at: usize, end: usize, is_start: bool },
    /// The driver builds the run for these supersteps.
    Beginning { at: usize, end: usize, is_start: bool },
    /// The supersteps are executed.
    Executing { at: usize, end: usize, section: Box<Section> },
}

impl ReplayMachine {
    /// Creates the replay of a run.
    pub fn new(recorded: Arc<RecordedRun>, options: ReplayOptions) -> Self {
        Self { recorded, options, replay: Replay::default(), pins: None, state: State::Next { start: 0 } }
    }

    /// Continues up to the next step of the driver.
    pub fn next_step(&mut self) -> Step {
        loop {
            match &mut self.state {
                State::Next { start } => {
                    let start = *start;
                    let Some(first) = self.recorded.line("").get(start).copied() else {
                        return Step::Finished;
                    };
                    // All supersteps with the same pins are executed with one set of components.
                    if self.pins != Some(first.pins) {
                        self.pins = Some(first.pins);
                        return Step::Prepare { checkpoint: first.sequence };
                    }
                    if let Some(taken) = self.open(start, first) {
                        self.replay.supersteps.push(taken.clone());
                        return Step::Superstep(taken);
                    }
                }
                State::Supersteps { at, end, is_start } => {
                    let (at, end, is_start) = (*at, *end, *is_start);
                    self.state = if is_start || at < end {
                        State::Beginning { at, end, is_start }
                    } else {
                        State::Next { start: end + 1 }
                    };
                }
                State::Beginning { at, is_start, .. } => {
                    let checkpoint = self.recorded.line("")[*at].sequence;
                    return Step::Begin { checkpoint, is_start: *is_start };
                }
                State::Executing { at, end, section } => match section.next(&mut self.replay) {
                    Progress::Step(step) => return step,
                    Progress::Ended { reached } => {
                        let line = self.recorded.line("");
                        let place = |reached| line.binary_search_by_key(&reached, |mark| mark.sequence).ok();
                        let at = match reached.and_then(place) {
                            Some(next) if next > *at => next,
                            // A superstep that differs is not executed again: a live replay would repeat its calls of the world.
                            _ => *at + 1,
                        };
                        // After a difference, the next superstep starts again from its recorded checkpoint.
                        self.state = State::Supersteps { at, end: *end, is_start: false };
                    }
                },
            }
        }
    }

    /// Begins the section from a checkpoint up to the next event from outside or change of pins. Returns a description of the checkpoint
    /// if it is taken from the record.
    fn open(&mut self, start: usize, first: Mark) -> Option<ReplayedSuperstep> {
        let line = self.recorded.line("");
        let follows = |next: &Mark| next.is_superstep && next.pins == first.pins;
        let mut end = start;
        while line.get(end + 1).is_some_and(follows) {
            end += 1;
        }
        // A superstep that was resumed with accepted changes follows from the checkpoint before them.
        let before = first.is_superstep.then(|| start.checked_sub(1)).flatten();
        let is_taken = !first.is_start && before.is_none();
        self.state = State::Supersteps { at: before.unwrap_or(start), end, is_start: first.is_start };
        let taken = is_taken.then(|| self.recorded.find("", first.sequence)).flatten();
        taken.map(|stored| ReplayedSuperstep::taken(&stored.checkpoint))
    }

    /// Takes the run that [`Step::Begin`] asked for. At any other step, it is ignored.
    pub fn begin(&mut self, tree: RunTree) {
        let State::Beginning { at, end, is_start } = self.state else { return };
        let line = self.recorded.line("");
        let (reached, last) = (line[at].sequence, line[end].sequence);
        let (reached, first) = if is_start {
            (None, Event::Started)
        } else {
            (Some(reached), Event::Resumed(Resume::default()))
        };
        let recorded = Arc::clone(&self.recorded);
        let mut section = Box::new(Section::new(recorded, self.options, tree, reached, last));
        section.begin(first, &mut self.replay);
        self.state = State::Executing { at, end, section };
    }

    /// Takes the result of an attempt, and the first difference between its calls and its journal.
    pub fn executed(&mut self, attempt: RecordedAttempt, report: TaskReport, difference: Option<String>) {
        if let State::Executing { section, .. } = &mut self.state {
            section.executed(attempt, report, difference, &mut self.replay);
        }
    }

    /// Takes the digest of the component that would perform a task; `None` if it is not known.
    pub fn looked_up(&mut self, lookup: &Lookup, performer: Option<Digest>) {
        if let State::Executing { section, .. } = &mut self.state {
            section.looked_up(lookup, performer, &mut self.replay);
        }
    }

    /// Adds to the result what has changed of the things that the run is pinned to, a line each.
    pub fn changed(&mut self, changes: &[String]) {
        for change in changes {
            if !self.replay.changes.contains(change) {
                self.replay.changes.push(change.clone());
            }
        }
    }

    /// Returns the result so far.
    pub fn result(&self) -> &Replay {
        &self.replay
    }

    /// Returns the result.
    pub fn finish(self) -> Replay {
        self.replay
    }
}
