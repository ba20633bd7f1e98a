//! `graph-host runs export`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{Holder, RunRow};
use graph_runtime::history::archive;
use graph_runtime::project::Project;
use graph_runtime::project::user_home::is_stream;
use graph_runtime::run::stores::Stores;
use serde_json::json;

/// Write a whole run to a file, to be verified or stored elsewhere
///
/// The file consists of JSON lines: the run's row, its texts and records with their signatures, and a last line that shows
/// that the file is complete.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// The file; `-` for stdout, which is the default
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    let (_, store, row) = Stores::to_read(project, &context.host.home)?.find(&args.run)?;
    let row = store.run(&row.run_id)?.unwrap_or(row);
    let run = &row.run_id;
    if store.holder(run)? != Holder::Nobody {
        return Err(Error::storage(format!("run {run} is under way: wait until it has stopped, or stop it")));
    }
    // Signatures of another host are verified by the host that imports the run.
    if let Some(key) = context.host.home.verifying_identity(row.key)? {
        graph_runtime::history::verify::audit(&*store, &row, &key, None)?;
    }
    // The file is signed with the key of the run, if it is still stored, else with this host's current key.
    let own = context.host.home.signing_identity(row.key).ok().flatten();
    let identity = own.map_or_else(|| context.host.home.identity(), Ok)?;
    let Some(path) = args.output.as_ref().filter(|path| path.as_os_str() != "-") else {
        if context.output.is_json() {
            return Err(Error::usage("with --json the run has to go to a file: --output FILE"));
        }
        let mut out = BufWriter::new(std::io::stdout().lock());
        archive::write(&*store, &row, &identity, &mut out)?;
        out.flush().map_err(|error| Error::storage(format!("stdout cannot be written: {error}")))?;
        return Ok(Exit::Ok);
    };
    let failed = |error: &std::io::Error| Error::write("the file", path, error);
    if is_stream(path) {
        let file = File::options().write(true).open(path).map_err(|error| failed(&error))?;
        let mut out = CountingWriter { inner: BufWriter::new(file), bytes: 0 };
        let records = archive::write(&*store, &row, &identity, &mut out)?;
        out.flush().map_err(|error| failed(&error))?;
        if context.output.is_json() {
            tell(&row, path, (records, out.bytes), context)?;
        } else {
            context.output.note(format_args!(
                "wrote run {run} to {}: {}",
                shown(path),
                run_report::counted(records, "record")
            ));
        }
        return Ok(Exit::Ok);
    }
    // The target of a link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let records = {
        let mut out = BufWriter::new(file.as_file_mut());
        let records = archive::write(&*store, &row, &identity, &mut out)?;
        out.flush().map_err(|error| failed(&error))?;
        records
    };
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    let bytes = file.as_file().metadata().map_or(0, |found| found.len());
    file.persist(&target).map_err(|error| failed(&error.error))?;
    if context.output.is_json() {
        tell(&row, path, (records, bytes), context)?;
    } else {
        context.output.line(format_args!(
            "wrote run {run} to {}: {}, {bytes} bytes, signed by {}",
            shown(path),
            run_report::counted(records, "record"),
            row.key.short()
        ))?;
    }
    Ok(Exit::Ok)
}

/// Prints the JSON document about an exported run.
fn tell(row: &RunRow, path: &Path, (records, bytes): (u64, u64), context: &Context) -> Result<()> {
    context.output.document(&json!({
        "run_id": row.run_id,
        "file": path.display().to_string(),
        "records": records,
        "bytes": bytes,
        "key_id": row.key,
    }))
}

/// Writer that counts the bytes.
struct CountingWriter<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
