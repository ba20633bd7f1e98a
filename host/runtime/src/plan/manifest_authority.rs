//! Decides which manifest grants are computed from; no other module does.
//!
//! The manifest that the user gives in this command is accepted. The manifest that a run keeps is accepted if this host
//! has started the run: the record that pins it is signed with this host's identity key, and this host signs only
//! manifests that its user has given or accepted. Any other run has the manifest of a stranger: an imported or adopted
//! run, and every run that was forked, edited or continued from one, even if the user has added the key that signs it.
//! Such a manifest says what was allowed somewhere else. Until the user gives a manifest, nothing that it names is
//! opened or sent.

use std::ops::Deref;
use std::sync::Arc;

use graph_core::capability::{Manifest, ManifestReach};
use graph_core::diagnostic::printable;
use graph_core::trust::KeyId;
use graph_engine::HostResources;
use graph_store::RunRow;

use crate::error::{Error, Result};
use crate::project::user_home::Home;
use crate::remedy::{ManifestPurpose, Remedy};

/// A manifest that grants are computed from.
#[derive(Clone, Debug)]
pub struct AcceptedManifest(Arc<Manifest>);

impl AcceptedManifest {
    /// Accepts the manifest that the user, or the program, gives in this command.
    pub fn given(manifest: impl Into<Arc<Manifest>>) -> Self {
        Self(manifest.into())
    }

    /// Makes the manifest that allows nothing.
    pub fn nothing() -> Self {
        Self::given(Manifest::deny_all())
    }

    /// Returns a restricted manifest; `restrict` must only narrow it.
    #[must_use]
    pub(crate) fn narrowed(&self, restrict: impl FnOnce(&Manifest) -> Manifest) -> Self {
        Self(restrict(&self.0).into())
    }

    /// Returns the manifest for a run, which only reads it.
    pub(crate) fn shared(&self) -> Arc<Manifest> {
        Arc::clone(&self.0)
    }
}

impl Deref for AcceptedManifest {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.0
    }
}

/// The host that has started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This host, by its identity key.
    Own,
    /// Another host.
    Stranger,
}

impl Origin {
    /// Returns the origin of a run whose records were verified with the key that its row names. A key that was added,
    /// or is known only for verification, is not this host's own.
    pub(crate) fn of(row: &RunRow, home: &Home) -> Result<Self> {
        Ok(if home.is_own_identity(row.key)? { Self::Own } else { Self::Stranger })
    }
}

/// Purpose of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A replay that the journal answers.
    Replay,
    /// A replay in which the world answers calls that only read.
    Ask,
    /// A replay in which the world answers all calls again.
    Send,
    /// A resume of the run.
    Resume,
}

impl Purpose {
    /// Returns the parts of the machine that may be opened under an accepted manifest.
    fn opens(self) -> HostResources {
        match self {
            Self::Replay => HostResources::FOLDERS,
            Self::Ask => HostResources::WITHOUT_KEYS,
            Self::Send | Self::Resume => HostResources::ALL,
        }
    }

    fn of_remedy(self) -> ManifestPurpose {
        match self {
            Self::Replay => ManifestPurpose::Replay,
            Self::Ask => ManifestPurpose::Ask,
            Self::Send => ManifestPurpose::Send,
            Self::Resume => ManifestPurpose::Resume,
        }
    }
}

/// A manifest, with the parts of the machine that it may open.
#[derive(Debug)]
pub(crate) struct Permitted {
    pub(crate) manifest: AcceptedManifest,
    pub(crate) opens: HostResources,
}

/// The manifest that a run keeps.
#[derive(Clone, Debug)]
pub(crate) struct KeptManifest {
    manifest: Manifest,
    run: String,
    key: KeyId,
    origin: Origin,
}

impl KeptManifest {
    pub(crate) fn new(manifest: Manifest, row: &RunRow, origin: Origin) -> Self {
        Self { manifest, run: row.run_id.clone(), key: row.key, origin }
    }

