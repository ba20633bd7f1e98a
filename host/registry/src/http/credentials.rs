//! Credentials for registries: from the environment for one host, or from Docker's configuration. They are never shown,
//! and are looked up only when a registry requires them.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use graph_core::json::{self, TreeLimit};
use serde::Deserialize;

use super::helper::{self, HelperError, Time};
use crate::transport::one_more;

/// Maximum size of Docker's configuration, in bytes.
const MOST_CONFIG: u64 = 1 << 20;

/// The variable with the host to which the other two variables apply.
pub const REGISTRY_VARIABLE: &str = "GRAPH_HOST_REGISTRY";
/// The variable with the user's name.
pub const USERNAME_VARIABLE: &str = "GRAPH_HOST_REGISTRY_USERNAME";
/// The variable with the password, or a token that replaces it.
pub const PASSWORD_VARIABLE: &str = "GRAPH_HOST_REGISTRY_PASSWORD";
/// The variable with a host that issues tokens for registries, if it is not the registry itself.
pub const TOKEN_REALM_VARIABLE: &str = "GRAPH_HOST_REGISTRY_TOKEN_REALM";

/// The credentials for one registry.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    /// No credentials: only the registry's public content can be read.
    Anonymous,
    /// A user with a password.
    Password {
        /// The user's name in the registry.
        username: String,
        /// The password, or a token that replaces it.
        password: String,
    },
    /// An identity token, which is exchanged for access tokens.
    Identity(String),
}

/// The reasons for which configured credentials cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Only some of the variables are set.
    #[error("{REGISTRY_VARIABLE} names this registry, and {0} is not set")]
    Incomplete(&'static str),
    /// Docker's configuration cannot be used.
    #[error("the credentials in Docker's configuration (config.json) cannot be used: {0}")]
    Docker(String),
    /// The credential helper that Docker's configuration names returned no credentials.
    #[error(transparent)]
    Helper(#[from] HelperError),
}

/// The parts of Docker's configuration that concern credentials.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfig {
    auths: Option<BTreeMap<String, Entry>>,
    creds_store: Option<String>,
    cred_helpers: Option<BTreeMap<String, String>>,
}

/// An entry of `auths`. It is empty if a credential helper stores the credentials.
#[derive(Clone, Default, Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

/// The source of the credentials for a registry: the configuration itself, or the helper with this name.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    Found(Credentials),
    Helper(String),
}

impl Credentials {
    /// Finds the credentials for a registry, `host` or `host:port`.
    pub(super) fn find(host: &str, time: Time) -> Result<Self, CredentialError> {
        let variable = |name| env::var(name).ok().filter(|text| !text.is_empty());
        // The credentials apply to the host in the other variable, and are sent to no other host.
        if variable(REGISTRY_VARIABLE).is_some_and(|named| named.eq_ignore_ascii_case(host)) {
            let needed = |name| variable(name).ok_or(CredentialError::Incomplete(name));
            return Ok(Self::Password {
                username: needed(USERNAME_VARIABLE)?,
                password: needed(PASSWORD_VARIABLE)?,
            });
        }
        let Some(config) = config_file().map(|file| read(&file)).transpose()?.flatten() else {
            return Ok(Self::Anonymous);
        };
        match config.source(host)? {
            Source::Found(credentials) => Ok(credentials),
            Source::Helper(name) => Ok(helper::credentials(&name, host, time)?),
        }
    }
}

impl DockerConfig {
    /// Returns the source of the credentials for a registry: the helper for this registry, else the credentials in the
    /// configuration, else the helper for all registries.
    fn source(self, host: &str) -> Result<Source, CredentialError> {
        let is_given = |text: &String| !text.is_empty();
        let helper =
            self.cred_helpers.as_ref().and_then(|helpers| helpers.get(host)).filter(|it| is_given(it));
        if let Some(helper) = helper {
            return Ok(Source::Helper(helper.clone()));
        }
        let auth = self.auths.as_ref().and_then(|auths| auth_of(auths, host)).cloned().unwrap_or_default();
        if let Some(token) = auth.identitytoken.filter(is_given) {
            return Ok(Source::Found(Credentials::Identity(token)));
        }
        let named = auth.username.zip(auth.password).filter(|(username, _)| is_given(username));
        let named = named.map(|(username, password)| Credentials::Password { username, password });
        if let Some(encoded) = auth.auth.filter(is_given) {
            let decoded = decoded(&encoded).ok_or_else(|| {
                CredentialError::Docker("an `auth` is not `user:password` in base64".to_owned())
            })?;
            if named.is_some_and(|named| named != decoded) {
                let reason = "an `auth` differs from its `username` and `password`".to_owned();
                return Err(CredentialError::Docker(reason));
            }
            return Ok(Source::Found(decoded));
        }
        Ok(match (named, self.creds_store.filter(is_given)) {
            (Some(named), _) => Source::Found(named),
            (None, Some(store)) => Source::Helper(store),
            (None, None) => Source::Found(Credentials::Anonymous),
        })
    }
}

fn auth_of<'a>(auths: &'a BTreeMap<String, Entry>, host: &str) -> Option<&'a Entry> {
    let is_same = |key: &&String| host_of(key) == canonical(host);
    auths.get(host).or_else(|| auths.get(auths.keys().find(is_same)?))
}

