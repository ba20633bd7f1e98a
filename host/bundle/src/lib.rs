//! Instruments core modules and components, so that an engine without fuel metering counts the same fuel as
//! graph-host's engine, and stops at the same places. `host/docs/design/fuel.md` has the rules. [`transpile()`]
//! translates components to JavaScript, and [`site`] assembles the files that a browser needs for a graph
//! (`host/docs/design/bundle.md`).
//!
//! ```
//! let module = wat::parse_str("(module (func (export \"f\") (param i32) (result i32) local.get 0 i32.const 1 i32.add))").unwrap();
//! let instrumented = graph_bundle::instrument(&module)?;
//! assert!(instrumented.module.len() > module.len());
//! # Ok::<(), graph_bundle::InstrumentError>(())
//! ```

mod function_names;
mod instrument;
mod names;
pub mod site;
mod transpile;

pub use function_names::{NameClash, check_exports, check_types};
pub use instrument::{InstrumentError, InstrumentedModule, METER, Stop, instrument, instrument_cores};
pub use transpile::{TranspileError, TranspiledComponent, transpile};
