//! Tests of the walker on random graphs: its invariants, and a second implementation of the graph language.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod cache;
mod ended;
mod forms;
mod graphs;
mod growth;
mod hooks;
mod invariants;
mod journal;
mod many_children;
mod model_grants;
mod model_reserved;
mod naive;
mod nested;
mod open_fields;
mod phases;
mod replay;
mod simulation;
mod travel;
mod under_way;
