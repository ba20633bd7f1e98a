//! The identity keys of this host: the present one, which signs, and earlier ones.
//!
//! `identities/KEYID.pem` is a retired private key (mode 0600), `identities/KEYID.pub.pem` the public half of a key
//! whose private half was destroyed, `identities/KEYID.rotation.json` the statement that its successor follows it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Rotation, SigningKey, VerifyingKey};

use crate::error::{Error, Result};
use crate::project::text_file;
use crate::project::user_home::{Home, create_private_folder, write_atomic};

/// The knowledge that a host signs with its identity key as the state items of runs. The key is trusted for these and for
/// transcripts only.
pub const STATE_ITEMS: &str = "graphs/*";
/// The knowledge that a host signs with its identity key as transcripts.
pub const TRANSCRIPT_ITEMS: &str = "transcripts/*";

const PRIVATE: &str = ".pem";
const PUBLIC: &str = ".pub.pem";
const ROTATION: &str = ".rotation.json";

/// The result of a rotation of identity keys.
#[derive(Clone, Debug)]
pub struct IdentityRotation {
    /// The key that signed before the rotation.
    pub old: KeyId,
    /// The key that signs from now on.
    pub new: KeyId,
    /// File of the signed statement that the new key succeeds the old one.
    pub statement: PathBuf,
}

impl Home {
    /// Returns `identities/`, the folder of keys that this host has signed with before.
    pub fn identities(&self) -> PathBuf {
        self.root().join("identities")
    }

    /// Returns the private key of this host with that id, present or retired; `None` if this host has none. It is an
    /// error if its private half was destroyed.
    pub fn signing_identity(&self, id: KeyId) -> Result<Option<SigningKey>> {
        let present = self.identity()?;
        if present.id() == id {
            return Ok(Some(present));
        }
        let path = self.identities().join(format!("{id}{PRIVATE}"));
        match read(&path)? {
            Some(text) => read_private(&path, &text, id).map(Some),
            None if self.retired_public(id)?.is_some() => Err(Error::integrity(format!(
                "this host has destroyed its key {}: what it has signed can be verified, and not continued",
                id.short()
            ))
            .help("fork the run on a host that has the key, or start a new run")),
            None => Ok(None),
        }
    }

    /// Checks whether a key is this host's identity, present or earlier. A key that was added for the runs of a page is
    /// not: an earlier identity has the statement of its successor.
    pub fn is_own_identity(&self, id: KeyId) -> Result<bool> {
        if self.identity()?.id() == id {
            return Ok(true);
        }
        let path = self.identities().join(format!("{id}{ROTATION}"));
        let Some(text) = read(&path)? else { return Ok(false) };
        Ok(Rotation::parse(&text).map_err(|error| unusable(&path, &error))?.old().id() == id)
    }

    /// Adds a key with which another program of this user, for example a page, has signed runs, so that this host can
    /// resume them. The host's own identity stays unchanged.
    pub fn add_signing_identity(&self, key: &SigningKey) -> Result<()> {
        if self.signing_identity(key.id())?.is_some() {
            return Ok(());
        }
        let folder = self.identities();
        create_private_folder(&folder)?;
        let path = folder.join(format!("{}{PRIVATE}", key.id()));
        let text = key.to_pem().map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        write_atomic(&path, text.as_bytes(), true).map_err(|error| Error::write("the key", &path, &error))
    }

    /// Returns the public half of a key of this host; `None` if it has no such key.
    pub fn verifying_identity(&self, id: KeyId) -> Result<Option<VerifyingKey>> {
        let present = self.identity()?.verifying_key();
        if present.id() == id {
            return Ok(Some(present));
        }
        let path = self.identities().join(format!("{id}{PRIVATE}"));
        match read(&path)? {
            Some(text) => read_private(&path, &text, id).map(|key| Some(key.verifying_key())),
            None => self.retired_public(id),
        }
    }

    /// Returns the public halves of all keys of this host, the present one first.
    pub fn verifying_identities(&self) -> Result<Vec<VerifyingKey>> {
        let mut keys = vec![self.identity()?.verifying_key()];
        for id in self.retired_identities()? {
            keys.extend(self.verifying_identity(id)?.filter(|key| !keys.contains(key)));
        }
        Ok(keys)
    }

