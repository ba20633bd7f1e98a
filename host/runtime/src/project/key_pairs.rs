//! Key pairs in the user's space: `keys/NAME.pem` (PKCS#8, mode 0600) and `keys/NAME.pub.pem` (SPKI).

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use graph_core::trust::{KeyBlock, KeyError, KeyId, SigningKey, VerifyingKey};

use crate::error::{Error, Result};
use crate::project::private_files;
use crate::project::user_home::{Home, create_private_folder, write_atomic, write_new_private};
use crate::remedy::Remedy;

const PRIVATE: &str = ".pem";
const PUBLIC: &str = ".pub.pem";
/// Limit of a key file, in bytes; a larger file is no key.
const LARGEST_KEY_FILE: u64 = 64 << 10;

/// A key pair in the user's space.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// Its name in commands.
    pub name: String,
    /// Its public half, which others need to trust its signatures.
    pub public: VerifyingKey,
    /// File of the private half.
    pub private_file: PathBuf,
    /// File of the public half.
    pub public_file: PathBuf,
}

/// The folder of key pairs.
#[derive(Clone, Debug)]
pub struct Pairs {
    folder: PathBuf,
}

impl Pairs {
    /// Opens the key pairs in the user's space.
    pub fn in_home(home: &Home) -> Self {
        Self { folder: home.keys() }
    }

    /// Opens the key pairs in a folder.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes a key pair. An existing one is replaced only with `replace`.
    pub fn generate(&self, name: &str, replace: bool) -> Result<KeyPair> {
        self.generate_after(name, replace, |_| Ok(()))
    }

    /// Makes a key pair, and calls `first` with the new key before it is written: a process that is killed in between
    /// leaves no key, so that the same command can be repeated.
    pub fn generate_after(
        &self,
        name: &str,
        replace: bool,
        first: impl FnOnce(&SigningKey) -> Result<()>,
    ) -> Result<KeyPair> {
        let pair = self.files(name)?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            Error::storage(format!("the system gives no random bytes for a key: {error}")).caused_by(error)
        })?;
        let key = SigningKey::from_seed(&seed);
        seed.fill(0);
        let unwritable = |error: KeyError| Error::storage(error.to_string());
        let private = key.to_pem().map_err(unwritable)?;
        let public = key.verifying_key().to_pem().map_err(unwritable)?;
        let (private_file, public_file) = pair;
        create_private_folder(&self.folder)?;
        private_files::remove_leftovers(&self.folder);
        let failed = |path: &Path, error: &std::io::Error| Error::write("the key file", path, error);
        let lock_path = self.folder.join(".keys.lock");
        let lock = File::create(&lock_path).map_err(|error| failed(&private_file, &error))?;
        lock.lock().map_err(|error| failed(&private_file, &error))?;
        let exists = || {
            // An earlier process may have been killed after it wrote the private half.
            self.restore_public_half(name);
            Error::usage(format!("there is a key `{name}` already: {}", private_file.display()))
                .help(Remedy::ReplaceKey)
        };
        if !replace && private_file.exists() {
            return Err(exists());
        }
        first(&key)?;
        if replace {
            // A missing public half is computed from the private one; a stale one would be used.
            match fs::remove_file(&public_file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed(&public_file, &error));
                }
                _ => {}
            }
            write_atomic(&private_file, private.as_bytes(), true)
                .map_err(|error| failed(&private_file, &error))?;
        } else if !write_new_private(&private_file, private.as_bytes())
            .map_err(|error| failed(&private_file, &error))?
        {
            return Err(exists());
        }
        write_atomic(&public_file, public.as_bytes(), false).map_err(|error| failed(&public_file, &error))?;
        Ok(KeyPair { name: name.to_owned(), public: key.verifying_key(), private_file, public_file })
    }

    /// Reads a key pair by its name. The public half is computed from the private one, so the two always match.
    pub fn get(&self, name: &str) -> Result<KeyPair> {
        let (private_file, public_file) = self.files(name)?;
        let public = read_private(&private_file)?.verifying_key();
        Ok(KeyPair { name: name.to_owned(), public, private_file, public_file })
    }

    /// Writes missing public halves, as after a kill between the two files of a pair.
    pub(crate) fn restore_public_halves(&self) {
        if fs::symlink_metadata(&self.folder).is_ok_and(|found| found.is_dir()) {
            self.names().unwrap_or_default().iter().for_each(|name| self.restore_public_half(name));
        }
    }

    /// Writes the public half if it is missing. Errors are ignored: it can be computed at any time.
    fn restore_public_half(&self, name: &str) {
        let Ok((private_file, public_file)) = self.files(name) else { return };
        let is_missing =
            fs::symlink_metadata(&public_file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let is_file = || fs::symlink_metadata(&private_file).is_ok_and(|found| found.is_file());
        if is_missing
            && is_file()
            && let Ok(pem) = read_private(&private_file).and_then(|key| {
                key.verifying_key()
                    .to_pem()
                    .map_err(|error| Error::storage(error.to_string()).caused_by(error))
            })
        {
            let _ = write_atomic(&public_file, pem.as_bytes(), false);
        }
    }

    /// Returns the private half of the key pair with an id, if there is one. Files that are not keys are skipped.
    pub fn with_id(&self, id: KeyId) -> Result<Option<SigningKey>> {
        let keys = self.names()?.into_iter().filter_map(|name| read_private(&self.files(&name).ok()?.0).ok());
        Ok(keys.into_iter().find(|key| key.id() == id))
    }

    /// Returns the names of all key pairs, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = match fs::read_dir(&self.folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::read("the folder of keys", &self.folder, &error)),
        };
        let mut names = Vec::new();
        for entry in folder {
            let entry = entry.map_err(|error| Error::read("the folder of keys", &self.folder, &error))?;
            let file = entry.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(PRIVATE));
            names.extend(name.filter(|name| is_key_name(name)).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn files(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        if !is_key_name(name) {
            return Err(Error::usage(format!("`{name}` cannot be the name of a key"))
                .help("use letters, digits, `_` and `-`, at most 64 of them"));
        }
        let at = |suffix| self.folder.join(format!("{name}{suffix}"));
        Ok((at(PRIVATE), at(PUBLIC)))
    }
}

