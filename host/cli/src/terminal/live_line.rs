//! The line at the bottom of a terminal that shows the work under way: nodes that run, components that are compiled, and for how long.
//!
//! The line is on stderr. A thread redraws it, which is started with the first work under way if stderr is a terminal. All other output
//! is printed above the line, with [`above`]. Without a terminal, reporting costs one atomic load.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graph_walker::walker::ItemPlace;

use crate::terminal::output::{self, styled};
use crate::terminal::run_report::short_number;
use crate::terminal::width::{cut, one_line, width};

/// Interval at which the line is drawn.
const INTERVAL: Duration = Duration::from_millis(100);
/// Duration below which work under way is not shown.
const BRIEF: Duration = Duration::from_millis(200);
/// Frames of the animation while work is under way.
const TURNING: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Escape sequence that moves to the beginning of the line and erases it.
const ERASE: &str = "\r\x1b[K";
/// Limit of nodes or components that are named in the line.
const NAMED: usize = 3;

static IS_ON: AtomicBool = AtomicBool::new(false);
static UNDER_WAY: Mutex<UnderWay> = Mutex::new(UnderWay::new());
static CHANGED: Condvar = Condvar::new();

/// Checks whether stderr can show a line that is redrawn.
pub fn can_be_drawn() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_dumb && io::stderr().is_terminal()
}

/// Turns the line on, if it can be drawn, or off.
pub fn turn(on: bool) {
    IS_ON.store(on && can_be_drawn(), Ordering::Relaxed);
    if !on {
        clear();
    }
}

/// Returns whether the line is turned on.
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Erases the line and prints above it; the line is drawn again with its next frame.
pub fn above<T>(print: impl FnOnce() -> T) -> T {
    if !is_on() {
        return print();
    }
    let mut under_way = lock();
    under_way.erase();
    print()
}

/// Erases the line and forgets the tasks under way: the run asks a question, or has stopped.
pub fn clear() {
    let mut under_way = lock();
    under_way.erase();
    under_way.tasks.clear();
    under_way.settled.clear();
}

/// Reports that the compilation of a component has started.
pub fn compiling(id: &str, bytes: usize) {
    if is_on() {
        let compiling = CompilationEntry { bytes, since: Instant::now() };
        lock().compiling.insert(id.to_owned(), compiling);
        tick();
    }
}

/// Reports that the compilation of a component has ended, with or without success.
pub fn compiled(id: &str) {
    if is_on() {
        lock().compiling.remove(id);
    }
}

/// Reports that an attempt of a task has started.
pub fn task_started(task: &str, label: String, item: Option<ItemPlace>) {
    if is_on() {
        lock().tasks.insert(task.to_owned(), RunningTask { label, item, since: Instant::now() });
        tick();
    }
}

/// Reports that an attempt of a task has ended, with the fuel that it has used, 0 if that is not known.
pub fn task_ended(task: &str, fuel: u64) {
    if !is_on() {
        return;
    }
    let mut under_way = lock();
    under_way.fuel = under_way.fuel.saturating_add(fuel);
    if let Some(running) = under_way.tasks.remove(task)
        && running.item.is_some()
    {
        *under_way.settled.entry(running.label).or_default() += 1;
    }
}

/// Reports that a superstep has started.
pub fn superstep(number: u64) {
    if is_on() {
        let mut under_way = lock();
        under_way.superstep = number;
        under_way.settled.clear();
    }
}

fn lock() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the thread that draws the line, or starts it.
fn tick() {
    let mut under_way = lock();
    if under_way.has_thread {
        CHANGED.notify_one();
        return;
    }
    under_way.has_thread = true;
    drop(under_way);
    // If the thread cannot be started, no line is drawn.
    let _ = std::thread::Builder::new().name("live line".to_owned()).spawn(redraw);
}

