//! Options that several commands share, and their conversion for the library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use graph_core::diagnostic::shell_quoted;
use graph_core::record::LogLevel;
use graph_core::trust::Yank;
use graph_core::yaml::{parse_duration, parse_size};
use graph_host::context::{Context, is_current};
use graph_host::terminal::remedies;
use graph_host::terminal::typed::project_option;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::events::{Namespaces, StreamKind};
use graph_runtime::project::Project;
use graph_runtime::project::paths::absolute;
use graph_runtime::registry::fetch_cache::{self, FetchedReference};
use graph_runtime::registry::pull::{Network, Puller, reference};
use graph_runtime::run::stores::StoreKind;
use graph_runtime::sources::Sources;
use graph_runtime::trust::trusted_keys;

/// Reads a size, such as `512MiB`.
pub(crate) fn size(text: &str) -> std::result::Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

/// Returns a run as an argument of commands: as the user typed it, with its project unless that is the one of the current folder.
pub(crate) fn typed_run(run: &str, project: &Path) -> String {
    let run = shell_quoted(run);
    if is_current(project) { run } else { run + &project_option(project) }
}

/// Names the run in the commands of an error's remedy.
pub(crate) fn about_run(error: Error, typed: &str) -> Error {
    let Some(help) = remedies::of_error(&error) else { return error };
    let named = help.replace(" RUN`", &format!(" {typed}`")).replace(" RUN ", &format!(" {typed} "));
    if named == help { error } else { remedies::reworded(error, named) }
}

/// Where things are taken from: the options that say so are the same wherever components are used.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SourceArgs {
    /// A trust file whose keys count for this command, in addition to those of your trust store
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    pub(crate) trust: Vec<PathBuf>,
    /// A folder that is searched for items before all others, as DIR/ID.wasm
    #[arg(long, value_name = "DIR", help_heading = "Permissions and items")]
    pub(crate) items: Vec<PathBuf>,
    /// The project whose .ai folder is searched for items; without it, the nearest folder with .ai, upwards from the graph
    /// (`inspect`: from the current folder)
    #[arg(long, value_name = "DIR", help_heading = "Permissions and items")]
    pub(crate) project: Option<PathBuf>,
    /// Accept components without a signature, for those that you are developing
    #[arg(long, help_heading = "Permissions and items")]
    pub(crate) allow_unsigned: bool,
}

impl SourceArgs {
    /// Converts the options for the library.
    pub(crate) fn sources(&self) -> Sources {
        let Self { trust, items, project, allow_unsigned } = self.clone();
        Sources { trust, items, project, allow_unsigned }
    }

    /// Fetches the item of a reference, and searches its folder for items from then on. Any other word is returned unchanged.
    pub(crate) fn fetch(&mut self, word: &str, project: &Project, context: &Context) -> Result<String> {
        let mut sources = self.sources();
        let word = fetch_cache::named(word, &mut sources, project, &context.host)?;
        self.items = sources.items;
        Ok(word)
    }

    /// Like [`Self::fetch`], but returns the fetched item with its data; `None` for a word that is no reference.
    pub(crate) fn fetched(
        &mut self,
        word: &str,
        project: &Project,
        context: &Context,
    ) -> Result<Option<FetchedReference>> {
        let mut sources = self.sources();
        let fetched = fetch_cache::fetched(word, &mut sources, project, &context.host, false)?;
        self.items = sources.items;
        Ok(fetched)
    }

    /// Like [`Self::fetched`], for commands that only show the item: a yanked one is not rejected, and its yank is returned.
    pub(crate) fn fetched_to_show(
        &mut self,
        word: &str,
        project: &Project,
        context: &Context,
    ) -> Result<Option<(FetchedReference, Option<Yank>)>> {
        let mut sources = self.sources();
        let fetched = fetch_cache::fetched(word, &mut sources, project, &context.host, true)?;
        self.items = sources.items;
        let Some(fetched) = fetched else { return Ok(None) };
        // The fetch has already reported the problems of the trust store.
        let store = trusted_keys::load(&context.host.home, &self.trust, &())?;
        let (home, named) = (&context.host.home, reference(word)?);
        let options = Network::default().options(home, std::slice::from_ref(&named));
        let yank = Puller { options, trust: &store, home }.yank_to_show(&named, &*context.host.notices);
        Ok(Some((fetched, yank)))
    }
}

