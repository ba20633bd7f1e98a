//! Offers a fixture to a host, and checks the outcome.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use graph_core::digest::Digest;
use graph_walker::compat::Dialect;
use serde_json::{Map, Value};

use super::fixture::{Fixture, generated};
use super::signing;
use super::watch::{self, Bounds, Ended};
use super::{beside, registry, rows, shown};
use crate::place::{Compiled, Place};
use crate::server::{Answer, Server};

/// Default limit of the host's time for an input, in seconds: far more than any takes, on a machine that is busy with other tests.
const SECONDS: u64 = 20;
/// Default limit of the memory of the process and its children, in MiB.
const MIB: u64 = 200;
/// Default limit of the disk space that is written, in MiB: for a run, compiled code, and the like.
const DISK: u64 = 16;
/// Factor of the memory or disk limit at which a process is ended from outside: so the figures still show by how much a
/// bound is exceeded.
const BEYOND: u64 = 3;

/// A home in which the healthy component is already compiled.
pub(crate) struct Prepared(Place);

impl Prepared {
    pub(crate) fn new() -> Self {
        let place = Place::with_testkit();
        place.graph("good.yaml", GOOD);
        let (document, code) = place.json(&["run", "good.yaml", "--caps", "caps.yaml", "--allow-unsigned"]);
        assert_eq!(code, 0, "{document}");
        Self(place)
    }
}

/// Id of a built-in item.
const BUILT_IN: &str = "rye/bash/bash";
/// Compiled code of the built-in item, which takes long to compile.
static COMPILED_BUILT_IN: Compiled = Compiled::new();

const GOOD: &str = "start: good\nnodes:\n  good: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { good: 1 } }\n";

/// A project with the fixture in it.
pub(crate) struct Scene<'f> {
    pub(crate) fixture: &'f Fixture,
    pub(crate) place: Place,
    server: Option<Server>,
}

/// Starts the server that a fixture asks for: `answer` is sent, `echo` returns the request, `silent` and `endless`
/// begin an answer that stops or does not end; `repeating` has a first part, and one that is repeated after it.
/// `@PORT@` is the server's own port.
fn server(fixture: &Fixture) -> Option<Server> {
    let wanted = fixture.parts.get("server")?.as_object().unwrap();
    let (kind, text) = wanted.iter().next().unwrap();
    Some(Server::start(|port| {
        let bytes = || generated(text, &fixture.name).replace("@PORT@", &port.to_string()).into_bytes();
        match kind.as_str() {
            "answer" => Answer::Bytes(bytes()),
            "echo" => Answer::Echo,
            "silent" => Answer::Silence(bytes()),
            "endless" => Answer::Endless(bytes()),
            "repeating" => {
                let part = |at: usize| generated(&text[at], &fixture.name).into_bytes();
                Answer::Repeating(part(0), part(1))
            }
            other => panic!("{}: no server is {other}", fixture.name),
        }
    }))
}

