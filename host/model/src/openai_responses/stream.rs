//! Events of a stream. The last one has the whole response; the others are for display.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer;
use crate::bounds::Meter;
use crate::{DecodeError, DecoderBounds, Delta, Response, Usage, json};

#[derive(Debug)]
pub(crate) struct EventDecoder {
    meter: Meter,
    /// Completed items, by their position.
    items: BTreeMap<u64, Value>,
    /// Indices of tool calls in the answer, by the position of their items.
    calls: BTreeMap<u64, usize>,
    /// Response from the event that ends the stream.
    last: Option<Value>,
    usage: Option<Usage>,
}

impl EventDecoder {
    pub(crate) fn new(bounds: &DecoderBounds) -> Self {
        Self {
            meter: Meter::new(bounds),
            items: BTreeMap::new(),
            calls: BTreeMap::new(),
            last: None,
            usage: None,
        }
    }

    pub(crate) fn event(
        &mut self,
        name: &str,
        data: &[u8],
        bounds: &DecoderBounds,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        if self.last.is_some() || data.is_empty() || data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let mut event = json::parse(data, bounds)?;
        let kind = json::text(&event, "type", "event")?.unwrap_or(name).to_owned();
        let place = kind.as_str();
        let position = json::count(&event, "output_index").unwrap_or(0);
        match place {
            "response.output_text.delta" | "response.refusal.delta" => {
                deltas.extend(text(&event, place)?.map(Delta::Text));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                deltas.extend(text(&event, place)?.map(Delta::Reasoning));
            }
            "response.output_item.added" => {
                if let Some(name) = function(&event) {
                    self.meter.block()?;
                    let call = self.calls.len();
                    self.calls.insert(position, call);
                    let name = Some(name.to_owned());
                    deltas.push(Delta::ToolCall { call, name, arguments: String::new() });
                }
            }
            "response.function_call_arguments.delta" => {
                if let (Some(call), Some(arguments)) = (self.calls.get(&position), text(&event, place)?) {
                    deltas.push(Delta::ToolCall { call: *call, name: None, arguments });
                }
            }
            "response.output_item.done" => {
                self.meter.block()?;
                self.meter.bytes(data.len())?;
                if let Some(item) = event.get_mut("item") {
                    self.items.insert(position, item.take());
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let Some(response) = event.get_mut("response").map(Value::take).filter(Value::is_object)
                else {
                    return Err(DecodeError::shape(format!("{place}.response"), "an object"));
                };
                self.usage = answer::usage(&response);
                self.last = Some(response);
            }
            "error" => return Err(DecodeError::provider(&event)),
            // A gateway's error has no type.
            _ if json::field(&event, "error").is_some() => return Err(DecodeError::provider(&event)),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    pub(crate) fn finish(self, bounds: &DecoderBounds) -> Result<Response, DecodeError> {
        match self.last {
            Some(last) => answer::response(&last, self.items.into_values().collect(), bounds),
            None => Err(DecodeError::Cut { usage: None }),
        }
    }
}

fn text(event: &Value, place: &str) -> Result<Option<String>, DecodeError> {
    Ok(json::text(event, "delta", place)?.filter(|piece| !piece.is_empty()).map(str::to_owned))
}

/// Returns the name of the tool if the event starts a tool call.
fn function(event: &Value) -> Option<&str> {
    let item = event.get("item")?;
    (item.get("type")? == "function_call").then_some(())?;
    item.get("name")?.as_str()
}
