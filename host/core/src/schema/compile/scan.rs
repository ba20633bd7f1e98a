//! Finds all subschemas of a document with their ids and anchors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{self, Shape};
use super::{MOST_ERRORS, uri};
use crate::diagnostic::excerpt_of;
use crate::schema::check::SchemaError;
use crate::schema::message::shown;
use crate::schema::program::{NodeId, ResourceId};
use crate::work::{FuelExhausted, Meter, rates};

/// The base of a schema without an `$id`.
const NAMELESS: &str = "json-schema:///";

/// A value that is read as a schema. Its index in the list of all of them is that of its node.
pub(super) struct SchemaLocation<'s> {
    pub(super) value: &'s Value,
    pub(super) resource: ResourceId,
    /// The enclosing subschema, and the path from there.
    parent: Option<(NodeId, Vec<Token<'s>>)>,
}

/// One step from a value to a part of it.
#[derive(Clone, Copy)]
pub(super) enum Token<'s> {
    Key(&'s str),
    Index(usize),
}

/// A schema with a URI of its own.
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) root: NodeId,
}

/// The target of an `$anchor` or a `$dynamicAnchor`.
#[derive(Clone, Copy)]
pub(super) struct Anchor {
    pub(super) node: NodeId,
    pub(super) dynamic: bool,
}

/// All subschemas that were found so far.
pub(super) struct Scan<'s, 'm> {
    pub(super) meter: &'m Meter,
    pub(super) places: Vec<SchemaLocation<'s>>,
    pub(super) resources: Vec<Resource>,
    pub(super) by_uri: BTreeMap<String, ResourceId>,
    pub(super) anchors: BTreeMap<(ResourceId, &'s str), Anchor>,
    pub(super) errors: Vec<SchemaError>,
    /// The indices of values by their addresses, which do not change while the schema is borrowed.
    by_address: BTreeMap<*const Value, NodeId>,
    scanned: usize,
}

impl<'s, 'm> Scan<'s, 'm> {
    /// Finds all subschemas, resources and anchors of a schema.
    pub(super) fn new(schema: &'s Value, meter: &'m Meter) -> Result<Self, FuelExhausted> {
        let mut scan = Self {
            meter,
            places: Vec::new(),
            resources: Vec::new(),
            by_uri: BTreeMap::new(),
            anchors: BTreeMap::new(),
            errors: Vec::new(),
            by_address: BTreeMap::new(),
            scanned: 0,
        };
        scan.add_document(schema, NAMELESS)?;
        Ok(scan)
    }

    /// Adds a document with the URI `base`, unless its `$id` states another.
    pub(super) fn add_document(
        &mut self,
        schema: &'s Value,
        base: &str,
    ) -> Result<ResourceId, FuelExhausted> {
        let (resource, root) = (self.resources.len(), self.places.len());
        let named = schema.get("$id").and_then(Value::as_str);
        self.meter.charge_each(named.map_or(0, str::len), rates::BYTE)?;
        let uri = named.map_or_else(|| base.to_owned(), |id| uri::resolve(base, uri::split(id).0));
        self.by_uri.entry(uri.clone()).or_insert(resource);
        self.resources.push(Resource { uri, root });
        self.add(schema, resource, None)?;
        self.scan()?;
        Ok(resource)
    }

    /// Adds a value to which a reference leads, although it is not at a place of subschemas.
    pub(super) fn add_referred(
        &mut self,
        value: &'s Value,
        inside: NodeId,
        tokens: Vec<Token<'s>>,
    ) -> Result<NodeId, FuelExhausted> {
        let resource = self.places.get(inside).map_or(0, |place| place.resource);
        let node = self.add(value, resource, Some((inside, tokens)))?;
        self.scan()?;
        Ok(node)
    }

