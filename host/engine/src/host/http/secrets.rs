//! Reads secret values. Components see only handles; [`OutgoingGrant`](graph_core::capability::OutgoingGrant) inserts the values.

use graph_core::capability::{SecretRule, SecretSource, SecretValue, UnusableSecret};

use crate::bindings::graph_host::host::secrets;
use crate::state::TaskState;

/// The reason why a secret cannot be used. No message shows its value.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SecretError {
    /// The environment variable with its value is not set.
    #[error("the secret `{name}` is to come from the environment variable `{variable}`, which is not set")]
    Unset { name: String, variable: String },
    /// The secret's file cannot be read.
    #[error("the secret `{name}` is to come from {path}, which cannot be read: {source}")]
    File { name: String, path: String, source: std::io::Error },
    /// The value contains bytes that are invalid in a header, or its length is invalid.
    #[error(transparent)]
    Unusable(#[from] UnusableSecret),
}

/// The value of a secret that is not read.
const PLACEHOLDER: &str = "a-value-that-is-not-read";

/// Creates a secret whose value is not read: for a component that a journal or doubles answer.
pub(crate) fn placeholder(rule: &SecretRule) -> Result<SecretValue, SecretError> {
    Ok(SecretValue::new(rule, PLACEHOLDER.to_owned())?)
}

/// Reads the value of a granted secret.
pub(crate) fn read(rule: &SecretRule) -> Result<SecretValue, SecretError> {
    let name = || rule.name.clone();
    let unusable = || UnusableSecret { name: name() };
    let value = match &rule.from {
        SecretSource::Env(variable) => std::env::var_os(variable)
            .ok_or_else(|| SecretError::Unset { name: name(), variable: variable.clone() })?
            .into_string()
            .map_err(|_| unusable())?,
        SecretSource::File(path) => {
            let failed = |source| SecretError::File { name: name(), path: path.clone(), source };
            let size = std::fs::metadata(path).map_err(failed)?;
            if !size.is_file() || size.len() > SecretValue::LONGEST as u64 + 2 {
                return Err(unusable().into());
            }
            let text = std::fs::read_to_string(path).map_err(failed)?;
            text.strip_suffix('\n').map_or(text.as_str(), |text| text.trim_end_matches('\r')).to_owned()
        }
    };
    Ok(SecretValue::new(rule, value)?)
}

impl secrets::Host for TaskState {
    fn handle(&mut self, name: String) -> wasmtime::Result<Result<String, secrets::SecretError>> {
        let found = self.http.outgoing.secrets.iter().find(|secret| secret.name() == name);
        Ok(found.map(|secret| secret.handle().to_owned()).ok_or(secrets::SecretError::NotGranted))
    }

    fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.http.outgoing.secrets.iter().map(|secret| secret.name().to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::capability::Scheme;

    use super::*;

    #[test]
    fn a_value_comes_from_its_file_without_the_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value");
        let rule = |from| SecretRule {
            name: "TOKEN".to_owned(),
            from,
            header: "authorization".to_owned(),
            host: "api.acme.com".to_owned(),
            schemes: vec![Scheme::Https],
        };
        let file = rule(SecretSource::File(path.display().to_string()));
        std::fs::write(&path, "s3cr3t-value\n").unwrap();
        assert_eq!(read(&file).unwrap().name(), "TOKEN");
        std::fs::write(&path, "short\n").unwrap();
        assert!(matches!(read(&file), Err(SecretError::Unusable(_))));
        let unset = rule(SecretSource::Env("GRAPH_HOST_NO_SUCH_VARIABLE".to_owned()));
        assert!(matches!(read(&unset), Err(SecretError::Unset { .. })));
    }
}
