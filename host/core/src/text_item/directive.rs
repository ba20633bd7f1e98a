//! Directives: their inputs, and filling in their placeholders.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Problems, Span, codes, excerpt, nearest};
use crate::json::{TreeLimit, canonical_length, write_canonical};
use crate::keys;
use crate::work::rates::{BYTE, LOOKUP};
use crate::work::{FuelExhausted, Meter};
use crate::yaml::{Fields, Node, Yaml};

use super::thread::{self, DirectiveThread, ThreadProblem};
use super::xml::Element;

const OPEN: &str = "{input:";
/// Largest nesting of a default.
const MOST_DEPTH: usize = 64;

/// The parts that a directive has in addition to any text item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directive {
    /// The declared inputs, in document order.
    pub inputs: Vec<DirectiveInput>,
    /// The declared outputs, unchanged.
    pub outputs: Option<Value>,
    /// The settings of the thread in which a language model executes it.
    pub thread: DirectiveThread,
}

/// An input that a directive declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectiveInput {
    /// The name, as in `{input:name}`.
    pub name: String,
    /// The type of the value.
    pub kind: InputKind,
    /// `true` if the input has to be given, unless it has a default.
    pub required: bool,
    /// The value of an input that is not given.
    pub default: Option<Value>,
    /// A description for people.
    pub description: Option<String>,
}

/// The type of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InputKind {
    Any,
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

const KINDS: [(&str, InputKind); 13] = [
    ("any", InputKind::Any),
    ("string", InputKind::String),
    ("text", InputKind::String),
    ("integer", InputKind::Integer),
    ("int", InputKind::Integer),
    ("number", InputKind::Number),
    ("float", InputKind::Number),
    ("boolean", InputKind::Boolean),
    ("bool", InputKind::Boolean),
    ("array", InputKind::Array),
    ("list", InputKind::Array),
    ("object", InputKind::Object),
    ("dict", InputKind::Object),
];

impl InputKind {
    pub(super) fn parse(text: &str) -> Option<Self> {
        KINDS.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind)
    }

    /// Returns the name of the type in JSON Schema; `None` for any type.
    pub(super) const fn schema(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::String => Some("string"),
            Self::Integer => Some("integer"),
            Self::Number => Some("number"),
            Self::Boolean => Some("boolean"),
            Self::Array => Some("array"),
            Self::Object => Some("object"),
        }
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

impl Directive {
    /// Returns the JSON Schema of the declared inputs.
    pub fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for input in &self.inputs {
            let mut property = Map::new();
            if let Some(kind) = input.kind.schema() {
                property.insert("type".to_owned(), Value::from(kind));
            }
            if let Some(description) = &input.description {
                property.insert("description".to_owned(), Value::from(description.as_str()));
            }
            match &input.default {
                Some(default) => {
                    property.insert("default".to_owned(), default.clone());
                }
                None if input.required => required.push(Value::from(input.name.as_str())),
                None => {}
            }
            properties.insert(input.name.clone(), Value::Object(property));
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Fills in a text: each placeholder is replaced by its input, or by its own default if there is no such input. Inserted text is never
    /// searched for placeholders again.
    ///
    /// Charges the text twice, since it is read to compute the length of the result and again to write it, a lookup for each placeholder
    /// in both, the canonical text of each input that is not a text, once, and the result. All of it is charged before the result is
    /// allocated.
    pub fn fill(text: &str, inputs: &Map<String, Value>, meter: &Meter) -> Result<String, FuelExhausted> {
        meter.charge_each(text.len(), 2 * BYTE)?;
        let given = |name: &str| inputs.get(name).filter(|value| !value.is_null());
        let mut written: BTreeMap<&str, String> = BTreeMap::new();
        meter.charge_each(text.len(), BYTE)?;
        let mut length = text.len();
        for found in placeholders(text) {
            meter.charge_each(2 * found.name.len(), BYTE)?;
            meter.charge(2 * LOOKUP)?;
            let more = match given(found.name) {
                Some(Value::String(value)) => value.len(),
                Some(value) => {
                    if let Some(text) = written.get(found.name) {
                        text.len()
                    } else {
                        let mut text = String::with_capacity(canonical_length(value, meter)?);
                        write_canonical(value, &mut text);
                        written.entry(found.name).or_insert(text).len()
                    }
                }
                None => found.default.unwrap_or_default().len(),
            };
            meter.charge_each(more, BYTE)?;
            length += more;
            length -= found.end - found.start;
        }
        let mut filled = String::with_capacity(length);
        let mut last = 0;
        for found in placeholders(text) {
            filled.push_str(&text[last..found.start]);
            last = found.end;
            match given(found.name) {
                Some(Value::String(value)) => filled.push_str(value),
                Some(_) => filled.push_str(written.get(found.name).map_or("", String::as_str)),
                None => filled.push_str(found.default.unwrap_or_default()),
            }
        }
        filled.push_str(&text[last..]);
        Ok(filled)
    }

    /// Reports placeholders in `text[from..]` that name no declared input.
    pub(super) fn check(&self, text: &str, from: usize, problems: &Problems) {
        let declared = || self.inputs.iter().map(|input| input.name.as_str());
        let names: BTreeSet<&str> = declared().collect();
        for found in placeholders(&text[from..]) {
            if names.contains(found.name) {
                continue;
            }
            // Finding a place takes time proportional to the length of the text.
            if problems.is_full() {
                return;
            }
            let name = excerpt(found.name);
            let span = Span::locate(text, from + found.start, from + found.end);
            let problem = Diagnostic::error(
                codes::UNKNOWN_PLACEHOLDER,
                span,
                format!("the placeholder `{{input:{name}}}` names no input that the directive declares"),
            );
            problems.push(match nearest(found.name, declared()) {
                Some(known) => problem.label("unknown").help(format!("did you mean `{{input:{known}}}`?")),
                None => problem.label("unknown").help(format!("declare `{name}` among its inputs")),
            });
        }
    }
}

/// A placeholder: `{input:name}`, `{input:name?}`, `{input:name:default}` or `{input:name|default}`.
struct Placeholder<'t> {
    start: usize,
    end: usize,
    name: &'t str,
    default: Option<&'t str>,
}

