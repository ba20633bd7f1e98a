//! A compiled schema: a list of nodes that refer to each other by index.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::work::Pattern;

/// The index of a node in a [`Program`].
pub(super) type NodeId = usize;

/// The index of a schema resource (a schema with its own `$id`) in the order in which they were found.
pub(super) type ResourceId = usize;

/// The names of properties.
pub(super) type Names = Box<[Box<str>]>;

#[derive(Debug)]
pub(super) struct Program {
    /// Every subschema; the schema itself is the first.
    pub(super) nodes: Vec<Node>,
    /// Every pattern, each once.
    pub(super) patterns: Vec<SchemaPattern>,
    /// The node of each `$dynamicAnchor` of a resource.
    pub(super) dynamic: BTreeMap<ResourceId, BTreeMap<Box<str>, NodeId>>,
}

/// A pattern, as it was written and compiled.
#[derive(Debug)]
pub(super) struct SchemaPattern {
    pub(super) written: Box<str>,
    pub(super) compiled: Pattern,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) resource: ResourceId,
    /// The node's keywords: cheap ones before those with subschemas, `unevaluated…` last.
    pub(super) keywords: Box<[Keyword]>,
    /// `true` if a keyword depends on the parts that the others evaluated.
    pub(super) unevaluated: bool,
}

/// A requirement of a subschema.
#[derive(Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Type(Types),
    Const(Value),
    Enum(Box<Options>),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    Pattern(usize),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
    Required(Names),
    DependentRequired(Box<[(Box<str>, Names)]>),
    UniqueItems,
    PropertyNames(NodeId),
    Fields(Box<Fields>),
    Items(Box<Items>),
    Contains(Box<Contains>),
    Ref(NodeId),
    DynamicRef(Box<DynamicRef>),
    DependentSchemas(Box<[(Box<str>, NodeId)]>),
    If(Box<Condition>),
    Not(Box<Negation>),
    AllOf(Box<[NodeId]>),
    AnyOf(Box<[NodeId]>),
    OneOf(Box<[NodeId]>),
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

/// The options of `enum`.
#[derive(Debug)]
pub(super) struct Options {
    /// The options as written.
    pub(super) all: Vec<Value>,
    /// The indices of the options that are texts, in the order of the texts.
    pub(super) texts: Vec<usize>,
    /// The indices of all other options.
    pub(super) others: Vec<usize>,
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// In the order of their names.
    pub(super) properties: Box<[Property]>,
    pub(super) patterns: Box<[(usize, NodeId)]>,
    pub(super) additional: Option<NodeId>,
}

/// One of `properties`.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    pub(super) node: NodeId,
    /// `true` if its schema has no subschemas. Such properties are checked first: a tag distinguishes alternatives before nested values are
    /// visited.
    pub(super) flat: bool,
    pub(super) default: Option<Value>,
}

/// `prefixItems` and `items`.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) prefix: Box<[NodeId]>,
    pub(super) rest: Option<NodeId>,
}

/// `contains`, `minContains` and `maxContains`.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// `$dynamicRef`.
#[derive(Debug)]
pub(super) struct DynamicRef {
    /// The target if no resource of the dynamic scope declares the anchor.
    pub(super) initial: NodeId,
    /// The name of the `$dynamicAnchor`; `None` for a plain reference.
    pub(super) anchor: Option<Box<str>>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// `not`.
#[derive(Debug)]
pub(super) struct Negation {
    pub(super) node: NodeId,
    /// The beginning of its schema's text, for messages.
    pub(super) written: Box<str>,
}

/// A set of the types of JSON Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// The types of JSON Schema in alphabetical order, which is the order in which messages name them.
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

impl Types {
    /// Adds a type by its name; returns `false` for an unknown name.
    pub(super) fn add(&mut self, name: &str) -> bool {
        let Some(at) = TYPES.iter().position(|known| *known == name) else { return false };
        self.0 |= 1 << at;
        true
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        TYPES.iter().enumerate().filter(move |(at, _)| self.0 & (1 << at) != 0).map(|(_, name)| *name)
    }

    /// Checks whether a value has one of the types. A number without a fraction is an integer, however it is written.
    pub(super) fn include(self, value: &Value) -> bool {
        let has = |at: u8| self.0 & (1 << at) != 0;
        match value {
            Value::Array(_) => has(0),
            Value::Bool(_) => has(1),
            Value::Null => has(3),
            Value::Number(number) => has(4) || (has(2) && is_integer(number)),
            Value::Object(_) => has(5),
            Value::String(_) => has(6),
        }
    }
}

/// Checks whether a number has no fraction.
pub(super) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

impl Keyword {
    /// Checks whether the keyword has subschemas.
    pub(super) fn has_subschemas(&self) -> bool {
        match self {
            Self::Fields(fields) => {
                !fields.properties.is_empty() || !fields.patterns.is_empty() || fields.additional.is_some()
            }
            Self::PropertyNames(_)
            | Self::Items(_)
            | Self::Contains(_)
            | Self::Ref(_)
            | Self::DynamicRef(_)
            | Self::DependentSchemas(_)
            | Self::If(_)
            | Self::Not(_)
            | Self::AllOf(_)
            | Self::AnyOf(_)
            | Self::OneOf(_)
            | Self::UnevaluatedItems(_)
            | Self::UnevaluatedProperties(_) => true,
            _ => false,
        }
    }

    /// Returns the position among the keywords of a subschema: cheap keywords come first.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_) => 4,
            Self::AllOf(_) | Self::AnyOf(_) | Self::OneOf(_) | Self::Ref(_) | Self::DynamicRef(_) => 3,
            Self::Never | Self::Type(_) => 0,
            other if other.has_subschemas() => 2,
            _ => 1,
        }
    }
}
