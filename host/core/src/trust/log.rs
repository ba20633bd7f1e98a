//! The log of trust decisions: a line for each time that an item was accepted or the trust store was changed.
//!
//! Each line is canonical JSON (RFC 8785) with the digest of the line before it, its own number, and the signature of the host's
//! identity over all of that. With the public keys, any change, removal or insertion is detected; removed lines at the end are detected by
//! the head, which is stored next to the log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::{KeyId, Signature, SigningKey, VerifyingKey};
use super::shown;
use crate::digest::Digest;
use crate::format;
use crate::json::{self, TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

const DOMAIN: &str = "graph-host/trust-log/v1";
/// Largest time between the first and the last item of one plan in the log, in milliseconds.
const FIRST_WRITE_MILLIS: u64 = 60_000;

/// The kinds of entries in the trust log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    /// A component, or a signed text item, was accepted for a run.
    Accepted,
    /// An unsigned component was accepted for a run at its user's request.
    AcceptedUnsigned,
    /// A key was added to the trust store.
    KeyAdded,
    /// A key was revoked.
    KeyRevoked,
    /// A key succeeded another one.
    KeyRotated,
    /// Settings of a key changed: its items, its ceiling, or its dates.
    KeyChanged,
    /// A key was removed from the trust store.
    KeyRemoved,
    /// The head was missing after the first command that wrote to the log, and was written again.
    HeadRestored,
}

impl LogEvent {
    /// Returns the words that `trust log` prints.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedUnsigned => "accepted unsigned",
            Self::KeyAdded => "key added",
            Self::KeyRevoked => "key revoked",
            Self::KeyRotated => "key rotated",
            Self::KeyChanged => "key changed",
            Self::KeyRemoved => "key removed",
            Self::HeadRestored => "head restored",
        }
    }
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// The time of the event, by the clock of this host.
    pub at: Timestamp,
    /// The SHA-256 of the component, or of the text without its signature line; absent for keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The kind of the event.
    pub event: LogEvent,
    /// The item, with its version if it has one; for keys, the name in the trust store.
    pub item: String,
    /// The keys that signed the item, or that were changed.
    pub keys: Vec<KeyId>,
    /// The SHA-256 of the signed statement or rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Digest>,
}

impl LogEntry {
    /// Checks whether another entry equals this one except for its time.
    pub fn says_the_same(&self, other: &Self) -> bool {
        Self { at: other.at, ..self.clone() } == *other
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    entry: LogEntry,
    /// The key that signs the line.
    key: KeyId,
    /// The line's number, from 1.
    number: u64,
    /// The digest of the preceding line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Digest>,
    signature: Signature,
}

/// The end of a log: the number of lines, and the digest of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// Number of lines up to here.
    pub lines: u64,
    /// The digest of the last line.
    pub last: Option<Digest>,
}

/// The reason why a log is not the one that its host has written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum LogError {
    /// A line cannot be read.
    #[error("line {line} cannot be read: {reason}")]
    Malformed { line: u64, reason: String },
    /// A line does not follow the one before it.
    #[error("line {line} does not follow the one before it: a line was changed, taken out or put between")]
    Chain { line: u64 },
    /// A line was not signed by a key of this host.
    #[error("line {line} was changed, or was not written by this host: its signature does not hold")]
    Signature { line: u64 },
    /// There are lines and no head, which would state how many lines the host has written.
    #[error("its head is missing")]
    HeadMissing,
    /// The head cannot be read or was not signed by this host.
    #[error("its head cannot be read, or was not written by this host")]
    Head,
    /// Lines are missing at the end.
    #[error("it ends with line {found}, and its host has written {written} lines: its end was cut off")]
    CutOff {
        /// Number of lines found.
        found: u64,
        /// Number of lines written.
        written: u64,
    },
}

