//! Samples of inputs that are many and alike: drawn by `SEED`, so that every run draws the same; `FULL=1` draws all.

use graph_core::digest::Digest;

/// Checks whether an input is in a sample of one in `one_in`.
pub(crate) fn is_drawn(name: &str, one_in: u64) -> bool {
    if std::env::var("FULL").is_ok_and(|full| !full.is_empty()) {
        return true;
    }
    let seed = std::env::var("SEED").unwrap_or_else(|_| "11".to_owned());
    let digest = Digest::of_bytes(format!("{seed}:{name}").as_bytes()).hex();
    u64::from_str_radix(&digest[..8], 16).unwrap().is_multiple_of(one_in)
}
