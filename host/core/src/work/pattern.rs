//! Regular expressions whose compilation and searches are charged.

use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson::{NFA, State};
use regex_syntax::ast::{
    self, Ast, ClassBracketed, ClassSetItem, ClassUnicode, ClassUnicodeKind, Flag, Flags, GroupKind,
};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::rates::{PATTERN_STATE, STEP};
use super::{FuelExhausted, Meter};

/// Limit of a pattern's length, in bytes: a class of two bytes such as `\w` becomes hundreds of ranges before anything is compiled.
pub(super) const LONGEST: usize = 4_096;

/// Limit of a compiled pattern's weight, in bytes, the same on any target.
pub(super) const MOST_WEIGHT: usize = 1 << 20;

/// Limit of the weight of one document's patterns together, in bytes.
pub(super) const MOST_TOGETHER: usize = 8 << 20;

/// Costs of reading a pattern, without compiling it: of each byte, of each class that has a table of ranges, and of
/// each character that is looked up for its other case.
const READ_BYTE: u64 = 300;
const READ_TABLE: u64 = 20_000;
const FOLD_CHARACTER: u64 = 16;
/// Number of Unicode code points.
const ALL_CHARACTERS: u64 = 0x11_0000;
/// Approximate number of characters of a class with a table that are looked up for their other case.
const CASED_CHARACTERS: u64 = 20_000;

/// Costs of compiling: of each byte of a literal text, of each class, and of each range of a class, for each repetition.
const COMPILE_LITERAL_BYTE: u64 = 100;
const COMPILE_CLASS: u64 = 6_000;
const COMPILE_RANGE: u64 = 500;

/// Limit of memory at which compilation ends, in bytes. Memory depends on the target, so the limit lies far beyond [`MOST_WEIGHT`].
const MOST_MEMORY: usize = 8 << 20;

/// Limit of a search's cache for the automaton that it builds, in bytes.
const MOST_CACHE: usize = 512 << 10;

/// A compiled pattern. A search takes time linear in the subject, and is charged for the worst case: a subject of `n`
/// bytes costs `n + 1` times the number of states.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    states: u64,
    weight: usize,
}

/// Reason why a text is not a usable pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text is not a valid pattern, or uses an unsupported feature (look-around, back-references).
    #[error("{0}")]
    Syntax(String),
    /// The pattern is too long, too large once it is compiled, or takes too long to compile.
    #[error(
        "it is longer than {LONGEST} bytes, larger than {MOST_WEIGHT} bytes once it is compiled, or takes too long to compile"
    )]
    TooLarge,
    /// The patterns of the document are too large together.
    #[error(
        "the patterns of the document are larger than {MOST_TOGETHER} bytes together, once they are compiled"
    )]
    Together,
    /// The fuel left is not enough to compile the pattern.
    #[error("it is not compiled: {0}")]
    Exhausted(#[from] FuelExhausted),
}

/// A pattern that was read and is not compiled yet. The cost of compiling it is known in advance.
pub struct ReadPattern<'p> {
    text: &'p str,
    hir: Hir,
    cost: u64,
}

impl<'p> ReadPattern<'p> {
    /// Reads a pattern in the syntax of the `regex` crate. Of the Unicode properties, general categories, scripts and
    /// binary properties are supported. A pattern whose compilation costs more than a step of work is refused.
    pub fn parse(text: &'p str) -> Result<Self, PatternError> {
        if text.len() > LONGEST {
            return Err(PatternError::TooLarge);
        }
        let syntax = |reason: String| PatternError::Syntax(reason);
        let ast = ast::parse::Parser::new().parse(text).map_err(|error| syntax(error.to_string()))?;
        let read = ast::visit(&ast, Classes::default())?;
        let read = read.saturating_add((text.len() as u64).saturating_mul(READ_BYTE));
        if read > STEP {
            return Err(PatternError::TooLarge);
        }
        let hir = Translator::new().translate(text, &ast).map_err(|error| syntax(error.to_string()))?;
        let cost = read.saturating_add(compiling(&hir));
        if cost > STEP {
            return Err(PatternError::TooLarge);
        }
        Ok(Self { text, hir, cost })
    }

