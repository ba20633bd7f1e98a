//! Rewriting of the code of one function.

use std::collections::BTreeSet;

use graph_core::fuel;
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{BlockType, Function, Ieee32, Ieee64, Instruction, ValType};
use wasmparser::{FuncValidator, FunctionBody, Operator, ValidatorResources};

use super::constants::Constants;
use super::costs::{Arithmetic, arithmetic, cost, ends_a_stretch, per_unit};
use super::module::{InstrumentError, Shape, Stop};

/// Bits of the canonical NaN of each width.
const NAN32: u32 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;
/// Maximum number of pages of a memory whose type has no maximum.
const MOST_PAGES: u64 = 1 << 16;

/// Indices of the meter's globals among the globals of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pub(super) fuel: u32,
    pub(super) pages: u32,
    pub(super) stop: u32,
}

/// A function that is being rewritten.
struct Writer<'a> {
    instructions: Vec<Instruction<'a>>,
    meter: Meter,
    /// Index of the first local that the function does not have itself.
    first_local: u32,
    /// Types of the added locals.
    added: Vec<ValType>,
    /// Counted cost that was not added yet.
    pending: u64,
}

/// Rewrites the code of a function. `place` is the index of the function among those with a body.
pub(super) fn rewrite<R: Reencode<Error = InstrumentError>>(
    encoder: &mut R,
    body: &FunctionBody<'_>,
    validator: &mut FuncValidator<ValidatorResources>,
    shape: &Shape,
    (meter, place): (Meter, u32),
) -> Result<Function, reencode::Error<InstrumentError>> {
    let mut reader = body.get_binary_reader();
    let invalid = |error: wasmparser::Error| reencode::Error::UserError(InstrumentError::from(error));
    let params = validator.len_locals();
    validator.read_locals(&mut reader).map_err(invalid)?;
    let mut groups = Vec::new();
    for group in body.get_locals_reader().map_err(invalid)? {
        groups.push(group.map_err(invalid)?);
    }
    let mut constants = Constants::new(params as usize, &groups);
    let mut writer = Writer {
        instructions: Vec::new(),
        meter,
        first_local: validator.len_locals(),
        added: Vec::new(),
        pending: u64::from(fuel::FUNCTION),
    };
    writer.settle();
    writer.check();
    let free = match &shape.tasks {
        Some(tasks) => {
            let all = body.get_operators_reader().map_err(invalid)?.into_iter();
            tasks.free(place, &all.collect::<Result<Vec<_>, _>>().map_err(invalid)?)
        }
        None => BTreeSet::new(),
    };
    let mut operators = body.get_operators_reader().map_err(invalid)?;
    let mut at = 0;
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().map_err(invalid)?;
        let instruction = encoder.instruction(operator.clone())?;
        let cost = if free.contains(&at) { 0 } else { cost(&operator) };
        at += 1;
        let is_reachable = constants.is_reachable();
        let last = constants.last();
        constants.take(&operator, validator);
        validator.op(offset, &operator).map_err(invalid)?;
        if is_reachable {
            writer.pending += cost;
            writer.operator(&operator, instruction, last, shape);
        } else {
            // The instruction is never executed.
            writer.instructions.push(instruction);
        }
    }
    let mut locals = Vec::new();
    for (count, of_type) in groups {
        locals.push((count, encoder.val_type(of_type)?));
    }
    locals.extend(writer.added.iter().map(|of_type| (1, *of_type)));
    let mut function = Function::new(locals);
    for instruction in &writer.instructions {
        function.instruction(instruction);
    }
    Ok(function)
}

impl<'a> Writer<'a> {
    fn push(&mut self, instructions: impl IntoIterator<Item = Instruction<'a>>) {
        self.instructions.extend(instructions);
    }

