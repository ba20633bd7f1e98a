//! Finds the files of items by their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::diagnostic::{nearest, printable};
use graph_core::digest::Digest;
use graph_core::id::{function_of, is_function, path_of, version_of};
use graph_core::item::ItemType;
use graph_core::time::Timestamp;
use graph_core::trust::{
    Moment, TextKind, TextStanding, TrustStore, VerifiedComponent, VerifyError, built_in_text, verify_text,
};
use graph_registry::artifact::is_version;
use graph_store::held::{FolderPlace, Opening};
use serde::Serialize;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::items::precedence::{Candidate, Others, choose};
use crate::items::{built_in, installed};
use crate::project::paths::{self, FileKind};
use crate::project::text_file;
use crate::project::user_home::Home;
use crate::project::{BaseFolder, MARK, Project};
use crate::remedy::Remedy;

/// Limit of a component, in bytes.
pub const LARGEST_COMPONENT: u64 = 256 << 20;

/// Limit of the listed items of a folder.
const MOST_ITEMS: usize = 10_000;
/// Limit of nested folders of items.
const DEEPEST: usize = 16;

/// The space that an item was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// A folder that the command line names.
    Named,
    /// The `.ai` folder of the project.
    Project,
    /// The user's own items in the user's space.
    User,
    /// Installed items in the user's space.
    Installed,
    /// Items that are part of the program.
    BuiltIn,
}

impl Space {
    /// Returns its name in documents and plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Project => "project",
            Self::User => "user",
            Self::Installed => "installed",
            Self::BuiltIn => "built_in",
        }
    }

    /// Names the space in messages.
    pub(crate) const fn place(self) -> &'static str {
        match self {
            Self::Named => "a folder that was named",
            Self::Project => "the project",
            Self::User => "your user space",
            Self::Installed => "what you have installed",
            Self::BuiltIn => "what is built into graph-host",
        }
    }
}

/// Finds items by their ids: in the folders of `--items`, then in the project, then in the user's space, then among the
/// installed items, and then among the built-in ones. If several items have one id, [`crate::items::precedence`]
/// decides between them.
#[derive(Clone, Debug)]
pub struct ItemLocator {
    roots: Vec<Root>,
    /// Ids of the items that the run under way was started with.
    pinned: BTreeSet<String>,
    /// The project whose lockfile determines the permitted versions of pulled items.
    keeper: Project,
}

/// A folder with items of all types.
#[derive(Clone, Debug)]
struct Root {
    space: Space,
    folder: PathBuf,
}

/// The file of a tool: a component or a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocatedItem {
    /// A component, whether it is signed or not.
    Component {
        /// The file with the component's bytes.
        file: ItemFile,
        /// The envelope with its signatures, if there is one.
        envelope: Option<PathBuf>,
    },
    /// A graph, whether it is signed or not.
    Graph {
        /// The file with the graph's document.
        file: ItemFile,
    },
}

/// The file of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemFile {
    /// The id that follows from the path of the file in its space.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
    /// Its space.
    pub space: Space,
    /// The other files with this id.
    pub others: Others,
    /// `true` if the run under way was started with an item of this id.
    pub is_pinned: bool,
    /// The folder that messages show its path relative to.
    pub base: BaseFolder,
}

impl ItemFile {
    /// Makes the file that the user named by its path: there are no others.
    pub fn named(id: &str, path: &Path, base: &BaseFolder) -> Self {
        let (id, path, base) = (id.to_owned(), path.to_path_buf(), base.clone());
        Self { id, path, space: Space::Named, others: Others::default(), is_pinned: false, base }
    }

    /// Formats its path for messages.
    pub fn shown(&self) -> String {
        self.base.show(&self.path)
    }

    /// Reads the text of the file. In a project, no link on its path is followed.
    pub fn text(&self) -> std::io::Result<String> {
        read_of(self.space, &self.path)
    }

    /// Reads the document of a graph, from its file or from the program.
    pub fn graph_text(&self) -> Result<String> {
        self.graph_text_by(|what, path| self.text().map_err(|error| Error::read(what, path, &error)))
    }

