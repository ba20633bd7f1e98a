//! The pages. [`maud`] escapes everything that is put into one; texts of strangers are in `bdi`, so that letters that are written from right
//! to left do not reorder what is around them.

mod index;
mod item;
mod parts;
mod version;

pub(crate) use index::index;
pub(crate) use item::item;
pub(crate) use version::version;
