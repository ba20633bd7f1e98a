//! Trust: keys, signatures, the trust store, and the verification of component bytes.

mod companions;
mod component;
mod dsse;
mod file;
mod key;
mod log;
mod marker;
mod requirement;
mod rotation;
mod statement;
mod store;
mod structure;
mod text;
mod transcript;
mod yank;

pub use companions::{
    COMPANIONS_TYPE, CompanionsError, CompanionsStatement, MAX_COMPANIONS, SignedFile, WriteError,
};
pub use component::{
    ClaimsError, ComponentStanding, EnvelopeClaims, SignError, VerifiedComponent, VerifyError, sign_component,
};
pub use dsse::{EnvelopeError, IN_TOTO, MAX_ENVELOPE, MAX_SIGNATURES, sign_document, verify_document};
pub use file::{EditError, KeyChange, Successor};
pub use key::{
    KeyBlock, KeyError, KeyId, ParseKeyIdError, ParseSignatureError, Signature, SigningKey, VerifyingKey,
};
pub use log::{LogEnd, LogEntry, LogError, LogEvent, peek_log, read_first_write, read_log};
pub use marker::{MarkerError, STATE_MARKER_TYPE, StateMarker};
pub use requirement::{Requirement, RulePlace, TooFewSignatures};
pub use rotation::{ROTATION_TYPE, Rotation, RotationError};
pub use statement::{
    ComponentStatement, PREDICATE_TYPE, Predicate, STATEMENT_TYPE, StatementError, make_statement,
};
pub use store::{KeyName, KeyRefusal, Moment, Revocation, TrustStore, TrustedKey};
pub use structure::NotAComponent;
pub use text::{
    CommentMark, TextFormatVersion, TextKind, TextRefusal, TextStanding, WantedSignature, built_in_text,
    sign_text, signature_line, unsigned_text, verify_text,
};
pub use transcript::{MAX_TRANSCRIPT_ENVELOPE, TRANSCRIPT_TYPE, TranscriptError, TranscriptStatement};
pub use yank::{
    MANIFEST_YANK_TYPE, MAX_REASON, MAX_YANK, PublishedVersion, YANK_TYPE, Yank, YankError, YankStatement,
    YankSubject, deciding_yanks, signed_content,
};

use crate::diagnostic::excerpt_up_to;

/// Prepares an external text for messages: on one line, of bounded length, without characters that a terminal acts on or that reorder the
/// text around them.
fn shown(text: &str) -> String {
    excerpt_up_to(text, 200)
}

/// Refuses values other than objects at these places (RFC 6901): serde would otherwise accept a list of the fields' values as an object.
fn objects_at(value: &serde_json::Value, pointers: &[&str]) -> Result<(), String> {
    match pointers.iter().find(|pointer| value.pointer(pointer).is_some_and(|found| !found.is_object())) {
        Some(&"") => Err("it has to be an object".to_owned()),
        Some(pointer) => Err(format!("`{}` has to be an object", pointer[1..].replace('/', "."))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
