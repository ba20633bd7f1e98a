//! Problems in documents: what is wrong, where, why, and what to do. A reader collects every problem of a file in
//! [`Problems`] and makes [`Diagnostics`] of them, which a terminal shows with snippets of the file.

pub mod codes;
mod report;
mod source;
mod text;

pub use codes::Code;
pub use report::{Diagnostic, Diagnostics, Problems, Severity, Span};
pub(crate) use text::{acts, excerpt_of, excerpt_up_to};
pub use text::{escape, excerpt, nearest, one_line, printable};
