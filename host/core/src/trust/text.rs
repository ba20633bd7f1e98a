//! Signature lines of text items: graphs, knowledge, directives.
//!
//! The line has the shape of Rye's, behind the comment mark of the format:
//!
//! ```text
//! # graph-host:signed:<time>:<digest>:<signature>:<key id>
//! ```
//!
//! with the time in RFC 3339, the SHA-256 of the whole file without the line in hexadecimal digits, and the signature
//! in URL-safe base64. It is the first line, or the second one below a `#!`. What is signed is the canonical JSON of
//! `{digest, id, time}`, so a line cannot be moved to another item. Rye's own lines cover less of the file and not the
//! id: they are recognised, and prove nothing.

use std::ops::Range;

use serde_json::json;

use super::key::{KeyId, Signature, SigningKey};
use super::requirement::{Counted, TooFew};
use super::shown;
use super::store::{KeyName, KeyRefusal, Moment, TrustStore, TrustedKey};
use crate::digest::Digest;
use crate::json::canonical_string;
use crate::time::Timestamp;

/// The domain of signatures of text items.
const DOMAIN: &str = "graph-host/text-item/v1";
const TAG: &str = "graph-host:signed:";
/// What Rye's lines, and those of its predecessors, begin with.
const LEGACY_TAGS: [&str; 3] = ["rye:signed:", "rye:validated:", "kiwi-mcp:validated:"];
const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a format marks a line as a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentMark {
    /// `# …`: YAML, TOML, Python, shell.
    Hash,
    /// `<!-- … -->`: Markdown, HTML.
    Angle,
    /// `// …`: JavaScript, TypeScript, Rust, C.
    Slashes,
}

impl CommentMark {
    const ALL: [Self; 3] = [Self::Hash, Self::Angle, Self::Slashes];

    /// The mark for files of an extension, without its dot; `None` for formats that have no comments or are not known.
    pub fn for_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "yaml" | "yml" | "toml" | "py" | "sh" | "bash" | "rb" => Some(Self::Hash),
            "md" | "markdown" | "html" | "htm" | "xml" => Some(Self::Angle),
            "js" | "mjs" | "cjs" | "ts" | "mts" | "jsx" | "tsx" | "rs" | "c" | "h" | "go" => {
                Some(Self::Slashes)
            }
            _ => None,
        }
    }

    const fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::Hash => ("# ", ""),
            Self::Angle => ("<!-- ", " -->"),
            Self::Slashes => ("// ", ""),
        }
    }

    fn inside(self, line: &str) -> Option<&str> {
        let (before, after) = self.around();
        line.strip_prefix(before)?.strip_suffix(after)
    }
}

/// How far a text item may be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextStanding {
    /// It carries no signature.
    Unsigned,
    /// A key of the trust store signed it, and counts for it.
    Signed {
        /// The key.
        key: KeyName,
        /// When it was signed, as the signer says.
        time: Timestamp,
        /// Until when the key counts.
        not_after: Option<Timestamp>,
    },
    /// It carries a line of Rye's, which proves nothing here.
    Legacy {
        /// What stands in the line for the key.
        fingerprint: String,
    },
    /// It carries a signature that does not hold. It is not to be used.
    Invalid(TextRefusal),
}

/// Why the signature of a text item does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextRefusal {
    /// The line is not of its form.
    #[error("the signature line is malformed: {0}")]
    Malformed(&'static str),
    /// The line is not where it belongs, so something was put before it.
    #[error("the signature line is line {0}; it has to be the first one, or the second one below a `#!`")]
    Misplaced(usize),
    /// The text is not the one that was signed.
    #[error("the text was changed after it was signed: signed {signed}, found {actual}")]
    Changed {
        /// The digest in the line.
        signed: Digest,
        /// The digest of the text.
        actual: Digest,
    },
    /// The key is not in the trust store.
    #[error("it is signed by a key that is not trusted: `{0}`")]
    UnknownKey(KeyId),
    /// The named key did not sign this.
    #[error(
        "the signature does not verify with the key {key} that it names: it was made for another item than `{id}`, or changed"
    )]
    BadSignature {
        /// The key.
        key: KeyName,
        /// The item.
        id: String,
    },
    /// The key does not count, for this item or at this time.
    #[error("it is signed, and {0}")]
    Refused(#[from] KeyRefusal),
    /// The trust store wants more signatures than a text can carry.
    #[error("it is signed, and a text carries one signature: {0}")]
    TooFew(TooFew),
}

