//! Keys of the document format that later releases will support: their form is checked, and a warning names them, so that
//! no one relies on them.

use graph_core::diagnostic::{Diagnostic, Problems, Span, codes};

/// Warns that a key has no effect in this version.
pub(super) fn warn(span: Span, what: &str, help: Option<&str>, problems: &Problems) {
    let message = format!("not carried out by this version: {what}");
    let problem = Diagnostic::warning(codes::NOT_CARRIED_OUT, span, message);
    problems.push(match help {
        Some(help) => problem.help(help),
        None => problem,
    });
}
