//! `graph-host inspect`: describes a file or an item, and its signers.

mod published;

use crate::command::args::SourceArgs;
use crate::command::uncallable;
use graph_host::context::named_project;
use std::path::Path;
use std::sync::Arc;

use graph_core::capability::capability_name;
use graph_core::diagnostic::{block, printable};
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::node::FUNCTIONS;
use graph_core::text_item::{Directive, read_text_item};
use graph_core::trust::{
    ComponentStanding, EnvelopeClaims, KeyName, TextStanding, TrustStore, VerifiedComponent, Yank,
    unsigned_text, verify_text,
};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::paths::{base_folder, shown};
use graph_host::terminal::run_report;
use graph_host::terminal::text::standing_text;
use graph_runtime::authoring::signing::Target;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::items::built_in;
use graph_runtime::items::graph_file::standing_json;
use graph_runtime::items::locate::{
    self, ItemFile, ItemLocator, LocatedItem, envelope_path, id_of_file, id_of_graph, names_file,
    type_of_file,
};
use graph_runtime::items::precedence::{self, Rank};
use graph_runtime::items::text_items::format_of;
use graph_runtime::plan::admission::Admitted;
use graph_runtime::plan::describe::ComponentDescription;
use graph_runtime::plan::engine::{components, engine};
use graph_runtime::plan::manifest_authority::AcceptedManifest;
use graph_runtime::project;
use graph_runtime::project::text_file;
use graph_runtime::registry::fetch_cache::{self, FetchedReference};
use graph_runtime::registry::yank;
use graph_runtime::trust::trusted_keys;
use graph_walker::host_item::HostItem;
use serde_json::{Value, json};

use published::PublishedGraph;

/// Show what an item is, what it needs, and who has signed it
///
/// An item is a component, a graph, knowledge or a directive. Of a graph in a registry, this shows also what it takes along,
/// what it uses, and the manifest that it asks for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A component (.wasm), a graph (.yaml), knowledge or a directive (.md), an item id, or a reference (`oci://…`)
    item: String,
    #[command(flatten)]
    sources: SourceArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let keeper = named_project(args.sources.project.as_deref())?;
    let project = args.sources.project.clone().or_else(|| project::nearest(keeper.folder()));
    let locator = ItemLocator::new(&args.sources.items, project.as_deref(), &context.host.home, &keeper);
    let mut sources = args.sources.clone();
    let (fetched, yanked) = sources.fetched_to_show(&args.item, &keeper, context)?.unzip();
    let item = match &fetched {
        Some(fetched) => fetch_cache::text(&fetched.file)?,
        None => args.item.clone(),
    };
    let args = &Args { item, sources };
    let yanked = yanked.flatten();
    let (fetched, yanked) = (fetched.as_ref(), yanked.as_ref());
    let path = Path::new(&args.item);
    if path.is_dir() {
        return Err(Error::usage(format!("{} is a folder, a file or an item id is needed", args.item)));
    }
    if names_file(&args.item) {
        let item_type = type_of_file(path, || text_file::read(path).ok());
        if item_type != ItemType::Tool {
            let id = Target::id_of_path(path).unwrap_or_else(|| id_of_file(path));
            return text_item(path, &id, item_type, &args.sources, &locator, context, yanked);
        }
        return match path.extension().and_then(|extension| extension.to_str()) {
            Some("wasm") => component(path, &id_of_file(path), &args.sources, locator, context, yanked),
            Some("yaml" | "yml") => {
                let file = ItemFile::named(&id_of_graph(path), path, locator.base());
                graph(&file, &args.sources, &locator, (fetched, yanked), context)
            }
            _ if !path.exists() => Err(Error::not_found(format!("the file {} does not exist", shown(path)))),
            _ => Err(Error::usage(format!(
                "{} is neither a component (.wasm) nor a graph (.yaml), knowledge or a directive (.md)",
                shown(path)
            ))),
        };
    }
    if let Some(item) = HostItem::of_id(&args.item) {
        return host_item(item, context);
    }
    match locator.find(&args.item) {
        Ok(LocatedItem::Component { file, .. }) => {
            component(&file.path, &args.item, &args.sources, locator, context, yanked)
        }
        Ok(LocatedItem::Graph { file }) => {
            let file = ItemFile { id: args.item.clone(), ..file };
            graph(&file, &args.sources, &locator, (fetched, yanked), context)
        }
        Err(error) => {
            // The id is not that of a tool: it may be that of knowledge or a directive.
            for item_type in [ItemType::Knowledge, ItemType::Directive] {
                if let Ok(file) = locator.file(item_type, &args.item) {
                    return text_item(
                        &file.path,
                        &file.id,
                        item_type,
                        &args.sources,
                        &locator,
                        context,
                        yanked,
                    );
                }
            }
            Err(Error::not_found(error.to_string()))
        }
    }
}

