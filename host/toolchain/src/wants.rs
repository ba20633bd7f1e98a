//! The interfaces that a node wants, before it is built: from the command line, and from its sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use graph_core::capability::{CapabilityKind, InterfaceName, Provision};
use graph_core::diagnostic::{nearest, printable};
use graph_runtime::error::{Error, Result};
use graph_runtime::project::BaseFolder;

/// Size of the largest source that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// Returns the interface that a word names: by its name, or by the kind of its capability. The error says why a node cannot want it.
pub fn interface(word: &str) -> Result<String, String> {
    let kind = CapabilityKind::parse(word);
    if let Some(interface) = kind.and_then(own_interface) {
        return Ok(interface.to_owned());
    }
    match offered(word)? {
        Provision::Kinds { own: Some(_), .. } => Ok(word.to_owned()),
        _ => Err(format!("`{}` is always available: a node need not want it", printable(word))),
    }
}

/// Returns the capabilities of an interface that this host offers, or the reason why it offers none.
pub fn offered(word: &str) -> Result<Provision, String> {
    match InterfaceName::parse(word).map(|name| name.provision()) {
        Ok(provision @ (Provision::Kinds { .. } | Provision::Types)) => Ok(provision),
        Ok(Provision::OtherVersion { major, minor }) => {
            Err(format!("`{}` is offered in version {major}.{minor} only", printable(word)))
        }
        Ok(Provision::Unknown) | Err(_) => Err(unknown(word)),
    }
}

/// Returns the kind of capability that a key has to be allowed for an interface; `None` if the interface is always available.
pub fn kind(interface: &str) -> Option<CapabilityKind> {
    match offered(interface) {
        Ok(Provision::Kinds { own: Some(own), .. }) if own != CapabilityKind::Log => Some(own),
        _ => None,
    }
}

/// Returns the interface that a node names for a kind. For HTTP this is the handler: the types of requests send none.
fn own_interface(kind: CapabilityKind) -> Option<&'static str> {
    if kind == CapabilityKind::Http {
        return Some("wasi:http/outgoing-handler");
    }
    kind.interfaces().find(|path| {
        let provision = InterfaceName::parse(path).map(|name| name.provision());
        matches!(provision, Ok(Provision::Kinds { own: Some(own), .. }) if own == kind)
    })
}

fn unknown(word: &str) -> String {
    let interfaces = CapabilityKind::ALL.into_iter().filter_map(own_interface);
    let names: Vec<_> =
        CapabilityKind::ALL.into_iter().map(CapabilityKind::as_str).chain(interfaces).collect();
    let hint = nearest(word, names.iter().copied())
        .map_or_else(|| format!("known are: {}", names.join(", ")), |name| format!("did you mean `{name}`?"));
    format!("this host does not offer `{}`; {hint}", printable(word))
}

/// Rejects a crate whose sources want an interface that this host does not offer. Names that are not literals in the sources are
/// checked when the component describes itself. A node may also name an interface that comes with another one, to say why it uses it.
pub fn check_crate(folder: &Path, base: &BaseFolder) -> Result<()> {
    let mut wrong = BTreeMap::new();
    for path in sources(&folder.join("src"), "rs") {
        let Some(text) = text_of(&path) else { continue };
        for name in wanted(&text) {
            if let Err(reason) = offered(&name) {
                wrong.entry(name).or_insert_with(|| format!("{}: `wants`: {reason}", base.show(&path)));
            }
        }
    }
    let lines: Vec<String> = wrong.into_values().collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(lines.join("\n")).help("nothing was compiled; name what the node uses in `wants`"))
}

/// Checks whether a source below a folder contains the name of an interface. `extension` is the one of the language.
pub fn is_named(folder: &Path, extension: &str, interface: &str) -> bool {
    sources(folder, extension).iter().filter_map(|path| text_of(path)).any(|text| text.contains(interface))
}

/// The text of a source, unless it is too large.
fn text_of(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|file| file.len() <= LARGEST);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The sources of a language below a folder. Links are not followed.
fn sources(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == extension) => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The names in `wants: ["NAME": "why", …]` of a `node!`, as far as they are written as plain strings.
fn wanted(source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    let list = code
        .split_once("node!")
        .and_then(|(_, node)| node.split_once("wants:"))
        .and_then(|(_, list)| list.trim_start().strip_prefix('['));
    let Some(mut rest) = list else { return names };
    while let Some(text) = rest.trim_start().strip_prefix('"') {
        let Some((name, after)) = text.split_once('"') else { break };
        let Some(why) = after.trim_start().strip_prefix(':') else { break };
        names.push(name.to_owned());
        let Some(why) = why.trim_start().strip_prefix('"') else { break };
        let mut escaped = false;
        let end = why.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { break };
        rest = why[end + 1..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_a_node_wants_is_read_from_its_sources() {
        let source = "// node! { wants: [\"not/this\": \"\"] }\ngraph_sdk::node! {\n  summary: \"x\",\n  wants: [\n    \
                      \"wasi:http/types\": \"asks \\\"it\\\"\", \"wasi:filesystem/types\":\"reads\",\n  ],\n  run\n}\n";
        assert_eq!(wanted(source), ["wasi:http/types", "wasi:filesystem/types"]);
        assert!(wanted("graph_sdk::node! { summary: \"x\", run }").is_empty());
        assert!(wanted("node! { wants: [NAME: \"x\"], run }").is_empty());
    }

    #[test]
    fn an_interface_is_found_in_the_sources_of_its_language() {
        let folder = tempfile::tempdir().unwrap();
        let named = |extension: &str| is_named(folder.path(), extension, "graph-host:host/model");
        fs::create_dir_all(folder.path().join("deep/er")).unwrap();
        fs::write(folder.path().join("deep/er/node.py"), "wants={'graph-host:host/knowledge': 'x'}").unwrap();
        fs::write(folder.path().join("notes.md"), "graph-host:host/model").unwrap();
        assert!(!named("py"));
        fs::write(folder.path().join("deep/er/node.py"), "wants={'graph-host:host/model': 'x'}").unwrap();
        assert!(named("py") && !named("rs"));
    }

    #[test]
    fn kinds_and_interfaces_are_wanted_and_nothing_else() {
        assert_eq!(interface("filesystem").as_deref(), Ok("wasi:filesystem/types"));
        assert_eq!(interface("wasi:http/types@0.2.6").as_deref(), Ok("wasi:http/types@0.2.6"));
        for (word, hint) in [
            ("filesytem", "did you mean `filesystem`?"),
            ("wasi:filesystem/type", "did you mean `wasi:filesystem/types`?"),
            ("wasi:http/types@0.3.0", "version 0.2 only"),
            ("wasi:io/poll", "is always available"),
            ("camera", "known are: log, clocks"),
        ] {
            assert_eq!(offered(word).is_ok(), word == "wasi:io/poll", "{word}");
            assert!(
                interface(word).is_err_and(|reason| reason.contains(hint)),
                "{word}: {:?}",
                interface(word)
            );
        }
    }
}
