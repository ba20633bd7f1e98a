//! Data of a catalogue.

use std::collections::BTreeSet;

use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::limits::TaskLimits;
use graph_core::time::Timestamp;
use graph_core::trust::KeyId;
use serde::{Deserialize, Serialize};

use crate::text::{Link, Schema, Text};
use crate::usage::Usage;

/// Value of `format` in `catalogue.json`.
pub const FORMAT: &str = "graph-host catalogue";
/// Version of the format of `catalogue.json`.
pub const VERSION: u32 = 1;

/// Items of a registry, of a part of it, or of a directory, with the result of their verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of this format: [`VERSION`].
    pub version: u32,
    /// Reference of the registry, repository or directory that was listed, as the user has typed it.
    pub place: Text,
    /// Reasons why the catalogue may be incomplete: the listings that were cut off.
    pub cut_off: Vec<Text>,
    /// Items, in order of their ids.
    pub items: Vec<Item>,
    /// Artifacts that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Paths of all files of the catalogue. A folder that has any other file is not replaced by another catalogue.
    pub files: BTreeSet<String>,
}

impl Catalogue {
    /// Creates a catalogue of a place, without items.
    pub fn new(place: Text) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            place,
            cut_off: Vec::new(),
            items: Vec::new(),
            unreadable: Vec::new(),
            files: BTreeSet::new(),
        }
    }

    /// Returns all versions of all items.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.items.iter().flat_map(|item| &item.versions)
    }
}

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Component: a node action, a library of functions, or both.
    Component,
    /// Graph.
    Graph,
    /// Knowledge.
    Knowledge,
    /// Directive.
    Directive,
}

impl Kind {
    /// All kinds, in the order in which the filter of a page offers them.
    pub const ALL: [Self; 4] = [Self::Component, Self::Graph, Self::Knowledge, Self::Directive];

    /// Returns the name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Graph => "graph",
            Self::Knowledge => "knowledge",
            Self::Directive => "directive",
        }
    }
}

/// An item with all its versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Id of the item. If a version was verified, its signature covers the id; otherwise it is the id that the
    /// publisher states.
    pub id: Text,
    /// Kind of the item.
    pub kind: Kind,
    /// Repository or directory that has the item.
    pub place: Text,
    /// Path of the item's page.
    pub page: String,
    /// Versions of the item, the greatest one first; never empty.
    pub versions: Vec<Version>,
}

impl Item {
    /// Returns the version that represents the item: the greatest verified one that is neither yanked nor a
    /// pre-release; without one, a verified pre-release, a verified yanked version, or the first of all.
    pub fn newest(&self) -> Option<&Version> {
        let is_release = |version: &&Version| !version.version.as_str().contains('-');
        let trusted = || self.versions.iter().filter(|version| version.trust.is_trusted());
        let offered = || trusted().filter(|version| version.yanked.is_none());
        let newest = offered().find(is_release).or_else(|| offered().next()).or_else(|| trusted().next());
        newest.or_else(|| self.versions.first())
    }
}

/// A version of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Version number; empty if the publisher states none.
    pub version: Text,
    /// Path of the version's page.
    pub page: String,
    /// References that the version can be pulled by, the best one first; never empty.
    pub references: Vec<Text>,
    /// Digest of its OCI manifest, which identifies the artifact.
    pub manifest: Digest,
    /// Digest of its content, if the content was read.
    pub digest: Option<Digest>,
    /// Result of verifying its signatures.
    pub trust: Trust,
    /// Description. If the version was verified, its signature covers the description; otherwise the publisher states
    /// it.
    pub description: Option<Text>,
    /// Link to its sources, as its publisher states it. No signature covers the link.
    pub source: Option<Link>,
    /// Content, if the version was verified.
    pub content: Option<Content>,
    /// Manifest of capabilities that was published with it.
    pub capabilities: Option<Text>,
    /// Results of the cases that were published with it.
    pub cases: Cases,
    /// Yank of the version, if it was verified and is yanked.
    pub yanked: Option<YankNotice>,
    /// Instructions to pull and run it.
    pub usage: Option<Usage>,
}

/// Result of verifying the signatures of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum Trust {
    /// Keys of the trust store have signed the version.
    Trusted {
        /// Keys of the trust store that have signed it.
        signers: Vec<Signer>,
        /// Time at which the trust in these keys ends.
        not_after: Option<Timestamp>,
        /// Time of the signature, as the signer of a text states it.
        signed_at: Option<Timestamp>,
    },
    /// The version was not verified. All data of it are as its publisher states them.
    NotVerified {
        /// Reason why it was not verified.
        reason: Text,
        /// Ids of the keys that its signatures name.
        key_ids: Vec<Text>,
    },
}

impl Trust {
    /// Reports whether the version was verified.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted { .. })
    }
}

