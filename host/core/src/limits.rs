//! What a task and a run may use up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one task may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// WebAssembly fuel for one attempt.
    pub fuel: u64,
    /// Linear memory, in bytes, all memories of the component together.
    pub memory: u64,
    /// Wall time of one attempt.
    #[serde(with = "millis")]
    pub timeout: Duration,
    /// The length of the outcome's JSON text, in bytes.
    pub output: u64,
    /// Bytes of log lines and custom events.
    pub log: u64,
    /// Calls of the host that ask the world: each has an entry in the task's journal.
    #[serde(default = "default_calls")]
    pub calls: u64,
    /// The texts of all requests and results in the journal of one attempt, in bytes.
    #[serde(default = "default_bytes")]
    pub bytes: u64,
    /// What is written to files, in bytes.
    #[serde(default = "default_written")]
    pub written: u64,
    /// Requests by HTTP.
    #[serde(default = "default_requests")]
    pub requests: u64,
    /// The body of a request by HTTP, in bytes.
    #[serde(default = "default_request_body")]
    pub request_body: u64,
    /// The body of a response by HTTP, in bytes.
    #[serde(default = "default_response_body")]
    pub response_body: u64,
}

const fn default_calls() -> u64 {
    TaskLimits::DEFAULT.calls
}

const fn default_bytes() -> u64 {
    TaskLimits::DEFAULT.bytes
}

const fn default_written() -> u64 {
    TaskLimits::DEFAULT.written
}

const fn default_requests() -> u64 {
    TaskLimits::DEFAULT.requests
}

const fn default_request_body() -> u64 {
    TaskLimits::DEFAULT.request_body
}

const fn default_response_body() -> u64 {
    TaskLimits::DEFAULT.response_body
}

impl TaskLimits {
    /// What holds where neither manifest nor graph says otherwise.
    pub const DEFAULT: Self = Self {
        fuel: 1_000_000_000,
        memory: 64 << 20,
        timeout: Duration::from_secs(10),
        output: 1 << 20,
        log: 64 << 10,
        calls: 10_000,
        bytes: 16 << 20,
        written: 64 << 20,
        requests: 100,
        request_body: 1 << 20,
        response_body: 4 << 20,
    };

    /// No bound at all.
    pub const UNBOUNDED: Self = Self {
        fuel: u64::MAX,
        memory: u64::MAX,
        timeout: Duration::MAX,
        output: u64::MAX,
        log: u64::MAX,
        calls: u64::MAX,
        bytes: u64::MAX,
        written: u64::MAX,
        requests: u64::MAX,
        request_body: u64::MAX,
        response_body: u64::MAX,
    };

    /// The smaller of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            fuel: self.fuel.min(other.fuel),
            memory: self.memory.min(other.memory),
            timeout: self.timeout.min(other.timeout),
            output: self.output.min(other.output),
            log: self.log.min(other.log),
            calls: self.calls.min(other.calls),
            bytes: self.bytes.min(other.bytes),
            written: self.written.min(other.written),
            requests: self.requests.min(other.requests),
            request_body: self.request_body.min(other.request_body),
            response_body: self.response_body.min(other.response_body),
        }
    }
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a whole run may use up, children included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// WebAssembly fuel.
    pub fuel: u64,
    /// Wall time, suspension not counted.
    #[serde(with = "millis")]
    pub timeout: Duration,
    /// How many levels of child runs there may be below the run.
    #[serde(default = "default_depth")]
    pub depth: u32,
}

const fn default_depth() -> u32 {
    RunLimits::DEFAULT.depth
}

impl RunLimits {
    /// What holds where the manifest does not say otherwise.
    pub const DEFAULT: Self = Self { fuel: 100_000_000_000, timeout: Duration::from_mins(10), depth: 5 };
}

impl Default for RunLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Durations in records: whole milliseconds.
pub mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes whole milliseconds.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads whole milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
