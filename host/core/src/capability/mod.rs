//! What an item may be dispatched and what a component may touch. Everything is denied that is not granted.

mod grant;

pub use grant::{Access, CapabilityKind, EffectiveGrant, Mount};
