//! Files of a page for a server of static files, with a signed list of their digests.
//!
//! `document` has the data that the page reads, `manifest` the list of digests, `assets` the files that are the same in
//! every bundle, and `files` assembles the bundle.

mod assets;
mod document;
mod files;
mod manifest;

/// Interfaces that the page provides to components, without versions. They are listed in `bundle.json`, and the page
/// checks that it has them.
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
