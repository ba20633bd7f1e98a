//! Decoding of answers that arrive as streams of events.

use crate::lone_surrogates::LoneSurrogates;
use crate::sse::Sse;
use crate::{Api, DecodeError, DecoderBounds, Response, Usage, anthropic, openai_chat, openai_responses};

/// A piece of an answer, for display while the answer is received. The complete answer is the one that
/// [`Stream::finish`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Piece of the text.
    Text(String),
    /// Piece of the reasoning, as far as the provider shows it.
    Reasoning(String),
    /// Piece of a tool call.
    ToolCall {
        /// Index of the call in the answer, from 0.
        call: usize,
        /// Name of the tool, in the first piece of a call.
        name: Option<String>,
        /// Piece of the text of the arguments.
        arguments: String,
    },
}

/// Decoder of an answer that arrives as a stream of events, in chunks of any size.
///
/// It keeps the part of the answer that was received, and one event, within its [`DecoderBounds`].
#[derive(Debug)]
pub struct Stream {
    bounds: DecoderBounds,
    bytes: u64,
    sse: Sse,
    surrogates: LoneSurrogates,
    events: Events,
    failed: bool,
}

#[derive(Debug)]
enum Events {
    OpenAiChat(openai_chat::EventDecoder),
    OpenAiResponses(openai_responses::EventDecoder),
    Anthropic(anthropic::EventDecoder),
}

impl Stream {
    /// Creates a decoder that has received nothing.
    pub fn new(api: Api, bounds: DecoderBounds) -> Self {
        let events = match api {
            Api::OpenAiChat => Events::OpenAiChat(openai_chat::EventDecoder::new(&bounds)),
            Api::OpenAiResponses => Events::OpenAiResponses(openai_responses::EventDecoder::new(&bounds)),
            Api::Anthropic => Events::Anthropic(anthropic::EventDecoder::new(&bounds)),
        };
        Self {
            bounds,
            bytes: 0,
            sse: Sse::new(bounds.answer_bytes),
            surrogates: LoneSurrogates::default(),
            events,
            failed: false,
        }
    }

    /// Reads the next bytes of the response's body. After an error, nothing more is read.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, DecodeError> {
        if self.failed {
            return Err(DecodeError::Cut { usage: self.usage() });
        }
        let mut deltas = Vec::new();
        let result = self.take(bytes, &mut deltas);
        self.failed = result.is_err();
        result.map_err(|error| error.with_usage(self.usage()))?;
        Ok(deltas)
    }

    fn take(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > self.bounds.stream_bytes {
            return Err(DecodeError::bound("bytes", self.bounds.stream_bytes));
        }
        let Self { sse, surrogates, events, bounds, .. } = self;
        sse.feed(bytes, &mut |name, data| events.event(name, &surrogates.join(data), bounds, deltas))
    }

    /// Returns the usage that the provider has reported until now.
    pub fn usage(&self) -> Option<Usage> {
        match &self.events {
            Events::OpenAiChat(events) => events.usage(),
            Events::OpenAiResponses(events) => events.usage(),
            Events::Anthropic(events) => events.usage(),
        }
    }

    /// Ends the body, and returns the answer if it is complete.
    pub fn finish(mut self) -> Result<Response, DecodeError> {
        if self.failed {
            return Err(DecodeError::Cut { usage: self.usage() });
        }
        let Self { sse, surrogates, events, bounds, .. } = &mut self;
        // The rest is a whole event, or the beginning of one that was cut off.
        let last =
            sse.finish(&mut |name, data| events.event(name, &surrogates.join(data), bounds, &mut Vec::new()));
        let usage = self.usage();
        match last {
            Ok(()) | Err(DecodeError::Json { .. }) => {}
            Err(error) => return Err(error.with_usage(usage)),
        }
        let response = match self.events {
            Events::OpenAiChat(events) => events.finish(&self.bounds),
            Events::OpenAiResponses(events) => events.finish(&self.bounds),
            Events::Anthropic(events) => events.finish(&self.bounds),
        };
        response.map_err(|error| error.with_usage(usage))
    }
}

impl Events {
    fn event(
        &mut self,
        name: &str,
        data: &[u8],
        bounds: &DecoderBounds,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        match self {
            Self::OpenAiChat(events) => events.event(name, data, bounds, deltas),
            Self::OpenAiResponses(events) => events.event(name, data, bounds, deltas),
            Self::Anthropic(events) => events.event(name, data, bounds, deltas),
        }
    }
}
