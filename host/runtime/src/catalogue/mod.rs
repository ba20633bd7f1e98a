//! A static catalogue of a registry, of a part of it, or of an image-layout directory.
//!
//! `collect` lists the artifacts, pulls and verifies each as `graph-host pull` does, and makes the catalogue;
//! `describe` reads the contents of a verified item; `folder` writes the pages of [`graph_catalogue`].

mod collect;
mod describe;
mod folder;
mod refusal;

pub use collect::{Extras, PublishedGraph, collect};
pub use folder::{replaceable, write};
pub use graph_catalogue;
