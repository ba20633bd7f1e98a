//! `graph-host search`: what a registry or a directory offers.

use crate::command::args::NetworkArgs;
use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::graph_registry::search::{Offer, offers};
use graph_runtime::registry::pull::reference;
use serde_json::json;

/// List the items that a registry or an image-layout directory offers
///
/// What is shown is what their publishers say. Nothing of it has been checked: `graph-host pull` does that.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `oci://host`, `oci://host/repository`, or `oci-layout:DIR`
    #[arg(value_name = "REF")]
    place: String,
    /// Only items whose id or description has this text
    text: Option<String>,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    let place = reference(&args.place)?;
    let wanted = args.text.as_deref().unwrap_or_default().to_lowercase();
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| text.to_lowercase().contains(&wanted));
    let mut found = offers(&place, &args.network.network().options())?;
    found.retain(|offer| {
        let named = offer.reference.to_string().to_lowercase().contains(&wanted);
        named || has(&offer.id) || has(&offer.description)
    });
    let items: Vec<_> = found
        .iter()
        .map(|offer| {
            json!({
                "reference": offer.reference.to_string(),
                "kind": offer.kind,
                "id": offer.id,
                "version": offer.version,
                "description": offer.description,
            })
        })
        .collect();
    context.output.show(&json!({ "items": items }), || render(&found))?;
    Ok(Exit::Ok)
}

fn render(found: &[Offer]) -> String {
    if found.is_empty() {
        return "no items".to_owned();
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["ITEM", "VERSION", "KIND", "REFERENCE", "SAYS"]);
    for offer in found {
        let text = |text: &Option<String>| printable(text.as_deref().unwrap_or_default()).into_owned();
        table.add_row([
            text(&offer.id),
            text(&offer.version),
            offer.kind.as_str().to_owned(),
            printable(&offer.reference.to_string()).into_owned(),
            text(&offer.description),
        ]);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
