//! The timers that a walker has set.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::time::Timestamp;
use graph_walker::walker::TimerId;

/// The timers of a run. The earliest is found without a search, because the driver needs it after every event, and each
/// of very many child runs may have a timer.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    by_id: BTreeMap<TimerId, Timestamp>,
    by_time: BTreeSet<(Timestamp, TimerId)>,
}

impl Timers {
    /// Sets a timer, in place of an earlier setting of the same timer.
    pub(crate) fn set(&mut self, timer: TimerId, at: Timestamp) {
        if let Some(before) = self.by_id.insert(timer.clone(), at) {
            self.by_time.remove(&(before, timer.clone()));
        }
        self.by_time.insert((at, timer));
    }

    /// Returns the time of the earliest timer.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Removes and returns the earliest timer, if it is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<TimerId> {
        if self.earliest()? > now {
            return None;
        }
        let (_, timer) = self.by_time.pop_first()?;
        self.by_id.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(namespace: &str) -> TimerId {
        TimerId::ChildTimeout { namespace: namespace.into() }
    }

    #[test]
    fn timers_fire_in_the_order_of_their_times() {
        let mut timers = Timers::default();
        timers.set(child("1.0"), Timestamp(30));
        timers.set(TimerId::RunTimeout, Timestamp(20));
        timers.set(child("1.1"), Timestamp(20));
        timers.set(child("1.2"), Timestamp(10));
        timers.set(child("1.2"), Timestamp(40));
        assert_eq!(timers.earliest(), Some(Timestamp(20)));
        assert_eq!(timers.take_due(Timestamp(19)), None);
        let mut fired = Vec::new();
        while let Some(timer) = timers.take_due(Timestamp(30)) {
            fired.push(timer);
        }
        let mut both = [TimerId::RunTimeout, child("1.1")];
        both.sort();
        assert_eq!(fired, [both[0].clone(), both[1].clone(), child("1.0")]);
        assert_eq!(timers.earliest(), Some(Timestamp(40)), "it was set again");
    }
}
