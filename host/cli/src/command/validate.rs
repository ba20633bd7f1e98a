//! `graph-host validate`.

use graph_host::context::{current_project, named_project};
use graph_host::terminal::exit;
use graph_host::terminal::output::error_document;
use graph_host::terminal::remedies;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_cases::{Case, GraphSource};
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::diagnostic::{Diagnostics, Problems, printable};
use graph_core::hook_event::HookLayer;
use graph_core::item::ItemType;
use graph_core::text_item::read_text_item;
use graph_core::trust::TrustStore;
use graph_host::context::Context;
use graph_host::document_kind::DocumentKind;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Error, Result};
use graph_runtime::items::locate::{ItemLocator, id_of_graph, type_of_file};
use graph_runtime::items::subgraphs::{Subgraphs, recursion_warnings};
use graph_runtime::items::text_items::format_of;
use graph_runtime::plan::admission::Components;
use graph_runtime::plan::manifest_authority::AcceptedManifest;
use graph_runtime::plan::{PlanProblem, refused_nodes, scripts};
use graph_runtime::project;
use graph_runtime::registry::fetch_cache;
use graph_runtime::run::stores::StoreKind;
use graph_runtime::trust::trusted_keys;
use graph_runtime::{PlanOptions, Runtime};
use graph_walker::document::{load, load_config, load_hooks};
use graph_walker::graph::Graph;
use graph_walker::walker::Graphs;
use serde_json::{Value, json};

use crate::command::args::SourceArgs;

/// Check files without running anything: graphs, manifests, cases, hooks, trust stores, knowledge and directives
///
/// Every problem of every file is reported. The kind of a file is recognised by its name and its keys; `--kind` sets it.
/// With --items, --caps, --trust or --project, what a graph dispatches is checked as well, as `run --plan` does;
/// no secret is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The files, or references to items (`oci://…`, `oci-layout:…`)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read the files as documents of this kind
    #[arg(long, value_enum)]
    kind: Option<DocumentKind>,
    /// The capability manifest; without it, what graphs may use is not checked
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    caps: Option<PathBuf>,
    #[command(flatten)]
    sources: SourceArgs,
}

impl Args {
    /// Returns whether the items of graphs are checked, too.
    fn checks_items(&self) -> bool {
        let SourceArgs { trust, items, project, allow_unsigned } = &self.sources;
        self.caps.is_some() || !trust.is_empty() || !items.is_empty() || project.is_some() || *allow_unsigned
    }
}

