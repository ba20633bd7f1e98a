//! The subset of XML in which directives are written: elements, attributes, text, comments and CDATA. Without document types, and so only
//! with XML's own entities.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Largest nesting of elements.
const DEEPEST: usize = 64;
/// Largest number of elements.
const MOST_ELEMENTS: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    /// In document order, without duplicates.
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    /// All text directly inside, trimmed.
    pub(super) text: String,
    /// The range in the text from which it was read.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// An error and its offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct XmlError {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the element as JSON: a text if it has neither attributes nor children, otherwise a mapping of both. Several children of one
    /// name become a list.
    pub(super) fn to_json(&self) -> Value {
        if self.attributes.is_empty() && self.children.is_empty() {
            return Value::from(self.text.as_str());
        }
        let mut object: Map<String, Value> =
            self.attributes.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        for child in &self.children {
            let value = child.to_json();
            match object.get_mut(&child.name) {
                Some(Value::Array(list)) => list.push(value),
                Some(other) => *other = Value::Array(vec![other.take(), value]),
                None => {
                    object.insert(child.name.clone(), value);
                }
            }
        }
        if !self.text.is_empty() {
            object.entry("text").or_insert_with(|| Value::from(self.text.as_str()));
        }
        Value::Object(object)
    }
}

/// Reads a text that consists of one element.
pub(super) fn parse(text: &str) -> Result<Element, XmlError> {
    let mut reader = Reader { text, at: 0, elements: 0 };
    reader.skip_around()?;
    let element = reader.element(1)?;
    reader.skip_around()?;
    if reader.at < text.len() {
        return Err(reader.error("there is something after the element"));
    }
    Ok(element)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    elements: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn error(&self, message: impl Into<String>) -> XmlError {
        XmlError { at: self.at, message: message.into() }
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Skips a section from `open` up to and including `close`, and returns the text between them.
    fn through(&mut self, open: &str, close: &str) -> Result<&'t str, XmlError> {
        let inside = &self.rest()[open.len()..];
        match inside.find(close) {
            Some(end) => {
                self.at += open.len() + end + close.len();
                Ok(&inside[..end])
            }
            None => Err(self.error(format!("`{open}` is not followed by `{close}`"))),
        }
    }

    /// Skips blanks, comments and processing instructions around the element.
    fn skip_around(&mut self) -> Result<(), XmlError> {
        loop {
            self.skip_blanks();
            if self.rest().starts_with("<!--") {
                self.through("<!--", "-->")?;
            } else if self.rest().starts_with("<?") {
                self.through("<?", "?>")?;
            } else if self.rest().starts_with("<!") {
                return Err(self.error("document types are not read"));
            } else {
                return Ok(());
            }
        }
    }

    fn name(&mut self) -> Result<String, XmlError> {
        let is_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
        let length = self.rest().find(|c| !is_name(c)).unwrap_or(self.rest().len());
        if length == 0 {
            return Err(self.error("a name is missing"));
        }
        let name = self.rest()[..length].to_owned();
        self.at += length;
        Ok(name)
    }

    fn element(&mut self, depth: usize) -> Result<Element, XmlError> {
        let start = self.at;
        self.elements += 1;
        if depth > DEEPEST {
            return Err(self.error(format!("elements are nested more than {DEEPEST} deep")));
        }
        if self.elements > MOST_ELEMENTS {
            return Err(self.error(format!("there are more than {MOST_ELEMENTS} elements")));
        }
        if !self.rest().starts_with('<') {
            return Err(self.error("an element, such as `<directive name=\"…\">`, is needed here"));
        }
        self.at += 1;
        let mut element = Element { name: self.name()?, start, ..Element::default() };
        let mut names = BTreeSet::new();
        loop {
            self.skip_blanks();
            if self.rest().starts_with("/>") {
                self.at += 2;
                element.end = self.at;
                return Ok(element);
            }
            if self.rest().starts_with('>') {
                self.at += 1;
                break;
            }
            let (name, value) = self.attribute()?;
            if !names.insert(name.clone()) {
                return Err(self.error(format!("`<{}>` has the attribute `{name}` twice", element.name)));
            }
            element.attributes.push((name, value));
        }
        self.content(&mut element, depth)?;
        element.end = self.at;
        Ok(element)
    }

    fn attribute(&mut self) -> Result<(String, String), XmlError> {
        if self.rest().is_empty() {
            return Err(self.error("a tag is not closed by `>`"));
        }
        let name = self.name()?;
        self.skip_blanks();
        if !self.rest().starts_with('=') {
            return Err(self.error(format!("the attribute `{name}` has no value: write {name}=\"…\"")));
        }
        self.at += 1;
        self.skip_blanks();
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote.to_string(),
            _ => return Err(self.error(format!("the value of `{name}` is not in quotes"))),
        };
        let at = self.at + 1;
        let value = self.through(&quote, &quote)?;
        Ok((name, unescape(value, at)?))
    }

    fn content(&mut self, element: &mut Element, depth: usize) -> Result<(), XmlError> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                self.at = element.start;
                return Err(self.error(format!("`<{0}>` is not closed by `</{0}>`", element.name)));
            }
            if rest.starts_with("<!--") {
                self.through("<!--", "-->")?;
            } else if rest.starts_with("<![CDATA[") {
                text.push_str(self.through("<![CDATA[", "]]>")?);
            } else if rest.starts_with("<?") {
                self.through("<?", "?>")?;
            } else if rest.starts_with("</") {
                let closed = self.at;
                self.at += 2;
                let name = self.name()?;
                self.skip_blanks();
                if name != element.name || !self.rest().starts_with('>') {
                    self.at = closed;
                    let message = format!("`<{}>` is closed by `</{name}>`", element.name);
                    return Err(self.error(message));
                }
                self.at += 1;
                text.trim().clone_into(&mut element.text);
                return Ok(());
            } else if rest.starts_with('<') {
                element.children.push(self.element(depth + 1)?);
            } else {
                let length = rest.find('<').unwrap_or(rest.len());
                text.push_str(&unescape(&rest[..length], self.at)?);
                self.at += length;
            }
        }
    }
}

