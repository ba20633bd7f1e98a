//! Operations on items other than running components.

mod load;
mod perform;
mod search;
mod sign;

pub use perform::*;
