//! Signature lines of text items: graphs, knowledge, directives.
//!
//! The line has the shape of Rye's, after the comment mark of the format:
//!
//! ```text
//! # graph-host:signed:<time>:<digest>:<signature>:<key id>
//! ```
//!
//! with the time in RFC 3339, the SHA-256 of the whole file without the line in hexadecimal digits, and the signature in URL-safe base64.
//! It is the first line, or the second one below a `#!`. The signature covers the canonical JSON of `{digest, id, time}` in the domain of
//! the item's kind, so a line cannot be moved to another item, and knowledge never verifies as a graph. Rye's own lines cover less of the
//! file and not the id: they are recognised, and prove nothing.
//!
//! Lines of the first format have one domain for all kinds. Any graph could have been signed as Markdown that is knowledge, so such a
//! line is valid only for knowledge, which executes nothing.

use std::fmt;
use std::ops::Range;

use serde_json::json;

use super::key::{KeyId, Signature, SigningKey};
use super::requirement::{CountedSigner, TooFewSignatures};
use super::shown;
use super::store::{KeyName, KeyRefusal, Moment, TrustStore, TrustedKey};
use crate::digest::Digest;
use crate::item::ItemType;
use crate::json::canonical_string;
use crate::time::Timestamp;

/// The domain of signatures of the first format, which do not cover the kind of the item.
const ANY_KIND: &str = "graph-host/text-item/v1";
const TAG: &str = "graph-host:signed:";
/// Prefixes of the lines of Rye and of its predecessors.
const LEGACY_TAGS: [&str; 3] = ["rye:signed:", "rye:validated:", "kiwi-mcp:validated:"];
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The kind of item as which a text is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A graph: a program.
    Graph,
    /// Text that nodes load and search; the only kind for which signatures of the first format suffice.
    Knowledge,
    /// Text with inputs and placeholders, which nodes fill in.
    Directive,
}

impl TextKind {
    /// Every kind; each has a signature domain of its own.
    pub const ALL: [Self; 3] = [Self::Graph, Self::Knowledge, Self::Directive];

    /// Returns the name on the command line and in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Knowledge => "knowledge",
            Self::Directive => "directive",
        }
    }

    /// Returns the domain of the signatures of such items.
    const fn domain(self) -> &'static str {
        match self {
            Self::Graph => "graph-host/text-item/v2/graph",
            Self::Knowledge => "graph-host/text-item/v2/knowledge",
            Self::Directive => "graph-host/text-item/v2/directive",
        }
    }

    /// Checks whether a signature that covers no kind is valid for such items: it never turns a text into a program or an instruction.
    const fn takes_any_kind(self) -> bool {
        matches!(self, Self::Knowledge)
    }
}

impl From<ItemType> for TextKind {
    /// Maps a tool to a graph, since only graphs are tools in text form.
    fn from(item_type: ItemType) -> Self {
        match item_type {
            ItemType::Tool => Self::Graph,
            ItemType::Knowledge => Self::Knowledge,
            ItemType::Directive => Self::Directive,
        }
    }
}

impl fmt::Display for TextKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph => "a graph",
            Self::Knowledge => "knowledge",
            Self::Directive => "a directive",
        })
    }
}

/// The fields that a signature line covers, by the version of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormatVersion {
    /// Id, time and text: the first format.
    AnyKind,
    /// Additionally the kind of the item: the second format.
    OfKind,
}

impl TextFormatVersion {
    /// Returns the number of the format for reports.
    pub const fn number(self) -> u32 {
        match self {
            Self::AnyKind => 1,
            Self::OfKind => 2,
        }
    }
}

/// The comment syntax of a format.
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

    /// Returns the mark for files of an extension, without its dot; `None` for formats without comments and for unknown ones.
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