/// Returns the host in a key of `auths`, which may be a URL.
fn host_of(key: &str) -> &str {
    let rest = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    canonical(rest.map_or(key, |rest| rest.split('/').next().unwrap_or(rest)))
}

/// Returns the one name that stands for all names of Docker's own registry; any other host is unchanged.
fn canonical(host: &str) -> &str {
    match host {
        "registry-1.docker.io" | "docker.io" => "index.docker.io",
        _ => host,
    }
}

/// Decodes Base64 of `user:password`.
fn decoded(encoded: &str) -> Option<Credentials> {
    let bytes = BASE64_STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (username, password) = text.split_once(':')?;
    Some(Credentials::Password { username: username.to_owned(), password: password.to_owned() })
}

/// Reads a configuration of at most [`MOST_CONFIG`] bytes; `None` if there is no such file.
fn read(path: &Path) -> Result<Option<DockerConfig>, CredentialError> {
    let wrong = CredentialError::Docker;
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(wrong("it is not a file".to_owned())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(wrong(error.to_string())),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    file.take(one_more(MOST_CONFIG)).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MOST_CONFIG {
        return Err(wrong(format!("it is larger than {MOST_CONFIG} bytes")));
    }
    // The message of the parser may quote a secret.
    let config = json::read(&bytes, TreeLimit::ANSWER);
    config.map(Some).map_err(|error| {
        let (line, column) = error.position();
        wrong(format!("it is malformed at line {line}, column {column}"))
    })
}

/// Returns the path of Docker's configuration: in the folder that `DOCKER_CONFIG` names, or in `.docker` in the user's
/// home.
///
/// A `HOME` that is not an absolute path is ignored: in a stranger's project, it would be a folder of the stranger.
fn config_file() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let home = || env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let folder = folder.or_else(|| Some(home()?.join(".docker")))?;
    Some(folder.join("config.json"))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Password { .. } => "Password(…)",
            Self::Identity(_) => "Identity(…)",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn source(config: &str, host: &str) -> Result<Source, CredentialError> {
        serde_json::from_str::<DockerConfig>(config).unwrap().source(host)
    }

    fn password(username: &str, password: &str) -> Source {
        let (username, password) = (username.to_owned(), password.to_owned());
        Source::Found(Credentials::Password { username, password })
    }

    #[test]
    fn the_credentials_of_a_host_are_found() {
        // `me:s3cret` in Base64, with padding and without.
        let auth = |host: &str, text: &str| format!(r#"{{"auths":{{"{host}":{{"auth":"{text}"}}}}}}"#);
        for text in ["bWU6czNjcmV0", "bWU6czNjcmV0===="] {
            assert_eq!(source(&auth("a.example", text), "a.example"), Ok(password("me", "s3cret")));
        }
        let hub = auth("https://index.docker.io/v1/", "bWU6czNjcmV0");
        assert_eq!(source(&hub, "registry-1.docker.io"), Ok(password("me", "s3cret")));
        assert_eq!(source(&hub, "b.example"), Ok(Source::Found(Credentials::Anonymous)));
        let named = r#"{"auths":{"a.example:5000":{"username":"me","password":"p"}}}"#;
        assert_eq!(source(named, "a.example:5000"), Ok(password("me", "p")));
        let token = r#"{"auths":{"a.example":{"auth":"","identitytoken":"t"}}}"#;
        assert_eq!(source(token, "a.example"), Ok(Source::Found(Credentials::Identity("t".to_owned()))));
        for config in ["{}", r#"{"auths":null}"#, r#"{"auths":{"a.example":{}}}"#] {
            assert_eq!(source(config, "a.example"), Ok(Source::Found(Credentials::Anonymous)), "{config}");
        }
    }

    #[test]
    fn a_helper_is_for_one_host_or_for_all_that_have_no_credentials() {
        let config = r#"{"auths":{"a.example":{"auth":"bWU6czNjcmV0"},"b.example":{}},
            "credHelpers":{"a.example":"own","c.example":""},"credsStore":"store"}"#;
        assert_eq!(source(config, "a.example"), Ok(Source::Helper("own".to_owned())));
        for host in ["b.example", "c.example"] {
            assert_eq!(source(config, host), Ok(Source::Helper("store".to_owned())), "{host}");
        }
        let config = config.replace("own", "");
        assert_eq!(source(&config, "a.example"), Ok(password("me", "s3cret")));
    }

    #[test]
    fn what_is_wrong_with_a_configuration_is_said_without_its_secrets() {
        for auth in [
            r#""auth":"s3cret!""#,
            r#""auth":"czNjcmV0""#,
            r#""auth":"bWU6czNjcmV0","username":"me","password":"other""#,
        ] {
            let error =
                source(&format!(r#"{{"auths":{{"a.example":{{{auth}}}}}}}"#), "a.example").unwrap_err();
            assert!(error.to_string().contains("`auth`") && !error.to_string().contains("s3cret"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        assert!(read(&path).unwrap().is_none());
        fs::write(&path, "{\"auths\": {\"a\": s3cret}}").unwrap();
        let told = read(&path).err().unwrap().to_string();
        assert!(told.contains("line 1") && !told.contains("s3cret"), "{told}");
        fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
        assert!(read(&path).err().unwrap().to_string().contains("larger than"));
        assert!(read(folder.path()).err().unwrap().to_string().contains("not a file"));
    }
}
