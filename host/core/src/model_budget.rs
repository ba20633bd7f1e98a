//! The budget of language models of one attempt of a task.
//!
//! A host sets aside the most that a request may use, sends it, and then charges what it has used. So nothing is sent that
//! could exceed the budget, as long as the provider counts no more tokens than the bound of the request says. All hosts
//! decide this in the same way; how they ask a provider is theirs.
//!
//! ```
//! use graph_core::capability::ModelPrice;
//! use graph_core::limits::ModelUse;
//! use graph_core::model_budget::ModelBudget;
//!
//! let price = ModelPrice { input: 1_000_000, output: 4_000_000, ..ModelPrice::default() };
//! let mut budget = ModelBudget::new(ModelUse { calls: 2, input: 1000, output: 100, cost: 1000 });
//!
//! // 300 tokens are sent. The remaining cost pays for 175 tokens of the answer, and 100 are left.
//! let reserved = budget.reserve(300, 4096, &price).unwrap();
//! assert_eq!(reserved, ModelUse { calls: 1, input: 300, output: 100, cost: 700 });
//! assert_eq!(budget.settle(ModelUse { calls: 1, input: 200, output: 20, cost: 280 }), None);
//! assert_eq!(budget.left(), ModelUse { calls: 1, input: 800, output: 80, cost: 720 });
//!
//! let short = budget.reserve(900, 10, &price).unwrap_err();
//! assert_eq!(
//!     short.to_string(),
//!     "it may need 900 tokens of requests, and 800 of 1000 are left; `limits: { model: { input_tokens: 1100 } }` in the \
//!      manifest allows that"
//! );
//! ```

use serde::{Deserialize, Serialize};

use crate::capability::ModelPrice;
use crate::limits::{LARGEST_FIGURE, ModelFigure, ModelUse};

/// The budget of an attempt for language models: limit, use and reservation. A figure of `u64::MAX` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelBudget {
    most: ModelUse,
    /// Part of `most` that is reserved for a last request.
    floor: ModelUse,
    used: ModelUse,
    /// Reservation for the request under way.
    reserved: ModelUse,
    /// The figures of `most` that come from `limits` of nodes; the others are unbounded.
    of_nodes: ModelUse,
}

/// A figure of a budget does not suffice for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it may need {} {}, and {} {}",
    figure.written(*needed),
    figure.unit(*needed),
    figure.written(*left),
    self.limit()
)]
pub struct ModelShortage {
    /// The figure that does not suffice.
    pub figure: ModelFigure,
    /// Amount that the request may need.
    pub needed: u64,
    /// Amount that is left.
    pub left: u64,
    /// Amount that the attempt had.
    pub most: u64,
    /// `true` if the limit comes from `limits` of a node in a graph.
    pub of_node: bool,
}

impl ModelShortage {
    /// Describes the limit, and the setting that raises it. The share that earlier attempts have used of a node's limit is not known here.
    fn limit(&self) -> String {
        let Self { figure, most, of_node, .. } = *self;
        if of_node {
            return format!("are left of the `limits.model.{}` of a node of the graph", figure.key());
        }
        format!("of {} are left; `{}` in the manifest allows that", figure.written(most), self.line())
    }

    /// Returns the line of a manifest that would suffice.
    pub fn line(&self) -> String {
        manifest_line(self.figure, self.most.saturating_add(self.needed.saturating_sub(self.left)))
    }
}

/// A provider has used more of a figure than the request could be expected to use, and more than the budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the provider counts {} {}, and {} were set aside, which exceeds {}",
    figure.written(*used),
    figure.unit(*used),
    figure.written(*reserved),
    self.budget()
)]
pub struct ModelOverrun {
    /// The figure that is exceeded.
    pub figure: ModelFigure,
    /// Amount that the request has used.
    pub used: u64,
    /// Amount that was set aside.
    pub reserved: u64,
    /// Amount that the attempt had.
    pub most: u64,
    /// Amount that the attempt has used.
    pub total: u64,
    /// `true` if the limit comes from `limits` of a node in a graph.
    pub of_node: bool,
}

impl ModelOverrun {
    /// Describes the exceeded limit, and the setting that raises it.
    fn budget(&self) -> String {
        let Self { figure, most, total, of_node, .. } = *self;
        if of_node {
            return format!(
                "the {} that are left of the `limits.model.{}` of a node of the graph",
                figure.written(most),
                figure.key()
            );
        }
        format!(
            "the budget of {}; `{}` in the manifest allows that",
            figure.written(most),
            manifest_line(figure, total)
        )
    }
}

