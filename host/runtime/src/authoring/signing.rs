//! Reads the files that `sign` and `verify` are given, and writes signatures.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use graph_core::capability::{CapabilityKind, Ceiling, InterfaceName, Provision};
use graph_core::id::ItemId;
use graph_core::limits::TaskLimits;
use graph_core::node::WantedInterface;
use graph_core::trust::{
    CommentMark, ComponentStatement, EnvelopeClaims, MAX_ENVELOPE, Predicate, SigningKey, TextKind,
    VerifiedComponent, make_statement, sign_component,
};
use graph_store::held::{FilePlace, WriteOptions};

use crate::authoring::signing_error::SigningError;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::items::locate::{read_component, type_of_file};
use crate::plan::describe::ComponentDescription;
use crate::project::BaseFolder;
use crate::project::user_home::write_atomic;

/// The largest text item that is read, in bytes.
const LARGEST_TEXT: u64 = 16 << 20;

/// A file that can be signed.
#[derive(Clone, Debug)]
pub enum Target {
    /// A component: its envelope is a file next to it.
    Component {
        /// The component's bytes, whose digest is signed.
        bytes: Arc<[u8]>,
    },
    /// A text: its signature is a line in it.
    Text {
        /// The text, with a signature line or without one.
        text: String,
        /// Comment syntax of its format.
        mark: CommentMark,
    },
}

impl Target {
    /// Reads a file: `.wasm` is a component, formats that have comments are texts.
    pub fn read(path: &Path, base: &BaseFolder) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if path.is_dir() {
            return Err(SigningError::Folder(path.to_owned()).into());
        }
        if extension.eq_ignore_ascii_case("wasm") {
            return Ok(Self::Component { bytes: read_component(path, base)? });
        }
        match CommentMark::for_extension(extension) {
            Some(mark) => {
                let bytes = read_bytes("the file", path, LARGEST_TEXT)?;
                let text = String::from_utf8(bytes).map_err(|_| SigningError::NotText(path.to_owned()))?;
                Ok(Self::Text { text, mark })
            }
            None if path.exists() => Err(SigningError::NoSignatureLine(path.to_owned()).into()),
            None => Err(SigningError::NoFile(path.to_owned()).into()),
        }
    }

    /// The envelope at a path, if there is one.
    pub fn read_envelope(path: &Path) -> Result<Option<String>> {
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_bytes("the envelope", path, MAX_ENVELOPE as u64)?;
        let text = String::from_utf8(bytes).map_err(|_| SigningError::EnvelopeNotText(path.to_owned()))?;
        Ok(Some(text))
    }

    /// Returns the item id of a file: its path below `.ai/tools`, `.ai/knowledge` or `.ai/directives`.
    pub fn id_of_path(path: &Path) -> Option<String> {
        let path = std::path::absolute(path).ok()?;
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_str()).collect::<Option<_>>()?;
        let kinds = ["tools", "knowledge", "directives"];
        let root = parts.windows(2).rposition(|pair| pair[0] == ".ai" && kinds.contains(&pair[1]))?;
        let below = parts.get(root + 2..)?.join("/");
        let (id, _) = below.rsplit_once('.')?;
        ItemId::parse(id).ok().map(|id| id.to_string())
    }

    /// Returns the id that was given, or else the one of the path.
    pub fn id(given: Option<&str>, path: &Path) -> Result<ItemId> {
        let id = match given {
            Some(id) => id.to_owned(),
            None => Self::id_of_path(path).ok_or_else(|| SigningError::NoItemId(path.to_owned()))?,
        };
        Ok(ItemId::parse(&id).map_err(|source| SigningError::ItemId { id, source })?)
    }
}

/// Detects the kind of item in a text file, for a user who named none.
pub fn kind_of_text(path: &Path, text: &str) -> TextKind {
    type_of_file(path, || Some(text.to_owned())).into()
}

/// Claims of a signer about a component, in addition to its own description.
#[derive(Clone, Debug)]
pub struct Claims<'c> {
    /// Item id of the component.
    pub id: &'c str,
    /// Version of the component.
    pub version: &'c str,
    /// Most that the component may be granted; by default, the kinds that its imports need.
    pub ceiling: Option<Ceiling>,
    /// Resources that a task of the component needs.
    pub limits: Option<TaskLimits>,
}

/// Description and imports of a component.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its node action and its functions.
    pub description: ComponentDescription,
    /// The interfaces that it imports, without those that only define types.
    pub interfaces: Vec<String>,
    /// The capabilities that these interfaces need.
    pub kinds: Vec<CapabilityKind>,
}

/// Compiles a component, and reads its description and its imports.
pub async fn describe(component: &VerifiedComponent, host: &Host) -> Result<Described> {
    let engine = crate::plan::engine::engine(host)?;
    let loaded = engine.load(component).map_err(SigningError::Load)?;
    let interfaces: Vec<String> = loaded
        .imports()
        .iter()
        .filter(|import| !import.type_only)
        .map(|import| import.name.clone())
        .collect();
    let provisions = interfaces
        .iter()
        .map(|interface| offered(component.id(), interface))
        .collect::<Result<Vec<_>, _>>()?;
    let description = ComponentDescription::from_component(&engine, component).await?;
    let wanted: Vec<_> = description.description.interfaces.iter().filter_map(wanted_kind).collect();
    let has_files = interfaces.iter().any(|name| name.starts_with("wasi:filesystem/"));
    let mut kinds = Vec::new();
    for provision in provisions {
        let Provision::Kinds { own: Some(kind), brought_by } = provision else { continue };
        // The filesystem interfaces import the types of clocks; that is not a request for clocks.
        let comes_along = has_files
            && kind != CapabilityKind::Filesystem
            && brought_by.contains(&CapabilityKind::Filesystem)
            && !wanted.contains(&kind);
        if !comes_along {
            kinds.push(kind);
        }
    }
    Ok(Described { description, interfaces, kinds })
}

