//! `graph-host runs adopt`.

use graph_core::trust::KeyId;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::Result;
use graph_runtime::graph_store::RunFilter;
use graph_runtime::project::Project;
use graph_runtime::project::state::OwnState;
use graph_runtime::run::restore;
use graph_runtime::run::stores::{self, Stores};
use serde_json::json;

/// Accept the state of a project that you have moved or copied here yourself
///
/// A project from a stranger may contain state. Therefore the state of a project, .ai/state, is written only if a marker
/// shows that this host made it, in this very folder. This command signs a new marker. Runs that another host has signed
/// can still be shown and verified, but not resumed. The knowledge that components have stored in that state is what your
/// runs read from then on.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, project: &Project, context: &Context) -> Result<Exit> {
    let folder = shown(project.state().path());
    // State that cannot be read is not adopted.
    let (own, others) = count(project, context)?;
    let adopted = OwnState::adopt(project, &context.host.home)?;
    let document = json!({ "folder": folder, "adopted": adopted, "own_runs": own, "other_runs": others });
    context.output.show(&document, || {
        if adopted {
            format!(
                "{} {folder} is this host's now, with {}",
                styled(output::GOOD, "✓"),
                counted(own + others, "run")
            )
        } else {
            format!("{folder} is this host's already")
        }
    })?;
    if others > 0 {
        context.output.warn(format_args!(
            "{} signed by another host: it can be shown and verified here, and only that host can resume it",
            counted(others, "run")
        ));
    }
    Ok(Exit::Ok)
}

/// Counts the runs that this host has signed, and the others.
fn count(project: &Project, context: &Context) -> Result<(u64, u64)> {
    let (mut own, mut others) = (0, 0);
    if stores::any(project)? {
        restore::bring_up_to_date(project)?;
        let identities = context.host.home.verifying_identities()?;
        let keys: Vec<KeyId> = identities.iter().map(graph_core::trust::VerifyingKey::id).collect();
        Stores::to_read(project, &context.host.home)?.each(&RunFilter::default(), |_, row| {
            if keys.contains(&row.key) {
                own += 1;
            } else {
                others += 1;
            }
            Ok(())
        })?;
    }
    Ok((own, others))
}
