//! `graph-host runs import`.

use crate::command::args;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::FileStore;
use graph_runtime::history::archive;
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::project::state::OwnState;
use graph_runtime::project::stores::{self, StoreKind, Stores};
use graph_runtime::run::restore;
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
    /// changed since that key signed the run, but not whose key it is
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The private key that the run was signed with, if it was made by a page of yours (see `bundle`): this host stores the
    /// key, and resumes the runs of that page with it
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    identity: Option<PathBuf>,
    /// Where the run is stored
    #[arg(long, value_parser = args::store(), default_value = "sqlite")]
    store: StoreKind,
}

pub(super) fn run(args: &Args, project: &Path, context: &Context) -> Result<Exit> {
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
    let archive = archive::read(&mut *file, given).map_err(|error| error.within(&args.file))?;
    OwnState::check(project, &context.host.home)?;
    // An id is taken, whichever store has it.
    if stores::any(project)?
        && let Ok((_, _, row)) = Stores::to_read(project, &context.host.home)?.find(&archive.row().run_id)
        && row.run_id == archive.row().run_id
    {
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
        StoreKind::Memory => {
            return Err(Error::usage("a run cannot be imported to nowhere: --store sqlite or file"));
        }
    }
    if let Some(key) = &identity {
        context.host.home.add_signing_identity(key)?;
    }
    let own = context.host.home.verifying_identity(archive.key.id())?.is_some();
    let row = archive.row();
    let standing = match (own, archive.carried) {
        (true, _) => "own",
        (false, false) => "given",
        (false, true) => "carried",
    };
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": row.run_id,
            "graph": row.graph_id,
            "status": row.status,
            "checkpoints": archive.audit.checkpoints,
            "records": archive.audit.records,
            "key_id": archive.key.id(),
            "key": standing,
            "row_is_signed": archive.row_is_signed,
        }))?;
        return Ok(Exit::Ok);
    }
    let whose = match standing {
        "own" => "this host's own key",
        "given" => "the key that you gave",
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
    if !own {
        context
            .output
            .note("it can be shown, verified and exported here; only the host that made it can resume it, or one that has its key: --identity FILE");
    }
    Ok(Exit::Ok)
}
