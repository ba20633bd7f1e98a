//! Instructions to pull and run an item: commands that work as they are typed.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::capability::CapabilityKind;
use graph_core::diagnostic::shell_quoted;
use graph_core::work::Meter;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::example;
use crate::model::{Content, Kind, Signer};
use crate::text::Text;

/// Instructions to pull and run a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Commands, in the order in which they are typed.
    pub commands: Vec<Command>,
    /// Graph that calls a component, to be saved as `graph.yaml`.
    pub graph: Option<Text>,
    /// Further notes for the user.
    pub notes: Vec<Text>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Purpose of the command.
    pub about: Text,
    /// Command line to type.
    pub line: Text,
}

/// An item that a pull brings, with the keys that have signed it.
#[derive(Clone, Copy, Debug)]
pub struct SignedItem<'a> {
    /// Id of the item.
    pub id: &'a str,
    /// Capabilities that it may be granted; `None` for a text.
    pub may: Option<&'a BTreeSet<CapabilityKind>>,
    /// Keys of the trust store that have signed it.
    pub signers: &'a [Signer],
}

/// Returns the instructions for a verified version. `signed` are the item itself and the items that are pulled with it.
/// `is_whole` is true if the catalogue has all of these.
pub fn usage(
    (id, kind): (&str, Kind),
    reference: &str,
    content: &Content,
    signed: &[SignedItem<'_>],
    is_whole: bool,
) -> Usage {
    let mut usage = Usage { commands: Vec::new(), graph: None, notes: Vec::new() };
    for (signer, keys) in trusted(signed) {
        usage.push("Trust who signed it", &trust_command(signer, &keys));
    }
    if !is_whole {
        usage.note(
            "It brings items along that are not in this catalogue: their signers have to be trusted, too.",
        );
    }
    usage.push("Pull it", &format!("graph-host pull {}", shell_quoted(reference)));
    let id = shell_quoted(id);
    // All schemas of a version share one allowance of work, so that a version cannot prevent others from being listed.
    let meter = Meter::of_one_step();
    match content {
        Content::Graph(graph) => {
            usage.push(
                "See what it needs, and grant that",
                &format!("graph-host caps suggest {id} > caps.yaml"),
            );
            let run = format!("graph-host run {id} --caps caps.yaml");
            let schema = graph.inputs.as_ref().map(|schema| schema.json.as_ref());
            let inputs = match schema {
                None => Some(Map::new()),
                Some(json) => json.and_then(|json| example::object(Some(json), &meter)),
            };
            if let Some(inputs) = inputs {
                usage.push("Run it", &(run + &options(&inputs)));
            } else {
                usage.push("Run it with inputs that its schema accepts", &(run + " --inputs inputs.json"));
                usage.note("Write the inputs into inputs.json first, a JSON object.");
            }
        }
        Content::Component(component) => {
            usage.push("See what it is and what it needs", &format!("graph-host inspect {id}"));
            let called = component.callables.iter().find_map(|callable| {
                // The JSON of a schema is missing if it is too large for a catalogue.
                let schema = callable.params.json.as_ref()?;
                Some((callable.item.as_str(), example::object(Some(schema), &meter)?))
            });
            if let Some((item, params)) = called {
                usage.graph = Some(Text::source(&graph_of(item, &params)));
                usage.push(
                    "Save the graph below as graph.yaml; see what it needs, and grant that",
                    "graph-host caps suggest graph.yaml > caps.yaml",
                );
                usage.push("Run it", "graph-host run graph.yaml --caps caps.yaml");
            }
        }
        Content::Text(_) => {
            let ending = if kind == Kind::Knowledge { "knowledge" } else { "directive" };
            usage.push(&format!("Show the {ending}"), &format!("graph-host inspect {id}"));
        }
    }
    usage
}

impl Usage {
    fn push(&mut self, about: &str, line: &str) {
        self.commands.push(Command { about: Text::line(about), line: Text::source(line) });
    }

    fn note(&mut self, note: &str) {
        self.notes.push(Text::line(note));
    }
}

/// Items and capabilities that a key has to be trusted for.
#[derive(Default)]
struct TrustNeeds<'a> {
    items: BTreeSet<&'a str>,
    may: BTreeSet<CapabilityKind>,
}

/// Returns the keys, each with the items and the capabilities that it has to be trusted for.
fn trusted<'a>(signed: &[SignedItem<'a>]) -> BTreeMap<&'a Signer, TrustNeeds<'a>> {
    let mut keys: BTreeMap<&Signer, TrustNeeds<'_>> = BTreeMap::new();
    for item in signed {
        for signer in item.signers {
            let key = keys.entry(signer).or_default();
            key.items.insert(item.id);
            key.may.extend(item.may.into_iter().flatten());
        }
    }
    keys
}

fn trust_command(signer: &Signer, key: &TrustNeeds<'_>) -> String {
    let items: Vec<_> = key.items.iter().map(|id| shell_quoted(id)).collect();
    let may: Vec<_> =
        key.may.iter().filter(|kind| **kind != CapabilityKind::Log).map(|kind| kind.as_str()).collect();
    let may = if may.is_empty() { String::new() } else { format!(" --may {}", may.join(",")) };
    format!(
        "graph-host trust add {} --key {} --items {}{may}",
        shell_quoted(signer.name.as_str()),
        signer.public_key,
        items.join(" ")
    )
}

fn options(inputs: &Map<String, Value>) -> String {
    let option = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(" --input {}", shell_quoted(&format!("{name}={value}")))
    };
    inputs.iter().map(option).collect()
}

/// Returns a graph with one node. The untrusted values are JSON, which YAML reads, so that they cannot add keys to the
/// document.
fn graph_of(item: &str, params: &Map<String, Value>) -> String {
    let action = json!({ "item_id": item, "params": params });
    format!(
        "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: examples\ndescription: calls an item of a catalogue\n\
         config:\n  start: call\n  nodes:\n    call: {{ \"action\": {action}, \"assign\": {{ \"result\": \"${{result}}\" }} }}\n"
    )
}
