//! Limits of a case: of everything that its runs use together, including forks, replays and repetitions after a crash.
//! They are the limits of the user's manifest, or the defaults. The `budgets` of a case can lower the limits of each
//! run, and cannot raise them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use graph_core::capability::StatedSizes;
use graph_core::limits::{ModelUse, RunLimits};
use graph_walker::walker::Summary;

use crate::document::Case;

/// Default maximum of bytes that a case holds in memory: once for its store, and once for the results of one superstep.
/// Several cases run at the same time, so it is less than a run may store.
const HELD: u64 = 64 << 20;

/// Request to stop all cases. It can be passed to another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops the cases that are running, and starts no other.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Reports whether the cases have to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Returns the limits of a case from those of the user's manifest. The sizes that the manifest does not state are at
/// most [`HELD`].
pub(crate) fn of_user(given: RunLimits, stated: StatedSizes) -> RunLimits {
    RunLimits {
        results: stated.results.unwrap_or(given.results.min(HELD)),
        stored: stated.stored.unwrap_or(given.stored.min(HELD)),
        ..given
    }
}

/// A limit that a case asks to exceed, or has exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    /// Key under `run` of a manifest; `None` if the case was stopped for another reason.
    pub(crate) budget: Option<&'static str>,
    /// Message, without a full stop.
    pub(crate) message: String,
    /// Line in the case that asks for more, if there is one.
    pub(crate) line: Option<usize>,
}

impl Over {
    fn used_up(budget: &'static str, most: &str) -> Self {
        let message =
            format!("all runs of the case together have used up {most}, the `{budget}` that a case may use");
        Self { budget: Some(budget), message: format!("{message}; {}", raised_by(budget)), line: None }
    }
}

/// Returns advice for raising a limit.
fn raised_by(budget: &str) -> String {
    format!("`run: {{ {budget}: … }}` in the manifest that all cases are given raises it")
}

/// Returns the limits of each run of a case: those in its `budgets`, and `most` for the keys that it leaves out. A key
/// in `budgets` that exceeds `most` is an error.
pub(crate) fn of_case(case: &Case, most: RunLimits) -> Result<RunLimits, Over> {
    let Some(wanted) = case.budgets else { return Ok(most) };
    let mut run = most;
    for (key, line) in &case.budget_lines {
        let over = |budget: &'static str, wanted: String, most: String| Over {
            budget: Some(budget),
            message: format!(
                "the case asks for a `{budget}` of {wanted}, and the most that it may use is {most}; {}",
                raised_by(budget)
            ),
            line: Some(*line),
        };
        let mut lower = |budget: &'static str, wanted: u64, limit: fn(&mut RunLimits) -> &mut u64| {
            let limit = limit(&mut run);
            if wanted > *limit {
                return Err(over(budget, wanted.to_string(), limit.to_string()));
            }
            *limit = wanted;
            Ok(())
        };
        match key.as_str() {
            "fuel" => lower("fuel", wanted.fuel, |run| &mut run.fuel)?,
            "calls" => lower("calls", wanted.calls, |run| &mut run.calls)?,
            "bytes" => lower("bytes", wanted.bytes, |run| &mut run.bytes)?,
            "steps" => lower("steps", wanted.steps, |run| &mut run.steps)?,
            "state" => lower("state", wanted.state, |run| &mut run.state)?,
            "results" => lower("results", wanted.results, |run| &mut run.results)?,
            "stored" => lower("stored", wanted.stored, |run| &mut run.stored)?,
            "timeout" if wanted.timeout > most.timeout => {
                return Err(over("timeout", seconds(wanted.timeout), seconds(most.timeout)));
            }
            "timeout" => run.timeout = wanted.timeout,
            "depth" if wanted.depth > most.depth => {
                return Err(over("depth", wanted.depth.to_string(), most.depth.to_string()));
            }
            "depth" => run.depth = wanted.depth,
            "model" => {
                // Figures that `budgets` leaves out have their defaults, which may exceed `most`: the case does not ask
                // for those.
                let usual = RunLimits::DEFAULT.model;
                if let Some(figure) = wanted.model.above(most.model.max(usual)) {
                    let amount = |model| figure.written(figure.of(model));
                    return Err(over("model", amount(wanted.model), amount(most.model)));
                }
                run.model = wanted.model.min(most.model);
                run.model_asks = wanted.model_asks;
            }
            _ => {}
        }
    }
    Ok(run)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// Limits of a case while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Limits of each run.
    pub(crate) run: RunLimits,
    /// Limits of all runs together.
    pub(crate) most: RunLimits,
    /// Deadline of the case in real time. The time in a case is virtual, but its work takes real time.
    ends: Instant,
    /// True if the time for all cases ends before the case's own time.
    is_cut: bool,
    stop: Stop,
}

impl Bounds {
    /// Returns the limits of a case that starts now. `until` is the deadline of all cases.
    pub(crate) fn of(
        case: &Case,
        most: RunLimits,
        until: Option<Instant>,
        stop: Option<Stop>,
    ) -> Result<Self, Over> {
        let run = of_case(case, most)?;
        let now = Instant::now();
        // Longer timeouts than a year could overflow the deadline.
        let far = Duration::from_hours(24 * 365);
        let own = now + most.timeout.min(far);
        let ends = until.map_or(own, |until| until.min(own));
        Ok(Self { run, most, ends, is_cut: ends < own, stop: stop.unwrap_or_default() })
    }

