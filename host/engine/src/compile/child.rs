//! The child process that compiles one component, from stdin to stdout.

use std::io::{self, Read as _, Write as _};

use crate::config;

/// The only argument of a process that has to call [`compile_for_parent`] and do nothing else.
pub const COMPILE_ARGUMENT: &str = "compile-component-from-stdin";

/// The header before the component: processor seconds and bytes of address space, eight bytes each, little endian.
pub(super) const HEADER: usize = 16;
/// The exit status if stdout contains the compiled component.
const COMPILED: u8 = 0;
/// The exit status if stdout could not be written.
const BROKEN: u8 = 1;
/// The exit status if stdout contains the reason why the component cannot be compiled.
pub(super) const REFUSED: u8 = 3;
/// Length of the longest explanation, in bytes.
pub(super) const MAX_MESSAGE: usize = 4096;

/// Compiles the component on stdin within the limits in the header. It ignores the environment and the command line. The
/// process has to exit with the returned status, which its parent reads.
pub fn compile_for_parent() -> u8 {
    match compile() {
        Ok(code) => written(&code, COMPILED),
        Err(message) => {
            let end = message.floor_char_boundary(MAX_MESSAGE.min(message.len()));
            written(&message.as_bytes()[..end], REFUSED)
        }
    }
}

fn written(bytes: &[u8], status: u8) -> u8 {
    let mut stdout = io::stdout().lock();
    if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_ok() { status } else { BROKEN }
}

fn compile() -> Result<Vec<u8>, String> {
    let mut stdin = io::stdin().lock();
    let mut header = [0; HEADER];
    stdin.read_exact(&mut header).map_err(|error| error.to_string())?;
    let (cpu, memory) = header.split_at(HEADER / 2);
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
    confine(number(cpu), number(memory)).map_err(|error| format!("its limits cannot be set: {error}"))?;
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    // The compiled code runs in another process: no memory is reserved for it here.
    let engine = wasmtime::Engine::new(&config::wasmtime_config(1, false, false))
        .map_err(|error| format!("{error:#}"))?;
    engine.precompile_component(&bytes).map_err(|error| format!("{error:#}"))
}

#[cfg(unix)]
fn confine(seconds: u64, memory: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |soft, hard| Rlimit { current: Some(soft), maximum: Some(hard) };
    setrlimit(Resource::Core, limit(0, 0))?;
    // Exceeding the soft limit ends the process with a signal that the parent recognises.
    setrlimit(Resource::Cpu, limit(seconds, seconds.saturating_add(1)))?;
    setrlimit(Resource::As, limit(memory, memory))?;
    // The compiler opens no more files, and writes only to those that are open.
    setrlimit(Resource::Fsize, limit(0, 0))?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

#[cfg(not(unix))]
fn confine(_seconds: u64, _memory: u64) -> io::Result<()> {
    // The parent enforces the deadline.
    Ok(())
}