/// A key of the trust store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// Name of the key in the trust store.
    pub name: Text,
    /// SHA-256 of the public key.
    pub key_id: KeyId,
    /// Public key, in hexadecimal digits.
    pub public_key: String,
}

/// Content of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// A component.
    Component(Box<Component>),
    /// A graph.
    Graph(Box<Graph>),
    /// Knowledge or a directive.
    Text(TextItem),
}

/// A component, by its signed statement and its types. It was not executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// World that it implements.
    pub world: Text,
    /// Size in bytes.
    pub bytes: usize,
    /// Functions that nodes can call: the node action first, if there is one.
    pub callables: Vec<Callable>,
    /// Number of further functions, which are left out.
    pub more_callables: usize,
    /// Types of its world, and of the interfaces that it exports.
    pub wit: Wit,
    /// Capabilities and limits that it asks for.
    pub asks: Asks,
}

/// A function that a node can call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Callable {
    /// `item_id` of the node's action: the id of the item, with `#` and the name of the function unless it is the node
    /// action.
    pub item: Text,
    /// Description of the function.
    pub summary: Text,
    /// Schema of its params.
    pub params: Schema,
    /// Schema of its result.
    pub result: Schema,
}

/// WIT of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wit {
    /// Text of the WIT.
    Text(Text),
    /// Reason why the WIT is not shown.
    Missing(Text),
}

/// Capabilities and limits that a component asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asks {
    /// Interfaces that it may import.
    pub interfaces: Vec<Text>,
    /// Reasons for the interfaces, as its author states them.
    pub reasons: Vec<WantedInterface>,
    /// Capabilities that its statement permits to grant.
    pub ceiling: BTreeSet<CapabilityKind>,
    /// Capabilities that both its statement and the keys of the trust store that have signed it permit to grant.
    pub at_most: BTreeSet<CapabilityKind>,
    /// Limits that its author states; `timeout` in milliseconds.
    pub limits: Option<TaskLimits>,
    /// Maximum limits that its statement permits.
    pub most: Option<TaskLimits>,
}

/// An interface that a component asks for, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedInterface {
    /// Name of the interface.
    pub interface: Text,
    /// Reason, as the author of the component states it.
    pub why: Text,
}

/// A graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Nodes of the graph.
    pub nodes: Vec<GraphNode>,
    /// Number of further nodes, which are left out.
    pub more_nodes: usize,
    /// Items that are pulled with the graph.
    pub uses: Vec<UsedItem>,
    /// Schema of its inputs, if it has one.
    pub inputs: Option<Schema>,
    /// Picture of the graph.
    pub picture: Picture,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphNode {
    /// Name of the node.
    pub name: Text,
    /// Item that the node dispatches, as the graph has it.
    pub item: Option<Text>,
}

/// An item that is pulled with a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedItem {
    /// Id of the item.
    pub id: Text,
    /// Kind of the item.
    pub kind: Kind,
    /// Version of the item.
    pub version: Text,
    /// Digest of its OCI manifest.
    pub manifest: Digest,
    /// Path of the version's page, if it is in this catalogue.
    pub page: Option<String>,
}

/// Picture of a graph, drawn from the verified graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// The picture was drawn.
    Drawn {
        /// Path of the SVG file.
        file: String,
        /// Content of the SVG file.
        #[serde(skip)]
        svg: String,
    },
    /// Reason why there is no picture.
    Missing(Text),
}

/// Knowledge or a directive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextItem {
    /// Title of the text.
    pub title: Option<Text>,
    /// Size in bytes.
    pub bytes: usize,
    /// Schema of the inputs of a directive.
    pub inputs: Option<Schema>,
}

/// Results of the cases that were published with a version. The catalogue ran the cases itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Cases {
    /// The version was published without cases.
    #[default]
    None,
    /// The cases were run, with doubles in the place of the items of a graph.
    Ran {
        /// Result of each case, in order of file names.
        results: Vec<CaseResult>,
    },
    /// The cases were not run.
    NotRun {
        /// Reason why they were not run.
        reason: Text,
    },
}

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseResult {
    /// Name of the case.
    pub name: Text,
    /// Rule that the case shows.
    pub about: Option<Text>,
    /// True if all expectations of the case were met.
    pub passed: bool,
    /// First expectation that was not met.
    pub problem: Option<Text>,
}

/// A yank by a key of the trust store: the version must no longer be selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YankNotice {
    /// Reason, as the signer states it.
    pub reason: Text,
    /// Time of the yank, as the signer states it.
    pub at: Timestamp,
    /// Name of the key that has signed it.
    pub signer: Text,
}

/// An artifact that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unreadable {
    /// Reference of the artifact.
    pub reference: Text,
    /// Reason why it could not be read.
    pub reason: Text,
}
