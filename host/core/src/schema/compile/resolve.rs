//! Resolution of references. Nothing outside of the schema is ever fetched.

use serde_json::Value;

use super::scan::{Anchor, Scan, Token};
use super::{meta, uri};
use crate::diagnostic::excerpt_of;
use crate::schema::program::{NodeId, ResourceId};
use crate::work::{FuelExhausted, rates};

/// The supported draft, as `$schema` names it.
pub(super) const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The target of a reference.
pub(super) struct Target {
    pub(super) node: NodeId,
    /// `true` if the reference uses the name of a `$dynamicAnchor`.
    pub(super) dynamic: bool,
}

impl<'s> Scan<'s, '_> {
    /// Returns the target of a reference in a subschema. If there is none, an error is added.
    pub(super) fn resolve(
        &mut self,
        from: NodeId,
        keyword: &str,
        reference: &str,
    ) -> Result<Option<Target>, FuelExhausted> {
        let (address, fragment) = uri::split(reference);
        let base = self.places.get(from).and_then(|place| self.resources.get(place.resource));
        let base = base.map_or("", |resource| resource.uri.as_str());
        self.meter.charge_each(base.len().saturating_add(reference.len()), 4 * rates::BYTE)?;
        let uri = uri::resolve(base, address);
        let Some(resource) = self.resource(&uri)? else {
            let message = format!("`{}` is outside of the schema, and nothing is fetched", excerpt_of(&uri));
            self.error(from, &[keyword], &message)?;
            return Ok(None);
        };
        let found = match uri::decoded(fragment) {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.pointed(resource, &pointer)?
            }
            Some(name) => self
                .anchors
                .get(&(resource, name.as_str()))
                .map(|&Anchor { node, dynamic }| Target { node, dynamic }),
            None => None,
        };
        if found.is_none() {
            let message = format!("`{}` was not found in the schema", excerpt_of(reference));
            self.error(from, &[keyword], &message)?;
        }
        Ok(found)
    }

    /// Returns the resource of a URI, which may be a part of the meta-schema.
    fn resource(&mut self, uri: &str) -> Result<Option<ResourceId>, FuelExhausted> {
        self.meter.charge(rates::LOOKUP)?;
        if let Some(known) = self.by_uri.get(uri) {
            return Ok(Some(*known));
        }
        match meta::part(uri) {
            Some(part) => self.add_document(part, uri).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the target of a JSON pointer from the root of a resource.
    fn pointed(&mut self, resource: ResourceId, pointer: &str) -> Result<Option<Target>, FuelExhausted> {
        let Some(mut inside) = self.resources.get(resource).map(|resource| resource.root) else {
            return Ok(None);
        };
        let mut value: &'s Value = self.places[inside].value;
        let mut tokens: Vec<Token<'s>> = Vec::new();
        for token in pointer.split('/').skip(1) {
            self.meter.charge(rates::VALUE.saturating_add(token.len() as u64))?;
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match value {
                Value::Object(fields) => {
                    fields.get_key_value(&token).map(|(key, field)| (Token::Key(key.as_str()), field))
                }
                Value::Array(items) => {
                    let plain = token == "0" || !token.starts_with(['0', '+']);
                    let at = token.parse::<usize>().ok().filter(|_| plain);
                    at.and_then(|at| Some((Token::Index(at), items.get(at)?)))
                }
                _ => None,
            };
            let Some((step, next)) = next else { return Ok(None) };
            value = next;
            match self.node_of(value) {
                Some(node) => {
                    inside = node;
                    tokens.clear();
                }
                None => tokens.push(step),
            }
        }
        let node = if tokens.is_empty() { inside } else { self.add_referred(value, inside, tokens)? };
        Ok(Some(Target { node, dynamic: false }))
    }
}
