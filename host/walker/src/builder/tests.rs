#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionBuilder, Branch, BuildError, GraphBuilder, HookBuilder, NodeBuilder, Retry, When};
use crate::graph::{Next, NodeKind};
use graph_core::hook_event::{Control, ControlAction, HookEvent};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{ModelFigure, ModelLimits, NodeLimits};
use graph_core::node::Category;
use graph_core::policy::{
    Durability, OnError, OnItemError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};

fn settings(builder: &mut GraphBuilder) {
    builder
        .description("Says everything: once")
        .input_schema(
            json!({ "type": "object", "properties": { "words": { "type": "string", "default": "a\nb\n" } } }),
        )
        .channel("log", Reducer::Append)
        .default("log", json!(["begun"]))
        .channel("best", Reducer::Max)
        .default("rows", json!([]))
        .default("kind", "x")
        .default("never", json!(null))
        .start("look")
        .start_with("note", json!({ "of": "${inputs.words}" }))
        .name("All of it")
        .retry(Retry::attempts(2))
        .feedback()
        .max_steps(50)
        .max_total_steps(2_000)
        .max_concurrency(4)
        .max_fan_out(30)
        .max_visits_per_node(9)
        .timeout(Duration::from_secs(90))
        .durability(Durability::Async)
        .templates(TemplateMode::Strict)
        .on_max_steps(OnMaxSteps::ReturnLast)
        .on_error(OnError::Continue)
        .on_no_match(OnNoMatch::Fail)
        .on_stalled_barrier(OnStalledBarrier::Release)
        .limits(NodeLimits {
            fuel: Some(1_000_000),
            memory: Some(1 << 20),
            timeout: Some(Duration::from_millis(1_500)),
            model: ModelLimits { calls: Some(30), cost: Some(1_500_000), ..ModelLimits::default() },
        })
        .output(json!({ "log": "${state.log}" }))
        .hook(
            HookBuilder::control(
                HookEvent::Error,
                Control { action: ControlAction::Retry, additional_steps: None, max_retries: Some(2) },
            )
            .id("again")
            .description("Tries again")
            .when(When::path("classification.category").eq("transient")),
        )
        .hook(HookBuilder::run(HookEvent::Limit, ActionBuilder::tool("acme/tell")).required());
}

/// Returns a builder on which every method was called.
fn whole() -> GraphBuilder {
    let mut builder = GraphBuilder::new("acme/whole");
    settings(&mut builder);
    let each = ActionBuilder::tool("acme/each").param("row", "${row}").param("at", 1);
    let look = ActionBuilder::new(ItemOperation::Search, ItemType::Knowledge, None)
        .param("query", "${inputs.words}");
    builder
        .node(
            "look",
            NodeBuilder::run(look)
                .retry(
                    Retry::attempts(4)
                        .initial_interval(Duration::from_millis(250))
                        .backoff(1.5)
                        .max_interval(Duration::from_mins(2))
                        .jitter()
                        .on([Category::Timeout]),
                )
                .on_error("note"),
        )
        .node(
            "each",
            NodeBuilder::foreach("${state.rows}", "row", each)
                .parallel(true)
                .collect("log")
                .on_item_error(OnItemError::Skip)
                .fuel(5_000)
                .memory(65_536)
                .timeout(Duration::from_hours(1))
                .cache(Duration::from_mins(1))
                .cache_key("${inputs.words}"),
        )
        .node(
            "note",
            NodeBuilder::tool("acme/note", "${argument}")
                .assign("best", "${result.score}")
                .overwrite("log", json!(["anew"]))
                .command_destinations(["each"])
                .command_writes(["free"])
                .command_overwrites(["log"])
                .may_dispatch(["graph-host.execute.tool.acme.*"])
                .may_use(["log", "clocks"])
                .feedback()
                .metadata(json!({ "team": "a" })),
        )
        .node(
            "child",
            NodeBuilder::subgraph("acme/inner", json!({ "rows": "${state.rows}" }))
                .timeout_from("${inputs.seconds || 60}")
                .model_limits(ModelLimits { calls: Some(5), cost: Some(250_000), ..ModelLimits::default() })
                .model_limit_from(ModelFigure::InputTokens, "${state.best}")
                .may_dispatch_from("${state.rows}")
                .deferred(),
        )
        .node("wait", NodeBuilder::pass().interrupt_before().interrupt_after())
        .node("done", NodeBuilder::end_with(json!({ "best": "${state.best}" })))
        .node("stop", NodeBuilder::end())
        .sequence(["look", "each", "child"])
        .waiting_edge(["child", "note"], "wait")
        .conditional_edges(
            "wait",
            [
                Branch::when(
                    When::all([
                        When::path("state.best").gte(3).or(When::path("state.best").lt(-1)),
                        !When::path("state.log").contains("bad"),
                        When::path("inputs.words").matches("^a"),
                        When::path("state.kind").one_of(["x", "y"]),
                    ]),
                    "done",
                )
                .label("good"),
                Branch::when(When::path("state.never").exists(), "done").to_all(["done", "stop"]),
                Branch::otherwise("stop"),
            ],
        );
    builder
}

#[test]
fn a_built_graph_is_written_in_the_order_in_which_it_was_built() {
    insta::assert_snapshot!(whole().to_yaml().unwrap());
}

