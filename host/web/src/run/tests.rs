//! Runs behind JSON.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, VecDeque};

use graph_core::digest::Digest;
use graph_core::record::CacheEntry;
use graph_core::trust::SigningKey;
use serde_json::{Value, json};

use super::Run;
use crate::Problem;
use crate::trust::Component;

pub(super) const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

pub(super) const ENGINE: &str = "sha256:0808080808080808080808080808080808080808080808080808080808080808";
/// An empty component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The component that performs tasks whose results are cached.
pub(super) fn component() -> Component {
    Component::under_development(COMPONENT.to_vec(), "keys: []", "t/b", &[]).unwrap()
}

fn setup(config: &str) -> Value {
    json!({
        "version": 1,
        "run": "r",
        "graph": { "name": "g.yaml", "id": "t/g", "text": format!("tool_type: graph\nconfig: {config}\n") },
        "manifest": { "name": "caps.yaml", "folder": "/", "text": "dispatch: [\"*\"]" },
        "key": KEY,
    })
}

/// Drives a run up to its end; gives the names of the effects, and what was stored. A task answers with what it is given, and
/// its first attempt fails where it is given `fail`.
pub(super) fn drive(run: &mut Run, first: Value) -> (BTreeSet<String>, Value) {
    let (mut seen, mut records, mut texts) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut events = VecDeque::from([first]);
    while let Some(event) = events.pop_front() {
        let effects: Vec<Value> = serde_json::from_str(&run.handle(5, &event.to_string()).unwrap()).unwrap();
        for effect in effects {
            let name = effect["effect"].as_str().unwrap();
            seen.insert(name.to_owned());
            let activation = &effect["activation"];
            let (task, attempt) = (activation["task"].clone(), activation["attempt"].clone());
            match name {
                "run_task" => {
                    let report = if effect["params"]["fail"] == true && attempt == 1 {
                        json!({ "failure": { "category": "transient", "message": "later" }, "fuel": 3 })
                    } else {
                        json!({ "outcome": { "result": effect["params"] }, "fuel": 7 })
                    };
                    events.push_back(
                        json!({ "event": "task_done", "task": task, "attempt": attempt, "report": report }),
                    );
                }
                "look_up" => {
                    let task = task.as_str().unwrap();
                    let grant: Value = serde_json::from_str(&run.grant(task, &component()).unwrap()).unwrap();
                    let digest = |text: &Value| text.as_str().unwrap().parse().unwrap();
                    let performer = CacheEntry::performer(
                        &Digest::of_bytes(COMPONENT),
                        &digest(&grant["digest"]),
                        &digest(&json!(ENGINE)),
                    );
                    let key = run.cache_key(task, &performer.to_string()).unwrap();
                    let kept =
                        records.iter().flat_map(|record: &Value| record["results"].as_array().unwrap());
                    let results: Vec<_> = kept.filter(|result| result["key"] == key).cloned().collect();
                    events.push_back(json!({
                        "event": "looked_up", "task": task, "attempt": attempt, "key": key, "results": results,
                    }));
                }
                "run_hook" => {
                    let report = json!({ "outcome": { "result": null }, "fuel": 1 });
                    events.push_back(json!({ "event": "hook_done", "hook": task, "report": report }));
                }
                "persist" => {
                    events.push_back(json!({ "event": "persisted", "id": effect["id"] }));
                    records.push(effect["record"].clone());
                    texts.extend(effect.get("text").cloned());
                }
                "set_timer" if effect["timer"]["kind"] == "retry" => {
                    events.push_back(json!({ "event": "timer_fired", "timer": effect["timer"] }));
                }
                "continue" => events.push_back(json!({ "event": "continued" })),
                _ => {}
            }
        }
    }
    (seen, json!({ "records": records, "texts": texts }))
}

fn summary(run: &Run) -> Value {
    serde_json::from_str(&run.summary()).unwrap()
}

pub(super) fn refusal<T>(refused: Result<T, Problem>) -> String {
    refused.err().unwrap().code
}

const MANY: &str = "
  start: a
  hooks: [{ id: h, event: after_step, action: { item_id: t/hook } }]
  nodes:
    a: { action: { item_id: t/a, params: { fail: true } }, retry: { max_attempts: 2 }, next: b }
    b: { action: { item_id: t/b, params: { n: 1 } }, cache: { ttl: 1m }, assign: { one: '${result.n}' }, next: c }
    c: { action: { item_id: t/b, params: { n: 1 } }, cache: { ttl: 1m }, next: d }
    d: { action: { item_id: t/inner, params: { n: 2 } }, next: q }
    q: { interrupt: before }
";

pub(super) fn many() -> Value {
    let mut setup = setup(MANY);
    let inner = "tool_type: graph\nconfig: { start: x, nodes: { x: { type: return, output: { n: '${inputs.n}' } } } }\n";
    setup["graphs"] = json!([{ "name": "inner.yaml", "id": "t/inner", "text": inner }]);
    setup
}

