//! Transcripts of conversations with language models, from the records of runs whose provider is a server of the test.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::place::Place;
use crate::server::{Answer, Choice, Server};

const FIRST: &str = "What is 2 + 3?";
/// A text that must not reach a terminal unchanged.
const SECOND: &str = "And 4 more?\u{1b}[2J";

/// Makes a component that asks the model `fast` two times, the second time with the answer that it expects to the
/// first. It returns the second answer, which has to be JSON, or the first failure.
fn asking() -> Vec<u8> {
    const DATA: usize = 1024;
    let mut data = Vec::new();
    let mut place = |bytes: &[u8]| {
        let at = DATA + data.len();
        data.extend_from_slice(bytes);
        data.resize(data.len().next_multiple_of(8), 0);
        [at, bytes.len()].map(|number| u32::try_from(number).unwrap().to_le_bytes()).concat()
    };
    // A list of `length` elements, instead of this number of bytes.
    let list = |mut pair: Vec<u8>, length: usize| {
        pair[4..].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
        pair
    };
    let model = place(b"fast");
    let mut request = |said: &[(u8, &str)]| {
        let mut messages = Vec::new();
        for (role, text) in said {
            let text = place(text.as_bytes());
            let block = place(&[&[0; 4][..], &text, &[0; 16]].concat());
            messages.extend([&[*role, 0, 0, 0][..], &list(block, 1)].concat());
        }
        let messages = list(place(&messages), said.len());
        let mut request = vec![0_u8; 104];
        request[0..8].copy_from_slice(&model);
        request[20..28].copy_from_slice(&messages);
        let placed = place(&request);
        u32::from_le_bytes([placed[0], placed[1], placed[2], placed[3]])
    };
    let first = request(&[(0, FIRST)]);
    let second = request(&[(0, FIRST), (1, "5"), (0, SECOND)]);
    let data = data.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\{byte:02x}");
        text
    });
    let core = format!(
        r#"(module
          (import "graph-host:host/model@0.1.0" "complete" (func $complete (param i32 i32)))
          (memory (export "memory") 32)
          (data (i32.const {DATA}) "{data}")
          (data (i32.const 64) "{{}}")
          (global $next (mut i32) (i32.const 8192))
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
            (global.set $next (i32.add (local.get $at) (local.get 3)))
            (local.get $at))
          (func (export "graph-host:node/action@0.1.0#describe") (result i32)
            (i32.store (i32.const 128) (i32.const 64)) (i32.store (i32.const 132) (i32.const 2))
            (i32.store (i32.const 136) (i32.const 64)) (i32.store (i32.const 140) (i32.const 2))
            (i32.store (i32.const 144) (i32.const 64)) (i32.store (i32.const 148) (i32.const 2))
            (i32.const 128))
          (func (export "graph-host:node/action@0.1.0#run") (param i32) (result i32)
            (local $block i32)
            (call $complete (i32.const {first}) (i32.const 512))
            (if (i32.eqz (i32.load8_u (i32.const 512)))
              (then (call $complete (i32.const {second}) (i32.const 512))))
            (if (result i32) (i32.load8_u (i32.const 512))
              (then
                (i32.store8 (i32.const 256) (i32.const 1))
                (i32.store8 (i32.const 260) (i32.load8_u (i32.const 520)))
                (i32.store (i32.const 264) (i32.load (i32.const 524)))
                (i32.store (i32.const 268) (i32.load (i32.const 528)))
                (i32.store8 (i32.const 272) (i32.const 0))
                (i32.const 256))
              (else
                (local.set $block (i32.load (i32.const 524)))
                (i32.store8 (i32.const 256) (i32.const 0))
                (i32.store8 (i32.const 260) (i32.const 0))
                (i32.store (i32.const 264) (i32.load offset=4 (local.get $block)))
                (i32.store (i32.const 268) (i32.load offset=8 (local.get $block)))
                (i32.const 256)))))"#
    );
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let mut resolve = Resolve::default();
    resolve.push_dir(wit.join("node")).unwrap();
    resolve.push_dir(wit.join("host")).unwrap();
    let world = "package test:guest; world guest { import graph-host:host/model@0.1.0; export graph-host:node/action@0.1.0; }";
    let package = resolve.push_source("guest.wit", world).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(core).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

