//! Reading conditions.

use serde_json::{Map, Value};

use super::{Condition, Node, Op, Test};
use crate::keys::graph::CONDITION;
use crate::template::Path;
use crate::work::{CompileBudget, PatternError};

/// Largest nesting of `any`, `all` and `not`.
pub const MAX_CONDITION_DEPTH: usize = 64;

/// A value is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionSyntaxError {
    /// The message, without the position.
    pub message: String,
    /// The correction.
    pub help: Option<String>,
    /// The keys and indices of the invalid value.
    pub pointer: Vec<String>,
}

impl Condition {
    /// Reads a single condition.
    pub fn from_json(value: &Value) -> Result<Self, ConditionSyntaxError> {
        Self::from_json_within(value, &CompileBudget::of_file())
    }

    /// Reads one of the conditions of a document, whose patterns share a budget.
    pub fn from_json_within(
        value: &Value,
        patterns: &CompileBudget<'_>,
    ) -> Result<Self, ConditionSyntaxError> {
        Reader { pointer: Vec::new(), patterns }.condition(value).map(|node| Self { node })
    }
}

struct Reader<'b> {
    pointer: Vec<String>,
    patterns: &'b CompileBudget<'b>,
}

type Read<T> = Result<T, ConditionSyntaxError>;

impl Reader<'_> {
    fn fail<T>(&self, message: impl Into<String>, help: impl Into<String>) -> Read<T> {
        let help = Some(help.into()).filter(|help| !help.is_empty());
        Err(ConditionSyntaxError { message: message.into(), help, pointer: self.pointer.clone() })
    }

    /// Continues at a key or index, so that an error there states its place.
    fn at<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.pointer.push(key.to_owned());
        let result = read(self)?;
        self.pointer.pop();
        Ok(result)
    }

    fn condition(&mut self, value: &Value) -> Read<Node> {
        const SHAPE: &str =
            "a condition is `{path: state.n, op: gt, value: 3}`, or `any`, `all`, `not` of conditions";
        if self.pointer.len() > 2 * MAX_CONDITION_DEPTH {
            return self.fail("conditions nest too deeply", "");
        }
        let fields = match value {
            Value::Null => return Ok(Node::Always),
            Value::Object(fields) => fields,
            Value::Bool(true) => {
                return self.fail("`true` is not a condition", "leave the condition out: it always holds");
            }
            Value::Bool(false) => return self.fail("`false` is not a condition", "`any: []` never holds"),
            Value::Array(_) => {
                return self.fail("a list is not a condition", "write `all: [..]` or `any: [..]`");
            }
            _ => return self.fail("this is not a condition", SHAPE),
        };
        if fields.is_empty() {
            return Ok(Node::Always);
        }
        for key in fields.keys() {
            if CONDITION.find(key).is_none() {
                let help = nearest(key, CONDITION.names()).unwrap_or_else(|| SHAPE.to_owned());
                return self
                    .at(key, |reader| reader.fail(format!("a condition has no key `{}`", shown(key)), help));
            }
        }
        let groups: Vec<&str> =
            ["any", "all", "not"].into_iter().filter(|key| fields.contains_key(*key)).collect();
        match groups.as_slice() {
            [] => self.test(fields),
            [group] if fields.len() == 1 => self.group(group, &fields[*group]),
            [first, ..] => self.fail(
                format!("`{first}` is next to other keys"),
                "one condition is either a test with a `path`, or one of `any`, `all` and `not`; \
                 put them together in `all: [..]`",
            ),
        }
    }

    fn group(&mut self, key: &str, value: &Value) -> Read<Node> {
        self.at(key, |reader| {
            if key == "not" {
                return reader.condition(value).map(|node| Node::Not(Box::new(node)));
            }
            let Value::Array(items) = value else {
                return reader
                    .fail(format!("`{key}` takes a list of conditions"), format!("write `{key}: [..]`"));
            };
            let nodes = items
                .iter()
                .enumerate()
                .map(|(at, item)| reader.at(&at.to_string(), |reader| reader.condition(item)))
                .collect::<Read<Vec<_>>>()?;
            Ok(if key == "any" { Node::Any(nodes) } else { Node::All(nodes) })
        })
    }

    fn test(&mut self, fields: &Map<String, Value>) -> Read<Node> {
        let Some(path) = fields.get("path") else {
            return self.fail("the condition has no `path`", "name a value, such as `path: state.n`");
        };
        let path = self.path("path", path)?;
        let op = self.op(fields)?;
        let value = fields.get("value");
        if let Some(other) = fields.get("other") {
            return self.other(op, other, value.is_some()).map(|test| Node::Test(path, test));
        }
        let test = match (op, value) {
            (Op::Exists, None | Some(Value::Null | Value::Bool(true))) => Test::Exists,
            (Op::Exists, Some(_)) => {
                return self.at("value", |reader| {
                    reader.fail(
                        "`exists` takes no `value`",
                        "for the opposite, write `not: {path: .., op: exists}`",
                    )
                });
            }
            (op, None) => {
                let help = "for null, write `value: null`; for the value at another path, `other: PATH`";
                return self.fail(format!("`{op}` needs a `value`", op = op.as_str()), help);
            }
            (Op::In, Some(Value::Array(items))) => Test::In(items.clone()),
            (Op::In, Some(_)) => {
                return self.at("value", |reader| {
                    reader.fail(
                        "the value of `in` is a list",
                        "such as `value: [a, b]`; see `contains` for the reverse",
                    )
                });
            }
            (Op::Regex, Some(value)) => self.at("value", |reader| reader.regex(value))?,
            (op @ (Op::Gt | Op::Gte | Op::Lt | Op::Lte), Some(value)) => {
                if !matches!(value, Value::Number(_) | Value::String(_)) {
                    return self.at("value", |reader| {
                        reader.fail(
                            format!("`{}` compares numbers or text", op.as_str()),
                            "use `eq`, `ne` or `in`",
                        )
                    });
                }
                Test::Compare(op, value.clone())
            }
            (op @ (Op::Eq | Op::Ne | Op::Contains), Some(value)) => Test::Compare(op, value.clone()),
        };
        Ok(Node::Test(path, test))
    }

    /// Reads the path of a key, in which `[*]` stands for any element.
    fn path(&mut self, key: &str, value: &Value) -> Read<Path> {
        self.at(key, |reader| match value {
            Value::String(text) => Path::parse_with_any(text).map_err(|error| ConditionSyntaxError {
                message: error.message,
                help: error.help,
                pointer: reader.pointer.clone(),
            }),
            _ => reader.fail(format!("`{key}` is text"), format!("such as `{key}: state.n`")),
        })
    }

    /// Reads a comparison with the value at another path.
    fn other(&mut self, op: Op, other: &Value, has_value: bool) -> Read<Test> {
        if has_value {
            return self.fail(
                "`value` and `other` are two values to compare with",
                "write `value` for a constant, or `other` for a path",
            );
        }
        if matches!(op, Op::Exists | Op::Regex) {
            return self.at("other", |reader| {
                reader.fail(
                    format!("`{}` is not a comparison with another path", op.as_str()),
                    "use it with `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in` or `contains`",
                )
            });
        }
        Ok(Test::Other(op, self.path("other", other)?))
    }

    fn op(&mut self, fields: &Map<String, Value>) -> Read<Op> {
        let (key, value) = match (fields.get("op"), fields.get("operator")) {
            (Some(_), Some(_)) => {
                return self.fail("`op` and `operator` are the same key", "write one of them");
            }
            (Some(value), None) => ("op", value),
            (None, Some(value)) => ("operator", value),
            (None, None) => return Ok(Op::Eq),
        };
        self.at(key, |reader| {
            let all = Op::ALL.map(Op::as_str);
            let known = || format!("the operators are {}", all.join(", "));
            let Value::String(name) = value else {
                return reader.fail("an operator is text", known());
            };
            if let Some(op) = Op::ALL.into_iter().find(|op| op.as_str() == name) {
                return Ok(op);
            }
            let symbol = match name.as_str() {
                "==" | "=" | "equals" => Some("eq"),
                "!=" | "<>" | "not_equals" | "neq" => Some("ne"),
                ">" => Some("gt"),
                ">=" | "ge" => Some("gte"),
                "<" => Some("lt"),
                "<=" | "le" => Some("lte"),
                "matches" | "match" | "=~" => Some("regex"),
                _ => None,
            };
            let help = match symbol {
                Some(symbol) => format!("did you mean `{symbol}`?"),
                None => nearest(name, all).unwrap_or_else(known),
            };
            reader.fail(format!("there is no operator `{}`", shown(name)), help)
        })
    }

    fn regex(&mut self, value: &Value) -> Read<Test> {
        let Value::String(pattern) = value else {
            return self.fail("the value of `regex` is a pattern", "such as `value: \"^draft-[0-9]+$\"`");
        };
        match self.patterns.compile(pattern) {
            Ok(pattern) => Ok(Test::Regex(pattern)),
            Err(PatternError::TooLarge) => self.fail(
                "the pattern is too large, or takes too long to compile",
                "repeat less, or test a shorter pattern",
            ),
            Err(PatternError::Together) => self.fail(
                "the patterns of the document are too large together",
                "use fewer patterns, or shorter ones; `in` and `contains` need none",
            ),
            Err(PatternError::Exhausted(exhausted)) => self.fail(
                format!("the pattern is not compiled: {exhausted}"),
                "use fewer patterns, or shorter ones",
            ),
            Err(PatternError::Syntax(text)) => {
                // The library's text ends with the reason, behind the pattern and a marker line.
                let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.fail(
                    format!("the pattern cannot be read: {reason}"),
                    "patterns run in linear time: there are no look-around and no back-references",
                )
            }
        }
    }
}

fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    // The time and memory of a comparison grow with the product of the lengths.
    if word.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(candidate, &word.to_lowercase()), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 2 && *distance < candidate.len())
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Returns a word of the document for a message: escaped, cut to a readable length.
fn shown(word: &str) -> String {
    word.chars().take(60).flat_map(char::escape_debug).collect()
}