    /// Cost of compiling the pattern: about the time in nanoseconds, by the classes in it and their repetitions.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// Compiles the pattern.
    pub fn compile(self) -> Result<Pattern, PatternError> {
        let builder = RegexBuilder::new(self.text).size_limit(MOST_MEMORY).dfa_size_limit(MOST_CACHE).build();
        let regex = builder.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            other => PatternError::Syntax(other.to_string()),
        })?;
        let nfa = NFA::compiler()
            .build_from_hir(&self.hir)
            .map_err(|error| PatternError::Syntax(error.to_string()))?;
        let weight = nfa.states().iter().map(weight).sum();
        if weight > MOST_WEIGHT {
            return Err(PatternError::TooLarge);
        }
        Ok(Pattern { regex, states: nfa.states().len() as u64, weight })
    }
}

impl Pattern {
    /// Reads and compiles a pattern: [`ReadPattern::parse`].
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        ReadPattern::parse(pattern)?.compile()
    }

    /// Returns the range of the first match in a text, in bytes. Nothing is charged: the search is for a user who waits
    /// for it, and takes time linear in the text.
    pub fn find(&self, text: &str) -> Option<std::ops::Range<usize>> {
        self.regex.find(text).map(|found| found.range())
    }

    /// Returns `true` if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str, meter: &Meter) -> Result<bool, FuelExhausted> {
        let worst = (text.len() as u64 + 1).saturating_mul(self.states);
        meter.charge(worst.saturating_mul(PATTERN_STATE))?;
        Ok(self.regex.is_match(text))
    }

    /// Number of states, which is the cost for each byte of a subject.
    pub const fn states(&self) -> u64 {
        self.states
    }

    /// Weight of the pattern in bytes, the same on any target.
    pub(super) const fn weight(&self) -> usize {
        self.weight
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }
}

/// Visits the classes of a pattern. Refuses unsupported properties: the presence of their tables depends on how the
/// program was built, and the matches of a pattern must not. Adds up the cost of reading the classes: if case is
/// ignored, each character of a class is looked up.
#[derive(Default)]
struct Classes {
    cost: u64,
    /// Numbers of characters of the open sets, the innermost last.
    open: Vec<u64>,
    characters: u64,
    folds: bool,
}

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

impl Classes {
    /// Adds characters to the innermost set.
    fn add(&mut self, characters: u64) {
        if let Some(open) = self.open.last_mut() {
            *open = open.saturating_add(characters).min(ALL_CHARACTERS);
        }
    }

    /// Adds a Unicode class, which is copied from its table.
    fn table(&mut self, negated: bool) {
        self.cost = self.cost.saturating_add(READ_TABLE);
        self.add(if negated { ALL_CHARACTERS } else { CASED_CHARACTERS });
    }
}

impl ast::Visitor for Classes {
    type Output = u64;
    type Err = PatternError;