/// Replaces the entities of a text.
fn unescape(text: &str, at: usize) -> Result<String, XmlError> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find('&') {
        plain.push_str(&rest[..begin]);
        let place = at + text.len() - rest.len() + begin;
        let unknown = || XmlError {
            at: place,
            message: "`&` starts no known entity: write `&amp;` for the character itself".to_owned(),
        };
        let entity = &rest[begin + 1..];
        let end = entity.find(';').filter(|end| *end <= 10).ok_or_else(unknown)?;
        let character = match &entity[..end] {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            number => number
                .strip_prefix('#')
                .and_then(|number| match number.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16).ok(),
                    None => number.parse().ok(),
                })
                .and_then(char::from_u32)
                .filter(|c| *c != '\0')
                .ok_or_else(unknown)?,
        };
        plain.push(character);
        rest = &entity[end + 1..];
    }
    plain.push_str(rest);
    Ok(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_read() {
        let text = "<?xml version='1.0'?>\n<a x=\"1 &lt; 2\" y='&#x41;'><!-- no --><b/> t &amp; u <b>one</b><c z='1'>x</c><![CDATA[<raw>]]></a>\n";
        let element = parse(text).unwrap();
        assert_eq!(
            element.to_json(),
            json!({"x": "1 < 2", "y": "A", "b": ["", "one"], "c": {"z": "1", "text": "x"}, "text": "t & u <raw>"})
        );
        assert_eq!(&text[element.start..=element.start + 1], "<a");
        assert!(text[..element.end].ends_with("</a>"));
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        let deep = "<a>".repeat(70);
        let wide = format!("<a>{}</a>", "<b/>".repeat(10_001));
        for (text, message) in [
            ("", "an element, such as"),
            ("<a>", "`<a>` is not closed"),
            ("<a", "a tag is not closed"),
            ("<a></b>", "`<a>` is closed by `</b>`"),
            ("<a x></a>", "the attribute `x` has no value"),
            ("<a x=1/>", "not in quotes"),
            ("<a x='1' x='2'/>", "the attribute `x` twice"),
            ("<a>&nbsp;</a>", "starts no known entity"),
            ("<a>&#0;</a>", "starts no known entity"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "document types are not read"),
            ("<a/><b/>", "something after"),
            ("<a><!-- </a>", "is not followed by `-->`"),
            (&deep, "more than 64 deep"),
            (&wide, "more than 10000 elements"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error:?}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "[<>/a&;#x=\"'! \\-é\\[\\]CDAT]{0,40}") {
            let _ = parse(&text);
        }
    }
}
