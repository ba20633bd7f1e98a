//! Documentation of functions in the WIT of a component: the custom section `package-docs`, if present.
//!
//! The section is a byte with the version of its format and the documentation of one package in JSON, by world, interface and function,
//! as `wit-parser` writes it. It is as untrusted as the component: its size, its depth and the length of a description are limited.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use graph_core::json::{MAX_DEPTH, TreeLimit, parse_strict};
use graph_core::node::FunctionDescription;
use serde_json::{Map, Value};
use wasmparser::{Parser, Payload};

/// The name of the section.
const SECTION: &str = "package-docs";
/// Size of the largest section that is read, in bytes.
const LARGEST: usize = 1 << 20;
/// The supported versions of its format.
const VERSIONS: [u8; 2] = [0, 1];
/// Largest number of characters of a function's description; the rest is cut off.
const MOST_CHARACTERS: usize = 1000;
/// Largest number of characters of the component that an error shows.
const MOST_SHOWN: usize = 200;

/// The reason why the documentation of a component was not read. Its functions can be called nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentationError {
    /// The component has more than one section.
    #[error("it has several sections `{SECTION}`")]
    Several,
    /// The section is too large.
    #[error("its section `{SECTION}` has {0} bytes; at most {LARGEST} are read")]
    Size(usize),
    /// The section is of another format.
    #[error("its section `{SECTION}` has a format of another version")]
    Version,
    /// The section does not contain JSON.
    #[error("its section `{SECTION}` is not valid JSON: {0}")]
    Json(String),
    /// The JSON does not have the form of the format.
    #[error("in its section `{SECTION}`, `{at}` is not {expected}")]
    Shape {
        /// The key.
        at: String,
        /// The expected form.
        expected: &'static str,
    },
}

/// The first paragraph about each function of a scope.
type Paragraphs = BTreeMap<String, String>;

/// The description on which all worlds with a function agree; `None` if they differ.
type AgreedDescription = Option<String>;

/// The descriptions of a component's functions: those of its worlds, those of the interfaces that worlds define themselves, and those of
/// interfaces.
#[derive(Default)]
pub(super) struct Documentation {
    functions: BTreeMap<String, AgreedDescription>,
    own: BTreeMap<String, BTreeMap<String, AgreedDescription>>,
    interfaces: BTreeMap<String, Paragraphs>,
}

impl Documentation {
    /// Reads the section of a component; `None` if it has none.
    pub(super) fn read(component: &[u8]) -> Result<Option<Self>, DocumentationError> {
        let Some(section) = section(component)? else { return Ok(None) };
        if section.len() > LARGEST {
            return Err(DocumentationError::Size(section.len()));
        }
        let Some((version, json)) = section.split_first() else { return Err(DocumentationError::Version) };
        if !VERSIONS.contains(version) {
            return Err(DocumentationError::Version);
        }
        let text = std::str::from_utf8(json).map_err(|error| not_json(&error.to_string()))?;
        let package = parse_strict(text, MAX_DEPTH, TreeLimit::DOCUMENT)
            .map_err(|error| not_json(&error.to_string()))?;
        let package = object(SECTION, &package)?;
        let mut documentation = Self { interfaces: interfaces(package, "interfaces")?, ..Self::default() };
        for (name, world) in entries(package, "worlds")? {
            documentation.add_world(object(name, world)?)?;
        }
        Ok(Some(documentation))
    }

    fn add_world(&mut self, world: &Map<String, Value>) -> Result<(), DocumentationError> {
        // Exported functions have keys of their own only if they are also imported.
        let mut functions = paragraphs(world, "funcs")?;
        functions.extend(paragraphs(world, "func_exports")?);
        agree(&mut self.functions, functions);
        let mut own = interfaces(world, "interfaces")?;
        own.extend(interfaces(world, "interface_exports")?);
        for (interface, functions) in own {
            agree(self.own.entry(interface).or_default(), functions);
        }
        Ok(())
    }

