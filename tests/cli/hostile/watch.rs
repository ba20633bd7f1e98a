//! A process that is watched: how it ends, what it leaves behind, how much memory it had at most.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How a process ended.
pub(crate) struct Ended {
    /// The exit code; nothing for a process that a signal ended.
    pub(crate) code: Option<i32>,
    /// The JSON document on stdout.
    pub(crate) document: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// The most memory that was resident, in KiB; 0 where the system does not say.
    pub(crate) peak: u64,
    /// Processes that it started and that are still there.
    pub(crate) orphans: usize,
}

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Runs a command in a process group of its own.
pub(crate) fn run(mut command: Command) -> Ended {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let group = child.id();
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let mut peak = 0;
    let status = loop {
        peak = peak_of(&child).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    let took = began.elapsed();
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let document = serde_json::from_str(&stdout).unwrap_or(Value::Null);
    Ended { code: status.code(), document, stdout, stderr, took, peak, orphans: of_group(group) }
}

fn reader(from: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The most memory that a process has had so far: the system counts that itself, so nothing is missed between two looks.
fn peak_of(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    // Until it is the program that was started, it still has the memory of the one that starts it.
    if !status.starts_with("Name:\tgraph-host\n") {
        return 0;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// How many processes are in a group.
fn of_group(group: u32) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let is_member = |stat: &str| {
        // After the name, which is in parentheses and may hold anything: state, parent, group.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let running = fields.next() != Some("Z");
        running && fields.nth(1).and_then(|field| field.parse().ok()) == Some(group)
    };
    processes
        .filter_map(Result::ok)
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| is_member(stat))
        .count()
}
