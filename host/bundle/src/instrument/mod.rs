//! Core modules that count their own fuel.
//!
//! An instrumented module imports three mutable globals from [`METER`], which all modules of a component share:
//!
//! | Global | Type | |
//! |---|---|---|
//! | `fuel` | `i64` | what has been used, counted up from the negated limit: at 0 the limit is reached |
//! | `pages` | `i64` | how many pages the memories may still grow by, all together |
//! | `stop` | `i32` | why an `unreachable` was executed: a [`Stop`], or 0 where it is the module's own |
//!
//! What a call has used is `limit + fuel`, at most the limit. The rates are those of [`graph_core::fuel`], and so are the places
//! at which the limit is looked at. Results of floating-point arithmetic that are NaN become the canonical NaN.
//!
//! `cores` does that to all core modules of a component, however deep they are nested in it, and to the adapters between nested ones, which
//! `adapter` knows. `module` rewrites the sections of one, `function` the code, `constants` knows which operands are constants for the
//! engine, and `costs` what instructions cost.

mod adapter;
mod constants;
mod cores;
mod costs;
mod function;
mod module;

pub use cores::instrument_cores;
pub use module::{InstrumentError, Instrumented, METER, Stop, instrument};

#[cfg(test)]
mod tests;
