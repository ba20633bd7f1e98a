//! The figures of types.

use graph_core::wasm_name::{WasmNameError, check_component_name};
use wasmparser::{
    BinaryReader, ComponentAlias, ComponentDefinedType, ComponentExternName, ComponentImport, ComponentType,
    ComponentTypeRef, CompositeInnerType, CoreType, ModuleTypeDeclaration, RecGroup,
};

use super::body::Arity;
use super::metric::{ExceededCap, StructureError, StructureMetric, Tally};

/// The tag of a type with declarations: a component or an instance.
const COMPONENT: u8 = 0x41;
const INSTANCE: u8 = 0x42;

/// The reason why reading ended before the section.
enum ReadError {
    Refused(StructureError),
    /// The section is invalid: the compiler will report why.
    Invalid,
}

impl From<ExceededCap> for ReadError {
    fn from(exceeded: ExceededCap) -> Self {
        Self::Refused(exceeded.into())
    }
}

impl From<WasmNameError> for ReadError {
    fn from(error: WasmNameError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<wasmparser::BinaryReaderError> for ReadError {
    fn from(_: wasmparser::BinaryReaderError) -> Self {
        Self::Invalid
    }
}

/// Counts a section of component types. wasmparser's own reader recurses for each nested type without a limit; this function limits the
/// nesting.
pub(super) fn section(bytes: &[u8], offset: usize, tally: &mut Tally) -> Result<(), StructureError> {
    let mut reader = BinaryReader::new(bytes, offset);
    let mut all = || -> Result<(), ReadError> {
        for _ in 0..reader.read_var_u32()? {
            component_type(&mut reader, 1, tally)?;
        }
        Ok(())
    };
    match all() {
        Err(ReadError::Refused(error)) => Err(error),
        Ok(()) | Err(ReadError::Invalid) => Ok(()),
    }
}

fn component_type(reader: &mut BinaryReader<'_>, depth: u64, tally: &mut Tally) -> Result<(), ReadError> {
    tally.most(StructureMetric::TypeDepth, depth)?;
    let first = reader.clone().read_u8()?;
    if first != COMPONENT && first != INSTANCE {
        tally.add(StructureMetric::Types, 1 + parts(&reader.read()?))?;
        return Ok(());
    }
    reader.read_u8()?;
    tally.add(StructureMetric::Types, 1)?;
    for _ in 0..reader.read_var_u32()? {
        tally.add(StructureMetric::Types, 1)?;
        match reader.read_u8()? {
            0x00 => core(&reader.read()?, tally)?,
            0x01 => component_type(reader, depth + 1, tally)?,
            0x02 => {
                reader.read::<ComponentAlias<'_>>()?;
            }
            0x03 => {
                check_component_name(reader.read::<ComponentImport<'_>>()?.name.name)?;
            }
            0x04 => {
                check_component_name(reader.read::<ComponentExternName<'_>>()?.name)?;
                reader.read::<ComponentTypeRef>()?;
            }
            _ => return Err(ReadError::Invalid),
        }
    }
    Ok(())
}

/// Returns the number of parts of a type without nested types: it refers to others by index.
fn parts(component: &ComponentType<'_>) -> u64 {
    let parts = match component {
        ComponentType::Defined(defined) => match defined {
            ComponentDefinedType::Record(fields) => fields.len(),
            ComponentDefinedType::Variant(cases) => cases.len(),
            ComponentDefinedType::Tuple(types) => types.len(),
            ComponentDefinedType::Flags(names) | ComponentDefinedType::Enum(names) => names.len(),
            _ => 1,
        },
        ComponentType::Func(function) => function.params.len() + 1,
        ComponentType::Component(declarations) => declarations.len(),
        ComponentType::Instance(declarations) => declarations.len(),
        ComponentType::Resource { .. } => 1,
    };
    parts as u64
}

/// Counts a core type of a component.
pub(super) fn core(core: &CoreType<'_>, tally: &mut Tally) -> Result<(), ExceededCap> {
    match core {
        CoreType::Rec(types) => group(types, tally, |_| ()),
        CoreType::Module(declarations) => {
            tally.add(StructureMetric::Types, declarations.len() as u64)?;
            for declaration in declarations {
                if let ModuleTypeDeclaration::Type(types) = declaration {
                    group(types, tally, |_| ())?;
                }
            }
            Ok(())
        }
    }
}

/// Counts core types, and passes the numbers of parameters and results of each to `each`.
pub(super) fn group(
    types: &RecGroup,
    tally: &mut Tally,
    mut each: impl FnMut(Arity),
) -> Result<(), ExceededCap> {
    for ty in types.types() {
        let (parts, arity) = match &ty.composite_type.inner {
            CompositeInnerType::Func(function) => {
                let count = |values: &[wasmparser::ValType]| u32::try_from(values.len()).unwrap_or(u32::MAX);
                let arity = Arity { params: count(function.params()), results: count(function.results()) };
                (arity.both(), arity)
            }
            CompositeInnerType::Struct(fields) => (fields.fields.len() as u64, Arity::default()),
            CompositeInnerType::Array(_) | CompositeInnerType::Cont(_) => (1, Arity::default()),
        };
        tally.add(StructureMetric::Types, 1 + parts)?;
        each(arity);
    }
    Ok(())
}
