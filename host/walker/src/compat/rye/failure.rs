//! Failures in Rye's hooks and in `state._last_error`.

use serde_json::{Map, Value, json};

use graph_core::node::{Category, Failure};
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// A class of failures, in the table with which Rye classifies errors.
struct Pattern {
    code: &'static str,
    category: &'static str,
    retryable: bool,
    /// Texts in the message that select the class.
    says: &'static [&'static str],
    /// Values of an error's own `code` that select the class.
    codes: &'static [&'static str],
    /// Longest wait of the retry policy, in seconds; waits double from 2 s. None: failures are not retried.
    longest: Option<f64>,
}

const RATE_LIMITED: Pattern = Pattern {
    code: "http_429",
    category: "rate_limited",
    retryable: true,
    says: &["rate limit", "too many requests", "throttled"],
    codes: &[],
    longest: Some(60.0),
};
const TIMED_OUT: Pattern = Pattern {
    code: "network_timeout",
    category: "transient",
    retryable: true,
    says: &["timeout", "timed out"],
    codes: &[],
    longest: Some(30.0),
};
const DISCONNECTED: Pattern = Pattern {
    code: "network_connection",
    category: "transient",
    retryable: true,
    says: &["connection reset", "connection refused", "network"],
    codes: &[],
    longest: Some(60.0),
};
const NOT_ALLOWED: Pattern = Pattern {
    code: "auth_failure",
    category: "permanent",
    retryable: false,
    says: &[],
    codes: &["authentication_error", "authorization_error"],
    longest: None,
};
const NOT_VALID: Pattern = Pattern {
    code: "validation_error",
    category: "permanent",
    retryable: false,
    says: &[],
    codes: &[],
    longest: None,
};
const CANCELLED: Pattern = Pattern {
    code: "cancelled",
    category: "cancelled",
    retryable: false,
    says: &[],
    codes: &[],
    longest: None,
};

/// Classes in Rye's order: the first that matches counts.
const PATTERNS: [&Pattern; 4] = [&RATE_LIMITED, &TIMED_OUT, &DISCONNECTED, &NOT_ALLOWED];

impl Pattern {
    fn document(&self) -> Value {
        let exponential = self.longest.map(|max| json!({ "type": "exponential", "base": 2.0, "max": max }));
        let policy = match exponential {
            Some(fallback) if self.code == RATE_LIMITED.code => {
                json!({ "type": "use_header", "header": "retry-after", "fallback": fallback })
            }
            Some(policy) => policy,
            None => Value::Null,
        };
        json!({
            "category": self.category,
            "retryable": self.retryable,
            "retry_policy": policy,
            "code": self.code,
        })
    }
}

/// Builds the `classification` that `error` hooks read. A component's failure is classified by its category; a failure
/// that a tool returned as its result has no category, and is classified by its text, as in Rye.
pub(crate) fn classification(failure: &Failure, meter: &Meter) -> Result<Value, FuelExhausted> {
    let returned = as_returned_result(failure);
    let pattern = match (failure.category, returned) {
        (_, Some(returned)) => by_text(failure, returned, meter)?,
        (Category::RateLimited, None) => Some(&RATE_LIMITED),
        (Category::Timeout, None) => Some(&TIMED_OUT),
        (Category::Transient, None) => Some(&DISCONNECTED),
        (Category::InvalidInput, None) => Some(&NOT_VALID),
        (Category::Denied, None) => Some(&NOT_ALLOWED),
        (Category::Permanent | Category::Limit | Category::Internal, None) => None,
    };
    let otherwise =
        || json!({ "category": "permanent", "retryable": false, "retry_policy": null, "code": null });
    Ok(pattern.map_or_else(otherwise, Pattern::document))
}

/// Returns the tool's result that the failure was made from, if there is one.
fn as_returned_result(failure: &Failure) -> Option<&Map<String, Value>> {
    let result = failure.details.as_ref()?.as_object()?;
    let says_so = result.get("success") == Some(&Value::Bool(false))
        || result.get("status").is_some_and(|status| status == "error");
    (says_so && failure.category == Category::Permanent).then_some(result)
}

