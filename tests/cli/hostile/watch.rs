//! Watches a process: its end, its remains, and its use of processor time, memory and disk.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

/// End of a process, with its output and its use of resources.
pub(crate) struct Ended {
    /// Exit code; `None` for a process that a signal ended.
    pub(crate) code: Option<i32>,
    /// Signal that ended it.
    pub(crate) signal: Option<i32>,
    /// JSON document on stdout.
    pub(crate) document: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// Peak resident memory of the process itself, in KiB; 0 if the system does not report it.
    pub(crate) peak: u64,
    /// The same of the process and its children together.
    pub(crate) peak_together: u64,
    /// Largest growth of the watched folder, in KiB.
    pub(crate) disk: u64,
    /// Reason for which it was ended from outside.
    pub(crate) stopped: Option<String>,
    /// Processor time of the process and its children since the first Ctrl-C; `None` if that was not pressed in time.
    pub(crate) after_press: Option<Duration>,
    /// Number of processes that it started and that still run.
    pub(crate) orphans: usize,
}

/// Bounds at which a process is ended from outside, and the moments of Ctrl-C.
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    /// Limit of the process and its children together, in MiB.
    pub(crate) memory: u64,
    /// A folder, and the limit of its growth in MiB.
    pub(crate) disk: Option<(PathBuf, u64)>,
    /// Moments of Ctrl-C after the start, in order.
    pub(crate) presses: Vec<Duration>,
}

/// Limit of a test process's memory, in MiB.
const MOST_MEMORY: u64 = 3 * 1024;
/// Limit of a test process's time.
const MOST_TIME: Duration = Duration::from_mins(3);
/// Limit of processor time after Ctrl-C at which the process is ended from outside: more than is accepted, so that the
/// figure shows by how much it is exceeded.
const MOST_AFTER_PRESS: Duration = Duration::from_secs(4);

impl Default for Bounds {
    fn default() -> Self {
        Self { time: MOST_TIME, memory: MOST_MEMORY, disk: None, presses: Vec::new() }
    }
}

/// Time within which children have to notice that Ctrl-C ended their parent.
const GRACE: Duration = Duration::from_secs(1);

/// Interval at which the memory of the process is read.
const LOOK: Duration = Duration::from_millis(1);
/// Interval at which its children and the disk are inspected.
const LOOK_AROUND: Duration = Duration::from_millis(25);

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Ended {
    within(command, &Bounds::default())
}

/// Runs a command in a process group of its own, to its end or until it exceeds a bound.
pub(crate) fn within(mut command: Command, bounds: &Bounds) -> Ended {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let disk_before = bounds.disk.as_ref().map_or(0, |(folder, _)| used(folder));
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let group = child.id();
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let (mut peak, mut peak_together, mut disk) = (0, 0, 0);
    let mut stopped = None;
    let mut looked_around = None::<Instant>;
    let mut presses = bounds.presses.iter();
    let mut next_press = presses.next();
    let mut processor_at_press = None;
    let mut processor = Duration::ZERO;
    let status = loop {
        peak = peak_of(&child).max(peak);
        peak_together = peak.max(peak_together);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if next_press.is_some_and(|moment| began.elapsed() >= *moment) {
            next_press = presses.next();
            processor_at_press.get_or_insert_with(|| members(group).iter().map(|of| of.processor).sum());
            interrupt(group);
        }
        let often = if processor_at_press.is_some() { LOOK_AROUND / 5 } else { LOOK_AROUND };
        if looked_around.is_none_or(|last| last.elapsed() >= often) {
            let members = members(group);
            let children = members.iter().filter(|of| of.id != group).map(|of| memory_of(of.id)).sum::<u64>();
            peak_together = peak_together.max(peak + children);
            processor = processor.max(members.iter().map(|of| of.processor).sum());
            if let Some((folder, _)) = &bounds.disk {
                disk = used(folder).saturating_sub(disk_before).max(disk);
            }
            looked_around = Some(Instant::now());
        }
        if stopped.is_none() {
            let after_press = processor_at_press.map(|at: Duration| processor.saturating_sub(at));
            stopped = exceeded(bounds, began.elapsed(), peak_together, disk, after_press);
            if stopped.is_some() {
                kill(group);
            }
        }
        std::thread::sleep(LOOK);
    };
    let took = began.elapsed();
    let orphans = left_of(group, if processor_at_press.is_some() { GRACE } else { Duration::ZERO });
    if stopped.is_some() && orphans > 0 {
        kill(group);
    }
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    if let Some((folder, _)) = &bounds.disk {
        disk = used(folder).saturating_sub(disk_before).max(disk);
    }
    Ended {
        code: status.code(),
        signal: signal_of(status),
        document: serde_json::from_str(&stdout).unwrap_or(Value::Null),
        stdout,
        stderr,
        took,
        peak,
        peak_together,
        disk,
        stopped,
        after_press: processor_at_press.map(|at| processor.saturating_sub(at)),
        orphans,
    }
}

