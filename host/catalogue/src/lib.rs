//! A static catalogue of the items in a registry: its data ([`Catalogue`]), and the files that present them
//! ([`files()`]). The files are pages that need no server and no network, and `catalogue.json` with the same data.
//!
//! Almost every text in a catalogue is untrusted. It is in a [`Text`], which has a maximum length and only visible
//! characters, and a page escapes every text. The crate reads no registry and no file.
//!
//! ```
//! use graph_catalogue::{Catalogue, Text, files};
//!
//! let files = files(Catalogue::new(Text::line("oci-layout:out")))?;
//! assert!(files.contains_key("index.html") && files.contains_key("catalogue.json"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod example;
mod model;
mod names;
mod pages;
mod site;
mod text;
mod usage;
mod wit;

pub use model::{
    Asks, Callable, CaseResult, Cases, Catalogue, Component, Content, FORMAT, Graph, GraphNode, Item, Kind,
    Picture, Signer, TextItem, Trust, Unreadable, UsedItem, VERSION, Version, WantedInterface, Wit,
    YankNotice,
};
pub use names::{item_page, picture_file, version_page};
pub use site::{DOCUMENT, Listing, files};
pub use text::{Link, Schema, Text};
pub use usage::{Command, SignedItem, Usage, usage};
pub use wit::{WitError, world_of};

#[cfg(test)]
mod tests;
