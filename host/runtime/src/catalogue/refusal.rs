//! Artifacts that were not pulled, sorted by what a catalogue does with them.

use graph_catalogue::Text;
use graph_core::trust::{TextRefusal, VerifyError};
use graph_registry::pull::PullError;
use graph_registry::transport::TransportError;

use crate::error::Error;

/// Treatment of an artifact that was not pulled.
pub(super) enum Refusal {
    /// The registry cannot be used any more: the catalogue would be incomplete.
    Fatal(Error),
    /// No signature of the artifact is accepted.
    NotVerified {
        /// Reason, as a sentence.
        reason: Text,
        /// The ids of the keys that its signatures name.
        key_ids: Vec<Text>,
    },
    /// The artifact cannot be read.
    Unreadable(Text),
}

impl Refusal {
    /// Classifies the error of a pull.
    pub(super) fn of(error: PullError) -> Self {
        use TransportError as Trouble;
        let reason = Text::line(&error.to_string());
        match error {
            PullError::Transport(
                error @ (Trouble::Denied { .. }
                | Trouble::Credentials { .. }
                | Trouble::Realm { .. }
                | Trouble::Timeout { .. }
                | Trouble::Network { .. }),
            ) => Self::Fatal(error.into()),
            PullError::Unsigned { .. }
            | PullError::Signature { .. }
            | PullError::Signatures { .. }
            | PullError::Component { .. }
            | PullError::Text { .. }
            | PullError::Invalid { .. }
            | PullError::Version { .. }
            | PullError::Tag { .. } => Self::NotVerified { reason, key_ids: key_ids(&error) },
            _ => Self::Unreadable(reason),
        }
    }
}

/// Returns the key ids that signatures name. They are claims: nothing proves that these keys signed.
fn key_ids(error: &PullError) -> Vec<Text> {
    /// Limit of the ids, equal to the number of an artifact's signatures that are tried.
    const MOST: usize = 16;
    match error {
        PullError::Signatures { first, .. } => key_ids(first),
        PullError::Component { reason, .. } => match &**reason {
            VerifyError::UnknownKey { keys, .. } => {
                keys.iter().take(MOST).map(|key| Text::line(key)).collect()
            }
            _ => Vec::new(),
        },
        PullError::Text { reason, .. } => match &**reason {
            TextRefusal::UnknownKey(key) => vec![Text::line(&key.to_string())],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
