//! Cases: tests of graphs, written as data. A case runs on the walker, the driver and the records of real runs; only
//! its items, its store and its clock are replaced.

mod ceiling;
mod clock;
mod crash;
mod document;
mod double;
mod executor;
mod expect;
mod expect_events;
mod expect_state;
mod find;
mod http;
mod items;
pub mod keys;
mod models;
mod report;
mod run;
mod session;
mod store;
mod travel;

pub use ceiling::Stop;
pub use document::{Case, GraphSource, Operation, ResumeOptions, RunOptions, Step};
pub use double::Double;
pub use expect::{Actual, ActualError, Expect, Mismatch};
pub use find::{SUFFIX, cases};
pub use http::{HttpDouble, with_answers};
pub use items::Items;
pub use models::ModelAnswer;
pub use report::{CaseReport, Crashes, Problem, Report};
pub use run::{Options, run};
