//! Parses text to a tree, from the events of `saphyr-parser`.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span as Marks, Tag};

use super::node::{Key, Mapping, MappingEntry, Node, Text, TextStyle, Yaml};
use super::scalar::{self, ScalarError};
use crate::diagnostic::{Code, Diagnostic, Problems, Span, codes, excerpt};

/// Length of the longest document, in bytes.
pub const MAX_TEXT: usize = 8 << 20;
/// Largest nesting of lists and mappings.
pub const MAX_DEPTH: usize = 64;
/// Largest number of values of a document, keys included, a mapping counted as five and each use of an alias with its whole content. It
/// bounds the memory for reading. A graph may have 20,000 nodes of sixty values each.
pub const MAX_NODES: usize = 1_200_000;
/// Number of values that a mapping counts as: as JSON, one with a single entry takes as much memory as several texts.
pub(super) const MAPPING: usize = 5;
/// Largest number of bytes of all texts of a document, each use of an alias counted.
const MAX_EXPANDED: usize = 2 * MAX_TEXT;

/// Reads a document. Problems are reported; if there is an error among them, the tree, if any, only serves to find further problems. Time
/// and memory are bounded by the limits above, whatever the text.
pub fn parse(text: &str, problems: &Problems) -> Option<Node> {
    if text.len() > MAX_TEXT {
        let message = format!("the document has {} bytes; at most {MAX_TEXT} are read", text.len());
        let place = Span::locate(text, MAX_TEXT, MAX_TEXT);
        problems.push(
            Diagnostic::error(codes::YAML_TOO_LARGE, place, message).label("the limit is reached here"),
        );
        return None;
    }
    if let Some(root) = super::json_document::read(text) {
        return Some(root);
    }
    let index = Index::new(text);
    if let Some((at, c)) = text.char_indices().find(|(_, c)| !is_printable(*c)) {
        let message = format!("the character U+{:04X} is not allowed in YAML", u32::from(c));
        let problem = Diagnostic::error(codes::YAML_CHARACTER, index.span(at, at + c.len_utf8()), message);
        problems.push(problem.help("write it as an escape inside double quotes, or remove it"));
        return None;
    }
    let mut builder = Builder {
        text,
        index: &index,
        problems,
        stack: Vec::new(),
        items: Vec::new(),
        entries: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        bytes: 0,
        root: None,
    };
    builder.run();
    let root = builder.root;
    if root.as_ref().is_none_or(Node::is_null) && !problems.has_errors() {
        problems.push(Diagnostic::error(codes::YAML_EMPTY, index.span(0, 0), "the document is empty"));
        return None;
    }
    root
}

/// Checks for `c-printable` (YAML 1.2.2, 5.1).
fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Maps the character offsets of the parser to bytes, lines and columns.
struct Index<'t> {
    text: &'t str,
    /// The byte of every 64th character; empty where each character is a byte.
    blocks: Vec<usize>,
    /// The byte and the character at which each line starts.
    lines: Vec<(usize, usize)>,
    /// The line of the last search: the next place is mostly on it, or on the one after it.
    last_line: Cell<usize>,
}

impl<'t> Index<'t> {
    const BLOCK: usize = 64;

    fn new(text: &'t str) -> Self {
        let mut blocks = Vec::new();
        let mut lines = vec![(0, 0)];
        let ascii = text.is_ascii();
        for (count, (at, c)) in text.char_indices().enumerate() {
            if !ascii && count % Self::BLOCK == 0 {
                blocks.push(at);
            }
            if c == '\n' {
                lines.push((at + 1, count + 1));
            }
        }
        Self { text, blocks, lines, last_line: Cell::new(0) }
    }

    fn byte(&self, character: usize) -> usize {
        if self.blocks.is_empty() {
            return character.min(self.text.len());
        }
        let Some(block) = self.blocks.get(character / Self::BLOCK) else { return self.text.len() };
        let rest = &self.text[*block..];
        rest.char_indices().nth(character % Self::BLOCK).map_or(self.text.len(), |(at, _)| block + at)
    }

    /// Returns the index of the line that contains a byte.
    fn line(&self, byte: usize) -> usize {
        let starts_by = |line: usize| self.lines.get(line).is_some_and(|(start, _)| *start <= byte);
        let last = self.last_line.get();
        let line = if !starts_by(last) || starts_by(last + 2) {
            self.lines.partition_point(|(start, _)| *start <= byte).saturating_sub(1)
        } else {
            last + usize::from(starts_by(last + 1))
        };
        self.last_line.set(line);
        line
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let line = self.line(start);
        let line_start = self.lines[line].0;
        let column = self.text.get(line_start..start).map_or(0, |before| before.chars().count()) + 1;
        Span { start, end: end.max(start), line: line + 1, column }
    }

