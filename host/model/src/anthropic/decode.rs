//! Decoding of whole answers.

use serde_json::Value;

use super::answer::AnswerDecoder;
use crate::{DecodeError, DecoderBounds, Response, json};

pub(crate) fn decode(body: &[u8], bounds: &DecoderBounds) -> Result<Response, DecodeError> {
    let mut body = json::parse(body, bounds)?;
    let mut answer = AnswerDecoder::new(bounds);
    answer.count(&body);
    let usage = answer.usage();
    let read = || {
        let Some(Value::Array(blocks)) = body.get_mut("content").map(Value::take) else {
            return Err(if json::field(&body, "error").is_some() {
                DecodeError::provider(&body)
            } else {
                DecodeError::shape("content".to_owned(), "an array")
            });
        };
        for (index, block) in blocks.into_iter().enumerate() {
            answer.block(index as u64, block, 0, format_args!("content[{index}]"), &mut Vec::new())?;
        }
        answer.stop(&body, "message")?;
        answer.finish(bounds)
    };
    read().map_err(|error| error.with_usage(usage))
}
