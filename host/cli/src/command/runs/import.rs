//! `graph-host runs import`.

use crate::command::args::{self, typed_run};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_core::trust::{SigningKey, VerifyingKey};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown_input;
use graph_host::terminal::run_report;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::FileStore;
use graph_runtime::history::archive;
use graph_runtime::project::Project;
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::project::state::OwnState;
use graph_runtime::run::restore;
use graph_runtime::run::stores::{self, StoreKind, Stores};

use serde_json::json;

use super::verify::read_key;

/// Store a run from a file that `runs export` has written
///
/// Everything is checked before anything is stored: that the file is complete, every signature, and every link between the
/// records. A run that another host has made can be shown, verified and exported here; only that host can resume it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` for stdin
    file: PathBuf,
    /// The public key of the host that made the run. Without it, the key in the file is used: this shows that nothing was
    /// changed since that key signed the run, but not whose key it is. On a terminal, the command asks once whether to trust
    /// that key, and remembers it for later runs of that host
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The private key that the run was signed with, if it was made by a page of yours (see `bundle`): this host stores the
    /// key, and resumes the runs of that page with it, under a manifest of yours (`resume --caps`)
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    identity: Option<PathBuf>,
    /// The most that the texts of the run, such as its graphs and inputs, may have together, such as 1GiB. The command holds
    /// them in memory until the run is stored
    #[arg(long, value_name = "SIZE", value_parser = args::size, default_value = "256MiB")]
    texts: u64,
    /// Where the run is stored
    #[arg(long, value_parser = args::store(), default_value = "sqlite")]
    store: StoreKind,
}

fn to_memory() -> Error {
    Error::usage("--store memory cannot be used with import: --store sqlite or file")
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    if args.store == StoreKind::Memory {
        return Err(to_memory());
    }
    let identity =
        args.identity.as_deref().map(|file| signing_key(&context.host.home, &file.to_string_lossy()));
    let identity = identity.transpose()?;
    let given = match &identity {
        Some(key) => Some(key.verifying_key()),
        None => args.key.as_deref().map(read_key).transpose()?,
    };
    let mut file: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let open = File::open(&args.file).and_then(|file| {
            if file.metadata()?.is_dir() { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
        });
        Box::new(BufReader::new(open.map_err(|error| Error::read("the file", &args.file, &error))?))
    };
    let archive = archive::read(&mut *file, given, args.texts)
        .map_err(|error| error.within(&shown_input(&args.file)))?;
    OwnState::check(project, &context.host.home)?;
    // An id is unique in all stores of the project.
    if stores::any(project)?
        && let Ok((_, _, row)) = Stores::to_read(project, &context.host.home)?.find(&archive.row().run_id)
        && row.run_id == archive.row().run_id
    {
        if let Some(key) = identity.as_ref().filter(|key| key.id() == row.key) {
            return take_key(key, &row.run_id, project, context);
        }
        return Err(Error::usage(format!("there is a run {} here already", row.run_id))
            .help("an imported run keeps its id: import it into another project, with --project"));
    }
    match args.store {
        StoreKind::Sqlite => {
            archive.store(&*restore::open(&OwnState::open(project, &context.host.home)?)?)?;
        }
        StoreKind::File => {
            archive.store(&FileStore::at(&OwnState::open(project, &context.host.home)?.files()?))?;
        }
        StoreKind::Memory => return Err(to_memory()),
    }
    if let Some(key) = &identity {
        context.host.home.add_signing_identity(key)?;
    }
    let own = context.host.home.verifying_identity(archive.key.id())?.is_some();
    let row = archive.row();
    let standing = match (own, archive.carried) {
        (true, _) => "own",
        (false, false) => "given",
        (false, true) if is_trusted(&archive.key, &row.run_id, context)? => "known",
        (false, true) => "carried",
    };
    let is_added = own && !context.host.home.is_own_identity(archive.key.id())?;
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": row.run_id,
            "graph": row.graph_id,
            "status": row.status,
            "checkpoints": archive.audit.checkpoints,
            "records": archive.audit.records,
            "key_id": archive.key.id(),
            "key": if is_added { "added" } else { standing },
            "row_is_signed": archive.row_is_signed,
        }))?;
        return Ok(Exit::Ok);
    }
    let whose = match standing {
        "own" if is_added => "a key that you have added",
        "own" => "this host's own key",
        "given" => "the key that you gave",
        "known" => "a key that you trust",
        _ => "a key that came with the file",
    };
    context.output.line(format_args!(
        "{} imported run {}: {}, signed by {}, {whose}",
        styled(output::GOOD, "✓"),
        row.run_id,
        run_report::counted(archive.audit.checkpoints, "checkpoint"),
        archive.key.id().short()
    ))?;
    if standing == "carried" {
        context.output.warn(
            "that key is not trusted here: get the public key of the host from its owner and check with \
             runs verify --key FILE",
        );
    }
    if !archive.row_is_signed {
        context.output.warn("the file was not written by the host that made the run: names and times in listings are not signed");
    }
    if is_added {
        context.output.note(format_args!(
            "what its manifest allows counts for nothing here: {}",
            resume_command(&row.run_id, project)
        ));
    }
    if !own {
        context
            .output
            .note("it can be shown, verified and exported here; only the host that made it can resume it, or one that has its key: --identity FILE");
    }
    Ok(Exit::Ok)
}

/// Returns the advice to resume a run of another host.
fn resume_command(run: &str, project: &Project) -> String {
    let typed = typed_run(run, project.folder());
    format!("resume it with a manifest of yours: graph-host resume {typed} --caps FILE")
}

/// Stores the key of a run that was imported before.
fn take_key(key: &SigningKey, run: &str, project: &Project, context: &Context) -> Result<Exit> {
    context.host.home.add_signing_identity(key)?;
    if context.output.is_json() {
        context.output.document(&json!({ "run_id": run, "key_id": key.id(), "key": "own" }))?;
        return Ok(Exit::Ok);
    }
    context.output.line(format_args!(
        "{} run {run} is here already; this host resumes it with the key {} from now on",
        styled(output::GOOD, "✓"),
        key.id().short()
    ))?;
    context.output.note(resume_command(run, project));
    Ok(Exit::Ok)
}

/// Returns whether the user trusts the key in the file: since an earlier run of that host, or by an answer at the terminal.
fn is_trusted(key: &VerifyingKey, run: &str, context: &Context) -> Result<bool> {
    let home = &context.host.home;
    if home.known_key(key.id())?.is_some() {
        return Ok(true);
    }
    if !context.output.can_ask() {
        return Ok(false);
    }
    let question = format!(
        "The key {} signed run {}, and it came with the file. Trust it for this run and for later runs of the page or host that has \
         it? [yes/no, Enter: no]",
        key.id(),
        printable(run)
    );
    let answer = context.output.ask_line(&question)?.to_ascii_lowercase();
    if !matches!(answer.as_str(), "y" | "yes") {
        return Ok(false);
    }
    home.remember_host(key)?;
    Ok(true)
}
