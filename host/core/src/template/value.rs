//! JSON values whose strings may contain templates.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Path;
use super::expression::{self, Expression, Term};

/// A JSON value whose strings may contain templates, compiled. Object keys are literal.
#[derive(Debug, Clone)]
pub struct ValueTemplate {
    source: Arc<Value>,
    pub(super) root: Node,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    /// A value without templates, which is shared and never copied.
    Literal(Arc<Value>),
    /// A string that consists of one expression: the value keeps its type.
    Expression(Expression),
    /// Text with expressions inside.
    Text(Vec<Part>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(String),
    Expression(Expression),
}

/// A syntax error of a template in a string of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateSyntaxError {
    /// The message, without the position.
    pub message: String,
    /// The correction.
    pub help: Option<String>,
    /// The offset in the string, in bytes.
    pub offset: usize,
    /// The keys and indices of the string in the value.
    pub pointer: Vec<String>,
}

/// A path that a template reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse<'a> {
    /// The path as it was parsed.
    pub path: &'a Path,
    /// `true` if the path is one of several alternatives (`||`), so that it may be missing.
    pub optional: bool,
}

/// A path that a template reads, with its place.
#[derive(Debug, Clone, Copy)]
pub struct PlacedPath<'a> {
    /// The path as it was parsed.
    pub path: &'a Path,
    /// `true` if the path is one of several alternatives (`||`), so that it may be missing.
    pub optional: bool,
    /// The keys and indices of the string that contains it.
    pub pointer: &'a [Cow<'a, str>],
}

impl ValueTemplate {
    /// Compiles a value of a document, in which any text may be a template.
    pub fn parse(value: &Value) -> Result<Self, TemplateSyntaxError> {
        Self::from_arc(Arc::new(value.clone()))
    }

    /// Compiles a value that is already shared.
    pub fn from_arc(source: Arc<Value>) -> Result<Self, TemplateSyntaxError> {
        let root = compile(&source, &mut Vec::new())?.unwrap_or_else(|| Node::Literal(Arc::clone(&source)));
        Ok(Self { source, root })
    }

    /// Creates a constant value, whatever its strings contain.
    pub fn constant(value: Value) -> Self {
        let source = Arc::new(value);
        Self { root: Node::Literal(Arc::clone(&source)), source }
    }

    /// Returns the value as it was written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Returns the value if it contains no template.
    pub fn literal(&self) -> Option<&Value> {
        match &self.root {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a key if it reads nothing: texts in it may contain `$${`, which becomes `${`.
    pub fn constant_field(&self, key: &str) -> Option<Value> {
        match &self.root {
            Node::Literal(value) => value.get(key).cloned(),
            Node::Object(fields) => constant(&fields.iter().find(|(name, _)| name == key)?.1),
            _ => None,
        }
    }

    /// Returns the value of a key if it contains no template.
    pub fn literal_field(&self, key: &str) -> Option<&Value> {
        match &self.root {
            Node::Literal(value) => value.get(key),
            Node::Object(fields) => match fields.iter().find(|(name, _)| name == key)? {
                (_, Node::Literal(value)) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the path if the whole value is `${path}`.
    pub fn as_path(&self) -> Option<&Path> {
        let Node::Expression(expression) = &self.root else { return None };
        match expression.alternatives.as_slice() {
            [alternative] if alternative.pipes.is_empty() => match &alternative.term {
                Term::Path(path) => Some(path),
                Term::Literal(_) => None,
            },
            _ => None,
        }
    }

    /// Returns every path that the templates read, in document order.
    pub fn paths(&self) -> impl Iterator<Item = PathUse<'_>> {
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        found.into_iter()
    }

    /// Visits every path that the templates read, in document order, with its place. The place is borrowed, not copied: a long key may lead
    /// to many paths.
    pub fn each_path(&self, visit: &mut dyn FnMut(PlacedPath<'_>)) {
        each(&self.root, &mut Vec::new(), visit);
    }
}

fn uses(expression: &Expression) -> impl Iterator<Item = PathUse<'_>> {
    let optional = expression.alternatives.len() > 1;
    expression.alternatives.iter().filter_map(move |alternative| match &alternative.term {
        Term::Path(path) => Some(PathUse { path, optional }),
        Term::Literal(_) => None,
    })
}

fn collect<'a>(node: &'a Node, found: &mut Vec<PathUse<'a>>) {
    match node {
        Node::Literal(_) => {}
        Node::Expression(expression) => found.extend(uses(expression)),
        Node::Text(parts) => {
            for part in parts {
                if let Part::Expression(expression) = part {
                    found.extend(uses(expression));
                }
            }
        }
        Node::List(items) => items.iter().for_each(|item| collect(item, found)),
        Node::Object(fields) => fields.iter().for_each(|(_, field)| collect(field, found)),
    }
}

fn each<'a>(node: &'a Node, pointer: &mut Vec<Cow<'a, str>>, visit: &mut dyn FnMut(PlacedPath<'_>)) {
    let mut add = |expression: &'a Expression| {
        for PathUse { path, optional } in uses(expression) {
            visit(PlacedPath { path, optional, pointer: pointer.as_slice() });
        }
    };
    match node {
        Node::Literal(_) => {}
        Node::Expression(expression) => add(expression),
        Node::Text(parts) => {
            for part in parts {
                if let Part::Expression(expression) = part {
                    add(expression);
                }
            }
        }
        Node::List(items) => {
            for (at, item) in items.iter().enumerate() {
                pointer.push(Cow::Owned(at.to_string()));
                each(item, pointer, visit);
                pointer.pop();
            }
        }
        Node::Object(fields) => {
            for (key, field) in fields {
                pointer.push(Cow::Borrowed(key));
                each(field, pointer, visit);
                pointer.pop();
            }
        }
    }
}

