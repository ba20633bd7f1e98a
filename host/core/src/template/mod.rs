//! Templates: `${path}` in the strings of a document, evaluated against the state, the inputs and other roots. A template looks values up
//! and converts them with pipes; it does not compute.
//!
//! ```text
//! expression  = alternative { "||" alternative }          the first that is not null
//! alternative = ( path | literal ) { "|" pipe }
//! pipe        = name [ "(" argument { "," argument } ")" ]   `Pipe` lists them; an argument is a text or a number
//! literal     = 'text' | "text" | number | true | false | null | [] | {}
//! path        = root { "." key | "[" index "]" | "['" key "']" }
//! ```

mod evaluate;
mod expression;
mod path;
mod pipe;
mod scope;
mod script;
mod value;

pub(crate) use evaluate::kind;
pub use evaluate::{MAX_MISSING, TemplateError};
pub use path::{Path, PathSyntaxError, Segment};
pub use pipe::{ArgumentKind, Pipe, PipeArgument};
pub use scope::{Fields, Root, Scope};
pub use script::{ScriptTemplate, script_templates};
pub use value::{PathUse, PlacedPath, TemplateSyntaxError, ValueTemplate};
