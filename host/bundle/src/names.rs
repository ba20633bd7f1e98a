//! Check of names that are written to generated JavaScript.

use graph_core::wasm_name::{WasmNameError, WasmNamePlace, check_component_name, check_core_name};
use wasmparser::{ComponentAlias, ComponentInstance, Instance, Parser, Payload};

/// Checks all names of imports and exports of a component, and of everything nested in it. The generator quotes these
/// names without escaping them. Labels of types are not checked here: validation permits only letters, digits and
/// hyphens.
pub(crate) fn check(component: &[u8]) -> Result<(), WasmNameError> {
    // The generator refuses a component that cannot be read.
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(section) => {
                for import in section.into_imports().map_while(Result::ok) {
                    check_core_name(WasmNamePlace::CoreModule, import.module)?;
                    check_core_name(WasmNamePlace::CoreImport, import.name)?;
                }
            }
            Payload::ExportSection(section) => {
                for export in section.into_iter().map_while(Result::ok) {
                    check_core_name(WasmNamePlace::CoreExport, export.name)?;
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section.into_iter().map_while(Result::ok) {
                    core_instance(&instance)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.into_iter().map_while(Result::ok) {
                    check_component_name(import.name.name)?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.into_iter().map_while(Result::ok) {
                    check_component_name(export.name.name)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.into_iter().map_while(Result::ok) {
                    component_instance(&instance)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.into_iter().map_while(Result::ok) {
                    match alias {
                        ComponentAlias::InstanceExport { name, .. } => check_component_name(name)?,
                        ComponentAlias::CoreInstanceExport { name, .. } => {
                            check_core_name(WasmNamePlace::CoreExport, name)?;
                        }
                        ComponentAlias::Outer { .. } => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn core_instance(instance: &Instance<'_>) -> Result<(), WasmNameError> {
    match instance {
        Instance::Instantiate { args, .. } => {
            args.iter().try_for_each(|arg| check_core_name(WasmNamePlace::CoreModule, arg.name))
        }
        Instance::FromExports(exports) => {
            exports.iter().try_for_each(|export| check_core_name(WasmNamePlace::CoreExport, export.name))
        }
    }
}

fn component_instance(instance: &ComponentInstance<'_>) -> Result<(), WasmNameError> {
    match instance {
        ComponentInstance::Instantiate { args, .. } => {
            args.iter().try_for_each(|arg| check_component_name(arg.name))
        }
        ComponentInstance::FromExports(exports) => {
            exports.iter().try_for_each(|export| check_component_name(export.name.name))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::format_push_string, reason = "tests read better so")]

    use std::path::{Path, PathBuf};

    use graph_core::wasm_name::WasmNamePlace;

    use super::*;
    use crate::{TranspileError, instrument_cores, transpile};

    /// Names that are code, or a part of it, in JavaScript, HTML or a template.
    const HOSTILE: [&str; 16] = [
        "a': (globalThis.x = 1, {}), 'b",
        "'",
        "\\22",
        "\\\\",
        "`",
        "${x}",
        "\\n",
        "\\r",
        "\\u{2028}",
        "\\u{2029}",
        "\\00",
        "\\u{202e}",
        "é",
        "</script>",
        "__proto__",
        "*",
    ];

    /// Returns the refusal of a component, and asserts that the translation agrees with the check.
    fn refusal(text: &str) -> Option<WasmNameError> {
        let component = wat::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let refused = check(&component).err();
        match transpile("component", &component, &[], []) {
            Err(TranspileError::Name(error)) => assert_eq!(Some(&error), refused.as_ref(), "{text}"),
            Err(error) => assert!(refused.is_none(), "{text}: {error}"),
            Ok(_) => assert!(refused.is_none(), "{text}"),
        }
        refused
    }

    #[test]
    fn a_core_name_that_is_code_is_refused_wherever_it_is() {
        for name in HOSTILE {
            for (place, text) in [
                (WasmNamePlace::CoreModule, format!(
                    "(component (core module $l (func (export \"f\"))) (core instance $l (instantiate $l))
                     (core module $m (import \"{name}\" \"f\" (func))) (core instance (instantiate $m (with \"{name}\" (instance $l)))))"
                )),
                (WasmNamePlace::CoreExport, format!(
                    "(component (core module $l (func (export \"{name}\"))) (core instance $l (instantiate $l))
                     (core module $m (import \"m\" \"{name}\" (func))) (core instance (instantiate $m (with \"m\" (instance $l)))))"
                )),
                (WasmNamePlace::CoreImport, format!(
                    "(component (core module $m (import \"m\" \"{name}\" (func))))"
                )),
                (WasmNamePlace::CoreExport, format!(
                    "(component (core module $l (func (export \"f\"))) (core instance $l (instantiate $l))
                     (alias core export $l \"f\" (core func $f)) (core instance $i (export \"{name}\" (func $f))))"
                )),
                (WasmNamePlace::CoreExport, format!(
                    "(component (component (core module (memory (export \"{name}\") 1))))"
                )),
                (WasmNamePlace::CoreImport, format!(
                    "(component (component (component (core module (import \"m\" \"{name}\" (func))))))"
                )),
                (WasmNamePlace::CoreModule, format!(
                    "(component (component (component (core module $l) (core instance $l (instantiate $l))
                     (core module $m) (core instance (instantiate $m (with \"{name}\" (instance $l)))))))"
                )),
                (WasmNamePlace::CoreExport, format!(
                    "(component (component (core module $l (func (export \"f\"))) (core instance $l (instantiate $l))
                     (component (core module (func (export \"{name}\"))))))"
                )),
                (WasmNamePlace::CoreExport, format!(
                    "(component (core module $l (func (export \"{name}\"))) (core instance $l (instantiate $l))
                     (func (export \"run\") (canon lift (core func $l \"{name}\"))))"
                )),
            ] {
                let refused = refusal(&text).unwrap_or_else(|| panic!("{name:?} is taken: {text}"));
                assert_eq!(refused.place, place, "{text}");
                assert!(refused.name.is_ascii() || refused.name == "é", "{refused}");
            }
        }
    }

    #[test]
    fn a_name_of_a_component_that_is_code_is_refused_wherever_it_is() {
        for name in HOSTILE.into_iter().filter(|name| *name != "</script>") {
            for text in [
                format!("(component (import \"{name}\" (func)))"),
                format!("(component (import \"f\" (func $f)) (export \"{name}\" (func $f)))"),
                format!("(component (component (import \"{name}\" (func))))"),
                format!(
                    "(component (component $c (import \"{name}\" (func))) (import \"f\" (func $f)) (instance (instantiate $c (with \"{name}\" (func $f)))))"
                ),
                format!("(component (import \"f\" (func $f)) (instance (export \"{name}\" (func $f))))"),
            ] {
                assert_eq!(
                    refusal(&text).unwrap_or_else(|| panic!("{name:?} is taken: {text}")).place,
                    WasmNamePlace::Component
                );
            }
        }
        // Validation refuses such labels of types.
        for name in ["a'b", "a b", "\\u{202e}", "`"] {
            for part in [
                format!("(record (field \"{name}\" u8))"),
                format!("(variant (case \"{name}\"))"),
                format!("(enum \"{name}\")"),
                format!("(flags \"{name}\")"),
            ] {
                let text = format!("(component (type $t {part}) (import \"t\" (type (eq $t))))");
                let Ok(component) = wat::parse_str(&text) else { continue };
                assert!(instrument_cores(&component, []).is_err(), "{text}");
                assert!(transpile("component", &component, &[], []).is_err(), "{text}");
            }
        }
    }

    fn components(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                components(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "wasm") {
                found.push(path);
            }
        }
    }

    #[test]
    fn components_of_toolchains_have_such_names() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut found = Vec::new();
        for folder in ["examples", "tests/formats"] {
            components(&root.join(folder), &mut found);
        }
        assert!(found.len() > 15, "{found:?}");
        for path in found {
            assert_eq!(check(&std::fs::read(&path).unwrap()), Ok(()), "{}", path.display());
        }
    }
}
