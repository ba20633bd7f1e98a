//! Lists that are produced while a document is written, so that a long one is never wholly in memory.

use std::cell::RefCell;

use serde::ser::{SerializeSeq as _, Serializer};
use serde_json::Value;

use crate::error::{Error, Result};

/// Passes each element of a list to a callback.
type Elements<'e> = dyn FnMut(&mut dyn FnMut(&Value) -> Result<()>) -> Result<()> + 'e;

/// A list that is produced while the document around it is written. It can be written once.
pub struct Streamed<'e> {
    elements: RefCell<Box<Elements<'e>>>,
    failed: RefCell<Option<Error>>,
}

impl<'e> Streamed<'e> {
    /// Makes a list of the elements that `elements` passes to its callback.
    pub fn new(elements: impl FnMut(&mut dyn FnMut(&Value) -> Result<()>) -> Result<()> + 'e) -> Self {
        Self { elements: RefCell::new(Box::new(elements)), failed: RefCell::default() }
    }

    /// Takes the error that ended the list early, if there was one.
    pub fn take_failure(&self) -> Option<Error> {
        self.failed.borrow_mut().take()
    }
}

impl serde::Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let made = (self.elements.borrow_mut())(&mut |element| {
            written = list.serialize_element(element);
            if written.is_ok() { Ok(()) } else { Err(Error::storage("the list cannot be written")) }
        });
        written?;
        if let Err(error) = made {
            *self.failed.borrow_mut() = Some(error);
            return Err(serde::ser::Error::custom("the list cannot be made"));
        }
        list.end()
    }
}
