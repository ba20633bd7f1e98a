//! Whom a registry is told that we are: what the environment says for one host, or Docker's configuration. Nothing of it is
//! ever shown, and it is asked for only once a registry wants to know.

use std::env;
use std::fmt;
use std::path::PathBuf;

use docker_credential::{CredentialRetrievalError as Trouble, DockerCredential};

/// The host that the other two variables are for.
pub const REGISTRY_VARIABLE: &str = "GRAPH_HOST_REGISTRY";
/// The name of a user.
pub const USERNAME_VARIABLE: &str = "GRAPH_HOST_REGISTRY_USERNAME";
/// The password, or a token in place of it.
pub const PASSWORD_VARIABLE: &str = "GRAPH_HOST_REGISTRY_PASSWORD";
/// A host that makes the tokens of registries, where it is not the registry itself.
pub const TOKEN_REALM_VARIABLE: &str = "GRAPH_HOST_REGISTRY_TOKEN_REALM";

/// Who we are.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    /// Anybody.
    Anonymous,
    /// A user with a password.
    Password {
        /// The user.
        username: String,
        /// The password.
        password: String,
    },
    /// A token that is exchanged for others.
    Identity(String),
}

/// Credentials are there and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The variables are set in part.
    #[error("{REGISTRY_VARIABLE} names this registry, and {0} is not set")]
    Incomplete(&'static str),
    /// Docker's configuration cannot be used.
    #[error("the credentials in Docker's configuration (config.json) cannot be used: {0}")]
    Docker(String),
}

impl Credentials {
    /// Those for a registry, `host` or `host:port`.
    pub(super) fn find(host: &str) -> Result<Self, CredentialError> {
        let variable = |name| env::var(name).ok().filter(|text| !text.is_empty());
        // They are for the host that is named beside them, and no other one is told.
        if variable(REGISTRY_VARIABLE).is_some_and(|named| named.eq_ignore_ascii_case(host)) {
            let needed = |name| variable(name).ok_or(CredentialError::Incomplete(name));
            return Ok(Self::Password {
                username: needed(USERNAME_VARIABLE)?,
                password: needed(PASSWORD_VARIABLE)?,
            });
        }
        if !config_file().is_some_and(|file| file.exists()) {
            return Ok(Self::Anonymous);
        }
        match docker_credential::get_credential(host) {
            Ok(DockerCredential::UsernamePassword(username, password)) => {
                Ok(Self::Password { username, password })
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Self::Identity(token)),
            Err(Trouble::NoCredentialConfigured | Trouble::ConfigNotFound) => Ok(Self::Anonymous),
            // A helper that has nothing for this registry says so by failing.
            Err(Trouble::HelperFailure { stdout, .. }) if stdout.contains("credentials not found") => {
                Ok(Self::Anonymous)
            }
            // What a helper prints may be a secret.
            Err(Trouble::HelperFailure { helper, .. }) => {
                Err(CredentialError::Docker(format!("`{}` has failed", crate::manifest::shown(&helper))))
            }
            Err(error) => Err(CredentialError::Docker(error.to_string())),
        }
    }
}

/// Docker's configuration: in the folder that `DOCKER_CONFIG` names, or in `.docker` at home.
fn config_file() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")))?;
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
