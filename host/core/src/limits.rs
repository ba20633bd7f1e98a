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
}

impl TaskLimits {
    /// What holds where neither manifest nor graph says otherwise.
    pub const DEFAULT: Self = Self {
        fuel: 1_000_000_000,
        memory: 64 << 20,
        timeout: Duration::from_secs(10),
        output: 1 << 20,
        log: 64 << 10,
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
