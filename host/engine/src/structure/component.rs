//! Counts a component and everything nested in it.

use graph_core::wasm_name::check_component_name;
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    ElementItems, Encoding, Instance, Parser, Payload, TypeRef,
};

use super::body::{self, Module};
use super::metric::{ExceededCap, StructureError, StructureMetric, Tally};
use super::types;

/// A component that is being read.
#[derive(Default)]
struct OpenComponent {
    /// Number of core instances that each nameable component creates when it is instantiated.
    components: Vec<u64>,
    /// Number of core instances that this component creates itself.
    instances: u64,
}

enum Level {
    Component(OpenComponent),
    Module(Module),
}

/// Counts a whole binary.
pub(super) fn count(bytes: &[u8], tally: &mut Tally) -> Result<(), StructureError> {
    let mut levels: Vec<Level> = Vec::new();
    // The limit for an imported component: the largest component so far.
    let mut largest = 0;
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        match payload {
            Payload::Version { encoding, .. } => {
                tally.add(StructureMetric::Parts, 1)?;
                levels.push(match encoding {
                    Encoding::Module => Level::Module(Module::default()),
                    Encoding::Component => Level::Component(OpenComponent::default()),
                });
                let components = levels.iter().filter(|level| matches!(level, Level::Component(_)));
                tally.most(StructureMetric::Depth, components.count() as u64)?;
            }
            Payload::End(_) => {
                let closed = levels.pop();
                if let (Some(Level::Component(closed)), Some(Level::Component(parent))) =
                    (closed, levels.last_mut())
                {
                    largest = closed.instances.max(largest);
                    parent.components.push(closed.instances);
                }
            }
            payload => match levels.last_mut() {
                Some(Level::Module(module)) => in_module(payload, module, tally)?,
                Some(Level::Component(_)) => in_component(payload, bytes, &mut levels, largest, tally)?,
                None => {}
            },
        }
    }
    Ok(())
}

fn in_module(payload: Payload<'_>, module: &mut Module, tally: &mut Tally) -> Result<(), ExceededCap> {
    match payload {
        Payload::TypeSection(section) => {
            for group in section.into_iter().map_while(Result::ok) {
                types::group(&group, tally, |arity| module.types.push(arity))?;
            }
        }
        Payload::ImportSection(section) => {
            for import in section.into_imports().map_while(Result::ok) {
                tally.add(StructureMetric::Imports, 1)?;
                match import.ty {
                    TypeRef::Func(index) | TypeRef::FuncExact(index) => {
                        module.functions.push(index);
                        module.imported += 1;
                    }
                    TypeRef::Table(table) => {
                        tally.most(StructureMetric::TableElements, table.initial)?;
                    }
                    TypeRef::Memory(_) | TypeRef::Global(_) | TypeRef::Tag(_) => {}
                }
            }
        }
        Payload::FunctionSection(section) => {
            for index in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Functions, 1)?;
                module.functions.push(index);
            }
        }
        Payload::TableSection(section) => {
            for table in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Tables, 1)?;
                tally.most(StructureMetric::TableElements, table.ty.initial)?;
            }
        }
        Payload::MemorySection(section) => {
            tally.add(StructureMetric::Memories, u64::from(section.count()))?;
        }
        Payload::GlobalSection(section) => tally.add(StructureMetric::Globals, u64::from(section.count()))?,
        Payload::ExportSection(section) => tally.add(StructureMetric::Exports, u64::from(section.count()))?,
        Payload::DataSection(section) => tally.add(StructureMetric::Segments, u64::from(section.count()))?,
        Payload::ElementSection(section) => {
            for segment in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Segments, 1)?;
                let elements = match segment.items {
                    ElementItems::Functions(items) => items.count(),
                    ElementItems::Expressions(_, items) => items.count(),
                };
                tally.add(StructureMetric::SegmentElements, u64::from(elements))?;
            }
        }
        Payload::CodeSectionEntry(body) => {
            module.bodies += 1;
            body::count(&body, module, tally)?;
        }
        _ => {}
    }
    Ok(())
}

fn in_component(
    payload: Payload<'_>,
    bytes: &[u8],
    levels: &mut [Level],
    largest: u64,
    tally: &mut Tally,
) -> Result<(), StructureError> {
    match payload {
        Payload::CoreTypeSection(section) => {
            for core in section.into_iter().map_while(Result::ok) {
                types::core(&core, tally)?;
            }
        }
        Payload::ComponentTypeSection(section) => {
            let range = section.range();
            types::section(bytes.get(range.clone()).unwrap_or_default(), range.start, tally)?;
        }
        Payload::InstanceSection(section) => {
            for instance in section.into_iter().map_while(Result::ok) {
                match instance {
                    Instance::Instantiate { args, .. } => {
                        tally.add(StructureMetric::Exports, args.len() as u64)?;
                        makes(levels, 1, tally)?;
                    }
                    Instance::FromExports(exports) => {
                        tally.add(StructureMetric::Exports, exports.len() as u64)?;
                    }
                }
            }
        }
        Payload::ComponentInstanceSection(section) => {
            for instance in section.into_iter().map_while(Result::ok) {
                match instance {
                    ComponentInstance::Instantiate { component_index, args } => {
                        tally.add(StructureMetric::Exports, 1 + args.len() as u64)?;
                        let made = component(levels, 0, component_index).unwrap_or(largest);
                        makes(levels, made, tally)?;
                    }
                    ComponentInstance::FromExports(exports) => {
                        tally.add(StructureMetric::Exports, exports.len() as u64)?;
                    }
                }
            }
        }
        Payload::ComponentAliasSection(section) => {
            for alias in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Exports, 1)?;
                match alias {
                    ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                        let made = component(levels, count as usize, index).unwrap_or(largest);
                        names(levels, made);
                    }
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                        names(levels, largest);
                    }
                    _ => {}
                }
            }
        }
        Payload::ComponentImportSection(section) => {
            for import in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Imports, 1)?;
                check_component_name(import.name.name)?;
                if matches!(import.ty, ComponentTypeRef::Component(_)) {
                    names(levels, largest);
                }
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.into_iter().map_while(Result::ok) {
                tally.add(StructureMetric::Exports, 1)?;
                check_component_name(export.name.name)?;
                if export.kind == ComponentExternalKind::Component {
                    let made = component(levels, 0, export.index).unwrap_or(largest);
                    names(levels, made);
                }
            }
        }
        Payload::ComponentCanonicalSection(section) => {
            tally.add(StructureMetric::Canonicals, u64::from(section.count()))?;
        }
        _ => {}
    }
    Ok(())
}

/// Returns the number of core instances of a component that can be named here, or in an enclosing component.
fn component(levels: &[Level], outward: usize, index: u32) -> Option<u64> {
    let at = levels.len().checked_sub(outward.checked_add(1)?)?;
    match levels.get(at)? {
        Level::Component(open) => open.components.get(index as usize).copied(),
        Level::Module(_) => None,
    }
}

/// Adds a nameable component with `made` core instances to the component that is being read.
fn names(levels: &mut [Level], made: u64) {
    if let Some(Level::Component(open)) = levels.last_mut() {
        open.components.push(made);
    }
}

/// Adds core instances to the component that is being read. A component that exceeds the cap is refused even if nothing instantiates it.
fn makes(levels: &mut [Level], made: u64, tally: &mut Tally) -> Result<(), ExceededCap> {
    let Some(Level::Component(open)) = levels.last_mut() else { return Ok(()) };
    open.instances = open.instances.saturating_add(made);
    tally.most(StructureMetric::CoreInstances, open.instances)
}