fn response(status: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    Answer::Bytes((head + &body).into_bytes())
}

/// Starts a provider that refuses `refused` requests, and then answers 5 and 9 in turn.
pub(crate) fn provider(refused: usize) -> Server {
    let count = AtomicUsize::new(0);
    let choose = move |_: &str| {
        let Some(number) = count.fetch_add(1, Ordering::Relaxed).checked_sub(refused) else {
            return response("400 Bad Request", &json!({ "error": { "message": "not today" } }));
        };
        let text = if number.is_multiple_of(2) { "5" } else { "9" };
        response(
            "200 OK",
            &json!({
                "id": "c", "object": "chat.completion", "model": "m",
                "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15 },
            }),
        )
    };
    Server::start(|_| Answer::Chosen(Choice(Arc::new(choose))))
}

/// Starts a provider that answers 5 with this usage.
pub(crate) fn counting(usage: &str) -> Server {
    let choice =
        json!({ "index": 0, "message": { "role": "assistant", "content": "5" }, "finish_reason": "stop" });
    let body = format!("{{\"object\": \"chat.completion\", \"choices\": [{choice}], \"usage\": {usage}}}");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes();
    Server::start(|_| Answer::Bytes(answer))
}

/// Makes a place whose graph `g.yaml` asks in a node, and in a child run.
pub(crate) fn place(server: &Server) -> Place {
    let place = Place::new();
    std::fs::write(place.path(".ai/tools/t/ask.wasm"), asking()).unwrap();
    place.graph(
        "g.yaml",
        "start: talk\nnodes:\n  talk: { action: { item_id: t/ask }, assign: { n: \"${result}\" }, next: below }\n  below: { action: { item_id: t/inner } }\n",
    );
    place.graph(".ai/tools/t/inner.yaml", "start: ask\nnodes: { ask: { action: { item_id: t/ask } } }\n");
    place.write(
        "caps.yaml",
        &format!(
            "dispatch: ['execute.tool.t.*']\nmodels:\n  fast:\n    api: openai-chat\n    url: http://127.0.0.1:{}/v1\n    model: m\n    \
             addresses: [127.0.0.1]\n    max_output: 100\n    timeout: 20s\n    price: {{ input: 1, output: 2 }}\nitems:\n  t/ask: {{ model: [fast] }}\n",
            server.port
        ),
    );
    place
}

pub(crate) const RUN: [&str; 7] =
    ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1"];

