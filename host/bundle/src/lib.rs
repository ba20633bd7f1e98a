//! Instruments core modules and components, so that an engine that meters nothing counts the fuel that graph-host's engine
//! counts, and stops where that one stops. `host/docs/design/fuel.md` has the rules. [`transpile()`] makes JavaScript of components, and
//! [`site`] puts together what a browser needs for a graph (`host/docs/design/bundle.md`).
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
pub use instrument::{InstrumentError, Instrumented, METER, Stop, instrument, instrument_cores};
pub use transpile::{TranspileError, Transpiled, transpile};
