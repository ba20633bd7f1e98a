//! `graph-host doctor`.

use graph_host::context::named_project;
use graph_host::terminal::remedies;
use std::path::Path;

use graph_core::diagnostic::printable;
use graph_core::record::Status;
use graph_core::trust::TrustStore;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{Holder, RunFilter};
use graph_runtime::plan::engine;
use graph_runtime::project::Project;
use graph_runtime::project::user_home::Home;
use graph_runtime::run::stores::{self, Stores};
use graph_runtime::trust::trusted_keys;
use graph_toolchain::c::{Compiler, INSTALL as INSTALL_CLANG};
use graph_toolchain::javascript::{self, OLDEST_NODE};
use graph_toolchain::python;
use graph_toolchain::rust::Toolchain;
use serde::Serialize;
use serde_json::json;

use crate::command::runs::relations::is_created;

/// Check this machine and project for problems
///
/// Nothing is changed, except that a missing identity key is generated, as the first run would do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The project to check; without it, the one around the current folder
    #[arg(long, value_name = "DIR")]
    project: Option<std::path::PathBuf>,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Good,
    /// A missing part that only some commands need.
    Note,
    Bad,
}

/// A line of the report.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    standing: Health,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Finding {
    fn new(what: &'static str, standing: Health, found: impl Into<String>) -> Self {
        Self { what, standing, found: found.into(), help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Converts the outcome of an operation.
    fn of(what: &'static str, outcome: Result<String>) -> Self {
        match outcome {
            Ok(found) => Self::new(what, Health::Good, found),
            Err(error) => Self {
                help: remedies::of_error(&error),
                ..Self::new(what, Health::Bad, remedies::message(&error))
            },
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let mut findings = vec![
        Finding::new(
            "version",
            Health::Good,
            format!(
                "graph-host {} on {} {}",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::OS,
                std::env::consts::ARCH
            ),
        ),
        Finding::new("your space", Health::Good, shown(context.host.home.root())),
        Finding::of("identity", identity(context)),
        trusted(context),
        Finding::of("cache", writable(context.host.home.cache())),
        engine(context),
        guests(),
        javascript(),
        python(),
        language_c(),
    ];
    let project = named_project(args.project.as_deref())?;
    findings.push(Finding::new("project", Health::Good, shown(project.folder())));
    findings.push(stored(&project, &context.host.home));
    let broken = findings.iter().any(|finding| finding.standing == Health::Bad);
    let output = context.output;
    if output.is_json() {
        output.document(&json!({ "sound": !broken, "findings": findings }))?;
    } else {
        for finding in &findings {
            let mark = match finding.standing {
                Health::Good => styled(output::GOOD, "✓"),
                Health::Note => styled(output::CAUTION, "!"),
                Health::Bad => styled(output::BAD, "✗"),
            };
            output.line(format_args!("{mark} {:<12} {}", finding.what, printable(&finding.found)))?;
            if let Some(help) = &finding.help {
                output.line(format_args!("{:<15}{}", "", styled(output::DIM, printable(help))))?;
            }
        }
    }
    Ok(if broken { Exit::Storage } else { Exit::Ok })
}

/// Checks the key with which this host signs: only the user may be able to read it.
fn identity(context: &Context) -> Result<String> {
    let key = context.host.home.identity()?;
    let path = context.host.home.identity_file();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            std::fs::metadata(&path).map_err(|error| Error::read("the identity key", &path, &error))?;
        if mode.permissions().mode() & 0o077 != 0 {
            return Err(Error::storage(format!("{} can be read by others", path.display()))
                .help(format!("chmod 600 {}", path.display())));
        }
    }
    Ok(format!("{}  {}", key.id().short(), shown(&path)))
}

fn trusted(context: &Context) -> Finding {
    let what = "trust";
    let store: TrustStore = match trusted_keys::load(&context.host.home, &[], &*context.host.notices) {
        Ok(store) => store,
        Err(error) => return Finding::of(what, Err(error)),
    };
    // This host's own key is trusted for its records of runs only, not for items.
    let own = context.host.home.verifying_identities().unwrap_or_default();
    let keys: Vec<_> = store.keys().iter().filter(|entry| !own.contains(&entry.key)).collect();
    let (count, at) = (keys.len(), now());
    let past = keys.iter().filter(|key| !key.is_valid(at)).count();
    if count == 0 {
        return Finding::new(what, Health::Note, "no key is trusted: only components under development run")
            .help("graph-host trust add NAME --key FILE --items PATTERN, or name a trust file with --trust");
    }
    let found = run_report::counted(count as u64, "trusted key");
    if past > 0 {
        return Finding::new(
            what,
            Health::Note,
            format!("{found}, {past} of them expired, revoked or not yet valid"),
        )
        .help("graph-host trust list");
    }
    Finding::new(what, Health::Good, found)
}

/// Checks whether files can be created in a folder.
fn writable(folder: &Path) -> Result<String> {
    let failed = |error: std::io::Error| Error::write("the folder", folder, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    tempfile::tempfile_in(folder).map_err(failed)?;
    Ok(shown(folder))
}

fn engine(context: &Context) -> Finding {
    match engine::engine(&context.host) {
        Ok(engine) if engine.pooled() => Finding::new(
            "engine",
            Health::Good,
            format!("instances from a pool, {}", engine.digest().short()),
        ),
        Ok(engine) => Finding::new(
            "engine",
            Health::Note,
            format!("no pool of instances, so calls are slower, {}", engine.digest().short()),
        )
        .help("the address space of this process is limited: see `ulimit -v`"),
        Err(error) => Finding::of("engine", Err(error)),
    }
}

/// Checks the toolchain for nodes in Rust.
fn guests() -> Finding {
    match Toolchain::detect() {
        Ok(toolchain) => Finding::new("guests", Health::Good, toolchain.to_string()),
        // Only authors of nodes need it.
        Err(error) => Finding::new("guests", Health::Note, error.to_string()),
    }
}

/// Checks Node.js, which builds nodes in JavaScript and TypeScript; the other tools are installed with each node.
fn javascript() -> Finding {
    let what = "JavaScript";
    match javascript::node_version() {
        Some((version, true)) => Finding::new(what, Health::Good, format!("Node.js {version}")),
        Some((version, false)) => Finding::new(what, Health::Note, format!("Node.js {version} is too old"))
            .help(format!("nodes in JavaScript are built with Node.js {OLDEST_NODE} or later")),
        None => Finding::new(what, Health::Note, "Node.js was not found").help(format!(
            "nodes in JavaScript are built with Node.js {OLDEST_NODE} or later; on Debian: apt install nodejs npm"
        )),
    }
}

/// Checks Python, which builds nodes in Python; the other tools are installed with each node.
fn python() -> Finding {
    let what = "Python";
    match python::python_version() {
        Some(version) => Finding::new(what, Health::Good, format!("Python {version}")),
        None => Finding::new(what, Health::Note, "Python was not found")
            .help("nodes in Python are built with Python 3.10 or later; on Debian: apt install python3 python3-venv"),
    }
}

/// Checks the compiler for nodes in C.
fn language_c() -> Finding {
    match Compiler::detect() {
        Ok(compiler) => Finding::new("C", Health::Good, compiler.version),
        Err(error) => Finding::new("C", Health::Note, error.to_string())
            .help(format!("nodes in C are built with clang and wasi-libc; on Debian: {INSTALL_CLANG}")),
    }
}

/// Limit of interrupted runs that are named.
const NAMED: usize = 20;

fn stored(project: &Project, home: &Home) -> Finding {
    let what = "runs";
    match stores::any(project) {
        Ok(true) => {}
        Ok(false) => return Finding::new(what, Health::Good, "none yet"),
        Err(error) => return Finding::new(what, Health::Bad, remedies::message(&error)),
    }
    let look = || -> Result<(u64, u64, Vec<String>)> {
        let (mut count, mut more, mut cut_short) = (0, 0, Vec::new());
        Stores::to_read(project, home)?.each(&RunFilter::default(), |store, row| {
            count += 1;
            let is_left = row.status == Status::Running && store.holder(&row.run_id) == Ok(Holder::Nobody);
            if is_left && !is_created(store, &row) {
                if cut_short.len() < NAMED { cut_short.push(row.run_id) } else { more += 1 }
            }
            Ok(())
        })?;
        Ok((count, more, cut_short))
    };
    match look() {
        Ok((count, _, cut_short)) if cut_short.is_empty() => {
            Finding::new(what, Health::Good, run_report::counted(count, "run"))
        }
        Ok((count, more, cut_short)) => {
            let others = if more == 0 {
                String::new()
            } else {
                format!(" and {}", run_report::counted(more, "other"))
            };
            Finding::new(
                what,
                Health::Note,
                format!("{}, cut short: {}{others}", run_report::counted(count, "run"), cut_short.join(", ")),
            )
            .help("resume each with: graph-host resume RUN")
        }
        Err(error) => Finding::of(what, Err(error)),
    }
}
