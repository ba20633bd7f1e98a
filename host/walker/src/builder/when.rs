//! Builder of conditions.

use serde_json::Value;

use super::fields::{MappingFields, list};
use graph_core::condition::Op;
use graph_core::yaml::Node;

/// A condition of an edge or a hook, in the language of documents.
///
/// ```
/// use graph_core::condition::Op;
/// use graph_walker::builder::When;
///
/// let few = When::path("state.count").lt(3);
/// let wanted = few.and(!When::path("inputs.draft").exists());
/// assert_eq!(wanted.to_json()["all"][0]["op"], "lt");
/// let within = When::path("state.spent").compare(Op::Lte, "inputs.budget");
/// assert_eq!(within.to_json()["other"], "inputs.budget");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct When(Node);

/// Left side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedPath(String);

impl When {
    /// Starts a comparison of the value at a path, in which `[*]` is any element of a list: `state.x`, `result.x`, `inputs.x`, `argument`, `node.visit`, `run.id`.
    pub fn path(path: impl Into<String>) -> ComparedPath {
        ComparedPath(path.into())
    }

    /// Holds if any of these holds; never if there are none.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::group("any", list(conditions.into_iter().map(|condition| condition.0).collect()))
    }

    /// Holds if all of these hold; always if there are none.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::group("all", list(conditions.into_iter().map(|condition| condition.0).collect()))
    }

    /// Holds if both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Holds if either holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// Creates a condition from JSON. [`compile`](super::GraphBuilder::compile) checks it.
    pub fn from_json(condition: &Value) -> Self {
        Self(Node::from_json(condition))
    }

    /// Returns the condition as documents have it.
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    fn group(group: &str, conditions: Node) -> Self {
        let mut fields = MappingFields::default();
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
        Self::group("not", self.0)
    }
}

impl ComparedPath {
    fn test(self, op: Op, value: impl Into<Value>) -> When {
        let mut fields = self.operator(op);
        fields.set("value", value);
        When(fields.into_node())
    }

    /// Compares with the value at another path: `op` is one of `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in` and `contains`.
    pub fn compare(self, op: Op, other: impl Into<String>) -> When {
        let mut fields = self.operator(op);
        fields.set("other", other.into());
        When(fields.into_node())
    }

    /// Holds if the value is equal to `value`, as JSON values are.
    pub fn eq(self, value: impl Into<Value>) -> When {
        self.test(Op::Eq, value)
    }

    /// Holds if the value is not equal to `value`.
    pub fn ne(self, value: impl Into<Value>) -> When {
        self.test(Op::Ne, value)
    }

    /// Holds if the number or text is larger than `value`.
    pub fn gt(self, value: impl Into<Value>) -> When {
        self.test(Op::Gt, value)
    }

    /// Holds if the number or text is larger than `value` or equal.
    pub fn gte(self, value: impl Into<Value>) -> When {
        self.test(Op::Gte, value)
    }

    /// Holds if the number or text is smaller than `value`.
    pub fn lt(self, value: impl Into<Value>) -> When {
        self.test(Op::Lt, value)
    }

    /// Holds if the number or text is smaller than `value` or equal.
    pub fn lte(self, value: impl Into<Value>) -> When {
        self.test(Op::Lte, value)
    }

    /// Holds if the value is one of `values`.
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<Value>>) -> When {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        self.test(Op::In, values)
    }

    /// Holds if the text contains a text, the list an element, or the object a key.
    pub fn contains(self, value: impl Into<Value>) -> When {
        self.test(Op::Contains, value)
    }

    /// Holds if the text matches a regular expression.
    pub fn matches(self, pattern: impl Into<String>) -> When {
        self.test(Op::Regex, pattern.into())
    }

    /// Holds if the value exists and is not `null`.
    pub fn exists(self) -> When {
        When(self.operator(Op::Exists).into_node())
    }

    fn operator(self, op: Op) -> MappingFields {
        let mut fields = MappingFields::default();
        fields.set("path", self.0);
        fields.set("op", op.as_str());
        fields
    }
}