/// A signature line that was read.
struct Line {
    time: Timestamp,
    digest: Digest,
    signature: Signature,
    key: KeyId,
}

impl Line {
    fn parse(content: &str) -> Result<Self, TextRefusal> {
        let fields = content.strip_prefix(TAG).unwrap_or_default();
        // The time has colons of its own, so the fields are counted from the end.
        let mut fields = fields.rsplitn(4, ':');
        let (Some(key), Some(signature), Some(digest), Some(time)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(TextRefusal::Malformed("it has fewer than four fields"));
        };
        let read = time.parse::<Timestamp>().ok().filter(|read| read.to_string() == time);
        Ok(Self {
            time: read.ok_or(TextRefusal::Malformed("its time is not like 2030-01-31T12:00:00.000Z"))?,
            digest: format!("sha256:{digest}")
                .parse()
                .map_err(|_| TextRefusal::Malformed("its digest is not 64 lower-case hexadecimal digits"))?,
            signature: Signature::from_base64url(signature)
                .map_err(|_| TextRefusal::Malformed("its signature is not 64 bytes in URL-safe base64"))?,
            key: key
                .parse()
                .map_err(|_| TextRefusal::Malformed("its key id is not 64 lower-case hexadecimal digits"))?,
        })
    }
}

/// What is signed for an item.
fn message(id: &str, time: Timestamp, digest: &Digest) -> String {
    canonical_string(&json!({ "digest": digest, "id": id, "time": time.to_string() }))
}

/// A text around the place of its signature line: what comes before it, the line without its end, what comes after.
struct Parts<'t> {
    before: &'t str,
    line: Option<&'t str>,
    after: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Self {
        let begin = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |end| from + end + 1);
        let begin = if text[begin..].starts_with("#!") { line_end(begin) } else { begin };
        let end = line_end(begin);
        let line = text[begin..end].trim_end();
        let tagged = |tag: &str| line.contains(tag);
        if tagged(TAG) {
            Self { before: &text[..begin], line: Some(line), after: &text[end..] }
        } else {
            Self { before: &text[..begin], line: None, after: &text[begin..] }
        }
    }

    fn digest(&self) -> Digest {
        Digest::of_bytes([self.before, self.after].concat().as_bytes())
    }
}

/// Where the signature line of a text stands, with its end; `None` where it has none.
pub fn signature_line(text: &str) -> Option<Range<usize>> {
    let parts = Parts::of(text);
    parts.line.map(|_| parts.before.len()..text.len() - parts.after.len())
}

/// The text without its signature line: what is signed, whoever signs it and when.
pub fn unsigned_text(text: &str) -> String {
    let parts = Parts::of(text);
    [parts.before, parts.after].concat()
}

/// The text with a signature line, in place of one that it may have.
pub fn sign_text(id: &str, text: &str, mark: CommentMark, key: &SigningKey, at: Timestamp) -> String {
    let parts = Parts::of(text);
    let digest = parts.digest();
    let signature = key.sign(DOMAIN, message(id, at, &digest).as_bytes());
    let (open, close) = mark.around();
    let end = if parts.after.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')) {
        "\r\n"
    } else {
        "\n"
    };
    // A `#!` line that ends with the text gets an end of its own, which is then part of what is signed.
    if !parts.before.is_empty() && !parts.before.ends_with(['\n', BYTE_ORDER_MARK]) {
        return sign_text(id, &format!("{}\n", parts.before), mark, key, at);
    }
    format!(
        "{}{open}{TAG}{at}:{}:{}:{}{close}{end}{}",
        parts.before,
        digest.hex(),
        signature.to_base64url(),
        key.id(),
        parts.after
    )
}

/// Checks the signature line of an item's text against the trust store and the time.
pub fn verify_text(id: &str, text: &str, store: &TrustStore, at: impl Into<Moment>) -> TextStanding {
    let at = at.into();
    let parts = Parts::of(text);
    match parts.line {
        Some(line) => {
            let content = CommentMark::ALL.into_iter().find_map(|mark| mark.inside(line));
            match content.filter(|content| content.starts_with(TAG)) {
                Some(content) => check(id, content, &parts, store, at).unwrap_or_else(TextStanding::Invalid),
                None => TextStanding::Invalid(TextRefusal::Malformed(
                    "it is not a comment of `graph-host:signed:…` alone",
                )),
            }
        }
        None => match misplaced(text) {
            Some(line) => TextStanding::Invalid(TextRefusal::Misplaced(line)),
            None => legacy(parts.after).unwrap_or(TextStanding::Unsigned),
        },
    }
}

