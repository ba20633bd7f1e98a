//! Pages of a catalogue. [`maud`] escapes all texts in them. Untrusted texts are in `bdi` elements, so that letters
//! that are written from right to left do not reorder the text around them.

mod index;
mod item;
mod parts;
mod version;

pub(crate) use index::index;
pub(crate) use item::item;
pub(crate) use version::version;
