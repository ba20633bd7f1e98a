//! A static catalogue of what a registry offers: what it says ([`Catalogue`]), and the files that say it ([`files()`]): pages that
//! need no server and no network, and `catalogue.json` with the same data.
//!
//! Almost every text in a catalogue is a stranger's. It is in a [`Text`], which is bounded and in which every character is visible; a page
//! escapes whatever is put into it. Nothing here reads a registry or a file.
//!
//! ```
//! use graph_catalogue::{Catalogue, Text, files};
//!
//! let files = files(Catalogue::of(Text::line("oci-layout:out")))?;
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
    Picture, Signer, TextItem, Trust, Unreadable, Used, VERSION, Version, Wanted, Wit, Yanked,
};
pub use names::{item_page, picture_file, version_page};
pub use site::{DOCUMENT, Listing, files};
pub use text::{Link, Schema, Text};
pub use usage::{Command, SignedItem, Usage, usage};
pub use wit::{WitError, world_of};

#[cfg(test)]
mod tests;
