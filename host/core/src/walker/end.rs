//! Whether a boundary is the end of the run, and what the run gives then.

use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::commit::{Returned, keep_warnings};
use crate::graph::OnMaxSteps;
use crate::record::{Canonical, End, EndedBy, Status};
use crate::template::{Fields, Root, Scope, TemplateError};
use crate::work::{Exhausted, Meter};

/// What a boundary comes to.
#[derive(Debug, Default)]
pub(super) struct Concluded {
    end: Option<End>,
    warnings: Vec<String>,
}

impl Walker {
    /// Works out whether this boundary is the end. If that cannot be paid for, only what is next and the barriers may have
    /// changed.
    pub(super) fn conclude(
        &mut self,
        returned: Option<Returned>,
        unmatched: &[(String, String)],
        meter: &Meter,
    ) -> Result<Concluded, Exhausted> {
        let told = |(node, candidates): &(String, String)| {
            format!("no edge of node `{node}` matches, its branch ends: {candidates}")
        };
        let warnings = unmatched.iter().map(told).collect();
        let mut concluded = Concluded { end: None, warnings };
        if let Some(Returned { output }) = returned {
            self.next.clear();
            self.deferred.clear();
            self.barriers.clear();
            self.finish(EndedBy::Return, output, false, &mut concluded, meter)?;
            return Ok(concluded);
        }
        self.check_stalled(&mut concluded.warnings);
        if self.next.is_empty() {
            if !self.is_stalled() {
                let ended_by = if unmatched.is_empty() { EndedBy::End } else { EndedBy::NoEdgeMatched };
                self.finish(ended_by, None, false, &mut concluded, meter)?;
            }
            return Ok(concluded);
        }
        if self.step >= self.max_steps {
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

    /// Takes what a boundary has come to.
    pub(super) fn take_concluded(&mut self, concluded: Concluded) {
        keep_warnings(&mut self.warnings, concluded.warnings);
        if concluded.end.is_some() {
            self.end = concluded.end;
        }
    }

    fn finish(
        &self,
        ended_by: EndedBy,
        output: Option<Value>,
        limit_reached: bool,
        concluded: &mut Concluded,
        meter: &Meter,
    ) -> Result<(), Exhausted> {
        let output = match output {
            Some(output) => output,
            None => self.output(&mut concluded.warnings, meter)?,
        };
        let status = if self.errors_continued { Status::CompletedWithErrors } else { Status::Completed };
        concluded.end = Some(End { ended_by, limit_reached, output: Canonical(Arc::new(output)), status });
        Ok(())
    }

    /// The graph's output: its template over the state, or the state without keys that begin with `_`.
    fn output(&self, warnings: &mut Vec<String>, meter: &Meter) -> Result<Value, Exhausted> {
        let Some(template) = &self.graph.output else {
            let mut state = self.channels.to_value(meter)?;
            if let Value::Object(state) = &mut state {
                state.retain(|key, _| !key.starts_with('_'));
            }
            return Ok(state);
        };
        let run = self.run_document();
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs))
            .with("run", Root::Value(&run));
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
