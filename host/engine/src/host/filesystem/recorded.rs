//! Answers of the file system in the journal.

use graph_core::record::journal::{as_digested, as_kept};
use serde_json::{Value, json};

use super::streams::read_at;
use super::{FileDescriptor, FsError, Mounts};
use crate::bindings::wasi::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, OpenFlags, PathFlags,
};
use crate::journal::{AnswerSource, RecordedAnswer, SharedJournal};
use crate::state::TaskState;

/// The interface in the journal.
pub(super) const TYPES: &str = "wasi:filesystem/types";

const CODES: [ErrorCode; 37] = [
    ErrorCode::Access,
    ErrorCode::WouldBlock,
    ErrorCode::Already,
    ErrorCode::BadDescriptor,
    ErrorCode::Busy,
    ErrorCode::Deadlock,
    ErrorCode::Quota,
    ErrorCode::Exist,
    ErrorCode::FileTooLarge,
    ErrorCode::IllegalByteSequence,
    ErrorCode::InProgress,
    ErrorCode::Interrupted,
    ErrorCode::Invalid,
    ErrorCode::Io,
    ErrorCode::IsDirectory,
    ErrorCode::Loop,
    ErrorCode::TooManyLinks,
    ErrorCode::MessageSize,
    ErrorCode::NameTooLong,
    ErrorCode::NoDevice,
    ErrorCode::NoEntry,
    ErrorCode::NoLock,
    ErrorCode::InsufficientMemory,
    ErrorCode::InsufficientSpace,
    ErrorCode::NotDirectory,
    ErrorCode::NotEmpty,
    ErrorCode::NotRecoverable,
    ErrorCode::Unsupported,
    ErrorCode::NoTty,
    ErrorCode::NoSuchDevice,
    ErrorCode::Overflow,
    ErrorCode::NotPermitted,
    ErrorCode::Pipe,
    ErrorCode::ReadOnly,
    ErrorCode::InvalidSeek,
    ErrorCode::TextFileBusy,
    ErrorCode::CrossDevice,
];

const KINDS: [(DescriptorType, &str); 8] = [
    (DescriptorType::Unknown, "unknown"),
    (DescriptorType::BlockDevice, "block-device"),
    (DescriptorType::CharacterDevice, "character-device"),
    (DescriptorType::Directory, "folder"),
    (DescriptorType::Fifo, "fifo"),
    (DescriptorType::SymbolicLink, "link"),
    (DescriptorType::RegularFile, "file"),
    (DescriptorType::Socket, "socket"),
];

pub(super) fn code_named(value: &Value) -> Option<ErrorCode> {
    let name = value.as_str()?;
    CODES.into_iter().find(|code| code.name() == name)
}

pub(super) fn kind_name(kind: DescriptorType) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("unknown", |(_, name)| name)
}

fn kind_named(value: &Value) -> Option<DescriptorType> {
    let name = value.as_str()?;
    KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
}

pub(super) fn stat(stat: &DescriptorStat) -> Value {
    json!({"kind": kind_name(stat.type_), "size": stat.size})
}

pub(super) fn as_stat(value: &Value) -> Option<DescriptorStat> {
    Some(DescriptorStat {
        type_: kind_named(value.get("kind")?)?,
        link_count: 1,
        size: value.get("size")?.as_u64()?,
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
    })
}

pub(super) fn entries(entries: &[DirectoryEntry]) -> Value {
    entries.iter().map(|entry| json!([entry.name, kind_name(entry.type_)])).collect()
}

pub(super) fn as_entries(value: &Value) -> Option<Vec<DirectoryEntry>> {
    let entry = |value: &Value| {
        Some(DirectoryEntry { name: value.get(0)?.as_str()?.to_owned(), type_: kind_named(value.get(1)?)? })
    };
    value.as_array()?.iter().map(entry).collect()
}

