//! Templates and conditions of random cases: the form in the model, the text in a document, and the evaluation.

use std::collections::BTreeMap;

use super::value::{V, quoted};

/// Values of the first names of paths.
pub(super) type Roots = BTreeMap<&'static str, V>;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    Index(i64),
    /// Any element of a list, in a condition.
    Any,
}

#[derive(Clone, Debug)]
pub(super) struct Path(pub(super) &'static str, pub(super) Vec<Step>);

#[derive(Clone, Debug)]
pub(super) enum Term {
    Path(Path),
    Lit(V),
}

/// A term and the pipes applied to it.
pub(super) type Alternative = (Term, Vec<&'static str>);

#[derive(Clone, Debug)]
pub(super) enum Template {
    Lit(V),
    One(Vec<Alternative>),
    /// Texts with an expression after each.
    Text(Vec<(&'static str, Vec<Alternative>)>),
    List(Vec<Template>),
    Map(Vec<(&'static str, Template)>),
}

#[derive(Clone, Debug)]
pub(super) enum Condition {
    Always,
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Is(Path, &'static str, V),
    /// A comparison of two paths.
    Other(Path, &'static str, Path),
}

/// Patterns, each with a function that decides whether a text matches.
pub(super) const PATTERNS: [(&str, fn(&str) -> bool); 4] = [
    ("^a", |text| text.starts_with('a')),
    ("b$", |text| text.ends_with('b')),
    ("[0-9]+", |text| text.bytes().any(|byte| byte.is_ascii_digit())),
    ("x|y", |text| text.contains('x') || text.contains('y')),
];

impl Path {
    pub(super) fn written(&self) -> String {
        let mut out = self.0.to_owned();
        for step in &self.1 {
            match step {
                Step::Key(key) => out += &format!(".{key}"),
                Step::Index(at) if at % 2 == 0 => out += &format!("[{at}]"),
                Step::Index(at) => out += &format!(".{at}"),
                Step::Any => out += "[*]",
            }
        }
        out
    }

    /// Returns all values at the path of a condition, a missing one as null.
    fn all(&self, roots: &Roots) -> Vec<V> {
        let mut here: Vec<Option<V>> = vec![roots.get(self.0).cloned()];
        for step in &self.1 {
            here = match step {
                Step::Any => here
                    .into_iter()
                    .flatten()
                    .flat_map(|value| if let V::List(items) = value { items } else { Vec::new() })
                    .map(Some)
                    .collect(),
                step => here.into_iter().map(|value| value.and_then(|value| value.step(step))).collect(),
            };
        }
        here.into_iter().map(|value| value.unwrap_or(V::Null)).collect()
    }

    /// Returns the value at the path, if there is one.
    pub(super) fn find(&self, roots: &Roots) -> Option<V> {
        let mut here = roots.get(self.0)?.clone();
        for step in &self.1 {
            here = here.step(step)?;
        }
        Some(here)
    }
}

impl V {
    fn step(&self, step: &Step) -> Option<Self> {
        match (step, self) {
            (Step::Key(key), Self::Map(fields)) => fields.get(key).cloned(),
            (Step::Index(at), Self::List(items)) => {
                let count = i64::try_from(items.len()).unwrap();
                let from_start = if *at < 0 { count + at } else { *at };
                items.get(usize::try_from(from_start).ok()?).cloned()
            }
            _ => None,
        }
    }
}

fn expression(alternatives: &[Alternative]) -> String {
    let written = alternatives.iter().map(|(term, pipes)| {
        let mut out = match term {
            Term::Path(path) => path.written(),
            Term::Lit(V::Text(text)) => format!("'{text}'"),
            Term::Lit(value) => value.json(),
        };
        for pipe in pipes {
            out += &format!(" | {pipe}");
        }
        out
    });
    format!("${{{}}}", written.collect::<Vec<_>>().join(" || "))
}

impl Template {
    /// Returns the text in a document.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Lit(value) => value.template(),
            Self::One(alternatives) => quoted(&expression(alternatives)),
            Self::Text(pieces) => {
                let pieces = pieces.iter().map(|(before, after)| format!("{before}{}", expression(after)));
                quoted(&pieces.collect::<String>())
            }
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::written).collect::<Vec<_>>().join(", "))
            }
            Self::Map(fields) => {
                let fields =
                    fields.iter().map(|(key, value)| format!("{}: {}", quoted(key), value.written()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Returns `true` if the document itself contains `{overwrite: ..}`.
    pub(super) fn overwrites(&self) -> bool {
        match self {
            Self::Map(fields) => matches!(fields[..], [("overwrite", _)]),
            Self::Lit(V::Map(fields)) => fields.len() == 1 && fields.contains_key("overwrite"),
            _ => false,
        }
    }

    /// Returns the features of the language in the template.
    pub(super) fn features(&self) -> Vec<&'static str> {
        let of = |alternatives: &[Alternative]| {
            let several = (alternatives.len() > 1).then_some("||");
            several
                .into_iter()
                .chain(alternatives.iter().flat_map(|(_, pipes)| pipes.iter().copied().map(feature)))
                .collect::<Vec<_>>()
        };
        match self {
            Self::Lit(_) => Vec::new(),
            Self::One(alternatives) => of(alternatives),
            Self::Text(pieces) => {
                std::iter::once("text").chain(pieces.iter().flat_map(|(_, after)| of(after))).collect()
            }
            Self::List(items) => items.iter().flat_map(Self::features).collect(),
            Self::Map(fields) => fields.iter().flat_map(|(_, value)| value.features()).collect(),
        }
    }

    /// Evaluates the template; `None` if the node fails with `invalid-input`.
    pub(super) fn fill(&self, roots: &Roots, strict: bool) -> Option<V> {
        match self {
            Self::Lit(value) => Some(value.clone()),
            Self::One(alternatives) => first(alternatives, roots, strict),
            Self::Text(pieces) => {
                let mut out = String::new();
                for (before, after) in pieces {
                    out += before;
                    match first(after, roots, strict)? {
                        V::Null => {}
                        V::Text(text) => out += &text,
                        other => out += &other.json(),
                    }
                }
                Some(V::Text(out))
            }
            Self::List(items) => {
                items.iter().map(|item| item.fill(roots, strict)).collect::<Option<_>>().map(V::List)
            }
            Self::Map(fields) => {
                let fields =
                    fields.iter().map(|(key, value)| Some(((*key).to_owned(), value.fill(roots, strict)?)));
                fields.collect::<Option<_>>().map(V::Map)
            }
        }
    }
}

/// Evaluates the first alternative that is not null.
fn first(alternatives: &[Alternative], roots: &Roots, strict: bool) -> Option<V> {
    let count = alternatives.len();
    for (at, (term, pipes)) in alternatives.iter().enumerate() {
        let found = match term {
            Term::Lit(value) => Some(value.clone()),
            Term::Path(path) => path.find(roots),
        };
        if found.is_none() && strict && count == 1 {
            return None;
        }
        let mut value = found.unwrap_or(V::Null);
        if value == V::Null && at + 1 < count {
            continue;
        }
        for pipe in pipes {
            value = through(pipe, value)?;
        }
        if value != V::Null || at + 1 == count {
            return Some(value);
        }
    }
    None
}

fn through(pipe: &str, value: V) -> Option<V> {
    let count = |count: usize| V::Half(2 * i64::try_from(count).unwrap());
    Some(match (pipe, value) {
        ("json", value) => V::Text(value.json()),
        (_, V::Null) => V::Null,
        ("length", V::Text(text)) => count(text.chars().count()),
        ("length", V::List(items)) => count(items.len()),
        ("length", V::Map(fields)) => count(fields.len()),
        ("keys", V::Map(fields)) => V::List(fields.into_keys().map(V::Text).collect()),
        ("upper", V::Text(text)) => V::Text(text.to_uppercase()),
        ("lower", V::Text(text)) => V::Text(text.to_lowercase()),
        ("from_json", V::Text(text)) => V::of(&serde_json::from_str(&text).ok()?),
        ("trim", V::Text(text)) => V::Text(text.trim().to_owned()),
        ("lines", V::Text(text)) => texts(text.lines()),
        ("split('a')", V::Text(text)) => texts(text.split('a')),
        ("join('a')", V::List(items)) => {
            let text = |item: V| match item {
                V::Null => Some(String::new()),
                V::Text(text) => Some(text),
                V::List(_) | V::Map(_) => None,
                simple => Some(simple.json()),
            };
            V::Text(items.into_iter().map(text).collect::<Option<Vec<_>>>()?.join("a"))
        }
        ("first", V::List(items)) => items.first().cloned().unwrap_or(V::Null),
        ("last", V::List(items)) => items.last().cloned().unwrap_or(V::Null),
        ("slice(1)", V::List(items)) => V::List(items.into_iter().skip(1).collect()),
        ("slice(1)", V::Text(text)) => V::Text(text.chars().skip(1).collect()),
        ("slice(0, -1)", V::List(mut items)) => {
            items.pop();
            V::List(items)
        }
        ("slice(0, -1)", V::Text(mut text)) => {
            text.pop();
            V::Text(text)
        }
        ("unique", V::List(items)) => {
            let mut found = Vec::new();
            for item in items {
                if !found.contains(&item) {
                    found.push(item);
                }
            }
            V::List(found)
        }
        ("sort", V::List(items)) => V::List(sorted(items)?),
        ("min", V::List(items)) => sorted(items)?.first().cloned().unwrap_or(V::Null),
        ("max", V::List(items)) => sorted(items)?.last().cloned().unwrap_or(V::Null),
        ("sum", V::List(items)) => {
            let halves = items.iter().map(|item| if let V::Half(half) = item { Some(*half) } else { None });
            V::Half(halves.sum::<Option<i64>>()?)
        }
        // Halves are rounded away from zero.
        ("round", V::Half(half)) => V::Half(half + half % 2),
        _ => return None,
    })
}

/// Returns the name of a pipe as a feature; pipes with names of reducers and arguments have one together.
fn feature(pipe: &'static str) -> &'static str {
    match pipe {
        "json" | "from_json" | "length" | "keys" | "upper" | "lower" => pipe,
        _ => "a pipe of texts, lists and numbers",
    }
}

fn texts<'t>(parts: impl Iterator<Item = &'t str>) -> V {
    V::List(parts.map(|part| V::Text(part.to_owned())).collect())
}

/// Sorts numbers, or texts; `None` for other lists.
fn sorted(mut items: Vec<V>) -> Option<Vec<V>> {
    let is_all = |kind: fn(&V) -> bool| items.iter().all(kind);
    if !is_all(|item| matches!(item, V::Half(_))) && !is_all(|item| matches!(item, V::Text(_))) {
        return None;
    }
    items.sort();
    Some(items)
}

impl Condition {
    /// Returns the text in a document.
    pub(super) fn written(&self) -> String {
        let list = |items: &[Self]| items.iter().map(Self::written).collect::<Vec<_>>().join(", ");
        match self {
            Self::Always => "{}".to_owned(),
            Self::All(items) => format!("{{all: [{}]}}", list(items)),
            Self::Any(items) => format!("{{any: [{}]}}", list(items)),
            Self::Not(item) => format!("{{not: {}}}", item.written()),
            Self::Is(path, "exists", _) => format!("{{path: {}, op: exists}}", quoted(&path.written())),
            Self::Other(path, op, other) => {
                format!(
                    "{{path: {}, op: {op}, other: {}}}",
                    quoted(&path.written()),
                    quoted(&other.written())
                )
            }
            Self::Is(path, op, value) => {
                format!("{{path: {}, op: {op}, value: {}}}", quoted(&path.written()), value.json())
            }
        }
    }

    /// Returns the operators in the condition.
    pub(super) fn operators(&self) -> Vec<&'static str> {
        let of = |name, items: &[Self]| {
            std::iter::once(name).chain(items.iter().flat_map(Self::operators)).collect::<Vec<_>>()
        };
        match self {
            Self::Always => vec!["an empty condition"],
            Self::All(items) => of("all", items),
            Self::Any(items) => of("any", items),
            Self::Not(item) => of("not", std::slice::from_ref(item)),
            Self::Is(path, op, _) => {
                let is_any = path.1.iter().any(|step| matches!(step, Step::Any));
                is_any.then_some("any element").into_iter().chain([*op]).collect()
            }
            Self::Other(_, op, _) => vec!["other", op],
        }
    }

    pub(super) fn holds(&self, roots: &Roots) -> bool {
        match self {
            Self::Always => true,
            Self::All(items) => items.iter().all(|item| item.holds(roots)),
            Self::Any(items) => items.iter().any(|item| item.holds(roots)),
            Self::Not(item) => !item.holds(roots),
            Self::Is(path, op, value) => path.all(roots).iter().any(|found| is(op, found, value)),
            Self::Other(path, op, other) => {
                let others = other.all(roots);
                path.all(roots).iter().any(|found| others.iter().any(|other| is(op, found, other)))
            }
        }
    }
}

fn is(op: &str, found: &V, value: &V) -> bool {
    let ordered = || match (found, value) {
        (V::Half(a), V::Half(b)) => Some(a.cmp(b)),
        (V::Text(a), V::Text(b)) => Some(a.cmp(b)),
        _ => None,
    };
    match op {
        "eq" => found == value,
        "ne" => found != value,
        "gt" => ordered().is_some_and(std::cmp::Ordering::is_gt),
        "gte" => ordered().is_some_and(std::cmp::Ordering::is_ge),
        "lt" => ordered().is_some_and(std::cmp::Ordering::is_lt),
        "lte" => ordered().is_some_and(std::cmp::Ordering::is_le),
        "in" => matches!(value, V::List(items) if items.contains(found)),
        "exists" => *found != V::Null,
        "contains" => match (found, value) {
            (V::List(items), value) => items.contains(value),
            (V::Text(text), V::Text(part)) => text.contains(part.as_str()),
            (V::Map(fields), V::Text(key)) => fields.contains_key(key),
            _ => false,
        },
        "regex" => match (found, value) {
            (V::Text(text), V::Text(pattern)) => {
                PATTERNS.iter().any(|(known, matches)| known == pattern && matches(text))
            }
            _ => false,
        },
        other => panic!("no operator {other}"),
    }
}