fn check(
    id: &str,
    content: &str,
    parts: &Parts<'_>,
    store: &TrustStore,
    at: Moment,
) -> Result<TextStanding, TextRefusal> {
    let line = Line::parse(content)?;
    let actual = parts.digest();
    if actual != line.digest {
        return Err(TextRefusal::Changed { signed: line.digest, actual });
    }
    let message = message(id, line.time, &line.digest);
    let is_hinted = |key: &&TrustedKey| key.id() == line.key;
    let hinted = store.keys().iter().filter(is_hinted);
    let others = store.keys().iter().filter(|key| !is_hinted(key));
    let made_it = |key: &&TrustedKey| key.key.verify(DOMAIN, message.as_bytes(), &line.signature);
    let Some(signer) = hinted.clone().chain(others).find(made_it) else {
        return Err(match hinted.clone().next() {
            Some(key) => TextRefusal::BadSignature { key: key.named(), id: shown(id) },
            None => TextRefusal::UnknownKey(line.key),
        });
    };
    match store.allow(signer.id(), id, at) {
        Some(Ok(entry)) => {
            let (key, not_after) = (entry.named(), entry.not_after);
            store.enough(id, &[Counted { key: key.clone(), not_after }]).map_err(TextRefusal::TooFew)?;
            Ok(TextStanding::Signed { key, time: line.time, not_after })
        }
        Some(Err(refusal)) => Err(refusal.into()),
        None => Err(TextRefusal::UnknownKey(line.key)),
    }
}

/// The number of a well-formed signature line that stands where it does not belong. A text that only speaks of such
/// lines has no well-formed one.
fn misplaced(text: &str) -> Option<usize> {
    let is_signature = |line: &str| {
        let content = CommentMark::ALL.into_iter().find_map(|mark| mark.inside(line.trim_end()));
        content.is_some_and(|content| content.starts_with(TAG) && Line::parse(content).is_ok())
    };
    text.lines().position(is_signature).map(|index| index + 1)
}

