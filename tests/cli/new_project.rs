//! Makes new projects, draws graphs, and checks the state of a place.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use graph_toolchain::rust::Toolchain;
use serde_json::json;

use crate::place::{Place, install_program, kit};

#[test]
fn a_new_graph_is_valid_runs_and_passes_its_case() {
    let place = Place::new();
    let made = place.run(&["new", "graph", "first"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    let (valid, code) = place.json(&["validate", "first/graph.yaml"]);
    assert_eq!((code, &valid["files"][0]["problems"]), (0, &json!([])), "{valid}");
    let (ran, code) =
        place.json(&["run", "first/graph.yaml", "--caps", "first/caps.yaml", "--input", "name=Ada"]);
    assert_eq!(code, 0, "{ran}");
    assert_eq!(ran["output"], json!({ "greetings": ["Hello, Ada!", "Hello, Ada!"] }));
    assert!(place.run(&["test", "first"]).stdout.ends_with("1 passed, 0 failed\n"));
    // An existing folder is left alone, and an invalid name makes nothing.
    place.write("first/graph.yaml", "mine");
    let again = place.run(&["new", "graph", "first"]);
    assert_eq!(again.code, 2, "{}", again.shown());
    assert_eq!(std::fs::read_to_string(place.path("first/graph.yaml")).unwrap(), "mine");
    for name in ["../up", "Upper", "", "-x", "a b"] {
        assert_eq!(place.run(&["new", "graph", "--", name]).code, 2, "{name}");
    }
    let left: Vec<_> =
        std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".new-")), "{left:?}");
}

