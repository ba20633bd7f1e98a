//! JSON values whose strings may hold templates.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Path;
use super::expression::{self, Expression, Term};

/// A JSON value whose strings may hold templates, compiled. Object keys are literal.
#[derive(Debug, Clone)]
pub struct ValueTemplate {
    source: Arc<Value>,
    pub(super) root: Node,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Without templates.
    Literal(Arc<Value>),
    /// A string that is one expression: the value keeps its type.
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

/// A string of a value holds a template that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateSyntaxError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where in the string, in bytes.
    pub offset: usize,
    /// The keys and indices that lead to the string.
    pub pointer: Vec<String>,
}

/// A path that a template reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse<'a> {
    /// The path.
    pub path: &'a Path,
    /// Whether it is one of several alternatives (`||`), so that it may be missing.
    pub optional: bool,
    /// The keys and indices that lead to the string it stands in.
    pub pointer: Vec<String>,
}

impl ValueTemplate {
    /// Compiles a value.
    pub fn parse(value: &Value) -> Result<Self, TemplateSyntaxError> {
        Self::from_arc(Arc::new(value.clone()))
    }

    /// Compiles a value that is shared already.
    pub fn from_arc(source: Arc<Value>) -> Result<Self, TemplateSyntaxError> {
        let root = compile(&source, &mut Vec::new())?.unwrap_or_else(|| Node::Literal(Arc::clone(&source)));
        Ok(Self { source, root })
    }

    /// A value that is taken as it is, whatever its strings hold.
    pub fn constant(value: Value) -> Self {
        let source = Arc::new(value);
        Self { root: Node::Literal(Arc::clone(&source)), source }
    }

    /// The value as it was written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The value, if it holds no template.
    pub fn literal(&self) -> Option<&Value> {
        match &self.root {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The path, if the whole value is `${path}` and nothing else.
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

    /// Every path that the templates read, in document order.
    pub fn paths(&self) -> impl Iterator<Item = PathUse<'_>> {
        let mut found = Vec::new();
        collect(&self.root, &mut Vec::new(), &mut found);
        found.into_iter()
    }
}

fn collect<'a>(node: &'a Node, pointer: &mut Vec<String>, found: &mut Vec<PathUse<'a>>) {
    let mut add = |expression: &'a Expression| {
        let optional = expression.alternatives.len() > 1;
        for alternative in &expression.alternatives {
            if let Term::Path(path) = &alternative.term {
                found.push(PathUse { path, optional, pointer: pointer.clone() });
            }
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
                pointer.push(at.to_string());
                collect(item, pointer, found);
                pointer.pop();
            }
        }
        Node::Object(fields) => {
            for (key, field) in fields {
                pointer.push(key.clone());
                collect(field, pointer, found);
                pointer.pop();
            }
        }
    }
}

/// `None` is a value that means itself.
fn compile(value: &Value, pointer: &mut Vec<String>) -> Result<Option<Node>, TemplateSyntaxError> {
    match value {
        Value::String(text) if text.contains("${") => compile_text(text, pointer).map(Some),
        Value::Array(items) => {
            let mut compiled = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                pointer.push(at.to_string());
                compiled.push(compile(item, pointer)?);
                pointer.pop();
            }
            if compiled.iter().all(Option::is_none) {
                return Ok(None);
            }
            let nodes: Vec<Node> =
                compiled.into_iter().zip(items).map(|(node, item)| or_literal(node, item)).collect();
            Ok(Some(match nodes.iter().map(literal).collect::<Option<Vec<_>>>() {
                Some(values) => Node::Literal(Arc::new(Value::Array(values))),
                None => Node::List(nodes),
            }))
        }
        Value::Object(fields) => {
            let mut compiled = Vec::with_capacity(fields.len());
            for (key, field) in fields {
                pointer.push(key.clone());
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
            let values = nodes.iter().map(|(key, node)| Some((key.clone(), literal(node)?)));
            Ok(Some(match values.collect::<Option<Map<_, _>>>() {
                Some(fields) => Node::Literal(Arc::new(Value::Object(fields))),
                None => Node::Object(nodes),
            }))
        }
        _ => Ok(None),
    }
}

fn or_literal(node: Option<Node>, value: &Value) -> Node {
    node.unwrap_or_else(|| Node::Literal(Arc::new(value.clone())))
}

fn literal(node: &Node) -> Option<Value> {
    match node {
        Node::Literal(value) => Some(Value::clone(value)),
        _ => None,
    }
}

fn compile_text(text: &str, pointer: &[String]) -> Result<Node, TemplateSyntaxError> {
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
                pointer: pointer.to_vec(),
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