    /// Like [`Self::graph_text`], for a file on the command line, which may be a pipe.
    pub fn named_graph_text(&self) -> Result<String> {
        self.graph_text_by(text_file::read_named_as)
    }

    fn graph_text_by(&self, read: impl Fn(&str, &Path) -> Result<String>) -> Result<String> {
        match self.space {
            Space::BuiltIn => built_in::graph(&self.id).map(str::to_owned),
            _ => read("the graph", &self.path),
        }
    }

    /// Checks the trust in a graph with this text: by its signature, or as a built-in item.
    pub fn graph_standing(&self, text: &str, trust: &TrustStore, at: impl Into<Moment>) -> TextStanding {
        match self.space {
            Space::BuiltIn => built_in_text(path_of(&self.id), trust),
            _ => verify_text(TextKind::Graph, &self.id, text, trust, at),
        }
    }
}

/// Reasons for which no item was found for an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum FindError {
    /// The text cannot be an item id.
    #[error(
        "`{0}` is not an item id: letters, digits, `_` and `-` in segments joined by `/`, a version after `@`"
    )]
    Malformed(String),
    /// No item has this id.
    #[error("there is no {} `{id}`: {} in {}{}", noun(*item_type), looked_for(*item_type, file), places.join(", "), of_other_runtime(foreign.as_deref()).unwrap_or_else(|| meant(nearest.as_deref())))]
    Missing {
        id: String,
        /// Type of the wanted item.
        item_type: ItemType,
        /// The id without its version.
        file: String,
        /// Folders that were searched.
        places: Vec<String>,
        /// The most similar id that exists.
        nearest: Option<String>,
        /// Script with this id, which a runtime of Rye's would run.
        foreign: Option<Box<str>>,
    },
    /// The path below the project's `.ai` does not consist of folders and a regular file.
    #[error("`{id}` is not read: {reason}")]
    Misplaced {
        id: String,
        /// Reason, with the step of the path that is wrong.
        reason: String,
    },
    /// The file is a link out of its folder.
    #[error("`{id}` is not read: {file} leads out of {folder}")]
    Outside {
        id: String,
        file: String,
        /// The folder that the link leaves.
        folder: String,
    },
}

const fn noun(item_type: ItemType) -> &'static str {
    match item_type {
        ItemType::Tool => "item",
        ItemType::Knowledge => "knowledge",
        ItemType::Directive => "directive",
    }
}

fn looked_for(item_type: ItemType, file: &str) -> String {
    match extensions(item_type) {
        [only] => format!("no {file}.{only} is"),
        [first, second, ..] => format!("neither {file}.{first} nor {file}.{second} is"),
        [] => String::new(),
    }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|id| format!("; did you mean `{id}`?")).unwrap_or_default()
}

/// Finds the item `a/b/b` for the id `a/b`: Rye calls `rye/bash/bash` also `rye/bash`.
fn below<'k>(id: &str, mut known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let last = id.rsplit('/').next()?;
    known.find(|known| known.strip_prefix(id).and_then(|rest| rest.strip_prefix('/')) == Some(last))
}

/// Extensions of tools that are scripts.
const FOREIGN: [&str; 4] = ["py", "js", "ts", "sh"];

fn of_other_runtime(foreign: Option<&str>) -> Option<String> {
    foreign.map(|file| {
        format!(
            "; {file} is a script, which graph-host does not run as an item: write a component that does the same, or let a \
             node run it with rye/bash/bash"
        )
    })
}

/// Returns the extensions of items of a type, in order of preference.
pub(crate) const fn extensions(item_type: ItemType) -> &'static [&'static str] {
    match item_type {
        ItemType::Tool => &["wasm", "yaml", "yml"],
        ItemType::Knowledge => &["md", "yaml", "yml"],
        ItemType::Directive => &["md"],
    }
}

impl Root {
    /// Returns the folders of its items of a type. `--items DIR` may name a folder of tools, or one with a folder for each type.
    fn folders(&self, item_type: ItemType) -> Vec<PathBuf> {
        let name = match item_type {
            ItemType::Tool => "tools",
            ItemType::Knowledge => "knowledge",
            ItemType::Directive => "directives",
        };
        match (self.space, item_type) {
            (Space::Named, ItemType::Tool) => vec![self.folder.clone(), self.folder.join(name)],
            _ => vec![self.folder.join(name)],
        }
    }
}

