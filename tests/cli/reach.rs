//! Components that reach beyond the machine and the run: requests, secrets, knowledge, other items.

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Answer, Server};

const NET: &[u8] = include_bytes!("../../examples/nodes/.ai/tools/examples/testkit-net.wasm");

/// A graph of one node that performs its inputs.
const ONE: &str = "start: a\nnodes:\n  a: { action: { item_id: t/net, params: \"${inputs.do}\" }, assign: { got: \"${result}\" } }\n";

fn place(caps: &str) -> Place {
    let place = Place::with_testkit();
    std::fs::write(place.path(".ai/tools/t/net.wasm"), NET).unwrap();
    place.graph("one.yaml", ONE);
    place.write("caps.yaml", caps);
    place
}

fn run(place: &Place, id: &str, what: &Value) -> (Value, i32) {
    place.write("inputs.json", &json!({ "do": what }).to_string());
    place.json(&[
        "run",
        "one.yaml",
        "--caps",
        "caps.yaml",
        "--allow-unsigned",
        "--run-id",
        id,
        "--inputs",
        "inputs.json",
    ])
}

const EVERYTHING: &str = "\
dispatch: [execute.tool.t.net, execute.tool.t.kit]
items:
  t/net:
    http: [{ host: 127.0.0.1, schemes: [http], ports: [PORT], addresses: [127.0.0.1] }]
    secrets: [{ name: TOKEN, from: { file: token }, header: authorization, host: 127.0.0.1, schemes: [http] }]
    knowledge: [{ scope: notes/, access: rw }, { scope: shared/, access: ro }]
    tools: true
";

fn everything(port: u16) -> Place {
    let place = place(&EVERYTHING.replace("PORT", &port.to_string()));
    place.write("token", "v4lue-of-the-token\n");
    place
}

#[test]
fn a_secret_leaves_and_is_nowhere_to_be_found() {
    let server = Server::start(|_| Answer::Echo);
    let port = server.port;
    let place = everything(port);
    let url = format!("http://127.0.0.1:{port}/");
    let (done, code) = run(&place, "s", &json!({"op": "secret", "url": url, "name": "TOKEN"}));
    assert_eq!(code, 0, "{done}");
    let body = done["state"]["got"]["body"].as_str().unwrap();
    assert!(body.contains("authorization: Bearer {{secret:TOKEN}}"), "{body}");
    for file in std::fs::read_dir(place.path(".ai/state")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(18).any(|part| part == b"v4lue-of-the-token"), "the value was stored");
    }
    std::fs::remove_file(place.path("token")).unwrap();
    let (refused, code) = run(&place, "gone", &json!({"op": "secret", "url": url, "name": "TOKEN"}));
    assert_eq!(code, 4, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("the secret `TOKEN`"), "{refused}");
}

#[test]
fn what_was_answered_is_in_the_checkpoint() {
    let server = Server::start(|_| Answer::Echo);
    let port = server.port;
    let place = everything(port);
    let url = format!("http://127.0.0.1:{port}/x");
    let (done, code) = run(&place, "h", &json!({"op": "fetch", "url": url}));
    assert_eq!((code, &done["state"]["got"]["status"]), (0, &json!(200)), "{done}");
    let (shown, _) = place.json(&["runs", "show", "h"]);
    assert_eq!(shown["asked"]["calls"], 1, "{shown}");
    assert!(shown["asked"]["bytes"].as_u64().unwrap() > 100, "{shown}");
    assert!(place.run(&["runs", "show", "h"]).stdout.contains("1 host call from components"));
    let exported = place.run(&["runs", "export", "h"]);
    assert!(exported.stdout.contains("wasi:http/outgoing-handler"), "no journal is exported");
    assert_eq!(place.run(&["runs", "verify", "h"]).code, 0);
    let (plan, _) = place.json(&["run", "one.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"]);
    assert_eq!(plan["nodes"][0]["grant"]["http"][0]["ports"], json!([port]), "{plan}");
    let shown = place.run(&["run", "one.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"]).stdout;
    assert!(shown.contains(&format!("http://127.0.0.1:{port} (GET)")), "{shown}");
}

