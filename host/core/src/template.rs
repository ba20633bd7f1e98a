//! Templates: `${path}` in strings.

/// A JSON value whose strings may hold templates.
#[derive(Debug, Clone)]
pub struct ValueTemplate;
