//! Reads a mapping key by key, and reports every problem.
//!
//! ```
//! use graph_core::diagnostic::Problems;
//! use graph_core::keys::{Key, KeyTable, Shape};
//! use graph_core::yaml::{Fields, parse};
//!
//! static EXAMPLE: KeyTable = KeyTable {
//!     name: "example",
//!     title: "an example",
//!     keys: &[
//!         Key::new("name", Shape::Text(""), "What it is called").required(),
//!         Key::new("retries", Shape::Integer(0, 10), "How often it is tried again").or("`0`"),
//!     ],
//! };
//!
//! let text = "name: echo\nretries: 3\ncolour: red\n";
//! let problems = Problems::new();
//! let root = parse(text, &problems).unwrap();
//! let mut fields = Fields::open(&root, &EXAMPLE, "the example", &problems).unwrap();
//! assert_eq!(fields.required("name").and_then(|node| node.text("a name", &problems)), Some("echo"));
//! assert_eq!(fields.u64("retries", 0..=10), Some(3));
//! fields.finish(); // reports `colour`
//! assert_eq!(problems.len(), 1);
//! ```

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::node::{Mapping, MappingEntry, Node, Yaml};
use super::units::{parse_duration, parse_size};
use crate::diagnostic::{Code, Diagnostic, Problems, Span, codes, nearest};
use crate::keys::KeyTable;

/// A mapping that is read with the table of its keys. A key without a row in the table is unknown, whether the reader asks for it or not;
/// so is a key that the reader does not ask for. [`Fields::finish`] reports the unknown keys.
#[must_use = "`finish` reports the unknown keys"]
pub struct Fields<'n> {
    mapping: &'n Mapping,
    table: &'static KeyTable,
    span: Span,
    what: Cow<'n, str>,
    /// A bit for each of the first entries: set if it was asked for and has a row.
    found: u64,
    /// Prefix of further known keys.
    prefix: Option<&'static str>,
    problems: &'n Problems,
}

/// Returns the bit of an entry in [`Fields::found`]; 0 for an entry without a bit.
fn bit(entry: usize) -> u64 {
    u32::try_from(entry).ok().and_then(|entry| 1_u64.checked_shl(entry)).unwrap_or(0)
}

impl<'n> Fields<'n> {
    /// Starts reading a mapping; anything else is reported as a wrong type. `what` names the mapping in messages: "the
    /// manifest", "node `a`".
    pub fn open(
        node: &'n Node,
        table: &'static KeyTable,
        what: impl Into<Cow<'n, str>>,
        problems: &'n Problems,
    ) -> Option<Self> {
        let what = what.into();
        let mapping = node.mapping(&what, problems)?;
        Some(Self { mapping, table, span: node.span, what, found: 0, prefix: None, problems })
    }

    /// Returns the same mapping, read with the table of a more special kind.
    pub fn with_table(self, table: &'static KeyTable) -> Self {
        Self { table, ..self }
    }

