//! Patterns over capability names, in Rye's grammar, for items that may be dispatched.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::diagnostic::{excerpt, nearest};
use crate::digest::Digest;
use crate::id::{ItemId, function_of, is_function, path_of, without_function, without_version};
use crate::item::{ItemOperation, ItemType};
use crate::json;

/// Length of the longest pattern, in bytes.
const LONGEST: usize = 512;

/// Returns the capability that a dispatch needs: `<primary>.<item_type>.<id>`, the id without its version and with `.` for `/`, such as
/// `execute.tool.acme.fetch` for `acme/fetch@1.2.0`. Segments of ids contain no dots, so that two ids never share a name. Without an id (a
/// search over everything) it is `<primary>.<item_type>`. A function of a component follows after `#`, as in
/// `execute.tool.acme.lib#acme:math/ops/add`.
pub fn capability_name(operation: ItemOperation, item_type: ItemType, item_id: &str) -> String {
    let id = path_of(item_id);
    let mut name = format!("{}.{}", operation.as_str(), item_type.as_str());
    if !id.is_empty() {
        name.push('.');
        name.extend(id.chars().map(|c| if c == '/' { '.' } else { c }));
    }
    if let Some(function) = function_of(item_id) {
        name.push('#');
        name.push_str(function);
    }
    name
}

/// A pattern of capability names: `*` matches any characters (dots too), `?` one, `[abc]`, `[a-z]` and `[!a]` one of a set. A leading
/// `rye.` is dropped and `/` is read as `.`, as in Rye. A pattern without wildcards matches only that name: `execute.tool` does not imply
/// `execute.tool.a`. A function of a component is covered only by a pattern that names it after `#`, without wildcards:
/// `execute.tool.acme.*#add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DispatchPattern {
    written: String,
    /// The pattern before `#`, with `**` reduced to `*` and `/` replaced by `.`. A compiled [`glob::Pattern`] takes 32 bytes for each of
    /// its characters, and runs hold all patterns of documents and manifests.
    glob: Box<str>,
    function: Option<String>,
}

/// A text is not a pattern of capability names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a dispatch pattern: {reason}")]
pub struct DispatchPatternError {
    /// The text, escaped.
    pub pattern: String,
    /// The reason why the pattern is invalid.
    pub reason: String,
    /// The correction.
    pub help: String,
}

