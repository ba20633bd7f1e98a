//! Describes the contents of a verified item for a catalogue. Nothing of it is executed.

use graph_catalogue::{
    Asks, Callable, Component, Content, Graph, GraphNode, Kind, Picture, Schema, Signer, Text, TextItem,
    UsedItem, WantedInterface, Wit, picture_file, world_of,
};
use graph_core::node::{FUNCTIONS, FunctionDescription};
use graph_core::text_item::{Directive, TextFormat, read_text_item};
use graph_core::trust::{ComponentStatement, KeyName, TrustStore, VerifiedComponent};
use graph_registry::artifact;
use graph_registry::pull::{PulledArtifact, PulledContent};
use graph_walker::document;
use graph_walker::structure::findings_of;
use graph_walker::topology::{Topology, TopologyReport};

use super::collect::Extras;
use crate::error::{Error, Result};

/// Limits of the shown functions of a component and the shown nodes of a graph.
const MOST_CALLABLES: usize = 200;
const MOST_NODES: usize = 400;

/// Description and content of an item.
pub(super) struct Described {
    pub(super) description: Option<Text>,
    pub(super) content: Content,
}

/// Converts the kind of an artifact.
pub(super) const fn kind(kind: artifact::Kind) -> Kind {
    match kind {
        artifact::Kind::Component => Kind::Component,
        artifact::Kind::Graph => Kind::Graph,
        artifact::Kind::Knowledge => Kind::Knowledge,
        artifact::Kind::Directive => Kind::Directive,
    }
}

/// Describes a verified item, which is shown on the page `page`.
pub(super) fn described(pulled: &PulledArtifact, page: &str, extras: &dyn Extras) -> Result<Described> {
    match &pulled.content {
        PulledContent::Component { component, .. } => of_component(component),
        PulledContent::Text { text, .. } if pulled.kind == artifact::Kind::Graph => {
            of_graph(pulled, text, page, extras)
        }
        PulledContent::Text { text, extension, .. } => of_text(pulled, text, extension),
    }
}

/// Returns the keys of the trust store that an item is believed by.
pub(super) fn signers(pulled: &PulledArtifact, trust: &TrustStore) -> Vec<Signer> {
    let keys: Vec<&KeyName> = match &pulled.content {
        PulledContent::Component { component, .. } => component.standing().keys().collect(),
        PulledContent::Text { .. } => vec![&pulled.key],
    };
    let signer = |key: &KeyName| {
        let trusted = trust.find(&key.id.to_string())?;
        Some(Signer { name: Text::line(&key.name), key_id: key.id, public_key: trusted.key.hex() })
    };
    keys.into_iter().filter_map(signer).collect()
}

fn of_component(component: &VerifiedComponent) -> Result<Described> {
    // Pulled items are signed, and signed components have a statement.
    let Some(statement) = component.statement() else {
        return Err(Error::integrity(format!("`{}` has no signed statement", component.id())));
    };
    let predicate = &statement.predicate;
    let wit = match world_of(component.bytes()) {
        Ok(wit) => Wit::Text(Text::source(&wit)),
        Err(error) => Wit::Missing(Text::line(&error.to_string())),
    };
    let mut callables = callables(component.id(), statement);
    let more_callables = callables.len().saturating_sub(MOST_CALLABLES);
    callables.truncate(MOST_CALLABLES);
    let at_most = component.ceiling();
    let asks = Asks {
        interfaces: predicate.interfaces.iter().map(|name| Text::line(name)).collect(),
        reasons: predicate
            .description
            .interfaces
            .iter()
            .map(|wanted| WantedInterface {
                interface: Text::line(&wanted.name),
                why: Text::line(&wanted.why),
            })
            .collect(),
        ceiling: predicate.ceiling.kinds.clone(),
        at_most: at_most.kinds,
        limits: predicate.limits,
        most: at_most.limits,
    };
    let bytes = component.bytes().len();
    let world = Text::line(&predicate.world);
    let content =
        Content::Component(Box::new(Component { world, bytes, callables, more_callables, wit, asks }));
    Ok(Described { description: Some(Text::block(&predicate.description.summary)), content })
}

/// Returns the callables of the signed statement: the node action first, if the component has one.
fn callables(id: &str, statement: &ComponentStatement) -> Vec<Callable> {
    let predicate = &statement.predicate;
    let description = &predicate.description;
    let action = (predicate.world != FUNCTIONS).then(|| Callable {
        item: Text::line(id),
        summary: Text::block(&description.summary),
        params: Schema::of(&description.params),
        result: Schema::of(&description.result),
    });
    let function = |function: &FunctionDescription| Callable {
        item: Text::line(&format!("{id}#{}", function.name)),
        summary: Text::block(&function.summary),
        params: Schema::of(&function.params),
        result: Schema::of(&function.result),
    };
    action.into_iter().chain(predicate.functions.iter().map(function)).collect()
}

fn of_graph(pulled: &PulledArtifact, text: &str, page: &str, extras: &dyn Extras) -> Result<Described> {
    let loaded = document::load(&format!("{}.yaml", pulled.id), text, &pulled.id)?;
    let report = Some(TopologyReport::from_warnings(findings_of(&loaded)));
    let graph = &loaded.graph;
    let topology = Topology { report, ..Topology::of(graph) };
    let nodes = topology
        .nodes
        .iter()
        .take(MOST_NODES)
        .map(|node| GraphNode { name: Text::line(&node.name), item: node.item.as_deref().map(Text::line) });
    let picture = match extras.picture(&topology) {
        Ok(svg) => Picture::Drawn { file: picture_file(page), svg },
        Err(error) => Picture::Missing(Text::line(error.message())),
    };
    let uses = pulled.uses.iter().map(|used| UsedItem {
        id: Text::line(&used.id),
        kind: kind(used.kind),
        version: Text::line(&used.version),
        manifest: used.manifest,
        page: None,
    });
    let content = Content::Graph(Box::new(Graph {
        nodes: nodes.collect(),
        more_nodes: topology.nodes.len().saturating_sub(MOST_NODES),
        uses: uses.collect(),
        inputs: graph.input_schema.as_ref().map(Schema::of),
        picture,
    }));
    Ok(Described { description: graph.description.as_deref().map(Text::block), content })
}

fn of_text(pulled: &PulledArtifact, text: &str, extension: &str) -> Result<Described> {
    let format = if extension == "md" { TextFormat::Markdown } else { TextFormat::Yaml };
    let name = format!("{}.{extension}", pulled.id);
    let item = read_text_item(pulled.kind.item_type(), format, &name, text)?.item;
    let description = item.description().or(item.title.as_deref()).map(Text::block);
    let content = Content::Text(TextItem {
        title: item.title.as_deref().map(Text::line),
        bytes: text.len(),
        inputs: item.directive.as_ref().map(Directive::schema).as_ref().map(Schema::of),
    });
    Ok(Described { description, content })
}
