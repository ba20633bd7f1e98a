//! Problems in documents: message, place, reason and remedy. A reader collects every problem of a file in [`Problems`] and converts them to
//! [`Diagnostics`], which a terminal shows with snippets of the file.

pub mod codes;
mod invisible;
mod report;
mod shell;
mod source;
mod text;

pub use codes::Code;
pub use invisible::is_invisible;
pub(crate) use invisible::is_part_of_writing;
pub use report::{Diagnostic, Diagnostics, Problems, Severity, Span};
pub use shell::{shell_path, shell_quoted};
pub use text::{acts, excerpt_of, excerpt_up_to};
pub use text::{block, escape, excerpt, nearest, one_line, printable, printable_lines, turns, visible};
