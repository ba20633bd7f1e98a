//! Help of commands with many subcommands, in groups by purpose.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use graph_host::terminal::output::{BOLD, styled};
use graph_host::terminal::width::{width, wrapped};

/// A group of commands: its heading, and their names in order.
type Group = (&'static str, &'static [&'static str]);

const COMMANDS: &[Group] = &[
    ("Run and resume", &["run", "resume", "runs", "replay"]),
    (
        "Write and check",
        &["new", "build", "bundle", "validate", "test", "graph", "caps", "schema", "explain"],
    ),
    (
        "Trust and share",
        &[
            "inspect", "keys", "trust", "sign", "verify", "publish", "yank", "pull", "lock", "search",
            "registry",
        ],
    ),
    ("Maintain", &["doctor", "cache", "migrate", "completions", "man", "help"]),
];

const RUNS: &[Group] = &[
    (
        "Look",
        &[
            "list",
            "show",
            "open",
            "watch",
            "history",
            "chain",
            "state",
            "diff",
            "logs",
            "events",
            "transcript",
        ],
    ),
    ("Act", &["wait", "cancel", "kill", "update", "fork"]),
    ("Maintain", &["verify", "export", "import", "gc", "adopt", "help"]),
];

/// Limit of columns: longer lines of help are hard to read.
const WIDEST: usize = 100;

/// Returns the command line of graph-host, with its help in groups.
pub(crate) fn command() -> Command {
    grouped(crate::Cli::command(), COMMANDS).mut_subcommand("runs", |runs| grouped(runs, RUNS))
}

fn grouped(command: Command, groups: &[Group]) -> Command {
    let listing = listing(&command, groups);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listing}\n{}\n{{options}}{{after-help}}",
        heading("Options")
    ))
}

/// Renders a heading like those of clap.
fn heading(text: &str) -> String {
    styled(BOLD.underline(), format_args!("{text}:"))
}

fn listing(command: &Command, groups: &[Group]) -> String {
    let about = |name: &str| match name {
        "help" => Some("Print the help of a command".to_owned()),
        name => command.find_subcommand(name)?.get_about().map(ToString::to_string),
    };
    let is_grouped = |name: &str| groups.iter().any(|(_, names)| names.contains(&name));
    // A command that is in no group is also listed.
    let others: Vec<&str> = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && !is_grouped(below.get_name()))
        .map(Command::get_name)
        .collect();
    let others = (!others.is_empty()).then_some(("Others", others.as_slice()));
    let columns = width().min(WIDEST);
    let names = groups.iter().copied().chain(others).flat_map(|(_, names)| names.iter().copied());
    let longest = names.map(str::len).max().unwrap_or_default();
    let mut text = String::new();
    for (title, names) in groups.iter().copied().chain(others) {
        let _ = write!(text, "\n{}\n", heading(title));
        for name in names {
            let Some(about) = about(name) else { continue };
            let indent = " ".repeat(longest + 4);
            let about = wrapped(&about, columns.saturating_sub(longest + 4), &indent);
            // Braces delimit tags in templates of clap.
            let about = about.replace(['{', '}'], "");
            let _ = writeln!(text, "  {}{}  {about}", styled(BOLD, name), " ".repeat(longest - name.len()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_a_group_and_every_name_is_a_command() {
        let root = crate::Cli::command();
        let runs = root.find_subcommand("runs").cloned().unwrap_or_default();
        for (command, groups) in [(root, COMMANDS), (runs, RUNS)] {
            let names: Vec<_> = groups.iter().flat_map(|(_, names)| names.iter().copied()).collect();
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            for name in &names {
                assert!(*name == "help" || known.contains(name), "no command {name}");
                assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            }
            let missing: Vec<_> = known.iter().filter(|name| !names.contains(name)).collect();
            assert!(missing.is_empty(), "in no group: {missing:?}");
        }
    }
}
