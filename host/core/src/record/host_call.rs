//! A component's call of the host, reported while the component runs.

use std::time::Duration;

/// A call that a component has made of the host. It is reported to observers of a run, and stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// The interface, as `graph-host:host/log`.
    pub interface: &'static str,
    /// The name of the function in the interface.
    pub function: &'static str,
    /// When it began, counted from the Unix epoch: finer than the timestamps of records.
    pub began: Duration,
    /// How long it took.
    pub took: Duration,
    /// Whether the call succeeded.
    pub succeeded: bool,
}