fn is_key_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Reads the private key with a name in the user's space, or in a file.
pub fn signing_key(home: &Home, name_or_file: &str) -> Result<SigningKey> {
    if is_key_name(name_or_file) {
        let (file, _) = Pairs::in_home(home).files(name_or_file)?;
        if file.exists() || !Path::new(name_or_file).exists() {
            return read_private(&file).map_err(|error| {
                if error.kind() == crate::error::Kind::NotFound {
                    Error::not_found(format!("there is no key named `{name_or_file}`")).help(Remedy::ListKeys)
                } else {
                    error
                }
            });
        }
    }
    read_private(Path::new(name_or_file))
}

/// Reads the public key with a name in the user's space, in a file, or in 64 hexadecimal digits.
pub fn verifying_key(home: &Home, name_file_or_hex: &str) -> Result<VerifyingKey> {
    if let Ok(key) = VerifyingKey::parse(name_file_or_hex) {
        return Ok(key);
    }
    if is_key_name(name_file_or_hex) && !Path::new(name_file_or_hex).exists() {
        return signing_key(home, name_file_or_hex).map(|key| key.verifying_key());
    }
    let path = Path::new(name_file_or_hex);
    let text = read_key_file(path)?;
    VerifyingKey::parse(&text).map_err(|error| unusable(path, &error))
}

fn read_private(path: &Path) -> Result<SigningKey> {
    SigningKey::from_pem(&read_key_file(path)?).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &KeyError) -> Error {
    let unusable = Error::invalid(format!("{}: {error}", path.display()));
    let unusable = match error {
        KeyError::WrongBlock { block, .. } if *block != KeyBlock::PublicHalf => {
            unusable.help(Remedy::MakeKey(*block))
        }
        _ => unusable,
    };
    unusable.caused_by(error.clone())
}

/// Reads a key file of at most [`LARGEST_KEY_FILE`] bytes.
pub(super) fn read_key_file(path: &Path) -> Result<String> {
    let failed = |error: &std::io::Error| Error::read("the key file", path, error);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    // The path may name a device that never ends.
    file.take(LARGEST_KEY_FILE + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LARGEST_KEY_FILE {
        return Err(Error::invalid(format!("{} is too large for a key file", path.display())));
    }
    String::from_utf8(bytes).map_err(|_| failed(&ErrorKind::InvalidData.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_pair_is_private_and_is_never_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let pairs = Pairs::in_home(&home);
        assert!(pairs.names().unwrap().is_empty());
        let pair = pairs.generate("me", false).unwrap();
        assert_eq!(pairs.names().unwrap(), ["me"]);
        assert_eq!(pairs.get("me").unwrap().public, pair.public);
        assert_eq!(signing_key(&home, "me").unwrap().verifying_key(), pair.public);
        for name in ["me", pair.public_file.to_str().unwrap(), &pair.public.hex()] {
            assert_eq!(verifying_key(&home, name).unwrap(), pair.public, "{name}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&pair.private_file), mode(&pair.public_file)), (0o600, 0o644));
        }
        assert_eq!(pairs.generate("me", false).unwrap_err().kind(), Kind::Usage);
        assert_eq!(pairs.get("me").unwrap().public, pair.public);
        let replaced = pairs.generate("me", true).unwrap();
        assert_ne!(replaced.public, pair.public);
        assert_eq!(pairs.get("me").unwrap().public, replaced.public);
    }

    #[test]
    fn bad_names_and_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned());
        for name in ["", "../me", "a.b", "a/b", "é"] {
            assert_eq!(
                Pairs::in_home(&home).generate(name, false).unwrap_err().kind(),
                Kind::Usage,
                "{name}"
            );
        }
        assert_eq!(signing_key(&home, "nobody").unwrap_err().kind(), Kind::NotFound);
        let file = folder.path().join("x.pem");
        fs::write(&file, "not a key").unwrap();
        assert_eq!(signing_key(&home, file.to_str().unwrap()).unwrap_err().kind(), Kind::Invalid);
        fs::write(&file, [0xff]).unwrap();
        assert_eq!(signing_key(&home, file.to_str().unwrap()).unwrap_err().kind(), Kind::Invalid);
    }
}
