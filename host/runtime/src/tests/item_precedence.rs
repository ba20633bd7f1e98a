//! Precedence between items with one id: items that a stranger's project must not put before the user's own.

use graph_core::record::Status;
use graph_walker::walker::{Answers, Summary};
use serde_json::{Map, json};

use super::test_project::{TestProject, completes, kit, waits};
use crate::StartOptions;
use crate::error::{Kind, Result};

const NOTE: &str = "---\ntitle: Notes\nversion: @V\n---\nText @V.\n";
const GREET: &str =
    "---\nversion: @V\ninputs: { who: { type: string, required: true } }\n---\nGreet {input:who} (@V).\n";
const FLOW: &str = "version: \"@V\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: a test\nconfig:\n  start: a\n  nodes: { a: { assign: { text: \"flow @V\" } } }\n";

/// A graph that dispatches an item of every kind.
const EVERY_KIND: &str = "start: [component, graph, knowledge, directive]
nodes:
  component: { action: { item_id: t/kit, params: { op: echo, value: ran } }, assign: { component: \"${result}\" } }
  graph: { action: { item_id: t/flow }, assign: { graph: \"${result.text}\" } }
  knowledge: { action: { primary: load, item_type: knowledge, item_id: t/note }, assign: { knowledge: \"${result.body}\" } }
  directive: { action: { item_type: directive, item_id: t/greet, params: { who: Ada } }, assign: { directive: \"${result.text}\" } }";

/// Files of the items, below `.ai`, and their texts with a placeholder for the version.
const TEXTS: [(&str, &str); 3] =
    [("tools/t/flow.yaml", FLOW), ("knowledge/t/note.md", NOTE), ("directives/t/greet.md", GREET)];

/// Makes a user whose own items of every kind are signed with this version, and a graph that uses them.
async fn with_own_items(version: &str) -> TestProject {
    let project = TestProject::with_testkit().await.with_signed_items();
    std::fs::remove_file(project.path(".ai/tools/t/kit.wasm")).unwrap();
    for space in [".ai", "home/.ai"] {
        for kind in ["tools", "knowledge", "directives"] {
            std::fs::create_dir_all(project.path(&format!("{space}/{kind}/t"))).unwrap();
        }
    }
    put(&project, "home/.ai", version, true).await;
    project.graph("g.yaml", EVERY_KIND);
    project
        .write("caps.yaml", "dispatch: ['execute.tool.t.*', 'load.*', 'search.*', 'execute.directive.*']\n");
    project
}

/// Writes an item of every kind into a space.
async fn put(project: &TestProject, space: &str, version: &str, sign: bool) {
    let component = format!("{space}/tools/t/kit.wasm");
    std::fs::copy(kit("testkit"), project.path(&component)).unwrap();
    for (file, text) in TEXTS {
        let file = format!("{space}/{file}");
        project.write(&file, &text.replace("@V", version));
        if sign {
            project.sign(&file, version).await;
        }
    }
    if sign {
        project.sign(&component, version).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_signature_does_not_hold_is_refused_and_not_passed_over() {
    for (file, message) in [
        ("tools/t/kit.wasm", "was changed after"),
        ("tools/t/flow.yaml", "does not hold"),
        ("knowledge/t/note.md", "does not hold"),
        ("directives/t/greet.md", "does not hold"),
    ] {
        let project = with_own_items("1.2.0").await;
        put(&project, ".ai", "1.3.0", true).await;
        let path = project.path(&format!(".ai/{file}"));
        if file == "tools/t/kit.wasm" {
            std::fs::copy(kit("testkit-io"), path).unwrap();
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace("1.3.0", "1.4.0")).unwrap();
        }
        let refused = project.allowing_unsigned().run("g.yaml", "r").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Integrity, "{file}: {refused:?}");
        assert!(refused.message().contains(message), "{file}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_with_what_it_was_begun_with_although_the_user_has_a_newer_one_since() {
    let project = with_own_items("1.2.0").await;
    put(&project, ".ai", "1.3.0", true).await;
    project.graph(
        "g.yaml",
        &EVERY_KIND.replace("start: [component, graph, knowledge, directive]", "start: ask").replace(
            "nodes:\n",
            "nodes:\n  ask: { interrupt: after, next: [component, graph, knowledge, directive] }\n",
        ),
    );
    waits(&project.run("g.yaml", "one").await.unwrap());
    put(&project, "home/.ai", "2.0.0", true).await;
    let ended = project.resume("one", Answers::None).await.unwrap();
    completes(&ended);
    assert_eq!(ended.state["graph"], json!("flow 1.3.0"), "{ended:?}");
    project.replays_equal("one").await;
    // A new run is refused.
    assert_eq!(project.run("g.yaml", "two").await.unwrap_err().kind(), Kind::Integrity);
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_are_named_while_a_run_is_under_way_are_chosen_by_the_same_rule() {
    let project = with_own_items("1.2.0").await;
    put(&project, ".ai", "1.0.0", true).await;
    std::fs::remove_file(project.path(".ai/tools/t/flow.yaml")).unwrap();
    for action in [
        "item_id: \"${inputs.id}\", params: { op: echo }",
        "primary: load, item_type: knowledge, item_id: \"${inputs.note}\"",
        "primary: load, item_type: tool, item_id: \"${inputs.id}\"",
    ] {
        let message = match named(&project, action).await {
            Ok(ended) => {
                assert_eq!(ended.status, Status::Failed, "{action}: {ended:?}");
                format!("{ended:?}")
            }
            Err(refused) => {
                assert_eq!(refused.kind(), Kind::Denied, "{action}: {refused:?}");
                refused.message().to_owned()
            }
        };
        assert!(message.contains("which is older than version 1.2.0 in your user space"), "{message}");
    }
    let search = "primary: search, item_type: knowledge, params: { query: text }";
    let ended = named(&project, search).await.unwrap();
    completes(&ended);
    assert!(format!("{ended:?}").contains("the search leaves out `t/note`"), "{ended:?}");
    // Without a signature the item is passed over in a search, too.
    put(&project, ".ai", "9.0.0", false).await;
    let found = format!("{:?}", named(&project, search).await.unwrap());
    assert!(found.contains("Text 1.2.0") && !found.contains("9.0.0"), "{found}");
}

/// Runs a graph of one action on items that its inputs name.
async fn named(project: &TestProject, action: &str) -> Result<Summary> {
    project.graph(
        "g.yaml",
        &format!("start: a\nnodes:\n  a: {{ action: {{ {action} }}, assign: {{ out: \"${{result}}\" }} }}"),
    );
    let inputs = Map::from_iter([("id".to_owned(), json!("t/kit")), ("note".to_owned(), json!("t/note"))]);
    project.run_with("g.yaml", StartOptions { inputs: Some(inputs), ..StartOptions::default() }).await
}