    /// Returns the place of the mapping.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Returns the name of the mapping in messages.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the collection to which this reader reports problems.
    pub const fn problems(&self) -> &'n Problems {
        self.problems
    }

    /// Returns the key and its value, if the key is present.
    pub fn entry(&mut self, key: &'static str) -> Option<&'n MappingEntry> {
        #[cfg(feature = "asked-keys")]
        asked::note(self.table, key);
        let at = self.mapping.entries.iter().position(|entry| entry.key.name == key)?;
        self.table.find(key)?;
        self.found |= bit(at);
        self.mapping.entries.get(at)
    }

    /// Returns the value of a key, if the key is present.
    pub fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the value of a key, if the key is present with a value: an empty `key:` counts as missing.
    pub fn filled(&mut self, key: &'static str) -> Option<&'n Node> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Returns the value of a key; its absence is reported.
    pub fn required(&mut self, key: &'static str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            let first = self.mapping.entries.first().map(|entry| entry.key.span);
            let place = first.unwrap_or(self.span.first_line());
            let problem =
                Diagnostic::error(codes::MISSING_KEY, place, format!("{} lacks `{key}`", self.what));
            self.problems.push(problem.label(format!("`{key}` is missing here")));
        }
        found
    }

    /// Returns the text of a key, if the key is present.
    pub fn text(&mut self, key: &'static str) -> Option<&'n str> {
        self.get(key)?.text(format_args!("`{key}`"), self.problems)
    }

    /// Returns the boolean of a key, if the key is present.
    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        self.get(key)?.bool(format_args!("`{key}`"), self.problems)
    }

    /// Returns the integer of a key within a range, if the key is present.
    pub fn u64(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.get(key)?.u64(format_args!("`{key}`"), range, self.problems)
    }

    /// Checks the `version` of the document's format; without it, the version is 1. A later one is reported.
    pub fn format_version(&mut self, known: u64) {
        let Some(node) = self.get("version") else { return };
        let what = self.what().to_owned();
        node.format_version(&what, known, self.problems);
    }

    /// Returns the finite number of a key within a range, if the key is present.
    pub fn f64(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.get(key)?.f64(format_args!("`{key}`"), range, self.problems)
    }

    /// Returns the duration of a key, if the key is present.
    pub fn duration(&mut self, key: &'static str) -> Option<Duration> {
        self.get(key)?.duration(format_args!("`{key}`"), self.problems)
    }

    /// Returns the size of a key in bytes, if the key is present.
    pub fn size(&mut self, key: &'static str) -> Option<u64> {
        self.get(key)?.size(format_args!("`{key}`"), self.problems)
    }

    /// Returns one of a few words, if the key is present.
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        self.get(key)?.choice(format_args!("`{key}`"), choices, self.problems)
    }

    /// Returns the texts of a list, each with its node, if the key is present.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<(&'n str, &'n Node)>> {
        self.get(key)?.texts(format_args!("`{key}`"), self.problems)
    }

    /// Opens the mapping of a key, if the key is present.
    pub fn fields(
        &mut self,
        key: &'static str,
        table: &'static KeyTable,
        what: impl Into<Cow<'n, str>>,
    ) -> Option<Fields<'n>> {
        Fields::open(self.get(key)?, table, what, self.problems)
    }

    /// Returns the entries whose keys begin with a prefix, in document order. A later call replaces the prefix of an earlier one.
    pub fn prefixed(&mut self, prefix: &'static str) -> impl Iterator<Item = &'n MappingEntry> + use<'n> {
        self.prefix = Some(prefix);
        self.mapping.iter().filter(move |entry| entry.key.name.starts_with(prefix))
    }

    /// Marks keys as asked for that are read in another way.
    pub fn also_known(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.entry(key);
        }
    }

    fn known_sorted(&self) -> String {
        let mut known: Vec<_> = self.table.names().collect();
        known.sort_unstable();
        known.join(", ")
    }

    /// Reports every unknown key, with the nearest known one.
    pub fn finish(self) {
        for (at, entry) in self.mapping.iter().enumerate() {
            let name = entry.key.name.as_str();
            let has_prefix = self.prefix.is_some_and(|prefix| name.starts_with(prefix));
            // For an entry without a bit, a row suffices.
            let has_row = bit(at) == 0 && self.table.find(name).is_some();
            if self.found & bit(at) != 0 || has_prefix || has_row {
                continue;
            }
            if self.problems.is_full() {
                return;
            }
            let message = format!("`{}` is not a key of {}", crate::diagnostic::excerpt(name), self.what);
            let problem = Diagnostic::error(codes::UNKNOWN_KEY, entry.key.span, message).label("unknown key");
            let help = match (self.table.owner_below(name), nearest(name, self.table.names())) {
                (Some(owner), _) => format!("it is a key of `{owner}`: {owner}: {{ {name}: … }}"),
                (None, Some(known)) => format!("did you mean `{known}`?"),
                (None, None) if self.table.keys.is_empty() => "it has no keys".to_owned(),
                (None, None) => format!("known keys: {}", self.known_sorted()),
            };
            self.problems.push(problem.help(help));
        }
    }
}

