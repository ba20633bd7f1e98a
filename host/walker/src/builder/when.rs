//! Conditions, as a program writes them.

use serde_json::Value;

use super::fields::{Fields, list};
use graph_core::condition::Op;
use graph_core::yaml::Node;

/// A condition of an edge or a hook, in the language of documents.
///
/// ```
/// use crate::builder::When;
///
/// let few = When::path("state.count").lt(3);
/// let wanted = few.and(!When::path("inputs.draft").exists());
/// assert_eq!(wanted.to_json()["all"][0]["op"], "lt");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct When(Node);

/// The left side of a comparison.
#[derive(Clone, Debug)]
pub struct PathOf(String);

impl When {
    /// The value at a path, to be compared: `state.x`, `result.x`, `inputs.x`, `argument`, `node.visit`, `run.id`.
    pub fn path(path: impl Into<String>) -> PathOf {
        PathOf(path.into())
    }

    /// Holds if one of these holds; of none, never.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::of("any", list(conditions.into_iter().map(|condition| condition.0).collect()))
    }

    /// Holds if all of these hold; of none, always.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::of("all", list(conditions.into_iter().map(|condition| condition.0).collect()))
    }

    /// Holds if both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Holds if one of both holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// A condition that is written as JSON already. [`compile`](super::GraphBuilder::compile) checks it.
    pub fn from_json(condition: &Value) -> Self {
        Self(Node::from_json(condition))
    }

    /// The condition as documents have it.
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    fn of(group: &str, conditions: Node) -> Self {
        let mut fields = Fields::default();
        fields.set_node(group, conditions);
        Self(fields.into_node())
    }

    pub(super) fn into_node(self) -> Node {
        self.0
    }
}

/// Holds if the condition does not.
impl std::ops::Not for When {
    type Output = Self;

    fn not(self) -> Self {
        Self::of("not", self.0)
    }
}

impl PathOf {
    fn test(self, op: Op, value: impl Into<Value>) -> When {
        let mut fields = self.operator(op);
        fields.set("value", value);
        When(fields.into_node())
    }

    /// Is equal to a value, as JSON values are.
    pub fn eq(self, value: impl Into<Value>) -> When {
        self.test(Op::Eq, value)
    }

    /// Is not equal to a value.
    pub fn ne(self, value: impl Into<Value>) -> When {
        self.test(Op::Ne, value)
    }

    /// Holds if the number or text is larger than `value`.
    pub fn gt(self, value: impl Into<Value>) -> When {
        self.test(Op::Gt, value)
    }

    /// Is larger or equal.
    pub fn gte(self, value: impl Into<Value>) -> When {
        self.test(Op::Gte, value)
    }

    /// Holds if the number or text is smaller than `value`.
    pub fn lt(self, value: impl Into<Value>) -> When {
        self.test(Op::Lt, value)
    }

    /// Is smaller or equal.
    pub fn lte(self, value: impl Into<Value>) -> When {
        self.test(Op::Lte, value)
    }

    /// Is one of the values of a list.
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<Value>>) -> When {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        self.test(Op::In, values)
    }

    /// A text contains a text, a list an element, an object a key.
    pub fn contains(self, value: impl Into<Value>) -> When {
        self.test(Op::Contains, value)
    }

    /// A text matches a regular expression.
    pub fn matches(self, pattern: impl Into<String>) -> When {
        self.test(Op::Regex, pattern.into())
    }

    /// There is something, and it is not `null`.
    pub fn exists(self) -> When {
        When(self.operator(Op::Exists).into_node())
    }

    fn operator(self, op: Op) -> Fields {
        let mut fields = Fields::default();
        fields.set("path", self.0);
        fields.set("op", op.as_str());
        fields
    }
}
