//! From an item's id to the files that it stands for.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::trust::{TrustStore, VerifiedComponent, VerifyError};

use crate::context::now;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::home::Home;
use crate::output::printable;
use crate::project::{self, MARK};

/// The largest component that is read, in bytes.
pub const LARGEST_COMPONENT: u64 = 256 << 20;

/// The folders in which items are looked for, the first one first.
#[derive(Clone, Debug)]
pub struct Places {
    folders: Vec<PathBuf>,
}

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A component, whether it is signed or not.
    Component {
        /// The component.
        path: PathBuf,
        /// The envelope beside it, if there is one.
        envelope: Option<PathBuf>,
    },
    /// A graph.
    Graph {
        /// The document.
        path: PathBuf,
    },
}

/// Why an id stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The text is no item id.
    #[error(
        "`{0}` is not an item id: letters, digits, `_` and `-` in segments joined by `/`, a version after `@`"
    )]
    Malformed(String),
    /// There is no such item.
    #[error("there is no item `{id}`: neither {file}.wasm nor {file}.yaml is in {}", places.join(", "))]
    Missing {
        /// The id.
        id: String,
        /// The id without its version.
        file: String,
        /// Where it was looked for.
        places: Vec<String>,
    },
}

impl Places {
    /// The folders of `--items`, then those of the project, then those of the user's space.
    pub fn new(items: &[PathBuf], project: Option<&Path>, home: &Home) -> Self {
        let tools = |root: &Path| root.join(MARK).join("tools");
        let mut folders = items.to_vec();
        folders.extend(project.map(tools));
        folders.push(tools(home.root()));
        Self { folders }
    }

    /// Finds an item by its id, `a/b` or `a/b@1.2.0`.
    pub fn find(&self, item: &str) -> Result<Found, FindError> {
        let (id, version) = item.split_once('@').map_or((item, None), |(id, version)| (id, Some(version)));
        if !is_id(id) || version.is_some_and(str::is_empty) {
            return Err(FindError::Malformed(printable(item).into_owned()));
        }
        for folder in &self.folders {
            let path = folder.join(format!("{id}.wasm"));
            if path.is_file() {
                let envelope = envelope_path(&path);
                return Ok(Found::Component { envelope: envelope.is_file().then_some(envelope), path });
            }
            for extension in ["yaml", "yml"] {
                let path = folder.join(format!("{id}.{extension}"));
                if path.is_file() {
                    return Ok(Found::Graph { path });
                }
            }
        }
        Err(FindError::Missing {
            id: item.to_owned(),
            file: id.to_owned(),
            places: self.folders.iter().map(|folder| project::shown(folder)).collect(),
        })
    }
}

/// The envelope that belongs to a component's file: `x.wasm` has `x.wasm.dsse.json`.
pub fn envelope_path(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(".dsse.json");
    PathBuf::from(name)
}

/// The item id of a file: its path below the nearest `.ai/tools`, or else its name, both without the extension.
pub fn id_of_file(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let below = absolute.ancestors().skip(1).find_map(|folder| {
        let is_tools = folder.ends_with(Path::new(MARK).join("tools"));
        is_tools.then(|| absolute.strip_prefix(folder).ok()).flatten()
    });
    let named = below.unwrap_or_else(|| Path::new(absolute.file_name().unwrap_or(absolute.as_os_str())));
    let parts: Vec<_> =
        named.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join("/")
}

/// The id of a graph's file: that of the item below `.ai/tools`, or else the file's name without the extension. A file
/// called `graph` says nothing by that, so it has the name of its folder.
pub fn id_of_graph(path: &Path) -> String {
    let id = id_of_file(path);
    if id != "graph" {
        return id;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = absolute.parent().filter(|folder| !folder.ends_with(Path::new(MARK).join("tools")));
    folder.and_then(Path::file_name).map_or(id, |name| name.to_string_lossy().into_owned())
}

/// Segments of letters, digits, `_` and `-`, joined by `/`: nothing that a path could mean otherwise.
fn is_id(id: &str) -> bool {
    let segment = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    id.len() <= 255 && id.split('/').all(segment)
}

/// Reads a component, as far as its size allows.
pub fn read_component(path: &Path) -> Result<Arc<[u8]>> {
    let failed = |error: &std::io::Error| Error::read("the component", path, error);
    let metadata = fs::metadata(path).map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(Error::usage(format!("{} is a folder, a component is a file", project::shown(path))));
    }
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(LARGEST_COMPONENT)).unwrap_or(0));
    file.take(LARGEST_COMPONENT + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LARGEST_COMPONENT {
        let limit = LARGEST_COMPONENT >> 20;
        return Err(Error::integrity(format!("{} is larger than {limit} MiB", project::shown(path))));
    }
    Ok(bytes.into())
}

