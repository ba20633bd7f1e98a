//! Budget for compiling the patterns and the schemas of one document.

use std::cell::{Cell, RefCell};

use super::pattern::{LONGEST, MOST_TOGETHER, MOST_WEIGHT};
use super::rates::{DOCUMENT_BYTE, PATTERN_REFUSED, STEP};
use super::{FuelExhausted, Meter, Pattern, PatternError, ReadPattern};
use crate::diagnostic::excerpt;

/// Least weight of a pattern, in bytes, since searching with it takes memory, too.
const LEAST_WEIGHT: usize = 16 << 10;

/// Limit of fuel for the patterns and schemas of a file together: about two seconds.
const MOST_OF_FILE: u64 = 20 * STEP;

/// Free part of the compilation for a document that a run has written, as a multiple of the cost of its text: the cost
/// of common patterns and schemas is within [`DOCUMENT_BYTE`].
const FREE: u64 = 4;

/// Weight and fuel left for the patterns and schemas of one document together. A document of a megabyte has room for
/// ten thousand patterns, each of which compiles to a megabyte, and for as many schemas.
#[derive(Debug)]
pub struct CompileBudget<'m> {
    left: Cell<usize>,
    /// Fuel that is not charged.
    free: Cell<u64>,
    /// Meter for fuel beyond `free`; none for a file, whose compilation then stops.
    meter: Option<&'m Meter>,
    /// Reason why a pattern or schema was not compiled for want of fuel.
    refused: Cell<Option<FuelExhausted>>,
    /// Numbers of patterns and schemas to compile so far.
    patterns: Cell<u64>,
    schemas: Cell<u64>,
    /// Description of the first pattern or schema that was not compiled, for people.
    culprit: RefCell<Option<String>>,
}

impl<'m> CompileBudget<'m> {
    /// Creates the budget of a file.
    pub const fn of_file() -> Self {
        Self::new(MOST_OF_FILE, None)
    }

    /// Creates the budget of a document of `length` bytes that a run has written. Reading its text is charged elsewhere.
    pub const fn of_written(length: usize, meter: &'m Meter) -> Self {
        let text = (length as u64).saturating_mul(DOCUMENT_BYTE);
        Self::new(text.saturating_mul(FREE), Some(meter))
    }

    const fn new(free: u64, meter: Option<&'m Meter>) -> Self {
        Self {
            left: Cell::new(MOST_TOGETHER),
            free: Cell::new(free),
            meter,
            refused: Cell::new(None),
            patterns: Cell::new(0),
            schemas: Cell::new(0),
            culprit: RefCell::new(None),
        }
    }

    /// Compiles a pattern of the document. A refused pattern counts as well, since refusing takes time; once the budget
    /// is used up, nothing is compiled.
    pub fn compile(&self, pattern: &str) -> Result<Pattern, PatternError> {
        if self.left.get() == 0 {
            return Err(PatternError::Together);
        }
        self.patterns.set(self.patterns.get().saturating_add(1));
        let compiled = self.compiled(pattern);
        if matches!(compiled, Err(PatternError::Exhausted(_))) {
            self.blame(|| format!("its pattern number {}, `{}`", self.patterns.get(), excerpt(pattern)));
        }
        let weight = match &compiled {
            Ok(pattern) => pattern.weight().max(LEAST_WEIGHT),
            Err(PatternError::Syntax(_) | PatternError::Exhausted(_)) => LEAST_WEIGHT,
            Err(PatternError::TooLarge | PatternError::Together) if pattern.len() > LONGEST => LEAST_WEIGHT,
            Err(PatternError::TooLarge | PatternError::Together) => 2 * MOST_WEIGHT,
        };
        let left = self.left.get().checked_sub(weight);
        self.left.set(left.unwrap_or(0));
        match left {
            None if compiled.is_ok() => Err(PatternError::Together),
            _ => compiled,
        }
    }

    fn compiled(&self, pattern: &str) -> Result<Pattern, PatternError> {
        match ReadPattern::parse(pattern) {
            Ok(read) => {
                self.charge(read.cost())?;
                read.compile()
            }
            Err(error) => {
                if matches!(error, PatternError::TooLarge) && pattern.len() <= LONGEST {
                    self.charge(PATTERN_REFUSED)?;
                }
                Err(error)
            }
        }
    }

