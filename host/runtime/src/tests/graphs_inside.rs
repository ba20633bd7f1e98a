//! Graphs inside graphs: kept, changed and looked at.

use graph_core::node::Category;
use graph_core::record::Status;
use graph_walker::walker::Answers;
use serde_json::{Map, json};

use super::test_project::{TestProject, completes, waits};
use crate::error::Kind;

const OUTER: &str = "start: a\nnodes:\n  a: { action: { item_id: t/mid, params: { n: 3 } }, assign: { got: \"${result.got}\" } }\n";
const MID: &str = "start: a\nnodes:\n  a: { action: { item_id: t/leaf, params: { n: \"${inputs.n}\" } }, assign: { got: \"${result.n}\" } }\n";
const LEAF: &str = r#"start: work
nodes:
  work: { action: { item_id: t/kit, params: { op: echo, value: "${inputs.n}" } }, assign: { n: "${result}" }, next: check }
  check: { interrupt: before }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_inside_is_kept_and_a_changed_one_is_refused() {
    let project = TestProject::with_testkit().await;
    project.graph("outer.yaml", OUTER);
    project.graph(".ai/tools/t/mid.yaml", MID);
    project.graph(".ai/tools/t/leaf.yaml", LEAF);
    waits(&project.run("outer.yaml", "nested").await.unwrap());
    project.graph(".ai/tools/t/leaf.yaml", &LEAF.replace("check: {", "check: { defer: true,"));
    let refused = project.resume("nested", Answers::None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Integrity, "{refused:?}");
    assert!(refused.message().contains("the graph `t/leaf`"), "{refused:?}");
    // A removed graph is replaced by the run's copy.
    std::fs::remove_file(project.path(".ai/tools/t/leaf.yaml")).unwrap();
    let ended = project.resume("nested", Answers::None).await.unwrap();
    completes(&ended);
    assert_eq!(ended.state, Map::from_iter([("got".to_owned(), json!(3))]));
}

/// Such a graph has the same capabilities at each level, so its examination ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_names_itself_and_narrows_what_it_may_use_is_looked_at_once() {
    let project = TestProject::with_testkit().await;
    let action = "{ item_id: t/self, params: { depth: 3, capabilities: ['execute.tool.t.*'] } }";
    let narrows = "memory: 1MiB, capabilities: { dispatch: ['execute.tool.t.self'], interfaces: [log] }";
    project.graph(
        ".ai/tools/t/self.yaml",
        &format!("start: a\nnodes: {{ a: {{ action: {action}, {narrows} }} }}\n"),
    );
    let graph = project.path(".ai/tools/t/self.yaml").to_string_lossy().into_owned();
    let planned = project.runtime().plan_with(&graph, &project.plan_options()).await.unwrap();
    assert!(planned.plan().nodes.len() < 5, "{}", planned.plan().nodes.len());
    let ended = project.run(".ai/tools/t/self.yaml", "r").await.unwrap();
    let error = ended.error.as_ref().unwrap();
    assert_eq!((ended.status, error.category), (Status::Failed, Some(Category::Limit)), "{ended:?}");
}
