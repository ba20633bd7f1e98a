//! The folders of the runtime use each other one way only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::layering::{sources, without_tests};

/// The folders and top files of `host/runtime/src`, each with those that it uses: all of them are above it.
const USES: [(&str, &[&str]); 23] = [
    ("clock", &[]),
    ("sources", &[]),
    ("remedy", &["sources"]),
    ("error", &["remedy"]),
    ("notice", &["error"]),
    ("journal", &[]),
    ("functions", &["error", "journal", "remedy"]),
    ("project", &["clock", "error", "remedy", "sources"]),
    ("host", &["functions", "notice", "project"]),
    ("trust", &["clock", "error", "notice", "project", "remedy"]),
    ("items", &["clock", "error", "notice", "project", "remedy"]),
    ("plan", &["error", "functions", "host", "items", "notice", "project", "remedy", "trust"]),
    ("authoring", &["error", "host", "items", "plan", "project", "remedy"]),
    (
        "executor",
        &["authoring", "clock", "error", "functions", "items", "journal", "notice", "plan", "project"],
    ),
    (
        "registry",
        &["authoring", "clock", "error", "host", "items", "notice", "project", "remedy", "sources", "trust"],
    ),
    (
        "run",
        &[
            "clock",
            "error",
            "executor",
            "functions",
            "host",
            "items",
            "notice",
            "plan",
            "project",
            "remedy",
            "sources",
            "trust",
        ],
    ),
    ("history", &["clock", "error", "items", "project", "remedy", "run"]),
    (
        "replay",
        &[
            "error",
            "executor",
            "functions",
            "host",
            "items",
            "journal",
            "plan",
            "project",
            "run",
            "sources",
            "trust",
        ],
    ),
    ("upkeep", &["clock", "error", "items", "project", "registry", "run"]),
    ("bundle", &["error", "executor", "host", "items", "plan", "project", "remedy", "run"]),
    ("catalogue", &["error", "items", "project", "registry"]),
    ("telemetry", &["error", "remedy"]),
    (
        "runtime",
        &[
            "error",
            "executor",
            "functions",
            "history",
            "host",
            "items",
            "notice",
            "plan",
            "project",
            "remedy",
            "run",
            "sources",
        ],
    ),
];

/// The most files that use each other in a circle.
const LARGEST_CIRCLE: usize = 6;

/// A path in the code of the crate, by its segments after `crate`: `["plan", "Plan"]`.
type CodePath<'c> = Vec<&'c str>;

/// A word, `::`, or another character of a source, with the number of its line.
#[derive(Clone, Copy)]
struct Token<'c> {
    text: &'c str,
    line: usize,
}

impl Token<'_> {
    fn is_word(self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Splits a source into tokens, without its comments and texts.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut found, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let escaped =
                    |at: usize| rest[..at].chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
                let end = rest.match_indices('"').skip(1).map(|(at, _)| at).find(|at| !escaped(*at));
                end.map_or(rest.len(), |at| at + 1)
            }
            // A character; otherwise it is a lifetime.
            '\'' if rest.starts_with("'\\") => rest[2..].find('\'').map_or(1, |at| at + 3),
            '\'' if rest.chars().nth(2) == Some('\'') => {
                rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at)
            }
            ':' if rest.starts_with("::") => 2,
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let text = &rest[..length];
        if is_word(c) || text == "::" || (length == c.len_utf8() && !c.is_whitespace()) {
            found.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// An imported path, and its name from there on.
struct Import<'c> {
    path: CodePath<'c>,
    name: &'c str,
    line: usize,
}

