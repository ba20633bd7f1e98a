//! Results that replace tasks of later runs.

use serde_json::json;

use super::test_project::TestProject;

/// The result of `a` names the run that has computed it.
const GRAPH: &str = r#"start: a
nodes:
  a: { action: { item_id: t/kit, params: { op: activation } }, cache: { ttl: 1h }, assign: { seen: "${result.run_id}" }, next: b }
  b: { action: { item_id: t/kit, params: { op: echo, value: "${state.seen}" } }, assign: { told: "${result}" } }
output: "${state.told}"
"#;

/// Asserts that the result of `a` in a new run is that of another run.
async fn is_from(project: &TestProject, run: &str, of: &str) {
    let done = project.run("graph.yaml", run).await.unwrap();
    assert_eq!(done.output.as_deref(), Some(&json!(of)), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_another_one_under_another_grant() {
    let project = TestProject::with_testkit().await;
    project.graph("graph.yaml", GRAPH);
    is_from(&project, "first", "first").await;
    let caps = std::fs::read_to_string(project.path("caps.yaml")).unwrap();
    project.write("caps.yaml", &format!("{caps}limits: {{ fuel: 999999999 }}\n"));
    is_from(&project, "second", "second").await;
    project.write("caps.yaml", &caps);
    is_from(&project, "third", "first").await;
    // Another component under the same id.
    let file = project.path(".ai/tools/t/kit.wasm");
    let mut bytes = std::fs::read(&file).unwrap();
    // An empty custom section.
    bytes.extend_from_slice(&[0, 3, 1, b'x', 0]);
    std::fs::write(&file, bytes).unwrap();
    is_from(&project, "fourth", "fourth").await;
}
