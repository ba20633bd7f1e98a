//! A call of an exported function.

use std::sync::Arc;

use graph_core::node::{Category, Failure, Outcome};
use graph_core::wit_value::FunctionSignature;
use graph_core::work::Meter;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, InstancePre, Val};

use super::{list, values};
use crate::call::Classification;
use crate::state::TaskState;

/// A function of a component that is linked with its grant. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FunctionEntry {
    pre: InstancePre<TaskState>,
    index: ComponentExportIndex,
    signature: Arc<FunctionSignature>,
}

impl FunctionEntry {
    /// Finds the function with a name in item ids; `None` if the component exports no such function, or several.
    pub(crate) fn find(engine: &wasmtime::Engine, name: &str, pre: InstancePre<TaskState>) -> Option<Self> {
        // The index belongs only to this compiled form: the same bytes, loaded again, have others.
        let (index, signature) = list::find(engine, pre.component(), name)?;
        Some(Self { pre, index, signature: Arc::new(signature) })
    }

    /// Creates the arguments of a call.
    pub(crate) fn arguments(&self, params: &Value, meter: &Meter) -> Result<Vec<Val>, Failure> {
        let arguments = self.signature.arguments(params, meter)?;
        Ok(arguments.into_iter().map(values::to_wasmtime).collect())
    }

    /// Calls the function in a fresh instance.
    pub(crate) async fn call(
        &self,
        store: &mut Store<TaskState>,
        fuel: u64,
        arguments: &[Val],
    ) -> wasmtime::Result<Option<Val>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        store.set_fuel(fuel)?;
        let function = instance
            .get_func(&mut *store, self.index)
            .ok_or_else(|| wasmtime::Error::msg("the function is not exported"))?;
        let mut results = match &self.signature.result {
            Some(_) => vec![Val::Bool(false)],
            None => Vec::new(),
        };
        function.call_async(&mut *store, arguments, &mut results).await?;
        Ok(results.pop())
    }

    /// Converts an answer for the graph.
    pub(crate) fn answer(
        &self,
        value: Option<Val>,
        limit: u64,
        meter: &Meter,
    ) -> (Classification, Result<Outcome, Failure>) {
        let answer = match value.map(values::from_wasmtime) {
            Some(None) => Err(Failure::new(Category::Internal, "its result has a type that has no JSON")),
            Some(value) => self.signature.answer(value, limit, meter),
            None => self.signature.answer(None, limit, meter),
        };
        match answer {
            Ok(answer) => (Classification::Returned, answer.map(Outcome::Result)),
            Err(failure) => (Classification::InvalidResult, Err(failure)),
        }
    }
}
