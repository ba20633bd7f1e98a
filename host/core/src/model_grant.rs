//! The host's question about a used-up budget of language models, and the answer that adds to it.
//!
//! ```
//! use graph_core::limits::{ModelFigure, ModelUse};
//! use graph_core::model_grant::ModelGrant;
//! use serde_json::json;
//!
//! let read = |answer| ModelGrant::read(&answer, ModelFigure::Cost);
//! assert_eq!(read(json!(0.5)).unwrap().added(), ModelUse { cost: 500_000, ..ModelUse::NOTHING });
//! let both = ModelUse { calls: 2, cost: 1_000_000, ..ModelUse::NOTHING };
//! assert_eq!(read(json!({ "calls": 2, "cost": 1 })).unwrap().added(), both);
//! assert_eq!(read(json!("stop")).unwrap(), ModelGrant::Stop);
//! assert!(read(json!("a little")).is_err());
//! ```

use serde_json::{Map, Value, json};

use crate::limits::{Budget, ModelFigure, ModelUse, cost_of, written_cost};
use crate::model_budget::ShortFigure;

/// The answer that adds nothing.
const STOP: &str = "stop";
/// Largest number of calls or tokens that one answer adds.
const MOST: u64 = 1_000_000_000_000;
/// Largest amount of money that one answer adds, in millionths: as much as a JSON number can hold with six decimals.
const MOST_ADDED_COST: u64 = 1_000_000_000_000_000;

/// An answer to the question about a used-up budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelGrant {
    /// Nothing is added: the attempt ends as if the question had not been asked.
    Stop,
    /// The amount is added to the budget. At least one figure of it is not 0.
    Add(ModelUse),
}

/// An answer that names no valid amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{reason}; a number such as `{example}` is added to `{key}`, an object such as `{{\"{key}\": {example}}}` to each figure that it \
     names (calls, input_tokens, output_tokens, cost), and `stop` adds nothing",
    key = figure.key(),
    example = example(*figure)
)]
pub struct GrantError {
    /// The reason.
    reason: String,
    /// The figure of the question.
    figure: ModelFigure,
}

const fn example(figure: ModelFigure) -> &'static str {
    match figure {
        ModelFigure::Calls => "10",
        ModelFigure::InputTokens | ModelFigure::OutputTokens => "50000",
        ModelFigure::Cost => "0.5",
    }
}

impl ModelGrant {
    /// Reads an answer to the question about a figure.
    pub fn read(answer: &Value, figure: ModelFigure) -> Result<Self, GrantError> {
        let error = |reason: String| GrantError { reason, figure };
        let amount = |figure: ModelFigure, value: &Value| {
            let (most, what) = match figure {
                ModelFigure::Cost => (MOST_ADDED_COST, "a decimal number with at most six decimals"),
                _ => (MOST, "a whole number"),
            };
            let read = match figure {
                ModelFigure::Cost => value.as_number().and_then(cost_of),
                _ => value.as_u64(),
            };
            read.filter(|read| *read <= most).ok_or_else(|| {
                let (key, most) = (figure.key(), figure.written(most));
                error(format!("what is added to `{key}` has to be {what}, from 0 to {most}"))
            })
        };
        let added = match answer {
            Value::Null | Value::Bool(false) => return Ok(Self::Stop),
            Value::String(text) if text == STOP => return Ok(Self::Stop),
            Value::Number(_) => figure.amount(amount(figure, answer)?),
            Value::Object(fields) => {
                let mut added = ModelUse::NOTHING;
                for (key, value) in fields {
                    let named = ModelFigure::ALL.into_iter().find(|figure| figure.key() == key);
                    let named = named.ok_or_else(|| {
                        let key = crate::diagnostic::excerpt(key);
                        error(format!("`{key}` is no figure of a budget of models"))
                    })?;
                    added = added.plus(named.amount(amount(named, value)?));
                }
                added
            }
            _ => return Err(error("it is no amount".to_owned())),
        };
        if added.is_nothing() {
            return Err(error("it adds nothing".to_owned()));
        }
        Ok(Self::Add(added))
    }

    /// Returns the added amount.
    pub const fn added(self) -> ModelUse {
        match self {
            Self::Stop => ModelUse::NOTHING,
            Self::Add(added) => added,
        }
    }

    /// Returns the answer as it is recorded, independent of the figure in the question.
    pub fn to_value(self) -> Value {
        match self {
            Self::Stop => Value::Bool(false),
            Self::Add(added) => figures(added),
        }
    }

