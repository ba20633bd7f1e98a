//! Lets the outside world answer a recorded attempt again, at most as often as before, and without repeating effects.

use std::collections::VecDeque;

use graph_core::limits::HostUse;
use graph_core::node::{Category, Failure};
use graph_core::record::JournalEntry;
use graph_core::record::journal::{self, CALLED};
use serde_json::Value;

/// Functions of the file system that change nothing.
const READS: [&str; 8] =
    ["stat", "stat-at", "read", "read-directory", "readlink-at", "input-stream.read", "sync", "sync-data"];
/// Methods that change nothing (RFC 9110, 9.2.1).
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
const HTTP: &str = "wasi:http/outgoing-handler";
const FILES: &str = "wasi:filesystem/types";
const KNOWLEDGE: &str = "graph-host:host/knowledge";
const TOOLS: &str = "graph-host:host/tools";
const MODEL: &str = journal::MODEL.0;

/// The calls with which an attempt may ask the outside world again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveCalls {
    /// The entries of the recorded attempt, which limit the number of requests, and of calls of models and of other items.
    pub recorded: Vec<JournalEntry>,
    /// `true` if effects are repeated: requests of other methods than GET, HEAD and OPTIONS, writes to files and knowledge, calls of other
    /// items and of language models. Otherwise the recorded answer is used.
    pub sends: bool,
}

/// The decision about a call.
pub(crate) enum LiveDecision {
    /// The outside world is asked.
    World,
    /// The recorded entry answers.
    Recorded(JournalEntry),
    /// The attempt ends with this failure.
    Refused(Failure),
}

/// The bounds of the attempt under way.
pub(crate) struct LiveBounds {
    unused: Vec<Option<JournalEntry>>,
    requests: Allowance,
    calls_of_models: Allowance,
    calls_of_items: Allowance,
    /// Use of the host by each recorded call of another item.
    inside: VecDeque<HostUse>,
    sends: bool,
}

/// Number of calls of a kind that are left.
struct Allowance {
    recorded: usize,
    left: usize,
}

impl Allowance {
    fn new(recorded: &[JournalEntry], interface: &str) -> Self {
        let recorded = recorded.iter().filter(|entry| entry.interface == interface).count();
        Self { recorded, left: recorded }
    }

    fn take(&mut self, what: &str) -> Result<(), Failure> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            let recorded = self.recorded;
            let plural = if recorded == 1 { "" } else { "s" };
            let message = format!(
                "the recorded attempt has {recorded} {what}{plural}: a live replay asks no more often than that"
            );
            Failure::new(Category::Denied, message)
        })?;
        Ok(())
    }
}

impl LiveBounds {
    pub(crate) fn new(live: LiveCalls) -> Self {
        let called = |entry: &JournalEntry| {
            let used = entry.result.0.get(CALLED);
            used.and_then(|used| serde_json::from_value(used.clone()).ok()).unwrap_or(HostUse::NOTHING)
        };
        Self {
            requests: Allowance::new(&live.recorded, HTTP),
            calls_of_models: Allowance::new(&live.recorded, MODEL),
            calls_of_items: Allowance::new(&live.recorded, TOOLS),
            inside: live.recorded.iter().filter(|entry| entry.interface == TOOLS).map(called).collect(),
            unused: live.recorded.into_iter().map(Some).collect(),
            sends: live.sends,
        }
    }

    /// Decides about a call.
    pub(crate) fn ask(&mut self, interface: &str, function: &str, request: &Value) -> LiveDecision {
        if !self.sends && changes(interface, function, request) {
            let same = |entry: &JournalEntry| {
                entry.interface == interface && entry.function == function && *entry.request.0 == *request
            };
            let found = self.unused.iter_mut().find(|entry| entry.as_ref().is_some_and(same));
            return match found.and_then(Option::take) {
                Some(entry) => LiveDecision::Recorded(entry),
                None => LiveDecision::Refused(Failure::new(
                    Category::Denied,
                    format!(
                        "`{interface}` `{function}` would change something, and the recorded attempt has no such call: a \
                         live replay does that only if it may send"
                    ),
                )),
            };
        }
        let taken = match interface {
            HTTP => self.requests.take("request"),
            MODEL => self.calls_of_models.take("call of a language model"),
            TOOLS => self.calls_of_items.take("call of another item"),
            _ => Ok(()),
        };
        taken.map_or_else(LiveDecision::Refused, |()| LiveDecision::World)
    }

