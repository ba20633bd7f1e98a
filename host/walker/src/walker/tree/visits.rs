//! Count, for tests, of the visits to child runs, effects and records other than those that an event is for.

pub(super) fn count() {
    add(1);
}

#[cfg(test)]
thread_local! {
    pub(in crate::walker) static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(super) fn add(more: usize) {
    COUNT.set(COUNT.get() + more as u64);
}

#[cfg(not(test))]
pub(super) const fn add(_: usize) {}
