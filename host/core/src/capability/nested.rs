//! Checks that every host performs before a component calls an item.

use super::approvals::{IdSource, Verdict};
use super::dispatch::{DispatchPatterns, capability_name};
use super::manifest::Manifest;
use crate::diagnostic::printable;
use crate::digest::{Digest, DomainHasher};
use crate::item::{ItemOperation, ItemType, NodeCapabilities};
use crate::node::{Category, Failure};

/// Checks whether a component may call an item. The manifest, the node's own `capabilities` and the patterns that its templates have
/// `given` must permit it, no rule of an agent above may be against it, and `depth`, the number of calls around the called component, must
/// not exceed the manifest's.
pub fn check_call(
    manifest: &Manifest,
    own: Option<&NodeCapabilities>,
    given: Option<&DispatchPatterns>,
    item: &str,
    depth: u32,
) -> Result<(), Failure> {
    let own = own.and_then(|own| own.dispatch.as_ref());
    let permits =
        |patterns: &DispatchPatterns| patterns.permits(ItemOperation::Execute, ItemType::Tool, item);
    if !permits(manifest.dispatch()) || ![own, given].into_iter().flatten().all(permits) {
        let name = capability_name(ItemOperation::Execute, ItemType::Tool, item);
        let message = format!(
            "`{}` is not permitted: no pattern of `dispatch` that holds at this node covers it",
            printable(&name)
        );
        return Err(Failure::new(Category::Denied, message));
    }
    check_rules(manifest, item, IdSource::Run)?;
    let most = manifest.run_limits().depth;
    if depth > most {
        let message = format!(
            "`{item}` would be called {depth} levels deep; the manifest's `run: {{ depth: {most} }}` allows no more"
        );
        return Err(Failure::new(Category::Limit, message));
    }
    Ok(())
}

/// Checks whether the rules of agents above permit a call of an item at a place where no one can be asked about it.
pub fn check_rules(manifest: &Manifest, item: &str, source: IdSource) -> Result<(), Failure> {
    let shown = printable(item);
    let message = match manifest.verdict(item, source) {
        Verdict::Allow => return Ok(()),
        Verdict::Ask => format!(
            "`{shown}` is denied: `approvals` of an agent above have a person asked about its calls, and here no one can be asked; the \
             model of an agent can call it as a tool of its own"
        ),
        Verdict::Deny if let Some(why) = manifest.unreadable_rules() => {
            format!(
                "`{shown}` is denied: `approvals` of an agent above cannot be read, and so they permit no call: {why}; correct them, \
                 and call it again"
            )
        }
        Verdict::Deny => {
            format!(
                "`{shown}` is denied by `approvals` of an agent above, under whatever name or version it is called"
            )
        }
    };
    Err(Failure::new(Category::Denied, message))
}

/// Returns the seed of a component that another one calls: from the seed of the caller, the number of its call, from 0, and the item.
pub fn call_seed(caller: &[u8; 32], number: u64, item: &str) -> Digest {
    DomainHasher::new("graph-host/call-seed/v1")
        .field(caller)
        .field(&number.to_le_bytes())
        .field(item.as_bytes())
        .finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::capability::ItemRules;

    #[test]
    fn a_component_calls_nothing_that_a_rule_denies() {
        let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.acme.*"]).unwrap());
        let tools = json!([{ "item": "acme/delete", "name": "delete" }]);
        for then in ["deny", "ask"] {
            let approvals = json!([{ "tool": "delete", "then": then }]);
            let manifest = manifest.with_rules(ItemRules::read(&approvals, &tools).unwrap());
            for item in ["acme/delete", "acme/delete@1.0.0", "acme/Delete"] {
                let refused = check_call(&manifest, None, None, item, 1).unwrap_err();
                assert_eq!(refused.category, Category::Denied, "{item}");
                assert!(refused.message.contains("`approvals` of an agent above"), "{}", refused.message);
            }
            check_call(&manifest, None, None, "acme/search", 1).unwrap();
        }
        let all = json!([{ "tool": "acme/search", "then": "allow" }, { "tool": "*", "then": "ask" }]);
        let manifest = manifest.with_rules(ItemRules::read(&all, &tools).unwrap());
        check_call(&manifest, None, None, "acme/search@2.0.0", 1).unwrap();
        assert!(check_call(&manifest, None, None, "acme/other", 1).is_err());
        let wrong = json!([{ "tool": "*", "then": "perhaps" }]);
        let manifest = manifest.with_rules(ItemRules::read(&wrong, &tools).unwrap());
        let refused = check_call(&manifest, None, None, "acme/search@2.0.0", 1).unwrap_err().message;
        assert!(
            refused.contains("cannot be read") && refused.contains("unknown variant `perhaps`"),
            "{refused}"
        );
    }
}
