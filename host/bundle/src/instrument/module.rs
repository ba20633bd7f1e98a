//! Rewriting of the sections of a core module.

use std::collections::VecDeque;
use std::rc::Rc;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{CodeSection, EntityType, GlobalType, ImportSection, Module, SectionId, ValType};
use wasmparser::{
    FuncToValidate, FuncValidatorAllocations, FunctionBody, ImportSectionReader, MemoryType, Parser, Payload,
    TableType, TypeRef, ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

use super::adapter::Tasks;
use super::function::{self, Meter};

/// Name of the module from which an instrumented one imports its meter.
pub const METER: &str = "graph-host:meter";
/// Number of the meter's globals.
const GLOBALS: u32 = 3;

/// Reason for stopping, which an instrumented module writes to the global `stop` before it executes `unreachable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The fuel is used up.
    Fuel = 1,
    /// The memories would exceed their limit. The global `fuel` has the number of pages that were requested.
    Memory = 2,
    /// A table would exceed its limit. The global `fuel` has the number of elements that it would have.
    Table = 3,
}

/// Reason why a module cannot be instrumented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstrumentError {
    /// The module is not WebAssembly, or uses a proposal that the engine does not support.
    #[error("it is no WebAssembly module that can be run: {0}")]
    Invalid(String),
    /// The module imports from [`METER`], as only an instrumented one may.
    #[error("it imports `{METER}`, which only an instrumented module does")]
    Metered,
}

impl From<wasmparser::Error> for InstrumentError {
    fn from(error: wasmparser::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// An instrumented module, which counts its own fuel.
#[derive(Clone, Debug)]
pub struct InstrumentedModule {
    /// Bytes of the module. Except for the counting and the meter that it imports from [`METER`], it does the same as
    /// the original.
    pub module: Vec<u8>,
    /// Number of pages that its own memories start with. They count towards the limit of its memories.
    pub pages: u64,
}

/// Data of a module that its functions depend on: the maximum of each memory, in pages, and of each table, in elements.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) memories: Vec<Option<u64>>,
    pub(super) tables: Vec<Option<u64>>,
    imported_globals: u32,
    has_imports: bool,
    pages: u64,
    /// Instructions for tasks, if the module is an adapter.
    pub(super) tasks: Option<Tasks>,
}

/// Returns the proposals that the engine supports, without those about components.
pub(super) fn features() -> WasmFeatures {
    (WasmFeatures::WASM2 - WasmFeatures::GC_TYPES)
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
}

/// Instruments a core module.
pub fn instrument(bytes: &[u8]) -> Result<InstrumentedModule, InstrumentError> {
    rewritten(bytes, Shape::default())
}

/// Instruments a core module that was generated to link components.
pub(super) fn instrument_adapter(bytes: &[u8]) -> Result<InstrumentedModule, InstrumentError> {
    rewritten(bytes, Shape { tasks: Some(Tasks::default()), ..Shape::default() })
}

fn rewritten(bytes: &[u8], mut shape: Shape) -> Result<InstrumentedModule, InstrumentError> {
    let mut functions = VecDeque::new();
    let mut validator = Validator::new_with_features(features());
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        shape.take(&payload)?;
        match validator.payload(&payload)? {
            ValidPayload::Func(function, _) => functions.push_back(function),
            ValidPayload::Ok | ValidPayload::End(_) => {}
            ValidPayload::Parser(_) => return Err(InstrumentError::Invalid("it is a component".to_owned())),
        }
    }
    let pages = shape.pages;
    let mut rewriter = Rewriter {
        meter: Meter {
            fuel: shape.imported_globals,
            pages: shape.imported_globals + 1,
            stop: shape.imported_globals + 2,
        },
        shape: Rc::new(shape),
        functions,
        written: 0,
        allocations: Some(FuncValidatorAllocations::default()),
        has_meter: false,
    };
    let mut module = Module::new();
    rewriter.parse_core_module(&mut module, Parser::new(0), bytes).map_err(|error| match error {
        reencode::Error::UserError(error) => error,
        other => InstrumentError::Invalid(other.to_string()),
    })?;
    Ok(InstrumentedModule { module: module.finish(), pages })
}

impl Shape {
    fn take(&mut self, payload: &Payload<'_>) -> Result<(), InstrumentError> {
        match payload {
            Payload::ImportSection(section) => {
                self.has_imports = true;
                for import in section.clone().into_imports() {
                    let import = import?;
                    if import.module == METER {
                        return Err(InstrumentError::Metered);
                    }
                    if let Some(tasks) = &mut self.tasks {
                        tasks.import(import.module, import.name, import.ty);
                    }
                    match import.ty {
                        TypeRef::Global(_) => self.imported_globals += 1,
                        TypeRef::Memory(memory) => self.memory(&memory),
                        TypeRef::Table(table) => self.table(&table),
                        _ => {}
                    }
                }
            }
            Payload::MemorySection(section) => {
                for memory in section.clone() {
                    let memory = memory?;
                    self.memory(&memory);
                    self.pages += memory.initial;
                }
            }
            Payload::TableSection(section) => {
                for table in section.clone() {
                    self.table(&table?.ty);
                }
            }
            Payload::CodeSectionEntry(body) => {
                if let Some(tasks) = &mut self.tasks {
                    tasks.body(body)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn memory(&mut self, memory: &MemoryType) {
        self.memories.push(memory.maximum);
    }

    fn table(&mut self, table: &TableType) {
        self.tables.push(table.maximum);
    }
}

struct Rewriter {
    shape: Rc<Shape>,
    meter: Meter,
    /// Functions that were not rewritten yet.
    functions: VecDeque<FuncToValidate<ValidatorResources>>,
    /// Number of rewritten functions.
    written: u32,
    allocations: Option<FuncValidatorAllocations>,
    has_meter: bool,
}

impl Rewriter {
    /// Imports the meter, after all other imports.
    fn import_meter(&mut self, imports: &mut ImportSection) {
        let global = |val_type| EntityType::Global(GlobalType { val_type, mutable: true, shared: false });
        imports.import(METER, "fuel", global(ValType::I64));
        imports.import(METER, "pages", global(ValType::I64));
        imports.import(METER, "stop", global(ValType::I32));
        self.has_meter = true;
    }
}

impl Reencode for Rewriter {
    type Error = InstrumentError;

    fn global_index(&mut self, global: u32) -> Result<u32, reencode::Error<Self::Error>> {
        Ok(if global < self.shape.imported_globals { global } else { global + GLOBALS })
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        reencode::utils::parse_import_section(self, imports, section)?;
        self.import_meter(imports);
        Ok(())
    }

    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        // The import section directly follows the type section.
        let comes_earlier = matches!(before, Some(SectionId::Custom | SectionId::Type));
        if !self.shape.has_imports && !self.has_meter && !comes_earlier {
            let mut imports = ImportSection::new();
            self.import_meter(&mut imports);
            module.section(&imports);
        }
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        let Some(function) = self.functions.pop_front() else {
            return Err(reencode::Error::UserError(InstrumentError::Invalid(
                "a function has no type".to_owned(),
            )));
        };
        let mut validator = function.into_validator(self.allocations.take().unwrap_or_default());
        let (shape, meter) = (Rc::clone(&self.shape), self.meter);
        let place = self.written;
        self.written += 1;
        let written = function::rewrite(self, &body, &mut validator, &shape, (meter, place));
        self.allocations = Some(validator.into_allocations());
        code.function(&written?);
        Ok(())
    }
}
