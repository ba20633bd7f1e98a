//! Commands that are shown to be typed: about a run, they name the project that this command was given.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use graph_core::diagnostic::shell_quoted;

use crate::terminal::width::end_of_command;

/// The project that this command was given, where it is not the one of the current folder. A process works on one.
static NAMED: OnceLock<String> = OnceLock::new();

/// Notes the project that this command was given.
pub fn name_project(folder: &Path) {
    // A process has one project: a second call has no effect.
    let _ = NAMED.set(project_option(folder));
}

/// The option that names a project.
pub fn project_option(folder: &Path) -> String {
    format!(" --project {}", shell_quoted(&folder.display().to_string()))
}

/// The text with the project that this command was given in each command of it that is about runs.
pub fn in_named_project(text: &str) -> Cow<'_, str> {
    NAMED.get().map_or(Cow::Borrowed(text), |option| with_option(text, option))
}

/// The text with an option at the end of each command about runs that names no project.
fn with_option<'t>(text: &'t str, option: &str) -> Cow<'t, str> {
    const PROGRAM: &str = "graph-host ";
    if !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + option.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let line = &from[..from.find('\n').unwrap_or(from.len())];
        let command = &line[..end_of_command(line, before.ends_with('`'))];
        // A comment after the command is not part of it.
        let command = command.split("  #").next().unwrap_or(command).trim_end_matches([' ', '.']);
        shown.push_str(command);
        let is_typed = before.is_empty() || before.ends_with([' ', '`', '\n', '(']);
        if is_typed
            && is_about_runs(&command[PROGRAM.len().min(command.len())..])
            && !command.contains(" --project ")
        {
            shown.push_str(option);
        }
        // An empty command still consumes the program's name, so that the loop advances.
        let passed = command.len().max(PROGRAM.len());
        shown.push_str(&from[command.len()..passed]);
        rest = &from[passed..];
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Returns true for the words of a command about runs of a project. `runs import` is excluded: it writes into another project.
fn is_about_runs(command: &str) -> bool {
    let mut words = command.split(' ');
    match (words.next(), words.next()) {
        (Some("resume" | "replay"), Some(_)) => true,
        (Some("runs"), Some(about)) => about != "import",
        _ => false,
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
        ] {
            assert_eq!(with_option(text, " --project p"), shown, "{text}");
        }
    }
}
