//! Reports parts of an answer while it arrives, and reads the answer.

use std::ops::ControlFlow;

use graph_core::capability::{CleanedText, HttpField};
use graph_core::record::{ModelDelta, ModelPart};
use graph_model::exchange::Provider;
use graph_model::{Block, DecodeError, DecoderBounds, Delta, Response, Stream, Usage};

use crate::host::http::ResponseReceiver;
use crate::host::output::Output;

/// Reports parts of one answer to observers, without the key.
pub(super) struct AnswerReporter<'a> {
    provider: &'a Provider,
    output: &'a Output,
    call: u64,
    attempt: u32,
    /// The place and the text of the part that is arriving.
    current: Option<(Place, CleanedText<'a>)>,
}

/// The place of a text in an answer; calls of tools are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text,
    Reasoning,
    ToolCall(usize),
}

impl<'a> AnswerReporter<'a> {
    /// Creates a reporter for an attempt of a call, both counted from 1.
    pub(super) fn new(provider: &'a Provider, output: &'a Output, call: u64, attempt: u32) -> Self {
        Self { provider, output, call, attempt, current: None }
    }

    fn delta(&mut self, delta: Delta) {
        if !self.output.is_observed() {
            return;
        }
        match delta {
            Delta::Text(text) => self.push(Place::Text, None, &text),
            Delta::Reasoning(text) => self.push(Place::Reasoning, None, &text),
            Delta::ToolCall { call, name, arguments } => self.push(Place::ToolCall(call), name, &arguments),
        }
    }

    fn push(&mut self, place: Place, tool: Option<String>, text: &str) {
        if self.current.as_ref().is_none_or(|(current, _)| *current != place) {
            self.flush();
        }
        let outgoing = &**self.provider.outgoing();
        let (_, cleaned) = self.current.get_or_insert_with(|| (place, CleanedText::new(outgoing)));
        let text = cleaned.push(text);
        self.report(place, tool.map(|tool| outgoing.clean(tool)), text);
    }

    /// Reports the rest of the text at the current place.
    fn flush(&mut self) {
        if let Some((place, rest)) = self.current.take() {
            self.report(place, None, rest.finish());
        }
    }

    fn report(&self, place: Place, tool: Option<String>, text: String) {
        if text.is_empty() && tool.is_none() {
            return;
        }
        let part = match place {
            Place::Text => ModelPart::Text,
            Place::Reasoning => ModelPart::Reasoning,
            Place::ToolCall(_) => ModelPart::ToolCall,
        };
        let model = self.provider.model().rule().name.clone();
        self.output.model_delta(&ModelDelta {
            model,
            call: self.call,
            attempt: self.attempt,
            part,
            tool,
            text,
        });
    }

    /// Reports an answer that has arrived as a whole. Its reasoning is not reported, since it has the provider's form.
    pub(super) fn whole(mut self, response: &Response) {
        let mut calls = 0..;
        for block in &response.message.blocks {
            match block {
                Block::Text(text) => self.delta(Delta::Text(text.clone())),
                Block::ToolCall(call) => self.delta(Delta::ToolCall {
                    call: calls.next().unwrap_or_default(),
                    name: Some(call.name.clone()),
                    arguments: call.arguments.to_string(),
                }),
                Block::Reasoning(_) | Block::ToolResult(_) | Block::Media(_) => {}
            }
        }
        self.flush();
    }
}

/// An answer that is read while it arrives, if it is a stream of events.
pub(super) struct ArrivingAnswer<'a> {
    shown: AnswerReporter<'a>,
    bounds: DecoderBounds,
    stream: Option<Stream>,
    failed: Option<DecodeError>,
}

impl<'a> ArrivingAnswer<'a> {
    /// Creates an answer whose body has at most `most` bytes.
    pub(super) fn new(shown: AnswerReporter<'a>, most: u64) -> Self {
        Self { shown, bounds: DecoderBounds::for_body(most), stream: None, failed: None }
    }

    /// Returns the known usage of an answer that has not ended.
    pub(super) fn usage(&self) -> Option<Usage> {
        let stream = self.stream.as_ref().and_then(Stream::usage);
        self.failed.as_ref().and_then(DecodeError::usage).or(stream)
    }

    /// Returns the whole answer of a response with status 200 and this body.
    pub(super) fn read(self, body: &[u8]) -> Result<Response, DecodeError> {
        let Self { mut shown, bounds, stream, failed } = self;
        shown.flush();
        match (failed, stream) {
            (Some(error), _) => Err(error),
            (None, Some(stream)) => stream.finish(),
            (None, None) => {
                let answer = shown.provider.model().api().decode(body, &bounds)?;
                shown.whole(&answer);
                Ok(answer)
            }
        }
    }
}

impl ResponseReceiver for ArrivingAnswer<'_> {
    fn head(&mut self, status: u16, fields: &[HttpField]) {
        let is_events = |(name, value): &HttpField| {
            name == "content-type" && value.to_ascii_lowercase().starts_with(b"text/event-stream")
        };
        // A server may send a whole answer although a stream was requested.
        if status == 200 && fields.iter().any(is_events) {
            self.stream = Some(Stream::new(self.shown.provider.model().api(), self.bounds));
        }
    }

    fn chunk(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let Some(stream) = &mut self.stream else { return ControlFlow::Continue(()) };
        match stream.feed(bytes) {
            Ok(deltas) => {
                for delta in deltas {
                    self.shown.delta(delta);
                }
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
