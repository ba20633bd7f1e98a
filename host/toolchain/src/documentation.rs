//! Documentation in the WIT of a crate, which compilers leave out of components.

use std::path::Path;

use wit_component::DecodedWasm;
use wit_parser::{PackageMetadata, WorldItem};

/// Folder of a crate for its WIT.
pub const FOLDER: &str = "wit";
/// Interface of a node action, which has its own documentation.
const ACTION: &str = "graph-host:node/action";
/// Content of a section without documentation.
const NOTHING: &[u8] = b"\x01{}";

/// Adds the documentation of the WIT in a folder to a component, as the section `package-docs`. `None` if the component exports no
/// functions besides a node action, or if the folder has no documentation that can be read.
pub fn documented(component: &[u8], folder: &Path) -> Option<Vec<u8>> {
    if !folder.is_dir() || !exports_functions(component) {
        return None;
    }
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(folder).ok()?;
    let docs = PackageMetadata::extract(&resolve, package).encode().ok()?;
    if docs == NOTHING {
        return None;
    }
    let name = PackageMetadata::SECTION_NAME.as_bytes();
    let mut content = Vec::with_capacity(docs.len() + name.len() + 5);
    write_length(name.len(), &mut content);
    content.extend(name);
    content.extend(docs);
    let mut documented = component.to_vec();
    // A custom section has the number 0.
    documented.push(0);
    write_length(content.len(), &mut documented);
    documented.extend(content);
    Some(documented)
}

fn exports_functions(component: &[u8]) -> bool {
    let Ok(DecodedWasm::Component(resolve, world)) = wit_component::decode(component) else { return false };
    resolve.worlds[world].exports.values().any(|item| match item {
        WorldItem::Function(_) => true,
        WorldItem::Interface { id, .. } => {
            resolve.id_of(*id).is_none_or(|id| id.split('@').next() != Some(ACTION))
        }
        WorldItem::Type { .. } => false,
    })
}

/// Writes a length in unsigned LEB128.
fn write_length(mut length: usize, to: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        to.push(if length == 0 { low } else { low | 0x80 });
        if length == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A component that exports `f`, and one that exports an empty node action.
    fn component(is_action: bool) -> Vec<u8> {
        let export = if is_action {
            r#"(instance $x (export "f" (func $f))) (export "graph-host:node/action@0.1.0" (instance $x))"#
        } else {
            r#"(export "f" (func $f))"#
        };
        let text = format!(
            r#"(component
              (core module $m (func (export "f") (result i32) (i32.const 1)))
              (core instance $i (instantiate $m))
              (func $f (result u32) (canon lift (core func $i "f")))
              {export})"#
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn documentation_of_exported_functions_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| std::fs::write(folder.path().join("world.wit"), text).unwrap();
        let bare = component(false);
        assert_eq!(documented(&bare, &folder.path().join("missing")), None);
        write("package a:b; world w { export f: func() -> u32; }");
        assert_eq!(documented(&bare, folder.path()), None);
        write("package a:b; world w {");
        assert_eq!(documented(&bare, folder.path()), None);
        let long = "x".repeat(200);
        write(&format!("package a:b;\nworld w {{\n/// Gives one. {long}\nexport f: func() -> u32;\n}}"));
        assert_eq!(documented(&component(true), folder.path()), None);
        let with = documented(&bare, folder.path()).unwrap();
        let json =
            format!(r#"{{"worlds":{{"w":{{"func_exports":{{"f":{{"docs":"Gives one. {long}"}}}}}}}}}}"#);
        let content = [b"\x0cpackage-docs\x01", json.as_bytes()].concat();
        let low = u8::try_from(content.len() & 0x7f).unwrap() | 0x80;
        let high = u8::try_from(content.len() >> 7).unwrap();
        assert_eq!(with, [&*bare, &[0, low, high], &content].concat());
    }
}
