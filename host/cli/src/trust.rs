//! The keys that count for a command: the user's trust store, and the files that the command line names.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use graph_core::trust::TrustStore;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::output::Output;
use crate::project;

/// Reads the user's trust store and those of `--trust`. A store beside a graph is never read by itself.
pub fn load(home: &Home, named: &[PathBuf], output: Output) -> Result<TrustStore> {
    let mut store = match std::fs::read_to_string(home.trust_file()) {
        Ok(text) => parse(&home.trust_file(), &text, output)?,
        Err(error) if error.kind() == ErrorKind::NotFound => TrustStore::default(),
        Err(error) => return Err(Error::read("the trust store", &home.trust_file(), &error)),
    };
    for path in named {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::read("the trust file", path, &error))?;
        store = store.merge(parse(path, &text, output)?);
    }
    Ok(store)
}

fn parse(path: &Path, text: &str, output: Output) -> Result<TrustStore> {
    let (store, warnings) = TrustStore::from_yaml(&project::shown(path), text)?;
    if !warnings.is_empty() {
        output.report(&warnings);
    }
    Ok(store)
}
