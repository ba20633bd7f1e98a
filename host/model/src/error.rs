//! Errors: answers of providers that are errors, and answers that cannot be read.

use std::time::SystemTime;

use graph_core::diagnostic::is_invisible;
use graph_core::node;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DecoderBounds, Usage, json};

/// Maximum number of bytes that are kept of a provider's error message.
pub const MAX_MESSAGE: usize = 500;
/// Maximum time that a provider can ask to wait, in milliseconds: a day.
pub const MAX_RETRY_AFTER_MS: u64 = 24 * 60 * 60 * 1000;
/// Maximum number of bytes of an error's body that is parsed. Of a longer body, only the beginning is shown.
const MAX_ERROR_BODY: usize = 256 << 10;

/// Kind of a failure, from which the caller decides how to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderErrorCategory {
    /// The provider refuses the request because there were too many. The same request can succeed later.
    RateLimited,
    /// The provider has failed. The same request can succeed later.
    Transient,
    /// The provider took too long. The same request can succeed later.
    Timeout,
    /// The provider does not accept the request.
    InvalidInput,
    /// The key is missing, wrong, or lacks a permission.
    Denied,
    /// Any other failure. The same request fails again.
    Permanent,
}

impl ProviderErrorCategory {
    /// Reports whether the same request can succeed later.
    pub const fn can_retry(self) -> bool {
        matches!(self, Self::RateLimited | Self::Transient | Self::Timeout)
    }

    fn of_status(status: u16) -> Self {
        match status {
            429 => Self::RateLimited,
            408 => Self::Timeout,
            // 409 is a conflict with another request. The providers' own clients retry it.
            409 | 500..=599 => Self::Transient,
            400 | 413 | 422 => Self::InvalidInput,
            401 | 403 => Self::Denied,
            _ => Self::Permanent,
        }
    }

    /// Returns the category of an error's code or type, as the three APIs name them.
    fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "rate_limit_error" | "rate_limit_exceeded" | "rate_limit_reached" => Self::RateLimited,
            "overloaded_error"
            | "api_error"
            | "server_error"
            | "internal_server_error"
            | "service_unavailable" => Self::Transient,
            "timeout_error" | "timeout" | "vector_store_timeout" => Self::Timeout,
            "invalid_request_error"
            | "invalid_prompt"
            | "context_length_exceeded"
            | "request_too_large"
            | "image_too_large"
            | "image_too_small"
            | "image_parse_error"
            | "image_file_too_large"
            | "unsupported_image_media_type"
            | "empty_image_file" => Self::InvalidInput,
            "authentication_error" | "permission_error" | "invalid_api_key" => Self::Denied,
            "insufficient_quota"
            | "billing_error"
            | "not_found_error"
            | "bio_policy"
            | "image_content_policy_violation" => Self::Permanent,
            code if code.starts_with("invalid_") => Self::InvalidInput,
            _ => return None,
        })
    }
}

impl From<ProviderErrorCategory> for node::Category {
    /// Returns the category that a component receives.
    fn from(category: ProviderErrorCategory) -> Self {
        match category {
            ProviderErrorCategory::RateLimited => Self::RateLimited,
            ProviderErrorCategory::Transient => Self::Transient,
            ProviderErrorCategory::Timeout => Self::Timeout,
            ProviderErrorCategory::InvalidInput => Self::InvalidInput,
            ProviderErrorCategory::Denied => Self::Denied,
            ProviderErrorCategory::Permanent => Self::Permanent,
        }
    }
}