impl ItemLocator {
    /// Makes a locator over the folders of `--items`, those of the project, those of the user's space, and the
    /// installed items. Pulled items are checked against the lockfile of `keeper`.
    pub fn new(items: &[PathBuf], project: Option<&Path>, home: &Home, keeper: &Project) -> Self {
        let root = |space, folder: PathBuf| Root { space, folder };
        let mut roots: Vec<_> = items.iter().map(|folder| root(Space::Named, folder.clone())).collect();
        roots.extend(project.map(|project| root(Space::Project, project.join(MARK))));
        roots.push(root(Space::User, home.root().join(MARK)));
        roots.push(root(Space::Installed, home.installed()));
        Self { roots, pinned: BTreeSet::new(), keeper: keeper.clone() }
    }

    /// Returns the folder that messages show paths relative to.
    pub fn base(&self) -> &BaseFolder {
        self.keeper.base()
    }

    /// Marks the ids of the items that a run was started with, with or without versions.
    #[must_use]
    pub(crate) fn begun_with<'i>(mut self, items: impl IntoIterator<Item = &'i String>) -> Self {
        self.pinned = items.into_iter().map(|item| path_of(item).to_owned()).collect();
        self
    }

    /// Refuses a pulled item that differs from the lockfile: another project may have pulled another version since.
    pub(crate) fn check_lock(
        &self,
        file: &Path,
        item_type: ItemType,
        id: &str,
        digest: &Digest,
    ) -> Result<()> {
        installed::as_locked(&self.keeper, file, item_type, id, digest)
    }

    /// Finds a tool by its id, `a/b` or `a/b@1.2.0`.
    pub fn find(&self, item: &str) -> Result<LocatedItem, FindError> {
        let file = self.file(ItemType::Tool, item)?;
        Ok(match file.path.extension() {
            Some(extension) if extension == "wasm" => {
                let envelope = envelope_path(&file.path);
                let is_there = match (file.space, fs::symlink_metadata(&envelope)) {
                    (Space::BuiltIn, _) => false,
                    (Space::Project, found) => found.is_ok_and(|found| found.is_file()),
                    _ => envelope.is_file(),
                };
                LocatedItem::Component { envelope: is_there.then_some(envelope), file }
            }
            _ => LocatedItem::Graph { file },
        })
    }

    /// Finds the file of an item of any type.
    pub fn file(&self, item_type: ItemType, item: &str) -> Result<ItemFile, FindError> {
        let (id, version) = (path_of(item), version_of(item));
        let is_component = item_type == ItemType::Tool;
        if function_of(item).is_some_and(|function| !is_component || !is_function(function)) {
            return Err(FindError::Malformed(printable(item).into_owned()));
        }
        if !is_id(id) || version.is_some_and(str::is_empty) {
            return Err(FindError::Malformed(printable(item).into_owned()));
        }
        let mut candidates = Vec::new();
        for (space, folder) in self.folders(item_type) {
            for extension in extensions(item_type) {
                let path = folder.join(format!("{id}.{extension}"));
                let is_there = match space {
                    Space::Project => {
                        match in_project(&folder, &[id, ".", extension].concat(), self.base()) {
                            Ok(is_there) => is_there,
                            // A folder that the user named takes precedence over any error of the project's item.
                            Err(_) if !candidates.is_empty() => false,
                            Err(error) => {
                                let reason = error.message().to_owned();
                                return Err(FindError::Misplaced { id: id.to_owned(), reason });
                            }
                        }
                    }
                    _ => path.is_file(),
                };
                if is_there {
                    let is_outside = item_type != ItemType::Tool && !stays_in(&path, &folder);
                    candidates.push(Candidate { space, path, is_outside });
                }
            }
        }
        candidates.extend(
            built_in::candidates(item_type).filter(|(known, _)| *known == id).map(|(_, built_in)| built_in),
        );
        match choose(id, candidates) {
            Some((Candidate { path, is_outside: true, .. }, _)) => {
                let folders = self.folders(item_type).map(|(_, folder)| folder);
                let folder = folders.filter(|folder| path.starts_with(folder)).last().unwrap_or_default();
                let (file, folder) = (self.base().show(&path), self.base().show(&folder));
                return Err(FindError::Outside { id: id.to_owned(), file, folder });
            }
            Some((chosen, others)) => return Ok(self.item_file(id, chosen, others)),
            None => {}
        }
        let known = self.list(item_type);
        Err(FindError::Missing {
            id: item.to_owned(),
            item_type,
            file: id.to_owned(),
            places: self.shown(item_type),
            nearest: nearest(id, known.iter().map(|file| file.id.as_str()))
                .or_else(|| below(id, known.iter().map(|file| file.id.as_str())))
                .map(str::to_owned),
            foreign: self.foreign(item_type, id),
        })
    }

    /// Finds the script of this id in one of the folders: a tool of Rye's, as in its projects.
    fn foreign(&self, item_type: ItemType, id: &str) -> Option<Box<str>> {
        if item_type != ItemType::Tool {
            return None;
        }
        let folders = self.folders(item_type).map(|(_, folder)| folder);
        let names =
            folders.flat_map(|folder| FOREIGN.map(|extension| folder.join(format!("{id}.{extension}"))));
        let found = names.filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()));
        found.map(|path| path.display().to_string().into_boxed_str()).next()
    }

    /// Lists the items of a type, in order of ids; of several with one id, the one that [`crate::items::precedence`]
    /// chooses. At most 10,000 per folder.
    pub fn list(&self, item_type: ItemType) -> Vec<ItemFile> {
        let mut found: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
        for (space, folder) in self.folders(item_type) {
            let mut files = Vec::new();
            // A link in a project may lead to files outside of the project.
            let follows = space != Space::Project;
            if follows || in_project(&folder, "", self.base()).is_ok() {
                list_below(&folder, "", 0, (extensions(item_type), follows), &mut files);
            }
            for (id, path) in files {
                let is_outside = item_type != ItemType::Tool && !stays_in(&path, &folder);
                found.entry(id).or_default().push(Candidate { space, path, is_outside });
            }
        }
        for (id, candidate) in built_in::candidates(item_type) {
            found.entry(id.to_owned()).or_default().push(candidate);
        }
        let chosen = found.into_iter().filter_map(|(id, candidates)| {
            let (chosen, others) = choose(&id, candidates)?;
            (!chosen.is_outside).then(|| self.item_file(&id, chosen, others))
        });
        chosen.collect()
    }

    fn item_file(&self, id: &str, chosen: Candidate, others: Others) -> ItemFile {
        let Candidate { space, path, .. } = chosen;
        let (is_pinned, base) = (self.pinned.contains(id), self.base().clone());
        ItemFile { id: id.to_owned(), path, space, others, is_pinned, base }
    }

    fn folders(&self, item_type: ItemType) -> impl Iterator<Item = (Space, PathBuf)> {
        self.roots
            .iter()
            .flat_map(move |root| root.folders(item_type).into_iter().map(|folder| (root.space, folder)))
    }

    /// Lists the searched folders of items of a type, for messages. A folder of tools that `--items` names is listed once.
    fn shown(&self, item_type: ItemType) -> Vec<String> {
        let folders = self.roots.iter().filter_map(|root| root.folders(item_type).into_iter().next());
        folders.map(|folder| self.base().show(&folder)).collect()
    }
}

