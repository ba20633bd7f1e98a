//! Decoding of an answer, which consists of items.

use std::fmt::Display;

use serde_json::Value;

use crate::answer_builder::{AnswerBuilder, Arguments};
use crate::{Api, DecodeError, DecoderBounds, Response, StopReason, Usage, json};

/// Decodes a response that has ended. `items` are those of the stream's events, for servers whose last event has none.
pub(super) fn response(
    response: &Value,
    items: Vec<Value>,
    bounds: &DecoderBounds,
) -> Result<Response, DecodeError> {
    let usage = usage(response);
    let read = || {
        let stop = stop(response)?;
        let listed = json::items(response, "output", "response")?;
        let items = if listed.is_empty() { items } else { listed.to_vec() };
        if items.len() > bounds.blocks {
            return Err(DecodeError::bound("blocks of an answer", bounds.blocks as u64));
        }
        let mut draft = AnswerBuilder::default();
        let mut refused = false;
        let mut parts = 0;
        for (index, item) in items.into_iter().enumerate() {
            refused |= add(&mut draft, item, format_args!("output[{index}]"), &mut parts, bounds)?;
        }
        draft.finish(if refused { StopReason::Refused } else { stop }, usage, bounds)
    };
    read().map_err(|error| error.with_usage(usage))
}

fn stop(response: &Value) -> Result<StopReason, DecodeError> {
    match json::text(response, "status", "response")? {
        None | Some("completed") => Ok(StopReason::End),
        Some("incomplete") => {
            let details = json::field(response, "incomplete_details").unwrap_or(&Value::Null);
            match json::text(details, "reason", "incomplete_details")? {
                // Servers that give no reason also use this status for an answer that is incomplete.
                None | Some("max_output_tokens") => Ok(StopReason::MaxOutput),
                Some("content_filter") => Ok(StopReason::Refused),
                _ => {
                    Err(DecodeError::shape("incomplete_details.reason".to_owned(), "a reason that is known"))
                }
            }
        }
        Some("failed") => Err(DecodeError::provider(response)),
        Some(_) => Err(DecodeError::shape("status".to_owned(), "that of a response that has ended")),
    }
}

/// Adds an item, and reports whether it has a refusal. Items of other types are of tools that the provider runs, which
/// no request asks for.
fn add(
    draft: &mut AnswerBuilder,
    item: Value,
    place: impl Display,
    parts: &mut usize,
    bounds: &DecoderBounds,
) -> Result<bool, DecodeError> {
    let mut refused = false;
    match json::text(&item, "type", &place)? {
        Some("message") => {
            for (index, part) in json::items(&item, "content", &place)?.iter().enumerate() {
                *parts += 1;
                if *parts > bounds.blocks {
                    return Err(DecodeError::bound("blocks of an answer", bounds.blocks as u64));
                }
                let place = format_args!("{place}.content[{index}]");
                if let Some(text) = json::text(part, "text", place)? {
                    draft.text(text.to_owned());
                }
                if let Some(text) = json::text(part, "refusal", place)? {
                    refused = true;
                    draft.text(text.to_owned());
                }
            }
        }
        Some("reasoning") => draft.reasoning(Api::OpenAiResponses, item),
        Some("function_call") => {
            let text = |name| json::text(&item, name, &place).map(|text| text.unwrap_or_default().to_owned());
            draft.call(text("call_id")?, text("name")?, Arguments::Text(text("arguments")?));
        }
        _ => {}
    }
    Ok(refused)
}

/// Returns the usage of a response, if it is reported.
pub(super) fn usage(response: &Value) -> Option<Usage> {
    let usage = json::field(response, "usage")?;
    let detail = |of: &str, name: &str| json::field(usage, of).and_then(|details| json::count(details, name));
    let usage = Usage {
        input: json::count(usage, "input_tokens")?,
        output: json::count_or_none(usage, "output_tokens")?,
        cached: detail("input_tokens_details", "cached_tokens").unwrap_or(0),
        cache_write: detail("input_tokens_details", "cache_write_tokens").unwrap_or(0),
        reasoning: detail("output_tokens_details", "reasoning_tokens").unwrap_or(0),
    };
    Some(usage.bounded())
}
