//! A test's own folder, with a home, a project and the test components.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// Returns the path of a test component of the examples.
pub(crate) fn kit(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/nodes/.ai/tools/examples/{name}.wasm"))
}

/// The compiled components of a home. They are copied into other homes, so that a component is compiled once for all
/// tests that need it.
pub(crate) struct Compiled(OnceLock<Vec<(PathBuf, Vec<u8>)>>);

impl Compiled {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Copies them into the home of a place. The first time, `compile` makes them in the home of an empty place.
    pub(crate) fn give(&self, place: &Place, compile: impl FnOnce(&Place)) {
        let files = self.0.get_or_init(|| {
            let first = Place::new();
            compile(&first);
            let cache = first.path(CACHE);
            let files = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
            files.map(|file| (file.file_name().unwrap().into(), std::fs::read(&file).unwrap())).collect()
        });
        std::fs::create_dir_all(place.path(CACHE)).unwrap();
        for (name, bytes) in files {
            let file = place.path(CACHE).join(name);
            std::fs::write(&file, bytes).unwrap();
            // The host reads nothing from a cache that others can write or whose key they can read.
            #[cfg(unix)]
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        }
    }
}

/// Folder of compiled components, below the folder of a place.
const CACHE: &str = "home/cache";

/// Writes an executable file.
///
/// A child process writes it: while this process has a file open for writing, a child that another thread starts holds
/// the descriptor until it executes its program, and executing the file fails with ETXTBSY.
#[cfg(unix)]
pub(crate) fn install_program(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;

    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(child.wait().unwrap().success());
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".ai/tools/t")).unwrap();
        Self { folder }
    }

    /// Makes a place with `t/kit`, a component that performs its params.
    pub(crate) fn with_testkit() -> Self {
        let place = Self::new();
        std::fs::copy(kit("testkit"), place.path(".ai/tools/t/kit.wasm")).unwrap();
        place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
        place
    }

    /// Like [`Self::with_testkit`], with `t/kit` already compiled.
    pub(crate) fn with_compiled_testkit() -> Self {
        static COMPILED: Compiled = Compiled::new();
        let place = Self::with_testkit();
        COMPILED.give(&place, |first| {
            std::fs::copy(kit("testkit"), first.path(".ai/tools/t/kit.wasm")).unwrap();
            assert_eq!(first.run(&["inspect", "t/kit"]).code, 0);
        });
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes a graph document around its `config`.
    pub(crate) fn graph(&self, name: &str, config: &str) {
        let indented = format!("  {}\n", config.trim_end().replace('\n', "\n  "));
        let head = "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: a test\n";
        self.write(name, &format!("{head}config:\n{indented}"));
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graph-host"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("GRAPH_HOST_HOME", self.path("home"))
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env("TZ", "UTC")
            .env("DOCKER_CONFIG", self.path("docker"))
            .env("GRAPH_HOST_REGISTRY", "")
            .env("SOURCE_DATE_EPOCH", "")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.ran(&self.command(args).output().unwrap())
    }

    /// Returns the JSON document of a command, and its exit code.
    pub(crate) fn json(&self, args: &[&str]) -> (Value, i32) {
        let ran = self.run(&[args, &["--json"]].concat());
        let value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}\n{}", ran.stdout, ran.stderr));
        (value, ran.code)
    }

    /// Returns the outcome of a command.
    pub(crate) fn ran(&self, output: &Output) -> Ran {
        // Text that differs between runs of the test is replaced.
        let folder = self.folder.path().to_string_lossy().into_owned();
        let clean = |bytes: &[u8]| redact(&String::from_utf8_lossy(bytes).replace(&folder, "[folder]"));
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: clean(&output.stdout),
            stderr: clean(&output.stderr),
        }
    }
}

/// Replaces times and figures of time.
pub(crate) fn redact(text: &str) -> String {
    let words = |line: &str| {
        let parts: Vec<&str> = line.split(' ').collect();
        let mut shown: Vec<String> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let unit = parts.get(index + 1).map(|next| next.trim_end_matches([',', ';']));
            let before = index.checked_sub(1).map(|before| parts[before]);
            let is_number = |part: &str| part.trim_end_matches(['k', 'M', 'G']).parse::<f64>().is_ok();
            let is_unit = |part: Option<&str>| matches!(part, Some("µs" | "ms" | "s"));
            let part = if is_number(part) && is_unit(unit) {
                "[time]"
            } else if is_number(part) && unit == Some("fuel") {
                "[n]"
            } else if before.is_some_and(is_number) && is_unit(Some(part.trim_end_matches([',', ';']))) {
                part.trim_start_matches(['µ', 'm', 's'])
            } else {
                part
            };
            shown.push(part.to_owned());
        }
        let line = shown.join(" ");
        // The indent of a figure depends on its length.
        let mut line = line;
        for mark in ["[time]", "[n]"] {
            if let Some(at) = line.find(mark) {
                line = format!("{} {}", line[..at].trim_end(), &line[at..]);
            }
        }
        line
    };
    text.lines().map(|line| words(line) + "\n").collect()
}

impl Ran {
    pub(crate) fn shown(&self) -> String {
        // Compilation is reported only if it takes long, which depends on the load of the machine.
        let always = |line: &&str| !line.starts_with("compiling `");
        let stderr: String = self.stderr.split_inclusive('\n').filter(always).collect();
        format!("exit {}\n--- stdout\n{}--- stderr\n{stderr}", self.code, self.stdout)
    }
}