/// Shows an item that the host performs itself.
fn host_item(item: HostItem, context: &Context) -> Result<Exit> {
    let output = context.output;
    let (operation, item_type) = (ItemOperation::Execute, ItemType::Tool);
    let capability = capability_name(operation, item_type, item.id());
    if output.is_json() {
        output.document(&json!({
            "kind": "host",
            "id": item.id(),
            "space": "built_in",
            "description": item.description(),
            "params": item.params_schema(),
            "capability": capability,
        }))?;
        return Ok(Exit::Ok);
    }
    output.line(format_args!("{}  performed by graph-host", styled(output::BOLD, item.id())))?;
    show_about("about", item.description(), output)?;
    output.line(format_args!("  trust     {}", styled(output::GOOD, "built in")))?;
    output.line(format_args!("  grant     dispatch: [\"{capability}\"]"))?;
    let params = run_report::pretty(&item.params_schema()).replace('\n', "\n            ");
    output.line(format_args!("  params    {params}"))?;
    Ok(Exit::Ok)
}

/// Shows knowledge or a directive.
fn text_item(
    path: &Path,
    id: &str,
    item_type: ItemType,
    sources: &SourceArgs,
    locator: &ItemLocator,
    context: &Context,
    yanked: Option<&Yank>,
) -> Result<Exit> {
    let output = context.output;
    let trust = trusted_keys::load(&context.host.home, &sources.trust, &*context.host.notices)?;
    let text = text_file::read_as("the item", path)?;
    let standing = verify_text(item_type.into(), id, &text, &trust, now());
    let shown = shown(path);
    let read = read_text_item(item_type, format_of(path), &shown, &text)?;
    let item = read.item;
    let digest = Digest::of_bytes(unsigned_text(&text).as_bytes());
    let rank = precedence::rank((item_type, id), path, locator, &trust, now().into());
    let inputs = item.directive.as_ref().map(Directive::schema);
    if output.is_json() {
        output.document(&json!({
            "kind": item_type,
            "file": path.display().to_string(),
            "id": id,
            "space": rank.space,
            "passed_over": rank.precedence.passed_over,
            "hides": rank.precedence.hides,
            "hidden_by": rank.hidden_by,
            "yanked": yank::to_json(yanked),
            "title": item.title,
            "metadata": item.metadata,
            "inputs": inputs,
            "outputs": item.directive.as_ref().and_then(|directive| directive.outputs.clone()),
            "digest": digest,
            "signature": standing_json(&standing),
        }))?;
    } else {
        output.line(format_args!("{}  {}", styled(output::BOLD, printable(id)), item_type.as_str()))?;
        for (name, text) in [("title", item.title.as_deref()), ("about", item.description())] {
            text.map_or(Ok(()), |text| show_about(name, text, output))?;
        }
        output.line(format_args!("  file      {shown}"))?;
        output.line(format_args!("  digest    {digest}"))?;
        output.line(format_args!("  trust     {}", standing_text(&standing)))?;
        show_rank(&rank, output)?;
        show_yank(yanked, output)?;
        if let Some(inputs) = inputs {
            let inputs = run_report::pretty(&inputs).replace('\n', "\n            ");
            output.line(format_args!("  inputs    {inputs}"))?;
        }
    }
    Ok(if matches!(standing, TextStanding::Invalid(_)) { Exit::Integrity } else { Exit::Ok })
}

