//! The pipes of templates: their names, and the arguments that they take.

use serde_json::Value;

use super::expression::Mistake;

/// A conversion in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// The value as canonical JSON text.
    Json,
    /// The value of a JSON text.
    FromJson,
    /// The number of elements, keys or characters (Unicode scalar values).
    Length,
    /// The keys of an object, sorted.
    Keys,
    /// Text in upper case.
    Upper,
    /// Text in lower case.
    Lower,
    /// Text without white space at its start and end.
    Trim,
    /// The lines of a text, without their ends.
    Lines,
    /// The parts of a text between a separator.
    Split,
    /// The elements of a list as one text, with a separator between them.
    Join,
    /// The first element of a list; null if it is empty.
    First,
    /// The last element of a list; null if it is empty.
    Last,
    /// The elements of a list, or the characters of a text, from a position up to another one.
    Slice,
    /// The elements of a list, each value once, at its first place.
    Unique,
    /// The elements of a list of numbers or of texts in ascending order.
    Sort,
    /// The sum of a list of numbers.
    Sum,
    /// The smallest of a list of numbers or texts; null if it is empty.
    Min,
    /// The largest of a list of numbers or texts; null if it is empty.
    Max,
    /// A number, rounded to a number of digits after the point.
    Round,
    /// A time in another format.
    Time,
}

/// An argument of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeArgument {
    /// Its name, for messages and the reference.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: ArgumentKind,
    /// `true` if the pipe needs it.
    pub is_required: bool,
}

/// The values that an argument of a pipe takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Text that is not empty.
    Text,
    /// A whole number from the first to the last of these.
    Integer(i64, i64),
}

/// Largest number of digits after the point that `round` leaves.
pub(super) const MAX_DIGITS: i64 = 15;

const fn required(name: &'static str, takes: ArgumentKind) -> PipeArgument {
    PipeArgument { name, takes, is_required: true }
}

const fn optional(name: &'static str, takes: ArgumentKind) -> PipeArgument {
    PipeArgument { name, takes, is_required: false }
}

const ANY_INTEGER: ArgumentKind = ArgumentKind::Integer(i64::MIN, i64::MAX);

impl Pipe {
    /// Every pipe, in the order in which messages list them.
    pub const ALL: [Self; 20] = [
        Self::Json,
        Self::FromJson,
        Self::Length,
        Self::Keys,
        Self::Upper,
        Self::Lower,
        Self::Trim,
        Self::Lines,
        Self::Split,
        Self::Join,
        Self::First,
        Self::Last,
        Self::Slice,
        Self::Unique,
        Self::Sort,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::Round,
        Self::Time,
    ];