/// Reads a tree of imports from its first token on, and returns the index after it.
fn read_tree<'c>(
    tokens: &[Token<'c>],
    mut at: usize,
    prefix: &[&'c str],
    imports: &mut Vec<Import<'c>>,
) -> usize {
    let (mut path, line) = (prefix.to_vec(), tokens[at].line);
    loop {
        match tokens[at].text {
            "{" => {
                while tokens[at].text != "}" {
                    at = read_tree(tokens, at + 1, &path, imports);
                }
                return at + 1;
            }
            "::" => at += 1,
            "," | "}" | ";" => break,
            "as" => {
                imports.push(Import { path, name: tokens[at + 1].text, line });
                return at + 2;
            }
            segment => {
                path.push(segment);
                at += 1;
            }
        }
    }
    path.pop_if(|last| *last == "self");
    if path.len() > prefix.len() || tokens[at - 1].text == "self" {
        imports.push(Import { name: path.last().copied().unwrap_or_default(), path, line });
    }
    at
}

/// A source of the crate.
struct Source<'c> {
    file: &'c str,
    module: CodePath<'c>,
    children: BTreeSet<&'c str>,
    /// Imports; those of `pub use` are re-exports.
    imports: Vec<Import<'c>>,
    exports: BTreeMap<&'c str, CodePath<'c>>,
    /// Paths outside of imports, with their lines.
    paths: Vec<(CodePath<'c>, usize)>,
}

impl<'c> Source<'c> {
    fn read(file: &'c str, text: &'c str) -> Self {
        let mut module: CodePath<'_> = file.trim_end_matches(".rs").split('/').collect();
        module.pop_if(|last| ["mod", "lib"].contains(last));
        let (tokens, mut at) = (tokens(text), 0);
        let declared = tokens.windows(2).filter(|pair| pair[0].text == "mod").map(|pair| pair[1].text);
        let children = declared.collect();
        let (imports, exports, paths) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut source = Self { file, module, children, imports, exports, paths };
        while at < tokens.len() {
            let mut path = Vec::new();
            match tokens[at] {
                Token { text: "use", .. } => {
                    let is_exported = at > 0 && ["pub", ")"].contains(&tokens[at - 1].text);
                    let mut imports = Vec::new();
                    at = read_tree(&tokens, at + 1, &[], &mut imports);
                    for import in &mut imports {
                        source.make_absolute(&mut import.path);
                        if is_exported {
                            source.exports.insert(import.name, import.path.clone());
                        }
                    }
                    source.imports.extend(imports);
                }
                token if token.is_word() => {
                    path.push(token.text);
                    while let [Token { text: "::", .. }, next, ..] = tokens[at + 1..]
                        && next.is_word()
                    {
                        path.push(next.text);
                        at += 2;
                    }
                    at += 1;
                    if path.len() > 1 {
                        source.paths.push((path, token.line));
                    }
                }
                _ => at += 1,
            }
        }
        source
    }

    /// Resolves the beginning of a path: `crate`, `self`, `super` or a child module. The path of another crate becomes empty.
    fn make_absolute(&self, path: &mut CodePath<'c>) {
        let ups = path.iter().take_while(|segment| **segment == "super").count();
        let (from, skipped): (&[&str], usize) = match path.first() {
            Some(&"crate") => (&[], 1),
            Some(&"self") => (&self.module, 1),
            Some(child) if self.children.contains(child) => (&self.module, 0),
            Some(&"super") => (&self.module[..self.module.len().saturating_sub(ups)], ups),
            _ => (&[], path.len()),
        };
        let absolute = [from, &path[skipped..]].concat();
        *path = absolute;
    }
}

/// A use of one file by another one.
struct Arrow<'c> {
    from: &'c str,
    to: &'c str,
    line: usize,
    is_export: bool,
}

/// Returns the file that defines what a path names, through re-exports.
fn defining<'c>(sources: &BTreeMap<CodePath<'c>, Source<'c>>, path: &[&'c str]) -> Option<&'c str> {
    let known =
        (0..=path.len()).rev().find_map(|length| sources.get(&path[..length]).map(|found| (found, length)));
    let (source, length) = known?;
    let Some(name) = path.get(length) else { return Some(source.file) };
    let exported = source.exports.get(name).or_else(|| source.exports.get("*"));
    match exported.filter(|exported| !exported.is_empty()) {
        Some(exported) => defining(
            sources,
            &[exported.strip_suffix(&["*"]).unwrap_or(exported), &path[length + 1..]].concat(),
        ),
        None => Some(source.file),
    }
}