impl DispatchPattern {
    /// Reads a pattern. A pattern that matches no capability is refused, since its author meant to grant something.
    pub fn parse(text: &str) -> Result<Self, DispatchPatternError> {
        const EXAMPLE: &str = "such as `execute.tool.examples.*`";
        let fail = |reason: String, help: &str| {
            Err(DispatchPatternError { pattern: excerpt(text), reason, help: help.to_owned() })
        };
        if text.is_empty() {
            return fail("it is empty".to_owned(), EXAMPLE);
        }
        if text.len() > LONGEST {
            return fail(format!("it is longer than {LONGEST} characters"), EXAMPLE);
        }
        let is_known = |c: &char| c.is_ascii_alphanumeric() || "_-./*?[]!".contains(*c);
        let (item, function) = match text.split_once('#') {
            Some((item, function)) => (item, Some(function)),
            None => (text, None),
        };
        if function.is_some_and(|function| !is_function(function)) {
            return fail(
                "what stands after `#` is no function".to_owned(),
                "name one function, as in `execute.tool.acme.lib#add` or `execute.tool.acme.lib#acme:math/ops/add`",
            );
        }
        if let Some(c) = item.chars().find(|c| !is_known(c)) {
            let help = if c == '@' { "leave the version out: a grant covers all versions" } else { EXAMPLE };
            return fail(format!("`{}` is in no capability name", c.escape_debug()), help);
        }
        let dotted = item.replace('/', ".");
        let name = dotted.strip_prefix("rye.").unwrap_or(&dotted);
        let plain = |segment: &str| !segment.is_empty() && !segment.contains(['*', '?', '[', ']', '!']);
        let mut segments = name.split('.');
        let operation = segments.next().filter(|segment| plain(segment));
        if let Some(operation) = operation.filter(|operation| !PRIMARIES.contains(operation)) {
            let help = match nearest(operation, PRIMARIES) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("it starts with one of {}", PRIMARIES.join(", ")),
            };
            return fail(format!("`{operation}` is nothing that is done with an item"), &help);
        }
        if operation.is_some()
            && let Some(item_type) = segments.next().filter(|segment| plain(segment))
            && !ITEM_TYPES.contains(&item_type)
        {
            let help = match nearest(item_type, ITEM_TYPES) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("its second part is one of {}", ITEM_TYPES.join(", ")),
            };
            return fail(format!("`{item_type}` is no kind of item"), &help);
        }
        if name.split('.').any(str::is_empty) {
            return fail("a part between two dots is empty".to_owned(), EXAMPLE);
        }
        match compile(name) {
            Ok(compiled) => Ok(Self {
                written: text.to_owned(),
                glob: compiled.as_str().into(),
                function: function.map(str::to_owned),
            }),
            Err(reason) => fail(reason, "a set is written `[abc]`, `[a-z]` or `[!a]`"),
        }
    }

    /// Checks whether the pattern covers a capability name.
    pub fn matches(&self, name: &str) -> bool {
        self.function.as_deref() == function_of(name) && covers_all(&self.glob, without_function(name))
    }

    /// Estimates the memory of the text and of its compiled form, in bytes.
    pub fn held(&self) -> u64 {
        (self.written.len() as u64).saturating_mul(8)
    }

    /// Checks whether the pattern covers some name below this one.
    fn covers_below(&self, name: &str) -> bool {
        self.function.is_none() && covers_some(&self.glob, &format!("{name}."))
    }

    /// Checks whether the pattern has no wildcards.
    fn is_plain(&self) -> bool {
        !self.glob.contains(['*', '?', '['])
    }

    /// Returns the function of a component that the pattern names after `#`.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl fmt::Display for DispatchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl TryFrom<String> for DispatchPattern {
    type Error = DispatchPatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<DispatchPattern> for String {
    fn from(pattern: DispatchPattern) -> Self {
        pattern.written
    }
}

const PRIMARIES: [&str; 4] = [
    ItemOperation::Execute.as_str(),
    ItemOperation::Search.as_str(),
    ItemOperation::Load.as_str(),
    ItemOperation::Sign.as_str(),
];
const ITEM_TYPES: [&str; 3] =
    [ItemType::Tool.as_str(), ItemType::Knowledge.as_str(), ItemType::Directive.as_str()];

/// Compiles a pattern whose `*` matches every character. Repeated `*` are reduced to one, as `**` means folders to `glob`.
pub(super) fn compile(pattern: &str) -> Result<glob::Pattern, String> {
    let mut single = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if !(c == '*' && single.ends_with('*')) {
            single.push(c);
        }
    }
    glob::Pattern::new(&single).map_err(|error| error.msg.to_owned())
}

/// A part of a pattern. Patterns and the names that they cover are ASCII.
#[derive(Clone, Copy)]
enum Part<'p> {
    /// `*`: any characters.
    Several,
    /// `?`: any character.
    Any,
    /// The character itself.
    One(u8),
    /// `[…]`: one of the members, each a character or a range; `[!…]`: none of them.
    Set { members: &'p [u8], is_excluded: bool },
}

impl<'p> Part<'p> {
    /// Returns the part at the beginning of a compiled pattern, and the rest.
    fn first(pattern: &'p [u8]) -> Option<(Self, &'p [u8])> {
        let (first, rest) = pattern.split_first()?;
        let part = match first {
            b'*' => Self::Several,
            b'?' => Self::Any,
            b'[' => {
                let (is_excluded, rest) = rest.strip_prefix(b"!").map_or((false, rest), |rest| (true, rest));
                // A `]` at the beginning of a set is a member of it.
                let end = rest.iter().skip(1).position(|c| *c == b']').map_or(rest.len(), |end| end + 1);
                let (members, after) = rest.split_at(end);
                return Some((Self::Set { members, is_excluded }, after.get(1..).unwrap_or_default()));
            }
            character => Self::One(*character),
        };
        Some((part, rest))
    }

