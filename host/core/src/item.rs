//! A graph as the walker sees it: names resolved to indices, templates and conditions parsed, defaults filled in.
//! `document` makes one from YAML and has checked everything that can be checked without running.

use serde::{Deserialize, Serialize};

use crate::capability::DispatchPatterns;
use crate::policy::named;

/// The operation on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ItemOperation {
    Execute,
    Search,
    Load,
    Sign,
}

/// The type of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ItemType {
    Tool,
    Knowledge,
    Directive,
}

/// A node's `capabilities`: a further restriction of the manifest's grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCapabilities {
    /// Dispatch patterns; `None` does not restrict dispatch. A list with an invalid pattern permits nothing.
    pub dispatch: Option<DispatchPatterns>,
    /// The capability kinds (`filesystem`, `clocks`, `random`, …) that remain; `None` does not restrict them.
    pub interfaces: Option<Vec<String>>,
}

named! {
    ItemOperation { Execute => "execute", Search => "search", Load => "load", Sign => "sign" }
    ItemType { Tool => "tool", Knowledge => "knowledge", Directive => "directive" }
}
