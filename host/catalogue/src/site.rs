//! Files of a catalogue.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::json::{self, TreeLimit};
use serde::Deserialize;

use crate::model::{Catalogue, Content, FORMAT, Picture};
use crate::pages;

/// Path of the catalogue's data.
pub const DOCUMENT: &str = "catalogue.json";

/// Style sheet and script, which are committed as they are built from `host/web/page`; `tests/bundle` builds them again
/// and compares.
const ASSETS: [(&str, &[u8]); 2] = [
    ("assets/catalogue.css", include_bytes!("../assets/catalogue.css")),
    ("assets/catalogue.js", include_bytes!("../assets/catalogue.js")),
];

/// Returns all files of a catalogue, by path. The same catalogue gives the same bytes.
pub fn files(mut catalogue: Catalogue) -> Result<BTreeMap<String, Vec<u8>>, serde_json::Error> {
    let mut files: BTreeMap<_, _> =
        ASSETS.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    let mut put = |path: &str, text: String| files.insert(path.to_owned(), text.into_bytes());
    put("index.html", pages::index(&catalogue));
    for item in &catalogue.items {
        put(&item.page, pages::item(&catalogue, item));
        for version in &item.versions {
            put(&version.page, pages::version(&catalogue, item, version));
            if let Some(Content::Graph(graph)) = &version.content
                && let Picture::Drawn { file, svg } = &graph.picture
            {
                put(file, svg.clone());
            }
        }
    }
    catalogue.files = files.keys().cloned().chain([DOCUMENT.to_owned()]).collect();
    let mut document = serde_json::to_vec_pretty(&catalogue)?;
    document.push(b'\n');
    files.insert(DOCUMENT.to_owned(), document);
    Ok(files)
}

/// Files that a catalogue of any version lists: those that may be removed when another catalogue replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Listing {
    format: String,
    version: u32,
    files: BTreeSet<String>,
}

impl Listing {
    /// Reads the list of a `catalogue.json`; returns `None` for another document.
    pub fn read(document: &[u8]) -> Option<Self> {
        json::read::<Self>(document, TreeLimit::DOCUMENT).ok().filter(|listing| listing.format == FORMAT)
    }

    /// Returns the version of the document's format.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Reports whether a file belongs to the catalogue.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }
}
