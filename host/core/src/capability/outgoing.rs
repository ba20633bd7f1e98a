//! Requests as they leave and responses as they arrive: checks of grants, insertion and removal of secret values.
//!
//! All hosts share these decisions; the transport of a request is their own.

use std::fmt;

use serde_json::Value;

use super::http::{HttpRule, RequestDenied, Scheme, permit};
use super::reach::SecretRule;
use super::secret_encodings::SecretEncodings;

/// Length of the shortest value, in bytes: a shorter one would occur in responses by chance.
const SHORTEST: usize = 8;
/// Length of the longest value, in bytes.
const LONGEST: usize = 8 << 10;

/// A field of a request or a response: its name in lower case, and its value.
pub type HttpField = (String, Vec<u8>);

/// The requests and secrets that are granted to one component.
#[derive(Debug, Default)]
pub struct OutgoingGrant {
    /// The requests that are granted.
    pub rules: Vec<HttpRule>,
    /// The secrets that are granted, with their values.
    pub secrets: Vec<SecretValue>,
}

/// A granted secret with its value.
pub struct SecretValue {
    rule: SecretRule,
    handle: String,
    value: String,
    forms: SecretEncodings,
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretValue").field("name", &self.rule.name).finish_non_exhaustive()
    }
}

/// A value that cannot be sent in a header. The message does not show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the value of the secret `{name}` cannot be used: it has to be {SHORTEST} to {LONGEST} bytes of visible ASCII"
)]
pub struct UnusableSecret {
    /// The name of the secret.
    pub name: String,
}

/// A response in which secret values cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsearchableResponse {
    /// The body is compressed, or encoded in another way.
    #[error("the server, which a secret is for, encoded its response, against what was asked")]
    Encoded,
    /// A part of a value could be in it.
    #[error("the server, which a secret is for, sent a part of a response, which cannot be searched")]
    Partial,
}

/// The answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The header fields.
    pub fields: Vec<HttpField>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl SecretValue {
    /// Length of the longest value, in bytes.
    pub const LONGEST: usize = LONGEST;

    /// Creates a value for a granted secret; fails unless it is 8 to 8192 bytes of visible ASCII.
    pub fn new(rule: &SecretRule, value: String) -> Result<Self, UnusableSecret> {
        let is_visible = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if !(SHORTEST..=LONGEST).contains(&value.len()) || !is_visible {
            return Err(UnusableSecret { name: rule.name.clone() });
        }
        let forms = SecretEncodings::new(&value);
        Ok(Self { handle: handle(&rule.name), rule: rule.clone(), value, forms })
    }

    /// Returns the name by which components refer to it.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Returns the text that components write instead of the value.
    pub fn handle(&self) -> &str {
        &self.handle
    }
}