/// Checks whether there is a file at this path below a folder of a project's items. A link on the path from `.ai` on is an error.
fn in_project(folder: &Path, file: &str, base: &BaseFolder) -> Result<bool> {
    let (Some(project), Some(kind)) =
        (folder.ancestors().nth(2), folder.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(false);
    };
    let names: Vec<&str> =
        std::iter::once(kind).chain(file.split('/').filter(|name| !name.is_empty())).collect();
    let kind = if names.len() > 1 { FileKind::File } else { FileKind::Folder };
    let (name, folders) = names.split_last().unwrap_or((&"", &[]));
    let folder = folders.iter().fold(FolderPlace::at(project).child(MARK), |folder, name| folder.child(name));
    Ok(paths::entry(&folder.file(name), kind, base)?.is_some())
}

/// Checks whether a file is inside a folder, after following all links. Texts are shown to everyone who may load them,
/// so a stranger's project must not name files outside of it.
fn stays_in(path: &Path, folder: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(folder)) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// Lists the files below a folder that may be items, sorted by name and then by order of extensions. Links to folders
/// are not followed: they could form a cycle, or lead out of the space.
fn list_below(
    folder: &Path,
    prefix: &str,
    depth: usize,
    (extensions, follows): (&[&str], bool),
    files: &mut Vec<(String, PathBuf)>,
) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    let rank = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extensions.iter().position(|known| Some(*known) == extension)
    };
    entries.sort_by_key(|entry| (entry.path().with_extension(""), rank(&entry.path())));
    for entry in entries {
        if files.len() >= MOST_ITEMS {
            return;
        }
        let path = entry.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if depth < DEEPEST && is_id(&name) {
                list_below(&path, &format!("{prefix}{name}/"), depth + 1, (extensions, follows), files);
            }
        } else if rank(&path).is_some()
            && (entry.file_type().is_ok_and(|kind| kind.is_file()) || (follows && path.is_file()))
        {
            let id = format!("{prefix}{name}");
            if is_id(&id) {
                files.push((id, path));
            }
        }
    }
}