    /// Returns the limit on the called item's use of the host: its use in the recorded attempt.
    pub(crate) fn inside(&mut self) -> HostUse {
        self.inside.pop_front().unwrap_or(HostUse::NOTHING)
    }
}

/// Checks whether a call has an effect outside of the attempt.
fn changes(interface: &str, function: &str, request: &Value) -> bool {
    match interface {
        HTTP => !request["method"].as_str().is_some_and(|method| SAFE_METHODS.contains(&method)),
        FILES if function == "open-at" => {
            let flags = request["flags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            flags.into_iter().any(|flag| ["create", "truncate", "write", "change"].contains(&flag))
        }
        FILES => !READS.contains(&function),
        KNOWLEDGE => function == "put",
        // An answer of a model costs money, which counts as an effect.
        TOOLS | MODEL => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn entry(interface: &str, function: &str, request: &Value) -> JournalEntry {
        JournalEntry {
            interface: interface.to_owned(),
            function: function.to_owned(),
            ok: true,
            request: request.clone().into(),
            result: json!({ "status": 200 }).into(),
        }
    }

    fn bounds(recorded: &[JournalEntry], sends: bool) -> LiveBounds {
        LiveBounds::new(LiveCalls { recorded: recorded.to_vec(), sends })
    }

    #[test]
    fn no_more_requests_are_sent_than_were_recorded() {
        let get = json!({ "method": "GET", "url": "http://a/" });
        let mut live = bounds(&[entry(HTTP, "handle", &get)], false);
        assert!(matches!(live.ask(HTTP, "handle", &json!({ "method": "HEAD" })), LiveDecision::World));
        assert!(matches!(live.ask(HTTP, "handle", &get), LiveDecision::Refused(_)));
        assert!(matches!(bounds(&[], true).ask(HTTP, "handle", &get), LiveDecision::Refused(_)));
    }

    #[test]
    fn what_changes_something_is_answered_from_the_record_unless_it_is_meant() {
        let calls = [
            (HTTP, "handle", json!({ "method": "POST", "url": "http://a/" })),
            (KNOWLEDGE, "put", json!({ "key": "a" })),
            (TOOLS, "call", json!({ "item": "a/b", "params": {} })),
            (MODEL, "complete", json!({ "model": "fast", "messages": [] })),
            (FILES, "open-at", json!({ "path": "/a", "flags": ["create", "write"] })),
            (FILES, "rename-at", json!({ "path": "/a", "to": "/b" })),
        ];
        for (interface, function, request) in &calls {
            let recorded = [entry(interface, function, request)];
            let mut live = bounds(&recorded, false);
            assert!(
                matches!(live.ask(interface, function, request), LiveDecision::Recorded(found) if found == recorded[0])
            );
            assert!(
                matches!(live.ask(interface, function, request), LiveDecision::Refused(_)),
                "{function} again"
            );
            assert!(matches!(
                bounds(&recorded, false).ask(interface, function, &json!({})),
                LiveDecision::Refused(_) | LiveDecision::World
            ));
            assert!(matches!(bounds(&recorded, true).ask(interface, function, request), LiveDecision::World));
        }
        let read = json!({ "path": "/a", "flags": ["read"] });
        assert!(matches!(bounds(&[], false).ask(FILES, "open-at", &read), LiveDecision::World));
        assert!(matches!(bounds(&[], false).ask(KNOWLEDGE, "get", &json!({})), LiveDecision::World));
    }
}