/// Describes the bound that is exceeded, if one is.
fn exceeded(
    bounds: &Bounds,
    took: Duration,
    memory: u64,
    disk: u64,
    after_press: Option<Duration>,
) -> Option<String> {
    if took >= bounds.time {
        return Some(format!("it was still running after {took:?}"));
    }
    if memory / 1024 >= bounds.memory {
        return Some(format!("it took {} MiB of memory", memory / 1024));
    }
    if let Some((_, most)) = bounds.disk.as_ref().filter(|(_, most)| disk / 1024 >= *most) {
        return Some(format!("it wrote {} MiB, more than {most}", disk / 1024));
    }
    let after_press = after_press.filter(|after| *after >= MOST_AFTER_PRESS)?;
    Some(format!("it worked on for {after_press:?} after Ctrl-C"))
}

fn reader(from: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the peak memory of a process so far: the system records it itself, so nothing is missed between two reads.
fn peak_of(child: &Child) -> u64 {
    memory_of(child.id())
}

/// Returns the peak memory by the process's id.
fn memory_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    // Until the started program is loaded, the process still has the memory of its parent.
    if !status.starts_with("Name:\tgraph-host\n") {
        return 0;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// A process of a group.
struct Member {
    id: u32,
    /// Its processor time, with that of the children that it has waited for.
    processor: Duration,
}

/// Lists the processes of a group that have not ended.
fn members(group: u32) -> Vec<Member> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|id| Some((id, std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)))
        .filter_map(|(id, stat)| member(group, id, &stat))
        .collect()
}

/// Returns the number of processes of a group that still run after some time.
fn left_of(group: u32, grace: Duration) -> usize {
    let began = Instant::now();
    loop {
        let left = members(group).len();
        if left == 0 || began.elapsed() >= grace {
            return left;
        }
        std::thread::sleep(LOOK_AROUND);
    }
}

/// Parses the system's description of a process; `None` if it is in another group or has ended.
fn member(group: u32, id: u32, stat: &str) -> Option<Member> {
    // After the name, which is in parentheses and may contain anything: state, parent, group, and after eight more
    // fields the times in hundredths of a second.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if fields.first() == Some(&"Z") || fields.get(2)?.parse() != Ok(group) {
        return None;
    }
    let ticks: u64 = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Member { id, processor: Duration::from_millis(ticks * 10) })
}

/// Returns the size of the files below a folder on disk, in KiB. Holes in files do not count.
fn used(folder: &Path) -> u64 {
    let mut total = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let Ok(metadata) = entry.metadata() else { continue };
        total += if metadata.is_dir() { used(&entry.path()) } else { written(&metadata) };
    }
    total
}

#[cfg(unix)]
fn written(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) / 2
}

#[cfg(not(unix))]
fn written(metadata: &std::fs::Metadata) -> u64 {
    metadata.len() / 1024
}

/// Presses Ctrl-C: a terminal sends the signal to the whole group.
#[cfg(unix)]
fn interrupt(group: u32) {
    signal(group, rustix::process::Signal::INT);
}

#[cfg(unix)]
fn kill(group: u32) {
    signal(group, rustix::process::Signal::KILL);
}

#[cfg(unix)]
fn signal(group: u32, signal: rustix::process::Signal) {
    let group = rustix::process::Pid::from_raw(i32::try_from(group).unwrap()).unwrap();
    // A group that has ended needs no signal.
    let _ = rustix::process::kill_process_group(group, signal);
}

#[cfg(unix)]
fn signal_of(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn interrupt(_: u32) {}

#[cfg(not(unix))]
fn kill(_: u32) {}

#[cfg(not(unix))]
fn signal_of(_: std::process::ExitStatus) -> Option<i32> {
    None
}
