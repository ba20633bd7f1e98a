//! Parts of graph-host that every crate shares, without IO: JSON and YAML with positions, diagnostics, schemas, templates, conditions, limits,
//! capabilities, trust and checkpoint records. Nothing here reads a clock, draws randomness or looks at the environment: time and
//! identity are arguments, and the same arguments give the same result on every machine and in a browser.

pub mod capability;
pub mod condition;
pub mod diagnostic;
pub mod digest;
pub mod format;
pub mod fuel;
pub mod hook_event;
pub mod id;
pub mod item;
pub mod json;
pub mod keys;
pub mod limits;
pub mod model_budget;
pub mod model_grant;
pub mod node;
pub mod policy;
pub mod question;
pub mod ranking;
pub mod record;
pub mod schema;
pub mod template;
pub mod text_item;
pub mod time;
pub mod trust;
pub mod wait;
pub mod wasm_name;
pub mod wit_value;
pub mod work;
pub mod yaml;
