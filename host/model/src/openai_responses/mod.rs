//! Responses of OpenAI.

mod answer;
mod decode;
mod encode;
mod stream;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
pub(crate) use stream::EventDecoder;
