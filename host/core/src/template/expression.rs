//! The expressions between `${` and `}`.

use serde_json::{Map, Number, Value};

use super::path::{Path, PathSyntaxError, quoted};
use super::pipe::{Pipe, PipeCall};
use crate::diagnostic::excerpt;
use crate::json::{TreeLimit, parse_strict};

/// A parsed expression: the first alternative that is not null.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression {
    /// The expression as written, without `${` and `}`.
    pub(super) text: Box<str>,
    /// The alternatives; at least one.
    pub(super) alternatives: Vec<Alternative>,
}

/// A path or literal, and the pipes that are applied to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    pub(super) term: Term,
    pub(super) pipes: Vec<PipeCall>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Path(Path),
    Literal(Value),
}

/// An error in an expression, at a byte offset.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) offset: usize,
}

impl Mistake {
    pub(super) fn new(offset: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()), offset }
    }
}

impl From<PathSyntaxError> for Mistake {
    fn from(error: PathSyntaxError) -> Self {
        Self { message: error.message, help: error.help, offset: error.offset }
    }
}

/// Reads an expression up to and including its `}`; `text` begins after the `${`. Offsets are relative to `text`.
pub(super) fn parse(text: &str) -> Result<(Expression, usize), Mistake> {
    let mut reader = Reader { text, at: 0 };
    let mut alternatives = vec![reader.alternative()?];
    loop {
        reader.skip_space();
        let rest = reader.rest();
        if rest.starts_with("||") {
            reader.at += 2;
            alternatives.push(reader.alternative()?);
        } else if rest.starts_with('}') {
            let expression = Expression { text: text[..reader.at].trim().into(), alternatives };
            return Ok((expression, reader.at + 1));
        } else {
            return Err(reader.unexpected());
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn alternative(&mut self) -> Result<Alternative, Mistake> {
        self.skip_space();
        let term = self.term()?;
        let mut pipes = Vec::new();
        loop {
            self.skip_space();
            if !self.rest().starts_with('|') || self.rest().starts_with("||") {
                return Ok(Alternative { term, pipes });
            }
            self.at += 1;
            self.skip_space();
            pipes.push(self.pipe()?);
        }
    }

    fn pipe(&mut self) -> Result<PipeCall, Mistake> {
        let at = self.at;
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        if let Some(pipe) = Pipe::ALL.into_iter().find(|pipe| pipe.as_str() == name) {
            self.at += end;
            let arguments = self.arguments()?;
            return PipeCall::new(pipe, at, arguments);
        }
        // The time and memory of a comparison grow with the product of the lengths.
        let nearest = Pipe::ALL
            .into_iter()
            .filter(|_| name.len() <= 64)
            .map(Pipe::as_str)
            .min_by_key(|known| strsim::damerau_levenshtein(known, name))
            .filter(|known| strsim::damerau_levenshtein(known, name) <= 2)
            .map_or(String::new(), |known| format!("did you mean `{known}`? "));
        let (last, others) =
            Pipe::ALL.split_last().map_or((Pipe::Json, &[][..]), |(last, others)| (*last, others));
        let others: Vec<_> = others.iter().map(|pipe| pipe.as_str()).collect();
        let help = format!("{nearest}The pipes are {} and {}", others.join(", "), last.as_str());
        let message = if name.is_empty() {
            "a pipe is missing after `|`".to_owned()
        } else {
            format!("there is no pipe `{}`", excerpt(name))
        };
        Err(Mistake::new(self.at, message, help))
    }

    /// Reads the arguments of a pipe in parentheses, if there are any, each with its offset. They are literals.
    fn arguments(&mut self) -> Result<Vec<(usize, Value)>, Mistake> {
        const HELP: &str = "the arguments of a pipe are literals, such as `slice(0, 10)` or `join(', ')`";
        let mut arguments = Vec::new();
        if !self.rest().starts_with('(') {
            return Ok(arguments);
        }
        self.at += 1;
        loop {
            self.skip_space();
            if arguments.is_empty() && self.rest().starts_with(')') {
                break;
            }
            let at = self.at;
            match self.rest().chars().next() {
                None => return Err(unclosed(at)),
                Some('\'' | '"' | '-' | '0'..='9') => {}
                Some(_) => return Err(Mistake::new(at, "this is not an argument of a pipe", HELP)),
            }
            match self.term()? {
                Term::Literal(value) => arguments.push((at, value)),
                Term::Path(_) => return Err(Mistake::new(at, "this is not an argument of a pipe", HELP)),
            }
            self.skip_space();
            match self.rest().chars().next() {
                Some(',') => self.at += 1,
                Some(')') => break,
                None => return Err(unclosed(self.at)),
                Some(_) => {
                    return Err(Mistake::new(
                        self.at,
                        "`,` or `)` is missing in the arguments of a pipe",
                        HELP,
                    ));
                }
            }
        }
        self.at += 1;
        Ok(arguments)
    }

    fn term(&mut self) -> Result<Term, Mistake> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Err(unclosed(self.at)) };
        match first {
            '}' if self.text[..self.at].trim().is_empty() => {
                Err(Mistake::new(self.at, "the template is empty", "name a value, such as `${state.key}`"))
            }
            '}' => Err(Mistake::new(
                self.at,
                "a value is missing after `||`",
                "such as `${state.key || 'none'}`",
            )),
            '\'' | '"' => {
                let at = self.at;
                let (text, length) = quoted(rest).map_err(|_| {
                    Mistake::new(
                        at,
                        "the quote is not closed",
                        "text is written 'text', and a quote in it \\'",
                    )
                })?;
                self.at += length;
                Ok(Term::Literal(Value::String(text)))
            }
            '0'..='9' => self.number(),
            '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            '[' | '{' => self.empty_container(first),
            _ if first.is_alphabetic() || first == '_' => {
                let at = self.at;
                let (path, length) = Path::parse_prefix(rest)
                    .map_err(|error| Mistake { offset: error.offset + at, ..Mistake::from(error) })?;
                self.at += length;
                Ok(match path.as_str() {
                    "true" => Term::Literal(Value::Bool(true)),
                    "false" => Term::Literal(Value::Bool(false)),
                    "null" => Term::Literal(Value::Null),
                    _ => Term::Path(path),
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Result<Term, Mistake> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
            .unwrap_or(rest.len());
        let number: Option<Number> =
            parse_strict(&rest[..length], 1, TreeLimit::NOTE).ok().and_then(|value| match value {
                Value::Number(number) => Some(number),
                _ => None,
            });
        let Some(number) = number else {
            let message = format!("`{}` is not a number", excerpt(&rest[..length]));
            return Err(Mistake::new(self.at, message, "a path starts with a name, such as `state`"));
        };
        self.at += length;
        Ok(Term::Literal(Value::Number(number)))
    }

    fn empty_container(&mut self, open: char) -> Result<Term, Mistake> {
        let close = if open == '[' { ']' } else { '}' };
        let inside = &self.rest()[1..];
        let space = inside.len() - inside.trim_start().len();
        if !inside.trim_start().starts_with(close) {
            return Err(Mistake::new(
                self.at,
                format!("only an empty `{open}{close}` is allowed in a template"),
                "write lists and objects around templates in YAML, such as `[\"${state.a}\", 1]`",
            ));
        }
        self.at += space + 2;
        Ok(Term::Literal(if open == '[' { Value::Array(Vec::new()) } else { Value::Object(Map::new()) }))
    }

    /// Explains why the next text is not allowed here. Most such texts are from a template language that computes.
    fn unexpected(&self) -> Mistake {
        const COMPARE: &str =
            "decide with a condition instead: `when: {path: state.n, op: gt, value: 3}` on an edge";
        const FALLBACK: &str = "the first value that is not null is written `${a || b || 'text'}`";
        let rest = self.rest();
        if rest.is_empty() {
            return unclosed(self.at);
        }
        let starts = |tokens: &[&'static str]| tokens.iter().find(|token| rest.starts_with(**token)).copied();
        let (token, help) = if let Some(token) = starts(&["??", ":-", "?:", "or "]) {
            (token, FALLBACK)
        } else if let Some(token) = starts(&[
            "==", "!=", "<=", ">=", "&&", "=", "<", ">", "!", "?", "and ", "not ", "in ", "is ", "if ",
        ]) {
            (token, COMPARE)
        } else if rest.starts_with('+') && rest[1..].trim_start().starts_with('[') {
            ("+", "to add to a list, give the channel `reducer: append` and assign the new elements alone")
        } else if rest.starts_with('+') {
            (
                "+",
                "text is joined as `${a}${b}`; to add up, give the channel `reducer: sum` (or `append` for a list) and \
                 assign the new part alone",
            )
        } else if let Some(token) = starts(&["*", "/", "%", "-"]) {
            (token, "compute in a node; a key with such a character is written `state['a/b']`")
        } else if let Some(token) = starts(&["("]) {
            (token, "there are no functions; conversions are pipes, such as `${state.list | length}`")
        } else {
            let found = rest.chars().next().unwrap_or(' ').escape_debug();
            return Mistake::new(
                self.at,
                format!("`{found}` is not allowed here"),
                "a template is a path, such as `${state.files[0].name}`, with `||` and pipes; `$${` is a literal `${`",
            );
        };
        let message =
            format!("`{}` is not allowed here: templates look values up; they do not compute", token.trim());
        // A shell also has these between its braces.
        let is_of_shell = [":-", "?", "!", "+", "*", "/", "%", "-", "="].contains(&token);
        let help =
            if is_of_shell { format!("{help}; for a literal `${{`, write `$${{`") } else { help.to_owned() };
        Mistake::new(self.at, message, help)
    }
}

fn unclosed(at: usize) -> Mistake {
    Mistake::new(at, "the `}` that closes the template is missing", "for a literal `${`, write `$${`")
}
