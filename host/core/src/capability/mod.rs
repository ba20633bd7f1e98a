//! Capabilities: the items that may be dispatched, and the interfaces that a component may use. Everything that is not granted is denied.

mod approvals;
mod ceiling;
mod cleaned_text;
mod dispatch;
mod effective;
mod grant;
mod http;
mod interface;
mod item;
mod manifest;
mod manifest_reach;
mod model;
mod nested;
mod outgoing;
mod path;
mod reach;
mod read;
mod secret_encodings;
mod suggest;

pub use approvals::{IdSource, ItemRules, Verdict};
pub use ceiling::Ceiling;
pub use cleaned_text::CleanedText;
pub use dispatch::{DispatchPattern, DispatchPatternError, DispatchPatterns, capability_name};
pub use effective::{GrantRequest, Refusal, RefusalReason, effective_grant};
pub use grant::{Access, CapabilityKind, EffectiveGrant, Mount};
pub use http::{AddressRange, HttpRule, ParseAddressError, RequestDenied, Scheme, is_public, permit};
pub use interface::{InterfaceName, ParseInterfaceError, Provision};
pub use item::{ItemPattern, ItemPatternError, Specificity};
pub use manifest::{ItemEntry, Manifest, ManifestMount, StatedSizes};
pub use manifest_reach::ManifestReach;
pub use model::{
    DIRECTIVE_FORMAT, ITEM_FORMAT, MODEL_FORMAT, ModelApi, ModelPrice, ModelRule, ModelTokens, is_model_name,
};
pub use nested::check_rules;
pub use nested::{call_seed, check_call};
pub use outgoing::{
    HttpField, HttpResponse, OutgoingGrant, SecretValue, UnsearchableResponse, UnusableSecret,
};
pub use reach::{KnowledgeRule, SecretRule, SecretSource, is_key};
pub use read::read_money;
pub use read::read_run_limits;
pub(crate) use read::read_task_models;
pub use suggest::{DispatchUse, ItemNeeds, Suggestion, suggest};
