//! Answers that are errors.

use proptest::prelude::*;

use crate::{ErrorAnswer, MAX_MESSAGE, MAX_RETRY_AFTER_MS, ProviderErrorCategory};

#[test]
fn errors_of_all_apis_are_read() {
    use ProviderErrorCategory::{Denied, InvalidInput, Permanent, RateLimited, Timeout, Transient};
    for (status, body, category, code, message) in [
        (
            429,
            r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            RateLimited,
            Some("rate_limit_exceeded"),
            "Rate limit reached",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Permanent,
            Some("insufficient_quota"),
            "You exceeded your current quota",
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"Spent","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            Permanent,
            Some("enforced_spend_limit_reached"),
            "Spent",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            Transient,
            Some("overloaded_error"),
            "Overloaded",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: too long"}}"#,
            InvalidInput,
            Some("invalid_request_error"),
            "messages: too long",
        ),
        (413, "", InvalidInput, None, "the provider gives no reason"),
        (422, r#"{"detail":"Unprocessable"}"#, InvalidInput, None, "Unprocessable"),
        (401, r#"{"error":"no key"}"#, Denied, None, "no key"),
        (403, "forbidden\n  by\tthe proxy\u{7}", Denied, None, "forbidden by the proxy"),
        (
            402,
            r#"{"error":{"type":"billing_error","message":""}}"#,
            Permanent,
            Some("billing_error"),
            "the provider gives no reason",
        ),
        (404, r#"{"object":"error","message":"no such model","code":404}"#, Permanent, None, "no such model"),
        (408, "{}", Timeout, None, "the provider gives no reason"),
        (502, "<html><body>Bad gateway</body></html>", Transient, None, "the provider gives no reason"),
        (404, "<!doctype html>\n<title>Not\nFound</title><p>nginx", Permanent, None, "Not Found"),
        (301, "[]", Permanent, None, "the provider gives no reason"),
    ] {
        let answer = ErrorAnswer::new(status, [], body.as_bytes());
        assert_eq!(answer.category, category, "{body}");
        assert_eq!(answer.code.as_deref(), code, "{body}");
        assert_eq!(answer.message, message, "{body}");
        assert_eq!(answer.status, Some(status));
    }
}

#[test]
fn waiting_is_read_in_seconds_and_milliseconds() {
    let wait = |headers: &[(&str, &str)]| ErrorAnswer::new(429, headers.iter().copied(), b"").retry_after_ms;
    assert_eq!(wait(&[("Retry-After", "7")]), Some(7000));
    assert_eq!(wait(&[("retry-after", " 0.25 ")]), Some(250));
    assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "1500.5")]), Some(1501));
    assert_eq!(wait(&[("retry-after-ms", "no"), ("retry-after", "7")]), Some(7000));
    assert_eq!(wait(&[("retry-after", "1e300")]), Some(MAX_RETRY_AFTER_MS));
    assert_eq!(wait(&[("retry-after", "inf")]), Some(MAX_RETRY_AFTER_MS));
    for value in ["-1", "NaN", "", "Wed, 21 Oct 2026 07:28:00 GMT"] {
        assert_eq!(wait(&[("retry-after", value)]), None, "{value}");
    }
}

#[test]
fn a_date_to_wait_for_counts_from_the_date_of_the_response() {
    let wait = |until: &str, date: &str| {
        ErrorAnswer::new(429, [("Date", date), ("Retry-After", until)], b"").retry_after_ms
    };
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    assert_eq!(wait("Wed, 21 Oct 2026 07:28:02 GMT", date), Some(2000));
    assert_eq!(wait("Wednesday, 21-Oct-26 07:29:00 GMT", date), Some(60_000), "the form of RFC 850");
    assert_eq!(wait("Wed Oct 21 07:28:09 2026", date), Some(9000), "the form of asctime");
    assert_eq!(wait("Wed, 21 Oct 2026 07:27:00 GMT", date), Some(0), "it is past");
    assert_eq!(wait("Fri, 31 Dec 9999 23:59:59 GMT", date), Some(MAX_RETRY_AFTER_MS));
    assert_eq!(wait("Wed, 21 Oct 2026 07:28:02 GMT", "yesterday"), None);
    assert_eq!(wait("7", date), Some(7000), "seconds are seconds");
}

proptest! {
    #[test]
    fn a_message_is_one_short_line(body in prop::collection::vec(any::<char>(), 0..800), quoted: bool) {
        let text: String = body.into_iter().collect();
        let body = if quoted { serde_json::json!({"error": {"message": text, "code": text}}).to_string() } else { text };
        let answer = ErrorAnswer::new(500, [("retry-after", body.as_str())], body.as_bytes());
        prop_assert!(answer.message.len() <= MAX_MESSAGE && !answer.message.is_empty());
        let hides = |character: char| character.is_control() || graph_core::diagnostic::is_invisible(character);
        prop_assert!(!answer.message.chars().any(hides));
        prop_assert!(answer.code.is_none_or(|code| code.len() <= 64));
    }
}
