//! Finds all parts of a value that violate a schema. Violations are passed on at once, and not stored.

use std::fmt::Display;
use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::evaluate::{EvaluationError, Run};
use super::message::shown;
use super::program::{Fields, Keyword, NodeId};
use super::report::{Detail, Path, Violation};
use super::seen::EvaluatedParts;
use crate::work::rates;

/// Number of names that a message lists.
const MOST_NAMES: usize = 20;

/// The state of a search for violations: whether it continues.
pub(super) type Flow = Result<ControlFlow<()>, EvaluationError>;

/// A receiver of violations.
pub(super) type Sink<'s, 'p> = dyn FnMut(&mut Run<'p>, &Violation<'_, 'p>) -> Flow + 's;

const CONTINUE: Flow = Ok(ControlFlow::Continue(()));
const BREAK: Flow = Ok(ControlFlow::Break(()));

/// The keyword, the value and its path.
#[derive(Clone, Copy)]
struct At<'f, 'p> {
    keyword: &'p Keyword,
    value: &'f Value,
    path: &'f Path<'f>,
}

impl<'f, 'p> At<'f, 'p> {
    fn found(self, detail: Detail<'f, 'p>) -> Violation<'f, 'p> {
        Violation { path: self.path, value: self.value, keyword: self.keyword, detail }
    }
}

impl<'p> Run<'p> {
    /// Passes on the violations of a node by a value.
    pub(super) fn errors(
        &mut self,
        id: NodeId,
        value: &Value,
        path: &Path<'_>,
        sink: &mut Sink<'_, 'p>,
    ) -> Flow {
        let (entered, keywords, _) = self.enter(id)?;
        for keyword in keywords {
            self.meter.charge(rates::SCHEMA_VISIT)?;
            if self.errors_of(At { keyword, value, path }, keywords, sink)?.is_break() {
                self.leave(entered);
                return BREAK;
            }
        }
        self.leave(entered);
        CONTINUE
    }

    fn errors_of(&mut self, at: At<'_, 'p>, all: &'p [Keyword], sink: &mut Sink<'_, 'p>) -> Flow {
        let At { keyword, value, path } = at;
        match (keyword, value) {
            (Keyword::Ref(node), _) => self.errors(*node, value, path, sink),
            (Keyword::DynamicRef(reference), _) => {
                self.errors(self.dynamic_target(reference)?, value, path, sink)
            }
            (Keyword::AllOf(nodes), _) => self.each(nodes, |run, node| run.errors(*node, value, path, sink)),
            (Keyword::OneOf(nodes), _) => match self.fitting(nodes, value, None)? {
                0 => sink(self, &at.found(Detail::None)),
                1 => CONTINUE,
                _ => sink(self, &at.found(Detail::Several)),
            },
            (Keyword::If(condition), _) => {
                let holds = self.fits(condition.test, value, None)?;
                let then = if holds { condition.then } else { condition.otherwise };
                self.each(then, |run, node| run.errors(node, value, path, sink))
            }
            (Keyword::DependentSchemas(dependents), Value::Object(fields)) => {
                self.each(dependents, |run, (name, node)| match run.get(fields, name)? {
                    Some(_) => run.errors(*node, value, path, sink),
                    None => CONTINUE,
                })
            }
            (Keyword::Required(names), Value::Object(fields)) => {
                self.each(names, |run, name| match run.get(fields, name)? {
                    Some(_) => CONTINUE,
                    None => sink(run, &at.found(Detail::Missing(name))),
                })
            }
            (Keyword::DependentRequired(dependents), Value::Object(fields)) => {
                self.each(dependents, |run, (name, names)| {
                    let missing = match run.get(fields, name)? {
                        Some(_) => run.missing(names, fields)?,
                        None => None,
                    };
                    run.each(missing, |run, name| sink(run, &at.found(Detail::Missing(name))))
                })
            }
            (Keyword::Fields(about), Value::Object(fields)) => self.field_errors(about, fields, at, sink),
            (Keyword::PropertyNames(node), Value::Object(fields)) => self.each(fields.keys(), |run, name| {
                let name = run.name(name)?;
                run.errors(*node, &name, path, sink)
            }),
            (Keyword::Items(about), Value::Array(items)) => {
                let nodes = about.prefix.iter().copied().map(Some).chain(std::iter::repeat(about.rest));
                let pairs = items.iter().zip(nodes).enumerate();
                let known = pairs.map_while(|(at, (item, node))| Some((at, item, node?)));
                self.each(known, |run, (at, item, node)| run.errors(node, item, &Path::Index(path, at), sink))
            }
            (Keyword::UnevaluatedItems(node), Value::Array(items)) => {
                let mut seen = EvaluatedParts::default();
                self.collect(all, value, &mut seen, true)?;
                if seen.all_items {
                    return CONTINUE;
                }
                let rest = items.iter().skip(seen.first_items).map(|item| (item as &dyn Display, item));
                self.unevaluated(*node, rest, &mut seen, at, sink)
            }
            (Keyword::UnevaluatedProperties(node), Value::Object(fields)) => {
                let mut seen = EvaluatedParts::default();
                self.collect(all, value, &mut seen, true)?;
                if seen.all_fields {
                    return CONTINUE;
                }
                let rest = fields.iter().map(|(name, field)| (name as &dyn Display, field));
                self.unevaluated(*node, rest, &mut seen, at, sink)
            }
            _ if self.holds(keyword, value, None)? => CONTINUE,
            _ => sink(self, &at.found(Detail::None)),
        }
    }

    fn field_errors(
        &mut self,
        about: &'p Fields,
        fields: &Map<String, Value>,
        at: At<'_, 'p>,
        sink: &mut Sink<'_, 'p>,
    ) -> Flow {
        for flat in [true, false] {
            for property in about.properties.iter().filter(|property| property.flat == flat) {
                if let Some(field) = self.get(fields, &property.name)?
                    && self
                        .errors(property.node, field, &Path::Key(at.path, &property.name), sink)?
                        .is_break()
                {
                    return BREAK;
                }
            }
        }
        if about.patterns.is_empty() && about.additional.is_none() {
            return CONTINUE;
        }
        let mut unexpected = UnexpectedParts::default();
        for (name, field) in fields {
            let mut known = self.is_property(about, name)?;
            for (pattern, node) in &about.patterns {
                if self.matches(*pattern, name)? {
                    known = true;
                    if self.errors(*node, field, &Path::Key(at.path, name), sink)?.is_break() {
                        return BREAK;
                    }
                }
            }
            let Some(node) = about.additional.filter(|_| !known) else { continue };
            if self.is_never(node) {
                unexpected.add(name);
            } else if self.errors(node, field, &Path::Key(at.path, name), sink)?.is_break() {
                return BREAK;
            }
        }
        unexpected.hand_on(self, at, sink)
    }

    fn is_never(&self, node: NodeId) -> bool {
        self.program.nodes.get(node).is_some_and(|node| matches!(*node.keywords, [Keyword::Never]))
    }

    /// Passes on the parts that no keyword evaluated and that violate the schema for such parts.
    fn unevaluated<'v>(
        &mut self,
        node: NodeId,
        parts: impl Iterator<Item = (&'v dyn Display, &'v Value)>,
        seen: &mut EvaluatedParts<'v>,
        at: At<'_, 'p>,
        sink: &mut Sink<'_, 'p>,
    ) -> Flow {
        seen.sort(self.meter)?;
        let mut unexpected = UnexpectedParts::default();
        for (name, part) in parts {
            if !seen.has(part, self.meter)? && !self.fits(node, part, None)? {
                unexpected.add(name);
            }
        }
        unexpected.hand_on(self, at, sink)
    }

    /// Collects the parts that keywords evaluate. A keyword that does not hold is reported itself: its parts count as evaluated, so that
    /// they are not reported again.
    fn collect<'v>(
        &mut self,
        keywords: &'p [Keyword],
        value: &'v Value,
        seen: &mut EvaluatedParts<'v>,
        outermost: bool,
    ) -> Result<(), EvaluationError> {
        for keyword in keywords {
            self.meter.charge(rates::SCHEMA_VISIT)?;
            let unevaluated =
                matches!(keyword, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_));
            if outermost && unevaluated {
                continue;
            }
            let mark = seen.mark();
            if self.holds(keyword, value, Some(&mut *seen))? {
                continue;
            }
            seen.roll_back(mark);
            match (keyword, value) {
                (Keyword::Fields(about), Value::Object(fields)) => self.note_fields(about, fields, seen)?,
                (Keyword::Items(about), Value::Array(items)) => seen.items(about, items),
                (Keyword::UnevaluatedItems(_), _) => seen.all_items = true,
                (Keyword::UnevaluatedProperties(_), _) => seen.all_fields = true,
                (Keyword::Ref(node), _) => self.collect_in([*node], value, seen)?,
                (Keyword::DynamicRef(reference), _) => {
                    self.collect_in([self.dynamic_target(reference)?], value, seen)?;
                }
                (Keyword::AllOf(nodes) | Keyword::AnyOf(nodes) | Keyword::OneOf(nodes), _) => {
                    self.collect_in(nodes.iter().copied(), value, seen)?;
                }
                (Keyword::If(condition), _) => {
                    let nodes = [Some(condition.test), condition.then, condition.otherwise];
                    self.collect_in(nodes.into_iter().flatten(), value, seen)?;
                }
                (Keyword::DependentSchemas(dependents), _) => {
                    self.collect_in(dependents.iter().map(|(_, node)| *node), value, seen)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn collect_in<'v>(
        &mut self,
        nodes: impl IntoIterator<Item = NodeId>,
        value: &'v Value,
        seen: &mut EvaluatedParts<'v>,
    ) -> Result<(), EvaluationError> {
        for node in nodes {
            let (entered, keywords, _) = self.enter(node)?;
            self.collect(keywords, value, seen, false)?;
            self.leave(entered);
        }
        Ok(())
    }

    /// Calls a function for each of several values, until it returns a break.
    fn each<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        mut act: impl FnMut(&mut Self, T) -> Flow,
    ) -> Flow {
        for one in all {
            if act(self, one)?.is_break() {
                return BREAK;
            }
        }
        CONTINUE
    }
}

/// Parts that a schema does not allow: as many names as a message lists, and their number.
#[derive(Default)]
struct UnexpectedParts {
    names: Vec<String>,
    count: usize,
}

impl UnexpectedParts {
    fn add(&mut self, name: &dyn Display) {
        self.count += 1;
        if self.names.len() < MOST_NAMES {
            self.names.push(shown(name));
        }
    }

    fn hand_on<'p>(&self, run: &mut Run<'p>, at: At<'_, 'p>, sink: &mut Sink<'_, 'p>) -> Flow {
        if self.count == 0 {
            return CONTINUE;
        }
        sink(run, &at.found(Detail::Unexpected(&self.names, self.count)))
    }
}