    /// Returns the index of an added local, which is the same for each type and `place`.
    fn local(&mut self, of_type: ValType, place: usize) -> u32 {
        let mut known = 0;
        for (index, added) in (self.first_local..).zip(&self.added) {
            if *added == of_type {
                if known == place {
                    return index;
                }
                known += 1;
            }
        }
        let mut index = self.first_local;
        while known <= place {
            self.added.push(of_type);
            known += 1;
        }
        index += u32::try_from(self.added.len()).unwrap_or(u32::MAX) - 1;
        index
    }

    fn operator(
        &mut self,
        operator: &Operator<'_>,
        instruction: Instruction<'a>,
        last: Option<u32>,
        shape: &Shape,
    ) {
        if ends_a_stretch(operator) {
            self.settle();
        }
        match operator {
            Operator::Loop { .. } => {
                self.push([instruction]);
                self.check();
            }
            Operator::MemoryGrow { mem } => {
                self.units(fuel::PAGE, last);
                self.grow_memory(*mem, instruction, shape);
            }
            Operator::TableGrow { table } => {
                self.units(fuel::ELEMENT, last);
                self.grow_table(*table, instruction, shape);
            }
            _ => {
                if let Some(rate) = per_unit(operator) {
                    self.units(rate, last);
                }
                self.push([instruction]);
                if let Some(kind) = arithmetic(operator) {
                    self.canonicalize(kind);
                }
            }
        }
    }

    /// Adds the counted cost to the global `fuel`.
    fn settle(&mut self) {
        let Meter { fuel, .. } = self.meter;
        let counted = std::mem::take(&mut self.pending);
        if counted > 0 {
            self.push([
                Instruction::GlobalGet(fuel),
                Instruction::I64Const(counted.cast_signed()),
                Instruction::I64Add,
                Instruction::GlobalSet(fuel),
            ]);
        }
    }

    /// Stops the module if the limit of fuel is reached.
    fn check(&mut self) {
        self.push([Instruction::GlobalGet(self.meter.fuel), Instruction::I64Const(0), Instruction::I64GeS]);
        self.stop_if(Stop::Fuel);
    }

    /// Stops the module with a reason, if the last value is not 0.
    fn stop_if(&mut self, why: Stop) {
        self.stop_if_after(why, []);
    }

    /// Executes these instructions and stops the module with a reason, if the last value is not 0.
    fn stop_if_after(&mut self, why: Stop, first: impl IntoIterator<Item = Instruction<'a>>) {
        self.push([Instruction::If(BlockType::Empty)]);
        self.push(first);
        self.push([
            Instruction::I32Const(why as i32),
            Instruction::GlobalSet(self.meter.stop),
            Instruction::Unreachable,
            Instruction::End,
        ]);
    }

    /// Charges the cost for each unit of the last operand.
    fn units(&mut self, rate: u8, last: Option<u32>) {
        if let Some(units) = last {
            let cost = u64::from(units) * u64::from(rate);
            self.pending += cost;
            if cost > fuel::UNCHECKED {
                self.settle();
                self.check();
            }
            return;
        }
        self.settle();
        let (units, meter) = (self.local(ValType::I32, 0), self.meter.fuel);
        self.push([
            Instruction::LocalTee(units),
            Instruction::GlobalGet(meter),
            Instruction::LocalGet(units),
            Instruction::I64ExtendI32U,
            Instruction::I64Const(rate.into()),
            Instruction::I64Mul,
            Instruction::I64Add,
            Instruction::GlobalSet(meter),
        ]);
        self.check();
    }