    /// Returns the place between two offsets in characters, without blanks at its end. The time does not depend on the length of the line:
    /// a document of one line has as many places as any other.
    fn between(&self, first: usize, last: usize) -> Span {
        let start = self.byte(first);
        let end = self.byte(last).max(start);
        let written = self.text.get(start..end).unwrap_or_default();
        let line = self.line(start);
        let column = first.saturating_sub(self.lines[line].1) + 1;
        Span { start, end: start + written.trim_end().len(), line: line + 1, column }
    }
}

/// A value and its costs.
#[derive(Clone)]
struct BuiltNode {
    node: Node,
    nodes: usize,
    bytes: usize,
    height: usize,
}

struct Frame {
    kind: FrameKind,
    span: Span,
    anchor: usize,
    nodes: usize,
    bytes: usize,
    height: usize,
}

enum FrameKind {
    /// The items are those of the builder from `first` on.
    List { first: usize },
    /// The entries are those of the builder from `first` on. `seen` are the keys, if there are many.
    Mapping { first: usize, seen: BTreeMap<String, Span>, key: PendingKey },
}

/// The key of the next value.
enum PendingKey {
    /// A key comes next.
    None,
    Some(Key),
    /// The key was invalid, and its value is read and dropped.
    Dropped,
}

/// Reading cannot continue; the reason was reported.
struct Aborted;

struct Builder<'t> {
    text: &'t str,
    index: &'t Index<'t>,
    problems: &'t Problems,
    stack: Vec<Frame>,
    /// The items of the open lists, those of an inner list after those of the enclosing lists.
    items: Vec<Node>,
    /// The entries of the open mappings, in the same order.
    entries: Vec<MappingEntry>,
    /// The value of each anchor that was read completely.
    anchors: BTreeMap<usize, BuiltNode>,
    nodes: usize,
    bytes: usize,
    root: Option<Node>,
}

