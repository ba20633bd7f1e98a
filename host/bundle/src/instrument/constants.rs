//! Operands that the engine treats as constants.
//!
//! The engine checks the limit before `memory.fill` and similar instructions, unless their length is a constant with a
//! small cost. Constants are not only those that the preceding instruction pushes: the engine translates to static
//! single assignment, so that it follows values through locals. This module follows the values of a function's stack
//! and locals in the same way. At a join of two paths, a local is a constant if the same instruction has produced it on
//! both. In a loop, no local is a constant that was produced before the loop; after the loop it is one again, if
//! nothing in the loop has set it.

use wasmparser::{BlockType, FuncValidator, ModuleArity, Operator, WasmModuleResources};

/// Knowledge about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Constant that the instruction with this number has produced.
    Constant {
        made_by: u32,
        value: u32,
    },
    /// Value that a local has at the head of the loop with this number.
    Head {
        of: u32,
        local: usize,
    },
    Other,
}

impl Value {
    /// Returns the value at the join of two paths.
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Other }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Block,
    If,
    Loop(u32),
}

/// An open block.
#[derive(Debug)]
struct Frame {
    kind: Kind,
    /// Number of values on the stack below those of the block.
    height: usize,
    results: usize,
    /// Params of the block.
    params: Vec<Value>,
    /// Locals at the start of the block; `None` if it cannot be reached.
    before: Option<Vec<Value>>,
    /// Locals at the branches to the end of the block or, for a loop, to its head; `None` if there is no branch.
    branched: Option<Vec<Value>>,
}

/// Values of a function at the current instruction.
#[derive(Debug)]
pub(super) struct Constants {
    stack: Vec<Value>,
    /// Values of the locals; `None` if the current instruction cannot be reached.
    locals: Option<Vec<Value>>,
    frames: Vec<Frame>,
    numbers: u32,
}

impl Constants {
    /// Creates the values at the start of a function with this number of params and these groups of locals.
    pub(super) fn new(params: usize, groups: &[(u32, wasmparser::ValType)]) -> Self {
        let mut constants = Self { stack: Vec::new(), locals: None, frames: Vec::new(), numbers: 0 };
        let mut locals = vec![Value::Other; params];
        for (count, of_type) in groups {
            // The engine starts all locals of a group with the same zero.
            let zero = match of_type {
                wasmparser::ValType::I32 => constants.constant(0),
                _ => Value::Other,
            };
            locals.extend(std::iter::repeat_n(zero, *count as usize));
        }
        constants.frames.push(Frame {
            kind: Kind::Block,
            height: 0,
            results: 0,
            params: Vec::new(),
            before: Some(locals.clone()),
            branched: None,
        });
        constants.locals = Some(locals);
        constants
    }

    fn constant(&mut self, value: u32) -> Value {
        self.numbers += 1;
        Value::Constant { made_by: self.numbers, value }
    }

    /// Reports whether the current instruction can be reached.
    pub(super) const fn is_reachable(&self) -> bool {
        self.locals.is_some()
    }

    /// Returns the last value of the stack, if it is a constant.
    pub(super) fn last(&self) -> Option<u32> {
        match self.stack.last() {
            Some(Value::Constant { value, .. }) => Some(*value),
            _ => None,
        }
    }

