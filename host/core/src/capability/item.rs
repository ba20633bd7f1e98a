//! Patterns of item ids, and their order by specificity.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::dispatch::compile;
use crate::diagnostic::excerpt;
use crate::id::{ItemId, MAX_ITEM_ID, function_of, is_function, without_function};

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A pattern of item ids, for an entry of a manifest or for the items that a key may sign: `*` matches any characters (`/` too), `?` one,
/// `[..]` one of a set. Versions are ignored. A function of a component is covered only by a pattern that names it after `#`, without
/// wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ItemPattern {
    /// The pattern before `#`.
    compiled: glob::Pattern,
    function: Option<String>,
    written: String,
    tokens: Vec<Token>,
    specificity: Specificity,
}

/// A text is not a pattern of item ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern of item ids such as `examples/*`: {reason}")]
pub struct ItemPatternError {
    /// The text, escaped.
    pub pattern: String,
    /// The reason why the pattern is invalid.
    pub reason: String,
}

/// The specificity of a pattern; of two that match an item, the greater applies.
///
/// A pattern without wildcards comes first, then the one with more characters before its first wildcard, then the one with more literal
/// characters in all, then the one with fewer `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal: bool,
    prefix: usize,
    characters: usize,
    stars: std::cmp::Reverse<usize>,
}

/// A part of a pattern: any characters, or one of a set of ASCII characters, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Star,
    One(u128),
}

impl ItemPattern {
    /// Reads a pattern of item ids, such as `acme/*`, or of a function of a component, such as `acme/lib#add`.
    pub fn parse(text: &str) -> Result<Self, ItemPatternError> {
        let fail = |reason: &str| Err(ItemPatternError { pattern: excerpt(text), reason: reason.to_owned() });
        if text.is_empty() {
            return fail("it is empty");
        }
        if text.len() > MAX_ITEM_ID {
            return fail("it is too long");
        }
        if text.contains('@') {
            return fail("leave the version out: a pattern covers all versions");
        }
        let function = function_of(text);
        if function.is_some_and(|function| !is_function(function)) {
            return fail("after `#` stands one function of a component, as in `acme/lib#add`");
        }
        let item = without_function(text);
        if !item.bytes().all(|byte| is_id_byte(byte) || b"/*?[]!".contains(&byte)) {
            return fail("ids have letters, digits, `_`, `-` and `/`; patterns add `*`, `?` and `[..]`");
        }
        if !text.contains(['*', '?', '[', ']', '!'])
            && let Err(error) = ItemId::parse(text)
        {
            return fail(&error.to_string());
        }
        match compile(item) {
            Ok(compiled) => {
                let tokens = tokens(compiled.as_str());
                let (function, written) = (function.map(str::to_owned), text.to_owned());
                let specificity = specificity(&tokens);
                Ok(Self { compiled, function, written, tokens, specificity })
            }
            Err(reason) => fail(&reason),
        }
    }

    /// Checks whether the pattern covers an item id without a version.
    pub fn matches(&self, id: &str) -> bool {
        let item = without_function(id);
        self.function.as_deref() == function_of(id) && ItemId::is_path(item) && self.compiled.matches(item)
    }

    /// Returns the function that the pattern names after `#`.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the specificity of the pattern.
    pub const fn specificity(&self) -> Specificity {
        self.specificity
    }

    /// Returns a key that two patterns share if they are equally specific and can cover the same item: specificity, function, and the
    /// characters before the first wildcard.
    pub(super) fn meeting_place(&self) -> (Specificity, Option<&str>, Vec<u128>) {
        let prefix = self.tokens.iter().take(self.specificity.prefix);
        let sets = prefix.map(|token| if let Token::One(set) = token { *set } else { 0 });
        (self.specificity, self.function.as_deref(), sets.collect())
    }

    /// Returns the work of [`overlaps`](Self::overlaps) with another pattern, in pairs of their parts.
    pub(super) fn overlap_work(&self, other: &Self) -> u64 {
        (self.tokens.len() as u64 + 1).saturating_mul(other.tokens.len() as u64 + 1)
    }

    /// Checks whether some text is covered by both patterns.
    pub fn overlaps(&self, other: &Self) -> bool {
        if self.function != other.function {
            return false;
        }
        // `reachable[j]`: some text matches the tokens of `self` so far and the first `j` of `other`.
        let columns = other.tokens.len() + 1;
        let skip = |reachable: &mut [bool]| {
            for j in 1..columns {
                reachable[j] |= reachable[j - 1] && other.tokens[j - 1] == Token::Star;
            }
        };
        let mut reachable = vec![false; columns];
        reachable[0] = true;
        skip(&mut reachable);
        for token in &self.tokens {
            let mut after = vec![false; columns];
            match *token {
                // Matches nothing, or as much as any tokens of the other match.
                Token::Star => {
                    let first = reachable.iter().position(|reached| *reached);
                    for j in first.into_iter().flat_map(|first| first..columns) {
                        after[j] = true;
                    }
                }
                Token::One(set) => {
                    for j in 0..columns {
                        let stays = reachable[j] && other.tokens.get(j) == Some(&Token::Star);
                        let steps = j > 0
                            && reachable[j - 1]
                            && matches!(other.tokens[j - 1], Token::One(theirs) if theirs & set != 0);
                        after[j] |= stays || steps;
                    }
                }
            }
            skip(&mut after);
            reachable = after;
        }
        reachable.last().copied().unwrap_or(false)
    }
}