fn lines(place: &Place, args: &[&str]) -> Vec<Value> {
    let ran = place.run(&[&["runs", "transcript"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the conversation, the path, the role and the text of each message.
fn said(lines: &[Value]) -> Vec<(u64, &str, &str, &str)> {
    let messages = lines.iter().filter(|line| line["kind"] == "message");
    messages
        .map(|line| {
            let word = |key: &str| line[key].as_str().unwrap();
            let text = line["blocks"][0]["text"].as_str().unwrap_or_default();
            (line["conversation"].as_u64().unwrap(), word("path"), word("role"), text)
        })
        .collect()
}

#[test]
fn each_message_is_there_once_with_its_record() {
    let server = provider(0);
    let place = place(&server);
    let ran = place.run(&RUN);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);

    let found = lines(&place, &["r1", "--jsonl"]);
    let talk = |conversation, path| {
        [
            (conversation, path, "user", FIRST),
            (conversation, path, "assistant", "5"),
            (conversation, path, "user", SECOND),
            (conversation, path, "assistant", "9"),
        ]
    };
    assert_eq!(said(&found), [talk(1, "talk"), talk(2, "below/ask")].concat());
    let header = json!({
        "kind": "header", "format": "graph-host/transcript", "version": 1, "run_id": "r1", "namespace": "", "graph": "g",
        "key_id": found[0]["key_id"],
    });
    assert_eq!(found[0], header);
    let used = json!({ "calls": 4, "input_tokens": 48, "output_tokens": 12, "cost": 72 });
    let end = found.last().unwrap();
    assert_eq!((&end["kind"], &end["messages"], &end["calls"]), (&json!("end"), &json!(8), &json!(4)));
    assert_eq!((&end["conversations"], &end["failed"], &end["used"]), (&json!(2), &json!(0), &used));
    assert_eq!(end["models"], json!({ "fast": used }));

    let answer = &found[2];
    let expected = json!({
        "stop": "end", "usage": { "input": 12, "output": 3 }, "cost": 18, "requests": 1, "failure": null,
    });
    assert_eq!(answer["answer"], expected, "{answer}");
    assert_eq!(found[1]["answer"], Value::Null);
    assert_eq!(found[1]["request"], answer["request"], "both are of one request");
    assert_ne!(found[3]["request"], answer["request"]);
    let (history, _) = place.json(&["runs", "history", "r1"]);
    let checkpoint = &history["checkpoints"][1];
    assert_eq!((&answer["record"], &answer["superstep"]), (&json!("checkpoint"), &json!(1)));
    assert_eq!(
        (&answer["checkpoint"], &answer["digest"]),
        (&checkpoint["checkpoint"], &checkpoint["digest"])
    );

    let inside = format!("r1/{}", found[5]["namespace"].as_str().unwrap());
    let child = lines(&place, &[&inside, "--jsonl"]);
    assert_eq!(said(&child), talk(1, "below/ask"));
    assert_eq!(place.run(&["runs", "transcript", "r1/9.9"]).code, 9);
}

#[test]
fn people_and_programs_see_the_same() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&RUN).code, 0);
    let shown = place.run(&["runs", "transcript", "r1"]).stdout;
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let expected = "user\n    What is 2 + 3?\nassistant  12 tokens in, 3 out, cost 0.000018\n    5\nuser\n    And 4 more?\\u{1b}[2J\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("superstep 1  below/ask  fast  conversation 2  checkpoint 1"), "{shown}");
    assert!(
        shown
            .ends_with("8 messages in 2 conversations; 4 model calls, 48 tokens in, 12 out, cost 0.000072\n"),
        "{shown}"
    );

    let (document, code) = place.json(&["runs", "transcript", "r1", "--tail", "3"]);
    assert_eq!((code, &document["verified"], &document["totals"]["messages"]), (0, &json!(true), &json!(8)));
    let numbers: Vec<_> =
        document["messages"].as_array().unwrap().iter().map(|line| line["number"].clone()).collect();
    assert_eq!(numbers, [6, 7, 8]);
    let shown = place.run(&["runs", "transcript", "r1", "--tail", "1"]).stdout;
    assert!(shown.contains("… 7 messages before this") && !shown.contains("What is"), "{shown}");
    assert_eq!(place.run(&["runs", "transcript", "r1", "--jsonl", "--json"]).code, 2);
}

#[test]
fn a_search_covers_the_runs_that_a_run_continues() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&RUN).code, 0);
    assert_eq!(place.run(&["runs", "fork", "r1", "--at", "step:0", "--run-id", "r2"]).code, 0);
    let found = lines(&place, &["r2", "--jsonl", "--search", "4 mo.e", "--around", "1"]);
    let shown: Vec<_> = found[..found.len() - 1]
        .iter()
        .map(|line| {
            (line["run_id"].as_str().unwrap(), line["number"].as_u64().unwrap(), line["match"] == true)
        })
        .collect();
    let expected = [2, 3, 4, 6, 7, 8].map(|number| ("r1", number, number == 3 || number == 7));
    assert_eq!(shown, expected);
    let end = found.last().unwrap();
    assert_eq!((&end["matches"], &end["runs"]), (&json!(2), &json!(["r1", "r2"])));

    let text = place.run(&["runs", "transcript", "r2", "--search", "2 + 3", "--text"]);
    assert!(text.stdout.contains("What is 2 + 3?") && !text.stdout.contains("more"), "{}", text.stdout);
    assert!(text.stderr.contains("2 messages match, in 2 runs"), "{}", text.stderr);
    let none = place.run(&["runs", "transcript", "r2", "--search", "2 + 3"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "as a pattern, it does not match");
    let (document, _) = place.json(&["runs", "transcript", "r1", "--search", "^5$"]);
    assert_eq!((&document["runs"], document["messages"].as_array().unwrap().len()), (&json!(["r1"]), 2));
    for bad in [&["--search", "("][..], &["--search", ""], &["--around", "1"], &["--tail", "0"]] {
        assert_eq!(place.run(&[&["runs", "transcript", "r1"], bad].concat()).code, 2, "{bad:?}");
    }
}

