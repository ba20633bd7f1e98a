//! Calls every command that takes a file with every kind of wrong file.
//!
//! The snapshots are the table: for each command, its messages with their files, and its exit code.

use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::place::{Place, Ran, install_program, kit};

/// Time limit of a command, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The commands, with `@` for the file, and a valid file of a kind that the command does not take.
const COMMANDS: [(&str, &str); 45] = [
    ("run @", "caps.yaml"),
    ("run good.yaml --caps @", "good.yaml"),
    ("run good.yaml --trust @", "caps.yaml"),
    ("run good.yaml --items @", "caps.yaml"),
    ("run good.yaml --project @", "caps.yaml"),
    ("run good.yaml --inputs @", "list.t"),
    ("run good.yaml --sign-with @", "caps.yaml"),
    ("resume r --inputs @", "list.t"),
    ("resume r --project @", "caps.yaml"),
    ("resume r --sign-with @", "caps.yaml"),
    ("test @", "good.yaml"),
    ("test one.case.yaml --caps @", "good.yaml"),
    ("test one.case.yaml --trust @", "good.yaml"),
    ("validate --kind graph @", "caps.yaml"),
    ("graph show @", "caps.yaml"),
    ("graph report @", "caps.yaml"),
    ("graph report good.yaml --caps @", "good.yaml"),
    ("caps suggest @", "caps.yaml"),
    ("caps suggest good.yaml --trust @", "caps.yaml"),
    ("inspect @", "caps.yaml"),
    ("inspect good.yaml --trust @", "caps.yaml"),
    ("verify @ --id t/x", "list.t"),
    ("verify kit.wasm --id t/kit --envelope @", "caps.yaml"),
    ("verify good.yaml --id good --trust @", "caps.yaml"),
    ("sign @ --id t/x --key me", "list.t"),
    ("sign kit.wasm --id t/kit --version 1.0.0 --key @", "good.yaml"),
    ("build @", "good.yaml"),
    ("keys show @", "caps.yaml"),
    ("trust add x --items x/* --key @", "good.yaml"),
    ("trust list --trust @", "good.yaml"),
    ("trust revoke x --file @", "good.yaml"),
    ("trust rotate @", "good.yaml"),
    ("runs list --project @", "good.yaml"),
    ("runs import @", "good.yaml"),
    ("runs verify r --key @", "good.yaml"),
    ("runs update r --values @", "list.t"),
    ("runs fork r --values @", "list.t"),
    ("replay r --key @", "good.yaml"),
    ("doctor --project @", "good.yaml"),
    ("publish @ oci-layout:new:x --id t/x", "caps.yaml"),
    ("pull oci-layout:@:x", "caps.yaml"),
    ("pull oci-layout:new:x --trust @", "caps.yaml"),
    ("search oci-layout:@", "caps.yaml"),
    ("lock oci-layout:@:x", "caps.yaml"),
    ("lock oci-layout:new:x --trust @", "caps.yaml"),
];

/// The faults of files, and the names of the files.
const FILES: [(&str, &str); 16] = [
    ("missing", "missing.yaml"),
    ("below a file", "good.yaml/x"),
    ("a folder", "folder.d"),
    ("a link to itself", "circle.t"),
    ("a long name", LONG),
    ("empty", "empty.t"),
    ("not UTF-8", "latin-1.t"),
    ("NUL", "nul.t"),
    ("broken", "broken.t"),
    ("a list", "list.t"),
    ("a number", "number.t"),
    ("a component", "kit.wasm"),
    ("without end", "/dev/zero"),
    ("aliases of aliases", "bomb.t"),
    ("nested deeply", "deep.t"),
    ("escapes", "escapes.t"),
];

/// A name that is longer than file systems permit.
const LONG: &str = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\
nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\
nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";