/// Reads a component and lets it in: signed by a trusted key, or, where the user allows it, not signed at all.
pub fn verify(
    item: &str,
    path: &Path,
    envelope: Option<&Path>,
    trust: &TrustStore,
    allow_unsigned: bool,
) -> Result<VerifiedComponent> {
    let bytes = read_component(path)?;
    let envelope = match envelope {
        Some(path) => Some(crate::text_file::read_as("the envelope", path)?),
        None => None,
    };
    let verified = VerifiedComponent::verify(Arc::clone(&bytes), envelope.as_deref(), trust, item, now());
    match verified {
        Err(VerifyError::Unsigned { .. }) if allow_unsigned => {
            VerifiedComponent::under_development(bytes, item).map_err(|error| refused(&error))
        }
        other => other.map_err(|error| refused(&error)),
    }
}

/// A component that is not let in, at the edge.
pub fn refused(error: &VerifyError) -> Error {
    Error::new(Exit::Integrity, "integrity", error.to_string()).help(error.help())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_has_the_id_by_which_it_is_found() {
        assert_eq!(id_of_file(Path::new("/p/.ai/tools/acme/flow.yaml")), "acme/flow");
        assert_eq!(id_of_file(Path::new("/p/.ai/tools/flow.wasm")), "flow");
        assert_eq!(id_of_file(Path::new("/p/examples/approval.yaml")), "approval");
        assert_eq!(id_of_file(Path::new("relative/graph.yaml")), "graph");
    }

    #[test]
    fn a_graph_called_graph_has_the_name_of_its_folder() {
        assert_eq!(id_of_graph(Path::new("/p/examples/project-stats/graph.yaml")), "project-stats");
        assert_eq!(id_of_graph(Path::new("/p/examples/project-stats/other.yaml")), "other");
        assert_eq!(id_of_graph(Path::new("/p/.ai/tools/graph.yaml")), "graph");
        assert_eq!(id_of_graph(Path::new("/p/.ai/tools/acme/graph.yaml")), "acme/graph");
        assert_eq!(id_of_graph(Path::new("/graph.yaml")), "graph");
    }

    #[test]
    fn items_resolve_in_order_and_never_leave_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["one/a", "project/.ai/tools/a", "project/.ai/tools/b", "home/.ai/tools/c"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("one/a/x.wasm"), "").unwrap();
        fs::write(at("one/a/x.wasm.dsse.json"), "").unwrap();
        fs::write(at("project/.ai/tools/a/x.wasm"), "").unwrap();
        fs::write(at("project/.ai/tools/b/y.yaml"), "").unwrap();
        fs::write(at("home/.ai/tools/c/z.wasm"), "").unwrap();
        fs::write(at("secret.wasm"), "").unwrap();
        let places = Places::new(&[at("one")], Some(&at("project")), &Home::at(at("home")));

        let envelope = Some(at("one/a/x.wasm.dsse.json"));
        assert_eq!(
            places.find("a/x@1.0.0").unwrap(),
            Found::Component { path: at("one/a/x.wasm"), envelope }
        );
        assert_eq!(places.find("b/y").unwrap(), Found::Graph { path: at("project/.ai/tools/b/y.yaml") });
        let unsigned = Found::Component { path: at("home/.ai/tools/c/z.wasm"), envelope: None };
        assert_eq!(places.find("c/z").unwrap(), unsigned);
        for bad in ["../secret", "/etc/passwd", "a//x", "a/x@", "", "a/x\u{0}", "a/\u{202e}x", "."] {
            assert!(matches!(places.find(bad), Err(FindError::Malformed(_))), "{bad:?}");
        }
        let message = places.find("a/missing").unwrap_err().to_string();
        assert!(message.contains("a/missing") && message.contains("one"), "{message}");
    }
}