pub(crate) fn manifest_line(figure: ModelFigure, amount: u64) -> String {
    format!("limits: {{ model: {{ {}: {} }} }}", figure.key(), figure.written(amount))
}

/// The figure of a budget of models that ended an attempt, and the missing amount as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortFigure {
    /// The figure that does not suffice.
    pub figure: ModelFigure,
    /// Amount that was left to the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// Amount that the request, which was not sent, may need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// Amount by which a provider has exceeded the attempt's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<u64>,
}

impl From<ModelFigure> for ShortFigure {
    fn from(figure: ModelFigure) -> Self {
        Self { figure, left: None, needed: None, over: None }
    }
}

impl From<ModelShortage> for ShortFigure {
    fn from(shortage: ModelShortage) -> Self {
        let ModelShortage { figure, needed, left, .. } = shortage;
        Self { left: Some(left), needed: Some(needed), ..figure.into() }
    }
}

impl From<ModelOverrun> for ShortFigure {
    fn from(overrun: ModelOverrun) -> Self {
        let ModelOverrun { figure, most, total, .. } = overrun;
        Self { over: Some(total.saturating_sub(most)), ..figure.into() }
    }
}

impl ModelBudget {
    /// Creates a budget of which nothing is used.
    pub const fn new(most: ModelUse) -> Self {
        Self {
            most,
            floor: ModelUse::NOTHING,
            used: ModelUse::NOTHING,
            reserved: ModelUse::NOTHING,
            of_nodes: ModelUse::UNBOUNDED,
        }
    }

    /// Returns the same budget with the figures that come from `limits` of nodes; the others are unbounded here.
    #[must_use]
    pub const fn with_nodes(self, of_nodes: ModelUse) -> Self {
        Self { of_nodes, ..self }
    }

    /// Returns the same budget with a part that is reserved for a last request: [`Self::reserve_last`].
    #[must_use]
    pub const fn with_floor(self, floor: ModelUse) -> Self {
        Self { floor, ..self }
    }

    /// Checks whether a part is reserved for a last request.
    pub const fn has_floor(&self) -> bool {
        self.floor.calls > 0
    }

    /// Returns the used amount, without the reservation.
    pub const fn used(&self) -> ModelUse {
        self.used
    }

    /// Returns the amount that can still be set aside.
    pub fn left(&self) -> ModelUse {
        self.most.less(self.used.plus(self.reserved))
    }

    /// Sets aside the largest use of one request: `input` bounds its tokens, and its answer has at most `output`. If fewer tokens of an
    /// answer are left, or can be paid, the answer gets those: `output` of the result is the largest that the request may ask for. The
    /// error names the figure that does not suffice; nothing is then set aside.
    pub fn reserve(
        &mut self,
        input: u64,
        output: u64,
        price: &ModelPrice,
    ) -> Result<ModelUse, ModelShortage> {
        self.reserve_above(self.floor, input, output, price)
    }

    /// Like [`Self::reserve`], for a request without tools, which may also use the part that is reserved for a last request.
    pub fn reserve_last(
        &mut self,
        input: u64,
        output: u64,
        price: &ModelPrice,
    ) -> Result<ModelUse, ModelShortage> {
        self.reserve_above(ModelUse::NOTHING, input, output, price)
    }

    fn reserve_above(
        &mut self,
        floor: ModelUse,
        input: u64,
        output: u64,
        price: &ModelPrice,
    ) -> Result<ModelUse, ModelShortage> {
        // A reservation for a request whose end is not known counts as used.
        self.forfeit();
        let left = self.left().less(floor);
        let payable =
            if left.cost == u64::MAX { Some(u64::MAX) } else { price.output_within(input, left.cost) };
        let wanted = output.max(1);
        let output = wanted.min(left.output).min(payable.unwrap_or(0));
        // An answer needs at least one token: if none is left, the figure that leaves none is reported.
        let least = output.max(1);
        let reserved = ModelUse { calls: 1, input, output: least, cost: price.most(input, least) };
        if let Some(figure) = reserved.above(left) {
            // A budget with one more token would allow an answer of one token, which is useless.
            let needed = ModelUse { output: wanted, cost: price.most(input, wanted), ..reserved };
            let (needed, left, most) = (figure.of(needed), figure.of(left), figure.of(self.most));
            let of_node = figure.of(self.of_nodes) <= most;
            return Err(ModelShortage { figure, needed, left, most, of_node });
        }
        self.reserved = reserved;
        Ok(reserved)
    }

