//! Explains why a value does not match a schema. This second pass runs only for such values, and stores only the reported problems. An
//! alternative is explained if it can be identified as the intended one.

use std::ops::ControlFlow;

use serde_json::Value;

use super::check::{MOST_PROBLEMS, SchemaProblem};
use super::errors::Flow;
use super::evaluate::{EvaluationError, Run};
use super::message::{BriefText, shown};
use super::program::{Keyword, NodeId};
use super::report::{Detail, Path, Violation};
use crate::work::rates;

/// Cost of a message, which has a bounded number of bytes.
const MESSAGE: u64 = 2_000 * rates::BYTE + 4 * rates::VALUE;

/// Returns the reasons why a value does not match, at most [`MOST_PROBLEMS`]. Violations of the schema itself are included if `keep`
/// returns `true` for them; the violations within an alternative are included as a whole or not at all.
pub(super) fn problems<'p>(
    run: &mut Run<'p>,
    value: &Value,
    keep: &mut dyn FnMut(&Violation<'_, 'p>) -> Result<bool, EvaluationError>,
) -> Result<Vec<SchemaProblem>, EvaluationError> {
    let mut problems = Vec::new();
    let _ = run.errors(0, value, &Path::Whole, &mut |run, found| {
        if !keep(found)? {
            return Ok(ControlFlow::Continue(()));
        }
        run.explain(found, &mut problems)
    })?;
    Ok(problems)
}

impl<'p> Run<'p> {
    /// Adds the explanation of a violation. Among several alternatives, the intended one is explained, if a constant, such as the tag of an
    /// enumeration, identifies it.
    fn explain(&mut self, found: &Violation<'_, 'p>, problems: &mut Vec<SchemaProblem>) -> Flow {
        let (Keyword::AnyOf(nodes) | Keyword::OneOf(nodes), Detail::None) = (found.keyword, found.detail)
        else {
            return self.report(found, problems);
        };
        let (value, path) = (found.value, found.path);
        let mut unmarked = None;
        let mut is_unclear = false;
        let mut tags = Tags::default();
        for &node in nodes {
            match self.tag(node, value, path)? {
                Some((place, constant)) => tags.add(place, constant),
                None => is_unclear |= unmarked.replace(node).is_some(),
            }
        }
        match unmarked {
            None => match tags.into_problem() {
                Some(problem) => Ok(push(problem, problems)),
                None => self.report(found, problems),
            },
            Some(meant) if !is_unclear => {
                self.errors(meant, value, path, &mut |run, found| run.explain(found, problems))
            }
            Some(_) => self.lacking(nodes, found, problems),
        }
    }

    /// Adds the keys that are missing for every alternative; if there are none, the violation as a whole.
    fn lacking(
        &mut self,
        nodes: &'p [NodeId],
        found: &Violation<'_, 'p>,
        problems: &mut Vec<SchemaProblem>,
    ) -> Flow {
        let (value, path) = (found.value, found.path);
        let mut missing: Vec<(&'p str, SchemaProblem)> = Vec::new();
        for (at, &node) in nodes.iter().enumerate() {
            let mut here: Vec<(&'p str, SchemaProblem)> = Vec::new();
            let mut lacked = vec![false; missing.len()];
            let _ = self.errors(node, value, path, &mut |run, found| {
                if let Detail::Missing(key) = found.detail {
                    if at == 0 {
                        here.push((key, run.problem(found)?));
                    }
                    for ((other, _), lacked) in missing.iter().zip(&mut lacked) {
                        *lacked |= *other == key;
                    }
                }
                let full = here.len() >= MOST_PROBLEMS;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            if at == 0 {
                missing = here;
            } else {
                let mut lacked = lacked.into_iter();
                missing.retain(|_| lacked.next().unwrap_or(false));
            }
            if missing.is_empty() {
                return self.report(found, problems);
            }
        }
        for (_, problem) in missing {
            if push(problem, problems).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the first constant of an alternative that the value violates, with its path.
    fn tag(
        &mut self,
        node: NodeId,
        value: &Value,
        path: &Path<'_>,
    ) -> Result<Option<(String, &'p Value)>, EvaluationError> {
        let mut tag = None;
        let _ = self.errors(node, value, path, &mut |run, found| {
            let Keyword::Const(expected) = found.keyword else { return Ok(ControlFlow::Continue(())) };
            run.meter.charge_each(found.path.len(), 2 * rates::BYTE)?;
            tag = Some((found.path.to_pointer(), expected));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(tag)
    }

    fn report(&mut self, found: &Violation<'_, 'p>, problems: &mut Vec<SchemaProblem>) -> Flow {
        let problem = self.problem(found)?;
        Ok(push(problem, problems))
    }

    fn problem(&self, found: &Violation<'_, 'p>) -> Result<SchemaProblem, EvaluationError> {
        self.meter.charge(MESSAGE.saturating_add(2 * found.path.len() as u64))?;
        Ok(SchemaProblem { path: found.path.to_pointer(), message: found.message(self.program) })
    }
}

fn push(problem: SchemaProblem, problems: &mut Vec<SchemaProblem>) -> ControlFlow<()> {
    problems.push(problem);
    if problems.len() >= MOST_PROBLEMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The constants that distinguish alternatives.
#[derive(Default)]
struct Tags {
    place: Option<String>,
    /// `true` if they are at different places.
    differ: bool,
    values: BriefText,
}

impl Tags {
    fn add(&mut self, place: String, constant: &Value) {
        match &self.place {
            None => self.place = Some(place),
            Some(first) => {
                self.differ |= *first != place;
                self.values.add(&", ");
            }
        }
        self.values.add(&shown(constant));
    }

    /// Returns the problem of a value that has none of them.
    fn into_problem(self) -> Option<SchemaProblem> {
        let path = self.place.filter(|_| !self.differ)?;
        let mut message = BriefText::default();
        message.add(&"it is not one of ");
        message.add(&self.values.into_text());
        Some(SchemaProblem { path, message: message.into_text() })
    }
}
