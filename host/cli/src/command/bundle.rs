//! `graph-host bundle`: a graph as a folder that a browser runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use graph_core::diagnostic::printable;
use graph_host::context::{Context, named_project};
use graph_host::terminal::exit::Exit;
use graph_host::terminal::inputs;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::bundle::{Bundle, BundleOptions, check, gather, plan_for_page, replaceable, write};
use graph_runtime::error::{Error, Result};
use graph_runtime::project::key_pairs::{signing_key, verifying_key};
use graph_runtime::project::text_file;
use graph_runtime::remedy::{ManifestSuggestion, SuggestedGraph};
use graph_runtime::run::opened_graph::OpenedGraph;
use graph_runtime::run::stores::StoreKind;
use graph_runtime::{PlanOptions, Runtime};
use serde_json::{Map, Value, json};

use crate::command::args::SourceArgs;

/// Write a graph with everything that it needs as a folder that runs in a browser
///
/// Any server of static files can serve the folder. The page runs offline, with the same components, the same fuel and the
/// same digests as `run`. The graph is checked as by `run --plan`; what a page cannot do is refused. The digests of all
/// files are signed: the page checks them and shows the key.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The graph: a file, an item id, or a reference (`oci://…`, `oci-layout:…`)
    #[arg(required_unless_present = "verify")]
    graph: Option<String>,
    /// The folder to write: a new one, an empty one, or one with an older bundle
    #[arg(long, short, value_name = "DIR", required_unless_present = "verify")]
    out: Option<PathBuf>,
    /// The capability manifest; without it, nothing is allowed
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    caps: Option<PathBuf>,
    #[command(flatten)]
    sources: SourceArgs,
    /// The key to sign with: the name of one of yours, or a file; without it, this host's. With --verify, the public key
    /// that must have signed the bundle: a name, a file or 64 hexadecimal digits
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Pack the files of the folders that components may read, and the entries of the project's knowledge that they may
    /// read. Without it, the page asks for folders
    #[arg(long)]
    files: bool,
    /// An input that the page starts with, typed as with `run`
    #[arg(long = "input", short = 'i', value_name = "KEY=VALUE", value_parser = inputs::split_pair, help_heading = "Inputs")]
    input: Vec<(String, String)>,
    /// A JSON or YAML file of inputs that the page starts with, `-` for stdin; --input takes precedence over it
    #[arg(long, value_name = "FILE", help_heading = "Inputs")]
    inputs: Option<PathBuf>,
    /// Pack a run that `runs export` wrote, for the page to replay
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Verify an existing bundle: its signature, and the digest of every file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["graph", "out", "caps", "trust", "items", "project", "allow_unsigned", "files", "input", "inputs", "replay"])]
    verify: Option<PathBuf>,
}

pub(crate) fn run(mut args: Args, context: &Context) -> Result<Exit> {
    if let Some(folder) = args.verify.clone() {
        return verify(&folder, args.key.as_deref(), context);
    }
    let (Some(graph), Some(out)) = (args.graph.clone(), args.out.clone()) else {
        return Err(Error::usage(
            "a bundle needs a graph, and a folder to write: graph-host bundle GRAPH -o DIR",
        ));
    };
    let project = named_project(args.sources.project.as_deref())?;
    let graph = args.sources.fetch(&graph, &project, context)?;
    replaceable(&out, context.host.home.base())?;
    let bundle = context.block_on(make(&args, &graph, context))??;
    write(&bundle.files, &out, context.host.home.base())?;
    show(&bundle, &out, context)
}

async fn make(args: &Args, graph: &str, context: &Context) -> Result<Bundle> {
    let (sources, project) = (args.sources.sources(), named_project(args.sources.project.as_deref())?);
    let key = match &args.key {
        Some(key) => signing_key(&context.host.home, key)?,
        None => context.host.home.identity()?,
    };
    let suggested = SuggestedGraph::Named(graph.to_owned());
    let suggestion = ManifestSuggestion { graph: suggested, sources: sources.clone() };
    let options = PlanOptions { sources, manifest: args.caps.clone(), sign_with: None };
    let runtime = Runtime::new(context.host.clone(), project, StoreKind::default());
    let mut opened = runtime.open_graph(graph, &options)?;
    if !opened.file.warnings.is_empty() {
        context.output.report(&opened.file.warnings);
    }
    let given = inputs::gather(args.inputs.as_deref(), &args.input, opened.file.graph.input_schema.as_ref())?;
    let example_inputs = example(&opened, given)?;
    let plan = plan_for_page(&mut opened).await;
    let export = args.replay.as_deref().map(read_export).transpose()?;
    let options = BundleOptions { files: args.files, example_inputs, export };
    let bundle = gather(&opened, &plan, suggestion, options, &key, &context.host)?;
    for notice in plan.notices().iter().chain(&bundle.left_out) {
        context.output.warn(notice);
    }
    Ok(bundle)
}

