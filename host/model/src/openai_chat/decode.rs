//! Decoding of whole answers.

use super::answer::{AnswerDecoder, usage};
use crate::{DecodeError, DecoderBounds, Response, json};

pub(crate) fn decode(body: &[u8], bounds: &DecoderBounds) -> Result<Response, DecodeError> {
    let body = json::parse(body, bounds)?;
    let usage = usage(&body);
    let read = || {
        let Some(choice) = json::items(&body, "choices", "answer")?.first() else {
            // Gateways can return an error with status 200.
            return Err(if json::field(&body, "error").is_some() {
                DecodeError::provider(&body)
            } else {
                DecodeError::shape("choices[0]".to_owned(), "an object")
            });
        };
        let Some(message) = json::field(choice, "message") else {
            return Err(DecodeError::shape("choices[0].message".to_owned(), "an object"));
        };
        let mut answer = AnswerDecoder::whole(bounds);
        answer.usage = usage;
        answer.message(message, "choices[0].message", &mut Vec::new())?;
        answer.choice(choice, "choices[0]")?;
        answer.finish(bounds)
    };
    read().map_err(|error| error.with_usage(usage))
}