/// Typed reads of one value. Each reports a problem and then returns `None`; `what` names the value in the message.
impl Node {
    /// Reports a value of a wrong type.
    pub fn wrong_type(&self, what: impl Display, expected: &str, problems: &Problems) {
        let message = format!("{what} must be {expected}, not {}", self.kind());
        problems.push(
            Diagnostic::error(codes::WRONG_TYPE, self.span.first_line(), message)
                .label(format!("expected {expected}")),
        );
    }

    /// Reads a mapping; its keys are read with a table by [`Fields::open`].
    pub fn mapping(&self, what: impl Display, problems: &Problems) -> Option<&Mapping> {
        let found = self.as_mapping();
        if found.is_none() {
            self.wrong_type(what, "a mapping", problems);
        }
        found
    }

    /// Reads a list, whose items may be of any type.
    pub fn list(&self, what: impl Display, problems: &Problems) -> Option<&[Node]> {
        let found = self.as_list();
        if found.is_none() {
            self.wrong_type(what, "a list", problems);
        }
        found
    }

    /// Reads a text; for numbers and booleans, the message suggests quoting them.
    pub fn text(&self, what: impl Display, problems: &Problems) -> Option<&str> {
        let found = self.as_text();
        if found.is_none() {
            let expected = if matches!(self.value, Yaml::Bool(_) | Yaml::Number(_)) {
                "a text (in quotes)"
            } else {
                "a text"
            };
            self.wrong_type(what, expected, problems);
        }
        found
    }

