//! Errors of the file system for components.

use std::io::{self, ErrorKind};

use wasmtime::component::ResourceTableError;

use crate::bindings::wasi::filesystem::types::ErrorCode;
use crate::limiter::LimitReached;

/// The reason why a call of the file system failed: an error code for the component, or an error that ends the task.
#[derive(Debug)]
#[allow(unreachable_pub)]
pub enum FsError {
    Code(ErrorCode),
    Trap(wasmtime::Error),
}

impl From<ErrorCode> for FsError {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        Self::Code(code_of(&error))
    }
}

impl From<ResourceTableError> for FsError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

impl From<LimitReached> for FsError {
    fn from(limit: LimitReached) -> Self {
        Self::Trap(limit.into())
    }
}

/// Returns the code for an error of the system.
pub(crate) fn code_of(error: &io::Error) -> ErrorCode {
    match error.kind() {
        ErrorKind::NotFound => ErrorCode::NoEntry,
        // cap-std reports this error for a path that leads out of the granted folder, and the system for a protected file.
        ErrorKind::PermissionDenied => ErrorCode::NotPermitted,
        ErrorKind::AlreadyExists => ErrorCode::Exist,
        ErrorKind::InvalidInput => ErrorCode::Invalid,
        ErrorKind::NotADirectory => ErrorCode::NotDirectory,
        ErrorKind::IsADirectory => ErrorCode::IsDirectory,
        ErrorKind::DirectoryNotEmpty => ErrorCode::NotEmpty,
        ErrorKind::ReadOnlyFilesystem => ErrorCode::ReadOnly,
        ErrorKind::StorageFull => ErrorCode::InsufficientSpace,
        ErrorKind::QuotaExceeded => ErrorCode::Quota,
        ErrorKind::FileTooLarge => ErrorCode::FileTooLarge,
        ErrorKind::ResourceBusy => ErrorCode::Busy,
        ErrorKind::ExecutableFileBusy => ErrorCode::TextFileBusy,
        ErrorKind::CrossesDevices => ErrorCode::CrossDevice,
        ErrorKind::TooManyLinks => ErrorCode::TooManyLinks,
        ErrorKind::InvalidFilename => ErrorCode::NameTooLong,
        ErrorKind::Interrupted => ErrorCode::Interrupted,
        ErrorKind::Unsupported => ErrorCode::Unsupported,
        ErrorKind::OutOfMemory => ErrorCode::InsufficientMemory,
        _ => system_code(error).unwrap_or(ErrorCode::Io),
    }
}

#[cfg(unix)]
fn system_code(error: &io::Error) -> Option<ErrorCode> {
    match rustix::io::Errno::from_io_error(error)? {
        rustix::io::Errno::LOOP => Some(ErrorCode::Loop),
        rustix::io::Errno::NXIO => Some(ErrorCode::NoSuchDevice),
        _ => None,
    }
}

#[cfg(not(unix))]
fn system_code(_: &io::Error) -> Option<ErrorCode> {
    None
}
