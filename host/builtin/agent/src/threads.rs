//! Threads that are started by another thread: the data that it passes to them, and their usage.
//!
//! The host restricts the dispatches of such a thread, because it is a child run, and passes on the rules about calls of
//! items. All other limits are in `parent` of its params. The model cannot write `parent`, which can only restrict the thread.

use graph_sdk::prelude::*;

use crate::approvals::{Approval, path_of};
use crate::result::Used;
use crate::settings::{Limits, Settings};

/// Item that runs a directive as a thread.
pub(crate) const THREAD: &str = "rye/agent/threads/thread_directive";

/// What the thread above has passed on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parent {
    /// How many levels of threads there may be below this one.
    depth: Option<u64>,
    /// What is left of the tokens of the thread above.
    tokens: Option<u64>,
    /// What is left of the spend of the thread above.
    spend: Option<f64>,
    /// The dispatch patterns of each thread above: the model is offered what one pattern of each list covers.
    pub(crate) permissions: Vec<Vec<String>>,
    /// Rules about calls that came among the params. The rules that the host passes on are in `approvals_above`.
    pub(crate) approvals: Vec<Vec<Approval>>,
}

/// Reports whether an item starts a thread.
pub(crate) fn is_thread(item: &str) -> bool {
    path_of(item) == THREAD
}

/// Applies the limits of the parent thread: the smaller one of each counts.
pub(crate) fn narrow(limits: &mut Limits, parent: &Parent) {
    let smaller = |own: Option<u64>, other: Option<u64>| own.into_iter().chain(other).min();
    limits.depth = smaller(limits.depth, parent.depth);
    limits.tokens = smaller(limits.tokens, parent.tokens);
    limits.spend = limits.spend.into_iter().chain(parent.spend).reduce(f64::min);
}

/// Returns the reason why the model may not start another thread. `planned` is the number of threads that the same message starts before it.
pub(crate) fn refusal(settings: &Settings, used: &Used, planned: usize) -> Option<String> {
    if settings.limits.depth == Some(0) {
        return Some("no thread may be started here: `depth` among the limits leaves no level".to_owned());
    }
    let most = settings.limits.spawns?;
    (used.spawns.saturating_add(planned as u64) >= most)
        .then(|| format!("no more threads may be started: `spawns` among the limits is {most}"))
}

/// Returns the params of a thread that the model starts. They have `parent`, and the tools of this thread unless the model names some.
pub(crate) fn passed_on(settings: &Settings, used: &Used, arguments: &Value) -> Value {
    let mut params = arguments.as_object().cloned().unwrap_or_default();
    if params.get("tools").is_none_or(Value::is_null) {
        params.insert("tools".to_owned(), json!(settings.tools));
    }
    let Limits { depth, tokens, spend, .. } = &settings.limits;
    let own = settings.permissions.iter();
    let permissions: Vec<_> = own.chain(&settings.parent.permissions).collect();
    let parent = json!({
        "depth": depth.map(|depth| depth.saturating_sub(1)),
        "tokens": tokens.map(|tokens| tokens.saturating_sub(used.tokens())),
        "spend": spend.map(|spend| (spend - used.spend()).max(0.0)),
        "permissions": permissions,
    });
    params.insert("parent".to_owned(), parent);
    Value::Object(params)
}

/// Adds the usage of a started thread. `given` is the result of that thread, null if it has failed.
pub(crate) fn with_thread(used: Used, given: &Value) -> Used {
    let tokens = |name: &str| given["cost"][name].as_u64().unwrap_or(0);
    used.with_thread(
        tokens("input_tokens"),
        tokens("output_tokens"),
        given["cost"]["spend"].as_f64().unwrap_or(0.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_figure_counts() {
        let mut limits = Limits { tokens: Some(10), spend: Some(0.5), ..Limits::default() };
        let parent = Parent { depth: Some(1), tokens: Some(20), spend: Some(0.1), ..Parent::default() };
        narrow(&mut limits, &parent);
        assert_eq!((limits.depth, limits.tokens, limits.spend), (Some(1), Some(10), Some(0.1)));
        assert!(is_thread("rye/agent/threads/thread_directive@1.0.0") && !is_thread("rye/agent/agent"));
    }
}
