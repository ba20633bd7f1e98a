//! Credentials for registries: from the environment for one host, or from Docker's configuration. They are never shown,
//! and looked up only when a registry requires them.

use std::env;
use std::fmt;
use std::path::PathBuf;

use docker_credential::{CredentialRetrievalError as Trouble, DockerCredential};

/// The variable with the host that the other two variables are for.
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
    /// No credentials: the registry's public content.
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

/// Why configured credentials cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Only some of the variables are set.
    #[error("{REGISTRY_VARIABLE} names this registry, and {0} is not set")]
    Incomplete(&'static str),
    /// Docker's configuration cannot be used.
    #[error("the credentials in Docker's configuration (config.json) cannot be used: {0}")]
    Docker(String),
}

impl Credentials {
    /// Finds the credentials for a registry, `host` or `host:port`.
    pub(super) fn find(host: &str) -> Result<Self, CredentialError> {
        let variable = |name| env::var(name).ok().filter(|text| !text.is_empty());
        // They are for the host in the other variable, and are sent to no other host.
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
            // A helper without credentials for this registry reports that by failing.
            Err(Trouble::HelperFailure { stdout, .. }) if stdout.contains("credentials not found") => {
                Ok(Self::Anonymous)
            }
            // The output of a helper may contain a secret.
            Err(Trouble::HelperFailure { helper, .. }) => {
                Err(CredentialError::Docker(format!("`{}` has failed", crate::manifest::shown(&helper))))
            }
            Err(error) => Err(CredentialError::Docker(error.to_string())),
        }
    }
}

/// The path of Docker's configuration: in the folder that `DOCKER_CONFIG` names, or in `.docker` of the user's home.
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
