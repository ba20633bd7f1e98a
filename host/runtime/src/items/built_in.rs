//! Items that are part of the program, each by its digest.
//!
//! Their sources are in `host/builtin`, and `host/builtin/build` writes what is in `host/runtime/assets`. Nothing is granted to them by
//! being built in: they need their lines in a manifest as every other component does.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::graph::ItemType;
use graph_core::id::path_of;
use graph_core::trust::{TrustStore, VerifiedComponent, VerifyError};

use crate::error::{Error, Result};
use crate::items::locate::{Space, refused};
use crate::items::precedence::Candidate;

/// An item of the program.
struct BuiltIn {
    id: &'static str,
    /// What the program lists: the component has to have it.
    digest: &'static str,
    /// The component, compressed: it is a quarter of the size.
    compressed: &'static [u8],
    /// The statement of a signed component, without a signature.
    statement: &'static str,
    /// The component's bytes, once they have been needed.
    bytes: OnceLock<Arc<[u8]>>,
}

static ITEMS: [BuiltIn; 1] = [BuiltIn {
    id: "rye/bash/bash",
    digest: include_str!("../../assets/bash.sha256"),
    compressed: include_bytes!("../../assets/bash.wasm.gz"),
    statement: include_str!("../../assets/bash.statement.json"),
    bytes: OnceLock::new(),
}];

impl BuiltIn {
    fn bytes(&self) -> Option<&Arc<[u8]>> {
        if self.bytes.get().is_none() {
            let mut bytes = Vec::new();
            GzDecoder::new(self.compressed).read_to_end(&mut bytes).ok()?;
            let _ = self.bytes.set(bytes.into());
        }
        self.bytes.get()
    }
}

/// The items of a type, with their ids.
pub(crate) fn candidates(item_type: ItemType) -> impl Iterator<Item = (&'static str, Candidate)> {
    let items = if item_type == ItemType::Tool { &ITEMS[..] } else { &[] };
    items
        .iter()
        .map(|item| (item.id, Candidate { space: Space::BuiltIn, path: place(item.id), is_outside: false }))
}

/// What messages show instead of a file. No file has this path: nothing is ever read from it.
fn place(id: &str) -> PathBuf {
    Path::new("(built in)").join(format!("{id}.wasm"))
}

/// Whether a path is that of an item of the program.
pub fn is_place(path: &Path) -> bool {
    ITEMS.iter().any(|item| path == place(item.id))
}

/// The component of an item, checked against the listed digest, and against what the trust store requires.
pub fn verify(item: &str, trust: &TrustStore) -> Result<VerifiedComponent> {
    let missing = |reason: &str| {
        refused(&VerifyError::BuiltIn { id: printable(item).into_owned(), reason: reason.to_owned() })
    };
    let built_in = ITEMS
        .iter()
        .find(|built_in| built_in.id == path_of(item))
        .ok_or_else(|| missing("there is no such item"))?;
    let listed: Digest = format!("sha256:{}", built_in.digest.trim())
        .parse()
        .map_err(|_| missing("its listed digest is invalid"))?;
    let bytes = built_in.bytes().ok_or_else(|| missing("its component cannot be decompressed"))?;
    VerifiedComponent::built_in(Arc::clone(bytes), built_in.statement, &listed, trust, item)
        .map_err(|error| refused(&error))
}

/// The refusal to publish an item of the program.
pub(crate) fn not_published(id: &str) -> Error {
    Error::usage(format!("`{}` is built into graph-host and is not published", printable(id)))
        .help("every graph-host of this version has it")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use graph_core::trust::Standing;

    #[test]
    fn every_item_has_the_digest_that_is_listed_and_a_statement_about_itself() {
        for item in &ITEMS {
            let verified = verify(item.id, &TrustStore::default()).unwrap();
            assert_eq!(verified.standing(), &Standing::BuiltIn);
            assert_eq!(
                (verified.id(), verified.digest()),
                (item.id, &Digest::of_bytes(item.bytes().unwrap()))
            );
            assert!(is_place(&place(item.id)));
        }
    }

    #[test]
    fn another_version_is_refused() {
        let error = verify("rye/bash/bash@99.0.0", &TrustStore::default()).unwrap_err();
        assert!(error.message().contains("the version that is built in is"), "{}", error.message());
    }
}
