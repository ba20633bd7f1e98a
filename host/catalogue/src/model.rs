//! What a catalogue says.

use std::collections::BTreeSet;

use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::limits::TaskLimits;
use graph_core::time::Timestamp;
use graph_core::trust::KeyId;
use serde::{Deserialize, Serialize};

use crate::text::{Link, Schema, Text};
use crate::usage::Usage;

/// What `catalogue.json` states as its `format`.
pub const FORMAT: &str = "graph-host catalogue";
/// The version of `catalogue.json`.
pub const VERSION: u32 = 1;

/// The items of a registry, of a part of it, or of a directory, as they were read and verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// [`FORMAT`].
    pub format: String,
    /// The version of this format: [`VERSION`].
    pub version: u32,
    /// The reference of what was listed, as the user typed it.
    pub place: Text,
    /// Why there may be more than this catalogue has: the listings that were cut off.
    pub cut_off: Vec<Text>,
    /// The items, in order of ids.
    pub items: Vec<Item>,
    /// The artifacts that could not be read at all.
    pub unreadable: Vec<Unreadable>,
    /// The paths of all files of the catalogue. A folder with any other file is not replaced by another catalogue.
    pub files: BTreeSet<String>,
}

impl Catalogue {
    /// A catalogue of a place, which has no items yet.
    pub fn of(place: Text) -> Self {
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

    /// All versions of all items.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.items.iter().flat_map(|item| &item.versions)
    }
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A component: a node action, a library of functions, or both.
    Component,
    /// A graph.
    Graph,
    /// Knowledge.
    Knowledge,
    /// A directive.
    Directive,
}

impl Kind {
    /// All kinds, in the order in which they are offered as a filter.
    pub const ALL: [Self; 4] = [Self::Component, Self::Graph, Self::Knowledge, Self::Directive];

    /// Its name.
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
    /// The id: of a version that was verified, the one that its signature covers; else what the publisher states.
    pub id: Text,
    /// The kind.
    pub kind: Kind,
    /// The repository or directory.
    pub place: Text,
    /// The path of its page.
    pub page: String,
    /// Its versions, the greatest first; never empty.
    pub versions: Vec<Version>,
}

impl Item {
    /// The version that stands for the item: the greatest one that was verified, is not yanked, and is no pre-release; if there is
    /// none, a pre-release, a yanked version, or the first one.
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
    /// The version; empty if the publisher states none.
    pub version: Text,
    /// The path of its page.
    pub page: String,
    /// The references that pull it, the best one first; never empty.
    pub references: Vec<Text>,
    /// The digest of its manifest, which identifies the artifact.
    pub manifest: Digest,
    /// The digest of its content, if it was read.
    pub digest: Option<Digest>,
    /// Who signed it, and whether that counts.
    pub trust: Trust,
    /// What it is for. Of a version that was verified, its signature covers the description; else the publisher states it.
    pub description: Option<Text>,
    /// Where its sources are, as its publisher states it. No signature covers that.
    pub source: Option<Link>,
    /// What it has inside; of a version that was verified.
    pub content: Option<Content>,
    /// The manifest of capabilities that was published with it.
    pub capabilities: Option<Text>,
    /// The results of the cases that were published with it.
    pub cases: Cases,
    /// Why it is yanked; nothing if it is not, or was not verified.
    pub yanked: Option<Yanked>,
    /// How it is pulled and run.
    pub usage: Option<Usage>,
}

/// Whether a version may be used here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum Trust {
    /// Its signature was verified, by keys of the trust store.
    Trusted {
        /// The keys by which it is believed.
        signers: Vec<Signer>,
        /// Until when they count.
        not_after: Option<Timestamp>,
        /// When it was signed, as the signer of a text says.
        signed_at: Option<Timestamp>,
    },
    /// It was not verified. What the catalogue has about it is what its publisher states.
    NotVerified {
        /// Why.
        reason: Text,
        /// The ids of the keys that its signatures name.
        key_ids: Vec<Text>,
    },
}

impl Trust {
    /// Whether its signature was verified.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted { .. })
    }
}

