//! A catalogue in a folder.

use std::collections::BTreeMap;
use std::path::Path;

use graph_catalogue::{Catalogue, DOCUMENT, Listing, VERSION, files};

use crate::error::{Error, Kind, Result};
use crate::project::BaseFolder;
use crate::project::whole_folder::WholeFolder;

const FOLDER: WholeFolder =
    WholeFolder { noun: "catalogue", marker: DOCUMENT, marker_name: "the list of files" };

/// Refuses a folder that a catalogue may not be written to: one that holds anything but an older catalogue.
pub fn replaceable(folder: &Path, base: &BaseFolder) -> Result<()> {
    FOLDER.replaceable(folder, base, |document| {
        let older = Listing::read(document);
        if let Some(newer) = older.as_ref().map(Listing::version).filter(|version| *version > VERSION) {
            return Err(Error::integrity(format!(
                "{} has a catalogue of version {newer}, and this program writes version {VERSION}",
                base.show(folder)
            ))
            .help("use a newer graph-host, or name another folder: -o DIR"));
        }
        Ok(older.map(|older| move |path: &str| older.has(path)))
    })
}

/// Writes a catalogue into a folder and returns the written files. After an error, the folder is unchanged.
pub fn write(catalogue: Catalogue, folder: &Path, base: &BaseFolder) -> Result<BTreeMap<String, Vec<u8>>> {
    replaceable(folder, base)?;
    let files = files(catalogue).map_err(|error| {
        Error::new(Kind::Internal, "internal", format!("the catalogue cannot be written as JSON: {error}"))
            .caused_by(error)
    })?;
    FOLDER.write(&files, folder)?;
    Ok(files)
}
