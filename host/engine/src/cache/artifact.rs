//! Loads compiled code after checking it. This is the only file of the project with unsafe code.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use wasmtime::component::Component;

use crate::compile::MAX_CODE;

/// Number of bytes that are read, checked and copied at a time: they fit into the processor's cache.
const CHUNK: usize = 128 << 10;

/// Reads a tag and the code after it, and loads the code if the tag is valid. `hasher` computes the tag.
///
/// The file is read once. The hashed bytes are written to a copy that no other process can access, and that copy is loaded: changing the
/// file meanwhile has no effect.
pub(super) fn read(engine: &wasmtime::Engine, path: &Path, mut hasher: blake3::Hasher) -> Option<Component> {
    let mut file = File::open(path).ok()?;
    let used = file.try_clone().ok();
    let mut tag = [0; blake3::OUT_LEN];
    file.read_exact(&mut tag).ok()?;
    let length = file.metadata().ok()?.len();
    // No component has more code. The copy is in memory, and a file may have any length.
    if length > MAX_CODE.saturating_add(tag.len() as u64) {
        return None;
    }
    let size = usize::try_from(length).ok()?;
    let copy = Copy::read(file.take(MAX_CODE.saturating_add(1)), size, |chunk| {
        hasher.update(chunk);
    })
    .ok()?;
    // Comparing hashes of this type takes constant time.
    if hasher.finalize() != blake3::Hash::from_bytes(tag) {
        return None;
    }
    let component = copy.load(engine).ok()?;
    if let Some(used) = used {
        super::folder::note_use(&used);
    }
    Some(component)
}

/// Loads code that this program has just compiled, in this process or in its own child.
pub(crate) fn load_compiled(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    Copy::read(code, code.len(), |_| ())?.load(engine)
}

/// Code that only this value can access, and that cannot change any more.
enum Copy {
    /// A file in memory, which is mapped rather than copied again.
    #[cfg(target_os = "linux")]
    Sealed(File),
    Bytes(Vec<u8>),
}

impl Copy {
    fn read(mut from: impl Read, size: usize, mut seen: impl FnMut(&[u8])) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(to) = sealed::create() {
            chunks(&mut from, |chunk| {
                seen(chunk);
                io::Write::write_all(&mut &to, chunk)
            })?;
            return Ok(Self::Sealed(sealed::seal(to)?));
        }
        let mut bytes = Vec::with_capacity(size);
        chunks(&mut from, |chunk| {
            seen(chunk);
            bytes.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(Self::Bytes(bytes))
    }

    fn load(&self, engine: &wasmtime::Engine) -> wasmtime::Result<Component> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Sealed(file) => {
                use std::os::fd::AsRawFd as _;
                // SAFETY: the code was written by this program's compiler, or is authenticated by this user's key. The file is a private,
                // sealed copy of it: nothing can change it, now or while it is mapped.
                unsafe { Component::deserialize_file(engine, format!("/proc/self/fd/{}", file.as_raw_fd())) }
            }
            // SAFETY: as above; these bytes are this value's own.
            Self::Bytes(bytes) => unsafe { Component::deserialize(engine, bytes) },
        }
    }
}

fn chunks(from: &mut impl Read, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        // The hasher is fastest with full chunks.
        let mut filled = 0;
        while filled < CHUNK {
            match from.read(&mut buffer[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        to(&buffer[..filled])?;
        if filled < CHUNK {
            return Ok(());
        }
    }
}

/// Files in memory.
#[cfg(target_os = "linux")]
mod sealed {
    use std::fs::File;
    use std::io;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    pub(super) fn create() -> io::Result<File> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        Ok(File::from(memfd_create("graph-host-artifact", flags)?))
    }

    pub(super) fn seal(file: File) -> io::Result<File> {
        fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        Ok(file)
    }
}
