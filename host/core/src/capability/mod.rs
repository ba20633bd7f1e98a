//! What an item may be dispatched and what a component may touch. Everything is denied that is not granted.

mod ceiling;
mod dispatch;
mod grant;
mod item;
mod manifest;
mod path;
mod read;

pub use ceiling::Ceiling;
pub use dispatch::{DispatchPattern, DispatchPatternError, DispatchPatterns, capability_name};
pub use grant::{Access, CapabilityKind, EffectiveGrant, Mount};
pub use item::{ItemPattern, ItemPatternError, Specificity};
pub use manifest::{ItemEntry, Manifest, ManifestMount};
