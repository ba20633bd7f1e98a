//! The SDK on the machine: the effects of a test's host on a node.

use std::time::Duration;

use graph_sdk::files::{self, Kind};
use graph_sdk::host::{Level, emit, log, now, random_bytes, random_u64, sleep};
use graph_sdk::http::{self, Response};
use graph_sdk::prelude::*;
use graph_sdk::testing::{Host, Request};
use graph_sdk::{knowledge, secrets, tools};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    op: String,
}

fn run(params: Params, ctx: &Context) -> Result<Outcome, Failure> {
    let Params { op } = params;
    Ok(match op.as_str() {
        "result" => Outcome::Result(json!([ctx.activation().attempt, ctx.argument::<Value>()?])),
        "ask" => {
            let first: String = ctx.ask("Which one?")?;
            Outcome::Result(json!([first, ctx.ask::<u32>(json!({ "of": first }))?]))
        }
        "interrupt" => Outcome::Interrupt(json!("Why?")),
        "command" => Command::new().write("to", 1).goto("a").send("b", json!({ "n": 2 })).into(),
        _ => return Err(Failure::limit("too much").with_details(json!([1]))),
    })
}

graph_sdk::node! { summary: "Does one thing.", wants: ["wasi:clocks/wall-clock": "reads the time"], run }

#[test]
fn a_node_runs_as_in_its_component() {
    let host = Host::new();
    let of = |host: &Host, op: &str| host.run(run, json!({ "op": op }));
    assert_eq!(of(&host, "result"), Ok(Outcome::Result(json!([1, null]))));
    assert_eq!(of(&host, "interrupt"), Ok(Outcome::Interrupt(json!("Why?"))));
    let command = Command::new().write("to", 1).goto("a").send("b", json!({ "n": 2 }));
    assert_eq!(of(&host, "command"), Ok(Outcome::Command(command)));
    assert_eq!(of(&host, "fail"), Err(Failure::limit("too much").with_details(json!([1]))));

    let wrong = host.run(run, json!({ "op": "result", "other": 1 })).unwrap_err();
    assert_eq!((wrong.category(), wrong.details()), (Some(Category::InvalidInput), None));
    assert!(wrong.to_string().starts_with("params: unknown field `other`"), "{wrong}");

    let host = host.argument([1, 2]).activation(|of| of.attempt = 3);
    assert_eq!(of(&host, "result"), Ok(Outcome::Result(json!([3, [1, 2]]))));
}

#[test]
fn questions_are_answered_in_turn() {
    let host = Host::new();
    let ask = |host: &Host| host.run(run, json!({ "op": "ask" }));
    assert_eq!(ask(&host), Ok(Outcome::Interrupt(json!("Which one?"))));
    let host = host.answer("blue");
    assert_eq!(ask(&host), Ok(Outcome::Interrupt(json!({ "of": "blue" }))));
    let host = host.answer(7);
    assert_eq!(ask(&host), Ok(Outcome::Result(json!(["blue", 7]))));
    // If the function is called directly, a question ends it with a failure without a category.
    let asked = run(Params { op: "ask".to_owned() }, &Host::new().context()).unwrap_err();
    assert_eq!(asked.category(), None);
}

#[test]
fn log_lines_records_time_and_random_numbers() {
    let host = Host::new().clock(Duration::new(1_700_000_000, 250)).seed(7);
    log(Level::Warn, "careful");
    emit("progress", json!({ "at": 1 })).unwrap();
    assert_eq!(host.lines(), [(Level::Warn, "careful".to_owned())]);
    assert_eq!(host.records(), [("progress".to_owned(), json!({ "at": 1 }))]);
    assert_eq!(now(), Duration::new(1_700_000_000, 250));
    sleep(Duration::from_millis(750));
    assert_eq!((now(), host.now().subsec_millis()), (host.now(), 750));
    let drawn = (random_bytes(20), random_u64());
    assert_eq!(drawn.0.len(), 20);
    drop(host);
    let _host = Host::new().seed(7);
    assert_eq!((random_bytes(20), random_u64()), drawn);
    assert_ne!(random_u64(), drawn.1);
}

