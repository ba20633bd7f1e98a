//! Reading a mapping key by key, with every problem reported in one go.
//!
//! ```
//! use graph_core::diagnostic::Problems;
//! use graph_core::yaml::{Fields, parse};
//!
//! let text = "name: echo\nretries: 3\ncolour: red\n";
//! let problems = Problems::new();
//! let root = parse(text, &problems).unwrap();
//! let mut fields = Fields::open(&root, "the example", &problems).unwrap();
//! assert_eq!(fields.required("name").and_then(|node| node.text("a name", &problems)), Some("echo"));
//! assert_eq!(fields.u64("retries", 0..=10), Some(3));
//! fields.finish(); // reports `colour`
//! assert_eq!(problems.len(), 1);
//! ```

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::node::{Entry, Mapping, Node, Yaml};
use super::units::{parse_duration, parse_size};
use crate::diagnostic::{Code, Diagnostic, Problems, Span, codes, nearest, printable};

/// A mapping that is being read. Every key that is asked for is known from then on; [`Fields::finish`] reports the
/// others.
#[must_use = "`finish` reports the keys that nobody asked for"]
pub struct Fields<'n> {
    mapping: &'n Mapping,
    span: Span,
    what: Cow<'n, str>,
    /// One that is asked for again is here again.
    known: Vec<&'static str>,
    /// A bit for each of the first entries: whether it was asked for.
    found: u64,
    problems: &'n Problems,
}

/// How many keys most kinds of mappings have at most.
const KEYS: usize = 16;

/// The bit of an entry in [`Fields::found`]; none for an entry that has no bit.
fn bit(entry: usize) -> u64 {
    u32::try_from(entry).ok().and_then(|entry| 1_u64.checked_shl(entry)).unwrap_or(0)
}

impl<'n> Fields<'n> {
    /// Starts reading a mapping; anything else is reported as a wrong type. `what` names the mapping in messages: "the
    /// manifest", "node `a`".
    pub fn open(node: &'n Node, what: impl Into<Cow<'n, str>>, problems: &'n Problems) -> Option<Self> {
        let what = what.into();
        let mapping = node.mapping(&what, problems)?;
        Some(Self { mapping, span: node.span, what, known: Vec::with_capacity(KEYS), found: 0, problems })
    }

    /// Where the mapping stands.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// What the mapping is called in messages.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The problems that this reader reports to.
    pub const fn problems(&self) -> &'n Problems {
        self.problems
    }

    /// The key and its value, if the key is there.
    pub fn entry(&mut self, key: &'static str) -> Option<&'n Entry> {
        self.known.push(key);
        let at = self.mapping.entries.iter().position(|entry| entry.key.name == key)?;
        self.found |= bit(at);
        self.mapping.entries.get(at)
    }

    /// The value of a key, if the key is there.
    pub fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key, if the key is there and has one: `key:` with nothing behind it counts as not there.
    pub fn filled(&mut self, key: &'static str) -> Option<&'n Node> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// The value of a key; its absence is reported.
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

    /// The text of a key, if the key is there.
    pub fn text(&mut self, key: &'static str) -> Option<&'n str> {
        self.get(key)?.text(format_args!("`{key}`"), self.problems)
    }

    /// The boolean of a key, if the key is there.
    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        self.get(key)?.bool(format_args!("`{key}`"), self.problems)
    }

    /// The integer of a key within a range, if the key is there.
    pub fn u64(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.get(key)?.u64(format_args!("`{key}`"), range, self.problems)
    }

    /// Checks the `version` of the document's format, if it states one: 1, where it does not. A later one is a problem.
    pub fn format_version(&mut self, known: u64) {
        let Some(node) = self.get("version") else { return };
        let what = self.what().to_owned();
        node.format_version(&what, known, self.problems);
    }

    /// The finite number of a key within a range, if the key is there.
    pub fn f64(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.get(key)?.f64(format_args!("`{key}`"), range, self.problems)
    }

    /// The duration of a key, if the key is there.
    pub fn duration(&mut self, key: &'static str) -> Option<Duration> {
        self.get(key)?.duration(format_args!("`{key}`"), self.problems)
    }

    /// The size in bytes of a key, if the key is there.
    pub fn size(&mut self, key: &'static str) -> Option<u64> {
        self.get(key)?.size(format_args!("`{key}`"), self.problems)
    }

    /// One of a few words, if the key is there.
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        self.get(key)?.choice(format_args!("`{key}`"), choices, self.problems)
    }

    /// The texts of a list, each with its node, if the key is there.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<(&'n str, &'n Node)>> {
        self.get(key)?.texts(format_args!("`{key}`"), self.problems)
    }

    /// The mapping of a key, to be read in the same way, if the key is there.
    pub fn fields(&mut self, key: &'static str, what: impl Into<Cow<'n, str>>) -> Option<Fields<'n>> {
        Fields::open(self.get(key)?, what, self.problems)
    }

    /// Makes keys known that are read by other means.
    pub fn also_known(&mut self, keys: &[&'static str]) {
        self.known.extend(keys);
    }

    fn known_sorted(&self) -> String {
        let mut known = self.known.clone();
        known.sort_unstable();
        known.dedup();
        known.join(", ")
    }

    /// Reports every key that was not asked for, with the nearest one that was.
    pub fn finish(self) {
        for (at, entry) in self.mapping.iter().enumerate() {
            let name = entry.key.name.as_str();
            if self.found & bit(at) != 0 || self.known.contains(&name) {
                continue;
            }
            if self.problems.is_full() {
                return;
            }
            let message = format!("`{}` is not a key of {}", crate::diagnostic::excerpt(name), self.what);
            let problem = Diagnostic::error(codes::UNKNOWN_KEY, entry.key.span, message).label("unknown key");
            let help = match nearest(name, self.known.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None if self.known.is_empty() => "it has no keys".to_owned(),
                None => format!("known keys: {}", self.known_sorted()),
            };
            self.problems.push(problem.help(help));
        }
    }
}