fn place() -> Place {
    let place = Place::new();
    place.graph("good.yaml", "start: a\nnodes:\n  a: { interrupt: after, next: b }\n  b: {}\n");
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
    place.write("one.case.yaml", "name: one\ngraph: { start: a, nodes: { a: {} } }\nscript: [{ run: {} }]\n");
    std::fs::copy(kit("testkit"), place.path("kit.wasm")).unwrap();
    std::fs::create_dir(place.path("folder.d")).unwrap();
    symlink("circle.t", place.path("circle.t")).unwrap();
    place.write("empty.t", "");
    std::fs::write(place.path("latin-1.t"), b"a: caf\xe9\n").unwrap();
    place.write("nul.t", "a: b\0c\n");
    place.write("broken.t", "config: [1\n");
    place.write("list.t", "- 1\n");
    place.write("number.t", "42\n");
    let mut bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for (before, name) in "abcdef".chars().zip("bcdefg".chars()) {
        writeln!(bomb, "{name}: &{name} [{}*{before}]", format!("*{before}, ").repeat(9)).unwrap();
    }
    place.write("bomb.t", &bomb);
    place.write("deep.t", &"[".repeat(20_000));
    place.write("escapes.t", "\u{1b}[2J\u{1b}]0;title\u{7}: 1\n");
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    // The run waits, so that its inputs are inspected.
    assert_eq!(place.run(&["run", "good.yaml", "--run-id", "r"]).code, 6);
    place
}

/// Returns the output of a command, which must end.
fn output(mut command: Command) -> Output {
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        sleep(Duration::from_millis(3));
    }
    child.wait_with_output().unwrap()
}

/// Lists the files of the project, with their sizes: a failing command makes and changes nothing.
fn files(place: &Place) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![place.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.metadata().unwrap());
            // The lock of a database may disappear, and accepted items are logged.
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if !name.starts_with("runs.db-") && path.extension().is_none_or(|end| end != "lock") {
                found.push(format!("{} {}", path.display(), kind.len()));
            }
        }
    }
    found.sort();
    found
}

/// Returns the messages of a command, without irrelevant parts.
fn said(ran: &Ran) -> String {
    let text = if ran.stderr.trim().is_empty() { &ran.stdout } else { &ran.stderr };
    let mut said: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        let starts = ["error: ", "error[", "✗ ", "help: "].iter().any(|mark| line.starts_with(mark));
        // The further lines of a message are indented; a snippet has a frame.
        let more = continued && line.starts_with("  ") && !line.contains(['│', '╭', '·', '╰']);
        if starts {
            let message = if line.starts_with("error") {
                line.split_once(": ").map_or(line, |(_, it)| it)
            } else {
                line
            };
            said.push(message.trim_end().to_owned());
        } else if more {
            let last = said.last_mut().unwrap();
            last.push(' ');
            last.push_str(line.trim());
        }
        continued = (starts || more) && !line.is_empty();
    }
    // The heading states the number of messages.
    if said.len() > 1 && said[0].contains(": ") && said[0].ends_with(['r', 's']) && said[0].contains(" error")
    {
        said.remove(0);
    }
    said.truncate(3);
    said.join(" | ")
}

fn arguments(command: &str, file: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "@" => file.to_owned(),
        _ if word.starts_with("oci-layout:") => word.replace('@', file),
        _ => word.to_owned(),
    };
    command.split(' ').map(word).collect()
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

fn takes_a_folder(command: &str) -> bool {
    ["--items @", "--project @", "build @", "oci-layout:@"].iter().any(|folder| command.contains(folder))
}

#[test]
fn no_command_takes_a_file_for_what_it_is_not() {
    let next = Mutex::new(0..COMMANDS.len());
    let tables = Mutex::new(vec![String::new(); COMMANDS.len()]);
    let work = || {
        // Each thread has its own place, so that no file of another command interferes.
        let place = place();
        loop {
            let Some(index) = next.lock().unwrap().next() else { break };
            let table = table(&place, COMMANDS[index].0, COMMANDS[index].1);
            tables.lock().unwrap()[index] = table;
        }
    };
    scope(|scope| {
        let second = scope.spawn(work);
        work();
        second.join().unwrap();
    });
    insta::assert_snapshot!(tables.into_inner().unwrap().concat());
}