/// Returns the placeholders of a text, none inside another: an opening in a default is plain text. The time is linear in the length of the
/// text, however many placeholders are not closed.
fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut at = 0;
    // The first `}` after the last searched opening.
    let mut close = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(OPEN)?;
            at = start + OPEN.len();
            if close < at {
                close = at + text[at..].find('}')?;
            }
            if let Some((name, default)) = inside(&text[at..close]) {
                at = close + 1;
                return Some(Placeholder { start, end: at, name, default });
            }
        }
    })
}

/// Splits the text between `{input:` and `}` into the name and the default.
fn inside(text: &str) -> Option<(&str, Option<&str>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let length = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    let default = match rest.chars().next() {
        None => None,
        Some(':' | '|') => Some(&rest[1..]),
        Some('?') if rest.len() == 1 => None,
        Some(_) => return None,
    };
    (!name.is_empty()).then_some((name, default))
}

/// Reads `inputs` and `outputs` of a directive whose metadata are YAML.
pub(super) fn of_yaml(metadata: &Node, problems: &Problems) -> Directive {
    let Some(mapping) = metadata.as_mapping() else { return Directive::default() };
    let outputs = mapping.get("outputs").map(Node::to_json);
    let mut directive = Directive { outputs, ..Directive::default() };
    for entry in mapping.iter().filter(|entry| thread::SECTIONS.contains(&entry.key.name.as_str())) {
        let found = directive.thread.read(&entry.key.name, &entry.value.to_json());
        report_thread(found, || entry.key.span, problems);
    }
    let Some(inputs) = mapping.get("inputs").filter(|inputs| !inputs.is_null()) else { return directive };
    let mut names = BTreeSet::new();
    match &inputs.value {
        Yaml::List(list) => {
            for node in list {
                let Some(mut fields) = Fields::open(node, &keys::text::INPUT, "an input", problems) else {
                    continue;
                };
                let name = fields.required("name").and_then(|name| name.text("`name`", problems));
                if let Some(name) = name {
                    let input = yaml_input(name, fields, problems);
                    push(&mut directive, &mut names, input, || node.span, problems);
                } else {
                    fields.also_known(&["type", "required", "default", "description"]);
                    fields.finish();
                }
            }
        }
        Yaml::Mapping(mapping) => {
            for entry in mapping {
                let name = entry.key.name.as_str();
                let input = if entry.value.is_null() {
                    Some(DirectiveInput::plain(name))
                } else {
                    Fields::open(
                        &entry.value,
                        &keys::text::NAMED_INPUT,
                        format!("the input `{}`", excerpt(name)),
                        problems,
                    )
                    .and_then(|fields| yaml_input(name, fields, problems))
                };
                push(&mut directive, &mut names, input, || entry.key.span, problems);
            }
        }
        _ => inputs.wrong_type("`inputs`", "a mapping or a list of inputs", problems),
    }
    directive
}

impl DirectiveInput {
    fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: InputKind::Any,
            required: false,
            default: None,
            description: None,
        }
    }
}

fn yaml_input(name: &str, mut fields: Fields<'_>, problems: &Problems) -> Option<DirectiveInput> {
    let kind = fields.choice("type", &KINDS);
    let required = fields.bool("required").unwrap_or(false);
    let default = fields.filled("default");
    let description = fields.text("description").map(str::to_owned);
    fields.finish();
    let kind = kind.unwrap_or(InputKind::Any);
    if let Some(default) = default.filter(|default| !kind.takes(&default.to_json())) {
        let expected = match kind {
            InputKind::Integer | InputKind::Array | InputKind::Object => format!("an {}", kind.schema()?),
            _ => format!("a {}", kind.schema()?),
        };
        default.wrong_type(format!("the default of `{}`", excerpt(name)), &expected, problems);
        return None;
    }
    let default = default.map(Node::to_json);
    Some(DirectiveInput { name: name.to_owned(), kind, required, default, description })
}

