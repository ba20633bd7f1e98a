//! The walker's invariants, on random graphs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod graphs;
mod invariants;
mod simulation;
