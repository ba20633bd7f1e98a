//! Parses a file's text into its metadata and its body.

use std::ops::Range;

use serde_json::{Map, Value};

use super::directive::{self, Directive};
use super::search::SearchableFields;
use super::xml;
use crate::diagnostic::{Diagnostic, Diagnostics, Problems, Span, codes, excerpt};
use crate::item::ItemType;
use crate::trust::signature_line;
use crate::yaml::{self, Node};

/// The format of a text item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Markdown, with metadata at its top.
    Markdown,
    /// YAML, all of which is metadata.
    Yaml,
}

/// A parsed text item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextItem {
    /// The metadata before the text: YAML unchanged, or the attributes and elements of a directive's XML.
    pub metadata: Map<String, Value>,
    /// The title: from the metadata, or the first heading.
    pub title: Option<String>,
    /// The text after its metadata.
    pub body: String,
    /// A directive's inputs and outputs; `None` for knowledge.
    pub directive: Option<Directive>,
}

/// A valid text item.
#[derive(Debug)]
pub struct ReadText {
    /// The item that was read.
    pub item: TextItem,
    /// The warnings of the document.
    pub warnings: Diagnostics,
}

impl TextItem {
    /// Returns a text of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }

    /// Returns the description in the metadata.
    pub fn description(&self) -> Option<&str> {
        self.text("description").or_else(|| self.metadata.get("metadata")?.get("description")?.as_str())
    }

