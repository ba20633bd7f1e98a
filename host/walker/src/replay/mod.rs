//! The replay of a recorded run: a state machine without IO, which native code and pages drive alike.
//!
//! A [`RecordedRun`] is the index of the run's records. The [`ReplayMachine`] gives the walker the recorded times, seed and answers, so
//! that it makes the same decisions, and compares each checkpoint with the recorded one. What it cannot do by itself, it asks
//! of its driver: [`ReplayMachine::next_step`] returns a [`Step`], which the driver performs and, where the step says so, answers.
//!
//! - [`Step::Prepare`] and [`Step::Begin`]: the driver loads what the run was pinned to, and starts or restores the [`RunTree`].
//! - [`Step::Execute`] and [`Step::LookUp`]: the driver executes an attempt against its journal, or names the performer of a task.
//! - [`Step::Superstep`] reports a superstep that was executed again; [`Step::Finished`] is the last step.
//!
//! The machine stores nothing. After a difference, it continues from the next recorded checkpoint.
//!
//! [`RunTree`]: crate::walker::RunTree

mod compare;
mod deadlines;
mod machine;
mod recorded;
mod resume;
mod section;
mod summary;
mod world;

pub use compare::Difference;
pub use machine::{ReplayMachine, ReplayOptions, Step};
pub use recorded::{CheckpointSource, RecordedRun, StoredCheckpoint};
pub use section::RecordedAttempt;
pub use summary::{Replay, ReplayedSuperstep};
pub use world::LiveDifference;
