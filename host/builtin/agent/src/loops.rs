//! Detection of calls that are repeated without an effect.

use graph_sdk::model::{Message, ToolCall, ToolResult};

/// Result of the detection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// The calls were not repeated too often.
    No,
    /// The model has to be warned: this number of calls in a row had the same arguments and results.
    Warn(usize),
    /// The model was warned and has continued.
    Stop(usize),
}

/// A call with its result, without the call's id, which differs each time.
type Performed<'m> = (&'m str, String, &'m str, bool);
/// Calls of one message.
type Round<'m> = Vec<Performed<'m>>;

/// Compares the calls of a conversation whose last message is an assistant's with calls; `results` are those of these calls.
///
/// Calls are the same if their tool, arguments, result and failure are. They are counted singly and by message, because a model
/// can repeat a set of calls. Only the newest rounds that repeat each other are read, because a conversation can be long.
pub(crate) fn repeated(thread: &[Message], results: &Message, limit: usize) -> Repeated {
    let rounds = newest(thread, results);
    let Some((_, earlier)) = rounds.split_first() else { return Repeated::No };
    let (before, after) = (in_a_row(earlier), in_a_row(&rounds));
    if before >= limit && after > before {
        Repeated::Stop(after)
    } else if after >= limit {
        Repeated::Warn(after)
    } else {
        Repeated::No
    }
}

/// Returns the newest rounds, the newest first: that of `results`, and earlier ones up to the first that is not repeated.
fn newest<'m>(thread: &'m [Message], results: &'m Message) -> Vec<Round<'m>> {
    let pairs = thread.windows(2).rev().map(|pair| (&pair[0], &pair[1]));
    let pairs = thread.last().map(|asked| (asked, results)).into_iter().chain(pairs);
    let mut newest: Vec<Round<'m>> = Vec::new();
    for round in pairs.map(|(asked, answered)| round(asked, answered)).filter(|round| !round.is_empty()) {
        let is_last = newest.len() > 1 && newest.last().is_some_and(|newer| !continues(&round, newer));
        newest.push(round);
        if is_last {
            break;
        }
    }
    newest
}

/// Returns the calls of a message with their results, which are in the next message.
fn round<'m>(asked: &'m Message, answered: &'m Message) -> Round<'m> {
    let performed = |call: &'m ToolCall| {
        let result = answered.tool_results().find(|result| result.id == call.id)?;
        let ToolResult { content, failed, .. } = result;
        Some((call.name.as_str(), call.arguments.to_string(), content.as_str(), *failed))
    };
    asked.tool_calls().filter_map(performed).collect()
}

/// Reports whether two consecutive rounds can repeat each other: they are equal, or the last call of the older one equals the newer one's first.
fn continues(older: &Round<'_>, newer: &Round<'_>) -> bool {
    older == newer || older.last() == newer.first()
}

/// Returns the number of newest calls that are the same, singly or by message, whichever is more.
fn in_a_row(newest_first: &[Round<'_>]) -> usize {
    let messages = trailing(newest_first.iter());
    let calls = trailing(newest_first.iter().flat_map(|round| round.iter().rev()));
    messages.max(calls)
}

fn trailing<T: PartialEq>(mut newest_first: impl Iterator<Item = T>) -> usize {
    match newest_first.next() {
        Some(first) => 1 + newest_first.take_while(|other| *other == first).count(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph_sdk::model::Response;
    use graph_sdk::serde_json::json;

    /// Returns messages with these calls. Each call has a tool's name and its argument, which is also its result.
    fn thread(messages: &[&[(&str, &str)]]) -> Vec<Message> {
        let mut thread = vec![Message::user("go")];
        for calls in messages {
            let asked =
                Response::calls(calls.iter().map(|(name, argument)| (*name, json!({ "n": argument }))))
                    .message;
            let result = |(index, (_, argument)): (usize, &(&str, &str))| ToolResult {
                id: format!("call-{}", index + 1),
                content: (*argument).to_owned(),
                failed: false,
            };
            let results = Message::results(calls.iter().enumerate().map(result));
            thread.extend([asked, results]);
        }
        thread
    }

    #[test]
    fn the_same_calls_in_a_row_are_counted() {
        let a = [("a", "1")];
        let b = [("a", "2")];
        let both = [("a", "1"), ("b", "1")];
        let many = [("a", "1"), ("a", "1"), ("a", "1"), ("a", "1")];
        for (messages, limit, expected) in [
            (vec![], 3, Repeated::No),
            (vec![&a[..], &a, &b, &a], 2, Repeated::No),
            (vec![&a, &a], 3, Repeated::No),
            (vec![&a, &a, &a], 3, Repeated::Warn(3)),
            (vec![&a, &a, &a, &a], 3, Repeated::Stop(4)),
            (vec![&b, &a, &a, &a], 3, Repeated::Warn(3)),
            (vec![&a, &a, &a, &b], 3, Repeated::No),
            (vec![&both, &both, &both], 3, Repeated::Warn(3)),
            (vec![&both, &both, &both, &both], 3, Repeated::Stop(4)),
            // The model has to be warned before it is stopped.
            (vec![&many], 3, Repeated::Warn(4)),
            (vec![&many, &a], 3, Repeated::Stop(5)),
        ] {
            let thread = thread(&messages);
            let (results, asked) = thread.split_last().unwrap();
            assert_eq!(repeated(asked, results, limit), expected, "{messages:?}");
        }
    }

    #[test]
    fn another_result_is_progress() {
        let mut of = thread(&[&[("a", "1")], &[("a", "1")]]);
        assert_eq!(repeated(&of[..4], &of[4], 2), Repeated::Warn(2));
        of[4] =
            Message::results([ToolResult { id: "call-1".to_owned(), content: "1".to_owned(), failed: true }]);
        assert_eq!(repeated(&of[..4], &of[4], 2), Repeated::No);
    }
}
