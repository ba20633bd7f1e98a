//! Assigns requests to conversations.

use std::collections::{BTreeMap, VecDeque};

use graph_core::digest::{Digest, DomainHasher};
use graph_core::json::canonical_string;
use serde_json::Value;

/// Limit of the remembered points; each call adds three. A request that continues an older one begins a new conversation.
const MOST_POINTS: usize = 20_000;

const DOMAIN: &str = "graph-host/transcript/v1";

/// The known points of conversations, by digests of the messages up to each.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    points: BTreeMap<Digest, Point>,
    /// Points in the order in which they were added.
    order: VecDeque<Digest>,
    /// Number of conversations.
    count: u64,
}

/// A point of a conversation.
#[derive(Clone, Copy, Debug)]
struct Point {
    conversation: u64,
    /// Digest of its instructions at this point.
    system: Option<Digest>,
}

/// The place of a request in its conversation.
#[derive(Debug)]
pub(super) struct Continued {
    /// Number of the conversation, from 1.
    pub(super) conversation: u64,
    /// Number of the request's messages that are known.
    pub(super) known: usize,
    /// `true` if the instructions differ from those before.
    pub(super) is_system_new: bool,
    /// Digest of all its messages in order.
    whole: Digest,
    system: Option<Digest>,
}

/// Sender of a request: conversations of different nodes differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    /// Path of nodes.
    pub(super) path: &'a str,
    /// Namespace. A conversation may continue in another child run of the same node, but if two child runs had equal
    /// conversations, each continues its own.
    pub(super) namespace: &'a str,
    /// Task. Only the same task repeats a request; in another one, the same messages begin another conversation.
    pub(super) task: &'a str,
}

impl Conversations {
    /// Finds the conversation that a request continues: the one that has most of its messages. The last known message
    /// was an answer, or the same task made the same request before.
    pub(super) fn enter(&mut self, asker: Asker<'_>, system: Option<&str>, messages: &[Value]) -> Continued {
        let system = system.map(|text| Digest::of_bytes(text.as_bytes()));
        let mut so_far = start();
        let mut found: Option<(usize, Point)> = None;
        for (at, message) in messages.iter().enumerate() {
            so_far = then(so_far, message);
            let keys = [answered_inside(asker, so_far), asked(asker, so_far), answered(asker, so_far)];
            if let Some(point) = keys.iter().find_map(|key| self.points.get(key)) {
                found = Some((at + 1, *point));
            }
        }
        let (known, conversation, is_system_new) = if let Some((known, point)) = found {
            (known, point.conversation, point.system != system)
        } else {
            self.count += 1;
            (0, self.count, true)
        };
        self.add(asked(asker, so_far), Point { conversation, system });
        let is_system_new = is_system_new && system.is_some();
        Continued { conversation, known, is_system_new, whole: so_far, system }
    }

    /// Adds the answer to a request.
    pub(super) fn answer(&mut self, asker: Asker<'_>, to: &Continued, message: &Value) {
        let point = Point { conversation: to.conversation, system: to.system };
        let so_far = then(to.whole, message);
        self.add(answered(asker, so_far), point);
        self.add(answered_inside(asker, so_far), point);
    }

    /// Returns the number of conversations so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    fn add(&mut self, key: Digest, point: Point) {
        if self.points.insert(key, point).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MOST_POINTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.points.remove(&oldest);
        }
    }
}

fn start() -> Digest {
    DomainHasher::new(DOMAIN).finish()
}

/// Returns the digest of a conversation with one more message. Reasoning is left out of the digest, as components may
/// leave it out when they send an answer back.
fn then(so_far: Digest, message: &Value) -> Digest {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let mut hasher = DomainHasher::new(DOMAIN).digest(&so_far).field(role.as_bytes());
    let blocks = message.get("blocks").and_then(Value::as_array);
    for block in blocks.into_iter().flatten().filter(|block| block.get("reasoning").is_none()) {
        hasher = hasher.field(canonical_string(block).as_bytes());
    }
    hasher.finish()
}

fn answered(asker: Asker<'_>, so_far: Digest) -> Digest {
    DomainHasher::new(DOMAIN).field(b"answered").field(asker.path.as_bytes()).digest(&so_far).finish()
}

