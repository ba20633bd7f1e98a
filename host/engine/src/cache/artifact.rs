//! Loading compiled code that has been checked. The one place in the project that is not safe Rust.
#![allow(unsafe_code)]

use wasmtime::component::Component;

/// Loads compiled code from a sealed copy in memory, mapped rather than copied again.
#[cfg(target_os = "linux")]
pub(super) fn load(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let sealed = || -> std::io::Result<std::fs::File> {
        let fd = memfd_create("graph-host-artifact", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut file = std::fs::File::from(fd);
        file.write_all(code)?;
        fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        Ok(file)
    };
    let Ok(file) = sealed() else { return copy(engine, code) };
    // SAFETY: the caller has checked with the user's key that these bytes are what this engine's `serialize` wrote. The
    // file is a private, sealed copy of them: nothing can change it, now or while it is mapped.
    unsafe { Component::deserialize_file(engine, format!("/proc/self/fd/{}", file.as_raw_fd())) }
        .or_else(|_| copy(engine, code))
}

/// Loads compiled code.
#[cfg(not(target_os = "linux"))]
pub(super) fn load(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    copy(engine, code)
}

fn copy(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the caller has checked with the user's key that these bytes are what this engine's `serialize` wrote.
    unsafe { Component::deserialize(engine, code) }
}