/// Returns the handle of a secret, which depends only on its name.
fn handle(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

impl OutgoingGrant {
    /// Checks a request and inserts the values of the secrets that it names. If a secret is for this host, the request asks for a response
    /// that can be searched: whole and without encoding.
    pub fn prepare(
        &self,
        scheme: Scheme,
        host: &str,
        port: u16,
        method: &str,
        fields: &mut Vec<HttpField>,
    ) -> Result<&HttpRule, RequestDenied> {
        let rule = permit(&self.rules, scheme, host, port, method)?;
        for secret in &self.secrets {
            secret.insert(scheme, host, fields)?;
        }
        if self.is_told_any(host) {
            fields.retain(|(name, _)| !["accept-encoding", "range", "if-range"].contains(&name.as_str()));
            fields.push(("accept-encoding".to_owned(), b"identity".to_vec()));
        }
        Ok(rule)
    }

    /// Removes secret values from the response of a host.
    pub fn receive(&self, host: &str, response: HttpResponse) -> Result<HttpResponse, UnsearchableResponse> {
        if self.is_told_any(host) {
            check_searchable(&response)?;
        }
        Ok(self.take_out(response))
    }

    /// Replaces secret values by their handles in a text that was assembled from responses: parts of a value may have arrived in separate
    /// pieces, in which [`receive`](Self::receive) does not find it.
    pub fn clean(&self, text: String) -> String {
        let bytes = self.cleaned(text.into_bytes());
        // Values and handles are ASCII, and so are all forms of a value.
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Cleans a JSON value in the same way, names included.
    pub fn clean_json(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = self.clean(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_json(item)),
            Value::Object(fields) => {
                let cleaned = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                    self.clean_json(&mut field);
                    (self.clean(name), field)
                });
                *fields = cleaned.collect();
            }
        }
    }

    /// Returns the position from which a text may be part of a secret value whose rest has not arrived; the text's length if there is none.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        let places = self.secrets.iter().map(|secret| secret.forms.unfinished(text.as_bytes()));
        places.min().unwrap_or(text.len())
    }

    fn cleaned(&self, bytes: Vec<u8>) -> Vec<u8> {
        let secrets = self.secrets.iter();
        secrets.fold(bytes, |bytes, secret| secret.forms.replaced(bytes, secret.handle.as_bytes()))
    }

    /// Checks whether any secret is for this host. The host may then know its value from an earlier request, also of another attempt.
    fn is_told_any(&self, host: &str) -> bool {
        self.secrets.iter().any(|secret| secret.rule.host == host)
    }

    /// Replaces all values that a server has sent back, in any known form, by their handles. A field whose name contains a value is
    /// removed, since a handle is not a valid name.
    fn take_out(&self, response: HttpResponse) -> HttpResponse {
        let clean = |bytes: Vec<u8>| self.cleaned(bytes);
        let names_a_value = |name: &str| {
            let lower = |secret: &SecretValue| secret.value.to_ascii_lowercase();
            self.secrets.iter().any(|secret| name.to_ascii_lowercase().contains(&lower(secret)))
        };
        let fields = response.fields.into_iter().filter(|(name, _)| !names_a_value(name));
        HttpResponse {
            status: response.status,
            fields: fields.map(|(name, value)| (name, clean(value))).collect(),
            body: clean(response.body),
        }
    }
}

impl SecretValue {
    /// Replaces the handle by the value where the granted header contains it. A handle in a request to a host that the secret is not for is
    /// an error.
    fn insert(&self, scheme: Scheme, host: &str, fields: &mut [HttpField]) -> Result<(), RequestDenied> {
        let Self { rule, handle, value: own, .. } = self;
        for (name, value) in fields {
            if *name != rule.header || find(value, handle.as_bytes()).is_none() {
                continue;
            }
            if host != rule.host || !rule.schemes.contains(&scheme) {
                let schemes: Vec<_> = rule.schemes.iter().map(|scheme| scheme.as_str()).collect();
                return Err(RequestDenied::Secret {
                    name: rule.name.clone(),
                    host: rule.host.clone(),
                    schemes: schemes.join(" or "),
                });
            }
            *value = replaced(value, handle.as_bytes(), own.as_bytes());
        }
        Ok(())
    }
}

