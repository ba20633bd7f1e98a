//! Tests that no file of the walker changes the private state of another: only a state machine's own methods do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Structs with fields that other files of the walker change, and the number of these fields. The walker itself is the
/// composition: its fields are the state machines. Plain records without invariants have `pub` fields.
const OPEN: [(&str, usize); 1] = [("Walker", 23)];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the name in `pub(super) struct Name<'a> {`, if a line begins a struct with named fields.
fn struct_name(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("struct ")?;
    let name = rest.split(|char: char| !char.is_alphanumeric()).next()?;
    (line.ends_with('{') && !line.trim_start().starts_with("//")).then_some(name)
}

/// Returns `true` if a line is a field that other files may change, or a tuple struct with one.
fn is_open(line: &str) -> bool {
    let line = line.trim_start();
    let of_tuple =
        line.contains("struct ") && (line.contains("(pub(super) ") || line.contains("(pub(crate) "));
    let rest = line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map(|(_, rest)| rest);
    let named = rest.and_then(|rest| rest.split_once(':')).is_some_and(|(name, _)| {
        name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_')
    });
    of_tuple || named
}

#[test]
fn machines_keep_their_state_to_themselves() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/walker"), &mut files);
    assert!(files.len() > 40, "{files:?}");
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut current = file.display().to_string();
        for line in text.lines() {
            if let Some(name) = struct_name(line) {
                name.clone_into(&mut current);
            }
            if is_open(line) {
                *open.entry(current.clone()).or_default() += 1;
            }
        }
    }
    let listed = OPEN.map(|(name, fields)| (name.to_owned(), fields));
    assert_eq!(open, BTreeMap::from(listed));
}
