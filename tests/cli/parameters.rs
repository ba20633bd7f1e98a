//! Inputs that are parameters of the run itself: `capabilities`, `depth`, `resume_run_id`, `async`.

use std::fmt::Write as _;

use serde_json::json;

use crate::place::Place;

const ASKING: &str = r#"start: ask
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "${inputs.question || 'ok?'}" } }, assign: { said: "${result}" }, next: write }
  write: { action: { item_id: t/kit, params: { op: echo, value: "${state.said}" } }, assign: { wrote: "${result}" } }
"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    place.graph("other.yaml", "start: a\nnodes: { a: {} }\n");
    place.graph(
        "outer.yaml",
        "start: n\nnodes: { n: { action: { item_id: t/inner, params: { n: 1 } }, assign: { n: \"${result.n}\" } } }\n",
    );
    place.graph(
        ".ai/tools/t/inner.yaml",
        "start: w\nnodes: { w: { action: { item_id: t/kit, params: { op: echo, value: \"${inputs.n}\" } }, assign: { n: \"${result}\" } } }\n",
    );
    place
}

const CAPS: [&str; 3] = ["--caps", "caps.yaml", "--allow-unsigned"];

#[test]
fn mistakes_are_explained() {
    let place = place();
    let run = |graph: &'static str, more: &[&'static str]| [&["run", graph], &CAPS[..], more].concat();
    assert_eq!(place.run(&run("asking.yaml", &["--run-id", "r1"])).code, 6);
    let cases: [(Vec<&str>, i32); 16] = [
        (run("asking.yaml", &["-i", "capabilities=execute.tool.t.kit"]), 3),
        (
            run(
                "asking.yaml",
                &["-i", r#"capabilities=["exec.tool.t.kit", 3]"#, "-i", "depth=-1", "-i", "async=yes"],
            ),
            3,
        ),
        (run("asking.yaml", &["-i", "depth=1.5", "-i", "resume_run_id=[]"]), 3),
        (run("asking.yaml", &["-i", "capabilities=[]"]), 4),
        (run("asking.yaml", &["-i", "resume_run_id=nobody"]), 9),
        (run("other.yaml", &["-i", "resume_run_id=r1"]), 2),
        (run("asking.yaml", &["-i", "resume_run_id=r1", "--seed", "x"]), 2),
        (run("asking.yaml", &["-i", "resume_run_id=r1", "--parent", "r1"]), 2),
        (run("asking.yaml", &["-i", "resume_run_id=r1", "--strict-inputs"]), 2),
        (run("asking.yaml", &["-i", "resume_run_id=r1", "--store", "file"]), 2),
        (run("asking.yaml", &["--watch", "--detach"]), 2),
        (run("asking.yaml", &["-i", "resume_run_id=r1", "-i", "depth=3"]), 4),
        (run("asking.yaml", &["-i", "async=true", "--stream", "events"]), 2),
        (run("asking.yaml", &["-i", "async=true", "--store", "memory"]), 2),
        (vec!["resume", "r1", "-i", "resume_run_id=r2"], 2),
        (vec!["resume", "r1", "-i", r#"capabilities=["*"]"#], 4),
    ];
    let mut shown = String::new();
    for (args, code) in cases {
        let ran = place.run(&args);
        writeln!(shown, "$ graph-host {}\n{}", args.join(" "), ran.shown()).unwrap();
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        let (document, code_of_json) = place.json(&args);
        assert_eq!(code_of_json, code, "{args:?}: {document}");
    }
    insta::assert_snapshot!(shown);
    // No run was started, and the waiting run is unchanged.
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["runs"][0]["status"], "interrupted");
}

#[test]
fn capabilities_and_depth_leave_less_and_are_kept() {
    let place = place();
    let run = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1"];
    let inputs = ["-i", r#"capabilities=["rye.execute.tool.t.kit", "load.*"]"#, "-i", "depth=0"];
    let (asked, code) = place.json(&[&run[..], &inputs].concat());
    assert_eq!((code, &asked["inputs"]["depth"]), (6, &json!(0)), "{asked}");
    // The run keeps the manifest as it was written: nothing has changed.
    let (ended, code) = place.json(&["resume", "r1", "--answer", "yes", "-i", "depth=0"]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    assert_eq!(place.json(&["replay", "r1"]).1, 0);
    assert_eq!(place.run(&["runs", "verify", "r1"]).code, 0);
    let outer = ["run", "outer.yaml", "--caps", "caps.yaml", "--allow-unsigned"];
    assert_eq!(place.json(&outer).1, 0);
    let less = ["-i", r#"capabilities=["execute.tool.t.inner"]"#];
    let (plan, code) = place.json(&[&outer[..], &less, &["--plan"]].concat());
    let missing = plan["missing"].to_string();
    assert!(code == 4 && missing.contains("`capabilities` among the inputs"), "{plan}");
    assert_eq!(place.json(&[&outer[..], &less].concat()).1, 4);
    let (deep, code) = place.json(&[&outer[..], &["-i", "depth=0"]].concat());
    assert_eq!((code, &deep["error"]["category"]), (5, &json!("limit")), "{deep}");
}

#[test]
fn a_run_goes_on_by_its_id_among_the_inputs() {
    let place = place();
    let run = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned"];
    let of = |more: &[&'static str]| [&run[..], more].concat();
    assert_eq!(place.json(&of(&["--run-id", "42", "-i", "question=Publish?"])).1, 6);
    // Inputs equal to the run's own are not new ones: the question is still open, and is answered.
    let (ended, code) =
        place.json(&of(&["-i", "resume_run_id=42", "-i", "question=Publish?", "--answer", "yes"]));
    assert_eq!((code, &ended["run_id"]), (0, &json!("42")), "{ended}");
    assert_eq!(ended["executions"]["ask"], 2);
    let (again, code) = place.json(&of(&["-i", "resume_run_id=42"]));
    assert_eq!((code, &again["error"]["code"]), (2, &json!("finished")), "{again}");
    // Other inputs are new ones, and start the superstep again.
    assert_eq!(place.json(&of(&["--run-id", "r2"])).1, 6);
    let (asked, code) = place.json(&of(&["-i", "resume_run_id=@last", "-i", "question=Really?"]));
    assert_eq!((code, &asked["interrupts"][0]["payload"]), (6, &json!("Really?")), "{asked}");
    assert_eq!(asked["run_id"], "r2");
    // The run continues with its former graph.
    place.graph("asking.yaml", &ASKING.replace("op: echo", "op: nan"));
    let (refused, code) = place.json(&of(&["-i", "resume_run_id=r2", "--answer", "yes"]));
    assert_eq!((code, &refused["error"]["code"]), (8, &json!("integrity")), "{refused}");
}

#[cfg(unix)]
#[test]
fn async_is_detach() {
    let place = place();
    let run = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned"];
    let (begun, code) = place.json(&[&run[..], &["-i", "async=true", "--run-id", "r1"]].concat());
    assert_eq!((code, &begun["status"], &begun["run_id"]), (0, &json!("running"), &json!("r1")), "{begun}");
    assert!(begun["pid"].as_u64().unwrap() > 0, "{begun}");
    let (waited, code) = place.json(&["runs", "wait", "r1"]);
    assert_eq!((code, &waited["status"]), (6, &json!("interrupted")), "{waited}");
    assert_eq!(waited["inputs"], json!({}));
    let (begun, code) =
        place.json(&[&run[..], &["-i", "resume_run_id=r1", "-i", "async=true", "--answer", "yes"]].concat());
    assert_eq!((code, &begun["status"]), (0, &json!("running")), "{begun}");
    assert_eq!(place.json(&["runs", "wait", "r1"]).1, 0);
}

/// A file of inputs may be another party's: only the user's own command selects a run to continue.
#[test]
fn a_file_of_inputs_resumes_no_run() {
    let place = Place::new();
    place.graph("g.yaml", "start: a\nnodes: { a: { interrupt: before } }\n");
    assert_eq!(place.run(&["run", "g.yaml", "--run-id", "mine"]).code, 6);
    for name in ["mine", "@last", "min"] {
        place.write("inputs.json", &json!({ "resume_run_id": name, "x": 1 }).to_string());
        for more in [&[][..], &["--answer", "{}"], &["--store", "memory"]] {
            let refused = place.run(&[&["run", "g.yaml", "--inputs", "inputs.json"], more].concat());
            assert_eq!(refused.code, 2, "{}", refused.stderr);
            assert!(refused.stderr.contains("only the command line can do that"), "{}", refused.stderr);
        }
    }
    assert_eq!(place.json(&["runs", "show", "mine"]).0["status"], "interrupted");
    // A typed name is accepted, with the other inputs of the file.
    place.write("inputs.json", "{}");
    let resumed = place.run(&[
        "run",
        "g.yaml",
        "--inputs",
        "inputs.json",
        "-i",
        "resume_run_id=mine",
        "--answer",
        "{}",
    ]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}