    /// Writes `memory.grow`. It stops the module if all memories together would exceed their limit. Growth beyond the
    /// memory's own maximum fails and is not counted.
    fn grow_memory(&mut self, memory: u32, instruction: Instruction<'a>, shape: &Shape) {
        let most = shape.memories.get(memory as usize).copied().flatten().unwrap_or(MOST_PAGES);
        let (delta, before, pages) =
            (self.local(ValType::I32, 0), self.local(ValType::I32, 1), self.meter.pages);
        self.push([Instruction::LocalSet(delta)]);
        self.sum(Instruction::MemorySize(memory), delta);
        self.push([
            Instruction::I64Const(most.cast_signed()),
            Instruction::I64LeU,
            Instruction::LocalGet(delta),
            Instruction::I64ExtendI32U,
            Instruction::GlobalGet(pages),
            Instruction::I64GtS,
            Instruction::I32And,
        ]);
        // The host charges all fuel for this stop, so that the global `fuel` is free for the number of requested pages.
        let wanted = [
            Instruction::LocalGet(delta),
            Instruction::I64ExtendI32U,
            Instruction::GlobalSet(self.meter.fuel),
        ];
        self.stop_if_after(Stop::Memory, wanted);
        self.push([
            Instruction::LocalGet(delta),
            instruction,
            Instruction::LocalTee(before),
            Instruction::I32Const(-1),
            Instruction::I32Ne,
            Instruction::If(BlockType::Empty),
            Instruction::GlobalGet(pages),
            Instruction::LocalGet(delta),
            Instruction::I64ExtendI32U,
            Instruction::I64Sub,
            Instruction::GlobalSet(pages),
            Instruction::End,
            Instruction::LocalGet(before),
        ]);
    }

    /// Writes `table.grow`. It stops the module if the table would have more elements than the host permits. If the
    /// module's own maximum is smaller, growth beyond it only fails, as in the native limiter.
    fn grow_table(&mut self, table: u32, instruction: Instruction<'a>, shape: &Shape) {
        let most = shape.tables.get(table as usize).copied().flatten().unwrap_or(u64::from(u32::MAX));
        if most >= u64::from(fuel::TABLE_ELEMENTS) {
            let delta = self.local(ValType::I32, 0);
            self.push([Instruction::LocalSet(delta)]);
            self.sum(Instruction::TableSize(table), delta);
            self.push([Instruction::I64Const(fuel::TABLE_ELEMENTS.into()), Instruction::I64GtU]);
            let wanted = [
                Instruction::TableSize(table),
                Instruction::I64ExtendI32U,
                Instruction::LocalGet(delta),
                Instruction::I64ExtendI32U,
                Instruction::I64Add,
                Instruction::GlobalSet(self.meter.fuel),
            ];
            self.stop_if_after(Stop::Table, wanted);
            self.push([Instruction::LocalGet(delta)]);
        }
        self.push([instruction]);
    }

    /// Pushes the sum of a size and `delta`, as a 64-bit number.
    fn sum(&mut self, size: Instruction<'a>, delta: u32) {
        self.push([
            size,
            Instruction::I64ExtendI32U,
            Instruction::LocalGet(delta),
            Instruction::I64ExtendI32U,
            Instruction::I64Add,
        ]);
    }

    /// Replaces any other NaN with the canonical one.
    fn canonicalize(&mut self, kind: Arithmetic) {
        let lanes = |bits: u128| Instruction::V128Const(bits.cast_signed());
        let (nan32, nan64) = (u128::from(NAN32), u128::from(NAN64));
        let (of_type, nan, differs, choose) = match kind {
            Arithmetic::F32 => {
                let nan = Instruction::F32Const(Ieee32::new(NAN32));
                (ValType::F32, nan, Instruction::F32Ne, Instruction::Select)
            }
            Arithmetic::F64 => {
                let nan = Instruction::F64Const(Ieee64::new(NAN64));
                (ValType::F64, nan, Instruction::F64Ne, Instruction::Select)
            }
            Arithmetic::F32x4 => {
                let nan = lanes(nan32 | nan32 << 32 | nan32 << 64 | nan32 << 96);
                (ValType::V128, nan, Instruction::F32x4Ne, Instruction::V128Bitselect)
            }
            Arithmetic::F64x2 => {
                let nan = lanes(nan64 | nan64 << 64);
                (ValType::V128, nan, Instruction::F64x2Ne, Instruction::V128Bitselect)
            }
        };
        let result = self.local(of_type, 0);
        self.push([
            Instruction::LocalSet(result),
            nan,
            Instruction::LocalGet(result),
            Instruction::LocalGet(result),
            Instruction::LocalGet(result),
            differs,
            choose,
        ]);
    }
}