    fn is_late(&self) -> bool {
        self.stop.is_requested() || Instant::now() >= self.ends
    }

    /// Resolves after the deadline, or when the case has to stop. It registers no waker: the caller polls it together
    /// with a run, which yields between its events.
    pub(crate) async fn late(&self) {
        std::future::poll_fn(|_| if self.is_late() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Returns the limit of all runs together that is exceeded, if any.
    pub(crate) fn over(&self, used: &Spending, store: Option<u64>) -> Option<Over> {
        let most = self.most;
        if self.stop.is_requested() {
            let message = "the case was stopped".to_owned();
            return Some(Over { budget: None, message, line: None });
        }
        if self.is_late() {
            return Some(if self.is_cut {
                let message = "the time for all cases together is over".to_owned();
                Over { budget: Some("timeout"), message, line: None }
            } else {
                Over::used_up("timeout", &seconds(most.timeout))
            });
        }
        if let Some(held) = store {
            return Some(Over::used_up("stored", &format!("{held} bytes")));
        }
        let budgets = [
            ("fuel", used.all.fuel, most.fuel),
            ("calls", used.all.calls, most.calls),
            ("bytes", used.all.bytes, most.bytes),
            ("steps", used.all.steps, most.steps),
        ];
        if let Some((budget, _, most)) = budgets.into_iter().find(|(_, used, most)| used > most) {
            return Some(Over::used_up(budget, &most.to_string()));
        }
        // Answers of the case can have raised the limit that one run has for models.
        let figure = used.model.above(most.model)?;
        Some(Over::used_up("model", &figure.written(figure.of(most.model))))
    }
}

/// Usage of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    fuel: u64,
    calls: u64,
    bytes: u64,
    steps: u64,
}

impl Use {
    fn of(summary: &Summary) -> Self {
        Self {
            fuel: summary.fuel.saturating_add(summary.host.fuel),
            calls: summary.host.calls,
            bytes: summary.host.bytes,
            steps: summary.steps,
        }
    }

    fn each(self, other: Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            fuel: of(self.fuel, other.fuel),
            calls: of(self.calls, other.calls),
            bytes: of(self.bytes, other.bytes),
            steps: of(self.steps, other.steps),
        }
    }
}

/// Usage of all runs of a case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spending {
    all: Use,
    /// Usage of the current run when it was last counted.
    counted: Use,
    /// Model usage of all runs.
    model: ModelUse,
    model_counted: ModelUse,
}

impl Spending {
    /// Counts what the current run has used since it was last counted.
    pub(crate) fn count(&mut self, summary: &Summary) {
        let now = Use::of(summary);
        self.all = self.all.each(now.each(self.counted, u64::saturating_sub), u64::saturating_add);
        self.counted = now;
        self.model = self.model.plus(summary.host.model.less(self.model_counted));
        self.model_counted = summary.host.model;
    }

    /// Counts another run from now on. A fork starts with the usage of the run that it was forked from, which is not
    /// counted again.
    pub(crate) fn begin(&mut self, summary: &Summary) {
        self.counted = Use::of(summary);
        self.model_counted = summary.host.model;
    }
}

/// Memory of the results of doubles that are not yet delivered.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    held: Arc<AtomicU64>,
    most: u64,
}

/// A result that is not yet delivered. Its memory is counted until this value is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    held: Arc<AtomicU64>,
    size: u64,
}

impl Waiting {
    pub(crate) fn new(most: u64) -> Self {
        Self { held: Arc::default(), most }
    }

    /// Returns the number of bytes that further results may have.
    pub(crate) fn left(&self) -> u64 {
        self.most.saturating_sub(self.held.load(Ordering::SeqCst))
    }

    /// Counts the memory of a result.
    pub(crate) fn hold(&self, size: u64) -> Held {
        self.held.fetch_add(size, Ordering::SeqCst);
        Held { held: Arc::clone(&self.held), size }
    }

    /// Returns the failure message of a double whose result exceeds the limit.
    pub(crate) fn used_up(&self) -> String {
        format!(
            "the results of doubles that wait take more than {} bytes, the `results` that a case may use; {}",
            self.most,
            raised_by("results")
        )
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(self.size, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::capability::Manifest;

    use super::*;

    #[test]
    fn a_size_that_is_stated_counts_also_where_it_is_the_default() {
        let sizes = |run: &str| {
            let (manifest, _) = Manifest::parse(&format!("run: {{ {run} }}"), "caps.yaml", "/").unwrap();
            let most = of_user(manifest.run_limits(), manifest.stated_sizes());
            (most.results, most.stored)
        };
        let usual = RunLimits::DEFAULT;
        assert_eq!(sizes("steps: 7"), (HELD, HELD));
        assert_eq!(sizes(&format!("stored: {}", usual.stored)), (HELD, usual.stored));
        assert_eq!(sizes(&format!("results: {}", usual.results)), (usual.results, HELD));
        assert_eq!(sizes("results: 1KiB, stored: 2KiB"), (1 << 10, 2 << 10));
    }
}
