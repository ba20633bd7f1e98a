//! Names in WebAssembly binaries. Hosts write them into code, messages and file names, so each has to be safe there.

use std::fmt;

use crate::diagnostic::excerpt;

/// A refused name of a binary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} `{name}` {reason}")]
pub struct WasmNameError {
    /// The place of the name.
    pub place: WasmNamePlace,
    /// The name, escaped and shortened.
    pub name: String,
    /// The reason of the refusal.
    pub reason: &'static str,
}

/// The place of a name in a binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasmNamePlace {
    /// An import or export of a component or an instance, or a part of a type.
    Component,
    /// A module from which a core module imports.
    CoreModule,
    /// An import of a core module.
    CoreImport,
    /// An export of a core module.
    CoreExport,
}

impl fmt::Display for WasmNamePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Component => "the name",
            Self::CoreModule => "the module name",
            Self::CoreImport => "the import",
            Self::CoreExport => "the export",
        })
    }
}

/// Checks a name at the level of components. Labels, ids of interfaces with versions, and the names of functions of resources consist of
/// these characters. URLs and names of dependencies, which the component model also has, are refused: the host fetches nothing.
pub fn check_component_name(name: &str) -> Result<(), WasmNameError> {
    let is_of_names = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | ':' | '/' | '@' | '.' | '+' | '[' | ']' | ' ' | '=' | '<' | '>')
    };
    let is_foreign = ["url=", "relative-url=", "integrity=", "locked-dep=", "unlocked-dep="];
    let reason = if !name.chars().all(is_of_names) {
        "has a character that names of components do not have"
    } else if is_foreign.iter().any(|start| name.starts_with(start)) {
        "names something to fetch, which this host does not do"
    } else {
        return Ok(());
    };
    Err(WasmNameError { place: WasmNamePlace::Component, name: excerpt(name), reason })
}

/// Checks a name of a core module that is about to be translated to JavaScript. WebAssembly permits any text there, toolchains write
/// printable ASCII, and the generator writes names into literals as they are.
pub fn check_core_name(place: WasmNamePlace, name: &str) -> Result<(), WasmNameError> {
    // Sequences that end a literal, a comment or a script, or begin a placeholder of a template.
    const ENDS: [&str; 5] = ["</", "<!--", "-->", "*/", "${"];
    // The generator omits `*`, and `__proto__` sets the prototype of an object.
    const MEANINGS: [&str; 2] = ["*", "__proto__"];
    let is_plain = |c: char| (c == ' ' || c.is_ascii_graphic()) && !matches!(c, '\'' | '"' | '`' | '\\');
    let reason = if !name.chars().all(is_plain) {
        "has a character that generated code cannot hold"
    } else if ENDS.iter().any(|end| name.contains(end)) {
        "has a sequence that means something in generated code"
    } else if MEANINGS.contains(&name) {
        "means something else in JavaScript"
    } else {
        return Ok(());
    };
    Err(WasmNameError { place, name: excerpt(name), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_toolchains_are_taken() {
        for name in [
            "",
            "0",
            "env",
            "$imports",
            "cabi_realloc",
            "cm32p2||run",
            "cm32p2|wasi:io/streams@0.2|[method]input-stream.read",
            "graph-host:node/action@0.1.0#run",
            "[async-lower][static]x.y",
            "<wit-component:adapter:wasi_snapshot_preview1>",
            "GOT.mem",
            "_ZN4core3fmt9Formatter3padE",
            "libpython3.12.so",
            "runtime.gc",
            "__wasm_call_ctors",
            "a b",
        ] {
            assert_eq!(check_core_name(WasmNamePlace::CoreImport, name), Ok(()), "{name:?}");
        }
        for name in [
            "",
            "run",
            "HTTP-get",
            "wasi:io/streams@0.2.0",
            "a:b/c@1.0.0-rc.1+build.5",
            "[constructor]x",
            "[method]a.b",
            "[async method]a.b",
            "[implements=<a:b/c@1.0.0>]d",
            "[resource-drop]x",
        ] {
            assert_eq!(check_component_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn names_that_are_code_are_refused() {
        let code = [
            "a\': (globalThis.x = 1, {}), \'b",
            "a\"b",
            "a`b",
            "a\\",
            "a\nb",
            "a\rb",
            "a\u{2028}b",
            "a\u{2029}b",
            "a\0b",
            "a\u{7f}",
            "é",
            "a\u{202e}b",
            "a\u{e0041}b",
            "a${b}",
            "</script",
            "<!--",
            "-->",
            "*/x",
            "*",
            "__proto__",
            "\t",
        ];
        for name in code {
            assert!(check_core_name(WasmNamePlace::CoreExport, name).is_err(), "{name:?}");
        }
        for name in code.into_iter().filter(|name| !["</script", "-->"].contains(name)) {
            assert!(check_component_name(name).is_err(), "{name:?}");
        }
        for name in
            ["url=<https://x>", "locked-dep=<a:b@1.0.0>", "unlocked-dep=<a:b>", "integrity=<sha256-x>"]
        {
            assert!(check_component_name(name).is_err(), "{name:?}");
        }
        let error = check_core_name(WasmNamePlace::CoreModule, "a\u{1b}[2J\u{ad}\'")
            .map_err(|error| error.to_string());
        let expected =
            "the module name `a\\u{1b}[2J\\u{ad}\'` has a character that generated code cannot hold";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
