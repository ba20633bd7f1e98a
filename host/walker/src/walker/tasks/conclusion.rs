//! Decides whether a boundary is the end of the run, and computes the output.

use std::sync::Arc;

use serde_json::Value;

use crate::walker::Walker;
use crate::walker::tasks::commit::ReturnedOutput;
use graph_core::policy::OnMaxSteps;
use graph_core::record::{CanonicalValue, End, EndedBy, Status};
use graph_core::template::{Fields, Root, Scope, TemplateError};
use graph_core::work::{FuelExhausted, Meter};

/// Result of a boundary: the end of the run, if it ends there, and warnings.
#[derive(Debug, Default)]
pub(in crate::walker) struct Conclusion {
    end: Option<End>,
    warnings: Vec<String>,
}

/// The end of a run that is about to be edited.
pub(in crate::walker) struct EditedEnd {
    end: End,
    follows: bool,
}

impl Walker {
    /// Decides whether this boundary is the end. If a budget is exceeded, only the agenda may have changed.
    pub(in crate::walker) fn conclude(
        &mut self,
        returned: Option<ReturnedOutput>,
        unmatched: &[(String, String)],
        meter: &Meter,
    ) -> Result<Conclusion, FuelExhausted> {
        let to_warning = |(node, candidates): &(String, String)| {
            format!("no edge of node `{node}` matches, its branch ends: {candidates}")
        };
        let warnings = unmatched.iter().map(to_warning).collect();
        let mut concluded = Conclusion { end: None, warnings };
        if let Some(ReturnedOutput { output }) = returned {
            self.agenda.clear();
            self.finish(EndedBy::Return, output, false, &mut concluded, meter)?;
            return Ok(concluded);
        }
        self.check_stalled(&mut concluded.warnings);
        if self.agenda.next().is_empty() {
            if !self.is_stalled() {
                let ended_by = if unmatched.is_empty() { EndedBy::End } else { EndedBy::NoEdgeMatched };
                self.finish(ended_by, None, false, &mut concluded, meter)?;
            }
            return Ok(concluded);
        }
        if self.position.step() >= self.limits.max_steps() {
            match self.graph.on_max_steps {
                OnMaxSteps::Fail => {}
                OnMaxSteps::ReturnLast => {
                    self.finish(EndedBy::MaxSteps, None, false, &mut concluded, meter)?;
                }
                OnMaxSteps::ReturnWithFlag => {
                    self.finish(EndedBy::MaxSteps, None, true, &mut concluded, meter)?;
                }
            }
        }
        Ok(concluded)
    }

    /// Notes the end of a run before an edit. If its output is that of the graph, it follows the edited state.
    pub(in crate::walker) fn edited_end(&self, end: End, meter: &Meter) -> Result<EditedEnd, FuelExhausted> {
        let follows = self.output(&mut Vec::new(), meter)? == *end.output.0;
        Ok(EditedEnd { end, follows })
    }

    /// Concludes a run that had ended and was edited, and has no next node.
    pub(in crate::walker) fn conclude_edited(
        &self,
        ended: EditedEnd,
        meter: &Meter,
    ) -> Result<Conclusion, FuelExhausted> {
        let EditedEnd { mut end, follows } = ended;
        let mut warnings = Vec::new();
        if follows {
            end.output = CanonicalValue(Arc::new(self.output(&mut warnings, meter)?));
        }
        Ok(Conclusion { end: Some(end), warnings })
    }

    /// Applies the result of a boundary.
    pub(in crate::walker) fn take_concluded(&mut self, concluded: Conclusion) {
        self.warnings.keep(concluded.warnings);
        if let Some(end) = concluded.end {
            self.stop.set_end(end);
        }
    }

    fn finish(
        &self,
        ended_by: EndedBy,
        output: Option<Value>,
        limit_reached: bool,
        concluded: &mut Conclusion,
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        let output = match output {
            Some(output) => output,
            None => self.output(&mut concluded.warnings, meter)?,
        };
        let status = if self.stop.has_continued_past_errors() {
            Status::CompletedWithErrors
        } else {
            Status::Completed
        };
        concluded.end =
            Some(End { ended_by, limit_reached, output: CanonicalValue(Arc::new(output)), status });
        Ok(())
    }

    /// Computes the graph's output: its template over the state, or the state without keys that begin with `_`.
    fn output(&self, warnings: &mut Vec<String>, meter: &Meter) -> Result<Value, FuelExhausted> {
        let Some(template) = &self.graph.output else {
            let mut state = self.channels.to_value(meter)?;
            if let Value::Object(state) = &mut state {
                state.retain(|key, _| !key.starts_with('_'));
            }
            return Ok(state);
        };
        let run = self.run_fields();
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs))
            .with("run", Root::Fields(&run));
        let mut missing = Vec::new();
        let value = template.evaluate(&scope, self.graph.templates, &mut missing, meter);
        warnings.extend(
            missing.into_iter().map(|path| format!("`output`: `{path}` is missing and read as null")),
        );
        match value {
            Ok(value) => Ok(value),
            Err(TemplateError::Exhausted(exhausted)) => Err(exhausted),
            Err(error) => {
                warnings.push(format!("`output`: {error}"));
                Ok(Value::Null)
            }
        }
    }
}
