//! The public keys of other hosts whose runs the user trusts, for example the user's pages: `hosts/KEYID.pub.pem`.
//!
//! They prove who signed a run, and admit nothing: only the trust store admits components and texts.

use std::path::PathBuf;

use graph_core::trust::{KeyId, VerifyingKey};

use crate::error::{Error, Result};
use crate::project::key_pairs::read_key_file;
use crate::project::user_home::{Home, create_private_folder, write_atomic};

impl Home {
    fn known_host(&self, id: KeyId) -> PathBuf {
        self.root().join("hosts").join(format!("{id}.pub.pem"))
    }

    /// Remembers the key of another host, so that its runs are verified with it from now on.
    pub fn remember_host(&self, key: &VerifyingKey) -> Result<()> {
        let path = self.known_host(key.id());
        create_private_folder(&self.root().join("hosts"))?;
        let text = key.to_pem().map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        write_atomic(&path, text.as_bytes(), false)
            .map_err(|error| Error::write("the key of the host", &path, &error))
    }

    /// Returns the public key with that id: of this host, or of a remembered one.
    pub fn known_key(&self, id: KeyId) -> Result<Option<VerifyingKey>> {
        if let Some(own) = self.verifying_identity(id)? {
            return Ok(Some(own));
        }
        let path = self.known_host(id);
        if !path.try_exists().map_err(|error| Error::read("the key of a host", &path, &error))? {
            return Ok(None);
        }
        let text = read_key_file(&path)?;
        let unusable = |reason: &dyn std::fmt::Display| {
            Error::integrity(format!("the key {} is unusable: {reason}", path.display()))
                .help("remove the file, and import a run of that host again")
        };
        let key = VerifyingKey::parse(&text).map_err(|error| unusable(&error))?;
        if key.id() == id { Ok(Some(key)) } else { Err(unusable(&"it is another key")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use graph_core::trust::SigningKey;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_remembered_host_is_known_by_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let other = SigningKey::from_seed(&[3; 32]).verifying_key();
        assert_eq!(home.known_key(other.id()).unwrap(), None);
        home.remember_host(&other).unwrap();
        assert_eq!(home.known_key(other.id()).unwrap(), Some(other));
        // It is no key of this host.
        assert_eq!(home.verifying_identity(other.id()).unwrap(), None);
        assert!(home.signing_identity(other.id()).unwrap().is_none());
        let own = home.identity().unwrap().verifying_key();
        assert_eq!(home.known_key(own.id()).unwrap(), Some(own));
        fs::write(home.known_host(other.id()), own.to_pem().unwrap()).unwrap();
        assert_eq!(home.known_key(other.id()).unwrap_err().kind(), Kind::Integrity);
    }
}
