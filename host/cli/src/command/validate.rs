//! `graph-host validate`.

use graph_host::context::current_project;
use graph_host::terminal::exit;
use graph_host::terminal::output::error_document;
use std::path::{Path, PathBuf};

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::diagnostic::Diagnostics;
use graph_core::diagnostic::printable;
use graph_core::document::load;
use graph_core::graph::{Graph, ItemType};
use graph_core::text_item::read_text_item;
use graph_core::walker::Graphs;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Error, Result};
use graph_runtime::items::locate::{ItemLocator, id_of_graph, type_of_file};
use graph_runtime::items::subgraphs::{Subgraphs, recursion_warnings};
use graph_runtime::items::text_items::format_of;
use graph_runtime::project;
use graph_runtime::registry::fetch_cache;
use graph_runtime::trust::trusted_keys;
use serde_json::{Value, json};

/// Check graphs, knowledge and directives without running them: every problem of every file at once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files of graphs, knowledge or directives, or references to them (`oci://…`, `oci-layout:…`)
    #[arg(required = true, value_name = "FILE")]
    graphs: Vec<PathBuf>,
}

/// Exit code 0 only if every file can be used.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let mut worst = None;
    let mut documents = Vec::new();
    for path in &args.graphs {
        let path = &named(path, context)?;
        let checked = check(path, context);
        if output.is_json() {
            documents.push(checked.to_json(path));
        } else {
            checked.show(path, context)?;
        }
        worst = worst.or(checked.exit());
    }
    if output.is_json() {
        output.document(&json!({ "valid": worst.is_none(), "files": documents }))?;
    }
    Ok(worst.unwrap_or(Exit::Ok))
}

/// The file of a word: what a reference stands for is fetched first.
fn named(path: &Path, context: &Context) -> Result<PathBuf> {
    let project = current_project()?;
    let fetched =
        path.to_str().map(|word| fetch_cache::named_file(word, &project, &context.host)).transpose()?;
    Ok(fetched.map_or_else(|| path.to_path_buf(), PathBuf::from))
}

/// What a file came to.
enum Checked {
    Unread(Error),
    Invalid(Box<Diagnostics>),
    Valid { what: What, warnings: Diagnostics },
}

/// What a file that can be used holds.
enum What {
    /// With what is to be said of the graphs that it names.
    Graph {
        nodes: usize,
        cycles: Vec<String>,
    },
    Knowledge,
    Directive {
        inputs: usize,
    },
}

fn check(path: &Path, context: &Context) -> Checked {
    let text = match graph_runtime::project::text_file::read_named_as("the file", path) {
        Ok(text) => text,
        Err(error) => return Checked::Unread(error),
    };
    let item_type = type_of_file(path, || Some(text.clone()));
    if item_type != ItemType::Tool {
        return match read_text_item(item_type, format_of(path), &path.display().to_string(), &text) {
            Ok(read) => {
                let inputs = read.item.directive.map(|directive| directive.inputs.len());
                let what = inputs.map_or(What::Knowledge, |inputs| What::Directive { inputs });
                Checked::Valid { what, warnings: read.warnings }
            }
            Err(problems) => Checked::Invalid(problems),
        };
    }
    let id = id_of_graph(path);
    match load(&path.display().to_string(), &text, &id) {
        Ok(loaded) => Checked::Valid {
            what: What::Graph {
                nodes: loaded.graph.nodes.len(),
                cycles: cycles(path, &loaded.graph, context),
            },
            warnings: loaded.warnings,
        },
        Err(problems) => Checked::Invalid(problems),
    }
}

/// The cycles of graphs that name each other, as far as the graphs can be found.
fn cycles(path: &Path, graph: &Graph, context: &Context) -> Vec<String> {
    let Ok(keeper) = current_project() else { return Vec::new() };
    let project = std::path::absolute(path).ok().and_then(|path| project::nearest(path.parent()?));
    let places = ItemLocator::new(&[], project.as_deref(), &context.host.home, &keeper);
    let all = DispatchPatterns::parse(["execute.tool.*"]).map(Manifest::of_dispatch).unwrap_or_default();
    // A graph inside that cannot be used is for its own validation, and for `run`.
    let graphs = trusted_keys::load(&context.host.home, &[], &*context.host.notices)
        .and_then(|trust| Subgraphs::resolve(graph, Graphs::new(), &places, &trust, &all, |_| false))
        .map(|found| found.graphs)
        .unwrap_or_default();
    recursion_warnings(graph, &graphs)
}

impl Checked {
    fn exit(&self) -> Option<Exit> {
        match self {
            Self::Unread(error) => Some(exit::of(error)),
            Self::Invalid(_) => Some(Exit::InvalidDocument),
            Self::Valid { .. } => None,
        }
    }

    fn show(&self, path: &Path, context: &Context) -> Result<()> {
        let output = context.output;
        let file = path.display().to_string();
        let file = printable(&file);
        match self {
            Self::Unread(error) => output.error(error),
            Self::Invalid(problems) => {
                output.report(&**problems);
                let count = problems.len();
                let s = if count == 1 { "" } else { "s" };
                output.line(format_args!("{} {file}: {count} problem{s}", styled(output::BAD, "✗")))?;
            }
            Self::Valid { what, warnings } => {
                if let What::Graph { cycles, .. } = what {
                    for cycle in cycles {
                        output.warn(cycle);
                    }
                }
                if !warnings.is_empty() {
                    output.report(warnings);
                }
                let what = match what {
                    What::Graph { nodes, .. } => counted(*nodes as u64, "node"),
                    What::Knowledge => "knowledge".to_owned(),
                    What::Directive { inputs } => format!("directive, {}", counted(*inputs as u64, "input")),
                };
                output.line(format_args!("{} {file}: {what}", styled(output::GOOD, "✓")))?;
            }
        }
        Ok(())
    }

    fn to_json(&self, path: &Path) -> Value {
        let file = path.display().to_string();
        match self {
            Self::Unread(error) => {
                let mut document = error_document(error);
                document["file"] = Value::from(file);
                document["valid"] = Value::from(false);
                document
            }
            Self::Invalid(problems) => {
                let mut document = problems.to_json();
                document["valid"] = Value::from(false);
                document
            }
            Self::Valid { what, warnings } => {
                let mut document = warnings.to_json();
                document["valid"] = Value::from(true);
                match what {
                    What::Graph { nodes, cycles } => {
                        document["nodes"] = Value::from(*nodes);
                        document["cycles"] = json!(cycles);
                    }
                    What::Knowledge => document["kind"] = Value::from("knowledge"),
                    What::Directive { inputs } => {
                        document["kind"] = Value::from("directive");
                        document["inputs"] = Value::from(*inputs);
                    }
                }
                document
            }
        }
    }
}
