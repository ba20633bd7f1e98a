//! Decoding of whole answers.

use super::answer;
use crate::{DecodeError, DecoderBounds, Response, json};

pub(crate) fn decode(body: &[u8], bounds: &DecoderBounds) -> Result<Response, DecodeError> {
    let body = json::parse(body, bounds)?;
    let has = |name| json::field(&body, name).is_some();
    if !has("output") && !has("status") {
        return Err(if has("error") {
            DecodeError::provider(&body)
        } else {
            DecodeError::shape("output".to_owned(), "an array")
        });
    }
    answer::response(&body, Vec::new(), bounds)
}
