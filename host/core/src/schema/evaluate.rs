//! Evaluates whether a value matches a schema.

use serde_json::{Map, Value};

use super::compare;
use super::program::{
    Condition, Contains, DynamicRef, Fields, Items, Keyword, NodeId, Options, Program, ResourceId,
};
use super::seen::EvaluatedParts;
use crate::json::compare_numbers;
use crate::work::{FuelExhausted, Meter, rates};

/// Largest nesting of subschema evaluations. A value has at most 100 levels, each of which may need a few subschemas; a deeper evaluation
/// refers to itself without end. The needed stack fits into 1 MiB.
pub(super) const DEEPEST: usize = 700;

/// The reason why an evaluation ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EvaluationError {
    /// The fuel is used up.
    #[error(transparent)]
    Exhausted(#[from] FuelExhausted),
    /// Subschemas are nested too deeply.
    #[error(
        "for this value, the schema is nested more than {DEEPEST} levels deep, or refers to itself without end"
    )]
    TooDeep,
}

pub(super) struct Run<'p> {
    pub(super) program: &'p Program,
    pub(super) meter: &'p Meter,
    /// The resources that were entered and not left yet, the outermost first: the dynamic scope.
    scope: Vec<ResourceId>,
    depth: usize,
}

/// The length of the dynamic scope before a node was entered.
#[derive(Clone, Copy)]
pub(super) struct ScopeDepth(usize);

impl<'p> Run<'p> {
    pub(super) const fn new(program: &'p Program, meter: &'p Meter) -> Self {
        Self { program, meter, scope: Vec::new(), depth: 0 }
    }

    /// Enters a node, and returns its keywords; [`Run::leave`] is the counterpart.
    pub(super) fn enter(&mut self, id: NodeId) -> Result<(ScopeDepth, &'p [Keyword], bool), EvaluationError> {
        self.meter.charge(rates::VALUE)?;
        let entered = ScopeDepth(self.scope.len());
        let Some(node) = self.program.nodes.get(id) else { return Ok((entered, &[], false)) };
        if node.keywords.is_empty() {
            self.depth += 1;
            return Ok((entered, &[], false));
        }
        if self.depth >= DEEPEST {
            return Err(EvaluationError::TooDeep);
        }
        self.depth += 1;
        if self.scope.last() != Some(&node.resource) {
            self.scope.push(node.resource);
        }
        Ok((entered, &node.keywords, node.unevaluated))
    }

    pub(super) fn leave(&mut self, entered: ScopeDepth) {
        self.depth = self.depth.saturating_sub(1);
        self.scope.truncate(entered.0);
    }