/// Returns the flags of an open for a request.
pub(super) fn flags(path: PathFlags, open: OpenFlags, flags: DescriptorFlags) -> Value {
    let set = [
        (path.contains(PathFlags::SYMLINK_FOLLOW), "follow"),
        (open.contains(OpenFlags::CREATE), "create"),
        (open.contains(OpenFlags::DIRECTORY), "directory"),
        (open.contains(OpenFlags::EXCLUSIVE), "exclusive"),
        (open.contains(OpenFlags::TRUNCATE), "truncate"),
        (flags.contains(DescriptorFlags::READ), "read"),
        (flags.contains(DescriptorFlags::WRITE), "write"),
        (flags.contains(DescriptorFlags::MUTATE_DIRECTORY), "change"),
    ];
    set.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

/// Returns the bytes of a read again: from the journal, or from the file if the journal has only their digest.
pub(super) fn bytes_again(
    journal: &SharedJournal,
    kept: &RecordedAnswer,
    answer: &Value,
    mounts: &Mounts,
    (path, offset): (&str, u64),
) -> wasmtime::Result<Vec<u8>> {
    if let Some(bytes) = as_kept(answer) {
        return Ok(bytes);
    }
    let Some((length, digest)) = as_digested(answer) else { return Err(journal.malformed(kept)) };
    let differs = |reason: String| journal.content_differs(kept, reason);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0).min(super::streams::MAX_CHUNK)];
    let count = mounts
        .open_again(path)
        .and_then(|file| read_at(&file, &mut bytes, offset))
        .map_err(|error| differs(format!("`{path}` cannot be read again: {error}")))?;
    bytes.truncate(count);
    if bytes.len() as u64 != length || graph_core::digest::Digest::of_bytes(&bytes) != digest {
        return Err(differs(format!("`{path}` has another content by now")));
    }
    Ok(bytes)
}

impl TaskState {
    /// Lets the outside world answer and records the answer, or lets the journal answer.
    pub(super) fn file_call<T>(
        &mut self,
        function: &'static str,
        request: Value,
        world: impl FnOnce(&mut Self) -> Result<(T, Value), FsError>,
        again: impl FnOnce(&mut Self, &RecordedAnswer, &Value) -> wasmtime::Result<Option<T>>,
    ) -> Result<T, FsError> {
        match self.journal.begin(TYPES, function, &request).map_err(FsError::Trap)? {
            AnswerSource::World => match world(self) {
                Ok((answer, kept)) => {
                    self.journal.record(TYPES, function, request, Ok(kept)).map_err(FsError::Trap)?;
                    Ok(answer)
                }
                Err(FsError::Code(code)) => {
                    let kept = Value::from(code.name());
                    self.journal.record(TYPES, function, request, Err(kept)).map_err(FsError::Trap)?;
                    Err(FsError::Code(code))
                }
                Err(FsError::Trap(error)) => {
                    Err(FsError::Trap(self.journal.record_end(TYPES, function, request, error)))
                }
            },
            AnswerSource::Recorded(kept) => match kept.answer() {
                Ok(answer) => again(self, &kept, answer)
                    .and_then(|answer| answer.ok_or_else(|| self.journal.malformed(&kept)))
                    .map_err(FsError::Trap),
                Err(code) => Err(match code_named(code) {
                    Some(code) => FsError::Code(code),
                    None => FsError::Trap(self.journal.malformed(&kept)),
                }),
            },
        }
    }

    /// Performs a call without a result.
    pub(super) fn file_change(
        &mut self,
        function: &'static str,
        request: Value,
        world: impl FnOnce(&mut Self) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        self.file_call(
            function,
            request,
            |state| world(state).map(|()| ((), Value::Null)),
            |_, _, answer| Ok(answer.is_null().then_some(())),
        )
    }
}

impl FileDescriptor {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::File(open) => &open.path,
            Self::Folder(open) => &open.path,
        }
    }
}
