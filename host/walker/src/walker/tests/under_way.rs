//! Tests of the limit of running attempts, for which a run that is asked to stop waits.

use std::sync::Arc;

use super::simulation::setup_with;
use crate::walker::{Effect, Event, Graphs, RunTree};
use graph_core::policy::Durability;
use graph_core::time::Timestamp;

/// Number of attempts that a walker starts before any of them has ended.
fn started(action: &str) -> usize {
    let each = format!(
        "{{tool_type: graph, config: {{start: each, nodes: {{each: {{type: foreach, parallel: true, \
         over: '${{inputs.items}}', action: {{{action}}}}}}}}}}}"
    );
    let graph = Arc::new(crate::document::load("each.yaml", &each, "t/each").unwrap().graph);
    let inner = "{tool_type: graph, config: {start: a, nodes: {a: {action: {item_id: t/double}}}}}";
    let inner = Arc::new(crate::document::load("inner.yaml", inner, "t/inner").unwrap().graph);
    let graphs = Graphs::from([("t/inner".to_owned(), inner)]);
    let mut setup = setup_with(&graph, Arc::new(graphs), Durability::Sync);
    let manifest = (*setup.manifest).clone();
    let limits = manifest.run_limits();
    let limits = graph_core::limits::RunLimits { fuel: u64::MAX, calls: u64::MAX, bytes: u64::MAX, ..limits };
    setup.manifest = Arc::new(manifest.with_run_limits(limits));
    setup.inputs = Arc::new(serde_json::json!({ "items": vec![0; 5_000] }));
    let mut tree = RunTree::new(graph, setup);
    let (mut waiting, mut started) = (vec![Event::Started], 0);
    while let Some(event) = waiting.pop() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => waiting.push(Event::Persisted(persist.id)),
                Effect::Continue => waiting.push(Event::Continued),
                Effect::RunTask(_) => started += 1,
                _ => {}
            }
        }
    }
    started
}

#[test]
fn attempts_under_way_are_bounded_by_what_they_may_hold() {
    let components = started("item_id: t/component");
    assert!((2_000..=2_048).contains(&components), "{components}");
    assert_eq!(started("item_id: t/inner"), 8);
    for text in [
        "primary: load, item_type: knowledge, item_id: t/text",
        "primary: search, item_type: knowledge",
        "item_type: knowledge, item_id: t/text",
        "item_type: directive, item_id: t/text",
    ] {
        assert_eq!(started(text), 8, "{text}");
    }
}
