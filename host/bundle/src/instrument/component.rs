//! Components whose core modules count their own fuel.
//!
//! The meter becomes a core module of the component, and every other core module imports it from there. What sets and reads it is
//! exported: [`METER_EXPORTS`].

use wasm_encoder::reencode::{self, Reencode, ReencodeComponent};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CodeSection, Component, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentSectionId, ComponentTypeSection, ComponentValType, ConstExpr,
    ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType, InstanceSection,
    Instruction, Module, ModuleArg, ModuleSection, PrimitiveValType, RawSection, TypeSection, ValType,
};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use super::module::{InstrumentError, METER, features, instrument};

/// What an instrumented component exports besides its own: a function that sets `fuel` and `pages` and resets `stop`, one that
/// reads `fuel`, and one that reads `stop`.
pub const METER_EXPORTS: [&str; 3] =
    ["graph-host-meter-begin", "graph-host-meter-fuel", "graph-host-meter-stop"];

/// A component that counts its own fuel.
#[derive(Clone, Debug)]
pub struct InstrumentedComponent {
    /// The bytes of the instrumented component, with [`METER_EXPORTS`].
    pub component: Vec<u8>,
    /// Pages that its memories begin with: they count against what its memories may hold.
    pub pages: u64,
}

/// Instruments all core modules of a component. Components inside of it may have none of their own.
pub fn instrument_component(bytes: &[u8]) -> Result<InstrumentedComponent, InstrumentError> {
    let mut validator = Validator::new_with_features(features() | WasmFeatures::COMPONENT_MODEL);
    let types = validator.validate_all(bytes)?;
    let types = types.as_ref();
    let ends = Ends {
        core_functions: types.function_count(),
        types: types.component_type_count(),
        functions: types.component_function_count(),
    };
    if !matches!(
        Parser::new(0).parse_all(bytes).next(),
        Some(Ok(Payload::Version { encoding: wasmparser::Encoding::Component, .. }))
    ) {
        return Err(InstrumentError::Invalid("it is no component".to_owned()));
    }
    let mut component = Component::new();
    component.section(&ModuleSection(&meter()));
    let mut instances = InstanceSection::new();
    instances.instantiate(0, std::iter::empty::<(&str, ModuleArg)>());
    component.section(&instances);
    let mut rewriter = Rewriter { depth: 0, modules: Vec::new(), pages: 0 };
    rewriter.parse_component(&mut component, Parser::new(0), bytes).map_err(|error| match error {
        reencode::Error::UserError(error) => error,
        other => InstrumentError::Invalid(other.to_string()),
    })?;
    ends.export_meter(&mut component);
    Ok(InstrumentedComponent { component: component.finish(), pages: rewriter.pages })
}

/// How many items of each kind a component has.
struct Ends {
    core_functions: u32,
    types: u32,
    functions: u32,
}

impl Ends {
    /// Lifts the functions of the meter, behind everything that the component has.
    fn export_meter(&self, component: &mut Component) {
        let mut aliases = ComponentAliasSection::new();
        for name in METER_EXPORTS {
            aliases.alias(Alias::CoreInstanceExport { instance: 0, kind: ExportKind::Func, name });
        }
        component.section(&aliases);
        let number = |of_type| ComponentValType::Primitive(of_type);
        let mut types = ComponentTypeSection::new();
        let both = [("fuel", number(PrimitiveValType::S64)), ("pages", number(PrimitiveValType::S64))];
        types.function().params(both).result(None);
        let nothing = std::iter::empty::<(&str, ComponentValType)>;
        types.function().params(nothing()).result(Some(number(PrimitiveValType::S64)));
        types.function().params(nothing()).result(Some(number(PrimitiveValType::U32)));
        component.section(&types);
        let mut lifted = CanonicalFunctionSection::new();
        for place in 0..3 {
            lifted.lift(self.core_functions + place, self.types + place, []);
        }
        component.section(&lifted);
        let mut exports = ComponentExportSection::new();
        for (place, name) in (0..).zip(METER_EXPORTS) {
            exports.export(name, ComponentExportKind::Func, self.functions + place, None);
        }
        component.section(&exports);
    }
}

