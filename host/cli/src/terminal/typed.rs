//! Options in suggested commands: the project and the files that this command was given, so that a suggestion works on the same.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::ArgMatches;
use graph_core::diagnostic::shell_path;

use crate::terminal::width::end_of_command;

/// Project that this command was given, if it is not the one of the current folder. A process works on one project.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Trust files and folders of items that this command was given.
static GIVEN: OnceLock<RepeatedOptions> = OnceLock::new();

/// Options that a suggested command repeats, quoted for a shell.
#[derive(Clone, Debug, Default)]
struct RepeatedOptions {
    /// The project.
    project: Option<String>,
    /// The trust files, `--trust`.
    trust: Vec<String>,
    /// The folders of items, `--items`.
    items: Vec<String>,
    /// Trust store of a `trust` command, `--file`, in place of the user's.
    file: Option<String>,
}

/// Records the project that this command was given.
pub fn name_project(folder: &Path) {
    // A process has one project: a second call has no effect.
    let _ = NAMED.set(folder.to_path_buf());
}

/// Records the files and folders of a command line.
pub fn name_files(line: &ArgMatches) {
    let is_about_trust = line.subcommand_name() == Some("trust");
    let mut leaf = line;
    while let Some((_, below)) = leaf.subcommand() {
        leaf = below;
    }
    let all = |id: &str| -> Vec<String> {
        let found = leaf.try_get_many::<PathBuf>(id).ok().flatten();
        found.into_iter().flatten().map(|path| typed(path)).collect()
    };
    let file = if is_about_trust { all("file").pop() } else { None };
    // In `trust` commands, `--items` is a pattern, not a folder.
    let items = if is_about_trust { Vec::new() } else { all("items") };
    let _ = GIVEN.set(RepeatedOptions { project: None, trust: all("trust"), items, file });
}

/// Quotes a path for a shell.
fn typed(path: &Path) -> String {
    shell_path(&path.display().to_string())
}

/// Returns the option that names a project.
pub fn project_option(folder: &Path) -> String {
    format!(" --project {}", typed(folder))
}

/// Adds the options of this command's project and files to each command in a text that takes them.
pub fn in_named_project(text: &str) -> Cow<'_, str> {
    let project = NAMED.get().map(|folder| typed(folder));
    with_options(text, &RepeatedOptions { project, ..GIVEN.get().cloned().unwrap_or_default() })
}

/// Adds the options to each command in a text that takes them and does not have them.
fn with_options<'t>(text: &'t str, given: &RepeatedOptions) -> Cow<'t, str> {
    const PROGRAM: &str = "graph-host ";
    if !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let line = &from[..from.find('\n').unwrap_or(from.len())];
        let command = &line[..end_of_command(line, before.ends_with('`'))];
        // A comment after the command is not part of it, nor is the file that its output is written to.
        let command = command.split("  #").next().unwrap_or(command);
        let command = command.split(" > ").next().unwrap_or(command).trim_end_matches([' ', '.']);
        let is_typed = before.is_empty() || before.ends_with([' ', '`', '\n', '(']);
        let words = &command[PROGRAM.len().min(command.len())..];
        if is_typed
            && words == "pull"
            && let Some(folder) = &given.project
        {
            // `pull` restores the items of the lockfile in the current folder.
            let _ = write!(shown, "cd {folder} && ");
        }
        shown.push_str(command);
        if is_typed {
            for option in options(words, given) {
                if !command.contains(option.split_inclusive(' ').take(2).collect::<String>().as_str()) {
                    shown.push_str(&option);
                }
            }
        }
        // An empty command still consumes the program's name, so that the loop advances.
        let passed = command.len().max(PROGRAM.len());
        shown.push_str(&from[command.len()..passed]);
        rest = &from[passed..];
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Returns those of the given options that a command takes. A command that is mentioned without its arguments takes none.
fn options(command: &str, given: &RepeatedOptions) -> Vec<String> {
    let mut words = command.split(' ');
    let all = |option: &str, values: &[String]| -> Vec<String> {
        values.iter().map(|value| format!(" --{option} {value}")).collect()
    };
    let project = all("project", given.project.as_slice());
    let (trust, items) = (all("trust", &given.trust), all("items", &given.items));
    match (words.next(), words.next(), words.next()) {
        (Some("resume" | "replay"), Some(_), _) | (Some("migrate"), ..) => project,
        // `runs import` writes into another project.
        (Some("runs"), Some(about), _) if about != "import" => project,
        (Some("inspect"), Some(_), _) | (Some("caps"), Some("suggest"), Some(_)) => {
            [project, trust, items].concat()
        }
        (Some("trust"), Some("list"), _) => [trust, all("trust", given.file.as_slice())].concat(),
        (Some("trust"), Some("add" | "set" | "revoke" | "remove" | "rotate"), Some(_)) => {
            all("file", given.file.as_slice())
        }
        (Some("pull" | "lock" | "search" | "yank" | "publish" | "verify"), Some(_), _) => trust,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_about_runs_names_the_project() {
        for (text, shown) in [
            ("look: graph-host runs show r", "look: graph-host runs show r --project p"),
            (
                "`graph-host runs list` shows them; graph-host resume r --caps FILE, or not",
                "`graph-host runs list --project p` shows them; graph-host resume r --caps FILE --project p, or not",
            ),
            ("graph-host replay 'a, b' --live\nx", "graph-host replay 'a, b' --live --project p\nx"),
            ("graph-host resume r --project q", "graph-host resume r --project q"),
            ("graph-host resume r  # once more", "graph-host resume r --project p  # once more"),
            ("with graph-host runs adopt. Of others", "with graph-host runs adopt --project p. Of others"),
            ("graph-host runs import FILE", "graph-host runs import FILE"),
            ("to `graph-host resume`", "to `graph-host resume`"),
            ("see graph-host explain rye; graph-host runs", "see graph-host explain rye; graph-host runs"),
            ("graph-host is a program", "graph-host is a program"),
            ("see: graph-host inspect t/kit", "see: graph-host inspect t/kit --project p"),
            ("`graph-host inspect` lists them", "`graph-host inspect` lists them"),
            ("`graph-host pull` restores it", "`cd p && graph-host pull` restores it"),
            (
                "graph-host caps suggest g.yaml > caps.yaml",
                "graph-host caps suggest g.yaml --project p > caps.yaml",
            ),
        ] {
            let given = RepeatedOptions { project: Some("p".to_owned()), ..RepeatedOptions::default() };
            assert_eq!(with_options(text, &given), shown, "{text}");
        }
    }

    #[test]
    fn commands_name_the_files_that_were_given() {
        let given = RepeatedOptions {
            trust: vec!["t.yaml".to_owned(), "'u v.yaml'".to_owned()],
            items: vec!["i".to_owned()],
            file: Some("f.yaml".to_owned()),
            ..RepeatedOptions::default()
        };
        for (text, shown) in [
            (
                "graph-host trust set me --also-may http",
                "graph-host trust set me --also-may http --file f.yaml",
            ),
            ("graph-host trust set me --file g.yaml", "graph-host trust set me --file g.yaml"),
            ("`graph-host trust add`, or", "`graph-host trust add`, or"),
            (
                "`graph-host trust list` shows them",
                "`graph-host trust list --trust t.yaml --trust 'u v.yaml' --trust f.yaml` shows them",
            ),
            ("graph-host inspect a/b", "graph-host inspect a/b --trust t.yaml --trust 'u v.yaml' --items i"),
            ("graph-host resume r", "graph-host resume r"),
        ] {
            assert_eq!(with_options(text, &given), shown, "{text}");
        }
    }
}
