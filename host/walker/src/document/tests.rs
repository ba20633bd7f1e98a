#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::compat::Dialect;
use crate::graph::{Graph, Next, NodeKind, WriteMode};
use graph_core::diagnostic::{Diagnostics, Problems, Severity};
use graph_core::item::ItemOperation;
use graph_core::node::Category;
use graph_core::policy::{Durability, OnError, Reducer};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(root().join("tests/documents").join(name)).unwrap()
}

fn loaded(text: &str) -> LoadedGraph {
    load("graph.yaml", text, "t/graph").unwrap_or_else(|problems| panic!("{}", shown(&problems)))
}

fn refused(text: &str) -> Diagnostics {
    match load("graph.yaml", text, "t/graph") {
        Ok(_) => panic!("the document was accepted:\n{text}"),
        Err(problems) => *problems,
    }
}

/// Creates a document with this number of typical nodes: an action with params, a write, and an edge with a condition.
fn of_nodes(count: usize) -> String {
    let mut text = "tool_type: graph\nconfig:\n  start: n0\n  nodes:\n".to_owned();
    for at in 0..count {
        let next = (at + 1) % count;
        writeln!(
            text,
            "    n{at}:\n      action: {{ item_id: t/tool, params: {{ name: \"${{inputs.name}}\", at: {at} }} }}\n      \
             assign: {{ found: \"${{result.text}}\" }}\n      \
             next: [{{ to: n{next}, when: {{ path: state.found, op: exists }} }}, {{ to: [] }}]"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_graph_of_many_nodes_is_read() {
    let found = loaded(&of_nodes(20_000));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert_eq!(found.graph.nodes.len(), 20_000);
    assert_eq!(found.graph.nodes[19_999].name, "n19999");
}

#[test]
fn a_graph_of_too_many_values_is_refused_with_what_to_do() {
    let refused = refused(&of_nodes(30_000));
    let told = refused.to_json().to_string();
    assert!(
        told.contains("more than 1200000 values, with keys, each mapping counted as 5")
            && told.contains("divided into graphs"),
        "{told}"
    );
}

/// Renders diagnostics like a terminal without colours.
fn shown(diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut out, diagnostics)
        .unwrap();
    out
}

fn codes(diagnostics: &Diagnostics, severity: Severity) -> Vec<&str> {
    diagnostics
        .iter()
        .filter(|problem| problem.severity() == severity)
        .map(|problem| problem.code().id())
        .collect()
}

/// Creates a tool around a `config` that is given from its `start` on.
fn tool(config: &str) -> String {
    let config: String = config.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("tool_type: graph\nconfig:\n{config}")
}

/// Returns the codes of the errors of a `config`.
fn errors(config: &str) -> Vec<String> {
    codes(&refused(&tool(config)), Severity::Error).into_iter().map(str::to_owned).collect()
}

/// Returns the codes of the warnings of a `config` that loads.
fn warnings(config: &str) -> Vec<String> {
    codes(&loaded(&tool(config)).warnings, Severity::Warning).into_iter().map(str::to_owned).collect()
}

#[test]
fn rye_graphs_load_unchanged() {
    let notes = loaded(&fixture("release_notes.yaml"));
    let graph = &notes.graph;
    assert_eq!(graph.nodes.len(), 6);
    assert_eq!((graph.max_steps, graph.on_error), (25, OnError::Continue));
    let names: Vec<_> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["collect", "find_style", "write", "note_failure", "nothing_new", "done"]);
    let collect = graph.node(graph.find("collect").unwrap());
    assert_eq!(collect.on_error, graph.find("note_failure"));
    let Next::First(edges) = &collect.next else { panic!("{:?}", collect.next) };
    assert!(edges[0].when.is_some() && edges[1].when.is_none());
    let search = graph.node(graph.find("find_style").unwrap()).action.as_ref().unwrap();
    assert_eq!(search.operation, ItemOperation::Search);
    // The condition of a hook reads `state.step_count`, which Rye's walker does not have either; another hook has no effect.
    assert_eq!(codes(&notes.warnings, Severity::Warning), ["GH0406", "GH0321"]);
    let line = notes.signature_line.unwrap();
    assert_eq!((line.kind, line.span.line), (SignatureKind::Rye, 1));

    let reviews = loaded(&fixture("review_fan_out.yaml"));
    let NodeKind::Foreach(foreach) = &reviews.graph.nodes[0].kind else { panic!("not a foreach") };
    assert!(foreach.parallel, "async_exec means parallel");
    assert_eq!((foreach.variable.as_str(), foreach.collect.as_deref()), ("current_file", Some("thread_ids")));
    assert!(reviews.signature_line.is_none());

    let usage = loaded(&fixture("disk_usage.yaml"));
    assert!(usage.warnings.is_empty(), "{:?}", usage.warnings);
    assert!(matches!(usage.graph.nodes[1].next, Next::End));
    assert_eq!(usage.graph.max_steps, 100);
}

#[test]
fn every_key_has_its_meaning() {
    let loaded = loaded(&fixture("everything.yaml"));
    assert!(loaded.warnings.is_empty(), "{}", shown(&loaded.warnings));
    assert_eq!(loaded.signature_line.unwrap().kind, SignatureKind::GraphHost);
    let graph = loaded.graph;
    assert_eq!(graph.start.len(), 3);
    assert!(graph.start[0].argument.is_none() && graph.start[1].argument.is_some());
    assert_eq!((graph.timeout, graph.durability), (Duration::from_secs(90), Durability::Async));
    let reducers: Vec<_> = graph.channels.iter().map(|channel| channel.reducer).collect();
    assert_eq!(
        reducers,
        [Reducer::Append, Reducer::Union, Reducer::Max, Reducer::Sum, Reducer::LastValue, Reducer::Untracked]
    );
    let begin = &graph.nodes[0];
    assert_eq!(begin.limits.fuel, Some(500));
    assert_eq!((begin.limits.memory, begin.limits.timeout), (Some(1 << 20), Some(Duration::from_secs(2))));
    assert_eq!(graph.limits.memory, Some(32 << 20));
    assert_eq!(begin.retry.retry_on, [Category::Transient, Category::RateLimited, Category::InvalidInput]);
    assert_eq!(begin.retry.max_attempts, 4);
    assert!(begin.interrupt.before && !begin.interrupt.after);
    assert_eq!(begin.capabilities.as_ref().unwrap().interfaces.as_deref().unwrap(), ["clocks", "random"]);
    let join = graph.node(graph.find("join").unwrap());
    assert_eq!(join.wait_for, [graph.find("left").unwrap(), graph.find("right").unwrap()]);
    assert!(graph.node(graph.find("late").unwrap()).defer);
    let n = &graph.document["config"]["nodes"]["begin"]["action"]["params"]["n"];
    assert_eq!(n.as_u64(), Some(u64::MAX));
}

#[test]
fn all_problems_are_shown_at_once_with_their_places() {
    let text = r#"version: "1.0.0"
tool_type: graph
discription: typo
config_schema:
  type: object
  properties:
    n: { type: integr }
config:
  start: beginn
  max_steps: 0
  nodes:
    begin:
      action:
        item_id: ../etc/passwd
        params: { text: "état ${state.count + 1}", who: "${user.name}", n: "${count}" }
      assign:
        count: "${result.n}"
      next:
        - to: midle
          when: { path: state.count, op: greater, value: 3 }
        - { to: done }
      retry: { max_attempts: 0 }
      timeout: 5 minutes
    middle:
      wait_for: [begin]
      next: done
    loop:
      type: foreach
      as: state
      next: middle
    done:
      type: return
      next: begin
    done:
      verbose: yes
"#;
    insta::assert_snapshot!(shown(&refused(text)));
}

#[test]
fn warnings_are_shown_with_their_places() {
    let text = r"tool_type: graph
permissions: [rye.execute.tool.*]
config:
  start: [a, a]
  hooks: [{ event: graph_started, action: { item_id: t/x } }]
  nodes:
    a:
      next:
        - { to: b, when: { path: state.x, op: exists } }
        - { to: [] }
        - { to: c }
    b:
      action: { item_id: t/b, params: { verbose: no } }
      next: [{ to: c, when: { path: result.ok, op: eq, value: true } }]
    c: { command: {} }
    lost: {}
";
    insta::assert_snapshot!(shown(&loaded(text).warnings));
}

#[test]
fn a_document_cannot_act_on_the_terminal() {
    let text = tool("start: \"\\e[2Jx\\u202e\"\nnodes: { a: {} }");
    let shown = shown(&refused(&text));
    assert!(shown.contains("\\u{1b}[2Jx\\u{202e}"), "{shown}");
    let raw = shown.chars().filter(|c| *c == '\u{1b}' || *c == '\u{202e}').count();
    assert_eq!(raw, 0);
    // A literal control character is refused, and the snippet must not contain it.
    let refused = refused("tool_type: graph\n# \u{1b}[2J\n");
    assert!(!self::shown(&refused).contains('\u{1b}'));
}

#[test]
fn targets_must_exist_and_must_not_be_barriers() {
    assert_eq!(errors("start: x\nnodes: { a: {} }"), ["GH0302"]);
    assert_eq!(errors("start: a\nnodes: { a: { next: [a, x] } }"), ["GH0302"]);
    assert_eq!(errors("start: a\nnodes: { a: { next: [{ to: x }] } }"), ["GH0302"]);
    assert_eq!(errors("start: a\nnodes: { a: { on_error: x } }"), ["GH0302"]);
    assert_eq!(errors("start: a\nnodes: { a: { command: { goto: [x] } } }"), ["GH0302"]);
    assert_eq!(errors("start: a\nnodes: { a: {}, b: { wait_for: [x] } }"), ["GH0302"]);
    assert_eq!(errors("start: [{ node: x, argument: 1 }]\nnodes: { a: {} }"), ["GH0302"]);
    for form in ["next: j", "next: [j]", "next: [{ to: j }]", "on_error: j", "command: { goto: [j] }"] {
        let config = format!("start: a\nnodes:\n  a: {{ {form} }}\n  j: {{ wait_for: [a] }}");
        assert_eq!(errors(&config), ["GH0303"], "{form}");
    }
    assert_eq!(errors("start: j\nnodes: { a: {}, j: { wait_for: [a] } }"), ["GH0303"]);
    assert_eq!(errors("start: { node: j }\nnodes: { a: {}, j: { wait_for: [a] } }"), ["GH0303"]);
}

#[test]
fn values_are_checked() {
    for (line, code) in [
        ("max_steps: 0", "GH0204"),
        ("max_steps: -1", "GH0204"),
        ("max_steps: \"10\"", "GH0203"),
        ("max_concurrency: 0", "GH0204"),
        ("on_error: ignore", "GH0205"),
        ("timeout: 0s", "GH0204"),
        ("timeout: soon", "GH0206"),
        ("limits: { memory: 0 }", "GH0204"),
        ("limits: { memory: huge }", "GH0207"),
        ("limits: { fule: 1 }", "GH0201"),
        ("channels: { inputs: append }", "GH0309"),
        ("channels: { \"a.b\": append }", "GH0503"),
        ("channels: { a: push }", "GH0205"),
        ("channels: { a: { reducer: append, default: 3 } }", "GH0203"),
        ("output: \"${result}\"", "GH0402"),
        ("hooks: [{ condition: {}, action: { retry: true } }]", "GH0202"),
        ("hooks: [{ event: node_failed, action: { retry: true } }]", "GH0320"),
        ("hooks: [{ event: error, action: {} }]", "GH0202"),
        ("hooks: [{ id: a/b, event: error, action: { fail: true } }]", "GH0502"),
        ("hooks: [{ event: error, condition: { op: eq }, action: { retry: true } }]", "GH0403"),
        ("unknown: 1", "GH0201"),
    ] {
        assert_eq!(errors(&format!("start: a\nnodes: {{ a: {{}} }}\n{line}")), [code], "{line}");
    }
    for (node, code) in [
        ("{ type: retrun }", "GH0205"),
        ("{ retry: { max_attempts: 0 } }", "GH0204"),
        ("{ retry: { backoff: 0.5 } }", "GH0204"),
        ("{ retry: { retry_on: [flaky] } }", "GH0205"),
        ("{ retry: { retry_on: [denied] } }", "GH0204"),
        ("{ fuel: 0 }", "GH0204"),
        ("{ type: return, next: a }", "GH0307"),
        ("{ type: return, action: { item_id: t/a } }", "GH0307"),
        ("{ over: [1] }", "GH0307"),
        ("{ type: foreach, action: { item_id: t/a } }", "GH0202"),
        ("{ type: foreach, over: [1] }", "GH0202"),
        ("{ type: foreach, over: 3, action: { item_id: t/a } }", "GH0203"),
        ("{ type: foreach, over: text, action: { item_id: t/a } }", "GH0203"),
        ("{ type: foreach, over: [], as: run, action: { item_id: t/a } }", "GH0504"),
        ("{ type: foreach, over: [], as: a-b, action: { item_id: t/a } }", "GH0504"),
        ("{ interrupt: during }", "GH0205"),
        ("{ wait_for: [a] }", "GH0204"),
        ("{ action: {} }", "GH0202"),
        ("{ action: t/a }", "GH0203"),
        ("{ action: { item_id: t/a, params: 3 } }", "GH0203"),
        ("{ action: { item_id: t/a, params: text } }", "GH0203"),
        ("{ action: { item_id: \"t/a\\0\" } }", "GH0501"),
        ("{ action: { item_id: \"т/а\" } }", "GH0501"),
        ("{ action: { item_id: \"t/a\\u202e\" } }", "GH0501"),
        ("{ action: { item_id: t/a, params: { x: \"${state.}\" } } }", "GH0401"),
        ("{ action: { item_id: t/a, params: { x: \"${result}\" } } }", "GH0402"),
        ("{ action: { item_id: t/a, params: { x: \"${item}\" } } }", "GH0402"),
        ("{ assign: { x: \"${stat.y}\" } }", "GH0402"),
        ("{ assign: { _last_error: null } }", "GH0309"),
        ("{ next: { to: a } }", "GH0203"),
        ("{ next: [a, { to: a }] }", "GH0203"),
        ("{ next: [{ to: a, when: { path: a.b, op: exists } }, { to: a }] }", "GH0404"),
        ("{ next: [{ to: a, when: { path: state.b, op: regex, value: \"(\" } }, { to: a }] }", "GH0403"),
        ("{ next: [{ when: {} }] }", "GH0202"),
        ("{ capabilities: { interfaces: [clock] } }", "GH0205"),
        ("{ capabilities: [\"\"] }", "GH0204"),
        ("{ action: { item_id: t/a }, cache: 3 }", "GH0203"),
        ("{ action: { item_id: t/a }, cache: true }", "GH0203"),
        ("{ action: { item_id: t/a }, cache: {} }", "GH0202"),
        ("{ action: { item_id: t/a }, cache: { ttl: 0s } }", "GH0204"),
        ("{ action: { item_id: t/a }, cache: { ttl: -5s } }", "GH0206"),
        ("{ action: { item_id: t/a }, cache: { ttl: soon } }", "GH0206"),
        ("{ action: { item_id: t/a }, cache: { ttl: [1] } }", "GH0203"),
        ("{ action: { item_id: t/a }, cache: { ttl: 1m, keys: a } }", "GH0201"),
        ("{ action: { item_id: t/a }, cache: { ttl: 1m, key: \"${state.}\" } }", "GH0401"),
        ("{ action: { item_id: t/a }, cache: { ttl: 1m, key: \"${result}\" } }", "GH0402"),
        ("{ action: { item_id: t/a }, cache: { ttl: 1m, key: \"${x}\" } }", "GH0402"),
        ("{ type: return, cache: { ttl: 1m } }", "GH0307"),
        ("{ cache: { ttl: 1m } }", "GH0322"),
        ("{ action: { primary: load, item_type: knowledge, item_id: t/a }, cache: { ttl: 1m } }", "GH0322"),
        ("{ action: { primary: search, item_type: knowledge }, cache: { ttl: 1m } }", "GH0322"),
        ("{ action: { item_type: directive, item_id: t/a }, cache: { ttl: 1m } }", "GH0322"),
        ("{ revisit: always }", "GH0203"),
        ("{ revisit: { feedbak: true } }", "GH0201"),
        ("{ revisit: { feedback: 1 } }", "GH0203"),
        ("3", "GH0203"),
    ] {
        let found = errors(&format!("start: b\nnodes:\n  a: {node}\n  b: {{}}"));
        let found: Vec<_> = found.into_iter().filter(|found| found != "GH0303").collect();
        assert_eq!(found, [code], "{node}");
    }
    assert_eq!(errors("start: a\nnodes: { \"a b\": {}, a: {}, \"а\": {} }"), ["GH0502", "GH0502"]);
    assert_eq!(errors("start: []\nnodes: { a: {} }"), ["GH0204"]);
    assert_eq!(errors("nodes: { a: {} }"), ["GH0202"]);
    assert_eq!(errors("start: a\nnodes: { a: { __proto__: 1 } }"), ["GH0113"]);
}

#[test]
fn commands_overwrite_reducer_channels_alone() {
    let on = |listed: &str| {
        errors(&format!(
            "start: a\nchannels: {{ log: append, brief: ephemeral, last: {{ default: 1 }} }}\nnodes:\n  \
             a: {{ command: {{ overwrite: {listed} }} }}"
        ))
    };
    let sound = "start: a\nchannels: { log: append }\nnodes: { a: { command: { overwrite: [log] } } }";
    assert_eq!(warnings(sound), Vec::<String>::new());
    for listed in ["[last]", "[brief]", "[nobody]", "[lgo, log]"] {
        assert_eq!(on(listed), ["GH0312"], "{listed}");
    }
    assert_eq!(on("[inputs]"), ["GH0309"]);
    assert_eq!(on("log"), ["GH0203"]);
    assert_eq!(on("{ log: true }"), ["GH0203"]);
}

#[test]
fn what_the_document_writes_is_an_overwrite_and_nothing_else_is() {
    let text = tool(
        "start: a\nchannels: { log: append }\nnodes:\n  a:\n    assign:\n      log: { overwrite: \"${result}\" }\n      \
         free: { overwrite: 1 }\n  b: { assign: { log: \"${result}\", free: { overwrite: 1, more: 2 } } }",
    );
    let loaded = loaded(&text);
    let modes = |node: usize| {
        let writes = loaded.graph.nodes[node].assign.iter();
        writes.map(|write| (write.value.source().clone(), write.mode)).collect::<Vec<_>>()
    };
    assert_eq!(
        modes(0),
        [(json!("${result}"), WriteMode::Overwrite), (json!({"overwrite": 1}), WriteMode::Fold)]
    );
    assert_eq!(
        modes(1),
        [(json!("${result}"), WriteMode::Fold), (json!({"overwrite": 1, "more": 2}), WriteMode::Fold)]
    );
}

#[test]
fn what_is_doubtful_is_warned_about() {
    let on = |node: &str| warnings(&format!("start: a\nnodes:\n  a: {node}\n  b: {{}}"));
    assert_eq!(on("{ next: b }"), Vec::<String>::new());
    assert_eq!(on("{}"), ["GH0304"]);
    assert_eq!(on("{ next: [b, b] }"), ["GH0311"]);
    assert_eq!(on("{ next: [{ to: b, when: { path: inputs.x, op: exists } }] }"), ["GH0305"]);
    assert_eq!(on("{ next: [{ to: b, when: {} }, { to: a }] }"), ["GH0306"]);
    assert_eq!(on("{ next: b, revisit: { feedback: true } }"), Vec::<String>::new());
    assert_eq!(on("{ next: b, command: { goto: [], write: [], overwrite: [] } }"), ["GH0310"]);
    let writes = |reducer: &str, node: &str| {
        let warned = warnings(&format!("start: a\nchannels: {{ c: {reducer} }}\nnodes:\n  a: {node}"));
        assert!(warned.iter().all(|code| code == "GH0313"), "{warned:?}");
        warned.len()
    };
    for (reducer, misfits) in [("sum", 1), ("min", 1), ("max", 1), ("merge", 1), ("append", 0), ("union", 0)]
    {
        let each = "{ type: foreach, over: [1], collect: c, action: { item_id: t/x } }";
        assert_eq!(writes(reducer, each), misfits, "{reducer}");
        assert_eq!(writes(reducer, "{ assign: { c: text } }"), misfits, "{reducer}");
        assert_eq!(writes(reducer, "{ assign: { c: [1] } }"), misfits, "{reducer}");
        assert_eq!(writes(reducer, "{ assign: { c: '${inputs.n}' } }"), 0, "{reducer}");
        assert_eq!(writes(reducer, "{ assign: { c: { overwrite: text } } }"), 0, "{reducer}");
        assert_eq!(writes(reducer, "{ assign: { c: 1 } }"), usize::from(reducer == "merge"), "{reducer}");
        let number = misfits - usize::from(reducer == "merge");
        assert_eq!(writes(reducer, "{ assign: { c: { n: 1 } } }"), number, "{reducer}");
    }
    assert_eq!(
        warnings("start: a\nnodes:\n  a: {}\n  b: { next: c }\n  c: { next: b }\n  j: { wait_for: [a, b] }"),
        ["GH0304", "GH0304", "GH0304"]
    );
}

#[test]
fn the_header_is_checked() {
    let config = "config: { start: a, nodes: { a: {} } }\n";
    let header = |text: &str| {
        let problems = refused(&format!("{text}\n{config}"));
        codes(&problems, Severity::Error).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(header("tool_type: python"), ["GH0301"]);
    assert_eq!(header("version: 1"), ["GH0202"]);
    assert_eq!(header("tool_type: graph\nexecutor_id: rye/core/runtimes/python"), ["GH0301"]);
    assert_eq!(header("tool_type: graph\nconfig_schema: { type: objekt }"), ["GH0405"]);
    assert_eq!(header("tool_type: graph\nconfig_schema: { $ref: \"https://example.com/x\" }"), ["GH0405"]);
    for schema in [
        "{ properties: { all: { properties: { rules: { format: approvals } } } } }",
        "{ properties: { all: { items: { format: approvals-above } } } }",
        "{ patternProperties: { \"^r\": { format: approvals } } }",
        "{ properties: { rules: { format: approvals }, all: { items: { format: tools } } } }",
        "{ $defs: { rules: { format: approvals } } }",
    ] {
        assert_eq!(header(&format!("tool_type: graph\nconfig_schema: {schema}")), ["GH0405"], "{schema}");
    }
    assert_eq!(codes(&refused("tool_type: graph\n"), Severity::Error), ["GH0202"]);
    assert_eq!(codes(&refused("- a\n"), Severity::Error), ["GH0203"]);
}

#[test]
fn the_digest_is_of_what_the_document_says() {
    let digest = |text: &str| loaded(text).graph.digest;
    let one = digest("tool_type: graph\nconfig: { start: a, nodes: { a: { next: b }, b: {} } }\n");
    let same = digest(
        "# layout\ntool_type: 'graph'\nconfig:\n  nodes:\n    a:\n      next: b\n    b: {}\n  start: a\n",
    );
    assert_eq!(one, same);
    let order = digest("tool_type: graph\nconfig: { start: a, nodes: { b: {}, a: { next: b } } }\n");
    assert_ne!(one, order, "the order of nodes is the order of barriers");
    let id = load("x", "tool_type: graph\nconfig: { start: a, nodes: { a: { next: b }, b: {} } }", "t/other")
        .unwrap();
    assert_ne!(one, id.graph.digest);
}

#[test]
fn a_snapshot_gives_the_same_graph() {
    for name in ["everything.yaml", "release_notes.yaml", "review_fan_out.yaml", "disk_usage.yaml"] {
        let graph = loaded(&fixture(name)).graph;
        let text = graph_core::json::canonical_string(&graph.document);
        let again: Graph = load_snapshot(
            &graph_core::json::parse_strict(
                &text,
                graph_core::json::MAX_DEPTH,
                graph_core::json::TreeLimit::DOCUMENT,
            )
            .unwrap(),
        )
        .unwrap();
        assert_eq!(again.digest, graph.digest, "{name}");
        assert_eq!(format!("{:?}", again.nodes), format!("{:?}", graph.nodes), "{name}");
        assert_eq!(again.document, graph.document);
    }
    assert!(load_snapshot(&serde_json::json!({"id": "a", "config": {"start": "x"}})).is_err());
    assert!(load_snapshot(&serde_json::Value::Null).is_err());
}

#[test]
fn a_bare_config_points_into_its_document() {
    let text = "name: case\ngraph:\n  start: a\n  nodes:\n    a: { nxt: b }\n    b: {}\n";
    let problems = Problems::new();
    let root = graph_core::yaml::parse(text, &problems).unwrap();
    let config = root.descend(["graph"]);
    assert!(load_config(config, text, "case", Dialect::GraphHost, &problems).is_none());
    let lines = problems.into_diagnostics("a.case.yaml", text).to_lines();
    assert_eq!(lines, ["a.case.yaml:5:10: error[GH0201]: `nxt` is not a key of node `a`"]);

    let text = "graph: { start: a, nodes: { a: {} } }\n";
    let problems = Problems::new();
    let root = graph_core::yaml::parse(text, &problems).unwrap();
    assert_eq!(
        load_config(root.descend(["graph"]), text, "case", Dialect::GraphHost, &problems)
            .unwrap()
            .nodes
            .len(),
        1
    );
}

#[test]
fn hostile_documents_are_refused_in_bounded_time() {
    let nodes = |count: usize, node: &str| {
        let nodes = (0..count).map(|at| format!("    n{at}: {node}\n")).collect::<Vec<_>>().concat();
        format!("tool_type: graph\nconfig:\n  start: n0\n  nodes:\n{nodes}")
    };
    let chain: Vec<_> = (0..30_000).map(|at| format!("    n{at}: {{ next: n{} }}\n", at + 1)).collect();
    let chain = chain.concat();
    let names = (0..40_000).map(|at| format!("n{at}, ")).collect::<Vec<_>>().concat();
    let keys = (0..45_000).map(|at| format!("k{at}: 1, ")).collect::<Vec<_>>().concat();
    let condition = |condition: &str| nodes(1, &format!("{{ next: [{{ to: n0, when: {condition} }}] }}"));
    let near = |named: usize, wrong: usize| {
        let known = (0..named).map(|at| format!("    a{at:063}: {{}}\n")).collect::<Vec<_>>().concat();
        let unknown =
            (0..wrong).map(|at| format!("    b{at}: {{ next: b{at:063} }}\n")).collect::<Vec<_>>().concat();
        format!("tool_type: graph\nconfig:\n  start: b0\n  nodes:\n{known}{unknown}")
    };
    for (name, text) in [
        ("unknown targets", nodes(30_000, "{ next: nowhere }")),
        ("unknown keys", nodes(30_000, "{ nxt: n0 }")),
        ("bad templates", nodes(20_000, "{ assign: { a: \"${\" } }")),
        ("edges", nodes(200, &format!("{{ next: [{}] }}", "n0, ".repeat(900)))),
        ("a chain", format!("tool_type: graph\nconfig:\n  start: n0\n  nodes:\n{chain}    n30000: {{}}\n")),
        ("long names", nodes(1, &format!("{{ {}: 1 }}", "x".repeat(900)))),
        ("long names that are nearly right", near(1_000, 300)),
        ("bad choices", nodes(30_000, "{ type: deflaut }")),
        (
            "a long pipe",
            nodes(1, &format!("{{ assign: {{ a: \"${{state.a | {}}}\" }} }}", "x".repeat(1 << 20))),
        ),
        (
            "a long operator",
            condition(&format!("{{ path: state.a, op: {}, value: 1 }}", "x".repeat(1 << 20))),
        ),
        ("unknown roots", condition(&format!("{{ any: [{}] }}", "{ path: b.c, value: 1 }, ".repeat(40_000)))),
        ("one key twice", nodes(1, &format!("{{ assign: {{ {} }} }}", "a: 1, ".repeat(90_000)))),
        ("keys twice", nodes(1, &format!("{{ assign: {{ {keys}{keys} }} }}"))),
        ("a wide barrier", format!("{}    all: {{ wait_for: [{names}{names}] }}\n", nodes(40_000, "{}"))),
        (
            "a long key",
            nodes(
                1,
                &format!(
                    "{{ assign: {{ a: {{ {}: [{}] }} }} }}",
                    "k".repeat(1 << 20),
                    "\"${state.b}\", ".repeat(150_000)
                ),
            ),
        ),
        (
            "many paths in a text",
            nodes(1, &format!("{{ assign: {{ a: \"{}\" }} }}", "${b.c}".repeat(1 << 20))),
        ),
        (
            "one line",
            format!(
                "{{ tool_type: graph, config: {{ start: a, nodes: {{ a: {{ assign: {{ a: [{}] }} }} }} }} }}",
                "1, ".repeat(190_000)
            ),
        ),
        (
            "one line that is not ASCII",
            format!(
                "{{ tool_type: graph, config: {{ start: a, nodes: {{ a: {{ assign: {{ a: [{}] }} }} }} }} }}",
                "'é', ".repeat(190_000)
            ),
        ),
        (
            "nested escapes",
            nodes(
                1,
                &format!(
                    "{{ assign: {{ a: {}{}{} }} }}",
                    "[".repeat(55),
                    "\"$${\", ".repeat(190_000),
                    "]".repeat(55)
                ),
            ),
        ),
        ("a long unknown target", nodes(1, &format!("{{ next: \"{}\" }}", "x".repeat(1 << 20)))),
    ] {
        let start = Instant::now();
        let result = load("graph.yaml", &text, "t/graph");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{name} took {took:?}");
        if let Err(problems) = result {
            assert!(
                problems.len() <= Problems::MOST + 1
                    && problems.to_lines().iter().all(|line| line.len() < 600)
            );
        }
    }
}

/// A document has room for ten thousand patterns that each take a megabyte once compiled.
#[test]
fn the_patterns_of_a_document_are_bounded_together() {
    let edges = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let edge =
            |at| format!("{{ to: a, when: {{ path: state.x, op: regex, value: '{}' }} }}, ", pattern(at));
        (0..count).map(edge).collect::<Vec<_>>().concat()
    };
    let graph = |edges: &str, hooks: &str| {
        format!(
            "tool_type: graph\nconfig:\n  start: a\n  nodes: {{ a: {{ next: [{edges}{{ to: [] }}] }} }}\n  hooks: [{hooks}]\n"
        )
    };
    let start = Instant::now();
    for text in [
        graph(&edges(10_000, &|at| format!("{at}[a-z]{{4000}}")), ""),
        graph(&edges(10_000, &|at| format!("{at}\\w{{30}}")), ""),
        graph(&edges(10_000, &|at| format!("(?i){at}{}", "\\w".repeat(40))), ""),
        graph(
            &edges(300, &|at| format!("^{at}$")),
            &(0..300)
                .map(|at| format!("{{ event: after_step, condition: {{ path: node, op: regex, value: '{at}' }}, action: {{ retry: true }} }}, "))
                .collect::<Vec<_>>().concat(),
        ),
    ] {
        let problems = refused(&text);
        let over: Vec<_> = problems.iter().filter(|problem| problem.message().contains("too large together")).collect();
        assert!(!over.is_empty() && over.iter().all(|problem| problem.code().id() == "GH0403"), "{}", shown(&problems));
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    loaded(&graph(&edges(200, &|at| format!("^{at}[a-z]+@[0-9]{{2,4}}$")), ""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_document_is_read_or_refused(
        which in 0_usize..4,
        cuts in proptest::collection::vec((0.0..1.0_f64, 0_usize..12, prop::sample::select(vec![
            "", "a", ":", "- ", "\n", "  ", "{", "}", "[", "]", "\"", "${", "}", "&a ", "*a", "null", "0", "-1", "é", "#", "|", "nodes:", "start",
            "state", "'", "\t", "to: ", "return", "foreach", "type: ", "over: ",
        ])), 1..6),
    ) {
        let name = ["everything.yaml", "release_notes.yaml", "review_fan_out.yaml", "disk_usage.yaml"][which];
        let mut text = fixture(name);
        for (place, length, insert) in cuts {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let start = text.floor_char_boundary((place * text.len() as f64) as usize);
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, insert);
        }
        match load("graph.yaml", &text, "t/graph") {
            Ok(loaded) => {
                prop_assert!(!loaded.warnings.has_errors());
                shown(&loaded.warnings);
                let again = load_snapshot(&loaded.graph.document).unwrap();
                prop_assert_eq!(again.digest, loaded.graph.digest);
            }
            Err(problems) => {
                prop_assert!(problems.has_errors());
                shown(&problems);
            }
        }
    }
}

#[test]
fn what_is_never_written_is_warned_of() {
    let text = "\
tool_type: graph
config_schema: { type: object, properties: { files: { type: integer } } }
config:
  start: a
  channels: { log: append }
  nodes:
    a:
      action: { item_id: t/x, params: { n: \"${inputs.fles}\", depth: \"${inputs.depth}\", all: \"${inputs}\" } }
      command: { write: [told] }
      assign: { stats: \"${result}\" }
      next: [{ to: b, when: { path: state.stat, op: exists } }, { to: [] }]
    b:
      type: return
      output:
        - \"${state.stat.rows} ${state.stats} ${state.log} ${state.told} ${state._last_error}\"
        - \"${state.other || null} ${inputs.files}\"
";
    let loaded = load("graph.yaml", text, "t/g").unwrap();
    insta::assert_snapshot!(loaded.warnings.to_lines().join("\n"));
    let open = text.replace("type: object,", "type: object, additionalProperties: true,");
    assert!(!load("graph.yaml", &open, "t/g").unwrap().warnings.to_lines().join("").contains("fles"));
}

#[test]
fn limits_and_capabilities_of_a_node_may_be_templates() {
    let found = loaded(&tool(
        r#"start: a
limits: { model: { calls: 30, cost: 0.5 } }
nodes:
  a:
    action: { item_id: t/a }
    timeout: "${inputs.seconds || state.seconds}"
    limits: { model: { calls: 4, input_tokens: "${inputs.tokens}", cost: "${node.metadata.cost}" } }
    capabilities: { dispatch: "${inputs.may}", interfaces: [log] }
    assign: { seconds: 1 }
    next: b
  b: { type: foreach, over: "${inputs.list}", action: { item_id: t/b }, capabilities: "${item.may}", timeout: 2s }"#,
    ));
    assert!(found.warnings.is_empty(), "{}", found.warnings);
    let [a, b] = &found.graph.nodes[..] else { panic!("two nodes") };
    let of_all = found.graph.limits.model;
    assert_eq!((of_all.calls, of_all.input, of_all.cost), (Some(30), None, Some(500_000)));
    assert_eq!((a.limits.model.calls, a.limits.model.input, a.limits.timeout), (Some(4), None, None));
    assert_eq!(a.bounds.iter().count(), 4);
    let own = a.capabilities.as_ref().unwrap();
    assert_eq!((&own.dispatch, own.interfaces.as_deref()), (&None, Some(&["log".to_owned()][..])));
    assert!(b.capabilities.is_none() && b.bounds.dispatch.is_some() && b.bounds.timeout.is_none());
    assert_eq!(b.limits.timeout, Some(Duration::from_secs(2)));
}

#[test]
fn limits_and_capabilities_that_cannot_be_read_are_reported() {
    for (keys, code) in [
        ("limits: { model: { calls: -1 } }", "GH0204"),
        ("limits: { model: { calls: many } }", "GH0203"),
        ("limits: { model: { cost: -0.5 } }", "GH0204"),
        ("limits: { model: { tokens: 5 } }", "GH0201"),
        ("limits: { fuel: 5 }", "GH0201"),
        ("limits: [1]", "GH0203"),
        (r#"limits: { model: "${inputs.a}" }"#, "GH0203"),
        (r#"limits: { model: { calls: "${inputs.a" } }"#, "GH0401"),
        (r#"limits: { model: { calls: "${result.a}" } }"#, "GH0402"),
        (r#"limits: { model: { calls: "$${inputs.a}" } }"#, "GH0203"),
        (r#"timeout: "${item}""#, "GH0402"),
        ("timeout: soon", "GH0206"),
        (r#"fuel: "${inputs.a}""#, "GH0203"),
        (r#"memory: "${inputs.a}""#, "GH0207"),
        (r#"capabilities: "${inputs.a | nothing}""#, "GH0401"),
        ("capabilities: execute.tool.a", "GH0203"),
        (r#"capabilities: { interfaces: "${inputs.a}" }"#, "GH0203"),
    ] {
        let found = errors(&format!("start: a\nnodes:\n  a: {{ action: {{ item_id: t/a }}, {keys} }}"));
        assert_eq!(found, [code], "{keys}");
    }
    // Limits for all nodes of a graph, and for nodes that dispatch nothing.
    for (config, code) in [
        (
            r#"start: a
limits: { model: { calls: "${inputs.a}" } }
nodes: { a: {} }"#,
            "GH0203",
        ),
        (
            r#"start: a
limits: { timeout: "${inputs.a}" }
nodes: { a: {} }"#,
            "GH0206",
        ),
        ("start: a\nnodes: { a: { type: return, limits: { model: { calls: 1 } } } }", "GH0307"),
    ] {
        assert_eq!(errors(config), [code], "{config}");
    }
}

#[test]
fn a_command_names_each_key() {
    for write in ["write: [\"*\"]", "write: [page, \"page*\"]", "overwrite: [\"*\"]"] {
        let found = errors(&format!("start: a\nnodes: {{ a: {{ command: {{ {write} }} }} }}"));
        assert!(found.iter().any(|code| code == "GH0310"), "{write}: {found:?}");
    }
    // A stored run with such a graph can be read nevertheless.
    let document = json!({
        "id": "t/kept",
        "config": { "start": "a", "nodes": { "a": { "command": { "write": ["*"] } } } },
        "config_schema": null,
        "node_order": ["a"],
    });
    assert!(load_snapshot(&document).is_ok());
}

#[test]
fn a_tool_of_another_kind_is_told_as_one() {
    let problems =
        refused("tool_type: http\nexecutor_id: rye/core/runtimes/http\nurl: x\nconfig: { method: GET }\n");
    assert_eq!(problems.len(), 1, "{}", shown(&problems));
    assert!(shown(&problems).contains("rye/bash/bash"), "{}", shown(&problems));
}
