//! Calls of items by components: what every host checks before one.

use super::dispatch::{DispatchPatterns, capability_name};
use super::manifest::Manifest;
use crate::diagnostic::printable;
use crate::digest::{Digest, DomainHasher};
use crate::graph::{ItemType, NodeCapabilities, Primary};
use crate::node::{Category, Failure};

/// Whether a component may call an item: the manifest has to permit it, the node's own `capabilities`, and what its templates have
/// `given`, must not leave it out, and `depth`, the number of calls around the called component, must not be larger than the manifest allows.
pub fn check_call(
    manifest: &Manifest,
    own: Option<&NodeCapabilities>,
    given: Option<&DispatchPatterns>,
    item: &str,
    depth: u32,
) -> Result<(), Failure> {
    // The patterns were checked with the document; one that cannot be read permits nothing.
    let own = own
        .and_then(|own| own.dispatch.as_deref())
        .map(|patterns| DispatchPatterns::parse(patterns).unwrap_or_default());
    let permits = |patterns: &DispatchPatterns| patterns.permits(Primary::Execute, ItemType::Tool, item);
    if !permits(manifest.dispatch()) || ![own.as_ref(), given].into_iter().flatten().all(permits) {
        let name = capability_name(Primary::Execute, ItemType::Tool, item);
        let message = format!(
            "`{}` is not permitted: no pattern of `dispatch` that holds at this node covers it",
            printable(&name)
        );
        return Err(Failure::new(Category::Denied, message));
    }
    let most = manifest.run_limits().depth;
    if depth > most {
        let message = format!(
            "`{item}` would be called {depth} levels deep; the manifest's `run: {{ depth: {most} }}` allows no more"
        );
        return Err(Failure::new(Category::Limit, message));
    }
    Ok(())
}

/// The seed of a component that another one calls: from the seed of the caller, the number of its call, from 0, and the item.
pub fn call_seed(caller: &[u8; 32], number: u64, item: &str) -> Digest {
    DomainHasher::new("graph-host/call-seed/v1")
        .field(caller)
        .field(&number.to_le_bytes())
        .field(item.as_bytes())
        .finish()
}
