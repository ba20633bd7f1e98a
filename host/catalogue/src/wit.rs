//! WIT of a component, printed from its types. The component is not executed.

use std::collections::BTreeSet;

use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{Handle, PackageId, Resolve, Type, TypeDefKind, TypeId, WorldItem};

/// Maximum estimated number of bytes that the types and functions of a component have in print. A type without a name
/// is printed at each place that uses it, so that nested types can grow exponentially; of a type with a name, only the
/// name is printed there.
const MOST_PRINTED: u64 = 2 << 20;
/// Estimated number of bytes for each type and each name, in addition to the bytes of names.
const PRINTED: u64 = 8;
/// Maximum nesting of types without a name.
const DEEPEST: usize = 100;

/// Reason why the WIT of a component is not shown.
#[derive(Debug, thiserror::Error)]
pub enum WitError {
    /// The types cannot be read.
    #[error("its types cannot be read: {0}")]
    Unreadable(String),
    /// The binary is a package of interfaces.
    #[error("it is a package of interfaces, and no component")]
    Package,
    /// The types are too large.
    #[error("its types are too large to be shown")]
    TooLarge,
}

/// Prints the WIT of a verified component: its world, and the packages of the interfaces that it exports.
pub fn world_of(component: &[u8]) -> Result<String, WitError> {
    let unreadable = |error: &dyn std::fmt::Display| WitError::Unreadable(error.to_string());
    let decoded = wit_component::decode(component).map_err(|error| unreadable(&error))?;
    let DecodedWasm::Component(resolve, world) = decoded else { return Err(WitError::Package) };
    let package = resolve.worlds[world].package.ok_or(WitError::Package)?;
    let exported: BTreeSet<PackageId> = resolve.worlds[world]
        .exports
        .values()
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].package,
            _ => None,
        })
        .filter(|id| *id != package)
        .collect();
    check_size(&resolve)?;
    let mut printer = WitPrinter::default();
    let exported: Vec<_> = exported.into_iter().collect();
    printer.print(&resolve, package, &exported).map_err(|error| unreadable(&error))?;
    Ok(printer.output.to_string())
}

/// Refuses types whose print would be many times as long as the component.
fn check_size(resolve: &Resolve) -> Result<(), WitError> {
    let mut sizes = Sizes { resolve, known: vec![None; resolve.types.len()] };
    let mut sum: u64 = 0;
    let mut add = |size: Option<u64>| {
        sum = sum.saturating_add(size.unwrap_or(u64::MAX));
        if sum > MOST_PRINTED { Err(WitError::TooLarge) } else { Ok(()) }
    };
    for (id, definition) in &resolve.types {
        // A type with a name is printed once; one without a name at each place that uses it.
        if let Some(name) = &definition.name {
            add(Some(of_name(name)))?;
            add(sizes.of_parts(id, 0))?;
        }
    }
    let of_interfaces = resolve.interfaces.iter().flat_map(|(_, interface)| interface.functions.values());
    let of_worlds = resolve.worlds.iter().flat_map(|(_, world)| {
        world.imports.values().chain(world.exports.values()).filter_map(|item| match item {
            WorldItem::Function(function) => Some(function),
            _ => None,
        })
    });
    for function in of_interfaces.chain(of_worlds) {
        add(Some(of_name(&function.name)))?;
        for param in &function.params {
            add(Some(of_name(&param.name)))?;
        }
        for ty in function.params.iter().map(|param| &param.ty).chain(&function.result) {
            add(sizes.of(ty, 0))?;
        }
    }
    Ok(())
}

/// Estimated number of bytes that each type has in print.
struct Sizes<'r> {
    resolve: &'r Resolve,
    known: Vec<Option<u64>>,
}

impl Sizes<'_> {
    fn of(&mut self, ty: &Type, depth: usize) -> Option<u64> {
        let Type::Id(id) = ty else { return Some(PRINTED) };
        if let Some(name) = &self.resolve.types[*id].name {
            return Some(of_name(name));
        }
        if let Some(size) = self.known[id.index()] {
            return Some(size);
        }
        if depth == DEEPEST {
            return None;
        }
        let size = self.of_parts(*id, depth + 1)?;
        self.known[id.index()] = Some(size);
        Some(size)
    }

    /// Returns the size of a definition with all its parts, or `None` if types without a name are nested too deep.
    fn of_parts(&mut self, id: TypeId, depth: usize) -> Option<u64> {
        let resolve = self.resolve;
        let parts: Vec<&Type> = match &resolve.types[id].kind {
            TypeDefKind::Record(record) => record.fields.iter().map(|field| &field.ty).collect(),
            TypeDefKind::Tuple(tuple) => tuple.types.iter().collect(),
            TypeDefKind::Variant(variant) => {
                variant.cases.iter().filter_map(|case| case.ty.as_ref()).collect()
            }
            TypeDefKind::Result(result) => result.ok.iter().chain(&result.err).collect(),
            TypeDefKind::Option(ty)
            | TypeDefKind::List(ty)
            | TypeDefKind::FixedLengthList(ty, _)
            | TypeDefKind::Type(ty) => vec![ty],
            TypeDefKind::Map(key, value) => vec![key, value],
            TypeDefKind::Future(ty) | TypeDefKind::Stream(ty) => ty.iter().collect(),
            TypeDefKind::Handle(Handle::Own(_) | Handle::Borrow(_))
            | TypeDefKind::Resource
            | TypeDefKind::Flags(_)
            | TypeDefKind::Enum(_)
            | TypeDefKind::Unknown => Vec::new(),
        };
        let names = match &resolve.types[id].kind {
            TypeDefKind::Record(record) => record.fields.iter().map(|field| of_name(&field.name)).sum(),
            TypeDefKind::Variant(variant) => variant.cases.iter().map(|case| of_name(&case.name)).sum(),
            TypeDefKind::Flags(flags) => flags.flags.iter().map(|flag| of_name(&flag.name)).sum(),
            TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| of_name(&case.name)).sum(),
            _ => 0_u64,
        };
        let own = PRINTED.saturating_add(names);
        parts.into_iter().try_fold(own, |sum, ty| Some(sum.saturating_add(self.of(ty, depth)?)))
    }
}

fn of_name(name: &str) -> u64 {
    PRINTED.saturating_add(name.len() as u64)
}