/// The result of verifying a text item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextStanding {
    /// The text has no signature.
    Unsigned,
    /// A key of the trust store signed it and is valid for it.
    Signed {
        /// The trusted key that signed it.
        key: KeyName,
        /// The time of the signature, as the signer states it.
        time: Timestamp,
        /// The end of the key's validity.
        not_after: Option<Timestamp>,
        /// The version of its format.
        format: TextFormatVersion,
    },
    /// The text is part of the program, which lists its digest.
    BuiltIn,
    /// The text has a line of Rye's, which proves nothing here.
    Legacy {
        /// The key's fingerprint in the line.
        fingerprint: String,
    },
    /// The text has an invalid signature, and must not be used.
    Invalid(TextRefusal),
}

/// The reason why the signature of a text item is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum TextRefusal {
    /// The line is malformed.
    #[error("the signature line is malformed: {0}")]
    Malformed(&'static str),
    /// The line is not the first one, so text was inserted before it.
    #[error("the signature line is line {0}; it has to be the first one, or the second one below a `#!`")]
    Misplaced(usize),
    /// The text differs from the signed one.
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
    /// The signature is not that of the named key.
    #[error(
        "the signature does not verify with the key {key} that it names: it was made for another item than `{id}`, or changed"
    )]
    BadSignature { key: KeyName, id: String },
    /// The key is not valid for this item or at this time.
    #[error("it is signed, and {0}")]
    Refused(#[from] KeyRefusal),
    /// The trust store requires more signatures than a text can have, or one of another key.
    #[error("it is signed, and a text carries one signature: {0}")]
    TooFew(TooFewSignatures),
    /// The trust store requires a signature, and the text has none that could be valid.
    #[error("it is not signed: {0}")]
    Required(TooFewSignatures),
    /// The key signed it as another kind of item.
    #[error("the key {key} signed it as {signed}, and it is used as {used}")]
    OtherKind {
        key: KeyName,
        /// The signed kind.
        signed: TextKind,
        /// The kind of the use.
        used: TextKind,
    },
    /// The signature does not cover the kind of the item, which is required for such items.
    #[error(
        "it is signed by the key {key} in the first format of signature lines, which does not say what kind of item was \
         signed, and it is used as {used}"
    )]
    AnyKind {
        key: KeyName,
        /// The kind of the use.
        used: TextKind,
    },
}

impl TextRefusal {
    /// Returns the message of the refusal, with the file's name.
    pub fn of_file(&self, file: &str) -> String {
        match self {
            Self::Required(_) | Self::OtherKind { .. } | Self::AnyKind { .. } => {
                format!("{file} is refused: {self}")
            }
            _ => format!("the signature of {file} does not hold: {self}"),
        }
    }

    /// Returns the signature that the text needs instead, if another one would do.
    pub fn wanted(&self) -> Option<WantedSignature> {
        match self {
            Self::Required(_) | Self::TooFew(_) => Some(WantedSignature::OfRequiredKey),
            Self::OtherKind { used, .. } => Some(WantedSignature::AsOtherKind(*used)),
            Self::AnyKind { used, .. } => Some(WantedSignature::WithKind(*used)),
            _ => None,
        }
    }
}

/// Signature that a refused text item needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedSignature {
    /// The signature of a key that the trust store requires.
    OfRequiredKey,
    /// A signature as the kind of its use, in place of another kind.
    AsOtherKind(TextKind),
    /// A signature that covers the kind of its use.
    WithKind(TextKind),
}

impl fmt::Display for WantedSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfRequiredKey => f.write_str("have it signed with one of these keys"),
            Self::AsOtherKind(used) => write!(
                f,
                "fetch it again from where it came; if it is yours and is meant to be {used}, sign it as that"
            ),
            Self::WithKind(_) => f.write_str("have it signed again by its owner"),
        }
    }
}

/// The fields of a signature line.
struct Line {
    time: Timestamp,
    digest: Digest,
    signature: Signature,
    key: KeyId,
}

