//! Evaluates the templates among a node's limits and `capabilities` for one task. Their values can only lower the
//! node's limits, and a value that cannot be read fails the task before anything is dispatched.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Number, Value};

use crate::graph::Node;
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::state::reduce::kind;
use graph_core::capability::{DispatchPattern, DispatchPatterns};
use graph_core::diagnostic::excerpt;
use graph_core::limits::{ModelFigure, NodeLimits, read_cost};
use graph_core::node::{Category, Failure};
use graph_core::template::Scope;
use graph_core::work::{Meter, rates};
use graph_core::yaml::parse_duration;

/// Limit of the patterns that a template may give.
const MOST_PATTERNS: usize = 1_000;

/// The limits and dispatch patterns of a node for one of its tasks.
#[derive(Debug)]
pub(in crate::walker) struct EvaluatedLimits {
    /// The limits, from literals and from templates.
    pub limits: NodeLimits,
    /// Dispatch patterns from templates; none permits everything.
    pub narrowing: Option<Arc<DispatchPatterns>>,
}

impl EvaluatedLimits {
    /// Creates the limits of a node without templates.
    pub(in crate::walker) const fn from_literals(node: &Node) -> Self {
        Self { limits: node.limits, narrowing: None }
    }
}

impl Walker {
    /// Evaluates a node's templates.
    pub(in crate::walker) fn evaluate_limits(
        &self,
        node: &Node,
        scope: &Scope<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<EvaluatedLimits, NodeWorkError> {
        let mut bounds = EvaluatedLimits::from_literals(node);
        let wrong = |key: String, reason: String| {
            let message = format!("node `{}`: `{key}` {reason}", node.name);
            NodeWorkError::Failed(Failure::new(Category::InvalidInput, message))
        };
        for (figure, template) in &node.bounds.model {
            let value = self.evaluate(template, scope, node, warnings, meter)?;
            let most = read_figure(*figure, &value)
                .map_err(|reason| wrong(format!("limits.model.{}", figure.key()), reason))?;
            bounds.limits.model.set(*figure, most);
        }
        if let Some(template) = &node.bounds.timeout {
            let value = self.evaluate(template, scope, node, warnings, meter)?;
            let most = read_timeout(&value).map_err(|reason| wrong("timeout".to_owned(), reason))?;
            bounds.limits.timeout = most;
        }
        if let Some(template) = &node.bounds.dispatch {
            let value = self.evaluate(template, scope, node, warnings, meter)?;
            if let Value::Array(list) = &value {
                let length = |value: &Value| value.as_str().map_or(0, |text| text.len() as u64);
                let bytes = list.iter().map(length).fold(0, u64::saturating_add);
                meter.charge_each(list.len(), rates::LOOKUP)?;
                meter.charge(bytes.saturating_mul(rates::PARSE_BYTE))?;
            }
            let patterns =
                read_patterns(&value).map_err(|reason| wrong("capabilities".to_owned(), reason))?;
            bounds.narrowing = patterns.map(Arc::new);
        }
        Ok(bounds)
    }
}

/// Reads the limit of a figure: none if the value is null, otherwise a number that is not negative.
fn read_figure(figure: ModelFigure, value: &Value) -> Result<Option<u64>, String> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::Number(number) if figure == ModelFigure::Cost => millionths(number),
        Value::Number(number) => whole(number),
        _ => None,
    };
    let expected = match figure {
        ModelFigure::Cost => "a number, not negative",
        _ => "a whole number, not negative",
    };
    read.map(Some).ok_or_else(|| format!("must be {expected}, and is {}", shown(value)))
}

/// Reads a whole number that is not negative, `3.0` as well as `3`.
fn whole(number: &Number) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    let of_float = |value: f64| {
        let is_exact = value.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&value);
        is_exact.then_some(value as u64)
    };
    number.as_u64().or_else(|| number.as_f64().filter(|_| number.is_f64()).and_then(of_float))
}

/// Reads an amount of money that is not negative, in whole millionths, rounded down.
fn millionths(number: &Number) -> Option<u64> {
    if let Some(exact) = read_cost(&number.to_string()) {
        return Some(exact);
    }
    if let Some(whole) = number.as_u64() {
        return Some(whole.saturating_mul(1_000_000));
    }
    let value = number.as_f64().filter(|value| *value >= 0.0)?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates, and is not negative"
    )]
    let cut = (value * 1_000_000.0).floor() as u64;
    Some(cut)
}

