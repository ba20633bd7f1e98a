//! Credential helpers of Docker: `docker-credential-NAME get` reads the name of a registry from its standard input and
//! writes JSON with a user name and a secret. A helper has to end within the time limit of the command, and its output
//! is limited in size.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use graph_core::json::{self, TreeLimit};
use serde::Deserialize;

use super::credentials::Credentials;
use crate::manifest::shown;
use crate::transport::one_more;

/// Maximum number of bytes that are read of each output of a helper.
const MOST_OUTPUT: usize = 64 << 10;
/// Interval at which the host checks whether a helper has ended.
const POLL: Duration = Duration::from_millis(20);
/// Time for which an output may stay open after the helper has ended, because a process that it started still holds it.
const GRACE: Duration = Duration::from_secs(1);
/// The user name with which a helper marks an identity token.
const IDENTITY: &str = "<token>";
/// The text in the output of a helper that has no credentials for a registry.
const NONE: &str = "credentials not found";

/// The reasons for which a credential helper gives no credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelperError {
    /// The name in the configuration is not a part of a program's name.
    #[error("`{0}` is not the name of a credential helper: letters, digits, `.`, `_` and `-`")]
    Name(String),
    /// The program cannot be started.
    #[error("the credential helper `{program}` cannot be started: {reason}")]
    Start {
        /// The helper.
        program: String,
        /// The system's reason.
        reason: String,
        /// True if there is no such program.
        is_absent: bool,
    },
    /// It was stopped when the time limit of the command had passed.
    #[error("the credential helper `{program}` did not answer within {seconds} s and was stopped")]
    Timeout {
        /// The helper.
        program: String,
        /// Number of seconds that all requests together may take.
        seconds: u64,
    },
    /// It was stopped because it wrote too much.
    #[error("the credential helper `{program}` was stopped: it wrote more than {MOST_OUTPUT} bytes")]
    Flood {
        /// The helper.
        program: String,
    },
    /// It reported an error.
    #[error("the credential helper `{program}` failed ({status}){}", said(stderr))]
    Failed {
        /// The helper.
        program: String,
        /// Its exit status.
        status: String,
        /// Its standard error, escaped and shortened.
        stderr: String,
    },
    /// Its output is not what the protocol of helpers defines.
    #[error(
        "the credential helper `{program}` wrote something that is not JSON with `Username` and `Secret`{}",
        said(stderr)
    )]
    Answer {
        /// The helper.
        program: String,
        /// Its standard error, escaped and shortened.
        stderr: String,
    },
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

/// The answer of a helper. Its text is never shown.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// The time limit of a helper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// The time at which it is stopped.
    pub(super) deadline: Instant,
    /// Number of seconds that the command was allowed to take, for messages.
    pub(super) seconds: u64,
}

/// Requests the credentials for a registry from the helper `docker-credential-NAME`.
pub(super) fn credentials(name: &str, host: &str, time: Time) -> Result<Credentials, HelperError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_part) {
        return Err(HelperError::Name(shown(name)));
    }
    let program = format!("docker-credential-{name}");
    let mut command = Command::new(&program);
    command.arg("get");
    ask(command, program, host, time)
}

