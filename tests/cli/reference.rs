//! The pages of `host/docs` agree with the code: tables of keys, examples, commands, and paths.
//!
//! `UPDATE_REFERENCE=1` rewrites the tables and `cli.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graph_core::capability::Manifest;
use graph_core::diagnostic::Problems;
use graph_core::hook_event::HookLayer;
use graph_core::keys::{self, KeyTable, markdown_table};
use graph_core::trust::TrustStore;
use graph_core::yaml::{self, Node, Yaml};
use graph_host::document_kind::{DocumentKind, key_tables};
use graph_walker::document::{load, load_config, load_hooks};

use crate::place::Place;
use crate::readme::blocks;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_REFERENCE").is_some_and(|update| !update.is_empty())
}

/// Reads every page of Markdown below a folder, with its path from the top of the repository.
fn pages(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(repository().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if repository().join(&path).is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(repository().join(&path)).unwrap();
                found.push((path.to_str().unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// Lists the tables of documents, and those of directives.
fn all_tables() -> Vec<&'static KeyTable> {
    let mut tables = key_tables();
    tables.retain(|table| !table.keys.is_empty());
    tables.extend([&keys::text::INPUT, &keys::text::NAMED_INPUT]);
    tables
}

const BEGIN: &str = "<!-- keys: ";
const END: &str = "<!-- end keys -->";

/// Inserts the tables that a page's marks ask for; returns the page with their names.
fn with_tables(page: &str, text: &str) -> (String, Vec<String>) {
    let (mut written, mut names) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        written += line;
        written += "\n";
        let Some(name) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let table = all_tables().into_iter().find(|table| table.name == name);
        let table = table.unwrap_or_else(|| panic!("{page}: there is no table `{name}`"));
        write!(written, "\n{}\n{END}\n", across_pages(page, &markdown_table(table))).unwrap();
        names.push(name.to_owned());
        assert!(lines.by_ref().any(|line| line == END), "{page}: `{name}` has no end");
    }
    (written, names)
}

/// Pages with tables that other pages link to.
const HOMES: &[(&str, &[&str])] = &[
    ("graph.md", &["config", "hook", "action", "node", "edge"]),
    ("templates-and-conditions.md", &["condition"]),
    ("manifest.md", &["limits", "run_limits"]),
];

/// Makes links to tables of other pages name these pages.
fn across_pages(page: &str, table: &str) -> String {
    let mut table = table.to_owned();
    for (home, names) in HOMES.iter().filter(|(home, _)| !page.ends_with(home)) {
        for name in *names {
            table = table.replace(&format!("](#{name})"), &format!("]({home}#{name})"));
        }
    }
    table
}

#[test]
fn every_key_has_its_row_in_the_reference() {
    let mut shown = BTreeSet::new();
    for (page, text) in pages("host/docs") {
        let (written, names) = with_tables(&page, &text);
        for name in names {
            assert!(shown.insert(name.clone()), "`{name}` is shown twice, also on {page}");
        }
        if is_update() {
            std::fs::write(repository().join(&page), &written).unwrap();
        } else {
            assert_eq!(text, written, "{page} is not current: UPDATE_REFERENCE=1 writes its tables");
        }
    }
    let all: BTreeSet<String> = all_tables().iter().map(|table| table.name.to_owned()).collect();
    assert_eq!(shown, all, "each table is shown on one page");
}

#[test]
fn the_page_of_commands_is_current() {
    let place = Place::new();
    let printed = place.run(&["man", "--markdown"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let path = repository().join("host/docs/reference/cli.md");
    if is_update() {
        std::fs::write(&path, &printed.stdout).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == printed.stdout, "cli.md is not current: UPDATE_REFERENCE=1 writes it");
}

/// Adds the keys of all mappings in a document.
fn add_keys(node: &Node, found: &mut BTreeSet<String>) {
    match &node.value {
        Yaml::List(items) => items.iter().for_each(|item| add_keys(item, found)),
        Yaml::Mapping(mapping) => {
            for entry in mapping {
                found.insert(entry.key.name.clone());
                add_keys(&entry.value, found);
            }
        }
        _ => {}
    }
}

/// Loads an example as its kind, runs it if it is a case, and returns the problems. A warning is a problem here.
fn problems_of(place: &Place, page: &str, text: &str) -> Vec<String> {
    let problems = Problems::new();
    let Some(root) = yaml::parse(text, &problems) else { return vec![format!("{page}: not YAML")] };
    let has = |key: &str| root.as_mapping().and_then(|root| root.get(key)).is_some();
    if has("nodes") && !has("config") {
        load_config(&root, text, "example", graph_walker::compat::Dialect::default(), &problems);
        return problems.into_diagnostics(page, text).to_lines();
    }
    let lines = |read: Result<Vec<String>, Vec<String>>| read.unwrap_or_else(|problems| problems);
    match DocumentKind::detect(Path::new("example.yaml"), text) {
        DocumentKind::Graph => lines(
            load(page, text, "example")
                .map(|it| it.warnings.to_lines())
                .map_err(|problems| problems.to_lines()),
        ),
        DocumentKind::Manifest => lines(
            Manifest::parse(text, page, "/m")
                .map(|(_, it)| it.to_lines())
                .map_err(|problems| problems.to_lines()),
        ),
        DocumentKind::Hooks => lines(
            load_hooks(page, text, HookLayer::Project)
                .map(|it| it.warnings.to_lines())
                .map_err(|problems| problems.to_lines()),
        ),
        DocumentKind::Trust => lines(
            TrustStore::from_yaml(page, text)
                .map(|(_, it)| it.to_lines())
                .map_err(|problems| problems.to_lines()),
        ),
        DocumentKind::Case => {
            place.write("example.case.yaml", text);
            let ran = place.run(&["test", "example.case.yaml"]);
            if ran.code == 0 { Vec::new() } else { vec![ran.shown()] }
        }
    }
}

/// Keys that are refused or only recognised, without example.
const WITHOUT: [&str; 3] = ["graph.permissions", "case.graph_file", "expect.event_kinds"];

#[test]
fn every_example_of_the_reference_loads_and_every_key_has_one() {
    let place = Place::new();
    let (mut used, mut problems) = (BTreeSet::new(), Vec::new());
    for (page, text) in pages("host/docs/reference") {
        for block in blocks(&text).iter().filter(|block| block.language == "yaml") {
            let example = block.lines.join("\n") + "\n";
            let found = problems_of(&place, &page, &example);
            if !found.is_empty() {
                problems.push(format!("{page}, the example at line {}:\n{}", block.line, found.join("\n")));
            }
            if let Some(root) = yaml::parse(&example, &Problems::new()) {
                add_keys(&root, &mut used);
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let is_covered = |table: &KeyTable, key: &str| {
        used.contains(key)
            || (key.ends_with('.') && used.iter().any(|used| used.starts_with(key)))
            || WITHOUT.contains(&format!("{}.{key}", table.name).as_str())
            || key == "items_dir"
    };
    let tables = all_tables()
        .into_iter()
        .filter(|table| !table.name.starts_with("directive") && table.name != "event");
    let without: Vec<String> = tables
        .flat_map(|table| table.names().map(move |key| (table, key)))
        .filter(|(table, key)| !is_covered(table, key))
        .map(|(table, key)| format!("{}.{key}", table.name))
        .collect();
    assert!(without.is_empty(), "keys without an example: {without:?}");
}

/// Checks whether a word in backticks is a path of the repository.
fn is_path(word: &str) -> bool {
    const TOP: [&str; 7] = ["host/", "wit/", "guest-sdk/", "examples/", "tests/", ".github/", ".ci/"];
    TOP.iter().any(|top| word.starts_with(top)) && !word.contains(['*', ' ', '…', '<', ':'])
}

#[test]
fn paths_and_links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut all = pages("host/docs");
    for page in [
        "README.md",
        "host/ARCHITECTURE.md",
        "tests/README.md",
        ".github/CONTRIBUTING.md",
        ".github/SECURITY.md",
    ] {
        all.push((page.to_owned(), std::fs::read_to_string(repository().join(page)).unwrap()));
    }
    for (page, text) in &all {
        let folder = repository().join(page).parent().unwrap().to_path_buf();
        for word in text.split('`').skip(1).step_by(2).filter(|word| is_path(word)) {
            let path = word.split_whitespace().next().unwrap_or_default();
            if !repository().join(path).exists() && !repository().join("host").join(path).exists() {
                wrong.push(format!("{page}: `{word}` does not exist"));
            }
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link)) {
            let file = link.split('#').next().unwrap_or_default();
            if link.contains("://") || link.contains(char::is_whitespace) || file.is_empty() {
                continue;
            }
            if !folder.join(file).exists() {
                wrong.push(format!("{page}: the link {link} leads nowhere"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every interface in `wit/host` has a row in the table of its README.
#[test]
fn every_interface_of_the_host_has_its_row() {
    let folder = repository().join("wit/host");
    let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut found = 0;
    for file in std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "wit") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for name in text.lines().filter_map(|line| line.strip_prefix("interface ")?.strip_suffix(" {")) {
            let row = format!("| `graph-host:host/{name}` |");
            assert!(page.contains(&row), "wit/host/README.md has no row of {name}, of {}", file.display());
            found += 1;
        }
    }
    assert!(found >= 6, "{found} interfaces were found");
}

#[test]
fn pages_that_are_read_first_are_short() {
    for (page, most) in [("README.md", 150), ("host/ARCHITECTURE.md", 200)] {
        let lines = std::fs::read_to_string(repository().join(page)).unwrap().lines().count();
        assert!(lines <= most, "{page} has {lines} lines; it may have {most}");
    }
}

#[test]
fn every_pipe_is_in_the_reference() {
    let page = std::fs::read_to_string(repository().join("host/docs/reference/templates-and-conditions.md"))
        .unwrap();
    for pipe in graph_core::template::Pipe::ALL {
        let row = format!("| `{}` | {} | ", pipe.signature(), pipe.takes());
        assert!(page.contains(&row), "the reference has no row {row}");
    }
}
