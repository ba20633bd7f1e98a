//! Stops of runs: their limits, how a run stops, and what is known of it.

pub(super) mod limit_codes;
pub(super) mod stop_state;
pub(super) mod stops;