    /// Reports whether a part other than `*` covers a character.
    fn covers(self, character: u8) -> bool {
        match self {
            Self::Several => false,
            Self::Any => true,
            Self::One(one) => one == character,
            Self::Set { mut members, is_excluded } => {
                let mut is_member = false;
                while let [first, rest @ ..] = members {
                    (is_member, members) = match rest {
                        [b'-', last, rest @ ..] => (is_member || (*first..=*last).contains(&character), rest),
                        _ => (is_member || *first == character, rest),
                    };
                }
                is_member != is_excluded
            }
        }
    }
}

/// Checks whether a pattern covers a whole text.
fn covers_all(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.as_bytes(), text.as_bytes());
    // The pattern after the last `*`, and the text that it has not covered yet.
    let mut last = None;
    loop {
        match (Part::first(pattern), text.split_first()) {
            (None, None) => return true,
            (Some((Part::Several, rest)), _) => {
                pattern = rest;
                last = Some((rest, text));
            }
            (Some((part, rest)), Some((character, behind))) if part.covers(*character) => {
                (pattern, text) = (rest, behind);
            }
            _ => {
                let Some((after, [_, behind @ ..])) = last else { return false };
                (pattern, text) = (after, behind);
                last = Some((after, behind));
            }
        }
    }
}

/// Checks whether a pattern covers a text that begins with `prefix` and is longer than it.
fn covers_some(pattern: &str, prefix: &str) -> bool {
    let parts: Vec<Part<'_>> = {
        let mut rest = pattern.as_bytes();
        std::iter::from_fn(|| {
            let (part, behind) = Part::first(rest)?;
            rest = behind;
            Some(part)
        })
        .collect()
    };
    // The positions in the pattern that matching has reached.
    let past_stars = |mut at: usize, places: &mut Vec<usize>| {
        loop {
            if !places.contains(&at) {
                places.push(at);
            }
            if !matches!(parts.get(at), Some(Part::Several)) {
                return;
            }
            at += 1;
        }
    };
    let mut places = Vec::new();
    past_stars(0, &mut places);
    for character in prefix.bytes() {
        let mut next = Vec::new();
        for at in places {
            match parts.get(at) {
                Some(Part::Several) => past_stars(at, &mut next),
                Some(part) if part.covers(character) => past_stars(at + 1, &mut next),
                _ => {}
            }
        }
        places = next;
    }
    // Every remaining part of the pattern covers something.
    places.into_iter().any(|at| at < parts.len())
}

/// Checks whether an operation on an item can be permitted at all.
fn is_dispatched(operation: ItemOperation, item_type: ItemType, item_id: &str) -> bool {
    let whole_search = operation == ItemOperation::Search && item_id.is_empty();
    whole_search || ItemId::is_dispatched(&without_version(item_id), operation, item_type)
}

/// Checks whether one of the patterns permits an operation, by its capability name.
fn covers_dispatch(
    list: &[DispatchPattern],
    operation: ItemOperation,
    item_type: ItemType,
    name: &str,
) -> bool {
    list.iter().any(|pattern| match operation {
        ItemOperation::Execute | ItemOperation::Load => pattern.matches(name),
        ItemOperation::Search => pattern.matches(name) || pattern.covers_below(name),
        ItemOperation::Sign => item_type != ItemType::Tool && pattern.is_plain() && pattern.matches(name),
    })
}

