//! What a run leaves behind: checkpoints, task records, answers and status records, each signed by the host.

mod accepted;
mod body;
mod cache;
mod chain;
mod edge;
mod event;
mod history;
mod hook;
pub mod journal;
mod pruning;
mod signed;
mod value;

pub use accepted::Accepted;
pub use body::{
    ActivationKind, AnswersRecord, ChannelStamp, Checkpoint, CheckpointPlace, End, EndedBy, ErrorCode,
    InterruptRecord, PendingActivation, PendingOutcome, Record, RecordKind, ResultDigest, RunError, Source,
    Status, StatusRecord, TaskRecord, TaskSummary, TaskUse,
};
pub use cache::{CacheEntry, CacheEntryError, CacheHit, SignedCacheEntry, TaskCache};
pub use chain::{ChainError, ChainVerifier};
pub use edge::{FiredEdge, Via};
pub use event::{Entry, TaskEvent, WrittenReader, Wrote};
pub use history::{History, Landmark, NotThere, Place};
pub use hook::{HookRecord, HookSummary, PlannedAction, PlannedHook};
pub use journal::{AttemptJournal, JournalDifference, JournalEntry, JournalReader};
pub use pruning::{Pruning, PruningError, SignedPruning};
pub use signed::{DecodeError, EncodeError, SignedRecord};
pub use value::{Canonical, ChannelValue, ValueKind};
