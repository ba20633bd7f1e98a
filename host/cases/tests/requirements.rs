//! The reference's table of the requirements of earlier projects, generated from the `seeds` of cases and from the
//! notes of the design. `REQUIREMENTS_UPDATE=1` writes it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graph_cases::{Case, cases};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Reads lines of two columns. The first column is the id of a row.
fn table(path: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (row, said) = line.split_once('\t').unwrap_or_else(|| panic!("{path}: no tab in {line:?}"));
        assert!(!said.trim().is_empty(), "{path}: {row} says nothing");
        assert!(
            rows.insert(row.to_owned(), said.trim().to_owned()).is_none(),
            "{path}: {row} is listed twice"
        );
    }
    rows
}

/// Data of all rows, by their ids.
struct Requirements {
    /// Requirement, in the words of the seed.
    named: BTreeMap<String, String>,
    /// Note about the requirement: a reason, or another place that shows it.
    notes: BTreeMap<String, String>,
    /// Cases that show the requirement, relative to `tests/cases`.
    shown: BTreeMap<String, Vec<String>>,
}

impl Requirements {
    fn read() -> Self {
        let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let folder = root().join("tests/cases");
        for file in cases(std::slice::from_ref(&folder)).unwrap() {
            let text = std::fs::read_to_string(&file).unwrap();
            // A case that cannot be read fails in the test that runs the cases.
            let Ok(case) = Case::parse(&file, &text) else { continue };
            let name =
                file.canonicalize().unwrap().strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            for row in case.seeds {
                shown.entry(row).or_default().push(name.clone());
            }
        }
        Self {
            named: table("tests/cases/seeds.tsv"),
            notes: table("host/docs/design/requirements-notes.tsv"),
            shown,
        }
    }

    fn page(&self) -> String {
        let mut page = String::from(
            "# Requirements, and where each is met\n\n\
             graph-host implements graphs of three earlier projects: 000 to 002 are Rye's state graphs (the page for users, the\n\
             directive, the design), 003 is the graphs of AgentEnsemble, 004 the graph runtime of TinyAgents. A row is one requirement of\n\
             their documents. It is shown by cases (`tests/cases`), by other tests, or a sentence says why it is different here.\n\n\
             This page is generated from the `seeds` of cases and from `host/docs/design/requirements-notes.tsv`:\n\
             `REQUIREMENTS_UPDATE=1 cargo test -p graph-cases --test requirements`.\n\n\
             | Row | Requirement | Where it is met |\n|---|---|---|\n",
        );
        for (row, named) in &self.named {
            let cases = self.shown.get(row).into_iter().flatten().map(|case| {
                let name = case.rsplit('/').next().unwrap_or(case).trim_end_matches(".case.yaml");
                format!("[{name}](../../../tests/cases/{case})")
            });
            let places: Vec<String> = cases.chain(self.notes.get(row).cloned()).collect();
            let place = if places.is_empty() { "open".to_owned() } else { places.join("; ") };
            writeln!(page, "| {row} | {} | {} |", cell(named), cell(&place)).unwrap();
        }
        page
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_page_is_what_cases_and_notes_say() {
    let path = root().join("host/docs/design/requirements.md");
    let page = Requirements::read().page();
    if std::env::var_os("REQUIREMENTS_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "host/docs/design/requirements.md is not up to date: REQUIREMENTS_UPDATE=1 writes it"
    );
}

#[test]
fn cases_and_notes_name_rows_that_exist() {
    let seeds = Requirements::read();
    let unknown: Vec<_> =
        seeds.shown.keys().chain(seeds.notes.keys()).filter(|row| !seeds.named.contains_key(*row)).collect();
    assert!(unknown.is_empty(), "not in tests/cases/seeds.tsv: {unknown:?}");
}

#[test]
fn every_row_has_a_case_or_a_reason() {
    let seeds = Requirements::read();
    let is_open = |row: &&String| !seeds.shown.contains_key(*row) && !seeds.notes.contains_key(*row);
    let open: Vec<_> = seeds.named.keys().filter(is_open).collect();
    assert!(open.is_empty(), "neither a case nor a note: {open:?}");
}
