//! Bounds the cost of checking the params of all nodes of a plan.

use std::sync::atomic::{AtomicU64, Ordering};

use graph_core::work::{Meter, rates};

/// Limit for all checks of a plan together: about five seconds. Each compiles the schema of a stranger.
const MOST: u64 = 50 * rates::STEP;

/// The fuel that is left for the checks of a plan. The run is not charged for it.
pub(super) struct PlanWork {
    left: AtomicU64,
}

impl Default for PlanWork {
    fn default() -> Self {
        Self { left: AtomicU64::new(MOST) }
    }
}

impl PlanWork {
    /// Makes one check with a meter over the fuel that is left.
    pub(super) fn step<T>(&self, check: impl FnOnce(&Meter) -> T) -> T {
        let left = self.left.load(Ordering::Relaxed);
        let meter = Meter::new(left);
        let checked = check(&meter);
        self.left.store(left.saturating_sub(meter.spent()), Ordering::Relaxed);
        checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_checks_of_a_plan_are_bounded_together() {
        let work = PlanWork::default();
        let steps = (0..1000).take_while(|_| work.step(|meter| meter.charge(rates::STEP).is_ok())).count();
        assert_eq!(steps, 50);
        assert!(work.step(|meter| meter.charge(1).is_err()));
    }
}