#[test]
fn knowledge_outlasts_runs_and_keeps_to_its_scopes() {
    let place = everything(1);
    let put = json!({"op": "knowledge-put", "key": "notes/one", "text": "the quick brown fox"});
    assert_eq!(run(&place, "k1", &put).1, 0);
    assert_eq!(run(&place, "k2", &put).1, 0);
    let (got, _) = run(&place, "k3", &json!({"op": "knowledge-get", "key": "notes/one"}));
    assert_eq!(got["state"]["got"], "the quick brown fox");
    let (found, _) =
        run(&place, "k4", &json!({"op": "knowledge-search", "prefix": "notes/", "query": "Fox quick"}));
    assert_eq!(found["state"]["got"], json!([{"key": "notes/one", "excerpt": "the quick brown fox"}]));
    let (listed, _) = run(&place, "k5", &json!({"op": "knowledge-list", "prefix": "notes/", "limit": 5}));
    assert_eq!(listed["state"]["got"], json!(["notes/one"]));
    for (id, what) in [
        ("d1", json!({"op": "knowledge-get", "key": "other/one"})),
        ("d2", json!({"op": "knowledge-put", "key": "shared/one", "text": "x"})),
        ("d3", json!({"op": "knowledge-search", "prefix": "", "query": "fox"})),
        ("d4", json!({"op": "knowledge-list", "prefix": "note", "limit": 5})),
    ] {
        let (denied, code) = run(&place, id, &what);
        assert_eq!((code, &denied["error"]["category"]), (4, &json!("denied")), "{denied}");
    }
}

