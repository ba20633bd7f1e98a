//! `graph-host cache`: compiled components and fetched items, which can be recreated.

use graph_host::context::current_project;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use graph_core::diagnostic::printable;
use graph_core::time::Timestamp;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::Result;
use graph_runtime::graph_engine::CachePolicy;
use graph_runtime::project::cache_limit;
use graph_runtime::upkeep::caches::{self, Cached};
use serde::Serialize;

use super::runs::parse_span;
use crate::command::args;

/// List and remove cached components and items
///
/// The caches hold compiled components, items that were fetched by reference, and the target folder that `build` uses.
///
/// Compiled components are kept up to 2 GiB, or up to the size in `GRAPH_HOST_CACHE_LIMIT` (such as `512MiB`; `none` for no
/// limit). When another one is added, the least recently used ones are removed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List what is cached, the least recently used first
    List,
    /// Remove compiled components, fetched items, and the target folder that `build` uses
    ///
    /// Without options, only compiled components beyond the limit and what killed processes left behind are removed. Items
    /// are never removed if the lockfile of the project around the current folder names them, or if one of its runs needs
    /// them to be resumed.
    Prune(Prune),
}

#[derive(Debug, clap::Args)]
struct Prune {
    /// Remove everything
    #[arg(long, conflicts_with_all = ["older_than", "max_size"])]
    all: bool,
    /// Remove what was not used for this long, such as 12h, 30d
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_span)]
    older_than: Option<Duration>,
    /// Remove compiled components, the least recently used first, until the rest takes at most SIZE, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = args::size)]
    max_size: Option<u64>,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    match args.command {
        Command::List => {
            let report = ListReport::of(&caches::list(&context.host.home, &current_project()?)?, context)?;
            output.show(&report, || report.render())?;
        }
        Command::Prune(args) => {
            let is_chosen = args.all || args.older_than.is_some() || args.max_size.is_some();
            let policy = CachePolicy {
                all: args.all,
                older_than: args.older_than,
                most_bytes: if is_chosen { args.max_size } else { cache_limit::limit()? },
                dry_run: args.dry_run,
            };
            let report = PruneReport {
                dry_run: args.dry_run,
                removed: Entries::of(&caches::prune(&context.host.home, &current_project()?, policy)?),
            };
            output.show(&report, || report.render())?;
        }
    }
    Ok(Exit::Ok)
}

/// Cached entries in a report.
#[derive(Debug, Serialize)]
struct Entries {
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    built: Option<BuildFolder>,
    compiled: Vec<CompiledEntry>,
    fetched: Vec<FetchedEntry>,
}

#[derive(Debug, Serialize)]
struct CompiledEntry {
    component: String,
    engine: String,
    bytes: u64,
    last_used: String,
}

#[derive(Debug, Serialize)]
struct FetchedEntry {
    item: String,
    manifest: String,
    bytes: u64,
    last_used: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    needed_by: Option<String>,
}

#[derive(Debug, Serialize)]
struct BuildFolder {
    bytes: u64,
    last_used: String,
}

fn time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).to_string()
}

impl Entries {
    fn of(cached: &Cached) -> Self {
        let compiled = cached.compiled.iter().map(|one| CompiledEntry {
            component: format!("sha256:{}", one.component),
            engine: one.engine.clone(),
            bytes: one.bytes,
            last_used: time(one.last_used),
        });
        let fetched = cached.fetched.iter().map(|one| FetchedEntry {
            item: one.item.clone(),
            manifest: one.manifest.clone(),
            bytes: one.bytes,
            last_used: time(one.last_used),
            needed_by: one.needed_by.clone(),
        });
        let (compiled, fetched): (Vec<_>, Vec<_>) = (compiled.collect(), fetched.collect());
        let built = cached.built.as_ref();
        let built = built.map(|built| BuildFolder { bytes: built.bytes, last_used: time(built.last_used) });
        let items = compiled.iter().map(|one| one.bytes).chain(fetched.iter().map(|one| one.bytes));
        let bytes = items.chain(built.iter().map(|built| built.bytes)).sum();
        Self { bytes, built, compiled, fetched }
    }

    fn lines(&self) -> Vec<String> {
        let compiled = self.compiled.iter().map(|one| {
            let about = styled(DIM, format_args!("engine {}, used {}", one.engine, one.last_used));
            format!("compiled  {}  {:>9}  {about}", styled(BOLD, &one.component[..19]), bytes(one.bytes))
        });
        let fetched = self.fetched.iter().map(|one| {
            let needed = one.needed_by.as_ref().map(|by| format!(", needed by {by}")).unwrap_or_default();
            let about = format!("{}, used {}{needed}", one.item, one.last_used);
            let about = styled(DIM, printable(&about));
            format!("fetched   {}  {:>9}  {about}", styled(BOLD, &one.manifest[..19]), bytes(one.bytes))
        });
        let built = self.built.iter().map(|built| {
            let about = styled(DIM, format_args!("by `build`, used {}", built.last_used));
            format!("built     {}  {:>14}  {about}", styled(BOLD, "what nodes use"), bytes(built.bytes))
        });
        compiled.chain(fetched).chain(built).collect()
    }

    fn counts(&self) -> String {
        let compiled = counted(self.compiled.len() as u64, "compiled component");
        let fetched = counted(self.fetched.len() as u64, "fetched item");
        format!("{compiled}, {fetched}, {}", bytes(self.bytes))
    }
}

/// Renders a size for people.
fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KiB", count >> 10),
        _ => format!("{} MiB", count >> 20),
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    folder: String,
    limit: Option<u64>,
    #[serde(flatten)]
    entries: Entries,
}

impl ListReport {
    fn of(cached: &Cached, context: &Context) -> Result<Self> {
        let folder = shown(context.host.home.cache());
        Ok(Self { folder, limit: cache_limit::limit()?, entries: Entries::of(cached) })
    }

    fn render(&self) -> String {
        let limit =
            self.limit.map_or_else(|| "no limit".to_owned(), |limit| format!("limit {}", bytes(limit)));
        let mut lines = self.entries.lines();
        lines.push(format!("{}; {limit} for compiled components in {}", self.entries.counts(), self.folder));
        lines.join("\n")
    }
}

#[derive(Debug, Serialize)]
struct PruneReport {
    dry_run: bool,
    removed: Entries,
}

impl PruneReport {
    fn render(&self) -> String {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let mut lines = self.removed.lines();
        lines.push(format!("{verb} {}", self.removed.counts()));
        lines.join("\n")
    }
}