    /// Fills in the summaries of functions, and the descriptions of their params. `names` are those of all functions that the component
    /// exports.
    pub(super) fn describe(&self, functions: &mut [FunctionDescription], names: &BTreeSet<String>) {
        let exported: BTreeSet<&str> =
            names.iter().filter_map(|name| name.rsplit_once('/')).map(|(interface, _)| interface).collect();
        let mut same: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, short) in exported.iter().filter_map(|interface| interface.rsplit_once('/')) {
            *same.entry(short).or_default() += 1;
        }
        for function in functions {
            let Some(summary) = self.summary(&function.name, &same) else { continue };
            summary.clone_into(&mut function.summary);
            if let Value::Object(schema) = &mut function.params {
                schema.insert("description".to_owned(), Value::from(summary));
            }
        }
    }

    /// Returns the description of a function, by its name in item ids. `same` counts the exported interfaces by their short names.
    fn summary(&self, name: &str, same: &BTreeMap<&str, usize>) -> Option<&str> {
        let Some((interface, function)) = name.rsplit_once('/') else {
            return self.functions.get(name)?.as_deref();
        };
        let Some((_, short)) = interface.rsplit_once('/') else {
            return self.own.get(interface)?.get(function)?.as_deref();
        };
        // The section does not name its package: of two interfaces with the same short name, it is unknown which one is described.
        if same.get(short).is_some_and(|count| *count > 1) {
            return None;
        }
        self.interfaces.get(short)?.get(function).map(String::as_str)
    }
}

/// Adds the descriptions of another world.
fn agree(all: &mut BTreeMap<String, AgreedDescription>, more: Paragraphs) {
    for (name, paragraph) in more {
        match all.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(Some(paragraph));
            }
            Entry::Occupied(mut entry) if entry.get().as_ref() != Some(&paragraph) => {
                entry.insert(None);
            }
            Entry::Occupied(_) => {}
        }
    }
}

/// Returns the content of the section of the outermost component.
fn section(component: &[u8]) -> Result<Option<&[u8]>, DocumentationError> {
    let mut found = None;
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 && section.name() == SECTION => {
                let before = found.replace(section.data());
                if before.is_some() {
                    return Err(DocumentationError::Several);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn interfaces(
    scope: &Map<String, Value>,
    key: &str,
) -> Result<BTreeMap<String, Paragraphs>, DocumentationError> {
    entries(scope, key)?
        .map(|(name, interface)| Ok((name.clone(), paragraphs(object(name, interface)?, "funcs")?)))
        .collect()
}

fn paragraphs(scope: &Map<String, Value>, key: &str) -> Result<Paragraphs, DocumentationError> {
    let mut found = Paragraphs::new();
    for (name, function) in entries(scope, key)? {
        let docs = match function {
            Value::Object(function) => function.get("docs").unwrap_or(&Value::Null),
            // In the format of version 0, the value is the text.
            other => other,
        };
        match docs {
            Value::String(docs) => {
                let paragraph = paragraph(docs);
                if !paragraph.is_empty() {
                    found.insert(name.clone(), paragraph);
                }
            }
            Value::Null => {}
            _ => return Err(not_in_the_format(name, "a text")),
        }
    }
    Ok(found)
}

/// Returns the entries of an object under a key; none if the key is missing.
fn entries<'v>(
    scope: &'v Map<String, Value>,
    key: &str,
) -> Result<impl Iterator<Item = (&'v String, &'v Value)> + use<'v>, DocumentationError> {
    let found = scope.get(key).map(|value| object(key, value)).transpose()?;
    Ok(found.into_iter().flatten())
}

fn object<'v>(at: &str, value: &'v Value) -> Result<&'v Map<String, Value>, DocumentationError> {
    value.as_object().ok_or_else(|| not_in_the_format(at, "an object"))
}

fn not_json(reason: &str) -> DocumentationError {
    DocumentationError::Json(cut_off(reason, MOST_SHOWN))
}

fn not_in_the_format(at: &str, expected: &'static str) -> DocumentationError {
    DocumentationError::Shape { at: cut_off(at, MOST_SHOWN), expected }
}

/// Returns the first paragraph in one line, cut off if it is too long.
fn paragraph(docs: &str) -> String {
    let lines = docs.lines().map(str::trim).skip_while(|line| line.is_empty());
    let words = lines.take_while(|line| !line.is_empty()).flat_map(str::split_whitespace);
    cut_off(&words.collect::<Vec<_>>().join(" "), MOST_CHARACTERS)
}

fn cut_off(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
