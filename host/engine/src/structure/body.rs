//! The figures of one function.

use wasmparser::{BlockType, FunctionBody, Operator};

use super::metric::{ExceededCap, StructureMetric, Tally};

/// Number of branches that a loop is compiled to, in addition to its own.
const CHECKS_OF_LOOP: u64 = 3;
/// Number of branches that a call through a table is compiled to: its bounds, an unset element, its type.
const CHECKS_OF_INDIRECT_CALL: u64 = 3;

/// Number of branches that an instruction on a table or on a range of memory is compiled to.
const CHECKS_OF_BULK: u64 = 2;

/// Number of values that a function takes and returns.
#[derive(Clone, Copy, Default)]
pub(super) struct Arity {
    pub(super) params: u32,
    pub(super) results: u32,
}

impl Arity {
    pub(super) fn both(self) -> u64 {
        u64::from(self.params) + u64::from(self.results)
    }
}

/// The definitions to which the functions of a core module refer.
#[derive(Default)]
pub(super) struct Module {
    /// Function types; zero for other types.
    pub(super) types: Vec<Arity>,
    /// The type of each function, imported ones first.
    pub(super) functions: Vec<u32>,
    /// Number of imported functions.
    pub(super) imported: usize,
    /// Number of bodies that were read.
    pub(super) bodies: usize,
}

impl Module {
    fn of_type(&self, index: u32) -> Arity {
        self.types.get(index as usize).copied().unwrap_or_default()
    }

    fn of_function(&self, index: u32) -> Arity {
        self.functions.get(index as usize).map_or_else(Arity::default, |index| self.of_type(*index))
    }

    fn of_block(&self, block: BlockType) -> Arity {
        match block {
            BlockType::Empty => Arity::default(),
            BlockType::Type(_) => Arity { params: 0, results: 1 },
            BlockType::FuncType(index) => self.of_type(index),
        }
    }
}

/// The counts in one function.
struct Counts {
    instructions: u64,
    blocks: u64,
    loops: u64,
    values: u64,
    locals: u64,
    /// Number of values that a branch to each enclosing block takes.
    enclosing: Vec<u32>,
}

impl Counts {
    fn branch(&mut self, depth: u32) {
        self.blocks += 1;
        let target = self.enclosing.len().checked_sub(depth as usize + 1);
        let arity = target.and_then(|at| self.enclosing.get(at)).copied().unwrap_or(0);
        self.values = self.values.saturating_add(u64::from(arity));
    }

    /// Counts checks that the compiler emits for one instruction: control also branches there.
    fn checks(&mut self, number: u64) {
        self.blocks += number;
    }

    fn enter(&mut self, arity: Arity, label: u32) {
        self.blocks += 1;
        self.values = self.values.saturating_add(arity.both());
        self.enclosing.push(label);
    }
}

/// Counts one function. Counting ends at unreadable code, which the compiler will report.
pub(super) fn count(body: &FunctionBody<'_>, module: &Module, tally: &mut Tally) -> Result<(), ExceededCap> {
    tally.most(StructureMetric::FunctionBytes, body.range().len() as u64)?;
    let own = u32::try_from(module.imported + module.bodies - 1)
        .map_or_else(|_| Arity::default(), |index| module.of_function(index));
    let mut locals = u64::from(own.params);
    if let Ok(reader) = body.get_locals_reader() {
        for group in reader.into_iter().map_while(Result::ok) {
            locals += u64::from(group.0);
        }
    }
    tally.most(StructureMetric::FunctionLocals, locals)?;
    tally.add(StructureMetric::Locals, locals)?;
    let mut counts = Counts {
        instructions: 0,
        blocks: 1,
        loops: 0,
        values: own.both(),
        locals,
        enclosing: vec![own.results],
    };
    let Ok(mut reader) = body.get_operators_reader() else { return Ok(()) };
    while !reader.eof() {
        let Ok(operator) = reader.read() else { break };
        counts.instructions += 1;
        operate(&operator, module, &mut counts);
        tally.most(StructureMetric::FunctionDepth, counts.enclosing.len() as u64)?;
        tally.most(StructureMetric::FunctionBlocks, counts.blocks)?;
        tally.most(StructureMetric::FunctionValues, counts.values)?;
    }
    tally.most(StructureMetric::FunctionInstructions, counts.instructions)?;
    tally.most(StructureMetric::FunctionLoops, counts.loops)?;
    tally.most(StructureMetric::FunctionJoins, counts.locals.saturating_mul(counts.blocks))?;
    tally.add(StructureMetric::Instructions, counts.instructions)?;
    tally.add(StructureMetric::Blocks, counts.blocks)?;
    tally.add(StructureMetric::Values, counts.values)
}

fn operate(operator: &Operator<'_>, module: &Module, counts: &mut Counts) {
    match operator {
        Operator::Block { blockty } | Operator::If { blockty } => {
            let arity = module.of_block(*blockty);
            counts.enter(arity, arity.results);
        }
        Operator::Loop { blockty } => {
            let arity = module.of_block(*blockty);
            // A branch to a loop leads to its beginning, where fuel and deadline are checked.
            counts.loops += 1;
            counts.checks(CHECKS_OF_LOOP);
            counts.enter(arity, arity.params);
        }
        Operator::Else => counts.blocks += 1,
        Operator::End => {
            counts.enclosing.pop();
        }
        Operator::Br { relative_depth }
        | Operator::BrIf { relative_depth }
        | Operator::BrOnNull { relative_depth }
        | Operator::BrOnNonNull { relative_depth } => counts.branch(*relative_depth),
        Operator::BrTable { targets } => {
            counts.branch(targets.default());
            for target in targets.targets().map_while(Result::ok) {
                counts.branch(target);
            }
        }
        Operator::Return => {
            let outermost = counts.enclosing.len().saturating_sub(1);
            counts.branch(u32::try_from(outermost).unwrap_or(u32::MAX));
        }
        Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
            counts.values = counts.values.saturating_add(module.of_function(*function_index).both());
        }
        Operator::CallIndirect { type_index, .. } | Operator::ReturnCallIndirect { type_index, .. } => {
            counts.checks(CHECKS_OF_INDIRECT_CALL);
            counts.values = counts.values.saturating_add(module.of_type(*type_index).both());
        }
        Operator::TableGet { .. }
        | Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. }
        | Operator::MemoryGrow { .. }
        | Operator::MemoryFill { .. }
        | Operator::MemoryCopy { .. }
        | Operator::MemoryInit { .. } => counts.checks(CHECKS_OF_BULK),
        _ => {}
    }
}