#[test]
fn effects_are_performed_and_answered_in_documents() {
    let mut run = Run::start(&many().to_string()).unwrap();
    let (seen, stored) = drive(&mut run, json!({ "event": "started" }));
    let expected =
        ["emit", "look_up", "persist", "run_hook", "run_task", "set_timer", "suspend"].map(str::to_owned);
    assert_eq!(seen, BTreeSet::from(expected));
    let stopped = summary(&run);
    assert_eq!(stopped["status"], "interrupted");
    // The stored result of the first of them replaces a dispatch of the other.
    assert_eq!(stopped["cached"], json!({ "c": 1 }));
    assert_eq!(stored["texts"].as_array().unwrap().len(), 1, "the inputs of the child run");

    // It continues from what was stored as it does from where it is.
    let mut restored = Run::restore(&many().to_string(), &stored.to_string()).unwrap();
    for run in [&mut run, &mut restored] {
        drive(run, json!({ "event": "resumed" }));
        assert_eq!(summary(run)["status"], "completed");
    }
    let [one, other] = [&run, &restored].map(|run| summary(run)["checkpoint"]["result_digest"].clone());
    assert_eq!(one, other);
}

#[test]
fn what_was_stored_and_changed_is_refused() {
    let mut run = Run::start(&many().to_string()).unwrap();
    let (_, stored) = drive(&mut run, json!({ "event": "started" }));
    let restore = |stored: &Value| Run::restore(&many().to_string(), &stored.to_string());
    for (field, value) in
        [("body", json!("{}")), ("sequence", json!(7)), ("digest", json!(format!("sha256:{KEY}")))]
    {
        let mut changed = stored.clone();
        changed["records"][0][field] = value;
        assert_eq!(refusal(restore(&changed)), "integrity", "{field}");
    }
    let mut without = stored.clone();
    let records = without["records"].as_array_mut().unwrap();
    let second = |record: &Value| {
        record["kind"] == "checkpoint" && record["namespace"] == "" && record["sequence"] == 1
    };
    let second = records.iter().position(second).unwrap();
    records.remove(second);
    assert_eq!(refusal(restore(&without)), "integrity", "a checkpoint is missing");
    let mut other_key = many();
    other_key["key"] = json!(KEY.replace('7', "8"));
    assert_eq!(refusal(Run::restore(&other_key.to_string(), &stored.to_string())), "integrity");
}