/// Indent of the further lines of a field.
const NEXT_LINE: &str = "            ";

/// Prints a text of the author after a label: without a label, the text could imitate a statement of this program about the signer.
fn show_about(name: &str, text: &str, output: Output) -> Result<()> {
    output.line(format_args!("  {name:<9} {}", block(text.trim(), NEXT_LINE)))
}

/// Prints the other items with the same id, if there are any.
fn show_rank(rank: &Rank, output: Output) -> Result<()> {
    match rank.line() {
        Some(line) => output.line(format_args!("  place     {}", styled(output::CAUTION, printable(&line)))),
        None => Ok(()),
    }
}

/// Prints the yank of a published version, with its signer.
fn show_yank(yanked: Option<&Yank>, output: Output) -> Result<()> {
    match yanked {
        Some(yank) => {
            output.line(format_args!("  status    {}", styled(output::CAUTION, yank::reason_text(yank))))
        }
        None => Ok(()),
    }
}

fn component(
    path: &Path,
    id: &str,
    sources: &SourceArgs,
    locator: ItemLocator,
    context: &Context,
    yanked: Option<&Yank>,
) -> Result<Exit> {
    let output = context.output;
    let trust = trusted_keys::load(&context.host.home, &sources.trust, &*context.host.notices)?;
    let rank = precedence::rank((ItemType::Tool, id), path, &locator, &trust, now().into());
    let is_built_in = built_in::is_place(path);
    let JudgedComponent { verified, standing, keys } = if is_built_in {
        JudgedComponent { verified: built_in::verify(id, &trust)?, standing: Ok(None), keys: Vec::new() }
    } else {
        judge(path, id, &trust)?
    };
    let components = components(engine(&context.host)?, locator, trust, AcceptedManifest::nothing(), true);
    let admitted = components
        .load(path.to_path_buf(), verified)
        .map_err(graph_runtime::plan::admission::AdmitError::into_error)?;
    let component = context.block_on(components.complete_description(&admitted))??;
    let description = &component.description;
    let Admitted { verified, declared, .. } = &admitted;
    if output.is_json() {
        output.document(&json!({
            "kind": "component",
            "file": path.display().to_string(),
            "id": verified.id(),
            "version": verified.version(),
            "size": verified.bytes().len(),
            "digest": verified.digest(),
            "trusted": standing.is_ok(),
            "signer": standing.as_ref().ok().and_then(Option::as_ref).map(|key| json!({ "name": key.name, "key_id": key.id })),
            "reason": standing.as_ref().err(),
            "signed_by": keys,
            "space": rank.space,
            "passed_over": rank.precedence.passed_over,
            "hides": rank.precedence.hides,
            "hidden_by": rank.hidden_by,
            "yanked": yank::to_json(yanked),
            "interfaces": declared.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "imports": imports_of(&admitted),
            "statement": verified.statement().map(|statement| &statement.predicate),
            "world": component.world,
            "description": component.description,
            "functions": component.functions,
            "uncallable": uncallable::uncallable_functions(&component),
            "undocumented": component.undocumented.as_ref().map(ToString::to_string),
        }))?;
        return Ok(Exit::Ok);
    }
    let version = verified.version().map(|version| format!("@{}", printable(version))).unwrap_or_default();
    output.line(format_args!("{}{version}  component", styled(output::BOLD, printable(verified.id()))))?;
    show_about("about", &description.summary, output)?;
    let file = if is_built_in { "built into graph-host".to_owned() } else { shown(path) };
    output.line(format_args!("  file      {file} ({} bytes)", verified.bytes().len()))?;
    output.line(format_args!("  digest    {}", verified.digest()))?;
    match &standing {
        Ok(Some(key)) => output.line(format_args!(
            "  trust     {}",
            styled(output::GOOD, format_args!("signed by {}", printable(&key.to_string())))
        ))?,
        Ok(None) => output.line(format_args!("  trust     {}", styled(output::GOOD, "built in")))?,
        Err(reason) => {
            output.line(format_args!("  trust     {}", styled(output::CAUTION, printable(reason))))?;
        }
    }
    show_rank(&rank, output)?;
    show_yank(yanked, output)?;
    if let Some(statement) = verified.statement() {
        let kinds: Vec<_> = statement.predicate.ceiling.kinds.iter().map(ToString::to_string).collect();
        output.line(format_args!("  ceiling   {}", kinds.join(", ")))?;
    }
    let interfaces: Vec<_> = declared.iter().map(ToString::to_string).collect();
    output.line(format_args!(
        "  needs     {}",
        if interfaces.is_empty() {
            "nothing".to_owned()
        } else {
            printable(&interfaces.join(", ")).into_owned()
        }
    ))?;
    for wanted in &description.interfaces {
        output.line(format_args!("            {}: {}", printable(&wanted.name), printable(&wanted.why)))?;
    }
    show_callables(verified.id(), &component, output)?;
    Ok(Exit::Ok)
}