/// Makes the table of a command: a line for each message, with its exit code and the files that it is about.
fn table(place: &Place, command: &str, other: &str) -> String {
    let mut lines: Vec<(i32, String, Vec<&str>)> = Vec::new();
    for (what, file) in FILES.into_iter().chain([("of another kind", other)]) {
        // These files are valid for the command.
        if file == "folder.d" && takes_a_folder(command) || file == "kit.wasm" && command == "inspect @" {
            continue;
        }
        let args = arguments(command, file);
        let before = files(place);
        let ran = place.ran(&output(place.command(&words(&args))));
        assert_eq!(files(place), before, "{args:?} leaves something behind");
        assert!([2, 3, 5, 8, 9, 10].contains(&ran.code), "{args:?}: {}\n{}", ran.code, ran.stderr);
        assert!(ran.stderr.len() < 8000, "{args:?} says too much: {}", ran.stderr);
        let raw = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stderr.contains(raw) && !ran.stdout.contains(raw), "{args:?}: {:?}", ran.stderr);
        let (document, code) = place.json(&words(&args));
        assert_eq!(code, ran.code, "{args:?}: {document}");
        let said = said(&ran).replace(file, "@");
        assert!(said.len() > 10, "{args:?} says nothing: {}", ran.stderr);
        match lines.iter_mut().find(|(code, text, _)| (*code, text) == (ran.code, &said)) {
            Some((_, _, files)) => files.push(what),
            None => lines.push((ran.code, said, vec![what])),
        }
    }
    let mut table = format!("$ graph-host {command}\n");
    for (code, said, files) in lines {
        writeln!(table, "  {code:2}  [{}] {said}", files.join(", ")).unwrap();
    }
    table
}

/// Commands about things that do not exist.
#[test]
fn unknown_names_are_told() {
    const COMMANDS: [&str; 43] = [
        "run no/item",
        "run good.yaml --sign-with nobody",
        "caps suggest no/item",
        "graph show no/item",
        "graph show --run none",
        "graph report no/item",
        "inspect no/item",
        "verify no.wasm",
        "sign no.wasm --key me",
        "sign kit.wasm --id t/kit --version 1.0.0 --key nobody",
        "build no-crate",
        "keys show nobody",
        "keys rotate nobody new",
        "trust add x --items x/* --key nobody",
        "trust revoke nobody",
        "test one.case.yaml --filter nothing",
        "explain GH9999",
        "resume none",
        "resume r --sign-with nobody --answer 1",
        "replay none",
        "runs show none",
        "runs history none",
        "runs state none",
        "runs update none --values {\"a\":1}",
        "runs fork none",
        "runs events none",
        "runs watch none",
        "runs wait none",
        "runs cancel none",
        "runs kill none",
        "runs verify none",
        "runs export none",
        "runs show @first",
        "runs state r --at step:99",
        "runs state r --at node:nobody",
        "runs state r --at 99",
        "runs update r --as-node nobody",
        "runs update r --values {\"a\":1} --at step:99",
        "runs fork r --at node:nobody",
        "runs fork r --as-node nobody",
        "runs fork r --at 99",
        "run good.yaml --answer nobody=1 --answer a=1 --sign-with nobody",
        "runs fork r --go --sign-with nobody",
    ];
    let place = place();
    let mut table = String::new();
    for command in COMMANDS {
        let args = arguments(command, "");
        let before = files(&place);
        let ran = place.ran(&output(place.command(&words(&args))));
        assert_eq!(ran.code, 9, "{args:?}: {}\n{}", ran.code, ran.stderr);
        assert!(ran.stdout.is_empty(), "{args:?}: {}", ran.stdout);
        assert_eq!(files(&place), before, "{args:?} leaves something behind");
        writeln!(table, "$ graph-host {command}\n    {}", said(&ran)).unwrap();
    }
    assert_eq!(place.json(&["runs", "list"]).0["runs"].as_array().unwrap().len(), 1);
    insta::assert_snapshot!(table);
}

