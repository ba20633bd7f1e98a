//! Output of `run --plan`: the items of a run, the grants of each node, and what is missing.

use graph_core::capability::EffectiveGrant;
use graph_core::diagnostic::printable;
use graph_core::policy::Durability;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::remedies;
use graph_host::terminal::text::standing_text;
use graph_runtime::PlannedRun;
use graph_runtime::error::Result;
use graph_runtime::items::graph_file::standing_json;
use graph_runtime::items::locate::Space;
use graph_runtime::items::precedence::Precedence;
use graph_runtime::items::text_items::Text;
use graph_runtime::plan::{Plan, PlanProblem, PlannedId, PlannedNode};
use graph_runtime::run::opened_graph::OpenedGraph;
use graph_walker::compat::Dialect;
use serde_json::{Value, json};

/// Prints a plan; the exit code is `Denied` if anything is missing.
pub(super) fn show(
    planned: &PlannedRun,
    durability: Durability,
    suggest: &str,
    context: &Context,
) -> Result<Exit> {
    let (opened, plan) = (planned.opened(), planned.plan());
    let output = context.output;
    let missing = plan.missing();
    let exit = if missing.is_empty() { Exit::Ok } else { Exit::Denied };
    if output.is_json() {
        output.document(&document(opened, plan, durability, suggest))?;
        return Ok(exit);
    }
    show_graph(opened, output)?;
    show_items(opened, plan, output)?;
    show_nodes(plan, output)?;
    show_missing(&missing, suggest, output)?;
    for warning in plan.warnings().into_iter().chain(paid_again(plan, durability)) {
        output.warn(warning);
    }
    Ok(exit)
}

/// Returns the warning that a crash may repeat requests to language models, if the run may send any.
fn paid_again(plan: &Plan, durability: Durability) -> Option<String> {
    let lost = match durability {
        Durability::Sync => return None,
        Durability::Async => "those of the last steps",
        Durability::Exit => "all since the run began or last paused",
    };
    let asks = |node: &PlannedNode| node.grant.as_ref().is_some_and(|grant| !grant.models.is_empty());
    plan.nodes.iter().chain(&plan.hooks).any(asks).then(|| {
        format!(
            "`durability: {}`: after a crash, requests to language models since the last checkpoint are sent, and paid for, again: \
             {lost}; `--durability sync` stores each step before the next one starts",
            durability.as_str()
        )
    })
}

/// Returns the plan as JSON, with the origins of its graphs.
fn document(opened: &OpenedGraph, plan: &Plan, durability: Durability, suggest: &str) -> Value {
    let warnings = plan.warnings().into_iter().chain(paid_again(plan, durability));
    let mut document = json!({
        "graph": opened.file.graph.id,
        "name": opened.file.graph.name,
        "executor_id": opened.file.graph.dialect.executor(),
        "file": opened.file.path.display().to_string(),
        "space": opened.file.space,
        "passed_over": opened.file.precedence.passed_over,
        "hides": opened.file.precedence.hides,
        "digest": opened.file.graph.digest,
        "signature": standing_json(&opened.file.standing),
        "graphs": opened.subgraphs.files.iter().map(|(id, file)| json!({
            "id": id,
            "file": file.path.display().to_string(),
            "space": file.space,
            "passed_over": file.precedence.passed_over,
            "hides": file.precedence.hides,
            "digest": file.graph.digest,
            "signature": standing_json(&file.standing),
        })).collect::<Vec<_>>(),
        "warnings": opened.subgraphs.warnings.iter().cloned().chain(warnings).collect::<Vec<_>>(),
    });
    if let (Value::Object(document), Value::Object(plan)) = (&mut document, plan.to_json(remedies::words)) {
        document.extend(plan);
        document.insert("suggest".to_owned(), json!(suggest));
    }
    document
}