/// A component with the outcome of its verification.
struct JudgedComponent {
    verified: VerifiedComponent,
    /// The trusted key of the signature, `None` for a built-in component; or the reason why the component is not trusted.
    standing: std::result::Result<Option<KeyName>, String>,
    /// Keys that the envelope names.
    keys: Vec<String>,
}

fn judge(path: &Path, id: &str, trust: &TrustStore) -> Result<JudgedComponent> {
    let bytes = locate::read_component(path, &base_folder())?;
    let envelope = envelope_path(path);
    let envelope = match text_file::read(&envelope) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::read("the envelope", &envelope, &error)),
    };
    // Below `.ai/tools` the id follows from the path; elsewhere only its last part is known, and the statement has the id.
    let claimed = envelope.as_deref().and_then(|text| EnvelopeClaims::read(text).ok());
    let keys = claimed.map(|claims| claims.keys().map(str::to_owned).collect()).unwrap_or_default();
    match VerifiedComponent::verify(bytes.clone(), envelope.as_deref(), trust, id, now()) {
        Ok(verified) => {
            let standing = match verified.standing() {
                ComponentStanding::Signed { key, .. } => Ok(Some(key.clone())),
                ComponentStanding::BuiltIn => Ok(None),
                ComponentStanding::Unsigned => Err("not signed".to_owned()),
            };
            Ok(JudgedComponent { verified, standing, keys })
        }
        Err(error) => {
            let verified = VerifiedComponent::under_development(bytes, id, &TrustStore::default())
                .map_err(|error| locate::refused(&error))?;
            Ok(JudgedComponent { verified, standing: Err(error.to_string()), keys })
        }
    }
}

/// Prints the parts of a component that nodes can call: its node action and its functions.
fn show_callables(id: &str, component: &ComponentDescription, output: Output) -> Result<()> {
    if component.world != FUNCTIONS {
        show_schemas(&component.description.params, &component.description.result, output)?;
    }
    for function in &component.functions {
        let item = format!("{id}#{}", function.name);
        output.line(format_args!("  function  {}", styled(output::BOLD, printable(&item))))?;
        if !function.summary.is_empty() {
            output.line(format_args!("            {}", block(&function.summary, NEXT_LINE)))?;
        }
        show_schemas(&function.params, &function.result, output)?;
    }
    for function in &component.uncallable {
        output.line(format_args!("  {}", styled(output::CAUTION, printable(&function.to_string()))))?;
    }
    if let Some(error) = &component.undocumented {
        output.line(format_args!(
            "  {}",
            styled(output::CAUTION, printable(&format!("its documentation was not read: {error}")))
        ))?;
    }
    Ok(())
}