/// A place whose files belong to a user other than root, who runs the commands.
struct Elsewhere {
    place: Place,
    user: Option<u32>,
}

impl Elsewhere {
    fn new() -> Self {
        let place = place();
        let root = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own));
        let user = (root.unwrap_or(1) == 0).then_some(65_534);
        let here = Self { place, user };
        if let Some(user) = user {
            // That user need not be able to reach the program in its build folder.
            let program = std::fs::read(env!("CARGO_BIN_EXE_graph-host")).unwrap();
            install_program(&here.place.path("graph-host"), &program);
            let mut below = vec![here.place.path("")];
            while let Some(path) = below.pop() {
                std::os::unix::fs::lchown(&path, Some(user), Some(user)).unwrap();
                if path.is_dir() && !path.is_symlink() {
                    below.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                }
            }
        }
        here
    }

    fn set(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn run(&self, command: &str) -> Ran {
        let args = arguments(command, "locked.yaml");
        let mut own = self.place.command(&words(&args));
        if let Some(user) = self.user {
            let mut theirs = Command::new(self.place.path("graph-host"));
            theirs.args(&args).current_dir(self.place.path("")).uid(user).gid(user);
            for (key, value) in own.get_envs() {
                theirs.env(key, value.unwrap());
            }
            theirs.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            own = theirs;
        }
        self.place.ran(&output(own))
    }
}