    /// Returns the ids of the keys that this host has signed with before, in order.
    pub(crate) fn retired_identities(&self) -> Result<Vec<KeyId>> {
        let folder = self.identities();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::read("the folder of identities", &folder, &error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| Error::read("the folder of identities", &folder, &error))?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let id = name.strip_suffix(PUBLIC).or_else(|| name.strip_suffix(PRIVATE));
            ids.extend(id.and_then(|id| id.parse::<KeyId>().ok()));
        }
        ids.sort_unstable_by_key(|id| *id.as_bytes());
        ids.dedup();
        Ok(ids)
    }

    /// Gives this host a new identity key. The old key is kept, so that the runs that it has signed can be resumed;
    /// with `destroy`, only its public half is kept, and those runs can only be verified. The old key is stored safely
    /// before the new one replaces it.
    pub fn rotate_identity(&self, destroy: bool, at: Timestamp) -> Result<IdentityRotation> {
        create_private_folder(self.root())?;
        let lock_path = self.rotation_lock();
        let failed = |error: &io::Error| Error::write("the lock file", &lock_path, error);
        let lock = File::create(&lock_path).map_err(|error| failed(&error))?;
        lock.lock().map_err(|error| failed(&error))?;
        let old = self.identity()?;
        // An interrupted rotation may have left a copy of the present key, which would survive `destroy`.
        self.forget_rotation_of(old.id());
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            Error::storage(format!("the system gives no random bytes for a key: {error}")).caused_by(error)
        })?;
        let new = SigningKey::from_seed(&seed);
        seed.fill(0);
        let unwritable = |error: &dyn std::fmt::Display| Error::storage(error.to_string());
        let rotation = Rotation::sign(&old, &new, at).map_err(|error| unwritable(&error))?;
        let folder = self.identities();
        create_private_folder(&folder)?;
        let write = |path: &Path, text: &str, private: bool| {
            write_atomic(path, text.as_bytes(), private)
                .map_err(|error| Error::write("the identity key", path, &error))
        };
        let statement = folder.join(format!("{}{ROTATION}", old.id()));
        write(&statement, &rotation.to_text(), false)?;
        if destroy {
            let public = old.verifying_key().to_pem().map_err(|error| unwritable(&error))?;
            write(&folder.join(format!("{}{PUBLIC}", old.id())), &public, false)?;
        } else {
            let private = old.to_pem().map_err(|error| unwritable(&error))?;
            write(&folder.join(format!("{}{PRIVATE}", old.id())), &private, true)?;
        }
        let pem = new.to_pem().map_err(|error| unwritable(&error))?;
        write(&self.identity_file(), &pem, true)?;
        Ok(IdentityRotation { old: old.id(), new: new.id(), statement })
    }

    fn rotation_lock(&self) -> PathBuf {
        self.root().join(".identity.lock")
    }

    /// Undoes a rotation that was interrupted before the new key replaced the old one: the retired key is still the
    /// present one. A rotation by a running process is left alone.
    pub(crate) fn undo_half_rotation(&self) {
        let present = || {
            let text = text_file::read(&self.identity_file()).ok()?;
            SigningKey::from_pem(&text).ok().map(|key| key.id())
        };
        let is_half_made = |id: KeyId| {
            [PRIVATE, PUBLIC, ROTATION]
                .iter()
                .any(|end| self.identities().join(format!("{id}{end}")).exists())
        };
        let is_folder = fs::symlink_metadata(self.identities()).is_ok_and(|found| found.is_dir());
        if !is_folder || !present().is_some_and(is_half_made) {
            return;
        }
        let Ok(lock) = File::create(self.rotation_lock()) else { return };
        if lock.try_lock().is_ok()
            && let Some(present) = present()
        {
            self.forget_rotation_of(present);
        }
    }

    /// Removes the files that a rotation has written about the present key, but not the key itself. A statement whose
    /// new key is known here is kept: that rotation was completed, and the old key was put back later.
    fn forget_rotation_of(&self, present: KeyId) {
        let at = |end: &str| self.identities().join(format!("{present}{end}"));
        let named = text_file::read(&at(ROTATION)).ok().and_then(|text| Rotation::parse(&text).ok());
        let is_known = |id: KeyId| {
            [PRIVATE, PUBLIC].iter().any(|end| self.identities().join(format!("{id}{end}")).exists())
        };
        let was_completed = named.is_some_and(|rotation| is_known(rotation.new_key().id()));
        for end in [PRIVATE, PUBLIC].into_iter().chain((!was_completed).then_some(ROTATION)) {
            // The next rotation overwrites files that cannot be removed.
            let _ = fs::remove_file(at(end));
        }
    }

    fn retired_public(&self, id: KeyId) -> Result<Option<VerifyingKey>> {
        let path = self.identities().join(format!("{id}{PUBLIC}"));
        let Some(text) = read(&path)? else { return Ok(None) };
        let key = VerifyingKey::parse(&text).map_err(|error| unusable(&path, &error))?;
        if key.id() == id { Ok(Some(key)) } else { Err(unusable(&path, &"it is another key")) }
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match text_file::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read("the identity key", path, &error)),
    }
}

