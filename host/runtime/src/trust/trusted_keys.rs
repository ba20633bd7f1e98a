//! The trusted keys of a command: those of the user's trust store, and of the files that the command line names.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use graph_core::capability::{Ceiling, ItemPattern};
use graph_core::trust::{EditError, TrustStore, TrustedKey};

use crate::error::{Error, Result};
use crate::notice::{Notice, NoticeObserver};
use crate::project::BaseFolder;
use crate::project::host_identity::{STATE_ITEMS, TRANSCRIPT_ITEMS};
use crate::project::text_file;
use crate::project::user_home::{Home, create_private_folder, write_atomic};
use crate::remedy::Remedy;

/// Reads the user's trust store and the files of `--trust`. A trust store next to a graph is never used unless it is
/// named.
pub fn load(home: &Home, named: &[PathBuf], notices: &dyn NoticeObserver) -> Result<TrustStore> {
    let base = home.base();
    let mut store = match text_file::read(&home.trust_file()) {
        Ok(text) => parse(&base.show(&home.trust_file()), &text, notices)?,
        Err(error) if error.kind() == ErrorKind::NotFound => TrustStore::default(),
        Err(error) => return Err(Error::read("the trust store", &home.trust_file(), &error)),
    };
    for path in named {
        let text = text_file::read_named_as("the trust file", path)?;
        let file = base.show(path);
        if text.trim().is_empty() {
            return Err(
                Error::invalid(format!("the trust file {file} is empty")).help(Remedy::LeaveTrustFileOut)
            );
        }
        store = store.merge(parse(&file, &text, notices)?.in_file(&file));
    }
    Ok(store.merge(own(home)?))
}

/// Returns this host's own keys, which are trusted for the state items and the transcripts that it writes.
fn own(home: &Home) -> Result<TrustStore> {
    if !home.identity_file().exists() {
        return Ok(TrustStore::default());
    }
    let items: Vec<_> = [STATE_ITEMS, TRANSCRIPT_ITEMS]
        .into_iter()
        .map(ItemPattern::parse)
        .collect::<Result<_, _>>()
        .map_err(|error| {
            Error::invalid(format!("the pattern of this host's items: {error}")).caused_by(error)
        })?;
    let entry = |key| TrustedKey {
        name: "this host".to_owned(),
        key,
        items: items.clone(),
        ceiling: Ceiling::from_kinds([]),
        not_before: None,
        not_after: None,
        revoked: None,
        succeeds: None,
    };
    Ok(TrustStore::new(home.verifying_identities()?.into_iter().map(entry).collect()))
}

/// Reads the trust store in a file; empty if the file does not exist.
pub fn read_store(path: &Path, base: &BaseFolder) -> Result<TrustStore> {
    match text_file::read(path) {
        Ok(text) => Ok(TrustStore::from_yaml(&base.show(path), &text)?.0),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(TrustStore::default())
        }
        Err(error) => Err(Error::read("the trust store", path, &error)),
    }
}

/// Edits a trust store: `change` maps its text to the new text, and the file is replaced as a whole. Concurrent
/// processes edit in turn. `record` logs the edit before it is made, when only a disk error can still prevent it: after
/// a kill in between, the same command makes the logged edit.
pub fn edit<T>(
    path: &Path,
    base: &BaseFolder,
    change: impl FnOnce(&str, &str) -> Result<(String, T), EditError>,
    record: impl FnOnce(&T) -> Result<()>,
) -> Result<T> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    let lock_path = folder.join(".trust.lock");
    let lock = File::create(&lock_path).map_err(|error| Error::write("the lock file", &lock_path, &error))?;
    lock.lock().map_err(|error| Error::write("the lock file", &lock_path, &error))?;
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::read("the trust store", path, &error)),
    };
    let (edited, changed) = change(&base.show(path), &text).map_err(|error| match error {
        EditError::Invalid(problems) => problems.into(),
        EditError::Exists(_) => {
            Error::usage(error.to_string()).help(Remedy::ChangeTrustedKey).caused_by(error)
        }
        EditError::Needed { ref name, .. } => Error::usage(error.to_string())
            .help(Remedy::RevokeKey { name: name.clone(), file: path.to_owned() })
            .caused_by(error),
        EditError::Unbelieved(_) => {
            Error::integrity(error.to_string()).help(Remedy::AddNewKey).caused_by(error)
        }
        EditError::NotFound(_) => {
            Error::not_found(error.to_string()).help(Remedy::ListTrustedKeys).caused_by(error)
        }
    })?;
    record(&changed)?;
    write_atomic(path, edited.as_bytes(), false)
        .map_err(|error| Error::write("the trust store", path, &error))?;
    Ok(changed)
}

fn parse(file: &str, text: &str, notices: &dyn NoticeObserver) -> Result<TrustStore> {
    let (store, warnings) = TrustStore::from_yaml(file, text)?;
    if !warnings.is_empty() {
        notices.notice(Notice::Doubtful(&warnings));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::trust::Revocation;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_broken_or_missing_store_is_an_error_and_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned());
        assert!(load(&home, &[], &()).unwrap().keys().is_empty());
        let other = folder.path().join("other.yaml");
        let named = std::slice::from_ref(&other);
        assert_eq!(load(&home, named, &()).unwrap_err().kind(), Kind::NotFound);
        std::fs::write(&other, "keys: 1").unwrap();
        assert_eq!(load(&home, named, &()).unwrap_err().kind(), Kind::Invalid);
        let unchanged = |_: &str, text: &str| Ok((text.to_owned(), ()));
        assert_eq!(edit(&other, home.base(), unchanged, |()| Ok(())).map_err(|error| error.kind()), Ok(()));
        let revoked =
            |name: &str, text: &str| Ok((TrustStore::revoke(name, text, "x", Revocation::Always)?, ()));
        let refused = edit(&other, home.base(), revoked, |()| Ok(()));
        assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "keys: 1");
        let emptied = |_: &str, _: &str| Ok((String::new(), ()));
        let unrecorded = edit(&other, home.base(), emptied, |()| Err(Error::integrity("the log is damaged")));
        assert_eq!(unrecorded.unwrap_err().kind(), Kind::Integrity);
        assert_eq!(
            std::fs::read_to_string(&other).unwrap(),
            "keys: 1",
            "what cannot be recorded is not done"
        );
        std::fs::write(home.trust_file(), [0xff]).unwrap();
        assert_eq!(load(&home, &[], &()).unwrap_err().kind(), Kind::Invalid);
    }
}