#[test]
fn knowledge_is_kept_in_the_project_of_the_run() {
    let place = everything(1);
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir_all(elsewhere.join(".ai")).unwrap();
    place.graph("waits.yaml", &ONE.replace("a: {", "a: { interrupt: before,"));
    let there = |args: &[&str]| {
        let project = place.path("");
        let project = project.to_str().unwrap();
        let mut command = place.command(&[args, &["--project", project, "--json"]].concat());
        let output = command.current_dir(&elsewhere).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str::<Value>(&shown).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let run = |graph: &str, id: &str, what: &Value| {
        place.write("inputs.json", &json!({ "do": what }).to_string());
        let (graph, caps, inputs) = (place.path(graph), place.path("caps.yaml"), place.path("inputs.json"));
        let [graph, caps, inputs] = [&graph, &caps, &inputs].map(|path| path.to_str().unwrap());
        there(&["run", graph, "--caps", caps, "--allow-unsigned", "--run-id", id, "--inputs", inputs])
    };
    let put = |text: &str| json!({"op": "knowledge-put", "key": "notes/one", "text": text});
    let get = json!({"op": "knowledge-get", "key": "notes/one"});
    assert_eq!(run("one.yaml", "p1", &put("begun"))["status"], "completed");
    let (got, _) = self::run(&place, "p2", &get);
    assert_eq!(got["state"]["got"], "begun", "{got}");
    assert_eq!(run("one.yaml", "p3", &get)["state"]["got"], "begun");
    // The same holds for a run that is resumed from another folder.
    assert_eq!(run("waits.yaml", "p4", &put("resumed"))["status"], "interrupted");
    assert_eq!(there(&["resume", "p4"])["status"], "completed");
    let (got, _) = self::run(&place, "p5", &get);
    assert_eq!(got["state"]["got"], "resumed", "{got}");
    assert!(!elsewhere.join(".ai/state").exists(), "another project was written to");
}

#[test]
fn items_call_items_within_what_both_may() {
    let place = everything(1);
    let call = |item: &str, params: Value| json!({"op": "call", "item": item, "params": params});
    let echo = json!({"op": "echo", "value": 7});
    let (done, code) = run(&place, "c1", &call("t/kit", echo.clone()));
    assert_eq!((code, &done["state"]["got"]), (0, &json!(7)), "{done}");
    let (direct, _) = run(&place, "c2", &call("t/net", call("t/kit", echo.clone())));
    assert_eq!(direct["state"]["got"], 7, "{direct}");
    assert!(direct["fuel"].as_u64() > done["fuel"].as_u64(), "a call costs its caller");

    // A component that calls itself without end is ended by the limit of depth.
    let endless = (0..9).fold(echo.clone(), |inner, _| call("t/net", inner));
    let (deep, code) = run(&place, "c3", &endless);
    assert_eq!((code, &deep["error"]["category"]), (5, &json!("limit")), "{deep}");
    assert!(deep["error"]["message"].as_str().unwrap().contains("levels deep"), "{deep}");

    let (denied, code) = run(&place, "c4", &call("t/other", echo));
    assert_eq!((code, &denied["error"]["category"]), (4, &json!("denied")), "{denied}");
    assert!(denied["error"]["message"].as_str().unwrap().contains("execute.tool.t.other"), "{denied}");
    let (asks, _) = run(&place, "c5", &call("t/kit", json!({"op": "interrupt", "payload": 1})));
    assert_eq!(asks["error"]["category"], "invalid-input", "{asks}");
    // A callee that spins uses the caller's fuel, except for the part that the caller keeps to receive the failure.
    let (spun, _) =
        run(&place, "c6", &call("t/kit", json!({"op": "spin", "iterations": 100_000_000_000_u64})));
    assert_eq!(spun["error"]["category"], "limit", "{spun}");
    let fuel = spun["fuel"].as_u64().unwrap();
    assert!((850_000_000..900_000_000).contains(&fuel), "{spun}");

    // Events of a callee are reported for its caller's task, and again in a replay.
    let emit = json!({"op": "emit", "name": "note", "count": 2, "text": "hi"});
    let (_, code) = run(&place, "c7", &call("t/net", call("t/kit", emit)));
    let events = place.run(&["runs", "events", "c7", "--stream", "custom"]).stdout;
    assert_eq!((code, events.matches("\"note\"").count()), (0, 2), "{events}");
    assert_eq!(place.run(&["replay", "c7"]).code, 0);
}

#[test]
fn what_is_not_granted_is_refused_before_the_run() {
    let place = place("dispatch: [execute.tool.t.net]\n");
    let (refused, code) = run(&place, "n", &json!({"op": "knowledge-get", "key": "notes/one"}));
    assert_eq!(code, 4, "{refused}");
    let text = refused.to_string();
    for interface in [
        "wasi:http/outgoing-handler",
        "graph-host:host/secrets",
        "graph-host:host/knowledge",
        "graph-host:host/tools",
    ] {
        assert!(text.contains(interface), "{interface}: {text}");
    }
    let suggested = place.run(&["caps", "suggest", "one.yaml", "--allow-unsigned"]).stdout;
    for line in ["http: [{ host:", "secrets: [{ name:", "knowledge: [{ scope:", "tools: true"] {
        assert!(suggested.contains(line), "{line}: {suggested}");
    }
}

/// The host calls of a run are divided before its tasks start, in task order, whichever calls first; a child run's part
/// is taken from its parent's; and a resume continues with the rest.
#[test]
fn a_run_has_so_many_calls_of_the_host() {
    let server = Server::start(|_| Answer::Echo);
    let place = place(&(EVERYTHING.replace("PORT", &server.port.to_string()) + "run: { calls: 7 }\n"));
    place.write(
        "caps.yaml",
        &place
            .read("caps.yaml")
            .replace("[execute.tool.t.net,", "[execute.tool.t.net, execute.tool.t.inner,"),
    );
    place.write("token", "v4lue-of-the-token\n");
    let fetch = |times: u32| {
        format!(
            "{{ item_id: t/net, params: {{ op: fetch, url: \"http://127.0.0.1:{}/\", times: {times} }} }}",
            server.port
        )
    };
    let asked = |run: &str| {
        let (shown, _) = place.json(&["runs", "show", run]);
        shown["asked"]["calls"].as_u64().unwrap()
    };
    let start = |graph: &str, run: &str| {
        place.json(&["run", graph, "--caps", "caps.yaml", "--allow-unsigned", "--run-id", run])
    };

    // Seven for three: two, two and three.
    for (run, over, all, ends) in [("wide", "[2, 2, 3]", 7, 0), ("wider", "[3, 2, 2]", 6, 7)] {
        let action = fetch(9).replace("times: 9", "times: \"${n}\"");
        place.graph(
            "wide.yaml",
            &format!(
                "start: a\nnodes:\n  a: {{ type: foreach, over: \"{over}\", as: n, parallel: true, collect: got, \
                 on_item_error: keep_null, action: {action} }}\n"
            ),
        );
        let (done, code) = start("wide.yaml", run);
        assert_eq!((asked(run), code), (all, ends), "{done}");
        let got = done["state"]["got"].as_array().map(Vec::len);
        assert_eq!(
            got,
            (ends == 0).then_some(3),
            "no `on_item_error` passes a budget that is used up: {done}"
        );
        assert_eq!(place.run(&["replay", run]).code, 0);
    }
    assert_eq!(server.heard().len(), 13);

    // A child run of three calls leaves four.
    place.graph("inner.yaml", &format!("start: a\nnodes:\n  a: {{ action: {} }}\n", fetch(3)));
    std::fs::rename(place.path("inner.yaml"), place.path(".ai/tools/t/inner.yaml")).unwrap();
    for (times, ends, calls) in [(4, 0, 7), (5, 7, 7)] {
        place.graph(
            "outer.yaml",
            &format!("start: a\nnodes:\n  a: {{ action: {{ item_id: t/inner }}, next: b }}\n  b: {{ action: {} }}\n", fetch(times)),
        );
        let run = format!("outer-{times}");
        let (done, code) = start("outer.yaml", &run);
        assert_eq!((code, asked(&run)), (ends, calls), "{done}");
        assert_eq!(place.run(&["replay", &run]).code, 0);
    }
    let (again, code) = place.json(&["resume", "outer-5"]);
    assert_eq!(code, 7, "{again}");
    let message = again["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("the run's budget `calls` is used up: 7 calls (from the manifest)"),
        "{message}"
    );
    assert_eq!(asked("outer-5"), 7);
    let shown = place.run(&["runs", "show", "outer-5"]).stdout;
    assert!(shown.contains("7 host calls from components"), "{shown}");
}

/// Certificates that `openssl` has made for tests, each with its key: `good`, `other` (of another host) and `expired` are
/// signed by the authority in `ca.pem`, `self` by itself. They hold for a hundred years.
const CERTIFICATES: [(&str, &[u8]); 4] = [
    ("good", include_bytes!("certificates/good.pem")),
    ("other", include_bytes!("certificates/other.pem")),
    ("self", include_bytes!("certificates/self.pem")),
    ("expired", include_bytes!("certificates/expired.pem")),
];

#[test]
fn a_server_is_believed_with_a_certificate_of_its_own_name_alone() {
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/certificates/ca.pem");
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    for (name, pem) in CERTIFICATES {
        let server = Server::start_tls(pem, Answer::Bytes(ok.to_vec()));
        let port = server.port;
        let place = place(&format!(
            "dispatch: [execute.tool.t.net]\nitems:\n  t/net:\n    http: [{{ host: localhost, ports: [{port}], addresses: \
             [127.0.0.1, \"::1\"] }}]\n    secrets: [{{ name: TOKEN, from: {{ file: token }}, header: authorization, host: \
             localhost }}]\n    knowledge: [{{ scope: notes/ }}]\n    tools: true\n"
        ));
        place.write("token", "v4lue-of-the-token\n");
        let url = format!("https://localhost:{port}/");
        place.write("inputs.json", &json!({"do": {"op": "secret", "url": url, "name": "TOKEN"}}).to_string());
        let words = [
            "run",
            "one.yaml",
            "--caps",
            "caps.yaml",
            "--allow-unsigned",
            "--inputs",
            "inputs.json",
            "--json",
        ];
        // The system's trusted authorities are named by this variable, as for other programs.
        let run = |trusted: &str| place.command(&words).env("SSL_CERT_FILE", trusted).output().unwrap();
        let ended = run(authority);
        let (code, told) = (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned());
        let warned = String::from_utf8_lossy(&ended.stderr).into_owned();
        if name == "good" {
            assert_eq!((code, server.heard().len()), (Some(0), 1), "{told}{warned}");
            assert!(server.heard()[0].contains("authorization: Bearer v4lue-of-the-token"));
            let unknown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/certificates/self.pem");
            let refused = run(unknown);
            let warned = String::from_utf8_lossy(&refused.stderr);
            assert_eq!((refused.status.code(), server.heard().len()), (Some(5), 1), "{warned}");
            assert!(warned.contains("UnknownIssuer"), "{warned}");
            continue;
        }
        let reason = match name {
            "other" => "NotValidForName",
            "expired" => "Expired",
            _ => "UnknownIssuer",
        };
        assert_eq!(code, Some(5), "{name}: {told}{warned}");
        assert!(told.contains("the server's certificate is refused"), "{name}: {told}");
        assert!(warned.contains(reason), "{name}: {warned}");
        assert!(server.heard().is_empty(), "{name}: something was sent");
    }
}

/// A graph that sends requests for as long as the answer asks for more.
const MORE: &str = "\
start: ask
max_steps: 30
nodes:
  ask:
    action: { item_id: t/net, params: { op: fetch, url: \"http://127.0.0.1:PORT/\" } }
    retry: { max_attempts: 3, initial_interval: 1ms, retry_on: [transient] }
    assign: { last: \"${result.status}\" }
    next: [{ to: ask, when: { path: result.status, op: eq, value: 202 } }, { to: [] }]
";

#[test]
fn a_live_replay_asks_no_more_often_than_the_run_and_changes_nothing() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::server::Choice;

    let more = Arc::new(AtomicBool::new(false));
    let says = Arc::clone(&more);
    let server = Server::start(|_| {
        Answer::Chosen(Choice(Arc::new(move |_| {
            let status = if says.load(Ordering::Relaxed) { "202 Accepted" } else { "200 OK" };
            Answer::Bytes(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").into_bytes())
        })))
    });
    let place = everything(server.port);
    place.graph("more.yaml", &MORE.replace("PORT", &server.port.to_string()));
    let ran = place.json(&["run", "more.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "m"]);
    assert_eq!((ran.1, server.heard().len()), (0, 1), "{}", ran.0);
    more.store(true, Ordering::Relaxed);
    let (live, code) = place.json(&["replay", "m", "--live"]);
    assert_eq!((code, &live["equal"]), (0, &json!(false)), "{live}");
    assert_eq!(server.heard().len(), 2, "a live replay sent more requests than the run: {live}");

    let put = |text: &str| json!({"op": "knowledge-put", "key": "notes/one", "text": text});
    assert_eq!(run(&place, "k1", &put("first")).1, 0);
    assert_eq!(run(&place, "k2", &put("second")).1, 0);
    let (live, code) = place.json(&["replay", "k1", "--live"]);
    assert_eq!((code, &live["equal"]), (0, &json!(true)), "{live}");
    let get = json!({"op": "knowledge-get", "key": "notes/one"});
    assert_eq!(run(&place, "k3", &get).0["state"]["got"], "second", "a live replay wrote to knowledge");
    let (live, code) = place.json(&["replay", "k1", "--live", "--send"]);
    assert_eq!((code, &live["equal"]), (0, &json!(true)), "{live}");
    assert_eq!(run(&place, "k4", &get).0["state"]["got"], "first", "--send did not write");
    assert_eq!(place.run(&["replay", "k1", "--send"]).code, 2);
}

/// A case that sends a request to a server, and keeps the answer.
const ASKING: &str = "\
graph:
  start: a
  nodes:
    a: { action: { item_id: t/net, params: { op: fetch, url: \"http://127.0.0.1:PORT/one\" } }, assign: { got: \"${result}\" } }
caps: [execute.tool.t.net]
script:
- run: {}
  expect: { status: completed }
";

#[test]
fn a_case_answers_requests_and_can_record_what_servers_answer() {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello".to_vec();
    let server = Server::start(|_| Answer::Bytes(ok));
    let place = everything(server.port);
    place.write("asking.case.yaml", &ASKING.replace("PORT", &server.port.to_string()));
    let test = |more: &[&str]| {
        place.run(&[&["test", "asking.case.yaml", "--allow-unsigned", "--caps", "caps.yaml"], more].concat())
    };
    // No request is sent, and the process is not ended.
    let missing = test(&[]);
    assert_eq!((missing.code, server.heard().len()), (5, 0), "{}{}", missing.stdout, missing.stderr);
    assert!(missing.stdout.contains("no answer under `http` of the case is for GET"), "{}", missing.stdout);
    let recorded = test(&["--record"]);
    assert_eq!((recorded.code, server.heard().len()), (0, 1), "{}{}", recorded.stdout, recorded.stderr);
    let case = std::fs::read_to_string(place.path("asking.case.yaml")).unwrap();
    assert!(case.contains("http:\n  - answer:") && case.contains("body: hello"), "{case}");
    drop(server);
    let again = test(&[]);
    assert_eq!(again.code, 0, "{}{}", again.stdout, again.stderr);
    // A request that may not be sent is not answered either.
    place.write("caps.yaml", &EVERYTHING.replace("PORT", "1"));
    let denied = test(&[]);
    assert_eq!(denied.code, 5, "{}", denied.stdout);
}
