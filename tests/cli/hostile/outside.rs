//! Checks the paths that the system is asked to write, make or remove while a fixture is offered, by `strace`: only
//! paths below `.ai` of a project, in the user's space, in the folder of temporary files, in granted folders, and those
//! that the command names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fixture::Fixture;
use super::offer::{Prepared, Scene, Taken};
use super::watch;

/// System calls that change the file or folder at a path.
const CALLS: &str = "open,openat,openat2,creat,truncate,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,\
                     symlink,symlinkat,mkdir,mkdirat,mknod,mknodat,chmod,fchmodat,chown,lchown,fchownat,utimensat,\
                     setxattr,lsetxattr";
/// Flags that open a file for changes, or make it.
const WRITING: [&str; 5] = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"];
/// Folders of a scene that a host may write to: the user's space, temporary files, grants of the manifest.
const WRITABLE: [&str; 3] = ["home", "tmp", "granted"];

/// Factor by which a command may be slower below `strace`, which stops at each of the calls: some fixtures look for
/// thousands of files. Their own time is measured without it.
const SLOWER: u32 = 4;

/// Topics about the contents of a folder: all of their fixtures are checked.
pub(crate) const TOPICS: [&str; 8] =
    ["artifacts", "files", "formats", "projects", "reach", "registry", "spaces", "stores"];

/// Offers a fixture to a host whose system calls are recorded, and checks each of them.
pub(crate) fn check(fixture: &Fixture, prepared: &Prepared, taken: &mut Taken) -> Result<(), String> {
    let scene = Scene::new(fixture, prepared);
    scene.begin()?;
    let words = scene.offered("bad");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let logs = tempfile::tempdir().unwrap();
    let command = traced(&scene.command(&words), logs.path());
    let bounds = scene.bounds();
    let bounds = watch::Bounds { time: bounds.time * SLOWER, ..bounds };
    let ended = super::beside::during(&scene, || watch::within(command, &bounds));
    *taken = Taken::of(&ended);
    let root = scene.place.path("").canonicalize().unwrap();
    let mut opened = 0;
    let logs = std::fs::read_dir(logs.path()).unwrap().map(|log| std::fs::read(log.unwrap().path()).unwrap());
    let logs: Vec<_> = logs.map(|text| String::from_utf8_lossy(&text).into_owned()).collect();
    let held = HeldFolders::of(&logs);
    for text in &logs {
        for line in text.lines() {
            let Some(call) = Call::parse(line) else { continue };
            opened += 1;
            for path in call.changed(&root) {
                if !held.named(&path).iter().any(|path| may_change(&root, path, &words)) {
                    return Err(format!("{} may not be written: {line}", path.display()));
                }
            }
        }
    }
    // Even a command that is refused opens its own program's libraries.
    if opened == 0 {
        return Err(format!("strace has told nothing: {}", ended.stderr));
    }
    let own = fixture.expect.get("exit").and_then(serde_json::Value::as_i64);
    // A limit of the run's own time may be reached first.
    if ended.code.is_none() || (own == Some(0)) != (ended.code == Some(0)) {
        let why = ended.stopped.as_deref().unwrap_or_default();
        return Err(format!(
            "it ended with {:?}, signal {:?}: {why}\n{}",
            ended.code, ended.signal, ended.stderr
        ));
    }
    Ok(())
}

/// Makes the same command below `strace`, which writes a file for each thread.
fn traced(command: &Command, logs: &Path) -> Command {
    let mut traced = Command::new("strace");
    traced
        .args(["-ff", "-qq", "-y", "--seccomp-bpf", "-e", "signal=none", "-e"])
        .arg(format!("trace={CALLS}"));
    traced.arg("-o").arg(logs.join("log")).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    traced.current_dir(command.get_current_dir().unwrap());
    traced.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    traced
}

/// Folders that were held open, by the numbers of their handles, through which SQLite opens its files.
struct HeldFolders(Vec<(String, PathBuf)>);

/// Folder of a process's handles.
const HANDLES: &str = "/proc/self/fd";

