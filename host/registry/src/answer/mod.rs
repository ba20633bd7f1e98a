//! Parsers of registry answers, apart from manifests: challenges, tokens, listings, error messages and the addresses to
//! which a registry sends its clients. Nothing in this module makes a request. Its input comes from strangers.

mod address;
mod body;
mod challenge;

#[cfg(feature = "http")]
pub(crate) use address::is_loopback;
pub use address::{AddressError, location, next_page, refuses, same_origin};
#[cfg(feature = "http")]
pub(crate) use address::{is_local, resolves_locally};
pub use body::{BodyError, MOST_NAMES, explanation, names, token};
pub use challenge::Challenge;