#[test]
fn everything_that_is_said_to_a_builder_arrives_in_the_graph() {
    let built = whole().compile().unwrap();
    let graph = &built.graph;
    assert!(built.warnings.is_empty(), "{}", built.warnings);
    assert_eq!((graph.id.as_str(), graph.start.len()), ("acme/whole", 2));
    assert_eq!((graph.max_steps, graph.max_total_steps, graph.max_fan_out), (50, 2_000, 30));
    assert_eq!((graph.max_concurrency, graph.max_visits_per_node), (Some(4), Some(9)));
    assert_eq!((graph.timeout, graph.durability), (Duration::from_secs(90), Durability::Async));
    assert_eq!((graph.templates, graph.on_max_steps), (TemplateMode::Strict, OnMaxSteps::ReturnLast));
    assert_eq!((graph.on_error, graph.on_no_match), (OnError::Continue, OnNoMatch::Fail));
    assert_eq!(graph.on_stalled_barrier, OnStalledBarrier::Release);
    assert_eq!(graph.limits.timeout, Some(Duration::from_millis(1_500)));
    assert_eq!((graph.limits.fuel, graph.limits.memory), (Some(1_000_000), Some(1 << 20)));
    assert_eq!(graph.hooks.len(), 2);
    assert!(graph.hooks[1].required && graph.output.is_some() && graph.input_schema.is_some());
    assert_eq!(graph.channels[0].reducer, Reducer::Append);
    assert_eq!(graph.channels[0].default, Some(json!(["begun"])));
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["look", "each", "note", "child", "wait", "done", "stop"]);
    let [look, each, note, child, wait, done, _] = &graph.nodes[..] else { panic!("{names:?}") };
    assert_eq!((look.retry.max_attempts, look.retry.jitter), (4, true));
    assert_eq!(look.retry.max_interval, Duration::from_mins(2));
    assert_eq!((graph.name.as_deref(), each.retry.max_attempts, each.feedback), (Some("All of it"), 2, true));
    assert_eq!(look.action.as_ref().map(|action| action.operation), Some(ItemOperation::Search));
    let NodeKind::Foreach(foreach) = &each.kind else { panic!("{each:?}") };
    assert_eq!((foreach.collect.as_deref(), foreach.on_item_error), (Some("log"), OnItemError::Skip));
    assert_eq!((each.limits.fuel, each.limits.memory), (Some(5_000), Some(65_536)));
    assert!(each.cache.as_ref().is_some_and(|cache| cache.key.is_some()));
    let command = note.command.as_ref().unwrap();
    assert_eq!((command.goto.len(), command.write.len(), command.overwrite.len()), (1, 1, 1));
    assert!(note.feedback && note.metadata.is_some() && note.capabilities.is_some());
    assert_eq!((child.limits.model.calls, child.limits.model.cost), (Some(5), Some(250_000)));
    assert_eq!(child.bounds.iter().count(), 3);
    assert_eq!((graph.limits.model.calls, graph.limits.model.cost), (Some(30), Some(1_500_000)));
    assert!(child.defer && wait.interrupt.before && wait.interrupt.after);
    assert_eq!(wait.wait_for.len(), 2);
    let Next::First(edges) = &wait.next else { panic!("{wait:?}") };
    assert_eq!((edges.len(), edges[1].to.len()), (3, 2));
    assert!(matches!(done.kind, NodeKind::Return { output: Some(_) }));
    assert_eq!(built.topology().nodes.len(), 7);
}

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let mut builder = GraphBuilder::new("acme/odd");
    builder
        .state(&3)
        .node("read", NodeBuilder::pass())
        .node("read", NodeBuilder::end())
        .start("read")
        .edge("raed", "read")
        .conditional_edges("read", [Branch::otherwise("read")])
        .edge("read", "read")
        .waiting_edge(["read"], "gone");
    let refused = builder.compile().unwrap_err();
    insta::assert_snapshot!(refused.to_string().replace("; ", "\n"));
}

#[test]
fn what_is_built_is_checked_as_a_document_is() {
    let mut builder = GraphBuilder::new("acme/odd");
    builder.node("read", NodeBuilder::tool("no such id!", json!({ "a": "${stat.x}" }))).start("raed");
    let BuildError::Document(found) = builder.compile().unwrap_err() else { panic!("no document") };
    assert_eq!(found.iter().count(), 3, "{found}");
}

#[test]
fn a_state_is_a_type_of_the_program() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State {
        count: u32,
        log: Vec<String>,
    }
    let mut builder = GraphBuilder::new("acme/typed");
    builder
        .channel("log", Reducer::Append)
        .state(&State { count: 2, log: vec!["begun".to_owned()] })
        .node("read", NodeBuilder::pass())
        .start("read");
    let graph = builder.compile().unwrap().graph;
    let channels: Vec<_> = graph.channels.iter().map(|channel| (&*channel.name, channel.reducer)).collect();
    assert_eq!(channels, [("log", Reducer::Append), ("count", Reducer::LastValue)]);
}

#[test]
fn a_graph_has_the_id_of_an_item() {
    for id in ["no id!", "", "../up"] {
        let mut builder = GraphBuilder::new(id);
        builder.node("a", NodeBuilder::pass()).start("a");
        let Err(BuildError::Contradiction(said)) = builder.compile() else { panic!("{id} is an id") };
        assert!(said[0].starts_with("a graph cannot be called"), "{said:?}");
    }
}
