//! Companions of a published graph: its cases, its suggested manifest, and its picture.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_cases::{Case, SUFFIX, cases};
use graph_core::diagnostic::Problems;
use graph_core::trust::{KeyId, SigningKey, TrustStore};
use graph_core::yaml::{self, Node};
use graph_host::context::Context;
use graph_host::terminal::drawing;
use graph_host::terminal::paths::shown;
use graph_host::terminal::remedies;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_registry::companions::{Companion, CompanionKind, MOST_COMPANIONS};
use graph_runtime::items::locate::ItemLocator;
use graph_runtime::plan::engine;
use graph_runtime::plan::manifest_authority::AcceptedManifest;
use graph_runtime::project::key_pairs::Pairs;
use graph_runtime::project::{Project, nearest, text_file};
use graph_runtime::registry::companions::CompanionSource;
use graph_runtime::registry::publish::PublishableItem;
use graph_walker::graph::Graph;
use graph_walker::topology::Topology;

use crate::command::suggestion::{self, SuggestedManifest};

/// Folder next to a graph that is searched for its cases, in addition to the graph's own folder.
const FOLDER: &str = "cases";
/// Limit of entries that are read in a folder.
const MOST_ENTRIES: usize = 10_000;

/// Collects the companions of graphs.
#[derive(Debug)]
pub(super) struct CompanionCollector<'g> {
    /// Folders that are searched for items before all others.
    items: &'g [PathBuf],
    trust: &'g TrustStore,
    /// The project around the current folder.
    project: &'g Project,
    context: &'g Context,
    /// Cases that the user has named.
    named: Vec<PathBuf>,
    /// Named cases that belong to a published graph.
    taken: RefCell<BTreeSet<PathBuf>>,
    /// Graphs with a printed warning that their companions are unsigned.
    unsigned: RefCell<BTreeSet<String>>,
}

impl<'g> CompanionCollector<'g> {
    /// Creates the collector, with the cases in these files and folders in addition to those next to each graph.
    pub(super) fn new(
        paths: &[PathBuf],
        items: &'g [PathBuf],
        trust: &'g TrustStore,
        project: &'g Project,
        context: &'g Context,
    ) -> Result<Self> {
        let named = if paths.is_empty() { Vec::new() } else { cases(paths)? };
        if named.len() > MOST_COMPANIONS {
            return Err(Error::usage(format!(
                "`--cases` names {} files, {MOST_COMPANIONS} at most are published with a graph",
                named.len()
            )));
        }
        Ok(Self {
            items,
            trust,
            project,
            context,
            named,
            taken: RefCell::default(),
            unsigned: RefCell::default(),
        })
    }

    /// Checks that each named case belongs to a published graph.
    pub(super) fn check_all_taken(&self) -> Result<()> {
        let taken = self.taken.borrow();
        match self.named.iter().find(|path| !taken.contains(*path)) {
            None => Ok(()),
            Some(path) => Err(Error::usage(format!(
                "the case {} does not name a graph that is published under `graph_file`",
                shown(path)
            ))
            .help("write the path of the graph's file there, relative to the case")),
        }
    }

    /// Returns the cases of a graph: those next to it, and those that the user has named.
    fn cases(&self, publishable: &PublishableItem) -> Result<Vec<Companion>> {
        let folder = publishable.path().parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut found = Vec::new();
        for folder in [folder.to_path_buf(), folder.join(FOLDER)] {
            found.extend(self.below(&folder)?.into_iter().map(|path| (path, false)));
        }
        found.extend(self.named.iter().cloned().map(|path| (path, true)));
        let mut known = BTreeSet::new();
        let mut companions = Vec::new();
        for (path, is_named) in found {
            let Some(text) = self.text_of(&path, is_named)? else { continue };
            let Some(root) = yaml::parse(&text, &Problems::new()) else {
                if is_named {
                    Case::parse(&path, &text)?;
                }
                continue;
            };
            if !names(&root, &path, publishable.path()) {
                continue;
            }
            if is_named {
                self.taken.borrow_mut().insert(path.clone());
            }
            if !known.insert(real(&path)) {
                continue;
            }
            let case = Case::parse(&path, &text)?;
            if case.items_dir.is_some() {
                let message =
                    format!("the case {} has `items_dir`, a folder that is not published", shown(&path));
                if is_named {
                    return Err(Error::usage(message).help("give its items doubles under `items`"));
                }
                self.context.output.warn(format_args!("{message}: it is left out"));
                continue;
            }
            let bytes = with_graph(&path, &text, &root, &publishable.title())?.into_bytes();
            let title = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let Some(title) = title else {
                return Err(Error::usage(format!(
                    "the name of the case {} is not text in UTF-8",
                    shown(&path)
                )));
            };
            // A named file may have any extension.
            let title = if title.ends_with(SUFFIX) { title } else { format!("{}{SUFFIX}", stem(&title)) };
            companions.push(Companion { kind: CompanionKind::Case, title, bytes });
        }
        Ok(companions)
    }