    /// Returns the name in a template.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::FromJson => "from_json",
            Self::Length => "length",
            Self::Keys => "keys",
            Self::Upper => "upper",
            Self::Lower => "lower",
            Self::Trim => "trim",
            Self::Lines => "lines",
            Self::Split => "split",
            Self::Join => "join",
            Self::First => "first",
            Self::Last => "last",
            Self::Slice => "slice",
            Self::Unique => "unique",
            Self::Sort => "sort",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Round => "round",
            Self::Time => "time",
        }
    }

    /// Returns the arguments, in order; required ones come first.
    pub const fn arguments(self) -> &'static [PipeArgument] {
        const SEPARATOR: &[PipeArgument] = &[required("separator", ArgumentKind::Text)];
        const RANGE: &[PipeArgument] = &[required("from", ANY_INTEGER), optional("to", ANY_INTEGER)];
        const DIGITS: &[PipeArgument] = &[optional("digits", ArgumentKind::Integer(0, MAX_DIGITS))];
        const FORMAT: &[PipeArgument] =
            &[optional("format", ArgumentKind::Text), optional("offset", ArgumentKind::Text)];
        match self {
            Self::Split | Self::Join => SEPARATOR,
            Self::Slice => RANGE,
            Self::Round => DIGITS,
            Self::Time => FORMAT,
            _ => &[],
        }
    }

    /// Returns the kinds of value that the pipe converts, for messages and the reference.
    pub const fn takes(self) -> &'static str {
        match self {
            Self::Json => "any value",
            Self::FromJson => "JSON text",
            Self::Length => "text, a list or an object",
            Self::Keys => "an object",
            Self::Upper | Self::Lower | Self::Trim | Self::Lines | Self::Split => "text",
            Self::Join => "a list of texts, numbers and booleans",
            Self::First | Self::Last | Self::Unique => "a list",
            Self::Slice => "a list or text",
            Self::Sort | Self::Min | Self::Max => "a list of numbers, or a list of texts",
            Self::Sum => "a list of numbers",
            Self::Round => "a number",
            Self::Time => "a time in RFC 3339, or a number of seconds since 1970",
        }
    }

    /// Returns the pipe with its arguments, as in the reference: `slice(from[, to])`.
    pub fn signature(self) -> String {
        let mut text = self.as_str().to_owned();
        let arguments = self.arguments();
        if arguments.is_empty() {
            return text;
        }
        let (mut inside, mut open) = (String::new(), 0);
        for (at, argument) in arguments.iter().enumerate() {
            if !argument.is_required {
                inside.push('[');
                open += 1;
            }
            if at > 0 {
                inside.push_str(", ");
            }
            inside.push_str(argument.name);
        }
        inside.extend(std::iter::repeat_n(']', open));
        text.push('(');
        text.push_str(&inside);
        text.push(')');
        text
    }
}

/// A pipe in an expression, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PipeCall {
    pub(super) pipe: Pipe,
    /// As many as the pipe takes, without trailing optional ones.
    arguments: Box<[Value]>,
}

impl PipeCall {
    /// Checks the arguments. Those of an error are at byte offsets `places`, the name of the pipe is at `at`.
    pub(super) fn new(pipe: Pipe, at: usize, given: Vec<(usize, Value)>) -> Result<Self, Mistake> {
        let takes = pipe.arguments();
        let form = || format!("it is written `{}`", pipe.signature());
        if let Some((place, _)) = given.get(takes.len()) {
            let message = format!("`{}` takes {}", pipe.as_str(), counted(takes.len()));
            return Err(Mistake::new(*place, message, form()));
        }
        if let Some(missing) = takes.get(given.len()).filter(|argument| argument.is_required) {
            return Err(Mistake::new(at, format!("`{}` needs a {}", pipe.as_str(), missing.name), form()));
        }
        for (argument, (place, value)) in takes.iter().zip(&given) {
            if let Some(problem) = argument.takes.problem(value) {
                let message = format!("the {} of `{}` {problem}", argument.name, pipe.as_str());
                return Err(Mistake::new(*place, message, form()));
            }
        }
        if pipe == Pipe::Time {
            super::evaluate::time::check(&given)?;
        }
        Ok(Self { pipe, arguments: given.into_iter().map(|(_, value)| value).collect() })
    }

    /// Returns an argument that is text.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        self.arguments.get(at).and_then(Value::as_str)
    }

    /// Returns an argument that is a whole number.
    pub(super) fn integer(&self, at: usize) -> Option<i64> {
        self.arguments.get(at).and_then(Value::as_i64)
    }
}

impl ArgumentKind {
    /// Returns the reason why the argument cannot have that value.
    fn problem(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Text, Value::String(text)) if text.is_empty() => Some("is empty".to_owned()),
            (Self::Text, Value::String(_)) => None,
            (Self::Text, _) => Some("is text in quotes".to_owned()),
            (Self::Integer(least, most), value) => match value.as_i64() {
                Some(number) if (least..=most).contains(&number) => None,
                _ if self == ANY_INTEGER => Some("is a whole number".to_owned()),
                _ => Some(format!("is a whole number from {least} to {most}")),
            },
        }
    }
}

fn counted(arguments: usize) -> String {
    match arguments {
        0 => "no argument".to_owned(),
        1 => "one argument".to_owned(),
        more => format!("at most {more} arguments"),
    }
}
