//! Advice on values of options that begin with a hyphen.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use graph_core::diagnostic::shell_quoted;

/// Replaces clap's advice on a value that begins with a hyphen: after `--`, it would not be a value of an option.
pub(crate) fn advise(error: &mut Error, arguments: &[String], command: &Command) {
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return };
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let Some(written) = written(unexpected, arguments, command) else { return };
    let tip = format!("a value that begins with `-` is written {}", shell_quoted(&written));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Returns the option with its value, `--option=-value`, if the unexpected argument follows an option that takes a value.
fn written(unexpected: &str, arguments: &[String], command: &Command) -> Option<String> {
    let mut command = command;
    let mut option: Option<&Arg> = None;
    for argument in arguments.iter().take_while(|argument| *argument != "--") {
        if let Some(option) = option.filter(|_| argument.starts_with('-') && argument.starts_with(unexpected))
        {
            return Some(format!("--{}={argument}", option.get_long()?));
        }
        if let Some(inner) = command.find_subcommand(argument) {
            command = inner;
        }
        option = command.get_arguments().find(|known| {
            let is_long = known.get_long().is_some_and(|long| argument.strip_prefix("--") == Some(long));
            let is_short = known.get_short().is_some_and(|short| *argument == format!("-{short}"));
            known.get_action().takes_values() && (is_long || is_short)
        });
    }
    None
}