/// What this command says of a stored run, in the place of what the run was started with.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct GivenArgs {
    /// The capability manifest that counts from here on. A run of another host needs one: what its own manifest allows counts
    /// for nothing here
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    pub(crate) caps: Option<PathBuf>,
    /// For a run of another host: a trust file whose keys count for this command, in addition to those of your trust store
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    pub(crate) trust: Vec<PathBuf>,
    /// For a run of another host: a folder that is searched for items before all others, as DIR/ID.wasm
    #[arg(long, value_name = "DIR", help_heading = "Permissions and items")]
    pub(crate) items: Vec<PathBuf>,
    /// For a run of another host: accept components without a signature
    #[arg(long, help_heading = "Permissions and items")]
    pub(crate) allow_unsigned: bool,
}

impl GivenArgs {
    /// Returns the sources of items and trust for the library.
    pub(crate) fn sources(&self) -> Sources {
        let Self { trust, items, allow_unsigned, .. } = self.clone();
        Sources { trust, items, project: None, allow_unsigned }
    }

    /// Returns the options for another process, with absolute paths.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let named = |option: &str, path: &Path| {
            let mut text = OsString::from(option);
            text.push("=");
            text.push(absolute(path));
            text
        };
        let mut options: Vec<_> = self.caps.iter().map(|path| named("--caps", path)).collect();
        options.extend(self.trust.iter().map(|path| named("--trust", path)));
        options.extend(self.items.iter().map(|path| named("--items", path)));
        options.extend(self.allow_unsigned.then(|| "--allow-unsigned".into()));
        options
    }
}

/// How registries are talked to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkArgs {
    /// Use plain HTTP, without TLS; this is the default for registries on this machine, unless `false` is given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    plain_http: Option<bool>,
    /// The most time that all requests together may take, such as 30s or 10m
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = span)]
    timeout: Duration,
    /// A host that may issue tokens for a registry and is sent your credentials for it, such as `auth.docker.io`; without
    /// it, only the registry itself may. `GRAPH_HOST_REGISTRY_TOKEN_REALM` names such a host, too
    #[arg(long, value_name = "HOST")]
    token_realm: Vec<String>,
}

impl NetworkArgs {
    /// Converts the options for the library.
    pub(crate) fn network(&self) -> Network {
        let Self { plain_http, timeout, token_realm } = self.clone();
        Network { plain_http, timeout, token_realm }
    }
}

fn span(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(span) if span.is_zero() => Err("it has to be longer than nothing".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses one of these words; each has a help text and a value.
fn choice<T: Copy + Send + Sync + 'static>(
    choices: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let values = choices.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).try_map(|given| {
        let chosen = choices.iter().find(|(word, _, _)| *word == given);
        chosen.map(|(_, _, value)| *value).ok_or("is none of the possible values")
    })
}

/// Parses the store of a run.
pub(crate) fn store() -> impl TypedValueParser<Value = StoreKind> {
    choice(&[
        ("sqlite", "In the project's database, .ai/state/runs.db", StoreKind::Sqlite),
        ("file", "As files in .ai/state/files, and as knowledge that graphs can load", StoreKind::File),
        ("memory", "Nowhere: nothing is left of the run when the command ends", StoreKind::Memory),
    ])
}

/// Parses a kind of events in a stream.
pub(crate) fn stream() -> impl TypedValueParser<Value = StreamKind> {
    choice(&[
        ("values", "The whole state after each step", StreamKind::Values),
        ("updates", "What each node wrote", StreamKind::Updates),
        (
            "events",
            "Steps, tasks, retries, hooks, commits, warnings, and how the run ends",
            StreamKind::Events,
        ),
        ("debug", "Everything; live also the params and results of tasks", StreamKind::Debug),
        ("interrupts", "The questions that the run asks", StreamKind::Interrupts),
        ("custom", "What components emit", StreamKind::Custom),
        ("logs", "The log lines of components", StreamKind::Logs),
        ("messages", "What language models answer, while it arrives; live only", StreamKind::Messages),
    ])
}

/// Parses the least important level of log lines that are shown.
pub(crate) fn log_level() -> impl TypedValueParser<Value = LogLevel> {
    choice(&[
        ("trace", "Every step of the work", LogLevel::Trace),
        ("debug", "Details that help to find a fault", LogLevel::Debug),
        ("info", "What a person who watches the run wants to know", LogLevel::Info),
        ("warn", "Something is not as it should be", LogLevel::Warn),
        ("error", "Something failed", LogLevel::Error),
    ])
}

/// Parses the part of a tree of runs that is shown.
pub(crate) fn namespaces() -> impl TypedValueParser<Value = Namespaces> {
    choice(&[
        ("all", "The run and its child runs", Namespaces::All),
        ("top", "The run itself, without its child runs", Namespaces::Top),
    ])
}
