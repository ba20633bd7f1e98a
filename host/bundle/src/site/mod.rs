//! What a page is made of: files for a server of static files, with a signed list of their digests.
//!
//! `document` is what the page reads of a graph, `manifest` the list, `assets` what is the same in every bundle, and `files` puts it
//! all together.

mod assets;
mod document;
mod files;
mod manifest;

/// The interfaces that the page gives to components, without versions. `bundle.json` names them, and the page checks that it has them.
pub const INTERFACES: [&str; 29] = [
    "graph-host:node/types",
    "graph-host:host/log",
    "graph-host:host/events",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
    "wasi:io/streams",
    "wasi:io/poll",
    "wasi:io/error",
    "wasi:http/types",
    "wasi:http/outgoing-handler",
    "graph-host:host/secrets",
    "graph-host:host/knowledge",
    "graph-host:host/tools",
    "graph-host:host/model",
];

pub use assets::ASSETS;
pub use document::{
    ComponentDocument, CoreDocument, DOCUMENT, Document, EntryDocument, FileDocument, FolderDocument,
    FunctionDocument, GraphDocument, HookDocument, HooksDocument, KeptText, ManifestDocument, MissingCheck,
    TextDocument,
};
pub use files::{Component, ComponentError, Site};
pub use manifest::{BundleManifest, ENVELOPE, MANIFEST, ManifestError, PAYLOAD_TYPE};
