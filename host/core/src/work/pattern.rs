//! Regular expressions that are charged for.

use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::{NFA, State};
use regex_syntax::ast::{self, Ast, ClassSetItem, ClassUnicode, ClassUnicodeKind};

use super::rates::PATTERN_STATE;
use super::{Exhausted, Meter};

/// The longest pattern, in bytes: a class of two bytes such as `\w` becomes hundreds of ranges before anything is
/// compiled.
const LONGEST: usize = 4_096;

/// How much a compiled pattern may weigh, in bytes, on any target.
const MOST_WEIGHT: usize = 1 << 20;

/// How much the patterns of one document may weigh together, in bytes.
const MOST_TOGETHER: usize = 8 << 20;

/// The least weight of a pattern: searching with it takes memory, too.
const LEAST_WEIGHT: usize = 16 << 10;

/// Where compilation is ended, in bytes of memory. It depends on the target, and so lies far beyond [`MOST_WEIGHT`].
const MOST_MEMORY: usize = 8 << 20;

/// How much a search may remember of the automaton that it builds on the way, in bytes.
const MOST_CACHE: usize = 512 << 10;

/// A compiled pattern. It is searched for in time linear in the subject, and charged for the worst of it: a subject of `n`
/// bytes costs `n` times the states of the pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    states: u64,
    weight: usize,
}

/// A text is not a usable pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is not a valid pattern, or uses an unsupported feature (look-around, back-references).
    #[error("{0}")]
    Syntax(String),
    /// It is too long, or too large once it is compiled.
    #[error("it is longer than {LONGEST} bytes, or larger than {MOST_WEIGHT} bytes once it is compiled")]
    TooLarge,
    /// The patterns of the document are too large together.
    #[error(
        "the patterns of the document are larger than {MOST_TOGETHER} bytes together, once they are compiled"
    )]
    Together,
}

/// The weight that the patterns of one document may still have together. A document of a megabyte has room for ten
/// thousand patterns, each of which compiles to a megabyte.
#[derive(Debug)]
pub struct PatternBudget {
    left: usize,
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self::of_one_document()
    }
}

impl PatternBudget {
    /// The budget of a document before its first pattern.
    pub const fn of_one_document() -> Self {
        Self { left: MOST_TOGETHER }
    }

    /// Compiles a pattern of the document. A refused pattern counts as well, since refusing takes time; once the budget
    /// is used up, nothing is compiled.
    pub fn compile(&mut self, pattern: &str) -> Result<Pattern, PatternError> {
        if self.left == 0 {
            return Err(PatternError::Together);
        }
        let compiled = Pattern::compile(pattern);
        let weight = match &compiled {
            Ok(pattern) => pattern.weight.max(LEAST_WEIGHT),
            Err(PatternError::Syntax(_)) => LEAST_WEIGHT,
            Err(PatternError::TooLarge | PatternError::Together) if pattern.len() > LONGEST => LEAST_WEIGHT,
            Err(PatternError::TooLarge | PatternError::Together) => 2 * MOST_WEIGHT,
        };
        let left = self.left.checked_sub(weight);
        self.left = left.unwrap_or(0);
        match left {
            None if compiled.is_ok() => Err(PatternError::Together),
            _ => compiled,
        }
    }
}

impl Pattern {
    /// Compiles a pattern of the `regex` crate's syntax. Of its classes of Unicode, there are general categories, scripts and binary
    /// properties.
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        if pattern.len() > LONGEST {
            return Err(PatternError::TooLarge);
        }
        check_classes(pattern)?;
        let regex =
            RegexBuilder::new(pattern).size_limit(MOST_MEMORY).dfa_size_limit(MOST_CACHE).build().map_err(
                |error| match error {
                    regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                    other => PatternError::Syntax(other.to_string()),
                },
            )?;
        let nfa = NFA::new(pattern).map_err(|error| PatternError::Syntax(error.to_string()))?;
        let weight = nfa.states().iter().map(weight).sum();
        if weight > MOST_WEIGHT {
            return Err(PatternError::TooLarge);
        }
        Ok(Self { regex, states: nfa.states().len() as u64, weight })
    }

    /// Where it matches first in a text, in bytes. Nothing is charged: the text is searched for a user who waits for it, in time
    /// linear in the text.
    pub fn find(&self, text: &str) -> Option<std::ops::Range<usize>> {
        self.regex.find(text).map(|found| found.range())
    }

    /// Whether it matches somewhere in a text.
    pub fn is_match(&self, text: &str, meter: &Meter) -> Result<bool, Exhausted> {
        let worst = (text.len() as u64 + 1).saturating_mul(self.states);
        meter.charge(worst.saturating_mul(PATTERN_STATE))?;
        Ok(self.regex.is_match(text))
    }

    /// The number of its states, which is the cost for each byte of a subject.
    pub const fn states(&self) -> u64 {
        self.states
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }
}

