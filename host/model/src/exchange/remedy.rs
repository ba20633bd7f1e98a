//! Advice for the user about a provider that does not answer.

use graph_core::capability::{HttpResponse, ModelApi, ModelRule, SecretSource};

use crate::error::one_line;
use crate::{DecodeError, ErrorAnswer};

/// Maximum number of bytes that a message shows of an answer that cannot be read.
const MAX_BEGINNING: usize = 60;

/// Returns the setting in the manifest that could be the cause of a refused request.
pub(super) fn for_refusal(rule: &ModelRule, answer: &ErrorAnswer, body: &[u8]) -> Option<String> {
    let (url, path) = (rule.url(), rule.api.path());
    match answer.status? {
        300..400 => Some(format!(
            "the request went to {url}{path}, and redirects are not followed: `url` has to name the API itself"
        )),
        401 | 403 => Some(match &rule.secret {
            None => "the manifest has no `secret` for this model".to_owned(),
            Some(SecretSource::Env(name)) => {
                format!("its key is the value of the environment variable `{name}`")
            }
            Some(SecretSource::File(path)) => format!("its key is what the file {path} has"),
        }),
        404 if is_json(body) && answer.message.contains(&rule.model) => {
            Some(format!("`model` is what the provider calls the model, and is `{}`", rule.model))
        }
        404 | 405 if !is_json(body) => {
            Some(format!("the request went to {url}{path}: `url` is what precedes `{path}`"))
        }
        400 | 422 if is_about_a_name(answer) => for_parameter(rule, &answer.message).map(str::to_owned),
        _ => None,
    }
}

/// Reports whether a body looks like a JSON object. An API returns one; servers that do not know the path, and proxies,
/// usually do not.
fn is_json(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// Reports whether the provider refuses the name of a parameter, and not its value.
fn is_about_a_name(answer: &ErrorAnswer) -> bool {
    let message = answer.message.to_ascii_lowercase();
    let words =
        ["unsupported param", "not supported", "unrecognized", "unknown", "not permitted", "unexpected"];
    answer.code.as_deref().is_some_and(|code| matches!(code, "unsupported_parameter" | "unknown_parameter"))
        || words.iter().any(|word| message.contains(word))
}

/// Returns the setting in the manifest for a parameter that the provider does not know.
fn for_parameter(rule: &ModelRule, message: &str) -> Option<&'static str> {
    match rule.api {
        ModelApi::OpenAiChat if !rule.max_tokens && message.contains("max_completion_tokens") => {
            Some("`max_tokens_key: max_tokens` sends the older name")
        }
        ModelApi::OpenAiChat if rule.max_tokens && message.contains("max_tokens") => {
            Some("without `max_tokens_key: max_tokens`, the newer name `max_completion_tokens` is sent")
        }
        ModelApi::OpenAiResponses if rule.encrypted_reasoning && message.contains("encrypted_content") => {
            Some("`encrypted_reasoning: false` does not ask for it")
        }
        _ => None,
    }
}

/// Returns the type and the beginning of an answer that is not JSON.
pub(super) fn for_unreadable(error: &DecodeError, response: &HttpResponse) -> Option<String> {
    let kind = response.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map(|(_, value)| one_line(&String::from_utf8_lossy(value), MAX_BEGINNING));
    let is_stream = kind.as_ref().is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream || !matches!(error, DecodeError::Json { .. }) {
        return None;
    }
    let body = &response.body;
    let beginning =
        one_line(&String::from_utf8_lossy(&body[..body.len().min(4 * MAX_BEGINNING)]), MAX_BEGINNING);
    let content =
        if beginning.is_empty() { "it is empty".to_owned() } else { format!("it begins with `{beginning}`") };
    Some(kind.map_or_else(|| content.clone(), |kind| format!("its type is `{kind}`, and {content}")))
}
