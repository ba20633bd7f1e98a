//! Reads the file of a manifest.

use std::path::Path;

use graph_core::capability::Manifest;
use graph_core::diagnostic::Diagnostics;

use crate::error::{Error, Result};
use crate::host::Host;
use crate::notice::Notice;
use crate::project::paths::absolute;
use crate::project::{BaseFolder, text_file};

/// Reads a manifest, and reports its warnings.
pub fn read_manifest(path: &Path, host: &Host) -> Result<Manifest> {
    let text = text_file::read_named_as("the manifest", path)?;
    let (manifest, warnings) = parse_manifest(path, host.home.base(), &text)?;
    if !warnings.is_empty() {
        host.notices.notice(Notice::Doubtful(&warnings));
    }
    Ok(manifest)
}

/// Parses a manifest; returns it with its warnings.
pub(crate) fn parse_manifest(path: &Path, base: &BaseFolder, text: &str) -> Result<(Manifest, Diagnostics)> {
    Ok(Manifest::parse(text, &base.show(path), &manifest_folder(path)?)?)
}

/// Returns the folder that the paths of a manifest are relative to.
pub(crate) fn manifest_folder(path: &Path) -> Result<String> {
    let absolute = absolute(path);
    let base = absolute.parent().unwrap_or(Path::new("/"));
    // Paths in the manifest are relative to its folder, with links resolved.
    let base = std::fs::canonicalize(base).unwrap_or_else(|_| base.to_path_buf());
    base.into_os_string().into_string().map_err(|_| {
        Error::usage(format!(
            "the folder of the manifest {} has a name that is not text in UTF-8",
            path.display()
        ))
    })
}

/// Reads the present manifest in a file; `None` if the file does not exist.
pub(crate) fn manifest_now(path: &Path, base: &BaseFolder) -> Result<Option<Manifest>> {
    match text_file::read(path) {
        Ok(text) => parse_manifest(path, base, &text).map(|(manifest, _)| Some(manifest)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read("the manifest", path, &error)),
    }
}