/// An answer of a provider that is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorAnswer {
    /// Kind of the failure.
    pub category: ProviderErrorCategory,
    /// Status of the response; `None` if the error came in an answer with status 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's code or type of the error, such as `overloaded_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's message, on one line of at most [`MAX_MESSAGE`] bytes. It is untrusted text.
    pub message: String,
    /// Time that the provider asks to wait, in milliseconds, at most [`MAX_RETRY_AFTER_MS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ErrorAnswer {
    /// Reads a response whose status is not 200. The case of header names is ignored, and any body is accepted. A date
    /// in `retry-after` is compared with the `date` of the response ([RFC 9110, section
    /// 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)); without a `date` it is ignored.
    pub fn new<'a>(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>, body: &[u8]) -> Self {
        let mut seconds = None;
        let mut milliseconds = None;
        let (mut until, mut answered) = (None, None);
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("retry-after-ms") {
                milliseconds = wait(value, 1.0);
            } else if name.eq_ignore_ascii_case("retry-after") {
                seconds = wait(value, 1000.0);
                until = httpdate::parse_http_date(value.trim()).ok();
            } else if name.eq_ignore_ascii_case("date") {
                answered = httpdate::parse_http_date(value.trim()).ok();
            }
        }
        let until = until.zip(answered).map(|(until, answered)| wait_until(until, answered));
        let bounds =
            DecoderBounds { answer_bytes: MAX_ERROR_BODY, json_values: 10_000, ..DecoderBounds::default() };
        let (code, message) = match json::parse(body, &bounds) {
            Ok(value) => code_and_message(&value),
            Err(_) => (None, plain(body)),
        };
        let message = if message.is_empty() { "the provider gives no reason".to_owned() } else { message };
        let category = match (ProviderErrorCategory::of_status(status), code.as_deref()) {
            // Waiting does not help when the account has nothing left to spend.
            (ProviderErrorCategory::RateLimited, Some(code))
                if code == "insufficient_quota" || code.ends_with("spend_limit_reached") =>
            {
                ProviderErrorCategory::Permanent
            }
            (category, _) => category,
        };
        Self {
            category,
            status: Some(status),
            code,
            message,
            retry_after_ms: milliseconds.or(seconds).or(until),
        }
    }

    /// Reads the field `error` of an event, or of an answer with status 200.
    pub(crate) fn inside(value: &Value) -> Self {
        let (code, message) = code_and_message(value);
        let status = field_status(value);
        let category = match (&code, status) {
            (_, Some(status)) => ProviderErrorCategory::of_status(status),
            // The provider has accepted the request, and fails nevertheless.
            (code, None) => code
                .as_deref()
                .and_then(ProviderErrorCategory::of_code)
                .unwrap_or(ProviderErrorCategory::Transient),
        };
        let message =
            if message.is_empty() { "the provider has failed without a message".to_owned() } else { message };
        Self { category, status: None, code, message, retry_after_ms: None }
    }
}

/// Returns the code of an error if it is an HTTP status, as OpenRouter sends it.
fn field_status(value: &Value) -> Option<u16> {
    let status = json::count(json::field(value, "error").unwrap_or(value), "code")?;
    u16::try_from(status).ok().filter(|status| (400..600).contains(status))
}

/// Returns the code and the message of an error. The field `error` is an object or a text; without that field, the
/// value itself is the error.
fn code_and_message(value: &Value) -> (Option<String>, String) {
    let error = json::field(value, "error").unwrap_or(value);
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    // Anthropic's `error_code` and OpenAI's `code` are narrower than the type.
    let details = error.get("details").and_then(|details| details.get("error_code")).and_then(Value::as_str);
    let code = details.or_else(|| text("error_code")).or_else(|| text("code")).or_else(|| text("type"));
    let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail")).unwrap_or_default();
    (code.map(|code| one_line(code, 64)), one_line(message, MAX_MESSAGE))
}

/// Returns the text of a body that is not JSON: of an HTML page, which proxies send, its title.
fn plain(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(4 * MAX_MESSAGE)]);
    let text = if start.trim_start().starts_with('<') { title(&start) } else { &start };
    one_line(text, MAX_MESSAGE)
}

fn title(page: &str) -> &str {
    let after = page.split_once("<title>").map_or("", |(_, after)| after);
    after.split_once("</title>").map_or("", |(title, _)| title)
}

/// Returns untrusted text on one line of at most `limit` bytes, without characters that change how a terminal shows
/// others.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut space = false;
    for character in text.chars() {
        if character.is_control() || character.is_whitespace() || is_invisible(character) {
            space = !line.is_empty();
            continue;
        }
        if line.len() + usize::from(space) + character.len_utf8() + '…'.len_utf8() > limit {
            line.push('…');
            return line;
        }
        if space {
            line.push(' ');
            space = false;
        }
        line.push(character);
    }
    line
}