/// Returns the path of the envelope for a component's file: `x.wasm.dsse.json` for `x.wasm`.
pub fn envelope_path(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(".dsse.json");
    PathBuf::from(name)
}

/// Detects the type of the item in a file. Below `.ai/tools`, `.ai/knowledge` or `.ai/directives`, its folder decides.
/// A Markdown file elsewhere is a directive if its text declares one, and otherwise knowledge; anything else is a tool.
pub fn type_of_file(path: &Path, text: impl FnOnce() -> Option<String>) -> ItemType {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let below =
        |name: &str| absolute.ancestors().skip(1).any(|folder| folder.ends_with(Path::new(MARK).join(name)));
    if below("tools") {
        ItemType::Tool
    } else if below("knowledge") {
        ItemType::Knowledge
    } else if below("directives") {
        ItemType::Directive
    } else if path.extension().is_none_or(|extension| extension != "md") {
        ItemType::Tool
    } else if text().is_some_and(|text| text.contains("<directive") || text.contains("{input:")) {
        ItemType::Directive
    } else {
        ItemType::Knowledge
    }
}

/// Returns the item id of a file: its path below the nearest `.ai/tools`, or else its name, both without the extension.
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

/// Returns the id of a graph's file: its path below `.ai/tools`, or else the file's name without the extension. A file
/// named `graph` gets the name of its folder instead.
pub fn id_of_graph(path: &Path) -> String {
    let id = id_of_file(path);
    if id != "graph" {
        return id;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = absolute.parent().filter(|folder| !folder.ends_with(Path::new(MARK).join("tools")));
    folder.and_then(Path::file_name).map_or(id, |name| name.to_string_lossy().into_owned())
}

/// Checks whether a word on the command line names a file, and not an item: there is such a file, or the word has an
/// extension. The end of an id's version is none: `acme/fetch@1.2.0`.
pub fn names_file(word: &str) -> bool {
    let path = Path::new(word);
    let is_id = || is_id(path_of(word)) && version_of(word).is_some_and(is_version);
    path.is_file() || path.extension().is_some() && !is_id()
}

/// Checks whether a text consists of segments of letters, digits, `_` and `-`, joined by `/`: it cannot contain `..` or
/// an absolute path.
fn is_id(id: &str) -> bool {
    let segment = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    id.len() <= 255 && id.split('/').all(segment)
}

/// Reads a component of at most [`LARGEST_COMPONENT`] bytes.
pub fn read_component(path: &Path, base: &BaseFolder) -> Result<Arc<[u8]>> {
    read_component_from(path, base, fs::File::open(path))
}

/// Reads the component of an item. In a project, no link on its path is followed.
fn read_component_of(file: &ItemFile) -> Result<Arc<[u8]>> {
    match file.space {
        Space::Project => {
            read_component_from(&file.path, &file.base, paths::named(&file.path).open(Opening::Read))
        }
        _ => read_component(&file.path, &file.base),
    }
}

fn read_component_from(
    path: &Path,
    base: &BaseFolder,
    opened: std::io::Result<fs::File>,
) -> Result<Arc<[u8]>> {
    let failed = |error: &std::io::Error| Error::read("the component", path, error);
    let file = opened.map_err(|error| failed(&error))?;
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(Error::usage(format!("{} is a folder, a component is a file", base.show(path))));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(LARGEST_COMPONENT)).unwrap_or(0));
    file.take(LARGEST_COMPONENT + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LARGEST_COMPONENT {
        let limit = LARGEST_COMPONENT >> 20;
        return Err(Error::integrity(format!("{} is larger than {limit} MiB", base.show(path))));
    }
    Ok(bytes.into())
}