fn by_text(
    failure: &Failure,
    returned: &Map<String, Value>,
    meter: &Meter,
) -> Result<Option<&'static Pattern>, FuelExhausted> {
    meter.charge_each(failure.message.len().saturating_mul(PATTERNS.len()), rates::BYTE)?;
    if returned.get("cancelled") == Some(&Value::Bool(true)) {
        return Ok(Some(&CANCELLED));
    }
    let code = returned.get("code").and_then(Value::as_str);
    let matches = |pattern: &&&Pattern| {
        pattern.says.iter().any(|text| failure.message.contains(text))
            || code.is_some_and(|code| pattern.codes.contains(&code))
    };
    Ok(PATTERNS.iter().find(matches).copied())
}

/// Builds the `error` that `error` hooks read: the fields of every failure, overlaid with those of the tool's result.
pub(crate) fn error_document(
    failure: &Failure,
    of_host: Value,
    meter: &Meter,
) -> Result<Value, FuelExhausted> {
    let (Some(returned), Value::Object(mut document)) = (as_returned_result(failure), of_host.clone()) else {
        return Ok(of_host);
    };
    for (key, value) in returned {
        document.insert(key.clone(), size::copy(value, meter)?);
    }
    Ok(Value::Object(document))
}

/// Returns a failure for `state._last_error` in Rye's dialect.
pub(crate) fn last_error(node: &str, failure: &Failure) -> Value {
    json!({ "node": node, "error": failure.message })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn classified(failure: &Failure) -> (Value, Value) {
        let mut found = classification(failure, &Meter::of_one_step()).unwrap();
        (found["category"].take(), found["code"].take())
    }

    fn result(fields: Value) -> Failure {
        let message = fields["error"].as_str().unwrap_or_default().to_owned();
        Failure { details: Some(fields), ..Failure::new(Category::Permanent, message) }
    }

    #[test]
    fn a_failure_that_is_a_result_is_classified_by_what_it_says() {
        let said = |error: &str| classified(&result(json!({ "status": "error", "error": error })));
        assert_eq!(said("request timed out"), (json!("transient"), json!("network_timeout")));
        assert_eq!(said("too many requests"), (json!("rate_limited"), json!("http_429")));
        assert_eq!(said("connection refused"), (json!("transient"), json!("network_connection")));
        assert_eq!(said("no such file"), (json!("permanent"), Value::Null));
        let coded = json!({ "success": false, "error": "x", "code": "authentication_error" });
        assert_eq!(classified(&result(coded)), (json!("permanent"), json!("auth_failure")));
        let cancelled = json!({ "success": false, "error": "timeout", "cancelled": true });
        assert_eq!(classified(&result(cancelled)), (json!("cancelled"), json!("cancelled")));
    }

    #[test]
    fn a_failure_with_a_category_keeps_it() {
        let said = |category| classified(&Failure::new(category, "timeout"));
        assert_eq!(said(Category::Permanent), (json!("permanent"), Value::Null));
        assert_eq!(said(Category::Timeout), (json!("transient"), json!("network_timeout")));
        assert_eq!(said(Category::RateLimited), (json!("rate_limited"), json!("http_429")));
        assert_eq!(said(Category::Denied), (json!("permanent"), json!("auth_failure")));
        let retryable = |category| {
            let found = classification(&Failure::new(category, ""), &Meter::of_one_step()).unwrap();
            (found["retryable"].clone(), found["retry_policy"]["type"].clone())
        };
        assert_eq!(retryable(Category::Transient), (json!(true), json!("exponential")));
        assert_eq!(retryable(Category::RateLimited), (json!(true), json!("use_header")));
        assert_eq!(retryable(Category::InvalidInput), (json!(false), Value::Null));
    }

    #[test]
    fn an_error_has_what_the_result_said() {
        let of_host = json!({ "status": "error", "error": "boom", "details": null });
        let failure = result(json!({ "status": "error", "error": "boom", "code": 7 }));
        let document = error_document(&failure, of_host.clone(), &Meter::of_one_step()).unwrap();
        assert_eq!((&document["code"], &document["error"]), (&json!(7), &json!("boom")));
        let other = Failure::new(Category::Permanent, "boom");
        assert_eq!(error_document(&other, of_host.clone(), &Meter::of_one_step()).unwrap(), of_host);
    }
}
