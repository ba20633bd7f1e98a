//! A meter for one step of work.

use std::cell::Cell;

use super::rates::STEP;

/// Limit and cost so far of one step of work.
///
/// A step is a piece of work that is not interrupted: evaluating a template, folding a channel, checking a value
/// against a schema. Charge before the work is done and before memory is taken for it.
#[derive(Debug)]
pub struct Meter {
    spent: Cell<u64>,
    most: u64,
}

/// The fuel for a step of the host's work is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FuelExhausted {
    /// The step alone costs more than any step may.
    #[error("one step of the host's own work may cost {STEP} fuel, and this one costs more")]
    Step,
    /// The step costs more than is left of a budget.
    #[error("there is not enough fuel left for it")]
    Fuel,
}

impl Meter {
    /// Creates a meter for one step of work; `left` is the rest of a budget. It allows [`STEP`] at most.
    pub const fn new(left: u64) -> Self {
        let most = if left < STEP { left } else { STEP };
        Self { spent: Cell::new(0), most }
    }

    /// Creates a meter for one step of work that only [`STEP`] limits.
    pub const fn of_one_step() -> Self {
        Self::new(STEP)
    }

    /// Charges work before it is done. After a refusal, everything counts as spent, and nothing more is allowed.
    #[inline]
    pub fn charge(&self, fuel: u64) -> Result<(), FuelExhausted> {
        let spent = self.spent.get().saturating_add(fuel);
        if spent > self.most {
            return Err(self.refuse());
        }
        self.spent.set(spent);
        Ok(())
    }

    #[cold]
    fn refuse(&self) -> FuelExhausted {
        self.spent.set(self.most);
        self.reason()
    }

    /// Returns the reason for refusals.
    pub const fn reason(&self) -> FuelExhausted {
        if self.most < STEP { FuelExhausted::Fuel } else { FuelExhausted::Step }
    }

    /// Charges a rate for each of `parts`.
    #[inline]
    pub fn charge_each(&self, parts: usize, rate: u64) -> Result<(), FuelExhausted> {
        self.charge((parts as u64).saturating_mul(rate))
    }

    /// Fuel that may still be charged.
    pub const fn left(&self) -> u64 {
        self.most.saturating_sub(self.spent.get())
    }

    /// Fuel charged so far.
    pub const fn spent(&self) -> u64 {
        self.spent.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_charge_leaves_nothing() {
        let meter = Meter::new(10);
        assert_eq!(meter.charge(10), Ok(()));
        assert_eq!(meter.charge(1), Err(FuelExhausted::Fuel));
        assert_eq!(meter.spent(), 10);
        let meter = Meter::new(u64::MAX);
        assert_eq!(meter.charge(STEP), Ok(()));
        assert_eq!(meter.charge(1), Err(FuelExhausted::Step));
        assert_eq!(meter.charge_each(usize::MAX, u64::MAX), Err(FuelExhausted::Step));
    }
}
