//! The artifacts of published items: a component is stored as the CNCF's Wasm OCI artifact, a text as an artifact type
//! of this project.
//!
//! | Item | Artifact | Configuration | Layer |
//! |---|---|---|---|
//! | component | (none) | `application/vnd.wasm.config.v0+json` | one, `application/wasm` |
//! | graph | `application/vnd.graph-host.graph.v1` | `application/vnd.graph-host.item.config.v1+json` | `application/yaml`, then [`crate::companions`] |
//! | knowledge | `application/vnd.graph-host.knowledge.v1` | the same | one, `text/markdown` or `application/yaml` |
//! | directive | `application/vnd.graph-host.directive.v1` | the same | one, `text/markdown` |
//!
//! A component's DSSE envelope is an artifact of its own that has the component's manifest as its subject (a referrer):
//! type and layer `application/vnd.dsse.envelope.v1+json`, an empty configuration. A text carries its signature inside.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::diagnostic::{Diagnostics, Problems};
use graph_core::digest::Digest;
use graph_core::item::ItemType;
use graph_core::json::canonical_string;
use graph_core::node::{FUNCTIONS, WORLD};
use graph_core::text_item::{TextFormat, read_text_item};
use graph_core::time::Timestamp;
use graph_core::trust::{TextKind, VerifiedComponent};
use graph_core::yaml::{self, Yaml};
use graph_walker::document;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::attach;
use crate::manifest::{ArtifactManifest, Descriptor, annotation, media};

/// The media type of the configuration of a text's artifact.
pub const ITEM_CONFIG: &str = "application/vnd.graph-host.item.config.v1+json";
/// Maximum size of a component, in bytes. Larger ones could not be compiled either.
pub const MOST_COMPONENT: u64 = 64 << 20;
/// Maximum size of a text, in bytes.
pub const MOST_TEXT: u64 = 16 << 20;
/// Maximum size of a configuration, in bytes.
pub const MOST_CONFIG: u64 = 1 << 20;
/// Maximum number of items that an artifact of a graph may list as used by the graph.
pub const MOST_USES: usize = 256;

/// The interface that a component of the world `node` exports.
const EXPORT: &str = "graph-host:node/action@0.1.0";

/// The kind of item in an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A WebAssembly component with its envelope.
    Component,
    /// A graph, in YAML.
    Graph,
    /// Knowledge: a text that graphs load and search.
    Knowledge,
    /// A directive: a text with inputs that graphs fill in.
    Directive,
}

impl Kind {
    /// All kinds of items that can be published.
    pub const ALL: [Self; 4] = [Self::Component, Self::Graph, Self::Knowledge, Self::Directive];

    /// Returns its name, as `--json` and the lockfile contain it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Graph => "graph",
            Self::Knowledge => "knowledge",
            Self::Directive => "directive",
        }
    }

    /// Returns the kind of text that its signature covers; `None` for a component.
    pub const fn text_kind(self) -> Option<TextKind> {
        match self {
            Self::Component => None,
            Self::Graph => Some(TextKind::Graph),
            Self::Knowledge => Some(TextKind::Knowledge),
            Self::Directive => Some(TextKind::Directive),
        }
    }

    /// Returns the type of the item.
    pub const fn item_type(self) -> ItemType {
        match self {
            Self::Component | Self::Graph => ItemType::Tool,
            Self::Knowledge => ItemType::Knowledge,
            Self::Directive => ItemType::Directive,
        }
    }

    /// Returns the artifact type of a text; `None` for a component, which is recognized by its configuration.
    pub const fn artifact_type(self) -> Option<&'static str> {
        match self {
            Self::Component => None,
            Self::Graph => Some("application/vnd.graph-host.graph.v1"),
            Self::Knowledge => Some("application/vnd.graph-host.knowledge.v1"),
            Self::Directive => Some("application/vnd.graph-host.directive.v1"),
        }
    }

    /// Returns the kind of an artifact by its manifest; `None` for any other artifact.
    pub fn from_manifest(manifest: &ArtifactManifest) -> Option<Self> {
        Self::of_type(manifest.artifact_type.as_deref(), &manifest.config.media_type)
    }

    /// Returns the kind for an artifact type and the media type of a configuration; `None` for any others.
    pub fn of_type(artifact_type: Option<&str>, config: &str) -> Option<Self> {
        if config == media::WASM_CONFIG {
            return Some(Self::Component);
        }
        Self::ALL.into_iter().find(|kind| {
            config == ITEM_CONFIG && kind.artifact_type().is_some_and(|own| artifact_type == Some(own))
        })
    }

    /// Returns the media types that its layer may have, each with the file extension.
    pub const fn layers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Component => &[(media::WASM, "wasm")],
            Self::Graph => &[("application/yaml", "yaml")],
            Self::Knowledge => &[("text/markdown", "md"), ("application/yaml", "yaml")],
            Self::Directive => &[("text/markdown", "md")],
        }
    }

    /// Returns the maximum size of its layer, in bytes.
    pub const fn most(self) -> u64 {
        match self {
            Self::Component => MOST_COMPONENT,
            _ => MOST_TEXT,
        }
    }
}

