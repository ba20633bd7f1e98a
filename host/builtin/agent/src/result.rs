//! Usage and result of an agent.

use graph_sdk::model::{Message, Usage};
use graph_sdk::prelude::*;

use crate::settings::Limits;

/// What all calls of models of a thread have used so far; the graph keeps it in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Used {
    /// How often the model was asked for a message.
    pub(crate) turns: u64,
    /// Tokens of requests, those of summaries included.
    input_tokens: u64,
    /// Tokens of answers, those of summaries included.
    output_tokens: u64,
    /// The cost by the manifest's prices, in millionths of its currency.
    cost: u64,
    /// How many threads the model has started. What they have used counts here, too.
    pub(crate) spawns: u64,
}

/// What is left of the limits of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Left {
    tokens: Option<u64>,
    /// In the manifest's currency.
    spend: Option<f64>,
}

impl Left {
    /// Returns the rest of the limits after this usage; `None` unless the limits are strict and there are some.
    pub(crate) fn of(limits: &Limits, used: &Used) -> Option<Self> {
        let tokens = limits.tokens.map(|most| most.saturating_sub(used.tokens()));
        let spend = limits.spend.map(|most| in_currency(used.left_of(most)));
        (limits.strict && (tokens.is_some() || spend.is_some())).then_some(Self { tokens, spend })
    }
}

/// What an attempt has used that left no conversation, as `state._last_error.models` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lost {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    cost: f64,
}

/// Result of an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    /// Status: `completed`; with `tell_failures`, also `error` and `cancelled`.
    pub(crate) status: &'static str,
    /// Category of the failure, if the task was not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<&'static str>,
    /// Message of that failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Last text of the model.
    pub(crate) text: &'a str,
    /// Typed outputs, if they were declared.
    pub(crate) outputs: Option<&'a Value>,
    /// Number of requests to answer the user's last message.
    pub(crate) turns: u64,
    /// Usage of the whole thread.
    pub(crate) cost: Value,
    /// Number of messages of the thread.
    pub(crate) thread_length: usize,
    /// True if the last call was made without tools, because a limit was near.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) finished_early: bool,
    /// True if the text has reached the maximum number of tokens of an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
    /// Number of times that older messages were replaced by a summary.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) summaries: u64,
    /// Conversation, for a run that continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<History>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A conversation that another run continues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct History {
    /// The messages.
    pub(crate) thread: Vec<Message>,
    /// What they have used.
    pub(crate) used: Used,
    /// How often older messages were replaced by a summary.
    pub(crate) summaries: u64,
}

impl Used {
    /// Adds the usage of another call.
    pub(crate) fn with(self, usage: &Usage) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(usage.input),
            output_tokens: self.output_tokens.saturating_add(usage.output),
            cost: self.cost.saturating_add(usage.cost),
            ..self
        }
    }

    /// Adds a thread that the model has started; `spend` is in the manifest's currency.
    pub(crate) fn with_thread(self, input: u64, output: u64, spend: f64) -> Self {
        let usage = Usage { input, output, cached: 0, reasoning: 0, cost: millionths(spend) };
        Self { spawns: self.spawns.saturating_add(1), ..self.with(&usage) }
    }

    /// Adds the usage of an attempt that left no conversation.
    pub(crate) fn with_lost(self, lost: &Lost) -> Self {
        let Lost { calls, input_tokens: input, output_tokens: output, cost } = *lost;
        let usage = Usage { input, output, cached: 0, reasoning: 0, cost: millionths(cost) };
        Self { turns: self.turns.saturating_add(calls), ..self.with(&usage) }
    }

    /// Adds another turn.
    pub(crate) fn with_turn(self) -> Self {
        Self { turns: self.turns.saturating_add(1), ..self }
    }

    /// Returns the number of tokens of requests and answers.
    pub(crate) fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the cost in the manifest's currency.
    pub(crate) fn spend(&self) -> f64 {
        in_currency(self.cost)
    }

    /// Estimates the cost of a number of tokens in millionths, from the cost of the used ones.
    pub(crate) fn price_of(&self, tokens: u64) -> u64 {
        self.cost.saturating_mul(tokens).checked_div(self.tokens()).unwrap_or(0)
    }

    /// Returns the cost with another amount, in millionths.
    pub(crate) fn cost_with(&self, more: u64) -> u64 {
        self.cost.saturating_add(more)
    }

    /// Returns the rest of a spend that is in the manifest's currency, in millionths.
    pub(crate) fn left_of(&self, spend: f64) -> u64 {
        millionths(spend).saturating_sub(self.cost)
    }

    /// Returns the usage for people, with the cost in the manifest's currency.
    pub(crate) fn shown(&self) -> Value {
        let Self { turns, input_tokens, output_tokens, .. } = *self;
        let spend = self.spend();
        json!({ "turns": turns, "input_tokens": input_tokens, "output_tokens": output_tokens, "spend": spend })
    }
}

/// Converts millionths to an amount of the manifest's currency.
pub(crate) fn in_currency(millionths: u64) -> f64 {
    // The conversion through text rounds only once: 20000 millionths are 0.02.
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000).parse().unwrap_or_default()
}

/// Converts an amount of the manifest's currency to millionths.
fn millionths(spend: f64) -> u64 {
    format!("{:.0}", (spend.max(0.0) * 1e6).min(1e18)).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_adds_up() {
        let usage = Usage { input: 10, output: 4, cached: 5, reasoning: 1, cost: 20_000 };
        let used = Used::default().with_turn().with(&usage).with(&usage);
        assert_eq!(
            used.shown(),
            json!({ "turns": 1, "input_tokens": 20, "output_tokens": 8, "spend": 0.04 })
        );
        let most = Usage { cost: u64::MAX, ..usage };
        assert!(used.with(&most).shown()["spend"].as_f64() > Some(1e12));
    }
}
