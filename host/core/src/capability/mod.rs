//! What an item may be dispatched and what a component may touch. Everything is denied that is not granted.

mod ceiling;
mod grant;

pub use ceiling::Ceiling;
pub use grant::{Access, CapabilityKind, EffectiveGrant, Mount};