    /// Reads a list of texts, each with its node. Items of other types are reported and left out.
    pub fn texts<'n>(&'n self, what: impl Display, problems: &Problems) -> Option<Vec<(&'n str, &'n Node)>> {
        let Some(items) = self.as_list() else {
            self.wrong_type(what, "a list of texts", problems);
            return None;
        };
        let item_name = format!("each item of {what}");
        Some(
            items
                .iter()
                .filter_map(|item| item.text(&item_name, problems).map(|text| (text, item)))
                .collect(),
        )
    }

    /// Reads `true` or `false`.
    pub fn bool(&self, what: impl Display, problems: &Problems) -> Option<bool> {
        let found = self.as_bool();
        if found.is_none() {
            self.wrong_type(what, "`true` or `false`", problems);
        }
        found
    }

    /// Reads an integer within a range.
    pub fn u64(&self, what: impl Display, range: RangeInclusive<u64>, problems: &Problems) -> Option<u64> {
        let Yaml::Number(number) = &self.value else {
            self.wrong_type(what, "a whole number", problems);
            return None;
        };
        let value = number.as_u64().filter(|value| range.contains(value));
        if value.is_none() {
            let expected = if *range.end() == u64::MAX {
                format!("at least {}", range.start())
            } else {
                format!("from {} to {}", range.start(), range.end())
            };
            self.out_of_range(&format!("{what} must be a whole number, {expected}"), &expected, problems);
        }
        value
    }

    /// Checks the version of a document's format. The message about a later one suggests a newer program.
    pub fn format_version(&self, document: &str, known: u64, problems: &Problems) {
        let stated = if let Yaml::Number(number) = &self.value { number.as_u64() } else { None };
        if let Some(found) = stated.filter(|found| *found > known) {
            let message = format!(
                "{document} has format version {found}, and this program reads versions up to {known}"
            );
            problems.push(
                Diagnostic::error(codes::OUT_OF_RANGE, self.span.first_line(), message)
                    .label("a later version")
                    .help("use a newer graph-host"),
            );
        } else {
            self.u64("`version`", 1..=known, problems);
        }
    }

    /// Reads a finite number within a range.
    pub fn f64(&self, what: impl Display, range: RangeInclusive<f64>, problems: &Problems) -> Option<f64> {
        let Yaml::Number(number) = &self.value else {
            self.wrong_type(what, "a number", problems);
            return None;
        };
        let value = number.as_f64().filter(|value| range.contains(value));
        if value.is_none() {
            let expected = format!("from {} to {}", range.start(), range.end());
            self.out_of_range(&format!("{what} must be {expected}"), &expected, problems);
        }
        value
    }

    /// Reads a duration: `5s`, or a number of seconds.
    pub fn duration(&self, what: impl Display, problems: &Problems) -> Option<Duration> {
        self.measure(what, ("a duration", "5s"), parse_duration, codes::BAD_DURATION, problems)
    }

    /// Reads a size in bytes: `64KiB`, or a number.
    pub fn size(&self, what: impl Display, problems: &Problems) -> Option<u64> {
        self.measure(what, ("a size", "64KiB"), parse_size, codes::BAD_SIZE, problems)
    }

    /// Reads a number with a unit; `kind` and `example` are for the message.
    fn measure<T, E: Display>(
        &self,
        what: impl Display,
        (kind, example): (&str, &str),
        parse: impl Fn(&str) -> Result<T, E>,
        code: Code,
        problems: &Problems,
    ) -> Option<T> {
        let parsed = match &self.value {
            Yaml::Text(text) => parse(&text.value),
            Yaml::Number(number) => parse(&number.to_string()),
            _ => {
                self.wrong_type(what, &format!("{kind} such as `{example}`"), problems);
                return None;
            }
        };
        let report = |error: E| {
            let problem = Diagnostic::error(code, self.span, format!("{what}: {error}"));
            problems.push(problem.label(format!("not {kind}")));
        };
        parsed.map_err(report).ok()
    }

    /// Reads one of a few words.
    pub fn choice<T: Copy>(
        &self,
        what: impl Display,
        choices: &[(&str, T)],
        problems: &Problems,
    ) -> Option<T> {
        let names = || choices.iter().map(|(name, _)| *name);
        let Some(text) = self.as_text() else {
            let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
            self.wrong_type(what, &expected, problems);
            return None;
        };
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() && !problems.is_full() {
            let message = format!("{what} cannot be `{}`", crate::diagnostic::excerpt(text));
            let help = match nearest(text, names()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("one of: {}", names().collect::<Vec<_>>().join(", ")),
            };
            problems.push(Diagnostic::error(codes::UNKNOWN_CHOICE, self.span, message).help(help));
        }
        found
    }

    /// Reports a value that is of the right type but invalid.
    pub fn out_of_range(&self, message: &str, expected: &str, problems: &Problems) {
        let problem = Diagnostic::error(codes::OUT_OF_RANGE, self.span.first_line(), message);
        problems.push(problem.label(expected));
    }
}

/// Record of the keys that readers ask for, from which a test sees whether each of them has a row.
#[cfg(feature = "asked-keys")]
pub mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use crate::keys::KeyTable;

    /// A key that a reader asked for: the name of its table, the key, and whether the table has a row for it.
    pub type AskedKey = (&'static str, &'static str, bool);

    thread_local! {
        static ASKED: RefCell<Option<BTreeSet<AskedKey>>> = const { RefCell::new(None) };
    }

    pub(super) fn note(table: &KeyTable, key: &'static str) {
        ASKED.with_borrow_mut(|asked| {
            if let Some(asked) = asked {
                asked.insert((table.name, key, table.find(key).is_some()));
            }
        });
    }

    /// Returns the keys that readers ask for on this thread while `read` runs.
    pub fn during(read: impl FnOnce()) -> BTreeSet<AskedKey> {
        ASKED.set(Some(BTreeSet::new()));
        read();
        ASKED.take().unwrap_or_default()
    }
}
