//! Calls a component's `describe`, when it is built or signed.

use std::sync::Arc;

use graph_core::capability::CapabilityKind;
use graph_core::json::{MAX_DEPTH, TreeLimit, parse_strict};
use graph_core::limits::TaskLimits;
use graph_core::node::{Description, WantedInterface};
use graph_core::time::Timestamp;
use graph_core::trust::VerifiedComponent;
use serde_json::Value;

use crate::bindings::{ComponentPre, graph_host::node::types as wit};
use crate::call::new_store;
use crate::classify::classify;
use crate::engine::Engine;
use crate::error::{DescribeError, LoadError};
use crate::functions::{self, ExportedFunction, ExportedFunctions, UncallableFunction};
use crate::host::output::Output;
use crate::journal::{Journal, SharedJournal};
use crate::prepare::linker;
use crate::services::ModelMeter;
use crate::state::{GrantedResources, TaskState};
use crate::task_budget::TaskBudget;

impl Engine {
    /// Calls `describe` within the default limits of a task, with all interfaces linked and no grants: no folder, no server, no item. Its
    /// clock shows zero and its random numbers are always the same.
    pub async fn describe(&self, component: &VerifiedComponent) -> Result<Description, DescribeError> {
        let loaded = self.load(component)?;
        let id = || loaded.id().to_owned();
        let pre = linker(&self.inner.wasmtime, &CapabilityKind::ALL.into())
            .and_then(|linker| linker.instantiate_pre(loaded.component()))
            .and_then(ComponentPre::new)
            .map_err(|error| DescribeError::WrongWorld { id: id(), message: format!("{error:#}") })?;

        let _permit = self.inner.slot().await;
        let _active = self.inner.ticker.enter();
        let limits = TaskLimits::DEFAULT;
        let output = Output::new(limits.log, None);
        let written = output.clone();
        let mut store = new_store(&self.inner, &limits, |deadline| {
            let granted = Arc::new(GrantedResources::nothing(
                Arc::clone(&self.inner.client),
                Arc::clone(&self.inner.chains),
            ));
            let journal =
                SharedJournal::new(Journal::Record, &limits, TaskBudget::new(&limits, ModelMeter::default()));
            TaskState::new(&limits, Timestamp::default(), [0; 32], granted, output, journal, deadline)
        });
        let described = async {
            let node = pre.instantiate_async(&mut store).await?;
            store.set_fuel(limits.fuel)?;
            node.graph_host_node_action().call_describe(&mut store).await
        }
        .await
        .map_err(|error| DescribeError::Failed {
            id: id(),
            message: classify(&error).1.message,
            logged: last_lines(&written),
        })?;
        read(described, limits.output).map_err(|message| DescribeError::Invalid { id: id(), message })
    }
}

/// Largest number of lines in a failure.
const SHOWN_LINES: usize = 8;
/// Largest number of characters of each line.
const SHOWN_CHARACTERS: usize = 400;

/// Returns the end of a component's log.
fn last_lines(output: &Output) -> Vec<String> {
    let (lines, _) = output.finish();
    let texts: Vec<&str> = lines.iter().flat_map(|line| line.message.lines()).collect();
    let last = texts.into_iter().rev().take(SHOWN_LINES);
    let mut shown: Vec<String> = last.map(|text| text.chars().take(SHOWN_CHARACTERS).collect()).collect();
    shown.reverse();
    shown
}

impl Engine {
    /// Returns the functions that a component exports in addition to the node action, from its types and the documentation in its WIT;
    /// those that cannot be called with the reason. Nothing of the component is executed.
    pub fn functions(&self, component: &VerifiedComponent) -> Result<ExportedFunctions, LoadError> {
        let loaded = self.load(component)?;
        ExportedFunctions::read(&self.inner.wasmtime, loaded.component(), component.bytes())
            .map_err(|full| LoadError::Functions { id: component.id().to_owned(), full })
    }

    /// Returns the types of the function with a name in item ids, or the reason why nodes cannot call it; `None` if there is none.
    pub fn function(
        &self,
        component: &VerifiedComponent,
        name: &str,
    ) -> Result<Option<Result<ExportedFunction, UncallableFunction>>, LoadError> {
        let loaded = self.load(component)?;
        functions::exported(&self.inner.wasmtime, loaded.component(), name)
            .map_err(|full| LoadError::Functions { id: component.id().to_owned(), full })
    }
}

fn read(described: wit::Description, limit: u64) -> Result<Description, String> {
    let size = described
        .interfaces
        .iter()
        .map(|wanted| wanted.name.len() + wanted.why.len())
        .chain([described.summary.len(), described.params.len(), described.result.len()])
        .fold(0_u64, |sum, bytes| sum.saturating_add(bytes as u64));
    if size > limit {
        return Err(format!("it has {size} bytes; {limit} are allowed"));
    }
    Ok(Description {
        summary: described.summary,
        params: schema(&described.params, "params")?,
        result: schema(&described.result, "result")?,
        interfaces: described
            .interfaces
            .into_iter()
            .map(|wanted| WantedInterface { name: wanted.name, why: wanted.why })
            .collect(),
    })
}

fn schema(text: &str, what: &str) -> Result<Value, String> {
    match parse_strict(text, MAX_DEPTH, TreeLimit::DOCUMENT) {
        Ok(value @ (Value::Object(_) | Value::Bool(_))) => Ok(value),
        Ok(_) => Err(format!("the schema of its {what} is neither an object nor a boolean")),
        Err(error) => Err(format!("the schema of its {what} is not valid JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::host::output::StandardStream;

    #[test]
    fn the_end_of_what_was_logged_is_in_the_message() {
        let output = Output::new(1 << 20, None);
        for line in 0..20 {
            output.write(StandardStream::Error, format!("line {line}\n").as_bytes()).unwrap();
        }
        output.write(StandardStream::Error, "x\u{1b}[2J".repeat(1000).as_bytes()).unwrap();
        let logged = last_lines(&output);
        assert_eq!((logged.len(), logged[0].as_str()), (SHOWN_LINES, "line 13"));
        assert!(
            logged.iter().all(|line| line.chars().count() <= SHOWN_CHARACTERS && !line.contains('\u{1b}'))
        );
        let failed =
            |logged| DescribeError::Failed { id: "a/b".to_owned(), message: "it trapped".to_owned(), logged };
        assert_eq!(failed(Vec::new()).to_string(), "`describe` of `a/b` did not return: it trapped");
        let told = failed(vec!["one".to_owned(), "two".to_owned()]).to_string();
        assert!(told.ends_with("it trapped\nit logged:\n  one\n  two"), "{told}");
    }
}