/// Checks the files. The exit code is 0 only if every file is valid.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let mut worst = None;
    let mut documents = Vec::new();
    for path in &args.files {
        let (path, checked) = match named(path, context) {
            Ok(path) => (path.clone(), check(&path, args, context)),
            Err(error) => (path.clone(), FileCheck::Unread(error)),
        };
        let path = &path;
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

/// Returns the file of an argument; the item of a reference is fetched first.
fn named(path: &Path, context: &Context) -> Result<PathBuf> {
    let project = current_project()?;
    let fetched =
        path.to_str().map(|word| fetch_cache::named_file(word, &project, &context.host)).transpose()?;
    Ok(fetched.map_or_else(|| path.to_path_buf(), PathBuf::from))
}

/// Outcome of the check of a file.
enum FileCheck {
    Unread(Error),
    Invalid(Box<Diagnostics>),
    Valid { what: What, warnings: Diagnostics },
}

/// Content of a valid file.
enum What {
    /// A graph, with a report on the items that it names.
    Graph {
        nodes: usize,
        cycles: Vec<String>,
        items: ItemReport,
    },
    Knowledge,
    Directive {
        inputs: usize,
    },
    Manifest {
        items: usize,
    },
    Case {
        steps: usize,
    },
    Hooks {
        hooks: usize,
    },
    Trust {
        keys: usize,
    },
}

/// Report on the items that a graph names.
#[derive(Default)]
struct ItemReport {
    problems: Vec<ItemProblem>,
    /// Warnings about possible failures of nodes.
    warnings: Vec<String>,
}

impl ItemReport {
    /// Reports the problems that can be found without other items: nodes that every manifest refuses, and scripts for built-in items.
    fn without_items(graph: &Graph) -> Self {
        let refused = refused_nodes(graph).map(|(node, problem)| ItemProblem {
            subject: format!("node `{node}`"),
            node: node.to_owned(),
            problem,
        });
        let mut report = Self { problems: refused.collect(), warnings: Vec::new() };
        for (subject, node, found) in scripts::of_built_in(graph) {
            report.warnings.extend(found.warnings.iter().map(|warning| format!("{subject}: {warning}")));
            report.problems.extend(found.problems.into_iter().map(|problem| ItemProblem {
                subject: subject.clone(),
                node: node.to_owned(),
                problem,
            }));
        }
        report
    }
}

/// Problem with an item that a graph names.
struct ItemProblem {
    /// The node or hook, for people.
    subject: String,
    node: String,
    problem: PlanProblem,
}

fn check(path: &Path, args: &Args, context: &Context) -> FileCheck {
    let kind = args.kind;
    let text = match graph_runtime::project::text_file::read_named_as("the file", path) {
        Ok(text) => text,
        Err(error) => return FileCheck::Unread(error),
    };
    let item_type = type_of_file(path, || Some(text.clone()));
    if item_type != ItemType::Tool && kind.is_none() {
        return match read_text_item(item_type, format_of(path), &path.display().to_string(), &text) {
            Ok(read) => {
                let inputs = read.item.directive.map(|directive| directive.inputs.len());
                let what = inputs.map_or(What::Knowledge, |inputs| What::Directive { inputs });
                FileCheck::Valid { what, warnings: read.warnings }
            }
            Err(problems) => FileCheck::Invalid(problems),
        };
    }
    let name = path.display().to_string();
    let read = match kind.unwrap_or_else(|| DocumentKind::detect(path, &text)) {
        DocumentKind::Graph => match load(&name, &text, &id_of_graph(path)) {
            Ok(loaded) => {
                let items = if args.checks_items() {
                    report_items(path, args, context)
                } else {
                    Ok(ItemReport::without_items(&loaded.graph))
                };
                let items = match items {
                    Ok(items) => items,
                    Err(error) => return FileCheck::Unread(error),
                };
                let nodes = loaded.graph.nodes.len();
                let cycles = cycles(path, &loaded.graph, context);
                Ok((What::Graph { nodes, cycles, items }, loaded.warnings))
            }
            Err(problems) => Err(problems),
        },
        DocumentKind::Manifest => {
            // Folders of a manifest are relative to its own folder; no folder is opened here.
            let base = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
            let base = base.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
            Manifest::parse(&text, &name, &base)
                .map(|(manifest, warnings)| (What::Manifest { items: manifest.items().len() }, warnings))
        }
        DocumentKind::Case => check_case(path, &text),
        DocumentKind::Hooks => load_hooks(&name, &text, layer_of(path, context))
            .map(|loaded| (What::Hooks { hooks: loaded.hooks.len() }, loaded.warnings)),
        DocumentKind::Trust => TrustStore::from_yaml(&name, &text)
            .map(|(store, warnings)| (What::Trust { keys: store.keys().len() }, warnings)),
    };
    match read {
        Ok((what, warnings)) => FileCheck::Valid { what, warnings },
        Err(problems) => FileCheck::Invalid(problems),
    }
}

/// Checks a case and the graphs that it contains.
fn check_case(path: &Path, text: &str) -> std::result::Result<(What, Diagnostics), Box<Diagnostics>> {
    let case = Case::parse(path, text)?;
    let problems = Problems::new();
    let own = match &case.graph {
        GraphSource::Inline(config) => Some((case.name.as_str(), config)),
        GraphSource::File(_) => None,
    };
    let inner = case.subgraphs.iter().map(|(id, config)| (id.as_str(), config));
    for (id, config) in own.into_iter().chain(inner) {
        // Its errors are added to `problems`.
        let _ = load_config(config, text, id, case.dialect, &problems);
    }
    let what = What::Case { steps: case.script.len() };
    problems.finish(&path.display().to_string(), text, Some(what))
}

/// Returns the layer of a file of hooks: the user's own, or a project's.
fn layer_of(path: &Path, context: &Context) -> HookLayer {
    let of_user = context.host.home.root().join("hooks.yaml");
    let is_of_user = std::path::absolute(path).is_ok_and(|path| path == of_user);
    if is_of_user { HookLayer::Infra } else { HookLayer::Project }
}

impl What {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Graph { .. } => "graph",
            Self::Knowledge => "knowledge",
            Self::Directive { .. } => "directive",
            Self::Manifest { .. } => "manifest",
            Self::Case { .. } => "case",
            Self::Hooks { .. } => "hooks",
            Self::Trust { .. } => "trust",
        }
    }

    /// Returns the counted part of the content, with its number.
    fn count(&self) -> Option<(&'static str, usize)> {
        match self {
            Self::Graph { nodes, .. } => Some(("node", *nodes)),
            Self::Knowledge => None,
            Self::Directive { inputs } => Some(("input", *inputs)),
            Self::Manifest { items } => Some(("item", *items)),
            Self::Case { steps } => Some(("step", *steps)),
            Self::Hooks { hooks } => Some(("hook", *hooks)),
            Self::Trust { keys } => Some(("key", *keys)),
        }
    }
}