#[test]
fn files_that_may_not_be_read_are_told() {
    let here = Elsewhere::new();
    std::fs::copy(here.place.path("good.yaml"), here.place.path("locked.yaml")).unwrap();
    here.set("locked.yaml", 0o000);
    let mut table = String::new();
    // An unreadable folder is another case: the files in it have names.
    let of_files = COMMANDS.iter().filter(|(command, _)| !takes_a_folder(command));
    for (command, _) in of_files {
        let ran = here.run(command);
        let text = if *command == "test @" { &ran.stdout } else { &ran.stderr };
        let code = if *command == "test @" { 5 } else { 10 };
        assert_eq!(ran.code, code, "{command}: {}", ran.stderr);
        assert!(text.contains("locked.yaml may not be read"), "{command}: {text}");
        writeln!(table, "$ graph-host {command}\n    {}", said(&ran)).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn folders_that_may_not_be_written_are_told() {
    let here = Elsewhere::new();
    assert_eq!(here.run("runs export r -o run.jsonl").code, 0);
    for folder in ["", ".ai", ".ai/state", ".ai/state/runs", "home", "home/keys", "folder.d"] {
        here.set(folder, 0o555);
    }
    for file in [".ai/state/runs.db", ".ai/state/runs.db-wal", ".ai/state/runs.db-shm"] {
        if here.place.path(file).exists() {
            here.set(file, 0o444);
        }
    }
    let mut table = String::new();
    let writing = [
        "run good.yaml",
        "run good.yaml --detach",
        "run good.yaml --store file",
        "resume r --answer 1",
        "runs update r --values {\"a\":1}",
        "runs fork r",
        "runs cancel r",
        "runs kill r",
        "runs gc --keep 0 --all-statuses",
        "runs import run.jsonl --project folder.d",
        "runs export r -o again.jsonl",
        "sign good.yaml --key me --id good",
        "sign kit.wasm --key me --id t/kit --version 1.0.0",
        "keys generate other",
        "keys generate other --out folder.d",
        "keys rotate me other",
        "keys rotate-host",
        "trust add x --items x/* --key me",
        "new graph other",
        "new node other --dir folder.d",
    ];
    for command in writing {
        let ran = here.run(command);
        assert_eq!(ran.code, 10, "{command}: {}\n{}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains(".tmp"), "{command}: {}", ran.stderr);
        writeln!(table, "$ graph-host {command}\n    {}", said(&ran)).unwrap();
    }
    // The existing runs can be shown.
    for command in
        ["runs list", "runs show r", "runs history r", "runs verify r", "runs export r", "replay r"]
    {
        let ran = here.run(command);
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
    }
    assert!(here.run("runs list --json").stdout.contains("\"interrupted\""));
    insta::assert_snapshot!(table);
    for folder in ["", ".ai", ".ai/state", ".ai/state/runs", "home", "home/keys", "folder.d"] {
        here.set(folder, 0o755);
    }
}

/// Makes a pipe in place of a file in a stranger's project.
fn pipe(place: &Place, name: &str) {
    std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

#[test]
fn pipes_in_a_project_are_not_waited_for() {
    const ROWS: [(&str, &str, &str, i32); 13] = [
        (".ai/hooks.yaml", "run good.yaml", "hooks.yaml is not a regular file", 10),
        (".ai/state/runs.db", "run good.yaml", "is not this host's", 8),
        (".ai/state/runs.db", "runs list", "runs.db is not a regular file", 10),
        (".ai/state/runs.db", "doctor", "runs.db is not a regular file", 10),
        (".ai/state/files/lock", "run good.yaml --store file", "is not this host's", 8),
        (".ai/state/files/runs/0000000001-x/log", "runs list", "it is not a regular file", 10),
        (".ai/state/runs/x.lock", "run good.yaml --run-id x", "it is not a regular file", 10),
        (
            ".ai/threads/x/output.log",
            "run good.yaml --run-id x --detach",
            "output.log is not a regular file",
            10,
        ),
        ("layout/oci-layout", "search oci-layout:layout", "it is not a file", 8),
        (".ai/tools/t/x.yaml", "run t/x", "x.yaml is not a regular file", 9),
        (".ai/tools/t/x.wasm", "inspect t/x", "x.wasm is not a regular file", 9),
        ("cases/x.case.yaml", "test cases", "there is no file that ends in `.case.yaml`", 9),
        ("graph.yaml", "test named.case.yaml", "graph.yaml is not a regular file", 5),
    ];
    for (name, command, told, code) in ROWS {
        let place = Place::new();
        place.graph("good.yaml", "start: a\nnodes:\n  a: {}\n");
        place.write("named.case.yaml", "name: n\ngraph_file: graph.yaml\nscript: [{ run: {} }]\n");
        pipe(&place, name);
        let ran = place.ran(&output(place.command(&words(&arguments(command, "")))));
        assert_eq!(ran.code, code, "{name}: {command}: {}", ran.stderr);
        let text = (ran.stdout + &ran.stderr).replace("\n  ", " ");
        assert!(text.contains(told), "{name}: {command}: {text}");
    }
}

#[test]
fn what_is_named_may_be_a_pipe() {
    let place = place();
    let graph = place.read("good.yaml");
    let rows: [(&[&str], &str, i32); 6] = [
        (&["validate", "/dev/stdin"], &graph, 0),
        (&["run", "/dev/stdin"], &graph, 6),
        (&["graph", "show", "/dev/stdin"], &graph, 0),
        (&["run", "good.yaml", "--inputs", "/dev/stdin"], "a: 1\n", 6),
        (&["run", "good.yaml", "--caps", "/dev/stdin"], "dispatch: []\n", 6),
        (&["keys", "show", "/dev/stdin"], &place.read("home/keys/me.pub.pem"), 0),
    ];
    for (args, text, code) in rows {
        let mut child = place.command(args).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let ran = place.ran(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
    }
}

/// No file replaces a pipe or a device, even for root.
#[test]
fn a_run_is_exported_into_pipes_and_through_links() {
    let place = place();
    pipe(&place, "pipe");
    let reader = std::thread::spawn({
        let path = place.path("pipe");
        move || std::fs::read_to_string(path).unwrap()
    });
    let ran = place.ran(&output(place.command(&["runs", "export", "r", "-o", "pipe"])));
    assert!(ran.code == 0 && ran.stdout.is_empty(), "{}", ran.stderr);
    let piped = reader.join().unwrap();
    symlink("target.jsonl", place.path("link")).unwrap();
    place.write("target.jsonl", "old");
    assert_eq!(place.run(&["runs", "export", "r", "-o", "link"]).code, 0);
    assert!(place.path("link").is_symlink());
    assert_eq!(place.read("target.jsonl").lines().count(), piped.lines().count());
    let ran = place.run(&["runs", "export", "r", "-o", "/dev/stdout"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, piped.lines().count()), "{}", ran.stderr);
    // The JSON document is about the run that went into the stream.
    let reader = std::thread::spawn({
        let path = place.path("pipe");
        move || std::fs::read_to_string(path).unwrap().len()
    });
    let (told, code) = place.json(&["runs", "export", "r", "-o", "pipe"]);
    assert_eq!((code, &told["run_id"], &told["file"]), (0, &"r".into(), &"pipe".into()), "{told}");
    assert_eq!(told["bytes"], reader.join().unwrap());
    let ran = place.run(&["runs", "export", "r", "-o", "/dev/full"]);
    assert!(ran.code == 10 && ran.stderr.contains("No space left"), "{}", ran.stderr);
}

/// An error of stdout is reported; a closed pipe is no error.
#[test]
fn a_full_or_closed_stdout() {
    let place = place();
    for command in [
        "runs list",
        "runs show r",
        "runs history r",
        "runs state r",
        "runs events r",
        "runs export r",
        "graph show good.yaml",
        "caps suggest good.yaml",
        "completions bash",
        "man runs",
        "explain --list",
        "doctor",
        "keys list",
        "validate good.yaml",
        "test one.case.yaml",
        "runs list --json",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut printing = place.command(&words(&arguments(command, "")));
        printing.stdout(full);
        let ran = place.ran(&output(printing));
        let told = ran.stderr.contains("stdout cannot be written: No space left");
        assert!(ran.code == 10 && told, "{command}: {} {}", ran.code, ran.stderr);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut printing = place.command(&words(&arguments(command, "")));
        printing.stdout(writer);
        let ran = place.ran(&output(printing));
        // A partly written export is an error.
        let code = if command.contains("export") { 10 } else { 0 };
        assert_eq!(ran.code, code, "{command}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{command}: {}", ran.stderr);
    }
}

#[test]
fn a_folder_whose_name_is_not_text_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = place();
    let folder = place.path("").join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(place.path("good.yaml"), folder.join("good.yaml")).unwrap();
    std::fs::create_dir(folder.join(".ai")).unwrap();
    let inside = |args: &[&str]| {
        let mut command = place.command(args);
        command.current_dir(&folder);
        place.ran(&output(command))
    };
    let ran = inside(&["run", "good.yaml"]);
    let told = ran.stderr.contains("a name that is not text in UTF-8") && ran.stderr.contains("rename it");
    assert!(ran.code == 2 && told, "{} {}", ran.code, ran.stderr);
    assert_eq!(inside(&["validate", "good.yaml"]).code, 0);
    let ran = inside(&["runs", "list", "--json"]);
    assert!(ran.stdout.contains("\"runs\": []"), "{} {}", ran.stdout, ran.stderr);
}

/// The use by a run is the same in all documents, whatever part of the run has committed.
#[test]
fn the_fuel_of_what_failed_is_shown() {
    let place = Place::with_testkit();
    place.graph(
        "fails.yaml",
        "start: [a, b]\nnodes:\n  a: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: no } } }\n  b: { action: { item_id: t/kit, params: { op: spin, iterations: 5000 } } }\n",
    );
    let args = ["run", "fails.yaml", "--run-id", "f", "--caps", "caps.yaml", "--allow-unsigned"];
    let (document, code) = place.json(&args);
    let fuel = document["fuel"].as_u64().unwrap();
    assert!(code == 5 && fuel > 5000, "{document}");
    assert_eq!(place.json(&["runs", "show", "f"]).0["fuel"], fuel);
    assert_eq!(place.json(&["runs", "list"]).0["runs"][0]["fuel"], fuel);
    let mut shown = place.command(&["runs", "show", "f"]);
    let text = String::from_utf8(shown.output().unwrap().stdout).unwrap();
    assert!(!text.contains(", 0 fuel"), "{text}");
}
