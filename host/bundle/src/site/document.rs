//! `bundle.json`: everything that a page needs for runs of one graph.

use graph_core::digest::Digest;
use graph_core::wit_value::Signature;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the document in a bundle.
pub const DOCUMENT: &str = "bundle.json";

/// What a page reads. Its version is that of the bundle's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The version of this format: 1. It is also that of the bundle's manifest.
    pub version: u32,
    /// The graph that the page runs.
    pub graph: GraphDocument,
    /// The graphs that its nodes dispatch, and those that these dispatch.
    pub graphs: Vec<GraphDocument>,
    /// Hooks from outside of the graph.
    pub hooks: HooksDocument,
    /// The capability manifest that the page applies, as a native run would.
    pub manifest: ManifestDocument,
    /// A trust store with the public keys that signed what is in the bundle.
    pub trust: String,
    /// Whether components without a signature run.
    pub allow_unsigned: bool,
    /// The interfaces that the page gives to components.
    pub interfaces: Vec<String>,
    /// The components that nodes, hooks and components dispatch.
    pub components: Vec<ComponentDocument>,
    /// The items of knowledge that the graphs name.
    pub knowledge: Vec<TextDocument>,
    /// The directives that the graphs name.
    pub directives: Vec<TextDocument>,
    /// What components find in the knowledge of the project.
    pub entries: Vec<EntryDocument>,
    /// The folders that components are granted.
    pub folders: Vec<FolderDocument>,
    /// The files of packed folders.
    pub files: Vec<FileDocument>,
    /// The identity of the engine, as checkpoints record it.
    pub engine: Digest,
    /// What runs are pinned to: the digest that their checkpoints record.
    pub pins: Digest,
    /// The texts that a run keeps, for its export: with them it can be replayed and resumed natively.
    pub texts: Vec<KeptText>,
    /// The schema of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_schema: Option<Value>,
    /// Inputs to begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example_inputs: Option<Value>,
    /// The nodes and hooks whose components wait for something, which takes JavaScript Promise Integration.
    pub needs_jspi: Vec<String>,
    /// What is checked natively and cannot be checked in a page.
    pub missing_checks: Vec<MissingCheck>,
    /// A run to replay: the path of what `graph-host runs export` wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
}

/// A graph as the walker in the page reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphDocument {
    /// How messages call its file.
    pub name: String,
    /// The item id under which nodes dispatch it.
    pub id: String,
    /// The file, with its signature.
    pub text: String,
}

/// The hooks of the project and of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksDocument {
    /// `.ai/hooks.yaml` of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<HookDocument>,
    /// `hooks.yaml` of the user's space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<HookDocument>,
}

/// A file of hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookDocument {
    /// How messages call it.
    pub name: String,
    /// The text of the file, in YAML.
    pub text: String,
}

/// The manifest given with `--caps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestDocument {
    /// How messages call its file.
    pub name: String,
    /// The folder that its paths are relative to, on the machine that made the bundle: digests depend on it.
    pub folder: String,
    /// The text of the file, in YAML.
    pub text: String,
}

/// A component, in its signed form and in the form that the page runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentDocument {
    /// The item id under which it is dispatched.
    pub item: String,
    /// Its version, from its statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of the signed bytes, which are `component.wasm` in its folder.
    pub digest: Digest,
    /// Its folder: `components/HEX`. `component.js` in it exports `instantiate(getCoreModule, imports)`.
    pub path: String,
    /// The envelope with its signatures; absent for one that is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<String>,
    /// The interfaces that it imports besides plain types.
    pub imports: Vec<String>,
    /// Its core modules, and the adapters between components that are nested in it.
    pub cores: Vec<CoreDocument>,
    /// Whether it is instantiated with JavaScript Promise Integration.
    pub waits: bool,
    /// The functions of it that are called in place of its node action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionDocument>,
}

/// A function that a component exports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDocument {
    /// Its name after `#` in item ids.
    pub name: String,
    /// The interface that has it, with its version; absent for one that the component exports itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The types of its parameters and its result.
    pub types: Signature,
}

/// A core module of a component, which counts its fuel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreDocument {
    /// The name of its file in the component's folder.
    pub name: String,
    /// Pages of 64 KiB that the memories of each of its instances begin with: they count against the memory that a task may use.
    pub pages: u64,
}

/// A text that runs keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptText {
    /// The SHA-256 of the text, by which records name it.
    pub digest: Digest,
    /// The text as a native run would store it.
    pub text: String,
}

/// Knowledge or a directive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextDocument {
    /// The item id under which actions name it.
    pub id: String,
    /// The name of its file, whose extension says how it is read.
    pub name: String,
    /// The file, with its signature.
    pub text: String,
}

/// An entry of the project's knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryDocument {
    /// The key by which components read it.
    pub key: String,
    /// The text that is stored under the key.
    pub text: String,
}

/// A folder that a component is granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderDocument {
    /// Its path on the machine that made the bundle, as grants name it.
    pub host: String,
    /// How it is granted: `ro` to read, or `rw` to read and write.
    pub access: String,
    /// Whether its files are in the bundle. Otherwise the page asks for a folder.
    pub packed: bool,
}

/// A file of a packed folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDocument {
    /// The path of the file in the bundle: `files/HEX`.
    pub path: String,
    /// The SHA-256 of the file.
    pub digest: Digest,
    /// Where it is: the folder as [`FolderDocument::host`] has it, and its path in that folder, with `/`. That of an empty folder
    /// ends with `/`, and its `path` is empty.
    pub at: String,
}

/// Something that is checked natively, and not in a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingCheck {
    /// The node or hook.
    pub node: String,
    /// What is not checked, as a sentence.
    pub message: String,
}