impl LogEnd {
    /// Writes the next line, with its line break, and returns the new end of the log.
    pub fn append(&self, entry: LogEntry, key: &SigningKey) -> (String, Self) {
        let mut line = Line {
            entry,
            key: key.id(),
            number: self.lines + 1,
            previous: self.last,
            signature: Signature::from_bytes([0; 64]),
        };
        line.signature = key.sign(DOMAIN, signed_text(&line).as_bytes());
        let text = canonical_string(&serde_json::to_value(&line).unwrap_or_default());
        let end = Self { lines: line.number, last: Some(Digest::of_bytes(text.as_bytes())) };
        (text + "\n", end)
    }

    /// Returns the text of the head for a log that ends here.
    pub fn head(&self, key: &SigningKey) -> String {
        let head = head_text(self);
        format!("{head} {} {}\n", key.id(), key.sign(DOMAIN, head.as_bytes()).to_base64url())
    }

    /// Reads a head. `keys` are those of this host, its earlier ones included.
    pub fn read_head(text: &str, keys: &[VerifyingKey]) -> Result<Self, LogError> {
        let mut words = text.split_whitespace();
        let (Some(lines), Some(last), Some(key), Some(signature), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return Err(LogError::Head);
        };
        let lines = lines.parse().map_err(|_| LogError::Head)?;
        let last = if last == "-" { None } else { Some(last.parse().map_err(|_| LogError::Head)?) };
        let end = Self { lines, last };
        let signature = Signature::from_base64url(signature).map_err(|_| LogError::Head)?;
        let signer = keys.iter().find(|known| known.id().to_string() == key);
        let holds =
            signer.is_some_and(|signer| signer.verify(DOMAIN, head_text(&end).as_bytes(), &signature));
        if holds { Ok(end) } else { Err(LogError::Head) }
    }
}

fn head_text(end: &LogEnd) -> String {
    let last = end.last.map_or_else(|| "-".to_owned(), |last| last.to_string());
    format!("{} {last}", end.lines)
}

/// Verifies a whole log with its head; `None`: it has none. Lines after the head are accepted, since the host may have been stopped between
/// the two writes. A last line without its line break was cut short, and is ignored.
pub fn read_log(
    text: &str,
    head: Option<&str>,
    keys: &[VerifyingKey],
) -> Result<(Vec<LogEntry>, LogEnd), LogError> {
    let head = head.map(|head| LogEnd::read_head(head, keys)).transpose()?;
    // `true` once the lines have reached the head, or if there is none.
    let mut reached = head.is_none_or(|head| head == LogEnd::default());
    let (entries, end) = read_lines(text, keys, |end| reached |= head == Some(end))?;
    match head {
        Some(head) if head.lines > end.lines => {
            Err(LogError::CutOff { found: end.lines, written: head.lines })
        }
        Some(head) if !reached => Err(LogError::Chain { line: head.lines }),
        // Without the head, the number of written lines is unknown.
        None if end.lines > 0 => Err(LogError::HeadMissing),
        _ => Ok((entries, end)),
    }
}

/// Verifies a log with lines and no head, as left by a host that was killed during the first write, before it wrote the head. The head may
/// be restored only in this case: every line is valid, and all are of one command, which is one change of a key or the items of one plan. A
/// longer log once had a head, and its last lines may have been removed together with the head, so that log is refused as
/// [`LogError::HeadMissing`]. The line of a repair that was itself cut short may follow.
pub fn read_first_write(text: &str, keys: &[VerifyingKey]) -> Result<(Vec<LogEntry>, LogEnd), LogError> {
    let (entries, end) = read_lines(text, keys, |_| ())?;
    let repaired = entries.iter().rev().take_while(|entry| entry.event == LogEvent::HeadRestored).count();
    let written = &entries[..entries.len() - repaired];
    let is_of_a_plan =
        |entry: &LogEntry| matches!(entry.event, LogEvent::Accepted | LogEvent::AcceptedUnsigned);
    let first = written.first().map_or(0, |entry| entry.at.0);
    let at_once = |entry: &LogEntry| entry.at.0.abs_diff(first) <= FIRST_WRITE_MILLIS;
    let is_one_command =
        written.len() <= 1 || written.iter().all(|entry| is_of_a_plan(entry) && at_once(entry));
    if is_one_command { Ok((entries, end)) } else { Err(LogError::HeadMissing) }
}