#[test]
fn a_file_has_a_signature_that_others_can_check() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&RUN).code, 0);
    let (written, code) = place.json(&["runs", "transcript", "r1", "--out", "talk.jsonl"]);
    assert_eq!((code, &written["totals"]["messages"]), (0, &json!(8)), "{written}");
    let text = place.read("talk.jsonl");
    assert_eq!(text.len() as u64, written["bytes"].as_u64().unwrap());
    let printed = lines(&place, &["r1", "--jsonl"]);
    let stored: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(stored, printed);

    let (report, code) = place.json(&["verify", "talk.jsonl"]);
    let stated = [&report["item"], &report["kind"], &report["graph"], &report["messages"], &report["digest"]];
    assert_eq!(
        (code, stated.map(Clone::clone)),
        (0, [json!("r1"), json!("transcript"), json!("g"), json!(8), written["digest"].clone()])
    );

    // Another user's machine.
    let elsewhere = |args: &[&str]| {
        let mut command = place.command(args);
        place.ran(&command.env("GRAPH_HOST_HOME", place.path("other")).output().unwrap())
    };
    let unknown = elsewhere(&["verify", "talk.jsonl"]);
    assert!(unknown.code == 8 && unknown.stderr.contains("transcripts/*"), "{}", unknown.stderr);
    place.write("host.pub", report["signer"]["public"].as_str().unwrap());
    let trusted = elsewhere(&["trust", "add", "them", "--key", "host.pub", "--items", "transcripts/*"]);
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
    let verified = elsewhere(&["verify", "talk.jsonl"]);
    assert!(verified.code == 0 && verified.stdout.contains("them"), "{}{}", verified.stdout, verified.stderr);

    place.write("talk.jsonl", &text.replacen("\"5\"", "\"6\"", 1));
    let changed = place.run(&["verify", "talk.jsonl"]);
    assert!(changed.code == 8 && changed.stderr.contains("changed"), "{}", changed.stderr);
    std::fs::remove_file(place.path("talk.jsonl.dsse.json")).unwrap();
    let unsigned = place.run(&["verify", "talk.jsonl"]);
    assert!(unsigned.code == 8 && unsigned.stderr.contains("is not signed"), "{}", unsigned.stderr);
}

#[test]
fn the_knowledge_of_a_project_can_have_a_transcript() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&RUN).code, 0);
    let (written, code) = place.json(&["runs", "transcript", "r1", "--knowledge"]);
    assert_eq!(code, 0, "{written}");
    let text = place.read(".ai/knowledge/transcripts/r1.md");
    assert!(text.starts_with("<!-- graph-host:signed:"), "{text}");
    for part in [
        "entry_type: graph_transcript\n",
        "## Conversation 2: below/ask\n",
        "\n> What is 2 + 3?\n",
        "\n> And 4 more?\\u{1b}[2J\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let verified = place.run(&["verify", ".ai/knowledge/transcripts/r1.md"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let child = place.run(&["runs", "transcript", "r1/2.0", "--knowledge"]);
    assert!([2, 9].contains(&child.code), "{}", child.stderr);
}

