//! Compiles each subschema to a node of the program.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::MOST_ERRORS;
use super::pattern::translated;
use super::scan::Scan;
use crate::schema::check::SchemaError;
use crate::schema::message::shown;
use crate::schema::program::{
    Condition, Contains, DynamicRef, Fields, Items, Keyword, Names, Negation, Node, NodeId, Options, Program,
    Property, SchemaPattern, Types,
};
use crate::work::{FuelExhausted, Meter, PatternError, ReadPattern, rates, size};

/// Largest number of states of all patterns of one schema together, which bounds their memory to a few MiB.
const MOST_STATES: u64 = 20_000;
/// Length of the longest pattern, in bytes.
const LONGEST_PATTERN: usize = 16_384;
/// Divisor of the expected cost of a pattern that is charged before it is compiled. The result is less than the cost of its states.
const EXPECTED: u64 = 8;

/// Compiles a schema, or returns all its errors.
pub(in crate::schema) fn compile(schema: &Value, meter: &Meter) -> Result<Program, Vec<SchemaError>> {
    let exhausted = |error: FuelExhausted| {
        let message = format!("the schema cannot be compiled: {error}");
        vec![SchemaError { pointer: Vec::new(), message, limit: true }]
    };
    let scan = Scan::new(schema, meter).map_err(exhausted)?;
    let mut builder = Builder { scan, patterns: Vec::new(), by_text: BTreeMap::new(), states: 0 };
    let nodes = builder.nodes().map_err(exhausted)?;
    let Builder { scan, patterns, .. } = builder;
    if !scan.errors.is_empty() {
        return Err(scan.errors);
    }
    let mut dynamic: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for ((resource, name), anchor) in scan.anchors.iter().filter(|(_, anchor)| anchor.dynamic) {
        meter.charge(rates::VALUE.saturating_add(name.len() as u64)).map_err(exhausted)?;
        dynamic.entry(*resource).or_default().insert(Box::from(*name), anchor.node);
    }
    Ok(Program { nodes, patterns, dynamic })
}

struct Builder<'s, 'm> {
    scan: Scan<'s, 'm>,
    patterns: Vec<SchemaPattern>,
    by_text: BTreeMap<&'s str, Option<usize>>,
    states: u64,
}