impl<'f> Scene<'f> {
    pub(crate) fn new(fixture: &'f Fixture, prepared: &Prepared) -> Self {
        let mut scene = Self { fixture, place: Place::with_testkit(), server: server(fixture) };
        if let Some(wanted) = fixture.parts.get("registry") {
            scene.server = Some(registry::serve(fixture, wanted));
        }
        let scene = scene;
        let place = &scene.place;
        copy(&prepared.0.path("home"), &place.path("home"));
        if scene.item() == BUILT_IN {
            COMPILED_BUILT_IN.give(place, |first| {
                let ran = first.run(&["inspect", BUILT_IN]);
                assert_eq!(ran.code, 0, "{}", ran.stderr);
            });
        }
        let kits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nodes/.ai/tools/examples");
        for (kit, name) in [("testkit-io", "io"), ("testkit-net", "net")] {
            let target = place.path(&format!(".ai/tools/t/{name}.wasm"));
            std::fs::copy(kits.join(format!("{kit}.wasm")), target).unwrap();
        }
        std::fs::create_dir(place.path("tmp")).unwrap();
        std::fs::create_dir(place.path("granted")).unwrap();
        place.graph("good.yaml", GOOD);
        let dispatch = "dispatch: ['execute.tool.t.*']\n";
        let caps = scene.filled(&fixture.text("caps").unwrap_or_default());
        place
            .write("caps.yaml", &if caps.contains("dispatch:") { caps } else { format!("{dispatch}{caps}") });
        if let Some(component) = fixture.component() {
            if let Some(patch) = fixture.parts.get("statement") {
                let envelope = signing::envelope(&component, patch);
                scene.place.write(".ai/tools/t/bad.wasm.dsse.json", &envelope);
            }
            // Envelopes of the same component in other files.
            let envelopes = fixture.parts.get("envelopes").and_then(Value::as_object);
            for (name, patch) in envelopes.into_iter().flatten() {
                let path = scene.place.path(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, signing::envelope(&component, patch)).unwrap();
            }
            std::fs::write(scene.place.path(".ai/tools/t/bad.wasm"), component).unwrap();
        }
        let trust = fixture.parts.get("trust").map_or_else(
            || "keys: [{ name: tester, key: \"@KEY1@\", items: [\"t/*\"] }]".to_owned(),
            |trust| generated(trust, &fixture.name),
        );
        let trust = trust.replace("@KEY1@", &signing::public(1)).replace("@KEY2@", &signing::public(2));
        scene.place.write("trust.yaml", &trust);
        match fixture.text("graph") {
            // Unchanged, for a fixture that breaks the document itself.
            Some(graph) if fixture.offer == "document" => scene.place.write("bad.yaml", &graph),
            Some(graph) => scene.place.graph("bad.yaml", &scene.filled(&graph)),
            None => scene.place.graph("bad.yaml", &scene.graph()),
        }
        let files = fixture.parts.get("files").and_then(Value::as_object);
        for (name, text) in files.into_iter().flatten() {
            let path = scene.place.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, scene.filled(&generated(text, &fixture.name))).unwrap();
        }
        scene.edit("edit");
        scene
    }

    fn filled(&self, text: &str) -> String {
        text.replace("@PORT@", &self.server.as_ref().map_or(1, |server| server.port).to_string())
    }

    /// Returns the id of the offered item, or of an item that is to reach it.
    pub(crate) fn item(&self) -> &str {
        self.fixture.parts.get("item").and_then(Value::as_str).unwrap_or("t/bad")
    }

    /// Returns the entry of the offered node, without its successors.
    pub(crate) fn node_entry(&self) -> String {
        let params = self.fixture.text("params_text").unwrap_or_else(|| {
            self.fixture.parts.get("params").map_or_else(|| "{}".to_owned(), Value::to_string)
        });
        let params = self.filled(&params);
        let item = self.item();
        let mut entry = format!("action: {{ item_id: {item}, params: {params} }}, fuel: 20000000");
        if let Some(Value::Object(node)) = self.fixture.parts.get("node") {
            for (key, value) in node {
                if key == "fuel" {
                    entry = entry.replace("20000000", &value.to_string());
                } else {
                    entry += &format!(", {key}: {value}");
                }
            }
        }
        // Characters that a document must not contain may be in a text, escaped.
        let ascii = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
        entry.chars().map(ascii).collect()
    }

    /// Makes a graph of the offered node and a healthy one.
    fn graph(&self) -> String {
        let entry = self.node_entry();
        let good =
            "good: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, assign: { good: 1 } }";
        let assign = if entry.contains("assign:") { "" } else { ", assign: { bad: \"${result}\" }" };
        if self.fixture.offer == "artifact" {
            // If signatures are required, the healthy node must not be the one that is refused.
            return format!("start: bad\nnodes:\n  bad: {{ {entry}{assign} }}\n");
        }
        format!("start: [bad, good]\nnodes:\n  bad: {{ {entry}{assign} }}\n  {good}\n")
    }

    /// Executes statements in databases before they are offered, by their files. A missing file is made.
    fn alter(&self) {
        let databases = self.fixture.parts.get("databases").and_then(Value::as_object);
        for (name, statements) in databases.into_iter().flatten() {
            let path = self.place.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let database = rusqlite::Connection::open(&path).unwrap();
            for statement in statements.as_array().unwrap() {
                let statement = generated(statement, &self.fixture.name);
                database
                    .execute_batch(&statement)
                    .unwrap_or_else(|error| panic!("{}: {statement}: {error}", self.fixture.name));
            }
        }
    }

    /// Changes files before they are offered: links, and programs that make them. `edit` is performed before the
    /// commands under `before`, and `planted` after them.
    fn edit(&self, part: &str) {
        let edits = self.fixture.parts.get(part).and_then(Value::as_array);
        for edit in edits.into_iter().flatten() {
            let text = |key: &str| edit.get(key).and_then(Value::as_str);
            let file = self.place.path(text("file").unwrap());
            if let Some(target) = text("link") {
                #[cfg(unix)]
                std::os::unix::fs::symlink(target, &file).unwrap();
            } else if let Some(target) = text("hard_link") {
                std::fs::hard_link(self.place.path(target), &file).unwrap();
            } else if text("fifo").is_some() {
                assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
            } else if let Some(table) = text("repeat_rows") {
                rows::repeat(&file, table, edit["levels"].as_u64().unwrap());
            } else if let Some(size) = edit.get("grow").and_then(Value::as_u64) {
                std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(size).unwrap();
            } else if let Some(size) = edit.get("size").and_then(Value::as_u64) {
                std::fs::File::create(&file).unwrap().set_len(size).unwrap();
            } else if text("damage").is_some() {
                // Most of the machine code of every artifact, which is between the head and the tables of the file. The
                // new bytes end a process that executes any of it.
                for path in artifacts(&file) {
                    let mut bytes = std::fs::read(&path).unwrap();
                    let (from, to) = (bytes.len() / 10, bytes.len() * 3 / 4);
                    bytes[from..to].fill(0xcc);
                    std::fs::write(&path, bytes).unwrap();
                }
            } else if let Some(other) = text("stands_for") {
                // The code of one component under the name of another's.
                let digest = Digest::of_bytes(&std::fs::read(self.place.path(other)).unwrap()).hex();
                let artifacts = artifacts(&file);
                let artifact = artifacts.first().unwrap();
                let name = artifact.file_name().unwrap().to_str().unwrap();
                let (_, engine) = name.split_once('-').unwrap();
                std::fs::copy(artifact, file.join(format!("{digest}-{engine}"))).unwrap();
            } else if let Some(at) = edit.get("flip").and_then(Value::as_u64) {
                let mut bytes = std::fs::read(&file).unwrap();
                bytes[usize::try_from(at).unwrap()] ^= 1;
                std::fs::write(&file, bytes).unwrap();
            } else if let Some(to) = text("copies") {
                for index in 0..edit["count"].as_u64().unwrap() {
                    std::fs::copy(&file, self.place.path(&to.replace("@i", &index.to_string()))).unwrap();
                }
            } else if let Some(to) = text("copy") {
                std::fs::copy(&file, self.place.path(to)).unwrap();
            } else {
                panic!("{}: an edit that nobody knows", self.fixture.name);
            }
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.command(&[args, &["--json"]].concat());
        command.env("TMPDIR", self.place.path("tmp"));
        command
    }

    /// Returns the words of the command that offers the fixture.
    pub(crate) fn offered(&self, run: &str) -> Vec<String> {
        if let Some(Value::Array(words)) = self.fixture.parts.get("command") {
            return words.iter().map(|word| self.filled(&generated(word, &self.fixture.name))).collect();
        }
        let wants_signature = self.fixture.offer == "artifact";
        let usual = ["run", "bad.yaml", "--caps", "caps.yaml", "--trust", "trust.yaml", "--run-id", run];
        let unsigned = (!wants_signature).then_some("--allow-unsigned");
        let more = self.fixture.parts.get("args").and_then(Value::as_array);
        let more = more.into_iter().flatten().map(|word| generated(word, &self.fixture.name));
        usual.into_iter().chain(unsigned).map(str::to_owned).chain(more).collect()
    }

    /// Returns the bounds at which the host is ended from outside.
    pub(crate) fn bounds(&self) -> Bounds {
        let [seconds, mib, disk] = limits(self.fixture);
        Bounds {
            time: Duration::from_secs(seconds),
            memory: (mib * BEYOND).min(Bounds::default().memory),
            disk: Some((self.place.path(""), disk * BEYOND)),
            presses: Vec::new(),
        }
    }

    /// Checks whether a run of the fixture has a state item: its graph is in Rye's dialect.
    fn has_state_item(&self) -> bool {
        let graph = std::fs::read_to_string(self.place.path("bad.yaml")).unwrap_or_default();
        graph.contains(&format!("executor_id: {}", Dialect::Rye.executor()))
    }

    /// Lists all files except those that a host writes of itself: its state, its home, state items.
    fn files(&self) -> BTreeSet<String> {
        fn list(folder: &Path, prefix: &str, has_item: bool, files: &mut BTreeSet<String>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let is_item = has_item && name.ends_with(".ai/knowledge/graphs");
                if name.ends_with(".ai/state") || is_item || name == "home" {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    list(&entry.path(), &format!("{name}/"), has_item, files);
                }
                // The folder is made for the item.
                if has_item && name.ends_with(".ai/knowledge") {
                    continue;
                }
                files.insert(name);
            }
        }
        let mut files = BTreeSet::new();
        list(&self.place.path(""), "", self.has_state_item(), &mut files);
        files
    }
}

