//! Templates in shell scripts: warnings, and errors for templates that were meant for the shell.

use serde_json::json;

use crate::place::{Compiled, Place};

const CAPS: &str = "dispatch: ['execute.tool.rye.bash.bash']\nitems:\n  rye/bash/bash: { filesystem: [{ path: data, as: /data }], clocks: true, random: true }\n";

static COMPILED: Compiled = Compiled::new();

fn place(command: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    let graph = json!({
        "version": "1", "tool_type": "graph", "executor_id": "graph-host", "category": "tests", "description": "a test",
        "config_schema": { "properties": { "title": { "type": "string", "default": "t" } } },
        "config": { "start": "a", "nodes": { "a": {
            "action": { "item_id": "rye/bash/bash", "params": { "command": command, "args": ["alpha"] } },
            "assign": { "out": "${result.stdout}" },
        } } },
    });
    place.write("g.yaml", &graph.to_string());
    place.write("caps.yaml", CAPS);
    COMPILED.give(&place, |first| assert_eq!(first.run(&["inspect", "rye/bash/bash"]).code, 0));
    place
}

#[test]
fn a_template_that_was_meant_for_the_shell_is_an_error() {
    for command in [
        "echo ${1}",
        "echo ${0}",
        "run=7; echo ${run}",
        "echo \"${state}\" x",
        "${node}; x",
        "a ${inputs}",
        "x ${true}",
        "x ${null}",
        "x${ 1 }",
    ] {
        let place = place(command);
        let written = &command[command.find("${").unwrap()..=command.find('}').unwrap()];
        for words in [
            &["validate", "g.yaml"][..],
            &["validate", "g.yaml", "--caps", "caps.yaml"],
            &["run", "g.yaml", "--caps", "caps.yaml"],
        ] {
            let refused = place.run(words);
            assert_ne!(refused.code, 0, "{command}: {words:?}");
            let said = refused.stdout + &refused.stderr;
            assert!(said.contains(&format!("write `${written}`")), "{command}: {words:?}: {said}");
        }
        assert_eq!(place.run(&["runs", "list"]).stdout.matches("completed").count(), 0);
    }
}

#[test]
fn a_value_that_becomes_part_of_a_script_is_warned_of() {
    for (command, warned) in [
        ("echo \"Issue: ${inputs.title}\" >> log.txt", true),
        ("echo ${node.name | upper}; ${inputs.title || 'x'}", true),
        ("${inputs.title}", false),
        ("echo $1 $${1} $${run} \"$HOME\"", false),
    ] {
        let place = place(command);
        for words in [
            &["validate", "g.yaml"][..],
            &["validate", "g.yaml", "--caps", "caps.yaml"],
            &["validate", "g.yaml", "--allow-unsigned"],
        ] {
            let checked = place.run(words);
            assert_eq!(checked.code, 0, "{command}: {}", checked.stderr);
            let said = checked.stdout + &checked.stderr;
            assert_eq!(
                said.contains("becomes part of a shell script"),
                warned,
                "{command}: {words:?}: {said}"
            );
            assert_eq!(said.contains("`args`, `env` or `stdin`"), warned, "{command}: {said}");
        }
    }
}

#[test]
fn what_a_shell_writes_between_braces_is_refused_with_how_to_write_it() {
    for inside in
        ["HOME:-none", "x%.txt", "x/a/b", "!x", "x+y", "x?y", "-", "?", "*", "#x", "@", "x^^", "HOME"]
    {
        let place = place(&format!("echo \"${{{inside}}}\""));
        let refused = place.run(&["validate", "g.yaml"]);
        assert_eq!(refused.code, 3, "{inside}: {}", refused.stderr);
        assert!(refused.stderr.contains("$${"), "{inside}: {}", refused.stderr);
    }
}

#[test]
fn standard_error_is_in_the_log_of_the_run() {
    let place = place(
        "echo to-nobody >&2; printf 'a\\n\\nb\\n' >&2; for i in {1..2000}; do echo line $i of many >&2; done; echo $1",
    );
    let ran = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in ["warn a: to-nobody", "warn a: b", "more lines of standard error are in the result"] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("line 1999 of many"), "{}", ran.stderr);
    assert!(ran.stdout.contains("alpha"), "{}", ran.stdout);
}

#[test]
fn an_assignment_of_a_script_to_a_hook_is_checked_too() {
    let place = place("true");
    let graph = place.read("g.yaml").replace(
        "\"start\":\"a\"",
        "\"hooks\":[{\"event\":\"graph_completed\",\"action\":{\"item_id\":\"rye/bash/bash\",\"params\":{\"command\":\"echo ${1}\"}}}],\"start\":\"a\"",
    );
    place.write("g.yaml", &graph);
    let refused = place.run(&["validate", "g.yaml"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!((refused.stdout + &refused.stderr).contains("$${1}"));
}
