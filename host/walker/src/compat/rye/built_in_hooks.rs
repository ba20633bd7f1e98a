//! Hooks that Rye loads for every graph.

use crate::document::load_hooks;
use crate::hook::Hook;
use graph_core::hook_event::HookLayer;

/// Returns Rye's four hooks, as hooks of the project: they follow those of the graph and the project's own.
pub(crate) fn built_in_hooks() -> Vec<Hook> {
    let loaded = load_hooks("the built-in hooks", include_str!("built_in_hooks.yaml"), HookLayer::Project);
    // They are a part of this program, and a test loads them.
    loaded.map(|loaded| loaded.hooks).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_read() {
        let names: Vec<_> = built_in_hooks().into_iter().map(|hook| hook.name).collect();
        let expected = [
            "default_retry_transient",
            "default_fail_permanent",
            "default_abort_cancelled",
            "default_escalate_limit",
        ];
        assert_eq!(names, expected);
    }
}
