//! Replays of stored runs behind JSON.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::tests::{ENGINE, KEY, component, drive, many, refusal};
use super::{Replay, Run};

/// Returns everything that a run of `many` has stored, up to its end.
fn stored() -> Value {
    let mut run = Run::start(&many().to_string()).unwrap();
    let (_, mut stored) = drive(&mut run, json!({ "event": "started" }));
    let (_, rest) = drive(&mut run, json!({ "event": "resumed" }));
    for field in ["records", "texts"] {
        let more = rest[field].as_array().unwrap().clone();
        stored[field].as_array_mut().unwrap().extend(more);
    }
    stored
}

fn next_step(replay: &mut Replay) -> Value {
    serde_json::from_str(&replay.next_step().unwrap()).unwrap()
}

fn open(stored: &Value) -> Replay {
    Replay::open(&many().to_string(), &stored.to_string()).unwrap()
}

/// Drives a replay to its end with an engine; returns its result, and its steps. Tasks answer as in the run, except for `changed`.
fn drive_replay(replay: &mut Replay, changed: &str, engine: &str) -> (Value, Vec<Value>) {
    let mut steps = Vec::new();
    loop {
        let step = next_step(replay);
        steps.push(step.clone());
        let kind = step["step"].as_str().unwrap().to_owned();
        match &*kind {
            "execute" => {
                let report = if step["node"] == changed {
                    json!({ "outcome": { "result": { "n": 1000 } }, "fuel": 7 })
                } else if step["params"]["fail"] == true && step["activation"]["attempt"] == 1 {
                    json!({ "failure": { "category": "transient", "message": "later" }, "fuel": 3 })
                } else {
                    json!({ "outcome": { "result": step["params"] }, "fuel": 7 })
                };
                assert_eq!(step["entries"], json!([]));
                replay.executed(&report.to_string(), None).unwrap();
            }
            "look_up" => replay.looked_up(Some(&component()), engine).unwrap(),
            "finished" => return (serde_json::from_str(&replay.summary()).unwrap(), steps),
            _ => {}
        }
    }
}

fn supersteps(steps: &[Value]) -> Vec<&Value> {
    steps.iter().filter(|step| step["step"] == "superstep").map(|step| &step["superstep"]).collect()
}

#[test]
fn a_stored_run_replays_equal_with_its_retries_hooks_child_runs_and_cached_results() {
    let stored = stored();
    let (result, steps) = drive_replay(&mut open(&stored), "", ENGINE);
    assert_eq!((&result["differences"], &result["message"]), (&json!([]), &Value::Null));
    assert_eq!((&result["attempts"], &result["cached"]), (&json!(3), &json!(1)));
    let checkpoints = stored["records"].as_array().unwrap().iter();
    let checkpoints = checkpoints.filter(|record| record["kind"] == "checkpoint").count();
    let supersteps = supersteps(&steps);
    assert_eq!(supersteps.len(), checkpoints);
    for superstep in supersteps {
        assert_eq!(superstep["equal"], true, "{superstep}");
        assert!(superstep["recorded_result"].is_string(), "{superstep}");
        assert_eq!(superstep["recorded_result"], superstep["replayed_result"]);
    }
    assert_eq!((&steps[0]["step"], &steps.last().unwrap()["step"]), (&json!("prepare"), &json!("finished")));
}

#[test]
fn another_result_is_a_difference_of_its_superstep() {
    let (result, steps) = drive_replay(&mut open(&stored()), "b", ENGINE);
    let [difference] = &**result["differences"].as_array().unwrap() else { panic!("{result}") };
    assert_eq!((&difference["step"], &difference["key"]), (&json!(2), &json!("state.one")));
    assert_eq!((&difference["node"], &difference["replayed"]), (&json!("b"), &json!("1000")));
    let message = "the replay of run r differs at step 2, task 2.0 (node `b`), key `state.one`: recorded 1, replayed 1000";
    assert_eq!(result["message"], message);
    let supersteps = supersteps(&steps);
    let differs: Vec<_> = supersteps.iter().filter(|superstep| superstep["equal"] == false).collect();
    let [superstep] = &*differs else { panic!("{differs:?}") };
    assert_eq!(superstep["step"], 2);
    assert_ne!(superstep["recorded_result"], superstep["replayed_result"]);
}

#[test]
fn a_cached_result_of_another_engine_or_of_an_unknown_component_is_not_used() {
    let stored = stored();
    let other = format!("sha256:{KEY}");
    let (result, _) = drive_replay(&mut open(&stored), "", &other);
    let [difference] = &**result["differences"].as_array().unwrap() else { panic!("{result}") };
    assert_eq!((&difference["step"], &difference["node"]), (&json!(3), &json!("c")));
    let mut replay = open(&stored);
    let mut next = next_step(&mut replay);
    while next["step"] != "look_up" {
        if next["step"] == "execute" {
            let report = json!({ "outcome": { "result": next["params"] }, "fuel": 7 });
            replay.executed(&report.to_string(), None).unwrap();
        }
        next = next_step(&mut replay);
    }
    assert_eq!(next["node"], "c");
    replay.looked_up(None, ENGINE).unwrap();
    assert_eq!(next_step(&mut replay)["step"], "execute");
}

#[test]
fn what_was_not_asked_for_is_refused() {
    let mut replay = open(&stored());
    let report = json!({ "outcome": { "result": null }, "fuel": 1 }).to_string();
    assert_eq!(refusal(replay.executed(&report, None)), "illegal_event");
    assert_eq!(refusal(replay.looked_up(None, ENGINE)), "illegal_event");
    assert_eq!(refusal(replay.grant("1.0", &component())), "not_found");
    let asked = loop {
        let step = next_step(&mut replay);
        if step["step"] == "execute" {
            break step;
        }
    };
    assert!(replay.grant(asked["activation"]["task"].as_str().unwrap(), &component()).is_ok());
    // What is no answer to an attempt leaves it under way.
    assert_eq!(refusal(replay.next_step()), "illegal_event");
    assert_eq!(refusal(replay.looked_up(None, ENGINE)), "illegal_event");
    assert_eq!(refusal(replay.looked_up(None, "x")), "invalid_json");
    assert_eq!(refusal(replay.executed("{}", None)), "invalid_json");
    assert_eq!(replay.executed(&report, None), Ok(()));
    assert_eq!(refusal(replay.executed(&report, None)), "illegal_event");
}

#[test]
fn a_stored_run_that_was_changed_is_not_replayed() {
    let stored = stored();
    let open = |stored: &Value| Replay::open(&many().to_string(), &stored.to_string());
    for (field, value) in
        [("body", json!("{}")), ("sequence", json!(7)), ("digest", json!(format!("sha256:{KEY}")))]
    {
        let mut changed = stored.clone();
        changed["records"][0][field] = value;
        assert_eq!(refusal(open(&changed)), "integrity", "{field}");
    }
    let mut other_run = many();
    other_run["run"] = json!("s");
    assert_eq!(refusal(Replay::open(&other_run.to_string(), &stored.to_string())), "integrity");
}
