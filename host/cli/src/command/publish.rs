//! `graph-host publish`: publishes items in a registry, or in a directory that can be copied to one.

pub(super) mod companions;

use crate::command::args::NetworkArgs;
use graph_host::context::current_project;
use std::path::PathBuf;

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::companions::CompanionKind;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::project;
use graph_runtime::registry::publish::{Outcome, Publisher, Said, epoch, split};
use graph_runtime::registry::pull::{Puller, reference};
use graph_runtime::trust::trusted_keys;
use serde_json::{Value, json};

use companions::CompanionCollector;

/// Publish signed items in a registry or an image-layout directory
///
/// The last argument is the target. `oci://host/repository:tag` or `oci-layout:DIR:name` is the target of one item. Without
/// a tag or a name it is the base of several items, each of which is published under its id and version: `oci://host/team`
/// and `acme/fetch` 1.2.0 give `oci://host/team/acme/fetch:1.2.0`.
///
/// A graph takes along its cases, the manifest that it asks for and its picture. Its cases are the `*.case.yaml` files in its
/// folder and in the folder `cases` next to it that name it under `graph_file`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The items to publish, as files or item ids, and the target
    #[arg(required = true, num_args = 1.., value_names = ["ITEM", "REF"])]
    words: Vec<String>,
    /// Publish the items that a graph's nodes name as well, so that one pull brings all of them
    #[arg(long)]
    with_items: bool,
    /// Publish the cases in these files and folders as well, each with the graph that it names
    #[arg(long, value_name = "PATH")]
    cases: Vec<PathBuf>,
    /// Publish graphs without cases, manifests and pictures: earlier versions of graph-host pull no others
    #[arg(long, conflicts_with = "cases")]
    bare: bool,
    /// The item id of a file whose path does not show it
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The version of a text that does not state one
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Move a tag that is a version and already names other bytes
    #[arg(long)]
    force: bool,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    /// A folder that is searched for items before all others
    #[arg(long, value_name = "DIR")]
    items: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let (names, to) = split(args.words)?;
    let to = reference(&to)?;
    let one_of_many = names.len() > 1 || args.with_items;
    if one_of_many && to.names_one() {
        return Err(Error::usage(format!("{to} is the reference of one item, and several are published"))
            .help("leave the tag out: each item is then published below it, by its id and version"));
    }
    if names.len() > 1 && (args.id.is_some() || args.version.is_some()) {
        return Err(Error::usage("`--id` and `--version` are about one item, and several are named"));
    }
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let keeper = current_project()?;
    let project = project::nearest(keeper.folder());
    let locator = ItemLocator::new(&args.items, project.as_deref(), &context.host.home, &keeper);
    let home = &context.host.home;
    let options = args.network.network().options(home, std::slice::from_ref(&to));
    let puller = Puller { options, trust: &store, home };
    let gathered = CompanionCollector::new(&args.cases, &args.items, &store, &keeper, context)?;
    let publisher = Publisher {
        locator: &locator,
        trust: &store,
        puller: &puller,
        force: args.force,
        epoch: epoch()?,
        companions: if args.bare { &() } else { &gathered },
    };
    let said = Said { id: args.id.as_deref(), version: args.version.as_deref() };
    // All items are checked before the first one is sent.
    let publishable = names.iter().map(|name| publisher.find(name, said)).collect::<Result<Vec<_>>>()?;
    if !args.with_items {
        gathered.check_all_taken()?;
    }
    let mut outcomes = Vec::new();
    let last = publishable.len().saturating_sub(1);
    for (at, item) in publishable.into_iter().enumerate() {
        if args.with_items {
            // A named case may belong to a graph that is published with the last item.
            let check = || if at == last { gathered.check_all_taken() } else { Ok(()) };
            outcomes.extend(publisher.publish_all(item, &to, &check)?);
        } else {
            outcomes.push(publisher.publish(&item, &to)?);
        }
    }
    let document = json!({ "published": outcomes.iter().map(to_json).collect::<Vec<_>>() });
    context.output.show(&document, || outcomes.iter().map(render).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Ok)
}

fn to_json(outcome: &Outcome) -> Value {
    json!({
        "id": outcome.id,
        "kind": outcome.kind,
        "version": outcome.version,
        "reference": outcome.reference.to_string(),
        "manifest": outcome.published.manifest,
        "was_there": outcome.published.was_there,
        "replaced": outcome.published.replaced,
        "companions": outcome
            .companions
            .iter()
            .map(|(kind, file)| json!({ "kind": kind.as_str(), "file": file }))
            .collect::<Vec<_>>(),
    })
}

fn render(outcome: &Outcome) -> String {
    let published = &outcome.published;
    let what = if published.was_there { "already there" } else { "published" };
    let moved = published.replaced.map(|before| format!(", in place of {}", before.short()));
    format!(
        "{} {} {} {}\n  {} {}{}{}",
        styled(GOOD, what),
        outcome.kind.as_str(),
        styled(BOLD, &outcome.id),
        outcome.version,
        outcome.reference,
        styled(DIM, published.manifest),
        moved.unwrap_or_default(),
        with(&outcome.companions),
    )
}

/// Returns the line that lists the companions of a graph.
fn with(companions: &[(CompanionKind, String)]) -> String {
    let of = |kind| companions.iter().filter(|(other, _)| *other == kind).count() as u64;
    let mut parts = Vec::new();
    if of(CompanionKind::Case) > 0 {
        parts.push(counted(of(CompanionKind::Case), "case"));
    }
    if of(CompanionKind::Manifest) > 0 {
        parts.push("the manifest that it asks for".to_owned());
    }
    if of(CompanionKind::Picture) > 0 {
        parts.push("its picture".to_owned());
    }
    if parts.is_empty() { String::new() } else { format!("\n  with {}", parts.join(", ")) }
}