    /// Reads a recorded answer. An unreadable one adds nothing.
    pub fn of_record(answer: &Value) -> Self {
        Self::read(answer, ModelFigure::Calls).unwrap_or(Self::Stop)
    }
}

/// Returns an amount of a figure as a manifest writes it.
fn number(figure: ModelFigure, amount: u64) -> Value {
    if figure != ModelFigure::Cost || amount.is_multiple_of(1_000_000) {
        return json!(if figure == ModelFigure::Cost { amount / 1_000_000 } else { amount });
    }
    written_cost(amount).parse::<f64>().map_or(Value::Null, |cost| json!(cost))
}

/// Returns all figures as a manifest writes them.
pub fn all_figures(of: ModelUse) -> Value {
    let all = ModelFigure::ALL.into_iter();
    Value::Object(all.map(|figure| (figure.key().to_owned(), number(figure, figure.of(of)))).collect())
}

/// Returns the figures that are not 0, as a manifest writes them.
fn figures(of: ModelUse) -> Value {
    let all = ModelFigure::ALL.into_iter().filter(|figure| figure.of(of) > 0);
    let all = all.map(|figure| (figure.key().to_owned(), number(figure, figure.of(of))));
    Value::Object(all.collect())
}

/// A used-up budget.
#[derive(Clone, Copy, Debug)]
pub struct UsedUpBudget {
    /// The figure that ended the attempt.
    pub short: ShortFigure,
    /// `true` for the budget of the run, `false` for that of the task.
    pub of_run: bool,
    /// The whole budget, with the amounts that answers have added.
    pub most: ModelUse,
    /// Use of all attempts of the task.
    pub spent: ModelUse,
}

