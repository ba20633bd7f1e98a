//! Metering of the host's own work for a document: evaluating templates and conditions, checking schemas, folding writes and writing
//! records. WebAssembly fuel only meters components; without this, a graph of a few lines could take all of a machine's time and memory.
//!
//! The unit is host fuel. Copying a value costs its [`size`], so a limit on host fuel is a limit on memory too, and it is
//! charged before the memory is taken. Rates depend on nothing but the work: the same run costs the same on every target.
//!
//! ```
//! use graph_core::work::{FuelExhausted, Meter, rates, size};
//!
//! let meter = Meter::new(2_000);
//! meter.charge(rates::VISIT / 4)?;
//! meter.charge(size::of(&serde_json::json!({"a": [1, 2]})))?;
//! assert_eq!(meter.charge(1_500), Err(FuelExhausted::Fuel));
//! # Ok::<(), FuelExhausted>(())
//! ```

mod compile_budget;
mod meter;
mod pattern;
pub mod rates;
pub mod size;

pub use compile_budget::CompileBudget;
pub use meter::{FuelExhausted, Meter};
pub use pattern::{Pattern, PatternError, ReadPattern};