/// Checks that a response can be searched: it must be neither encoded nor partial, as part of a value could be in it.
fn check_searchable(response: &HttpResponse) -> Result<(), UnsearchableResponse> {
    let is_other_than = |name: &str, plain: &str| {
        let mut values = response.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value);
        values.any(|value| !value.is_empty() && !value.eq_ignore_ascii_case(plain.as_bytes()))
    };
    if is_other_than("content-encoding", "identity") || is_other_than("transfer-encoding", "chunked") {
        return Err(UnsearchableResponse::Encoded);
    }
    if response.status == 206 || response.fields.iter().any(|(name, _)| name == "content-range") {
        return Err(UnsearchableResponse::Partial);
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::reach::SecretSource;
    use super::*;

    fn outgoing() -> OutgoingGrant {
        let rule = SecretRule {
            name: "TOKEN".to_owned(),
            from: SecretSource::Env("TOKEN".to_owned()),
            header: "authorization".to_owned(),
            host: "api.acme.com".to_owned(),
            schemes: vec![Scheme::Https],
        };
        let to = |host: &str| HttpRule {
            host: host.to_owned(),
            schemes: vec![Scheme::Http, Scheme::Https],
            ports: vec![443],
            methods: vec!["GET".to_owned()],
            addresses: Vec::new(),
        };
        let secrets = vec![SecretValue::new(&rule, "s3cr3t-value".to_owned()).unwrap()];
        OutgoingGrant { rules: vec![to("api.acme.com"), to("evil.example")], secrets }
    }

    fn response(status: u16, name: &str, value: &str) -> HttpResponse {
        let fields = vec![(name.to_owned(), value.as_bytes().to_vec())];
        HttpResponse { status, fields, body: value.as_bytes().to_vec() }
    }

    #[test]
    fn values_leave_for_their_host_alone() {
        let outgoing = outgoing();
        let fields = |name: &str| vec![(name.to_owned(), b"Bearer {{secret:TOKEN}}".to_vec())];
        let mut granted = fields("authorization");
        outgoing.prepare(Scheme::Https, "api.acme.com", 443, "GET", &mut granted).unwrap();
        assert_eq!(granted[0].1, b"Bearer s3cr3t-value");
        assert_eq!(granted[1], ("accept-encoding".to_owned(), b"identity".to_vec()));
        for (host, scheme) in [("evil.example", Scheme::Https), ("api.acme.com", Scheme::Http)] {
            let denied = outgoing.prepare(scheme, host, 443, "GET", &mut fields("authorization"));
            let message = denied.unwrap_err().to_string();
            assert_eq!(message, "the secret `TOKEN` is for api.acme.com by https alone");
        }
        let mut other = fields("x-other");
        outgoing.prepare(Scheme::Https, "evil.example", 443, "GET", &mut other).unwrap();
        assert_eq!(other, fields("x-other"));
        let denied = outgoing.prepare(Scheme::Https, "evil.example", 80, "GET", &mut other).unwrap_err();
        assert_eq!(denied, RequestDenied::Port { host: "evil.example".to_owned(), port: 80 });
    }

    #[test]
    fn what_comes_back_has_the_handle() {
        let outgoing = outgoing();
        let cleaned =
            outgoing.receive("evil.example", response(200, "x", "a s3cr3t-value b czNjcjN0LXZhbHVl"));
        assert_eq!(cleaned, Ok(response(200, "x", "a {{secret:TOKEN}} b {{secret:TOKEN}}")));
        let part = response(200, "x", "s3cr3t");
        assert_eq!(outgoing.receive("evil.example", part.clone()), Ok(part));
        let named = outgoing.receive("evil.example", response(200, "x-s3cr3t-value", "")).unwrap();
        assert_eq!(named.fields, []);
        assert!(!format!("{outgoing:?}").contains("s3cr3t"));
    }

    #[test]
    fn what_is_put_together_has_the_handle() {
        let outgoing = outgoing();
        assert_eq!(outgoing.clean("ä s3cr3t-value ü".to_owned()), "ä {{secret:TOKEN}} ü");
        let mut value = serde_json::json!({"s3cr3t-value": [1, "czNjcjN0LXZhbHVl", {"a": "s3cr3t-value"}]});
        outgoing.clean_json(&mut value);
        let handle = "{{secret:TOKEN}}";
        assert_eq!(value, serde_json::json!({ handle: [1, handle, {"a": handle}] }));
    }

    #[test]
    fn answers_that_cannot_be_searched_are_refused() {
        let outgoing = outgoing();
        for plain in [
            response(200, "content-encoding", "Identity"),
            response(200, "transfer-encoding", "chunked"),
            response(200, "content-encoding", ""),
        ] {
            assert_eq!(outgoing.receive("api.acme.com", plain.clone()), Ok(plain));
        }
        for (other, why) in [
            (response(200, "content-encoding", "gzip"), UnsearchableResponse::Encoded),
            (response(200, "content-encoding", "identity, br"), UnsearchableResponse::Encoded),
            (response(200, "transfer-encoding", "gzip, chunked"), UnsearchableResponse::Encoded),
            (response(206, "x", "y"), UnsearchableResponse::Partial),
            (response(200, "content-range", "bytes 0-4/9"), UnsearchableResponse::Partial),
        ] {
            assert_eq!(outgoing.receive("api.acme.com", other.clone()), Err(why), "{other:?}");
            assert!(outgoing.receive("evil.example", other).is_ok());
        }
    }

    #[test]
    fn values_have_to_fit_a_header() {
        let rule = &outgoing().secrets[0].rule;
        for value in ["", "short", "with\na line end", "ünicode-value", "nul\0-in-value"] {
            let refused = SecretValue::new(rule, value.to_owned()).unwrap_err();
            assert_eq!(refused.name, "TOKEN", "{value:?}");
        }
    }
}