impl<'s> Builder<'s, '_> {
    fn nodes(&mut self) -> Result<Vec<Node>, FuelExhausted> {
        let mut nodes = Vec::new();
        // References may add places.
        while let Some(place) = self.scan.places.get(nodes.len()) {
            let (value, resource) = (place.value, place.resource);
            let keywords = match value {
                Value::Object(fields) => self.keywords(nodes.len(), fields)?,
                Value::Bool(false) => vec![Keyword::Never],
                _ => Vec::new(),
            };
            let unevaluated = keywords.iter().any(|keyword| {
                matches!(keyword, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_))
            });
            nodes.push(Node { resource, keywords: keywords.into(), unevaluated });
            if self.scan.errors.len() >= MOST_ERRORS {
                break;
            }
        }
        let flat: Vec<bool> =
            nodes.iter().map(|node| !node.keywords.iter().any(Keyword::has_subschemas)).collect();
        for keyword in nodes.iter_mut().flat_map(|node| &mut node.keywords) {
            if let Keyword::Fields(fields) = keyword {
                for property in &mut fields.properties {
                    property.flat = flat.get(property.node).copied().unwrap_or(false);
                }
            }
        }
        Ok(nodes)
    }

    /// Returns the keywords of a subschema. A keyword whose value has the wrong form was reported before, and is skipped.
    fn keywords(
        &mut self,
        node: NodeId,
        fields: &'s Map<String, Value>,
    ) -> Result<Vec<Keyword>, FuelExhausted> {
        let mut keywords = Vec::new();
        for (name, value) in fields {
            keywords.extend(match self.reference(node, name, value)? {
                Some(keyword) => Some(keyword),
                None => match self.plain(node, name, value)? {
                    Some(keyword) => Some(keyword),
                    None => self.applicator(name, value, fields)?,
                },
            });
        }
        keywords.extend(self.fields(node, fields)?.map(|fields| Keyword::Fields(Box::new(fields))));
        keywords.sort_by_key(Keyword::rank);
        Ok(keywords)
    }

    fn reference(
        &mut self,
        node: NodeId,
        name: &str,
        value: &'s Value,
    ) -> Result<Option<Keyword>, FuelExhausted> {
        let Some(reference) = value.as_str().filter(|_| matches!(name, "$ref" | "$dynamicRef")) else {
            return Ok(None);
        };
        let target = self.scan.resolve(node, name, reference)?;
        Ok(target.map(|target| {
            if name == "$ref" {
                return Keyword::Ref(target.node);
            }
            let anchor = super::uri::decoded(super::uri::split(reference).1);
            let anchor = anchor.filter(|_| target.dynamic).map(String::into_boxed_str);
            Keyword::DynamicRef(Box::new(DynamicRef { initial: target.node, anchor }))
        }))
    }

    /// Compiles a keyword without subschemas.
    fn plain(
        &mut self,
        node: NodeId,
        name: &str,
        value: &'s Value,
    ) -> Result<Option<Keyword>, FuelExhausted> {
        let number = || value.as_number().cloned();
        Ok(match name {
            "type" => types(value).map(Keyword::Type),
            "const" => Some(Keyword::Const(self.copy(value)?)),
            "enum" => match value.as_array() {
                Some(items) => Some(Keyword::Enum(Box::new(self.options(items)?))),
                None => None,
            },
            "minimum" => number().map(Keyword::Minimum),
            "maximum" => number().map(Keyword::Maximum),
            "exclusiveMinimum" => number().map(Keyword::ExclusiveMinimum),
            "exclusiveMaximum" => number().map(Keyword::ExclusiveMaximum),
            "multipleOf" => number().map(Keyword::MultipleOf),
            "minLength" => count(value).map(Keyword::MinLength),
            "maxLength" => count(value).map(Keyword::MaxLength),
            "minItems" => count(value).map(Keyword::MinItems),
            "maxItems" => count(value).map(Keyword::MaxItems),
            "minProperties" => count(value).map(Keyword::MinProperties),
            "maxProperties" => count(value).map(Keyword::MaxProperties),
            "pattern" => match value.as_str() {
                Some(text) => self.pattern(node, &["pattern"], text)?.map(Keyword::Pattern),
                None => None,
            },
            "uniqueItems" => (value == &Value::Bool(true)).then_some(Keyword::UniqueItems),
            "required" => Some(Keyword::Required(self.names(value)?)),
            "dependentRequired" => {
                let mut lists = Vec::new();
                for (name, list) in value.as_object().into_iter().flatten() {
                    self.scan.meter.charge(rates::VALUE.saturating_add(name.len() as u64))?;
                    lists.push((Box::from(name.as_str()), self.names(list)?));
                }
                Some(Keyword::DependentRequired(lists.into()))
            }
            _ => None,
        })
    }

    /// Compiles a keyword with subschemas, apart from those about the fields of objects.
    fn applicator(
        &mut self,
        name: &str,
        value: &'s Value,
        fields: &'s Map<String, Value>,
    ) -> Result<Option<Keyword>, FuelExhausted> {
        let node = |value: &Value| self.scan.node_of(value);
        let beside = |keyword: &str| fields.get(keyword).and_then(node);
        Ok(match name {
            "allOf" => self.nodes_of(value).map(Keyword::AllOf),
            "anyOf" => self.nodes_of(value).map(Keyword::AnyOf),
            "oneOf" => self.nodes_of(value).map(Keyword::OneOf),
            "not" => node(value)
                .map(|node| Keyword::Not(Box::new(Negation { node, written: shown(value).into() }))),
            "if" => node(value).map(|test| {
                let (then, otherwise) = (beside("then"), beside("else"));
                Keyword::If(Box::new(Condition { test, then, otherwise }))
            }),
            "propertyNames" => node(value).map(Keyword::PropertyNames),
            "contains" => node(value).map(|node| {
                let least = fields.get("minContains").and_then(count).unwrap_or(1);
                let most = fields.get("maxContains").and_then(count);
                Keyword::Contains(Box::new(Contains { node, least, most }))
            }),
            "items" => {
                let prefix = fields.get("prefixItems").and_then(|prefix| self.nodes_of(prefix));
                let items = Items { prefix: prefix.unwrap_or_default(), rest: node(value) };
                Some(Keyword::Items(Box::new(items)))
            }
            "prefixItems" if !fields.contains_key("items") => {
                self.nodes_of(value).map(|prefix| Keyword::Items(Box::new(Items { prefix, rest: None })))
            }
            "unevaluatedItems" => node(value).map(Keyword::UnevaluatedItems),
            "unevaluatedProperties" => node(value).map(Keyword::UnevaluatedProperties),
            "dependentSchemas" => {
                let mut found = Vec::new();
                for (name, field) in value.as_object().into_iter().flatten() {
                    self.scan.meter.charge(rates::VALUE.saturating_add(name.len() as u64))?;
                    found.extend(self.scan.node_of(field).map(|node| (Box::from(name.as_str()), node)));
                }
                Some(Keyword::DependentSchemas(found.into()))
            }
            _ => None,
        })
    }

    /// Compiles `properties`, `patternProperties` and `additionalProperties`.
    fn fields(&mut self, node: NodeId, all: &'s Map<String, Value>) -> Result<Option<Fields>, FuelExhausted> {
        let about = ["properties", "patternProperties", "additionalProperties"];
        if !about.iter().any(|keyword| all.contains_key(*keyword)) {
            return Ok(None);
        }
        let named = |keyword: &str| all.get(keyword).and_then(Value::as_object).into_iter().flatten();
        let mut properties = Vec::new();
        for (name, schema) in named("properties") {
            self.scan.meter.charge(rates::VALUE.saturating_add(name.len() as u64))?;
            let Some(node) = self.scan.node_of(schema) else { continue };
            let default = schema.get("default").map(|default| self.copy(default)).transpose()?;
            properties.push(Property { name: Box::from(name.as_str()), node, flat: false, default });
        }
        properties.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut patterns = Vec::new();
        for (text, schema) in named("patternProperties") {
            self.scan.meter.charge(rates::VALUE)?;
            let pattern = self.pattern(node, &["patternProperties", text], text)?;
            patterns.extend(pattern.zip(self.scan.node_of(schema)));
        }
        let additional = all.get("additionalProperties").and_then(|schema| self.scan.node_of(schema));
        Ok(Some(Fields { properties: properties.into(), patterns: patterns.into(), additional }))
    }

    fn nodes_of(&self, value: &Value) -> Option<Box<[NodeId]>> {
        let items = value.as_array()?;
        Some(items.iter().filter_map(|item| self.scan.node_of(item)).collect())
    }

    fn copy(&self, value: &Value) -> Result<Value, FuelExhausted> {
        self.scan.meter.charge(size::of(value))?;
        Ok(value.clone())
    }

    fn names(&self, value: &Value) -> Result<Names, FuelExhausted> {
        let mut names = Vec::new();
        for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.scan.meter.charge(rates::VALUE.saturating_add(name.len() as u64))?;
            names.push(Box::from(name));
        }
        Ok(names.into())
    }

    fn options(&self, items: &[Value]) -> Result<Options, FuelExhausted> {
        let mut all = Vec::new();
        for item in items {
            all.push(self.copy(item)?);
        }
        let (mut texts, others): (Vec<usize>, Vec<usize>) =
            (0..all.len()).partition(|&at| all.get(at).is_some_and(Value::is_string));
        let steps = u64::from(texts.len().checked_ilog2().unwrap_or(0)) + 1;
        self.scan.meter.charge_each(texts.len(), steps.saturating_mul(rates::SORT_STEP))?;
        texts.sort_by_key(|&at| all.get(at).and_then(Value::as_str));
        Ok(Options { all, texts, others })
    }

    /// Returns the index of a compiled pattern. If it cannot be used, an error is added.
    fn pattern(
        &mut self,
        node: NodeId,
        place: &[&str],
        text: &'s str,
    ) -> Result<Option<usize>, FuelExhausted> {
        let meter = self.scan.meter;
        meter.charge(rates::LOOKUP.saturating_add(text.len() as u64))?;
        if let Some(known) = self.by_text.get(text) {
            return Ok(*known);
        }
        let fail = |builder: &mut Self, message: &str| {
            builder.by_text.insert(text, None);
            builder.scan.error(node, place, &format!("{} {message}", shown(&Value::from(text))))?;
            Ok(None)
        };
        if text.len() > LONGEST_PATTERN {
            return fail(self, &format!("is a pattern of more than {LONGEST_PATTERN} bytes"));
        }
        meter.charge(rates::PATTERN_COMPILE)?;
        meter.charge_each(text.len(), rates::PATTERN_COMPILE_BYTE)?;
        let translated = translated(text);
        // The actual cost is known from the states after compiling. A part of the expected cost is charged before.
        let mut before = 0;
        let compiled = ReadPattern::parse(&translated).map_or_else(
            |error| Ok(Err(error)),
            |read| {
                before = read.cost() / EXPECTED;
                meter.charge(before).map(|()| read.compile())
            },
        )?;
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(PatternError::Syntax(reason)) => {
                // The last line of the parser's message states the problem, the others draw its position.
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                return fail(self, &format!("is not a usable pattern: {reason}"));
            }
            Err(error) => {
                meter.charge(rates::PATTERN_REFUSED.saturating_sub(before))?;
                return fail(self, &format!("is not a usable pattern: {error}"));
            }
        };
        let states = compiled.states().saturating_mul(rates::PATTERN_COMPILE_STATE);
        meter.charge(states.saturating_sub(before))?;
        self.states = self.states.saturating_add(compiled.states());
        if self.states > MOST_STATES {
            return fail(self, "is one pattern too many: compiled, all patterns together are too large");
        }
        let at = self.patterns.len();
        self.patterns.push(SchemaPattern { written: Box::from(text), compiled });
        self.by_text.insert(text, Some(at));
        Ok(Some(at))
    }
}

fn types(value: &Value) -> Option<Types> {
    let mut types = Types::default();
    let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    names.iter().all(|name| name.as_str().is_some_and(|name| types.add(name))).then_some(types)
}

/// Reads an integer from 0, which may be written with a fraction of 0. Numbers above the range become the largest count.
fn count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let float = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    number.as_u64().or_else(|| number.as_f64().and_then(float))
}
