//! The phase of a run between events, with the work that belongs to it, and the table of its changes.

use super::event::PersistId;
use super::hooks::schedule::HookPlanning;
use super::tasks::commit::SuperstepCommit;
use super::tasks::making::SuperstepDraft;
use super::tasks::superstep::Superstep;

/// The phase of a run between events.
#[derive(Debug)]
pub(super) enum Phase {
    /// The run has not started.
    New,
    /// A boundary waits to be persisted.
    Boundary(PersistId),
    /// A superstep may start.
    Ready,
    /// The tasks of a superstep are being made.
    Making(Box<SuperstepDraft>),
    /// A superstep is active.
    Running(Box<Superstep>),
    /// A superstep commits.
    Committing(Box<SuperstepCommit>),
    /// A superstep has committed, and the hooks after it are planned.
    Planning(Box<HookPlanning>),
    /// Hooks are asked about the run, and nothing else happens. If they are asked about the stop of a superstep, it has
    /// no running attempts.
    Hooks(Option<Box<Superstep>>),
    /// A suspension waits to be persisted.
    Suspending(PersistId),
    /// The run waits to be resumed.
    Suspended,
    /// The run has ended.
    Finished,
    /// The run goes no further in this process: the store has refused a record, or the driver has taken its state. The use
    /// of a superstep that was active is still reported.
    Broken(Option<Box<Superstep>>),
}

/// The name of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PhaseName {
    New,
    Boundary,
    Ready,
    Making,
    Running,
    Committing,
    Planning,
    Hooks,
    Suspending,
    Suspended,
    Finished,
    Broken,
}

/// Reason why a run changes its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The run has reached a boundary: its start, a committed superstep, new inputs or an edit.
    Reach,
    /// The store has taken the record for which the run waited.
    Store,
    /// The tasks of the next superstep are to be made.
    Make,
    /// All tasks of a superstep are made.
    Start,
    /// All tasks of a superstep have settled, and none prevents its commit.
    Commit,
    /// A superstep has committed, and hooks follow it.
    Plan,
    /// A superstep cannot be made or committed, or the run stops before that is done.
    Abandon,
    /// Hooks are asked about a boundary or a stop.
    Ask,
    /// The hooks about a boundary or a stop let the run continue.
    Pass,
    /// The run stops before its end.
    Suspend,
    /// The run has ended, and its hooks have been asked.
    Finish,
    /// A program or the user resumes the run.
    Resume,
    /// The run of a checkpoint begins as another run.
    Fork,
    /// A record cannot be stored.
    Refuse,
    /// The driver takes the state of a run that has stopped.
    Close,
    /// A step puts back the work that it has taken. This changes no phase.
    Keep,
}

/// A change of the phase.
pub(super) type Transition = (PhaseName, Cause, PhaseName);

/// All changes of the phase that there are.
pub(super) const TRANSITIONS: &[Transition] = {
    use Cause::{
        Abandon, Ask, Close, Commit, Finish, Fork, Make, Pass, Plan, Reach, Refuse, Resume, Start, Store,
        Suspend,
    };
    use PhaseName::{
        Boundary, Broken, Committing, Finished, Hooks, Making, New, Planning, Ready, Running, Suspended,
        Suspending,
    };
    &[
        (New, Reach, Boundary),
        (New, Reach, Ready),
        (New, Suspend, Suspending),
        (New, Refuse, Broken),
        (Boundary, Store, Ready),
        (Boundary, Suspend, Suspending),
        (Boundary, Refuse, Broken),
        (Ready, Make, Making),
        (Ready, Ask, Hooks),
        (Ready, Finish, Finished),
        (Ready, Suspend, Suspending),
        (Ready, Refuse, Broken),
        (Making, Start, Running),
        (Making, Abandon, Ready),
        (Making, Refuse, Broken),
        (Running, Commit, Committing),
        (Running, Ask, Hooks),
        (Running, Suspend, Suspending),
        (Running, Refuse, Broken),
        (Committing, Plan, Planning),
        (Committing, Reach, Boundary),
        (Committing, Reach, Ready),
        (Committing, Abandon, Running),
        (Committing, Refuse, Broken),
        (Planning, Reach, Boundary),
        (Planning, Reach, Ready),
        (Planning, Refuse, Broken),
        // The hooks about a limit may be followed by those about the end that it brings.
        (Hooks, Ask, Hooks),
        (Hooks, Pass, Boundary),
        (Hooks, Pass, Ready),
        (Hooks, Suspend, Suspending),
        (Hooks, Refuse, Broken),
        (Suspending, Store, Suspended),
        (Suspending, Refuse, Broken),
        (Suspended, Resume, Ready),
        (Suspended, Resume, Boundary),
        (Suspended, Reach, Boundary),
        (Suspended, Suspend, Suspending),
        (Suspended, Fork, New),
        (Suspended, Refuse, Broken),
        (Suspended, Close, Broken),
        (Finished, Reach, Boundary),
        (Finished, Suspend, Suspending),
        (Finished, Fork, New),
        (Finished, Refuse, Broken),
        (Finished, Close, Broken),
        (Broken, Refuse, Broken),
        (Broken, Close, Broken),
    ]
};