/// Verifies every line, and calls `seen` with the end of the log after each.
fn read_lines(
    text: &str,
    keys: &[VerifyingKey],
    mut seen: impl FnMut(LogEnd),
) -> Result<(Vec<LogEntry>, LogEnd), LogError> {
    let mut end = LogEnd::default();
    let mut entries = Vec::new();
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    for (text, number) in text[..whole].lines().zip(1..) {
        let value = parse_strict(text, 16, TreeLimit::STATEMENT)
            .map_err(|error| LogError::Malformed { line: number, reason: error.to_string() })?;
        let line: Line = serde_json::from_value(value).map_err(|error| LogError::Malformed {
            line: number,
            reason: shown(&format::reason(text, format::CURRENT, &error)),
        })?;
        if line.number != number || line.previous != end.last {
            return Err(LogError::Chain { line: number });
        }
        let signer = keys.iter().find(|key| key.id() == line.key);
        let is_canonical = canonical_string(&serde_json::to_value(&line).unwrap_or_default()) == text;
        let holds =
            signer.is_some_and(|key| key.verify(DOMAIN, signed_text(&line).as_bytes(), &line.signature));
        if !is_canonical || !holds {
            return Err(LogError::Signature { line: number });
        }
        end = LogEnd { lines: number, last: Some(Digest::of_bytes(text.as_bytes())) };
        seen(end);
        entries.push(line.entry);
    }
    Ok((entries, end))
}

/// Returns the readable lines of a log, unverified: only to find out which entries are new, never to be trusted.
pub fn peek_log(text: &str) -> Vec<LogEntry> {
    let lines = text.lines().filter_map(|line| json::read::<Line>(line, TreeLimit::STATEMENT).ok());
    lines.map(|line| line.entry).collect()
}

