//! The figures that are counted, and their caps.

use std::fmt;

use graph_core::wasm_name::WasmNameError;

/// A figure that is counted in a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StructureMetric {
    /// Bytes of the whole.
    Bytes,
    /// The nesting depth of components.
    Depth,
    /// Core modules and components in the binary.
    Parts,
    /// Core instances, also those that nested components create each time they are instantiated.
    CoreInstances,
    /// Memories of all core modules.
    Memories,
    /// Tables of all core modules.
    Tables,
    /// Initial elements of one table.
    TableElements,
    /// Types, core and component, with their parts.
    Types,
    /// The nesting depth of types of components and instances.
    TypeDepth,
    /// Imports, core and component.
    Imports,
    /// Exports, aliases and arguments of instances.
    Exports,
    /// Functions of the canonical ABI.
    Canonicals,
    /// Globals of all core modules.
    Globals,
    /// Data and element segments.
    Segments,
    /// Elements of all element segments.
    SegmentElements,
    /// Functions of all core modules.
    Functions,
    /// Bytes of one function.
    FunctionBytes,
    /// Instructions of one function.
    FunctionInstructions,
    /// Places of one function where control begins, branches or joins.
    FunctionBlocks,
    /// Loops of one function.
    FunctionLoops,
    /// The nesting depth of blocks in one function.
    FunctionDepth,
    /// Locals of one function, its parameters included.
    FunctionLocals,
    /// Locals times blocks of one function: the places at which the compiler tracks each local.
    FunctionJoins,
    /// Values that the calls, blocks and branches of one function take and give.
    FunctionValues,
    /// Instructions of all functions.
    Instructions,
    /// Places of all functions where control begins, branches or joins.
    Blocks,
    /// Locals of all functions.
    Locals,
    /// Values that the calls, blocks and branches of all functions take and give.
    Values,
}

impl StructureMetric {
    /// All figures, in the order of the table in `docs/design/compilation.md`.
    pub const ALL: [Self; 28] = [
        Self::Bytes,
        Self::Depth,
        Self::Parts,
        Self::CoreInstances,
        Self::Memories,
        Self::Tables,
        Self::TableElements,
        Self::Types,
        Self::TypeDepth,
        Self::Imports,
        Self::Exports,
        Self::Canonicals,
        Self::Globals,
        Self::Segments,
        Self::SegmentElements,
        Self::Functions,
        Self::FunctionBytes,
        Self::FunctionInstructions,
        Self::FunctionBlocks,
        Self::FunctionLoops,
        Self::FunctionDepth,
        Self::FunctionLocals,
        Self::FunctionJoins,
        Self::FunctionValues,
        Self::Instructions,
        Self::Blocks,
        Self::Locals,
        Self::Values,
    ];

    /// Returns the largest accepted value.
    pub const fn cap(self) -> u64 {
        self.entry().1
    }

    /// Returns the name of the counted parts, in the plural.
    pub const fn what(self) -> &'static str {
        self.entry().0
    }

    const fn entry(self) -> (&'static str, u64) {
        match self {
            Self::Bytes => ("bytes", 64 << 20),
            Self::Depth => ("components inside of each other", 16),
            Self::Parts => ("core modules and components", 256),
            Self::CoreInstances => ("core instances", crate::config::MAX_CORE_INSTANCES as u64),
            Self::Memories => ("memories", crate::config::MAX_MEMORIES as u64),
            Self::Tables => ("tables", crate::config::MAX_TABLES as u64),
            Self::TableElements => ("elements in one table", crate::config::MAX_TABLE_ELEMENTS as u64),
            Self::Types => ("types and parts of types", 100_000),
            Self::TypeDepth => ("types inside of each other", 100),
            Self::Imports => ("imports", 20_000),
            Self::Exports => ("exports, aliases and arguments", 50_000),
            Self::Canonicals => ("canonical functions", 2_000),
            Self::Globals => ("globals", 10_000),
            Self::Segments => ("data and element segments", 50_000),
            Self::SegmentElements => ("elements of segments", 100_000),
            Self::Functions => ("functions", 30_000),
            Self::FunctionBytes => ("bytes in one function", 1 << 20),
            Self::FunctionInstructions => ("instructions in one function", 300_000),
            Self::FunctionBlocks => ("blocks and branches in one function", 20_000),
            Self::FunctionLoops => ("loops in one function", 2_000),
            Self::FunctionDepth => ("blocks inside of each other", 2_000),
            Self::FunctionLocals => ("locals in one function", 5_000),
            Self::FunctionJoins => ("locals times blocks in one function", 2_000_000),
            Self::FunctionValues => ("values of calls, blocks and branches in one function", 100_000),
            Self::Instructions => ("instructions", 10_000_000),
            Self::Blocks => ("blocks and branches", 1_500_000),
            Self::Locals => ("locals", 500_000),
            Self::Values => ("values of calls, blocks and branches", 2_000_000),
        }
    }
}

/// A component exceeds a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has {found} {}; at most {} are taken", .figure.what(), .figure.cap())]
pub struct ExceededCap {
    /// The figure.
    pub figure: StructureMetric,
    /// The count at which counting stopped.
    pub found: u64,
}

/// A component is not compiled because of its structure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// The component exceeds a cap.
    #[error(transparent)]
    Exceeded(#[from] ExceededCap),
    /// A name in it is invalid.
    #[error(transparent)]
    Name(#[from] WasmNameError),
}

/// The counts so far.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally([u64; StructureMetric::ALL.len()]);

impl Tally {
    /// Adds to a total, up to its cap.
    pub(crate) fn add(&mut self, figure: StructureMetric, more: u64) -> Result<(), ExceededCap> {
        let total = self.0[figure as usize].saturating_add(more);
        self.most(figure, total)
    }

    /// Records one part, up to the cap; the largest part counts.
    pub(crate) fn most(&mut self, figure: StructureMetric, found: u64) -> Result<(), ExceededCap> {
        let most = &mut self.0[figure as usize];
        *most = found.max(*most);
        if found > figure.cap() { Err(ExceededCap { figure, found }) } else { Ok(()) }
    }

    /// Returns the count of a figure.
    #[cfg(test)]
    pub(crate) fn of(&self, figure: StructureMetric) -> u64 {
        self.0[figure as usize]
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(StructureMetric::ALL.iter().map(|figure| (figure.what(), self.0[*figure as usize])))
            .finish()
    }
}