impl HeldFolders {
    fn of(logs: &[String]) -> Self {
        let mut held = Vec::new();
        for call in logs.iter().flat_map(|text| text.lines()).filter_map(Call::parse) {
            // A folder that is opened only to list it is opened with `O_NONBLOCK`.
            let is_held = call.flags().contains("O_DIRECTORY") && !call.flags().contains("O_NONBLOCK");
            if is_held && let Some((number, path)) = call.result.split_once('<') {
                let path = path.split_once('>').map_or(path, |(path, _)| path);
                held.push((number.to_owned(), PathBuf::from(unescaped(path))));
            }
        }
        Self(held)
    }

    /// Returns the paths that a path may refer to: through a handle, a file in one of the folders that had that number.
    fn named(&self, path: &Path) -> Vec<PathBuf> {
        let Ok(inner) = path.strip_prefix(HANDLES) else { return vec![path.to_owned()] };
        let mut segments = inner.iter();
        let number = segments.next().and_then(|number| number.to_str()).unwrap_or_default();
        let rest: PathBuf = segments.collect();
        let folders = self.0.iter().filter(|(held, _)| held == number);
        folders.map(|(_, folder)| folder.join(&rest)).collect()
    }
}

/// Checks whether a host with these command words may change the file at a path.
fn may_change(root: &Path, path: &Path, words: &[&str]) -> bool {
    if path == Path::new("/dev/null") || path == Path::new("/dev/tty") {
        return true;
    }
    let Ok(inner) = path.strip_prefix(root) else { return false };
    let is_named = || words.iter().any(|word| !word.is_empty() && inner.starts_with(word));
    let Some(first) = inner.iter().next() else { return false };
    WRITABLE.iter().any(|folder| first == *folder) || inner.iter().any(|part| part == ".ai") || is_named()
}

/// A line of `strace`: the call with its arguments, and its result.
struct Call<'l> {
    name: &'l str,
    arguments: &'l str,
    result: &'l str,
}

impl<'l> Call<'l> {
    /// Parses a line; `None` for a signal or the end of a process.
    fn parse(line: &'l str) -> Option<Self> {
        let (name, rest) = line.split_once('(')?;
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        // A path may contain this text as well; the last one is strace's own.
        let (arguments, result) = rest.rsplit_once(" = ").unwrap_or((rest, "?"));
        Some(Self { name, arguments, result })
    }

    /// Returns the paths that the call changes, or would have changed, with links in their folders resolved. `current`
    /// is the current folder of the process.
    fn changed(&self, current: &Path) -> Vec<PathBuf> {
        let opens = self.name.starts_with("open");
        if opens && !WRITING.iter().any(|flag| self.flags().contains(flag)) {
            return Vec::new();
        }
        // For an opened file, the target of a link is known.
        if opens && let Some(path) = self.result.split_once('<').and_then(|(_, path)| path.split_once('>')) {
            return vec![PathBuf::from(unescaped(path.0))];
        }
        let mut paths = self.paths();
        // The target of a new link is only a text.
        if self.name.starts_with("symlink") {
            paths.drain(..paths.len().saturating_sub(1));
        }
        paths.iter().map(|path| without_links(&current.join(path))).collect()
    }

    /// Returns the arguments after the last path.
    fn flags(&self) -> &str {
        self.arguments.rsplit_once("\", ").map_or(self.arguments, |(_, flags)| flags)
    }

    /// Returns the paths among the arguments, each below the folder before it.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut folder = PathBuf::new();
        let mut rest = self.arguments;
        while let Some(at) = rest.find(['"', '<']) {
            let opening = rest.as_bytes()[at];
            let text = &rest[at + 1..];
            let closing = if opening == b'"' { '"' } else { '>' };
            let mut is_escaped = false;
            let end = text.find(|character| {
                let found = character == closing && !is_escaped;
                is_escaped = character == '\\' && !is_escaped;
                found
            });
            let Some(end) = end else { break };
            let path = unescaped(&text[..end]);
            rest = &text[end + 1..];
            if opening == b'"' {
                paths.push(folder.join(path));
            } else {
                folder = PathBuf::from(path);
            }
        }
        paths
    }
}

