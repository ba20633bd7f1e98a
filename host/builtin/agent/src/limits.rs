//! Limits of a conversation, and the detection of the last call before one of them.

use graph_sdk::model::Budget;
use graph_sdk::prelude::*;

use crate::result::{Used, in_currency};
use crate::settings::{Limits, Settings};
use crate::thread;

/// Estimate of the next call of the model.
#[derive(Debug)]
pub(crate) struct Next<'u> {
    /// Number of requests to answer the user's message.
    pub(crate) turns: u64,
    /// Estimated number of bytes of its request.
    pub(crate) request: u64,
    /// Tokens of the last request and its answer; 0 if they are not known.
    pub(crate) context: u64,
    /// Usage of the whole thread.
    pub(crate) used: &'u Used,
}

impl Next<'_> {
    /// Reports whether it is probably the last call that the limits and the budget permit. Another call would need the
    /// tokens of this one, and of its answer, which is estimated at a quarter of that.
    pub(crate) fn is_last(&self, settings: &Settings, left: &Budget) -> bool {
        let Self { turns, request, used, .. } = *self;
        let limits = &settings.limits;
        let output = settings.max_output.zip(left.output);
        // The host reserves a token for each byte of a request, and charges the number that the provider counts.
        let tokens = self.tokens();
        let bound = request.saturating_add(request / 4);
        let price = |tokens: u64| used.price_of(tokens);
        let is_short = |left: Option<u64>, this: u64, next: u64| {
            left.is_some_and(|left| left < this.saturating_add(next))
        };
        let own = limits.tokens.map(|most| most.saturating_sub(used.tokens()));
        let own_spend = limits.spend.map(|most| used.left_of(most));
        turns + 1 == limits.turns
            || left.calls == Some(1)
            || output.is_some_and(|(most, left)| left < most.saturating_mul(2))
            || is_short(own, tokens, tokens)
            || is_short(own_spend, price(tokens), price(tokens))
            || is_short(left.input, tokens, bound)
            || is_short(left.cost, price(tokens), price(bound))
    }

    /// Estimates the tokens that the call uses: those of the last call, or a number from the bytes of its request.
    fn tokens(&self) -> u64 {
        let bytes = usize::try_from(self.request).unwrap_or(usize::MAX);
        if self.context > 0 { self.context } else { thread::tokens_of(bytes) }
    }
}

/// Reports whether a failure states that the request exceeds limits of a node, so that it was not sent.
pub(crate) fn is_short(failure: &Failure) -> bool {
    failure.details().is_some_and(|details| details["short"].is_object())
}

/// Returns the failure of a request that exceeds the rest of strict limits, in the words of the settings. Other failures are unchanged.
pub(crate) fn explained(failure: Failure, limits: &Limits, used: &Used) -> Failure {
    let Some(short) = failure.details().map(|details| details["short"].clone()).filter(|_| limits.strict)
    else {
        return failure;
    };
    let (Some(needed), Some(left)) = (short["needed"].as_u64(), short["left"].as_u64()) else {
        return failure;
    };
    let message = match (short["figure"].as_str(), limits.tokens, limits.spend) {
        (Some("cost"), _, Some(most)) if used.left_of(most) == left => format!(
            "the next call may cost {}, and {} of `limits.spend`, {most}, is left; {} would allow it",
            in_currency(needed),
            in_currency(left),
            in_currency(used.cost_with(needed)),
        ),
        (Some(figure @ ("input_tokens" | "output_tokens")), Some(most), _)
            if most.saturating_sub(used.tokens()) == left =>
        {
            let counted = if figure == "input_tokens" {
                "the next request may have"
            } else {
                "the next answer may have"
            };
            let enough = used.tokens().saturating_add(needed);
            format!(
                "{counted} {needed} tokens (one for each byte, until the provider has counted them), and {left} of `limits.tokens`, {most}, are \
                 left; {enough} would allow it"
            )
        }
        _ => return failure,
    };
    Failure::limit(message)
}

/// Returns the message about a limit that permits no other call, if there is one.
pub(crate) fn reached(limits: &Limits, turns: u64, used: &Used) -> Option<String> {
    if turns >= limits.turns {
        let most = limits.turns;
        return Some(format!(
            "the model was asked {turns} times and has not finished; `limits.turns` is {most}"
        ));
    }
    if let Some(most) = limits.tokens.filter(|most| used.tokens() >= *most) {
        return Some(format!(
            "the task has used {} tokens and is not finished; `limits.tokens` is {most}",
            used.tokens()
        ));
    }
    let most = limits.spend.filter(|most| used.spend() >= *most)?;
    Some(format!("the task has cost {} and is not finished; `limits.spend` is {most}", used.spend()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_sdk::model::Usage;

    use super::*;

    fn settings(limits: &Value) -> Settings {
        graph_sdk::serde_json::from_value(json!({ "message": "a", "limits": limits })).unwrap()
    }

    /// Returns the usage of two calls: 1000 tokens at a cost of 2000 millionths.
    fn used() -> Used {
        let usage = Usage { input: 450, output: 50, cost: 1000, ..Usage::default() };
        Used::default().with_turn().with(&usage).with_turn().with(&usage)
    }

    #[test]
    fn the_last_call_is_the_one_after_which_no_other_fits() {
        let used = used();
        let next = Next { turns: 2, request: 2000, context: 500, used: &used };
        let any = Budget::default();
        let is_last = |limits: Value, left: &Budget| next.is_last(&settings(&limits), left);
        assert!(!is_last(json!({}), &any));
        // The limit has to suffice for this call and for another one.
        assert!(is_last(json!({ "tokens": 1999 }), &any) && !is_last(json!({ "tokens": 2000 }), &any));
        assert!(is_last(json!({ "spend": 0.003_999 }), &any) && !is_last(json!({ "spend": 0.004 }), &any));
        assert!(is_last(json!({ "turns": 3 }), &any) && !is_last(json!({ "turns": 4 }), &any));
        // The host reserves more: 2500 tokens for the next call.
        let input = |input| Budget { input: Some(input), ..Budget::default() };
        assert!(is_last(json!({}), &input(2999)) && !is_last(json!({}), &input(3000)));
        let cost = |cost| Budget { cost: Some(cost), ..Budget::default() };
        assert!(is_last(json!({}), &cost(5999)) && !is_last(json!({}), &cost(6000)));
    }

    #[test]
    fn a_first_call_is_measured_by_its_request() {
        let used = Used::default();
        let next = Next { turns: 0, request: 2000, context: 0, used: &used };
        let any = Budget::default();
        assert!(next.is_last(&settings(&json!({ "tokens": 999 })), &any));
        assert!(!next.is_last(&settings(&json!({ "tokens": 1000, "spend": 0.000_001 })), &any));
    }
}