#[test]
fn an_outcome_nests_as_deep_as_a_value_may() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (depth, taken) in [(100, true), (101, false)] {
        let mut run =
            Run::start(&setup("{ start: a, nodes: { a: { action: { item_id: t/a } } } }").to_string())
                .unwrap();
        let started: Vec<Value> =
            serde_json::from_str(&run.handle(1, r#"{"event": "started"}"#).unwrap()).unwrap();
        let persist = started.iter().find(|effect| effect["effect"] == "persist").unwrap();
        run.handle(2, &json!({ "event": "persisted", "id": persist["id"] }).to_string()).unwrap();
        let event = format!(
            r#"{{"event": "task_done", "task": "1.0", "attempt": 1, "report": {{"outcome": {{"result": {}}}, "fuel": 1}}}}"#,
            nested(depth)
        );
        assert_eq!(run.handle(3, &event).is_ok(), taken, "{depth}");
    }
}

#[test]
fn what_is_no_setup_and_no_event_is_refused() {
    let start = |setup: &Value| Run::start(&setup.to_string());
    let sound = setup("{ start: a, nodes: { a: {} } }");
    for (field, value, code) in [
        ("version", json!(2), "invalid_json"),
        ("key", json!("07"), "invalid_json"),
        ("graph", json!({ "name": "g", "id": "t/g", "text": "a: [" }), "invalid_document"),
        ("manifest", json!({ "name": "m", "folder": "/", "text": "dispatsh: []" }), "invalid_document"),
        ("other", json!(1), "invalid_json"),
    ] {
        let mut changed = sound.clone();
        changed[field] = value;
        assert_eq!(refusal(start(&changed)), code, "{field}");
    }
    let mut run = start(&sound).unwrap();
    for (event, code) in [
        (r#"{"event": "persisted", "id": 1}"#, "illegal_event"),
        (r#"{"event": "forked"}"#, "illegal_event"),
        (r#"{"event": "thunder"}"#, "invalid_json"),
        (r#"{"event": "task_done", "task": "1.0", "attempt": 1, "report": {"fuel": 1}}"#, "invalid_json"),
        (r#"{"event": "looked_up", "task": "1.0", "attempt": 1, "key": "x"}"#, "invalid_json"),
        (r#"{"event": "resumed", "answer": null, "answers": {"a": 1}}"#, "invalid_json"),
        ("{", "invalid_json"),
    ] {
        assert_eq!(refusal(run.handle(1, event)), code, "{event}");
    }
    drive(&mut run, json!({ "event": "started" }));
    assert_eq!(summary(&run)["status"], "completed");
}

/// Changes one record of a stored run.
fn changed(stored: &Value, change: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut stored = stored.clone();
    change(stored["records"].as_array_mut().unwrap());
    stored.to_string()
}

#[test]
fn everything_that_was_stored_is_verified_with_the_public_key() {
    let mut run = Run::start(&many().to_string()).unwrap();
    let (_, stored) = drive(&mut run, json!({ "event": "started" }));
    let key = SigningKey::from_seed(&[7; 32]).verifying_key().to_pem().unwrap();
    let other = SigningKey::from_seed(&[8; 32]).verifying_key().to_pem().unwrap();
    let verify = |key: &str, stored: &str| Run::verify("r", key, stored).map_err(|problem| problem.message);
    let found: Value = serde_json::from_str(&verify(&key, &stored.to_string()).unwrap()).unwrap();
    let count = |wanted: bool| {
        let records = stored["records"].as_array().unwrap().iter();
        records.filter(|record| (record["kind"] == "checkpoint") == wanted).count()
    };
    assert_eq!(found, json!({ "checkpoints": count(true), "records": count(false), "texts": 1 }));

    let is_refused = |told: Result<String, String>, words: &str| {
        let message = told.unwrap_err();
        assert!(message.contains(words), "{message}");
    };
    is_refused(verify(&other, &stored.to_string()), "is not signed by this host's key");
    is_refused(Run::verify("s", &key, &stored.to_string()).map_err(|problem| problem.message), "is of run r");
    // In a child run that has ended, and in a record under a checkpoint that is not the newest.
    let child = |records: &mut Vec<Value>| {
        let record = records.iter_mut().find(|record| record["namespace"] != "").unwrap();
        record["body"] = json!(record["body"].as_str().unwrap().replacen("\"step\":0", "\"step\":1", 1));
    };
    is_refused(verify(&key, &changed(&stored, child)), "its digest does not match its text");
    let task = |records: &mut Vec<Value>| {
        let record = records.iter_mut().find(|record| record["kind"] == "task").unwrap();
        record["signature"] = json!("A".repeat(86) + "==");
    };
    is_refused(verify(&key, &changed(&stored, task)), "is not signed by this host's key");
    let missing = |records: &mut Vec<Value>| {
        let place = records.iter().position(|record| record["kind"] == "checkpoint").unwrap();
        records.remove(place);
    };
    is_refused(verify(&key, &changed(&stored, missing)), "checkpoint");
    let mut texts = stored.clone();
    texts["texts"][0]["text"] = json!("{}");
    is_refused(verify(&key, &texts.to_string()), "a text of run r was changed");
}

#[test]
fn a_run_of_another_host_is_executed_again_from_its_records() {
    let mut run = Run::start(&many().to_string()).unwrap();
    let (_, stored) = drive(&mut run, json!({ "event": "started" }));
    let mut own = many();
    own["key"] = json!("08".repeat(32));
    assert_eq!(refusal(Run::restore(&own.to_string(), &stored.to_string())), "integrity");
    own["stored_by"] = json!(SigningKey::from_seed(&[7; 32]).verifying_key().to_pem().unwrap());
    let mut restored = Run::restore(&own.to_string(), &stored.to_string()).unwrap();
    drive(&mut restored, json!({ "event": "resumed" }));
    assert_eq!(summary(&restored)["status"], "completed");
}

#[test]
fn what_a_person_types_is_read_by_its_question() {
    let asks = "{ start: [a, b, c], nodes: { \
         a: { type: ask, ask: { question: '?' }, assign: { a: '${result}' } }, \
         b: { type: ask, ask: { question: '?', choices: [x, y, '10'] }, assign: { b: '${result}' } }, \
         c: { type: ask, ask: { question: '?', schema: { type: number } }, assign: { c: '${result}' } } } }";
    let mut run = Run::start(&setup(asks).to_string()).unwrap();
    drive(&mut run, json!({ "event": "started" }));
    for (id, text) in [("1.1/0", "02"), ("1.2/0", "many"), ("1.0/0", "{\"a\": 1, \"a\": 2}"), ("9.0/0", "x")]
    {
        let event = json!({ "event": "resumed", "typed": { id: text } });
        let code = refusal(run.handle(2, &event.to_string()));
        assert!(["answer_needed", "unknown_interrupt"].contains(&code.as_str()), "{text}: {code}");
    }
    let typed = json!({ "1.0/0": "1.10", "1.1/0": "2", "1.2/0": "1.10" });
    drive(&mut run, json!({ "event": "resumed", "typed": typed }));
    assert_eq!(summary(&run)["state"], json!({ "a": "1.10", "b": "y", "c": 1.1 }));
}
