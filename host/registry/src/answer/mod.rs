//! What registries answer, apart from manifests: challenges, tokens, listings, explanations of errors and the addresses
//! that they send clients to. Nothing in here makes a request, and all of it is written by strangers.

mod address;
mod body;
mod challenge;

#[cfg(feature = "http")]
pub(crate) use address::is_loopback;
pub use address::{AddressError, location, next_page, refuses, same_origin};
pub use body::{BodyError, MOST_NAMES, explanation, names, token};
pub use challenge::Challenge;