fn ask(mut command: Command, program: String, host: &str, time: Time) -> Result<Credentials, HelperError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The helper gets its own process group, so that the processes that it starts can be stopped with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let failed = |error: &io::Error| HelperError::Start {
        program: program.clone(),
        reason: error.to_string(),
        is_absent: error.kind() == io::ErrorKind::NotFound,
    };
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    // The name of a host fits into a pipe, so that this does not block. It is no error if a helper does not read it.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(host.as_bytes());
    }
    let outputs = Outputs::read(&mut child);
    let ended = outputs.and_then(|outputs| outputs.wait(&mut child, time.deadline));
    if !matches!(ended, Ok(HelperOutcome::Exited { .. })) {
        stop(&mut child);
    }
    match ended.map_err(|error| failed(&error))? {
        HelperOutcome::Late => Err(HelperError::Timeout { program, seconds: time.seconds }),
        HelperOutcome::Flooded => Err(HelperError::Flood { program }),
        HelperOutcome::Exited { status, stdout, stderr } if status.success() => {
            match json::read::<Answer>(&stdout, TreeLimit::ANSWER) {
                Ok(Answer { username, secret }) if username == IDENTITY => Ok(Credentials::Identity(secret)),
                Ok(Answer { username, secret }) => Ok(Credentials::Password { username, password: secret }),
                Err(_) => Err(HelperError::Answer { program, stderr: text(&stderr) }),
            }
        }
        // A helper without credentials for this registry reports that by failing.
        HelperOutcome::Exited { stdout, .. } if String::from_utf8_lossy(&stdout).contains(NONE) => {
            Ok(Credentials::Anonymous)
        }
        // Helpers write the reason to standard output. It may contain a secret, and is not shown.
        HelperOutcome::Exited { status, stderr, .. } => {
            Err(HelperError::Failed { program, status: status.to_string(), stderr: text(&stderr) })
        }
    }
}

/// Returns the output of a helper as text, escaped and shortened.
fn text(bytes: &[u8]) -> String {
    shown(String::from_utf8_lossy(bytes).trim())
}

/// The outcome of executing a helper.
enum HelperOutcome {
    Late,
    Flooded,
    Exited { status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8> },
}

#[derive(Clone, Copy)]
enum Output {
    Standard,
    Error,
}

/// The outputs of a helper. One thread reads each of them.
struct Outputs {
    arriving: Receiver<(Output, Vec<u8>)>,
}

impl Outputs {
    fn read(child: &mut Child) -> io::Result<Self> {
        let (send, arriving) = channel();
        if let Some(stdout) = child.stdout.take() {
            read_on_a_thread(stdout, Output::Standard, send.clone())?;
        }
        if let Some(stderr) = child.stderr.take() {
            read_on_a_thread(stderr, Output::Error, send)?;
        }
        Ok(Self { arriving })
    }

    /// Waits until the helper has ended and its outputs were read, it has written too much, or its time limit has
    /// passed.
    fn wait(&self, child: &mut Child, deadline: Instant) -> io::Result<HelperOutcome> {
        let (mut stdout, mut stderr) = (None, None);
        let mut exited = None;
        loop {
            match self.arriving.recv_timeout(POLL) {
                Ok((_, bytes)) if bytes.len() > MOST_OUTPUT => return Ok(HelperOutcome::Flooded),
                Ok((Output::Standard, bytes)) => stdout = Some(bytes),
                Ok((Output::Error, bytes)) => stderr = Some(bytes),
                Err(RecvTimeoutError::Timeout) => {}
                // Both outputs are closed, so that the process is about to end.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
            let now = Instant::now();
            if exited.is_none() {
                exited = child.try_wait()?.map(|status| (status, now));
            }
            if let Some((status, since)) = exited {
                let is_over = now.duration_since(since) >= GRACE;
                // A background process may keep an output open forever.
                if is_over && stdout.is_none() {
                    stop_group(child);
                }
                if stdout.is_some() && (stderr.is_some() || is_over) {
                    let (stdout, stderr) = (stdout.unwrap_or_default(), stderr.unwrap_or_default());
                    return Ok(HelperOutcome::Exited { status, stdout, stderr });
                }
            }
            if now >= deadline {
                return Ok(HelperOutcome::Late);
            }
        }
    }
}

fn read_on_a_thread(
    output: impl Read + Send + 'static,
    which: Output,
    send: Sender<(Output, Vec<u8>)>,
) -> io::Result<()> {
    let read = move || {
        let mut bytes = Vec::new();
        // The bytes that arrived before an error are used.
        let _ = output.take(one_more(MOST_OUTPUT as u64)).read_to_end(&mut bytes);
        let _ = send.send((which, bytes));
    };
    thread::Builder::new().name("credential-helper".to_owned()).spawn(read).map(drop)
}

/// Stops a helper and the processes that it started.
fn stop(child: &mut Child) {
    stop_group(child);
    let _ = child.kill();
    let _ = child.wait();
}

fn stop_group(child: &Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // The process group may have ended meanwhile.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }
    #[cfg(not(unix))]
    let _ = child;
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Executes a shell script as a helper.
    fn helper(script: &str, seconds: u64) -> Result<Credentials, HelperError> {
        let mut command = Command::new("sh");
        command.args(["-c", script, "helper", "get"]);
        let time = Time { deadline: Instant::now() + Duration::from_secs(seconds), seconds };
        ask(command, "docker-credential-test".to_owned(), "registry.example", time)
    }

    fn message(result: Result<Credentials, HelperError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_helper_is_asked_for_the_credentials_of_a_host() {
        let script =
            r#"[ "$1" = get ] && printf '{"ServerURL":"x","Username":"me","Secret":"for %s"}' "$(cat)""#;
        let expected =
            Credentials::Password { username: "me".to_owned(), password: "for registry.example".to_owned() };
        assert_eq!(helper(script, 60), Ok(expected));
        // A helper need not read the name of the host.
        let identity = r#"echo '{"Username":"<token>","Secret":"s"}'"#;
        assert_eq!(helper(identity, 60), Ok(Credentials::Identity("s".to_owned())));
        let none = "echo credentials not found in native keychain; exit 1";
        assert_eq!(helper(none, 60), Ok(Credentials::Anonymous));
    }

    #[test]
    fn a_helper_that_sleeps_is_stopped_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 3; echo alive > '{}') & sleep 600", mark.display());
        let began = Instant::now();
        let told = message(helper(&script, 1));
        assert!(told.contains("`docker-credential-test` did not answer within 1 s"), "{told}");
        assert!(began.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_secs(4));
        assert!(!mark.exists(), "a process that the helper started is still running");
    }