impl Builder<'_> {
    fn run(&mut self) {
        let mut documents = 0;
        // Versions of the parser differ in whether a byte order mark counts as a character.
        let skipped = usize::from(self.text.starts_with('\u{feff}'));
        let mut parser = Parser::new_from_str(self.text.trim_start_matches('\u{feff}'));
        while let Some(event) = parser.next_event() {
            let (event, marks) = match event {
                Ok(event) => event,
                Err(error) => {
                    let at = error.marker().index() + skipped;
                    if error.info() == "recursion limit exceeded" {
                        self.too_deep(self.index.between(at, at + 1));
                        return;
                    }
                    self.error(codes::YAML_SYNTAX, self.index.between(at, at + 1), error.info(), None);
                    return;
                }
            };
            if matches!(event, Event::DocumentStart(_)) {
                documents += 1;
                if documents > 1 {
                    let span = self.span(marks, skipped);
                    let help = Some("put each document into a file of its own");
                    self.error(codes::YAML_SEVERAL_DOCUMENTS, span, "a second document starts here", help);
                    return;
                }
            }
            if self.event(event, self.span(marks, skipped)).is_err() {
                return;
            }
        }
    }

    fn span(&self, marks: Marks, skipped: usize) -> Span {
        self.index.between(marks.start.index() + skipped, marks.end.index() + skipped)
    }

    fn error(&self, code: Code, span: Span, message: &str, help: Option<&str>) {
        let problem = Diagnostic::error(code, span, message);
        self.problems.push(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Aborted> {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let bytes = value.len();
                let node = self.scalar(value, style, tag.as_deref(), span);
                self.charge(1, bytes, span)?;
                self.complete(BuiltNode { node, nodes: 1, bytes, height: 0 }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                self.open(FrameKind::List { first: self.items.len() }, 1, anchor, span)
            }
            Event::MappingStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                let first = self.entries.len();
                let kind = FrameKind::Mapping { first, seen: BTreeMap::new(), key: PendingKey::None };
                self.open(kind, MAPPING, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    /// Counts values and bytes against the limits.
    fn charge(&mut self, nodes: usize, bytes: usize, span: Span) -> Result<(), Aborted> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes <= MAX_NODES && self.bytes <= MAX_EXPANDED {
            return Ok(());
        }
        let message = if self.nodes > MAX_NODES {
            format!(
                "the document has more than {MAX_NODES} values, with keys, each mapping counted as {MAPPING} and each \
                 alias as all that it stands for: reading it would take too much memory"
            )
        } else {
            format!(
                "the texts of the document have more than {MAX_EXPANDED} bytes once its aliases are resolved"
            )
        };
        let problem = Diagnostic::error(codes::YAML_TOO_LARGE, span.first_line(), message);
        self.problems.push(problem.label("the limit is reached here").help(
            "keep large data outside of the document, as a file or an input; a large graph can be divided into graphs \
             that it calls",
        ));
        Err(Aborted)
    }

    fn too_deep(&self, span: Span) -> Aborted {
        let message = format!("lists and mappings are nested more than {MAX_DEPTH} deep");
        let problem = Diagnostic::error(codes::YAML_TOO_LARGE, span.first_line(), message);
        self.problems.push(problem.label("the limit is reached here"));
        Aborted
    }

    fn open(&mut self, kind: FrameKind, nodes: usize, anchor: usize, span: Span) -> Result<(), Aborted> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        self.charge(nodes, 0, span)?;
        self.stack.push(Frame { kind, span, anchor, nodes, bytes: 0, height: 0 });
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Aborted> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        // Each collection is allocated with its exact size: most are small.
        let (value, last) = match frame.kind {
            FrameKind::List { first } => {
                let items = self.items.split_off(first);
                let last = items.last().map(|item| item.span.end);
                (Yaml::List(items), last)
            }
            FrameKind::Mapping { first, .. } => {
                let entries = self.entries.split_off(first);
                let last = entries.last().map(|entry| entry.value.span.end.max(entry.key.span.end));
                (Yaml::Mapping(Mapping { entries }), last)
            }
        };
        // A flow collection ends with its bracket; a block one is closed by the following text.
        let bracket = self.text.get(end.start..end.end).is_some_and(|text| text.ends_with([']', '}']));
        let last = if bracket { end.end } else { last.unwrap_or(frame.span.end) };
        let span = Span { end: last.max(frame.span.start), ..frame.span };
        let built = BuiltNode {
            node: Node { value, span },
            nodes: frame.nodes,
            bytes: frame.bytes,
            height: frame.height,
        };
        self.complete(built, frame.anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Aborted> {
        let Some(found) = self.anchors.get(&anchor) else {
            let message = "the alias is inside the value that it is an alias of";
            self.error(codes::YAML_ALIAS, span, message, Some("write the value out"));
            return self.complete(
                BuiltNode { node: Node { value: Yaml::Null, span }, nodes: 1, bytes: 0, height: 0 },
                0,
            );
        };
        let (nodes, bytes, height) = (found.nodes, found.bytes, found.height);
        if self.stack.len() + height > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        self.charge(nodes, bytes, span)?;
        let Some(mut built) = self.anchors.get(&anchor).cloned() else { return Ok(()) };
        built.node.span = span;
        self.complete(built, 0)
    }

    /// Adds a value under its anchor, to the innermost collection, or at the root.
    fn complete(&mut self, built: BuiltNode, anchor: usize) -> Result<(), Aborted> {
        if anchor > 0 {
            self.charge(built.nodes, built.bytes, built.node.span)?;
            self.anchors.insert(anchor, built.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built.node);
            return Ok(());
        };
        frame.nodes += built.nodes;
        frame.bytes += built.bytes;
        frame.height = frame.height.max(built.height + 1);
        match &mut frame.kind {
            FrameKind::List { .. } => self.items.push(built.node),
            FrameKind::Mapping { first, seen, key } => match std::mem::replace(key, PendingKey::None) {
                PendingKey::Some(key) => self.entries.push(MappingEntry { key, value: built.node }),
                PendingKey::Dropped => {}
                PendingKey::None => {
                    let usable = check_key(built.node, &self.entries[*first..], seen, self.problems);
                    *key = usable.map_or(PendingKey::Dropped, PendingKey::Some);
                }
            },
        }
        Ok(())
    }

    fn collection_tag(&self, tag: Option<&Tag>, expected: &str, span: Span) {
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() && tag.suffix == expected)
            && format!("{}{}", tag.handle, tag.suffix) != "!"
        {
            self.unknown_tag(tag, span);
        }
    }

    fn unknown_tag(&self, tag: &Tag, span: Span) {
        let message = format!("the tag `{}{}` is not known, or not for this value", tag.handle, tag.suffix);
        self.error(codes::YAML_TAG, span.first_line(), &message, Some("leave the tag out"));
    }

    fn scalar(&self, value: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Node {
        let style = match style {
            ScalarStyle::Plain => TextStyle::Plain,
            ScalarStyle::SingleQuoted => TextStyle::SingleQuoted,
            ScalarStyle::DoubleQuoted => TextStyle::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => TextStyle::Block,
        };
        let resolved = match tag {
            None if style == TextStyle::Plain => self.plain(&value, span),
            None => None,
            Some(tag) => self.tagged(&value, tag, span),
        };
        let value = resolved.unwrap_or_else(|| Yaml::Text(Text { value: kept(value), style }));
        Node { value, span }
    }

    /// Returns the value of a plain scalar; `None` for a text.
    fn plain(&self, value: &str, span: Span) -> Option<Yaml> {
        match scalar::plain(value) {
            Ok(resolved @ Some(_)) => resolved,
            Ok(None) => {
                if scalar::looks_boolean(value) {
                    let message = format!("`{value}` is a text here, not a boolean");
                    let problem = Diagnostic::warning(codes::YAML_BOOLEAN_LOOKALIKE, span, message);
                    self.problems.push(
                        problem.help(format!(
                            "write `true` or `false` for a boolean, `\"{value}\"` for the text"
                        )),
                    );
                }
                None
            }
            Err(error) => {
                self.number_error(error, value, span);
                Some(Yaml::Null)
            }
        }
    }

    fn number_error(&self, error: ScalarError, value: &str, span: Span) {
        let message = match error {
            ScalarError::IntegerRange => format!("the integer `{}` does not fit 64 bits", excerpt(value)),
            ScalarError::NotFinite => format!("the number `{}` is not a finite 64-bit float", excerpt(value)),
        };
        self.error(codes::YAML_NUMBER, span, &message, Some("put it in quotes if a text is meant"));
    }

    /// Returns the value of a scalar with a tag; `None` for a text.
    fn tagged(&self, value: &str, tag: &Tag, span: Span) -> Option<Yaml> {
        if format!("{}{}", tag.handle, tag.suffix) == "!"
            || (tag.is_yaml_core_schema() && tag.suffix == "str")
        {
            return None;
        }
        let resolved = match scalar::plain(value) {
            Ok(resolved) => resolved,
            Err(error) => {
                self.number_error(error, value, span);
                return Some(Yaml::Null);
            }
        };
        let fitting = tag.is_yaml_core_schema().then_some(resolved).flatten().and_then(|resolved| {
            match (tag.suffix.as_str(), &resolved) {
                ("null", Yaml::Null) | ("bool", Yaml::Bool(_)) => Some(resolved),
                ("int", Yaml::Number(number)) if !number.is_f64() => Some(resolved),
                ("float", Yaml::Number(number)) => {
                    number.as_f64().and_then(serde_json::Number::from_f64).map(Yaml::Number)
                }
                _ => None,
            }
        });
        if fitting.is_none() {
            self.unknown_tag(tag, span);
        }
        fitting
    }
}

/// Returns a text of the parser, with little unused capacity.
fn kept(text: Cow<'_, str>) -> String {
    /// Number of bytes that the parser initially reserves for a text.
    const FEW: usize = 32;
    let mut text = text.into_owned();
    if text.capacity() > FEW.max(text.len() + text.len() / 4) {
        text.shrink_to_fit();
    }
    text
}

/// Returns the key of a node, if it is valid in a mapping with these entries.
fn check_key(
    node: Node,
    entries: &[MappingEntry],
    seen: &mut BTreeMap<String, Span>,
    problems: &Problems,
) -> Option<Key> {
    let span = node.span;
    let kind = node.kind();
    let Yaml::Text(text) = node.value else {
        let message = format!("a key must be a text, not {kind}");
        let problem = Diagnostic::error(codes::YAML_KEY_NOT_TEXT, span.first_line(), message);
        problems.push(problem.help("put the key in quotes"));
        return None;
    };
    if text.style == TextStyle::Plain && text.value == "<<" {
        let problem = Diagnostic::error(codes::YAML_MERGE_KEY, span, "merge keys are not supported");
        problems.push(problem.help("write the keys out"));
        return None;
    }
    if text.value == "__proto__" {
        let problem = Diagnostic::error(codes::YAML_RESERVED_KEY, span, "the key `__proto__` is reserved");
        problems.push(problem.help("choose another name"));
        return None;
    }
    let Some(first) = place_of(&text.value, entries, seen) else {
        return Some(Key { name: text.value, span });
    };
    let message = format!("the key `{}` is given twice", excerpt(&text.value));
    let problem = Diagnostic::error(codes::YAML_DUPLICATE_KEY, span, message).label("again here");
    problems.push(problem.also(first, "first here"));
    None
}

/// Returns the place of a key among entries, if present. `seen` are the keys of the first of them, once there are many.
fn place_of(key: &str, entries: &[MappingEntry], seen: &mut BTreeMap<String, Span>) -> Option<Span> {
    /// Number of entries up to which a scan is as fast as a map.
    const FEW: usize = 16;
    if entries.len() <= FEW {
        return entries
            .iter()
            .map(|entry| &entry.key)
            .find(|known| known.name == key)
            .map(|known| known.span);
    }
    let later = entries.get(seen.len()..).unwrap_or_default();
    seen.extend(later.iter().map(|entry| (entry.key.name.clone(), entry.key.span)));
    seen.get(key).copied()
}
