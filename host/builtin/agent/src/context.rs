//! Replacement of older messages by a summary when a conversation nears the end of the model's window.
//!
//! The replaced messages are no longer part of the state, but they remain in the run's signed history. The record in
//! `chain` has the superstep at which they were replaced.

use graph_sdk::model::{self, Message, Request, Role};
use graph_sdk::prelude::*;

use crate::result::Used;
use crate::settings::{ContextSettings, Settings};
use crate::thread;

/// Instructions for a summary, if the settings have none.
const INSTRUCTIONS: &str = "You are given the older part of a conversation between a user, an assistant and its tools. Write a summary with \
                            which the assistant can continue without having seen it: what the user wants, in their own words where these \
                            matter; what was decided; what the tools have returned that is still needed, with exact names and numbers; \
                            what is done; and what is still to do. Write the summary only.";

/// Conversation with a summary instead of its older messages.
#[derive(Debug)]
pub(crate) struct Summarised {
    /// Summary and the remaining messages.
    pub(crate) thread: Vec<Message>,
    /// Usage of the thread, including the call for the summary.
    pub(crate) used: Used,
    /// Record of the summary for the channel `chain`.
    pub(crate) record: Value,
}

/// Returns the number of older messages to replace, if the window is nearly full and there are messages that can be replaced.
///
/// `context` is the usage of the last call: tokens of its request and its answer. Messages since then are estimated at 4 bytes a token.
pub(crate) fn due(settings: &ContextSettings, thread: &[Message], context: u64) -> Option<usize> {
    if context == 0 {
        return None;
    }
    let added = thread.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |last| last + 1);
    let now = context.saturating_add(thread::tokens(&thread[added..]));
    if !reaches(now, settings.window, settings.at) {
        return None;
    }
    cut(thread, settings.keep)
}

/// Reports whether a number of tokens has reached a part of the window.
#[expect(
    clippy::cast_precision_loss,
    reason = "windows are far below 2^53 tokens, and an estimate is compared"
)]
fn reaches(tokens: u64, window: u64, part: f64) -> bool {
    tokens as f64 >= part * window as f64
}

/// Returns the index of the first message that is kept. As many of the newest messages are kept as fit, but at least
/// those that belong together. A result is never separated from its call, and at least two messages are replaced.
fn cut(messages: &[Message], keep: u64) -> Option<usize> {
    let mut begin = None;
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate().skip(2).rev() {
        bytes += thread::size(message);
        if begin.is_some() && thread::tokens_of(bytes) > keep {
            break;
        }
        if !thread::has_results(message) {
            begin = Some(index);
        }
    }
    begin
}

/// Summarises the messages before `cut` with one call of a model.
///
/// Failures: those of the call, and `transient` if the model gives no text.
pub(crate) fn summarise(
    settings: &Settings,
    thread: &[Message],
    cut: usize,
    used: Used,
    superstep: u64,
) -> Result<Summarised, Failure> {
    let summary = settings.context.as_ref().map(|context| context.summary.clone()).unwrap_or_default();
    let model = match summary.model {
        Some(model) => model,
        None => settings.model()?,
    };
    let (older, kept) = thread.split_at(cut);
    let request = Request::new(model.clone())
        .system(summary.instructions.as_deref().unwrap_or(INSTRUCTIONS))
        .message(Message::user(thread::transcript(older)))
        .max_output(summary.max_output);
    let response = model::complete(&request)?;
    let text = response.message.text();
    if text.trim().is_empty() {
        return Err(Failure::transient(format_args!(
            "the model `{model}` has given no summary of the conversation"
        )));
    }
    let mut summarised = vec![Message::user(format!("{}{text}", thread::SUMMARY))];
    summarised.extend_from_slice(kept);
    Ok(Summarised {
        thread: summarised,
        used: used.with(&response.usage),
        record: json!({ "summary": text, "messages": older.len(), "superstep": superstep }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SummarySettings;
    use crate::thread::tokens;
    use graph_sdk::model::{Response, ToolResult};

    fn settings(window: u64, at: f64, keep: u64) -> ContextSettings {
        ContextSettings { window, at, keep, summary: SummarySettings::default() }
    }

    fn call() -> Message {
        Response::calls([("search", json!({}))]).message
    }

    fn result(length: usize) -> Message {
        Message::results([ToolResult { id: "call-1".to_owned(), content: "x".repeat(length), failed: false }])
    }

    #[test]
    fn the_newest_messages_that_fit_are_kept() {
        let thread = [
            Message::user("a"),
            Message::assistant("b"),
            Message::user("c"),
            call(),
            result(400),
            call(),
            result(400),
        ];
        let (pair, pairs, all) = (tokens(&thread[5..]), tokens(&thread[3..]), tokens(&thread[2..]));
        for (keep, expected) in
            [(0, 5), (pair, 5), (pairs - 1, 5), (pairs, 3), (all - 1, 3), (all, 2), (u64::MAX, 2)]
        {
            assert_eq!(cut(&thread, keep), Some(expected), "{keep}");
        }
        assert_eq!(cut(&thread[..3], 0), Some(2));
        for short in [&thread[..0], &thread[..1], &thread[..2], &[Message::user("a"), call(), result(1)]] {
            assert_eq!(cut(short, 0), None, "{short:?}");
        }
    }

    #[test]
    fn a_summary_is_due_at_a_part_of_the_window() {
        let thread = [Message::user("a"), Message::assistant("b"), Message::user("c"), call(), result(4000)];
        let due = |context: u64, window: u64| due(&settings(window, 0.9, 10), &thread, context);
        // The newest result has about 1000 tokens that the last call did not count.
        assert_eq!(due(7_000, 10_000), None);
        assert_eq!(due(8_100, 10_000), Some(3));
        assert_eq!(due(0, 1), None);
        assert_eq!(super::due(&settings(10, 1.0, 1), &thread[..1], u64::MAX), None);
    }
}
