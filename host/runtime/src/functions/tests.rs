#![allow(clippy::unwrap_used)]
use std::path::Path;

use graph_core::record::Status;
use graph_walker::walker::{Answers, Summary};
use serde_json::Map;

use super::*;
use crate::error::Kind;
use crate::project::Project;
use crate::project::user_home::Home;
use crate::sources::Sources;
use crate::{Options, Runtime};

const PERMIT: &str = "dispatch: ['execute.tool.shop.*']\nitems: { 'shop/*': { unsandboxed: true } }\n";

fn functions() -> Functions {
    let answer = |value: Value| async move { Ok(Outcome::Result(value)) };
    let ask = |call: FunctionCall| async move {
        Ok(match call.activation.answers.first() {
            Some(answer) => Outcome::Result(answer.clone()),
            None => Outcome::Interrupt(json!("which?")),
        })
    };
    let all = Functions::default()
        .with("shop/price", move |call| answer(json!({ "cents": 250, "pieces": call.params["pieces"] })))
        .and_then(|all| all.with("shop/large", move |_| answer(json!("x".repeat(2000)))))
        .and_then(|all| all.with("shop/panic", |_| async { panic!("a fault of the program") }))
        .and_then(|all| all.with("shop/ask", ask))
        .and_then(|all| all.with("shop/late", |_| std::future::pending()));
    all.unwrap()
}

fn runtime(folder: &Path, manifest: &str, functions: Functions, sources: Sources) -> Runtime {
    let file = folder.join("caps.yaml");
    std::fs::write(&file, manifest).unwrap();
    let options = Options { manifest: Some(file), functions, sources, ..Options::default() };
    Runtime::open(Project::at(folder.to_owned()), Home::at(folder.join("home")), options).unwrap()
}

fn inputs() -> Map<String, Value> {
    Map::from_iter([("item".to_owned(), json!("price"))])
}

async fn run_with(folder: &Path, manifest: &str, node: &str, sources: Sources) -> Result<(String, Summary)> {
    let graph = folder.join("graph.yaml");
    let text = format!("tool_type: graph\nconfig:\n  start: a\n  nodes:\n    a: {node}\n");
    std::fs::write(&graph, text).unwrap();
    let runtime = runtime(folder, manifest, functions(), sources);
    let plan = runtime.plan(graph.to_str().unwrap()).await?;
    let run = runtime.start(plan, inputs(), ()).await?;
    let id = run.id().to_owned();
    Ok((id, run.outcome().await?))
}

async fn run(folder: &Path, manifest: &str, node: &str) -> Result<Summary> {
    run_with(folder, manifest, node, Sources::default()).await.map(|(_, summary)| summary)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_performs_a_task_where_the_manifest_permits_it() {
    let folder = tempfile::tempdir().unwrap();
    let node = "{ action: { item_id: shop/price, params: { pieces: 3 } }, assign: { price: '${result}' } }";
    let summary = run(folder.path(), PERMIT, node).await.unwrap();
    assert_eq!(summary.state["price"], json!({ "cents": 250, "pieces": 3 }));
    // A function that a template names is found at its dispatch.
    let late = "{ action: { item_id: 'shop/${inputs.item}', params: {} }, assign: { price: '${result}' } }";
    let summary = run(folder.path(), PERMIT, late).await.unwrap();
    assert_eq!(summary.state["price"]["cents"], 250);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_an_entry_of_the_manifest_permits_a_function() {
    let folder = tempfile::tempdir().unwrap();
    let named = "{ action: { item_id: shop/price, params: {} } }";
    let late = "{ action: { item_id: \"shop/${inputs.item}\", params: {} } }";
    let narrowed = "{ action: { item_id: shop/price, params: {} }, capabilities: { interfaces: [clocks] } }";
    let dispatch = "dispatch: ['execute.tool.shop.*']\n";
    let elsewhere = format!("{dispatch}items: {{ 'shop/other': {{ unsandboxed: true }} }}\n");
    let off = format!("{PERMIT}  shop/price: {{ unsandboxed: false }}\n")
        .replace("{ 'shop/*': { unsandboxed: true } }\n", "\n  'shop/*': { unsandboxed: true }\n");
    for (manifest, node) in [(dispatch, named), (&elsewhere, named), (&off, named), (PERMIT, narrowed)] {
        let refused = run(folder.path(), manifest, node).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Denied, "{manifest}{node}: {refused}");
        assert!(refused.message().contains("which no sandbox holds"), "{refused}");
    }
    let failed = run(folder.path(), dispatch, late).await.unwrap();
    assert_eq!(failed.status, Status::Failed);
    let error = failed.error.unwrap();
    assert_eq!(error.category, Some(Category::Denied), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_never_signed_as_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let trust = folder.path().join("trust.yaml");
    let text = "keys:\n  - name: us\n    key: 657e4c53a226259ea5ae5aadae7a373e969773ba1cc51a02056d1c392bdb7694\n    \
                items: ['shop/*']\nrequire:\n  - { items: ['shop/*'], threshold: 1, keys: [us] }\n";
    std::fs::write(&trust, text).unwrap();
    let sources = Sources { trust: vec![trust], allow_unsigned: true, ..Sources::default() };
    let node = "{ action: { item_id: shop/price, params: {} } }";
    let refused = run_with(folder.path(), PERMIT, node, sources).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Integrity, "{refused}");
    assert!(refused.message().contains("which no key signs"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_breaks_down_fails_its_attempt_alone() {
    let folder = tempfile::tempdir().unwrap();
    let node =
        |item: &str, limit: &str| format!("{{ action: {{ item_id: shop/{item}, params: {{}} }}{limit} }}");
    let panicked = run(folder.path(), PERMIT, &node("panic", "")).await.unwrap().error.unwrap();
    assert_eq!(panicked.category, Some(Category::Internal));
    assert!(panicked.message.contains("`shop/panic` panicked"), "{panicked:?}");
    let limited = format!("{PERMIT}limits: {{ output: 1000 }}\n");
    let large = run(folder.path(), &limited, &node("large", "")).await.unwrap().error.unwrap();
    assert_eq!(large.category, Some(Category::Limit));
    assert!(large.message.contains("2002 bytes, and 1000 are allowed"), "{large:?}");
    let late = run(folder.path(), PERMIT, &node("late", ", timeout: 50ms")).await.unwrap().error.unwrap();
    assert_eq!(late.category, Some(Category::Timeout));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_functions_is_resumed_by_a_program_that_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let node = "{ action: { item_id: shop/ask, params: {} }, assign: { said: '${result}' } }";
    let (id, asked) = run_with(folder.path(), PERMIT, node, Sources::default()).await.unwrap();
    assert_eq!(asked.status, Status::Interrupted);
    let answer = || Answers::Bare(json!("this"));
    let other = runtime(folder.path(), PERMIT, Functions::default(), Sources::default());
    let refused = other.resume(&id, answer(), ()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Denied);
    assert!(refused.message().contains("`shop/ask` is a function of the program that began it"), "{refused}");
    let same = runtime(folder.path(), PERMIT, functions(), Sources::default());
    let summary = same.resume(&id, answer(), ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(summary.state["said"], "this");
}

#[test]
fn ids_of_functions_are_item_ids_without_a_version() {
    for bad in ["", "../x", "shop/price@1.0"] {
        let refused = Functions::default().with(bad, |_| async { Ok(Outcome::Result(Value::Null)) });
        assert_eq!(refused.unwrap_err().kind(), Kind::Usage, "{bad}");
    }
}
