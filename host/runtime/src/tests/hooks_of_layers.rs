//! Hooks of all three layers, in their places: the graph, the project and the user's space.

use graph_core::record::{ErrorCode, Status};
use graph_walker::walker::Answers;
use serde_json::json;

use super::test_project::{TestProject, waits};

/// A graph with a task that fails, one that asks, and a hook that records.
const GRAPH: &str = r#"start: ask
on_error: fail
hooks:
  - { id: noted, event: after_step, action: { item_id: t/kit, params: { op: echo, value: { saw: "${node}" } } } }
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "go on?" } }, next: flaky }
  flaky: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: broken } }, next: last }
  last: { assign: { done: true } }
"#;
const OF_PROJECT: &str = "hooks:\n  - id: pass\n    event: error\n    condition: { path: classification.category, op: eq, value: permanent }\n    action: { continue: true }\n";
const OF_USER: &str = "hooks:\n  - { id: brake, event: after_step, action: { abort: true } }\n  - { id: bye, event: graph_completed, action: { item_id: t/kit, params: { op: echo, value: \"${status}\" } } }\n";

async fn project() -> TestProject {
    let project = TestProject::with_testkit().await;
    project.graph("graph.yaml", GRAPH);
    project.write(".ai/hooks.yaml", OF_PROJECT);
    project.write("home/hooks.yaml", OF_USER);
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_keeps_the_hooks_that_it_began_with() {
    let project = project().await;
    let yes = || Answers::Bare(json!("yes"));
    waits(&project.run("graph.yaml", "hooked").await.unwrap());
    project.write(".ai/hooks.yaml", "hooks:\n  - { event: error, action: { abort: true } }\n");
    std::fs::remove_file(project.path("home/hooks.yaml")).unwrap();
    let ended = project.resume("hooked", yes()).await.unwrap();
    assert_eq!(ended.status, Status::CompletedWithErrors, "{ended:?}");
    // A new run has the present hooks.
    waits(&project.run("graph.yaml", "new").await.unwrap());
    let failed = project.resume("new", yes()).await.unwrap();
    assert_eq!(failed.status, Status::Failed, "{failed:?}");
    let message = &failed.error.as_ref().unwrap().message;
    assert!(message.contains("hook `2.0` (error) aborts the run"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_has_no_more_than_the_manifest_grants() {
    let project = project().await;
    project.write(
        ".ai/hooks.yaml",
        "hooks:\n  - { id: must, event: graph_started, required: true, action: { item_id: other/thing } }\n",
    );
    let refused = project.run("graph.yaml", "hooked").await.unwrap();
    let error = refused.error.as_ref().unwrap();
    assert_eq!((refused.status, error.code), (Status::Failed, ErrorCode::Denied), "{refused:?}");
    let message = &error.message;
    assert!(message.contains("hook `must`") && message.contains("execute.tool.other.thing"), "{message}");
    let graph = project.path("graph.yaml").to_string_lossy().into_owned();
    let planned = project.runtime().plan_with(&graph, &project.plan_options()).await.unwrap();
    let hooks: Vec<_> = planned.plan().hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(hooks, ["noted", "must", "bye"]);
}
