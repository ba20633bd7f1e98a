//! What registries answer, apart from manifests: challenges, tokens, listings, explanations of errors and the addresses
//! that they send clients to. Nothing in here makes a request, and all of it is written by strangers.

mod address;
mod body;
mod challenge;

pub use address::{AddressError, location, next_page, refuses, same_origin};
#[cfg(feature = "http")]
pub(crate) use address::{is_local, is_loopback, resolves_locally};
pub use body::{BodyError, MOST_NAMES, explanation, names, token};
pub use challenge::Challenge;