fn specificity(tokens: &[Token]) -> Specificity {
    let is_literal = |token: &&Token| matches!(token, Token::One(set) if set.is_power_of_two());
    let stars = tokens.iter().filter(|token| **token == Token::Star).count();
    let prefix = tokens.iter().take_while(is_literal).count();
    let characters = tokens.iter().filter(is_literal).count();
    Specificity { literal: prefix == tokens.len(), prefix, characters, stars: std::cmp::Reverse(stars) }
}

/// Returns the tokens of a pattern that `glob` has accepted.
fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            // A `]` directly after `[` or `[!` is a member of the set.
            '[' => {
                let members = if rest[1..].starts_with('!') { 2 } else { 1 };
                let end = rest.get(members + 1..).and_then(|tail| tail.find(']'));
                end.map_or(rest.len(), |end| members + 1 + end + 1)
            }
            _ => first.len_utf8(),
        };
        let (part, tail) = rest.split_at(length);
        tokens.push(match part {
            "*" => Token::Star,
            _ => Token::One(members(part)),
        });
        rest = tail;
    }
    tokens
}

/// Returns the characters of ids that one part of a pattern matches, as bits.
fn members(part: &str) -> u128 {
    let Ok(pattern) = glob::Pattern::new(part) else { return 0 };
    let is_member = |byte: &u8| {
        (is_id_byte(*byte) || *byte == b'/') && pattern.matches(char::from(*byte).encode_utf8(&mut [0; 4]))
    };
    (0..128_u8).filter(is_member).fold(0, |set, byte| set | 1 << byte)
}

impl fmt::Display for ItemPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl TryFrom<String> for ItemPattern {
    type Error = ItemPatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<ItemPattern> for String {
    fn from(pattern: ItemPattern) -> Self {
        pattern.written
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> ItemPattern {
        ItemPattern::parse(text).unwrap()
    }

    #[test]
    fn patterns_cover_ids() {
        for (text, id, expected) in [
            ("acme/fetch", "acme/fetch", true),
            ("acme/fetch", "acme/fetch2", false),
            ("acme/*", "acme/a/b", true),
            ("acme/*", "acme", false),
            ("*", "a/b", true),
            ("a?", "ab", true),
            ("[a-b]x", "bx", true),
            ("[!a-b]x", "bx", false),
            ("*", "a//b", false),
            ("*", "", false),
            ("examples/*", "other/examples/x", false),
            ("*", "examples/../x", false),
            ("*", "examples/", false),
            ("*", "examples/x\0", false),
            ("*", "examples/\u{202e}x", false),
            ("*", "acme/fetch@1", false),
            ("Acme/x", "acme/x", false),
            ("acme/lib#add", "acme/lib#add", true),
            ("acme/*#ops/add", "acme/lib#ops/add", true),
            ("acme/lib#add", "acme/lib", false),
            ("acme/lib#add", "acme/lib#sub", false),
            ("acme/lib", "acme/lib#add", false),
            ("*", "acme/lib#add", false),
        ] {
            assert_eq!(pattern(text).matches(id), expected, "{text} over {id}");
        }
        for text in ["", "a@1", "a b", "a//b", "/a", "a/", "..", "a[", "é", "a\n", "a/..", "a\0"] {
            assert!(ItemPattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_more_specific_comes_first() {
        let ranked = [
            "acme/fetch",
            "acme/fetch*",
            "acme/f?tch",
            "acme/f*",
            "acme/*h",
            "acme/*",
            "a*e/*",
            "a*",
            "*x",
            "??",
            "*",
        ];
        for pair in ranked.windows(2) {
            assert!(pattern(pair[0]).specificity() > pattern(pair[1]).specificity(), "{pair:?}");
        }
        assert_eq!(pattern("a/?").specificity(), pattern("a/[xyz]").specificity());
        assert_eq!(pattern("a/[x]").specificity(), pattern("a/x").specificity());
    }

    #[test]
    fn overlaps_are_found() {
        for (a, b, expected) in [
            ("a/*", "*/b", true),
            ("a/*", "b/*", false),
            ("*", "x", true),
            ("a?c", "ab?", true),
            ("a?c", "ab", false),
            ("[ab]", "[bc]", true),
            ("[ab]", "[!ab]", false),
            ("*a", "*b", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("x*", "*x*x", true),
        ] {
            assert_eq!(pattern(a).overlaps(&pattern(b)), expected, "{a} and {b}");
            assert_eq!(pattern(b).overlaps(&pattern(a)), expected, "{b} and {a}");
        }
    }

    proptest! {
        #[test]
        fn overlap_agrees_with_matching(a in "[ab*?/]{1,5}", b in "[ab*?/]{1,5}", id in "[ab/]{1,6}") {
            if let (Ok(a), Ok(b)) = (ItemPattern::parse(&a), ItemPattern::parse(&b)) {
                prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
                prop_assert!(a.overlaps(&a));
                prop_assert!(!(a.compiled.matches(&id) && b.compiled.matches(&id)) || a.overlaps(&b));
            }
        }

        #[test]
        fn a_literal_overlaps_what_matches_it(text in "[ab*?/\\[\\]!-]{1,8}", id in "[ab]{1,3}(/[ab]{1,2}){0,2}") {
            if let Ok(any) = ItemPattern::parse(&text) {
                prop_assert_eq!(any.overlaps(&pattern(&id)), any.matches(&id), "{} {}", text, id);
            }
        }

        #[test]
        fn reading_never_panics(text in any::<String>(), wild in "[a/*?\\[\\]!-]{0,12}") {
            let _ = ItemPattern::parse(&text);
            let _ = ItemPattern::parse(&wild);
        }
    }
}
