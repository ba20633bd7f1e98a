//! Completions, as the shells themselves offer them.

use std::path::Path;
use std::process::Command;

use crate::place::{Place, kit};

/// Makes a shell that finds the command, in the folder of a project.
fn shell(place: &Place, program: &str) -> Command {
    let binaries = Path::new(env!("CARGO_BIN_EXE_graph-host")).parent().unwrap();
    let mut shell = Command::new(program);
    shell
        .current_dir(place.path("."))
        .env("PATH", format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap()))
        .env("GRAPH_HOST_HOME", place.path("home"))
        .env("HOME", place.path("shell-home"))
        .env("TERM", "dumb");
    shell
}

/// Checks whether a shell is installed. `tests/run` installs missing ones.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("{program} is not installed: what it completes is not tested");
    }
    found
}

/// Returns bash's candidates for a line with the cursor at its end.
fn bash(place: &Place, line: &str) -> Vec<String> {
    let typed: Vec<&str> = line.split(' ').collect();
    let quoted = typed.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let last = typed.len() - 1;
    let script = format!(
        "source <(graph-host completions bash); COMP_WORDS=({quoted}); COMP_CWORD={last}; COMP_TYPE=9; \
         $(complete -p graph-host | sed 's/.*-F \\([^ ]*\\).*/\\1/') graph-host '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        typed[last],
        typed[last.saturating_sub(1)],
    );
    let ran = shell(place, "bash").args(["--norc", "-c", &script]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    // `compopt` complains that no completion is under way.
    let errors: Vec<_> = stderr.lines().filter(|line| !line.contains("compopt")).collect();
    assert!(errors.is_empty(), "{line}: {stderr}");
    // Options are offered wherever nothing is typed yet.
    let words = stdout.split(['\n', '\u{b}']).map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty() && !word.starts_with("--")).collect()
}

/// Returns zsh's candidates: in an interactive shell, in a terminal of its own, with the key pressed.
fn zsh(place: &Place, line: &str) -> Vec<String> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/completions");
    let ran = shell(place, "zsh")
        .arg("-f")
        .args([scripts.join("capture.zsh"), scripts.join("setup.zsh")])
        .arg(line)
        .output()
        .unwrap();
    offered(line, &ran)
}

/// Returns fish's candidates.
fn fish(place: &Place, line: &str) -> Vec<String> {
    let script = format!("graph-host completions fish | source; complete -C '{line}'");
    let ran = shell(place, "fish").args(["--no-config", "-c", &script]).output().unwrap();
    // A description follows.
    offered(line, &ran)
        .into_iter()
        .map(|word| word.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

fn offered(line: &str, ran: &std::process::Output) -> Vec<String> {
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && stderr.trim().is_empty(), "{line}: {stderr}{stdout}");
    let words = stdout.lines().map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty() && !word.starts_with('-')).collect()
}

type Completes = fn(&Place, &str) -> Vec<String>;

#[test]
fn shells_complete_runs_items_keys_and_codes() {
    let shells: [(&str, Completes); 3] = [("bash", bash), ("zsh", zsh), ("fish", fish)];
    for (name, completed) in shells.into_iter().filter(|(name, _)| has(name)) {
        let place = Place::new();
        let home = place.path("home");
        assert!(completed(&place, "graph-host runs show ").is_empty(), "{name}");
        assert!(!home.exists(), "{name}: completing makes nothing");
        assert!(!place.path(".ai/state").exists());
        std::fs::copy(kit("testkit"), place.path(".ai/tools/t/kit.wasm")).unwrap();
        place.graph("g.yaml", "start: a\nnodes: { a: {} }\n");
        for run in ["alpha", "beta"] {
            assert_eq!(place.run(&["run", "g.yaml", "--run-id", run]).code, 0);
        }
        assert_eq!(place.run(&["keys", "generate", "mine"]).code, 0);
        let mut runs = completed(&place, "graph-host runs show ");
        // The newest run is listed first; shells other than bash sort.
        if name == "bash" {
            assert_eq!(runs, ["@last", "beta", "alpha"]);
        }
        runs.sort();
        assert_eq!(runs, ["@last", "alpha", "beta"], "{name}");
        assert_eq!(completed(&place, "graph-host resume al"), ["alpha"], "{name}");
        assert_eq!(completed(&place, "graph-host graph show --run be"), ["beta"], "{name}");
        assert_eq!(completed(&place, "graph-host explain GH0201"), ["GH0201"], "{name}");
        assert_eq!(completed(&place, "graph-host run t/"), ["t/kit"], "{name}");
        assert!(completed(&place, "graph-host run g.").contains(&"g.yaml".to_owned()), "{name}");
        assert_eq!(completed(&place, "graph-host sign x.yaml --key mi"), ["mine"], "{name}");
        assert_eq!(completed(&place, "graph-host do"), ["doctor"], "{name}");
        // A damaged store gives no candidates, and no message.
        place.write(".ai/state/runs.db", "not a database at all, but a text of some length");
        assert!(completed(&place, "graph-host runs show ").len() <= 1, "{name}");
    }
}
