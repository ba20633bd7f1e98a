//! Tests of schemas as a whole: against the official test suite, and with schemas and values
//! that are made to take long.

mod costs;
mod suite;
