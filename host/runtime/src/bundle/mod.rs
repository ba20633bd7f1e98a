//! A graph with everything that it needs, as a folder that a browser runs from any server of static files.
//!
//! `gather` collects what belongs to a bundle, `pack` reads files of granted folders, `page` knows what a page cannot do, and
//! `folder` writes a bundle and checks one.

mod folder;
mod gather;
mod pack;
mod page;

pub use folder::{CheckedBundle, check, replaceable, write};
pub use gather::{Bundle, BundleOptions, gather};