#[test]
fn files_are_in_memory() {
    let host = Host::new().folder("/data").folder("/data/inner").file("/data/a/b.txt", "häuser");
    assert_eq!(files::read_to_string("/data/a/b.txt").unwrap(), "häuser");
    let large: Vec<u8> = (0..600_000_u32).map(|at| (at % 251) as u8).collect();
    files::write("/data/large", &large).unwrap();
    assert_eq!(
        (files::read("/data/large").unwrap(), host.content("/data/large")),
        (large.clone(), Some(large))
    );
    files::write("/data/large", b"small").unwrap();
    assert_eq!(files::stat("/data/large").unwrap(), (Kind::File, 5));
    files::write("/data/inner/c", b"\xff").unwrap();
    let listed: Vec<_> =
        files::list("/data").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
    let entry = |name: &str, kind| (name.to_owned(), kind);
    assert_eq!(listed, [entry("a", Kind::Folder), entry("inner", Kind::Folder), entry("large", Kind::File)]);
    for (path, category, message) in [
        ("/data/none", Category::InvalidInput, "/data/none: No such file or directory"),
        ("/data/a", Category::InvalidInput, "/data/a: Is a directory"),
        ("/data/../x", Category::Denied, "/data/../x: Operation not permitted"),
        ("/other/x", Category::Denied, "/other/x: lies in no granted folder (granted: /data, /data/inner)"),
        ("/data/inner/c", Category::Permanent, "/data/inner/c: is not UTF-8 text"),
    ] {
        let failure = Failure::from(files::read_to_string(path).unwrap_err());
        assert_eq!(failure.category(), Some(category), "{path}");
        assert!(failure.to_string().starts_with(message), "{failure}");
    }
    let missing = files::write("/data/new/d", b"d").unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    files::create_folder("/data/new").unwrap();
    files::create_folder("/data/new").unwrap_err();
    files::write("/data/new/d", b"d").unwrap();
    files::remove("/data/new/d").unwrap();
    files::remove("/data/new/d").unwrap_err();
    assert!(files::list("/data/new").unwrap().is_empty());
    files::list("/data/large").unwrap_err();
}

#[test]
fn knowledge_secrets_and_items() {
    let host = Host::new().knowledge("notes/one", "A green note").secret("TOKEN", "handle");
    knowledge::put("notes/two", "a blue note").unwrap();
    assert_eq!(host.text("notes/two").as_deref(), Some("a blue note"));
    assert_eq!(
        (knowledge::get("notes/one"), knowledge::get("three")),
        (Ok(Some("A green note".to_owned())), Ok(None))
    );
    assert_eq!(knowledge::list("notes/", Some("notes/one"), 10).unwrap(), ["notes/two"]);
    let hits = knowledge::search("notes/", "note green", 10).unwrap();
    assert_eq!(hits.into_iter().map(|hit| hit.key).collect::<Vec<_>>(), ["notes/one"]);

    assert_eq!(
        (secrets::handle("TOKEN"), secrets::names()),
        (Ok("handle".to_owned()), vec!["TOKEN".to_owned()])
    );
    assert_eq!(secrets::handle("OTHER"), Err(Failure::denied("no secret `OTHER` is granted")));

    let host = host
        .item("me/double", |params| {
            log(Level::Info, "doubles");
            Ok(json!(params.as_i64().unwrap_or(0) * 2))
        })
        .item("me/fails", |_| Err(Failure::rate_limited("later").with_details(json!([1]))));
    assert_eq!(tools::call::<i64>("me/double", 21), Ok(42));
    assert_eq!(host.lines().len(), 1);
    let failure = Failure::rate_limited("later").with_details(json!([1]));
    assert_eq!(tools::call::<Value>("me/fails", Value::Null), Err(failure));
    assert_eq!(tools::call::<Value>("me/other", 1), Err(Failure::denied("`me/other` may not be called")));
}

#[test]
fn requests_go_to_the_server_of_the_test() {
    let host = Host::new();
    for (url, failure) in [
        ("a.example", Failure::invalid_input("a.example: a URL begins with https://")),
        ("ftp://a.example", Failure::invalid_input("ftp://a.example: a URL begins with https:// or http://")),
        ("https://a.example", Failure::denied("https://a.example: the request is not granted")),
    ] {
        assert_eq!(http::get(url), Err(failure));
    }
    let _host = host.server(|request| {
        let expected = Request {
            method: "POST".to_owned(),
            url: "https://a.example/b?c=d".to_owned(),
            fields: vec![("X-One".to_owned(), b"1".to_vec())],
            body: b"body".to_vec(),
        };
        assert_eq!(*request, expected);
        let fields = vec![("Content-Type".to_owned(), b"text/plain".to_vec())];
        Ok(Response { status: 201, fields, body: "gut ü".into() })
    });
    let request = http::request("https://a.example/b?c=d#e").method("POST").field("X-One", "1").body("body");
    let response = request.streamed().send().unwrap();
    assert_eq!((response.status, response.field("content-type")), (201, Some(&b"text/plain"[..])));
    assert_eq!(response.text(), Ok("gut ü".to_owned()));
}

#[test]
fn the_newest_host_answers_until_it_is_dropped() {
    let outer = Host::new();
    let inner = Host::new();
    log(Level::Info, "inner");
    drop(inner);
    log(Level::Info, "outer");
    assert_eq!(outer.lines(), [(Level::Info, "outer".to_owned())]);
}

#[test]
#[should_panic(expected = "create a `graph_sdk::testing::Host` first")]
fn without_a_host_a_call_says_what_is_missing() {
    log(Level::Info, "lost");
}