fn show_graph(opened: &OpenedGraph, output: Output) -> Result<()> {
    let graph = &opened.file.graph;
    output.line(format_args!(
        "{} {}  {}",
        styled(output::BOLD, printable(&graph.id)),
        shown(&opened.file.path),
        standing_text(&opened.file.standing)
    ))?;
    output.line(format_args!("  {}", styled(output::DIM, graph.digest)))?;
    if let Some(name) = &graph.name {
        output.line(format_args!("  name {}", printable(name)))?;
    }
    if graph.dialect == Dialect::Rye {
        output.line("  follows Rye's dialect: graph-host explain rye")?;
    }
    if let Some(line) = opened.file.precedence.line(opened.file.space) {
        output.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn show_items(opened: &OpenedGraph, plan: &Plan, output: Output) -> Result<()> {
    output.line(styled(output::BOLD, "\nitems"))?;
    for (id, item) in &plan.items {
        match item {
            Ok(admitted) => output.line(item_lines(id, admitted))?,
            Err(problem) => output.line(format_args!(
                "  {} {}: {}",
                styled(output::BAD, "✗"),
                printable(id),
                printable(&problem.message)
            ))?,
        }
    }
    for ((item_type, id), text) in &plan.texts {
        match text {
            Ok(text) => output.line(text_line(item_type, id, text))?,
            Err(problem) => output.line(format_args!(
                "  {} {item_type} {}: {}",
                styled(output::BAD, "✗"),
                printable(id),
                printable(&problem.message)
            ))?,
        }
    }
    for (id, file) in &opened.subgraphs.files {
        output.line(graph_line(id, file))?;
    }
    Ok(())
}

fn show_nodes(plan: &Plan, output: Output) -> Result<()> {
    output.line(styled(output::BOLD, "\nnodes"))?;
    for node in plan.nodes.iter().chain(&plan.hooks) {
        let name = node.hook.map_or_else(|| node.name.clone(), |event| format!("{event} hook {}", node.name));
        let item = match &node.item {
            PlannedId::Literal(id) if id.is_empty() => "(a search over everything)".to_owned(),
            PlannedId::Literal(id) => printable(id).into_owned(),
            PlannedId::Template(text) => format!("{} (known when it is dispatched)", printable(text)),
        };
        let kinds = node.grant.as_ref().map_or_else(String::new, |grant| {
            format!("  {}", styled(output::DIM, format_args!("granted: {}", granted(grant).join(", "))))
        });
        output.line(format_args!("  {:<20} {item}{kinds}", printable(&name)))?;
    }
    Ok(())
}

/// Lists the grants of a node for people.
fn granted(grant: &EffectiveGrant) -> Vec<String> {
    let mut parts: Vec<_> = grant.kinds.iter().map(ToString::to_string).collect();
    parts.extend(grant.filesystem.iter().map(|mount| {
        format!("{} as {} ({})", printable(&mount.host), printable(&mount.guest), mount.access.as_str())
    }));
    parts.extend(grant.http.iter().flat_map(|rule| {
        let schemes = rule.schemes.iter().map(|scheme| format!("{scheme}://{}", printable(&rule.host)));
        let open_ports: Vec<_> = rule.ports.iter().map(ToString::to_string).collect();
        let tail = format!(":{} ({})", open_ports.join(","), rule.methods.join(", "));
        schemes.map(move |start| format!("{start}{tail}"))
    }));
    parts.extend(grant.secrets.iter().map(|secret| {
        let (header, host) = (printable(&secret.header), printable(&secret.host));
        format!("secret {} in {header} to {host}", printable(&secret.name))
    }));
    parts.extend(grant.knowledge.iter().map(|rule| format!("{} ({})", rule.scope, rule.access.as_str())));
    parts
}

fn show_missing(missing: &[(&PlannedNode, PlanProblem)], suggest: &str, output: Output) -> Result<()> {
    if missing.is_empty() {
        output.line(styled(output::GOOD, "\nnothing is missing"))?;
    } else {
        output.line(styled(output::BAD, "\nmissing"))?;
        let mut shown = Vec::new();
        for (node, problem) in missing {
            output.line(format_args!("  {}: {}", node.subject(), printable(&problem.message)))?;
            let help = problem.help.as_ref().map(remedies::words);
            let lines = problem.manifest_lines.as_ref().or(help.as_ref());
            if let Some(lines) = lines.filter(|lines| !shown.contains(*lines)) {
                for line in lines.trim_end().lines() {
                    output.line(format_args!("      {}", styled(output::DIM, printable(line))))?;
                }
                shown.push(lines.clone());
            }
        }
        output.line(format_args!("\nsee what the graph needs: {suggest}"))?;
    }
    Ok(())
}

fn text_line(item_type: &str, id: &str, text: &Text) -> String {
    let file = text.file.as_ref().map(|file| shown(&file.path)).unwrap_or_default();
    format!(
        "  {} {item_type} {}  {}  {}{}",
        styled(output::GOOD, "✓"),
        printable(id),
        standing_text(&text.standing),
        styled(output::DIM, format_args!("{} {file}", text.digest.short())),
        precedence_line(&text.precedence, text.space()),
    )
}

fn item_lines(id: &str, admitted: &graph_runtime::plan::admission::Admitted) -> String {
    use graph_core::trust::ComponentStanding;
    let verified = &admitted.verified;
    let version = verified.version().map(|version| format!("@{}", printable(version))).unwrap_or_default();
    let signer = match verified.standing() {
        ComponentStanding::Signed { key, .. } => {
            styled(output::GOOD, format_args!("signed by {}", printable(&key.to_string())))
        }
        ComponentStanding::BuiltIn => styled(output::GOOD, "built in"),
        ComponentStanding::Unsigned => styled(output::CAUTION, "not signed"),
    };
    let interfaces: Vec<_> = admitted.declared.iter().map(ToString::to_string).collect();
    let needs = if interfaces.is_empty() { "nothing".to_owned() } else { interfaces.join(", ") };
    format!(
        "  {} {}{version}  {signer}  {}{}\n      needs {}",
        styled(output::GOOD, "✓"),
        printable(id),
        styled(output::DIM, format_args!("{} {}", verified.digest().short(), shown(&admitted.path))),
        precedence_line(&admitted.precedence, admitted.space),
        printable(&needs)
    )
}

/// Returns the line below an item that names its origin, if there are other items with its id.
fn precedence_line(precedence: &Precedence, space: Option<Space>) -> String {
    let line = space.and_then(|space| precedence.line(space));
    line.map(|line| format!("\n      {line}")).unwrap_or_default()
}

/// Returns the line of a child run's graph.
fn graph_line(id: &str, file: &graph_runtime::items::graph_file::GraphFile) -> String {
    format!(
        "  {} {}  graph {}  {}{}",
        styled(output::GOOD, "✓"),
        printable(id),
        standing_text(&file.standing),
        styled(output::DIM, format_args!("{} {}", file.graph.digest.short(), shown(&file.path))),
        precedence_line(&file.precedence, Some(file.space))
    )
}