/// Returns the kind of capability that a component asks for: by the name of the kind, or by one of its interfaces.
pub fn wanted_kind(wanted: &WantedInterface) -> Option<CapabilityKind> {
    match InterfaceName::parse(&wanted.name).map(|name| name.provision()) {
        Ok(Provision::Kinds { own, .. }) => own,
        _ => CapabilityKind::parse(&wanted.name),
    }
}

/// Returns the provision of an imported interface; an error if this host does not offer the interface.
fn offered(id: &str, interface: &str) -> Result<Provision, SigningError> {
    let name = InterfaceName::parse(interface)
        .map_err(|source| SigningError::Import { id: id.to_owned(), source })?;
    match name.provision() {
        Provision::Unknown | Provision::OtherVersion { .. } => {
            Err(SigningError::NotOffered { id: id.to_owned(), interface: interface.to_owned() })
        }
        provision => Ok(provision),
    }
}

/// Signs a statement about a component, and writes the envelope.
pub fn sign_component_file(
    envelope: &Path,
    component: &VerifiedComponent,
    described: Described,
    claims: Claims<'_>,
    key: &SigningKey,
) -> Result<ComponentStatement> {
    let (statement, text) = component_envelope(component, described, claims, key)?;
    write_envelope(envelope, &text)?;
    Ok(statement)
}

/// Signs a statement about a component; returns it with the text of its envelope.
pub fn component_envelope(
    component: &VerifiedComponent,
    described: Described,
    claims: Claims<'_>,
    key: &SigningKey,
) -> Result<(ComponentStatement, String)> {
    let predicate = Predicate {
        id: claims.id.to_owned(),
        version: claims.version.to_owned(),
        world: described.description.world.to_owned(),
        interfaces: described.interfaces,
        functions: described.description.functions,
        description: described.description.description,
        ceiling: claims.ceiling.unwrap_or_else(|| Ceiling::from_kinds(described.kinds)),
        limits: claims.limits,
    };
    let id = || claims.id.to_owned();
    let statement = make_statement(component.bytes(), predicate)
        .map_err(|source| SigningError::Statement { id: id(), source })?;
    let text = sign_component(&statement, key).map_err(|source| SigningError::Sign { id: id(), source })?;
    Ok((statement, text))
}

/// Adds a signature to a component's envelope, over the statement in it. If `item` is given, the statement has to be about that item.
pub fn countersign(
    envelope: &Path,
    bytes: &[u8],
    item: Option<&str>,
    key: &SigningKey,
) -> Result<ComponentStatement> {
    let text =
        Target::read_envelope(envelope)?.ok_or_else(|| SigningError::NoEnvelope(envelope.to_owned()))?;
    let failed = |source| SigningError::Claims { envelope: envelope.to_owned(), source };
    let claims = EnvelopeClaims::read(&text).map_err(failed)?;
    let stated = &claims.statement.predicate;
    let stated_as = [stated.id.clone(), format!("{}@{}", stated.id, stated.version)];
    if let Some(item) = item.filter(|item| !stated_as.iter().any(|stated| stated == item)) {
        let [_, stated] = stated_as;
        return Err(SigningError::OtherItem { stated, item: item.to_owned() }.into());
    }
    let signed = claims.countersign(bytes, key).map_err(failed)?;
    write_envelope(envelope, &signed)?;
    Ok(claims.statement)
}

/// Replaces the text of a file and keeps its permissions.
pub fn replace_text(place: &FilePlace, text: &str) -> Result<()> {
    let failed = |error: &std::io::Error| Error::write("the text item", &place.path(), error);
    // For a link, these are the permissions of its target, and the link is replaced.
    let mode = fs::metadata(place.path()).map_err(|error| failed(&error))?.permissions().mode();
    place
        .replace(WriteOptions::with_mode(mode & 0o777), |file| file.write_all(text.as_bytes()))
        .map_err(|error| failed(&error))
}

fn write_envelope(path: &Path, text: &str) -> Result<()> {
    write_atomic(path, text.as_bytes(), false).map_err(|error| Error::write("the envelope", path, &error))
}

fn read_bytes(what: &'static str, path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = |error: &std::io::Error| Error::read(what, path, error);
    let metadata = fs::metadata(path).map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(SigningError::Folder(path.to_owned()).into());
    }
    if !metadata.is_file() {
        return Err(SigningError::NotRegular(path.to_owned()).into());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > most {
        return Err(SigningError::TooLarge { what, path: path.to_owned(), most }.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_paths_in_a_project() {
        let id = |path: &str| Target::id_of_path(Path::new(path));
        assert_eq!(id("/p/.ai/tools/acme/fetch.wasm").as_deref(), Some("acme/fetch"));
        assert_eq!(id("/p/.ai/tools/a.yaml").as_deref(), Some("a"));
        assert_eq!(id("/p/.ai/knowledge/graphs/x.md").as_deref(), Some("graphs/x"));
        assert_eq!(id("/p/.ai/other/a.yaml"), None);
        assert_eq!(id("/p/graph.yaml"), None);
        assert_eq!(id("/p/.ai/tools/a b.wasm"), None);
    }
}
