//! The walker: a state machine that takes a graph from superstep to superstep. Events go in, effects come out; it does
//! no IO, and time and identity are arguments.

mod answers;
mod budget;
mod cache;
mod channels;
mod children;
mod commit;
mod end;
mod event;
mod hook_context;
mod hook_verdict;
mod hooks;
mod machine;
mod make;
mod permits;
mod records;
mod reduce;
mod resume;
mod revisit;
mod routes;
mod rye;
mod schedule;
mod scope;
mod setup;
mod shares;
mod superstep;
mod tallies;
mod tasks;
mod telling;
mod travel;
mod tree;
mod writes;

pub use cache::{Answered, Lookup};
pub use event::{
    Answers, ChannelChange, CustomEvent, Earlier, Edit, Effect, Event, Notice, Persist, PersistId, Resume,
    TaskReport, TaskSpec, TimerId, Timing, Update,
};
pub use hooks::HookSpec;
pub use machine::{TIME_LIMIT, Walker};
pub(crate) use reduce::fold_fuel;
pub use setup::{
    CheckpointRef, Graphs, HandleError, Identity, RestoreError, Restored, Setup, Summary, inputs_digest,
};

pub use tree::{RestoredChild, RestoredTree, RunTree, cycles, is_child_of, named};

#[cfg(test)]
mod tests;