/// A key of the trust store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// The name in the trust store.
    pub name: Text,
    /// The SHA-256 of the public key.
    pub key_id: KeyId,
    /// The public key, in hexadecimal digits.
    pub public_key: String,
}

/// What a version has inside.
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

/// A component, by its signed statement and its types. Nothing of it was executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// The world that it implements.
    pub world: Text,
    /// How many bytes it has.
    pub bytes: usize,
    /// What nodes can call: the node action first, if it is one.
    pub callables: Vec<Callable>,
    /// How many more functions it has, which are left out.
    pub more_callables: usize,
    /// Its types: those of its world, and of the interfaces that it exports.
    pub wit: Wit,
    /// What it asks for.
    pub asks: Asks,
}

/// What a node can call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Callable {
    /// What a node writes as its `item_id`: the id of the item, with `#` and the name of a function.
    pub item: Text,
    /// What it does.
    pub summary: Text,
    /// The schema of its params.
    pub params: Schema,
    /// The schema of its result.
    pub result: Schema,
}

/// The WIT of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wit {
    /// The text.
    Text(Text),
    /// It is not shown, and why.
    Missing(Text),
}

/// What a component asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asks {
    /// The interfaces that it may import.
    pub interfaces: Vec<Text>,
    /// Why it wants them, in its author's words.
    pub reasons: Vec<Wanted>,
    /// The most that it may be granted, by its statement.
    pub ceiling: BTreeSet<CapabilityKind>,
    /// The most that it may be granted, by its statement and by the keys of the trust store that signed it.
    pub at_most: BTreeSet<CapabilityKind>,
    /// The limits that its author states; `timeout` in milliseconds.
    pub limits: Option<TaskLimits>,
    /// The limits of its ceiling.
    pub most: Option<TaskLimits>,
}

/// An interface, and why it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The interface.
    pub interface: Text,
    /// Why.
    pub why: Text,
}

/// A graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Its nodes.
    pub nodes: Vec<GraphNode>,
    /// How many more nodes it has, which are left out.
    pub more_nodes: usize,
    /// The items that it brings along.
    pub uses: Vec<Used>,
    /// The schema of its inputs, if it has one.
    pub inputs: Option<Schema>,
    /// Its picture.
    pub picture: Picture,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphNode {
    /// Its name.
    pub name: Text,
    /// The item that it dispatches, as it is written.
    pub item: Option<Text>,
}

/// An item that a graph brings along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Its id.
    pub id: Text,
    /// Its kind.
    pub kind: Kind,
    /// Its version.
    pub version: Text,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The page of that version, if this catalogue has one.
    pub page: Option<String>,
}

/// The picture of a graph, drawn from the graph that was verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// It was drawn.
    Drawn {
        /// The path of its file.
        file: String,
        /// The file.
        #[serde(skip)]
        svg: String,
    },
    /// There is none, and why.
    Missing(Text),
}

/// Knowledge or a directive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextItem {
    /// Its title.
    pub title: Option<Text>,
    /// How many bytes it has.
    pub bytes: usize,
    /// The schema of the inputs of a directive.
    pub inputs: Option<Schema>,
}

/// The results of the cases that were published with a version. The catalogue ran them itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Cases {
    /// It was published without cases.
    #[default]
    None,
    /// They were run: each item of a graph is replaced by the double of the case.
    Ran {
        /// One for each case, in order of file names.
        results: Vec<CaseResult>,
    },
    /// They were not run.
    NotRun {
        /// Why.
        reason: Text,
    },
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseResult {
    /// Its name.
    pub name: Text,
    /// The rule that it shows.
    pub about: Option<Text>,
    /// Whether everything was as the case expects.
    pub passed: bool,
    /// What was not.
    pub problem: Option<Text>,
}

/// A yank that counts in the trust store: the version is no longer to be selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Yanked {
    /// Why, as its signer states.
    pub reason: Text,
    /// When, as its signer states.
    pub at: Timestamp,
    /// The name of the key that signed it.
    pub signer: Text,
}

/// An artifact that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unreadable {
    /// Its reference.
    pub reference: Text,
    /// Why it could not be read.
    pub reason: Text,
}