/// A change of the phase that is not in the table. The run has broken instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a fault of graph-host: a run in phase {from:?} cannot reach {to:?} ({cause:?}); what is stored of it is whole: resume it"
)]
pub(super) struct RefusedTransition {
    from: PhaseName,
    cause: Cause,
    to: PhaseName,
}

/// The present phase of a run. It changes only as [`TRANSITIONS`] lists.
#[derive(Debug)]
pub(super) struct RunPhase {
    state: PhaseState,
    refused: Option<RefusedTransition>,
}

#[derive(Debug)]
enum PhaseState {
    At(Phase),
    /// A step holds the work of the phase. Once it is done it puts the work back, or changes the phase.
    Taken(PhaseName),
}

impl Phase {
    /// The name of the phase.
    pub(super) const fn name(&self) -> PhaseName {
        match self {
            Self::New => PhaseName::New,
            Self::Boundary(_) => PhaseName::Boundary,
            Self::Ready => PhaseName::Ready,
            Self::Making(_) => PhaseName::Making,
            Self::Running(_) => PhaseName::Running,
            Self::Committing(_) => PhaseName::Committing,
            Self::Planning(_) => PhaseName::Planning,
            Self::Hooks(_) => PhaseName::Hooks,
            Self::Suspending(_) => PhaseName::Suspending,
            Self::Suspended => PhaseName::Suspended,
            Self::Finished => PhaseName::Finished,
            Self::Broken(_) => PhaseName::Broken,
        }
    }
}

impl PhaseName {
    /// Returns `true` if the run is neither stopped nor about to stop.
    pub(super) const fn is_under_way(self) -> bool {
        match self {
            Self::Boundary
            | Self::Ready
            | Self::Making
            | Self::Running
            | Self::Committing
            | Self::Planning
            | Self::Hooks => true,
            Self::New | Self::Suspending | Self::Suspended | Self::Finished | Self::Broken => false,
        }
    }
}

impl RunPhase {
    /// Creates the phase of a run that has not started.
    pub(super) const fn new() -> Self {
        Self::at(Phase::New)
    }

    /// Creates the phase of a stored run. `is_finished`: it has ended, and its hooks have been asked.
    pub(super) const fn restored(is_finished: bool) -> Self {
        Self::at(if is_finished { Phase::Finished } else { Phase::Suspended })
    }

    pub(super) const fn at(phase: Phase) -> Self {
        Self { state: PhaseState::At(phase), refused: None }
    }

    /// The name of the phase.
    #[inline]
    pub(super) const fn name(&self) -> PhaseName {
        match &self.state {
            PhaseState::At(phase) => phase.name(),
            PhaseState::Taken(name) => *name,
        }
    }

    /// The phase with its work; `None` while a step holds the work.
    #[inline]
    pub(super) const fn now(&self) -> Option<&Phase> {
        match &self.state {
            PhaseState::At(phase) => Some(phase),
            PhaseState::Taken(_) => None,
        }
    }

    /// Changes the phase. A change that is not in the table breaks the run.
    pub(super) fn enter(&mut self, cause: Cause, phase: Phase) {
        let transition = (self.name(), cause, phase.name());
        if !TRANSITIONS.contains(&transition) {
            return self.refuse(transition, phase);
        }
        #[cfg(test)]
        seen::add(transition);
        self.state = PhaseState::At(phase);
    }

    /// Breaks the run, and keeps the superstep that is active in the present phase or would be in `phase`.
    fn refuse(&mut self, (from, cause, to): Transition, phase: Phase) {
        let of_phase = |phase| match phase {
            Phase::Running(superstep) => Some(superstep),
            Phase::Hooks(superstep) | Phase::Broken(superstep) => superstep,
            _ => None,
        };
        let present = match std::mem::replace(&mut self.state, PhaseState::Taken(from)) {
            PhaseState::At(present) => of_phase(present),
            PhaseState::Taken(_) => None,
        };
        self.state = PhaseState::At(Phase::Broken(present.or_else(|| of_phase(phase))));
        self.refused.get_or_insert(RefusedTransition { from, cause, to });
    }

