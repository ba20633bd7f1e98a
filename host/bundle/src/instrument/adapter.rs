//! Adapters: core modules through which components that are nested in another one call each other.
//!
//! No component contains adapters. The same code generates them when a component is compiled for the engine and when it
//! is translated to JavaScript, but only the latter adds the tasks of concurrent components. The instructions that are
//! added for tasks cost no fuel, so that a call costs the same as natively.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::{FunctionBody, Operator, TypeRef};

/// Imports of an adapter for tasks, by index, and the functions that lend resources.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    functions: u32,
    globals: u32,
    /// Functions that read a slot of the task's context.
    context_get: BTreeSet<u32>,
    /// Functions that write a slot of the task's context.
    context_set: BTreeSet<u32>,
    /// Function that starts a task. The engine also has the call in functions that lend resources.
    enter: Option<u32>,
    /// Function that ends a task.
    exit: Option<u32>,
    /// Global that states whether the task may wait.
    may_wait: Option<u32>,
    /// Function that passes on a borrowed resource.
    lend: Option<u32>,
    /// Functions that each function of the module calls.
    calls: BTreeMap<u32, BTreeSet<u32>>,
}

impl Tasks {
    /// Reads the next import.
    pub(super) fn import(&mut self, module: &str, name: &str, of_type: TypeRef) {
        match of_type {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => {
                let index = self.functions;
                self.functions += 1;
                match (module, name) {
                    ("context", "get0" | "get1") => {
                        self.context_get.insert(index);
                    }
                    ("context", "set0" | "set1") => {
                        self.context_set.insert(index);
                    }
                    ("async", "enter-sync-call") => self.enter = Some(index),
                    ("async", "exit-sync-call") => self.exit = Some(index),
                    ("resource", "transfer-borrow") => self.lend = Some(index),
                    _ => {}
                }
            }
            TypeRef::Global(_) => {
                if (module, name) == ("instance", "task_may_block") {
                    self.may_wait = Some(self.globals);
                }
                self.globals += 1;
            }
            TypeRef::Table(_) | TypeRef::Memory(_) | TypeRef::Tag(_) => {}
        }
    }

    /// Reads the body of the module's next function.
    pub(super) fn body(&mut self, body: &FunctionBody<'_>) -> wasmparser::Result<()> {
        let mut called = BTreeSet::new();
        for operator in body.get_operators_reader()? {
            if let Operator::Call { function_index } = operator? {
                called.insert(function_index);
            }
        }
        let index = self.functions + u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.calls.insert(index, called);
        Ok(())
    }

    /// Reports whether a function lends resources, itself or through functions of the module that it calls.
    fn lends(&self, function: u32) -> bool {
        let Some(lend) = self.lend else { return false };
        let (mut seen, mut next) = (BTreeSet::new(), vec![function]);
        while let Some(function) = next.pop() {
            if function == lend {
                return true;
            }
            if seen.insert(function) {
                next.extend(self.calls.get(&function).into_iter().flatten());
            }
        }
        false
    }

    /// Returns the positions of the instructions that a function has only for tasks. `place` is the index of the
    /// function among those with a body.
    pub(super) fn free(&self, place: u32, operators: &[Operator<'_>]) -> BTreeSet<usize> {
        let lends = self.lends(self.functions + place);
        let mut free = BTreeSet::new();
        for (at, operator) in operators.iter().enumerate() {
            // Numbers of instructions before the call, which push its operands, and after it, which store its result.
            let (before, behind) = match *operator {
                Operator::Call { function_index: called } if self.context_get.contains(&called) => (0, 1),
                Operator::Call { function_index: called } if self.context_set.contains(&called) => (1, 0),
                Operator::Call { function_index: called } if Some(called) == self.enter && !lends => (3, 0),
                Operator::Call { function_index: called } if Some(called) == self.exit && !lends => (0, 0),
                Operator::GlobalGet { global_index } if Some(global_index) == self.may_wait => (0, 1),
                Operator::GlobalSet { global_index } if Some(global_index) == self.may_wait => (1, 0),
                _ => continue,
            };
            free.extend(at.saturating_sub(before)..=at + behind);
        }
        free
    }
}
