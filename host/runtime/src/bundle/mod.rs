//! Packs a graph with everything that it needs into a folder that a browser runs from any server of static files.
//!
//! `gather` plans and collects the contents of a bundle, `native_run` computes the pins of a native run, `pack` reads
//! files of granted folders, `page` knows what a page cannot do, and `folder` writes a bundle and checks one.

mod folder;
mod gather;
mod native_run;
mod pack;
mod page;

pub use folder::{CheckedBundle, check, replaceable, write};
pub use gather::{Bundle, BundleOptions, gather, plan_for_page};
