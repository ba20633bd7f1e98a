//! What an item may be dispatched and what a component may touch. Everything is denied that is not granted.

mod ceiling;
mod dispatch;
mod effective;
mod grant;
mod interface;
mod item;
mod manifest;
mod path;
mod read;
mod suggest;

pub use ceiling::Ceiling;
pub use dispatch::{DispatchPattern, DispatchPatternError, DispatchPatterns, capability_name};
pub use effective::{GrantRequest, Refusal, RefusalReason, effective_grant};
pub use grant::{Access, CapabilityKind, EffectiveGrant, Mount};
pub use interface::{InterfaceName, ParseInterfaceError, Provision};
pub use item::{ItemPattern, ItemPatternError, Specificity};
pub use manifest::{ItemEntry, Manifest, ManifestMount};
pub use suggest::{DispatchUse, ItemNeeds, Suggestion, suggest};