#[test]
fn a_new_node_has_all_that_it_is_built_with() {
    let place = Place::new();
    let made = place.run(&["new", "node", "greet"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    let manifest = std::fs::read_to_string(place.path("greet/Cargo.toml")).unwrap();
    assert!(
        manifest.contains("name = \"greet\"") && manifest.contains("path = \"graph-host/guest-sdk/rust\"")
    );
    let copied = ["guest-sdk/rust/src/lib.rs", "guest-sdk/rust/wit/node/world.wit"];
    for file in ["src/lib.rs".to_owned()].into_iter().chain(copied.map(|path| format!("graph-host/{path}"))) {
        assert!(place.path("greet").join(&file).is_file(), "{file}");
    }
    assert!(place.read("greet/src/lib.rs").contains("use graph_sdk::testing::Host;"));
    // With a given SDK there is no copy; with a folder that is none, nothing is made.
    let sdk = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/rust");
    let made = place.run(&["new", "node", "other", "--sdk", &sdk.to_string_lossy()]);
    assert_eq!(made.code, 0, "{}", made.shown());
    assert!(!place.path("other/graph-host").exists());
    assert_eq!(place.run(&["new", "node", "third", "--sdk", "greet/src"]).code, 2);
    assert!(!place.path("third").exists());
}

#[test]
fn a_new_node_in_javascript_has_all_that_it_is_built_with() {
    let place = Place::new();
    for (language, files) in [
        ("js", &["src/node.js", "tests/node.test.js"][..]),
        ("ts", &["src/node.ts", "tests/node.test.ts", "tsconfig.json"]),
    ] {
        let made = place.run(&["new", "node", language, "--lang", language, "--wants", "clocks"]);
        assert_eq!(made.code, 0, "{}", made.shown());
        assert!(made.stdout.contains(&format!("npm install --prefix ./{language}\n")), "{}", made.stdout);
        let text = place.read(&format!("{language}/package.json"));
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["name"], *language);
        assert_eq!(manifest["dependencies"]["@graph-host/sdk"], "file:graph-host/guest-sdk/js");
        assert_eq!(manifest["main"], files[0]);
        for file in files.iter().chain(&["graph-host/guest-sdk/js/src/index.ts", ".gitignore"]) {
            assert!(place.path(language).join(file).is_file(), "{file}");
        }
        let source = place.read(&format!("{language}/{}", files[0]));
        assert!(source.contains("'wasi:clocks/wall-clock': 'say what for',"), "{source}");
    }
    // With a given SDK there is no copy, and its own dependencies are installed, too.
    let sdk = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/js");
    let made = place.run(&["new", "node", "own", "--lang", "ts", "--sdk", &sdk.to_string_lossy()]);
    assert_eq!(made.code, 0, "{}", made.shown());
    assert!(!place.path("own/graph-host").exists() && made.stdout.matches("npm install").count() == 2);
    assert_eq!(place.run(&["new", "node", "other", "--lang", "js", "--sdk", "own/src"]).code, 2);
    assert_eq!(place.run(&["new", "node", "other", "--lang", "cobol"]).code, 2);
    let made = place.run(&["new", "node", "other", "--lang", "ts", "--wants", "clocks,http"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    assert!(place.read("other/src/node.ts").contains("'wasi:http/outgoing-handler': 'say what for',"));
    assert!(place.path("other/graph-host/guest-sdk/js/src/http.ts").is_file());
}

#[test]
fn a_new_node_in_python_has_all_that_it_is_built_with() {
    let place = Place::new();
    let made = place.run(&["new", "node", "greet", "--lang", "python", "--wants", "clocks,http"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    let install = "(cd ./greet && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt)\n";
    assert!(made.stdout.contains(install), "{}", made.stdout);
    for file in ["tests/test_node.py", "graph-host/guest-sdk/python/src/graph_host_sdk/node.py", ".gitignore"]
    {
        assert!(place.path("greet").join(file).is_file(), "{file}");
    }
    let needed = place.read("greet/requirements.txt");
    assert!(
        needed.contains("componentize-py==") && needed.contains("\n./graph-host/guest-sdk/python\n"),
        "{needed}"
    );
    let source = place.read("greet/src/node.py");
    assert!(source.contains("wants={\"wasi:clocks/wall-clock\": \"say what for\", \"wasi:"), "{source}");
    // Before an installation, the command for it is printed; and errors of a project are reported first.
    let refused = place.run(&["build", "greet"]);
    let told = "componentize-py is not installed in greet/.venv";
    assert!(refused.code == 9 && refused.stderr.contains(told), "{}", refused.shown());
    assert!(refused.stderr.contains("python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"));
    for (text, told) in [
        ("[project]\nname = 1\n", "it needs a text `tool.graph-host.module`"),
        ("[tool.graph-host]\nmodule = \"a; import os\"\n", "`a; import os` is no name of a module"),
        ("[tool.graph-host]\nmodule = \"node\"\n", "it needs a text `project.name`"),
        ("[project\n", "TOML parse error at line 1"),
    ] {
        place.write("greet/pyproject.toml", text);
        let refused = place.run(&["build", "greet"]);
        assert!(refused.code == 3 && refused.stderr.contains(told), "{text}: {}", refused.shown());
    }
    let sdk = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/python");
    let made = place.run(&["new", "node", "own", "--lang", "python", "--sdk", &sdk.to_string_lossy()]);
    assert_eq!(made.code, 0, "{}", made.shown());
    assert!(!place.path("own/graph-host").exists());
    assert!(place.read("own/requirements.txt").contains(&*sdk.canonicalize().unwrap().to_string_lossy()));
    assert_eq!(place.run(&["new", "node", "other", "--lang", "python", "--sdk", "own/src"]).code, 2);
}

#[test]
fn a_new_node_in_c_has_all_that_it_is_built_with() {
    let place = Place::new();
    let made = place.run(&["new", "node", "greet", "--lang", "c", "--wants", "clocks,http"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    for file in
        ["tests/test_node.c", "graph-host/guest-sdk/c/vendor/yyjson/LICENSE", "Makefile", ".gitignore"]
    {
        assert!(place.path("greet").join(file).is_file(), "{file}");
    }
    assert!(place.read("greet/node.toml").contains("sdk = \"graph-host/guest-sdk/c\"\n"));
    assert!(place.read("greet/Makefile").starts_with("SDK = graph-host/guest-sdk/c\n"));
    let source = place.read("greet/src/node.c");
    assert!(
        source.contains(".wants = GH_WANTS({\"wasi:clocks/wall-clock\", \"say what for\"}, {\"wasi:"),
        "{source}"
    );
    for (text, told) in [
        ("name = 1\n", "it needs a text `name`"),
        ("name = \"greet\"\nversion = \"1\"\nsdk = \"src\"\n", "which is not the SDK for C"),
        ("name\n", "TOML parse error at line 1"),
    ] {
        place.write("greet/node.toml", text);
        let refused = place.run(&["build", "greet"]);
        assert!(refused.code == 3 && refused.stderr.contains(told), "{text}: {}", refused.shown());
    }
    let sdk = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/c");
    let made = place.run(&["new", "node", "own", "--lang", "c", "--sdk", &sdk.to_string_lossy()]);
    assert_eq!(made.code, 0, "{}", made.shown());
    assert!(!place.path("own/graph-host").exists());
    assert!(place.read("own/node.toml").contains(&*sdk.canonicalize().unwrap().to_string_lossy()));
    assert_eq!(place.run(&["new", "node", "other", "--lang", "c", "--sdk", "own/src"]).code, 2);
}

/// Its case is valid: with a double instead of the component, which is not built here, it passes.
#[test]
fn a_new_node_in_each_language_has_a_case() {
    let place = Place::new();
    for language in ["rust", "js", "ts", "python", "c"] {
        let (made, code) = place.json(&["new", "node", language, "--lang", language]);
        assert_eq!(code, 0, "{made}");
        let commands: Vec<_> =
            made["next"].as_array().unwrap().iter().filter_map(|next| next.as_str()).collect();
        assert!(commands.contains(&format!("graph-host test ./{language}").as_str()), "{commands:?}");
        let case = format!("{language}/tests/{language}.case.yaml");
        let missing = place.run(&["test", language]);
        let told = format!("there is no item `me/{language}`");
        assert!(missing.code == 5 && missing.stdout.contains(&told), "{}", missing.shown());
        let double = format!(
            "{}items: {{ me/{language}: {{ result: \"Hello, ${{params.name}}!\" }} }}\n",
            place.read(&case)
        );
        place.write(&case, &double);
        let passed = place.run(&["test", language]);
        assert!(passed.code == 0 && passed.stdout.ends_with("1 passed, 0 failed\n"), "{}", passed.shown());
    }
    // The interfaces that the node uses have to be granted by a manifest, which does not exist.
    let made = place.run(&["new", "node", "other", "--wants", "clocks"]);
    assert!(made.code == 0 && !made.stdout.contains("graph-host test"), "{}", made.shown());
}

#[test]
fn what_a_new_node_wants_is_checked_before_anything_is_compiled() {
    let place = Place::new();
    let made = place.run(&["new", "node", "fetch", "--wants", "filesystem,wasi:http/outgoing-handler"]);
    assert_eq!(made.code, 0, "{}", made.shown());
    let source = place.read("fetch/src/lib.rs");
    assert!(source.contains("\"wasi:filesystem/types\": \"say what for\""), "{source}");
    let refused = place.run(&["new", "node", "other", "--wants", "filesytem"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("did you mean `filesystem`?"),
        "{}",
        refused.shown()
    );
    assert!(!place.path("other").exists());
    // A `cargo` that describes the crate and compiles nothing.
    std::fs::create_dir(place.path("bin")).unwrap();
    let metadata = json!({ "packages": [{ "name": "fetch", "version": "0.1.0" }] });
    let cargo =
        format!("#!/bin/sh\n[ \"$1\" = metadata ] && echo '{metadata}' && exit 0\ntouch compiled\nexit 1\n");
    install_program(&place.path("bin/cargo"), cargo.as_bytes());
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let build = |more: &[&str]| {
        let words = [&["build", "fetch", "--out", "out/fetch.wasm"], more].concat();
        place.ran(&place.command(&words).env("PATH", &path).output().unwrap())
    };
    for (more, code, message) in [
        (&["--id", "fetch it"][..], 2, "cannot be the id of an item"),
        (&["--id", "me/fetch", "--sign-with", "nobody"], 9, "nobody"),
        (&["--id", "me/fetch", "--out", "fetch"], 2, "is a folder"),
        (&["--id", "me/fetch", "--version", "no version"], 2, "cannot be a version"),
    ] {
        let more: Vec<_> = more.to_vec();
        let words =
            if more.contains(&"--out") { [&["build", "fetch"], &more[..]].concat() } else { Vec::new() };
        let ran = if words.is_empty() {
            build(&more)
        } else {
            place.ran(&place.command(&words).env("PATH", &path).output().unwrap())
        };
        assert!(ran.code == code && ran.stderr.contains(message), "{more:?}: {}", ran.shown());
    }
    place.write("fetch/src/lib.rs", &source.replace("wasi:filesystem/types", "wasi:filesystem/type"));
    let refused = build(&["--id", "me/fetch"]);
    assert!(refused.code == 3 && refused.stderr.contains("`wasi:filesystem/types`?"), "{}", refused.shown());
    assert!(!place.path("compiled").exists());
}

/// The commands that `new node` prints, in a folder of another workspace.
#[test]
#[cfg(unix)]
fn a_new_node_is_built_as_it_says() {
    let place = Place::new();
    place.write("Cargo.toml", "[workspace]\nmembers = ['nodes/*']\n");
    let (made, code) = place.json(&["new", "node", "greet", "--dir", "nodes"]);
    assert_eq!(code, 0, "{made}");
    let (spaced, code) = place.json(&["new", "graph", "spaced", "--dir", "a folder"]);
    assert_eq!((code, &spaced["next"][1]), (0, &json!("graph-host test 'a folder/spaced'")), "{spaced}");
    // The metadata of the crate needs no toolchain for guests.
    let metadata = std::process::Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path", "nodes/greet/Cargo.toml"])
        .current_dir(place.path("."))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    // A toolchain that has built the crate already: a build takes a minute, and a toolchain for guests. `tests/run` always sets FULL.
    let is_full = std::env::var_os("FULL").is_some_and(|full| !full.is_empty());
    let is_built = is_full && Toolchain::detect().is_ok();
    let mut path = std::env::var_os("PATH").unwrap();
    if !is_built {
        let toolchain = place.path("toolchain");
        for file in ["wasm32-unknown-unknown/lib/libcore-0.rlib", "here/bin/wasm-component-ld"] {
            let file = toolchain.join("sysroot/lib/rustlib").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        for program in ["cargo", "rustc"] {
            let from =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crash/toolchain").join(program);
            install_program(&toolchain.join(program), &std::fs::read(from).unwrap());
        }
        std::fs::copy(kit("testkit"), place.path(".ai/tools/t/greet.wasm")).unwrap();
        path = std::env::join_paths(std::iter::once(toolchain).chain(std::env::split_paths(&path))).unwrap();
    }
    for command in made["next"].as_array().unwrap() {
        let words: Vec<_> =
            command.as_str().unwrap().split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
        // The copied component greets no one.
        if words[0] == "test" && !is_built {
            continue;
        }
        let ran = place.ran(&place.command(&words).env("PATH", &path).output().unwrap());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.shown());
    }
    let commands: Vec<_> = made["next"].as_array().unwrap().iter().filter_map(|next| next.as_str()).collect();
    for name in ["keys generate", "build", "trust add", "test", "publish"] {
        assert!(commands.iter().any(|command| command.contains(name)), "{name}: {commands:?}");
    }
    assert!(place.path("published/oci-layout").exists());
    let (shown, code) = place.json(&["inspect", "me/greet"]);
    assert_eq!((code, &shown["signer"]["name"]), (0, &json!("me")), "{shown}");
}

const SHAPE: &str = r"start: [a, b]
nodes:
  a: { assign: { x: 1 }, next: [{ to: c, when: { path: state.x, op: gt, value: 0 }, label: positive }] }
  b: { assign: { x: 2 } }
  c: { type: return }
  lost: {}
";

#[test]
fn the_shape_of_a_graph_is_drawn_and_reported() {
    let place = Place::new();
    place.graph("shape.yaml", SHAPE);
    place.write("caps.yaml", "dispatch: [execute.tool.t.kit]\n");
    insta::assert_snapshot!(place.run(&["graph", "show", "shape.yaml", "--format", "dot"]).shown());
    insta::assert_snapshot!(place.run(&["graph", "report", "shape.yaml", "--caps", "caps.yaml"]).shown());
    let svg = place.run(&["graph", "show", "shape.yaml", "--format", "svg"]);
    assert!(svg.stdout.starts_with("<?xml") && svg.stdout.contains(">positive<"), "{}", svg.shown());
    // The JSON output can be drawn again.
    let printed = place.run(&["graph", "show", "shape.yaml", "--format", "json"]);
    place.write("shape.json", &printed.stdout);
    for format in ["mermaid", "dot", "json", "svg"] {
        let [one, two] =
            ["shape.yaml", "shape.json"].map(|file| place.run(&["graph", "show", file, "--format", format]));
        assert_eq!((one.code, two.code, &one.stdout), (0, 0, &two.stdout), "{format}");
    }
    place.write("broken.json", "{\"id\": 1}");
    assert_eq!(place.run(&["graph", "show", "broken.json"]).code, 3);
    // An item id can be used in place of a file, as with `run`.
    std::fs::create_dir_all(place.path(".ai/tools/t")).unwrap();
    std::fs::copy(place.path("shape.yaml"), place.path(".ai/tools/t/shape.yaml")).unwrap();
    for command in [["graph", "show"], ["graph", "report"]] {
        let of = |name: &'static str| place.run(&[&command[..], &[name]].concat());
        let (by_id, by_file) = (of("t/shape"), of("shape.yaml"));
        assert_eq!((by_id.code, by_id.stdout), (0, by_file.stdout), "{command:?}");
        assert_eq!((of("t/nothing").code, of(".").code), (9, 2), "{command:?}");
    }
    assert_eq!(place.run(&["graph", "show", "missing.json"]).code, 9);
    assert_eq!(place.run(&["graph", "show"]).code, 2);
}

#[test]
fn the_picture_of_a_run_says_how_often() {
    let place = Place::new();
    place.graph(
        "loop.yaml",
        "start: a\nchannels: { n: { reducer: sum, default: 0 } }\nnodes:\n  a: { assign: { n: 1 }, next: [{ to: a, when: { path: state.n, op: lt, value: 3 } }, { to: b }] }\n  b: { on_error: a }\n",
    );
    let (_, code) = place.json(&["run", "loop.yaml", "--run-id", "r"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(place.run(&["graph", "show", "--run", "r"]).shown());
    assert_eq!(place.run(&["graph", "show", "--run", "nobody"]).code, 9);
}

#[test]
fn the_doctor_tells_what_is_in_order_and_what_is_not() {
    let place = Place::new();
    let (sound, code) = place.json(&["doctor"]);
    assert_eq!((code, &sound["sound"]), (0, &json!(true)), "{sound}");
    let standing = |report: &serde_json::Value, what: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["what"] == what).unwrap()["standing"].clone()
    };
    assert_eq!(standing(&sound, "identity"), "good");
    assert_eq!(standing(&sound, "trust"), "note");
    // An invalid store, and keys that cannot be read.
    std::fs::create_dir_all(place.path(".ai/state")).unwrap();
    place.write(".ai/state/runs.db", "not a database at all, but a text of some length");
    place.write("home/trust.yaml", "keys: 1\n");
    let (broken, code) = place.json(&["doctor"]);
    assert_eq!((code, &broken["sound"]), (10, &json!(false)), "{broken}");
    assert_eq!(standing(&broken, "runs"), "bad");
    assert_eq!(standing(&broken, "trust"), "bad");
}

#[test]
fn a_shell_gets_its_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]);
        assert_eq!(script.code, 0, "{}", script.shown());
        assert!(script.stdout.contains("GRAPH_HOST_COMPLETE"), "{}", script.shown());
    }
    let script = place.path("complete.bash");
    std::fs::write(&script, place.run(&["completions", "bash"]).stdout).unwrap();
    let checked = std::process::Command::new("bash").arg("-n").arg(&script).status().unwrap();
    assert!(checked.success());
    assert_eq!(place.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let written = place.run(&["man", "--to", "pages"]);
    assert_eq!(written.code, 0, "{}", written.shown());
    let pages: Vec<_> =
        std::fs::read_dir(place.path("pages")).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(
        written.stdout.contains(&format!("wrote {} manual pages to pages", pages.len())),
        "{}",
        written.shown()
    );
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        assert!(text.contains(".TH ") && text.contains(".SH NAME"), "{}", page.display());
        assert!(!text.contains('\u{1b}'), "{}", page.display());
    }
    // Every command that help lists, also a subcommand, has a page, which equals the printed one.
    let file = |name: &str| std::fs::read_to_string(place.path(&format!("pages/{name}.1"))).unwrap();
    assert_eq!(place.run(&["man"]).stdout, file("graph-host"));
    assert_eq!(place.run(&["man", "runs", "show"]).stdout, file("graph-host-runs-show"));
    let help = place.run(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Run and resume:");
    let commands: Vec<_> = commands
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 20, "{commands:?}");
    for name in commands {
        assert!(file(&format!("graph-host-{name}")).contains("SYNOPSIS"), "{name}");
    }
    let unknown = place.run(&["man", "runs", "nothing"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("graph-host has no command `runs nothing`"), "{}", unknown.shown());
    place.write("file", "");
    assert_eq!(place.run(&["man", "--to", "file"]).code, 10);
}

/// A command that watches files, and its output so far.
struct Watched {
    child: std::process::Child,
    told: std::sync::mpsc::Receiver<String>,
    seen: String,
    deadline: Instant,
}

impl Watched {
    /// Starts a command and reads its stdout or its stderr.
    fn start(place: &Place, args: &[&str], from_stderr: bool) -> Self {
        let mut child = place.command(args).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (read, other): (Box<dyn Read + Send>, Box<dyn Read + Send>) = if from_stderr {
            (Box::new(stderr), Box::new(stdout))
        } else {
            (Box::new(stdout), Box::new(stderr))
        };
        let (tell, told) = std::sync::mpsc::channel();
        let pass_on = |mut stream: Box<dyn Read + Send>, tell: Option<std::sync::mpsc::Sender<String>>| {
            std::thread::spawn(move || {
                let mut buffer = [0; 256];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                    let _ = tell.as_ref().map(|tell| tell.send(text));
                }
            });
        };
        pass_on(read, Some(tell));
        pass_on(other, None);
        Self { child, told, seen: String::new(), deadline: Instant::now() + Duration::from_mins(1) }
    }

    /// Waits until a text was printed.
    fn until(&mut self, wanted: &str) {
        while !self.seen.contains(wanted) {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let seen = &self.seen;
            let more = self.told.recv_timeout(left).unwrap_or_else(|_| panic!("no {wanted} in {seen}"));
            self.seen.push_str(&more);
        }
    }

    /// Ends it by Ctrl-C while nothing runs.
    fn end(mut self) {
        assert!(self.child.try_wait().unwrap().is_none());
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > self.deadline {
                self.child.kill().unwrap();
                panic!("Ctrl-C does not end the watching");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_watched_graph_runs_again_when_it_changes() {
    let place = Place::new();
    place.graph("w.yaml", "start: a\nnodes: { a: { assign: { x: 1 } } }\n");
    let mut watched = Watched::start(&place, &["run", "w.yaml", "--watch", "--quiet"], false);
    watched.until("\"x\": 1");
    // A broken graph is reported and does not end the watch.
    place.graph("w.yaml", "start: nowhere\nnodes: { a: {} }\n");
    std::thread::sleep(Duration::from_millis(400));
    place.graph("w.yaml", "start: a\nnodes: { a: { assign: { x: 2 } } }\n");
    watched.until("\"x\": 2");
    watched.end();
}

#[test]
fn a_watched_node_is_built_again_when_its_sources_change() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("node/src")).unwrap();
    place.write("node/src/node.js", "");
    place.write("node/package.json", "{\"name\": 1}");
    let mut watched = Watched::start(&place, &["build", "node", "--watch"], true);
    watched.until("a node's package.json has a `name`");
    watched.until("waiting for a change");
    place.write(
        "node/package.json",
        "{\"name\": \"node\", \"version\": \"0.1.0\", \"main\": \"src/node.js\"}",
    );
    watched.until("package.json has changed");
    watched.until("type: npm install\nwaiting for a change");
    watched.seen.clear();
    place.write("node/src/node.js", "export const action = 1;");
    watched.until("node.js has changed");
    watched.until("type: npm install");
    watched.end();
    let [once, watched] =
        [&["build", "nowhere"][..], &["build", "nowhere", "--watch"]].map(|args| place.run(args));
    assert_eq!((once.code, once.stderr), (watched.code, watched.stderr));
}