fn read_private(path: &Path, text: &str, id: KeyId) -> Result<SigningKey> {
    let key = SigningKey::from_pem(text).map_err(|error| unusable(path, &error))?;
    if key.id() == id { Ok(key) } else { Err(unusable(path, &"it is another key")) }
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::integrity(format!("the key {} is unusable: {reason}", path.display()))
        .help("put it back from a copy: without it, what this host has signed with it cannot be verified")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_rotation_that_was_cut_short_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let first = home.identity().unwrap();
        let pem = fs::read_to_string(home.identity_file()).unwrap();
        let left = |home: &Home| fs::read_dir(home.identities()).unwrap().count();
        home.rotate_identity(false, Timestamp(1)).unwrap();
        // The state just before the new key replaces the old one.
        fs::write(home.identity_file(), &pem).unwrap();
        assert_eq!(left(&home), 2);
        home.clean_up();
        assert_eq!((left(&home), home.identity().unwrap().id()), (0, first.id()));
        // No copy of the private key survives `destroy`.
        fs::write(home.identities().join(format!("{}.pem", first.id())), &pem).unwrap();
        home.rotate_identity(true, Timestamp(2)).unwrap();
        assert!(!home.identities().join(format!("{}.pem", first.id())).exists());
        home.clean_up();
        assert_eq!(left(&home), 2, "a rotation that was completed stays");
        // While another process rotates, nothing is undone.
        fs::write(home.identity_file(), &pem).unwrap();
        let lock = File::create(home.rotation_lock()).unwrap();
        lock.lock().unwrap();
        home.clean_up();
        assert_eq!(left(&home), 2);
        drop(lock);
        home.clean_up();
        assert_eq!(left(&home), 0);
    }

    #[test]
    fn an_identity_that_was_followed_stays_usable_until_it_is_destroyed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let first = home.identity().unwrap();
        let followed = home.rotate_identity(false, Timestamp(1)).unwrap();
        assert_eq!((followed.old, followed.new), (first.id(), home.identity().unwrap().id()));
        assert_eq!(home.signing_identity(first.id()).unwrap().unwrap().id(), first.id());
        let statement = Rotation::parse(&fs::read_to_string(followed.statement).unwrap()).unwrap();
        assert_eq!(*statement.old(), first.verifying_key());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let kept = home.identities().join(format!("{}.pem", first.id()));
            assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let second = home.identity().unwrap();
        home.rotate_identity(true, Timestamp(2)).unwrap();
        assert_eq!(home.signing_identity(second.id()).unwrap_err().kind(), Kind::Integrity);
        assert_eq!(home.verifying_identity(second.id()).unwrap(), Some(second.verifying_key()));
        assert_eq!(home.verifying_identities().unwrap().len(), 3);
        let stranger = SigningKey::from_seed(&[3; 32]);
        assert!(home.signing_identity(stranger.id()).unwrap().is_none());
        for own in home.verifying_identities().unwrap() {
            assert!(home.is_own_identity(own.id()).unwrap(), "{}", own.id());
        }
        let page = SigningKey::from_seed(&[4; 32]);
        home.add_signing_identity(&page).unwrap();
        assert!(home.signing_identity(page.id()).unwrap().is_some());
        assert!(!home.is_own_identity(page.id()).unwrap(), "a key that was added");
        assert!(home.verifying_identity(stranger.id()).unwrap().is_none());
        // A key under the name of another one is not accepted.
        let public = stranger.verifying_key().to_pem().unwrap();
        fs::write(home.identities().join(format!("{}.pub.pem", second.id())), public).unwrap();
        assert_eq!(home.verifying_identity(second.id()).unwrap_err().kind(), Kind::Integrity);
    }
}
