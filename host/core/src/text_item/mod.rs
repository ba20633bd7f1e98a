//! Text items: knowledge and directives, as projects keep them in `.ai/knowledge` and `.ai/directives`.
//!
//! A Markdown file has its metadata between two lines `---` at its top, or in a fence of YAML there; a directive may have them in a fence
//! of XML instead, with its inputs. A YAML file consists of metadata only.

mod directive;
mod parse;
mod search;
mod thread;
mod xml;

#[cfg(test)]
mod tests;

pub use directive::{Directive, DirectiveInput, InputKind};
pub use parse::{ReadText, TextFormat, TextItem, read_text_item};
pub use search::{SEARCH_FIELDS, SearchField, SearchQuery, SearchableFields};
pub use thread::{DirectiveOutput, DirectiveThread};
