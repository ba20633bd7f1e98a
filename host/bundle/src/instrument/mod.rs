//! Instrumentation of core modules, which count their own fuel afterwards.
//!
//! An instrumented module imports three mutable globals from [`METER`], which all modules of a component share:
//!
//! | Global | Type | |
//! |---|---|---|
//! | `fuel` | `i64` | fuel that was used, counted up from the negated limit: at 0 the limit is reached |
//! | `pages` | `i64` | number of pages by which all memories together may still grow |
//! | `stop` | `i32` | reason for an `unreachable`: a [`Stop`], or 0 if it is the module's own |
//!
//! The fuel that a call has used is `limit + fuel`, at most the limit. The rates are those of [`graph_core::fuel`], and
//! the limit is checked at the same places. Floating-point results that are NaN become the canonical NaN.
//!
//! `cores` instruments all core modules of a component, at any depth, and the adapters between nested components, which
//! `adapter` analyses. `module` rewrites the sections of a core module, `function` its code, `constants` finds operands
//! that are constants for the engine, and `costs` has the costs of instructions.

mod adapter;
mod constants;
mod cores;
mod costs;
mod function;
mod module;

pub use cores::instrument_cores;
pub use module::{InstrumentError, InstrumentedModule, METER, Stop, instrument};

#[cfg(test)]
mod tests;