#[test]
fn a_call_without_an_answer_is_there_once_before_and_after_a_resume() {
    let server = provider(1);
    let place = place(&server);
    let failed = place.run(&RUN);
    assert_eq!(failed.code, 5, "{}{}", failed.stdout, failed.stderr);
    let found = lines(&place, &["r1", "--jsonl"]);
    assert_eq!(said(&found), [(1, "talk", "user", FIRST), (1, "talk", "assistant", "")]);
    let answer = &found[2];
    assert!(answer["answer"]["failure"]["message"].as_str().unwrap().contains("not today"), "{answer}");
    assert_ne!(answer["record"], "checkpoint", "the superstep has not committed");
    assert!(place.run(&["runs", "transcript", "r1"]).stdout.contains("not committed yet"));

    let resumed = place.run(&["resume", "r1"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    let found = lines(&place, &["r1", "--jsonl"]);
    let expected = [
        (1, "talk", "user", FIRST),
        (1, "talk", "assistant", ""),
        // The task asks the same once more.
        (1, "talk", "assistant", "5"),
        (1, "talk", "user", SECOND),
        (1, "talk", "assistant", "9"),
    ];
    assert_eq!(said(&found)[..5], expected);
    let end = found.last().unwrap();
    assert_eq!((&end["calls"], &end["failed"], &end["used"]["calls"]), (&json!(5), &json!(1), &json!(5)));
}

#[test]
fn the_supersteps_of_an_agent_are_one_conversation() {
    let count = AtomicUsize::new(0);
    let choose = move |_: &str| {
        let (message, ends) = if count.fetch_add(1, Ordering::Relaxed) == 0 {
            let call =
                json!({ "id": "c1", "type": "function", "function": { "name": "t_add", "arguments": "{}" } });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        } else {
            (json!({ "role": "assistant", "content": "It is 5." }), "stop")
        };
        response(
            "200 OK",
            &json!({
                "id": "c", "object": "chat.completion", "model": "m",
                "choices": [{ "index": 0, "message": message, "finish_reason": ends }],
                "usage": { "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15 },
            }),
        )
    };
    let server = Server::start(|_| Answer::Chosen(Choice(Arc::new(choose))));
    let place = place(&server);
    place.graph(".ai/tools/t/add.yaml", "start: sum\nnodes: { sum: { type: return, output: { sum: 5 } } }\n");
    place.graph(
        "g.yaml",
        r"start: ask
nodes:
  ask:
    action:
      item_id: rye/agent/agent
      params: { message: Add two and three, model: fast, system: You add., tools: [{ item: t/add, description: adds, parameters: { type: object } }] }
",
    );
    let caps = place.read("caps.yaml").replace("t/ask: {", "rye/agent/turn: {");
    place.write(
        "caps.yaml",
        &caps.replace("['execute.tool.t.*']", "['execute.tool.t.*', 'execute.tool.rye.agent.*']"),
    );
    let ran = place.run(&RUN);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found = lines(&place, &["r1", "--jsonl"]);
    let one = |role, text| (1, "ask/turn", role, text);
    let expected = [
        one("system", "You add."),
        one("user", "Add two and three"),
        one("assistant", ""),
        one("user", ""),
        one("assistant", "It is 5."),
    ];
    assert_eq!(said(&found), expected);
    let call = json!([{ "tool_call": { "id": "c1", "name": "t_add", "arguments": {} } }]);
    let result = json!([{ "tool_result": { "id": "c1", "content": "{\"sum\":5}" } }]);
    assert_eq!((&found[3]["blocks"], &found[4]["blocks"]), (&call, &result));
    assert!(found[3]["superstep"].as_u64() < found[4]["superstep"].as_u64(), "each turn is a superstep");
    let shown = place.run(&["runs", "transcript", "r1"]).stdout;
    assert!(shown.contains("  calls t_add {}\n") && shown.contains("  returned: {\"sum\":5}\n"), "{shown}");
}

#[test]
fn what_was_changed_is_not_shown() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&[&RUN[..], &["--store", "file"]].concat()).code, 0);
    let folder = place.path(".ai/state/files");
    let mut changed = 0;
    let mut waiting = vec![folder];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            if text.contains("What is 2 + 3?") {
                std::fs::write(&path, text.replace("What is 2 + 3?", "What is 2 + 4?")).unwrap();
                changed += 1;
            }
        }
    }
    assert!(changed > 0, "no file has the prompt");
    let refused = place.run(&["runs", "transcript", "r1"]);
    assert_eq!(refused.code, 8, "{}{}", refused.stdout, refused.stderr);
    assert!(!refused.stdout.contains("2 + 4"), "{}", refused.stdout);
    assert_eq!(place.run(&["runs", "transcript", "r1", "--out", "x.jsonl"]).code, 8);
    assert!(!place.path("x.jsonl").exists());
}

#[test]
fn a_run_without_models_has_no_messages() {
    let place = Place::new();
    place.graph("plain.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }\n");
    assert_eq!(place.run(&["run", "plain.yaml", "--run-id", "p"]).code, 0);
    let shown = place.run(&["runs", "transcript", "p"]);
    assert!(
        shown.stdout.contains("no component of this run has asked a language model itself"),
        "{}",
        shown.stdout
    );
    assert_eq!(lines(&place, &["p", "--jsonl"]).len(), 2);
}
