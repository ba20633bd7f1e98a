//! Building nodes from their sources.

pub mod c;
pub mod documentation;
pub mod javascript;
pub mod narrow;
pub mod python;
pub mod rust;
pub mod stand_in;
pub mod wit;
