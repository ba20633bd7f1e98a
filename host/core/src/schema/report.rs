//! Messages about values that violate a keyword.

use serde_json::Value;

use super::message::{BriefText, shown};
use super::program::{Keyword, Program};

/// A violation.
pub(super) struct Violation<'f, 'p> {
    /// The path of the part in the value.
    pub(super) path: &'f Path<'f>,
    /// The part that violates the keyword.
    pub(super) value: &'f Value,
    /// The violated keyword.
    pub(super) keyword: &'p Keyword,
    pub(super) detail: Detail<'f, 'p>,
}

/// Details of a violation that the keyword does not contain.
#[derive(Clone, Copy)]
pub(super) enum Detail<'f, 'p> {
    None,
    /// The name of a field that is missing.
    Missing(&'p str),
    /// The unexpected names or items, as many as a message has room for, and their number.
    Unexpected(&'f [String], usize),
    /// More than one of several exclusive alternatives matches.
    Several,
}

/// The path from a value to a part of it.
pub(super) enum Path<'f> {
    Whole,
    Key(&'f Path<'f>, &'f str),
    Index(&'f Path<'f>, usize),
}

impl Path<'_> {
    /// Returns the least number of bytes of the pointer.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole => 0,
            Self::Key(path, key) => path.len() + key.len() + 1,
            Self::Index(path, _) => path.len() + 2,
        }
    }

    /// Returns the path as a JSON pointer (RFC 6901).
    pub(super) fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        self.write(&mut pointer);
        pointer
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Whole => {}
            Self::Key(path, key) => {
                path.write(out);
                out.push('/');
                for c in key.chars() {
                    match c {
                        '~' => out.push_str("~0"),
                        '/' => out.push_str("~1"),
                        c => out.push(c),
                    }
                }
            }
            Self::Index(path, at) => {
                path.write(out);
                out.push('/');
                out.push_str(&at.to_string());
            }
        }
    }
}

impl Violation<'_, '_> {
    /// Returns the message about the violation.
    pub(super) fn message(&self, program: &Program) -> String {
        let value = shown(self.value);
        let mut text = BriefText::default();
        match (self.keyword, self.detail) {
            (_, Detail::Missing(name)) => {
                text.add(&format_args!("{} is a required property", shown(&Value::from(name))));
            }
            (keyword, Detail::Unexpected(names, count)) => {
                let what = match keyword {
                    Keyword::UnevaluatedItems(_) => "Unevaluated items",
                    Keyword::UnevaluatedProperties(_) => "Unevaluated properties",
                    _ => "Additional properties",
                };
                unexpected(&mut text, what, names, count);
            }
            (_, Detail::Several) => text.add(&format_args!(
                "{value} is valid under more than one of the schemas listed in the 'oneOf' keyword"
            )),
            (Keyword::Never, _) => text.add(&format_args!("False schema does not allow {value}")),
            (Keyword::Const(expected), _) => text.add(&format_args!("{} was expected", shown(expected))),
            (Keyword::Not(negation), _) => {
                text.add(&format_args!("{} is not allowed for {value}", negation.written));
            }
            (Keyword::Contains(contains), _) if contains.most.is_none() && contains.least == 1 => {
                text.add(&format_args!("None of {value} are valid under the given schema"));
            }
            (Keyword::Type(types), _) => {
                let several = if types.names().nth(1).is_some() { "s" } else { "" };
                text.add(&format_args!("{value} is not of type{several} "));
                text.list(types.names().map(|name| format!("\"{name}\"")));
            }
            (Keyword::Enum(options), _) => {
                text.add(&format_args!("{value} is not one of "));
                candidates(&mut text, &options.all);
            }
            (keyword, _) => {
                text.add(&value);
                text.add(&" ");
                text.add(&predicate(keyword, program));
            }
        }
        text.into_text()
    }
}

/// Returns the part of a message that follows the value.
fn predicate(keyword: &Keyword, program: &Program) -> String {
    match keyword {
        Keyword::Minimum(limit) => format!("is less than the minimum of {limit}"),
        Keyword::Maximum(limit) => format!("is greater than the maximum of {limit}"),
        Keyword::ExclusiveMinimum(limit) => format!("is less than or equal to the minimum of {limit}"),
        Keyword::ExclusiveMaximum(limit) => format!("is greater than or equal to the maximum of {limit}"),
        Keyword::MultipleOf(of) => format!("is not a multiple of {of}"),
        Keyword::MinLength(n) => format!("is shorter than {}", counted(*n, "character", "characters")),
        Keyword::MaxLength(n) => format!("is longer than {}", counted(*n, "character", "characters")),
        Keyword::MinItems(n) => format!("has less than {}", counted(*n, "item", "items")),
        Keyword::MaxItems(n) => format!("has more than {}", counted(*n, "item", "items")),
        Keyword::MinProperties(n) => format!("has less than {}", counted(*n, "property", "properties")),
        Keyword::MaxProperties(n) => format!("has more than {}", counted(*n, "property", "properties")),
        Keyword::Pattern(pattern) => {
            let written: &str = program.patterns.get(*pattern).map_or("", |pattern| &pattern.written);
            format!("does not match \"{}\"", shown(&written))
        }
        Keyword::UniqueItems => "has non-unique elements".to_owned(),
        Keyword::AnyOf(_) => "is not valid under any of the schemas listed in the 'anyOf' keyword".to_owned(),
        Keyword::OneOf(_) => "is not valid under any of the schemas listed in the 'oneOf' keyword".to_owned(),
        Keyword::Contains(contains) => {
            let most = contains.most.map_or_else(String::new, |most| format!(" and at most {most}"));
            format!("does not have at least {}{most} of the items that `contains` describes", contains.least)
        }
        _ => "does not fit the schema".to_owned(),
    }
}

/// Lists the options of an enumeration, or the first ones and the number of the others.
fn candidates(text: &mut BriefText, options: &[Value]) {
    match options {
        [] => text.add(&"no values at all"),
        [one] => text.add(&shown(one)),
        [first @ .., last] if first.len() < 3 => {
            text.list(first.iter().map(|option| shown(option)));
            text.add(&format_args!(" or {}", shown(last)));
        }
        [first, second, more @ ..] => {
            text.add(&format_args!("{}, {} or {} other candidates", shown(first), shown(second), more.len()));
        }
    }
}

fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

fn unexpected(text: &mut BriefText, what: &str, names: &[String], count: usize) {
    text.add(&format_args!("{what} are not allowed ("));
    text.list(names.iter().map(|name| format!("'{name}'")));
    if names.len() < count {
        text.add(&", …");
    }
    text.add(&format_args!(" {} unexpected)", if count == 1 { "was" } else { "were" }));
}