/// Refuses classes of other properties: whether their tables are there depends on how the program was built, and what a pattern
/// matches must not. A pattern that cannot be read is refused where it is compiled.
fn check_classes(pattern: &str) -> Result<(), PatternError> {
    let Ok(read) = ast::parse::Parser::new().parse(pattern) else { return Ok(()) };
    ast::visit(&read, Classes)
}

/// Looks at each class of Unicode in a pattern.
struct Classes;

impl Classes {
    fn check(class: &ClassUnicode) -> Result<(), PatternError> {
        let ClassUnicodeKind::NamedValue { name, value, .. } = &class.kind else { return Ok(()) };
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        match plain.strip_prefix("is").unwrap_or(&plain) {
            "gc" | "generalcategory" | "sc" | "script" | "scx" | "scriptextensions" => Ok(()),
            _ => Err(PatternError::Syntax(format!(
                "`\\p{{{name}={value}}}`: the property `{name}` is not supported; general_category, script and script_extensions are"
            ))),
        }
    }
}

impl ast::Visitor for Classes {
    type Output = ();
    type Err = PatternError;

    fn finish(self) -> Result<(), PatternError> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), PatternError> {
        if let Ast::ClassUnicode(class) = ast { Self::check(class) } else { Ok(()) }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), PatternError> {
        if let ClassSetItem::Unicode(class) = item { Self::check(class) } else { Ok(()) }
    }
}

/// About what a state takes, in bytes. The library's own figure depends on the target.
fn weight(state: &State) -> usize {
    let held = match state {
        State::Sparse(sparse) => 8 * sparse.transitions.len(),
        State::Dense(_) => 4 * 256,
        State::Union { alternates } => 4 * alternates.len(),
        _ => 0,
    };
    32 + held
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_search_costs_the_subject_times_the_states() {
        let pattern = Pattern::compile("^a+b$").unwrap();
        let meter = Meter::of_one_step();
        assert_eq!(pattern.is_match("aab", &meter), Ok(true));
        assert_eq!(meter.spent(), 4 * pattern.states());
        let large = Pattern::compile("[01]*1[01]{300}").unwrap();
        assert_eq!(large.is_match(&"01".repeat(200_000), &Meter::of_one_step()), Err(Exhausted::Step));
    }

    #[test]
    fn what_is_no_usable_pattern_is_refused() {
        assert!(matches!(Pattern::compile("("), Err(PatternError::Syntax(_))));
        assert!(matches!(Pattern::compile("(?=a)"), Err(PatternError::Syntax(_))));
        for large in ["(a{1000}){1000}", "\\w{200}", &"a".repeat(LONGEST + 1)] {
            assert_eq!(Pattern::compile(large).unwrap_err(), PatternError::TooLarge, "{large:.20}");
        }
        assert!(Pattern::compile(&"a".repeat(LONGEST)).is_ok());
    }

    #[test]
    fn properties_with_other_values_are_refused() {
        for known in [
            r"\p{L}",
            r"\p{gc=Lu}",
            r"[\p{Script=Greek}-]",
            r"\P{scx:Grek}",
            r"\p{Is_Script!=Latin}",
            r"\p{Alphabetic}",
        ] {
            assert!(Pattern::compile(known).is_ok(), "{known}");
        }
        for unknown in [
            r"\p{Age=6.0}",
            r"[a\P{gcb=Extend}]",
            r"(?x)\p {Word_Break:ALetter}",
            r"\p{ sb != Close}",
            r"[a-z&&\p{age=3.0}]",
        ] {
            let refused = Pattern::compile(unknown).unwrap_err().to_string();
            assert!(refused.contains("is not supported; general_category,"), "{unknown}: {refused}");
        }
    }

    #[test]
    fn the_patterns_of_a_document_are_bounded_together() {
        // A document has room for common patterns by the hundred.
        let mut budget = PatternBudget::of_one_document();
        for _ in 0..100 {
            budget.compile(r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$").unwrap();
        }
        let compiles = |pattern: &dyn Fn(usize) -> String| {
            let mut budget = PatternBudget::of_one_document();
            let mut compiled = 0;
            while budget.left > 0 {
                compiled += 1;
                let _ = budget.compile(&pattern(compiled));
            }
            assert_eq!(budget.compile("a").unwrap_err(), PatternError::Together);
            compiled
        };
        assert!(compiles(&|n| format!("{n}a{{20000}}")) <= 16);
        assert!(compiles(&|n| format!("{n}(a{{1000}}){{1000}}")) <= 4);
        assert!(compiles(&|n| format!("{n}(")) <= 512);
        assert!(compiles(&|n| n.to_string()) <= 512);
    }
}