fn show_schemas(params: &Value, result: &Value, output: Output) -> Result<()> {
    for (name, schema) in [("params", params), ("result", result)] {
        let text = run_report::pretty(schema).replace('\n', "\n            ");
        output.line(format_args!("  {name}    {text}"))?;
    }
    Ok(())
}

fn graph(
    file: &ItemFile,
    sources: &SourceArgs,
    locator: &ItemLocator,
    (fetched, yanked): (Option<&FetchedReference>, Option<&Yank>),
    context: &Context,
) -> Result<Exit> {
    let output = context.output;
    let trust = trusted_keys::load(&context.host.home, &sources.trust, &*context.host.notices)?;
    let (path, id) = (file.path.as_path(), file.id.as_str());
    let text = file.graph_text()?;
    let standing = file.graph_standing(&text, &trust, now());
    let rank = precedence::rank((ItemType::Tool, id), path, locator, &trust, now().into());
    let loaded = graph_walker::document::load(&shown(path), &text, id)?;
    let graph = Arc::new(loaded.graph);
    let published = match fetched {
        Some(fetched) => Some(PublishedGraph::of(fetched, &graph, sources, &trust, context)?),
        None => None,
    };
    if output.is_json() {
        let nodes: Vec<_> = graph
            .nodes
            .iter()
            .map(|node| json!({ "name": node.name, "item": node.action.as_ref().map(|action| action.item_id.source()) }))
            .collect();
        let mut document = json!({
            "kind": "graph",
            "file": path.display().to_string(),
            "id": graph.id,
            "digest": graph.digest,
            "description": graph.description,
            "signature": standing_json(&standing),
            "space": rank.space,
            "passed_over": rank.precedence.passed_over,
            "hides": rank.precedence.hides,
            "hidden_by": rank.hidden_by,
            "yanked": yank::to_json(yanked),
            "inputs": graph.input_schema,
            "nodes": nodes,
            "warnings": loaded.warnings.to_json()["problems"],
        });
        if let Some(published) = &published {
            document["published"] = published.to_json();
        }
        output.document(&document)?;
    } else {
        output.line(format_args!("{}  graph", styled(output::BOLD, printable(&graph.id))))?;
        if let Some(description) = &graph.description {
            show_about("about", description, output)?;
        }
        let shown = if built_in::is_place(path) { "built into graph-host".to_owned() } else { shown(path) };
        output.line(format_args!("  file      {shown}"))?;
        output.line(format_args!("  digest    {}", graph.digest))?;
        output.line(format_args!("  trust     {}", standing_text(&standing)))?;
        show_rank(&rank, output)?;
        show_yank(yanked, output)?;
        if let Some(inputs) = &graph.input_schema {
            let inputs = run_report::pretty(inputs).replace('\n', "\n            ");
            output.line(format_args!("  inputs    {inputs}"))?;
        }
        output.line(format_args!(
            "  {}",
            styled(output::BOLD, run_report::counted(graph.nodes.len() as u64, "node"))
        ))?;
        for node in &graph.nodes {
            let item = node
                .action
                .as_ref()
                .map_or("", |action| action.item_id.source().as_str().unwrap_or_default());
            output.line(format_args!("    {:<20} {}", printable(&node.name), printable(item)))?;
        }
        if let Some(published) = &published {
            published.show(output)?;
        }
        if !loaded.warnings.is_empty() {
            output.report(&loaded.warnings);
        }
    }
    Ok(if matches!(standing, TextStanding::Invalid(_)) { Exit::Integrity } else { Exit::Ok })
}

/// Returns the names of a component's imports.
fn imports_of(admitted: &Admitted) -> Vec<&str> {
    let imports = admitted.loaded.as_ref().map_or(&[][..], |loaded| loaded.imports());
    imports.iter().map(|import| import.name.as_str()).collect()
}