/// Decodes the escapes of strace.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let mut code = 0_u32;
        let mut digits = 0;
        while digits < 3
            && let Some(digit) = rest.next_if(|next| (b'0'..=b'7').contains(next))
        {
            code = code * 8 + u32::from(digit - b'0');
            digits += 1;
        }
        match rest.peek() {
            _ if digits > 0 => bytes.push(u8::try_from(code).unwrap_or(b'?')),
            Some(_) => bytes.push(match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(other) => other,
                None => b'?',
            }),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Resolves the links in the folder of a path.
fn without_links(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    // The handles are not those of this process.
    if path.starts_with(HANDLES) {
        return path.to_owned();
    }
    match folder.canonicalize() {
        Ok(folder) => folder.join(name),
        // The folder was removed since.
        Err(_) if folder.as_os_str().is_empty() => path.to_owned(),
        Err(_) => without_links(folder).join(name),
    }
}

#[test]
fn lines_of_strace_tell_what_is_changed() {
    let changed =
        |line: &str| Call::parse(line).map(|call| call.changed(Path::new("/current"))).unwrap_or_default();
    let at = |path: &str| vec![PathBuf::from(path)];
    assert_eq!(
        changed(r#"openat(AT_FDCWD</nowhere>, "a", O_RDONLY|O_CLOEXEC) = 3</nowhere/a>"#),
        Vec::<PathBuf>::new()
    );
    assert_eq!(
        changed(r#"openat(AT_FDCWD</nowhere>, "a", O_RDWR|O_CREAT, 0644) = 3</else/b>"#),
        at("/else/b")
    );
    assert_eq!(
        changed(
            r#"openat2(4</nowhere/x>, "a \"b", {flags=O_WRONLY|O_CREAT, mode=0666}, 24) = -1 ENOENT (No such file)"#
        ),
        at("/nowhere/x/a \"b")
    );
    assert_eq!(changed(r#"symlinkat("/etc/passwd", 4</nowhere>, "l\303\251") = 0"#), at("/nowhere/lé"));
    assert_eq!(
        changed(r#"renameat(4</nowhere>, "a", 5</elsewhere>, "b") = 0"#),
        [PathBuf::from("/nowhere/a"), PathBuf::from("/elsewhere/b")]
    );
    assert_eq!(changed(r#"unlink("/nowhere/a = b") = 0"#), at("/nowhere/a = b"));
    assert_eq!(changed(r#"mkdir("a/.ai", 0777) = -1 EEXIST (File exists)"#), at("/current/a/.ai"));
    assert!(changed("+++ exited with 0 +++").is_empty());
    assert_eq!(changed(r#"unlink("/proc/self/fd/9/runs.db-wal") = 0"#), at("/proc/self/fd/9/runs.db-wal"));
    let held = HeldFolders::of(&[
        "openat(4</p>, \".ai\", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_DIRECTORY) = 9</p/.ai>\n".to_owned(),
        "openat(AT_FDCWD</p>, \"x\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 9</p/x>\n".to_owned(),
    ]);
    assert_eq!(held.named(Path::new("/proc/self/fd/9/runs.db-wal")), at("/p/.ai/runs.db-wal"));
    assert_eq!(held.named(Path::new("/proc/self/fd/8/runs.db-wal")), Vec::<PathBuf>::new());
    assert_eq!(held.named(Path::new("/p/a")), at("/p/a"));
    let root = Path::new("/root-of-scene");
    for (path, may) in
        [("home/x", true), ("a/.ai/state/runs.db", true), ("out.json", true), ("victim/a", false)]
    {
        assert_eq!(may_change(root, &root.join(path), &["run", "out.json"]), may, "{path}");
    }
    assert!(!may_change(root, Path::new("/etc/passwd"), &["run"]));
}