/// A line of Rye's at the place where signature lines stand.
fn legacy(after: &str) -> Option<TextStanding> {
    let line = after.lines().next()?;
    let content = CommentMark::ALL.into_iter().find_map(|mark| mark.inside(line.trim_end()))?;
    LEGACY_TAGS.iter().any(|tag| content.starts_with(tag)).then(|| {
        let fingerprint = content.rsplit(':').next().unwrap_or_default();
        TextStanding::Legacy { fingerprint: shown(fingerprint) }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::store::tests::entry;
    use super::*;
    use crate::trust::Revocation;

    const AT: Timestamp = Timestamp(1_900_000_000_000);
    const ID: &str = "examples/hello";
    const TEXT: &str = "version: 1\nname: hello\n";

    fn key() -> SigningKey {
        SigningKey::from_seed(&[1; 32])
    }

    fn store() -> TrustStore {
        TrustStore::new(vec![entry("examples", &key(), &["examples/*"])])
    }

    fn signed(text: &str, mark: CommentMark) -> String {
        sign_text(ID, text, mark, &key(), AT)
    }

    fn is_signed(text: &str) -> bool {
        matches!(verify_text(ID, text, &store(), AT), TextStanding::Signed { time: AT, .. })
    }

    fn refusal(id: &str, text: &str, store: &TrustStore) -> TextRefusal {
        match verify_text(id, text, store, AT) {
            TextStanding::Invalid(refusal) => refusal,
            standing => panic!("{standing:?} for {text}"),
        }
    }

    #[test]
    fn the_line_stands_first_behind_the_mark_of_the_format() {
        let texts = [
            (CommentMark::Hash, TEXT),
            (CommentMark::Angle, "---\ntitle: x\n---\nbody"),
            (CommentMark::Slashes, "#!/usr/bin/env node\nlet x\n"),
            (CommentMark::Hash, "#!/bin/sh"),
            (CommentMark::Hash, ""),
        ];
        let mut lines = Vec::new();
        for (mark, text) in texts {
            let signed = signed(text, mark);
            assert!(is_signed(&signed), "{signed}");
            assert_eq!(self::signed(&signed, mark), signed, "signing again replaces the line");
            lines.push(signed);
        }
        insta::assert_snapshot!(lines.join("\n---\n"));
        assert_eq!(CommentMark::for_extension("YAML"), Some(CommentMark::Hash));
        assert_eq!(CommentMark::for_extension("json"), None);
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_are_kept() {
        for text in ["\u{feff}a: 1\r\nb: 2\r\n", "a: 1\r\n", "\u{feff}"] {
            let signed = signed(text, CommentMark::Hash);
            assert!(is_signed(&signed), "{signed:?}");
            assert!(signed.starts_with(BYTE_ORDER_MARK) == text.starts_with(BYTE_ORDER_MARK));
            assert_eq!(Parts::of(&signed).digest(), Digest::of_bytes(text.as_bytes()));
        }
    }

    #[test]
    fn a_signature_is_of_one_item_one_text_and_one_time() {
        let good = signed(TEXT, CommentMark::Hash);
        let other_time = good.replace("2030-03-17", "2030-03-18");
        let revoked = TrustStore::new(vec![TrustedKey {
            revoked: Some(Revocation::Always),
            ..entry("examples", &key(), &["*"])
        }]);
        let lines = [
            refusal("examples/other", &good, &store()),
            refusal("other/hello", &sign_text("other/hello", TEXT, CommentMark::Hash, &key(), AT), &store()),
            refusal(ID, &other_time, &store()),
            refusal(ID, &format!("{good}x"), &store()),
            refusal(ID, &format!("# first\n{good}"), &store()),
            refusal(ID, &good, &TrustStore::default()),
            refusal(ID, &good, &revoked),
            refusal(ID, "# graph-host:signed:\n", &store()),
            refusal(ID, "x # graph-host:signed:\n", &store()),
            refusal(ID, &good.replace("T17:46:40.000Z", "T17:46:40Z"), &store()),
            refusal(ID, &good.replacen('=', "", 1), &store()),
            refusal(ID, &good.replacen(&key().id().to_string(), "7AB6", 1), &store()),
        ]
        .map(|refusal| refusal.to_string());
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn lines_of_rye_are_shown_and_prove_nothing() {
        let line = "rye:signed:2026-02-11T00:00:00Z:a1b2:c2ln:0123456789abcdef";
        for text in [format!("# {line}\n{TEXT}"), format!("<!-- {line} -->\n# Title\n")] {
            let standing = verify_text(ID, &text, &store(), AT);
            assert_eq!(standing, TextStanding::Legacy { fingerprint: "0123456789abcdef".to_owned() });
        }
        assert_eq!(verify_text(ID, TEXT, &store(), AT), TextStanding::Unsigned);
        let documentation = "# Signing\n# graph-host:signed:<time>:<digest>\n";
        assert_eq!(verify_text(ID, documentation, &store(), AT), TextStanding::Unsigned);
    }

    proptest! {
        #[test]
        fn what_is_signed_verifies_and_is_otherwise_unchanged(text in "(#![a-z]{0,3}\n)?[a-z#:\n\r é]{0,80}") {
            let signed = signed(&text, CommentMark::Hash);
            prop_assert!(is_signed(&signed), "{signed:?}");
            let parts = Parts::of(&signed);
            let rest = [parts.before, parts.after].concat();
            prop_assert!(rest == text || rest.strip_suffix('\n') == Some(text.as_str()));
        }

        #[test]
        fn any_changed_character_of_the_text_or_the_line_is_refused(at: prop::sample::Index, to in any::<char>()) {
            let good = signed(TEXT, CommentMark::Hash);
            let at = at.index(good.len());
            // The end of the signature line and the key id, which is a hint, are not signed.
            let line_end = good.find('\n').unwrap_or(0);
            let free = line_end - 64..=line_end;
            let changed: String = good.char_indices().map(|(index, c)| if index == at { to } else { c }).collect();
            prop_assume!(changed != good && !free.contains(&at));
            prop_assert!(!is_signed(&changed), "{changed:?}");
        }
    }
}