    /// Checks whether a value matches a node. The evaluated parts of the value are added to `seen`, if given; after a `false`, `seen` is
    /// unchanged.
    pub(super) fn fits<'v>(
        &mut self,
        id: NodeId,
        value: &'v Value,
        seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        let (entered, keywords, unevaluated) = self.enter(id)?;
        let fits = match (seen, unevaluated) {
            (None, false) => self.all(keywords, value, None)?,
            (Some(seen), false) => {
                let mark = seen.mark();
                let fits = self.all(keywords, value, Some(&mut *seen))?;
                if !fits {
                    seen.roll_back(mark);
                }
                fits
            }
            (seen, true) => {
                // Parts that were evaluated elsewhere do not count here.
                let mut own = EvaluatedParts::default();
                let fits = self.all(keywords, value, Some(&mut own))?;
                if let Some(seen) = seen.filter(|_| fits) {
                    seen.merge(own, self.meter)?;
                }
                fits
            }
        };
        self.leave(entered);
        Ok(fits)
    }

    fn all<'v>(
        &mut self,
        keywords: &'p [Keyword],
        value: &'v Value,
        mut seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        for keyword in keywords {
            self.meter.charge(rates::SCHEMA_VISIT)?;
            if !self.holds(keyword, value, seen.as_deref_mut())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks whether a value matches one keyword.
    pub(super) fn holds<'v>(
        &mut self,
        keyword: &'p Keyword,
        value: &'v Value,
        mut seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        match keyword {
            Keyword::Ref(node) => self.fits(*node, value, seen),
            Keyword::DynamicRef(reference) => self.fits(self.dynamic_target(reference)?, value, seen),
            Keyword::AllOf(nodes) => {
                for node in nodes {
                    if !self.fits(*node, value, seen.as_deref_mut())? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::AnyOf(nodes) => {
                let mut any = false;
                for node in nodes {
                    any |= self.fits(*node, value, seen.as_deref_mut())?;
                    // All matching alternatives contribute evaluated parts.
                    if any && seen.is_none() {
                        break;
                    }
                }
                Ok(any)
            }
            Keyword::OneOf(nodes) => Ok(self.fitting(nodes, value, seen)? == 1),
            Keyword::Not(negation) => Ok(!self.fits(negation.node, value, None)?),
            Keyword::If(condition) => self.condition(condition, value, seen),
            Keyword::DependentSchemas(dependents) => {
                let Value::Object(fields) = value else { return Ok(true) };
                for (name, node) in dependents {
                    if self.get(fields, name)?.is_some() && !self.fits(*node, value, seen.as_deref_mut())? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::Fields(about) => match value {
                Value::Object(fields) => self.fields(about, fields, seen),
                _ => Ok(true),
            },
            Keyword::PropertyNames(node) => {
                let Value::Object(fields) = value else { return Ok(true) };
                for name in fields.keys() {
                    if !self.fits(*node, &self.name(name)?, None)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::Items(about) => match value {
                Value::Array(items) => self.items(about, items, seen),
                _ => Ok(true),
            },
            Keyword::Contains(contains) => match value {
                Value::Array(items) => self.contains(contains, items, seen),
                _ => Ok(true),
            },
            Keyword::UnevaluatedItems(node) => match (value, seen) {
                (Value::Array(items), Some(seen)) => self.unevaluated_items(*node, items, seen),
                _ => Ok(true),
            },
            Keyword::UnevaluatedProperties(node) => match (value, seen) {
                (Value::Object(fields), Some(seen)) => self.unevaluated_properties(*node, fields, seen),
                _ => Ok(true),
            },
            plain => self.plain(plain, value),
        }
    }

    /// Checks whether a value matches a keyword without subschemas.
    fn plain(&self, keyword: &'p Keyword, value: &Value) -> Result<bool, EvaluationError> {
        Ok(match (keyword, value) {
            (Keyword::Never, _) => false,
            (Keyword::Type(types), value) => types.include(value),
            (Keyword::Const(expected), value) => compare::same(expected, value, self.meter)?,
            (Keyword::Enum(options), value) => self.is_option(options, value)?,
            (Keyword::Minimum(limit), Value::Number(number)) => compare_numbers(number, limit).is_ge(),
            (Keyword::Maximum(limit), Value::Number(number)) => compare_numbers(number, limit).is_le(),
            (Keyword::ExclusiveMinimum(limit), Value::Number(number)) => {
                compare_numbers(number, limit).is_gt()
            }
            (Keyword::ExclusiveMaximum(limit), Value::Number(number)) => {
                compare_numbers(number, limit).is_lt()
            }
            (Keyword::MultipleOf(of), Value::Number(number)) => {
                self.meter.charge(rates::SCHEMA_VISIT)?;
                compare::is_multiple(number, of)
            }
            (Keyword::MinLength(least), Value::String(text)) => self.length(text)? >= *least,
            (Keyword::MaxLength(most), Value::String(text)) => self.length(text)? <= *most,
            (Keyword::Pattern(pattern), Value::String(text)) => self.matches(*pattern, text)?,
            (Keyword::MinItems(least), Value::Array(items)) => items.len() as u64 >= *least,
            (Keyword::MaxItems(most), Value::Array(items)) => items.len() as u64 <= *most,
            (Keyword::UniqueItems, Value::Array(items)) => compare::unique(items, self.meter)?,
            (Keyword::MinProperties(least), Value::Object(fields)) => fields.len() as u64 >= *least,
            (Keyword::MaxProperties(most), Value::Object(fields)) => fields.len() as u64 <= *most,
            (Keyword::Required(names), Value::Object(fields)) => self.missing(names, fields)?.is_none(),
            (Keyword::DependentRequired(dependents), Value::Object(fields)) => {
                for (name, names) in dependents {
                    if self.get(fields, name)?.is_some() && self.missing(names, fields)?.is_some() {
                        return Ok(false);
                    }
                }
                true
            }
            _ => true,
        })
    }

    /// Counts the nodes that a value matches: 2 stands for two or more.
    pub(super) fn fitting<'v>(
        &mut self,
        nodes: &'p [NodeId],
        value: &'v Value,
        mut seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<usize, EvaluationError> {
        let mut count = 0;
        for node in nodes {
            if self.fits(*node, value, seen.as_deref_mut())? {
                count += 1;
                if count == 2 {
                    break;
                }
            }
        }
        Ok(count)
    }

    fn condition<'v>(
        &mut self,
        condition: &Condition,
        value: &'v Value,
        mut seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        let holds = self.fits(condition.test, value, seen.as_deref_mut())?;
        match if holds { condition.then } else { condition.otherwise } {
            Some(node) => self.fits(node, value, seen),
            None => Ok(true),
        }
    }

    /// Finds the target of a dynamic reference: the node that the outermost resource of the dynamic scope declares under its name. The name
    /// may be compared with those of every resource in the scope.
    pub(super) fn dynamic_target(&self, reference: &DynamicRef) -> Result<NodeId, EvaluationError> {
        let Some(anchor) = &reference.anchor else { return Ok(reference.initial) };
        let lookup = rates::LOOKUP.saturating_add(anchor.len() as u64);
        self.meter.charge_each(self.scope.len(), lookup)?;
        let declared = |resource| self.program.dynamic.get(resource)?.get(anchor).copied();
        Ok(self.scope.iter().find_map(declared).unwrap_or(reference.initial))
    }

    fn fields<'v>(
        &mut self,
        about: &'p Fields,
        fields: &'v Map<String, Value>,
        seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        if let Some(seen) = seen {
            self.note_fields(about, fields, seen)?;
        }
        for flat in [true, false] {
            for property in about.properties.iter().filter(|property| property.flat == flat) {
                if let Some(field) = self.get(fields, &property.name)?
                    && !self.fits(property.node, field, None)?
                {
                    return Ok(false);
                }
            }
        }
        if about.patterns.is_empty() && about.additional.is_none() {
            return Ok(true);
        }
        for (name, field) in fields {
            let mut known = self.is_property(about, name)?;
            for (pattern, node) in &about.patterns {
                if self.matches(*pattern, name)? {
                    known = true;
                    if !self.fits(*node, field, None)? {
                        return Ok(false);
                    }
                }
            }
            if let Some(node) = about.additional.filter(|_| !known)
                && !self.fits(node, field, None)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the fields that `properties`, `patternProperties` and `additionalProperties` apply to.
    pub(super) fn note_fields<'v>(
        &self,
        about: &'p Fields,
        fields: &'v Map<String, Value>,
        seen: &mut EvaluatedParts<'v>,
    ) -> Result<(), EvaluationError> {
        if about.additional.is_some() {
            seen.all_fields = true;
            return Ok(());
        }
        for (name, field) in fields {
            if self.is_known(about, name)? {
                seen.field(field, self.meter)?;
            }
        }
        Ok(())
    }

    /// Checks whether `properties` has a name.
    pub(super) fn is_property(&self, about: &'p Fields, name: &str) -> Result<bool, EvaluationError> {
        let steps = u64::from(about.properties.len().checked_ilog2().unwrap_or(0)) + 1;
        self.meter.charge(
            rates::LOOKUP.saturating_add(steps * rates::SORT_STEP).saturating_add(name.len() as u64),
        )?;
        Ok(about.properties.binary_search_by(|property| (*property.name).cmp(name)).is_ok())
    }

    /// Checks whether `properties` or `patternProperties` applies to a name.
    pub(super) fn is_known(&self, about: &'p Fields, name: &str) -> Result<bool, EvaluationError> {
        if self.is_property(about, name)? {
            return Ok(true);
        }
        for (pattern, _) in &about.patterns {
            if self.matches(*pattern, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn items<'v>(
        &mut self,
        about: &'p Items,
        items: &'v [Value],
        seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        if let Some(seen) = seen {
            seen.items(about, items);
        }
        let nodes = about.prefix.iter().copied().map(Some).chain(std::iter::repeat(about.rest));
        for (item, node) in items.iter().zip(nodes) {
            let Some(node) = node else { break };
            if !self.fits(node, item, None)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn contains<'v>(
        &mut self,
        contains: &'p Contains,
        items: &'v [Value],
        mut seen: Option<&mut EvaluatedParts<'v>>,
    ) -> Result<bool, EvaluationError> {
        let mut count: u64 = 0;
        for item in items {
            if self.fits(contains.node, item, None)? {
                count += 1;
                match &mut seen {
                    Some(seen) => seen.item(item, self.meter)?,
                    None if contains.most.is_some_and(|most| count > most) => return Ok(false),
                    None if contains.most.is_none() && count >= contains.least => return Ok(true),
                    None => {}
                }
            }
        }
        Ok(count >= contains.least && contains.most.is_none_or(|most| count <= most))
    }

    fn unevaluated_items<'v>(
        &mut self,
        node: NodeId,
        items: &'v [Value],
        seen: &mut EvaluatedParts<'v>,
    ) -> Result<bool, EvaluationError> {
        if seen.all_items {
            return Ok(true);
        }
        seen.sort(self.meter)?;
        for item in items.iter().skip(seen.first_items) {
            if !seen.has(item, self.meter)? && !self.fits(node, item, None)? {
                return Ok(false);
            }
        }
        seen.all_items = true;
        Ok(true)
    }

    fn unevaluated_properties<'v>(
        &mut self,
        node: NodeId,
        fields: &'v Map<String, Value>,
        seen: &mut EvaluatedParts<'v>,
    ) -> Result<bool, EvaluationError> {
        if seen.all_fields {
            return Ok(true);
        }
        seen.sort(self.meter)?;
        for field in fields.values() {
            if !seen.has(field, self.meter)? && !self.fits(node, field, None)? {
                return Ok(false);
            }
        }
        seen.all_fields = true;
        Ok(true)
    }

    fn is_option(&self, options: &Options, value: &Value) -> Result<bool, EvaluationError> {
        if let Value::String(text) = value {
            let steps = u64::from(options.texts.len().checked_ilog2().unwrap_or(0)) + 1;
            let step = rates::LOOKUP.saturating_add(text.len() as u64);
            self.meter.charge(steps.saturating_mul(step))?;
            let option = |at: &usize| options.all.get(*at).and_then(Value::as_str).unwrap_or_default();
            return Ok(options.texts.binary_search_by(|at| option(at).cmp(text.as_str())).is_ok());
        }
        for at in &options.others {
            if let Some(option) = options.all.get(*at)
                && compare::same(option, value, self.meter)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a field of an object.
    pub(super) fn get<'v>(
        &self,
        fields: &'v Map<String, Value>,
        name: &str,
    ) -> Result<Option<&'v Value>, EvaluationError> {
        self.meter.charge(rates::LOOKUP.saturating_add(name.len() as u64))?;
        Ok(fields.get(name))
    }

    /// Returns the first of several names that an object lacks.
    pub(super) fn missing(
        &self,
        names: &'p [Box<str>],
        fields: &Map<String, Value>,
    ) -> Result<Option<&'p str>, EvaluationError> {
        for name in names {
            if self.get(fields, name)?.is_none() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns a name as a value.
    pub(super) fn name(&self, name: &str) -> Result<Value, EvaluationError> {
        self.meter.charge(rates::VALUE.saturating_add(name.len() as u64))?;
        Ok(Value::from(name))
    }

    fn length(&self, text: &str) -> Result<u64, EvaluationError> {
        self.meter.charge_each(text.len(), rates::CASE_BYTE)?;
        Ok(text.chars().count() as u64)
    }

    pub(super) fn matches(&self, pattern: usize, text: &str) -> Result<bool, EvaluationError> {
        match self.program.patterns.get(pattern) {
            Some(pattern) => Ok(pattern.compiled.is_match(text, self.meter)?),
            None => Ok(false),
        }
    }
}