fn arrows<'c>(sources: &BTreeMap<CodePath<'c>, Source<'c>>) -> Vec<Arrow<'c>> {
    let mut found = Vec::new();
    for source in sources.values() {
        let mut add = |path: &[&'c str], line, is_export| {
            if !path.is_empty()
                && let Some(to) = defining(sources, path).filter(|to| *to != source.file)
            {
                found.push(Arrow { from: source.file, to, line, is_export });
            }
        };
        // What is used of an imported module counts, and not its import.
        let mut modules: BTreeMap<&str, CodePath<'_>> = BTreeMap::new();
        for Import { path, name, line } in source.imports.iter().filter(|import| !import.path.is_empty()) {
            let is_export = source.exports.get(name) == Some(path);
            if sources.contains_key(path) && !is_export {
                modules.insert(name, path.clone());
            } else {
                add(path, *line, is_export);
            }
        }
        for (path, line) in &source.paths {
            let mut path = path.clone();
            if let Some(module) = modules.get(path[0]) {
                path = [module, &path[1..]].concat();
            } else {
                source.make_absolute(&mut path);
            }
            add(&path, *line, false);
        }
    }
    found
}

fn with_sources(check: impl FnOnce(&BTreeMap<CodePath<'_>, Source<'_>>)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src").canonicalize().unwrap();
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 100, "{}", files.len());
    let texts: Vec<_> = files
        .iter()
        .map(|path| {
            let file = path.strip_prefix(&root).unwrap().display().to_string();
            (file, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let sources = texts.iter().map(|(file, text)| {
        let source = Source::read(file, without_tests(text));
        (source.module.clone(), source)
    });
    check(&sources.collect());
}

/// Returns the folder of a file, or the name of a file that is in none.
fn folder(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[test]
fn folders_of_the_runtime_use_each_other_one_way_only() {
    for (number, (name, uses)) in USES.iter().enumerate() {
        let above: Vec<_> = USES[..number].iter().map(|(name, _)| *name).collect();
        assert!(uses.iter().all(|used| above.contains(used)), "{name} may use what is above it only");
    }
    with_sources(|sources| {
        let mut found = BTreeMap::<_, Vec<String>>::new();
        for Arrow { from, to, line, .. } in arrows(sources) {
            // The root shows what is public.
            if folder(from) != folder(to) && folder(from) != "lib" {
                let place = format!("host/runtime/src/{from}:{line} uses {to}");
                found.entry((folder(from), folder(to))).or_default().push(place);
            }
        }
        let permitted: BTreeSet<_> =
            USES.iter().flat_map(|(name, uses)| uses.iter().map(move |used| (*name, *used))).collect();
        let broken: Vec<_> = found
            .iter()
            .filter(|(arrow, _)| !permitted.contains(*arrow))
            .flat_map(|(_, places)| places)
            .collect();
        assert!(broken.is_empty(), "these arrows are not in the table: {broken:#?}");
        let unused: Vec<_> = permitted.iter().filter(|arrow| !found.contains_key(*arrow)).collect();
        assert!(unused.is_empty(), "no file uses these: {unused:?}");
    });
}

#[test]
fn files_of_the_runtime_form_small_circles_only() {
    with_sources(|sources| {
        let mut reached = BTreeMap::<_, BTreeSet<_>>::new();
        for Arrow { from, to, .. } in arrows(sources).into_iter().filter(|arrow| !arrow.is_export) {
            reached.entry(from).or_default().insert(to);
        }
        loop {
            let before: usize = reached.values().map(BTreeSet::len).sum();
            for file in reached.keys().copied().collect::<Vec<_>>() {
                let further: Vec<_> =
                    reached[file].iter().filter_map(|next| reached.get(next)).flatten().copied().collect();
                reached.entry(file).or_default().extend(further);
            }
            if reached.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let leads = |from, to| reached.get(from).is_some_and(|reached| reached.contains(to));
        for file in reached.keys() {
            let circle: Vec<_> = reached[file].iter().filter(|other| leads(**other, *file)).collect();
            assert!(circle.len() <= LARGEST_CIRCLE, "these files use each other: {circle:#?}");
        }
    });
}