/// Lists the artifacts in a folder of compiled components.
fn artifacts(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "artifact")).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Resources that a fixture used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// Memory of the process and its children, in MiB.
    pub(crate) mib: u64,
    /// Disk space, in MiB.
    pub(crate) disk: u64,
    /// Processor time after Ctrl-C.
    pub(crate) after_press: Option<Duration>,
}

impl Taken {
    pub(crate) fn of(ended: &Ended) -> Self {
        Self { mib: ended.peak_together / 1024, disk: ended.disk / 1024, after_press: ended.after_press }
    }
}

/// Returns the limits of a fixture: seconds, MiB of memory, MiB of disk.
fn limits(fixture: &Fixture) -> [u64; 3] {
    let most = |key: &str, usual| fixture.expect.get(key).and_then(Value::as_u64).unwrap_or(usual);
    [most("seconds", SECONDS), most("mib", MIB), most("disk", DISK)]
}

impl Scene<'_> {
    /// Runs the commands that precede the fixture. One that begins with `waits` leaves a run that waits.
    pub(crate) fn begin(&self) -> Result<(), String> {
        for words in self.fixture.parts.get("before").and_then(Value::as_array).into_iter().flatten() {
            let words: Vec<_> = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let (words, code) = match words.split_first() {
                Some((&"waits", words)) => (words.to_vec(), 6),
                _ => (words, 0),
            };
            let ended = watch::run(self.command(&words));
            if ended.code != Some(code) {
                return Err(format!("{words:?} ended with {:?}: {}", ended.code, ended.stderr));
            }
        }
        self.alter();
        self.edit("planted");
        Ok(())
    }
}