    #[test]
    fn a_helper_that_floods_is_stopped() {
        for script in ["yes", "yes >&2", "yes & sleep 600"] {
            let began = Instant::now();
            let told = message(helper(script, 60));
            assert!(told.contains("more than 65536 bytes"), "{script}: {told}");
            assert!(began.elapsed() < Duration::from_secs(30));
        }
    }

    #[test]
    fn a_helper_that_is_absent_is_named() {
        let time = Time { deadline: Instant::now() + Duration::from_mins(1), seconds: 60 };
        let error = credentials("there-is-none-of-this-name", "registry.example", time).unwrap_err();
        assert!(matches!(error, HelperError::Start { is_absent: true, .. }), "{error:?}");
        assert!(error.to_string().contains("`docker-credential-there-is-none-of-this-name`"), "{error}");
        for name in ["", "../evil", "a b", "a/b", "\u{1b}[31m"] {
            let error = credentials(name, "registry.example", time).unwrap_err();
            assert!(matches!(error, HelperError::Name(_)), "{name}: {error:?}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
    }

    #[test]
    fn a_failure_is_shown_with_its_standard_error_alone_escaped_and_shortened() {
        let told = message(helper(r"echo s3cret; printf 'locked\033[31m\n' >&2; exit 1", 60));
        assert!(told.contains("`docker-credential-test` failed (exit status: 1): locked"), "{told}");
        assert!(!told.contains("s3cret") && !told.contains('\u{1b}') && !told.contains('\n'), "{told}");
        let told = message(helper("head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1", 60));
        assert!(told.len() < 400, "{told}");
    }

    #[test]
    fn rubbish_is_no_answer() {
        for script in ["echo s3cret", "printf '\\377\\376'", "echo '{\"Username\":\"me\"}'", "exit 0"] {
            let told = message(helper(script, 60));
            assert!(told.contains("not JSON with `Username` and `Secret`"), "{script}: {told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn a_process_in_the_background_does_not_delay_the_answer() {
        for keeps in [">/dev/null", "2>/dev/null", ""] {
            let began = Instant::now();
            let script = format!(r#"sleep 50 {keeps} & echo '{{"Username":"me","Secret":"s"}}'"#);
            assert!(matches!(helper(&script, 60), Ok(Credentials::Password { .. })), "{keeps}");
            assert!(began.elapsed() < Duration::from_secs(30), "{keeps}");
        }
    }
}