    /// Takes the change that was refused since the last call, if there is one. Work that no step has put back is lost, and
    /// breaks the run as well.
    pub(super) fn take_refused(&mut self) -> Option<RefusedTransition> {
        if let PhaseState::Taken(name) = self.state {
            self.refuse((name, Cause::Keep, name), Phase::Broken(None));
        }
        self.refused.take()
    }

    /// The active superstep.
    #[inline]
    pub(super) fn superstep(&self) -> Option<&Superstep> {
        match &self.state {
            PhaseState::At(Phase::Running(superstep)) => Some(superstep),
            PhaseState::At(Phase::Hooks(superstep) | Phase::Broken(superstep)) => superstep.as_deref(),
            _ => None,
        }
    }

    /// The active superstep.
    #[inline]
    pub(super) fn superstep_mut(&mut self) -> Option<&mut Superstep> {
        match &mut self.state {
            PhaseState::At(Phase::Running(superstep)) => Some(superstep),
            PhaseState::At(Phase::Hooks(superstep) | Phase::Broken(superstep)) => superstep.as_deref_mut(),
            _ => None,
        }
    }

    /// Takes the active superstep.
    pub(super) fn take_superstep(&mut self) -> Option<Box<Superstep>> {
        if let PhaseState::At(Phase::Hooks(superstep) | Phase::Broken(superstep)) = &mut self.state {
            return superstep.take();
        }
        self.take(PhaseName::Running, |phase| match phase {
            Phase::Running(superstep) => Ok(superstep),
            other => Err(other),
        })
    }

    /// Takes the superstep whose tasks are being made.
    pub(super) fn take_making(&mut self) -> Option<Box<SuperstepDraft>> {
        self.take(PhaseName::Making, |phase| match phase {
            Phase::Making(making) => Ok(making),
            other => Err(other),
        })
    }

    /// Takes the superstep that commits.
    pub(super) fn take_committing(&mut self) -> Option<Box<SuperstepCommit>> {
        self.take(PhaseName::Committing, |phase| match phase {
            Phase::Committing(committing) => Ok(committing),
            other => Err(other),
        })
    }

    /// Takes the superstep that has committed, while its hooks are planned.
    pub(super) fn take_planning(&mut self) -> Option<Box<HookPlanning>> {
        self.take(PhaseName::Planning, |phase| match phase {
            Phase::Planning(planning) => Ok(planning),
            other => Err(other),
        })
    }

    fn take<T>(&mut self, name: PhaseName, work: impl FnOnce(Phase) -> Result<T, Phase>) -> Option<T> {
        match std::mem::replace(&mut self.state, PhaseState::Taken(name)) {
            PhaseState::At(phase) => match work(phase) {
                Ok(work) => Some(work),
                Err(other) => {
                    self.state = PhaseState::At(other);
                    None
                }
            },
            taken @ PhaseState::Taken(_) => {
                self.state = taken;
                None
            }
        }
    }

    /// Puts back the work of the phase, which a step has taken.
    pub(super) fn keep(&mut self, phase: Phase) {
        match self.state {
            PhaseState::Taken(name) if name == phase.name() => self.state = PhaseState::At(phase),
            _ => self.refuse((self.name(), Cause::Keep, phase.name()), phase),
        }
    }

    /// Notes that the store has taken all records up to `id`. Returns `true` if that completes a suspension.
    pub(super) fn persisted(&mut self, id: PersistId) -> bool {
        match self.state {
            PhaseState::At(Phase::Boundary(wanted)) if id >= wanted => {
                self.enter(Cause::Store, Phase::Ready);
                false
            }
            PhaseState::At(Phase::Suspending(wanted)) if id >= wanted => {
                self.enter(Cause::Store, Phase::Suspended);
                true
            }
            _ => false,
        }
    }
}

/// The changes of phases that a test's thread has seen.
#[cfg(test)]
pub(super) mod seen {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::Transition;

    thread_local! {
        static SEEN: RefCell<BTreeSet<Transition>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn add(transition: Transition) {
        SEEN.with_borrow_mut(|seen| seen.insert(transition));
    }

    /// Takes the changes seen since the last call.
    pub(in crate::walker) fn take() -> BTreeSet<Transition> {
        SEEN.take()
    }
}
