//! Completions of a shell: commands and options, runs of the project, items, keys and codes of problems.
//!
//! The shell calls this program for each press of the completion key. Candidates come only from the project and the user's space. After
//! an error or a timeout there are none.

use std::ffi::OsStr;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use graph_core::diagnostic::{codes, shell_quoted};
use graph_core::item::ItemType;
use graph_host::context::{current_project, home};
use graph_host::terminal::width::one_line;
use graph_runtime::error::Result;
use graph_runtime::graph_store::RunFilter;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::project::key_pairs::Pairs;
use graph_runtime::run::stores::Stores;
use graph_runtime::trust::trusted_keys;

/// Environment variable by which a shell's script asks for candidates; its value names the shell.
pub(crate) const VARIABLE: &str = "GRAPH_HOST_COMPLETE";
/// Limit of candidates.
const MOST: usize = 200;
/// Limit of runs that are read, the newest first.
const RUNS: usize = 500;
/// Time limit for the collection of candidates.
const TIME: Duration = Duration::from_millis(800);

/// A candidate with a short description.
type Candidate = (String, String);

/// Returns the command line with completers for the values of its arguments.
pub(crate) fn command() -> Command {
    with_completers(super::help::command(), "")
}

fn with_completers(command: Command, above: &str) -> Command {
    let name = format!("{above} {}", command.get_name());
    let of_keys = name.ends_with(" keys show") || name.ends_with(" keys rotate");
    let of_trust = name.contains(" trust ");
    let command = command.mut_args(|argument| complete_argument(argument, of_keys, of_trust));
    command.mut_subcommands(|below| with_completers(below, &name))
}

fn complete_argument(argument: Arg, of_keys: bool, of_trust: bool) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let is_positional = argument.is_positional();
    match id.as_str() {
        "run" => argument.add(of(runs)),
        "subject" if is_positional => argument.add(of(|| Ok(all_codes()))),
        "graph" | "item" | "file" | "files" | "path" | "paths" if is_positional => {
            argument.add(ArgValueCompleter::new(|current: &OsStr| {
                let mut found = candidates(current, items);
                let is_safe = |path: &CompletionCandidate| path.get_value().to_str().is_some_and(is_safe);
                found.extend(PathCompleter::any().complete(current).into_iter().filter(is_safe));
                found
            }))
        }
        "key" if of_trust && is_positional => argument.add(of(trusted)),
        "key" | "sign_with" => argument.add(of(keys)),
        "name" if of_keys => argument.add(of(keys)),
        _ => argument,
    }
}

fn of(list: impl Fn() -> Result<Vec<Candidate>> + Copy + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| candidates(current, list))
}

/// Checks whether a value can be inserted unquoted: shells insert candidates unchanged.
fn is_safe(value: &str) -> bool {
    shell_quoted(value) == value
}

/// Returns the candidates of a list that begin with the typed text.
fn candidates(
    current: &OsStr,
    list: impl FnOnce() -> Result<Vec<Candidate>> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let (give, taken) = mpsc::channel();
    // The process does not wait for a disk that does not respond: it ends without the thread.
    let gathering = std::thread::Builder::new().spawn(move || {
        let _ = give.send(list().unwrap_or_default());
    });
    if gathering.is_err() {
        return Vec::new();
    }
    let found = taken.recv_timeout(TIME).unwrap_or_default();
    let found = found.into_iter().filter(|(value, _)| value.starts_with(current) && is_safe(value));
    found
        .take(MOST)
        .enumerate()
        .map(|(place, (value, about))| {
            let about = one_line(&about, 60);
            let help = (!about.is_empty()).then(|| about.into());
            CompletionCandidate::new(value).help(help).display_order(Some(place))
        })
        .collect()
}

/// Lists the runs of the project around the current folder, the newest first.
fn runs() -> Result<Vec<Candidate>> {
    let stores = Stores::to_read(&current_project()?, &home()?)?;
    let mut found = vec![("@last".to_owned(), "the newest run".to_owned())];
    let filter = RunFilter { limit: Some(RUNS), ..RunFilter::default() };
    stores.each_readable(&filter, |_, row| {
        found.push((row.run_id, format!("{} {}", row.graph_id, row.status.as_str().replace('_', " "))));
        Ok(())
    })?;
    if found.len() == 1 {
        found.clear();
    }
    Ok(found)
}

fn all_codes() -> Vec<Candidate> {
    codes::ALL.iter().map(|code| (code.id().to_owned(), code.title().to_owned())).collect()
}

/// Lists the user's own keys.
fn keys() -> Result<Vec<Candidate>> {
    let names = Pairs::in_home(&home()?).names()?;
    Ok(names.into_iter().map(|name| (name, "a key of yours".to_owned())).collect())
}

/// Lists the keys of the user's trust store.
fn trusted() -> Result<Vec<Candidate>> {
    let store = trusted_keys::load(&home()?, &[], &())?;
    Ok(store.keys().iter().map(|key| (key.name.clone(), "a trusted key".to_owned())).collect())
}

/// Lists items of the project and the user's space, installed ones included.
fn items() -> Result<Vec<Candidate>> {
    let (home, project) = (home()?, current_project()?);
    let locator = ItemLocator::new(&[], Some(project.folder()), &home, &project);
    let types = [ItemType::Tool, ItemType::Knowledge, ItemType::Directive];
    let found = types.into_iter().flat_map(|item_type| locator.list(item_type).into_iter().take(MOST));
    Ok(found.map(|item| (item.id, String::new())).collect())
}