impl Line {
    fn parse(content: &str) -> Result<Self, TextRefusal> {
        let fields = content.strip_prefix(TAG).unwrap_or_default();
        // The time contains colons, so the fields are counted from the end.
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

/// Returns the signed message of an item.
fn message(id: &str, time: Timestamp, digest: &Digest) -> String {
    canonical_string(&json!({ "digest": digest, "id": id, "time": time.to_string() }))
}

/// A text, divided at its signature line: the text before it, the line without its line end, and the text after it.
struct Parts<'t> {
    before: &'t str,
    line: Option<&'t str>,
    after: &'t str,
}

impl<'t> Parts<'t> {
    fn parse(text: &'t str) -> Self {
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

/// Returns the range of a text's signature line, with its line break; `None` if it has none.
pub fn signature_line(text: &str) -> Option<Range<usize>> {
    let parts = Parts::parse(text);
    parts.line.map(|_| parts.before.len()..text.len() - parts.after.len())
}

/// Returns the text without its signature line, which is the signed text.
pub fn unsigned_text(text: &str) -> String {
    let parts = Parts::parse(text);
    [parts.before, parts.after].concat()
}

/// Returns the text with a new signature line for an item of that kind; an existing line is replaced.
pub fn sign_text(
    kind: TextKind,
    id: &str,
    text: &str,
    mark: CommentMark,
    key: &SigningKey,
    at: Timestamp,
) -> String {
    sign_in(kind.domain(), id, text, mark, key, at)
}

fn sign_in(
    domain: &'static str,
    id: &str,
    text: &str,
    mark: CommentMark,
    key: &SigningKey,
    at: Timestamp,
) -> String {
    let parts = Parts::parse(text);
    let digest = parts.digest();
    let signature = key.sign(domain, message(id, at, &digest).as_bytes());
    let (open, close) = mark.around();
    let end = if parts.after.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')) {
        "\r\n"
    } else {
        "\n"
    };
    // A `#!` line at the end of the text gets a line end, which is then part of the signed text.
    if !parts.before.is_empty() && !parts.before.ends_with(['\n', BYTE_ORDER_MARK]) {
        return sign_in(domain, id, &format!("{}\n", parts.before), mark, key, at);
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

/// Verifies the text of an item of that kind: its signature line, against the trust store with its requirements, and the time. All readers
/// of text items use this function.
pub fn verify_text(
    kind: TextKind,
    id: &str,
    text: &str,
    store: &TrustStore,
    at: impl Into<Moment>,
) -> TextStanding {
    match standing_of(kind, id, text, store, at.into()) {
        // Removing a signature does not circumvent a requirement.
        standing @ (TextStanding::Unsigned | TextStanding::Legacy { .. }) => match store.enough(id, &[]) {
            Ok(_) => standing,
            Err(few) => TextStanding::Invalid(TextRefusal::Required(few)),
        },
        standing => standing,
    }
}

/// Returns the standing of a text that is part of the program and has the digest that the program lists. It is refused like an unsigned one
/// if the store requires signatures.
pub fn built_in_text(id: &str, store: &TrustStore) -> TextStanding {
    let missing = store.enough(id, &[]).err();
    missing.map_or(TextStanding::BuiltIn, |few| TextStanding::Invalid(TextRefusal::Required(few)))
}

fn standing_of(kind: TextKind, id: &str, text: &str, store: &TrustStore, at: Moment) -> TextStanding {
    let parts = Parts::parse(text);
    match parts.line {
        Some(line) => {
            let content = CommentMark::ALL.into_iter().find_map(|mark| mark.inside(line));
            match content.filter(|content| content.starts_with(TAG)) {
                Some(content) => {
                    check(kind, id, content, &parts, store, at).unwrap_or_else(TextStanding::Invalid)
                }
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
    kind: TextKind,
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
    // Finds the kind for which the key signed the message; `Some(None)` if the line does not cover the kind.
    let signed_as = |key: &TrustedKey| {
        let made_in = |domain| key.key.verify(domain, message.as_bytes(), &line.signature);
        let kinds = std::iter::once(kind).chain(TextKind::ALL.into_iter().filter(|other| *other != kind));
        let of_kind = kinds.map(Some).find(|kind| kind.is_some_and(|kind| made_in(kind.domain())));
        of_kind.or_else(|| made_in(ANY_KIND).then_some(None))
    };
    let signer = hinted.clone().chain(others).find_map(|key| Some((key, signed_as(key)?)));
    let Some((signer, meant)) = signer else {
        return Err(match hinted.clone().next() {
            Some(key) => TextRefusal::BadSignature { key: key.named(), id: shown(id) },
            None => TextRefusal::UnknownKey(line.key),
        });
    };
    match store.allow(signer.id(), id, at) {
        Some(Ok(entry)) => {
            let (key, not_after) = (entry.named(), entry.not_after);
            let format = match meant {
                Some(meant) if meant == kind => TextFormatVersion::OfKind,
                Some(meant) => return Err(TextRefusal::OtherKind { key, signed: meant, used: kind }),
                None if kind.takes_any_kind() => TextFormatVersion::AnyKind,
                None => return Err(TextRefusal::AnyKind { key, used: kind }),
            };
            store
                .enough(id, &[CountedSigner { key: key.clone(), not_after }])
                .map_err(TextRefusal::TooFew)?;
            Ok(TextStanding::Signed { key, time: line.time, not_after, format })
        }
        Some(Err(refusal)) => Err(refusal.into()),
        None => Err(TextRefusal::UnknownKey(line.key)),
    }
}

/// Returns the line number of a valid signature line at the wrong place. A text that only mentions signature lines has no valid one.
fn misplaced(text: &str) -> Option<usize> {
    let is_signature = |line: &str| {
        let content = CommentMark::ALL.into_iter().find_map(|mark| mark.inside(line.trim_end()));
        content.is_some_and(|content| content.starts_with(TAG) && Line::parse(content).is_ok())
    };
    text.lines().position(is_signature).map(|index| index + 1)
}

/// Reads a line of Rye's at the place of the signature line.
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
    use crate::capability::ItemPattern;
    use crate::trust::{Requirement, Revocation, RulePlace};

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
        sign_text(TextKind::Graph, ID, text, mark, &key(), AT)
    }

    /// Signs in the first format.
    fn signed_without_kind(text: &str) -> String {
        sign_in(ANY_KIND, ID, text, CommentMark::Hash, &key(), AT)
    }

    fn is_signed(text: &str) -> bool {
        let standing = verify_text(TextKind::Graph, ID, text, &store(), AT);
        matches!(standing, TextStanding::Signed { time: AT, format: TextFormatVersion::OfKind, .. })
    }

    fn refusal(id: &str, text: &str, store: &TrustStore) -> TextRefusal {
        match verify_text(TextKind::Graph, id, text, store, AT) {
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
            assert_eq!(Parts::parse(&signed).digest(), Digest::of_bytes(text.as_bytes()));
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
            refusal(
                "other/hello",
                &sign_text(TextKind::Graph, "other/hello", TEXT, CommentMark::Hash, &key(), AT),
                &store(),
            ),
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
            let standing = verify_text(TextKind::Graph, ID, &text, &store(), AT);
            assert_eq!(standing, TextStanding::Legacy { fingerprint: "0123456789abcdef".to_owned() });
        }
        let standing = |text| verify_text(TextKind::Graph, ID, text, &store(), AT);
        assert_eq!(standing(TEXT), TextStanding::Unsigned);
        assert_eq!(standing("# Signing\n# graph-host:signed:<time>:<digest>\n"), TextStanding::Unsigned);
    }

    #[test]
    fn a_signature_is_of_one_kind_of_item() {
        for signed_as in TextKind::ALL {
            let text = sign_text(signed_as, ID, TEXT, CommentMark::Hash, &key(), AT);
            for used in TextKind::ALL {
                let standing = verify_text(used, ID, &text, &store(), AT);
                match standing {
                    TextStanding::Signed { format: TextFormatVersion::OfKind, .. } => {
                        assert_eq!(used, signed_as);
                    }
                    TextStanding::Invalid(TextRefusal::OtherKind { signed, used: found, .. }) => {
                        assert!(used != signed_as && (signed, found) == (signed_as, used));
                    }
                    other => panic!("{signed_as:?} used as {used:?}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_signature_that_covers_no_kind_counts_for_knowledge_alone() {
        let text = signed_without_kind(TEXT);
        let standing = |kind, text: &str| verify_text(kind, ID, text, &store(), AT);
        assert!(matches!(
            standing(TextKind::Knowledge, &text),
            TextStanding::Signed { format: TextFormatVersion::AnyKind, .. }
        ));
        for kind in [TextKind::Graph, TextKind::Directive] {
            let TextStanding::Invalid(refusal @ TextRefusal::AnyKind { .. }) = standing(kind, &text) else {
                panic!("{kind:?}: {:?}", standing(kind, &text))
            };
            assert_eq!(refusal.wanted(), Some(WantedSignature::WithKind(kind)));
        }
        let changed = standing(TextKind::Knowledge, &format!("{text}x"));
        assert!(matches!(changed, TextStanding::Invalid(TextRefusal::Changed { .. })));
    }

    #[test]
    fn what_is_required_is_not_passed_by_removing_the_line() {
        let rules = "keys: []\n";
        let (empty, _) = TrustStore::from_yaml("trust.yaml", rules).unwrap();
        assert!(empty.requirements().is_empty());
        let mut store = store();
        store.requirements.push(Requirement {
            items: vec![ItemPattern::parse("examples/*").unwrap()],
            threshold: 1,
            keys: vec![store.keys[0].named()],
            place: Some(RulePlace { file: "trust.yaml".to_owned(), line: 7 }),
        });
        let rye = format!("# rye:signed:2026-02-11T00:00:00Z:a1b2:c2ln:0123456789abcdef\n{TEXT}");
        for kind in TextKind::ALL {
            let signed = sign_text(kind, ID, TEXT, CommentMark::Hash, &key(), AT);
            assert!(matches!(verify_text(kind, ID, &signed, &store, AT), TextStanding::Signed { .. }));
            for text in [TEXT, &rye] {
                for id in [ID.to_owned(), format!("{ID}@1.0.0")] {
                    let standing = verify_text(kind, &id, text, &store, AT);
                    let TextStanding::Invalid(refusal @ TextRefusal::Required(_)) = standing else {
                        panic!("{kind:?} {id}: {standing:?}")
                    };
                    let told = refusal.of_file("hello.yaml");
                    assert!(told.starts_with("hello.yaml is refused: it is not signed: it needs"), "{told}");
                    assert!(told.contains("trust.yaml:7"), "{told}");
                    assert_eq!(refusal.wanted(), Some(WantedSignature::OfRequiredKey));
                }
            }
            assert_eq!(verify_text(kind, "other/hello", TEXT, &store, AT), TextStanding::Unsigned);
        }
    }

    proptest! {
        #[test]
        fn what_is_signed_verifies_and_is_otherwise_unchanged(text in "(#![a-z]{0,3}\n)?[a-z#:\n\r é]{0,80}") {
            let signed = signed(&text, CommentMark::Hash);
            prop_assert!(is_signed(&signed), "{signed:?}");
            let parts = Parts::parse(&signed);
            let rest = [parts.before, parts.after].concat();
            prop_assert!(rest == text || rest.strip_suffix('\n') == Some(text.as_str()));
        }

        #[test]
        fn any_changed_character_of_the_text_or_the_line_is_refused(at: prop::sample::Index, to in any::<char>()) {
            let good = signed(TEXT, CommentMark::Hash);
            let at = at.index(good.len());
            // The end of the signature line and the key id, which is a hint, are not covered by the signature.
            let line_end = good.find('\n').unwrap_or(0);
            let free = line_end - 64..=line_end;
            let changed: String = good.char_indices().map(|(index, c)| if index == at { to } else { c }).collect();
            prop_assume!(changed != good && !free.contains(&at));
            prop_assert!(!is_signed(&changed), "{changed:?}");
        }
    }
}