    /// Processes an instruction, before the validator does.
    pub(super) fn take<R: WasmModuleResources>(
        &mut self,
        operator: &Operator<'_>,
        validator: &FuncValidator<R>,
    ) {
        match operator {
            Operator::Block { blockty } => self.open(Kind::Block, *blockty, validator),
            Operator::Loop { blockty } => {
                self.numbers += 1;
                self.open(Kind::Loop(self.numbers), *blockty, validator);
            }
            Operator::If { blockty } => {
                self.pop(1);
                self.open(Kind::If, *blockty, validator);
            }
            Operator::Else => self.alternative(),
            Operator::End => self.close(),
            _ if self.locals.is_none() => {}
            Operator::Br { relative_depth } => {
                self.branch(*relative_depth);
                self.locals = None;
            }
            Operator::BrIf { relative_depth } => {
                self.pop(1);
                self.branch(*relative_depth);
            }
            Operator::BrTable { targets } => {
                for target in targets.targets().flatten().chain([targets.default()]) {
                    self.branch(target);
                }
                self.locals = None;
            }
            Operator::Return
            | Operator::Unreachable
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. } => self.locals = None,
            Operator::I32Const { value } => {
                let value = self.constant(value.cast_unsigned());
                self.stack.push(value);
            }
            Operator::LocalGet { local_index } => {
                let value = self.local(*local_index);
                self.stack.push(value);
            }
            Operator::LocalSet { local_index } => {
                let value = self.stack.pop().unwrap_or(Value::Other);
                self.set(*local_index, value);
            }
            Operator::LocalTee { local_index } => {
                let value = self.stack.last().copied().unwrap_or(Value::Other);
                self.set(*local_index, value);
            }
            _ => {
                let (pops, pushes) = operator.operator_arity(validator).unwrap_or((0, 0));
                self.pop(pops as usize);
                self.stack.extend(std::iter::repeat_n(Value::Other, pushes as usize));
            }
        }
    }

    fn pop(&mut self, count: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(count));
    }

    fn local(&self, index: u32) -> Value {
        let locals = self.locals.as_ref();
        locals.and_then(|locals| locals.get(index as usize)).copied().unwrap_or(Value::Other)
    }

    fn set(&mut self, index: u32, value: Value) {
        if let Some(local) = self.locals.as_mut().and_then(|locals| locals.get_mut(index as usize)) {
            *local = value;
        }
    }

    fn open<R: WasmModuleResources>(&mut self, kind: Kind, of: BlockType, validator: &FuncValidator<R>) {
        let (params, results) = validator.block_type_arity(of).unwrap_or((0, 0));
        // In unreachable code, the values that the block takes may be missing.
        let params = if self.is_reachable() { params } else { 0 };
        let height = self.stack.len().saturating_sub(params as usize);
        let params = self.stack.split_off(height);
        let before = self.locals.clone();
        if let Kind::Loop(number) = kind {
            // A branch to the head of the loop can bring other values.
            self.stack.extend(std::iter::repeat_n(Value::Other, params.len()));
            for (local, value) in self.locals.iter_mut().flatten().enumerate() {
                *value = Value::Head { of: number, local };
            }
        } else {
            self.stack.extend(params.iter().copied());
        }
        self.frames.push(Frame { kind, height, results: results as usize, params, before, branched: None });
    }

    /// Records the locals at a branch to the end or, for a loop, to the head of a block.
    fn branch(&mut self, depth: u32) {
        let Some(place) = self.frames.len().checked_sub(1 + depth as usize) else { return };
        if let Some(locals) = &self.locals {
            meet(&mut self.frames[place].branched, locals);
        }
    }

    /// Continues with the `else` part of an `if`.
    fn alternative(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(locals) = &self.locals {
            meet(&mut frame.branched, locals);
        }
        self.stack.truncate(frame.height);
        self.stack.extend(frame.params.iter().copied());
        self.locals = frame.before.take();
        frame.kind = Kind::Block;
    }

    fn close(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        if let Kind::Loop(number) = frame.kind {
            self.close_loop(number, &frame);
        } else {
            if let Some(locals) = &self.locals {
                meet(&mut frame.branched, locals);
            }
            // An `if` without `else` is skipped if its condition is false.
            if let (Kind::If, Some(locals)) = (frame.kind, &frame.before) {
                meet(&mut frame.branched, locals);
            }
            self.locals = frame.branched;
        }
        self.stack.truncate(frame.height);
        self.stack.extend(std::iter::repeat_n(Value::Other, frame.results));
    }

    /// Resolves the values at the head of a loop, once all branches to it are known: a local has the value from before
    /// the loop there, unless a branch brings another one.
    fn close_loop(&mut self, number: u32, frame: &Frame) {
        let before = frame.before.as_deref().unwrap_or_default();
        let at_head: Vec<Value> = before
            .iter()
            .enumerate()
            .map(|(local, before)| match frame.branched.as_ref().map(|branched| branched[local]) {
                Some(back) if back != Value::Head { of: number, local } && back != *before => Value::Other,
                _ => *before,
            })
            .collect();
        let resolve = |locals: &mut Vec<Value>| {
            for value in locals {
                if let Value::Head { of, local } = value
                    && *of == number
                {
                    *value = at_head[*local];
                }
            }
        };
        self.locals.iter_mut().for_each(resolve);
        self.frames.iter_mut().filter_map(|frame| frame.branched.as_mut()).for_each(resolve);
    }
}

/// Combines the locals of several paths that join.
fn meet(known: &mut Option<Vec<Value>>, locals: &[Value]) {
    match known {
        Some(known) => {
            for (one, other) in known.iter_mut().zip(locals) {
                *one = one.or(*other);
            }
        }
        None => *known = Some(locals.to_vec()),
    }
}
