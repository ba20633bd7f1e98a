//! Host of a test: the generated functions of a component, implemented with [`State`].

pub(crate) mod filesystem;
pub(crate) mod http;
#[cfg(feature = "model")]
pub(crate) mod model;
#[cfg(feature = "model")]
mod model_rules;

use crate::testing::state::State;

/// Calls a function with the state; panics in a test without a host.
fn with<T>(use_of: impl FnOnce(&mut State) -> T) -> T {
    State::with_current(use_of)
}

pub(crate) mod log {
    use crate::host::Level;

    pub(crate) fn log(level: Level, message: &str) {
        super::with(|state| state.lines.push((level, message.to_owned())));
    }
}

pub(crate) mod events {
    pub(crate) fn emit(name: &str, payload: &str) {
        // The SDK has written the payload, so it is JSON.
        let payload = serde_json::from_str(payload).unwrap_or_default();
        super::with(|state| state.records.push((name.to_owned(), payload)));
    }
}

pub(crate) mod wall_clock {
    use crate::bindings::wasi::clocks::wall_clock::Datetime;

    pub(crate) fn now() -> Datetime {
        let now = super::with(|state| state.clock);
        Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() }
    }
}

pub(crate) mod monotonic_clock {
    use std::time::Duration;

    /// A span of time that passes at once.
    pub(crate) struct Passing(Duration);

    impl Passing {
        pub(crate) fn block(&self) {
            super::with(|state| state.clock = state.clock.saturating_add(self.0));
        }
    }

    pub(crate) fn subscribe_duration(nanoseconds: u64) -> Passing {
        Passing(Duration::from_nanos(nanoseconds))
    }
}

pub(crate) mod random {
    pub(crate) fn get_random_bytes(count: u64) -> Vec<u8> {
        (0..count).map(|_| get_random_u64().to_le_bytes()[0]).collect()
    }

    /// Returns the next number of `SplitMix64`.
    pub(crate) fn get_random_u64() -> u64 {
        super::with(|state| {
            state.seed = state.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state.seed ^ (state.seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        })
    }
}

pub(crate) mod secrets {
    use crate::bindings::graph_host::host::secrets::SecretError;

    pub(crate) fn handle(name: &str) -> Result<String, SecretError> {
        super::with(|state| state.secrets.get(name).cloned()).ok_or(SecretError::NotGranted)
    }

    pub(crate) fn names() -> Vec<String> {
        super::with(|state| state.secrets.keys().cloned().collect())
    }
}

pub(crate) mod knowledge {
    use crate::bindings::graph_host::host::knowledge::{Hit, KnowledgeError};

    /// Maximum number of entries that a search returns.
    const MOST_HITS: u32 = 100;
    /// Maximum number of keys in a list.
    const MOST_KEYS: u32 = 1000;

    #[expect(clippy::unnecessary_wraps, reason = "a component's import can fail")]
    pub(crate) fn get(key: &str) -> Result<Option<String>, KnowledgeError> {
        Ok(super::with(|state| state.knowledge.get(key).cloned()))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a component's import can fail")]
    pub(crate) fn put(key: &str, text: &str) -> Result<(), KnowledgeError> {
        super::with(|state| state.knowledge.insert(key.to_owned(), text.to_owned()));
        Ok(())
    }

    /// Returns matches in the order of their keys: only the real host ranks texts.
    #[expect(clippy::unnecessary_wraps, reason = "a component's import can fail")]
    pub(crate) fn search(prefix: &str, query: &str, limit: u32) -> Result<Vec<Hit>, KnowledgeError> {
        let query = query.to_lowercase();
        let has_all_words = |text: &str| {
            let text = text.to_lowercase();
            query.split_whitespace().all(|word| text.split_whitespace().any(|other| other == word))
        };
        Ok(super::with(|state| {
            state
                .knowledge
                .iter()
                .filter(|(key, text)| key.starts_with(prefix) && has_all_words(text))
                .take(limit.min(MOST_HITS) as usize)
                .map(|(key, text)| Hit { key: key.clone(), excerpt: text.clone() })
                .collect()
        }))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a component's import can fail")]
    pub(crate) fn list(prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KnowledgeError> {
        Ok(super::with(|state| {
            state
                .knowledge
                .keys()
                .filter(|key| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after))
                .take(limit.min(MOST_KEYS) as usize)
                .cloned()
                .collect()
        }))
    }
}

pub(crate) mod tools {
    use crate::Failure;
    use crate::bindings::graph_host::node::types as wit;

    pub(crate) fn call(item: &str, params: &str) -> Result<String, wit::Failure> {
        let perform = super::with(|state| state.items.get(item).cloned());
        let result = match perform {
            Some(perform) => {
                serde_json::from_str(params).map_err(Failure::from).and_then(|params| perform(params))
            }
            None => Err(Failure::denied(format_args!("`{item}` may not be called"))),
        };
        match result {
            Ok(value) => Ok(value.to_string()),
            // A callee that asks a question fails in this way.
            Err(failure) => Err(failure.into_wit().err().unwrap_or_else(|| wit::Failure {
                category: wit::Category::InvalidInput,
                message: format!("`{item}` asks a question, which only a node may do"),
                details: None,
            })),
        }
    }
}

pub(crate) mod preopens {
    use super::filesystem::Descriptor;

    pub(crate) fn get_directories() -> Vec<(Descriptor, String)> {
        let granted = super::with(|state| state.files.granted());
        granted.into_iter().map(|path| (Descriptor::new(path.clone()), path)).collect()
    }
}