    /// Lists the files in a folder that end with the suffix of cases, sorted by name; none if the folder does not exist.
    fn below(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let failed = |error: &io::Error| Error::read("the folder", folder, error);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(failed(&error)),
        };
        let mut found = Vec::new();
        for (count, entry) in entries.enumerate() {
            if count == MOST_ENTRIES {
                self.context.output.warn(format_args!(
                    "{} has more than {MOST_ENTRIES} entries: name the cases of the graph with --cases",
                    shown(folder)
                ));
                break;
            }
            let path = entry.map_err(|error| failed(&error))?.path();
            if path.to_string_lossy().ends_with(SUFFIX) && path.is_file() {
                found.push(path);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Reads a case; `None`, with a warning, if it was not named and is too large to be published.
    fn text_of(&self, path: &Path, is_named: bool) -> Result<Option<String>> {
        let most = CompanionKind::Case.most();
        let size = fs::metadata(path).map_err(|error| Error::read("the case", path, &error))?.len();
        if size > most {
            let message = format!("the case {} has {size} bytes, {most} at most are published", shown(path));
            if is_named {
                return Err(Error::usage(message));
            }
            self.context.output.warn(format_args!("{message}: it is left out"));
            return Ok(None);
        }
        text_file::read_as("the case", path).map(Some)
    }

    /// Suggests the manifest of a graph, without the hooks of this project and user.
    fn manifest(&self, publishable: &PublishableItem, graph: &Arc<Graph>) -> Result<Option<Companion>> {
        // As in a run, the items are those of the graph's own project and of the user's space.
        let own =
            std::path::absolute(publishable.path()).ok().and_then(|path| path.parent().and_then(nearest));
        let own = own.or_else(|| nearest(self.project.folder()));
        let home = &self.context.host.home;
        let locator = ItemLocator::new(self.items, own.as_deref(), home, self.project);
        let engine = engine::engine(&self.context.host)?;
        let components =
            engine::components(engine, locator, self.trust.clone(), AcceptedManifest::nothing(), false);
        let suggested = self.context.block_on(suggestion::suggest_manifest(graph, &[], &components))?;
        let reason = match suggested {
            Ok(SuggestedManifest { suggestion, unknown, .. }) if unknown.is_empty() => {
                let bytes = manifest_text(&suggestion.text).into_bytes();
                return Ok(Some(companion(CompanionKind::Manifest, publishable, bytes)));
            }
            Ok(SuggestedManifest { unknown, .. }) => unknown.join("; "),
            Err(error) => remedies::message(&error),
        };
        self.context.output.warn(format_args!(
            "no manifest is published with `{}`, since it would not be complete: {reason}",
            publishable.id
        ));
        Ok(None)
    }

    /// Draws a graph; `None` if it is too large to be drawn.
    fn picture(&self, publishable: &PublishableItem, graph: &Graph) -> Option<Companion> {
        match picture(graph) {
            Ok(picture) if picture.len() as u64 <= CompanionKind::Picture.most() => {
                Some(companion(CompanionKind::Picture, publishable, picture.into_bytes()))
            }
            Ok(_) => {
                self.context
                    .output
                    .note(format_args!("no picture of `{}`: it would be too large", publishable.id));
                None
            }
            Err(error) => {
                self.context.output.note(format_args!(
                    "no picture of `{}`: {}",
                    publishable.id,
                    remedies::message(&error)
                ));
                None
            }
        }
    }
}

impl CompanionSource for CompanionCollector<'_> {
    fn signing_key(&self, publishable: &PublishableItem, signer: KeyId) -> Result<Option<SigningKey>> {
        let home = &self.context.host.home;
        let key = Pairs::in_home(home).with_id(signer)?;
        if key.is_none() && self.unsigned.borrow_mut().insert(publishable.id.clone()) {
            self.context.output.warn(format_args!(
                "what `{}` takes along is published unsigned: the key {} that has signed the graph is not one of yours; no \
                 catalogue runs unsigned cases",
                publishable.id,
                signer.short()
            ));
        }
        Ok(key)
    }

    fn companions(&self, publishable: &PublishableItem) -> Result<Vec<Companion>> {
        let Some(graph) = publishable.graph() else { return Ok(Vec::new()) };
        let mut companions = self.cases(publishable)?;
        companions.extend(self.manifest(publishable, graph)?);
        companions.extend(self.picture(publishable, graph));
        // Sorted as in the artifact.
        companions.sort_by(|one, other| (one.kind, &one.title).cmp(&(other.kind, &other.title)));
        Ok(companions)
    }
}

/// Draws a graph for its artifact, as `graph show --format svg` prints it.
pub(in crate::command) fn picture(graph: &Graph) -> Result<String> {
    Ok(format!("{}\n", drawing::svg(&Topology::of(graph))?.trim_end()))
}

/// Returns a suggested manifest for an artifact, as `caps suggest` prints it.
pub(in crate::command) fn manifest_text(suggested: &str) -> String {
    format!("{}\n", suggested.trim_end())
}

fn companion(kind: CompanionKind, publishable: &PublishableItem, bytes: Vec<u8>) -> Companion {
    let title = publishable.title();
    Companion { kind, title: format!("{}{}", stem(&title), kind.ending()), bytes }
}

fn stem(title: &str) -> &str {
    title.rsplit_once('.').map_or(title, |(stem, _)| stem)
}

/// Checks whether the `graph_file` of a case is a graph's file.
fn names(root: &Node, case: &Path, graph: &Path) -> bool {
    let file = root.as_mapping().and_then(|case| case.get("graph_file")).and_then(Node::as_text);
    let folder = case.parent().unwrap_or(Path::new(""));
    file.is_some_and(|file| real(&folder.join(file)) == real(graph))
}

/// Resolves the links of a path, if it exists.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

/// Replaces the `graph_file` of a case by the file name in the artifact, so that the case runs unchanged in a folder with all pulled
/// files.
fn with_graph(path: &Path, text: &str, root: &Node, title: &str) -> Result<String> {
    let refused = || {
        Error::invalid(format!("`graph_file` of the case {} cannot be replaced by `{title}`", shown(path)))
            .help("write it as a plain text on a line of its own: graph_file: graph.yaml")
    };
    let file = root.as_mapping().and_then(|case| case.get("graph_file")).ok_or_else(refused)?;
    if file.as_text() == Some(title) {
        return Ok(text.to_owned());
    }
    let written = text.get(file.span.start..file.span.end).ok_or_else(refused)?;
    let end = file.span.start + length_of(written, file.as_text().unwrap_or_default());
    let (before, after) = (text.get(..file.span.start), text.get(end..));
    let (Some(before), Some(after)) = (before, after) else { return Err(refused()) };
    let replaced = format!("{before}{title}{after}");
    // If the value has an anchor or is a block, the replacement would change more than this value.
    let mut wanted = root.to_json();
    wanted["graph_file"] = title.into();
    match yaml::parse(&replaced, &Problems::new()) {
        Some(there) if there.to_json() == wanted => Ok(replaced),
        _ => Err(refused()),
    }
}

/// Returns the length of a value in bytes at the start of its span, which includes a comment after the value.
fn length_of(written: &str, value: &str) -> usize {
    let Some(quote @ ('\'' | '"')) = written.chars().next() else {
        return if written.starts_with(value) { value.len() } else { written.trim_end().len() };
    };
    let mut characters = written.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            // Two single quotes are an escaped one.
            if quote == '"' || characters.next_if(|(_, next)| *next == quote).is_none() {
                return at + quote.len_utf8();
            }
        }
    }
    written.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn replaced(text: &str) -> Result<String> {
        let root = yaml::parse(text, &Problems::new()).unwrap();
        with_graph(Path::new("x.case.yaml"), text, &root, "flow.yaml")
    }

    #[test]
    fn the_published_case_names_the_published_file_and_keeps_everything_else() {
        for graph in
            ["graph.yaml", "'../my graph''s.yaml'", "\"../gr\\u0061ph\\\".yaml\"", "./.ai/tools/t/flow.yaml"]
        {
            let text =
                format!("# A case\nname: x\ngraph_file: {graph} # the graph\nscript: [{{ run: {{}} }}]\n");
            let wanted = text.replace(&format!("{graph} #"), "flow.yaml #");
            assert_eq!(replaced(&text).unwrap(), wanted);
        }
        assert_eq!(
            replaced("{ graph_file: graph.yaml, script: [] }").unwrap(),
            "{ graph_file: flow.yaml, script: [] }"
        );
        // Another value is an alias of this one.
        assert!(replaced("graph_file: &file graph.yaml\nname: *file\nscript: []\n").is_err());
    }
}