/// Reports what `run --plan` finds missing. Without a manifest, missing grants are left out.
fn report_items(path: &Path, args: &Args, context: &Context) -> Result<ItemReport> {
    let (sources, project) = (args.sources.sources(), named_project(args.sources.project.as_deref())?);
    let name = path.display().to_string();
    let options = PlanOptions { sources, manifest: args.caps.clone(), sign_with: None };
    let runtime = Runtime::new(context.host.clone(), project, StoreKind::default());
    let mut opened = runtime.open_graph(&name, &options)?;
    // Files are checked with and without access to the secrets of a run, as before a change is merged.
    opened.components.without_secrets = true;
    let graph = Arc::clone(&opened.file.graph);
    if args.caps.is_none() {
        let all = DispatchPatterns::parse(["execute.*", "search.*", "load.*", "sign.*"])
            .map(Manifest::of_dispatch)
            .unwrap_or_default();
        let Components { locator, trust, .. } = &opened.components;
        opened.subgraphs = Subgraphs::resolve(&graph, Graphs::new(), locator, trust, &all, |_| false)?;
        opened.components.manifest = AcceptedManifest::given(all);
    }
    let plan = context.block_on(opened.plan())?;
    let counts = |problem: &PlanProblem| args.caps.is_some() || problem.interface.is_none();
    let missing = plan.missing().into_iter().filter(|(_, problem)| counts(problem));
    let found = missing.map(|(node, problem)| ItemProblem {
        subject: node.subject(),
        node: node.name.clone(),
        problem,
    });
    let mut problems: Vec<_> = found.collect();
    let alone = ItemReport::without_items(&graph);
    let is_new = |problem: &ItemProblem| problems.iter().all(|known| known.node != problem.node);
    let more: Vec<_> = alone.problems.into_iter().filter(is_new).collect();
    problems.extend(more);
    let warnings = if args.caps.is_some() { plan.warnings() } else { alone.warnings };
    Ok(ItemReport { problems, warnings })
}

/// Finds cycles of graphs that name each other, among the graphs that can be found.
fn cycles(path: &Path, graph: &Graph, context: &Context) -> Vec<String> {
    let Ok(keeper) = current_project() else { return Vec::new() };
    let project = std::path::absolute(path).ok().and_then(|path| project::nearest(path.parent()?));
    let locator = ItemLocator::new(&[], project.as_deref(), &context.host.home, &keeper);
    let all = DispatchPatterns::parse(["execute.tool.*"]).map(Manifest::of_dispatch).unwrap_or_default();
    // A dispatched graph that cannot be used is reported by its own validation, and by `run`.
    let graphs = trusted_keys::load(&context.host.home, &[], &*context.host.notices)
        .and_then(|trust| Subgraphs::resolve(graph, Graphs::new(), &locator, &trust, &all, |_| false))
        .map(|found| found.graphs)
        .unwrap_or_default();
    recursion_warnings(graph, &graphs)
}

impl ItemProblem {
    fn to_json(&self) -> Value {
        json!({
            "node": self.node,
            "code": self.problem.code,
            "message": self.problem.message,
            "help": self.problem.help.as_ref().map(remedies::words),
            "interface": self.problem.interface,
            "manifest_lines": self.problem.manifest_lines,
        })
    }
}

/// Prints the problems with the items of a graph, a paragraph each.
fn show_problems(file: &str, problems: &[ItemProblem], output: Output) -> Result<()> {
    for ItemProblem { subject, problem, .. } in problems {
        output.line(format_args!("{subject}: {}", printable(&problem.message)))?;
        let help = problem.help.as_ref().map(remedies::words);
        for line in problem.manifest_lines.as_ref().or(help.as_ref()).iter().flat_map(|help| help.lines()) {
            output.line(format_args!("    {}", styled(output::DIM, printable(line))))?;
        }
    }
    let count = counted(problems.len() as u64, "problem");
    output.line(format_args!("{} {file}: {count} with what it dispatches", styled(output::BAD, "✗")))
}

impl FileCheck {
    fn exit(&self) -> Option<Exit> {
        match self {
            Self::Unread(error) => Some(exit::of_error(error)),
            Self::Invalid(_) => Some(Exit::InvalidDocument),
            Self::Valid { what: What::Graph { items, .. }, .. } => {
                items.problems.first().map(|found| Exit::from(found.problem.kind))
            }
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
                if let What::Graph { cycles, items, .. } = what {
                    for warning in cycles.iter().chain(&items.warnings) {
                        output.warn(warning);
                    }
                }
                if !warnings.is_empty() {
                    output.report(warnings);
                }
                if let What::Graph { items, .. } = what
                    && !items.problems.is_empty()
                {
                    return show_problems(&file, &items.problems, output);
                }
                let count = what.count().map(|(name, count)| format!(", {}", counted(count as u64, name)));
                let (kind, count) = (what.kind(), count.unwrap_or_default());
                output.line(format_args!("{} {file}: {kind}{count}", styled(output::GOOD, "✓")))?;
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
                document["valid"] = Value::from(self.exit().is_none());
                document["kind"] = Value::from(what.kind());
                if let Some((name, count)) = what.count() {
                    document[format!("{name}s")] = Value::from(count);
                }
                if let What::Graph { cycles, items, .. } = what {
                    document["cycles"] = json!(cycles);
                    if !items.problems.is_empty() {
                        document["items"] = items.problems.iter().map(ItemProblem::to_json).collect();
                    }
                    if !items.warnings.is_empty() {
                        document["item_warnings"] = json!(items.warnings);
                    }
                }
                document
            }
        }
    }
}