/// Offers a fixture next to a healthy run; the error describes a wrong outcome.
pub(crate) fn check(fixture: &Fixture, prepared: &Prepared, taken: &mut Taken) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    scene.begin()?;
    let before = scene.files();
    let healthy =
        scene.command(&["run", "good.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "good"]);
    let healthy = std::thread::spawn(move || watch::run(healthy));
    let words = scene.offered("bad");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let ended = beside::during(&scene, || watch::within(scene.command(&words), &scene.bounds()));
    *taken = Taken::of(&ended);
    let healthy = healthy.join().unwrap();
    let wrong = |what: String| format!("{what}\n  {}\n  {}", ended.document, ended.stderr.trim());
    in_bounds(fixture, &ended).map_err(&wrong)?;
    came_to(fixture, &ended).map_err(&wrong)?;
    // A broken manifest also breaks the healthy run, which uses it, too.
    let shares_the_fault = fixture.offer == "caps";
    if !shares_the_fault && (healthy.code != Some(0) || healthy.document["state"]["good"] != 1) {
        return Err(format!("the healthy run ended with {:?}: {}", healthy.code, healthy.document));
    }
    let left: Vec<_> = scene.files().difference(&before).cloned().collect();
    if ended.orphans != 0 || !left.is_empty() {
        return Err(format!("it left {} processes and {left:?}", ended.orphans));
    }
    heard(fixture, &scene).map_err(&wrong)?;
    // No part of a refused item is installed.
    if ended.code != Some(0) && scene.place.path("home/installed/tools").exists() {
        return Err(wrong("something was installed".to_owned()));
    }
    kept(fixture, &scene).map_err(&wrong)?;
    shown::nowhere(&scene, &ended).map_err(&wrong)?;
    nothing_advanced(fixture, &scene, &ended).map_err(&wrong)?;
    shown::to_people(&scene, &ended)
}

/// Checks that files are unchanged: `kept` has their texts by their names.
fn kept(fixture: &Fixture, scene: &Scene<'_>) -> Result<(), String> {
    let files = fixture.expect.get("kept").and_then(Value::as_object);
    for (name, text) in files.into_iter().flatten() {
        match std::fs::read_to_string(scene.place.path(name)) {
            Ok(found) if found == text.as_str().unwrap() => {}
            other => return Err(format!("{name} is {other:?}")),
        }
    }
    Ok(())
}

/// Checks the number of requests that reached the fixture's server, and that they lack the texts under `unheard`.
fn heard(fixture: &Fixture, scene: &Scene<'_>) -> Result<(), String> {
    let Some(server) = &scene.server else { return Ok(()) };
    let wanted = fixture.expect.get("heard").and_then(Value::as_u64);
    let heard = server.heard();
    for text in fixture.expect.get("unheard").and_then(Value::as_array).into_iter().flatten() {
        let text = text.as_str().unwrap();
        if heard.iter().any(|request| request.contains(text)) {
            return Err(format!("its server heard {text:?}"));
        }
    }
    let heard = heard.len() as u64;
    match wanted {
        Some(wanted) if wanted == heard => Ok(()),
        None if fixture.parts.contains_key("registry") => Ok(()),
        other => Err(format!("its server heard {heard} requests, not {other:?}")),
    }
}

fn came_to(fixture: &Fixture, ended: &Ended) -> Result<(), String> {
    let expected = |key: &str| fixture.expect.get(key);
    if expected("exit").and_then(Value::as_i64) != ended.code.map(i64::from) {
        return Err(format!("it ended with {:?}", ended.code));
    }
    let error = &ended.document["error"];
    for key in ["code", "category"] {
        if let Some(wanted) = expected(key).filter(|wanted| **wanted != error[key]) {
            return Err(format!("its {key} is {}, not {wanted}", error[key]));
        }
    }
    let texts = |key: &str| match expected(key) {
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    };
    let told = if error.is_null() { ended.document.to_string() } else { error.to_string() };
    let message = error["message"].as_str().unwrap_or(&told);
    for text in texts("message") {
        if !message.contains(&text) && !told.contains(&text) {
            return Err(format!("it does not say {text:?}"));
        }
    }
    for text in texts("warnings") {
        if !ended.stderr.contains(&text) && !ended.document["warnings"].to_string().contains(&text) {
            return Err(format!("it does not warn {text:?}"));
        }
    }
    for text in texts("absent") {
        if ended.stderr.contains(&text) || message.contains(&text) {
            return Err(format!("it shows {text:?}"));
        }
    }
    if let Some(Value::Object(state)) = expected("state") {
        for (key, value) in state {
            if ended.document["state"][key] != *value {
                return Err(format!("state.{key} is {}, not {value}", ended.document["state"][key]));
            }
        }
    }
    // A failure that is not the host's own names its node.
    if ["node", "artifact"].contains(&fixture.offer.as_str())
        && !error["file"].is_string()
        && ended.code != Some(0)
        && !told.contains("bad")
    {
        return Err("the node is not named".to_owned());
    }
    if let Some(fuel) = expected("fuel").filter(|fuel| **fuel != ended.document["fuel"]) {
        return Err(format!("{} fuel was charged, not {fuel}", ended.document["fuel"]));
    }
    if let Some(most) = expected("most_fuel").filter(|most| most.as_u64() < ended.document["fuel"].as_u64()) {
        return Err(format!("{} fuel was charged, more than {most}", ended.document["fuel"]));
    }
    Ok(())
}

pub(crate) fn in_bounds(fixture: &Fixture, ended: &Ended) -> Result<(), String> {
    if let Some(why) = &ended.stopped {
        return Err(format!("it was ended from outside: {why}"));
    }
    let [seconds, mib, disk] = limits(fixture);
    if ended.took.as_secs() >= seconds {
        return Err(format!("it took {:?}", ended.took));
    }
    if ended.peak_together / 1024 >= mib {
        return Err(format!("it took {} MiB of memory, more than {mib}", ended.peak_together / 1024));
    }
    if ended.disk / 1024 >= disk {
        return Err(format!("it wrote {} MiB, more than {disk}", ended.disk / 1024));
    }
    Ok(())
}

/// Checks that a failed run has no checkpoint but that of its inputs, and keeps nothing of the superstep but the parts
/// that may be resumed; and that a refused run does not exist.
fn nothing_advanced(fixture: &Fixture, scene: &Scene<'_>, ended: &Ended) -> Result<(), String> {
    if ended.code == Some(0) || fixture.parts.contains_key("command") {
        return Ok(());
    }
    let shown = watch::run(scene.command(&["runs", "show", "bad"]));
    let began = ended.document["status"].is_string();
    if !began {
        return if shown.code == Some(9) {
            Ok(())
        } else {
            Err(format!("there is a run: {}", shown.document))
        };
    }
    // If the graph itself advances before the failure, the fixture states the number of steps; `any` if that depends on
    // the cost of a step.
    let expected = fixture.expect.get("steps");
    if expected.is_none_or(|steps| steps != "any") {
        let steps = expected.and_then(Value::as_u64).unwrap_or(0);
        let untouched = steps > 0 || ended.document["state"] == Value::Object(Map::new());
        if ended.document["steps"] != steps || !untouched {
            return Err("the run advanced".to_owned());
        }
        if shown.document["step"] != steps {
            return Err(format!("the stored run advanced: {}", shown.document));
        }
    }
    let verified = watch::run(scene.command(&["runs", "verify", "bad"]));
    if verified.code != Some(0) {
        return Err(format!("what is stored does not verify: {}", verified.document));
    }
    Ok(())
}
