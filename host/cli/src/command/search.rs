//! `graph-host search`: lists the items of a registry or a directory.

use crate::command::args::NetworkArgs;
use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_core::trust::Yank;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::run_report::counted;
use graph_host::terminal::table::{Columns, widest};
use graph_runtime::error::Result;
use graph_runtime::graph_registry::search::{Offer, Offers, offers};
use graph_runtime::registry::pull::{Puller, reference};
use graph_runtime::registry::yank::to_json;
use graph_runtime::trust::trusted_keys;
use serde_json::json;

/// List the items of a registry or an image-layout directory
///
/// The list shows what the publishers state. None of it has been checked: `graph-host pull` does that. A version is shown as
/// yanked only if a key that you trust for the item has signed the yank. If there is more than is read, a warning says so,
/// and `complete` is false in JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `oci://host`, `oci://host/repository`, or `oci-layout:DIR`
    #[arg(value_name = "REF")]
    place: String,
    /// List only items whose id or description contains this text
    text: Option<String>,
    /// Trust the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let place = reference(&args.place)?;
    let wanted = args.text.as_deref().unwrap_or_default().to_lowercase();
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| text.to_lowercase().contains(&wanted));
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let home = &context.host.home;
    let options = args.network.network().options(home, std::slice::from_ref(&place));
    let puller = Puller { options, trust: &store, home };
    let Offers { offers: mut found, cut_off } = offers(&place, &puller.options)?;
    found.retain(|offer| {
        let named = offer.reference.to_string().to_lowercase().contains(&wanted);
        named || has(&offer.id) || has(&offer.description)
    });
    let yanks = puller.yanks_of_offers(&place, &found, &*context.host.notices)?;
    let items: Vec<_> = found
        .iter()
        .zip(&yanks)
        .map(|(offer, yank)| {
            json!({
                "reference": offer.reference.to_string(),
                "kind": offer.kind,
                "id": offer.id,
                "version": offer.version,
                "description": offer.description,
                "yanked": to_json(yank.as_ref()),
                "cases": offer.cases,
            })
        })
        .collect();
    if let Some(cut_off) = &cut_off {
        context.output.warn(format_args!("{cut_off}; name a single repository to list more of it"));
    }
    let document = json!({ "items": items, "complete": cut_off.is_none() });
    context.output.show(&document, || render(&found, &yanks, context.output.table_width()))?;
    Ok(Exit::Ok)
}

fn render(found: &[Offer], yanks: &[Option<Yank>], table_width: Option<usize>) -> String {
    if found.is_empty() {
        return "no items".to_owned();
    }
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or_default()).into_owned();
    let rows: Vec<[String; 5]> = found
        .iter()
        .zip(yanks)
        .map(|(offer, yank)| {
            let yanked = if yank.is_some() { " (yanked)" } else { "" };
            [
                text(&offer.id),
                text(&offer.version) + yanked,
                kind(offer),
                printable(&offer.reference.to_string()).into_owned(),
                text(&offer.description),
            ]
        })
        .collect();
    let mut widths = [0; 5];
    for row in &rows {
        widest(&mut widths, row);
    }
    let layout = COLUMNS.layout(widths, table_width);
    let rows = rows.iter().map(|row| layout.row(row));
    std::iter::once(layout.header()).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Returns the kind of an item, with the number of cases that its publisher states.
fn kind(offer: &Offer) -> String {
    match offer.cases {
        0 => offer.kind.as_str().to_owned(),
        cases => format!("{}, {}", offer.kind.as_str(), counted(cases as u64, "case")),
    }
}

/// The reference is never cut: other commands take it.
const COLUMNS: Columns<5> = Columns {
    names: ["ITEM", "VERSION", "KIND", "REFERENCE", "DESCRIPTION"],
    cut: &[4],
    dropped: &[2, 4],
    shown: None,
};
