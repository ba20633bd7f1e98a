//! Budgets of calls of language models.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::{figure, is_zero};

/// An amount of use of language models: used by calls, left of a budget, or a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelUse {
    /// Number of requests sent, failed ones included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Tokens of requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Tokens of answers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output: u64,
    /// The cost by the manifest's prices, in millionths of its currency.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: u64,
}

impl ModelUse {
    /// No use of models.
    pub const NOTHING: Self = Self { calls: 0, input: 0, output: 0, cost: 0 };

    /// No limit.
    pub const UNBOUNDED: Self = Self { calls: u64::MAX, input: u64::MAX, output: u64::MAX, cost: u64::MAX };

    /// Limit of a task unless the manifest sets another.
    pub const OF_TASK: Self = Self { calls: 50, input: 2_000_000, output: 200_000, cost: u64::MAX };

    /// Limit of a whole run unless the manifest sets another.
    pub const OF_RUN: Self = Self { calls: 1000, input: 20_000_000, output: 2_000_000, cost: u64::MAX };

    /// Checks whether nothing was used.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub const fn is_nothing(&self) -> bool {
        self.calls == 0 && self.input == 0 && self.output == 0 && self.cost == 0
    }

    /// Combines the figures of two amounts, one by one.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: of(self.calls, other.calls),
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cost: of(self.cost, other.cost),
        }
    }

    /// Returns the sum, each figure at most [`LARGEST_FIGURE`](super::LARGEST_FIGURE). A figure of `u64::MAX`, which means no limit, is
    /// kept.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, figure::sum)
    }

    /// Returns a used amount as it is stored: each figure at most [`LARGEST_FIGURE`](super::LARGEST_FIGURE).
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn counted(self) -> Self {
        self.each(self, |figure, _| figure::counted(figure))
    }

    /// Returns the difference, at least zero in each figure. A figure of `u64::MAX`, which means no limit, is kept.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn less(self, other: Self) -> Self {
        let less = |most: u64, taken| if most == u64::MAX { most } else { most.saturating_sub(taken) };
        self.each(other, less)
    }

    /// Returns this budget plus the amount that answers have added. A figure of `u64::MAX`, which means no limit, is kept, and no other
    /// reaches it.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn raised(self, added: Self) -> Self {
        let raised = |most: u64, more| {
            if most == u64::MAX { most } else { most.saturating_add(more).min(u64::MAX - 1) }
        };
        self.each(added, raised)
    }

    /// Returns the smaller of each figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn min(self, other: Self) -> Self {
        self.each(other, u64::min)
    }

    /// Returns the larger of each figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn max(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// Returns the part of a budget that is reserved for a last request: one call, and a quarter of each other limited figure.
    #[must_use]
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn floor(self) -> Self {
        let quarter = |figure: u64| if figure == u64::MAX { 0 } else { figure / 4 };
        Self {
            calls: self.calls.min(1),
            input: quarter(self.input),
            output: quarter(self.output),
            cost: quarter(self.cost),
        }
    }

    /// Returns the first figure in which this amount exceeds `most`.
    #[cfg_attr(not(target_family = "wasm"), inline)]
    pub fn above(self, most: Self) -> Option<ModelFigure> {
        ModelFigure::ALL.into_iter().find(|figure| figure.of(self) > figure.of(most))
    }
}

/// Returns the smaller floor of two budgets, each given with its floor. A figure without a limit has the floor zero, which lowers no other.
pub fn smaller_floor(one: (ModelUse, ModelUse), two: (ModelUse, ModelUse)) -> ModelUse {
    let known = |(budget, floor): (ModelUse, ModelUse)| {
        budget.each(floor, |most, floor| if most == u64::MAX { most } else { floor })
    };
    known(one).min(known(two)).each(one.1.max(two.1), u64::min)
}

/// One figure of a [`ModelUse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFigure {
    /// [`ModelUse::calls`].
    Calls,
    /// [`ModelUse::input`].
    InputTokens,
    /// [`ModelUse::output`].
    OutputTokens,
    /// [`ModelUse::cost`].
    Cost,
}

impl ModelFigure {
    /// All figures.
    pub const ALL: [Self; 4] = [Self::Calls, Self::InputTokens, Self::OutputTokens, Self::Cost];

    /// Returns the figure of an amount.
    pub const fn of(self, amount: ModelUse) -> u64 {
        match self {
            Self::Calls => amount.calls,
            Self::InputTokens => amount.input,
            Self::OutputTokens => amount.output,
            Self::Cost => amount.cost,
        }
    }