/// Reads `inputs` and `outputs` of a directive whose metadata are XML. `base` is the offset of the XML in `text`.
pub(super) fn of_xml(root: &Element, text: &str, base: usize, problems: &Problems) -> Directive {
    let mut directive = Directive::default();
    let mut names = BTreeSet::new();
    let span = |element: &Element| Span::locate(text, base + element.start, base + element.end).first_line();
    let bad = |element: &Element, message: String, help: &str| {
        // Finding a place takes time proportional to the length of the text.
        if problems.is_full() {
            return;
        }
        problems.push(Diagnostic::error(codes::DIRECTIVE_INPUT, span(element), message).help(help));
    };
    for element in root.child("inputs").map(|inputs| inputs.children.as_slice()).unwrap_or_default() {
        let Some(name) = element.attribute("name").filter(|_| element.name == "input") else {
            let message = format!("`<{}>` declares no input", excerpt(&element.name));
            bad(
                element,
                message,
                "an input is written <input name=\"who\" type=\"string\">what it is</input>",
            );
            continue;
        };
        let kind = match element.attribute("type") {
            None => InputKind::Any,
            Some(written) => {
                let Some(kind) = InputKind::parse(written) else {
                    let names = KINDS.map(|(name, _)| name);
                    let help = match nearest(written, names) {
                        Some(known) => format!("did you mean `{known}`?"),
                        None => format!("one of {}", names.join(", ")),
                    };
                    bad(element, format!("`{}` is no type of an input", excerpt(written)), &help);
                    continue;
                };
                kind
            }
        };
        let required = match element.attribute("required") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                let message = format!("`required` is true or false, not `{}`", excerpt(other));
                bad(element, message, "write required=\"true\"");
                continue;
            }
        };
        let default = match (element.attribute("default"), kind) {
            (None, _) => None,
            (Some(default), InputKind::String | InputKind::Any) => Some(Value::from(default)),
            (Some(written), kind) => {
                let parsed = crate::json::parse_strict(written, MOST_DEPTH, TreeLimit::DOCUMENT).ok();
                let Some(default) = parsed.filter(|default| kind.takes(default)) else {
                    let message = format!(
                        "the default `{}` of `{}` is not of its type",
                        excerpt(written),
                        excerpt(name)
                    );
                    bad(element, message, &format!("write a JSON {}", kind.schema().unwrap_or_default()));
                    continue;
                };
                Some(default)
            }
        };
        let description = Some(element.text.split_whitespace().collect::<Vec<_>>().join(" "));
        let description = description.filter(|description| !description.is_empty());
        let input = DirectiveInput { name: name.to_owned(), kind, required, default, description };
        push(&mut directive, &mut names, Some(input), || span(element), problems);
    }
    directive.outputs = root.child("outputs").map(Element::to_json);
    for name in thread::SECTIONS {
        let within = if name == "outputs" { Some(root) } else { root.child("metadata") };
        if let Some(section) = within.and_then(|within| within.child(name)) {
            let found = directive.thread.read(name, &section.to_json());
            report_thread(found, || span(section), problems);
        }
    }
    directive
}

/// Reports the problems of a section about the thread.
fn report_thread(found: Vec<ThreadProblem>, span: impl Fn() -> Span, problems: &Problems) {
    for ThreadProblem { is_error, message, help } in found {
        // Finding a place takes time proportional to the length of the text.
        if problems.is_full() {
            return;
        }
        let of = if is_error { Diagnostic::error } else { Diagnostic::warning };
        problems.push(of(codes::DIRECTIVE_THREAD, span().first_line(), &message).help(help));
    }
}

fn push(
    directive: &mut Directive,
    names: &mut BTreeSet<String>,
    input: Option<DirectiveInput>,
    span: impl Fn() -> Span,
    problems: &Problems,
) {
    let Some(input) = input else { return };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = excerpt(&input.name);
    let refused = if input.name.is_empty() || !input.name.chars().all(is_name) || input.name.len() > 128 {
        Some(format!("`{name}` cannot be the name of an input"))
    } else if !names.insert(input.name.clone()) {
        Some(format!("the input `{name}` is declared twice"))
    } else {
        None
    };
    match refused {
        Some(_) if problems.is_full() => {}
        Some(message) => problems.push(
            Diagnostic::error(codes::DIRECTIVE_INPUT, span().first_line(), message)
                .help("names consist of letters, digits, `_` and `-`, and each is declared once"),
        ),
        None => directive.inputs.push(input),
    }
}
