//! Time slices: control returns to the driver after some work of the host.

/// Time slice: the host's work since the driver handed over the last event, and its limit.
#[derive(Debug)]
pub(in crate::walker) struct WorkSlice {
    /// Fuel of the host's work since that event.
    spent: u64,
    /// Fuel after which control returns to the driver.
    length: u64,
}

impl WorkSlice {
    pub(in crate::walker) const fn new(length: u64) -> Self {
        Self { spent: 0, length }
    }

    /// Fuel of the host's work since the last event.
    #[inline]
    pub(in crate::walker) const fn spent(&self) -> u64 {
        self.spent
    }

    /// Fuel after which control returns to the driver.
    #[inline]
    pub(in crate::walker) const fn length(&self) -> u64 {
        self.length
    }

    /// Begins a slice for an event, for which `spent` has been used already.
    #[inline]
    pub(in crate::walker) const fn begin(&mut self, spent: u64) {
        self.spent = spent;
    }

    /// Sets the fuel after which control returns to the driver.
    pub(in crate::walker) const fn set_length(&mut self, length: u64) {
        self.length = length;
    }

    /// Adds work that has been done.
    #[inline]
    pub(in crate::walker) const fn add(&mut self, spent: u64) {
        self.spent = self.spent.saturating_add(spent);
    }

    /// Returns `true` if control must return to the driver.
    #[inline]
    pub(in crate::walker) const fn is_over(&self) -> bool {
        self.spent >= self.length
    }
}