fn answered_inside(asker: Asker<'_>, so_far: Digest) -> Digest {
    let Asker { path, namespace, .. } = asker;
    DomainHasher::new(DOMAIN)
        .field(b"answered inside")
        .field(path.as_bytes())
        .field(namespace.as_bytes())
        .digest(&so_far)
        .finish()
}

fn asked(asker: Asker<'_>, so_far: Digest) -> Digest {
    let Asker { path, task, .. } = asker;
    DomainHasher::new(DOMAIN)
        .field(b"asked")
        .field(path.as_bytes())
        .field(task.as_bytes())
        .digest(&so_far)
        .finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Value {
        json!({ "role": "user", "blocks": [{ "text": text }] })
    }

    fn model(text: &str) -> Value {
        json!({ "role": "assistant", "blocks": [{ "reasoning": { "api": "a", "item": text } }, { "text": text }] })
    }

    const ONE: Asker<'static> = Asker { path: "turn", namespace: "", task: "1.0" };

    fn entered(
        conversations: &mut Conversations,
        asker: Asker<'_>,
        system: Option<&str>,
        messages: &[Value],
    ) -> (u64, usize, bool) {
        let Continued { conversation, known, is_system_new, .. } =
            conversations.enter(asker, system, messages);
        (conversation, known, is_system_new)
    }

    #[test]
    fn a_request_continues_what_was_answered() {
        let mut all = Conversations::default();
        let first = all.enter(ONE, Some("s"), &[user("a")]);
        assert_eq!((first.conversation, first.known, first.is_system_new), (1, 0, true));
        all.answer(ONE, &first, &model("b"));
        // Reasoning may be missing from an answer that is sent back.
        let back = json!({ "role": "assistant", "blocks": [{ "text": "b" }] });
        let later = Asker { task: "2.0", ..ONE };
        let next = [user("a"), back, user("c")];
        assert_eq!(entered(&mut all, later, Some("s"), &next), (1, 2, false));
        assert_eq!(
            entered(&mut all, later, Some("s"), &next),
            (1, 3, false),
            "the same task has tried again"
        );
        assert_eq!(entered(&mut all, later, Some("t"), &next), (1, 3, true));
        assert_eq!(all.count(), 1);
    }

    #[test]
    fn other_nodes_tasks_and_words_begin_conversations() {
        let mut all = Conversations::default();
        let first = all.enter(ONE, None, &[user("a")]);
        all.answer(ONE, &first, &model("b"));
        let with_answer = [user("a"), model("b"), user("c")];
        assert_eq!(entered(&mut all, Asker { path: "other", ..ONE }, None, &with_answer), (2, 0, false));
        assert_eq!(entered(&mut all, Asker { task: "1.1", ..ONE }, None, &[user("a")]), (3, 0, false));
        let changed = [user("a"), model("x"), user("c")];
        assert_eq!(entered(&mut all, Asker { task: "2.0", ..ONE }, None, &changed), (4, 0, false));
    }

    #[test]
    fn of_two_that_have_gone_the_same_way_each_continues_its_own() {
        let mut all = Conversations::default();
        let inside = |namespace, task| Asker { path: "each/turn", namespace, task };
        for (namespace, task) in [("1.0", "1.0/1.0"), ("1.1", "1.1/1.0")] {
            let first = all.enter(inside(namespace, task), None, &[user("a")]);
            all.answer(inside(namespace, task), &first, &model("b"));
        }
        let next = [user("a"), model("b"), user("c")];
        assert_eq!(entered(&mut all, inside("1.0", "1.0/2.0"), None, &next), (1, 2, false));
        assert_eq!(entered(&mut all, inside("1.1", "1.1/2.0"), None, &next), (2, 2, false));
        // A later child run of the node continues the newest of them.
        assert_eq!(entered(&mut all, inside("2.0", "2.0/1.0"), None, &next), (2, 2, false));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut all = Conversations::default();
        for number in 0..MOST_POINTS + 10 {
            all.enter(ONE, None, &[user(&number.to_string())]);
        }
        assert_eq!((all.points.len(), all.order.len()), (MOST_POINTS, MOST_POINTS));
    }
}