/// Reads a component and verifies it: it has to be signed by a trusted key or built in, or may be unsigned if the user
/// allows that and it was not pulled.
pub fn verify(
    item: &str,
    file: &ItemFile,
    envelope: Option<&Path>,
    locator: &ItemLocator,
    trust: &TrustStore,
    moment: Moment,
    allow_unsigned: bool,
) -> Result<VerifiedComponent> {
    if file.space == Space::BuiltIn {
        return built_in::verify(item, trust);
    }
    let path = file.path.as_path();
    let bytes = read_component_of(file)?;
    let envelope = match envelope {
        Some(path) if file.space == Space::Project => {
            let text = text_file::read_in_project(path);
            Some(text.map_err(|error| Error::read("the envelope", path, &error))?)
        }
        Some(path) => Some(text_file::read_as("the envelope", path)?),
        None => None,
    };
    let verified = VerifiedComponent::verify(Arc::clone(&bytes), envelope.as_deref(), trust, item, moment);
    match verified {
        Ok(verified) => {
            locator.check_lock(path, ItemType::Tool, verified.id(), verified.digest())?;
            Ok(verified)
        }
        Err(VerifyError::Unsigned { .. }) if installed::is_pulled(path) => {
            Err(installed::without_signature(file))
        }
        Err(VerifyError::Unsigned { .. }) if allow_unsigned => {
            VerifiedComponent::under_development(bytes, item, trust).map_err(|error| refused(&error))
        }
        Err(error) => Err(refused(&error)),
    }
}

/// Reads the text of an item. In a project, no link on its path is followed.
pub(crate) fn read_of(space: Space, path: &Path) -> std::io::Result<String> {
    match space {
        Space::Project => text_file::read_in_project(path),
        _ => text_file::read(path),
    }
}

/// Returns the moment at which signatures are judged, for a superstep with this recorded time; without one, the present.
pub fn moment_of_superstep(recorded: Option<Timestamp>) -> Moment {
    let now = now();
    Moment { now, recorded: recorded.unwrap_or(now) }
}