/// Returns the signed text: the line without its signature.
fn signed_text(line: &Line) -> String {
    let mut value = serde_json::to_value(line).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("signature");
    }
    canonical_string(&value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn entry(number: u64) -> LogEntry {
        LogEntry {
            at: Timestamp(number),
            digest: Some(Digest::of_bytes(&number.to_le_bytes())),
            event: LogEvent::Accepted,
            item: format!("acme/item-{number}@1.0.0"),
            keys: vec![key(9).id()],
            statement: None,
        }
    }

    /// Creates a log of that many lines, the later half of which another identity has signed; and its head.
    fn log(lines: u64) -> (String, String) {
        let mut end = LogEnd::default();
        let mut text = String::new();
        let signer = |number| key(if number * 2 > lines { 2 } else { 1 });
        for number in 1..=lines {
            let (line, next) = end.append(entry(number), &signer(number));
            text.push_str(&line);
            end = next;
        }
        (text, end.head(&signer(lines)))
    }

    fn keys() -> Vec<VerifyingKey> {
        vec![key(2).verifying_key(), key(1).verifying_key()]
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let (text, head) = log(5);
        let (entries, end) = read_log(&text, Some(&head), &keys()).unwrap();
        assert_eq!(entries, (1..=5).map(entry).collect::<Vec<_>>());
        assert_eq!(end.lines, 5);
        // The host was stopped after this line and before the head was written.
        let (more, _) = end.append(entry(6), &key(2));
        assert_eq!(read_log(&(text.clone() + &more), Some(&head), &keys()).unwrap().1.lines, 6);
        assert_eq!(read_log(&(text.clone() + "{\"entry"), Some(&head), &keys()).unwrap().1, end);
        assert_eq!(peek_log(&text), entries);
        assert_eq!(read_log("", None, &keys()).unwrap(), (Vec::new(), LogEnd::default()));
        assert!(entry(1).says_the_same(&LogEntry { at: Timestamp(7), ..entry(1) }));
        assert!(!entry(1).says_the_same(&entry(2)));
    }

    #[test]
    fn every_edit_is_noticed() {
        let (text, head) = log(4);
        let lines: Vec<_> = text.lines().collect();
        let of = |lines: &[&str]| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
        let edited = text.replace("item-4", "item-5");
        let cases = [
            (edited, LogError::Signature { line: 4 }),
            (text.replace("item-2", "item-5"), LogError::Signature { line: 2 }),
            (of(&[lines[0], lines[2], lines[3]]), LogError::Chain { line: 2 }),
            (of(&[lines[1]]), LogError::Chain { line: 1 }),
            (of(&lines[..2]), LogError::CutOff { found: 2, written: 4 }),
            (String::new(), LogError::CutOff { found: 0, written: 4 }),
            (of(&[lines[0], lines[0]]), LogError::Chain { line: 2 }),
        ];
        for (text, error) in cases {
            assert_eq!(read_log(&text, Some(&head), &keys()).unwrap_err(), error, "{text}");
        }
        assert!(matches!(read_log("{\n", Some(&head), &keys()), Err(LogError::Malformed { line: 1, .. })));
        assert_eq!(read_log(&text, None, &keys()), Err(LogError::HeadMissing));
        assert_eq!(read_log(&text, Some("4 - x y"), &keys()), Err(LogError::Head));
        // The log of another host is refused.
        assert_eq!(read_log(&text, Some(&head), &[key(3).verifying_key()]), Err(LogError::Head));
        let (others, others_head) = log(0);
        assert_eq!(others, "");
        assert!(LogEnd::read_head(&others_head, &keys()).is_ok());
    }

    #[test]
    fn a_log_without_head_is_taken_only_as_the_first_write_left_it() {
        let written = |entries: &[LogEntry]| {
            let mut end = LogEnd::default();
            entries.iter().fold(String::new(), |text, entry| {
                let (line, next) = end.append(entry.clone(), &key(1));
                end = next;
                text + &line
            })
        };
        let added = LogEntry { event: LogEvent::KeyAdded, ..entry(1) };
        let late = LogEntry { at: Timestamp(60_002), ..entry(2) };
        let taken = |entries: &[LogEntry]| read_first_write(&written(entries), &keys());
        assert_eq!(taken(&[entry(1), entry(2)]).unwrap().1.lines, 2);
        assert_eq!(taken(std::slice::from_ref(&added)).unwrap().0, std::slice::from_ref(&added));
        for longer in [vec![added.clone(), entry(2)], vec![entry(1), late], vec![added.clone(), added]] {
            assert_eq!(taken(&longer), Err(LogError::HeadMissing), "{longer:?}");
        }
        let restored = LogEntry { event: LogEvent::HeadRestored, ..entry(9) };
        assert_eq!(taken(&[entry(1), restored.clone()]).unwrap().1.lines, 2);
        assert_eq!(taken(&[entry(1), restored, entry(3)]), Err(LogError::HeadMissing));
        let text = written(&[entry(1), entry(2)]);
        let second = text.lines().nth(1).unwrap().to_owned() + "\n";
        assert_eq!(read_first_write(&second, &keys()), Err(LogError::Chain { line: 1 }));
        let edited = text.replace("item-2", "item-3");
        assert_eq!(read_first_write(&edited, &keys()), Err(LogError::Signature { line: 2 }));
    }

    #[test]
    fn the_head_of_an_empty_log_lets_every_line_follow() {
        let (text, _) = log(3);
        let head = LogEnd::default().head(&key(1));
        assert_eq!(read_log(&text, Some(&head), &keys()).unwrap().1.lines, 3);
        assert_eq!(read_log("", Some(&head), &keys()).unwrap().1.lines, 0);
    }

    proptest! {
        /// No byte of a log can be changed.
        #[test]
        fn no_byte_of_a_log_can_be_changed(at in 0usize..900, by in 1u8..=255) {
            let (text, head) = log(3);
            let mut bytes = text.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] ^= by;
            if let Ok(changed) = String::from_utf8(bytes) {
                // A carriage return before the end of a line is not part of the line.
                let same = changed.lines().eq(text.lines());
                prop_assert_eq!(read_log(&changed, Some(&head), &keys()).is_ok(), same, "{}", changed);
            }
        }
    }
}
