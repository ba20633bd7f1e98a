//! The limit of the cache of compiled components.

use graph_core::yaml::parse_size;

use crate::error::{Error, Result};

/// The environment variable that limits the cache of compiled components.
const LIMIT_VARIABLE: &str = "GRAPH_HOST_CACHE_LIMIT";
/// Default limit, in bytes.
const DEFAULT_LIMIT: u64 = 2 << 30;

/// Returns the limit of the cache of compiled components: that of the environment, or the default; `None` for `none`.
pub fn limit() -> Result<Option<u64>> {
    match std::env::var(LIMIT_VARIABLE) {
        Ok(text) if text == "none" => Ok(None),
        Ok(text) if !text.is_empty() => parse_size(&text).map(Some).map_err(|error| {
            Error::usage(format!("{LIMIT_VARIABLE} is no size: {error}"))
                .caused_by(error)
                .help("a size is a number of bytes or has a unit, as in 512MiB; `none` is no limit")
        }),
        _ => Ok(Some(DEFAULT_LIMIT)),
    }
}
