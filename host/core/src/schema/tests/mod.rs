//! Tests of schemas as a whole: against the official test suite, against another implementation, and with schemas and values
//! that are made to take long.

mod costs;
mod differential;
mod suite;