    /// Charges the use of a request instead of its reservation; both are equal if the provider does not report the use. The budget is
    /// charged in any case; the error says that it is exceeded by more than was set aside. A figure that cannot be counted any more,
    /// [`LARGEST_FIGURE`], exceeds every budget, also one without a limit.
    pub fn settle(&mut self, used: ModelUse) -> Option<ModelOverrun> {
        let reserved = std::mem::take(&mut self.reserved);
        let used = used.counted();
        self.used = self.used.plus(used);
        let exceeds = |figure: &ModelFigure| {
            let total = figure.of(self.used);
            figure.of(used) > figure.of(reserved) && (total > figure.of(self.most) || total >= LARGEST_FIGURE)
        };
        let figure = ModelFigure::ALL.into_iter().find(exceeds)?;
        Some(ModelOverrun {
            figure,
            used: figure.of(used),
            reserved: figure.of(reserved),
            most: figure.of(self.most),
            total: figure.of(self.used),
            of_node: figure.of(self.of_nodes) <= figure.of(self.most),
        })
    }

    /// Charges the reservation, since the end of the request is not known.
    pub fn forfeit(&mut self) {
        let reserved = std::mem::take(&mut self.reserved);
        self.used = self.used.plus(reserved.counted());
    }

    /// Charges the use of a called component, or of a call that is answered from a journal.
    pub fn charge(&mut self, used: ModelUse) {
        self.used = self.used.plus(used.counted());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const PRICE: ModelPrice =
        ModelPrice { input: 2_000_000, output: 8_000_000, cached: 500_000, cache_write: 2_500_000 };

    fn of(calls: u64, input: u64, output: u64, cost: u64) -> ModelUse {
        ModelUse { calls, input, output, cost }
    }

    #[test]
    fn each_figure_can_be_the_one_that_is_short() {
        let short = |most: ModelUse| ModelBudget::new(most).reserve(100, 50, &PRICE).unwrap_err().figure;
        assert_eq!(short(of(0, 0, 0, 0)), ModelFigure::Calls);
        assert_eq!(short(of(1, 99, 50, 650)), ModelFigure::InputTokens);
        assert_eq!(short(of(1, 100, 0, 650)), ModelFigure::OutputTokens);
        assert_eq!(short(of(1, 100, 50, 249)), ModelFigure::Cost, "the request alone");
        assert_eq!(short(of(1, 100, 50, 257)), ModelFigure::Cost, "the request and one token");
    }

    #[test]
    fn the_line_that_is_printed_lets_the_request_be_sent() {
        for most in [of(9, 9000, 60, 9000), of(9, 9000, 9000, 500)] {
            let mut budget = ModelBudget::new(most);
            budget.reserve(100, 60, &PRICE).unwrap();
            budget.forfeit();
            let ModelShortage { figure, needed, left, most: of_figure, .. } =
                budget.reserve(100, 50, &PRICE).unwrap_err();
            let raised = of_figure + needed - left;
            let raised = match figure {
                ModelFigure::OutputTokens => ModelUse { output: raised, ..most },
                _ => ModelUse { cost: raised, ..most },
            };
            let mut budget = ModelBudget::new(raised);
            budget.reserve(100, 60, &PRICE).unwrap();
            budget.forfeit();
            assert!(
                budget.reserve(100, 50, &PRICE).is_ok(),
                "{figure:?}: answers before it may become longer, too"
            );
        }
    }

    #[test]
    fn answers_are_shortened_to_what_is_left() {
        let reserved = |most: ModelUse| ModelBudget::new(most).reserve(100, 50, &PRICE).unwrap();
        assert_eq!(reserved(of(1, 100, 50, 650)), of(1, 100, 50, 650), "all of it");
        assert_eq!(reserved(of(1, 100, 7, 650)), of(1, 100, 7, 306), "few tokens");
        assert_eq!(reserved(of(1, 100, 50, 274)), of(1, 100, 3, 274), "little money");
        assert_eq!(reserved(ModelUse::UNBOUNDED).output, 50);
        let free = ModelBudget::new(of(1, 100, 50, 0)).reserve(100, 50, &ModelPrice::default());
        assert_eq!(free, Ok(of(1, 100, 50, 0)), "what costs nothing needs no money");
    }

    #[test]
    fn a_last_request_may_use_what_is_kept_for_it() {
        let most = of(3, 400, 40, u64::MAX);
        let mut budget = ModelBudget::new(most).with_floor(most.floor());
        assert!(budget.has_floor() && !ModelBudget::new(most).has_floor());
        assert_eq!(budget.reserve(301, 5, &PRICE).unwrap_err().figure, ModelFigure::InputTokens);
        assert_eq!(budget.reserve(300, 40, &PRICE).unwrap().output, 30, "a quarter is kept");
        budget.settle(of(1, 250, 30, 0));
        budget.reserve(50, 1, &PRICE).unwrap_err();
        let last = budget.reserve_last(150, 40, &PRICE).unwrap();
        assert_eq!((last.input, last.output), (150, 10));
        budget.settle(of(1, 150, 10, 0));
        assert!(budget.reserve_last(1, 1, &PRICE).is_err(), "there is one last request");
    }

    #[test]
    fn a_shortage_says_whether_the_figure_comes_from_a_node() {
        let most = of(9, 90, 60, 9000);
        let mut budget = ModelBudget::new(most).with_nodes(ModelUse { input: 90, ..ModelUse::UNBOUNDED });
        let short = budget.reserve(100, 60, &PRICE).unwrap_err();
        assert!(short.of_node);
        assert_eq!(
            short.to_string(),
            "it may need 100 tokens of requests, and 90 are left of the `limits.model.input_tokens` of a node of the graph"
        );
        let mut wider = ModelBudget::new(most).with_nodes(ModelUse { input: 91, ..ModelUse::UNBOUNDED });
        assert!(!wider.reserve(100, 60, &PRICE).unwrap_err().of_node);
        assert!(!ModelBudget::new(most).reserve(100, 60, &PRICE).unwrap_err().of_node);
        wider = wider.with_nodes(ModelUse { input: 90, ..ModelUse::UNBOUNDED });
        wider.reserve(80, 60, &PRICE).unwrap();
        assert_eq!(
            wider.settle(of(1, 95, 1, 10)).unwrap().to_string(),
            "the provider counts 95 tokens of requests, and 80 were set aside, which exceeds the 90 that are left of the \
             `limits.model.input_tokens` of a node of the graph"
        );
    }

    #[test]
    fn what_exceeds_the_budget_is_charged_and_reported() {
        let mut budget = ModelBudget::new(of(5, 1000, 100, 10_000));
        budget.reserve(100, 50, &PRICE).unwrap();
        assert_eq!(
            budget.settle(of(1, 150, 60, 780)),
            None,
            "more than was set aside, and within the budget"
        );
        budget.reserve(100, 50, &PRICE).unwrap();
        let overrun = budget.settle(of(1, 100, 45, 610)).unwrap();
        assert_eq!(
            overrun.to_string(),
            "the provider counts 45 tokens of answers, and 40 were set aside, which exceeds the budget of 100; \
             `limits: { model: { output_tokens: 105 } }` in the manifest allows that"
        );
        assert_eq!((budget.used().output, budget.left().output), (105, 0));
    }

    #[test]
    fn what_cannot_be_counted_exceeds_every_budget() {
        for most in [ModelUse::UNBOUNDED, of(9, u64::MAX - 1, u64::MAX - 1, u64::MAX - 1)] {
            for used in [of(1, u64::MAX, 1, 1), of(1, 1, LARGEST_FIGURE, 1), of(1, 1, 1, u64::MAX - 1)] {
                let mut budget = ModelBudget::new(most);
                budget.reserve(100, 50, &PRICE).unwrap();
                let overrun = budget.settle(used).unwrap();
                assert_eq!((overrun.used, overrun.total), (LARGEST_FIGURE, LARGEST_FIGURE));
                assert_eq!(budget.used(), used.counted());
                // Later charges add nothing above the largest figure.
                budget.charge(used);
                assert_eq!(budget.used().above(ModelUse::UNBOUNDED.counted()), None);
            }
        }
        // Many figures below the largest one.
        let mut budget = ModelBudget::new(ModelUse::UNBOUNDED);
        budget.settle(of(1, LARGEST_FIGURE / 2, 0, 0));
        assert_eq!(budget.settle(of(1, LARGEST_FIGURE / 2, 0, 0)), None);
        assert_eq!(budget.settle(of(1, 5, 0, 0)).unwrap().total, LARGEST_FIGURE);
    }

    #[test]
    fn a_request_whose_end_is_unknown_counts_in_full() {
        let mut budget = ModelBudget::new(of(5, 1000, 100, 10_000));
        let first = budget.reserve(100, 50, &PRICE).unwrap();
        let second = budget.reserve(100, 50, &PRICE).unwrap();
        assert_eq!(budget.used(), first);
        budget.forfeit();
        budget.forfeit();
        assert_eq!(budget.used(), first.plus(second));
    }

    #[test]
    fn what_has_no_limit_has_none_afterwards() {
        let mut budget = ModelBudget::new(of(5, u64::MAX, 100, u64::MAX));
        budget.reserve(1 << 40, 50, &PRICE).unwrap();
        budget.settle(of(1, 1 << 40, 50, 1 << 50));
        assert_eq!(budget.left(), of(4, u64::MAX, 50, u64::MAX));
    }

    fn figures() -> impl Strategy<Value = u64> {
        prop_oneof![0..2000_u64, any::<u64>()]
    }

    fn uses() -> impl Strategy<Value = ModelUse> {
        (0..6_u64, figures(), figures(), figures()).prop_map(|(calls, input, output, cost)| ModelUse {
            calls,
            input,
            output,
            cost,
        })
    }

    fn prices() -> impl Strategy<Value = ModelPrice> {
        let price = || prop_oneof![Just(0), 0..10_000_000_u64, any::<u64>()];
        (price(), price(), price(), price()).prop_map(|(input, output, cached, cache_write)| ModelPrice {
            input,
            output,
            cached,
            cache_write,
        })
    }

    proptest! {
        /// For all requests: use and reservation together stay within the budget.
        #[test]
        fn no_more_is_set_aside_than_is_left(
            most in uses(),
            price in prices(),
            requests in proptest::collection::vec((figures(), figures(), any::<bool>()), 1..8),
        ) {
            let mut budget = ModelBudget::new(most);
            for (input, output, answers) in requests {
                let left = budget.left();
                match budget.reserve(input, output, &price) {
                    Ok(reserved) => {
                        prop_assert_eq!(reserved.above(left), None);
                        prop_assert_eq!((reserved.calls, reserved.input), (1, input));
                        prop_assert!((1..=output.max(1)).contains(&reserved.output));
                        prop_assert_eq!(reserved.cost, price.most(input, reserved.output));
                        // The answer gets as many tokens as possible.
                        let more = reserved.output.saturating_add(1);
                        prop_assert!(
                            more > output.max(1) || more > left.output || price.most(input, more) > left.cost
                        );
                        // A provider that stays within the bounds never exceeds the budget.
                        let used = if answers {
                            ModelUse { input: reserved.input / 2, output: reserved.output / 3, ..reserved }
                        } else {
                            reserved
                        };
                        prop_assert_eq!(budget.settle(used), None);
                    }
                    Err(short) => {
                        prop_assert_eq!(budget.left(), left);
                        prop_assert!(short.needed > short.left);
                        prop_assert_eq!(short.left, short.figure.of(left));
                    }
                }
                prop_assert_eq!(budget.used().above(most), None);
            }
        }

        /// The used amount is the sum of the settled ones, and every excess is reported.
        #[test]
        fn settlements_are_exact(most in uses(), used in proptest::collection::vec(uses(), 1..6)) {
            let mut budget = ModelBudget::new(most);
            let mut sum = ModelUse::NOTHING;
            for used in used {
                let had = budget.used();
                let Ok(reserved) = budget.reserve(100, 10, &PRICE) else { break };
                let overrun = budget.settle(used);
                sum = sum.plus(used);
                prop_assert_eq!(budget.used(), sum);
                let uncounted = |figure: &ModelFigure| figure.of(sum) >= LARGEST_FIGURE;
                let exceeds = if ModelFigure::ALL.iter().any(uncounted) {
                    let is_more = |figure: &ModelFigure| figure.of(used.counted()) > figure.of(reserved);
                    let is_over = |figure: &ModelFigure| figure.of(sum) > figure.of(most) || uncounted(figure);
                    ModelFigure::ALL.iter().any(|figure| is_more(figure) && is_over(figure))
                } else {
                    sum.above(most).is_some() && had.above(most).is_none()
                };
                prop_assert_eq!(overrun.is_some(), exceeds, "{:?} {:?}", reserved, used);
            }
        }
    }
}
