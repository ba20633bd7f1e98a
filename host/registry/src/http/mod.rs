//! The OCI distribution protocol 1.1, over HTTP.

mod client;
mod credentials;
mod helper;
mod pages;
mod repository;
#[cfg(test)]
mod test_server;

pub use client::{Registry, RegistryOptions};
pub use credentials::{
    CredentialError, PASSWORD_VARIABLE, REGISTRY_VARIABLE, TOKEN_REALM_VARIABLE, USERNAME_VARIABLE,
};
pub use helper::HelperError;
pub(crate) use repository::Names;
pub use repository::Repository;
