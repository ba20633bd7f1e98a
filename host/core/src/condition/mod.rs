//! Conditions: `{path, op, value}` and `any`, `all`, `not`.

/// A parsed condition.
#[derive(Debug, Clone)]
pub struct Condition;
