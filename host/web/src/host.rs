//! What a host of components does the way the native host does it.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use graph_core::digest::Digest;
use graph_core::json;

/// Reads a JSON text of a component, and gives it in canonical form; the error says what is wrong with it.
pub fn read_json(text: &str) -> Result<String, String> {
    match json::parse_strict(text, json::MAX_DEPTH) {
        Ok(value) => Ok(json::canonical_string(&value)),
        Err(error) => Err(error.to_string()),
    }
}

/// The random numbers of one call.
#[derive(Debug)]
pub struct Random(ChaCha20Rng);

impl Random {
    /// At the beginning of what a seed of 32 bytes gives. A seed of another length is that of its digest.
    pub fn of(seed: &[u8]) -> Self {
        let seed = <[u8; 32]>::try_from(seed).unwrap_or_else(|_| *Digest::of_bytes(seed).as_bytes());
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// The next bytes of the stream that follows from the seed.
    pub fn bytes(&mut self, length: u32) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// The next 64 bits of the stream, as a number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_strictly() {
        assert_eq!(
            read_json(r#" {"b": 18446744073709551615, "a": 1} "#),
            Ok(r#"{"a":1,"b":18446744073709551615}"#.to_owned())
        );
        assert!(read_json(r#"{"a": 1, "a": 2}"#).is_err());
        assert!(read_json(&"[".repeat(200)).is_err());
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut first = Random::of(&[7; 32]);
        let mut second = Random::of(&[7; 32]);
        assert_eq!((first.bytes(5), first.number()), (second.bytes(5), second.number()));
        assert_ne!(first.number(), Random::of(&[8; 32]).number());
    }
}