/// Draws the line at each interval while work is under way, and waits otherwise.
fn redraw() {
    let mut under_way = lock();
    let mut frame = 0;
    loop {
        under_way = if under_way.is_idle() || !is_on() {
            under_way.erase();
            CHANGED.wait(under_way).unwrap_or_else(PoisonError::into_inner)
        } else {
            let waited = CHANGED.wait_timeout_while(under_way, INTERVAL, |_| true);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        if is_on() {
            under_way.draw(frame);
            frame += 1;
        }
    }
}

#[derive(Debug)]
struct RunningTask {
    label: String,
    item: Option<ItemPlace>,
    since: Instant,
}

#[derive(Debug)]
struct CompilationEntry {
    bytes: usize,
    since: Instant,
}

/// Work under way.
#[derive(Debug)]
struct UnderWay {
    superstep: u64,
    /// Fuel of the attempts that have ended.
    fuel: u64,
    tasks: BTreeMap<String, RunningTask>,
    /// Number of items done by the `foreach` nodes of this superstep, by their label.
    settled: BTreeMap<String, u64>,
    compiling: BTreeMap<String, CompilationEntry>,
    is_drawn: bool,
    has_thread: bool,
}

impl UnderWay {
    const fn new() -> Self {
        Self {
            superstep: 0,
            fuel: 0,
            tasks: BTreeMap::new(),
            settled: BTreeMap::new(),
            compiling: BTreeMap::new(),
            is_drawn: false,
            has_thread: false,
        }
    }

    fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.compiling.is_empty()
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let mut stderr = io::stderr().lock();
            let _ = stderr.write_all(ERASE.as_bytes()).and_then(|()| stderr.flush());
        }
    }

    fn draw(&mut self, frame: usize) {
        let Some(text) = self.text(Instant::now(), frame) else { return self.erase() };
        // The last column is left free: some terminals would start another line.
        let text = cut(&text, width().saturating_sub(1));
        let text = if output::colours() { text } else { anstream::adapter::strip_str(&text).to_string() };
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r{text}\x1b[K").and_then(|()| stderr.flush());
        self.is_drawn = true;
    }

    /// Renders the line; `None` if no work has been under way for long.
    fn text(&self, now: Instant, frame: usize) -> Option<String> {
        let since = self.tasks.values().map(|task| task.since);
        let since = since.chain(self.compiling.values().map(|compiling| compiling.since)).min()?;
        let long = now.saturating_duration_since(since);
        // A `foreach` is shown even if each of its items is brief.
        if long < BRIEF && self.settled.is_empty() {
            return None;
        }
        let mut line = format!("{} ", styled(output::BOLD, TURNING[frame % TURNING.len()]));
        let parts: Vec<String> =
            if self.compiling.is_empty() { self.running() } else { self.being_compiled() };
        line.push_str(&parts.join(", "));
        let seconds = long.as_secs();
        let time = if seconds < 60 {
            format!("{:.1} s", long.as_secs_f64())
        } else {
            format!("{}:{:02} min", seconds / 60, seconds % 60)
        };
        let _ = write!(line, "  {}", styled(output::DIM, time));
        if self.fuel > 0 && self.compiling.is_empty() {
            let fuel = format!("{} fuel so far", short_number(self.fuel));
            let _ = write!(line, "  {}", styled(output::DIM, fuel));
        }
        Some(line)
    }

    fn being_compiled(&self) -> Vec<String> {
        let size = |bytes: usize| match bytes {
            0..0x10_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
            _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
        };
        let named = self.compiling.iter().take(NAMED).map(|(id, compiling)| {
            format!("compiling {} ({}, once)", one_line(id, 40), size(compiling.bytes))
        });
        let more = self.compiling.len().saturating_sub(NAMED);
        named.chain((more > 0).then(|| format!("{more} more"))).collect()
    }

    /// Names the running nodes, each once, a `foreach` with its item or items.
    fn running(&self) -> Vec<String> {
        let mut nodes: BTreeMap<&str, (u64, Option<ItemPlace>)> = BTreeMap::new();
        for task in self.tasks.values() {
            let (count, item) = nodes.entry(&task.label).or_default();
            *count += 1;
            *item = task.item.max(*item);
        }
        let more = nodes.len().saturating_sub(NAMED);
        let named = nodes.iter().take(NAMED).enumerate().map(|(place, (label, (count, item)))| {
            let step = if place == 0 && self.superstep > 0 {
                format!("{} ", styled(output::DIM, format_args!("step {}", self.superstep)))
            } else {
                String::new()
            };
            let name = format!("{step}{}", styled(output::BOLD, one_line(label, 40)));
            match (count, item) {
                (1, None) => name,
                (count, None) => format!("{name} ×{count}"),
                (1, Some(item)) => format!("{name} item {} of {}", item.number, item.of),
                (count, Some(item)) => {
                    let settled = self.settled.get::<str>(label).copied().unwrap_or_default();
                    format!("{name} {settled} of {} items, {count} running", item.of)
                }
            }
        });
        named.chain((more > 0).then(|| format!("{more} more"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(under_way: &UnderWay, after: u64) -> Option<String> {
        let now = Instant::now() + Duration::from_millis(after);
        under_way.text(now, 0).map(|text| anstream::adapter::strip_str(&text).to_string())
    }

    #[test]
    fn it_names_what_is_under_way_and_for_how_long() {
        let mut under_way = UnderWay::new();
        assert_eq!(text(&under_way, 5000), None);
        let since = Instant::now();
        let running = |label: &str, item| RunningTask { label: label.to_owned(), item, since };
        under_way.superstep = 3;
        under_way.tasks.insert("3.0".to_owned(), running("draft", None));
        assert_eq!(text(&under_way, 100), None);
        assert_eq!(text(&under_way, 2000).as_deref(), Some("⠋ step 3 draft  2.0 s"));
        under_way.tasks.clear();
        let item = |number| Some(ItemPlace { number, of: 12 });
        under_way.tasks.insert("3.4".to_owned(), running("count", item(5)));
        assert_eq!(text(&under_way, 75_000).as_deref(), Some("⠋ step 3 count item 5 of 12  1:15 min"));
        under_way.tasks.insert("3.5".to_owned(), running("count", item(6)));
        under_way.settled.insert("count".to_owned(), 4);
        under_way.fuel = 1_200_000;
        assert_eq!(
            text(&under_way, 1000).as_deref(),
            Some("⠋ step 3 count 4 of 12 items, 2 running  1.0 s  1.2M fuel so far")
        );
        under_way.compiling.insert("a/b".to_owned(), CompilationEntry { bytes: 12 << 20, since });
        assert_eq!(text(&under_way, 1500).as_deref(), Some("⠋ compiling a/b (12 MiB, once)  1.5 s"));
    }
}
