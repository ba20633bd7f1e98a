//! The manifest of a stored run is accepted only if this host has started the run. A stranger's run, and every run that
//! is derived from it, reaches nothing of this user's machine until the user gives a manifest in the command.

use graph_core::digest::DomainHasher;
use graph_core::trust::SigningKey;
use serde_json::{Value, json};

use crate::place::{Compiled, Place, Ran, kit};
use crate::server::{Answer, Server};

/// The variable that the stranger's manifest names.
const VARIABLE: &str = "GRAPH_HOST_TEST_TOKEN";
const OF_STRANGER: &str = "token-of-the-stranger";
const OF_VICTIM: &str = "token-of-the-victim-1";

/// A graph that sends a secret, and asks.
const SENDING: &str = "\
start: send
nodes:
  send: { action: { item_id: t/net, params: { op: secret, url: \"http://127.0.0.1:PORT/x\", name: TOKEN } }, next: ask }
  ask: { interrupt: before, next: again }
  again: { action: { item_id: t/net, params: { op: secret, url: \"http://127.0.0.1:PORT/y\", name: TOKEN } } }
";
const CAPS: &str = "\
dispatch: [execute.tool.t.net]
items:
  t/net:
    http: [{ host: 127.0.0.1, schemes: [http], ports: [PORT], addresses: [127.0.0.1] }]
    secrets: [{ name: TOKEN, from: { env: GRAPH_HOST_TEST_TOKEN }, header: authorization, host: 127.0.0.1, schemes: [http] }]
    knowledge: [{ scope: x/ }]
    tools: true
";

/// Makes a host with `t/net`, which is compiled already.
fn host() -> Place {
    static COMPILED: Compiled = Compiled::new();
    let place = Place::new();
    let install =
        |place: &Place| std::fs::copy(kit("testkit-net"), place.path(".ai/tools/t/net.wasm")).unwrap();
    install(&place);
    COMPILED.give(&place, |first| {
        install(first);
        assert_eq!(first.run(&["inspect", "t/net"]).code, 0);
    });
    // This makes its identity.
    assert_eq!(place.run(&["keys", "rotate-host"]).code, 0);
    place
}

fn ran(place: &Place, token: &str, args: &[&str]) -> Ran {
    place.ran(&place.command(args).env(VARIABLE, token).output().unwrap())
}

/// Runs the victim's command, with the token in the environment.
fn victim(place: &Place, args: &[&str]) -> (Value, i32) {
    let ran = ran(place, OF_VICTIM, &[args, &["--json"]].concat());
    let value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}\n{}", ran.stdout, ran.stderr));
    (value, ran.code)
}

/// A stranger's run that has sent a secret and waits, its file `r.jsonl` with the stranger's keys in the victim's
/// folder, and the server of the stranger.
struct Scene {
    server: Server,
    stranger: Place,
    victim: Place,
}

impl Scene {
    fn new() -> Self {
        let server = Server::start(|_| Answer::Echo);
        let (stranger, victim) = (host(), host());
        let port = server.port.to_string();
        stranger.graph("g.yaml", &SENDING.replace("PORT", &port));
        stranger.write("caps.yaml", &CAPS.replace("PORT", &port));
        let args = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];
        let began = ran(&stranger, OF_STRANGER, &args);
        assert_eq!(began.code, 6, "{}", began.shown());
        assert_eq!(stranger.run(&["runs", "export", "r", "-o", "r.jsonl"]).code, 0);
        let file = stranger.read("r.jsonl");
        let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
        victim.write("r.jsonl", &file);
        victim.write("public.pem", header["key"].as_str().unwrap());
        victim.write("identity.pem", &stranger.read("home/identity.pem"));
        // An equal manifest, which the victim may give.
        victim.write("same.yaml", &CAPS.replace("PORT", &port));
        Self { server, stranger, victim }
    }

    fn import(&self, options: &[&str]) {
        let imported = self.victim.run(&[&["runs", "import", "r.jsonl"], options].concat());
        assert_eq!(imported.code, 0, "{}", imported.shown());
    }

    /// Returns the requests of the victim to the stranger's server.
    fn heard(&self) -> Vec<String> {
        let own = format!("Bearer {OF_STRANGER}");
        self.server.heard().into_iter().filter(|request| !request.contains(&own)).collect()
    }

    /// Checks that a command is refused, names the owner and the reach of the manifest, and sends nothing.
    fn refuses(&self, args: &[&str]) {
        let (refused, code) = victim(&self.victim, args);
        let error = &refused["error"];
        assert_eq!((code, &error["code"]), (4, &json!("denied")), "{args:?}: {refused}");
        let (message, help) = (error["message"].as_str().unwrap(), error["help"].as_str().unwrap());
        let port = self.server.port;
        for part in ["run r", "another host", VARIABLE, &format!("http://127.0.0.1:{port}"), "knowledge: x/"]
        {
            assert!(message.contains(part), "{args:?}: {part} in {message}");
        }
        assert!(help.contains("--caps FILE"), "{args:?}: {help}");
        assert_eq!(error["reach"]["variables"], json!([VARIABLE]), "{args:?}: {refused}");
        let command = error["command"].as_str().unwrap();
        assert!(command.contains(" --caps FILE"), "{refused}");
        assert_eq!(self.heard(), Vec::<String>::new(), "{args:?}");
    }
}

#[test]
fn a_live_replay_of_an_imported_run_asks_nobody() {
    let scene = Scene::new();
    scene.import(&[]);
    for more in [&["--live"][..], &["--live", "--send"]] {
        scene.refuses(&[&["replay", "r", "--key", "public.pem", "--allow-unsigned"], more].concat());
    }
    // A remembered key verifies, and grants nothing.
    let id = scene.stranger.json(&["runs", "export", "r", "-o", "again.jsonl"]).0["key_id"].clone();
    let row: Value = serde_json::from_str(scene.victim.read("r.jsonl").lines().nth(1).unwrap()).unwrap();
    let id = id.as_str().map_or_else(|| row["row"]["key"].as_str().unwrap().to_owned(), str::to_owned);
    std::fs::create_dir_all(scene.victim.path("home/hosts")).unwrap();
    scene.victim.write(&format!("home/hosts/{id}.pub.pem"), &scene.victim.read("public.pem"));
    assert_eq!(scene.victim.run(&["runs", "verify", "r"]).code, 0);
    scene.refuses(&["replay", "r", "--live", "--allow-unsigned"]);
    // This user's manifest is accepted: the requests that it allows are sent, with this user's secret.
    let (live, code) =
        victim(&scene.victim, &["replay", "r", "--live", "--allow-unsigned", "--caps", "same.yaml"]);
    assert_eq!(code, 0, "{live}");
    assert_eq!(scene.heard().len(), 1, "{live}");
    scene.victim.write("none.yaml", "dispatch: [execute.tool.t.net]\n");
    let (live, _) =
        victim(&scene.victim, &["replay", "r", "--live", "--allow-unsigned", "--caps", "none.yaml"]);
    assert!(live.to_string().contains("none.yaml"), "what differs is told: {live}");
    assert_eq!(scene.heard().len(), 1, "a smaller manifest bounds what a stranger's run asks: {live}");
}

/// An imported run is replayed from its journal although neither the variable nor the file of a secret exists.
#[test]
fn a_replay_reads_no_variable_no_file_and_no_folder() {
    let scene = Scene::new();
    scene.import(&[]);
    let args = ["replay", "r", "--key", "public.pem", "--allow-unsigned"];
    let replayed = scene.victim.run(&args);
    assert_eq!(replayed.code, 0, "the variable is not set: {}", replayed.shown());
    assert!(scene.heard().is_empty());
    // This host's own runs are replayed without the values of secrets, too.
    let own = scene.stranger.run(&["replay", "r"]);
    assert_eq!(own.code, 0, "{}", own.shown());

    let (stranger, victim) = (Place::new(), Place::new());
    for place in [&stranger, &victim] {
        std::fs::copy(kit("testkit-io"), place.path(".ai/tools/t/io.wasm")).unwrap();
    }
    std::fs::create_dir(stranger.path("in")).unwrap();
    // More than a journal keeps of a file.
    stranger.write("in/large.txt", &"0123456789".repeat(20_000));
    let folder = stranger.path("in");
    let folder = folder.canonicalize().unwrap();
    let caps = format!(
        "dispatch: ['execute.tool.t.*']\nitems:\n  t/io: {{ filesystem: [{{ path: {}, as: /in, access: ro }}], clocks: true, random: true }}\n",
        folder.display()
    );
    for place in [&stranger, &victim] {
        place.write("caps.yaml", &caps);
    }
    stranger.graph(
        "g.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/io, params: { op: read, path: /in/large.txt } } }\n",
    );
    let began = stranger.run(&["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"]);
    assert_eq!(began.code, 0, "{}", began.shown());
    assert_eq!(stranger.run(&["replay", "r"]).code, 0);
    assert_eq!(stranger.run(&["runs", "export", "r", "-o", "r.jsonl"]).code, 0);
    let file = stranger.read("r.jsonl");
    victim.write("r.jsonl", &file);
    let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    victim.write("public.pem", header["key"].as_str().unwrap());
    assert_eq!(victim.run(&["runs", "import", "r.jsonl"]).code, 0);
    let unread = victim.run(&args);
    assert_eq!(unread.code, 8, "the file is there, and was read: {}", unread.shown());
    let said = unread.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("cannot be read again"), "{said}");
    let read = victim.run(&[&args[..], &["--caps", "caps.yaml"]].concat());
    assert_eq!(read.code, 0, "{}", read.shown());
}

/// With its key, records can be added to a stranger's run. That grants it nothing.
#[test]
fn a_run_whose_key_was_added_goes_on_with_the_users_manifest_alone() {
    let scene = Scene::new();
    scene.import(&["--identity", "identity.pem"]);
    scene.refuses(&["resume", "r"]);
    scene.refuses(&["resume", "r", "--accept-changes", "--allow-unsigned"]);
    scene.refuses(&["resume", "r", "--detach", "--allow-unsigned"]);
    scene.refuses(&["replay", "r", "--live", "--allow-unsigned"]);
    // Another manifest is a change, which has to be accepted.
    scene.victim.write("none.yaml", "dispatch: [execute.tool.t.net]\n");
    let other = ["resume", "r", "--allow-unsigned", "--caps", "none.yaml"];
    let (refused, code) = victim(&scene.victim, &other);
    assert_eq!(code, 8, "{refused}");
    assert!(refused["error"]["changes"][0].as_str().unwrap().contains("none.yaml"), "{refused}");
    let (refused, code) = victim(&scene.victim, &[&other[..], &["--accept-changes"]].concat());
    assert_eq!(code, 4, "{refused}");
    assert!(scene.heard().is_empty());
    // An equal manifest is no change.
    let same = ["resume", "r", "--allow-unsigned", "--caps", "same.yaml"];
    let (resumed, code) = victim(&scene.victim, &same);
    assert_eq!(code, 0, "{resumed}");
    assert_eq!(scene.heard().len(), 1, "{:?}", scene.heard());
    assert!(scene.heard()[0].contains(OF_VICTIM));
}

#[test]
fn forks_edits_and_further_turns_of_it_are_as_strange() {
    let scene = Scene::new();
    scene.import(&["--identity", "identity.pem"]);
    let forked = scene.victim.run(&["runs", "fork", "r", "--at", "step:0", "--run-id", "r2"]);
    assert_eq!(forked.code, 0, "{}", forked.shown());
    let go = ["runs", "fork", "r", "--at", "step:0", "--run-id", "r3", "--go"];
    for args in [&["resume", "r2", "--allow-unsigned"][..], &go] {
        let (refused, code) = victim(&scene.victim, args);
        assert_eq!(code, 4, "{args:?}: {refused}");
    }
    let updated = scene.victim.run(&["runs", "update", "r", "--values", "{\"x\": 1}"]);
    assert!([0, 3, 5].contains(&updated.code), "{}", updated.shown());
    scene.refuses(&["resume", "r", "--allow-unsigned"]);
    scene.refuses(&["resume", "r", "--allow-unsigned", "--input", "z=1"]);
    // After a cancel, which this host signs with the stranger's key, the run is still a stranger's.
    assert_eq!(scene.victim.run(&["runs", "cancel", "r"]).code, 0);
    scene.refuses(&["resume", "r", "--allow-unsigned"]);
    // Resumed by the inputs of `run`.
    let port = scene.server.port.to_string();
    scene.victim.graph("g.yaml", &SENDING.replace("PORT", &port));
    let by_input = ["run", "g.yaml", "--allow-unsigned", "--input", "resume_run_id=r"];
    let (refused, code) = victim(&scene.victim, &by_input);
    assert_eq!(code, 4, "{refused}");
    assert_eq!(scene.heard(), Vec::<String>::new());
}

/// A row without signed records names the key of the victim's host, as anyone may write it.
#[test]
fn a_row_that_nobody_has_signed_begins_nothing() {
    let scene = Scene::new();
    let key = SigningKey::from_pem(&scene.victim.read("home/identity.pem")).unwrap();
    let mut lines: Vec<Value> =
        scene.stranger.read("r.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.retain(|line| line.get("record").is_none() && line.get("end").is_none());
    lines[0]["key"] = key.verifying_key().to_pem().unwrap().into();
    lines[1]["row"]["key"] = key.id().to_string().into();
    for (name, value) in [("status", json!("running")), ("step", json!(0)), ("fuel", json!(0))] {
        lines[1]["row"][name] = value;
    }
    let mut text = String::new();
    let mut digest = DomainHasher::new("graph-host/export/v1");
    for line in &lines {
        let line = format!("{line}\n");
        digest = digest.field(line.as_bytes());
        text.push_str(&line);
    }
    let end = json!({ "end": { "lines": lines.len(), "digest": digest.finish(), "key_id": null, "signature": null } });
    scene.victim.write("r.jsonl", &format!("{text}{end}\n"));
    scene.import(&[]);
    for args in [
        &["resume", "r"][..],
        &["resume", "r", "--accept-changes"],
        &["resume", "r", "--caps", "same.yaml", "--accept-changes"],
        // A stop is signed: it would make the row's manifest one that this host has accepted.
        &["runs", "cancel", "r"],
        &["runs", "kill", "r"],
    ] {
        let (refused, code) = victim(&scene.victim, args);
        assert_eq!((code, &refused["error"]["code"]), (4, &json!("denied")), "{args:?}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("nothing signed says that this host has begun it"), "{args:?}: {message}");
    }
    let (replayed, _) = victim(&scene.victim, &["replay", "r", "--live"]);
    assert_eq!(scene.heard(), Vec::<String>::new(), "{replayed}");
}

/// This command, not the run, determines the sources of items and trust.
#[test]
fn trust_and_exceptions_of_a_strangers_run_do_not_count() {
    let scene = Scene::new();
    scene.import(&[]);
    let args = ["replay", "r", "--key", "public.pem"];
    // The stranger's run was started with --allow-unsigned.
    let (refused, code) = victim(&scene.victim, &args);
    assert_ne!(code, 0, "an unsigned component was executed: {refused}");
    assert_eq!(victim(&scene.victim, &[&args[..], &["--allow-unsigned"]].concat()).1, 0);
    // A run that names a trust file and a folder of items, both of which exist on this machine.
    let stranger = host();
    assert_eq!(stranger.run(&["keys", "generate", "them"]).code, 0);
    let wasm = ".ai/tools/t/net.wasm";
    let may = ["http", "secrets", "knowledge", "tools"].join(",");
    let signed = stranger.run(&["sign", wasm, "--key", "them", "--id", "t/net", "--version", "1.0.0"]);
    assert_eq!(signed.code, 0, "{}", signed.shown());
    let added = stranger.run(&["trust", "add", "them", "--key", "them", "--items", "t/*", "--may", &may]);
    assert_eq!(added.code, 0, "{}", added.shown());
    std::fs::rename(stranger.path("home/trust.yaml"), stranger.path("theirs.yaml")).unwrap();
    let port = scene.server.port.to_string();
    stranger.graph("g.yaml", &SENDING.replace("PORT", &port));
    stranger.write("caps.yaml", &CAPS.replace("PORT", &port));
    let begin = ["run", "g.yaml", "--caps", "caps.yaml", "--trust", "theirs.yaml", "--run-id", "s"];
    let stopped = ran(&stranger, OF_STRANGER, &begin);
    assert_eq!(stopped.code, 6, "{}", stopped.shown());
    assert_eq!(stranger.run(&["runs", "export", "s", "-o", "s.jsonl"]).code, 0);
    let file = stranger.read("s.jsonl");
    let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    let target = host();
    target.write("s.jsonl", &file);
    target.write("public.pem", header["key"].as_str().unwrap());
    for name in ["net.wasm", "net.wasm.dsse.json"] {
        let name = format!(".ai/tools/t/{name}");
        std::fs::copy(stranger.path(&name), target.path(&name)).unwrap();
    }
    assert_eq!(target.run(&["runs", "import", "s.jsonl"]).code, 0);
    let args = ["replay", "s", "--key", "public.pem"];
    let (refused, code) = victim(&target, &args);
    assert_eq!(code, 8, "the stranger's trust file counted: {refused}");
    let theirs = stranger.path("theirs.yaml");
    let (replayed, code) = victim(&target, &[&args[..], &["--trust", theirs.to_str().unwrap()]].concat());
    assert_eq!(code, 0, "{replayed}");
}

/// A stranger's project with its state, read in place or adopted.
#[test]
fn state_that_was_adopted_brings_no_manifest() {
    let scene = Scene::new();
    let project = scene.stranger.path("");
    let project = project.to_str().unwrap();
    let key = scene.victim.path("public.pem");
    let live =
        ["replay", "r", "--live", "--key", key.to_str().unwrap(), "--allow-unsigned", "--project", project];
    scene.refuses(&live);
    let adopted = scene.victim.run(&["runs", "adopt", "--project", project]);
    assert_eq!(adopted.code, 0, "{}", adopted.shown());
    scene.refuses(&live);
    let resume = ["resume", "r", "--project", project];
    let (refused, code) = victim(&scene.victim, &resume);
    assert_eq!(code, 8, "{refused}");
    // Also if the stranger's key is among this host's keys.
    let copied = scene.victim.read("identity.pem");
    let id = SigningKey::from_pem(&copied).unwrap().id();
    std::fs::create_dir_all(scene.victim.path("home/identities")).unwrap();
    scene.victim.write(&format!("home/identities/{id}.pem"), &copied);
    scene.refuses(&resume);
    for args in
        [&["runs", "wait", "r", "--timeout", "1s"][..], &["runs", "events", "r"], &["runs", "show", "r"]]
    {
        ran(&scene.victim, OF_VICTIM, &[args, &["--project", project]].concat());
    }
    assert_eq!(scene.heard(), Vec::<String>::new());
}

/// A key that was added for the runs of a page does not make a state folder this host's.
#[test]
fn an_added_key_marks_no_state() {
    let scene = Scene::new();
    scene.import(&["--identity", "identity.pem"]);
    let project = scene.stranger.path("");
    let resume = ["resume", "r", "--project", project.to_str().unwrap()];
    let (refused, code) = victim(&scene.victim, &resume);
    assert_eq!(code, 8, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not this host's"), "{refused}");
    assert_eq!(scene.heard(), Vec::<String>::new());
}

/// Runs that this host has started continue as before: after an export and an import, after a rotation of its key, and
/// in another process.
#[test]
fn runs_of_this_host_keep_their_manifest() {
    let scene = Scene::new();
    let host = &scene.stranger;
    std::fs::create_dir(host.path("elsewhere")).unwrap();
    assert_eq!(host.run(&["runs", "import", "r.jsonl", "--project", "elsewhere"]).code, 0);
    let live = ["replay", "r", "--live", "--project", "elsewhere"];
    let asked = ran(host, OF_STRANGER, &live);
    assert_eq!(asked.code, 0, "{}", asked.shown());
    assert_eq!(scene.server.heard().len(), 2);
    let rotated = host.run(&["keys", "rotate-host"]);
    assert_eq!(rotated.code, 0, "{}", rotated.shown());
    assert_eq!(ran(host, OF_STRANGER, &live).code, 0);
    let (refused, code) = host.json(&["replay", "r", "--allow-unsigned"]);
    assert_eq!(code, 2, "a run of this host is bound to what it was started with: {refused}");
    let resumed = ran(host, OF_STRANGER, &["resume", "r"]);
    assert_eq!(resumed.code, 0, "{}", resumed.shown());
    let begin = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "d", "--detach"];
    let detached = ran(host, OF_STRANGER, &begin);
    assert_eq!(detached.code, 0, "{}", detached.shown());
    assert_eq!(ran(host, OF_STRANGER, &["runs", "wait", "d"]).code, 6);
}

/// Cases, hooks and manifests of a stranger's project reach nothing that the command does not grant.
#[test]
fn what_a_strangers_project_brings_along_grants_nothing() {
    let scene = Scene::new();
    let place = host();
    let port = scene.server.port.to_string();
    let caps = CAPS.replace("PORT", &port);
    for name in ["caps.yaml", "g.caps.yaml", ".ai/caps.yaml"] {
        place.write(name, &caps);
    }
    let config = SENDING.replace("PORT", &port);
    place.graph("g.yaml", &config);
    let (refused, code) = victim(&place, &["run", "g.yaml", "--allow-unsigned"]);
    assert_eq!(code, 4, "{refused}");
    let graph = config.trim_end().replace('\n', "\n  ");
    place.write(
        "send.case.yaml",
        &format!("graph:\n  {graph}\ncaps: [execute.tool.t.net]\nscript:\n- run: {{}}\n  expect: {{ status: interrupted }}\n"),
    );
    let tested = ran(&place, OF_VICTIM, &["test", ".", "--allow-unsigned"]);
    assert_eq!(tested.code, 5, "{}", tested.shown());
    let said = tested.shown().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("no entry of the manifest is about that item"), "{said}");
    place.graph("calm.yaml", "start: a\nnodes:\n  a: { assign: { x: 1 } }\n");
    place.write(
        ".ai/hooks.yaml",
        &format!(
            "hooks:\n  - {{ id: leak, event: after_step, action: {{ item_id: t/net, params: {{ op: secret, url: \"http://127.0.0.1:{port}/h\", \
             name: TOKEN }} }} }}\n"
        ),
    );
    place.write("own.yaml", "dispatch: [execute.tool.t.net]\n");
    for more in [&[][..], &["--caps", "own.yaml"]] {
        ran(&place, OF_VICTIM, &[&["run", "calm.yaml", "--allow-unsigned"], more].concat());
    }
    assert_eq!(scene.heard(), Vec::<String>::new());
}
