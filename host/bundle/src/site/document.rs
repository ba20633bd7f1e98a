//! `bundle.json`, which has everything that a page needs for runs of one graph.

use graph_core::digest::Digest;
use graph_core::wit_value::FunctionSignature;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the document in a bundle.
pub const DOCUMENT: &str = "bundle.json";

/// Data of a bundle that the page reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Version of this format: 1. It is also the version of the bundle's manifest.
    pub version: u32,
    /// Graph that the page runs.
    pub graph: GraphDocument,
    /// Graphs that its nodes dispatch, and those that these dispatch.
    pub graphs: Vec<GraphDocument>,
    /// Hooks from outside of the graph.
    pub hooks: HooksDocument,
    /// Capability manifest, which the page applies as a native run does.
    pub manifest: ManifestDocument,
    /// Trust store with the public keys that have signed the items of the bundle.
    pub trust: String,
    /// True if components without a signature are permitted.
    pub allow_unsigned: bool,
    /// Interfaces that the page provides to components.
    pub interfaces: Vec<String>,
    /// Components that nodes, hooks and components dispatch.
    pub components: Vec<ComponentDocument>,
    /// Knowledge items that the graphs name.
    pub knowledge: Vec<TextDocument>,
    /// Directives that the graphs name.
    pub directives: Vec<TextDocument>,
    /// Entries of the project's knowledge, which components can read.
    pub entries: Vec<EntryDocument>,
    /// Folders that components are granted.
    pub folders: Vec<FolderDocument>,
    /// Files of packed folders.
    pub files: Vec<FileDocument>,
    /// Identity of the engine, as checkpoints record it.
    pub engine: Digest,
    /// Digest of the pinned items of a run, as its checkpoints record it.
    pub pins: Digest,
    /// Texts that a run stores. Its export has them, so that it can be replayed and resumed natively.
    pub texts: Vec<KeptText>,
    /// Schema of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_schema: Option<Value>,
    /// Inputs that the page suggests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example_inputs: Option<Value>,
    /// Nodes and hooks whose components wait during a call, which requires JavaScript Promise Integration.
    pub needs_jspi: Vec<String>,
    /// Checks of a native run that a page cannot make.
    pub missing_checks: Vec<MissingCheck>,
    /// Path of a run to replay, as `graph-host runs export` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
}

/// A graph, in the form that the walker in the page reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphDocument {
    /// Name of the file in messages.
    pub name: String,
    /// Item id under which nodes dispatch it.
    pub id: String,
    /// Text of the file, with its signature.
    pub text: String,
}

/// Hooks of the project and of the user.
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
    /// Name of the file in messages.
    pub name: String,
    /// Text of the file, in YAML.
    pub text: String,
}

/// Manifest that was given with `--caps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestDocument {
    /// Name of the file in messages.
    pub name: String,
    /// Folder that its paths are relative to, on the machine that created the bundle. Digests depend on it.
    pub folder: String,
    /// Text of the file, in YAML.
    pub text: String,
}

/// A component, with its signature and in the form that the page runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentDocument {
    /// Item id under which it is dispatched.
    pub item: String,
    /// Version, from its statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Digest of the signed bytes, which are `component.wasm` in its folder.
    pub digest: Digest,
    /// Folder of its files: `components/HEX`. The file `component.js` in it exports `instantiate(getCoreModule,
    /// imports)`.
    pub path: String,
    /// Envelope with its signatures; `None` if it is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<String>,
    /// Interfaces that it imports, without those that only have types.
    pub imports: Vec<String>,
    /// Core modules of the component, and adapters between components that are nested in it.
    pub cores: Vec<CoreDocument>,
    /// True if it is instantiated with JavaScript Promise Integration.
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
    pub types: FunctionSignature,
}

/// A core module of a component, which counts its own fuel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreDocument {
    /// Name of its file in the component's folder.
    pub name: String,
    /// Number of 64-KiB pages that the memories of each instance start with. They count towards the memory limit of a
    /// task.
    pub pages: u64,
}

/// A text that a run stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptText {
    /// SHA-256 of the text, by which records refer to it.
    pub digest: Digest,
    /// Text, as a native run stores it.
    pub text: String,
}

/// Knowledge item or directive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextDocument {
    /// Item id under which actions name it.
    pub id: String,
    /// Name of its file, whose extension is the format.
    pub name: String,
    /// Text of the file, with its signature.
    pub text: String,
}

/// An entry of the project's knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryDocument {
    /// Key by which components read it.
    pub key: String,
    /// Text that is stored under the key.
    pub text: String,
}

/// A folder that a component is granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderDocument {
    /// Path on the machine that created the bundle, as grants name it.
    pub host: String,
    /// Access: `ro` to read, or `rw` to read and write.
    pub access: String,
    /// True if its files are in the bundle. Otherwise the page asks the user for a folder.
    pub packed: bool,
}

/// A file of a packed folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDocument {
    /// Path of the file in the bundle: `files/HEX`.
    pub path: String,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Original place: the folder as in [`FolderDocument::host`], and the path in that folder, with `/`. For an empty
    /// folder it ends with `/`, and `path` is empty.
    pub at: String,
}

/// A check of a native run that a page cannot make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingCheck {
    /// Node or hook that it concerns.
    pub node: String,
    /// Description of the missing check, as a sentence.
    pub message: String,
}