/// The permitted dispatches: those that one of the patterns covers. Without patterns, no dispatch is permitted.
///
/// A copy shares the patterns: each child run has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<DispatchPattern>", into = "Vec<DispatchPattern>")]
pub struct DispatchPatterns {
    list: Arc<PatternList>,
    /// The lists of parents: each must permit a dispatch as well.
    within: Vec<Arc<PatternList>>,
}

/// A list of patterns, and its digest once that is computed.
#[derive(Debug, Default)]
struct PatternList {
    patterns: Vec<DispatchPattern>,
    digest: OnceLock<Digest>,
}

impl PartialEq for PatternList {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for PatternList {}

impl From<Vec<DispatchPattern>> for DispatchPatterns {
    fn from(patterns: Vec<DispatchPattern>) -> Self {
        let list = Arc::new(PatternList { patterns, digest: OnceLock::new() });
        Self { list, within: Vec::new() }
    }
}

impl From<DispatchPatterns> for Vec<DispatchPattern> {
    fn from(patterns: DispatchPatterns) -> Self {
        patterns.list.patterns.clone()
    }
}

impl DispatchPatterns {
    /// Creates a list that permits nothing.
    pub fn deny_all() -> Self {
        Self::default()
    }

    /// Reads a list of patterns.
    pub fn parse<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, DispatchPatternError> {
        let patterns = patterns.into_iter().map(|pattern| DispatchPattern::parse(pattern.as_ref()));
        patterns.collect::<Result<Vec<_>, _>>().map(Self::from)
    }

    /// Checks whether an operation on an item is permitted. An invalid item id is never permitted, except for a search without one.
    ///
    /// A search is permitted if it could list something: see [`Self::permits_listing`]. Signing needs a pattern that names the item
    /// without wildcards, and is never permitted for tools: the author of a `*` did not intend to give away the user's signature.
    pub fn permits(&self, operation: ItemOperation, item_type: ItemType, item_id: &str) -> bool {
        let mut lists = std::iter::once(&self.list).chain(&self.within);
        is_dispatched(operation, item_type, item_id) && {
            let name = capability_name(operation, item_type, item_id);
            lists.all(|list| covers_dispatch(&list.patterns, operation, item_type, &name))
        }
    }

    /// Checks whether a search may list an item: if `search.<item_type>` is permitted, which is a search over everything, or
    /// `search.<item_type>.<id>`.
    pub fn permits_listing(&self, item_type: ItemType, item_id: &str) -> bool {
        let id = path_of(item_id);
        let everything = capability_name(ItemOperation::Search, item_type, "");
        let name = capability_name(ItemOperation::Search, item_type, id);
        let permits = |list: &Arc<PatternList>| {
            list.patterns.iter().any(|pattern| pattern.matches(&everything) || pattern.matches(&name))
        };
        ItemId::is_path(id) && permits(&self.list) && self.within.iter().all(permits)
    }

    /// Returns patterns that permit only what both permit.
    #[must_use]
    pub fn narrowed_by(mut self, other: &Self) -> Self {
        self.within.push(Arc::clone(&other.list));
        self.within.extend(other.within.iter().map(Arc::clone));
        self
    }

    /// Checks whether the original list permits an operation that a later restriction denies.
    pub fn leaves_out(&self, operation: ItemOperation, item_type: ItemType, item_id: &str) -> bool {
        if self.within.is_empty() || !is_dispatched(operation, item_type, item_id) {
            return false;
        }
        let name = capability_name(operation, item_type, item_id);
        let covers = |list: &Arc<PatternList>| covers_dispatch(&list.patterns, operation, item_type, &name);
        covers(&self.list) && !self.within.iter().all(covers)
    }

    /// Returns the digest of the patterns, without those of parents.
    pub(super) fn digest(&self) -> Digest {
        *self.list.digest.get_or_init(|| {
            let listed: Vec<&str> = self.iter().map(DispatchPattern::as_str).collect();
            json::digest("graph-host/dispatch-patterns/v1", &json!(listed))
        })
    }

    /// Returns the original patterns, without those of parents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &DispatchPattern> {
        self.list.patterns.iter()
    }

