//! A component's call of the host, reported while the component runs.

use std::time::Duration;

/// A call of the host by a component. It is reported to observers of a run, and stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// The interface, as `graph-host:host/log`.
    pub interface: &'static str,
    /// The name of the function in the interface.
    pub function: &'static str,
    /// Time of its start since the Unix epoch: finer than the timestamps of records.
    pub began: Duration,
    /// Duration of the call.
    pub took: Duration,
    /// `true` if the call succeeded.
    pub succeeded: bool,
}