    /// Creates a meter for compiling one schema of the document; pass it to [`CompileBudget::count`] afterwards.
    pub fn schema(&self) -> Meter {
        if self.refused.get().is_some() {
            return Meter::new(0);
        }
        Meter::new(self.free.get().saturating_add(self.meter.map_or(0, Meter::left)))
    }

    /// Counts the cost of compiling a schema.
    pub fn count(&self, schema: &Meter, is_exhausted: bool) {
        self.schemas.set(self.schemas.get().saturating_add(1));
        if is_exhausted {
            self.blame(|| format!("its schema number {}", self.schemas.get()));
        }
        // The meter was limited to the rest, which suffices for its charges.
        let counted = self.charge(schema.spent());
        if is_exhausted && schema.reason() == FuelExhausted::Fuel && counted.is_ok() {
            self.refused.set(Some(self.meter.map_or(FuelExhausted::Step, Meter::reason)));
        }
    }

    /// Returns the reason if a pattern or a schema was not compiled for want of fuel. Diagnostics of the document mean nothing then.
    pub fn refused(&self) -> Option<FuelExhausted> {
        self.refused.get()
    }

    /// Describes the pattern or schema that was not compiled for want of fuel, by its number in the document, and a remedy.
    pub fn refusal(&self, exhausted: FuelExhausted) -> String {
        match &*self.culprit.borrow() {
            Some(culprit) => format!(
                "to compile {culprit}, takes too much with those before it: {exhausted}; repeat less, use small sets of \
                 characters such as `[a-z]`, or fewer patterns"
            ),
            None => exhausted.to_string(),
        }
    }

    /// Notes the first pattern or schema that was not compiled, since later refusals follow from it.
    fn blame(&self, culprit: impl FnOnce() -> String) {
        self.culprit.borrow_mut().get_or_insert_with(culprit);
    }

    fn charge(&self, fuel: u64) -> Result<(), FuelExhausted> {
        let free = self.free.get();
        self.free.set(free.saturating_sub(fuel));
        let charged = match (fuel.saturating_sub(free), self.meter) {
            (0, _) => Ok(()),
            (paid, Some(meter)) => meter.charge(paid),
            (_, None) => Err(FuelExhausted::Step),
        };
        charged.inspect_err(|exhausted| self.refused.set(Some(*exhausted)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_far_more_than_the_text_is_charged_before_it_is_compiled() {
        let meter = Meter::of_one_step();
        let budget = CompileBudget::of_written(600, &meter);
        budget.compile("^draft-[0-9]+$").unwrap();
        assert_eq!(meter.spent(), 0);
        budget.compile(r"\w{40}").unwrap();
        let spent = meter.spent();
        assert!(spent > 10_000_000, "{spent}");
        assert_eq!(budget.compile(r"\w{1000}").unwrap_err(), PatternError::TooLarge);
        assert_eq!(meter.spent(), spent + PATTERN_REFUSED);
        let poor = Meter::new(1_000_000);
        let budget = CompileBudget::of_written(600, &poor);
        let refused = budget.compile(r"\w{40}").unwrap_err();
        assert_eq!(refused, PatternError::Exhausted(FuelExhausted::Fuel));
        assert_eq!(budget.refused(), Some(FuelExhausted::Fuel));
        let told = budget.refusal(FuelExhausted::Fuel);
        assert!(told.starts_with(r"to compile its pattern number 1, `\w{40}`, takes too much"), "{told}");
        assert_eq!(budget.schema().charge(1), Err(FuelExhausted::Fuel));
    }

    #[test]
    fn the_schemas_of_a_file_are_bounded_together() {
        let budget = CompileBudget::of_file();
        for _ in 0..20 {
            let schema = budget.schema();
            schema.charge(STEP).unwrap();
            budget.count(&schema, false);
        }
        assert_eq!(budget.refused(), None);
        let schema = budget.schema();
        assert!(schema.charge(1).is_err());
        budget.count(&schema, true);
        assert_eq!(budget.refused(), Some(FuelExhausted::Step));
    }

    #[test]
    fn the_patterns_of_a_document_are_bounded_together() {
        // A document has room for common patterns by the hundred.
        let budget = CompileBudget::of_file();
        for _ in 0..100 {
            budget.compile(r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$").unwrap();
        }
        let compiles = |pattern: &dyn Fn(usize) -> String| {
            let budget = CompileBudget::of_file();
            let mut compiled = 0;
            while budget.left.get() > 0 {
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
