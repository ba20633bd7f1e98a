//! The records of a run: checkpoints, task records, answers, hook records and status records, each signed by the host.

mod accepted;
mod body;
mod cache;
mod chain;
mod checkpoint;
mod checkpoint_window;
mod cumulative;
mod digest_tree;
mod edge;
mod event;
mod group;
mod hook;
mod host_call;
pub mod journal;
mod log_line;
mod model_delta;
mod pruning;
mod selector;
mod signed;
mod status;
mod task;
mod value;

pub use accepted::AcceptedPinChange;
pub use body::{Record, RecordKind};
pub use cache::{CacheEntry, CacheEntryError, CacheHit, SignedCacheEntry, TaskCache};
pub use chain::{ChainError, ChainVerifier};
pub use checkpoint::result_hasher;
pub use checkpoint::{
    ActivationKind, ChannelStamp, Checkpoint, CheckpointPlace, Delta, GivenRecord, PendingActivation,
    ResultDigest, Source,
};
pub use checkpoint_window::{ChainReader, CheckpointLink, CheckpointWindow, TrustedCheckpoint};
pub use cumulative::CumulativeState;
pub use digest_tree::DigestTree;
pub use edge::{EdgeKind, FiredEdge};
pub use event::{ChannelWrite, HistoryEntry, TaskEvent, WrittenReader};
pub use group::RecordSignature;
pub use hook::{HookRecord, HookSummary, PlannedAction, PlannedHook};
pub use host_call::HostCall;
pub use journal::{AttemptJournal, JournalDifference, JournalEntry, JournalReader, model_uses};
pub use log_line::{LogLevel, LogLine};
pub use model_delta::{ModelDelta, ModelPart};
pub use pruning::{Pruning, PruningError, SignedPruning};
pub use selector::{CheckpointSelector, Landmarks, NoSuchCheckpoint};
pub use signed::{DecodeError, EncodeError, SignedRecord, UnsignedRecord};
pub use status::{End, EndedBy, ErrorCode, RunError, Status, StatusRecord, StopLimit};
pub use task::{
    AnswersRecord, InterruptRecord, ModelReservation, PendingOutcome, ShortRecord, TaskRecord, TaskSummary,
    TaskUse,
};
pub use value::{CanonicalValue, ChannelValue, ValueKind};