/// Checks the inputs that the page starts with; `None` if none are given.
fn example(opened: &OpenedGraph, given: Map<String, Value>) -> Result<Option<Value>> {
    if given.is_empty() {
        return Ok(None);
    }
    let inputs = opened.read_inputs(given.clone())?;
    let narrowed = inputs.parameters().narrow(&opened.components.manifest, 0);
    if narrowed.digest() != opened.components.manifest.digest() {
        return Err(Error::usage(
            "`capabilities` and `depth` are not for a bundle: the manifest says what is allowed",
        ));
    }
    inputs.checked(&opened.file.graph)?;
    Ok(Some(Value::Object(given)))
}

/// Reads a file that `runs export` wrote. The page verifies its content.
fn read_export(path: &Path) -> Result<Vec<u8>> {
    const LONGEST: u64 = 64 << 20;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
    let read = read.and_then(|_| {
        let is_longer = bytes.len() as u64 > LONGEST;
        if is_longer { Err(text_file::too_large(LONGEST)) } else { Ok(()) }
    });
    read.map_err(|error| Error::read("the run", path, &error))?;
    Ok(bytes)
}

fn show(bundle: &Bundle, out: &Path, context: &Context) -> Result<Exit> {
    let output = context.output;
    let bytes: u64 = bundle.files.values().map(|bytes| bytes.len() as u64).sum();
    let document = &bundle.document;
    if output.is_json() {
        output.document(&json!({
            "folder": out.display().to_string(),
            "graph": document.graph.id,
            "files": bundle.files.len(),
            "bytes": bytes,
            "key_id": bundle.key,
            "components": document.components.iter().map(|component| json!({
                "id": component.item, "digest": component.digest, "waits": component.waits,
            })).collect::<Vec<_>>(),
            "folders": document.folders,
            "needs_jspi": document.needs_jspi,
            "missing_checks": document.missing_checks,
            "left_out": bundle.left_out,
        }))?;
        return Ok(Exit::Ok);
    }
    for check in &document.missing_checks {
        output.warn(format_args!("{}: {}", printable(&check.node), check.message));
    }
    for folder in document.folders.iter().filter(|folder| !folder.packed) {
        output.note(format_args!(
            "the page asks for the folder {} ({})",
            printable(&folder.host),
            folder.access
        ));
    }
    output.line(format_args!(
        "{} {}: {}, {}, {} KB, signed by {}",
        styled(output::GOOD, "✓"),
        shown(out),
        counted(document.components.len() as u64, "component"),
        counted(bundle.files.len() as u64, "file"),
        bytes.div_ceil(1000),
        bundle.key.short()
    ))?;
    output.note("serve it with any server of static files, over https or on this machine");
    Ok(Exit::Ok)
}

fn verify(folder: &Path, key: Option<&str>, context: &Context) -> Result<Exit> {
    let output = context.output;
    let given = key.map(|key| verifying_key(&context.host.home, key)).transpose()?;
    let checked = check(folder, context.host.home.base(), given.as_ref())?;
    let id = checked.key;
    let is_own = context.host.home.verifying_identity(id)?.is_some();
    let standing = match (given.is_some(), is_own) {
        (true, _) => "given",
        (false, true) => "own",
        (false, false) => "carried",
    };
    if output.is_json() {
        output.document(&json!({
            "folder": folder.display().to_string(),
            "graph": checked.document.graph.id,
            "files": checked.files,
            "bytes": checked.bytes,
            "key_id": id,
            "key": standing,
        }))?;
        return Ok(Exit::Ok);
    }
    let whose = match standing {
        "given" => "the key that you gave",
        "own" => "this host's own key",
        _ => "a key that came with it",
    };
    output.line(format_args!(
        "{} {}: {} of graph {}, signed by {}, {whose}",
        styled(output::GOOD, "✓"),
        shown(folder),
        counted(checked.files as u64, "file"),
        printable(&checked.document.graph.id),
        id.short()
    ))?;
    if standing == "carried" {
        output.warn("that key is not trusted here: a server that replaces a bundle can replace its key; get the public key from its owner and check with --key KEY");
    }
    Ok(Exit::Ok)
}