    /// Returns a use of `value` in this figure, and of nothing else.
    pub const fn amount(self, value: u64) -> ModelUse {
        let nothing = ModelUse::NOTHING;
        match self {
            Self::Calls => ModelUse { calls: value, ..nothing },
            Self::InputTokens => ModelUse { input: value, ..nothing },
            Self::OutputTokens => ModelUse { output: value, ..nothing },
            Self::Cost => ModelUse { cost: value, ..nothing },
        }
    }

    /// Returns the key in a manifest, below `model`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Cost => "cost",
        }
    }

    /// Returns the unit of an amount for messages: `calls of models`, or `call of models` if it is 1.
    pub const fn unit(self, amount: u64) -> &'static str {
        match (self, amount) {
            (Self::Calls, 1) => "call of models",
            (Self::Calls, _) => "calls of models",
            (Self::InputTokens, 1) => "token of requests",
            (Self::InputTokens, _) => "tokens of requests",
            (Self::OutputTokens, 1) => "token of answers",
            (Self::OutputTokens, _) => "tokens of answers",
            (Self::Cost, _) => "of the manifest's currency",
        }
    }

    /// Returns the value of the figure as a manifest writes it: a cost as a decimal number, everything else as an integer.
    pub fn written(self, value: u64) -> String {
        if self == Self::Cost { written_cost(value) } else { value.to_string() }
    }
}

/// Writes an amount of money in millionths as a decimal number without trailing zeros: 1500000 is `1.5`.
pub fn written_cost(millionths: u64) -> String {
    let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:06}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Reads a decimal number, without sign and exponent and with at most six decimals, as millionths.
pub fn read_cost(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(rest) || rest.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let rest: u64 = format!("{rest:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(rest)
}

/// Reads a number as [`read_cost`] reads its text.
pub(crate) fn cost_of(number: &Number) -> Option<u64> {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => {
            let text = format!("{value:.6}");
            read_cost(&text).filter(|_| text.parse() == Ok(value))
        }
        None => read_cost(&number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn costs_are_decimal_numbers() {
        for (text, millionths) in [("0", 0), ("1", 1_000_000), ("0.25", 250_000), ("3.000001", 3_000_001)] {
            assert_eq!(read_cost(text), Some(millionths));
            assert_eq!(written_cost(millionths), text);
        }
        for text in
            ["", ".5", "1.", "-1", "1e3", "0.0000001", "1,5", "99999999999999999999", "18446744073710"]
        {
            assert_eq!(read_cost(text), None, "{text}");
        }
    }

    #[test]
    fn no_limit_stays_none() {
        let used = ModelUse { calls: 3, input: 20, output: 10, cost: 7 };
        let left = ModelUse { calls: 2, input: u64::MAX, output: 15, cost: u64::MAX }.less(used);
        assert_eq!(left, ModelUse { calls: 0, input: u64::MAX, output: 5, cost: u64::MAX });
        let host = crate::limits::HostUse { model: ModelUse::UNBOUNDED, ..crate::limits::HostUse::NOTHING };
        let used = crate::limits::HostUse { model: used, ..crate::limits::HostUse::NOTHING };
        assert_eq!(host.less(used).model, ModelUse::UNBOUNDED);
    }

    #[test]
    fn what_is_added_makes_no_limit_and_lifts_none() {
        let most = ModelUse { calls: 2, input: u64::MAX, output: 5, cost: 0 };
        let added = ModelUse { calls: 3, input: 7, output: u64::MAX, cost: 4 };
        let raised = ModelUse { calls: 5, input: u64::MAX, output: u64::MAX - 1, cost: 4 };
        assert_eq!(most.raised(added), raised);
        assert_eq!(ModelFigure::ALL.map(|figure| figure.of(figure.amount(9))), [9; 4]);
    }

    #[test]
    fn the_first_figure_above_a_limit_is_named() {
        let most = ModelUse { calls: 2, input: 10, output: 10, cost: 5 };
        assert_eq!(most.above(most), None);
        assert_eq!(ModelUse { cost: 6, ..most }.above(most), Some(ModelFigure::Cost));
        assert_eq!(ModelUse { calls: 3, cost: 6, ..most }.above(most), Some(ModelFigure::Calls));
    }

    proptest! {
        #[test]
        fn costs_are_read_as_they_are_written(millionths: u64) {
            prop_assert_eq!(read_cost(&written_cost(millionths)), Some(millionths));
        }
    }
}
