//! Parameters and result of the item.

use std::collections::BTreeMap;

use graph_sdk::prelude::*;

/// A script and what it runs with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The script.
    #[schemars(extend("format" = "shell"))]
    pub(crate) command: String,
    /// The folder that it starts in; by default the first granted folder.
    #[serde(default)]
    pub(crate) working_dir: Option<String>,
    /// Its standard input.
    #[serde(default)]
    pub(crate) stdin: String,
    /// Environment variables.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The positional parameters `$1`, `$2`, …
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// After how many seconds of the virtual clock the script ends: only `sleep` takes time there.
    #[serde(default)]
    pub(crate) timeout: Option<u32>,
    /// Whether a status other than 0 is a failure of the node; otherwise it is a result.
    #[serde(default = "checked")]
    pub(crate) check: bool,
}

fn checked() -> bool {
    true
}

/// How the script ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ended {
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed to standard error.
    pub(crate) stderr: String,
    /// Its status.
    pub(crate) exit_code: i32,
    /// The lines of `stdout`.
    pub(crate) lines: Vec<String>,
}
