//! `graph-host run` with the input `resume_run_id`, which resumes a run instead of starting one.

use graph_core::diagnostic::{printable, shell_quoted};
use graph_host::context::Context;
use graph_host::context::named_project;
use graph_host::terminal::exit::Exit;
use graph_runtime::StoreKind;
use graph_runtime::error::{Error, Result};
use graph_runtime::run::opened_graph::OpenedGraph;
use graph_runtime::run::restore;
use graph_runtime::run::run_inputs::RunInputs;
use graph_runtime::run::stores::Stores;
use graph_walker::parameters::is_about_the_run;

use super::args::{GivenArgs, SourceArgs};
use super::{resume, run};

/// Rejects a run that only a file of inputs names: the author of that file would choose which run of the user continues, with all
/// grants of this run.
pub(super) fn check_typed(run: &str, typed: Option<&str>) -> Result<()> {
    if typed == Some(run) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the file of inputs names a run to resume, `{}`; only the command line can do that",
        printable(run)
    ))
    .help(format!(
        "to resume that run, add --input {}; to start a new one, take the run out of the file",
        shell_quoted(&format!("resume_run_id={run}"))
    )))
}

/// Resumes a run of the graph. Inputs that differ from those of the run are new inputs.
pub(super) async fn resume(
    name: &str,
    args: &run::Args,
    inputs: &RunInputs,
    opened: &OpenedGraph,
    context: &Context,
) -> Result<Exit> {
    for (option, is_given) in [
        ("--plan", args.plan),
        ("--watch", args.watch),
        ("--seed", args.seed.is_some()),
        ("--run-id", args.run_id.is_some()),
        ("--durability", args.durability.is_some()),
        ("--parent", args.parent.is_some()),
        ("--strict-inputs", args.strict_inputs),
        ("--store", args.store != StoreKind::Sqlite),
    ] {
        if is_given {
            return Err(Error::usage(format!(
                "`resume_run_id` among the inputs resumes a run, and {option} is for a new one"
            ))
            .help("leave one of them out"));
        }
    }
    let project = named_project(args.sources.project.as_deref())?;
    let (_, store, row) = Stores::to_read(&project, &context.host.home)?.find(name)?;
    let (run, graph) = (&row.run_id, &opened.file.graph);
    if row.graph_id != graph.id {
        return Err(Error::usage(format!(
            "`resume_run_id` among the inputs: run {run} is one of graph `{}`, not of `{}`",
            printable(&row.graph_id),
            printable(&graph.id)
        ))
        .help(format!("resume it alone: graph-host resume {run}")));
    }
    let manifest = opened.pins.manifest;
    let other = match (graph.is_document_of(&row.graph), args.caps.is_none() || row.manifest == manifest) {
        (true, true) => None,
        (false, _) => Some("graph"),
        (true, false) => Some("manifest"),
    };
    if let Some(what) = other {
        return Err(Error::integrity(format!("run {run} was started with another {what} than this one")).help(
            format!(
                "resume it with what it was started with: graph-host resume {run}; with --accept-changes, with what is there now"
            ),
        ));
    }
    let known = restore::inputs(&*store, &row.inputs)?;
    drop(store);
    let mut new_inputs = inputs.given().cloned().unwrap_or_default();
    new_inputs.retain(|name, value| {
        let stays = !is_about_the_run(graph, name) || name == "capabilities" || name == "depth";
        stays && known.get(name) != Some(value)
    });
    let (answers, later_answer) = if row.status.is_paused() {
        (args.answers.clone(), Vec::new())
    } else {
        (Vec::new(), args.answers.clone())
    };
    let mut resume = resume::Args::of(run);
    (resume.answers, resume.later_answer) = (answers, later_answer);
    resume.max_steps = args.max_steps;
    resume.new_inputs = new_inputs;
    resume.project = Some(project.folder().to_path_buf());
    resume.given.caps.clone_from(&args.caps);
    if !context.host.home.is_own_identity(row.key)? {
        let SourceArgs { trust, items, allow_unsigned, .. } = args.sources.clone();
        resume.given = GivenArgs { trust, items, allow_unsigned, ..resume.given };
    }
    resume.sign_with.clone_from(&args.sign_with);
    resume.detach = args.detach || inputs.parameters().detached;
    resume.no_cache = args.no_cache;
    resume.state_item = args.state_item;
    resume.quiet = args.quiet;
    resume.observe = args.observe.clone();
    Box::pin(resume::resume(resume, None, context)).await
}
