//! Replaces the crate of this name, which knows no source of random numbers in a component: these are the host's, drawn from
//! the seed of the run.

/// The largest piece that the host gives at once, in bytes.
const PIECE: usize = 64 << 10;

/// Why there are no random numbers. The host always has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the host has no random numbers")
    }
}

impl std::error::Error for Error {}

/// Fills a buffer with random bytes.
pub fn fill(buffer: &mut [u8]) -> Result<(), Error> {
    for piece in buffer.chunks_mut(PIECE) {
        let bytes = graph_sdk::host::random_bytes(piece.len() as u64);
        if bytes.len() != piece.len() {
            return Err(Error);
        }
        piece.copy_from_slice(&bytes);
    }
    Ok(())
}