/// An item that is published along with a graph, because the graph's nodes name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Use")]
pub struct UsedItem {
    /// The id under which it is installed.
    pub id: String,
    /// The kind of the item.
    pub kind: Kind,
    /// The version that the signed statement or the signature line covers.
    pub version: String,
    /// The digest of its manifest. In a registry, the manifest is in the repository `base/id` if the graph is in
    /// `base/its-id`.
    pub manifest: Digest,
}

/// The configuration of a text's artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemConfig {
    /// The id under which it is installed.
    pub id: String,
    /// The kind of the item: graph, knowledge or directive.
    pub kind: Kind,
    /// The version that the signature line covers.
    pub version: String,
    /// The items that are published along with it, in order of ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<UsedItem>,
}

/// An item that can be published: its signature was verified.
#[derive(Clone, Debug)]
pub struct Item<'i> {
    /// Its id, kind, version and the items that are published along with it.
    pub config: ItemConfig,
    /// A description in a sentence.
    pub description: Option<&'i str>,
    /// The time of its signature, or one that the user chose. It must not change between two publications of the same
    /// item.
    pub created: Option<Timestamp>,
    /// The bytes and their signature.
    pub content: ItemContent<'i>,
}

/// The content of an item.
#[derive(Clone, Copy, Debug)]
pub enum ItemContent<'i> {
    /// A component, with the text of its envelope.
    Component {
        /// The component, which was verified under the publisher's trust store.
        component: &'i VerifiedComponent,
        /// The DSSE envelope, which becomes a referrer of the artifact.
        envelope: &'i str,
    },
    /// A text with its signature line.
    Text {
        /// The text with its signature line.
        text: &'i str,
        /// The extension of its file.
        extension: &'i str,
    },
}

/// An artifact: its manifest, and the blobs that belong to it.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The OCI manifest, whose digest identifies the artifact.
    pub manifest: ArtifactManifest,
    /// The configuration and the layers, in this order.
    pub blobs: Vec<Vec<u8>>,
}

impl Artifact {
    /// Returns the digest of the manifest, which identifies the artifact.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(&self.manifest.to_bytes())
    }
}

/// The error for a file extension in which an item of this kind is not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not published from a `.{extension}` file", kind.as_str())]
pub struct NoLayerError {
    kind: Kind,
    extension: String,
}

