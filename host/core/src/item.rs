//! Items as graphs, manifests and trust stores name them: their types, the operations on them, and the part of a manifest that is left to
//! those of a node.

use serde::{Deserialize, Serialize};

use crate::capability::DispatchPatterns;
use crate::policy::named;

/// The operation on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Primary {
    Execute,
    Search,
    Load,
    Sign,
}

/// What kind of item it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ItemType {
    Tool,
    Knowledge,
    Directive,
}

/// A node's `capabilities`: a further narrowing of the manifest's grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCapabilities {
    /// Dispatch patterns; `None` does not narrow dispatch. A list with a text that is no pattern permits nothing.
    pub dispatch: Option<DispatchPatterns>,
    /// The capability kinds (`filesystem`, `clocks`, `random`, …) that stay; `None` does not narrow them.
    pub interfaces: Option<Vec<String>>,
}

named! {
    Primary { Execute => "execute", Search => "search", Load => "load", Sign => "sign" }
    ItemType { Tool => "tool", Knowledge => "knowledge", Directive => "directive" }
}
