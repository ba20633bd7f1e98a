//! Replacement of the crate `getrandom`, which has no source of random numbers in a component. These are the host's,
//! derived from the seed of the run.

/// Maximum number of bytes that the host returns at once.
const PIECE: usize = 64 << 10;

/// Error if there are no random numbers. The host always has some.
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
