//! Starts the child, passes it the component, and interprets its end.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use graph_core::diagnostic::escape;

use super::child::{COMPILE_ARGUMENT, MAX_MESSAGE, REFUSED};
use super::{CompileError, CompileLimits};

/// Time after which the observer is notified that compiling is slow.
const SLOW: Duration = Duration::from_secs(1);
/// Size of the largest accepted compiled component, in bytes.
pub(crate) const MAX_CODE: u64 = 512 << 20;
/// Number of threads of one child: more do not make it much faster, and each takes address space.
const MAX_THREADS: usize = 4;
/// Number of bytes of the child's stderr that are kept.
const MAX_LAST_WORDS: u64 = 4096;

/// Compiles a component in a child process.
pub(crate) fn compile_in_child(
    program: &Path,
    bytes: &[u8],
    limits: CompileLimits,
    slow: impl FnOnce(),
) -> Result<Vec<u8>, CompileError> {
    let limits = CompileLimits { cpu: limits.cpu_for(bytes.len()), ..limits };
    let mut child = start(program).map_err(CompileError::Start)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut header = Vec::new();
    header.extend(limits.cpu.as_secs().max(1).to_le_bytes());
    header.extend(limits.memory.to_le_bytes());
    let (done, waiting) = mpsc::channel();
    let (code, last_words, status, late) = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A child that ends early is recognised by its status.
            let _ = stdin.map(|mut stdin| stdin.write_all(&header).and_then(|()| stdin.write_all(bytes)));
        });
        let code = scope.spawn(move || {
            let code = stdout.map_or(Ok(Vec::new()), |stdout| read(stdout, MAX_CODE + 1));
            let _ = done.send(());
            code
        });
        let last_words = scope.spawn(move || {
            let Some(mut stderr) = stderr else { return Vec::new() };
            let kept = read(&mut stderr, MAX_LAST_WORDS).unwrap_or_default();
            let _ = io::copy(&mut stderr, &mut io::sink());
            kept
        });
        let late = !wait(&waiting, limits.deadline, slow);
        let status = end(&mut child, late);
        (code.join(), last_words.join().unwrap_or_default(), status, late)
    });
    if late {
        return Err(CompileError::Deadline(limits.deadline));
    }
    let status = status.map_err(CompileError::Start)?;
    let code = code
        .unwrap_or_else(|_| Err(io::Error::other("the reader ended")))
        .map_err(|error| CompileError::Crashed(error.to_string()))?;
    if code.len() as u64 > MAX_CODE {
        return Err(CompileError::Output(MAX_CODE));
    }
    judge(status, code, &String::from_utf8_lossy(&last_words), limits)
}

fn start(program: &Path) -> io::Result<Child> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut command = Command::new(program);
    command
        .arg(COMPILE_ARGUMENT)
        .env_clear()
        .env("RAYON_NUM_THREADS", processors.min(MAX_THREADS).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    command.current_dir("/");
    command.spawn()
}

fn read(mut from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Waits for the child's answer; returns `false` if the deadline passed.
fn wait(answer: &mpsc::Receiver<()>, deadline: Duration, slow: impl FnOnce()) -> bool {
    let began = Instant::now();
    match answer.recv_timeout(SLOW.min(deadline)) {
        Err(RecvTimeoutError::Timeout) if deadline > SLOW => slow(),
        Err(RecvTimeoutError::Timeout) => return false,
        _ => return true,
    }
    !matches!(answer.recv_timeout(deadline.saturating_sub(began.elapsed())), Err(RecvTimeoutError::Timeout))
}

/// Waits for the end of the child, which is near: it has closed its stdout, or is killed.
fn end(child: &mut Child, kill: bool) -> io::Result<ExitStatus> {
    if kill {
        child.kill()?;
    }
    child.wait()
}

fn judge(
    status: ExitStatus,
    code: Vec<u8>,
    last_words: &str,
    limits: CompileLimits,
) -> Result<Vec<u8>, CompileError> {
    if status.success() {
        return Ok(code);
    }
    let answer = || {
        let text = String::from_utf8_lossy(&code[..code.len().min(MAX_MESSAGE)]);
        escape(text.trim())
    };
    if status.code() == Some(i32::from(REFUSED)) {
        return Err(if out_of_memory(&answer()) {
            CompileError::Memory(limits.memory)
        } else {
            CompileError::Invalid(answer())
        });
    }
    if out_of_memory(last_words) {
        return Err(CompileError::Memory(limits.memory));
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if status.signal() == Some(rustix::process::Signal::XCPU.as_raw()) {
            return Err(CompileError::Cpu(limits.cpu));
        }
    }
    let last = last_words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last = escape(last.trim());
    let said = if last.is_empty() { String::new() } else { format!(" ({last})") };
    Err(CompileError::Crashed(format!("{status}{said}")))
}

/// Checks whether a message of the standard library, a thread or the system reports that no memory is left.
fn out_of_memory(text: &str) -> bool {
    ["memory allocation of", "Cannot allocate memory", "os error 12", "Resource temporarily unavailable"]
        .iter()
        .any(|sign| text.contains(sign))
}