/// Typed reads of one value. Each reports what is wrong and then gives `None`; `what` names the value in the message.
impl Node {
    /// Reports that something else was expected here.
    pub fn wrong_type(&self, what: impl Display, expected: &str, problems: &Problems) {
        let message = format!("{what} must be {expected}, not {}", self.kind());
        problems.push(
            Diagnostic::error(codes::WRONG_TYPE, self.span.first_line(), message)
                .label(format!("expected {expected}")),
        );
    }

    /// A mapping.
    pub fn mapping(&self, what: impl Display, problems: &Problems) -> Option<&Mapping> {
        let found = self.as_mapping();
        if found.is_none() {
            self.wrong_type(what, "a mapping", problems);
        }
        found
    }

    /// A list.
    pub fn list(&self, what: impl Display, problems: &Problems) -> Option<&[Node]> {
        let found = self.as_list();
        if found.is_none() {
            self.wrong_type(what, "a list", problems);
        }
        found
    }

    /// A text.
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

    /// A list of texts, each with its node. Items of other types are reported and left out.
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

    /// `true` or `false`.
    pub fn bool(&self, what: impl Display, problems: &Problems) -> Option<bool> {
        let found = self.as_bool();
        if found.is_none() {
            self.wrong_type(what, "`true` or `false`", problems);
        }
        found
    }

    /// An integer within a range.
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

    /// Checks the version of a document's format. One that is later than is known says that it needs a newer program.
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

    /// A finite number within a range.
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

    /// A duration: `5s`, or a number of seconds.
    pub fn duration(&self, what: impl Display, problems: &Problems) -> Option<Duration> {
        self.measure(what, ("a duration", "5s"), parse_duration, codes::BAD_DURATION, problems)
    }

    /// A size in bytes: `64KiB`, or a number.
    pub fn size(&self, what: impl Display, problems: &Problems) -> Option<u64> {
        self.measure(what, ("a size", "64KiB"), parse_size, codes::BAD_SIZE, problems)
    }

    /// A number with a unit, of a kind that is named with an example.
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

    /// One of a few words.
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

    /// Reports a value that is of the right type but cannot be used.
    pub fn out_of_range(&self, message: &str, expected: &str, problems: &Problems) {
        let problem = Diagnostic::error(codes::OUT_OF_RANGE, self.span.first_line(), printable(message));
        problems.push(problem.label(expected));
    }
}
