//! What a run leaves behind: checkpoints, task records, answers and status records, each signed by the host.

mod accepted;
mod body;
mod cache;
mod chain;
mod checkpoint;
mod digest_tree;
mod edge;
mod event;
mod history;
mod hook;
pub mod journal;
mod pruning;
mod signed;
mod standing;
mod status;
mod task;
mod value;

pub use accepted::Accepted;
pub use body::{Record, RecordKind};
pub use cache::{CacheEntry, CacheEntryError, CacheHit, SignedCacheEntry, TaskCache};
pub use chain::{ChainError, ChainVerifier};
pub(crate) use checkpoint::result_hasher;
pub use checkpoint::{
    ActivationKind, ChannelStamp, Checkpoint, CheckpointPlace, Delta, PendingActivation, ResultDigest, Source,
};
pub use digest_tree::DigestTree;
pub use edge::{FiredEdge, Via};
pub use event::{Entry, TaskEvent, WrittenReader, Wrote};
pub use history::{History, Landmark, NotThere, Place};
pub use hook::{HookRecord, HookSummary, PlannedAction, PlannedHook};
pub use journal::{AttemptJournal, JournalDifference, JournalEntry, JournalReader};
pub use pruning::{Pruning, PruningError, SignedPruning};
pub use signed::{DecodeError, EncodeError, SignedRecord};
pub use standing::Standing;
pub use status::{End, EndedBy, ErrorCode, RunError, Status, StatusRecord};
pub use task::{AnswersRecord, InterruptRecord, PendingOutcome, TaskRecord, TaskSummary, TaskUse};
pub use value::{Canonical, ChannelValue, ValueKind};
