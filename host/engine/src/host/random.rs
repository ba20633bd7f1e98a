//! `wasi:random`, from a seed that is in the run's records.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::bindings::wasi::random::{insecure, insecure_seed, random};
use crate::limiter::LimitReached;
use crate::state::TaskState;

/// Largest number of bytes that one host call returns.
const MAX_BYTES: u64 = 1 << 20;

/// A generator that is created at first use: most calls never use it.
pub(crate) struct SeededRandom {
    seed: [u8; 32],
    generator: Option<ChaCha20Rng>,
}

impl SeededRandom {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, generator: None }
    }

    fn generator(&mut self) -> &mut ChaCha20Rng {
        self.generator.get_or_insert_with(|| ChaCha20Rng::from_seed(self.seed))
    }

    fn bytes(&mut self, wanted: u64) -> wasmtime::Result<Vec<u8>> {
        if wanted > MAX_BYTES {
            return Err(LimitReached::Random { wanted, limit: MAX_BYTES }.into());
        }
        let mut bytes = vec![0; usize::try_from(wanted)?];
        self.generator().fill_bytes(&mut bytes);
        Ok(bytes)
    }
}

impl random::Host for TaskState {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random.bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.random.generator().next_u64())
    }
}

impl insecure::Host for TaskState {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random.bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.random.generator().next_u64())
    }
}

impl insecure_seed::Host for TaskState {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let generator = self.random.generator();
        Ok((generator.next_u64(), generator.next_u64()))
    }
}
