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

    /// What of the host a task may use.
    pub const fn host(&self) -> HostUse {
        HostUse { calls: self.calls, bytes: self.bytes }
    }

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
    /// Calls of the host that ask the world, of all tasks together.
    #[serde(default = "default_run_calls", skip_serializing_if = "is_default_run_calls")]
    pub calls: u64,
    /// What those calls ask and what is answered, as the journals have it, in bytes.
    #[serde(default = "default_run_bytes", skip_serializing_if = "is_default_run_bytes")]
    pub bytes: u64,
}

const fn default_run_calls() -> u64 {
    RunLimits::DEFAULT.calls
}

const fn default_run_bytes() -> u64 {
    RunLimits::DEFAULT.bytes
}

// What is left as it is has no part in the text of a manifest.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_run_calls(calls: &u64) -> bool {
    *calls == RunLimits::DEFAULT.calls
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_default_run_bytes(bytes: &u64) -> bool {
    *bytes == RunLimits::DEFAULT.bytes
}

const fn default_depth() -> u32 {
    RunLimits::DEFAULT.depth
}

impl RunLimits {
    /// What holds where the manifest does not say otherwise.
    pub const DEFAULT: Self = Self {
        fuel: 100_000_000_000,
        timeout: Duration::from_mins(10),
        depth: 5,
        calls: 10_000_000,
        bytes: 4 << 30,
    };

    /// What of the host the run may use.
    pub const fn host(&self) -> HostUse {
        HostUse { calls: self.calls, bytes: self.bytes }
    }
}

/// What is used of the host, or may be: calls that ask the world, and what they ask and are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostUse {
    /// Calls, those of called components included.
    pub calls: u64,
    /// Requests and results as the journal has them, in bytes.
    pub bytes: u64,
}

impl HostUse {
    /// Whether nothing was used.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub const fn is_nothing(&self) -> bool {
        self.calls == 0 && self.bytes == 0
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self { calls: of(self.calls, other.calls), bytes: of(self.bytes, other.bytes) }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// What is left of it; of neither less than nothing.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    /// The smaller of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self.each(other, u64::min)
    }

    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// So many times as much.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        self.each(self, |of, _| of.saturating_mul(count))
    }

    /// One of so many equal shares; `count` is not 0.
    #[must_use]
    pub fn share(self, count: u64) -> Self {
        self.each(self, |of, _| of / count.max(1))
    }
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
