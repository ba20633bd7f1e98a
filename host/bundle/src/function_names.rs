//! Names of functions and of what they take and give, as generated JavaScript has them.

use std::collections::BTreeMap;

use graph_core::diagnostic::excerpt;
use graph_core::wit_value::{FunctionSignature, WitType};

/// Two names of a component that are one in JavaScript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its names `{}` and `{}` are one name in JavaScript", excerpt(one), excerpt(other))]
pub struct NameClash {
    /// The one that stands first.
    pub one: String,
    /// The other one.
    pub other: String,
}

/// The name that a function itself has, of its name after `#` in item ids.
pub(crate) fn own_name(function: &str) -> &str {
    function.rsplit_once('/').map_or(function, |(_, own)| own)
}

/// A name of WIT as the generator writes it: `dark-blue` is `darkBlue`.
fn in_javascript(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for word in name.split('-') {
        let mut characters = word.chars();
        if !written.is_empty() {
            written.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        }
        written.extend(characters.map(|other| other.to_ascii_lowercase()));
    }
    written
}

/// Checks that no two of these names are one in JavaScript.
fn distinct<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<(), NameClash> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for name in names {
        if let Some(one) = known.insert(in_javascript(name), name)
            && one != name
        {
            return Err(NameClash { one: one.to_owned(), other: name.to_owned() });
        }
    }
    Ok(())
}

/// Checks the names of all functions that a component exports, as they stand after `#` in item ids.
pub fn check_exports<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<(), NameClash> {
    let mut scopes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let (scope, own) = name.rsplit_once('/').unwrap_or(("", name));
        scopes.entry(scope).or_default().push(own);
        // An interface of no package stands next to the functions that the component exports itself.
        if !scope.is_empty() && !scope.contains(':') {
            scopes.entry("").or_default().push(scope);
        }
    }
    scopes.into_values().try_for_each(distinct)
}

/// Checks the names in what a function takes and gives.
pub fn check_types(signature: &FunctionSignature) -> Result<(), NameClash> {
    signature.params.iter().map(|(_, ty)| ty).chain(&signature.result).try_for_each(check_type)
}

fn check_type(ty: &WitType) -> Result<(), NameClash> {
    match ty {
        WitType::List(ty) | WitType::FixedLengthList(ty, _) | WitType::Option(ty) => check_type(ty),
        WitType::Tuple(types) => types.iter().try_for_each(check_type),
        WitType::Record(fields) => {
            distinct(fields.iter().map(|(name, _)| name.as_str()))?;
            fields.iter().try_for_each(|(_, ty)| check_type(ty))
        }
        WitType::Variant(cases) => cases.iter().filter_map(|(_, ty)| ty.as_ref()).try_for_each(check_type),
        WitType::Flags(flags) => distinct(flags.iter().map(String::as_str)),
        WitType::Result(ok, err) => ok.iter().chain(err).try_for_each(|ty| check_type(ty)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_the_generator_does() {
        for (name, written) in [
            ("a", "a"),
            ("dark-blue", "darkBlue"),
            ("HTTP-status", "httpStatus"),
            ("to-URL", "toUrl"),
            ("a-1b", "a1b"),
            ("utf8-text", "utf8Text"),
        ] {
            assert_eq!(in_javascript(name), written);
        }
    }

    #[test]
    fn names_that_are_one_in_javascript_are_found() {
        let clash = |one: &str, other: &str| Err(NameClash { one: one.to_owned(), other: other.to_owned() });
        assert_eq!(check_exports(["a:b/c/x-1", "a:b/d/x1", "x-1"]), Ok(()));
        assert_eq!(check_exports(["a:b/c/x-1", "a:b/c/x1"]), clash("x-1", "x1"));
        assert_eq!(check_exports(["x-1", "x1/f", "x1/g"]), clash("x-1", "x1"));
        let of = |ty: WitType| FunctionSignature { params: vec![("v".to_owned(), ty)], result: None };
        let record = WitType::Record(vec![("a1".to_owned(), WitType::U8), ("a-1".to_owned(), WitType::U8)]);
        let inside = WitType::List(Box::new(WitType::Option(Box::new(record))));
        assert_eq!(check_types(&of(inside)), clash("a1", "a-1"));
        let flags = WitType::Flags(vec!["b".to_owned(), "a-1".to_owned(), "a1".to_owned()]);
        assert_eq!(check_types(&of(WitType::Result(None, Some(Box::new(flags))))), clash("a-1", "a1"));
        // Cases keep their names.
        assert_eq!(check_types(&of(WitType::Enum(vec!["a1".to_owned(), "a-1".to_owned()]))), Ok(()));
    }
}