    fn add(
        &mut self,
        value: &'s Value,
        resource: ResourceId,
        parent: Option<(NodeId, Vec<Token<'s>>)>,
    ) -> Result<NodeId, FuelExhausted> {
        self.meter.charge(rates::SCHEMA_VISIT + 2 * rates::VALUE)?;
        let node = self.places.len();
        self.by_address.insert(std::ptr::from_ref(value), node);
        self.places.push(SchemaLocation { value, resource, parent });
        Ok(node)
    }

    /// Returns the index of a value that is a known subschema.
    pub(super) fn node_of(&self, value: &Value) -> Option<NodeId> {
        self.by_address.get(&std::ptr::from_ref(value)).copied()
    }

    /// Scans the added places iteratively, which replaces a recursion.
    fn scan(&mut self) -> Result<(), FuelExhausted> {
        while self.scanned < self.places.len() && self.errors.len() < MOST_ERRORS {
            let node = self.scanned;
            self.scanned += 1;
            match self.places[node].value {
                Value::Object(fields) => {
                    self.name(node, fields)?;
                    for (keyword, value) in fields {
                        self.meter.charge(rates::SCHEMA_VISIT.saturating_add(keyword.len() as u64))?;
                        if let Some(shape) = shape::for_keyword(keyword) {
                            self.look_at(node, keyword, value, shape)?;
                        }
                    }
                }
                Value::Bool(_) => {}
                other => {
                    let message = format!("{} is not of types \"boolean\", \"object\"", shown(other));
                    self.error(node, &[], &message)?;
                }
            }
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        node: NodeId,
        keyword: &'s str,
        value: &'s Value,
        shape: Shape,
    ) -> Result<(), FuelExhausted> {
        let mut wrong = Vec::new();
        shape::check(shape, value, self.meter, &mut wrong)?;
        for (tokens, message) in wrong {
            let tokens: Vec<_> = [keyword].into_iter().chain(tokens.iter().map(String::as_str)).collect();
            self.error(node, &tokens, &message)?;
        }
        let resource = self.places[node].resource;
        let key = Token::Key(keyword);
        match (shape, value) {
            (Shape::Schema, value) => {
                self.add(value, resource, Some((node, vec![key])))?;
            }
            (Shape::Schemas, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.add(item, resource, Some((node, vec![key, Token::Index(at)])))?;
                }
            }
            (Shape::SchemasByName | Shape::SchemasByPattern | Shape::Dependencies, Value::Object(fields)) => {
                for (name, field) in fields {
                    if shape != Shape::Dependencies || !field.is_array() {
                        self.add(field, resource, Some((node, vec![key, Token::Key(name)])))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Registers the names of a subschema: `$id`, `$anchor` and `$dynamicAnchor`.
    fn name(
        &mut self,
        node: NodeId,
        fields: &'s serde_json::Map<String, Value>,
    ) -> Result<(), FuelExhausted> {
        let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
        if let Some(draft) = text("$schema")
            && draft.trim_end_matches('#') != super::resolve::DRAFT
        {
            let message = format!("`$schema` is `{}`; only draft 2020-12 is read", excerpt_of(draft));
            self.error(node, &["$schema"], &message)?;
        }
        let resource = self.places[node].resource;
        if let Some(id) = text("$id")
            && let Some(Resource { uri: base, root }) = self.resources.get(resource)
            && *root != node
        {
            self.meter.charge_each(base.len().saturating_add(id.len()), 4 * rates::BYTE)?;
            let uri = uri::resolve(base, uri::split(id).0);
            if uri != *base {
                let resource = self.resources.len();
                if self.by_uri.insert(uri.clone(), resource).is_some() {
                    self.error(
                        node,
                        &["$id"],
                        &format!("another schema has the `$id` `{}` too", excerpt_of(&uri)),
                    )?;
                }
                self.resources.push(Resource { uri, root: node });
                self.places[node].resource = resource;
            }
        }
        let resource = self.places[node].resource;
        for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            if let Some(name) = text(keyword) {
                self.meter.charge(rates::LOOKUP.saturating_add(name.len() as u64))?;
                let anchor = Anchor { node, dynamic };
                let before = self.anchors.insert((resource, name), anchor);
                if before.is_some_and(|before| before.node != node) {
                    let message = format!("another schema has the anchor `{}` too", excerpt_of(name));
                    self.error(node, &[keyword], &message)?;
                }
            }
        }
        Ok(())
    }

    /// Adds an error at a part of a subschema.
    pub(super) fn error(&mut self, node: NodeId, part: &[&str], message: &str) -> Result<(), FuelExhausted> {
        if self.errors.len() >= MOST_ERRORS {
            return Ok(());
        }
        let mut ways: Vec<&[Token<'s>]> = Vec::new();
        let mut at = node;
        while let Some((parent, tokens)) = self.places.get(at).and_then(|place| place.parent.as_ref()) {
            self.meter.charge(rates::VALUE)?;
            ways.push(tokens);
            at = *parent;
        }
        let mut pointer = Vec::new();
        for token in ways.into_iter().rev().flatten() {
            let text = match token {
                Token::Key(key) => (*key).to_owned(),
                Token::Index(at) => at.to_string(),
            };
            self.meter.charge(rates::VALUE.saturating_add(text.len() as u64))?;
            pointer.push(text);
        }
        pointer.extend(part.iter().map(|&token| token.to_owned()));
        self.errors.push(SchemaError { pointer, message: excerpt_of(message), limit: false });
        Ok(())
    }
}
