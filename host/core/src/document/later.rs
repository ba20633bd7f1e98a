//! What is part of the document format but carried out by later releases: its shape is checked, and it is named in a
//! warning, so that nobody relies on it.

use crate::diagnostic::{Diagnostic, Problems, Span, codes};

/// Warns that something is not carried out.
pub(super) fn warn(span: Span, what: &str, help: Option<&str>, problems: &Problems) {
    let message = format!("not carried out by this version: {what}");
    let problem = Diagnostic::warning(codes::NOT_CARRIED_OUT, span, message);
    problems.push(match help {
        Some(help) => problem.help(help),
        None => problem,
    });
}