fn wait(value: &str, factor: f64) -> Option<u64> {
    let number: f64 = value.trim().parse().ok()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "it is within the bounds, which are small"
    )]
    (number >= 0.0).then(|| (number * factor).min(MAX_RETRY_AFTER_MS as f64).ceil() as u64)
}

/// Returns the milliseconds until a moment, or 0 if it is in the past.
fn wait_until(until: SystemTime, answered: SystemTime) -> u64 {
    let wait = until.duration_since(answered).unwrap_or_default();
    u64::try_from(wait.as_millis()).map_or(MAX_RETRY_AFTER_MS, |wait| wait.min(MAX_RETRY_AFTER_MS))
}

/// Error of an answer that cannot be read, or is incomplete.
///
/// Every variant has the known usage of the call: the provider also charges for a call whose answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The answer is not JSON.
    #[error("the provider's answer is not JSON: {problem}")]
    Json {
        /// Error of the JSON parser.
        problem: String,
        /// Usage of the call, as far as it is known.
        usage: Option<Usage>,
    },
    /// The answer does not have the form that the API defines.
    #[error("the provider's answer is not of its API: `{path}` is not {expected}")]
    Shape {
        /// Path of the value in the answer.
        path: String,
        /// Value that the API defines at this path.
        expected: &'static str,
        /// Usage of the call, as far as it is known.
        usage: Option<Usage>,
    },
    /// The answer exceeds one of the [`DecoderBounds`].
    #[error("the provider's answer has more than {limit} {what}")]
    Bound {
        /// Unit of the limit, such as `bytes of an answer`.
        what: &'static str,
        /// Maximum that is allowed.
        limit: u64,
        /// Usage of the call, as far as it is known.
        usage: Option<Usage>,
    },
    /// The stream has ended before the answer was complete.
    #[error("the provider's answer was cut off")]
    Cut {
        /// Usage that the provider has reported until then. The tokens of the answer can be fewer than those that were
        /// sent.
        usage: Option<Usage>,
    },
    /// The provider reports an error in the middle of the answer.
    #[error("{answer}")]
    Provider {
        /// Error that the provider reports.
        answer: ErrorAnswer,
        /// Usage of the call, as far as it is known.
        usage: Option<Usage>,
    },
}

impl DecodeError {
    pub(crate) fn shape(path: String, expected: &'static str) -> Self {
        Self::Shape { path, expected, usage: None }
    }

    pub(crate) fn bound(what: &'static str, limit: u64) -> Self {
        Self::Bound { what, limit, usage: None }
    }

    pub(crate) fn provider(value: &Value) -> Self {
        Self::Provider { answer: ErrorAnswer::inside(value), usage: None }
    }

    /// Returns the usage of the call, as far as it is known.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Json { usage, .. }
            | Self::Shape { usage, .. }
            | Self::Bound { usage, .. }
            | Self::Cut { usage }
            | Self::Provider { usage, .. } => *usage,
        }
    }

    /// Adds the usage to an error that has none.
    #[must_use]
    pub(crate) fn with_usage(mut self, known: Option<Usage>) -> Self {
        match &mut self {
            Self::Json { usage, .. }
            | Self::Shape { usage, .. }
            | Self::Bound { usage, .. }
            | Self::Cut { usage }
            | Self::Provider { usage, .. } => *usage = usage.or(known),
        }
        self
    }

    /// Returns the kind of the failure. The same request can succeed after an answer that was cut off, but not after
    /// one that exceeds its bounds.
    pub fn category(&self) -> ProviderErrorCategory {
        match self {
            Self::Cut { .. } => ProviderErrorCategory::Transient,
            Self::Provider { answer, .. } => answer.category,
            Self::Json { .. } | Self::Shape { .. } | Self::Bound { .. } => ProviderErrorCategory::Permanent,
        }
    }
}