/// Reads a timeout: none if the value is null, otherwise a duration or a number of seconds.
fn read_timeout(value: &Value) -> Result<Option<Duration>, String> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) => parse_duration(text).ok(),
        Value::Number(number) => match number.as_u64() {
            Some(seconds) => parse_duration(&seconds.to_string()).ok(),
            None => {
                millionths(number).and_then(|micros| parse_duration(&format!("{}ms", micros / 1_000)).ok())
            }
        },
        _ => None,
    };
    let read = read.filter(|span| !span.is_zero());
    let expected = "a duration such as `5s`, or a number of seconds, longer than nothing";
    read.map(Some).ok_or_else(|| format!("must be {expected}, and is {}", shown(value)))
}

/// Reads dispatch patterns: none if the value is null, otherwise a list.
fn read_patterns(value: &Value) -> Result<Option<DispatchPatterns>, String> {
    let list = match value {
        Value::Null => return Ok(None),
        Value::Array(list) => list,
        _ => return Err(format!("must be a list of dispatch patterns, and is {}", shown(value))),
    };
    if list.len() > MOST_PATTERNS {
        return Err(format!("has {} dispatch patterns, and may have {MOST_PATTERNS}", list.len()));
    }
    let mut texts = Vec::with_capacity(list.len());
    for value in list {
        let Value::String(text) = value else {
            return Err(format!("must be a list of dispatch patterns, and has {} in it", kind(value)));
        };
        if let Err(error) = DispatchPattern::parse(text) {
            return Err(format!("has an invalid entry: {error}"));
        }
        texts.push(text);
    }
    DispatchPatterns::parse(texts).map(Some).map_err(|error| error.to_string())
}

/// Describes a value for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text `{}`", excerpt(text)),
        other => kind(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_numbers_or_null() {
        let calls = |value: Value| read_figure(ModelFigure::Calls, &value);
        assert_eq!(calls(json!(null)), Ok(None));
        assert_eq!(calls(json!(0)), Ok(Some(0)));
        assert_eq!(calls(json!(12.0)), Ok(Some(12)));
        assert_eq!(calls(json!(u64::MAX)), Ok(Some(u64::MAX)));
        for wrong in [json!(-1), json!(1.5), json!(1e30), json!("3"), json!(true), json!([]), json!({})] {
            let reason = calls(wrong.clone()).unwrap_err();
            assert!(reason.starts_with("must be a whole number, not negative, and is "), "{wrong}: {reason}");
        }
    }

    #[test]
    fn costs_are_cut_to_millionths() {
        let cost = |value: Value| read_figure(ModelFigure::Cost, &value);
        for (value, expected) in [
            (json!(0.29), 290_000),
            (json!(3), 3_000_000),
            (json!(0.1 + 0.2), 300_000),
            (json!(0.000_000_9), 0),
            (json!(1e-7), 0),
            (json!(1e300), u64::MAX),
            (json!(u64::MAX), u64::MAX),
        ] {
            assert_eq!(cost(value.clone()), Ok(Some(expected)), "{value}");
        }
        assert_eq!(cost(json!(-0.5)).unwrap_err(), "must be a number, not negative, and is -0.5");
        assert!(cost(json!("0.5")).is_err());
    }

    #[test]
    fn timeouts_are_durations_or_seconds() {
        for (value, millis) in [(json!("1m30s"), 90_000), (json!(600), 600_000), (json!(0.5), 500)] {
            let read = read_timeout(&value);
            assert_eq!(read, Ok(Some(Duration::from_millis(millis))), "{value}");
        }
        assert_eq!(read_timeout(&json!(null)), Ok(None));
        for wrong in
            [json!(0), json!(-1), json!("soon"), json!("0s"), json!(1e300), json!(0.0001), json!([1])]
        {
            assert!(read_timeout(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns_are_a_list_of_texts() {
        assert!(read_patterns(&json!(null)).unwrap().is_none());
        assert!(read_patterns(&json!([])).unwrap().unwrap().is_empty());
        assert_eq!(read_patterns(&json!(["execute.tool.a.*"])).unwrap().unwrap().iter().len(), 1);
        let many: Vec<_> = std::iter::repeat_n("execute.tool.a", MOST_PATTERNS + 1).collect();
        for wrong in [
            json!("execute.tool.*"),
            json!({}),
            json!([1]),
            json!([null]),
            json!(["run.tool.a"]),
            json!([""]),
            json!(many),
        ] {
            assert!(read_patterns(&wrong).is_err(), "{wrong}");
        }
    }
}