/// Builds the artifact of an item, and for a component that of its signature. The same item always gives the same
/// bytes.
pub fn artifacts(item: &Item<'_>) -> Result<(Artifact, Option<Artifact>), NoLayerError> {
    let config = &item.config;
    let mut annotations = BTreeMap::from([
        (annotation::ITEM.to_owned(), config.id.clone()),
        (annotation::TITLE.to_owned(), config.id.clone()),
        (annotation::VERSION.to_owned(), config.version.clone()),
    ]);
    if let Some(created) = item.created {
        annotations.insert(annotation::CREATED.to_owned(), created.to_string());
    }
    if let Some(description) = item.description.filter(|text| !text.trim().is_empty()) {
        annotations.insert(annotation::DESCRIPTION.to_owned(), description.trim().to_owned());
    }
    let (extension, layer, config_type, config_bytes) = match item.content {
        ItemContent::Component { component, .. } => {
            let bytes = component.bytes().to_vec();
            let config = wasm_config(component, item.created.unwrap_or_default());
            ("wasm", bytes, media::WASM_CONFIG, config)
        }
        ItemContent::Text { text, extension } => {
            let config = canonical_string(&serde_json::to_value(config).unwrap_or_default());
            (extension, text.as_bytes().to_vec(), ITEM_CONFIG, config)
        }
    };
    let extension = if extension == "yml" { "yaml" } else { extension };
    let media_type = config.kind.layers().iter().find(|(_, known)| *known == extension);
    let Some((media_type, _)) = media_type else {
        return Err(NoLayerError { kind: config.kind, extension: extension.to_owned() });
    };
    let mut described = Descriptor::new(media_type, &layer);
    let name = config.id.rsplit('/').next().unwrap_or(&config.id);
    described.annotations.insert(annotation::TITLE.to_owned(), format!("{name}.{extension}"));
    let manifest = ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: config.kind.artifact_type().map(str::to_owned),
        config: Descriptor::new(config_type, config_bytes.as_bytes()),
        layers: vec![described],
        subject: None,
        annotations,
    };
    let artifact = Artifact { manifest, blobs: vec![config_bytes.into_bytes(), layer] };
    let signature = match item.content {
        ItemContent::Component { envelope, .. } => {
            Some(attach::envelope(Descriptor::new(media::MANIFEST, &artifact.manifest.to_bytes()), envelope))
        }
        ItemContent::Text { .. } => None,
    };
    Ok((artifact, signature))
}

/// Returns the CNCF's configuration of a Wasm artifact, as JSON.
fn wasm_config(component: &VerifiedComponent, created: Timestamp) -> String {
    let imports = component.statement().map(|statement| &statement.predicate.interfaces);
    let functions = component.statement().filter(|statement| statement.predicate.world == FUNCTIONS);
    let (exports, target) = match functions {
        Some(statement) => {
            let named = statement.predicate.functions.iter().map(|function| function.name.as_str());
            (named.map(interface_or_name).collect::<BTreeSet<_>>(), None)
        }
        None => (BTreeSet::from([EXPORT]), Some(WORLD)),
    };
    canonical_string(&json!({
        "created": created.to_string(),
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [component.digest()],
        "component": { "exports": exports, "imports": imports, "target": target },
    }))
}

/// Returns the interface of a function, or the name of the function if it is exported directly.
fn interface_or_name(function: &str) -> &str {
    function.rsplit_once('/').map_or(function, |(interface, _)| interface)
}

/// The version and description that a text states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextMetadata {
    /// The version, if the text states one; `1` is completed to `1.0.0`.
    pub version: Option<String>,
    /// A description in a sentence.
    pub description: Option<String>,
}

/// Reads a text as an item of a kind, with the version and description that it states.
pub fn read_text(
    kind: Kind,
    id: &str,
    extension: &str,
    text: &str,
) -> Result<TextMetadata, Box<Diagnostics>> {
    let name = format!("{id}.{extension}");
    let (version, description) = if kind == Kind::Graph {
        (version_of_graph(text), document::load(&name, text, id)?.graph.description)
    } else {
        let format = if extension == "md" { TextFormat::Markdown } else { TextFormat::Yaml };
        let item = read_text_item(kind.item_type(), format, &name, text)?.item;
        (item.text("version").map(str::to_owned), item.title.clone())
    };
    Ok(TextMetadata { version: version.and_then(|it| whole_version(&it)), description })
}

/// Completes `1` and `1.2` to `1.0.0` and `1.2.0`. Returns `None` if the text is not a version.
fn whole_version(text: &str) -> Option<String> {
    let missing = 2_usize.saturating_sub(text.matches('.').count());
    [text.to_owned(), format!("{text}{}", ".0".repeat(missing))].into_iter().find(|it| is_version(it))
}

/// Returns the `version` of a graph document.
fn version_of_graph(text: &str) -> Option<String> {
    let root = yaml::parse(text, &Problems::new())?;
    match &root.as_mapping()?.get("version")?.value {
        Yaml::Text(text) => Some(text.value.clone()),
        Yaml::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reports whether a text is a version (Semantic Versioning 2.0.0) of at most 128 bytes.
pub fn is_version(text: &str) -> bool {
    text.len() <= 128 && semver::Version::parse(text).is_ok()
}