    /// Returns the tags in the metadata.
    pub fn tags(&self) -> Vec<String> {
        match self.metadata.get("tags") {
            Some(Value::Array(tags)) => tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(tags)) => tags.split(',').map(|tag| tag.trim().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the searchable fields of the item.
    pub fn searched(&self, id: &str) -> SearchableFields {
        SearchableFields {
            id: id.to_owned(),
            title: self.title.clone().unwrap_or_default(),
            tags: self.tags(),
            description: self.description().unwrap_or_default().to_owned(),
            body: self.body.clone(),
        }
    }
}

/// Reads knowledge or a directive. Every problem is reported at once; `file` is its name in messages. A tool is not a text item.
pub fn read_text_item(
    item_type: ItemType,
    format: TextFormat,
    file: &str,
    text: &str,
) -> Result<ReadText, Box<Diagnostics>> {
    let problems = Problems::new();
    let item = match format {
        TextFormat::Markdown => markdown(item_type, text, &problems),
        TextFormat::Yaml => whole(item_type, text, &problems),
    };
    problems.finish(file, text, item).map(|(item, warnings)| ReadText { item, warnings })
}

/// Reads a file that consists of metadata only.
fn whole(item_type: ItemType, text: &str, problems: &Problems) -> Option<TextItem> {
    let root = yaml::parse(text, problems)?;
    let metadata = object(&root, problems)?;
    let directive = (item_type == ItemType::Directive).then(|| directive::of_yaml(&root, problems));
    let body = match signature_line(text) {
        Some(line) => [&text[..line.start], &text[line.end..]].concat(),
        None => text.to_owned(),
    };
    if let Some(directive) = &directive {
        directive.check(text, 0, problems);
    }
    Some(TextItem { title: title(&metadata, ""), metadata, body, directive })
}

fn markdown(item_type: ItemType, text: &str, problems: &Problems) -> Option<TextItem> {
    let top = after_comments(text, signature_line(text).map_or(0, |line| line.end));
    let front = front_matter(text, top, problems)?;
    let (root, body) = match front {
        Some((yaml, body)) => (metadata(text, yaml, problems)?, body),
        None => (None, top),
    };
    let metadata = match &root {
        Some(root) => object(root, problems)?,
        None => Map::new(),
    };
    if item_type != ItemType::Directive {
        let body = text[body..].trim_start_matches(['\r', '\n']);
        return Some(TextItem {
            title: title(&metadata, body),
            metadata,
            body: body.to_owned(),
            directive: None,
        });
    }
    if let Some(fence) = xml_fence(text, body) {
        return of_xml(text, body, &fence, metadata, problems);
    }
    let directive = root.map(|root| directive::of_yaml(&root, problems)).unwrap_or_default();
    directive.check(text, body, problems);
    let body = text[body..].trim_start_matches(['\r', '\n']);
    Some(TextItem {
        title: title(&metadata, body),
        metadata,
        body: body.to_owned(),
        directive: Some(directive),
    })
}

/// Reads a directive whose metadata are in a fence of XML.
fn of_xml(
    text: &str,
    top: usize,
    fence: &Fence,
    mut metadata: Map<String, Value>,
    problems: &Problems,
) -> Option<TextItem> {
    let inside = &text[fence.inside.clone()];
    let base = fence.inside.start;
    let root = match xml::parse(inside) {
        Ok(root) => root,
        Err(error) => {
            let at = base + error.at;
            let span = Span::locate(text, at, at);
            let message = format!("the XML of the directive cannot be read: {}", excerpt(&error.message));
            problems.push(
                Diagnostic::error(codes::DIRECTIVE_XML, span, message)
                    .help("the fence holds one element: <directive name=\"…\" version=\"…\">…</directive>"),
            );
            return None;
        }
    };
    let found = directive::of_xml(&root, text, base, problems);
    // Older directives have their instructions inside the element.
    let inner: Vec<_> = root
        .children
        .iter()
        .filter(|child| !["metadata", "inputs", "outputs"].contains(&child.name.as_str()))
        .map(|child| base + child.start..base + child.end)
        .collect();
    for (name, value) in &root.attributes {
        metadata.entry(name.clone()).or_insert_with(|| Value::from(value.as_str()));
    }
    if let Some(Value::Object(more)) = root.child("metadata").map(xml::Element::to_json) {
        for (name, value) in more {
            metadata.entry(name).or_insert(value);
        }
    }
    for part in inner.iter().chain([&(fence.end..text.len())]) {
        found.check(&text[..part.end], part.start, problems);
    }
    let rest = text[fence.end..].trim_start_matches(['\r', '\n']);
    let parts: Vec<_> =
        inner.into_iter().map(|part| &text[part]).chain([rest]).filter(|part| !part.is_empty()).collect();
    let body = parts.join("\n\n");
    let title = title(&metadata, &text[top..fence.start]).or_else(|| heading(&body));
    Some(TextItem { title, metadata, body, directive: Some(found) })
}

/// Skips blank lines and lines that consist of comments, such as signature lines.
fn after_comments(text: &str, mut at: usize) -> usize {
    loop {
        let line = line_at(text, at);
        let shown = text[line.clone()].trim().trim_start_matches('\u{feff}');
        let is_comment = shown.starts_with("<!--") && shown.ends_with("-->");
        if line.is_empty() || !(shown.is_empty() || is_comment) {
            return at;
        }
        at = line.end;
    }
}

/// Returns the line that begins at a place, with its line end.
fn line_at(text: &str, at: usize) -> Range<usize> {
    at..text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Returns the first line from a place on that satisfies a condition.
fn find_line(text: &str, mut at: usize, wanted: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    while at < text.len() {
        let line = line_at(text, at);
        if wanted(text[line.clone()].trim_end()) {
            return Some(line);
        }
        at = line.end;
    }
    None
}

/// Finds the metadata at the top; returns their range and the start of the following text. `None` if they do not end.
#[allow(clippy::option_option)]
fn front_matter(text: &str, top: usize, problems: &Problems) -> Option<Option<(Range<usize>, usize)>> {
    let first = line_at(text, top);
    let (closed_by, is_end): (&str, fn(&str) -> bool) = match text[first.clone()].trim_end() {
        "---" => ("---", |line| line == "---" || line == "..."),
        "```yaml" | "```yml" => ("```", |line| line == "```"),
        _ => return Some(None),
    };
    if let Some(end) = find_line(text, first.end, is_end) {
        return Some(Some((first.end..end.start, end.end)));
    }
    let span = Span::locate(text, first.start, first.end);
    let message = format!("the metadata at the top are not closed by a line `{closed_by}`");
    problems.push(Diagnostic::error(codes::FRONT_MATTER, span, message).label("they start here"));
    None
}

/// Reads metadata at their place in the file, so that places in messages refer to the file.
#[allow(clippy::option_option)]
fn metadata(text: &str, place: Range<usize>, problems: &Problems) -> Option<Option<Node>> {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text[place.clone()].lines().all(is_comment) {
        return Some(None);
    }
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    let mut alone: String = text.bytes().take(place.start).map(blank).collect();
    alone.push_str(&text[place]);
    yaml::parse(&alone, problems).map(Some)
}

fn object(root: &Node, problems: &Problems) -> Option<Map<String, Value>> {
    root.mapping("the metadata", problems)?;
    match root.to_json() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// A fence of XML that holds a directive.
struct Fence {
    start: usize,
    inside: Range<usize>,
    end: usize,
}

fn xml_fence(text: &str, from: usize) -> Option<Fence> {
    let mut at = from;
    loop {
        let open = find_line(text, at, |line| line.starts_with("```"))?;
        let close = find_line(text, open.end, |line| line == "```");
        let inside = open.end..close.as_ref().map_or(text.len(), |close| close.start);
        let is_directive = text[open.clone()].trim_end() == "```xml"
            && find_line(&text[inside.clone()], 0, |line| line.trim_start().starts_with("<directive"))
                .is_some();
        if is_directive {
            return Some(Fence {
                start: open.start,
                inside,
                end: close.map_or(text.len(), |close| close.end),
            });
        }
        at = close?.end;
    }
}

fn title(metadata: &Map<String, Value>, text: &str) -> Option<String> {
    metadata.get("title").and_then(Value::as_str).map(str::to_owned).or_else(|| heading(text))
}

/// Returns the first heading of a Markdown text.
fn heading(text: &str) -> Option<String> {
    let mut fenced = false;
    text.lines().find_map(|line| {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let title = line.strip_prefix("# ").filter(|_| !fenced)?.trim();
        (!title.is_empty()).then(|| title.to_owned())
    })
}