/// Returns the payload of the question. `failure` describes the event if `of` has no figures.
pub fn question(of: &UsedUpBudget, failure: &str) -> Value {
    let UsedUpBudget { short, of_run, most, spent } = *of;
    let figure = short.figure;
    let (key, unit) = (figure.key(), |amount| figure.unit(amount));
    let (whose, most) = (if of_run { "run" } else { "task" }, figure.of(most));
    let written = |amount| figure.written(amount);
    let (happened, missing) = match short {
        ShortFigure { over: Some(over), .. } => {
            let happened =
                format!("a provider has counted {} {} more than were left", written(over), unit(over));
            (happened, over)
        }
        ShortFigure { needed: Some(needed), left: Some(left), .. } => {
            let happened = format!(
                "a request may need {} {}, and {} are left",
                written(needed),
                unit(needed),
                written(left)
            );
            (happened, needed.saturating_sub(left))
        }
        _ => (failure.to_owned(), 1),
    };
    let example = if figure == ModelFigure::Calls { "{\"calls\": 5}" } else { "{\"calls\": 5, \"KEY\": N}" };
    let example = example.replace("KEY", key).replace('N', &written(missing.max(1)));
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set(
        "question",
        json!(format!(
            "The {whose}'s budget `{key}` of language models does not suffice: {happened}. How much is added? A number is added to \
             `{key}`, an object such as `{example}` to each figure that it names, and `stop` adds nothing."
        )),
    );
    set("figure", json!(key));
    set("whose", json!(whose));
    for (name, amount) in [("needed", short.needed), ("left", short.left), ("exceeded_by", short.over)] {
        if let Some(amount) = amount {
            set(name, number(figure, amount));
        }
    }
    set("limit", number(figure, most));
    set("spent", figures(spent));
    let enough = most.saturating_add(missing.max(1));
    let line = if of_run {
        Budget::from(figure).line(enough)
    } else {
        crate::model_budget::manifest_line(figure, enough)
    };
    set("line", json!(line));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn read(answer: impl Into<Value>) -> Result<ModelUse, String> {
        ModelGrant::read(&answer.into(), ModelFigure::OutputTokens)
            .map(ModelGrant::added)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_adds_to_the_figures_that_it_names() {
        let nothing = ModelUse::NOTHING;
        assert_eq!(read(json!(7)), Ok(ModelUse { output: 7, ..nothing }));
        let all = json!({ "calls": 1, "input_tokens": 2, "output_tokens": 3, "cost": 0.000_004 });
        assert_eq!(read(all), Ok(ModelUse { calls: 1, input: 2, output: 3, cost: 4 }));
        assert_eq!(read(json!({ "calls": 0, "cost": 3 })), Ok(ModelUse { cost: 3_000_000, ..nothing }));
        for stop in [json!(null), json!(false), json!("stop")] {
            assert_eq!(ModelGrant::read(&stop, ModelFigure::Calls), Ok(ModelGrant::Stop));
        }
    }

    #[test]
    fn other_answers_are_refused_with_what_to_type() {
        for (answer, reason) in [
            (json!(0), "it adds nothing"),
            (json!({}), "it adds nothing"),
            (json!({ "calls": 0 }), "it adds nothing"),
            (json!(true), "it is no amount"),
            (json!("7"), "it is no amount"),
            (json!([7]), "it is no amount"),
            (json!(-7), "what is added to `output_tokens` has to be a whole number, from 0 to 1000000000000"),
            (
                json!(0.5),
                "what is added to `output_tokens` has to be a whole number, from 0 to 1000000000000",
            ),
            (
                json!(1_000_000_000_001_u64),
                "what is added to `output_tokens` has to be a whole number, from 0 to 1000000000000",
            ),
            (
                json!({ "cost": 0.000_000_1 }),
                "what is added to `cost` has to be a decimal number with at most six decimals, from 0 to 1000000000",
            ),
            (
                json!({ "cost": 1_000_000_001 }),
                "what is added to `cost` has to be a decimal number with at most six decimals, from 0 to 1000000000",
            ),
            (
                json!({ "calls": "1" }),
                "what is added to `calls` has to be a whole number, from 0 to 1000000000000",
            ),
            (json!({ "tokens": 5 }), "`tokens` is no figure of a budget of models"),
        ] {
            let told = read(answer.clone()).unwrap_err();
            let help = "; a number such as `50000` is added to `output_tokens`, an object such as `{\"output_tokens\": 50000}` to \
                        each figure that it names (calls, input_tokens, output_tokens, cost), and `stop` adds nothing";
            assert_eq!(told, format!("{reason}{help}"), "{answer}");
        }
    }

    #[test]
    fn the_question_says_what_is_missing() {
        let most = ModelUse { calls: 3, input: 500, output: 90, cost: 2_500_000 };
        let spent = ModelUse { calls: 2, input: 0, output: 40, cost: 2_000_000 };
        let of = |short: ShortFigure, of_run| {
            let asked = question(&UsedUpBudget { short, of_run, most, spent }, "it failed");
            let text = asked["question"].as_str().unwrap().split(". ").next().unwrap().to_owned();
            (text, asked)
        };
        let unknown = ShortFigure::from(ModelFigure::Calls);
        let short = ShortFigure { needed: Some(750_000), left: Some(500_000), ..ModelFigure::Cost.into() };
        let (text, asked) = of(short, true);
        assert_eq!(
            text,
            "The run's budget `cost` of language models does not suffice: a request may need 0.75 of the manifest's currency, and \
             0.5 are left"
        );
        assert_eq!(
            (&asked["needed"], &asked["left"], &asked["limit"]),
            (&json!(0.75), &json!(0.5), &json!(2.5))
        );
        assert_eq!(asked["spent"], json!({ "calls": 2, "output_tokens": 40, "cost": 2 }));
        assert_eq!(asked["line"], "run: { model: { cost: 2.75 } }");
        let (text, asked) = of(ShortFigure { over: Some(9), ..ModelFigure::OutputTokens.into() }, false);
        assert_eq!(
            text,
            "The task's budget `output_tokens` of language models does not suffice: a provider has counted 9 tokens of answers \
             more than were left"
        );
        assert_eq!(asked["line"], "limits: { model: { output_tokens: 99 } }");
        assert_eq!(
            of(unknown, false).0,
            "The task's budget `calls` of language models does not suffice: it failed"
        );
    }

    proptest! {
        #[test]
        fn what_is_recorded_says_the_same(
            calls in 0..=MOST, input in 0..=MOST, output in 0..=MOST, cost in 0..=MOST_ADDED_COST,
        ) {
            let added = ModelUse { calls, input, output, cost };
            let grant = if added.is_nothing() { ModelGrant::Stop } else { ModelGrant::Add(added) };
            let text = crate::json::canonical_string(&grant.to_value());
            let read: Value = serde_json::from_str(&text).unwrap();
            for figure in ModelFigure::ALL {
                prop_assert_eq!(ModelGrant::read(&read, figure), Ok(grant));
            }
        }
    }
}
