//! Values that leave in requests and that no component sees.

use std::fmt;

use graph_core::capability::{SecretRule, SecretSource};

use super::problem::{Kind, Problem};
use super::send::Request;
use crate::bindings::graph_host::host::secrets;
use crate::state::TaskState;

/// The shortest value: shorter ones would be found by chance in what a server sends.
const SHORTEST: usize = 8;
/// The longest value, in bytes.
const LONGEST: usize = 8 << 10;

/// A granted secret with its value.
pub(crate) struct Secret {
    rule: SecretRule,
    handle: String,
    value: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.rule.name).finish_non_exhaustive()
    }
}

/// Why a secret cannot be used. No message shows its value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It is not there.
    #[error("the secret `{name}` is to come from the environment variable `{variable}`, which is not set")]
    Unset {
        /// The secret.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Its file cannot be read.
    #[error("the secret `{name}` is to come from {path}, which cannot be read: {source}")]
    File {
        /// The secret.
        name: String,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It cannot stand in a header.
    #[error(
        "the value of the secret `{name}` cannot be used: it has to be {SHORTEST} to {LONGEST} bytes of visible ASCII"
    )]
    Unusable {
        /// The secret.
        name: String,
    },
}

impl Secret {
    /// Reads the value of a granted secret.
    pub(crate) fn read(rule: &SecretRule) -> Result<Self, SecretError> {
        let name = || rule.name.clone();
        let value = match &rule.from {
            SecretSource::Env(variable) => std::env::var_os(variable)
                .ok_or_else(|| SecretError::Unset { name: name(), variable: variable.clone() })?
                .into_string()
                .map_err(|_| SecretError::Unusable { name: name() })?,
            SecretSource::File(path) => {
                let failed = |source| SecretError::File { name: name(), path: path.clone(), source };
                let size = std::fs::metadata(path).map_err(failed)?;
                if !size.is_file() || size.len() > LONGEST as u64 + 2 {
                    return Err(SecretError::Unusable { name: name() });
                }
                let text = std::fs::read_to_string(path).map_err(failed)?;
                text.strip_suffix('\n').map_or(text.as_str(), |text| text.trim_end_matches('\r')).to_owned()
            }
        };
        let is_visible = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if !(SHORTEST..=LONGEST).contains(&value.len()) || !is_visible {
            return Err(SecretError::Unusable { name: name() });
        }
        Ok(Self { handle: format!("{{{{secret:{}}}}}", rule.name), rule: rule.clone(), value })
    }
}

/// Puts the values of all secrets into a request that names them, and says whether it did. A handle in a request that
/// its secret is not for is an error.
pub(super) fn put_in(secrets: &[Secret], request: &mut Request) -> Result<bool, Problem> {
    let mut any = false;
    for secret in secrets {
        let rule = &secret.rule;
        for (name, value) in &mut request.fields {
            let holds = find(value, secret.handle.as_bytes()).is_some();
            if *name != rule.header || !holds {
                continue;
            }
            if request.host != rule.host || !rule.schemes.contains(&request.scheme) {
                let schemes: Vec<_> = rule.schemes.iter().map(|scheme| scheme.as_str()).collect();
                return Err(Problem::new(
                    Kind::Denied,
                    format!(
                        "the secret `{}` is for {} by {} alone",
                        rule.name,
                        rule.host,
                        schemes.join(" or ")
                    ),
                ));
            }
            *value = replaced(value, secret.handle.as_bytes(), secret.value.as_bytes());
            any = true;
        }
    }
    Ok(any)
}

/// Puts handles in the place of all values that a server has sent back.
pub(super) fn take_out(secrets: &[Secret], bytes: Vec<u8>) -> Vec<u8> {
    secrets.iter().fold(bytes, |bytes, secret| match find(&bytes, secret.value.as_bytes()) {
        Some(_) => replaced(&bytes, secret.value.as_bytes(), secret.handle.as_bytes()),
        None => bytes,
    })
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    // Values and handles are never empty.
    bytes.windows(part.len()).position(|window| window == part)
}

fn replaced(bytes: &[u8], part: &[u8], by: &[u8]) -> Vec<u8> {
    let (mut rest, mut whole) = (bytes, Vec::with_capacity(bytes.len()));
    while let Some(at) = find(rest, part) {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(by);
        rest = &rest[at + part.len()..];
    }
    whole.extend_from_slice(rest);
    whole
}

impl secrets::Host for TaskState {
    fn handle(&mut self, name: String) -> wasmtime::Result<Result<String, secrets::SecretError>> {
        let found = self.http.outgoing.secrets.iter().find(|secret| secret.rule.name == name);
        Ok(found.map(|secret| secret.handle.clone()).ok_or(secrets::SecretError::NotGranted))
    }

    fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.http.outgoing.secrets.iter().map(|secret| secret.rule.name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::capability::Scheme;

    use super::*;

    fn secret(value: &str) -> Result<Secret, SecretError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value");
        std::fs::write(&path, value).unwrap();
        Secret::read(&SecretRule {
            name: "TOKEN".to_owned(),
            from: SecretSource::File(path.display().to_string()),
            header: "authorization".to_owned(),
            host: "api.acme.com".to_owned(),
            schemes: vec![Scheme::Https],
        })
    }

    fn request(host: &str, scheme: Scheme, name: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            scheme,
            host: host.to_owned(),
            port: 443,
            path: "/".to_owned(),
            fields: vec![(name.to_owned(), b"Bearer {{secret:TOKEN}}".to_vec())],
            body: bytes::Bytes::new(),
        }
    }

    #[test]
    fn values_leave_for_their_host_alone() {
        let secrets = [secret("s3cr3t-value\n").unwrap()];
        let mut granted = request("api.acme.com", Scheme::Https, "authorization");
        assert_eq!(put_in(&secrets, &mut granted), Ok(true));
        assert_eq!(granted.fields[0].1, b"Bearer s3cr3t-value");
        for (host, scheme) in [("evil.example", Scheme::Https), ("api.acme.com", Scheme::Http)] {
            let problem = put_in(&secrets, &mut request(host, scheme, "authorization")).unwrap_err();
            assert_eq!(problem.kind, Kind::Denied);
            assert!(!problem.message.contains("s3cr3t"), "{}", problem.message);
        }
        let mut other = request("api.acme.com", Scheme::Https, "x-other");
        assert_eq!(put_in(&secrets, &mut other), Ok(false));
        assert_eq!(other.fields[0].1, b"Bearer {{secret:TOKEN}}");
    }

    #[test]
    fn what_comes_back_has_the_handle() {
        let secrets = [secret("s3cr3t-value").unwrap()];
        assert_eq!(
            take_out(&secrets, b"a s3cr3t-value b s3cr3t-value".to_vec()),
            b"a {{secret:TOKEN}} b {{secret:TOKEN}}"
        );
        assert_eq!(take_out(&secrets, b"s3cr3t".to_vec()), b"s3cr3t");
        assert!(!format!("{secrets:?}").contains("s3cr3t"));
    }

    #[test]
    fn values_have_to_fit_a_header() {
        for value in ["", "short", "with\na line end", "ünicode-value", "nul\0-in-value"] {
            assert!(matches!(secret(value), Err(SecretError::Unusable { .. })), "{value:?}");
        }
        assert!(matches!(
            Secret::read(&SecretRule {
                from: SecretSource::Env("GRAPH_HOST_NO_SUCH_VARIABLE".to_owned()),
                ..secret("long enough").unwrap().rule
            }),
            Err(SecretError::Unset { .. })
        ));
    }
}