/// A key or an index of the path to a string.
#[derive(Clone, Copy)]
enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

impl Step<'_> {
    fn written(self) -> String {
        match self {
            Self::Key(key) => key.to_owned(),
            Self::Index(at) => at.to_string(),
        }
    }
}

/// Compiles a value; `None` for a literal.
fn compile<'v>(value: &'v Value, pointer: &mut Vec<Step<'v>>) -> Result<Option<Node>, TemplateSyntaxError> {
    match value {
        // Most texts are short and contain no `$`.
        Value::String(text) if text.as_bytes().contains(&b'$') && text.contains("${") => {
            compile_text(text, pointer).map(Some)
        }
        Value::Array(items) => {
            let mut compiled = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                pointer.push(Step::Index(at));
                compiled.push(compile(item, pointer)?);
                pointer.pop();
            }
            if compiled.iter().all(Option::is_none) {
                return Ok(None);
            }
            let nodes: Vec<Node> =
                compiled.into_iter().zip(items).map(|(node, item)| or_literal(node, item)).collect();
            Ok(Some(if nodes.iter().all(is_literal) {
                Node::Literal(Arc::new(nodes.into_iter().filter_map(literal).collect()))
            } else {
                Node::List(nodes)
            }))
        }
        Value::Object(fields) => {
            let mut compiled = Vec::with_capacity(fields.len());
            for (key, field) in fields {
                pointer.push(Step::Key(key));
                compiled.push(compile(field, pointer)?);
                pointer.pop();
            }
            if compiled.iter().all(Option::is_none) {
                return Ok(None);
            }
            let nodes: Vec<(String, Node)> = compiled
                .into_iter()
                .zip(fields)
                .map(|(node, (key, field))| (key.clone(), or_literal(node, field)))
                .collect();
            Ok(Some(if nodes.iter().all(|(_, node)| is_literal(node)) {
                let fields: Map<_, _> =
                    nodes.into_iter().filter_map(|(key, node)| Some((key, literal(node)?))).collect();
                Node::Literal(Arc::new(Value::Object(fields)))
            } else {
                Node::Object(nodes)
            }))
        }
        _ => Ok(None),
    }
}

fn or_literal(node: Option<Node>, value: &Value) -> Node {
    node.unwrap_or_else(|| Node::Literal(Arc::new(value.clone())))
}

const fn is_literal(node: &Node) -> bool {
    matches!(node, Node::Literal(_))
}

/// Returns the value of a literal. It is moved, not copied, since each level of a value asks for the values of the level below.
fn literal(node: Node) -> Option<Value> {
    match node {
        Node::Literal(value) => Some(Arc::unwrap_or_clone(value)),
        _ => None,
    }
}

fn compile_text(text: &str, pointer: &[Step<'_>]) -> Result<Node, TemplateSyntaxError> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('$') {
        plain.push_str(&text[at..at + found]);
        at += found;
        let rest = &text[at..];
        if rest.starts_with("$${") {
            plain.push_str("${");
            at += 3;
        } else if let Some(inside) = rest.strip_prefix("${") {
            let (expression, length) = expression::parse(inside).map_err(|mistake| TemplateSyntaxError {
                message: mistake.message,
                help: mistake.help,
                offset: at + 2 + mistake.offset,
                pointer: pointer.iter().map(|step| step.written()).collect(),
            })?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Expression(expression));
            at += 2 + length;
        } else {
            plain.push('$');
            at += 1;
        }
    }
    plain.push_str(&text[at..]);
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    if parts.len() == 1 {
        return Ok(match parts.swap_remove(0) {
            Part::Expression(expression) => Node::Expression(expression),
            Part::Text(text) => Node::Literal(Arc::new(Value::String(text))),
        });
    }
    Ok(Node::Text(parts))
}
/// Returns the value of a template that reads nothing.
fn constant(node: &Node) -> Option<Value> {
    match node {
        Node::Literal(value) => Some(Value::clone(value)),
        Node::Expression(_) => None,
        Node::Text(parts) => {
            let texts = parts.iter().map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Expression(_) => None,
            });
            texts.collect::<Option<String>>().map(Value::String)
        }
        Node::List(items) => items.iter().map(constant).collect(),
        Node::Object(fields) => {
            fields.iter().map(|(key, node)| Some((key.clone(), constant(node)?))).collect()
        }
    }
}