    /// Returns the manifest as a record: to compare it, and for decisions of the walker that dispatch nothing.
    pub(crate) fn of_record(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the accepted manifest: the given one, or else this one. A stranger's opens nothing, and is an error
    /// unless the journal answers or it allows nothing.
    pub(crate) fn permit(&self, purpose: Purpose, given: Option<AcceptedManifest>) -> Result<Permitted> {
        if let Some(manifest) = given {
            return Ok(Permitted { manifest, opens: purpose.opens() });
        }
        let manifest = AcceptedManifest::given(self.manifest.clone());
        match (self.origin, purpose) {
            (Origin::Own, _) => Ok(Permitted { manifest, opens: purpose.opens() }),
            (Origin::Stranger, Purpose::Replay) => Ok(Permitted { manifest, opens: HostResources::NOTHING }),
            (Origin::Stranger, _) if self.allows_nothing() => {
                Ok(Permitted { manifest, opens: HostResources::NOTHING })
            }
            (Origin::Stranger, _) => Err(self.refused(purpose)),
        }
    }

    fn allows_nothing(&self) -> bool {
        self.manifest.digest() == Manifest::deny_all().digest()
    }

    fn refused(&self, purpose: Purpose) -> Error {
        let Self { manifest, run, key, .. } = self;
        let reach = ManifestReach::from_manifest(manifest);
        let named = reach.to_string();
        let reached = if named.is_empty() { " only larger budgets".to_owned() } else { named };
        Error::denied(format!(
            "run {} has the manifest of another host, with the key {}, and you have given none: nothing is reached by what a \
             stranger allows. It names:{reached}",
            printable(run),
            key.short()
        ))
        .details(serde_json::json!({
            "run_id": run,
            "key_id": key,
            "manifest": manifest.digest(),
            "reach": reach,
        }))
        .help(Remedy::GiveManifest { run: run.clone(), purpose: purpose.of_remedy() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    const REACHING: &str = "items: { \"t/a\": { http: [{ host: a.example }], secrets: [{ name: S, from: { env: TOKEN }, \
                            header: authorization, host: a.example }] } }";

    fn manifest(text: &str) -> Manifest {
        Manifest::parse(text, "caps.yaml", "/").unwrap().0
    }

    fn kept(text: &str, origin: Origin) -> KeptManifest {
        KeptManifest::new(manifest(text), &graph_store::conformance::sample::run("r").row, origin)
    }

    #[test]
    fn a_strangers_manifest_opens_nothing_and_reaches_nothing() {
        let kept = kept(REACHING, Origin::Stranger);
        let replayed = kept.permit(Purpose::Replay, None).unwrap();
        assert_eq!(replayed.opens, HostResources::NOTHING);
        for purpose in [Purpose::Ask, Purpose::Send, Purpose::Resume] {
            let refused = kept.permit(purpose, None).unwrap_err();
            assert_eq!(refused.kind(), Kind::Denied);
            for part in ["run r", "a.example", "TOKEN"] {
                assert!(refused.message().contains(part), "{part} in {}", refused.message());
            }
            assert!(matches!(refused.remedy(), Some(Remedy::GiveManifest { .. })));
        }
    }

    #[test]
    fn a_given_manifest_takes_the_place_of_any() {
        let given = manifest("dispatch: [\"execute.tool.t.b\"]");
        for origin in [Origin::Own, Origin::Stranger] {
            let kept = kept(REACHING, origin);
            let permitted =
                kept.permit(Purpose::Resume, Some(AcceptedManifest::given(given.clone()))).unwrap();
            assert_eq!((permitted.manifest.digest(), permitted.opens), (given.digest(), HostResources::ALL));
        }
    }

    #[test]
    fn a_replay_reads_no_value_of_a_secret_even_of_an_own_run() {
        let own = kept(REACHING, Origin::Own);
        assert_eq!(own.permit(Purpose::Replay, None).unwrap().opens, HostResources::FOLDERS);
        assert_eq!(own.permit(Purpose::Ask, None).unwrap().opens, HostResources::WITHOUT_KEYS);
        assert_eq!(own.permit(Purpose::Resume, None).unwrap().opens, HostResources::ALL);
    }

    #[test]
    fn where_nothing_is_allowed_nothing_has_to_be_given() {
        let nothing = KeptManifest { manifest: Manifest::deny_all(), ..kept(REACHING, Origin::Stranger) };
        assert_eq!(nothing.permit(Purpose::Resume, None).unwrap().opens, HostResources::NOTHING);
        let budgets = kept("run: { steps: 999999 }", Origin::Stranger);
        assert!(budgets.permit(Purpose::Resume, None).is_err(), "a stranger's budgets do not count either");
    }
}