    /// Checks whether the original list has no pattern.
    pub fn is_empty(&self) -> bool {
        self.list.patterns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn permits(patterns: &[&str], id: &str) -> bool {
        DispatchPatterns::parse(patterns).unwrap().permits(ItemOperation::Execute, ItemType::Tool, id)
    }

    #[test]
    fn a_function_is_covered_by_its_own_name_alone() {
        for (pattern, id, expected) in [
            ("execute.tool.acme.lib#add", "acme/lib#add", true),
            ("execute.tool.acme.lib#add", "acme/lib@1.2.0#add", true),
            ("execute.tool.acme.*#add", "acme/lib#add", true),
            ("execute.tool.acme.lib#acme:math/ops/add", "acme/lib#acme:math/ops/add", true),
            ("execute.tool.acme.lib#add", "acme/lib", false),
            ("execute.tool.acme.lib#add", "acme/lib#sub", false),
            ("execute.tool.acme.lib#add", "acme/lib#ops/add", false),
            ("execute.tool.acme.lib", "acme/lib#add", false),
            ("execute.tool.*", "acme/lib#add", false),
            ("*", "acme/lib#add", false),
            ("execute.*", "acme/lib#add", false),
        ] {
            assert_eq!(permits(&[pattern], id), expected, "{pattern} {id}");
        }
        for pattern in ["execute.tool.a#", "execute.tool.a#*", "execute.tool.a#b#c", "execute.tool.a#a.b"] {
            assert!(DispatchPattern::parse(pattern).is_err(), "{pattern}");
        }
        let patterns = DispatchPatterns::parse(["load.tool.acme.lib#add"]).unwrap();
        assert!(
            !patterns.permits(ItemOperation::Load, ItemType::Tool, "acme/lib#add"),
            "a function is only executed"
        );
    }

    #[test]
    fn names_are_dotted() {
        assert_eq!(capability_name(ItemOperation::Execute, ItemType::Tool, "t/log"), "execute.tool.t.log");
        assert_eq!(
            capability_name(ItemOperation::Load, ItemType::Knowledge, "a/b-c/d@1.2.0"),
            "load.knowledge.a.b-c.d"
        );
        assert_eq!(capability_name(ItemOperation::Search, ItemType::Directive, ""), "search.directive");
        assert_eq!(
            capability_name(ItemOperation::Execute, ItemType::Tool, "acme/lib@1.2.0#acme:math/ops/add"),
            "execute.tool.acme.lib#acme:math/ops/add"
        );
    }

    #[test]
    fn patterns_follow_ryes_grammar() {
        for (pattern, id, expected) in [
            ("execute.tool.t.log", "t/log", true),
            ("rye.execute.tool.t.log", "t/log", true),
            ("execute.tool.t/log", "t/log", true),
            ("execute.tool.t.log", "t/log@2.0.0", true),
            ("execute.tool.t.log", "t/log/x", false),
            ("execute.tool.t", "t/log", false),
            ("execute.tool", "t", false),
            ("execute.tool.*", "t/a/b", true),
            ("execute.*", "t/a", true),
            ("*", "t/a", true),
            ("**", "t/a", true),
            ("execute.tool.t**x", "t/a/x", true),
            ("*.tool.t.*", "t/a/b", true),
            ("execute.tool.t.*", "t", false),
            ("execute.tool.t?log", "t/log", true),
            ("execute.tool.t.l?g", "t/log", true),
            ("execute.tool.t.l?g", "t/loog", false),
            ("execute.tool.t.[k-m]og", "t/log", true),
            ("execute.tool.t.[!k-m]og", "t/log", false),
            ("execute.tool.T.log", "t/log", false),
            ("load.tool.t.log", "t/log", false),
            ("execute.knowledge.*", "t/log", false),
            ("*.log", "t/log", true),
        ] {
            assert_eq!(permits(&[pattern], id), expected, "{pattern} over {id}");
        }
        assert!(!permits(&[], "t/log"));
        assert!(permits(&["execute.tool.x", "execute.tool.t.*"], "t/log"));
        assert!(!DispatchPatterns::deny_all().permits(ItemOperation::Execute, ItemType::Tool, "t"));
    }

    #[test]
    fn what_is_no_item_id_is_never_permitted() {
        for id in ["", "../x", "a//b", "/a", "a/", "a.b", "a b", "é", "a\0", "@1", "a/../b"] {
            assert!(!permits(&["*"], id), "{id:?}");
        }
        let all = DispatchPatterns::parse(["search.tool"]).unwrap();
        assert!(all.permits(ItemOperation::Search, ItemType::Tool, ""));
        assert!(!all.permits(ItemOperation::Search, ItemType::Knowledge, ""));
        assert!(!all.permits(ItemOperation::Search, ItemType::Tool, "@1"));
    }

    #[test]
    fn a_search_lists_what_is_permitted_and_nothing_else() {
        for (pattern, scope, permitted, lists) in [
            ("search.knowledge", "", true, ["a", "acme/x", "acme/y"].as_slice()),
            ("search.knowledge.*", "", true, &["a", "acme/x", "acme/y"]),
            ("search.knowledge.acme.*", "", true, &["acme/x", "acme/y"]),
            ("search.knowledge.acme.[xz]", "acme", true, &["acme/x"]),
            ("search.knowledge.acme.*", "b", false, &["acme/x", "acme/y"]),
            ("search.kn*ledge.acm?.[!x]", "acme", true, &["acme/y"]),
            ("s[!x]arch.knowledge.acme.x", "acme", true, &["acme/x"]),
            ("s[!e]arch.knowledge.acme.x", "acme", false, &[]),
            ("*.acme.x", "", true, &["acme/x"]),
            ("*", "", true, &["a", "acme/x", "acme/y"]),
            ("search.directive.*", "", false, &[]),
            ("load.knowledge.*", "", false, &[]),
            ("execute.*", "", false, &[]),
            ("search.knowledge.acme", "acme", true, &[]),
        ] {
            let Ok(patterns) = DispatchPatterns::parse([pattern]) else { panic!("{pattern}") };
            let asked = patterns.permits(ItemOperation::Search, ItemType::Knowledge, scope);
            assert_eq!(asked, permitted, "{pattern} over `{scope}`");
            let listed: Vec<_> = ["a", "acme/x", "acme/y"]
                .into_iter()
                .filter(|id| patterns.permits_listing(ItemType::Knowledge, id))
                .collect();
            assert_eq!(listed, lists, "{pattern}");
        }
        assert!(!DispatchPatterns::deny_all().permits(ItemOperation::Search, ItemType::Knowledge, ""));
    }

    #[test]
    fn signing_is_granted_by_name_alone() {
        let permits = |pattern: &str, item_type, id: &str| {
            DispatchPatterns::parse([pattern]).unwrap().permits(ItemOperation::Sign, item_type, id)
        };
        assert!(permits("sign.knowledge.a.b", ItemType::Knowledge, "a/b"));
        assert!(permits("rye.sign.directive.a/b", ItemType::Directive, "a/b"));
        for pattern in ["*", "sign.*", "sign.knowledge.*", "sign.knowledge.a.?", "sign.knowledge.a.[b]"] {
            assert!(!permits(pattern, ItemType::Knowledge, "a/b"), "{pattern}");
        }
        assert!(!permits("sign.tool.a.b", ItemType::Tool, "a/b"));
    }

    #[test]
    fn mistakes_are_explained() {
        for (pattern, reason, help) in [
            ("", "it is empty", "such as"),
            ("exec.tool.a", "`exec` is nothing that is done", "execute, search, load, sign"),
            ("excute.tool.a", "`excute` is nothing", "did you mean `execute`?"),
            ("execute.tools.a", "`tools` is no kind of item", "did you mean `tool`?"),
            ("execute.tool..a", "empty", "such as"),
            ("execute.tool.a@1", "`@` is in no", "version"),
            ("execute.tool.é", "`é` is in no", ""),
            ("execute.tool.[a", "", "a set is written"),
            ("examples/*", "`examples` is nothing", "it starts with one of"),
        ] {
            let error = DispatchPattern::parse(pattern).unwrap_err();
            assert!(error.reason.contains(reason), "{pattern}: {error:?}");
            assert!(error.help.contains(help), "{pattern}: {error:?}");
        }
    }

    fn item_id() -> impl Strategy<Value = String> {
        "[a-cA-C0-2_-]{1,3}(/[a-cA-C0-2_-]{1,3}){0,3}"
    }

    proptest! {
        /// The crate `glob` compiles each pattern, and reports which ones are valid.
        #[test]
        fn patterns_cover_what_glob_says(
            pattern in "[ab.*?!\\-\\[\\]]{0,12}", text in "[ab.\\-\\]!]{0,10}",
        ) {
            if let Ok(compiled) = compile(&pattern) {
                prop_assert_eq!(covers_all(compiled.as_str(), &text), compiled.matches(&text), "{} {}", pattern, text);
                let longer = ["a", "b", ".", "-", "!", "]"].iter().any(|end| compiled.matches(&format!("{text}{end}")));
                prop_assert!(!longer || covers_some(compiled.as_str(), &text));
            }
        }

        #[test]
        fn a_literal_permits_itself_alone(a in item_id(), b in item_id()) {
            let name = capability_name(ItemOperation::Execute, ItemType::Tool, &a);
            prop_assert!(permits(&[&name], &a));
            prop_assert_eq!(permits(&[&name], &b), a == b);
        }

        #[test]
        fn names_of_different_items_differ(a in item_id(), b in item_id()) {
            let name = |id: &str| capability_name(ItemOperation::Execute, ItemType::Tool, id);
            prop_assert_eq!(name(&a) == name(&b), a == b);
        }

        #[test]
        fn a_star_permits_everything_and_a_prefix_its_children(a in item_id(), b in item_id()) {
            prop_assert!(permits(&["*"], &a));
            let below = format!("{}.*", capability_name(ItemOperation::Execute, ItemType::Tool, &a));
            let child = format!("{a}/{b}");
            prop_assert!(permits(&[&below], &child));
            prop_assert!(!permits(&[&below], &a));
        }

        #[test]
        fn a_pattern_covers_below_what_begins_what_it_covers(pattern in "[a-c.*?]{1,6}", id in item_id(), more in item_id()) {
            if let Ok(pattern) = DispatchPattern::parse(&format!("search.tool.{pattern}")) {
                let name = capability_name(ItemOperation::Search, ItemType::Tool, &id);
                if pattern.matches(&format!("{name}.{}", more.replace('/', "."))) {
                    prop_assert!(pattern.covers_below(&name));
                }
            }
        }

        #[test]
        fn more_patterns_never_permit_less(a in "[a-c.*?]{1,6}", b in "[a-c.*?]{1,6}", id in item_id()) {
            let read = |patterns: &[&String]| DispatchPatterns::parse(patterns.iter().map(|p| format!("execute.tool.{p}")));
            if let (Ok(one), Ok(both)) = (read(&[&a]), read(&[&a, &b])) {
                let permits = |patterns: &DispatchPatterns| patterns.permits(ItemOperation::Execute, ItemType::Tool, &id);
                prop_assert!(!permits(&one) || permits(&both));
            }
        }

        #[test]
        fn reading_never_panics(text in any::<String>(), wild in "[a.*?\\[\\]!-]{0,12}") {
            let _ = DispatchPattern::parse(&text);
            if let Ok(pattern) = DispatchPattern::parse(&wild) {
                let _ = pattern.matches("execute.tool.a");
                prop_assert_eq!(pattern.as_str(), wild);
            }
        }
    }
}
