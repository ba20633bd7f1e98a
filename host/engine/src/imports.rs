//! The imports of a component, read from its bytes before it is compiled.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, ComponentType, ComponentTypeRef,
    Encoding, InstanceTypeDeclaration, Parser, Payload, TypeBounds,
};

use crate::interface::Import;

/// Returns the imports in the bytes of a component, in order. The component may be invalid: unreadable parts are skipped, and the compiler
/// reports them. Types are read recursively, so the bytes must have been counted before.
pub(crate) fn of_bytes(bytes: &[u8]) -> Vec<Import> {
    let mut reader = Reader::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => break,
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            payload if depth == 1 => reader.section(payload),
            _ => {}
        }
    }
    reader.imports
}

#[derive(Default)]
struct Reader {
    imports: Vec<Import>,
    /// For each type of the component: `true` for an instance type that needs no grant.
    types: Vec<bool>,
}

impl Reader {
    fn section(&mut self, payload: Payload<'_>) {
        match payload {
            Payload::ComponentTypeSection(section) => {
                self.types.extend(section.into_iter().map_while(Result::ok).map(|ty| is_plain(&ty)));
            }
            Payload::ComponentAliasSection(section) => {
                let is_type = |alias: &ComponentAlias<'_>| {
                    matches!(
                        alias,
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Type, .. }
                            | ComponentAlias::Outer { kind: ComponentOuterAliasKind::Type, .. }
                    )
                };
                let aliases = section.into_iter().map_while(Result::ok).filter(is_type).count();
                self.types.extend(std::iter::repeat_n(false, aliases));
            }
            Payload::ComponentImportSection(section) => {
                for import in section.into_iter().map_while(Result::ok) {
                    let type_only = match import.ty {
                        ComponentTypeRef::Instance(index) => {
                            self.types.get(index as usize).copied().unwrap_or(false)
                        }
                        ComponentTypeRef::Type(_) => {
                            self.types.push(false);
                            true
                        }
                        _ => false,
                    };
                    self.imports.push(Import { name: import.name.name.to_owned(), type_only });
                }
            }
            Payload::ComponentExportSection(section) => {
                let is_type = section
                    .into_iter()
                    .map_while(Result::ok)
                    .filter(|export| export.kind == ComponentExternalKind::Type);
                self.types.extend(is_type.map(|_| false));
            }
            _ => {}
        }
    }
}

/// Checks whether a type is that of an instance which exports only plain types.
fn is_plain(ty: &ComponentType<'_>) -> bool {
    let ComponentType::Instance(declarations) = ty else { return false };
    declarations.iter().all(|declaration| match declaration {
        InstanceTypeDeclaration::Export { ty, .. } => {
            matches!(ty, ComponentTypeRef::Type(TypeBounds::Eq(_)))
        }
        _ => true,
    })
}
