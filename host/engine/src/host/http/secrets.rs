//! Secret values: inserted into requests, and never shown to a component.

use std::fmt;

use graph_core::capability::{SecretRule, SecretSource};

use super::problem::{Kind, Problem};
use super::send::{Request, Response};
use super::spelled::Forms;
use crate::bindings::graph_host::host::secrets;
use crate::state::TaskState;

/// The shortest value: a shorter one would occur in responses by chance.
const SHORTEST: usize = 8;
/// The longest value, in bytes.
const LONGEST: usize = 8 << 10;

/// A granted secret with its value.
pub(crate) struct Secret {
    rule: SecretRule,
    handle: String,
    value: String,
    forms: Forms,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.rule.name).finish_non_exhaustive()
    }
}

/// Why a secret cannot be used. No message shows its value.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SecretError {
    /// The environment variable with its value is not set.
    #[error("the secret `{name}` is to come from the environment variable `{variable}`, which is not set")]
    Unset { name: String, variable: String },
    /// Its file cannot be read.
    #[error("the secret `{name}` is to come from {path}, which cannot be read: {source}")]
    File { name: String, path: String, source: std::io::Error },
    /// It contains bytes that a header cannot have, or its length is wrong.
    #[error(
        "the value of the secret `{name}` cannot be used: it has to be {SHORTEST} to {LONGEST} bytes of visible ASCII"
    )]
    Unusable { name: String },
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
        let forms = Forms::of(&value);
        Ok(Self { handle: format!("{{{{secret:{}}}}}", rule.name), rule: rule.clone(), value, forms })
    }
}

/// Inserts the values of all secrets that a request names. A handle in a request to a host that its secret is not for is
/// an error.
pub(super) fn put_in(secrets: &[Secret], request: &mut Request) -> Result<(), Problem> {
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
        }
    }
    Ok(())
}

/// Whether any secret is for this host. Then the host may know its value from an earlier request, also of another
/// attempt.
pub(super) fn is_told_any(secrets: &[Secret], host: &str) -> bool {
    secrets.iter().any(|secret| secret.rule.host == host)
}

/// Checks that a response of a host that a secret is for can be searched: it must be neither encoded nor partial, as part
/// of a value could be in it.
pub(super) fn check_searchable(response: &Response) -> Result<(), Problem> {
    let is_other_than = |name: &str, plain: &str| {
        let mut values = response.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value);
        values.any(|value| !value.is_empty() && !value.eq_ignore_ascii_case(plain.as_bytes()))
    };
    let problem = |message: &str| Err(Problem::new(Kind::Encoding, message));
    if is_other_than("content-encoding", "identity") || is_other_than("transfer-encoding", "chunked") {
        return problem("the server, which a secret is for, encoded its response, against what was asked");
    }
    if response.status == 206 || response.fields.iter().any(|(name, _)| name == "content-range") {
        return problem(
            "the server, which a secret is for, sent a part of a response, which cannot be searched",
        );
    }
    Ok(())
}

/// Replaces all values that a server has sent back, in any known form, by their handles. A field whose name contains a
/// value is removed: a handle is no valid name.
pub(super) fn take_out(secrets: &[Secret], response: Response) -> Response {
    let clean = |bytes: Vec<u8>| {
        secrets.iter().fold(bytes, |bytes, secret| secret.forms.replaced(bytes, secret.handle.as_bytes()))
    };
    let names_a_value = |name: &str| {
        let lower = |secret: &Secret| secret.value.to_ascii_lowercase();
        secrets.iter().any(|secret| name.to_ascii_lowercase().contains(&lower(secret)))
    };
    let fields = response.fields.into_iter().filter(|(name, _)| !names_a_value(name));
    Response {
        status: response.status,
        fields: fields.map(|(name, value)| (name, clean(value))).collect(),
        body: clean(response.body),
    }
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
        assert_eq!(put_in(&secrets, &mut granted), Ok(()));
        assert_eq!(granted.fields[0].1, b"Bearer s3cr3t-value");
        for (host, scheme) in [("evil.example", Scheme::Https), ("api.acme.com", Scheme::Http)] {
            let problem = put_in(&secrets, &mut request(host, scheme, "authorization")).unwrap_err();
            assert_eq!(problem.kind, Kind::Denied);
            assert!(!problem.message.contains("s3cr3t"), "{}", problem.message);
        }
        let mut other = request("api.acme.com", Scheme::Https, "x-other");
        assert_eq!(put_in(&secrets, &mut other), Ok(()));
        assert_eq!(other.fields[0].1, b"Bearer {{secret:TOKEN}}");
    }

    #[test]
    fn what_comes_back_has_the_handle() {
        let secrets = [secret("s3cr3t-value").unwrap()];
        let response = |field: &str, body: &[u8]| Response {
            status: 200,
            fields: vec![(field.to_owned(), body.to_vec())],
            body: body.to_vec(),
        };
        let cleaned = take_out(&secrets, response("x", b"a s3cr3t-value b czNjcjN0LXZhbHVl"));
        assert_eq!(cleaned, response("x", b"a {{secret:TOKEN}} b {{secret:TOKEN}}"));
        assert_eq!(take_out(&secrets, response("x", b"s3cr3t")), response("x", b"s3cr3t"));
        assert_eq!(take_out(&secrets, response("x-s3cr3t-value", b"")).fields, []);
        assert!(!format!("{secrets:?}").contains("s3cr3t"));
    }

    #[test]
    fn answers_that_cannot_be_searched_are_refused() {
        let response = |status, name: &str, value: &str| Response {
            status,
            fields: vec![(name.to_owned(), value.as_bytes().to_vec())],
            body: Vec::new(),
        };
        for plain in [
            response(200, "content-encoding", "Identity"),
            response(200, "transfer-encoding", "chunked"),
            response(200, "content-encoding", ""),
        ] {
            assert_eq!(check_searchable(&plain), Ok(()), "{plain:?}");
        }
        for other in [
            response(200, "content-encoding", "gzip"),
            response(200, "content-encoding", "identity, br"),
            response(200, "transfer-encoding", "gzip, chunked"),
            response(206, "x", "y"),
            response(200, "content-range", "bytes 0-4/9"),
        ] {
            assert_eq!(check_searchable(&other).unwrap_err().kind, Kind::Encoding, "{other:?}");
        }
        let secrets = [secret("s3cr3t-value").unwrap()];
        assert!(is_told_any(&secrets, "api.acme.com") && !is_told_any(&secrets, "acme.com"));
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