/// Makes the error for a component that was not admitted.
pub fn refused(error: &VerifyError) -> Error {
    Error::integrity(error.to_string()).help(Remedy::of_component(error)).caused_by(error.clone())
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
    fn what_a_file_holds_follows_from_where_it_lies() {
        let kind = |path: &str, text: &str| type_of_file(Path::new(path), || Some(text.to_owned()));
        assert_eq!(kind("/p/.ai/knowledge/a/b.yaml", ""), ItemType::Knowledge);
        assert_eq!(kind("/p/.ai/directives/b.md", ""), ItemType::Directive);
        assert_eq!(kind("/p/.ai/tools/knowledge/b.yaml", ""), ItemType::Tool);
        assert_eq!(kind("/p/b.yaml", ""), ItemType::Tool);
        assert_eq!(kind("/p/b.md", "```xml\n<directive name='b'/>\n```"), ItemType::Directive);
        assert_eq!(kind("/p/b.md", "# B"), ItemType::Knowledge);
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
        for path in [
            "one/a",
            "one/knowledge/a",
            "project/.ai/tools/a",
            "project/.ai/tools/b",
            "project/.ai/knowledge/a",
            "home/.ai/tools/c",
            "home/installed/tools/c",
            "home/installed/directives",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("one/a/x.wasm"), "").unwrap();
        fs::write(at("one/a/x.wasm.dsse.json"), "").unwrap();
        fs::write(at("project/.ai/tools/a/x.wasm"), "").unwrap();
        fs::write(at("project/.ai/tools/b/y.yaml"), "").unwrap();
        fs::write(at("home/.ai/tools/c/z.wasm"), "").unwrap();
        fs::write(at("secret.wasm"), "").unwrap();
        let locator = ItemLocator::new(
            &[at("one")],
            Some(&at("project")),
            &Home::at(at("home")),
            &Project::at(at("p")),
        );

        let found = |id: &str| match locator.find(id).unwrap() {
            LocatedItem::Component { file, envelope } => (file.path, Some(envelope)),
            LocatedItem::Graph { file } => (file.path, None),
        };
        let envelope = Some(at("one/a/x.wasm.dsse.json"));
        assert_eq!(found("a/x@1.0.0"), (at("one/a/x.wasm"), Some(envelope)));
        assert_eq!(found("b/y"), (at("project/.ai/tools/b/y.yaml"), None));
        let unsigned = (at("home/.ai/tools/c/z.wasm"), Some(None));
        assert_eq!(found("c/z"), unsigned);
        for bad in ["../secret", "/etc/passwd", "a//x", "a/x@", "", "a/x\u{0}", "a/\u{202e}x", "."] {
            assert!(matches!(locator.find(bad), Err(FindError::Malformed(_))), "{bad:?}");
        }
        let message = locator.find("c/zz").unwrap_err().to_string();
        assert!(
            message.contains("neither c/zz.wasm nor c/zz.yaml is in") && message.contains("one"),
            "{message}"
        );
        assert!(message.ends_with("; did you mean `c/z`?"), "{message}");
        let message = locator.find("rye/bash").unwrap_err().to_string();
        assert!(message.ends_with("; did you mean `rye/bash/bash`?"), "{message}");
        fs::write(at("project/.ai/tools/b/old.py"), "").unwrap();
        let message = locator.find("b/old").unwrap_err().to_string();
        assert!(
            message.contains("old.py is a script")
                && message.contains("write a component that does the same"),
            "{message}"
        );
        fs::write(at("home/installed/tools/c/z.wasm"), "").unwrap();
        fs::write(at("home/installed/tools/c/w.yml"), "").unwrap();
        assert_eq!(found("c/z"), unsigned, "the user's own item counts before an installed one");
        assert!(locator.find("c/w").is_ok());

        for path in ["one/knowledge/a/k.yaml", "project/.ai/knowledge/a/k.md", "project/.ai/knowledge/l.md"] {
            fs::write(at(path), "").unwrap();
        }
        fs::write(at("home/installed/directives/d.md"), "").unwrap();
        let listed = |item_type| -> Vec<_> {
            locator.list(item_type).into_iter().map(|file| (file.id, file.space)).collect()
        };
        let expected = [("a/k".to_owned(), Space::Named), ("l".to_owned(), Space::Project)];
        assert_eq!(listed(ItemType::Knowledge), expected);
        assert_eq!(listed(ItemType::Directive), [("d".to_owned(), Space::Installed)]);
        assert_eq!(locator.file(ItemType::Knowledge, "a/k").unwrap().path, at("one/knowledge/a/k.yaml"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("secret.wasm"), at("project/.ai/knowledge/out.md")).unwrap();
            let outside = locator.file(ItemType::Knowledge, "out");
            assert!(matches!(outside, Err(FindError::Misplaced { .. })), "{outside:?}");
            assert_eq!(listed(ItemType::Knowledge).len(), 2);
        }
        let message = locator.file(ItemType::Directive, "l").unwrap_err().to_string();
        assert!(message.starts_with("there is no directive `l`: no l.md is in"), "{message}");
    }
}
