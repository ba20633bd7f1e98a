//! Output of `inspect` about a graph in a registry: its companions, the items that it uses, and its suggested manifest. Everything that
//! can be derived from the verified graph is derived again; the publisher's manifest and picture are only compared by digest, neither
//! fetched nor shown.

use std::sync::Arc;

use graph_core::diagnostic::{printable, shell_quoted};
use graph_core::digest::Digest;
use graph_core::id::path_of;
use graph_core::item::ItemType;
use graph_core::trust::TrustStore;
use graph_host::context::{Context, named_project};
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::remedies;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::Result;
use graph_runtime::graph_registry::companions::{CompanionKind, Companions, ListedCompanion};
use graph_runtime::items::installed::origin;
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::plan::engine;
use graph_runtime::plan::manifest_authority::AcceptedManifest;
use graph_runtime::project;
use graph_runtime::registry::fetch_cache::FetchedReference;
use graph_runtime::registry::publish::named;
use graph_runtime::registry::pull::{Network, Puller};
use graph_walker::graph::Graph;
use serde_json::{Value, json};

use crate::command::args::SourceArgs;
use crate::command::publish::companions::{manifest_text, picture};
use crate::command::published_cases::unsigned;
use crate::command::suggestion::{self, SuggestedManifest};

/// An item that the graph names.
struct UsedItem {
    item_type: ItemType,
    id: String,
    /// Version that was published with the graph; `None` if the item was not.
    version: Option<String>,
}

/// A graph in a registry, with the data derived from it.
pub(super) struct PublishedGraph {
    reference: String,
    digest: Digest,
    graph_size: u64,
    /// Sum of the stated sizes of all layers, in bytes.
    size: u64,
    companions: Companions,
    uses: Vec<UsedItem>,
    /// The suggested manifest with notes on its gaps, or the reason why none can be derived.
    asks: std::result::Result<(String, Vec<String>), String>,
    /// Digest of the picture drawn here, if the graph can be drawn.
    drawn: Option<Digest>,
}