    fn finish(self) -> Result<u64, PatternError> {
        let folded = if self.folds { self.characters.saturating_mul(FOLD_CHARACTER) } else { 0 };
        Ok(self.cost.saturating_add(folded))
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), PatternError> {
        match ast {
            Ast::ClassUnicode(class) => {
                Self::check(class)?;
                self.characters = self.characters.saturating_add(CASED_CHARACTERS);
                self.table(false);
            }
            Ast::ClassPerl(_) => self.table(false),
            Ast::ClassBracketed(_) => self.open.push(0),
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => {
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), PatternError> {
        if let Ast::ClassBracketed(class) = ast {
            self.close(class);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), PatternError> {
        match item {
            ClassSetItem::Unicode(class) => {
                Self::check(class)?;
                self.table(class.is_negated());
            }
            ClassSetItem::Perl(class) => self.table(class.negated),
            ClassSetItem::Ascii(_) => self.add(128),
            ClassSetItem::Literal(_) => self.add(1),
            ClassSetItem::Range(range) => {
                let (first, last) = (u32::from(range.start.c), u32::from(range.end.c));
                self.add(u64::from(last.saturating_sub(first)) + 1);
            }
            ClassSetItem::Bracketed(_) => self.open.push(0),
            ClassSetItem::Empty(_) | ClassSetItem::Union(_) => {}
        }
        Ok(())
    }

    fn visit_class_set_item_post(&mut self, item: &ClassSetItem) -> Result<(), PatternError> {
        if let ClassSetItem::Bracketed(class) = item {
            self.close(class);
        }
        Ok(())
    }
}

impl Classes {
    /// Ends a set, which may be inside of another.
    fn close(&mut self, class: &ClassBracketed) {
        let characters = self.open.pop().unwrap_or_default();
        self.characters = self.characters.saturating_add(characters);
        self.add(if class.negated { ALL_CHARACTERS } else { characters });
    }

    fn flags(&mut self, flags: &Flags) {
        self.folds |= flags.flag_state(Flag::CaseInsensitive) == Some(true);
    }
}

/// Returns the cost of compiling a pattern that was read.
fn compiling(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => COMPILE_LITERAL_BYTE,
        HirKind::Literal(literal) => (literal.0.len() as u64).saturating_mul(COMPILE_LITERAL_BYTE),
        HirKind::Class(class) => {
            let ranges = match class {
                Class::Unicode(class) => class.ranges().len(),
                Class::Bytes(class) => class.ranges().len(),
            };
            COMPILE_CLASS.saturating_add((ranges as u64).saturating_mul(COMPILE_RANGE))
        }
        HirKind::Repetition(repeated) => {
            let times = u64::from(repeated.max.unwrap_or(repeated.min).max(repeated.min).max(1));
            compiling(&repeated.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => compiling(&capture.sub).saturating_add(COMPILE_CLASS),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(compiling).fold(COMPILE_LITERAL_BYTE, u64::saturating_add)
        }
    }
}

/// Approximate size of a state, in bytes. The library's own figure depends on the target.
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
        assert_eq!(large.is_match(&"01".repeat(200_000), &Meter::of_one_step()), Err(FuelExhausted::Step));
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
    fn a_pattern_that_takes_long_to_compile_is_refused_before_it_is_compiled() {
        let many = |part: &str, times: usize| part.repeat(times);
        for costly in [
            r"\w{1000}".to_owned(),
            r"((\w{1000}){1000}){1000}".to_owned(),
            r"(?:\pL{100}){100}".to_owned(),
            r"[[:alpha:]\w]{400}".to_owned(),
            ".{60000}".to_owned(),
            "a{2000000}".to_owned(),
            // Each character of these classes is looked up for its other case, although their results are small.
            format!("(?i){}", many(r"[\x{0}-\x{10ffff}]", 100)),
            format!("(?i){}", many(r"[\S\s]", 500)),
            format!("(?i:{})", many(r"[[^a]b]", 500)),
            format!("(?xi){}", many(r"[\PL]", 800)),
        ] {
            let began = std::time::Instant::now();
            assert!(matches!(ReadPattern::parse(&costly), Err(PatternError::TooLarge)), "{costly:.40}");
            assert!(began.elapsed().as_millis() < 100, "{costly:.40}");
        }
        for (plain, most) in [
            ("^draft-[0-9]+$", 30_000),
            (r"^\d{4}-\d{2}-\d{2}$", 600_000),
            (r"(?i)^[\w.+-]+@[\w-]+\.[a-z]{2,}$", 3_000_000),
            (r"\w{50}", 25_000_000),
        ] {
            let cost = ReadPattern::parse(plain).unwrap().cost();
            assert!(cost < most, "{plain}: {cost}");
        }
    }
}
