//! The reference of all commands as a page of Markdown, generated from the definitions of clap.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

/// Renders the page: a section for each command that is not hidden.
pub(super) fn page(root: &Command) -> String {
    let mut text = "# Commands\n\nThis page is generated: `graph-host man --markdown` prints it. Every command takes the options of \
                    [graph-host](#graph-host) itself, and `--help`.\n"
        .to_owned();
    add(&mut text, root, true);
    text
}

// Writing to a string does not fail.
fn add(text: &mut String, command: &Command, is_root: bool) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = write!(text, "\n## {name}\n\n");
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "{}", sentence(&about));
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(text, "\n```text\n{}\n```", usage.trim_start_matches("Usage: ").trim());
    let is_shown = |arg: &&Arg| {
        !arg.is_hide_set()
            && !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            )
            && (is_root || !arg.is_global_set())
    };
    let mut args = command.get_arguments().filter(is_shown).peekable();
    if args.peek().is_some() {
        let _ = writeln!(text, "\n| Argument | Meaning |\n|---|---|");
    }
    for arg in args {
        let _ = writeln!(text, "| `{}` | {} |", cell(&named(arg)), cell(&meaning(arg)));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add(text, below, false);
    }
}

/// Renders the name of an argument: `-o, --output <FILE>`, or `<FILE>`.
fn named(arg: &Arg) -> String {
    let values: Vec<_> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect();
    let takes_value = arg.get_action().takes_values();
    let values = if takes_value { values.join(" ") } else { String::new() };
    let flags: Vec<_> =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))]
            .into_iter()
            .flatten()
            .collect();
    if flags.is_empty() {
        return if values.is_empty() {
            format!("<{}>", arg.get_id().as_str().to_uppercase())
        } else {
            values
        };
    }
    format!("{} {values}", flags.join(", ")).trim_end().to_owned()
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = sentence(&help).replace('\n', " ");
    if arg.get_action().takes_values() {
        let values: Vec<_> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            let _ = write!(text, " One of {}.", values.join(", "));
        }
        let defaults: Vec<_> =
            arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        if !defaults.is_empty() {
            let _ = write!(text, " Default: {}.", defaults.join(", "));
        }
    }
    text
}

/// Adds the full stop that help texts lack.
fn sentence(help: &str) -> String {
    let help = help.trim();
    if help.is_empty() || help.ends_with(['.', ':', '?', '!']) { help.to_owned() } else { format!("{help}.") }
}

/// Escapes a `|`, which would end a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