/// The module that has the globals. Until they are set, nothing is limited.
fn meter() -> Module {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I64, ValType::I64], []);
    types.ty().function([], [ValType::I64]);
    types.ty().function([], [ValType::I32]);
    let mut functions = FunctionSection::new();
    functions.function(0).function(1).function(2);
    let mut globals = GlobalSection::new();
    let of = |val_type| GlobalType { val_type, mutable: true, shared: false };
    globals.global(of(ValType::I64), &ConstExpr::i64_const(i64::MIN));
    globals.global(of(ValType::I64), &ConstExpr::i64_const(i64::MAX));
    globals.global(of(ValType::I32), &ConstExpr::i32_const(0));
    let mut exports = ExportSection::new();
    for (place, name) in (0..).zip(["fuel", "pages", "stop"]) {
        exports.export(name, ExportKind::Global, place);
    }
    for (place, name) in (0..).zip(METER_EXPORTS) {
        exports.export(name, ExportKind::Func, place);
    }
    let mut code = CodeSection::new();
    let bodies: [&[Instruction<'_>]; 3] = [
        &[
            Instruction::LocalGet(0),
            Instruction::GlobalSet(0),
            Instruction::LocalGet(1),
            Instruction::GlobalSet(1),
            Instruction::I32Const(0),
            Instruction::GlobalSet(2),
            Instruction::End,
        ],
        &[Instruction::GlobalGet(0), Instruction::End],
        &[Instruction::GlobalGet(2), Instruction::End],
    ];
    for body in bodies {
        let mut function = Function::new([]);
        for instruction in body {
            function.instruction(instruction);
        }
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&globals).section(&exports).section(&code);
    module
}

struct Rewriter {
    depth: u32,
    /// The pages that each core module begins with.
    modules: Vec<u64>,
    /// Those of all instances together.
    pages: u64,
}

impl Rewriter {
    /// The index of what is behind the meter's in the outermost component.
    const fn shifted(&self, levels: u32, index: u32) -> u32 {
        if self.depth == levels { index + 1 } else { index }
    }
}

impl Reencode for Rewriter {
    type Error = InstrumentError;
}

impl ReencodeComponent for Rewriter {
    fn module_index(&mut self, index: u32) -> u32 {
        self.shifted(0, index)
    }

    fn instance_index(&mut self, index: u32) -> u32 {
        self.shifted(0, index)
    }

    fn outer_module_index(&mut self, count: u32, index: u32) -> u32 {
        self.shifted(count, index)
    }

    fn push_depth(&mut self) {
        self.depth += 1;
    }

    fn pop_depth(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn parse_component_submodule(
        &mut self,
        component: &mut Component,
        _parser: Parser,
        module: &[u8],
    ) -> Result<(), reencode::Error<Self::Error>> {
        if self.depth > 0 {
            let message = "a component inside of it has a core module of its own".to_owned();
            return Err(reencode::Error::UserError(InstrumentError::Invalid(message)));
        }
        let instrumented = instrument(module).map_err(reencode::Error::UserError)?;
        self.modules.push(instrumented.pages);
        component
            .section(&RawSection { id: ComponentSectionId::CoreModule as u8, data: &instrumented.module });
        Ok(())
    }

    fn parse_instance(
        &mut self,
        instances: &mut InstanceSection,
        instance: wasmparser::Instance<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        let wasmparser::Instance::Instantiate { module_index, args } = instance else {
            return reencode::component_utils::parse_instance(self, instances, instance);
        };
        self.pages += self.modules.get(module_index as usize).copied().unwrap_or(0);
        let mut linked: Vec<_> =
            args.iter().map(|arg| (arg.name, ModuleArg::Instance(self.instance_index(arg.index)))).collect();
        linked.push((METER, ModuleArg::Instance(0)));
        instances.instantiate(self.module_index(module_index), linked);
        Ok(())
    }
}