impl PublishedGraph {
    pub(super) fn of(
        fetched: &FetchedReference,
        graph: &Arc<Graph>,
        sources: &SourceArgs,
        trust: &TrustStore,
        context: &Context,
    ) -> Result<Self> {
        let home = &context.host.home;
        let options = Network::default().options(home, std::slice::from_ref(&fetched.reference));
        let puller = Puller { options, trust, home };
        let manifest = fetched.manifest(&puller)?;
        let companions = fetched.companions(&manifest, &graph.id, &puller)?;
        let mut uses = Vec::new();
        for (item_type, id) in named(graph) {
            let came = origin(&fetched.items, context.host.home.base(), item_type, path_of(&id))?;
            uses.push(UsedItem { item_type, id, version: came.map(|origin| origin.version) });
        }
        // The items that came with the graph come first, as in a run.
        let keeper = named_project(sources.project.as_deref())?;
        let project = sources.project.clone().or_else(|| project::nearest(keeper.folder()));
        let locator = ItemLocator::new(&sources.items, project.as_deref(), &context.host.home, &keeper);
        let engine = engine::engine(&context.host)?;
        let components = engine::components(
            engine,
            locator,
            trust.clone(),
            AcceptedManifest::nothing(),
            sources.allow_unsigned,
        );
        let asks = match context.block_on(suggestion::suggest_manifest(graph, &[], &components))? {
            Ok(SuggestedManifest { suggestion, unknown, templates }) => {
                Ok((suggestion.text, unknown.into_iter().chain(templates).collect()))
            }
            Err(error) => Err(remedies::message(&error)),
        };
        Ok(Self {
            reference: fetched.reference.to_string(),
            digest: fetched.digest,
            graph_size: manifest.layers.first().map_or(0, |layer| layer.size),
            size: manifest.layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size)),
            companions,
            uses,
            asks,
            drawn: picture(graph).ok().map(|picture| Digest::of_bytes(picture.as_bytes())),
        })
    }

    fn one(&self, kind: CompanionKind) -> Option<&ListedCompanion> {
        self.companions.of_kind(kind).next()
    }

    /// Compares the publisher's manifest with the one derived here; `None` if one of them is missing.
    fn asks_the_same(&self) -> Option<bool> {
        let (text, _) = self.asks.as_ref().ok()?;
        let own = Digest::of_bytes(manifest_text(text).as_bytes());
        Some(self.one(CompanionKind::Manifest)?.digest == own)
    }

    /// Compares the publisher's picture with the one drawn here; `None` if one of them is missing.
    fn looks_the_same(&self) -> Option<bool> {
        Some(self.one(CompanionKind::Picture)?.digest == self.drawn?)
    }

    /// Returns the members for `--json`.
    pub(super) fn to_json(&self) -> Value {
        let file = |listed: &ListedCompanion| {
            json!({
                "file": listed.title, "size": listed.size, "digest": listed.digest, "signed": listed.is_signed,
            })
        };
        let with = |kind, key: &str, same: Option<bool>| {
            self.one(kind).map(|listed| {
                let mut shown = file(listed);
                shown[key] = json!(same);
                shown
            })
        };
        let uses = self.uses.iter();
        json!({
            "reference": self.reference,
            "manifest_digest": self.digest,
            "size": self.size,
            "graph_size": self.graph_size,
            "uses": uses
                .map(|used| json!({ "kind": used.item_type, "id": used.id, "version": used.version }))
                .collect::<Vec<_>>(),
            "asks_for": match &self.asks {
                Ok((manifest, notes)) => json!({ "manifest": manifest, "notes": notes }),
                Err(error) => json!({ "manifest": null, "notes": [error] }),
            },
            "cases": self.companions.of_kind(CompanionKind::Case).map(file).collect::<Vec<_>>(),
            "manifest": with(CompanionKind::Manifest, "as_suggested_here", self.asks_the_same()),
            "picture": with(CompanionKind::Picture, "as_drawn_here", self.looks_the_same()),
            "unknown_layers": self.companions.unknown,
        })
    }

    pub(super) fn show(&self, output: Output) -> Result<()> {
        let field = |name: &str, text: &str| output.line(format_args!("  {name:<9} {}", printable(text)));
        field("from", &self.reference)?;
        field("size", &format!("{} bytes, of which the graph has {}", self.size, self.graph_size))?;
        for (at, used) in self.uses.iter().enumerate() {
            let version = match &used.version {
                Some(version) => format!("{version}, published with it"),
                None => "not published with it".to_owned(),
            };
            let name = if at == 0 { "uses" } else { "" };
            field(name, &format!("{} {} {version}", used.item_type.as_str(), used.id))?;
        }
        match &self.asks {
            Ok((manifest, notes)) => {
                output.line("  asks for")?;
                for line in manifest.trim_end().lines() {
                    output.line(format_args!("            {}", printable(line)))?;
                }
                for note in notes {
                    output.line(format_args!("            {}", styled(output::CAUTION, printable(note))))?;
                }
            }
            Err(error) => field("asks for", &format!("not known: {error}"))?,
        }
        let cases: Vec<_> = self.companions.of_kind(CompanionKind::Case).collect();
        if !cases.is_empty() {
            field("cases", &counted(cases.len() as u64, "case"))?;
        }
        for case in cases {
            field("", &size_of(case))?;
        }
        let compared = [
            (CompanionKind::Manifest, self.asks_the_same(), "suggested", "caps suggest"),
            (CompanionKind::Picture, self.looks_the_same(), "drawn", "graph show --format svg"),
        ];
        for (kind, is_same, done, command) in compared {
            let Some(listed) = self.one(kind) else { continue };
            let same = match is_same {
                Some(true) => format!("as {done} here"),
                Some(false) => styled(output::CAUTION, format_args!("not as {done} here")),
                None => "not compared".to_owned(),
            };
            output.line(format_args!("  {:<9} {}, {same}", kind.as_str(), printable(&size_of(listed))))?;
            if is_same == Some(false) {
                output.warn(format_args!(
                    "the published {} is not the one that this version of graph-host derives from the graph: another version \
                     wrote it, or it does not show what the graph is; `graph-host {command} {}` derives it from the graph",
                    kind.as_str(),
                    shell_quoted(&self.reference),
                ));
            }
        }
        if let Some(unsigned) = unsigned(&self.companions, None) {
            field("", &unsigned)?;
        }
        if self.companions.unknown > 0 {
            let count = counted(self.companions.unknown as u64, "layer");
            field("", &format!("{count} of types that this version does not know, which are not read"))?;
        }
        Ok(())
    }
}

fn size_of(listed: &ListedCompanion) -> String {
    format!("{} ({} bytes)", listed.title, listed.size)
}
